"""Fixtures of all tests here: the library's rules, a cost file, optimize-model with both, a target
on which some operators are costly."""

import os, subprocess
import pytest
from small_models import LIBRARY, PROGRAM, target


@pytest.fixture(scope="session")
def costs(tmp_path_factory):
    return tmp_path_factory.mktemp("costs") / "costs.sqlite"


@pytest.fixture(scope="session")
def rules(tmp_path_factory):
    """The library as one file, wherever the build is."""
    path = tmp_path_factory.mktemp("rules") / "library.rules"
    path.write_text(
        "\n".join(
            open(os.path.join(LIBRARY, name), encoding="utf-8").read()
            for name in sorted(os.listdir(LIBRARY))
            if name.endswith(".rules")
        )
    )
    return path


@pytest.fixture
def optimize(costs, rules):
    def call(*arguments, library=True, **options):
        words = [PROGRAM, *map(str, arguments), "--cost-db", str(costs)] + (
            ["--rules", str(rules)] if library else []
        )
        return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)

    return call


@pytest.fixture
def costly(tmp_path):
    """A target on which BatchNormalization and Div are costly."""
    folder = tmp_path / "target"
    folder.mkdir()
    return [
        "--measure-with",
        target(folder, "1 + data.count(b'BatchNormalization') + data.count(b'Div')"),
    ]
