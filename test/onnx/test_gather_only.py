"""The rules gather-only-*, in which a `fill` stands for the index, a constant of integers."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import helper
from small_models import LIBRARY, PROGRAM, save, tensor

EAGER = os.path.join(os.path.dirname(__file__), "prefer-rewritten")


@pytest.mark.parametrize(
    "shape, axis, index, gone",
    [
        ([3, 4, 1], 2, 0, True),
        ([3, 4, 5, 1], -1, 0, True),
        ([3, 1, 4], 1, 0, True),
        ([3, 4, 2], 2, 0, False),
        ([3, 4, 2], 2, 1, False),
    ],
)
def test_only_element(tmp_path, shape, axis, index, gone):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)]
    y = [n for k, n in enumerate(shape) if k != axis % len(shape)]
    given = [tensor("x", shape)], [tensor("y", y)], {"i": numpy.array(index)}
    path, out = save(tmp_path / "m.onnx", nodes, *given), tmp_path / "o.onnx"
    rules = os.path.join(LIBRARY, "gather.rules")
    words = [PROGRAM, str(path), str(out), "--rules", rules, "--measure-with", EAGER, "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert ("Gather" not in kinds) == gone, kinds
    x = numpy.random.default_rng(0).normal(size=shape).astype("f")
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    assert (session.run(None, {"x": x})[0] == x.take(index, axis)).all()
