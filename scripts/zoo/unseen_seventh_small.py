"""The rest of the seventh set of test/bench/UNSEEN.md: small networks written after their papers or
their published code."""

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


# ---- sound
class Gtcrn(nn.Module):
    """GTCRN, a denoiser: bands, groups of three neighbours, shuffled halves, two ways of GRUs."""

    class Block(nn.Module):
        def __init__(self, c, d, back=False):
            super().__init__()
            conv = nn.ConvTranspose2d if back else nn.Conv2d
            h, self.d = c // 2, d
            self.a = nn.Sequential(conv(3 * h, h, 1), nn.BatchNorm2d(h), nn.PReLU())
            pad = (2 * d, 1) if back else (0, 1)
            self.deep = nn.Sequential(
                conv(h, h, 3, padding=pad, dilation=(d, 1), groups=h), nn.BatchNorm2d(h), nn.PReLU()
            )
            self.b = nn.Sequential(conv(h, h, 1), nn.BatchNorm2d(h))
            self.cells, self.gate = nn.GRU(h, 2 * h, batch_first=True), nn.Linear(2 * h, h)

        def forward(self, x):
            x, kept = x.chunk(2, 1)
            b, c, t, f = x.shape
            near = F.unfold(x, (1, 3), padding=(0, 1)).reshape(b, 3 * c, t, f)
            y = self.b(self.deep(F.pad(self.a(near), (0, 0, 2 * self.d, 0))))
            y = y[:, :, -t:]
            gate = self.gate(self.cells((y**2).mean(-1).transpose(1, 2))[0]).sigmoid()
            y = y * gate.transpose(1, 2)[..., None]
            return torch.stack([y, kept], 1).transpose(1, 2).reshape(b, 2 * c, t, f)

    class Dual(nn.Module):
        def __init__(self, c, f):
            super().__init__()
            self.along = nn.GRU(c, c // 2, batch_first=True, bidirectional=True)
            self.over = nn.GRU(c, c, batch_first=True)
            self.p, self.q = nn.Linear(c, c), nn.Linear(c, c)
            self.n, self.m = nn.LayerNorm((f, c)), nn.LayerNorm((f, c))

        def forward(self, x):
            x = x.permute(0, 2, 3, 1)
            b, t, f, c = x.shape
            y = self.p(self.along(x.reshape(b * t, f, c))[0]).view(b, t, f, c)
            x = x + self.n(y)
            y = x.transpose(1, 2).reshape(b * f, t, c)
            y = self.q(self.over(y)[0]).view(b, f, t, c).transpose(1, 2)
            return (x + self.m(y)).permute(0, 3, 1, 2)

    def __init__(self, c=16):
        super().__init__()
        self.bands, self.back = nn.Linear(192, 64, bias=False), nn.Linear(64, 192, bias=False)
        one = lambda i, o, g=1: nn.Sequential(
            nn.Conv2d(i, o, (1, 5), (1, 2), (0, 2), groups=g), nn.BatchNorm2d(o), nn.PReLU()
        )
        self.first = nn.Sequential(one(3, c), one(c, c, 2))
        self.down = nn.ModuleList(self.Block(c, d) for d in (1, 2, 5))
        self.middle = nn.Sequential(self.Dual(c, 33), self.Dual(c, 33))
        self.up = nn.ModuleList(self.Block(c, d, True) for d in (5, 2, 1))
        grow = lambda o, g: nn.ConvTranspose2d(c, o, (1, 5), (1, 2), (0, 2), groups=g)
        self.end = nn.Sequential(grow(c, 2), nn.BatchNorm2d(c), nn.PReLU(), grow(2, 1))

    def forward(self, x):
        wide = torch.cat([(x**2).sum(1, keepdim=True).add(1e-12).sqrt(), x], 1)
        y = self.first(torch.cat([wide[..., :65], self.bands(wide[..., 65:])], -1))
        kept = []
        for part in self.down:
            y = part(y)
            kept.append(y)
        y = self.middle(y)
        for part, side in zip(self.up, kept[::-1]):
            y = part(y + side)
        m = self.end(y).tanh()
        m = torch.cat([m[..., :65], self.back(m[..., 65:])], -1)
        real = x[:, 0] * m[:, 0] - x[:, 1] * m[:, 1]
        return torch.stack([real, x[:, 1] * m[:, 0] + x[:, 0] * m[:, 1]], 1)


model("gtcrn", {"x": ((1, 2, 63, 257), None)}, script=True)(Gtcrn)


class BigVgan(nn.Module):
    """BigVGAN: snakes on twice the rate, by fixed filters up and down, in residual blocks."""

    class Snake(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.rand(c, 1) + 0.5), nn.Parameter(torch.rand(c, 1))
            self.register_buffer("k", torch.hamming_window(12)[None, None] / 6)

        def forward(self, x):
            c = x.shape[1]
            k = self.k.expand(c, -1, -1)
            y = 2 * F.conv_transpose1d(F.pad(x, (5, 5), mode="replicate"), k, stride=2, groups=c)
            y = y[..., 15:-15]
            y = y + (1 / (self.b.exp() + 1e-9)) * (y * self.a.exp()).sin() ** 2
            return F.conv1d(F.pad(y, (5, 6), mode="replicate"), k, stride=2, groups=c)

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            conv = lambda d: nn.Conv1d(c, c, 3, padding=d, dilation=d)
            one = lambda d: nn.Sequential(BigVgan.Snake(c), conv(d), BigVgan.Snake(c), conv(1))
            self.parts = nn.ModuleList(one(d) for d in (1, 3))

        def forward(self, x):
            for part in self.parts:
                x = x + part(x)
            return x

    def __init__(self, c=64):
        super().__init__()
        self.first = nn.Conv1d(80, c, 7, padding=3)
        steps = []
        for r in (8, 4, 2):
            steps += [nn.ConvTranspose1d(c, c // 2, 2 * r, r, r // 2), self.Block(c // 2)]
            c //= 2
        self.body = nn.Sequential(*steps, self.Snake(c), nn.Conv1d(c, 1, 7, padding=3))

    def forward(self, x):
        return self.body(self.first(x)).tanh()


model("bigvgan", {"x": ((1, 80, 48), None)})(BigVgan)


class WaveRnn(nn.Module):
    """Sixteen samples of WaveRNN, one after the other."""

    def __init__(self, c=256, mel=80):
        super().__init__()
        self.first = nn.Linear(mel + 1, c)
        self.a, self.b = nn.GRUCell(c, c), nn.GRUCell(c + mel, c)
        self.p, self.q, self.end = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, 256)

    def forward(self, m):
        h = g = torch.zeros(1, self.p.in_features)
        y, out = torch.zeros(1, 1), []
        for k in range(16):
            x = self.first(torch.cat([y, m[:, k]], 1))
            h = self.a(x, h)
            x = x + h
            g = self.b(torch.cat([x, m[:, k]], 1), g)
            x = self.end(self.q(self.p(x + g).relu()).relu())
            out.append(x)
            y = (x.softmax(1) * torch.linspace(-1, 1, 256)).sum(1, keepdim=True)
        return torch.stack(out, 1)


model("wave_rnn", {"m": ((1, 16, 80), None)})(WaveRnn)


# ---- series
class LstNet(nn.Module):
    """A convolution over time, a GRU, a GRU that skips a day, and a linear part beside them."""

    def __init__(self, m=32, c=64, k=6, skip=24):
        super().__init__()
        self.conv, self.skip = nn.Conv2d(1, c, (k, m)), skip
        self.cells, self.far = nn.GRU(c, c, batch_first=True), nn.GRU(c, 8, batch_first=True)
        self.end, self.line = nn.Linear(c + 8 * skip, m), nn.Linear(24, 1)

    def forward(self, x):
        b, t, m = x.shape
        c = self.conv(x[:, None]).relu()[..., 0].transpose(1, 2)
        h = self.cells(c)[0][:, -1]
        n = c.shape[1] // self.skip
        s = c[:, -n * self.skip :].reshape(b, n, self.skip, -1).transpose(1, 2)
        s = self.far(s.reshape(b * self.skip, n, -1))[0][:, -1].reshape(b, -1)
        return self.end(torch.cat([h, s], 1)) + self.line(x[:, -24:].transpose(1, 2))[..., 0]


model("lstnet", {"x": ((4, 168, 32), None)})(LstNet)


class InceptionTime(nn.Module):
    class Block(nn.Module):
        def __init__(self, i, c=32):
            super().__init__()
            self.narrow = nn.Conv1d(i, c, 1, bias=False)
            self.wide = nn.ModuleList(
                nn.Conv1d(c, c, k, padding=k // 2, bias=False) for k in (9, 19, 39)
            )
            self.side = nn.Conv1d(i, c, 1, bias=False)
            self.norm = nn.BatchNorm1d(4 * c)

        def forward(self, x):
            y = self.narrow(x)
            side = self.side(F.max_pool1d(x, 3, 1, 1))
            return self.norm(torch.cat([w(y) for w in self.wide] + [side], 1)).relu()

    def __init__(self, i=6, kinds=10):
        super().__init__()
        self.a = nn.Sequential(self.Block(i), self.Block(128), self.Block(128))
        self.over = nn.Sequential(nn.Conv1d(i, 128, 1, bias=False), nn.BatchNorm1d(128))
        self.end = nn.Linear(128, kinds)

    def forward(self, x):
        return self.end((self.a(x) + self.over(x)).relu().mean(2))


model("inception_time", {"x": (("batch=4", 6, 256), None)}, script=True)(InceptionTime)


class ITransformer(nn.Module):
    """Each series is one token: normalized, embedded whole, attended to, and scaled back."""

    def __init__(self, t=96, ahead=48, c=128):
        super().__init__()
        self.first, self.end = nn.Linear(t, c), nn.Linear(c, ahead)
        layer = nn.TransformerEncoderLayer(c, 8, 2 * c, activation="gelu", batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        x = x - mean
        size = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        y = self.body(self.first((x / size).transpose(1, 2)))
        return self.end(y).transpose(1, 2) * size + mean


model("itransformer", {"x": (("batch=8", 96, 21), None)})(ITransformer)


# ---- images
def conv(i, o, k=3, s=1, groups=1, act=True):
    parts = [nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*parts, nn.ReLU()) if act else nn.Sequential(*parts)


class FastScnn(nn.Module):
    """Segmentation: two resolutions that share a stem, a pyramid of means, a sum."""

    class Bottle(nn.Module):
        def __init__(self, i, o, s=1, t=6):
            super().__init__()
            self.body = nn.Sequential(
                conv(i, i * t, 1), conv(i * t, i * t, 3, s, i * t), conv(i * t, o, 1, act=False)
            )
            self.add = i == o and s == 1

        def forward(self, x):
            return x + self.body(x) if self.add else self.body(x)

    def __init__(self, kinds=19):
        super().__init__()
        apart = lambda i, o, s: nn.Sequential(conv(i, i, 3, s, i), conv(i, o, 1))
        self.stem = nn.Sequential(conv(3, 32, 3, 2), apart(32, 48, 2), apart(48, 64, 2))
        b = self.Bottle
        self.deep = nn.Sequential(b(64, 64, 2), b(64, 64), b(64, 96, 2), b(96, 96), b(96, 128))
        self.means = nn.ModuleList(conv(128, 32, 1) for _ in "abcd")
        self.join = conv(256, 128, 1)
        self.low, self.high = conv(128, 128, 1, act=False), conv(64, 128, 1, act=False)
        self.wide = conv(128, 128, groups=128)
        self.end = nn.Sequential(apart(128, 128, 1), nn.Conv2d(128, kinds, 1))

    def forward(self, x):
        size, x = x.shape[2:], self.stem(x)
        y = self.deep(x)
        grow = lambda z, n: F.interpolate(z, n, mode="bilinear", align_corners=True)
        parts = [
            grow(part(F.adaptive_avg_pool2d(y, n)), y.shape[2:])
            for n, part in zip((1, 2, 4, 8), self.means)
        ]
        y = self.wide(grow(self.join(torch.cat([y] + parts, 1)), x.shape[2:]))
        return grow(self.end((self.low(y) + self.high(x)).relu()), size)


model("fast_scnn", {"x": ((1, 3, 256, 256), None)})(FastScnn)


class Craft(nn.Module):
    """CRAFT, where letters are: VGG, a dilated end, and a path up that joins and halves."""

    def __init__(self, w=32):
        super().__init__()
        two = lambda i, o: nn.Sequential(conv(i, o), conv(o, o))
        self.down = nn.ModuleList([two(3, w), two(w, 2 * w), two(2 * w, 4 * w), two(4 * w, 8 * w)])
        self.far = nn.Sequential(
            nn.MaxPool2d(3, 1, 1),
            nn.Conv2d(8 * w, 8 * w, 3, padding=6, dilation=6),
            nn.Conv2d(8 * w, 8 * w, 1),
        )
        up = lambda i, m, o: nn.Sequential(conv(i + m, m, 1), conv(m, o))
        self.up = nn.ModuleList(
            [up(8 * w, 8 * w, 4 * w), up(4 * w, 4 * w, 2 * w), up(2 * w, 2 * w, w)]
        )
        end = [conv(w, w // 2), conv(w // 2, w // 2), conv(w // 2, w // 2, 1)]
        self.end = nn.Sequential(*end, nn.Conv2d(w // 2, 2, 1))

    def forward(self, x):
        kept = []
        for k, part in enumerate(self.down):
            x = part(F.max_pool2d(x, 2) if k else x)
            kept.append(x)
        y = self.far(x)
        for k, (part, side) in enumerate(zip(self.up, kept[::-1])):
            if k:
                y = F.interpolate(y, side.shape[2:], mode="bilinear", align_corners=False)
            y = part(torch.cat([y, side], 1))
        return self.end(y).permute(0, 2, 3, 1)


model("craft", {"x": ((1, 3, 192, 256), None)}, script=True)(Craft)


# ---- recommenders, graphs, text
class AutoInt(nn.Module):
    """Fields as vectors, attended to by each other, with a residual."""

    def __init__(self, fields=24, words=200, c=16, heads=2, layers=3):
        super().__init__()
        self.table, self.n = nn.Embedding(fields * words, c), heads
        self.register_buffer("start", torch.arange(fields) * words)
        sizes = [c] + [2 * c] * layers
        pairs = list(zip(sizes, sizes[1:]))
        self.q, self.k, self.v, self.r = (
            nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs) for _ in "qkvr"
        )
        self.end = nn.Linear(fields * 2 * c, 1)

    def forward(self, ids):
        x = self.table(ids + self.start)
        for q, k, v, r in zip(self.q, self.k, self.v, self.r):
            cut = lambda y: torch.stack(y.chunk(self.n, -1))
            a = torch.einsum("hbik,hbjk->hbij", cut(q(x)), cut(k(x))).softmax(-1)
            y = torch.cat(list(a @ cut(v(x))), -1)
            x = (y + r(x)).relu()
        return self.end(x.flatten(1)).sigmoid()


model("auto_int", {"ids": (("batch=64", 24), 200)}, script=True)(AutoInt)


class Cin(nn.Module):
    """xDeepFM: outer products of fields, compressed, and a perceptron beside them."""

    def __init__(self, fields=20, words=100, c=16):
        super().__init__()
        self.table = nn.Embedding(fields * words, c)
        self.register_buffer("start", torch.arange(fields) * words)
        self.layers = nn.ModuleList(nn.Conv1d(fields * n, 64, 1) for n in (fields, 32))
        self.deep = nn.Sequential(nn.Linear(fields * c, 128), nn.ReLU(), nn.Linear(128, 1))
        self.end = nn.Linear(96, 1)

    def forward(self, ids):
        x = self.table(ids + self.start)
        h, out = x, []
        for k, layer in enumerate(self.layers):
            z = torch.einsum("bhd,bmd->bhmd", h, x).flatten(1, 2)
            z = layer(z).relu()
            keep, h = (z[:, :32], z[:, 32:]) if k == 0 else (z, z)
            out.append(keep.sum(-1))
        return (self.end(torch.cat(out, 1)) + self.deep(x.flatten(1))).sigmoid()


model("cin", {"ids": ((64, 20), 100)})(Cin)


class Mmoe(nn.Module):
    """Experts shared by three tasks, each with its own gate and tower."""

    def __init__(self, i=256, c=128, experts=6, tasks=3):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(i, c), nn.ReLU(), nn.Linear(c, c // 2), nn.ReLU())
            for _ in range(experts)
        )
        self.gates = nn.ModuleList(nn.Linear(i, experts) for _ in range(tasks))
        tower = lambda: nn.Sequential(nn.Linear(c // 2, 32), nn.ReLU(), nn.Linear(32, 1))
        self.towers = nn.ModuleList(tower() for _ in range(tasks))

    def forward(self, x):
        y = torch.stack([e(x) for e in self.experts], 1)
        out = []
        for gate, tower in zip(self.gates, self.towers):
            w = gate(x).softmax(-1)[:, None]
            out.append(tower((w @ y)[:, 0]).sigmoid())
        return torch.cat(out, 1)


model("mmoe", {"x": (("batch=128", 256), None)})(Mmoe)


class Egnn(nn.Module):
    """Equivariant layers: messages from distances over edges, summed; places move."""

    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            two = lambda i, o: nn.Sequential(nn.Linear(i, c), nn.SiLU(), nn.Linear(c, o))
            self.edge, self.node, self.move = two(2 * c + 1, c), two(2 * c, c), two(c, 1)

        def forward(self, h, x, a, b):
            d = x[a] - x[b]
            far = (d**2).sum(1, keepdim=True)
            m = self.edge(torch.cat([h[a], h[b], far], 1))
            m = m * m.sigmoid()
            x = x + torch.zeros_like(x).index_add(0, a, d * self.move(m))
            s = torch.zeros_like(h).index_add(0, a, m)
            return h + self.node(torch.cat([h, s], 1)), x

    def __init__(self, i=12, c=64):
        super().__init__()
        self.first = nn.Linear(i, c)
        self.body = nn.ModuleList(self.Layer(c) for _ in range(3))
        self.end = nn.Sequential(nn.Linear(c, c), nn.SiLU(), nn.Linear(c, 1))

    def forward(self, h, x, a, b):
        h = self.first(h)
        for part in self.body:
            h, x = part(h, x, a, b)
        return self.end(h).sum(0)


EDGES = ((2000,), 200)
ATOMS = {"h": ((200, 12), None), "p": ((200, 3), None), "a": EDGES, "b": EDGES}
model("egnn", ATOMS)(Egnn)


class Elmo(nn.Module):
    """Words by convolutions over letters and highways, then two LSTMs both ways."""

    def __init__(self, letters=200, c=16, w=128):
        super().__init__()
        self.table = nn.Embedding(letters, c)
        sizes = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256))
        self.convs = nn.ModuleList(nn.Conv1d(c, n, k) for k, n in sizes)
        self.ways = nn.ModuleList(nn.Linear(512, 1024) for _ in "ab")
        self.narrow = nn.Linear(512, w)
        self.cells = nn.LSTM(w, w, 2, bidirectional=True, batch_first=True)

    def forward(self, ids):
        b, n, k = ids.shape
        x = self.table(ids.view(b * n, k)).transpose(1, 2)
        x = torch.cat([c(x).amax(2).relu() for c in self.convs], 1)
        for way in self.ways:
            y, g = way(x).chunk(2, 1)
            g = g.sigmoid()
            x = g * x + (1 - g) * y.relu()
        return self.cells(self.narrow(x).view(b, n, -1))[0]


model("elmo", {"ids": ((1, 20, 30), 200)}, script=True)(Elmo)
