"""A weight that a Loop's body is given as a state, and passes on as it is, is a constant in it
(Keras's GRU, as tf2onnx writes it)."""

import numpy, pytest
from onnx import TensorProto as T, helper as h
from test_bodies import bodies, optimize, same
from unusual_models import constant, info, make


def model(change=False, given=False):
    """x times a matrix, three times; the matrix is a state. change: it is negated each time. given:
    the model takes it."""
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
    loop = h.make_node("Loop", ["n", "", "x", "weight"], ["out", "last"], body=body)
    weight = numpy.random.default_rng(0).normal(size=(4, 3)).astype("f")
    known = [constant("n", numpy.int64(3))] + [constant("weight", weight)] * (not given)
    inputs = [info("x", (2, 3))] + [info("weight", (4, 3))] * given
    return make([loop], inputs, [info("out", (2, 3)), info("last", (4, 3))], known)


def run(tmp_path, *options, **kind):
    path, out, said = optimize(tmp_path, model(**kind), *options)
    draw = numpy.random.default_rng(1)
    feed = {"x": draw.normal(size=(2, 3)).astype("f")}
    if kind.get("given"):
        feed["weight"] = draw.normal(size=(4, 3)).astype("f")
    same(path, out, feed)
    (body,) = bodies(out)
    return body, said


def test_known_state(tmp_path):
    """What is computed of it is computed once, and the loop still gives it back."""
    body, said = run(tmp_path)
    assert body.input[3].name == body.output[2].name == "w/state"
    assert "Split" not in {n.op_type for n in body.node} or body.initializer, said


@pytest.mark.parametrize("kind", ["change", "given"])
def test_state_that_is_not_known(tmp_path, kind):
    body, _ = run(tmp_path, **{kind: True})
    assert body.input[3].name == "w" and not body.initializer


def test_whole_decides(tmp_path):
    """A target to which every model is as fast keeps the file."""
    equal = tmp_path / "equal.sh"
    equal.write_text('while read -r p; do echo "${p:+1 $p}"; done')
    path, out, _ = optimize(tmp_path, model(), target=f"exec bash '{equal}'")
    with open(path, "rb") as a, open(out, "rb") as b:
        assert a.read() == b.read()
