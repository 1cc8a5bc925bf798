"""The seventeenth set of models of test/bench/UNSEEN.md: architectures of transformers, and six
small networks written after their papers: image restoration, a video, speech, speaker recognition,
tabular data and a graph."""

from zoo import SOURCES, Called, Step, image, model, nn, torch, transformer
from unseen_sixteenth_rest import rows

SOURCES.append(__file__)
F = nn.functional


# ---- transformers
@model("lw_detr_t", image(256), unordered=True)
def boxes():
    import transformers

    body = transformers.LwDetrViTConfig(
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=12,
        window_block_indices=[0, 2],
        out_indices=[2, 4],
    )
    settings = transformers.LwDetrConfig(
        backbone_config=body,
        decoder_layers=2,
        decoder_ffn_dim=1024,
        num_queries=100,
        group_detr=1,
        projector_scale_factors=[1.0],
        use_pretrained_backbone=False,
    )
    return Called(transformers.LwDetrForObjectDetection(settings), ["pixel_values"], "logits")


model("eomt_s", image(224), script=True, opset=17)(
    transformer(
        "EomtForUniversalSegmentation",
        "EomtConfig",
        "pixel_values",
        "masks_queries_logits",
        hidden_size=384,
        num_hidden_layers=5,
        num_attention_heads=6,
        image_size=224,
        num_blocks=2,
        num_queries=50,
    )
)
model("efficient_loftr", {"x": ((1, 2, 3, 128, 160), None)}, unordered=True)(
    transformer(
        "EfficientLoFTRForKeypointMatching",
        "EfficientLoFTRConfig",
        "pixel_values",
        "matching_scores",
        stage_num_blocks=[1, 2, 3, 4],
        num_attention_layers=2,
    )
)
PAGE = {"ids": (("batch=1", "seq=64"), 2000), "box": (("batch=1", "seq=64", 8), None)}
model("bros_3", PAGE | {"mask": (("batch=1", "seq=64"), 2)}, script=True, opset=17)(
    transformer(
        "BrosModel",
        "BrosConfig",
        "input_ids bbox attention_mask",
        call=("eager",),
        vocab_size=2000,
        num_hidden_layers=3,
    )
)
CACHE = ((1, 4, "past=160", 64), None)


@model(
    "apertus_step",
    {"ids": ((1, 1), 6000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def apertus():
    import transformers

    settings = transformers.ApertusConfig(
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=6000,
    )
    return Step(transformers.ApertusForCausalLM(settings), "logits")


model("olmoe_2", {"ids": ((1, 32), 2000)}, opset=18)(
    transformer(
        "OlmoeForCausalLM",
        "OlmoeConfig",
        "input_ids",
        "logits",
        call=("uncached",),
        vocab_size=2000,
        hidden_size=512,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_experts=16,
        num_experts_per_tok=4,
        experts_implementation="batched_mm",
    )
)


# ---- image restoration
class Safmn(nn.Module):
    """SAFMN: super-resolution by a factor of 2; channels in four parts, each at its own resolution,
    modulate all of them."""

    class Spread(nn.Module):
        def __init__(self, c, levels=4):
            super().__init__()
            part = c // levels
            self.each = nn.ModuleList(
                nn.Conv2d(part, part, 3, 1, 1, groups=part) for _ in range(levels)
            )
            self.join, self.levels = nn.Conv2d(c, c, 1), levels

        def forward(self, x):
            size, out = x.shape[-2:], []
            for k, (each, part) in enumerate(zip(self.each, x.chunk(self.levels, 1))):
                y = each(F.max_pool2d(part, 2**k) if k else part)
                out.append(F.interpolate(y, size=size, mode="nearest") if k else y)
            return F.gelu(self.join(torch.cat(out, 1))) * x

    class Norm(nn.Module):
        """A norm over the channels of each pixel, channels first."""

        def __init__(self, c):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

        def forward(self, x):
            u = x.mean(1, keepdim=True)
            s = (x - u).pow(2).mean(1, keepdim=True)
            return self.w[:, None, None] * (x - u) / (s + 1e-6).sqrt() + self.b[:, None, None]

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.spread = Safmn.Norm(c), Safmn.Norm(c), Safmn.Spread(c)
            self.mix = nn.Sequential(
                nn.Conv2d(c, 2 * c, 3, 1, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1)
            )

        def forward(self, x):
            x = self.spread(self.a(x)) + x
            return self.mix(self.b(x)) + x

    def __init__(self, c=36, blocks=4):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.blocks = nn.Sequential(*(self.Block(c) for _ in range(blocks)))
        self.end = nn.Sequential(nn.Conv2d(c, 12, 3, 1, 1), nn.PixelShuffle(2))

    def forward(self, x):
        y = self.first(x)
        return self.end(self.blocks(y) + y)


# ---- a video
class UniFormer(nn.Module):
    """UniFormer: video classification: first convolutions over neighbouring voxels, then attention
    over all of them; positions from a convolution."""

    class Local(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.place = nn.Conv3d(c, c, 3, 1, 1, groups=c)
            self.a, self.b = nn.BatchNorm3d(c), nn.BatchNorm3d(c)
            self.near = nn.Sequential(
                nn.Conv3d(c, c, 1), nn.Conv3d(c, c, 5, 1, 2, groups=c), nn.Conv3d(c, c, 1)
            )
            self.mix = nn.Sequential(nn.Conv3d(c, 4 * c, 1), nn.GELU(), nn.Conv3d(4 * c, c, 1))

        def forward(self, x):
            x = x + self.place(x)
            x = x + self.near(self.a(x))
            return x + self.mix(self.b(x))

    class Far(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.place, self.heads = nn.Conv3d(c, c, 3, 1, 1, groups=c), heads
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.mix = rows(c, 4 * c, c, act=nn.GELU)

        def forward(self, x):
            x = x + self.place(x)
            n, c, t, h, w = x.shape
            x = x.flatten(2).transpose(1, 2)
            q, k, v = (
                self.qkv(self.a(x))
                .reshape(n, -1, 3, self.heads, c // self.heads)
                .permute(2, 0, 3, 1, 4)
            )
            y = ((q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
            x = x + self.out(y.transpose(1, 2).reshape(n, -1, c))
            x = x + self.mix(self.b(x))
            return x.transpose(1, 2).reshape(n, c, t, h, w)

    def __init__(self, c=48, kinds=60):
        super().__init__()
        self.first = nn.Conv3d(3, c, (3, 4, 4), (2, 4, 4), (1, 0, 0))
        down = lambda i, o: nn.Conv3d(i, o, (1, 2, 2), (1, 2, 2))
        self.body = nn.Sequential(
            nn.BatchNorm3d(c),
            self.Local(c),
            self.Local(c),
            down(c, 2 * c),
            nn.BatchNorm3d(2 * c),
            self.Local(2 * c),
            down(2 * c, 4 * c),
            self.Far(4 * c, 4),
            self.Far(4 * c, 4),
            nn.BatchNorm3d(4 * c),
        )
        self.end = nn.Linear(4 * c, kinds)

    def forward(self, x):
        return self.end(self.body(self.first(x)).flatten(2).mean(-1))


# ---- speech
class Squeezeformer(nn.Module):
    """Squeezeformer: speech recognition: half the frames in the middle, which are repeated and
    added to those before; relative positions by shifted rows of scores."""

    class Attention(nn.Module):
        def __init__(self, c, heads=4):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(c, c) for _ in "qkvo")
            self.far, self.heads = nn.Linear(c, c, bias=False), heads
            draw = lambda: nn.Parameter(0.1 * torch.randn(heads, c // heads))
            self.u, self.w = draw(), draw()

        def forward(self, x):
            n, t, c = x.shape
            split = lambda y: y.reshape(y.shape[0], -1, self.heads, c // self.heads)
            q, k, v = (split(m(x)) for m in (self.q, self.k, self.v))
            p = split(self.far(waves(t, c)))
            score = (q + self.u).transpose(1, 2) @ k.permute(0, 2, 3, 1)
            away = (q + self.w).transpose(1, 2) @ p.permute(0, 2, 3, 1)
            away = F.pad(away, (1, 0)).reshape(n, self.heads, -1, t)[:, :, 1:]
            away = away.reshape(n, self.heads, t, -1)[..., :t]
            y = ((score + away) / (c // self.heads) ** 0.5).softmax(-1) @ v.transpose(1, 2)
            return self.out(y.transpose(1, 2).reshape(n, t, c))

    class Conv(nn.Module):
        def __init__(self, c, size=15):
            super().__init__()
            self.a, self.b = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 1)
            self.near, self.norm = (
                nn.Conv1d(c, c, size, 1, size // 2, groups=c),
                nn.BatchNorm1d(c),
            )

        def forward(self, x):
            y = F.glu(self.a(x.transpose(1, 2)), 1)
            return self.b(F.silu(self.norm(self.near(y)))).transpose(1, 2)

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            make = Squeezeformer
            mix = lambda: rows(c, 4 * c, c, act=nn.SiLU)
            self.parts = nn.ModuleList((make.Attention(c), mix(), make.Conv(c), mix()))
            self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in self.parts)
            draw = lambda: nn.ParameterList(nn.Parameter(torch.rand(c)) for _ in self.parts)
            self.scales, self.shifts = draw(), draw()

        def forward(self, x):
            each = zip(self.parts, self.norms, self.scales, self.shifts)
            for part, norm, scale, shift in each:
                x = norm(x + part(x * scale + shift))
            return x

    def __init__(self, c=144, words=128):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(1, c, 3, 2),
            nn.ReLU(),
            nn.Conv2d(c, c, 3, 2, groups=c),
            nn.Conv2d(c, c, 1),
            nn.ReLU(),
        )
        self.enter, self.end = nn.Linear(19 * c, c), nn.Linear(c, words)
        self.a, self.b, self.d = (
            nn.Sequential(*(self.Block(c) for _ in range(k))) for k in (1, 2, 1)
        )
        self.fewer = nn.Sequential(nn.Conv1d(c, c, 5, 2, 2, groups=c), nn.Conv1d(c, c, 1))
        self.again = nn.Linear(c, c)

    def forward(self, x):
        y = self.first(x[:, None]).transpose(1, 2).flatten(2)
        y = kept = self.a(self.enter(y))
        y = self.b(self.fewer(y.transpose(1, 2)).transpose(1, 2))
        y = self.again(y.repeat_interleave(2, 1)[:, : kept.shape[1]])
        return self.end(self.d(y + kept)).log_softmax(-1)


def waves(t, c):
    """Sines and cosines of the distances t-1 .. 1-t."""
    away = torch.arange(t - 1, -t, -1.0)[:, None]
    angle = away * torch.exp(torch.arange(0, c, 2.0) * (-9.21 / c))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[None]


class TitaNet(nn.Module):
    """TitaNet: speaker recognition: depthwise convolutions, channels weighed by their means, and
    the mean and deviation of frames weighed by attention."""

    class Block(nn.Module):
        def __init__(self, i, o, size, repeat=1, side=True):
            super().__init__()
            parts, at = [], i
            for k in range(repeat):
                parts += [
                    nn.Conv1d(at, at, size, 1, size // 2, groups=at, bias=False),
                    nn.Conv1d(at, o, 1, bias=False),
                    nn.BatchNorm1d(o),
                ]
                parts += [nn.ReLU()] if k < repeat - 1 else []
                at = o
            self.body, self.weigh = nn.Sequential(*parts), rows(o, o // 8, o)
            self.side = (
                nn.Sequential(nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o)) if side else None
            )

        def forward(self, x):
            y = self.body(x)
            y = y * self.weigh(y.mean(-1)).sigmoid()[..., None]
            return (y + self.side(x) if self.side else y).relu()

    def __init__(self, c=256, out=192):
        super().__init__()
        block = self.Block
        self.body = nn.Sequential(
            block(80, c, 3, side=False),
            block(c, c, 7, 3),
            block(c, c, 11, 3),
            block(c, c, 15, 3),
            block(c, 2 * c, 1, side=False),
        )
        self.weigh = nn.Sequential(
            nn.Conv1d(6 * c, 128, 1),
            nn.ReLU(),
            nn.BatchNorm1d(128),
            nn.Tanh(),
            nn.Conv1d(128, 2 * c, 1),
        )
        self.end = nn.Sequential(nn.BatchNorm1d(4 * c), nn.Linear(4 * c, out))

    def forward(self, x):
        x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
        y = self.body(x)
        mean = y.mean(-1, keepdim=True)
        far = (y - mean).square().mean(-1, keepdim=True).clamp(min=1e-9).sqrt()
        a = self.weigh(torch.cat((y, mean.expand_as(y), far.expand_as(y)), 1)).softmax(-1)
        mean = (a * y).sum(-1)
        far = ((a * y.square()).sum(-1) - mean.square()).clamp(min=1e-9).sqrt()
        return F.normalize(self.end(torch.cat((mean, far), 1)), dim=-1)


# ---- tabular data, a graph
class TabM(nn.Module):
    """TabM: 32 networks that share their matrices and have their own scales of inputs and outputs;
    piecewise linear encoding of numbers, the mean of their answers."""

    class Line(nn.Module):
        def __init__(self, i, o, many):
            super().__init__()
            self.w = nn.Parameter(torch.randn(i, o) / i**0.5)
            self.r, self.s = nn.Parameter(torch.randn(many, i)), nn.Parameter(torch.randn(many, o))
            self.b = nn.Parameter(torch.zeros(many, o))

        def forward(self, x):
            return (x * self.r) @ self.w * self.s + self.b

    def __init__(self, columns=24, bins=8, kinds=3, c=256, many=32):
        super().__init__()
        edges = torch.linspace(-2, 2, bins + 1)
        self.register_buffer("low", edges[:-1])
        self.register_buffer("wide", edges[1:] - edges[:-1])
        self.w = nn.Parameter(torch.randn(columns, bins, 16) / bins**0.5)
        self.b, self.many = nn.Parameter(torch.zeros(columns, 16)), many
        self.words = nn.ModuleList(nn.Embedding(20, 8) for _ in range(4))
        sizes = (columns * 16 + 32, c, c, c)
        self.lines = nn.ModuleList(self.Line(i, o, many) for i, o in zip(sizes, sizes[1:]))
        self.end = nn.Parameter(torch.randn(many, c, kinds) / c**0.5)

    def forward(self, x, kinds):
        piece = ((x[..., None] - self.low) / self.wide).clamp(0, 1)
        y = (torch.einsum("nfb,fbd->nfd", piece, self.w) + self.b).relu().flatten(1)
        y = torch.cat([y] + [w(kinds[:, k]) for k, w in enumerate(self.words)], -1)
        y = y[:, None].expand(-1, self.many, -1)
        for line in self.lines:
            y = line(y).relu()
        return torch.einsum("nkc,kco->nko", y, self.end).softmax(-1).mean(1)


class GraphGps(nn.Module):
    """GraphGPS: messages along edges and attention between all nodes, summed; positions of nodes by
    the return probabilities of a random walk."""

    class Layer(nn.Module):
        def __init__(self, c, heads=4):
            super().__init__()
            self.edge, self.heads = rows(3 * c, c, c), heads
            self.gate, self.own = nn.Linear(c, c), nn.Linear(c, c)
            self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.a, self.b, self.d = (nn.BatchNorm1d(c) for _ in "abd")
            self.mix = rows(c, 2 * c, c)

        def forward(self, x, e, source, target):
            m = self.edge(torch.cat((x[source], x[target], e), -1))
            gate = self.gate(m).sigmoid()
            zero = torch.zeros_like(x)
            total = zero.index_add(0, target, gate * self.own(x)[source])
            local = self.a(x + total / (zero.index_add(0, target, gate) + 1e-6))
            n, c = x.shape
            q, k, v = self.qkv(x).reshape(n, 3, self.heads, -1).permute(1, 2, 0, 3)
            y = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
            y = local + self.b(x + self.out(y.transpose(0, 1).reshape(n, c)))
            return self.d(y + self.mix(y)), e + m.relu()

    def __init__(self, c=96, layers=4):
        super().__init__()
        self.enter, self.place, self.edge = (nn.Linear(i, c) for i in (28, 16, 4))
        self.layers = nn.ModuleList(self.Layer(c) for _ in range(layers))
        self.end = rows(c, c, 1)

    def forward(self, x, walk, e, source, target):
        x, e = self.enter(x) + self.place(walk), self.edge(e)
        for layer in self.layers:
            x, e = layer(x, e, source, target)
        return self.end(x.mean(0))


model("safmn_x2", {"x": ((1, 3, "high=64", "wide=64"), None)}, script=True, opset=13)(Safmn)
model("uniformer", {"x": ((1, 3, 8, 96, 96), None)}, opset=18)(UniFormer)
model("squeezeformer_2", {"x": (("batch=1", "frames=160", 80), None)}, script=True, opset=17)(
    Squeezeformer
)
model("titanet", {"x": (("batch=1", 80, "frames=200"), None)}, script=True, opset=14)(TitaNet)
model("tabm", {"x": (("rows=64", 24), None), "kinds": (("rows=64", 4), 20)}, opset=19)(TabM)
EDGES = {"source": (("edges=800",), 200), "target": (("edges=800",), 200)}
model(
    "graph_gps",
    {"x": ((200, 28), None), "walk": ((200, 16), None), "e": (("edges=800", 4), None), **EDGES},
    opset=18,
)(GraphGps)
