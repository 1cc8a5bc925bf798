"""The operators of ONNX Runtime's domain com.microsoft that occur in models quantized in the format
QOperator. The built-in runtime runs them, and the results are compared with ONNX Runtime."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD

RUN = os.path.join(BUILD, "run-model")
TYPES = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


def compared(folder, op, dtype, tensors, parameters, order, **attributes):
    """Compares a node in both runtimes. `tensors`: the shapes of random inputs of this type;
    `parameters`: inputs that are given; `order`: the names of the node's inputs, None for one left
    out."""
    rng = numpy.random.default_rng(7)
    limits = numpy.iinfo(dtype)
    feed = {
        name: rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
        for name, shape in tensors.items()
    }
    names = ["" if name is None else name for name in order]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, TYPES[dtype], s) for n, s in tensors.items()],
        [helper.make_tensor_value_info("y", TYPES[dtype], None)],
        [numpy_helper.from_array(numpy.asarray(v), n) for n, v in parameters.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    want = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, feed
    )[0]
    words = ["--output-dir", folder / "out"]
    for name, value in feed.items():
        numpy.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run([RUN, path, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    have = numpy.load(folder / "out" / "y.npy")
    assert have.shape == want.shape and have.dtype == want.dtype
    # ONNX Runtime multiplies by reciprocals and looks up functions in tables, so that a tie may be
    # rounded the other way.
    away = numpy.abs(have.astype(int) - want.astype(int))
    assert away.max() <= 1 and numpy.mean(away != 0) < 0.02
    assert len(numpy.unique(want)) > 3, "the case shows nothing"


def scales(dtype, **values):
    """Quantization parameters by name: a=0.1 gives a_scale and a_zero."""
    zero = numpy.array(3, dtype)
    return {
        key: part
        for name, scale in values.items()
        for key, part in ((f"{name}_scale", numpy.float32(scale)), (f"{name}_zero", zero))
    }


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((4,), (2, 1, 4))])
def test_of_two_tensors(tmp_path, op, dtype, shapes):
    given = scales(dtype, a=0.0517, b=0.0433, y=0.5713 if op == "QLinearMul" else 0.0829)
    order = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
    compared(tmp_path, op, dtype, dict(zip("ab", shapes)), given, order)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "op, shape, y, attributes",
    [
        ("QLinearSigmoid", (2, 3, 4, 5), 1 / 256, {}),
        ("QLinearLeakyRelu", (2, 3, 4, 5), 0.05, {"alpha": 0.3}),
        ("QLinearLeakyRelu", (60,), 0.05, {}),
        ("QLinearSoftmax", (2, 3, 4, 5), 1 / 256, {"axis": 2, "opset": 13}),
        ("QLinearSoftmax", (6, 10), 1 / 256, {"axis": -1, "opset": 17}),
        ("QLinearSoftmax", (2, 6, 10), 1 / 256, {"axis": 2, "opset": 9}),
        ("QLinearGlobalAveragePool", (2, 30, 4, 5), 0.0411, {"channels_last": 0}),
    ],
)
def test_of_one_tensor(tmp_path, op, dtype, shape, y, attributes):
    given = scales(dtype, x=0.0517, y=y)
    order = ["x", "x_scale", "x_zero", "y_scale", "y_zero"]
    compared(tmp_path, op, dtype, {"x": shape}, given, order, **attributes)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [1, -1])
def test_concat(tmp_path, dtype, axis):
    given = scales(dtype, a=0.0517, b=0.0213, y=0.0419)
    order = ["y_scale", "y_zero", "a", "a_scale", "a_zero", "b", "b_scale", "b_zero"]
    shapes = {"a": (2, 3, 4), "b": (2, 5, 4) if axis == 1 else (2, 3, 6)}
    compared(tmp_path, "QLinearConcat", dtype, shapes, given, order, axis=axis)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_product(tmp_path, dtype, bias, columns):
    given = scales(dtype, a=0.0517, b=0.0433, y=1.9 if dtype == "uint8" else 0.5)
    if columns:
        given["b_scale"] = numpy.array([0.04, 0.05, 0.01, 0.02], "float32")
        given["b_zero"] = numpy.zeros(4, dtype)
    if bias:
        given["c"] = numpy.array([-700, 20, 9000, 0], "int32")
    order = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "c" if bias else None]
    shapes = {"a": (6, 7), "b": (4, 7)}
    compared(
        tmp_path, "QGemm", dtype, shapes, given, order + ["y_scale", "y_zero"], transB=1, alpha=0.5
    )
