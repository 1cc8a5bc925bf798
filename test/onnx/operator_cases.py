"""Cases of operators: attributes drawn from their own tables, inputs, and what ONNX is given for them. An operator whose spelling is plain and whose
inputs are tensors of one size needs no line here."""
import os, random, subprocess
import numpy as np
from onnx import helper, numpy_helper
from operator_cases_known import *  # noqa: F401, F403, makers found by name

TOOL = os.path.join(os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "eval_op")
ROUNDS, OPSET = 12, 19
TYPES = {"U8": np.uint8, "I8": np.int8, "F": np.float32, "I64": np.int64, "I32": np.int32, "B": np.bool_, "F64": np.float64}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
INTERNAL = {"input", "constant", "opaque", "uniform", "normal", "bernoulli"}  # the last draw at random: test_random.py


class Op:
    def __init__(self, line):
        head, inputs = line.split("|")
        _, self.name, tier, flags = head.split()
        self.algebraic, self.flags, self.inputs, self.attrs, self.onnx = tier == "a", int(flags), inputs.split(), {}, []


def table():
    ops = []
    for line in subprocess.run([TOOL, "table"], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines():
        if line.startswith("op "):
            ops.append(Op(line))
        elif line.startswith("attr "):
            head, init, draw = line.split("|")
            ops[-1].attrs[head.split()[1]] = (head.split()[2], init.strip(), draw.split())
        else:
            head, items = line.split("|", 1)
            ops[-1].onnx.append((head.split()[1], int(head.split()[2]), int(head.split()[3]), items.split()))
    return {op.name: op for op in ops}


OPS = table()


class Case:
    """One case: what goes to our tool (attributes as text, inputs) and what goes to ONNX (type, attributes, inputs)."""

    def __init__(self, name, seed):
        self.op, self.random = OPS[name], random.Random(f"{name} {seed}")
        self.numpy = np.random.default_rng(self.random.randrange(2**32))
        self.attrs, self.inputs, self.outputs = {}, [], 1
        self.type, self.onnx_attrs, self.onnx_inputs, self.opset = None, {}, None, OPSET
        self.expected, self.counted = None, None  # counted: an attribute that says how many rows the result has

    def draw(self, attr, n=None):
        """From the operator's own table; with n, a list."""
        values = self.op.attrs[attr][2]
        assert values, f"{self.op.name}.{attr} has nothing to draw from"
        return self.random.choice(values) if n is None else [int(self.random.choice(values)) for _ in range(n)]

    def below(self, n):
        return self.random.randrange(n)

    def tensor(self, *shape, low=-2.0, high=2.0):
        return self.numpy.uniform(low, high, shape).astype(np.float32)

    def integers(self, *shape, low=-5, high=6, dtype=np.int64):
        return self.numpy.integers(low, high, shape).astype(dtype)


def number(text):
    p, _, q = str(text).partition("/")
    return float(p) / float(q or 1)


def text(value):
    return "[" + ", ".join(str(v) for v in value) + "]" if isinstance(value, (list, tuple)) else str(value)


def typed(array):
    return f"{NAMES[array.dtype]} [{', '.join(str(n) for n in array.shape)}]"


# ---- how cases are made, by operator

def plain(case):
    """From the spelling alone: NAME and NAME=THEIRS are attributes, input:K is a further input; every input has the same sizes."""
    case.type, since, _, items = case.op.onnx[0]
    case.opset = max(OPSET, since)
    given = len([n for n in case.op.inputs if not n.endswith("?")])
    shape = (2, 3, 4)
    positive = case.op.name in ("log", "sqrt", "pow", "reciprocal", "lrn", "div")
    case.inputs = [case.tensor(*shape, low=0.25 if positive else -2.0) for _ in range(given)]
    if case.op.flags & 4 and case.below(2):
        case.inputs[case.below(given)] = case.tensor(*shape[1 + case.below(3):], low=0.25 if positive else -2.0)
    case.onnx_inputs = list(case.inputs)
    for item in items:
        name, _, rest = item.partition("=")
        source = rest or name
        if ":" in name or "==" in item or item.endswith(("!", ":ignore")):
            continue
        kind = case.op.attrs[name][0]
        value = case.attrs[name] = case.draw(name)
        if kind == "word":
            value = case.op_word(name, value)
        if source.startswith("input:"):
            at = int(source.split(":")[1])
            case.onnx_inputs += [None] * (at + 1 - len(case.onnx_inputs))
            case.onnx_inputs[at] = np.array(int(value) if kind == "int" else number(value), np.int64 if kind == "int" else np.float32)
        else:
            case.onnx_attrs[source] = number(value) if kind == "real" else int(value) if kind == "int" else value


Case.op_word = lambda self, name, value: ["no", "yes"].index(value)


def whole_numbers(case):
    """Integers instead of floats where the operator takes both."""
    plain(case)
    case.inputs = case.onnx_inputs = [case.integers(*a.shape, low=0 if k and case.op.name == "pow" else -5) for k, a in enumerate(case.inputs)]
    if case.op.name in ("div", "mod"):
        case.inputs[1][case.inputs[1] == 0] = 3


def spatial(case, attrs, kernel_attr=None):
    ns = 1 + case.below(3)
    for name in attrs:
        case.attrs[name] = case.draw(name, 2 * ns if name == "pads" else ns)
    return ns


def conv(case):
    ns, group = spatial(case, ["strides", "pads", "dilations"]), int(case.draw("group"))
    kernel = [1 + case.below(3) for _ in range(ns)]
    sizes = [d * (k - 1) + 1 + case.below(4) for k, d in zip(kernel, case.attrs["dilations"])]
    c, o = 1 + case.below(2), group * (1 + case.below(2))
    case.inputs = [case.tensor(1 + case.below(2), group * c, *sizes), case.tensor(o, c, *kernel), case.tensor(o) if case.below(2) else None]
    case.type, case.onnx_attrs = "Conv", dict(case.attrs, group=group)
    case.attrs["group"] = group


def convtranspose(case):
    ns, group = spatial(case, ["strides", "pads", "dilations"]), int(case.draw("group"))
    kernel = [2 + case.below(2) for _ in range(ns)]
    case.attrs["extra"] = [case.below(s) for s in case.attrs["strides"]]
    if case.below(4) == 0:  # kernels side by side, which have a definition
        group, kernel = 1, case.attrs["strides"]
        case.attrs.update(pads=[0] * 2 * ns, dilations=[1] * ns, extra=[0] * ns)
    case.inputs = [case.tensor(1, group * 2, *[2 + case.below(3) for _ in range(ns)]), case.tensor(group * 2, 1 + case.below(2), *kernel), None]
    case.inputs[2] = case.tensor(group * case.inputs[1].shape[1]) if case.below(2) else None
    case.type = "ConvTranspose"
    case.onnx_attrs = dict({k: v for k, v in case.attrs.items() if k != "extra"}, output_padding=case.attrs["extra"], group=group)
    case.attrs["group"] = group


def pool(case):
    ns = spatial(case, ["strides", "dilations"])
    kernel = case.attrs["kernel"] = case.draw("kernel", ns)
    case.attrs["pads"] = [min(p, kernel[k % ns] - 1) for k, p in enumerate(case.draw("pads", 2 * ns))]
    case.attrs["ceil"] = case.draw("ceil")
    sizes = [d * (k - 1) + 1 + case.below(4) for k, d in zip(kernel, case.attrs["dilations"])]
    case.inputs = [case.tensor(1, 2, *sizes)]
    case.onnx_attrs = dict({k: v for k, v in case.attrs.items() if k not in ("kernel", "ceil")}, kernel_shape=kernel,
                           ceil_mode=int(case.attrs["ceil"] == "yes"))
    case.type = "MaxPool" if case.op.name == "maxpool" else "AveragePool"
    if "count_pads" in case.op.attrs:
        case.attrs["count_pads"] = case.draw("count_pads")
        case.onnx_attrs["count_include_pad"] = int(case.attrs["count_pads"] == "yes")


def matmul(case):
    batch, n = [2, 3][:case.below(3)], case.below(3)
    a, b = case.tensor(*batch, 2, 4), case.tensor(*batch, 4, 3)
    if case.below(2):
        a, b = (case.tensor(*batch[case.below(2):], 2, 4), b) if case.below(2) else (a, case.tensor(*batch[1:], 4, 3))
    case.type, case.inputs = "MatMul", [a, b]


def gemm(case):
    case.attrs = {n: case.draw(n) for n in ("alpha", "beta", "transA", "transB")}
    a, b = case.tensor(2, 4), case.tensor(4, 3)
    case.inputs = [a.T.copy() if case.attrs["transA"] == "yes" else a, b.T.copy() if case.attrs["transB"] == "yes" else b]
    case.inputs.append([None, case.tensor(2, 3), case.tensor(3), case.tensor()][case.below(4)])
    case.type, case.onnx_attrs = "Gemm", {n: int(v == "yes") if n[0] == "t" else number(v) for n, v in case.attrs.items()}


def concat(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    for _ in range(1 + case.below(3)):
        shape = [2, 3, 4]
        shape[axis] = 1 + case.below(3)
        case.inputs.append(case.tensor(*shape))
    case.type, case.onnx_attrs = "Concat", {"axis": axis}


def split(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    sizes = case.attrs["sizes"] = [1 + case.below(3) for _ in range(1 + case.below(3))]
    shape = [2, 3, 4]
    shape[axis] = sum(sizes)
    case.inputs, case.outputs = [case.tensor(*shape)], len(sizes)
    case.type, case.onnx_attrs, case.onnx_inputs = "Split", {"axis": axis}, [case.inputs[0], np.array(sizes, np.int64)]


def slice_(case):
    shape = [3, 5, 6]
    steps = case.draw("steps", 3)
    starts = [case.below(n) for n in shape]
    sizes = [1 + case.below((n - 1 - s if t > 0 else s) // abs(t) + 1) for n, s, t in zip(shape, starts, steps)]
    stops = [s + t * n for s, t, n in zip(starts, steps, sizes)]
    stops = [e if e >= 0 else -100 for e in stops]
    case.attrs = {"starts": starts, "sizes": sizes, "steps": steps}
    case.inputs, case.type = [case.tensor(*shape)], "Slice"
    case.onnx_inputs = case.inputs + [np.array(v, np.int64) for v in (starts, stops, [0, 1, 2], steps)]


def pad(case):
    pads = case.attrs["pads"] = [case.below(4) - 1 for _ in range(6)]
    value = case.attrs["value"] = case.draw("value")
    case.inputs, case.type = [case.tensor(2, 3, 4)], "Pad"
    case.onnx_inputs = case.inputs + [np.array(pads, np.int64), np.array(number(value), np.float32)]


def padwith(case):
    pads = case.attrs["pads"] = [case.below(4) - 1 for _ in range(6)]
    value = np.float32(case.random.choice([0.5, -3, -np.inf, np.inf]))
    case.inputs, case.type = [case.tensor(2, 3, 4), np.array(value)], "Pad"
    case.onnx_inputs = [case.inputs[0], np.array(pads, np.int64), case.inputs[1]]


def transpose(case):
    perm = case.attrs["perm"] = case.random.sample(range(4), 4)
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4, 5)], "Transpose", {"perm": perm}


def reshape(case):
    shapes = [[2, 3, 4], [6, 4], [24], [2, 12], [1, 2, 3, 1, 4], [4, 3, 2], [2, 3, 2, 2], [8, 3], [3, 2, 4, 1], [2, 1, 12]]
    shape = case.attrs["shape"] = case.random.choice(shapes)
    case.inputs, case.type = [case.tensor(*case.random.choice(shapes))], "Reshape"
    case.onnx_inputs = case.inputs + [np.array(shape, np.int64)]


def broadcast(case):
    shape = case.attrs["shape"] = [2, 3, 4]
    own = [n if case.below(2) else 1 for n in shape][case.below(3):]
    case.inputs, case.type = [case.tensor(*own)], "Expand"
    case.onnx_inputs = case.inputs + [np.array(shape, np.int64)]


def softmax(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4, low=-20, high=20)], "Softmax", {"axis": axis}


def batchnorm(case):
    epsilon = case.attrs["epsilon"] = case.draw("epsilon")
    shape = [2, 3, 4, 5][:2 + case.below(3)]
    case.inputs = [case.tensor(*shape), case.tensor(3), case.tensor(3), case.tensor(3), case.tensor(3, low=0.1)]
    case.type, case.onnx_attrs = "BatchNormalization", {"epsilon": number(epsilon)}


def reduce(case):
    axes = case.attrs["axes"] = sorted({int(case.draw("axes")) % 3 for _ in range(1 + case.below(2))})
    case.inputs, case.onnx_attrs = [case.tensor(2, 3, 4)], {"keepdims": 0}
    case.type, case.opset = case.op.onnx[0][0], 18
    case.onnx_inputs = case.inputs + [np.array(axes, np.int64)]


def fill(case):
    value, shape = case.draw("value"), [2, 3][:case.below(3)]
    case.attrs = {"value": value, "shape": shape}
    case.type, case.onnx_inputs = "ConstantOfShape", [np.array(shape, np.int64)]
    case.onnx_attrs = {"value": numpy_helper.from_array(np.array([number(value)], np.float32))}


def band(case):
    case.attrs = {n: int(case.draw(n)) for n in ("n", "below", "above")}
    n, below, above = case.attrs.values()
    case.expected = [np.array([[-below <= j - i <= above for j in range(n)] for i in range(n)], np.float32)]


def enlarge(case):
    kernel, (h, w) = case.draw("kernel", 2), (case.below(3), 1 + case.below(3))
    case.attrs, case.inputs = {"kernel": kernel}, [case.tensor(2, 3, h, w)]
    before = [(kernel[0] - h) // 2, (kernel[1] - w) // 2]
    case.expected = [np.zeros((2, 3, *kernel), np.float32)]
    case.expected[0][:, :, before[0] : before[0] + h, before[1] : before[1] + w] = case.inputs[0]


def identitykernel(case):
    """A convolution with it and with padding kernel // 2 before is the identity."""
    kernel, (groups, c) = case.draw("kernel", 2), (1 + case.below(3), 1 + case.below(3))
    case.attrs = {"channels": [groups * c, c], "kernel": kernel}
    case.expected = [np.zeros((groups * c, c, *kernel), np.float32)]
    for o in range(groups * c):
        case.expected[0][o, o % c, kernel[0] // 2, kernel[1] // 2] = 1


def averagekernel(case):
    kernel, channels = case.draw("kernel", 2), [1 + case.below(3), 1 + case.below(2)]
    case.attrs = {"channels": channels, "kernel": kernel}
    case.expected = [np.full((*channels, *kernel), 1 / (kernel[0] * kernel[1]), np.float32)]


def lrn(case):
    case.attrs = {n: case.draw(n) for n in ("alpha", "beta", "bias", "size")}
    case.inputs, case.type = [case.tensor(6, 6, 3, 2)], "LRN"  # for even sizes the reference fills as many channels as there are images
    case.onnx_attrs = {n: int(v) if n == "size" else number(v) for n, v in case.attrs.items()}


def range_(case):
    case.attrs = {n: case.draw(n) for n in ("start", "n", "step", "dtype")}
    start, n, step = (int(case.attrs[k]) for k in ("start", "n", "step"))
    case.type, case.onnx_inputs = "Range", [np.array(v, TYPES[case.attrs["dtype"]]) for v in (start, start + n * step, step)]


def cumsum(case):
    case.attrs = {"axis": int(case.draw("axis")), "exclusive": case.draw("exclusive"), "reverse": case.draw("reverse")}
    case.inputs, case.type = [case.tensor(2, 3, 4)], "CumSum"
    case.onnx_inputs = case.inputs + [np.array(case.attrs["axis"], np.int64)]
    case.onnx_attrs = {n: int(case.attrs[n] == "yes") for n in ("exclusive", "reverse")}


def cast(case):
    case.attrs = {"to": case.random.choice(["F", "I64", "I32", "B", "F64"])}
    case.inputs, case.type = [case.tensor(2, 3, low=-9, high=9) if case.below(2) else case.integers(2, 3)], "Cast"
    case.onnx_attrs = {"to": helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[case.attrs["to"]]))}


def gather(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    n = [3, 4, 5][axis]
    case.inputs = [case.tensor(3, 4, 5), case.integers(*[2, 3][:case.below(3)], low=-n, high=n)]
    case.type, case.onnx_attrs = "Gather", {"axis": axis}


def resize(case):
    case.attrs = {n: case.draw(n) for n in ("mode", "coordinate", "rounding")}
    sizes = case.attrs["sizes"] = [1, 2] + case.random.choice([[3, 4], [6, 8], [9, 4], [5, 7], [2, 3]])
    case.inputs, case.type = [case.tensor(1, 2, 3, 4)], "Resize"
    case.onnx_inputs = case.inputs + [None, None, np.array(sizes, np.int64)]
    case.onnx_attrs = {"mode": case.attrs["mode"], "coordinate_transformation_mode": case.attrs["coordinate"], "nearest_mode": case.attrs["rounding"]}


def argmax(case):
    case.attrs = {"axis": int(case.draw("axis")), "last": case.draw("last")}
    case.inputs, case.type = [case.integers(3, 4, 5, low=0, high=3, dtype=np.float32)], "ArgMax"
    case.onnx_attrs = {"axis": case.attrs["axis"], "keepdims": 0, "select_last_index": int(case.attrs["last"] == "yes")}


def shape(case):
    case.attrs = {n: int(case.draw(n)) for n in ("start", "end")}
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4)], "Shape", dict(case.attrs)


def logic(case):
    plain(case)
    case.inputs = case.onnx_inputs = [case.integers(*a.shape, low=0, high=2, dtype=np.bool_) for a in case.inputs]


def where(case):
    case.type = "Where"
    case.inputs = [case.integers(3, 4, low=0, high=2, dtype=np.bool_), case.tensor(2, 3, 4), case.tensor(4)]


def unary(case, low, high):
    plain(case)
    case.inputs = case.onnx_inputs = [case.tensor(2, 3, 4, low=low, high=high)]


def acosh(case): unary(case, 1.0, 4.0)
def atanh(case): unary(case, -0.9, 0.9)
def asin(case): unary(case, -1.0, 1.0)
def acos(case): unary(case, -1.0, 1.0)


def isnan(case):
    plain(case)
    case.inputs[0].ravel()[:4] = [np.nan, np.inf, -np.inf, 0]


def isnan_inf(case):
    isnan(case)
    case.onnx_attrs = {theirs: int(case.attrs[ours] == "yes") for ours, theirs in (("negative", "detect_negative"), ("positive", "detect_positive"))}


def gelutanh(case):
    plain(case)
    case.onnx_attrs = {"approximate": "tanh"}


def prelu(case):
    case.type, case.inputs = "PRelu", [case.tensor(2, 3, 4), case.tensor(*[2, 3, 4][case.below(4):])]


def bitwise(case):
    if case.op.name != "bitshift":
        whole_numbers(case)
    else:
        case.type = "BitShift"
        case.attrs["direction"] = case.draw("direction")
        case.onnx_attrs = {"direction": case.attrs["direction"].upper()}
        case.inputs = case.onnx_inputs = [case.integers(2, 3, low=0, high=n, dtype=np.uint8) for n in (200, 8)]


def layernorm(case):
    axis, epsilon = int(case.draw("axis")), case.draw("epsilon")
    case.attrs = {"axis": axis, "epsilon": epsilon}
    tail = [2, 3, 4][axis:]
    case.inputs = [case.tensor(2, 3, 4), case.tensor(*tail), case.tensor(*tail) if case.below(2) else None][: 3 if case.op.name == "layernorm" else 2]
    case.type, case.opset = case.op.onnx[0][0], max(OPSET, case.op.onnx[0][1])
    case.onnx_attrs, case.outputs = {"axis": axis, "epsilon": number(epsilon)}, 3 if case.op.name == "layernorm" else 1


def groupnorm(case):
    groups = case.op.name == "groupnorm"
    case.attrs = {n: case.draw(n) for n in case.op.attrs}
    case.inputs = [case.tensor(*[2, 4, 3, 2][:2 + case.below(3)] if groups else [2, 4, 3, 2][:3 + case.below(2)]), case.tensor(4), case.tensor(4)]
    case.type, case.opset = case.op.onnx[0][0], 21
    case.onnx_attrs = {"epsilon": number(case.attrs["epsilon"]), **({"num_groups": int(case.attrs["groups"])} if groups else {})}


def lpnorm(case):
    case.attrs = {n: int(case.draw(n)) for n in ("axis", "p")}
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4)], "LpNormalization", dict(case.attrs)


def meanvariance(case):
    case.attrs["axes"] = sorted(case.random.sample(range(4), 1 + case.below(3)))
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4, 2)], "MeanVarianceNormalization", dict(case.attrs)


def trilu(case):
    case.attrs = {"k": int(case.draw("k")), "upper": case.draw("upper")}
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4)], "Trilu", {"upper": int(case.attrs["upper"] == "yes")}
    case.onnx_inputs = case.inputs + [np.array(case.attrs["k"], np.int64)]


def tile(case):
    case.attrs["repeats"] = [case.below(4) for _ in range(3)]
    case.inputs, case.type = [case.tensor(2, 1, 3)], "Tile"
    case.onnx_inputs = case.inputs + [np.array(case.attrs["repeats"], np.int64)]


def spacedepth(case):
    b = case.attrs["block"] = int(case.draw("block"))
    depth = case.op.name == "depthtospace"
    case.inputs, case.type = [case.tensor(2, 2 * b * b, 3, 2) if depth else case.tensor(2, 3, 2 * b, 3 * b)], case.op.onnx[0][0]
    case.onnx_attrs = {"blocksize": b}
    if depth:
        case.attrs["order"] = case.draw("order")
        case.onnx_attrs["mode"] = case.attrs["order"].upper()


def onehot(case):
    case.attrs = {n: int(case.draw(n)) for n in ("axis", "depth")}
    n = case.attrs["depth"]
    case.inputs, case.type = [case.integers(2, 3, low=-n - 1, high=n + 1), case.tensor(2)], "OneHot"
    case.onnx_inputs, case.onnx_attrs = [case.inputs[0], np.array(n, np.int64), case.inputs[1]], {"axis": case.attrs["axis"]}


def topk(case):
    case.attrs = {"k": int(case.draw("k")), "axis": int(case.draw("axis")), "largest": case.draw("largest")}
    case.inputs, case.type, case.outputs = [case.integers(3, 4, 2, low=0, high=4).astype(np.float32)], "TopK", 2
    case.onnx_inputs = case.inputs + [np.array([case.attrs["k"]], np.int64)]
    case.onnx_attrs = {"axis": case.attrs["axis"], "largest": int(case.attrs["largest"] == "yes")}


def nms(case):
    boxes = case.tensor(2, 6, 4, low=0, high=1)
    case.inputs, case.type = [boxes, case.tensor(2, 2, 6, low=0, high=1)], "NonMaxSuppression"
    most, iou, score = 1 + case.below(3), 0.25, 0.125
    case.attrs, case.onnx_attrs = {"most": most, "iou_threshold": "1/4", "score_threshold": "1/8", "center": case.draw("center")}, {}
    case.onnx_attrs["center_point_box"] = int(case.attrs["center"] == "yes")
    case.onnx_inputs = case.inputs + [np.array([most], np.int64), np.array([iou], np.float32), np.array([score], np.float32)]
    case.counted = "kept"


def gatherelements(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    shape = [3, 4, 5]
    index = [1 + case.below(n) if k != axis % 3 else 1 + case.below(7) for k, n in enumerate(shape)]
    case.inputs = [case.tensor(*shape), case.integers(*index, low=-shape[axis], high=shape[axis])]
    case.type, case.onnx_attrs = "GatherElements", {"axis": axis}


def gathernd(case):
    batch, q = int(case.draw("batch")), 1 + case.below(2)
    case.attrs, case.onnx_attrs, case.type = {"batch": batch}, {"batch_dims": batch}, "GatherND"
    case.inputs = [case.tensor(2, 2, 2, 3), case.integers(*[2, 3][:1 + case.below(2)], q, low=-2, high=2)]


def reversesequence(case):
    case.attrs, case.type, case.onnx_attrs = {"batch": 1, "time": 0}, "ReverseSequence", {"batch_axis": 1, "time_axis": 0}
    case.inputs = [case.tensor(4, 3, 2), case.integers(3, low=1, high=5)]


def scatterelements(case):
    axis, reduction = int(case.draw("axis")), case.draw("reduction")
    index = [1 + case.below(n) for n in (3, 4, 5)]
    n = (3, 4, 5)[axis]
    # an index may be met twice only where updates are joined
    lines = np.argsort(case.numpy.random(index), axis=axis) if reduction == "none" else case.integers(*index, low=-n, high=n)
    case.inputs, case.attrs = [case.tensor(3, 4, 5), lines.astype(np.int64), case.tensor(*index)], {"axis": axis, "reduction": reduction}
    case.type, case.onnx_attrs = "ScatterElements", dict(case.attrs)


def scatternd(case):
    case.attrs["reduction"] = case.draw("reduction")
    places = case.random.sample(range(6), 4) if case.attrs["reduction"] == "none" else [case.below(6) for _ in range(4)]
    index = np.array([[p // 3, p % 3 - 3 * case.below(2)] for p in places], np.int64)
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4), index, case.tensor(4, 4)], "ScatterND", dict(case.attrs)


def nonzero(case):
    case.inputs, case.type = [case.integers(3, 4, low=0, high=2, dtype=np.float32)], "NonZero"
    case.attrs["n"] = int((case.inputs[0] != 0).sum())


def compress(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    condition = case.integers((3, 4, 2)[axis], low=0, high=2, dtype=np.bool_)
    case.attrs["n"], case.inputs = int(condition.sum()), [case.tensor(3, 4, 2), condition]
    case.type, case.onnx_attrs = "Compress", {"axis": axis}


def quantize(case):
    axis, size = int(case.draw("axis")), case.below(2)
    scale = abs(case.tensor([2, 3, 4][axis])) + np.float32(0.25) if size else np.array(0.25 + case.random.random(), np.float32)
    zero = case.integers(*scale.shape, low=0, high=20, dtype=np.uint8) if case.below(2) else None
    case.attrs, case.onnx_attrs, case.type = {"axis": axis}, {"axis": axis}, case.op.onnx[0][0]
    back = case.op.name == "dequantize"
    case.inputs = [case.integers(2, 3, 4, low=0, high=256, dtype=np.uint8) if back else case.tensor(2, 3, 4, low=-40, high=40), scale, zero]


def dynamicquantize(case):
    case.inputs, case.type, case.outputs = [case.tensor(3, 4, low=-2, high=3)], "DynamicQuantizeLinear", 3


def einsum(case):
    shapes = {"i": 2, "j": 3, "k": 4, "b": 2}
    equation = case.random.choice(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij,ij->", "ij,j->i", "bij,kj->bki", "i,j,k->ijk"])
    terms = equation.replace("->", ",").split(",")
    letters = sorted(set("".join(terms)), key="".join(terms).index)
    case.attrs["letters"] = [n for t in terms for n in (len(t), *map(letters.index, t))]
    case.inputs = [case.tensor(*[shapes[c] for c in t]) for t in terms[:-1]]
    case.type, case.onnx_attrs = "Einsum", {"equation": equation}


def recurrent(case):
    gates, outputs = {"rnn": (1, 2), "gru": (3, 2), "lstm": (4, 3)}[case.op.name]
    way, h, i, t, b = case.draw("direction"), 3, 2, [4, 1][case.below(2)], 2
    d = 2 if way == "bidirectional" else 1
    case.inputs = [case.tensor(t, b, i), case.tensor(d, gates * h, i), case.tensor(d, gates * h, h)]
    if case.below(2):
        case.inputs += [case.tensor(d, 2 * gates * h), case.integers(b, low=1, high=t + 1, dtype=np.int32), case.tensor(d, b, h)]
    if gates == 4 and len(case.inputs) > 3 and case.below(2):
        case.inputs += [case.tensor(d, b, h), case.tensor(d, 3 * h)]
    if gates == 4 and t == 1 and case.below(2):  # one step from given states, which has a definition
        case.inputs = case.inputs[:3] + [case.tensor(d, 8 * h) if case.below(2) else None, None, case.tensor(d, b, h), case.tensor(d, b, h)]
    case.attrs, case.onnx_attrs, case.outputs = {"direction": way, "hidden": h}, {"direction": way, "hidden_size": h}, outputs
    case.type, case.opset = case.op.onnx[0][0], 14
    if gates == 3:
        case.attrs["linear_first"] = case.draw("linear_first")
        case.onnx_attrs["linear_before_reset"] = int(case.attrs["linear_first"] == "yes")


def rotary(case):
    case.attrs["interleaved"] = case.draw("interleaved")
    e = 2 * (2 + case.below(2))
    h = e // 2 - case.below(2)
    case.inputs = [case.tensor(2, 3, 4, e), case.tensor(2, 4, h), case.tensor(2, 4, h)]
    case.type, case.opset = "RotaryEmbedding", 23
    case.onnx_attrs = {"interleaved": int(case.attrs["interleaved"] == "yes"), "rotary_embedding_dim": 2 * h}


def padmirror(case):
    mode = case.attrs["mode"] = case.draw("mode")
    pads = case.attrs["pads"] = [case.below(3) for _ in range(6)]
    case.inputs, case.type, case.onnx_attrs = [case.tensor(3, 4, 5)], "Pad", {"mode": mode}
    case.onnx_inputs = case.inputs + [np.array(pads, np.int64)]


def softmaxes(case):
    softmax(case)
    case.type = case.op.onnx[0][0]


def argmin(case):
    argmax(case)
    case.type = "ArgMin"


def positive_reduce(case):
    reduce(case)
    case.inputs[0] = case.onnx_inputs[0] = abs(case.inputs[0]) + np.float32(0.125)


MAKERS = {"slice": slice_, "range": range_, "maxpool": pool, "averagepool": pool, "and": logic, "or": logic, "not": logic,
          "xor": logic, "isinf": isnan_inf, "rmsnorm": layernorm, "instancenorm": groupnorm, "depthtospace": spacedepth, "spacetodepth": spacedepth,
          "logsoftmax": softmaxes, "dequantize": quantize, "rnn": recurrent, "gru": recurrent, "lstm": recurrent, "hardmax": softmaxes, "bitshift": bitwise,
          **{n: bitwise for n in OPS if n.startswith("bitwise_")},
          **{n: positive_reduce if n == "reduce_logsum" else reduce for n in OPS if n.startswith("reduce_")}}
MAKERS.update({n: f for n, f in list(globals().items()) if n in OPS and callable(f) and n not in MAKERS})
INTEGERS = ["add", "sub", "mul", "div", "mod", "pow", "min", "max", "neg", "abs", "relu", "equal", "less", "greater", "lessequal", "greaterequal", "sign"]
