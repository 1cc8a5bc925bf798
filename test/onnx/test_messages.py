"""Mistakes on the command line are refused before any work: outputs that would overwrite a file
that is still needed, options that would have no effect, and unknown names, for which the message
lists the known ones. The exit status is 2, and nothing is written."""

import os, re, shutil, subprocess
import numpy, pytest
from onnx import TensorProto, helper
from small_models import BUILD, LIBRARY, ROOT, net, save, tensor

RULE = """rule abs-twice
  %x : F [n]
from
  %y = abs %x
  %z = abs %y
  out %z
to
  %z = abs %x
  out %z
"""


def run(name, *words, cwd=None):
    return subprocess.run(
        [os.path.join(BUILD, name), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
    )


def refused(done, *said, code=2):
    assert done.returncode == code and not done.stdout, done.stdout + done.stderr
    for text in said:
        assert text in done.stderr, done.stderr


def two_inputs(path):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"])]
    inputs = [tensor("x", ["rows", "columns"]), tensor("i", ["count"], TensorProto.INT64)]
    return save(path, nodes, inputs, [tensor("y", None)], {})


@pytest.fixture
def files(tmp_path):
    """Makes a file of each kind in the folder of the test and returns their bytes by path."""
    two_inputs(tmp_path / "m.onnx")
    (tmp_path / "r.rules").write_text(RULE)
    shutil.copy(os.path.join(LIBRARY, "gather.rules"), tmp_path / "proved.rules")
    shutil.copy(os.path.join(ROOT, "generator", "sets", "elementwise.set"), tmp_path / "s.set")
    (tmp_path / "m.log").write_text("")
    numpy.save(tmp_path / "i.npy", numpy.zeros(3, "i8"))
    numpy.savez(tmp_path / "all.npz", i=numpy.zeros(3, "i8"))
    (tmp_path / "to-m").symlink_to("m.onnx")
    return {path: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "words, option, other",
    [
        ("optimize-model m.onnx o.onnx --report m.onnx", "--report", "IN.onnx"),
        ("optimize-model m.onnx --dry-run --proof-log m.onnx", "--proof-log", "IN.onnx"),
        ("optimize-model m.onnx --dry-run --dot ./m.onnx", "--dot", "IN.onnx"),
        ("optimize-model m.onnx --dry-run --dot to-m", "--dot", "IN.onnx"),
        ("optimize-model m.onnx o.onnx --html o.onnx", "OUT.onnx", "--html"),
        ("optimize-model m.onnx o.onnx --html h --dot h", "--dot", "--html"),
        ("optimize-model m.onnx o.onnx --report r --cost-db r", "--report", "--cost-db"),
        (
            "optimize-model m.onnx o.onnx --rules proved.rules --report proved.rules",
            "--report",
            "--rules",
        ),
        ("optimize-model m.onnx o.onnx --replay m.log --report m.log", "--report", "--replay"),
        ("optimize-model m.onnx o.onnx --input i=i.npy --report i.npy", "--report", "--input"),
        ("optimize-model m.onnx all.npz --input all.npz", "OUT.onnx", "--input"),
        ("verify-rules r.rules -o v --json v", "--output", "--json"),
        ("verify-rules r.rules --json r.rules", "--json", "FILE"),
        ("export-rules proved.rules --format json -o proved.rules", "--output", "FILE"),
        ("generate-rules --ops s.set --size 1 -o s.set", "--output", "--ops"),
        ("generate-rules --ops s.set --size 1 -o j --json j", "--json", "--output"),
        ("discover-rules m.onnx -o m.onnx", "--output", "FILE"),
        ("discover-rules m.onnx -o d --json d", "--json", "--output"),
        ("compare-rules part proved.rules -o p --rest p", "--rest", "--output"),
        ("compare-rules part proved.rules --basis proved.rules", "--basis", "FILE"),
        ("compare-rules choose proved.rules --trades t -o t", "--trades", "--output"),
        (
            "compare-rules choose proved.rules --known r.rules -o r.rules",
            "--output",
            "--known",
        ),
    ],
)
def test_a_file_that_would_be_lost(files, tmp_path, words, option, other):
    name, *words = words.split()
    done = run(name, *words, cwd=tmp_path)
    refused(done, f"{name}: {option}: ", f"is also given as {other}: each needs a file of its own")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_files_that_may_be_the_same(files, tmp_path):
    """The result may replace the model, and rules with verdicts may replace the rules. A device may
    be named several times, since it keeps nothing."""
    done = run("verify-rules", "r.rules", "-o", "r.rules", "-q", cwd=tmp_path)
    assert done.returncode == 0 and "proved class=" in (tmp_path / "r.rules").read_text()
    done = run(
        "optimize-model",
        *("m.onnx", "m.onnx", "--cost", "flops", "--rules", "none", "-q"),
        *("--report", "/dev/null", "--dot", "/dev/null"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.onnx").read_bytes() == files[tmp_path / "m.onnx"]


# Options that have no effect with --replay, and with --headroom.
IDLE = ["--search egraph", "--steps 9", "--time-limit 9", "--keep-best", "--frozen"]
IDLE += ["--effort quick --measure-with cat", "--also-threads 2 --measure-with onnxruntime"]
UNMADE = ["--report r", "--html h", "--dot d", "--proof-log l", "--diff", "--explain y"]
UNMADE += ["--discover 9", "--check-with onnxruntime", "--check", "--rtol 0.1", "--atol 0.1"]
UNMADE += ["--time-limit 9", "--effort quick", "--keep-best", "--max-growth 9", "--dry-run"]
UNMADE += ["--also-threads 2", "--save-as-external-data"]


@pytest.mark.parametrize(
    "words, said",
    [
        ("--rules-out new.rules", "--rules-out: new.rules does not exist, and only --discover"),
        ("--rules-out r.rules --rules none", "--rules-out: without --discover it names rules"),
        ("--search egraph --measure-with cat", "--search: egraph searches by the costs of the"),
        ("--search both --measure-with onnxruntime", "--search: both searches by the costs"),
        (
            "--cost flops --measure-with onnxruntime",
            "--cost: flops is a cost of the built-in runtime",
        ),
        ("--cost nodes --measure-with cat", "--cost: nodes is a cost of the built-in runtime"),
        ("--also-threads 2", "--also-threads: the built-in runtime is timed on --threads only"),
        ("--also-threads 2 --measure-with cat", "--also-threads: your own command decides"),
        ("--effort thorough", "--effort: it limits a search with --measure-with"),
        ("--steps 3 --measure-with cat", "--steps: it limits a search for the built-in runtime"),
        ("--check=0 --rtol 0.1", "--rtol: nothing is compared with --check=0"),
        ("--check=0 --atol 0.1", "--atol: nothing is compared with --check=0"),
        *((f"--replay m.log {word}", word.split()[0] + ": --replay searches") for word in IDLE),
        ("--replay m.log --max-growth 9", "--max-growth: a replay takes it from the proof log"),
        ("--headroom --replay m.log", "--headroom: nothing is searched, so no proof log can be"),
        *(
            (
                f"--measure-with onnxruntime --headroom {word}",
                word.split()[0] + ": --headroom searches",
            )
            for word in UNMADE
        ),
    ],
)
def test_an_option_that_would_do_nothing(files, tmp_path, words, said):
    done = run("optimize-model", "m.onnx", "o.onnx", *words.split(), cwd=tmp_path)
    refused(done, "optimize-model: " + said)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_rules_of_ones_own_without_discovering(files, tmp_path):
    """The rules that an earlier run kept are used in addition to the library."""
    run("verify-rules", "r.rules", "-o", "own.rules", "-q", cwd=tmp_path)
    model = save(
        tmp_path / "abs.onnx",
        [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Abs", ["y"], ["z"])],
        [tensor("x", [64])],
        [tensor("z", [64])],
        {},
    )
    words = ["--cost", "nodes", "--enable", "abs-twice", "--rules-out", "own.rules", "--diff"]
    done = run("optimize-model", model, "o.onnx", *words, "--proof-log", "log", cwd=tmp_path)
    assert done.returncode == 0 and "rule abs-twice" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^rule abs-twice \w{16}, .*, 1 time$", done.stdout, re.M), done.stdout
    done = run("optimize-model", model, "o.onnx", "--replay", "log", cwd=tmp_path)
    assert done.returncode == 1 and "the proof log uses the rule abs-twice (" in done.stderr
    assert "give the --measure-with, --rules and --rules-out of the run that" in done.stderr
    words = ["--replay", "log", "--rules-out", "own.rules"]
    done = run("optimize-model", model, "o.onnx", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    ["optimize-model m.onnx o.onnx", "run-model m.onnx", "discover-rules m.onnx"],
)
def test_a_size_that_the_model_lacks(files, tmp_path, words):
    name, *words = words.split()
    done = run(name, *words, "--dim", "seq=4", cwd=tmp_path)
    refused(done, "--dim: seq=4: the model has no size with this name; its open sizes are ")
    for size in ("rows", "columns", "count"):
        assert size in done.stderr
    if name == "optimize-model":
        done = run(name, *words, "--dim", "rows=4,columns=5", cwd=tmp_path)
        refused(done, "rows=4,columns=5", "; give --dim once for each name")
    save(
        tmp_path / "fixed.onnx",
        [helper.make_node("Relu", ["x"], ["y"])],
        [tensor("x", [4])],
        [tensor("y", [4])],
        {},
    )
    words[0] = "fixed.onnx"
    refused(
        run(name, *words, "--dim", "n=4", cwd=tmp_path),
        "--dim: n=4: the model has no size with this name; all of its sizes are numbers",
    )


def test_many_names_are_cut(tmp_path):
    """The message lists as many names as there is room for, then dots, and the rest of it is
    complete."""
    names = [f"a_size_with_a_long_name_{k}" for k in range(20)]
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Relu", [f"x{k}"], [f"y{k}"]) for k in range(10)],
        [tensor(f"x{k}", names[2 * k : 2 * k + 2]) for k in range(10)],
        [tensor(f"y{k}", None) for k in range(10)],
        {},
    )
    done = run("optimize-model", model, "--dry-run", "--dim", "n=4")
    refused(done, names[0] + ", " + names[1], ", .. (usage)")


@pytest.mark.parametrize("names", [["in.onnx"], ["in.onnx", "o.onnx"]])
def test_a_list_of_rules_takes_no_model(names):
    done = run("optimize-model", *names, "--list-rules")
    refused(done, "--list-rules: takes no model: leave out in.onnx")


@pytest.mark.parametrize("name", ["optimize-model", "run-model"])
def test_the_number_of_threads_is_given_once(files, tmp_path, name):
    words = ["m.onnx"] + (["o.onnx"] if name == "optimize-model" else ["--dim", "rows=3"])
    for more in ("threads=3", "generic,threads=2"):
        done = run(name, *words, "--threads", "2", "--backend-options", more, cwd=tmp_path)
        refused(done, "--backend-options: threads is given by --threads already")
    words += ["--dim", "columns=3", "--backend-options"]
    assert run(name, *words, "threads=2", cwd=tmp_path).returncode == 0
    assert run(name, *words, "grain=1", "--threads", "2", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("allow", ["exact", "drops+exact", "rounds", "drops,", "", "nothing"])
def test_only_classes_that_are_off_are_allowed(files, tmp_path, allow):
    done = run("optimize-model", "m.onnx", "o.onnx", "--allow", allow, cwd=tmp_path)
    what = "--allow: expects one or more of drops, defines, overflows, jumps, joined by + or commas"
    refused(done, f'{what}, not "{allow}"')


@pytest.mark.parametrize("name", ["optimize-model", "run-model"])
def test_sizes_are_not_negative(files, tmp_path, name):
    words = ["m.onnx"] + (["o.onnx"] if name == "optimize-model" else [])
    done = run(name, *words, "--input-shape", "x:-1,4", cwd=tmp_path)
    refused(done, "--input-shape: x:-1,4: a size cannot be negative")


@pytest.mark.parametrize(
    "array, said",
    [
        (numpy.zeros((2, 3), "c8"), "the type of its elements is not supported"),
        (numpy.zeros((2, 3), ">f4"), "expected little-endian floats"),
        (numpy.asfortranarray(numpy.zeros((2, 3), "f")), "save numpy.ascontiguousarray(..) of"),
        (numpy.zeros((1,) * 9, "f"), "its shape cannot be read, or has more than 8 axes"),
    ],
)
def test_arrays_that_are_not_read(files, tmp_path, array, said):
    numpy.save(tmp_path / "x.npy", array)
    done = run("run-model", "m.onnx", "--input", "x=x.npy", cwd=tmp_path)
    refused(done, "x.npy: not a readable .npy file: ", said, code=3)


@pytest.mark.parametrize("name", ["optimize-model", "run-model"])
def test_an_input_that_the_model_lacks(files, tmp_path, name):
    words = ["m.onnx"] + (["o.onnx"] if name == "optimize-model" else ["--dim", "rows=3"])
    done = run(name, *words, "--dim", "columns=4", "--input", "ids=0..9", cwd=tmp_path)
    refused(done, "--input: ids=0..9: the model has no input named ids; its inputs are x, i")


@pytest.mark.parametrize(
    "command, said",
    [
        ("no-such-command", "the shell found no such command, and it is not the name of a target"),
        ("exit 7", "the measuring command ended with status 7 before it answered"),
        ("kill -9 $$", "the measuring command was killed by signal 9 before it answered"),
        ("exec 0<&- 1>&-; sleep 5", "the measuring command closed its output"),
        ("echo hi; cat", "answered 'hi', which is neither SECONDS PATH nor FAIL PATH REASON"),
    ],
)
def test_a_measuring_command_that_does_not_answer(optimize, tmp_path, command, said):
    words = [net(tmp_path / "m.onnx", blocks=1), tmp_path / "o.onnx", "--measure-with", command]
    done = optimize(*words, "--cost-db", tmp_path / "costs", "--input-shape", "x:1,3,8,8")
    refused(done, "optimize-model: --measure-with: ", said, code=5)
    assert not (tmp_path / "o.onnx").exists()


@pytest.mark.parametrize("program", ["run-model", "optimize-model"])
def test_arrays_of_another_rank(files, tmp_path, program):
    """The message names the option that gave the file, not another one."""
    numpy.save(tmp_path / "two.npy", numpy.zeros((2, 2), "i8"))
    words = ["m.onnx", *["--dry-run"] * (program == "optimize-model"), "--input", "i=two.npy"]
    done = run(program, *words, cwd=tmp_path)
    refused(done, "--input: two.npy: an array of rank 2, but the input i has rank 1")


@pytest.mark.parametrize("program", ["run-model", "optimize-model"])
@pytest.mark.parametrize(
    "words, said",
    [
        (["--input-shape", "x:2,4"], "--input-shape: x: axis 1 has the size 3 in the model, not 4"),
        (["--input", "x=four.npy"], "--input: x: axis 1 has the size 3 in the model, not 4"),
        (["--dim", "n=1", "--dim", "n=2"], "--dim: n="),
        (["--input-shape", "x:1,3", "--dim", "n=2"], "--dim: n=2: "),
        (["--input", "x=three.npy", "--input-shape", "x:1,3"], "--input"),
    ],
)
def test_sizes_that_contradict_name_their_option(tmp_path, program, words, said):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [tensor("x", ["n", 3])], [tensor("y", None)], {})
    numpy.save(tmp_path / "three.npy", numpy.zeros((2, 3), "f"))
    numpy.save(tmp_path / "four.npy", numpy.zeros((2, 4), "f"))
    words = ["m.onnx", *["--dry-run"] * (program == "optimize-model"), *words]
    done = run(program, *words, cwd=tmp_path)
    refused(done, f"{program}: {said}")
    assert "axis 1" in done.stderr or "have to be both" in done.stderr


def test_inputs_that_are_too_large(files, tmp_path):
    """The message does not ask for sizes that were given."""
    words = ["m.onnx", "--input-shape", "x:99999999999,99999999999", "--input-shape", "i:1"]
    done = run("run-model", *words, cwd=tmp_path)
    refused(done, "x: it would have too many elements; give smaller sizes with", code=3)


def test_a_threshold_of_weights_that_stay(files, tmp_path):
    words = ["m.onnx", "o.onnx", "--external-threshold", "3"]
    done = run("optimize-model", *words, cwd=tmp_path)
    refused(done, "--external-threshold: ", "give --save-as-external-data")
    assert not (tmp_path / "o.onnx").exists()


def test_a_folder_of_times_that_cannot_be_written(files, tmp_path, monkeypatch):
    """As in a container whose home is read-only: another place can be given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "m.log" / "below"))
    done = run("optimize-model", "m.onnx", "--dry-run", cwd=tmp_path)
    refused(done, "cannot create the folder", "give --cost-db FILE", code=5)


def test_estimates_are_not_called_measured(optimize, tmp_path):
    """A frozen run without a cost file has measured nothing."""
    words = [net(tmp_path / "m.onnx", blocks=1), "--dry-run", "--input-shape", "x:1,3,8,8"]
    words += ["--cost-db", tmp_path / "costs"]
    done = optimize(*words, "--frozen")
    assert done.returncode == 0 and "were estimated" in done.stdout, done.stderr
    assert "  time, partly estimated " in done.stdout and "measured time" not in done.stdout


def test_processors_that_are_not_known(files, tmp_path, monkeypatch):
    """A processor named by the environment is checked like one named by an option."""
    monkeypatch.setenv("ISOMER_CPU", "fast")
    done = run("run-model", "m.onnx", "--dim", "rows=3", "--dim", "columns=3", cwd=tmp_path)
    refused(done, "ISOMER_CPU is 'fast' in the environment: expected generic", code=5)
    monkeypatch.setenv("ISOMER_CPU", "")
    assert run("run-model", "m.onnx", "--dim", "columns=3", cwd=tmp_path).returncode == 0


def test_a_model_is_no_file_of_rules(tmp_path):
    done = run("verify-rules", net(tmp_path / "m.onnx"))
    refused(done, "m.onnx: byte 0: ", "not a file of rules (text or TASO's), or damaged", code=3)
    assert "ONNX" not in done.stderr.replace("m.onnx", "")


@pytest.mark.parametrize(
    "text, said",
    [
        (b"hello\n", "an unknown wire type: not an ONNX model, or damaged"),
        (b"\x0a\x02ab", "a field with the wrong wire type: not an ONNX model, or damaged"),
    ],
)
def test_a_file_that_is_no_model(tmp_path, text, said):
    (tmp_path / "m.onnx").write_bytes(text)
    refused(run("run-model", "m.onnx", cwd=tmp_path), "m.onnx: byte ", said, code=3)


def test_questions_are_known_by_their_text(files, tmp_path):
    """--list may write to a file with any name, which can then be read."""
    done = run("discover-rules", "m.onnx", "--list", "-o", "asked.txt", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "asked.txt").read_text().startswith("question ")
    done = run("discover-rules", "asked.txt", "--list", "-q", cwd=tmp_path)
    assert done.returncode == 0 and "\nat " in done.stdout, done.stderr


def test_results_are_counted_in_english(tmp_path):
    (tmp_path / "r.rules").write_text(RULE.rstrip("\n") + " %z\n")
    done = run("verify-rules", "r.rules", cwd=tmp_path)
    assert "1 result on the left, 2 on the right" in done.stdout
