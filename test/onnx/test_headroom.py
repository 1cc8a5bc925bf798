"""ONNX Runtime's profile: how far a model is from the machine's roofline, by node of the file, and
what the search does with it."""

import json, re, subprocess
import numpy, onnx, pytest
from onnx import helper
from small_models import PROGRAM, agree, save, tensor

TARGET = ["--measure-with", "onnxruntime"]


def dense(path, height=96):
    """A convolution, an activation that a rule rewrites, a product that no rule touches."""
    rng = numpy.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((32, 3, 3, 3)).astype("f"),
        "s": rng.random((32, 1, 1)).astype("f"),
        "m": rng.standard_normal((96, 96)).astype("f"),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("PRelu", ["c", "s"], ["p"], name="second"),
        helper.make_node("MatMul", ["p", "m"], ["y"], name="third"),
    ]
    return save(
        path,
        nodes,
        [tensor("x", [1, 3, height, 96])],
        [tensor("y", [1, 32, height, 96])],
        weights,
    )


def headroom(*options):
    return subprocess.run(
        [PROGRAM, "--headroom", *map(str, options)], capture_output=True, text=True
    )


def optimize(*words):
    """With a cost file of its own, among the words."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)


def test_headroom_names_what_loses_and_what_no_rule_touches(tmp_path):
    model = dense(tmp_path / "m.onnx")
    done = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert done.returncode == 0, done.stderr
    share, lost, total = map(
        float,
        re.search(r"reaches (\d+) % .*: ([\d.]+) of ([\d.]+) ms are lost", done.stdout).groups(),
    )
    assert 0 < share <= 100 and 0 <= lost <= total and total > 0
    (line,) = [line for line in done.stdout.splitlines() if line.lstrip().startswith("second")]
    assert "PRelu" in line and "no rule touches it" not in line
    again = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert again.stdout == done.stdout, "the profile is kept in the cost file"


def test_headroom_needs_a_target_with_a_profile(tmp_path):
    model = dense(tmp_path / "m.onnx")
    done = headroom(model)
    assert done.returncode == 2 and "give --measure-with onnxruntime" in done.stderr
    done = headroom(model, "--measure-with", "cat")
    assert done.returncode == 2 and "only onnxruntime" in done.stderr


def test_a_model_that_does_not_run_there_has_no_headroom(tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Nothing", ["x"], ["y"], domain="unknown.domain")],
        [tensor("x", [4])],
        [tensor("y", [4])],
        {},
    )
    done = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert done.returncode == 5 and "gave no profile" in done.stderr


def test_what_gains_nothing_comes_with_the_headroom(tmp_path):
    model = dense(tmp_path / "m.onnx")
    options = [
        "--enable",
        "where-same",
        "--cost-db",
        tmp_path / "c.sqlite",
        "--report",
        tmp_path / "r",
    ]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options)
    assert done.returncode == 0, done.stderr
    assert "no rule applies anywhere" in done.stdout and "of the machine's roofline" in done.stdout
    said = json.loads((tmp_path / "r").read_text())
    assert said["reason"] == "no rule applies anywhere" and "roofline" in said["headroom"]


def test_a_prelu_gains_and_is_the_first_change_of_the_page(tmp_path):
    model, page = dense(tmp_path / "m.onnx"), tmp_path / "p.html"
    options = ["--enable", "prelu-channel", "--cost-db", tmp_path / "c.sqlite", "--html", page]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options)
    assert done.returncode == 0, done.stderr
    kinds = [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node]
    assert "PRelu" not in kinds and "Relu" in kinds, done.stdout
    agree(model, tmp_path / "o.onnx", numpy.random.default_rng(1).random((1, 3, 96, 96), dtype="f"))
    text = page.read_text()
    table = text.index("What gained, the largest first")
    assert table < text.index("What changed")
    assert re.search(
        r"<h3>1\. prelu-channel.* ms before, .* ms after on the target, 100 % of the gain", text
    )


PRELU = ["--enable", "prelu-channel"]


def test_of_several_sizes_the_least_gain_counts(tmp_path):
    model, report = dense(tmp_path / "m.onnx", "h"), tmp_path / "r.json"
    options = [*PRELU, "--cost-db", tmp_path / "c.sqlite", "--report", report, "-v"]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options, "--dim", "h=96,48")
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert said["changed"] and said["sizes"] in ("h=96", "h=48"), done.stdout
    assert f"the least gain is at {said['sizes']}" in done.stdout
    confirmed = float(re.findall(r"candidate of \d+ applications: ([\d.]+)", done.stderr)[-2])
    other = float(re.search(r"at h=48: ([\d.]+)", done.stderr)[1])
    ratio = said["measured_seconds"]["after"] / said["measured_seconds"]["before"]
    assert ratio == pytest.approx(max(confirmed, other), rel=1e-3)
    for height in (96, 48, 31):
        agree(model, tmp_path / "o.onnx", numpy.ones((1, 3, height, 96), "f"))


def test_sizes_must_be_numbers(tmp_path):
    model = dense(tmp_path / "m.onnx", "h")
    for wrong in ("h=96,", "h=,96", "h=96,,48", "h=96,x"):
        done = optimize(model, tmp_path / "o.onnx", "--dim", wrong)
        assert done.returncode == 2 and wrong in done.stderr, wrong
