"""optimize-model on small models: what it gains, what it writes, and what it leaves unchanged."""

import json, os, re, subprocess, time
import numpy, onnx, pytest
from onnx import helper, numpy_helper
from small_models import ASAN, BUILD, PROGRAM, SHAPE, agree, net, roots, save, tensor


def peak_of(words):
    """The peak resident size of a program in MB. Not by rusage, which would include the size of
    this process, of which the program was a copy before exec."""
    peak = 0
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            peak = max(
                [peak]
                + [int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")]
            )
        time.sleep(0.005)
    assert process.returncode == 0
    return peak


@pytest.mark.skipif(ASAN, reason="AddressSanitizer keeps what was freed")
def test_memory(tmp_path, rules):
    """Weights are not copied for every stage of a run. Here every weight changes, so that nothing
    is shared. Allowed are both files, mapped, the result with the constants computed for it, and
    the packed weights of both."""

    def big(name, size):
        weights, nodes, last = {}, [], "x"
        for k in range(3):
            weights |= {
                f"w{k}": (numpy.arange(size * size, dtype="f") % 97 / size + k).reshape(
                    size, size, 1, 1
                ),
                **{f"{n}{k}": numpy.linspace(0.5, 1.5, size, dtype="f") for n in "sbmv"},
            }
            nodes += [
                helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"]),
                helper.make_node(
                    "BatchNormalization", [f"c{k}", *(f"{n}{k}" for n in "sbmv")], [f"n{k}"]
                ),
                helper.make_node("Relu", [f"n{k}"], [f"y{k}"]),
            ]
            last = f"y{k}"
        return save(
            tmp_path / name,
            nodes,
            [tensor("x", [1, size, 2, 2])],
            [tensor(last, [1, size, 2, 2])],
            weights,
        )

    def peak(source):
        return peak_of(
            [
                PROGRAM,
                source,
                tmp_path / "out.onnx",
                "--cost",
                "nodes",
                "--rules",
                rules,
                "--cost-db",
                tmp_path / "costs",
                "-q",
            ]
        )

    small, large = big("small.onnx", 16), big("large.onnx", 2560)
    least, _, most = peak(small), peak(large), peak(large)
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 6
    assert most - least < 8 * large.stat().st_size / 2**20, (least, most)


def test_gain_report_table_and_log(optimize, costly, tmp_path):
    model, out, report, log = (
        net(tmp_path / "m.onnx"),
        tmp_path / "o.onnx",
        tmp_path / "r.json",
        tmp_path / "p.log",
    )
    done = optimize(model, out, *SHAPE, *costly, "--report", report, "--proof-log", log)
    assert done.returncode == 0, done.stderr
    assert re.search(r"batchnorm +6 +0\n", done.stdout) and re.search(
        r"rule conv-batchnorm +6 times", done.stdout
    )
    assert "36 of 36 nodes understood, 0 opaque" in done.stdout
    agree(model, out, numpy.random.default_rng(1).random((2, 3, 17, 19), dtype="f"))
    onnx.checker.check_model(onnx.load(out))
    said = json.loads(report.read_text())
    assert said["changed"] and said["nodes"] == {"total": 36, "understood": 36, "opaque": 0}
    assert said["measured_seconds"] == {"before": 19, "after": 1}
    assert said["check"]["done"] and 0 < said["check"]["max_relative"] < 1e-4
    counts = {rule["name"]: rule["count"] for rule in said["rules"]}
    assert (
        counts["conv-batchnorm"] == 6
        and counts["hard-swish-div"] == 6
        and all(len(rule["id"]) == 16 for rule in said["rules"])
    )
    assert said["operators"]["div"] == {"before": 6, "after": 0}
    assert log.read_text().count("apply ") == sum(counts.values())


def test_what_no_rule_touches_is_copied(optimize, costly, tmp_path):
    """Rules see the constant of shape [1] as a scalar, but the node, which no rule rewrites, keeps
    the constant as it was."""
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.initializer.append(numpy_helper.from_array(numpy.float32([0.7]), "tail"))
    model.graph.node.extend(
        [
            helper.make_node("Tanh", ["y5"], ["t"], "tanh"),
            helper.make_node("Mul", ["t", "tail"], ["z"], "last", doc_string="kept"),
        ]
    )
    del model.graph.output[:]
    model.graph.output.append(tensor("z", ["batch", 24, "h", "w"]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert optimize(tmp_path / "m.onnx", tmp_path / "o.onnx", *SHAPE, *costly).returncode == 0
    out = onnx.load(tmp_path / "o.onnx")
    assert len(out.graph.node) < len(model.graph.node)
    assert (
        model.graph.node[-1] in out.graph.node
        and model.graph.initializer[-1] in out.graph.initializer
    )
    assert (
        len(
            [
                t
                for t in out.graph.initializer
                if t.name.startswith("isomer") and numpy_helper.to_array(t).size == 1
            ]
        )
        == 0
    )


def test_weights_beside_the_model_go_along(optimize, tmp_path):
    (tmp_path / "in").mkdir(), (tmp_path / "out").mkdir()
    onnx.save(
        onnx.load(roots(tmp_path / "m.onnx")),
        tmp_path / "in" / "m.onnx",
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
    )
    model, out = tmp_path / "in" / "m.onnx", tmp_path / "out" / "o.onnx"
    done = optimize(model, out, "--input-shape", "x:1,8,64,64")
    assert done.returncode == 0 and re.search(r"pow +4 +0\n", done.stdout), (
        done.stdout + done.stderr
    )
    agree(model, out, numpy.random.default_rng(1).random((2, 8, 5, 6), dtype="f"))


def test_without_rules_the_file_stays(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    assert optimize(model, out, *SHAPE, "--rules", "none", library=False).returncode == 0
    assert out.read_bytes() == model.read_bytes()


def test_operators_newer_than_the_model_are_not_used(optimize, tmp_path):
    """Only opset 24 has Swish. So the rule that makes it is left out, and the model is not
    refused."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Mul", ["c", "s"], ["y"]),
    ]
    weights = {"w": numpy.random.default_rng(0).normal(size=(64, 64, 3, 3)).astype("f")}
    model = save(
        tmp_path / "in.onnx",
        nodes,
        [tensor("x", [1, 64, 56, 56])],
        [tensor("y", [1, 64, 54, 54])],
        weights,
    )
    out = tmp_path / "out.onnx"
    done = optimize(model, out, "--cost", "flops", "-v")
    assert done.returncode == 0 and "is left out" in done.stderr, done.stderr
    onnx.checker.check_model(str(out), full_check=True)


def test_without_gain_the_file_stays(optimize, tmp_path):
    weights = {"w": numpy.random.default_rng(0).normal(size=(32, 3, 3, 3)).astype("f")}
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        [tensor("x", [1, 3, 32, 32])],
        [tensor("z", None)],
        weights,
    )
    done = optimize(model, tmp_path / "o.onnx")
    assert (
        done.returncode == 0
        and "unchanged" in done.stdout
        and (tmp_path / "o.onnx").read_bytes() == model.read_bytes()
    )


def test_flops_disable_enable_and_dry_run(optimize, costly, tmp_path):
    model, report = net(tmp_path / "m.onnx"), tmp_path / "r.json"

    def fired(*options):
        done = optimize(model, "--dry-run", "--report", report, *SHAPE, *options)
        assert done.returncode == 0, done.stderr
        return {rule["name"] for rule in json.loads(report.read_text())["rules"]}

    everything = fired(*costly)
    assert {"conv-batchnorm", "hard-swish-div"} <= everything
    assert "conv-batchnorm" not in fired(*costly, "--disable", "conv-batchnorm")
    assert fired(*costly, "--enable", "hard-swish-div") == {"hard-swish-div"}
    assert isinstance(fired("--cost", "flops"), set)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "r.json", "target"]


def twice(path):
    """A model of two convolutions with the same weights, each after a multiplication by another
    factor. Folding the factors doubles the weights, and saves most of the time, since of 16
    multiplied elements only one is used by the convolution."""
    rng = numpy.random.default_rng(0)
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["c"], strides=[4, 4]),
        helper.make_node("Mul", ["z", "three"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["d"], strides=[4, 4]),
    ]
    weights = {
        "two": numpy.float32(2),
        "three": numpy.float32(3),
        "w": rng.normal(size=(64, 64, 1, 1)).astype("f"),
    }
    return save(
        path,
        nodes,
        [tensor("x", [1, 64, 112, 112]), tensor("z", [1, 64, 112, 112])],
        [tensor("c", [1, 64, 28, 28]), tensor("d", [1, 64, 28, 28])],
        weights,
    )


@pytest.mark.parametrize("cost", ["flops", "measured"])
def test_the_file_grows_no_more_than_is_allowed(optimize, tmp_path, cost):
    """A graph for which the file would grow too much is not a candidate, and the run goes on."""
    model, out, report = twice(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"

    def run(*options):
        options = ["--cost", cost, "--enable", "mul-scalar-conv", *options]
        done = optimize(model, out, "-v", "--report", report, *options)
        assert done.returncode == 0, done.stderr
        growth = os.path.getsize(out) - os.path.getsize(model)
        said = json.loads(report.read_text())
        assert said["constants_growth"] == growth
        return growth, done.stderr, said["reason"]

    for allowed in (0, 64 * 64 * 4 - 100):
        growth, messages, reason = run("--max-growth", allowed)
        assert growth <= allowed and "(--max-growth)" in messages, messages
        assert not reason or "(--max-growth)" in reason, reason
        assert reason or allowed or cost == "flops"
    _, messages, _ = run()
    assert "(--max-growth)" not in messages, messages


def test_sizes_keep_nothing_alive(optimize, costly, tmp_path):
    """A value that a rule removes gave sizes to others. These sizes are taken from values that
    remain, so that the old weights are removed."""
    rng = numpy.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(32, 3, 5, 5)).astype("f"),
        "s": rng.random(32).astype("f"),
        "b": rng.normal(size=32).astype("f"),
        "m": rng.normal(size=32).astype("f"),
        "v": rng.random(32).astype("f") + 0.5,
        "zero": numpy.int64([0]),
        "two": numpy.int64([2]),
        "rest": numpy.int64([-1]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Shape", ["c"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "zero", "two"], ["front"]),
        helper.make_node("Concat", ["front", "rest"], ["flat"], axis=0),
        helper.make_node("Reshape", ["r", "flat"], ["y"]),
    ]
    model = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", ["n", 3, "h", "w"])],
        [tensor("y", ["n", 32, "p"])],
        weights,
    )
    out = tmp_path / "o.onnx"
    done = optimize(model, out, *SHAPE, "--enable", "conv-batchnorm", *costly)
    assert done.returncode == 0, done.stderr
    types = [node.op_type for node in onnx.load(out).graph.node]
    assert types.count("Conv") == 1 and "BatchNormalization" not in types
    assert os.path.getsize(out) < os.path.getsize(model) + 500
    agree(model, out, rng.normal(size=(2, 3, 21, 30)).astype("f"))


def test_help_and_version():
    said = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=10)
    assert said.returncode == 0 and all(
        f"--{name}" in said.stdout
        for name in ("measure-with", "replay", "frozen", "max-growth", "proof-log")
    )
    assert re.match(
        r"optimize-model \d+\.\d+\.\d+\n",
        subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=10).stdout,
    )


def fused_maps(path, sizes=(4, 7, 14), batch="n"):
    """A model of a head that fuses maps: three maps are resized to the size of the last one and
    concatenated, and a 1x1 convolution follows."""
    rng, nodes, inputs = numpy.random.default_rng(4), [], []
    weights = {"w": rng.random((8, 192, 1, 1), dtype="f"), "b": rng.random(8, dtype="f")}
    for k, size in enumerate(sizes):
        weights[f"s{k}"] = numpy.array([1, 1, 14 / size, 14 / size], "f")
        inputs.append(tensor(f"x{k}", [batch, 64, size, size]))
        nodes.append(helper.make_node("Resize", [f"x{k}", "", f"s{k}"], [f"r{k}"], mode="linear"))
    nodes += [
        helper.make_node("Concat", ["r0", "r1", "r2"], ["c"], axis=1),
        helper.make_node("Conv", ["c", "w", "b"], ["y"]),
    ]
    return save(path, nodes, inputs, [tensor("y", [batch, 8, 14, 14])], weights)


def test_a_convolution_moves_before_the_resize(optimize, tmp_path):
    model, out = fused_maps(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = optimize(model, out, "--cost", "flops", "--dim", "n=2", "--check-with", "onnxruntime")
    assert done.returncode == 0, done.stderr
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert kinds.count("Conv") == 3, done.stdout
    assert kinds.count("Resize") == 2, "the last map has its size"


def composable(path, middle, apart):
    """A model of pairs of convolutions of 3 x 3 and of 1 x 1, which can become one convolution.
    `middle`: for each pair, the number of channels between them; with few of them, the one
    convolution is larger than both. `apart`: between the pairs there is a sorting, about which
    there are no rules."""
    rng, nodes, last = numpy.random.default_rng(5), [], "x"
    weights = {"eight": numpy.int64([8])}
    for k, channels in enumerate(middle):
        weights[f"u{k}"] = rng.normal(size=(channels, 8, 3, 3)).astype("f")
        weights[f"w{k}"] = rng.normal(size=(8, channels, 1, 1)).astype("f")
        nodes += [
            helper.make_node("Conv", [last, f"u{k}"], [f"a{k}"], pads=[1, 1, 1, 1]),
            helper.make_node("Conv", [f"a{k}", f"w{k}"], [f"b{k}"]),
            helper.make_node("Relu", [f"b{k}"], [f"r{k}"]),
        ]
        last = f"r{k}"
        if apart:
            nodes.append(helper.make_node("TopK", [last, "eight"], [f"t{k}", f"i{k}"], axis=1))
            last = f"t{k}"
    shape = [1, 8, 12, 12]
    return save(path, nodes, [tensor("x", shape)], [tensor(last, shape)], weights)


@pytest.mark.parametrize(
    "middle, apart, allowed, left",
    [
        ([8, 2], False, 1000, 3),
        ([2, 2, 2], False, 3500, 4),
        ([2, 2, 2], False, 100000, 3),
        ([4, 3, 2], True, 2700, 4),
    ],
)
def test_what_may_still_grow_is_found(optimize, tmp_path, middle, apart, allowed, left):
    """If everything that rules make is too large for the file, the part that is small enough is
    found."""
    model, out = composable(tmp_path / "m.onnx", middle, apart), tmp_path / "o.onnx"
    words = ["--cost", "nodes", "--enable", "conv-conv-1x1", "--max-growth", allowed, "-v"]
    done = optimize(model, out, *words)
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert done.returncode == 0 and kinds.count("Conv") == left, done.stdout + done.stderr
    assert ("(--max-growth)" in done.stderr) == (left > len(middle)), done.stderr
    assert os.path.getsize(out) - os.path.getsize(model) <= allowed
    agree(model, out, numpy.random.default_rng(1).random((1, 8, 12, 12), dtype="f"))
