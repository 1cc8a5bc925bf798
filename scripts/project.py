"""What the Python programs of this folder share that needs no package: where the project and what
was built are, the table of models, JSON files, the processor's name, and the seconds that programs
took of it."""

import csv, json, os, platform, resource

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))


def read_json(path, otherwise=None):
    """What the file holds; otherwise: what it counts as where there is none."""
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def model_rows(path=os.path.join(ROOT, "scripts", "models.tsv")):
    """The rows of a table of models, by its header; lines that begin with # are comments."""
    with open(path, encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t"))


def options_of(option, text):
    """The option once for each word of a column of the table; -: there is none."""
    return [word for value in text.split() if value != "-" for word in (option, value)]


def shape_options(row):
    return options_of("--input-shape", row["shapes"])


def feed_options(row):
    """The options that make a model of the table run."""
    return shape_options(row) + options_of("--input", row["values"])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")),
            platform.machine(),
        )


def processor_seconds(own=False):
    """Of all programs that were started here and have ended; own: and of this one."""
    who = [resource.RUSAGE_CHILDREN] + [resource.RUSAGE_SELF] * own
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, who))
