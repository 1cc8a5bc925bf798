"""Cases of the operators that ONNX Runtime's optimizer makes (contrib.c): what they are made of, by
numpy. test_contrib_float.py compares them with ONNX Runtime itself."""

import math
import numpy as np
from operator_case import number


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
        mask = case.tensor(*((2, heads, queries, places) if case.below(2) else (queries, places)))
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
    attended(case, False, False)


def multiheadbias(case):
    attended(case, True, False)


def multiheadpadded(case):
    attended(case, False, True)


def multiheadboth(case):
    attended(case, True, True)
