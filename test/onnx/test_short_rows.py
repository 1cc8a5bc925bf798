"""The rules for short rows: which nodes they make of one that ONNX Runtime computes row by row, and
that both files give the same in ONNX Runtime and in the built-in runtime, also at other sizes."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import PROGRAM, computed, save, tensor

EAGER = os.path.join(os.path.dirname(__file__), "prefer-rewritten")
DRAW = numpy.random.default_rng(0)
F, B, I = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
ONES = ["ConstantOfShape"]

# Operator, attributes, inputs (type and sizes; "n" is open), constants, the only rule that is used,
# and the operators of the result; ConstantOfShape makes ones, or zeros that are appended.
CASES = [
    ("Mul", {}, [(F, ["n", 3]), (F, ["n", 1])], {}, "stretch-short", [*ONES, "MatMul", "Mul"]),
    (
        "Sub",
        {},
        [(F, ["n", 2, 16]), (F, ["n", 2, 1])],
        {},
        "stretch-short",
        [*ONES, "MatMul", "Sub"],
    ),
    ("Mul", {}, [(F, ["n", 2, 17]), (F, ["n", 2, 1])], {}, "stretch-short", ["Mul"]),
    (
        *("Add", {}, [(F, ["n", 4, 3, 3]), (F, ["n", 4, 1, 1])], {}, "stretch-short-2"),
        ["Reshape", *ONES, "MatMul", "Reshape", "Add"],
    ),
    ("Div", {}, [(F, ["n", 8, 3]), (F, ["n", 1, 3])], {}, "stretch-inner", ["Expand", "Div"]),
    (
        *("Add", {}, [(I, ["n", 8, 3]), (I, ["n", 1, 3])], {}, "stretch-inner-integers"),
        ["Expand", "Add"],
    ),
    (
        *("Where", {}, [(B, ["n", 1]), (F, ["n", 3]), (F, ["n", 3])], {}, "stretch-condition-3"),
        ["Concat", "Where"],
    ),
    (
        *("Mul", {}, [(F, ["n", 5, 4])], {"c": [1, 2, 3, 4]}, "mul-short-row"),
        ["Reshape", "Mul", "Reshape"],
    ),
    (
        *("Sub", {}, [(F, ["n", 5, 4])], {"c": [1, 2, 3, 4]}, "sub-short-row"),
        ["Reshape", "Sub", "Reshape"],
    ),
    (
        *("MatMul", {}, [(F, ["n", 3, 3]), (F, ["n", 3, 2])], {}, "matmul-small"),
        ["Reshape", "MatMul", "Reshape", "MatMul", "Mul", "Reshape", "MatMul"],
    ),
    ("MatMul", {}, [(F, ["n", 5, 4]), (F, ["n", 4, 5])], {}, "matmul-small", ["MatMul"]),
    (
        *("ReduceSum", {"keepdims": 0}, [(F, ["n", 3, 4])], {"axes": [1]}, "sum-short-rows"),
        ["Reshape", "MatMul"],
    ),
    (
        *("Pad", {}, [(F, ["n", 3])], {"pads": [0, 0, 0, 1]}, "pad-short-rows"),
        ["Shape", "Slice", "Concat", "ConstantOfShape", "Concat"],
    ),
]


def drawn(kind, shape):
    if kind == F:
        return DRAW.normal(size=shape).astype("f")
    return DRAW.random(shape) > 0.5 if kind == B else DRAW.integers(-9, 9, shape)


def feed(inputs, n):
    sizes = [[n if size == "n" else size for size in shape] for _, shape in inputs]
    return {f"x{k}": drawn(kind, shape) for k, ((kind, _), shape) in enumerate(zip(inputs, sizes))}


@pytest.mark.parametrize("kind, attributes, inputs, constants, rule, made", CASES)
def test_short_rows(tmp_path, kind, attributes, inputs, constants, rule, made):
    names = [f"x{k}" for k in range(len(inputs))]
    node = helper.make_node(kind, names + list(constants), ["y"], **attributes)
    whole = lambda v: numpy.array(v, "f" if kind in ("Mul", "Sub") else "i8")
    path = save(
        tmp_path / "m.onnx",
        [node],
        [tensor(name, shape, of) for name, (of, shape) in zip(names, inputs)],
        [helper.make_empty_tensor_value_info("y")],
        {name: whole(value) for name, value in constants.items()},
        opset=18,
    )
    out = tmp_path / "o.onnx"
    words = [PROGRAM, path, out, "--enable", rule, "--measure-with", EAGER, "--dim", "n=600", "-q"]
    words += ["--cost-db", tmp_path / "costs.sqlite"]
    subprocess.run(words, check=True, capture_output=True)
    assert [node.op_type for node in onnx.load(out).graph.node] == made
    for n in (1, 2, 37):
        data = feed(inputs, n)
        first, second = (
            onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]).run(None, data)[0]
            for p in (path, out)
        )
        numpy.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(computed(out, data)["y"], first, rtol=1e-5, atol=1e-5)
