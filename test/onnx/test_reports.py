"""What optimize-model says about a run: the difference of the graphs, the history of a node, graphs
for Graphviz, the list of rules, and the report."""

import json, os, re, shutil, sqlite3, subprocess, xml.etree.ElementTree as etree
import numpy, onnx, pytest
from onnx import helper
from small_models import ASAN, PROGRAM, ROOT, SHAPE, net, roots, save, target, tensor


def count(text):
    return {sign: len(re.findall(rf"^  {re.escape(sign)} ", text, re.M)) for sign in "-+~"}


def test_diff_is_the_difference_of_the_files(optimize, costly, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = optimize(model, out, *SHAPE, *costly, "--diff", "-q")
    assert done.returncode == 0 and done.stdout.startswith(
        "24 nodes removed (-), 6 added (+), 12 changed (~), 0 unchanged\n"
    ), (done.stdout + done.stderr)
    assert count(done.stdout) == {"-": 24, "+": 6, "~": 12}
    before, after = ({node.name for node in onnx.load(path).graph.node} for path in (model, out))
    named = {
        sign: set(re.findall(rf"^  {re.escape(sign)} \S+ ([^\s:]+)", done.stdout, re.M))
        for sign in "-+~"
    }
    assert (
        named["-"] | named["~"] == before - after
        and named["+"] | set(re.findall(r" is ([^\s:]+):", done.stdout)) == after
    )
    (batchnorm,) = re.findall(
        r"^rule conv-batchnorm \w{16}, \S+, 6 times\n((?:  .*\n)*)", done.stdout, re.M
    )
    assert set(re.findall(r"(\S+):", batchnorm)) >= {f"norm{k}" for k in range(6)}
    assert "by no rule" not in done.stdout


def test_every_new_node_is_named_after_its_rule(optimize, costly_chain, tmp_path):
    """This holds also for nodes that stand for a composite which the model's operator set lacks."""
    assert (
        optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", *SHAPE, *costly_chain).returncode
        == 0
    )
    names = [node.name for node in onnx.load(tmp_path / "o.onnx").graph.node]
    assert names and all(re.match(r"(conv-batchnorm|hard-swish)/", name) for name in names), names


def test_nothing_changed(optimize, tmp_path):
    model = net(tmp_path / "m.onnx")
    done = optimize(
        model,
        "--dry-run",
        "--rules",
        "none",
        "--cost",
        "flops",
        "--diff",
        "--explain",
        "conv0",
        "--html",
        tmp_path / "p.html",
        library=False,
    )
    assert (
        done.returncode == 0
        and "0 nodes removed (-), 0 added (+), 0 changed (~), 36 unchanged" in done.stdout
    ), done.stderr
    assert "Conv conv0 of the result is the original's node, byte for byte." in done.stdout
    assert "No rules are used" in (tmp_path / "p.html").read_text()


def test_what_is_not_understood_is_named_with_the_reason(optimize, tmp_path):
    strange = lambda k: helper.make_node("Strange", [f"v{k}"], [f"v{k + 1}"], domain="elsewhere")
    nodes = [helper.make_node("Relu", ["v0"], ["v1"]), strange(1), strange(2)]
    nodes[2].name = "second"
    io = [tensor("v0", [4])], [tensor("v3", [4])]
    path = save(tmp_path / "m.onnx", nodes, *io, {})
    model = onnx.load(path)
    model.opset_import.add(domain="elsewhere", version=1)
    path.write_bytes(model.SerializeToString())
    report = tmp_path / "r.json"
    done = optimize(path, "--dry-run", "--report", report)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())["opaque"]
    assert [(x["node"], x["operator"]) for x in said] == [("v2", "Strange"), ("second", "Strange")]
    assert said[0]["reason"] == said[1]["reason"] and "elsewhere" in said[0]["reason"]
    assert f"  opaque: Strange 'v2' and 1 like it: {said[0]['reason']}\n" in done.stdout


def test_where_nodes_count_no_gain_is_spoken_of(optimize, tmp_path):
    model = parsed(tmp_path / "m.onnx", "m (float[4] x) => (float[4] y) { y = Cosh(x) }")
    page = tmp_path / "p.html"
    words = [model, "--dry-run", "--html", page]
    for cost, said in ("nodes", "o rule saves a node"), ("flops", "othing gains 3 %"):
        done = optimize(*words, "--cost", cost)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"n{said}: the file is unchanged\n"), done.stdout
        assert f"<b>N{said}: the file is unchanged.</b>" in page.read_text()


def test_explain(optimize, costly_chain, tmp_path, rules):
    model = net(tmp_path / "m.onnx")

    def explain(node):
        done = optimize(model, "--dry-run", "-q", *SHAPE, *costly_chain, "--explain", node)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = explain("conv-batchnorm/n0")
    assert (
        "was made by rule conv-batchnorm" in said
        and "from Conv conv0; BatchNormalization norm0\n" in said
    )
    (rule,) = re.findall(r"rule conv-batchnorm\n.*?\nproved [^\n]*\n", rules.read_text(), re.S)
    assert rule in said
    assert explain("n0") == said == explain("conv0")
    said = explain("y2")
    assert re.search(
        r"1\. rule hard-swish-div .*from Add add2; Clip clip2; Mul mul2; Div div2;?\n  2\. rule"
        r" hard-swish .* the result of 1\n",
        said,
    ), said
    said = explain("norm3")
    assert (
        "BatchNormalization norm3 of the original is gone: replaced by rule conv-batchnorm.\nIn its"
        " place: Conv conv-batchnorm/n3\n" in said
    )
    assert explain("no such") == "Neither file has a node or a result of a node named no such.\n"


def test_list_rules(rules, tmp_path):
    def listed(*words):
        done = subprocess.run(
            [PROGRAM, "--list-rules", "--rules", rules, *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, {line.split()[1]: line.split() for line in done.stdout.splitlines()}

    code, every = listed()
    names = re.findall(r"^rule (\S+)", rules.read_text(), re.M)
    assert (
        code == 0
        and sorted(every) == sorted(names)
        and all(re.fullmatch(r"\w{16}", line[2]) for line in every.values())
    )
    assert (
        every["conv-batchnorm"][0] == "on" and every["conv-batchnorm"][3] == "reassociates+divides"
    )
    assert listed("--disable", "conv-batchnorm")[1]["conv-batchnorm"][0] == "off"
    assert {
        name for name, line in listed("--enable", "hard-swish")[1].items() if line[0] == "on"
    } == {"hard-swish"}
    assert (
        subprocess.run(
            [PROGRAM, "--list-rules", "a.onnx"], capture_output=True, timeout=10
        ).returncode
        == 2
    )
    assert listed("--disable", "no-such")[0] == 2


def test_rules_are_found_whatever_their_folder_is_called(tmp_path):
    home = tmp_path / "a[b]*?"
    (home / "build").mkdir(parents=True)
    program = shutil.copy(PROGRAM, home / "build")
    os.symlink(os.path.join(ROOT, "rules"), home / "rules")
    here, there = (
        subprocess.run([path, "--list-rules"], capture_output=True, text=True, timeout=60)
        for path in (PROGRAM, program)
    )
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout


def test_dot_is_read_by_graphviz(optimize, costly, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.node[0].name = 'a "quoted" \\ name <b>'
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert (
        optimize(
            tmp_path / "m.onnx", "--dry-run", *SHAPE, *costly, "--dot", tmp_path / "g.dot"
        ).returncode
        == 0
    )
    svg = etree.fromstring(
        subprocess.run(
            ["dot", "-Tsvg", tmp_path / "g.dot"], capture_output=True, check=True, timeout=60
        ).stdout
    )
    text = ["".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert (
        text.count("BatchNormalization") == 6
        and text.count("HardSigmoid") == 6
        and 'a "quoted" \\ name <b>' in text
    )
    assert any("original, 36 nodes" in each for each in text) and any(
        "result, 18 nodes" in each for each in text
    )


def test_cost_nodes(optimize, tmp_path):
    """With --cost nodes, fewer nodes are better, whatever they cost."""
    report = tmp_path / "r.json"
    done = optimize(
        net(tmp_path / "m.onnx", blocks=2),
        tmp_path / "o.onnx",
        *SHAPE,
        "--cost",
        "nodes",
        "--report",
        report,
    )
    assert done.returncode == 0 and len(onnx.load(tmp_path / "o.onnx").graph.node) < 12, done.stderr
    assert json.loads(report.read_text())["measured_seconds"] == {"before": None, "after": None}


def test_fold_limit(optimize, costly, tmp_path):
    """A weight that may not be folded is computed when the model runs, with the same result."""
    model = net(tmp_path / "m.onnx", blocks=2)
    for limit, types in (("1000000", set()), ("4000", {"Mul"})):
        done = optimize(
            model,
            tmp_path / f"{limit}.onnx",
            *SHAPE,
            *costly,
            "--enable",
            "conv-batchnorm",
            "--fold-limit",
            limit,
        )
        assert done.returncode == 0, done.stderr
        made = onnx.load(tmp_path / f"{limit}.onnx").graph
        weights = {t.name for t in made.initializer} | {
            n.output[0] for n in made.node if n.op_type == "Constant"
        }
        assert types <= {n.op_type for n in made.node if all(name in weights for name in n.input)}
        assert not any(n.op_type == "BatchNormalization" for n in made.node)


def test_fold_limit_of_shared_values(optimize, tmp_path):
    """Each of 40 constants that may not be folded is read twice by the next one, but each is
    visited only once."""
    nodes = [helper.make_node("Expand", ["one", "size"], ["a0"])]
    nodes += [helper.make_node("Add", [f"a{k}"] * 2, [f"a{k + 1}"]) for k in range(40)]
    nodes += [
        helper.make_node("Add", ["x", "a40"], ["sum"]),
        helper.make_node("Pow", ["sum", "two"], ["y"]),
    ]
    weights = {"one": numpy.float32([3]), "size": numpy.int64([64]), "two": numpy.float32([2])}
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", [64])], [tensor("y", [64])], weights)
    command = target(tmp_path, "1 + data.count(b'Pow')")
    done = optimize(model, tmp_path / "o.onnx", "--measure-with", command, "--fold-limit", "16")
    assert done.returncode == 0 and "pow-square" in done.stdout, done.stdout + done.stderr


def test_progress(optimize, costly, tmp_path):
    model = net(tmp_path / "m.onnx", blocks=1)

    def said(*words):
        done = optimize(model, "--dry-run", "--cost", "flops", *SHAPE, *words)
        return done.returncode, done.stderr

    assert said() == (0, "") == said("--progress", "never") and said("-v")[1]
    assert said("--progress", "always")[0] == 2


def test_report_is_as_documented(optimize, costly, tmp_path):
    """Every field of the report is documented in search/REPORT.md, and every documented field
    exists, with a value of the right type."""
    documented = set()
    for names in re.findall(
        r"^\| (`.*?) \|",
        open(os.path.join(ROOT, "search", "REPORT.md"), encoding="utf-8").read(),
        re.M,
    ):
        documented |= set(re.findall(r"`(\w+)`", names))
    report, out = tmp_path / "r.json", tmp_path / "o.onnx"
    done = optimize(net(tmp_path / "m.onnx", blocks=2), out, *SHAPE, *costly, "--report", report)
    said = json.loads(report.read_text())
    assert done.returncode == 0 and set(said) == documented, set(said) ^ documented
    number, kinds = (int, float), {}

    def pair(x, empty=False):
        return set(x) == {"before", "after"} and all(
            isinstance(v, number) or empty and v is None for v in x.values()
        )

    assert set(said["nodes"]) == {"total", "understood", "opaque"} and said["nodes"]["total"] == 12
    for field in (
        "regions",
        "regions_unique",
        "steps",
        "candidates",
        "costs_missing",
        "seconds",
        "peak_mb",
        "constants_growth",
    ):
        assert (
            isinstance(said[field], number) and said[field] >= 0 or field == "constants_growth"
        ), field
    assert said["seconds"] > 0 and said["peak_mb"] > 1
    for field in ("operators", "operator_flops", "step_seconds"):
        assert said[field] and all(
            pair(x, field == "step_seconds") for x in said[field].values()
        ), field
    assert all(
        pair(said[field], True)
        for field in ("bytes", "flops", "predicted_seconds", "measured_seconds")
    )
    assert said["bytes"] == {
        "before": (tmp_path / "m.onnx").stat().st_size,
        "after": out.stat().st_size,
    }
    for rule in said["rules"]:
        kinds |= {rule["name"]: (rule["class"], rule["count"])}
        assert set(rule) == {"name", "id", "class", "count"} and re.fullmatch(r"\w{16}", rule["id"])
    assert kinds["conv-batchnorm"] == ("reassociates+divides", 2) and "rounds" in said["classes"]
    assert (
        re.fullmatch(r"\d+\.\d+\.\d+", said["isomer"])
        and any(line.startswith("SQLite 3") for line in said["versions"])
        and any("oneDNN" in line for line in said["versions"])
    )
    assert set(said["check"]["outputs"]) == {"y1"}
    worst = said["check"]["outputs"]["y1"]
    assert (
        worst
        == {
            "max_absolute": said["check"]["max_absolute"],
            "max_relative": said["check"]["max_relative"],
        }
        and 0 < worst["max_relative"] < 1e-4
    )


def test_where_nothing_was_timed_the_table_and_the_report_say_why(optimize, tmp_path):
    """No rule applies to a single node of this kind, so there is no candidate."""
    model = parsed(tmp_path / "m.onnx", "m (float[4] x) => (float[4] y) { y = Cosh(x) }")
    said, table = report_of(optimize, tmp_path, model)
    why = "no candidate was found, so nothing was timed"
    assert said["reason"] == why and f"  {why}\n" in table and not said["changed"]
    for field in ("predicted_seconds", "measured_seconds"):
        assert said[field] == {"before": None, "after": None}
    said, table = report_of(optimize, tmp_path, model, "--cost", "nodes")
    assert said["reason"] is None and "timed" not in table


def test_where_nothing_was_searched_nothing_is_said_of_gains(optimize, tmp_path):
    model = parsed(tmp_path / "m.onnx", "m (float[4] x) => (float[4] y) { y = Cosh(x) }")
    done = optimize(model, tmp_path / "o.onnx", "--rules", "none", library=False)
    assert "; no rules are used: the file is unchanged" in done.stdout, done.stdout
    later = onnx.load(model)
    later.opset_import[0].version = 99
    onnx.save(later, model)
    _, table = report_of(optimize, tmp_path, model)
    assert "; its operator set is not known: the file is unchanged" in table, table


def test_a_dry_run_tells_the_size_of_the_file_that_it_does_not_write(optimize, costly, tmp_path):
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    for files in ([model, out], [model, "--dry-run"]):
        done = optimize(*files, *SHAPE, *costly, "--report", report)
        assert done.returncode == 0, done.stderr
        size = json.load(open(report))["bytes"]
        assert size == {"before": os.path.getsize(model), "after": os.path.getsize(out)}, files
        assert size["before"] != size["after"]


@pytest.mark.skipif(ASAN, reason="AddressSanitizer needs as much memory as the parent")
def test_memory_is_that_of_the_run(optimize, tmp_path):
    """The size of the parent, 600 MB, does not count as memory of a small run."""
    ballast, report = bytearray(b"x") * (600 << 20), tmp_path / "r.json"
    done = optimize(net(tmp_path / "m.onnx"), "--dry-run", "--cost", "nodes", "--report", report)
    assert done.returncode == 0 and len(ballast) == 600 << 20
    assert 5 < json.loads(report.read_text())["peak_mb"] < 300


def entries(path, sql, *values):
    with sqlite3.connect(path) as file:
        return file.execute(sql, values).fetchall()


def test_a_cost_file_that_predicts_wrongly_is_measured_again(rules, tmp_path):
    """It is measured again once, and never by a frozen run."""
    costs, report = tmp_path / "c.sqlite", tmp_path / "r.json"
    words = [roots(tmp_path / "m.onnx"), "--dry-run", "--input-shape", "x:1,8,64,64"]
    words += ["--rules", rules, "--enable", "pow-half"]

    def said():
        done = subprocess.run(
            [PROGRAM, *map(str, words), "--cost-db", costs, "--report", report],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(report.read_text()), done.stdout

    first, _ = said()
    assert first["predicted_seconds"]["before"] > 0
    entries(costs, "update cost set seconds = 20 * seconds where kind = 'step'")
    wrong = entries(costs, "select sum(seconds) from cost where kind = 'step' and seconds < 1e9")
    second, table = said()
    assert "the cost file was wrong" in table and "measured again" in second["cost_file_fault"]
    assert second["predicted_seconds"]["before"] < 5 * first["predicted_seconds"]["before"]
    right = entries(costs, "select sum(seconds) from cost where kind = 'step' and seconds < 1e9")
    assert right[0][0] < wrong[0][0]
    assert said()[0]["cost_file_fault"] is None
    entries(costs, "update cost set seconds = 20 * seconds where kind = 'step'")
    words.append("--frozen")
    assert said()[0]["cost_file_fault"] is None


def test_the_prediction_is_of_the_plan_that_runs(rules, tmp_path):
    """A node that is opaque at open sizes runs at the given sizes. The time of the nodes after it
    is predicted from steps that were timed, not from an estimate at guessed sizes."""
    report, rng = tmp_path / "r.json", numpy.random.default_rng(0)
    nodes = [helper.make_node("Pow", ["x", "half"], ["p"])]
    nodes.append(helper.make_node("Resize", ["p", "", "scales"], ["r"], mode="nearest"))
    for k in range(4):
        kernel = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        nodes.append(
            helper.make_node("Conv", [f"c{k}" if k else "r", "w"], [f"c{k + 1}"], **kernel)
        )
    weights = {
        "scales": numpy.float32([1, 1, 1.3, 1.3]),
        "w": rng.normal(size=(32, 32, 3, 3)).astype("f") / 20,
        "half": numpy.float32([0.5]),
    }
    model = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", ["n", 32, "h", "w"])],
        [tensor("c4", None)],
        weights,
    )
    words = [PROGRAM, model, "--dry-run", "--input-shape", "x:1,32,160,160", "--rules", rules]
    words += ["--enable", "pow-half", "--cost-db", tmp_path / "c.sqlite", "--report", report]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    predicted, measured = (said[k]["before"] for k in ("predicted_seconds", "measured_seconds"))
    assert said["nodes"]["opaque"] and measured / 4 < predicted < measured * 4


def test_step_seconds_are_of_the_device_that_the_options_ask_for(rules, tmp_path):
    """The seconds of the steps add up to the predicted time, which comes from the same timings."""
    report = tmp_path / "r.json"
    words = [PROGRAM, roots(tmp_path / "m.onnx"), "--dry-run", "--input-shape", "x:1,8,64,64"]
    words += ["--rules", rules, "--enable", "pow-half", "--cost-db", tmp_path / "c.sqlite"]
    words += ["--backend-options", "generic", "--report", report]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    prices = [kind["before"] for kind in said["step_seconds"].values() if kind["before"]]
    assert sum(prices) == pytest.approx(said["predicted_seconds"]["before"], rel=1e-6)


CHOSEN = """m (float[4, 8] x) => (float[4, 8] y) <bool c = {1}> {
    y = If (c) <then_branch = t () => (float[4, 8] a) { a = Relu(x) },
                else_branch = e () => (float[4, 8] b) { b = Neg(x) }> }"""
EMPTY = "m (float[n, 4] x) => (float[n, 4] y) { r = Relu(x)  y = Relu(r) }"


def parsed(path, text):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    onnx.save(model, path)
    return path


def report_of(optimize, tmp_path, model, *words):
    out, report = tmp_path / "o.onnx", tmp_path / "r.json"
    done = optimize(model, out, "--report", report, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text()), done.stdout


def test_an_inlined_file_counts_as_changed(optimize, tmp_path):
    """The sizes are those of the user's file and of the one that is written."""
    model, out = parsed(tmp_path / "m.onnx", CHOSEN), tmp_path / "o.onnx"
    said, _ = report_of(optimize, tmp_path, model, "--cost", "nodes")
    before, after = model.stat().st_size, out.stat().st_size
    assert before != after and said["changed"]
    assert said["bytes"] == {"before": before, "after": after}
    assert said["constants_growth"] == after - before


def test_weights_in_another_file_count(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    words = ["--cost", "flops", "--save-as-external-data", "--external-threshold", 1]
    said, _ = report_of(optimize, tmp_path, model, *words)
    data = sum(path.stat().st_size for path in tmp_path.glob("o.onnx.data*"))
    assert data > 0 and said["bytes"]["after"] == out.stat().st_size + data
    assert said["constants_growth"] == said["bytes"]["after"] - model.stat().st_size


@pytest.mark.parametrize("option", ["--report", "--proof-log", "--dot"])
def test_a_failure_beside_the_model_leaves_the_model(optimize, tmp_path, option):
    model = net(tmp_path / "m.onnx")
    before = model.read_bytes()
    done = optimize(model, model, "--cost", "flops", option, "/dev/full")
    assert done.returncode == 5 and "/dev/full" in done.stderr
    assert model.read_bytes() == before
    words = ["--save-as-external-data", "--external-threshold", 1]
    out = tmp_path / "o.onnx"
    done = optimize(model, out, "--cost", "flops", option, "/dev/full", *words)
    assert done.returncode == 5 and f"{out} was written before that" in done.stderr
    assert out.exists()


def test_empty_outputs_do_not_count_as_compared(optimize, tmp_path):
    model = parsed(tmp_path / "m.onnx", EMPTY)
    said, table = report_of(optimize, tmp_path, model, "--cost", "nodes", "--dim", "n=0")
    assert not said["check"]["done"] and "outputs are empty" in said["check"]["note"]
    assert "greatest difference" not in table and "all outputs are empty" in table
    for sizes in "n=0,3", "n=3,0":
        said, table = report_of(optimize, tmp_path, model, "--cost", "nodes", "--dim", sizes)
        assert said["check"]["done"] and "greatest difference" in table
        assert said["check"]["note"] == (
            "nothing was compared at n=0, because all outputs are empty"
        )


def test_what_definitions_compared_is_counted(optimize, tmp_path):
    """How many there are, and how many were compared; the net is too large to be compared whole."""
    said, table = report_of(
        optimize, tmp_path, net(tmp_path / "m.onnx", size=64), "--cost", "nodes", *SHAPE
    )
    check = said["check"]
    assert 0 < check["applications_compared"] <= check["applications"]
    assert 0 < check["constants_compared"] <= check["constants"]
    assert f"{check['applications_compared']} of {check['applications']} applications" in table
