"""Rows longer than a tile of the CPU back end, with what is the same along them: computed once, as
one number (ops/cpu/vector.c), or a part of a pass (ops/cpu/line.c)."""

import numpy, onnx, pytest
from onnx import helper
from test_contrib_float import program

NODES = {
    "quotient": [("Exp", "r", "e"), ("Div", "x", "e", "y")],
    "greatest": [("Sigmoid", "r", "e"), ("Max", "x", "e", "y")],
    "line": [("Sub", "x", "r", "a"), ("Mul", "s", "a", "b"), ("Add", "b", "r", "y")],
}
WANTED = {
    "quotient": lambda x, r, s: x / numpy.exp(r),
    "greatest": lambda x, r, s: numpy.maximum(x, 1 / (1 + numpy.exp(-r))),
    "line": lambda x, r, s: (x - r) * s + r,
}


@pytest.mark.parametrize("name", NODES)
def test_what_is_the_same_along_rows(tmp_path, name):
    draw = numpy.random.default_rng(1)
    feed = {"x": draw.uniform(-2, 2, (3, 1300)), "r": draw.uniform(-2, 2, (3, 1))}
    feed = {n: v.astype("float32") for n, v in (feed | {"s": feed["r"][::-1]}).items()}
    nodes = [helper.make_node(op, names[:-1], names[-1:]) for op, *names in NODES[name]]
    infos = [helper.make_tensor_value_info(n, 1, v.shape) for n, v in feed.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", 1, [3, 1300])])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    words = []
    for n, value in feed.items():
        numpy.save(tmp_path / f"{n}.npy", value)
        words += ["--input", f"{n}={tmp_path / n}.npy"]
    program("run-model", tmp_path / "m.onnx", *words, "--output-dir", tmp_path)
    want = WANTED[name](*(feed[n].astype("float64") for n in "xrs"))
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), want, rtol=2e-5, atol=1e-6)
