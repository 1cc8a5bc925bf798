"""The back end for GPUs, tested without one: generated kernels, compiled for the host (test/cuda),
run whole models, whose results are compared with those of the CPU's back end; and programs say
clearly that there is no GPU."""

import ctypes, os, subprocess, sys
import numpy, onnx, onnx.parser, pytest
from written import ROOT, real_models

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from onnx_tools import model_table, tables
from project import feed_options

BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
PROGRAM, OPTIMIZE = os.path.join(BUILD, "run-model"), os.path.join(BUILD, "optimize-model")
HOST = os.path.join(BUILD, "test", "cuda", "isomer-host.so")
TABLE = {row["name"]: row for row in model_table()}
# Models with convolutions of all kinds, with a recurrent network whose cells the host runs, and
# with a softmax over 1000 elements.
NAMES = [
    "ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "silero_vad_16k_op15.onnx",
    "light_squeezenet.onnx",
]
MODELS = [path for path in real_models() if os.path.basename(path) in NAMES]
needs_plugin = pytest.mark.skipif(
    not os.path.exists(HOST), reason="CUDA's headers are missing: the back end is not built"
)


def outputs(path, folder, *more):
    row = TABLE[os.path.basename(path)]
    subprocess.run(
        [PROGRAM, path, *feed_options(row), "--output-dir", folder, *more],
        check=True,
        capture_output=True,
        cwd=ROOT,
        timeout=280,
    )
    return {name: numpy.load(folder / name) for name in sorted(os.listdir(folder))}


@needs_plugin
@pytest.mark.skipif(not MODELS, reason="no models here: scripts/fetch-models fetches them")
@pytest.mark.parametrize("path", MODELS, ids=map(os.path.basename, MODELS))
def test_whole_models_by_generated_kernels(path, tmp_path):
    want = outputs(path, tmp_path / "cpu")
    kernels = f"cache={os.path.join(BUILD, 'test', 'cuda', 'kernels')}"
    got = outputs(path, tmp_path / "host", "--backend", HOST, "--backend-options", kernels)
    assert want and got.keys() == want.keys()
    for name, value in want.items():
        assert got[name].shape == value.shape
        greatest = numpy.abs(value).max()
        assert numpy.abs(got[name] - value).max() <= 1e-4 * greatest, name


INTEGERS = {
    "Trilu of more than 53 bits": ("int64[5,5]", "y = Trilu (x)", 2**62 + 1),
    "Trilu": ("int32[5,5]", "y = Trilu (x)", 2**31 - 1),
    "sums that wrap": ("int32[5,5]", 'y = Einsum <equation = "ij,jk->ik"> (x, x)', 2**30),
    "sums of bytes": ("uint8[5,5]", 'y = Einsum <equation = "ij,jk->ik"> (x, x)', 250),
}


@needs_plugin
@pytest.mark.parametrize("case", INTEGERS)
def test_integers_are_those_of_the_processor(tmp_path, case):
    """Loop programs are generated in doubles; others run on the host."""
    kind, text, great = INTEGERS[case]
    model = f'<ir_version: 8, opset_import: ["": 17]> g ({kind} x) => ({kind} y) {{ {text} }}'
    onnx.save(onnx.parser.parse_model(model), tmp_path / "m.onnx")
    x = numpy.arange(25, dtype=kind.split("[")[0]).reshape(5, 5)
    x[0], x[:, 4] = great - x[0], great - 3 * x[:, 4].astype(bool)
    numpy.save(tmp_path / "x.npy", x)
    words = [PROGRAM, tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}"]
    found = []
    for back_end in ([], ["--backend", HOST]):
        folder = tmp_path / f"{len(found)}"
        subprocess.run([*words, *back_end, "--output-dir", folder], check=True, timeout=100)
        found.append(numpy.load(folder / "y.npy"))
    assert numpy.array_equal(*found)
    if text.startswith("y = Trilu"):
        assert numpy.array_equal(found[0], numpy.triu(x))
    else:
        assert numpy.array_equal(found[0], x @ x), "NumPy wraps, too"


@needs_plugin
@pytest.mark.skipif(not MODELS, reason="no models here: scripts/fetch-models fetches them")
@pytest.mark.parametrize("behaviour", ["", "loses"])
def test_recordings_are_compared_with_single_steps(behaviour):
    path = MODELS[0]
    kernels = f"cache={os.path.join(BUILD, 'test', 'cuda', 'kernels')}"
    done = subprocess.run(
        [PROGRAM, path, *feed_options(TABLE[os.path.basename(path)]), "--repeat", "2"]
        + ["--backend", HOST, "--backend-options", kernels],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=280,
        env={**os.environ, "ISOMER_HOST": behaviour},
    )
    assert "recorded: " in done.stdout
    assert done.returncode == (1 if behaviour else 0)
    assert ("the recorded run gives other bytes" in done.stderr) == bool(behaviour)


# Attention as exporters write it out, and graphs that only look like it: the body of a model, and
# the number of attention steps in its plan. The shapes of x, k and v are [2,3,20,16], [2,3,24,16]
# and [2,3,24,8]; m is a mask that hides some rows entirely, f one that does not.
BEGIN = "kt = Transpose <perm = [0,1,3,2]> (k) "
WRITTEN_OUT = {
    "factors": (
        "a = Mul (x, half) b = Mul (kt, half) s = MatMul (a, b) t = Add (s, f) p = Softmax (t) "
        "w = MatMul (p, v) y = Transpose <perm = [0,2,1,3]> (w)",
        1,
    ),
    "a quotient": ("s = MatMul (x, kt) t = Div (s, three) p = Softmax (t) y = MatMul (p, v)", 1),
    "rows without a number": (
        "s = MatMul (x, kt) t = Add (s, m) p = Softmax (t) y = MatMul (p, v)",
        1,
    ),
    "rows mended": (
        "s = MatMul (x, kt) t = Add (m, s) p = Softmax (t) n = IsNaN (p) "
        "o = Where (n, zero, p) y = MatMul (o, v)",
        1,
    ),
    "a mask that is scaled": (
        "s = MatMul (x, kt) t = Add (s, f) u = Mul (t, half) p = Softmax (t) y = MatMul (p, v) "
        "z = Identity (u)",
        0,
    ),
    "scaled after the mask": (
        "s = MatMul (x, kt) t = Add (s, f) u = Mul (t, half) p = Softmax (u) y = MatMul (p, v)",
        0,
    ),
    "weights that are a result": (
        "s = MatMul (x, kt) z = Softmax (s) y = MatMul (z, v)",
        0,
    ),
    "another axis": (
        "s = MatMul (x, kt) p = Softmax <axis = 2> (s) y = MatMul (p, v)",
        0,
    ),
    "scores on the right": (
        "s = MatMul (x, kt) p = Softmax (s) pt = Transpose <perm = [0,1,3,2]> (p) "
        "y = MatMul (pt, x)",
        0,
    ),
    "a square of scores": (
        "s = MatMul (x, kt) t = Mul (s, s) p = Softmax (t) y = MatMul (p, v)",
        0,
    ),
    "weights on both sides": (
        "xt = Transpose <perm = [0,1,3,2]> (x) s = MatMul (x, xt) p = Softmax (s) "
        "y = MatMul (p, p)",
        0,
    ),
    "a factor of queries and keys": (
        "a = Mul (x, half) at = Transpose <perm = [0,1,3,2]> (a) s = MatMul (a, at) "
        "p = Softmax (s) y = MatMul (p, x)",
        1,
    ),
    "scores plus their transpose": (
        "xt = Transpose <perm = [0,1,3,2]> (x) s = MatMul (x, xt) "
        "st = Transpose <perm = [0,1,3,2]> (s) t = Add (s, st) p = Softmax (t) y = MatMul (p, x)",
        0,
    ),
    "a result that is repeated": (
        "s = MatMul (x, kt) p = Softmax (s) w = MatMul (p, v) n = Unsqueeze (w, two) "
        "r = Expand (n, often) y = Reshape (r, twelve)",
        1,
    ),
}


@needs_plugin
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_attention_written_out_is_one_step(name, tmp_path):
    import onnx

    body, steps = WRITTEN_OUT[name]
    shown = ", float[a1,b1,c1,d1] z" if "z =" in body else ""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3,20,16] x, float[2,3,24,16] k, float[2,3,24,8] v, float[2,1,20,24] m,
           float[20,24] f) => (float[a0,b0,c0,d0] y{shown})
        <float half = {{0.5}}, float three = {{3}}, float zero = {{0}}, int64[1] two = {{2}},
         int64[5] often = {{2, 3, 4, 20, 8}}, int64[4] twelve = {{2, 12, 20, 8}}>
        {{ {BEGIN} {body} }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    mask = numpy.random.default_rng(1).standard_normal((2, 1, 20, 24)).astype(numpy.float32)
    mask[0, 0, 3], mask[1, 0, :, 5:9] = -numpy.inf, -numpy.inf
    numpy.save(tmp_path / "m.npy", mask)
    words = [PROGRAM, tmp_path / "m.onnx", "--input", f"m={tmp_path / 'm.npy'}"]
    kernels = f"cache={os.path.join(BUILD, 'test', 'cuda', 'kernels')}"
    on_host = ["--backend", HOST, "--backend-options", kernels]

    def said(*more):
        done = subprocess.run(words + list(more), check=True, capture_output=True, cwd=ROOT)
        return done.stdout.decode()

    assert said(*on_host, "--dump", "plan").count("| op sdpa ") == steps
    said("--output-dir", tmp_path / "cpu")
    said("--output-dir", tmp_path / "host", *on_host)
    for file in os.listdir(tmp_path / "cpu"):
        want, got = numpy.load(tmp_path / "cpu" / file), numpy.load(tmp_path / "host" / file)
        numpy.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)
    nan = numpy.isnan(numpy.load(tmp_path / "host" / "y.npy"))
    assert nan.any() == (name == "rows without a number")


# Kernels of whole models for GPUs that are not here are compiled by NVRTC or planned by cuDNN, but
# not run.
GPUS = ["sm_80", "sm_90", "sm_100", "sm_120"]
HEAVY = "ISOMER_HEAVY" in os.environ
ZOO = os.path.join(os.path.dirname(MODELS[0]), "zoo") if MODELS else ""


def described_models():
    """(name, path, feed options) of a small model, or with ISOMER_HEAVY of all, and of the zoo."""
    rows = [
        (os.path.basename(p), p, feed_options(TABLE[os.path.basename(p)])) for p in real_models()
    ]
    rows = rows if HEAVY else [row for row in rows if row[0] == NAMES[0]]
    table = os.path.join(ZOO, "zoo.tsv")
    if HEAVY and os.path.exists(table):
        rows += [row for row in tables(table) if os.path.exists(row[1])]
    return rows


def described_run(plugin, gpu, path, words, more):
    backend = os.path.join(BUILD, "test", "cuda", f"isomer-{plugin}.so")
    done = subprocess.run(
        [PROGRAM, path, *words, "--backend", backend, "--backend-options", more],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
        env={**os.environ, "ISOMER_HOST": f"{gpu},zeros"},
    )
    if done.returncode == 5 and "pip install" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@needs_plugin
@pytest.mark.parametrize("gpu", GPUS if HEAVY else GPUS[1:2])
@pytest.mark.parametrize("model", described_models(), ids=lambda row: row[0])
def test_no_kernel_of_a_model_spills_registers(model, gpu):
    _, path, words = model
    folder = os.path.join(BUILD, "test", "cuda", "unspilt")
    kernels = f"spills=refuse,cache={folder}" + (",choices=all" if HEAVY else "")
    done = described_run("nvrtc", gpu, path, words, kernels)
    assert done.returncode == 0, done.stderr


# x grows by k elements, too many for the host to compute r; then an If drops an axis unless the
# other axis has one element.
SIZED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x, int64[1] k) => (float[m] y)
  <int64[3] none = {0,0,0}, int64[1] first = {0}, int64 one = {1}, int64 axis = {1}> {
  pads = Concat <axis = 0> (none, k)
  p = Pad (x, pads)
  r = Relu (p)
  s = Shape (r)
  n = Gather (s, axis)
  c = Equal (n, one)
  y = If (c) <then_branch = t () => (float[b, d] v) { v = Identity (r) },
              else_branch = e () => (float[a] u) { u = Squeeze (r, first) }>
}"""


@needs_plugin
def test_what_decides_sizes_is_not_computed_on_the_device(tmp_path):
    """No kernel runs here, and the memory of the device is initially garbage. So sizes and the
    branch of an If are right only if the host computes them, and from shapes, not from elements."""
    import onnx

    path = tmp_path / "sized.onnx"
    onnx.save(onnx.parser.parse_model(SIZED), path)
    backend = os.path.join(BUILD, "test", "cuda", "isomer-nvrtc.so")
    done = subprocess.run(
        [PROGRAM, path, "--input", "k=300000", "--backend", backend]
        + ["--backend-options", f"cache={os.path.join(BUILD, 'test', 'cuda', 'unspilt')}"],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "ISOMER_HOST": "sm_90"},
    )
    if done.returncode == 5 and "pip install" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("y: F [300004] ")


@needs_plugin
def test_kernels_of_all_choices_are_compiled(tmp_path):
    import onnx

    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[64,64] a, float[64,64] b) => (float[64,64] y) { y = MatMul (a, b) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    kept = []
    for words in ("", "choices=all,"):
        cache = tmp_path / f"kept{len(kept)}"
        done = described_run("nvrtc", "sm_90", tmp_path / "m.onnx", [], f"{words}cache={cache}")
        assert done.returncode == 0, done.stderr
        kept.append(sum(len(files) for _, _, files in os.walk(cache)))
    assert kept[1] > kept[0] + 1


@needs_plugin
@pytest.mark.parametrize("model", described_models()[:1], ids=lambda row: row[0])
def test_a_spill_is_noticed(model):
    _, path, words = model
    done = described_run("nvrtc", "sm_90", path, words, "spills=refuse,cache=none,blocks=8")
    assert done.returncode == 5
    assert "bytes of registers" in done.stderr


@needs_plugin
@pytest.mark.parametrize("model", described_models(), ids=lambda row: row[0])
def test_cudnn_plans_every_convolution_of_a_model(model):
    _, path, words = model
    kernels = f"cache={os.path.join(BUILD, 'test', 'cuda', 'unspilt')}"
    gpu = f"libraries=require,describe=test/cuda/h100.json,{kernels}"
    done = described_run("dnn", "sm_90", path, words, gpu)
    if done.returncode == 5 and "refuses the description" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


def has_driver():
    try:
        return bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


@pytest.mark.skipif(has_driver(), reason="there is an NVIDIA driver here")
@pytest.mark.parametrize("program", [PROGRAM, OPTIMIZE], ids=os.path.basename)
def test_without_a_driver_one_sentence_says_so(program, tmp_path):
    plugin = os.path.join(BUILD, "isomer-cuda.so")
    if not os.path.exists(plugin):
        pytest.skip("CUDA's headers are missing: the back end is not built")
    from onnx import TensorProto, helper, save

    value = [helper.make_tensor_value_info(k, TensorProto.FLOAT, [4]) for k in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    model = tmp_path / "m.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    words = [tmp_path / "o.onnx"] if program == OPTIMIZE else []
    done = subprocess.run(
        [program, model, *words, "--backend", "cuda"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 5
    assert "no NVIDIA driver here: install driver 580" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "o.onnx").exists()


@needs_plugin
def test_nothing_of_cuda_is_linked():
    for name in ("run-model", "optimize-model", "libisomer.so", "isomer-cuda.so"):
        text = subprocess.run(
            ["ldd", os.path.join(BUILD, name)], check=True, capture_output=True, text=True
        ).stdout
        assert "libc.so" in text
        for library in ("libcu", "libnv"):
            assert library not in text, name
