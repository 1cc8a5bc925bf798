"""Rewrites models with open sizes wherever a rule matches, and compares each result with its
original in ONNX Runtime at three sizes for which it was not rewritten.

    check-sizes [--table TABLE ..] [WORD ..]

The models are the public ones and those of the tables that ISOMER_ZOO names, or only those of the
tables given by --table, with lines of name, path and feed options, separated by tabs. Models that
leave no size open are skipped, and with words those whose names contain none of them. The target is
test/onnx/prefer-rewritten, which claims that whatever is rewritten is faster, so that as many rules
as possible are applied. Prints a line for each model. Exit status: 1 if a model cannot be
rewritten, a result differs, the original runs at fewer than three other sizes, or no model has open
sizes.
"""

import os, subprocess, sys, tempfile
from bench_groups import groups, model_parser, parsed
from bench import BUILD, WORK
from onnx_tools import one_line
from project import ROOT

TARGET = os.path.join(ROOT, "test", "onnx", "prefer-rewritten")
SETS = 3  # sets of sizes at which a result must agree


def open_axes(path, words):
    """For each input with an open axis: its sizes in the feed, and for each axis the name of the
    open size, or None if the size is fixed. Open axes without a name count as one size if they have
    the same size in the feed."""
    import onnx

    given = {"--dim": {}, "--input-shape": {}}
    for option, word in zip(words, words[1:]):
        if option in given:
            name, _, value = word.rpartition("=" if option == "--dim" else ":")
            given[option][name] = value
    graph = onnx.load(path, load_external_data=False).graph
    constant = {tensor.name for tensor in graph.initializer}
    found = {}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name in constant or all(
            d.HasField("dim_value") and d.dim_value >= 0 for d in dims
        ):
            continue
        shapes = given["--input-shape"]
        shape = shapes.get(value.name) or shapes.get("")  # "": the sizes of the only input
        sizes = shape.split(",") if shape else [d.dim_value or 1 for d in dims]
        sizes = [int(given["--dim"].get(d.dim_param, n)) for d, n in zip(dims, sizes)]
        fixed = [d.dim_value > 0 for d in dims]
        names = [None if f else d.dim_param or f"of {n}" for d, f, n in zip(dims, fixed, sizes)]
        found[value.name] = sizes, names
    return found


def other_sizes(axes):
    """Sizes to try, by name. First all open sizes are changed, then each one alone, since a model
    may not allow every combination."""
    base = {name: n for sizes, names in axes.values() for n, name in zip(sizes, names) if name}
    changes = (
        lambda n: n + 1,
        lambda n: 2 * n,
        lambda n: max(1, n // 2) if n > 1 else 5,
        lambda n: n + 8,
        lambda n: n + 64,
        lambda n: 3 * n,
    )
    for names in [list(base), *([name] for name in base if len(base) > 1)]:
        for change in changes:
            yield base | {name: change(base[name]) for name in names}


def feed_at(axes, words, values):
    """The feed options with the open sizes replaced by these values."""
    kept = []
    for option, word in zip(words[::2], words[1::2]):
        if option != "--dim" and not (
            option == "--input-shape" and word.rpartition(":")[0] in ["", *axes]
        ):
            kept += [option, word]
    for name, (sizes, names) in axes.items():
        now = (values[axis] if axis else n for n, axis in zip(sizes, names))
        kept += ["--input-shape", f"{name}:{','.join(map(str, now))}"]
    return kept


def rewrite(path, out, words, folder):
    """Rewrites a model: (number of applications, None), or (0, the reason) if that failed."""
    log = os.path.join(folder, "log")
    command = [os.path.join(BUILD, "optimize-model"), path, out, *words, "--proof-log", log, "-q"]
    command += ["--measure-with", TARGET, "--cost-db", os.path.join(folder, "costs.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return 0, one_line(done.stderr)
    with open(log, encoding="utf-8") as file:
        return sum(line.startswith("apply") for line in file), None


def compare(path, out, axes, words):
    """Compares a result with its original until it has been compared at SETS sizes: (number of
    sizes at which they agree, list of what is wrong)."""
    agree, wrong, last = 0, [], ""
    for values in other_sizes(axes):
        command = [sys.executable, os.path.join(ROOT, "scripts", "compare_onnx.py"), path, out]
        command += feed_at(axes, words, values)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = one_line(done.stdout + done.stderr)
        if done.returncode == 5:  # the original does not run at these sizes
            continue
        agree += done.returncode == 0
        if done.returncode:
            wrong.append(f"at {values}: {last}")
        if agree + len(wrong) == SETS:
            return agree, wrong
    return agree, [*wrong, f"it runs at fewer than {SETS} other sizes: {last}"]


def check(name, path, words):
    """Checks a model and prints what was found. Returns whether all is well, or None if the model
    leaves no size open."""
    axes = open_axes(path, words)
    if not axes:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.onnx")
        applied, why = rewrite(path, out, words, folder)
        agree, wrong = (0, [why]) if why else compare(path, out, axes, words)
    state = "FAIL" if wrong else "ok  "
    print(f"{state} {name}: {applied} applications, equal at {agree} other sizes", flush=True)
    for reason in wrong:
        print(f"     {reason}", flush=True)
    return not wrong


def main():
    options = parsed(model_parser(__doc__))
    os.makedirs(WORK, exist_ok=True)
    results = [
        check(name, path, words) for _, models in groups(options) for name, path, words in models
    ]
    checked = [good for good in results if good is not None]
    print(f"{sum(checked)} of {len(checked)} models with open sizes")
    return 0 if checked and all(checked) else 1


if __name__ == "__main__":
    sys.exit(main())
