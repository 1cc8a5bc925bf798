"""When optimize-model refuses something, it ends with the documented exit status, names the place
in a message and writes no output."""

import json, os, re, resource, signal, subprocess, time
import numpy, onnx, onnx.parser, pytest
from onnx import helper, numpy_helper
from small_models import BUILD, PROGRAM, SHAPE, WRONG, forged, net, refused, save, tensor


@pytest.mark.parametrize(
    "pattern, replacement, said",
    [
        (r"proved class=\S+", "proved class=exact", "verdict"),
        (r"proved [^\n]*\n", "", "not proved"),
        (r"digest=\w{4}", "digest=0000", "verdict"),
        (r"defs=\w{4}", "defs=0000", "verdict"),
        (r"where=\[[^]]*\]", "where=[0 >= 1]", "verdict"),
        (r"%r = mul %mean %f", "%r = mul %var %f", "verdict"),
    ],
)
def test_a_tampered_verdict_is_refused(optimize, tmp_path, rules, pattern, replacement, said):
    text = rules.read_text()
    start = text.index("rule conv-batchnorm")
    changed = re.sub(pattern, replacement, text[start:], count=1)
    assert changed != text[start:]
    (tmp_path / "t.rules").write_text(text[:start] + changed)
    done = optimize(
        net(tmp_path / "m.onnx"),
        tmp_path / "o.onnx",
        "--rules",
        tmp_path / "t.rules",
        library=False,
    )
    refused(done, 1, "t.rules:", "rule conv-batchnorm", said, out=tmp_path / "o.onnx")


def test_a_changed_definition_voids_the_proof(optimize, tmp_path):
    """The verdict is intact, but it was given for other definitions of the operators."""
    out = tmp_path / "o.onnx"
    done = optimize(
        net(tmp_path / "m.onnx"),
        out,
        "--rules",
        forged(tmp_path, WRONG, "0123456789abcdef" * 2),
        library=False,
    )
    refused(done, 1, "forged.rules:1", "rule wrong-batchnorm", "definition", out=out)


def test_a_log_that_does_not_fit_is_refused(optimize, costly, tmp_path):
    model, log, out = net(tmp_path / "m.onnx"), tmp_path / "p.log", tmp_path / "o.onnx"
    assert optimize(model, out, *SHAPE, *costly, "--proof-log", log).returncode == 0
    written = out.read_bytes()
    again = optimize(model, out, "--replay", log)
    assert again.returncode == 0 and out.read_bytes() == written, again.stderr
    out.unlink()
    text = log.read_text()
    other = net(tmp_path / "other.onnx", blocks=5)
    refused(optimize(other, out, "--replay", log), 1, "another model", out=out)
    changes = [
        (r"roots (\d+)", lambda m: f"roots {int(m[1]) + 1}", 1, "match"),
        (r"inputs (\d+)", lambda m: f"inputs {int(m[1]) + 1}", 1, "match"),
        (r"roots (\d+)", lambda m: "roots 99999", 1, "a value that the graph does not have"),
        (r"inputs (\d+)", lambda m: "inputs 99999", 1, "a value that the graph does not have"),
        (r"apply [\w-]+ \w{4}", lambda m: m[0][:-4] + "0000", 1, "do not load"),
        (r"rules \w{4}", lambda m: "rules 0000", 1, "other rules"),
        (r"end\n", lambda m: "", 3, "expected round, apply or end"),
    ]
    for pattern, replacement, code, said in changes:
        log.write_text(re.sub(pattern, replacement, text, count=1))
        refused(optimize(model, out, "--replay", log), code, said, out=out)


def test_a_replay_checks_on_the_data_of_its_log(optimize, costly, tmp_path):
    """The log names the seed; one without a seed is refused. --seed chooses other data."""
    model, log, out = net(tmp_path / "m.onnx"), tmp_path / "p.log", tmp_path / "o.onnx"

    def differences(*options):
        report = tmp_path / "r.json"
        done = optimize(model, out, "--report", report, *options)
        assert done.returncode == 0, done.stderr
        return json.loads(report.read_text())["check"]

    usual = differences(*SHAPE, *costly)
    first = differences(*SHAPE, *costly, "--seed", 7, "--proof-log", log)
    assert "seed 7\n" in log.read_text() and first != usual
    assert differences(*SHAPE, "--replay", log) == first
    assert differences(*SHAPE, "--replay", log, "--seed", 0) == usual
    log.write_text(log.read_text().replace("seed 7\n", ""))
    refused(optimize(model, out, *SHAPE, "--replay", log), 3, "expected seed NUMBER")


SELF = """rule sub-self
  %x : F [n, m]
from
  %y = sub %x %x
  out %y
to
  %y = fill value=0 shape=[n, m]
  out %y
"""


TANH = """c = Pow(x, three)  e = Mul(c, cubed)  f = Add(x, e)  g = Mul(f, root)
    t = Tanh(g)  p = Add(t, one)  h = Mul(x, half)  y = Mul(h, p)"""


@pytest.mark.parametrize(
    "option, value, body",
    [
        ("--allow", "drops", "s = Sub(x, x)  y = Relu(s)"),
        ("--domain", "com.microsoft", TANH),
        ("--fold-limit", "0", "h = Add(five, four)  s = Mul(x, h)  t = Relu(s)  y = Relu(t)"),
    ],
    ids=["allow", "domain", "fold-limit"],
)
def test_a_log_has_the_options_that_decide_what_it_means(optimize, tmp_path, option, value, body):
    """Which rules are allowed, and how values are numbered. They are not given once more."""
    path, log, out = tmp_path / "m.onnx", tmp_path / "p.log", tmp_path / "o.onnx"
    text = f"""m (float[4, 5] x) => (float[4, 5] y)
        <float half = {{0.5}}, float one = {{1}}, float three = {{3}}, float cubed = {{0.044715}},
         float root = {{0.7978845608}}, float[5] five = {{1, 2, 3, 4, 5}},
         float[4, 1] four = {{1, 2, 3, 4}}> {{ {body} }}"""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    onnx.save(model, path)
    rules = {"library": option != "--allow"}
    words = [path, out, "--cost", "nodes"]
    if option == "--allow":
        (tmp_path / "self.rules").write_text(SELF)
        proved, verify = tmp_path / "proved.rules", os.path.join(BUILD, "verify-rules")
        subprocess.run([verify, tmp_path / "self.rules", "-o", proved, "-q"], check=True)
        words += ["--rules", proved]
    words += ["--proof-log", log]
    assert optimize(*words, **rules).returncode == 0
    usual = re.findall("apply .*", log.read_text())
    done = optimize(*words, option, value, **rules)
    assert done.returncode == 0, done.stderr
    assert re.findall("apply .*", log.read_text()) not in ([], usual), "the option matters"
    written, words = out.read_bytes(), words[:-2]
    out.unlink()
    done = optimize(*words, "--replay", log, **rules)
    assert done.returncode == 0 and out.read_bytes() == written, done.stderr
    out.unlink()
    done = optimize(*words, "--replay", log, option, value, **rules)
    refused(done, 2, option, "a replay takes it from the proof log", out=out)


def test_truncated_files_are_refused(optimize, tmp_path):
    whole, out = net(tmp_path / "m.onnx", blocks=2).read_bytes(), tmp_path / "o.onnx"
    for n in (1, 17, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "t.onnx").write_bytes(whole[:n])
        refused(optimize(tmp_path / "t.onnx", out), 3, "t.onnx", out=out)
    model = onnx.load(tmp_path / "m.onnx")
    helper.set_model_props(model, {"key": "a text is the last thing in the file"})
    (tmp_path / "t.onnx").write_bytes(model.SerializeToString()[:-1])
    refused(optimize(tmp_path / "t.onnx", out), 3, "t.onnx", "truncated", out=out)


def relu(path, inputs=("x",), more=(), weights=None, dims=(1, 4)):
    kind = "Add" if len(inputs) > 1 else "Relu"
    nodes = [helper.make_node(kind, list(inputs), ["y"], "first"), *more]
    return save(path, nodes, [tensor("x", dims)], [tensor("y", None)], weights or {})


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
    relu(model, inputs=("x", "w"), weights={"w": big})
    refused(optimize(model, out), 3, "b.onnx", "too large", out=out)
    relu(model, dims=(1, 1 << 61))
    refused(optimize(model, out), 3, "b.onnx", "too large", out=out)
    big.dims[:] = [-4]
    relu(model, inputs=("x", "w"), weights={"w": big})
    refused(optimize(model, out), 3, "b.onnx", out=out)


@pytest.mark.parametrize("option", ["", "--report", "--html", "--dot", "--proof-log"])
def test_what_cannot_be_written_is_refused_before_the_search(optimize, tmp_path, option):
    """The target is not started."""
    model, started, lost = net(tmp_path / "m.onnx"), tmp_path / "started", tmp_path / "no" / "file"
    files = [tmp_path / "o.onnx", option, lost] if option else [lost]
    done = optimize(model, *files, *SHAPE, "--measure-with", f"touch {started}; cat > /dev/null")
    refused(done, 5, str(lost), "cannot write")
    assert not started.exists() and not (tmp_path / "o.onnx").exists()


def test_a_full_disk_leaves_nothing(optimize, tmp_path):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    model, out = net(tmp_path / "m.onnx"), tmp_path / "out" / "o.onnx"
    out.parent.mkdir()
    done = optimize(
        model, out, "--rules", "none", "--cost", "flops", library=False, preexec_fn=small
    )
    refused(done, 5, "o.onnx", out=out)
    assert os.listdir(out.parent) == []


@pytest.mark.parametrize("last", [signal.SIGINT, signal.SIGTERM])
def test_a_third_signal_kills(tmp_path, last):
    """Here a run waits for a log, and does not notice the first two."""
    model, log = net(tmp_path / "m.onnx"), tmp_path / "log"
    os.mkfifo(log)
    process = subprocess.Popen([PROGRAM, model, tmp_path / "o.onnx", "--replay", log])
    with open(log, "w"):
        for number in signal.SIGINT, signal.SIGTERM:
            process.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
        process.send_signal(last)
        try:
            assert process.wait(timeout=20) == -last
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(tmp_path, rules, number):
    out, temporary = tmp_path / "o.onnx", tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [
            PROGRAM,
            net(tmp_path / "m.onnx"),
            out,
            "--rules",
            rules,
            "--cost-db",
            tmp_path / "c.sqlite",
            "--measure-with",
            "sleep 60",
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, TMPDIR=str(temporary)),
    )
    for _ in range(200):
        if any(temporary.iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in said and not out.exists(), said
    assert not any(temporary.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.onnx"],
        ["a", "b", "c"],
        ["a", "b", "--steps", "x"],
        ["a", "b", "--cost", "guess"],
        ["a", "b", "--threads", "0"],
        ["--no-such"],
    ],
)
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
    refused(
        optimize(
            model,
            out,
            *SHAPE,
            "--max-growth",
            "0",
            "--cost",
            "flops",
            "--backend",
            "no-such-backend",
        ),
        5,
        "no-such-backend",
        out=out,
    )
