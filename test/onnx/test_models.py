"""Whole real models: run-model gives the outputs of ONNX Runtime, and at least 95 % of the nodes
outside subgraphs are understood."""

import argparse, os, re, subprocess, sys
import numpy, onnx, onnxruntime, pytest
from written import ROOT, real_models

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from onnx_tools import Feed, add_feed_options, model_table
from project import feed_options

BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
PROGRAM, OPTIMIZE = os.path.join(BUILD, "run-model"), os.path.join(BUILD, "optimize-model")
TABLE = {row["name"]: row for row in model_table()}
MODELS = [path for path in real_models() if os.path.basename(path) in TABLE]
RTOL, ATOL = (
    1e-4,
    1e-7,
)  # of an output's largest element; in ONNX Runtime itself, 1e-5 may be off by 1e-8
HALF = {"silero_vad_half.onnx": 1e-2}  # this model computes in float16
SHARE = 0.95

needs_models = pytest.mark.skipif(
    not MODELS, reason="no models here: scripts/fetch-models fetches them"
)
each_model = pytest.mark.parametrize("path", MODELS, ids=map(os.path.basename, MODELS))


def runtime(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def own_outputs(path, feed, folder):
    words = []
    for name, value in feed.items():
        file = folder / f"{len(words)}.npy"
        numpy.save(file, value)
        words += ["--input", f"{name}={file}"]
    done = subprocess.run(
        [PROGRAM, path, *words, "--output-dir", folder / "out"],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return lambda name: numpy.load(
        folder / "out" / f"{name.replace('/', '_').replace(':', '_')}.npy"
    )


@needs_models
@each_model
def test_it_runs_as_onnx_runtime_does(path, tmp_path):
    parser = argparse.ArgumentParser()
    add_feed_options(parser)
    session, name = runtime(path), os.path.basename(path)
    feed = Feed(parser.parse_args(feed_options(TABLE[name]))).draw(session.get_inputs())
    got, limit = own_outputs(path, feed, tmp_path), HALF.get(name, RTOL)
    for info, want in zip(session.get_outputs(), session.run(None, feed)):
        have = got(info.name)
        assert have.shape == want.shape and have.dtype == want.dtype, info.name
        apart, largest = (
            numpy.abs(have.astype("f8") - want.astype("f8")).max(),
            numpy.abs(want.astype("f8")).max(),
        )
        print(f"{name} {info.name}: {apart:.2g} of {largest:.2g}")
        assert apart <= limit * largest + ATOL, f"{info.name}: {apart} of {largest}"


@needs_models
@each_model
def test_most_nodes_are_understood(path):
    """The nodes are counted by optimize-model, after an If with a known condition was replaced by
    its branch. A node with a subgraph is not counted."""
    words = [
        OPTIMIZE,
        path,
        "unused.onnx",
        "--dry-run",
        "--cost",
        "flops",
        "--steps",
        "1",
        "--check=0",
    ]
    said = subprocess.run(words, capture_output=True, text=True, timeout=280).stdout
    understood, nodes = map(int, re.search(r"(\d+) of (\d+) nodes understood", said).groups())
    nodes -= sum(
        node.op_type in ("If", "Loop", "Scan")
        for node in onnx.load(path, load_external_data=False).graph.node
    )
    share = understood / nodes
    print(f"{os.path.basename(path)}: {understood} of {nodes}, {share:.3f}")
    assert share >= SHARE
