"""Small models of the fourteenth set of test/bench/UNSEEN.md, written after their papers: sound,
speech synthesis, text by tokens, matching of points, point clouds, graphs, recommenders."""

import math
from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class DeepFilter(nn.Module):
    """DeepFilterNet: speech enhancement: a spectrum by a convolution, gains of bands, and filters
    of five complex frames for the low frequencies; recurrences in groups."""

    class Grouped(nn.Module):
        def __init__(self, i, o, groups=8):
            super().__init__()
            self.groups = groups
            self.weight = nn.Parameter(torch.randn(groups, i // groups, o // groups) / i**0.5)

        def forward(self, x):
            x = x.unflatten(-1, (self.groups, -1))
            return torch.einsum("btgi,gih->btgh", x, self.weight).flatten(2).relu()

    class Squeezed(nn.Module):
        def __init__(self, i, o, hidden=256):
            super().__init__()
            self.enter, self.end = DeepFilter.Grouped(i, hidden), DeepFilter.Grouped(hidden, o)
            self.cells = nn.GRU(hidden, hidden, batch_first=True)

        def forward(self, x):
            return self.end(self.cells(self.enter(x))[0])

    class Conv(nn.Module):
        def __init__(self, i, o, stride=1, k=3):
            super().__init__()
            groups = math.gcd(i, o)
            self.k = k
            self.body = nn.Sequential(
                nn.Conv2d(i, o, (k, 3), (1, stride), (0, 1), groups=groups, bias=False),
                nn.Conv2d(o, o, 1, bias=False),
                nn.BatchNorm2d(o),
                nn.ReLU(),
            )

        def forward(self, x):
            return self.body(F.pad(x, (0, 0, self.k - 1, 0)))

    def __init__(self, size=320, hop=160, bands=32, low=64, c=32, order=5):
        super().__init__()
        self.size, self.hop, self.low, self.order = size, hop, low, order
        bins = size // 2 + 1
        angles = 2 * math.pi * torch.arange(bins)[:, None] * torch.arange(size)[None] / size
        window = torch.sin(math.pi * (torch.arange(size) + 0.5) / size)
        basis = torch.cat((angles.cos(), -angles.sin())) * window
        self.register_buffer("basis", basis[:, None])
        back = torch.linalg.pinv(torch.cat((angles.cos(), -angles.sin()))).T * window
        self.register_buffer("back", back[:, None].contiguous())
        edges = (torch.linspace(0, 1, bands + 1) ** 1.5 * (bins - 1)).round().long()
        matrix = torch.zeros(bins, bands)
        for k in range(bands):
            matrix[edges[k] : max(edges[k] + 1, edges[k + 1]), k] = 1
        self.register_buffer("bands", matrix / matrix.sum(0).clamp(min=1))
        self.register_buffer("unband", matrix.T.contiguous())
        one = self.Conv
        self.a = nn.ModuleList((one(1, c), one(c, c, 2), one(c, c, 2), one(c, c)))
        self.b = nn.ModuleList((one(2, c), one(c, c, 2)))
        self.mix = self.Grouped(low // 2 * c, bands // 4 * c)
        self.inner = self.Squeezed(bands // 4 * c, bands // 4 * c)
        self.side = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(4))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(c, c, (1, 3), (1, 2), (0, 1), (0, 1), groups=c) for _ in "ab"
        )
        self.gain = nn.Conv2d(c, 1, (1, 3), padding=(0, 1))
        self.filters = self.Squeezed(bands // 4 * c, 256)
        self.coefficients = nn.Linear(256, low * order * 2)
        self.skip = nn.Conv2d(c, 2 * order, 1)

    def before(self, x):
        t = x.shape[1]
        x = F.pad(x, (0, 0, self.order - 1, 0))
        return torch.stack([x[:, k : k + t] for k in range(self.order)], -1)

    def forward(self, x):
        spectrum = F.conv1d(
            F.pad(x, (self.size - self.hop, 0))[:, None], self.basis, None, self.hop
        )
        real, imaginary = spectrum.transpose(1, 2).chunk(2, -1)
        power = real.square() + imaginary.square()
        bands = torch.log10(power @ self.bands + 1e-10).unsqueeze(1)
        size = power[..., : self.low].mean(-1, keepdim=True).sqrt() + 1e-3
        parts = torch.stack((real[..., : self.low] / size, imaginary[..., : self.low] / size), 1)
        a0 = self.a[0](bands)
        a1 = self.a[1](a0)
        a2 = self.a[2](a1)
        a3 = self.a[3](a2)
        b0 = self.b[0](parts)
        b1 = self.b[1](b0)
        flat = lambda y: y.permute(0, 2, 3, 1).flatten(2)
        inner = self.inner(flat(a3) + self.mix(flat(b1)))
        y = inner.unflatten(2, (-1, a3.shape[1])).permute(0, 3, 1, 2)
        y = y + self.side[3](a3) + self.side[2](a2)
        y = self.up[0](y).relu() + self.side[1](a1)
        y = self.up[1](y).relu() + self.side[0](a0)
        gains = self.gain(y).sigmoid().squeeze(1) @ self.unband
        f = self.coefficients(self.filters(inner)).tanh()
        f = f.unflatten(2, (self.low, 2 * self.order)) + self.skip(b0).permute(0, 2, 3, 1)
        fr, fi = f.chunk(2, -1)
        zr, zi = self.before(real[..., : self.low]), self.before(imaginary[..., : self.low])
        low = (zr * fr - zi * fi).sum(-1), (zr * fi + zi * fr).sum(-1)
        real = torch.cat((low[0], (real * gains)[..., self.low :]), -1)
        imaginary = torch.cat((low[1], (imaginary * gains)[..., self.low :]), -1)
        y = torch.cat((real, imaginary), -1).transpose(1, 2)
        return F.conv_transpose1d(y, self.back, None, self.hop)[:, 0, self.size - self.hop :]


class GlowTts(nn.Module):
    """Glow-TTS: frames from noise by an inverted flow: couplings by WaveNet blocks, small inverted
    matrices of channels, affine norms; frames in pairs, masked by the length."""

    class Step(nn.Module):
        def __init__(self, c, hidden, layers=3, split=4):
            super().__init__()
            self.split, self.hidden = split, hidden
            self.logs, self.bias = nn.Parameter(0.1 * torch.randn(1, c, 1)), nn.Parameter(
                0.1 * torch.randn(1, c, 1)
            )
            self.register_buffer("inverse", torch.linalg.qr(torch.randn(split, split))[0])
            self.start, self.end = nn.Conv1d(c // 2, hidden, 1), nn.Conv1d(hidden, c, 1)
            self.enter = nn.ModuleList(
                nn.Conv1d(hidden, 2 * hidden, 5, padding=2) for _ in range(layers)
            )
            self.leave = nn.ModuleList(
                nn.Conv1d(hidden, (2 if k < layers - 1 else 1) * hidden, 1) for k in range(layers)
            )

        def wave(self, x, mask):
            total = 0
            for enter, leave in zip(self.enter, self.leave):
                y = enter(x)
                y = torch.tanh(y[:, : self.hidden]) * torch.sigmoid(y[:, self.hidden :])
                y = leave(y)
                if y.shape[1] > self.hidden:
                    x = (x + y[:, : self.hidden]) * mask
                    y = y[:, self.hidden :]
                total = total + y
            return total * mask

        def forward(self, x, mask):
            n, c, t = x.shape
            a, b = x[:, : c // 2], x[:, c // 2 :]
            y = self.end(self.wave(self.start(a) * mask, mask))
            m, logs = y[:, : c // 2], y[:, c // 2 :]
            b = (b - m) * torch.exp(-0.1 * logs) * mask
            x = torch.cat((a, b), 1)
            x = x.view(n, 2, c // self.split, self.split // 2, t).permute(0, 1, 3, 2, 4)
            x = x.contiguous().view(n, self.split, c // self.split, t)
            x = F.conv2d(x, self.inverse.view(self.split, self.split, 1, 1))
            x = x.view(n, 2, self.split // 2, c // self.split, t).permute(0, 1, 3, 2, 4)
            x = x.contiguous().view(n, c, t) * mask
            return (x - self.bias) * torch.exp(-self.logs) * mask

    def __init__(self, mels=80, hidden=128, steps=4):
        super().__init__()
        self.steps = nn.ModuleList(self.Step(2 * mels, hidden) for _ in range(steps))

    def forward(self, x, length):
        n, c, t = x.shape
        mask = (torch.arange(t)[None] < length[:, None]).float()[:, None]
        t = t // 2
        x = x[:, :, : 2 * t].view(n, c, t, 2).permute(0, 3, 1, 2).contiguous().view(n, 2 * c, t)
        mask = mask[:, :, 1::2]
        x = x * mask
        for step in self.steps:
            x = step(x, mask)
        return x.view(n, 2, c, t).permute(0, 2, 3, 1).contiguous().view(n, c, 2 * t)


class FastSpeech(nn.Module):
    """FastSpeech 2: phonemes to frames: durations predicted and applied, pitch and energy looked up
    in buckets."""

    class Block(nn.Module):
        def __init__(self, c, heads=2):
            super().__init__()
            self.heads, self.all, self.out = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.wide, self.back = nn.Conv1d(c, 4 * c, 9, padding=4), nn.Conv1d(4 * c, c, 1)

        def forward(self, x):
            n, t, c = x.shape
            q, k, v = self.all(x).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            look = (q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5).softmax(-1)
            x = self.a(x + self.out((look @ v).transpose(1, 2).reshape(n, t, c)))
            return self.b(x + self.back(self.wide(x.transpose(1, 2)).relu()).transpose(1, 2))

    class Predictor(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv1d(c, c, 3, padding=1), nn.Conv1d(c, c, 3, padding=1)
            self.na, self.nb, self.end = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(c, 1)

        def forward(self, x):
            x = self.na(self.a(x.transpose(1, 2)).relu().transpose(1, 2))
            x = self.nb(self.b(x.transpose(1, 2)).relu().transpose(1, 2))
            return self.end(x).squeeze(-1)

    def __init__(self, signs=100, c=192, mels=80, longest=1000):
        super().__init__()
        self.rows = nn.Embedding(signs, c)
        self.encoder = nn.ModuleList(self.Block(c) for _ in range(2))
        self.decoder = nn.ModuleList(self.Block(c) for _ in range(2))
        self.lengths, self.heights, self.powers = (self.Predictor(c) for _ in range(3))
        self.register_buffer("bins", torch.linspace(-2, 2, 255))
        self.of_height, self.of_power = nn.Embedding(256, c), nn.Embedding(256, c)
        at = torch.arange(longest).float()[:, None]
        rates = torch.exp(torch.arange(0, c, 2).float() * (-math.log(10000) / c))[None]
        self.register_buffer(
            "places",
            torch.stack((torch.sin(at * rates), torch.cos(at * rates)), -1).flatten(1)[None],
        )
        self.end = nn.Linear(c, mels)
        self.post = nn.Sequential(
            nn.Conv1d(mels, 128, 5, padding=2),
            nn.BatchNorm1d(128),
            nn.Tanh(),
            nn.Conv1d(128, mels, 5, padding=2),
            nn.BatchNorm1d(mels),
        )

    def forward(self, ids):
        x = self.rows(ids)
        x = x + self.places[:, : x.shape[1]]
        for block in self.encoder:
            x = block(x)
        lengths = torch.clamp(torch.round(torch.exp(self.lengths(x) + 1.0) - 1), 1, 8)
        step = lambda y: (y.unsqueeze(-1) > self.bins).sum(-1)
        x = x + self.of_height(step(self.heights(x)))
        x = x + self.of_power(step(self.powers(x)))
        ends = torch.cumsum(lengths[0], 0)
        frames = torch.arange(ends[-1].long())
        at = (frames[:, None] >= ends[None]).sum(-1)
        x = x[:, at]
        x = x + self.places[:, : x.shape[1]]
        for block in self.decoder:
            x = block(x)
        y = self.end(x)
        return y + self.post(y.transpose(1, 2)).transpose(1, 2)


class StaticStep(nn.Module):
    """A token of a decoder like Llama's whose caches have a fixed length and are written in place,
    as mobile runtimes require; angles looked up by position; results: scores and caches."""

    def __init__(self, c=384, heads=6, groups=2, layers=2, words=6000, longest=256):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, c // heads
        rates = 10000 ** (-torch.arange(0, self.d, 2).float() / self.d)
        angles = torch.arange(longest).float()[:, None] * rates[None]
        self.register_buffer("angles", torch.cat((angles, angles), -1))
        self.register_buffer("mask", torch.full((longest, longest), -1e9).triu(1))
        self.rows = nn.Embedding(words, c)
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.q = nn.ModuleList(linear(c, c) for _ in range(layers))
        self.k, self.v = (
            nn.ModuleList(linear(c, groups * self.d) for _ in range(layers)) for _ in "kv"
        )
        self.o = nn.ModuleList(linear(c, c) for _ in range(layers))
        self.gate, self.up = (nn.ModuleList(linear(c, 1024) for _ in range(layers)) for _ in "ab")
        self.down = nn.ModuleList(linear(1024, c) for _ in range(layers))
        self.a, self.b = (
            nn.ModuleList(nn.RMSNorm(c, eps=1e-5) for _ in range(layers)) for _ in "ab"
        )
        self.norm, self.end = nn.RMSNorm(c, eps=1e-5), linear(c, words)

    def turned(self, x, at):
        cos, sin = self.angles[at].cos(), self.angles[at].sin()
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, ids, at, keys, values):
        x, kept_k, kept_v = self.rows(ids), [], []
        n, t, c = x.shape
        mask = self.mask[at][None, None]
        for k in range(len(self.q)):
            y = self.a[k](x)
            split = lambda z, h: z.view(n, t, h, self.d).transpose(1, 2)
            q = self.turned(split(self.q[k](y), self.heads), at)
            new = self.turned(split(self.k[k](y), self.groups), at)
            kept_k.append(keys[k].index_copy(2, at, new))
            kept_v.append(values[k].index_copy(2, at, split(self.v[k](y), self.groups)))
            wide = (
                lambda z: z[:, :, None]
                .expand(-1, -1, self.heads // self.groups, -1, -1)
                .flatten(1, 2)
            )
            look = q @ wide(kept_k[-1]).transpose(-2, -1) * self.d**-0.5 + mask
            y = (look.softmax(-1) @ wide(kept_v[-1])).transpose(1, 2).reshape(n, t, c)
            x = x + self.o[k](y)
            y = self.b[k](x)
            x = x + self.down[k](F.silu(self.gate[k](y)) * self.up[k](y))
        return self.end(self.norm(x)), torch.stack(kept_k), torch.stack(kept_v)


class Transducer(nn.Module):
    """One step of a transducer's search: the predictor's LSTM with its states, and the joint of
    all frames of a chunk with it."""

    def __init__(self, words=1000, c=320, frames=512, joint=512):
        super().__init__()
        self.rows, self.cells = nn.Embedding(words, c), nn.LSTM(c, c, 2, batch_first=True)
        self.a, self.b, self.end = (
            nn.Linear(frames, joint),
            nn.Linear(c, joint),
            nn.Linear(joint, words + 1),
        )

    def forward(self, frames, ids, h, c):
        y, (h, c) = self.cells(self.rows(ids), (h, c))
        y = torch.tanh(self.a(frames).unsqueeze(2) + self.b(y).unsqueeze(1))
        return self.end(y).log_softmax(-1), h, c


class LightGlue(nn.Module):
    """Matching of the points of two images: rotary positions of learned frequencies, attention
    within and between, assignments by a softmax of both sides and how matchable each is."""

    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads = heads
            self.all, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.qk, self.v, self.back = (nn.Linear(c, c) for _ in range(3))
            mlp = lambda: nn.Sequential(
                nn.Linear(2 * c, 2 * c), nn.LayerNorm(2 * c), nn.GELU(), nn.Linear(2 * c, c)
            )
            self.a, self.b = mlp(), mlp()

        def within(self, x, places):
            q, k, v = self.all(x).unflatten(-1, (self.heads, -1, 3)).transpose(1, 2).unbind(-1)
            turn = (
                lambda z: z * places[0]
                + torch.stack(
                    (-z.unflatten(-1, (-1, 2))[..., 1], z.unflatten(-1, (-1, 2))[..., 0]), -1
                ).flatten(-2)
                * places[1]
            )
            y = F.scaled_dot_product_attention(turn(q), turn(k), v).transpose(1, 2).flatten(-2)
            return x + self.a(torch.cat((x, self.out(y)), -1))

        def forward(self, x, y, px, py):
            x, y = self.within(x, px), self.within(y, py)
            split = lambda z: z.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            qx, qy, vx, vy = (split(f(z)) for f in (self.qk, self.v) for z in (x, y))
            s = (qx.shape[-1] ** -0.5) ** 0.5
            look = (qx * s) @ (qy * s).transpose(-2, -1)
            mx = (look.softmax(-1) @ vy).transpose(1, 2).flatten(-2)
            my = (look.transpose(-2, -1).softmax(-1) @ vx).transpose(1, 2).flatten(-2)
            x = x + self.b(torch.cat((x, self.back(mx)), -1))
            return x, y + self.b(torch.cat((y, self.back(my)), -1))

    def __init__(self, c=256, heads=4, layers=3):
        super().__init__()
        self.rates = nn.Linear(2, c // heads // 2, bias=False)
        self.layers = nn.ModuleList(self.Layer(c, heads) for _ in range(layers))
        self.end, self.match = nn.Linear(c, c), nn.Linear(c, 1)

    def places(self, at):
        angles = self.rates(at)
        angles = torch.stack((angles, angles), -1).flatten(-2).unsqueeze(1)
        return angles.cos(), angles.sin()

    def forward(self, at_x, at_y, x, y):
        px, py = self.places(at_x), self.places(at_y)
        for layer in self.layers:
            x, y = layer(x, y, px, py)
        look = (self.end(x) / 4) @ (self.end(y) / 4).transpose(1, 2)
        zx, zy = self.match(x), self.match(y)
        sure = F.logsigmoid(zx) + F.logsigmoid(zy).transpose(1, 2)
        return look.log_softmax(2) + look.transpose(1, 2).log_softmax(2).transpose(1, 2) + sure


class KpConv(nn.Module):
    """Point clouds by kernel points: neighbours by distance, each weighed by its nearness to every
    point of the kernel; thinned by strides and filled again by the nearest."""

    class Layer(nn.Module):
        def __init__(self, i, o, points=15, reach=0.3):
            super().__init__()
            self.register_buffer("kernel", reach * 0.7 * torch.randn(points, 3))
            self.weights = nn.Parameter(torch.randn(points, i, o) / (points * i) ** 0.5)
            self.norm, self.reach = nn.BatchNorm1d(o), reach
            self.side = nn.Linear(i, o)

        def forward(self, at, at_all, x, near):
            apart = at_all[near] - at[:, None]
            far = (apart[:, :, None] - self.kernel).square().sum(-1).sqrt()
            weigh = (1 - far / self.reach).clamp(min=0)
            y = torch.einsum("nkp,nkc->npc", weigh, x[near])
            y = torch.einsum("npc,pco->no", y, self.weights)
            return F.leaky_relu(self.norm(y) + self.side(x[near].amax(1)), 0.1)

    def __init__(self, c=64, kinds=13, near=16):
        super().__init__()
        self.near, one = near, self.Layer
        self.a, self.b = one(4, c), one(c, 2 * c, reach=0.6)
        self.c, self.d = one(2 * c, 2 * c, reach=0.6), one(2 * c, 4 * c, reach=1.2)
        self.up = nn.ModuleList((nn.Linear(6 * c, 2 * c), nn.Linear(3 * c, c)))
        self.end = nn.Sequential(nn.Linear(c, c), nn.LeakyReLU(0.1), nn.Linear(c, kinds))

    def nearest(self, at, at_all, n):
        apart = at.square().sum(-1, keepdim=True) + at_all.square().sum(-1)[None]
        return (apart - 2 * at @ at_all.T).topk(n, -1, largest=False)[1]

    def forward(self, points):
        at = points[:, :3]
        half, few = at[::4], at[::16]
        x = self.a(at, at, points, self.nearest(at, at, self.near))
        y = self.b(half, at, x, self.nearest(half, at, self.near))
        y = self.c(half, half, y, self.nearest(half, half, self.near))
        z = self.d(few, half, y, self.nearest(few, half, self.near))
        y = self.up[0](torch.cat((z[self.nearest(half, few, 1)[:, 0]], y), -1)).relu()
        x = self.up[1](torch.cat((y[self.nearest(at, half, 1)[:, 0]], x), -1)).relu()
        return self.end(x)


class Pna(nn.Module):
    """Graphs by several aggregates at once: means, deviations, least and greatest of the messages,
    each scaled by the degree."""

    class Layer(nn.Module):
        def __init__(self, c, edges):
            super().__init__()
            self.pre, self.edge = nn.Linear(3 * c, c), nn.Linear(edges, c)
            self.post, self.mix = nn.Linear(13 * c, c), nn.Linear(c, c)
            self.norm = nn.BatchNorm1d(c)

        def forward(self, x, ends, edges):
            a, b = ends[0], ends[1]
            m = self.pre(torch.cat((x[b], x[a], self.edge(edges)), -1))
            at = b[:, None].expand(-1, m.shape[1])
            into = lambda v, how: torch.zeros_like(x).scatter_reduce(
                0, at, v, how, include_self=False
            )
            degree = torch.zeros_like(x[:, 0]).scatter_add(0, b, torch.ones_like(m[:, 0]))
            count = degree.clamp(min=1)[:, None]
            total = torch.zeros_like(x).scatter_add(0, at, m)
            square = torch.zeros_like(x).scatter_add(0, at, m * m) / count
            mean = total / count
            spread = (square - mean * mean).relu().add(1e-5).sqrt()
            parts = torch.cat((mean, into(m, "amin"), into(m, "amax"), spread), -1)
            scale = torch.log(degree + 1)[:, None] / 1.5
            parts = torch.cat((parts, parts * scale, parts / scale.clamp(min=0.5)), -1)
            y = self.mix(self.post(torch.cat((x, parts), -1)))
            return x + self.norm(y).relu()

    def __init__(self, features=16, edges=8, c=80, layers=3):
        super().__init__()
        self.enter = nn.Linear(features, c)
        self.layers = nn.ModuleList(self.Layer(c, edges) for _ in range(layers))
        self.end = nn.Sequential(nn.Linear(c, 50), nn.ReLU(), nn.Linear(50, 12))

    def forward(self, x, ends, edges):
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, ends, edges)
        return self.end(x.sum(0, keepdim=True))


class FieldFactors(nn.Module):
    """Field-aware factors of 22 columns: each value has a vector for every other column; a deep
    part; a bag of the items that were seen."""

    def __init__(self, fields=22, words=500, c=8, seen=2000):
        super().__init__()
        self.fields = fields
        self.rows = nn.ModuleList(nn.Embedding(words, fields * c) for _ in range(fields))
        self.first = nn.ModuleList(nn.Embedding(words, 1) for _ in range(fields))
        self.bag = nn.Embedding(seen, 32)
        pairs = torch.triu_indices(fields, fields, 1)
        self.register_buffer("a", pairs[0])
        self.register_buffer("b", pairs[1])
        self.deep = nn.Sequential(
            nn.Linear(fields * (fields - 1) // 2 + 32, 256),
            nn.BatchNorm1d(256),
            nn.Dropout(0.1),
            nn.ReLU(),
            nn.Linear(256, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, ids, seen):
        all_ = torch.stack([r(ids[:, k]) for k, r in enumerate(self.rows)], 1)
        all_ = all_.unflatten(2, (self.fields, -1))
        pairs = (all_[:, self.a, self.b] * all_[:, self.b, self.a]).sum(-1)
        first = torch.cat([r(ids[:, k]) for k, r in enumerate(self.first)], 1).sum(1, keepdim=True)
        kept = (seen > 0).float().unsqueeze(-1)
        bag = (self.bag(seen) * kept).sum(1) / kept.sum(1).clamp(min=1)
        return (first + self.deep(torch.cat((pairs, bag), 1))).sigmoid()


model("deep_filter", {"x": ((1, "samples=16000"), None)}, script=True, opset=17)(DeepFilter)
FRAMES = {"x": ((1, 80, "frames=160"), None), "length": ((1,), 150)}
model("glow_tts", FRAMES, script=True, opset=13)(GlowTts)
model("fast_speech2", {"ids": ((1, "signs=60"), 100)}, script=True, opset=16)(FastSpeech)
CACHES = (2, 1, 2, 256, 64), None
model(
    "static_step",
    {"ids": ((1, 1), 6000), "at": ((1,), 256), "keys": CACHES, "values": CACHES},
    opset=21,
)(StaticStep)
STATE = (2, 1, 320), None
model(
    "transducer_step",
    {"frames": ((1, "frames=16", 512), None), "ids": ((1, 1), 1000), "h": STATE, "c": STATE},
    script=True,
    opset=15,
)(Transducer)
POINTS = {f"at_{k}": ((1, f"points_{k}=256", 2), None) for k in "xy"}
POINTS |= {k: ((1, f"points_{k}=256", 256), None) for k in "xy"}
model("light_glue", POINTS, script=True, opset=17)(LightGlue)
model("kp_conv", {"points": ((1024, 4), None)}, opset=18)(KpConv)
GRAPH = {
    "x": (("nodes=200", 16), None),
    "ends": ((2, "edges=800"), 200),
    "edges": (("edges=800", 8), None),
}
model("pna_net", GRAPH, opset=18)(Pna)
FIELDS = {"ids": (("batch=32", 22), 500), "seen": (("batch=32", 20), 2000)}
model("field_factors", FIELDS, opset=20)(FieldFactors)
