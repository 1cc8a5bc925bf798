"""Small networks as exporters write them, and as ONNX Runtime saves them after optimizing them on
its extended level, run on the built-in runtime and go through optimize-model without any opaque
node."""

import os
import numpy as np, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from test_contrib_float import program


class Net:
    """A graph that is built node by node, with random constants."""

    def __init__(self, **inputs):
        self.rng, self.nodes, self.constants, self.inputs = np.random.default_rng(4), [], [], inputs

    def hold(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape):
        return self.hold(self.rng.normal(0, shape[-1] ** -0.5, shape).astype("f4"))

    def __call__(self, kind, *inputs, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{k}" for k in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if results == 1 else names

    def save(self, folder, y):
        path = folder / "m.onnx"
        inputs = [helper.make_tensor_value_info(n, 1, s) for n, s in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def residual_network(folder):
    net = Net(x=(1, 8, 12, 12))
    x = "x"
    for k, act in enumerate(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid")):
        y = net("Conv", x, net.weights(8, 8, 3, 3), net.weights(8), pads=[1] * 4)
        if k < 3:
            y = net("Add", y, x)
        x = net(act, y)
    x = net("Clip", net("Conv", x, net.weights(8, 8, 1, 1)), *map(net.hold, np.float32([-1, 1])))
    x = net("Flatten", net("GlobalAveragePool", x))
    return net.save(folder, net("Relu", net("Gemm", x, net.weights(8, 5), net.weights(5))))


def transformer(folder):
    """Two transformer layers as exporters write them, in which the product of queries and keys is
    scaled afterwards."""
    net, s, n, heads = Net(x=(1, 6, 16)), 6, 16, 4
    x = "x"
    for _ in range(2):
        q, k, v = (net("Add", net("MatMul", x, net.weights(n, n)), net.weights(n)) for _ in "qkv")
        shape = net.hold(np.array([0, s, heads, n // heads]))
        q, k, v = (net("Reshape", part, shape) for part in (q, k, v))
        q, v = (net("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, v))
        k = net("Transpose", k, perm=[0, 2, 3, 1])
        scores = net("Div", net("MatMul", q, k), net.hold(np.float32(2)))
        y = net("MatMul", net("Softmax", scores, axis=-1), v)
        y = net("Transpose", y, perm=[0, 2, 1, 3])
        y = net("Reshape", y, net.hold(np.array([0, 0, n])))
        y = net("Add", net("MatMul", y, net.weights(n, n)), net.weights(n))
        x = net("LayerNormalization", net("Add", y, x), net.weights(n), net.weights(n))
        y = net("Add", net("MatMul", x, net.weights(n, 32)), net.weights(32))
        half = net("Mul", y, net.hold(np.float32(0.5)))
        erf = net("Erf", net("Div", y, net.hold(np.float32(2**0.5))))
        y = net("Mul", half, net("Add", erf, net.hold(np.float32(1))))
        y = net("Add", net("MatMul", y, net.weights(32, n)), net.weights(n))
        x = net("LayerNormalization", net("Add", y, x), net.weights(n), net.weights(n))
    return net.save(folder, x)


def quantized_between(net, x, scale=0.03):
    """Adds a QuantizeLinear and a DequantizeLinear after x."""
    scale, zero = net.hold(np.float32(scale)), net.hold(np.uint8(128))
    return net("DequantizeLinear", net("QuantizeLinear", x, scale, zero), scale, zero)


def quantized_weights(net, *shape):
    scale, zero = net.hold(np.float32(0.02)), net.hold(np.int8(0))
    w = net.hold(net.rng.integers(-20, 21, shape).astype("i1"))
    return net("DequantizeLinear", w, scale, zero)


def quantized_network(folder):
    """A network with QuantizeLinear and DequantizeLinear around each operator."""
    net = Net(x=(1, 8, 12, 12))
    x = quantized_between(net, "x")
    y = net("Conv", x, quantized_weights(net, 8, 8, 3, 3), pads=[1] * 4)
    y = quantized_between(net, net("Relu", y))
    x = quantized_between(net, net("Add", x, y))
    x = quantized_between(net, net("Sigmoid", x))
    x = quantized_between(net, net("Concat", x, y, axis=1))
    x = quantized_between(net, net("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = quantized_between(net, net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = quantized_between(net, net("GlobalAveragePool", x))
    x = quantized_between(net, net("Flatten", x))
    y = net("MatMul", x, quantized_weights(net, 16, 6))
    return net.save(folder, quantized_between(net, y))


def dynamically_quantized_network(folder):
    """A network as onnxruntime.quantization.quantize_dynamic writes it."""
    net, x = Net(x=(3, 4, 16)), "x"
    for columns in (False, True):
        a, scale, zero = net("DynamicQuantizeLinear", x, results=3)
        w = net.hold(net.rng.integers(-128, 128, (16, 16)).astype("i1"))
        some = net.rng.uniform(0.001, 0.002, (16,) if columns else ()).astype("f4")
        none = net.hold(np.zeros(some.shape, "i1"))
        y = net("Cast", net("MatMulInteger", a, w, zero, none), to=1)
        y = net("Mul", y, net("Mul", scale, net.hold(some)))
        x = net("Relu", net("Add", y, net.weights(16)))
    return net.save(folder, net("Transpose", x, perm=[0, 2, 1]))


def transposed_products(folder):
    net = Net(x=(2, 4, 6, 8))
    y = net("MatMul", "x", net("Transpose", "x", perm=[0, 1, 3, 2]))
    y = net("Mul", y, net.hold(np.float32(0.3)))
    y = net("MatMul", net("Transpose", net("Softmax", y, axis=-1), perm=[0, 1, 3, 2]), "x")
    return net.save(folder, net("Div", y, net.hold(np.float32(4))))


def line_reader(folder):
    """A reader of text lines: a convolution and a pooling, then a bidirectional LSTM over the
    columns."""
    net = Net(x=(1, 1, 8, 20))
    y = net("Relu", net("Conv", "x", net.weights(6, 1, 3, 3), net.weights(6), pads=[1] * 4))
    y = net("MaxPool", y, kernel_shape=[2, 1], strides=[2, 1])
    y = net("ReduceMean", y, axes=[2], keepdims=0)
    y = net("Transpose", y, perm=[2, 0, 1])
    cells = [net.weights(2, 20, 6), net.weights(2, 20, 5), net.weights(2, 40)]
    y, _, _ = net("LSTM", y, *cells, results=3, hidden_size=5, direction="bidirectional")
    y = net("Reshape", net("Transpose", y, perm=[0, 2, 1, 3]), net.hold(np.array([20, 1, 10])))
    y = net("Add", net("MatMul", y, net.weights(10, 7)), net.weights(7))
    return net.save(folder, net("LogSoftmax", y, axis=2))


NETWORKS = {
    line_reader: {"FusedConv"},
    residual_network: {"FusedConv", "FusedGemm"},
    transformer: {"SkipLayerNormalization", "Gelu", "FusedMatMul"},
    quantized_network: {"QLinearAdd", "QLinearSigmoid", "QLinearConcat", "QLinearAveragePool"},
    dynamically_quantized_network: {"DynamicQuantizeMatMul"},
    transposed_products: {"FusedMatMul"},
}


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_saved_models_run(tmp_path, make):
    path, saved = make(tmp_path), tmp_path / "saved.onnx"
    feed = {
        i.name: np.random.default_rng(6).normal(size=shape_of(i)).astype("f4")
        for i in onnx.load(path).graph.input
    }
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(saved)
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (want,) = session.run(None, feed)
    made = {n.op_type for n in onnx.load(saved).graph.node if n.domain == "com.microsoft"}
    assert NETWORKS[make] <= made, made
    words = []
    for name, value in feed.items():
        np.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    quantum = 0.03 if make is quantized_network else 0.02 if "quant" in make.__name__ else 1e-4
    for model in (path, saved):
        out = tmp_path / f"out-{model.stem}"
        program("run-model", model, "--output-dir", out, *words)
        (name,) = os.listdir(out)
        np.testing.assert_allclose(np.load(out / name), want, rtol=1e-4, atol=1.01 * quantum)
        text = program("optimize-model", model, tmp_path / "o.onnx", "--cost", "nodes", *words)
        assert "0 opaque" in text or "opaque" not in text


def shape_of(info):
    return [d.dim_value for d in info.type.tensor_type.shape.dim]
