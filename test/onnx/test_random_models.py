"""Random models go through optimize-model (test/random/), with the day of the last commit as the
seed, and so do cases that once failed. Planted failures must be noticed."""

import os, subprocess, sys, time
import numpy, pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "random"))
import cases, planted, rule_coverage, run
from builder import Builder, F32, I64, Reject
from check import KNOWN, Bench, check

HEAVY = bool(os.environ.get("ISOMER_HEAVY"))
COUNT, SECONDS = (2000, 2700) if HEAVY else (36, 300)


def day():
    """The day of the last commit as a number, or 1 without a repository."""
    command = ["git", "-C", ROOT, "log", "-1", "--format=%cd", "--date=format:%Y%m%d"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else 1


def test_models_of_the_day(monkeypatch):
    """A busy machine runs fewer models in the time that there is."""
    seed, end = day(), time.monotonic() + SECONDS
    monkeypatch.setattr(run, "END", end)
    total = run.campaign(COUNT, seed, sanitized=False, quiet=True)
    enough = 0.97 * COUNT if time.monotonic() < end else 0.2 * COUNT
    bad = [f for f in total.failures if f[0] not in KNOWN]
    print(f"seed {seed}: {dict(total.count)}, {dict(total.kinds)}")
    assert total.count["models"] >= enough
    assert total.count["changed"] >= 0.3 * total.count["models"]
    assert not bad, "\n".join(
        f"run.py 1 {seed} {n} ({about}; {how}): {kind}: {what}" for kind, n, about, how, what in bad
    )


@pytest.mark.parametrize("name", sorted(os.listdir(cases.CASES)))
def test_case(name, tmp_path):
    case, chosen, seed = cases.load(os.path.join(cases.CASES, name))
    chosen.build = "plain"
    bench = Bench(str(tmp_path))
    done = check(case, chosen, bench, seed)
    bench.close()
    assert not done.failures, done.failures


def test_a_model_is_drawn_alone():
    """Model N of a seed is the same whatever models were made before it."""
    sides = run.Sides(str(cases.KEEP))
    for n in (3, 6, 7, 8):
        first, again = run.made(5, n), run.made(5, n, sides)
        assert first.model.SerializeToString() == again.model.SerializeToString()
        assert first.inputs == again.inputs


@pytest.mark.parametrize("index, fits", [(0, True), (-2, True), (1, True), (2, False), (-3, False)])
def test_no_index_is_out_of_range(index, fits):
    """ONNX's reference takes such an index of GatherElements for another one."""
    b = Builder(1, 17, F32)
    x = b.constant(numpy.zeros((3, 2)), F32)
    place = b.constant(numpy.full((3, 1), index), I64)
    if fits:
        assert list(b.add("GatherElements", [x, place], axis=1).shape) == [3, 1]
        return
    with pytest.raises(Reject, match="out of range"):
        b.add("GatherElements", [x, place], axis=1)


def test_rules_that_never_fire(tmp_path):
    """The rules of never-fire.txt are never applied, while another rule, which is tried in the same
    way, is."""
    bench, sides = Bench(str(tmp_path)), run.Sides(str(tmp_path))
    rules = {rule.name: rule for rule in sides.main.rules}
    listed = run.never_fire()
    assert set(listed) <= set(rules)
    found = {name: rule_coverage.tried(rules[name], 6, bench, sides) for name in listed}
    assert not [name for name in listed if found[name]["fired"]]
    assert rule_coverage.tried(rules["relu-relu"], 6, bench, sides)["fired"]
    bench.close()


def test_a_campaign_goes_on_where_it_was_left(tmp_path, monkeypatch):
    """The counters of two parts add up to those of the whole campaign. A block that is done is not
    repeated, unless something failed in it."""
    monkeypatch.setattr(run, "KEEP", str(tmp_path))
    monkeypatch.setattr(run, "BLOCK", 2)
    whole = run.Progress(9, 0, False)
    whole.run(4, 9, 1, sanitized=False)
    part = run.Progress(9, 0, False)
    part.run(2, 9, 1, sanitized=False)
    resumed = run.Progress(9, 0, True)
    assert resumed.blocks == part.blocks and list(part.blocks) == ["0..2"]
    resumed.run(4, 9, 1, sanitized=False)
    for counters in ("rules", "operators", "kinds"):
        assert getattr(resumed.total, counters) == getattr(whole.total, counters)
    assert resumed.total.count["models"] == whole.total.count["models"] == 4
    whole.blocks["2..4"]["kinds"] = {"crash": 1}
    whole.keep()
    assert list(run.Progress(9, 0, True).blocks) == ["0..2"]


def test_a_wrong_rule_is_noticed(tmp_path):
    rules, kinds = planted.wrong_rule(tmp_path)
    assert "wrong-batchnorm" in rules
    assert "onnxruntime-off" in kinds


def test_a_wrong_kernel_is_noticed(tmp_path):
    right, wrong = planted.wrong_kernel(tmp_path)
    assert "run-model" not in right and "run-model" in wrong


def test_a_wrong_constant_is_noticed(tmp_path):
    """At least 7 of 10 folded weights are caught if they are wrong by 1e-5 as a whole; of 40, 34
    and 35 were (with the rules of two days). The others are in models whose results roundings
    move as far. The models depend on the rules of the library."""
    count = 100 if HEAVY else 10
    done, caught, missed = planted.wrong_constant(tmp_path, count, 12)
    assert done == count and caught >= 0.7 * count, missed
