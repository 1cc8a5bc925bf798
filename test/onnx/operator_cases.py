"""Makers of cases (operator_case.py) for the operators on single elements and along an axis, and
MAKERS, the table of the makers of all operators, by their names."""

import numpy as np
from onnx import helper, numpy_helper
from operator_case import number, OPS, plain, TYPES, whole_numbers
from operator_cases_known import *  # noqa: F401, F403, found by name
from operator_cases_quantized import *  # noqa: F401, F403, found by name
from operator_cases_contrib import *  # noqa: F401, F403, found by name
from operator_cases_features import *  # noqa: F401, F403, found by name
from operator_cases_weights import *  # noqa: F401, F403, found by name
from operator_cases_layers import *  # noqa: F401, F403
from operator_cases_moves import *  # noqa: F401, F403


def reduce(case):
    axes = case.attrs["axes"] = sorted(
        {int(case.draw("axes")) % 3 for _ in range(1 + case.below(2))}
    )
    case.inputs, case.onnx_attrs = [case.tensor(2, 3, 4)], {"keepdims": 0}
    case.type, case.opset = case.op.onnx[0][0], 18
    case.onnx_inputs = case.inputs + [np.array(axes, np.int64)]


def fill(case):
    value, shape = case.draw("value"), [2, 3][: case.below(3)]
    case.attrs = {"value": value, "shape": shape}
    case.type, case.onnx_inputs = "ConstantOfShape", [np.array(shape, np.int64)]
    case.onnx_attrs = {"value": numpy_helper.from_array(np.array([number(value)], np.float32))}


def clipwith(case):
    low, high = (np.array(v, np.float32) for v in (case.random.choice([-0.5, -np.inf]), 0.25))
    case.inputs, case.type = [case.tensor(2, 3), *case.random.choice([(low, high), (low,)])], "Clip"
    case.onnx_inputs = case.inputs


def range_(case):
    case.attrs = {n: case.draw(n) for n in ("start", "n", "step", "dtype")}
    start, n, step = (int(case.attrs[k]) for k in ("start", "n", "step"))
    case.type, case.onnx_inputs = "Range", [
        np.array(v, TYPES[case.attrs["dtype"]]) for v in (start, start + n * step, step)
    ]


def cumsum(case):
    case.attrs = {
        "axis": int(case.draw("axis")),
        "exclusive": case.draw("exclusive"),
        "reverse": case.draw("reverse"),
    }
    case.inputs, case.type = [case.tensor(2, 3, 4)], "CumSum"
    case.onnx_inputs = case.inputs + [np.array(case.attrs["axis"], np.int64)]
    case.onnx_attrs = {n: int(case.attrs[n] == "yes") for n in ("exclusive", "reverse")}


def cast(case):
    case.attrs = {"to": case.random.choice(["F", "I64", "I32", "B", "F64"])}
    case.inputs, case.type = [
        case.tensor(2, 3, low=-9, high=9) if case.below(2) else case.integers(2, 3)
    ], "Cast"
    case.onnx_attrs = {"to": helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[case.attrs["to"]]))}


def argmax(case):
    case.attrs = {"axis": int(case.draw("axis")), "last": case.draw("last")}
    case.inputs, case.type = [case.integers(3, 4, 5, low=0, high=3, dtype=np.float32)], "ArgMax"
    case.onnx_attrs = {
        "axis": case.attrs["axis"],
        "keepdims": 0,
        "select_last_index": int(case.attrs["last"] == "yes"),
    }


def logic(case):
    plain(case)
    case.inputs = case.onnx_inputs = [
        case.integers(*a.shape, low=0, high=2, dtype=np.bool_) for a in case.inputs
    ]


def where(case):
    case.type = "Where"
    case.inputs = [
        case.integers(3, 4, low=0, high=2, dtype=np.bool_),
        case.tensor(2, 3, 4),
        case.tensor(4),
    ]


def unary(case, low, high):
    plain(case)
    case.inputs = case.onnx_inputs = [case.tensor(2, 3, 4, low=low, high=high)]


def acosh(case):
    unary(case, 1.0, 4.0)


def atanh(case):
    unary(case, -0.9, 0.9)


def asin(case):
    unary(case, -1.0, 1.0)


def acos(case):
    unary(case, -1.0, 1.0)


def isnan(case):
    plain(case)
    case.inputs[0].ravel()[:4] = [np.nan, np.inf, -np.inf, 0]


def isnan_inf(case):
    isnan(case)
    case.onnx_attrs = {
        theirs: int(case.attrs[ours] == "yes")
        for ours, theirs in (("negative", "detect_negative"), ("positive", "detect_positive"))
    }


def gelutanh(case):
    plain(case)
    case.onnx_attrs = {"approximate": "tanh"}


def prelu(case):
    case.type, case.inputs = "PRelu", [
        case.tensor(2, 3, 4),
        case.tensor(*[2, 3, 4][case.below(4) :]),
    ]


def bitwise(case):
    if case.op.name != "bitshift":
        whole_numbers(case)
    else:
        case.type = "BitShift"
        case.attrs["direction"] = case.draw("direction")
        case.onnx_attrs = {"direction": case.attrs["direction"].upper()}
        case.inputs = case.onnx_inputs = [
            case.integers(2, 3, low=0, high=n, dtype=np.uint8) for n in (200, 8)
        ]


def quantize(case):
    """A scale is given for the tensor, for each place of an axis, or for each block of an axis.
    Among the elements are halves of a quantization step, huge numbers, infinities and NaN."""
    axis, kind = int(case.draw("axis")), case.below(3)
    shape, block = [2, 3, 8], 1 + case.below(4)
    parameters = [] if kind == 0 else [shape[axis]] if kind == 1 else shape.copy()
    case.attrs, case.onnx_attrs, case.type = {"axis": axis}, {"axis": axis}, case.op.onnx[0][0]
    if kind == 2:
        parameters[axis] = -(-shape[axis] // block)
        case.attrs["block"] = case.onnx_attrs["block_size"] = block
    scale = np.asarray(abs(case.tensor(*parameters)) + np.float32(0.25))
    dtype = [np.uint8, np.int8, np.uint16, np.int16][case.below(4)]
    low = 0 if dtype in (np.uint8, np.uint16) else -100
    zero = case.integers(*scale.shape, low=low, high=100, dtype=dtype) if case.below(3) else None
    if case.op.name == "dequantize":
        x = case.integers(*shape, low=low, high=120, dtype=dtype)
    else:
        x = case.tensor(*shape, low=-40, high=40)
        ties = (np.broadcast_to(scale, shape) if kind == 0 else np.float32(0.25)) * np.float32(0.5)
        x = np.where(x > 0, x, np.round(x) * ties).astype(np.float32)
        # Where scales are per block, ONNX Runtime turns such numbers into arbitrary integers.
        for odd in (np.nan, np.inf, -np.inf, np.float32(1e30)) if kind < 2 else ():
            x.flat[case.below(x.size)] = odd
        name = next(name for name, each in TYPES.items() if each == dtype)
        case.attrs["to"] = name if zero is not None else "U8"
    case.opset = 21
    case.inputs = [x, scale, zero]


def dynamicquantize(case):
    case.inputs, case.type, case.outputs = (
        [case.tensor(3, 4, low=-2, high=3)],
        "DynamicQuantizeLinear",
        3,
    )


def argmin(case):
    argmax(case)
    case.type = "ArgMin"


def positive_reduce(case):
    reduce(case)
    case.inputs[0] = case.onnx_inputs[0] = abs(case.inputs[0]) + np.float32(0.125)


MAKERS = {
    "slice": slice_,
    "range": range_,
    "maxpool": pool,
    "averagepool": pool,
    "and": logic,
    "or": logic,
    "not": logic,
    "xor": logic,
    "isinf": isnan_inf,
    "rmsnorm": layernorm,
    "instancenorm": groupnorm,
    "depthtospace": spacedepth,
    "spacetodepth": spacedepth,
    "logsoftmax": softmaxes,
    "dequantize": quantize,
    "rnn": recurrent,
    "gru": recurrent,
    "lstm": recurrent,
    "hardmax": softmaxes,
    "bitshift": bitwise,
    **{n: bitwise for n in OPS if n.startswith("bitwise_")},
    **{
        n: positive_reduce if n == "reduce_logsum" else reduce
        for n in OPS
        if n.startswith("reduce_")
    },
}
MAKERS.update(
    {n: f for n, f in list(globals().items()) if n in OPS and callable(f) and n not in MAKERS}
)
INTEGERS = [
    "add",
    "sub",
    "mul",
    "div",
    "mod",
    "pow",
    "min",
    "max",
    "neg",
    "abs",
    "relu",
    "equal",
    "less",
    "greater",
    "lessequal",
    "greaterequal",
    "sign",
]
