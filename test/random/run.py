#!/usr/bin/env python3
"""Runs a campaign: random models through optimize-model: run.py [N [SEED [FIRST]]]; see README.md.

Environment: ISOMER_JOBS is the number of processes, and LIMIT the seconds after which no model is
begun. RESUME=1 runs the blocks that are missing, and again those in which something failed;
counters are saved after each block of BLOCK models. RESULTS=1 writes the part of RESULTS.md on the
campaign. Models that fail are kept in BUILD/random/SEED-N. Exit status: 1 if something failed."""

import collections, concurrent.futures, json, multiprocessing, os
import resource, signal, sys, textwrap, time, traceback, warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
import cases, models, operators, options, results
from builder import Reject
from cases import KEEP
from check import KNOWN, Bench, check
from server import HERE
from sides import Sides

END = time.monotonic() + float(os.environ.get("LIMIT", "inf"))  # no model is begun after this
PATIENCE = 60  # seconds for one model
BLOCK = 500  # models after which the counters are saved
FORK = multiprocessing.get_context("fork")  # the only one that runs closures; not 3.14's default
COUNTERS = ("count", "rules", "operators", "kinds")


class Tally:
    """The counters of many models, which can be merged."""

    def __init__(self):
        self.count = collections.Counter()
        self.rules, self.operators, self.kinds = (collections.Counter() for _ in range(3))
        self.failures = []

    def add(self, n, case, chosen, done):
        """Counts a model that was checked."""
        self.count["models"] += 1
        self.count[chosen.build] += 1
        self.count["changed"] += done.changed
        self.operators.update(node.op_type for node in case.model.graph.node)
        self.rules.update(done.rules)
        self.kinds.update({f.kind for f in done.findings})
        for f in done.findings:
            self.failures.append((f.kind, n, case.about, chosen.text(), f.what))

    def merge(self, other):
        for name in COUNTERS:
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures

    def written(self):
        """The counters in a form for JSON."""
        return {k: dict(getattr(self, k)) for k in COUNTERS} | {"failures": self.failures}

    @staticmethod
    def read(data):
        tally = Tally()
        for name in COUNTERS:
            getattr(tally, name).update(data[name])
        tally.failures = [tuple(f) for f in data["failures"]]
        return tally


def made(seed, n, sides=None):
    """Model N of a seed, or None if it could not be made."""
    sides = sides or Sides(KEEP)
    for again in range(5):
        try:
            return models.made(seed, n, sides, again)
        except Reject:
            pass
    return None


def work(seed, numbers, sanitized, quiet=False, tell=None):
    """Checks these models of a seed and returns a Tally. `tell` is called before each model with
    its number and the Tally since the last call."""
    folder = os.path.join(KEEP, f"work-{os.getpid()}")
    tally, bench = Tally(), Bench(folder)
    bench.sides = Sides(folder)
    start = time.process_time()
    for n in numbers:
        if time.monotonic() > END:
            break
        if tell:
            tell((n, tally))
            tally = Tally()
        case = made(seed, n, bench.sides)
        if case is None:
            tally.count["empty"] += 1
            continue
        chosen = options.drawn(seed, n, case, sanitized)
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
                    print(
                        f"{seed}/{n} {case.about}; {chosen.text()}\n  {f.kind}: {f.what[:300]}",
                        flush=True,
                    )
    tally.count["cpu"] += time.process_time() - start
    bench.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tally.count["cpu of children"] += used.ru_utime + used.ru_stime
    return tally


def ended(code):
    """(kind, details) for a model at which the process of the harness died. The programs under test
    run in other processes, so a signal comes from ONNX Runtime (which divides integers by 0)."""
    if code is not None and code < 0:
        return "onnxruntime", f"ends ONNX Runtime: {signal.Signals(-code).name}"
    return "harness", f"ends the harness: exit status {code}"


def watched(seed, numbers, sanitized, quiet):
    """Does the same in another process, which is killed if a model takes too long, since ONNX
    Runtime may hang. Another process then continues after that model."""
    total, numbers = Tally(), list(numbers)
    while numbers and time.monotonic() < END:
        here, there = FORK.Pipe()

        def child():
            there.send((None, work(seed, numbers, sanitized, quiet, there.send)))

        process, at, died = FORK.Process(target=child), numbers[0], False
        process.start()
        there.close()
        try:
            while at is not None and here.poll(PATIENCE):
                at, part = here.recv()
                total.merge(part)
        except EOFError:
            died = True
        if at is not None:
            process.join(1 if died else 0)
            kind, how = ended(process.exitcode) if died else ("stuck", f"takes over {PATIENCE} s")
            print(f"{seed}/{at} {how}", flush=True)
            total.kinds[kind] += 1
        process.terminate()
        process.join()
        numbers = [] if at is None else [n for n in numbers if n > at]
    return total


def campaign(count, seed, first=0, jobs=1, sanitized=True, quiet=False):
    """Runs so many models in so many processes and returns the Tally. `sanitized`: every other
    model is run under the sanitizers. That takes longer, so each process gets as many of both
    kinds."""
    numbers = range(first, first + count)
    if jobs == 1 and count == 1:
        return work(seed, numbers, sanitized, quiet)
    total = Tally()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = [
            pool.submit(watched, seed, [n for n in numbers if n // 2 % jobs == k], sanitized, quiet)
            for k in range(jobs)
        ]
        for part in parts:
            total.merge(part.result())
    return total


class Progress:
    """A campaign in blocks. A file has the counters and the seconds of each block that is done."""

    def __init__(self, seed, first, resume):
        self.path = os.path.join(KEEP, f"campaign-{seed}-{first}.json")
        self.first, self.blocks = first, {}
        if resume and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                kept = json.load(file)
            self.blocks = {k: v for k, v in kept.items() if not failed(v["kinds"])}

    @property
    def total(self):
        total = Tally()
        for data in self.blocks.values():
            total.merge(Tally.read(data))
        return total

    @property
    def seconds(self):
        return sum(data["seconds"] for data in self.blocks.values())

    def keep(self):
        os.makedirs(KEEP, exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.blocks, file)
        os.replace(self.path + ".new", self.path)

    def run(self, end, seed, jobs, sanitized=True):
        """Runs the missing blocks up to model `end`, or until LIMIT. A block that LIMIT cuts short
        counts, but is not saved."""
        for start in range(self.first, end, BLOCK):
            key, began = f"{start}..{min(start + BLOCK, end)}", time.monotonic()
            if key in self.blocks or began >= END:
                continue
            tally = campaign(min(BLOCK, end - start), seed, start, jobs, sanitized)
            seconds = time.monotonic() - began
            self.blocks[key] = tally.written() | {"seconds": seconds}
            if time.monotonic() < END:
                self.keep()


def failed(kinds):
    """The kinds of findings that are failures of ours, with their numbers."""
    return {k: n for k, n in kinds.items() if k not in KNOWN}


RULES_GOAL, OPERATORS_GOAL = 20, 100  # how often each rule and operator should occur


def never_fire():
    """The rules of never-fire.txt, each with the reason why optimize-model never applies it."""
    with open(os.path.join(HERE, "never-fire.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def goals(total):
    """Lines that say how often the rules and operators occurred in the campaign."""
    listed = never_fire()
    rules = [rule.name for rule in Sides(KEEP).main.rules]
    wrong = [name for name in listed if total.rules[name] or name not in rules]
    short = [name for name in rules if total.rules[name] < RULES_GOAL and name not in listed]
    never = [name for name in short if not total.rules[name]]
    operators = [name for name in operators_of() if total.operators[name] < OPERATORS_GOAL]
    others = len([name for name in total.rules if name not in set(rules)])
    return [
        f"Of {len(rules)} rules of the library and the search set"
        f" {len(rules) - len(short) - len(listed)} fired",
        f"{RULES_GOAL} times or more, and {len(never)} never (the {len(listed)} of"
        f" never-fire.txt not counted). Of the rules of other files {others} fired.",
        *named("Rules that fired less", [f"{name} ({total.rules[name]})" for name in short]),
        *named("Listed in never-fire.txt, but fired or gone", wrong),
        f"Of {len(operators_of())} operators {len(operators_of()) - len(operators)} occurred"
        f" {OPERATORS_GOAL} times or more.",
        *named("Less", [f"{name} ({total.operators[name]})" for name in operators]),
    ]


def named(what, names, most=40):
    """Lines that list the names; none if there are no names or too many."""
    if not names or len(names) > most:
        return []
    return textwrap.wrap(f"{what}: {', '.join(names)}.", 98, break_long_words=False)


def operators_of():
    return [name for name in sorted(operators.TABLE) if name != "Function"]


def main():
    count, seed, first = (
        int(v) for v in (sys.argv[1:] + ["100", "1", "0"][len(sys.argv) - 1 :])[:3]
    )
    progress = Progress(seed, first, bool(os.environ.get("RESUME")))
    progress.run(first + count, seed, int(os.environ.get("ISOMER_JOBS", "1")))
    total = progress.total
    bad = failed(total.kinds)
    print(dict(total.count), "known:", {k: n for k, n in total.kinds.items() if k in KNOWN})
    print("failures:", bad, f"{progress.seconds:.0f} s")
    print(*goals(total), sep="\n")
    if os.environ.get("RESULTS"):
        results.write_campaign(total, seed, first, progress.seconds, goals(total))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
