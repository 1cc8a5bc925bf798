"""A Resize whose lists do not fit its input is an error, and never reads or writes outside. A
Resize of bytes, with channels first or last, gives the same as ONNX Runtime."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import PROGRAM, tensor

RUN = os.path.join(os.path.dirname(PROGRAM), "run-model")
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}


def resized(path, axes, scales, roi=None, **words):
    """A model of one Resize along these axes of [1, 2, 8, 8]."""
    lists = {"s": scales} | ({} if roi is None else {"r": roi})
    node = helper.make_node(
        "Resize", ["x", "" if roi is None else "r", "s"], ["y"], axes=axes, mode="cubic", **words
    )
    graph = helper.make_graph(
        [node],
        "resize",
        [tensor("x", [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor(name, TensorProto.FLOAT, [len(v)], v) for name, v in lists.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize(
    "axes, scales, roi, words, code",
    [
        ([2, 3], [2, 2], None, {}, 0),
        ([-1], [2], None, {}, 0),
        ([2, 3], [2, 2], [0, 1], {}, 0),  # the list is not used
        ([2, 3], [2, 2], [0, 0, 1, 1], CROP, 0),
        ([7], [2], None, {}, 3),
        ([-5], [2], None, {}, 3),
        ([2, 3], [2], None, {}, 3),
        ([0, 1, 2, 3, 7], [1, 1, 2, 2, 2], None, {}, 3),
        ([2, 3], [2, 2], [0, 1], CROP, 3),
    ],
)
def test_lists_fit_the_input(tmp_path, axes, scales, roi, words, code):
    path = resized(tmp_path / "m.onnx", axes, scales, roi, **words)
    done = subprocess.run([RUN, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done
    assert code == 0 or done.stderr.startswith("run-model: "), done


def resized_bytes(path, kind, factor, last):
    """A model that interpolates an image of bytes, and repeats its pixels beside that."""
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, factor, factor])
    ways = {"a": {"mode": "linear"}, "b": {"nearest_mode": "floor"}}
    ways["b"]["coordinate_transformation_mode"] = "asymmetric"
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2])] if last else []
    for name, words in ways.items():
        turned = name + "t" if last else name
        nodes += [helper.make_node("Resize", ["t" if last else "x", "", "s"], [turned], **words)]
        nodes += (
            [helper.make_node("Transpose", [turned], [name], perm=[0, 2, 3, 1])] if last else []
        )
    nodes += [helper.make_node("Concat", ["a", "b"], ["y"], axis=3 if last else 1)]
    given = helper.make_tensor_value_info("x", kind, [1, 7, 5, 24] if last else [1, 24, 7, 5])
    made = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph(nodes, "resize", [given], [made], [scales])
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("factor", [2, 4, 3])
@pytest.mark.parametrize("kind", [TensorProto.INT8, TensorProto.UINT8])
def test_bytes_are_interpolated_alike(tmp_path, kind, factor, last):
    """With a factor that is a power of 2 all sums are exact; with 3, rounding may miss an
    integer."""
    path = resized_bytes(tmp_path / "m.onnx", kind, factor, last)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    bounds = (-128, 128) if kind == TensorProto.INT8 else (0, 256)
    shape = session.get_inputs()[0].shape
    x = numpy.random.default_rng(factor).integers(*bounds, shape)
    x = x.astype("int8" if kind == TensorProto.INT8 else "uint8")
    numpy.save(tmp_path / "x.npy", x)
    words = [RUN, path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    away = numpy.abs(numpy.load(tmp_path / "y.npy").astype(int) - session.run(None, {"x": x})[0])
    assert away.max() <= (factor == 3)
