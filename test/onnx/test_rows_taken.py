"""Rules about rows that are taken by an index which is expanded along them (gather.rules), moving
averages of short series as products (rows.rules), and repeated rows and columns (resize.rules)."""

import numpy, pytest
from onnx import TensorProto, helper
from small_models import tensor
from test_parts import agree, floats, rewritten


def indices(shape, below):
    return numpy.random.default_rng(1).integers(-below, below, shape)


@pytest.mark.parametrize(
    "x, i, axis, rule, kind",
    [
        ([2, 9, 3], [2, 5, 1], 1, "gatherelements-rows", "GatherND"),
        ([2, 9, 3, 4], [2, 5, 1, 1], -3, "gatherelements-rows", "GatherND"),
        ([9, 3], [5, 1], 0, "gatherelements-rows-first", "Gather"),
        ([2, 4, 9, 3], [2, 4, 5, 1], 2, "gatherelements-rows-third", "GatherND"),
        ([9, 3], [9, 1], 1, "gatherelements-rows-first", "GatherElements"),  # an index for each row
    ],
)
def test_expanded_index(tmp_path, x, i, axis, rule, kind):
    y = [n if n > 1 else x[k] for k, n in enumerate(i)]
    nodes = [
        helper.make_node("Expand", ["i", "sizes"], ["j"]),
        helper.make_node("GatherElements", ["x", "j"], ["y"], axis=axis),
    ]
    given = [tensor("x", x), tensor("i", i, TensorProto.INT64)], [tensor("y", y)]
    known = {"sizes": numpy.array(y)}
    kinds, *paths = rewritten(tmp_path, nodes, *given, known, rules=[("gather", rule)])
    assert kind in kinds, kinds
    agree(*paths, {"x": floats(*x), "i": indices(i, x[axis])})


@pytest.mark.parametrize("batch", [1, 3])
def test_repeated_index(tmp_path, batch):
    nodes = [
        helper.make_node("Tile", ["i", "times"], ["j"]),
        helper.make_node("GatherElements", ["x", "j"], ["y"], axis=1),
    ]
    x, i, y = [batch, 9, 6], [batch, 4, 1], [batch, 4, 6]
    given = [tensor("x", x), tensor("i", i, TensorProto.INT64)], [tensor("y", y)]
    rules = [("gather", "gatherelements-rows-tiled"), ("gather", "gathernd-one-batch")]
    known = {"times": numpy.array([1, 1, 6])}
    kinds, *paths = rewritten(tmp_path, nodes, *given, known, rules=rules)
    assert ("Gather" if batch == 1 else "GatherND") in kinds, kinds
    agree(*paths, {"x": floats(*x), "i": indices(i, 9)})


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("length, applies", [(40, True), (600, False)])
def test_moving_average(tmp_path, counts, length, applies):
    made = {"kernel_shape": [5], "pads": [2, 1], "strides": [2], "count_include_pad": counts}
    nodes = [helper.make_node("AveragePool", ["x"], ["y"], **made)]
    given = [tensor("x", [2, 3, length])], [tensor("y", [2, 3, (length - 2) // 2 + 1])]
    rule = "averagepool1d-matmul" + "-plain" * (not counts)
    kinds, *paths = rewritten(tmp_path, nodes, *given, {}, rules=[("rows", rule)])
    assert ("MatMul" in kinds) == applies, kinds
    agree(*paths, {"x": floats(2, 3, length)})


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("turned, applies", [(False, True), (True, False)])
def test_repeated_rows_and_columns(tmp_path, last, turned, applies):
    """Rows and columns are repeated as Keras 3 does it. If instead the whole image is repeated,
    which is not nearest-neighbour interpolation, the rule does not apply."""
    n, c, h, w = 2, 3, 4, 5
    shape, end = ([n, h, w, c], [n, 2 * h, 3 * w, c]) if last else ([n, c, h, w], [n, c, 8, 15])
    inner, axis = ([n, h, 1, w, c], 2) if last else ([n, c, h, 1, w], 3)
    if turned:
        inner[axis - 1 : axis + 1] = [1, inner[axis - 1]]
    op = helper.make_node
    nodes = [op("Reshape", ["x", "s"], ["a"]), op("Tile", ["a", "r"], ["b"])]
    nodes += [] if last else [op("Transpose", ["b"], ["t"], perm=[0, 2, 3, 4, 1])]
    nodes += [op("Reshape", ["b" if last else "t", "d"], ["e"]), op("Reshape", ["e", "f"], ["g"])]
    nodes += [op("Tile", ["g", "q"], ["i"]), op("Reshape", ["i", "j"], ["y" if last else "k"])]
    nodes += [] if last else [op("Transpose", ["k"], ["y"], perm=[0, 3, 1, 2])]
    times = [1] * 5
    times[axis - turned] = 2
    known = {"s": inner, "r": times, "d": [n, 8, w, c], "f": [n, 8, w, 1, c]}
    known |= {"q": [1, 1, 1, 3, 1], "j": [n, 8, 15, c]}
    known = {name: numpy.array(v) for name, v in known.items()}
    rule = "repeat-rows-columns-resize" + "-last" * last
    given = nodes, [tensor("x", shape)], [tensor("y", end)], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("resize", rule)])
    assert ("Resize" in kinds) == applies, kinds
    agree(*paths, {"x": floats(*shape)})
