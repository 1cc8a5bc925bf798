"""The scripts that judge results must notice what is wrong: compare-onnx, randomize-weights,
fetch-models and others, and how they treat wrong arguments."""

import hashlib, importlib, os, sys
import numpy, onnx, pytest
from onnx import TensorProto, helper, numpy_helper
from script_cases import ROOT, SCRIPTS, scaled, tool


@pytest.mark.parametrize(
    "name",
    "bench bench-operators bench-peers bench-roofline bench-runtimes bench-unseen check-novelty"
    " check-sizes measure-onnxruntime profile-onnxruntime".split(),
)
def test_missing_packages_are_named(tmp_path, name):
    """With a Python that lacks the packages, the message says what to install, without
    traceback."""
    bare = tmp_path / "bin" / "python"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    bare.chmod(0o755)
    done = tool(name, "model.onnx", ISOMER_VENV=str(tmp_path))
    assert done.returncode == 5 and done.stdout == ""
    assert "has no numpy" in done.stderr and "pip install numpy" in done.stderr
    assert "onnxruntime" in done.stderr and "Traceback" not in done.stderr


def test_compare_accepts_rounding(tmp_path):
    done = tool(
        "compare-onnx",
        scaled(tmp_path / "a.onnx", 2.0),
        scaled(tmp_path / "b.onnx", 2.00001),
        "--dim",
        "n=5",
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rtol, code", [("1e-5", 0), ("0", 1)])
def test_compare_takes_the_tolerance(tmp_path, rtol, code):
    """The tolerance may be 0: then only differences that roundings explain are accepted."""
    pair = [scaled(tmp_path / name, factor) for name, factor in (("a", 2.0), ("b", 2.00001))]
    done = tool("compare-onnx", *pair, "--dim", "n=5", "--rtol", rtol)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    "options, code",
    [
        (["--atol", "1"], 0),
        (["--atol", "1e-3"], 1),
        (["--atol", "1e-3", "--rtol", "0.1"], 0),
        (["--atol", "1", "--rtol", "1e-6"], 0),
        (["--atol", "1e-3", "--rtol", "1e-6"], 1),
    ],
)
def test_compare_takes_either_tolerance(tmp_path, options, code):
    """A difference within one of the two is allowed; --atol alone allows no relative one."""
    pair = [scaled(tmp_path / name, factor) for name, factor in (("a", 2.0), ("b", 2.1))]
    done = tool("compare-onnx", *pair, "--dim", "n=5", *options)
    assert done.returncode == code, done.stdout + done.stderr


def through(path, operators, factor=1.0):
    """A model that applies operators in turn to x [2, 8], and then multiplies by a factor. Each
    operator is (name, scalar operand or None)."""
    nodes, weights, at = [], {}, "x"
    for k, (operator, scalar) in enumerate([*operators, ("Mul", factor)]):
        inputs = [at]
        if scalar is not None:
            weights[f"s{k}"] = numpy.float32(scalar)
            inputs.append(f"s{k}")
        at = f"v{k}"
        nodes.append(helper.make_node(operator, inputs, [at]))
    nodes[-1].output[0] = "y"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 8]) for n in "xy")
    tensors = [numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return str(path)


@pytest.mark.parametrize(
    "operators, same",
    [
        ([("Add", 3e4), ("Sub", 3e4)], []),  # cancellation
        ([("Mul", 0.0), ("Add", 0.7), ("Mul", 10.0), ("Floor", None)], None),  # a value at a step
    ],
)
def test_compare_knows_what_roundings_do(tmp_path, operators, same):
    """Results that differ only as roundings explain agree; larger differences are still errors."""
    same = operators[:1] + [("Add", 7.0), ("Floor", None)] if same is None else same
    original = through(tmp_path / "a.onnx", operators)
    done = tool("compare-onnx", original, through(tmp_path / "b.onnx", same))
    assert done.returncode == 0, done.stdout + done.stderr
    done = tool("compare-onnx", original, through(tmp_path / "b.onnx", same, 3.0))
    assert done.returncode == 1 and "FAIL" in done.stdout


def resized(path, operators):
    """The model of `through` with each element repeated."""
    model = onnx.load(through(path, operators))
    model.graph.node[-1].output[0] = "z"
    model.graph.node.append(helper.make_node("Resize", ["z", "", "scales"], ["y"], mode="nearest"))
    scales = numpy_helper.from_array(numpy.float32([1, 2]), "scales")
    model.graph.initializer.append(scales)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 16
    onnx.save(model, path)
    return str(path)


def test_compare_disturbs_no_sizes(tmp_path):
    """Scales are not moved by a rounding: one just below 2 would give another shape, which says
    nothing about the elements."""
    original = resized(tmp_path / "a.onnx", [("Add", 3e4), ("Sub", 3e4)])
    done = tool("compare-onnx", original, resized(tmp_path / "b.onnx", []))
    assert done.returncode == 0, done.stdout + done.stderr
    done = tool("compare-onnx", original, resized(tmp_path / "b.onnx", [("Mul", 3.0)]))
    assert done.returncode == 1 and "FAIL" in done.stdout, done.stdout


@pytest.mark.parametrize("by, wrong", [(7e-3, False), (9e-3, False), (11e-3, True)])
def test_compare_knows_the_element_that_moves_most(monkeypatch, by, wrong):
    """Since the few disturbances meet a step only by chance, the element that moves most counts."""
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    judge = importlib.import_module("compare_onnx").judge
    a, moved = numpy.float32([0, 1, 2, 3]), numpy.array([1e-3, 0, 0, 1e-2])
    for k in range(2):
        b = a.copy()
        b[k] += by
        assert bool(judge(a, b, 1e-4, 0, lambda: moved)[2]) == wrong


def test_compare_is_not_blinded_by_an_element_that_becomes_infinite(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    judge = importlib.import_module("compare_onnx").judge
    a, moved = numpy.float32([0, 1, 2, 3]), numpy.array([numpy.inf, 0, 0, 1e-3])
    assert judge(a, numpy.float32([9, 1, 2, 3]), 1e-4, 0, lambda: moved)[2] == ""
    assert judge(a, numpy.float32([0, 1, 6, 3]), 1e-4, 0, lambda: moved)[2]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"factor": 2.01}, "FAIL"),
        ({"factor": float("nan")}, "NaN"),
        ({"output": "z"}, "the outputs have changed"),
        ({"name": "m"}, "the inputs have changed"),
        ({"opset": 14}, "the opset imports have changed"),
    ],
)
def test_compare_refuses(tmp_path, change, said):
    done = tool(
        "compare-onnx",
        scaled(tmp_path / "a.onnx", 2.0),
        scaled(tmp_path / "b.onnx", **{"factor": 2.0, **change}),
    )
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr
    assert "b'" not in done.stdout  # types are named in words, not as bytes


def test_compare_asks_the_checker(tmp_path):
    bad = onnx.load(scaled(tmp_path / "b.onnx", 2.0))
    bad.graph.node[0].input[0] = "nowhere"
    onnx.save(bad, tmp_path / "b.onnx")
    done = tool("compare-onnx", scaled(tmp_path / "a.onnx", 2.0), str(tmp_path / "b.onnx"))
    assert done.returncode == 1 and "FAIL the checker says" in done.stdout


def test_randomize_replaces_what_is_equal_only(tmp_path):
    path, kept = scaled(tmp_path / "a.onnx", 2.0), numpy.arange(4, dtype="float32")
    model = onnx.load(path)
    graph = model.graph
    graph.initializer.extend(
        [
            numpy_helper.from_array(numpy.array([3, 3], "int64"), "shape"),
            numpy_helper.from_array(kept, "kept"),
            numpy_helper.from_array(numpy.full(4, 7, "float32"), "equal"),
        ]
    )
    graph.node.append(helper.make_node("ConstantOfShape", ["shape"], ["filled"]))
    for name in ("kept", "equal", "filled"):
        graph.node.append(helper.make_node("Relu", [name], [name + "_out"]))
        graph.output.append(
            helper.make_tensor_value_info(
                name + "_out", TensorProto.FLOAT, ["k"] if name != "filled" else ["k", "k"]
            )
        )
    onnx.save(model, path)
    for target in ("b", "c"):
        assert tool("randomize-weights", path, str(tmp_path / target), "5").returncode == 0
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
    weights = {
        t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "b").graph.initializer
    }
    assert (weights["kept"] == kept).all() and weights["f"] == 2
    assert len(set(weights["equal"])) == 4 and len(set(weights["filled"].flat)) == 9
    assert "ConstantOfShape" not in {node.op_type for node in onnx.load(tmp_path / "b").graph.node}


IN_PYTHON = [
    name
    for name in sorted(os.listdir(SCRIPTS))
    if os.path.isfile(os.path.join(SCRIPTS, name.replace("-", "_") + ".py")) and "." not in name
]


@pytest.mark.parametrize("name", [name for name in IN_PYTHON if name != "randomize-weights"])
def test_scripts_know_the_name_that_was_typed(name):
    """They do not use the name of the Python program behind the script."""
    done = tool(name, "--no-such-option")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith(f"usage: {name} ") and f"\n{name}: error: " in done.stderr
    assert f"usage: {name} " in tool(name, "--help").stdout


def test_scripts_in_python_are_found():
    assert len(IN_PYTHON) >= 12 and {"bench", "bench-peers", "compare-onnx"} <= set(IN_PYTHON)


@pytest.mark.parametrize(
    "words, said",
    [
        (["bench"], "vgg19"),
        (["bench-operators"], "conv"),
        (["bench-peers"], "vgg19"),
        (["bench-roofline"], "vgg19"),
        (["bench-runtimes"], "vgg19"),
        (["check-sizes"], "vgg19"),
        (["bench-onednn"], "vgg19"),
        (["bench-generator"], "taso"),
        (["bench-tensat", "no-such-folder"], "vgg19"),
        (["bench-unseen", "run", "--into", "no-such-folder"], "there is no such file"),
        (["bench-unseen", "table", "no-such-folder"], "bench-unseen run --into"),
        (["with-python", "atlas.py"], "MaxUnpool"),
        (["with-python", "discover.py"], "vgg19"),
        (["with-python", "rediscover.py"], "vgg19"),
        (["check-arm64"], "no test's name"),
        (["run-tests"], "no test's name"),
        (["check-includes"], "no source file"),
        (["check-circles"], "no object files in no-such-word: run make"),
        (["install-dependencies"], "no-such-word: unknown purpose, option or manager"),
        (["install-dependencies", "--manager"], "no-such-word: unknown purpose, option or"),
        (["check-style"], "no such folder"),
        (["gpu-check"], "the parts are"),
        (["demo"], "no argument"),
        (["fuzz", "1"], "make fuzz"),
        (["gpu-bundle", "no-such-folder"], "a number of megabytes"),
        (["coverage"], "no argument"),
        (["check-reproducible"], "no argument"),
    ],
)
def test_words_that_name_nothing_are_refused(tmp_path, words, said):
    """They are refused before anything is measured, installed or written, since doing nothing, or
    everything, would look like an answer."""
    done = tool(*words, "no-such-word", FRESH=str(tmp_path), PEERS=str(tmp_path))
    assert done.returncode == 2 and not done.stdout, done.stdout + done.stderr
    assert said in done.stderr and "no-such" in done.stderr and "Traceback" not in done.stderr
    assert not os.listdir(tmp_path) and not os.path.exists("no-such-folder")


@pytest.mark.parametrize(
    "name",
    "check-arm64 check-circles check-compilers check-deb check-style check-warnings fetch-zoo"
    " fresh-machine bench-onednn gpu-check gpu-bundle run-tests with-python digest-objects"
    " proto-fields install-dependencies"
    " ../.ci/run".split(),
)
def test_options_that_scripts_lack_are_refused(tmp_path, name):
    done = tool(name, "--no-such-option", FRESH=str(tmp_path), ISOMER_ZOO_DIR=str(tmp_path / "z"))
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert os.path.basename(name) in done.stderr and not os.listdir(tmp_path)
    assert "--no-such-option" in done.stderr or "usage" in done.stderr.lower()
    assert "no object" not in done.stderr


@pytest.mark.parametrize("name", ["bench-peers", "bench-roofline", "bench-runtimes", "check-sizes"])
def test_tables_that_are_not_there_are_named(name):
    done = tool(name, "--table", "no-such.tsv")
    assert done.returncode == 2 and "no-such.tsv: there is no such file" in done.stderr
    done = tool(name, ISOMER_ZOO="no-such.tsv")
    assert done.returncode == 5 and "no-such.tsv" in done.stderr and "ISOMER_ZOO" in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        (["--dim", "q=3"], "--dim: q: the model has no size of this name; it has n"),
        (["--dim", "n"], "argument --dim: n: expected NAME=NUMBER"),
        (["--dim", "n=x"], "argument --dim: n=x: expected NAME=NUMBER"),
        (["--input-shape", "q:2,3"], "--input-shape: q: the model has no input of this name"),
        (["--input-shape", "2,3,"], "argument --input-shape: 2,3,: expected NAME:N,N,.."),
        (["--input", "q=3"], "--input: q: the model has no input of this name; it has x"),
        (["--input", "x=2..b"], "argument --input: x=2..b: expected NAME=FILE.npy"),
        (["--input", "x=none.npy"], "argument --input: x=none.npy: there is no file none.npy"),
    ],
)
def test_what_a_model_lacks_is_refused(tmp_path, words, said):
    model = scaled(tmp_path / "m.onnx", 2.0)
    for name, files in (("compare-onnx", [model, model]), ("profile-onnxruntime", [model])):
        done = tool(name, *files, *words)
        assert done.returncode == 2 and f"{name}: " in done.stderr and said in done.stderr, done
        assert "Traceback" not in done.stderr and not done.stdout
    good = ["--dim", "n=3", "--input-shape", "x:2,3", "--input", "x=-1.5..2e0"]
    assert tool("compare-onnx", model, model, *good).returncode == 0


@pytest.mark.parametrize(
    "name, words",
    [
        ("compare-onnx", ["a", "b", "--draws", "0"]),
        ("profile-onnxruntime", ["a", "--threads", "0"]),
        ("measure-onnxruntime", ["--rounds", "-1"]),
        ("bench", ["--rounds", "x"]),
    ],
)
def test_numbers_of_things_are_positive(name, words):
    done = tool(name, *words)
    assert done.returncode == 2 and "expected an integer of at least 1" in done.stderr


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    model, missing = scaled(tmp_path / "m.onnx", 2.0), str(tmp_path / "none" / "m.onnx")
    for words, code in (
        (["profile-onnxruntime", missing], 3),
        (["compare-onnx", missing, model], 3),
        (["randomize-weights", model, missing, "1"], 5),
        (["check-novelty", missing], 5),
    ):
        done = tool(*words)
        assert done.returncode == code and missing in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    (tmp_path / "file").write_text("")
    done = tool("fetch-models", "light_vgg19", ISOMER_MODELS=str(tmp_path / "file" / "below"))
    assert done.returncode == 5 and "ISOMER_MODELS" in done.stderr
    assert "Traceback" not in done.stderr


def test_fetch_knows_its_names():
    done = tool("fetch-models", "no_such_model")
    assert done.returncode == 2 and "no_such_model" in done.stderr
    names = tool("fetch-models", "--list").stdout.split()
    assert len(names) == len(set(names)) >= 21


def test_fetch_reads_other_tables(tmp_path):
    """For bench-unseen, it also prints the options that a model needs. These models are kept apart
    from those of the tests."""
    data = b"not looked into"
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "m.onnx").write_bytes(data)
    columns = "name package version member bytes sha256 shapes values".split()
    digest = hashlib.sha256(data).hexdigest()
    row = ["m.onnx", "p", "1", "p/m.onnx", str(len(data)), digest, "x:1,3 y:2", "k=0..9"]
    table = tmp_path / "t.tsv"
    table.write_text("# a comment\n" + "\t".join(columns) + "\n" + "\t".join(row) + "\n")
    done = tool("fetch-models", "--table", table, "--feeds", ISOMER_MODELS=str(tmp_path))
    words = "--input-shape x:1,3 --input-shape y:2 --input k=0..9"
    assert done.stdout == f"m\t{tmp_path / 't' / 'm.onnx'}\t{words}\n", done.stderr


def test_fetch_does_not_trust_a_changed_file(tmp_path):
    """If the cached file is not the one in the table and the package index cannot be reached, it
    must fail and not print the path."""
    (tmp_path / "magika.onnx").write_bytes(b"tampered")
    done = tool(
        "fetch-models",
        "magika.onnx",
        ISOMER_MODELS=str(tmp_path),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path),
    )
    assert done.returncode == 5 and "magika.onnx" not in done.stdout
    assert (
        hashlib.sha256(b"tampered").hexdigest()
        == hashlib.sha256((tmp_path / "magika.onnx").read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["missing.rules"], 5, "missing.rules: there is no such file"),
        (["README.md"], 3, "README.md:3:1: expected rule NAME"),
        (["rules/library/pool.rules", "--taso", "missing.rules"], 5, "missing.rules: there is no"),
        (
            ["rules/library/pool.rules", "--rule", "nope"],
            2,
            "nothing is named nope; the known names are: ",
        ),
        (["rules/library/pool.rules"], 5, "no optimizers in"),
    ],
)
def test_novelty_of_what_cannot_be_read(tmp_path, words, status, said):
    done = tool("check-novelty", *words, PEERS=str(tmp_path / "peers"))
    assert done.returncode == status and said in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout
