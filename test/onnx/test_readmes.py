"""The numbers that the READMEs state are those of the files they describe."""

import glob, os, re
import pytest
from small_models import ROOT
from test_random_models import COUNT, HEAVY


def rules(pattern):
    texts = (open(path, encoding="utf-8").read() for path in glob.glob(os.path.join(ROOT, pattern)))
    return sum(len(re.findall(r"^rule ", text, re.M)) for text in texts)


def attacks(verdicts):
    path = os.path.join(ROOT, "test/cases/verifier/attacks.rules")
    text = open(path, encoding="utf-8").read()
    return len(re.findall(rf"^# expect: ({verdicts})", text, re.M))


STATED = [
    ("README.md", r"(\d+) written by hand", lambda: rules("rules/library/*.rules")),
    ("README.md", r"(\d+) from the generator", lambda: rules("rules/generated/search/*.rules")),
    ("README.md", r"(\d+) that models asked for", lambda: rules("rules/discovered/*.rules")),
    ("README.md", r"any of (\d+) wrong rules", lambda: attacks("refuted|unknown")),
    ("verifier/README.md", r"has (\d+) rules that must not", lambda: attacks("refuted|unknown")),
    ("verifier/README.md", r"and (\d+) true ones", lambda: attacks("proved")),
    ("test/README.md", r"`make test` runs up to (\d+)", lambda: COUNT),
    ("test/random/README.md", r"`make test` runs up to (\d+)", lambda: COUNT),
]


@pytest.mark.parametrize("path, pattern, count", STATED)
def test_numbers_are_those_of_the_files(path, pattern, count):
    if count() == COUNT and HEAVY:
        pytest.skip("a campaign runs more models")
    text = " ".join(open(os.path.join(ROOT, path), encoding="utf-8").read().split())
    assert int(re.search(pattern, text)[1]) == count(), (path, pattern)
