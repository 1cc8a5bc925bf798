#!/usr/bin/env python3
"""Reduces a model that fails in a campaign, with its options, to a small one that fails in the same
way: minimize.py FOLDER [NAME], where FOLDER is BUILD/random/SEED-N. The result goes to cases/NAME,
or without a name to FOLDER.small.

It drops outputs, turns values into inputs, bypasses nodes, leaves out options and fixes open sizes,
as long as the model still fails with the same kind of failure."""

import os, sys, warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
import onnx
from onnx import helper
import cases, models, options, runtime
from check import Bench, check
from models import Given


class Minimizer:
    """A case and options that become smaller while they still fail with this kind of failure."""

    def __init__(self, case, chosen, seed, kind, bench, tries=1):
        self.case, self.options, self.seed, self.kind = case, chosen, seed, kind
        self.bench, self.tries, self.runs = bench, tries, 0

    def fails(self, case, chosen):
        for _ in range(self.tries):
            self.runs += 1
            try:
                done = check(case, chosen, self.bench, self.seed)
            except Exception:
                return False
            if any(f.kind == self.kind for f in done.failures):
                return True
        return False

    def attempt(self, case=None, chosen=None):
        """Adopts the smaller case or options if they still fail; returns whether they do."""
        case, chosen = case or self.case, chosen or self.options
        if not self.fails(case, chosen):
            return False
        self.case, self.options = case, chosen
        return True

    def run(self):
        self.fewer_options()
        while self.fewer_outputs() | self.fewer_nodes() | self.passed_over() | self.fixed():
            pass
        self.fewer_options()
        return self.case, self.options

    def fewer_options(self):
        for k in reversed(range(len(self.options.words))):
            words = self.options.words
            if k >= len(words) or not words[k].startswith("--") or words[k] == "--cost":
                continue
            takes = k + 1 < len(words) and not words[k + 1].startswith("--")
            self.attempt(chosen=changed(self.options, words=words[:k] + words[k + 1 + takes :]))
        for name, plain in (
            ("build", "plain"),
            ("replay", False),
            ("eager", False),
            ("values", "ordinary"),
        ):
            if getattr(self.options, name) != plain:
                self.attempt(chosen=changed(self.options, **{name: plain}))

    def fewer_outputs(self):
        """Drops half of the outputs, then smaller and smaller parts, down to single outputs."""
        progress, n = False, len(self.case.model.graph.output)
        size = n // 2
        while size and len(self.case.model.graph.output) > 1:
            at = 0
            while at < len(self.case.model.graph.output):
                names = [o.name for o in self.case.model.graph.output]
                left = names[:at] + names[at + size :]
                if left and self.attempt(with_outputs(self.case, left)):
                    progress = True
                else:
                    at += size
            size //= 2
        return progress

    def fewer_nodes(self):
        """Turns results of nodes into inputs, so that the nodes before them are not needed."""
        progress, values = False, shapes(self.case, self.seed)
        for node in list(self.case.model.graph.node)[::-1]:
            live = {n.output[0] for n in self.case.model.graph.node}
            if node.output[0] in live and all(o in values for o in node.output if o):
                smaller = with_inputs(self.case, [o for o in node.output if o], values)
                progress |= bool(smaller) and self.attempt(smaller)
        return progress

    def passed_over(self):
        """Bypasses nodes whose result has the shape and type of one of their inputs."""
        progress, values = False, shapes(self.case, self.seed)
        for node in list(self.case.model.graph.node):
            for name in node.input:
                smaller = without(self.case, node, name, values)
                if smaller and self.attempt(smaller):
                    progress = True
                    break
        return progress

    def fixed(self):
        if not self.case.sizes:
            return False
        model = onnx.ModelProto()
        model.CopyFrom(self.case.model)
        for info in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param in self.case.sizes:
                    dim.dim_value = self.case.sizes[dim.dim_param][0]
        return self.attempt(self.case._replace(model=model, sizes={}))


def changed(chosen, **fields):
    return options.Options(**{**vars(chosen), **fields})


def live(case, model):
    """The case with this model, without nodes and inputs that lead to no output; None if no node is
    left."""
    graph, names, kept = model.graph, {o.name for o in model.graph.output}, []
    for node in reversed(graph.node):
        if any(o in names for o in node.output):
            kept.append(node)
            names |= set(models.inner_names(node))
    kept = [onnx.NodeProto.FromString(n.SerializeToString()) for n in reversed(kept)]
    if not kept:
        return None
    del graph.node[:]
    graph.node.extend(kept)
    for field in (graph.input, graph.initializer):
        left = [type(x).FromString(x.SerializeToString()) for x in field if x.name in names]
        del field[:]
        field.extend(left)
    del graph.value_info[:]
    inputs = {i.name for i in graph.input}
    return case._replace(model=model, inputs=[i for i in case.inputs if i.name in inputs])


def copy_of(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    return model


def with_outputs(case, names):
    model = copy_of(case)
    left = [o for o in case.model.graph.output if o.name in names]
    del model.graph.output[:]
    model.graph.output.extend(left)
    return live(case, model)


def shapes(case, seed):
    """The arrays of all values at the first sizes and at the second, as ONNX Runtime computes
    them."""
    model = copy_of(case)
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                model.graph.output.append(helper.make_empty_tensor_value_info(name))
    try:
        session = runtime.session(model.SerializeToString())
        pair = [runtime.run(session, models.feed(case, seed + 1, k)) for k in range(2)]
    except Exception:
        return {}
    for k in range(2):
        pair[k] |= models.feed(case, seed + 1, k)
    return {name: (pair[0][name], pair[1][name]) for name in pair[0] if name in pair[1]}


def with_inputs(case, names, values):
    """The case with these values as inputs, drawn from the range that they have; None if one is an
    output."""
    model, given = copy_of(case), list(case.inputs)
    if any(n in {o.name for o in model.graph.output} for n in names):
        return None
    left = [n for n in model.graph.node if not set(n.output) & set(names)]
    left = [onnx.NodeProto.FromString(n.SerializeToString()) for n in left]
    del model.graph.node[:]
    model.graph.node.extend(left)
    for name in names:
        a, b = values[name]
        kind = helper.np_dtype_to_tensor_dtype(a.dtype)
        size = [p if p == q else None for p, q in zip(a.shape, b.shape)]
        model.graph.input.append(helper.make_tensor_value_info(name, kind, size))
        x = a.astype("f8")
        low, high = (float(x.min()), float(x.max())) if a.size else (0.0, 1.0)
        given.append(Given(name, kind, [a.shape, b.shape], low, high, False))
    return live(case._replace(inputs=given), model)


def without(case, node, name, values):
    """The case without a node, whose only result is replaced by its input with this name; None if
    that is not possible."""
    outputs = {o.name for o in case.model.graph.output}
    if len(node.output) != 1 or node.output[0] in outputs or node.output[0] not in values:
        return None
    a, b = values[node.output[0]][0], values.get(name, (None,))[0]
    if b is None or a.shape != b.shape or a.dtype != b.dtype:
        return None
    model = copy_of(case)
    for each in model.graph.node:
        each.input[:] = [name if i == node.output[0] else i for i in each.input]
    return live(case, model)


def minimized(case, chosen, seed, bench):
    """Reduces a case: (case, options, findings, runs), or None if it does not fail. A case that
    fails only now and then is tried several times."""
    tries = 0
    while tries < 5:
        tries += 1
        done = check(case, chosen, bench, seed)
        if done.failures:
            break
    else:
        return None
    m = Minimizer(case, chosen, seed, done.failures[0].kind, bench, 1 if tries == 1 else 3 * tries)
    case, chosen = m.run()
    return case, chosen, check(case, chosen, bench, seed).failures, m.runs


def main():
    case, chosen, seed = cases.load(sys.argv[1])
    bench = Bench(os.path.join(cases.KEEP, f"work-{os.getpid()}"))
    found = minimized(case, chosen, seed, bench)
    bench.close()
    if not found:
        print("it does not fail")
        return 0
    case, chosen, findings, runs = found
    named = len(sys.argv) > 2
    out = os.path.join(cases.CASES, sys.argv[2]) if named else sys.argv[1].rstrip("/") + ".small"
    cases.save(out, case, chosen, seed, findings)
    print(f"{out}: {len(case.model.graph.node)} nodes after {runs} runs; {chosen.text()}")
    print(onnx.printer.to_text(case.model)[:3000])
    for f in findings:
        print(f"{f.kind}: {f.what[:400]}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
