"""optimize-model on small models made here: what it gains, what it writes, what it refuses, and whether planted failures are caught."""
import json, os, re, resource, shutil, signal, sqlite3, subprocess, sys, time
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build")))
PROGRAM = os.path.join(BUILD, "optimize-model")
LIBRARY = os.path.join(ROOT, "rules", "library")


@pytest.fixture(scope="session")
def costs(tmp_path_factory):
    return tmp_path_factory.mktemp("costs") / "costs.sqlite"


@pytest.fixture(scope="session")
def rules(tmp_path_factory):
    """The library as one file, wherever the build is."""
    path = tmp_path_factory.mktemp("rules") / "library.rules"
    path.write_text("\n".join(open(os.path.join(LIBRARY, name), encoding="utf-8").read() for name in sorted(os.listdir(LIBRARY)) if name.endswith(".rules")))
    return path


@pytest.fixture
def optimize(costs, rules):
    def call(*arguments, library=True, **options):
        words = [PROGRAM, *map(str, arguments), "--cost-db", str(costs)] + (["--rules", str(rules)] if library else [])
        return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
    return call


def save(path, nodes, inputs, outputs, weights, opset=13, **fields):
    graph = helper.make_graph(nodes, "test", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **fields)
    path.write_bytes(model.SerializeToString())
    return path


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def net(path, blocks=6, size=24, scale=1.0, opset=13):
    """Blocks of Conv, BatchNormalization and a hard-swish chain, at open sizes."""
    rng = numpy.random.default_rng(0)
    nodes, weights, last = [], {"three": numpy.float32([3]), "six": numpy.float32([6]), "lo": numpy.float32(0), "hi": numpy.float32(6)}, "x"
    for k in range(blocks):
        width = 3 if k == 0 else size
        weights |= {f"w{k}": (scale * rng.normal(size=(size, width, 3, 3)) / width).astype("f"), f"s{k}": rng.random(size).astype("f") + .5,
                    f"b{k}": rng.normal(size=size).astype("f"), f"m{k}": rng.normal(size=size).astype("f"), f"v{k}": rng.random(size).astype("f") + .5}
        nodes += [helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"], f"conv{k}", pads=[1, 1, 1, 1]),
                  helper.make_node("BatchNormalization", [f"c{k}", f"s{k}", f"b{k}", f"m{k}", f"v{k}"], [f"n{k}"], f"norm{k}"),
                  helper.make_node("Add", [f"n{k}", "three"], [f"a{k}"], f"add{k}"), helper.make_node("Clip", [f"a{k}", "lo", "hi"], [f"l{k}"], f"clip{k}"),
                  helper.make_node("Mul", [f"n{k}", f"l{k}"], [f"p{k}"], f"mul{k}"), helper.make_node("Div", [f"p{k}", "six"], [f"y{k}"], f"div{k}")]
        last = f"y{k}"
    return save(path, nodes, [tensor("x", ["batch", 3, "h", "w"])], [tensor(last, ["batch", size, "h", "w"])], weights, opset)


def target(path, times):
    """A measuring command that gives times by what a file's text holds; logs how often it was asked."""
    script = path / "target"
    script.write_text("#!/usr/bin/env python3\nimport sys\nbatch = []\nfor line in sys.stdin:\n  p = line.rstrip('\\n')\n"
                      "  if p:\n    batch.append(p)\n    continue\n  for p in batch:\n    open(%r, 'a').write('x')\n    data = open(p, 'rb').read()\n    t = %s\n"
                      "    print(('%%.6f %%s' %% (t, p)) if t else 'FAIL %%s it does not run' %% p)\n  print(flush=True)\n  batch = []\n" % (str(path / "asked"), times))
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def dear(tmp_path):
    """A target on which BatchNormalization and Div are dear."""
    folder = tmp_path / "target"
    folder.mkdir()
    return ["--measure-with", target(folder, "1 + data.count(b'BatchNormalization') + data.count(b'Div')")]


def peak_of(words):
    """Peak resident MB of a program; what rusage says would include this one, from before exec."""
    peak = 0
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            peak = max([peak] + [int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")])
        time.sleep(.005)
    assert process.returncode == 0
    return peak


@pytest.mark.skipif("asan" in os.path.basename(BUILD), reason="AddressSanitizer keeps what was freed")
def test_memory(tmp_path, rules):
    """Weights are not copied for each thing that is done with them. Here every weight changes, so that nothing is shared: both files mapped, the result and what was computed for it,
    both packed. It took ten times the model before kernels packed what they know without keeping it."""
    def big(name, size):
        weights, nodes, last = {}, [], "x"
        for k in range(3):
            weights |= {f"w{k}": (numpy.arange(size * size, dtype="f") % 97 / size + k).reshape(size, size, 1, 1),
                        **{f"{n}{k}": numpy.linspace(.5, 1.5, size, dtype="f") for n in "sbmv"}}
            nodes += [helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"]),
                      helper.make_node("BatchNormalization", [f"c{k}", *(f"{n}{k}" for n in "sbmv")], [f"y{k}"])]
            last = f"y{k}"
        return save(tmp_path / name, nodes, [tensor("x", [1, size, 2, 2])], [tensor(last, [1, size, 2, 2])], weights)
    def peak(source):
        return peak_of([PROGRAM, source, tmp_path / "out.onnx", "--cost", "nodes", "--rules", rules, "--cost-db", tmp_path / "costs", "-q"])
    small, large = big("small.onnx", 16), big("large.onnx", 2560)
    least, _, most = peak(small), peak(large), peak(large)
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 3
    assert most - least < 8 * large.stat().st_size / 2**20, (least, most)


def roots(path):
    """Powers that are better square roots, on any machine; a second power is a product to our kernels anyway."""
    nodes = []
    for k in range(4):
        nodes += [helper.make_node("Pow", [f"y{k - 1}" if k else "x", "half"], [f"p{k}"]), helper.make_node("MaxPool", [f"p{k}"], [f"y{k}"], kernel_shape=[1, 1])]
    return save(path, nodes, [tensor("x", ["n", 8, "h", "w"])], [tensor("y3", ["n", 8, "h", "w"])], {"half": numpy.float32([0.5])})


SHAPE = ["--input-shape", "x:1,3,40,40"]


def agree(a, b, x):
    one, two = (onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0] for p in (a, b))
    assert one.shape == two.shape and numpy.abs(one - two).max() <= 1e-4 * numpy.abs(one).max()


def test_gain_report_table_and_log(optimize, dear, tmp_path):
    model, out, report, log = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json", tmp_path / "p.log"
    done = optimize(model, out, *SHAPE, *dear, "--report", report, "--proof-log", log)
    assert done.returncode == 0, done.stderr
    assert re.search(r"batchnorm +6 +0\n", done.stdout) and re.search(r"rule conv-batchnorm +6 times", done.stdout)
    assert "36 of 36 nodes understood, 0 opaque" in done.stdout
    agree(model, out, numpy.random.default_rng(1).random((2, 3, 17, 19), dtype="f"))
    onnx.checker.check_model(onnx.load(out))
    said = json.loads(report.read_text())
    assert said["changed"] and said["nodes"] == {"total": 36, "understood": 36, "opaque": 0}
    assert said["measured_seconds"] == {"before": 13, "after": 1}
    assert said["check"]["done"] and 0 < said["check"]["max_relative"] < 1e-4
    counts = {rule["name"]: rule["count"] for rule in said["rules"]}
    assert counts["conv-batchnorm"] == 6 and counts["hard-swish-div"] == 6 and all(len(rule["id"]) == 16 for rule in said["rules"])
    assert said["operators"]["div"] == {"before": 6, "after": 0}
    assert log.read_text().count("apply ") == sum(counts.values())


def test_our_own_executor_as_target(optimize, tmp_path):
    model, out, log, report = roots(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "p.log", tmp_path / "r.json"
    done = optimize(model, out, "--input-shape", "x:1,8,64,64", "--proof-log", log, "--report", report)
    assert done.returncode == 0 and re.search(r"pow +4 +0\n", done.stdout), done.stdout + done.stderr
    said = json.loads(report.read_text())
    assert said["measured_seconds"]["after"] < said["measured_seconds"]["before"] and said["steps"] > 0 and said["regions"] > 0
    agree(model, out, numpy.random.default_rng(1).random((2, 8, 5, 6), dtype="f"))
    for extra in (["--frozen"], ["--replay", log]):
        again = optimize(model, tmp_path / "again.onnx", "--input-shape", "x:1,8,64,64", *extra)
        assert again.returncode == 0 and "not in the cost file" not in again.stdout, again.stdout + again.stderr
        assert (tmp_path / "again.onnx").read_bytes() == out.read_bytes()


def test_threads_of_the_target(optimize, costs, tmp_path):
    """Times of one number of threads say nothing of another; a frozen cost file gives the same bytes ten times, and a model of the machine for any number."""
    model, shape = roots(tmp_path / "m.onnx"), ["--input-shape", "x:1,8,64,64"]
    outs = [tmp_path / f"o{k}.onnx" for k in range(13)]
    for k, threads in ((11, 1), (12, 2)):
        assert optimize(model, outs[k], *shape, "--cost", "flops", "--threads", threads).returncode == 0
    assert outs[11].read_bytes() == outs[12].read_bytes()
    said = optimize(model, outs[10], *shape, "--threads", 2)
    assert said.returncode == 0, said.stderr
    with sqlite3.connect(costs) as file:
        assert {device for device, in file.execute("select device from cost where device like '%, 2 threads%'")}
    for out in outs[:10]:
        again = optimize(model, out, *shape, "--threads", 2, "--frozen")
        assert again.returncode == 0 and "not in the cost file" not in again.stdout and out.read_bytes() == outs[10].read_bytes(), again.stdout
    other = optimize(model, tmp_path / "other.onnx", *shape, "--threads", 3, "--frozen")
    assert other.returncode == 0 and "not in the cost file" in other.stdout + other.stderr, other.stdout


def test_what_no_rule_touches_is_copied(optimize, dear, tmp_path):
    """The constant of shape [1] was made a scalar for the rules to see; the node that no rule took keeps it as it was."""
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.initializer.append(numpy_helper.from_array(numpy.float32([0.7]), "tail"))
    model.graph.node.extend([helper.make_node("Tanh", ["y5"], ["t"], "tanh"), helper.make_node("Mul", ["t", "tail"], ["z"], "last", doc_string="kept")])
    del model.graph.output[:]
    model.graph.output.append(tensor("z", ["batch", 24, "h", "w"]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert optimize(tmp_path / "m.onnx", tmp_path / "o.onnx", *SHAPE, *dear).returncode == 0
    out = onnx.load(tmp_path / "o.onnx")
    assert len(out.graph.node) < len(model.graph.node)
    assert model.graph.node[-1] in out.graph.node and model.graph.initializer[-1] in out.graph.initializer
    assert len([t for t in out.graph.initializer if t.name.startswith("isomer") and numpy_helper.to_array(t).size == 1]) == 0


def test_weights_beside_the_model_go_along(optimize, tmp_path):
    (tmp_path / "in").mkdir(), (tmp_path / "out").mkdir()
    onnx.save(onnx.load(roots(tmp_path / "m.onnx")), tmp_path / "in" / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    model, out = tmp_path / "in" / "m.onnx", tmp_path / "out" / "o.onnx"
    done = optimize(model, out, "--input-shape", "x:1,8,64,64")
    assert done.returncode == 0 and re.search(r"pow +4 +0\n", done.stdout), done.stdout + done.stderr
    agree(model, out, numpy.random.default_rng(1).random((2, 8, 5, 6), dtype="f"))


def test_without_rules_the_file_stays(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    assert optimize(model, out, *SHAPE, "--rules", "none", library=False).returncode == 0
    assert out.read_bytes() == model.read_bytes()


def test_operators_newer_than_the_model_are_not_used(optimize, tmp_path):
    """swish would be one operator, but only opset 24 has it: the rule is left out, not the model refused."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])]
    weights = {"w": numpy.random.default_rng(0).normal(size=(64, 64, 3, 3)).astype("f")}
    model = save(tmp_path / "in.onnx", nodes, [tensor("x", [1, 64, 56, 56])], [tensor("y", [1, 64, 54, 54])], weights)
    out = tmp_path / "out.onnx"
    done = optimize(model, out, "--cost", "flops", "-v")
    assert done.returncode == 0 and "is left out" in done.stderr, done.stderr
    onnx.checker.check_model(str(out), full_check=True)


def test_without_gain_the_file_stays(optimize, tmp_path):
    weights = {"w": numpy.random.default_rng(0).normal(size=(32, 3, 3, 3)).astype("f")}
    model = save(tmp_path / "m.onnx", [helper.make_node("Conv", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
                 [tensor("x", [1, 3, 32, 32])], [tensor("z", None)], weights)
    done = optimize(model, tmp_path / "o.onnx")
    assert done.returncode == 0 and "unchanged" in done.stdout and (tmp_path / "o.onnx").read_bytes() == model.read_bytes()


def test_frozen_without_measurements_says_so(optimize, tmp_path, rules):
    done = subprocess.run([PROGRAM, roots(tmp_path / "m.onnx"), tmp_path / "o.onnx", "--input-shape", "x:1,8,64,64", "--frozen", "--rules", rules, "--cost-db", tmp_path / "new.sqlite"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "were not in the cost file" in done.stdout


def test_flops_disable_enable_and_dry_run(optimize, dear, tmp_path):
    model, report = net(tmp_path / "m.onnx"), tmp_path / "r.json"
    def fired(*options):
        done = optimize(model, "--dry-run", "--report", report, *SHAPE, *options)
        assert done.returncode == 0, done.stderr
        return {rule["name"] for rule in json.loads(report.read_text())["rules"]}
    everything = fired(*dear)
    assert {"conv-batchnorm", "hard-swish-div"} <= everything
    assert "conv-batchnorm" not in fired(*dear, "--disable", "conv-batchnorm")
    assert fired(*dear, "--enable", "hard-swish-div") == {"hard-swish-div"}
    assert isinstance(fired("--cost", "flops"), set)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "r.json", "target"]


def twice(path):
    """Two convolutions with the same weights, each behind another factor: folding the factors doubles the weights."""
    rng = numpy.random.default_rng(0)
    nodes = [helper.make_node("Mul", ["x", "two"], ["a"]), helper.make_node("Conv", ["a", "w"], ["c"]),
             helper.make_node("Mul", ["z", "three"], ["b"]), helper.make_node("Conv", ["b", "w"], ["d"])]
    weights = {"two": numpy.float32(2), "three": numpy.float32(3), "w": rng.normal(size=(64, 64, 1, 1)).astype("f")}
    return save(path, nodes, [tensor("x", [1, 64, 28, 28]), tensor("z", [1, 64, 28, 28])],
                [tensor("c", [1, 64, 28, 28]), tensor("d", [1, 64, 28, 28])], weights)


@pytest.mark.parametrize("cost", ["flops", "measured"])
def test_the_file_grows_no_more_than_is_allowed(optimize, tmp_path, cost):
    """What would grow too much is no candidate; the run goes on without it."""
    model, out, report = twice(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    for allowed in (0, 64 * 64 * 4 - 100):
        done = optimize(model, out, "--cost", cost, "--enable", "mul-scalar-conv", "--max-growth", allowed, "-v", "--report", report)
        assert done.returncode == 0 and "(--max-growth)" in done.stderr, done.stderr
        assert os.path.getsize(out) - os.path.getsize(model) <= allowed
        assert json.loads(report.read_text())["constants_growth"] == os.path.getsize(out) - os.path.getsize(model)
    done = optimize(model, out, "--cost", cost, "--enable", "mul-scalar-conv", "-v", "--report", report)
    assert done.returncode == 0 and "(--max-growth)" not in done.stderr, done.stderr
    assert json.loads(report.read_text())["constants_growth"] == os.path.getsize(out) - os.path.getsize(model)


def test_sizes_keep_nothing_alive(optimize, dear, tmp_path):
    """What a rule dissolved gave sizes to others: these are read off what is there, and the old weights go."""
    rng = numpy.random.default_rng(0)
    weights = {"w": rng.normal(size=(32, 3, 5, 5)).astype("f"), "s": rng.random(32).astype("f"), "b": rng.normal(size=32).astype("f"),
               "m": rng.normal(size=32).astype("f"), "v": rng.random(32).astype("f") + .5, "zero": numpy.int64([0]), "two": numpy.int64([2]), "rest": numpy.int64([-1])}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2]), helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("Shape", ["c"], ["sizes"]), helper.make_node("Slice", ["sizes", "zero", "two"], ["front"]),
             helper.make_node("Concat", ["front", "rest"], ["flat"], axis=0), helper.make_node("Reshape", ["r", "flat"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", ["n", 3, "h", "w"])], [tensor("y", ["n", 32, "p"])], weights)
    out = tmp_path / "o.onnx"
    done = optimize(model, out, *SHAPE, "--enable", "conv-batchnorm", *dear)
    assert done.returncode == 0, done.stderr
    types = [node.op_type for node in onnx.load(out).graph.node]
    assert types.count("Conv") == 1 and "BatchNormalization" not in types
    assert os.path.getsize(out) < os.path.getsize(model) + 500
    agree(model, out, rng.normal(size=(2, 3, 21, 30)).astype("f"))


def test_a_target_decides(optimize, tmp_path):
    """On this target BatchNormalization is dear and HardSigmoid does not run: only the one is rewritten."""
    command = target(tmp_path, "0 if b'HardSigmoid' in data else 1 + data.count(b'BatchNormalization')")
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    done = optimize(model, out, *SHAPE, "--measure-with", command, "--report", report)
    assert done.returncode == 0, done.stderr
    assert {rule["name"] for rule in json.loads(report.read_text())["rules"]} == {"conv-batchnorm"}
    assert not any(node.op_type == "BatchNormalization" for node in onnx.load(out).graph.node)
    asked = len((tmp_path / "asked").read_text())
    again = optimize(model, tmp_path / "again.onnx", *SHAPE, "--measure-with", command, "--frozen")
    assert again.returncode == 0 and (tmp_path / "again.onnx").read_bytes() == out.read_bytes()
    assert len((tmp_path / "asked").read_text()) == asked


def test_a_target_without_gain_keeps_the_file(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = optimize(model, out, "--measure-with", target(tmp_path, "1.0 if b'BatchNormalization' in data else 0.98"))
    assert done.returncode == 0 and out.read_bytes() == model.read_bytes(), done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:2]] == ["operator", "file"], "the table tells of a file that is not written"


def test_onnxruntime_as_the_target_by_name(optimize, costs, tmp_path):
    """The helper is found, and told this run's sizes; what it was asked is in the cost file under its own name."""
    model, command = net(tmp_path / "m.onnx", blocks=1), ["--enable", "conv-batchnorm", "--measure-with", "onnxruntime"]
    assert optimize(model, tmp_path / "o.onnx", *SHAPE, *command, env=dict(os.environ, ISOMER_VENV=sys.prefix)).returncode == 0
    with sqlite3.connect(costs) as file:
        devices = {device for device, in file.execute("select device from cost where device like '%onnxruntime%'")}
    assert devices == {f"'onnxruntime' '--input-shape' '{SHAPE[1]}'"}
    assert optimize(model, tmp_path / "o.onnx", *SHAPE, *command, "--threads", 2, env=dict(os.environ, ISOMER_VENV=sys.prefix)).returncode == 0
    with sqlite3.connect(costs) as file:
        assert f"'onnxruntime' '--input-shape' '{SHAPE[1]}' '--threads=2'" in {device for device, in file.execute("select device from cost")}
    done = optimize(net(tmp_path / "n.onnx", blocks=2), tmp_path / "none.onnx", *SHAPE, *command, env=dict(os.environ, ISOMER_VENV=os.devnull, PATH=os.devnull))
    assert done.returncode == 5 and "--measure-with" in done.stderr and not (tmp_path / "none.onnx").exists(), done.stderr


@pytest.mark.parametrize("command, said", [("exit 1", "ended"), ("cat", "neither"), ("sh -c 'while read p; do [ -z \"$p\" ] && echo || echo FAIL $p no; done'", "does not run: no")])
def test_a_broken_target_is_the_environments_fault(optimize, tmp_path, command, said):
    done = optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", "--measure-with", command)
    assert done.returncode == 5 and said in done.stderr and not (tmp_path / "o.onnx").exists(), done.stderr


# ---- planted failures: the documented code, a message that names the place, no output

def refused(done, code, *said, out=None):
    assert done.returncode == code, done.stdout + done.stderr
    assert all(word in done.stderr for word in said), done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
    assert out is None or not out.exists()


def forged(tmp_path, text, *defs):
    """With a verdict that the loader believes; defs: one for operators that meant something else."""
    (tmp_path / "in.rules").write_text(text)
    subprocess.run([os.path.join(BUILD, "test", "tools", "seal_rules"), tmp_path / "in.rules", tmp_path / "forged.rules", *defs], check=True, timeout=30)
    return tmp_path / "forged.rules"


WRONG = "rule wrong-batchnorm\n  axes h k = 1..3\n  %x : F [n, c, h..]   %w : F [o, q, k..]\n" \
        "  %scale : F [o]   %shift : F [o]   %mean : F [o]   %var : F [o]\nfrom\n" \
        "  %y = conv %x %w group=G strides=S pads=P dilations=D\n  %z = batchnorm %y %scale %shift %mean %var epsilon=E\n  out %z\n" \
        "to\n  %g = reshape %scale shape=[o, 1, k..=1]\n  %h = broadcast %g shape=[o, q, k..]\n  %u = mul %w %h\n" \
        "  %z = conv %x %u %shift group=G strides=S pads=P dilations=D\n  out %z\n"


def test_a_wrong_rule_is_caught_by_numbers(optimize, dear, tmp_path):
    out = tmp_path / "o.onnx"
    done = optimize(net(tmp_path / "m.onnx"), out, *SHAPE, *dear, "--rules", forged(tmp_path, WRONG), library=False)
    refused(done, 1, "y5", "differs from the original", out=out)


def test_a_wrong_kernel_is_caught_by_numbers(optimize, dear, tmp_path):
    """The plug-in is wrong where a weight is large, which folding a large scale makes it."""
    out = tmp_path / "o.onnx"
    weights = {"w": numpy.full((4, 3, 1, 1), 50, "f"), "s": numpy.full(4, 9, "f"), "b": numpy.zeros(4, "f"), "m": numpy.ones(4, "f"), "v": numpy.ones(4, "f")}
    model = save(tmp_path / "m.onnx", [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"])],
                 [tensor("x", [1, 3, 8, 8])], [tensor("y", None)], weights)
    plugin = os.path.join(BUILD, "test", "plugin", "wrong_backend.so")
    done = optimize(model, out, "--backend", plugin, "--enable", "conv-batchnorm", *dear)
    refused(done, 1, "y", "differs from the original", out=out)


@pytest.mark.parametrize("pattern, replacement, said", [
    (r"proved class=\S+", "proved class=exact", "verdict"), (r"proved [^\n]*\n", "", "not proved"), (r"digest=\w{4}", "digest=0000", "verdict"),
    (r"defs=\w{4}", "defs=0000", "verdict"), (r"where=\[[^]]*\]", "where=[0 >= 1]", "verdict"),
    (r"%r = mul %mean %f", "%r = mul %var %f", "verdict")])
def test_a_tampered_verdict_is_refused(optimize, tmp_path, rules, pattern, replacement, said):
    text = rules.read_text()
    start = text.index("rule conv-batchnorm")
    changed = re.sub(pattern, replacement, text[start:], count=1)
    assert changed != text[start:]
    (tmp_path / "t.rules").write_text(text[:start] + changed)
    done = optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", "--rules", tmp_path / "t.rules", library=False)
    refused(done, 1, "t.rules:", "rule conv-batchnorm", said, out=tmp_path / "o.onnx")


def test_a_changed_definition_voids_the_proof(optimize, tmp_path):
    """The verdict is whole, but says that it was given for other meanings of the operators."""
    out = tmp_path / "o.onnx"
    done = optimize(net(tmp_path / "m.onnx"), out, "--rules", forged(tmp_path, WRONG, "0123456789abcdef" * 2), library=False)
    refused(done, 1, "forged.rules:1", "rule wrong-batchnorm", "definition", out=out)


def test_a_log_that_does_not_fit_is_refused(optimize, dear, tmp_path):
    model, log, out = net(tmp_path / "m.onnx"), tmp_path / "p.log", tmp_path / "o.onnx"
    assert optimize(model, out, *SHAPE, *dear, "--proof-log", log).returncode == 0
    written = out.read_bytes()
    again = optimize(model, out, "--replay", log)
    assert again.returncode == 0 and out.read_bytes() == written, again.stderr
    out.unlink()
    text = log.read_text()
    other = net(tmp_path / "other.onnx", blocks=5)
    refused(optimize(other, out, "--replay", log), 1, "another model", out=out)
    changes = [(r"roots (\d+)", lambda m: f"roots {int(m[1]) + 1}", 1, "match"), (r"inputs (\d+)", lambda m: f"inputs {int(m[1]) + 1}", 1, "match"),
               (r"apply [\w-]+ \w{4}", lambda m: m[0][:-4] + "0000", 1, "not among the rules"), (r"rules \w{4}", lambda m: "rules 0000", 1, "other rules"),
               (r"end\n", lambda m: "", 3, "expected round, apply or end")]
    for pattern, replacement, code, said in changes:
        log.write_text(re.sub(pattern, replacement, text, count=1))
        refused(optimize(model, out, "--replay", log), code, said, out=out)


def test_truncated_files_are_refused(optimize, tmp_path):
    whole, out = net(tmp_path / "m.onnx", blocks=2).read_bytes(), tmp_path / "o.onnx"
    for n in (1, 17, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "t.onnx").write_bytes(whole[:n])
        refused(optimize(tmp_path / "t.onnx", out), 3, "t.onnx", out=out)
    model = onnx.load(tmp_path / "m.onnx")
    helper.set_model_props(model, {"key": "a text is the last thing in the file"})
    (tmp_path / "t.onnx").write_bytes(model.SerializeToString()[:-1])
    refused(optimize(tmp_path / "t.onnx", out), 3, "t.onnx", "truncated", out=out)


def relu(path, inputs=("x",), outputs=("y",), more=(), initializers=(), dims=(1, 4)):
    nodes = [helper.make_node("Add" if len(inputs) > 1 else "Relu", list(inputs), list(outputs), "first"), *more]
    graph = helper.make_graph(nodes, "g", [tensor("x", dims)], [tensor("y", None)], list(initializers))
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    return path


def test_broken_graphs_are_refused(optimize, tmp_path):
    model, out = tmp_path / "b.onnx", tmp_path / "o.onnx"
    relu(model, inputs=("x", "z"), more=[helper.make_node("Relu", ["y"], ["z"], "second")])
    refused(optimize(model, out), 3, "first", "z", "cycle", out=out)
    relu(model, more=[helper.make_node("Relu", ["x"], ["y"], "second")])
    refused(optimize(model, out), 3, "y", "twice", out=out)
    relu(model, inputs=("x", "w"))
    refused(optimize(model, out), 3, "first", "w", "neither", out=out)
    big = numpy_helper.from_array(numpy.zeros(4, "f"), "w")
    big.dims[:] = [1 << 40, 1 << 40]
    relu(model, inputs=("x", "w"), initializers=[big])
    refused(optimize(model, out), 3, "b.onnx", "absurd", out=out)
    relu(model, dims=(1, 1 << 61))
    refused(optimize(model, out), 3, "b.onnx", "absurd", out=out)
    big.dims[:] = [-4]
    relu(model, inputs=("x", "w"), initializers=[big])
    refused(optimize(model, out), 3, "b.onnx", out=out)


def test_a_full_disk_leaves_nothing(optimize, tmp_path):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    model, out = net(tmp_path / "m.onnx"), tmp_path / "out" / "o.onnx"
    out.parent.mkdir()
    done = optimize(model, out, "--rules", "none", "--cost", "flops", library=False, preexec_fn=small)
    refused(done, 5, "o.onnx", out=out)
    assert os.listdir(out.parent) == []


def test_an_interrupt_leaves_nothing(tmp_path, rules):
    out, temporary = tmp_path / "o.onnx", tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen([PROGRAM, net(tmp_path / "m.onnx"), out, "--rules", rules, "--cost-db", tmp_path / "c.sqlite", "--measure-with", "sleep 60"],
                               stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=str(temporary)))
    for _ in range(200):
        if any(temporary.iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in said and not out.exists(), said
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("words", [[], ["a.onnx"], ["a", "b", "c"], ["a", "b", "--steps", "x"], ["a", "b", "--cost", "guess"], ["a", "b", "--threads", "0"], ["--no-such"]])
def test_usage(words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and done.stderr


def test_wrong_values_of_options(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx", blocks=1), tmp_path / "o.onnx"
    refused(optimize(model, out, "--input-shape", "z:1,2"), 2, "z", out=out)
    refused(optimize(model, out, "--dim", "depth=3"), 2, "depth", out=out)
    refused(optimize(model, out, "--enable", "no-such-rule"), 2, "no-such-rule", out=out)
    refused(optimize(model, out, "--allow", "anything"), 2, "anything", out=out)
    refused(optimize(tmp_path / "missing.onnx", out), 5, "missing.onnx", out=out)
    refused(optimize(model, tmp_path / "no" / "folder.onnx"), 5, "folder.onnx")
    refused(optimize(model, out, *SHAPE, "--max-growth", "0", "--cost", "flops", "--backend", "no-such-backend"), 5, "no-such-backend", out=out)


def test_help_and_version():
    said = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=10)
    assert said.returncode == 0 and all(f"--{name}" in said.stdout for name in ("measure-with", "replay", "frozen", "max-growth", "proof-log"))
    assert re.match(r"optimize-model \d+\.\d+\.\d+\n", subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=10).stdout)


# ---- search by an e-graph

DETOUR = """rule exp-sum
  axes b = 0..4
  %x : F [b..]   %y : F [b..]
from
  %s = add %x %y
  %e = exp %s
  out %e
to
  %e = exp %x
  %f = exp %y
  %p = mul %e %f
  out %p

rule mul-right
  axes b = 0..4
  %x : F [b..]   %y : F [b..]   %z : F [b..]
from
  %p = mul %x %y
  %q = mul %p %z
  out %q
to
  %p = mul %y %z
  %q = mul %x %p
  out %q

rule exp-neg
  axes b = 0..4
  %x : F [b..]
from
  %e = exp %x
  %n = neg %x
  %f = exp %n
  %p = mul %e %f
  out %p
to
  %k = fill value=1 shape=[b..]
  out %k

rule mul-ones
  axes b = 0..4
  %x : F [b..]
from
  %k = fill value=1 shape=[b..]
  %p = mul %x %k
  out %p
to
  out %x
"""


def test_an_egraph_finds_what_costs_more_on_the_way(optimize, tmp_path):
    """exp(x + y) exp(-y) = exp x in four steps, of which the first makes it larger: backtracking does not take it. What the e-graph extracts is reached
    by the rules' applications: the proof log replays, two runs write the same bytes, and a rule that is switched off is not used."""
    (tmp_path / "candidates.rules").write_text(DETOUR)
    subprocess.run([os.path.join(BUILD, "verify-rules"), tmp_path / "candidates.rules", "-q", "-o", tmp_path / "detour.rules"], check=True, timeout=100)
    nodes = [helper.make_node("Add", ["x", "y"], ["s"]), helper.make_node("Exp", ["s"], ["e"]), helper.make_node("Neg", ["y"], ["n"]),
             helper.make_node("Exp", ["n"], ["f"]), helper.make_node("Mul", ["e", "f"], ["p"])]
    path = save(tmp_path / "in.onnx", nodes, [tensor("x", ["batch", 8]), tensor("y", ["batch", 8])], [tensor("p", ["batch", 8])], {})

    def run(name, *more):
        r = optimize(path, tmp_path / name, "--rules", tmp_path / "detour.rules", "--allow=drops", "--cost=nodes", *more, library=False)
        assert r.returncode == 0, r.stderr
        return [n.op_type for n in onnx.load(tmp_path / name).graph.node]

    assert len(run("backtrack.onnx")) == len(run("off.onnx", "--search=egraph", "--disable=mul-right")) == 5
    assert run("egraph.onnx", "--search=egraph", "--proof-log", tmp_path / "log") == run("both.onnx", "--search=both") == ["Exp"]
    assert run("again.onnx", "--search=egraph", "--proof-log", tmp_path / "log2") == run("replayed.onnx", "--replay", tmp_path / "log") == ["Exp"]
    assert (tmp_path / "log").read_text().count("apply") == 4 and (tmp_path / "log").read_text() == (tmp_path / "log2").read_text()
    assert len({(tmp_path / f"{n}.onnx").read_bytes() for n in ("egraph", "both", "again", "replayed")}) == 1
