"""Models that are read and written again unchanged come back byte for byte."""

import glob
import pytest
from written import TESTDATA, read, real_models, write_all


@pytest.mark.parametrize(
    "models",
    [real_models(), sorted(glob.glob(f"{TESTDATA}/**/*.onnx", recursive=True))],
    ids=["real", "testdata"],
)
def test_unchanged_is_byte_identical(models, tmp_path):
    if not models:
        pytest.skip(
            "no models here: scripts/fetch-models fetches them, the package libonnx-testdata has"
            " the others"
        )
    changed = [
        f"{model}: {code} {message}"
        for model, (out, code, message) in write_all(models, tmp_path).items()
        if code != 0 or read(out) != read(model)
    ]
    assert not changed, "\n".join(changed[:20])
