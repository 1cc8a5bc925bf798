"""A rule with two axis blocks whose verdict covers all ranks applies at any rank, whichever of the
blocks has more axes than the rule lists."""

import pytest
from onnx import helper
from small_models import tensor
from test_parts import agree, floats, rewritten

SHAPES = [
    ([3, 4], []),
    ([2, 3, 4, 5, 6], []),
    ([2, 3, 4, 5, 6], [6]),
    ([2, 2, 3, 4, 5, 6], [4, 5, 6]),
]


@pytest.mark.parametrize("shape, slope", SHAPES)
def test_ranks(tmp_path, shape, slope):
    """prelu-min lists up to three axes along which the slope is the same, and up to three along
    which it differs."""
    nodes = [helper.make_node("PRelu", ["x", "s"], ["y"])]
    given = nodes, [tensor("x", shape)], [tensor("y", shape)], {"s": abs(floats(*slope, 1))[..., 0]}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("activation", "prelu-min")])
    assert "PRelu" not in kinds and "Min" in kinds, kinds
    agree(*paths, {"x": floats(*shape)})
