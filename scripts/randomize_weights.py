"""Gives a model random weights.  Usage: randomize-weights IN OUT SEED

The light models of the onnx package have no weights of their own. In place of each there is a
ConstantOfShape with a constant shape, or a constant whose elements are all equal, so that errors
cancel and everything can be folded. Each of these that has more than one float becomes an
initializer with values that keep activations in range: weights of variance 2 / fan-in, scales and
variances near 1, the rest small. The values depend only on the seed and on the tensor's name.
Exit status: 2 usage, 3 the model cannot be read or is not valid, 5 the result cannot be written.
"""

import math, sys, zlib
from packages import fail, need, show_help

need("numpy", "onnx")
import numpy, onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx_tools import one_line, read_model  # noqa: E402

VIEWS = {"Reshape", "Unsqueeze", "Squeeze", "Identity", "Flatten", "Transpose"}
# The uses of a constant, as (operator, number of the input), by the kind of values it gets. A scale
# is smaller in a network with sums of branches, whose activations would grow to infinity otherwise.
SCALE = {("BatchNormalization", 1)}
NEAR_ONE = {("BatchNormalization", 4), ("Mul", 0), ("Mul", 1), ("Div", 1), ("Sqrt", 0)}
WEIGHT = {("Conv", 1), ("ConvTranspose", 1), ("Gemm", 1), ("MatMul", 0), ("MatMul", 1)}


def role(graph, name):
    """The first use of a value, through operators that only change its shape: ((operator, number of
    the input), node); (("", 0), None) if there is none."""
    users = {}
    for node in graph.node:
        for index, used in enumerate(node.input):
            users.setdefault(used, []).append((node, index))
    while name in users:
        node, index = users[name][0]
        if node.op_type not in VIEWS:
            return (node.op_type, index), node
        name = node.output[0]
    return ("", 0), None


def fan_in(use, node, shape):
    if use[0] == "Gemm":
        return shape[-1 if any(a.name == "transB" and a.i for a in node.attribute) else -2]
    return shape[-2] if use[0] == "MatMul" else math.prod(shape[1:])


def draw(graph, name, shape, kind, seed):
    """Random values for a constant, in a range that fits its use."""
    use, node = role(graph, name)
    random = numpy.random.default_rng([seed, zlib.crc32(name.encode())])
    if use in SCALE:
        residual = any(node.op_type == "Sum" for node in graph.node)
        values = random.uniform(0.2, 0.4, shape) if residual else random.uniform(0.5, 1.0, shape)
    elif use in NEAR_ONE:
        values = random.uniform(0.5, 1.5, shape)
    elif use in WEIGHT and len(shape) > 1:
        values = random.normal(0, math.sqrt(2 / max(1, fan_in(use, node, shape))), shape)
    else:
        values = random.normal(0, 0.05, shape)
    return numpy_helper.from_array(values.astype(kind), name)


def equal_constants(graph):
    """Removes the initializers and the ConstantOfShape nodes whose elements are all equal, and
    yields (name, shape, numpy type) of each."""
    known = {tensor.name: tensor for tensor in graph.initializer}
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind == "f" and values.size > 1 and (values == values.flat[0]).all():
            graph.initializer.remove(tensor)
            yield tensor.name, values.shape, values.dtype
    for node in list(graph.node):
        if node.op_type != "ConstantOfShape" or node.input[0] not in known:
            continue
        fill = [numpy_helper.to_array(a.t) for a in node.attribute if a.name == "value"] or [
            numpy.zeros(1, "float32")
        ]
        shape = tuple(int(n) for n in numpy_helper.to_array(known[node.input[0]]))
        if fill[0].dtype.kind == "f" and math.prod(shape) > 1:
            graph.node.remove(node)
            yield node.output[0], shape, fill[0].dtype


def drop_unused(graph, kept_outputs):
    """Removes initializers that nothing reads any more, with their entries among the inputs."""
    used = {name for node in graph.node for name in node.input} | kept_outputs
    dead = {tensor.name for tensor in graph.initializer} - used
    for listed in (graph.initializer, graph.input):
        for each in [each for each in listed if each.name in dead]:
            listed.remove(each)


def main():
    show_help(__doc__)
    if len(sys.argv) != 4 or not sys.argv[3].isdecimal():
        fail(2, "expected IN OUT SEED; the seed is a number")
    source, target, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = read_model(source)
    graph = model.graph
    inputs = {value.name for value in graph.input}
    replaced = list(equal_constants(graph))
    graph.initializer.extend(draw(graph, name, shape, kind, seed) for name, shape, kind in replaced)
    for name, shape, kind in replaced:
        # Up to IR version 3 every initializer is declared as an input too.
        if model.ir_version < 4 and name not in inputs:
            graph.input.append(
                onnx.helper.make_tensor_value_info(
                    name, onnx.helper.np_dtype_to_tensor_dtype(kind), shape
                )
            )
    drop_unused(graph, {value.name for value in graph.output})
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        fail(3, f"{source}: not a valid model: {one_line(error)}")
    try:
        onnx.save(model, target)
    except OSError as error:
        fail(5, f"{target}: cannot write: {error.strerror}")
    print(f"{target}: {len(replaced)} random weights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
