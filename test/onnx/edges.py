#!/usr/bin/env python3
"""Compares run-model with ONNX Runtime and ONNX's reference at the limits of what ONNX allows:
attributes at the ends of their ranges, special values of inputs, sizes 0 and 1. Prints how many
cases differ, and those of them that are not in deviations.tsv, the list of known differences; exit
status 1 if there are any. --sample runs one case of twelve. --write writes the list, and
DEVIATIONS.md, which gives the reason for each group of differences; exit status 1 if a reason is
not known.

usage: edges.py [--sample] [--write]"""

import datetime
import itertools
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from edge_cases import Fixed, all_cases
from edge_reasons import why
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
LIST = os.path.join(ROOT, "test/onnx/deviations.tsv")
PAGE = os.path.join(ROOT, "test/onnx/DEVIATIONS.md")
VALUES = [0, -0.0, 1e-45, 1e-30, 1e-6, -1e-6, 1e-3, 0.25, -0.25, 0.5, -0.5, 1, -1, 1.5, 2.5, -2, 10]
VALUES += [60, -60, 88, -88, 88.8, 89, 90, -90, 1e4, 1e10, -1e10, 1e20, -1e20, 3e38, -3e38]
VALUES = np.array(VALUES + [np.inf, -np.inf, np.nan], dtype=np.float32)
WIDE = (0.0, 1.0, -1.0, 0.25, -0.25, 1e-6, 1e6, 1e20)
TOLERANCE = 2e-5


def each(names, *lists):
    """All combinations of the attributes `names`, with a list of values for each."""
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


def model_of(node, inputs, sizes=()):
    """A model of one node. Its outputs are declared as floats of the shape sizes[0], or without
    type and shape if `sizes` is empty."""
    given = {name: x for name, x in zip(node.input, inputs) if x is not None}
    kinds = helper.np_dtype_to_tensor_dtype
    infos = [
        helper.make_tensor_value_info(name, kinds(x.dtype), x.shape)
        for name, x in given.items()
        if not isinstance(x, Fixed)
    ]
    fixed = [
        helper.make_tensor(name, kinds(x.value.dtype), x.value.shape, x.value.ravel())
        for name, x in given.items()
        if isinstance(x, Fixed)
    ]
    outputs = [
        (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes[0])
            if sizes
            else helper.make_empty_tensor_value_info(name)
        )
        for name in node.output
    ]
    graph = helper.make_graph([node], "edge", infos, outputs, fixed)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def ours(model, feed, folder):
    """The outputs of run-model as a list of arrays, or the way in which it failed as text."""
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    command = [os.path.join(BUILD, "run-model"), path, "--output-dir", folder]
    for name, x in feed.items():
        np.save(os.path.join(folder, name + ".npy"), x)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()[:200]}"
    return [np.load(os.path.join(folder, y.name + ".npy")) for y in model.graph.output]


def results(model, feed, folder):
    """The outputs of run-model, of ONNX Runtime and of the reference, each a list of arrays. They
    are None if ONNX Runtime or the reference refuses the model, and text if run-model fails."""
    found = [ours(model, feed, folder)]
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    data = model.SerializeToString()
    run = [
        lambda: onnxruntime.InferenceSession(data, quiet, ["CPUExecutionProvider"]),
        lambda: ReferenceEvaluator(model),
    ]
    for session in run:
        try:
            found.append([np.asarray(y) for y in session().run(None, feed)])
        except Exception:  # pylint: disable=broad-except
            found.append(None)
    return found


def same(a, b):
    """Whether elements are equal up to rounding, one by one; NaN equals NaN."""
    near = np.abs(a.astype(np.float64) - b) <= TOLERANCE * np.maximum(np.abs(b), 1e-30)
    return (np.isnan(a) & np.isnan(b)) | (a == b) | near


def like(runtime, reference):
    """With which of the two run-model agrees, as text."""
    return "as ONNX Runtime" if runtime else "as the reference" if reference else "as neither"


def text(value):
    """A number as text in the table."""
    return "-" if value is None else f"{value:.6g}"


def sampled(cases):
    """All cases, or with --sample one of twelve."""
    return list(cases)[:: 12 if "--sample" in sys.argv[1:] else 1]


def functions(folder):
    """Rows for the element-wise functions with attributes."""
    for name, attributes in sampled(CASES):
        node = helper.make_node(name, ["x"], ["y"], **attributes)
        mine, *others = results(model_of(node, [VALUES], [VALUES.shape]), {"x": VALUES}, folder)
        for k, x in enumerate(VALUES):
            theirs = [y[0][k] if y is not None else None for y in others]
            if all(y is None or same(mine[0][k : k + 1], np.array([y]))[0] for y in theirs):
                continue
            words = ", ".join(f"{key}={value:g}" for key, value in attributes.items())
            mark = like(*(y is not None and same(mine[0][k], y) for y in theirs))
            yield (name, words, f"x = {x:g}", text(mine[0][k]), *map(text, theirs), mark)


def resizes(folder):
    """Rows for Resize to the nearest element."""
    cases = itertools.product(COORDINATES, ROUNDINGS, range(1, 8), range(1, 8))
    for coordinate, rounding, n, m in sampled(cases):
        x = np.arange(n, dtype=np.float32).reshape(1, 1, n)
        words = {"coordinate_transformation_mode": coordinate, "nearest_mode": rounding}
        names = ["x", "", "", "sizes"]
        node = helper.make_node("Resize", names, ["y"], mode="nearest", **words)
        model = model_of(node, [x, None, None, Fixed([1, 1, m])], [[1, 1, m]])
        found = results(model, {"x": x}, folder)
        if all(y is None or np.array_equal(y[0], found[0][0]) for y in found[1:]):
            continue
        values = ("-" if y is None else " ".join(map(text, y[0].ravel())) for y in found)
        mark = like(*(y is not None and agrees(found[0], y) for y in found[1:]))
        yield ("Resize", f"{coordinate}, {rounding}", f"{n} to {m}", *values, mark)


# ---- all operators


def agrees(a, b):
    """Whether two lists of outputs have the same types, sizes and, up to rounding, elements."""
    return all(
        x.shape == y.shape
        and x.dtype == y.dtype
        and same(x.astype(np.float64), y.astype(np.float64)).all()
        for x, y in zip(a, b)
    )


def words_of(x):
    """An input as text: its type and sizes, or its elements if it is small or constant."""
    array = x.value if isinstance(x, Fixed) else x
    if array is None:
        return "-"
    if isinstance(x, Fixed) or array.size < 2:
        return str(array.tolist())
    return f"{array.dtype} {list(array.shape)}"


def first_difference(found):
    """What each of the results has at the first place where two of them differ."""
    lists = [x for x in found if isinstance(x, list)]
    if len(lists) > 1:
        for k in range(len(lists[0])):
            shapes = {(y[k].shape, y[k].dtype) for y in lists}
            if len(shapes) > 1:
                return [
                    f"{x[k].dtype} {list(x[k].shape)}" if isinstance(x, list) else x for x in found
                ]
            for at in np.ndindex(lists[0][k].shape):
                values = [np.array([y[k][at]], np.float64) for y in lists]
                if not all(same(values[0], v)[0] for v in values[1:]):
                    mine = [
                        f"{list(at)}: {text(x[k][at])}" if isinstance(x, list) else x for x in found
                    ]
                    return mine
    return ["a result" if isinstance(x, list) else x for x in found]


def fused(folder):
    """Rows for activations of a convolution whose input has a NaN."""
    x = np.ones((1, 1, 21, 21), np.float32)
    x[0, 0, 10, 10] = np.nan
    w = Fixed(np.ones((1, 1, 3, 3)), np.float32)
    bounds = [np.array(v, np.float32) for v in (0, 6)]
    for name, more in (("Relu", []), ("Clip", bounds), ("HardSigmoid", []), ("Sigmoid", [])):
        model = model_of(helper.make_node("Conv", ["x", "w"], ["t"]), [x, w])
        model.graph.node.append(
            helper.make_node(name, ["t", "low", "high"][: 1 + len(more)], ["y"])
        )
        for key, value in zip(("low", "high"), more):
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, key))
        model.graph.output[0].name = "y"
        found = results(model, {"x": x}, folder)
        if not all(agrees(found[0], y) for y in found[1:]):
            mark = like(*(agrees(found[0], y) for y in found[1:]))
            yield (f"Conv, {name}", "", "x with NaN", *first_difference(found), mark)


def nodes(folder):
    """Rows for the cases of edge_cases.py. There is also a row if run-model refuses what one of the
    others accepts, but none if both others refuse."""
    for name, attributes, inputs, outputs in sampled(all_cases()):
        names = ["" if x is None else f"x{k}" for k, x in enumerate(inputs)]
        node = helper.make_node(name, names, [f"y{k}" for k in range(outputs)], **attributes)
        feed = {n: x for n, x in zip(names, inputs) if n and not isinstance(x, Fixed)}
        found = results(model_of(node, inputs), feed, folder)
        known = [y for y in found[1:] if y is not None]
        if not known or (isinstance(found[0], list) and all(agrees(found[0], y) for y in known)):
            continue
        words = ", ".join(f"{key}={value}" for key, value in attributes.items())
        case = "; ".join(map(words_of, inputs))
        differ = ("-" if x is None else x for x in first_difference(found))
        mark = "refused"
        if isinstance(found[0], list):
            mark = like(*(y is not None and agrees(found[0], y) for y in found[1:]))
        yield (name, words, case, *differ, mark)


# ---- the page

HEADING = """# Where run-model, ONNX Runtime and ONNX's reference differ

Written by `make edges`, which runs the cases of `test/onnx/edges.py` (functions of one number, with
each attribute at 0, 1, negative, tiny and huge, and special values; `Resize` by nearest elements
between all sizes up to 7; activations after a convolution) and of `edge_cases.py` (the other
operators: sizes 0 and 1, ranks 0 to 6, attributes at the ends of what ONNX allows, infinities, NaN,
-0, the ends of integers). The table has an example of each group of differences; `deviations.tsv`
lists all. A case that one of the three refuses is not compared with it; so the table does not show
that ONNX Runtime refuses a Gather whose index lies outside its axis even where the result has no
elements, for which run-model has an empty result. A new difference fails `edges.py`, of whose cases
`make test` runs one in eight.
"""


def write_page(rows, cases):
    """Writes the list and the page. Returns whether the reason is known for every group."""
    with open(LIST, "w", encoding="utf-8") as file:
        file.write("operator\tattributes\tcase\tours\tONNX Runtime\treference\twe are\n")
        file.writelines("\t".join(row) + "\n" for row in rows)
    groups = {}
    for row in rows:
        groups.setdefault((row[0], row[6]), []).append(row)
    missing = [key for key in groups if not why(*key)]
    today = datetime.date.today().isoformat()
    versions = f"ONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}, {today}"
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{HEADING}\n{versions}; relative tolerance {TOLERANCE}. Of {cases} cases")
        file.write(f" (for functions of one number\neach value is a case) {len(rows)} differ.\n\n")
        file.write("| operator | differ | example | ours | ONNX Runtime | reference | why |\n")
        file.write("|---|---|---|---|---|---|---|\n")
        for (name, mark), found in sorted(groups.items()):
            first = found[0]
            case = ", ".join(x for x in first[1:3] if x)
            values = " | ".join(x.replace("|", " ") for x in first[3:6])
            file.write(f"| {name} | {len(found)} | {case} | {values} | {why(name, mark)} |\n")
    for key in missing:
        print("no reason is given for", *key)
    return not missing


def main():
    """Compares all cases, or a sample, and returns the exit status."""
    warnings.simplefilter("ignore")
    rows, cases = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for row in [*functions(folder), *resizes(folder), *fused(folder), *nodes(folder)]:
            rows.append([" ".join(str(x).split()) for x in row])
    if "--write" in sys.argv[1:]:
        cases = len(CASES) * len(VALUES) + len(COORDINATES) * len(ROUNDINGS) * 49
        return 0 if write_page(rows, cases + len(list(all_cases()))) else 1
    with open(LIST, encoding="utf-8") as file:
        known = set(file.read().splitlines())
    new = [line for line in map("\t".join, rows) if line not in known]
    print("\n".join(new + [f"{len(rows)} deviations, {len(new)} of them not in deviations.tsv"]))
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
