"""ScatterND whose indices follow each other is imported as a concatenation (written.c). ScatterND
with a reduction is not made for ONNX Runtime, which loses updates on several threads."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import BUILD, PROGRAM, ROOT, save, tensor

DRAW = numpy.random.default_rng(0)


def floats(*shape):
    return DRAW.normal(size=shape).astype("f")


@pytest.mark.parametrize(
    "indices, run",
    [([0, 1], 1), ([2, 3], 1), ([4, 5], 1), ([0, 1, 2, 3, 4, 5], 1)]
    + [([1, 3], 0), ([3, 2], 0), ([2, 2], 0), ([-2, -1], 0), ([4], 1)],
)
def test_imported_runs(tmp_path, indices, run):
    """Rows that follow each other are replaced by a concatenation; the built-in runtime computes
    what ONNX Runtime does in any case."""
    u = [len(indices), 3]
    known = {"i": numpy.array(indices, numpy.int64).reshape(-1, 1)}
    inputs = [tensor("x", [6, 3]), tensor("u", u)]
    nodes = [helper.make_node("ScatterND", ["x", "i", "u"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", [6, 3])], known, opset=18)
    feed = {"x": floats(6, 3), "u": floats(*u)}
    numpy.savez(tmp_path / "feed.npz", **feed)
    program = [os.path.join(BUILD, "run-model"), path]
    dump = subprocess.run([*program, "-d", "graph"], capture_output=True, text=True, check=True)
    assert ("scatternd" in dump.stdout) == (not run), dump.stdout
    words = ["--input", tmp_path / "feed.npz", "--output-dir", tmp_path]
    subprocess.run([*program, *words], check=True, capture_output=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "y.npy"), session.run(None, feed)[0])


@pytest.mark.parametrize("target", ["onnxruntime", f"{ROOT}/scripts/measure-onnxruntime"])
def test_no_sums_by_scatternd(target, tmp_path):
    nodes = [
        helper.make_node("Unsqueeze", ["i", "last"], ["j"]),
        helper.make_node("Expand", ["j", "all"], ["k"]),
        helper.make_node("ScatterElements", ["x", "k", "u"], ["y"], axis=0, reduction="add"),
    ]
    inputs = [tensor("x", [600, 128]), tensor("i", [3000], TensorProto.INT64)]
    inputs += [tensor("u", [3000, 128])]
    known = {"last": numpy.array([1]), "all": numpy.array([3000, 128])}
    output = tensor("y", [600, 128])
    path = save(tmp_path / "m.onnx", nodes, inputs, [output], known, opset=18)
    out = tmp_path / "o.onnx"
    words = ["--measure-with", target, "--input", "i=0..599", "--enable", "scatter-add-rows"]
    words += ["--cost-db", tmp_path / "costs.sqlite"]
    subprocess.run([PROGRAM, path, out, *words], check=True, capture_output=True)
    assert "ScatterND" not in [node.op_type for node in onnx.load(out).graph.node]
