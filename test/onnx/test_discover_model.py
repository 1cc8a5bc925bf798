"""optimize-model --discover finds and proves rules that a model asks for, uses them in the same run
and keeps them in the user's own folder."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import numpy
import pytest
from onnx import helper
from small_models import save, tensor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
OWN = "isomer/rules/isomer.rules"  # the user's own rules, in XDG_DATA_HOME


@pytest.fixture(name="model")
def mean_of_products(tmp_path):
    """A model that computes the mean over the tokens of their products with a matrix. It equals the
    product of the mean, but no rule of the library says so."""
    weights = numpy.random.default_rng(1).standard_normal((256, 256)).astype("float32")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("ReduceMean", ["p"], ["y"], axes=[1], keepdims=1),
    ]
    inputs, outputs = [tensor("x", [4, 128, 256])], [tensor("y", [4, 1, 256])]
    return save(tmp_path / "mean of products.onnx", nodes, inputs, outputs, {"w": weights})


def command(tmp_path, model, *options):
    """The command line of optimize-model and its environment."""
    words = [
        *(os.path.join(BUILD, "optimize-model"), model, tmp_path / "out.onnx"),
        *("--cost", "flops", "--report", tmp_path / "report.json", *options),
    ]
    return [str(word) for word in words], dict(os.environ, XDG_DATA_HOME=str(tmp_path / "data"))


def optimize(tmp_path, model, *options):
    """Runs optimize-model: the finished process and the report, or None if it failed."""
    words, env = command(tmp_path, model, *options)
    done = subprocess.run(
        words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        return done, None
    return done, json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))


def used(report):
    """The names of the rules that were applied."""
    return [rule["name"] for rule in report["rules"]]


@pytest.mark.parametrize("rules", [[], ["--rules", "none"]])
def test_what_is_found_is_used_and_kept(tmp_path, model, rules):
    """With and without the library, the model stays as it is. With --discover a rule is found that
    makes it cheaper. A later run finds this rule in the user's folder, unless an option names the
    rules to use."""
    _, report = optimize(tmp_path, model, *rules)
    assert not report["changed"] and report["discovered"] is None
    done, report = optimize(tmp_path, model, *rules, "--discover", "60")
    assert report, done.stderr
    assert report["changed"] and any(name.startswith("found-") for name in used(report))
    assert report["flops"]["after"] < report["flops"]["before"] / 50
    said, kept = report["discovered"], tmp_path / "data" / OWN
    assert said["file"] == str(kept) and said["note"] is None
    assert said["questions"] >= said["asked"] >= said["answered"] > 0
    text = kept.read_text(encoding="utf-8")
    assert len(re.findall(r"^rule found-", text, re.M)) == said["new"] == said["proved"] > 0
    assert "mean of products" in text.replace("_", " ")
    assert f"{said['proved']} proved" in done.stdout
    _, later = optimize(tmp_path, model, *rules)
    assert later["changed"] == (not rules) and later["discovered"] is None


def test_what_the_file_holds_stays(tmp_path, model):
    """New rules are added at the end of the file of --rules-out, none of them twice. The default
    folder is not touched."""
    out = tmp_path / "own folder/mine.rules"
    done, report = optimize(tmp_path, model, "--discover", "60", "--rules-out", out)
    assert done.returncode == 5 and "mine.rules: cannot write" in done.stderr and report is None
    assert not out.parent.exists()  # a typing error in the path makes no folder
    out.parent.mkdir()
    for _ in range(2):
        _, report = optimize(tmp_path, model, "--discover", "60", "--rules-out", out)
        assert report["discovered"]["file"] == str(out)
    assert report["discovered"]["new"] == 0 and report["discovered"]["proved"] > 0
    first = out.read_text(encoding="utf-8")
    rules = re.split(r"(?m)^(?=# )", first)[1:]
    mine = "# My own note.\n\n" + rules[-1]
    out.write_text(mine, encoding="utf-8")
    _, report = optimize(tmp_path, model, "--discover", "60", "--rules-out", out)
    assert report["discovered"]["new"] == len(rules) - 1
    assert out.read_text(encoding="utf-8").startswith(mine)
    assert not (tmp_path / "data").exists()


def test_a_rule_whose_proof_does_not_hold_is_not_used(tmp_path, model):
    """A rule of the user's own file that was changed by hand is skipped with a message. If the file
    does not contain rules, that is an error, which names the file."""
    _, report = optimize(tmp_path, model, "--discover", "60")
    kept = tmp_path / "data" / OWN
    text = kept.read_text(encoding="utf-8")
    changed = re.sub(r"digest=(.)", lambda m: "digest=" + ("1" if m[1] == "0" else "0"), text)
    kept.write_text(changed, "utf-8")
    done, report = optimize(tmp_path, model, "-v")
    assert not report["changed"]
    assert "whose proofs do not hold" in done.stderr
    kept.write_text("rul found\n", encoding="utf-8")
    done, _ = optimize(tmp_path, model)
    assert done.returncode == 3 and "isomer.rules:1" in done.stderr


def test_a_prover_that_fails_is_named(tmp_path, model):
    """It stands beside a copy of the program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("optimize-model", "discover-rules"):
        shutil.copy(os.path.join(BUILD, name), folder)
    prover = folder / "verify-rules"
    prover.write_text("#!/bin/sh\necho no memory >&2\nexit 4\n", encoding="utf-8")
    prover.chmod(0o755)
    words, env = command(tmp_path, model, "--rules", "none", "--discover", "60")
    words[0] = str(folder / "optimize-model")
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["discovered"]
    assert said["note"] == "verify-rules ended with status 4: no memory" and not said["proved"]
    assert said["note"] in done.stdout


def leftovers(folder):
    """The temporary files that a run has left."""
    return [name for name in os.listdir(folder) if name.startswith("isomer-")]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_an_interrupted_run_leaves_nothing_half_done(tmp_path, model, name):
    """Whenever the signal comes, the file of rules is as it was or complete, and no model is
    written."""
    kept = tmp_path / "data" / OWN
    kept.parent.mkdir(parents=True)
    before = "# Nothing yet.\n"
    kept.write_text(before, encoding="utf-8")
    words, env = command(tmp_path, model, "--discover", "60", "-q")
    (tmp_path / "t").mkdir()
    env["TMPDIR"] = str(tmp_path / "t")
    for after in (0.0, 0.1, 0.3, 1.0):
        (tmp_path / "out.onnx").unlink(missing_ok=True)  # from a run that ended before the signal
        with subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.DEVNULL) as process:
            time.sleep(after)
            process.send_signal(getattr(signal, name))
            code = process.wait(60)
        assert code in (0, 130, -signal.SIGINT, -signal.SIGKILL)
        text = kept.read_text(encoding="utf-8")
        assert text.startswith(before)
        done = subprocess.run(
            [words[0], "--list-rules", "--rules-out", str(kept)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0 and text.count("\nrule ") == done.stdout.count(" found-")
        if code:
            assert not (tmp_path / "out.onnx").exists()
        if name == "SIGINT":
            assert not leftovers(env["TMPDIR"])


@pytest.mark.parametrize("option", [["--frozen"], ["--replay", "no.log"]])
def test_what_depends_on_time_cannot_be_repeated(tmp_path, model, option):
    """The exit status is 2."""
    done, _ = optimize(tmp_path, model, "--discover", "5", *option)
    assert done.returncode == 2 and option[0] in done.stderr


def ordered(tmp_path, model, profile):
    """Lists the questions of a model with this profile: the finished process and the operators of
    the questions in order."""
    path = tmp_path / "profile"
    path.write_text(profile, encoding="utf-8")
    listed = subprocess.run(
        [os.path.join(BUILD, "discover-rules"), model, "--list", "--operators", "1"]
        + ["--profile", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return listed, re.findall(r"= (\w+) ", listed.stdout)


def test_a_profile_orders_the_questions(tmp_path, model):
    """The order is by the time that is lost: the time taken minus the time that the machine
    needs."""
    machine = "machine 1e11 1e10\nother Reorder 0.5\n"
    for node, operator in ((0, "matmul"), (1, "reduce_mean")):
        listed, found = ordered(tmp_path, model, machine + f"node {node} 0.01\n")
        assert listed.returncode == 0, listed.stderr
        assert found[0] == operator
        seconds = [float(x) for x in re.findall(r"seconds=(\S+)", listed.stdout)]
        assert 0 < seconds[-1] < seconds[0] < 0.01


@pytest.mark.parametrize("profile", ["machine 1e11 1e10\nnode 9 1\n", "node 0 1\n"])
def test_a_profile_of_another_model_is_refused(tmp_path, model, profile):
    """The exit status is 3."""
    assert ordered(tmp_path, model, profile)[0].returncode == 3
