"""Shared by the Python programs of this folder, and without need of any package: the folders of the
project and of its build, JSON files, the table of models, the name of the processor, and the
processor time of other programs."""

import csv, json, os, platform, resource

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))


def read_json(path, otherwise=None):
    """The content of a JSON file. A missing file counts as `otherwise`, unless that is None."""
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def model_rows(path=os.path.join(ROOT, "scripts", "models.tsv")):
    """The rows of a table of models, as dictionaries with the names of its header. Lines that begin
    with # are comments."""
    with open(path, encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t"))


def options_of(option, text):
    """The option once for each word of a cell of the table; `-` stands for none."""
    return [word for value in text.split() if value != "-" for word in (option, value)]


def shape_options(row):
    """The options --input-shape that a model of the table needs."""
    return options_of("--input-shape", row["shapes"])


def feed_options(row):
    """The feed options that a model of the table needs to run."""
    return shape_options(row) + options_of("--input", row["values"])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")),
            platform.machine(),
        )


def processor_seconds(own=False):
    """The processor time, user and system, of all child processes that have ended; `own`: and of
    this process."""
    who = [resource.RUSAGE_CHILDREN] + [resource.RUSAGE_SELF] * own
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, who))
