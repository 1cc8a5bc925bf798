"""Fixtures that the tests in this folder share: the rules of the library, a cost file,
optimize-model with both, and targets whose times a test chooses.

Two environment variables serve for programs under an emulator. With ISOMER_SAMPLE=N, only every
N-th set of parameters of a test is run. With ISOMER_SLOWER=F, the programs that tests start may
take F times as long."""

import collections, json, os, subprocess, textwrap
import onnx, pytest
from small_models import LIBRARY, PROGRAM, measuring, target

STEP = int(os.environ.get("ISOMER_SAMPLE", "1"))
SLOWER = float(os.environ.get("ISOMER_SLOWER", "1"))
communicate = subprocess.Popen.communicate


def communicate_slower(process, input=None, timeout=None):
    """Replaces Popen.communicate, on which subprocess.run relies for its time limit."""
    return communicate(process, input, timeout and timeout * SLOWER)


subprocess.Popen.communicate = communicate_slower


def pytest_collection_modifyitems(items):
    seen = collections.Counter()
    kept = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if seen[name] % STEP == 0:
            kept.append(item)
        seen[name] += 1
    items[:] = kept


@pytest.fixture(scope="session")
def costs(tmp_path_factory):
    return tmp_path_factory.mktemp("costs") / "costs.sqlite"


@pytest.fixture(scope="session")
def rules(tmp_path_factory):
    """A file with all rules of the library."""
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
        """Runs optimize-model with the cost file of the session, unless the arguments have another
        --cost-db, and with the rules of the library unless `library` is False."""
        words = [PROGRAM, "--cost-db", str(costs), *map(str, arguments)] + (
            ["--rules", str(rules)] if library else []
        )
        return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)

    return call


@pytest.fixture
def costly(tmp_path):
    """A target on which BatchNormalization, Clip and Div are costly."""
    folder = tmp_path / "target"
    folder.mkdir()
    return [
        "--measure-with",
        target(folder, "1 + sum(map(data.count, (b'BatchNormalization', b'Clip', b'Div')))"),
    ]


@pytest.fixture
def costly_chain(tmp_path):
    """A target like `costly` on which the nodes that the rule hard-swish-div makes are costly, too.
    So its result gains only if another rule replaces it."""
    folder = tmp_path / "target"
    folder.mkdir()
    kinds = (b"BatchNormalization", b"Div", b"Clip", b"hard-swish-div/")
    return ["--measure-with", target(folder, f"1 + sum(map(data.count, {kinds}))")]


PRICES = """import os, shutil
import onnx
from onnx import numpy_helper

def kinds(graph):
    return [node.op_type for node in graph.node]

def sizes(graph):
    return {{x.name: list(x.dims) for x in graph.initializer}}

seen = {{}}  # what a body remembers from one file to the next

def price(path):
    graph = onnx.load(path).graph
    part = graph.name == "part"
{body}
"""


@pytest.fixture
def pricing(tmp_path):
    """A function that makes a target from the body of a Python function, which returns the time of
    a graph. The target keeps a copy of each file it times in the folder `seen`."""
    seen = tmp_path / "seen"
    seen.mkdir()

    keep = f"""for k, path in enumerate(batch):
    shutil.copy(path, os.path.join({str(seen)!r}, f"{{batches}}-{{k}}.onnx"))"""

    def call(body):
        prices = PRICES.format(body=textwrap.indent(body, "    "))
        return ["--measure-with", measuring(tmp_path / "target", "price(path)", prices, keep)]

    call.seen = seen
    return call


@pytest.fixture
def run(optimize, tmp_path):
    """A function that runs optimize-model, with a cost file of this test, and returns the finished
    process, the result and the report. Keywords are those of `optimize`."""

    def call(model, *options, **keywords):
        out, report = tmp_path / "o.onnx", tmp_path / "r.json"
        costs = ["--cost-db", tmp_path / "costs.sqlite"]
        done = optimize(model, out, *options, "--report", report, *costs, **keywords)
        assert done.returncode == 0, done.stdout + done.stderr
        return done, onnx.load(out), json.loads(report.read_text())

    return call
