"""Makers of cases for the operators that ONNX Runtime's optimizer makes (contrib.c, heads.c). The
expected results come from numpy, which computes the parts of a fused operator, or from ONNX Runtime
itself. test_contrib_*.py compare more forms of them with ONNX Runtime."""

import math
import numpy as np
from operator_case import number
from operator_cases_layers import conv


def expect(case, *results):
    case.outputs, case.expected = len(results), [r.astype("float32") for r in results]


def of_sum(case, function):
    a, b = case.tensor(2, 3, 4), case.tensor(*(2, 3, 4)[case.below(3) :])
    case.inputs = [a, b]
    expect(case, function(a.astype("f8") + b))


def biasgelu(case):
    of_sum(case, lambda s: s * (1 + np.vectorize(math.erf)(s / math.sqrt(2))) / 2)


def fastgelu(case):
    of_sum(case, lambda s: s / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (s + 0.044715 * s**3))))


def normalized(case, centred, biased):
    epsilon = case.draw("epsilon")
    case.attrs = {"epsilon": epsilon}
    x, skip, scale, bias = (case.tensor(*s) for s in ((2, 3, 4), (2, 3, 4), (4,), (4,)))
    shift = case.tensor(4) if centred and case.below(2) else None
    total = x.astype("f8") + skip + (bias if biased else 0)
    mean = total.mean(-1, keepdims=True)
    rest = total - mean if centred else total
    factor = 1 / np.sqrt((rest**2).mean(-1, keepdims=True) + number(epsilon))
    y = rest * factor * scale + (0 if shift is None else shift)
    case.inputs = [x, skip, scale] + ([shift] if centred else []) + ([bias] if biased else [])
    while case.inputs[-1] is None:
        case.inputs.pop()
    expect(case, y, mean, factor, total)


def skiplayernorm(case):
    normalized(case, True, False)


def skiplayernormbias(case):
    normalized(case, True, True)


def skiprmsnorm(case):
    normalized(case, False, False)


def skiprmsnormbias(case):
    normalized(case, False, True)


def heads_of(x, heads):
    b, s, n = x.shape
    return x.reshape(b, s, heads, n // heads).transpose(0, 2, 1, 3)


def attended(case, biased, padded):
    heads, scale, causal = int(case.draw("heads")), case.draw("scale"), case.draw("causal")
    case.attrs = {"heads": heads, "scale": scale, "causal": causal}
    queries, places = 3, 5
    q, k, v = case.tensor(2, queries, 8), case.tensor(2, places, 8), case.tensor(2, places, 6)
    bias, padding, mask = (case.tensor(22) if biased else None), None, None
    kinds = [x.astype("f8") for x in (q, k, v)]
    if biased:
        kinds = [x + part for x, part in zip(kinds, np.split(bias, [8, 16]))]
    q4, k4, v4 = (heads_of(x, heads) for x in kinds)
    factor = number(scale) or 1 / math.sqrt(q4.shape[-1])
    scores = q4 @ k4.transpose(0, 1, 3, 2) * factor
    if padded:
        padding = case.integers(2, places, low=0, high=2, dtype=np.int32)
        padding[:, 0] = 1
        scores = np.where(padding[:, None, None, :] != 0, scores, -np.inf)
    elif case.below(2):
        mask = case.tensor(*((2 if case.below(2) else 1), heads, queries, places))
        scores = scores + mask
    if causal == "yes":
        scores = np.where(np.tri(queries, places, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = (weights / weights.sum(-1, keepdims=True)) @ v4
    case.inputs = [q, k, v, bias, padding, mask]
    while case.inputs[-1] is None:
        case.inputs.pop()
    expect(case, y.transpose(0, 2, 1, 3).reshape(2, queries, 6), k4, v4)


def multihead(case):
    attended(case, case.below(2), case.below(2))


ACTIVATIONS = {
    "none": lambda x, a, b: x,
    "relu": lambda x, a, b: np.maximum(x, 0),
    "leakyrelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "clip": lambda x, a, b: np.clip(x, a, b),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
}
SPELLED = dict(zip(ACTIVATIONS, " Relu LeakyRelu Tanh Sigmoid Clip HardSigmoid".split(" ")))
PARAMETERS = {"leakyrelu": 1, "clip": 2, "hardsigmoid": 2}


def activate(case):
    case.attrs = {name: case.draw(name) for name in ("kind", "alpha", "beta")}
    case.inputs = [case.tensor(3, 4)]
    kind, alpha, beta = case.attrs["kind"], number(case.attrs["alpha"]), number(case.attrs["beta"])
    expect(case, ACTIVATIONS[kind](case.inputs[0].astype("f8"), alpha, beta))


def activation(case, prefix=""):
    """Draws the activation of a fused operator. Returns its name and its parameters as ONNX Runtime
    has them."""
    names = ["activation", prefix + "alpha", prefix + "beta"]
    case.attrs |= {name: case.draw(name) for name in names}
    word = case.attrs["activation"]
    values = [number(case.attrs[name]) for name in names[1:]]
    return SPELLED[word], values[: PARAMETERS.get(word, 0)]


def fusedconv(case):
    conv(case)
    word, values = activation(case)
    case.type, case.domain = "FusedConv", "com.microsoft"
    if word:
        case.onnx_attrs["activation"] = word
    if values:
        case.onnx_attrs["activation_params"] = values


def fusedgemm(case):
    case.attrs = {name: case.draw(name) for name in ("alpha", "beta", "transA", "transB")}
    word, values = activation(case, "activation_")
    a, b = (3, 4), (4, 5)
    case.inputs = [
        case.tensor(*(a[::-1] if case.attrs["transA"] == "yes" else a)),
        case.tensor(*(b[::-1] if case.attrs["transB"] == "yes" else b)),
    ] + ([case.tensor(5)] if case.below(2) else [])
    case.type, case.domain = ("FusedGemm", "com.microsoft") if word else ("Gemm", "")
    case.onnx_attrs = {name: number(case.attrs[name]) for name in ("alpha", "beta")}
    case.onnx_attrs |= {name: int(case.attrs[name] == "yes") for name in ("transA", "transB")}
    if word:
        case.onnx_attrs["activation"] = word
    case.onnx_attrs |= dict(zip(("activation_alpha", "activation_beta"), values))


def fusedmatmul(case):
    case.attrs = {name: case.draw(name) for name in case.op.attrs}
    case.inputs = []
    for name, rows, columns in (("A", 4, 5), ("B", 5, 6)):
        if case.attrs["trans" + name] == "yes":
            rows, columns = columns, rows
        first = case.attrs["batch" + name] == "yes"
        case.inputs.append(
            case.tensor(*((rows, 2, 3, columns) if first else (2, 3, rows, columns)))
        )
    case.type, case.domain = "FusedMatMul", "com.microsoft"
    case.onnx_attrs = {"alpha": number(case.attrs["alpha"])}
    for ours, theirs in (("trans", "trans"), ("batch", "transBatch")):
        for name in "AB":
            case.onnx_attrs[theirs + name] = int(case.attrs[ours + name] == "yes")
