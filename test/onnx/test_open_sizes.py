"""Models whose sizes are open mean the same after rewriting at all sizes, also at those at which a
bound is negative, a range is empty or a quotient rounds."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from small_models import BUILD, PROGRAM

ROUNDTRIP = os.path.join(BUILD, "test", "tools", "onnx_roundtrip")
CHOICE = """y = If (c) <
    then_branch = g1 () => (int64[1] yt) { yt = Constant <value_ints = [1]> () },
    else_branch = g2 () => (int64[1] ye) { ye = Constant <value_ints = [2]> () }>"""
NUMBERS = """one = Constant <value_ints = [1]> () five = Constant <value_ints = [5]> ()
    axis = Constant <value_ints = [0]> () s = Shape (x)"""
DECIDED = {  # which branch is taken depends on a size
    "a bound below 0": "b = Sub (s, five) r = Slice (x, b, s) t = Shape (r) d = Equal (t, five)",
    "an empty range": """n = Squeeze (s, axis) f = Squeeze (five, axis) o = Squeeze (one, axis)
        r = Range (f, n, o) t = Shape (r) b = Sub (s, five) d = Equal (t, b)""",
    "all but the last": """m = Neg (one) r = Slice (x, axis, m) t = Shape (r) b = Sub (s, one)
        d = Equal (t, b)""",
    "the last one": "b = Sub (s, one) r = Slice (x, b, s) t = Shape (r) d = Equal (t, one)",
}
WRITTEN = {  # written anew with sizes that are computed in the model
    "all but the last b": "s = Shape (b) m = Neg (s) z = Constant <value_ints = [0]> () "
    "y = Slice (a, z, m)",
    "the last b": "s = Shape (b) m = Neg (s) n = Shape (a) y = Slice (a, m, n)",
    "a quotient below 0": "k = Concat <axis = 0> (a, a) m = Constant <value_ints = [-2]> () "
    "e = Constant <value_ints = [8]> () z = Constant <value_ints = [0]> () "
    "t = Constant <value_ints = [3]> () y = Slice (k, m, e, z, t)",
    "a range between two sizes": "z = Constant <value_ints = [0]> () "
    "o = Constant <value_int = 1> () "
    "s = Shape (a) p = Squeeze (s, z) u = Shape (b) t = Squeeze (u, z) r = Range (t, p, o) "
    "l = Shape (r) y = ConstantOfShape (l)",
}


def run(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def same(one, two, feed):
    want, got = run(one, feed), run(two, feed)
    shapes = {name: value.shape for name, value in feed.items()}
    assert want.shape == got.shape and (want == got).all(), (shapes, want.shape, got.shape)


@pytest.mark.parametrize("name", DECIDED)
def test_what_a_size_decides(tmp_path, name):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[n] x) => (int64[1] y)
        {{ {NUMBERS} {DECIDED[name]} c = Squeeze (d, axis) {CHOICE} }}"""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    done = subprocess.run(
        [PROGRAM, path, out, "--cost", "nodes", "--input-shape", "x:9"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for n in (0, 1, 2, 3, 4, 5, 6, 9, 10):
        same(path, out, {"x": numpy.arange(n, dtype="f4")})


@pytest.mark.parametrize("name", WRITTEN)
def test_sizes_computed_in_the_model(tmp_path, name):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[p] a, float[t] b) => (float[q] y)
        {{ {WRITTEN[name]} }}"""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    done = subprocess.run(
        [ROUNDTRIP, "-r"], input=f"{path} {out}\n", capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("0 "), done.stdout
    for p in (0, 1, 2, 3, 5, 8, 9, 12, 13):
        for t in (1, 4, 9):
            same(path, out, {"a": numpy.arange(p, dtype="f4"), "b": numpy.ones(t, "f4")})


# ---- random models over two open sizes p and t

PAIRS = [(p, t) for p in (0, 1, 2, 5, 9, 12) for t in (1, 3, 4, 10)]


def random_text(seed):
    """Lengths are computed from p, t and numbers, some of them negative, by sums, differences,
    minima and quotients; they are the bounds of slices and ranges. Everything is put together."""
    draw = numpy.random.default_rng(seed)
    lines = ["n0 = Shape (a)", "n1 = Shape (b)"]
    for k, value in enumerate(draw.choice([-7, -2, -1, 0, 1, 2, 5], 3)):
        lines.append(f"n{k + 2} = Constant <value_ints = [{value}]> ()")
    lines.append("by = Constant <value_ints = [%d]> ()" % draw.integers(2, 4))
    lines.append("axis = Constant <value_ints = [0]> () one = Constant <value_int = 1> ()")
    lengths, parts = 5, ["a", "b"]
    for k in range(int(draw.integers(3, 8))):
        one, two = (f"n{draw.integers(lengths)}" for _ in "xy")
        kind = draw.integers(8)
        if kind < 4:
            op = ("Add", "Sub", "Min", "Max")[kind]
            lines.append(f"n{lengths} = {op} ({one}, {two})")
            lengths += 1
        elif kind == 4:
            lines.append(f"d{k} = Max ({one}, axis) n{lengths} = Div (d{k}, by)")
            lengths += 1
        elif kind == 5:
            lines.append(f"f{k} = Squeeze ({one}, axis) u{k} = Squeeze ({two}, axis)")
            lines.append(f"r{k} = Range (f{k}, u{k}, one) x{k} = Cast <to = 1> (r{k})")
            parts.append(f"x{k}")
        else:
            of = parts[draw.integers(len(parts))]
            step = ", axis, by" if kind == 6 else ""
            lines.append(f"x{k} = Slice ({of}, {one}, {two}{step})")
            parts.append(f"x{k}")
    lines += [f"s{k} = Shape ({part})" for k, part in enumerate(parts)]
    lines.append("y = Concat <axis = 0> (%s)" % ", ".join(parts))
    lines.append("z = Concat <axis = 0> (%s)" % ", ".join(f"s{k}" for k in range(len(parts))))
    return f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[p] a, float[t] b) => (float[q] y, int64[r] z) {{ {" ".join(lines)} }}"""


@pytest.mark.parametrize("mode", ["-r", "-n"])
def test_random_lengths(tmp_path, mode):
    paths = []
    for seed in range(150):
        paths.append(tmp_path / f"{seed}.onnx")
        onnx.save(onnx.parser.parse_model(random_text(seed)), paths[-1])
    lines = "".join(f"{path} {path}.new\n" for path in paths)
    done = subprocess.run(
        [ROUNDTRIP, mode], input=lines, capture_output=True, text=True, check=True
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    for line, path in zip(done.stdout.splitlines(), paths):
        assert line.startswith("0 "), line
        one, two = (
            onnxruntime.InferenceSession(str(p), options, ["CPUExecutionProvider"])
            for p in (path, f"{path}.new")
        )
        for p, t in PAIRS:
            feed = {"a": numpy.arange(p, dtype="f4"), "b": -numpy.arange(t, dtype="f4")}
            for want, got in zip(one.run(None, feed), two.run(None, feed)):
                assert want.shape == got.shape and (want == got).all(), (path, p, t, want, got)
