"""Reads and writes RESULTS.md, which has parts between markers. Each part is written by the program
that measured it."""

import os, time
import onnx, onnxruntime
from server import HERE

PATH = os.path.join(HERE, "RESULTS.md")
HEAD = "# Random models\n\nWritten by `make random` and `make random-peers`; README.md says how.\n"
PARTS = ["campaign", "peers"]


def parts():
    """The texts of the existing parts by name."""
    if not os.path.exists(PATH):
        return {}
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    found = {}
    for name in PARTS:
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if begin in text and end in text:
            found[name] = text.split(begin)[1].split(end)[0]
    return found


def write(name, text):
    known = parts() | {name: text}
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for part in PARTS:
            if part in known:
                file.write(f"\n<!-- {part} -->\n{known[part]}<!-- end of {part} -->\n")


def versions():
    return f"onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}"


def write_peers(rows, kinds, count, seed, seconds):
    lines = [
        "## Other optimizers on the same models",
        "",
        f"{time.strftime('%Y-%m-%d')}, {versions()}: the {count} models of seed {seed} that ONNX",
        f"Runtime runs ({seconds:.0f} s). Results are run in ONNX Runtime, its optimizations off.",
        "",
        "| optimizer | version | good | " + " | ".join(kinds) + " |",
        "|---" * (3 + len(kinds)) + "|",
    ]
    for name, version, tally in rows:
        numbers = " | ".join(str(tally[kind]) for kind in ["good", *kinds])
        lines.append(f"| {name} | {version} | {numbers} |")
    lines += [
        "",
        "error: it gave up with a message; crash: a signal; hang: over 60 s; refused: ONNX Runtime",
        "does not load or run the result; interface: inputs or outputs are missing; wrong: other",
        "numbers.",
    ]
    write("peers", "\n".join(lines) + "\n")


def write_campaign(total, seed, first, seconds, goals):
    """Writes the part on a campaign. `goals`: lines that say how often rules and operators
    occurred."""
    count = total.count
    lines = [
        "## Campaign",
        "",
        f"{time.strftime('%Y-%m-%d')}, {versions()}: models of seed {seed} from {first} on:",
        f"{count['models']} models ({count['sanitized']} under the sanitizers), {count['changed']}"
        f" rewritten; {seconds:.0f} s.",
        "",
        *goals,
        "",
        "| finding | models |",
        "|---|---|",
        *(f"| {kind} | {n} |" for kind, n in total.kinds.most_common()),
    ]
    write("campaign", "\n".join(lines) + "\n")
