"""The program verify-rules: what it keeps when it is interrupted, when a worker dies or when memory
runs out, and what its JSON file says."""

import json, os, resource, signal, subprocess
import pytest
from conftest import SLOWER
from small_models import ASAN

BUILD = os.environ.get("ISOMER_BUILD", "build")
PROGRAM = os.path.join(BUILD, "verify-rules")
CORPUS = "test/cases/verifier/corpus_b.rules"
TASO = "test/cases/taso/graph_subst.pb"


WITHIN_LIMITS = pytest.mark.skipif(
    ASAN or SLOWER > 1,
    reason="AddressSanitizer and emulators need address space of their own",
)


def verdicts(path):
    return [(x["index"], x["name"], x["verdict"], x["where"]) for x in json.load(open(path))]


def run(*arguments, **options):
    return subprocess.run(
        [PROGRAM, "-q", *arguments], capture_output=True, text=True, timeout=300, **options
    )


@pytest.fixture(scope="module", autouse=True)
def corpus(tmp_path_factory):
    """Uses the corpus without the rules whose verdict is unknown, because of which the journal
    would be kept."""
    global CORPUS
    rules = open(CORPUS, encoding="utf-8").read().split("\n\n")
    path = tmp_path_factory.mktemp("corpus") / "decided.rules"
    path.write_text("\n\n".join(rule for rule in rules if "# expect: unknown" not in rule))
    before, CORPUS = CORPUS, str(path)
    yield
    CORPUS = before


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("whole") / "v.json")
    assert run("--json", path, CORPUS).returncode == 1
    assert not os.path.exists(path + ".journal")
    return verdicts(path)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(x) for x in f.read().split()]


def start(path, lines, *more):
    """Starts a run and waits until it has reported so many rules."""
    p = subprocess.Popen(
        [PROGRAM, "--json", path, *more, CORPUS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(lines):
        assert p.stdout.readline()
    return p


def end(p):
    out, _ = p.communicate(timeout=300)
    return p.returncode, out


def resumed(path, whole):
    """Resumes a run and returns how many verdicts the first one had kept. All verdicts must be
    those of a run that was not interrupted."""
    known = len(open(path + ".journal").read().splitlines())
    again = subprocess.run(
        [PROGRAM, "--resume", "--json", path, CORPUS], capture_output=True, text=True, timeout=300
    )
    assert again.returncode == 1, again.stderr
    assert verdicts(path) == whole
    assert not os.path.exists(path + ".journal")
    return known


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path, whole, number):
    path = str(tmp_path / "v.json")
    p = start(path, 20)
    p.send_signal(number)
    code, out = end(p)
    assert code == 130 and " proved (" in out
    so_far = verdicts(path)
    done = [x for x in so_far if x[2] != "unknown"]
    assert 19 < len(done) < len(whole) and set(map(str, done)) <= set(map(str, whole))
    assert all(
        x["why"] == "not reached" for x in json.load(open(path)) if x["verdict"] == "unknown"
    )
    assert resumed(path, whole) == len(done)


def test_killed_itself(tmp_path, whole):
    path = str(tmp_path / "v.json")
    p = start(path, 15)
    p.kill()
    end(p)
    assert not os.path.exists(path)
    with open(path + ".journal", "a") as f:
        f.write(open(path + ".journal").readline()[:-9])  # a last line that was cut off
    assert resumed(path, whole) >= 15


def test_worker_killed(tmp_path, whole):
    path = str(tmp_path / "v.json")
    p = start(path, 10, "-j", "2")
    workers = children(p.pid)
    assert len(workers) == 2
    for x in workers:
        os.kill(x, signal.SIGSTOP)
    for x in workers:
        os.kill(x, signal.SIGKILL)
    code, _ = end(p)
    assert code == 1
    found = verdicts(path)
    lost = [x for x in found if x[2] == "unknown"]
    assert (
        len(found) == len(whole)
        and len(lost) <= 2
        and [x for x in found if x not in lost]
        == [x for x in whole if x[1] not in [y[1] for y in lost]]
    )
    assert all(
        "its worker process died" in x["why"]
        for x in json.load(open(path))
        if x["verdict"] == "unknown"
    )
    if lost:
        assert resumed(path, whole) == len(whole) - len(lost)


@WITHIN_LIMITS
def test_out_of_memory(tmp_path, whole):
    path = str(tmp_path / "v.json")
    result = run("--json", path, "--memory-limit", "48M", CORPUS)
    found = verdicts(path)
    assert result.returncode == 1 and len(found) == len(whole)
    lost = [x for x in found if x[2] == "unknown"]
    assert lost, "48 MB were enough"
    assert not [x for x in found if x[2] != "unknown" and x not in whole]
    assert resumed(path, whole) == len(whole) - len(lost)


def test_memory_by_its_earlier_name(tmp_path):
    rules = tmp_path / "a.rules"
    rules.write_text(TWO)
    assert run("--memory", "4096", rules).returncode == run(rules).returncode
    for words in (["--memory", "15"], ["--memory-limit", "15M"], ["--memory-limit", "much"]):
        done = run(*words, rules)
        assert done.returncode == 2 and words[0] in done.stderr


TWO = """rule a
  %x : F [n, n]
from
  %y = relu %x
  out %y
to
  %z = relu %x
  %y = relu %z
  out %y
rule groups
  %x : F [n, G*c, k]   %u : F [G*p, c, 3]   %v : F [G*q, c, 3]
from
  %s = conv %x %u group=G
  %t = conv %x %v group=G
  %y = concat %s %t axis=1
  out %y
to
  %w = concat %u %v axis=0
  %y = conv %x %w group=G
  out %y
where p >= 1, q >= 1, k >= 3
"""


def test_resume_asks_the_same_question(tmp_path):
    """A verdict that was given with other options, or for another rule with the same name, does not
    count."""
    path, rules = str(tmp_path / "v.json"), str(tmp_path / "r.rules")
    with open(rules, "w") as f:
        f.write(TWO)
    assert run("--json", path, rules).returncode == 0
    assert [x[2:] for x in verdicts(path)] == [("proved", []), ("proved", ["G == 1"])]
    key = "0" * 16
    with open(path + ".journal", "w") as f:  # a verdict of no rule here
        f.write(f'{key}/{key}/{key}/asis-0 {{"verdict": "proved"}}\n')
    assert run("--resume", "--no-preconditions", "--json", path, rules).returncode == 1
    assert [x[2] for x in verdicts(path)] == ["proved", "refuted"]
    assert run("--resume", rules).returncode == 2


def test_places_that_cannot_be_written_are_met_first(tmp_path):
    """They are found at the start, not when the first rule is refuted or all are decided."""
    (tmp_path / "file").write_text("")
    done = run("--counterexample-dir", tmp_path / "file", CORPUS)
    assert done.returncode == 5 and not done.stdout and str(tmp_path / "file") in done.stderr
    done = run("-o", tmp_path / "missing" / "x.rules", CORPUS)
    assert done.returncode == 5 and not done.stdout and "x.rules: cannot write" in done.stderr
    done = run("-o", tmp_path, CORPUS)
    assert done.returncode == 5 and not done.stdout and "it is a folder" in done.stderr
    (tmp_path / "x.rules.journal").mkdir()
    done = run("-o", tmp_path / "x.rules", CORPUS)
    assert done.returncode == 5 and not done.stdout and "journal of verdicts" in done.stderr


def fields(data):
    """The top-level fields of a protobuf message as byte strings."""
    at = 0
    while at < len(data):
        start, shift, n = at, 0, 0
        at += 1
        while True:
            n |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        at += n
        yield data[start:at]


def test_index_counts_refused_rules(tmp_path):
    """The middle one of three rules has an operator for which we have none."""
    rules = list(fields(open(TASO, "rb").read()))
    strange = rules[0].replace(b"\x08\x12", b"\x08\x04", 1)  # DROPOUT
    pb, path = str(tmp_path / "r.pb"), str(tmp_path / "v.json")
    with open(pb, "wb") as f:
        f.write(rules[0] + strange + rules[1])
    result = run("--json", path, pb, CORPUS)
    found = json.load(open(path))
    assert [x["index"] for x in found[:3]] == [0, 1, 2] and [x["index"] for x in found[3:]] == list(
        range(76)
    )
    assert [x["verdict"] for x in found[:3]] == ["proved", "unknown", "proved"]
    assert (
        found[1]["id"] is None
        and "cannot be expressed" in found[1]["why"]
        and "UNKNOWN" in result.stdout
    )
    assert [x["name"] for x in found[:3]] == ["taso-0", "taso-1", "taso-2"]


WRONG = """rule wrong
  %a : F [n]   %b : F [n]
from
  %m = mul %a %b
  %d = div %m %b
  out %d
to
  %d = neg %a
  out %d
"""


def test_no_division_by_zero_where_another_will_do(tmp_path):
    path, rules = str(tmp_path / "v.json"), str(tmp_path / "r.rules")
    with open(rules, "w") as f:
        f.write(WRONG)
    assert run("--json", path, rules).returncode == 1
    text = json.load(open(path))[0]["counterexample"]
    data = text.split("input %b")[1].split("{")[1].split("}")[0].split(", ")
    assert "0" not in data and "nan" not in text and "inf" not in text and "rationals" in text


MANY = """rule r{k}
  %x : F [n{k}]
from
  %y = relu %x
  out %y
to
  %y = relu %x
  out %y
"""


@WITHIN_LIMITS
def test_no_memory_for_the_rules(tmp_path):
    """If the rules do not fit in memory, the program reports a resource limit and does not
    abort."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (65 << 20, 65 << 20))

    path = tmp_path / "many.rules"
    path.write_text("\n".join(MANY.format(k=k) for k in range(40000)))
    done = run(str(path), preexec_fn=limit)
    assert done.returncode == 4, done
    assert done.stderr.startswith("verify-rules: ") and "memory" in done.stderr


def test_explain(tmp_path):
    """A rule is explained by its name or identifier; a rule that does not exist is a usage
    error."""
    rules = tmp_path / "r.rules"
    rules.write_text(MANY.format(k=1) + "\n" + MANY.format(k=2))
    done = subprocess.run([PROGRAM, "--explain", "r2", rules], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("output 1\n") == 1
    identifier = next(x for x in done.stdout.splitlines() if " r2 " in x).split()[1]
    done = run("--explain", identifier, rules)
    assert done.returncode == 0 and "unknown" in done.stdout
    done = run("--explain", "r3", rules)
    assert done.returncode == 2 and not done.stdout
    assert "--explain: no rule in the given files" in done.stderr and "r3" in done.stderr


def test_explain_wants(tmp_path):
    """What operations want of their arguments: of a maximum, that its range has a point."""
    rules = tmp_path / "r.rules"
    rules.write_text(
        "rule two-maxima\n  %x : F [n, m]\n  %z : F [n, m]\nfrom\n"
        "  %a = reduce_max %x axes=[1]\n  %b = reduce_max %z axes=[1]\n  %y = max %a %b\n"
        "  out %y\nto\n  %a = max %x %z\n  %y = reduce_max %a axes=[1]\n  out %y\n"
    )
    words = [PROGRAM, "--explain", "two-maxima", rules]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "PROVED" in done.stdout
    for side in "left", "right":
        assert f"{side} wants: is not empty(max{{0 : " in done.stdout
    assert "overflow" not in done.stdout


def test_rules_that_are_no_graphs(tmp_path):
    """An unknown operator, or a condition on a name that neither side has, gives exit status 3 and
    a message with the place; the other rules get their verdicts."""
    rule = "rule {}\n  %x : F [n]\nfrom\n  %y = {} %x\n  %z = neg %y\n  out %z\nto\n  out %x\n{}\n"
    file, out = tmp_path / "r.rules", tmp_path / "r.json"
    good, near, far, dead = (
        rule.format("good", "neg", "where n >= 0\n"),
        rule.format("near", "neeg", ""),
        rule.format("far", "frobnicate", ""),
        rule.format("dead", "neg", "where n >= 1, floor(q/2) >= 1\n"),
    )
    for text, line, said in [
        (near, 4, 'unknown operator "neeg"; did you mean "neg"?'),
        (far, 4, 'unknown operator "frobnicate"'),
        (dead, 9, "a condition names q, which neither side has"),
    ]:
        file.write_text(text + good)
        done = run(file, "--json", out)
        assert done.returncode == 3 and f"r.rules:{line}:" in done.stdout, done
        reason = "is not a pair of graphs; the reason is next to its verdict"
        assert said in done.stdout and reason in done.stderr, done
        first, second = json.load(open(out))
        assert (first["verdict"], first["category"]) == ("unknown", "invalid")
        assert second["verdict"] == "proved" and second["category"] is None
    file.write_text(good)
    assert run(file).returncode == 0
