"""Every operator means what ONNX says: its definition or expansion and its reference kernel are
compared with ONNX Runtime, or else with ONNX's reference, with attributes drawn from the operator's
own table (operator_cases.py)."""

import subprocess
import numpy as np
import onnxruntime, pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from operator_case import (
    INTERNAL,
    OPS,
    ROUNDS,
    TOOL,
    TYPES,
    Case,
    plain,
    text,
    typed,
    whole_numbers,
)
from operator_cases import INTEGERS, MAKERS

# These are compared with ONNX's reference. In cases of these operators ONNX Runtime 1.31 crashes,
# does not clamp places (cubic GridSample), and adds wrong places (Col2Im along one axis).
REFERENCE = {"LayerNormalization", "GridSample", "Col2Im"}


def ours(case, how="run"):
    lines = [f"op {case.op.name} {case.outputs}"]
    lines += [f"attr {name} {text(value)}" for name, value in case.attrs.items()]
    for array in case.inputs:
        lines.append(
            "in _"
            if array is None
            else f"in {typed(array)} | "
            + " ".join(repr(v) for v in array.astype(float).ravel().tolist())
        )
    done = subprocess.run(
        [TOOL, how],
        input="\n".join(lines + ["run", ""]),
        capture_output=True,
        text=True,
        timeout=60,
    )
    results = []
    for line in done.stdout.splitlines():
        if line.startswith("error"):
            raise AssertionError(line)
        if line.startswith("out "):
            head, _, data = line[4:].partition("|")
            kind, _, sizes = head.strip().partition(" ")
            shape = [int(n) for n in sizes.strip("[]").split(",") if n.strip()]
            results.append(
                np.array([float(v) for v in data.split()]).astype(TYPES[kind]).reshape(shape)
            )
    assert done.returncode == 0 and results, done.stdout + done.stderr
    return results


def theirs(case):
    if case.expected is not None:
        return case.expected
    arrays = case.inputs if case.onnx_inputs is None else case.onnx_inputs
    names = ["" if a is None else f"x{k}" for k, a in enumerate(arrays)]
    outputs = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.type, names, outputs, domain=case.domain, **case.onnx_attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays)
        if n
    ]
    graph = helper.make_graph([node], "g", infos, [onnx_output(name) for name in outputs])
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, case.version))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    feed = {n: a for n, a in zip(names, arrays) if n}
    try:
        if case.type in REFERENCE:
            return ReferenceEvaluator(model).run(None, feed)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        ).run(None, feed)
    except Exception:
        return ReferenceEvaluator(model).run(None, feed)


def onnx_output(name):
    info = helper.make_empty_tensor_value_info(name)
    return info


def agree(case, how="run"):
    want = theirs(case)
    if case.counted:
        case.attrs[case.counted] = len(want[0])
    got = ours(case, how)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == np.shape(b) and a.dtype == np.asarray(b).dtype, (
            case.attrs,
            a.shape,
            np.shape(b),
        )
        step = 2e-5
        if how == "run" and case.op.name == "quantize":
            # The definition is about real numbers, while ONNX Runtime first rounds the quotient to
            # a float, which decides ties.
            real = ~np.isnan(case.inputs[0])
            a, b, step = a[real].astype(int), b[real].astype(int), 1
        np.testing.assert_allclose(
            a,
            b,
            rtol=2e-5,
            atol=step,
            err_msg=str((case.attrs, [x.shape for x in case.inputs if x is not None])),
        )


@pytest.mark.parametrize("name", [n for n in OPS if n not in INTERNAL])
def test_operator(name):
    for seed in range(ROUNDS):
        case = Case(name, seed)
        (whole_numbers if name == "mod" else MAKERS.get(name, plain))(case)
        agree(case)


@pytest.mark.parametrize("name", [n for n in OPS if n not in INTERNAL])
def test_operator_as_planned(name):
    """The plan for the CPU has the operator's own steps, or those made from its definition."""
    for seed in range(100, 100 + ROUNDS // 2):
        case = Case(name, seed)
        (whole_numbers if name == "mod" else MAKERS.get(name, plain))(case)
        agree(case, "plan")


@pytest.mark.parametrize("name", INTEGERS)
def test_operator_on_integers(name):
    for seed in range(4):
        case = Case(name, seed)
        whole_numbers(case)
        agree(case)
        agree(case, "plan")


def test_a_wrong_meaning_is_noticed():
    """The comparison itself is tested: a case with a wrong attribute must fail."""
    case = Case("hardsigmoid", 0)
    plain(case)
    case.onnx_attrs["alpha"] += 0.01
    with pytest.raises(AssertionError):
        agree(case)
