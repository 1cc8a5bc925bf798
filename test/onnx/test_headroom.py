"""The profile of ONNX Runtime says how far the nodes of a model are from the machine's roofline.
--headroom shows this, and the search uses it."""

import itertools, json, os, re, subprocess, sys, types
import numpy, onnx, pytest
from onnx import helper
from small_models import PROGRAM, ROOT, agree, save, tensor

TARGET = ["--measure-with", "onnxruntime"]


def dense(path, height=96):
    """A model of a convolution, an activation that a rule rewrites, and a product that no rule
    rewrites."""
    rng = numpy.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((32, 3, 3, 3)).astype("f"),
        "s": rng.random((32, 1, 1)).astype("f"),
        "m": rng.standard_normal((96, 96)).astype("f"),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("PRelu", ["c", "s"], ["p"], name="second"),
        helper.make_node("MatMul", ["p", "m"], ["y"], name="third"),
    ]
    return save(
        path,
        nodes,
        [tensor("x", [1, 3, height, 96])],
        [tensor("y", [1, 32, height, 96])],
        weights,
    )


def headroom(*options):
    return subprocess.run(
        [PROGRAM, "--headroom", *map(str, options)], capture_output=True, text=True
    )


def optimize(*words):
    """Runs optimize-model; the words must name a cost file."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)


def test_headroom_names_what_loses_and_what_no_rule_touches(tmp_path):
    model = dense(tmp_path / "m.onnx")
    done = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert done.returncode == 0, done.stderr
    share, lost, total = map(
        float,
        re.search(r"reaches (\d+) % .*: ([\d.]+) of ([\d.]+) ms are lost", done.stdout).groups(),
    )
    assert 0 < share <= 100 and 0 <= lost <= total and total > 0
    (line,) = [line for line in done.stdout.splitlines() if line.lstrip().startswith("second")]
    assert "PRelu" in line and "no rule rewrites it" not in line
    again = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert again.stdout == done.stdout, "the profile is kept in the cost file"


def test_headroom_names_nodes_without_a_name_by_their_place(tmp_path):
    model = onnx.load(dense(tmp_path / "m.onnx"))
    for node in model.graph.node:
        node.ClearField("name")
    onnx.save(model, tmp_path / "m.onnx")
    done = headroom(tmp_path / "m.onnx", *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  node 1 of the file +PRelu ", done.stdout, re.M), done.stdout


def test_headroom_needs_a_target_with_a_profile(tmp_path):
    model = dense(tmp_path / "m.onnx")
    done = headroom(model)
    assert done.returncode == 2 and "give --measure-with onnxruntime" in done.stderr
    done = headroom(model, "--measure-with", "cat")
    assert done.returncode == 2 and "only onnxruntime" in done.stderr


def test_headroom_follows_no_log(tmp_path):
    model, log = dense(tmp_path / "m.onnx"), tmp_path / "log"
    done = optimize(model, "--dry-run", "--cost", "nodes", "--proof-log", log)
    assert done.returncode == 0, done.stderr
    done = headroom(model, *TARGET, "--replay", log)
    assert done.returncode == 2 and "--headroom: nothing is searched" in done.stderr, done.stderr


def test_a_model_that_does_not_run_there_has_no_headroom(tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Nothing", ["x"], ["y"], domain="unknown.domain")],
        [tensor("x", [4])],
        [tensor("y", [4])],
        {},
    )
    done = headroom(model, *TARGET, "--cost-db", tmp_path / "c.sqlite")
    assert done.returncode == 5 and "gave no profile" in done.stderr


def test_what_gains_nothing_comes_with_the_headroom(tmp_path):
    model = dense(tmp_path / "m.onnx")
    options = [
        "--enable",
        "where-same",
        "--cost-db",
        tmp_path / "c.sqlite",
        "--report",
        tmp_path / "r",
    ]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options)
    assert done.returncode == 0, done.stderr
    assert "no rule applies anywhere" in done.stdout and "of the machine's roofline" in done.stdout
    said = json.loads((tmp_path / "r").read_text())
    assert said["reason"] == "no rule applies anywhere" and "roofline" in said["headroom"]


def test_a_prelu_gains_and_is_the_first_change_of_the_page(tmp_path):
    model, page = dense(tmp_path / "m.onnx"), tmp_path / "p.html"
    options = ["--enable", "prelu-channel", "--cost-db", tmp_path / "c.sqlite", "--html", page]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options)
    assert done.returncode == 0, done.stderr
    kinds = [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node]
    assert "PRelu" not in kinds and "Relu" in kinds, done.stdout
    agree(model, tmp_path / "o.onnx", numpy.random.default_rng(1).random((1, 3, 96, 96), dtype="f"))
    text = page.read_text()
    table = text.index("What gained, the largest first")
    assert table < text.index("What changed")
    assert re.search(
        r"<h3>1\. prelu-channel.* ms before, .* ms after on the target, 100 % of the gain", text
    )


@pytest.mark.parametrize("channels, timed", [(256, False), (2, True)])
def test_what_cannot_gain_by_its_arithmetic_is_not_timed(tmp_path, channels, timed):
    """For a kernel of one element, computing blocks of 2 x 2 results takes four times as many
    multiplications. With few channels, moving the data takes longer than that, and blocks may pay.
    """
    weights = {"w": numpy.ones((channels, channels, 1, 1), "f"), "b": numpy.ones(channels, "f")}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"])]
    shape = [1, channels, 64, 64]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", shape)], [tensor("y", shape)], weights)
    options = ["--enable", "found-d86fd5c29bc56fa8-2", "--cost-db", tmp_path / "c.sqlite", "-v"]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options)
    assert done.returncode == 0, done.stderr
    assert ("a part of 1 places" in done.stderr) == timed, done.stderr


PRELU = ["--enable", "prelu-channel"]


def test_of_several_sizes_the_least_gain_counts(tmp_path):
    model, report = dense(tmp_path / "m.onnx", "h"), tmp_path / "r.json"
    options = [*PRELU, "--cost-db", tmp_path / "c.sqlite", "--report", report, "-v"]
    done = optimize(model, tmp_path / "o.onnx", *TARGET, *options, "--dim", "h=96,48")
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert said["changed"] and said["sizes"] in ("h=96", "h=48"), done.stdout
    assert f"the gain is smallest at {said['sizes']}" in done.stdout
    confirmed = float(re.search(r"once more, in \d+ batches: ([\d.]+)", done.stderr)[1])
    other = float(re.search(r"at h=48: ([\d.]+)", done.stderr)[1])
    ratio = said["measured_seconds"]["after"] / said["measured_seconds"]["before"]
    assert ratio == pytest.approx(max(confirmed, other), rel=1e-3)
    for height in (96, 48, 31):
        agree(model, tmp_path / "o.onnx", numpy.ones((1, 3, height, 96), "f"))


def test_sizes_must_be_numbers(tmp_path):
    model = dense(tmp_path / "m.onnx", "h")
    for wrong in ("h=96,", "h=,96", "h=96,,48", "h=96,x"):
        done = optimize(model, tmp_path / "o.onnx", "--dim", wrong)
        assert done.returncode == 2 and wrong in done.stderr, wrong


def between(kernel, made):
    """The nodes for which a kernel stands, according to profile_onnxruntime, in a file with
    x -> a -> b -> c, d."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    from profile_onnxruntime import nodes_between

    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Mul", ["a", "w"], ["b"]),
        helper.make_node("Add", ["b", "a"], ["c"]),
        helper.make_node("Neg", ["b"], ["d"]),
    ]
    makers = {name: k for k, node in enumerate(nodes) for name in node.output}
    return nodes_between(kernel, nodes, makers, made)


def test_kernels_with_made_up_names():
    """A kernel stands for the nodes between the values that it reads and makes. It stands for none
    if it reads a value that the file lacks, so that the nodes lead to what another kernel makes."""
    fused = helper.make_node("Fused", ["a", "w"], ["c"])
    assert between(fused, {"a", "c", "d"}) == [1, 2]
    assert between(helper.make_node("Fused", ["x", "w"], ["c"]), {"c", "d"}) == [0, 1, 2]
    reordered = helper.make_node("ReorderOutput", ["inner"], ["c"])
    assert between(reordered, {"a", "inner", "c", "d"}) == []
    assert between(helper.make_node("Copy", ["a"], ["new"]), {"a", "new"}) == []


def test_a_product_has_the_time_of_its_kernel():
    """ONNX Runtime multiplies a batch normalization into the weights, so it takes no time."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    from profile_onnxruntime import sharing

    kinds = ["MatMul", "BatchNormalization", "Add", "Gemm"]
    nodes = [helper.make_node(kind, ["x"], ["y"]) for kind in kinds]
    assert sharing("Gemm", [0, 1, 2], nodes) == [0]
    assert sharing("Gemm", [0, 3], nodes) == [3]
    assert sharing("LayerNormalization", [1, 2], nodes) == [1, 2]
    assert sharing("Gemm", [], nodes) == []


def test_nodes_take_no_more_than_the_processor_did(tmp_path, monkeypatch):
    """By this clock each run takes a nanosecond, so the rest of the time was another program's."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import profile_onnxruntime as tool

    nodes = [helper.make_node("Exp", ["x"], ["t"]), helper.make_node("Sin", ["t"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", [999])], [tensor("y", [999])], {})
    clock = itertools.count(0, 1e-9)
    monkeypatch.setattr(tool, "clock_of", lambda threads: lambda: next(clock))
    feed = types.SimpleNamespace(draw=lambda inputs: {"x": numpy.ones(999, "f")})
    times = tool.kernels(tool.Numbered(onnx.load(path), path), feed, 1)
    assert {op for op, _, _ in times} == {"Exp", "Sin"}
    assert abs(sum(seconds for _, _, seconds in times) - 1e-9) < 1e-12


def profile(path):
    """The lines of profile-onnxruntime, which is asked from another folder."""
    words = [os.path.join(ROOT, "scripts", "profile-onnxruntime"), path]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/")
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("outside", [False, True])
def test_a_fused_kernel_is_shared(tmp_path, outside):
    """The nodes of an addition and of a layer normalization that is spelled out share the time of
    the one kernel that ONNX Runtime makes of them; no time remains under other names. The same
    holds if weights lie in another file and the program runs in another folder."""
    rng, w = numpy.random.default_rng(5), {}
    w["s"], w["b"] = rng.random(256).astype("f"), rng.random(256).astype("f")
    w["two"], w["e"] = numpy.float32(2), numpy.float32(1e-5)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["t"]),
        helper.make_node("ReduceMean", ["t"], ["m"], axes=[-1]),
        helper.make_node("Sub", ["t", "m"], ["d"]),
        helper.make_node("Pow", ["d", "two"], ["p"]),
        helper.make_node("ReduceMean", ["p"], ["v"], axes=[-1]),
        helper.make_node("Add", ["v", "e"], ["u"]),
        helper.make_node("Sqrt", ["u"], ["q"]),
        helper.make_node("Div", ["d", "q"], ["n"]),
        helper.make_node("Mul", ["n", "s"], ["k"]),
        helper.make_node("Add", ["k", "b"], ["y"]),
    ]
    shape = [1, 128, 256]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", shape)], [tensor("y", shape)], w)
    if outside:
        onnx.save(onnx.load(path), path, save_as_external_data=True, location="w", size_threshold=0)
    said = profile(path)
    assert {int(k) for kind, k, *_ in said if kind == "node"} == set(range(len(nodes)))
    assert not [line for line in said if line[0] == "other"]


def test_kernels_between_casts_are_shared(tmp_path):
    """ONNX Runtime computes 16-bit floats in 32 bits and names the result of a convolution after a
    cast that it has inserted. The time of the convolution still belongs to its node."""
    kind, rng = onnx.TensorProto.FLOAT16, numpy.random.default_rng(5)
    w = {k: rng.standard_normal((32, n, 3, 3)).astype("e") for k, n in (("w", 3), ("v", 32))}
    node = lambda x, k, y: helper.make_node("Conv", [x, k], [y], pads=[1, 1, 1, 1])
    nodes = [node("x", "w", "c"), helper.make_node("Relu", ["c"], ["r"]), node("r", "v", "y")]
    x, y = tensor("x", [1, 3, 96, 96], kind), tensor("y", [1, 32, 96, 96], kind)
    said = profile(save(tmp_path / "m.onnx", nodes, [x], [y], w))
    assert {"0", "2"} <= {k for kind, k, *_ in said if kind == "node"}
    assert "Conv" not in [k for kind, k, *_ in said if kind == "other"]


def test_a_product_and_a_sum_are_a_gemm_of_their_own(tmp_path):
    """ONNX Runtime makes a Gemm of a MatMul and an Add. Its time is not that of another Gemm, which
    comes before it."""
    rng = numpy.random.default_rng(5)
    w = {n: rng.standard_normal((64, 64)).astype("f") for n in ("g", "w")}
    w |= {n: rng.standard_normal(64).astype("f") for n in ("b", "c")}
    nodes = [
        helper.make_node("Gemm", ["x", "g", "b"], ["t"]),
        helper.make_node("Tanh", ["t"], ["u"]),
        helper.make_node("MatMul", ["u", "w"], ["p"]),
        helper.make_node("Add", ["p", "c"], ["y"]),
    ]
    shapes = [tensor("x", [16, 64])], [tensor("y", [16, 64])]
    said = profile(save(tmp_path / "m.onnx", nodes, *shapes, w))
    assert {"0", "2"} <= {k for kind, k, *_ in said if kind == "node"}, said


def test_values_named_like_nodes(tmp_path):
    """In files that this program wrote, values are named isomer_0 and so on, and ONNX Runtime names
    a convolution with reordered channels after its result. That is not the number of a node."""
    rng = numpy.random.default_rng(5)
    w = {k: rng.standard_normal((64, 64, 3, 3)).astype("f") for k in "vw"}
    conv = lambda x, k, y: helper.make_node("Conv", [x, k], [y], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        conv("n", "v", "isomer_0"),
        conv("isomer_0", "w", "y"),
    ]
    shapes = [tensor("x", [1, 64, 48, 48])], [tensor("y", [1, 64, 48, 48])]
    said = profile(save(tmp_path / "m.onnx", nodes, *shapes, w))
    seconds = {k: float(s) for kind, k, s in said if kind == "node"}
    assert seconds.get("0", 0) < seconds.get("1", 0) / 2, said
