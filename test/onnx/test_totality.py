"""Whatever a valid model contains, optimize-model changes the file and preserves the content. With
--rules none the file comes back byte for byte."""

import os
import subprocess
import onnx
import pytest
import roundtrip
from unusual_models import MODELS, STANDS, core, functions, make, names_and_uses, sizes, subgraphs


@pytest.mark.parametrize("name, model, feed", MODELS, ids=[m[0] for m in MODELS])
def test_goes_through(tmp_path, name, model, feed):
    path, out = str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    want = [] if feed is None else roundtrip.run_any(path, feed)
    case = roundtrip.Case(name, path, lambda: [] if feed is None else [(feed, want)], 1e-3, 1e-5)
    assert not roundtrip.optimize(case, out, "--rules", "none")
    assert roundtrip.read(out) == roundtrip.read(path)
    changed = False
    for optimize in (
        roundtrip.all_rules,
        lambda *each: roundtrip.optimize(*each, "--cost", "flops"),
    ):
        assert not optimize(case, out)
        changed |= roundtrip.read(out) != roundtrip.read(path)
        assert not roundtrip.changed_well(case, out)
    assert changed != (name in STANDS), "no rule fired: the test shows nothing"


def last_first(graph):
    """Reverses the order of the nodes. ONNX forbids this, but ONNX Runtime runs such models, unless
    they have subgraphs."""
    nodes = list(graph.node)[::-1]
    del graph.node[:]
    graph.node.extend(nodes)


def run_model(path):
    """The exit status of run-model with a fixed seed, and its output, which has digests of the
    results."""
    done = subprocess.run(
        [os.path.join(roundtrip.BUILD, "run-model"), path, "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


STRUCTURED = [model for group in (subgraphs, functions, sizes, names_and_uses) for model in group()]


@pytest.mark.parametrize("name, model, feed", STRUCTURED, ids=[m[0] for m in STRUCTURED])
def test_nodes_out_of_order_go_through(tmp_path, name, model, feed):
    path, out = str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")
    onnx.save(model, path)
    ours, want = run_model(path), feed and roundtrip.run_any(path, feed)
    turned = onnx.ModelProto()
    turned.CopyFrom(model)
    for graph in [turned.graph, *turned.functions]:
        last_first(graph)
    onnx.save(turned, path)
    assert run_model(path) == ours
    case = roundtrip.Case(name, path, lambda: [(feed, want)] if feed else [], 1e-3, 1e-5)
    assert not roundtrip.optimize(case, out, "--rules", "none")
    assert roundtrip.read(out) == roundtrip.read(path)
    assert not roundtrip.all_rules(case, out)
    assert not roundtrip.changed_well(case, out)


@pytest.mark.parametrize("opset", [1, 6, 99])
def test_operator_sets_beyond_ours_are_copied(tmp_path, opset):
    path, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    path.write_bytes(make(core(), opset=opset, ir=3).SerializeToString())
    done = subprocess.run(
        [roundtrip.OPTIMIZE, path, out, "--cost", "flops"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (
        done.returncode == 0
        and f"operator set {opset}" in done.stderr
        and "copied as it is" in done.stderr
    )
    assert out.read_bytes() == path.read_bytes()
