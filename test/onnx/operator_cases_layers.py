"""Makers of cases for the layers of networks: convolutions, products of matrices, normalizations,
recurrent layers, operators that make constants for convolutions, and bands of spectra.
operator_cases.py finds them by name."""

import numpy as np
from operator_case import batch_to_normalize, number, OPSET


def spatial(case, attrs, kernel_attr=None):
    ns = 1 + case.below(3)
    for name in attrs:
        case.attrs[name] = case.draw(name, 2 * ns if name == "pads" else ns)
    return ns


def conv(case):
    ns, group = spatial(case, ["strides", "pads", "dilations"]), int(case.draw("group"))
    kernel = [1 + case.below(3) for _ in range(ns)]
    sizes = [d * (k - 1) + 1 + case.below(4) for k, d in zip(kernel, case.attrs["dilations"])]
    c, o = 1 + case.below(2), group * (1 + case.below(2))
    case.inputs = [
        case.tensor(1 + case.below(2), group * c, *sizes),
        case.tensor(o, c, *kernel),
        case.tensor(o) if case.below(2) else None,
    ]
    case.type, case.onnx_attrs = "Conv", dict(case.attrs, group=group)
    case.attrs["group"] = group


def convtranspose(case):
    ns, group = spatial(case, ["strides", "pads", "dilations"]), int(case.draw("group"))
    kernel = [2 + case.below(2) for _ in range(ns)]
    case.attrs["extra"] = [case.below(s) for s in case.attrs["strides"]]
    if case.below(4) == 0:  # kernels that do not overlap: only these have a definition
        group, kernel = 1, case.attrs["strides"]
        case.attrs.update(pads=[0] * 2 * ns, dilations=[1] * ns, extra=[0] * ns)
    case.inputs = [
        case.tensor(1, group * 2, *[2 + case.below(3) for _ in range(ns)]),
        case.tensor(group * 2, 1 + case.below(2), *kernel),
        None,
    ]
    case.inputs[2] = case.tensor(group * case.inputs[1].shape[1]) if case.below(2) else None
    case.type = "ConvTranspose"
    case.onnx_attrs = dict(
        {k: v for k, v in case.attrs.items() if k != "extra"},
        output_padding=case.attrs["extra"],
        group=group,
    )
    case.attrs["group"] = group


def pool(case):
    ns = spatial(case, ["strides", "dilations"])
    kernel = case.attrs["kernel"] = case.draw("kernel", ns)
    case.attrs["pads"] = [
        min(p, kernel[k % ns] - 1) for k, p in enumerate(case.draw("pads", 2 * ns))
    ]
    case.attrs["ceil"] = case.draw("ceil")
    sizes = [d * (k - 1) + 1 + case.below(4) for k, d in zip(kernel, case.attrs["dilations"])]
    case.inputs = [case.tensor(1, 2, *sizes)]
    case.onnx_attrs = dict(
        {k: v for k, v in case.attrs.items() if k not in ("kernel", "ceil")},
        kernel_shape=kernel,
        ceil_mode=int(case.attrs["ceil"] == "yes"),
    )
    case.type = "MaxPool" if case.op.name == "maxpool" else "AveragePool"
    if "count_pads" in case.op.attrs:
        case.attrs["count_pads"] = case.draw("count_pads")
        case.onnx_attrs["count_include_pad"] = int(case.attrs["count_pads"] == "yes")


def matmul(case):
    batch, n = [2, 3][: case.below(3)], case.below(3)
    a, b = case.tensor(*batch, 2, 4), case.tensor(*batch, 4, 3)
    if case.below(2):
        a, b = (
            (case.tensor(*batch[case.below(2) :], 2, 4), b)
            if case.below(2)
            else (a, case.tensor(*batch[1:], 4, 3))
        )
    case.type, case.inputs = "MatMul", [a, b]


def gemm(case):
    case.attrs = {n: case.draw(n) for n in ("alpha", "beta", "transA", "transB")}
    a, b = case.tensor(2, 4), case.tensor(4, 3)
    case.inputs = [
        a.T.copy() if case.attrs["transA"] == "yes" else a,
        b.T.copy() if case.attrs["transB"] == "yes" else b,
    ]
    case.inputs.append([None, case.tensor(2, 3), case.tensor(3), case.tensor()][case.below(4)])
    case.type, case.onnx_attrs = "Gemm", {
        n: int(v == "yes") if n[0] == "t" else number(v) for n, v in case.attrs.items()
    }


def einsum(case):
    shapes = {"i": 2, "j": 3, "k": 4, "b": 2}
    equation = case.random.choice(
        [
            "ij,jk->ik",
            "bij,bjk->bik",
            "ij->ji",
            "ii->i",
            "ij,ij->",
            "ij,j->i",
            "bij,kj->bki",
            "i,j,k->ijk",
        ]
    )
    terms = equation.replace("->", ",").split(",")
    letters = sorted(set("".join(terms)), key="".join(terms).index)
    case.attrs["letters"] = [n for t in terms for n in (len(t), *map(letters.index, t))]
    case.inputs = [case.tensor(*[shapes[c] for c in t]) for t in terms[:-1]]
    case.type, case.onnx_attrs = "Einsum", {"equation": equation}


def softmax(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    case.inputs, case.type, case.onnx_attrs = (
        [case.tensor(2, 3, 4, low=-20, high=20)],
        "Softmax",
        {"axis": axis},
    )


def softmaxes(case):
    softmax(case)
    case.type = case.op.onnx[0][0]


def batchnorm(case):
    epsilon = case.attrs["epsilon"] = case.draw("epsilon")
    case.inputs = batch_to_normalize(case)
    case.type, case.onnx_attrs = "BatchNormalization", {"epsilon": number(epsilon)}


def lrn(case):
    case.attrs = {n: case.draw(n) for n in ("alpha", "beta", "bias", "size")}
    case.inputs, case.type = [
        case.tensor(6, 6, 3, 2)
    ], "LRN"  # as many images as channels: for even sizes ONNX's reference confuses the two
    case.onnx_attrs = {n: int(v) if n == "size" else number(v) for n, v in case.attrs.items()}


def layernorm(case):
    axis, epsilon = int(case.draw("axis")), case.draw("epsilon")
    case.attrs = {"axis": axis, "epsilon": epsilon}
    tail = [2, 3, 4][axis:]
    case.inputs = [
        case.tensor(2, 3, 4),
        case.tensor(*tail),
        case.tensor(*tail) if case.below(2) else None,
    ][: 3 if case.op.name == "layernorm" else 2]
    case.type, case.opset = case.op.onnx[0][0], max(OPSET, case.op.onnx[0][1])
    case.onnx_attrs, case.outputs = {"axis": axis, "epsilon": number(epsilon)}, (
        3 if case.op.name == "layernorm" else 1
    )


def groupnorm(case):
    groups = case.op.name == "groupnorm"
    case.attrs = {n: case.draw(n) for n in case.op.attrs}
    case.inputs = [
        case.tensor(
            *[2, 4, 3, 2][: 2 + case.below(3)] if groups else [2, 4, 3, 2][: 3 + case.below(2)]
        ),
        case.tensor(4),
        case.tensor(4),
    ]
    case.type, case.opset = case.op.onnx[0][0], 21
    case.onnx_attrs = {
        "epsilon": number(case.attrs["epsilon"]),
        **({"num_groups": int(case.attrs["groups"])} if groups else {}),
    }


def lpnorm(case):
    case.attrs = {n: int(case.draw(n)) for n in ("axis", "p")}
    case.inputs, case.type, case.onnx_attrs = (
        [case.tensor(2, 3, 4)],
        "LpNormalization",
        dict(case.attrs),
    )


def meanvariance(case):
    case.attrs["axes"] = sorted(case.random.sample(range(4), 1 + case.below(3)))
    case.inputs, case.type, case.onnx_attrs = (
        [case.tensor(2, 3, 4, 2)],
        "MeanVarianceNormalization",
        dict(case.attrs),
    )


def recurrent(case):
    gates, outputs = {"rnn": (1, 2), "gru": (3, 2), "lstm": (4, 3)}[case.op.name]
    way, h, i, t, b = case.draw("direction"), 3, 2, [4, 1][case.below(2)], 2
    d = 2 if way == "bidirectional" else 1
    case.inputs = [case.tensor(t, b, i), case.tensor(d, gates * h, i), case.tensor(d, gates * h, h)]
    if case.below(2):
        case.inputs += [
            case.tensor(d, 2 * gates * h),
            case.integers(b, low=1, high=t + 1, dtype=np.int32),
            case.tensor(d, b, h),
        ]
    if gates == 4 and len(case.inputs) > 3 and case.below(2):
        case.inputs += [case.tensor(d, b, h), case.tensor(d, 3 * h)]
    if (
        gates == 4 and t == 1 and case.below(2)
    ):  # a single step from given states, which has a definition
        case.inputs = case.inputs[:3] + [
            case.tensor(d, 8 * h) if case.below(2) else None,
            None,
            case.tensor(d, b, h),
            case.tensor(d, b, h),
        ]
    case.attrs, case.onnx_attrs, case.outputs = (
        {"direction": way, "hidden": h},
        {"direction": way, "hidden_size": h},
        outputs,
    )
    case.type, case.opset = case.op.onnx[0][0], 14
    if gates == 3:
        case.attrs["linear_first"] = case.draw("linear_first")
        case.onnx_attrs["linear_before_reset"] = int(case.attrs["linear_first"] == "yes")


def rotary(case):
    case.attrs["interleaved"] = case.draw("interleaved")
    e = 2 * (2 + case.below(2))
    h = e // 2 - case.below(2)
    case.inputs = [case.tensor(2, 3, 4, e), case.tensor(2, 4, h), case.tensor(2, 4, h)]
    case.type, case.opset = "RotaryEmbedding", 23
    case.onnx_attrs = {
        "interleaved": int(case.attrs["interleaved"] == "yes"),
        "rotary_embedding_dim": 2 * h,
    }


def enlarge(case):
    kernel, (h, w) = case.draw("kernel", 2), (case.below(3), 1 + case.below(3))
    case.attrs, case.inputs = {"kernel": kernel}, [case.tensor(2, 3, h, w)]
    before = [(kernel[0] - h) // 2, (kernel[1] - w) // 2]
    case.expected = [np.zeros((2, 3, *kernel), np.float32)]
    case.expected[0][:, :, before[0] : before[0] + h, before[1] : before[1] + w] = case.inputs[0]


def identitykernel(case):
    """The expected kernel makes a convolution with a padding of kernel // 2 the identity."""
    kernel, (groups, c) = case.draw("kernel", 2), (1 + case.below(3), 1 + case.below(3))
    case.attrs = {"channels": [groups * c, c], "kernel": kernel}
    case.expected = [np.zeros((groups * c, c, *kernel), np.float32)]
    for o in range(groups * c):
        case.expected[0][o, o % c, kernel[0] // 2, kernel[1] // 2] = 1


def averagekernel(case):
    kernel, channels = case.draw("kernel", 2), [1 + case.below(3), 1 + case.below(2)]
    case.attrs = {"channels": channels, "kernel": kernel}
    case.expected = [np.full((*channels, *kernel), 1 / (kernel[0] * kernel[1]), np.float32)]


def band(case):
    case.attrs = {n: int(case.draw(n)) for n in ("n", "below", "above")}
    n, below, above = case.attrs.values()
    case.expected = [
        np.array([[-below <= j - i <= above for j in range(n)] for i in range(n)], np.float32)
    ]


def mel(case):
    """The expected bands are triangles whose corners are equally spaced on the mel scale."""
    names = ("bands", "length", "rate", "low", "high")
    case.opset, case.attrs = 17, {name: int(case.draw(name)) for name in names}
    bands, length, rate, low, high = case.attrs.values()
    edges = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mels = edges[0] + (edges[1] - edges[0]) / (bands + 2) * np.arange(bands + 2)
    corners = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate)
    place = np.arange(length // 2 + 1.0)[:, None]
    a, b, c = corners[:-2], corners[1:-1], corners[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (place - a) / (b - a), (c - place) / (c - b)
    rising = np.where((place >= a) & (place < b), up, 0)
    falling = np.where((place > b) & (place < c), down, 0)
    case.expected = [(rising + falling + (place == b)).astype(np.float32)]
