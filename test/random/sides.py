"""Puts left sides of rules into random models. test/tools/sample_rules.c draws sizes and writes a
left side as a model. Here it is embedded in the model that is being built: the inputs of the rule
become existing values, new inputs, constants, the same value twice, or results of other nodes."""

import collections, glob, os, random, subprocess, zlib
import onnx
from onnx import helper, numpy_helper
from builder import BF16, F16, F32, F64, Reject, Value, proto, rounded
from reference import FLOATS
from server import BUILDS, ROOT

Rule = collections.namedtuple("Rule", "name classes lengths file number")
# Operators that may be put before an input of a side.
BEFORE = ["Relu", "Neg", "Identity", "Tanh", "Abs", "Sigmoid", "Exp", "Transpose", "Add", "Mul"]
BOUNDED = ["Tanh", "Sigmoid"]
PLACED = 4  # rules in a model, besides one of rare.txt


def rare():
    """The rules of rare.txt."""
    with open(os.path.join(os.path.dirname(__file__), "rare.txt"), encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def files(*pattern):
    return sorted(glob.glob(os.path.join(ROOT, "rules", *pattern)))


class Sampler:
    """A process of test/tools/sample_rules for some files of rules."""

    def __init__(self, paths, folder):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(
            folder, f"side-{os.getpid()}-{zlib.crc32(str(paths).encode())}.onnx"
        )
        tool = os.path.join(BUILDS["plain"], "test", "tools", "sample_rules")
        self.process = subprocess.Popen(
            [tool, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        count = int(self.process.stdout.readline().split()[1])
        lines = [self.process.stdout.readline().split(maxsplit=3) for _ in range(count)]
        self.rules = [
            Rule(name, classes, int(n), file.strip(), k)
            for k, (name, classes, n, file) in enumerate(lines)
        ]

    def side(self, rule, opset, r):
        """A model of the left side of a rule. Raises Reject if it cannot be written."""
        least = r.choice([0, 1, 1, 2, 2, 2, 2, 2, 2])
        request = rule.number, r.randrange(rule.lengths), opset, least, r.getrandbits(60), self.path
        self.process.stdin.write(" ".join(map(str, request)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise Reject(answer)
        return onnx.load(self.path)


class Sides:
    """The samplers for all rules: one for the library and the search set, and one for each other
    file."""

    def __init__(self, folder):
        self.folder, self.samplers, self.why = folder, {}, ""
        self.orders, self.rare_rules = {}, rare()
        self.main = self.sampler(
            tuple(files("library", "*.rules") + files("generated", "search", "*.rules"))
        )
        self.others = files("generated", "*.rules")

    def sampler(self, paths):
        if paths not in self.samplers:
            self.samplers[paths] = Sampler(paths, self.folder)
        return self.samplers[paths]

    def chosen(self, seed, n, r):
        """(file or None, rules): the rules whose turn it is in the N-th of the models that are
        built around rules. All rules of the library and the search set have equally many turns."""
        if n % 16 == 15:
            file = self.others[n // 16 % len(self.others)]
            rules = self.sampler((file,)).rules
            at = n // 16 // len(self.others)
            return file, [rules[at % len(rules)], rules[(at + len(rules) // 2) % len(rules)]]
        rules, turn = self.main.rules, n // 16 * 15 + n % 16
        lap, at = divmod(turn, len(rules))
        orders = [self.order(f"{seed} {lap} {k}") for k in range(PLACED)]
        return None, list(dict.fromkeys([*(rules[order[at]] for order in orders), self.rare(turn)]))

    def rare(self, turn):
        name = self.rare_rules[turn % len(self.rare_rules)]
        return next(rule for rule in self.main.rules if rule.name == name)

    def order(self, key):
        """The numbers of the rules of the library and the search set, shuffled."""
        if key not in self.orders:
            self.orders[key] = list(range(len(self.main.rules)))
            random.Random(key).shuffle(self.orders[key])
        return self.orders[key]

    def place(self, b, rule, r):
        """Adds the left side of a rule to the model that is being built; returns whether it
        fits."""
        sampler = next(s for s in self.samplers.values() if rule in s.rules)
        for k in range(6):
            mark = len(b.nodes), len(b.values), len(b.inputs), len(b.initializers)
            try:
                put(b, sampler.side(rule, b.opset, r), r, b.opened and k < 3)
                return True
            except Reject as reason:
                self.why = str(reason)
                nodes, values, inputs, initializers = mark
                del (
                    b.nodes[nodes:],
                    b.values[values:],
                    b.inputs[inputs:],
                    b.initializers[initializers:],
                )
        return False


def opened(dims, r):
    """The sizes as pairs, in which all sizes of one random number are larger at the second
    sizes."""
    numbers = sorted({d for sizes in dims for d in sizes if d > 1})
    if not numbers:
        return [[(d, d) for d in sizes] for sizes in dims]
    one = r.choice(numbers)
    return [[(d, d + 2 if d == one else d) for d in sizes] for sizes in dims]


def put(b, side, r, open_sizes):
    """Embeds a left side in the model that is being built. Raises Reject if it does not fit."""
    graph = side.graph
    kinds = [i.type.tensor_type.elem_type for i in graph.input]
    dims = [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in graph.input]
    plain, calm, bounded = r.random() < 0.4, r.random() < 0.5, r.random() < 0.2
    dims = opened(dims, r) if open_sizes else [[(d, d) for d in sizes] for sizes in dims]
    names = {"": None}
    alive = r.choice([info.name for info in graph.input] or [""])  # this input is not a constant
    for info, kind, sizes in zip(graph.input, kinds, dims):
        dtype = b.dtype if kind == F32 else kind
        names[info.name] = given(b, info.name, dtype, sizes, names, r, plain, info.name == alive)
        if bounded and dtype in FLOATS and not names[info.name].stored:
            names[info.name] = b.add(r.choice(BOUNDED), [names[info.name]])
    for tensor in graph.initializer:
        names[tensor.name] = taken(b, tensor)
    read = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    for node in graph.node:
        if calm:  # optional outputs that the side does not use are left out
            while node.output[-1] not in read and optional(node, b.opset):
                node.output.pop()
        copied(b, node, names)
    for info in graph.output:
        b.exposed[names[info.name].name] = 0.4
    for node in graph.node:
        for name in node.output:
            if names.get(name):
                b.exposed.setdefault(names[name].name, 0.1)


def optional(node, opset):
    """Whether the last output of a node is optional."""
    known = onnx.defs.get_schema(node.op_type, opset).outputs
    at = len(node.output) - 1
    return at < len(known) and known[at].option == onnx.defs.OpSchema.FormalParameterOption.Optional


def given(b, name, dtype, sizes, names, r, plain, alive):
    """A value for an input of a side. `plain`: a new input of the model; `alive`: not a
    constant."""
    positive = name in ("in-v", "in-var")
    low, high = (0.3, 1.2) if positive else (-1.0, 1.0) if dtype in FLOATS else (0, 1)
    span = (0.05, 50) if positive else (-1e9, 1e9) if dtype in FLOATS else (0, 1)
    fits = lambda v: v.dtype == dtype and v.size == sizes and v.within(*span)
    same = [v for v in names.values() if v is not None and fits(v)]
    if same and not plain and r.random() < 0.15:
        return r.choice(same)
    old = [v for v in b.values if fits(v) and not v.stored]
    if old and not plain and r.random() < 0.6:
        return r.choice(old)
    either = r.random() < 0.6 and not plain and not alive
    v = b.fresh(sizes, dtype, low, high, None if either else "input")
    if dtype not in FLOATS and not v.stored:  # later draws of an index must fit here, too
        b.inputs[-1].high = max((int(a.max()) for a in v.arrays if a.size), default=0)
    if dtype in FLOATS and not v.stored and not (positive or plain) and r.random() < 0.3:
        return before(b, v, r)
    return v


def before(b, v, r):
    """A value of the same sizes that another node computes from v, or for Transpose from a new
    input."""
    kind = r.choice(BEFORE)
    if kind == "Transpose" and v.rank == 2:
        turned = b.fresh(v.size[::-1], v.dtype, kind="input")
        return b.add(kind, [turned], perm=[1, 0])
    if kind in ("Add", "Mul"):
        return b.add(
            kind, [v, b.fresh([d if r.random() < 0.5 else (1, 1) for d in v.size], v.dtype)]
        )
    return v if kind == "Transpose" else b.add(kind, [v])


def taken(b, tensor):
    """Adds a constant of a side as an initializer, with floats in the type of the model that is
    being built."""
    array = numpy_helper.to_array(tensor)
    dtype = b.dtype if tensor.data_type == F32 else tensor.data_type
    array = rounded(dtype, array) if dtype in FLOATS else array
    value = Value(b.name("c"), dtype, (array, array), True, True)
    b.initializers.append(proto(value.name, dtype, array))
    return value


def copied(b, node, names):
    """Adds a copy of a node with the names of the model that is being built, and with float tensors
    in that model's type."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    inputs = [names[name] for name in node.input]
    copy.input[:] = ["" if v is None else v.name for v in inputs]
    copy.output[:] = [b.name() if name else "" for name in node.output]
    copy.name = ""
    for each in copy.attribute:
        if each.type == onnx.AttributeProto.TENSOR and each.t.data_type == F32 and b.dtype != F32:
            array = numpy_helper.to_array(each.t)
            each.t.CopyFrom(proto("", b.dtype, rounded(b.dtype, array)))
        if each.name in ("to", "dtype") and each.i == F32:
            each.i = b.dtype
    made = b.place(copy, inputs)
    made = made if isinstance(made, list) else [made]
    for name, value in zip([n for n in node.output if n], made):
        names[name] = value
