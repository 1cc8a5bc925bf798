"""Which questions discover-rules answers first and how much memory it takes; which rules
scripts/rediscover.py gives to a model, and what it says about the library."""

import json
import math
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
CORPUS = os.path.join(ROOT, "test/cases/discover/prototype.questions")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
QUESTION = """question {name:016x} count=1 seconds={seconds} most={seconds} from={model}
at a={a} b=3
graph q
  %x1 : F [a, b]
body
  %1 = {op} %x1
  out %1
"""


def discover_rules(*arguments):
    """Runs discover-rules and returns the finished process."""
    return subprocess.run(
        [os.path.join(BUILD, "discover-rules"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_what_takes_too_much_memory_is_given_up_and_counted(tmp_path):
    """The other questions are answered as they are without a limit."""
    kept = {}
    for limit in ("", "48M", "2G"):
        out, report = tmp_path / "all.rules", tmp_path / "all.json"
        words = ["--memory-limit", limit] if limit else []
        done = discover_rules(CORPUS, "--depth", "0", "-o", out, "--json", report, *words)
        assert done.returncode == 0, done.stderr
        kept[limit] = json.loads(report.read_text()), out.read_text()
        assert ("given up" in done.stdout) == (limit == "48M")
    whole, text = kept[""]
    few, less = kept["48M"]
    assert kept["2G"][1] == text and kept["2G"][0]["large"] == whole["large"] == 0
    assert 0 < few["large"] < whole["questions"] and few["asked"] == whole["asked"]
    assert 0 < few["rules"] < whole["rules"]
    assert all(part in text for part in re.findall(r"^rule (?:.+\n)+", less, re.M))


@pytest.mark.parametrize("limit", ["0", "much", "5X", "-1M"])
def test_a_bad_limit_is_refused(limit):
    """The message names the option."""
    done = discover_rules(CORPUS, "--memory-limit", limit)
    assert done.returncode == 2 and "--memory-limit" in done.stderr


def test_the_hottest_questions_of_a_fast_model_come_before_the_cold_ones_of_a_slow_one(tmp_path):
    """The order is by the share of the model's time, not by seconds."""
    slow, fast = tmp_path / "slow.questions", tmp_path / "fast.questions"
    say = QUESTION.format
    slow.write_text(
        say(name=1, seconds=4.0, model="slow", a=2, op="exp")
        + say(name=2, seconds=0.4, model="slow", a=2, op="log"),
        encoding="utf-8",
    )
    fast.write_text(
        say(name=3, seconds=0.002, model="fast", a=5, op="sin")
        + say(name=4, seconds=0.0015, model="fast", a=5, op="log"),
        encoding="utf-8",
    )
    done = discover_rules(slow, fast, "--list", "-q")
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("question ")[1:]
    assert [next(op for op in ("exp", "log", "sin") if f"= {op} " in part) for part in parts] == [
        "exp",
        "sin",
        "log",
    ]
    assert "from=slow,fast" in parts[2] and "at a=2 b=3" in parts[2]


def test_a_model_gets_the_answers_to_its_own_questions_that_save_most():
    """A question counts as often as the model asks it, and there are at most as many rules as
    allowed."""
    import rediscover

    fast = ["found-aa-1", "found-bb-1", "found-bb-2", "found-cc-1", "found-dd-1"]
    ratios = {"found-aa-1": 4.0, "found-bb-1": 1.5, "found-bb-2": 2.0, "found-cc-1": 9.0}
    asked = {"aa": (1, 0.1), "bb": (10, 0.1), "dd": (3, 0.5)}
    times = {"aa.onnx": 0.01, "bb.onnx": 0.01, "cc.onnx": 1.0}
    names = rediscover.chosen(asked, fast, ratios, times, 3)
    assert names == ["found-bb-2", "found-bb-1", "found-aa-1"]
    assert rediscover.chosen(asked, fast, ratios, times, 9) == [*names, "found-dd-1"]


def test_the_share_is_that_of_the_logarithms():
    """A ratio below that of a gain counts as 1."""
    import rediscover

    assert rediscover.share([(4.0, 2.0), (1.0, 1.0), (1.02, 1.02)]) == pytest.approx(0.5)
    assert rediscover.share([(2.0, 1.0), (1.5, 1.5)]) == pytest.approx(
        math.log(1.5) / math.log(3.0)
    )
    assert rediscover.share([(1.0, 1.0)]) == 1.0


def test_rules_of_the_library_that_pay_are_said_to_be_found_or_not():
    """Only rules of the result count. A place where a rule is alone counts more than others."""
    import rediscover

    def place(before, after, timed, *rules):
        seconds = {"before": before, "after": after}
        return {"rules": " ".join(rules), "count": 1, "seconds": seconds, "timed": timed}

    report = {
        "rules": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "gains": [
            place(3.0, 1.0, True, "a", "b"),
            place(2.0, 1.0, True, "a"),
            place(9.0, 1.0, False, "c"),
            place(9.0, 1.0, True, "unused"),
        ],
        "bodies": {"reports": [], "note": None},
    }
    used = rediscover.rules_used(report)
    assert used == {"a": (2.0, True), "b": (3.0, False), "c": (1.0, False)}
    uses = {rule: [("m", *use)] for rule, use in used.items()}
    lines = rediscover.library_table(uses, {"b": "found-1-1 found-2-1"})
    assert lines[2:] == [
        "| `b` | m, 3.00 with others | from several |",
        "| `a` | m, 2.00 | no |",
    ]


def test_rules_that_pay_in_bodies_count():
    """Rules in bodies at any depth count. Rules in bodies that are not used pay there, but are not
    part of the result."""
    import discover, rediscover

    def report(rule, note=None, *bodies):
        seconds = {"before": 2.0, "after": 1.0}
        return {
            "rules": [{"name": rule}],
            "gains": [{"rules": rule, "count": 1, "seconds": seconds, "timed": True}],
            "bodies": {"reports": [{"name": "b", "report": b} for b in bodies], "note": note},
        }

    whole = report("a", None, report("b", "they fail", report("c")), report("d", None, report("e")))
    assert sorted(rediscover.rules_used(whole)) == ["a", "b", "d", "e"]
    found = [entry[0] for entry in discover.paying({"name": "m.onnx"}, whole, 1.05)]
    assert found == ["a", "b", "c", "d", "e"]


def test_a_table_replaces_the_one_after_its_mark(tmp_path, monkeypatch):
    """Text that is written by hand, and other tables, stay."""
    import discover_steps

    page = tmp_path / "DISCOVERED.md"
    monkeypatch.setattr(discover_steps, "PAGE", str(page))
    page.write_text("hand\n\n<!-- one -->\nold\n\n<!-- two -->\nother\n", encoding="utf-8")
    discover_steps.write_table(["new", "lines"], "<!-- one -->")
    assert page.read_text() == "hand\n\n<!-- one -->\nnew\nlines\n\n<!-- two -->\nother\n"
    discover_steps.write_table(["more"], "<!-- three -->")
    assert page.read_text().endswith("<!-- two -->\nother\n\n<!-- three -->\nmore\n")
