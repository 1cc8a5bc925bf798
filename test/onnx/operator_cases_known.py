"""Cases of operators that are known with a kernel and take many attributes; operator_cases.py finds them by name."""
from fractions import Fraction
import numpy as np


def number(text):
    return float(Fraction(text))


def attention(case):
    case.attrs.update({name: case.draw(name) for name in ("scale", "cap", "causal")})
    case.onnx_attrs = {"is_causal": int(case.attrs["causal"] == "yes"), "softcap": float(number(case.attrs["cap"]))}
    if number(case.attrs["scale"]):
        case.onnx_attrs["scale"] = float(number(case.attrs["scale"]))
    group, past = case.random.choice([1, 2, 4]), case.below(3)
    case.inputs = [case.tensor(2, 4, 3, 6), case.tensor(2, group, 5, 6), case.tensor(2, group, 5, 7)]
    case.inputs.append(case.random.choice([case.tensor(3, 5 + past), case.tensor(2, 1, 3, 5 + past)]))
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
    case.inputs = [x, case.tensor(6, h), case.tensor(6, h), np.array([[case.below(6) for _ in range(4)] for _ in range(2)], np.int64)]
    case.type, case.opset = "RotaryEmbedding", 23
    case.onnx_attrs = {"interleaved": int(case.attrs["interleaved"] == "yes"), "rotary_embedding_dim": 2 * h, "num_heads": case.attrs.get("heads", 0)}


def resample(case):
    for name in ("mode", "coordinate", "rounding", "a", "exclude"):
        case.attrs[name] = case.draw(name)
    x, scales = case.tensor(1, 1, 4, 5), [1, 1, case.random.choice([0.6, 0.75, 1.3, 2]), case.random.choice([0.5, 0.7, 1.6, 3])]
    if case.attrs["mode"] != "cubic":
        case.attrs["exclude"] = "no"  # ONNX Runtime takes it for cubic only
    case.attrs["sizes"] = [int(np.float32(n) * np.float32(f)) for n, f in zip(x.shape, scales)]
    case.inputs, case.type = [x, np.zeros(0, np.float32), np.array(scales, np.float32)], "Resize"
    case.onnx_attrs = {"mode": case.attrs["mode"], "coordinate_transformation_mode": case.attrs["coordinate"], "nearest_mode": case.attrs["rounding"],
                       "cubic_coeff_a": float(number(case.attrs["a"])), "exclude_outside": int(case.attrs["exclude"] == "yes")}


def dropmask(case):
    case.inputs, case.type, case.outputs, case.opset = [case.tensor(2, 3, 4)], "Dropout", 2, 13


def dropout(case):
    """The mask that numpy's generator makes of the seed."""
    case.attrs = {"ratio": case.draw("ratio"), "seed": int(case.draw("seed"))}
    case.inputs, case.outputs, ratio = [case.tensor(2, 3, 4)], 2, number(case.attrs["ratio"])
    mask = np.random.RandomState(case.attrs["seed"]).uniform(0, 1, (2, 3, 4)) >= ratio
    case.expected = [(case.inputs[0] * mask / (1 - ratio)).astype(np.float32), mask]


def batchtrain(case):
    case.attrs = {name: case.draw(name) for name in ("epsilon", "momentum")}
    shape = [2, 3, 4, 5][:2 + case.below(3)]
    case.inputs = [case.tensor(*shape), case.tensor(3), case.tensor(3), case.tensor(3), case.tensor(3, low=0.1)]
    x, scale, bias, mean, var = (a.astype("f8") for a in case.inputs)
    axes, momentum, channels = (0, *range(2, x.ndim)), number(case.attrs["momentum"]), (3,) + (1,) * (x.ndim - 2)
    now = [x.mean(axes), x.var(axes)]
    y = (x - now[0].reshape(channels)) / np.sqrt(now[1].reshape(channels) + number(case.attrs["epsilon"]))
    y = y * scale.reshape(channels) + bias.reshape(channels)
    case.expected = [a.astype(np.float32) for a in (y, *(momentum * a + (1 - momentum) * b for a, b in zip((mean, var), now)))]
    case.outputs = 3


def maxplace(case):
    from operator_cases import pool
    pool(case)
    case.attrs["columns"] = case.draw("columns")
    case.onnx_attrs["storage_order"] = int(case.attrs["columns"] == "yes")
    case.type, case.outputs = "MaxPool", 2
