"""Makers of cases for ONNX Runtime's operators on quantized numbers (qlinear.c). The expected
results are computed in double on the real numbers for which the inputs stand, and then quantized.
test_contrib.py compares these operators with ONNX Runtime itself."""

import numpy as np
from operator_cases_known import byte_type, quantized, small


def parameters(case, dtype):
    """A scale and a zero point for a whole tensor."""
    return case.tensor(low=0.01, high=0.1).reshape(()), small(case, dtype=dtype)


def real(x, scale, zero):
    """The real numbers for which quantized ones stand."""
    return (x.astype("f8") - float(zero)) * float(scale)


def of_one(case, function, shape=(2, 3, 4), factor=1):
    """Makes a case of an operator with one input: quantized numbers, to which a function is
    applied."""
    dtype = byte_type(case)
    x, (scale, zero), (to, shift) = (
        small(case, *shape, dtype=dtype),
        parameters(case, dtype),
        parameters(case, dtype),
    )
    to = np.float32(to * factor).reshape(())
    case.inputs = [x, scale, zero, to, shift]
    case.expected = [quantized(function(real(x, scale, zero)), 1 / float(to), shift)]


def qlinearsigmoid(case):
    of_one(case, lambda x: 1 / (1 + np.exp(-x)), factor=0.1)


def qlinearleakyrelu(case):
    alpha = case.attrs["alpha"] = case.draw("alpha")
    p, _, q = alpha.partition("/")
    of_one(case, lambda x: np.where(x < 0, x * float(p) / float(q or 1), x))


def qlinearsoftmax(case):
    axis = int(case.draw("axis"))
    case.attrs["axis"] = axis

    def softmax(x):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    of_one(case, softmax, factor=0.1)


def qlinearglobalmean(case):
    shape = (2, 3, 4, 5)[: 3 + case.below(2)]
    of_one(case, lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True), shape)


def of_two(case, function, factor):
    """Makes a case of an operator with two inputs: quantized numbers, to which a function is
    applied."""
    dtype = byte_type(case)
    a, b = small(case, 2, 3, 4, dtype=dtype), small(case, 2, 3, 4, dtype=dtype)
    (sa, za), (sb, zb), (to, shift) = (parameters(case, dtype) for _ in range(3))
    to = np.float32(to * factor).reshape(())
    case.inputs = [a, sa, za, b, sb, zb, to, shift]
    case.expected = [quantized(function(real(a, sa, za), real(b, sb, zb)), 1 / float(to), shift)]


def qlinearadd(case):
    of_two(case, np.add, 1)


def qlinearmul(case):
    of_two(case, np.multiply, 1)


def product(case, bias):
    case.attrs = {name: case.draw(name) for name in ("alpha", "transA", "transB")}
    p, _, q = case.attrs["alpha"].partition("/")
    trans_a, trans_b = (case.attrs[name] == "yes" for name in ("transA", "transB"))
    dtype = byte_type(case)
    a, b = small(case, 3, 5, dtype=dtype), small(case, 5, 4, dtype=dtype)
    (sa, za), (sb, zb), (to, shift) = (parameters(case, dtype) for _ in range(3))
    if trans_b and case.below(2):
        sb = case.tensor(4, low=0.01, high=0.1)
        zb = np.full(4, zb, zb.dtype)
    c = case.integers(4, low=-300, high=300, dtype=np.int32) if bias else None
    left, right = real(a, sa, za), (b.astype("f8") - zb) * sb.astype("f8")
    y = left @ right + (0 if c is None else c * float(sa) * sb.astype("f8"))
    case.inputs = [a.T.copy() if trans_a else a, sa, za, b.T.copy() if trans_b else b, sb, zb, c]
    case.inputs += [to, shift]
    case.expected = [quantized(y * float(p) / float(q or 1), 1 / float(to), shift)]


def qlineargemm(case):
    product(case, False)


def qlineargemmbias(case):
    product(case, True)


def qlinearconcat(case):
    dtype, axis = byte_type(case), int(case.draw("axis"))
    case.attrs["axis"] = axis
    to, shift = parameters(case, dtype)
    case.inputs, parts = [to, shift], []
    for n in range(1, 3 + case.below(2)):
        shape = [2, 3]
        shape[axis] = n
        x, (scale, zero) = small(case, *shape, dtype=dtype), parameters(case, dtype)
        case.inputs += [x, scale, zero]
        parts.append(quantized(real(x, scale, zero), 1 / float(to), shift))
    case.expected = [np.concatenate(parts, axis)]
