"""Random options of optimize-model for model N of a seed."""

import random
from dataclasses import dataclass, field

OFF = {"drops", "defines", "overflows", "jumps"}  # classes of rules that need --allow


@dataclass
class Options:
    """How optimize-model is run on a model, and what is checked afterwards."""

    words: list = field(default_factory=list)  # options for the command line
    build: str = "plain"  # or "sanitized"
    rules: str = None  # a file of rules instead of the library
    eager: bool = False  # rules are applied wherever they match
    sizes: bool = True  # --dim gives the first sizes for open sizes
    replay: bool = False  # the proof log is replayed
    values: str = "ordinary"  # the kind of the second draw of inputs (models.feed)

    def text(self):
        more = [w for w, on in (("eager", self.eager), ("replay", self.replay)) if on]
        return " ".join(
            [
                self.build,
                *(["rules=" + self.rules] if self.rules else []),
                *more,
                self.values,
                *self.words,
            ]
        )


VALUES = ["ordinary", "zero", "large", "tiny", "negative", "nan"]


def drawn(seed, n, case, sanitized=True):
    r = random.Random(f"options {seed}/{n}")
    o = Options(build="sanitized" if sanitized and n % 2 else "plain", values=r.choice(VALUES))
    o.eager = r.random() < (0.9 if case.rules else 0.3)
    o.replay = r.random() < 0.1
    o.sizes = r.random() < 0.9
    cost = r.random()
    if not o.eager:
        measured = cost < 0.02
        o.words += ["--cost", "measured" if measured else "nodes" if cost < 0.06 else "flops"]
        o.words += ["--steps", "5" if measured else str(r.choice([20, 60, 200]))]
        if r.random() < 0.2:
            o.words += ["--search", r.choice(["egraph", "both"])]
    asked = {c for rule in case.rules for c in rule.classes.split("+")} & OFF
    if r.random() < (0.9 if asked else 0.1):
        o.words += ["--allow", "+".join(sorted(OFF))]
        o.values = "ordinary" if o.values == "nan" else o.values
    if case.rules and r.random() < 0.8:
        free = "--allow" in o.words
        allowed = [c for c in case.rules if free or not OFF & set(c.classes.split("+"))]
        allowed = allowed[:1] if r.random() < 0.1 else allowed
        o.words += [w for rule in allowed for w in ("--enable", rule.name)]
    o.rules = case.file
    if r.random() < 0.1:
        o.words += ["--threads", "2"]
    if r.random() < 0.1:
        o.words += [r.choice(["--check", "--check=2"])]
    if r.random() < 0.05:
        o.words += ["--fold-limit", r.choice(["0", "64"])]
    if r.random() < 0.1:
        o.words += ["--seed", str(r.randrange(100))]
    if r.random() < 0.03:
        o.words += ["--save-as-external-data", "--external-threshold", "100"]
    return o
