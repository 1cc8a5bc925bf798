"""What the Python programs of this folder share that needs no package: where the project and what
was built are, JSON files, the processor's name, and the seconds that programs took of it."""

import json, os, platform, resource

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))


def read_json(path, otherwise=None):
    """What the file holds; otherwise: what it counts as where there is none."""
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


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
