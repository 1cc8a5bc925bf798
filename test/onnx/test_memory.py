"""The memory that a run takes at most: weights are kept as kernels packed them, and the file that
they were packed of is not in memory as a whole beside them."""

import os, subprocess, sys
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
RUN = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "run-model")
WIDTH, LAYERS = 2048, 8
WEIGHTS = LAYERS * WIDTH * WIDTH * 4


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(*command):
    """Bytes that a program had in memory at most, its files' pages among them. A program counts
    what its parent had when it was started: the parent is a small one."""
    words = [sys.executable, "-c", MEASURE, *command]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) * 1024


def written(path, layers):
    random = numpy.random.default_rng(1)
    weights = [
        numpy_helper.from_array(
            random.normal(0, 0.02, (WIDTH, WIDTH)).astype(numpy.float32), f"w{k}"
        )
        for k in range(layers)
    ]
    nodes = [helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]) for k in range(layers)]
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, WIDTH])]
        for name in ("x0", f"x{layers}")
    ]
    graph = helper.make_graph(nodes, "layers", *ends, weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return str(path)


def test_weights_are_in_memory_once(tmp_path):
    small = peak(RUN, written(tmp_path / "small.onnx", 1))
    large = peak(RUN, written(tmp_path / "large.onnx", LAYERS))
    grown = (large - small) / (WEIGHTS - WEIGHTS // LAYERS)
    assert 0.8 < grown < 1.4, f"{grown:.2f} bytes for each byte of weights"
