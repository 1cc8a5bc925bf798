"""Random cases for bench_operators.py: single operators with types, sizes, axes and attributes that
nobody chose, each of some thousand to a few million elements. Kernels that are fast only at the
sizes of the other cases show up here."""

import math, random
from bench_operator_case import case

TYPES = ["f32", "f32", "f32", "f32", "f32", "f32", "f16", "f64", "i32", "i64", "u8", "i8"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 31, 32, 33, 48, 64, 80, 96, 100, 128, 192, 197, 256]
LONG = [3, 768, 1000, 2048, 4096]  # sizes of which a shape has one at most
TERMS = [1, 2, 3, 8, 16, 31, 64, 100, 128, 197, 256, 512]  # sizes of a product
CHANNELS = [1, 3, 8, 12, 16, 24, 32, 48, 64, 96, 128]
FEW, MANY = 1 << 14, 1 << 20  # elements of an input


def listed(numbers):
    """The text of a constant list of int64."""
    return f"=i64 1 {numbers[0]}" if len(numbers) == 1 else "=" + ",".join(map(str, numbers))


class Draw:
    """Draws cases. Each method without an underscore draws one of its kind, or returns None if what
    it drew is too small, too large or not possible."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._pick = lambda *of: self._random.choice(of)

    def _shape(self, low, high, few=FEW, many=MANY):
        rank = self._random.randint(low, high)
        if rank == 1:
            return [self._random.randint(few, many)]
        while True:
            sizes = self._random.choices(SIZES, k=rank)
            if self._random.random() < 0.3:
                sizes[self._random.randrange(rank)] = self._random.choice(LONG)
            if few <= math.prod(sizes) <= many:
                return sizes

    def _broadcast(self, sizes):
        """Sizes that broadcast to these: some are 1, and leading ones may be left out."""
        other = [n if self._random.random() < 0.5 else 1 for n in sizes]
        while other and other[0] == 1 and self._random.random() < 0.5:
            other.pop(0)
        return other

    def _axes(self, rank):
        return sorted(self._random.sample(range(rank), self._random.randint(1, rank)))

    def _input(self, kind, sizes, values=""):
        return f"{kind} {','.join(map(str, sizes)) or '-'} {values}".strip()

    def _case(self, op, what, *inputs, **attrs):
        return case("random", f"{op} {what}", op, *inputs, **attrs)

    def transpose(self):
        sizes, kind = self._shape(2, 6), self._pick(*TYPES)
        perm = self._random.sample(range(len(sizes)), len(sizes))
        return self._case(
            "Transpose", f"{kind} {sizes} {perm}", self._input(kind, sizes), perm=perm
        )

    def arithmetic(self):
        a = self._shape(1, 5)
        b, kind = self._broadcast(a), self._pick(*TYPES[:10])
        if self._pick(0, 1):
            a, b = b, a
        op = self._pick("Add", "Mul", "Sub", "Div", "Max", "Min", "Mod", "Less", "Equal")
        attrs = {"fmod": 1} if op == "Mod" and kind[0] == "f" else {}
        inputs = self._input(kind, a, "1..100"), self._input(kind, b, "1..9")
        return self._case(op, f"{kind} {a} {b}", *inputs, **attrs)

    def choice(self):
        sizes, kind = self._shape(1, 5), self._pick(*TYPES)
        parts = [self._broadcast(sizes), sizes, self._broadcast(sizes)]
        self._random.shuffle(parts)
        inputs = [self._input(k, s) for k, s in zip(["bool", kind, kind], parts)]
        return self._case("Where", f"{kind} {parts}", *inputs)

    def reduction(self):
        sizes, kind = self._shape(2, 5), self._pick("f32", "f32", "f32", "f64", "i32", "f16")
        axes = self._axes(len(sizes))
        op = "Reduce" + self._pick("Sum", "Mean", "Max", "Min", "L2", "Prod", "SumSquare", "L1")
        if kind == "i32" and op in ("ReduceMean", "ReduceL2"):
            return None
        values = self._input(kind, sizes, "0.9..1.1" if kind[0] == "f" else "0..2")
        return self._case(op, f"{kind} {sizes} {axes}", values, listed(axes), opset=18)

    def along_an_axis(self):
        sizes = self._shape(1, 4)
        axis = self._random.randrange(len(sizes))
        op = self._pick("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "CumSum")
        x, what = self._input("f32", sizes), f"{sizes} {axis}"
        if op != "CumSum":
            return self._case(op, what, x, axis=axis)
        return self._case(op, what, x, f"=i64 - {axis}", reverse=self._pick(0, 1))

    def top(self):
        sizes = self._shape(1, 3, many=1 << 17)
        axis = self._random.randrange(len(sizes))
        k = self._random.randint(1, min(sizes[axis], self._pick(1, 5, 50, 300)))
        what = f"{sizes} {axis} {k}"
        x = self._input("f32", sizes)
        return self._case("TopK", what, x, f"=i64 1 {k}", outputs=2, axis=axis)

    def taken(self):
        sizes, kind = self._shape(1, 4), self._pick(*TYPES)
        axis, count = self._random.randrange(len(sizes)), self._pick(1, 3, 7, 16, 50, 128)
        op = self._pick("Gather", "GatherElements")
        index = [*sizes[:axis], count, *sizes[axis + 1 :]] if op != "Gather" else [count]
        if math.prod(sizes) // sizes[axis] * count > 4 * MANY:
            return None
        places = self._input("i64", index, f"0..{sizes[axis] - 1}")
        what = f"{kind} {sizes} {axis} {index}"
        return self._case(op, what, self._input(kind, sizes, "0..9"), places, axis=axis)

    def scattered(self):
        sizes, kind = self._shape(1, 3, many=1 << 18), self._pick("f32", "f32", "i64", "f64")
        axis = self._random.randrange(len(sizes))
        index = [self._random.randint(1, n) for n in sizes]
        how = self._pick("none", "add", "max", "mul")
        inputs = self._input(kind, sizes, "0..2"), self._input(kind, index, "0..2")
        places = self._input("i64", index, f"0..{sizes[axis] - 1}")
        return self._case(
            "ScatterElements",
            f"{kind} {sizes} {axis} {index} {how}",
            inputs[0],
            places,
            inputs[1],
            axis=axis,
            reduction=how,
            opset=18,
        )

    def slice(self):
        sizes, kind = self._shape(1, 5), self._pick(*TYPES)
        starts, ends, steps = [], [], [self._pick(1, 1, 1, 2, 3, -1) for _ in sizes]
        for n, step in zip(sizes, steps):
            starts.append(n - 1 if step < 0 else self._random.randint(0, n // 2))
            ends.append(-n - 1 if step < 0 else self._random.randint(n // 2 + 1, n + 1))
        lists = [listed(v) for v in (starts, ends, list(range(len(sizes))), steps)]
        what = f"{kind} {sizes} {starts} {ends} {steps}"
        return self._case("Slice", what, self._input(kind, sizes, "0..9"), *lists)

    def concatenation(self):
        sizes, kind = self._shape(1, 4, many=1 << 18), self._pick(*TYPES)
        axis, inputs = self._random.randrange(len(sizes)), []
        for _ in range(self._random.randint(2, 5)):
            part = [*sizes[:axis], self._random.randint(1, sizes[axis]), *sizes[axis + 1 :]]
            inputs.append(self._input(kind, part, "0..9"))
        return self._case("Concat", f"{axis} {inputs}", *inputs, axis=axis)

    def padding(self):
        sizes, kind = self._shape(1, 4, many=1 << 18), self._pick("f32", "f32", "i64", "f64", "u8")
        mode = self._pick("constant", "constant", "reflect", "edge", "wrap")
        pads = [self._pick(0, 0, 1, 2, 5) for _ in 2 * sizes]
        if mode != "constant":
            pads = [min(p, n - 1) for p, n in zip(pads, 2 * sizes)]
        x = self._input(kind, sizes, "0..9")
        return self._case("Pad", f"{mode} {kind} {sizes} {pads}", x, listed(pads), mode=mode)

    def repetition(self):
        sizes, kind = self._shape(1, 4, few=1 << 10, many=1 << 16), self._pick(*TYPES)
        if self._pick(0, 1):
            repeats = [self._pick(1, 1, 2, 3, 4) for _ in sizes]
            x = self._input(kind, sizes, "0..9")
            return self._case("Tile", f"{kind} {sizes} {repeats}", x, listed(repeats))
        small = [n if self._pick(0, 1) else 1 for n in sizes]
        x = self._input(kind, small, "0..9")
        return self._case("Expand", f"{kind} {small} {sizes}", x, listed(sizes))

    def product(self):
        m, k, n = self._random.choices(TERMS, k=3)
        batch = [self._pick(1, 2, 3, 8, 12) for _ in range(self._random.randint(0, 2))]
        if not FEW <= m * k * n * math.prod(batch) <= 1 << 27:
            return None
        a, b = batch + [m, k], (batch if self._pick(0, 1) else []) + [k, n]
        kind, known = self._pick("f32", "f32", "f32", "f32", "f64", "i32"), self._pick("=", "")
        inputs = self._input(kind, a, "-5..5"), known + self._input(kind, b, "-5..5")
        return self._case("MatMul", f"{kind} {a} {known}{b}", *inputs)

    def einsum(self):
        sizes = {c: self._pick(2, 3, 5, 8, 16, 24, 32, 64) for c in "abcde"[: self._pick(3, 4, 5)]}
        some = lambda of, share: "".join(c for c in of if self._random.random() < share)
        mixed = lambda text: "".join(self._random.sample(text, len(text)))
        a, b = some(sizes, 0.7), some(sizes, 0.7)
        y = mixed(some(sorted({*a, *b}), 0.6))
        a, b = mixed(a), mixed(b)
        if not a or not b or not FEW <= math.prod(sizes[c] for c in {*a, *b}) <= 1 << 25:
            return None
        inputs = [self._input("f32", [sizes[c] for c in text]) for text in (a, b)]
        equation = f"{a},{b}->{y}"
        return self._case("Einsum", f"{equation} {sizes}", *inputs, equation=equation)

    def _windows(self, sizes):
        """Attributes of windows that fit into an image, or None."""
        kernel = [self._pick(1, 2, 3, 3, 5, 7) for _ in sizes]
        dilations = [self._pick(1, 1, 1, 2) for _ in sizes]
        if any((k - 1) * d >= n for k, d, n in zip(kernel, dilations, sizes)):
            return None
        pads = [self._random.randint(0, k // 2) for k in kernel]
        strides = [self._pick(1, 1, 2, 3) for _ in sizes]
        return dict(kernel_shape=kernel, dilations=dilations, strides=strides, pads=pads + pads)

    def _image(self):
        """Batch and spatial sizes."""
        n = self._pick(1, 2, 2, 2, 3)
        sizes = [self._pick(7, 8, 13, 14, 20, 28, 32, 40, 56, 64, 100) for _ in range(n)]
        return self._pick(1, 1, 1, 2, 4), sizes if n > 1 else [self._pick(50, 100, 400, 1000)]

    def convolution(self):
        batch, sizes = self._image()
        channels, out = self._random.choice(CHANNELS), self._random.choice(CHANNELS)
        group = self._pick(1, 1, 1, 2, 4, 8, channels)
        if group == channels:
            out = channels * self._pick(1, 1, 2)
        attrs = self._windows(sizes)
        if not attrs or channels % group or out % group:
            return None
        work = math.prod(sizes) * channels * out // group * math.prod(attrs["kernel_shape"]) * batch
        if work > 1 << 28 or math.prod(sizes) * batch * channels > 2 * MANY:
            return None
        op = self._pick("Conv", "Conv", "ConvTranspose")
        first = [out, channels // group] if op == "Conv" else [channels, out // group]
        shape, weights = [batch, channels, *sizes], first + attrs["kernel_shape"]
        inputs = [self._input("f32", shape), "=" + self._input("f32", weights)]
        inputs += ["=" + self._input("f32", [out])] * self._pick(0, 1)
        return self._case(op, f"{shape} {weights} {group} {attrs}", *inputs, group=group, **attrs)

    def pool(self):
        batch, sizes = self._image()
        shape, attrs = [batch, self._random.choice(CHANNELS), *sizes], self._windows(sizes)
        if not attrs or math.prod(shape) > MANY:
            return None
        op = self._pick("MaxPool", "AveragePool")
        return self._case(op, f"{shape} {attrs}", self._input("f32", shape), **attrs)

    def normalization(self):
        sizes = self._shape(3, 5)
        axis, c, x = self._random.randrange(1, len(sizes)), sizes[1], self._input("f32", sizes)
        kind = self._pick("Layer", "RMS", "Batch", "Instance", "Group", "Lp")
        op, what, number = kind + "Normalization", f"{sizes} {axis}", f"=f32 {c} 0.5..2"
        if kind in ("Layer", "RMS"):
            scale = "=" + self._input("f32", sizes[axis:])
            return self._case(op, what, x, scale, axis=axis, opset=23)
        if kind == "Lp":
            return self._case(op, what, x, axis=axis)
        if kind == "Group":
            groups = self._random.choice([g for g in range(1, c + 1) if c % g == 0])
            return self._case(op, f"{sizes} {groups}", x, number, number, num_groups=groups)
        return self._case(op, what, x, *[number] * (4 if kind == "Batch" else 2))

    def resize(self):
        sizes = [self._pick(7, 14, 16, 20, 28, 32, 40) for _ in range(self._pick(1, 2, 2, 3))]
        shape = [self._pick(1, 1, 2), self._pick(1, 3, 16, 32, 64), *sizes]
        scales = [self._pick(0.5, 2.0, 3.0, 4.0) for _ in sizes]
        if math.prod(shape) * math.prod(scales) > 2 * MANY:
            return None
        mode = self._pick("nearest", "linear", "linear", *["cubic"] * (len(sizes) == 2))
        where = self._pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        numbers = ",".join(map(str, [1.0, 1.0, *scales]))
        return self._case(
            "Resize",
            f"{mode} {where} {shape} {scales}",
            self._input("f32", shape),
            "-",
            f"=f32 {len(shape)} {numbers}",
            mode=mode,
            coordinate_transformation_mode=where,
            **({"nearest_mode": "floor"} if mode == "nearest" else {}),
        )

    def element_wise(self):
        op = self._pick("Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Erf", "HardSwish", "Abs")
        sizes, kind = self._shape(1, 4), self._pick("f32", "f32", "f64", "f16")
        kind = "f32" if op == "HardSwish" else kind
        return self._case(op, f"{kind} {sizes}", self._input(kind, sizes, "0.1..3"))

    def recurrent(self):
        op, gates = self._pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
        t, b, n = self._pick(5, 20, 60), self._pick(1, 2, 5, 16), self._pick(10, 40, 64, 128, 300)
        hidden, ways = self._pick(16, 40, 64, 100, 200), self._pick(1, 2)
        weights = [[ways, gates * hidden, n], [ways, gates * hidden, hidden]]
        inputs = [self._input("f32", [t, b, n])]
        inputs += ["=" + self._input("f32", w, "-0.2..0.2") for w in weights]
        direction = "forward" if ways == 1 else "bidirectional"
        attrs = {"hidden_size": hidden, "direction": direction}
        return self._case(op, f"{t} {b} {n} {hidden} {direction}", *inputs, **attrs)

    def bytes(self):
        m, k, n = self._random.choices(TERMS[1:], k=3)
        a, b = self._input("u8", [m, k], "0..255"), self._input("i8", [k, n], "0..100")
        known, zero = self._pick("=", ""), ["=u8 - 128"] * self._pick(0, 1)
        return self._case("MatMulInteger", f"{m} {k} {known}{n}", a, known + b, *zero)

    def quantization(self):
        sizes = self._shape(2, 4)
        axis = self._random.randrange(len(sizes))
        numbers = f"=f32 {sizes[axis]} 0.01..0.1", f"=u8 {sizes[axis]} 1..5"
        op, x = self._pick(("QuantizeLinear", "f32"), ("DequantizeLinear", "u8"))
        return self._case(op, f"{sizes} {axis}", self._input(x, sizes), *numbers, axis=axis)

    def attention(self):
        b, h, d = self._pick(1, 1, 2), self._pick(1, 4, 8, 12), self._pick(16, 32, 40, 64, 80)
        queries, keys = self._pick(1, 17, 64, 128, 197), self._pick(17, 64, 128, 197, 400)
        groups, causal = self._pick(h, h, 1), self._pick(0, 1)
        shapes = [b, h, queries, d], [b, groups, keys, d], [b, groups, keys, d]
        inputs = [self._input("f32", s) for s in shapes]
        return self._case(
            "Attention", f"{shapes[0]} {shapes[1]} {causal}", *inputs, is_causal=causal, opset=23
        )

    def cast(self):
        to = {"f32": 1, "u8": 2, "i8": 3, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11}
        sizes, kinds = self._shape(1, 3), self._random.sample(list(to), 2)
        x = self._input(kinds[0], sizes, "0..100")
        return self._case("Cast", f"{kinds[0]} {kinds[1]} {sizes}", x, to=to[kinds[1]])

    def blocks(self):
        b, c, s = self._pick(1, 2), self._pick(4, 16, 36, 64), self._pick(2, 2, 3, 4)
        h, w = self._pick(7, 16, 32, 60), self._pick(8, 16, 30, 64)
        if self._pick(0, 1):
            shape, mode = [b, c * s * s, h, w], self._pick("DCR", "CRD")
            attrs = {"blocksize": s, "mode": mode}
            return self._case("DepthToSpace", f"{shape} {s}", self._input("f32", shape), **attrs)
        shape = [b, c, h * s, w * s]
        return self._case("SpaceToDepth", f"{shape} {s}", self._input("f32", shape), blocksize=s)

    def grid(self):
        shape = [self._pick(1, 2), self._pick(1, 3, 16, 64), self._pick(8, 64), self._pick(8, 64)]
        places = [shape[0], self._pick(5, 30, 64), self._pick(5, 30, 64), 2]
        mode, edge = self._pick("linear", "nearest", "cubic"), self._pick("zeros", "border")
        inputs = self._input("f32", shape), self._input("f32", places)
        attrs = {"mode": mode, "padding_mode": edge}
        return self._case("GridSample", f"{shape} {places} {mode} {edge}", *inputs, **attrs)


KINDS = [name for name in vars(Draw) if not name.startswith("_")]


def random_cases(count, seed):
    """So many cases, of each kind about equally many; the same for the same seed."""
    draw, cases = Draw(seed), []
    for k in range(count):
        drawn = None
        while not drawn:
            drawn = getattr(draw, KINDS[k % len(KINDS)])()
        cases.append(drawn)
    return cases
