"""Integers that no double holds, unsigned ones beyond the signed, and sums of truth values are what
they are."""

import numpy as np
import onnx, pytest
from onnx import TensorProto, helper, numpy_helper
from test_control import feed
from test_run_model import run

BIG = np.array([2**63 + 5, 2**63 + 7], np.uint64)
SMALL = np.array([4, 6], np.uint64)


def result(tmp_path, kind, inputs, weights={}, **attributes):
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in inputs.items()
    ]
    first = next(iter(inputs.values()))
    out = helper.make_tensor_value_info(
        "y", helper.np_dtype_to_tensor_dtype(first.dtype), first.shape
    )
    node = helper.make_node(kind, [*inputs, *weights], ["y"], **attributes)
    constants = [numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph([node], "g", infos, [out], constants)
    path = tmp_path / "m.onnx"
    onnx.save(
        helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), path
    )
    done = run(path, *feed(tmp_path, **inputs), "--output-dir", tmp_path / "out")
    return np.load(tmp_path / "out" / "y.npy") if done.returncode == 0 else done


@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
def test_the_greater_of_unsigned_integers(tmp_path, kind):
    places = np.array([0, 1], np.int64)
    inputs = {"x": BIG, "i": places if kind == "ScatterElements" else places[:, None], "u": SMALL}
    assert (result(tmp_path, kind, inputs, reduction="max") == BIG).all()
    assert (result(tmp_path, kind, inputs, reduction="min") == SMALL).all()


@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
def test_a_sum_of_truth_values_is_one(tmp_path, kind):
    places = np.array([0, 0], np.int64)
    x = np.array([True, False])
    inputs = {"x": x, "i": places if kind == "ScatterElements" else places[:, None], "u": x | True}
    found = result(tmp_path, kind, inputs, reduction="add")
    assert found.view(np.uint8).tolist() == [1, 0]


def test_a_bound_is_not_rounded(tmp_path):
    bounds = {"l": np.array(5, np.uint64), "h": np.array(2**63 + 6, np.uint64)}
    done = result(tmp_path, "Clip", {"x": BIG}, bounds)
    assert done.returncode == 3 and "an integer that no double holds" in done.stderr
    least = {"l": np.array(5, np.int64), "h": np.array(2**63 - 1, np.int64)}
    x = np.array([4, 2**53 + 1], np.int64)
    assert result(tmp_path, "Clip", {"x": x}, least).tolist() == [5, 2**53 + 1]
