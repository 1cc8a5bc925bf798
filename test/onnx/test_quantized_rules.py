"""Rules on quantized models: where they apply, what the target times, and what is compared."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import save, tensor, unsigned

SCRIPTS = os.path.join(os.path.dirname(__file__), "..", "..", "scripts")


class Net:
    """A graph on quantized numbers, in which each operator is between dequantize and quantize."""

    def __init__(self):
        self.nodes, self.weights = [], {}

    def add(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def scale(self, name, scale, zero):
        self.weights |= {f"{name}_s": numpy.float32(scale), f"{name}_z": numpy.array(zero)}
        return [f"{name}_s", f"{name}_z"]

    def quantize(self, value, name, scale=0.05, zero=numpy.uint8(120)):
        """Quantizes a value to bytes and returns the bytes as floats again."""
        ends = self.scale(name, scale, zero)
        self.add("QuantizeLinear", [value, *ends], f"{name}_q")
        return self.add("DequantizeLinear", [f"{name}_q", *ends], f"{name}_d")

    def known(self, name, shape):
        values = numpy.random.default_rng(len(name)).integers(-127, 127, shape)
        self.weights[f"{name}_q"] = values.astype("int8")
        ends = self.scale(name, 0.01, numpy.int8(0))
        return self.add("DequantizeLinear", [f"{name}_q", *ends], f"{name}_d")


def squeeze_excite(path):
    """A model of squeeze-and-excite followed by a softmax, with each stage in 8 bits."""
    net = Net()
    x = net.quantize("x", "x")
    c = net.quantize(net.add("Conv", [x, net.known("w", [6, 3, 1, 1])], "c"), "c")
    m = net.quantize(net.add("ReduceMean", [c], "m", axes=[2, 3]), "m", 0.037)
    g = net.quantize(net.add("Conv", [m, net.known("kernel", [6, 6, 1, 1])], "g"), "g")
    p = net.quantize(net.add("Mul", [c, g], "p"), "p", 0.1)
    s = net.quantize(net.add("Softmax", [p], "s", axis=-1), "s", 1 / 256, numpy.uint8(0))
    net.add("Identity", [s], "y")
    shapes = [tensor("x", [1, 3, 8, 8])], [tensor("y", [1, 6, 8, 8])]
    return save(path, net.nodes, *shapes, net.weights)


def plainly(path, x):
    """The output in ONNX Runtime without its optimizations, which change roundings."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(str(path), options, providers=providers).run(
        None, {"x": x}
    )[0]


# The times of nodes on this target: conversions and moves are cheap, a mean and a softmax in 8 bits
# are slow.
SLOW = """
slow = {"ReduceMean": 5.0, "GlobalAveragePool": 1.0, "Softmax": 1.0}
made_by = {name: node.op_type for node in graph.node for name in node.output}
seconds = 1.0 + sum(slow.get(kind, 0.1) for kind in kinds(graph))
for node in graph.node:
    if node.op_type == "Softmax" and made_by.get(node.input[0]) == "DequantizeLinear":
        seconds += 5
return seconds
"""


def test_means_and_softmax_are_written_otherwise(run, pricing, tmp_path):  # noqa: F811
    model = squeeze_excite(tmp_path / "m.onnx")
    done, result, report = run(model, *pricing(SLOW))
    kinds = [node.op_type for node in result.graph.node]
    assert "GlobalAveragePool" in kinds and "ReduceMean" not in kinds
    before_softmax = kinds[kinds.index("Softmax") - 3 : kinds.index("Softmax")]
    assert before_softmax == ["Cast", "Sub", "Mul"], kinds
    names = {rule["name"] for rule in report["rules"]}
    assert names == {"mean-of-dequantized-image-unsigned", "softmax-of-dequantized-unsigned"}
    x = numpy.random.default_rng(3).normal(0, 2, (1, 3, 8, 8)).astype("f")
    assert numpy.array_equal(plainly(model, x), plainly(tmp_path / "o.onnx", x))


def test_parts_keep_their_conversions(run, pricing, tmp_path):  # noqa: F811
    """Nodes around a place that are in 8 bits in the whole model are so in the timed part, too."""
    run(squeeze_excite(tmp_path / "m.onnx"), *pricing(SLOW))
    seen = 0
    for path in sorted(pricing.seen.iterdir()):
        graph = onnx.load(path).graph
        if graph.name != "part" or not path.name.endswith("-0.onnx"):
            continue
        maker = {name: node.op_type for node in graph.node for name in node.output}
        readers = {name: node.op_type for node in graph.node for name in node.input}
        for node in graph.node:
            if node.op_type not in ("Conv", "Mul", "ReduceMean", "Softmax"):
                continue
            seen += 1
            assert {maker.get(name) for name in node.input} == {"DequantizeLinear"}, path
            assert readers.get(node.output[0]) == "QuantizeLinear", path
    assert seen >= 4


@pytest.mark.parametrize("steps, status", [(0, 0), (8, 1)])
def test_fusions_of_the_target_are_no_difference(tmp_path, steps, status):
    """The softmax of ONNX Runtime in 8 bits differs by a quantization step from a softmax between
    conversions. A result that differs by eight steps is wrong."""
    pair = []
    for fused in (True, False):
        net = Net()
        x = net.quantize("x", "x", 0.05)
        if not fused:
            net.nodes.pop()
            net.weights["x_zero"] = numpy.float32(120)
            net.add("Cast", ["x_q"], "f", to=TensorProto.FLOAT)
            x = net.add("Mul", [net.add("Sub", ["f", "x_zero"], "c"), "x_s"], "d")
        zero = numpy.uint8(0 if fused else steps)
        s = net.add("Softmax", [x], "s", axis=-1)
        net.scale("s", 1 / 256, zero)
        net.scale("t", 1 / 256, numpy.uint8(0))
        net.add("QuantizeLinear", [s, "s_s", "s_z"], "q")
        net.add("DequantizeLinear", ["q", "t_s", "t_z"], "y")
        shapes = [tensor("x", [40, 50])], [tensor("y", [40, 50])]
        pair.append(save(tmp_path / f"{fused}.onnx", net.nodes, *shapes, net.weights))
    command = [os.path.join(SCRIPTS, "compare-onnx"), *map(str, pair)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr


def dynamic_convolution(path):
    """A model of a convolution as dynamic quantization writes it, with signed weights. They are so
    many that they are not folded one by one."""
    net = Net()
    random = numpy.random.default_rng(7)
    net.weights["w"] = random.integers(-128, 128, (16, 32, 3, 3)).astype("int8")
    net.weights |= {"w_z": numpy.int8(-5), "w_s": numpy.float32(0.01)}
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]))
    net.add("ConvInteger", ["q", "w", "z", "w_z"], "i", pads=[1, 1, 1, 1])
    net.add("Cast", ["i"], "f", to=TensorProto.FLOAT)
    net.add("Mul", ["f", net.add("Mul", ["s", "w_s"], "scale")], "y")
    shapes = [tensor("x", [1, 32, 8, 8])], [tensor("y", [1, 16, 8, 8])]
    return save(path, net.nodes, *shapes, net.weights)


def linear(path):
    """A model of a linear layer on dequantized numbers with a bias of floats."""
    net = Net()
    x = net.quantize("x", "x")
    net.weights["b"] = numpy.random.default_rng(8).normal(0, 1, 24).astype("f")
    net.add("Gemm", [x, net.known("w", [24, 32]), "b"], "g", transB=1)
    net.add("Tanh", ["g"], "y")
    return save(path, net.nodes, [tensor("x", [6, 32])], [tensor("y", [6, 24])], net.weights)


# On this target signed weights and a Gemm with a bias are slow.
SIGNED = """
signed = {x.name for x in graph.initializer if x.data_type == onnx.TensorProto.INT8}
seconds = 1.0
for node in graph.node:
    slow = node.op_type == "ConvInteger" and node.input[1] in signed
    slow = slow or node.op_type == "Gemm" and len(node.input) > 2
    seconds += 5 if slow else 0.01
return seconds
"""


@pytest.mark.parametrize(
    "make, rule",
    [
        (dynamic_convolution, "convinteger-unsigned-weights"),
        (linear, "bias-after-gemm-of-dequantized-unsigned-transposed"),
    ],
)
def test_products_of_bytes_take_the_fast_form(run, pricing, tmp_path, make, rule):  # noqa: F811
    """The results are the same numbers, and the weights are computed in advance."""
    model = make(tmp_path / "m.onnx")
    done, result, report = run(model, *pricing(SIGNED))
    assert {rule["name"] for rule in report["rules"]} == {rule}, done.stdout
    known = {x.name: x.data_type for x in result.graph.initializer}
    for node in result.graph.node:
        if node.op_type == "ConvInteger":
            assert [known[node.input[k]] for k in (1, 3)] == [TensorProto.UINT8] * 2
        assert node.op_type != "Gemm" or len(node.input) == 2
    shape = [d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]
    x = numpy.random.default_rng(3).normal(0, 2, shape).astype("f")
    assert numpy.array_equal(plainly(model, x), plainly(tmp_path / "o.onnx", x))


def signed_convolutions(path, by_operators):
    """A model of two convolutions of signed bytes, in either of the formats of ONNX Runtime's
    tool."""
    net, random = Net(), numpy.random.default_rng(5)
    x = net.quantize("x", "x", 0.05, numpy.int8(-3))
    for k, (name, scale, zero) in enumerate((("c", 0.4, 7), ("d", 2.0, -9))):
        if by_operators:
            bias = random.integers(-500, 500, 4).astype("int32")
            weights = random.integers(-99, 99, (4, 4, 3, 3)).astype("int8")
            net.weights |= {f"{name}_b": bias, f"{name}_w_q": weights}
            before = ["x", "c"][k]
            words = [f"{before}_q", f"{before}_s", f"{before}_z", f"{name}_w_q"]
            words += net.scale(f"{name}_w", 0.01, numpy.int8(0))
            words += net.scale(name, scale, numpy.int8(zero))
            net.add("QLinearConv", [*words, f"{name}_b"], f"{name}_q", pads=[1, 1, 1, 1])
        else:
            c = net.add("Conv", [x, net.known(f"{name}_w", [4, 4, 3, 3])], name, pads=[1, 1, 1, 1])
            x = net.quantize(c, name, scale, numpy.int8(zero))
    if by_operators:
        net.add("DequantizeLinear", ["d_q", "d_s", "d_z"], "d_d")
    net.add("Identity", ["d_d"], "y")
    nodes = [n for n in net.nodes if not (by_operators and n.output[0] == "x_d")]
    shapes = [tensor("x", [1, 4, 9, 9])], [tensor("y", [1, 4, 9, 9])]
    return save(path, nodes, *shapes, net.weights)


# On this target a convolution of signed bytes takes ten times as long as one of unsigned bytes.
SIGNED_IMAGES = """
kind = {each.name: each.data_type for each in graph.initializer}
seconds = 1.0 + 0.01 * len(graph.node)
for node in graph.node:
    if node.op_type in ("QLinearConv", "DequantizeLinear") and kind.get(node.input[2]) == 3:
        seconds += 1 if node.op_type == "QLinearConv" or "_w" not in node.input[0] else 0
return seconds
"""


@unsigned
@pytest.mark.parametrize("by_operators", [True, False])
def test_convolutions_of_signed_bytes(run, pricing, tmp_path, by_operators):  # noqa: F811
    """Nothing is converted between the convolutions, and the results are the same numbers."""
    model = signed_convolutions(tmp_path / "m.onnx", by_operators)
    _, result, report = run(model, *pricing(SIGNED_IMAGES))
    first = "qlinearconv-unsigned" if by_operators else "quantized-between-unsigned"
    names = {rule["name"] for rule in report["rules"]}
    assert first in names, names
    kinds = [node.op_type for node in result.graph.node]
    assert "Cast" not in kinds and kinds.count("QuantizeLinear") == (
        1 if by_operators else 3
    ), kinds
    x = numpy.random.default_rng(3).normal(0, 2, (1, 4, 9, 9)).astype("f")
    assert numpy.array_equal(plainly(model, x), plainly(tmp_path / "o.onnx", x))


def mobile_block(path):
    """A model of a block of MobileNetV3 and its classifier, with operators on signed integers:
    among them a multiplication for each channel, an addition and a last layer."""
    net, draw = Net(), numpy.random.default_rng(6)
    net.add("QuantizeLinear", ["x", *net.scale("x", 0.05, numpy.int8(-3))], "x_q")

    def whole(operator, inputs, name, scale, zero, last=(), **attributes):
        words = [w for i in inputs for w in (f"{i}_q", f"{i}_s", f"{i}_z")]
        words += [*last] if operator == "QGemm" else []
        words += net.scale(name, scale, numpy.int8(zero))
        words += [*last] if operator == "QLinearConv" else []
        domain = {} if operator == "QLinearConv" else {"domain": "com.microsoft"}
        return net.add(operator, words, f"{name}_q", **domain, **attributes)

    def weights(name, shape):
        net.weights[f"{name}_q"] = draw.integers(-99, 99, shape).astype("int8")
        net.weights[f"{name}_b"] = draw.integers(-500, 500, shape[0]).astype("int32")
        net.scale(name, 0.01, numpy.int8(0))
        return name

    def convolution(x, name, scale, zero, size, **attributes):
        w = weights(f"{name}_w", (4, 4, size, size))
        whole("QLinearConv", [x, w], name, scale, zero, [f"{w}_b"], **attributes)

    convolution("x", "c", 0.4, 7, 3, pads=[1, 1, 1, 1])
    convolution("c", "f", 1.0, -4, 9)
    whole("QLinearMul", ["c", "f"], "m", 2.0, 3)
    whole("QLinearAdd", ["m", "c"], "a", 2.0, -5)
    convolution("a", "d", 9.0, -9, 9)
    net.add("DequantizeLinear", ["d_q", "d_s", "d_z"], "d")
    net.add("QuantizeLinear", [net.add("Flatten", ["d"], "e"), "d_s", "d_z"], "e_q")
    net.weights |= {f"e_{k}": net.weights[f"d_{k}"] for k in "sz"}
    w = weights("g_w", (5, 4))
    whole("QGemm", ["e", w], "g", 9.0, 2, [f"{w}_b"], transB=1)
    net.add("DequantizeLinear", ["g_q", "g_s", "g_z"], "y")
    shapes = [tensor("x", [1, 4, 9, 9])], [tensor("y", [1, 5])]
    model = onnx.load(save(path, net.nodes, *shapes, net.weights))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)
    return path


# On this target each operator on signed bytes takes as long as a hundred others.
SIGNED_OPERATORS = """
kind = {each.name: each.data_type for each in graph.initializer}
slow = ("QLinearConv", "QGemm")
signed = [n for n in graph.node if n.op_type in slow and kind.get(n.input[2]) == 3]
return 1.0 + 0.01 * len(graph.node) + len(signed)
"""


@unsigned
def test_nothing_is_converted_between_operators_of_whole_numbers(
    run, pricing, tmp_path  # noqa: F811
):
    """Additions and multiplications become unsigned as convolutions and Gemm do."""
    model = mobile_block(tmp_path / "m.onnx")
    _, result, report = run(model, *pricing(SIGNED_OPERATORS))
    names = {rule["name"] for rule in report["rules"]}
    wanted = {"qlinearconv", "qlinearmul", "qlinearadd", "qgemm"}
    assert {f"{name}-unsigned" for name in wanted} <= names, names
    kinds = [node.op_type for node in result.graph.node]
    assert not {"Cast", "Expand"} & set(kinds) and len(kinds) == 11, kinds
    x = numpy.random.default_rng(3).normal(0, 2, (1, 4, 9, 9)).astype("f")
    assert numpy.array_equal(plainly(model, x), plainly(tmp_path / "o.onnx", x))


def unsigned_weights(path, convolved):
    """A model of a product or a convolution of unsigned bytes with unsigned weights."""
    random = numpy.random.default_rng(6)
    net = Net()
    x = net.quantize("x", "x", 0.02, numpy.uint8(120))
    shape = (96, 4, 3, 3) if convolved else (300, 300)
    net.weights["w_q"] = random.integers(0, 255, shape).astype("uint8")
    w = net.add("DequantizeLinear", ["w_q", *net.scale("w", 0.01, numpy.uint8(131))], "w_d")
    pads = {"pads": [1, 1, 1, 1]} if convolved else {}
    y = net.add("Conv" if convolved else "MatMul", [x, w], "c", **pads)
    net.add("Identity", [net.quantize(y, "y", 0.1, numpy.uint8(99))], "y")
    shape = [1, 96, 8, 300] if convolved else [1, 4, 8, 300]
    given = [tensor("x", [1, 4, 8, 300])]
    return save(path, net.nodes, given, [tensor("y", shape)], net.weights)


# On this target unsigned weights are slow, and so are nodes that convert them in each run.
UNSIGNED_WEIGHTS = """
kind = {each.name: each.data_type for each in graph.initializer}
slow = sum(kind.get(node.input[0]) == onnx.TensorProto.UINT8 for node in graph.node)
return 1.0 + slow + sum(node.op_type == "Cast" for node in graph.node)
"""


@unsigned
@pytest.mark.parametrize("convolved", [True, False])
def test_weights_become_signed_and_stay_bytes(run, pricing, tmp_path, convolved):  # noqa: F811
    """A rule that changes only constants counts as changing the graph. The node that dequantizes
    weights is not computed in advance."""
    model = unsigned_weights(tmp_path / "m.onnx", convolved)
    _, result, _ = run(model, *pricing(UNSIGNED_WEIGHTS))
    types = {x.name: x.data_type for x in result.graph.initializer}
    weights = [n for n in result.graph.node if types.get(n.input[0]) == TensorProto.INT8]
    assert [n.op_type for n in weights] == ["DequantizeLinear"]
    assert len(result.graph.node) == len(onnx.load(model).graph.node)
    assert os.path.getsize(tmp_path / "o.onnx") < os.path.getsize(model) + 500
    x = numpy.random.default_rng(3).normal(0, 2, (1, 4, 8, 300)).astype("f")
    assert numpy.array_equal(plainly(model, x), plainly(tmp_path / "o.onnx", x))


def upsampled(path):
    """A model of a transposed convolution with dequantized weights, which would be too large for
    the file as floats."""
    random = numpy.random.default_rng(9)
    return save(
        path,
        [
            helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1),
            helper.make_node("ConvTranspose", ["x", "d"], ["y"], strides=[2, 2], pads=[1] * 4),
        ],
        [tensor("x", [1, 160, 3, 3])],
        [tensor("y", [1, 160, 6, 6])],
        {
            "w": random.integers(-99, 99, (160, 160, 4, 4)).astype("int8"),
            "s": random.random(160, dtype="f") / 100,
            "z": numpy.zeros(160, "int8"),
        },
    )


def test_weights_that_no_kernel_of_bytes_takes_are_dequantized_once(run, pricing, tmp_path):
    """The target computes them when it loads the file, which stays as small as it was."""
    model = upsampled(tmp_path / "m.onnx")
    rules = ["--enable", "convtranspose-of-dequantized-each"]
    _, result, _ = run(model, *rules, *pricing('return 1.0 + ("DequantizeLinear" in kinds(graph))'))
    kinds = [node.op_type for node in result.graph.node]
    assert "DequantizeLinear" not in kinds and "ConvTranspose" in kinds, kinds
    assert os.path.getsize(tmp_path / "o.onnx") < 1.1 * os.path.getsize(model)


def test_what_is_made_of_dequantized_weights_is_timed_with_them(run, pricing, tmp_path):
    """The target computes such a value in each run, since it does not compute such weights when it
    loads the file."""
    run(upsampled(tmp_path / "m.onnx"), "--enable", "convtranspose-phases", *pricing("return 1.0"))
    timed = [{n.op_type for n in onnx.load(p).graph.node} for p in pricing.seen.iterdir()]
    made = [kinds for kinds in timed if "Conv" in kinds]
    assert made and all("DequantizeLinear" in kinds for kinds in made), timed
