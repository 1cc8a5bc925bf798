"""Import and export together preserve the meaning of node cases and real models, when every node is
written anew."""

import pytest
from written import check_node_cases, check_real_models


@pytest.mark.parametrize(
    "constant, least", [(False, 600), (True, 700)], ids=["inputs", "constants"]
)
def test_node_cases_written_anew(tmp_path, constant, least):
    check_node_cases(tmp_path, constant, "-r", least)


def test_real_models_written_anew(tmp_path):
    if not check_real_models(tmp_path, "-r"):
        pytest.skip("no models here: scripts/fetch-models fetches them")
