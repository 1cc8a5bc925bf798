"""A linear layer on rows that are gathered or repeated and joined becomes layers on the parts
(parts.rules, gather.rules); inverse transforms of half a spectrum become products
(fourier.rules)."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import LIBRARY, PROGRAM, save, tensor

EAGER = os.path.join(os.path.dirname(__file__), "prefer-rewritten")
DRAW = numpy.random.default_rng(0)
PAIRS = ("pairs-linear", "pairs-linear-turned", "pairs-weighed")


def floats(*shape):
    return DRAW.normal(size=shape).astype("f")


def rewritten(tmp_path, *model, rules, words=(), **about):
    """Rewrites a model with these rules of the library: (operators of the result, both paths)."""
    path, out = save(tmp_path / "m.onnx", *model, **about), tmp_path / "o.onnx"
    words = [PROGRAM, str(path), str(out), "--measure-with", EAGER, "--quiet", *words]
    for file, name in rules:
        words += ["--rules", os.path.join(LIBRARY, file + ".rules"), "--enable", name]
    subprocess.run(words, check=True, capture_output=True)
    return [node.op_type for node in onnx.load(out).graph.node], str(path), str(out)


def agree(a, b, feed):
    run = lambda path: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
        None, feed
    )
    for left, right in zip(run(a), run(b)):
        numpy.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def stretched(size, n, m):
    """Nodes, inputs and constants that expand x [1, n, 1, size] and z [1, 1, m, size] to all
    pairs."""
    nodes = [helper.make_node("Expand", [name, "to"], [name + "s"]) for name in "xz"]
    inputs = [tensor("x", [1, n, 1, size]), tensor("z", [1, 1, m, size])]
    return nodes, inputs, {"to": numpy.array([1, n, m, size])}


@pytest.mark.parametrize(
    "order, rule", [("xz", "pairs-linear"), ("zx", "pairs-linear-turned"), ("xx", None)]
)
def test_pairs(tmp_path, order, rule):
    nodes, inputs, known = stretched(5, 6, 7)
    nodes += [
        helper.make_node("Concat", [name + "s" for name in order], ["c"], axis=-1),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    known["w"] = floats(10, 3)
    given = nodes, inputs, [tensor("y", [1, 6, 7, 3])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("parts", rule or PAIRS[0])])
    assert ("Concat" in kinds) == (rule is None), kinds
    agree(*paths, {"x": floats(1, 6, 1, 5), "z": floats(1, 1, 7, 5)})


def test_weighed_pairs(tmp_path):
    nodes, inputs, known = stretched(5, 6, 7)
    nodes += [
        helper.make_node("Mul", ["xs", "zs"], ["p"]),
        helper.make_node("MatMul", ["p", "w"], ["y"]),
    ]
    known["w"] = floats(5, 1)
    given = nodes, inputs, [tensor("y", [1, 6, 7, 1])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("parts", "pairs-weighed")])
    assert "Expand" not in kinds, kinds
    agree(*paths, {"x": floats(1, 6, 1, 5), "z": floats(1, 1, 7, 5)})


@pytest.mark.parametrize(
    "parts, rule",
    [
        ("xt", "linear-stretched"),
        ("tx", "linear-stretched-turned"),
        ("tz", "linear-neighbour"),
        ("xtz", "linear-edge"),
    ],
)
def test_messages(tmp_path, parts, rule):
    """As in networks that pass messages: x is the row of a node, t is known for each of its edges,
    and z is the row of the neighbour, from a list of all neighbours. An index may count from the
    end."""
    sizes = {"x": [2, 6, 1, 3], "t": [2, 6, 4, 5], "z": [2, 9, 2]}
    nodes = {
        "x": [helper.make_node("Expand", ["x", "to"], ["xs"])],
        "t": [helper.make_node("Identity", ["t"], ["ts"])],
        "z": [
            helper.make_node("Gather", ["z", "i"], ["g"], axis=1),
            helper.make_node("Reshape", ["g", "apart"], ["zs"]),
        ],
    }
    feed = {n: floats(*sizes[n]) for n in parts}
    inputs = [tensor(n, sizes[n]) for n in parts]
    if "z" in parts:
        feed["i"] = DRAW.integers(-9, 9, 24)
        inputs.append(helper.make_tensor_value_info("i", TensorProto.INT64, [24]))
    known = {"to": numpy.array([2, 6, 4, 3]), "apart": numpy.array([2, 6, 4, 2])}
    known = {n: v for n, v in known.items() if {"to": "x", "apart": "z"}[n] in parts}
    known["w"] = floats(sum(sizes[n][-1] for n in parts), 7)
    made = [node for n in parts for node in nodes[n]] + [
        helper.make_node("Concat", [n + "s" for n in parts], ["c"], axis=-1),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    given = made, inputs, [tensor("y", [2, 6, 4, 7])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("parts", rule)])
    assert "Concat" not in kinds and kinds.count("MatMul") == len(parts), kinds
    agree(*paths, feed)


@pytest.mark.parametrize(
    "parts, name, open_size",
    [("xt", "", False), ("xt", "", True), ("tx", "-turned", False), ("sxt", "-third", True)],
)
def test_one_row_beside_each_of_many(tmp_path, parts, name, open_size):
    """A state x and the actions that are tried, the code of a shape and places in space."""
    m = "m" if open_size else 6
    sizes = {"x": [1, 3], "t": [m, 5], "s": [m, 2]}
    nodes = [helper.make_node("Expand", ["x", "to"], ["xs"])]
    if open_size:
        nodes = [
            helper.make_node("Shape", ["t"], ["many"], start=0, end=1),
            helper.make_node("Concat", ["many", "three"], ["to"], axis=0),
        ] + nodes
    nodes += [
        helper.make_node("Concat", [n.replace("x", "xs") for n in parts], ["c"], axis=1),
        helper.make_node("Gemm", ["c", "w", "b"], ["y"], transB=1),
    ]
    known = {"three": numpy.array([3])} if open_size else {"to": numpy.array([6, 3])}
    known |= {"w": floats(7, sum(sizes[n][-1] for n in parts)), "b": floats(7)}
    inputs = [tensor(n, sizes[n]) for n in parts]
    model = nodes, inputs, [tensor("y", [m, 7])], known
    words = ["--dim", "m=6"] if open_size else []
    rules = [("parts", "gemm-stretched" + name)]
    kinds, *paths = rewritten(tmp_path, *model, opset=18, rules=rules, words=words)
    assert kinds.count("Gemm") == 2, kinds
    agree(*paths, {n: floats(*(6 if k == "m" else k for k in sizes[n])) for n in parts})


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("parts", ["xz", "zx"])
def test_a_cloud_beside_each_of_its_points(tmp_path, parts, bias):
    known = {"to": numpy.array([2, 4, 9]), "w": floats(6, 7, 1), "b": floats(6)}
    nodes = [
        helper.make_node("Expand", ["z", "to"], ["zs"]),
        helper.make_node("Concat", [n.replace("z", "zs") for n in parts], ["c"], axis=1),
        helper.make_node("Conv", ["c", "w"] + ["b"] * bias, ["y"]),
    ]
    inputs = [tensor("x", [2, 3, 9]), tensor("z", [2, 4, 1])]
    model = nodes, inputs, [tensor("y", [2, 6, 9])], known
    name = "conv1d-1x1-concat-stretched" + "-turned" * (parts == "zx") + "-bias" * bias
    kinds, *paths = rewritten(tmp_path, *model, rules=[("parts", name)])
    assert kinds.count("Conv") == 2, kinds
    agree(*paths, {"x": floats(2, 3, 9), "z": floats(2, 4, 1)})


def test_edges(tmp_path):
    """As for the messages in a graph network, rows are taken by two lists of indices."""
    nodes = [
        helper.make_node("GatherND", ["x", "i"], ["g"]),
        helper.make_node("GatherND", ["x", "j"], ["h"]),
        helper.make_node("Concat", ["g", "h"], ["c"], axis=1),
        helper.make_node("Gemm", ["c", "w", "b"], ["y"], transB=1),
    ]
    index = [helper.make_tensor_value_info(n, TensorProto.INT64, [50, 1]) for n in "ij"]
    known = {"w": floats(4, 10), "b": floats(4)}
    given = nodes, [tensor("x", [8, 5]), *index], [tensor("y", [50, 4])], known
    rules = [("gather", "gathernd-rows"), ("parts", "gemm-gathers")]
    kinds, *paths = rewritten(tmp_path, *given, rules=rules[:1])
    assert kinds.count("Gather") == 2 and "GatherND" not in kinds, kinds
    places = {n: DRAW.integers(0, 8, (50, 1)) for n in "ij"}
    agree(*paths, {"x": floats(8, 5)} | places)


@pytest.mark.parametrize("index", [[20], [6, 4]])
@pytest.mark.parametrize(
    "parts, act, bias, rules",
    [
        ("x", None, False, [("gather", "matmul-gather-batch")]),
        ("x", None, True, [("gather", "linear-gather-batch")]),
        ("xz", None, False, [("parts", "matmul-gathers-batch")]),
        ("xz", None, True, [("parts", "linear-gathers-batch")]),
        ("xzt", None, False, [("parts", "matmul-gathers-batch-third")]),
        ("xz", "Relu", False, [("parts", "matmul-gathers-batch-relu")]),
        ("xz", "Relu", True, [("parts", "linear-gathers-batch-relu")]),
    ],
)
def test_spans(tmp_path, index, parts, act, bias, rules):
    """As for the ends of spans, rows are taken from a table of each batch. An index may count from
    the end. The part t is known for each span."""
    sizes = {"x": [2, 5, 3], "z": [2, 6, 4], "t": [2, *index, 2]}
    feed = {n: floats(*sizes[n]) for n in parts}
    inputs = [tensor(n, sizes[n]) for n in parts]
    nodes, names = [], []
    for n in parts:
        names.append(n if n == "t" else n + "taken")
        if n != "t":
            feed[n + "at"] = DRAW.integers(-sizes[n][1], sizes[n][1], index)
            inputs.append(helper.make_tensor_value_info(n + "at", TensorProto.INT64, index))
            nodes.append(helper.make_node("Gather", [n, n + "at"], names[-1:], axis=1))
    read = names[0]
    if len(parts) > 1:
        nodes.append(helper.make_node("Concat", names, ["c"], axis=-1))
        read = "c"
    if act:
        nodes.append(helper.make_node(act, [read], ["a"]))
        read = "a"
    nodes.append(helper.make_node("MatMul", [read, "w"], ["m" if bias else "y"]))
    nodes += [helper.make_node("Add", ["b", "m"], ["y"])] * bias
    known = {"w": floats(sum(sizes[n][-1] for n in parts), 6)} | ({"b": floats(6)} if bias else {})
    given = nodes, inputs, [tensor("y", [2, *index, 6])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=rules, opset=20)
    assert kinds.index("MatMul") < kinds.index("Gather") and "Concat" not in kinds, kinds
    agree(*paths, feed)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("taking", ["GatherND", "Gather"])
def test_experts(tmp_path, taking, left):
    """Each row is multiplied by a matrix that an index chooses. No matrix is copied. An index may
    count from the end."""
    rows, experts, k, n = 6, 3, 5, 4
    nodes = [
        helper.make_node(taking, ["w", "i"], ["g"]),
        helper.make_node("MatMul", ["g", "x"] if left else ["x", "g"], ["y"]),
    ]
    x, y, w = ([k, 1], [n, 1], [n, k]) if left else ([1, k], [1, n], [k, n])
    places = [rows, 1] if taking == "GatherND" else [rows]
    inputs = [
        tensor("x", [rows, *x]),
        helper.make_tensor_value_info("i", TensorProto.INT64, places),
    ]
    given = nodes, inputs, [tensor("y", [rows, *y])], {"w": floats(experts, *w)}
    rule = f"experts-{taking.lower()}-{'left' if left else 'right'}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", rule)])
    assert kinds.index("MatMul") < kinds.index("GatherND"), kinds
    taken = numpy.array([0, -1, 2, 1, -3, 2]).reshape(places)
    agree(*paths, {"x": floats(rows, *x), "i": taken})


def test_experts_of_repeated_rows(tmp_path):
    nodes = [
        helper.make_node("Expand", ["x", "to"], ["r"]),
        helper.make_node("Reshape", ["r", "flat"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["p"]),
        helper.make_node("Reshape", ["p", "apart"], ["a"]),
        helper.make_node("GatherND", ["a", "i"], ["y"], batch_dims=1),
    ]
    sizes = {"to": [3, 2, 5], "flat": [6, 5], "apart": [6, 4, 7]}
    known = {n: numpy.array(v) for n, v in sizes.items()} | {"w": floats(5, 28)}
    inputs = [tensor("x", [3, 1, 5]), helper.make_tensor_value_info("i", TensorProto.INT64, [6, 1])]
    given = nodes, inputs, [tensor("y", [6, 7])], known
    kinds, *paths = rewritten(tmp_path, *given, rules=[("gather", "experts-repeated")])
    assert "Expand" not in kinds, kinds
    agree(*paths, {"x": floats(3, 1, 5), "i": numpy.array([[0], [-1], [3], [2], [1], [-4]])})


@pytest.mark.parametrize(
    "perm, rule",
    [
        ([0, 3, 1, 4, 2], "transpose-stretched-03142"),
        ([0, 1, 3, 2, 4], "transpose-stretched-01324"),
    ],
)
def test_what_is_stretched_is_transposed_before(tmp_path, perm, rule):
    """As for relative positions, a node that reads the rewritten transpose broadcasts it itself."""
    nodes = [
        helper.make_node("Expand", ["x", "to"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=perm),
        helper.make_node("Add", ["t", "z"], ["y"]),
    ]
    sizes = [2, 3, 4, 5, 6]
    turned = [sizes[k] for k in perm]
    inputs = [tensor("x", [2, 3, 1, 5, 6]), tensor("z", turned)]
    given = nodes, inputs, [tensor("y", turned)], {"to": numpy.array(sizes)}
    kinds, *paths = rewritten(tmp_path, *given, rules=[("stretch", rule)])
    assert "Expand" not in kinds and len(kinds) == 2, kinds
    agree(*paths, {"x": floats(2, 3, 1, 5, 6), "z": floats(*turned)})


def layer(kind, bias):
    """A layer with 8 outputs: nodes, sizes of the input and of the result, weights, and the axis
    along which the result is split."""
    if kind == "Conv":
        nodes = [helper.make_node("Conv", ["x", "w", "b"][: 2 + bias], ["m"], pads=[1, 1, 1, 1])]
        return nodes, [1, 3, 5, 5], [1, 8, 5, 5], {"w": floats(8, 3, 3, 3)}, 1
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m" if not bias else "n"])]
    nodes += [helper.make_node("Add", ["n", "b"], ["m"])] * bias
    sizes = [2, 5][: kind - 1] + [7, 3]
    return nodes, sizes[-kind:], sizes[-kind:-1] + [8], {"w": floats(3, 8)}, kind - 1


@pytest.mark.parametrize("parts", [[2, 6], [2, 2, 4]])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind, name", [(2, ""), (3, "-batch"), (4, "-batches"), ("Conv", None)])
def test_what_is_split_is_made_apart(tmp_path, kind, name, bias, parts):
    """The layer is split, too, if this rule is the only one that is applied."""
    if kind == "Conv" and len(parts) > 2:
        pytest.skip("two parts")
    nodes, size, made, known, axis = layer(kind, bias)
    known |= {"b": floats(8)} if bias else {}
    names = [f"y{k}" for k in range(len(parts))]
    nodes.append(helper.make_node("Split", ["m", "sizes"], names, axis=axis))
    outs = [tensor(n, made[:axis] + [p] + made[axis + 1 :]) for n, p in zip(names, parts)]
    given = nodes, [tensor("x", size)], outs, known | {"sizes": numpy.array(parts)}
    rule = "conv-apart" + "-bias" * bias if kind == "Conv" else None
    rule = rule or f"{'linear' if bias else 'matmul'}-apart-{len(parts)}{name}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("apart", rule)])
    assert "Split" not in kinds and sum(k in ("MatMul", "Conv") for k in kinds) == len(parts), kinds
    agree(*paths, {"x": floats(*size)})


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("parts", [[3, 5], [2, 2, 4], [1, 2, 2, 3]])
def test_gates_of_one_product_are_made_apart(tmp_path, parts, turned):
    names = [f"y{k}" for k in range(len(parts))]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["m"], transB=int(turned)),
        helper.make_node("Split", ["m", "sizes"], names, axis=1),
    ]
    known = {"w": floats(*([8, 3] if turned else [3, 8])), "b": floats(8)}
    outs = [tensor(n, [7, p]) for n, p in zip(names, parts)]
    given = nodes, [tensor("x", [7, 3])], outs, known | {"sizes": numpy.array(parts)}
    rule = f"gemm-apart-{len(parts)}{'-turned' * turned}"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("apart", rule)])
    assert kinds == ["Gemm"] * len(parts), kinds
    agree(*paths, {"x": floats(7, 3)})


def test_what_is_split_behind_a_sigmoid_is_made_apart(tmp_path):
    nodes, size, made, known, axis = layer(3, True)
    nodes += [
        helper.make_node("Sigmoid", ["m"], ["s"]),
        helper.make_node("Mul", ["m", "s"], ["z"]),
        helper.make_node("Split", ["z", "sizes"], ["y0", "y1"], axis=axis),
    ]
    outs = [tensor(n, made[:2] + [4]) for n in ("y0", "y1")]
    given = nodes, [tensor("x", size)], outs, known | {"b": floats(8), "sizes": numpy.array([4, 4])}
    names = "mul-apart-3-2", "sigmoid-apart-3-2", "linear-apart-2-batch"
    kinds, *paths = rewritten(tmp_path, *given, rules=[("apart", name) for name in names])
    assert "Split" not in kinds and kinds.count("MatMul") == 2, kinds
    agree(*paths, {"x": floats(*size)})


def irfft(shape, axis, length, side):
    """An inverse DFT from half of a spectrum, of real and imaginary parts that are put side by
    side or of complex numbers."""
    attrs = {"inverse": 1, "onesided": 1}
    known = {"axis": numpy.array(axis)} | ({"n": numpy.array(length)} if length else {})
    nodes = [helper.make_node("DFT", ["z", "n" if length else "", "axis"], ["y"], **attrs)]
    if side:
        nodes.insert(0, helper.make_node("Concat", ["re", "im"], ["z"], axis=-1))
    names = ("re", "im") if side else ("z",)
    inputs = [tensor(n, [*shape, 2 - side]) for n in names]
    made = [*shape, 1]
    made[axis] = length or 2 * shape[axis] - 2
    return (nodes, inputs, [tensor("y", made)], known), {n: floats(*shape, 2 - side) for n in names}


def gives_irfft(path, feed, length, axis):
    z = numpy.concatenate((feed["re"], feed["im"]), -1) if "re" in feed else feed["z"]
    signal = numpy.fft.irfft(z[..., 0] + 1j * z[..., 1], length, axis)
    out = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)
    numpy.testing.assert_allclose(out[0][..., 0], signal, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shape, axis, length, rules",
    [
        ([2, 3, 7], 2, None, ["half"]),
        ([2, 3, 7], 2, 12, ["half-length"]),
        ([2, 3, 7], 2, 13, ["half-length"]),
        ([2, 7, 3], 1, 12, ["half-columns"]),
        ([2, 7, 3], 1, 9, ["half-columns"]),
        ([2, 3, 7], 2, 12, ["half-parts"]),
        ([2, 3, 7], 2, 15, ["half-parts"]),
        ([2, 7, 3], 1, 13, ["half-parts-columns"]),
        ([2, 2, 7, 3], 2, 12, ["half-columns", "dft-axes-inverse-half"]),
    ],
)
def test_half_of_a_spectrum(tmp_path, shape, axis, length, rules):
    """As at the end of vocoders, and of filters in the frequency domain. A length may cut the
    spectrum or fill it with zeros."""
    given, feed = irfft(shape, axis, length, int("parts" in rules[0]))
    names = [r if r.startswith("dft") else f"dft-matmul-inverse-{r}" for r in rules]
    kinds, *paths = rewritten(
        tmp_path, *given, opset=20, rules=[("fourier", name) for name in names]
    )
    assert "MatMul" in kinds and "DFT" not in kinds, kinds
    gives_irfft(paths[1], feed, length, axis)


@pytest.mark.parametrize("open_size", [False, True])
def test_zeros_beside_real_numbers(tmp_path, open_size):
    """As PyTorch's exporter writes a transform of real numbers."""
    first, more, words, name = 2, [], [], "dft-concat-zeros"
    known = {"zeros": numpy.zeros((2, 3, 7, 1), "f"), "axis": numpy.array(2)}
    if open_size:
        first, words, name = "b", ["--dim", "b=2"], "dft-concat-zero-stretched"
        known["zero"] = numpy.float32(0)
        del known["zeros"]
        more = [
            helper.make_node("Shape", ["x"], ["sizes"]),
            helper.make_node("Expand", ["zero", "sizes"], ["zeros"]),
        ]
    nodes = more + [
        helper.make_node("Concat", ["x", "zeros"], ["c"], axis=-1),
        helper.make_node("DFT", ["c", "", "axis"], ["y"]),
    ]
    model = nodes, [tensor("x", [first, 3, 7, 1])], [tensor("y", [first, 3, 7, 2])], known
    rules = [("fourier", name)]
    kinds, *paths = rewritten(tmp_path, *model, opset=20, rules=rules, words=words)
    assert kinds == ["DFT"], kinds
    agree(*paths, {"x": floats(2, 3, 7, 1)})


def test_an_identity_is_left_to_the_target(tmp_path):
    """The file may not grow by the matrix of the transform, so the target makes it as it loads the
    file, beginning with an identity."""
    given, feed = irfft([2, 3, 40], 2, 79, 0)
    words = ["--max-growth", "20000"]
    kinds, *paths = rewritten(
        tmp_path,
        *given,
        opset=20,
        rules=[("fourier", "dft-matmul-inverse-half-length")],
        words=words,
    )
    assert "MatMul" in kinds and "EyeLike" in kinds, kinds
    gives_irfft(paths[1], feed, 79, 2)
