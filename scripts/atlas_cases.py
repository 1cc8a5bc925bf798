"""The cases of atlas.py. They are those of bench_operator_cases.py, which explains the notation,
and in addition cases of further operators and of further shapes of the same operators."""

from bench_operator_cases import CASES, IMAGE, MAP, ROWS, TOKENS, case

CONVOLUTIONS = [
    case("conv", "3x3 to one channel", "Conv", IMAGE, "=f32 1,64,3,3", pads=[1] * 4),
    case("conv", "1x1, stride 2", "Conv", IMAGE, "=f32 128,64,1,1", strides=[2, 2]),
    case("conv", "1x1 on one place", "Conv", "f32 1,512,1,1", "=f32 128,512,1,1"),
    case("conv", "16x16 patches", "Conv", "f32 1,3,224,224", "=f32 192,3,16,16", strides=[16, 16]),
    case("conv", "whole image", "Conv", MAP, "=f32 64,256,14,14"),
    case("conv", "1-D, 3", "Conv", "f32 1,128,400", "=f32 128,128,3", pads=[1, 1]),
    case(
        "conv", "1-D, depthwise 31", "Conv", "f32 1,256,200", "=f32 256,1,31", pads=[15] * 2
    )._replace(attrs={"pads": [15, 15], "group": 256}),
    case("conv", "3-D, 3x3x3", "Conv", "f32 1,16,8,32,32", "=f32 16,16,3,3,3", pads=[1] * 6),
    case("conv", "3-D, 1x3x3", "Conv", "f32 1,16,8,32,32", "=f32 16,16,1,3,3", pads=[0, 1, 1] * 2),
    case("conv", "3x3, dilation 2", "Conv", MAP, "=f32 64,256,3,3", pads=[2] * 4, dilations=[2, 2]),
    case("conv", "2 groups", "Conv", MAP, "=f32 256,128,3,3", pads=[1] * 4, group=2),
    case("conv", "32 groups", "Conv", MAP, "=f32 256,8,3,3", pads=[1] * 4, group=32),
    case("conv", "1x1, 4 groups", "Conv", IMAGE, "=f32 64,16,1,1", group=4),
    case("conv", "1x7", "Conv", MAP, "=f32 64,256,1,7", pads=[0, 3, 0, 3]),
    case("conv", "depthwise, two each", "Conv", IMAGE, "=f32 128,1,3,3", pads=[1] * 4, group=64),
    case(
        "transposed conv", "2x2, stride 2", "ConvTranspose", MAP, "=f32 256,64,2,2", strides=[2] * 2
    ),
    case(
        *("transposed conv", "4x4, stride 2", "ConvTranspose", MAP, "=f32 256,64,4,4"),
        **{"strides": [2, 2], "pads": [1] * 4},
    ),
    case("transposed conv", "1x1", "ConvTranspose", MAP, "=f32 256,64,1,1"),
    case(
        "transposed conv", "1-D, 4, stride 2", "ConvTranspose", "f32 1,64,200", "=f32 64,32,4"
    )._replace(attrs={"strides": [2], "pads": [1, 1]}),
]
POOLING = [
    case("pool", "average, whole", "AveragePool", MAP, kernel_shape=[14, 14]),
    case("pool", "average 2, stride 2", "AveragePool", IMAGE, kernel_shape=[2, 2], strides=[2, 2]),
    case("pool", "average 3, stride 1", "AveragePool", MAP, kernel_shape=[3, 3], pads=[1] * 4),
    case("pool", "average, 1-D", "AveragePool", "f32 1,64,1024", kernel_shape=[4], strides=[4]),
    case("pool", "max 5, stride 1", "MaxPool", MAP, kernel_shape=[5, 5], pads=[2] * 4),
    case("pool", "max 13, stride 1", "MaxPool", MAP, kernel_shape=[13, 13], pads=[6] * 4),
    case("pool", "max 1, stride 2", "MaxPool", IMAGE, kernel_shape=[1, 1], strides=[2, 2]),
    case("pool", "max, 1-D", "MaxPool", "f32 1,64,1024", kernel_shape=[2], strides=[2]),
    case("pool", "max, whole", "MaxPool", MAP, kernel_shape=[14, 14]),
    case("pool", "L2, 2", "LpPool", IMAGE, kernel_shape=[2, 2], strides=[2, 2]),
    case("pool", "global max", "GlobalMaxPool", IMAGE),
    case("pool", "global L2", "GlobalLpPool", IMAGE),
    case("pool", "global average, 1-D", "GlobalAveragePool", "f32 1,128,400"),
]
SHORT_ROWS = [
    case("short rows", "times a column", "Mul", "f32 65536,3", "f32 65536,1"),
    case("short rows", "times a row", "Mul", "f32 16384,4,4", "=f32 4"),
    case("short rows", "plus a column", "Add", "f32 65536,3", "f32 65536,1"),
    case("short rows", "minus a row of each", "Sub", "f32 512,128,3", "f32 512,1,3"),
    case("short rows", "by a column", "Div", "f32 65536,3", "f32 65536,1"),
    case("short rows", "where", "Where", "bool 65536,1", "f32 65536,3", "=f32 - 0"),
    case("short rows", "sums", "ReduceSum", "f32 18432,3,3", "=1", keepdims=0, opset=18),
    case("short rows", "means", "ReduceMean", "f32 18432,4,2", "=1", keepdims=0, opset=18),
    case("short rows", "3x3 by 3x3", "MatMul", "f32 6144,3,3", "f32 6144,3,3"),
    case("short rows", "3x3 by 3x1", "MatMul", "f32 6144,3,3", "f32 6144,3,1"),
]
REDUCTIONS = [
    case("reduce", f"{name}, {where}", f"Reduce{name}", of, axes, keepdims=keep, opset=18)
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum")
    for where, of, axes, keep in (
        ("last axis", TOKENS, "=-1", 1),
        ("tokens", TOKENS, "=1", 0),
        ("channels", MAP, "=1", 1),
        ("image", IMAGE, "=2,3", 1),
    )
] + [
    case("reduce", "log sum of exponentials, channels", "ReduceLogSumExp", MAP, "=1", opset=18),
    case("arg max", "last axis of rows", "ArgMax", ROWS, axis=1),
    case("arg max", "min, channels", "ArgMin", MAP, axis=1),
    case("cumulated", "sum, last axis", "CumSum", ROWS, "=1"),
    case("cumulated", "sum, reversed", "CumSum", ROWS, "=1", reverse=1),
    case("cumulated", "sum, middle axis", "CumSum", "f32 8,128,64", "=1"),
]
POINTWISE = (
    [
        case("element-wise", name, name, IMAGE, opset=opset, **attrs)
        for name, opset, attrs in (
            *(
                (name, 21, {})
                for name in ("Abs", "Neg", "Reciprocal", "Cos", "Tan", "Asin", "Acos")
            ),
            *(
                (name, 21, {})
                for name in ("Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Ceil")
            ),
            *((name, 21, {}) for name in ("Softsign", "HardSigmoid", "ThresholdedRelu", "Selu")),
            *((name, 21, {}) for name in ("Shrink", "Hardmax", "IsNaN", "IsInf", "Identity")),
            ("Swish", 24, {}),
            ("Gelu", 21, {"approximate": "tanh"}),
            ("HardSigmoid", 21, {"alpha": 1 / 6, "beta": 0.5}),
        )
    ]
    + [
        case(
            "element-wise", f"to the power of {power}", "Pow", IMAGE + " 0.1..2", f"=f32 - {power}"
        )
        for power in ("2", "3", "0.5", "-1", "-0.5", "4")
    ]
    + [
        case("element-wise", "divided by a number", "Div", IMAGE, "=f32 - 3"),
        case("element-wise", "divided by channels", "Div", IMAGE, "=f32 64,1,1 1..2"),
        case("element-wise", "number by it", "Div", "=f32 - 1", IMAGE + " 1..2"),
        case("element-wise", "minus a number", "Sub", IMAGE, "=f32 - 3"),
        case("element-wise", "times a number", "Mul", IMAGE, "=f32 - 3"),
        case("element-wise", "squared", "Mul", IMAGE, IMAGE),
        case("element-wise", "max with 0", "Max", IMAGE, "=f32 - 0"),
        case("element-wise", "max of 3", "Max", IMAGE, IMAGE, IMAGE),
        case("element-wise", "sum of 3", "Sum", IMAGE, IMAGE, IMAGE),
        case("element-wise", "mean of 3", "Mean", IMAGE, IMAGE, IMAGE),
        case("element-wise", "where, numbers", "Where", "bool 1,64,56,56", "=f32 - 1", "=f32 - 0"),
        case(
            "element-wise",
            "where, mask",
            "Where",
            "bool 1,1,128,128",
            "=f32 - -9",
            "f32 1,12,128,128",
        ),
        case("element-wise", "slope of channels", "PRelu", IMAGE, "=f32 64,1,1"),
        case("element-wise", "slope of one", "PRelu", IMAGE, "=f32 1"),
        case("element-wise", "remainder", "Mod", IMAGE, "=f32 - 0.3", fmod=1),
        case("element-wise", "bits", "BitwiseAnd", "i32 512,1024 0..99", "=i32 - 15"),
        case("element-wise", "shift", "BitShift", "u8 512,1024 0..9", "=u8 - 2", direction="LEFT"),
        case("element-wise", "or", "Or", "bool 1,64,56,56", "bool 1,64,56,56"),
        case("element-wise", "xor", "Xor", "bool 1,64,56,56", "bool 1,64,56,56"),
        case("element-wise", "less or equal", "LessOrEqual", IMAGE, "=f32 - 0.1"),
    ]
)
NORMS = [
    case("norm", "softmax, channels", "Softmax", MAP, axis=1),
    case("norm", "softmax, tokens", "Softmax", TOKENS, axis=1),
    case("norm", "softmax, two", "Softmax", "f32 4096,2", axis=1),
    case("norm", "softmax, heads", "Softmax", "f32 1,12,128,128", axis=-1),
    case("norm", "log softmax, channels", "LogSoftmax", MAP, axis=1),
    case("norm", "layer, no bias", "LayerNormalization", TOKENS, "=f32 768"),
    case("norm", "layer, two axes", "LayerNormalization", "f32 8,64,64", "=f32 64,64", axis=1),
    case("norm", "root of squares", "RMSNormalization", TOKENS, "=f32 768", opset=23),
    case("norm", "instance, 1-D", "InstanceNormalization", "f32 1,64,800", "=f32 64", "=f32 64"),
    case("norm", "one group", "GroupNormalization", MAP, "=f32 256", "=f32 256", num_groups=1),
    case("norm", "a group each", "GroupNormalization", MAP, "=f32 256", "=f32 256", num_groups=256),
    case("norm", "L2, channels", "LpNormalization", MAP, axis=1),
    case("norm", "L1, last axis", "LpNormalization", ROWS, axis=1, p=1),
    case("norm", "mean and variance", "MeanVarianceNormalization", IMAGE),
    case("norm", "local response, 9", "LRN", MAP, size=9),
    case("norm", "local response, 3", "LRN", IMAGE, size=3),
    case(
        *("norm", "batch, vectors", "BatchNormalization", "f32 64,512"),
        *("=f32 512", "=f32 512", "=f32 512", "=f32 512 0.5..1"),
    ),
]
PRODUCTS = [
    case("product", "one row", "MatMul", "f32 1,768", "=f32 768,768"),
    case("product", "tokens", "MatMul", TOKENS, "=f32 768,768"),
    case("product", "to one", "MatMul", TOKENS, "=f32 768,1"),
    case("product", "heads", "MatMul", "f32 1,12,128,64", "f32 1,12,64,128"),
    case("product", "batch of rows", "MatMul", "f32 64,1,256", "=f32 256,256"),
    case("product", "vector", "MatMul", "f32 768", "=f32 768,768"),
    case("product", "outer", "MatMul", "f32 512,1", "f32 1,512"),
    case("product", "Gemm, transposed", "Gemm", "f32 64,512", "=f32 256,512", "=f32 256", transB=1),
    case("product", "Gemm, scaled", "Gemm", "f32 64,512", "=f32 512,256", "=f32 256", alpha=0.5),
    case("product", "Gemm, left transposed", "Gemm", "f32 512,64", "=f32 512,256", transA=1),
    case(
        "einsum",
        "heads",
        "Einsum",
        "f32 1,128,12,64",
        "f32 1,128,12,64",
        equation="bqhd,bkhd->bhqk",
    ),
    case("einsum", "weights", "Einsum", TOKENS, "=f32 12,64,768", equation="bsd,hkd->bshk"),
    case("einsum", "outer", "Einsum", "f32 512", "f32 512", equation="i,j->ij"),
    case("einsum", "row sums", "Einsum", ROWS, equation="ij->i"),
    case("einsum", "transposed", "Einsum", ROWS, equation="ij->ji"),
    case("einsum", "element by element", "Einsum", ROWS, ROWS, equation="ij,ij->ij"),
    case("einsum", "dot of rows", "Einsum", ROWS, ROWS, equation="ij,ij->i"),
    case(
        "recurrent", "one LSTM step", "LSTM", "f32 1,1,128", "=f32 1,512,128", "=f32 1,512,128"
    )._replace(attrs={"hidden_size": 128}, outputs=3),
    case(
        "recurrent", "one GRU step", "GRU", "f32 1,1,128", "=f32 1,384,128", "=f32 1,384,128"
    )._replace(attrs={"hidden_size": 128}, outputs=2),
    case(
        "recurrent", "one RNN step", "RNN", "f32 1,1,128", "=f32 1,128,128", "=f32 1,128,128"
    )._replace(attrs={"hidden_size": 128}, outputs=2),
]
MOVES = [
    case("move", "rows at known places", "Gather", ROWS, "=0,1,2,3", axis=0),
    case("move", "one row", "Gather", ROWS, "=7", axis=0),
    case("move", "every second column", "Gather", ROWS, "=0,2,4,6,8,10,12,14", axis=1),
    case("move", "embedding of few", "Gather", "=f32 4,256", "i64 1,512 0..3"),
    case("move", "one hot, 16", "OneHot", "i64 1,512 0..15", "=16", "=f32 2 0..1"),
    case("move", "every second place", "Slice", IMAGE, "=0,0", "=56,56", "=2,3", "=2,2"),
    case("move", "reversed", "Slice", ROWS, "=-1", "=-9999", "=1", "=-1"),
    case("move", "heads", "Transpose", "f32 1,128,12,64", perm=[0, 2, 1, 3]),
    case("move", "matrix", "Transpose", ROWS, perm=[1, 0]),
    case("move", "sizes of 1", "Transpose", "f32 1,512,1,64", perm=[0, 2, 1, 3]),
    case("move", "channels last", "Transpose", IMAGE, perm=[0, 2, 3, 1]),
    case("move", "channels first", "Transpose", "f32 1,56,56,64", perm=[0, 3, 1, 2]),
    case("move", "with itself", "Concat", IMAGE, IMAGE, axis=1),
    case("move", "last axis", "Concat", ROWS, ROWS, axis=1),
    case("move", "in two, channels", "Split", IMAGE, axis=1, num_outputs=2, outputs=2),
    case("move", "in two, last axis", "Split", ROWS, axis=1, num_outputs=2, outputs=2),
    case("move", "tile rows", "Tile", "f32 1,1024", "=512,1"),
    case("move", "tile twice", "Tile", ROWS, "=1,2"),
    case("move", "expand", "Expand", "f32 1,64,1,1", "=1,64,56,56"),
    case("move", "expand rows", "Expand", "f32 512,1", "=512,1024"),
    case("move", "pad, edge", "Pad", IMAGE, "=0,0,1,1,0,0,1,1", mode="edge"),
    case("move", "pad, reflect", "Pad", IMAGE, "=0,0,1,1,0,0,1,1", mode="reflect"),
    case("move", "pad, wrap", "Pad", IMAGE, "=0,0,1,1,0,0,1,1", mode="wrap"),
    case("move", "depth to space, 2, crd", "DepthToSpace", IMAGE, blocksize=2, mode="CRD"),
    case("move", "lower triangle", "Trilu", "f32 1,12,128,128", upper=0),
    case("resize", "nearest x4", "Resize", MAP, "-", "=f32 4 1,1,4,4", mode="nearest"),
    case(
        "resize", "linear x2, corners", "Resize", MAP, "-", "=f32 4 1,1,2,2", mode="linear"
    )._replace(attrs={"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    case("resize", "linear x4", "Resize", MAP, "-", "=f32 4 1,1,4,4", mode="linear"),
    case("resize", "linear, half", "Resize", IMAGE, "-", "=f32 4 1,1,0.5,0.5", mode="linear"),
    case("resize", "nearest, half", "Resize", IMAGE, "-", "=f32 4 1,1,0.5,0.5", mode="nearest"),
    case("resize", "cubic, half", "Resize", IMAGE, "-", "=f32 4 1,1,0.5,0.5", mode="cubic"),
    case(
        "resize", "nearest x2, 1-D", "Resize", "f32 1,64,400", "-", "=f32 3 1,1,2", mode="nearest"
    ),
    case("attention", "heads", "Attention", *["f32 1,12,128,64"] * 3, opset=23),
    case("rotary", "heads", "RotaryEmbedding", "f32 1,12,128,64", *["=f32 1,128,32"] * 2, opset=23),
    case("loss", "of classes", "NegativeLogLikelihoodLoss", "f32 64,1000", "i64 64 0..999"),
]
ASKED = [
    *CASES,
    *(CONVOLUTIONS + POOLING + SHORT_ROWS + REDUCTIONS + POINTWISE + NORMS + PRODUCTS + MOVES),
]
