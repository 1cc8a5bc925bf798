#!/usr/bin/env python3
"""Attributes at the ends of what ONNX allows, and special values of inputs: run-model against ONNX
Runtime and ONNX's reference. What differs is printed as rows of DEVIATIONS.md; with --check they
must be those that stand there. --sample: one case of eight.

usage: edges.py [--check] [--sample]"""

import itertools
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
TABLE = os.path.join(ROOT, "test/onnx/DEVIATIONS.md")
HEAD = "<!-- table -->\n"
VALUES = [0, -0.0, 1e-45, 1e-30, 1e-6, -1e-6, 1e-3, 0.25, -0.25, 0.5, -0.5, 1, -1, 1.5, 2.5, -2, 10]
VALUES += [60, -60, 88, -88, 90, -90, 1e4, 1e10, -1e10, 1e20, -1e20, 3e38, -3e38]
VALUES = np.array(VALUES + [np.inf, -np.inf, np.nan], dtype=np.float32)
WIDE = (0.0, 1.0, -1.0, 0.25, -0.25, 1e-6, 1e6, 1e20)
TOLERANCE = 2e-5


def each(names, *lists):
    """All attributes from these lists, those after the first with the first of each list only."""
    if not names:
        return [{}]
    rest = each(names[1:], *lists[1:])
    return [{names[0]: value, **more} for value in lists[0] for more in rest]


CASES = [("Celu", a) for a in each(["alpha"], [v for v in WIDE if v])]
CASES += [("Shrink", a) for a in each(["lambd", "bias"], WIDE, (0.0, 1.0, -1.0, 1e6))]
for name in ("Elu", "LeakyRelu", "ThresholdedRelu"):
    CASES += [(name, a) for a in each(["alpha"], WIDE)]
CASES += [("Selu", a) for a in each(["alpha", "gamma"], WIDE, (1.0, 0.0, -2.0, 1e6))]
CASES += [("HardSigmoid", a) for a in each(["alpha", "beta"], WIDE, (0.5, 0.0, -3.0, 1e6))]
CASES += [("Gelu", {"approximate": word}) for word in ("none", "tanh")]
NAMES = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Neg
Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"""
CASES += [(name, {}) for name in NAMES.split()]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners"]
COORDINATES += ["pytorch_half_pixel"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def model_of(node, x, sizes, more=()):
    """A model of one node."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, sizes)]
    graph = helper.make_graph([node], "edge", inputs, outputs, list(more))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def results(model, x, folder):
    """Ours, ONNX Runtime's and the reference's; None where one of the latter refuses."""
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    np.save(os.path.join(folder, "x.npy"), x)
    ours = [os.path.join(BUILD, "run-model"), path, "--input", f"x={folder}/x.npy"]
    subprocess.run([*ours, "--output-dir", folder], check=True, capture_output=True)
    found = [np.load(os.path.join(folder, "y.npy"))]
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    run = [
        lambda: onnxruntime.InferenceSession(path, quiet, ["CPUExecutionProvider"]),
        lambda: ReferenceEvaluator(model),
    ]
    for session in run:
        try:
            found.append(session().run(None, {"x": x})[0])
        except Exception:  # pylint: disable=broad-except
            found.append(None)
    return found


def same(a, b):
    """By element: equal up to rounding, NaN to NaN."""
    near = np.abs(a.astype(np.float64) - b) <= TOLERANCE * np.maximum(np.abs(b), 1e-30)
    return (np.isnan(a) & np.isnan(b)) | (a == b) | near


def text(value):
    """A number of the table."""
    return "-" if value is None else f"{value:.6g}"


def sampled(cases):
    """All cases, or one of eight."""
    return list(cases)[:: 8 if "--sample" in sys.argv[1:] else 1]


def functions(folder):
    """Rows of the functions of one number."""
    for name, attributes in sampled(CASES):
        node = helper.make_node(name, ["x"], ["y"], **attributes)
        model = model_of(node, VALUES, VALUES.shape)
        ours, runtime, reference = results(model, VALUES, folder)
        for k, x in enumerate(VALUES):
            others = [y[k] if y is not None else None for y in (runtime, reference)]
            if all(y is None or same(ours[k : k + 1], np.array([y]))[0] for y in others):
                continue
            words = ", ".join(f"{key}={value:g}" for key, value in attributes.items())
            yield (name, words, f"x = {x:g}", text(ours[k]), *map(text, others))


def resizes(folder):
    """Rows of Resize, nearest."""
    cases = itertools.product(COORDINATES, ROUNDINGS, range(1, 8), range(1, 8))
    for coordinate, rounding, n, m in sampled(cases):
        x = np.arange(n, dtype=np.float32).reshape(1, 1, n)
        words = {"coordinate_transformation_mode": coordinate, "nearest_mode": rounding}
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", **words)
        sizes = helper.make_tensor("sizes", TensorProto.INT64, [3], [1, 1, m])
        found = results(model_of(node, x, [1, 1, m], [sizes]), x, folder)
        if all(y is None or np.array_equal(y, found[0]) for y in found[1:]):
            continue
        values = ("-" if y is None else " ".join(map(text, y.ravel())) for y in found)
        yield ("Resize", f"{coordinate}, {rounding}", f"{n} to {m}", *values)


def main():
    """Prints the rows, or checks them."""
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in [*functions(folder), *resizes(folder)]:
            rows.append("| " + " | ".join(row) + " |")
    if "--check" not in sys.argv[1:]:
        print("\n".join(rows))
        return 0
    with open(TABLE, encoding="utf-8") as file:
        stated = set(file.read().split(HEAD)[1].splitlines())
    new = [row for row in rows if row not in stated]
    print("\n".join(new + [f"{len(rows)} deviations, {len(new)} of them not in DEVIATIONS.md"]))
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
