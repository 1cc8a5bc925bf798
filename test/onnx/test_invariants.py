"""Nodes in the body of a Loop or Scan that compute the same in every iteration are moved out of it,
unless they may fail."""

import json
import numpy, onnx, onnxruntime, pytest
import roundtrip
from edges import ours
from onnx import TensorProto as T, helper as h
from small_models import measuring
from test_bodies import optimize
from unusual_models import constant, info, make

# On this target every node in the body of a loop takes a second, except Identity, and all nodes
# outside together take one second.
SECONDS = "1 + inner(onnx.load(path).graph)"
INNER = """import onnx
def inner(graph):
    graphs = [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    free = ("Constant", "Identity")
    return sum(n.op_type not in free for g in graphs for n in g.node) + sum(map(inner, graphs))
"""
DRAW = numpy.random.default_rng(3)
W, V = (DRAW.normal(size=(16, 16)).astype("f") for _ in range(2))
X, Y = (DRAW.normal(size=(2, 5, 16)).astype("f") for _ in range(2))
GO = [h.make_node("Identity", ["go"], ["more"], "go_on")]
N = constant("n", numpy.int64(3))


def node(op, inputs, output, **attributes):
    return h.make_node(
        op, inputs.split(), output.split(), output.split()[0] + "_node", **attributes
    )


def loop(nodes, states, scans=(), weights=(), inner=(), opset=17, n=N, around=(), inputs=()):
    """A model of a Loop. `states`: for each, its name outside, its name inside, the name of what
    the body returns for it, and its sizes. `scans`: outputs of the body that the loop gathers,
    which are called NAME_all outside."""
    body = h.make_graph(
        [*nodes, *GO],
        "body",
        [info("i", (), T.INT64), info("go", (), T.BOOL)] + [info(s[1], s[3]) for s in states],
        [info("more", (), T.BOOL)]
        + [info(s[2], s[3]) for s in states]
        + [info(name, shape) for name, shape in scans],
        inner,
    )
    outputs = [f"last{k}" for k in range(len(states))] + [f"{name}_all" for name, _ in scans]
    repeat = h.make_node("Loop", ["n", "", *(s[0] for s in states)], outputs, "repeat", body=body)
    return make(
        [*around, repeat],
        [info("x", (2, 5, 16)), info("y", (2, 5, 16)), *inputs],
        [info(f"last{k}", s[3]) for k, s in enumerate(states)]
        + [info(f"{name}_all", (None, *shape)) for name, shape in scans],
        [constant("w", W), constant("v", V), n, *weights],
        opset,
    )


SHAPE = (2, 5, 16)
STATE = ("y", "h", "next", SHAPE)  # it starts as y, and the next h is tanh(p + h)
STEP = [node("Add", "p h", "sum"), node("Tanh", "sum", "next")]
KEPT = ("x", "kept", "kept", SHAPE)


def body_of(path):
    (graph,) = (
        a.g
        for n in onnx.load(path).graph.node
        if n.op_type in ("Loop", "Scan")
        for a in n.attribute
        if a.HasField("g")
    )
    return graph


def types(graph):
    return [n.op_type for n in graph.node if n.op_type not in ("Constant", "Identity")]


def run(path, feed):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)


def moved(tmp_path, model, *options, feed=None, **also):
    """Optimizes a model, compares the result with it, and returns the body of the loop, the graph
    around it, the messages and the report."""
    command = measuring(tmp_path / "target", SECONDS, INNER)
    report = tmp_path / "report"
    path, out, said = optimize(
        tmp_path, model, "--report", report, *options, target=command, **also
    )
    onnx.checker.check_model(out, full_check=True)
    for given in feed or [{"x": X, "y": Y}]:
        want = run(path, given)
        have = [run(out, given), ours(onnx.load(path), given, tmp_path)]
        have.append(ours(onnx.load(out), given, tmp_path))
        for k, results in enumerate(have):
            assert not isinstance(results, str), results
            for a, b in zip(want, results, strict=True):
                assert a.shape == b.shape, k
                numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return body_of(out), onnx.load(out).graph, said, json.loads(report.read_text())


def test_product_of_an_unchanging_state(tmp_path):
    """The product is moved, and so is the node that depends only on it and on a value outside."""
    nodes = [node("MatMul", "kept w", "xw"), node("Mul", "xw y", "p"), *STEP]
    body, graph, said, report = moved(tmp_path, loop(nodes, [STATE, KEPT]))
    assert types(body) == ["Add", "Tanh"]
    assert types(graph) == ["MatMul", "Mul", "Loop"]
    assert "moved out of the body of Loop 'repeat'" in said and "MatMul 'xw_node'" in said
    assert report["moved"] == {
        "bodies": [
            {"name": "body of Loop 'repeat'", "nodes": ["MatMul 'xw_node'", "Mul 'p_node'"]}
        ],
        "note": None,
    }
    _, _, said, _ = moved(tmp_path, loop(nodes, [STATE, KEPT]), "--explain", "xw_node")
    assert "xw_node of the result stood in the body of Loop 'repeat' of the original" in said
    seconds = report["measured_seconds"]
    assert seconds["before"] == 5 and seconds["after"] == 3


def test_a_state_returned_through_identity(tmp_path):
    nodes = [node("MatMul", "kept w", "p"), node("Identity", "kept", "same"), *STEP]
    body, _, _, _ = moved(tmp_path, loop(nodes, [STATE, ("x", "kept", "same", SHAPE)]))
    assert types(body) == ["Add", "Tanh"]


@pytest.mark.parametrize("kind", ["changed", "swapped", "other start", "iteration", "condition"])
def test_what_changes_stays(tmp_path, kind):
    first, states = node("MatMul", "kept w", "p"), [STATE, KEPT]
    more = []
    if kind == "changed":
        states[1], more = ("x", "kept", "tripled", SHAPE), [
            node("Sum", "kept kept kept", "tripled")
        ]
    elif kind == "swapped":
        states = [STATE, ("x", "kept", "b", SHAPE), ("y", "b", "kept", SHAPE)]
    elif kind == "other start":  # it stays the same only from the second iteration on
        states[1] = ("x", "kept", "y2", SHAPE)
        more = [node("Identity", "y", "y2")]
    elif kind == "iteration":
        more = [node("Cast", "i", "f", to=T.FLOAT), node("Mul", "kept f", "kf")]
        first = node("MatMul", "kf w", "p")
    else:
        more = [node("Cast", "go", "f", to=T.FLOAT), node("Mul", "kept f", "kf")]
        first = node("MatMul", "kf w", "p")
    body, _, said, report = moved(tmp_path, loop([*more, first, *STEP], states))
    assert "MatMul" in types(body) and "moved out" not in said
    assert not report["moved"]["bodies"]


@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_any_number_of_iterations(tmp_path, iterations):
    """An input decides the number of iterations; the result is timed and checked with one
    number."""
    nodes = [node("MatMul", "kept w", "p"), *STEP]
    model = loop(nodes, [STATE, KEPT], [("p", SHAPE)], n=constant("other", numpy.int64(0)))
    model.graph.input.append(info("n", (), T.INT64))
    feed = [{"x": X, "y": Y, "n": numpy.array(iterations)}]
    body, _, _, _ = moved(tmp_path, model, "--input", "n=2", feed=feed)
    assert types(body) == ["Add", "Tanh"]


def test_what_the_body_returns(tmp_path):
    """If the body returns the moved value as a state, or the loop gathers it, the body still has a
    value with that name."""
    nodes = [node("MatMul", "kept w", "p"), *STEP]
    states = [STATE, KEPT, ("y", "unused", "p", SHAPE)]
    body, _, _, _ = moved(tmp_path, loop(nodes, states, [("p", SHAPE)]))
    assert types(body) == ["Add", "Tanh"]


@pytest.mark.parametrize("where", ["body", "node"])
def test_names_stay_unique(tmp_path, where):
    """Another loop has values with the same names, or a node around the loop has the same name."""
    nodes = [node("MatMul", "kept w", "p"), *STEP]
    model = loop(nodes, [STATE, KEPT])
    if where == "body":
        other = model.graph.node.add()
        other.CopyFrom(model.graph.node[0])
        other.name, other.output[:] = "again", ["o0", "o1"]
        other.input[2:] = ["x", "y"]
        model.graph.output.extend([info("o0", SHAPE), info("o1", SHAPE)])
    else:
        model.graph.node.append(h.make_node("Neg", ["x"], ["o"], "p_node"))
        model.graph.output.append(info("o", SHAPE))
    path, out, _ = optimize(tmp_path, model, target=measuring(tmp_path / "target", SECONDS, INNER))
    onnx.checker.check_model(out, full_check=True)
    for a, b in zip(run(path, {"x": X, "y": Y}), run(out, {"x": X, "y": Y}), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    graph = onnx.load(out).graph
    inner = [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    assert all(types(g) == ["Add", "Tanh"] for g in inner)
    names = [n.name for n in graph.node if n.name]
    assert len(names) == len(set(names))
    outer = {o for n in graph.node for o in n.output}
    assert not any(outer & {o for n in g.node for o in n.output} for g in inner)


def test_a_branch_that_reads_it(tmp_path):
    """An If in the body reads the moved value, or has its own value with that name."""
    then = h.make_graph([node("Add", "xw y", "t")], "then", [], [info("t", SHAPE)])
    other = h.make_graph([node("Sub", "h xw", "e")], "else", [], [info("e", SHAPE)])
    nodes = [
        node("MatMul", "kept w", "xw"),
        node("Equal", "i one", "first"),
        node("If", "first", "p", then_branch=then, else_branch=other),
        *STEP,
    ]
    one = constant("one", numpy.int64(1))
    body, graph, _, _ = moved(tmp_path, loop(nodes, [STATE, KEPT], weights=[one]))
    assert types(body) == ["Equal", "If", "Add", "Tanh"] and types(graph) == ["MatMul", "Loop"]


def test_what_heavy_work_needs(tmp_path):
    """A reshape and weights of the body are moved with a product that needs them. Weights that the
    body still reads also stay there."""
    inner = [constant("inside", W), constant("sizes", numpy.array([10, 16])), constant("b", V)]
    nodes = [
        node("Reshape", "kept sizes", "flat"),
        node("MatMul", "flat inside", "f"),
        node("Reshape", "f back", "xw"),
        node("MatMul", "h inside", "hw"),
        node("MatMul", "hw b", "hb"),
        node("Add", "xw hb", "p"),
        *STEP,
    ]
    back = constant("back", numpy.array(SHAPE))
    model = loop(nodes, [STATE, KEPT], weights=[back], inner=inner)
    body, graph, _, _ = moved(tmp_path, model)
    assert types(graph) == ["Reshape", "MatMul", "Loop"]
    assert types(body) == ["Reshape", "MatMul", "MatMul", "Add", "Add", "Tanh"]
    assert {t.name for t in graph.initializer} >= {"inside"}
    assert "inside" not in {t.name for t in body.initializer}
    assert "b" in {t.name for t in body.initializer}


def test_light_work_stays(tmp_path):
    nodes = [node("Unsqueeze", "kept axis", "u"), node("Squeeze", "u axis", "p"), *STEP]
    axis = constant("axis", numpy.array([0]))
    body, _, said, _ = moved(tmp_path, loop(nodes, [STATE, KEPT], weights=[axis]))
    assert "Unsqueeze" in types(body) and "moved out" not in said


FAILS = {
    "index": ([node("Gather", "flat at", "g"), node("Add", "kept g", "p")], T.INT64, (16,)),
    "divisor": (
        [
            node("Div", "many at", "d"),
            node("Cast", "d", "f", to=T.FLOAT),
            node("Add", "kept f", "p"),
        ],
        T.INT64,
        (16,),
    ),
    "sizes": (
        [
            node("Reshape", "flat at", "s"),
            node("ReduceSum", "s", "r", keepdims=0),
            node("Add", "kept r", "p"),
        ],
        T.INT64,
        (2,),
    ),
    "open": ([node("MatMul", "open w", "m"), node("ReduceSum", "m", "r", keepdims=0),
              node("Add", "kept r", "p")], T.FLOAT, ("rows", "columns")),
    "empty": ([node("ReduceMax", "open", "r", keepdims=0), node("Add", "kept r", "p")],
              T.FLOAT, ("rows", 16)),
    "random": ([node("RandomNormalLike", "y", "r", seed=1.0), node("Mul", "r zero", "z"),
                node("Add", "kept z", "p")], None, None),
}  # fmt: skip
BAD = {
    "index": numpy.full(16, 999),
    "divisor": numpy.zeros(16, "int64"),
    "sizes": numpy.array([7, 7]),
    "open": numpy.ones((3, 7), "f"),
    "empty": numpy.ones((0, 16), "f"),
}
GOOD = {
    "index": numpy.arange(16),
    "divisor": numpy.arange(1, 17),
    "sizes": numpy.array([16, 16]),
    "open": numpy.ones((3, 16), "f"),
    "empty": numpy.ones((3, 16), "f"),
}


@pytest.mark.parametrize("kind", FAILS)
def test_what_may_fail_stays(tmp_path, kind):
    """If there is no iteration, the original gives a result for any data, and so must the
    result."""
    nodes, dtype, shape = FAILS[kind]
    more = [constant("many", numpy.arange(16)), constant("flat", W.reshape(256)),
            constant("zero", numpy.float32(0)), constant("none", numpy.int64(0))]  # fmt: skip
    name = "open" if dtype == T.FLOAT else "at"
    inputs = [info("n", (), T.INT64)] + ([info(name, shape, dtype)] if dtype else [])
    nodes = [*nodes[:-1], node("MatMul", "kept w", "safe"), node("Add", "q safe", "p"), *STEP]
    last = FAILS[kind][0][-1]
    nodes.insert(-4, node(last.op_type, " ".join(last.input), "q"))
    model = loop(nodes, [STATE, KEPT], weights=more, n=constant("k", numpy.int64(0)), inputs=inputs)
    feed = [{"x": X, "y": Y, "n": numpy.array(k)} for k in (2, 0)]
    words = ["--input", "n=2"]
    if dtype:
        numpy.save(tmp_path / "good.npy", GOOD[kind])
        words += ["--input", f"{name}={tmp_path / 'good.npy'}"]
        feed[0][name], feed[1][name] = GOOD[kind], GOOD[kind]
    body, graph, _, _ = moved(tmp_path, model, *words, feed=feed)
    assert "MatMul" in types(graph), "what cannot fail is moved all the same"
    assert FAILS[kind][0][0].op_type in types(body)
    if dtype:
        bad = {**feed[1], name: BAD[kind]}
        for a, b in zip(run(str(tmp_path / "in.onnx"), bad), run(str(tmp_path / "out.onnx"), bad)):
            numpy.testing.assert_array_equal(a, b)


def scan(nodes, unchanging=True):
    """A model of a Scan. The Identity is there because ONNX Runtime returns garbage if the body of
    a Scan returns one of its inputs."""
    body = h.make_graph(
        [*nodes, node("Identity", "kept", "same_one")],
        "body",
        [info("h", (5, 16)), info("kept", (5, 16)), info("one", (5, 16))],
        [
            info("next", (5, 16)),
            info("same_one" if unchanging else "sum", (5, 16)),
            info("next2", (5, 16)),
        ],
    )
    steps = h.make_node(
        "Scan", ["y0", "x0", "x"], ["last", "same", "all"], "steps", body=body, num_scan_inputs=1
    )
    return make(
        [steps],
        [info("y0", (5, 16)), info("x0", (5, 16)), info("x", ("steps", 5, 16))],
        [info("last", (5, 16)), info("same", (5, 16)), info("all", ("steps", 5, 16))],
        [constant("w", W)],
    )


@pytest.mark.parametrize("unchanging", [True, False])
def test_scan(tmp_path, unchanging):
    nodes = [
        node("MatMul", "kept w", "xw"),
        node("Add", "xw one", "p"),
        *STEP,
        node("Identity", "next", "next2"),
    ]
    feed = [{"x": DRAW.normal(size=(k, 5, 16)).astype("f"), "y0": Y[0], "x0": X[0]} for k in (3, 1)]
    body, _, _, _ = moved(tmp_path, scan(nodes, unchanging), "--dim", "steps=3", feed=feed)
    assert ("MatMul" in types(body)) != unchanging


def test_the_whole_model_decides(tmp_path):
    equal = tmp_path / "equal.sh"
    equal.write_text('while read -r p; do echo "${p:+1 $p}"; done')
    model = loop([node("MatMul", "kept w", "p"), *STEP], [STATE, KEPT])
    path, out, said = optimize(tmp_path, model, target=f"exec bash '{equal}'")
    assert roundtrip.read(out) == roundtrip.read(path)
    assert "they stay where they were" in said and "the gain is 0.0 %" in said


def test_in_a_loop_of_a_branch(tmp_path):
    """The branch is optimized as a model of its own, and the product is moved out of its loop."""
    inside = loop([node("MatMul", "kept w", "p"), *STEP], [STATE, KEPT]).graph
    branch = h.make_graph(
        [*inside.node, node("Abs", "last0", "a"), node("Neg", "a", "then")],
        "then",
        [],
        [info("then", SHAPE)],
    )
    other = h.make_graph([node("Neg", "y", "else")], "else", [], [info("else", SHAPE)])
    choice = h.make_node("If", ["c"], ["out"], "choice", then_branch=branch, else_branch=other)
    inputs = [info("x", SHAPE), info("y", SHAPE), info("c", (), T.BOOL)]
    model = make([choice], inputs, [info("out", SHAPE)], list(inside.initializer))
    only = "(n.op_type == 'MatMul' and g.name == 'body'"
    inner = INNER.replace("(n.op_type not in free", only)
    path, out, said = optimize(
        tmp_path, model, target=measuring(tmp_path / "target", SECONDS, inner)
    )
    (then,) = (a.g for a in onnx.load(out).graph.node[-1].attribute if a.name == "then_branch")
    assert "MatMul" in types(then), said
    for c in (True, False):
        feed = {"x": X, "y": Y, "c": numpy.array(c)}
        for a, b in zip(run(path, feed), run(out, feed), strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [["--rules", "none"], ["--proof-log", "log"]])
def test_where_nothing_is_moved(tmp_path, options):
    words = [str(tmp_path / w) if w == "log" else w for w in options]
    model = loop([node("MatMul", "kept w", "p"), *STEP], [STATE, KEPT])
    body, _, _, _ = moved(tmp_path, model, *words)
    assert "MatMul" in types(body)


def test_frozen(tmp_path):
    """The times that decided are in the cost file, so a frozen run gives the same bytes."""
    model = loop([node("MatMul", "kept w", "p"), *STEP], [STATE, KEPT])
    moved(tmp_path, model)
    first = roundtrip.read(str(tmp_path / "out.onnx"))
    moved(tmp_path, model, "--frozen")
    assert roundtrip.read(str(tmp_path / "out.onnx")) == first


def test_the_profile_is_that_of_the_moved_nodes(tmp_path):
    """--discover has ONNX Runtime profiled first, when nodes still have other numbers. No rule
    applies here, so the report says which nodes lose most: the one after the loop is among them,
    whose powers take many times as long as reading and writing them.
    """
    size = (256, 256)
    nodes = [node("MatMul", "x w", "p"), node("Add", "p s", "sum"), node("Tanh", "sum", "next")]
    body = h.make_graph(
        [*nodes, *GO],
        "body",
        [info("i", (), T.INT64), info("go", (), T.BOOL), info("s", size)],
        [info("more", (), T.BOOL), info("next", size)],
    )
    repeat = h.make_node("Loop", ["n", "", "y"], ["last"], "repeat", body=body)
    wide = (700, 700)
    model = make(
        [repeat, node("Pow", "base exponent", "slow")],
        [info("x", size), info("y", size), info("base", wide), info("exponent", wide)],
        [info("last", size), info("slow", wide)],
        [constant("n", numpy.int64(20)), constant("w", DRAW.normal(size=size).astype("f"))],
    )
    report = tmp_path / "report"
    optimize(
        *(tmp_path, model, "--enable", "pow-square", "--report", report),
        *("--discover", "0.01", "--rules-out", tmp_path / "own.rules"),
        target="onnxruntime",
    )
    found = json.loads(report.read_text())
    assert found["moved"]["bodies"] and not found["moved"]["note"]
    loses = [line.split()[0] for line in found["headroom"].splitlines() if " % " in line]
    assert "slow_node" in loses, found["headroom"]
