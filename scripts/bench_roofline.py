"""Lists the steps of whole models that run far below what the machine can do in the built-in
runtime, and writes the table test/bench/ROOFLINE.md.

Each model is profiled step by step (run-model --profile) on one thread, with the algorithms that
its cost file chooses. The roofline of a step is the larger of two times: that of its arithmetic at
the peak rate, and that of reading and writing its data once at the bandwidth of the smallest level
of memory that holds them. The first table of each group has the share of a model's time that the
rooflines of its steps make up. The second lists, by operator, the steps that take more than 1 % of
the time of a model and run below 10 % of their roofline; *steps* is the number of such steps, and
*least %* the smallest share of its roofline that one of them reaches. The models are the public
ones of scripts/models.tsv and those of the tables that ISOMER_ZOO names.

ISOMER_ZOO names tables with colons between them. With words, only models whose names contain one of
them are run; with words or --table, nothing is written.
"""

import collections, datetime, os, sys
from bench import call  # first: it says what is missing
from bench_groups import measured, model_parser, parsed, profiled, run_model, write_page
from markdown_page import table
from project import BUILD, ROOT, processor

PAGE = os.path.join(ROOT, "test/bench/ROOFLINE.md")
# A step is listed above SHARE percent of its model's time and below ROOF percent of its roofline.
# Below SMALL milliseconds the call itself takes most of the time of a step.
SHARE, ROOF, SMALL = 1.0, 10, 0.005
# What limits a kind of step or an operator, where that is known. Other steps should be improved.
REASONS = {
    "softmax": "exponentials are not in the count of arithmetic",
    "attention": "exponentials are not in the count of arithmetic",
    "lstm": "products of one row, each step waiting for the one before",
    "gru": "products of one row, each step waiting for the one before",
    "rnn": "products of one row, each step waiting for the one before",
    "nms": "each box is compared with those kept so far",
    "topk": "comparisons are not in the count of arithmetic",
    "gather": "rows lie where the indices say",
}


def reason(operator, kind, ms):
    if ms < SMALL:
        return "so short that the cost of the call dominates"
    return REASONS.get(operator.lower()) or REASONS.get(kind) or ""


def rows_of(name, far):
    """Rows of the table for the listed steps of a model: one for each operator and kind of step,
    the one that takes most time first."""
    groups = collections.defaultdict(list)
    for step in far:
        groups[step.operator, step.kind].append(step)
    for (operator, kind), found in sorted(
        groups.items(), key=lambda each: -sum(step.share for step in each[1])
    ):
        ms, share = sum(step.ms for step in found), sum(step.share for step in found)
        least = min(step.roof for step in found)
        why = reason(operator, kind, ms / len(found))
        yield [name, operator, kind, len(found), f"{ms:.3f}", f"{share:.0f}", least, why]


def measure(name, path, feed):
    ms, roof, steps = profiled(run_model(path, feed))
    rows = list(rows_of(name, [s for s in steps if s.share > SHARE and s.roof < ROOF]))
    print(f"{name}: {ms:.2f} ms, {roof} % of the roofline", *rows, sep="\n  ", flush=True)
    return (name, ms, roof), rows


def section(title, models):
    found, failed = measured(models, measure)
    summary, rows = [row[0] for row in found], [row for each in found for row in each[1]]
    lines = [f"## {title}", ""]
    lines += table(
        ["model", "ms", "% of the roofline"],
        [[name, f"{ms:.2f}", roof] for name, ms, roof in sorted(summary, key=lambda s: s[2])],
    )
    lines += ["", "Steps below 10 % of their roofline:" if rows else "No step is listed.", ""]
    if rows:
        header = [
            "model",
            "operator",
            "step",
            "steps",
            "ms",
            "% of the time",
            "least % of roofline",
        ]
        lines += table(header + ["why"], rows)
    return lines + [""] + [f"- {name}: {why}" for name, why in failed] + [""], len(failed)


def main():
    options = parsed(model_parser(__doc__))
    machine = call([os.path.join(BUILD, "run-model"), "--machine"])[2].strip()
    head = [
        "# How far steps are from what the machine can do",
        "",
        f"Written by `scripts/bench-roofline` on {datetime.date.today()}: {processor()}, one "
        f"thread; {machine}. {__doc__.split(chr(10) * 2)[1]}",
        "",
    ]
    return write_page(PAGE, head, options, section)


if __name__ == "__main__":
    sys.exit(main())
