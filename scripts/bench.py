"""Optimizes every model of scripts/models.tsv for the built-in runtime and for ONNX Runtime, times
each model before and after, and writes the table of test/bench/RESULTS.md.

The light models, which have no weights of their own, get random ones first. For each model,
optimize-model runs twice for the built-in runtime, the second time with a warm cost file, and once
with ONNX Runtime as the target. compare-onnx checks both results. run-model times the original and
the result in the built-in runtime, and the functions of measure_onnxruntime.py time them in ONNX
Runtime, there with a re-saved copy of the original as a control. The files take turns in random
order and the minimum counts. For ONNX Runtime, a second column gives the ratio by the medians of
the shares (see measure_onnxruntime.py), which suffer less where the speed of the machine changes.

All measurements are kept in build/bench/results.json, so a run that names models renews only their
rows. Exit status: 1 if something failed or an output disagrees.
"""

import datetime, filecmp, json, math, os, random, shlex, statistics, subprocess, sys, time
from packages import need, option_parser, positive
from project import BUILD, ROOT, feed_options, processor, read_json, shape_options

need("numpy", "onnx", "onnxruntime")
import measure_onnxruntime, numpy, onnx, onnxruntime  # noqa: E402
from markdown_page import page, table  # noqa: E402
from onnx_tools import (  # noqa: E402
    check_models,
    feed_of,
    least_seconds,
    model_table,
    models_named,
    prepared,
    session,
)

WORK = os.path.join(BUILD, "bench")
SCRIPTS = os.path.join(ROOT, "scripts")
COLUMNS = [
    ("model", "name"),
    ("nodes", "nodes"),
    ("own: nodes", "own.nodes"),
    ("before, ms", "own.before"),
    ("after, ms", "own.after"),
    ("ratio", "own.ratio"),
    ("search cold / warm, s", "own.search"),
    ("peak, MB", "own.peak"),
    ("ONNX Runtime: nodes", "ort.nodes"),
    ("before, ms", "ort.before"),
    ("after, ms", "ort.after"),
    ("ratio", "ort.ratio"),
    ("by medians", "ort.median_ratio"),
    ("control", "ort.control"),
    ("search, s", "ort.search"),
    ("peak, MB", "ort.peak"),
    ("agrees", "agrees"),
]


class Failed(Exception):
    """Raised if a program that must succeed fails, or a file does not run."""

    pass


def peak_of(pid):
    """The peak resident size of a process in MB. Not by rusage, which would include the size of
    this script, of which the process was a copy before exec."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return next(
                (int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0.0
            )
    except OSError:
        return 0.0


def call(command, limit=1800):
    """Runs a program for at most `limit` seconds and returns (seconds, peak MB, output). Raises
    Failed if its exit status is not 0."""
    os.makedirs(WORK, exist_ok=True)
    start, peak = time.monotonic(), 0.0
    with open(os.path.join(WORK, "log"), "w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT
        )
        while process.poll() is None:
            peak = max(peak, peak_of(process.pid))
            if time.monotonic() - start > limit:
                process.kill()
            time.sleep(0.01)
        log.seek(0)
        said = log.read().strip()
    if process.returncode:
        raise Failed(
            f"{os.path.basename(command[0])} ended with {process.returncode}: {said[-300:]}"
        )
    return time.monotonic() - start, peak, said


def optimize(row, source, target, extra):
    """Runs optimize-model: (seconds, peak MB)."""
    seconds, peak, _ = call(
        [os.path.join(BUILD, "optimize-model"), source, target]
        + shape_options(row)
        + ["-q"]
        + extra
    )
    return seconds, peak


def run_options(row, source):
    """The options of run-model for the feed of a model. Inputs for which the table gives values are
    written to files."""
    feed, words = feed_of(feed_options(row)), shape_options(row)
    for each in session(source).get_inputs() if feed.values else []:
        if each.name in feed.values:
            path = os.path.join(WORK, f"{row['name']}.{each.name}.npy")
            numpy.save(path, feed.one(each, 0))
            words += ["--input", f"{each.name}={path}"]
    return words


def own_times(row, paths, rounds):
    """The least seconds of each file in the built-in runtime. As in the search, every step uses the
    algorithm that is fastest according to the cost file."""
    options, best = run_options(row, paths[0]), [math.inf] * len(paths)
    for _ in range(rounds):
        for i in random.sample(range(len(paths)), len(paths)):
            _, _, said = call(
                [
                    os.path.join(BUILD, "run-model"),
                    paths[i],
                    "--repeat",
                    "3",
                    "--cost-db",
                    os.path.join(WORK, "costs.sqlite"),
                ]
                + options
            )
            best[i] = min(best[i], least_seconds(said))
    return best


def ort_times(row, paths, rounds):
    """Two lists of the seconds of each file in ONNX Runtime: by the minimum, and by the median of
    its shares of a round, times the fastest round."""
    files = measure_onnxruntime.measure(paths, feed_of(feed_options(row)), rounds)
    reasons = [f"{file.path}: {file.reason}" for file in files if file.reason]
    if reasons:
        raise Failed(" ".join(reasons))
    return measure_onnxruntime.seconds(files, "minimum"), measure_onnxruntime.seconds(
        files, "ratio"
    )


def agrees(row, source, target):
    """Whether compare-onnx accepts a result. If not, its output is shown."""
    command = [os.path.join(SCRIPTS, "compare-onnx"), source, target] + feed_options(row)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-2000:], file=sys.stderr)
    return done.returncode == 0


def nodes(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def files(name, target):
    """The paths of the result, of its report and of the cost file."""
    stem = os.path.join(WORK, f"{name}.{target}")
    return stem + ".onnx", stem + ".json", os.path.join(WORK, "costs.sqlite")


def own(row, name, source, rounds):
    """The values of the columns of the built-in runtime."""
    target, report, costs = files(name, "own")
    cold, _ = optimize(row, source, target, ["--cost-db", costs])
    warm, peak = optimize(row, source, target, ["--cost-db", costs, "--report", report])
    same_results = agrees(row, source, target)
    before, after = own_times(row, [source, target], rounds)
    return {
        "agrees": same_results,
        "same": filecmp.cmp(source, target, shallow=False),
        "nodes": nodes(target),
        "search": [cold, warm],
        "peak": peak,
        "before": before,
        "after": after,
        "ratio": before / after,
    }


def ort(row, name, source, rounds):
    """The values of the columns of ONNX Runtime."""
    (target, report, costs), control = files(name, "ort"), os.path.join(
        WORK, name + ".control.onnx"
    )
    command = shlex.join(
        [os.path.join(SCRIPTS, "measure-onnxruntime"), "--rounds", "7", "--statistic", "ratio"]
        + feed_options(row)
    )
    words = ["--cost-db", costs, "--measure-with", command, "--report", report]
    search, peak = optimize(row, source, target, words)
    same_results = agrees(row, source, target)
    onnx.save(onnx.load(source), control)
    (before, again, after), (before_median, _, after_median) = ort_times(
        row, [source, control, target], rounds
    )
    os.remove(control)
    return {
        "agrees": same_results,
        "same": filecmp.cmp(source, target, shallow=False),
        "nodes": nodes(target),
        "search": search,
        "peak": peak,
        "before": before,
        "after": after,
        "ratio": before / after,
        "median_ratio": before_median / after_median,
        "control": before / again,
    }


TARGETS = {"own": own, "ort": ort}


def bench(row, rounds, targets):
    """Measures a model for these targets and returns what results.json keeps about it."""
    name, source = row["name"][:-5], prepared(row, WORK)
    result = {"name": name, "nodes": nodes(source), "agrees": True, "failures": []}
    for key in targets:
        try:
            part = TARGETS[key](row, name, source, rounds)
        except (Failed, ValueError) as failure:
            result["failures"].append(f"{key}: {failure}")
            continue
        result["agrees"] &= part.pop("agrees")
        result[key] = part
    return result


def cell(result, key):
    """A cell of the table: the value of a result under a key such as "own.ratio", as text."""
    value, part = result, {}
    for word in key.split("."):
        part, value = value, value.get(word) if isinstance(value, dict) else None
    last = key.split(".")[-1]
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if last in ("before", "after"):
        return f"{value * 1e3:.3g}"
    if last == "search":
        return " / ".join(f"{v:.1f}" for v in (value if isinstance(value, list) else [value]))
    if last == "ratio" and part.get("same"):
        return f"= ({value:.2f})"
    if last in ("ratio", "median_ratio", "control"):
        return f"{value:.2f}"
    return f"{value:.0f}" if last == "peak" else str(value)


def mean(results, key):
    """The geometric mean of the ratios of a target, as text. A result that is the original counts
    as 1, whatever was timed."""
    parts = [r[key] for r in results if key in r]
    ratios = [1.0 if part.get("same") else part["ratio"] for part in parts]
    if not ratios:
        return "-"
    return f"{statistics.geometric_mean(ratios):.3f} over {len(ratios)} models"


def render(results, rounds):
    lines = [
        "# Benchmark",
        "",
        "Written by `make bench`; `scripts/bench.py` says how. *nodes* are those of the original."
        " The columns from *own: nodes* to the first *peak* are for the built-in runtime, those"
        " from *ONNX Runtime: nodes* to the second *peak* for ONNX Runtime; *nodes* there are those"
        " of the result. *search cold / warm* is the duration of optimize-model on its first run,"
        " which fills the cost file, and on a second one; *peak* is its peak memory. *by medians*"
        " is the ratio by medians instead of minima. *agrees* says whether compare-onnx accepts"
        " both results.",
        "",
        (
            f"{datetime.date.today()}, {processor()}, one thread, ONNX Runtime"
            f" {onnxruntime.__version__}, minimum of {rounds} interleaved rounds in"
            " random order. Ratios are before / after;"
            " control is the original against a re-saved copy of itself. `= (0.99)` marks a result"
            " that is the original, byte for byte: it counts as 1, and the ratio in brackets is"
            " noise. Light models have random weights."
        ),
        "",
    ]
    lines += table(
        [title for title, _ in COLUMNS],
        [[cell(result, key) for _, key in COLUMNS] for result in results],
    )
    lines += [
        "",
        (
            f"Geometric mean of the ratios: built-in runtime {mean(results, 'own')}, ONNX Runtime"
            f" {mean(results, 'ort')}."
        ),
    ]
    failures = [f"- {r['name']}: {failure}" for r in results for failure in r["failures"]]
    lines += ["", "Not measured:"] + failures if failures else []
    return page(line.replace(ROOT + os.sep, "") for line in lines)


def sections(path):
    """The sections ("## ..") that other scripts wrote into the file."""
    old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    at = old.find("\n## ")
    return old[at:] if at >= 0 else ""


def main():
    parser = option_parser(__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        help="only these models (names or prefixes); the rows of the others are kept",
    )
    parser.add_argument("--rounds", type=positive, default=21, help="rounds of a measurement")
    parser.add_argument(
        "--target",
        choices=list(TARGETS),
        action="append",
        help="only this target (may be repeated)",
    )
    parser.add_argument(
        "--output",
        default=os.path.join(ROOT, "test", "bench", "RESULTS.md"),
        help="the page to write",
    )
    options = parser.parse_args()
    check_models(options.names)
    os.makedirs(WORK, exist_ok=True)
    os.makedirs(os.path.dirname(options.output), exist_ok=True)
    kept_path = os.path.join(WORK, "results.json")
    kept, bad = read_json(kept_path, {}), False
    for row in models_named(options.names):
        name = row["name"][:-5]
        result = bench(row, options.rounds, options.target or TARGETS)
        bad |= bool(result["failures"]) or not result["agrees"]
        kept[name] = {**kept.get(name, {}), **result}
        print(
            "  ".join(f"{title} {cell(kept[name], key)}" for title, key in COLUMNS),
            *result["failures"],
            sep="\n  ",
            flush=True,
        )
        with open(kept_path, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)
        order = [r["name"][:-5] for r in model_table()]
        others = sections(options.output)
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(render([kept[n] for n in order if n in kept], options.rounds) + others)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
