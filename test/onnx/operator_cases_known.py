"""Makers of cases for known operators, which have a kernel but no definition, with many attributes.
operator_cases.py finds them by name."""

import numpy as np
from operator_case import batch_to_normalize, number


def attention(case):
    case.attrs.update({name: case.draw(name) for name in ("scale", "cap", "causal")})
    case.onnx_attrs = {
        "is_causal": int(case.attrs["causal"] == "yes"),
        "softcap": number(case.attrs["cap"]),
    }
    if number(case.attrs["scale"]):
        case.onnx_attrs["scale"] = number(case.attrs["scale"])
    group, past = case.random.choice([1, 2, 4]), case.below(3)
    case.inputs = [
        case.tensor(2, 4, 3, 6),
        case.tensor(2, group, 5, 6),
        case.tensor(2, group, 5, 7),
    ]
    case.inputs.append(
        case.random.choice([case.tensor(3, 5 + past), case.tensor(2, 1, 3, 5 + past)])
    )
    if past:
        case.inputs += [case.tensor(2, group, past, 6), case.tensor(2, group, past, 7)]
    case.type, case.opset, case.outputs = "Attention", 24, 4


def rotaryat(case):
    case.attrs["interleaved"] = case.draw("interleaved")
    e = 2 * (2 + case.below(2))
    h = e // 2 - case.below(2)
    if case.below(2):
        case.attrs["heads"], x = 3, case.tensor(2, 4, 3 * e)
    else:
        x = case.tensor(2, 3, 4, e)
    case.inputs = [
        x,
        case.tensor(6, h),
        case.tensor(6, h),
        np.array([[case.below(6) for _ in range(4)] for _ in range(2)], np.int64),
    ]
    case.type, case.opset = "RotaryEmbedding", 23
    case.onnx_attrs = {
        "interleaved": int(case.attrs["interleaved"] == "yes"),
        "rotary_embedding_dim": 2 * h,
        "num_heads": case.attrs.get("heads", 0),
    }


def resample(case):
    for name in ("mode", "coordinate", "rounding", "a", "exclude"):
        case.attrs[name] = case.draw(name)
    x, scales = case.tensor(1, 1, 4, 5), [
        1,
        1,
        case.random.choice([0.3, 0.6, 0.75, 1.3, 2]),
        case.random.choice([0.3, 0.5, 0.7, 1.6, 3]),
    ]
    if case.attrs["coordinate"] == "align_corners":
        scales[2:] = 0.75, 0.6  # for other sizes ONNX Runtime and ONNX's node tests differ
    if case.attrs["mode"] != "cubic":
        case.attrs["exclude"] = "no"  # ONNX Runtime accepts it only for cubic
    case.attrs["sizes"] = [int(np.float32(n) * np.float32(f)) for n, f in zip(x.shape, scales)]
    case.inputs, case.type = [x, np.zeros(0, np.float32), np.array(scales, np.float32)], "Resize"
    case.onnx_attrs = {
        "mode": case.attrs["mode"],
        "coordinate_transformation_mode": case.attrs["coordinate"],
        "nearest_mode": case.attrs["rounding"],
        "cubic_coeff_a": number(case.attrs["a"]),
        "exclude_outside": int(case.attrs["exclude"] == "yes"),
    }


def dropmask(case):
    case.inputs, case.type, case.outputs, case.opset = [case.tensor(2, 3, 4)], "Dropout", 2, 13


def dropout(case):
    """The expected mask is that of numpy's generator with this seed, as in ONNX's reference."""
    case.attrs = {"ratio": case.draw("ratio"), "seed": int(case.draw("seed"))}
    case.inputs, case.outputs, ratio = [case.tensor(2, 3, 4)], 2, number(case.attrs["ratio"])
    mask = np.random.RandomState(case.attrs["seed"]).uniform(0, 1, (2, 3, 4)) >= ratio
    case.expected = [(case.inputs[0] * mask / (1 - ratio)).astype(np.float32), mask]


def batchtrain(case):
    case.attrs = {name: case.draw(name) for name in ("epsilon", "momentum")}
    case.inputs = batch_to_normalize(case)
    x, scale, bias, mean, var = (a.astype("f8") for a in case.inputs)
    axes, momentum, channels = (
        (0, *range(2, x.ndim)),
        number(case.attrs["momentum"]),
        (3,) + (1,) * (x.ndim - 2),
    )
    now = [x.mean(axes), x.var(axes)]
    y = (x - now[0].reshape(channels)) / np.sqrt(
        now[1].reshape(channels) + number(case.attrs["epsilon"])
    )
    y = y * scale.reshape(channels) + bias.reshape(channels)
    case.expected = [
        a.astype(np.float32)
        for a in (y, *(momentum * a + (1 - momentum) * b for a, b in zip((mean, var), now)))
    ]
    case.outputs = 3


def maxplace(case):
    from operator_cases import pool

    pool(case)
    case.attrs["columns"] = case.draw("columns")
    case.onnx_attrs["storage_order"] = int(case.attrs["columns"] == "yes")
    case.type, case.outputs = "MaxPool", 2


def nll(case):
    classes, shape = 5, [2, 3, 4][: case.below(3)]
    case.attrs = {"reduction": case.draw("reduction")}
    case.onnx_attrs = {"reduction": case.attrs["reduction"]}
    if case.below(2):
        case.attrs["ignore"] = case.onnx_attrs["ignore_index"] = int(case.draw("ignore"))
    low = -1 if case.attrs.get("ignore") == -1 else 0
    case.inputs = [case.tensor(3, classes, *shape), case.integers(3, *shape, low=low, high=classes)]
    if case.below(2):
        case.inputs.append(case.tensor(classes, low=0.25))
    case.inputs[1].ravel()[0] = 2  # so that not all targets are ignored
    case.type, case.opset = case.op.onnx[0][0], 13


def crossentropy(case):
    nll(case)
    case.outputs = 2


def gridsample(case):
    case.attrs = {name: case.draw(name) for name in ("mode", "outside", "align")}
    case.inputs, case.type, case.opset = (
        [case.tensor(2, 2, 4, 5), case.tensor(2, 3, 4, 2, low=-1.6, high=1.6)],
        "GridSample",
        20,
    )
    case.onnx_attrs = {
        "mode": case.attrs["mode"],
        "padding_mode": case.attrs["outside"],
        "align_corners": int(case.attrs["align"] == "yes"),
    }


def linearattention(case):
    g, rule = int(case.draw("kv_heads")), case.draw("rule")
    h, b, t, dk, dv = g * (1 + case.below(2)), 2, 3, 4, 5
    case.attrs = {"kv_heads": g, "q_heads": h, "scale": case.draw("scale"), "rule": rule}
    case.inputs = [case.tensor(b, t, h * dk), case.tensor(b, t, g * dk), case.tensor(b, t, g * dv)]
    case.inputs.append(case.tensor(b, g, dk, dv) if case.below(2) else None)
    case.inputs.append(
        case.tensor(b, t, case.random.choice([g, g * dk])) if "gated" in rule else None
    )
    case.inputs.append(case.tensor(b, t, case.random.choice([1, g])) if "delta" in rule else None)
    case.inputs = [
        x if x is None else x / 4 for x in case.inputs
    ]  # otherwise the state grows beyond the precision of float32
    case.type, case.opset, case.outputs = "LinearAttention", 27, 2
    case.onnx_attrs = {
        "kv_num_heads": g,
        "q_num_heads": h,
        "scale": number(case.attrs["scale"]),
        "update_rule": rule,
    }


def causalconv(case):
    case.attrs["activation"] = case.onnx_attrs["activation"] = case.draw("activation")
    k = 1 + case.below(3)
    case.inputs = [
        case.tensor(2, 3, 5),
        case.tensor(3, 1, k),
        case.tensor(3) if case.below(2) else None,
        case.tensor(2, 3, k - 1) if case.below(2) else None,
    ]
    case.type, case.opset, case.outputs = "CausalConvWithState", 27, 2


def dft(case):
    words = {word: case.draw(word) for word in ("inverse", "onesided")}
    length, axis = int(case.draw("length")), int(case.draw("axis"))
    case.attrs = {"axis": axis, "length": length, **words}
    inverse, half = (word == "yes" for word in words.values())
    parts = 2 if inverse else 1 if half else 1 + case.below(2)
    case.inputs = [case.tensor(3, 4, parts)]
    x = case.inputs[0].astype("f8")
    signal = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    turn = ("fft", "rfft", "ifft", "irfft")[2 * inverse + half]
    y = getattr(np.fft, turn)(signal, n=length or None, axis=axis if axis >= 0 else -1)
    y = y[..., None] if inverse and half else np.stack([y.real, y.imag], -1)
    case.expected = [y.astype(np.float32)]


def stft(case):
    case.opset, half = 17, case.draw("onesided") == "yes"
    n, hop = 1 + case.below(6), int(case.draw("hop"))
    case.attrs = {"hop": hop, "onesided": "yes" if half else "no"}
    x, w = case.tensor(2, n + case.below(20), 1 if half else 1 + case.below(2)), case.tensor(n)
    case.inputs = [x, w]
    signal = x[..., 0].astype("f8") + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    frames = np.stack([signal[:, k : k + n] * w for k in range(0, x.shape[1] - n + 1, hop)], axis=1)
    y = np.fft.fft(frames, axis=-1)[..., : n // 2 + 1 if half else n]
    case.expected = [np.stack([y.real, y.imag], -1).astype(np.float32)]


def window(case):
    case.attrs = {"size": int(case.draw("size")), "periodic": case.draw("periodic")}
    size, case.type = case.attrs["size"], case.op.onnx[0][0]
    n = size if case.attrs["periodic"] == "yes" else size - 1
    a = {"hann": (0.5, 0.5, 0), "hamming": (25 / 46, 21 / 46, 0), "blackman": (0.42, 0.5, 0.08)}[
        case.op.name
    ]
    angle = 2 * np.pi * np.arange(size) / max(n, 1)
    case.expected = [(a[0] - a[1] * np.cos(angle) + a[2] * np.cos(2 * angle)).astype(np.float32)]


hann = hamming = blackman = window


def bitcast(case):
    case.inputs, case.attrs = [case.tensor(2, 3)], {"to": "I32"}
    case.expected = [case.inputs[0].view(np.int32)]


def eyelike(case):
    case.attrs = {"k": int(case.draw("k")), "shape": [2 + case.below(3), 3]}
    case.expected = [np.eye(case.attrs["shape"][0], 3, case.attrs["k"], dtype=np.float32)]


def mean(case):
    case.inputs, case.type = [case.tensor(2, 3, 4), case.tensor(2, 3, 4), case.tensor(4)][
        : 1 + case.below(3)
    ], "Mean"


def swiglu(case):
    alpha = number(case.attrs.setdefault("alpha", case.draw("alpha")))
    case.inputs = [case.tensor(2, 3, 4), case.tensor(2, 3, 4)]
    a, b = (x.astype("f8") for x in case.inputs)
    case.expected = [(a / (1 + np.exp(-alpha * a)) * b).astype(np.float32)]


def cumprod(case):
    case.attrs = {
        "axis": int(case.draw("axis")),
        "exclusive": case.draw("exclusive"),
        "reverse": case.draw("reverse"),
    }
    case.inputs, axis = [case.tensor(2, 3, 4)], case.attrs["axis"]
    x = np.flip(case.inputs[0], axis) if case.attrs["reverse"] == "yes" else case.inputs[0]
    y = np.cumprod(x.astype("f8"), axis)
    if case.attrs["exclusive"] == "yes":
        y = np.insert(np.delete(y, -1, axis), 0, 1, axis)
    case.expected = [(np.flip(y, axis) if case.attrs["reverse"] == "yes" else y).astype(np.float32)]


def lppool(case):
    from operator_cases import pool

    pool(case)
    case.attrs["p"] = case.onnx_attrs["p"] = int(case.draw("p"))
    case.type = "LpPool"


def byte_type(case):
    return case.random.choice([np.uint8, np.int8])


def small(case, *shape, dtype):
    """Random integers of a type of 8 bits, over its whole range."""
    return case.integers(*shape, low=np.iinfo(dtype).min, high=np.iinfo(dtype).max + 1, dtype=dtype)


def zero_of(case, n, dtype, many=True):
    """A zero point for the tensor, of rank 0 or 1, or (if `many`) one for each of n places."""
    return small(case, *[(), (1,), (n,)][case.below(3 if many else 2)], dtype=dtype)


def scale_of(case, n, many=True):
    """A scale for the tensor, of rank 0 or 1, or (if `many`) one for each of n places."""
    return np.asarray(
        case.tensor(*[(), (1,), (n,)][case.below(3 if many else 2)], low=0.01, high=0.1), np.float32
    )


def wide(x, zero, axis):
    """x minus its zero point, in 64 bits; the zero point is one for the tensor or one for each
    place of the axis."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return x.astype("i8") - (0 if zero is None else zero.reshape(shape).astype("i8"))


def quantized(product, scale, zero):
    """The numbers `product` times a scale, quantized to the type of the zero point."""
    return np.clip(
        np.rint(product * scale) + zero, np.iinfo(zero.dtype).min, np.iinfo(zero.dtype).max
    ).astype(zero.dtype)


def factors(case):
    """The two factors of a matrix product of bytes, with batch axes that may have to be
    broadcast."""
    batch = [2, 3][: case.below(3)]
    a, b = small(case, *batch, 3, 5, dtype=byte_type(case)), small(
        case, *batch[case.below(len(batch) + 1) :], 5, 4, dtype=byte_type(case)
    )
    return (a, b) if case.below(2) else (a[(0,) * len(batch)].copy(), b)


def matmulinteger(case):
    a, b = factors(case)
    zeros = [zero_of(case, n, x.dtype) if case.below(3) else None for n, x in ((3, a), (4, b))]
    case.inputs = [a, b, *zeros]
    case.expected = [(wide(a, zeros[0], -2) @ wide(b, zeros[1], -1)).astype(np.int32)]


def qlinearmatmul(case):
    a, b = factors(case)
    case.inputs = [
        a,
        scale_of(case, 3),
        zero_of(case, 3, a.dtype),
        b,
        scale_of(case, 4),
        zero_of(case, 4, b.dtype),
        scale_of(case, 1) * 40,
        zero_of(case, 1, byte_type(case)),
    ]
    scale = case.inputs[1].reshape(-1, 1).astype("f8") * case.inputs[4] / case.inputs[6]
    case.expected = [
        quantized(wide(a, case.inputs[2], -2) @ wide(b, case.inputs[5], -1), scale, case.inputs[7])
    ]


def windows_of_bytes(case):
    from operator_cases import conv

    conv(case)
    kind = byte_type(case)
    x, w = (
        small(case, *a.shape, dtype=t)
        for a, t in zip(case.inputs, (np.uint8, kind) if case.below(2) else (np.uint8, np.uint8))
    )
    return x, w


def convinteger(case):
    """ONNX Runtime requires the same type for both tensors. So the expected result is the
    convolution of the tensors with their zero points subtracted."""
    x, w = windows_of_bytes(case)
    case.type, case.inputs = "ConvInteger", [
        x,
        w,
        zero_of(case, 1, x.dtype, False) if case.below(2) else None,
        zero_of(case, len(w), w.dtype) if case.below(2) else None,
    ]
    case.expected = [
        convolved(case, wide(x, case.inputs[2], 0), wide(w, case.inputs[3], 0)).astype(np.int32)
    ]


def convolved(case, x, w):
    """The convolution of x with w, computed by ONNX Runtime in doubles."""
    import onnxruntime
    from onnx import helper

    names = [helper.make_tensor_value_info(n, 11, a.shape) for n, a in (("x", x), ("w", w))]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], **case.onnx_attrs)],
        "g",
        names,
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        ).run(None, {"x": x.astype("f8"), "w": w.astype("f8")})[0]
    except Exception:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run(None, {"x": x.astype("f8"), "w": w.astype("f8")})[0]


def qlinearconv(case):
    x, w = windows_of_bytes(case)
    bias = case.integers(len(w), low=-500, high=500, dtype=np.int32) if case.below(2) else None
    case.inputs = [
        x,
        scale_of(case, 1),
        zero_of(case, 1, x.dtype, False),
        w,
        scale_of(case, len(w)),
        zero_of(case, len(w), w.dtype),
        scale_of(case, 1) * 40,
        zero_of(case, 1, byte_type(case), False),
        bias,
    ]
    channels = (1, -1) + (1,) * (x.ndim - 2)
    product = convolved(case, wide(x, case.inputs[2], 0), wide(w, case.inputs[5], 0)) + (
        0 if bias is None else bias.reshape(channels)
    )
    scale = (
        case.inputs[1].reshape(-1)[0].astype("f8")
        * case.inputs[4].reshape(channels)
        / case.inputs[6].reshape(-1)[0]
    )
    case.expected = [quantized(product, scale, case.inputs[7].reshape(-1)[0])]


def affinegrid(case):
    sizes = [2, 3, *([4, 5, 3][: 2 + case.below(2)])]
    case.attrs = {"sizes": sizes, "align": case.draw("align")}
    case.inputs, case.type, case.opset = (
        [case.tensor(2, len(sizes) - 2, len(sizes) - 1)],
        "AffineGrid",
        20,
    )
    case.onnx_inputs, case.onnx_attrs = [case.inputs[0], np.array(sizes, np.int64)], {
        "align_corners": int(case.attrs["align"] == "yes")
    }


def col2im(case):
    ns = 1 + case.below(3)
    block, attrs = [1 + case.below(3) for _ in range(ns)], {
        n: case.draw(n, 2 * ns if n == "pads" else ns) for n in ("strides", "pads", "dilations")
    }
    image = [d * (k - 1) + 1 + case.below(4) for k, d in zip(block, attrs["dilations"])]
    places = [
        (n + attrs["pads"][j] + attrs["pads"][j + ns] - d * (k - 1) - 1) // s + 1
        for j, (n, k, d, s) in enumerate(zip(image, block, attrs["dilations"], attrs["strides"]))
    ]
    case.inputs = [case.tensor(2, 2 * int(np.prod(block)), int(np.prod(places)))]
    case.attrs, case.onnx_attrs, case.type, case.opset = (
        dict(attrs, image=image, block=block),
        attrs,
        "Col2Im",
        18,
    )
    case.onnx_inputs = case.inputs + [np.array(image, np.int64), np.array(block, np.int64)]


def optimizer(case, kinds, names, apply):
    """Makes a case of an optimizer step for one or two tensors, at the first step or a later one.
    `apply`: the function of ONNX's reference for one tensor."""
    case.attrs.update({name: case.draw(name) for name in names})
    n, shapes = 1 + case.below(2), [(2, 3), (4,)]
    r, t = np.float32(0.1), np.int64(case.below(3))
    tensors = [
        [case.tensor(*shapes[j], low=0.1 if kind > 1 else -2.0) for j in range(n)]
        for kind in range(kinds)
    ]
    case.inputs = [np.array(r), np.array(t), *(x for kind in tensors for x in kind)]
    results = [
        apply(
            r,
            t,
            *(kind[j] for kind in tensors),
            **{name: number(case.attrs[name]) for name in names}
        )
        for j in range(n)
    ]
    case.expected = [
        np.asarray(results[j][k], np.float32) for k in range(kinds - 1) for j in range(n)
    ]
    case.outputs = len(case.expected)


def momentum(case):
    from onnx.reference.ops.aionnx_preview_training import op_momentum as reference

    case.attrs["mode"] = case.draw("mode")
    step = (
        reference._apply_nesterov if case.attrs["mode"] == "nesterov" else reference._apply_momentum
    )
    optimizer(
        case,
        3,
        ["alpha", "beta", "norm"],
        lambda *a, alpha, beta, norm: step(*a, norm, alpha, beta),
    )


def adagrad(case):
    from onnx.reference.ops.aionnx_preview_training.op_adagrad import _apply_adagrad

    optimizer(
        case,
        3,
        ["decay", "epsilon", "norm"],
        lambda *a, decay, epsilon, norm: _apply_adagrad(*a, norm, epsilon, decay),
    )


def adam(case):
    from onnx.reference.ops.aionnx_preview_training.op_adam import _apply_adam

    names = ["alpha", "beta", "epsilon", "norm", "post"]
    optimizer(
        case,
        4,
        names,
        lambda *a, alpha, beta, epsilon, norm, post: _apply_adam(
            *a, norm, post, alpha, beta, epsilon
        ),
    )


def unique(case):
    case.attrs = {"axis": int(case.draw("axis")), "sorted": case.draw("sorted")}
    x = case.integers(
        *[4, 3, 2][: 1 + case.below(3)],
        low=0,
        high=2 + case.below(2),
        dtype=case.random.choice([np.float32, np.int64])
    )
    case.attrs["axis"] = axis = min(case.attrs["axis"], x.ndim - 1)
    case.inputs, case.outputs = [x], 4
    y, first, which, count = np.unique(x, True, True, True, axis=axis)
    rank = np.arange(len(first)) if case.attrs["sorted"] == "yes" else np.argsort(np.argsort(first))
    back = np.argsort(rank)
    case.attrs["n"] = len(first)
    case.expected = [np.take(y, back, axis=axis), first[back], rank[which.reshape(-1)], count[back]]


def cachewrite(case):
    axis, mode, n = int(case.draw("axis")), case.draw("mode"), case.below(4)
    shape = [2, 3, 4, 2][: 3 + case.below(2)]
    size, update = shape[axis], list(shape)
    update[axis] = n = min(n + 1, size)
    start = case.integers(2, low=0, high=size if mode == "circular" else size - n + 1)
    case.attrs, case.inputs = {"axis": axis, "mode": mode}, [
        case.tensor(*shape),
        case.tensor(*update),
        start if case.below(3) else None,
    ]
    y = case.inputs[0].copy()
    for b in range(2):
        for k in range(n):
            at = [slice(None)] * (len(shape) - 1)
            at[axis - 1 if axis > 0 else axis] = (
                k + (0 if case.inputs[2] is None else int(start[b]))
            ) % size
            source = list(at)
            source[axis - 1 if axis > 0 else axis] = k
            y[b][tuple(at)] = case.inputs[1][b][tuple(source)]
    case.expected = [y]


def roialign(case):
    case.attrs = {name: case.draw(name) for name in case.op.attrs}
    low = case.tensor(4, 2, low=-1, high=6)
    boxes = np.concatenate([low, low + case.tensor(4, 2, low=0.5, high=7)], 1).astype(np.float32)
    case.inputs, case.type, case.opset = (
        [case.tensor(2, 3, 6, 7), boxes, case.integers(4, low=0, high=2)],
        "RoiAlign",
        16,
    )
    case.onnx_attrs = {
        "output_height": int(case.attrs["height"]),
        "output_width": int(case.attrs["width"]),
        "sampling_ratio": int(case.attrs["samples"]),
        "spatial_scale": number(case.attrs["scale"]),
        "coordinate_transformation_mode": case.attrs["align"],
        "mode": case.attrs["mode"],
    }


def det(case):
    """Some matrices are singular."""
    n = 1 + case.below(5)
    x = case.tensor(*case.random.choice([(n, n), (2, n, n), (2, 3, n, n)]))
    if n > 1 and case.below(3) == 0:
        x[..., 1, :] = 2 * x[..., 0, :]
    case.inputs, case.type = [x], "Det"


def unpool(case):
    """The inputs are as a pooling with windows of random sizes could have made them."""
    n = [1 + case.below(3) for _ in range(1 + case.below(2))]
    kernel, strides = ([1 + case.below(3) for _ in n] for _ in range(2))
    strides = [max(k, s) for k, s in zip(kernel, strides)]
    sizes = [2, 2] + [(m - 1) * s + k for m, s, k in zip(n, strides, kernel)]
    x = case.tensor(2, 2, *n)
    places = np.array(case.random.sample(range(int(np.prod(sizes))), x.size), np.int64)
    case.inputs, case.attrs["shape"] = [x, places.reshape(x.shape)], sizes
    case.type, case.onnx_attrs = "MaxUnpool", {"kernel_shape": kernel, "strides": strides}
    if case.below(2):
        case.onnx_inputs = case.inputs + [np.array(sizes, np.int64)]
