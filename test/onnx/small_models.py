"""Shared by the tests of optimize-model: small models, targets whose times a test chooses, rules
with forged verdicts, and checks of refusals."""

import os, platform, subprocess, sys, textwrap
import numpy, onnxruntime, pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build")))
PROGRAM = os.path.join(BUILD, "optimize-model")
# AddressSanitizer reserves terabytes of addresses, needs more memory and keeps what was freed.
ASAN = os.path.basename(BUILD) == "asan"
LIBRARY = os.path.join(ROOT, "rules", "library")
SHAPE = ["--input-shape", "x:1,3,40,40"]


WRONG = """rule wrong-batchnorm
  axes h k = 1..3
  %x : F [n, c, h..]   %w : F [o, q, k..]
  %scale : F [o]   %shift : F [o]   %mean : F [o]   %var : F [o]
from
  %y = conv %x %w group=G strides=S pads=P dilations=D
  %z = batchnorm %y %scale %shift %mean %var epsilon=E
  out %z
to
  %g = reshape %scale shape=[o, 1, k..=1]
  %h = broadcast %g shape=[o, q, k..]
  %u = mul %w %h
  %z = conv %x %u %shift group=G strides=S pads=P dilations=D
  out %z
"""
MEASURING = """#!{python}
import sys
{setup}

batches, batch = 0, []
for line in sys.stdin:
    path = line.rstrip("\\n")
    if path:
        batch.append(path)
        continue
    batches += 1
{each_batch}
    for path in batch:
        data = open(path, "rb").read()
        seconds = {seconds}
        print(f"{{seconds:.6f}} {{path}}" if seconds else f"FAIL {{path}} it does not run")
    print(flush=True)
    batch = []
"""


def save(path, nodes, inputs, outputs, weights, opset=13, **fields):
    """Writes a model. `weights`: by name, arrays, or tensors, which are taken as they are."""
    tensors = [
        v if isinstance(v, TensorProto) else numpy_helper.from_array(v, k)
        for k, v in weights.items()
    ]
    graph = helper.make_graph(nodes, "test", inputs, outputs, tensors)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **fields
    )
    path.write_bytes(model.SerializeToString())
    return path


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def net(path, blocks=6, size=24, scale=1.0, opset=13):
    """A model with open sizes, of blocks of Conv, BatchNormalization and a chain of nodes that
    computes hard swish."""
    rng = numpy.random.default_rng(0)
    nodes, weights, last = (
        [],
        {
            "three": numpy.float32([3]),
            "six": numpy.float32([6]),
            "lo": numpy.float32(0),
            "hi": numpy.float32(6),
        },
        "x",
    )
    for k in range(blocks):
        width = 3 if k == 0 else size
        weights |= {
            f"w{k}": (scale * rng.normal(size=(size, width, 3, 3)) / width).astype("f"),
            f"s{k}": rng.random(size).astype("f") + 0.5,
            f"b{k}": rng.normal(size=size).astype("f"),
            f"m{k}": rng.normal(size=size).astype("f"),
            f"v{k}": rng.random(size).astype("f") + 0.5,
        }
        nodes += [
            helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"], f"conv{k}", pads=[1, 1, 1, 1]),
            helper.make_node(
                "BatchNormalization",
                [f"c{k}", f"s{k}", f"b{k}", f"m{k}", f"v{k}"],
                [f"n{k}"],
                f"norm{k}",
            ),
            helper.make_node("Add", [f"n{k}", "three"], [f"a{k}"], f"add{k}"),
            helper.make_node("Clip", [f"a{k}", "lo", "hi"], [f"l{k}"], f"clip{k}"),
            helper.make_node("Mul", [f"n{k}", f"l{k}"], [f"p{k}"], f"mul{k}"),
            helper.make_node("Div", [f"p{k}", "six"], [f"y{k}"], f"div{k}"),
        ]
        last = f"y{k}"
    return save(
        path,
        nodes,
        [tensor("x", ["batch", 3, "h", "w"])],
        [tensor(last, ["batch", size, "h", "w"])],
        weights,
        opset,
    )


def roots(path):
    """A model of powers that are faster as square roots on any machine. (A second power would gain
    nothing, since our kernels compute it as a product.)"""
    nodes = []
    for k in range(4):
        nodes += [
            helper.make_node("Pow", [f"y{k - 1}" if k else "x", "half"], [f"p{k}"]),
            helper.make_node("MaxPool", [f"p{k}"], [f"y{k}"], kernel_shape=[1, 1]),
        ]
    return save(
        path,
        nodes,
        [tensor("x", ["n", 8, "h", "w"])],
        [tensor("y3", ["n", 8, "h", "w"])],
        {"half": numpy.float32([0.5])},
    )


def measuring(script, seconds, setup="", each_batch="pass"):
    """Writes a measuring command (search/README.md) and returns its path. `seconds`: a Python
    expression for the time of a file, given its `path` and its bytes, `data`; 0 means that the file
    does not run. `setup`: statements before the first batch. `each_batch`: statements before each
    batch, given its list of paths, `batch`, and its number, `batches`."""
    text = MEASURING.format(
        python=sys.executable,
        setup=setup,
        each_batch=textwrap.indent(each_batch, "    "),
        seconds=seconds,
    )
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def target(folder, seconds):
    """A measuring command that writes an x into the file `asked` for each file that it times."""
    log = f"open({str(folder / 'asked')!r}, 'a').write('x' * len(batch))"
    return measuring(folder / "target", seconds, each_batch=log)


# A rule without its name: a second power as a product.
SQUARED = """  axes b = 0..4
  %x : F [b..]
from
  %two = fill value=2 shape=[]
  %y = pow %x %two
  out %y
to
  %y = mul %x %x
  out %y
"""


def forged(tmp_path, text, *defs):
    """A file of these rules with forged verdicts, which the loader believes. `defs`: digests of
    definitions for the verdict, as if operators had meant something else when it was given."""
    (tmp_path / "in.rules").write_text(text)
    subprocess.run(
        [
            os.path.join(BUILD, "test", "tools", "seal_rules"),
            tmp_path / "in.rules",
            tmp_path / "forged.rules",
            *defs,
        ],
        check=True,
        timeout=30,
    )
    return tmp_path / "forged.rules"


def refused(done, code, *said, out=None):
    assert done.returncode == code, done.stdout + done.stderr
    assert all(word in done.stderr for word in said), done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
    assert out is None or not out.exists()


def computed(path, feed, *options):
    """What run-model computes of these inputs: the outputs by name. Files lie beside the model."""
    words = []
    for name, value in feed.items():
        numpy.save(path.parent / f"{name}.npy", value)
        words += ["--input", f"{name}={path.parent / name}.npy"]
    folder = path.parent / f"of{len(options)}"
    done = subprocess.run(
        [os.path.join(BUILD, "run-model"), path, *words, "--output-dir", folder, *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return {file[:-4]: numpy.load(folder / file) for file in os.listdir(folder)}


def agree(a, b, x):
    one, two = (
        onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(
            None, {"x": x}
        )[0]
        for p in (a, b)
    )
    assert one.shape == two.shape and numpy.abs(one - two).max() <= 1e-4 * numpy.abs(one).max()


def without_vnni():
    if platform.machine() != "x86_64":
        return False
    with open("/proc/cpuinfo") as file:
        return "vnni" not in file.read()


unsigned = pytest.mark.skipif(without_vnni(), reason="bytes stay signed without VNNI")
