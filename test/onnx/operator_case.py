"""A random case of an operator: attributes drawn from the operator's own table, inputs, and the
ONNX node and inputs that mean the same. `plain` makes cases of every operator that ONNX spells
plainly and whose inputs have the same sizes; other operators have a maker in operator_cases*.py."""

import os, random, subprocess
import numpy as np

TOOL = os.path.join(os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "eval_op")
ROUNDS, OPSET = 8, 19
TYPES = {
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "F": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "B": np.bool_,
    "F64": np.float64,
}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
INTERNAL = {
    "input",
    "constant",
    "opaque",
    "ramp",
    "uniform",
    "normal",
    "bernoulli",
}  # the last three are random: test_random.py tests them


class Op:
    """An operator, as the table that tools/eval_op prints describes it: its name, whether it is
    algebraic, its flags and inputs, its attributes and its ONNX spellings (type, since, until,
    items)."""

    def __init__(self, line):
        head, inputs = line.split("|")
        _, self.name, tier, flags = head.split()
        self.algebraic, self.flags, self.inputs = tier == "a", int(flags), inputs.split()
        self.attrs, self.onnx, self.domains = {}, [], []  # domains: one for each entry of onnx


def table():
    ops = []
    for line in subprocess.run(
        [TOOL, "table"], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines():
        if line.startswith("op "):
            ops.append(Op(line))
        elif line.startswith("attr "):
            head, init, draw = line.split("|")
            ops[-1].attrs[head.split()[1]] = (head.split()[2], init.strip(), draw.split())
        else:
            head, items = line.split("|", 1)
            _, name, since, until, domain = head.split()
            ops[-1].onnx.append((name, int(since), int(until), items.split()))
            ops[-1].domains.append(domain)
    return {op.name: op for op in ops}


OPS = table()


class Case:
    """One case: what our tool gets (attrs, inputs) and what ONNX gets (type, onnx_attrs,
    onnx_inputs, or the same inputs if that is None). `expected`: the outputs, if they are not to
    come from ONNX."""

    def __init__(self, name, seed):
        self.op, self.random = OPS[name], random.Random(f"{name} {seed}")
        self.numpy = np.random.default_rng(self.random.randrange(2**32))
        self.attrs, self.inputs, self.outputs = {}, [], 1
        self.type, self.onnx_attrs, self.onnx_inputs, self.opset = None, {}, None, OPSET
        self.domain, self.version = "", 1
        self.expected, self.counted = (
            None,
            None,
        )  # counted: the attribute that gives the number of rows of the result

    def draw(self, attr, n=None):
        """A random value of an attribute from the operator's own table; with n, a list of n."""
        values = self.op.attrs[attr][2]
        assert values, f"{self.op.name}.{attr} has nothing to draw from"
        return (
            self.random.choice(values)
            if n is None
            else [int(self.random.choice(values)) for _ in range(n)]
        )

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
    return (
        "[" + ", ".join(str(v) for v in value) + "]"
        if isinstance(value, (list, tuple))
        else str(value)
    )


def typed(array):
    return f"{NAMES[array.dtype]} [{', '.join(str(n) for n in array.shape)}]"


def plain(case):
    """Makes a case from the ONNX spelling of the operator alone. Its items NAME and NAME=THEIRS are
    attributes, and input:K is a further input. All inputs have the same sizes."""
    case.type, since, _, items = case.op.onnx[0]
    case.opset = max(OPSET, since)
    given = len([n for n in case.op.inputs if not n.endswith("?")])
    shape = (2, 3, 4)
    positive = case.op.name in ("log", "sqrt", "pow", "reciprocal", "lrn", "div")
    case.inputs = [case.tensor(*shape, low=0.25 if positive else -2.0) for _ in range(given)]
    if case.op.flags & 4 and case.below(2):
        case.inputs[case.below(given)] = case.tensor(
            *shape[1 + case.below(3) :], low=0.25 if positive else -2.0
        )
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
            case.onnx_inputs[at] = np.array(
                int(value) if kind == "int" else number(value),
                np.int64 if kind == "int" else np.float32,
            )
        else:
            case.onnx_attrs[source] = (
                number(value) if kind == "real" else int(value) if kind == "int" else value
            )


Case.op_word = lambda self, name, value: ["no", "yes"].index(value)


def whole_numbers(case):
    """Makes a case with integers, for operators that take both floats and integers."""
    plain(case)
    case.inputs = case.onnx_inputs = [
        case.integers(*a.shape, low=0 if k and case.op.name == "pow" else -5)
        for k, a in enumerate(case.inputs)
    ]
    if case.op.name in ("div", "mod"):
        case.inputs[1][case.inputs[1] == 0] = 3


def batch_to_normalize(case):
    """The inputs of a batch normalization: x of rank 2 to 4 with 3 channels, then scale, bias, mean
    and variance of each channel."""
    x = case.tensor(*[2, 3, 4, 5][: 2 + case.below(3)])
    return [x, case.tensor(3), case.tensor(3), case.tensor(3), case.tensor(3, low=0.1)]
