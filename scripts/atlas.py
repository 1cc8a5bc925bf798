#!/usr/bin/env python3
"""Writes rules/discovered/ATLAS.md: what a node of one operator could be replaced by on a target.
For each operator, at sizes that occur in models, the page gives the time on the target, its share
of the machine's roofline and the fastest equal graph that is proved.

Each case of atlas_cases.py is a model of one node and a question of size 1. discover-rules answers
the question, verify-rules proves the answers, and optimize-model times, in one process, what the
answers, the library and the discovered rules make of the node. A ratio is the time of the original
divided by that of the rewritten node; where optimize-model repeats the measurement to confirm it,
the last one counts. Steps whose results are in BUILD/atlas are not repeated, so an interrupted run
continues. Cases are timed in turn over the operators, so that a run that --time ends early has
timed some cases of each.

usage: atlas.py [WORD..] [--target onnxruntime] [--jobs N] [--steps N] [--effort quick]
                [--time SECONDS] [--update]
With words, only the cases whose family, name or operator contains one of them are run, and the page
is printed, not written; with --update their rows replace the old ones of the page."""

import hashlib
import itertools
import math
import os
import re
import subprocess
import sys
import time

from atlas_cases import ASKED
from bench_operators import written
from discover_steps import KEPT, rule_texts, run
from markdown_page import page, table
from onnx_tools import one_line, times_as_fast
from packages import check_words, option_parser, positive
from project import BUILD, ROOT, read_json

WORK = os.path.join(BUILD, "atlas")
ALTERNATIVE = 1.2  # from this ratio on, an operator counts as having an alternative
PATIENCE = 40  # seconds that optimize-model may take for a case


class Entry:
    """A case with a folder of its own for its model, its inputs and the results of each step.
    `refused` is the reason why the case cannot be measured, or None."""

    def __init__(self, case):
        name = "-".join(re.findall(r"\w+", f"{case.op} {case.name}"))
        digest = hashlib.sha256(repr(case).encode()).hexdigest()[:8]
        self.case = case
        self.folder = os.path.join(WORK, f"{name}-{digest}")
        self.model = os.path.join(self.folder, "m.onnx")
        self.refused = None

    def path(self, name):
        """The path of a file in the folder of this case."""
        return os.path.join(self.folder, name)

    def make(self):
        """Writes the model and its inputs, unless they are there."""
        if os.path.exists(self.path("made")):
            return
        os.makedirs(self.folder, exist_ok=True)
        try:
            written(self.case, self.folder)
        except Exception as error:  # onnx refuses the case: the page says so
            self.refused = one_line(error)
            return
        with open(self.path("made"), "w", encoding="utf-8"):
            pass

    def feed(self):
        """The options --input that give optimize-model the inputs of this case."""
        files = sorted(name for name in os.listdir(self.folder) if name.endswith(".npy"))
        return [word for name in files for word in ("--input", f"{name[:-4]}={self.path(name)}")]


def output(words, path):
    """Runs a program and writes its output to a file, unless the file exists. Returns False if the
    program failed."""
    if os.path.exists(path):
        return True
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return False
    with open(path + ".new", "wb") as file:
        file.write(done.stdout)
    os.replace(path + ".new", path)
    return True


def ask(entry, target):
    """Returns the file with the question of a case and the time that the node loses on the target,
    or None if discover-rules failed or the target does not run the case."""
    profile = []
    helper = os.path.join(ROOT, "scripts/profile-onnxruntime")
    if target == "onnxruntime":
        if not output([helper, entry.model, *entry.feed()], entry.path("profile")):
            entry.refused = "the target does not run it"
            return None
        profile = ["--profile", entry.path("profile")]
    program = os.path.join(BUILD, "discover-rules")
    words = [program, entry.model, "--list", "--operators", "1", *profile]
    return entry.path("m.questions") if output(words, entry.path("m.questions")) else None


def answer(entries, options):
    """Returns the file of the proved rules that answer the questions of these cases."""
    stem = os.path.join(WORK, "answers")
    asked = (ask(entry, options.target) for entry in entries if not entry.refused)
    files = [file for file in asked if file]
    run(
        *("discover-rules", *files, "--depth", "1", "--steps", str(options.steps)),
        *("--worse", "4", "--jobs", str(options.jobs), "--resume", os.path.join(WORK, "kept")),
        *("-q", "-o", stem + ".candidates", "--json", stem + ".json"),
    )
    run(
        *("verify-rules", "-q", "-j", str(options.jobs), "--resume", stem + ".candidates"),
        *("-o", stem + ".verdicts"),
        allowed=(0, 1),
    )
    run(
        *("compare-rules", "part", stem + ".verdicts", "-q", "--all", "--output", stem + ".proved"),
        *("--rest", stem + ".unproved"),
    )
    return stem + ".proved"


def own_rules(entry, texts):
    """Writes the rules that answer the question of this case into a file and returns its path.
    `texts`: what rule_texts says of all answers."""
    if not os.path.exists(entry.path("m.questions")):
        return entry.path("none.rules")
    with open(entry.path("m.questions"), encoding="utf-8") as file:
        asked = set(re.findall(r"^question (\S+)", file.read(), re.M))
    mine = [text for name, (_, text) in texts.items() if name.split("-")[1] in asked]
    with open(entry.path("own.rules"), "w", encoding="utf-8") as file:
        file.write("\n\n".join(mine) + "\n")
    return entry.path("own.rules")


def timed(entry, rules, options):
    """The report of optimize-model on a case, or None if it failed."""
    report = entry.path(options.target + ".json")
    if not os.path.exists(report):
        measure = ["--measure-with", options.target, "--effort", options.effort]
        measure = measure if options.target != "isomer" else []
        words = (
            [os.path.join(BUILD, "optimize-model"), entry.model, "--dry-run", "-q", *measure]
            + ["--rules-out", own_rules(entry, rules), "--allow", "drops"]
            + ["--report", report]
            + ["--cost-db", os.path.join(WORK, "costs.sqlite"), *entry.feed()]
        )
        try:
            done = subprocess.run(
                words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            entry.refused = f"the search took longer than {PATIENCE} s"
            return None
        if done.returncode:
            entry.refused = done.stderr.strip()
            return None
    return read_json(report)


def best_of(report):
    """(ratio, names of the rules) of the fastest graph that was timed; (1, "") if none gains."""
    ratio = times_as_fast(report) if report["changed"] else None
    return (ratio, " ".join(rule["name"] for rule in report["rules"])) if ratio else (1.0, "")


def seconds_of(entry, target):
    """(seconds of the operator on the target, share of the roofline that it reaches); None for what
    is unknown."""
    if target != "onnxruntime" or not os.path.exists(entry.path("m.questions")):
        return None, None
    with open(entry.path("profile"), encoding="utf-8") as file:
        took = sum(float(x) for x in re.findall(r"^(?:node|other) \S+ (\S+)$", file.read(), re.M))
    with open(entry.path("m.questions"), encoding="utf-8") as file:
        lost = [float(x) for x in re.findall(r" seconds=(\S+)", file.read())]
    return took, (1 - max(lost) / took if lost and took else None)


def shapes_of(case):
    """The sizes of the inputs of a case as text, those of constants in brackets."""
    parts = []
    for text in case.inputs:
        sizes = text.lstrip("=").split()
        shape = sizes[1] if len(sizes) > 1 else sizes[0]
        parts.append(f"[{shape}]" if text.startswith("=") else shape)
    return " ".join(parts).replace("-]", "1]")


def sources(names, own):
    """The rules of a row as text, each with where it is from: the library, earlier discoveries, or
    (`own`) the answers to the questions of this run."""
    kinds = {"found": "discovered"} | {name: "asked here" for name in own}
    found = []
    for name in names.split():
        where = kinds.get(name) or ("discovered" if name.startswith("found-") else "library")
        found.append(f"`{name}` ({where})")
    return ", ".join(found)


def in_turn(entries):
    """The first case of each operator, then the second case of each, and so on."""
    by_operator = {}
    for entry in entries:
        by_operator.setdefault(entry.case.op, []).append(entry)
    turns = itertools.zip_longest(*by_operator.values())
    return [entry for turn in turns for entry in turn if entry]


def cells_of(rows, own):
    """The rows of the table, as text."""
    return [
        [
            *(op, name, shapes, f"{took * 1e3:.4f}" if took else "-"),
            f"{share * 100:.0f} %" if share is not None else "-",
            f"{ratio:.2f}",
            sources(rules, own) or "-",
        ]
        for op, name, shapes, (took, share), ratio, rules in rows
    ]


def kept_before(text, cells, refused):
    """Of an earlier page: the rows, and the lines about cases that were not run, without those of
    the cases that this run has in `cells` or `refused`."""
    known = {tuple(row[:3]) for row in cells}
    old = [re.split(r" \| ", line[2:-2]) for line in re.findall(r"^\| .* \|$", text, re.M)][1:]
    named = {f"- Not run: {row[0]}, {row[1]}:" for row in cells}
    named |= {line.partition(": ")[0] + ": " + line.split(": ")[1] + ":" for line in refused}
    lines = re.findall(r"^- Not run: .*(?:\n  .*)*", text, re.M)
    joined = [re.sub(r"\n +", " ", line) for line in lines]
    return (
        [row for row in old if tuple(row[:3]) not in known],
        [line for line in joined if not any(line.startswith(name) for name in named)],
    )


def lines_of(cells, several):
    """The lines of the page. `several`: the rows are from several runs."""
    good = sorted({row[0] for row in cells if float(row[5]) >= ALTERNATIVE})
    lines = [
        "# Atlas: what a node of one operator could be instead, in ONNX Runtime",
        "",
        "Written by `make atlas TARGET=onnxruntime` (`scripts/atlas.py`). Each row is a model of"
        " one node, timed on one thread in ONNX Runtime as it is and as the fastest equal graph"
        " that rules give: the rules of the library, those discovered before, and those that"
        " answer the node's own question (asked here). Sizes in brackets are those of constants."
        " The roofline is the least time of the operator's arithmetic and data on this machine. It"
        " is that of the operator as Isomer counts its arithmetic, so a row at 100 % may still have"
        " a faster equal graph. A ratio of 1 means that nothing gained 3 %. Rules of the class"
        " `drops`, which are off by default, are included. Rules asked here are not kept in this"
        " folder.",
        "",
        f"{len(good)} of {len({row[0] for row in cells})} operators have an alternative of"
        f" {ALTERNATIVE} or more somewhere: {', '.join(good)}.",
        "",
    ]
    if several:
        lines += [
            "The rows come from several runs on different days, on busy machines (`--update`). The"
            " two sides of a ratio were measured in turn by one process, but the milliseconds of"
            " different rows cannot be compared.",
            "",
        ]
    return lines + table(
        ["operator", "case", "sizes", "ms", "share of roofline", "ratio", "by the rules"],
        sorted(cells, key=lambda row: (-float(row[5]), row[0], row[1])),
    )


def write_page(cells, refused, update):
    """Writes ATLAS.md. With `update`, the page keeps its rows of all other cases, and of those that
    could not be run now."""
    path, several = os.path.join(KEPT, "ATLAS.md"), False
    if update and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old, missing = kept_before(file.read(), cells, refused)
        stay = {f"- Not run: {row[0]}, {row[1]}:" for row in old}
        late = [line for line in refused if not any(line.startswith(name) for name in stay)]
        several, cells, refused = bool(old), cells + old, missing + late
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(lines_of(cells, several) + ([""] + refused if refused else [])))


def main():
    """Runs all cases, or those that the words name."""
    parser = option_parser(__doc__)
    parser.add_argument("words", nargs="*", help="only cases and operators with these names")
    parser.add_argument(
        "--target",
        default="onnxruntime",
        choices=("onnxruntime", "isomer"),
        help="the runtime on which cases are timed",
    )
    parser.add_argument(
        "--time",
        type=float,
        default=math.inf,
        help="seconds after which no further case is timed",
    )
    parser.add_argument("--jobs", type=positive, default=2, help="questions asked at a time")
    parser.add_argument(
        "--steps", type=positive, default=1500, help="most terms evaluated for a question"
    )
    parser.add_argument(
        "--effort",
        default="quick",
        choices=("quick", "default", "thorough"),
        help="--effort of optimize-model for each case",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="replaces only the rows of these cases on the page",
    )
    options = parser.parse_args()
    check_words(
        options.words,
        [f"{case.family} {case.name} {case.op}" for case in ASKED],
        listed=dict.fromkeys(case.op for case in ASKED),
    )
    entries = [
        Entry(case)
        for case in ASKED
        if not options.words
        or any(word in f"{case.family} {case.name} {case.op}" for word in options.words)
    ]
    for entry in entries:
        entry.make()
    start = time.monotonic()
    rules = answer(entries, options)
    own, rows, refused = rule_texts(rules), [], []
    for entry in in_turn(entries):
        late = time.monotonic() - start > options.time
        if late and not os.path.exists(entry.path(options.target + ".json")):
            entry.refused = entry.refused or "the time was over"
        report = None if entry.refused else timed(entry, own, options)
        if not report:
            refused.append(f"- Not run: {entry.case.op}, {entry.case.name}: {entry.refused}")
            continue
        case, (ratio, names) = entry.case, best_of(report)
        rows.append(
            [case.op, case.name, shapes_of(case), seconds_of(entry, options.target), ratio, names]
        )
        print(f"{ratio:6.2f}  {case.op}: {case.name}  {names}", flush=True)
    cells = cells_of(rows, own)
    if options.words and not options.update:
        print(page(lines_of(cells, False) + [""] + refused))
    else:
        write_page(cells, refused, options.update)


if __name__ == "__main__":
    sys.exit(main())
