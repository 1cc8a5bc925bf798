"""Einsum: the graphs that the importer makes of equations, run and rewritten."""

import os, random, subprocess
import numpy, onnx, onnxruntime, pytest
from onnx import helper
from small_models import BUILD, LIBRARY, PROGRAM, save, tensor

EAGER = os.path.join(os.path.dirname(__file__), "prefer-rewritten")
SIZES = dict(zip("abcdefgh", (2, 3, 1, 4, 5, 3, 2, 4)))


def drawn(seed, inputs):
    """A random equation. Letters that occur in only one input are axes of the output."""
    draw = random.Random(seed)
    terms = [draw.sample("abcdefgh"[: 5 + inputs], draw.randint(1, 4)) for _ in range(inputs)]
    letters = sorted({c for t in terms for c in t})
    alone = [c for c in letters if sum(c in t for t in terms) == 1]
    both = [c for c in letters if c not in alone]
    y = (alone + draw.sample(both, draw.randint(0, len(both))))[:8]
    draw.shuffle(y)
    return ",".join(map("".join, terms)) + "->" + "".join(y)


def einsum(path, equation):
    inputs, _, y = equation.replace(",", " ").partition("->")
    names = [f"x{k}" for k in range(len(inputs.split()))]
    given = [tensor(n, [SIZES[c] for c in t]) for n, t in zip(names, inputs.split())]
    nodes = [helper.make_node("Einsum", names, ["y"], equation=equation)]
    return save(path, nodes, given, [tensor("y", [SIZES[c] for c in y])], {})


def data(path):
    rng = numpy.random.default_rng(1)
    shapes = {
        i.name: [d.dim_value for d in i.type.tensor_type.shape.dim]
        for i in onnx.load(path).graph.input
    }
    return {name: rng.normal(size=shape).astype("f") for name, shape in shapes.items()}


def ours(path, feed, folder):
    words = [os.path.join(BUILD, "run-model"), str(path), "--output-dir", str(folder)]
    for name, value in feed.items():
        numpy.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    subprocess.run(words, check=True, capture_output=True)
    return numpy.load(folder / "y.npy")


def rewritten(path, out):
    rules = os.path.join(LIBRARY, "einsum.rules")
    words = [PROGRAM, str(path), str(out), "--rules", rules, "--measure-with", EAGER, "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    return {node.op_type for node in onnx.load(out).graph.node}


def check(tmp_path, equation):
    path, out = einsum(tmp_path / "m.onnx", equation), tmp_path / "o.onnx"
    feed = data(path)
    meant = numpy.einsum(equation, *(v.astype("d") for v in feed.values()))
    numpy.testing.assert_allclose(ours(path, feed, tmp_path), meant, 1e-4, 1e-5, err_msg=equation)
    kinds = rewritten(path, out)
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    have = session.run(None, feed)[0]
    numpy.testing.assert_allclose(have, meant, 1e-4, 1e-5, err_msg=equation)
    return kinds


@pytest.mark.parametrize("seed", range(12))
def test_any_two(tmp_path, seed):
    assert "Einsum" not in check(tmp_path, drawn(seed, 2))


@pytest.mark.parametrize("seed", range(8))
def test_any_three(tmp_path, seed):
    assert "Einsum" not in check(tmp_path, drawn(100 + seed, 3))


@pytest.mark.parametrize(
    "equation", ["nlhd,nhdv,nlh->nlhv".translate(str.maketrans("nlhdv", "abdef")), "abd,db->a"]
)
def test_known_forms(tmp_path, equation):
    assert "Einsum" not in check(tmp_path, equation)


@pytest.mark.parametrize("equation", ["aab,bd->ad", "abd,ed->ae", "abe,bd->abd"])
def test_left_alone(tmp_path, equation):
    """Equations with a diagonal, or with a sum over a letter of only one input, stay an Einsum."""
    assert "Einsum" in check(tmp_path, equation)


@pytest.mark.parametrize(
    "equation", ["abd,de->abe", "abd,ade->abe", "ab,dbe->dae", "ab,dgbe->dgae"]
)
def test_only_a_product(tmp_path, equation):
    """Nothing is transposed if the axes are in order. An axis that is a batch of one factor only
    stays its batch."""
    assert check(tmp_path, equation) - {"Reshape"} == {"MatMul"}


@pytest.mark.parametrize("arrow", ["->a", ""])
@pytest.mark.parametrize("inputs", [17, 18, 19, 24, 60])
def test_long(tmp_path, inputs, arrow):
    """An equation longer than what the import keeps of one: the node stays as it is. 17 terms of 8
    letters fit, as do the 2 entries of the result."""
    equation = ",".join(["abcdefgh"] * inputs) + arrow
    names = [f"x{k}" for k in range(inputs)]
    nodes = [helper.make_node("Einsum", names, ["y"], equation=equation)]
    given = [tensor(n, [SIZES[c] for c in "abcdefgh"]) for n in names]
    given_y = tensor("y", [SIZES["a"]] if arrow else [])
    path = save(tmp_path / "m.onnx", nodes, given, [given_y], {})
    words = [PROGRAM, str(path), "--dry-run", "--cost", "flops"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    understood = 0 if inputs > 17 else 1
    assert f"{understood} of 1 nodes understood" in done.stdout + done.stderr
