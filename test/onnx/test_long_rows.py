"""Rows that are longer than a tile of the CPU back end. Values that are the same along a row are
computed once, as one number (ops/cpu/vector.c), or as a part of a pass (ops/cpu/line.c)."""

import numpy, onnx, pytest
from onnx import helper, numpy_helper
from test_contrib_float import program

NODES = {
    "quotient": [("Exp", "r", "e"), ("Div", "x", "e", "y")],
    "norm": [
        ("Reshape", "x", "3d", "a"),
        ("InstanceNormalization", "a", "g", "h", "b"),
        ("Reshape", "b", "2d", "y"),
    ],
    "line": [("Sub", "x", "r", "a"), ("Mul", "s", "a", "b"), ("Add", "b", "r", "y")],
}
WANTED = {
    "quotient": lambda x, r, s: x / numpy.exp(r),
    "norm": lambda x, r, s: (x - x.mean(1, keepdims=True))
    / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
    * numpy.array([[1], [2], [3]])
    + 1,
    "line": lambda x, r, s: (x - r) * s + r,
}


@pytest.mark.parametrize("name", NODES)
def test_what_is_the_same_along_rows(tmp_path, name):
    draw = numpy.random.default_rng(1)
    feed = {"x": draw.uniform(-2, 2, (3, 1300)), "r": draw.uniform(-2, 2, (3, 1))}
    feed = {n: v.astype("float32") for n, v in (feed | {"s": feed["r"][::-1]}).items()}
    nodes = [helper.make_node(op, names[:-1], names[-1:]) for op, *names in NODES[name]]
    infos = [helper.make_tensor_value_info(n, 1, v.shape) for n, v in feed.items()]
    held = {"3d": numpy.array([1, 3, 1300]), "2d": numpy.array([3, 1300])}
    held |= {"g": numpy.float32([1, 2, 3]), "h": numpy.ones(3, "float32")}
    result = helper.make_tensor_value_info("y", 1, [3, 1300])
    constants = [numpy_helper.from_array(value, n) for n, value in held.items()]
    graph = helper.make_graph(nodes, "g", infos, [result], constants)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    words = []
    for n, value in feed.items():
        numpy.save(tmp_path / f"{n}.npy", value)
        words += ["--input", f"{n}={tmp_path / n}.npy"]
    program("run-model", tmp_path / "m.onnx", *words, "--output-dir", tmp_path)
    want = WANTED[name](*(feed[n].astype("float64") for n in "xrs"))
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 48])
@pytest.mark.parametrize("act", ["Relu", "Sigmoid"])
def test_a_norm_between_convolutions(tmp_path, groups, act):
    """The rows of the normalization have the layout of the convolutions, which is chosen after the
    normalization has become one step."""
    import onnxruntime

    draw = numpy.random.default_rng(groups)
    held = {n: draw.uniform(-1, 1, (48, 48, 3, 3)) / 20 for n in ("u", "v")}
    held |= {"g": draw.uniform(1, 2, groups), "h": draw.uniform(-1, 1, groups)}
    constants = [numpy_helper.from_array(v.astype("float32"), n) for n, v in held.items()]
    constants += [
        numpy_helper.from_array(numpy.array([1, groups, -1]), "rows"),
        numpy_helper.from_array(numpy.array([1, 48, 40, 40]), "map"),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["a"], pads=[1] * 4),
        helper.make_node("Reshape", ["a", "rows"], ["b"]),
        helper.make_node("InstanceNormalization", ["b", "g", "h"], ["c"]),
        helper.make_node("Reshape", ["c", "map"], ["d"]),
        helper.make_node(act, ["d"], ["e"]),
        helper.make_node("Conv", ["e", "v"], ["y"], pads=[1] * 4),
    ]
    x, y = (helper.make_tensor_value_info(n, 1, [1, 48, 40, 40]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    path = tmp_path / "m.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    data = draw.uniform(-2, 2, (1, 48, 40, 40)).astype("float32")
    numpy.save(tmp_path / "x.npy", data)
    program("run-model", path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {"x": data})
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("spatial", [(9,), (5, 6), (4, 3, 5), (2, 3, 4, 3), (2, 2, 2, 3, 3)])
@pytest.mark.parametrize("groups, channels", [(4, 12), (1, 3), (5, 5)])
@pytest.mark.parametrize("last", [False, True])
def test_group_normalization_of_many_axes(tmp_path, spatial, groups, channels, last):
    """Whatever the number of axes and their layout, it is not a loop over its definition."""
    import onnxruntime

    draw, rank = numpy.random.default_rng(groups), 2 + len(spatial)
    order = [0, rank - 1, *range(1, rank - 1)] if last else range(rank)
    x = draw.uniform(-3, 3, (2, channels, *spatial)).astype("float32")
    x = numpy.ascontiguousarray(x.transpose(numpy.argsort(order)))
    held = {n: draw.uniform(-2, 2, channels).astype("float32") for n in "gh"}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=order),
        helper.make_node("GroupNormalization", ["t", "g", "h"], ["y"], num_groups=groups),
    ]
    infos = [helper.make_tensor_value_info("x", 1, x.shape)]
    result = helper.make_tensor_value_info("y", 1, (2, channels, *spatial))
    constants = [numpy_helper.from_array(value, n) for n, value in held.items()]
    graph = helper.make_graph(nodes, "g", infos, [result], constants)
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    numpy.save(tmp_path / "x.npy", x)
    words = ["--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path, "--profile"]
    said = program("run-model", tmp_path / "m.onnx", *words)
    (want,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), want, rtol=2e-5, atol=1e-5)
    assert "loop" not in said, said


def test_group_normalization_without_channels(tmp_path):
    """With nothing to divide into groups, nothing is computed."""
    infos = [helper.make_tensor_value_info("x", 1, [1, 0, 2, 3, 4])]
    result = helper.make_tensor_value_info("y", 1, [1, 0, 2, 3, 4])
    constants = [numpy_helper.from_array(numpy.zeros(0, "float32"), n) for n in "gh"]
    nodes = [helper.make_node("GroupNormalization", ["x", "g", "h"], ["y"], num_groups=1)]
    graph = helper.make_graph(nodes, "g", infos, [result], constants)
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    program("run-model", tmp_path / "m.onnx", "--output-dir", tmp_path)
    assert numpy.load(tmp_path / "y.npy").shape == (1, 0, 2, 3, 4)
