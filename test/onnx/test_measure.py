"""measure-onnxruntime answers what it was asked, leaves what is clearly slower, and has its memory
on the pages that it should."""

import importlib, os, shutil, subprocess
import onnx, pytest
from onnx import helper
from script_cases import ROOT, scaled, tool


def chained(path, n):
    """A model of n Tanh in a row, which is much more work than one multiplication."""
    model = onnx.load(scaled(path, 1.0))
    del model.graph.node[:]
    for i in range(n):
        model.graph.node.append(
            helper.make_node("Tanh", [f"v{i}" if i else "x"], [f"v{i + 1}" if i + 1 < n else "y"])
        )
    del model.graph.initializer[:]
    onnx.save(model, path)
    return str(path)


def test_measure_answers_batches_in_order(tmp_path):
    good, bad = scaled(tmp_path / "a.onnx", 2.0), tmp_path / "b.onnx"
    bad.write_bytes(b"no model")
    done = tool(
        "measure-onnxruntime", "--rounds", "3", "--dim", "n=7", stdin=f"{good}\n{bad}\n\n{good}\n\n"
    )
    lines = done.stdout.split("\n")
    assert done.returncode == 0 and len(lines) == 6, done.stdout + done.stderr
    assert lines[0].split()[1] == good and 0 < float(lines[0].split()[0]) < 1
    assert lines[1].startswith(f"FAIL {bad} ") and lines[2] == lines[4] == lines[5] == ""
    assert float(lines[3].split()[0]) > 0


def test_measure_sees_the_slower_model(tmp_path):
    done = tool(
        "measure-onnxruntime",
        "--rounds",
        "5",
        "--input-shape",
        "x:2,1000000",
        stdin="\n".join(
            [scaled(tmp_path / "a.onnx", 2.0), chained(tmp_path / "b.onnx", 40), "", ""]
        ),
    )
    fast, slow = (float(line.split()[0]) for line in done.stdout.split("\n")[:2])
    assert slow > 5 * fast


def test_measure_on_a_gpu_is_refused_without_one(tmp_path):
    """The installed package of ONNX Runtime has no provider for GPUs."""
    done = tool("measure-onnxruntime", "--provider", "cuda", stdin="\n")
    assert done.returncode == 5 and "no CUDA provider: pip install" in done.stderr


@pytest.mark.parametrize("runs_there", [True, False])
def test_measure_on_a_gpu_is_exact_and_binds_memory(monkeypatch, runs_there):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    measuring = importlib.import_module("measure_onnxruntime")
    import onnxruntime

    asked, bound, runs = [], [], []

    class Binding:
        def bind_ortvalue_input(self, name, value):
            bound.append((name, value))

        def bind_output(self, name, device):
            bound.append((name, device))

    class Named:
        name, type = "y", "tensor(float)"

    class Session:
        def __init__(self, path, options, providers):
            asked.extend(providers)

        def get_providers(self):
            return ["CUDAExecutionProvider"] * runs_there + ["CPUExecutionProvider"]

        def get_inputs(self):
            return []

        def get_outputs(self):
            return [Named]

        def io_binding(self):
            return Binding()

        def run_with_iobinding(self, binding):
            runs.append(binding)

    class Values:
        @staticmethod
        def ortvalue_from_numpy(value, device, number):
            return device, number, value

    class Drawn:
        def draw(self, inputs):
            return {"x": 1.0}

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    monkeypatch.setattr(onnxruntime, "OrtValue", Values)
    file = measuring.Measured("m.onnx", Drawn(), 1, 1e-3, "cuda")
    assert asked == [("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"]
    if not runs_there:
        assert "does not run it on the GPU" in file.reason
        return
    assert file.reason is None and runs and file.clock is measuring.time.perf_counter
    assert bound == [("x", ("cuda", 0, 1.0)), ("y", "cuda")]


def test_measure_in_a_process_that_has_loaded_nothing(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    measuring = importlib.import_module("measure_onnxruntime")
    feed = importlib.import_module("onnx_tools").feed_of(["--dim", "n=7"])
    paths = [scaled(tmp_path / name, 2.0) for name in ("a.onnx", "b.onnx")]
    visits = measuring.measure_in_new_process(paths, feed, 3)
    assert [len(each) for each in visits] == [3, 3] and min(map(min, visits)) > 0
    (tmp_path / "b.onnx").write_bytes(b"no model")
    with pytest.raises(RuntimeError, match="b.onnx"):
        measuring.measure_in_new_process(paths, feed, 3)


@pytest.mark.parametrize("before", [None, "glibc.malloc.hugetlb=1"])
def test_processes_on_small_pages(monkeypatch, before):
    """They are asked for in the processes that are started meanwhile, and in no others."""
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    measuring = importlib.import_module("measure_onnxruntime")
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if before:
        monkeypatch.setenv("GLIBC_TUNABLES", before)
    say = ["sh", "-c", 'printf %s "$GLIBC_TUNABLES"']
    with measuring.small_pages():
        assert subprocess.check_output(say, text=True) == "glibc.malloc.hugetlb=0"
    assert os.environ.get("GLIBC_TUNABLES") == before


def test_measure_leaves_what_is_clearly_slower(monkeypatch):
    """If only the original is left, it is not timed further. A file that may gain has all
    rounds."""
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    measuring = importlib.import_module("measure_onnxruntime")

    class Fixed:
        def __init__(self, path, feed, threads, visit):
            self.path, self.reason, self.visits, self.first = path, None, [], float(path)

        def visit(self):
            self.visits.append(float(self.path))

    monkeypatch.setattr(measuring, "Measured", Fixed)

    def rounds(*paths, **options):
        return [len(file.visits) for file in measuring.measure(paths, None, 11, 1, 3, **options)]

    assert rounds("1.0", "1.1") == [3, 3]
    assert rounds("1.0", "1.2") == [3, 2], "far slower"
    assert rounds("1.0", "1.1", "0.9") == [11, 2, 11], "than the fastest"
    assert rounds("1.0", "1.02", "0.9") == [11, 3, 11]
    assert rounds("1.0", "1.01", "0.985") == [11, 3, 11]
    assert rounds("1.0", "0.93", "0.92", "0.91", "0.9") == [11, 3, 3, 6, 11], "half is left"
    assert rounds("1.0", "1.04", "1.01") == [3, 3, 3], "nothing is faster"
    assert rounds("1.0", "1.025") == [3, 3]
    assert rounds("1.0") == [3]
    assert rounds("1.0", "0.9", budget=21) == [11, 11]
    assert rounds("1.0", "0.9", budget=15) == [7, 7], "long calls have fewer rounds"
    assert rounds("1.0", "0.9", budget=1) == [4, 4], "but some"
    assert rounds("1.0", "1.01", budget=1) == [2, 2]
    slow, fast = measuring.seconds(measuring.measure(["1.0", "1.2"], None, 11, 1, 3), "ratio")
    assert abs(fast / slow - 1.2) < 1e-6


@pytest.mark.parametrize(
    "given, expected",
    [
        (None, "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.check=0", "glibc.malloc.check=0:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
    ],
)
def test_large_pages_are_asked_for(tmp_path, given, expected):
    """They are asked for unless the caller has decided, since with small pages the speed differs
    from session to session."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(os.path.join(ROOT, "scripts", "with-python"), tmp_path / "scripts")
    program = tmp_path / "scripts" / "says.py"
    program.write_text("import os\nprint(os.environ['GLIBC_TUNABLES'])\n")
    env = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    done = subprocess.run(
        [tmp_path / "scripts" / "with-python", "says.py"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(env, **({"GLIBC_TUNABLES": given} if given else {})),
    )
    assert done.stdout.strip() == expected
