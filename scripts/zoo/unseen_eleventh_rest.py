"""Small models of the eleventh set of test/bench/UNSEEN.md, written after their papers: sound,
points, graphs, tables, recommenders, series in time."""

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class QuartzNet(nn.Module):
    """Speech to letters: separable convolutions over time, repeated, with residuals."""

    class Block(nn.Module):
        def __init__(self, i, o, k, repeats=3):
            super().__init__()
            self.layers = nn.ModuleList(
                nn.Sequential(
                    nn.Conv1d(c, c, k, 1, k // 2, groups=c, bias=False),
                    nn.Conv1d(c, o, 1, bias=False),
                    nn.BatchNorm1d(o),
                )
                for c in [i] + [o] * (repeats - 1)
            )
            self.side = nn.Sequential(nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o))

        def forward(self, x):
            y = x
            for layer in self.layers[:-1]:
                y = layer(y).relu()
            return (self.layers[-1](y) + self.side(x)).relu()

    def __init__(self, letters=29):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(64, 256, 33, 2, 16), nn.BatchNorm1d(256), nn.ReLU())
        b = self.Block
        self.body = nn.Sequential(b(256, 256, 33), b(256, 256, 39), b(256, 512, 51))
        self.end = nn.Conv1d(512, letters, 1)

    def forward(self, x):
        return self.end(self.body(self.first(x))).permute(0, 2, 1).log_softmax(-1)


class ComplexConv(nn.Module):
    """A convolution of complex numbers: four real ones; real parts are the first channels."""

    def __init__(self, i, o, k=(5, 2), s=(2, 1), up=False):
        super().__init__()
        kind = nn.ConvTranspose2d if up else nn.Conv2d
        options = {"output_padding": (1, 0)} if up else {}
        self.a, self.b = (kind(i, o, k, s, (2, 0 if up else 1), **options) for _ in "ab")
        self.norm, self.act = nn.BatchNorm2d(2 * o), nn.PReLU(2 * o)

    def forward(self, x):
        r, i = x.chunk(2, 1)
        real, imaginary = self.a(r) - self.b(i), self.a(i) + self.b(r)
        return self.act(self.norm(torch.cat((real, imaginary), 1)))


class Dccrn(nn.Module):
    """Speech enhancement: complex convolutions, LSTMs between, a mask of phase and magnitude."""

    def __init__(self, c=(1, 16, 32, 64, 64)):
        super().__init__()
        self.down = nn.ModuleList(ComplexConv(i, o) for i, o in zip(c, c[1:]))
        self.up = nn.ModuleList(ComplexConv(2 * i, o, up=True) for i, o in zip(c[:0:-1], c[-2::-1]))
        width = 2 * c[-1] * 16
        self.cells, self.back = nn.LSTM(width, 128, batch_first=True), nn.Linear(128, width)

    def forward(self, x):
        y, kept = x, []
        for layer in self.down:
            y = layer(y)[..., : x.shape[3]]
            kept.append(y)
        n, c, h, w = y.shape
        z = self.cells(y.permute(0, 3, 1, 2).reshape(n, w, c * h))[0]
        y = self.back(z).view(n, w, c, h).permute(0, 2, 3, 1)
        for layer in self.up:
            side = kept.pop()
            parts = [t.chunk(2, 1) for t in (y, side)]
            y = torch.cat([t for pair in zip(*parts) for t in pair], 1)
            y = layer(y)[..., 1:]
        size = (y[:, :1] ** 2 + y[:, 1:] ** 2 + 1e-8).sqrt()
        y = y / (size + 1e-8) * size.tanh()
        real = x[:, :1] * y[:, :1] - x[:, 1:] * y[:, 1:]
        return torch.cat((real, x[:, :1] * y[:, 1:] + x[:, 1:] * y[:, :1]), 1)


class SudoRmRf(nn.Module):
    """Speech separation: depthwise convolutions at five rates, enlarged and added."""

    class Block(nn.Module):
        def __init__(self, c, m, depth=4):
            super().__init__()
            norm = lambda: nn.GroupNorm(1, m)
            self.enter = nn.Sequential(nn.Conv1d(c, m, 1), norm(), nn.PReLU())
            self.rates = nn.ModuleList(
                nn.Sequential(nn.Conv1d(m, m, 5, 2 if k else 1, 2, groups=m), norm())
                for k in range(depth)
            )
            self.end = nn.Sequential(norm(), nn.PReLU(), nn.Conv1d(m, c, 1))

        def forward(self, x):
            y, kept = self.enter(x), []
            for rate in self.rates:
                y = rate(y)
                kept.append(y)
            for side in kept[-2::-1]:
                y = F.interpolate(y, scale_factor=2.0, mode="nearest") + side
            return x + self.end(y)

    def __init__(self, c=64, m=160, blocks=3):
        super().__init__()
        self.encode = nn.Conv1d(1, 256, 21, 10, 10)
        self.enter = nn.Sequential(nn.GroupNorm(1, 256), nn.Conv1d(256, c, 1))
        self.body = nn.Sequential(*(self.Block(c, m) for _ in range(blocks)))
        self.mask = nn.Sequential(nn.PReLU(), nn.Conv1d(c, 512, 1))
        self.decode = nn.ConvTranspose1d(512, 2, 21, 10, 10, output_padding=9, groups=2)

    def forward(self, x):
        s = self.encode(x).relu()
        m = self.mask(self.body(self.enter(s))).view(x.shape[0], 2, 256, -1).relu()
        return self.decode((m * s.unsqueeze(1)).flatten(1, 2))


class DiffWave(nn.Module):
    """DiffWave: a denoising step: gated dilated convolutions, given the step and the spectrum."""

    def __init__(self, c=64, layers=6):
        super().__init__()
        self.first, self.c = nn.Conv1d(1, c, 1), c
        self.step = nn.Sequential(nn.Linear(128, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU())
        self.larger = nn.ConvTranspose2d(1, 1, (3, 32), (1, 16), (1, 8))
        self.told = nn.ModuleList(nn.Linear(256, c) for _ in range(layers))
        self.wide = nn.ModuleList(
            nn.Conv1d(c, 2 * c, 3, 1, 2 ** (k % 3), 2 ** (k % 3)) for k in range(layers)
        )
        self.seen = nn.ModuleList(nn.Conv1d(80, 2 * c, 1) for _ in range(layers))
        self.out = nn.ModuleList(nn.Conv1d(c, 2 * c, 1) for _ in range(layers))
        self.end = nn.Sequential(nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, 1, 1))

    def forward(self, x, mel, t):
        angles = t.unsqueeze(1) * torch.exp(torch.arange(64) * -0.1439)
        step = self.step(torch.cat((angles.sin(), angles.cos()), 1))
        mel = F.leaky_relu(self.larger(mel.unsqueeze(1)), 0.4).squeeze(1)
        x, total = self.first(x).relu(), 0
        for told, wide, seen, out in zip(self.told, self.wide, self.seen, self.out):
            y = wide(x + told(step).unsqueeze(2)) + seen(mel)
            gate, kept = y.chunk(2, 1)
            rest, skip = out(gate.sigmoid() * kept.tanh()).chunk(2, 1)
            x, total = (x + rest) / 2**0.5, total + skip
        return self.end(total / 6**0.5)


class PointCloudTransformer(nn.Module):
    """PCT: attention by offsets, four times over all points."""

    class Offset(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.key = nn.Conv1d(c, c // 4, 1, bias=False)
            self.value, self.end = nn.Conv1d(c, c, 1), nn.Conv1d(c, c, 1)
            self.norm = nn.BatchNorm1d(c)

        def forward(self, x):
            k = self.key(x)
            look = torch.bmm(k.permute(0, 2, 1), k).softmax(-1)
            look = look / (1e-9 + look.sum(1, keepdim=True))
            return x + self.norm(self.end(x - torch.bmm(self.value(x), look))).relu()

    def __init__(self, c=128, kinds=40):
        super().__init__()
        one = lambda i, o: nn.Sequential(nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o))
        self.a, self.b = one(3, c), one(c, c)
        self.layers = nn.ModuleList(self.Offset(c) for _ in range(4))
        self.join = nn.Sequential(one(4 * c, 512), nn.LeakyReLU(0.2))
        self.end = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, kinds))

    def forward(self, x):
        x = self.b(self.a(x.permute(0, 2, 1)).relu()).relu()
        outs = []
        for layer in self.layers:
            x = layer(x)
            outs.append(x)
        y = self.join(torch.cat(outs, 1))
        return self.end(torch.cat((y.max(2)[0], y.mean(2)), 1))


class VoxelNet(nn.Module):
    """Points in voxels, each told the greatest of its voxel; volumes; a map of boxes."""

    def __init__(self, c=32):
        super().__init__()
        self.a, self.b = nn.Linear(7, 16), nn.Linear(32, c)
        self.norm = nn.ModuleList(nn.BatchNorm1d(n) for n in (16, c))
        one = lambda i, o, s, p: nn.Sequential(
            nn.Conv3d(i, o, 3, s, p), nn.BatchNorm3d(o), nn.ReLU()
        )
        self.inner = nn.Sequential(
            one(c, 32, (2, 1, 1), 1), one(32, 32, 1, (0, 1, 1)), one(32, 32, (2, 1, 1), 1)
        )
        two = lambda i, o, s: nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.BatchNorm2d(o), nn.ReLU())
        self.down = nn.Sequential(two(32, 64, 2), two(64, 64, 1))
        self.up = nn.ConvTranspose2d(64, 64, 2, 2)
        self.score, self.box = nn.Conv2d(64, 2, 1), nn.Conv2d(64, 14, 1)

    def forward(self, x):
        told = (x.abs().sum(2, keepdim=True) > 0).float()
        y = x
        for layer, norm in zip((self.a, self.b), self.norm):
            y = norm(layer(y).transpose(1, 2)).transpose(1, 2).relu()
            if layer is self.a:
                y = torch.cat((y, y.max(1, keepdim=True)[0].expand_as(y)), 2) * told
        y = y.max(1)[0].view(1, 8, 24, 24, -1).permute(0, 4, 1, 2, 3)
        y = self.inner(y)
        y = self.up(self.down(y.flatten(1, 2)))
        return torch.cat((self.score(y).sigmoid(), self.box(y)), 1)


class GatedGcn(nn.Module):
    """A graph by its edges: messages weighed by gates that the edges keep."""

    def __init__(self, c=64, layers=3):
        super().__init__()
        self.nodes, self.edges = nn.Linear(32, c), nn.Linear(8, c)
        self.maps = nn.ModuleList(
            nn.ModuleList(nn.Linear(c, c) for _ in range(5)) for _ in range(layers)
        )
        self.norms = nn.ModuleList(
            nn.ModuleList(nn.BatchNorm1d(c) for _ in "ab") for _ in range(layers)
        )
        self.end = nn.Sequential(nn.Linear(c, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x, e, source, target):
        x, e = self.nodes(x), self.edges(e)
        for (a, b, c, d, f), (p, q) in zip(self.maps, self.norms):
            gate = c(e) + d(x)[source] + f(x)[target]
            weight = gate.sigmoid()
            zero = torch.zeros_like(x)
            into = zero.index_add(0, target, weight * b(x)[source])
            total = zero.index_add(0, target, weight)
            x = x + p(a(x) + into / (total + 1e-6)).relu()
            e = e + q(gate).relu()
        return self.end(x.mean(0, keepdim=True))


class Dien(nn.Module):
    """DIEN: earlier purchases, read by a GRU whose updates are weighed by the candidate."""

    def __init__(self, items=5000, c=32, steps=20):
        super().__init__()
        self.items, self.user = nn.Embedding(items, c), nn.Embedding(1000, c)
        self.gru = nn.GRU(c, c, batch_first=True)
        self.look = nn.Linear(c, c, bias=False)
        self.gates, self.inner, self.new = (
            nn.Linear(2 * c, 2 * c),
            nn.Linear(c, c),
            nn.Linear(c, c),
        )
        self.end = nn.Sequential(
            nn.Linear(4 * c, 200), nn.PReLU(), nn.Linear(200, 80), nn.PReLU(), nn.Linear(80, 1)
        )
        self.steps = steps

    def forward(self, user, past, item):
        words, it = self.items(past), self.items(item)
        states = self.gru(words)[0]
        weights = torch.einsum("ntc,nc->nt", states, self.look(it)).softmax(1)
        h = torch.zeros_like(it)
        for t in range(self.steps):
            x = states[:, t]
            update, reset = self.gates(torch.cat((x, h), 1)).sigmoid().chunk(2, 1)
            new = (self.new(x) + reset * self.inner(h)).tanh()
            update = weights[:, t : t + 1] * update
            h = (1 - update) * h + update * new
        return self.end(torch.cat((self.user(user), it, words.sum(1), h), 1)).sigmoid()


class Ple(nn.Module):
    """Progressive layered extraction: experts of a task and of all, gates, two levels."""

    def __init__(self, fields=24, c=16, wide=128, experts=3, tasks=3):
        super().__init__()
        self.table = nn.Embedding(4000, c)
        first = fields * c
        one = lambda i: nn.Sequential(nn.Linear(i, wide), nn.ReLU())
        group = lambda i: nn.ModuleList(one(i) for _ in range(experts))
        self.experts = nn.ModuleList(
            nn.ModuleList(group(i) for _ in range(tasks + 1)) for i in (first, wide)
        )
        gate = lambda i, n: nn.Linear(i, n, bias=False)
        self.gates = nn.ModuleList(
            nn.ModuleList(
                [gate(i, 2 * experts) for _ in range(tasks)] + [gate(i, (tasks + 1) * experts)]
            )
            for i in (first, wide)
        )
        self.ends = nn.ModuleList(
            nn.Sequential(nn.Linear(wide, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(tasks)
        )

    def forward(self, ids):
        x = self.table(ids).flatten(1)
        inputs = [x] * (len(self.ends) + 1)
        for experts, gates in zip(self.experts, self.gates):
            outs = [[e(x) for e in group] for group, x in zip(experts, inputs)]
            mixed = []
            for k, (gate, x) in enumerate(zip(gates, inputs)):
                seen = outs[k] + outs[-1] if k < len(self.ends) else sum(outs, [])
                weights = gate(x).softmax(1).unsqueeze(2)
                mixed.append((torch.stack(seen, 1) * weights).sum(1))
            inputs = mixed
        return torch.cat([end(x).sigmoid() for end, x in zip(self.ends, inputs)], 1)


class Frets(nn.Module):
    """Series by MLPs on their spectra: real and imaginary parts, shrunk softly."""

    def __init__(self, steps=96, ahead=96, c=64):
        super().__init__()
        draw = lambda *s: nn.Parameter(0.1 * torch.randn(*s))
        self.c, self.steps = c, steps
        self.embed = draw(1, c)
        self.r, self.i, self.rb, self.ib = draw(c, c), draw(c, c), draw(c), draw(c)
        t, k = torch.arange(steps), torch.arange(steps // 2 + 1)
        angles = 2 * torch.pi * torch.outer(t, k) / steps
        scale = steps**-0.5
        self.register_buffer("cos", angles.cos() * scale)
        self.register_buffer("sin", -angles.sin() * scale)
        twice = torch.full((steps // 2 + 1,), 2.0)
        twice[0] = twice[-1] = 1.0
        self.register_buffer("back_cos", (angles.cos() * twice * scale).T.contiguous())
        self.register_buffer("back_sin", (-angles.sin() * twice * scale).T.contiguous())
        self.end = nn.Sequential(nn.Linear(steps * c, 256), nn.LeakyReLU(), nn.Linear(256, ahead))

    def forward(self, x):
        y = x.permute(0, 2, 1).unsqueeze(3) * self.embed
        z = y.transpose(2, 3)
        r, i = (z @ self.cos).transpose(2, 3), (z @ self.sin).transpose(2, 3)
        a = torch.einsum("bnkc,cd->bnkd", r, self.r) - torch.einsum("bnkc,cd->bnkd", i, self.i)
        b = torch.einsum("bnkc,cd->bnkd", i, self.r) + torch.einsum("bnkc,cd->bnkd", r, self.i)
        a, b = F.softshrink((a + self.rb).relu(), 0.01), F.softshrink((b + self.ib).relu(), 0.01)
        z = a.transpose(2, 3) @ self.back_cos + b.transpose(2, 3) @ self.back_sin
        y = y + z.transpose(2, 3)
        return self.end(y.flatten(2)).permute(0, 2, 1)


class Micn(nn.Module):
    """Series parted in trend and seasons, seasons by convolutions at three scales."""

    def __init__(self, steps=96, ahead=48, series=7, c=64, kernels=(12, 16)):
        super().__init__()
        self.ahead = ahead
        self.means = nn.ModuleList(nn.AvgPool1d(k + 1, 1) for k in kernels)
        self.trend = nn.Linear(steps, ahead)
        self.embed = nn.Conv1d(series, c, 3, 1, 1, padding_mode="circular")
        self.local = nn.ModuleList(nn.Conv1d(c, c, k, k, k // 2) for k in kernels)
        self.wide = nn.ModuleList(nn.Conv1d(c, c, (steps + ahead) // k + 1) for k in kernels)
        self.back = nn.ModuleList(nn.ConvTranspose1d(c, c, k, k) for k in kernels)
        self.merge = nn.Conv2d(c, c, (len(kernels), 1))
        self.norm, self.end = nn.LayerNorm(c), nn.Linear(c, series)

    def mean(self, x, pool):
        k = pool.kernel_size[0]
        front, end = x[:, :, :1].repeat(1, 1, k // 2), x[:, :, -1:].repeat(1, 1, k // 2)
        return pool(torch.cat((front, x, end), 2))

    def forward(self, x):
        x = x.permute(0, 2, 1)
        mean = sum(self.mean(x, pool) for pool in self.means) / len(self.means)
        trend = self.trend(mean)
        y = self.embed(torch.cat((x - mean, torch.zeros_like(trend)), 2))
        outs = []
        for local, wide, back in zip(self.local, self.wide, self.back):
            z = local(y).tanh()
            z = F.pad(z, (z.shape[2] - 1, 0))[:, :, -(wide.kernel_size[0] + z.shape[2] // 2) :]
            z = back(wide(z).tanh())
            z = F.interpolate(z, y.shape[2], mode="linear", align_corners=False)
            outs.append(z + y)
        y = self.merge(torch.stack(outs, 2)).squeeze(2)
        y = self.end(self.norm(y.permute(0, 2, 1)))
        return y[:, -self.ahead :] + trend.permute(0, 2, 1)


class WorldStep(nn.Module):
    """One step of Dreamer's world: an image seen, a recurrent state, kinds drawn as the likeliest,
    the image imagined."""

    def __init__(self, c=32, wide=256, kinds=16):
        super().__init__()
        widths = (3, c, 2 * c, 4 * c)
        act = nn.SiLU
        self.see = nn.Sequential(
            *(
                nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.GroupNorm(1, o), act())
                for i, o in zip(widths, widths[1:])
            )
        )
        self.cell = nn.GRUCell(wide, wide)
        self.enter = nn.Sequential(nn.Linear(kinds * kinds + 6, wide), nn.LayerNorm(wide), act())
        self.kinds = nn.Linear(wide + 4 * c * 64, kinds * kinds)
        self.back = nn.Linear(wide + kinds * kinds, 4 * c * 64)
        self.draw = nn.Sequential(
            nn.ConvTranspose2d(4 * c, 2 * c, 4, 2, 1),
            act(),
            nn.ConvTranspose2d(2 * c, c, 4, 2, 1),
            act(),
            nn.ConvTranspose2d(c, 3, 4, 2, 1),
        )
        self.n = kinds

    def forward(self, x, state, drawn, action):
        h = self.cell(self.enter(torch.cat((drawn, action), 1)), state)
        seen = self.see(x).flatten(1)
        odds = self.kinds(torch.cat((h, seen), 1)).view(-1, self.n, self.n)
        odds = 0.99 * odds.softmax(-1) + 0.01 / self.n
        z = F.one_hot(odds.argmax(-1), self.n).float().flatten(1)
        y = self.back(torch.cat((h, z), 1)).view(-1, 128, 8, 8)
        return torch.cat((self.draw(y).flatten(1), h, odds.log().flatten(1)), 1)


def series(*shape):
    return (shape, None)


model("quartz_net", {"x": series(1, 64, 256)})(QuartzNet)
model("dccrn", {"x": series(1, 2, 256, 64)}, script=True)(Dccrn)
model("sudo_rm_rf", {"x": series(1, 1, 8000)})(SudoRmRf)
model("diff_wave", {"x": series(1, 1, 2048), "mel": series(1, 80, 128), "t": series(1)})(DiffWave)
model("pct", {"x": series(1, 512, 3)}, script=True)(PointCloudTransformer)
model("voxel_net", {"x": series(4608, 8, 7)})(VoxelNet)
EDGES = {"source": ((900,), 200), "target": ((900,), 200)}
model("gated_gcn", {"x": series(200, 32), "e": series(900, 8), **EDGES}, unordered=True)(GatedGcn)
model(
    "dien",
    {
        "user": (("batch=32",), 1000),
        "past": (("batch=32", 20), 5000),
        "item": (("batch=32",), 5000),
    },
)(Dien)
model("ple", {"ids": (("batch=64", 24), 4000)})(Ple)
model("frets", {"x": series(8, 96, 7)})(Frets)
model("micn", {"x": series(8, 96, 7)}, script=True)(Micn)
model(
    "world_step",
    {
        "x": series(1, 3, 64, 64),
        "state": series(1, 256),
        "drawn": series(1, 256),
        "action": series(1, 6),
    },
)(WorldStep)
