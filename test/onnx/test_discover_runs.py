"""Runs of discover-rules that are killed and continued, or shared by several processes, give the
same answers as one run."""

import json
import os
import shutil
import signal
import subprocess
import time
from random import Random

import pytest
from test_discover import BUILD, CORPUS, ROOT, corpus, read, run


def contents(folder):
    """The text of each file of a folder by name."""
    return {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}


def started(*command):
    """Starts a program of the build folder."""
    return subprocess.Popen(
        [os.path.join(BUILD, command[0]), *map(str, command[1:])],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


QUICKLY = ["discover-rules", CORPUS, "--depth", "0", "-q"]


@pytest.fixture(scope="module", name="whole")
def whole_run(tmp_path_factory):
    """A run of one process: the files that it keeps, its rules, and the seconds that it took."""
    kept = tmp_path_factory.mktemp("whole")
    start = time.monotonic()
    done = run(*QUICKLY, "--resume", kept / "kept", "-o", kept / "rules")
    assert done.returncode == 0, done.stderr
    took, rules = time.monotonic() - start, read(kept / "rules")
    assert rules
    return contents(kept / "kept"), rules, took


def test_the_same_rules_on_any_number_of_threads(tmp_path, whole):
    """Questions are independent."""
    out = tmp_path / "two.rules"
    done = run(*QUICKLY, "-j", 2, "-o", out)
    assert done.returncode == 0, done.stderr
    assert read(out) == whole[1]


def test_a_killed_run_continues(tmp_path, whole):
    """Answers are kept question by question. After SIGKILL, another run does the rest, with the
    same result."""
    out, report = tmp_path / "out.rules", tmp_path / "r.json"
    kept = tmp_path / "kept"
    with started(*QUICKLY, "--resume", kept, "-o", out) as process:
        while process.poll() is None and (not kept.exists() or len(os.listdir(kept)) < 3):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    again = run(*QUICKLY, "--resume", kept, "-o", out, "--json", report)
    assert again.returncode == 0, again.stderr
    with open(report, encoding="utf-8") as file:
        assert json.load(file)["resumed"] >= 1
    assert read(out) == whole[1]


def test_killed_at_any_moment_the_files_are_the_same(tmp_path, whole):
    """Runs are killed six times, each after a random part of the time of a whole run. Every file
    that has the name of a question is complete. If a run ends before it is killed, everything
    starts again with half the time, since the machine may have become faster."""
    expected, rules, took = whole
    kept, out = tmp_path / "kept", tmp_path / "out.rules"
    random, killed, share = Random(5), 0, 1 / 8
    while killed < 6:
        with started(*QUICKLY, "-j", 2, "--resume", kept, "-o", out) as process:
            time.sleep(random.uniform(0, share * took))
            process.send_signal(signal.SIGKILL)
        so_far = contents(kept) if kept.exists() else {}
        assert all(so_far[name] == expected[name] for name in expected.keys() & so_far)
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:
            shutil.rmtree(kept)
            share /= 2
            assert share > 1e-3, "it is never killed"
    assert run(*QUICKLY, "--resume", kept, "-o", out).returncode == 0
    so_far = contents(kept)
    assert {name: so_far[name] for name in expected} == expected
    assert read(out) == rules


def test_shards_share_the_questions(tmp_path, whole):
    """Three processes run at the same time, and each answers its own questions; together they write
    the files of one process. Then a run without --shard has nothing left to answer."""
    kept, out, report = tmp_path / "kept", tmp_path / "out.rules", tmp_path / "r.json"
    shards = []
    for k in range(3):
        own = ("--shard", f"{k}/3", "--json", tmp_path / f"{k}.json")
        shards.append(started(*QUICKLY, "--resume", kept, *own, "-o", tmp_path / f"{k}.rules"))
    for k, process in enumerate(shards):
        assert process.wait() == 0, process.communicate()[1]
        with open(tmp_path / f"{k}.json", encoding="utf-8") as file:
            said = json.load(file)
        assert said["asked"] - said["resumed"] == len(range(k, len(corpus()), 3))
    assert contents(kept) == whole[0]
    assert run(*QUICKLY, "--resume", kept, "-o", out, "--json", report).returncode == 0
    with open(report, encoding="utf-8") as file:
        assert json.load(file)["resumed"] == len(corpus())
    assert read(out) == whole[1]


@pytest.mark.parametrize(
    "words",
    [
        ["3/3", "--resume", "kept"],
        ["-1/2", "--resume", "kept"],
        ["1/2x", "--resume", "kept"],
        ["0/2"],
    ],
)
def test_a_shard_that_cannot_be_is_refused(tmp_path, words):
    done = run("discover-rules", CORPUS, "--shard", *words, "-o", tmp_path / "out.rules")
    assert done.returncode == 2 and "--shard" in done.stderr


def test_answers_of_other_options_are_not_taken(tmp_path):
    """Kept answers name the options on which they depend."""
    kept, report = tmp_path / "kept", tmp_path / "r.json"
    source = tmp_path / "q.questions"
    source.write_text(corpus()["affine"] + "\n", encoding="utf-8")
    for seed, resumed in ((1, 0), (2, 0), (2, 1)):
        done = run(
            *("discover-rules", source, "-q", "--depth", "0", "--resume", kept),
            *("--seed", seed, "--json", report, "-o", tmp_path / "out.rules"),
        )
        assert done.returncode == 0, done.stderr
        with open(report, encoding="utf-8") as file:
            assert json.load(file)["resumed"] == resumed
