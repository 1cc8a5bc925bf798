"""Lists where the built-in runtime is far from what the machine can do; writes the table
test/bench/ROOFLINE.md.

Each model is profiled step by step (run-model --profile) on one thread, by the algorithms that its
cost file chooses. A step's roofline is the larger of its arithmetic at the greatest rate and of its
data, read and written once, at the bandwidth of the smallest memory that holds them. Listed are the
steps that take more than 1 % of a model's time and run below 10 % of their roofline, by operator.
Models: the public ones of scripts/models.tsv and those of the tables ISOMER_ZOO, or of the tables
named. With words, only models whose names contain one of them are run, and nothing is written.
"""

import collections, datetime, os, re, sys
from bench import BUILD, WORK, call, processor
from bench_groups import measured, model_parser, parsed, write_page
from markdown_page import table
from onnx_tools import ROOT

PAGE = os.path.join(ROOT, "test/bench/ROOFLINE.md")
# number ms share GFLOP rate MB roofline operator node kind
STEP = re.compile(
    r"^ *\d+ +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +(\d+)  (\S+) +(\S+)  "
    r"(?:algorithm \d+ of )?(\S+)"
)
ALL = re.compile(r"^ all +([\d.]+) +100.0 +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) ")
SHARE, ROOF, SMALL = 1.0, 10, 0.005  # percent, percent, milliseconds
# What a kind of step is limited by, where that is known; else it is to be mended.
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


def profiled(path, words):
    """Milliseconds, percent of the roofline, and the steps of the list."""
    command = [os.path.join(BUILD, "run-model"), path, *words, "--profile"]
    text = call(command + ["--cost-db", os.path.join(WORK, "runtimes-1.db")])[2]
    steps = [found.groups() for found in map(STEP.match, text.splitlines()) if found]
    whole = next(found for found in map(ALL.match, text.splitlines()) if found)
    far = [
        (float(ms), float(share), int(roof), operator, kind)
        for ms, share, roof, operator, _, kind in steps
        if float(share) > SHARE and int(roof) < ROOF
    ]
    return float(whole[1]), int(whole[2]), far


def reason(operator, kind, ms):
    if ms < SMALL:
        return "so short that being called is most of it"
    return REASONS.get(operator.lower()) or REASONS.get(kind) or ""


def rows_of(name, far):
    """One row for each operator and kind of step."""
    groups = collections.defaultdict(list)
    for ms, share, roof, operator, kind in far:
        groups[operator, kind].append((ms, share, roof))
    for (operator, kind), found in sorted(
        groups.items(), key=lambda each: -sum(s for _, s, _ in each[1])
    ):
        ms, share = sum(m for m, _, _ in found), sum(s for _, s, _ in found)
        least = min(roof for _, _, roof in found)
        why = reason(operator, kind, ms / len(found))
        yield [name, operator, kind, len(found), f"{ms:.3f}", f"{share:.0f}", least, why]


def measure(name, path, feed):
    ms, roof, far = profiled(path, feed)
    rows = list(rows_of(name, far))
    print(f"{name}: {ms:.2f} ms, {roof} % of the roofline", *rows, sep="\n  ", flush=True)
    return (name, ms, roof), rows


def section(title, models, words):
    found, failed = measured(models, words, measure)
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
    return write_page(PAGE, head, options, lambda *group: section(*group, options.words))


if __name__ == "__main__":
    sys.exit(main())
