#!/usr/bin/env python3
"""Makes the rules of rules/generated from the operator sets, in one go. generate-rules finds
candidates, verify-rules proves them, and compare-rules chooses the proof basis and the search set,
whose rules are proved again, since some are reversed. The chosen rules go to rules/generated, and
the counts into the table of its README.md; everything else stays in BUILD/rules. Steps whose
results are there and newer than what they read are not repeated.

usage: rules [--without-size-4] [--jobs N]"""

import glob
import os
import subprocess
import sys

from packages import option_parser, positive
from project import BUILD, ROOT, read_json

SETS = sorted(
    os.path.basename(path)[:-4] for path in glob.glob(os.path.join(ROOT, "generator/sets/*.set"))
)
KEPT = os.path.join(ROOT, "rules/generated")
HEAD = "<!-- table -->"


def fresh(targets, sources):
    """Whether all targets are there and newer than the sources."""
    if not all(os.path.exists(path) for path in targets):
        return False
    return min(map(os.path.getmtime, targets)) >= max(map(os.path.getmtime, sources))


def run(program, *arguments, allowed=(0,)):
    """Runs a program of the build folder, with its output shown. Ends this script if its exit
    status is not allowed."""
    done = subprocess.run([os.path.join(BUILD, program), *arguments], cwd=ROOT, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{program} {' '.join(arguments)}: exit status {done.returncode}")


def prove(candidates, verdicts, jobs):
    """Proves candidates and writes their verdicts. That some are not proved is not a failure."""
    if not fresh([verdicts], [candidates]):
        run("verify-rules", "-q", "-j", str(jobs), candidates, "-o", verdicts, allowed=(0, 1))


def chain(name, size, jobs):
    """Makes the rules of one operator set at one size and returns its line of the table."""
    stem = os.path.join(BUILD, "rules", f"{name}-{size}")
    source = os.path.join(ROOT, "generator/sets", name + ".set")
    if not fresh([stem + ".candidates", stem + ".json"], [source]):
        run(
            "generate-rules",
            "--ops",
            f"generator/sets/{name}.set",
            "--size",
            str(size),
            "--jobs",
            str(jobs),
            "-o",
            stem + ".candidates",
            "--json",
            stem + ".json",
        )
    prove(stem + ".candidates", stem + ".verdicts", jobs)
    kept = os.path.join(KEPT, f"{name}-{size}.rules")
    out = ["-o", kept] if size == 3 else ["--basis", kept]
    if not fresh([kept, stem + ".counts"], [stem + ".verdicts"]):
        run(
            "compare-rules",
            "part",
            stem + ".verdicts",
            *out,
            "--rest",
            stem + ".unproved",
            "--json",
            stem + ".counts",
        )
    made, counts = read_json(stem + ".json"), read_json(stem + ".counts")
    columns = [
        made["raw"],
        made["candidates"],
        counts["rules"],
        counts["proved"],
        counts["conditional"],
        counts["refuted"],
        counts["unknown"],
        counts["basis"],
    ]
    return f"| {name} | {size} | " + " | ".join(f"{int(value):,}" for value in columns) + " |"


def directed(stem, kept, jobs):
    """Proves rules in the direction in which they are used, keeps the proved ones, and returns
    their number."""
    prove(stem + ".candidates", stem + ".verdicts", jobs)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    run(
        "compare-rules",
        "part",
        stem + ".verdicts",
        "--all",
        "-o",
        kept,
        "--rest",
        stem + ".unproved",
        "--json",
        stem + ".counts",
    )
    return read_json(stem + ".counts")["proved"]


def search_set(jobs):
    """Makes the search set and the trades, proved in the direction in which they are used. Returns
    the numbers of rules of both."""
    proved = [os.path.join(KEPT, f"{name}-3.rules") for name in SETS]
    library = sorted(glob.glob(os.path.join(ROOT, "rules/library/*.rules")))
    gains, trades = os.path.join(BUILD, "rules", "gains"), os.path.join(BUILD, "rules", "trades")
    known = [word for path in library for word in ("--known", path)]
    run(
        "compare-rules",
        "choose",
        "-o",
        gains + ".candidates",
        "--trades",
        trades + ".candidates",
        *known,
        *proved,
    )
    return directed(gains, os.path.join(KEPT, "search", "gains.rules"), jobs), directed(
        trades, os.path.join(KEPT, "trades.rules"), jobs
    )


def write_table(lines, wanted):
    """Writes the table after the mark in rules/generated/README.md, and prints it."""
    path = os.path.join(KEPT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read().split(HEAD)[0]
    table = [
        (
            "| set | size | raw | not reduced | written | proved | of them conditional | refuted |"
            " unknown | basis |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|",
        *lines,
    ]
    text += (
        HEAD
        + "\n"
        + "\n".join(table)
        + f"\n\nSearch set: {wanted[0]} gains; {wanted[1]} trades in addition.\n"
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print("\n".join(table) + f"\nsearch set: {wanted[0]} gains, {wanted[1]} trades")


def main():
    """Runs all steps."""
    parser = option_parser(__doc__)
    parser.add_argument("--without-size-4", action="store_true", help="only rules of size 3")
    parser.add_argument("--jobs", type=positive, default=2, help="threads and proofs at a time")
    options = parser.parse_args()
    os.makedirs(os.path.join(BUILD, "rules"), exist_ok=True)
    run(
        "generate-rules",
        "--ops",
        "generator/sets/taso.set",
        "--size",
        "2",
        "-q",
        "-o",
        "rules/generated/taso-2.candidates",
    )
    lines = [chain(name, 3, options.jobs) for name in SETS]
    if not options.without_size_4:
        lines.append(chain("taso", 4, options.jobs))
    write_table(lines, search_set(options.jobs))


if __name__ == "__main__":
    main()
