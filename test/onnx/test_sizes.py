"""For models that leave sizes open, timing and checking use sizes that the model allows."""

import json, os, shutil, subprocess, sys
import onnx, onnx.parser, pytest
from onnx import helper
from written import real_models

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
BUILD = os.path.abspath(BUILD)
PROGRAM, RUN = os.path.join(BUILD, "optimize-model"), os.path.join(BUILD, "run-model")


def optimize(text, folder, *options):
    """Runs optimize-model on a model given as text: (exit status, output and messages, report)."""
    path, report = os.path.join(folder, "m.onnx"), os.path.join(folder, "report.json")
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>\n' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    words = [PROGRAM, path, os.path.join(folder, "out.onnx"), "--cost", "nodes"]
    words += ["--report", report, *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    with open(report) as file:
        return done.returncode, done.stdout + done.stderr, json.load(file)


# The convolution must leave one place along axis 2, which Squeeze removes, so n is 5 to 7.
SQUEEZED = """m (float[1, 2, n] x) => (float[1, 2] y)
    <float[2, 2, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2},
     int64[1] axes = {2}>
    { c = Conv<strides = [3]>(x, w)  s = Squeeze(c, axes)  a = Relu(s)  y = Relu(a) }"""


def test_a_guessed_size_is_one_that_the_model_allows(tmp_path):
    code, said, report = optimize(SQUEEZED, tmp_path)
    assert code == 0 and report["changed"] and "original is kept" not in said, said


# Named and unnamed open sizes; the two sizes n are one.
PARTLY = """m (float[n, 3, h, w] x, float[n, 2, ?] z) => (float[a, 3, b, c] y, float[d, 2, e] v)
    { p = Relu(x)  y = Relu(p)  v = Relu(z) }"""


@pytest.mark.parametrize(
    "options, guessed",
    [
        ([], {"n": 1, "h": 64, "w": 64, "z.2": 64}),
        (["--dim", "w=7"], {"n": 1, "h": 64, "z.2": 64}),
        (["--dim", "z.2=7"], {"n": 1, "h": 64, "w": 64}),
        (["--input-shape", "z:2,2,5"], {"h": 64, "w": 64}),
        (["--input-shape", "x:1,3,8,8"], {"z.2": 64}),
        (["--dim", "h=8,9", "--dim", "n=1", "--dim", "w=7"], {"z.2": 64}),
        (["--input-shape", "x:1,3,8,8", "--dim", "z.2=5"], None),
        (["--input-shape", "x:1,3,8,8", "--fix-dims"], {"z.2": 64}),
    ],
)
def test_sizes_that_were_guessed_are_named(options, guessed, tmp_path):
    page = tmp_path / "p.html"
    options = [*options, "-v", "--html", page] if shutil.which("dot") else [*options, "-v"]
    code, said, report = optimize(PARTLY, tmp_path, *options)
    assert code == 0 and report["guessed_sizes"] == guessed, said
    line = "sizes used where none were given: " + ", ".join(
        f"{name}={size}" for name, size in (guessed or {}).items()
    )
    assert (f"  {line} (--input-shape, --dim)\n" in said) == bool(guessed), said
    assert ("sizes used where none" in said) == bool(guessed), said
    if shutil.which("dot"):
        text = page.read_text(encoding="utf-8").lower()
        assert (line in text) == bool(guessed) and ("where none were" in text) == bool(guessed)


# Reshape needs 8 elements, so n is 4 although it is a first axis.
FIRST = """m (float[n, 2] x) => (float[8] y)
    <int64[1] eight = {8}>
    { r = Reshape(x, eight)  a = Relu(r)  y = Relu(a) }"""


@pytest.mark.parametrize("text, least, most", [(SQUEEZED, 5, 7), (FIRST, 4, 4)])
def test_a_size_that_the_model_requires_is_named(text, least, most, tmp_path):
    _, said, report = optimize(text, tmp_path)
    assert report["changed"] and least <= report["guessed_sizes"]["n"] <= most, said


# The same with a second convolution, for which n would have to be 40.
IMPOSSIBLE = """m (float[1, 2, n] x) => (float[1, 2] y)
    <float[2, 2, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2},
     int64[1] axes = {2}, int64[3] wide = {2, 2, 40}>
    { c = Conv<strides = [3]>(x, w)  s = Squeeze(c, axes)  v = ConstantOfShape(wide)
      d = Conv(x, v)  t = Squeeze(d, axes)  b = Add(s, t)  a = Relu(b)  y = Relu(a) }"""


def test_without_such_sizes_the_original_stands_and_the_message_says_why(tmp_path):
    code, said, report = optimize(IMPOSSIBLE, tmp_path)
    assert code == 0 and not report["changed"], said
    assert "no sizes were found that the model allows; --input-shape gives them" in said


# Axis 0 of one input has the same size as axis 1 of the other, whose shape is given.
SHARED = """m (float[n, 2] x, float[3, n] z) => (float[3, 2] y)
    { p = MatMul(z, x)  a = Relu(p)  y = Relu(a) }"""


@pytest.mark.parametrize("options", [["--input-shape", "z:3,5"], ["--dim", "n=5"], []])
def test_a_size_of_several_inputs_is_one_number(options, tmp_path):
    code, said, report = optimize(SHARED, tmp_path, *options)
    assert code == 0 and report["changed"] and "original is kept" not in said, said


# As in shifted windows, rows are rolled along an open axis and back, as PyTorch's older exporter
# writes this.
ROLLED = """m (float[n, 2] x) => (float[n, 2] y)
    <int64[1] zero = {0}, int64[1] four = {4}, int64[1] end = {9223372036854775807},
     int64[1] last = {-4}>
    { a = Slice(x, four, end, zero)  b = Slice(x, zero, four, zero)  r = Concat<axis = 0>(a, b)
      f = Slice(r, last, end, zero)  g = Slice(r, zero, last, zero)  back = Concat<axis = 0>(f, g)
      z = Add(x, back)  v = Relu(z)  y = Relu(v) }"""


def test_rows_rolled_there_and_back_are_as_many(tmp_path):
    code, said, report = optimize(ROLLED, tmp_path, "--dim", "n=9")
    assert code == 0 and report["changed"] and "0 opaque" in said, said


# Real models whose sizes are hard to guess: one accepts only 512 samples, and one enlarges maps
# until they are as large as others.
@pytest.mark.parametrize("name", ["silero_vad_16k_op15.onnx", "ch_PP-OCRv4_det_infer.onnx"])
def test_real_models_are_optimized_without_sizes(name, tmp_path):
    path = [p for p in real_models() if os.path.basename(p) == name]
    if not path:
        pytest.skip("no models here: scripts/fetch-models fetches them")
    words = [PROGRAM, path[0], tmp_path / "out.onnx", "--cost", "flops", "--steps", "40"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0 and "compared numerically" in done.stdout, done.stdout + done.stderr
    assert "original is kept" not in done.stdout


# The nodes after an If know the sizes that both branches have; n is 2 or 5.
BRANCHES = """m (float[2, 3] x, float[5, 3] z, bool c) => (float[n, 3] y)
    <int64[1] axes = {2}>
    { a = Relu(x)
      b = If(c)<then_branch = t () => (float[THEN] p) { p = MAKE },
                else_branch = e () => (float[5, 3] q) { q = Neg(z) }>
      d = Relu(b)  y = Relu(d) }"""


@pytest.mark.parametrize(
    "then, make, opaque",
    [("2, 3", "Neg(a)", 1), ("k, 3", "Neg(a)", 1), ("2, 3, 1", "Unsqueeze(a, axes)", 3)],
)
def test_what_branches_state_is_known_behind_an_if(then, make, opaque, tmp_path):
    text = BRANCHES.replace("THEN", then).replace("MAKE", make)
    code, said, report = optimize(text, tmp_path)
    assert code == 0 and f"{opaque} opaque" in said, said
    assert report["changed"] == (opaque == 1) and "original is kept" not in said, said


@pytest.mark.parametrize("dim, right", [("2*n+1=7", True), ("n=7", False), ("2*n+1=x", False)])
def test_a_size_is_given_by_the_name_that_the_file_has(dim, right, tmp_path):
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", 1, ["batch", "2*n+1"])],
            [helper.make_tensor_value_info("y", 1, ["batch", "2*n+1"])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, tmp_path / "m.onnx")
    for words in [RUN, "m.onnx"], [PROGRAM, "m.onnx", "out.onnx", "--cost", "nodes"]:
        words += ["--dim", dim]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == (0 if right else 2), done.stdout + done.stderr
        assert right or dim in done.stderr


# A table of positions is cut to the length of the sequence, as PyTorch's exporter writes this.
POSITIONS = """m (float[batch, seq, 4] x) => (float[batch, seq, 4] y)
    <float[1, ROWS, 4] table = {VALUES}, int64[1] zero = {0}, int64[1] one = {1},
     int64[1] two = {2}>
    { s = Shape(x)  n = Slice(s, one, two)  p = Slice(table, zero, n, one)
      a = Add(x, p)  r = Relu(a)  b = Add(r, x)  t = Relu(b)  y = Relu(t) }"""


def positions(rows):
    values = ", ".join(str(k / 8) for k in range(4 * rows))
    return POSITIONS.replace("ROWS", str(rows)).replace("VALUES", values)


@pytest.mark.parametrize("rows, opaque", [(5, 0), (2, 0), (1, 2)])
def test_a_table_of_positions_has_as_many_as_are_needed(rows, opaque, tmp_path):
    """min(seq, 5) is 1 only if seq is 1, so in any model that runs seq equals min(seq, 5). For a
    table of one row nothing follows, since that is broadcast."""
    options = ["--dim", f"seq={rows}", "--dim", "batch=2"]
    code, said, report = optimize(
        positions(rows), tmp_path, *options, "--check-with", "onnxruntime"
    )
    assert code == 0 and report["nodes"]["opaque"] == opaque, said
    assert report["changed"] and "original stands" not in said, said
    if rows == 1:
        numbers = [
            subprocess.run(
                [RUN, tmp_path / name, "--dim", "seq=3", "--dim", "batch=2"],
                capture_output=True,
                text=True,
            ).stdout
            for name in ("m.onnx", "out.onnx")
        ]
        assert numbers[0] == numbers[1] and "y: F [2, 3, 4]" in numbers[0], numbers


# The number of rows of the result is computed from the size of x; a rule turns the square into a
# multiplication.
OPEN = """m (float[n, k] x) => (float[a, b] y)
    <float two = {2}, int64[1] minus = {-1}, int64[1] first = {0}>
    { s = Shape(x)  n = Gather(s, first)  t = Concat<axis = 0>(n, minus)
      p = Pow(x, two)  f = Reshape(p, t)  y = Relu(f) }"""
# A result that is right only for the sizes of the feed.
CLOSED = OPEN.replace(
    "t = Concat<axis = 0>(n, minus)", "t = Concat<axis = 0>(five, minus)"
).replace("int64[1] first", "int64[1] five = {5}, int64[1] first")


def check_sizes(folder, build):
    """Runs scripts/check-sizes on OPEN with the programs of a build folder."""
    save_text(OPEN, folder / "open.onnx")
    (folder / "table.tsv").write_text("open\topen.onnx\t--dim n=5 --input-shape x:5,4\n")
    words = [os.path.join(ROOT, "scripts", "check-sizes"), "--table", folder / "table.tsv"]
    env = dict(os.environ, BUILD=str(build), ISOMER_VENV=sys.prefix)
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=env)


def save_text(text, path):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>\n' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def script(name, *words, stdin=""):
    path = os.path.join(ROOT, "scripts", name)
    return subprocess.run(
        [path, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=120
    )


def test_sizes_of_the_only_input_need_no_name(tmp_path):
    """This holds for the programs and for the scripts that take the same options."""
    one, two = tmp_path / "one.onnx", tmp_path / "two.onnx"
    save_text("m (float[n, m] x) => (float[n, m] y) { y = Relu(x) }", one)
    save_text("m (float[n] x, float[n] z) => (float[n] y) { y = Add(x, z) }", two)
    assert script("profile-onnxruntime", one, "--input-shape", "2,9").returncode == 0
    assert script("compare-onnx", one, one, "--input-shape", "2,9").returncode == 0
    answer = script("measure-onnxruntime", "--input-shape", "2,9", stdin=f"{one}\n\n").stdout
    assert float(answer.split()[0]) > 0
    done = script("compare-onnx", two, two, "--input-shape", "2")
    said = "--input-shape: 2: it must name one of the model's inputs: x, z"
    assert done.returncode == 2 and said in done.stderr, done.stderr
    for program, more in (RUN, []), (PROGRAM, ["--dry-run", "--cost", "nodes"]):
        for path, words, code in (one, "2,9", 0), (two, "2", 2):
            command = [program, path, "--input-shape", words, *more]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == code and (said in done.stderr) == (code == 2), done.stderr


def test_a_result_is_right_at_sizes_that_it_was_not_made_for(tmp_path):
    done = check_sizes(tmp_path, BUILD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal at 3 other sizes" in done.stdout and ": 0 app" not in done.stdout, done.stdout


def test_a_result_for_one_size_only_is_seen(tmp_path):
    """A planted program turns OPEN into CLOSED."""
    save_text(CLOSED, tmp_path / "closed.onnx")
    program = tmp_path / "optimize-model"
    program.write_text(
        f'#!/bin/sh\ncp {tmp_path}/closed.onnx "$2"\ntouch {tmp_path}/log\n'
        'while [ "$1" ]; do [ "$1" = --proof-log ] && touch "$2"; shift; done\n'
    )
    program.chmod(0o755)
    done = check_sizes(tmp_path, tmp_path)
    assert done.returncode == 1 and "FAIL open" in done.stdout, done.stdout + done.stderr
    assert "equal at 0 other sizes" in done.stdout


# A detector resizes its picture as TorchScript writes this: sizes are computed from floats.
RESIZED = """m (float[1, 2, {n}, 12] x) => (float[1, 2, h, w] y)
    <int64[2] sides = {{9, 12}}, float six = {{6}}, int64[1] last = {{-1}},
     int64[1] none = {{0}}, int64[1] two = {{2}}, float rows = {{9}}, float columns = {{12}}>
    {{ least = ReduceMin<keepdims = 0>(sides)  f = Cast<to = 1>(least)  r = Reciprocal(f)
      by = Mul(r, six)  a = Mul(rows, by)  b = Mul(columns, by)  c = Floor(a)  d = Floor(b)
      e = Reshape(c, last)  g = Reshape(d, last)  floats = Concat<axis = 0>(e, g)
      whole = Cast<to = 7>(floats)  shape = Shape(x)  first = Slice(shape, none, two)
      sizes = Concat<axis = 0>(first, whole)  z = Resize<mode = "linear">(x, , , sizes)
      p = Relu(z)  y = Relu(p) }}"""


@pytest.mark.parametrize("n", ["9", "n"])
def test_sizes_that_floats_compute_of_numbers_are_known(n, tmp_path):
    options = ["--dim", "n=9"] if n == "n" else []
    code, said, report = optimize(RESIZED.format(n=n), tmp_path, *options)
    assert code == 0 and report["nodes"]["opaque"] == 0 and report["changed"], said
    made = onnx.load(str(tmp_path / "out.onnx"))
    assert [node.op_type for node in made.graph.node].count("Relu") == 1


def test_where_sizes_become_known_but_nothing_gains_the_file_stays(tmp_path):
    text = RESIZED.format(n="9").replace("y = Relu(p)", "y = Exp(p)")
    code, said, report = optimize(text, tmp_path)
    assert code == 0 and report["nodes"]["opaque"] == 0 and not report["changed"], said
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()


# Two inputs with an axis of the same name; both programs are given numbers for it.
TWICE = """m (float[n] x, float[n] z) => (float[n] y, float[n] v)
    { a = Relu(x)  y = Relu(a)  v = Relu(z) }"""


def numbered(folder, program, *options):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>\n' + TWICE)
    onnx.save(model, folder / "m.onnx")
    words = [program, folder / "m.onnx", *options, *(["--dry-run"] if program == PROGRAM else [])]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("program", [RUN, PROGRAM])
@pytest.mark.parametrize(
    "options, said",
    [
        (["--dim", "n=8", "--dim", "n=8", "--input-shape", "x:8"], ""),
        (["--dim", "n=8", "--dim", "n=9"], "8 and 9"),
        (["--dim", "n=8", "--input-shape", "x:9"], "n=8"),
        (["--input-shape", "z:9", "--dim", "n=8"], "n=8"),
        (["--input-shape", "x:8", "--input-shape", "x:9"], "x"),
        (["--dim", "n=9000000000000000000"], "n=9000000000000000000: a size cannot be greater"),
        (["--dim", "n=99999999999999999999"], "n=99999999999999999999: a size cannot be greater"),
        (["--input-shape", "x:9000000000000000000"], "x:9000000000000000000: a size cannot be"),
        (["--dim", "n=9e18"], "n=9e18: expected NAME=NUMBER"),
    ],
)
def test_numbers_that_contradict_or_are_none_are_refused(tmp_path, program, options, said):
    done = numbered(tmp_path, program, *options)
    assert done.returncode == (2 if said else 0) and said in done.stderr, done.stdout + done.stderr
    assert "would have to be both" in done.stderr or not said or ": a size" in said or "9e" in said


@pytest.mark.parametrize(
    "options, said",
    [
        (["--dim", "n=8,9", "--input-shape", "x:8"], "would have to be both 8 and 9"),
        (["--dim", "n=8,9000000000000000000"], "n=9000000000000000000: a size cannot be greater"),
    ],
)
def test_every_number_of_a_list_is_looked_at_before_the_search(tmp_path, options, said):
    """The target would fail, but is not asked."""
    done = numbered(tmp_path, PROGRAM, *options, "--measure-with", "false")
    assert done.returncode == 2 and said in done.stderr, done.stdout + done.stderr


GATHERED = """m (float[n, 8] x, int64[k, 8] i) => (float[k, 8] y)
    { a = Relu(x)  y = GatherElements<axis = 1>(a, i) }"""


@pytest.mark.parametrize(
    "sizes, fits",
    [
        (["--dim", "n=4", "--dim", "k=5"], False),
        (["--dim", "n=4", "--dim", "k=3,5"], False),
        (["--input-shape", "x:4,8", "--input-shape", "i:5,8"], False),
        (["--dim", "n=4", "--dim", "k=3,4"], True),
    ],
)
def test_sizes_that_an_operator_does_not_allow_are_named(tmp_path, sizes, fits):
    onnx.save(
        onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>' + GATHERED),
        tmp_path / "m.onnx",
    )
    words = [PROGRAM, tmp_path / "m.onnx", "--dry-run", *sizes]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    said = f"{sizes[0]}: the model does not allow these sizes: it requires -k + n >= 0"
    assert (said in done.stderr) != fits, done.stderr


@pytest.mark.parametrize("kind, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("hidden, fits", [(None, True), (5, True), (4, False), (0, False)])
def test_hidden_size_must_be_that_of_the_weights(tmp_path, kind, gates, hidden, fits):
    """ONNX Runtime refuses such a node, too."""
    attributes = {} if hidden is None else {"hidden_size": hidden}
    shapes = {"x": [4, 2, 3], "w": [1, gates * 5, 3], "r": [1, gates * 5, 5]}
    inputs = [helper.make_tensor_value_info(k, 1, v) for k, v in shapes.items()]
    node = helper.make_node(kind, list(shapes), ["y"], **attributes)
    output = helper.make_tensor_value_info("y", 1, [4, 1, 2, "h"])
    graph = helper.make_graph([node], "g", inputs, [output])
    opsets = [helper.make_opsetid("", 14)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    done = subprocess.run([RUN, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == (0 if fits else 3), done.stderr
    assert fits or f"hidden_size is {hidden}, but input 2 is for 5" in done.stderr, done.stderr
    words = [PROGRAM, path, "--dry-run", "--cost", "nodes"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and f"{int(not fits)} opaque" in done.stdout, done.stdout
