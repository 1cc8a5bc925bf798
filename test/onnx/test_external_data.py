"""Weights in separate files stay there, weights are moved there on request, and no file of another
model is touched."""

import os, resource, signal, subprocess
import numpy, onnx, pytest
from onnx import TensorProto as T, helper as h
import roundtrip, written
from unusual_models import X, constant, core, info, make, weights


def run(path, out, *options):
    return subprocess.run(
        [roundtrip.OPTIMIZE, "-q", path, out, *options], capture_output=True, text=True, timeout=120
    )


def externals(path):
    """(file, offset, length) by name of the initializers whose data is in another file."""
    found = {}
    for t in onnx.load(path, load_external_data=False).graph.initializer:
        if t.data_location == T.EXTERNAL:
            entries = {e.key: e.value for e in t.external_data}
            found[t.name] = (
                entries["location"],
                int(entries.get("offset", 0)),
                int(entries.get("length", 0)),
            )
    return found


def spread(folder):
    """A model of the core and a product with a large matrix, with weights in two files, one of them
    in a subfolder. There are weights with offsets and without lengths, one of them in a subgraph
    and one in a Constant."""
    (folder / "sub").mkdir(parents=True)
    large = numpy.random.default_rng(3).uniform(-1, 1, (6, 500)).astype("f4")
    inside = h.make_graph(
        [h.make_node("Add", ["mid", "k"], ["z"])],
        "t",
        [],
        [info("z", None)],
        [constant("k", numpy.full((1, 1, 6, 6), 2, "f4"))],
    )
    model = make(
        [
            *core(y="mid"),
            h.make_node("If", ["cond"], ["q"], then_branch=inside, else_branch=inside),
            h.make_node("MatMul", ["q", "large"], ["p"]),
            h.make_node(
                "Constant", [], ["last"], value=constant("last", numpy.ones((1, 500), "f4"))
            ),
            h.make_node("Mul", ["p", "last"], ["y"]),
        ],
        initializers=[*weights(), constant("large", large), constant("cond", True)],
        outputs=[info("y", (1, 4, 6, 500))],
    )
    files = {"one": bytearray(b"header.."), "sub/two": bytearray()}
    graphs = [(t, "one" if k % 2 else "sub/two") for k, t in enumerate(model.graph.initializer[:6])]
    graphs += [(model.graph.node[2].attribute[k].g.initializer[0], "sub/two") for k in (0, 1)] + [
        (model.graph.node[4].attribute[0].t, "one")
    ]
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    for k, (t, name) in enumerate(graphs):
        entries = {
            "location": name,
            "offset": str(len(files[name])),
            **({} if k == 1 else {"length": str(len(t.raw_data))}),
            "checksum": "0",
        }
        files[name] += t.raw_data + bytes(-len(t.raw_data) % 64)
        t.data_location = T.EXTERNAL
        for key, value in entries.items():
            t.external_data.add(key=key, value=value)
        t.ClearField("raw_data")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    want = written.run_onnxruntime(whole.SerializeToString(), {"x": X})
    assert not written.differs(
        written.run_onnxruntime(str(folder / "m.onnx"), {"x": X}), want, 0, 0
    )
    return folder / "m.onnx", want


@pytest.mark.parametrize("there", [".", "away"])
def test_external_data_stays_external(tmp_path, there):
    path, want = spread(tmp_path / "models")
    out = path.parent / there / "out.onnx"
    out.parent.mkdir(exist_ok=True)
    assert not run(path, out, "--rules", "none").stderr and out.read_bytes() == path.read_bytes()
    assert not written.differs(written.run_onnxruntime(str(out), {"x": X}), want, 0, 0)
    done = roundtrip.all_rules(roundtrip.Case("", path, lambda: [], 0, 0), out)
    assert not done and out.read_bytes() != path.read_bytes()
    onnx.checker.check_model(str(out))
    assert externals(out)["large"] == externals(path)["large"]
    assert not written.differs(written.run_onnxruntime(str(out), {"x": X}), want, 1e-4, 1e-5)
    assert (out.parent / "sub" / "two").read_bytes() == (path.parent / "sub" / "two").read_bytes()


def test_external_data_of_others_is_not_overwritten(tmp_path):
    path, _ = spread(tmp_path / "models")
    (tmp_path / "one").write_bytes(b"mine")
    done = run(path, tmp_path / "out.onnx", "--rules", "none")
    assert done.returncode == 5 and "one: this file exists already" in done.stderr
    assert f"differs from {path.parent}/one, which the model uses" in done.stderr
    assert (tmp_path / "one").read_bytes() == b"mine" and not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("option", ["--output", "--json"])
@pytest.mark.parametrize("file", ["one", "sub/two"])
def test_questions_are_not_written_over_weights(tmp_path, file, option):
    path, _ = spread(tmp_path / "models")
    before = {x: x.read_bytes() for x in tmp_path.rglob("*") if x.is_file()}
    lost = path.parent / "sub" / ".." / file
    program = os.path.join(os.path.dirname(roundtrip.OPTIMIZE), "discover-rules")
    command = [program, path, "--steps", "1", option, lost]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option}: {lost} has weights of {path}: each needs a file of its own" in done.stderr
    assert {x: x.read_bytes() for x in tmp_path.rglob("*") if x.is_file()} == before


def test_lists_that_give_sizes_stay_in_the_model(tmp_path):
    """ONNX Runtime does not load a model whose sizes or axes are in another file."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,6] x) => (float[2,1,3,2] y)
      <int64[3] sizes = {2, 3, 2}, int64[1] axes = {1}, float[2] w = {1, 2}>
      { a = Reshape (x, sizes) b = Mul (a, w) y = Unsqueeze (b, axes) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    options = ["--save-as-external-data", "--external-threshold", "0", "--rules", "none"]
    done = run(tmp_path / "m.onnx", tmp_path / "out.onnx", *options)
    assert done.returncode == 0, done.stderr
    assert list(externals(tmp_path / "out.onnx")) == ["w"]
    x = numpy.ones((2, 6), "f4")
    written.run_onnxruntime(str(tmp_path / "out.onnx"), {"x": x})


def test_the_search_does_not_begin_if_a_file_is_in_the_way(tmp_path):
    path, _ = spread(tmp_path / "models")
    (tmp_path / "one").write_bytes(b"mine")
    started = tmp_path / "started"
    done = run(path, tmp_path / "out.onnx", "--measure-with", f"touch {started}; false")
    assert done.returncode == 5 and "one: this file exists already" in done.stderr
    assert not started.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["m.onnx", "one"],
        ["m.onnx", "sub/two"],
        ["m.onnx", "o.onnx", "--report", "one"],
        ["m.onnx", "--dry-run", "--proof-log", "to-one"],
        ["m.onnx", "../away/one"],
        ["m.onnx", "../away/o.onnx", "--dot", "../away/one"],
        ["m.onnx", "../away/o.onnx", "--cost-db", "../away/one"],
    ],
)
def test_the_weights_of_the_model_are_not_written_over(tmp_path, words):
    """Neither where the model has them nor where they are copied to, beside the result."""
    path, _ = spread(tmp_path / "models")
    (tmp_path / "away").mkdir()
    (path.parent / "to-one").symlink_to("one")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    done = subprocess.run(
        [roundtrip.OPTIMIZE, *words, "--rules", "none"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=path.parent,
    )
    option = words[-2] if words[-2].startswith("--") else "OUT.onnx"
    assert done.returncode == 2 and f"optimize-model: {option}: {words[-1]} " in done.stderr
    assert " weights of IN.onnx" in done.stderr and "a file of its own" in done.stderr
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", ["", "1"])
@pytest.mark.parametrize("option", ["--report", "--dot", "--proof-log"])
def test_other_results_do_not_take_the_place_of_the_weights(tmp_path, option, name):
    model = make(core(), initializers=weights(), outputs=[info("y", None)])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    out, taken = tmp_path / "o.onnx", tmp_path / f"o.onnx.data{name}"
    words = ["--cost", "nodes", option, str(taken)]
    moved = ["--save-as-external-data", "--external-threshold", "0"]
    done = run(tmp_path / "m.onnx", out, *words, *moved)
    assert done.returncode == 2 and option in done.stderr and "weights" in done.stderr
    assert not out.exists() and not taken.exists()
    assert run(tmp_path / "m.onnx", out, *words).returncode == 0 and taken.exists()


@pytest.mark.parametrize("missing", ["one", "sub/two"])
def test_missing_external_data_is_named(tmp_path, missing):
    path, _ = spread(tmp_path / "models")
    (path.parent / missing).unlink()
    done = run(path, tmp_path / "out.onnx", "--rules", "none")
    assert done.returncode == 5 and not (tmp_path / "out.onnx").exists()
    assert str(path) in done.stderr and "external data" in done.stderr and missing in done.stderr


@pytest.mark.parametrize(
    "least, rules", [(0, "none"), (1000, "none"), (1000, "on"), (10**6, "none")]
)
def test_saved_as_external_data(tmp_path, least, rules):
    path, want = tmp_path / "in.onnx", None
    nodes = [*core(y="mid"), h.make_node("MatMul", ["mid", "large"], ["y"])]
    text = onnx.TensorProto(
        name="large",
        dims=[6, 70],
        data_type=T.FLOAT,
        float_data=[float(k % 7) for k in range(420)],
        doc_string="kept",
    )
    path.write_bytes(
        make(
            nodes, initializers=[*weights(), text], outputs=[info("y", (1, 4, 6, 70))]
        ).SerializeToString()
    )
    want, out = written.run_onnxruntime(str(path), {"x": X}), tmp_path / "out.onnx"
    options = ["--save-as-external-data", "--external-threshold", str(least)]
    done = (
        run(path, out, "--rules", "none", *options)
        if rules == "none"
        else run(
            path,
            out,
            "--measure-with",
            f"exec '{roundtrip.EAGER}'",
            "--cost-db",
            tmp_path / "costs",
            *options,
        )
    )
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out))
    assert not written.differs(written.run_onnxruntime(str(out), {"x": X}), want, 1e-5, 1e-6)
    found = externals(out)
    assert set(found) == (
        {t.name for t in weights()} | {"large"}
        if least == 0
        else {"large"} if least == 1000 else set()
    )
    for file, offset, length in found.values():
        assert file == "out.onnx.data" and offset % 4096 == 0 and (length >= least or not least)
    assert (tmp_path / "out.onnx.data").exists() == bool(found)
    assert all(
        t.doc_string == "kept"
        for t in onnx.load(out, load_external_data=False).graph.initializer
        if t.name == "large"
    )
    again = tmp_path / "again.onnx"  # data that is external already moves into the new file
    if found:
        assert run(out, again, "--rules", "none", *options).returncode == 0 and {
            f for f, _, _ in externals(again).values()
        } == {"again.onnx.data"}
        assert not written.differs(written.run_onnxruntime(str(again), {"x": X}), want, 1e-5, 1e-6)


def test_saved_external_data_belongs_to_its_model(tmp_path):
    """Whatever happens, OUT and the data file that it names are from the same run. The data of an
    existing model is never replaced, and is deleted only after the model is replaced."""

    def source(name, value):  # a model with little external data and much in the file itself
        path, rest = tmp_path / name, [
            constant(f"c{k}", numpy.full(2000, k, "f4")) for k in range(20)
        ]
        nodes = [
            *core(y="mid"),
            h.make_node("MatMul", ["mid", "large"], ["y"]),
            h.make_node("Sum", [c.name for c in rest], ["sum"]),
        ]
        path.write_bytes(
            make(
                nodes,
                initializers=[
                    *weights(),
                    constant("large", numpy.full((6, 500), value, "f4")),
                    *rest,
                ],
                outputs=[info("y", (1, 4, 6, 500)), info("sum", (2000,))],
            ).SerializeToString()
        )
        return path

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))

    def write(path, **more):
        return subprocess.run(
            [
                roundtrip.OPTIMIZE,
                "-q",
                path,
                out,
                "--rules",
                "none",
                "--cost",
                "flops",
                "--save-as-external-data",
                "--external-threshold",
                "9000",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            **more,
        )

    def files():
        return {f for f in os.listdir(folder)}

    def now():
        return written.run_onnxruntime(str(out), {"x": X})

    folder = tmp_path / "out"
    folder.mkdir()
    first, second, out = source("first.onnx", 1), source("second.onnx", 2), folder / "o.onnx"
    wants = [written.run_onnxruntime(str(path), {"x": X}) for path in (first, second)]
    assert (
        write(first).returncode == 0
        and files() == {"o.onnx", "o.onnx.data"}
        and not written.differs(now(), wants[0], 0, 0)
    )
    bytes_of = {name: (folder / name).read_bytes() for name in files()}
    assert (
        write(first).returncode == 0
        and {name: (folder / name).read_bytes() for name in files()} == bytes_of
    )
    done = write(second, preexec_fn=small)  # the data is written, the model is not
    assert (
        done.returncode == 5
        and "o.onnx:" in done.stderr
        and {name: (folder / name).read_bytes() for name in files()} == bytes_of
    )
    assert (
        write(second).returncode == 0
        and files() == {"o.onnx", "o.onnx.data1"}
        and not written.differs(now(), wants[1], 0, 0)
    )
    (folder / "o.onnx.data").write_bytes(b"mine")
    assert (
        write(first).returncode == 0
        and files() == {"o.onnx", "o.onnx.data", "o.onnx.data2"}
        and not written.differs(now(), wants[0], 0, 0)
    )
    assert (folder / "o.onnx.data").read_bytes() == b"mine"


def huge(folder, external):
    """A model of the core and a table of more than 2 GiB, which is in a sparse file."""
    rows, size = 600_000_000, 2_400_000_000
    nodes = [*core(y="mid"), h.make_node("Gather", ["table", "at"], ["z"])]
    model = make(
        nodes,
        outputs=[info("mid", None), info("z", None)],
        initializers=[*weights(), constant("at", numpy.array([0, rows - 1]))],
    )
    table = onnx.TensorProto(name="table", dims=[rows], data_type=T.FLOAT)
    if external:
        table.data_location = T.EXTERNAL
        for key, value in {"location": "table", "offset": "0", "length": str(size)}.items():
            table.external_data.add(key=key, value=value)
        model.graph.initializer.append(table)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
    with open(folder / ("table" if external else "m.onnx"), "wb") as file:
        file.write(b"" if external else model.SerializeToString())
        file.truncate(size)
    return folder / "m.onnx"


def test_weights_beyond_two_gigabytes(tmp_path):
    path, out = huge(tmp_path, True), tmp_path / "out.onnx"
    assert run(path, out, "--rules", "none").returncode == 0
    assert out.read_bytes() == path.read_bytes()
    done = run(path, out, "--cost", "nodes", "--check=0")
    assert done.returncode == 0, done.stderr
    assert externals(out)["table"] == ("table", 0, 2_400_000_000)
    assert out.read_bytes() != path.read_bytes()


def test_a_file_beyond_two_gigabytes_is_refused(tmp_path):
    path = huge(tmp_path, False)
    done = run(path, tmp_path / "out.onnx", "--rules", "none")
    assert (
        done.returncode == 4
        and "2 GiB" in done.stderr
        and "external data" in done.stderr
        and not (tmp_path / "out.onnx").exists()
    )


def located(folder, location):
    """A model whose weight, all ones, is said to be in a file of this name."""
    folder.mkdir(exist_ok=True)
    weight = constant("w", numpy.ones((3, 3), "f4"))
    weight.ClearField("raw_data")
    weight.data_location = T.EXTERNAL
    weight.external_data.add(key="location", value=location)
    nodes = [
        h.make_node("MatMul", ["a", "w"], ["p"]),
        h.make_node("Relu", ["p"], ["q"]),
        h.make_node("Relu", ["q"], ["y"]),
    ]
    model = make(
        nodes, inputs=[info("a", (2, 3))], outputs=[info("y", (2, 3))], initializers=[weight]
    )
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


@pytest.mark.parametrize(
    "location", ["w", "./w", "no such folder/../w", "a/b/../../w", "a//../w", "a/./../w"]
)
def test_a_location_is_read_without_its_detours(tmp_path, location):
    path, out = located(tmp_path / "here", location), tmp_path / "there" / "o.onnx"
    (tmp_path / "here" / "w").write_bytes(numpy.ones(9, "f4").tobytes())
    out.parent.mkdir()
    done = run(path, out, "--cost", "nodes")
    assert done.returncode == 0, done.stderr
    (y,) = written.run_onnxruntime(str(out), {"a": numpy.ones((2, 3), "f4")})
    kinds = [node.op_type for node in onnx.load(out, load_external_data=False).graph.node]
    assert (y == 3).all() and kinds.count("Relu") == 1
    again = run(out, tmp_path / "there" / "p.onnx", "--cost", "nodes")
    assert again.returncode == 0, again.stderr
