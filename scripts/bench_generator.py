"""Measures generate-rules and writes the section on the rule generator in test/bench/RESULTS.md;
the other sections stay as they are.

Each run is a process of its own. Its processor time (user and system) counts, since other programs
may run at the same time; the time by the clock is given beside it. All measurements are kept in
build/bench/generator.json, so naming runs (SET:SIZE:JOBS) renews only their rows. Size 5 of the set
taso runs only if it is named. --compare NAME=COMMAND measures a shell command, which runs another
program, in the same way.
"""

import datetime, json, os, platform, re, subprocess, sys, tempfile, time
from markdown_page import page, put_section, table
from packages import fail, option_parser
from project import BUILD, ROOT, processor_seconds, read_json

KEPT = os.path.join(BUILD, "bench", "generator.json")
TITLE = "## Rule generator"
RUNS = ["taso:3:1", "taso:4:1", "taso:4:2", "attention:3:1", "cnn:3:1", "elementwise:3:1"]
# TASO's own generator on a machine of two cores: size, graphs, graphs that it keeps, seconds by the
# clock, peak MB.
TASO = [
    (2, "58,176", "27", "0.35", "34"),
    (3, "16,405,411", "619", "110", "7,100"),
    (4, "about 4.6 billion", "-", "-", "over 18,000: out of memory"),
]


def timed(command):
    """Runs a command that must succeed: its processor time and time by the clock, both in seconds,
    and its peak memory in MB."""
    before, start = processor_seconds(), time.monotonic()
    process = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        fail(1, f"{command} ended with {process.returncode}")
    cpu = processor_seconds() - before
    return {"cpu": cpu, "wall": time.monotonic() - start, "peak": used.ru_maxrss / 1024}


def check_runs(runs):
    """Ends with exit status 2 if one of the runs is not of the form SET:SIZE:JOBS, SET being one of
    generator/sets."""
    sets = sorted(path.name[:-4] for path in os.scandir(os.path.join(ROOT, "generator", "sets")))
    for run in runs:
        if not re.fullmatch(rf"({'|'.join(map(re.escape, sets))}):[1-5]:[1-9]\d*", run):
            fail(2, f"{run}: expected SET:SIZE:JOBS, with SET one of {' '.join(sets)}")


def measure(run):
    name, size, jobs = run.split(":")
    with tempfile.TemporaryDirectory() as folder:
        figures = os.path.join(folder, "json")
        took = timed(
            [
                os.path.join(BUILD, "generate-rules"),
                "--ops",
                f"generator/sets/{name}.set",
                "--size",
                size,
                "--jobs",
                jobs,
                "-q",
                "-o",
                os.path.join(folder, "rules"),
                "--json",
                figures,
            ]
        )
        return {**read_json(figures), **took}


def number(v, digits=0):
    return f"{v:,.{digits}f}"


def row(run, r):
    name, size, jobs = run.split(":")
    terms, classes = (sum(level[k] for level in r["levels"]) for k in ("terms", "classes"))
    last = r["levels"][-1]
    parts = {
        "terms": last["terms_seconds"],
        "classes": last["classes_seconds"],
        "rules": (
            r["seconds"]
            - sum(level["terms_seconds"] + level["classes_seconds"] for level in r["levels"])
        ),
    }
    shares = ", ".join(
        f"{k} {100 * v / r['seconds']:.0f} %" for k, v in sorted(parts.items(), key=lambda x: -x[1])
    )
    return [
        name,
        size,
        jobs,
        number(terms),
        number(classes),
        number(r["raw"]),
        number(r["candidates"]),
        number(r["rules"]),
        number(r["coincidences"]),
        number(r["cpu"], 1),
        number(r["wall"], 1),
        number(r["peak"]),
        number(1e6 * r["cpu"] / terms, 1),
        number(r["peak"] * 2**20 / classes),
        shares,
    ]


def growth(kept):
    """Sentences that say how much terms, classes, time and memory grow from each size of the set
    taso to the next, with one job."""
    sizes = sorted(
        int(run.split(":")[1]) for run in kept if run.startswith("taso:") and run.endswith(":1")
    )
    for a, b in zip(sizes, sizes[1:]):
        x, y = kept[f"taso:{a}:1"], kept[f"taso:{b}:1"]
        count = lambda r, k: sum(level[k] for level in r["levels"])
        yield (
            f"From size {a} to {b}: terms times {count(y, 'terms') / count(x, 'terms'):.0f},"
            f" classes times {count(y, 'classes') / count(x, 'classes'):.0f}, CPU seconds times"
            f" {y['cpu'] / x['cpu']:.0f}, memory times {y['peak'] / x['peak']:.1f}."
        )


def render(kept, others, note):
    rows = [row(run, kept[run]) for run in sorted(kept)]
    header = [
        "set",
        "size",
        "jobs",
        "terms",
        "classes",
        "raw pairs",
        "not reduced",
        "written",
        "apart at the second stage",
        "CPU s",
        "wall s",
        "peak MB",
        "µs per term",
        "bytes per class",
        "shares of the wall time",
    ]
    lines = [
        TITLE,
        "",
        "Written by `scripts/bench-generator`, part of `make bench`. "
        + f"{datetime.date.today()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
        f" when it ended; {platform.machine()}.",
        "",
        "*Raw pairs* are all equations from the members of classes, symmetries and splits; *not"
        " reduced* are those that do not follow from smaller rules; *written* are those that do not"
        " follow from rules written before them and hold at random sizes, each text once. *Apart"
        " at the second stage* are terms whose values agree with those of another term at the"
        " first sizes and differ at others.",
        "",
    ]
    lines += table(header, rows) + [""] + list(growth(kept))
    pair = [kept.get(f"taso:4:{jobs}") for jobs in (1, 2)]
    if all(pair):
        lines += [
            "",
            (
                f"Two jobs over one at size 4 of taso: wall {pair[0]['wall'] / pair[1]['wall']:.2f}"
                " times as fast (the rules are lifted by one)."
            ),
        ]
    lines += [
        "",
        (
            "TASO's own generator, for comparison (two cores, one thread; 20 named inputs,"
            " convolutions with fused relu among its operators). *Graphs* are those that it"
            " enumerates, *kept* those of them that it keeps:"
        ),
        "",
    ]
    lines += table(["size", "graphs", "kept", "wall s", "peak MB"], TASO)
    if others:
        lines += ["", "Other programs, run for comparison:", ""]
        lines += table(
            ["program", "CPU s", "wall s", "peak MB"],
            [
                (n, number(r["cpu"], 1), number(r["wall"], 1), number(r["peak"]))
                for n, r in others.items()
            ],
        )
    return page(lines + (["", note] if note else []))


def main():
    parser = option_parser(__doc__)
    parser.add_argument(
        "runs", nargs="*", help="runs to measure, as SET:SIZE:JOBS; the other rows are kept"
    )
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another generator, measured beside ours",
    )
    parser.add_argument("--note", help="a paragraph to add at the end, kept in later runs")
    parser.add_argument(
        "--output",
        default=os.path.join(ROOT, "test", "bench", "RESULTS.md"),
        help="the page to write",
    )
    options = parser.parse_args()
    check_runs(options.runs)
    os.makedirs(os.path.dirname(KEPT), exist_ok=True)
    kept = read_json(KEPT, {"runs": {}, "beside": {}, "note": ""})
    kept["note"] = options.note or kept["note"]
    for run in options.runs or ([] if options.compare or options.note else RUNS):
        kept["runs"][run] = measure(run)
        print(*row(run, kept["runs"][run]), sep="  ", flush=True)
    for name, command in (b.split("=", 1) for b in options.compare):
        kept["beside"][name] = timed(command)
    with open(KEPT, "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=1)
    put_section(options.output, TITLE, render(kept["runs"], kept["beside"], kept["note"]))


if __name__ == "__main__":
    sys.exit(main())
