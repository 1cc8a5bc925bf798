"""A frozen run does not use the clock: it does as much as the run that filled the cost file,
however much time it has. The tests set a time limit that is over before the run begins, as if the
clock had jumped."""

import pytest
from small_models import SHAPE, net, roots
from test_places import ONE_PLACE

OVER = ["--time-limit", "1e-6"]
LONG = ["--time-limit", "1000"]
# Two rules match at the same place and one of them loses, so the gain is found only if each is
# tried alone.
ONE_GAINS = "return 2.0 + kinds(graph).count('BatchNormalization') + kinds(graph).count('Mul')"


@pytest.fixture(params=["command", "built-in"])
def case(request, pricing, tmp_path):
    """A model and the options with which it is rewritten."""
    if request.param == "built-in":
        return roots(tmp_path / "m.onnx"), ["--input-shape", "x:1,8,64,64"]
    rules = ["conv-batchnorm", "batchnorm-affine"]
    options = [*SHAPE, *pricing(ONE_GAINS)] + [x for rule in rules for x in ("--enable", rule)]
    return net(tmp_path / "m.onnx", blocks=2), options


@pytest.fixture
def result(run, tmp_path, case):
    """A function that runs optimize-model and returns the bytes of the result and the number of
    graphs that were expanded."""
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
    """The frozen run ends there although it could find more, since the cost file still has the
    times of the first, longer run."""
    full, short = result(), result(*OVER)
    assert short != full
    for limit in (OVER, LONG):
        assert result("--frozen", *limit) == short, limit
    assert result() == full == result("--frozen", *OVER), "nothing of the short run is left"


def test_a_part_that_failed_once_and_was_timed_later_has_its_times(run, pricing, tmp_path):
    """At first the target cannot run the parts without a batch normalization, later it can."""
    broken = tmp_path / "broken"
    fails = f"os.path.exists({str(broken)!r}) and graph.name == 'part' and seconds < 2"
    body = ONE_PLACE.replace("return", f"if {fails}:\n    raise SystemExit(1)\nreturn")
    options = [*SHAPE, "--enable", "conv-batchnorm", *pricing(body)]
    model = net(tmp_path / "m.onnx", blocks=4)
    broken.touch()
    _, first, _ = run(model, *options)
    broken.unlink()
    _, full, _ = run(model, *options)
    assert first != full and run(model, *options, "--frozen")[1] == full
