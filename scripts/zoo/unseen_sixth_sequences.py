"""The sixth set of models of test/bench/UNSEEN.md: text, forms of attention, series, sound."""

from zoo import SOURCES, Step, model, nn, tokens, torch, transformer

SOURCES.append(__file__)
F = nn.functional

# ---- transformers
SMALL = {"vocab_size": 2000}
model("xlnet_2", tokens(2000), script=True)(
    transformer(
        "XLNetModel", "XLNetConfig", d_model=256, n_layer=2, n_head=4, d_inner=1024, **SMALL
    )
)
model("funnel", tokens(2000, "seq=64", mask=False), script=True)(
    transformer(
        "FunnelModel",
        "FunnelConfig",
        "input_ids",
        block_sizes=[1, 1, 1],
        num_decoder_layers=1,
        d_model=256,
        n_head=4,
        d_head=64,
        d_inner=1024,
        **SMALL,
    )
)
model("codegen_2", tokens(2000, mask=False))(
    transformer(
        "CodeGenModel",
        "CodeGenConfig",
        "input_ids",
        call=("uncached",),
        n_embd=512,
        n_layer=2,
        n_head=8,
        rotary_dim=32,
        **SMALL,
    )
)
model("falcon_2", tokens(2000, mask=False))(
    transformer(
        "FalconModel",
        "FalconConfig",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        num_hidden_layers=2,
        num_attention_heads=8,
        multi_query=True,
        parallel_attn=True,
        **SMALL,
    )
)
model("perceiver", {"x": (("batch=1", 128, 96), None)})(
    transformer(
        "PerceiverModel",
        "PerceiverConfig",
        "inputs",
        num_latents=64,
        d_latents=256,
        d_model=96,
        num_blocks=1,
        num_self_attends_per_block=3,
        num_self_attention_heads=4,
        num_cross_attention_heads=4,
    )
)
model("patch_ts_mixer", {"x": (("batch=4", 512, 7), None)})(
    transformer(
        "PatchTSMixerForPrediction",
        "PatchTSMixerConfig",
        "past_values",
        lambda out: out.prediction_outputs,
        context_length=512,
        patch_length=16,
        patch_stride=8,
        num_input_channels=7,
        d_model=64,
        num_layers=4,
        prediction_length=96,
    )
)


@model(
    "mistral_step",
    {"ids": ((1, 1), 2000)} | {n: ((1, 4, 96, 64), None) for n in ("k0", "v0", "k1", "v1")},
)
def mistral():
    import transformers

    settings = transformers.MistralConfig(
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=4,
        **SMALL,
    )
    return Step(transformers.MistralForCausalLM(settings), "logits")


# ---- attention of other kinds
class Retention(nn.Module):
    """RetNet's parallel form: decays by distance instead of a softmax, places as rotations, group
    norms, a gate."""

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.d = heads, c // heads
            line = lambda o=c: nn.Linear(c, o, bias=False)
            self.q, self.k, self.v, self.g, self.o = (line() for _ in "qkvgo")
            self.a, self.b, self.end = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(2 * c, c)
            self.norm, self.first = nn.GroupNorm(heads, c), nn.Linear(c, 2 * c)

        def turn(self, x, sin, cos):
            x = x.view(x.shape[0], -1, self.heads, self.d).transpose(1, 2)
            other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
            return x * cos + other * sin

        def forward(self, x, sin, cos, mask):
            y = self.a(x)
            b, n, c = x.shape
            q, k = self.turn(self.q(y), sin, cos), self.turn(self.k(y) * self.d**-0.5, sin, cos)
            v = self.v(y).view(b, n, self.heads, self.d).transpose(1, 2)
            a = q @ k.transpose(-1, -2) * mask
            a = a / a.detach().sum(-1, keepdim=True).abs().clamp(min=1)
            y = (a @ v).transpose(1, 2).reshape(b * n, c)
            x = x + self.o(F.silu(self.g(self.a(x))) * self.norm(y).view(b, n, c))
            return x + self.end(F.gelu(self.first(self.b(x))))

    def __init__(self, c=256, heads=4, layers=2, words=2000, n=64):
        super().__init__()
        self.words, self.end = nn.Embedding(words, c), nn.Linear(c, words, bias=False)
        self.body = nn.ModuleList(self.Block(c, heads) for _ in range(layers))
        angle = 1 / 10000 ** torch.linspace(0, 1, c // heads // 2)
        self.register_buffer("angle", angle.repeat_interleave(2))
        decay = torch.log(1 - 2 ** (-5 - torch.arange(heads).float()))
        self.register_buffer("decay", decay)

    def forward(self, ids):
        x, at = self.words(ids), torch.arange(ids.shape[1]).float()
        sin, cos = (at[:, None] * self.angle).sin(), (at[:, None] * self.angle).cos()
        away = at[:, None] - at
        mask = torch.where(away >= 0, (away * self.decay[:, None, None]).exp(), 0.0)
        mask = mask / mask.sum(-1, keepdim=True).sqrt()
        for part in self.body:
            x = part(x, sin, cos, mask)
        return self.end(x)


model("retnet_2", tokens(2000, mask=False))(Retention)


class LinearAttention(nn.Module):
    """Attention without a softmax over pairs: keys and values are summed first, by elu + 1."""

    def __init__(self, c=256, heads=8, layers=3):
        super().__init__()
        line = lambda i, o: nn.Linear(i, o)
        self.heads, self.d = heads, c // heads
        self.parts = nn.ModuleList(
            nn.ModuleDict(
                {
                    "q": line(c, c),
                    "k": line(c, c),
                    "v": line(c, c),
                    "o": line(c, c),
                    "n": nn.LayerNorm(c),
                    "m": nn.LayerNorm(c),
                    "f": nn.Sequential(line(2 * c, 2 * c), nn.ReLU(), line(2 * c, c)),
                }
            )
            for _ in range(layers)
        )

    def forward(self, x, source):
        for p in self.parts:
            split = lambda y: y.view(y.shape[0], -1, self.heads, self.d)
            q, k, v = split(p["q"](x)), split(p["k"](source)), split(p["v"](source))
            q, k = F.elu(q) + 1, F.elu(k) + 1
            length = v.shape[1]
            kv = torch.einsum("nshd,nshv->nhdv", k, v / length)
            z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(1)) + 1e-6)
            y = torch.einsum("nlhd,nhdv,nlh->nlhv", q, kv, z) * length
            y = p["n"](p["o"](y.reshape(x.shape)))
            x = x + p["m"](p["f"](torch.cat([x, y], 2)))
        return x


PLACES = ((1, 400, 256), None)
model("linear_attention", {"x": PLACES, "source": PLACES}, script=True)(LinearAttention)


class SetTransformer(nn.Module):
    """Induced points attend to a set and the set to them; pooled by seeds."""

    class Mab(nn.Module):
        def __init__(self, c, heads=4):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(c, c) for _ in "qkvo")
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)

        def forward(self, x, y):
            q, k, v = self.q(x), self.k(y), self.v(y)
            c = q.shape[2]
            q, k, v = (torch.cat(t.split(c // self.heads, 2), 0) for t in (q, k, v))
            a = (q.bmm(k.transpose(1, 2)) / c**0.5).softmax(2)
            o = torch.cat((q + a.bmm(v)).split(x.shape[0], 0), 2)
            o = self.a(o)
            return self.b(o + F.relu(self.o(o)))

    def __init__(self, c=128, points=16):
        super().__init__()
        self.first, self.end = nn.Linear(3, c), nn.Linear(c, 40)
        self.points = nn.ParameterList(nn.Parameter(torch.randn(1, points, c)) for _ in "ab")
        self.into, self.back = (nn.ModuleList(self.Mab(c) for _ in "ab") for _ in "tb")
        self.seed, self.pool = nn.Parameter(torch.randn(1, 1, c)), self.Mab(c)

    def forward(self, x):
        b, x = x.shape[0], self.first(x)
        for point, into, back in zip(self.points, self.into, self.back):
            x = back(x, into(point.expand(b, -1, -1), x))
        return self.end(self.pool(self.seed.expand(b, -1, -1), x))[:, 0]


model("set_transformer", {"x": ((4, 256, 3), None)}, script=True)(SetTransformer)


# ---- series
class Autoformer(nn.Module):
    """Trend and season by moving averages with repeated borders, a token embedding by a circular
    convolution, attention between them."""

    def __init__(self, c=128, kernel=25, channels=7, n=96):
        super().__init__()
        self.kernel, self.n = kernel, n
        self.embed = nn.Conv1d(channels, c, 3, padding=1, padding_mode="circular", bias=False)
        layer = lambda: nn.ModuleDict(
            {
                "look": nn.MultiheadAttention(c, 8, batch_first=True),
                "a": nn.Conv1d(c, 2 * c, 1, bias=False),
                "b": nn.Conv1d(2 * c, c, 1, bias=False),
                "trend": nn.Conv1d(c, channels, 3, padding=1, padding_mode="circular", bias=False),
            }
        )
        self.layers = nn.ModuleList(layer() for _ in "abc")
        self.norm, self.end = nn.LayerNorm(c), nn.Linear(c, channels)

    def split(self, x):
        side = (self.kernel - 1) // 2
        y = torch.cat([x[:, :1].repeat(1, side, 1), x, x[:, -1:].repeat(1, side, 1)], 1)
        y = F.avg_pool1d(y.transpose(1, 2), self.kernel, 1).transpose(1, 2)
        return x - y, y

    def forward(self, x):
        season, trend = self.split(x)
        x = self.embed(season.transpose(1, 2)).transpose(1, 2)
        for p in self.layers:
            x, a = self.split(x + p["look"](x, x, x, need_weights=False)[0])
            y = p["b"](F.gelu(p["a"](x.transpose(1, 2)))).transpose(1, 2)
            x, b = self.split(x + y)
            trend = trend + p["trend"]((a + b).transpose(1, 2)).transpose(1, 2)
        x = self.norm(x)
        x = x - x.mean(1, keepdim=True)
        return self.end(x) + trend


model("autoformer", {"x": (("batch=4", 96, 7), None)})(Autoformer)


class DeepAr(nn.Module):
    """Cells of an LSTM written out over twelve steps, each given what the last one said."""

    def __init__(self, h=64, steps=12, given=8):
        super().__init__()
        self.cells, self.steps = (
            nn.ModuleList((nn.LSTMCell(1 + given, h), nn.LSTMCell(h, h))),
            steps,
        )
        self.mean, self.spread = nn.Linear(h, 1), nn.Linear(h, 1)

    def forward(self, x, given):
        b = x.shape[0]
        states, out = [None, None], []
        for t in range(self.steps):
            y = torch.cat([x, given[:, t]], 1)
            for k, cell in enumerate(self.cells):
                states[k] = cell(y, states[k])
                y = states[k][0]
            x = self.mean(y)
            out.append(torch.cat([x, F.softplus(self.spread(y))], 1))
        return torch.stack(out, 1)


model("deep_ar", {"x": ((16, 1), None), "given": ((16, 12, 8), None)})(DeepAr)


# ---- sound
@model("crepe", {"x": (("batch=4", 1024), None)}, script=True)
def crepe(scale=4):
    """Pitch: wide kernels on a wave, batch norms after the activations."""

    class Pitch(nn.Module):
        def __init__(self):
            super().__init__()
            outs = [o // scale for o in (256, 32, 32, 128, 256, 512)]
            ins = [1] + outs[:-1]
            one = lambda i, o, k, s: (
                (
                    nn.ZeroPad2d((0, 0, (k - 1) // 2, k // 2))
                    if s == 1
                    else nn.ZeroPad2d((0, 0, 254, 254))
                ),
                nn.Conv2d(i, o, (k, 1), (s, 1)),
                nn.ReLU(),
                nn.BatchNorm2d(o),
                nn.MaxPool2d((2, 1)),
            )
            sizes = zip(ins, outs, (512, 64, 64, 64, 64, 64), (4, 1, 1, 1, 1, 1))
            self.body = nn.Sequential(*(part for s in sizes for part in one(*s)))
            self.end = nn.Linear(4 * outs[-1], 360)

        def forward(self, x):
            x = self.body(x[:, None, :, None])
            return self.end(x.permute(0, 2, 1, 3).flatten(1)).sigmoid()

    return Pitch()


class DeepSpeech(nn.Module):
    """Two strided convolutions with clipped activations, two-way GRUs with batch norms between."""

    def __init__(self, h=192, words=29):
        super().__init__()
        one = lambda i, o, k, s, p: (
            nn.Conv2d(i, o, k, s, p),
            nn.BatchNorm2d(o),
            nn.Hardtanh(0, 20),
        )
        self.body = nn.Sequential(
            *one(1, 32, (41, 11), (2, 2), (20, 5)), *one(32, 32, (21, 11), (2, 1), (10, 5))
        )
        self.grus = nn.ModuleList(
            nn.GRU(32 * 20 if k == 0 else h, h, bidirectional=True, batch_first=True)
            for k in (0, 1)
        )
        self.norm, self.end = nn.BatchNorm1d(h), nn.Linear(h, words)

    def forward(self, x):
        x = self.body(x)
        b, c, f, t = x.shape
        x = x.view(b, c * f, t).transpose(1, 2)
        for k, gru in enumerate(self.grus):
            x = self.norm(x.transpose(1, 2)).transpose(1, 2) if k else x
            x = gru(x)[0]
            x = x.view(b, t, 2, -1).sum(2)
        return self.end(x).softmax(-1)


model("deep_speech2", {"x": ((1, 1, 80, 120), None)}, script=True)(DeepSpeech)


class Tacotron(nn.Module):
    """Six frames of the decoder: two cells, attention that depends on where it was before, then a
    network over all frames."""

    def __init__(self, c=256, mel=40, steps=6, seen=128):
        super().__init__()
        self.steps, self.mel, self.c = steps, mel, c
        self.before = nn.Sequential(nn.Linear(mel, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.one, self.two = nn.LSTMCell(128 + c, c), nn.LSTMCell(2 * c, c)
        self.query, self.memory = nn.Linear(c, seen, bias=False), nn.Linear(c, seen, bias=False)
        self.place, self.line = nn.Conv1d(2, 16, 31, padding=15, bias=False), nn.Linear(
            16, seen, False
        )
        self.score, self.out = nn.Linear(seen, 1, bias=False), nn.Linear(2 * c, mel)
        post = lambda i, o: (nn.Conv1d(i, o, 5, padding=2), nn.BatchNorm1d(o), nn.Tanh())
        self.post = nn.Sequential(
            *post(mel, 128), *post(128, 128), nn.Conv1d(128, mel, 5, padding=2)
        )

    def forward(self, memory):
        b, n, c = memory.shape
        frame, context = memory.new_zeros(b, self.mel), memory.new_zeros(b, c)
        weight = total = memory.new_zeros(b, n)
        keys, s, t, out = self.memory(memory), None, None, []
        for _ in range(self.steps):
            s = self.one(torch.cat([self.before(frame), context], 1), s)
            where = self.line(self.place(torch.stack((weight, total), 1)).transpose(1, 2))
            score = self.score((self.query(s[0])[:, None] + where + keys).tanh())[..., 0]
            weight = score.softmax(1)
            total = total + weight
            context = (weight[:, None] @ memory)[:, 0]
            t = self.two(torch.cat([s[0], context], 1), t)
            frame = self.out(torch.cat([t[0], context], 1))
            out.append(frame)
        x = torch.stack(out, 2)
        return x + self.post(x)


model("tacotron_steps", {"memory": ((1, 60, 256), None)})(Tacotron)


class SepFormer(nn.Module):
    """Speech taken apart: chunks with half an overlap, transformers within and across chunks,
    added up again."""

    def __init__(self, c=96, k=16, stride=8, chunk=50):
        super().__init__()
        self.into, self.back = nn.Conv1d(1, c, k, stride), nn.ConvTranspose1d(c, 1, k, stride)
        self.norm, self.line, self.chunk = nn.GroupNorm(1, c), nn.Conv1d(c, c, 1), chunk
        layer = lambda: nn.TransformerEncoderLayer(
            c, 4, 4 * c, 0.0, batch_first=True, norm_first=True
        )
        self.inner, self.outer = nn.ModuleList(layer() for _ in "ab"), nn.ModuleList(
            layer() for _ in "ab"
        )
        self.norms = nn.ModuleList(nn.GroupNorm(1, c) for _ in "abcd")
        self.two, self.act = nn.Conv2d(c, 2 * c, 1), nn.PReLU()

    def forward(self, x):
        e = self.into(x[:, None]).relu()
        y = self.line(self.norm(e))
        b, c, n = y.shape
        h = self.chunk // 2
        y = F.pad(y, (h, h + (-n) % h))
        one, two = y[:, :, :-h].reshape(b, c, -1, h), y[:, :, h:].reshape(b, c, -1, h)
        y = torch.cat([one, two], 3)
        s = y.shape[2]
        for k, (inner, outer) in enumerate(zip(self.inner, self.outer)):
            z = inner(y.permute(0, 2, 3, 1).reshape(b * s, 2 * h, c)).view(b, s, 2 * h, c)
            y = y + self.norms[2 * k](z.permute(0, 3, 1, 2))
            z = outer(y.permute(0, 3, 2, 1).reshape(b * 2 * h, s, c)).view(b, 2 * h, s, c)
            y = y + self.norms[2 * k + 1](z.permute(0, 3, 2, 1))
        y = self.two(self.act(y)).reshape(b * 2, c, s, 2 * h)
        one, two = y[..., :h].flatten(2), y[..., h:].flatten(2)
        y = one[:, :, h:] + two[:, :, :-h]
        masks = y[:, :, :n].reshape(b, 2, c, n).relu()
        return self.back((masks * e[:, None]).flatten(0, 1)).view(b, 2, -1)


model("sepformer", {"x": ((1, 6400), None)})(SepFormer)
