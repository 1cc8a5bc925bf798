"""Import and export together preserve the meaning of node cases and real models, when every node is
written anew."""

import itertools
import numpy, onnx, pytest
from onnx import TensorProto, helper
from written import check_node_cases, check_real_models, run_onnxruntime, write_all


@pytest.mark.parametrize(
    "constant, least", [(False, 600), (True, 700)], ids=["inputs", "constants"]
)
def test_node_cases_written_anew(tmp_path, constant, least):
    check_node_cases(tmp_path, constant, "-r", least)


def test_real_models_written_anew(tmp_path):
    if not check_real_models(tmp_path, "-r"):
        pytest.skip("no models here: scripts/fetch-models fetches them")


# What is reshaped to what, and the operator that expresses it. Letters are open sizes, "mk" is the
# product of two.
RESHAPED = {
    "ones_moved": ("n m 1", "n 1 m", "Transpose"),
    "ones_moved_to_the_front": ("n 4 m 1 1", "1 n 1 4 m", "Transpose"),
    "ones_dropped": ("n 1 m 1", "n m", "Squeeze"),
    "ones_inserted": ("n m", "1 n 1 m", "Unsqueeze"),
    "ones_dropped_and_inserted": ("1 n 1 m", "n m 1", "Reshape"),
    "last_axes_joined": ("n m 4", "n 4m", "Flatten"),
    "two_of_three_joined": ("n 4 m k", "n 4 mk", "Reshape"),
    "first_axes_joined": ("n m 4", "nm 4", "Reshape"),
    "two_exchanged": ("n 4 m", "m 4 n", "Reshape"),
    "one_open": ("n 4", "4 n", "Reshape"),
    "open_axes_kept": ("n m 4", "n m 2 2", "Reshape"),
}


def size_of(text, sizes):
    return int(numpy.prod([sizes[c] if c.isalpha() else int(c) for c in text]))


def reshaped_to(x, y, version):
    """A model that reshapes x to y, with sizes that it computes."""
    letters = sorted({c for c in x if c.isalpha()})
    nodes = [helper.make_node("Shape", [f"like_{c}"], [f"n_{c}"]) for c in letters]
    numbers = [
        helper.make_tensor(f"n_{c}", TensorProto.INT64, [1], [int(c)])
        for c in sorted({c for c in y if c.isdigit()})
    ]
    sizes = []
    for k, text in enumerate(y.split()):
        size = f"n_{text[0]}"
        for c in text[1:]:
            nodes.append(helper.make_node("Mul", [size, f"n_{c}"], [f"product_{k}"]))
            size = f"product_{k}"
        sizes.append(size)
    zero = {"allowzero": 1} if version >= 14 else {}
    nodes.append(helper.make_node("Concat", sizes, ["sizes"], axis=0))
    nodes.append(helper.make_node("Reshape", ["x", "sizes"], ["y"], **zero))
    shape = [int(c) if c.isdigit() else c for c in x.split()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    inputs += [helper.make_tensor_value_info(f"like_{c}", TensorProto.FLOAT, [c]) for c in letters]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(y.split()))
    graph = helper.make_graph(nodes, "g", inputs, [result], numbers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


@pytest.mark.parametrize("version", [11, 17])
@pytest.mark.parametrize("name", RESHAPED)
def test_reshape_at_open_sizes_of_0(tmp_path, name, version):
    """A reshape that is written anew runs at every size at which the original runs. Before version
    14, ONNX cannot state all of them."""
    x, y, operator = RESHAPED[name]
    if version < 14 and name == "two_of_three_joined":
        pytest.skip("ONNX cannot state it in this version")
    path = str(tmp_path / "m.onnx")
    onnx.save(reshaped_to(x, y, version), path)
    ((out, code, message),) = write_all([path], tmp_path, "-r").values()
    assert code == 0, message
    onnx.checker.check_model(out)
    assert onnx.load(out).graph.node[-1].op_type == operator
    letters = sorted({c for c in x if c.isalpha()})
    ran = 0
    for numbers in itertools.product([0, 3, 5], repeat=len(letters)):
        sizes = dict(zip(letters, numbers))
        shape = [size_of(text, sizes) for text in x.split()]
        feed = {f"like_{c}": numpy.zeros(n, "f4") for c, n in sizes.items()}
        feed["x"] = numpy.arange(numpy.prod(shape), dtype="f4").reshape(shape)
        try:
            (want,) = run_onnxruntime(path, feed)
        except Exception:
            assert version < 14 and 0 in numbers
            continue
        if want.shape != tuple(size_of(text, sizes) for text in y.split()):
            assert version < 14 and 0 in numbers  # it has copied a size of x in place of a 0
            continue
        ran += 1
        (have,) = run_onnxruntime(out, feed)
        assert have.shape == want.shape and (have == want).all()
    assert ran == 3 ** len(letters) or version < 14 and ran
