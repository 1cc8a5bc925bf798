"""Convolutions with fewer multiplications (winograd.rules), along one axis and along both: what
they compute, that they are not used where a constant is infinite, and how large the file may
become."""

import os, subprocess
import numpy, onnx, pytest
from onnx import helper
from small_models import LIBRARY, PROGRAM, agree, save, tensor

EAGER = os.path.join(os.path.dirname(__file__), "prefer-rewritten")
DRAW = numpy.random.default_rng(0)


def floats(*shape):
    return DRAW.normal(size=shape).astype("f")


def rewritten(tmp_path, nodes, x, y, weights, *options):
    """Applies these rules wherever they match: (graph of the result, path of the original, path of
    the result)."""
    model = (nodes, [tensor("x", x)], [tensor("y", y)], weights)
    path, out = save(tmp_path / "m.onnx", *model), tmp_path / "o.onnx"
    words = [PROGRAM, str(path), str(out), "--measure-with", EAGER, "--quiet", *options]
    words += ["--rules", os.path.join(LIBRARY, "winograd.rules")]
    subprocess.run(words, check=True, capture_output=True)
    return onnx.load(out).graph, str(path), str(out)


def strides(graph):
    """The strides of the convolutions that work on blocks of four rows or four columns."""
    found = {
        tuple(a.ints)
        for node in graph.node
        if node.op_type == "Conv"
        for a in node.attribute
        if a.name == "strides"
    }
    return {s for s in found if 4 in s}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "kernel, pads, blocks",
    [
        ((3, 3), (1, 1, 1, 1), {(4, 1), (1, 4)}),
        ((3, 2), (0, 1, 2, 0), {(4, 1)}),
        ((1, 3), (0, 2, 0, 0), {(1, 4)}),
        ((3,), (1, 1), {(1, 4)}),
        ((3,), (2, 0), {(1, 4)}),
    ],
)
@pytest.mark.parametrize("long", range(8, 12))
def test_computes_the_same(tmp_path, kernel, pads, blocks, bias, long):
    size = (long, 19 - long)[: len(kernel)]
    ones = [n + p + q - k + 1 for n, p, q, k in zip(size, pads, pads[len(kernel) :], kernel)]
    weights = {"w": floats(6, 5, *kernel), **({"b": floats(6)} if bias else {})}
    nodes = [helper.make_node("Conv", ["x", *weights], ["y"], pads=pads)]
    graph, before, after = rewritten(tmp_path, nodes, [2, 5, *size], [2, 6, *ones], weights)
    assert strides(graph) == blocks
    assert not bias or "Add" not in {node.op_type for node in graph.node} or len(kernel) == 1
    agree(before, after, floats(2, 5, *size))


@pytest.mark.parametrize("mask, kept", [(-1.0, False), (-numpy.inf, True), (-3e38, True)])
def test_infinities_keep_it_away(tmp_path, mask, kept):
    """Since 0 times infinity is NaN, an infinity of a mask would spread over its block."""
    weights = {"m": numpy.full([1, 5, 8, 7], mask, "f"), "w": floats(6, 5, 3, 3)}
    nodes = [
        helper.make_node("Add", ["x", "m"], ["s"]),
        helper.make_node("Conv", ["s", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    graph, *_ = rewritten(tmp_path, nodes, [1, 5, 8, 7], [1, 6, 8, 7], weights, "--check=0")
    assert (not strides(graph)) == kept


@pytest.mark.parametrize("growth, computed", [([], False), (["--max-growth", "20000000"], True)])
def test_weights_that_would_grow_are_left_to_the_target(tmp_path, growth, computed):
    weights = {"w": floats(256, 256, 3, 3) / 48}
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    shape = [1, 256, 8, 8]
    graph, before, after = rewritten(tmp_path, nodes, shape, shape, weights, *growth)
    assert strides(graph)
    assert (os.path.getsize(after) > 1.5 * os.path.getsize(before)) == computed
    agree(before, after, floats(*shape))
