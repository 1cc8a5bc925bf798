"""Names of nodes have no meaning, but ONNX Runtime refuses a graph in which two nodes have the same
one. The result never has such nodes, even if the model has names like those that are given to new
nodes."""

import onnx, onnxruntime, pytest

CALLS = """<ir_version: 9, opset_import: ["" : 17, "my" : 1]>
g (float[N,4] x) => (float[N,4] y) { %s }
<domain: "my", opset_import: ["" : 17]>
F (a) => (b) { [first] p = Neg (a) [second] q = Neg (p) [third] b = Tanh (q) }
<domain: "my", opset_import: ["" : 17, "my" : 1]>
Outer (a) => (b) { p = my.F (a) b = my.F (p) }"""
RULE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,4] y) <float two = {2}, float third = {0.3}>
{ [a] a = Mul (x, two) ["mul-mul-scalar/b"] t = Tanh (x) [b] b = Mul (a, third) y = Add (b, t) }"""
IF = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,4] y) <bool t = {1}>
{ [i] u, v = If (t) <
    then_branch = one () => (float[N,4] q, float[N,4] p) { p = Neg (x) q = Tanh (p) },
    else_branch = two () => (float[N,4] s, float[N,4] r) { r = Relu (x) s = Tanh (r) }>
  ["i/1"] w = Exp (u) ["i/2"] y = Add (w, v) }"""

CASES = {
    "two calls without names": (CALLS % "a = my.F (x) y = my.F (a)", 6),
    "nodes that have such names": (
        CALLS % '[c] a = my.F (x) ["c/first"] b = Abs (a) ["c/third"] y = Exp (b)',
        5,
    ),
    "calls in a function": (CALLS % "[c] a = my.Outer (x) y = my.Outer (a)", 12),
    "a rule's result": (RULE, 3),
    "an If with two results": (IF, None),
}


@pytest.mark.parametrize("name", CASES)
def test_no_two_nodes_have_one_name(optimize, tmp_path, name):
    text, nodes = CASES[name]
    model = onnx.parser.parse_model(text)
    onnx.save(model, tmp_path / "m.onnx")
    path = tmp_path / "out.onnx"
    done = optimize(tmp_path / "m.onnx", path, "--cost", "nodes")
    assert done.returncode == 0, done.stderr
    graph = onnx.load(path).graph
    names = [node.name for node in graph.node if node.name]
    assert len(set(names)) == len(names), names
    assert nodes is None or len(graph.node) == nodes
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
