"""Makers (makers.py) of operators with weights or windows, of quantization, recurrent layers and
attention."""

import numpy
from builder import BOOL, F16, F32, F64, I8, I32, I64, U8, Reject
from makers import FLOAT, along, axis_of, drawn, other


def matmul(b, kind):
    x = b.pick([F32, F64, F16, I32] if b.opset >= 9 else [F32, F64], rank=(1, 4))
    n = x.size[-1]
    y = None
    if b.chance(0.3):
        fit = [v for v in b.values[-24:] if v.dtype == x.dtype and v.rank >= 2 and v.size[-2] == n]
        fit = [v for v in fit if v.size[:-2] == x.size[:-2] or v.rank == 2]
        y = b.choice(fit) if fit else None
    if y is None:
        lead = x.size[:-2] if b.chance(0.2) else []
        y = b.fresh([*lead, n, b.dim()] if b.chance(0.93) else [n], x.dtype)
    if x.rank >= 2 and b.chance(0.2):
        return b.add(kind, [b.fresh([b.dim(), x.size[-2]], x.dtype), x])
    return b.add(kind, [x, y])


def gemm(b, kind):
    x = b.pick([F32, F64, F16], rank=(2, 2))
    trans_a, trans_b = b.below(2) * b.below(2), b.below(2)
    m, n = x.size[::-1] if trans_a else x.size
    k = b.dim()
    w = b.fresh([k, n] if trans_b else [n, k], x.dtype)
    c = b.fresh(b.choice([[m, k], [k], [1, k], [m, (1, 1)], []]), x.dtype)
    c = None if b.chance(0.2) and b.opset >= 11 else c
    more = drawn(b, {"alpha": [None, 0.5, -2.0], "beta": [None, 0.25, -1.0]})
    return b.add(kind, [x, w, c], transA=trans_a, transB=trans_b, **more)


def einsum(b, kind):
    x = b.pick([F32, F64], rank=(2, 3))
    n = b.dim()
    if x.rank == 2:
        text = b.choice(["ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,jk", "ij->ji", "ij->i"])
    else:
        text = b.choice(["bij,bjk->bik", "bij,jk->bik", "bij,bkj->bik", "bij->bji", "bij->b"])
    letters = dict(zip(text.split("->")[0].split(",")[0], x.size))
    inputs = [x]
    if "," in text:
        inputs.append(
            b.fresh([letters.get(c, n) for c in text.split("->")[0].split(",")[1]], x.dtype)
        )
    return b.add(kind, inputs, equation=text)


# ---- windows


def image(b, types=(F32,), least=1):
    """A value with axes N, C and one to three more of at least so many places."""
    fits = (
        lambda v: 3 <= v.rank <= 5 and all(min(d) >= least for d in v.size[2:]) and 0 not in v.shape
    )
    fit = [v for v in b.values[-24:] if v.dtype in types and fits(v) and not v.constant]
    if fit and b.chance(0.85):
        return b.choice(fit)
    dims = b.choice([1, 2, 2, 2, 2, 3])
    size = [(1, 1) if b.chance(0.5) else b.dim(), b.choice([1, 2, 3, 4, 4, 6, 8])]
    size = [*size, *[b.between(max(least, 3), 8) for _ in range(dims)]]
    if b.opened and b.chance(0.4):
        size[2:] = [(6, 8) for _ in size[2:]]
    return b.fresh(size, types[0], kind="input")


def window(b, x, dilate=True, most=3):
    """The kernel sizes and the attributes of a random window that fits into x."""
    axes, more = x.rank - 2, {}
    kernel = [b.between(1, min(most, *d)) for d in x.size[2:]]
    if b.chance(0.5):
        kernel = [min(kernel)] * axes
    strides = [b.choice([1, 1, 2]) for _ in kernel] if b.chance(0.4) else None
    if b.chance(0.15):
        more["auto_pad"] = b.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        strides = strides and [min(s, k) for s, k in zip(strides, kernel)]
    elif b.chance(0.6):
        pads = [k // 2 for k in kernel] * 2
        more["pads"] = pads if b.chance(0.7) else [b.between(0, p) for p in pads]
    if dilate and b.chance(0.12) and "auto_pad" not in more:
        more["dilations"] = [2 if 2 * (k - 1) < min(d) else 1 for k, d in zip(kernel, x.size[2:])]
    if strides:
        more["strides"] = strides
    return kernel, more


def conv(b, kind):
    x = image(b, (F32, F16) if b.dtype == F16 else (F32,))
    if x.size[1][0] != x.size[1][1]:
        raise Reject("open channels")
    kernel, more = window(b, x)
    channels = x.shape[1]
    group = b.choice([1, 1, 1, channels, 2]) if channels > 1 else 1
    group = group if channels % group == 0 else 1
    out = group * b.between(1, max(1, 6 // group))
    inputs = [x, b.fresh([out, channels // group, *kernel], x.dtype)]
    if b.chance(0.5):
        inputs.append(b.fresh([out], x.dtype))
    if group > 1 or b.chance(0.2):
        more["group"] = group
    if b.chance(0.7):
        more["kernel_shape"] = kernel
    return b.add(kind, inputs, **more)


def conv_transpose(b, kind):
    x = image(b)
    if x.size[1][0] != x.size[1][1]:
        raise Reject("open channels")
    kernel, more = window(b, x, False)
    more.pop("auto_pad", None)
    channels = x.shape[1]
    group = b.choice([1, 1, channels])
    inputs = [x, b.fresh([channels, b.between(1, 3), *kernel], x.dtype)]
    if b.chance(0.4):
        inputs.append(b.fresh([inputs[1].shape[1] * group], x.dtype))
    if "strides" in more and b.chance(0.3):
        more["output_padding"] = [s - 1 for s in more["strides"]]
    return b.add(kind, inputs, group=group, **more)


def pool(b, kind):
    x = image(b)
    kernel, more = window(b, x, False)
    more["kernel_shape"] = kernel
    if kind == "AveragePool" and b.chance(0.4):
        more["count_include_pad"] = b.below(2)
    if kind == "LpPool":
        more["p"] = b.choice([1, 2])
    if b.opset >= 10 and kind != "LpPool" and b.chance(0.1) and "auto_pad" not in more:
        more["ceil_mode"] = 1
    both = kind == "MaxPool" and b.chance(0.15)
    return b.add(kind, [x], 2 if both else 1, lend=both, **more)


def over_image(b, kind, attributes=None):
    """Adds an operator with one input, an image, and random attributes."""
    return b.add(kind, [image(b)], **drawn(b, attributes))


def resize(b, kind):
    x = image(b)
    scales = [1.0, 1.0] + [b.choice([0.5, 1.0, 2.0, 2.0, 1.5, 3.0]) for _ in x.shape[2:]]
    mode = b.choice(["nearest", "nearest", "linear"])
    factors = b.constant(numpy.array(scales), F32)
    if kind == "Upsample":
        scales = [max(s, 1.0) for s in scales]
        if b.opset < 9:
            return b.add(kind, [x], mode=mode, scales=scales)
        return b.add(kind, [x, b.constant(numpy.array(scales), F32)], mode=mode)
    if b.opset < 11:
        return b.add(kind, [x, factors], mode=mode)
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if any(size * scale % 1 for size, scale in zip(x.shape, scales) if not x.open) or x.open:
        ways.remove("align_corners")  # ONNX Runtime uses the size before rounding
    more = {"mode": mode, "coordinate_transformation_mode": b.choice(ways)}
    if mode == "nearest":
        more["nearest_mode"] = b.choice(["floor", "round_prefer_floor", "ceil"])
    if b.chance(0.3) and not x.open:
        sizes = b.ints(x.shape[:2] + [b.between(1, 9) for _ in x.shape[2:]])
        empty = None if b.opset >= 13 else b.constant(numpy.zeros(0), F32)
        return b.add(kind, [x, None if b.opset >= 13 else empty, empty, sizes], **more)
    empty = None if b.opset >= 13 else b.constant(numpy.zeros(0), F32)
    return b.add(kind, [x, empty, factors], **more)


# ---- normalization


def channelled(b, x, n, positive=False):
    """n new values with an element for each channel of x; the last one is positive on request."""
    return [
        b.fresh([x.size[1]], x.dtype, 0.4 if positive and k == n - 1 else -1.0) for k in range(n)
    ]


def closed_channels(b, types, rank=(2, 5)):
    """A value in which the number of channels is fixed."""
    fits = (
        lambda v: rank[0] <= v.rank <= rank[1] and v.size[1][0] == v.size[1][1] and 0 not in v.shape
    )
    if b.chance(0.7):
        return image(b, tuple(types)) if not b.chance(0.2) else b.pick(types, rank, fits)
    return b.pick(types, rank, fits)


def batch_norm(b, kind):
    x = closed_channels(b, [F32, F64] if b.dtype == F64 else [F32])
    more = drawn(b, {"epsilon": [None, 1e-3, 1e-5]})
    return b.add(kind, [x, *channelled(b, x, 4, True)], **more)


def instance_norm(b, kind):
    x = closed_channels(b, [F32], (3, 5))
    return b.add(kind, [x, *channelled(b, x, 2)], **drawn(b, {"epsilon": [None, 1e-3]}))


def group_norm(b, kind):
    x = closed_channels(b, [F32], (3, 5))
    groups = b.choice([g for g in (1, 2, 3, 4) if x.shape[1] % g == 0])
    n = x.shape[1] if b.opset >= 21 else groups
    scale, bias = b.fresh([n], x.dtype), b.fresh([n], x.dtype)
    return b.add(kind, [x, scale, bias], num_groups=groups)


def layer_norm(b, kind):
    x = b.pick([F32, F64], where=lambda v: v.rank and 0 not in v.shape)
    axis = b.choice([-1, -1, x.rank - 1, -x.rank])
    size = x.size[axis:] if axis < 0 else x.size[axis:]
    inputs = [x, b.fresh(size, x.dtype, 0.2, 1.5)]
    if kind == "LayerNormalization" and b.chance(0.7):
        inputs.append(b.fresh(size, x.dtype))
    return b.add(kind, inputs, axis=axis, **drawn(b, {"epsilon": [None, 1e-3]}))


def lrn(b, kind):
    x = b.pick([F32], rank=(4, 4), where=lambda v: 0 not in v.shape)
    return b.add(
        kind, [x], size=b.choice([1, 3, 5]), **drawn(b, {"alpha": [None, 0.1], "bias": [None, 2.0]})
    )


def lp_norm(b, kind):
    return along(b, kind, [F32, F64], {"p": [1, 2]}, 7)


def mean_variance(b, kind):
    x = b.pick([F32], rank=(4, 4), where=lambda v: 0 not in v.shape)
    return b.add(kind, [x], axes=None if b.chance(0.5) else [0, 2, 3])


def prelu(b, kind):
    x = b.pick(FLOAT[:1] + [F64])
    slope = b.fresh(
        [d if b.chance(0.5) else (1, 1) for d in x.size[b.below(x.rank + 1) :]], x.dtype, 0.0
    )
    return b.add(kind, [x, slope])


# ---- quantization


def quantize(b, kind):
    x = b.pick([F32])
    zero = b.constant(numpy.array(b.between(0, 9)), b.choice([U8, I8]))
    scale = b.constant(numpy.array(b.choice([0.02, 0.1])), F32)
    return b.add(kind, [x, scale, zero])


def dequantize(b, kind):
    x = b.pick([U8, I8, I32], low=0, high=50)
    zero = b.constant(numpy.array(0 if x.dtype == I32 else 3), x.dtype)
    return b.add(kind, [x, b.constant(numpy.array(0.05), F32), zero])


def dynamic(b, kind):
    return b.add(kind, [b.pick([F32], where=lambda v: 0 not in v.shape)], 3)


def matmul_integer(b, kind):
    x = b.pick([U8], rank=(2, 3), low=0, high=50)
    w = b.fresh([x.size[-1], b.dim()], b.choice([U8, I8]), 0, 50)
    zeros = [b.constant(numpy.array(2), v.dtype) for v in (x, w)] if b.chance(0.6) else []
    return b.add(kind, [x, w, *zeros])


def conv_integer(b, kind):
    x = b.fresh([1, b.between(1, 3), 5, 5], U8, 0, 20, "input")
    w = b.fresh([b.between(1, 3), x.shape[1], 3, 3], U8, 0, 20)
    zeros = [b.constant(numpy.array(2), v.dtype) for v in (x, w)] if b.chance(0.6) else []
    return b.add(kind, [x, w, *zeros], **drawn(b, {"pads": [None, [1, 1, 1, 1]]}))


def quantized(b, kind):
    number = lambda x, t=F32: b.constant(numpy.array(x), t)
    if kind == "QLinearConv":
        x = b.fresh([1, b.between(1, 3), 5, 5], U8, 0, 200, "input")
        w = b.fresh([b.between(1, 3), x.shape[1], 3, 3], U8, 0, 200, "constant")
    else:
        x = b.pick([U8], rank=(2, 2), low=0, high=200)
        w = b.fresh([x.size[-1], b.dim()], U8, 0, 200)
    return b.add(
        kind,
        [
            x,
            number(0.03),
            number(100, U8),
            w,
            number(0.02),
            number(90, U8),
            number(0.11),
            number(120, U8),
        ],
    )


# ---- recurrence and attention


def recurrent(b, kind):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    both = b.chance(0.3)
    n, h = 1 + both, b.between(1, 4)
    fits = lambda v: v.size[2][0] == v.size[2][1] and 0 not in v.shape
    x = b.pick([F32], rank=(3, 3), where=fits)
    inputs = [x, b.fresh([n, gates * h, x.size[2]], F32), b.fresh([n, gates * h, h], F32)]
    inputs.append(b.fresh([n, 2 * gates * h], F32) if b.chance(0.6) else None)
    if b.chance(0.3):
        inputs += [None, b.fresh([n, x.size[1], h], F32)]
    more = {
        "hidden_size": h,
        "direction": "bidirectional" if both else b.choice(["forward", "reverse"]),
    }
    if kind == "GRU" and b.chance(0.4):
        more["linear_before_reset"] = 1
    if b.chance(0.2):
        names = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
        more["activations"] = names[kind] * n
    outputs = 3 if kind == "LSTM" else 2
    return b.add(
        kind, inputs, outputs, lend=True, wanted=b.choice([None, [0], [0, 1], [1]]), **more
    )


def attention(b, kind):
    batch, heads, d = b.dim(), b.choice([2, 4]), b.choice([2, 4])
    shared = b.choice([heads, heads, heads // 2])
    s, t = b.dim(), b.dim()
    q = b.fresh([batch, heads, s, d], F32, kind="input")
    k, v = (b.fresh([batch, shared, t, d], F32, kind="input") for _ in range(2))
    mask = [b.fresh([s, t], F32)] if b.chance(0.4) else []
    return b.add(kind, [q, k, v, *mask], **drawn(b, {"is_causal": [None, 1], "scale": [None, 0.3]}))


def rotary(b, kind):
    batch, heads, s, d = b.dim(), b.between(1, 3), b.dim(), b.choice([2, 4])
    x = b.fresh([batch, heads, s, d], F32, kind="input")
    tables = [b.fresh([batch, s, d // 2], F32) for _ in range(2)]
    return b.add(kind, [x, *tables], interleaved=b.below(2))


# ---- the rest


def grid_sample(b, kind):
    x = b.fresh([b.dim(), b.between(1, 3), 4, 5], F32, kind="input")
    grid = b.fresh([x.size[0], b.dim(), b.dim(), 2], F32, -0.9, 0.9)
    linear = "bilinear" if b.opset < 20 else "linear"
    return b.add(kind, [x, grid], mode=b.choice([linear, "nearest"]), align_corners=b.below(2))


def affine_grid(b, kind):
    n = b.between(1, 3)
    sizes = b.ints([n, 2, b.between(2, 4), b.between(2, 4)])
    return b.add(kind, [b.fresh([n, 2, 3], F32), sizes], align_corners=b.below(2))


def col2im(b, kind):
    x = b.fresh([b.dim(), 4 * b.between(1, 2), 9], F32, kind="input")
    return b.add(kind, [x, b.ints(4, 4), b.ints(2, 2)])


def roi_align(b, kind):
    x = b.fresh([2, b.between(1, 3), 6, 6], F32, kind="input")
    rois = b.constant(numpy.array([[0.5, 0.5, 3.0, 4.0], [1.0, 0.0, 5.0, 3.5]]), F32)
    more = {"coordinate_transformation_mode": b.choice(["half_pixel", "output_half_pixel"])}
    more = more if b.opset >= 16 else {}
    index = b.constant(numpy.array([0, 1]), I64)
    return b.add(kind, [x, rois, index], output_height=2, output_width=3, sampling_ratio=2, **more)


def suppression(b, kind):
    boxes = b.fresh([1, 6, 4], F32, 0, 1, "input")
    scores = b.fresh([1, 2, 6], F32, 0, 1, "input")
    ends = [
        b.ints(3, scalar=True),
        b.constant(numpy.array(0.4), F32),
        b.constant(numpy.array(0.1), F32),
    ]
    return b.hide(b.add(kind, [boxes, scores, *ends], center_point_box=1))


def unique(b, kind):
    """Floats are those of an input, since for computed ones roundings would decide how many are
    different."""
    if b.chance(0.5):
        x = b.fresh([d[0] for d in b.dims(1, 3)], F32, kind="input")
    else:
        x = b.pick([I64], where=lambda v: v.rank and 0 not in v.shape and not v.open)
    return b.hide(b.add(kind, [x], 4, sorted=1, axis=b.choice([None, 0])))


def nonzero(b, kind):
    return b.hide(b.add(kind, [b.pick([F32, I64, BOOL], where=lambda v: v.rank and not v.open)]))


def loss(b, kind):
    classes = b.between(2, 5)
    x = b.fresh([b.dim(), classes, *b.dims(0, 2)], F32, kind="input")
    target = b.fresh([x.size[0], *x.size[2:]], I64, 0, classes - 1, "input")
    weight = [b.fresh([classes], F32, 0.1, 1.0)] if b.chance(0.4) else []
    more = {"reduction": b.choice(["none", "sum", "mean"])}
    return b.add(kind, [x, target, *weight], **more)


def dft(b, kind):
    x = b.fresh([b.dim(), b.choice([4, 5, 8]), b.choice([1, 2])], F32, kind="input")
    if b.opset < 20:
        return b.add(
            kind, [x], axis=1, **drawn(b, {"onesided": [None, 1] if x.shape[2] == 1 else [None]})
        )
    return b.add(kind, [x, None, b.ints(1, scalar=True)])


def windowed(b, kind):
    return b.add(kind, [b.ints(b.between(3, 9), scalar=True)], periodic=b.below(2))


def isinf(b, kind):
    x = b.pick([F32, F64])
    more = {"detect_negative": [None, 0], "detect_positive": [None, 0]} if kind == "IsInf" else {}
    return b.add(kind, [x], **drawn(b, more))


def crop_pad(b, kind):
    x = b.pick([F32], where=lambda v: v.rank and not v.open)
    return b.add(kind, [x, b.ints([b.between(1, 6) for _ in x.shape])])


def tensor_scatter(b, kind):
    past = b.fresh([2, 3, 6, 4], F32, kind="input")
    update = b.fresh([2, 3, 2, 4], F32, kind="input")
    return b.add(kind, [past, update, b.ints(1, 2)], mode=b.choice(["linear", "circular"]))


def drawn_numbers(b, kind):
    """Only the size of the random numbers is used in the model."""
    size = [b.between(1, 4) for _ in range(b.between(1, 3))]
    if kind.endswith("Like") or kind == "Bernoulli":
        y = b.add(kind, [b.fresh(size, F32, 0, 1)], seed=3.0)
    else:
        y = b.add(kind, [], shape=size, seed=3.0)
    b.random_values.add(y.name)
    b.values.remove(y)
    return b.add("Shape", [y])
