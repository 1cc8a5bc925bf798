"""If, Loop and Scan run as their data decides, with captured names, in long loops and nested; and
an If whose condition is known is replaced by its branch."""

import os, subprocess
import numpy, onnx, onnx.parser, onnxruntime, pytest
from test_run_model import ROOT, run

OPTIMIZE = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "optimize-model")


def model(path, text, opset=17):
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return path


def feed(tmp_path, **values):
    words = []
    for name, value in values.items():
        numpy.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    return words


def session(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def check(path, tmp_path, **values):
    done = run(path, *feed(tmp_path, **values), "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for info, want in zip(session(path).get_outputs(), session(path).run(None, values)):
        have = numpy.load(tmp_path / "out" / f"{info.name}.npy")
        assert (
            have.shape == want.shape
            and have.dtype == want.dtype
            and numpy.allclose(have, want, rtol=1e-4, atol=1e-6)
        ), info.name


BRANCHES = """(float[n] x, bool c) => (float[m] y) {
  s = ReduceSum <keepdims = 0> (x)
  y = If (c) <then_branch = t () => (float[p] a) { a = Mul (x, s) },
              else_branch = e () => (float[q] b) {
                zero = Constant <value = float {0.0}> ()
                positive = Greater (s, zero)
                b = If (positive) <
                    then_branch = tt () => (float[r] d) { d = Concat <axis = 0> (x, x) },
                    else_branch = ee () => (float[u] f) { f = Neg (x) }>
              }>
}"""


@pytest.mark.parametrize("c, sign", [(True, 1), (False, 1), (False, -1)])
def test_branches_and_captured_names(tmp_path, c, sign):
    path = model(tmp_path / "m.onnx", BRANCHES)
    check(path, tmp_path, x=sign * numpy.arange(1, 4, dtype="f4"), c=numpy.array(c))


LOOP = """(float[3] x, int64 most, float limit) => (float[3] last, float[p,3] all) {
  go = Constant <value = bool {1}> ()
  last, all = Loop (most, go, x) <
      body = b (int64 i, bool before, float[3] v) => (bool after, float[3] w, float[3] shown) {
    tenth = Constant <value = float {0.01}> ()
    w = Add (v, tenth)
    shown = Mul (w, x)
    largest = ReduceMax <keepdims = 0> (w)
    after = Less (largest, limit)
  }>
}"""


@pytest.mark.parametrize(
    "most, limit", [(5, 100), (200, 100), (10**6, 1.0)], ids=["short", "long", "until"]
)
def test_loops(tmp_path, most, limit):
    path = model(tmp_path / "m.onnx", LOOP)
    check(
        path,
        tmp_path,
        x=numpy.array([0.1, 0.2, 0.3], "f4"),
        most=numpy.array(most, "i8"),
        limit=numpy.array(limit, "f4"),
    )


def test_a_loop_that_grows(tmp_path):
    """The state of the loop has other sizes in every iteration."""
    path = model(
        tmp_path / "m.onnx",
        """(float[2] x, int64 most) => (float[p] y) {
      go = Constant <value = bool {1}> ()
      y = Loop (most, go, x) <
          body = b (int64 i, bool before, float[q] v) => (bool after, float[r] w) {
        w = Concat <axis = 0> (v, x)
        after = Identity (before)
      }>
    }""",
    )
    check(path, tmp_path, x=numpy.array([1, 2], "f4"), most=numpy.array(40, "i8"))


def test_scan_backwards_along_another_axis(tmp_path):
    path = model(
        tmp_path / "m.onnx",
        """(float[2] s, float[2,5] x) => (float[2] t, float[2,5] y) {
      t, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                   scan_output_axes = [1],
                   body = b (float[2] before, float[2] now) => (float[2] after, float[2] shown) {
                     after = Add (before, now)
                     shown = Mul (after, s)
                   }> (s, x)
    }""",
    )
    check(path, tmp_path, s=numpy.array([1, 2], "f4"), x=numpy.arange(10, dtype="f4").reshape(2, 5))


def test_what_a_branch_cannot_run_is_named(tmp_path):
    path = tmp_path / "m.onnx"
    then = onnx.helper.make_graph(
        [onnx.helper.make_node("Strange", ["x"], ["a"], "odd", domain="other")],
        "t",
        [],
        [onnx.helper.make_tensor_value_info("a", 1, None)],
    )
    other = onnx.helper.make_graph(
        [onnx.helper.make_node("Neg", ["x"], ["b"])],
        "e",
        [],
        [onnx.helper.make_tensor_value_info("b", 1, None)],
    )
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("If", ["c"], ["y"], "choice", then_branch=then, else_branch=other)],
        "g",
        [
            onnx.helper.make_tensor_value_info("x", 1, [3]),
            onnx.helper.make_tensor_value_info("c", 9, []),
        ],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
    )
    onnx.save(
        onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("other", 1)],
            ir_version=8,
        ),
        path,
    )
    done = run(path, "--input", "c=1")
    assert done.returncode == 3 and "odd Strange" in done.stderr, done.stderr
    assert run(path, "--input", "c=0").returncode == 0


# ---- optimize-model

DECIDED = """(float[n,4] x) => (float[n,4] o) <int64 i = {1}, int64 four = {4}> {
  sh = Shape (x)
  d = Gather (sh, i)
  c = Equal (d, four)
  [choice] y = If (c) <then_branch = t () => (float[n,4] a) <float[4] w = {1,2,3,4}> {
      [inner_mul] m = Mul (x, w)
      t_c = Constant <value = bool {0}> ()
      a = If (t_c) <then_branch = tt () => (float[n,4] tta) { tta = Neg (m) },
                    else_branch = te () => (float[n,4] tea) { [inner_exp] tea = Exp (m) }>
    }, else_branch = e () => (float[n,4] b) { b = Sigmoid (x) }>
  o = Add (y, x)
}"""


def optimize(*words):
    return subprocess.run(
        [OPTIMIZE, *map(str, words), "--cost", "flops"], capture_output=True, text=True, timeout=120
    )


def test_a_decided_if_gives_way(tmp_path):
    path, out = model(tmp_path / "m.onnx", DECIDED), tmp_path / "o.onnx"
    done = optimize(path, out)
    assert (
        done.returncode == 0
        and "Ifs that can take only one branch" in done.stdout
        and "compared numerically" in done.stdout
    ), (done.stdout + done.stderr)
    onnx.checker.check_model(str(out), full_check=True)
    graph = onnx.load(out).graph
    assert {"inner_mul", "inner_exp"} <= {n.name for n in graph.node} and not any(
        n.op_type in ("If", "Sigmoid", "Neg") for n in graph.node
    )
    x = numpy.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    assert numpy.array_equal(
        session(path).run(None, {"x": x})[0], session(out).run(None, {"x": x})[0]
    )


RANKS = """(float[b,3,n] x) => (float[p,q,r] o{MORE})
<int64[1] last = {{2}}, int64[1] end = {{-1}}, int64 one = {{1}},
 float[2,3,1] w = {{1,2,3,4,5,6}}> {{
  sh = Shape (x)
  k = Gather (sh, end)
  c = Equal (k, one)
  [choice] y = If (c) <then_branch = t () => (float[ta,tb] a) {{ a = Squeeze (x, last) }},
                       else_branch = e () => (float[ea,eb,ec] d) {{ d = Identity (x) }}>
  u = Unsqueeze (y, end)
  v = Conv (u, w)
  {BODY}
}}"""


def ifs_left(tmp_path, body, more=""):
    """Optimizes a model with an If and returns the number of Ifs in the result, which must give the
    same as the original for an x of [2, 3, 1]."""
    path, out = model(tmp_path / "m.onnx", RANKS.format(BODY=body, MORE=more)), tmp_path / "o.onnx"
    done = optimize(path, out, "--input-shape", "x:2,3,1")
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    x = numpy.random.default_rng(0).normal(size=(2, 3, 1)).astype("f4")
    for a, b in zip(session(path).run(None, {"x": x}), session(out).run(None, {"x": x})):
        assert numpy.array_equal(a, b)
    return sum(n.op_type == "If" for n in onnx.load(out).graph.node)


def test_an_if_of_two_ranks_of_which_one_cannot_go_on(tmp_path):
    """The convolution accepts only three axes, so every run that ends took the branch that
    squeezes."""
    assert ifs_left(tmp_path, "o = Relu (v)") == 0
    with pytest.raises(Exception):
        session(tmp_path / "o.onnx").run(None, {"x": numpy.zeros((2, 3, 5), "f4")})


def test_an_if_of_two_ranks_that_both_go_on_stays(tmp_path):
    assert ifs_left(tmp_path, "h = Relu (u) o = Identity (h)") == 1


def test_what_no_output_needs_decides_nothing(tmp_path):
    assert ifs_left(tmp_path, "h = Relu (v) o = Neg (u)") == 1


def test_without_rules_even_that_if_stays(tmp_path):
    path, out = model(tmp_path / "m.onnx", DECIDED), tmp_path / "o.onnx"
    assert (
        optimize(path, out, "--rules", "none").returncode == 0
        and out.read_bytes() == path.read_bytes()
    )


def test_a_node_name_of_a_branch_that_is_taken_outside_is_dropped(tmp_path):
    """ONNX Runtime refuses two nodes with the same name in a graph."""
    text = """(float[4] x) => (float[4] o) <bool c = {1}> {
      [twice] h = Relu (x)
      y = If (c) <then_branch = t () => (float[4] a) { [twice] a = Exp (h) },
                  else_branch = e () => (float[4] b) { b = Neg (h) }>
      o = Add (y, x)
    }"""
    path, out = model(tmp_path / "m.onnx", text), tmp_path / "o.onnx"
    assert optimize(path, out).returncode == 0
    nodes = onnx.load(out).graph.node
    assert sum(n.name == "twice" for n in nodes) == 1 and "If" not in {n.op_type for n in nodes}
    session(out)


def optimized(folder, text, **feed):
    """The result for a model in text form: a valid model that gives the original's first output."""
    path, out = model(folder / "m.onnx", text), folder / "o.onnx"
    done = optimize(path, out)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    assert numpy.array_equal(session(path).run(None, feed)[0], session(out).run(None, feed)[0])
    return onnx.load(out)


def test_an_if_whose_names_would_collide_stays(tmp_path):
    """Both branches that are taken define the same name, which is valid only in separate
    branches."""
    text = """(float[4] x) => (float[4] o) <bool c = {1}> {
      y = If (c) <then_branch = t () => (float[4] same) { same = Relu (x) },
                  else_branch = e () => (float[4] b) { b = Neg (x) }>
      z = If (c) <then_branch = t () => (float[4] same) { same = Exp (y) },
                  else_branch = e () => (float[4] b) { b = Neg (y) }>
      o = Add (z, x)
    }"""
    optimized(tmp_path, text, x=numpy.array([-1, 0, 1, 2], "f4"))


def test_an_if_that_stays_keeps_the_names_of_both_branches(tmp_path):
    """The first If stays, because an open one defines `t`, too. So `taken` in its other branch
    counts, and the second If stays as well."""
    text = """(float[4] x, bool p) => (float[4] o) <bool c = {1}> {
      y = If (c) <then_branch = a () => (float[4] t) { t = Relu (x) },
                  else_branch = b () => (float[4] taken) { taken = Neg (x) }>
      z = If (c) <then_branch = d () => (float[4] taken) { taken = Exp (y) },
                  else_branch = e () => (float[4] f) { f = Neg (y) }>
      v = If (p) <then_branch = g () => (float[4] t) { t = Abs (z) },
                  else_branch = h () => (float[4] i) { i = Neg (z) }>
      o = Add (v, x)
    }"""
    made = optimized(tmp_path, text, x=numpy.array([-1, 0, 1, 2], "f4"), p=numpy.array(True)).graph
    assert [node.op_type for node in made.node] == ["If", "If", "If", "Add"]


def test_what_stands_around_an_open_if_is_checked_whole(tmp_path):
    text = """(float[1,3,8,8] x, bool c) => (float[p,q,r,s] o)
    <float[3] g = {1,2,3}, float[3] h = {0,1,0}, float[3] m = {0,0,1}, float[3] v = {1,4,1},
     float[3,3,1,1] w = {1,2,3,4,5,6,7,8,9}> {
      k = Conv (x, w)
      n = BatchNormalization (k, g, h, m, v)
      y = If (c) <then_branch = t () => (float[1,3,8,8] a) { a = Relu (n) },
                  else_branch = e () => (float[1,3,8,8] b) { b = Neg (n) }>
      o = Exp (y)
    }"""
    path, out = model(tmp_path / "m.onnx", text), tmp_path / "o.onnx"
    done = optimize(path, out)
    assert done.returncode == 0 and "the whole model" in done.stdout, done.stdout + done.stderr
    assert "BatchNormalization" not in {n.op_type for n in onnx.load(out).graph.node}
