#!/usr/bin/env python3
"""Measures how much of the library's gain discovered rules regain. The models of
scripts/models.tsv, or those named, ask questions, discover-rules answers them, each answer is timed
by itself, and verify-rules proves the faster ones. Then optimize-model runs on each model twice:
with the rules of rules/library and rules/generated only, and with the answers to the model's own
questions only, at most --rules of them, those that save most time first. The share that is regained
is the ratio of the sums of the logarithms of the gains. A second table says for each library rule
that pays whether it follows from discovered rules (compare-rules derive).

Steps whose results are in BUILD/discover are not repeated; an interrupted step continues. The
tables are printed; those of all models are also written into test/bench/DISCOVERED.md.

usage: rediscover.py [MODEL..] [--operators N] [--depth N] [--steps N] [--worse RATIO]
                     [--time SECONDS] [--rules N] [--effort quick|default|thorough] [--jobs N]
                     [--alone RATIO]"""

import collections
import glob
import math
import os
import re
import statistics
import subprocess
import sys

import discover_steps as steps
from markdown_page import table
from onnx_tools import check_models, models_named, times_as_fast
from packages import option_parser
from project import BUILD, ROOT, feed_options, read_json

MARK = "<!-- rediscovery -->"
TARGET = "onnxruntime"
GAIN = 1.03  # the least ratio that counts as a gain of a model
PAYS = 1.05  # the least ratio at a place that counts as a gain by a library rule


def places_of(path):
    """For each question in a file of questions: how many places of the model ask it, and how many
    seconds these places take together."""
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"^question (\S+) count=(\d+) seconds=(\S+)", file.read(), re.M)
    return {name: (int(count), float(seconds)) for name, count, seconds in found}


def question_of(rule):
    """The question that a rule answers; rules are named found-QUESTION-N."""
    return rule.split("-")[1]


def chosen(asked, fast, ratios, times, most):
    """The names of the rules that a model gets, at most `most`: the fast answers to its own
    questions, those that save most time first. The time of a question is that of the part by
    itself (`times`), once for each place that asks it (`asked`: what places_of says); where the
    part could not be timed, the time in the file of questions counts. A rule without a ratio saves
    nothing."""
    saved = {}
    for rule in fast:
        count, seconds = asked.get(question_of(rule), (0, 0.0))
        own = times.get(question_of(rule) + ".onnx")
        took = own * count if own else seconds
        if count:
            saved[rule] = took * (1 - 1 / ratios[rule]) if ratios.get(rule) else 0.0
    return sorted(saved, key=lambda rule: (-saved[rule], rule))[:most]


def write_rules(path, names, texts):
    """Writes a file of rules. If it was different before, the report that belongs to it is removed.
    Returns whether there are any rules."""
    text = "\n\n".join(texts[name][1] for name in names) + "\n"
    old = None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    if old != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if os.path.exists(path[: -len(".rules")] + ".json"):
            os.remove(path[: -len(".rules")] + ".json")
    return bool(names)


def optimized(row, out, words, options):
    """The report of optimize-model on a model with these options on rules, or None if it failed."""
    if not os.path.exists(out):
        done = subprocess.run(
            [os.path.join(BUILD, "optimize-model"), steps.file_of(row), "--dry-run"]
            + ["-q", *words, "--effort", options.effort, "--report", out]
            + ["--cost-db", os.path.join(steps.WORK, "costs.sqlite"), "--measure-with", TARGET]
            + feed_options(row),
            cwd=ROOT,
            env=os.environ | {"XDG_DATA_HOME": steps.WORK},  # no rules of the user's own
            check=False,
        )
        if done.returncode:
            print(f"{row['name']}: optimize-model ended with {done.returncode}")
            return None
    return read_json(out)


def rules_used(report):
    """For each rule used in the result of a report: (largest ratio at a place that was timed,
    whether the rule is alone there). Places where it is alone come first."""
    parts = list(steps.with_bodies(report, False))
    used = {rule["name"]: (1.0, False) for part in parts for rule in part["rules"]}
    for place in [place for part in parts for place in part["gains"]]:
        before, after = place["seconds"]["before"], place["seconds"]["after"]
        names = set(place["rules"].split())
        if not (place["timed"] and before and after):
            continue
        for name in names & set(used):
            entry = (before / after, len(names) == 1)
            # A place where the rule is alone says more about it than one where others help.
            if (entry[1], entry[0]) > (used[name][1], used[name][0]):
                used[name] = entry
    return used


def derived(library, found):
    """For each rule in the text `library` that follows from discovered rules (the file `found`):
    the rules that it follows from."""
    path = os.path.join(steps.WORK, "paying.library")
    with open(path, "w", encoding="utf-8") as file:
        file.write(library)
    done = subprocess.run(
        [os.path.join(BUILD, "compare-rules"), "derive", path, found],
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(re.findall(r"^derived +(\S+): (.*)$", done.stdout, re.M))


def share(pairs):
    """The share of the library's gains that discovered rules alone regain, as the ratio of the sums
    of logarithms, from pairs (ratio with the library, ratio with discovered rules alone). Ratios
    below GAIN count as 1."""
    logs = [tuple(math.log(ratio) if ratio >= GAIN else 0.0 for ratio in pair) for pair in pairs]
    whole = sum(library for library, _ in logs)
    return sum(alone for _, alone in logs) / whole if whole else 1.0


def models_table(results):
    """The lines on the gains of the models: a summary and a table."""
    pairs = [(library, alone) for _, library, alone, _ in results]
    lines = [
        f"With the rules of the library (and the generated ones) {mean(0, pairs):.3f} in the"
        f" geometric mean of {len(pairs)} models, with discovered rules alone"
        f" {mean(1, pairs):.3f}: **{100 * share(pairs):.0f} % of the gain** (logarithm).",
        "",
    ]
    return lines + table(
        ["model", "library", "discovered alone", "rules given"],
        [
            [name, said(library), said(alone), str(count)]
            for name, library, alone, count in sorted(results, key=lambda row: -row[1])
        ],
    )


def said(ratio):
    """A ratio as text; `=` if it does not count as a gain."""
    return f"{ratio:.2f}" if ratio >= GAIN else "="


def mean(column, pairs):
    """The geometric mean of one column of pairs."""
    return statistics.geometric_mean(pair[column] for pair in pairs)


def library_table(uses, follows):
    """The lines of the table of library rules that pay somewhere: where, and whether they follow
    from discovered rules. `uses`: by rule, a list of (model, ratio, whether it is alone)."""
    rows = []
    for rule in sorted(uses, key=lambda name: -max(ratio for _, ratio, _ in uses[name])):
        best = max(uses[rule], key=lambda use: use[1])
        if best[1] < PAYS:
            continue
        where = f"{best[0]}, {best[1]:.2f}" + ("" if best[2] else " with others")
        more = len({model for model, _, _ in uses[rule]}) - 1
        found = follows.get(rule)
        form = "no" if found is None else "as it is" if len(found.split()) == 1 else "from several"
        rows.append([f"`{rule}`", where + (f" and {more} more" if more else ""), form])
    return table(
        [
            "library's rule",
            "pays at (best ratio; number of further models)",
            "found (as it is: by one rule)",
        ],
        rows,
    )


def arguments():
    """The options."""
    parser = option_parser(__doc__)
    parser.add_argument("models", nargs="*", help="names or their beginnings; default: all")
    steps.add_question_options(parser, operators=4, seconds=600)
    parser.add_argument("--rules", type=int, default=40, help="most rules given for one model")
    options = parser.parse_args()
    check_models(options.models)
    options.target = TARGET
    return options


def answered(rows, options, stem):
    """Asks and answers questions, small ones first, times the answers by themselves and proves the
    faster ones. Returns the ratios by rule."""
    for size in range(1, options.operators + 1):
        files = steps.questions(rows, size, TARGET)
        steps.answers(files, options, stem, options.time / options.operators)
    ratios = steps.alone(stem, options)
    steps.prove(stem, options.jobs)
    steps.fastest(stem, ratios)
    return ratios


def library_rules():
    """The texts of the rules of rules/library and rules/generated by name, and the options that
    give optimize-model these rules only."""
    texts = {}
    for folder in ("library", "generated"):
        for path in sorted(glob.glob(os.path.join(ROOT, "rules", folder, "*.rules"))):
            texts |= {name: text for name, (_, text) in steps.rule_texts(path).items()}
    kept = os.path.join(steps.KEPT, TARGET + ".rules")
    return texts, [word for name in steps.rule_texts(kept) for word in ("--disable", name)]


def chain(rows, options, stem):
    """Runs all steps and returns the lines of both tables."""
    ratios = answered(rows, options, stem)
    texts, fast = steps.rule_texts(stem + ".true"), steps.rule_texts(stem + ".fast")
    times = steps.times_read(stem + ".times")
    library, library_alone = library_rules()
    results, uses = [], collections.defaultdict(list)
    for row in rows:
        name = row["name"][: -len(".onnx")]
        begin = os.path.join(steps.WORK, name)
        asked = places_of(f"{begin}.onnx.{options.operators}.questions")
        names = chosen(asked, fast, ratios, times, options.rules)
        any_rule = write_rules(begin + ".alone.rules", names, texts)
        known = optimized(row, begin + ".library.json", library_alone, options)
        words = ["--rules", begin + ".alone.rules" if any_rule else "none"]
        found = optimized(row, begin + ".alone.json", words, options)
        if not known or not found:
            continue
        gains = times_as_fast(known) or 1.0, times_as_fast(found) or 1.0
        results.append((name, *gains, len(names)))
        print(f"{name}: library {gains[0]:.2f}, discovered alone {gains[1]:.2f}", flush=True)
        for rule, (ratio, alone) in rules_used(known).items():
            if gains[0] >= GAIN and rule in library:
                uses[rule].append((name, ratio, alone))
    follows = derived("\n\n".join(library[rule] for rule in uses) + "\n", stem + ".true")
    return models_table(results) + [""] + library_table(uses, follows)


def main():
    """Runs all models, or those named."""
    options = arguments()
    rows = models_named(options.models)
    os.makedirs(steps.WORK, exist_ok=True)
    lines = chain(rows, options, os.path.join(steps.WORK, "rediscovered"))
    print("\n".join(lines))
    if not options.models:
        steps.write_table(lines, MARK)


if __name__ == "__main__":
    sys.exit(main())
