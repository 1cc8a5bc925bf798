"""Times single operators on the built-in runtime and on ONNX Runtime, on one thread each, and
writes the table test/bench/OPERATORS.md. The operators on which the built-in runtime is slowest
relative to ONNX Runtime come first.

Each case of bench_operator_cases.py becomes a model of one node. The two runtimes take turns. Of
each round the median counts, and of the rounds the least, since noise on a shared machine mostly
adds to a time. (On one thread that is processor time. In a virtual machine its clock sometimes
shows some microseconds too few for a call, so the least time of all calls would be wrong.) The
outputs are compared, too. With words, only the cases whose family or name contains one of them are
run, and nothing is written; nor is it with --threads other than 1. With --random N, so many random
cases are run instead (bench_operator_random.py), slowest first at the end. Exit status: 1 if a case
failed.
"""

import datetime, os, platform, re, statistics, subprocess, sys, tempfile
from packages import check_words, need, option_parser, positive
from project import BUILD, ROOT

need("numpy", "onnx", "onnxruntime")
import numpy, onnx, onnxruntime  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from bench_operator_cases import CASES  # noqa: E402
from bench_operator_random import random_cases  # noqa: E402
from compare_onnx import RUNTIME  # noqa: E402
from markdown_page import page, table  # noqa: E402
from onnx_tools import clock_of, median_seconds, one_line, session  # noqa: E402

TYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "u8": "uint8", "i8": "int8"}
TYPES |= {"i32": "int32", "i64": "int64", "bool": "bool"}
ROUNDS, SECONDS = 4, 0.06  # rounds of each runtime, seconds of calls in a round


def drawn(text, seed):
    """The array that the text of an input describes (see bench_operator_cases.py)."""
    if re.fullmatch(r"[-\d,]+", text):
        return numpy.array([int(n) for n in text.split(",")], "int64")
    kind, sizes, what = (text.split() + ["-1..1"])[:3]
    shape = [] if sizes == "-" else [int(n) for n in sizes.split(",")]
    dtype, random = numpy.dtype(TYPES[kind]), numpy.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if ".." not in what:
        values = [float(n) for n in what.split(",")]
        return numpy.array(values if shape else values[0], dtype)
    low, high = (float(n) for n in what.split(".."))
    if dtype.kind == "f":
        return random.uniform(low, high, shape).astype(dtype)
    return random.integers(int(low), int(high) + 1, shape).astype(dtype)


def written(case, folder):
    """Writes the model of a case, and each of its inputs as NAME.npy, into a folder. Returns the
    path of the model and the inputs by name."""
    constants, feed, names = [], {}, []
    for k, text in enumerate(case.inputs):
        names.append("" if text == "-" else f"x{k}")
        if text == "-":
            continue
        array = drawn(text.lstrip("="), k)
        if text.startswith("="):
            constants.append(numpy_helper.from_array(array, f"x{k}"))
        else:
            feed[f"x{k}"] = array
    outputs = [f"y{k}" for k in range(case.outputs)]
    domain, _, op = case.op.rpartition(".")
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, domain=domain, **case.attrs)],
        "one",
        [
            helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for k, v in feed.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        constants,
    )
    opsets = [("", case.opset), RUNTIME, ("ai.onnx.ml", 3)]
    opsets = [helper.make_opsetid(*opset) for opset in opsets]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    for name, array in feed.items():
        numpy.save(os.path.join(folder, name + ".npy"), array)
    return path, feed


def own(path, feed, repeat, threads):
    """The median of the seconds of `repeat` runs by run-model, which also writes the outputs beside
    the model."""
    folder = os.path.dirname(path)
    command = [os.path.join(BUILD, "run-model"), path, "--output-dir", folder, "--threads", threads]
    for name in feed:
        command += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    done = subprocess.run(
        command + ["--repeat", str(repeat)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(one_line(done.stderr))
    return max(median_seconds(done.stdout), 1e-7)


def theirs(runner, feed, names, repeat, clock):
    """The median of the seconds of `repeat` calls of a session of ONNX Runtime. Inputs and outputs
    are bound, so that a call does not copy them."""
    binding = runner.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for name in names:
        binding.bind_output(name)
    seconds = []
    for _ in range(repeat):
        start = clock()
        runner.run_with_iobinding(binding)
        seconds.append(clock() - start)
    return statistics.median(seconds)


def difference(path, expected, names):
    """The greatest difference of an output's element, relative to the greatest element of that
    output; infinite if a shape differs."""
    worst = 0.0
    for name, want in zip(names, expected):
        have = numpy.load(os.path.join(os.path.dirname(path), name + ".npy"))
        if have.shape != want.shape:
            return float("inf")
        a, b = have.astype("float64"), want.astype("float64")
        top = max(numpy.abs(b).max(initial=0), 1e-9)
        worst = max(worst, float(numpy.abs(a - b).max(initial=0) / top))
    return worst


def measured(case, folder, threads):
    """Times a case: (seconds of the built-in runtime, seconds of ONNX Runtime, greatest relative
    difference of the outputs)."""
    path, feed = written(case, folder)
    runner, clock = session(path, int(threads)), clock_of(int(threads))
    names = [f"y{k}" for k in range(case.outputs)]
    expected = runner.run(names, feed)
    ours = own(path, feed, 3, threads)
    wrong = difference(path, expected, names)
    repeat = max(3, min(2000, int(SECONDS / max(ours, 1e-7))))
    ort = theirs(runner, feed, names, 5, clock)
    ort_repeat = max(5, min(5000, int(SECONDS / ort)))
    for _ in range(ROUNDS):
        ort = min(ort, theirs(runner, feed, names, ort_repeat, clock))
        ours = min(ours, own(path, feed, repeat, threads))
    return ours, ort, wrong


def rows_of(cases, threads):
    """Measures cases: a list of (case, seconds, ONNX Runtime's seconds, difference), and a list of
    (case, reason) for those that failed."""
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            try:
                ours, ort, wrong = measured(case, folder, threads)
            except Exception as error:  # the page says which cases failed in either runtime
                failed.append((case, str(error)))
                print(f"{case.family}: {case.name}: {error}", file=sys.stderr)
                continue
            rows.append((case, ours, ort, wrong))
            print(
                f"{ort / ours:7.3f}  {ours * 1e6:10.1f} {ort * 1e6:10.1f}  {wrong:.1e}"
                f"  {case.family}: {case.name}",
                flush=True,
            )
    return rows, failed


def back_end():
    """The processor and the libraries of the built-in back end, as run-model names them."""
    command = [os.path.join(BUILD, "run-model"), "--version"]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"^ *(back end cpu .*)", text, re.M)[1]


def text_of(rows, failed):
    rows = sorted(rows, key=lambda row: row[2] / row[1])
    lines = [
        "# Single operators",
        "",
        "Written by `scripts/bench-operators`, which times models of one node on one thread, in "
        f"turn with ONNX Runtime {onnxruntime.__version__}, on {platform.machine()}; the least "
        "of the medians of several rounds counts. Speed is ONNX Runtime's time over ours. "
        "A speed below 1 means that ONNX Runtime is faster. "
        "Difference is the greatest difference between the results, relative to the greatest "
        "number. Calls from Python cost ONNX Runtime some microseconds.",
        "",
        f"{datetime.date.today()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} when "
        f"it ended; {back_end()}.",
        "",
    ]
    lines += table(
        ["family", "case", "ours, us", "ONNX Runtime, us", "speed", "difference"],
        [
            [c.family, c.name, f"{a * 1e6:.1f}", f"{b * 1e6:.1f}", f"{b / a:.2f}", f"{d:.0e}"]
            for c, a, b, d in rows
        ],
    )
    lines += [""] + [f"- Not run: {c.family}, {c.name}: {why}" for c, why in failed]
    return page(lines)


def run_random(cases, threads):
    """Runs cases and prints those that are slower than in ONNX Runtime. Cases that ONNX Runtime
    refuses are not failures."""
    rows, failed = rows_of(cases, threads)
    slower = sorted((ort / ours, c.name) for c, ours, ort, _ in rows if ort < 0.9 * ours)
    mean = statistics.geometric_mean([ort / ours for _, ours, ort, _ in rows] or [1])
    print(f"{len(rows)} cases, {len(failed)} failed; geometric mean of the speed {mean:.2f}")
    print("below 0.9:")
    for ratio, name in slower:
        print(f"{ratio:7.3f}  {name}")
    return 1 if any("ONNXRuntimeError" not in why for _, why in failed) else 0


def main():
    parser = option_parser(__doc__)
    parser.add_argument("words", nargs="*", help="only cases with these families or names")
    parser.add_argument("--threads", type=positive, default=1, help="threads of each runtime")
    parser.add_argument("--random", type=positive, help="run so many random cases instead")
    parser.add_argument("--seed", type=int, default=1, help="of the random cases")
    options = parser.parse_args()
    if options.random:
        return run_random(random_cases(options.random, options.seed), str(options.threads))
    families = dict.fromkeys(c.family for c in CASES)
    check_words(options.words, [f"{c.family}: {c.name}" for c in CASES], listed=families)
    chosen = [
        c
        for c in CASES
        if not options.words or any(w in f"{c.family}: {c.name}" for w in options.words)
    ]
    rows, failed = rows_of(chosen, str(options.threads))
    if not options.words and options.threads == 1:
        with open(os.path.join(ROOT, "test/bench/OPERATORS.md"), "w", encoding="utf-8") as file:
            file.write(text_of(rows, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
