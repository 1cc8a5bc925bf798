"""Attention of few queries, weighted sums of linear layers, scores by a few rows, softmaxes of few
elements, Mish by a sigmoid, and tensors that are written in slices (heads.rules, products.rules,
activation.rules, slices.rules, parts.rules)."""

import numpy, pytest
from onnx import TensorProto, helper
from small_models import tensor
from test_parts import DRAW, agree, floats, rewritten

node = helper.make_node


def integers(*values):
    return numpy.array(values, numpy.int64)


def heads_of(rows, name, heads, width, perm, bias):
    """Nodes that make `name` of the linear layer of rows, head by head."""
    nodes = [node("MatMul", [rows, "w"], [name + "0"])]
    nodes += [node("Add", [name + "0", "f"], [name + "1"])] * bias
    last = name + ("1" if bias else "0")
    return nodes + [
        node("Reshape", [last, "apart"], [name + "2"]),
        node("Transpose", [name + "2"], [name], perm=perm),
    ]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("queries", [1, 3])
def test_values(tmp_path, bias, one, queries):
    """The rows may have a further axis of one element, as caches have. With three queries and heads
    of four elements, nothing is gained."""
    rows = [2, 1, 9, 5] if one else [2, 9, 5]
    nodes = heads_of("l", "v", 3, 4, [0, 2, 1, 3], bias) + [node("MatMul", ["p", "v"], ["y"])]
    known = {"w": floats(5, 12), "f": floats(12), "apart": integers(2, 9, 3, 4)}
    sizes = {"l": rows, "p": [2, 3, queries, 9]}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    name = "heads-values-after" + "-bias" * bias
    model = nodes, inputs, [tensor("y", [2, 3, queries, 4])], known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("heads", name)])
    assert (kinds.count("MatMul") == 2 and kinds[0] != "MatMul") == (queries == 1), kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


def transposed_scaled(name, sizes):
    """Nodes and constants that transpose keys [n, h, t, d] head by head and scale them: `z`."""
    n, h, t, d = sizes
    nodes = [
        node("Reshape", [name, "joined"], ["i"]),
        node("Transpose", ["i"], ["j"], perm=[0, 2, 1]),
        node("Reshape", ["j", "parted"], ["t"]),
        node("Mul", ["t", "s"], ["z"]),
    ]
    known = {"joined": integers(n * h, t, d), "parted": integers(n, h, d, t)}
    return nodes, known | {"s": numpy.float32(0.3)}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_keys(tmp_path, bias, scaled):
    known = {"w": floats(5, 12), "f": floats(12), "apart": integers(2, 9, 3, 4)}
    if scaled:
        more, scale = transposed_scaled("k", [2, 3, 9, 4])
        nodes, known = heads_of("l", "k", 3, 4, [0, 2, 1, 3], bias) + more, known | scale
    else:
        nodes = heads_of("l", "z", 3, 4, [0, 2, 3, 1], bias)
    nodes += [node("MatMul", ["q", "z"], ["y"])]
    sizes = {"l": [2, 9, 5], "q": [2, 3, 1, 4]}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    name = "heads-keys-after" + "-scaled" * scaled + "-bias" * bias
    model = nodes, inputs, [tensor("y", [2, 3, 1, 9])], known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("heads", name)])
    assert kinds.count("MatMul") == 2 + bias, kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("keys", [False, True])
def test_rows_of_each_query(tmp_path, keys, one, bias):
    """Six queries in each of two graphs look at nine rows of their own."""
    rows = [2, 6, 1, 9, 5] if one else [2, 6, 9, 5]
    perm = [0, 1, 3, 4, 2] if keys else [0, 1, 3, 2, 4]
    nodes = heads_of("l", "z", 3, 4, perm, bias) + [node("MatMul", ["p", "z"], ["y"])]
    known = {"w": floats(5, 12), "f": floats(12), "apart": integers(2, 6, 9, 3, 4)}
    sizes = {"l": rows, "p": [2, 6, 3, 1, 4 if keys else 9]}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    name = f"heads-{'keys' if keys else 'values'}-after-each" + "-bias" * bias
    model = nodes, inputs, [tensor("y", [2, 6, 3, 1, 9 if keys else 4])], known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("heads", name)])
    assert kinds[0] == "Reshape" and kinds.count("MatMul") == 2 + (keys and bias), kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


@pytest.mark.parametrize("kind", ["Mish", "Softplus"])
def test_mish_by_a_sigmoid(tmp_path, kind):
    """Far from 0, too, where the exponential of x overflows."""
    nodes = [node("Mish", ["x"], ["y"])]
    if kind == "Softplus":
        nodes = [node("Softplus", ["x"], ["p"]), node("Tanh", ["p"], ["t"])]
        nodes += [node("Mul", ["x", "t"], ["y"])]
    model = nodes, [tensor("x", [8, 64])], [tensor("y", [8, 64])], {}
    name = "mish-sigmoid" if kind == "Mish" else "softplus-tanh-sigmoid"
    rules = [("activation", name)]
    kinds, *paths = rewritten(tmp_path, *model, opset=18, rules=rules)
    assert "Sigmoid" in kinds and kind not in kinds, kinds
    for scale in (1, 10, 100, 1e4):
        agree(*paths, {"x": floats(8, 64) * numpy.float32(scale)})


@pytest.mark.parametrize("scaled", [False, True])
def test_latent_keys(tmp_path, scaled):
    """Three heads, keys of four elements and of two that all heads share, values of five."""
    nodes = heads_of("l", "b", 3, 9, [0, 2, 1, 3], False) + [
        node("Split", ["b", "sizes"], ["x", "v"], axis=3),
        node("Expand", ["k", "all"], ["g"]),
        node("Concat", ["x", "g"], ["c"], axis=3),
    ]
    known = {"w": floats(7, 27), "apart": integers(2, 9, 3, 9), "sizes": integers(4, 5)}
    known |= {"all": integers(2, 3, 9, 2)}
    if scaled:
        more, scale = transposed_scaled("c", [2, 3, 9, 6])
        nodes, known = nodes + more, known | scale
    else:
        nodes += [node("Transpose", ["c"], ["z"], perm=[0, 1, 3, 2])]
    nodes += [node("MatMul", ["q", "z"], ["y"]), node("Relu", ["v"], ["u"])]
    sizes = {"l": [2, 1, 9, 7], "k": [2, 1, 9, 2], "q": [2, 3, 1, 6]}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    outputs = [tensor("y", [2, 3, 1, 9]), tensor("u", [2, 3, 9, 5])]
    rules = [("heads", "latent-keys" + "-scaled" * scaled)]
    kinds, *paths = rewritten(tmp_path, nodes, inputs, outputs, known, rules=rules)
    assert "Expand" not in kinds and kinds.count("MatMul") == 4, kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


def test_heads_apart(tmp_path):
    nodes = heads_of("l", "b", 3, 9, [0, 2, 1, 3], False) + [
        node("Split", ["b", "sizes"], ["x", "y"], axis=3)
    ]
    known = {"w": floats(7, 27), "apart": integers(2, 9, 3, 9), "sizes": integers(4, 5)}
    outputs = [tensor("x", [2, 3, 9, 4]), tensor("y", [2, 3, 9, 5])]
    model = nodes, [tensor("l", [2, 9, 7])], outputs, known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("heads", "heads-apart")])
    assert kinds.count("MatMul") == 2 and "Split" not in kinds, kinds
    agree(*paths, {"l": floats(2, 9, 7)})


@pytest.mark.parametrize("rule", ["pooled-linear-add", "pooled-linear-bias"])
def test_weighted_sums(tmp_path, rule):
    nodes = [
        node("MatMul", ["h", "w"], ["m"]),
        node("Add", ["m", "a"], ["s"]),
        node("MatMul", ["p", "s"], ["y"]),
    ]
    sizes = {"p": [2, 1, 9], "h": [2, 9, 6]} | ({"a": [2, 9, 5]} if "add" in rule else {})
    known = {"w": floats(6, 5)} | ({} if "add" in rule else {"a": floats(5)})
    inputs = [tensor(k, v) for k, v in sizes.items()]
    model = nodes, inputs, [tensor("y", [2, 1, 5])], known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("products", rule)])
    assert kinds.index("Add") > kinds.index("MatMul", kinds.index("MatMul") + 1), kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_differences(tmp_path, turned, batch):
    """Rows that were taken from a table are also read elsewhere, and the number of rows is open."""
    n = "n" if not batch else 4
    taken = [node("Gather", ["z", "i"], ["t"], axis=int(batch))]
    taken += (
        [node("Reshape", ["t", "parted"], ["g"])] if batch else [node("Identity", ["t"], ["g"])]
    )
    nodes = taken + [
        node("Sub", ["g", "x"] if turned else ["x", "g"], ["d"]),
        node("MatMul", ["d", "w"], ["y"]),
        node("Mul", ["g", "g"], ["o"]),
    ]
    before = [2] * batch
    sizes = {"x": [*before, n, 1, 6]} | ({"z": [2, 7, 6]} if batch else {})
    known = {"w": floats(6, 5), "parted": integers(2, 4, 3, 6)}
    known |= {} if batch else {"z": floats(7, 6)}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    inputs += [tensor("i", [12] if batch else [n, 3], TensorProto.INT64)]
    outputs = [tensor(k, [*before, n, 3, m]) for k, m in (("y", 5), ("o", 6))]
    name = "linear-difference-" + ("neighbour" if batch else "rows") + "-turned" * turned
    words = [] if batch else ["--dim", "n=4"]
    words += ["--input", "i=0..6"]
    model = nodes, inputs, outputs, known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("parts", name)], words=words)
    assert kinds.count("MatMul") == 2 or kinds.count("Gather") == 2, kinds
    feed = {k: floats(*(4 if s == "n" else s for s in v)) for k, v in sizes.items()}
    agree(*paths, feed | {"i": DRAW.integers(0, 7, 12 if batch else (4, 3))})


def test_rows_of_each_batch(tmp_path):
    """x[:, i], as PyTorch's newer exporter writes it."""
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        node("Unsqueeze", ["i", "minus"], ["j"]),
        node("GatherND", ["t", "j"], ["g"]),
        node("Transpose", ["g"], ["y"], perm=[1, 0, 2]),
    ]
    inputs = [tensor("x", [2, 6, 3]), tensor("i", [4], TensorProto.INT64)]
    model = nodes, inputs, [tensor("y", [2, 4, 3])], {"minus": integers(-1)}
    rules = [("gather", "gathernd-rows-second")]
    kinds, *paths = rewritten(tmp_path, *model, rules=rules, words=["--input", "i=0..5"])
    assert kinds == ["Gather"], kinds
    agree(*paths, {"x": floats(2, 6, 3), "i": DRAW.integers(-6, 6, 4)})


@pytest.mark.parametrize("many", [2, 3])
def test_short_softmax(tmp_path, many):
    shape = [5, 4, many]
    model = [node("Softmax", ["x"], ["y"], axis=-1)], [tensor("x", shape)], [tensor("y", shape)], {}
    rules = [("products", f"softmax-last-{many}")]
    kinds, *paths = rewritten(tmp_path, *model, rules=rules)
    assert "Softmax" not in kinds, kinds
    for scale in (1, 1e3, 1e30):
        agree(*paths, {"x": floats(*shape) * numpy.float32(scale)})


@pytest.mark.parametrize("rule", ["linear-scores", "linear-scores-pairs", "conv-1x1-scores"])
def test_scores(tmp_path, rule):
    known = {"f": floats(8), "joined": integers(2, 12, 8)}
    score = node("MatMul", ["l", "q"], ["y"])
    if rule == "conv-1x1-scores":
        known |= {"w": floats(8, 6, 1, 1), "joined": integers(2, 8, 12)}
        sizes, out = {"x": [2, 6, 3, 4], "q": [2, 3, 8]}, [2, 3, 12]
        nodes = [node("Conv", ["x", "w", "f"], ["c"]), node("Reshape", ["c", "joined"], ["l"])]
        score = node("MatMul", ["q", "l"], ["y"])
    else:
        known |= {"w": floats(6, 8)}
        rows = [12] if rule == "linear-scores" else [3, 4]
        sizes, out = {"x": [2, *rows, 6], "q": [2, 8, 3]}, [2, 12, 3]
        nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "f"], ["a"])]
        last = "Identity" if rule == "linear-scores" else "Reshape"
        nodes += [node(last, ["a", "joined"] if last == "Reshape" else ["a"], ["l"])]
    inputs = [tensor(k, v) for k, v in sizes.items()]
    model = nodes + [score], inputs, [tensor("y", out)], known
    kinds, *paths = rewritten(tmp_path, *model, rules=[("products", rule)])
    assert kinds.count("MatMul") == 3 and "Conv" not in kinds, kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})


def places(start, count, how, name):
    """Nodes and constants that make indices [count, 1] from `start` on."""
    if how == "constant":
        return [], {name: numpy.arange(start, start + count).reshape(-1, 1)}
    nodes = [
        node("Range", ["zero", "seven", "unit"], [name + "r"]),
        node("Slice", [name + "r", name + "s", name + "e"], [name + "t"]),
        node("Unsqueeze", [name + "t", "minus"], [name]),
    ]
    known = {name + "s": integers(start), name + "e": integers(start + count)}
    known |= {"zero": numpy.int64(0), "seven": numpy.int64(7), "unit": numpy.int64(1)}
    return nodes, known | {"minus": integers(-1)}


@pytest.mark.parametrize("how", ["constant", "range"])
@pytest.mark.parametrize("axes", [3, 4])
def test_written_slices(tmp_path, how, axes):
    """y = empty(..); y[.., :4] = u; y[.., 4:] = v, as PyTorch's newer exporter writes it."""
    perm = [axes - 1, *range(1, axes - 1), 0]
    front = [2, 3, 5][: axes - 1]
    (first, known), (then, more) = places(0, 4, how, "i"), places(4, 3, how, "j")
    turn = lambda x, y: node("Transpose", [x], [y], perm=perm)
    nodes = [node("ConstantOfShape", ["shape"], ["z"]), *first, *then]
    nodes += [turn("z", "zt"), turn("u", "ut"), node("ScatterND", ["zt", "i", "ut"], ["a"])]
    nodes += [turn("a", "b"), turn("b", "c"), turn("v", "vt")]
    nodes += [node("ScatterND", ["c", "j", "vt"], ["d"]), turn("d", "y")]
    known |= more | {"shape": integers(*front, 7)}
    sizes = {"u": [*front, 4], "v": [*front, 3]}
    inputs = [tensor(k, v) for k, v in sizes.items()]
    rules = [("slices", f"slices-written-{axes}")]
    model = nodes, inputs, [tensor("y", [*front, 7])], known
    kinds, *paths = rewritten(tmp_path, *model, rules=rules)
    assert kinds == ["Concat"], kinds
    agree(*paths, {k: floats(*v) for k, v in sizes.items()})
