"""run-model against ONNX Runtime on small models, its options, and how it fails."""

import math, os, re, sqlite3, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
PROGRAM = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "run-model")


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )


def save(path, nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(
        nodes,
        "test",
        inputs,
        outputs,
        [numpy_helper.from_array(v, k) for k, v in dict(weights).items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path
    )
    return path


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


@pytest.mark.parametrize(
    "kind, sizes, said",
    [
        ("MatMul", ([2, 3], [4, 5]), "the sizes do not match (inputs F [2, 3], F [4, 5])"),
        ("Det", ([3, 4],), "the sizes do not match (inputs F [3, 4])"),
        ("LayerNormalization", ([2, 3], [1, 2, 3]), "(inputs F [2, 3], F [1, 2, 3])"),
    ],
)
def test_refused_node_says_its_inputs(tmp_path, kind, sizes, said):
    names = [f"x{k}" for k in range(len(sizes))]
    inputs = [tensor(name, size) for name, size in zip(names, sizes)]
    nodes = [helper.make_node(kind, names, ["y"], "the node")]
    done = run(save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", None)]))
    assert done.returncode == 3 and f"the node ({kind}): cannot be run: " in done.stderr
    assert said in done.stderr, done.stderr


@pytest.fixture
def model(tmp_path):
    rng = numpy.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(6, 4, 3, 3)).astype("f"),
        "b": rng.normal(size=6).astype("f"),
        "s": rng.normal(size=(6, 1, 1)).astype("f"),
        "scale": rng.random(6).astype("f"),
        "shift": rng.random(6).astype("f"),
        "mean": rng.random(6).astype("f"),
        "var": (rng.random(6) + 0.5).astype("f"),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node(
            "BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], "norm"
        ),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "s"], ["m"], "mul"),
        helper.make_node("Concat", ["m", "r", "x"], ["k"], "concat", axis=1),
        helper.make_node("GlobalAveragePool", ["k"], ["g"], "pool"),
    ]
    return save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", ["batch", 4, "h", "w"])],
        [tensor("g", None), tensor("k", None)],
        weights,
    )


def test_it_agrees_with_onnx_runtime(model, tmp_path):
    x = numpy.random.default_rng(1).normal(size=(2, 4, 9, 7)).astype("f")
    numpy.save(tmp_path / "x.npy", x)
    done = run(model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name, expected in zip(
        "gk",
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(
            ["g", "k"], {"x": x}
        ),
    ):
        got = numpy.load(tmp_path / "out" / f"{name}.npy")
        assert (
            got.shape == expected.shape
            and numpy.abs(got - expected).max() <= 1e-5 * numpy.abs(expected).max()
        )


def test_the_same_seed_gives_the_same_digest(model):
    first, again, other = (
        run(model, "--input-shape", "x:1,4,8,8", "--seed", seed).stdout for seed in (3, 3, 4)
    )
    assert first == again != other
    assert "g: F [1, 16, 1, 1] " in first and "k: F [1, 16, 8, 8] " in first and " mean " in first


def test_ways_to_give_an_input(model):
    zero = run(model, "--input-shape", "1,4,8,8", "--input", "x=0")
    assert (
        zero.returncode == 0
        and zero.stdout == run(model, "--dim", "h=8", "--dim", "w=8", "--input", "x=0..0").stdout
    )
    assert zero.stdout != run(model, "--input-shape", "1,4,8,8", "--input", "x=-1..1").stdout


def test_profile_names_nodes_and_counts(model):
    done = run(model, "--input-shape", "x:1,4,8,8", "--profile", "--repeat", "3")
    assert done.returncode == 0 and "GFLOP/s" in done.stdout and "median" in done.stdout
    assert any(
        line.split()[0].isdigit() and " conv F[1,6,8,8]" in line
        for line in done.stdout.splitlines()
    )


def test_profile_compares_with_the_machine(model, tmp_path):
    words = ["--cost-db", tmp_path / "costs.sqlite"]
    (machine,) = run("--machine", *words).stdout.splitlines()
    assert machine.startswith("machine: ") and run("--machine", *words).stdout == machine + "\n"
    with sqlite3.connect(tmp_path / "costs.sqlite") as kept:  # a machine of one operation a second
        kept.execute("UPDATE cost SET seconds = 1 WHERE kind = 'machine'")
    lines = run(model, "--input-shape", "x:1,4,8,8", "--profile", *words).stdout.splitlines()
    (conv,) = (line.split() for line in lines if " conv F[1,6,8,8]" in line)
    assert conv[6] == "100" and "machine: 0.0 GFLOP/s" in "".join(lines)
    assert re.fullmatch(r"\d+ others +\d+ +\S+ +0\.000 +0\.0 %", lines[-1]), lines[-1]
    with sqlite3.connect(tmp_path / "costs.sqlite") as kept:  # an infinitely fast machine
        kept.execute("UPDATE cost SET seconds = 1e-30 WHERE kind = 'machine'")
    lines = run(model, "--input-shape", "x:1,4,8,8", "--profile", *words).stdout.splitlines()
    (conv,) = (line.split() for line in lines if " conv F[1,6,8,8]" in line)
    assert conv[6] == "0"
    lost = lines[[line.startswith("operator that loses") for line in lines].index(True) + 1 :]
    assert lost and all(line.endswith("%") for line in lost)


@pytest.mark.parametrize("grain", ["", "grain=1"])
def test_threads_give_the_same_digests(model, grain):
    one, *more = (
        run(model, "--input-shape", "x:2,4,70,90", "--threads", n, "--backend-options", grain)
        for n in (1, 2, 3, 7)
    )
    assert one.returncode == 0 and all(
        done.stdout == one.stdout and done.returncode == 0 for done in more
    )


@pytest.mark.skipif("ISOMER_MODELS" not in os.environ, reason="no models")
@pytest.mark.parametrize(
    "name",
    [
        "silero_vad_16k_op15",
        "light_squeezenet",
        "light_shufflenet",
        "ch_ppocr_mobile_v2.0_cls_infer",
    ],
)
def test_threads_give_the_same_digests_of_real_models(name):
    path = os.path.join(os.environ["ISOMER_MODELS"], name + ".onnx")
    sizes = {
        "silero": ["--input-shape", "input:1,512", "--input-shape", "state:2,1,128"],
        "ch_ppo": ["--input-shape", "x:1,3,48,192"],
    }.get(name[:6], [])
    one, two = (run(path, *sizes, "--threads", n) for n in (1, 2))
    assert one.returncode == two.returncode == 0 and one.stdout == two.stdout, one.stderr


def test_dumps(model):
    assert run(model, "--input-shape", "x:1,4,8,8", "--dump", "graph").stdout.startswith(
        "graph model\n  %x : F [1, 4, 8, 8]\n"
    )
    assert run(model, "--input-shape", "x:1,4,8,8", "--dump", "plan").stdout.startswith("plan: ")
    assert run(model, "--input-shape", "x:1,4,8,8", "--dump", "dot").stdout.startswith("digraph ")


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["--no-such-option"], 2, "no-such-option"),
        ([], 2, "is not known"),
        (["--input-shape", "y:1"], 2, "y:1"),
        (["--input-shape", "x:1,5,8,8"], 2, "has the size 4"),
        (["--input-shape", "x:1,4,8,8", "--input", "z=1"], 2, "z=1"),
        (["--threads", "0"], 2, "threads"),
        (["--threads", "65"], 2, "threads"),
        (
            ["--input-shape", "x:1,4,8,8", "--backend-options", "fast=1"],
            2,
            "--backend-options: unknown option fast",
        ),
        (["--input-shape", "x:1,4,8,8", "--input", "x=abc"], 2, "abc"),
        (["--input", "x=missing.npy"], 5, "missing.npy"),
        (["--input-shape", "x:1,4,8,8", "--backend", "/no/such.so"], 5, "no/such.so"),
        (["--input-shape", "x:1,4,1000000,100000000"], 3, "too many elements"),
    ],
)
def test_failures_have_a_code_and_a_place(model, arguments, code, text):
    done = run(model, *arguments)
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)


def test_an_array_of_another_type_or_shape_is_refused(model, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.zeros((1, 4, 8, 8)))
    done = run(model, "--input", f"x={tmp_path / 'x.npy'}")
    assert done.returncode == 3 and "F64" in done.stderr
    numpy.save(tmp_path / "x.npy", numpy.zeros((4, 8, 8), "f"))
    assert run(model, "--input", f"x={tmp_path / 'x.npy'}").returncode == 2


def test_what_cannot_be_run_is_named(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Odd", ["r"], ["y"], "the odd one", domain="some.where"),
    ]
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", [3])], [tensor("y", None, TensorProto.INT64)]
    )
    done = run(path)
    assert done.returncode == 3 and "the odd one (Odd)" in done.stderr


def test_no_model():
    assert run().returncode == 2
    extra = run("--machine", "model.onnx")
    assert (
        extra.returncode == 2 and "--machine: takes no model: leave out model.onnx" in extra.stderr
    )
    assert run("/no/such/model.onnx").returncode == 5
    assert run("--help").returncode == 0 and run("--version").stdout.startswith("run-model ")


def compared_with_onnxruntime(path, folder, **given):
    """Compares a model in both runtimes. `given`: inputs by name; all others are random."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    words = []
    for each in session.get_inputs():
        given.setdefault(each.name, numpy.random.default_rng(5).normal(size=each.shape).astype("f"))
    for name, value in given.items():
        numpy.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder / name}.npy"]
    done = run(path, *words, "--output-dir", folder / "out")
    assert done.returncode == 0, done.stderr
    for each, want in zip(session.get_outputs(), session.run(None, given)):
        have = numpy.load(folder / "out" / f"{each.name}.npy")
        assert have.shape == want.shape
        numpy.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [7, 11, 13, 14, 22])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(
    "op, gates, names",
    [
        ("RNN", 1, None),
        ("RNN", 1, ["Tanh"]),
        ("RNN", 1, ["Relu"]),
        ("GRU", 3, ["sigmoid", "tanh"]),
        ("LSTM", 4, ["Sigmoid", "Tanh", "Tanh"]),
    ],
)
def test_activations_of_recurrent_layers(tmp_path, op, gates, names, direction, opset):
    """Some exporters, such as tf2onnx, write the default activations explicitly."""
    rng, d = numpy.random.default_rng(1), 2 if direction == "bidirectional" else 1
    weights = {
        "w": rng.normal(size=(d, 3 * gates, 4)).astype("f"),
        "r": rng.normal(size=(d, 3 * gates, 3)).astype("f") / 2,
    }
    fields = {"activations": names * d} if names else {}
    node = helper.make_node(
        op, ["x", "w", "r"], ["y", "h"], hidden_size=3, direction=direction, **fields
    )
    outputs = [tensor("y", [5, d, 2, 3]), tensor("h", [d, 2, 3])]
    path = save(tmp_path / "m.onnx", [node], [tensor("x", [5, 2, 4])], outputs, weights, opset)
    compared_with_onnxruntime(path, tmp_path)


def test_an_input_with_a_default(tmp_path):
    """From IR version 4 on, an initializer that is also listed as an input is its default value."""
    nodes = [helper.make_node("Mul", ["x", "s"], ["y"])]
    weights = {"s": numpy.float32([1, 2, 3, 4])}
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", [4]), tensor("s", [4])],
        [tensor("y", [4])],
        weights,
    )
    compared_with_onnxruntime(path, tmp_path)
    compared_with_onnxruntime(path, tmp_path, s=numpy.float32([7, 0, -1, 2]))


def test_a_default_decides_a_shape(tmp_path):
    """Sizes that depend on such an input are computed from the default, not from random numbers."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    inputs = [tensor("x", [3, 4]), tensor("s", [2], TensorProto.INT64)]
    weights = {"s": numpy.int64([2, 6])}
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", [None, None])], weights)
    compared_with_onnxruntime(path, tmp_path)
    compared_with_onnxruntime(path, tmp_path, s=numpy.int64([6, 2]))


def test_normalization_of_numbers_far_from_zero(tmp_path):
    """In floats, the mean of the squares minus the square of the mean would be negative there."""
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    shape = [2, 4, 6, 6]
    path = save(tmp_path / "m.onnx", [node], [tensor("x", shape)], [tensor("y", shape)])
    x = (1e4 + numpy.random.default_rng(0).normal(size=shape)).astype("f")
    numpy.save(tmp_path / "x.npy", x)
    done = run(path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    wide, axes = x.astype("f8"), (0, 2, 3)
    want = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out" / "y.npy"), want, atol=2e-3)


@pytest.mark.parametrize("shape", [[], [1], [5], [3, 4]])
@pytest.mark.parametrize("outputs", [["y"], ["y", "s", "z"]])
def test_dynamic_quantization(tmp_path, shape, outputs):
    """A tensor with one element is tested, too, for which the last steps become one."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
    types = {"y": TensorProto.UINT8, "s": TensorProto.FLOAT, "z": TensorProto.UINT8}
    results = [tensor(name, None, types[name]) for name in outputs]
    path = save(tmp_path / "m.onnx", [node], [tensor("x", shape)], results, opset=11)
    for x in (numpy.full(shape, 1, "f"), numpy.full(shape, -1 / 3, "f")):
        compared_with_onnxruntime(path, tmp_path, x=x)


QUANTIZED = {  # shape, sizes of the scale, attributes
    "one scale": ([3, 40], [], {}),
    "a long row": ([20000], [], {}),
    "by row": ([3, 9000], [3], {"axis": 0}),
    "by column": ([5, 40], [40], {"axis": 1}),
    "by channel": ([2, 3, 5, 7], [3], {"axis": 1}),
    "in blocks": ([6, 40], [2, 40], {"axis": 0, "block_size": 3}),
    "in blocks of rows": ([3, 80], [3, 4], {"axis": 1, "block_size": 20}),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("kind", QUANTIZED)
def test_quantized_to_bytes(tmp_path, kind, shifted, dtype):
    """Among the numbers are ties and numbers beyond the range of the type."""
    shape, sizes, attributes = QUANTIZED[kind]
    to = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    random = numpy.random.default_rng(0)
    weights = {"s": (2.0 ** random.integers(-5, 0, sizes)).astype("f")}
    if shifted:
        weights["z"] = numpy.array(random.integers(1, 90, sizes)).astype(dtype)
    else:
        attributes = attributes | {"output_dtype": to}
    node = helper.make_node("QuantizeLinear", ["x", *weights], ["y"], **attributes)
    inputs, outputs = [tensor("x", shape)], [tensor("y", shape, to)]
    path = save(tmp_path / "m.onnx", [node], inputs, outputs, weights, opset=21)
    x = (random.integers(-800, 800, shape) / 64).astype("f")
    x.flat[:2] = 1e6, -1e6
    compared_with_onnxruntime(path, tmp_path, x=x)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_products_of_integers_wrap(tmp_path, dtype):
    """Sums beyond the range of the type wrap around, as in ONNX Runtime."""
    kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs = [tensor("x", [3, 6], kind), tensor("w", [6, 2], kind)]
    path = save(tmp_path / "m.onnx", [node], inputs, [tensor("y", [3, 2], kind)])
    random = numpy.random.default_rng(0)
    x, w = random.integers(1, 2**31 - 1, (3, 6)), random.integers(0, 9, (6, 2))
    compared_with_onnxruntime(path, tmp_path, x=x.astype(dtype), w=w.astype(dtype))


def test_a_node_of_many_inputs(tmp_path):
    names = [f"x{k % 3}" for k in range(150)]
    node = helper.make_node("Concat", names, ["y"], axis=1)
    inputs = [tensor(f"x{k}", [2, k + 1]) for k in range(3)]
    path = save(tmp_path / "m.onnx", [node], inputs, [tensor("y", [2, 300])])
    random = numpy.random.default_rng(0)
    feed = {f"x{k}": random.normal(size=(2, k + 1)).astype("f4") for k in range(3)}
    compared_with_onnxruntime(path, tmp_path, **feed)


IMAGES = [
    ([11], [4], {}),  # a block has few elements
    ([40], [30], {"strides": [2]}),  # there are few blocks
    ([7, 9], [3, 2], {"strides": [2, 1], "pads": [2, 1, 0, 1], "dilations": [2, 3]}),
    ([8, 9], [3, 2], {"strides": [2, 3], "pads": [1, 2, 1, 0]}),  # place 0 lies between two steps
    ([3, 3], [3, 3], {"pads": [5, 5, 5, 5]}),  # some places are outside
]


@pytest.mark.parametrize("image, block, attributes", IMAGES)
def test_blocks_laid_into_an_image(tmp_path, image, block, attributes):
    n = len(image)
    steps, pads = attributes.get("strides", [1] * n), attributes.get("pads", [0] * 2 * n)
    spread = [d * (b - 1) for d, b in zip(attributes.get("dilations", [1] * n), block)]
    places = [(image[k] + pads[k] + pads[k + n] - spread[k] - 1) // steps[k] + 1 for k in range(n)]
    shape = [2, 3 * math.prod(block), math.prod(places)]
    sizes = {"image": numpy.array(image), "block": numpy.array(block)}
    node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], **attributes)
    y = tensor("y", [2, 3] + image)
    path = save(tmp_path / "m.onnx", [node], [tensor("x", shape)], [y], sizes, opset=18)
    x = numpy.random.default_rng(0).normal(size=shape).astype("f4")
    compared_with_onnxruntime(path, tmp_path, x=x)


def test_recurrent_layers_of_many_units_in_double(tmp_path):
    """The reference kernel runs them, and needs more memory than it has on the stack."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g
    (double[2,1,1] x, double[1,5000,1] w, double[1,1,5000] h) => (double[2,1,1,5000] y)
    <int64[3] size = {1,5000,5000}> {
      r = ConstantOfShape <value = double[1] {0.001}> (size)
      y = RNN <hidden_size = 5000> (x, w, r, , , h)
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    random = numpy.random.default_rng(0)
    x, w, h = (random.normal(size=size) for size in ((2, 1, 1), (1, 5000, 1), (1, 1, 5000)))
    given = {"x": x, "w": w, "h": h}
    for name, value in given.items():
        numpy.save(tmp_path / f"{name}.npy", value)
    words = [word for k in given for word in ("--input", f"{k}={tmp_path}/{k}.npy")]
    done = run(tmp_path / "m.onnx", *words, "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    want = []
    for t in range(2):
        h = numpy.tanh(x[t, 0, 0] * w[0, :, 0] + 0.001 * h.sum())
        want.append(h)
    numpy.testing.assert_allclose(
        numpy.load(tmp_path / "out" / "y.npy").reshape(2, 5000), want, rtol=1e-9
    )


def test_windows_of_four_axes(tmp_path):
    """No step of a back end has so many axes, so the operators are computed by their
    definitions."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g
    (float[1,2,3,2,2,4] x) => (float[1,2,2,2,2,4] y, float[1,2,2,2,2,4] z, float[1,2,2,2,2,4] u)
    <float[2,2,2,1,1,1] w = {1,2,3,4,5,6,7,8}> {
      y = Conv (x, w)
      z = MaxPool <kernel_shape = [2,1,1,1]> (x)
      t = ConvTranspose (x, w)
      begin = Constant <value = int64[1] {1}> ()
      end = Constant <value = int64[1] {3}> ()
      axis = Constant <value = int64[1] {2}> ()
      u = Slice (t, begin, end, axis)
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = numpy.random.default_rng(0).normal(size=(1, 2, 3, 2, 2, 4)).astype("f4")
    w = numpy.arange(1, 9, dtype="f4").reshape(2, 2, 2)
    numpy.save(tmp_path / "x.npy", x)
    done = run(tmp_path / "m.onnx", "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = x[:, :, :-1], x[:, :, 1:]
    want = {
        "y": numpy.einsum("ncabde,oc->noabde", first, w[:, :, 0])
        + numpy.einsum("ncabde,oc->noabde", second, w[:, :, 1]),
        "z": numpy.maximum(first, second),
        "u": numpy.einsum("ncabde,co->noabde", second, w[:, :, 0])
        + numpy.einsum("ncabde,co->noabde", first, w[:, :, 1]),
    }
    for name, array in want.items():
        assert numpy.allclose(
            numpy.load(tmp_path / f"{name}.npy"), array, rtol=1e-5, atol=1e-5
        ), name


# A value between steps that are fused is converted as if it were stored.
BETWEEN = {
    "a sum of int32 that wraps": (
        "int32[4] x => int32[4] y",
        "a = Add (x, x) y = Max (a, x)",
        numpy.int32([2**31 - 1, -(2**31), 2**30, 5]),
    ),
    "a sum of int32 that wraps, as floats": (
        "int32[4] x => float[4] y",
        "a = Add (x, x) b = Cast <to = 1> (a) y = Neg (b)",
        numpy.int32([2**31 - 1, -(2**31), 2**30, 5]),
    ),
    "a cast that truncates": (
        "float[6] x => float[6] y",
        "a = Cast <to = 6> (x) b = Cast <to = 1> (a) y = Sub (x, b)",
        numpy.float32([-2.5, -0.5, 0, 0.5, 2.5, 1e6]),
    ),
    "a cast to bool": (
        "float[4] x => float[4] y",
        "a = Cast <to = 9> (x) b = Cast <to = 1> (a) y = Sub (b, x)",
        numpy.float32([-2.5, 0, 0.25, 7]),
    ),
    "a cast to half": (
        "float[4] x => float[4] y",
        "a = Cast <to = 10> (x) b = Cast <to = 1> (a) y = Sub (x, b)",
        numpy.float32([0.1, 2049, -3.14159, 1e-7]),
    ),
    "a cast of bytes": (
        "float[5] x => int32[5] y",
        "a = Cast <to = 2> (x) b = Cast <to = 6> (a) y = Add (b, b)",
        numpy.float32([0, 1.9, 127.5, 200, 255]),
    ),
    "a comparison and a choice": (
        "float[4] x => float[4] y",
        "z = Neg (x) a = Greater (x, z) b = Not (a) y = Where (b, x, z)",
        numpy.float32([-1, 0, 2, numpy.nan]),
    ),
    "a comparison of large integers": (
        "int64[3] x, int64[3] z, float[3] u => float[3] y",
        "a = Less (x, z) v = Neg (u) y = Where (a, u, v)",
        numpy.int64([2**60, 2**60 + 1, -(2**60)]),
    ),
    "quantized and back": (
        "float[6] x => float[6] y",
        "s = Constant <value = float {0.25}> () z = Constant <value = uint8 {3}> () "
        "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Sub (x, d)",
        numpy.float32([-9, -0.7, 0, 0.4, 30, 99]),
    ),
    "a sum of bytes that wraps": (
        "uint8[4] x, uint8[4] u => uint8[4] y",
        "a = Add (x, u) y = Max (a, u)",
        numpy.uint8([0, 100, 200, 255]),
    ),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_what_lies_between_fused_steps(tmp_path, name):
    ends, body, x = BETWEEN[name]
    inputs, outputs = ends.split(" => ")
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) {{ {body} }}'
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    given = {"x": x}
    if " z," in inputs:
        given |= {"z": x[::-1].copy() + 1, "u": numpy.float32([1, 2, 3])}
    elif " u" in inputs:
        given |= {"u": x[::-1].copy()}
    compared_with_onnxruntime(path, tmp_path, **given)


def test_quantized_layers(tmp_path):
    """Quantization fused into convolutions, products and pools, in any layout."""
    rng = numpy.random.default_rng(3)
    weights = {
        "w": rng.integers(-9, 9, (8, 3, 3, 3)).astype("i1"),
        "v": rng.integers(-9, 9, (8, 8, 1, 1)).astype("i1"),
        "p": rng.integers(-9, 9, (8, 5)).astype("i1"),
        "s": numpy.float32(0.05),
        "z": numpy.int8(3),
        "o": numpy.int8(0),
        "b": rng.normal(size=8).astype("f"),
    }
    nodes, at = [], 0

    def add(op, *inputs, **fields):
        nonlocal at
        at += 1
        nodes.append(helper.make_node(op, inputs, [f"t{at}"], **fields))
        return f"t{at}"

    def through(x):
        return add("DequantizeLinear", add("QuantizeLinear", x, "s", "z"), "s", "z")

    w, v, p = (add("DequantizeLinear", name, "s", "o") for name in "wvp")
    x = through("x")
    x = through(add("Relu", add("Conv", x, w, "b", pads=[1, 1, 1, 1])))
    x = through(add("Add", x, add("Conv", x, v, "b")))
    x = through(add("Conv", x, v, "b"))
    x = through(add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = through(add("GlobalAveragePool", x))
    x = through(add("MatMul", add("Flatten", x), p))
    nodes[-1].output[0] = "y"
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", [2, 3, 12, 12])], [tensor("y", [2, 5])], weights
    )
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = rng.normal(size=(2, 3, 12, 12)).astype("f")
    numpy.save(tmp_path / "x.npy", x)
    done = run(path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    have, want = numpy.load(tmp_path / "out" / "y.npy"), session.run(None, {"x": x})[0]
    # A sum may be rounded the other way.
    assert numpy.abs(have - want).max() <= 0.0501 and numpy.mean(have != want) < 0.5
