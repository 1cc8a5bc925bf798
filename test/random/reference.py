"""Evaluates a model in double with the operators of ONNX's reference, node by node. With `noise`,
every result is moved at random by a few roundings of its type. This shows how much an output may
differ between two correct evaluations in the model's own types.

The values of an environment are pairs: an array, in which floats are float64, and the relative
rounding of the type that the model gives the value (2^-24 for float32, 0 for exact types).
Branches, loops and model-local functions are evaluated here. Nodes that the reference cannot
compute in double are left to ONNX Runtime, in float (`lent` counts them)."""

import collections, functools, warnings
import numpy, onnx, onnx.defs, onnx.helper
from onnx import numpy_helper
from onnx.reference.ops import load_op

# The relative rounding of each float type, by its number in ONNX.
FLOATS = {1: 2.0**-24, 10: 2.0**-11, 11: 2.0**-53, 16: 2.0**-8}
# Attributes that name an element type.
TYPED = {
    "Cast": "to",
    "EyeLike": "dtype",
    "RandomNormal": "dtype",
    "RandomUniform": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniformLike": "dtype",
    "HannWindow": "output_datatype",
    "HammingWindow": "output_datatype",
    "BlackmanWindow": "output_datatype",
    "MelWeightMatrix": "output_datatype",
    "SequenceEmpty": "dtype",
}
# Kernels compute these only to an absolute accuracy, that of a rounding of 1.
BOUNDED = {"Sigmoid", "Tanh", "Erf", "Gelu", "Softmax", "LogSoftmax", "Sin", "Cos", "HardSigmoid"}
BOUNDED |= {"HannWindow", "HammingWindow", "BlackmanWindow"}
BOUNDED |= {"Mish", "Elu", "Selu", "Celu", "Softplus", "Asinh", "Acosh", "Atanh", "Sinh"}
# Each element is a sum over all of the data, so it is moved by roundings of the largest element.
WHOLE = {"DFT", "STFT"}
# These are computed in float whatever the type of the data is (stash_type).
STASHED = {"LayerNormalization", "RMSNormalization"}
Typed = collections.namedtuple("Typed", "array unit")
NOISE = 8  # roundings by which values are moved
FLUSHED = {FLOATS[10]: 2.0**-14}  # kernels that flush denormals turn float16 below this into 0
# The largest numbers of the types, roughly. A number near them may become infinite or not.
ENDS = {FLOATS[10]: 6.5e4, FLOATS[1]: 3.4e38, FLOATS[16]: 3.3e38}
# The inputs from this number on determine sizes (or exponents) and are not moved.
STEADY = {"Resize": 1, "Upsample": 1, "Range": 0, "Tile": 1, "Expand": 1, "Pow": 1}


class Unable(Exception):
    """Raised if a model cannot be evaluated."""


def double(tensor):
    """A tensor as a pair of array and rounding, with floats in double."""
    array = numpy_helper.to_array(tensor)
    if tensor.data_type in FLOATS:
        return Typed(array.astype("f8"), FLOATS[tensor.data_type])
    return Typed(array, 0.0)


def numbers(array):
    """An array of any type as such a pair."""
    array = numpy.asarray(array)
    if array.dtype.name == "bfloat16":
        return Typed(array.astype("f8"), FLOATS[16])
    if array.dtype.kind == "f":
        return Typed(
            array.astype("f8"), {2: FLOATS[10], 4: FLOATS[1], 8: FLOATS[11]}[array.itemsize]
        )
    return Typed(array, 0.0)


def widened(node, unit):
    """A copy of the node with its element types and tensors in double, and the rounding of the type
    that it states, or `unit`."""
    name = TYPED.get(node.op_type)
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for each in copy.attribute:
        if each.name == name and each.i in FLOATS:
            unit, each.i = FLOATS[each.i], onnx.TensorProto.DOUBLE
        elif each.name == name:
            unit = 0.0
        elif each.type == onnx.AttributeProto.TENSOR and each.t.data_type in FLOATS:
            unit = FLOATS[each.t.data_type]
            each.t.CopyFrom(numpy_helper.from_array(double(each.t).array, each.t.name))
    return copy, unit


def log(*_):
    pass


@functools.lru_cache(4096)
def implementation(serialized, version):
    node = onnx.NodeProto()
    node.ParseFromString(serialized)
    kind = load_op(node.domain, node.op_type, version, node=node)
    return kind(node, {"log": log, "opsets": {node.domain: version}, "verbose": 0, "new_ops": None})


def flattened(function):
    """The implementation of Softmax or a similar operator before opset 13, which works on all axes
    from `axis` on together."""

    def compute(node, x):
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        axis += x.ndim if axis < 0 else 0
        if not x.size:
            return x
        return function(x.reshape(int(numpy.prod(x.shape[:axis])), -1)).reshape(x.shape)

    return compute


def softmax(x):
    e = numpy.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def logsoftmax(x):
    x = x - x.max(1, keepdims=True)
    return x - numpy.log(numpy.exp(x).sum(1, keepdims=True))


def hardmax(x):
    return (numpy.arange(x.shape[1]) == x.argmax(1)[:, None]).astype(x.dtype)


FLAT = {"Softmax": softmax, "LogSoftmax": logsoftmax, "Hardmax": hardmax}


def batch_norm(x, scale, bias, mean, var, epsilon=1e-5, **_):
    shape = [1, -1] + [1] * (x.ndim - 2)
    scale, bias, mean, var = (v.reshape(shape) for v in (scale, bias, mean, var))
    return (x - mean) / numpy.sqrt(var + epsilon) * scale + bias


def lp_norm(x, axis=-1, p=2):
    size = (numpy.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
    return x / numpy.where(size == 0, 1, size)


def lrn(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    around = numpy.zeros_like(x)
    for c in range(x.shape[1]):
        low, high = max(0, c - (size - 1) // 2), min(x.shape[1] - 1, c + size // 2)
        around[:, c] = (x[:, low : high + 1] ** 2).sum(1)
    return x / (bias + alpha / size * around) ** beta


def mean_variance(x, axes=(0, 2, 3)):
    mean = x.mean(tuple(axes), keepdims=True)
    variance = (x**2).mean(tuple(axes), keepdims=True) - mean**2
    return (x - mean) / (numpy.sqrt(numpy.maximum(variance, 0)) + 1e-9)


# Implementations that follow the standard where the reference (onnx 1.23) deviates from it or lacks
# the operator. There, BatchNormalization before opset 14 takes the mean of the batch,
# LpNormalization with p = 1 has no absolute values, and the window of LRN is one place short.
OWN = {"BatchNormalization": batch_norm, "LpNormalization": lp_norm, "LRN": lrn}
OWN["MeanVarianceNormalization"] = mean_variance
# Operators that ONNX Runtime computes before this opset, since rounding to float decides which
# elements are read, or since the reference deviates.
LENT = {"Resize": 99, "RoiAlign": 16, "Upsample": 99, "DynamicQuantizeLinear": 99}


def apply(node, version, inputs):
    """Computes a node without a body on arrays. Raises Unable if the reference fails."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = [
                numpy.asarray(r) if r is not None else r for r in compute(node, version, inputs)
            ]
    except Exception as error:
        raise Unable(f"{node.op_type}: {type(error).__name__} {str(error)[:200]}") from error
    return [r if r is None or r.dtype.kind != "f" else r.astype("f8") for r in results]


def compute(node, version, inputs):
    if node.op_type in FLAT and version < 13:
        return [flattened(FLAT[node.op_type])(node, inputs[0])]
    if version < LENT.get(node.op_type, 0) or (node.op_type == "MaxPool" and len(node.output) > 1):
        raise Unable(node.op_type)
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "ConvTranspose" and given.get("group", 1) > 1:
        raise Unable("the reference adds one bias to all groups")
    if node.op_type == "ScatterElements" and inputs[1].shape != inputs[2].shape:
        raise Unable("indices and updates of two sizes, which the standard forbids")
    if node.op_type == "AveragePool" and numpy.isnan(inputs[0]).any():
        raise Unable("the reference takes NaN for padding")
    if node.op_type in OWN and not given.get("training_mode") and len(node.output) == 1:
        return [OWN[node.op_type](*inputs, **given)]
    return implementation(node.SerializeToString(), version).run(*inputs)


class Double:
    """A model to be evaluated in double."""

    def __init__(self, model, lend=None):
        self.model = model
        self.versions = {o.domain.replace("ai.onnx", ""): o.version for o in model.opset_import}
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.lend = lend  # computes a node in float: lend(node, version, [arrays])
        self.lent = collections.Counter()
        self.constants = self.initializers(model.graph)
        self.wide = {}
        self.noise = self.random = None
        self.exact = {}  # by node, the input of NonZero without noise
        self.lost = False  # whether a value of the last run was NaN or infinite

    @staticmethod
    def initializers(graph):
        env = {t.name: double(t) for t in graph.initializer}
        for sparse in graph.sparse_initializer:
            raise Unable(f"sparse initializer {sparse.values.name}")
        return env

    def run(self, feed, noise=None, only=None, stated=(), seed=0):
        """The outputs for the feed. `noise`: by how many roundings each value is moved at random.
        `only`: the names of the only constants that are moved; the results of nodes with number
        attributes that are not among `stated` are then moved, too."""
        self.noise, self.only, self.stated = noise, only, stated
        self.random = numpy.random.default_rng(seed)
        self.lost = False
        env = {k: self.moved(k, v) for k, v in self.constants.items()}
        for name, array in feed.items():
            env[name] = self.moved(name, numbers(array), True)
        self.graph(self.model.graph, env, {})
        return [env[o.name].array for o in self.model.graph.output]

    def moved(self, name, value, is_input=False):
        """A constant or an input, moved by noise."""
        if not self.noise or not value.unit or not value.array.size:
            return value
        if self.only is not None and (is_input or name not in self.only):
            return value
        size = numpy.abs(value.array)
        if self.only is not None:  # intermediate values in the folding may have been larger
            size = size + 0.5 * size.max()
        step = self.random.uniform(-1, 1, value.array.shape) * self.noise * value.unit
        return Typed(numpy.asarray(value.array + step * size), value.unit)

    def graph(self, graph, env, attributes):
        """Evaluates the nodes of a graph and adds their results to the environment."""
        for node in graph.node:
            inputs = [env[name] if name else None for name in node.input]
            for k in range(STEADY.get(node.op_type, 99), len(inputs)):
                inputs[k] = self.constants.get(node.input[k], inputs[k])
            for name, value in zip(node.output, self.node(node, inputs, env, attributes)):
                if name:
                    env[name] = value

    def node(self, node, inputs, env, attributes):
        """The results of a node as pairs."""
        if attributes is not None and any(a.ref_attr_name for a in node.attribute):
            node = bound(node, attributes)
        function = self.functions.get((node.domain, node.op_type))
        if function:
            return self.call(function, node, inputs)
        if node.op_type in ("If", "Loop") and not node.domain:
            inside = self.branch if node.op_type == "If" else self.loop
            return inside(node, inputs, env, attributes)
        if node.op_type == "Constant":
            self.constants[node.output[0]] = self.constant(node)
            return [self.moved(node.output[0], self.constant(node))]
        unit = max((v.unit for v in inputs if v is not None), default=0.0)
        if node.op_type == "CastLike":
            unit = inputs[1].unit
        if node.op_type == "NonZero" and inputs[0].unit:
            inputs = [Typed(self.perhaps_zero(node, inputs[0].array), inputs[0].unit)]
        copy, unit = self.widened(node, unit)
        results = self.computed(copy, [None if v is None else v.array for v in inputs])
        return [self.rounded(node, r, unit) for r in results]

    def perhaps_zero(self, node, array):
        """Noise never makes an element exactly 0. So half of the elements that it moves by more
        than half of their size are set to 0."""
        if not self.noise:
            self.exact[id(node)] = array
        was = self.exact.get(id(node))
        if not self.noise or was is None or was.shape != array.shape:
            return array
        near = numpy.abs(array - was) >= numpy.abs(was) / 2
        return numpy.where(near & (self.random.random(array.shape) < 0.5), 0.0, array)

    def widened(self, node, unit):
        key = id(node)
        if key not in self.wide:
            self.wide[key] = widened(node, None), node  # keeping the node keeps its id unique
        (copy, own), _ = self.wide[key]
        return copy, unit if own is None else own

    def constant(self, node):
        a = node.attribute[0]
        if a.name == "value":
            return double(a.t)
        if a.name in ("value_float", "value_floats"):
            return Typed(numpy.array(a.f if a.name == "value_float" else a.floats, "f8"), FLOATS[1])
        if a.name in ("value_int", "value_ints"):
            return Typed(numpy.array(a.i if a.name == "value_int" else a.ints, "i8"), 0.0)
        raise Unable(f"Constant of {a.name}")

    def computed(self, node, inputs):
        """The results of a node as arrays, by the reference or else by ONNX Runtime."""
        version = self.versions.get(node.domain.replace("ai.onnx", ""), 1)
        try:
            return apply(node, version, inputs)
        except Unable:
            if not self.lend:
                raise
            self.lent[node.op_type] += 1
            return self.lend(node, version, inputs)

    def rounded(self, node, array, unit):
        """A result of a node as a pair, moved by noise."""
        if array is None or array.dtype.kind != "f" or not array.size:
            return Typed(array, 0.0)
        unit = unit or FLOATS[1]
        if node.op_type in STASHED or stated(node):  # rounded like a float, whatever the data is
            unit = max(unit, FLOATS[1])
        with numpy.errstate(all="ignore"):
            size = numpy.abs(array)
            self.lost = self.lost or not numpy.isfinite(size).all()
            if self.noise and (self.only is None or not stated(node) <= self.stated):
                floor = 1.0 if node.op_type in BOUNDED else 0.0
                if node.op_type in WHOLE:
                    floor = numpy.max(size, initial=0.0, where=numpy.isfinite(size))
                step = self.random.uniform(-1, 1, array.shape)
                most = self.noise * unit * (size + floor) + FLUSHED.get(unit, 0.0) * (array != 0)
                moved = numpy.where(numpy.isfinite(array), array + step * most, array)
                end = ENDS.get(unit, numpy.inf)
                array = numpy.where(size > end, numpy.copysign(numpy.inf, array), moved)
        return Typed(numpy.asarray(array), unit)

    def call(self, function, node, inputs):
        given = {a.name: a for a in node.attribute}
        given = {a.name: a for a in function.attribute_proto} | given
        env = dict(zip(function.input, inputs))
        self.graph(function, env, given)
        return [env[name] for name in function.output]

    def inner(self, graph, env, attributes):
        env = dict(env) | self.initializers(graph)
        self.graph(graph, env, attributes)
        return [env[o.name] for o in graph.output]

    def branch(self, node, inputs, env, attributes):
        name = "then_branch" if bool(inputs[0].array.ravel()[0]) else "else_branch"
        body = next(a.g for a in node.attribute if a.name == name)
        return self.inner(body, env, attributes)

    def loop(self, node, inputs, env, attributes):
        body = next(a.g for a in node.attribute if a.name == "body")
        most = 1000 if inputs[0] is None else int(inputs[0].array.ravel()[0])
        going = inputs[1] is None or bool(inputs[1].array.ravel()[0])
        state, scans, k = list(inputs[2:]), None, 0
        while k < most and going:
            names = [i.name for i in body.input]
            values = [Typed(numpy.array(k, "i8"), 0.0), Typed(numpy.array(going), 0.0), *state]
            out = self.inner(body, env | dict(zip(names, values)), attributes)
            going, state = bool(out[0].array.ravel()[0]), out[1 : 1 + len(state)]
            rest = out[1 + len(state) :]
            scans = [[*old, new] for old, new in zip(scans or [[] for _ in rest], rest)]
            k += 1
        if scans is None and len(body.output) > 1 + len(state):
            raise Unable("a loop without turns")
        stacked = [Typed(numpy.stack([v.array for v in s]), s[0].unit) for s in scans or []]
        return [*state, *stacked]


def stated(node):
    """The number attributes of a node, including defaults and the value of ConstantOfShape."""
    numbers = {(a.name, a.f) for a in node.attribute if a.type == onnx.AttributeProto.FLOAT}
    if node.op_type == "ConstantOfShape":
        numbers |= {(a.name, a.t.SerializeToString()) for a in node.attribute}
    return numbers | defaults(node.op_type, node.domain)


@functools.lru_cache(None)
def defaults(kind, domain):
    """The defaults of the number attributes of an operator."""
    if not onnx.defs.has(kind, domain):
        return frozenset()
    attributes = onnx.defs.get_schema(kind, domain).attributes.values()
    return frozenset(
        (a.name, a.default_value.f)
        for a in attributes
        if a.type == onnx.defs.OpSchema.AttrType.FLOAT
    )


def bound(node, attributes):
    """A copy of a node of a function in which references to attributes are replaced by those of the
    call."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for each in node.attribute:
        if not each.ref_attr_name:
            copy.attribute.add().CopyFrom(each)
        elif each.ref_attr_name in attributes:
            new = copy.attribute.add()
            new.CopyFrom(attributes[each.ref_attr_name])
            new.name = each.name
    return copy
