"""The sources of times for optimize-model: the built-in runtime, a command, ONNX Runtime, and a
frozen cost file."""

import json, os, re, shutil, sqlite3, subprocess, sys
import numpy, onnx, onnx.parser, onnxruntime, pytest
from small_models import PROGRAM, ROOT, SHAPE, agree, measuring, net, roots, target


def test_the_built_in_runtime_as_target(optimize, tmp_path):
    model, out, log, report = (
        roots(tmp_path / "m.onnx"),
        tmp_path / "o.onnx",
        tmp_path / "p.log",
        tmp_path / "r.json",
    )
    done = optimize(
        model, out, "--input-shape", "x:1,8,64,64", "--proof-log", log, "--report", report
    )
    assert done.returncode == 0 and re.search(r"pow +4 +0\n", done.stdout), (
        done.stdout + done.stderr
    )
    said = json.loads(report.read_text())
    assert (
        said["measured_seconds"]["after"] < said["measured_seconds"]["before"]
        and said["steps"] > 0
        and said["regions"] > 0
    )
    agree(model, out, numpy.random.default_rng(1).random((2, 8, 5, 6), dtype="f"))
    for extra in (["--frozen"], ["--replay", log]):
        again = optimize(model, tmp_path / "again.onnx", "--input-shape", "x:1,8,64,64", *extra)
        assert again.returncode == 0 and "not in the cost file" not in again.stdout, (
            again.stdout + again.stderr
        )
        assert (tmp_path / "again.onnx").read_bytes() == out.read_bytes()


def test_threads_of_the_target(optimize, costs, tmp_path):
    """Times for one number of threads are not used for another. With a frozen cost file, ten runs
    give the same bytes, and with --cost flops so do all numbers of threads."""
    model, shape = roots(tmp_path / "m.onnx"), ["--input-shape", "x:1,8,64,64"]
    outs = [tmp_path / f"o{k}.onnx" for k in range(13)]
    for k, threads in ((11, 1), (12, 2)):
        assert (
            optimize(model, outs[k], *shape, "--cost", "flops", "--threads", threads).returncode
            == 0
        )
    assert outs[11].read_bytes() == outs[12].read_bytes()
    said = optimize(model, outs[10], *shape, "--threads", 2)
    assert said.returncode == 0, said.stderr
    with sqlite3.connect(costs) as file:
        assert {
            device
            for device, in file.execute("select device from cost where device like '%, 2 threads%'")
        }
    for out in outs[:10]:
        again = optimize(model, out, *shape, "--threads", 2, "--frozen")
        assert (
            again.returncode == 0
            and "not in the cost file" not in again.stdout
            and out.read_bytes() == outs[10].read_bytes()
        ), again.stdout
    other = optimize(model, tmp_path / "other.onnx", *shape, "--threads", 3, "--frozen")
    assert (
        other.returncode == 0 and "not in the cost file" in other.stdout + other.stderr
    ), other.stdout


def test_frozen_without_measurements_says_so(optimize, tmp_path, rules):
    done = subprocess.run(
        [
            PROGRAM,
            roots(tmp_path / "m.onnx"),
            tmp_path / "o.onnx",
            "--input-shape",
            "x:1,8,64,64",
            "--frozen",
            "--rules",
            rules,
            "--cost-db",
            tmp_path / "new.sqlite",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "were not in the cost file" in done.stdout


def test_a_target_decides(optimize, tmp_path):
    """On this target BatchNormalization is costly and HardSigmoid does not run, so only the former
    is rewritten."""
    command = target(
        tmp_path, "0 if b'HardSigmoid' in data else 1 + data.count(b'BatchNormalization')"
    )
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    done = optimize(model, out, *SHAPE, "--measure-with", command, "--report", report)
    assert done.returncode == 0, done.stderr
    assert {rule["name"] for rule in json.loads(report.read_text())["rules"]} == {"conv-batchnorm"}
    assert not any(node.op_type == "BatchNormalization" for node in onnx.load(out).graph.node)
    asked = len((tmp_path / "asked").read_text())
    again = optimize(model, tmp_path / "again.onnx", *SHAPE, "--measure-with", command, "--frozen")
    assert again.returncode == 0 and (tmp_path / "again.onnx").read_bytes() == out.read_bytes()
    assert len((tmp_path / "asked").read_text()) == asked


def test_a_file_that_kills_the_target_is_left_out(optimize, tmp_path):
    """As above, but the target crashes on HardSigmoid. That file fails, and the search goes on."""
    body = "os.abort() if b'HardSigmoid' in data else 1 + data.count(b'BatchNormalization')"
    command = measuring(tmp_path / "target", body, setup="import os")
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    words = [*SHAPE, "--measure-with", command, "--report", report, "-v"]
    done = optimize(model, out, *words, "--cost-db", tmp_path / "costs.sqlite")
    assert done.returncode == 0, done.stderr
    assert {rule["name"] for rule in json.loads(report.read_text())["rules"]} == {"conv-batchnorm"}
    assert re.search(
        r"(run by itself|failed): the measuring command [^\n]* before it answered", done.stderr
    )


def test_files_of_slow_candidates_are_removed(optimize, tmp_path):
    """Each file is a copy of the whole model. When the winner is confirmed, only its rivals are
    still there."""
    log, out = tmp_path / "log", tmp_path / "o.onnx"
    seconds = "10 + data.count(b'BatchNormalization') + 0.06 * data.count(b'HardS')"
    command = measuring(
        tmp_path / "target",
        seconds,
        setup="import os",
        each_batch=f"""names = os.listdir(os.path.dirname(batch[0]))
models = [name for name in names if name.endswith(".onnx")]
open({str(log)!r}, "a").write(f"{{len(batch)}} {{len(models)}}\\n")""",
    )
    done = optimize(net(tmp_path / "m.onnx"), out, *SHAPE, "--measure-with", command)
    assert done.returncode == 0 and "conv-batchnorm" in done.stdout, done.stdout + done.stderr
    batches = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    assert batches[-1][0] == batches[-1][1], batches


def test_a_gain_at_the_border_is_not_timed_for_long(optimize, tmp_path):
    """If the ratio is known to 1 % and still not clearly on either side of the least gain, further
    batches would not decide anything, so timing ends."""
    command = target(tmp_path, "1.0 if b'BatchNormalization' in data else 0.969")
    done = optimize(
        net(tmp_path / "m.onnx"), tmp_path / "o.onnx", *SHAPE, "--measure-with", command, "-v"
    )
    batches = re.search(r"once more, in (\d+) batches: 0\.969", done.stdout + done.stderr)
    assert batches and 3 <= int(batches[1]) <= 8, done.stdout + done.stderr


@pytest.mark.parametrize("share, batches", [(0.972, 3), (0.9695, 4)])
def test_a_gain_that_is_too_small_twice_is_not_timed_again(optimize, tmp_path, share, batches):
    """The first time of a candidate is the best of many. If even this is no gain of 3 %, the least
    number of batches is enough to say that there is none."""
    command = target(tmp_path, f"1.0 if b'BatchNormalization' in data else {share}")
    done = optimize(
        net(tmp_path / "m.onnx"), tmp_path / "o.onnx", *SHAPE, "--measure-with", command, "-v"
    )
    said = re.search(rf"once more, in (\d+) batches: {share}", done.stdout + done.stderr)
    assert said and int(said[1]) == batches, done.stdout + done.stderr


def test_a_target_without_gain_keeps_the_file(optimize, tmp_path):
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = optimize(
        model,
        out,
        "--measure-with",
        target(tmp_path, "1.0 if b'BatchNormalization' in data else 0.98"),
    )
    assert done.returncode == 0 and out.read_bytes() == model.read_bytes(), done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:2]] == [
        "operator",
        "file",
    ], "the table tells of a file that is not written"


def pretended(path, command, identity="exit 1"):
    """Makes a copy of the program with a helper of its own, so that "pretended" is a target.
    Returns the path of the copy and of the file into which the helper writes its arguments.
    `identity`: what the shell does for --identity."""
    for folder, of in (("build", PROGRAM), ("rules", os.path.join(ROOT, "rules"))):
        place = path / "tree" / folder
        place.parent.mkdir(exist_ok=True, parents=True)
        if folder == "rules":
            place.symlink_to(of)
        else:
            place.mkdir()
            shutil.copy(of, place)
    (path / "tree" / "scripts").mkdir()
    helper, told = path / "tree" / "scripts" / "measure-pretended", path / "told"
    asked = f'[ "$1" = --identity ] && {{ {identity}; exit; }}\n'
    helper.write_text(f'#!/bin/sh\n{asked}echo "$@" >> {told}\nexec {command} "$@"\n')
    helper.chmod(0o755)
    return str(path / "tree" / "build" / "optimize-model"), told


def test_a_helper_makes_a_name_a_target(optimize, tmp_path):
    """measure-NAME, in the tree of the program, is found by NAME and gets the sizes of the run."""
    own, told = pretended(tmp_path, target(tmp_path, "1 + data.count(b'BatchNormalization')"))
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    words = [own, model, out, *SHAPE, "--enable", "conv-batchnorm", "--threads", "2"]
    words += ["--cost-db", tmp_path / "costs", "--measure-with"]
    done = subprocess.run([*words, "pretended"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not any(node.op_type == "BatchNormalization" for node in onnx.load(out).graph.node)
    told = told.read_text()
    assert f"--input-shape={SHAPE[1]}" in told and "--threads=2" in told, told
    done = subprocess.run([*words, "unknown-name"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 5, "a name without a helper is a command, which is not found"
    done = subprocess.run([*words, "../x"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 5


def test_times_of_another_version_of_the_target_are_not_used(tmp_path):
    """measure-NAME --identity says what NAME measures with. Once that has changed, all is timed
    anew. A frozen run uses the times of the last run, whatever measures now."""
    version, count = tmp_path / "version", "data.count(b'BatchNormalization')"
    other = f"open({str(version)!r}).read() == '2'"
    command = target(tmp_path, f"1 + {count} if {other} else 9 - {count}")
    own, told = pretended(tmp_path, command, f"cat {version}")
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    words = [own, model, out, *SHAPE, "--enable", "conv-batchnorm", "--cost-db"]
    words += [tmp_path / "costs", "--measure-with", "pretended", "--also-threads", "0"]

    def run(number, *more):
        version.write_text(number)
        before = len(told.read_text()) if told.exists() else 0
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and "not in the cost file" not in done.stdout, done.stderr
        kinds = [node.op_type for node in onnx.load(out).graph.node]
        return "BatchNormalization" not in kinds, len(told.read_text()) > before

    assert run("1") == (False, True)
    assert run("2", "--frozen") == (False, False)
    assert run("2") == (True, True)
    assert run("1", "--frozen") == (True, False)


def test_onnxruntime_says_its_version_and_the_processor():
    def ask(*words):
        words = [os.path.join(ROOT, "scripts", "measure-onnxruntime"), "--identity", *words]
        return subprocess.run(words, capture_output=True, text=True, timeout=60)

    done = ask()
    assert done.returncode == 0 and f"-{onnxruntime.__version__}." in done.stdout, done
    assert len(done.stdout.splitlines()) > 1, "and the processor"
    assert ask("--rounds", "3").returncode == 2


def test_the_gain_at_the_worst_of_several_sizes(tmp_path):
    """The least gain at any sizes is reported, with the time of the original there. All else refers
    to the first sizes, at which places are timed: their shares of the whole, and which of them lose
    on other threads."""
    count, report = "data.count(b'BatchNormalization')", tmp_path / "r.json"
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"

    def run(name, small, *more):
        folder = tmp_path / name
        folder.mkdir()
        there = f"20 + {count} + 30 * (b'norm0' not in data)"
        first = f"100 * (20 + {count})"
        smaller = "'--input-shape=x:1,3,20,20' in sys.argv"
        times = f"{there} if '--threads=2' in sys.argv else {small} if {smaller}"
        own, _ = pretended(folder, target(folder, f"1e-3 * ({times} else {first})"))
        words = [own, model, out, "--dim", "batch=1", "--dim", "h=40,20", "--dim", "w=40,20"]
        words += ["--enable", "conv-batchnorm", "--measure-with", "pretended", "--report", report]
        words += ["--cost-db", folder / "costs", *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        left = [n.name for n in onnx.load(out).graph.node if n.op_type == "BatchNormalization"]
        return left, json.loads(report.read_text())

    alone = ["--also-threads", "0"]
    left, said = run("gains", f"(60 + {count})", *alone)
    assert not left and said["sizes"] == "h=20, w=20", said["sizes"]
    assert said["measured_seconds"] == pytest.approx({"before": 0.066, "after": 0.06}, rel=1e-3)
    left, said = run("nowhere", "60", *alone)
    assert not said["changed"] and said["measured_seconds"]["before"] == pytest.approx(0.06)
    assert "together 23.1 % of the model's time" in said["reason"], said["reason"]
    left, said = run("elsewhere", f"(60 + {count})", "--also-threads", "2")
    assert left == ["norm0"], left
    assert said["measured_seconds"] == pytest.approx({"before": 0.066, "after": 0.061}, rel=1e-3)


def test_a_command_of_ones_own_is_not_told_of_sizes(optimize, tmp_path):
    """So it times the result once, and no sizes are named."""
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    sizes = ["--dim", "batch=1", "--dim", "h=40,20", "--dim", "w=40,20"]
    costs = ["--cost-db", tmp_path / "costs", "--report", report]
    command = ["--measure-with", target(tmp_path, "1 + data.count(b'BatchNormalization')")]
    done = optimize(model, out, *sizes, *costs, *command, "-v")
    said = json.loads(report.read_text())
    assert done.returncode == 0 and said["changed"] and said["sizes"] is None, done.stderr
    assert "of the sizes given" not in done.stdout and "at h=20" not in done.stderr


ONCE = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]> g (float[N] x) => (float[N] y)
    { y = my.Once (x) } <domain: "my", opset_import: ["" : 17]> Once (a) => (b) { b = Exp (a) }"""


@pytest.mark.parametrize("small, sizes", [(1.5, "N=4"), (10, "N=8"), (1, None)])
def test_inlining_counts_by_its_least_gain_at_any_sizes(tmp_path, small, sizes):
    """Calls take twice as long with 8 elements, and `small` times as long with 4."""
    model, out, report = tmp_path / "m.onnx", tmp_path / "o.onnx", tmp_path / "r.json"
    onnx.save(onnx.parser.parse_model(ONCE), model)
    few = "'--input-shape=x:4' in sys.argv"
    seconds = f"1e-3 * (({small} if {few} else 2) if onnx.load(path).functions else 1)"
    own, _ = pretended(tmp_path, measuring(tmp_path / "target", seconds, setup="import onnx"))
    words = [own, model, out, "--dim", "N=8,4", "--measure-with", "pretended"]
    words += ["--cost-db", tmp_path / "costs", "--report", report]
    for more in ([], ["--frozen"]):
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        said = json.loads(report.read_text())
        assert said["sizes"] == sizes and said["changed"] == bool(sizes), done.stdout
        assert (out.read_bytes() == model.read_bytes()) == (not sizes)
        if sizes:
            least = {"before": min(small, 2) / 1000, "after": 0.001}
            assert said["measured_seconds"] == pytest.approx(least, rel=1e-3)


LOOP = """<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y)
    <int64 n = {3}, float two = {2}>
    { y = Loop (n, , x) <body = b (int64 i, bool c, float[N] s) => (bool d, float[N] t)
        { p = Pow (s, two)  q = Sin (p)  t = Cos (q)  d = Identity (c) }> }"""


def test_bodies_that_are_not_used_leave_no_sizes(tmp_path):
    """The body gains by itself, but not in the model."""
    model, out, report = tmp_path / "m.onnx", tmp_path / "o.onnx", tmp_path / "r.json"
    onnx.save(onnx.parser.parse_model(LOOP), model)
    seconds = "1 if b'Loop' in data else 1 + data.count(b'Pow')"
    own, _ = pretended(tmp_path, target(tmp_path, seconds))
    words = [own, model, out, "--dim", "N=8,4", "--measure-with", "pretended"]
    words += ["--cost-db", tmp_path / "costs", "--report", report]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert said["bodies"]["note"] and said["sizes"] is None, done.stdout
    assert "of the sizes given" not in done.stdout


def test_the_result_on_other_threads(tmp_path):
    """A result that is faster on one thread is also timed on more threads, for the table, the
    report and a warning if it is slower there. If this fails, nothing is reported and the result is
    still written. A frozen run takes these times from the cost file."""
    count, many = "data.count(b'BatchNormalization')", "'--threads=2' in sys.argv"
    times = f"1e-3 * ((9 - {count}) if {many} else (1 + {count}))"
    own, told = pretended(tmp_path, target(tmp_path, times))
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"
    words = [own, model, out, *SHAPE, "--enable", "conv-batchnorm", "--report", report]
    words += ["--cost-db", tmp_path / "costs", "--measure-with", "pretended"]

    def run(*more):
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert not any(n.op_type == "BatchNormalization" for n in onnx.load(out).graph.node)
        return done, json.loads(report.read_text())["also"]

    done, also = run("--also-threads", "2")
    after, before = (also["measured_seconds"][side] for side in ("after", "before"))
    assert also["threads"] == 2 and after > 1.05 * before, also
    assert re.search(r"on 2 threads +[0-9.]+ ms +[0-9.]+ ms +0\.\d\d times as fast", done.stdout)
    assert "give --threads 2 if the model will run on so many" in done.stderr, done.stderr
    asked = told.read_text()
    done, again = run("--also-threads", "2", "--frozen")
    assert again == also and told.read_text() == asked, "a frozen run asks nobody"
    assert run("--also-threads", "0")[1] is None
    assert run("--also-threads", "3")[1]["threads"] == 3
    assert "--threads=3" in told.read_text() and "--threads=3" not in asked

    (tmp_path / "fails").mkdir()
    words[0], told = pretended(
        tmp_path / "fails", target(tmp_path / "fails", f"0 if {many} else 1 + {count}")
    )
    words[words.index("--cost-db") + 1] = tmp_path / "fails" / "costs"
    done, also = run("--also-threads", "2")
    assert also is None and "on 2 threads" not in done.stdout + done.stderr
    assert "--threads=2" in told.read_text()


def test_places_that_lose_on_other_threads_are_left(tmp_path):
    """A result may be faster on one thread and slower on two. Then places that lose more there than
    they gain stay as they were. If what remains does not gain in sum, the file stays as it was."""
    count, many = "data.count(b'BatchNormalization')", "'--threads=2' in sys.argv"
    first = "(b'norm0' not in data)"  # whether the first block is rewritten
    model, out, report = net(tmp_path / "m.onnx"), tmp_path / "o.onnx", tmp_path / "r.json"

    def run(name, seconds, *more):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        own = folder / "tree" / "build" / "optimize-model"
        if not own.exists():
            pretended(folder, target(folder, f"1e-3 * ({seconds})"))
        words = [own, model, out, *SHAPE, "--enable", "conv-batchnorm", "--report", report]
        words += ["--cost-db", folder / "costs", "--measure-with", "pretended", *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        left = [n.name for n in onnx.load(out).graph.node if n.op_type == "BatchNormalization"]
        return left, json.loads(report.read_text()), (folder / "told").read_text(), done

    # Each new process that times on two threads finds a slower machine, but only ratios count.
    slower = f"(1 + open({str(tmp_path / 'some' / 'told')!r}).read().count('--threads=2'))"
    loses = f"{slower} * (20 + {count} + 30 * {first}) if {many} else (10 + {count})"
    left, said, told, _ = run("some", loses, "--also-threads", "2")
    assert left == ["norm0"], left
    after, before = (said["measured_seconds"][side] for side in ("after", "before"))
    assert round(after / before, 3) == round(11 / 16, 3), said["measured_seconds"]
    after, before = (said["also"]["measured_seconds"][side] for side in ("after", "before"))
    assert round(after / before, 3) == round(21 / 26, 3), said["also"]
    again = run("some", loses, "--also-threads", "2", "--frozen")
    assert again[0] == left and again[2] == told, "a frozen run asks nobody"
    assert all(again[1][key] == said[key] for key in ("measured_seconds", "also", "rules"))
    assert run("some", loses, "--also-threads", "0")[0] == []

    loses = f"(20 - {count}) if {many} else (30 + {count})"
    left, said, _, done = run("all", loses, "--also-threads", "2")
    assert len(left) == 6 and out.read_bytes() == model.read_bytes() and said["also"] is None
    assert "1.20 times as fast on 1 thread, but 0.70 times on 2" in done.stdout, done.stdout
    assert run("all", loses, "--also-threads", "0")[0] == []


def test_a_frozen_run_counts_the_threads_of_the_run_that_measured(tmp_path):
    """By default these are all cores, unless timing takes too long. Here rewriting loses there."""
    count = "data.count(b'BatchNormalization')"
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("the machine has a single core")
    loses = f"1e-3 * ((20 - {count}) if '--threads=' in str(sys.argv) else (30 + {count}))"
    own, _ = pretended(tmp_path, target(tmp_path, loses))
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    words = [own, model, out, *SHAPE, "--enable", "conv-batchnorm"]
    words += ["--cost-db", tmp_path / "costs", "--measure-with", "pretended"]

    def changed(*more, cores=cores):
        done = subprocess.run(
            [*words, *more],
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        assert done.returncode == 0, done.stderr
        return out.read_bytes() != model.read_bytes()

    assert not changed()
    assert not changed("--frozen", "--time-limit", "1e-6")
    assert not changed("--frozen", cores=cores[:1])
    assert changed(cores=cores[:1])
    assert changed("--frozen")


def test_what_grows_too_much_is_made_smaller(optimize, tmp_path):
    """Some of the places that gain, not all, are given up until the file is small enough."""
    model, out = net(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    command = target(tmp_path, "20 - data.count(b'Transpose')")
    words = ["--fix-dims", "--enable", "conv-rows-4-of-6", "--measure-with", command]
    count = {}
    for most in (100, 10000, 1000000):
        done = optimize(model, out, *SHAPE, *words, "--max-growth", most)
        assert done.returncode == 0, done.stderr
        assert out.stat().st_size <= model.stat().st_size + most
        count[most] = sum(n.op_type == "Transpose" for n in onnx.load(out).graph.node)
    assert count[100] == 0 and 1 <= count[10000] < count[1000000] == 5, count


def test_onnxruntime_as_the_target_by_name(optimize, costs, tmp_path):
    """The helper is found and gets the sizes of the run. Its times are in the cost file under its
    own name."""
    model, command = net(tmp_path / "m.onnx", blocks=1), [
        "--enable",
        "conv-batchnorm",
        "--measure-with",
        "onnxruntime",
        "--also-threads",
        "0",
    ]
    assert (
        optimize(
            model,
            tmp_path / "o.onnx",
            *SHAPE,
            *command,
            env=dict(os.environ, ISOMER_VENV=sys.prefix),
        ).returncode
        == 0
    )
    with sqlite3.connect(costs) as file:
        devices = {
            device
            for device, in file.execute("select device from cost where device like '%onnxruntime%'")
        }
    (device,) = devices - {"onnxruntime"}  # its own name has the version of the last run
    known = re.escape(f"'onnxruntime' '--input-shape={SHAPE[1]}'")
    assert re.fullmatch(known + " [0-9a-f]{12}", device), devices
    assert (
        optimize(
            model,
            tmp_path / "o.onnx",
            *SHAPE,
            *command,
            "--threads",
            2,
            env=dict(os.environ, ISOMER_VENV=sys.prefix),
        ).returncode
        == 0
    )
    with sqlite3.connect(costs) as file:
        devices = [device for device, in file.execute("select device from cost")]
    known = f"'onnxruntime' '--input-shape={SHAPE[1]}' '--threads=2' "
    assert any(device.startswith(known) for device in devices), devices
    done = optimize(
        net(tmp_path / "n.onnx", blocks=2),
        tmp_path / "none.onnx",
        *SHAPE,
        *command,
        env=dict(os.environ, ISOMER_VENV=os.devnull, PATH=os.devnull),
    )
    assert (
        done.returncode == 5
        and "--measure-with" in done.stderr
        and not (tmp_path / "none.onnx").exists()
    ), done.stderr


@pytest.mark.parametrize(
    "command, said",
    [
        ("exit 1", "ended"),
        ("cat", "neither"),
        (
            "sh -c 'while read p; do [ -z \"$p\" ] && echo || echo FAIL $p no; done'",
            "does not run: no",
        ),
    ],
)
def test_a_broken_target_is_the_environments_fault(optimize, tmp_path, command, said):
    done = optimize(net(tmp_path / "m.onnx"), tmp_path / "o.onnx", "--measure-with", command)
    assert (
        done.returncode == 5 and said in done.stderr and not (tmp_path / "o.onnx").exists()
    ), done.stderr


@pytest.mark.parametrize(
    "work, code, said",
    [
        ("kept.append(1)", 0, "[]"),
        ("os.kill(os.getpid(), 9)", -9, ""),
        ("os.abort()", -6, ""),
        ("1 / 0", 1, ""),
        ("sys.exit(7)", 1, ""),
    ],
)
def test_a_batch_has_a_process_of_its_own(work, code, said):
    """The memory that it leaves is freed, and the process that waits for it ends in the same
    way."""
    program = f"""
import os, sys
sys.path.insert(0, {os.path.join(ROOT, "scripts")!r})
from measure_onnxruntime import apart
kept = []
apart(lambda: {work})
print(kept)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (code, said), done.stderr
