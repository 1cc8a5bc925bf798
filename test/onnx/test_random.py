"""The random operators give the right sizes and types, the required distribution, and the same
numbers for the same seed."""

import collections
import numpy, onnx.parser, pytest
from test_nodes import Tool

BODIES = {
    "uniform": (
        "RandomUniform <low = 2.0, high = 4.0, shape = [50, 60], seed = {seed}.0> ()",
        3.0,
        0.577,
    ),
    "normal": (
        "RandomNormal <mean = -1.0, scale = 0.5, shape = [50, 60], seed = {seed}.0> ()",
        -1.0,
        0.5,
    ),
    "uniform_like": ("RandomUniformLike <seed = {seed}.0> (x)", 0.5, 0.289),
    "normal_like": ("RandomNormalLike <scale = 2.0, seed = {seed}.0> (x)", 0.0, 2.0),
    "bernoulli": ("Bernoulli <seed = {seed}.0> (x)", 0.25, 0.433),
}


def drawn(tool, name, seed):
    text = (
        '<ir_version: 8, opset_import: ["" : 15]> g (float[50,60] x) => (float[50,60] y)'
        f" {{ y = {BODIES[name][0].format(seed=seed)} }}"
    )
    model = onnx.parser.parse_model(text)
    case = collections.namedtuple("Case", "model data_sets")(
        model, [([numpy.full((50, 60), 0.25, "f4")], [])]
    )
    verdict, have = tool.ask(case)
    assert verdict == "done", have
    return have[0]


@pytest.mark.parametrize("name", BODIES)
def test_drawn(name, tmp_path):
    tool, (_, mean, deviation) = Tool(tmp_path), BODIES[name]
    y = drawn(tool, name, 3)
    assert y.shape == (50, 60) and y.dtype == numpy.float32
    assert (
        abs(y.mean() - mean) < 5 * deviation / 3000**0.5
        and abs(y.std() - deviation) < 0.05 * deviation
    )
    assert numpy.array_equal(y, drawn(tool, name, 3)) and not numpy.array_equal(
        y, drawn(tool, name, 4)
    )
    tool.process.stdin.close()
    tool.process.wait(timeout=60)


def test_uniform_is_the_generator_of_numpy(tmp_path):
    want = numpy.random.RandomState(3).uniform(2, 4, (50, 60)).astype("f4")
    assert numpy.allclose(drawn(Tool(tmp_path), "uniform", 3), want, rtol=1e-6)
