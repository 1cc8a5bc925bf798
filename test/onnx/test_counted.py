"""Models in which sizes depend on computed values: what run-model computes, and that optimize-model
confirms its results."""

import numpy, onnx, pytest
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


@pytest.mark.parametrize("kind", ["NonZero", "Compress"])
def test_a_result_is_confirmed_however_many_are_counted(optimize, tmp_path, kind):
    """A number of results that was guessed is too small for this data."""
    nodes = [helper.make_node("Relu", ["x"], ["once"]), helper.make_node("Relu", ["once"], ["s"])]
    nodes += places_of_equals(kind)
    weights = {"row": numpy.array([1, -1]), "places": numpy.arange(90)}
    nodes.insert(2, helper.make_node("Relu", ["x"], ["t"]))
    outputs = [tensor("s", None), tensor("y", None, TensorProto.INT64)]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", ["n"])], outputs, weights)
    done = optimize(model, tmp_path / "o.onnx", "--cost", "nodes", "--dim", "n=90")
    assert done.returncode == 0 and "the original is kept" not in done.stdout, done.stdout
    kinds = [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node]
    assert kinds.count("Relu") == 1
