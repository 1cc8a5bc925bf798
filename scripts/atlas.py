#!/usr/bin/env python3
"""The atlas of a target: for each operator at shapes that models have it, its time there, the share
of the machine's roofline, and the fastest equivalent that is proved, in rules/discovered/ATLAS.md.

Each case of atlas_cases.py is a model of one node, and a question of size 1: discover-rules answers
it, verify-rules proves the answers, and optimize-model times what they, the library and the
discovered rules make of the node on the target, one after the other in the same process. A ratio is
that of the original's time to the rewritten node's, of the last, confirming measurement where there
was one. A step whose results are in BUILD/atlas is not done again, so an interrupted run continues;
operators take turns, so that one that ends early (--time) has timed something of each.

usage: atlas.py [WORD..] [--target onnxruntime] [--jobs N] [--steps N] [--effort quick]
                [--time SECONDS] [--update]
With words only cases whose family, name or operator contains one of them are asked, and the table
is printed; with --update their rows replace those of the page."""

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
ALTERNATIVE = 1.2  # a ratio that counts as one
PATIENCE = 40  # seconds for a case


class Entry:
    """A case: its model and feed, in a folder of its own; what is known of it."""

    def __init__(self, case):
        name = "-".join(re.findall(r"\w+", f"{case.op} {case.name}"))
        digest = hashlib.sha256(repr(case).encode()).hexdigest()[:8]
        self.case = case
        self.folder = os.path.join(WORK, f"{name}-{digest}")
        self.model = os.path.join(self.folder, "m.onnx")
        self.refused = None

    def path(self, name):
        """A file of this case."""
        return os.path.join(self.folder, name)

    def make(self):
        """Writes the model and what it is fed."""
        if os.path.exists(self.path("made")):
            return
        os.makedirs(self.folder, exist_ok=True)
        try:
            written(self.case, self.folder)
        except Exception as error:  # the case is refused by onnx: it is a row of its own
            self.refused = one_line(error)
            return
        with open(self.path("made"), "w", encoding="utf-8"):
            pass

    def feed(self):
        """The options that feed it."""
        files = sorted(name for name in os.listdir(self.folder) if name.endswith(".npy"))
        return [word for name in files for word in ("--input", f"{name[:-4]}={self.path(name)}")]


def output(words, path):
    """Runs a program whose output goes to a file, unless that is there; False: it failed."""
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
    """The question of a case, with the time that it loses on the target."""
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
    """The rules that answer the questions, proved; a file."""
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
    """A file of the rules that answer its own question."""
    if not os.path.exists(entry.path("m.questions")):
        return entry.path("none.rules")
    with open(entry.path("m.questions"), encoding="utf-8") as file:
        asked = set(re.findall(r"^question (\S+)", file.read(), re.M))
    mine = [text for name, (_, text) in texts.items() if name.split("-")[1] in asked]
    with open(entry.path("own.rules"), "w", encoding="utf-8") as file:
        file.write("\n\n".join(mine) + "\n")
    return entry.path("own.rules")


def timed(entry, rules, options):
    """The report of optimize-model; None: it failed."""
    report = entry.path(options.target + ".json")
    if not os.path.exists(report):
        measure = ["--measure-with", options.target] if options.target != "isomer" else []
        words = (
            [os.path.join(BUILD, "optimize-model"), entry.model, "--dry-run", "-q", *measure]
            + ["--rules-out", own_rules(entry, rules), "--allow", "drops"]
            + ["--effort", options.effort]
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
    """(ratio, rules) of the fastest that was timed; (1, "") where nothing gains."""
    ratio = times_as_fast(report) if report["changed"] else None
    return (ratio, " ".join(rule["name"] for rule in report["rules"])) if ratio else (1.0, "")


def seconds_of(entry, target):
    """(the operator's seconds on the target, the share of the roofline); (None, None): unknown."""
    if target != "onnxruntime" or not os.path.exists(entry.path("m.questions")):
        return None, None
    with open(entry.path("profile"), encoding="utf-8") as file:
        took = sum(float(x) for x in re.findall(r"^(?:node|other) \S+ (\S+)$", file.read(), re.M))
    with open(entry.path("m.questions"), encoding="utf-8") as file:
        lost = [float(x) for x in re.findall(r" seconds=(\S+)", file.read())]
    return took, (1 - max(lost) / took if lost and took else None)


def shapes_of(case):
    """Its inputs' sizes; constants in brackets."""
    parts = []
    for text in case.inputs:
        sizes = text.lstrip("=").split()
        shape = sizes[1] if len(sizes) > 1 else sizes[0]
        parts.append(f"[{shape}]" if text.startswith("=") else shape)
    return " ".join(parts).replace("-]", "1]")


def sources(names, own):
    """Where the rules are from."""
    kinds = {"found": "discovered"} | {name: "asked here" for name in own}
    found = []
    for name in names.split():
        where = kinds.get(name) or ("discovered" if name.startswith("found-") else "library")
        found.append(f"`{name}` ({where})")
    return ", ".join(found)


def in_turn(entries):
    """The first case of each operator, the second of each, .."""
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
    """The rows of an earlier page, and the lines of cases that were not run, without those that
    stand in cells and refused now."""
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
    """The page. several: its rows are of several runs."""
    good = sorted({row[0] for row in cells if float(row[5]) >= ALTERNATIVE})
    lines = [
        "# Atlas: what a node of one operator could be instead, in ONNX Runtime",
        "",
        "Written by `make atlas TARGET=onnxruntime` (`scripts/atlas.py`): each row is a model of"
        " one node, timed on one thread in ONNX Runtime as it is and as the fastest equal graph"
        " that the rules give: those of the library, those that were discovered before, and those"
        " that answer the node's own question (asked here). Brackets: constants. The roofline is"
        " the least time of the operator's arithmetic and data on this machine. A ratio of 1 means"
        " that nothing gained 3 %. Rules that are off unless `--allow drops` is given, because they"
        " read what is then multiplied by 0, count here.",
        "",
        f"{len(good)} of {len({row[0] for row in cells})} operators have an alternative of"
        f" {ALTERNATIVE} or more somewhere: {', '.join(good)}.",
        "",
    ]
    if several:
        lines += [
            "The rows are of several runs, of different days, on busy machines (`--update`): both"
            " sides of a ratio were measured in turn by one process, the milliseconds of different"
            " rows do not compare.",
            "",
        ]
    return lines + table(
        ["operator", "case", "sizes", "ms", "share of roofline", "ratio", "by the rules"],
        sorted(cells, key=lambda row: (-float(row[5]), row[0], row[1])),
    )


def write_page(cells, refused, update):
    """ATLAS.md; update: rows of other cases stay, and those of cases that were not run now."""
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
    """All cases; those of the words."""
    parser = option_parser(__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--target", default="onnxruntime", choices=("onnxruntime", "isomer"))
    parser.add_argument("--time", type=float, default=math.inf, help="times no more afterwards")
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--steps", type=positive, default=1500)
    parser.add_argument("--effort", default="quick", choices=("quick", "default", "thorough"))
    parser.add_argument("--update", action="store_true", help="other rows of the page stay")
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
