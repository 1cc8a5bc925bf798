"""Sends every available model through optimize-model: ONNX's node cases, the files of
libonnx-testdata, and the models of scripts/models.tsv.

With --rules none the result must be the original, byte for byte. Then every rule is applied
wherever it matches, since the target prefer-rewritten prefers rewritten models. The result must be
valid and have the same inputs, outputs, names, types, operator sets and metadata. It must also give
the expected outputs in ONNX Runtime or in ONNX's reference, if the original does so there.

Small files are optimized by children of one process that has read the rules (test/fuzz/forks.c).
The models of scripts/models.tsv get a process each.

Usage: roundtrip.py [--every N] [--table FILE] [node|testdata|models ..]. Exit status 1: something
failed.
"""

import argparse, collections, glob, os, subprocess, sys, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor
import onnx
from onnx import numpy_helper
from written import differs, read, run_any

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", os.environ.get("BUILD", "build")))
OPTIMIZE, FORKS, TOOL = (
    os.path.join(BUILD, "optimize-model"),
    os.path.join(BUILD, "test", "tools", "optimize-forks"),
    os.path.join(BUILD, "test", "tools", "onnx_roundtrip"),
)
EAGER = os.path.join(ROOT, "test", "onnx", "prefer-rewritten")
TESTDATA = "/usr/share/libonnx-testdata/data"
sys.path.insert(0, os.path.join(ROOT, "scripts"))
Case = collections.namedtuple(
    "Case", "name path data rtol atol"
)  # data() returns a list of (feed, expected); data is None where compare-onnx draws inputs


# ---- where models come from


def node_cases(folder, every=1):
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None)[::every]:
        path = os.path.join(folder, f"{case.name}.onnx")
        onnx.save(case.model, path)
        names = [info.name for info in case.model.graph.input]
        yield Case(
            case.name,
            path,
            lambda c=case, n=names: [
                (dict(zip(n, inputs)), outputs) for inputs, outputs in c.data_sets
            ],
            case.rtol,
            case.atol,
        )


def value_of(path, info):
    kind = info.type.WhichOneof("value")
    proto = {
        "tensor_type": onnx.TensorProto,
        "sequence_type": onnx.SequenceProto,
        "optional_type": onnx.OptionalProto,
    }[kind]()
    proto.ParseFromString(read(path))
    return {
        "tensor_type": numpy_helper.to_array,
        "sequence_type": numpy_helper.to_list,
        "optional_type": numpy_helper.to_optional,
    }[kind](proto)


def stored_data(path):
    model, sets = onnx.load(path), []
    fixed = {t.name for t in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in fixed]
    for folder in sorted(glob.glob(os.path.join(os.path.dirname(path), "test_data_set_*"))):
        at = lambda what, k: os.path.join(folder, f"{what}_{k}.pb")
        feed = {info.name: value_of(at("input", k), info) for k, info in enumerate(inputs)}
        sets.append(
            (feed, [value_of(at("output", k), info) for k, info in enumerate(model.graph.output)])
        )
    return sets


def testdata_cases(folder, every=1):
    for path in sorted(glob.glob(f"{TESTDATA}/**/*.onnx", recursive=True))[::every]:
        yield Case(os.path.relpath(path, TESTDATA), path, lambda p=path: stored_data(p), 1e-3, 1e-5)


def model_cases(folder, every=1):
    """The models of scripts/models.tsv that have been fetched. The light ones get random weights:
    with their own, which are all equal, the last layers have numbers of 5e9, and the softmax of
    their rounding errors is of no use."""
    import onnx_tools

    cache = os.environ.get("ISOMER_MODELS") or os.path.join(ROOT, ".cache", "models")
    rows = [r for r in onnx_tools.model_table() if os.path.exists(os.path.join(cache, r["name"]))]
    for row in rows[::every]:
        yield Case(row["name"], onnx_tools.prepared(row, folder), None, 1e-4, 0)


SOURCES = {"node": node_cases, "testdata": testdata_cases, "models": model_cases}


# ---- what must hold


def interface(path):
    """The parts of a model that its users see, apart from what it computes. Initializers that a
    model up to IR version 3 also lists as inputs do not count as inputs."""
    model = onnx.load(path, load_external_data=False)
    graph, fixed = model.graph, (
        {t.name for t in model.graph.initializer} if model.ir_version < 4 else ()
    )
    parts = [
        ("input", [i for i in graph.input if i.name not in fixed]),
        ("output", graph.output),
        ("opset", model.opset_import),
        ("metadata", list(model.metadata_props) + list(graph.metadata_props)),
        ("function", model.functions),
        ("training", model.training_info),
    ]
    seen = {name: [p.SerializeToString(deterministic=True) for p in list_] for name, list_ in parts}
    seen["texts"] = [
        model.ir_version,
        model.producer_name,
        model.producer_version,
        model.domain,
        model.model_version,
        model.doc_string,
        graph.name,
        graph.doc_string,
    ]
    return seen


def interface_changes(path, out):
    """The parts of the interface in which two models differ."""
    before, after = interface(path), interface(out)
    if not after["function"]:  # functions were inlined, with the operator sets that they import
        after["function"] = before["function"]
        after["opset"] = after["opset"][: len(before["opset"])]
    return [part for part in before if before[part] != after[part]]


def changed_well(case, out):
    """The reason why a changed model is not equivalent to the original, or an empty string."""
    try:
        onnx.checker.check_model(case.path)
    except Exception:
        pass
    else:
        onnx.checker.check_model(out)
    changed = interface_changes(case.path, out)
    if changed:
        return f"its {changed[0]} changed"
    if case.data is None:
        return drawn(case, out)
    for feed, want in case.data():
        why = differs(run_any(out, feed), want, max(case.rtol, 1e-3), max(case.atol, 1e-5))
        if why and not differs(
            run_any(case.path, feed), want, max(case.rtol, 1e-3), max(case.atol, 1e-5)
        ):
            return why
    return ""


def drawn(case, out):
    import onnx_tools, project

    row = next((r for r in onnx_tools.model_table() if r["name"] == case.name), None)
    command = [
        sys.executable,
        os.path.join(ROOT, "scripts", "compare_onnx.py"),
        case.path,
        out,
        "--draws",
        "2",
    ]
    done = subprocess.run(
        command + (project.feed_options(row) if row else []),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return (done.stdout[-300:] + done.stderr[-300:]) if done.returncode else ""


class Server(threading.local):
    """Runs optimize-model as children of one process, one process for each thread."""

    def run(self, arguments):
        """Runs optimize-model: (exit status, or minus the number of a signal; messages)."""
        if not hasattr(self, "process"):
            self.process = subprocess.Popen(
                [FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        with tempfile.NamedTemporaryFile("r", errors="replace") as messages:
            self.process.stdin.write("\t".join(map(str, [messages.name, *arguments])) + "\n")
            self.process.stdin.flush()
            code = os.waitstatus_to_exitcode(int(self.process.stdout.readline().split()[0]))
            return code, messages.read()


SERVER = Server()


def optimize(case, out, *options):
    """Runs optimize-model on a case. Returns the reason why it failed, or an empty string."""
    words = ["-q", str(case.path), str(out), *options]
    if case.data is not None:
        code, messages = SERVER.run(words)
    else:
        done = subprocess.run([OPTIMIZE, *words], capture_output=True, text=True, timeout=300)
        code, messages = done.returncode, done.stderr
    return f"exit {code}: {messages.strip()[-300:]}" if code else ""


def all_rules(case, out):
    with tempfile.TemporaryDirectory() as folder:
        return optimize(
            case,
            out,
            "--measure-with",
            f"exec '{EAGER}'",
            "--cost-db",
            os.path.join(folder, "costs"),
            *options_of(case),
        )


def options_of(case):
    if case.data is not None:
        return []
    import onnx_tools, project

    row = next((r for r in onnx_tools.model_table() if r["name"] == case.name), None)
    options = project.feed_options(row) if row else []
    return [
        x
        for pair in zip(options[::2], options[1::2])
        if pair[0] in ("--input-shape", "--dim")
        for x in pair
    ]


def trip(case, folder):
    """Does everything with one case. Returns a verdict ("unchanged", "changed" or "failed") and a
    text about it."""
    out = os.path.join(folder, os.path.basename(case.path) + ".out")
    try:
        why = optimize(case, out, "--rules", "none")
        if why or read(out) != read(case.path):
            return "failed", why or "with --rules none it is not byte-identical"
        why = all_rules(case, out)
        if why:
            return "failed", why
        if read(out) == read(case.path):
            return "unchanged", ""
        why = changed_well(case, out)
        return ("failed", why) if why else ("changed", "")
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        if os.path.exists(out):
            os.unlink(out)


def opaque_operators(paths):
    """For each operator with opaque nodes, (their number, an example of a reason); and the number
    of all nodes."""
    done = subprocess.run(
        [TOOL, "-v", *paths], capture_output=True, text=True, timeout=600, check=True
    )
    count, why, nodes = collections.Counter(), {}, 0
    for line in done.stdout.splitlines():
        if line.startswith("  "):
            name, reason = line.strip().split(" ", 1)[0], line.rsplit(": ", 1)[-1]
            reason = reason.split(" (inputs ")[0]
            if reason != "no algebraic definition":
                count[name] += 1
                why.setdefault(name, reason)
        elif " nodes, " in line:
            nodes += int(line.rsplit(": ", 1)[-1].split()[0])
    return {name: (n, why[name]) for name, n in count.most_common()}, nodes


def whole_trip(source, every=1, jobs=2):
    """Runs all cases of a source. Returns counts of the cases by verdict, the failures, the nodes
    and those that are opaque, and the seconds; None if the source has no cases here."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        cases = list(SOURCES[source](folder, every))
        if not cases:
            return None
        verdicts = list(pool.map(lambda case: trip(case, tempfile.mkdtemp(dir=folder)), cases))
        count = collections.Counter(verdict for verdict, _ in verdicts)
        opaque, nodes = opaque_operators([case.path for case in cases])
    failed = [
        f"{case.name}: {what}"
        for case, (verdict, what) in zip(cases, verdicts)
        if verdict == "failed"
    ]
    return {
        "cases": len(cases),
        "unchanged": count["unchanged"],
        "changed": count["changed"],
        "failed": failed,
        "nodes": nodes,
        "opaque": opaque,
        "seconds": time.monotonic() - start,
    }


TITLE = {
    "node": "ONNX's node cases",
    "testdata": "libonnx-testdata",
    "models": "models of scripts/models.tsv",
}


def table(results, every):
    sample = f", of each only every {every}th file" if every > 1 else ""
    lines = [
        "# Round trip",
        "",
        f"Written by `make roundtrip`{sample}",
        f"({time.strftime('%Y-%m-%d')}, onnx {onnx.__version__}).",
        "Each file goes through `optimize-model --rules none`, which must give the same bytes,",
        "and then through `optimize-model` with every rule applied wherever it matches. The",
        "result must be unchanged, or a valid model with the same interface and agreeing outputs.",
        "",
        "| files | cases | unchanged | rewritten and agreeing | failed | nodes | opaque nodes |",
        "|---|---|---|---|---|---|---|",
    ]
    for source, r in results.items():
        opaque = sum(n for n, _ in r["opaque"].values())
        lines.append(
            f"| {TITLE[source]} | {r['cases']} | {r['unchanged']} | {r['changed']} |"
            f" {len(r['failed'])} | {r['nodes']} | {opaque} |"
        )
    for source, r in results.items():
        lines += [
            "",
            f"## Opaque operators: {TITLE[source]}",
            "",
            "| operator | nodes | for example because |",
            "|---|---|---|",
        ]
        lines += [
            f"| {name} | {n} | {why} |"
            for name, (n, why) in sorted(r["opaque"].items(), key=lambda x: (-x[1][0], x[0]))
        ]
        if r["failed"]:
            lines += ["", "Failed:", ""] + [f"- {f}" for f in r["failed"]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "source",
        nargs="*",
        metavar="node|testdata|models",
        help="which files; all of them where none is named",
    )
    parser.add_argument("--every", type=int, default=1, help="only every N-th file")
    parser.add_argument("--table", help="where the result is written as a table")
    options, results = parser.parse_args(), {}
    unknown = [source for source in options.source if source not in SOURCES]
    if unknown:
        parser.error(f"no such files: {unknown[0]}")
    for source in options.source or SOURCES:
        result = whole_trip(source, options.every)
        if result:
            results[source] = result
            print(
                f"{source}: {result['cases']} cases, {result['unchanged']} unchanged,"
                f" {result['changed']} changed, {len(result['failed'])} failed;"
                f" {result['seconds']:.0f} s",
                *result["failed"][:60],
                sep="\n  ",
                flush=True,
            )
    if options.table:
        with open(options.table, "w") as file:
            file.write(table(results, options.every))
    return any(r["failed"] for r in results.values()) or not results


if __name__ == "__main__":
    sys.exit(main())
