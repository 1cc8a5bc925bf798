"""Calls of functions that a model defines are replaced by the nodes of the functions when the model
is run, and when it is optimized."""

import json, os, subprocess
import numpy, onnx, onnxruntime, pytest
from small_models import BUILD, measuring

RUN = os.path.join(BUILD, "run-model")
HEAD = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>'
TWICE = (
    """<domain: "my", opset_import: ["" : 17]> Twice (a) => (b) { c = Relu (a) b = Add (c, c) }"""
)

ONCE = """<domain: "my", opset_import: ["" : 17]> Once (a) => (b) { b = Exp (a) }"""

# The nodes of the graph from x to y, and the functions of the model.
CASES = {
    "two calls": ("t = my.Twice (x) y = my.Twice (t)", TWICE),
    "a call in a function": (
        "y = my.Outer (x)",
        TWICE
        + '<domain: "my", opset_import: ["" : 17, "my" : 1]> Outer (p) => (q) '
        + "{ c = my.Twice (p) a = Neg (c) q = my.Twice (a) }",
    ),
    "an attribute": (
        "y = my.Leaky <slope = 0.5> (x)",
        '<domain: "my", opset_import: ["" : 17]> Leaky <slope> (a) => (b) '
        "{ b = LeakyRelu <alpha : float = @slope> (a) }",
    ),
    "an attribute through two calls": (
        "y = my.Outer <s = 0.5> (x)",
        '<domain: "my", opset_import: ["" : 17]> Leaky <slope> (a) => (b) '
        "{ b = LeakyRelu <alpha : float = @slope> (a) }"
        '<domain: "my", opset_import: ["" : 17, "my" : 1]> Outer <s> (a) => (b) '
        "{ b = my.Leaky <slope : float = @s> (a) }",
    ),
    "an attribute that is not given": (
        "t = my.Leaky (x) y = my.Leaky <slope = 2.0> (t)",
        '<domain: "my", opset_import: ["" : 17]> Leaky <slope : float = 0.25> (a) => (b) '
        "{ b = LeakyRelu <alpha : float = @slope> (a) }",
    ),
    "an input that is left out": (
        "s = Constant <value = float {0.5}> () y = my.Clip (x, , s)",
        '<domain: "my", opset_import: ["" : 17]> Clip (a, low, high) => (b) '
        "{ b = Clip (a, low, high) }",
    ),
    "an output that nobody wants": (
        "y, z = my.Two (x)",
        '<domain: "my", opset_import: ["" : 17]> Two (a) => (b, c) { c = Neg (a) b = Exp (c) }',
    ),
    "names that exist": (
        "c = Neg (x) Twice_c = Exp (c) t = my.Twice (Twice_c) y = Sub (t, c)",
        TWICE,
    ),
    "an operator set of its own": (
        "y = my.Scaled (x)",
        '<domain: "my", opset_import: ["" : 17, "ai.onnx.ml" : 3]> Scaled (a) => (b) '
        "{ b = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (a) }",
    ),
    "a branch that reads the function's input": (
        "s = ReduceSum <keepdims = 0> (x) z = Constant <value = float {0.0}> () "
        "g = Greater (s, z) y = my.Choose (g, x)",
        TWICE + """<domain: "my", opset_import: ["" : 17, "my" : 1]> Choose (k, a) => (b) {
          b = If (k) <then_branch = yes () => (float[N] u) { u = my.Twice (a) },
                      else_branch = no () => (float[N] v) { w = Neg (a) v = Exp (w) }> }""",
    ),
    "a call in a branch": (
        "s = ReduceSum <keepdims = 0> (x) z = Constant <value = float {0.0}> () "
        "g = Greater (s, z) y = If (g) <then_branch = yes () => (float[4] u) { u = my.Twice (x) }, "
        "else_branch = no () => (float[4] v) { v = Neg (x) }>",
        TWICE,
    ),
}


def written(folder, body, functions, head=HEAD):
    text = f"{head} g (float[4] x) => (float[4] y) {{ {body} }} {functions}"
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def outputs(path):
    """The outputs in ONNX Runtime for each of INPUTS."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return [session.run(None, {"x": x})[0] for x in INPUTS]


INPUTS = numpy.float32([[-1, 0.25, 2, 3], [-1, 0.5, -2, 0.75]])


def run(path, folder, x):
    numpy.save(folder / "x.npy", x)
    words = [RUN, path, "--input", f"x={folder / 'x.npy'}", "--output-dir", folder]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return numpy.load(folder / "y.npy")


@pytest.mark.parametrize("name", [n for n in CASES if n != "an operator set of its own"])
def test_functions_are_run(tmp_path, name):
    path = written(tmp_path, *CASES[name])
    for x, want in zip(INPUTS, outputs(path)):
        numpy.testing.assert_allclose(run(path, tmp_path, x), want, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_functions_are_optimized(optimize, tmp_path, name):
    """All rules are tried, across the calls. On a target that runs calls slowly, the calls are
    replaced even if no rule gains."""
    path, out = written(tmp_path, *CASES[name]), tmp_path / "o.onnx"
    calls = measuring(
        tmp_path / "target", "2 if onnx.load(path).functions else 1", setup="import onnx"
    )
    for options in (["--cost", "nodes"], ["--measure-with", calls]):
        done = optimize(path, out, *options, "--report", tmp_path / "r.json")
        assert done.returncode == 0, done.stderr
        said = json.loads((tmp_path / "r.json").read_text())
        sizes = {"before": path.stat().st_size, "after": out.stat().st_size}
        assert said["bytes"] == sizes, "of the user's file, with its functions"
        assert said["constants_growth"] == sizes["after"] - sizes["before"]
        onnx.checker.check_model(str(out), full_check=True)
        for have, want in zip(outputs(out), outputs(path)):
            numpy.testing.assert_allclose(have, want, rtol=1e-6)
    assert not onnx.load(out).functions
    assert "were replaced by the nodes" in done.stdout and "2.00 times as fast" in done.stdout


@pytest.mark.parametrize("head", [HEAD, HEAD.replace('"" : 17, ', "")])
def test_another_runtime_checks_inlined_calls(optimize, tmp_path, head):
    """It is asked even if no rule was applied, and if only the function imports ONNX's domain."""
    path = written(tmp_path, "y = my.Once (x)", ONCE, head)
    calls = measuring(
        tmp_path / "target", "2 if onnx.load(path).functions else 1", setup="import onnx"
    )
    done = optimize(
        path, tmp_path / "o.onnx", "--measure-with", calls, "--check-with", "onnxruntime"
    )
    assert done.returncode == 0, done.stderr
    assert not onnx.load(tmp_path / "o.onnx").functions
    assert "onnxruntime: agrees on" in done.stdout, done.stdout


def test_what_was_not_compared_is_said(optimize, tmp_path):
    """The custom operator does not run, so the file itself cannot be compared. The result can be,
    with the file in which calls were replaced."""
    head = HEAD.replace('"my"', '"other" : 1, "my"')
    path = written(tmp_path, "t = my.Twice (x) y = other.Bar (t)", TWICE, head)
    done = optimize(path, tmp_path / "o.onnx", "--cost", "nodes")
    assert done.returncode == 0 and not onnx.load(tmp_path / "o.onnx").functions, done.stderr
    assert "without the nodes that the built-in runtime cannot run" in done.stdout, done.stdout
    assert "the replacement of functions, Ifs, bodies or sizes was not compared" in done.stdout
    assert "does not run as a whole: " in done.stdout and "neither a definition" in done.stdout
    path = written(tmp_path, "y = my.Twice (x)", TWICE)
    done = optimize(path, tmp_path / "o.onnx", "--cost", "nodes")
    assert done.returncode == 0 and "was not compared" not in done.stdout, done.stdout
    assert "branches and loops" not in done.stdout, "there are none"


def test_where_inlining_gains_nothing_the_file_is_returned(optimize, tmp_path):
    path, out = written(tmp_path, *CASES["names that exist"]), tmp_path / "o.onnx"
    same = measuring(tmp_path / "target", "1")
    for options in ([], ["--measure-with", same], ["--measure-with", same, "--frozen"]):
        done = optimize(path, out, *options)
        assert done.returncode == 0, done.stderr
        assert out.read_bytes() == path.read_bytes()
        assert "nothing gains 3 %: the file is unchanged" in done.stdout, done.stdout
        out.unlink()


@pytest.mark.parametrize("calls, better", [(1, False), (1.5, True)])
def test_inlining_gains_nothing_by_its_place_in_a_batch(optimize, tmp_path, calls, better):
    """The target takes longer for each further file of a batch, and `calls` times as long for a
    file with calls."""
    path, out = written(tmp_path, *CASES["names that exist"]), tmp_path / "o.onnx"
    seconds = f"(0.92 + 0.08 * batch.index(path)) * ({calls} if onnx.load(path).functions else 1)"
    drifts = measuring(tmp_path / "target", seconds, setup="import onnx")
    done = optimize(path, out, "--measure-with", drifts)
    assert done.returncode == 0, done.stderr
    assert (out.read_bytes() != path.read_bytes()) == better, done.stdout


def replayed(optimize, folder, path, *options):
    """Whether the result of a run with these options is the user's file, and that of a replay,
    which must be the same."""
    log, first, again = (folder / name for name in ("log", "first.onnx", "again.onnx"))
    done = optimize(path, first, *options, "--proof-log", log)
    assert done.returncode == 0, done.stderr
    for target in ([], ["--measure-with", "onnxruntime"]):
        done = optimize(path, again, "--replay", log, *target)
        assert done.returncode == 0, (done.returncode, done.stderr)
        assert again.read_bytes() == first.read_bytes(), target
    return first.read_bytes() == path.read_bytes()


def test_a_replay_inlines_as_the_run_did(optimize, tmp_path):
    """It measures nothing."""
    path = written(tmp_path, "y = my.Once (x)", ONCE)
    calls = measuring(
        tmp_path / "target", "2 if onnx.load(path).functions else 1", setup="import onnx"
    )
    assert not replayed(optimize, tmp_path, path, "--measure-with", calls)
    assert not replayed(optimize, tmp_path, path, "--cost", "nodes")
    assert replayed(optimize, tmp_path, path, "--measure-with", measuring(tmp_path / "same", "1"))
    assert replayed(optimize, tmp_path, path)


def test_an_output_that_is_the_input(tmp_path):
    """ONNX Runtime refuses such a function, but the specification allows it."""
    text = '<domain: "my", opset_import: ["" : 17]> Pass (a) => (b, a) { b = Neg (a) }'
    path = written(tmp_path, "t, u = my.Pass (x) y = Sub (t, u)", text)
    numpy.testing.assert_equal(run(path, tmp_path, INPUTS[0]), -2 * INPUTS[0])


def kinds(path):
    return [n.op_type for n in onnx.load(path).graph.node if n.op_type != "Identity"]


def test_a_rule_reaches_across_a_call(optimize, tmp_path):
    inner = '<domain: "my", opset_import: ["" : 17]> Twice (a) => (b) { b = Relu (a) }'
    path = written(tmp_path, "t = my.Twice (x) y = my.Twice (t)", inner)
    done = optimize(path, tmp_path / "o.onnx", "--cost", "nodes")
    assert done.returncode == 0, done.stderr
    assert kinds(tmp_path / "o.onnx") == ["Relu"]
    assert not onnx.load(tmp_path / "o.onnx").functions


STAYS = {
    "another version of an operator set": (
        "t = Relu (x) s = Relu (t) y = my.Twice (s)",
        TWICE.replace(": 17", ": 15"),
        HEAD,
    ),
    "a function named like an operator of ONNX Runtime": (
        "t = Relu (x) s = Relu (t) y = com.microsoft.Gelu (s)",
        '<domain: "com.microsoft", opset_import: ["" : 17]> Gelu (a) => (b) { b = Exp (a) }',
        HEAD.replace("my", "com.microsoft"),
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_calls_that_stay(optimize, tmp_path, name):
    """The model around such calls is optimized."""
    path = written(tmp_path, *STAYS[name])
    done = optimize(path, tmp_path / "o.onnx", "--cost", "nodes")
    assert done.returncode == 0, done.stderr
    assert kinds(tmp_path / "o.onnx") == ["Relu", onnx.load(path).functions[0].name]
    assert len(onnx.load(tmp_path / "o.onnx").functions) == 1
    for have, want in zip(outputs(tmp_path / "o.onnx"), outputs(path)):
        numpy.testing.assert_allclose(have, want, rtol=1e-6)


def test_a_function_that_calls_itself(optimize, tmp_path):
    """ONNX does not allow such a function. The model is copied, and cannot be run."""
    head = '<domain: "my", opset_import: ["" : 17, "my" : 1]>'
    path = written(
        tmp_path, "y = my.F (x)", f"{head} F (a) => (b) {{ c = my.F (a) d = my.F (c) b = Neg (d) }}"
    )
    out = tmp_path / "o.onnx"
    assert optimize(path, out, "--cost", "nodes").returncode == 0
    assert out.read_bytes() == path.read_bytes()
    done = subprocess.run([RUN, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "a function defined by the model" in done.stderr
