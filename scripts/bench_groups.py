"""What the scripts that measure whole models share: the groups of models, which of them are run,
and the page that is written."""

import collections, os, re, sys
from bench import BUILD, WORK, call
from markdown_page import page
from onnx_tools import model_table, one_line, prepared, tables, zoo_tables
from packages import check_words, fail, option_parser, table_file
from project import feed_options

# Of run-model --profile: number ms share GFLOP rate MB roofline operator node kind.
STEP = re.compile(
    r"^ *\d+ +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +(\d+)  (\S+) +\S+  "
    r"(?:algorithm \d+ of )?(\S+)"
)
ALL = re.compile(r"^ all +([\d.]+) +100.0 +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) ")
# Milliseconds, percent of the model's time, percent of the roofline.
ProfiledStep = collections.namedtuple("ProfiledStep", "ms share roof operator kind")


def run_model(path, words, threads=1):
    """The command that runs a model by the algorithms of a cost file that it fills."""
    command = [os.path.join(BUILD, "run-model"), path, *words, "--threads", str(threads)]
    return command + ["--cost-db", os.path.join(WORK, f"runtimes-{threads}.db")]


def profiled(command):
    """Milliseconds of the model, percent of its roofline, its steps."""
    lines = call(command + ["--profile"])[2].splitlines()
    whole = next(found for found in map(ALL.match, lines) if found)
    steps = [
        ProfiledStep(float(found[1]), float(found[2]), int(found[3]), found[4], found[5])
        for found in map(STEP.match, lines)
        if found
    ]
    return float(whole[1]), int(whole[2]), steps


def named(name, words):
    """Whether one of the words is in the name, or there are none."""
    return not words or any(word in name for word in words)


def public(words):
    """(name, file, feed options) of the models of scripts/models.tsv that are named."""
    for row in model_table():
        if named(row["name"], words):
            yield row["name"], prepared(row, WORK), feed_options(row)


def model_parser(doc):
    parser = option_parser(doc)
    parser.add_argument("words", nargs="*", help="only models with these in their names")
    parser.add_argument(
        "--table", action="append", default=[], type=table_file, help="a table of models instead"
    )
    return parser


def parsed(parser):
    """The options. A word that is in no model's name, or a table that is not there, ends it."""
    options = parser.parse_args()
    names = [] if options.table else [row["name"] for row in model_table()]
    for path in options.table or zoo_tables():
        if not os.path.isfile(path):
            fail(5, f"{path}: there is no such table; ISOMER_ZOO names it")
        names += [name for name, _, _ in tables(path)]
    check_words(options.words, names)
    return options


def groups(options):
    """(title, models) of the public models and of each table, which is titled by its folder: of
    those that are named."""
    if not options.table:
        yield "Public models", public(options.words)
    for path in options.table or zoo_tables():
        title = os.path.basename(os.path.dirname(os.path.abspath(path)))
        yield title, (model for model in tables(path) if named(model[0], options.words))


def measured(models, measure):
    """What measure(name, file, feed options) says of each model; (name, reason) of each that fails:
    that is one line of the page."""
    rows, failed = [], []
    for name, path, feed in models:
        try:
            rows.append(measure(name, path, feed))
        except Exception as error:
            failed.append((name, one_line(error)))
            print(f"{name}: {one_line(error)}", file=sys.stderr)
    return rows, failed


def write_page(path, head, options, section):
    """The head, then what section(title, models) returns for each group: its lines and how many
    models failed. With words or tables nothing is written. Returns the exit status."""
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
