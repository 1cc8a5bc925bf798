"""Node cases and real models are written with a third of their values negated twice: new nodes
beside copied ones preserve the meaning."""

import pytest
from written import check_node_cases, check_real_models


def test_node_cases_negated(tmp_path):
    check_node_cases(tmp_path, True, "-n", 600)


def test_real_models_negated(tmp_path):
    if not check_real_models(tmp_path, "-n"):
        pytest.skip("no models here: scripts/fetch-models fetches them")
