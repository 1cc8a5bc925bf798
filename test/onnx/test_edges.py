"""Attributes and values at the limits of what ONNX allows: a sample of the cases of edges.py, and
single cases with known results."""

import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper

import edges
from edge_cases import Fixed

HERE = os.path.dirname(os.path.abspath(__file__))


def test_no_deviation_is_new():
    """Everything that differs from ONNX Runtime or the reference is listed in deviations.tsv."""
    command = [sys.executable, os.path.join(HERE, "edges.py"), "--sample"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of them not in deviations.tsv" in done.stdout


def alone(name, inputs, folder, **attributes):
    """The result of one node in run-model as a list, or the way in which run-model failed."""
    names = ["" if x is None else f"x{k}" for k, x in enumerate(inputs)]
    model = edges.model_of(helper.make_node(name, names, ["y"], **attributes), inputs)
    feed = {n: x for n, x in zip(names, inputs) if n and not isinstance(x, Fixed)}
    found = edges.ours(model, feed, str(folder))
    return found if isinstance(found, str) else found[0].tolist()


def test_slices_as_the_specification_says(tmp_path):
    """With a negative step the start is clamped to 0, not to the place before it. Steps may be
    arbitrarily large."""
    x = np.arange(5, dtype=np.float32)

    def sliced(start, end, step):
        return alone(
            "Slice", [x, Fixed([start]), Fixed([end]), Fixed([0]), Fixed([step])], tmp_path
        )

    assert sliced(-9, -9, -1) == [0] and sliced(-9, -(2**63), -2) == [0]
    assert sliced(9, -9, -2) == [4, 2, 0] and sliced(0, 2**31 - 1, -1) == []
    assert sliced(1, 2**63 - 1, 2**63 - 1) == [1] and sliced(4, -9, 1 - 2**63) == [4]


def test_bounds_of_clip(tmp_path):
    """A lower bound of minus infinity and an upper bound of infinity have no effect, while a lower
    bound of the largest float and an upper bound of the smallest have. Bounds of doubles may lie
    beyond the range of floats."""
    x = np.array([-np.inf, -2, 3, np.inf], np.float32)
    most = float(np.finfo(np.float32).max)

    def clipped(low, high, values=x):
        bounds = [None if v is None else Fixed(v, values.dtype) for v in (low, high)]
        return alone("Clip", [values, *bounds], tmp_path)

    assert clipped(-np.inf, 1) == [-np.inf, -2, 1, 1]
    assert clipped(0, np.inf) == [0, 0, 3, np.inf]
    assert clipped(most, None) == [most] * 3 + [np.inf]
    assert clipped(None, -most) == [-np.inf] + [-most] * 3
    assert clipped(None, 1e39, np.array([1e38, 1e40])) == [1e38, 1e39]


def test_a_fill_keeps_the_sign_of_zero(tmp_path):
    for zero in (0.0, -0.0):
        value = helper.make_tensor("value", TensorProto.FLOAT, [1], [zero])
        (element,) = alone("ConstantOfShape", [Fixed([1])], tmp_path, value=value)
        assert str(element) == str(zero)


def test_auto_pad_that_is_read_differently(tmp_path):
    """A node whose strides pass over whole elements is left as it is."""
    x, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 1), np.float32)
    same = {"auto_pad": "SAME_UPPER", "kernel_shape": [1]}
    for name, inputs in (("Conv", [x, w]), ("AveragePool", [x]), ("ConvTranspose", [x, w])):
        assert "pass over whole elements" in alone(name, inputs, tmp_path, strides=[4], **same)
    assert alone("Conv", [x, w], tmp_path, strides=[2], **same) == [[[1, 1]]]
