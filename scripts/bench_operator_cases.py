"""The cases that bench_operators.py times: single operators at sizes that occur in models.

A case has a family and a name, the operator, its inputs in order and its attributes. An operator of
another domain than ONNX's own is written DOMAIN.OPERATOR. An input is a text `TYPE SIZES VALUES`.
SIZES is `-` for a scalar. VALUES is a range (`0..1000`; -1..1 if it is left out), a number, or a
list of numbers with commas between them. For example, `f32 1,64,56,56` is a tensor of floats
uniform in [-1, 1), and `i64 1,128 0..1000` one of integers. An input that begins with `=` is a
constant of the model; `=1,2` alone is a list of int64. `-` alone is an optional input left out.

bench_operator_kinds.tsv holds further cases of about a quarter of a million elements each: element
types other than float, axes other than the last, broadcasts in the middle of shapes, and sizes that
no vector length divides. Its columns are family, name, operator, inputs (with semicolons between
them), attributes, number of outputs, opset.
"""

import csv, json, os
from bench_operator_case import Case, case
from bench_operator_domains import FEW_BITS, TREES


def conv(name, x, weights, pad=0, **attrs):
    """A case of a convolution with a bias, padded by `pad` on every side."""
    outputs, _, *kernel = weights.split(",")
    if pad:
        attrs = {"pads": [pad] * 2 * len(kernel)} | attrs
    return case("conv", name, "Conv", x, f"=f32 {weights}", f"=f32 {outputs}", **attrs)


IMAGE, MAP, TOKENS = "f32 1,64,56,56", "f32 1,256,14,14", "f32 1,128,768"
ROWS = "f32 512,1024"

QUANTIZED = [
    case("quantize", "tensor, u8", "QuantizeLinear", IMAGE, "=f32 - 0.01", "=u8 - 128"),
    case("quantize", "tensor, i8", "QuantizeLinear", IMAGE, "=f32 - 0.01", "=i8 - 0"),
    case(
        "quantize",
        "axis 1",
        "QuantizeLinear",
        IMAGE,
        "=f32 64 0.01..0.1",
        "=i8 64 0..1",
        axis=1,
    ),
    case(
        "quantize",
        "last axis",
        "QuantizeLinear",
        TOKENS,
        "=f32 768 0.01..0.1",
        "=i8 768 0..1",
        axis=2,
    ),
    case(
        "quantize",
        "blocks of 32",
        "QuantizeLinear",
        "f32 128,768",
        "=f32 128,24 0.01..0.1",
        "=u8 128,24 100..140",
        axis=1,
        block_size=32,
    ),
    case(
        "dequantize",
        "tensor, u8",
        "DequantizeLinear",
        "u8 1,64,56,56 0..255",
        "=f32 - 0.01",
        "=u8 - 128",
    ),
    case(
        "dequantize",
        "tensor, i8",
        "DequantizeLinear",
        "i8 1,64,56,56 -128..127",
        "=f32 - 0.01",
        "=i8 - 0",
    ),
    case(
        "dequantize", "tensor, i32", "DequantizeLinear", "i32 1,64,56,56 -9999..9999", "=f32 - 0.01"
    ),
    case(
        "dequantize",
        "axis 0",
        "DequantizeLinear",
        "i8 768,768 -128..127",
        "=f32 768 0.01..0.1",
        "=i8 768 0..1",
        axis=0,
    ),
    case(
        "dequantize",
        "last axis",
        "DequantizeLinear",
        "i8 768,768 -128..127",
        "=f32 768 0.01..0.1",
        "=i8 768 0..1",
        axis=1,
    ),
    case(
        "dequantize",
        "blocks of 32",
        "DequantizeLinear",
        "i8 768,768 -128..127",
        "=f32 768,24 0.01..0.1",
        "=i8 768,24 0..1",
        axis=1,
        block_size=32,
    ),
    case("dynamic quantize", "tokens", "DynamicQuantizeLinear", TOKENS, outputs=3),
]
CASTS = [
    case("cast", "f32 to f16", "Cast", IMAGE, to=10),
    case("cast", "f16 to f32", "Cast", "f16 1,64,56,56", to=1),
    case("cast", "f32 to i64", "Cast", IMAGE, to=7),
    case("cast", "f32 to u8", "Cast", "f32 1,64,56,56 0..255", to=2),
    case("cast", "i64 to f32", "Cast", "i64 1,64,56,56 0..1000", to=1),
    case("cast", "i32 to i64", "Cast", "i32 1,64,56,56 0..1000", to=7),
    case("cast", "i64 to i32", "Cast", "i64 1,64,56,56 0..1000", to=6),
    case("cast", "u8 to f32", "Cast", "u8 1,64,56,56 0..255", to=1),
    case("cast", "bool to f32", "Cast", "bool 1,64,56,56", to=1),
    case("cast", "f32 to bool", "Cast", IMAGE, to=9),
    case("compare", "less, f32", "Less", IMAGE, IMAGE),
    case("compare", "equal, i64", "Equal", "i64 1,64,56,56 0..3", "i64 1,64,56,56 0..3"),
    case("compare", "greater, one number", "Greater", IMAGE, "=f32 - 0.1"),
    case("compare", "and", "And", "bool 1,64,56,56", "bool 1,64,56,56"),
    case("compare", "not", "Not", "bool 1,64,56,56"),
]
RECURRENT = [
    case(
        "lstm",
        "t 100, b 1, 128",
        "LSTM",
        "f32 100,1,128",
        "=f32 1,512,128 -0.1..0.1",
        "=f32 1,512,128 -0.1..0.1",
        "=f32 1,1024 -0.1..0.1",
        hidden_size=128,
        outputs=3,
    ),
    case(
        "lstm",
        "both, t 40, b 1, 512",
        "LSTM",
        "f32 40,1,512",
        "=f32 2,2048,512 -0.1..0.1",
        "=f32 2,2048,512 -0.1..0.1",
        "=f32 2,4096 -0.1..0.1",
        hidden_size=512,
        direction="bidirectional",
        outputs=3,
    ),
    case(
        "lstm",
        "t 20, b 16, 256",
        "LSTM",
        "f32 20,16,256",
        "=f32 1,1024,256 -0.1..0.1",
        "=f32 1,1024,256 -0.1..0.1",
        "=f32 1,2048 -0.1..0.1",
        hidden_size=256,
        outputs=3,
    ),
    case(
        "gru",
        "t 100, b 1, 128",
        "GRU",
        "f32 100,1,128",
        "=f32 1,384,128 -0.1..0.1",
        "=f32 1,384,128 -0.1..0.1",
        "=f32 1,768 -0.1..0.1",
        hidden_size=128,
        linear_before_reset=1,
        outputs=2,
    ),
    case(
        "gru",
        "t 20, b 16, 256",
        "GRU",
        "f32 20,16,256",
        "=f32 1,768,256 -0.1..0.1",
        "=f32 1,768,256 -0.1..0.1",
        "=f32 1,1536 -0.1..0.1",
        hidden_size=256,
        linear_before_reset=1,
        outputs=2,
    ),
    case(
        "gru",
        "reset first",
        "GRU",
        "f32 100,1,128",
        "=f32 1,384,128 -0.1..0.1",
        "=f32 1,384,128 -0.1..0.1",
        "=f32 1,768 -0.1..0.1",
        hidden_size=128,
        outputs=2,
    ),
    case(
        "rnn",
        "t 100, b 1, 128",
        "RNN",
        "f32 100,1,128",
        "=f32 1,128,128 -0.1..0.1",
        "=f32 1,128,128 -0.1..0.1",
        "=f32 1,256 -0.1..0.1",
        hidden_size=128,
        outputs=2,
    ),
]
MOVES = [
    case("gather", "rows of a table", "Gather", "=f32 30522,768", "i64 1,128 0..30521"),
    case("gather", "axis 1", "Gather", "f32 64,512,49", "i64 128 0..511", axis=1),
    case("gather", "last axis", "Gather", "f32 512,1024", "i64 256 0..1023", axis=1),
    case("gather", "bias of windows", "Gather", "f32 169,12", "=i64 2401 0..168"),
    case("gather elements", "axis 1", "GatherElements", ROWS, "i64 512,1024 0..1023", axis=1),
    case("gather elements", "axis 0", "GatherElements", ROWS, "i64 512,1024 0..511", axis=0),
    case("gather nd", "rows", "GatherND", "f32 64,64,256", "i64 1024,2 0..63"),
    case("gather nd", "numbers", "GatherND", ROWS, "i64 8192,2 0..511"),
    case("scatter nd", "rows", "ScatterND", "f32 4096,256", "i64 512,1 0..4095", "f32 512,256"),
    case("scatter nd", "numbers", "ScatterND", ROWS, "i64 8192,2 0..511", "f32 8192"),
    case(
        "scatter elements",
        "axis 1",
        "ScatterElements",
        ROWS,
        "i64 512,64 0..1023",
        "f32 512,64",
        axis=1,
    ),
    case("expand", "rows", "Expand", "f32 1,64,1,56", "=1,64,56,56"),
    case("tile", "2 x 3", "Tile", "f32 256,256", "=2,3"),
    case("where", "equal sizes", "Where", "bool 512,1024", ROWS, ROWS),
    case(
        "where", "mask and number", "Where", "bool 1,1,128,128", "f32 1,12,128,128", "=f32 - -10000"
    ),
    case("pad", "zeros around images", "Pad", IMAGE, "=0,0,1,1,0,0,1,1"),
    case("pad", "reflect", "Pad", IMAGE, "=0,0,1,1,0,0,1,1", mode="reflect"),
    case("pad", "edge", "Pad", IMAGE, "=0,0,1,1,0,0,1,1", mode="edge"),
    case("slice", "steps of 2", "Slice", IMAGE, "=0,0", "=56,56", "=2,3", "=2,2"),
    case("slice", "backwards", "Slice", IMAGE, "=-1", "=-1000", "=3", "=-1"),
    case("concat", "channels", "Concat", IMAGE, IMAGE, axis=1),
    case("concat", "last axis", "Concat", ROWS, ROWS, axis=1),
    case("split", "last axis", "Split", "f32 128,2304", outputs=3, axis=1, num_outputs=3),
    case("transpose", "heads", "Transpose", "f32 1,128,12,64", perm=[0, 2, 1, 3]),
    case("transpose", "channels last", "Transpose", IMAGE, perm=[0, 2, 3, 1]),
    case("one hot", "50 classes", "OneHot", "i64 4096 0..49", "=i64 1 50", "=f32 2 0..1"),
    case("depth to space", "DCR", "DepthToSpace", IMAGE, blocksize=2),
    case("depth to space", "CRD", "DepthToSpace", IMAGE, blocksize=2, mode="CRD"),
    case("space to depth", "2", "SpaceToDepth", IMAGE, blocksize=2),
    case("trilu", "upper", "Trilu", "f32 12,128,128", upper=1),
    case("range-like", "cumulated sum, last axis", "CumSum", ROWS, "=i64 - 1"),
    case("range-like", "cumulated sum, first axis", "CumSum", ROWS, "=i64 - 0"),
    case("top k", "5 of 1000", "TopK", "f32 16,1000", "=5", outputs=2),
    case("top k", "100 of 8400", "TopK", "f32 1,8400", "=100", outputs=2),
    case("top k", "300 of 80 x 8400, all", "TopK", "f32 1,67200", "=300", outputs=2),
    case("non zero", "half", "NonZero", "bool 256,256"),
    case("reverse", "sequences", "ReverseSequence", "f32 64,16,128", "=i64 16 10..60"),
]
SAMPLES = [
    case(
        "resize",
        "nearest x2",
        "Resize",
        MAP,
        "-",
        "=f32 4 1,1,2,2",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
    case("resize", "linear x2", "Resize", MAP, "-", "=f32 4 1,1,2,2", mode="linear"),
    case(
        "resize",
        "linear x8, corners",
        "Resize",
        "f32 1,21,32,32",
        "-",
        "=f32 4 1,1,8,8",
        mode="linear",
        coordinate_transformation_mode="align_corners",
    ),
    case("resize", "cubic x2", "Resize", "f32 1,16,28,28", "-", "=f32 4 1,1,2,2", mode="cubic"),
    case(
        "resize",
        "linear, sizes",
        "Resize",
        "f32 1,256,8,8",
        "-",
        "-",
        "=1,256,64,64",
        mode="linear",
    ),
    case("grid sample", "linear", "GridSample", "f32 1,64,40,40", "f32 1,100,36,2"),
    case(
        "grid sample", "nearest", "GridSample", "f32 1,64,40,40", "f32 1,100,36,2", mode="nearest"
    ),
    case("grid sample", "cubic", "GridSample", "f32 1,16,40,40", "f32 1,100,36,2", mode="cubic"),
    case(
        "roi align",
        "7 x 7",
        "RoiAlign",
        "f32 1,64,50,50",
        "f32 32,4 1..40",
        "=i64 32 0..0",
        output_height=7,
        output_width=7,
        sampling_ratio=2,
    ),
]
REDUCED = [
    case("reduce", "sum, last axis", "ReduceSum", ROWS, "=-1"),
    case("reduce", "sum, first axis", "ReduceSum", ROWS, "=0"),
    case("reduce", "mean, spatial", "ReduceMean", IMAGE, "=2,3"),
    case("reduce", "max, last axis", "ReduceMax", ROWS, "=-1"),
    case("reduce", "l2, last axis", "ReduceL2", ROWS, "=-1"),
    case("reduce", "log sum exp", "ReduceLogSumExp", ROWS, "=-1"),
    case("arg max", "last axis", "ArgMax", ROWS, axis=1),
    case("arg max", "channels", "ArgMax", "f32 1,21,128,128", axis=1),
    case("softmax", "last axis", "Softmax", "f32 12,128,128", axis=-1),
    case("softmax", "channels", "Softmax", "f32 1,21,128,128", axis=1),
    case("log softmax", "last axis", "LogSoftmax", ROWS, axis=-1),
    case("layer norm", "768", "LayerNormalization", TOKENS, "=f32 768", "=f32 768"),
    case(
        "layer norm", "96, many rows", "LayerNormalization", "f32 1,3136,96", "=f32 96", "=f32 96"
    ),
    case("instance norm", "64 x 56 x 56", "InstanceNormalization", IMAGE, "=f32 64", "=f32 64"),
    case(
        "group norm",
        "32 groups",
        "GroupNormalization",
        "f32 1,320,32,32",
        "=f32 320",
        "=f32 320",
        num_groups=32,
    ),
    case(
        "batch norm",
        "64 x 56 x 56",
        "BatchNormalization",
        IMAGE,
        "=f32 64",
        "=f32 64",
        "=f32 64",
        "=f32 64 0.5..1",
        opset=15,
    ),
    case("lp norm", "rows", "LpNormalization", ROWS, axis=1),
    case("lrn", "5", "LRN", IMAGE, size=5),
]
FUNCTIONS = [
    case("gelu", "erf", "Gelu", "f32 1,128,3072"),
    case("gelu", "tanh", "Gelu", "f32 1,128,3072", approximate="tanh"),
    case("element-wise", "erf", "Erf", "f32 1,128,3072"),
    case("element-wise", "exp", "Exp", ROWS),
    case("element-wise", "log", "Log", "f32 512,1024 0.1..9"),
    case("element-wise", "tanh", "Tanh", ROWS),
    case("element-wise", "sigmoid", "Sigmoid", ROWS),
    case("element-wise", "relu", "Relu", ROWS),
    case("element-wise", "hard swish", "HardSwish", IMAGE),
    case("element-wise", "mish", "Mish", IMAGE),
    case("element-wise", "softplus", "Softplus", ROWS),
    case("element-wise", "elu", "Elu", ROWS),
    case("element-wise", "celu", "Celu", ROWS),
    case("element-wise", "p-relu", "PRelu", IMAGE, "=f32 64,1,1"),
    case("element-wise", "leaky relu", "LeakyRelu", ROWS),
    case("element-wise", "clip", "Clip", ROWS, "=f32 - 0", "=f32 - 6"),
    case("element-wise", "power", "Pow", "f32 512,1024 0.1..9", "=f32 - 1.7"),
    case("element-wise", "square root", "Sqrt", "f32 512,1024 0.1..9"),
    case("element-wise", "sine", "Sin", ROWS),
    case("element-wise", "floor", "Floor", ROWS),
    case("element-wise", "round", "Round", ROWS),
    case("element-wise", "sign", "Sign", ROWS),
    case("element-wise", "add, equal", "Add", ROWS, ROWS),
    case("element-wise", "add, a row", "Add", ROWS, "f32 1024"),
    case("element-wise", "multiply, a column", "Mul", IMAGE, "f32 64,1,1"),
    case("element-wise", "add, i64", "Add", "i64 512,1024 0..99", "i64 512,1024 0..99"),
    case("element-wise", "divide, i64", "Div", "i64 512,1024 0..99", "=i64 - 7"),
    case("element-wise", "modulo, i64", "Mod", "i64 512,1024 0..99", "=i64 - 7"),
    case("element-wise", "minimum", "Min", ROWS, ROWS),
]
LAYERS = [
    conv("3x3, 64 at 56", IMAGE, "64,64,3,3", pad=1),
    conv("1x1, 256 at 14", MAP, "256,256,1,1"),
    conv("depthwise 3x3", IMAGE, "64,1,3,3", pad=1, group=64),
    conv("depthwise 5x5, stride 2", IMAGE, "64,1,5,5", pad=2, strides=[2, 2], group=64),
    conv("depthwise 7x7", IMAGE, "64,1,7,7", pad=3, group=64),
    conv("depthwise 3x3, dilation 2", IMAGE, "64,1,3,3", pad=2, dilations=[2, 2], group=64),
    conv("3x3, dilation 2", MAP, "64,256,3,3", pad=2, dilations=[2, 2]),
    conv("3x3, dilation 12 at 32", "f32 1,256,32,32", "64,256,3,3", pad=12, dilations=[12, 12]),
    conv("1-D, 5", "f32 1,80,300", "192,80,5", pad=2),
    conv("1-D, depthwise 31", "f32 1,256,200", "256,1,31", pad=15, group=256),
    conv("3-D, 3x3x3", "f32 1,16,8,28,28", "16,16,3,3,3", pad=1),
    conv("groups of 4", IMAGE, "64,4,3,3", pad=1, group=16),
    case(
        "transposed conv",
        "2x2, stride 2",
        "ConvTranspose",
        MAP,
        "=f32 256,128,2,2",
        "=f32 128",
        strides=[2, 2],
    ),
    case(
        "transposed conv",
        "4x4, stride 2",
        "ConvTranspose",
        "f32 1,128,16,16",
        "=f32 128,64,4,4",
        "=f32 64",
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    ),
    case(
        "transposed conv",
        "1-D, 16, stride 8",
        "ConvTranspose",
        "f32 1,128,64",
        "=f32 128,64,16",
        "=f32 64",
        strides=[8],
        pads=[4, 4],
    ),
    case(
        "pool",
        "max 3x3, stride 2",
        "MaxPool",
        "f32 1,64,112,112",
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    ),
    case("pool", "max 2x2", "MaxPool", IMAGE, kernel_shape=[2, 2], strides=[2, 2]),
    case(
        "pool",
        "max 5x5, stride 1",
        "MaxPool",
        "f32 1,256,20,20",
        kernel_shape=[5, 5],
        pads=[2, 2, 2, 2],
    ),
    case("pool", "average 3x3", "AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    case("pool", "global average", "GlobalAveragePool", "f32 1,512,14,14"),
    case("product", "128x768x768", "MatMul", TOKENS, "=f32 768,768"),
    case("product", "1x768x3072", "MatMul", "f32 1,768", "=f32 768,3072"),
    case("product", "heads, 12x128x64x128", "MatMul", "f32 1,12,128,64", "f32 1,12,64,128"),
    case(
        "product", "gemm, transposed", "Gemm", "f32 64,512", "=f32 1000,512", "=f32 1000", transB=1
    ),
    case(
        "product",
        "einsum bhid,bhjd",
        "Einsum",
        "f32 1,12,128,64",
        "f32 1,12,128,64",
        equation="bhid,bhjd->bhij",
    ),
    case(
        "int8",
        "product",
        "MatMulInteger",
        "u8 128,768 0..255",
        "=i8 768,768 -128..127",
        "=u8 - 128",
        "=i8 - 0",
    ),
    case(
        "int8",
        "product, scaled",
        "QLinearMatMul",
        "u8 128,768 0..255",
        "=f32 - 0.01",
        "=u8 - 128",
        "=i8 768,768 -128..127",
        "=f32 - 0.01",
        "=i8 - 0",
        "=f32 - 0.5",
        "=u8 - 128",
    ),
    case(
        "int8",
        "conv 3x3",
        "ConvInteger",
        "u8 1,64,28,28 0..255",
        "=u8 64,64,3,3 0..255",
        "=u8 - 128",
        "=u8 - 128",
        pads=[1, 1, 1, 1],
    ),
    case(
        "int8",
        "conv 3x3, scaled",
        "QLinearConv",
        "u8 1,64,28,28 0..255",
        "=f32 - 0.01",
        "=u8 - 128",
        "=i8 64,64,3,3 -128..127",
        "=f32 - 0.01",
        "=i8 - 0",
        "=f32 - 0.5",
        "=u8 - 128",
        pads=[1, 1, 1, 1],
    ),
    case("signal", "DFT 512", "DFT", "f32 16,512,1", "-", "=i64 - 1", opset=20),
    case("signal", "DFT 1009, complex", "DFT", "f32 4,1009,2", "-", "=i64 - 1", opset=20),
    case("signal", "DFT 60, axis 0", "DFT", "f32 60,64,2", "-", "=i64 - 0", inverse=1, opset=20),
]


def kinds():
    """The cases of bench_operator_kinds.tsv."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_operator_kinds.tsv")
    with open(path, encoding="utf-8") as file:
        for family, name, op, inputs, attrs, outputs, opset in csv.reader(
            file, delimiter="\t", quoting=csv.QUOTE_NONE
        ):
            pairs = (text.split("=", 1) for text in attrs.split())
            values = {key: json.loads(value) for key, value in pairs}
            yield Case(
                family, name, op, tuple(inputs.split("; ")), values, int(outputs), int(opset)
            )


CASES = (
    QUANTIZED
    + CASTS
    + RECURRENT
    + FEW_BITS
    + TREES
    + MOVES
    + SAMPLES
    + REDUCED
    + FUNCTIONS
    + LAYERS
    + list(kinds())
)
