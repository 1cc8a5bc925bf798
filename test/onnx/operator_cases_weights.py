"""Makers of cases for ONNX Runtime's operators with quantized weights (qmatmul.c) and for those of
transformers (heads.c, grouped.c, contrib.c). ONNX Runtime computes the expected results."""

import numpy as np
from operator_case import number


def theirs(case, kind, inputs, attributes):
    """Makes the case one of this operator of com.microsoft; None stands for an input left out."""
    while inputs[-1] is None:
        inputs.pop()
    case.inputs, case.type, case.domain, case.onnx_attrs = inputs, kind, "com.microsoft", attributes


def whole(case, *shape, dtype=np.uint8):
    limits = np.iinfo(dtype)
    return case.numpy.integers(limits.min, limits.max + 1, shape).astype(dtype)


def one_or(case, n, low=0.004, high=0.01):
    """A scale for the tensor, or one for each of n places."""
    return case.numpy.uniform(low, high, (n,) if case.below(2) else ()).astype("float32")


def dynamicquantmatmul(case):
    """The elements of a are multiples of 1/64 between 0 and 255/64, both of which occur, so that
    they are quantized without rounding."""
    a = case.numpy.integers(0, 256, (2, 3, 8)).astype("float32") * np.float32(1 / 64)
    a.ravel()[:2] = 0, np.float32(255 / 64)
    dtype = np.int8 if case.below(2) else np.uint8
    scale = one_or(case, 5)
    zero = np.full(scale.shape, 3, dtype) if case.below(2) else None
    bias = case.tensor(5) if case.below(2) else None
    theirs(
        case, "DynamicQuantizeMatMul", [a, whole(case, 8, 5, dtype=dtype), scale, zero, bias], {}
    )


def quantmatmulfloat(case):
    scale = one_or(case, 5)
    zeros = [np.array(120, "uint8"), np.full(scale.shape, 3, "int8")]
    zeros = [zero if case.below(2) else None for zero in zeros]
    bias = case.tensor(5) if case.below(2) else None
    a, b = whole(case, 2, 3, 8), whole(case, 8, 5, dtype=np.int8)
    theirs(case, "MatMulIntegerToFloat", [a, b, np.float32([0.02])[0:1], scale, *zeros, bias], {})


def matmulnbits(case):
    k, n, bits, block = (int(case.draw(name)) for name in ("inner", "columns", "bits", "block"))
    bits = 4 if bits == 2 else bits
    case.attrs = {"inner": k, "columns": n, "bits": bits, "block": block}
    blocks = -(-k // block)
    zero = whole(case, n * -(-blocks * bits // 8)) if case.below(2) else None
    b, scales = whole(case, n, blocks, block * bits // 8), case.tensor(n * blocks, high=0.01, low=0)
    bias = case.tensor(n) if case.below(2) else None
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    theirs(case, "MatMulNBits", [case.tensor(2, k), b, scales, zero, None, bias], attributes)


def unpackbits(case):
    bits = case.attrs["bits"] = int(case.draw("bits"))
    x = whole(case, 3, 4)
    case.inputs = [x]
    parts = [x >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    case.expected = [np.stack(parts, -1).reshape(3, -1).astype("uint8")]


def dynamicquantlstm(case):
    """Our operator gets the quantized weights, and the expected result is that of an LSTM with the
    real numbers for which they stand."""
    direction, coupled = case.draw("direction"), case.draw("coupled")
    t, b, i, h, d = 4, 2, 3, 4, 2 if direction == "bidirectional" else 1
    case.attrs = {"direction": direction, "coupled": coupled, "hidden": h}
    some = (d, 4 * h) if case.below(2) else (d,)
    given, meant = [], []
    for rows in (i, h):
        w = whole(case, d, rows, 4 * h, dtype=np.int8)
        scale = case.numpy.uniform(0.003, 0.005, some).astype("float32")
        zero = whole(case, *some, dtype=np.int8)
        wide = [v.reshape(d, 1, -1).astype("float32") for v in (scale, zero)]
        given.append((w, scale, zero))
        meant.append(np.ascontiguousarray(((w - wide[1]) * wide[0]).transpose(0, 2, 1)))
    x, bias = case.tensor(t, b, i), case.tensor(d, 8 * h) if case.below(2) else None
    (w, *of_w), (r, *of_r) = given
    case.inputs = [x, w, r, bias, None, None, None, None, *of_w, *of_r]
    case.onnx_inputs, case.outputs, case.type = [x, *meant, bias], 3, "LSTM"
    if bias is None:
        case.onnx_inputs.pop()
    case.onnx_attrs = {"direction": direction, "hidden_size": h}
    case.onnx_attrs["input_forget"] = int(coupled == "yes")


def pooled(case, names, n):
    for name in names:
        case.attrs[name] = case.draw(name, 2 * n if name == "pads" else n)
    kernel = case.attrs["kernel"] = [k + 1 for k in case.draw("kernel", n)]
    case.attrs["ceil"] = case.draw("ceil")
    attributes = {name: case.attrs[name] for name in names} | {"kernel_shape": kernel}
    return attributes | {"ceil_mode": int(case.attrs["ceil"] == "yes")}


def qlinearaveragepool(case):
    """The scales are chosen so that no result is at a tie, which ONNX Runtime may round the other
    way."""
    attributes = pooled(case, ["strides", "pads"], 2)
    last = case.attrs["last"] = case.draw("last")
    count = case.attrs["count_pads"] = "no" if attributes["ceil_mode"] else case.draw("count_pads")
    attributes |= {"channels_last": int(last == "yes"), "count_include_pad": int(count == "yes")}
    dtype = np.int8 if case.below(2) else np.uint8
    x = whole(case, *((2, 6, 7, 3) if last == "yes" else (2, 3, 6, 7)), dtype=dtype)
    zero = np.array(3, dtype)
    given = [x, np.array(0.0517, "f4"), zero, np.array(0.0411, "f4"), zero]
    theirs(case, "QLinearAveragePool", given, attributes)


def nhwcmaxpool(case):
    attributes = pooled(case, ["strides", "pads", "dilations"], 2)
    theirs(case, "NhwcMaxPool", [whole(case, 2, 8, 9, 3)], attributes)


def embedlayernorm(case):
    epsilon = case.attrs["epsilon"] = case.draw("epsilon")
    ids = lambda n, *shape: case.integers(*shape, low=0, high=n, dtype=np.int32)
    words, rows, scale, shift = (case.tensor(*s) for s in ((11, 8), (9, 8), (8,), (8,)))
    segments, kinds = (ids(3, 2, 5), case.tensor(3, 8)) if case.below(2) else (None, None)
    mask = ids(2, 2, 5) if case.below(2) else None
    positions = ids(9, 1 + case.below(2), 5) if case.below(2) else None
    inputs = [ids(11, 2, 5), segments, words, rows, kinds, scale, shift, mask, positions]
    case.outputs = 3
    theirs(case, "EmbedLayerNormalization", inputs, {"epsilon": number(epsilon)})


def heads(case):
    names = ("heads", "scale", "causal")
    case.attrs = {name: case.draw(name) for name in names}
    attributes = {"num_heads": int(case.attrs["heads"])}
    if case.attrs["scale"] != "0":
        attributes["scale"] = number(case.attrs["scale"])
    return attributes | {"unidirectional": int(case.attrs["causal"] == "yes")}


def mask_of(case, places):
    """A random mask: lengths, or places that are seen, or None."""
    if case.below(2):
        return case.integers(2, low=1, high=places + 1, dtype=np.int32)
    mask = case.integers(2, places, low=0, high=2, dtype=np.int32)
    mask[:, 0] = 1
    return mask if case.below(2) else None


def jointattention(case):
    attributes = heads(case)
    sizes = case.attrs["sizes"] = [8, 8, 8 if case.below(2) else 12]
    attributes["qkv_hidden_sizes"] = sizes
    inputs = [case.tensor(2, 5, 6), case.tensor(6, sum(sizes)), case.tensor(sum(sizes))]
    theirs(case, "Attention", inputs + [mask_of(case, 5)], attributes)


def jointattentionpast(case):
    attributes, past = heads(case), None
    case.attrs["sizes"], case.outputs, n = [8, 8, 8], 2, attributes["num_heads"]
    if case.below(2):
        past = case.tensor(2, 2, n, 3, 8 // n)
    inputs = [case.tensor(2, 5, 6), case.tensor(6, 24), case.tensor(24)]
    theirs(case, "Attention", inputs + [mask_of(case, 5 if past is None else 8), past], attributes)


def quantattention(case, past=False):
    attributes = heads(case)
    n, case.attrs["sizes"] = attributes["num_heads"], [8, 8, 8]
    scale = one_or(case, 24)
    zero = np.full(scale.shape, 3, "int8") if not scale.shape else np.zeros(24, "int8")
    inputs = [whole(case, 2, 5, 6), whole(case, 6, 24, dtype=np.int8), case.tensor(24)]
    inputs += [np.array(0.01, "f4"), scale, mask_of(case, 8 if past else 5)]
    inputs += [np.array(120, "uint8"), zero, case.tensor(2, 2, n, 3, 8 // n) if past else None]
    case.outputs = 2 if past else 1
    theirs(case, "QAttention", inputs, attributes)


def quantattentionpast(case):
    quantattention(case, True)


def groupquery(case):
    case.attrs = {name: case.draw(name) for name in case.op.attrs if name != "total"}
    groups, n, past = int(case.attrs["groups"]), 16, 3 * case.below(2)
    new = 1 if past else 4
    case.attrs["total"] = total = past + new
    packed, turned = case.below(2), case.attrs["rotary"] == "yes"
    room = past + 4 * case.below(2) if past else 0
    inputs = [case.tensor(1, new, (4 + 2 * groups if packed else 4) * n)]
    inputs += [None if packed else case.tensor(1, new, groups * n) for _ in range(2)]
    inputs += [case.tensor(1, groups, room, n) if room else None for _ in range(2)]
    if room > total:  # places after those that are seen
        for x in inputs[3:]:
            x[:, :, total:] = 0
    inputs.append(np.array([total - 1], "int32"))
    inputs += [case.tensor(12, n // 2) if turned else None for _ in range(2)]
    while inputs[-1] is None:
        inputs.pop()
    words = {"heads": "num_heads", "groups": "kv_num_heads", "window": "local_window_size"}
    attributes = {theirs: int(case.attrs[ours]) for ours, theirs in words.items()}
    attributes |= {"do_rotary": int(turned)}
    attributes["rotary_interleaved"] = int(case.attrs["interleaved"] == "yes")
    attributes |= {"scale": number(case.attrs["scale"]), "softcap": number(case.attrs["cap"])}
    case.outputs = 3
    onnx = inputs[:6] + [np.array(total, "int32")] + inputs[6:]
    theirs(case, "GroupQueryAttention", onnx, attributes)
    case.inputs, case.onnx_inputs = inputs, onnx


def rotaryplaced(case):
    case.attrs = {"interleaved": case.draw("interleaved")}
    half, four = (2, 4)[case.below(2)], case.below(2)
    x = case.tensor(*((2, 2, 5, 8) if four else (2, 5, 16)))
    at = case.integers(2, 5, low=0, high=9) if case.below(2) else np.array([3])
    if not four:
        case.attrs["heads"] = 2
    attributes = {"interleaved": int(case.attrs["interleaved"] == "yes")}
    attributes |= {"num_heads": 2, "rotary_embedding_dim": 4} if half == 2 else {}
    inputs = [x, at, case.tensor(9, half), case.tensor(9, half)]
    theirs(case, "RotaryEmbedding", inputs, attributes)
