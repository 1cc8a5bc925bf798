"""Compares an optimized ONNX model with its original: valid, same interface, same outputs in ONNX
Runtime. Exit status 1 if not, 3 if a file cannot be read, 5 if nothing can be said: ONNX Runtime is
not there, or does not run the original. compare-onnx --available says only whether it is there:
optimize-model --check-with onnxruntime asks so, then for this comparison.

The checker must accept what it accepted before; inputs, outputs (names, types, declared sizes) and
opset imports must be equal; on several drawn inputs each output must have the same shape and type
and agree: max|difference| <= tolerance * max|original|, 1e-4, or 1e-2 for models of float16;
integers, booleans and strings are equal, NaN and infinities are at the same places.
"""

import argparse, sys

try:
    import numpy, onnx, onnxruntime  # noqa: F401
    from onnx_tools import Feed, add_feed_options, one_line, session
except ImportError as missing:
    print(f"{sys.executable} does not have what is needed: {missing}")
    sys.exit(5)


class NoOpinion(Exception):
    """The original does not run: there is nothing to compare with."""


def interface(model):
    initialized = {tensor.name for tensor in model.graph.initializer}
    return {
        "inputs": [
            (v.name, v.type.SerializeToString(deterministic=True))
            for v in model.graph.input
            if v.name not in initialized
        ],
        "outputs": [
            (v.name, v.type.SerializeToString(deterministic=True)) for v in model.graph.output
        ],
        "opset imports": sorted((o.domain, o.version) for o in model.opset_import),
        "IR version": model.ir_version,
    }


def checker_says(path):
    """What the strictest check says that a model fails, or an empty string."""
    for full in (False, True):
        try:
            onnx.checker.check_model(path, full_check=full)
        except Exception as error:
            return ("full check: " if full else "check: ") + one_line(error)
    return ""


def uses_float16(model):
    half = onnx.TensorProto.FLOAT16
    return any(t.data_type == half for t in model.graph.initializer) or any(
        node.op_type == "Cast" and any(a.i == half for a in node.attribute)
        for node in model.graph.node
    )


def difference(a, b):
    """(max|a-b|, max|a|, reason why they cannot be compared)."""
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return 0.0, 0.0, "" if repr(a) == repr(b) else "values that are not tensors differ"
    if a.shape != b.shape or a.dtype != b.dtype:
        return 0.0, 0.0, f"{a.dtype}{list(a.shape)} has become {b.dtype}{list(b.shape)}"
    if a.dtype.kind not in "f":
        return (
            0.0,
            0.0,
            (
                ""
                if numpy.array_equal(a, b)
                else f"{int(numpy.sum(a != b))} of {a.size} values differ"
            ),
        )
    if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)):
        return 0.0, 0.0, "NaN at other places"
    endless = numpy.isinf(a) | numpy.isinf(b)
    if not numpy.array_equal(a[endless], b[endless]):
        return 0.0, 0.0, "infinities at other places"
    finite = numpy.isfinite(a)
    x, y = a[finite].astype("float64"), b[finite].astype("float64")
    return (float(abs(x - y).max()), float(abs(x).max()), "") if x.size else (0.0, 0.0, "")


def compare_outputs(original, optimized, feed, draws, tolerance):
    failed, worst = 0, 0.0
    try:
        first = session(original)
    except Exception as error:
        raise NoOpinion(f"it does not load the original: {one_line(error)}") from error
    second = session(optimized)
    print(f"{'output':40} {'draw':>4} {'max|y|':>12} {'max|diff|':>12} {'relative':>12}")
    for draw in range(draws):
        values = feed.draw(first.get_inputs(), draw)
        try:
            expected = first.run(None, values)
        except Exception as error:
            raise NoOpinion(f"it does not run the original: {one_line(error)}") from error
        given = second.run(None, values)
        for each, a, b in zip(first.get_outputs(), expected, given):
            error, size, reason = difference(a, b)
            bad = bool(reason) or error > tolerance * size
            failed += bad
            worst = max(worst, error / size if size else 0.0)
            print(
                f"{each.name[:40]:40} {draw:4} {size:12.4g} {error:12.4g}"
                f" {error / size if size else 0.0:12.3g}" + (f"  FAIL {reason}" if bad else "")
            )
    if not failed:
        print(
            f"agrees on {draws} draws, greatest difference relative to an output's greatest element"
            f" {worst:.3g}, {tolerance:g} allowed"
        )
    return failed


def main():
    if sys.argv[1:] == ["--available"]:
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("original")
    parser.add_argument("optimized")
    parser.add_argument("--rtol", type=float, help="instead of 1e-4, or 1e-2 for float16")
    parser.add_argument("--draws", type=int, default=3, help="how many inputs are tried")
    add_feed_options(parser)
    options = parser.parse_args()
    failed = 0
    try:
        before, after = onnx.load(options.original), onnx.load(options.optimized)
    except Exception as error:
        print(f"compare-onnx: {one_line(error)}", file=sys.stderr)
        return 3
    complaint = checker_says(options.optimized)
    if complaint and complaint.split(":")[0] != checker_says(options.original).split(":")[0]:
        failed += 1
        print(f"FAIL the checker says: {complaint}")
    for what, value in interface(before).items():
        if interface(after)[what] != value:
            failed += 1
            print(f"FAIL the {what} have changed: {value} to {interface(after)[what]}")
    tolerance = options.rtol or (1e-2 if uses_float16(before) else 1e-4)
    try:
        failed += compare_outputs(
            options.original, options.optimized, Feed(options), options.draws, tolerance
        )
    except NoOpinion as reason:
        print(reason)
        return 5
    except Exception as error:
        failed += 1
        print(f"FAIL {one_line(error)}")
    print(
        f"{options.optimized}: {'ok' if not failed else f'{failed} failures'} (tolerance"
        f" {tolerance:g}, {len(before.graph.node)} nodes before, {len(after.graph.node)} after)"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
