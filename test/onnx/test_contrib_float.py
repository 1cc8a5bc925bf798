"""Operators of ONNX Runtime's domain com.microsoft on real numbers, which its optimizer makes, run
by the built-in runtime and compared with ONNX Runtime; optimize-model keeps what they compute."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper
from small_models import BUILD

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}


def saved(folder, op, feed, order, outputs, domain="com.microsoft", **attributes):
    """A model of one node; `order` names its inputs, "" leaves one out; so do outputs."""
    node = helper.make_node(op, order, outputs, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, TYPES[v.dtype.name], v.shape) for n, v in feed.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs if n],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    for name, value in feed.items():
        numpy.save(folder / f"{name}.npy", value)
    return path, [w for n in feed for w in ("--input", f"{n}={folder / n}.npy")]


def program(name, *words):
    done = subprocess.run(
        [os.path.join(BUILD, name), *map(str, words)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compared(folder, op, shapes, order, outputs=("y",), whole=None, **attributes):
    """Draws inputs of these shapes; `whole` holds those that are given."""
    rng = numpy.random.default_rng(5)
    feed = {n: rng.uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}
    feed |= whole or {}
    path, words = saved(folder, op, feed, order, outputs, **attributes)
    used = [n for n in outputs if n]
    want = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        used, feed
    )
    program("run-model", path, "--output-dir", folder / "out", *words)
    for name, expected in zip(used, want):
        have = numpy.load(folder / "out" / f"{name}.npy")
        assert have.shape == expected.shape
        numpy.testing.assert_allclose(have, expected, rtol=1e-4, atol=1e-5)
    text = program(
        "optimize-model", path, folder / "o.onnx", "--dry-run", "--cost", "nodes", *words
    )
    assert "0 opaque" in text or "opaque" not in text


@pytest.mark.parametrize(
    "op, shapes, attributes",
    [
        ("Gelu", {"x": (2, 3, 4)}, {}),
        ("FastGelu", {"x": (2, 3, 4)}, {}),
        ("FastGelu", {"x": (2, 3, 4), "b": (4,)}, {}),
        ("BiasGelu", {"x": (2, 3, 4), "b": (4,)}, {}),
        ("QuickGelu", {"x": (2, 3, 4)}, {}),
        ("QuickGelu", {"x": (2, 3, 4)}, {"alpha": 0.5}),
    ],
)
def test_activations(tmp_path, op, shapes, attributes):
    compared(tmp_path, op, shapes, list(shapes), **attributes)


NORM = {"x": (2, 3, 8), "skip": (2, 3, 8), "scale": (8,)}


@pytest.mark.parametrize("shift", [(), ("shift",)])
@pytest.mark.parametrize("bias", [(), ("bias",)])
@pytest.mark.parametrize("outputs", [("y",), ("y", "", "", "sum")])
def test_layer_norm_of_a_sum(tmp_path, shift, bias, outputs):
    shapes = NORM | {name: (8,) for name in shift + bias}
    order = ["x", "skip", "scale", *(shift or ("",)), *bias]
    while order[-1] == "":
        order.pop()
    compared(tmp_path, "SkipLayerNormalization", shapes, order, outputs, epsilon=1e-3)


@pytest.mark.parametrize("bias", [(), ("bias",)])
@pytest.mark.parametrize("outputs", [("y",), ("y", "", "", "sum")])
def test_rms_norm_of_a_sum(tmp_path, bias, outputs):
    shapes = NORM | {name: (8,) for name in bias}
    compared(tmp_path, "SkipSimplifiedLayerNormalization", shapes, list(shapes), outputs)


def test_rms_norm_by_its_first_name(tmp_path):
    shapes = {"x": (2, 3, 8), "scale": (8,)}
    compared(tmp_path, "SimplifiedLayerNormalization", shapes, ["x", "scale"], domain="")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mask", ["", "padding", "mask", "row"])
@pytest.mark.parametrize("causal", [0, 1])
def test_multi_head_attention(tmp_path, bias, mask, causal):
    if bias and mask in ("mask", "row"):
        pytest.skip("ONNX Runtime's CPU kernel is compared without both")
    shapes = {"q": (2, 5, 8), "k": (2, 7, 8), "v": (2, 7, 6)}
    if causal:
        shapes |= {"k": (2, 5, 8), "v": (2, 5, 6)}
    places, whole = shapes["k"][1], {}
    if bias:
        shapes["bias"] = (22,)
    if mask == "padding":
        whole["padding"] = numpy.ones((2, places), "int32")
        whole["padding"][1, -2:] = 0
    elif mask:
        shapes["mask"] = (2, 2, 5, places) if mask == "mask" else (1, 1, 5, places)
    order = [n if n in shapes or n in whole else "" for n in "q k v bias padding mask".split()]
    while order[-1] == "":
        order.pop()
    compared(
        tmp_path,
        "MultiHeadAttention",
        shapes,
        order,
        whole=whole,
        num_heads=2,
        unidirectional=causal,
    )
