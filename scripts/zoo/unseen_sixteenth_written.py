"""Models of the sixteenth set of test/bench/UNSEEN.md that no exporter wrote: in ONNX's own text,
with functions, a Scan, windows of sound and their spectra. Usage: unseen_sixteenth_written.py
FOLDER [NAME..]"""

import sys
import numpy, onnx
from onnx import numpy_helper, parser
from unseen_seventh_keras import MODELS, main


def with_weights(text, shapes, path):
    model, draw = parser.parse_model(text), numpy.random.default_rng(1)
    for name, shape in shapes.items():
        scale = 0.7 / (shape[-2] if len(shape) > 1 else 25) ** 0.5
        value = draw.normal(size=shape).astype("float32") * numpy.float32(scale)
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def functions(path):
    """Blocks of a decoder as functions of the model: a norm by root mean squares, a gated product,
    attention without a mask."""
    c, inner, layers = 384, 1024, 3
    lines, shapes, last = [], {}, "x"
    for k in range(layers):
        shapes |= {f"g{k}": (c,), f"h{k}": (c,), f"q{k}": (c, 3 * c), f"o{k}": (c, c)}
        shapes |= {f"a{k}": (c, inner), f"b{k}": (c, inner), f"d{k}": (inner, c)}
        lines += [
            f"n{k} = own.Norm <eps = 1e-5> ({last}, g{k})",
            f"l{k} = own.Attention <heads = 6, inner = 64> (n{k}, q{k}, o{k})",
            f"r{k} = Add ({last}, l{k})",
            f"m{k} = own.Norm <eps = 1e-6> (r{k}, h{k})",
            f"f{k} = own.Gated (m{k}, a{k}, b{k}, d{k})",
            f"x{k} = Add (r{k}, f{k})",
        ]
        last = f"x{k}"
    with_weights(
        f"""
<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
written (float[batch, seq, {c}] x) => (float[batch, seq, {c}] y) {{
  {chr(10).join(lines)}
  y = Identity ({last})
}}
<opset_import: ["" : 18], domain: "own">
Norm <eps: float> (x, g) => (y) {{
  two = Constant <value = float {{2.0}}> ()
  least = Constant <value_float: float = @eps> ()
  last = Constant <value = int64[1] {{-1}}> ()
  square = Pow (x, two)
  mean = ReduceMean <keepdims = 1> (square, last)
  more = Add (mean, least)
  root = Sqrt (more)
  part = Div (x, root)
  y = Mul (part, g)
}}
<opset_import: ["" : 18], domain: "own">
Gated (x, a, b, d) => (y) {{
  u = MatMul (x, a)
  s = Sigmoid (u)
  w = Mul (u, s)
  v = MatMul (x, b)
  both = Mul (w, v)
  y = MatMul (both, d)
}}
<opset_import: ["" : 18], domain: "own">
Attention <heads: int, inner: int> (x, w, o) => (y) {{
  all = MatMul (x, w)
  three = Constant <value = int64[1] {{3}}> ()
  none = Constant <value = int64[1] {{0}}> ()
  rest = Constant <value = int64[1] {{-1}}> ()
  h = Constant <value_int: int = @heads> ()
  i = Constant <value_int: int = @inner> ()
  one = Constant <value = int64[1] {{1}}> ()
  h1 = Reshape (h, one)
  i1 = Reshape (i, one)
  size = Concat <axis = 0> (none, none, three, h1, i1)
  cut = Reshape (all, size)
  turned = Transpose <perm = [2, 0, 3, 1, 4]> (cut)
  a, b, d = Split <axis = 0, num_outputs = 3> (turned)
  q = Squeeze (a, none)
  k = Squeeze (b, none)
  v = Squeeze (d, none)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  score = MatMul (q, kt)
  width = CastLike (i, x)
  root = Sqrt (width)
  scaled = Div (score, root)
  p = Softmax <axis = -1> (scaled)
  z = MatMul (p, v)
  back = Transpose <perm = [0, 2, 1, 3]> (z)
  flat = Concat <axis = 0> (none, none, rest)
  joined = Reshape (back, flat)
  y = MatMul (joined, o)
}}
""",
        shapes,
        path,
    )


def scan(path):
    """A minimal gated unit as the body of a Scan, forwards and backwards over the same words."""
    c = 128
    body = lambda p: f"""{{
    n{p} = LayerNormalization <axis = -1> (s{p}, scale, bias)
    xf{p} = MatMul (t{p}, wf)
    hf{p} = MatMul (n{p}, uf)
    f1{p} = Add (xf{p}, hf{p})
    f2{p} = Add (f1{p}, bias)
    f{p} = Sigmoid (f2{p})
    kept{p} = Mul (f{p}, n{p})
    xh{p} = MatMul (t{p}, wh)
    hh{p} = MatMul (kept{p}, uh)
    c1{p} = Add (xh{p}, hh{p})
    c{p} = Tanh (c1{p})
    away{p} = Sub (c{p}, s{p})
    step{p} = Mul (f{p}, away{p})
    next{p} = Add (s{p}, step{p})
    told{p} = Identity (next{p})
  }}"""
    state = f"float[batch, {c}]"
    one = lambda p, back: f"""
  end{p}, all{p} = Scan <num_scan_inputs = 1, scan_input_directions = [{back}],
    scan_output_directions = [{back}],
    body = step{p} ({state} s{p}, {state} t{p}) => ({state} next{p}, {state} told{p}) {body(p)}>
    (zero, rows)"""
    with_weights(
        f"""
<ir_version: 8, opset_import: ["" : 17]>
written (int64[seq, batch] ids) => (float[seq, batch, 20] y) {{
  rows = Gather <axis = 0> (table, ids)
  first = Constant <value = int64 {{0}}> ()
  row = Gather <axis = 0> (rows, first)
  zero = Sub (row, row)
  {one("a", 0)}
  {one("b", 1)}
  both = Concat <axis = -1> (alla, allb)
  z = MatMul (both, out)
  y = LogSoftmax <axis = -1> (z)
}}
""",
        {
            "table": (2000, c),
            "wf": (c, c),
            "uf": (c, c),
            "wh": (c, c),
            "uh": (c, c),
            "scale": (c,),
            "bias": (c,),
            "out": (2 * c, 20),
        },
        path,
    )


def sound(path):
    """The input of a speech recognizer: windows of sound, their spectra, bands, their logarithms,
    normalized cosine transforms of these, then a small network."""
    with_weights(
        """
<ir_version: 8, opset_import: ["" : 18]>
written (float[batch, samples] x) => (float[batch, 35] y) {
  size = Constant <value = int64 {512}> ()
  step = Constant <value = int64 {160}> ()
  bands = Constant <value = int64 {64}> ()
  rate = Constant <value = int64 {16000}> ()
  low = Constant <value = float {20.0}> ()
  high = Constant <value = float {8000.0}> ()
  last = Constant <value = int64[1] {-1}> ()
  middle = Constant <value = int64[1] {1}> ()
  least = Constant <value = float {1e-6}> ()
  window = HannWindow <periodic = 1> (size)
  column = Unsqueeze (x, last)
  parts = STFT <onesided = 1> (column, step, window)
  power = ReduceSumSquare <keepdims = 0> (parts, last)
  mel = MelWeightMatrix (bands, size, rate, low, high)
  heard = MatMul (power, mel)
  more = Add (heard, least)
  loud = Log (more)
  cosines = MatMul (loud, dct)
  mean = ReduceMean (cosines, middle)
  away = Sub (cosines, mean)
  square = ReduceSumSquare (away, middle)
  size1 = Add (square, least)
  root = Sqrt (size1)
  alike = Div (away, root)
  turned = Transpose <perm = [0, 2, 1]> (alike)
  a = Conv <kernel_shape = [5], pads = [2, 2], strides = [2]> (turned, w1, b1)
  b = Relu (a)
  d = Conv <kernel_shape = [3], pads = [1, 1], group = 8> (b, w2, b2)
  e = HardSwish (d)
  f = GlobalAveragePool (e)
  g = Squeeze (f, last)
  y = Gemm (g, w3, b3)
}
""",
        {
            "dct": (64, 40),
            "w1": (128, 40, 5),
            "b1": (128,),
            "w2": (128, 16, 3),
            "b2": (128,),
            "w3": (128, 35),
            "b3": (35,),
        },
        path,
    )


MODELS.clear()
MODELS |= {"written_functions": functions, "written_scan": scan, "written_sound": sound}

if __name__ == "__main__":
    main(*sys.argv[1:])
