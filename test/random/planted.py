"""Planted failures, which show that the checks of a campaign notice errors: a wrong rule with a
forged verdict, a kernel that computes wrongly, and a folded weight that is off in its last digits.
"""

import os, random
import numpy, onnx
from onnx import numpy_helper
import models, options, run, runtime
from builder import F32, Builder, Reject
from check import Bench, check
from reference import Double, Unable
from server import BUILD
from sides import Sampler, Sides
from small_models import WRONG, forged

ERROR, SEEN = 1e-5, 1e-6  # relative errors: that is planted, that an output must show


def wrong_rule(folder, seed=1):
    """The kinds of findings on a model to which a wrong rule was applied, with optimize-model's own
    check off."""
    rules = str(forged(folder, WRONG))
    sampler, r = Sampler((rules,), str(folder)), random.Random(seed)
    sides = Sides.__new__(Sides)
    sides.samplers = {(rules,): sampler}
    b = Builder(seed, 17, F32)
    b.random_values, b.exposed = set(), {}
    assert sides.place(b, sampler.rules[0], r)
    case = models.finish(b, r, "a wrong rule", sampler.rules, rules)
    bench = Bench(str(folder / "bench"))
    done = check(case, options.Options(["--check=0"], rules=rules, eager=True), bench, seed)
    bench.close()
    return done.rules, {f.kind for f in done.findings}


def wrong_kernel(folder):
    """The kinds of findings on a convolution, without and with a back end that is 1 % off."""
    plugin = os.path.join(BUILD, "test", "plugin", "wrong_backend.so")
    b = Builder(1, 17, F32)
    b.random_values, b.exposed = set(), {}
    x, w = b.fresh([1, 2, 5, 5], kind="input"), b.fresh([3, 2, 3, 3], None, 50, 200, "constant")
    b.add("Conv", [x, w])
    case = models.finish(b, random.Random(1), "a wrong kernel")
    found = []
    for backend in ((), (plugin,)):
        bench = Bench(str(folder / f"bench{len(backend)}"), backend)
        found.append({f.kind for f in check(case, options.Options(), bench, 1).findings})
        bench.close()
    return found


class Tamper:
    """Makes a float weight of the result that the original lacks wrong by ERROR: the whole weight,
    or its greatest element. An error counts as planted only if it moves an output by more than SEEN
    of its greatest element, which errors in an epsilon or before a Floor may not do."""

    def __init__(self, whole):
        self.whole, self.planted, self.feed = whole, False, None

    def __call__(self, into, out, done):
        """Changes a result; returns whether an error was planted."""
        self.planted = bool(done.changed) and self.plant(into, out)
        return self.planted

    def plant(self, into, out):
        before, after = Double(onnx.load(into)), onnx.load(out)
        old = {v.array.tobytes() for v in before.constants.values()}
        old |= {numpy_helper.to_array(t).astype("f8").tobytes() for t in constants(before.model)}
        fit = [
            t
            for t in constants(after)
            if t.data_type == F32 and numpy_helper.to_array(t).astype("f8").tobytes() not in old
        ]
        fit = [t for t in fit if numpy.abs(numpy_helper.to_array(t)).max(initial=0) > 1e-3]
        if not fit:
            return False
        array = numpy_helper.to_array(fit[0]).astype("f8")
        at = ... if self.whole else numpy.unravel_index(numpy.abs(array).argmax(), array.shape)
        array[at] *= 1 + ERROR
        fit[0].CopyFrom(numpy_helper.from_array(array.astype("f4"), fit[0].name))
        right = Double(onnx.load(out), runtime.lend).run(self.feed)
        wrong = Double(after, runtime.lend).run(self.feed)
        if not any(map(moves, right, wrong)):
            return False
        onnx.save(after, out)
        return True


def moves(a, b):
    if a.dtype.kind != "f" or not a.size:
        return False
    return bool(numpy.nanmax(numpy.abs(a - b)) > SEEN * numpy.nanmax(numpy.abs(a)))


def constants(model):
    """The tensors of the initializers and of the Constant nodes."""
    yield from model.graph.initializer
    for node in model.graph.node:
        if node.op_type == "Constant":
            yield from (a.t for a in node.attribute if a.name == "value")


def wrong_constant(folder, count, seed, whole=True, first=0):
    """Plants errors in models in which constants were folded, until there are `count`: (number
    planted, number caught, numbers of the models in which they were missed)."""
    tamper, planted, caught, missed = Tamper(whole), 0, 0, []
    bench = Bench(str(folder), tamper=tamper)
    bench.sides, n = Sides(str(folder)), first
    while planted < count:
        case = run.made(seed, n, bench.sides)
        n += 1
        if case is None or case.model.opset_import[0].version < 8:
            continue
        chosen = options.drawn(seed, n - 1, case, False)
        tamper.feed, tamper.planted = models.feed(case, n), False
        try:
            done = check(case, chosen, bench, n - 1)
        except Unable:
            continue
        if not tamper.planted or any(f.kind == "unrunnable" for f in done.findings):
            continue
        planted += 1
        if done.failures:
            caught += 1
        else:
            missed.append(n - 1)
    bench.close()
    return planted, caught, missed
