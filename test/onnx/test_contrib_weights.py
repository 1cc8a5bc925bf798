"""The operators of ONNX Runtime's domain com.microsoft with quantized weights, and poolings of
quantized numbers. The built-in runtime runs them, and the results are compared with ONNX Runtime.
"""

import numpy, pytest
import test_contrib
from test_contrib_float import compared

RNG = numpy.random.default_rng(3)


def drawn(dtype, *shape):
    limits = numpy.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


# The difference allowed where an operator quantizes intermediate results, since a tie may be
# rounded the other way.
QUANTUM = (0.02, 0.03)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_product_of_floats_with_quantized_weights(tmp_path, dtype, columns, bias):
    shapes = {"a": (2, 3, 8)} | ({"bias": (5,)} if bias else {})
    some = (5,) if columns else ()
    whole = {
        "b": drawn(dtype, 8, 5),
        "b_scale": RNG.uniform(0.004, 0.01, some).astype("float32"),
        "b_zero": numpy.zeros(some, dtype) + numpy.array(3 if dtype == "uint8" else 0, dtype),
    }
    order = ["a", "b", "b_scale", "b_zero"] + (["bias"] if bias else [])
    compared(
        tmp_path, "DynamicQuantizeMatMul", shapes, order, whole=whole, away=QUANTUM, fixed=["b"]
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("left", ["", "a_zero", "b_zero", "bias"])
def test_product_of_quantized_numbers_as_floats(tmp_path, dtype, columns, left):
    some = (5,) if columns else ()
    whole = {
        "a": drawn("uint8", 2, 3, 8),
        "b": drawn(dtype, 8, 5),
        "a_scale": numpy.float32(0.02),
        "b_scale": RNG.uniform(0.004, 0.01, some).astype("float32"),
        "a_zero": numpy.array(120, "uint8"),
        "b_zero": numpy.zeros(some, dtype) + numpy.array(3, dtype),
        "bias": RNG.uniform(-1, 1, 5).astype("float32"),
    }
    order = ["" if name == left else name for name in whole]
    whole = {name: numpy.asarray(v) for name, v in whole.items() if name != left}
    while order[-1] == "":
        order.pop()
    compared(tmp_path, "MatMulIntegerToFloat", {}, order, whole=whole)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("k, block", [(64, 32), (40, 16), (48, 32)])
@pytest.mark.parametrize("zero", ["", "packed", "float"])
@pytest.mark.parametrize("bias", [False, True])
def test_product_with_weights_of_few_bits(tmp_path, bits, k, block, zero, bias):
    if zero == "float" and bits == 8:
        pytest.skip("ONNX Runtime has it not")
    n, blocks = 3, -(-k // block)
    whole = {"b": drawn("uint8", n, blocks, block * bits // 8)}
    shapes = {"a": (2, 5, k), "scales": (n * blocks,)}
    if zero == "packed":
        whole["zero"] = drawn("uint8", n * -(-blocks * bits // 8))
    if zero == "float":
        shapes["zero"] = (n, blocks)
    if bias:
        shapes["bias"] = (n,)
    order = ["a", "b", "scales", "zero" if zero else "", "", "bias" if bias else ""]
    while order[-1] == "":
        order.pop()
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    compared(tmp_path, "MatMulNBits", shapes, order, whole=whole, away=(1e-3, 1e-3), **attributes)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("states", [False, True])
def test_lstm_with_quantized_weights(tmp_path, direction, columns, states):
    t, b, i, h, d = 5, 2, 6, 4, 2 if direction == "bidirectional" else 1
    some = (d, 4 * h) if columns else (d,)
    whole = {
        "w": drawn("int8", d, i, 4 * h),
        "r": drawn("int8", d, h, 4 * h),
        "w_scale": RNG.uniform(0.003, 0.005, some).astype("float32"),
        "w_zero": numpy.zeros(some, "int8"),
        "r_scale": RNG.uniform(0.003, 0.005, some).astype("float32"),
        "r_zero": numpy.zeros(some, "int8"),
    }
    shapes = {"x": (t, b, i), "bias": (d, 8 * h)}
    if states:
        shapes |= {"h0": (d, b, h), "c0": (d, b, h)}
    order = ["x", "w", "r", "bias", "", *(["h0", "c0"] if states else ["", ""]), ""]
    order += ["w_scale", "w_zero", "r_scale", "r_zero"]
    compared(
        tmp_path,
        "DynamicQuantizeLSTM",
        shapes,
        order,
        ("y", "h", "c"),
        whole=whole,
        away=QUANTUM,
        fixed=["w", "r", "w_zero", "r_zero", "w_scale", "r_scale"],
        hidden_size=h,
        direction=direction,
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("ceil, count", [(0, 0), (0, 1), (1, 0)])
def test_average_pooling(tmp_path, dtype, last, ceil, count):
    given = test_contrib.scales(dtype, x=0.0517, y=0.0411)
    order = ["x", "x_scale", "x_zero", "y_scale", "y_zero"]
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    attributes |= {"channels_last": last, "ceil_mode": ceil, "count_include_pad": count}
    shape = {"x": (2, 6, 7, 5)} if last else {"x": (2, 5, 6, 7)}
    test_contrib.compared(tmp_path, "QLinearAveragePool", dtype, shape, given, order, **attributes)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("dilation", [1, 2])
def test_maximum_with_channels_last(tmp_path, dtype, ceil, dilation):
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    attributes |= {"ceil_mode": ceil, "dilations": [dilation] * 2}
    test_contrib.compared(
        tmp_path, "NhwcMaxPool", dtype, {"x": (2, 9, 7, 5)}, {}, ["x"], **attributes
    )


@pytest.mark.parametrize("op, types", [("QuantizeLinear", "F"), ("DequantizeLinear", "Q")])
@pytest.mark.parametrize("columns", [False, True])
def test_quantization(tmp_path, op, types, columns):
    some = (4,) if columns else ()
    shapes = {"x": (3, 4, 5)} if types == "F" else {}
    whole = {} if types == "F" else {"x": drawn("uint8", 3, 4, 5)}
    whole["scale"] = RNG.uniform(0.01, 0.02, some).astype("float32")
    whole["zero"] = numpy.zeros(some, "uint8") + numpy.array(7, "uint8")
    kinds = {"y": 2} if types == "F" else {}
    order = ["x", "scale", "zero"]
    compared(tmp_path, op, shapes, order, whole=whole, kinds=kinds, axis=1, away=(0, 1e-6))
