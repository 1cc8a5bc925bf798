"""Rules are applied, logged and checked in models with floats of 16 and of 64 bits as in those with
floats of 32 bits."""

import os
import subprocess
import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD, save, tensor

COUNTED = ["--cost", "nodes"]  # so that nothing depends on times
TYPES = {"half": (TensorProto.FLOAT16, "float16"), "double": (TensorProto.DOUBLE, "float64")}


def doubled(path, kind):
    """A model with two products of the same input, to each of which Relu is applied twice."""
    onnx_type, name = TYPES[kind]
    random = numpy.random.default_rng(1)
    weights = {k: random.standard_normal((64, 48)).astype(name) for k in ("u", "v")}
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["a"]),
        helper.make_node("MatMul", ["x", "v"], ["b"]),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
        helper.make_node("Relu", ["b"], ["d"]),
        helper.make_node("Relu", ["d"], ["z"]),
    ]
    results = [tensor(k, [32, 48], onnx_type) for k in ("y", "z")]
    return save(path, nodes, [tensor("x", [32, 64], onnx_type)], results, weights)


def results(path, kind):
    x = numpy.random.default_rng(2).standard_normal((32, 64)).astype(TYPES[kind][1])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


@pytest.mark.parametrize("kind", TYPES)
def test_rules_apply(run, tmp_path, kind):
    model, log = doubled(tmp_path / "m.onnx", kind), tmp_path / "log"
    options = ["--enable", "relu-relu", *COUNTED]
    _, found, report = run(model, *options, "--proof-log", log)
    assert [n.op_type for n in found.graph.node].count("Relu") == 2
    assert report["classes"] == "exact"
    for a, b in zip(results(model, kind), results(tmp_path / "o.onnx", kind)):
        assert numpy.array_equal(a, b)
    written = (tmp_path / "o.onnx").read_bytes()
    run(model, "--replay", log)
    assert (tmp_path / "o.onnx").read_bytes() == written


def test_a_constant_keeps_its_type(run, tmp_path):
    """When a batch normalization becomes part of a convolution of 16 bits, the constants that are
    computed have 16 bits."""
    random = numpy.random.default_rng(3)
    weights = {"w": random.standard_normal((8, 4, 3, 3)) / 6, "s": random.random(8) + 0.5}
    weights |= {"b": random.standard_normal(8), "m": random.standard_normal(8)}
    weights |= {"v": random.random(8) + 0.5}
    weights = {k: v.astype("float16") for k, v in weights.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
    ]
    shape = tensor("x", [1, 4, 12, 12], TensorProto.FLOAT16)
    result = tensor("y", [1, 8, 12, 12], TensorProto.FLOAT16)
    model = save(tmp_path / "m.onnx", nodes, [shape], [result], weights, opset=15)
    _, found, _ = run(model, "--enable", "conv-batchnorm", *COUNTED)
    assert [n.op_type for n in found.graph.node] == ["Conv"]
    assert {numpy_helper.to_array(t).dtype for t in found.graph.initializer} == {
        numpy.dtype("float16")
    }
    x = random.standard_normal((1, 4, 12, 12)).astype("float16")
    a, b = (
        onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(
            None, {"x": x}
        )[0]
        for p in (model, tmp_path / "o.onnx")
    )
    assert numpy.abs(a.astype(float) - b).max() <= 1e-2 * numpy.abs(a).max()


A, B = (float(numpy.float32(v)) for v in (0.1, 0.01))
FLOAT_ATTRIBUTES = [
    ("LeakyRelu", {"alpha": 0.1}, lambda x: numpy.where(x < 0, A * x, x)),
    ("LeakyRelu", {}, lambda x: numpy.where(x < 0, B * x, x)),
    ("ThresholdedRelu", {"alpha": 0.1}, lambda x: numpy.where(x > A, x, 0)),
    ("Shrink", {"lambd": 0.1, "bias": 0.1}, lambda x: numpy.sign(x) * (abs(x) - A) * (abs(x) > A)),
    ("Elu", {"alpha": 0.1}, lambda x: numpy.where(x < 0, A * (numpy.exp(x) - 1), x)),
]


@pytest.mark.parametrize("kind, attributes, expected", FLOAT_ATTRIBUTES)
def test_attributes_of_operators_of_doubles(tmp_path, kind, attributes, expected):
    """An attribute, also one that is left out, counts as the float that it is. Among floats it
    stands for the shortest decimal number that rounds to it, which differs by less than a float can
    tell; doubles can tell it."""
    x = numpy.array([-300.0, -0.5, 0.05, 0.1, A, numpy.nextafter(A, 1), 0.11, 2.5])
    shape, result = (tensor(k, [8], TensorProto.DOUBLE) for k in "xy")
    node = helper.make_node(kind, ["x"], ["y"], **attributes)
    model = save(tmp_path / "m.onnx", [node], [shape], [result], {})
    numpy.save(tmp_path / "x.npy", x)
    program = os.path.join(BUILD, "run-model")
    words = [program, model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path]
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)
    y = numpy.load(tmp_path / "y.npy")
    assert numpy.allclose(y, expected(x), rtol=1e-14, atol=1e-16), y - expected(x)
