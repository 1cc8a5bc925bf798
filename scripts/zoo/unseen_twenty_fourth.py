"""The twenty-fourth set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and six networks written after their papers: names of things in a text, a voice from words
and a sample, a series beside others, what comes next in a shop, the amino acids of a protein, a
face restored (unseen_twenty_fourth_quantized.py has two of the 14 in 8 bits)."""

import math

from zoo import MODELS, SOURCES, Called, Step, image, model, nn, tokens, torch, vision

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional


# ---- transformers: states and attention, a step with experts, a picture for a language model, a
# voice from codes, what is where on a page
@model("granite_hybrid_3", tokens(4000, 64, mask=False), opset=18)
def hybrid():
    import transformers

    settings = transformers.GraniteMoeHybridConfig(
        hidden_size=768,
        num_hidden_layers=3,
        num_attention_heads=12,
        num_key_value_heads=4,
        num_local_experts=0,
        shared_intermediate_size=2048,
        mamba_n_heads=24,
        mamba_d_state=128,
        mamba_chunk_size=32,
        vocab_size=4000,
        embedding_multiplier=12.0,
        residual_multiplier=0.22,
        layer_types=["linear_attention", "linear_attention", "full_attention"],
    )
    return Called(transformers.GraniteMoeHybridModel(settings), ["input_ids"], 0, use_cache=False)


CACHE = ((1, 4, "past=256", 64), None)


@model(
    "qwen3_moe_step",
    {"ids": ((1, 1), 4000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def experts():
    import transformers

    settings = transformers.Qwen3MoeConfig(
        hidden_size=768,
        moe_intermediate_size=384,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        head_dim=64,
        num_experts=16,
        num_experts_per_tok=4,
        norm_topk_prob=True,
        vocab_size=4000,
    )
    settings._experts_implementation = "batched_mm"
    return Step(transformers.Qwen3MoeForCausalLM(settings), "logits")


class Looked(nn.Module):
    """InternVL: a picture to what its language model reads of it."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.InternVLConfig(
            vision_config={"num_hidden_layers": 3, "image_size": 224, "patch_size": 14},
            text_config={"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 1}
            | {"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 1000},
        )
        inner = transformers.InternVLModel(settings)
        self.tower, self.join = inner.vision_tower, inner.multi_modal_projector
        self.shuffle = inner.pixel_shuffle

    def forward(self, x):
        x = self.tower(pixel_values=x).last_hidden_state[:, 1:]
        x = self.shuffle(x.unflatten(1, (16, 16)), scale_factor=0.5)
        return self.join(x.flatten(1, 2))


model("internvl_vision_3", image(224), opset=22)(Looked)


@model("neucodec_decoder", {"x": ((1, 100, 2048), None)}, opset=19)
def neural_codec():
    import transformers
    from transformers.models.neucodec import modeling_neucodec as neucodec

    settings = transformers.NeuCodecConfig(num_hidden_layers=2, intermediate_size=4096)
    return neucodec.NeuCodecDecoder(settings)


class Page(nn.Module):
    """PP-DocLayoutV3: the parts of a page, their boxes, masks and the order to read them in."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.PPDocLayoutV3Config(
            num_queries=100, decoder_layers=2, num_labels=25, x4_feat_dim=64
        )
        settings.backbone_config = transformers.HGNetV2Config(
            stage_in_channels=[16, 64, 256, 512],
            stage_mid_channels=[16, 32, 64, 128],
            stage_out_channels=[64, 256, 512, 1024],
            stage_num_blocks=[1, 1, 2, 1],
            stage_numb_of_layers=[3, 3, 3, 3],
            stem_channels=[3, 16, 16],
            hidden_sizes=[64, 256, 512, 1024],
            out_features=["stage1", "stage2", "stage3", "stage4"],
        )
        settings.encoder_in_channels = [256, 512, 1024]
        self.inner = transformers.PPDocLayoutV3ForObjectDetection(settings)

    def forward(self, x):
        out = self.inner(x)
        return out.logits, out.pred_boxes, out.order_logits, out.out_masks


model("pp_doclayout_v3", image(320), script=True, unordered=True, opset=16)(Page)


# ---- diffusers: a video from codes; a short film from words
@model("cosmos_decoder", {"x": ((1, 8, 2, 12, 12), None)}, opset=18)
def video():
    import diffusers

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            inner = diffusers.AutoencoderKLCosmos(
                latent_channels=8,
                encoder_block_out_channels=(32, 64),
                decode_block_out_channels=(64, 128, 256),
                num_layers=1,
                resolution=96,
                attention_resolutions=(12,),
            )
            self.before, self.inner = inner.post_quant_conv, inner.decoder

        def forward(self, x):
            return self.inner(self.before(x))

    return Decoder()


class Film(nn.Module):
    """AnimateDiff: the same words for each of eight pictures, which are one film."""

    def __init__(self):
        super().__init__()
        import diffusers

        self.inner = diffusers.UNetMotionModel(
            sample_size=16,
            block_out_channels=(128, 256),
            layers_per_block=1,
            down_block_types=("CrossAttnDownBlockMotion", "DownBlockMotion"),
            up_block_types=("UpBlockMotion", "CrossAttnUpBlockMotion"),
            cross_attention_dim=512,
            num_attention_heads=8,
            motion_num_attention_heads=8,
        )

    def forward(self, x, t, words):
        words = words.repeat_interleave(x.shape[2], 0)
        return self.inner(x, t, words, return_dict=False)[0]


model(
    "animate_diff",
    {"x": ((1, 4, 8, 16, 16), None), "t": ((1,), 1000), "words": ((1, 32, 512), None)},
    opset=21,
)(Film)


# ---- timm
model("efficientvit_b1", image(192, batch="batch=1"), script=True, opset=13)(
    vision("timm", "efficientvit_b1")
)


# ---- written after their papers
class Gliner(nn.Module):
    """GLiNER: the kinds that somebody asks for stand before the words; scores of all spans of up to
    `longest` words, by an encoder of parts of words, a recurrence over words, and the two ends of
    each span."""

    def __init__(self, width=768, hidden=512, longest=12):
        super().__init__()
        import transformers

        settings = transformers.BertConfig(num_hidden_layers=2, vocab_size=8000)
        settings._attn_implementation = "eager"
        self.inner, self.longest = transformers.BertModel(settings), longest
        self.narrow = nn.Linear(width, hidden)
        self.cells = nn.LSTM(hidden, hidden // 2, batch_first=True, bidirectional=True)
        both = lambda: nn.Sequential(
            nn.Linear(hidden, 4 * hidden), nn.ReLU(), nn.Linear(4 * hidden, hidden)
        )
        self.start, self.stop, self.kind = both(), both(), both()
        self.span = nn.Sequential(
            nn.ReLU(), nn.Linear(2 * hidden, 4 * hidden), nn.ReLU(), nn.Linear(4 * hidden, hidden)
        )

    def forward(self, ids, first, kinds):
        x = self.narrow(self.inner(ids)[0])
        take = lambda at: torch.gather(x, 1, at.unsqueeze(2).expand(-1, -1, x.shape[2]))
        words, asked = self.cells(take(first))[0], self.kind(take(kinds))
        start, stop = self.start(words), self.stop(words)
        starts = torch.arange(words.shape[1]).unsqueeze(1).expand(-1, self.longest)
        stops = torch.arange(words.shape[1]).unsqueeze(1) + torch.arange(self.longest)
        seen = (stops < words.shape[1]).to(x.dtype)
        stops = torch.minimum(stops, torch.ones_like(stops) * (words.shape[1] - 1))
        spans = torch.cat((start[:, starts], stop[:, stops]), -1)
        scores = torch.einsum("blkd,bcd->blkc", self.span(spans), asked)
        return torch.sigmoid(scores) * seen[None, :, :, None]


model(
    "gliner",
    {
        "ids": ((1, "seq=80"), 8000),
        "first": ((1, "words=48"), 80),
        "kinds": ((1, 6), 80),
    },
    script=True,
    opset=17,
)(Gliner)


class TextBlock(nn.Module):
    """ConvNeXt V2 over letters: a convolution for each channel, and a norm over time."""

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gamma = nn.Parameter(torch.randn(1, 1, 2 * width) * 0.1)
        self.beta = nn.Parameter(torch.randn(1, 1, 2 * width) * 0.1)

    def forward(self, x):
        y = self.norm(self.conv(x.transpose(1, 2)).transpose(1, 2))
        y = F.gelu(self.up(y))
        long = torch.norm(y, p=2, dim=1, keepdim=True)
        long = long / (long.mean(-1, keepdim=True) + 1e-6)
        return x + self.down(self.gamma * (y * long) + self.beta + y)


class Spoken(nn.Module):
    """A layer of F5-TTS: what the time says scales and shifts both halves."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.turn = heads, nn.Linear(width, 6 * width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def turned(self, x, cos, sin):
        """The first head's numbers in pairs by their place, as F5-TTS does."""
        a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
        return x * cos + torch.stack((-b, a), -1).flatten(-2) * sin

    def forward(self, x, t, cos, sin):
        shift, scale, gate, shift2, scale2, gate2 = self.turn(F.silu(t)).chunk(6, 1)
        y = self.norm(x) * (1 + scale[:, None]) + shift[:, None]
        q, k = self.turned(self.q(y), cos, sin), self.turned(self.k(y), cos, sin)
        cut = lambda v: v.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        y = F.scaled_dot_product_attention(cut(q), cut(k), cut(self.v(y)))
        x = x + gate[:, None] * self.o(y.transpose(1, 2).flatten(2))
        y = self.norm(x) * (1 + scale2[:, None]) + shift2[:, None]
        return x + gate2[:, None] * self.down(F.gelu(self.up(y), approximate="tanh"))


class F5(nn.Module):
    """F5-TTS: noise, a sample of a voice and letters to the direction in which speech lies."""

    def __init__(self, width=1024, heads=16, layers=2, letters=256, text=512, mel=100):
        super().__init__()
        self.letters = nn.Embedding(letters, text)
        self.text = nn.ModuleList(TextBlock(text) for _ in range(2))
        self.enter = nn.Linear(2 * mel + text, width)
        self.place = nn.ModuleList(
            nn.Conv1d(width, width, 31, padding=15, groups=16) for _ in range(2)
        )
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Spoken(width, heads) for _ in range(layers))
        self.norm, self.turn = nn.LayerNorm(width, 1e-6, False), nn.Linear(width, 2 * width)
        self.leave = nn.Linear(width, mel)
        self.register_buffer("rate", 10000 ** (-torch.arange(0, 64, 2) / 64.0))
        self.register_buffer("waves", torch.exp(torch.arange(128) * -math.log(10000) / 127))

    def forward(self, x, sample, ids, t):
        text = self.letters(ids)
        for block in self.text:
            text = block(text)
        x = self.enter(torch.cat((x, sample, text), -1))
        y = x.transpose(1, 2)
        for conv in self.place:
            y = F.mish(conv(y))
        x = x + y.transpose(1, 2)
        waves = 1000 * t[:, None] * self.waves[None]
        t = self.time(torch.cat((waves.sin(), waves.cos()), -1))
        angles = torch.arange(x.shape[1])[:, None] * self.rate[None]
        angles = angles.repeat_interleave(2, 1).repeat(1, x.shape[2] // 64)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer(x, t, cos, sin)
        scale, shift = self.turn(F.silu(t)).chunk(2, 1)
        return self.leave(self.norm(x) * (1 + scale[:, None]) + shift[:, None])


SOUND = ((1, "frames=200", 100), None)
model(
    "f5_tts_2",
    {"x": SOUND, "sample": SOUND, "ids": ((1, "frames=200"), 256), "t": ((1,), None)},
    opset=20,
)(F5)


class TimeXer(nn.Module):
    """TimeXer: a series in patches and one row that tells of it all, which also attends to rows of
    the other series."""

    class Layer(nn.Module):
        def __init__(self, width, heads=8):
            super().__init__()
            self.own = nn.MultiheadAttention(width, heads, batch_first=True)
            self.cross = nn.MultiheadAttention(width, heads, batch_first=True)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
            self.up, self.down = nn.Conv1d(width, 2048, 1), nn.Conv1d(2048, width, 1)

        def forward(self, x, other, series):
            x = self.norms[0](x + self.own(x, x, x, need_weights=False)[0])
            row = x[:, -1:].reshape(-1, series, x.shape[2])
            seen = self.cross(row, other, other, need_weights=False)[0]
            row = x[:, -1:] + seen.reshape(-1, 1, x.shape[2])
            x = y = torch.cat((x[:, :-1], self.norms[1](row)), 1)
            y = self.down(F.gelu(self.up(y.transpose(1, 2)))).transpose(1, 2)
            return self.norms[2](x + y)

    def __init__(self, length=96, series=7, marks=4, patch=16, width=256, ahead=96, layers=2):
        super().__init__()
        self.patch, self.series = patch, series
        self.enter = nn.Linear(patch, width, bias=False)
        self.row = nn.Parameter(torch.randn(1, series, 1, width))
        self.others = nn.Linear(length, width)
        places = torch.arange(length // patch)[:, None] * 10000 ** (
            -torch.arange(0, width, 2) / width
        )
        self.register_buffer("places", torch.stack((places.sin(), places.cos()), 2).flatten(1))
        self.layers = nn.ModuleList(TimeXer.Layer(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.leave = nn.Linear(width * (length // patch + 1), ahead)

    def forward(self, x, marks):
        mean = x.mean(1, keepdim=True)
        x = x - mean
        deviation = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = x / deviation
        other = self.others(torch.cat((x, marks), 2).permute(0, 2, 1))
        y = x.permute(0, 2, 1).unflatten(2, (-1, self.patch))
        y = self.enter(y) + self.places
        y = torch.cat((y, self.row.expand(y.shape[0], -1, -1, -1)), 2).flatten(0, 1)
        for layer in self.layers:
            y = layer(y, other, self.series)
        y = self.norm(y).reshape(-1, self.series, y.shape[1], y.shape[2]).permute(0, 1, 3, 2)
        return self.leave(y.flatten(2)).permute(0, 2, 1) * deviation + mean


model(
    "timexer",
    {"x": (("batch=8", 96, 7), None), "marks": (("batch=8", 96, 4), None)},
    script=True,
    opset=15,
)(TimeXer)


class Gru4Rec(nn.Module):
    """GRU4Rec: what somebody looked at in a shop, in turn, to scores of all things."""

    def __init__(self, things=20000, width=128, hidden=256):
        super().__init__()
        self.things = nn.Embedding(things, width)
        self.cells = nn.GRU(width, hidden, 2, batch_first=True)
        self.narrow, self.bias = nn.Linear(hidden, width), nn.Parameter(torch.randn(things) * 0.1)

    def forward(self, ids):
        x = self.cells(self.things(ids))[0][:, -1]
        return torch.tanh(self.narrow(x)) @ self.things.weight.T + self.bias


model("gru4rec", {"ids": (("batch=16", "seen=30"), 20000)}, script=True, opset=14)(Gru4Rec)


class ProteinMpnn(nn.Module):
    """ProteinMPNN: the places of four atoms of each amino acid to which of 20 stands there, by
    messages between the nearest ones, whose edges are renewed as well."""

    class Layer(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            three = lambda i: nn.Sequential(
                *(nn.Linear(i, width), nn.GELU(), nn.Linear(width, width), nn.GELU()),
                nn.Linear(width, width),
            )
            self.say, self.renew = three(inner), three(inner)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, edges, take):
            both = lambda: torch.cat((x.unsqueeze(2).expand_as(edges), edges, take(x)), -1)
            x = self.norms[0](x + self.say(both()).sum(2) / 30)
            x = self.norms[1](x + self.down(F.gelu(self.up(x))))
            return x, self.norms[2](edges + self.renew(both()))

    def __init__(self, width=128, layers=3, near=30, bins=16):
        super().__init__()
        self.near, self.bins = near, bins
        self.place = nn.Embedding(66, 16)
        self.enter = nn.Linear(16 + 25 * bins, width, bias=False)
        self.norm, self.edge = nn.LayerNorm(width), nn.Linear(width, width)
        self.layers = nn.ModuleList(ProteinMpnn.Layer(width, 3 * width) for _ in range(layers))
        self.last = nn.Linear(width, 21)

    def forward(self, atoms):
        n, ca, c, o = atoms.unbind(2)
        b, a = ca - n, c - ca
        cb = -0.58273431 * torch.linalg.cross(b, a) + 0.56802827 * b - 0.54067466 * a + ca
        away = lambda p, q: ((p[:, :, None] - q[:, None]).square().sum(3) + 1e-6).sqrt()
        at = torch.topk(away(ca, ca), self.near, 2, largest=False)[1]
        middles = torch.linspace(2.0, 22.0, self.bins)

        def spread(p, q):
            d = torch.gather(away(p, q), 2, at).unsqueeze(3)
            return torch.exp(-(((d - middles) / (20.0 / self.bins)) ** 2))

        five = (ca, n, c, o, cb)
        places = torch.arange(atoms.shape[1])
        apart = (places[None, :, None] - at).clamp(-32, 32) + 32
        found = [self.place(apart)] + [spread(p, q) for p in five for q in five]
        edges = self.edge(self.norm(self.enter(torch.cat(found, 3))))

        def take(x):
            index = at.flatten(1).unsqueeze(2).expand(-1, -1, x.shape[2])
            return torch.gather(x, 1, index).unflatten(1, (-1, self.near))

        x = edges.new_zeros(edges.shape[0], edges.shape[1], edges.shape[3])
        for layer in self.layers:
            x, edges = layer(x, edges, take)
        return F.log_softmax(self.last(x), 2)


model("protein_mpnn", {"atoms": ((1, "length=128", 4, 3), None)}, opset=18)(ProteinMpnn)


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, c, 1e-6) for c in (i, o))
        self.one, self.two = nn.Conv2d(i, o, 3, 1, 1), nn.Conv2d(o, o, 3, 1, 1)
        self.side = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        swish = lambda v: v * torch.sigmoid(v)
        y = self.one(swish(self.norms[0](x)))
        return self.two(swish(self.norms[1](y))) + self.side(x)


class CodeFormer(nn.Module):
    """CodeFormer: a bad picture of a face to codes, by attention over its places, and these back to
    a picture, in which what was seen on the way down scales and shifts."""

    class Layer(nn.Module):
        def __init__(self, width, heads=8):
            super().__init__()
            self.mix = nn.MultiheadAttention(width, heads)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x, place):
            y = self.norms[0](x)
            x = x + self.mix(y + place, y + place, y)[0]
            return x + self.down(F.gelu(self.up(self.norms[1](x))))

    class Fused(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.both = Residual(2 * width, width)
            two = lambda: nn.Sequential(
                nn.Conv2d(width, width, 3, 1, 1),
                nn.LeakyReLU(0.2),
                nn.Conv2d(width, width, 3, 1, 1),
            )
            self.scale, self.shift = two(), two()

        def forward(self, down, up):
            y = self.both(torch.cat((down, up), 1))
            return up + (up * self.scale(y) + self.shift(y))

    def __init__(self, widths=(32, 64, 64, 128), codes=1024, code=128, width=256, side=16):
        super().__init__()
        self.enter = nn.Conv2d(3, widths[0], 3, 1, 1)
        pairs = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList(
            nn.ModuleList([Residual(a, a), nn.Conv2d(a, b, 3, 2)]) for a, b in pairs
        )
        self.mid, self.narrow = Residual(widths[-1], widths[-1]), nn.Conv2d(widths[-1], code, 1)
        self.wide = nn.Linear(code, width)
        self.places = nn.Parameter(torch.randn(side * side, width) * 0.1)
        self.layers = nn.ModuleList(CodeFormer.Layer(width) for _ in range(3))
        self.norm, self.choose = nn.LayerNorm(width), nn.Linear(width, codes, bias=False)
        self.codes, self.side = nn.Embedding(codes, code), side
        self.back = nn.ModuleList(
            nn.ModuleList([Residual(b, a), nn.Conv2d(a, a, 3, 1, 1), CodeFormer.Fused(a)])
            for a, b in reversed(pairs)
        )
        self.leave = nn.Sequential(
            nn.GroupNorm(32, widths[0], 1e-6), nn.Conv2d(widths[0], 3, 3, 1, 1)
        )

    def forward(self, x):
        x, seen = self.enter(x), []
        for block, down in self.down:
            x = block(x)
            seen.append(x)
            x = down(F.pad(x, (0, 1, 0, 1)))
        x = self.narrow(self.mid(x))
        mean = lambda v: v.flatten(2).mean(2)[:, :, None, None]
        spread = lambda v: (v.flatten(2).var(2) + 1e-5).sqrt()[:, :, None, None]
        y = self.wide(x.flatten(2).permute(2, 0, 1))
        for layer in self.layers:
            y = layer(y, self.places.unsqueeze(1))
        scores = F.softmax(self.choose(self.norm(y)).permute(1, 0, 2), 2)
        best = torch.topk(scores, 1, 2)[1]
        chosen = torch.zeros(best.shape[0], best.shape[1], scores.shape[2]).scatter_(2, best, 1)
        y = (chosen @ self.codes.weight).permute(0, 2, 1).unflatten(2, (self.side, self.side))
        y = (y - mean(y)) / spread(y) * spread(x) + mean(x)
        for (block, up, fused), was in zip(self.back, reversed(seen)):
            y = up(F.interpolate(block(y), scale_factor=2.0, mode="nearest"))
            y = fused(was, y)
        return self.leave(y)


model("code_former", image(128), opset=18)(CodeFormer)

if __name__ == "__main__":
    import sys, zoo

    sys.exit(zoo.main(*sys.argv[1:]))
