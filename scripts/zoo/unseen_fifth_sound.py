"""Sound and language: see unseen_fifth.py."""

from zoo import SOURCES, model, nn, tokens, torch, transformer

SOURCES.append(__file__)
F = nn.functional


# ---- sound
class RnNoise(nn.Module):
    """Gains of 22 bands: three recurrences, each of which sees what came before."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(42, 24)
        self.voice = nn.GRU(24, 24, batch_first=True)
        self.noise = nn.GRU(24 + 24 + 42, 48, batch_first=True)
        self.gain = nn.GRU(48 + 24 + 42, 96, batch_first=True)
        self.end, self.there = nn.Linear(96, 22), nn.Linear(24, 1)

    def forward(self, x):
        y = self.first(x).tanh()
        voice = self.voice(y)[0].relu()
        noise = self.noise(torch.cat([y, voice, x], 2))[0].relu()
        gains = self.gain(torch.cat([voice, noise, x], 2))[0].relu()
        return torch.cat([self.end(gains).sigmoid(), self.there(voice).sigmoid()], 2)


model("rnnoise", {"x": ((1, 200, 42), None)}, script=True)(RnNoise)


class Dtln(nn.Module):
    """Noise suppression in two stages: by a mask over a spectrum made of products, and over a
    learned basis."""

    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.gamma, self.beta = nn.Parameter(torch.ones(1, 1, c)), nn.Parameter(
                torch.zeros(1, 1, c)
            )

        def forward(self, x):
            mean = x.mean(-1, keepdim=True)
            spread = (x - mean).square().mean(-1, keepdim=True)
            return (x - mean) / (spread + 1e-7).sqrt() * self.gamma + self.beta

    def __init__(self, n=512, hop=128, c=128, basis=256):
        super().__init__()
        t, f = torch.arange(n).float(), torch.arange(n // 2 + 1).float()[:, None]
        angle = 2 * torch.pi * f * t / n
        self.register_buffer("dft", torch.cat([angle.cos(), -angle.sin()])[:, None])
        self.register_buffer("back", torch.cat([angle.cos(), -angle.sin()]) / n)
        self.hop, self.bins = hop, n // 2 + 1
        lstm = lambda i: nn.LSTM(i, c, 2, batch_first=True)
        self.a, self.end_a = lstm(self.bins), nn.Linear(c, self.bins)
        self.coder = nn.Conv1d(n, basis, 1, bias=False)
        self.norm, self.b, self.end_b = self.Norm(basis), lstm(basis), nn.Linear(c, basis)
        self.decoder = nn.Conv1d(basis, n, 1, bias=False)
        self.register_buffer("frames", torch.eye(n)[:, None])

    def forward(self, x):
        parts = F.conv1d(x[:, None], self.dft, stride=self.hop)
        re, im = parts.chunk(2, 1)
        size = (re * re + im * im + 1e-7).sqrt()
        mask = self.end_a(self.a(size.log().transpose(1, 2))[0]).sigmoid().transpose(1, 2)
        angle = torch.atan(im / (re.abs() + 1e-5)) * re.sign()
        parts = torch.cat([size * mask * angle.cos(), size * mask * angle.sin()], 1)
        y = self.coder((parts.transpose(1, 2) @ self.back).transpose(1, 2)).transpose(1, 2)
        mask = self.end_b(self.b(self.norm(y))[0]).sigmoid()
        y = self.decoder((y * mask).transpose(1, 2))
        return F.conv_transpose1d(y, self.frames, stride=self.hop)[:, 0]


model("dtln", {"x": ((1, 16000), None)}, script=True)(Dtln)


class Conformer(nn.Module):
    """Attention with relative places by the shift of a padded map, halves of feed-forwards, gated
    and depthwise convolutions; the frames are first thinned by two strided convolutions."""

    class Block(nn.Module):
        def __init__(self, c, heads=4, k=15):
            super().__init__()
            self.heads, self.d = heads, c // heads
            ff = lambda: nn.Sequential(
                nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c)
            )
            self.f1, self.f2, self.na, self.nc, self.end = (
                ff(),
                ff(),
                *(nn.LayerNorm(c) for _ in "ace"),
            )
            self.q, self.k, self.v, self.o = (nn.Linear(c, c) for _ in "qkvo")
            self.p = nn.Linear(c, c, bias=False)
            self.u, self.w = (nn.Parameter(torch.randn(heads, self.d) / 8) for _ in "uw")
            self.wide, self.back = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 1)
            self.deep, self.norm = nn.Conv1d(c, c, k, padding=k // 2, groups=c), nn.BatchNorm1d(c)

        def look(self, x, place):
            b, n, c = x.shape
            split = lambda y: y.view(1, -1, self.heads, self.d)
            q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
            p = split(self.p(place)).transpose(1, 2)
            own = (q + self.u).transpose(1, 2) @ k.permute(0, 2, 3, 1)
            rel = (q + self.w).transpose(1, 2) @ p.transpose(-2, -1)
            rel = (
                F.pad(rel, (1, 0))
                .view(1, self.heads, -1, n)[:, :, 1:]
                .reshape(1, self.heads, n, -1)
            )
            a = ((own + rel[..., :n]) / self.d**0.5).softmax(-1)
            return self.o((a @ v.transpose(1, 2)).transpose(1, 2).reshape(b, n, c))

        def forward(self, x, place):
            x = x + 0.5 * self.f1(x)
            x = x + self.look(self.na(x), place)
            y = F.glu(self.wide(self.nc(x).transpose(1, 2)), 1)
            x = x + self.back(F.silu(self.norm(self.deep(y)))).transpose(1, 2)
            return self.end(x + 0.5 * self.f2(x))

    def __init__(self, c=256, features=80, layers=2, frames=200):
        super().__init__()
        self.thin = nn.Sequential(
            nn.Conv2d(1, c, 3, 2), nn.ReLU(), nn.Conv2d(c, c, 3, 2), nn.ReLU()
        )
        inner = lambda n: ((n - 1) // 2 - 1) // 2
        self.first = nn.Linear(c * inner(features), c)
        self.body = nn.ModuleList(self.Block(c) for _ in range(layers))
        self.register_buffer("place", torch.randn(1, 2 * inner(frames) - 1, c))
        self.end = nn.Linear(c, 500)

    def forward(self, x):
        x = self.thin(x[:, None])
        b, c, t, f = x.shape
        x = self.first(x.transpose(1, 2).reshape(b, t, c * f)) * 16.0
        for part in self.body:
            x = part(x, self.place)
        return self.end(x).log_softmax(-1)


model("conformer", {"x": ((1, 200, 80), None)}, script=True)(Conformer)


class Zipformer(nn.Module):
    """Swoosh activations, norms by a learned bias, attention weights used twice, one stack at half
    the frames, learned shortcuts."""

    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.bias, self.scale = nn.Parameter(torch.randn(c) / 50), nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return x * (x - self.bias).square().mean(-1, keepdim=True) ** -0.5 * self.scale.exp()

    class Block(nn.Module):
        def __init__(self, c, heads=4, d=32, k=31):
            super().__init__()
            self.heads, self.d, self.qk = heads, d, nn.Linear(c, 2 * heads * d)
            self.v, self.o = nn.Linear(c, heads * 12), nn.Linear(heads * 12, c)
            self.a, self.b, self.g = (nn.Linear(c, 3 * c // 4) for _ in "abg")
            self.ng = nn.Linear(3 * c // 4, c)
            ff = lambda m: nn.ModuleList((nn.Linear(c, m), nn.Linear(m, c)))
            self.f1, self.f2 = ff(3 * c), ff(4 * c)
            self.wide, self.back = nn.Linear(c, 2 * c), nn.Linear(c, c)
            self.deep, self.norm = nn.Conv1d(c, c, k, padding=k // 2, groups=c), Zipformer.Norm(c)
            self.short = nn.Parameter(torch.full((c,), 0.5))

        def ff(self, x, f):
            y = f[0](x)
            return f[1](torch.logaddexp(torch.zeros(()), y - 4.0) - 0.08 * y - 0.035)  # SwooshL

        def forward(self, x):
            b, n, c = x.shape
            first, split = x, lambda y, d: y.reshape(n, self.heads, d).transpose(0, 1)
            q, k = self.qk(x[0]).chunk(2, -1)
            a = (split(q, self.d) @ split(k, self.d).transpose(1, 2)).softmax(-1)
            mix = lambda v, d: (a @ split(v, d)).transpose(0, 1).reshape(1, n, -1)
            x = x + self.ff(x, self.f1)
            side = self.a(x).tanh() * self.b(x)
            y = (a[:1] @ side).reshape(1, n, -1) * self.g(x)
            x = x + self.ng(y)
            x = x + self.o(mix(self.v(x[0]), 12))
            y, gate = self.wide(x).chunk(2, -1)
            y = self.deep((y * gate.sigmoid()).transpose(1, 2)).transpose(1, 2)
            y = torch.logaddexp(torch.zeros(()), y - 1.0) - 0.08 * y - 0.313261687  # SwooshR
            x = x + self.back(y)
            x = self.norm(x + self.ff(x, self.f2))
            return first + (x - first) * self.short

    def __init__(self, c=192):
        super().__init__()
        self.first, self.end = nn.Linear(80, c), nn.Linear(c, 500)
        self.a, self.b, self.c = (self.Block(c) for _ in "abc")
        self.weights = nn.Parameter(torch.randn(2))

    def forward(self, x):
        x = self.a(self.first(x))
        b, n, c = x.shape
        y = (x.reshape(b, n // 2, 2, c) * self.weights.softmax(0)[:, None]).sum(2)
        y = self.b(y).unsqueeze(2).expand(b, n // 2, 2, c).reshape(b, n, c)
        return self.end(self.c(x + y)).log_softmax(-1)


model("zipformer", {"x": ((1, 128, 80), None)})(Zipformer)


class MatchBox(nn.Module):
    """Words of command: separable convolutions in one dimension with residuals, then one mean."""

    class Block(nn.Module):
        def __init__(self, c, o, k, r=2):
            super().__init__()
            layers = []
            for j in range(r):
                i = c if j == 0 else o
                layers += [nn.Conv1d(i, i, k, padding=k // 2, groups=i, bias=False)]
                layers += [nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o)]
                layers += [nn.ReLU()] if j < r - 1 else []
            self.body = nn.Sequential(*layers)
            self.side = nn.Sequential(nn.Conv1d(c, o, 1, bias=False), nn.BatchNorm1d(o))

        def forward(self, x):
            return F.relu(self.body(x) + self.side(x))

    def __init__(self, kinds=35):
        super().__init__()
        one = lambda i, o, k, d=1, s=1: [
            nn.Conv1d(i, i, k, s, d * (k // 2), d, groups=i, bias=False),
            nn.Conv1d(i, o, 1, bias=False),
            nn.BatchNorm1d(o),
            nn.ReLU(),
        ]
        b = self.Block
        layers = one(64, 128, 11, 1, 2) + [b(128, 64, 13), b(64, 64, 15), b(64, 64, 17)]
        layers += one(64, 128, 29, 2) + [nn.Conv1d(128, 128, 1), nn.BatchNorm1d(128), nn.ReLU()]
        self.body, self.end = nn.Sequential(*layers), nn.Linear(128, kinds)

    def forward(self, x):
        return self.end(F.adaptive_avg_pool1d(self.body(x), 1).squeeze(2))


model("matchboxnet", {"x": ((4, 64, 200), None)}, script=True)(MatchBox)


class Flow(nn.Module):
    """VITS: a chain of couplings, each a stack of dilated gated convolutions, then a decoder of
    transposed convolutions with residual blocks of three kernels."""

    class Couple(nn.Module):
        def __init__(self, c, h, n=4, k=5):
            super().__init__()
            self.first, self.end, self.h = nn.Conv1d(c // 2, h, 1), nn.Conv1d(h, c // 2, 1), h
            self.a = nn.ModuleList(nn.Conv1d(h, 2 * h, k, padding=k // 2) for _ in range(n))
            self.b = nn.ModuleList(nn.Conv1d(h, 2 * h if j < n - 1 else h, 1) for j in range(n))

        def forward(self, x):
            a, b = x.chunk(2, 1)
            h, kept = self.first(a), 0
            for j, (one, two) in enumerate(zip(self.a, self.b)):
                t, s = one(h).split(self.h, 1)
                y = two(t.tanh() * s.sigmoid())
                if j < len(self.a) - 1:
                    r, y = y.split(self.h, 1)
                    h = h + r
                kept = kept + y
            return torch.cat([a, b - self.end(kept)], 1)

    class Res(nn.Module):
        def __init__(self, c, k):
            super().__init__()
            one = lambda d: nn.Conv1d(c, c, k, padding=d * (k // 2), dilation=d)
            self.body = nn.ModuleList(one(d) for d in (1, 3))

        def forward(self, x):
            for part in self.body:
                x = x + part(F.leaky_relu(x, 0.1))
            return x

    def __init__(self, c=192, w=128):
        super().__init__()
        self.flow = nn.ModuleList(self.Couple(c, c) for _ in range(2))
        self.first, self.last = nn.Conv1d(c, w, 7, padding=3), nn.Conv1d(w // 8, 1, 7, padding=3)
        grow = lambda k, s, p: nn.ConvTranspose1d(w >> k, w >> k + 1, 2 * s, s, p)
        self.up = nn.ModuleList((grow(0, 8, 4), grow(1, 8, 4), grow(2, 4, 2)))
        self.res = nn.ModuleList(
            nn.ModuleList(self.Res(w >> k, n) for n in (3, 5, 7)) for k in (1, 2, 3)
        )

    def forward(self, x):
        for part in self.flow:
            x = part(x.flip(1))
        x = self.first(x)
        for up, parts in zip(self.up, self.res):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(part(x) for part in parts) / 3
        return self.last(F.leaky_relu(x)).tanh()


model("vits_decoder", {"x": ((1, 192, 24), None)}, script=True)(Flow)


# ---- text
class Pooled(nn.Module):
    """A sentence as a vector of unit length: the mean of the words that are there."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, ids, mask):
        x = self.inner(input_ids=ids, attention_mask=mask).last_hidden_state
        there = mask[..., None].to(x.dtype)
        return F.normalize((x * there).sum(1) / there.sum(1).clamp(min=1e-9))


@model("sentence_minilm_3", tokens())
def sentence():
    import transformers

    return Pooled(
        transformers.BertModel(
            transformers.BertConfig(
                hidden_size=384,
                num_hidden_layers=3,
                num_attention_heads=12,
                intermediate_size=1536,
                vocab_size=4000,
            )
        )
    )


model("bart_decoder_2", {"ids": ((1, 24), 1000), "x": ((1, 48, 512), None)})(
    lambda: Crossed("MarianMTModel")
)


class Crossed(nn.Module):
    """The decoder of a translator, with what the encoder said, and its words."""

    def __init__(self, kind):
        super().__init__()
        import transformers

        settings = transformers.MarianConfig(
            vocab_size=8000,
            d_model=512,
            decoder_layers=2,
            encoder_layers=1,
            decoder_attention_heads=8,
            encoder_attention_heads=8,
            decoder_ffn_dim=2048,
            encoder_ffn_dim=2048,
            pad_token_id=0,
        )
        inner = getattr(transformers, kind)(settings)
        self.inner, self.words = inner.model.decoder, inner.lm_head

    def forward(self, ids, x):
        y = self.inner(input_ids=ids, encoder_hidden_states=x, use_cache=False)
        return self.words(y.last_hidden_state)


class T5Step(nn.Module):
    """One word of T5's decoder: own keys and values so far, those of the encoder, biases by
    buckets of distance."""

    def __init__(self, c=512, heads=8, d=64, words=8000, layers=2):
        super().__init__()
        self.words, self.heads, self.d = nn.Embedding(words, c), heads, d
        line = lambda: nn.Linear(c, heads * d, bias=False)
        self.own = nn.ModuleList(nn.ModuleList(line() for _ in "qkvo") for _ in range(layers))
        self.other = nn.ModuleList(nn.ModuleList(line() for _ in "qo") for _ in range(layers))
        self.ff = nn.ModuleList(
            nn.ModuleList(
                (nn.Linear(c, 1024, False), nn.Linear(c, 1024, False), nn.Linear(1024, c, False))
            )
            for _ in range(layers)
        )
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(c)) for _ in range(3 * layers + 1))
        self.bias = nn.Embedding(32, heads)

    def norm(self, x, k):
        return self.scales[k] * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def bucket(self, n):
        away = torch.arange(n - 1, -1, -1)
        far = 16 + (torch.log(away.float().clamp(min=1) / 16) / 2.0794415 * 16).long()
        return torch.where(away < 16, away, far.clamp(max=31))

    def forward(self, ids, k0, v0, ck, cv):
        x, split = self.words(ids), lambda y: y.view(1, 1, self.heads, self.d).transpose(1, 2)
        for j, (own, other, ff) in enumerate(zip(self.own, self.other, self.ff)):
            y = self.norm(x, 3 * j)
            k, v = torch.cat([k0, split(own[1](y))], 2), torch.cat([v0, split(own[2](y))], 2)
            bias = self.bias(self.bucket(k.shape[2])).t()[None, :, None]
            a = (split(own[0](y)) @ k.transpose(2, 3) + bias).softmax(-1)
            x = x + own[3]((a @ v).transpose(1, 2).reshape(1, 1, -1))
            y = self.norm(x, 3 * j + 1)
            a = (split(other[0](y)) @ ck.transpose(2, 3)).softmax(-1)
            x = x + other[1]((a @ cv).transpose(1, 2).reshape(1, 1, -1))
            y = self.norm(x, 3 * j + 2)
            x = x + ff[2](F.gelu(ff[0](y), approximate="tanh") * ff[1](y))
        return (self.norm(x, 3 * len(self.own)) * 512**-0.5) @ self.words.weight.t()


KEPT, SEEN = ((1, 8, 40, 64), None), ((1, 8, 64, 64), None)
model(
    "t5_step", {"ids": ((1, 1), 8000), "k": KEPT, "v": KEPT, "ck": SEEN, "cv": SEEN}, script=True
)(T5Step)
model("lfm2_4", tokens(4000, 48, mask=False))(
    transformer(
        "Lfm2Model",
        "Lfm2Config",
        "input_ids",
        call=("uncached",),
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=4000,
        layer_types=["conv", "conv", "full_attention", "conv"],
    )
)
model("olmo2_2", tokens(4000, 64, mask=False))(
    transformer(
        "Olmo2Model",
        "Olmo2Config",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=2,
        num_attention_heads=8,
        vocab_size=4000,
        pad_token_id=0,
    )
)
