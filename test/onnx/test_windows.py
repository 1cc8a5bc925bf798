"""Rules about windows that are taken by matrices of indices, products that are summed, and results
of which a slice is used (gather.rules, reduce.rules, slices.rules)."""

import numpy, onnx, pytest
from onnx import helper
from small_models import tensor
from test_parts import agree, floats, rewritten

PLACES = numpy.arange(3)[:, None] + 2 * numpy.arange(4)[None]  # four windows of three


@pytest.mark.parametrize(
    "shape, axis, rule",
    [
        ([2, 3, 9], 2, "gather-windows-3"),
        ([2, 3, 4, 9], 3, "gather-windows-4"),
        ([2, 3, 4, 2, 9], 4, "gather-windows-5"),
        ([2, 3, 9, 1], 2, "gather-windows-column"),
    ],
)
def test_windows(tmp_path, shape, axis, rule):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)]
    y = shape[:axis] + [3, 4] + shape[axis + 1 :]
    given = nodes, [tensor("x", shape)], [tensor("y", y)], {"i": PLACES}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", rule)])
    assert kinds.count("Transpose") == 2, kinds
    agree(*paths, {"x": floats(*shape)})


@pytest.mark.parametrize(
    "shape, perm, left",
    [
        ([2, 3, 9], [0, 1, 3, 2], []),
        ([2, 3, 4, 9], [0, 1, 2, 4, 3], []),
        ([2, 3, 9], [0, 2, 3, 1], [[0, 2, 3, 1]]),
    ],
)
def test_turned_windows(tmp_path, shape, perm, left):
    """The last perm does not turn the windows, and stays."""
    axis = len(shape) - 1
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["g"], axis=axis),
        helper.make_node("Transpose", ["g"], ["y"], perm=perm),
    ]
    whole = shape[:axis] + [3, 4]
    given = nodes, [tensor("x", shape)], [tensor("y", [whole[k] for k in perm])], {"i": PLACES}
    rules = [("gather", f"gather-windows-turned-{len(shape)}")]
    _, *paths = rewritten(tmp_path, *given, rules=rules)
    made = [n.attribute[0].ints for n in onnx.load(paths[1]).graph.node if n.op_type == "Transpose"]
    assert [list(perm) for perm in made] == left
    agree(*paths, {"x": floats(*shape)})


def places(count, between, windows, apart, start=0):
    """An index that takes `windows` windows of `count` elements."""
    return start + between * numpy.arange(count)[:, None] + apart * numpy.arange(windows)[None]


@pytest.mark.parametrize(
    "shape, index, rule",
    [
        ([9], places(2, 1, 8, 1), "2"),
        ([2, 9], places(3, 1, 7, 1), "3"),
        ([2, 3, 20], places(4, 2, 5, 3, start=1), "4"),
        ([2, 3, 2, 9], places(5, 1, 5, 1), "5"),
        ([2, 2, 1, 3, 40], places(7, 3, 4, 6), "7"),
        ([2, 9], places(3, 1, 7, 1).T, "turned-2"),
        ([2, 3, 17], places(3, 2, 4, 4).T, "turned-3"),
        ([2, 3, 2, 9], places(3, 2, 5, 1).T, "turned-4"),
        ([2, 3, 4, 2, 9], places(3, 1, 3, 3).T, "turned-5"),
    ],
)
def test_windows_by_slices(tmp_path, shape, index, rule):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=len(shape) - 1)]
    y = shape[:-1] + list(index.shape)
    given = nodes, [tensor("x", shape)], [tensor("y", y)], {"i": index}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", "gather-slices-" + rule)])
    count = 3 if rule.startswith("turned") else int(rule)
    assert "Gather" not in kinds and kinds.count("Slice") == count, kinds
    agree(*paths, {"x": floats(*shape)})


@pytest.mark.parametrize(
    "index",
    [
        places(3, 1, 7, 1)[:, ::-1],  # windows in falling order
        places(3, -1, 7, 1, start=2),
        places(3, 1, 7, 1, start=-3),  # places that count from the end
        numpy.square(numpy.arange(9) % 3).reshape(3, 3),
        places(3, 1, 7, 1).reshape(1, 3, 7),
        numpy.array([[0, 1, 2], [1, 2, 3], [2, 3, 5]]),
    ],
)
def test_other_places_are_no_windows(tmp_path, index):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=1)]
    y = [2] + list(index.shape)
    given = nodes, [tensor("x", [2, 9])], [tensor("y", y)], {"i": index}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", "gather-slices-3")])
    assert kinds == ["Gather"], kinds
    agree(*paths, {"x": floats(2, 9)})


def runs(length, start, *axes):
    """An index that takes runs of this length, at (number, step) for each axis."""
    out = start + numpy.arange(length)
    for number, step in reversed(axes):
        out = out + (step * numpy.arange(number)).reshape(-1, *[1] * out.ndim)
    return out


@pytest.mark.parametrize(
    "size, index, rule",
    [
        (40, runs(8, 0, (3, 8)), "1"),
        (40, runs(4, 0, (3, 8), (4, 4)), "2"),
        (96, runs(8, 0, (2, 24), (3, 8), (1, 8)), "3"),
        (40, runs(8, 4, (3, 8)), None),  # they begin between rows
        (40, runs(8, 8, (3, 8)), None),  # .. behind the start
        (44, runs(8, 0, (3, 8)), None),
        (40, runs(8, 0, (3, 4)), None),
        (40, runs(8, 0, (3, 8))[:, ::-1], None),
    ],
)
def test_runs(tmp_path, size, index, rule):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=0)]
    given = nodes, [tensor("x", [size])], [tensor("y", list(index.shape))], {"i": index}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", "gather-runs-" + (rule or "1"))])
    assert kinds == (["Reshape", "Gather"] if rule else ["Gather"]), kinds
    agree(*paths, {"x": floats(size)})


@pytest.mark.parametrize(
    "shape, gone", [([2, 3, 1], True), ([2, 3, 4, 1], True), ([2, 3, 2], False)]
)
def test_only_window(tmp_path, shape, gone):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=len(shape) - 1)]
    y = shape[:-1] + [1, 1]
    given = nodes, [tensor("x", shape)], [tensor("y", y)], {"i": numpy.zeros((1, 1), "int64")}
    name = f"gather-only-window-{len(shape)}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", name)])
    assert ("Gather" not in kinds) == gone, kinds
    agree(*paths, {"x": floats(*shape)})


@pytest.mark.parametrize("turned, applies", [(False, True), (True, False)])
def test_unfold(tmp_path, turned, applies):
    """Rows and columns have different windows. With another order of axes this is not an unfold."""
    perm = [0, 1, 2, 4, 5, 3] if turned else [0, 1, 2, 4, 3, 5]
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["g"], axis=2),
        helper.make_node("Gather", ["g", "j"], ["k"], axis=4),
        helper.make_node("Transpose", ["k"], ["y"], perm=perm),
    ]
    columns = numpy.arange(2)[:, None] + numpy.arange(5)[None]
    y = [2, 3, 3, 2, 5, 4] if turned else [2, 3, 3, 2, 4, 5]
    known = {"i": PLACES, "j": columns}
    given = nodes, [tensor("x", [2, 3, 9, 6])], [tensor("y", y)], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", "unfold-columns-first")])
    assert (kinds.count("Transpose") == 2) == applies, kinds
    agree(*paths, {"x": floats(2, 3, 9, 6)})


@pytest.mark.parametrize(
    "x, z, axis, y, rule",
    [
        ([7, 3, 1], [4, 1, 3, 2], 2, [4, 7, 2], "sum-products-matmul"),
        ([4, 7, 3, 1], [4, 1, 3, 2], 2, [4, 7, 2], "sum-products-matmul-batch"),
        ([4, 7, 1, 3], [4, 1, 2, 3], 3, [4, 7, 2], "sum-products-pairs"),
        ([4, 7, 1], [4, 7, 3], 1, [4, 3], "sum-weighed-rows"),
    ],
)
def test_summed_products(tmp_path, x, z, axis, y, rule):
    nodes = [
        helper.make_node("Mul", ["x", "z"], ["p"]),
        helper.make_node("ReduceSum", ["p", "axis"], ["y"], keepdims=0),
    ]
    known = {"axis": numpy.array([axis])}
    given = nodes, [tensor("x", x), tensor("z", z)], [tensor("y", y)], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("reduce", rule)])
    assert "MatMul" in kinds and "ReduceSum" not in kinds, kinds
    agree(*paths, {"x": floats(*x), "z": floats(*z)})


@pytest.mark.parametrize("levels, stacked", [(2, False), (3, False), (3, True), (4, True)])
def test_weighed_levels(tmp_path, levels, stacked):
    """The results of the levels of a pyramid are weighted and summed for each query without being
    joined."""
    names, shape = "abcd"[:levels], [2, 3, 5] + [1] * stacked + [4]
    nodes = [helper.make_node("Concat", list(names), ["g"], axis=3)]
    nodes += [helper.make_node("Reshape", ["g", "flat"], ["h"])] * stacked
    nodes.append(helper.make_node("Mul", ["h" if stacked else "g", "w"], ["p"]))
    nodes.append(helper.make_node("ReduceSum", ["p", "axis"], ["y"], keepdims=0))
    known = {"axis": numpy.array([3])}
    known |= {"flat": numpy.array([2, 3, 5, 4 * levels])} if stacked else {}
    sizes = {n: shape for n in names} | {"w": [2, 1, 5, 4 * levels]}
    given = nodes, [tensor(n, s) for n, s in sizes.items()], [tensor("y", [2, 3, 5])], known
    name = f"sum-weighed-{'stack' if stacked else 'levels'}-{levels}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("reduce", name)])
    assert "Concat" not in kinds and kinds.count("ReduceSum") == 1, kinds
    agree(*paths, {n: floats(*s) for n, s in sizes.items()})


def cut(shape, first, last):
    """A Slice of "a" along the last axis, and its constants."""
    node = helper.make_node("Slice", ["a", "from", "to", "last"], ["y"])
    ends = {"from": numpy.array([first]), "to": numpy.array([last])}
    return node, ends | {"last": numpy.array([len(shape) - 1])}


@pytest.mark.parametrize("op", ["Add", "Mul", "Relu", "Sigmoid", "Tanh"])
def test_cut_elements(tmp_path, op):
    inputs = [tensor(n, [2, 3, 9]) for n in ("xz" if op in ("Add", "Mul") else "x")]
    node, known = cut([2, 3, 9], 2, 7)
    nodes = [helper.make_node(op, [i.name for i in inputs], ["a"]), node]
    given = nodes, inputs, [tensor("y", [2, 3, 5])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("slices", f"slice-{op.lower()}")])
    assert kinds[-1] == op and kinds.count("Slice") == len(inputs), kinds
    agree(*paths, {i.name: floats(2, 3, 9) for i in inputs})


@pytest.mark.parametrize("axes, bias", [(1, False), (1, True), (2, False), (2, True)])
def test_cut_convolution(tmp_path, axes, bias):
    """The kernel has three taps at a distance of two, so the convolution reads four more places
    than it gives."""
    rows, taps = [5] * (axes - 1), [2] * (axes - 1) + [3]
    x, y = [2, 4, *rows, 16], [2, 6, *[4] * (axes - 1), 5]
    node, cuts = cut(x, 3, 8)
    known = {"w": floats(6, 4, *taps)} | ({"b": floats(6)} if bias else {})
    conv = helper.make_node("Conv", ["x", *known], ["a"], dilations=[1] * (axes - 1) + [2])
    given = [conv, node], [tensor("x", x)], [tensor("y", y)], known | cuts
    name = f"slice-conv{'1d' if axes == 1 else '-columns'}{'-bias' * bias}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("slices", name)])
    assert kinds == ["Slice", "Conv"], kinds
    agree(*paths, {"x": floats(*x)})


def test_cut_twice(tmp_path):
    first, known = cut([2, 9], 1, 8)
    first.input[0], first.output[0] = "x", "b"
    second = helper.make_node("Slice", ["b", "f", "t", "last"], ["y"])
    known |= {"f": numpy.array([2]), "t": numpy.array([6])}
    given = [first, second], [tensor("x", [2, 9])], [tensor("y", [2, 4])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("slices", "slice-slice-last")])
    assert kinds == ["Slice"], kinds
    agree(*paths, {"x": floats(2, 9)})
