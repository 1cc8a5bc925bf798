"""A frozen run never asks the clock: it does as much as the run that filled the cost file, however
much time it has. A limit that is over before the run begins is a clock that jumped."""

import pytest
from small_models import SHAPE, net, roots

OVER = ["--time-limit", "1e-6"]
LONG = ["--time-limit", "1000"]
# Two rules for the same place, one of which loses: what gains is found where each is tried alone.
ONE_GAINS = "return 2.0 + kinds(graph).count('BatchNormalization') + kinds(graph).count('Mul')"


@pytest.fixture(params=["command", "built-in"])
def case(request, pricing, tmp_path):
    """A model and options with which it is rewritten."""
    if request.param == "built-in":
        return roots(tmp_path / "m.onnx"), ["--input-shape", "x:1,8,64,64"]
    rules = ["conv-batchnorm", "batchnorm-affine"]
    options = [*SHAPE, *pricing(ONE_GAINS)] + [x for rule in rules for x in ("--enable", rule)]
    return net(tmp_path / "m.onnx", blocks=2), options


@pytest.fixture
def result(run, tmp_path, case):
    """What a run writes, and how many graphs it expanded."""
    model, options = case

    def call(*more):
        done, _, said = run(model, *options, *more)
        assert "not in the cost file" not in done.stdout, done.stdout
        return (tmp_path / "o.onnx").read_bytes(), said["steps"]

    return call


def test_a_frozen_run_has_all_the_time(result, case):
    full = result()
    assert full[0] != case[0].read_bytes()
    for limit in (OVER, LONG, []):
        assert result("--frozen", *limit) == full, limit


def test_a_frozen_run_ends_where_the_last_run_ended(result):
    """It could find more: the first run left its times."""
    full, short = result(), result(*OVER)
    assert short != full
    for limit in (OVER, LONG):
        assert result("--frozen", *limit) == short, limit
    assert result() == full == result("--frozen", *OVER), "nothing of the short run is left"
