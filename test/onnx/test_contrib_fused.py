"""The operators of ONNX Runtime's domain com.microsoft that fuse a product or a convolution with
what comes before or after it. The built-in runtime runs them, and the results are compared with
ONNX Runtime."""

import pytest
from test_contrib_float import compared

ACTIVATIONS = [
    ("", []),
    ("Relu", []),
    ("Tanh", []),
    ("Sigmoid", []),
    ("LeakyRelu", [0.3]),
    ("Clip", [-0.2, 0.4]),
    ("HardSigmoid", [0.3, 0.6]),
]


@pytest.mark.parametrize("activation, parameters", ACTIVATIONS)
@pytest.mark.parametrize("inputs", ["x w", "x w b", "x w b z", "x w  z"])
def test_convolution(tmp_path, activation, parameters, inputs):
    order = inputs.split(" ")
    shapes = {"x": (2, 4, 7, 6), "w": (6, 2, 3, 3), "b": (6,), "z": (2, 6, 4, 4)}
    attributes = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0]}
    if activation:
        attributes["activation"] = activation
    if parameters:
        attributes["activation_params"] = parameters
    shapes = {name: shapes[name] for name in order if name}
    compared(tmp_path, "FusedConv", shapes, order, **attributes)


@pytest.mark.parametrize(
    "activation, parameters", [a for a in ACTIVATIONS if a[0] not in ("", "Clip")]
)
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("added", [(), (5,), (6, 1)])
def test_gemm(tmp_path, activation, parameters, trans, added):
    shapes = {"a": (7, 6) if trans else (6, 7), "b": (7, 5)}
    if added:
        shapes["c"] = added
    attributes = {"transA": trans, "alpha": 0.5, "beta": 2.0, "activation": activation}
    attributes |= dict(zip(["activation_alpha", "activation_beta"], parameters))
    compared(tmp_path, "FusedGemm", shapes, list(shapes), **attributes)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_product(tmp_path, alpha, trans_a, trans_b, batch):
    a, b = [*batch, 4, 5], [*batch[1:], 5, 6]
    if trans_a:
        a[-2:] = a[:-3:-1]
    if trans_b:
        b[-2:] = b[:-3:-1]
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": alpha}
    compared(tmp_path, "FusedMatMul", {"a": a, "b": b}, ["a", "b"], **attributes)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("batch_a", [0, 1])
@pytest.mark.parametrize("batch_b", [0, 1])
def test_product_whose_first_axis_is_its_rows(tmp_path, trans_a, trans_b, batch_a, batch_b):
    a, b = ([5, 4] if trans_a else [4, 5]), ([6, 5] if trans_b else [5, 6])
    shapes = {
        name: [rows, 2, 3, columns] if first else [2, 3, rows, columns]
        for name, (rows, columns), first in (("a", a, batch_a), ("b", b, batch_b))
    }
    attributes = {"transA": trans_a, "transB": trans_b}
    attributes |= {"transBatchA": batch_a, "transBatchB": batch_b}
    compared(tmp_path, "FusedMatMul", shapes, ["a", "b"], **attributes)


@pytest.mark.parametrize("shapes", [((5,), (2, 5, 3)), ((2, 4, 5), (5,)), ((5,), (5,))])
def test_product_of_vectors(tmp_path, shapes):
    compared(tmp_path, "FusedMatMul", dict(zip("ab", shapes)), ["a", "b"], alpha=0.5)
