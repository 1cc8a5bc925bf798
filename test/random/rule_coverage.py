#!/usr/bin/env python3
"""Says which rules are applied to models of their own left sides: rule_coverage.py [TRIES
[NAME..]].

Prints a line for each rule: in how many of TRIES models, which have only its left side,
optimize-model applied the rule, and why not in the others. The rule is switched on and applied
wherever it matches.
"""

import collections, os, random, sys, warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
import models, options
from builder import Builder, Reject
from cases import KEEP
from check import Bench, Checked, optimized, store
from runtime import accepts, lend
from sides import Sides


def side_model(sides, rule, k):
    """The k-th model of only the left side of a rule. Raises Reject if none could be built."""
    r = random.Random(f"{rule.name} {k}")
    b = Builder(r.getrandbits(64), 24, lend=lend, accepts=accepts)
    b.random_values, b.exposed, b.weights = set(), {}, r.choice([0.0, 0.5, 1.0])
    if not sides.place(b, rule, r):
        raise Reject(f"not built: {sides.why}")
    return models.finish(b, r, rule.name, [rule])


def fired(case, rule, bench):
    """ "fired" if the rule was applied to the model, or the reason why not."""
    chosen = options.Options(eager=True)
    chosen.words = ["--allow", "+".join(sorted(options.OFF)), "--enable", rule.name]
    done, into, out = Checked(), bench.path("in.onnx"), bench.path("out.onnx")
    store(case, into)
    if not optimized(case, chosen, bench, into, out, done):
        return f"{done.findings[0].kind}: {done.findings[0].what.splitlines()[0]}"
    return "fired" if rule.name in done.rules else "does not fire"


def tried(rule, tries, bench, sides):
    """Counts how many times the rule was applied, and by reason how many times it was not."""
    found = collections.Counter()
    for k in range(tries):
        try:
            found[fired(side_model(sides, rule, k), rule, bench)] += 1
        except Reject as reason:
            found[str(reason)] += 1
    return found


def main():
    tries, names = int((sys.argv[1:] or ["4"])[0]), set(sys.argv[2:])
    folder = os.path.join(KEEP, f"coverage-{os.getpid()}")
    bench, sides, never = Bench(folder), Sides(folder), 0
    for rule in sides.main.rules:
        if names and rule.name not in names:
            continue
        found = tried(rule, tries, bench, sides)
        never += not found["fired"]
        told = "; ".join(f"{n} {why}" for why, n in found.most_common() if why != "fired")
        print(f"{found['fired']}/{tries} {rule.name} ({rule.classes}): {told}", flush=True)
    print(f"{never} rules never fired")
    bench.close()


if __name__ == "__main__":
    main()
