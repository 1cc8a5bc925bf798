"""Cases at the limits of what ONNX allows, for each operator: sizes 0 and 1, all ranks, attributes
that are 0, 1, negative, tiny or huge, and special values of inputs. edges.py runs them.

A case is (operator, attributes, inputs, number of outputs). An input is an array, or None if it is
left out, or a `Fixed` if it is a constant of the model."""

import itertools
import numpy as np

F, I64 = np.float32, np.int64
SHAPES = [(), (0,), (1,), (3,), (0, 3), (3, 0), (1, 1), (2, 3), (1, 0, 2), (2, 1, 3), (2, 3, 4, 1)]
SHAPES += [(1, 1, 1, 1, 1), (1, 2, 1, 3, 2), (2, 1, 2, 1, 2, 1)]
PAIRS = [((), ()), ((), (3,)), ((0,), ()), ((0,), (1,)), ((1,), (3,)), ((2, 1), (1, 3))]
PAIRS += [((2, 0), (2, 1)), ((1, 0), (2, 1)), ((3,), (2, 3)), ((2, 3), ()), ((1, 1, 1, 1, 1), (2,))]
PAIRS += [((2, 1, 2, 1, 2), (1, 3, 1, 2, 1)), ((0, 1), (1, 0))]
SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -1.5, 2, 3, -3, 1e-30, 1e10, -1e30, 3e38, np.inf, -np.inf])
SPECIAL = np.append(SPECIAL, np.nan).astype(F)
GREATEST = float(np.finfo(F).max)


class Fixed:
    """An input that is a constant of the model."""

    def __init__(self, value, dtype=I64):
        self.value = np.array(value, dtype)


def drawn(*shape, low=-2, high=2, seed=0):
    """Random floats of this shape, the same in every run."""
    return (
        np.random.default_rng(seed + 7 * len(shape) + sum(shape))
        .uniform(low, high, shape)
        .astype(F)
    )


def whole(*shape, n=5, dtype=I64):
    """Integers from 0 to n - 1 of this shape."""
    return (np.arange(np.prod(shape, dtype=int)) * 3 % n).astype(dtype).reshape(shape)


def rows(*values):
    return np.array(values, F)


INF, NAN = np.inf, np.nan
ODD_ROWS = rows(
    [1, 2, 3], [INF, 1, 2], [-INF, 1, 2], [INF, INF, 1], [-INF, -INF, -INF], [NAN, 1, 2]
)
ODD_ROWS = np.vstack([ODD_ROWS, rows([INF, -INF, 0], [90, -90, 0], [1e30, -1e30, 0], [0, 0, 0])])


def unary_shapes():
    names = "Abs Neg Relu Sigmoid Exp Floor Softplus Erf HardSwish LeakyRelu Elu Clip Identity Sign"
    for name, shape in itertools.product(names.split(), SHAPES):
        yield name, {}, [drawn(*shape)], 1


def special_alone():
    """Each special value without another one in its tensor, which might make the kernel compute
    the whole tensor in another way."""
    for name, value in itertools.product(("Add", "Mul", "Div", "Pow", "Max", "Mod"), SPECIAL):
        more = {"fmod": 1} if name == "Mod" else {}
        yield name, more, [drawn(20, low=0.25), rows(value)], 1
        yield name, more, [rows(value), drawn(20, low=0.25)], 1


def binary():
    names = "Add Sub Mul Div Pow Min Max PRelu Equal Less Greater LessOrEqual GreaterOrEqual"
    for name in names.split():
        for a, b in PAIRS:
            if name != "PRelu" or np.broadcast_shapes(a, b) == a:
                low = 0.25 if name in ("Pow", "Div") else -2
                yield name, {}, [drawn(*a, low=low), drawn(*b, low=low, seed=1)], 1
        yield name, {}, [np.repeat(SPECIAL, 16).reshape(16, 16), SPECIAL], 1
    yield "Mod", {"fmod": 1}, [np.repeat(SPECIAL, 16).reshape(16, 16), SPECIAL], 1
    yield from special_alone()
    for dtype in (np.int32, I64):
        ends = np.iinfo(dtype)
        x = np.array([0, 1, -1, 2, -2, 7, -7, 100, ends.max, ends.min], dtype)
        full = np.repeat(x, 10).reshape(10, 10)
        for name in ("Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "Greater"):
            yield name, {}, [full, x], 1
        for name, more in (("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})):
            some = np.array([1, 2, -2, 3, -3, 7, -7, 100, ends.max, 10], dtype)
            yield name, more, [full, some], 1
        for name in ("Neg", "Abs", "Sign", "Relu"):
            yield name, {}, [x[:-1]], 1
        yield "Pow", {}, [
            np.array([0, 1, -1, 2, -2, 3], dtype)[:, None],
            np.arange(4, dtype=dtype),
        ], 1
    for name in ("And", "Or", "Xor"):
        for a, b in PAIRS:
            yield name, {}, [whole(*a, n=2, dtype=bool), whole(*b, n=2, dtype=bool)], 1
    for name in ("Sum", "Mean", "Max", "Min"):
        yield name, {}, [SPECIAL], 1
        yield name, {}, [SPECIAL, SPECIAL[::-1].copy(), drawn(1)], 1
    for direction in ("LEFT", "RIGHT"):
        x = np.array([0, 1, 2, 127, 128, 255], np.uint8)
        yield "BitShift", {"direction": direction}, [x[:, None], np.arange(8, dtype=np.uint8)], 1


def clips():
    for low, high in itertools.product((None, 0, -1, 2, -INF, INF, 1e-30), (None, 0, 1, -2, INF)):
        bounds = [None if v is None else np.array(v, F) for v in (low, high)]
        yield "Clip", {}, [SPECIAL, *bounds], 1
    wide = np.array([1e39, -1e300, 2, INF, -INF])
    for low, high in itertools.product((None, -GREATEST, -1), (None, GREATEST, 1)):
        for x in SPECIAL, wide:
            bounds = [None if v is None else np.array(v, x.dtype) for v in (low, high)]
            yield "Clip", {}, [x, *bounds], 1
    for dtype in (np.uint8, np.int8, I64):
        x = np.array([np.iinfo(dtype).min, 0, 1, 5, np.iinfo(dtype).max], dtype)
        for low, high in ((0, None), (None, 4), (1, 4), (5, 2)):
            bounds = [None if v is None else np.array(v, dtype) for v in (low, high)]
            yield "Clip", {}, [x, *bounds], 1


def tests():
    for a, b in itertools.product((0, 1), repeat=2):
        yield "IsInf", {"detect_negative": a, "detect_positive": b}, [SPECIAL], 1
    yield "IsNaN", {}, [SPECIAL], 1
    for a, b in PAIRS:
        yield "Where", {}, [whole(*a, n=2, dtype=bool), drawn(*b), drawn(*a, seed=3)], 1
    yield "Not", {}, [whole(0, 2, n=2, dtype=bool)], 1


def axes_of(rank):
    some = [None, [], list(range(rank))]
    return some + [[k] for k in range(-rank, rank)] + ([[0, -1]] if rank > 1 else [])


def reductions():
    for name in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split():
        name = "Reduce" + name
        for shape in ((), (1,), (0,), (3,), (0, 3), (2, 0), (2, 3, 1), (1, 2, 1, 3, 2)):
            for axes, keep in itertools.product(axes_of(len(shape)), (0, 1)):
                given = [] if axes is None else [Fixed(axes)]
                yield name, {"keepdims": keep}, [drawn(*shape, low=0.25), *given], 1
        for keep in (0, 1):
            more = {"keepdims": keep, "noop_with_empty_axes": 1}
            yield name, more, [drawn(2, 3, low=0.25)], 1
            yield name, more, [drawn(2, 3, low=0.25), Fixed([])], 1
        yield name, {"keepdims": 0}, [ODD_ROWS, Fixed([1])], 1
    for name, dtype in itertools.product(("Sum", "L1", "Prod", "SumSquare"), (np.int32, I64)):
        ends = np.iinfo(dtype)
        x = np.array([[ends.max, ends.max, 1], [ends.min, ends.min, 2], [3, -4, 5]], dtype)
        yield "Reduce" + name, {"keepdims": 0}, [x, Fixed([1])], 1
        yield "Reduce" + name, {"keepdims": 0}, [x[2:], Fixed([1])], 1
    for name, axis, keep, last in itertools.product(
        ("ArgMax", "ArgMin"), (0, 1, -1, -2), (0, 1), (0, 1)
    ):
        more = {"axis": axis, "keepdims": keep, "select_last_index": last}
        for x in (whole(3, 4, n=3, dtype=F), drawn(1, 1), ODD_ROWS[:5], rows([0, -0.0, 0])):
            yield name, more, [x], 1
        yield name, more, [drawn(0, 2) if axis in (1, -1) else drawn(2, 0)], 1
    for exclusive, reverse in itertools.product((0, 1), repeat=2):
        for shape, axis in (((3,), 0), ((1,), -1), ((0,), 0), ((2, 3), -2), ((2, 0, 2), 1)):
            more = {"exclusive": exclusive, "reverse": reverse}
            yield "CumSum", more, [drawn(*shape), Fixed(axis)], 1
        yield "CumSum", more, [rows([1, INF, 2, -INF, 3]), Fixed(1)], 1


def softmaxes():
    for name in ("Softmax", "LogSoftmax", "Hardmax"):
        for shape in ((1,), (0,), (3,), (0, 3), (3, 0), (2, 1, 3), (2, 1, 2, 1, 2)):
            for axis in range(-len(shape), len(shape)):
                yield name, {"axis": axis}, [drawn(*shape)], 1
        yield name, {"axis": 1}, [ODD_ROWS], 1
    for k in (-9, -2, -1, 0, 1, 2, 9):
        for upper, shape in itertools.product((0, 1), ((2, 3), (0, 3), (1, 1), (2, 3, 2))):
            yield "Trilu", {"upper": upper}, [drawn(*shape), Fixed(k)], 1
        for shape in ((2, 3), (1, 1), (0, 2)):
            yield "EyeLike", {"k": k}, [drawn(*shape)], 1


def moves():
    for shape, to, zero in [
        ((2, 3), [3, 2], 0),
        ((2, 3), [-1], 0),
        ((2, 3), [0, -1], 0),
        ((2, 3), [0, 0, 1], 0),
        ((), [1, 1], 0),
        ((1,), [], 0),
        ((0, 3), [0, 3], 0),
        ((0, 3), [3, 0], 1),
        ((0, 3), [0, 0, 7], 1),
        ((0, 3), [-1, 3], 0),
        ((2, 0), [0, -1], 0),
        ((2, 3, 4), [0, 0, -1], 0),
        ((1, 6), [-1, 1, 1, 1, 6], 0),
    ]:
        yield "Reshape", {"allowzero": zero}, [drawn(*shape), Fixed(to)], 1
    for shape in SHAPES:
        rank = len(shape)
        for axis in range(-rank, rank + 1):
            yield "Flatten", {"axis": axis}, [drawn(*shape)], 1
        yield "Transpose", {}, [drawn(*shape)], 1
        yield "Shape", {}, [drawn(*shape)], 1
        yield "Size", {}, [drawn(*shape)], 1
        yield "Squeeze", {}, [drawn(*shape)], 1
        for start, end in ((0, 9), (-1, 9), (1, -1), (-9, 1), (2, 1), (0, -9)):
            yield "Shape", {"start": start, "end": end}, [drawn(*shape)], 1
        for axes in ([0], [-1], [0, -1], [1, 0], []):
            yield "Unsqueeze", {}, [drawn(*shape), Fixed(axes)], 1
        for repeat in (0, 1, 2):
            yield "Tile", {}, [drawn(*shape), Fixed([repeat] * rank)], 1
        for axis in range(-rank, rank):
            yield "Concat", {"axis": axis}, [drawn(*shape), drawn(*shape, seed=2)], 1
            if shape[axis]:
                empty = list(shape)
                empty[axis] = 0
                yield "Concat", {"axis": axis}, [drawn(*empty), drawn(*shape), drawn(*empty)], 1
    for shape, to in PAIRS:
        yield "Expand", {}, [drawn(*shape), Fixed(to)], 1
    for axes in ([0], [2], [-1], [0, 2], [-3, -1], []):
        yield "Squeeze", {}, [drawn(1, 2, 1), Fixed(axes)], 1
    for sizes in ([5], [0, 5], [2, 3], [5, 0], [1, 0, 4], [0, 0, 5]):
        for axis in (0, -1):
            yield "Split", {"axis": axis}, [drawn(5), Fixed(sizes)], len(sizes)
    for n, pieces in ((5, 2), (5, 3), (6, 3), (1, 1), (7, 4), (4, 5)):
        yield "Split", {"num_outputs": pieces}, [drawn(n, 2)], pieces
    for repeats in ([2, 0], [0, 3], [1, 3]):
        yield "Tile", {}, [drawn(2, 3), Fixed(repeats)], 1


HUGE = 2**31 - 1
LEAST, MOST = -(2**63), 2**63 - 1


def slices():
    starts = (0, 1, -1, 4, 5, 9, -5, -9, HUGE, LEAST, MOST)
    for start, end, step in itertools.product(starts, starts, (1, 2, -1, -2, 9, -9)):
        yield "Slice", {}, [drawn(5), *map(Fixed, ([start], [end], [0], [step]))], 1
    for step in (HUGE, -HUGE, MOST, LEAST + 1):
        for start, end in ((0, MOST), (4, LEAST), (-1, LEAST), (0, 5)):
            yield "Slice", {}, [drawn(5), *map(Fixed, ([start], [end], [-1], [step]))], 1
    for shape in ((0, 3), (3, 0), (1, 1), (2, 3)):
        yield "Slice", {}, [
            drawn(*shape),
            Fixed([0, -1]),
            Fixed([9, LEAST]),
            None,
            Fixed([1, -1]),
        ], 1
    for mode in ("constant", "edge", "reflect", "wrap"):
        for shape, pads in [
            ((3,), [0, 0]),
            ((3,), [2, 1]),
            ((3,), [5, 7]),
            ((3,), [-1, 0]),
            ((3,), [-1, 2]),
            ((3,), [2, -2]),
            ((3,), [-2, -1]),
            ((1,), [2, 2]),
            ((1,), [1, 0]),
            ((0,), [1, 2]),
            ((0, 2), [0, 1, 0, 1]),
            ((2, 3), [1, 0, 0, 2]),
            ((2, 3), [1, 2, 1, 2]),
            ((1, 1, 2, 2), [0, 0, 1, 1, 0, 0, 1, 1]),
        ]:
            yield "Pad", {"mode": mode}, [drawn(*shape), Fixed(pads)], 1
    for value in (0, -0.0, 1e30, INF, -INF, NAN):
        yield "Pad", {}, [drawn(2), Fixed([1, 1]), Fixed(value, F)], 1
    for mode in ("constant", "edge", "reflect"):
        yield "Pad", {"mode": mode}, [drawn(2, 3) > 0, Fixed([1, 0, -1, 2])], 1
    yield "Pad", {}, [drawn(2, 3) > 0, Fixed([1, 0, 0, 2]), Fixed(True, bool)], 1
    yield "Pad", {}, [drawn(2, 3), Fixed([1, 2]), None, Fixed([-1])], 1
    yield "Pad", {}, [drawn(2, 3), Fixed([]), None, Fixed([])], 1


def gathers():
    x = drawn(3, 4)
    for axis, at in itertools.product((0, 1, -1, -2), (0, -1, [0], [-3, 2], [[0, 1], [2, -1]], [])):
        yield "Gather", {"axis": axis}, [x, np.array(at, I64)], 1
        yield "Gather", {"axis": axis}, [x, np.array(at, np.int32)], 1
    yield "Gather", {"axis": 0}, [drawn(3, 0), np.array([0, 2], I64)], 1
    yield "Gather", {"axis": 1}, [drawn(1, 1, 1, 1, 2), np.array([0], I64)], 1
    for axis in (0, 1, -1, -2):
        at = np.array([[0, -1], [1, 2]], I64)
        yield "GatherElements", {"axis": axis}, [x, at], 1
        yield "GatherElements", {"axis": axis}, [x, np.zeros((0, 2), I64)], 1
        for how in ("none", "add", "mul", "min", "max"):
            more = {"axis": axis, "reduction": how}
            at = np.array([[0, -1], [1, 2]], I64)
            yield "ScatterElements", more, [x, at, drawn(2, 2, seed=5)], 1
            yield "ScatterElements", more, [x, np.zeros((0, 2), I64), drawn(0, 2)], 1
    for batch, at in [
        (0, [[0, 0], [2, -1]]),
        (0, [[-1], [0]]),
        (0, [2, 3]),
        (1, [[0], [-1], [3]]),
        (0, np.zeros((0, 2))),
        (0, np.zeros((2, 0))),
    ]:
        yield "GatherND", {"batch_dims": batch}, [x, np.array(at, I64)], 1
    for how in ("none", "add", "mul", "min", "max"):
        at = np.array([[0], [-1]], I64)
        yield "ScatterND", {"reduction": how}, [x, at, drawn(2, 4, seed=5)], 1
        yield "ScatterND", {"reduction": how}, [x, np.zeros((0, 1), I64), drawn(0, 4)], 1
    for axis in (-1, 0, 1, -2, -3, 2):
        at = np.array([[0, 2], [-1, 9], [-3, 3]], I64)
        yield "OneHot", {"axis": axis}, [at, Fixed(3), rows(-1.5, 2.5)], 1
    yield "OneHot", {}, [np.array(1, I64), Fixed(3), rows(0, 1)], 1
    yield "OneHot", {}, [np.zeros((0, 2), I64), Fixed(2), rows(0, 1)], 1
    yield "OneHot", {}, [whole(2), Fixed(1), rows(NAN, INF)], 1
    for k, largest, axis in itertools.product((0, 1, 3), (0, 1), (0, -1, 1)):
        yield "TopK", {"axis": axis, "largest": largest}, [drawn(3, 3), Fixed([k])], 2
    for values in ((0, 5, 1), (0, 5, 2), (5, 0, -2), (0, 0, 1), (3, 1, 1), (0, 5, 9), (-3, 3, 3)):
        yield "Range", {}, [Fixed(v) for v in values], 1
        yield "Range", {}, [Fixed(v + 0.5, F) for v in values[:2]] + [Fixed(values[2], F)], 1
    for shape in SHAPES:
        yield "ConstantOfShape", {}, [Fixed(shape)], 1


def products():
    for a, b in [
        ((3,), (3,)),
        ((0,), (0,)),
        ((1,), (1,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 0), (0, 3)),
        ((0, 2), (2, 3)),
        ((2, 3), (3, 0)),
        ((2, 1, 3), (3, 2)),
        ((1, 2, 3), (4, 3, 2)),
        ((2, 3), (4, 3, 2)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((2, 1, 2, 3), (5, 3, 1)),
        ((0, 2, 3), (3, 2)),
        ((1, 1, 1, 2, 3), (2, 1, 3, 1)),
        ((1, 1), (1, 1)),
    ]:
        yield "MatMul", {}, [drawn(*a), drawn(*b)], 1
    special = rows([INF, 1], [0, NAN], [-INF, 0])
    yield "MatMul", {}, [special, rows([0, 1], [1, 0])], 1
    yield "MatMul", {}, [rows([3e38, 3e38]), rows([1], [1])], 1
    for alpha, beta in itertools.product((0.0, 1.0, -1.0, 1e-30, 1e30), repeat=2):
        yield "Gemm", {"alpha": alpha, "beta": beta}, [drawn(2, 3), drawn(3, 4), drawn(4)], 1
    for factor, k in (("alpha", 0), ("beta", 2)):
        inputs = [drawn(2, 3), drawn(3, 4), drawn(4)]
        inputs[k][:] = NAN
        yield "Gemm", {factor: 0.0}, inputs, 1
    for a, b in itertools.product((0, 1), repeat=2):
        for m, k, n in ((2, 3, 4), (1, 1, 1), (2, 0, 3), (0, 2, 3), (2, 3, 0)):
            x = drawn(*((k, m) if a else (m, k)))
            y = drawn(*((n, k) if b else (k, n)), seed=1)
            for c in (None, (), (1,), (n,), (1, n), (m, 1), (m, n), (1, 1)):
                given = [] if c is None else [drawn(*c, seed=2)]
                yield "Gemm", {"transA": a, "transB": b}, [x, y, *given], 1


def windows():
    for n, k, stride, dilation, pads in itertools.product(
        (1, 2, 5), (1, 2, 3), (1, 2, 7), (1, 2), ((0, 0), (1, 0), (0, 2), (1, 1), (3, 4))
    ):
        reach = dilation * (k - 1) + 1
        if n + sum(pads) < reach:
            continue
        more = {"kernel_shape": [k], "strides": [stride], "pads": list(pads)}
        if max(pads) <= k or k > 1:
            yield "Conv", {**more, "dilations": [dilation]}, [drawn(1, 2, n), drawn(2, 2, k)], 1
        if max(pads) >= k:
            continue
        for ceil in (0, 1):
            pool = {**more, "ceil_mode": ceil, "dilations": [dilation]}
            yield "MaxPool", pool, [drawn(1, 2, n)], 1
            for count in (0, 1):
                yield "AveragePool", {**pool, "count_include_pad": count}, [drawn(1, 2, n)], 1
        if dilation == 1:
            for p in (1, 2, 3):
                yield "LpPool", {**more, "p": p}, [drawn(1, 2, n)], 1
    for word, n, k, stride in itertools.product(
        ("SAME_UPPER", "SAME_LOWER", "VALID"), (3, 4, 5), (1, 2, 3), (1, 2, 3, 4)
    ):
        more = {"kernel_shape": [k], "strides": [stride], "auto_pad": word}
        yield "Conv", more, [drawn(1, 1, n), drawn(1, 1, k)], 1
        yield "MaxPool", more, [drawn(1, 1, n)], 1
        yield "AveragePool", more, [drawn(1, 1, n)], 1
        yield "ConvTranspose", more, [drawn(1, 1, n), drawn(1, 1, k)], 1
    for n, k, stride, dilation, pad, extra in itertools.product(
        (1, 3), (1, 2, 3), (1, 2, 4), (1, 2), (0, 1), (0, 1)
    ):
        more = {"strides": [stride], "dilations": [dilation], "pads": [pad, 0]}
        if (
            extra < max(stride, dilation)
            and stride * (n - 1) + extra + dilation * (k - 1) + 1 > pad
        ):
            more["output_padding"] = [extra]
            yield "ConvTranspose", more, [drawn(1, 2, n), drawn(2, 3, k)], 1
    for batch, channels, group in ((0, 2, 1), (1, 4, 2), (2, 4, 4), (1, 1, 1)):
        w = drawn(group * 2, channels // group, 2, 1)
        yield "Conv", {"group": group}, [drawn(batch, channels, 3, 2), w, drawn(group * 2)], 1
        yield "ConvTranspose", {"group": group}, [
            drawn(batch, channels, 3, 2),
            drawn(channels, 2, 2, 1),
        ], 1
    for name, shape in itertools.product(
        ("GlobalAveragePool", "GlobalMaxPool"), ((1, 2, 1), (1, 2, 3), (0, 2, 3), (1, 1, 2, 1, 3))
    ):
        yield name, {}, [drawn(*shape)], 1
    yield "MaxPool", {"kernel_shape": [2]}, [rows(*[[[1, NAN, -INF, -INF, INF]]])], 1
    for block, mode in itertools.product((1, 2), ("DCR", "CRD")):
        yield "DepthToSpace", {"blocksize": block, "mode": mode}, [drawn(1, 8, 1, 3)], 1
        yield "DepthToSpace", {"blocksize": block, "mode": mode}, [drawn(0, 4, 1, 1)], 1
        yield "SpaceToDepth", {"blocksize": block}, [drawn(1, 1, 2, 4)], 1


def long_strides():
    """Windows of which there is only one, because the stride passes over the whole image."""
    x, w = drawn(1, 4, 6, 5), drawn(4, 4, 3, 3)
    for a, b in [(9, 9), (2**20, 2**20), (HUGE, 1), (2**31, 2**31), (2**62, 1), (1, 2**62)]:
        more = {"kernel_shape": [3, 3], "strides": [a, b], "pads": [0, 0, 1, 1]}
        yield "Conv", more, [x, w], 1
        yield "Conv", {**more, "group": 2}, [x, Fixed(drawn(4, 2, 3, 3), F)], 1
        yield "Conv", {**more, "group": 4}, [x, drawn(4, 1, 3, 3)], 1
        yield "ConvInteger", more, [
            whole(1, 4, 6, 5, dtype=np.uint8),
            whole(4, 4, 3, 3, dtype=np.int8),
        ], 1
        yield "MaxPool", more, [x], 1
        yield "MaxPool", more, [whole(1, 4, 6, 5, dtype=np.uint8)], 1
        yield "AveragePool", {**more, "count_include_pad": 1}, [x], 1
        yield "LpPool", more, [x], 1
    for stride in (7, HUGE, 2**62):
        yield "Conv", {"strides": [stride], "group": 2}, [drawn(1, 2, 4), drawn(4, 1, 2)], 1
        yield "MaxPool", {"strides": [stride], "kernel_shape": [2], "ceil_mode": 1}, [x[0]], 1
        yield "AveragePool", {"strides": [stride], "kernel_shape": [2]}, [x[0]], 1


def norms():
    for epsilon in (0.0, 1e-30, 1e-5, 1.0, 1e6):
        more, x = {"epsilon": epsilon}, drawn(2, 3, 2)
        flat = np.ones((2, 3, 1), F)
        four = [drawn(3), drawn(3, seed=1), drawn(3, seed=2), drawn(3, low=0.25)]
        yield "BatchNormalization", more, [x, *four], 1
        yield "BatchNormalization", more, [x, *four[:3], rows(0, 1e-30, 1e30)], 1
        yield "BatchNormalization", more, [drawn(0, 3), *four], 1
        yield "BatchNormalization", more, [drawn(2, 3, 0), *four], 1
        for data in (x, flat, drawn(1, 3, 2, 2)):
            yield "InstanceNormalization", more, [data, *four[:2]], 1
        for axis in (-1, 0, 1, -2, 2):
            size = x.shape[axis:]
            yield "LayerNormalization", {**more, "axis": axis}, [x, drawn(*size), drawn(*size)], 1
            yield "LayerNormalization", {**more, "axis": axis}, [x, drawn(*size)], 1
        yield "LayerNormalization", more, [flat, drawn(1), drawn(1)], 1
        for scale, bias in (((1,), (2,)), ((2,), (3, 1)), ((2, 3, 1), (1, 1, 1))):
            given = [x, drawn(*scale), drawn(*bias)]
            yield "LayerNormalization", {**more, "axis": 1}, given, 1
        yield "LayerNormalization", more, [drawn(0, 3), drawn(3), drawn(3)], 1
        for groups in (1, 2, 4):
            y = drawn(2, 4, 3)
            yield "GroupNormalization", {**more, "num_groups": groups}, [y, drawn(4), drawn(4)], 1
    for size, alpha, beta, bias in itertools.product(
        (1, 2, 3, 4, 9), (0.0, 1e-4, 2.0), (0.0, 0.75, -1.0, 2.0), (1.0, 0.5)
    ):
        more = {"size": size, "alpha": alpha, "beta": beta, "bias": bias}
        yield "LRN", more, [drawn(1, 4, 2, 1)], 1
    for p, axis in itertools.product((1, 2), (0, 1, -1)):
        yield "LpNormalization", {"p": p, "axis": axis}, [drawn(2, 3)], 1
        yield "LpNormalization", {"p": p, "axis": axis}, [rows([0, 0, 1], [0, 0, -2])], 1
        yield "LpNormalization", {"p": p, "axis": axis}, [rows([0, -1e-20, 0])], 1
    for channels, variance in itertools.product((0, 1), (0, 1)):
        axes = [0, 2] if channels else [1]
        yield "MeanVarianceNormalization", {"axes": axes}, [drawn(2, 2, 2) * variance], 1


def casts():
    kinds = {
        1: F,
        11: np.float64,
        10: np.float16,
        6: np.int32,
        7: I64,
        9: bool,
        2: np.uint8,
        3: np.int8,
    }
    small = np.array([0, 1, -1, 2, 100, -100], F)
    for to, kind in kinds.items():
        yield "Cast", {"to": to}, [small if kind not in (np.uint8,) else abs(small)], 1
        yield "Cast", {"to": to}, [abs(small) + F(0.75)], 1
        yield "Cast", {"to": to}, [np.array([0, 1, 2, 100], I64)], 1
        yield "Cast", {"to": to}, [whole(0, 2, dtype=I64)], 1
        yield "Cast", {"to": to}, [np.array([True, False])], 1
        yield "Cast", {"to": to}, [np.array([0, 1, 255], np.uint8)], 1
    for to in (1, 11, 10, 9):
        yield "Cast", {"to": to}, [SPECIAL], 1
        yield "Cast", {"to": to}, [np.array([65504, 65519, 65520, 7e4, 6e-8, 2e-8, 1e-3], F)], 1
    wide = np.array([0, 2**31, -(2**31) - 1, 2**32 + 5, 2**63 - 1, -(2**63), 2**53 + 1], I64)
    for to in (1, 11, 6, 9, 2, 3):
        yield "Cast", {"to": to}, [wide], 1
    for zero, scale in itertools.product((0, 128, 255), (1.0, 0.1, 1e-30, 1e30)):
        given = [Fixed(scale, F), Fixed(zero, np.uint8)]
        x = np.array([0, 0.5, 1.5, 2.5, -0.5, 127, 255, 300, -300, 1e30, INF, -INF], F)
        yield "QuantizeLinear", {}, [x, *given], 1
        yield "DequantizeLinear", {}, [np.array([0, 1, 127, 128, 255], np.uint8), *given], 1
    yield "DynamicQuantizeLinear", {}, [np.zeros(3, F)], 3
    yield "DynamicQuantizeLinear", {}, [rows(1, 2, 3)], 3
    yield "DynamicQuantizeLinear", {}, [rows(-1, -2, -3)], 3


def unknown():
    """Forms that run-model does not know."""
    for dtype in (np.int32, I64):
        yield "ReduceMean", {"keepdims": 0}, [whole(2, 3, dtype=dtype), Fixed([1])], 1
        yield "Shrink", {"lambd": 1.0}, [whole(2, 3, dtype=dtype) - 2], 1
    for name, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        w, r = drawn(1, gates * 3, 4), drawn(1, gates * 3, 3)
        yield name, {"hidden_size": 3, "clip": 0.5}, [drawn(2, 1, 4), w, r], outputs


def all_cases():
    for maker in (
        unary_shapes,
        binary,
        clips,
        tests,
        reductions,
        softmaxes,
        moves,
        slices,
        gathers,
    ):
        yield from maker()
    for maker in (products, windows, long_strides, norms, casts, unknown):
        yield from maker()
