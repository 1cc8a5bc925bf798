"""scripts/gpu_offline.py, gpu-check and gpu-bundle, tested with stand-ins for the programs that
they run: the files that they write, and that one failure does not keep other results from being
written."""

import ctypes, os, subprocess, sys
import numpy, pytest
from conftest import SLOWER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
GOOD = "#!/bin/sh\nexit 0\n"
# A stand-in for run-model that fails on one model as long as there is no file `mended`.
RUN_MODEL = """#!/bin/sh
echo "$1" >> "$0.log"
case $1 in */b.onnx) [ -e "$(dirname "$0")/mended" ] || { echo spills >&2; exit 5; } ;; esac
"""


def program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def place(tmp_path):
    program(tmp_path / "build" / "run-model", RUN_MODEL)
    for name in ("nvrtc", "dnn", "host"):
        program(tmp_path / "build" / "test" / "cuda" / f"isomer-{name}.so", "")
    (tmp_path / "models" / "zoo").mkdir(parents=True)
    (tmp_path / "models" / "zoo" / "zoo.tsv").write_text("a\ta.onnx\t\nb\tb.onnx\t\n")
    return tmp_path


def offline(place, *parts, **more):
    table = place / "OFFLINE.md"
    done = subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "gpu_offline.py"), *parts],
        env={
            **os.environ,
            "BUILD": str(place / "build"),
            "ISOMER_MODELS": str(place / "models"),
            "TABLE": str(table),
            **more,
        },
        capture_output=True,
        text=True,
    )
    return done.returncode, table.read_text() if table.exists() else done.stderr


def test_a_part_goes_on_where_it_was(place):
    code, text = offline(place, "sm_90")
    assert code == 1 and "1 of 2 good" in text and "- sm_90, b: spills" in text
    (place / "build" / "mended").touch()
    code, text = offline(place, "sm_90")
    assert code == 3 and "2 of 2 good" in text and "- sm_90" not in text
    tried = (place / "build" / "run-model.log").read_text().split()
    assert [os.path.basename(path) for path in tried] == ["a.onnx", "b.onnx", "b.onnx"]
    (place / "build" / "test" / "cuda" / "isomer-nvrtc.so").write_text("another")
    assert "not run" not in offline(place, "sm_90")[1].split("sm_90")[1].split("\n")[0]
    assert len((place / "build" / "run-model.log").read_text().split()) == 5


def test_what_there_was_no_time_for_is_left(place):
    code, text = offline(place, "sm_90", MINUTES="0")
    assert code == 3 and " good" not in text


def test_a_part_that_does_not_exist_is_refused(place):
    code, said = offline(place, "sm_9")
    assert code == 2 and "there is no part sm_9" in said and "sm_90" in said


def check(place, *parts, **more):
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", "gpu-check"), *parts],
        env={
            **os.environ,
            "BUILD": str(place / "build"),
            "MODELS": str(place / "models"),
            "OUT": str(place / "out"),
            "PYTHON": sys.executable,
            **more,
        },
        capture_output=True,
        text=True,
        timeout=280,
    )
    return done.returncode, (place / "out" / "report.txt").read_text()


def test_one_failure_keeps_nothing_from_being_written(place):
    steps = '#!/bin/sh\ncase $4 in rows) exit 139 ;; gemm) sleep SECONDS ;; esac\necho "$4: fine"\n'
    steps = steps.replace("SECONDS", str(60 * SLOWER))
    program(place / "build" / "test" / "tools" / "backend_steps", steps)
    program(place / "build" / "test" / "ops_cuda_attention", GOOD)
    limits = {"PART_SECONDS": str(6 * SLOWER), "SECONDS_EACH": str(3 * SLOWER)}
    code, text = check(place, "versions", "steps", "torch", **limits)
    assert code == 1
    assert "steps: rows" in text and "steps: gemm" in text and "conv: fine" in text
    assert "==== versions" in text and "==== torch" in text


# A stand-in for run-model whose output is cpu.npy on the CPU, and cuda.npy with the back end
# `cuda`.
OUTPUTS = """#!/bin/sh
name=cpu
while [ $# -gt 0 ]; do
    case $1 in --backend) name=$2 ;; --output-dir) folder=$2 ;; esac
    shift
done
[ -z "$folder" ] || { mkdir -p "$folder" && cp "$(dirname "$0")/$name.npy" "$folder/y.npy"; }
"""


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize("change, wrong", [(0, False), (1, True), (numpy.nan, True)])
def test_outputs_are_compared(place, dtype, change, wrong):
    x = numpy.linspace(-10, 20, 50).astype(dtype)
    if dtype != "int64":
        x[3:6] = numpy.nan, numpy.inf, -numpy.inf
    elif wrong:
        change = 1
    numpy.save(place / "build" / "cpu.npy", x)
    x[7] += change
    numpy.save(place / "build" / "cuda.npy", x)
    program(place / "build" / "run-model", OUTPUTS)
    for name in ("light_squeezenet.onnx", "zoo/a.onnx"):
        (place / "models" / name).touch()
    code, text = check(place, "models")
    assert code == int(wrong), text
    assert text.count("of the greatest element") >= 2


@pytest.mark.skipif(
    not os.path.exists(os.path.join(BUILD, "isomer-cuda.so")),
    reason="CUDA's headers are missing: the back end is not built",
)
def test_a_bundle_runs_by_itself(tmp_path):
    """A program of the bundle runs with its libraries, and without a GPU the report says so."""
    try:
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("there is an NVIDIA driver here")
    except OSError:
        pass
    folder, models = tmp_path / "bundle", tmp_path / "models"
    models.mkdir()
    (models / "large.onnx").write_bytes(bytes(1000))
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", "gpu-bundle"), folder, "0"],
        env={**os.environ, "BUILD": BUILD, "MODELS": str(models)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "0 of 1 models" in done.stdout
    bare = {"PATH": os.environ["PATH"], "OUT": str(tmp_path / "out")}
    version = subprocess.run(
        [folder / "build" / "run-model", "--version"], env=bare, capture_output=True, text=True
    )
    assert version.returncode == 0, version.stderr
    assert any(name.startswith("libzip.so") for name in os.listdir(folder / "lib"))
    done = subprocess.run([folder / "gpu-check"], env=bare, capture_output=True, text=True)
    report = (tmp_path / "out" / "report.txt").read_text()
    assert done.returncode == 5 and "there is no NVIDIA driver here" in report
