"""The reasons why results of run-model differ from those of ONNX Runtime or of ONNX's reference, by
operator and by the one with which run-model agrees. edges.py writes them into DEVIATIONS.md."""

DENORMAL = "the built-in runtime treats denormals as 0 (`ops/cpu/README.md`)"
EMPTY = """ONNX Runtime leaves the axes of an empty tensor as they are where they are counted from
the end; the specification removes (or keeps as 1) the axes that are named"""
EXPM1 = """e^x - 1 is computed in float32 as ONNX writes it; the reference is more accurate. At
alpha = 1e20 x is lost to rounding"""
ROUNDING = "the last bits of a difference of nearly equal numbers"
STRIDES = """not run, copied as it is: the padding that the specification's formula gives is
negative, and each implementation reads that in its own way"""
FUSED = """an activation that is computed with the convolution may turn a NaN into its bound,
depending on the algorithm"""
WIDE = "computed with intermediate results that do not overflow"

SATURATES = "integers that overflow wrap around, whereas ONNX Runtime saturates"
WRAPPING = "Sum L1 Prod SumSquare".split()
REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()
REASONS = {
    ("Celu", "as ONNX Runtime"): EXPM1,
    ("Elu", "as ONNX Runtime"): EXPM1,
    ("Selu", "as ONNX Runtime"): EXPM1,
    ("Sign", "as neither"): "of a denormal it is the denormal: " + DENORMAL,
    (
        "Softplus",
        "as neither",
    ): """log(1 + e^x) in float32 is 0 where e^x is below half a unit in the
last place of 1""",
    ("Mish", "as neither"): "as Softplus",
    ("Sigmoid", "as the reference"): "ONNX Runtime clamps its input",
    ("Resize", "as the reference"): """the specification's coordinate is a whole number, (1 + 1/2) *
5/3 - 1/2 = 2; ONNX Runtime computes it in float32 and gets slightly less""",
    ("PRelu", "as neither"): """x = 0 and an infinite slope: the specification's x for x >= 0 is 0;
computed as max(x, 0) + slope * min(x, 0). As the reference but for that""",
    ("Mod", "as the reference"): "ONNX Runtime computes 2^63 - 1 modulo 2 in floating point",
    ("Clip", "as the reference"): """without a bound infinity passes; the specification's text says
that the bound is then the greatest float, and ONNX Runtime does that""",
    (
        "Clip",
        "as neither",
    ): """a bound that is the greatest float32 stands for no bound where elements
are float32, so infinity passes it""",
    ("Gemm", "as neither"): """with beta = 0 and a c that is NaN: 0 * NaN is NaN; the others do not
read c""",
    ("ReduceMean", "as the reference"): EMPTY + "; a mean of nothing is 0/0",
    ("ReduceProd", "as neither"): "1e30 * -1e30 * 0: " + WIDE,
    **{(f"Reduce{name}", "as the reference"): f"{EMPTY}; {SATURATES}" for name in WRAPPING},
    ("ReduceSumSquare", "as neither"): SATURATES + "; the reference's result is int64",
    ("ReduceSumSquare", "as ONNX Runtime"): "of int32: the reference's result is int64",
    ("ReduceLogSumExp", "as neither"): """of an infinity: the greatest is subtracted before exp, and
infinity - infinity is NaN""",
    ("ArgMax", "as the reference"): EMPTY,
    ("ArgMin", "as the reference"): EMPTY,
    ("Hardmax", "as the reference"): "a row with NaN, where nothing is the greatest",
    ("Shape", "as ONNX Runtime"): "the specification clamps an end below 0 to 0",
    (
        "Squeeze",
        "as the reference",
    ): "an empty list of axes names none; ONNX Runtime takes it for all",
    ("Slice", "as ONNX Runtime"): """with a negative step the specification clamps the start to the
first element; the reference starts before it, as numpy does""",
    ("Slice", "as the reference"): """with a negative step an end beyond the last element is clamped
to it; ONNX Runtime takes the greatest integers for `to the beginning`""",
    ("OneHot", "as ONNX Runtime"): "the reference multiplies an infinite value by 0",
    ("ReduceMean", "refused"): """not run, copied as it is: a mean of integers, of which the
specification does not say how it is rounded""",
    ("Shrink", "refused"): "not run, copied as it is: Shrink of integers",
    **{
        (name, "refused"): "not run, copied as it is: clip, which the reference ignores"
        for name in ("RNN", "GRU", "LSTM")
    },
    ("Range", "refused"): "not run, copied as it is: the parameters are not integers",
    (
        "MaxPool",
        "as ONNX Runtime",
    ): """the reference rounds sizes up otherwise with ceil_mode, and has
windows elsewhere with auto_pad""",
    ("MaxPool", "as neither"): """windows of padding alone have no greatest element: ours is
-infinity, ONNX Runtime's the lowest float; with auto_pad, where ONNX Runtime refuses, the reference
has windows elsewhere; a NaN may be the greatest element, depending on the algorithm""",
    ("AveragePool", "as the reference"): "windows of padding alone: 0/0",
    ("GlobalMaxPool", "as ONNX Runtime"): "the reference drops an axis",
    (
        "InstanceNormalization",
        "as the reference",
    ): """of one element, where variance is 0: ONNX Runtime
divides by a rounded number. """
    + ROUNDING,
    ("LayerNormalization", "as the reference"): ROUNDING,
    ("GroupNormalization", "as the reference"): ROUNDING,
    (
        "LRN",
        "as ONNX Runtime",
    ): "the reference sums the squares of as many channels as there are batches",
    (
        "LRN",
        "as neither",
    ): """even sizes and negative beta, which ONNX Runtime refuses; the reference
takes squares of the first channels only""",
    ("LpNormalization", "as neither"): """squares that are denormals, so that the norm is 0: """
    + DENORMAL,
    ("LpNormalization", "as ONNX Runtime"): "with p = 1 the reference sums x, not |x|",
    (
        "MeanVarianceNormalization",
        "as the reference",
    ): """of equal numbers: ONNX Runtime leaves out the
1e-9 that the specification adds""",
    ("QuantizeLinear", "as ONNX Runtime"): """numbers beyond the integers saturate; the reference
converts them to an integer first, which overflows""",
    ("DynamicQuantizeLinear", "as ONNX Runtime"): """of zeros: the scale would be 0; the reference
has another number than ONNX Runtime for it""",
    **{(f"Conv, {name}", "as neither"): FUSED for name in "Relu Clip HardSigmoid".split()},
    **{(name, "as neither"): DENORMAL for name in "Shrink HardSigmoid Ceil Log Sqrt".split()},
    **{(name, "refused"): STRIDES for name in "Conv MaxPool AveragePool ConvTranspose".split()},
}


def why(name, mark):
    """The reason as one line, or "" if none is known."""
    reason = REASONS.get((name, mark), "")
    if (
        not reason
        and name[:6] == "Reduce"
        and name[6:] in REDUCTIONS
        and mark == "as the reference"
    ):
        reason = EMPTY
    return " ".join(reason.split())
