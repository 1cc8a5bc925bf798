"""Resize whose lists do not fit its input: an error, never a read or a write elsewhere."""

import os, subprocess
import onnx, pytest
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
        ([2, 3], [2, 2], [0, 1], {}, 0),  # not looked at
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
