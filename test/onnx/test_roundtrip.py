"""Models that are read and written again: unchanged they come back byte for byte; written anew node by node they mean the same."""
import glob, os, subprocess, sys
import onnx, pytest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
TOOL = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "onnx_roundtrip")
TESTDATA = "/usr/share/libonnx-testdata/data"


def real_models():
    cache = os.environ.get("ISOMER_MODELS") or os.path.join(ROOT, ".cache", "models")
    return sorted(glob.glob(os.path.join(cache, "*.onnx")))


def write_all(models, folder, *options):
    """{model: (where it was written, exit code, message)}"""
    pairs = [(model, os.path.join(folder, f"{k}.onnx")) for k, model in enumerate(models)]
    done = subprocess.run([TOOL, *options], input="".join(f"{a} {b}\n" for a, b in pairs), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"exit {done.returncode} after {done.stdout[-300:]} {done.stderr[-2000:]}"
    answers = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [answer[1] for answer in answers] == models
    return {model: (out, int(answer[0]), answer[2]) for (model, out), answer in zip(pairs, answers)}


def read(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("models", [real_models(), sorted(glob.glob(f"{TESTDATA}/**/*.onnx", recursive=True))], ids=["real", "testdata"])
def test_unchanged_is_byte_identical(models, tmp_path):
    if not models:
        pytest.skip("no models here: scripts/fetch-models fetches them, the package libonnx-testdata has the others")
    changed = [f"{model}: {code} {message}" for model, (out, code, message) in write_all(models, tmp_path).items()
               if code != 0 or read(out) != read(model)]
    assert not changed, "\n".join(changed[:20])
