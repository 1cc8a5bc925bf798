"""The program discover-rules: the questions of models, its answers to them, and that no false rule
is kept."""

import json
import os
import re
import subprocess
import sys
import time

import numpy
import onnx
import pytest
from onnx import helper
from small_models import measuring, save, tensor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
CORPUS = os.path.join(ROOT, "test/cases/discover/prototype.questions")
# The options that each question of the corpus needs besides --depth 1.
ANSWERED = {
    "affine": [],
    "scale": [],
    "affine6": [],
    "hardswish": [],
    "power": [],
    "heads": [],
    "parallel": [],
    "chain": [],
    "three": [],
    "cross": ["--depth", "2", "--steps", "100000"],
    "segformer": ["--depth", "0"],
    "softmax": ["--depth", "2", "--steps", "20000"],
    "row": [],
    "batchnorm": ["--worse", "3", "--depth", "0"],
    "shifted": ["--depth", "0"],
    "block": ["--depth", "0", "--worse", "3"],
    "blocks_of_three": ["--depth", "0", "--worse", "3"],
    "blocks_mixed": ["--depth", "0", "--worse", "3"],
    "blocks_of_line": ["--depth", "0", "--worse", "3"],
    "blocks_of_volume": ["--depth", "0", "--worse", "6"],
    "kernels": ["--depth", "0"],
    "kernels_point_first": ["--depth", "0"],
    "pointwise": ["--depth", "0", "--worse", "6"],
    "norm": ["--depth", "0", "--worse", "6"],
    "window": ["--depth", "0"],
    "step": ["--depth", "0"],
    "padded": ["--depth", "0"],
    "line": ["--depth", "0"],
}
# A target that takes a second for each convolution without strides.
COSTLY = """import onnx
def price(path):
    convs = [n.SerializeToString() for n in onnx.load(path).graph.node if n.op_type == "Conv"]
    return 1 + sum(b"strides" not in text for text in convs)
"""
FALSE = ["dropped"]  # questions with an answer that looks right and is wrong


def run(program, *arguments, **options):
    """Runs a program of the build folder and returns the finished process."""
    return subprocess.run(
        [os.path.join(BUILD, program), *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def corpus():
    """The questions of the corpus by the names of their graphs."""
    parts = re.split(r"(?m)^(?=question )", re.sub(r"(?m)^#.*\n", "", read(CORPUS)))[1:]
    found = {re.search(r"^graph (\w+)", part, re.M)[1]: part.strip("\n") for part in parts}
    assert set(found) == set(ANSWERED) | set(FALSE)
    return found


def answered(tmp_path, name, *options):
    """The candidate rules for one question of the corpus, as text."""
    source, out = tmp_path / f"{name}.questions", tmp_path / f"{name}.rules"
    source.write_text(corpus()[name] + "\n", encoding="utf-8")
    done = run("discover-rules", source, "-q", "-o", out, *options)
    assert done.returncode == 0, done.stderr
    return read(out)


def verdicts(tmp_path, text):
    """The verdict of each rule of a text, by its name."""
    source, report = tmp_path / "candidates.rules", tmp_path / "report.json"
    source.write_text(text, encoding="utf-8")
    done = run("verify-rules", "-q", source, "--json", report)
    assert done.returncode in (0, 1), done.stderr
    with open(report, encoding="utf-8") as file:
        return {rule["name"]: rule["verdict"] for rule in json.load(file)}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_question_of_the_corpus_is_answered_by_proved_rules(tmp_path, name):
    """Answers are found by solving for constants and by landmarks and views of the goal, and they
    hold for all sizes."""
    text = answered(tmp_path, name, *ANSWERED[name])
    assert "\nrule found-" in text
    assert set(verdicts(tmp_path, text).values()) == {"proved"}


def test_answers_are_the_expected_graphs(tmp_path):
    """Among them: one product instead of two; one hard swish; a row that is taken before the layers
    instead of after them."""
    assert re.search(
        r"to\n  %1 = add %k[23] %k[23]\n  %2 = matmul %x1 %1\n", answered(tmp_path, "parallel")
    )
    assert "to\n  %1 = hardswish %x1\n" in answered(tmp_path, "hardswish")
    block = answered(tmp_path, "block", *ANSWERED["block"]).split("to\n")[1]
    assert re.search(r"%1 = select %k2 matrix=.* shape=\[2, 2, k, b, c \+ 1, g \+ 1\]\n", block)
    assert "strides=[2, 2] pads=[d, h, e, i]" in block and "depthtospace %3 block=2" in block
    threes = answered(tmp_path, "blocks_of_three", *ANSWERED["blocks_of_three"])
    strides = re.findall(r" strides=\[(.*?)\]", threes)
    assert strides == ["3, 3", "3, 1", "1, 3"]
    mixed = answered(tmp_path, "blocks_mixed", *ANSWERED["blocks_mixed"])
    kernel = r" shape=\[4, 2, k, b, c \+ 3, g \+ 1\]\n.*\n.* strides=\[4, 2\] pads=\[d, h, e, i\]\n"
    assert re.search(kernel, mixed)
    line = answered(tmp_path, "blocks_of_line", *ANSWERED["blocks_of_line"])
    assert re.search(r" shape=\[2, g, b, c \+ 1\]\n.*\n.* strides=\[2\] pads=\[d, e\]\n", line)
    volume = answered(tmp_path, "blocks_of_volume", *ANSWERED["blocks_of_volume"])
    strides = re.findall(r" strides=\[(.*)\]\n", volume)
    assert "2, 2, 2" in strides and "1, 2, 2" in strides and "2, 1, 1" in strides
    kernels = answered(tmp_path, "kernels", *ANSWERED["kernels"])
    assert "  %1 = convtranspose %k3 %k2\n  %2 = conv %x1 %1 pads=[i, j, k, l]\n" in kernels
    out = answered(tmp_path, "pointwise", *ANSWERED["pointwise"]).split("to\n")[1]
    assert re.findall(r"= (\w+)", out) == ["fill", "max", "exp", "fill", "add", "min", "add"]
    assert "= sqrt %" in answered(tmp_path, "norm", *ANSWERED["norm"])
    head = answered(tmp_path, "segformer", *ANSWERED["segformer"]).split("to\n")[1]
    assert re.search(r"%5 = add %3 %4\n  %6 = resize %5 .*\n  out %6\n", head)
    row = answered(tmp_path, "row").split("to\n")[1]
    assert "%1 = slice %x1" in row and "%2 = matmul %1 %k2" in row


def sides(text):
    """For each rule, the operators of its right side in order."""
    return [re.findall(r"= (\w+)", rule.split("\nto\n")[1]) for rule in text.split("\nrule ")[1:]]


def test_definitions_are_written_out(tmp_path):
    """In a local response normalization, the squares of all channels are computed and padded once
    and read at five offsets, and the power of 3/4 is computed by two square roots. A step of a
    recurrent layer has one product for all gates. A window of nine places becomes three rows and
    then three columns. A convolution over a line becomes one over an image of one row or column."""
    lrn = sides(answered(tmp_path, "window", *ANSWERED["window"]))[0]
    assert lrn[2:9] == ["mul", "pad", "slice", "slice", "add", "slice", "add"]
    assert lrn[:2] == ["fill", "fill"]
    assert lrn.count("slice") == 5 and lrn.count("sqrt") == 2 and lrn[-1] == "div"
    steps = sides(answered(tmp_path, "step", *ANSWERED["step"]))
    assert [side.count("matmul") for side in steps] == [2, 2]
    assert sorted(side.count("sigmoid") for side in steps) == [1, 3]
    pool = sides(answered(tmp_path, "padded", *ANSWERED["padded"]))
    assert any(side.count("slice") == 6 and side.count("add") == 4 for side in pool)
    line = answered(tmp_path, "line", *ANSWERED["line"])
    assert "conv %1 %2 strides=[1, 2] pads=[0, 1, 0, 1]" in line
    assert ["conv"] in [[op for op in side if op != "reshape"] for side in sides(line)]
    assert any(side.count("matmul") == 3 for side in sides(line))


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("window", "starts=[0, 4, 0, 0]", "starts=[0, 3, 0, 0]"),
        ("window", "pads=[0, 2, 0, 0, 0, 2, 0, 0]", "pads=[0, 3, 0, 0, 0, 1, 0, 0]"),
        ("step", "starts=[0, 3*c]", "starts=[0, 2*c]"),
        ("padded", "starts=[0, 0, 0, 2]", "starts=[0, 0, 0, 1]"),
        ("line", "strides=[1, 2] pads=[0, 1, 0, 1]", "strides=[1, 2] pads=[0, 2, 0, 0]"),
    ],
)
def test_a_definition_that_is_written_out_wrongly_is_refuted(tmp_path, name, old, new):
    """The answers are changed by hand: another offset, another padding, another gate."""
    good = answered(tmp_path, name, *ANSWERED[name])
    assert old in good
    bad = good.replace(old, new).replace("rule found-", "rule planted-")
    said = verdicts(tmp_path, bad)
    changed = [part.split()[0] for part in bad.split("\nrule ")[1:] if new in part]
    assert changed and all(said[rule] == "refuted" for rule in changed)


def test_what_a_smaller_question_answers_is_not_answered_again(tmp_path):
    """An operator is written out only in the question about it alone, not in one in which a product
    follows it."""
    for lines in ("  %1 = celu %x1\n  %2 = matmul %1 %k2\n",):
        source, out = tmp_path / "two.questions", tmp_path / "two.rules"
        source.write_text(
            "question q count=1 seconds=1 most=1 from=-\nat a=64 b=56\ngraph two\n"
            f"  %x1 : F [a, b]   %k2 : F [b, b]\nbody\n{lines}  out %2\n",
            encoding="utf-8",
        )
        done = run("discover-rules", source, "-q", "--depth", "0", "--worse", "6", "-o", out)
        assert done.returncode == 0, done.stderr
        assert not any("matmul" in side and "exp" in side for side in sides(read(out)))


def test_answers_are_models_at_the_sizes_of_the_place(tmp_path):
    """The question and its answers are written as model files with the same inputs, which a target
    can time."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import onnx_tools
    import onnxruntime

    text = answered(tmp_path, "line", *ANSWERED["line"], "--models", tmp_path / "places")
    names = re.findall(r"^# model (\S+)$", text, re.M)
    assert len(names) == text.count("\nrule found-") >= 2
    results = []
    first = str(tmp_path / "places" / names[0])
    assert not onnx_tools.constants_fixed(first, first, 1 << 10)  # its kernel is larger
    for name in [names[0].rsplit("-", 1)[0] + ".onnx", *names]:
        path = str(tmp_path / "places" / name)
        assert onnx_tools.constants_fixed(path, path, 1 << 20)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        assert {each.name: each.shape for each in session.get_inputs()} == {"x1": [1, 64, 56]}
        data = numpy.random.default_rng(2).standard_normal((1, 64, 56)).astype("float32")
        results.append(session.run(None, {"x1": data})[0])
    assert results[0].shape == (1, 128, 28)
    assert all(numpy.allclose(results[0], other, 1e-3, 1e-2) for other in results[1:])


def test_times_that_were_measured_are_read_again(tmp_path):
    """A line that was cut off when a run was killed is ignored, so that it is measured again."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import discover_steps

    path = tmp_path / "all.times"
    assert discover_steps.times_read(path) == {}
    path.write_text("q.onnx 0.25\nq-1.onnx -\nq-2.onnx 0.1", encoding="utf-8")
    assert discover_steps.times_read(path) == {"q.onnx": 0.25, "q-1.onnx": None}


def test_what_only_looks_equal_is_refuted(tmp_path):
    """The maximum of many numbers is positive at every random point that is tried, but not
    always."""
    text = answered(tmp_path, FALSE[0], "--depth", "0")
    assert "\nrule found-" in text
    assert set(verdicts(tmp_path, text).values()) == {"refuted"}


def test_a_false_answer_is_refuted_and_dropped(tmp_path):
    """The prover refutes a candidate in which an operator was changed by hand."""
    good = answered(tmp_path, "parallel")
    bad = re.sub(r"add (%k. %k.)", r"sub \1", good).replace("rule found-", "rule planted-")
    assert bad != good
    said = verdicts(tmp_path, good + bad)
    assert sorted(said.values()) == ["proved", "refuted"]
    out, kept = tmp_path / "verdicts.rules", tmp_path / "kept.rules"
    run("verify-rules", "-q", tmp_path / "candidates.rules", "-o", out)
    assert run("compare-rules", "part", out, "--all", "-q", "-o", kept).returncode == 0
    assert "rule found-" in read(kept) and "planted" not in read(kept)


@pytest.fixture(name="model")
def small_model(tmp_path):
    """A model that twice has a convolution, a multiplication by a number and an addition of one, at
    different sizes."""
    nodes, weights, last = [], {}, "x"
    random = numpy.random.default_rng(3)
    for k, (inputs, outputs) in enumerate(((3, 8), (8, 5))):
        weights[f"w{k}"] = random.standard_normal((outputs, inputs, 3, 3)).astype("float32")
        weights[f"b{k}"] = random.standard_normal(outputs).astype("float32")
        weights |= {f"s{k}": numpy.float32([0.31 + k]), f"t{k}": numpy.float32([0.77 + k])}
        nodes += [
            helper.make_node("Conv", [last, f"w{k}", f"b{k}"], [f"c{k}"], pads=[1, 1, 1, 1]),
            helper.make_node("Mul", [f"c{k}", f"s{k}"], [f"m{k}"]),
            helper.make_node("Add", [f"m{k}", f"t{k}"], [f"y{k}"]),
        ]
        last = f"y{k}"
    inputs, outputs = [tensor("x", [1, 3, 16, 16])], [tensor(last, [1, 5, 16, 16])]
    return save(tmp_path / "m.onnx", nodes, inputs, outputs, weights)


def test_a_model_asks_and_the_answer_makes_it_faster(tmp_path, model):
    """Two places of different sizes ask the same question, and the rule that answers it applies to
    both."""
    listed = run("discover-rules", model, "--list", "--operators", "3")
    assert listed.returncode == 0, listed.stderr
    triples = [
        part
        for part in re.split(r"(?m)^(?=question )", listed.stdout)
        if all(f"= {op} " in part for op in ("conv", "mul", "add")) and part.count(" = ") == 3
    ]
    most = max(int(re.search(r"count=(\d+)", part)[1]) for part in triples)
    assert most == 2
    source, out = tmp_path / "m.questions", tmp_path / "m.rules"
    source.write_text(next(part for part in triples if "count=2 " in part), encoding="utf-8")
    assert run("discover-rules", source, "-q", "--depth", "0", "-o", out).returncode == 0
    proved = tmp_path / "proved.rules"
    assert run("verify-rules", "-q", out, "-o", proved).returncode == 0
    done = run(
        *("optimize-model", model, tmp_path / "o.onnx", "--rules", proved, "--cost", "nodes", "-q"),
        *("--report", tmp_path / "o.json", "--cost-db", tmp_path / "costs.sqlite"),
    )
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "o.json", encoding="utf-8") as file:
        report = json.load(file)
    assert sum(rule["count"] for rule in report["rules"]) == 2
    assert "mul" not in report["operators"] or report["operators"]["mul"]["after"] == 0


def one_convolution(path, constant):
    """A model of a convolution to one channel, whose kernel is a constant or an input."""
    kernel = numpy.random.default_rng(4).standard_normal((1, 8, 3, 3)).astype("float32")
    inputs = [tensor("x", [1, 8, 16, 24])] + ([] if constant else [tensor("w", kernel.shape)])
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    weights = {"w": kernel} if constant else {}
    return save(path, nodes, inputs, [tensor("y", [1, 1, 16, 24])], weights)


def test_results_of_multiples_are_asked_about_as_such(tmp_path):
    """For a result of 16 by 24 places, blocks of two and of four divide both sizes, and blocks of
    three divide one."""
    model = one_convolution(tmp_path / "m.onnx", True)
    listed = run("discover-rules", model, "--list", "--operators", "1")
    assert listed.returncode == 0, listed.stderr
    blocks = [re.findall(r"([234])\*[a-z] - 1", line) for line in listed.stdout.splitlines()]
    assert sorted(filter(None, blocks)) == [["2", "2"], ["3"], ["4", "4"]]


@pytest.mark.parametrize("constant, limit", [(True, None), (True, "16"), (False, None)])
def test_a_constant_that_is_solved_for_is_computed_before(tmp_path, constant, limit):
    """`select` has no ONNX operator. So its rule applies only where its input is a constant, and
    the selected constant is computed whatever the limit on computed constants is. The target makes
    convolutions with strides fast; original and result agree."""
    proved = tmp_path / "proved.rules"
    (tmp_path / "block.rules").write_text(
        answered(tmp_path, "block", *ANSWERED["block"]), encoding="utf-8"
    )
    assert run("verify-rules", "-q", tmp_path / "block.rules", "-o", proved).returncode == 0
    model = one_convolution(tmp_path / "m.onnx", constant)
    costly = measuring(tmp_path / "costly", "price(path)", COSTLY)
    done = run(
        *("optimize-model", model, tmp_path / "o.onnx", "--rules", proved, "--allow", "drops"),
        *("--measure-with", costly, "--report", tmp_path / "o.json"),
        *("--cost-db", tmp_path / "costs.sqlite", "--check-with", "onnxruntime"),
        *(("--fold-limit", limit) if limit else ()),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(read(tmp_path / "o.json"))
    assert report["changed"] == constant and report["check"]["done"] == constant
    if constant:
        operators = [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node]
        assert operators[-2:] == ["Conv", "DepthToSpace"]
        assert set(operators[:-2]) == ({"Reshape"} if limit else set())


def test_optimize_model_uses_the_discovered_rules():
    """The discovered rules of a target come with the program, with valid verdicts. For the built-in
    runtime and for a command of the user's own there are none."""
    folder = os.path.join(ROOT, "rules/discovered")
    names = re.findall(r"^rule (\S+)$", read(os.path.join(folder, "onnxruntime.rules")), re.M)
    assert names
    for target, used in (("onnxruntime", True), (None, False), ("./time *", False)):
        words = ["--measure-with", target] if target else []
        listed = run("optimize-model", "--list-rules", *words)
        assert listed.returncode == 0, listed.stderr
        assert all((name in listed.stdout) == used for name in names)


@pytest.mark.parametrize(
    "text, said",
    [
        ("question 1 count=1\n", "bad.questions:1"),
        ("question 1 count=1 seconds=1 most=1 from=-\nsizes a=1\n", "bad.questions:2"),
        ("question 1 count=1 seconds=1 most=1 from=-\nat a=1\nbody\n", "the question's graph"),
        (
            "question 1 count=1 seconds=1 most=1 from=-\nat a=1\ngraph q\n  %x1 : F [a]\nbody\n"
            "  %1 = nosuch %x1\n  out %1\n",
            "nosuch",
        ),
        (
            "question 1 count=1 seconds=1 most=1 from=-\nat a=2 b=3\ngraph q\n  %x1 : F [a, a]\n"
            "  %x2 : F [b, a]\nbody\n  %1 = matmul %x1 %x2\n  out %1\n",
            "are not sizes of its graph",
        ),
    ],
)
def test_a_bad_question_is_named(tmp_path, text, said):
    """The exit status is 3, and the message says where the error is."""
    path = tmp_path / "bad.questions"
    path.write_text(text, encoding="utf-8")
    done = run("discover-rules", path)
    assert done.returncode == 3 and said in done.stderr


def test_usage():
    """The exit status is 2 without files, and 5 for a missing file."""
    assert run("discover-rules").returncode == 2
    assert run("discover-rules", "nosuch.questions").returncode == 5
    assert run("discover-rules", "nosuch.onnx").returncode == 5


@pytest.mark.parametrize(
    "words, said",
    [
        (["--dim", "depth=3"], "depth=3: the model has no size with this name; its open"),
        (["--dim", "h"], "h: expected NAME=NUMBER"),
        (["--dim", "h=-3"], "h=-3: a size cannot be negative"),
        (["--dim", "h=9000000000000000000"], "h=9000000000000000000: a size cannot be greater"),
        (["--input-shape", "y:1,3"], "y:1,3: no model has an input with this name"),
        (["--input-shape", "x:1,3"], "x:1,3: no model has an input with this name and as many"),
        (["--input-shape", "x:1,a"], "x:1,a: expected NAME:N,N,.."),
    ],
)
def test_sizes_that_no_model_has_are_refused(tmp_path, words, said):
    """The exit status is 2. A size that only one of several models has is accepted."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    one = save(tmp_path / "one.onnx", nodes, [tensor("x", [1, 2, "h"])], [tensor("y", None)], {})
    two = save(tmp_path / "two.onnx", nodes, [tensor("x", [1, "w"])], [tensor("y", None)], {})
    done = run("discover-rules", one, "--list", *words)
    assert done.returncode == 2 and said in done.stderr
    known = ("--dim", "h=5", "--dim", "w=6", "--input-shape", "x:1,2,7")
    done = run("discover-rules", one, two, "--list", *known)
    assert done.returncode == 0, done.stderr


def test_what_pays_is_chosen_from_the_places_of_a_report(tmp_path):
    """No rule is kept for a place that gains too little, was not timed, or needed other rules,
    too."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import discover

    def place(before, after, timed, *rules):
        seconds = {"before": before, "after": after}
        return {"rules": " ".join(rules), "count": 3, "seconds": seconds, "timed": timed}

    report = {
        "gains": [
            place(2.0, 1.0, True, "fast"),
            place(1.04, 1.0, True, "slow"),
            place(3.0, 1.0, False, "untimed"),
            place(3.0, 2.0, True, "both", "fast"),
        ],
        "bodies": {"reports": [], "note": None},
    }
    found = list(discover.paying({"name": "m.onnx"}, report, 1.05))
    assert found == [("fast", "m", 3, 2.0)]
    places = [("m", 3, 2.0), ("n", 1, 1.1), ("m", 2, 1.5)]
    assert discover.where(places) == "m at 5 places, up to 2.00; n at 1 place, up to 1.10"
    rules = tmp_path / "all.rules"
    rules.write_text("# how\nrule a\n  text a\n\n# how\nrule b\n  text b\n", encoding="utf-8")
    assert discover.rule_texts(rules) == {
        "a": (["# how"], "rule a\n  text a"),
        "b": (["# how"], "rule b\n  text b"),
    }


def test_what_another_optimizer_has_is_told(tmp_path):
    """An optimizer that turns the left side into the right one has the rule, one that turns the
    right side into the left one has the reverse, and one that changes nothing has neither. Nodes
    with different attributes are different."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import check_novelty

    def write(name, *nodes):
        save(tmp_path / name, list(nodes), [tensor("x", [2, 3])], [tensor("y", [2, 3])], {})

    write("r.from.onnx", helper.make_node("Elu", ["x"], ["y"], alpha=1.0))
    write("r.to.onnx", helper.make_node("Celu", ["x"], ["y"]))
    write("other.onnx", helper.make_node("Elu", ["x"], ["y"], alpha=0.5))

    class Fake:
        """An optimizer that turns every model into the same one, or changes nothing."""

        def __init__(self, makes=None):
            self.makes = makes

        def optimize(self, into, out):
            onnx.save(onnx.load(tmp_path / self.makes if self.makes else into), out)
            return "", ""

    said = {
        makes: check_novelty.said_of(Fake(makes), tmp_path, "r")
        for makes in (None, "r.to.onnx", "r.from.onnx", "other.onnx")
    }
    assert said == {
        None: "does not have it",
        "r.to.onnx": "has it",
        "r.from.onnx": "the reverse",
        "other.onnx": "has it",
    }
    assert check_novelty.described(tmp_path / "other.onnx") != check_novelty.described(
        tmp_path / "r.from.onnx"
    )
    chain = lambda first, then: (
        helper.make_node(first, ["x"], ["n"]),
        helper.make_node(then, ["n"], ["y"]),
    )
    write("before.onnx", *chain("Neg", "Abs"))
    write("behind.onnx", *chain("Abs", "Neg"))
    terms = [check_novelty.described(tmp_path / f"{name}.onnx") for name in ("before", "behind")]
    assert terms == [["Abs(Neg(x))"], ["Neg(Abs(x))"]], "the order counts"
    assert check_novelty.worst(["does not have it", "the reverse"]) == "the reverse"
