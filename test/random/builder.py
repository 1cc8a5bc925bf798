"""A random model under construction. Every value has its elements with it, so that each node that
is added is known to be valid and to give numbers of moderate size. A node that does not run, or
whose result overflows, is not added.

Every value has elements at two sets of sizes, "the first sizes" and "the second sizes", which
differ in the open sizes of the model. So the size of an axis is a pair of numbers, which are equal
if the size is fixed. `values` lists all values that nodes may use. Makers of operators
(operators.py) choose among them by `pick`, or ask for new ones by `fresh`."""

import random
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
from reference import FLOATS, Double, Typed, Unable, apply, widened

MOST_ELEMENTS, GREATEST = 2048, 3e4  # of a value: elements, absolute value of an element
CONVOLUTIONS = {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv"}
F32, U8, I8, U16, I16, I32, I64 = 1, 2, 3, 4, 5, 6, 7
STR, BOOL, F16, F64, U32, U64, BF16 = 8, 9, 10, 11, 12, 13, 16
NUMPY = {
    U8: "u1",
    I8: "i1",
    U16: "u2",
    I16: "i2",
    I32: "i4",
    I64: "i8",
    BOOL: "?",
    U32: "u4",
    U64: "u8",
}
ODD = ["", "a b", "1", "x/y:0", "ü", "%x", "a\\b", "$", "in-x", "x.1", '"q"', "-", "0x1p3"]


class Reject(Exception):
    """Raised if a node cannot be added."""


class Value:
    """A value of the model: name, element type, and arrays at both sizes. `constant`: it is an
    initializer or computed only from initializers; `stored`: nodes may not pick it."""

    def __init__(self, name, dtype, arrays, constant=False, stored=False):
        self.name, self.dtype, self.arrays, self.constant = name, dtype, arrays, constant
        self.stored = stored
        self.uses = 0

    @property
    def size(self):
        return list(zip(*(a.shape for a in self.arrays)))

    @property
    def shape(self):
        """The shape at the first sizes."""
        return list(self.arrays[0].shape)

    @property
    def rank(self):
        return self.arrays[0].ndim

    @property
    def open(self):
        return self.arrays[0].shape != self.arrays[1].shape

    def within(self, low, high):
        return all(
            not a.size or (numpy.nanmin(a) >= low and numpy.nanmax(a) <= high) for a in self.arrays
        )


class Input:
    """How an input of the model is drawn: uniform in [low, high], as integers if the type is one.
    `given`: fixed arrays at both sizes; `default`: the input has a default value."""

    def __init__(self, value, low, high, given=None, default=False):
        self.value, self.low, self.high, self.given = value, low, high, given
        self.default = default


class Builder:
    """A model under construction. Everything random comes from the seed. `opened`: whether sizes
    may be open; `accepts`: whether ONNX Runtime runs a node."""

    def __init__(self, seed, opset, dtype=F32, opened=False, lend=None, accepts=None):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(self.random.getrandbits(64))
        self.opset, self.dtype, self.opened = opset, dtype, opened
        self.lend = lend  # computes a node in float if the reference cannot
        self.accepts = accepts or (lambda *_: True)
        self.nodes, self.values, self.inputs, self.initializers = [], [], [], []
        self.functions, self.count, self.symbols = [], 0, {}
        self.odd = self.random.random() < 0.08
        self.names = set()
        self.weights = 0.8  # the share of second operands that are initializers

    # ---- chance

    def chance(self, p):
        return self.random.random() < p

    def choice(self, items):
        return self.random.choice(list(items))

    def below(self, n):
        return self.random.randrange(n)

    def between(self, low, high):
        return self.random.randint(low, high)

    # ---- names

    def name(self, stem="v"):
        self.count += 1
        name = f"{stem}{self.count}"
        if self.odd and self.chance(0.3):
            name = self.choice([o for o in ODD if o]) + f"{self.count}"
        self.names.add(name)
        return name

    # ---- sizes

    def dim(self):
        """A random size for a new axis, as a pair."""
        d = self.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8])
        if self.opened and self.chance(0.25):
            return self.choice([(2, 3), (3, 5), (4, 2), (1, 4), (5, 1), (6, 4)])
        return (d, d)

    def dims(self, low, high=None):
        return [self.dim() for _ in range(self.between(low, low if high is None else high))]

    # ---- new values

    def drawn(self, dtype, shape, low, high):
        if dtype in FLOATS:
            x = self.numbers.uniform(low, high, shape)
            return rounded(dtype, x)
        if dtype == BOOL:
            return self.numbers.integers(0, 2, shape).astype("?")
        return self.numbers.integers(int(low), int(high) + 1, shape).astype(NUMPY[dtype])

    def fresh(self, size, dtype=None, low=-1.0, high=1.0, kind=None):
        """A new value with these sizes. `kind`: "input", "constant", or None for either."""
        dtype = dtype or self.dtype
        size = [d if isinstance(d, tuple) else (d, d) for d in size]
        varies = any(a != b for a, b in size)
        if kind is None:
            kind = "constant" if self.chance(self.weights) else "input"
        if varies and kind == "constant":
            kind = "input"
        if dtype not in FLOATS and (low, high) == (-1.0, 1.0):
            low, high = 0, 5
        if numpy.dtype(NUMPY.get(dtype, "f8")).kind == "u":
            low, high = max(low, 0), max(high, 1)
        shapes = list(zip(*size)) if size else [(), ()]
        first = self.drawn(dtype, shapes[0], low, high)
        arrays = (first, first if not varies else self.drawn(dtype, shapes[1], low, high))
        if kind == "constant":
            return self.constant(arrays[0], dtype, (low, high) if self.chance(0.03) else None)
        value = Value(self.name("x"), dtype, arrays)
        self.inputs.append(Input(value, low, high))
        self.values.append(value)
        return value

    def constant(self, array, dtype, default=None):
        """A new initializer, or now and then a Constant node. `default`: it is also an input, which
        is drawn from that range."""
        array = numpy.asarray(array)
        array = rounded(dtype, array) if dtype in FLOATS else array.astype(NUMPY[dtype])
        value = Value(self.name("c"), dtype, (array, array), True, True)
        tensor = proto(value.name, dtype, array)
        if self.chance(0.06) and not default:
            tensor.name = ""
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
        else:
            self.initializers.append(tensor)
            if default and dtype in FLOATS and array.size:
                self.inputs.append(Input(value, *default, default=True))
                value.constant = False
        self.values.append(value)
        return value

    def ints(self, *numbers, scalar=False, dtype=I64):
        numbers = list(numbers[0]) if numbers and isinstance(numbers[0], (list, tuple)) else numbers
        array = numpy.array(numbers[0] if scalar else list(numbers), NUMPY[dtype])
        value = Value(self.name("s"), dtype, (array, array), True)
        self.initializers.append(proto(value.name, dtype, array))
        return value

    # ---- existing values

    def pick(self, types=None, rank=None, where=None, new=0.2, low=-1.0, high=1.0, kind="input"):
        """An existing value of one of these types and ranks, or a new one, now and then (`new`) or
        if none fits. `where`: a further condition."""
        types = set(types or [self.dtype])
        low_rank, high_rank = rank or (0, 5)
        fit = [
            v
            for v in self.values[-24:]
            if v.dtype in types and low_rank <= v.rank <= high_rank and not v.stored
        ]
        fit = [v for v in fit if not where or where(v)]
        if fit and not self.chance(new):
            unused = [v for v in fit if not v.uses]
            return self.choice(unused if unused and self.chance(0.7) else fit)
        dtype = self.dtype if self.dtype in types else self.choice(sorted(types))
        for _ in range(6):
            size = self.dims(low_rank, min(high_rank, max(low_rank, 4)))
            value = self.fresh(size, dtype, low, high, kind)
            if not where or where(value):
                return value
            self.forget(value)
        raise Reject("no value fits")

    def forget(self, value):
        self.values.remove(value)
        self.inputs = [i for i in self.inputs if i.value is not value]
        self.initializers = [t for t in self.initializers if t.name != value.name]

    def hide(self, values):
        """Makes values whose sizes depend on data only outputs: no node may read them."""
        for v in values if isinstance(values, list) else [values]:
            v.stored = True

    # ---- nodes

    def add(self, kind, inputs, outputs=1, domain="", wanted=None, lend=False, **attributes):
        """Adds a node and returns its results. Raises Reject if it is not valid at both sizes.
        `wanted`: the numbers of the outputs that have names."""
        names = ["" if v is None else v.name for v in inputs]
        while names and not names[-1]:
            names.pop()
        inputs = inputs[: len(names)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        results = [self.name() for _ in range(outputs)]
        if wanted:
            results = [n if k in wanted else "" for k, n in enumerate(results)]
        node = helper.make_node(kind, names, results, domain=domain, **attributes)
        return self.place(node, inputs, lend)

    def place(self, node, inputs, lend=False):
        """Adds a node with these values as inputs and returns its results."""
        kind, results = node.op_type, list(node.output)
        if kind in CONVOLUTIONS and any(0 in a.shape[1:] for v in inputs if v for a in v.arrays):
            raise Reject("ONNX Runtime does not come back from a convolution of no channels")
        if self.odd and self.chance(0.5):
            node.name = self.choice(ODD)
            if any(n.name == node.name for n in self.nodes):
                node.name = ""
        elif self.chance(0.5):
            node.name = f"n{self.count}"
        types = self.types(node, inputs)
        if not self.accepts(node, self.opset, [v.dtype if v else 0 for v in inputs]):
            raise Reject(f"ONNX Runtime does not run {kind} of these types")
        types, shapes = types
        arrays = [
            self.evaluate(node, inputs, k, types, lend) for k in range(2 if self.opened else 1)
        ]
        if not all(fits(a, s) for a, s in zip(arrays[0], shapes)):
            raise Reject(f"{kind}: the reference gives other sizes than inference")
        made = []
        for k, name in enumerate(results):
            pair = tuple(a[k] for a in arrays)
            if not name:
                continue
            pair = pair if len(pair) == 2 else pair * 2
            constant = all(v is None or v.constant for v in inputs) and bool(inputs)
            made.append(Value(name, types[k], pair, constant))
        self.sensible(made)
        self.nodes.append(node)
        for v in inputs:
            if v is not None:
                v.uses += 1
        self.values += made
        return made[0] if len(made) == 1 else made

    def types(self, node, inputs):
        """The types of the results according to ONNX's own inference."""
        schema = onnx.defs.get_schema(node.op_type, self.opset, node.domain)
        known = {
            v.name: helper.make_tensor_type_proto(v.dtype, v.shape) for v in inputs if v is not None
        }
        data = {
            v.name: proto(v.name, v.dtype, v.arrays[0])
            for v in inputs
            if v is not None and v.constant and v.dtype == I64 and v.arrays[0].size <= 16
        }
        try:
            made = onnx.shape_inference.infer_node_outputs(
                schema, node, known, data, opset_imports=[helper.make_opsetid("", self.opset)]
            )
        except Exception as error:
            raise Reject(f"{node.op_type}: {str(error)[:200]}") from error
        types = [made[n].tensor_type.elem_type if n in made else 0 for n in node.output]
        if not all(t for t, n in zip(types, node.output) if n):
            raise Reject(f"{node.op_type}: no type")
        return types, [made[n].tensor_type if n in made else None for n in node.output]

    def evaluate(self, node, inputs, at, types, lend):
        copy, _ = widened(node, 0)
        self.allowed(node, inputs, at)
        arrays = [None if v is None else v.arrays[at] for v in inputs]
        try:
            if lend:
                raise Unable("as ONNX Runtime does")
            results = apply(copy, self.opset, arrays)
        except Unable as error:
            if not self.lend:
                raise Reject(str(error)) from error
            results = self.lent(copy, arrays)
        return [
            r if t not in FLOATS or r is None else rounded(t, r) for r, t in zip(results, types)
        ]

    def allowed(self, node, inputs, at):
        """Rejects what ONNX's reference accepts although the standard forbids it: a Split whose
        parts do not add up to the whole, and a GatherElements with an index out of range."""
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Split":
            n = inputs[0].arrays[at].shape[given.get("axis", 0)]
            parts = given.get("split", inputs[1].arrays[at] if len(inputs) > 1 else None)
            equal = n % len(node.output) == 0 or "num_outputs" in given
            if not equal if parts is None else sum(parts) != n:
                raise Reject("the parts are not the whole")
        if node.op_type == "GatherElements":
            x, index = (v.arrays[at] for v in inputs)
            n = x.shape[given.get("axis", 0)]
            if ((index < -n) | (index >= n)).any():
                raise Reject("an index is out of range")

    def lent(self, node, arrays):
        try:
            return self.lend(node, self.opset, arrays)
        except Exception as error:
            raise Reject(f"{node.op_type}: {str(error)[:200]}") from error

    def sensible(self, values):
        for v in values:
            for a in v.arrays:
                if a is None or a.size > MOST_ELEMENTS or a.dtype.kind in "OUS" or a.ndim > 7:
                    raise Reject("too large, or no tensor")
                if a.dtype.kind == "f" and a.size:
                    if not numpy.isfinite(a).all() or numpy.abs(a).max() > GREATEST:
                        raise Reject("too large a number")


def fits(array, kind):
    """Whether the array has the sizes that inference found."""
    if array is None or kind is None or not kind.HasField("shape"):
        return True
    dims = kind.shape.dim
    return len(dims) == array.ndim and all(
        not d.HasField("dim_value") or d.dim_value == n for d, n in zip(dims, array.shape)
    )


def rounded(dtype, x):
    """The numbers rounded to the element type, in double."""
    with numpy.errstate(all="ignore"):
        x = numpy.asarray(x, "f8")
        if dtype == F16:
            return x.astype("f2").astype("f8")
        if dtype == BF16:
            return numpy.asarray(bfloat(x), "f8")
        return x.astype("f4").astype("f8") if dtype == F32 else x


def bfloat(x):
    import ml_dtypes

    return numpy.asarray(x).astype(ml_dtypes.bfloat16)


def typed(dtype, array):
    """The array in numpy's type for the element type."""
    if dtype == BF16:
        return bfloat(array)
    return numpy.asarray(array).astype({F32: "f4", F16: "f2", F64: "f8"}.get(dtype) or NUMPY[dtype])


def proto(name, dtype, array):
    tensor = numpy_helper.from_array(
        numpy.ascontiguousarray(typed(dtype, array)).reshape(array.shape), name
    )
    assert tensor.data_type == dtype
    return tensor
