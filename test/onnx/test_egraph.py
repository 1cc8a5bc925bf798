"""optimize-model --search=egraph: what backtracking does not reach."""

import os, subprocess
import onnx
from onnx import helper
from small_models import BUILD, save, tensor

DETOUR = """rule exp-sum
  axes b = 0..4
  %x : F [b..]   %y : F [b..]
from
  %s = add %x %y
  %e = exp %s
  out %e
to
  %e = exp %x
  %f = exp %y
  %p = mul %e %f
  out %p

rule mul-right
  axes b = 0..4
  %x : F [b..]   %y : F [b..]   %z : F [b..]
from
  %p = mul %x %y
  %q = mul %p %z
  out %q
to
  %p = mul %y %z
  %q = mul %x %p
  out %q

rule exp-neg
  axes b = 0..4
  %x : F [b..]
from
  %e = exp %x
  %n = neg %x
  %f = exp %n
  %p = mul %e %f
  out %p
to
  %k = fill value=1 shape=[b..]
  out %k

rule mul-ones
  axes b = 0..4
  %x : F [b..]
from
  %k = fill value=1 shape=[b..]
  %p = mul %x %k
  out %p
to
  out %x
"""


def test_an_egraph_finds_what_costs_more_on_the_way(optimize, tmp_path):
    """exp(x + y) exp(-y) = exp x in four steps, of which the first makes it larger: backtracking
    does not take it. What the e-graph extracts is reached by the rules' applications: the proof log
    replays, two runs write the same bytes, and a rule that is switched off is not used.
    """
    (tmp_path / "candidates.rules").write_text(DETOUR)
    subprocess.run(
        [
            os.path.join(BUILD, "verify-rules"),
            tmp_path / "candidates.rules",
            "-q",
            "-o",
            tmp_path / "detour.rules",
        ],
        check=True,
        timeout=100,
    )
    nodes = [
        helper.make_node("Add", ["x", "y"], ["s"]),
        helper.make_node("Exp", ["s"], ["e"]),
        helper.make_node("Neg", ["y"], ["n"]),
        helper.make_node("Exp", ["n"], ["f"]),
        helper.make_node("Mul", ["e", "f"], ["p"]),
    ]
    path = save(
        tmp_path / "in.onnx",
        nodes,
        [tensor("x", ["batch", 8]), tensor("y", ["batch", 8])],
        [tensor("p", ["batch", 8])],
        {},
    )

    def run(name, *more):
        r = optimize(
            path,
            tmp_path / name,
            "--rules",
            tmp_path / "detour.rules",
            "--allow=drops",
            "--cost=nodes",
            *more,
            library=False,
        )
        assert r.returncode == 0, r.stderr
        return [n.op_type for n in onnx.load(tmp_path / name).graph.node]

    assert (
        len(run("backtrack.onnx"))
        == len(run("off.onnx", "--search=egraph", "--disable=mul-right"))
        == 5
    )
    assert (
        run("egraph.onnx", "--search=egraph", "--proof-log", tmp_path / "log")
        == run("both.onnx", "--search=both")
        == ["Exp"]
    )
    assert (
        run("again.onnx", "--search=egraph", "--proof-log", tmp_path / "log2")
        == run("replayed.onnx", "--replay", tmp_path / "log")
        == ["Exp"]
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
