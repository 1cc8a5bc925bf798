"""Random ensembles of decision trees, both in the form of ai.onnx.ml and in that of the inputs of
our operator `trees`."""

import numpy

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]


class Forest:
    """Random trees in the lists that ai.onnx.ml has for their nodes and leaves. `of`: "target" or
    "class", the prefix of the lists of leaves; `each`: how many outputs have a weight in a leaf."""

    def __init__(self, of, trees, outputs, modes, low=-1.0, seed=1, each=2):
        self.random, self.modes, self.of = numpy.random.default_rng(seed), modes, of
        self.outputs, self.low, self.each = outputs, low, min(each, outputs)
        names = ["treeids", "nodeids", "featureids", "modes", "values", "truenodeids"]
        names += ["falsenodeids", "missing_value_tracks_true"]
        self.node = {name: [] for name in names}
        self.leaf = {name: [] for name in ["treeids", "nodeids", "ids", "weights"]}
        for tree in range(trees):
            self.next = 0
            self.grow(tree, depth=int(self.random.integers(0, 5)))

    def add(self, lists, *values):
        for name, value in zip(lists, values):
            lists[name].append(value)

    def grow(self, tree, depth):
        """Adds a subtree of this depth and returns the number of its root."""
        at, self.next = self.next, self.next + 1
        if not depth:
            self.add(self.node, tree, at, 0, "LEAF", 0.0, 0, 0, 0)
            for k in sorted(self.random.choice(self.outputs, self.each, False)):
                weight = float(numpy.float32(self.random.uniform(self.low, 1)))
                self.add(self.leaf, tree, at, int(k), weight)
            return at
        place = len(self.node["modes"])
        mode, value = str(self.random.choice(self.modes)), float(self.random.uniform(-1, 1))
        feature, missing = int(self.random.integers(0, 5)), int(self.random.integers(0, 2))
        self.add(self.node, tree, at, feature, mode, value, 0, 0, missing)
        self.node["falsenodeids"][place] = self.grow(tree, depth - 1)
        self.node["truenodeids"][place] = self.grow(tree, depth - 1)
        return at

    def lists(self):
        found = {f"nodes_{name}": values for name, values in self.node.items()}
        return found | {f"{self.of}_{name}": values for name, values in self.leaf.items()}

    def constants(self):
        """The inputs roots, nodes, values, leaves and weights of the operator `trees`."""
        node, leaf = self.node, self.leaf
        place = {name: k for k, name in enumerate(zip(node["treeids"], node["nodeids"]))}
        nodes, order = [], []
        for tree, at, feature, mode, yes, no, missing in zip(
            *(node[n] for n in ["treeids", "nodeids", "featureids", "modes"]),
            *(node[n] for n in ["truenodeids", "falsenodeids", "missing_value_tracks_true"]),
        ):
            if mode == "LEAF":
                own = [
                    k
                    for k, i in enumerate(zip(leaf["treeids"], leaf["nodeids"]))
                    if i == (tree, at)
                ]
                nodes.append([feature, 0, len(order), len(order) + len(own), missing])
                order += own
            else:
                ends = place[tree, yes], place[tree, no]
                nodes.append([feature, 1 + MODES.index(mode), *ends, missing])
        children = {k for row in nodes if row[1] for k in row[2:4]}
        roots = [k for k in range(len(nodes)) if k not in children]
        floats = [node["values"], [leaf["weights"][k] for k in order]]
        values, weights = (numpy.array(v, "float32") for v in floats)
        outputs = [leaf["ids"][k] for k in order]
        integers = [numpy.array(v, "int64") for v in (roots, nodes, outputs)]
        return [*integers[:2], values, integers[2], weights]
