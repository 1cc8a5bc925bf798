#!/usr/bin/env python3
"""Random models through optimize-model: run.py [N [SEED [FIRST]]]; see README.md.

ISOMER_JOBS processes work; what fails is kept in BUILD/random/SEED-N. Exit status 1: something
failed."""

import collections, json, multiprocessing, os, resource, sys, time, traceback, warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
import cases, models, options
from builder import Reject
from cases import KEEP
from check import KNOWN, Bench, check
from sides import Sides


class Tally:
    """Counters of many models; of several workers together."""

    def __init__(self):
        self.count = collections.Counter()
        self.rules, self.operators, self.kinds = (collections.Counter() for _ in range(3))
        self.failures = []

    def add(self, n, case, chosen, done):
        self.count["models"] += 1
        self.count[chosen.build] += 1
        self.count["changed"] += done.changed
        self.operators.update(node.op_type for node in case.model.graph.node)
        self.rules.update(done.rules)
        self.kinds.update({f.kind for f in done.findings})
        for f in done.findings:
            self.failures.append((f.kind, n, case.about, chosen.text(), f.what))

    def merge(self, other):
        for name in ("count", "rules", "operators", "kinds"):
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures


def made(seed, n, sides=None):
    """Model N of a seed; None: nothing came of it."""
    sides = sides or Sides(KEEP)
    for again in range(5):
        try:
            return models.made(seed, n, sides, again)
        except Reject:
            pass
    return None


def work(seed, numbers, worker, quiet=False):
    folder = os.path.join(KEEP, f"work-{os.getpid()}")
    tally, bench = Tally(), Bench(folder)
    bench.sides = Sides(folder)
    start = time.process_time()
    for n in numbers:
        case = made(seed, n, bench.sides)
        if case is None:
            tally.count["empty"] += 1
            continue
        chosen = options.drawn(seed, n, case)
        try:
            done = check(case, chosen, bench, n)
        except Exception:
            tally.count["models"] += 1
            tally.failures.append(("harness", n, case.about, chosen.text(), traceback.format_exc()))
            tally.kinds["harness"] += 1
            print(f"{seed}/{n} {case.about}; {chosen.text()}\n{traceback.format_exc()}", flush=True)
            continue
        tally.add(n, case, chosen, done)
        if done.failures:
            cases.save(os.path.join(KEEP, f"{seed}-{n}"), case, chosen, n, done.findings)
            if not quiet:
                for f in done.failures:
                    print(f"{seed}/{n} {case.about}; {chosen.text()}\n  {f.kind}: {f.what[:300]}", flush=True)
    tally.count["cpu"] += time.process_time() - start
    bench.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tally.count["cpu of children"] += used.ru_utime + used.ru_stime
    return tally


def campaign(count, seed, first=0, jobs=1):
    numbers = range(first, first + count)
    if jobs == 1:
        return work(seed, numbers, 0)
    total = Tally()
    with multiprocessing.Pool(jobs) as pool:
        for part in pool.starmap(work, [(seed, numbers[k::jobs], k) for k in range(jobs)]):
            total.merge(part)
    return total


def main():
    count, seed, first = (int(v) for v in (sys.argv[1:] + ["100", "1", "0"][len(sys.argv) - 1 :])[:3])
    start = time.monotonic()
    total = campaign(count, seed, first, int(os.environ.get("ISOMER_JOBS", "1")))
    bad = {k: n for k, n in total.kinds.items() if k not in KNOWN}
    print(dict(total.count), "known:", {k: n for k, n in total.kinds.items() if k in KNOWN})
    print("failures:", bad, f"{time.monotonic() - start:.0f} s")
    with open(os.path.join(KEEP, "last.json"), "w", encoding="utf-8") as file:
        json.dump(
            {k: dict(getattr(total, k)) for k in ("count", "rules", "operators", "kinds")}
            | {"failures": total.failures},
            file,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
