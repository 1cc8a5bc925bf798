"""The peak memory of a run: weights are kept only as kernels have packed them, and the file from
which they come is never in memory as a whole beside them."""

import json, os, subprocess, sys, time
import numpy, onnx, pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import ASAN

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
RUN, OPTIMIZE = os.path.join(BUILD, "run-model"), os.path.join(BUILD, "optimize-model")
WIDTH, LAYERS = 2048, 8
WEIGHTS = LAYERS * WIDTH * WIDTH * 4


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(*command):
    """The peak memory of a program in bytes, including pages of files. Since this would include the
    memory of its parent at the start, the parent is a small program."""
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


@pytest.mark.skipif(ASAN, reason="the address sanitizer keeps freed memory")
def test_weights_are_in_memory_once(tmp_path):
    small = peak(RUN, written(tmp_path / "small.onnx", 1))
    large = peak(RUN, written(tmp_path / "large.onnx", LAYERS))
    grown = (large - small) / (WEIGHTS - WEIGHTS // LAYERS)
    assert 0.8 < grown < 1.4, f"{grown:.2f} bytes for each byte of weights"


@pytest.mark.parametrize("sizes", [[], ["--fix-dims", "--dim", "n=8"]])
def test_roundings_are_tried_one_by_one(tmp_path, sizes):
    """A result that depends strongly on roundings is computed sixteen times with other roundings.
    Each graph for this has a factor for every element, and is freed before the next one. The same
    holds for a file whose sizes were fixed, which is compared as a whole."""
    length, layers, first = 1 << 18, 12, "n" if sizes else 8
    nodes = []
    for k in range(layers):
        nodes += [
            helper.make_node("Mul", [f"s{k - 1}" if k else "x", "third"], [f"a{k}"]),
            helper.make_node("Mul", [f"a{k}", "three"], [f"b{k}"]),
            helper.make_node("Abs", [f"b{k}"], [f"s{k}"]),
        ]
    nodes.append(helper.make_node("Mul", [f"s{layers - 1}", "large"], ["scaled"]))
    nodes.append(helper.make_node("Sin", ["scaled"], ["y"]))
    numbers = {"third": [1 / 3], "three": [3.1], "large": [1e7]}
    weights = [numpy_helper.from_array(numpy.float32(v), k) for k, v in numbers.items()]
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [first, length // 8])]
        for name in ("x", "y")
    ]
    graph = helper.make_graph(nodes, "moved", *ends, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    words = [
        tmp_path / "m.onnx",
        tmp_path / "o.onnx",
        "--cost",
        "flops",
        "--cost-db",
        tmp_path / "c",
    ]
    words += ["--enable", "mul-mul-scalar", *sizes]
    done = subprocess.run(
        [OPTIMIZE, *words, "--report", tmp_path / "r.json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "r.json").read_text())
    assert said["check"]["max_absolute"] > 1 and said["check"]["unstable"], done.stdout
    assert "roundings alone move the original's outputs as far" in done.stdout
    assert ASAN or said["peak_mb"] < 300, "the factors of one graph take 36 MB"


def test_a_measuring_process_that_waits_keeps_no_weights(tmp_path):
    """During a search, three such processes may wait at the same time."""
    model = written(tmp_path / "m.onnx", LAYERS)
    words = [os.path.join(ROOT, "scripts", "measure-onnxruntime"), "--rounds", "2"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:

        def resident():
            with open(f"/proc/{process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for _ in range(2):
            process.stdin.write(f"{model}\n\n")
            process.stdin.flush()
            assert not process.stdout.readline().startswith("FAIL")
            assert process.stdout.readline() == "\n"
        for _ in range(100):
            kept = resident()
            if kept < WEIGHTS:
                break
            time.sleep(0.1)
        process.stdin.close()
    assert kept < WEIGHTS, kept
