"""A weight that the body of a Loop gets as a state and passes on unchanged is a constant in the
body. tf2onnx writes Keras's GRU in this way; PaddlePaddle's exporter gives the state the name of
the weight."""

import numpy, pytest
from onnx import TensorProto as T, helper as h
from test_bodies import bodies, optimize, same
from unusual_models import constant, info, make


def model(change=False, given=False, name="weight", node=False):
    """A model with a Loop of three iterations, which multiply the state by sums of the halves of a
    weight, another state w. `change`: w is negated each time; `given`: w is an input of the model;
    `name`: the name of the weight; `node`: a node Constant gives the weight."""
    passed = "other" if change else "w"
    body = h.make_graph(
        [
            h.make_node("Split", ["w"], ["a", "b"], axis=0),
            h.make_node("Add", ["a", "b"], ["sum"]),
            h.make_node("Mul", ["state", "sum"], ["next"]),
            *([h.make_node("Neg", ["w"], ["other"])] if change else []),
            h.make_node("Identity", ["go"], ["more"]),
        ],
        "body",
        [info("i", (), T.INT64), info("go", (), T.BOOL), info("state", (2, 3)), info("w", (4, 3))],
        [info("more", (), T.BOOL), info("next", (2, 3)), info(passed, (4, 3))],
    )
    loop = h.make_node("Loop", ["n", "", "x", name], ["out", "last"], body=body)
    weight = constant(name, numpy.random.default_rng(0).normal(size=(4, 3)).astype("f"))
    known = [constant("n", numpy.int64(3))] + [weight] * (not given and not node)
    inputs = [info("x", (2, 3))] + [info(name, (4, 3))] * given
    nodes = [h.make_node("Constant", [], [name], value=weight)] * node + [loop]
    return make(nodes, inputs, [info("out", (2, 3)), info("last", (4, 3))], known)


def run(tmp_path, *options, **kind):
    path, out, said = optimize(tmp_path, model(**kind), *options)
    draw = numpy.random.default_rng(1)
    feed = {"x": draw.normal(size=(2, 3)).astype("f")}
    if kind.get("given"):
        feed["weight"] = draw.normal(size=(4, 3)).astype("f")
    same(path, out, feed)
    (body,) = bodies(out)
    return body, said


@pytest.mark.parametrize("node", [False, True])
@pytest.mark.parametrize("name", ["weight", "w"])
def test_known_state(tmp_path, name, node):
    """The body reads the weight instead of the state, which the loop still returns. If the weight
    outside has the name of the state, the body gets no copy of it."""
    body, said = run(tmp_path, name=name, node=node)
    assert body.input[3].name == body.output[2].name == "w/state"
    assert "w/state" not in {name for node in body.node for name in node.input}, said
    assert [t.name for t in body.initializer] == ["w"] * (name != "w")


@pytest.mark.parametrize("kind", ["change", "given"])
def test_state_that_is_not_known(tmp_path, kind):
    body, _ = run(tmp_path, **{kind: True})
    assert body.input[3].name == "w" and not body.initializer


def test_whole_decides(tmp_path):
    """On a target on which all models are equally fast, the file is kept."""
    equal = tmp_path / "equal.sh"
    equal.write_text('while read -r p; do echo "${p:+1 $p}"; done')
    path, out, _ = optimize(tmp_path, model(), target=f"exec bash '{equal}'")
    with open(path, "rb") as a, open(out, "rb") as b:
        assert a.read() == b.read()
