"""run-model on models in which sizes depend on computed values."""

import numpy, pytest
from onnx import TensorProto, helper
from test_run_model import run, save, tensor


def places_of_equals(kind):
    """Nodes that find the places at which s and t are equal to the last bit."""
    nodes = [helper.make_node("Equal", ["s", "t"], ["same"])]
    if kind == "NonZero":
        return nodes + [helper.make_node("NonZero", ["same"], ["y"])]
    nodes += [helper.make_node("Compress", ["places", "same"], ["at"])]
    return nodes + [helper.make_node("Reshape", ["at", "row"], ["y"])]


@pytest.mark.parametrize("kind", ["NonZero", "Compress"])
def test_what_rounding_decides_is_counted_as_the_run_finds_it(tmp_path, kind):
    """The number of rows is counted by another plan, whose rounding must not decide it."""
    rng = numpy.random.default_rng(1)
    nodes, weights, x = [], {}, "x"
    for k, size in enumerate([(64, 3, 3, 3), (64, 64, 3, 3), (64, 64, 1, 1)]):
        pads = [size[2] // 2] * 4
        nodes.append(helper.make_node("Conv", [x, f"w{k}"], [f"c{k}"], pads=pads))
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"r{k}"]))
        weights[f"w{k}"] = 0.1 * rng.normal(size=size).astype("f")
        x = f"r{k}"
    nodes.append(helper.make_node("Transpose", [x], ["last"], perm=[0, 2, 3, 1]))
    nodes.append(helper.make_node("Sigmoid", ["last"], ["shares"]))
    nodes.append(helper.make_node("Reshape", ["shares", "all"], ["s"]))
    weights |= {"all": numpy.array([-1]), "row": numpy.array([1, -1])}
    inputs = [tensor("x", [1, 3, 32, 32])]
    numbers = save(tmp_path / "s.onnx", nodes, inputs, [tensor("s", None)], weights)
    assert run(numbers, "--output-dir", tmp_path).returncode == 0
    weights["t"] = numpy.load(tmp_path / "s.npy")
    weights["places"] = numpy.arange(weights["t"].size)
    outputs = [tensor("s", None), tensor("y", None, TensorProto.INT64)]
    nodes += places_of_equals(kind)
    done = run(save(tmp_path / "m.onnx", nodes, inputs, outputs, weights), "--output-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    s, y = (numpy.load(tmp_path / f"{name}.npy") for name in "sy")
    assert numpy.array_equal(y, [numpy.flatnonzero(s == weights["t"])])
