"""Steps that the plan joins, makes once or runs on the host compute what separate steps would: the
built-in runtime is compared with ONNX Runtime on graphs that nearly match what is joined."""

import os
import numpy, onnx, onnxruntime, pytest
from small_models import BUILD, computed

KINDS = {"FLOAT": "f4", "INT8": "i1", "UINT8": "u1", "INT16": "i2", "UINT16": "u2", "BOOL": "?"}


def save(path, text, opset=17):
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}'), path)
    return path


def drawn(info, draw):
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    kind = KINDS[onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type)]
    if kind == "f4":
        return draw.standard_normal(shape).astype(kind)
    if kind == "?":
        return draw.integers(0, 2, shape).astype(kind)
    limits = numpy.iinfo(kind)
    return draw.integers(limits.min, limits.max, shape, kind, endpoint=True)


def agrees(path):
    draw = numpy.random.default_rng(1)
    feed = {x.name: drawn(x, draw) for x in onnx.load(path).graph.input}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    got = computed(path, feed)
    for out, want in zip(session.get_outputs(), session.run(None, feed)):
        numpy.testing.assert_allclose(got[out.name], want, rtol=1e-5, atol=1e-6)


SCORES = {  # what the softmax of an attention is taken of
    "a square": "t = Mul (s, s)",
    "a sum with itself": "u = Mul (s, half) t = Add (s, u)",
    "a maximum of two": "u = Mul (s, half) t = Max (s, u)",
    "its transpose added": "u = Transpose <perm = [0, 2, 1]> (s) t = Add (s, u)",
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_that_occur_twice(tmp_path, name):
    agrees(
        save(
            tmp_path / "m.onnx",
            f"""g (float[2,8,16] q, float[2,16,8] k, float[2,8,4] v) => (float[2,8,4] y)
            <float half = {{0.5}}>
            {{ s = MatMul (q, k) {SCORES[name]} p = Softmax (t) y = MatMul (p, v) }}""",
        )
    )


@pytest.mark.parametrize("last", ["MatMul (p, p)", "MatMul (p, x)"])
def test_an_operand_that_is_read_twice(tmp_path, last):
    agrees(
        save(
            tmp_path / "m.onnx",
            f"""g (float[2,8,8] x) => (float[2,8,8] y) <float half = {{0.5}}>
            {{ a = Mul (x, half) b = Transpose <perm = [0, 2, 1]> (a)
               s = MatMul (a, b) p = Softmax (s) y = {last} }}""",
        )
    )


def test_a_constant_that_one_program_reads_often(tmp_path):
    path = save(
        tmp_path / "m.onnx",
        "g (float[1,64,8,8] x) => (float[1,64,8,8] y) { y = Mean (c, c, c, x) }",
    )
    model = onnx.load(path)
    c = numpy.random.default_rng(2).random((1, 64, 1, 1), "float32")
    model.graph.initializer.append(onnx.numpy_helper.from_array(c, "c"))
    onnx.save(model, path)
    agrees(path)


def test_what_repeats_is_part_of_a_concatenation(tmp_path):
    agrees(
        save(
            tmp_path / "m.onnx",
            """g (float[1,1,8] a, float[1,4,8] w) => (float[1,4,8] z, float[1,8,8] y)
            <int64[3] sizes = {1, 4, 8}>
            { e = Expand (a, sizes) s = Sigmoid (e) z = Tanh (s) t = Sigmoid (w)
              c = Concat <axis = 1> (s, t) y = Relu (c) }""",
        )
    )


@pytest.mark.parametrize("through", [k for k in KINDS if k != "FLOAT"])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "FLOAT"])
def test_integers_wrap_on_their_way_to_floats(tmp_path, kind, through):
    numbers = {name: getattr(onnx.TensorProto, name) for name in (kind, through)}
    agrees(
        save(
            tmp_path / "m.onnx",
            f"""g ({kind.lower()}[3,40] x) => (float[3,40] y)
            {{ a = Cast <to = {numbers[through]}> (x) y = Cast <to = 1> (a) }}""",
        )
    )


def test_parts_of_a_byte_on_the_host(tmp_path):
    """A back end that runs fills only has every other step run by the host, whose copies begin and
    end at whole bytes."""
    path = save(
        tmp_path / "m.onnx",
        f"""g (int8[2] a, int8[2] b, int8[0] n) => (int8[4] y)
        {{ p = Cast <to = {onnx.TensorProto.INT2}> (a) q = Cast <to = {onnx.TensorProto.INT2}> (b)
           r = Cast <to = {onnx.TensorProto.INT2}> (n) c = Concat <axis = 0> (p, q, r)
           y = Cast <to = 3> (c) }}""",
        25,
    )
    feed = {
        "a": numpy.int8([1, -1]),
        "b": numpy.int8([-2, 1]),
        "n": numpy.zeros(0, "int8"),
    }
    plugin = os.path.join(BUILD, "test", "plugin", "null_backend.so")
    want = numpy.int8([1, -1, -2, 1])
    assert (computed(path, feed)["y"] == want).all()
    assert (computed(path, feed, "--backend", plugin)["y"] == want).all()


def test_a_product_of_bytes_in_a_concatenation(tmp_path):
    """The rows of the batches do not follow each other in the result."""
    agrees(
        save(
            tmp_path / "m.onnx",
            """g (uint8[2,5,3] x, float[2,2,4] z) => (float[2,7,4] y)
            <int8[3,4] w = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12}>
            { m = MatMulInteger (x, w) f = Cast <to = 1> (m) y = Concat <axis = 1> (f, z) }""",
        )
    )
    agrees(
        save(
            tmp_path / "m.onnx",
            """g (uint8[2,5,3] x, int16[2,2,4] z) => (int32[2,7,4] y)
            <int8[3,4] w = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12}>
            { m = MatMulInteger (x, w) i = Cast <to = 6> (z) y = Concat <axis = 1> (m, i) }""",
        )
    )
