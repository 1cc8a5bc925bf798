#!/usr/bin/env python3
"""Discovers the rules that models ask for, in one go. discover-rules takes questions from the
models of scripts/models.tsv, or those named, and answers them. Each answer is timed by itself
against the part of the model that it would replace, verify-rules proves the faster ones, and
optimize-model times these on the target with no other rules. A rule that pays at a place and does
not follow from the library is kept in rules/discovered; a comment gives its question, the models
and places where it pays, the ratio, the date and the target. Prints tables of the counts, of the
rules that pay, and of the models.

Questions of one operator are asked first, then those of two, and so on, for the same time each.
Where the target gives a profile, the questions that lose most of their model's time come first.
Steps whose results are in BUILD/discover are not repeated; an interrupted step continues. Models
may also be named by the path of a file, or by --table, a table as scripts/fetch-zoo writes it, from
which names choose. If models are named, the rules go to BUILD/discover instead. With --beyond,
optimize-model times only rules that do not follow from the library.

usage: discover.py [MODEL..] [--target onnxruntime] [--operators N] [--depth N] [--steps N]
                   [--worse RATIO] [--time SECONDS] [--effort quick|default|thorough] [--jobs N]
                   [--alone RATIO] [--least RATIO] [--stem NAME] [--beyond] [--table TABLE]"""

import datetime
import glob
import os
import re
import statistics
import subprocess

from discover_steps import (
    add_question_options,
    KEPT,
    WORK,
    alone,
    answers,
    fastest,
    file_of,
    prove,
    questions,
    rule_texts,
    sizes_of,
    with_bodies,
    write_table,
)
from onnx_tools import check_models, models_named, tables, times_as_fast
from packages import option_parser, table_file
from project import BUILD, ROOT, read_json

HEAD = "<!-- table -->"


def rows_of_table(path, names):
    """The models of a table whose names begin with one of `names`, or all models, in the form of
    the rows of scripts/models.tsv, with `path` and `dims` in addition."""
    for name, model, words in tables(os.path.abspath(path)):
        if names and not any(name.startswith(begin) for begin in names):
            continue
        said = list(zip(words[::2], words[1::2]))
        yield {
            "name": name + ".onnx",
            "path": model,
            "shapes": " ".join(value for option, value in said if option == "--input-shape"),
            "values": " ".join(value for option, value in said if option == "--input"),
            "dims": [word for pair in said if pair[0] == "--dim" for word in pair],
        }


def timed(row, rules, options, name):
    """The report of optimize-model on a model, with these rules alone on the target, or None if it
    failed."""
    report = os.path.join(WORK, f"{row['name']}.{os.path.basename(rules)}.{name}.json")
    if not os.path.exists(report):
        code = subprocess.run(
            [os.path.join(BUILD, "optimize-model"), file_of(row), "--dry-run", "-q"]
            + ["--rules", rules, "--report", report]
            + ["--cost-db", os.path.join(WORK, "costs.sqlite")]
            + (
                ["--measure-with", options.target, "--effort", options.effort]
                if options.target != "isomer"
                else []
            )
            + sizes_of(row),
            cwd=ROOT,
            check=False,
        ).returncode
        if code:
            print(f"{row['name']}: optimize-model ended with {code}")
            return None
    return read_json(report)


def paying(row, report, least):
    """(rule, model, number of places, ratio) for the places where one rule alone gains at least the
    ratio `least` when it is timed."""
    model = row["name"][: -len(".onnx")]
    for place in [place for part in with_bodies(report, True) for place in part["gains"]]:
        before, after = place["seconds"]["before"], place["seconds"]["after"]
        rules = place["rules"].split()
        if before and after and place["timed"] and len(rules) == 1 and before / after >= least:
            yield rules[0], model, place["count"], before / after


def regained(stem):
    """For each discovered rule that follows from the library, the rules that it follows from."""
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
    """Writes the proved rules that do not follow from the library (`known`: those that do) into a
    file and returns its path."""
    texts = rule_texts(stem + ".proved")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join(text for name, (_, text) in texts.items() if name not in known))
        file.write("\n")
    return path


def keep(found, known, stem, path):
    """Writes the rules that pay and do not follow from the library, the best first, with comments
    on how they were found and where they pay. Returns the names of all rules that pay, and of those
    written."""
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


def parse():
    """The options."""
    parser = option_parser(__doc__)
    parser.add_argument("models", nargs="*", help="names, their beginnings, or paths; default: all")
    parser.add_argument(
        "--table", type=table_file, help="a table of models, instead of scripts/models.tsv"
    )
    parser.add_argument(
        "--stem", default="discovered", help="stem of the names of this run's files"
    )
    parser.add_argument(
        "--beyond",
        action="store_true",
        help="times only rules that do not follow from the library",
    )
    parser.add_argument(
        "--target",
        default="onnxruntime",
        choices=("onnxruntime", "isomer"),
        help="the runtime on which answers are timed",
    )
    add_question_options(parser, operators=3, seconds=3600)
    parser.add_argument(
        "--least", type=float, default=1.05, help="least ratio at a place for a rule to pay"
    )
    options = parser.parse_args()
    if not options.table:
        check_models([word for word in options.models if os.path.sep not in word])
    return options


def rows_of(options):
    """The rows of the models that are asked."""
    if options.table:
        return list(rows_of_table(options.table, options.models))
    return models_named(options.models) + [
        {"name": os.path.basename(path), "path": path, "shapes": "-", "values": "-"}
        for path in options.models
        if os.path.sep in path
    ]


def main():
    """Runs all steps, writes the rules that are kept, and prints the tables."""
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
        ratios.append((row["name"][: -len(".onnx")], times_as_fast(report) or 1.0))
        for rule, model, places, ratio in paying(row, report, options.least):
            found.setdefault(rule, []).append((model, places, ratio))
    os.makedirs(KEPT, exist_ok=True)
    folder = WORK if options.models or options.table else KEPT
    best, kept = keep(found, known, stem, os.path.join(folder, options.target + ".rules"))
    mean = statistics.geometric_mean(ratio for _, ratio in ratios) if ratios else 1
    lines = [
        "| questions | asked | answered | terms evaluated | equations | candidate rules | faster by"
        " themselves | proved | refuted | unknown | pay | new ones among them |",
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
        write_table(lines, HEAD)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
