"""--fix-dims: given sizes become numbers in the result, and the nodes that computed them go."""

import os, subprocess
import numpy as np, onnx, onnx.parser, onnxruntime, pytest
from onnx import numpy_helper

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
PROGRAM = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "optimize-model")

# Heads are split off and joined again, as exporters write this for open sizes. The size k of u is
# not a size of any input.
MODEL = """<ir_version: 8, opset_import: ["" : 13]>
m (float[batch, seq, 8] x, float[seq] z) => (float[batch, seq, 8] y, float[k, 8] u)
 <int64[1] one = {1}, int64[1] zero = {0}, int64[1] eight = {8}, int64[1] four = {4},
  int64[1] two = {2}, int64[2] rows = {-1, 8}>
 { s = Shape(x) b = Gather<axis = 0>(s, zero) q = Gather<axis = 0>(s, one)
   split = Concat<axis = 0>(b, q, four, two) h = MatMul(x, w) r = Reshape(h, split)
   t = Transpose<perm = [0, 2, 1, 3]>(r) a = Relu(t) v = Transpose<perm = [0, 2, 1, 3]>(a)
   joined = Concat<axis = 0>(b, q, eight) p = Reshape(v, joined) c = Unsqueeze(z, one)
   y = Add(p, c) f = Reshape(x, rows) u = Relu(f) }"""


def made(text, folder):
    model = onnx.parser.parse_model(text)
    if "MatMul(x, w)" in text:
        weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    return path


def optimize(path, folder, *options):
    out = os.path.join(folder, "out.onnx")
    done = subprocess.run(
        [PROGRAM, path, out, "--cost", "flops", *map(str, options)], capture_output=True, text=True
    )
    return done, out


def sizes(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def run(path, feed):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)


@pytest.mark.parametrize(
    "options, x",
    [
        (["--dim", "seq=5"], ["batch", 5, 8]),
        (["--dim", "seq=5", "--dim", "batch=2"], [2, 5, 8]),
        (["--input-shape", "x:2,5,8"], [2, 5, 8]),
        (["--input-shape", "z:5"], ["batch", 5, 8]),
    ],
)
def test_given_sizes_are_numbers_and_others_stay_open(options, x, tmp_path):
    path = made(MODEL, tmp_path)
    log = tmp_path / "log"
    done, out = optimize(path, tmp_path, "--fix-dims", *options, "--proof-log", log)
    assert done.returncode == 0 and "numbers in the model now" in done.stdout, done.stderr
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=True)
    assert [sizes(v) for v in model.graph.input] == [x, [5]]
    assert [sizes(v) for v in model.graph.output] == [x, ["k", 8]]
    assert "branches and loops" not in done.stdout, "there are none"
    assert not {"Shape", "Gather", "Concat"} & {n.op_type for n in model.graph.node}
    feed = {
        "x": np.random.default_rng(1).standard_normal((2, 5, 8)).astype(np.float32),
        "z": np.ones(5, np.float32),
    }
    for have, want in zip(run(out, feed), run(path, feed)):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
    first = open(out, "rb").read()
    for again in ([], ["--fix-dims", *options]):
        os.unlink(out)
        done, out = optimize(path, tmp_path, "--replay", log, *again)
        assert done.returncode == 0 and open(out, "rb").read() == first, done.stderr
    other = ["--fix-dims", *options, "--dim", "seq=6"]
    assert optimize(path, tmp_path, "--replay", log, *other)[0].returncode == 2


def test_without_it_sizes_stay_open(tmp_path):
    done, out = optimize(made(MODEL, tmp_path), tmp_path, "--dim", "seq=5")
    assert done.returncode == 0, done.stderr
    assert sizes(onnx.load(out).graph.input[0]) == ["batch", "seq", 8]


def test_onnx_runtime_is_asked_about_the_same_sizes(tmp_path):
    options = ["--fix-dims", "--dim", "seq=5", "--check-with", "onnxruntime"]
    done, _ = optimize(made(MODEL, tmp_path), tmp_path, *options)
    assert done.returncode == 0 and "onnxruntime: agrees" in done.stdout, done.stderr


# An axis without a name is identified only by its input; "?" is not a name.
UNNAMED = """<ir_version: 8, opset_import: ["" : 13]>
m (float[?, 4] x, float[?, 4] z) => (float[?, 4] y)
 { a = Relu(x) b = Relu(a) y = Concat<axis = 0>(b, z) }"""


def test_axes_without_a_name_are_told_apart(tmp_path):
    path = made(UNNAMED, tmp_path)
    done, out = optimize(path, tmp_path, "--fix-dims", "--input-shape", "x:3,4")
    assert done.returncode == 0, done.stderr
    model = onnx.load(out)
    assert sizes(model.graph.input[0]) == [3, 4] and sizes(model.graph.input[1])[0] != 3


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "no size is given"),
        (["--dim", "seq=4,5"], "one value for each size"),
        (["--dim", "steps=5"], "steps=5: the model has no size with this name"),
        (["--input-shape", "x:2,5,9"], "x"),
    ],
)
def test_what_cannot_be_fixed_is_refused(options, says, tmp_path):
    done, out = optimize(made(MODEL, tmp_path), tmp_path, "--fix-dims", *options)
    assert done.returncode == 2 and says in done.stderr and not os.path.exists(out), done.stderr


# No output is computed by a node that runs, and none is empty.
OPAQUE = """<ir_version: 8, opset_import: ["" : 13, "other" : 1]>
m (float[n, 6] x) => (float[k] y) { y = other.Unknown(x) }"""


def test_outputs_that_cannot_be_run_are_not_called_empty(tmp_path):
    options = ["--fix-dims", "--input-shape", "x:2,6"]
    done, _ = optimize(made(OPAQUE, tmp_path), tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert "because no output is computed by nodes that" in done.stdout, done.stdout
    assert "are empty" not in done.stdout and "without the nodes" not in done.stdout


def test_a_model_without_open_sizes_is_said_to_have_none(tmp_path):
    closed = made(MODEL.replace("batch", "2").replace("seq", "5"), tmp_path)
    done, _ = optimize(closed, tmp_path, "--fix-dims", "--input-shape", "z:5", "--verbose")
    assert done.returncode == 0 and "leaves none of these sizes open" in done.stderr, done.stderr
