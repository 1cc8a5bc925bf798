"""The operators of ONNX Runtime's domain com.microsoft on floats, which its optimizer makes. The
built-in runtime runs them, and the results are compared with ONNX Runtime; optimize-model must
preserve what they compute. This file also holds the code that the other test_contrib_*.py share."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BUILD

TYPES = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
}


def saved(
    folder, op, feed, order, outputs, domain="com.microsoft", version=1, kinds={}, **attributes
):
    """Writes a model of one node and its inputs; returns its path and the options of run-model.
    `order` and `outputs` name the node's inputs and outputs; "" leaves one out. Outputs are floats
    unless `kinds` says otherwise."""
    node = helper.make_node(op, order, outputs, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, TYPES[v.dtype.name], v.shape) for n, v in feed.items()],
        [helper.make_tensor_value_info(n, kinds.get(n, 1), None) for n in outputs if n],
    )
    opsets = [helper.make_opsetid("", 17)]
    opsets += [helper.make_opsetid(domain, version)] if domain else []
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    for name, value in feed.items():
        numpy.save(folder / f"{name}.npy", value)
    return path, [w for n in feed for w in ("--input", f"{n}={folder / n}.npy")]


def hold(path, name, feed):
    """Turns an input of a model into a constant."""
    model = onnx.load(path)
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(feed.pop(name), name))
    kept = [i for i in graph.input if i.name != name]
    del graph.input[:]
    graph.input.extend(kept)
    onnx.save(model, path)


def program(name, *words):
    done = subprocess.run(
        [os.path.join(BUILD, name), *map(str, words)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compared(
    folder,
    op,
    shapes,
    order,
    outputs=("y",),
    whole=None,
    away=(1e-4, 1e-5),
    fixed=(),
    valid=None,
    **attributes,
):
    """Compares a node in both runtimes. `shapes`: shapes of random inputs; `whole`: inputs that are
    given; `fixed`: names of inputs that are constants of the model; `away`: the relative and the
    absolute difference allowed; `valid`: how many places of each batch are compared."""
    rng = numpy.random.default_rng(5)
    feed = {n: rng.uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}
    feed |= {n: numpy.asarray(v) for n, v in (whole or {}).items()}
    path, words = saved(folder, op, feed, order, outputs, **attributes)
    for name in fixed:
        hold(path, name, feed)
        at = words.index(f"{name}={folder / name}.npy")
        del words[at - 1 : at + 1]
    used = [n for n in outputs if n]
    want = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        used, feed
    )
    program("run-model", path, "--output-dir", folder / "out", *words)
    for name, expected in zip(used, want):
        have = numpy.load(folder / "out" / f"{name}.npy")
        assert have.shape == expected.shape
        for b, n in enumerate(valid or []):  # the other places are not defined
            if name == "y":
                have[b, n:], expected[b, n:] = 0, 0
            else:
                have[b, :, n:], expected[b, :, n:] = 0, 0
        numpy.testing.assert_allclose(have, expected, rtol=away[0], atol=away[1])
    quick = ["--dry-run", "--cost", "nodes", "--rules", "none"]
    text = program("optimize-model", path, folder / "o.onnx", *quick, *words)
    assert "0 opaque" in text or "opaque" not in text
    return dict(zip(used, want))


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
