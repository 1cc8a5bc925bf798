"""The eighteenth set of models of test/bench/UNSEEN.md: architectures of transformers and timm, and
six small networks written after their papers: optical flow, point clouds, image restoration, speech
enhancement, click prediction and image segmentation. Four of them are there for
unseen_eighteenth_quantized.py, which writes them in 8 bits."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision
from unseen_sixteenth_rest import conv, rows

SOURCES.append(__file__)
F = nn.functional


# ---- transformers and timm
model("x_clip_vision_3", {"x": ((8, 3, 160, 160), None)}, opset=18)(
    transformer(
        "XCLIPVisionModel",
        "XCLIPVisionConfig",
        "pixel_values",
        image_size=160,
        patch_size=16,
        num_hidden_layers=3,
    )
)


class Entities(nn.Module):
    """LUKE: words and the entities among them, which are given as positions of words."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, ids, mask, entities, places):
        out = self.inner(
            input_ids=ids,
            attention_mask=mask,
            entity_ids=entities,
            entity_position_ids=places,
            entity_attention_mask=torch.ones_like(entities),
        )
        return torch.cat((out.last_hidden_state, out.entity_last_hidden_state), 1)


@model(
    "luke_3",
    tokens(4000) | {"entities": (("batch=1", 8), 500), "places": (("batch=1", 8, 6), 64)},
    opset=20,
)
def luke():
    import transformers

    settings = transformers.LukeConfig(vocab_size=4000, entity_vocab_size=500, num_hidden_layers=3)
    return Entities(transformers.LukeModel(settings))


@model("vibe_voice_decoder", {"x": ((1, 64, 6), None)})
def codec():
    import transformers
    from transformers.models import vibevoice_acoustic_tokenizer as parts

    settings = transformers.VibeVoiceAcousticTokenizerConfig(
        num_filters=16,
        downsampling_ratios=[2, 4, 5, 8],
        depths=[2, 2, 2, 2, 4],
        layer_scale_init_value=0.1,
    ).decoder_config
    net = parts.modeling_vibevoice_acoustic_tokenizer.VibeVoiceAcousticTokenizerDecoderModel
    return Called(net(settings), ["hidden_states"], "audio")


class Connected(nn.Module):
    """IDEFICS 2's connector: the features of an image encoder as 32 tokens for a language model."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, mask):
        return self.inner(x, mask)


@model("idefics2_connector", {"x": ((1, "seen=400", 768), None), "mask": ((1, "seen=400"), 2)})
def connector():
    import transformers
    from transformers.models.idefics2.modeling_idefics2 import Idefics2Connector

    size = {"hidden_size": 768}
    text = transformers.MistralConfig(intermediate_size=2048, **size)
    resampler = transformers.Idefics2PerceiverConfig(
        resampler_n_latents=32, resampler_depth=2, resampler_n_heads=12, resampler_head_dim=64
    )
    settings = transformers.Idefics2Config(
        vision_config=size, text_config=text, perceiver_config=resampler
    )
    return Connected(Idefics2Connector(settings))


CACHE = ((1, 6, "past=200", 128), None)


@model(
    "nanochat_step",
    {"ids": ((1, 1), 6000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def nanochat():
    import transformers

    settings = transformers.NanoChatConfig(
        hidden_size=768, intermediate_size=3072, num_hidden_layers=2, vocab_size=6000
    )
    return Step(transformers.NanoChatForCausalLM(settings), "logits")


model("pvt_tiny", image(), script=True, opset=13)(
    transformer("PvtForImageClassification", "PvtConfig", "pixel_values", "logits")
)


class Series(nn.Module):
    """The time series transformer: a forecast from lags, time features and a mask of what was
    observed."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, past, times, seen, future, later):
        out = self.inner(
            past_values=past,
            past_time_features=times,
            past_observed_mask=seen,
            future_values=future,
            future_time_features=later,
            use_cache=False,
        )
        return out.last_hidden_state


PAST, NEXT = ("rows=16", 72), ("rows=16", 24)


@model(
    "time_series",
    {
        "past": (PAST, None),
        "times": ((*PAST, 4), None),
        "seen": (PAST, 2),
        "future": (NEXT, None),
        "later": ((*NEXT, 4), None),
    },
    script=True,
    opset=14,
)
def series():
    import transformers

    settings = transformers.TimeSeriesTransformerConfig(
        prediction_length=24,
        context_length=48,
        lags_sequence=[1, 2, 3, 7, 12, 24],
        num_time_features=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
    )
    return Series(transformers.TimeSeriesTransformerModel(settings))


model("lcnetv2_small", image(), script=True, opset=13)(vision("timm", "lcnetv2_small"))
model("lowformer_b0", image(), script=True, opset=15)(vision("timm", "lowformer_b0"))
model("roberta_pre_3", tokens(4000, length=64, mask=False), script=True, opset=14)(
    transformer(
        "RobertaPreLayerNormModel",
        "RobertaPreLayerNormConfig",
        "input_ids",
        call=("eager",),
        vocab_size=4000,
        num_hidden_layers=3,
    )
)


# ---- optical flow, image restoration, segmentation
class SpyNet(nn.Module):
    """SPyNet: optical flow from coarse to fine: the flow found so far warps the second image, and a
    small network finds what is left."""

    def __init__(self, levels=5):
        super().__init__()
        sizes = (8, 32, 64, 32, 16, 2)
        layer = lambda i, o: nn.Conv2d(i, o, 7, 1, 3)
        part = lambda: nn.Sequential(
            *(p for i, o in zip(sizes, sizes[1:]) for p in (layer(i, o), nn.ReLU()))
        )[:-1]
        self.parts = nn.ModuleList(part() for _ in range(levels))
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406])[:, None, None])
        self.register_buffer("far", torch.tensor([0.229, 0.224, 0.225])[:, None, None])

    @staticmethod
    def moved(x, flow):
        h, w = x.shape[-2:]
        line = lambda n: torch.linspace(-1, 1, n)
        at = torch.stack(torch.meshgrid(line(w), line(h), indexing="xy"), -1)
        away = torch.stack((flow[:, 0] * (2 / (w - 1)), flow[:, 1] * (2 / (h - 1))), -1)
        return F.grid_sample(x, at + away, padding_mode="border", align_corners=True)

    def forward(self, a, b):
        a, b = (a - self.mean) / self.far, (b - self.mean) / self.far
        pairs = [(a, b)]
        for _ in self.parts[1:]:
            pairs.insert(0, tuple(F.avg_pool2d(x, 2) for x in pairs[0]))
        flow = torch.zeros_like(pairs[0][0][:, :2])
        for k, (part, (a, b)) in enumerate(zip(self.parts, pairs)):
            if k:
                flow = 2 * F.interpolate(
                    flow, scale_factor=2.0, mode="bilinear", align_corners=True
                )
            flow = flow + part(torch.cat((a, self.moved(b, flow), flow), 1))
        return flow


class Rcan(nn.Module):
    """RCAN: super-resolution by a factor of 2: nested residual blocks, whose channels are weighed
    by their means."""

    class Block(nn.Module):
        def __init__(self, c, less=8):
            super().__init__()
            layer = lambda i, o, k: nn.Conv2d(i, o, k, 1, k // 2)
            self.body = nn.Sequential(layer(c, c, 3), nn.ReLU(), layer(c, c, 3))
            self.weigh = nn.Sequential(
                nn.AdaptiveAvgPool2d(1),
                layer(c, c // less, 1),
                nn.ReLU(),
                layer(c // less, c, 1),
                nn.Sigmoid(),
            )

        def forward(self, x):
            y = self.body(x)
            return x + y * self.weigh(y)

    class Group(nn.Module):
        def __init__(self, c, blocks):
            super().__init__()
            parts = [Rcan.Block(c) for _ in range(blocks)]
            self.body = nn.Sequential(*parts, nn.Conv2d(c, c, 3, 1, 1))

        def forward(self, x):
            return x + self.body(x)

    def __init__(self, c=32, groups=2, blocks=4):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)
        self.body = nn.Sequential(*(self.Group(c, blocks) for _ in range(groups)))
        self.end = nn.Sequential(
            nn.Conv2d(c, 4 * c, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(c, 3, 3, 1, 1)
        )

    def forward(self, x):
        y = self.first(x)
        return self.end(y + self.last(self.body(y)))


class SegNeXt(nn.Module):
    """SegNeXt: attention by convolutions of long rows and columns, then the feature map as a
    product of two small matrices, found in six steps."""

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            near = lambda h, w: nn.Conv2d(c, c, (h, w), 1, (h // 2, w // 2), groups=c)
            self.a, self.b = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.near, self.mix = near(5, 5), nn.Conv2d(c, c, 1)
            self.long = nn.ModuleList(nn.Sequential(near(1, k), near(k, 1)) for k in (7, 11, 21))

        def forward(self, x):
            y = F.gelu(self.a(x))
            z = self.near(y)
            z = z + sum(part(z) for part in self.long)
            return self.b(self.mix(z) * y) + x

    class Block(nn.Module):
        def __init__(self, c, more=4):
            super().__init__()
            self.look, self.a, self.b = SegNeXt.Look(c), nn.BatchNorm2d(c), nn.BatchNorm2d(c)
            self.wide, self.end = nn.Conv2d(c, more * c, 1), nn.Conv2d(more * c, c, 1)
            self.near = nn.Conv2d(more * c, more * c, 3, 1, 1, groups=more * c)
            self.s, self.t = (nn.Parameter(torch.rand(c, 1, 1)) for _ in "st")

        def forward(self, x):
            x = x + self.s * self.look(self.a(x))
            return x + self.t * self.end(F.gelu(self.near(self.wide(self.b(x)))))

    class Parts(nn.Module):
        """Hamburger: x as the product of two matrices without negative elements."""

        def __init__(self, c, many=32, steps=6):
            super().__init__()
            self.a, self.b, self.steps = nn.Conv2d(c, c, 1), conv(c, c, 1, act=None), steps
            self.register_buffer("parts", F.normalize(torch.rand(1, c, many), dim=1))

        def forward(self, x):
            y = self.a(x).relu().flatten(2)
            parts = self.parts
            shares = (y.transpose(1, 2) @ parts).softmax(-1)
            for _ in range(self.steps):
                top = y.transpose(1, 2) @ parts
                shares = shares * top / (shares @ (parts.transpose(1, 2) @ parts) + 1e-6)
                parts = parts * (y @ shares)
                parts = parts / (self.parts @ (shares.transpose(1, 2) @ shares) + 1e-6)
            y = (parts @ shares.transpose(1, 2)).reshape(x.shape)
            return (x + self.b(y)).relu()

    def __init__(self, widths=(32, 64, 160, 256), depths=(2, 2, 3, 2), inner=128, kinds=19):
        super().__init__()
        self.first = nn.Sequential(conv(3, 16, 3, 2, nn.GELU), conv(16, widths[0], 3, 2, act=None))
        self.down = nn.ModuleList(conv(i, o, 3, 2, act=None) for i, o in zip(widths, widths[1:]))
        self.stages = nn.ModuleList(
            nn.Sequential(*(self.Block(c) for _ in range(k))) for c, k in zip(widths, depths)
        )
        self.squeeze, self.parts = conv(sum(widths[1:]), inner, 1), self.Parts(inner)
        self.end = nn.Sequential(conv(inner, inner, 1), nn.Conv2d(inner, kinds, 1))

    def forward(self, x):
        levels, x = [], self.first(x)
        for k, stage in enumerate(self.stages):
            x = stage(self.down[k - 1](x) if k else x)
            levels.append(x)
        size = levels[1].shape[-2:]
        wide = lambda y: F.interpolate(y, size=size, mode="bilinear", align_corners=False)
        x = self.squeeze(torch.cat([levels[1]] + [wide(y) for y in levels[2:]], 1))
        return self.end(self.parts(x))


# ---- point clouds
class PvCnn(nn.Module):
    """PVCNN: a class for each point: a branch of convolutions over voxels, which hold the means of
    their points, plus a branch of the points themselves."""

    class Block(nn.Module):
        def __init__(self, i, o, size):
            super().__init__()
            self.size = size
            layer = lambda a, b: (nn.Conv3d(a, b, 3, 1, 1), nn.BatchNorm3d(b), nn.LeakyReLU(0.1))
            self.box = nn.Sequential(*layer(i, o), *layer(o, o))
            self.own = nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())

        def forward(self, x, at):
            r, c = self.size, x.shape[1]
            at = at - at.mean(2, keepdim=True)
            at = at / (2 * at.norm(dim=1, keepdim=True).amax(2, keepdim=True)) + 0.5
            at = (at * r).clamp(0, r - 1)
            near = at.round().long()[0]
            place = (near[0] * r + near[1]) * r + near[2]
            total = torch.zeros(r**3, c).index_add(0, place, x[0].t())
            many = torch.zeros(r**3).index_add(0, place, torch.ones_like(place).float())
            box = (total / many.clamp(min=1)[:, None]).t().reshape(1, c, r, r, r)
            box = self.box(box)
            where = (at.flip(1).transpose(1, 2) * (2 / (r - 1)) - 1)[:, None, None]
            y = F.grid_sample(box, where, align_corners=True)[:, :, 0, 0]
            return y + self.own(x)

    def __init__(self, kinds=13):
        super().__init__()
        self.blocks = nn.ModuleList(
            self.Block(i, o, r) for i, o, r in ((9, 32, 16), (32, 64, 16), (64, 128, 8))
        )
        self.all = nn.Sequential(nn.Conv1d(128, 256, 1), nn.BatchNorm1d(256), nn.ReLU())
        self.end = nn.Sequential(
            nn.Conv1d(256 + 224, 128, 1), nn.BatchNorm1d(128), nn.ReLU(), nn.Conv1d(128, kinds, 1)
        )

    def forward(self, x):
        at, kept = x[:, :3], []
        for block in self.blocks:
            x = block(x, at)
            kept.append(x)
        most = self.all(x).amax(2, keepdim=True)
        return self.end(torch.cat(kept + [most.expand(-1, -1, x.shape[2])], 1))


# ---- speech enhancement
class CmGan(nn.Module):
    """CMGAN: speech enhancement: dense dilated convolutions over spectra, attention along time and
    along frequency, a mask and a complex correction."""

    class Dilated(nn.Module):
        def __init__(self, c, depth=4):
            super().__init__()
            self.layers = nn.ModuleList(
                nn.Sequential(
                    nn.ConstantPad2d((1, 1, 2**k, 0), 0.0),
                    nn.Conv2d(c * (k + 1), c, (2, 3), dilation=(2**k, 1)),
                    nn.InstanceNorm2d(c, affine=True),
                    nn.PReLU(c),
                )
                for k in range(depth)
            )

        def forward(self, x):
            kept = x
            for layer in self.layers:
                x = layer(kept)
                kept = torch.cat((x, kept), 1)
            return x

    class Conformer(nn.Module):
        def __init__(self, c, heads=4, size=15):
            super().__init__()
            mix = lambda: nn.Sequential(nn.LayerNorm(c), rows(c, 4 * c, c, act=nn.SiLU))
            self.a, self.b, self.heads = mix(), mix(), heads
            self.norm, self.last, self.after = (nn.LayerNorm(c) for _ in "nla")
            self.q, self.kv, self.out = (
                nn.Linear(c, c, bias=False),
                nn.Linear(c, 2 * c, bias=False),
                nn.Linear(c, c),
            )
            self.wide, self.end = nn.Conv1d(c, 4 * c, 1), nn.Conv1d(2 * c, c, 1)
            self.near = nn.Conv1d(2 * c, 2 * c, size, 1, size // 2, groups=2 * c)
            self.batch = nn.BatchNorm1d(2 * c)

        def look(self, x):
            n, t, c = x.shape
            split = lambda y: y.reshape(n, t, self.heads, -1).transpose(1, 2)
            q, (k, v) = split(self.q(x)), map(split, self.kv(x).chunk(2, -1))
            y = (q @ k.transpose(2, 3) * (c // self.heads) ** -0.5).softmax(-1) @ v
            return self.out(y.transpose(1, 2).reshape(n, t, c))

        def forward(self, x):
            x = x + 0.5 * self.a(x)
            x = x + self.look(self.norm(x))
            y = F.glu(self.wide(self.after(x).transpose(1, 2)), 1)
            x = x + self.end(F.silu(self.batch(self.near(y)))).transpose(1, 2)
            return self.last(x + 0.5 * self.b(x))

    class Both(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.time, self.tone = CmGan.Conformer(c), CmGan.Conformer(c)

        def forward(self, x):
            n, c, t, f = x.shape
            y = x.permute(0, 3, 2, 1).reshape(n * f, t, c)
            y = self.time(y) + y
            y = y.reshape(n, f, t, c).permute(0, 2, 1, 3).reshape(n * t, f, c)
            y = self.tone(y) + y
            return y.reshape(n, t, f, c).permute(0, 3, 1, 2)

    class Finer(nn.Module):
        """Twice the frequencies: channels become neighbouring frequencies."""

        def __init__(self, c):
            super().__init__()
            self.layer = nn.Conv2d(c, 2 * c, (1, 3), 1, (0, 1))

        def forward(self, x):
            n, c, t, f = x.shape
            y = self.layer(x).reshape(n, 2, c, t, f)
            return y.permute(0, 2, 3, 4, 1).reshape(n, c, t, 2 * f)

    def __init__(self, c=32):
        super().__init__()
        norm = lambda k: (nn.InstanceNorm2d(k, affine=True), nn.PReLU(k))
        self.first = nn.Sequential(nn.Conv2d(3, c, 1), *norm(c))
        self.near, self.down = self.Dilated(c), nn.Sequential(
            nn.Conv2d(c, c, (1, 3), (1, 2), (0, 1)), *norm(c)
        )
        self.both = nn.Sequential(self.Both(c), self.Both(c))
        self.mask = nn.Sequential(
            self.Dilated(c), self.Finer(c), nn.Conv2d(c, 1, (1, 2), 1, (0, 1)), *norm(1)
        )
        self.more = nn.Sequential(
            self.Dilated(c), self.Finer(c), *norm(c), nn.Conv2d(c, 2, (1, 2), 1, (0, 1))
        )

    def forward(self, x):
        loud = (x.square().sum(1, keepdim=True) + 1e-8).sqrt()
        unit = x / loud
        loud = loud**0.3
        x = unit * loud
        y = self.both(self.down(self.near(self.first(torch.cat((loud, x), 1)))))
        mask = self.mask(y)[..., : x.shape[3]].sigmoid()
        return x * mask + self.more(y)[..., : x.shape[3]]


# ---- click prediction
class FinalMlp(nn.Module):
    """FinalMLP: click prediction: two streams of layers, each with its own gates over the features,
    joined by products of their parts."""

    class Gate(nn.Module):
        def __init__(self, seen, features, c):
            super().__init__()
            self.w = nn.Sequential(rows(seen, c, features), nn.Sigmoid())

        def forward(self, x, y):
            return x * (2 * self.w(y))

    def __init__(self, words=200, fields=20, width=16, heads=8, c=(256, 128)):
        super().__init__()
        size = fields * width
        self.words = nn.Embedding(words * fields, width)
        self.register_buffer("from_", torch.arange(fields) * words)
        self.a, self.b = self.Gate(4 * width, size, 64), self.Gate(width, size, 64)
        self.left, self.right = rows(size, *c), rows(size, *c)
        part = c[-1] // heads
        self.heads, self.mix = heads, nn.Parameter(torch.randn(heads, part, part) / part)
        self.ends = nn.ModuleList(nn.Linear(c[-1], 1) for _ in "lr")

    def forward(self, ids):
        x = self.words(ids + self.from_)
        who, what, x = x[:, :4].flatten(1), x[:, 4], x.flatten(1)
        l, r = self.left(self.a(x, who)), self.right(self.b(x, what))
        n = l.shape[0]
        split = lambda y: y.reshape(n, self.heads, 1, -1)
        both = (split(l) @ self.mix) @ split(r).transpose(2, 3)
        return (self.ends[0](l) + self.ends[1](r) + both.sum((1, 2))).sigmoid()


PAIR = {k: ((1, 3, 96, 128), None) for k in "ab"}
model("spynet", PAIR, opset=20)(SpyNet)
model("pvcnn", {"x": ((1, 9, 1024), None)}, opset=20)(PvCnn)
model("cmgan", {"x": ((1, 2, "frames=60", 101), None)}, opset=17)(CmGan)
model("final_mlp", {"ids": (("rows=64", 20), 200)}, opset=18)(FinalMlp)
model("seg_next", image(192), opset=18)(SegNeXt)
model("rcan_x2", {"x": ((1, 3, "high=48", "wide=48"), None)}, script=True, opset=13)(Rcan)
