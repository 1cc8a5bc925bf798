"""The bodies of If, Loop and Scan, at any depth, ask questions, and the answers improve them."""

import json, os, re, subprocess
import numpy, onnx, pytest
from onnx import TensorProto as T, helper as h, numpy_helper
from small_models import measuring
from conftest import SLOWER
import roundtrip

BUILD = os.path.dirname(roundtrip.OPTIMIZE)
SHAPE = [2, 32, 48]
# A target that takes a second for each product that is not one of means, at any depth.
COSTLY = """import onnx
def costly(graph):
    means = {n.output[0] for n in graph.node if n.op_type == "ReduceMean"}
    inner = sum(costly(a.g) for n in graph.node for a in n.attribute if a.HasField("g"))
    products = [n for n in graph.node if n.op_type in ("MatMul", "Gemm")]
    return inner + sum(means.isdisjoint(n.input) for n in products)
"""


def info(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def mean(x, y, p=""):
    """Nodes for the mean over the tokens of their products with a matrix. No rule of the library
    improves them."""
    return [
        h.make_node("MatMul", [x, "w"], [p + "product"]),
        h.make_node("ReduceMean", [p + "product"], [p + "mean"], axes=[1], keepdims=1),
        h.make_node("Neg", [p + "mean"], [y]),
    ]


def branch(name, x="x"):
    return h.make_graph(mean(x, name + "y", name), name, [], [info(name + "y", None)])


def choice(then, other):
    return [h.make_node("If", ["cond"], ["y"], "choice", then_branch=then, else_branch=other)]


def absolute(name):
    return h.make_graph([h.make_node("Abs", ["x"], [name])], name, [], [info(name, None)])


def simple():
    return choice(branch("a"), branch("b")), [info("cond", (), T.BOOL)], [2, 1, 48]


def nested():
    """A model with an If in a branch of an If. The inner branch reads a value of the outer one."""
    inner = h.make_node("If", ["other"], ["in_y"], then_branch=branch("a", "z"))
    inner.attribute.append(h.make_attribute("else_branch", absolute("c")))
    made = [h.make_node("Exp", ["x"], ["e"]), h.make_node("Sin", ["e"], ["z"]), inner]
    then = h.make_graph(made, "then", [], [info("in_y", None)])
    nodes = choice(then, absolute("d"))
    return nodes, [info("cond", (), T.BOOL), info("other", (), T.BOOL)], None


def repeated():
    """A model with a Loop that three times adds its state to x and takes the mean of products."""
    nodes = [
        h.make_node("Add", ["x", "state"], ["sum"]),
        *mean("sum", "next"),
        h.make_node("Identity", ["go"], ["more"]),
    ]
    given = [info("i", (), T.INT64), info("go", (), T.BOOL), info("state", [2, 1, 48])]
    body = h.make_graph(nodes, "body", given, [info("more", (), T.BOOL), info("next", [2, 1, 48])])
    return [h.make_node("Loop", ["n", "", "zero"], ["y"], "repeat", body=body)], [], [2, 1, 48]


def scanned():
    """A model with a Scan over the first axis."""
    nodes = [h.make_node("Unsqueeze", ["row", "front"], ["one"]), *mean("one", "out")]
    body = h.make_graph(nodes, "body", [info("row", [32, 48])], [info("out", [1, 1, 48])])
    node = h.make_node("Scan", ["x"], ["y"], "scan", body=body, num_scan_inputs=1)
    return [node], [], [2, 1, 1, 48]


def save(path, made, shape=None):
    nodes, more, result = made
    weights = numpy.random.default_rng(1).standard_normal((48, 48)).astype("float32")
    constants = {
        "w": weights,
        "n": numpy.int64(3),
        "zero": numpy.zeros((2, 1, 48), "float32"),
        "front": numpy.array([0]),
    }
    graph = h.make_graph(
        nodes,
        "g",
        [info("x", shape or SHAPE), *more],
        [info("y", result)],
        [numpy_helper.from_array(numpy.asarray(v), k) for k, v in constants.items()],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


def listed(path, *options):
    """The questions about exactly a product and its mean, as text with their sizes."""
    done = subprocess.run(
        [os.path.join(BUILD, "discover-rules"), path, "--list", "--operators", "2", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = re.split(r"(?m)^(?=question )", done.stdout)
    return [p for p in parts if "= matmul " in p and "mean " in p and "neg" not in p]


@pytest.mark.parametrize("made", [simple, nested, repeated, scanned])
def test_bodies_ask(tmp_path, made):
    """Bodies ask, and weights of the graph around them count as constants. With --no-bodies they do
    not ask."""
    path = save(tmp_path / "m.onnx", made())
    asked = listed(path)
    assert asked and all("%k" in part and "from=m\n" in part for part in asked)
    count = max(int(re.search(r"count=(\d+)", part)[1]) for part in asked)
    assert count == (2 if made is simple else 1)
    assert not listed(path, "--no-bodies")


def test_a_body_that_is_not_asked(tmp_path):
    """A body that cannot be a model of its own is named with the reason, unless --quiet is
    given."""
    path = save(tmp_path / "m.onnx", simple())
    model = onnx.load(path)
    model.ir_version = 3
    onnx.save(model, path)
    words = [os.path.join(BUILD, "discover-rules"), path, "--list", "--output", tmp_path / "q"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    line = r"(?m)^discover-rules: .*m.onnx: (\w+) of If .* is not asked: .+$"
    named = re.findall(line, done.stderr)
    assert sorted(named) == ["else_branch", "then_branch"]
    done = subprocess.run([*words, "-q"], capture_output=True, text=True, check=True)
    assert not done.stderr


@pytest.mark.parametrize("options", [("--dim", "n=23"), ("--input-shape", "x:2,23,48")])
def test_a_size_from_outside(tmp_path, options):
    """An open size of a value around the body has the same number in the body."""
    path = save(tmp_path / "m.onnx", nested(), [2, "n", 48])
    asked, other = listed(path, *options), listed(path, "--dim", "n=19")
    assert asked and all(re.search(r"(?m)^at .*=23\b", part) for part in asked)
    assert other and not any("=23" in part for part in other)


def test_a_size_that_is_made_outside(tmp_path):
    """If no option gives the size of x, the size of x joined to itself is twice as large in the
    body, too."""
    twice = h.make_node("Concat", ["x", "x"], ["xx"], axis=1)
    made = [twice, *choice(branch("a", "xx"), absolute("b"))], [info("cond", (), T.BOOL)], None
    asked = listed(save(tmp_path / "m.onnx", made, [2, "n", 48]))
    assert asked and all(re.search(r"(?m)^at .*=128\b", part) for part in asked)


def test_a_profile_of_the_node(tmp_path):
    """The time of the If in the profile is divided among the nodes of its branches; one branch gets
    all of it at most."""
    path, profile = save(tmp_path / "m.onnx", simple()), tmp_path / "profile"
    for seconds in (0.5, 5):
        profile.write_text(f"machine 1e15 1e15\nnode 0 {seconds}\n")
        (asked,) = {re.search("most=(\\S+)", p)[1] for p in listed(path, "--profile", profile)}
        assert 0.5 * seconds < float(asked) <= 1.11 * seconds


@pytest.mark.parametrize(
    "made, rules", [(simple, ["--rules", "none"]), (nested, []), (repeated, [])]
)
def test_what_is_found_improves_the_bodies(tmp_path, made, rules):
    """With optimize-model --discover, the question of a body is answered, and the rule is proved
    and used in it."""
    path, out = save(tmp_path / "m.onnx", made()), tmp_path / "o.onnx"
    command = measuring(tmp_path / "target", "1 + costly(onnx.load(path).graph)", COSTLY)
    done = subprocess.run(
        [
            roundtrip.OPTIMIZE,
            path,
            out,
            "--measure-with",
            command,
            *rules,
        ]
        + ["--discover", str(60 * SLOWER), "--time-limit", str(120 * SLOWER)]
        + ["--cost-db", tmp_path / "costs", "--report", tmp_path / "r.json"],
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["discovered"]["proved"] > 0
    assert "found-" in done.stdout, done.stdout
    random = numpy.random.default_rng(2)
    feed = {"x": random.standard_normal(SHAPE).astype("float32")}
    for name in {i.name for i in onnx.load(path).graph.input} - {"x"}:
        feed[name] = numpy.array(True)
    (before,), (after,) = (roundtrip.run_any(str(p), feed) for p in (path, out))
    numpy.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-4)
    assert onnx.load(path) != onnx.load(out)
