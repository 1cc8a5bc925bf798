"""Inputs with unusual names and types are fed to ONNX Runtime, where it measures and where it
checks the result."""

import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper

RUNTIME = ["--measure-with", "onnxruntime", "--effort", "quick", "--also-threads", "0"]
CHECKED = ["--cost", "nodes", "--check-with", "onnxruntime"]


def model(path, name, kind):
    """A product that gains when its factors are joined, beside an input that is only converted."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["a"]),
        helper.make_node("Mul", ["a", "third"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"]),
    ]
    if kind in (TensorProto.INT4, TensorProto.UINT4):
        nodes.append(helper.make_node("DequantizeLinear", [name, "two"], ["d"]))
    else:
        nodes.append(helper.make_node("Cast", [name], ["d"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Add", ["c", "d"], ["y"]))
    numbers = {"two": 2, "third": 0.3, "w": numpy.ones((64, 64)) / 8}
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64]),
            helper.make_tensor_value_info(name, kind, ["N", 64]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 64])],
        [numpy_helper.from_array(numpy.float32(v), k) for k, v in numbers.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(made, path)
    return path


@pytest.mark.parametrize("options", [RUNTIME, CHECKED], ids=["measured", "checked"])
@pytest.mark.parametrize("name", ["-x", "--dim", "-"])
def test_names_that_begin_with_a_dash(optimize, tmp_path, name, options):
    path = model(tmp_path / "m.onnx", name, TensorProto.FLOAT)
    done = optimize(path, tmp_path / "o.onnx", "--dim", "N=8", *options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("options", [RUNTIME, CHECKED], ids=["measured", "checked"])
@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4"])
def test_types_that_numpy_lacks(optimize, tmp_path, kind, options):
    pytest.importorskip("ml_dtypes")
    path = model(tmp_path / "m.onnx", "-x", getattr(TensorProto, kind))
    done = optimize(path, tmp_path / "o.onnx", "--dim", "N=8", *options)
    assert done.returncode == 0, done.stderr


def test_a_sequence_cannot_be_fed(optimize, tmp_path):
    """That is said; it is not a disagreement."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
      g (seq(float[4]) s, float[4] x) => (float[4] y)
      <int64 zero = {0}, float two = {2}, float third = {0.3}>
      { e = SequenceAt (s, zero) a = Mul (x, two) b = Mul (a, third) y = Add (b, e) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    done = optimize(tmp_path / "m.onnx", tmp_path / "o.onnx", *CHECKED)
    assert done.returncode == 5
    assert "input s is of type seq(tensor(float)), which cannot be fed" in done.stderr, done.stderr
