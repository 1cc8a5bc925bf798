"""What the scripts that measure whole models share: the groups of models, which of them are run,
and the page that is written."""

import os, sys
from bench import BUILD, WORK
from markdown_page import page
from onnx_tools import feed_options, model_table, one_line, prepared, tables, zoo_tables
from packages import check_words, fail, option_parser, table_file


def public():
    """(name, file, feed options) of the models of scripts/models.tsv."""
    for row in model_table():
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
    """(title, models) of the public models and of each table, which is titled by its folder."""
    if not options.table:
        yield "Public models", public()
    for path in options.table or zoo_tables():
        yield os.path.basename(os.path.dirname(os.path.abspath(path))), tables(path)


def measured(models, words, measure):
    """What measure(name, file, feed options) says of each model named by a word, or of all; (name,
    reason) of each that fails: that is one line of the page."""
    rows, failed = [], []
    for name, path, feed in models:
        if words and not any(word in name for word in words):
            continue
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
