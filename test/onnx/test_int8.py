"""Quantized convolutions and products: the built-in runtime agrees with ONNX Runtime, and its plan
multiplies 8-bit integers if the processor and oneDNN can do so, however the model writes this."""

import os, re, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD

RNG = numpy.random.default_rng


def flags():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^flags\s*:(.*)$", file.read(), re.M)
    return set(found.group(1).split()) if found else set()


def program(*words):
    done = subprocess.run([os.path.join(BUILD, "run-model"), *map(str, words)], capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


MULTIPLIES = re.search(
    r"avx\w+ kernels .* oneDNN (2|3\.([4-9]|\d\d))\.", program("--version")
) and flags() & {"avx512_vnni", "avx_vnni"}


class Graph:
    """A model with one input x of floats, built node by node."""

    def __init__(self, shape, seed=1):
        self.rng, self.nodes, self.constants, self.shape = RNG(seed), [], [], shape

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def quantize(self, x, scale, zero):
        return self.node("QuantizeLinear", [x, self.constant(numpy.float32(scale)), zero])

    def dequantize(self, x, scale, zero, **attributes):
        scale = self.constant(numpy.asarray(scale, numpy.float32))
        return self.node("DequantizeLinear", [x, scale, zero], **attributes)

    def weights(self, shape, dtype):
        low, high = (-128, 128) if dtype == "int8" else (0, 256)
        return self.rng.integers(low, high, shape).astype(dtype)

    def save(self, folder, output, dtype):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(output, dtype, None)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 17)]
        path = folder / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def compared(folder, graph, output, integers, dtype=TensorProto.FLOAT, step=0.0, options=()):
    """Compares a graph in both runtimes. Results may differ by `step`, the step of their
    quantization. `integers`: how many convolutions and products of 8-bit integers the plan must
    have."""
    path = graph.save(folder, output, dtype)
    x = RNG(2).normal(size=graph.shape).astype("float32")
    numpy.save(folder / "x.npy", x)
    session = onnxruntime.SessionOptions()
    session.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (want,) = onnxruntime.InferenceSession(str(path), session).run(None, {"x": x})
    words = [path, "--input", f"x={folder / 'x.npy'}", *options]
    program(*words, "--output-dir", folder / "out")
    have = numpy.load(folder / "out" / f"{output}.npy")
    assert have.dtype == want.dtype and have.shape == want.shape
    far = numpy.abs(have.astype(float) - want.astype(float))
    assert far.max() <= step * 1.001 + 1e-5 * numpy.abs(want.astype(float)).max()
    assert (far > 1e-5 * numpy.abs(want.astype(float)).max()).mean() < 0.01, "many steps differ"
    planned = re.findall(r"\| (?:conv|gemm) \S+ [UI]8\[\S+ I8\[", program(*words, "--dump", "plan"))
    if MULTIPLIES:
        assert len(planned) == integers
    else:
        assert not planned


CONVOLUTIONS = [
    ("plain", (1, 8, 9, 9), (16, 8, 3, 3), {"pads": [1] * 4}),
    ("strided", (2, 8, 11, 10), (6, 8, 3, 2), {"strides": [2, 3], "pads": [1, 0, 1, 1]}),
    ("pointwise", (1, 32, 7, 7), (24, 32, 1, 1), {}),
    ("depthwise", (1, 16, 9, 9), (16, 1, 3, 3), {"group": 16, "pads": [1] * 4}),
    ("dilated", (1, 8, 12, 12), (16, 8, 3, 3), {"dilations": [2, 2], "pads": [2] * 4}),
    ("one axis", (1, 8, 30), (16, 8, 5), {"pads": [2, 2]}),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("zero", [0, 131])
@pytest.mark.parametrize("name, x, w, attributes", CONVOLUTIONS)
def test_convolution_between_dequantize_and_quantize(
    tmp_path, name, x, w, attributes, zero, threads
):
    g = Graph(x)
    point = g.constant(numpy.uint8(zero))
    q = g.quantize("x", 0.02, point)
    image = g.dequantize(q, 0.02, point)
    scales = g.rng.uniform(0.001, 0.01, w[0])
    kernel = g.dequantize(
        g.constant(g.weights(w, "int8")), scales, g.constant(numpy.zeros(w[0], "int8")), axis=0
    )
    bias = g.constant(g.rng.normal(size=w[0]).astype("float32"))
    y = g.node("Relu", [g.node("Conv", [image, kernel, bias], **attributes)])
    point = g.constant(numpy.uint8(0))
    y = g.dequantize(g.quantize(y, 0.05, point), 0.05, point)
    compared(tmp_path, g, y, 1, step=0.05, options=["--threads", threads])


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shape", [(5, 64), (2, 3, 64)])
def test_product_between_dequantize_and_quantize(tmp_path, shape, signed):
    """Signed weights have a scale for each column; unsigned ones have the zero point 128."""
    g = Graph(shape)
    point = g.constant(numpy.uint8(100))
    image = g.dequantize(g.quantize("x", 0.03, point), 0.03, point)
    if signed:
        zero = g.constant(numpy.zeros(48, "int8"))
        weights = g.constant(g.weights((64, 48), "int8"))
        factor = g.dequantize(weights, g.rng.uniform(0.001, 0.01, 48), zero, axis=1)
    else:
        weights, zero = g.constant(g.weights((64, 48), "uint8")), g.constant(numpy.uint8(128))
        factor = g.dequantize(weights, 0.004, zero)
    compared(tmp_path, g, g.node("MatMul", [image, factor]), 1)


def product(graph, weights, zero):
    """A product of bytes and weights, both dequantized."""
    point = graph.constant(numpy.uint8(100))
    image = graph.dequantize(graph.quantize("x", 0.03, point), 0.03, point)
    zero = graph.constant(numpy.asarray(zero, weights.dtype))
    factor = graph.dequantize(graph.constant(weights), 0.004, zero)
    return graph.node("MatMul", [image, factor])


def test_weights_that_do_not_fit_stay_floats(tmp_path):
    g = Graph((5, 64))
    compared(tmp_path, g, product(g, g.weights((64, 48), "int8"), -100), 0)


@pytest.mark.parametrize("zero", [0, 3, 131, 255])
@pytest.mark.parametrize("shape", [(5, 64), (2, 3, 64)])
def test_unsigned_weights_of_any_zero_point(tmp_path, shape, zero):
    """The product is that with signed weights, plus the sums of rows times the difference of the
    zero points."""
    g = Graph(shape)
    compared(tmp_path, g, product(g, g.weights((64, 48), "uint8"), zero), 1)


def test_sums_that_floats_would_round_stay_floats(tmp_path):
    g = Graph((5, 900))  # 900 * 255 * 125 is more than 2 ^ 24
    compared(tmp_path, g, product(g, g.weights((900, 48), "uint8"), 3), 0)
    g = Graph((5, 900))
    compared(tmp_path, g, product(g, g.weights((900, 48), "uint8"), 120), 1)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("group, integers", [(1, 2), (2, 0)])
def test_convolution_with_unsigned_weights(tmp_path, group, integers, each):
    """The sums of windows are computed by another convolution; with groups, several would be
    needed."""
    g = Graph((2, 8, 9, 10))
    point = g.constant(numpy.uint8(90))
    image = g.dequantize(g.quantize("x", 0.02, point), 0.02, point)
    weights = g.constant(g.weights((6, 8 // group, 3, 3), "uint8"))
    zero = g.rng.integers(100, 150, 6) if each else numpy.array(119)
    scale = g.rng.uniform(0.001, 0.01, 6) if each else 0.004
    options = {"axis": 0} if each else {}
    kernel = g.dequantize(weights, scale, g.constant(zero.astype("uint8")), **options)
    y = g.node("Conv", [image, kernel], pads=[1, 0, 1, 2], strides=[1, 2], group=group)
    compared(tmp_path, g, g.node("Relu", [y]), integers)


def test_operands_that_are_not_constant_stay_floats(tmp_path):
    g = Graph((8, 8))
    point = g.constant(numpy.uint8(100))
    image = g.dequantize(g.quantize("x", 0.03, point), 0.03, point)
    compared(tmp_path, g, g.node("MatMul", [image, image]), 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name, x, w, attributes", CONVOLUTIONS)
def test_quantized_convolution(tmp_path, name, x, w, attributes, bias):
    g = Graph(x)
    point = g.constant(numpy.uint8(90))
    inputs = [g.quantize("x", 0.02, point), g.constant(numpy.float32(0.02)), point]
    inputs += [g.constant(g.weights(w, "int8"))]
    inputs += [g.constant(g.rng.uniform(0.001, 0.01, w[0]).astype("float32"))]
    inputs += [g.constant(numpy.zeros(w[0], "int8"))]
    inputs += [g.constant(numpy.float32(0.07)), g.constant(numpy.uint8(120))]
    if bias:
        inputs.append(g.constant(g.rng.integers(-9000, 9000, w[0]).astype("int32")))
    y = g.node("QLinearConv", inputs, **attributes)
    compared(tmp_path, g, y, 1, TensorProto.UINT8, step=1)


def test_quantized_product(tmp_path):
    g = Graph((2, 9, 600))  # sums of 600 products may be too large for exact floats
    point = g.constant(numpy.uint8(90))
    inputs = [g.quantize("x", 0.02, point), g.constant(numpy.float32(0.02)), point]
    inputs += [g.constant(g.weights((600, 32), "int8")), g.constant(numpy.float32(0.01))]
    inputs += [g.constant(numpy.int8(0)), g.constant(numpy.float32(0.9))]
    inputs += [g.constant(numpy.uint8(120))]
    compared(tmp_path, g, g.node("QLinearMatMul", inputs), 1, TensorProto.UINT8, step=1)


@pytest.mark.parametrize("dtype, zero", [("int8", 0), ("uint8", 128), ("uint8", 7)])
@pytest.mark.parametrize("shape", [(9, 700), (2, 9, 700)])
def test_integer_product_with_a_zero_point_of_the_run(tmp_path, shape, dtype, zero):
    g = Graph(shape)
    q, _, point = g.node("DynamicQuantizeLinear", ["x"], 3)
    inputs = [q, g.constant(g.weights((700, 40), dtype)), point]
    y = g.node("MatMulInteger", inputs + [g.constant(numpy.array(zero, dtype))])
    compared(tmp_path, g, y, 1, TensorProto.INT32)


UNSIGNED = [None, 0, 7, 255, "each"]


def zero_points(graph, zero, n):
    """A list of a zero point for all, or of one for each of n, or an empty list."""
    if zero is None:
        return []
    each = graph.rng.integers(0, 256, n).astype("uint8")
    return [graph.constant(each if zero == "each" else numpy.uint8(zero))]


@pytest.mark.parametrize("zero", UNSIGNED)
@pytest.mark.parametrize("x_zero", [0, 90])
def test_integer_product_with_unsigned_weights(tmp_path, zero, x_zero):
    """The product is that with signed weights, plus the sums of rows times a constant."""
    g = Graph((3, 9, 700))
    point = g.constant(numpy.uint8(x_zero))
    inputs = [g.quantize("x", 0.02, point), g.constant(g.weights((700, 40), "uint8")), point]
    y = g.node("MatMulInteger", inputs + zero_points(g, zero, 40))
    compared(tmp_path, g, y, 1, TensorProto.INT32)


def test_integer_product_with_equal_columns_of_other_zero_points(tmp_path):
    """The weights are one column, repeated, but their zero points differ. All differences fit into
    8 signed bits."""
    g = Graph((3, 9, 700))
    point = g.constant(numpy.uint8(90))
    column = g.constant(g.rng.integers(100, 156, (700, 1)).astype("uint8"))
    wide = g.node("Expand", [column, g.constant(numpy.array([700, 40]))])
    zeros = g.constant(g.rng.integers(110, 146, 40).astype("uint8"))
    y = g.node("MatMulInteger", [g.quantize("x", 0.02, point), wide, point, zeros])
    compared(tmp_path, g, y, 1, TensorProto.INT32)


@pytest.mark.parametrize("zero", UNSIGNED[:-1])  # ONNX Runtime accepts only one for all
@pytest.mark.parametrize(
    "x, w, attributes, integers",
    [
        ([2, 8, 9, 9], [16, 8, 3, 3], {"pads": [1, 1, 1, 1]}, 1),
        ([1, 24, 12, 11], [7, 24, 1, 1], {"strides": [2, 2]}, 1),
        ([1, 24, 12, 11], [7, 24, 1, 1], {}, 1),
        ([1, 12, 9, 9], [16, 4, 3, 3], {"group": 3, "pads": [0, 1, 2, 1]}, 1),
        ([1, 16, 9, 9], [16, 1, 3, 3], {"group": 16, "pads": [1, 1, 1, 1]}, 2),
    ],
)
def test_integer_convolution_with_unsigned_weights(tmp_path, zero, x, w, attributes, integers):
    """As for products, but the sums are those of windows: sums over the channels of each group,
    which floats add up, or another convolution of bytes where a group has one channel."""
    w[0] -= w[0] % attributes.get("group", 1)
    g = Graph(x)
    point = g.constant(numpy.uint8(90))
    inputs = [g.quantize("x", 0.02, point), g.constant(g.weights(w, "uint8")), point]
    y = g.node("ConvInteger", inputs + zero_points(g, zero, w[0]), **attributes)
    compared(tmp_path, g, y, integers, TensorProto.INT32)


@pytest.mark.parametrize("zero", [128, 130])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "x, w, attributes",
    [
        ((1, 8, 9, 9), (16, 8, 3, 3), {}),
        ((2, 8, 9, 9), (16, 8, 3, 3), {"pads": [1] * 4}),
        ((1, 8, 9, 10), (16, 8, 3, 2), {"pads": [0, 1, 2, 0], "strides": [2, 1]}),
        ((1, 16, 9, 9), (16, 1, 3, 3), {"pads": [1] * 4, "group": 16}),
        ((1, 12, 9, 9), (9, 4, 3, 3), {"pads": [2] * 4, "dilations": [2, 2], "group": 3}),
        ((1, 8, 30), (16, 8, 5), {"pads": [2, 2]}),
        ((1, 4, 6, 7, 8), (8, 4, 3, 3, 3), {"pads": [1] * 6}),
    ],
)
def test_integer_convolution_with_a_zero_point_of_the_run(
    tmp_path, x, w, attributes, threads, zero
):
    """The image lies in a frame of its zero point, and its part of the sums is subtracted."""
    g = Graph(x)
    q, _, point = g.node("DynamicQuantizeLinear", ["x"], 3)
    inputs = [q, g.constant(g.weights(w, "uint8")), point, g.constant(numpy.uint8(zero))]
    y = g.node("ConvInteger", inputs, **attributes)
    integers = 2 if w[1] == 1 and zero != 128 else 1
    compared(tmp_path, g, y, integers, TensorProto.INT32, options=["--threads", threads])


@pytest.mark.parametrize("low", [0, 10])
def test_weights_that_fit_without_their_zero_point(tmp_path, low):
    """Weights of 7 bits, minus a zero point in their middle, are signed bytes: nothing has to be
    corrected."""
    g = Graph((1, 8, 9, 9))
    q, _, point = g.node("DynamicQuantizeLinear", ["x"], 3)
    w = g.rng.integers(low, low + 128, (16, 8, 3, 3)).astype("uint8")
    inputs = [q, g.constant(w), point, g.constant(numpy.uint8(low + 61))]
    y = g.node("ConvInteger", inputs, pads=[1] * 4)
    compared(tmp_path, g, y, 1, TensorProto.INT32)
    plan = program(tmp_path / "m.onnx", "--dump", "plan")
    assert not MULTIPLIES or len(re.findall(r"\| conv ", plan)) == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("shape, kernel", [((2, 5, 9, 8), [3, 2]), ((1, 3, 20), [4])])
def test_maximum_of_bytes(tmp_path, shape, kernel, dtype):
    """If nothing reads the indices, MaxPool is an ordinary pooling step."""
    g = Graph(shape)
    q = g.quantize("x", 0.02, g.constant(numpy.array(3, dtype)))
    y = g.node("MaxPool", [q], kernel_shape=kernel, strides=[2] * len(kernel))
    compared(tmp_path, g, y, 0, getattr(TensorProto, dtype.upper()))
    assert "| pool " in program(tmp_path / "m.onnx", "--dump", "plan")


@pytest.mark.parametrize("dtype, zero", [("uint8", 3), ("int8", -5)])
@pytest.mark.parametrize("pads, ceil", [([0] * 4, 0), ([1, 1, 0, 1], 1)])
@pytest.mark.parametrize("scale, bytes", [(0.02, True), (-0.02, False)])
def test_maximum_of_dequantized_numbers(tmp_path, dtype, zero, pads, ceil, scale, bytes):
    """The pooling is one of bytes, whose result is dequantized, unless a negative scale reverses
    their order."""
    g = Graph((2, 5, 9, 8))
    point = g.constant(numpy.array(zero, dtype))
    x = g.dequantize(g.quantize("x", 0.02, point), scale, point)
    y = g.node("MaxPool", [x], kernel_shape=[3, 2], strides=[2, 2], pads=pads, ceil_mode=ceil)
    compared(tmp_path, g, g.dequantize(g.quantize(y, 0.03, point), 0.03, point), 0)
    planned = re.findall(
        r"\| pool (\w+)\[\S+ (\w+)\[", program(tmp_path / "m.onnx", "--dump", "plan")
    )
    assert planned == [(dtype[0].upper() + "8",) * 2] if bytes else planned[0][1] == "F"


@pytest.mark.parametrize("threads", [1, 2])
def test_branches_are_quantized_where_they_are_made(tmp_path, threads):
    """When the result of a concatenation is quantized, each convolution before it writes quantized
    bytes, and there are no floats in between."""
    g = Graph((1, 8, 9, 9))
    point = g.constant(numpy.uint8(0))
    image = g.dequantize(g.quantize("x", 0.02, point), 0.02, point)
    branches = []
    for size, pads, scale in [(1, 0, 0.05), (3, 1, 0.07)]:
        w = g.dequantize(
            g.constant(g.weights((16, 8, size, size), "int8")), 0.005, g.constant(numpy.int8(0))
        )
        y = g.node("Relu", [g.node("Conv", [image, w], pads=[pads] * 4)])
        branches.append(g.dequantize(g.quantize(y, scale, point), scale, point))
    y = g.quantize(g.node("Concat", branches, axis=1), 0.06, point)
    options = ["--threads", threads]
    compared(tmp_path, g, y, 2, TensorProto.UINT8, step=1, options=options)
    written = re.findall(r"\| conv (\w+)\[", program(tmp_path / "m.onnx", "--dump", "plan"))
    assert not MULTIPLIES or written == ["U8"] * 2


def moved(graph, dtype, scales, zeros):
    """Two transposes, each between a DequantizeLinear and a QuantizeLinear, with the scales
    scales[k] and the zero points zeros[k]."""
    zero = [graph.constant(numpy.dtype(dtype).type(z)) for z in zeros]
    q = graph.quantize("x", scales[0], zero[0])
    for k, perm in enumerate(([0, 2, 3, 1], [0, 3, 1, 2])):
        y = graph.node("Transpose", [graph.dequantize(q, scales[k], zero[k])], perm=perm)
        q = graph.quantize(y, scales[k + 1], zero[k + 1])
    return graph.dequantize(q, scales[-1], zero[-1])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    "scales, zeros, kept",
    [
        ((0.05, 0.05, 0.05), (7, 7, 7), 2),
        ((1e-30, 1e-30, 1e-30), (0, 0, 0), 2),
        ((0.05, 0.04, 0.04), (7, 7, 7), 1),
        ((0.05, 0.05, 0.05), (7, 7, 9), 1),
        ((1e37, 1e37, 1e37), (7, 7, 7), 0),  # a difference times a scale overflows
        ((1e-40, 1e-40, 1e-40), (7, 7, 7), 0),  # scales that are 0 if denormals are flushed
    ],
)
def test_bytes_that_are_quantized_as_they_were_are_moved(tmp_path, dtype, scales, zeros, kept):
    graph = Graph([1, 5, 6, 7])
    y = moved(graph, dtype, scales, zeros)
    path = graph.save(tmp_path, y, TensorProto.FLOAT)
    plan = program(path, "--dump", "plan")
    rounded = len(re.findall(r"; round \d", plan))
    assert rounded == 3 - kept, plan
    if scales[0] == 0.05:
        compared(tmp_path, graph, y, 0, step=scales[-1])


def test_a_part_of_a_concat_is_multiplied_as_bytes(tmp_path):
    """A part is written to its place in the concatenation as floats, and the convolution reads the
    bytes from which it was dequantized."""
    graph = Graph([1, 4, 9, 9])
    zero = graph.constant(numpy.uint8(120))
    parts = [
        graph.dequantize(graph.quantize(x, 0.05, zero), 0.05, zero)
        for x in (graph.node("Relu", ["x"]), graph.node("Neg", ["x"]))
    ]
    joined = graph.node("Concat", parts, axis=1)
    w = graph.constant(graph.weights((6, 4, 3, 3), "int8"))
    weights = graph.dequantize(w, 0.01, graph.constant(numpy.int8(0)))
    y = graph.node("Conv", [parts[0], weights])
    flat = [graph.node("ReduceMean", [v], axes=[1, 2, 3]) for v in (joined, y)]
    compared(tmp_path, graph, graph.node("Add", flat), 1, step=0.01)


def quantized_product(graph, x, inner, move):
    """x is quantized, moved, and multiplied by a matrix of `inner` rows."""
    zero = graph.constant(numpy.uint8(120))
    image = move(graph.dequantize(graph.quantize(x, 0.05, zero), 0.05, zero))
    weights = graph.constant(graph.weights((inner, 17), "int8"))
    factor = graph.dequantize(weights, 0.01, graph.constant(numpy.int8(0)))
    return graph.node("MatMul", [image, factor])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 3, 2, 1)])
def test_rows_of_a_product_that_lie_in_any_order(tmp_path, order, threads):
    """oneDNN multiplies a matrix if the numbers of its rows or of its columns lie side by side. If
    the batches do, it does not."""
    shape = (1, 40, 22, 33)
    graph = Graph(shape)
    y = quantized_product(
        graph, "x", shape[order[3]], lambda v: graph.node("Transpose", [v], perm=order)
    )
    compared(tmp_path, graph, y, 1, options=["--threads", threads])


def test_a_product_of_what_a_convolution_writes(tmp_path):
    """The planner moves the convolution's channels last, and the product then reads them so."""
    graph = Graph((1, 18, 17, 36))
    w = graph.constant(graph.rng.normal(size=(40, 18, 3, 3)).astype("float32") / 13)
    y = quantized_product(graph, graph.node("Conv", ["x", w]), 34, lambda v: v)
    compared(tmp_path, graph, y, 1, step=0.05 * 1.27)


def test_a_product_of_repeated_heads(tmp_path):
    """Each head is repeated before it is multiplied. The rows of all repetitions lie side by side,
    but not if what repeats is quantized once."""
    graph = Graph((3, 2, 1, 17, 40))
    sizes = graph.constant(numpy.array([3, 2, 3, 17, 40]))
    y = quantized_product(graph, graph.node("Expand", ["x", sizes]), 40, lambda v: v)
    compared(tmp_path, graph, y, 1)


def test_the_maximum_of_a_part_of_a_concat(tmp_path):
    """If a pooling reads only one part of a concatenation, it pools the bytes of that part."""
    graph = Graph([1, 4, 8, 8])
    zero = graph.constant(numpy.uint8(120))
    parts = [
        graph.dequantize(graph.quantize(x, scale, zero), scale, zero)
        for x, scale in ((graph.node("Relu", ["x"]), 0.02), (graph.node("Neg", ["x"]), 0.07))
    ]
    joined = graph.node("Concat", parts, axis=1)
    bounds = [graph.constant(numpy.array([k])) for k in (0, 4, 1)]
    first = graph.node("Slice", [joined, *bounds])
    y = graph.node("MaxPool", [first], kernel_shape=[2, 2], strides=[2, 2])
    compared(tmp_path, graph, y, 0)
    assert "| pool U8[" in program(tmp_path / "m.onnx", "--dump", "plan")


@pytest.mark.parametrize("terms", [65793, 65794])
def test_sums_of_more_than_32_bits(tmp_path, terms):
    """A sum of 65,793 products of 255 and -128 fits into 32 bits; with one more it does not, and
    floats are multiplied."""
    graph = Graph([1, terms])
    zero = graph.constant(numpy.uint8(0))
    x = graph.dequantize(graph.quantize(graph.node("Abs", ["x"]), 1e-9, zero), 1, zero)
    w = graph.constant(numpy.full((terms, 4), -128, numpy.int8))
    y = graph.node("MatMul", [x, graph.dequantize(w, 1, graph.constant(numpy.int8(0)))])
    compared(tmp_path, graph, y, 1 if terms == 65793 else 0)


def test_windows_of_more_than_32_bits(tmp_path):
    graph = Graph([1, 8000, 3, 3])
    zero = graph.constant(numpy.uint8(0))
    x = graph.dequantize(graph.quantize(graph.node("Abs", ["x"]), 1e-9, zero), 1, zero)
    w = graph.constant(numpy.full((4, 8000, 3, 3), 127, numpy.int8))
    y = graph.node("Conv", [x, graph.dequantize(w, 1, graph.constant(numpy.int8(0)))])
    compared(tmp_path, graph, y, 0)
