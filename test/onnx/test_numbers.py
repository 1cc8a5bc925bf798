"""The result is compared with the original numerically: wrong rules and wrong kernels are caught,
ONNX Runtime may give a second opinion, and a disagreement leaves a reproducer."""

import json, os, re, sys
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import BUILD, PROGRAM, SHAPE, WRONG, forged, net, refused, save, target, tensor


def with_wrong_rule(optimize, costly, folder):
    """Runs optimize-model with a wrong rule: (path of the result, finished process)."""
    out, rules = folder / "o.onnx", forged(folder, WRONG)
    model = net(folder / "m.onnx")
    return out, optimize(model, out, *SHAPE, *costly, "--rules", rules, library=False)


def test_a_wrong_rule_is_caught_by_numbers(optimize, costly, tmp_path):
    out, done = with_wrong_rule(optimize, costly, tmp_path)
    refused(done, 1, "wrong-batchnorm: the rule changed a value", out=out)


def test_a_wrong_kernel_is_caught_by_numbers(optimize, costly, tmp_path):
    """The plug-in computes wrongly if a weight is large, and folding a large scale makes it so."""
    out = tmp_path / "o.onnx"
    weights = {
        "w": numpy.full((4, 3, 1, 1), 50, "f"),
        "s": numpy.full(4, 9, "f"),
        "b": numpy.zeros(4, "f"),
        "m": numpy.ones(4, "f"),
        "v": numpy.ones(4, "f"),
    }
    model = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
        ],
        [tensor("x", [1, 3, 8, 8])],
        [tensor("y", None)],
        weights,
    )
    plugin = os.path.join(BUILD, "test", "plugin", "wrong_backend.so")
    done = optimize(model, out, "--backend", plugin, "--enable", "conv-batchnorm", *costly)
    refused(done, 1, "y", "differs from the original", out=out)


def chain(folder, nodes, shapes, weights, opset=13):
    """A model from x to y."""
    return save(
        folder / "m.onnx", nodes, [tensor("x", shapes[0])], [tensor("y", shapes[1])], weights, opset
    )


def two_products(folder, draw):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["a", "s"], ["y"]),
    ]
    return chain(folder, nodes, ([3, 4], [3, 4]), {"w": draw(4, 4), "s": draw(4, 4)})


def shifted_product(folder, draw):
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["y"]),
    ]
    return chain(folder, nodes, ([3, 4], [3, 5]), {"b": draw(4), "w": draw(4, 5)})


def scaled_convolution(folder, draw):
    nodes = [
        helper.make_node("Mul", ["x", "c"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = {"c": numpy.float32(1 / 255), "w": draw(8, 1, 3, 3)}
    return chain(folder, nodes, ([1, 1, 28, 28], [1, 8, 28, 28]), weights)


def three_layers(folder, draw):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Mul", ["a", "c"], ["b"]),
        helper.make_node("Relu", ["b"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["d"]),
        helper.make_node("Add", ["d", "t"], ["e"]),
        helper.make_node("MatMul", ["e", "u"], ["y"]),
    ]
    weights = {n: draw(64, 64) for n in "wvu"} | {"c": numpy.float32(0.3), "t": draw(64)}
    return chain(folder, nodes, ([32, 64], [32, 64]), weights)


def fifty_blocks(folder, draw):
    nodes, weights, x = [], {}, "x"
    for k in range(50):
        weights |= {f"w{k}": draw(4, 4, 3, 3) * 0.2, f"s{k}": numpy.float32(0.9)}
        nodes += [
            helper.make_node("Conv", [x, f"w{k}"], [f"c{k}"], pads=[1] * 4),
            helper.make_node("Mul", [f"c{k}", f"s{k}"], [f"m{k}"]),
            helper.make_node("Add", [f"m{k}", x], [f"a{k}"]),
            helper.make_node("Relu", [f"a{k}"], ["y" if k == 49 else f"r{k}"]),
        ]
        x = f"r{k}"
    return chain(folder, nodes, ([1, 4, 8, 8], [1, 4, 8, 8]), weights)


def product_of_a_transpose(folder, draw):
    """In this model, a round of the search meets values that are no longer part of the graph."""
    nodes = [
        helper.make_node("Add", ["x", "c"], ["x1"]),
        helper.make_node("Add", ["x1", "d"], ["x2"]),
        helper.make_node("Sigmoid", ["x2"], ["s"]),
        helper.make_node("MatMul", ["s", "w"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("Transpose", ["w"], ["v"], perm=[1, 0]),
        helper.make_node("MatMul", ["s", "v"], ["e"]),
        helper.make_node("Add", ["b", "e"], ["y"]),
    ]
    weights = {"w": draw(4, 4), "c": numpy.float32(1.5), "d": numpy.float32(0.5)}
    return chain(folder, nodes, ([2, 5, 4], [2, 5, 4]), weights)


@pytest.mark.parametrize("cost", ["flops", "nodes"])
@pytest.mark.parametrize(
    "build",
    [
        two_products,
        shifted_product,
        scaled_convolution,
        three_layers,
        fifty_blocks,
        product_of_a_transpose,
    ],
)
def test_what_rounding_does_is_no_difference(optimize, tmp_path, build, cost):
    """Computed constants are rounded once more, which is not an error."""
    for seed in range(3):
        random = numpy.random.default_rng(seed)
        model = build(tmp_path, lambda *s: random.standard_normal(s).astype("f"))
        done = optimize(model, tmp_path / "o.onnx", "--cost", cost)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("least", [0, -9])
def test_outputs_of_zeros_are_no_proof(optimize, tmp_path, least):
    """The user is told if everything that was compared is 0."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "b"], ["s"]),
        helper.make_node("Clip", ["s", "least", "most"], ["y"]),
    ]
    weights = {"w": numpy.eye(4), "b": numpy.full(4, -99), "least": numpy.float32(least)}
    weights = {k: v.astype("f") for k, v in (weights | {"most": numpy.float32(9)}).items()}
    model, report = chain(tmp_path, nodes, ([3, 4], [3, 4]), weights), tmp_path / "r.json"
    done = optimize(model, tmp_path / "o.onnx", "--cost", "nodes", "--report", report)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())["check"]
    assert said["done"] and said["all_zero"] == (least == 0), done.stdout
    assert ("all outputs were 0" in done.stdout) == (least == 0)


def test_what_is_empty_stays(optimize, tmp_path):
    """Without rows, a runtime may run one operator and refuse an equal one, so nothing is
    changed."""
    for rows in (0, 3):
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("MatMul", ["a", "w"], ["y"]),
        ]
        shapes, weights = ([rows, 4], [rows, 4]), {"w": numpy.eye(4, dtype="f") + 1}
        model, out = chain(tmp_path, nodes, shapes, weights), tmp_path / "o.onnx"
        done = optimize(model, out, "--cost", "nodes")
        assert done.returncode == 0, done.stderr
        assert (out.read_bytes() == model.read_bytes()) == (rows == 0)


def test_second_opinion_agrees(optimize, costly, tmp_path):
    model, report = net(tmp_path / "m.onnx", blocks=2), tmp_path / "r.json"
    done = optimize(
        model,
        tmp_path / "o.onnx",
        *SHAPE,
        *costly,
        "--check-with",
        "onnxruntime",
        "--report",
        report,
    )
    assert done.returncode == 0 and "onnxruntime: agrees on 1 draw," in done.stdout, done.stderr
    assert "agrees" in json.loads(report.read_text())["check"]["onnxruntime"]


def test_second_opinion_catches_a_wrong_rule(optimize, costly, tmp_path):
    """Our own check is off, so that the rule is applied and only the other runtime can notice
    it."""
    model, out, temporary = (
        net(tmp_path / "m.onnx", blocks=2),
        tmp_path / "o.onnx",
        tmp_path / "tmp",
    )
    temporary.mkdir()
    wrong = ["--rules", forged(tmp_path, WRONG), "--check=0"]
    assert optimize(model, out, *SHAPE, *costly, *wrong, library=False).returncode == 0
    out.unlink()
    done = optimize(
        model,
        out,
        *SHAPE,
        *costly,
        *wrong,
        "--check-with",
        "onnxruntime",
        library=False,
        env=dict(os.environ, TMPDIR=str(temporary)),
    )
    refused(done, 1, "onnxruntime disagrees: output y1: ", "is allowed (--rtol)", out=out)
    assert not list(temporary.glob("isomer*"))


def test_second_opinion_that_is_not_there(optimize, tmp_path):
    model, out, python = (
        net(tmp_path / "m.onnx", blocks=1),
        tmp_path / "o.onnx",
        tmp_path / "bin" / "python",
    )
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nexec python3 -S -E -s "$@"\n')
    python.chmod(0o755)
    done = optimize(
        model,
        out,
        "--cost",
        "flops",
        "--check-with",
        "onnxruntime",
        env=dict(os.environ, ISOMER_VENV=str(tmp_path)),
    )
    told = "onnxruntime could not compare the models"
    refused(done, 5, "--check-with", told, "No module named", out=out)
    refused(
        optimize(model, out, "--cost", "flops", "--check-with", "an oracle"),
        2,
        "expects onnxruntime",
        out=out,
    )


def test_every_output_has_its_differences(optimize, costly, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx", blocks=2))
    model.graph.output.extend([tensor("n0", None), tensor("x2", None)])
    model.graph.node.append(helper.make_node("Identity", ["x"], ["x2"], "same"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = optimize(
        tmp_path / "m.onnx", "--dry-run", *SHAPE, *costly, "--report", tmp_path / "r.json"
    )
    assert done.returncode == 0, done.stderr
    outputs = json.loads((tmp_path / "r.json").read_text())["check"]["outputs"]
    assert (
        list(outputs) == ["y1", "n0", "x2"]
        and outputs["y1"]["max_relative"] > 0
        and outputs["n0"]["max_relative"] > 0
    )
    assert outputs["y1"] != outputs["n0"] and outputs["x2"]["max_absolute"] in (None, 0)


def test_a_disagreement_leaves_a_reproducer(optimize, costly, tmp_path):
    """The planted rule forgets the mean. The reproducer has one convolution of the six blocks, and
    the data that shows the error."""
    out, done = with_wrong_rule(optimize, costly, tmp_path)
    refused(done, 1, "the rule changed a value", "see " + str(out) + ".disagreement", out=out)
    text = (tmp_path / "o.onnx.disagreement" / "region.txt").read_text()
    assert (
        "# the smallest part found that differs: the value n0" in text
        and "rule wrong-batchnorm\n" in text
        and "proved class=" in text
    )
    original, result = text[text.index("graph original") :].split("graph result")
    assert (
        original.count(" = conv ") == 1 == result.count(" = conv ")
        and "batchnorm" in original
        and "batchnorm" not in result
    )
    (file,) = re.findall(r"^# input \S+: (\S+)$", text, re.M)
    x = numpy.load(tmp_path / "o.onnx.disagreement" / file)
    assert x.shape == (1, 3, 40, 40) and x.dtype == numpy.float32 and x.std() > 0
    session = onnxruntime.InferenceSession(
        str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {"x": x})[0].shape[0] == 1


ALMOST = """rule almost-sub
  axes b = 0..2
  %x : F [b..]   %y : F [b..]
from
  %d = sub %x %y
  %r = relu %d
  out %r
to
  %d = sub %x %y
  %k = fill value=1001/1000 shape=[]
  %e = mul %d %k
  out %e
rule add-add
  axes b = 0..2
  %x : F [b..]   %s : F []   %t : F []
from
  %p = add %x %s
  %y = add %p %t
  out %y
to
  %c = add %s %t
  %y = add %x %c
  out %y
"""


def test_a_reproducer_keeps_values_related(optimize, tmp_path):
    """A part of the model has x and x + 100 as inputs, which always differ by 100. The error is
    0.1, and independent random data for both inputs would not show it."""
    nodes = [
        helper.make_node("Add", ["x", "p"], ["a"]),
        helper.make_node("Add", ["a", "q"], ["t"]),
        helper.make_node("Sub", ["t", "x"], ["d"]),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    weights = {"p": numpy.float32(40), "q": numpy.float32(60)}
    model, out = chain(tmp_path, nodes, ([3, 4], [3, 4]), weights), tmp_path / "o.onnx"
    rules = forged(tmp_path, ALMOST)
    wrong = ["--enable", "almost-sub", "--enable", "add-add", "--rules", rules]
    cheap = ["--measure-with", target(tmp_path, "1 + 2 * data.count(b'Relu') + data.count(b'Add')")]
    done = optimize(model, out, *wrong, *cheap, library=False)
    refused(done, 1, "evaluated by definition", "y", out=out)
    text = (tmp_path / "o.onnx.disagreement" / "region.txt").read_text()
    assert "that differs: the value y" in text
    differences = [float(d) for d in re.findall(r"greatest difference ([^,]+),", text)]
    assert differences and all(0.099 < d < 0.101 for d in differences), text


OVERFLOWS = """rule exp-quotient
  axes b = 0..2
  %x : F [b..]   %y : F [b..]
from
  %e = exp %x
  %f = exp %y
  %d = div %e %f
  out %d
to
  %d = sub %x %y
  %e = exp %d
  out %e
"""


def test_what_overflows_elsewhere_is_not_written(optimize, tmp_path):
    """exp(x) / exp(y) is NaN for large x and y, and exp(x - y) is not, so that they agree only on
    usual data."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Exp", ["r"], ["f"]),
        helper.make_node("Div", ["e", "f"], ["y"]),
    ]
    model, out = chain(tmp_path, nodes, ([64, 4], [64, 4]), {}), tmp_path / "o.onnx"
    rules = ["--rules", forged(tmp_path, OVERFLOWS)]
    done = optimize(model, out, *rules, "--cost", "nodes", library=False)
    assert done.returncode == 0 and out.read_bytes() == model.read_bytes()
    assert "left out, since on data from -1e4 to 1e4" in done.stdout
    assert "overflow: exp-quotient\n" in done.stdout and "the file is unchanged" in done.stdout
    done = optimize(model, out, *rules, "--cost", "nodes", "--check=0", library=False)
    assert done.returncode == 0 and out.read_bytes() != model.read_bytes()


@pytest.mark.parametrize("target", [[], ["--measure-with"]])
def test_a_rule_that_hides_an_overflow_does_not_cost_what_others_gain(
    optimize, costly, tmp_path, target
):
    """exp(x) / sum exp(x) is NaN for large x, and Softmax is not. Without the rule that makes it,
    the search is repeated; a frozen run and a replay do the same."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("ReduceSum", ["e", "last"], ["sum"]),
        helper.make_node("Div", ["e", "sum"], ["share"]),
        helper.make_node("Relu", ["share"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    weights = {"last": numpy.int64([1])}
    model, out = chain(tmp_path, nodes, ([64, 4], [64, 4]), weights), tmp_path / "o.onnx"
    log, again = tmp_path / "o.log", tmp_path / "again.onnx"
    how = costly if target else ["--cost", "nodes"]
    report, page = tmp_path / "report.json", tmp_path / "page.html"
    shown = ["--proof-log", log, "--report", report, "--html", page]
    done = optimize(model, out, *how, *shown)
    assert done.returncode == 0, done.stderr
    assert "hide an overflow: softmax-expansion\n" in done.stdout, done.stdout
    assert json.loads(report.read_text())["left_out"] == "softmax-expansion"
    assert "hide an overflow: softmax-expansion</p>" in page.read_text()
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert out.read_bytes() != model.read_bytes() and "Exp" in kinds and "Softmax" not in kinds
    for same in (["--frozen"], ["--replay", log]):
        done = optimize(model, again, *how, *same)
        assert done.returncode == 0, done.stderr
        assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("scale, kept", [(3e38, True), (3e18, False), (numpy.inf, False)])
def test_what_overflows_when_it_is_computed_is_not_used(optimize, tmp_path, scale, kept):
    """If the product of two finite constants is too large for a float, the file stays as it is. A
    constant that was infinite before may be infinite."""
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["a"]),
        helper.make_node("Mul", ["a", "k"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    weights = {"k": numpy.full(4, scale, "f"), "w": numpy.full((4, 4), 2, "f")}
    model, out = chain(tmp_path, nodes, ([64, 4], [64, 4]), weights), tmp_path / "o.onnx"
    done = optimize(model, out, "--cost", "nodes", "-v")
    assert done.returncode == 0, done.stderr
    assert (out.read_bytes() == model.read_bytes()) == kept, done.stdout
    assert ("overflows" in done.stderr) == kept, done.stderr


def test_a_dry_run_leaves_nothing_of_a_disagreement(optimize, costly, tmp_path):
    done = optimize(
        net(tmp_path / "m.onnx", blocks=1),
        tmp_path / "o.onnx",
        "--dry-run",
        *SHAPE,
        *costly,
        "--rules",
        forged(tmp_path, WRONG),
        library=False,
    )
    refused(done, 1, "the rule changed a value", out=tmp_path / "o.onnx.disagreement")


def test_a_wrong_kernel_leaves_a_reproducer(optimize, costly, tmp_path):
    """No rule is wrong here: the weights of the result are large, and for those the plug-in
    computes wrongly."""
    weights = {
        "w": numpy.full((4, 3, 1, 1), 50, "f"),
        "s": numpy.full(4, 9, "f"),
        "b": numpy.zeros(4, "f"),
        "m": numpy.ones(4, "f"),
        "v": numpy.ones(4, "f"),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    model = save(
        tmp_path / "m.onnx", nodes, [tensor("x", [1, 3, 8, 8])], [tensor("z", None)], weights
    )
    done = optimize(
        model,
        tmp_path / "o.onnx",
        "--backend",
        os.path.join(os.path.dirname(PROGRAM), "test", "plugin", "wrong_backend.so"),
        *costly,
        "--enable",
        "conv-batchnorm",
    )
    refused(done, 1, "differs from the original", "disagreement", out=tmp_path / "o.onnx")
    text = (tmp_path / "o.onnx.disagreement" / "region.txt").read_text()
    assert (
        "that differs: the value y" in text
        and "rule conv-batchnorm" in text
        and "relu" not in text[text.index("graph original") :]
    )


def gathers(path):
    """A model with indices along an axis of 8. An error in the rows 5 to 7 would not show with
    random indices, which are 0 or 1."""
    nodes = [
        helper.make_node("Gather", ["t", "i"], ["g"]),
        helper.make_node("Pow", ["g", "two"], ["p"]),
        helper.make_node("Pow", ["p", "two"], ["y"]),
    ]
    return save(
        path,
        nodes,
        [tensor("t", ["n", 4]), tensor("i", ["k"], TensorProto.INT64)],
        [tensor("y", None)],
        {"two": numpy.float32([2])},
    )


def test_the_users_own_data_is_checked(optimize, tmp_path):
    """The user's data is far larger than random data, and so is the greatest difference that is
    reported. Its sizes are those of the run."""
    model, data, report = gathers(tmp_path / "m.onnx"), tmp_path / "f.npz", tmp_path / "r.json"
    numpy.savez_compressed(data, t=numpy.full((8, 4), 1e4, "f"), i=numpy.int64([5, 7, 6]))
    words = [
        model,
        tmp_path / "o.onnx",
        "--measure-with",
        target(tmp_path, "1 + data.count(b'Pow')"),
        "--report",
        report,
    ]
    assert optimize(*words).returncode == 0
    drawn = json.loads(report.read_text())
    done = optimize(
        *words,
        "--input",
        data,
        "--check-with",
        "onnxruntime",
        env=dict(os.environ, ISOMER_VENV=sys.prefix),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert (
        said["operator_flops"]["mul"]["after"] == 24 != drawn["operator_flops"]["mul"]["after"]
        and "agrees" in said["check"]["onnxruntime"]
    )


def test_data_that_does_not_fit(optimize, tmp_path):
    model, out = gathers(tmp_path / "m.onnx"), tmp_path / "o.onnx"

    def given(**arrays):
        numpy.savez(tmp_path / "f.npz", **arrays)
        return optimize(model, out, "--cost", "flops", "--input", tmp_path / "f.npz")

    refused(
        given(z=numpy.zeros(3, "f")),
        2,
        "--input: ",
        "f.npz: the model has no input named z; its inputs are",
        out=out,
    )
    refused(given(z=numpy.float32(3)), 2, "f.npz", "the model has no input named z", out=out)
    refused(given(i=numpy.zeros(3, "f")), 3, "f.npz", "the input i has type I64", out=out)
    refused(given(t=numpy.zeros((8, 5), "f")), 2, "t", out=out)
    refused(given(t=numpy.zeros((8, 4), "c8")), 3, "f.npz: t.npy", out=out)
    (tmp_path / "f.npz").write_bytes((tmp_path / "f.npz").read_bytes()[:-30])
    refused(
        optimize(model, out, "--cost", "flops", "--input", tmp_path / "f.npz"), 3, "f.npz", out=out
    )
    refused(
        optimize(model, out, "--cost", "flops", "--input", tmp_path / "none.npz"),
        5,
        "none.npz",
        out=out,
    )


def test_options_reach_the_back_end(optimize, tmp_path):
    """This plug-in has no options, and says so."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [tensor("x", [4])], [tensor("y", None)], {})
    plugin = os.path.join(BUILD, "test", "plugin", "null_backend.so")
    done = optimize(model, tmp_path / "o", "--backend", plugin, "--backend-options", "speed=9")
    refused(done, 2, "--backend-options: the null back end has no options", out=tmp_path / "o")
