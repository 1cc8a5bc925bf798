"""Windows and places outside the image: pads that are larger than a window, negative pads, infinite
elements that are not read; and attention whose optional inputs do not fit."""

import os, subprocess
import numpy, onnx, onnxruntime, pytest
from small_models import BUILD, ROOT, computed

RUN = os.path.join(BUILD, "run-model")


def model(path, text, **weights):
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    for name, value in weights.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    onnx.save(made, path)
    return path


def by_onnxruntime(path, **feed):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["y"], feed)[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "size, kernel, pad, dilation", [(64, 3, 9, 1), (32, 2, 20, 1), (32, 2, 50, 3), (32, 1, 10, 1)]
)
def test_windows_in_the_padding(tmp_path, threads, size, kernel, pad, dilation):
    draw = numpy.random.default_rng(1)
    x = draw.standard_normal((1, 10, 11, size)).astype("f4")
    w = draw.standard_normal((size, 1, kernel, kernel)).astype("f4")
    path = model(
        tmp_path / "m.onnx",
        f"""g (float[1,10,11,{size}] x) => (float[a,b,c,d] y)
        {{ t = Transpose <perm = [0, 3, 1, 2]> (x)
           v = Conv <group = {size}, dilations = [{dilation}, {dilation}],
                     pads = [{pad}, {pad}, {pad}, {pad}]> (t, w)
           y = Transpose <perm = [0, 2, 3, 1]> (v) }}""",
        w=w,
    )
    want = by_onnxruntime(path, x=x)
    got = computed(path, {"x": x}, "--threads", str(threads))["y"]
    numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


CROPPED = {
    "Conv": "Conv <pads = [{}]> (x, w)",
    "depthwise": "Conv <group = 3, pads = [{}]> (x, u)",
    "MaxPool": "MaxPool <kernel_shape = [3, 3], pads = [{}]> (x)",
    "AveragePool": "AveragePool <kernel_shape = [2, 2], strides = [2, 1], pads = [{}]> (x)",
}


@pytest.mark.parametrize("op", CROPPED)
def test_negative_pads_cut_off(tmp_path, op):
    """ONNX Runtime refuses them, so it gets what remains of x."""
    draw = numpy.random.default_rng(2)
    x = draw.standard_normal((1, 3, 12, 13)).astype("f4")
    weights = {
        "w": draw.standard_normal((8, 3, 3, 3)).astype("f4"),
        "u": draw.standard_normal((3, 1, 3, 3)).astype("f4"),
    }
    text = "g (float[1,3,h,w0] x) => (float[a,b,c,d] y) {{ y = " + CROPPED[op] + " }}"
    ours = model(tmp_path / "m.onnx", text.format("-1, -2, 1, 0"), **weights)
    theirs = model(tmp_path / "cut.onnx", text.format("0, 0, 1, 0"), **weights)
    want = by_onnxruntime(theirs, x=numpy.ascontiguousarray(x[:, :, 1:, 2:]))
    numpy.testing.assert_allclose(computed(ours, {"x": x})["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_an_infinity_that_is_not_read(tmp_path, mode):
    x = numpy.zeros((1, 1, 2, 2), "f4")
    x[0, 0, 0, 0] = numpy.inf
    path = model(
        tmp_path / "m.onnx",
        f"""g (float[1,1,2,2] x, float[1,2,1,2] grid) => (float[a,b,c,d] y)
        {{ y = GridSample <mode = "{'bi' * (mode == 'linear')}{mode}"> (x, grid) }}""",
    )
    grid = numpy.float32([[[[-3, -3]], [[0.5, 0.5]]]])
    assert (computed(path, {"x": x, "grid": grid})["y"] == 0).all()


ATTENTION = {
    "past_key": (["float[1,1,2,4] k0", "float[1,1,2,4] v0"], "(q, k, v, , k0, v0)"),
    "mask": (["float[2,5] m"], "(q, k, v, m)"),
    "heads": (["float[8,3,1,1] m"], "(q, k, v, m)"),
}


@pytest.mark.parametrize("what", ATTENTION)
def test_attention_that_does_not_fit(tmp_path, what):
    more, inputs = ATTENTION[what]
    given = ", ".join(["float[8,1,1,4] q", "float[8,1,1,4] k", "float[8,1,1,4] v", *more])
    text = f"""<ir_version: 10, opset_import: ["": 24]> g ({given}) => (float[a,b,c,d] y)
        {{ y = Attention {inputs} }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    done = subprocess.run([RUN, tmp_path / "m.onnx"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 3 and "cannot be run" in done.stderr, done.stdout + done.stderr
