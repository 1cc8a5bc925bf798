"""Small networks of the ninth set of test/bench/UNSEEN.md, written after their papers or their
published code: sounds, series, points, games, recommendations, text."""

from unseen_ninth_small import rows
from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


# ---- sound, series
class Glow(nn.Module):
    """WaveGlow backwards: couplings whose factors come from gated dilated convolutions."""

    def __init__(self, c=8, hidden=48, mel=20, flows=4):
        super().__init__()
        self.mix = nn.ParameterList(torch.linalg.qr(torch.randn(c, c))[0] for _ in range(flows))
        self.first = nn.ModuleList(nn.Conv1d(c // 2, hidden, 1) for _ in range(flows))
        one = lambda d: nn.Conv1d(hidden, 2 * hidden, 3, 1, d, d)
        self.inner = nn.ModuleList(nn.ModuleList(map(one, (1, 2, 4))) for _ in range(flows))
        self.mels = nn.ModuleList(nn.Conv1d(mel, 6 * hidden, 1) for _ in range(flows))
        self.end = nn.ModuleList(nn.Conv1d(hidden, c, 1) for _ in range(flows))

    def forward(self, x, mel):
        for mix, first, inner, mels, end in zip(
            self.mix, self.first, self.inner, self.mels, self.end
        ):
            a, b = x.chunk(2, 1)
            h = first(a)
            for layer, m in zip(inner, mels(mel).chunk(3, 1)):
                p, q = (layer(h) + m).chunk(2, 1)
                h = h + p.tanh() * q.sigmoid()
            t, s = end(h).chunk(2, 1)
            x = torch.cat([a, (b - t) * (-0.1 * s).exp()], 1)
            x = F.conv1d(x, mix[:, :, None])
        return x


class LongFilter(nn.Module):
    """Hyena: gates around long filters that a small network of sines makes, by FFT."""

    def __init__(self, c=64, length=128, order=2):
        super().__init__()
        self.order, self.first = order, nn.Linear(c, (order + 1) * c)
        self.short = nn.Conv1d(
            (order + 1) * c, (order + 1) * c, 3, padding=2, groups=(order + 1) * c
        )
        self.a, self.b = nn.Linear(5, 32), nn.Linear(32, order * c)
        t = torch.linspace(0, 1, length)[:, None]
        turns = torch.arange(1, 3)[None] * t * 6.283
        self.register_buffer("t", torch.cat([t, turns.sin(), turns.cos()], 1))
        self.skip, self.end = nn.Parameter(torch.randn(order, c)), nn.Linear(c, c)

    def forward(self, x):
        n = x.shape[1]
        parts = self.short(self.first(x).transpose(1, 2))[..., :n].chunk(self.order + 1, 1)
        k = (self.b(self.a(self.t).sin()) * (-3 * self.t[:, :1]).exp()).T.view(self.order, -1, n)
        y = parts[-1]
        for i in range(self.order):
            f = torch.fft.rfft(k[i], n=2 * n) * torch.fft.rfft(y, n=2 * n)
            y = parts[i] * (torch.fft.irfft(f, n=2 * n)[..., :n] + y * self.skip[i][:, None])
        return self.end(y.transpose(1, 2))


class GraphWave(nn.Module):
    """Graph WaveNet: gated dilated convolutions in time, powers of matrices between sensors."""

    def __init__(self, c=32, nodes=60, layers=4):
        super().__init__()
        self.e, self.f = nn.Parameter(torch.randn(nodes, 10)), nn.Parameter(torch.randn(10, nodes))
        self.first = nn.Conv2d(2, c, 1)
        step = lambda k: nn.Conv2d(c, c, (1, 2), dilation=(1, 2 ** (k % 2)))
        self.p, self.q = (nn.ModuleList(map(step, range(layers))) for _ in "ab")
        self.skip = nn.ModuleList(nn.Conv2d(c, 128, 1) for _ in range(layers))
        self.mix = nn.ModuleList(nn.Conv2d(3 * c, c, 1) for _ in range(layers))
        self.n = nn.ModuleList(nn.BatchNorm2d(c) for _ in range(layers))
        self.a, self.b = nn.Conv2d(128, 128, 1), nn.Conv2d(128, 12, 1)

    def forward(self, x):
        m = (self.e @ self.f).relu().softmax(1)
        x, total = self.first(F.pad(x, (1, 0, 0, 0))), 0
        for p, q, skip, mix, norm in zip(self.p, self.q, self.skip, self.mix, self.n):
            old, y = x, p(x).tanh() * q(x).sigmoid()
            s = skip(y)
            total = s if isinstance(total, int) else s + total[..., -s.shape[3] :]
            near = torch.einsum("bcnt,nm->bcmt", y, m)
            far = torch.einsum("bcnt,nm->bcmt", near, m)
            x = norm(mix(torch.cat([y, near, far], 1)) + old[..., -y.shape[3] :])
        return self.b(self.a(total.relu()).relu())


class Dense(nn.Module):
    """TiDE: residual blocks of rows, features of dates packed, an addition of a linear forecast."""

    class Block(nn.Module):
        def __init__(self, i, h, o):
            super().__init__()
            self.a, self.b, self.skip, self.n = (
                nn.Linear(i, h),
                nn.Linear(h, o),
                nn.Linear(i, o),
                nn.LayerNorm(o),
            )

        def forward(self, x):
            return self.n(self.b(self.a(x).relu()) + self.skip(x))

    def __init__(self, past=96, future=24, dates=6, h=128):
        super().__init__()
        self.past, self.future, self.pack = past, future, self.Block(dates, 64, 4)
        self.body = nn.Sequential(
            self.Block(past + 4 * (past + future), h, h), self.Block(h, h, 8 * future)
        )
        self.time, self.line = self.Block(12, 32, 1), nn.Linear(past, future)

    def forward(self, x, dates):
        b, n, d = x.shape
        mean = x.mean(1, keepdim=True)
        y = (x - mean).transpose(1, 2)
        packed = self.pack(dates)
        wide = packed.flatten(1)[:, None].expand(-1, d, -1)
        z = self.body(torch.cat([y, wide], 2)).view(b, d, self.future, 8)
        near = packed[:, None, self.past :].expand(-1, d, -1, -1)
        out = self.time(torch.cat([z, near], 3)).squeeze(3) + self.line(y)
        return out.transpose(1, 2) + mean


model("wave_glow", {"x": ((1, 8, 400), None), "mel": ((1, 20, 400), None)})(Glow)
model("hyena", {"x": ((2, 128, 64), None)})(LongFilter)
model("graph_wavenet", {"x": ((4, 2, 60, 12), None)}, script=True)(GraphWave)
model("tide", {"x": ((8, 96, 7), None), "dates": ((8, 120, 6), None)})(Dense)


# ---- points, games, recommendations, text
class Sparse(nn.Module):
    """RandLA-Net: given neighbours, places relative to them, attention pooling."""

    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.place, self.score = nn.Linear(10, i), nn.Linear(2 * i, 2 * i, bias=False)
            self.end = nn.Linear(2 * i, o)

        def forward(self, p, x, near):
            q = p[near]
            own = p[:, None].expand_as(q)
            far = (own - q).norm(dim=2, keepdim=True)
            r = self.place(torch.cat([own, q, own - q, far], 2)).relu()
            y = torch.cat([x[near], r], 2)
            return self.end((self.score(y).softmax(1) * y).sum(1)).relu()

    def __init__(self, widths=(16, 32, 64)):
        super().__init__()
        self.first, self.end = nn.Linear(3, widths[0]), rows(widths[-1], 32, 13)
        self.blocks = nn.ModuleList(self.Block(i, o) for i, o in zip(widths, widths[1:]))

    def forward(self, p, near):
        x = self.first(p).relu()
        for block in self.blocks:
            x = block(p, x, near)
        return self.end(x)


class Impala(nn.Module):
    """IMPALA: small residual towers and a recurrent cell over four frames of a game."""

    class Part(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.first, self.pool = nn.Conv2d(i, o, 3, 1, 1), nn.MaxPool2d(3, 2, 1)
            one = lambda: nn.Sequential(
                nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1)
            )
            self.a, self.b = one(), one()

        def forward(self, x):
            x = self.pool(self.first(x))
            x = x + self.a(x)
            return x + self.b(x)

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(self.Part(3, 16), self.Part(16, 32), self.Part(32, 32), nn.ReLU())
        self.rows, self.cell = nn.Linear(32 * 81, 256), nn.LSTM(256, 128)
        self.policy, self.value = nn.Linear(128, 15), nn.Linear(128, 1)

    def forward(self, x):
        y = self.rows(self.body(x / 255).flatten(1)).relu()
        y = self.cell(y[:, None])[0][:, 0]
        return torch.cat([self.policy(y), self.value(y)], 1)


class Behaviour(nn.Module):
    """BST: the last things seen and the one in question through a transformer, other fields."""

    def __init__(self, c=32, words=500):
        super().__init__()
        self.things, self.places, self.fields = (
            nn.Embedding(words, c),
            nn.Embedding(21, c),
            nn.Embedding(100, 8),
        )
        self.look = nn.TransformerEncoderLayer(
            2 * c, 4, 128, batch_first=True, activation=nn.LeakyReLU()
        )
        self.end = rows(21 * 2 * c + 48, 256, 64, 1, act=nn.LeakyReLU)

    def forward(self, seen, thing, fields):
        x = self.things(torch.cat([seen, thing], 1))
        at = self.places(torch.arange(21)).expand(x.shape[0], -1, -1)
        y = self.look(torch.cat([x, at], 2)).flatten(1)
        return self.end(torch.cat([y, self.fields(fields).flatten(1)], 1)).sigmoid()


class Memory(nn.Module):
    """End-to-end memory networks: three looks at stored sentences."""

    def __init__(self, words=800, c=64, hops=3, stored=40, length=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(words, c) for _ in range(hops + 1))
        self.time = nn.ParameterList(torch.randn(stored, c) for _ in range(hops + 1))
        j, k = torch.arange(length)[:, None] / length, torch.arange(c)[None] / c
        self.register_buffer("weight", 1 - j - k * (1 - 2 * j))

    def forward(self, story, question):
        u = (self.tables[0](question) * self.weight).sum(1)
        for k in range(len(self.tables) - 1):
            m = (self.tables[k](story) * self.weight).sum(2) + self.time[k]
            c = (self.tables[k + 1](story) * self.weight).sum(2) + self.time[k + 1]
            p = (m @ u[:, :, None]).squeeze(2).softmax(1)
            u = u + (c * p[:, :, None]).sum(1)
        return u @ self.tables[-1].weight.T


class Flow(nn.Module):
    """Real NVP of rows, followed by four Runge-Kutta steps of a small field."""

    def __init__(self, c=16, h=64, layers=6):
        super().__init__()
        self.s = nn.ModuleList(rows(c, h, c, act=nn.Tanh) for _ in range(layers))
        self.t = nn.ModuleList(rows(c, h, c) for _ in range(layers))
        self.register_buffer("mask", torch.arange(c) % 2 * 1.0)
        self.field = rows(c + 1, h, c, act=nn.Softplus)

    def forward(self, x):
        total = 0
        for k, (s, t) in enumerate(zip(self.s, self.t)):
            m = self.mask if k % 2 else 1 - self.mask
            kept = x * m
            scale = s(kept).tanh() * (1 - m)
            x = kept + (1 - m) * (x * scale.exp() + t(kept))
            total = total + scale.sum(1)
        f = lambda t, x: self.field(torch.cat([x, torch.full_like(x[:, :1], t)], 1))
        for k in range(4):
            t, d = k / 4, 0.25
            a = f(t, x)
            b = f(t + d / 2, x + d / 2 * a)
            c = f(t + d / 2, x + d / 2 * b)
            x = x + d / 6 * (a + 2 * b + 2 * c + f(t + d, x + d * c))
        return torch.cat([x, total[:, None]], 1)


model("rand_la", {"p": ((400, 3), None), "near": ((400, 16), 400)})(Sparse)
model("impala", {"x": ((4, 3, 72, 72), None)})(Impala)
SEEN = {"seen": (("batch=16", 20), 500), "thing": (("batch=16", 1), 500)}
model("bst", SEEN | {"fields": (("batch=16", 6), 100)}, script=True)(Behaviour)
model("mem_n2n", {"story": ((4, 40, 8), 800), "question": ((4, 8), 800)})(Memory)
model("flow_rows", {"x": (("rows=256", 16), None)})(Flow)
