"""A factor and a summand for each channel become a batch normalization (stretch.rules)."""

import numpy, pytest
from onnx import helper
from small_models import tensor
from test_parts import agree, floats, rewritten


@pytest.mark.parametrize(
    "shape, factor, applies",
    [
        ([2, 5, 7], [5, 1], True),
        ([2, 5, 3, 4], [1, 5, 1, 1], True),
        ([2, 5, 2, 3, 4], [5, 1, 1, 1], True),
        ([2, 5, 3, 4], [4], False),
        ([5, 7], [5, 1], False),
    ],
)
def test_affine(tmp_path, shape, factor, applies):
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["p"]),
        helper.make_node("Add", ["b", "p"], ["y"]),
    ]
    known = {"s": floats(*factor), "b": floats(*factor)}
    given = nodes, [tensor("x", shape)], [tensor("y", shape)], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("stretch", "channel-affine-batchnorm")])
    assert ("BatchNormalization" in kinds) == ("Mul" not in kinds) == applies, kinds
    agree(*paths, {"x": floats(*shape)})


def test_what_is_read_elsewhere_stays(tmp_path):
    """Where the product is a result, too, nothing is saved."""
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["y"]),
    ]
    known = {"s": floats(5, 1), "b": numpy.zeros((5, 1), "f")}
    results = [tensor("y", [2, 5, 7]), tensor("p", [2, 5, 7])]
    given = nodes, [tensor("x", [2, 5, 7])], results, known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("stretch", "channel-affine-batchnorm")])
    assert "Mul" in kinds
    agree(*paths, {"x": floats(2, 5, 7)})
