"""What optimize-model shows of a run: differences, histories, graphs, the page, the rules there are; and that the page can be looked at."""
import json, os, re, shutil, struct, subprocess, sys, xml.etree.ElementTree as etree, zlib
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from test_optimize import PROGRAM, ROOT, SHAPE, WRONG, costs, dear, forged, net, optimize, refused, rules, save, target, tensor  # noqa: F401 (fixtures)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def count(text):
    return {sign: len(re.findall(rf"^  {re.escape(sign)} ", text, re.M)) for sign in "-+~"}


def test_diff_is_the_difference_of_the_files(optimize, dear, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = optimize(model, out, *SHAPE, *dear, "--diff", "-q")
    assert done.returncode == 0 and done.stdout.startswith("24 nodes removed (-), 6 added (+), 12 changed (~), 0 as they were\n"), done.stdout + done.stderr
    assert count(done.stdout) == {"-": 24, "+": 6, "~": 12}
    before, after = ({node.name for node in onnx.load(path).graph.node} for path in (model, out))
    named = {sign: set(re.findall(rf"^  {re.escape(sign)} \S+ ([^\s:]+)", done.stdout, re.M)) for sign in "-+~"}
    assert named["-"] | named["~"] == before - after and named["+"] | set(re.findall(r" is ([^\s:]+):", done.stdout)) == after
    batchnorm, = re.findall(r"^rule conv-batchnorm \w{16}, \S+, 6 times\n((?:  .*\n)*)", done.stdout, re.M)
    assert set(re.findall(r"(\S+):", batchnorm)) >= {f"norm{k}" for k in range(6)}
    assert "by no rule" not in done.stdout


def test_every_new_node_is_named_after_its_rule(optimize, dear, tmp_path):
    """Also those that stand for a composite which the model's operator set lacks."""
    assert optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", *SHAPE, *dear).returncode == 0
    names = [node.name for node in onnx.load(tmp_path / "o.onnx").graph.node]
    assert names and all(re.match(r"(conv-batchnorm|hard-swish)/", name) for name in names), names


def test_nothing_changed(optimize, tmp_path):
    model = net(tmp_path / "m.onnx")
    done = optimize(model, "--dry-run", "--rules", "none", "--cost", "flops", "--diff", "--explain", "conv0", "--html", tmp_path / "p.html", library=False)
    assert done.returncode == 0 and "0 nodes removed (-), 0 added (+), 0 changed (~), 36 as they were" in done.stdout, done.stderr
    assert "Conv conv0 of the result is the original's node, byte for byte." in done.stdout
    assert "Nothing gains 3 %" in (tmp_path / "p.html").read_text()


def test_explain(optimize, dear, tmp_path, rules):
    model = net(tmp_path / "m.onnx")
    def explain(node, code=0):
        done = optimize(model, "--dry-run", "-q", *SHAPE, *dear, "--explain", node)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if not code else done.stderr
    said = explain("conv-batchnorm/n0")
    assert "was made by rule conv-batchnorm" in said and "from Conv conv0; BatchNormalization norm0\n" in said
    rule, = re.findall(r"rule conv-batchnorm\n.*?\nproved [^\n]*\n", rules.read_text(), re.S)
    assert rule in said
    assert explain("n0") == said == explain("conv0")
    said = explain("y2")
    assert re.search(r"1\. rule hard-swish-div .*from Add add2; Clip clip2; Mul mul2; Div div2;?\n  2\. rule hard-swish .* the result of 1\n", said), said
    said = explain("norm3")
    assert "BatchNormalization norm3 of the original is gone: taken by rule conv-batchnorm.\nIn its place stand: Conv conv-batchnorm/n3\n" in said
    assert "--explain: neither file has" in explain("no such", 2)


def test_list_rules(rules, tmp_path):
    def listed(*words):
        done = subprocess.run([PROGRAM, "--list-rules", "--rules", rules, *words], capture_output=True, text=True, timeout=60)
        return done.returncode, {line.split()[1]: line.split() for line in done.stdout.splitlines()}
    code, every = listed()
    names = re.findall(r"^rule (\S+)", rules.read_text(), re.M)
    assert code == 0 and sorted(every) == sorted(names) and all(re.fullmatch(r"\w{16}", line[2]) for line in every.values())
    assert every["conv-batchnorm"][0] == "on" and every["conv-batchnorm"][3] == "reassociates+divides"
    assert listed("--disable", "conv-batchnorm")[1]["conv-batchnorm"][0] == "off"
    assert {name for name, line in listed("--enable", "hard-swish")[1].items() if line[0] == "on"} == {"hard-swish"}
    assert subprocess.run([PROGRAM, "--list-rules", "a.onnx"], capture_output=True, timeout=10).returncode == 2
    assert listed("--disable", "no-such")[0] == 2


def test_dot_is_read_by_graphviz(optimize, dear, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.node[0].name = 'a "quoted" \\ name <b>'
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert optimize(tmp_path / "m.onnx", "--dry-run", *SHAPE, *dear, "--dot", tmp_path / "g.dot").returncode == 0
    svg = etree.fromstring(subprocess.run(["dot", "-Tsvg", tmp_path / "g.dot"], capture_output=True, check=True, timeout=60).stdout)
    text = ["".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert text.count("BatchNormalization") == 6 and text.count("HardSigmoid") == 6 and 'a "quoted" \\ name <b>' in text
    assert any("original, 36 nodes" in each for each in text) and any("result, 18 nodes" in each for each in text)


@pytest.fixture
def page(optimize, dear, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.node[0].name = "<script>alert(1)</script>"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = optimize(tmp_path / "m.onnx", tmp_path / "o.onnx", *SHAPE, *dear, "--html", tmp_path / "p.html")
    assert done.returncode == 0, done.stderr
    return tmp_path / "p.html"


def test_page(page, rules):
    text = page.read_text()
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)[^"']*""", text.replace("xlink:href", "")), "it needs nothing but itself"
    assert text.count("<svg") == text.count("</svg>") >= 4
    for name in ("conv-batchnorm", "hard-swish-div", "hard-swish"):
        rule, = re.findall(rf"rule {name}\n.*?\nproved [^\n]*digest=(\w+)\n", rules.read_text(), re.S)
        assert f"<b>{name}</b>" in text and f"<code>{rule}</code>" in text
    assert re.search(r"<td>batchnorm</td><td class=n>6</td><td class=n>0</td>", text) and re.search(r"<td>conv</td><td class=n>6</td><td class=n>6</td>", text)
    assert "6 places like this" in text or "5 places like this" in text
    assert re.search(r"greatest difference [\d.e-]+, relative to the largest element [\d.e-]+", text)


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here to look at the page with")
def test_page_in_a_browser(page, tmp_path):
    """The colours of gone and new nodes are on the screen, left and right."""
    shot = tmp_path / "shot.png"
    subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=900,900", f"--user-data-dir={tmp_path}/profile", f"--screenshot={shot}",
                    page.as_uri()], capture_output=True, timeout=120)
    lines = png_lines(shot)
    half = [{line[x:x + 3] for line in lines for x in range(part * len(line) // 2 // 3 * 3, (part + 1) * len(line) // 2 - 2, 3)} for part in (0, 1)]
    assert bytes((255, 179, 167)) in half[0], "nodes that are gone, on the left"
    assert bytes((181, 231, 176)) in half[1] and bytes((255, 224, 138)) in half[1], "new and changed nodes, on the right"


def png_lines(path):
    """The lines of a PNG as bytes, three a pixel: of the kinds that browsers write."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    step, raw = {2: 3, 6: 4}[colour], zlib.decompress(packed)
    above, lines = bytearray(width * step), []
    for y in range(height):
        line = bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        unfilter(raw[y * (width * step + 1)], line, above, step)
        above = line
        lines.append(bytes(line) if step == 3 else b"".join(bytes(line[x:x + 3]) for x in range(0, len(line), 4)))
    return lines


def unfilter(kind, line, above, step):
    for x in range(len(line)):
        left, corner = (line[x - step], above[x - step]) if x >= step else (0, 0)
        p = left + above[x] - corner
        nearest = min((abs(p - left), 0, left), (abs(p - above[x]), 1, above[x]), (abs(p - corner), 2, corner))[2] if kind == 4 else 0
        line[x] = line[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[kind] & 255


def test_page_without_graphviz(optimize, dear, tmp_path):
    done = optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", "--cost", "flops", "--html", tmp_path / "p.html", env=dict(os.environ, PATH="/nowhere"))
    refused(done, 5, "--html", "Graphviz", out=tmp_path / "o.onnx")
    assert not (tmp_path / "p.html").exists()


def test_page_of_a_large_model(optimize, tmp_path):
    """What repeats is drawn once, with what is around it; there is no picture of the whole."""
    nodes = [helper.make_node("Pow" if k % 2 else "Relu", [f"y{k - 1}" if k else "x", "two"][:1 + k % 2], [f"y{k}"]) for k in range(600)]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", [2, 8])], [tensor("y599", [2, 8])], {"two": numpy.float32([2])})
    done = optimize(model, tmp_path / "o.onnx", "--measure-with", target(tmp_path, "1 + data.count(b'Pow')"), "--enable", "pow-square", "--html", tmp_path / "p.html",
                    "--dot", tmp_path / "g.dot")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "p.html").read_text()
    assert "300 places like this" in text and text.count("<svg") <= 4 and "all nodes in their order" in text and "both as pictures" not in text
    drawn = re.search("<svg.*?</svg>", text, re.S)[0]
    assert drawn.count("Pow") == 1 and "Relu" in drawn
    assert "of these what changed" in (tmp_path / "g.dot").read_text()


def test_cost_nodes(optimize, tmp_path):
    """Fewer nodes are better, whatever they cost."""
    report = tmp_path / "r.json"
    done = optimize(net(tmp_path / "m.onnx", blocks=2), tmp_path / "o.onnx", *SHAPE, "--cost", "nodes", "--report", report)
    assert done.returncode == 0 and len(onnx.load(tmp_path / "o.onnx").graph.node) < 12, done.stderr
    assert json.loads(report.read_text())["measured_seconds"] == {"before": None, "after": None}


def test_fold_limit(optimize, dear, tmp_path):
    """A weight that may not be folded is computed when the model runs, and the result is the same."""
    model = net(tmp_path / "m.onnx", blocks=2)
    for limit, types in (("1000000", set()), ("4000", {"Mul"})):
        done = optimize(model, tmp_path / f"{limit}.onnx", *SHAPE, *dear, "--enable", "conv-batchnorm", "--fold-limit", limit)
        assert done.returncode == 0, done.stderr
        made = onnx.load(tmp_path / f"{limit}.onnx").graph
        weights = {t.name for t in made.initializer} | {n.output[0] for n in made.node if n.op_type == "Constant"}
        assert types <= {n.op_type for n in made.node if all(name in weights for name in n.input)}
        assert not any(n.op_type == "BatchNormalization" for n in made.node)


def test_fold_limit_of_shared_values(optimize, tmp_path):
    """Each of 40 constants that may not be folded is read twice by the next: all are met once."""
    nodes = [helper.make_node("Expand", ["one", "size"], ["a0"])]
    nodes += [helper.make_node("Add", [f"a{k}"] * 2, [f"a{k + 1}"]) for k in range(40)]
    nodes += [helper.make_node("Add", ["x", "a40"], ["sum"]), helper.make_node("Pow", ["sum", "two"], ["y"])]
    weights = {"one": numpy.float32([3]), "size": numpy.int64([64]), "two": numpy.float32([2])}
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", [64])], [tensor("y", [64])], weights)
    command = target(tmp_path, "1 + data.count(b'Pow')")
    done = optimize(model, tmp_path / "o.onnx", "--measure-with", command, "--fold-limit", "16")
    assert done.returncode == 0 and "pow-square" in done.stdout, done.stdout + done.stderr


def test_progress(optimize, dear, tmp_path):
    model = net(tmp_path / "m.onnx", blocks=1)
    def said(*words):
        done = optimize(model, "--dry-run", "--cost", "flops", *SHAPE, *words)
        return done.returncode, done.stderr
    assert said() == (0, "") == said("--progress", "never") and said("-v")[1]
    assert said("--progress", "always")[0] == 2


def test_second_opinion_agrees(optimize, dear, tmp_path):
    model, report = net(tmp_path / "m.onnx", blocks=2), tmp_path / "r.json"
    done = optimize(model, tmp_path / "o.onnx", *SHAPE, *dear, "--check-with", "onnxruntime", "--report", report)
    assert done.returncode == 0 and "onnxruntime: agrees on 1 draws" in done.stdout, done.stderr
    assert "agrees" in json.loads(report.read_text())["check"]["onnxruntime"]


def test_second_opinion_catches_a_wrong_rule(optimize, dear, tmp_path):
    """Our own check is off: the rule is applied, and only the other runtime is there to notice."""
    model, out, temporary = net(tmp_path / "m.onnx", blocks=2), tmp_path / "o.onnx", tmp_path / "tmp"
    temporary.mkdir()
    wrong = ["--rules", forged(tmp_path, WRONG), "--check=0"]
    assert optimize(model, out, *SHAPE, *dear, *wrong, library=False).returncode == 0
    out.unlink()
    done = optimize(model, out, *SHAPE, *dear, *wrong, "--check-with", "onnxruntime", library=False, env=dict(os.environ, TMPDIR=str(temporary)))
    refused(done, 1, "onnxruntime disagrees", "y1", out=out)
    assert not list(temporary.glob("isomer*"))


def test_second_opinion_that_is_not_there(optimize, tmp_path):
    model, out, python = net(tmp_path / "m.onnx", blocks=1), tmp_path / "o.onnx", tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nexec python3 -S -I "$@"\n')
    python.chmod(0o755)
    done = optimize(model, out, "--cost", "flops", "--check-with", "onnxruntime", env=dict(os.environ, ISOMER_VENV=str(tmp_path)))
    refused(done, 5, "--check-with", "onnxruntime gives no opinion", "No module named", out=out)
    refused(optimize(model, out, "--cost", "flops", "--check-with", "an oracle"), 2, "expected onnxruntime", out=out)


def test_report_is_as_documented(optimize, dear, tmp_path):
    """Every field of the report stands in search/REPORT.md and the other way round; values are of the kind they should be."""
    documented = set()
    for names in re.findall(r"^\| (`.*?) \|", open(os.path.join(ROOT, "search", "REPORT.md"), encoding="utf-8").read(), re.M):
        documented |= set(re.findall(r"`(\w+)`", names))
    report, out = tmp_path / "r.json", tmp_path / "o.onnx"
    done = optimize(net(tmp_path / "m.onnx", blocks=2), out, *SHAPE, *dear, "--report", report)
    said = json.loads(report.read_text())
    assert done.returncode == 0 and set(said) == documented, set(said) ^ documented
    number, kinds = (int, float), {}
    def pair(x, empty=False):
        return set(x) == {"before", "after"} and all(isinstance(v, number) or empty and v is None for v in x.values())
    assert set(said["nodes"]) == {"total", "understood", "opaque"} and said["nodes"]["total"] == 12
    for field in ("regions", "regions_unique", "steps", "candidates", "costs_missing", "seconds", "peak_mb", "constants_growth"):
        assert isinstance(said[field], number) and said[field] >= 0 or field == "constants_growth", field
    assert said["seconds"] > 0 and said["peak_mb"] > 1
    for field in ("operators", "operator_flops", "step_seconds"):
        assert said[field] and all(pair(x, field == "step_seconds") for x in said[field].values()), field
    assert all(pair(said[field], True) for field in ("bytes", "flops", "predicted_seconds", "measured_seconds"))
    assert said["bytes"] == {"before": (tmp_path / "m.onnx").stat().st_size, "after": out.stat().st_size}
    for rule in said["rules"]:
        kinds |= {rule["name"]: (rule["class"], rule["count"])}
        assert set(rule) == {"name", "id", "class", "count"} and re.fullmatch(r"\w{16}", rule["id"])
    assert kinds["conv-batchnorm"] == ("reassociates+divides", 2) and "rounds" in said["classes"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", said["isomer"]) and any(line.startswith("SQLite 3") for line in said["versions"]) and any("oneDNN" in line for line in said["versions"])
    assert set(said["check"]["outputs"]) == {"y1"}
    worst = said["check"]["outputs"]["y1"]
    assert worst == {"max_absolute": said["check"]["max_absolute"], "max_relative": said["check"]["max_relative"]} and 0 < worst["max_relative"] < 1e-4


def test_every_output_has_its_differences(optimize, dear, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx", blocks=2))
    model.graph.output.extend([tensor("n0", None), tensor("x2", None)])
    model.graph.node.append(helper.make_node("Identity", ["x"], ["x2"], "same"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = optimize(tmp_path / "m.onnx", "--dry-run", *SHAPE, *dear, "--report", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    outputs = json.loads((tmp_path / "r.json").read_text())["check"]["outputs"]
    assert list(outputs) == ["y1", "n0", "x2"] and outputs["y1"]["max_relative"] > 0 and outputs["n0"]["max_relative"] > 0
    assert outputs["y1"] != outputs["n0"] and outputs["x2"]["max_absolute"] in (None, 0)


def test_a_disagreement_leaves_a_reproducer(optimize, dear, tmp_path):
    """The planted rule forgets the mean: of six blocks the region is one convolution, with the data that shows it."""
    out = tmp_path / "o.onnx"
    done = optimize(net(tmp_path / "m.onnx"), out, *SHAPE, *dear, "--rules", forged(tmp_path, WRONG), library=False)
    refused(done, 1, "differs from the original", "see " + str(out) + ".disagreement", out=out)
    text = (tmp_path / "o.onnx.disagreement" / "region.txt").read_text()
    assert "# the smallest part found that differs: the value n0" in text and "rule wrong-batchnorm\n" in text and "proved class=" in text
    original, result = text[text.index("graph original"):].split("graph result")
    assert original.count(" = conv ") == 1 == result.count(" = conv ") and "batchnorm" in original and "batchnorm" not in result
    (file,) = re.findall(r"^# input \S+: (\S+)$", text, re.M)
    x = numpy.load(tmp_path / "o.onnx.disagreement" / file)
    assert x.shape == (1, 3, 40, 40) and x.dtype == numpy.float32 and x.std() > 0
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": x})[0].shape[0] == 1


def test_a_dry_run_leaves_nothing_of_a_disagreement(optimize, dear, tmp_path):
    done = optimize(net(tmp_path / "m.onnx", blocks=1), tmp_path / "o.onnx", "--dry-run", *SHAPE, *dear, "--rules", forged(tmp_path, WRONG), library=False)
    refused(done, 1, "differs from the original", out=tmp_path / "o.onnx.disagreement")


def test_a_wrong_kernel_leaves_a_reproducer(optimize, dear, tmp_path):
    """No rule is wrong here: the result's weights are large, and there the plug-in is."""
    weights = {"w": numpy.full((4, 3, 1, 1), 50, "f"), "s": numpy.full(4, 9, "f"), "b": numpy.zeros(4, "f"), "m": numpy.ones(4, "f"), "v": numpy.ones(4, "f")}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", [1, 3, 8, 8])], [tensor("z", None)], weights)
    done = optimize(model, tmp_path / "o.onnx", "--backend", os.path.join(os.path.dirname(PROGRAM), "test", "plugin", "wrong_backend.so"), *dear, "--enable", "conv-batchnorm")
    refused(done, 1, "differs from the original", "disagreement", out=tmp_path / "o.onnx")
    text = (tmp_path / "o.onnx.disagreement" / "region.txt").read_text()
    assert "that differs: the value y" in text and "rule conv-batchnorm" in text and "relu" not in text[text.index("graph original"):]


def gathers(path):
    """Indices from 5 to 7 of 8: random ones, 0 or 1, would not show what is wrong there."""
    nodes = [helper.make_node("Gather", ["t", "i"], ["g"]), helper.make_node("Pow", ["g", "two"], ["p"]), helper.make_node("Pow", ["p", "two"], ["y"])]
    return save(path, nodes, [tensor("t", ["n", 4]), tensor("i", ["k"], TensorProto.INT64)], [tensor("y", None)], {"two": numpy.float32([2])})


def test_the_users_own_data_is_checked(optimize, tmp_path):
    """The data is far larger than what is drawn, and so is the greatest difference that is reported; its sizes are those of the run."""
    model, data, report = gathers(tmp_path / "m.onnx"), tmp_path / "f.npz", tmp_path / "r.json"
    numpy.savez_compressed(data, t=numpy.full((8, 4), 1e4, "f"), i=numpy.int64([5, 7, 6]))
    words = [model, tmp_path / "o.onnx", "--measure-with", target(tmp_path, "1 + data.count(b'Pow')"), "--report", report]
    assert optimize(*words).returncode == 0
    drawn = json.loads(report.read_text())
    done = optimize(*words, "--input", data, "--check-with", "onnxruntime", env=dict(os.environ, ISOMER_VENV=sys.prefix))
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert said["operator_flops"]["mul"]["after"] == 24 != drawn["operator_flops"]["mul"]["after"] and "agrees" in said["check"]["onnxruntime"]


def test_data_that_does_not_fit(optimize, tmp_path):
    model, out = gathers(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    def given(**arrays):
        numpy.savez(tmp_path / "f.npz", **arrays)
        return optimize(model, out, "--cost", "flops", "--input", tmp_path / "f.npz")
    refused(given(z=numpy.zeros(3, "f")), 2, "z:3", "no input of the model has this name", out=out)
    refused(given(z=numpy.float32(3)), 2, "f.npz", "no input of the model is named z", out=out)
    refused(given(i=numpy.zeros(3, "f")), 3, "f.npz", "the input i is I64", out=out)
    refused(given(t=numpy.zeros((8, 5), "f")), 2, "t", out=out)
    refused(given(t=numpy.zeros((8, 4), "c8")), 3, "f.npz: t.npy", out=out)
    (tmp_path / "f.npz").write_bytes((tmp_path / "f.npz").read_bytes()[:-30])
    refused(optimize(model, out, "--cost", "flops", "--input", tmp_path / "f.npz"), 3, "f.npz", out=out)
    refused(optimize(model, out, "--cost", "flops", "--input", tmp_path / "none.npz"), 5, "none.npz", out=out)
