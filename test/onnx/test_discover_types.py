"""Questions about bytes, truth values, comparisons and choices (where): which are asked, how they
are answered, and that the answers are proved, with their classes, and used."""

import json
import os
import re

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from small_models import measuring, save, tensor
from test_discover import BUILD, ROOT, read, run, sides

CORPUS = os.path.join(ROOT, "test/cases/discover/types.questions")
# For each question, the operators of an answer and the class that its proof gives; None if there is
# no proved answer.
ANSWERED = {
    "dequantize_transposed": (["transpose", "dequantize"], "exact"),
    "dequantize_rows_transposed": (["transpose", "dequantize"], "exact"),
    "transposed_quantize": (["quantize", "transpose"], "exact"),
    "dequantize_part": (["slice", "dequantize"], "exact"),
    "dequantize_joined": (["concat", "dequantize"], "exact"),
    "dequantize_padded": (["pad", "dequantize"], "reassociates+spreads"),
    "requantize": ([], "reassociates+divides+drops+defines+jumps"),
    "casts": (["cast"], "exact"),
    "not_not": ([], "exact"),
    "not_less_integers": (["lessequal"], "exact"),
    "not_less_floats": (["lessequal"], "reassociates+jumps"),
    "neither": (["or", "not"], "exact"),
    "where_not": (["where"], "exact"),
    "where_transposed": (["where", "transpose"], "exact"),
    "where_all": ([], "exact"),
    "where_none": ([], "exact"),
    "pooled_by_any_scale": None,
    "masked_product": None,
}
DEEPER = {"neither": ["--depth", "2", "--steps", "20000"]}


def corpus():
    """The questions by the names of their graphs."""
    parts = re.split(r"(?m)^(?=question )", re.sub(r"(?m)^#.*\n", "", read(CORPUS)))[1:]
    found = {re.search(r"^graph (\w+)", part, re.M)[1]: part.strip("\n") for part in parts}
    assert set(found) == set(ANSWERED)
    return found


def answered(tmp_path, name):
    """The candidate rules for one question, as text."""
    source, out = tmp_path / f"{name}.questions", tmp_path / f"{name}.rules"
    source.write_text(corpus()[name] + "\n", encoding="utf-8")
    done = run("discover-rules", source, "-q", "-o", out, *DEEPER.get(name, []))
    assert done.returncode == 0, done.stderr
    return read(out)


def proofs(tmp_path, text):
    """(verdict, class) of each rule of a text, in order."""
    source, report = tmp_path / "candidates.rules", tmp_path / "report.json"
    source.write_text(text, encoding="utf-8")
    done = run("verify-rules", "-q", source, "--json", report)
    assert done.returncode in (0, 1), done.stderr
    return [(rule["verdict"], rule["class"]) for rule in json.loads(read(report))]


@pytest.mark.parametrize("name", ANSWERED)
def test_a_question_about_other_types_is_answered(tmp_path, name):
    """The expected graph is among the answers, and all answers are proved. If none is expected, no
    answer is proved as exact."""
    text = answered(tmp_path, name)
    said = proofs(tmp_path, text)
    if not ANSWERED[name]:
        assert ("proved", "exact") not in said
        return
    expected, its_class = ANSWERED[name]
    assert expected in sides(text)
    assert said[sides(text).index(expected)] == ("proved", its_class)
    assert {verdict for verdict, _ in said} == {"proved"}


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("dequantize_rows_transposed", "dequantize %1 %k2 %k3\n", "dequantize %1 %k2\n"),
        ("dequantize_part", "slice %x1 starts=[0, 1]", "slice %x1 starts=[0, 0]"),
        ("not_less_integers", "lessequal", "less"),
        ("not_less_floats", "lessequal %x2 %x1", "lessequal %x1 %x2"),
        ("where_not", "where %x1 %x3 %x2", "where %x1 %x2 %x3"),
        ("where_all", "out %x1", "out %x2"),
        ("requantize", "quantize %1 %k2 %k3", "quantize %1 %k2"),
    ],
)
def test_a_wrong_answer_is_refuted(tmp_path, name, old, new):
    """Each answer is changed by hand: without the zero point, with another part, with the order
    unchanged, with the other choice, with the hidden values, or quantized without the zero point
    that the bytes had."""
    good = answered(tmp_path, name)
    assert good.count(old) == 1
    assert [verdict for verdict, _ in proofs(tmp_path, good.replace(old, new))] == ["refuted"]


def quantized(path):
    """A model that dequantizes bytes, transposes, compares and masks the floats, and quantizes them
    again."""
    rng = numpy.random.default_rng(3)
    weights = {
        "scale": numpy.float32(0.05),
        "zero": numpy.array(120, "uint8"),
        "low": numpy.float32(-1.5),
        "none": numpy.float32(0),
        "w": rng.standard_normal((48, 16)).astype("float32"),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Less", ["t", "low"], ["less"]),
        helper.make_node("Not", ["less"], ["kept"]),
        helper.make_node("Where", ["kept", "t", "none"], ["m"]),
        helper.make_node("MatMul", ["m", "w"], ["p"]),
        helper.make_node("QuantizeLinear", ["p", "scale", "zero"], ["y"]),
    ]
    return save(
        path,
        nodes,
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [4, 48, 64])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [4, 64, 16])],
        weights,
    )


def test_all_nodes_of_a_quantized_model_ask(tmp_path):
    """The questions of one operator include every kind of node."""
    model = quantized(tmp_path / "m.onnx")
    done = run("discover-rules", model, "--list", "--operators", "1")
    assert done.returncode == 0, done.stderr
    asked = set(re.findall(r"(?m)^  %\d+ = (\w+) ", done.stdout))
    assert {"dequantize", "transpose", "less", "not", "where", "matmul", "quantize"} <= asked


def test_zero_points_do_not_make_questions(tmp_path):
    """Places that differ only in their zero points ask the same question, unless one of these is
    0."""
    nodes, weights = [], {"scale": numpy.float32(0.0531234)}
    for zero in (0, 7, 120, 128):
        weights[f"z{zero}"] = numpy.array(zero, "uint8")
        nodes += [
            helper.make_node("DequantizeLinear", ["x", "scale", f"z{zero}"], [f"d{zero}"]),
            helper.make_node("Transpose", [f"d{zero}"], [f"y{zero}"], perm=[0, 2, 1]),
        ]
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, [4, 48, 64])
    ends = [tensor(f"y{zero}", [4, 64, 48]) for zero in (0, 7, 120, 128)]
    model = save(tmp_path / "m.onnx", nodes, [x], ends, weights)
    done = run("discover-rules", model, "--list", "--operators", "2")
    assert done.returncode == 0, done.stderr
    asked = [part for part in done.stdout.split("question ") if "dequantize" in part]
    both = [part for part in asked if "transpose" in part]
    assert any("count=4 " in part for part in both)
    fills = {found[0] for found in (re.findall(r"= fill.*", part) for part in both) if found}
    assert fills == {"= fill shape=[] dtype=U8"}


def test_questions_about_floats_take_no_truth_values(tmp_path):
    """Any two terms could be compared, but nothing leads from truth values back to floats, so such
    terms are not tried: there are 1,094 evaluations without them, and 1,234 with them."""
    source, report = tmp_path / "q.questions", tmp_path / "r.json"
    source.write_text(
        "question q count=1 seconds=1 most=1 from=-\nat a=64 b=512\ngraph q\n"
        "  %x1 : F [a, b]   %x2 : F [a, b]\nbody\n"
        "  %1 = add %x1 %x2\n  %2 = relu %1\n  out %2\n",
        encoding="utf-8",
    )
    done = run("discover-rules", source, "-q", "--steps", "100000", "--json", report)
    assert done.returncode == 0, done.stderr
    assert json.loads(read(report))["evaluated"] < 1200


# A target on which a transpose takes a second for each of its bytes, and all else almost nothing.
SLOW = """import onnx
def price(path):
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    types = {v.name: v.type.tensor_type.elem_type for v in [*graph.input, *graph.value_info]}
    moved = [n for n in graph.node if n.op_type == "Transpose"]
    return 1 + sum(1 if types.get(n.input[0]) == 2 else 9 for n in moved)
"""


def test_what_is_found_moves_bytes_in_the_model(tmp_path):
    """The model's own questions are answered, the answer is proved, and this rule alone turns the
    transpose of floats into one of bytes."""
    model = quantized(tmp_path / "m.onnx")
    found, proved = tmp_path / "found.rules", tmp_path / "proved.rules"
    slow = measuring(tmp_path / "slow", "price(path)", SLOW)
    done = run("discover-rules", model, "--operators", "2", "-q", "-o", found)
    assert done.returncode == 0, done.stderr
    assert run("verify-rules", "-q", found, "-o", tmp_path / "verdicts.rules").returncode in (0, 1)
    run("compare-rules", "part", tmp_path / "verdicts.rules", "--all", "-q", "-o", proved)
    out = tmp_path / "out.onnx"
    done = run(
        *["optimize-model", model, out, "-q", "--rules", proved],
        *["--measure-with", slow],
        *["--report", tmp_path / "r.json"],
    )
    assert done.returncode == 0, done.stderr
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert kinds.index("Transpose") < kinds.index("DequantizeLinear")
    x = numpy.random.default_rng(1).integers(0, 256, (4, 48, 64)).astype("uint8")
    results = []
    for path in (model, out):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        results.append(session.run(None, {"x": x})[0])
    assert (results[0] == results[1]).all()
