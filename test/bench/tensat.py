#!/usr/bin/env python3
"""Writes the seven graphs on which TENSAT (Yang et al., MLSys 2021) compares itself with TASO as
ONNX files with random weights and batch 1: tensat.py FOLDER [NAME ..]. They follow the descriptions
that both have published. Their BERT has neither softmax, nor normalizations, nor the usual
feed-forward layers, so there is also a complete one (bert_complete). VGG-19 is without its
classifier, in which nothing can be rewritten."""

import math, os, sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """An ONNX graph under construction. The methods add nodes or weights and return the name of the
    new value."""

    def __init__(self, name, **inputs):
        self.name, self.random = name, np.random.default_rng(0)
        self.inputs = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()
        ]
        self.shape = dict(inputs)
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        scale = 1 / math.sqrt(np.prod(shape[1:]) if len(shape) == 4 else shape[0])
        name = f"w{len(self.weights)}"
        data = (self.random.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(data, name))
        return name

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def node(self, op, *inputs, shape, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.shape[name] = shape
        return name

    def unary(self, op, x):
        return self.node(op, x, shape=self.shape[x])

    def binary(self, op, x, y):
        return self.node(op, x, y, shape=self.shape[x])

    def matmul(self, x, out):
        *rows, width = self.shape[x]
        return self.node("MatMul", x, self.weight(width, out), shape=(*rows, out))

    def conv(self, x, out, kernel=1, stride=1, pad=None, groups=1, relu=True):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        pad = tuple(k // 2 for k in kernel) if pad is None else (pad, pad)
        n, channels, *size = self.shape[x]
        size = [(s + 2 * p - k) // stride + 1 for s, p, k in zip(size, pad, kernel)]
        y = self.node(
            "Conv",
            x,
            self.weight(out, channels // groups, *kernel),
            shape=(n, out, *size),
            strides=[stride, stride],
            pads=[*pad, *pad],
            group=groups,
        )
        return self.unary("Relu", y) if relu else y

    def pool(self, x, kernel, stride=1, pad=0, op="MaxPool"):
        n, channels, *size = self.shape[x]
        size = [(s + 2 * pad - kernel) // stride + 1 for s in size]
        more = {"count_include_pad": 1} if op == "AveragePool" else {}
        return self.node(
            op,
            x,
            shape=(n, channels, *size),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[pad] * 4,
            **more,
        )

    def concat(self, *parts):
        shape = list(self.shape[parts[0]])
        shape[1] = sum(self.shape[p][1] for p in parts)
        return self.node("Concat", *parts, shape=tuple(shape), axis=1)

    def save(self, folder, *outputs):
        values = [
            helper.make_tensor_value_info(y, TensorProto.FLOAT, self.shape[y]) for y in outputs
        ]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))


def nasrnn(folder, steps=5, hidden=512):
    net = Net("nasrnn", h=(1, hidden), **{f"x{k}": (1, hidden) for k in range(steps)})
    h = "h"
    for k in range(steps):
        t = [
            net.binary("Add", net.matmul(f"x{k}", hidden), net.matmul(h, hidden)) for _ in range(8)
        ]
        relu, sigmoid, tanh = (
            lambda v, op=op: net.unary(op, v) for op in ("Relu", "Sigmoid", "Tanh")
        )
        m0 = net.binary("Add", relu(t[0]), sigmoid(t[3]))
        m1 = net.binary("Add", sigmoid(t[1]), tanh(t[2]))
        m2 = net.binary("Mul", sigmoid(t[4]), tanh(t[5]))
        m3 = net.binary("Mul", sigmoid(t[6]), relu(t[7]))
        m4 = net.binary("Add", sigmoid(m1), tanh(m2))
        m5 = net.binary("Mul", tanh(m0), tanh(m3))
        h = tanh(net.binary("Mul", tanh(m4), tanh(m5)))
    net.save(folder, h)


def heads(net, x, n):
    rows, width = net.shape[x]
    x = net.node("Reshape", x, net.constant([rows, n, width // n]), shape=(rows, n, width // n))
    return net.node("Transpose", x, shape=(n, rows, width // n), perm=[1, 0, 2])


def attention(net, x, n, scaled):
    rows, width = net.shape[x]
    q, k, v = (heads(net, net.matmul(x, width), n) for _ in range(3))
    k = net.node("Transpose", k, shape=(n, width // n, rows), perm=[0, 2, 1])
    scores = net.node("MatMul", q, k, shape=(n, rows, rows))
    if scaled:
        scale = numpy_helper.from_array(np.float32(1 / math.sqrt(width // n)), "scale")
        if not any(w.name == "scale" for w in net.weights):
            net.weights.append(scale)
        scores = net.binary("Mul", scores, "scale")
        scores = net.node("Softmax", scores, shape=net.shape[scores], axis=-1)
    y = net.node("MatMul", scores, v, shape=(n, rows, width // n))
    y = net.node("Transpose", y, shape=(rows, n, width // n), perm=[1, 0, 2])
    y = net.node("Reshape", y, net.constant([rows, width]), shape=(rows, width))
    return net.matmul(y, width)


def bert(folder, layers=8, hidden=1024, rows=64):
    net = Net("bert", x=(rows, hidden))
    x = "x"
    for _ in range(layers):
        x = net.unary("Relu", net.matmul(net.unary("Relu", attention(net, x, 16, False)), hidden))
    net.save(folder, x)


def bert_complete(folder, layers=12, hidden=768, rows=128):
    net = Net("bert_complete", x=(rows, hidden))
    for k in range(2 * layers):
        for what, value in (
            ("g", 1 + net.random.standard_normal(hidden) / 8),
            ("b", np.zeros(hidden)),
        ):
            net.weights.append(numpy_helper.from_array(value.astype(np.float32), f"{what}{k}"))

    def norm(x, k):
        return net.node("LayerNormalization", x, f"g{k}", f"b{k}", shape=net.shape[x], axis=-1)

    x = "x"
    half, one, root = (
        numpy_helper.from_array(np.float32(v), n)
        for v, n in ((0.5, "half"), (1, "one"), (math.sqrt(2), "root"))
    )
    net.weights += [half, one, root]
    for k in range(layers):
        x = norm(net.binary("Add", x, attention(net, x, 12, True)), 2 * k)
        y = net.matmul(x, 4 * hidden)
        erf = net.binary("Add", net.unary("Erf", net.binary("Div", y, "root")), "one")
        y = net.binary("Mul", net.binary("Mul", y, erf), "half")
        x = norm(net.binary("Add", x, net.matmul(y, hidden)), 2 * k + 1)
    net.save(folder, x)


def stem(net):
    return net.pool(net.conv("x", 64, 7, 2), 3, 2, 1)


def resnext50(folder):
    net = Net("resnext50", x=(1, 3, 224, 224))
    x = stem(net)
    for stage, (blocks, width) in enumerate(zip((3, 4, 6, 3), (128, 256, 512, 1024))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.conv(net.conv(x, width), width, 3, stride, groups=32)
            y = net.conv(y, 2 * width, relu=False)
            if not block:
                x = net.conv(x, 2 * width, 1, stride, pad=0, relu=False)
            x = net.unary("Relu", net.binary("Add", y, x))
    net.save(folder, x)


def nasnet_a(folder):
    net = Net("nasnet_a", x=(1, 3, 224, 224))

    def squeeze(x, out):
        return net.conv(x, out)

    def separable(x, out, kernel, stride=1):
        y = net.conv(x, net.shape[x][1], kernel, stride, groups=net.shape[x][1], relu=False)
        return net.conv(y, out, relu=False)

    def add(a, b):
        return net.binary("Add", a, b)

    def normal(before, x, out):
        x, before = squeeze(x, out), squeeze(before, out)
        parts = [
            add(separable(x, out, 3), x),
            add(separable(before, out, 3), separable(x, out, 3)),
            add(net.pool(x, 3, 1, 1, "AveragePool"), before),
            add(*(net.pool(before, 3, 1, 1, "AveragePool") for _ in range(2))),
            add(separable(before, out, 3), separable(before, out, 3)),
        ]
        return net.concat(*parts)

    def reduction(before, x, out):
        x, before = squeeze(x, out), squeeze(before, out)
        a = add(separable(x, out, 7, 2), separable(before, out, 5, 2))
        b = add(net.pool(x, 3, 2, 1), separable(before, out, 7, 2))
        c = add(net.pool(x, 3, 2, 1, "AveragePool"), separable(before, out, 5, 2))
        d = add(net.pool(x, 3, 2, 1), separable(a, out, 3))
        e = add(net.pool(a, 3, 1, 1, "AveragePool"), b)
        return net.concat(b, c, d, e)

    x, channels = stem(net), 128
    for _ in range(3):
        before = x
        for _ in range(5):
            before, x = x, normal(before, x, channels)
        channels *= 2
        x = reduction(before, x, channels)
    net.save(folder, x)


def squeezenet(folder):
    net = Net("squeezenet", x=(1, 3, 224, 224))

    def fire(x, squeezed, expanded):
        x = net.conv(x, squeezed)
        return net.concat(net.conv(x, expanded), net.conv(x, expanded, 3))

    x = net.pool(net.conv("x", 64, 3, 2, pad=0), 3, 2)
    x = net.pool(fire(fire(x, 16, 64), 16, 64), 3, 2)
    x = net.pool(fire(fire(x, 32, 128), 32, 128), 3, 2)
    for squeezed in (48, 48, 64, 64):
        x = fire(x, squeezed, 4 * squeezed)
    x = net.conv(x, 1000)
    net.save(folder, net.pool(x, net.shape[x][2], op="AveragePool"))


def vgg19(folder):
    net = Net("vgg19", x=(1, 3, 224, 224))
    x = "x"
    for convolutions, out in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            x = net.conv(x, out, 3)
        x = net.pool(x, 2, 2)
    net.save(folder, x)


def inception_v3(folder):
    net = Net("inception_v3", x=(1, 3, 299, 299))
    conv = net.conv

    def average(x):
        return net.pool(x, 3, 1, 1, "AveragePool")

    def a(x, pooled):
        return net.concat(
            conv(x, 64),
            conv(conv(x, 48), 64, 5),
            conv(conv(conv(x, 64), 96, 3), 96, 3),
            conv(average(x), pooled),
        )

    def b(x):
        return net.concat(
            conv(x, 384, 3, 2, pad=0),
            conv(conv(conv(x, 64), 96, 3), 96, 3, 2, pad=0),
            net.pool(x, 3, 2),
        )

    def c(x, n):
        wide, high = (1, 7), (7, 1)
        double = conv(conv(conv(conv(conv(x, n), n, high), n, wide), n, high), 192, wide)
        return net.concat(
            conv(x, 192),
            conv(conv(conv(x, n), n, wide), 192, high),
            double,
            conv(average(x), 192),
        )

    def d(x):
        y = conv(conv(conv(x, 192), 192, (1, 7)), 192, (7, 1))
        return net.concat(
            conv(conv(x, 192), 320, 3, 2, pad=0), conv(y, 192, 3, 2, pad=0), net.pool(x, 3, 2)
        )

    def e(x):
        y, z = conv(x, 384), conv(conv(x, 448), 384, 3)
        return net.concat(
            conv(x, 320),
            conv(y, 384, (1, 3)),
            conv(y, 384, (3, 1)),
            conv(z, 384, (1, 3)),
            conv(z, 384, (3, 1)),
            conv(average(x), 192),
        )

    x = conv(conv(conv("x", 32, 3, 2, pad=0), 32, 3, pad=0), 64, 3)
    x = net.pool(conv(conv(net.pool(x, 3, 2), 80), 192, 3, pad=0), 3, 2)
    x = b(a(a(a(x, 32), 64), 64))
    x = d(c(c(c(c(x, 128), 160), 160), 192))
    net.save(folder, e(e(x)))


GRAPHS = [
    nasrnn,
    bert,
    bert_complete,
    resnext50,
    nasnet_a,
    squeezenet,
    vgg19,
    inception_v3,
]


def main():
    if len(sys.argv) < 2:
        print(
            f"usage: tensat.py FOLDER [{' | '.join(g.__name__ for g in GRAPHS)} ..]",
            file=sys.stderr,
        )
        return 2
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    unknown = set(names) - {g.__name__ for g in GRAPHS}
    if unknown:
        print(f"tensat.py: no graph is called {' or '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for graph in GRAPHS:
        if not names or graph.__name__ in names:
            graph(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
