"""The table of the operators of random models: NAME: (since, until, maker, weight, arguments of the
maker). Nodes may be made at the opsets from `since` to `until`. Makers are in makers.py, layers.py
and structures.py."""

import layers as l
import makers as m
import structures as s
from builder import F16, F32, F64, I32, I64

NEWEST = 24


def entry(maker, since=7, until=NEWEST, weight=1.0, **told):
    return since, until, maker, weight, told


def smooth(low=None, high=None, since=7, types=m.FLOAT, **attributes):
    return entry(m.unary, since, types=types, low=low, high=high, attributes=attributes)


ALPHA = [None, 0.1, 0.5, 1.5]
TABLE = {
    # element by element
    "Abs": smooth(types=m.NUMBER),
    "Acos": smooth(-0.95, 0.95, types=[F32, F64]),
    "Acosh": smooth(1.05, 9, 9, types=[F32, F64]),
    "Asin": smooth(-0.95, 0.95, types=[F32, F64]),
    "Asinh": smooth(since=9, types=[F32, F64]),
    "Atan": smooth(types=[F32, F64]),
    "Atanh": smooth(-0.9, 0.9, 9, types=[F32, F64]),
    "Ceil": smooth(),
    "Celu": smooth(since=12, types=[F32], alpha=[None, 0.5, 2.0]),
    "Cos": smooth(types=[F32, F64]),
    "Cosh": smooth(-8, 8, 9, types=[F32, F64]),
    "Elu": smooth(alpha=ALPHA),
    "Erf": smooth(since=9),
    "Exp": smooth(-20, 6),
    "Floor": smooth(),
    "Gelu": smooth(since=20, approximate=[None, "none", "tanh"]),
    "HardSigmoid": smooth(alpha=[None, 0.1, 1 / 6], beta=[None, 0.4]),
    "HardSwish": smooth(since=14),
    "Identity": entry(m.unary, types=m.ANY),
    "LeakyRelu": smooth(alpha=ALPHA),
    "Log": smooth(0.02, 1e4),
    "Mish": smooth(since=18, types=[F32]),
    "Neg": smooth(types=m.NUMBER),
    "Reciprocal": smooth(0.05, 1e3),
    "Relu": entry(m.unary, weight=2, types=m.FLOAT),
    "Round": smooth(since=11),
    "Selu": smooth(alpha=ALPHA, gamma=[None, 1.2]),
    "Shrink": smooth(since=9, types=[F32], lambd=[None, 0.2], bias=[None, 0.1]),
    "Sigmoid": entry(m.unary, weight=2, types=m.FLOAT),
    "Sign": smooth(since=9, types=m.NUMBER),
    "Sin": smooth(types=[F32, F64]),
    "Sinh": smooth(-8, 8, 9, types=[F32, F64]),
    "Softplus": smooth(-60, 60),
    "Softsign": smooth(),
    "Sqrt": smooth(0.01, 1e4),
    "Swish": smooth(since=24, alpha=[None, 0.5]),
    "Tan": smooth(-1.3, 1.3, types=[F32, F64]),
    "Tanh": entry(m.unary, weight=2, types=m.FLOAT),
    "ThresholdedRelu": smooth(since=10, alpha=ALPHA),
    "IsNaN": entry(l.isinf, 9),
    "IsInf": entry(l.isinf, 10),
    # two and more operands
    "Add": entry(m.binary, weight=4),
    "Sub": entry(m.binary, weight=2),
    "Mul": entry(m.binary, weight=4),
    "Div": entry(m.binary, weight=2, low=0.3, high=3.0),
    "Pow": entry(m.binary, low=0.4, high=2.0, types=m.FLOAT),
    "PRelu": entry(l.prelu),
    "Mod": entry(m.remainder, 10),
    "Max": entry(m.several),
    "Min": entry(m.several),
    "Mean": entry(m.several, 8),
    "Sum": entry(m.several, 8),
    "Where": entry(m.where, 9),
    "Clip": entry(m.clip, weight=2),
    "Cast": entry(m.cast, weight=2),
    "CastLike": entry(m.cast, 15),
    "Dropout": entry(m.dropout),
    "Equal": entry(m.compared),
    "Greater": entry(m.compared),
    "GreaterOrEqual": entry(m.compared, 12),
    "Less": entry(m.compared),
    "LessOrEqual": entry(m.compared, 12),
    "And": entry(m.logical),
    "Or": entry(m.logical),
    "Xor": entry(m.logical),
    "Not": entry(m.logical),
    "BitShift": entry(m.shift, 11),
    "BitwiseAnd": entry(m.bits, 18),
    "BitwiseOr": entry(m.bits, 18),
    "BitwiseXor": entry(m.bits, 18),
    "BitwiseNot": entry(m.bits, 18),
    # along axes
    "ReduceMean": entry(m.reduce, weight=2),
    "ReduceMax": entry(m.reduce),
    "ReduceMin": entry(m.reduce),
    "ReduceProd": entry(m.reduce),
    "ReduceL1": entry(m.reduce),
    "ReduceL2": entry(m.reduce),
    "ReduceLogSum": entry(m.reduce, low=0.05),
    "ReduceLogSumExp": entry(m.reduce),
    "ReduceSumSquare": entry(m.reduce),
    "ReduceSum": entry(m.reduce, weight=2, input_since=13, types=m.NUMBER),
    "Softmax": entry(m.along, weight=2),
    "LogSoftmax": entry(m.along),
    "Hardmax": entry(m.along, types=[F32, F64]),
    "LpNormalization": entry(l.lp_norm),
    "ArgMax": entry(m.place),
    "ArgMin": entry(m.place),
    "CumSum": entry(m.running, 11),
    "TopK": entry(m.top),
    "OneHot": entry(m.one_hot, 9),
    # moving elements
    "Transpose": entry(m.transpose, weight=3),
    "Reshape": entry(m.reshape, weight=3),
    "Flatten": entry(m.flatten),
    "Squeeze": entry(m.squeeze),
    "Unsqueeze": entry(m.unsqueeze),
    "Concat": entry(m.concat, weight=2),
    "Split": entry(m.split, weight=2),
    "Slice": entry(m.slices, weight=2),
    "Pad": entry(m.pad),
    "Expand": entry(m.expand, 8),
    "Tile": entry(m.tile),
    "Gather": entry(m.gather, weight=2),
    "GatherElements": entry(m.gather_elements, 11),
    "GatherND": entry(m.gather_nd, 11),
    "Scatter": entry(m.scatter_elements, 9, 10),
    "ScatterElements": entry(m.scatter_elements, 11),
    "ScatterND": entry(m.scatter_nd, 11),
    "TensorScatter": entry(l.tensor_scatter, 24),
    "Trilu": entry(m.trilu, 14),
    "ReverseSequence": entry(m.reverse, 10),
    "Compress": entry(m.compress, 11),
    "DepthToSpace": entry(m.depth),
    "SpaceToDepth": entry(m.depth),
    "Shape": entry(m.shape),
    "Size": entry(m.shape),
    "ConstantOfShape": entry(m.filled, 9),
    "Range": entry(m.ranged, 11),
    "EyeLike": entry(m.eye, 9),
    "NonZero": entry(l.nonzero, 9),
    "Unique": entry(l.unique, 11),
    "CenterCropPad": entry(l.crop_pad, 18),
    # weights and windows
    "MatMul": entry(l.matmul, weight=4),
    "Gemm": entry(l.gemm, weight=2),
    "Einsum": entry(l.einsum, 12),
    "Conv": entry(l.conv, weight=4),
    "ConvTranspose": entry(l.conv_transpose),
    "AveragePool": entry(l.pool, weight=2),
    "MaxPool": entry(l.pool, weight=2),
    "LpPool": entry(l.pool),
    "GlobalAveragePool": entry(l.over_image),
    "GlobalMaxPool": entry(l.over_image),
    "BatchNormalization": entry(l.batch_norm, weight=3),
    "InstanceNormalization": entry(l.instance_norm),
    "LayerNormalization": entry(l.layer_norm, 17),
    "GroupNormalization": entry(l.group_norm, 21),
    "RMSNormalization": entry(l.layer_norm, 23),
    "MeanVarianceNormalization": entry(l.mean_variance, 9),
    "LRN": entry(l.lrn),
    "Resize": entry(l.resize, 10),
    "Upsample": entry(l.resize, 7, 9),
    "GridSample": entry(l.grid_sample, 16),
    "AffineGrid": entry(l.affine_grid, 20),
    "Col2Im": entry(l.col2im, 18),
    "RoiAlign": entry(l.roi_align, 10),
    "NonMaxSuppression": entry(l.suppression, 10),
    # integers
    "QuantizeLinear": entry(l.quantize, 10),
    "DequantizeLinear": entry(l.dequantize, 10),
    "DynamicQuantizeLinear": entry(l.dynamic, 11),
    "MatMulInteger": entry(l.matmul_integer, 10),
    "ConvInteger": entry(l.conv_integer, 10),
    "QLinearMatMul": entry(l.quantized, 10),
    "QLinearConv": entry(l.quantized, 10),
    # recurrence, attention, losses, signals, chance
    "RNN": entry(l.recurrent),
    "GRU": entry(l.recurrent),
    "LSTM": entry(l.recurrent),
    "Attention": entry(l.attention, 23),
    "RotaryEmbedding": entry(l.rotary, 23),
    "NegativeLogLikelihoodLoss": entry(l.loss, 12),
    "SoftmaxCrossEntropyLoss": entry(l.loss, 12),
    "DFT": entry(l.dft, 17),
    "HannWindow": entry(l.windowed, 17),
    "HammingWindow": entry(l.windowed, 17),
    "BlackmanWindow": entry(l.windowed, 17),
    "Bernoulli": entry(l.drawn_numbers, 15),
    "RandomNormal": entry(l.drawn_numbers),
    "RandomUniform": entry(l.drawn_numbers),
    "RandomNormalLike": entry(l.drawn_numbers),
    "RandomUniformLike": entry(l.drawn_numbers),
    # bodies
    "If": entry(s.branch, 11),
    "Loop": entry(s.loop, 11),
    "Function": entry(s.call, 11),
}


def possible(opset):
    """The operators that exist at an opset, with their weights."""
    return {
        name: weight
        for name, (since, until, _, weight, _) in TABLE.items()
        if since <= opset <= until
    }


def make(builder, name):
    """Adds a random node of this operator. Raises Reject if it is not valid."""
    _, _, maker, _, told = TABLE[name]
    return maker(builder, name, **told)
