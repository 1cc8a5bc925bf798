"""optimize-model --search=egraph finds results that backtracking does not reach."""

import json, os, subprocess
import onnx, pytest
from onnx import TensorProto, helper
from small_models import BUILD, save, tensor

DETOUR = """rule product-of-a-sum
  %x : F [m, k]   %y : F [m, k]   %w : F [k, n]
from
  %s = add %x %y
  %p = matmul %s %w
  out %p
to
  %p = matmul %x %w
  %q = matmul %y %w
  %s = add %p %q
  out %s

rule add-right
  %x : F [m, n]   %y : F [m, n]   %z : F [m, n]
from
  %p = add %x %y
  %q = add %p %z
  out %q
to
  %p = add %y %z
  %q = add %x %p
  out %q

rule products-cancel
  %x : F [m, k]   %w : F [k, n]
from
  %p = matmul %x %w
  %n = neg %x
  %q = matmul %n %w
  %s = add %p %q
  out %s
to
  %z = fill value=0 shape=[m, n]
  out %z

rule add-zero
  %x : F [m, n]
from
  %z = fill value=0 shape=[m, n]
  %s = add %x %z
  out %s
to
  out %x
"""


@pytest.fixture(scope="module")
def detour(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detour")
    (folder / "candidates.rules").write_text(DETOUR)
    subprocess.run(
        [
            os.path.join(BUILD, "verify-rules"),
            folder / "candidates.rules",
            "-q",
            "-o",
            folder / "detour.rules",
        ],
        check=True,
        timeout=100,
    )
    return folder / "detour.rules"


def roundabout():
    """Nodes for p = (x + y) w + (-y) w, which becomes x w in four applications. The first one makes
    the graph larger, so that backtracking does not try it."""
    return [
        helper.make_node("Add", ["x", "y"], ["s"]),
        helper.make_node("MatMul", ["s", "w"], ["e"]),
        helper.make_node("Neg", ["y"], ["n"]),
        helper.make_node("MatMul", ["n", "w"], ["f"]),
        helper.make_node("Add", ["e", "f"], ["p"]),
    ]


def operators(path):
    return [n.op_type for n in onnx.load(path, load_external_data=False).graph.node]


def test_an_egraph_finds_what_costs_more_on_the_way(optimize, detour, tmp_path):
    """The graph that is extracted is reached by applications of rules, so the proof log can be
    replayed. Two runs write the same bytes, and a rule that is switched off is not used.
    --search=both does the work of both searches."""
    path = save(
        tmp_path / "in.onnx",
        roundabout(),
        [tensor("x", ["batch", 8]), tensor("y", ["batch", 8]), tensor("w", [8, 8])],
        [tensor("p", ["batch", 8])],
        {},
    )

    def run(name, *more):
        r = optimize(
            path,
            tmp_path / name,
            "--rules",
            detour,
            *([] if "--replay" in more else ["--allow=drops"]),
            "--cost=nodes",
            "--report",
            tmp_path / f"{name}.json",
            *more,
            library=False,
        )
        assert r.returncode == 0, r.stderr
        return operators(tmp_path / name)

    assert (
        len(run("backtrack.onnx"))
        == len(run("off.onnx", "--search=egraph", "--disable=add-right"))
        == 5
    )
    assert (
        run("egraph.onnx", "--search=egraph", "--proof-log", tmp_path / "log")
        == run("both.onnx", "--search=both")
        == ["MatMul"]
    )
    assert (
        run("again.onnx", "--search=egraph", "--proof-log", tmp_path / "log2")
        == run("replayed.onnx", "--replay", tmp_path / "log")
        == ["MatMul"]
    )
    assert (tmp_path / "log").read_text().count("apply") == 4 and (
        tmp_path / "log"
    ).read_text() == (tmp_path / "log2").read_text()
    assert (
        len(
            {(tmp_path / f"{n}.onnx").read_bytes() for n in ("egraph", "both", "again", "replayed")}
        )
        == 1
    )
    work = {
        n: json.loads((tmp_path / f"{n}.onnx.json").read_text())
        for n in ("backtrack", "egraph", "both")
    }
    for key in ("steps", "candidates"):
        assert work["both"][key] == work["backtrack"][key] + work["egraph"][key] > 0


def weighty(folder):
    """A model of the roundabout and a table of 68 MiB, a hole in a sparse file, so large that there
    is memory for only one candidate."""
    rows, tensors = 17 << 20, [tensor(name, [512, 512]) for name in "xywp"]
    (folder / "table").touch()
    os.truncate(folder / "table", 4 * rows)
    table = onnx.TensorProto(
        name="table", dims=[rows], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": "table", "offset": "0", "length": str(4 * rows)}.items():
        table.external_data.add(key=key, value=value)
    path = save(
        folder / "in.onnx",
        [*roundabout(), helper.make_node("Gather", ["table", "at"], ["q"])],
        [*tensors[:3], tensor("at", [1], TensorProto.INT64)],
        [tensors[3], tensor("q", [1])],
        {},
    )
    model = onnx.load(path)
    model.graph.initializer.append(table)
    path.write_bytes(model.SerializeToString())
    return path


def opaque(folder):
    """A model of the roundabout with an unknown operator, so that it does not run, and with
    z w + (-z) w = 0, which backtracking finds."""
    path = save(
        folder / "in.onnx",
        [
            *roundabout(),
            helper.make_node("Strange", ["p"], ["o"], domain="elsewhere"),
            helper.make_node("MatMul", ["z", "w"], ["t"]),
            helper.make_node("Neg", ["z"], ["u"]),
            helper.make_node("MatMul", ["u", "w"], ["v"]),
            helper.make_node("Add", ["t", "v"], ["zero"]),
        ],
        [tensor(name, [512, 512]) for name in "xyzw"],
        [tensor("o", None), tensor("zero", [512, 512])],
        {},
    )
    model = onnx.load(path)
    model.opset_import.add(domain="elsewhere", version=1)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    "make, left",
    [(weighty, ["MatMul", "Gather"]), (opaque, ["MatMul", "Strange", "ConstantOfShape"])],
)
def test_both_takes_what_the_egraph_finds_where_one_candidate_counts(
    optimize, detour, tmp_path, make, left
):
    """Only one candidate counts if there is no memory for more, or if no candidate runs. The costs
    are frozen, and thus the same in each run."""
    r = optimize(
        make(tmp_path),
        tmp_path / "out.onnx",
        "--rules",
        detour,
        "--allow=drops",
        "--search=both",
        "--frozen",
        library=False,
    )
    assert r.returncode == 0, r.stderr
    assert operators(tmp_path / "out.onnx") == left
