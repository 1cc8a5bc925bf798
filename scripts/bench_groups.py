"""Shared by the scripts that measure whole models (bench-runtimes, bench-roofline, bench-peers,
check-sizes): their options, the groups of models that they measure, and the page that they write.
"""

import collections, os, re, sys
from bench import BUILD, WORK, call
from markdown_page import page
from onnx_tools import model_table, one_line, prepared, tables, zoo_tables
from packages import check_words, fail, option_parser, table_file
from project import feed_options

# Lines that run-model --profile prints. Of a step: number, ms, share, GFLOP, rate, MB, roofline,
# operator, node, kind. ALL: the same of the whole model.
STEP = re.compile(
    r"^ *\d+ +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +(\d+)  (\S+) +\S+  "
    r"(?:algorithm \d+ of )?(\S+)"
)
ALL = re.compile(r"^ all +([\d.]+) +100.0 +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) ")
# ms: milliseconds; share: percent of the time of the model; roof: percent of the roofline.
ProfiledStep = collections.namedtuple("ProfiledStep", "ms share roof operator kind")


def run_model(path, words, threads=1):
    """The command that runs a model with run-model. The first run fills a cost file, which chooses
    the algorithms."""
    command = [os.path.join(BUILD, "run-model"), path, *words, "--threads", str(threads)]
    return command + ["--cost-db", os.path.join(WORK, f"runtimes-{threads}.db")]


def profiled(command):
    """Profiles a model: (milliseconds, percent of its roofline that it reaches, list of
    ProfiledStep)."""
    lines = call(command + ["--profile"])[2].splitlines()
    whole = next(found for found in map(ALL.match, lines) if found)
    steps = [
        ProfiledStep(float(found[1]), float(found[2]), int(found[3]), found[4], found[5])
        for found in map(STEP.match, lines)
        if found
    ]
    return float(whole[1]), int(whole[2]), steps


def named(name, words):
    """Whether the name contains one of the words. Without words every name counts."""
    return not words or any(word in name for word in words)


def public(words):
    """(name, file, feed options) of the models of scripts/models.tsv that the words name."""
    for row in model_table():
        if named(row["name"], words):
            yield row["name"], prepared(row, WORK), feed_options(row)


def model_parser(doc):
    """A parser with the options that all these scripts have: words and --table."""
    parser = option_parser(doc)
    parser.add_argument("words", nargs="*", help="only models with these in their names")
    parser.add_argument(
        "--table",
        action="append",
        default=[],
        type=table_file,
        help="a table of models to use instead (may be repeated)",
    )
    return parser


def parsed(parser):
    """The parsed options. Ends with exit status 2 if no model's name contains one of the words, and
    with 5 if a table is missing."""
    options = parser.parse_args()
    names = [] if options.table else [row["name"] for row in model_table()]
    for path in options.table or zoo_tables():
        if not os.path.isfile(path):
            fail(5, f"{path}: there is no such table; ISOMER_ZOO names it")
        names += [name for name, _, _ in tables(path)]
    check_words(options.words, names)
    return options


def groups(options):
    """(title, models that the options name) of the public models and of each table. The title of a
    table is the name of its folder."""
    if not options.table:
        yield "Public models", public(options.words)
    for path in options.table or zoo_tables():
        title = os.path.basename(os.path.dirname(os.path.abspath(path)))
        yield title, (model for model in tables(path) if named(model[0], options.words))


def measured(models, measure):
    """Two lists: what measure(name, file, feed options) returns for each model, and (name, reason)
    for each model with which it fails. The reason is one line."""
    rows, failed = [], []
    for name, path, feed in models:
        try:
            rows.append(measure(name, path, feed))
        except Exception as error:
            failed.append((name, one_line(error)))
            print(f"{name}: {one_line(error)}", file=sys.stderr)
    return rows, failed


def write_page(path, head, options, section):
    """Writes the head, then the section of each group. section(title, models) returns the lines and
    how many models failed. With words or tables nothing is written. Returns the exit status: 1 if a
    model failed."""
    os.makedirs(WORK, exist_ok=True)
    lines, wrong = list(head), 0
    for title, models in groups(options):
        text, failed = section(title, models)
        lines += text
        wrong += failed
    if not options.words and not options.table:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(lines))
    return 1 if wrong else 0
