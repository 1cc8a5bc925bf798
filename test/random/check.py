"""Sends a model with its options through optimize-model and checks everything that must hold
afterwards. Each finding has a kind and details. The kinds in KNOWN are not failures of ours but
deviations of ONNX Runtime and of ONNX's reference."""

import collections, glob, json, os, shutil
import numpy, onnx
from onnx.reference import ReferenceEvaluator
import models, runtime
from compare import DRAWS, MANY, Open, fallback, moved, spread, truth, unlike
from reference import NOISE, Double, Unable, stated
from server import BUILDS, EAGER, Server, program

Finding = collections.namedtuple("Finding", "kind what")
KNOWN = {"onnxruntime", "reference", "unrunnable", "doubtful", "stuck"}
CODES = {0}  # exit statuses that are not failures
ROUNDING_OF_LENT = 1.0  # share of the tolerance that counts if nodes were computed in float


class Bench:
    """What a worker keeps between models: a folder, and a server for each build and file of rules.
    `backend`: a plug-in that runs the original instead of the CPU's back end; `tamper`: a function
    that changes every result. If it returns False, the result is not checked."""

    def __init__(self, folder, backend=(), tamper=None):
        from test_nodes import Tool
        import pathlib

        os.makedirs(folder, exist_ok=True)
        self.folder, self.servers, self.tamper = folder, {}, tamper
        self.tool = Tool(pathlib.Path(folder), *backend)

    def server(self, build, rules):
        key = build, rules
        if key not in self.servers:
            self.servers[key] = Server(build, rules)
        return self.servers[key]

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        for server in self.servers.values():
            server.close()
        if self.tool.process:
            self.tool.process.stdin.close()
            self.tool.process.wait()


class Checked:
    """The findings about one model, and the data that the counters need."""

    def __init__(self):
        self.findings, self.rules, self.classes, self.changed = [], {}, set(), False
        self.seconds = 0.0

    def found(self, kind, what):
        self.findings.append(Finding(kind, what))

    @property
    def failures(self):
        return [f for f in self.findings if f.kind not in KNOWN]


def store(case, path):
    """Writes the model of a case, with external weights if the case says so."""
    for old in glob.glob(path + "*"):
        shutil.rmtree(old) if os.path.isdir(old) else os.unlink(old)
    if case.external:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        onnx.save(
            model,
            path,
            save_as_external_data=True,
            location=os.path.basename(path) + ".data",
            size_threshold=100,
        )
    else:
        with open(path, "wb") as file:
            file.write(case.model.SerializeToString())


def words(options, case, into, out, bench):
    """The arguments of optimize-model for a case."""
    line = ["-q", into, out, "--report", bench.path("report.json"), *options.words]
    if options.eager:
        line += ["--measure-with", f"exec '{EAGER}'"]
    if options.eager or "measured" in options.words:
        line += ["--cost-db", bench.path("costs")]
    if options.sizes:
        line += [w for name, pair in case.sizes.items() for w in ("--dim", f"{name}={pair[0]}")]
    return line


def check(case, options, bench, seed=0):
    """Does everything for one model and returns a Checked."""
    done, into, out = Checked(), bench.path("in.onnx"), bench.path("out.onnx")
    store(case, into)
    for old in glob.glob(out + "*"):
        shutil.rmtree(old) if os.path.isdir(old) else os.unlink(old)
    for name in ("costs", "report.json"):
        if os.path.exists(bench.path(name)):
            os.unlink(bench.path(name))
    if not optimized(case, options, bench, into, out, done):
        return done
    if bench.tamper and not bench.tamper(into, out, done):
        return done
    results(case, options, bench, into, out, done, seed)
    if options.replay and not done.failures and "--save-as-external-data" not in options.words:
        replayed(case, options, bench, into, out, done)
    return done


def optimized(case, options, bench, into, out, done):
    """Runs optimize-model. Returns whether there is a result to compare."""
    messages = bench.path("messages")
    server = bench.server(options.build, options.rules)
    line = words(options, case, into, out, bench)
    if options.replay:
        line += ["--proof-log", bench.path("log")]
    code, done.seconds, _ = server.run(line, messages)
    with open(messages, errors="replace") as file:
        text = file.read()
    if "Sanitizer" in text or "runtime error:" in text:
        done.found("sanitizer", first_lines(text))
    elif code < 0 or code > 130:
        done.found("crash", f"signal {-code}: {text.strip()[:600]}")
    elif code not in CODES:
        done.found(f"exit {code}", text.strip()[:600])
    if code:
        return False
    if not os.path.exists(out):
        done.found("output", "exit 0 without an output")
        return False
    with open(bench.path("report.json"), encoding="utf-8") as file:
        report = json.load(file)
    done.rules = {r["name"]: r["count"] for r in report["rules"]}
    done.classes = set().union(*(r["class"].split("+") for r in report["rules"]))
    done.changed = report["changed"]
    return True


def first_lines(text):
    """The first lines of a sanitizer's report in a text, or of the text."""
    lines = text.splitlines()
    at = next((k for k, l in enumerate(lines) if "ERROR" in l or "runtime error" in l), 0)
    return "\n".join(lines[at : at + 14])


def replayed(case, options, bench, into, out, done):
    """Checks that replaying the proof log gives the same bytes."""
    again = bench.path("again.onnx")
    line = ["-q", into, again, "--replay", bench.path("log")]
    if options.sizes:
        line += [w for name, pair in case.sizes.items() for w in ("--dim", f"{name}={pair[0]}")]
    for k, word in enumerate(options.words):
        if word == "--rules":
            line += [word, options.words[k + 1]]
    server = bench.server(options.build, options.rules)
    code, _, _ = server.run(line, bench.path("messages"))
    with open(bench.path("messages"), errors="replace") as file:
        text = file.read().strip()[:400]
    if code:
        done.found("replay", f"exit {code}: {text}")
    elif read(again) != read(out):
        done.found("replay", "other bytes")
    if os.path.exists(again):
        os.unlink(again)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- results


class Runs:
    """A model in ONNX Runtime, without ("off") and with ("on") its optimizations. A call returns
    the list of outputs."""

    def __init__(self, path):
        self.path, self.sessions = path, {}

    def __call__(self, feed, level="off"):
        if level not in self.sessions:
            self.sessions[level] = runtime.session(self.path, level)
        return list(runtime.run(self.sessions[level], feed).values())


def results(case, options, bench, into, out, done, seed):
    """Checks that a result is valid and has the interface of the original, and compares what they
    compute."""
    from roundtrip import interface_changes

    original, result = Runs(into), Runs(out)
    if done.changed:
        try:
            onnx.checker.check_model(into, full_check=True)
        except Exception:
            pass
        else:
            try:
                onnx.checker.check_model(out, full_check=True)
            except Exception as error:
                done.found("invalid", str(error)[:500])
        changes = interface_changes(into, out)
        if changes:
            done.found("interface", ", ".join(changes))
    exact = {"before": doubled(into, done), "after": doubled(out, done) if done.changed else None}
    try:
        compare_runs(case, options, bench, seed, (original, result), exact, done)
    except Open as why:
        done.found("reference", str(why))


def compare_runs(case, options, bench, seed, runs, exact, done):
    """Compares the original with the result, and with run-model on the original, for all draws of
    inputs."""
    last = None
    for feed, odd in feeds(case, options, done.classes, seed):
        promise = promised(done.classes, case.model.graph) if odd else None
        compare_all(feed, promise, *runs, exact, done)
        if done.failures:
            return
        if not odd and (options.values != "tiny" or last is None):
            last = feed  # squares of tiny numbers are denormals, which our kernels flush to 0
    executed(case, bench, last, runs[0], exact, done)


# Operators that may give a finite number where an input is NaN or infinite.
HIDING = {"ArgMax", "ArgMin", "Cast", "Clip", "Compress", "Equal", "Greater", "GreaterOrEqual"}
HIDING |= {
    "Hardmax",
    "If",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Loop",
    "Max",
    "MaxPool",
    "Min",
}
HIDING |= {"NonMaxSuppression", "NonZero", "Not", "OneHot", "QuantizeLinear", "ReduceMax"}
HIDING |= {
    "ReduceMin",
    "Relu",
    "Scan",
    "Shrink",
    "Sign",
    "ThresholdedRelu",
    "TopK",
    "Unique",
    "Where",
}


def hides(graph):
    """Whether a graph may turn NaN or infinity into a finite number."""
    return any(node.op_type in HIDING for node in graph.node)


def padded_alone(graph):
    """Whether a window may lie entirely in padding, so that it has no element."""
    for node in graph.node:
        given = {a.name: list(a.ints) for a in node.attribute}
        pads = given.get("pads", [])
        kernel = given.get("kernel_shape") or [1] * len(pads)
        if any(p >= k for p, k in zip(pads, 2 * kernel)):
            return True
    return False


def promised(classes, graph):
    """What the classes of the applied rules promise if inputs are NaN or infinite
    (verifier/README.md), as `unlike` of compare.py takes it."""
    if (
        classes & {"spreads", "drops", "overflows", "defines", "jumps"}
        or not classes <= {"exact"}
        and padded_alone(graph)
    ):
        return ""
    return "same" if classes <= {"exact"} else "kept"


def doubled(path, done):
    """The model for evaluation in double, or None if that is not possible."""
    try:
        return Double(onnx.load(path), runtime.lend)
    except Unable as error:
        done.found("reference", str(error))
        return None


def feeds(case, options, classes, seed):
    """Yields (inputs, whether NaN or infinity may occur) for two draws: ordinary values at the
    first sizes, and values of the kind that the options say. NaN and infinity are given only if a
    class promises something about them. Large values may become infinite in the model."""
    yield models.feed(case, seed + 1), False
    values, graph = options.values, case.model.graph
    lost = values == "large" and bool(classes & {"defines", "drops", "overflows"})
    if hides(graph) and (lost or values == "nan" and not classes <= {"exact"}):
        return  # a value that is NaN may become a finite number, a different one in each graph
    odd = lost or values == "nan"
    if values == "nan" and classes <= {"exact"}:
        values = "infinite"
    yield models.feed(case, seed + 2, 1 if case.sizes else 0, values), odd


def evaluated(model, feed, done, draws=DRAWS):
    """Evaluates a model in double: (outputs, tolerances), or None if that is not possible."""
    if model is None:
        return None
    try:
        return truth(model, feed, draws)
    except Open:
        raise
    except Exception as error:  # the reference fails in many ways
        done.found("reference", f"{type(error).__name__} {str(error)[:200]}")
        return None


def new_constants(before, after):
    """The names of the constants of the result that the original lacks, so that their roundings are
    those of the optimizer."""
    if before is None or after is None:
        return set()
    old = {(v.array.shape, v.array.tobytes()) for v in before.constants.values()}
    return {
        name for name, v in after.constants.items() if (v.array.shape, v.array.tobytes()) not in old
    }


def compare_all(feed, promise, original, result, exact, done):
    """Compares the original with the result, in ONNX Runtime and in double."""
    real = evaluated(exact["before"], feed, done)
    if exact["before"] and exact["before"].lost and not done.classes <= {"exact"}:
        promise = promise or ""  # only `exact` promises anything about intermediate infinities
        if hides(exact["before"].model.graph):
            return  # they may have become different finite numbers
    try:
        want = original(feed)
    except Exception as error:
        done.found("unrunnable", str(error)[:200])
        if original.sessions:  # ONNX Runtime loads the model, but refuses the data
            return
        want = None
    if not done.changed:
        return
    tolerances = real[1] if real else fallback(want) if want else None
    mine = finely(feed, promise, exact, real, done) if real else None
    if want is None:
        if mine:
            done.found("double", mine)
        return
    if real and not all(a.shape == b.shape for a, b in zip(want, real[0])):
        done.found("reference", "other sizes than ONNX Runtime's")
        if mine == "":
            return  # the graphs are equal in double; this may be a reduction over an empty axis
        pairs = zip(want, real[0], tolerances, fallback(want))
        tolerances = [t if a.shape == b.shape else f for a, b, t, f in pairs]
        real, mine = None, None
    loose = None if promise is None else ""
    faults = {
        level: against(feed, want, result, level, tolerances, loose) for level in ("off", "on")
    }
    if not any(faults.values()):
        if mine and not deviates(real, want, tolerances, loose):
            done.found("double", mine)
        return
    if not faults["off"] and "refuses" in faults["on"]:
        done.found("onnxruntime", f"its optimizations break the result: {faults['on'][:200]}")
        return
    for level, what in faults.items():
        if what:
            judge(feed, level, what, want, original, real, mine, tolerances, done)


def against(feed, want, result, level, tolerances, promise=None):
    """How a model in ONNX Runtime differs from the wanted outputs, or an empty string."""
    try:
        have = result(feed, level)
    except Exception as error:
        return f"ONNX Runtime refuses: {str(error)[:300]}"
    for k, (a, b, t) in enumerate(zip(want, have, tolerances)):
        if a.dtype != b.dtype:
            return f"output {k} is of {b.dtype}, was of {a.dtype}"
        why = unlike(a, b, t, promise)
        if why:
            return f"output {k}: {why}"
    return ""


def deviates(real, have, tolerances, promise=None):
    """How ONNX Runtime differs from the reference in double, or an empty string."""
    pairs = zip(real[0], have, tolerances)
    return next((why for a, b, t in pairs if (why := unlike(a, b, t, promise))), "")


def judge(feed, level, what, want, original, real, mine, tolerances, done):
    """Decides whose fault it is that the result differs in ONNX Runtime, and notes it. If both
    graphs are equal in double, ONNX Runtime computes one of them differently."""
    if real and mine == "" and "refuses" not in what:
        done.found("onnxruntime", f"{level}: {what}")
        return
    if level == "on" and "refuses" not in what:
        other = against(feed, want, original, "on", tolerances)
        if other:
            done.found("onnxruntime", f"its optimizations change the original: {other}")
            return
    done.found(
        f"onnxruntime-{level}", f"{what}; in double: {mine or ('same' if real else 'unknown')}"
    )


def shaken_constants(before, after, feed, have):
    """How far the outputs of `after` move if the constants that `before` lacks are rounded
    differently."""
    told = set().union(*map(stated, before.model.graph.node))
    return moved(after, feed, have, only=new_constants(before, after), stated=told)


def finely(feed, promise, exact, real, done):
    """Compares the result with the original in double, where only the roundings of new constants
    count. Returns how they differ, "" if they do not, or None if the result cannot be evaluated."""
    before, after = exact["before"], exact["after"]
    if after is None:
        return None
    try:
        have = after.run(feed)
        shaken = shaken_constants(before, after, feed, have)
        if "rounds" in done.classes:  # the constant that was rounded may be the original's
            other = moved(before, feed, real[0], only=set(before.constants), stated=set())
            shaken = [numpy.maximum(a, b) for a, b in zip(shaken, other)]
    except Exception as error:
        done.found("reference", f"result: {type(error).__name__} {str(error)[:200]}")
        return None
    lent = after.lent or before.lent
    allowed = [
        spread(numpy.asarray(d, "f8")) + t * (ROUNDING_OF_LENT if lent else 1e-6)
        for d, t in zip(shaken, real[1])
    ]
    why = unlike_any(real[0], have, allowed, promise)
    if not why or "sizes" in why:
        return why
    # Ceil and ArgMax may depend even on the roundings of doubles.
    for model, outputs in ((before, real[0]), (after, have)):
        fine = moved(model, feed, outputs, noise=NOISE * 2.0**-24)
        allowed = [a + spread(d) for a, d in zip(allowed, fine)]
    return unlike_any(real[0], have, allowed, promise)


def unlike_any(want, have, allowed, promise):
    """How a list of outputs differs from the wanted ones, or an empty string."""
    for k, (a, b, t) in enumerate(zip(want, have, allowed)):
        why = unlike(a, b, t, promise)
        if why:
            return f"output {k}: {why}"
    return ""


def plainly(model, feed):
    """The outputs of ONNX's reference in the model's own types, or None if it fails. They are
    needed for operators that the evaluation in double leaves to ONNX Runtime."""
    try:
        return ReferenceEvaluator(model).run(None, dict(feed))
    except Exception:  # the reference fails in many ways
        return None


def executed(case, bench, feed, original, exact, done):
    """Compares the built-in runtime on the original with ONNX Runtime, or with the reference."""
    if feed is None or case.external or any(i.default and i.name not in feed for i in case.inputs):
        return
    data = [feed.get(i.name) for i in case.model.graph.input]
    ask = collections.namedtuple("Ask", "model data_sets")(case.model, [(data, [])])
    verdict, have = bench.tool.ask(ask)
    done.executed = verdict
    if verdict == "cannot":
        done.found("unrunnable", f"run-model: {have[:200]}")
        return
    if verdict != "done":
        done.found("run-model", str(have)[:400])
        return
    try:
        want = original(feed)
    except Exception:
        return
    real = evaluated(exact["before"], feed, done)
    if exact["before"] and exact["before"].lost:  # with NaN, comparisons may decide either way
        return
    same = real and all(a.shape == b.shape for a, b in zip(want, real[0]))
    if real and not same and all(a.shape == b.shape for a, b in zip(have, real[0])):
        done.found("onnxruntime", "run-model has the sizes of the reference")
        return
    tolerances = real[1] if same else fallback(want)
    if same and any(unlike(a, b, t) for a, b, t in zip(want, have, tolerances)):
        real = evaluated(exact["before"], feed, done, MANY) or real
        tolerances = real[1]
    spoken = None
    if exact["before"] and exact["before"].lent and any(map(unlike, want, have, tolerances)):
        spoken = plainly(case.model, feed)
    for k, (a, b, t) in enumerate(zip(want, have, tolerances)):
        why = unlike(a, b, t)
        if why and spoken and not unlike(spoken[k], b, t):
            done.found("onnxruntime", f"run-model agrees with the ONNX reference: {why}")
        elif why and same and not unlike(real[0][k], b, t):
            done.found("onnxruntime", f"run-model agrees with the reference: {why}")
        elif why and same and deviates(([real[0][k]],), [a], [t]):
            done.found(
                "doubtful", f"output {k}: executor, ONNX Runtime and reference differ: {why}"
            )
        elif why:
            done.found("run-model", f"output {k}: {why}")
