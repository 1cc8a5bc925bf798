#!/usr/bin/env python3
"""Runs other optimizers on the same random models: peers.py [N [SEED]] writes the table of
RESULTS.md. Environment: PEERS, the virtual environment that install-peers makes (BUILD/peers).

A result is wrong if it differs in ONNX Runtime (optimizations off) from the original by more than
compare.py allows, and the two graphs differ in double, too. Models whose original does not run in
ONNX Runtime are not counted."""

import collections, os, sys, time, warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
import check, models, options, peer_server, results, run
from cases import KEEP
from peer_process import Peer
from sides import Sides

KINDS = ["error", "crash", "hang", "refused", "interface", "wrong"]


class Ourselves:
    """optimize-model with all rules applied wherever they match, with the interface of a Peer."""

    name, version = "Isomer, wherever a rule matches", ""

    def __init__(self, bench):
        self.bench = bench

    def optimize(self, into, out):
        done = check.Checked()
        case = models.Case(None, [], {}, False, "", [], None)
        check.optimized(case, options.Options(eager=True), self.bench, into, out, done)
        return (
            ("crash" if done.findings[0].kind == "crash" else "error", done.findings[0].what)
            if done.findings
            else ("", "")
        )


def compared(case, into, out, n):
    """Compares the result of an optimizer with the original: (kind of failure or "", details)."""
    from roundtrip import interface

    done = check.Checked()
    done.changed = True
    original, result = check.Runs(into), check.Runs(out)
    feed = models.feed(case, n + 1)
    try:
        want = original(feed)
    except Exception:
        return "unrunnable", ""
    exact = {"before": check.doubled(into, done), "after": check.doubled(out, done)}
    try:
        real = check.evaluated(exact["before"], feed, done)
    except check.Open:
        return "unrunnable", ""
    if real and not all(a.shape == b.shape for a, b in zip(want, real[0])):
        real = None
    tolerances = real[1] if real else check.fallback(want)
    before, after = interface(into), interface(out)
    if any(len(before[part]) != len(after[part]) for part in ("input", "output")):
        return "interface", "inputs or outputs are missing"
    what = check.against(feed, want, result, "off", tolerances)
    if what.startswith("ONNX Runtime refuses"):
        return "refused", what
    if what and real and check.finely(feed, None, exact, real, done) == "":
        return "", ""  # equal in double: ONNX Runtime computes one of the two differently
    return ("wrong", what) if what else ("", "")


def main():
    count, seed = (int(v) for v in (sys.argv[1:] + ["2000", "1"][len(sys.argv) - 1 :])[:2])
    folder = os.path.join(KEEP, f"peers-{os.getpid()}")
    bench, sides = check.Bench(folder), Sides(folder)
    peers = [Ourselves(bench), *map(Peer, peer_server.PEERS)]
    tally = {p.name: collections.Counter() for p in peers}
    examples, start, counted = collections.defaultdict(list), time.monotonic(), 0
    into, out = bench.path("peer-in.onnx"), bench.path("peer-out.onnx")
    for n in range(count):
        if time.monotonic() - start > run.LIMIT:
            break
        case = run.made(seed, n, sides)
        if case is None:
            continue
        case = case._replace(external=False)
        check.store(case, into)
        if compared(case, into, into, n)[0] == "unrunnable":
            continue
        counted += 1
        for peer in peers:
            for path in (out, bench.path("costs")):
                if os.path.exists(path):
                    os.unlink(path)
            kind, what = peer.optimize(into, out)
            if not kind:
                kind, what = compared(case, into, out, n)
            if kind:
                tally[peer.name][kind] += 1
                examples[peer.name, kind].append((n, what))
            else:
                tally[peer.name]["good"] += 1
    rows = [(p.name, p.version, tally[p.name]) for p in peers]
    for (name, kind), found in sorted(examples.items()):
        print(name, kind, len(found), *(f"{n}: {what[:160]}" for n, what in found[:4]), sep="\n  ")
    results.write_peers(rows, KINDS, counted, seed, time.monotonic() - start)
    bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
