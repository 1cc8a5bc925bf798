"""A command as the target: rules that gain together are tried together."""

import numpy
from onnx import helper
from small_models import save, tensor


def head(path):
    """A 1x1 convolution of four maps, of which three are resized to the size of the first."""
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


# Of convolutions the multiplications; a product is slow, all else fast.
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
    """Once the convolution is a sum of four, three of them may be done before the resize; but where
    all rules that match then are applied, they become products first."""
    rules = ["conv-concat-channels-bias-4", "conv-1x1-matmul", "conv-1x1-resize"]
    enabled = [word for rule in rules for word in ("--enable", rule)]
    done, out, _ = run(head(tmp_path / "m.onnx"), *enabled, *pricing(ARITHMETIC))
    convolved = {node.output[0] for node in out.graph.node if node.op_type == "Conv"}
    resized = [node.input[0] for node in out.graph.node if node.op_type == "Resize"]
    assert set(resized) <= convolved, done.stdout
