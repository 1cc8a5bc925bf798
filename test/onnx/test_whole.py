"""When the search times the whole model to see whether it gains as its parts do, and how often it
times the fastest candidates once more."""

import onnx, pytest
from conftest import SLOWER
from small_models import SHAPE, net

# This target is slow to time a part. Parts gain by each of two rewritings; the time of the whole
# model is `whole`.
ASKED = """
import time
norm, chain = (kind in kinds(graph) for kind in ("BatchNormalization", "Div"))
if part:
    time.sleep({pause})
    return 1e-3 * (1 + norm + chain)
return 0.01 * {whole}
"""
IN_VAIN, ONE_ONLY = "1.0", "(1 - 0.1 * (norm != chain))"
LATER = "(0.9 if path in seen and norm != chain else (seen.setdefault(path), 1)[1])"


def batches_of(seen):
    """For each batch, a list that says for each file whether it is a part."""
    batches = {}
    for path in seen.iterdir():
        batch = batches.setdefault(int(path.name.split("-")[0]), [])
        batch.append(onnx.load(path).graph.name == "part")
    return [batches[k] for k in sorted(batches)]


@pytest.mark.parametrize("whole", [IN_VAIN, ONE_ONLY, LATER])
def test_the_whole_is_asked_whether_it_keeps_what_parts_promise(run, pricing, tmp_path, whole):
    """The whole is timed after a tenth of the time. If nothing is faster, neither all rewritings
    together nor the strongest alone, no other part is timed. If one is faster, even if only at the
    second timing, the search goes on."""
    model = net(tmp_path / "m.onnx", blocks=4)
    options = [*SHAPE, "--time-limit", str(40 * SLOWER)]
    for rule in ("batchnorm-affine", "conv-batchnorm", "div-scalar", "hard-swish-div"):
        options += ["--enable", rule]
    target = pricing(ASKED.format(pause=0.4 * SLOWER, whole=whole))
    done, out, said = run(model, *options, *target)
    batches = batches_of(pricing.seen)
    asked = next(k for k, files in enumerate(batches) if len(files) > 1 and not files[0])
    assert 3 <= len(batches[asked]) <= 4, "the original, all together, the strongest alone"
    assert any(files[0] for files in batches[asked + 1 :]) == (whole != IN_VAIN), batches
    assert said["changed"] == (whole == ONE_ONLY) or whole == LATER, done.stdout
    if whole == IN_VAIN:
        assert "the whole model gains none of it: the search ended there" in said["reason"]
    frozen, again, _ = run(model, *options, *target, "--frozen")
    assert again == out and "not in the cost file" not in frozen.stdout, frozen.stdout


def test_a_candidate_that_two_sets_make_is_timed_once(run, pricing, tmp_path):
    """With one rule, all sets together and the strongest alone are the same model. If it gains
    nothing, the search ends."""
    target = pricing(ASKED.format(pause=0.4 * SLOWER, whole=IN_VAIN))
    options = [*SHAPE, "--time-limit", str(10 * SLOWER), "--enable", "conv-batchnorm"]
    _, _, said = run(net(tmp_path / "m.onnx", blocks=4), *options, *target)
    assert "the whole model gains none of it: the search ended there" in said["reason"]
    assert confirming(pricing.seen) == [3], "the original, the candidate, a copy of the original"


# On this target all rewritings of the whole gain about the same, near the least gain that counts;
# {pause}: seconds that it waits for each file.
ALIKE = """
import time
both = {{"BatchNormalization", "Div"}} <= set(kinds(graph))
if part:
    return 1e-3 * (1 + ("BatchNormalization" in kinds(graph)) + ("Div" in kinds(graph)))
time.sleep({pause})
return 0.01 if both else 0.009693
"""


def confirming(seen):
    """The numbers of files in the batches that end with a copy of the original."""
    batches = {}
    for path in seen.iterdir():
        batch, at = map(int, path.stem.split("-"))
        batches.setdefault(batch, {})[at] = path.read_bytes()
    files = [[batches[k][at] for at in sorted(batches[k])] for k in sorted(batches)]
    return [len(batch) for batch in files if len(batch) > 2 and batch[0] == batch[-1]]


def test_of_rivals_that_stay_alike_half_is_left(run, pricing, tmp_path):
    """Four rivals are timed three times; that another one might be 1 % faster is not worth more."""
    run(net(tmp_path / "m.onnx", blocks=2), *SHAPE, *pricing(ALIKE.format(pause=0)))
    assert confirming(pricing.seen) == [6, 6, 6, 4]


def test_confirming_keeps_to_the_limit_on_time(run, pricing, tmp_path):
    """When the time is over, only the fastest is confirmed, and no more often than necessary."""
    options = [*SHAPE, "--time-limit", str(20 * SLOWER)]
    for rule in ("batchnorm-affine", "conv-batchnorm", "div-scalar", "hard-swish-div"):
        options += ["--enable", rule]
    target = pricing(ALIKE.format(pause=1.0 * SLOWER))
    run(net(tmp_path / "m.onnx", blocks=2), *options, *target)
    sizes = confirming(pricing.seen)
    assert len(sizes) == 3 and sizes[-1] == 3, sizes
