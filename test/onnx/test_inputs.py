"""Integer inputs are drawn from the range that the graph allows. The built-in runtime, ONNX Runtime
as the target and the check in ONNX Runtime get the same data; --input gives other data to all."""

import os, signal, subprocess, sys, time
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD, PROGRAM, measuring, refused, save, target, tensor
from test_targets import pretended

INT, INT32 = TensorProto.INT64, TensorProto.INT32
ENVIRONMENT = dict(os.environ, ISOMER_VENV=sys.prefix)
ASKED = ["--check-with", "onnxruntime"]
FEW = ["--enable", "pow-square", "--enable", "pow-half"]
node = helper.make_node


def run_model(*words):
    return subprocess.run(
        [os.path.join(BUILD, "run-model"), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def squared(nodes, weights):
    """Adds y = z * z, written as a power, so that a rule can be applied."""
    weights["two"] = numpy.float32([2])
    return nodes + [node("Pow", ["z", "two"], ["y"])]


def model(path, nodes, inputs, weights, opset=17):
    nodes = squared(nodes, weights)
    return save(path, nodes, inputs, [tensor("y", None)], weights, opset)


def table(rows, width=4):
    return numpy.random.default_rng(rows).normal(size=(rows, width)).astype("f")


def embeddings(path, opset, types=2):
    """A model like the beginning of BERT, with embeddings of words, segments and computed
    positions."""
    weights = {
        "words": table(30),
        "types": table(types),
        "places": table(16),
        "one": numpy.int64(1),
        "zero": numpy.int64(0),
        "first": numpy.int64([0]),
        "second": numpy.int64([1]),
    }
    nodes = [
        node("Gather", ["words", "input_ids"], ["w"]),
        node("Cast", ["token_type_ids"], ["k32"], to=INT32),
        node("Cast", ["k32"], ["k"], to=INT),
        node("Gather", ["types", "k"], ["t"]),
        node("Shape", ["input_ids"], ["sizes"]),
        node("Gather", ["sizes", "one"], ["length"]),
        node("Range", ["zero", "length", "one"], ["range"]),
        node("Add", ["range", "offset"], ["position"]),
        node("Gather", ["places", "position"], ["p"]),
        node("Add", ["w", "t"], ["wt"]),
        node("Add", ["wt", "p"], ["e"]),
        node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        node("Mul", ["m", "scale"], ["ms"]),
        node("Add", ["e", "ms"], ["z"]),
    ]
    weights["offset"] = numpy.int64([2])
    weights["scale"] = numpy.float32([0.5])
    both = ["batch", "sequence"]
    return model(
        path,
        nodes,
        [
            tensor("input_ids", both, INT),
            tensor("token_type_ids", both, INT),
            tensor("attention_mask", [1, 1, 4], INT),
        ],
        weights,
        opset,
    )


def taken(name, path):
    """A model in which the input i is an index along a short axis."""
    t, i = table(3), tensor("i", [2, 4], INT)
    w = {"t": t, "u": table(2), "c": numpy.int64([-1]), "depth": numpy.int64(5)}
    w["values"], w["shape"] = numpy.float32([0, 1]), numpy.int64([8])
    nodes = {
        "one row": [node("Gather", ["first", "i"], ["z"])],
        "cast and sum": [
            node("Cast", ["i"], ["i32"], to=INT32),
            node("Cast", ["c"], ["c32"], to=INT32),
            node("Add", ["i32", "c32"], ["j"]),
            node("Gather", ["t", "j"], ["z"]),
        ],
        "elements": [node("GatherElements", ["u", "i"], ["z"])],
        "n dimensions": [
            node("Reshape", ["i", "pairs"], ["j"]),
            node("GatherND", ["t", "j"], ["z"]),
        ],
        "scatter": [
            node("Reshape", ["i", "single"], ["j"]),
            node("ScatterND", ["eight", "j", "ones"], ["z"]),
        ],
        "scatter elements": [node("ScatterElements", ["u", "i", "u"], ["z"])],
        "one-hot": [
            node("OneHot", ["i", "depth", "values"], ["h"]),
            node("ReduceMax", ["h"], ["z"], axes=[2], keepdims=0),
        ],
    }[name]
    w["first"], w["pairs"], w["single"] = table(1), numpy.int64([4, 2]), numpy.int64([8, 1])
    w["eight"], w["ones"] = table(8), numpy.ones((8, 4), "f")
    used = {word for each in nodes for word in each.input}
    return model(path, nodes, [i], {k: v for k, v in w.items() if k in used})


SIZES = ["--dim", "batch=2", "--dim", "sequence=4"]


@pytest.mark.parametrize("opset, types", [(11, 2), (13, 1), (17, 2), (21, 1)])
def test_embeddings(optimize, tmp_path, opset, types):
    """The result is checked numerically and in ONNX Runtime, with several draws."""
    path, out = embeddings(tmp_path / "m.onnx", opset, types), tmp_path / "o.onnx"
    faster = [*FEW, "--measure-with", target(tmp_path, "1 + data.count(b'Pow')")]
    for seed in range(5):
        assert run_model(path, *SIZES, "--seed", seed).returncode == 0
    done = optimize(path, out, *SIZES, *faster, *ASKED, "--check=4", env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Pow" not in {n.op_type for n in onnx.load(out).graph.node}


KINDS = "one row;cast and sum;elements;n dimensions;scatter;scatter elements;one-hot".split(";")


@pytest.mark.parametrize("name", KINDS)
def test_indices(optimize, tmp_path, name):
    path, out = taken(name, tmp_path / "m.onnx"), tmp_path / "o.onnx"
    faster = [*FEW, "--measure-with", target(tmp_path, "1 + data.count(b'Pow')")]
    for seed in range(5):
        said = run_model(path, "--seed", seed)
        assert said.returncode == 0 and not said.stderr, said.stderr
    done = optimize(path, out, *faster, *ASKED, "--check=4", env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Pow" not in {n.op_type for n in onnx.load(out).graph.node}


def test_onnxruntime_measures_the_same_inputs(optimize, tmp_path):
    path, out = embeddings(tmp_path / "m.onnx", 17, 1), tmp_path / "o.onnx"
    words = [path, out, *SIZES, *FEW, "--measure-with", "onnxruntime", *ASKED]
    done = optimize(*words, env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_the_built_in_runtime_measures_on_them(optimize, tmp_path):
    """The table has only one row, and the index is computed."""
    path = taken("one row", tmp_path / "m.onnx")
    done = optimize(path, tmp_path / "o.onnx", *FEW)
    assert done.returncode == 0 and not done.stderr, done.stderr


def ids(path):
    nodes = [node("Gather", ["t", "i"], ["z"])]
    return model(path, nodes, [tensor("i", ["n"], INT)], {"t": table(8)})


def test_forms_of_input(optimize, tmp_path):
    """Indices within the table run. Those outside make each runtime fail, which shows that the data
    reaches it."""
    path, out = ids(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    numpy.save(tmp_path / "in.npy", numpy.int64([5, 7]))
    numpy.save(tmp_path / "beyond.npy", numpy.int64([5, 8]))
    numpy.savez(tmp_path / "beyond.npz", i=numpy.int64([5, 8]))
    faster = [*FEW, "--measure-with", target(tmp_path, "1 + data.count(b'Pow')")]
    for what in ["i=0..7", f"i={tmp_path / 'in.npy'}"]:
        done = optimize(path, out, "--input", what, *faster, *ASKED, env=ENVIRONMENT)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert run_model(path, "--dim", "n=2", "--input", what).returncode == 0
    out.unlink()
    for what in ["i=8..9", "i=8", f"i={tmp_path / 'beyond.npy'}", tmp_path / "beyond.npz"]:
        words = [path, out, "--input", what, "--measure-with", "onnxruntime", *FEW]
        refused(optimize(*words, env=ENVIRONMENT), 5, "indices element out of data bounds", out=out)
        done = run_model(path, "--dim", "n=2", "--input", what)
        assert done.returncode == 3 and "gather" in done.stderr, done.stderr
        assert "an index that is out of range" in done.stderr, done.stderr
        done = optimize(path, out, "--input", what, *faster, env=ENVIRONMENT)
        assert done.returncode == 0 and out.read_bytes() == path.read_bytes(), done.stderr
        out.unlink()


def test_input_that_does_not_fit(optimize, tmp_path):
    path, out = ids(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    numpy.save(tmp_path / "f.npy", numpy.float32([1, 2]))
    for what, code, said in [
        ("j=1", 2, "the model has no input named j"),
        ("i=abc", 2, "NAME=NUMBER, or NAME=LOW..HIGH"),
        ("i=7..2", 2, "LOW..HIGH"),
        ("abc", 2, "NAME=WHAT or FILE.npz"),
        (f"i={tmp_path / 'f.npy'}", 3, "the input i has type I64"),
        (f"i={tmp_path / 'none.npy'}", 5, "none.npy"),
    ]:
        refused(optimize(path, out, "--cost", "flops", "--input", what), code, said, out=out)
        done = run_model(path, "--dim", "n=2", "--input", what)
        assert done.returncode == code and said in done.stderr, done.stderr


def unknown(path, kind, inputs, **attributes):
    """A model in which an opaque node takes the integers n, and beside it a rule can be applied."""
    four = kind == "Slice"
    weights = {"zero": numpy.zeros(4, "i8"), "eight": numpy.full(4, 8), "axes": numpy.arange(4)}
    outputs = attributes.pop("outputs", ["z"])
    nodes = [node(kind, inputs, outputs, **attributes), node("Pow", ["x", "two"], ["y"])]
    return save(
        path,
        nodes,
        [tensor("x", [4, 4, 4, 4] if four else [6]), tensor("n", [4 if four else 3], INT)],
        [tensor(name, None) for name in ["y", *outputs]],
        {k: v for k, v in weights.items() if k in inputs} | {"two": numpy.float32([2])},
        17,
    )


def test_zeros_and_ones_are_tried(optimize, tmp_path):
    """The steps of a slice must not be 0. ONNX Runtime runs the model with ones, and a message says
    so."""
    path = unknown(tmp_path / "m.onnx", "Slice", ["x", "zero", "eight", "axes", "n"])
    done = optimize(
        path, tmp_path / "o.onnx", "--measure-with", "onnxruntime", *FEW, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert "n: ones" in done.stderr and "--input NAME=LOW..HIGH" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_warning_hides_another(tmp_path):
    """The target does not run the model on the first integers, and the result is slower on two
    threads."""
    model = unknown(tmp_path / "m.onnx", "Slice", ["x", "zero", "eight", "axes", "n"])
    asked, count = tmp_path / "asked", "data.count(b'Pow')"
    seconds = f"(9 - {count} if '--threads=2' in sys.argv else 1 + {count}) * os.path.exists(asked)"
    setup, after = f"import os\nasked = {str(asked)!r}", "if batches > 1: open(asked, 'w')"
    command = measuring(tmp_path / "target", f"1e-3 * ({seconds})", setup, after)
    own, _ = pretended(tmp_path, command)
    words = [own, model.name, "o.onnx", *FEW, "--cost-db", "costs", "--measure-with", "pretended"]
    words += ["--also-threads", "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "does not run on random integers" in done.stderr, done.stderr
    assert "give --threads 2 if the model will run on so many; " in done.stderr, done.stderr
    assert "give others with --input NAME=LOW..HIGH or NAME=FILE.npy (" in done.stderr


def rates(path):
    """A model with a branch for a rate of 16000 and another branch that fails for 6 elements."""
    branches = {}
    for name, size in ("then_branch", [2, 3]), ("else_branch", [2, 4]):
        nodes = [
            node("Constant", [], ["to"], value=numpy_helper.from_array(numpy.int64(size))),
            node("Reshape", ["x", "to"], [name]),
        ]
        branches[name] = helper.make_graph(nodes, name, [], [tensor(name, None)])
    nodes = [
        node("Cast", ["rate"], ["r"], to=INT),
        node("Equal", ["sixteen", "r"], ["wide"]),
        node("If", ["wide"], ["z"], **branches),
        node("Pow", ["x", "two"], ["y"]),
    ]
    return save(
        path,
        nodes,
        [tensor("x", [6]), tensor("rate", [], INT32)],
        [tensor("y", None), tensor("z", None)],
        {"two": numpy.float32([2]), "sixteen": numpy.int64(16000)},
        17,
    )


def test_numbers_that_the_graph_asks_for_are_tried(optimize, tmp_path):
    """The model runs neither with zeros nor with ones, but with the number to which the rate is
    compared."""
    done = optimize(
        rates(tmp_path / "m.onnx"),
        tmp_path / "o.onnx",
        "--measure-with",
        "onnxruntime",
        *FEW,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    assert "rate: 16000" in done.stderr and "--input NAME=LOW..HIGH" in done.stderr


def test_what_nothing_drawn_suits_is_said(optimize, tmp_path):
    """The sizes of a split must add up to 6, and neither random numbers from 0 to 1, nor zeros, nor
    ones do."""
    out = tmp_path / "o.onnx"
    path = unknown(tmp_path / "m.onnx", "Split", ["x", "n"], outputs=["z", "z1", "z2"])
    words = [path, out, "--measure-with", "onnxruntime", *FEW]
    said = ["does not run", "n: 0..1", "with zeros and with ones", "--input NAME=LOW..HIGH"]
    refused(optimize(*words, env=ENVIRONMENT), 5, *said, out=out)
    done = optimize(*words, "--input", "n=2", *ASKED, env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_two_runtimes_get_the_same_numbers(tmp_path):
    """The rows that run-model takes for random indices are those of the table in ONNX Runtime, and
    every row occurs."""
    path = ids(tmp_path / "m.onnx")
    done = run_model(path, "--dim", "n=64", "--output-dir", tmp_path)
    assert done.returncode == 0
    rows = onnx.numpy_helper.to_array(onnx.load(path).graph.initializer[0])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    every = session.run(None, {"i": numpy.arange(len(rows))})[0]
    met = {tuple(row) for row in numpy.load(tmp_path / "y.npy").round(5).tolist()}
    assert met == {tuple(row) for row in every.round(5).tolist()}


def test_an_output_in_bfloat16_can_be_an_input(tmp_path):
    """NumPy lacks this type, so its bits are written, and read again, as uint16."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (bfloat16[4] x) => (bfloat16[4] y)
    { y = Identity(x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    bits = numpy.array([0x3F80, 0xC000, 0x8000, 0x7F80], "u2")
    numpy.save(tmp_path / "x.npy", bits)
    words = "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path / "out"
    done = run_model(tmp_path / "m.onnx", *words)
    assert done.returncode == 0, done.stderr
    assert (numpy.load(tmp_path / "out" / "y.npy") == bits).all()


def test_outputs_do_not_share_a_file(tmp_path):
    """Each output goes to a file with its name, in which / and : become _."""
    nodes = [node("Abs", ["x"], ["a_b"]), node("Neg", ["x"], ["a/b"])]
    outputs = [tensor("a_b", [2]), tensor("a/b", [2])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", [2])], outputs, {})
    done = run_model(path, "--output-dir", tmp_path / "out")
    assert done.returncode == 3 and "a_b and a/b would be the same file" in done.stderr


@pytest.mark.parametrize("lost", ["--input", "--cost-db", "weights"])
def test_outputs_do_not_overwrite_what_the_run_reads(tmp_path, lost):
    path, given, kept = tmp_path / "m.onnx", [], tmp_path / "y.npy"
    inputs, outputs = [tensor("x", [2])], [tensor("y", [2])]
    save(path, [node("Add", ["x", "w"], ["y"])], inputs, outputs, {"w": numpy.float32([1, 2])})
    if lost == "--input":
        numpy.save(kept, numpy.float32([1, 2]))
        given = ["--input", f"x={kept}"]
    elif lost == "--cost-db":
        given = ["--cost-db", kept]
        assert run_model(path, *given).returncode == 0
    else:
        where = dict(save_as_external_data=True, location="y.npy", size_threshold=0)
        onnx.save(onnx.load(path), path, **where)
    before = kept.read_bytes()
    done = run_model(path, *given, "--output-dir", tmp_path)
    assert done.returncode == 2 and "each needs a file of its own" in done.stderr
    assert (
        str(kept) in done.stderr and ("has weights" if lost == "weights" else lost) in done.stderr
    )
    assert kept.read_bytes() == before


def test_what_is_no_number_has_no_least(tmp_path):
    path = save(
        tmp_path / "m.onnx", [node("Abs", ["x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])], {}
    )
    assert run_model(path, "--input", "x=nan").stdout.endswith(" min nan max nan mean nan\n")
    assert run_model(path, "--input", "x=-inf").stdout.endswith(" min inf max inf mean inf\n")


def faster(folder):
    """Options with which a power that is written as a product gains."""
    return [*FEW, "--measure-with", target(folder, "1 + data.count(b'Pow')")]


def test_names_and_files_may_have_an_equals_sign(optimize, tmp_path):
    """The folder of temporary files and the file of an input, also beside a name with the sign."""
    folder = tmp_path / "a=b"
    folder.mkdir()
    numpy.save(folder / "i.npy", numpy.int64([3, 1]))
    nodes = [
        node("Gather", ["rows", "i"], ["g"]),
        node("Gather", ["rows", "k=v"], ["h"]),
        node("Add", ["g", "h"], ["z"]),
    ]
    path = model(
        tmp_path / "m.onnx",
        nodes,
        [tensor("i", [2], INT), tensor("k=v", [2], INT)],
        {"rows": table(5)},
    )
    words = [path, tmp_path / "o.onnx", *faster(tmp_path), *ASKED]
    environment = ENVIRONMENT | {"TMPDIR": str(folder)}
    done = optimize(*words, env=environment)
    assert done.returncode == 0 and "onnxruntime: agrees" in done.stdout, done.stderr
    given = ["--input", "i=a=b/i.npy", "--input", "k=v=a=b/i.npy"]
    done = optimize(*words, *given, env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "onnxruntime: agrees" in done.stdout, done.stderr
    done = run_model(path, "--input", "i=a=b/none.npy")
    assert done.returncode and "none.npy" in done.stderr


FAKE = """#!/bin/sh
case "$*" in *--available*) exit 0;; esac
echo started >> {folder}/started
{then}
"""


def fake_python(folder, then):
    """The environment of a run whose helpers are run by a program that says or does this."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text(FAKE.format(folder=folder, then=then))
    (folder / "bin" / "python").chmod(0o755)
    (folder / "temporary").mkdir()
    return os.environ | {"ISOMER_VENV": str(folder), "TMPDIR": str(folder / "temporary")}


def test_the_reason_of_a_helper_is_told(optimize, tmp_path):
    path = embeddings(tmp_path / "m.onnx", 17)
    environment = fake_python(tmp_path, "echo 'no room for the library' >&2; exit 9")
    done = optimize(path, tmp_path / "o.onnx", *SIZES, *faster(tmp_path), *ASKED, env=environment)
    refused(done, 5, "its helper failed: no room for the library", out=tmp_path / "o.onnx")


@pytest.mark.parametrize("keep", [False, True])
def test_a_helper_is_stopped_with_the_run(rules, tmp_path, keep):
    """By the first signal, and with --keep-best by the second, since the first only ends the
    search. No temporary file stays."""
    path = embeddings(tmp_path / "m.onnx", 17)
    words = [
        PROGRAM,
        path,
        tmp_path / "o.onnx",
        "--rules",
        rules,
        *SIZES,
        *faster(tmp_path),
        *ASKED,
    ]
    words += ["--cost-db", tmp_path / "c.sqlite"]
    process = subprocess.Popen(
        words + ["--keep-best"] * keep,
        stderr=subprocess.PIPE,
        text=True,
        env=fake_python(tmp_path, "exec sleep 1000"),
    )
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    if keep:
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=2)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "no model was written" in said
    assert not (tmp_path / "o.onnx").exists() and not list((tmp_path / "temporary").iterdir())
