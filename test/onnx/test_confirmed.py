"""A result is written only if it is confirmed, at each of the numbers that --dim gives."""

import json
import onnx, onnx.parser, pytest
from small_models import forged, refused

# Both sides are equal where axis 0 has 8 rows, and nowhere else.
WRONG_BUT_FOR_8 = """rule sum-of-8
  %x : F [n, m]
from
  %y = reduce_sum %x axes=[0]
  out %y
to
  %eight = fill value=8 shape=[]
  %mean = reduce_mean %x axes=[0]
  %y = mul %mean %eight
  out %y
"""
SUM = "m (float[n, 4] x) => (float[4] y) { y = ReduceSum<keepdims = 0, axes = [0]>(x) }"
# The rows that Reshape makes are whole ones: n is a multiple of 4.
RESHAPED = """m (float[n] x) => (float[m, 4] y)
    <int64[2] rows = {-1, 4}> { r = Reshape(x, rows)  a = Relu(r)  y = Relu(a) }"""


def model(folder, text, opset):
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    onnx.checker.check_model(parsed, full_check=True)
    onnx.save(parsed, folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize("numbers, good", [("8", True), ("8,16", False), ("16,8", False)])
@pytest.mark.parametrize("check", [[], ["--check=0", "--check-with", "onnxruntime"]])
def test_a_result_that_is_wrong_at_one_size_is_not_written(
    optimize, pricing, tmp_path, numbers, good, check
):
    path, out = model(tmp_path, SUM, 11), tmp_path / "o.onnx"
    costly = pricing('return 1 + kinds(graph).count("ReduceSum")')
    rules = ["--rules", forged(tmp_path, WRONG_BUT_FOR_8)]
    done = optimize(path, out, *costly, *rules, *check, "--dim", f"n={numbers}", library=False)
    if good:
        assert done.returncode == 0 and out.read_bytes() != path.read_bytes(), done.stderr
    else:
        refused(done, 1, "disagrees at n=16" if check else "; at n=16", out=out)


@pytest.mark.parametrize(
    "options, good",
    [
        ([], False),
        (["--atol", 1e-3], False),
        (["--atol", 20], True),
        (["--atol", 20, "--rtol", 0], True),
        (["--atol", 0, "--rtol", 0.9], True),
    ],
)
def test_the_second_opinion_has_the_tolerances_given(optimize, pricing, tmp_path, options, good):
    path, out = model(tmp_path, SUM, 11), tmp_path / "o.onnx"
    costly = pricing('return 1 + kinds(graph).count("ReduceSum")')
    rules = ["--rules", forged(tmp_path, WRONG_BUT_FOR_8)]
    asked = ["--check=0", "--check-with", "onnxruntime", "--dim", "n=16", *options]
    done = optimize(path, out, *costly, *rules, *asked, library=False)
    assert done.returncode == (0 if good else 1) and out.exists() == good, done.stderr


@pytest.mark.parametrize("numbers", ["8,7", "7,8", "8,7,12", "8,12,7"])
def test_a_result_that_is_unconfirmed_at_one_size_is_not_written(optimize, tmp_path, numbers):
    path, out, report = model(tmp_path, RESHAPED, 13), tmp_path / "o.onnx", tmp_path / "r.json"
    words = [path, out, "--cost", "nodes", "--report", report, "--dim"]
    done = optimize(*words, "n=8,12")
    assert done.returncode == 0 and json.loads(report.read_text())["changed"], done.stderr
    done = optimize(*words, f"n={numbers}")
    said = json.loads(report.read_text())
    assert done.returncode == 0 and not said["changed"] and not said["check"]["done"], done.stdout
    assert "the original is kept, because the result could not be confirmed at n=7" in done.stdout
    check = said["check"]  # nothing is said of the result that was dropped
    assert check["outputs"] == {} and check["max_absolute"] == check["max_relative"] == 0
    assert check["applications"] == check["constants"] == 0 == check["applications_compared"]
    assert "nothing gains" not in done.stdout and done.stdout.endswith("the file is unchanged\n")
    assert out.read_bytes() == path.read_bytes()


TWICE = ' <domain: "my", opset_import: ["" : 13]> Twice (a) => (b) { c = Relu (a) b = Relu (c) }'


def test_of_an_unconfirmed_result_not_even_the_inlined_calls_are_written(optimize, tmp_path):
    text = RESHAPED.replace("a = Relu(r)  y = Relu(a)", "y = my.Twice(r)") + TWICE
    head = '<ir_version: 8, opset_import: ["" : 13, "my" : 1]> '
    path, out, report = tmp_path / "m.onnx", tmp_path / "o.onnx", tmp_path / "r.json"
    onnx.save(onnx.parser.parse_model(head + text), path)
    words = [path, out, "--cost", "nodes", "--report", report, "--dim"]
    done = optimize(*words, "n=8")
    assert done.returncode == 0 and not onnx.load(out).functions, done.stderr
    done = optimize(*words, "n=7")
    said = json.loads(report.read_text())
    assert done.returncode == 0 and not said["check"]["done"], done.stderr
    assert "the original is kept" in done.stdout and done.stdout.endswith("the file is unchanged\n")
    assert not said["changed"] and out.read_bytes() == path.read_bytes()
    assert said["bytes"] == {"before": len(path.read_bytes()), "after": len(out.read_bytes())}


# No numbers are found for the other sizes. One of the Ifs' branches is never taken.
IMPOSSIBLE = """m (float[n, 4] x, float[k] u) => (float[2, 3] y, float[k] v)
    <bool yes = {1}, int64[2] shape = {2, 3}> {
    q = If(yes) <then_branch = g () => (float[n, 4] a) { a = Add(x, x) },
                 else_branch = h () => (float[n, 4] b) { b = Mul(x, x) }>
    r = Reshape(q, shape) y = Relu(r) s = Relu(u) v = Relu(s) }"""


def test_of_an_unconfirmed_result_only_the_sizes_given_are_fixed(optimize, tmp_path):
    """Its Ifs stay, also in a replay."""
    path, report, log = model(tmp_path, IMPOSSIBLE, 13), tmp_path / "r.json", tmp_path / "log"
    for words in (["--fix-dims", "--dim", "k=5", "--proof-log", log], ["--replay", log]):
        out = tmp_path / "o.onnx"
        done = optimize(path, out, "--cost", "nodes", "--report", report, *words)
        assert done.returncode == 0, done.stderr
        if "--replay" not in words:
            assert "the original is kept" in done.stdout, done.stdout
        assert "were replaced" not in done.stdout and "is unchanged" not in done.stdout
        assert "sizes that were given are numbers" in done.stdout
        graph, said = onnx.load(out).graph, json.loads(report.read_text())
        assert [n.op_type for n in graph.node] == ["If", "Reshape", "Relu", "Relu", "Relu"]
        dims = [
            [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in [*graph.input, *graph.output]
        ]
        assert dims == [["n", 4], [5], [2, 3], [5]]
        assert said["changed"] and said["bytes"]["after"] == out.stat().st_size
        assert said["bytes"]["before"] == path.stat().st_size


SUM_OF_PRODUCTS = """rule sum-of-products
  %x : F [m, n]   %k : F []
from
  %p = mul %x %k
  %y = reduce_sum %p axes=[1]
  out %y
to
  %s = reduce_sum %x axes=[1]
  %y = mul %s %k
  out %y
"""


def test_the_greatest_difference_is_that_of_all_sizes(optimize, tmp_path):
    """More terms differ more; what is reported does not depend on the order."""
    text = """m (float[2, n] x) => (float[2] y) <float k = {3.7}>
        { p = Mul(x, k)  y = ReduceSum<keepdims = 0, axes = [1]>(p) }"""
    path, out, report = model(tmp_path, text, 11), tmp_path / "o.onnx", tmp_path / "r.json"
    words = [path, out, "--cost", "flops", "--rules", forged(tmp_path, SUM_OF_PRODUCTS)]

    def checked(numbers):
        done = optimize(*words, "--report", report, "--dim", f"n={numbers}", library=False)
        said = json.loads(report.read_text())
        assert done.returncode == 0 and said["changed"], done.stdout + done.stderr
        return said["check"]["max_absolute"], said["check"]["outputs"]["y"]["max_absolute"]

    small, large = checked("2"), checked("4096")
    assert small[0] < large[0] and small[0] == small[1]
    assert checked("2,4096") == checked("4096,2") == large
