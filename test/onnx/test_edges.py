"""Attributes and values at the limits of what ONNX allows: a sample of the cases of edges.py, and
single cases with known results."""

import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper

import edges
from edge_cases import Fixed, drawn, long_strides, special_alone

HERE = os.path.dirname(os.path.abspath(__file__))


def test_no_deviation_is_new():
    """Everything that differs from ONNX Runtime or the reference is listed in deviations.tsv."""
    command = [sys.executable, os.path.join(HERE, "edges.py"), "--sample"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of them not in deviations.tsv" in done.stdout


def run_case(name, attributes, inputs, outputs, folder):
    """What run-model, ONNX Runtime and the reference make of a case of edge_cases.py."""
    names = [f"x{k}" for k in range(len(inputs))]
    node = helper.make_node(name, names, [f"y{k}" for k in range(outputs)], **attributes)
    feed = {n: x for n, x in zip(names, inputs) if not isinstance(x, Fixed)}
    model = edges.model_of(node, inputs)
    model.opset_import[0].version = 23
    return edges.results(model, feed, str(folder))


def wrong(cases, folder):
    """The cases in which run-model does not give ONNX Runtime's result, with what it says."""
    found = []
    for name, attributes, inputs, outputs in cases:
        mine, runtime, _ = run_case(name, attributes, inputs, outputs, folder)
        if runtime is None or isinstance(mine, str) or not edges.agrees(mine, runtime):
            words = edges.first_difference([mine, runtime or "refused"])
            found.append((name, attributes, [edges.words_of(x) for x in inputs], words))
    return found


def test_strides_beyond_the_image(tmp_path):
    """A window that is alone on its axis does not move, however long the stride is."""
    assert not wrong(long_strides(), tmp_path)


def test_remainders_by_infinity(tmp_path):
    """fmod(x, infinity) is x, whatever else is in the tensor."""
    cases = [case for case in special_alone() if case[0] == "Mod"]
    assert cases and not wrong(cases, tmp_path)


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
    x = np.zeros(0, np.float32)
    assert sliced(-1, -(2**63), -1) == [] and sliced(0, 0, -2) == []
    x = np.arange(5, dtype=np.float32)
    assert sliced(1, 2**63 - 1, 2**63 - 1) == [1] and sliced(4, -9, 1 - 2**63) == [4]


def test_scales_that_are_broadcast(tmp_path):
    """Axes of size 1 of a normalization's scale and bias are stretched to the sizes of x."""
    x, one = drawn(3, 16, 5, 10, low=1), drawn(16, 1, 1)
    cases = [
        ("LayerNormalization", {"axis": 1}, [x, one, drawn(10, low=20, high=30)], 1),
        ("LayerNormalization", {"axis": 2}, [x, drawn(1), 30 + one], 3),
        ("LayerNormalization", {}, [drawn(2, 1), drawn(1), drawn(1, 1)], 1),
        ("RMSNormalization", {"axis": 1}, [x, one], 1),
        ("RMSNormalization", {}, [drawn(1, 2), drawn(1)], 1),
    ]
    assert not wrong(cases, tmp_path)


def test_bounds_of_clip(tmp_path):
    """A lower bound of minus infinity and an upper bound of infinity have no effect, while a lower
    bound of the largest float and an upper bound of the smallest have. Bounds of doubles may lie
    beyond the range of floats, and those at its ends have an effect."""
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
    wide = np.array([-1e300, 2, 1e39, np.inf])
    assert clipped(-most, most, wide) == [-most, 2, most, most]
    assert clipped(-most, None, wide) == [-most, 2, 1e39, np.inf]
    assert clipped(None, 1, wide) == [-1e300, 1, 1, 1]


def test_a_fill_keeps_the_sign_of_zero(tmp_path):
    for zero in (0.0, -0.0):
        value = helper.make_tensor("value", TensorProto.FLOAT, [1], [zero])
        (element,) = alone("ConstantOfShape", [Fixed([1])], tmp_path, value=value)
        assert str(element) == str(zero)


def test_refusals_say_what_is_wrong(tmp_path):
    """The reason is that of the operation that failed: the import, or the plan."""
    said = alone("Range", [Fixed(v, np.float32) for v in (9.7, 20, 1)], tmp_path)
    assert "input 0 is not a list of known whole numbers" in said
    said = alone("OneHot", [np.arange(2), Fixed(2**62), np.arange(2)], tmp_path)
    assert "exit 4" in said and "no algebraic definition" not in said


def test_auto_pad_that_is_read_differently(tmp_path):
    """A node whose strides pass over whole elements is left as it is."""
    x, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 1), np.float32)
    same = {"auto_pad": "SAME_UPPER", "kernel_shape": [1]}
    for name, inputs in (("Conv", [x, w]), ("AveragePool", [x]), ("ConvTranspose", [x, w])):
        assert "pass over whole elements" in alone(name, inputs, tmp_path, strides=[4], **same)
    assert alone("Conv", [x, w], tmp_path, strides=[2], **same) == [[[1, 1]]]
