"""A sample of make roundtrip: some of ONNX's node cases, of the files of libonnx-testdata and of
the models go through optimize-model."""

import pytest
import roundtrip


@pytest.mark.parametrize("source, every", [("node", 40), ("testdata", 40), ("models", 12)])
def test_round_trip(source, every):
    result = roundtrip.whole_trip(source, every)
    if result is None:
        pytest.skip(
            "no such files here: scripts/fetch-models fetches the models, the package"
            " libonnx-testdata has the others"
        )
    assert not result["failed"], "\n".join(result["failed"])
    assert result["cases"] == result["unchanged"] + result["changed"]
