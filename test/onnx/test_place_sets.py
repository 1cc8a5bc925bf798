"""With a command as the target, rules that gain only together are tried together, and rewritings
that the file cannot express are not tried."""

import os

import numpy
import onnx
from onnx import helper
from small_models import SQUARED, forged, save, tensor, unsigned


def head(path):
    """A model of a 1x1 convolution of four joined maps, three of which are resized to the size of
    the first."""
    rng = numpy.random.default_rng(4)
    small = "bcd"
    resizes = [
        helper.make_node("Resize", [x, "", "", "to"], [x + "r"], mode="linear") for x in small
    ]
    return save(
        path,
        [
            *resizes,
            helper.make_node("Concat", ["a", *(x + "r" for x in small)], ["m"], axis=1),
            helper.make_node("Conv", ["m", "w", "bias"], ["y"]),
        ],
        [tensor("a", [1, 8, 16, 16])] + [tensor(x, [1, 8, 4, 4]) for x in small],
        [tensor("y", [1, 8, 16, 16])],
        {
            "to": numpy.array([1, 8, 16, 16]),
            "w": (rng.random((8, 32, 1, 1)) - 0.5).astype("f"),
            "bias": rng.random(8, dtype="f"),
        },
    )


# On this target a convolution takes as long as its multiplications, a product is slow, and all else
# is fast.
ARITHMETIC = """
shape = sizes(graph)
inferred = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True).graph
for info in [*inferred.value_info, *inferred.output]:
    shape[info.name] = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
seconds = 1.0
for node in graph.node:
    seconds += 9 if node.op_type in ("MatMul", "ConvTranspose") else 0.01
    if node.op_type == "Conv":
        _, channels, high, wide = shape[node.output[0]]
        seconds += channels * high * wide * shape[node.input[1]][1] * 1e-4
return seconds
"""


def test_what_a_rule_enables_is_found_beside_what_would_take_its_place(run, pricing, tmp_path):
    """When the convolution has become a sum of four, three of them can be done before the resize.
    But if all rules that match then were applied, they would become products first."""
    rules = ["conv-concat-channels-bias-4", "conv-1x1-matmul", "conv-1x1-resize"]
    enabled = [word for rule in rules for word in ("--enable", rule)]
    done, out, _ = run(head(tmp_path / "m.onnx"), *enabled, *pricing(ARITHMETIC))
    convolved = {node.output[0] for node in out.graph.node if node.op_type == "Conv"}
    resized = [node.input[0] for node in out.graph.node if node.op_type == "Resize"]
    assert set(resized) <= convolved, done.stdout


ROWS_IN_FOURS = """rule rows-in-fours
  %x : F [n, c, h, w]   %u : F [o, c, 1, 1]
from
  %y = conv %x %u
  out %y
to
  %z = conv %x %u pads=[0, 0, 4*floor((h + 3)/4) - h, 0]
  %y = slice %z starts=[0, 0, 0, 0] sizes=[n, o, h, w]
  out %y

rule square
"""
ROWS_IN_FOURS += SQUARED
# On this target a power and a convolution without padding are slow.
PADDED = """
slow = [node for node in graph.node if node.op_type == "Pow"]
slow += [node for node in graph.node if node.op_type == "Conv"
         and not any(any(a.ints) for a in node.attribute if a.name == "pads")]
return 1.0 + len(slow)
"""


def squared(path, high):
    return save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Pow", ["c", "two"], ["y"]),
        ],
        [tensor("x", [1, 3, high, 8])],
        [tensor("y", [1, 3, high, 8])],
        {"w": numpy.ones((3, 3, 1, 1), "f"), "two": numpy.float32(2)},
    )


def padded(out):
    return {a.name: list(a.ints) for n in out.graph.node for a in n.attribute}.get("pads")


def test_where_sizes_are_open_a_pad_that_depends_on_them_is_not_tried(run, pricing, tmp_path):
    """In a part, where sizes are numbers, such a pad could be written and would gain. The other
    rewriting is not lost because of it."""
    options = ["--rules", forged(tmp_path, ROWS_IN_FOURS), "-v", *pricing(PADDED)]
    done, out, _ = run(squared(tmp_path / "m.onnx", "h"), "--dim", "h=6", *options, library=False)
    assert [node.op_type for node in out.graph.node] == ["Conv", "Mul"], done.stdout
    assert "is dropped" not in done.stderr and "rows-in-fours" not in done.stderr, done.stderr
    done, out, _ = run(squared(tmp_path / "m.onnx", 6), *options, library=False)
    assert padded(out) == [0, 0, 2, 0], done.stdout


# On this target moves are slow if sizes are open.
OPEN_MOVES = """
dims = [dim for info in graph.input for dim in info.type.tensor_type.shape.dim]
moves = [node for node in graph.node if node.op_type in ("Reshape", "Transpose")]
return 1.0 + (len(moves) if any(dim.dim_param for dim in dims) else 0)
"""


def merged_heads(path, rows):
    """A model that transposes keys as PyTorch's exporter writes it: heads and batch are merged and
    split again."""
    move = lambda kind, *names, **attributes: helper.make_node(
        kind, names[:-1], names[-1:], **attributes
    )
    return save(
        path,
        [
            move("Reshape", "x", "merged", "a"),
            move("Transpose", "a", "b", perm=[0, 2, 1]),
            move("Reshape", "b", "apart", "c"),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        [tensor("x", [1, 6, rows, 8])],
        [tensor("y", [1, 6, 8, rows])],
        {"merged": numpy.array([6, -1, 8]), "apart": numpy.array([1, 6, 8, -1])},
    )


def test_shorter_moves_are_tried_where_sizes_are_open(run, pricing, tmp_path):
    """In a part, where sizes are numbers, the target may fuse moves that it does not fuse in the
    model. So a gain that no part shows is tried with the whole model."""
    done, out, _ = run(merged_heads(tmp_path / "m.onnx", "n"), "--dim", "n=5", *pricing(OPEN_MOVES))
    assert [node.op_type for node in out.graph.node].count("Reshape") == 0, done.stdout


def bytes_chain(path, convolved, count=4):
    """A model of convolutions or products of signed bytes, which are dequantized before and
    quantized after each."""
    rng = numpy.random.default_rng(5)
    scales = {"s": numpy.float32(0.02), "z": numpy.int8(3)}
    quantized = lambda x, y: helper.make_node("QuantizeLinear", [x, "s", "z"], [y])
    floats = lambda x, y: helper.make_node("DequantizeLinear", [x, "s", "z"], [y])
    conv = lambda *names: helper.make_node("Conv", [*names[:2], "b"], names[2:], pads=[1] * 4)
    matmul = lambda *names: helper.make_node("MatMul", names[:2], names[2:])
    nodes = [quantized("x", "q0")]
    for k in range(count):
        nodes.append(floats(f"q{k}", f"d{k}"))
        nodes.append((conv if convolved else matmul)(f"d{k}", f"w{k}", f"c{k}"))
        nodes.append(quantized(f"c{k}", f"q{k + 1}"))
    shape = (8, 8, 3, 3) if convolved else (6, 6)
    weights = {f"w{k}": (rng.random(shape) - 0.5).astype("f") for k in range(count)}
    weights |= {"b": rng.random(8, dtype="f")} if convolved else {}
    return save(
        path,
        [*nodes, floats(f"q{count}", "y")],
        [tensor("x", [1, 8, 6, 6])],
        [tensor("y", [1, 8, 6, 6])],
        {**scales, **weights},
    )


def zeros(out):
    """The element types of the zero points in a model."""
    bytes_ = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    return {x.data_type for x in out.graph.initializer if x.data_type in bytes_}


# On this target a convolution of signed bytes is slow, a conversion costs something, and all else
# is slower than both.
SIGNED = """
types = {x.name: x.data_type for x in graph.initializer}
zero = {node.output[0]: types.get(node.input[2]) for node in graph.node
        if node.op_type == "DequantizeLinear" and len(node.input) > 2}
price = {"Cast": 0.2, "Add": 0.2, "QuantizeLinear": 0, "DequantizeLinear": 0}
seconds = 1.0
for node in graph.node:
    signed = node.op_type == "Conv" and zero.get(node.input[0]) == onnx.TensorProto.INT8
    seconds += price.get(node.op_type, 1.0 if signed else 0.3 if node.op_type == "Conv" else 2)
return seconds
"""


@unsigned
def test_rules_that_only_take_work_away_follow_every_rule(run, pricing, tmp_path):
    """A single convolution of unsigned bytes needs conversions that cost more than it gains, but
    between two of them no conversion is left. If all rules that match then were applied, it would
    become a product."""
    options = ["--disable", "quantized-between-unsigned", *pricing(SIGNED)]
    done, out, _ = run(bytes_chain(tmp_path / "m.onnx", True), *options)
    kinds = [node.op_type for node in out.graph.node]
    assert kinds.count("Conv") == 4 and "Cast" not in kinds, done.stdout
    assert zeros(out) == {onnx.TensorProto.UINT8}, done.stdout


# On this target a product of bytes of two types is slower than one of signed bytes, and that is
# slower than one of unsigned bytes.
MIXED = """
types = {x.name: x.data_type for x in graph.initializer}
byte = {}
for node in graph.node:
    if node.op_type == "QuantizeLinear":
        byte[node.input[0]] = types.get(node.input[2])
    if node.op_type == "DequantizeLinear":
        byte[node.output[0]] = types.get(node.input[2])
seconds = 1.0
for node in graph.node:
    if node.op_type == "MatMul":
        kinds = {byte.get(node.input[0]), byte.get(node.output[0])}
        seconds += 3 if len(kinds) == 2 else 0.3 if onnx.TensorProto.UINT8 in kinds else 1
    seconds += 0.6 * (node.op_type == "Cast")
return seconds
"""


@unsigned
def test_where_a_type_between_operators_changes_it_changes_between_all(run, pricing, tmp_path):
    """Changing a single type would leave two products of bytes of two types."""
    done, out, _ = run(bytes_chain(tmp_path / "m.onnx", False), *pricing(MIXED))
    assert zeros(out) == {onnx.TensorProto.UINT8}, done.stdout


@unsigned
def test_bytes_stay_signed_where_products_of_two_kinds_saturate(run, optimize, pricing, tmp_path):
    """On a processor that adds products in 16 bits, results would change. A frozen run gives the
    result of the run that measured, on any processor. A replay there says why it cannot follow the
    log."""
    options = ["-v", *pricing(MIXED)]
    generic = {**os.environ, "ISOMER_CPU": "generic"}
    done, out, _ = run(bytes_chain(tmp_path / "m.onnx", False), *options, env=generic)
    assert zeros(out) == {onnx.TensorProto.INT8}, done.stdout
    assert "quantized-between-unsigned is left out: sums of products" in done.stderr
    done, out, _ = run(bytes_chain(tmp_path / "m.onnx", False), *options)
    assert "on x86 processors without VNNI" in done.stdout
    frozen = [tmp_path / "m.onnx", *options, "--frozen"]
    assert run(*frozen)[1] == run(*frozen, env=generic)[1] == out
    log = tmp_path / "log"
    run(*frozen[:-1], "--proof-log", log)
    done = optimize(*frozen[:-1], tmp_path / "o.onnx", "--replay", log, env=generic)
    assert done.returncode == 1 and "may saturate on this processor" in done.stderr, done.stderr


def product_chain(path, *products):
    """A model of matrix products: each entry of `products` is (left operand, right operand,
    result); upper-case names are square weights, and "tanh" as the right operand is a tanh."""
    rng = numpy.random.default_rng(6)
    nodes, weights = [], {}
    for left, right, result in products:
        inputs = [left] if right == "tanh" else [left, right]
        nodes.append(helper.make_node("Tanh" if right == "tanh" else "MatMul", inputs, [result]))
        weights |= {x: rng.random((8, 8), dtype="f") - 0.5 for x in inputs if x.isupper()}
    last = products[-1][-1]
    return save(path, nodes, [tensor("x", [64, 8])], [tensor(last, [64, 8])], weights)


def test_rules_that_undo_each_other_are_tried_alone(run, pricing, tmp_path):
    """x U V may be computed as x (U V), and that as (x U) V. All rules at once lead back to the
    model, so none of them seems to apply."""
    model = product_chain(tmp_path / "m.onnx", ("x", "U", "a"), ("a", "V", "y"))
    body = "return 1.0 + kinds(graph).count('MatMul')"
    done, out, said = run(model, *pricing(body))
    assert [node.op_type for node in out.graph.node] == ["MatMul"], done.stdout


def test_a_product_is_not_merged_with_one_that_depends_on_it(run, pricing, tmp_path):
    """The first product would have to be computed as before, and could be merged again and
    again."""
    steps = [("x", "U", "a"), ("a", "tanh", "b"), ("b", "U", "c"), ("c", "tanh", "y")]
    model = product_chain(tmp_path / "m.onnx", *steps)
    done, _, said = run(model, "-v", *pricing("return 1.0"))
    assert said["reason"] == "no rule applies anywhere", done.stderr
    assert "reached the limit" not in done.stderr, done.stderr
