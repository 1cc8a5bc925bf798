#!/usr/bin/env python3
"""Rules that models ask for, in one go: discover-rules takes questions from the models of
scripts/models.tsv (or those named) and answers them, each answer is timed by itself against the
part that asked, verify-rules proves those that are faster, optimize-model times these on the target
with no other rules, and what pays at a place and does not follow from the library is kept in
rules/discovered, with the question, the models, the places, the ratio, the date and the target as a
comment. Questions of one operator are asked first, then those of two, and so on, each for the same
time, first what loses most of its model's time, where the target gives a profile. A step whose
results are in BUILD/discover is not done again; an interrupted one continues. For some models
alone, or models of one's own (a file's path, or a table as scripts/fetch-zoo writes it, of which
names choose), the result goes to BUILD/discover; with --beyond only what does not follow from the
library is timed.

usage: discover.py [MODEL..] [--target onnxruntime] [--operators N] [--depth N] [--steps N]
                   [--worse RATIO] [--time SECONDS] [--effort quick|default|thorough] [--jobs N]
                   [--alone RATIO] [--least RATIO] [--stem NAME] [--beyond] [--table TABLE]"""

import argparse
import csv
import datetime
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from onnx_tools import (
    ROOT,
    constants_fixed,
    feed_options,
    model_table,
    prepared,
    shape_options,
)

BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
WORK = os.path.join(BUILD, "discover")
PLACES = os.path.join(WORK, "places")  # questions and answers as models
KEPT = os.path.join(ROOT, "rules/discovered")
ALIKE = 0.97  # so near to the fastest answer others count as fast as it
LARGE = 1 << 23  # elements of a constant; with more, loading takes longer than it is worth
HEAD = "<!-- table -->"


def run(program, *arguments, allowed=(0,)):
    """Runs a program of the build folder; what it prints is printed."""
    done = subprocess.run([os.path.join(BUILD, program), *arguments], cwd=ROOT, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{program} {' '.join(arguments)}: exit code {done.returncode}")
    return done.returncode


def load(path):
    """A JSON file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_of_table(path, names):
    """The models of a table (lines of name, path and feed options, tabs between) whose names begin
    with one of these, or all."""
    with open(path, encoding="utf-8") as file:
        for name, model, words in csv.reader(file, delimiter="\t"):
            if names and not any(name.startswith(begin) for begin in names):
                continue
            said = re.findall(r"--(\S+) (\S+)", words)
            yield {
                "name": name + ".onnx",
                "path": os.path.join(os.path.dirname(os.path.abspath(path)), model),
                "shapes": " ".join(value for kind, value in said if kind == "input-shape"),
                "values": " ".join(value for kind, value in said if kind == "input"),
                "dims": [
                    word for kind, value in said if kind == "dim" for word in ("--dim", value)
                ],
            }


def sizes_of(row):
    """The options that give a model's open sizes."""
    return shape_options(row) + row.get("dims", [])


def file_of(row):
    """The model's file."""
    return row["path"] if "path" in row else prepared(row, WORK)


def profile(row, target):
    """The words that name the model's profile on the target; none: it gives none."""
    out = os.path.join(WORK, f"{row['name']}.profile")
    if target != "onnxruntime":
        return []
    if not os.path.exists(out):
        done = subprocess.run(
            [os.path.join(ROOT, "scripts/profile-onnxruntime"), file_of(row)]
            + feed_options(row)
            + row.get("dims", []),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            print(f"{row['name']}: no profile: {done.stderr.decode()}")
            return []
        with open(out, "wb") as file:
            file.write(done.stdout)
    return ["--profile", out]


def questions(rows, operators, target):
    """One file of questions for each model."""
    files = []
    for row in rows:
        out = os.path.join(WORK, f"{row['name']}.{operators}.questions")
        if not os.path.exists(out):
            run(
                "discover-rules",
                file_of(row),
                *sizes_of(row),
                *profile(row, target),
                "--list",
                "--operators",
                str(operators),
                "-o",
                out,
            )
        files.append(out)
    return files


def answers(files, options, stem, seconds):
    """Candidate rules; their statistics. Questions are begun for so many seconds; those that were
    answered before count as well."""
    run(
        *("discover-rules", *files, "--depth", str(options.depth)),
        *("--steps", str(options.steps), "--worse", str(options.worse)),
        *("--time", str(seconds), "--jobs", str(options.jobs)),
        *("--resume", os.path.join(WORK, "answers"), "--models", PLACES),
        *("--json", stem + ".json", "-q", "-o", stem + ".candidates"),
    )
    return load(stem + ".json")


def prove(stem, jobs):
    """Of the candidates that are fast enough by themselves those that are true. Counts of
    verdicts."""
    run(
        "verify-rules",
        "-q",
        "-j",
        str(jobs),
        "--resume",
        stem + ".quick",
        "-o",
        stem + ".verdicts",
        allowed=(0, 1),
    )
    run(
        *("compare-rules", "part", stem + ".verdicts", "-q", "--all", "-o", stem + ".true"),
        *("--rest", stem + ".unproved", "--json", stem + ".counts"),
    )
    return load(stem + ".counts")


def times_read(path):
    """By file in PLACES: the seconds that were measured; None: the target refuses it."""
    times = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n") and len(line.split()) == 2:  # the last one may be cut off
                    name, seconds = line.split()
                    times[name] = float(seconds) if seconds != "-" else None
    return times


class Timer:
    """The process that times models on the target; what it said is kept in a file."""

    def __init__(self, path):
        self.path = path
        self.times = times_read(path)
        self.begin = "\n" if os.path.exists(path) else ""  # after what was cut off
        self.process = None

    def batch(self, names):
        """Times models of PLACES in turn, unless that is known, or their constants are large."""
        if all(name in self.times for name in names):
            return
        if not self.process:
            self.process = subprocess.Popen(
                [os.path.join(ROOT, "scripts/measure-onnxruntime")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            for name in names:
                path = os.path.join(folder, name)
                if constants_fixed(os.path.join(PLACES, name), path, LARGE):
                    self.process.stdin.write(path + "\n")
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.read()

    def read(self):
        """What the process says of a batch."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(self.begin)
            self.begin = ""
            for line in iter(self.process.stdout.readline, "\n"):
                if not line:
                    sys.exit("measure-onnxruntime ended early")
                words = line.split()
                seconds = "-" if words[0] == "FAIL" else words[0]
                name = os.path.basename(words[1] if seconds == "-" else words[-1])
                file.write(f"{name} {seconds}\n")
                self.times[name] = None if seconds == "-" else float(seconds)


def alone(stem, options):
    """Times each candidate by itself at the place that asked; writes those that are fast enough,
    and those that cannot be timed so (`select` has no operator in a file). By rule: the ratio; 0:
    the target refuses one side."""
    asked, model = rule_texts(stem + ".candidates"), {}
    for name, (comments, _) in asked.items():
        said = re.search(r"^# model (\S+)$", "\n".join(comments), re.M)
        if said and options.target == "onnxruntime":
            model[name] = said[1]
    timer, ratios, answers_of = Timer(stem + ".times"), {}, {}
    for name in model:
        answers_of.setdefault(model[name].rsplit("-", 1)[0], []).append(name)
    for question, names in sorted(answers_of.items()):
        timer.batch([question + ".onnx"] + [model[name] for name in names])
        before = timer.times.get(question + ".onnx")
        for name in names:
            after = timer.times.get(model[name])
            ratios[name] = before / after if before and after else 0
    with open(stem + ".quick", "w", encoding="utf-8") as file:
        for name, (comments, text) in asked.items():
            if ratios.get(name, options.alone) >= options.alone:
                file.write("\n".join(comments + [text]) + "\n\n")
    return ratios


def fastest(stem, ratios):
    """Writes the proved rules that are about as fast as the fastest answer to their question, then
    a basis of them: what an e-graph does not derive from the rest."""
    proved, best = rule_texts(stem + ".true"), {}
    for name in proved:
        question = name.rsplit("-", 1)[0]
        best[question] = max(best.get(question, 0), ratios.get(name, 0))
    fast = [
        name
        for name in proved
        if name not in ratios or ratios[name] >= ALIKE * best[name.rsplit("-", 1)[0]]
    ]
    with open(stem + ".fast", "w", encoding="utf-8") as file:
        file.write("\n\n".join(proved[name][1] for name in fast) + "\n")
    run("compare-rules", "part", stem + ".fast", "-q", "--basis", stem + ".proved")


def timed(row, rules, options, name):
    """The report of optimize-model with these rules alone on the target; None: it failed."""
    report = os.path.join(WORK, f"{row['name']}.{os.path.basename(rules)}.{name}.json")
    if not os.path.exists(report):
        code = subprocess.run(
            [os.path.join(BUILD, "optimize-model"), file_of(row), "--dry-run", "-q"]
            + ["--rules", rules, "--effort", options.effort, "--report", report]
            + ["--cost-db", os.path.join(WORK, "costs.sqlite")]
            + (["--measure-with", options.target] if options.target != "isomer" else [])
            + sizes_of(row),
            cwd=ROOT,
            check=False,
        ).returncode
        if code:
            print(f"{row['name']}: optimize-model ended with {code}")
            return None
    return load(report)


def paying(row, report, least):
    """(rule, model, places, ratio) of the places where this rule alone gained so much, timed."""
    model = row["name"][: -len(".onnx")]
    for place in report["gains"]:
        before, after = place["seconds"]["before"], place["seconds"]["after"]
        rules = place["rules"].split()
        if before and after and place["timed"] and len(rules) == 1 and before / after >= least:
            yield rules[0], model, place["count"], before / after


def whole(report):
    """How many times as fast the model is."""
    pair = report["measured_seconds"]
    if not pair or not pair["before"] or not pair["after"]:
        return 1.0
    return pair["before"] / pair["after"]


def rule_texts(path):
    """name -> (comment lines, text) of the rules of a file."""
    rules = {}
    with open(path, encoding="utf-8") as file:
        for part in re.findall(r"((?:^#.*\n)*^rule (?:.+\n)+)", file.read() + "\n", re.M):
            lines = part.rstrip("\n").split("\n")
            comments = [line for line in lines if line.startswith("#")]
            text = [line for line in lines if not line.startswith("#")]
            rules[text[0].split()[1]] = (comments, "\n".join(text))
    return rules


def regained(stem):
    """By rule: the library's rules that it follows from."""
    library = sorted(glob.glob(os.path.join(ROOT, "rules/library/*.rules")))
    done = subprocess.run(
        [os.path.join(BUILD, "compare-rules"), "derive", stem + ".proved", *library],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(re.findall(r"^derived +(\S+): (.*)$", done.stdout, re.M))


def where(places):
    """'MODEL at 3 places, up to 1.2' for each model; places: (model, count, ratio)."""
    said = []
    for model in sorted({model for model, _, _ in places}):
        count = sum(n for m, n, _ in places if m == model)
        most = max(r for m, _, r in places if m == model)
        said.append(f"{model} at {count} place{'' if count == 1 else 's'}, up to {most:.2f}")
    return "; ".join(said)


def beyond(stem, known, path):
    """Writes the rules of the basis that do not follow from the library."""
    texts = rule_texts(stem + ".proved")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join(text for name, (_, text) in texts.items() if name not in known))
        file.write("\n")
    return path


def keep(found, known, stem, path):
    """Writes the rules that pay and do not follow from the library, the best first, with how they
    were found and where they pay."""
    texts, asked = rule_texts(stem + ".proved"), rule_texts(stem + ".candidates")
    best = sorted(found, key=lambda rule: -max(entry[2] for entry in found[rule]))
    day = datetime.date.today().isoformat()
    target = os.path.basename(path)[: -len(".rules")]
    kept = [rule for rule in best if rule not in known]
    with open(path, "w", encoding="utf-8") as file:
        for rule in kept:
            file.write(f"# {day}, {target}: {where(found[rule])}.\n")
            how = [line for line in asked[rule][0] if not line.startswith("# model ")]
            file.write("\n".join(how + [texts[rule][1]]) + "\n\n")
    return best, kept


def write_table(lines, mark=HEAD):
    """Puts lines between the mark and the next one in rules/discovered/README.md, which is written
    by hand otherwise; a mark that is not there stands at the end."""
    path = os.path.join(KEPT, "README.md")
    text = "# Rules that models asked for\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    before, _, after = text.partition(mark)
    rest = after.partition("\n<!-- ")
    with open(path, "w", encoding="utf-8") as file:
        file.write(before.rstrip("\n") + f"\n\n{mark}\n" + "\n".join(lines) + "\n")
        file.write("".join(rest[1:]))


def parse():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="names, their beginnings, or paths; default: all")
    parser.add_argument("--table", help="of models, instead of scripts/models.tsv")
    parser.add_argument("--stem", default="discovered", help="of the files of this run")
    parser.add_argument("--beyond", action="store_true", help="only what the library lacks")
    parser.add_argument("--target", default="onnxruntime", choices=("onnxruntime", "isomer"))
    parser.add_argument("--operators", type=int, default=3)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--worse", type=float, default=2)
    parser.add_argument("--time", type=float, default=3600)
    parser.add_argument("--effort", default="default", choices=("quick", "default", "thorough"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--alone", type=float, default=1.02, help="ratio of a rule by itself")
    parser.add_argument("--least", type=float, default=1.05, help="ratio at a place that pays")
    return parser.parse_args()


def rows_of(options):
    """The models that are asked."""
    if options.table:
        return list(rows_of_table(options.table, options.models))
    return [
        row
        for row in model_table()
        if not options.models or any(row["name"].startswith(name) for name in options.models)
    ] + [
        {"name": os.path.basename(path), "path": path, "shapes": "-", "values": "-"}
        for path in options.models
        if os.path.sep in path
    ]


def main():
    """The whole chain."""
    options = parse()
    rows = rows_of(options)
    os.makedirs(WORK, exist_ok=True)
    stem = os.path.join(WORK, options.stem)
    for size in range(1, options.operators + 1):  # small questions first: they are the most useful
        files = questions(rows, size, options.target)
        made = answers(files, options, stem, options.time / options.operators)
    ratios_alone = alone(stem, options)
    counts = prove(stem, options.jobs)
    fastest(stem, ratios_alone)
    known = regained(stem)
    tried = beyond(stem, known, stem + ".beyond") if options.beyond else stem + ".proved"
    found, ratios = {}, []
    for row in rows:
        report = timed(row, tried, options, options.target)
        if not report:
            continue
        ratios.append((row["name"][: -len(".onnx")], whole(report)))
        for rule, model, places, ratio in paying(row, report, options.least):
            found.setdefault(rule, []).append((model, places, ratio))
    os.makedirs(KEPT, exist_ok=True)
    folder = WORK if options.models or options.table else KEPT
    best, kept = keep(found, known, stem, os.path.join(folder, options.target + ".rules"))
    mean = math.exp(sum(math.log(ratio) for _, ratio in ratios) / len(ratios)) if ratios else 1
    lines = [
        "| questions | asked | answered | terms evaluated | equations | candidate rules | faster by"
        " themselves | proved | refuted | unknown | paying | of them new |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        f"| {made['questions']:,} | {made['asked']:,} | {made['answered']:,} |"
        f" {made['evaluated']:,} | {made['equations']:,} | {made['rules']:,} |"
        f" {counts['rules']} | {counts['proved']} | {counts['refuted']} | {counts['unknown']} |"
        f" {len(best)} |"
        f" {len(kept)} |",
        "",
        "| rule that pays | follows from the library's | where |",
        "|---|---|---|",
        *(f"| {rule} | {known.get(rule, '-')} | {where(found[rule])} |" for rule in best),
        "",
        f"Models with these rules alone, on {options.target}, geometric mean {mean:.3f}:",
        "",
        "| model | times as fast |",
        "|---|---|",
        *(f"| {name} | {ratio:.2f} |" for name, ratio in sorted(ratios, key=lambda x: -x[1])),
    ]
    if folder == KEPT:
        write_table(lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
