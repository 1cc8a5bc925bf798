"""Optimizes models of your own for ONNX Runtime, and confirms each gain in another process.

    bench-unseen run --program build/optimize-model --into FOLDER [--table FILE] [MODEL.onnx ..]
    bench-unseen table BEFORE AFTER

`run` optimizes each model with an empty cost file. Then it times the original, a copy of it and the
result in turn; the gain is the median over the rounds of the original's time divided by the
result's. The result and a line of results.json are written into FOLDER. Models that are in
results.json already are skipped. Exit status: 1 if a model failed, 2 if a file is missing.
`table` prints a comparison of two such folders, made by two versions of the program, as Markdown.

`MODEL.onnx:seq=64,ids=0..99` gives the sizes that a model leaves open and the range of its
integers. So does a table as zoo/zoo.py writes it, with lines of name, file and options, separated
by tabs.
"""

import json, os, shutil, subprocess, statistics, sys, tempfile, time
from packages import fail, need, option_parser, table_file
from project import BUILD, processor_seconds, read_json

need("numpy", "onnxruntime")
from onnx_tools import feed_of, tables, times_as_fast  # noqa: E402
from measure_onnxruntime import measure_in_new_process  # noqa: E402

ROUNDS = 21
GAIN = 1.03  # the least ratio that counts as a gain


def confirm(paths, words):
    """How many times as fast as the first file each other file is, by the median over the rounds,
    and the least seconds of each file."""
    first, *others = visits = measure_in_new_process(paths, feed_of(words), ROUNDS)
    ratios = [statistics.median(a / b for a, b in zip(first, other)) for other in others]
    return ratios, [min(each) for each in visits]


def optimize(program, path, out, feed, folder):
    """Runs optimize-model: (seconds by the clock, processor seconds, report)."""
    report = os.path.join(folder, "report.json")
    words = [program, path, out, "--measure-with", "onnxruntime", "--quiet", "--report", report]
    words += ["--cost-db", os.path.join(folder, "costs.sqlite")] + feed
    start, used = time.time(), processor_seconds()
    subprocess.run(words, check=True)
    return time.time() - start, processor_seconds() - used, read_json(report)


def one(program, path, feed, into):
    """Optimizes a model, confirms its gain, and returns its line of results.json."""
    name = name_of(path)
    out = os.path.join(into, name + ".onnx")
    with tempfile.TemporaryDirectory() as folder:
        seconds, used, report = optimize(program, path, out, feed, folder)
        row = {"name": name, "feed": " ".join(feed)}
        row |= {"seconds": round(seconds, 1), "processor": round(used, 1)}
        row["rules"] = sorted(rule["name"] for rule in report["rules"])
        with open(path, "rb") as a, open(out, "rb") as b:
            row["same"] = a.read() == b.read()
        if not row["same"]:
            copy = os.path.join(folder, "copy.onnx")
            shutil.copy(path, copy)
            (row["control"], row["ratio"]), least = confirm([path, copy, out], feed)
            row["before"], row["after"] = least[0], least[2]
            row["claimed"] = times_as_fast(report)  # None: the search timed no whole model
    return row


def rows_of(folder):
    """The lines of results.json in a folder, by the name of the model."""
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {row["name"]: row for row in map(json.loads, file)}


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def given(options):
    """(path, feed options) of the models that the arguments name, then of those in the table."""
    for argument in options.models:
        path, _, sizes = argument.partition(":")
        words = [w for w in sizes.split(",") if w]
        yield path, [f"--{'input' if '..' in w else 'dim'}={w}" for w in words]
    for _, path, words in tables(options.table) if options.table else ():
        yield path, words


def run(options):
    models = list(given(options))
    missing = [path for path, _ in models if not os.path.isfile(path)]
    if missing or not models:
        fail(2, f"{missing[0]}: there is no such file" if missing else "no model is given")
    os.makedirs(options.into, exist_ok=True)
    done, failed = rows_of(options.into), False
    for path, feed in models:
        name = name_of(path)
        if name in done:
            continue
        try:
            row = one(options.program, path, feed, options.into)
        except (subprocess.CalledProcessError, RuntimeError, OSError) as error:
            row = {"name": name, "failed": str(error)}
        print(json.dumps(row), flush=True)
        with open(os.path.join(options.into, "results.json"), "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        failed |= "failed" in row
    return 1 if failed else 0


def ratio(row):
    return row.get("ratio", 1.0) if not row.get("failed") else 1.0


def shown(row):
    """The ratio of a model as text; `=` if the result is the original."""
    return "failed" if row.get("failed") else "=" if row["same"] else f"{row['ratio']:.2f}"


def table(options):
    for folder in (options.before, options.after):
        if not os.path.isfile(os.path.join(folder, "results.json")):
            fail(2, f"{folder}: holds no results.json; bench-unseen run --into FOLDER makes one")
    before, after = rows_of(options.before), rows_of(options.after)
    names = sorted((n for n in after if n in before), key=lambda n: (-ratio(after[n]), n))
    print(
        "| model | before | after | ms | ms after | control | search before, s | after, s "
        "| processor after, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        a, b = before[name], after[name]
        times = "- | - | -"
        if "ratio" in b:
            times = f"{b['before'] * 1e3:.3g} | {b['after'] * 1e3:.3g} | {b['control']:.2f}"
        took = " | ".join(
            f"{row[key]:.0f}" if key in row else "-"
            for row, key in ((a, "seconds"), (b, "seconds"), (b, "processor"))
        )
        print(f"| {name} | {shown(a)} | {shown(b)} | {times} | {took} |")
    if names:
        means = [
            statistics.geometric_mean(ratio(rows[n]) for n in names) for rows in (before, after)
        ]
        above = [sum(ratio(rows[n]) > GAIN for n in names) for rows in (before, after)]
        print()
        print(
            f"Geometric mean over {len(names)} models: {means[0]:.3f} before, {means[1]:.3f} after;"
            f" above {GAIN}: {above[0]} before, {above[1]} after."
        )


def main():
    parser = option_parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    words = commands.add_parser("run", help="optimizes and confirms")
    words.add_argument(
        "--program",
        default=os.path.join(BUILD, "optimize-model"),
        help="the optimize-model to run; default: that of the build folder",
    )
    words.add_argument(
        "--into", required=True, metavar="FOLDER", help="where results and results.json are written"
    )
    words.add_argument("--table", metavar="FILE", type=table_file, help="a table of models")
    words.add_argument(
        "models",
        nargs="*",
        metavar="MODEL.onnx[:NAME=N,NAME=LOW..HIGH,..]",
        help="a model, with the sizes that it leaves open and the ranges of its integer inputs",
    )
    words = commands.add_parser("table", help="compares two folders")
    words.add_argument("before", help="folder of results of the earlier version")
    words.add_argument("after", help="folder of results of the later version")
    options = parser.parse_args()
    return run(options) if options.command == "run" else table(options)


if __name__ == "__main__":
    sys.exit(main())
