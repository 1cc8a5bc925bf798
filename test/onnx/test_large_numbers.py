"""Absurd numbers in a file: sizes, axes and lists that would overflow or lead beyond the end of
memory. The node is then opaque, or the file is refused; there is no crash and no unlimited use of
memory."""

import os, resource, subprocess
import numpy, onnx, pytest
from onnx import TensorProto, helper
from small_models import ASAN, BUILD, PROGRAM, save, tensor

RUN = os.path.join(BUILD, "run-model")


def bounded():
    """Limits the memory to 3 GiB, which is more than any of these models needs."""
    if not ASAN:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def run(*words):
    return subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=120, preexec_fn=bounded
    )


def both(tmp_path, node, inputs, outputs, weights, opset=18, said=None, code=3):
    """Checks that optimize-model copies the node, and that run-model says `said`, the reason why it
    cannot run it, or runs it if that is None."""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    domains = [helper.make_opsetid(node.domain, 1)] if node.domain else []
    save(path, [node], inputs, outputs, weights, opset)
    model = onnx.load(path)
    model.opset_import.extend(domains)
    onnx.save(model, path)
    done = run(PROGRAM, path, out, "--cost", "flops")
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == path.read_bytes()
    done = run(RUN, path)
    assert done.returncode == (code if said else 0), done.stderr
    assert not said or said in done.stderr, done.stderr


def resize(tmp_path, axes, sizes, said, mode="linear", **attributes):
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], axes=axes, mode=mode, **attributes)
    both(
        tmp_path,
        node,
        [tensor("x", [2, 4096])],
        [tensor("y", ["a", "b"])],
        {"s": numpy.array(sizes, numpy.int64)},
        said=said,
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    "axes, said",
    [
        ([0, 0], "an axis is given twice"),
        ([0] * 400, "an axis is given twice"),
        ([1 << 32], "axis 4294967296 is out of range for a rank of"),
        ([-(1 << 63)], "axis -9223372036854775808 is out of range for a rank of"),
    ],
)
def test_axes_of_a_resize(tmp_path, mode, axes, said):
    resize(tmp_path, axes, [8] * len(axes), "cannot be run", mode)
    path = tmp_path / "m.onnx"
    reasons = run(os.path.join(BUILD, "test", "tools", "onnx_roundtrip"), "-v", path).stdout
    assert said in reasons or "mode" in reasons, reasons


def test_a_kept_aspect_ratio(tmp_path):
    policy = {"keep_aspect_ratio_policy": "not_smaller"}
    resize(tmp_path, [0, 1], [1 << 62, 1 << 40], "cannot be run", **policy)


def test_a_policy_that_is_no_text(tmp_path):
    number = helper.make_tensor("t", TensorProto.FLOAT, [], [1])
    resize(tmp_path, [0, 1], [3, 4], "cannot be run", keep_aspect_ratio_policy=number)


def test_batches_of_a_scan(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Identity", ["i"], ["o"])],
        "body",
        [tensor("i", [0])],
        [tensor("o", [0])],
    )
    node = helper.make_node("Scan", ["", "x"], ["y"], body=body, num_scan_inputs=1)
    huge = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[1 << 40, 3, 0])
    said = "more than 65536 batches"
    both(tmp_path, node, [], [tensor("y", ["a", "b", "c"])], {"x": huge}, opset=8, said=said)


def test_texts_of_one_length(tmp_path):
    """Texts are stored as rows of the same length, so that a single long one among many would take
    10^11 bytes."""
    texts = ["t"] * 100000 + ["t" * 1000000]
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=texts)
    kind = helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    out = helper.make_value_info("y", helper.make_sequence_type_proto(kind))
    both(tmp_path, node, [tensor("x", [2, 100001])], [out], {}, said="cannot be run")


def test_an_empty_training_mode(tmp_path):
    node = helper.make_node("Dropout", ["x", "r", "t"], ["y"])
    weights = {"r": numpy.float32(0.5), "t": numpy.zeros([0], bool)}
    shape = [tensor("x", [2, 3])], [tensor("y", [2, 3])]
    both(tmp_path, node, *shape, weights, said="a training mode that is computed from data")


def test_a_step_without_a_negative(tmp_path):
    node = helper.make_node("Range", ["a", "b", "c"], ["y"])
    weights = {n: numpy.int64(v) for n, v in [("a", 0), ("b", 5), ("c", -(1 << 63))]}
    out = [tensor("y", ["n"], TensorProto.INT64)]
    both(tmp_path, node, [], out, weights, said="a range whose step")


@pytest.mark.parametrize("name", ["dilations", "strides"])
def test_windows_of_a_pooling(tmp_path, name):
    node = helper.make_node(
        "MaxPool", ["x"], ["y"], kernel_shape=[3, 3], auto_pad="SAME_UPPER", **{name: [1 << 62, 1]}
    )
    shape = [tensor("x", [1, 1, 8, 8])], [tensor("y", [1, 1, "h", 8])]
    both(tmp_path, node, *shape, {}, said="beyond 32 bits")


@pytest.mark.parametrize("of", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("most", [(1 << 63) - 1, (1 << 63) - 2])
def test_windows_of_an_attention(tmp_path, of, most):
    """A window that is wider than the keys hides none of them."""
    infos = [tensor(n, [1, 2, 5, 4], of) for n in "qkvy"]
    said = []
    for window in {}, {"left_window_size": most}, {"right_window_size": most}:
        node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **window)
        save(tmp_path / "m.onnx", [node], infos[:3], infos[3:], {}, 25)
        done = run(RUN, tmp_path / "m.onnx")
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] == said[2], said


@pytest.mark.parametrize("k, upper", [((1 << 63) - 2, 1), ((1 << 63) - 3, 0)])
def test_a_diagonal_far_away(tmp_path, k, upper):
    node = helper.make_node("Trilu", ["x", "k"], ["y"], upper=upper)
    shape = [tensor("x", [3, 4])], [tensor("y", [3, 4])]
    both(tmp_path, node, *shape, {"k": numpy.int64(k)}, said="an index exceeds 64 bits")
