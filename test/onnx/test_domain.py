"""Results contain operators of a runtime's own domain only where --domain or the target allows
them, and then import that domain. Tests of rules that only respell a graph, because a runtime is
faster with it, are here, too."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD

OPTIMIZE = os.path.join(BUILD, "optimize-model")


class Graph:
    """A graph that is built node by node: a call adds a node and returns the name of its value."""

    def __init__(self):
        self.nodes, self.constants = [], []
        self.random = numpy.random.default_rng(3)

    def constant(self, value, dtype="float32"):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, dtype), name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape) * 0.3)

    def __call__(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def save(self, path, shape, outputs, opset):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
            self.constants,
        )
        opsets = [helper.make_opsetid("", opset)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def gelu_by_tanh(opset, path, half="outside"):
    g = Graph()
    cube = g("Mul", g("Pow", "x", g.constant(3.0)), g.constant(0.044715))
    inner = g("Mul", g("Add", "x", cube), g.constant(0.7978845608))
    sum_ = g("Add", g("Tanh", inner), g.constant(1.0))
    if half == "outside":
        y = g("Mul", g("Mul", "x", g.constant(0.5)), sum_)
    else:
        y = g("Mul", "x", g("Mul", g.constant(0.5), sum_))
    g.save(path, [2, 5, 8], [y], opset)


def rms_norm(opset, path, spelling="reciprocal", batch=2):
    g = Graph()
    square = g("Pow", "x", g.constant(2.0))
    mean = (
        g("ReduceMean", square, axes=[-1])
        if opset < 18
        else g("ReduceMean", square, g.constant([-1], "int64"))
    )
    root = g("Sqrt", g("Add", mean, g.constant(1e-6)))
    n = g("Mul", "x", g("Reciprocal", root)) if spelling == "reciprocal" else g("Div", "x", root)
    g.save(path, [batch, 5, 8], [g("Mul", g.weight(8), n)], opset)


def optimize(path, out, *words):
    words = [OPTIMIZE, path, out, "--cost", "nodes", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return onnx.load(out)


def run(path):
    x = numpy.random.default_rng(5)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    shape = [3 if isinstance(n, str) else n for n in session.get_inputs()[0].shape]
    return session.run(None, {"x": x.standard_normal(shape).astype("float32")})


def agree(path, out):
    for a, b in zip(run(path), run(out)):
        assert a.shape == b.shape
        assert numpy.abs(a - b).max() <= 1e-5 * max(1, numpy.abs(a).max())


def imports(model):
    return {o.domain: o.version for o in model.opset_import}


def operators(model):
    return [(node.domain, node.op_type) for node in model.graph.node]


@pytest.mark.parametrize("half", ["outside", "inside"])
def test_allowed(half, tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    gelu_by_tanh(17, path, half)
    model = optimize(path, out, "--domain", "com.microsoft", "--check-with", "onnxruntime")
    assert operators(model) == [("com.microsoft", "FastGelu")]
    assert imports(model) == {"": 17, "com.microsoft": 1}
    agree(path, out)


@pytest.mark.parametrize("words", [[], ["--domain", "none"]])
def test_not_allowed(words, tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    gelu_by_tanh(17, path)
    model = optimize(path, out, *words)
    assert all(not domain for domain, _ in operators(model)) and imports(model) == {"": 17}
    agree(path, out)


@pytest.mark.parametrize("batch", [1, 2, "n"])
@pytest.mark.parametrize("spelling", ["reciprocal", "div"])
def test_rms_norm(spelling, batch, tmp_path):
    """ONNX has RMSNormalization since opset 23; before that it stays spelled out."""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    rms_norm(23, path, spelling, batch)
    assert [op for _, op in operators(optimize(path, out))] == ["RMSNormalization"]
    agree(path, out)
    rms_norm(17, path, spelling, batch)
    words = "--domain", "com.microsoft"
    assert "Sqrt" in [op for _, op in operators(optimize(path, out, *words))]


def test_onnx_has_its_own_name(tmp_path):
    """An operator that ONNX has at the opset of the model is not written in another domain."""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    gelu_by_tanh(20, path)
    model = optimize(path, out, "--domain", "com.microsoft")
    assert operators(model) == [("", "Gelu")] and "com.microsoft" not in imports(model)


def test_target_allows(tmp_path):
    """If ONNX Runtime is the target, its domain is allowed, unless --domain none is given. For
    another command it is not allowed, and the rule is left out."""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    gelu_by_tanh(17, path)
    base = [OPTIMIZE, path, out, "--enable", "gelutanh-pow", "--verbose", "--dry-run"]
    base += ["--cost-db", tmp_path / "costs.sqlite", "--frozen", "--measure-with"]

    def left_out(*words):
        done = subprocess.run([*base, *words], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return "rule gelutanh-pow is left out" in done.stderr

    assert not left_out("onnxruntime")
    assert left_out("onnxruntime", "--domain", "none")
    assert left_out("true")


def test_unknown_domain(tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    gelu_by_tanh(17, path)
    words = [OPTIMIZE, path, out, "--domain", "com.example"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "com.example" in done.stderr


# ---- ordinary spellings


def test_sum(tmp_path):
    """An addition before a layer normalization becomes a Sum, which ONNX Runtime does not fuse; the
    target finds that this is faster."""
    g, path, out = Graph(), tmp_path / "m.onnx", tmp_path / "o.onnx"
    r = g("Relu", "x")
    norm = [g.weight(256), g.weight(256)]
    y = g("LayerNormalization", g("Add", "x", r), *norm, axis=-1)
    g.save(path, [1, 128, 256], [y], 17)
    words = [OPTIMIZE, path, out, "--measure-with", "onnxruntime", "--enable", "layernorm-of-sum"]
    words += ["--cost-db", tmp_path / "costs.sqlite"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Sum" in [op for _, op in operators(onnx.load(out))]
    agree(path, out)


def branch(g, x, channels, kernel, group):
    """A convolution with a bias that preserves the sizes."""
    pad = kernel // 2
    w = g.weight(channels, channels // group, kernel, kernel)
    return g("Conv", x, w, g.weight(channels), pads=[pad] * 4, group=group)


def batch_norm(g, x, channels):
    values = [g.weight(channels) for _ in range(3)]
    positive = g.constant(g.random.uniform(0.5, 1.5, channels))
    return g("BatchNormalization", x, *values, positive)


BRANCHES = "conv-add-1x1 conv-bias-add-conv conv-add-batchnorm depthwise-add-batchnorm"
MIXERS = "depthwise-add-input depthwise-sub-batchnorm"


def enable(rules):
    return [word for rule in rules.split() for word in ("--enable", rule)]


@pytest.mark.parametrize("group", [1, 6])
def test_branches(group, tmp_path):
    """The sum of a batch normalization of a tensor and convolutions of it with kernels of two sizes
    becomes one convolution."""
    g, path, out = Graph(), tmp_path / "m.onnx", tmp_path / "o.onnx"
    parts = [branch(g, "x", 6, kernel, group) for kernel in (1, 3, 3)] + [batch_norm(g, "x", 6)]
    y = parts[0]
    for part in parts[1:]:
        y = g("Add", y, part)
    g.save(path, [2, 6, 9, 7], [y], 17)
    model = optimize(path, out, *enable(BRANCHES))
    assert [op for _, op in operators(model)] == ["Conv"]
    agree(path, out)


@pytest.mark.parametrize("minus", ["input", "norm"])
def test_depthwise_mixers(minus, tmp_path):
    g, path, out = Graph(), tmp_path / "m.onnx", tmp_path / "o.onnx"
    conv = branch(g, "x", 6, 3, 6)
    y = g("Add", conv, "x") if minus == "input" else g("Sub", conv, batch_norm(g, "x", 6))
    g.save(path, [2, 6, 9, 7], [y], 17)
    model = optimize(path, out, *enable(MIXERS))
    assert [op for _, op in operators(model)] == ["Conv"]
    agree(path, out)
