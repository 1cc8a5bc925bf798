"""Integers that no double or float holds, unsigned ones beyond the signed, integers that wrap in
their type, and sums of truth values are what they are, in what is computed while a model is read,
too."""

import numpy as np
import onnx, pytest
from onnx import TensorProto, helper, numpy_helper
from test_control import feed, optimize, session
from test_run_model import run

BIG = np.array([2**63 + 5, 2**63 + 7], np.uint64)
SMALL = np.array([4, 6], np.uint64)


def result(tmp_path, kind, inputs, weights={}, out=None, grows=0, **attributes):
    """Runs a node. Its result has the type and sizes of `out` or, by default, those of the first
    input, with an axis that `grows`."""
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in inputs.items()
    ]
    if out is None:
        first = next(iter(inputs.values()))
        out = np.zeros([n + grows for n in first.shape], first.dtype)
    out = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(out.dtype), out.shape)
    node = helper.make_node(kind, [*inputs, *weights], ["y"], **attributes)
    constants = [numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph([node], "g", infos, [out], constants)
    path = tmp_path / "m.onnx"
    onnx.save(
        helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), path
    )
    done = run(path, *feed(tmp_path, **inputs), "--output-dir", tmp_path / "out")
    return np.load(tmp_path / "out" / "y.npy") if done.returncode == 0 else done


@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
def test_the_greater_of_unsigned_integers(tmp_path, kind):
    places = np.array([0, 1], np.int64)
    inputs = {"x": BIG, "i": places if kind == "ScatterElements" else places[:, None], "u": SMALL}
    assert (result(tmp_path, kind, inputs, reduction="max") == BIG).all()
    assert (result(tmp_path, kind, inputs, reduction="min") == SMALL).all()


@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
def test_a_sum_of_truth_values_is_one(tmp_path, kind):
    places = np.array([0, 0], np.int64)
    x = np.array([True, False])
    inputs = {"x": x, "i": places if kind == "ScatterElements" else places[:, None], "u": x | True}
    found = result(tmp_path, kind, inputs, reduction="add")
    assert found.view(np.uint8).tolist() == [1, 0]


def test_a_bound_is_not_rounded(tmp_path):
    bounds = {"l": np.array(2**63 + 6, np.uint64), "h": np.array(2**64 - 2, np.uint64)}
    x = np.array([2**63 + 5, 2**64 - 1], np.uint64)
    assert result(tmp_path, "Clip", {"x": x}, bounds).tolist() == [2**63 + 6, 2**64 - 2]
    least = {"l": np.array(5, np.int64), "h": np.array(2**63 - 1, np.int64)}
    x = np.array([4, 2**53 + 1], np.int64)
    assert result(tmp_path, "Clip", {"x": x}, least).tolist() == [5, 2**53 + 1]


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("number", [2**24 + 1, 658619009, 2**31 - 1, 2**40 + 1, 2**60 + 1])
@pytest.mark.parametrize("given", ["constants", "inputs"])
def test_integers_that_no_float_holds(tmp_path, kind, number, given):
    if number > np.iinfo(kind).max:
        return
    x = np.array([np.iinfo(kind).min, 7, np.iinfo(kind).max], kind)
    low, high = np.array(number - 2, kind), np.array(number, kind)
    bounds = {"l": low, "h": high}
    inputs = {"x": x} if given == "constants" else {"x": x, **bounds}
    found = result(tmp_path, "Clip", inputs, bounds if given == "constants" else {})
    assert found.tolist() == x.clip(low, high).tolist()
    one = np.array([7], kind)
    around = np.array([1, 1], np.int64)
    if kind != np.uint32:
        found = result(tmp_path, "Pad", {"x": one}, {"p": around, "v": high}, grows=2)
        assert found.tolist() == [number, 7, number]
    value = numpy_helper.from_array(high.reshape(1))
    inputs = {"x": np.array([2], np.int64)}
    found = result(tmp_path, "ConstantOfShape", inputs, value=value, out=high.repeat(2))
    assert found.tolist() == [number, number]


@pytest.mark.parametrize(
    "value",
    [
        np.array([-np.inf], np.float32),
        np.array([np.nan], np.float64),
        np.array([2**63 + 3], np.uint64),
        np.array([2**63 - 1], np.int64),
        np.array([-(2**63)], np.int64),
    ],
)
@pytest.mark.parametrize("sizes", [[], [1], [2, 3]])
def test_a_fill_with_what_no_attribute_holds(tmp_path, value, sizes):
    inputs, want = {"x": np.array(sizes, np.int64)}, np.full(sizes, value[0])
    attribute = numpy_helper.from_array(value)
    found = result(tmp_path, "ConstantOfShape", inputs, value=attribute, out=want)
    assert found.dtype == want.dtype and np.array_equal(found, want, equal_nan=True)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_integers_have_a_sign(tmp_path, kind):
    x = np.array([0, 1, np.iinfo(kind).max], kind)
    assert result(tmp_path, "Abs", {"x": x}).tolist() == x.tolist()
    assert result(tmp_path, "Sign", {"x": x}).tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_sums_of_products_wrap(tmp_path, kind):
    draw = np.random.default_rng(0).integers
    a, b = (draw(0, np.iinfo(kind).max, shape, dtype=kind) for shape in ((4, 5), (3, 5)))
    want = np.einsum("ij,kj->ik", a, b)
    found = result(tmp_path, "Einsum", {"a": a, "b": b}, equation="ij,kj->ik", out=want)
    assert found.tolist() == want.tolist()


def test_a_range_that_no_double_holds(tmp_path):
    want = np.arange(2**60 + 1, 2**60 + 8, 3)
    bounds = {"s": want[0], "l": np.int64(2**60 + 8), "d": np.int64(3)}
    assert result(tmp_path, "Range", {}, bounds, out=want).tolist() == want.tolist()


# Constants (type, number), nodes, and whether c is true: each condition is the other way round if
# numbers do not wrap, or if an unsigned number counts as negative.
CONDITIONS = {
    "sum": ([("int32", 2**31 - 1), ("int32", 1)], "d = Add (a, b)  c = Less (d, a)", True),
    "product": ([("int32", 2**20), ("int32", 2**11)], "d = Mul (a, b)  c = Less (d, a)", True),
    "difference": ([("uint32", 1), ("uint32", 2)], "d = Sub (a, b)  c = Greater (d, a)", True),
    "short": (
        [("uint8", 120), ("uint8", 200), ("uint8", 2)],
        "s = Add (a, b)  d = Div (s, e)  c = Less (d, a)",
        True,
    ),
    "magnitude": ([("int8", -128), ("int8", 0)], "d = Abs (a)  c = Less (d, b)", True),
    "unsigned": ([("uint64", 2**63 + 5), ("uint64", 1)], "c = Greater (a, b)", True),
    "greatest": (
        [("uint64", 2**63 + 5), ("uint64", 1)],
        "d = Max (a, b)  c = Equal (d, a)",
        True,
    ),
    "narrowed": ([("int64", 2**31), ("int32", 0)], "d = Cast <to=6> (a)  c = Less (d, b)", True),
    "filled": (
        [("int32", 123456789)],
        "k = Constant <value_ints = [1]> ()"
        " d = ConstantOfShape <value = int32[1] {123456789}> (k)  c = Greater (d, a)",
        False,
    ),
    "rounded": (
        [("int64", 2**60 + 2**36 + 1), ("float", float(2**60))],
        "d = Cast <to=1> (a)  c = Greater (d, b)",
        True,
    ),
}


def conditional(path, condition, last):
    constants, nodes, truth = CONDITIONS[condition]
    names = ", ".join(f"{t}[1] {n} = {{0}}" for (t, _), n in zip(constants, "abe"))
    types = [onnx.TensorProto.DataType.Value(t.upper()) for t, _ in constants]
    text = f"(float[6] x) => (float[p] y) <{names}> {{ {nodes} {last} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')
    for known, dtype, (_, number) in zip(made.graph.initializer, types, constants):
        array = np.array([number], helper.tensor_dtype_to_np_dtype(dtype))
        known.CopyFrom(numpy_helper.from_array(array, known.name))
    onnx.save(made, path)
    return truth


BRANCH = """y = If (c) <then_branch = t () => (float[p] r) { r = Exp (x) },
                 else_branch = e () => (float[q] r) { r = Neg (x) }>"""
SHAPE = """n2 = Constant <value_ints = [6, 1]> ()  n3 = Constant <value_ints = [3, 2]> ()
           n = Where (c, n2, n3)  y = Reshape (x, n)"""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_on_numbers_that_wrap(tmp_path, condition):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    truth = conditional(path, condition, BRANCH)
    want = np.exp(x) if truth else -x
    done = run(path, *feed(tmp_path, x=x), "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert np.allclose(np.load(tmp_path / "out" / "y.npy"), want, rtol=1e-5)
    done = optimize(path, out)
    assert done.returncode == 0, done.stderr
    for file in (path, out):
        assert np.allclose(session(file).run(None, {"x": x})[0], want, rtol=1e-5)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_shape_of_numbers_that_wrap(tmp_path, condition):
    path = tmp_path / "m.onnx"
    truth = conditional(path, condition, SHAPE)
    x = np.zeros(6, np.float32)
    done = run(path, *feed(tmp_path, x=x), "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "y.npy").shape == ((6, 1) if truth else (3, 2))
