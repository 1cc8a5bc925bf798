"""Makes model N of a seed: its operators, types and structures depend only on the seed and on N.

Some models are made of operators. The operators take turns, and the one whose turn it is occurs in
the model if possible; all others are drawn by their weights. The other models are built around left
sides of rules."""

import collections, random
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
import operators
from builder import BF16, BOOL, F16, F32, F64, I32, I64, Builder, Input, Reject, Value, proto, typed
from runtime import accepts, lend

# inputs: a list of Given; sizes: {symbol: (first size, second size)}; external: whether weights lie
# in another file; about: how the model was made; rules: those whose left sides it has; file: the
# file of these rules, or None for the library and the search set.
Case = collections.namedtuple("Case", "model inputs sizes external about rules file")
Given = collections.namedtuple("Given", "name dtype shapes low high default")
TRIES = 12
FOCUSED = 3  # how many times the operator whose turn it is occurs in a model
IR = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9}
IR |= {20: 9, 21: 10, 22: 10, 23: 11, 24: 11}


def dtype_of(r):
    return r.choices([F32, F16, BF16, F64, I64, I32], [80, 5, 2, 7, 3, 3])[0]


def operator_model(seed, n, turn):
    """A model of 5 to 60 operators, in which the operator whose turn it is occurs several times."""
    r = random.Random(f"{seed}/{n}")
    focus = sorted(operators.TABLE)[turn % len(operators.TABLE)]
    since, until = operators.TABLE[focus][:2]
    opset = r.randint(since, until)
    b = Builder(r.getrandbits(64), opset, dtype_of(r), r.random() < 0.35, lend, accepts)
    b.random_values, b.exposed = set(), {}
    length = min(60, 5 + int(r.expovariate(1 / 12)))
    places = [r.randrange(min(length, 6)) for _ in range(FOCUSED)]
    empty = r.random() < 0.03
    if empty:
        size = b.dims(1, 3)
        size[b.below(len(size))] = (0, 0)
        b.fresh(size, kind="input")
    for k in range(length):
        for _ in range(places.count(k)):
            attempt(b, focus, 60)
        grow(b)
    return finish(b, r, f"operators, {focus}")


def attempt(b, name, tries=TRIES):
    """Adds a node of this operator if one of so many random nodes is valid; returns whether it
    is."""
    for _ in range(tries):
        mark = len(b.nodes), len(b.values), len(b.inputs), len(b.initializers), len(b.functions)
        try:
            operators.make(b, name)
            return True
        except (Reject, IndexError, ValueError, ZeroDivisionError):
            undo(b, mark)
    return False


def undo(b, mark):
    """Removes everything that was added to the builder after `mark`."""
    nodes, values, inputs, initializers, functions = mark
    del b.nodes[nodes:], b.values[values:], b.inputs[inputs:], b.initializers[initializers:]
    del b.functions[functions:]


def grow(b):
    """Adds a node of any operator; returns whether that succeeded."""
    choices = operators.possible(b.opset)
    names, weights = list(choices), list(choices.values())
    for _ in range(TRIES):
        if attempt(b, b.random.choices(names, weights)[0], 2):
            return True
    return False


# ---- from the builder to a model


def finish(b, r, about, rules=(), file=None):
    """The case of a finished model. Its outputs are all values that no node reads, and some of the
    others."""
    used = {name for node in b.nodes for name in node.input if name}
    made = {name for node in b.nodes for name in node.output if name} - b.random_values
    values = {v.name: v for v in b.values}
    ends = [v for v in b.values if v.name in made and v.name not in used and not v.constant]
    ends += [
        v
        for v in b.values
        if v.name in made & used and r.random() < b.exposed.get(v.name, 0.06) and not v.constant
    ]
    ends += [v for v in b.values if v.name in made and v.constant and v.name not in used][:1]
    if len(ends) > 12:
        ends = r.sample(ends, 12)
    if not ends:
        raise Reject("no output")
    keep_alive(b, {v.name for v in ends})
    names = [i for i in b.inputs if reads(b, i.value.name)]
    b.initializers = [t for t in b.initializers if reads(b, t.name)]
    inputs = [info(b, i.value) for i in names]
    outputs = [info(b, v, r.random() < 0.2) for v in ends]
    graph = helper.make_graph(b.nodes, "random", inputs, outputs, b.initializers)
    if r.random() < 0.2:
        known = [v for v in b.values if v.name in made and v not in ends]
        graph.value_info.extend(info(b, v) for v in r.sample(known, len(known) // 2))
    domains = {f.domain for f in b.functions}
    opsets = [helper.make_opsetid("", b.opset)] + [
        helper.make_opsetid(d, 1) for d in sorted(domains)
    ]
    least = IR[b.opset] if not b.functions else max(8, IR[b.opset])
    if any(i.default for i in names):
        least = max(4, least)
    if least < 4:
        listed = {i.name for i in graph.input}
        graph.input.extend(
            helper.make_tensor_value_info(t.name, t.data_type, t.dims)
            for t in graph.initializer
            if t.name not in listed
        )
    model = helper.make_model(graph, opset_imports=opsets, functions=b.functions, ir_version=least)
    given = [
        Given(
            i.value.name, i.value.dtype, [a.shape for a in i.value.arrays], i.low, i.high, i.default
        )
        for i in names
    ]
    said = {d for i in names for d in i.value.size}
    sizes = {name: pair for pair, name in b.symbols.items() if pair in said}
    external = r.random() < 0.03
    return Case(model, given, sizes, external, about, list(rules), file)


def keep_alive(b, names):
    """Drops nodes that lead to no output."""
    kept = []
    for node in reversed(b.nodes):
        if any(o in names for o in node.output):
            kept.append(node)
            names |= set(inner_names(node))
    b.nodes = kept[::-1]
    b.read = names


def inner_names(node):
    """The names that a node reads, including those in its bodies."""
    yield from (i for i in node.input if i)
    for a in node.attribute:
        if a.HasField("g"):
            for n in a.g.node:
                yield from inner_names(n)
            yield from (o.name for o in a.g.output)


def reads(b, name):
    return name in b.read


def info(b, v, no_sizes=False):
    """The ValueInfo of a value, with a name for each pair of different sizes."""
    if no_sizes:
        return helper.make_tensor_value_info(v.name, v.dtype, [None] * v.rank)
    shape = [p if p == q else b.symbols.setdefault((p, q), f"n{len(b.symbols)}") for p, q in v.size]
    return helper.make_tensor_value_info(v.name, v.dtype, shape)


# ---- data


def feed(case, seed, at=0, kind="ordinary"):
    """Random inputs by name, at the first (at=0) or second sizes. `kind`: ordinary, zero, large,
    tiny, negative or nan."""
    g, out = numpy.random.default_rng([seed, 7]), {}
    for i in case.inputs:
        if i.default and seed % 2:
            continue
        out[i.name] = drawn(g, i, i.shapes[at], kind)
    return out


def drawn(g, i, shape, kind):
    """A random array for an input, with values of this kind."""
    if i.dtype in (F32, F16, F64, BF16):
        x = g.uniform(i.low, i.high, shape)
        if kind == "zero":
            x = x * 0
        elif kind == "large":
            x = x * 1e4 if i.low < 0 else x
        elif kind == "tiny":
            x = x * 1e-6 if i.low < 0 else x
        elif kind == "negative":
            x = -abs(x) if i.low < 0 else x
        elif kind in ("nan", "infinite") and x.size:
            strange = [numpy.nan, numpy.inf, -numpy.inf] if kind == "infinite" else [numpy.nan]
            x.flat[g.integers(x.size)] = g.choice(strange)
        return typed(i.dtype, x)
    if i.dtype == BOOL:
        return g.integers(0, 2, shape).astype("?")
    return typed(i.dtype, g.integers(int(i.low), int(i.high) + 1, shape))


# ---- neighbourhoods of rules


def rule_model(seed, n, sides, again):
    """A model around the left sides of rules: five of the library and the search set, or now and
    then two of another file. `again` (not 0): with the type and opset in which all operators can be
    written and run."""
    r = random.Random(f"{seed}/rules {n} {again}")
    opset = 24 if again else r.choice([24, 24, 24, 23, 22, 21, 20, 19, 18, 17, 15, 13, 12, 11])
    dtype = F32 if again else r.choices([F32, F64, F16, BF16], [88, 6, 4, 2])[0]
    b = Builder(r.getrandbits(64), opset, dtype, r.random() < 0.25, lend, accepts)
    b.random_values, b.exposed = set(), {}
    b.weights = r.choice([0.2, 0.6, 0.9])
    file, chosen = sides.chosen(seed, n, r)
    placed = []
    for rule in chosen:
        if sides.place(b, rule, r):
            placed += [rule] if rule not in placed else []
        for _ in range(r.choice([0, 0, 1, 2])):
            grow(b)
    if chosen[0] not in placed:
        raise Reject(f"no instance of {chosen[0].name}")
    for _ in range(r.choice([0, 0, 1, 2, 5, 12])):
        grow(b)
    return finish(b, r, "rules, " + " ".join(p.name for p in placed), placed, file)


def made(seed, n, sides, again=0):
    """Model N of a seed. `again`: the number of attempts before, which failed. Four of ten models
    are made of operators, the others are built around rules."""
    block, at = divmod(n, 10)
    if at % 5 < 2:
        return operator_model(f"{seed}.{again}", n, block * 4 + at % 5 + (2 if at > 4 else 0))
    return rule_model(seed, block * 6 + at - (2 if at < 5 else 4), sides, again)
