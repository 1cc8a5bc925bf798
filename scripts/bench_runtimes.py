"""Times whole models on the built-in runtime, on ONNX Runtime and, where it is installed, on
OpenVINO, and writes the table test/bench/RUNTIMES.md, with --threads N test/bench/RUNTIMES-N.md.

The models are the public ones of scripts/models.tsv (the light ones get random weights) and those
of the tables that ISOMER_ZOO names. Every runtime gets the original file and the same number of
threads, flushes denormals and computes in float32. The built-in runtime chooses its algorithms by a
cost file, which the first run fills. The runtimes take turns, and the least time of each counts,
since noise on a shared machine only adds to a time; on one thread, that is processor time, on more
the time by the clock.

ISOMER_ZOO names tables with colons between them. A line of a table has the name, the path and the
options of the feed, separated by tabs. With words, only models whose names contain one of them are
run; with words or --table, nothing is written.
"""

import datetime, math, os, statistics, sys
from bench import call  # first: it says what is missing
import onnxruntime
from bench_groups import measured, model_parser, parsed, profiled, run_model, write_page
from markdown_page import table
from onnx_tools import clock_of, feed_of, least_seconds, one_line, session
from packages import positive
from project import BUILD, ROOT, processor

PAGE = os.path.join(ROOT, "test/bench/RUNTIMES{}.md")
ROUNDS, MILLISECONDS = 5, 400.0  # rounds, time of each runtime in a round


class Ours:
    """The built-in runtime: run-model, in a new process for each round. The three runtimes have a
    `name` and round(repeat), which returns the least milliseconds of so many runs."""

    name = "ours"

    def __init__(self, path, words, threads):
        self.command = run_model(path, words, threads)
        self.start = call(self.command)[0]

    def round(self, repeat):
        _, _, text = call(self.command + ["--repeat", str(repeat)])
        return 1e3 * least_seconds(text)


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, path, feed, threads):
        self.session = session(path, threads)
        self.values, self.clock = feed.draw(self.session.get_inputs()), clock_of(threads)
        self.run()

    def run(self):
        self.session.run(None, self.values)

    def round(self, repeat):
        best = math.inf
        for _ in range(repeat):
            start = self.clock()
            self.run()
            best = min(best, self.clock() - start)
        return best * 1e3


class OpenVino(OnnxRuntime):
    name = "OpenVINO"

    def __init__(self, path, values, threads):
        import openvino

        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({name: list(array.shape) for name, array in values.items()})
        self.request = core.compile_model(
            model,
            "CPU",
            {
                "INFERENCE_NUM_THREADS": str(threads),
                "NUM_STREAMS": "1",
                "INFERENCE_PRECISION_HINT": "f32",
                "CPU_DENORMALS_OPTIMIZATION": True,
            },
        ).create_infer_request()
        self.values, self.clock = values, clock_of(threads)
        self.run()

    def run(self):
        self.request.infer(self.values)


def costliest(ours):
    """The two operators that take most of the time in the built-in runtime, with their shares."""
    shares = {}
    for step in profiled(ours.command)[2]:
        shares[step.operator] = shares.get(step.operator, 0.0) + step.share
    first = sorted(shares.items(), key=lambda each: -each[1])[:2]
    return ", ".join(f"{operator} {share:.0f} %" for operator, share in first)


def times_of(name, path, words, threads):
    """The row of a model: milliseconds by runtime (`times`), seconds of the first run in the
    built-in runtime (`start`), and why a runtime does not run the model (`missing`)."""
    feed = feed_of(words)
    row = {"name": name, "missing": {}}
    runners = [Ours(path, words, threads)]
    theirs = OnnxRuntime(path, feed, threads)
    runners.append(theirs)
    try:
        runners.append(OpenVino(path, theirs.values, threads))
    except ImportError:
        pass
    except Exception as error:  # what OpenVINO cannot run is a gap in its column
        row["missing"]["OpenVINO"] = one_line(error)
    row["start"] = runners[0].start
    times = {runner.name: runner.round(2) for runner in runners}
    for _ in range(ROUNDS):
        for runner in runners:
            repeat = max(2, min(1000, int(MILLISECONDS / times[runner.name])))
            times[runner.name] = min(times[runner.name], runner.round(repeat))
    row["times"] = times
    row["step"] = costliest(runners[0]) if times["ONNX Runtime"] < times["ours"] else ""
    return row


def ratio(row, name):
    other = row["times"].get(name)
    return other / row["times"]["ours"] if other else None


def mean(rows, name):
    """The geometric mean of another runtime's time divided by that of the built-in runtime."""
    ratios = [ratio(row, name) for row in rows if ratio(row, name)]
    return statistics.geometric_mean(ratios) if ratios else math.nan


def cell(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def section(title, rows, failed):
    rows = sorted(rows, key=lambda row: ratio(row, "ONNX Runtime"))
    lines = [
        f"## {title}",
        "",
        f"{len(rows)} models; geometric mean of ONNX Runtime's time over ours "
        f"{mean(rows, 'ONNX Runtime'):.2f}, of OpenVINO's {mean(rows, 'OpenVINO'):.2f}.",
        "",
    ]
    lines += table(
        ["model", "ours, ms", "ONNX Runtime", "OpenVINO", "ONNX Runtime / ours"]
        + ["OpenVINO / ours", "first run, s"],
        [
            [row["name"]]
            + [cell(row["times"].get(each), 2) for each in ("ours", "ONNX Runtime", "OpenVINO")]
            + [cell(ratio(row, each), 2) for each in ("ONNX Runtime", "OpenVINO")]
            + [f"{row['start']:.1f}"]
            for row in rows
        ],
    )
    lines += [""] + [f"- {name}: {why}" for name, why in failed]
    for row in rows:
        lines += [f"- {row['name']}, {name}: {why}" for name, why in row["missing"].items()]
    return lines + [""]


def versions():
    try:
        import openvino

        other = f"OpenVINO {openvino.__version__.split('-')[0]}"
    except ImportError:
        other = "OpenVINO not installed"
    own = call([os.path.join(BUILD, "run-model"), "--version"])[2].splitlines()[0]
    return f"{own}, ONNX Runtime {onnxruntime.__version__}, {other}"


def measure(name, path, feed, threads):
    row = times_of(name, path, feed, threads)
    print(
        f"{cell(ratio(row, 'ONNX Runtime'), 2):>6} {cell(ratio(row, 'OpenVINO'), 2):>6}  "
        + " ".join(f"{each} {value:.2f}" for each, value in row["times"].items())
        + f"  first {row['start']:.1f} s  {name}  {row['step']}",
        flush=True,
    )
    return row


def group(title, models, options):
    rows, failed = measured(models, lambda *model: measure(*model, options.threads))
    print(f"{title}: {mean(rows, 'ONNX Runtime'):.3f} {mean(rows, 'OpenVINO'):.3f}")
    return section(title, rows, failed), len(failed)


def main():
    parser = model_parser(__doc__)
    parser.add_argument("--threads", type=positive, default=1, help="threads of each runtime")
    options = parsed(parser)
    head = [
        "# Whole models on three runtimes",
        "",
        f"Written by `scripts/bench-runtimes` on {datetime.date.today()}: {versions()}; "
        f"{processor()}; threads: {options.threads}. {__doc__.split(chr(10) * 2)[1]} "
        "*first run* includes the choice of algorithms; `-`: does not run (reasons at the table).",
        "",
    ]
    path = PAGE.format(f"-{options.threads}" if options.threads > 1 else "")
    return write_page(path, head, options, lambda *models: group(*models, options))


if __name__ == "__main__":
    sys.exit(main())
