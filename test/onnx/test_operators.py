"""Every operator means what ONNX says: definitions, expansions and reference kernels against ONNX Runtime (else ONNX's reference), on attributes
drawn from the operator's own table. An operator whose spelling is plain and whose inputs are tensors of one size needs no line here."""
import os, random, subprocess
import numpy as np
import onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TOOL = os.path.join(os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "eval_op")
ROUNDS, OPSET = 12, 19
TYPES = {"F": np.float32, "I64": np.int64, "I32": np.int32, "B": np.bool_, "F64": np.float64}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
INTERNAL = {"input", "constant", "opaque"}


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
        self.expected = None

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


def ours(case, how="run"):
    lines = [f"op {case.op.name} {case.outputs}"]
    lines += [f"attr {name} {text(value)}" for name, value in case.attrs.items()]
    for array in case.inputs:
        lines.append("in _" if array is None else f"in {typed(array)} | " + " ".join(repr(v) for v in array.astype(float).ravel().tolist()))
    done = subprocess.run([TOOL, how], input="\n".join(lines + ["run", ""]), capture_output=True, text=True, timeout=60)
    results = []
    for line in done.stdout.splitlines():
        if line.startswith("error"):
            raise AssertionError(line)
        if line.startswith("out "):
            head, _, data = line[4:].partition("|")
            kind, _, sizes = head.strip().partition(" ")
            shape = [int(n) for n in sizes.strip("[]").split(",") if n.strip()]
            results.append(np.array([float(v) for v in data.split()]).astype(TYPES[kind]).reshape(shape))
    assert done.returncode == 0 and results, done.stdout + done.stderr
    return results


def theirs(case):
    if case.expected is not None:
        return case.expected
    arrays = case.inputs if case.onnx_inputs is None else case.onnx_inputs
    names = ["" if a is None else f"x{k}" for k, a in enumerate(arrays)]
    outputs = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.type, names, outputs, **case.onnx_attrs)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays) if n]
    graph = helper.make_graph([node], "g", infos, [onnx_output(name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)
    feed = {n: a for n, a in zip(names, arrays) if n}
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)
    except Exception:
        return ReferenceEvaluator(model).run(None, feed)


def onnx_output(name):
    info = helper.make_empty_tensor_value_info(name)
    return info


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


MAKERS = {"slice": slice_, "range": range_, "maxpool": pool, "averagepool": pool, "and": logic, "or": logic, "not": logic,
          **{n: reduce for n in OPS if n.startswith("reduce_")}}
MAKERS.update({n: f for n, f in list(globals().items()) if n in OPS and callable(f) and n not in MAKERS})
INTEGERS = ["add", "sub", "mul", "div", "mod", "pow", "min", "max", "neg", "abs", "relu", "equal", "less", "greater", "lessequal", "greaterequal", "sign"]


def agree(case, how="run"):
    got, want = ours(case, how), theirs(case)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == np.shape(b) and a.dtype == np.asarray(b).dtype, (case.attrs, a.shape, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=str((case.attrs, [x.shape for x in case.inputs if x is not None])))


@pytest.mark.parametrize("name", [n for n in OPS if n not in INTERNAL])
def test_operator(name):
    for seed in range(ROUNDS):
        case = Case(name, seed)
        (whole_numbers if name == "mod" else MAKERS.get(name, plain))(case)
        agree(case)


@pytest.mark.parametrize("name", [n for n in OPS if n not in INTERNAL])
def test_operator_as_planned(name):
    """What the CPU runs: the operator's own steps, or those that its definition's structure gives."""
    for seed in range(100, 100 + ROUNDS // 2):
        case = Case(name, seed)
        (whole_numbers if name == "mod" else MAKERS.get(name, plain))(case)
        agree(case, "plan")


@pytest.mark.parametrize("name", INTEGERS)
def test_operator_on_integers(name):
    for seed in range(4):
        case = Case(name, seed)
        whole_numbers(case)
        agree(case)
        agree(case, "plan")


def test_a_wrong_meaning_is_noticed():
    """The comparison itself: a case that is told the wrong attribute must fail."""
    case = Case("hardsigmoid", 0)
    plain(case)
    case.onnx_attrs["alpha"] += 0.01
    with pytest.raises(AssertionError):
        agree(case)
