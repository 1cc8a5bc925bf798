"""Makers of branches, loops and calls of model-local functions. Their bodies are chains of nodes
that preserve the sizes of the first value and may read values outside."""

import numpy, onnx
from onnx import helper
from builder import BOOL, F32, F64, I64, Builder, Reject, Value, proto
from reference import FLOATS, Double, Typed, Unable

STEADY = [
    "Relu",
    "Neg",
    "Tanh",
    "Sigmoid",
    "Identity",
    "Abs",
    "Add",
    "Mul",
    "Sub",
    "MatMul",
    "Clip",
]


def inside(b):
    """A builder for a body, in which the values outside can be used."""
    child = Builder(b.below(1 << 30), b.opset, b.dtype, b.opened, b.lend, b.accepts)
    child.odd, child.values, child.count = b.odd, list(b.values), b.count
    child.random_values, child.exposed = b.random_values, b.exposed
    return child


def chain(child, x, length):
    """Adds a chain of so many nodes after x and returns its result, which has the sizes of x."""
    for _ in range(length):
        kind = child.choice(STEADY)
        if kind in ("Add", "Mul", "Sub"):
            y = operand(child, x)
            x = child.add(kind, [x, y])
        elif kind == "MatMul" and x.rank >= 2 and x.size[-1][0] == x.size[-1][1]:
            x = child.add(
                kind, [x, child.fresh([x.size[-1], x.size[-1]], x.dtype, kind="constant")]
            )
        elif kind == "Clip" and child.opset >= 11:
            x = child.add(kind, [x, child.constant(numpy.array(-0.8), x.dtype)])
        elif kind not in ("MatMul", "Clip"):
            x = child.add(kind, [x])
    return x


def operand(child, x):
    same = [v for v in child.values if v.dtype == x.dtype and v.size == x.size]
    if same and child.chance(0.6):
        return child.choice(same)
    return child.fresh([d if d[0] == d[1] else (1, 1) for d in x.size], x.dtype, kind="constant")


def body(child, name, inputs, outputs):
    info = lambda v: helper.make_tensor_value_info(
        v.name, v.dtype, [p if p == q else None for p, q in v.size]
    )
    return helper.make_graph(
        child.nodes, name, [info(v) for v in inputs], [info(v) for v in outputs], child.initializers
    )


def settle(b, node, inputs, kinds, functions=()):
    """Adds a node whose results are found by evaluating it. `kinds`: the element types of the
    results."""
    model = helper.make_model(
        helper.make_graph([], "g", [], []),
        opset_imports=[helper.make_opsetid("", b.opset), helper.make_opsetid("local", 1)],
        functions=functions,
    )
    double, arrays = Double(model, b.lend), []
    double.noise = None
    for k in range(2):
        env = {v.name: Typed(v.arrays[k], FLOATS.get(v.dtype, 0.0)) for v in b.values}
        env |= {v.name: Typed(v.arrays[k], FLOATS.get(v.dtype, 0.0)) for v in inputs if v}
        try:
            made = double.node(node, [env[n] if n else None for n in node.input], env, {})
        except (Unable, KeyError) as error:
            raise Reject(str(error)) from error
        arrays.append([m.array for m in made])
    values = [Value(n, t, pair) for n, t, pair in zip(node.output, kinds, zip(*arrays))]
    b.sensible(values)
    b.nodes.append(node)
    b.values += values
    return values[0] if len(values) == 1 else values


def branch(b, kind):
    x = b.pick([F32, F64])
    if b.chance(0.5):
        condition = b.fresh([], BOOL, kind="input" if b.chance(0.8) else "constant")
    else:
        mean = b.add("ReduceMax", [b.pick([F32])], keepdims=0)
        condition = b.add("Greater", [mean, b.constant(numpy.array(0.3), F32)])
    graphs = {}
    for name in ("then_branch", "else_branch"):
        child = inside(b)
        y = chain(child, x, b.between(1, 4))
        if not child.nodes:
            y = child.add("Identity", [x])
        graphs[name], b.count = body(child, name, [], [y]), child.count
    node = helper.make_node(kind, [condition.name], [b.name()], **graphs)
    return settle(b, node, [condition], [x.dtype])


def loop(b, kind):
    x = b.pick([F32, F64])
    turns = b.ints(b.between(1, 3), scalar=True)
    if b.chance(0.3):
        turns = b.fresh([], I64, 1, 3, "input")
    child = inside(b)
    step, going, state = (
        Value(child.name("b"), t, pair)
        for t, pair in (
            (I64, (numpy.array(0),) * 2),
            (BOOL, (numpy.array(True),) * 2),
            (x.dtype, x.arrays),
        )
    )
    child.values.append(state)
    y = chain(child, state, b.between(1, 3))
    if y is state:
        y = child.add("Identity", [state])
    more = child.add("Identity", [going])
    fixed = turns.constant and not x.open  # whether the number of gathered parts is known
    scan = [child.add("Neg", [y])] if b.chance(0.4) and fixed else []
    graph, b.count = body(child, "body", [step, going, state], [more, y, *scan]), child.count
    start = b.constant(numpy.array(True), BOOL)
    outputs = [b.name() for _ in range(1 + len(scan))]
    node = helper.make_node(kind, [turns.name, start.name, x.name], outputs, body=graph)
    return settle(b, node, [turns, start, x], [x.dtype] * len(outputs))


def call(b, kind):
    """Adds a call of a new function, which may have an attribute to which a node inside refers."""
    x = b.pick([F32, F64])
    child = inside(b)
    child.values = []
    state = Value("p", x.dtype, x.arrays)
    y = child.add("LeakyRelu", [state], alpha=0.3) if b.chance(0.5) else child.add("Relu", [state])
    refers = child.nodes[-1].op_type == "LeakyRelu"
    if refers:
        alpha = child.nodes[-1].attribute[0]
        alpha.ClearField("f")
        alpha.ref_attr_name = "slope"
    y = child.add(b.choice(["Add", "Mul"]), [y, state])
    if b.chance(0.5):
        y = child.add(b.choice(["Tanh", "Neg"]), [y])
    name, b.count = f"F{len(b.functions)}", child.count
    function = helper.make_function(
        "local",
        name,
        ["p"],
        [y.name],
        child.nodes,
        [helper.make_opsetid("", b.opset)],
        attributes=["slope"] if refers else [],
    )
    given = {"slope": b.choice([0.1, 0.25])} if refers else {}
    node = helper.make_node(name, [x.name], [b.name()], domain="local", **given)
    result = settle(b, node, [x], [x.dtype], [function])
    b.functions.append(function)
    return result
