"""Compares an optimized ONNX model with its original: whether it is valid and has the same
interface and, in ONNX Runtime, the same outputs. Exit status: 1 if it does not, 2 for wrong
options, 3 if a file cannot be read, 5 if nothing can be said because ONNX Runtime is missing or
does not run the original. compare-onnx --available only says, by its exit status, whether ONNX
Runtime is there; optimize-model --check-with onnxruntime asks this first, then for the comparison.

The checker of onnx must accept the optimized model if it accepts the original. Inputs and outputs
(names, types, declared sizes), opset imports and IR version must be equal, except that imports may
be added: of ONNX Runtime's own domain, and those that a function of the original has, since its
calls may have been replaced by its nodes. On several drawn inputs, each output must have the same
shape and type, and max|difference| must be at most tolerance * max|original|. The tolerance is
1e-4, or 1e-2 for models of float16. Integers, booleans and strings must be equal, and NaN and
infinities at the same places. A number also agrees if its difference is at most --atol; if only
--atol is given, the relative tolerance is 0.

An element that fails this still agrees if its difference is at most 8 times as large as the
distance by which roundings of inputs and constants move this element of the original, or at most as
large as the distance of the element that they move most. Where terms cancel, or a value lies at a
step, the original itself is not determined better. In a quantized model, ONNX Runtime's own fusions
change roundings, too: there an element also agrees if its difference is at most twice the greatest
one between the results of the original with and without ONNX Runtime's optimizations.
"""

import sys
from packages import option_parser, positive

try:
    import numpy, onnx, onnxruntime  # noqa: F401
    from onnx import numpy_helper
    from onnx_tools import Feed, NotFed, add_feed_options, check_feed, one_line, outputs
    from onnx_tools import read_model, session
except ImportError as missing:
    print(f"{sys.executable} lacks a required package: {missing}")
    sys.exit(5)


class NoOpinion(Exception):
    """Raised if the original does not run, so that there is nothing to compare with."""


RUNTIME = "com.microsoft", 1  # ONNX Runtime's own domain, and its version


def interface(model):
    """The parts of a model that an optimized model must keep, by their names in messages."""
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


def said(value):
    """A part of the interface, as text for a message."""
    if not isinstance(value, list):
        return str(value)
    types = [(name, onnx.TypeProto.FromString(t)) for name, t in value if isinstance(t, bytes)]
    if not types:
        return ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in value)
    return ", ".join(
        onnx.helper.printable_value_info(onnx.ValueInfoProto(name=name, type=t))
        for name, t in types
    )


def fix_sizes(original, optimized):
    """Gives the original the sizes of inputs and outputs that are open in it and fixed in the
    optimized model."""
    for a, b in zip(
        [*original.graph.input, *original.graph.output],
        [*optimized.graph.input, *optimized.graph.output],
    ):
        for x, y in zip(a.type.tensor_type.shape.dim, b.type.tensor_type.shape.dim):
            if not x.HasField("dim_value") and y.HasField("dim_value"):
                x.dim_value = y.dim_value


def checker_says(path):
    """What the checker of onnx says against a model, or an empty string. The full check, which
    infers shapes, runs only if the plain one passes."""
    for full in (False, True):
        try:
            onnx.checker.check_model(path, full_check=full)
        except Exception as error:
            return ("full check: " if full else "check: ") + one_line(error)
    return ""


# DISTURBANCES: runs of the original with other roundings. An element may differ MARGIN times as
# much as they move it, or FUSIONS times as much as ONNX Runtime's own optimizations move an output.
# The first two are those of the numerical check in C (graphs/disturb.h, NOISE_MARGIN in
# graphs/compare.h).
DISTURBANCES, MARGIN, FUSIONS = 8, 8, 2
WEIGHTS = 1 << 20  # elements of a constant; roundings of larger ones average out in their products


def uses_float16(model):
    half = onnx.TensorProto.FLOAT16
    return (
        any(t.data_type == half for t in model.graph.initializer)
        or any(v.type.tensor_type.elem_type == half for v in model.graph.input)
        or any(
            node.op_type == "Cast" and any(a.i == half for a in node.attribute)
            for node in model.graph.node
        )
    )


def unlike(a, b):
    """The reason why two results cannot be compared element by element, or an empty string."""
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return "" if repr(a) == repr(b) else "values that are not tensors differ"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} has become {b.dtype}{list(b.shape)}"
    return ""


def distances(a, b):
    """|a - b| for each element. It is infinite where only one is NaN, where infinities differ, and
    where elements that are not numbers differ."""
    if a.dtype.kind not in "fiub":
        return numpy.where(a == b, 0.0, numpy.inf)
    with numpy.errstate(invalid="ignore", over="ignore"):
        x, y = a.astype("float64"), b.astype("float64")
        apart = numpy.where(numpy.isfinite(x) & numpy.isfinite(y), abs(x - y), numpy.inf)
    return numpy.where((a == b) | (numpy.isnan(x) & numpy.isnan(y)), 0.0, apart)


def largest(a):
    if a.dtype.kind != "f":
        return 0.0
    finite = abs(a[numpy.isfinite(a)].astype("float64"))
    return float(finite.max()) if finite.size else 0.0


def moved_to_neighbour(array, random):
    """The array with each element replaced by the next float above or below it, at random."""
    up = numpy.where(random.integers(0, 2, array.shape), numpy.inf, -numpy.inf)
    return numpy.nextafter(array, up.astype(array.dtype))


def nearby(values, random):
    """The inputs with all floats moved to a neighbour."""
    return {
        name: (
            moved_to_neighbour(value, random)
            if isinstance(value, numpy.ndarray) and value.dtype.kind == "f"
            else value
        )
        for name, value in values.items()
    }


# Inputs of operators that are floats and determine sizes. They are not moved: a scale of 1.9999999
# instead of 2 makes an axis shorter.
DECIDE_SIZES = {"Resize": slice(1, 3), "Upsample": slice(1, 2), "Range": slice(0, 3)}


def constants(graph):
    """The constants of a graph that are floats, except large weights and those that determine
    sizes."""
    held = [(tensor.name, tensor) for tensor in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            held += [(node.output[0], a.t) for a in node.attribute if a.HasField("t")]
    sizes = {
        name
        for node in graph.node
        for name in node.input[DECIDE_SIZES.get(node.op_type, slice(0, 0))]
    }
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)
    return [
        t
        for name, t in held
        if t.data_type in floats and numpy.prod(t.dims) <= WEIGHTS and name not in sizes
    ]


def model_nearby(path, random):
    """A session of the model with its constants moved to a neighbour."""
    model = onnx.load(path)
    for tensor in constants(model.graph):
        moved = moved_to_neighbour(numpy_helper.to_array(tensor), random)
        tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    return session(model.SerializeToString())


def moves(path, values, usual):
    """For each output, how far roundings move its elements at most: those of inputs and constants,
    and in a quantized model those that fusions change. None if a rounding changes the shape of the
    output, or it is not a tensor. `usual`: the outputs without such changes."""
    random = numpy.random.default_rng(1)
    most = [numpy.zeros(a.shape) if isinstance(a, numpy.ndarray) else None for a in usual]
    if quantizes(onnx.load(path)):
        for each, by in zip(most, fusions_move(path, values, usual)):
            if each is not None and numpy.isfinite(by):
                each += FUSIONS * by / MARGIN
    for _ in range(DISTURBANCES):
        results = outputs(model_nearby(path, random), nearby(values, random))
        for k, (a, b) in enumerate(zip(usual, results)):
            if most[k] is not None:
                most[k] = None if unlike(a, b) else numpy.maximum(most[k], distances(a, b))
    return most


def quantizes(model):
    return any(
        node.op_type.startswith(("Quantize", "DynamicQuantize", "QLinear", "QGemm"))
        for node in model.graph.node
    )


def fusions_move(path, values, usual):
    """For each output, the greatest difference of an element that ONNX Runtime's own optimizations
    make."""
    plain = outputs(session(path, optimized=False), values)
    return [
        0.0 if unlike(a, b) or not isinstance(a, numpy.ndarray) else distances(a, b).max(initial=0)
        for a, b in zip(usual, plain)
    ]


def shown(x):
    return "NaN" if x != x else str(x)


def judge(a, b, relative, absolute, moved):
    """Compares an output b with that of the original, a: (greatest difference, greatest element of
    a, what is wrong or ""). moved() returns how far roundings move each element; it is slow and is
    called only if both tolerances are exceeded."""
    reason = unlike(a, b)
    if reason or not isinstance(a, numpy.ndarray) or not a.size:
        return 0.0, 0.0, reason
    apart, size = distances(a, b), largest(a)
    allowed = relative * size if a.dtype.kind == "f" else 0
    wrong = apart > (max(allowed, absolute) if a.dtype.kind in "fiu" else 0)
    if wrong.any():
        by = moved()
        most = numpy.inf
        if by is not None:  # an element that a rounding makes infinite says nothing about others
            most = numpy.maximum(MARGIN * by, by[numpy.isfinite(by)].max(initial=0))
        wrong = wrong & (apart > most)
    greatest = float(apart[numpy.isfinite(apart)].max(initial=0.0))
    if not wrong.any():
        return greatest, size, ""
    at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    place = f"{shown(b[at])} at {list(at)}, was {shown(a[at])}"
    return greatest, size, f"{int(wrong.sum())} of {a.size} elements: {place}"


def compare_outputs(original, optimized, feed, draws, tolerance, absolute):
    failed, worst = 0, 0.0
    or_absolute = f" or {absolute:g} absolute" if absolute else ""
    try:
        first = session(original)
    except Exception as error:
        raise NoOpinion(f"ONNX Runtime does not load the original: {one_line(error)}") from error
    second = session(optimized)
    print(f"{'output':40} {'draw':>4} {'max|y|':>12} {'max|diff|':>12} {'relative':>12}")
    for draw in range(draws):
        try:
            values = feed.draw(first.get_inputs(), draw)
        except NotFed as error:
            raise NoOpinion(f"its {error}") from error
        try:
            expected = outputs(first, values)
        except Exception as error:
            raise NoOpinion(f"ONNX Runtime does not run the original: {one_line(error)}") from error
        given, known = outputs(second, values), []

        def moved(k):
            if not known:
                known.append(moves(original, values, expected))
            return known[0][k]

        for k, (each, a, b) in enumerate(zip(first.get_outputs(), expected, given)):
            error, size, reason = judge(a, b, tolerance, absolute, lambda: moved(k))
            failed += bool(reason)
            worst = max(worst, error / size if size else 0.0)
            relative = error / size if size else 0.0
            print(f"{each.name[:40]:40} {draw:4} {size:12.4g} {error:12.4g} {relative:12.3g}")
            if reason:
                allowed = (
                    f"; {relative:.3g} of the greatest element, {tolerance:g} is allowed (--rtol)"
                    f"{or_absolute and or_absolute + ' (--atol)'}"
                )
                print(f"FAIL output {each.name}: {reason}" + (allowed if error else ""))
    if not failed:
        beyond = worst > tolerance and not absolute
        more = ", and as much as roundings move the original's" if beyond else ""
        print(
            f"agrees on {draws} draw{'s' * (draws != 1)}, greatest difference relative to an"
            f" output's greatest element {worst:.3g}, {tolerance:g}{or_absolute} allowed{more}"
        )
    return failed


def arguments():
    parser = option_parser(__doc__)
    parser.add_argument("original", help="the original ONNX file")
    parser.add_argument("optimized", help="the ONNX file that is compared with it")
    parser.add_argument(
        "--rtol", type=float, help="relative tolerance; default 1e-4, or 1e-2 for float16"
    )
    parser.add_argument(
        "--atol",
        type=float,
        help="absolute tolerance; default: none; if given, --rtol defaults to 0",
    )
    parser.add_argument(
        "--fixed-sizes",
        action="store_true",
        help="sizes that the original leaves open may be numbers in the optimized model",
    )
    parser.add_argument("--draws", type=positive, default=3, help="number of random inputs to try")
    add_feed_options(parser)
    return parser.parse_args()


def interface_failures(before, after):
    """Prints a line for each part of the interface that has changed, and returns their number."""
    wanted, have = interface(before), interface(after)
    inner = {(o.domain, o.version) for f in before.functions for o in f.opset_import}
    for added in {RUNTIME, *inner}.difference(wanted["opset imports"]):
        if added in have["opset imports"]:
            have["opset imports"].remove(added)
    changed = [what for what in wanted if have[what] != wanted[what]]
    for what in changed:
        verb = "have" if isinstance(wanted[what], list) else "has"
        print(f"FAIL the {what} {verb} changed: from {said(wanted[what])} to {said(have[what])}")
    return len(changed)


def main():
    if sys.argv[1:] == ["--available"]:
        return 0
    options, failed = arguments(), 0
    before, after = read_model(options.original), read_model(options.optimized)
    check_feed(options, before.graph)
    complaint = checker_says(options.optimized)
    if complaint and complaint.split(":")[0] != checker_says(options.original).split(":")[0]:
        failed += 1
        print(f"FAIL the checker says: {complaint}")
    if options.fixed_sizes:
        fix_sizes(before, after)
    failed += interface_failures(before, after)
    tolerance, absolute = options.rtol, options.atol
    if tolerance is None and absolute is None:
        tolerance = 1e-2 if uses_float16(before) else 1e-4
    tolerance, absolute = tolerance or 0.0, absolute or 0.0
    try:
        failed += compare_outputs(
            options.original,
            options.optimized,
            Feed(options),
            options.draws,
            tolerance,
            absolute,
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
