"""Shared by the tests that read models and write them again (test_roundtrip, test_anew,
test_negated)."""

import glob, os, subprocess, sys
import numpy, onnx, onnx.parser
from onnx import numpy_helper
from test_nodes import RANDOM

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
TOOL = os.path.join(
    ROOT, os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "onnx_roundtrip"
)
TESTDATA = "/usr/share/libonnx-testdata/data"


def real_models():
    cache = os.environ.get("ISOMER_MODELS") or os.path.join(ROOT, ".cache", "models")
    return sorted(glob.glob(os.path.join(cache, "*.onnx")))


def write_all(models, folder, *options):
    """Writes models again: for each, (path of the result, exit status, message)."""
    pairs = [(model, os.path.join(folder, f"{k}.onnx")) for k, model in enumerate(models)]
    done = subprocess.run(
        [TOOL, *options],
        input="".join(f"{a} {b}\n" for a, b in pairs),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert (
        done.returncode == 0
    ), f"exit {done.returncode} after {done.stdout[-300:]} {done.stderr[-2000:]}"
    answers = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [answer[1] for answer in answers] == models
    return {model: (out, int(answer[0]), answer[2]) for (model, out), answer in zip(pairs, answers)}


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- written anew: import and export together preserve the meaning


def run_onnxruntime(path, feed):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(
        None, feed
    )


def run_reference(path, feed):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(path).run(None, feed)


def run_any(path, feed):
    try:
        return run_onnxruntime(path, feed)
    except Exception:
        return run_reference(path, feed)


# Two units in the last place, since ONNX Runtime rounds at other places when it has one more
# output.
HALF = 2e-3


def differs(have, want, rtol, atol):
    """The reason why two values, or lists of values, are not the same, or an empty string."""
    if isinstance(have, (list, tuple)) or isinstance(want, (list, tuple)):
        if (
            not isinstance(have, (list, tuple))
            or not isinstance(want, (list, tuple))
            or len(have) != len(want)
        ):
            return f"{type(have).__name__} instead of {type(want).__name__}, or of another length"
        return next(filter(None, (differs(a, b, rtol, atol) for a, b in zip(have, want))), "")
    if isinstance(have, dict) or isinstance(want, dict):
        return differs(
            [list(have.keys()), list(have.values())],
            [list(want.keys()), list(want.values())],
            rtol,
            atol,
        )
    if have is None or want is None:
        return "" if have is want else "nothing instead of something"
    a, b = numpy.asarray(have), numpy.asarray(want)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
    if a.dtype.kind in "fc":
        rtol = max(rtol, HALF) if a.dtype == numpy.float16 else rtol
        return (
            ""
            if numpy.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
            else f"differs by {numpy.nanmax(numpy.abs(a.astype('c16') - b.astype('c16')))}"
        )
    if a.dtype.kind == "V" or a.dtype.name not in numpy.sctypeDict:  # a type of ml_dtypes
        return (
            ""
            if numpy.allclose(a.astype("f8"), b.astype("f8"), rtol=rtol, atol=atol, equal_nan=True)
            else "differs"
        )
    return "" if (a.astype(object) == b.astype(object)).all() else "differs"


def own_cases():
    """Cases that ONNX's node tests leave out: (name, graph as text, inputs, expected output)."""
    a, b = numpy.arange(6, dtype="f4").reshape(2, 3), numpy.arange(3, dtype="f4").reshape(1, 3)
    c = numpy.arange(3, dtype="f4").reshape(3, 1)
    slicing = "<int64[1] s = {-1}, int64[1] e = {-100}, int64[1] k = {1}, int64[1] t = {-1}>"
    yield (
        "slice_to_the_begin",
        f"(float[2,3] x) => (float[2,3] y) {slicing} {{ y = Slice(x, s, e, k, t) }}",
        [a],
        a[:, ::-1],
    )
    yield (
        "slice_backwards_by_two",
        f"(float[2,3] x) => (float[2,2] y) {slicing.replace('t = {-1}', 't = {-2}')}"
        " { y = Slice(x, s, e, k, t) }",
        [a],
        a[:, ::-2],
    )
    yield (
        "both_are_stretched",
        "(float[1,1,3] x, float[3,1] z) => (float[1,3,3] y) { y = Add(x, z) }",
        [
            b.reshape(1, 1, 3),
            c,
        ],
        b.reshape(1, 1, 3) + c,
    )
    yield (
        "stretched_before",
        "(float[1,3] x, float[1,3] z) => (float[2,3] y) <int64[2] s = {2, 3}>"
        " { e = Expand(x, s) y = Add(e, z) }",
        [b, b],
        numpy.broadcast_to(b + b, (2, 3)),
    )
    yield (
        "per_channel",
        "(float[1,2,3] x, float[1,2,1] z) => (float[1,2,3] y) { y = Mul(x, z) }",
        [
            a.reshape(1, 2, 3),
            a[:1, :2].reshape(1, 2, 1),
        ],
        a.reshape(1, 2, 3) * a[:1, :2].reshape(1, 2, 1),
    )
    yield (
        "vector_times_matrix",
        "(float[2] x, float[2,3] z) => (float[3] y) { y = MatMul(x, z) }",
        [
            a[0, :2],
            a,
        ],
        a[0, :2] @ a,
    )
    yield (
        "symbolic_reshape",
        "(float[n,m,3] x) => (float[p,q] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
        [a.reshape(1, 2, 3)],
        a.reshape(1, 6),
    )


def node_cases():
    """(name, model, feed, expected outputs, rtol, atol) of our own cases and of ONNX's node tests,
    except those with sequences and optionals."""
    for name, text, inputs, want in own_cases():
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {name} {text}')
        yield (
            name,
            model,
            {info.name: value for info, value in zip(model.graph.input, inputs)},
            [want],
            1e-6,
            0,
        )
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        inputs, outputs = case.data_sets[0]
        if all(isinstance(value, numpy.ndarray) for value in [*inputs, *outputs]):
            feed = {info.name: value for info, value in zip(case.model.graph.input, inputs)}
            yield case.name, case.model, feed, outputs, case.rtol, case.atol


def frozen(model, feed):
    """The model with all inputs except the first as initializers, and the rest of the feed. If the
    only input is a short list of integers, it becomes an initializer, too."""
    first = next(iter(feed), None)
    alone = len(feed) == 1 and feed[first].dtype.kind in "iu" and feed[first].size <= 8
    fixed = [name for name in feed if name and (name != first or alone)]
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.initializer.extend(numpy_helper.from_array(feed[name], name) for name in fixed)
    left = [info for info in copy.graph.input if info.name not in fixed or copy.ir_version < 4]
    del copy.graph.input[:]
    copy.graph.input.extend(left)
    return copy, {name: value for name, value in feed.items() if name not in fixed}


def check_node_cases(tmp_path, constant, option, least):
    """Checks that all node cases compute the same when they are written anew with this option of
    the tool, and that at least so many files changed."""
    cases, changed, wrong, beyond = {}, 0, [], []  # beyond: even the original does not run here
    for name, model, *rest in (
        case for case in node_cases() if not any(word in case[0] for word in RANDOM)
    ):
        if constant:
            model, rest[0] = frozen(model, rest[0])
        path = str(tmp_path / f"{name}.onnx")
        onnx.save(model, path)
        cases[path] = rest
    for path, (out, code, message) in write_all(list(cases), tmp_path, option).items():
        name, (feed, want, rtol, atol) = os.path.basename(path), cases[path]
        if code != 0:
            wrong.append(f"{name}: {message}")
            continue
        if read(out) == read(path):
            continue
        changed += 1
        try:
            onnx.checker.check_model(out)
            why = differs(run_any(out, feed), want, max(rtol, 1e-3), max(atol, 1e-5))
        except Exception as error:
            why = str(error)[:300]
        if why:
            try:
                original = differs(run_any(path, feed), want, max(rtol, 1e-3), max(atol, 1e-5))
            except Exception as error:
                original = f"cannot run: {error}"
            (wrong if not original else beyond).append(f"{name}: {why}")
    print("\n".join(beyond[:200]))
    print(f"{changed} of {len(cases)} cases were written anew")
    assert not wrong, f"{len(wrong)} wrong of {changed}\n" + "\n".join(wrong[:60])
    assert changed > least


def check_real_models(tmp_path, option):
    """Checks the same for the real models. Returns False if there are none here."""
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import onnx_tools, project

    rows = {row["name"]: row for row in onnx_tools.model_table()}
    models = [model for model in real_models() if os.path.basename(model) in rows]
    if not models:
        return False
    wrong = []
    for model, (out, code, message) in write_all(models, tmp_path, option).items():
        command = [
            sys.executable,
            os.path.join(ROOT, "scripts", "compare_onnx.py"),
            model,
            out,
            "--draws",
            "1",
        ]
        done = subprocess.run(
            command + project.feed_options(rows[os.path.basename(model)]),
            capture_output=True,
            text=True,
            timeout=200,
        )
        if code or done.returncode:
            wrong.append(f"{model}: {message}\n{done.stdout[-600:]}{done.stderr[-600:]}")
    assert not wrong, "\n".join(wrong)
    return True
