"""Searches TENSAT's graphs (test/bench/tensat.py) and writes test/bench/TENSAT.md.

    bench-tensat [--seconds N] FOLDER [NAME ..]

The graphs are made in FOLDER, where the report of each search is kept, too. A search whose report
is there is not run again, and the page shows all graphs for which every search has a report. A
search that ends with an error is shown as failed. For the built-in runtime the searches have the
same time limit and share a cost file of the graph; for ONNX Runtime each search has its own. TASO's
rules are those of its published file that verify-rules proves.
"""

import datetime, json, os, subprocess, sys, time
import markdown_page
from packages import option_parser, positive
from project import BUILD, ROOT, processor, processor_seconds, read_json

PAGE = os.path.join(ROOT, "test", "bench", "TENSAT.md")
# Published results on a T4 GPU (Yang et al., 2021): speed-up in percent by TASO and by TENSAT, then
# the seconds that the search of each took.
PUBLISHED = {
    "nasrnn": (45.4, 68.9, 177.3, 0.5),
    "bert": (8.5, 9.2, 13.6, 1.4),
    "bert_complete": None,
    "resnext50": (5.5, 8.8, 25.3, 0.7),
    "nasnet_a": (1.9, 7.3, 1226, 10.6),
    "squeezenet": (6.7, 24.5, 16.4, 0.3),
    "vgg19": (8.9, 8.9, 8.9, 0.4),
    "inception_v3": (6.3, 10.0, 68.6, 5.1),
}
SEARCHES = {
    "backtracking": ["--search", "backtrack"],
    "e-graph": ["--search", "egraph"],
    "both": ["--search", "both"],
    "TASO's rules, both": ["--search", "both", "--rules", "TASO"],
    "ONNX Runtime": ["--measure-with", "onnxruntime"],
    "ONNX Runtime, TASO's rules": ["--measure-with", "onnxruntime", "--rules", "TASO"],
}


def taso_rules(folder):
    """Writes the rules of TASO's published file that are proved into a file, unless it is there,
    and returns its path."""
    path, proved = (os.path.join(folder, name) for name in ("taso.rules", "taso-proved.rules"))
    if os.path.exists(proved):
        return proved
    published = os.path.join(ROOT, "test", "cases", "taso", "graph_subst.pb")
    subprocess.run(  # exit status 1: some are refuted
        [os.path.join(BUILD, "verify-rules"), "-q", published, "-o", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    with open(path, encoding="utf-8") as file:
        head, *rules = file.read().split("\nrule ")
    with open(proved, "w", encoding="utf-8") as file:
        file.write("\nrule ".join([head] + [r for r in rules if "\nproved " in r]))
    return proved


def kept_path(folder, name, search):
    return os.path.join(folder, f"{name} {search}.json".replace("'", ""))


def kept_report(folder, name, search):
    return read_json(kept_path(folder, name, search))


def ask(folder, name, search, seconds):
    """The report of a search that may take so many seconds, with the time that it took by the clock
    (`wall`) and of the processor; kept in the folder."""
    kept = kept_path(folder, name, search)
    if not os.path.exists(kept):
        runtime = search.startswith("ONNX")
        costs = f"{name} {search}.sqlite" if runtime else f"{name}.sqlite"
        words = [os.path.join(BUILD, "optimize-model"), os.path.join(folder, name + ".onnx")]
        words += [os.path.join(folder, "result.onnx"), "-q", "--report", kept + ".new"]
        words += ["--cost-db", os.path.join(folder, costs), "--time-limit", str(seconds)]
        words += [taso_rules(folder) if w == "TASO" else w for w in SEARCHES[search]]
        start, before = time.monotonic(), processor_seconds()
        failed = subprocess.run(words, check=False).returncode
        used, report = processor_seconds() - before, {"failed": failed, "limit": seconds}
        if not failed:
            report |= read_json(kept + ".new")
            os.unlink(kept + ".new")
        report["wall"] = time.monotonic() - start
        report["processor"] = used
        with open(kept, "w", encoding="utf-8") as file:
            json.dump(report, file)
    return kept_report(folder, name, search)


def gain(report, measured):
    """The gain in percent, as the papers give it, of measured or predicted seconds; None if there
    is no time before or after."""
    cost = report["measured_seconds" if measured else "predicted_seconds"]
    if not cost["before"] or not cost["after"] or min(cost.values()) < 0:
        return None
    return 100 * (cost["before"] / cost["after"] - 1)


def percent(value):
    return "-" if value is None else f"{value:.1f}"


def gains(report, runtime):
    """The cell of a search: its gain in percent and its seconds. For the built-in runtime there are
    two gains, by the sum of the steps and by whole runs; for ONNX Runtime, only that by whole runs.
    """
    if report["failed"]:
        return f"failed with exit status {report['failed']}"
    run = percent(gain(report, True))
    sums = "" if runtime else percent(gain(report, False)) + " / "
    return f"{sums}{run} ({report['wall']:.0f} s)"


def complete(folder, name):
    return all(os.path.exists(kept_path(folder, name, search)) for search in SEARCHES)


def rows(folder, names):
    for name in names:
        row = [name, "-", "-"]
        if PUBLISHED[name]:
            taso, tensat, *seconds = PUBLISHED[name]
            row[1:] = [f"{taso} ({seconds[0]} s)", f"{tensat} ({seconds[1]} s)"]
        for search in SEARCHES:
            row.append(gains(kept_report(folder, name, search), search.startswith("ONNX")))
        yield row


def write(folder, names, versions):
    limits = {kept_report(folder, name, search)["limit"] for name in names for search in SEARCHES}
    lines = [
        "# TENSAT's graphs",
        "",
        "Written by `scripts/bench-tensat`: the seven graphs on which TENSAT compares itself with"
        " TASO (`test/bench/tensat.py`), with batch 1, and a BERT with everything that theirs"
        " leaves out.",
        "",
        "Gains are in percent. Those of TASO and TENSAT are as published: on a T4 GPU, by these"
        " programs' own sums of costs. Those of the built-in runtime are given by the sum of"
        " measured steps / by whole runs; those of ONNX Runtime by whole runs, timed in turn."
        " *both* is `--search both`. A"
        " gain below 3 % counts as none for us, and the file stays as it is; `-` means that nothing"
        " was found, so that nothing was timed.",
        "",
        "The seconds of the search are in brackets. For us they are those of the whole run, with"
        " reading, checking and the time of the target; the search itself had"
        f" {' or '.join(str(n) for n in sorted(limits))} s at most.",
        "",
        f"{datetime.date.today()}, {versions}.",
        "",
    ]
    header = ["graph", "TASO, published", "TENSAT, published"] + [
        s if s.startswith("ONNX") else f"built-in: {s}" for s in SEARCHES
    ]
    lines += markdown_page.table(header, rows(folder, names))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(markdown_page.page(lines))


def main():
    parser = option_parser(__doc__)
    parser.add_argument(
        "--seconds", type=positive, default=60, help="time limit of each search, in seconds"
    )
    parser.add_argument("folder", help="folder of the graphs and of the reports of searches")
    parser.add_argument(
        "name",
        nargs="*",
        metavar="NAME",
        choices=[*PUBLISHED, []],
        help=f"graphs to search: {', '.join(PUBLISHED)}; without any, all",
    )
    options = parser.parse_args()
    names = options.name or list(PUBLISHED)
    missing = [n for n in names if not os.path.exists(os.path.join(options.folder, n + ".onnx"))]
    if missing:
        maker = os.path.join(ROOT, "test", "bench", "tensat.py")
        subprocess.run([sys.executable, maker, options.folder, *missing], check=True)
    for name in names:
        for search in SEARCHES:
            report = ask(options.folder, name, search, options.seconds)
            said = gains(report, search.startswith("ONNX"))
            print(f"{name}, {search}: {said}", flush=True)
    import onnxruntime

    done = [name for name in PUBLISHED if complete(options.folder, name)]
    if not done:
        return 0
    versions = f"{processor()}, one thread, ONNX Runtime {onnxruntime.__version__}"
    load = f"load {os.getloadavg()[2]:.0f} on {os.cpu_count()} processors at the end"
    write(options.folder, done, f"{versions}, {load}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
