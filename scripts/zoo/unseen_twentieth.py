"""The twentieth set of models of test/bench/UNSEEN.md: architectures of transformers and diffusers,
and small networks written after their papers: image restoration, depth, an audio codec, a time
series, point clouds (unseen_twentieth_rest.py has image segmentation and object detection)."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer
from unseen_sixteenth_rest import conv, rows

SOURCES.append(__file__)
F = nn.functional


# ---- transformers and diffusers
@model("dab_detr_r18", image(256), opset=18)
def detector():
    import transformers

    seen = transformers.ResNetConfig(
        depths=[2, 2, 2, 2],
        hidden_sizes=[64, 128, 256, 512],
        layer_type="basic",
        embedding_size=64,
        out_features=["stage4"],
    )
    settings = transformers.DabDetrConfig(
        backbone_config=seen, num_queries=100, encoder_layers=2, decoder_layers=2, num_labels=91
    )
    get = lambda out: torch.cat((out.logits, out.pred_boxes), -1)
    return Called(transformers.DabDetrForObjectDetection(settings), ["pixel_values"], get)


@model("granite_speech_2", {"x": ((1, 400, 160), None)}, script=True, opset=17)
def speech():
    import transformers

    from transformers.models.granite_speech import modeling_granite_speech as parts

    settings = transformers.GraniteSpeechEncoderConfig(
        num_layers=2, hidden_dim=512, context_size=200, output_dim=256
    )
    return Called(parts.GraniteSpeechCTCEncoder(settings), ["hidden_states"], 0)


model("eurobert_2", tokens(8000, "seq=128"), opset=20)(
    transformer(
        "EuroBertModel", "EuroBertConfig", num_hidden_layers=2, vocab_size=8000, pad_token_id=0
    )
)
CACHE = ((1, 2, "past=256", 128), None)


@model(
    "ernie4_5_step",
    {"ids": ((1, 1), 6000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=18,
)
def ernie():
    import transformers

    settings = transformers.Ernie4_5Config(num_hidden_layers=2, vocab_size=6000)
    return Step(transformers.Ernie4_5ForCausalLM(settings), "logits")


model("jetmoe_2", tokens(4000, 64, mask=False), opset=18)(
    transformer(
        "JetMoeModel",
        "JetMoeConfig",
        "input_ids",
        call=("uncached",),
        num_hidden_layers=2,
        vocab_size=4000,
        hidden_size=512,
        num_key_value_heads=4,
        kv_channels=64,
        intermediate_size=768,
    )
)


class Film(nn.Module):
    """CogVideoX: a denoising step on an encoded video, words and frames in one sequence."""

    def __init__(self):
        super().__init__()
        import diffusers
        from diffusers.models.embeddings import get_3d_rotary_pos_embed

        self.inner = diffusers.CogVideoXTransformer3DModel(
            num_attention_heads=8,
            attention_head_dim=64,
            text_embed_dim=512,
            num_layers=2,
            sample_width=24,
            sample_height=16,
            sample_frames=17,
            max_text_seq_length=32,
            use_rotary_positional_embeddings=True,
        )
        turn = get_3d_rotary_pos_embed(64, ((0, 0), (8, 12)), (8, 12), 5)
        for name, part in zip(("cos", "sin"), turn):
            self.register_buffer(name, part)

    def forward(self, x, t, words):
        return self.inner(x, words, t, image_rotary_emb=(self.cos, self.sin)).sample


model(
    "cog_video_x_2",
    {"x": ((1, 5, 16, 16, 24), None), "t": ((1,), 1000), "words": ((1, 32, 512), None)},
    opset=18,
)(Film)


# ---- image restoration
class Hat(nn.Module):
    """HAT: super-resolution by a factor of 2: attention in windows beside attention to channels,
    then windows that attend to a larger one around them."""

    class Windows(nn.Module):
        def __init__(self, c, heads, size, shift):
            super().__init__()
            self.heads, self.size, self.shift = heads, size, shift
            self.norm, self.qkv, self.o = nn.LayerNorm(c), nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.ends = nn.Sequential(nn.LayerNorm(c), rows(c, 2 * c, c, act=nn.GELU))
            self.table = nn.Parameter(0.1 * torch.randn((2 * size - 1) ** 2, heads))
            at = torch.stack(
                torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
            ).flatten(1)
            apart = at[:, :, None] - at[:, None] + size - 1
            self.register_buffer("place", apart[0] * (2 * size - 1) + apart[1])
            self.a = nn.Sequential(
                nn.Conv2d(c, c // 3, 3, 1, 1), nn.GELU(), nn.Conv2d(c // 3, c, 3, 1, 1)
            )
            self.weigh = nn.Sequential(
                nn.AdaptiveAvgPool2d(1),
                nn.Conv2d(c, c // 16, 1),
                nn.ReLU(),
                nn.Conv2d(c // 16, c, 1),
                nn.Sigmoid(),
            )

        def forward(self, x):
            n, high, wide, c = x.shape
            s, h = self.size, self.heads
            y = self.norm(x)
            z = self.a(y.permute(0, 3, 1, 2))
            z = (z * self.weigh(z)).permute(0, 2, 3, 1)
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            y = y.view(n, high // s, s, wide // s, s, c).permute(0, 1, 3, 2, 4, 5)
            y = self.qkv(y.reshape(-1, s * s, c)).reshape(-1, s * s, 3, h, c // h)
            q, k, v = y.permute(2, 0, 3, 1, 4)
            a = (q * (c // h) ** -0.5) @ k.transpose(-2, -1)
            bias = self.table[self.place.view(-1)].view(s * s, s * s, h).permute(2, 0, 1)
            a = (a + bias[None]).softmax(-1) @ v
            y = self.o(a.transpose(1, 2).reshape(-1, s * s, c))
            y = y.view(n, high // s, wide // s, s, s, c).permute(0, 1, 3, 2, 4, 5)
            y = y.reshape(n, high, wide, c)
            if self.shift:
                y = torch.roll(y, (self.shift, self.shift), (1, 2))
            x = x + y + 0.01 * z
            return x + self.ends(x)

    class Overlap(nn.Module):
        def __init__(self, c, heads, size):
            super().__init__()
            self.heads, self.size, self.far = heads, size, size + size // 2
            self.norm, self.qkv, self.o = nn.LayerNorm(c), nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.ends = nn.Sequential(nn.LayerNorm(c), rows(c, 2 * c, c, act=nn.GELU))
            self.bias = nn.Parameter(0.1 * torch.randn(heads, size**2, self.far**2))

        def forward(self, x):
            n, high, wide, c = x.shape
            s, h, far = self.size, self.heads, self.far
            y = self.qkv(self.norm(x))
            q, kv = y[..., :c], y[..., c:].permute(0, 3, 1, 2)
            q = q.reshape(n, high // s, s, wide // s, s, c).permute(0, 1, 3, 2, 4, 5)
            q = q.reshape(-1, s * s, h, c // h).transpose(1, 2)
            kv = F.unfold(kv, far, stride=s, padding=(far - s) // 2)
            kv = kv.view(n, 2, h, c // h, far * far, -1).permute(1, 0, 5, 2, 4, 3)
            k, v = kv.reshape(2, -1, h, far * far, c // h)
            a = (q * (c // h) ** -0.5) @ k.transpose(-2, -1) + self.bias
            y = a.softmax(-1) @ v
            y = self.o(y.transpose(1, 2).reshape(-1, s * s, c))
            y = y.view(n, high // s, wide // s, s, s, c).permute(0, 1, 3, 2, 4, 5)
            x = x + y.reshape(n, high, wide, c)
            return x + self.ends(x)

    def __init__(self, c=96, groups=2, size=8, heads=6):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.groups = nn.ModuleList(
            nn.ModuleList(
                [
                    self.Windows(c, heads, size, 0),
                    self.Windows(c, heads, size, size // 2),
                    self.Overlap(c, heads, size),
                    nn.Conv2d(c, c, 3, 1, 1),
                ]
            )
            for _ in range(groups)
        )
        self.norm, self.mix = nn.LayerNorm(c), nn.Conv2d(c, c, 3, 1, 1)
        self.last = nn.Sequential(
            nn.Conv2d(c, 64, 3, 1, 1),
            nn.LeakyReLU(),
            nn.Conv2d(64, 256, 3, 1, 1),
            nn.PixelShuffle(2),
            nn.Conv2d(64, 3, 3, 1, 1),
        )

    def forward(self, x):
        first = self.first(x)
        y = first.permute(0, 2, 3, 1)
        for a, b, c, end in self.groups:
            z = end(c(b(a(y))).permute(0, 3, 1, 2))
            y = y + z.permute(0, 2, 3, 1)
        return self.last(first + self.mix(self.norm(y).permute(0, 3, 1, 2)))


# ---- depth
class LiteMono(nn.Module):
    """Lite-Mono: depth of an image: dilated depthwise convolutions, attention between channels,
    smaller copies of the image at each level."""

    class Dilated(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.far = nn.Conv2d(c, c, 3, 1, d, d, groups=c, bias=False)
            self.bn, self.ends = nn.BatchNorm2d(c), rows(c, 6 * c, c, act=nn.GELU)
            self.scale = nn.Parameter(0.1 * torch.rand(c))

        def forward(self, x):
            y = self.ends(self.bn(self.far(x)).permute(0, 2, 3, 1))
            return x + (self.scale * y).permute(0, 3, 1, 2)

    class Channels(nn.Module):
        def __init__(self, c, heads=8):
            super().__init__()
            self.a, self.b, self.heads = nn.LayerNorm(c), nn.LayerNorm(c), heads
            self.qkv, self.o = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.heat = nn.Parameter(torch.rand(heads, 1, 1) + 0.5)
            self.ends = rows(c, 6 * c, c, act=nn.GELU)
            self.s = nn.ParameterList(torch.rand(c) for _ in "ab")

        def forward(self, x):
            n, c, high, wide = x.shape
            y = x.flatten(2).transpose(1, 2)
            z = self.qkv(self.a(y)).reshape(n, high * wide, 3, self.heads, c // self.heads)
            q, k, v = z.permute(2, 0, 3, 4, 1)
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            a = ((q @ k.transpose(-2, -1)) * self.heat).softmax(-1)
            z = (a @ v).permute(0, 3, 1, 2).reshape(n, high * wide, c)
            y = y + self.s[0] * self.o(z)
            y = y.view(n, high, wide, c)
            y = y + self.s[1] * self.ends(self.b(y))
            return y.permute(0, 3, 1, 2)

    def __init__(self, widths=(48, 80, 128), reach=((1, 2, 3), (1, 2, 3), (1, 2, 3, 2, 4, 6))):
        super().__init__()
        a, b, c = widths
        layer = lambda i, o, s=1: conv(i, o, s=s, act=nn.GELU)
        self.first = nn.Sequential(layer(3, a, 2), layer(a, a), layer(a, a))
        self.enter = nn.ModuleList(
            [layer(a + 3, a, 2), layer(2 * a + 3, b, 2), layer(2 * b + 3, c, 2)]
        )
        self.stages = nn.ModuleList(
            nn.Sequential(*(self.Dilated(w, d) for d in r), self.Channels(w))
            for w, r in zip(widths, reach)
        )
        up = lambda i, o: nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(i, o, 3), nn.ELU())
        self.up = nn.ModuleList([up(c, 64), up(64, 40), up(40, 24)])
        self.mix = nn.ModuleList([up(64 + b, 64), up(40 + a, 40), up(24, 24)])
        self.last = nn.ModuleList(
            nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(w, 1, 3)) for w in (40, 24)
        )

    def forward(self, x):
        size = lambda y, s: F.interpolate(y, scale_factor=s, mode="bilinear", align_corners=False)
        small = [x]
        for _ in range(4):
            small.append(F.avg_pool2d(small[-1], 3, 2, 1))
        y = before = self.first(x)
        kept = []
        for k, (enter, stage) in enumerate(zip(self.enter, self.stages)):
            parts = (y, small[k + 1]) if k == 0 else (before, y, small[k + 1])
            before = enter(torch.cat(parts, 1))
            y = stage(before)
            kept.append(y)
        out = []
        for k, side in enumerate((kept[1], kept[0], None)):
            y = size(self.up[k](y), 2.0)
            y = self.mix[k](y if side is None else torch.cat((y, side), 1))
            if k:
                out.append(size(self.last[k - 1](y), 2.0).sigmoid())
        return tuple(out)


# ---- an audio codec
class Snac(nn.Module):
    """SNAC's decoder: codes of three rates, the slower ones repeated; attention in windows, then
    transposed convolutions and depthwise ones of several dilations."""

    class Snake(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a = nn.Parameter(0.5 + torch.rand(1, c, 1))

        def forward(self, x):
            return x + (self.a + 1e-9).reciprocal() * (self.a * x).sin().pow(2)

    class Unit(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.inner = nn.Sequential(
                Snac.Snake(c),
                nn.Conv1d(c, c, 7, 1, 3 * d, d, groups=c),
                Snac.Snake(c),
                nn.Conv1d(c, c, 1),
            )

        def forward(self, x):
            return x + self.inner(x)

    class Local(nn.Module):
        def __init__(self, c, heads=8, size=32):
            super().__init__()
            self.norm, self.qkv, self.o = (
                nn.LayerNorm(c),
                nn.Linear(c, 3 * c, False),
                nn.Linear(c, c),
            )
            self.heads, self.size = heads, size
            turn = torch.arange(size)[:, None] / 1e4 ** (torch.arange(0, c // heads, 2) / c * heads)
            turn = torch.cat((turn, turn), -1)
            self.register_buffer("cos", turn.cos())
            self.register_buffer("sin", turn.sin())

        def turned(self, x):
            a, b = x.chunk(2, -1)
            return x * self.cos + torch.cat((-b, a), -1) * self.sin

        def forward(self, x):
            n, c, length = x.shape
            y = self.norm(x.transpose(1, 2))
            part = lambda y: y.reshape(n, -1, self.size, self.heads, c // self.heads).transpose(
                2, 3
            )
            q, k, v = map(part, self.qkv(y).chunk(3, -1))
            y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v)
            y = self.o(y.transpose(2, 3).reshape(n, length, c))
            return x + y.transpose(1, 2)

    def __init__(self, latent=384, c=512, rates=(8, 8, 4, 2), words=4096, width=8):
        super().__init__()
        self.words = nn.ModuleList(nn.Embedding(words, width) for _ in range(3))
        self.enter = nn.ModuleList(nn.Conv1d(width, latent, 1) for _ in range(3))
        self.first = nn.Sequential(
            nn.Conv1d(latent, latent, 7, 1, 3, groups=latent), nn.Conv1d(latent, c, 1)
        )
        self.local, stages = self.Local(c), []
        for r in rates:
            stages += [self.Snake(c), nn.ConvTranspose1d(c, c // 2, 2 * r, r, r // 2)]
            c //= 2
            stages += [self.Unit(c, d) for d in (1, 3, 9)]
        self.stages = nn.Sequential(*stages, self.Snake(c), nn.Conv1d(c, 1, 7, 1, 3), nn.Tanh())

    def forward(self, slow, middle, fast):
        x = 0
        for words, enter, codes, times in zip(
            self.words, self.enter, (slow, middle, fast), (4, 2, 1)
        ):
            y = enter(words(codes).transpose(1, 2))
            x = x + y.unsqueeze(-1).expand(-1, -1, -1, times).flatten(2)
        return self.stages(self.local(self.first(x)))


# ---- a time series
class TimeMixer(nn.Module):
    """TimeMixer: the series at several resolutions, each split into its season and its trend, which
    are mixed from fine to coarse and back; the forecasts of all resolutions are added."""

    def __init__(self, length=96, ahead=96, c=16, paces=3, layers=2, window=25):
        super().__init__()
        self.paces, self.window, self.layers = paces, window, layers
        sizes = [length >> k for k in range(paces + 1)]
        step = lambda i, o: rows(i, o, o, act=nn.GELU)
        up = zip(sizes, sizes[1:])
        pairs = list(up)
        self.season = nn.ModuleList(
            nn.ModuleList(step(i, o) for i, o in pairs) for _ in range(layers)
        )
        self.trend = nn.ModuleList(
            nn.ModuleList(step(o, i) for i, o in reversed(pairs)) for _ in range(layers)
        )
        self.ends = nn.ModuleList(rows(c, 2 * c, c, act=nn.GELU) for _ in range(layers))
        self.enter = nn.Conv1d(1, c, 3, padding=1, padding_mode="circular", bias=False)
        self.future = nn.ModuleList(nn.Linear(s, ahead) for s in sizes)
        self.last = nn.Linear(c, 1)

    def forward(self, x):
        n, length, columns = x.shape
        middle = x.mean(1, keepdim=True)
        spread = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = ((x - middle) / spread).transpose(1, 2)
        levels = [x]
        for _ in range(self.paces):
            levels.append(F.avg_pool1d(levels[-1], 2))
        levels = [self.enter(y.reshape(n * columns, 1, -1)) for y in levels]
        half = self.window // 2
        for season, trend, ends in zip(self.season, self.trend, self.ends):
            slow = [
                F.avg_pool1d(F.pad(y, (half, half), mode="replicate"), self.window, 1)
                for y in levels
            ]
            fast = [y - s for y, s in zip(levels, slow)]
            for k, layer in enumerate(season):
                fast[k + 1] = fast[k + 1] + layer(fast[k])
            slow = slow[::-1]
            for k, layer in enumerate(trend):
                slow[k + 1] = slow[k + 1] + layer(slow[k])
            both = [(a + b).transpose(1, 2) for a, b in zip(fast, slow[::-1])]
            levels = [y + ends(z).transpose(1, 2) for y, z in zip(levels, both)]
        told = sum(f(y) for f, y in zip(self.future, levels))
        told = self.last(told.transpose(1, 2)).reshape(n, columns, -1).transpose(1, 2)
        return told * spread + middle


# ---- point clouds
class PaConv(nn.Module):
    """PAConv: classification of point clouds: each neighbour is multiplied by a matrix of its own,
    a mixture of a few, weighed by its position."""

    class Layer(nn.Module):
        def __init__(self, i, o, m=8):
            super().__init__()
            self.m, self.o = m, o
            self.bank = nn.Parameter(torch.randn(2 * i, m * o) * (2 / i) ** 0.5)
            self.score = nn.Sequential(
                nn.Conv2d(7, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, m, 1)
            )
            self.norm = nn.BatchNorm1d(o)

        def forward(self, x, near, place):
            n, c, size = x.shape
            score = self.score(place).permute(0, 2, 3, 1).softmax(-1)
            y = x.transpose(1, 2)
            own, other = self.bank[:c] - self.bank[c:], self.bank[c:]
            ends = (y @ other).view(n, size, self.m, self.o)
            own = (y @ own).view(n, size, self.m, self.o)
            k = near.shape[-1]
            at = near.reshape(n, -1, 1, 1).expand(-1, -1, self.m, self.o)
            ends = ends.gather(1, at).view(n, size, k, self.m, self.o) + own[:, :, None]
            y = (score.unsqueeze(-2) @ ends).squeeze(-2)
            return F.relu(self.norm(y.sum(2).transpose(1, 2)))

    def __init__(self, k=20, kinds=40):
        super().__init__()
        self.k, widths = k, (3, 64, 64, 128, 256)
        self.layers = nn.ModuleList(self.Layer(i, o) for i, o in zip(widths, widths[1:]))
        self.mix = nn.Sequential(nn.Conv1d(512, 512, 1, bias=False), nn.BatchNorm1d(512), nn.ReLU())
        self.last = nn.Sequential(
            nn.Linear(1024, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, kinds)
        )

    def forward(self, x):
        n, _, size = x.shape
        square = (x * x).sum(1, keepdim=True)
        apart = 2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)
        near = apart.topk(self.k, -1).indices
        points = x.transpose(1, 2)
        at = near.reshape(n, -1, 1).expand(-1, -1, 3)
        other = points.gather(1, at).view(n, size, self.k, 3)
        way = other - points[:, :, None]
        far = way.square().sum(-1, keepdim=True).clamp(min=1e-9).sqrt()
        place = torch.cat((way, far, other), -1).permute(0, 3, 1, 2)
        kept = []
        for layer in self.layers:
            x = layer(x, near, place)
            kept.append(x)
        y = self.mix(torch.cat(kept, 1))
        return self.last(torch.cat((y.amax(-1), y.mean(-1)), 1))


PICTURE = {"x": ((1, 3, "high=48", "wide=48"), None)}
model("hat_x2", PICTURE, script=True, opset=17)(Hat)
model("lite_mono", {"x": ((1, 3, 192, 256), None)}, opset=17)(LiteMono)
CODES = {n: ((1, f"{n}s={size}"), 4096) for n, size in (("slow", 16), ("middle", 32), ("fast", 64))}
model("snac_decoder", CODES, script=True, opset=16)(Snac)
model("time_mixer", {"x": (("batch=16", 96, 21), None)}, script=True, opset=17)(TimeMixer)
model("pa_conv", {"x": ((1, 3, 256), None)}, opset=18)(PaConv)
