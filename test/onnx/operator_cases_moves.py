"""Makers of cases for operators that move elements: to other places, into other sizes, or out of
the tensor. operator_cases.py finds them by name."""

import numpy as np
from operator_case import number


def concat(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    for _ in range(1 + case.below(3)):
        shape = [2, 3, 4]
        shape[axis] = 1 + case.below(3)
        case.inputs.append(case.tensor(*shape))
    case.type, case.onnx_attrs = "Concat", {"axis": axis}


def split(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    sizes = case.attrs["sizes"] = [1 + case.below(3) for _ in range(1 + case.below(3))]
    shape = [2, 3, 4]
    shape[axis] = sum(sizes)
    case.inputs, case.outputs = [case.tensor(*shape)], len(sizes)
    case.type, case.onnx_attrs, case.onnx_inputs = (
        "Split",
        {"axis": axis},
        [case.inputs[0], np.array(sizes, np.int64)],
    )


def slice_(case):
    shape = [3, 5, 6]
    steps = case.draw("steps", 3)
    starts = [case.below(n) for n in shape]
    sizes = [
        1 + case.below((n - 1 - s if t > 0 else s) // abs(t) + 1)
        for n, s, t in zip(shape, starts, steps)
    ]
    stops = [s + t * n for s, t, n in zip(starts, steps, sizes)]
    stops = [e if e >= 0 else -100 for e in stops]
    case.attrs = {"starts": starts, "sizes": sizes, "steps": steps}
    case.inputs, case.type = [case.tensor(*shape)], "Slice"
    case.onnx_inputs = case.inputs + [
        np.array(v, np.int64) for v in (starts, stops, [0, 1, 2], steps)
    ]


def pad(case):
    pads = case.attrs["pads"] = [case.below(4) - 1 for _ in range(6)]
    value = case.attrs["value"] = case.draw("value")
    case.inputs, case.type = [case.tensor(2, 3, 4)], "Pad"
    case.onnx_inputs = case.inputs + [np.array(pads, np.int64), np.array(number(value), np.float32)]


def padwith(case):
    pads = case.attrs["pads"] = [case.below(4) - 1 for _ in range(6)]
    value = np.float32(case.random.choice([0.5, -3, -np.inf, np.inf]))
    case.inputs, case.type = [case.tensor(2, 3, 4), np.array(value)], "Pad"
    case.onnx_inputs = [case.inputs[0], np.array(pads, np.int64), case.inputs[1]]


def padmirror(case):
    mode = case.attrs["mode"] = case.draw("mode")
    pads = case.attrs["pads"] = [case.below(3) for _ in range(6)]
    case.inputs, case.type, case.onnx_attrs = [case.tensor(3, 4, 5)], "Pad", {"mode": mode}
    case.onnx_inputs = case.inputs + [np.array(pads, np.int64)]


def transpose(case):
    perm = case.attrs["perm"] = case.random.sample(range(4), 4)
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4, 5)], "Transpose", {"perm": perm}


def reshape(case):
    shapes = [
        [2, 3, 4],
        [6, 4],
        [24],
        [2, 12],
        [1, 2, 3, 1, 4],
        [4, 3, 2],
        [2, 3, 2, 2],
        [8, 3],
        [3, 2, 4, 1],
        [2, 1, 12],
    ]
    shape = case.attrs["shape"] = case.random.choice(shapes)
    case.inputs, case.type = [case.tensor(*case.random.choice(shapes))], "Reshape"
    case.onnx_inputs = case.inputs + [np.array(shape, np.int64)]


def broadcast(case):
    shape = case.attrs["shape"] = [2, 3, 4]
    own = [n if case.below(2) else 1 for n in shape][case.below(3) :]
    case.inputs, case.type = [case.tensor(*own)], "Expand"
    case.onnx_inputs = case.inputs + [np.array(shape, np.int64)]


def tile(case):
    case.attrs["repeats"] = [case.below(4) for _ in range(3)]
    case.inputs, case.type = [case.tensor(2, 1, 3)], "Tile"
    case.onnx_inputs = case.inputs + [np.array(case.attrs["repeats"], np.int64)]


def spacedepth(case):
    b = case.attrs["block"] = int(case.draw("block"))
    depth = case.op.name == "depthtospace"
    case.inputs, case.type = [
        case.tensor(2, 2 * b * b, 3, 2) if depth else case.tensor(2, 3, 2 * b, 3 * b)
    ], case.op.onnx[0][0]
    case.onnx_attrs = {"blocksize": b}
    if depth:
        case.attrs["order"] = case.draw("order")
        case.onnx_attrs["mode"] = case.attrs["order"].upper()


def gather(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    n = [3, 4, 5][axis]
    case.inputs = [case.tensor(3, 4, 5), case.integers(*[2, 3][: case.below(3)], low=-n, high=n)]
    case.type, case.onnx_attrs = "Gather", {"axis": axis}


def gatherelements(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    shape = [3, 4, 5]
    index = [1 + case.below(n) if k != axis % 3 else 1 + case.below(7) for k, n in enumerate(shape)]
    case.inputs = [case.tensor(*shape), case.integers(*index, low=-shape[axis], high=shape[axis])]
    case.type, case.onnx_attrs = "GatherElements", {"axis": axis}


def gathernd(case):
    batch, q = int(case.draw("batch")), 1 + case.below(2)
    case.attrs, case.onnx_attrs, case.type = {"batch": batch}, {"batch_dims": batch}, "GatherND"
    case.inputs = [
        case.tensor(2, 2, 2, 3),
        case.integers(*[2, 3][: 1 + case.below(2)], q, low=-2, high=2),
    ]


def scatterelements(case):
    scatter_along(case, case.draw("reduction"))
    case.attrs["reduction"] = case.onnx_attrs["reduction"]


def scatteradd(case):
    scatter_along(case, case.op.name.removeprefix("scatter"))


scattermax = scattermin = scatteradd


def scatter_along(case, reduction):
    axis = int(case.draw("axis"))
    index = [1 + case.below(n) for n in (3, 4, 5)]
    n = (3, 4, 5)[axis]
    # An index may occur twice only if a reduction combines the updates.
    lines = (
        np.argsort(case.numpy.random(index), axis=axis)
        if reduction == "none"
        else case.integers(*index, low=-n, high=n)
    )
    case.inputs = [case.tensor(3, 4, 5), lines.astype(np.int64), case.tensor(*index)]
    case.attrs, case.onnx_attrs = {"axis": axis}, {"axis": axis, "reduction": reduction}
    case.type = "ScatterElements"


def scatternd(case):
    scatter_places(case, case.draw("reduction"))
    case.attrs = dict(case.onnx_attrs)


def scatterndadd(case):
    scatter_places(case, case.op.name.removeprefix("scatternd"))


scatterndmax = scatterndmin = scatterndadd


def scatter_places(case, reduction):
    places = (
        case.random.sample(range(6), 4)
        if reduction == "none"
        else [case.below(6) for _ in range(4)]
    )
    index = np.array([[p // 3, p % 3 - 3 * case.below(2)] for p in places], np.int64)
    case.inputs, case.type, case.onnx_attrs = (
        [case.tensor(2, 3, 4), index, case.tensor(4, 4)],
        "ScatterND",
        {"reduction": reduction},
    )


def reversesequence(case):
    case.attrs, case.type, case.onnx_attrs = (
        {"batch": 1, "time": 0},
        "ReverseSequence",
        {"batch_axis": 1, "time_axis": 0},
    )
    case.inputs = [case.tensor(4, 3, 2), case.integers(3, low=1, high=5)]


def compress(case):
    axis = case.attrs["axis"] = int(case.draw("axis"))
    condition = case.integers((3, 4, 2)[axis], low=0, high=2, dtype=np.bool_)
    case.attrs["n"], case.inputs = int(condition.sum()), [case.tensor(3, 4, 2), condition]
    case.type, case.onnx_attrs = "Compress", {"axis": axis}


def nonzero(case):
    case.inputs, case.type = [case.integers(3, 4, low=0, high=2, dtype=np.float32)], "NonZero"
    case.attrs["n"] = int((case.inputs[0] != 0).sum())


def onehot(case):
    case.attrs = {n: int(case.draw(n)) for n in ("axis", "depth")}
    n = case.attrs["depth"]
    case.inputs, case.type = [case.integers(2, 3, low=-n - 1, high=n + 1), case.tensor(2)], "OneHot"
    case.onnx_inputs, case.onnx_attrs = [case.inputs[0], np.array(n, np.int64), case.inputs[1]], {
        "axis": case.attrs["axis"]
    }


def topk(case):
    case.attrs = {
        "k": int(case.draw("k")),
        "axis": int(case.draw("axis")),
        "largest": case.draw("largest"),
    }
    case.inputs, case.type, case.outputs = (
        [case.integers(3, 4, 2, low=0, high=4).astype(np.float32)],
        "TopK",
        2,
    )
    case.onnx_inputs = case.inputs + [np.array([case.attrs["k"]], np.int64)]
    case.onnx_attrs = {"axis": case.attrs["axis"], "largest": int(case.attrs["largest"] == "yes")}


def nms(case):
    boxes = case.tensor(2, 6, 4, low=0, high=1)
    case.inputs, case.type = [boxes, case.tensor(2, 2, 6, low=0, high=1)], "NonMaxSuppression"
    most, iou, score = 1 + case.below(3), 0.25, 0.125
    case.attrs, case.onnx_attrs = {
        "most": most,
        "iou_threshold": "1/4",
        "score_threshold": "1/8",
        "center": case.draw("center"),
    }, {}
    case.onnx_attrs["center_point_box"] = int(case.attrs["center"] == "yes")
    case.onnx_inputs = case.inputs + [
        np.array([most], np.int64),
        np.array([iou], np.float32),
        np.array([score], np.float32),
    ]
    case.counted = "kept"


def resize(case):
    case.attrs = {n: case.draw(n) for n in ("mode", "coordinate", "rounding")}
    sizes = case.attrs["sizes"] = [1, 2] + case.random.choice(
        [[3, 4], [6, 8], [9, 4], [5, 7], [2, 3]]
    )
    case.inputs, case.type = [case.tensor(1, 2, 3, 4)], "Resize"
    case.onnx_inputs = case.inputs + [None, None, np.array(sizes, np.int64)]
    case.onnx_attrs = {
        "mode": case.attrs["mode"],
        "coordinate_transformation_mode": case.attrs["coordinate"],
        "nearest_mode": case.attrs["rounding"],
    }


def select(case):
    """ONNX has no such operator: the expected result is computed element by element."""
    x, rank = case.tensor(2, 3), 1 + case.below(3)
    sizes = [int(case.draw("shape")) for _ in range(rank)]
    matrix = np.array([[int(case.draw("matrix")) for _ in sizes] for _ in x.shape])
    offsets = np.array([int(case.draw("offsets")) for _ in x.shape])
    case.attrs = {
        "matrix": matrix.ravel().tolist(),
        "offsets": offsets.tolist(),
        "shape": sizes,
    }
    y = np.zeros(sizes, x.dtype)
    for place in np.ndindex(*sizes):
        at = matrix @ np.array(place) + offsets
        if (at >= 0).all() and (at < x.shape).all():
            y[place] = x[tuple(at)]
    case.inputs, case.expected = [x], [y]


def shape(case):
    case.attrs = {n: int(case.draw(n)) for n in ("start", "end")}
    case.inputs, case.type, case.onnx_attrs = [case.tensor(2, 3, 4)], "Shape", dict(case.attrs)


def trilu(case):
    case.attrs = {"k": int(case.draw("k")), "upper": case.draw("upper")}
    case.inputs, case.type, case.onnx_attrs = (
        [case.tensor(2, 3, 4)],
        "Trilu",
        {"upper": int(case.attrs["upper"] == "yes")},
    )
    case.onnx_inputs = case.inputs + [np.array(case.attrs["k"], np.int64)]
