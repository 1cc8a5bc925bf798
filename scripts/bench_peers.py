"""Optimizes whole models with optimize-model for ONNX Runtime and with four other tools, times all
results in ONNX Runtime, and writes the table test/bench/PEERS.md.

The models are the public ones of scripts/models.tsv (the light ones get random weights) and those
of the tables that ISOMER_ZOO names, or only those of the tables given by --table. Every tool gets
the same file and runs with its defaults, ours with an empty cost file. A tool that ends with an
error, or takes longer than ten minutes (ours: thirty), has failed. A result is wrong if ONNX
Runtime refuses it or computes outputs of other shapes or types than the original's. It is also
wrong if an output differs by more than 1e-4 of its largest element (1e-2 in models of 16-bit
floats) and by more than the original's moves when its inputs and constants change by a rounding
(compare_onnx.py). Then the original, a re-saved copy of it as a control, and all results are timed
in turn on one thread, in 3 blocks of 7 rounds, each with new sessions. The ratio of a file is the
median over the rounds of a block of the original's time divided by its own, and then the geometric
mean over the blocks. Models are timed on large pages, since on pages of 4 KiB sessions with the
same file differ by up to 30 %. ONNX Runtime gets pages of 4 KiB by default, so our results are also
timed on these, in 8 blocks of 3 rounds. A model whose result is wrong or missing counts as 1 in the
mean, since its user keeps the original.

ONNX Runtime's optimizer of transformers needs PyTorch. It therefore runs in the virtual environment
of fetch-zoo (ISOMER_ZOO_VENV), and fails where that is missing.

All measurements are kept in build/bench/peers.json, and a model that is there is not measured
again; --page only writes the page. Exit status: 1 if a model could not be measured, 5 if the other
tools could not be installed.
"""

import datetime, filecmp, json, math, os, re, shutil, statistics, subprocess, sys, tempfile, time
from bench import WORK, call  # first: it says what is missing
import onnx, onnxruntime
from bench_groups import groups, model_parser, parsed
from compare_onnx import judge, moves
from markdown_page import page, table
from measure_onnxruntime import measure_in_new_process, small_pages
from onnx_tools import feed_of, one_line, outputs, session, times_as_fast
from packages import fail
from project import BUILD, ROOT, processor, processor_seconds, read_json

sys.path.insert(0, os.path.join(ROOT, "test", "random"))
from peer_process import Peer, VENV

PAGE = os.path.join(ROOT, "test", "bench", "PEERS.md")
KEPT = os.path.join(WORK, "peers.json")
OURS = "Isomer"
TOOLS = [OURS, "onnxsim", "onnxslim", "onnxoptimizer", "transformers.optimizer"]
BLOCKS, ROUNDS = 3, 7
SMALL_BLOCKS, SMALL_ROUNDS = 8, 3  # on pages of 4 KiB
GAIN, LOSS = 1.03, 0.99  # ratios that count as a gain, and as a loss


def ours(path, out, words, folder):
    """Optimizes a model by optimize-model and returns the gain that its report claims, or None."""
    report = os.path.join(folder, "report.json")
    command = [os.path.join(BUILD, "optimize-model"), path, out, *words, "--quiet"]
    command += ["--measure-with", "onnxruntime", "--report", report]
    call(command + ["--cost-db", os.path.join(folder, "costs.sqlite")])
    return times_as_fast(read_json(report))


def optimized(tool, peers, path, out, words, folder):
    """Runs a tool on a model. Returns a row: the state (ok or failed), the seconds, and for
    optimize-model the gain that its report claims."""
    start, before, row = time.monotonic(), processor_seconds(own=True), {"state": "ok"}
    try:
        if tool == OURS:
            row["claimed"] = ours(path, out, words, folder)
        else:
            kind, row["why"] = peers[tool].optimize(path, out)
            row["state"] = "failed" if kind else "ok"
    except Exception as error:
        row = {"state": "failed", "why": one_line(error)}
    if row["state"] == "ok" and not os.path.exists(out):
        row["state"] = "failed"
    row["seconds"] = time.monotonic() - start
    if tool == OURS:
        row["processor"] = processor_seconds(own=True) - before
    return row


class Judge:
    """Compares results with the original in ONNX Runtime, for two draws of its inputs."""

    def __init__(self, path, feed):
        self.path, made = path, session(path)
        self.draws = [feed.draw(made.get_inputs(), seed) for seed in range(2)]
        self.wanted = [outputs(made, values) for values in self.draws]
        self.known = {}  # by draw: how far roundings move the outputs, which is slow to find out

    def moved(self, draw):
        if draw not in self.known:
            self.known[draw] = moves(self.path, self.draws[draw], self.wanted[draw])
        return self.known[draw]

    def differs(self, path):
        """The reason why the result is wrong, or "" if it is not."""
        try:
            made = session(path)
            given = [outputs(made, values) for values in self.draws]
        except Exception as error:
            return one_line(error)
        for draw, (many, others) in enumerate(zip(self.wanted, given)):
            if len(many) != len(others):
                return "outputs are missing"
            for k, (a, b) in enumerate(zip(many, others)):
                half = getattr(many[0], "dtype", None) == "float16"
                _, _, wrong = judge(a, b, 1e-2 if half else 1e-4, 0, lambda: self.moved(draw)[k])
                if wrong:
                    return wrong
        return ""


def ratios(paths, feed, blocks=BLOCKS, rounds=ROUNDS):
    """How many times as fast as the first file each other file is, and the least seconds of the
    first."""
    medians, least = [[] for _ in paths[1:]], math.inf
    for block in range(blocks):
        order = paths[::-1] if block % 2 else paths
        visits = dict(zip(order, measure_in_new_process(order, feed, rounds)))
        first = visits[paths[0]]
        least = min(least, *first)
        for k, path in enumerate(paths[1:]):
            pairs = zip(first, visits[path])
            medians[k].append(statistics.median(a / b for a, b in pairs))
    return [statistics.geometric_mean(each) for each in medians], least


def measure_model(name, path, words, peers):
    """Optimizes a model by all tools, checks and times the results, and returns what peers.json
    keeps about the model."""
    feed, rows = feed_of(words), {}
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        source = os.path.join(folder, os.path.basename(path))
        shutil.copy(path, source)
        original, outs = Judge(source, feed), {}
        for tool in TOOLS:
            out = os.path.join(folder, f"{len(outs)}.onnx")
            rows[tool] = optimized(tool, peers, source, out, words, folder)
            if rows[tool]["state"] == "ok" and (why := original.differs(out)):
                rows[tool] |= {"state": "wrong", "why": why}
            if rows[tool]["state"] == "ok":
                rows[tool]["same"] = filecmp.cmp(source, out, shallow=False)
                outs[tool] = out
        copy = os.path.join(folder, "copy.onnx")
        onnx.save(onnx.load(source), copy)
        (control, *found), least = ratios([source, copy, *outs.values()], feed)
        if OURS in outs and not rows[OURS]["same"]:
            with small_pages():
                (rows[OURS]["small pages"],), _ = ratios(
                    [source, outs[OURS]], feed, SMALL_BLOCKS, SMALL_ROUNDS
                )
    for tool, ratio in zip(outs, found):
        rows[tool]["ratio"] = ratio
    return {
        "before": least,
        "control": control,
        "tools": rows,
        "load": os.getloadavg()[1],
        "day": str(datetime.date.today()),
    }


def start_peers():
    """Starts the other tools, by name. The optimizer of transformers runs in the environment that
    has PyTorch, if there is one."""
    models = os.environ.get("ISOMER_MODELS", os.path.join(ROOT, ".cache", "models"))
    torch = os.environ.get("ISOMER_ZOO_VENV", os.path.join(models, "zoo", "venv"))
    if not os.path.exists(os.path.join(torch, "bin", "python")):
        torch = VENV
    return {t: Peer(t, torch if t == "transformers.optimizer" else VENV) for t in TOOLS[1:]}


# ---- the page


def gain(tool):
    """The ratio of a result. A result that is the original, byte for byte, counts as 1, whatever
    was timed, and so does one that is wrong or missing."""
    return tool["ratio"] if tool["state"] == "ok" and not tool["same"] else 1.0


def cell(tool):
    """The cell of a tool in the table of models: its ratio, or its state in bold."""
    if tool["state"] != "ok":
        return f"**{tool['state']}**"
    return f"= ({tool['ratio']:.2f})" if tool["same"] else f"{tool['ratio']:.2f}"


def on_small_pages(tool):
    """The ratio of our result on pages of 4 KiB; None if it was not measured there."""
    return tool.get("small pages") if gain(tool) != 1 else 1.0


def said_on_small_pages(rows):
    """Sentences on the ratios of our results on pages of 4 KiB, if all were measured there."""
    ratios = [on_small_pages(row["tools"][OURS]) for row in rows.values()]
    if None in ratios or set(ratios) == {1.0}:
        return []
    return [
        f"On pages of 4 KiB the geometric mean of ours is"
        f" {statistics.geometric_mean(ratios):.3f}, the least {min(ratios):.2f}."
    ]


def summary(rows, tool):
    """The row of a tool in the summary of a group of models."""
    mine = [row["tools"][tool] for row in rows.values()]
    gains, states = [gain(t) for t in mine], [t["state"] for t in mine]
    seconds = [t["seconds"] for t in mine]
    return [
        tool,
        f"{statistics.geometric_mean(gains):.3f}",
        sum(g > GAIN for g in gains),
        sum(g < LOSS for g in gains),
        f"{min(gains):.2f}",
        states.count("wrong"),
        states.count("failed"),
        f"{statistics.median(seconds):.1f}",
        f"{max(seconds):.1f}",
    ]


def claims(rows):
    """Sentences that compare the gains claimed by our reports with the ratios measured here."""
    mine = [row["tools"][OURS] for row in rows.values()]
    both = [(t["claimed"], t["ratio"]) for t in mine if t["state"] == "ok" and not t["same"]]
    apart = [abs(claimed / ratio - 1) * 100 for claimed, ratio in both if claimed]
    none = [t for t in mine if t["state"] == "ok" and t["same"]]
    lines = []
    if apart:
        below = sum(claimed > GAIN and ratio < 1 for claimed, ratio in both if claimed)
        lines += [
            f"The ratios that our {len(apart)} reports claim and those confirmed here differ by"
            f" {statistics.median(apart):.1f} % in the median and {max(apart):.1f} % at most;"
            f" {below} of the claims above {GAIN} are confirmed below 1.00."
        ]
    if none:
        seconds = [t["processor"] for t in none]
        lines += [
            f"Where nothing gains ({len(none)} models), our search and the target together take"
            f" {statistics.median(seconds):.0f} s of CPU time in the median and"
            f" {max(seconds):.0f} s at most."
        ]
    return lines


def section(title, rows):
    lines = [f"## {title}", ""]
    lines += table(
        ["tool", "geometric mean", f"above {GAIN}", f"below {LOSS}", "least"]
        + ["wrong", "failed", "seconds, median", "most"],
        [summary(rows, tool) for tool in TOOLS],
    )
    lines += ["", *said_on_small_pages(rows), *claims(rows), ""]
    lines += table(
        ["model", "ms", "control", *TOOLS] + ["ours on 4 KiB", "our claim", "our seconds"],
        [
            [name, f"{row['before'] * 1e3:.3g}", f"{row['control']:.2f}"]
            + [cell(row["tools"][tool]) for tool in TOOLS]
            + [f"{small:.2f}" if (small := on_small_pages(row["tools"][OURS])) else "-"]
            + [f"{row['tools'][OURS].get('claimed') or 1:.2f}"]
            + [f"{row['tools'][OURS].get('processor', 0):.0f}"]
            for name, row in sorted(rows.items(), key=lambda each: -gain(each[1]["tools"][OURS]))
        ],
    )
    reasons = [
        f"- {name}, {tool}: {row['tools'][tool]['state']}: "
        + re.sub(r"/[^ ]*/(tmp[^/ ]*)/", r"\1/", row["tools"][tool].get("why", ""))
        for name, row in rows.items()
        for tool in TOOLS
        if row["tools"][tool]["state"] != "ok"
    ]
    return lines + [""] + reasons + [""] * bool(reasons)


def write(kept):
    loads = [row["load"] for rows in kept["groups"].values() for row in rows.values()]
    if not loads:
        return
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
    lines = [
        "# Other optimizers on the same files",
        "",
        f"Written by `scripts/bench-peers` on {datetime.date.today()}: {versions}; timed in ONNX"
        f" Runtime {onnxruntime.__version__} on one thread of {processor()}. The load was"
        f" {min(loads):.0f} to {max(loads):.0f} on {os.cpu_count()} processors, which lengthens the"
        " seconds of the search.",
        "",
        *__doc__.split("\n\n")[1:2],
        "",
        "*ms* is the time of the original; the columns of the tools have ratios; *our claim* is the"
        " ratio that our report gives, *our seconds* the CPU time of the search with that of the"
        " target. *Least* is the smallest ratio of a tool; *seconds* are those that it took for a"
        " model. `= (0.99)` marks a result that is the original, byte for byte: it counts as 1, and"
        " the ratio in brackets is noise.",
        "",
    ]
    for title, rows in kept["groups"].items():
        lines += section(title, rows) if rows else []
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page(" ".join(line.split("\n")) for line in lines))


def main():
    parser = model_parser(__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parsed(parser)
    os.makedirs(WORK, exist_ok=True)
    kept = read_json(KEPT, {"versions": {}, "groups": {}})
    if options.page:
        return write(kept)
    if subprocess.run([os.path.join(ROOT, "test", "random", "install-peers"), VENV]).returncode:
        fail(5, f"the other optimizers could not be installed into {VENV} (see pip's message)")
    peers, failed = start_peers(), False
    kept["versions"] = {peer.name: peer.version for peer in peers.values()}
    for title, models in groups(options):
        rows = kept["groups"].setdefault(title, {})
        for name, path, words in models:
            if name in rows:
                continue
            try:
                rows[name] = measure_model(name, path, words, peers)
            except Exception as error:
                print(f"{name}: {one_line(error)}", file=sys.stderr, flush=True)
                failed = True
                continue
            print(name, *(f"{t} {cell(rows[name]['tools'][t])}" for t in TOOLS), flush=True)
            with open(KEPT, "w", encoding="utf-8") as file:
                json.dump(kept, file, indent=1)
    write(kept)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
