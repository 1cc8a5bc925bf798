"""Makers of nodes. A maker takes the builder, the name of the operator and the arguments that the
table of operators.py has for it. It adds a random node by Builder.add, or raises Reject."""

import numpy
from builder import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, Reject

FLOAT = [F32, F16, BF16, F64]
NUMBER = FLOAT + [I64, I32]
ANY = NUMBER + [BOOL, U8]


def drawn(b, attributes):
    """Random attributes from {name: values}. If the value is None, the attribute is left out."""
    given = {name: b.choice(values) for name, values in (attributes or {}).items()}
    return {name: value for name, value in given.items() if value is not None}


def axis_of(b, v, low=0):
    """A random axis of v, now and then counted from the end."""
    if v.rank <= low:
        raise Reject("no axis")
    axis = b.between(low, v.rank - 1)
    return axis - v.rank if b.chance(0.3) else axis


# ---- element by element


def unary(b, kind, types=FLOAT, low=None, high=None, attributes=None, since=None):
    where = None if low is None else lambda v: v.within(low, high)
    span = {} if low is None else {"low": max(low, -8.0) + 0.05, "high": min(high, 8.0) - 0.05}
    x = b.pick(types, where=where, **span)
    b.add(kind, [x], **drawn(b, attributes))


def other(b, x, types=None, low=-1.0, high=1.0, same=0.3):
    """A second operand for x: x itself, a value of the same sizes, or one that is broadcast."""
    if b.chance(0.08) and x.within(low, high):
        return x
    if b.chance(same):
        fit = [v for v in b.values[-24:] if v.dtype == x.dtype and v.size == x.size]
        fit = [v for v in fit if v.within(low, high) and v is not x]
        if fit:
            return b.choice(fit)
    size = [d if b.chance(0.6) else (1, 1) for d in x.size]
    size = size[b.below(len(size) + 1) if b.chance(0.5) and size else 0 :]
    if b.chance(0.15):
        size = []
    if b.chance(0.1):
        size = [b.dim() if d == (1, 1) else d for d in size]
    return b.fresh(size, x.dtype, low, high)


def binary(b, kind, types=NUMBER, low=-2.0, high=2.0, attributes=None, legacy=False):
    first = b.chance(0.75) or kind in ("Pow", "Div", "Mod", "PRelu", "BitShift")
    x = b.pick(types, where=(lambda v: v.within(0.01, 20)) if kind == "Pow" else None, low=0.1)
    if x.dtype not in FLOAT:
        low, high = (1, 4) if low > 0 else (-3, 4)
    y = other(b, x, None, low, high)
    b.add(kind, [x, y] if first else [y, x], **drawn(b, attributes))


def remainder(b, kind):
    x = b.pick(NUMBER, where=lambda v: v.rank)
    whole = x.dtype not in FLOAT
    y = other(b, x, None, 1 if whole else 0.5, 4 if whole else 2.5, 0)
    b.add(kind, [x, y], fmod=0 if whole and b.chance(0.5) else 1)


def logical(b, kind):
    x = truth(b)
    b.add(kind, [x] if kind == "Not" else [x, other(b, x)])


def truth(b):
    """A value of booleans, existing or compared."""
    return b.pick([BOOL], new=0.05) if any(v.dtype == BOOL for v in b.values) else compared(b)


def compared(b, kind=None):
    kind = kind or b.choice(["Greater", "Less", "Equal"])
    x = b.pick([I64, I32, BOOL] if kind == "Equal" and b.opset < 11 else FLOAT + [I64, I32])
    return b.add(kind, [x, other(b, x)])


def shift(b, kind):
    x = b.pick([U8], low=0, high=9)
    b.add(kind, [x, b.fresh(x.size, U8, 0, 3)], direction=b.choice(["LEFT", "RIGHT"]))


def bits(b, kind):
    x = b.pick([I32, I64, U8], low=0, high=100)
    b.add(kind, [x] if kind == "BitwiseNot" else [x, other(b, x, low=0, high=60)])


def several(b, kind, types=FLOAT):
    x = b.pick(types)
    if b.opset < 8:
        rest = [b.fresh(x.size, x.dtype) for _ in range(b.below(3))]
    else:
        rest = [other(b, x) for _ in range(b.below(3))]
    b.add(kind, [x, *rest])


def where(b, kind):
    x = b.pick(ANY)
    y = other(b, x)
    condition = [v for v in b.values[-24:] if v.dtype == BOOL and v.size == x.size]
    c = b.choice(condition) if condition else b.fresh(x.size, BOOL)
    b.add(kind, [c, x, y] if b.chance(0.7) else [c, y, x])


def clip(b, kind):
    x = b.pick(NUMBER if b.opset >= 12 else [F32] if b.opset < 11 else FLOAT)
    low, high = sorted([b.choice([-1.0, -0.5, 0.0, 0.25]), b.choice([0.5, 1.0, 3.0, 6.0])])
    if b.opset < 11:
        return b.add(kind, [x], **drawn(b, {"min": [low, None], "max": [high, None]}))
    ends = [None if b.chance(0.2) else b.constant(numpy.array(e), x.dtype) for e in (low, high)]
    return b.add(kind, [x, *ends])


def cast(b, kind):
    x = b.pick(ANY)
    to = b.choice([b.dtype, F32, F64, I64, I32, BOOL, F16])
    if kind == "CastLike":
        return b.add(kind, [x, b.fresh([1], to)])
    return b.add(kind, [x], to=to)


def dropout(b, kind):
    x, both = b.pick(FLOAT), b.chance(0.2)
    if b.opset < 12:
        return b.add(kind, [x], ratio=0.4)
    ratio = b.constant(numpy.array(0.3), F32) if b.chance(0.5) else None
    training = b.constant(numpy.array(False), BOOL) if b.chance(0.3) else None
    return b.add(kind, [x, ratio, training], 2 if both else 1)


# ---- along axes


def reduce(b, kind, types=FLOAT, input_since=18, low=None):
    where_ = (lambda v: v.rank and v.within(low, 50)) if low is not None else lambda v: v.rank
    x = b.pick(types, where=where_, low=0.1 if low is not None else -1.0)
    axes = None
    if b.chance(0.85):
        axes = b.random.sample(range(x.rank), b.between(1, min(2, x.rank)))
        axes = [a - x.rank if b.chance(0.3) and b.opset >= 11 else a for a in axes]
    more = drawn(b, {"keepdims": [0, 1, None]})
    if b.opset < input_since:
        return b.add(kind, [x], axes=axes, **more)
    if axes is None and b.chance(0.3):
        return b.add(kind, [x], noop_with_empty_axes=1, **more)
    return b.add(kind, [x, axes and b.ints(axes)], **more)


def along(b, kind, types=FLOAT, attributes=None, behind=11):
    x = b.pick(types, where=lambda v: v.rank)
    axis = axis_of(b, x)
    axis = axis % x.rank if b.opset < behind else axis
    return b.add(kind, [x], axis=axis, **drawn(b, attributes))


def place(b, kind):
    attributes = {"keepdims": [0, 1, None]}
    if b.opset >= 12:
        attributes["select_last_index"] = [0, 1, None]
    return along(b, kind, [F32, F64, I32], attributes)


def running(b, kind):
    x = b.pick(FLOAT[:1] + [F64, I64, I32], where=lambda v: v.rank)
    axis = b.ints(axis_of(b, x), scalar=True)
    return b.add(kind, [x, axis], **drawn(b, {"exclusive": [0, 1], "reverse": [0, 1]}))


def top(b, kind):
    x = b.pick([F32, F64, I64], where=lambda v: v.rank and not v.open)
    axis = axis_of(b, x)
    k = b.between(0 if b.chance(0.05) else 1, x.shape[axis]) if x.shape[axis] else 0
    more = drawn(b, {"largest": [0, 1, None], "sorted": [1, None]}) if b.opset >= 11 else {}
    if b.opset < 10:
        return b.add(kind, [x], 2, axis=axis % x.rank, k=k)
    return b.add(kind, [x, b.ints(k)], 2, axis=axis if b.opset > 10 else axis % x.rank, **more)


# ---- moving elements


def transpose(b, kind):
    x = b.pick(ANY, rank=(1, 5))
    order = list(range(x.rank))
    b.random.shuffle(order)
    return b.add(kind, [x], perm=None if b.chance(0.1) else order)


def reshape(b, kind):
    x = b.pick(ANY)
    size, k, target = x.size, 0, []
    while k < len(size):
        d = size[k]
        if b.chance(0.35) and k + 1 < len(size):
            d, k = (d[0] * size[k + 1][0], d[1] * size[k + 1][1]), k + 1
        k += 1
        for split in (2, 3):
            if b.chance(0.3) and d[0] == d[1] and d[0] % split == 0 and d[0]:
                target.append((split, split))
                d = (d[0] // split, d[1] // split)
        target.append(d)
        if b.chance(0.12):
            target.insert(b.below(len(target) + 1), (1, 1))
    numbers, free = [], b.chance(0.4)
    for k, d in enumerate(target):
        if k < len(size) and d == size[k] and (d[0] != d[1] or b.chance(0.3)):
            numbers.append(0)
        elif d[0] != d[1] or (free and -1 not in numbers and b.chance(0.4)):
            numbers.append(-1)
        else:
            numbers.append(d[0])
    if numbers.count(-1) > 1:
        raise Reject("two sizes to be found")
    allow = {}
    if 0 in [d[0] for d in target]:
        if b.opset < 14 or -1 in numbers:
            raise Reject("a size of 0")
        allow, numbers = {"allowzero": 1}, [d[0] for d in target]
    return b.add(kind, [x, b.ints(numbers)], **allow)


def flatten(b, kind):
    x = b.pick(ANY, rank=(1, 5))
    axis = b.between(0 if b.opset < 11 else -x.rank, x.rank)
    return b.add(kind, [x], axis=axis)


def squeeze(b, kind):
    x = b.pick(ANY, where=lambda v: (1, 1) in v.size)
    ones = [k for k, d in enumerate(x.size) if d == (1, 1)]
    axes = b.random.sample(ones, b.between(1, len(ones)))
    if b.opset < 13:
        return b.add(kind, [x], axes=sorted(axes))
    if b.chance(0.1) and not x.open:
        return b.add(kind, [x])
    return b.add(kind, [x, b.ints([a - x.rank if b.chance(0.3) else a for a in axes])])


def unsqueeze(b, kind):
    x = b.pick(ANY, rank=(0, 4))
    rank = x.rank + b.between(1, 2)
    axes = sorted(b.random.sample(range(rank), rank - x.rank))
    if b.opset < 13:
        return b.add(kind, [x], axes=axes)
    return b.add(kind, [x, b.ints([a - rank if b.chance(0.3) else a for a in axes])])


def concat(b, kind):
    x = b.pick(ANY, rank=(1, 5))
    axis = axis_of(b, x)
    parts = [x]
    for _ in range(b.between(0, 3)):
        fit = [v for v in b.values[-24:] if v.dtype == x.dtype and v.rank == x.rank]
        fit = [
            v
            for v in fit
            if all(d == e or k == axis % x.rank for k, (d, e) in enumerate(zip(v.size, x.size)))
        ]
        size = list(x.size)
        size[axis] = b.dim()
        parts.append(b.choice(fit) if fit and b.chance(0.7) else b.fresh(size, x.dtype))
    b.random.shuffle(parts)
    return b.add(kind, parts, axis=axis if b.opset >= 11 else axis % x.rank)


def split(b, kind):
    x = b.pick(ANY, where=lambda v: any(p == q and p > 1 for p, q in v.size))
    axis = b.choice([k for k, (p, q) in enumerate(x.size) if p == q and p > 1])
    n, parts = x.shape[axis], b.between(1, min(4, x.shape[axis]))
    equal = n % parts == 0 and b.chance(0.4)
    cuts = sorted(b.between(0 if b.chance(0.1) else 1, n) for _ in range(parts - 1))
    sizes = [e - s for s, e in zip([0, *cuts], [*cuts, n])]
    axis = axis - x.rank if b.opset >= 11 and b.chance(0.3) else axis
    if equal:
        more = {"num_outputs": parts} if b.opset >= 18 else {}
        return b.add(kind, [x], parts, axis=axis, **more)
    if b.opset < 13:
        return b.add(kind, [x], parts, axis=axis, split=sizes)
    return b.add(kind, [x, b.ints(sizes)], parts, axis=axis)


def slices(b, kind):
    x = b.pick(ANY, where=lambda v: v.rank)
    axes = b.random.sample(range(x.rank), b.between(1, min(2, x.rank)))
    starts, ends, steps = [], [], []
    for a in axes:
        n = min(x.size[a])
        s = b.between(0, max(0, n - 1))
        e = b.choice([n, b.between(s, n), 1000, -1]) if n else 0
        step = b.choice([1, 1, 1, 2, -1])
        if step < 0:
            s, e = b.choice([-1, n - 1]), b.choice([-1000, max(0, s - 1)])
        starts.append(s), ends.append(e), steps.append(step)
    if b.opset < 10:
        return b.add(kind, [x], starts=[abs(s) for s in starts], ends=ends, axes=axes)
    axes = [a - x.rank if b.chance(0.3) else a for a in axes]
    more = [b.ints(steps)] if min(steps) < 0 or max(steps) > 1 or b.chance(0.3) else []
    return b.add(kind, [x, b.ints(starts), b.ints(ends), b.ints(axes), *more])


def pad(b, kind):
    x = b.pick(FLOAT, rank=(1, 4))
    mode = b.choice(["constant", "constant", "reflect", "edge"])
    most = [max(0, min(2, min(d) - 1)) if mode == "reflect" else 2 for d in x.size]
    pads = [b.between(0, m) for m in most * 2]
    if mode == "constant" and b.chance(0.1) and b.opset >= 11:
        pads[0] = -1 if min(x.size[0]) > 1 else 0
    if mode == "edge" and 0 in x.shape:
        raise Reject("nothing to repeat")
    if b.opset < 11:
        return b.add(kind, [x], mode=mode, pads=pads, value=b.choice([0.0, 1.5]))
    fill = b.constant(numpy.array(b.choice([0.0, 0.5, -2.0])), x.dtype) if b.chance(0.4) else None
    return b.add(kind, [x, b.ints(pads), fill if mode == "constant" else None], mode=mode)


def expand(b, kind):
    x = b.pick(ANY)
    size = [
        b.dim()[0] if d == (1, 1) and b.chance(0.6) else 1 if d[0] != d[1] else d[0] for d in x.size
    ]
    size = [b.dim()[0]] * b.below(2) + size
    return b.add(kind, [x, b.ints(size)])


def tile(b, kind):
    x = b.pick(NUMBER, rank=(1, 4))
    return b.add(kind, [x, b.ints([b.choice([1, 1, 2, 3]) for _ in range(x.rank)])])


def gather(b, kind):
    x = b.pick(NUMBER, where=lambda v: v.rank and 0 not in v.shape)
    axis = axis_of(b, x)
    n = min(x.size[axis])
    low = -n if b.opset >= 11 and b.chance(0.3) else 0
    return b.add(kind, [x, b.fresh(b.dims(0, 2), I64, low, n - 1)], axis=axis)


def gather_elements(b, kind):
    x = b.pick([F32, I64, F64], where=lambda v: v.rank and 0 not in v.shape)
    axis = axis_of(b, x)
    size = list(x.size)
    size[axis] = b.dim()
    return b.add(kind, [x, b.fresh(size, I64, 0, min(x.size[axis]) - 1)], axis=axis)


def gather_nd(b, kind):
    x = b.pick([F32, I64, F64], where=lambda v: v.rank and 0 not in v.shape)
    depth = b.between(1, x.rank)
    most = min(min(d) for d in x.size[:depth])
    return b.add(kind, [x, b.fresh([*b.dims(0, 2), depth], I64, 0, most - 1)])


def scatter_elements(b, kind):
    x = b.pick([F32, F64, I64], where=lambda v: v.rank and not v.open and 0 not in v.shape)
    axis = axis_of(b, x)
    places = numpy.argsort(b.numbers.uniform(size=x.shape), axis)
    k = b.between(1, x.shape[axis])
    places = numpy.take(places, range(k), axis)
    updates = b.fresh(places.shape, x.dtype)
    how = b.choice([None, "none"] + ["add"] * (b.opset >= 16)) if b.opset >= 16 else None
    return b.add(kind, [x, b.constant(places, I64), updates], axis=axis, reduction=how)


def scatter_nd(b, kind):
    x = b.pick([F32, F64, I64], where=lambda v: v.rank and not v.open and 0 not in v.shape)
    rows = b.random.sample(range(x.shape[0]), b.between(1, x.shape[0]))
    updates = b.fresh([len(rows), *x.shape[1:]], x.dtype)
    return b.add(kind, [x, b.constant(numpy.array(rows)[:, None], I64), updates])


def one_hot(b, kind):
    indices = b.pick([I64], low=0, high=3)
    depth = b.ints(b.between(1, 5), scalar=True)
    return b.add(
        kind, [indices, depth, b.constant(numpy.array([0.0, 1.5]), F32)], axis=b.choice([-1, 0])
    )


def trilu(b, kind):
    x = b.pick(NUMBER, rank=(2, 4))
    k = b.ints(b.between(-2, 2), scalar=True) if b.chance(0.6) else None
    return b.add(kind, [x, k], upper=b.below(2))


def reverse(b, kind):
    x = b.pick([F32, F64], where=lambda v: v.rank >= 2 and not v.open and 0 not in v.shape)
    time = b.below(2)
    lengths = [b.between(1, x.shape[time]) for _ in range(x.shape[1 - time])]
    return b.add(
        kind, [x, b.constant(numpy.array(lengths), I64)], time_axis=time, batch_axis=1 - time
    )


def compress(b, kind):
    x = b.pick([F32, F64, I64], where=lambda v: v.rank and not v.open)
    axis = axis_of(b, x)
    keep = b.numbers.integers(0, 2, x.shape[axis]).astype("?")
    return b.add(kind, [x, b.constant(keep, BOOL)], axis=axis)


def depth(b, kind):
    n = b.choice([2, 2, 3])
    if kind == "SpaceToDepth":
        fits = lambda v: (
            all(d[0] % n == 0 and d[1] % n == 0 for d in v.size[2:]) if v.rank == 4 else False
        )
        made = [b.dim(), b.dim(), n * b.between(1, 2), n * b.between(1, 2)]
    else:
        fits = lambda v: v.rank == 4 and v.size[1][0] % (n * n) == 0 and v.size[1][1] % (n * n) == 0
        made = [b.dim(), n * n * b.between(1, 2), b.dim(), b.dim()]
    fit = [v for v in b.values[-24:] if v.dtype in (F32, F64) and fits(v) and 0 not in v.shape]
    x = b.choice(fit) if fit and b.chance(0.7) else b.fresh(made, F32, kind="input")
    modes = {"mode": ["DCR", "CRD", None]} if kind == "DepthToSpace" and b.opset >= 11 else {}
    return b.add(kind, [x], blocksize=n, **drawn(b, modes))


def shape(b, kind):
    x = b.pick(ANY)
    more = (
        {"start": [0, 1, -1, None], "end": [2, -1, None]}
        if kind == "Shape" and b.opset >= 15
        else {}
    )
    return b.add(kind, [x], **drawn(b, more))


def filled(b, kind):
    from onnx import helper

    size = b.ints([b.between(1, 4) for _ in range(b.below(4))])
    value = helper.make_tensor("", F32, [1], [b.choice([0.0, 1.0, -2.5])])
    return b.add(kind, [size], value=None if b.chance(0.2) else value)


def ranged(b, kind):
    if b.chance(0.5):
        ends = [
            b.ints(n, scalar=True) for n in (b.between(-2, 2), b.between(3, 8), b.between(1, 3))
        ]
    else:
        ends = [
            b.constant(numpy.array(x), F32)
            for x in (b.choice([0.0, 0.5]), 4.2, b.choice([0.5, 1.0]))
        ]
    return b.add(kind, ends)


def eye(b, kind):
    x = b.pick([F32, I64, I32, F64], rank=(2, 2))
    return b.add(kind, [x], k=b.between(-1, 1), dtype=b.choice([None, F32, I64]))
