"""The bodies of If and Loop are optimized like models and put back."""

import json, os, subprocess
import numpy, onnx, pytest
import roundtrip
from conftest import SLOWER
from onnx import TensorProto as T, helper as h
from small_models import WRONG, forged, measuring, target
from test_numbers import OVERFLOWS
from unusual_models import X, constant, core, info, make, weights

SLOW_IF = """import onnx
def price(path):
    kinds = [n.op_type for n in onnx.load(path).graph.node]
    return 5 if "If" in kinds else 1 + kinds.count("BatchNormalization")
"""


def layers(x="x", y="y", p=""):
    """A convolution and a batch normalization, which become one convolution, and an activation."""
    return [*core(x, p + "bn_out", ""), h.make_node("Relu", [p + "bn_out"], [y], p + "relu")]


def renamed(nodes, suffix):
    """Copies of nodes with new names for their results."""
    made = {name for node in nodes for name in node.output}
    copies = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for names in (copy.input, copy.output):
            names[:] = [n + suffix if n in made else n for n in names]
        copies.append(copy)
    return copies


def branch(suffix):
    return h.make_graph(renamed(layers(), suffix), "b" + suffix, [], [info("y" + suffix, None)])


def if_model(more=()):
    choice = h.make_node(
        "If", ["cond"], ["z"], "choice", then_branch=branch("1"), else_branch=branch("2")
    )
    nodes = [choice, h.make_node("Abs", ["z"], ["out"]), *more]
    return make(nodes, [info("x"), info("cond", (), T.BOOL)], [info("out", (1, 4, 6, 6))])


def loop_model():
    """A model with a Loop that three times adds the sum of the layers' result to its state."""
    body = h.make_graph(
        [
            *layers(),
            h.make_node("ReduceSum", ["y"], ["sum"], keepdims=0),
            h.make_node("Add", ["state", "sum"], ["next"]),
            h.make_node("Identity", ["go"], ["more"]),
        ],
        "body",
        [info("i", (), T.INT64), info("go", (), T.BOOL), info("state", ())],
        [info("more", (), T.BOOL), info("next", ())],
    )
    loop = h.make_node("Loop", ["n", "", "zero"], ["out"], "repeat", body=body)
    first = [constant("n", numpy.int64(3)), constant("zero", numpy.float32(0))]
    return make([loop], outputs=[info("out", ())], initializers=[*weights(), *first])


def carrying_model():
    """The same model, except that the scale of the normalization is a state of the loop, which the
    body passes on unchanged."""
    model = loop_model()
    loop = model.graph.node[0]
    loop.input.append("s")
    loop.output.append("last")
    (body,) = (a.g for a in loop.attribute)
    for node in body.node:
        node.input[:] = ["scale" if name == "s" else name for name in node.input]
    body.input.append(info("scale", (4,)))
    body.output.append(info("scale", (4,)))
    model.graph.output.append(info("last", (4,)))
    return model


def bodies(path):
    for node in onnx.load(path).graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g


def optimize(tmp_path, model, *options, target=None):
    path, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(model, path)
    done = subprocess.run(
        [roundtrip.OPTIMIZE, path, out, "--measure-with", target or f"exec '{roundtrip.EAGER}'"]
        + ["--cost-db", tmp_path / "costs", "--time-limit", str(120 * SLOWER), *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "(usage)" not in done.stderr, "no body's run is refused because of its options"
    return str(path), str(out), done.stdout


def same(path, out, feed):
    for a, b in zip(roundtrip.run_any(path, feed), roundtrip.run_any(out, feed), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_both_branches_of_an_if(tmp_path):
    path, out, said = optimize(tmp_path, if_model())
    assert "then_branch of If 'choice'" in said and "else_branch of If 'choice'" in said
    for graph in bodies(out):
        assert "BatchNormalization" not in {n.op_type for n in graph.node}
    left = {t.name for t in onnx.load(out).graph.initializer}
    assert not left & set("sbmv"), "weights that nothing uses any more"
    for cond in (True, False):
        same(path, out, {"x": X, "cond": numpy.array(cond)})


def test_a_new_weight_is_not_one_of_its_name_outside(tmp_path):
    """The outer graph has weights with the names that results give to new ones."""
    path, out, _ = optimize(tmp_path, if_model())
    taken = {t.name: list(t.dims) for graph in bodies(out) for t in graph.initializer}
    assert taken, "the bodies have new weights"
    model = if_model([h.make_node("Neg", [name], ["of_" + name]) for name in taken])
    for name, shape in taken.items():
        model.graph.initializer.append(constant(name, numpy.full(shape, 0.5, "f4")))
        model.graph.output.append(info("of_" + name, shape))
    path, out, _ = optimize(tmp_path, model)
    for cond in (True, False):
        same(path, out, {"x": X, "cond": numpy.array(cond)})


def test_nothing_is_left_when_nobody_reads(tmp_path):
    """The reader of the messages ends first; the run goes on, and removes its files."""
    temporary = tmp_path / "t"
    temporary.mkdir()
    onnx.save(if_model(), tmp_path / "in.onnx")
    words = [roundtrip.OPTIMIZE, tmp_path / "in.onnx", tmp_path / "out.onnx", "-v"]
    words += ["--measure-with", f"exec '{roundtrip.EAGER}'", "--cost-db", tmp_path / "costs"]
    read, write = os.pipe()
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=write, env=dict(os.environ, TMPDIR=str(temporary))
    )
    os.close(write)
    os.read(read, 1)
    os.close(read)
    assert process.wait(timeout=280) == 0
    assert not os.listdir(temporary) and (tmp_path / "out.onnx").exists()


def test_a_weight_that_others_use_stays(tmp_path):
    kept = [h.make_node("Neg", ["s"], ["negative"])]
    model = if_model(kept)
    model.graph.output.append(info("negative", (4,)))
    path, out, _ = optimize(tmp_path, model)
    assert "s" in {t.name for t in onnx.load(out).graph.initializer}
    same(path, out, {"x": X, "cond": numpy.array(True)})


@pytest.mark.parametrize("part, normalized", [(0, 2), (0.75, 1)])
def test_bodies_within_the_growth_of_the_file(tmp_path, part, normalized):
    """An optimized body has weights of its own, and the old ones remain, since they are outputs.
    Bodies for which the file would grow too much stay as they are, and the run goes on."""
    model = if_model()
    for weight in model.graph.initializer:
        model.graph.output.append(info(weight.name, tuple(weight.dims)))
    path, out, _ = optimize(tmp_path, model)
    grown = os.path.getsize(out) - os.path.getsize(path)
    assert grown > 0
    allowed = int(part * grown)
    path, out, said = optimize(tmp_path, model, "--max-growth", str(allowed))
    assert os.path.getsize(out) - os.path.getsize(path) <= allowed
    kept = sum("BatchNormalization" in {n.op_type for n in g.node} for g in bodies(out))
    assert kept == normalized and said.count("as a model of its own") == 2 - normalized, said
    for cond in (True, False):
        same(path, out, {"x": X, "cond": numpy.array(cond)})


def test_the_body_of_a_loop(tmp_path):
    path, out, said = optimize(tmp_path, loop_model())
    assert "body of Loop 'repeat'" in said
    (graph,) = bodies(out)
    assert "BatchNormalization" not in {n.op_type for n in graph.node}
    same(path, out, {"x": X})


@pytest.mark.parametrize(
    "words",
    [
        "--save-as-external-data --external-threshold 100",
        "--check=0 --check-with onnxruntime --rtol 0.1 --atol 0.1",
        "--discover 0.001 --rules-out FOLDER/new.rules",
        "--discover 0.001 --rules-out FOLDER/new.rules --rules LIBRARY",
        "--input-shape x:1,3,6,6 --input x=0..1 --explain choice --diff --seed 3",
    ],
)
def test_a_body_is_optimized_whatever_is_asked_of_the_model(tmp_path, rules, words):
    """Options whose partners concern the whole model alone are not passed on."""
    words = words.replace("FOLDER", str(tmp_path)).replace("LIBRARY", str(rules)).split()
    _, out, said = optimize(tmp_path, if_model(), "-v", *words)
    assert said.count("of If 'choice', as a model of its own") == 2, said
    for graph in bodies(out):
        assert "BatchNormalization" not in {n.op_type for n in graph.node}


@pytest.mark.parametrize("dry", [False, True])
def test_the_reproducer_of_a_body_lies_next_to_the_result(tmp_path, dry):
    """The planted rule forgets the mean. In a dry run the disagreement is said, not written."""
    path, out, temporary = tmp_path / "in.onnx", tmp_path / "out.onnx", tmp_path / "temporary"
    onnx.save(if_model(), path)
    temporary.mkdir()
    words = ["--measure-with", f"exec '{roundtrip.EAGER}'", "--cost-db", tmp_path / "costs"]
    done = subprocess.run(
        [roundtrip.OPTIMIZE, path, out, *words, "--rules", forged(tmp_path, WRONG)]
        + ["--dry-run"] * dry,
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, TMPDIR=str(temporary)),
    )
    assert done.returncode == 1 and "_branch of If 'choice': " in done.stderr, done.stderr
    text = tmp_path / "out.onnx.disagreement" / "region.txt"
    assert (f"see {text.parent}" in done.stderr) == text.exists() == (not dry)
    assert not out.exists() and not list(temporary.iterdir())
    assert dry or "rule wrong-batchnorm" in text.read_text()


def test_a_state_that_stays_the_same_weight(tmp_path):
    """Such a state counts as a constant of the body, so that the normalization becomes part of the
    convolution. The loop still carries it."""
    path, out, _ = optimize(tmp_path, carrying_model())
    (graph,) = bodies(out)
    assert "BatchNormalization" not in {n.op_type for n in graph.node}
    assert len(graph.input) == 4 and graph.input[3].name == graph.output[2].name
    onnx.checker.check_model(out)
    same(path, out, {"x": X})


def test_names_around_a_body_are_not_hidden(tmp_path):
    """Values around the bodies already have the names that new values in the bodies would get."""
    taken = [h.make_node("Neg", ["x"], [f"isomer_{k}"]) for k in range(1, 40)]
    model = if_model(taken)
    path, out, _ = optimize(tmp_path, model)
    onnx.checker.check_model(out)
    same(path, out, {"x": X, "cond": numpy.array(True)})
    outer = {n for node in onnx.load(out).graph.node for n in node.output}
    for graph in bodies(out):
        assert not outer & {n for node in graph.node for n in node.output}
        assert not outer & {t.name for t in graph.initializer}


def test_the_whole_model_decides(tmp_path):
    """On this target the bodies gain by themselves, but the whole model, which has an If, does
    not."""
    command = measuring(tmp_path / "target", "price(path)", SLOW_IF)
    path, out, said = optimize(tmp_path, if_model(), target=command)
    assert "these bodies are not used" in said and roundtrip.read(out) == roundtrip.read(path)


TWICE = """rule relu-once
  axes b = 1..4
  %x : F [b..]
from
  %y = relu %x
  %z = relu %y
  out %z
to
  %y = relu %x
  out %y

"""


def test_bodies_of_a_result_that_is_not_confirmed_are_not_called_used(tmp_path):
    """The bodies gain, but then a rule is applied whose result overflows on other data. The tensors
    are too large for asking which rule it was."""
    large = (1, 3, 1200, 1200)
    nodes = [h.make_node("Relu", ["x"], ["a"]), h.make_node("Relu", ["a"], ["b"])]
    nodes.append(h.make_node("Neg", ["b"], ["c"]))
    branches = [h.make_graph(renamed(nodes, k), k, [], [info("c" + k, None)]) for k in "tf"]
    choice = dict(zip(("then_branch", "else_branch"), branches))
    around = [h.make_node("If", ["cond"], ["z"], "choice", **choice)]
    around += [h.make_node("Exp", ["x"], ["e"]), h.make_node("Relu", ["x"], ["r"])]
    around += [h.make_node("Exp", ["r"], ["f"]), h.make_node("Div", ["e", "f"], ["y"])]
    outputs = [info("z", large), info("y", large)]
    model = make(around, [info("x", large), info("cond", (), T.BOOL)], outputs, [])
    price = "1 + sum(map(data.count, (b'Relu', b'Exp')))"
    report = tmp_path / "r.json"
    rules = forged(tmp_path, TWICE + OVERFLOWS.replace("0..2", "0..4"))
    words = ["--report", str(report), "--rules", rules]
    path, out, said = optimize(tmp_path, model, *words, target=target(tmp_path, price))
    assert "could not be confirmed" in said and roundtrip.read(out) == roundtrip.read(path)
    found = json.loads(report.read_text())["bodies"]
    assert len(found["reports"]) == 2 and found["note"] == "the original is kept"
    assert "these bodies are not used: the original is kept" in said


@pytest.mark.parametrize("options", [["--rules", "none"], ["--proof-log", "log"]])
def test_where_bodies_stay_as_they_are(tmp_path, options):
    words = [str(tmp_path / w) if w == "log" else w for w in options]
    path, out, _ = optimize(tmp_path, if_model(), *words)
    assert [g.SerializeToString() for g in bodies(out)] == [
        g.SerializeToString() for g in bodies(path)
    ]
