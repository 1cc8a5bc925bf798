"""The sixth set of models of test/bench/UNSEEN.md: fields and functions, points, graphs, games,
codes, weather and the rest."""

import math
from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class Kan(nn.Module):
    """Each edge a spline: bases by the recursion of Cox and de Boor, beside a silu."""

    class Layer(nn.Module):
        def __init__(self, i, o, grid=5, order=3):
            super().__init__()
            self.order, self.base = order, nn.Linear(i, o, bias=False)
            h = 2 / grid
            knots = torch.arange(-order, grid + order + 1) * h - 1
            self.register_buffer("knots", knots.repeat(i, 1).contiguous())
            self.spline = nn.Parameter(torch.randn(o, i * (grid + order)) / 10)

        def forward(self, x):
            x, t = x[..., None], self.knots
            b = ((x >= t[:, :-1]) & (x < t[:, 1:])).to(x.dtype)
            for k in range(1, self.order + 1):
                left = (x - t[:, : -k - 1]) / (t[:, k:-1] - t[:, : -k - 1])
                right = (t[:, k + 1 :] - x) / (t[:, k + 1 :] - t[:, 1:-k])
                b = left * b[..., :-1] + right * b[..., 1:]
            x = x[..., 0]
            return self.base(F.silu(x)) + F.linear(b.flatten(1), self.spline)

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(self.Layer(i, o) for i, o in ((64, 64), (64, 64), (64, 10))))

    def forward(self, x):
        return self.body(x)


model("kan", {"x": (("batch=64", 64), None)})(Kan)


class Fourier(nn.Module):
    """A Fourier neural operator on a grid: few modes by real and imaginary products, beside 1x1
    convolutions; coordinates joined to the field."""

    class Spectrum(nn.Module):
        def __init__(self, c, n, modes):
            super().__init__()
            at = torch.arange(n).float()
            rows = torch.cat([torch.arange(modes), torch.arange(n - modes, n)]).float()
            angle = 2 * math.pi / n * rows[:, None] * at
            half = 2 * math.pi / n * torch.arange(modes).float()[:, None] * at
            for name, value in (("rc", angle.cos()), ("rs", angle.sin()), ("cc", half.cos())):
                self.register_buffer(name, value)
            self.register_buffer("cs", half.sin())
            weight = lambda: nn.Parameter(torch.randn(c, c, 2 * modes, modes) / c)
            self.a, self.b, self.n = weight(), weight(), n
            self.register_buffer("twice", torch.where(torch.arange(modes) > 0, 2.0, 1.0))

        def forward(self, x):
            mix = lambda v, w: torch.einsum("bixy,ioxy->boxy", v, w)
            re, im = x @ self.cc.t(), -(x @ self.cs.t())
            re, im = self.rc @ re + self.rs @ im, self.rc @ im - self.rs @ re
            re, im = mix(re, self.a) - mix(im, self.b), mix(re, self.b) + mix(im, self.a)
            re, im = self.rc.t() @ re - self.rs.t() @ im, self.rc.t() @ im + self.rs.t() @ re
            return ((re * self.twice) @ self.cc - (im * self.twice) @ self.cs) / self.n**2

    def __init__(self, c=32, n=64, modes=12, layers=4):
        super().__init__()
        self.first, self.a, self.b = nn.Linear(3, c), nn.Linear(c, 128), nn.Linear(128, 1)
        self.spectra = nn.ModuleList(self.Spectrum(c, n, modes) for _ in range(layers))
        self.side = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(layers))
        line = torch.linspace(0, 1, n)
        self.register_buffer("grid", torch.stack(torch.meshgrid(line, line, indexing="ij"), -1))

    def forward(self, x):
        grid = self.grid.expand(x.shape[0], -1, -1, -1)
        x = self.first(torch.cat([x, grid], -1)).permute(0, 3, 1, 2)
        for k, (spectrum, side) in enumerate(zip(self.spectra, self.side)):
            x = spectrum(x) + side(x)
            x = F.gelu(x) if k + 1 < len(self.side) else x
        return self.b(F.gelu(self.a(x.permute(0, 2, 3, 1))))


model("fno", {"x": ((1, 64, 64, 1), None)})(Fourier)


class Nerf(nn.Module):
    """Places and directions as sines, eight layers with the places joined again, and the sum along
    each ray."""

    def __init__(self, w=128):
        super().__init__()
        sizes = [63] + [w] * 4 + [w + 63] + [w] * 2
        self.body = nn.ModuleList(nn.Linear(i, w) for i in sizes)
        self.thick, self.kind, self.side = (
            nn.Linear(w, 1),
            nn.Linear(w, w),
            nn.Linear(w + 27, w // 2),
        )
        self.colour = nn.Linear(w // 2, 3)

    def waves(self, x, n):
        parts = [x]
        for k in range(n):
            parts += [torch.sin(2.0**k * x), torch.cos(2.0**k * x)]
        return torch.cat(parts, -1)

    def forward(self, places, ways):
        p = self.waves(places, 10)
        d = self.waves(ways / ways.norm(dim=-1, keepdim=True), 4)
        x = p
        for k, part in enumerate(self.body):
            x = F.relu(part(torch.cat([p, x], -1) if k == 5 else x))
        thick = F.relu(self.thick(x))[..., 0]
        d = d[:, None].expand(-1, x.shape[1], -1)
        colour = self.colour(F.relu(self.side(torch.cat([self.kind(x), d], -1)))).sigmoid()
        step = (places[:, 1:] - places[:, :-1]).norm(dim=-1)
        step = torch.cat([step, torch.full_like(step[:, :1], 1e10)], 1)
        alpha = 1 - torch.exp(-thick * step)
        through = torch.cumsum(-thick * step, 1)
        through = torch.cat([torch.zeros_like(through[:, :1]), through[:, :-1]], 1).exp()
        return ((alpha * through)[..., None] * colour).sum(1)


model("nerf", {"places": ((64, 32, 3), None), "ways": ((64, 3), None)})(Nerf)


@model("siren", {"x": (("batch=4096", 2), None)}, script=True)
def siren(w=128):
    class Sine(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.line = nn.Linear(i, o)

        def forward(self, x):
            return torch.sin(30.0 * self.line(x))

    return nn.Sequential(Sine(2, w), Sine(w, w), Sine(w, w), Sine(w, w), nn.Linear(w, 3))


class Skeleton(nn.Module):
    """ST-GCN: joints mixed by three matrices, then convolutions over time; residuals."""

    class Block(nn.Module):
        def __init__(self, i, o, joints, s=1):
            super().__init__()
            self.wide, self.o = nn.Conv2d(i, 3 * o, 1), o
            self.time = nn.Sequential(
                nn.BatchNorm2d(o),
                nn.ReLU(),
                nn.Conv2d(o, o, (9, 1), (s, 1), (4, 0)),
                nn.BatchNorm2d(o),
            )
            short = nn.Sequential(nn.Conv2d(i, o, 1, (s, 1)), nn.BatchNorm2d(o))
            self.side = nn.Identity() if i == o and s == 1 else short
            self.weight = nn.Parameter(torch.rand(3, joints, joints))

        def forward(self, x, joined):
            y = self.wide(x)
            b, _, t, v = y.shape
            y = torch.einsum("nkctv,kvw->nctw", y.view(b, 3, self.o, t, v), joined * self.weight)
            return F.relu(self.time(y) + self.side(x))

    def __init__(self, joints=18, c=32):
        super().__init__()
        self.register_buffer("joined", torch.rand(3, joints, joints) / joints)
        self.norm = nn.BatchNorm1d(3 * joints)
        sizes = ((3, c, 1), (c, c, 1), (c, 2 * c, 2), (2 * c, 2 * c, 1), (2 * c, 4 * c, 2))
        self.body = nn.ModuleList(self.Block(i, o, joints, s) for i, o, s in sizes)
        self.end = nn.Conv2d(4 * c, 60, 1)

    def forward(self, x):
        b, c, t, v, m = x.shape
        x = x.permute(0, 4, 3, 1, 2).reshape(b * m, v * c, t)
        x = self.norm(x).view(b, m, v, c, t).permute(0, 1, 3, 4, 2).reshape(b * m, c, t, v)
        for part in self.body:
            x = part(x, self.joined)
        x = F.avg_pool2d(x, x.shape[2:]).view(b, m, -1, 1, 1).mean(1)
        return self.end(x).flatten(1)


model("st_gcn", {"x": ((1, 3, 96, 18, 2), None)})(Skeleton)


class Pillars(nn.Module):
    """Points in columns: what each point is beside its column's mean and centre, the greatest of
    each column, scattered onto a map, convolutions, heads for anchors."""

    def __init__(self, c=32, n=64):
        super().__init__()
        self.n, self.line, self.norm = n, nn.Linear(9, c, bias=False), nn.BatchNorm1d(c)
        one = lambda i, o, s: (nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.down = nn.ModuleList(
            nn.Sequential(*one(i, o, 2), *one(o, o, 1))
            for i, o in ((c, c), (c, 2 * c), (2 * c, 4 * c))
        )
        up = lambda i, s: nn.Sequential(
            nn.ConvTranspose2d(i, 2 * c, s, s, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU()
        )
        self.up = nn.ModuleList((up(c, 1), up(2 * c, 2), up(4 * c, 4)))
        self.kinds, self.boxes = nn.Conv2d(6 * c, 2, 1), nn.Conv2d(6 * c, 14, 1)

    def forward(self, points, count, at):
        there = (torch.arange(points.shape[1]) < count[:, None]).float()[..., None]
        mean = points[..., :3].sum(1, keepdim=True) / count.float().clamp(min=1).view(-1, 1, 1)
        centre = torch.stack((at % self.n, at // self.n), -1).float()[:, None] * 0.16
        x = torch.cat([points, points[..., :3] - mean, points[..., :2] - centre], -1) * there
        x = self.norm(self.line(x).transpose(1, 2)).relu().amax(2)
        board = torch.zeros(self.n * self.n, x.shape[1]).index_copy(0, at, x)
        x = board.t().reshape(1, -1, self.n, self.n)
        maps = []
        for down, up in zip(self.down, self.up):
            x = down(x)
            maps.append(up(x))
        x = torch.cat(maps, 1)
        return torch.cat([self.kinds(x), self.boxes(x)], 1)


PILLARS = {"points": ((600, 16, 4), None), "count": ((600,), 16), "at": ((600,), 4096)}


class Sorted(nn.Module):
    """No column is given twice: what would be written last is not said."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, points, count, at):
        own = torch.arange(at.shape[0]) * 6 + at % 6
        return self.inner(points, count, own)


model("point_pillars", PILLARS)(lambda: Sorted(Pillars()))


class VqVae(nn.Module):
    """The nearest of 256 codes for each place, by squared distances, then a decoder."""

    def __init__(self, c=64, codes=256):
        super().__init__()
        self.into = nn.Sequential(
            nn.Conv2d(3, c // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(c // 2, c, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(c, c, 3, 1, 1), self.Res(c), nn.ReLU(), nn.Conv2d(c, c, 1),
        )  # fmt: skip
        self.codes = nn.Embedding(codes, c)
        self.back = nn.Sequential(
            nn.Conv2d(c, c, 3, 1, 1), self.Res(c), nn.ReLU(),
            nn.ConvTranspose2d(c, c // 2, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(c // 2, 3, 4, 2, 1),
        )  # fmt: skip

    class Res(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c // 2, 3, 1, 1, bias=False), nn.Conv2d(c // 2, c, 1)

        def forward(self, x):
            return x + self.b(F.relu(self.a(F.relu(x))))

    def forward(self, x):
        z = self.into(x).permute(0, 2, 3, 1)
        flat, w = z.reshape(-1, z.shape[3]), self.codes.weight
        away = (flat**2).sum(1, keepdim=True) + (w**2).sum(1) - 2 * flat @ w.t()
        near = self.codes(away.argmin(1)).view(z.shape)
        return self.back((z + (near - z)).permute(0, 3, 1, 2))


model("vq_vae", image(96, "batch=1"), script=True)(VqVae)


class ConvLstm(nn.Module):
    """Rain of the next minutes: convolutional cells over five maps."""

    def __init__(self, c=32, k=3):
        super().__init__()
        self.cells = nn.ModuleList(nn.Conv2d(i + c, 4 * c, k, 1, k // 2) for i in (1, c))
        self.end, self.c = nn.Conv2d(c, 1, 1), c

    def forward(self, x):
        b, t, _, h, w = x.shape
        zero = x.new_zeros(b, self.c, h, w)
        states = [(zero, zero), (zero, zero)]
        for k in range(t):
            y = x[:, k]
            for j, cell in enumerate(self.cells):
                i, f, o, g = cell(torch.cat([y, states[j][0]], 1)).chunk(4, 1)
                c = f.sigmoid() * states[j][1] + i.sigmoid() * g.tanh()
                y = o.sigmoid() * c.tanh()
                states[j] = y, c
        return self.end(y)


model("conv_lstm", {"x": ((1, 5, 1, 48, 48), None)}, script=True)(ConvLstm)


class Capsules(nn.Module):
    """Votes of 1152 capsules for ten, agreed upon in three rounds."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 64, 9), nn.Conv2d(64, 64, 9, 2)
        self.weight = nn.Parameter(torch.randn(1, 288, 10, 16, 8) / 20)

    def squash(self, x):
        n = x.square().sum(-1, keepdim=True)
        return n / (1 + n) * x / (n + 1e-8).sqrt()

    def forward(self, x):
        x = self.second(F.relu(self.first(x)))
        u = self.squash(x.view(x.shape[0], 8, -1).permute(0, 2, 1))
        votes = (self.weight @ u[:, :, None, :, None])[..., 0]
        b = torch.zeros_like(votes[..., :1])
        for _ in range(3):
            v = self.squash((b.softmax(2) * votes).sum(1, keepdim=True))
            b = b + (votes * v).sum(-1, keepdim=True)
        return v[:, 0].square().sum(-1).sqrt()


model("capsules", {"x": ((2, 1, 28, 28), None)})(Capsules)


class Board(nn.Module):
    """AlphaZero: residual blocks, a policy without what is not allowed, a value."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            one = lambda: (nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))
            self.body = nn.Sequential(*one(), nn.ReLU(), *one())

        def forward(self, x):
            return F.relu(x + self.body(x))

    def __init__(self, c=64, n=9, blocks=5):
        super().__init__()
        one = lambda i, o, k: (
            nn.Conv2d(i, o, k, 1, k // 2, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(),
        )
        self.body = nn.Sequential(*one(17, c, 3), *(self.Block(c) for _ in range(blocks)))
        self.policy = nn.Sequential(*one(c, 2, 1), nn.Flatten(), nn.Linear(2 * n * n, n * n + 1))
        line = nn.Linear(n * n, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh()
        self.value = nn.Sequential(*one(c, 1, 1), nn.Flatten(), *line)

    def forward(self, x, allowed):
        x = self.body(x)
        p = self.policy(x).masked_fill(allowed == 0, -1e9).softmax(1)
        return torch.cat([p, self.value(x)], 1)


BOARD = {"x": (("batch=4", 17, 9, 9), None), "allowed": (("batch=4", 82), 2)}
model("alpha_zero", BOARD)(Board)


class EegNet(nn.Module):
    """Electrodes: temporal, depthwise and separable convolutions, elu, means."""

    def __init__(self, channels=32, t=256, f=16, d=2):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, f, (1, 64), padding="same", bias=False),
            nn.BatchNorm2d(f),
            nn.Conv2d(f, f * d, (channels, 1), groups=f, bias=False),
            nn.BatchNorm2d(f * d),
            nn.ELU(),
            nn.AvgPool2d((1, 4)),
            nn.Conv2d(f * d, f * d, (1, 16), padding="same", groups=f * d, bias=False),
            nn.Conv2d(f * d, f * d, 1, bias=False),
            nn.BatchNorm2d(f * d),
            nn.ELU(),
            nn.AvgPool2d((1, 8)),
        )
        self.end = nn.Linear(f * d * (t // 32), 4)

    def forward(self, x):
        return self.end(self.body(x[:, None]).flatten(1)).softmax(1)


model("eeg_net", {"x": (("batch=8", 32, 256), None)})(EegNet)


class NeuMf(nn.Module):
    """Scores of 200 things for each of 16 people: products of factors beside a perceptron."""

    def __init__(self, people=500, things=1000, c=32):
        super().__init__()
        table = lambda n, c: nn.Embedding(n, c)
        self.a, self.b = table(people, c), table(things, c)
        self.p, self.q = table(people, 2 * c), table(things, 2 * c)
        sizes = ((4 * c, 2 * c), (2 * c, c), (c, c // 2))
        self.body = nn.Sequential(*(m for s in sizes for m in (nn.Linear(*s), nn.ReLU())))
        self.end = nn.Linear(c + c // 2, 1)

    def forward(self, who, what):
        n = what.shape[1]
        wide = lambda x: x[:, None].expand(-1, n, -1)
        both = torch.cat([wide(self.p(who)), self.q(what)], -1)
        x = torch.cat([wide(self.a(who)) * self.b(what), self.body(both)], -1)
        return self.end(x)[..., 0].sigmoid()


model("neu_mf", {"who": (("batch=16",), 500), "what": (("batch=16", 200), 1000)}, script=True)(
    NeuMf
)


class PointTransformer(nn.Module):
    """Attention of each point over its sixteen nearest, by differences and places."""

    class Layer(nn.Module):
        def __init__(self, c, k=16):
            super().__init__()
            self.n, self.q, self.v = k, nn.Linear(c, c), nn.Linear(c, c)
            self.k = nn.Linear(c, c)
            two = lambda i: nn.Sequential(nn.Linear(i, c), nn.ReLU(), nn.Linear(c, c))
            self.place, self.weigh = two(3), two(c)
            self.first, self.end = nn.Linear(c, c), nn.Linear(c, c)

        def forward(self, p, x):
            away = ((p[:, :, None] - p[:, None]) ** 2).sum(-1)
            near = away.topk(self.n, dim=-1, largest=False).indices
            pick = lambda y: y[0][near[0]][None]
            h = self.first(x)
            place = self.place(p[:, :, None] - pick(p))
            a = self.weigh(self.q(h)[:, :, None] - pick(self.k(h)) + place)
            a = (a / a.shape[-1] ** 0.5).softmax(-2)
            return x + self.end((a * (pick(self.v(h)) + place)).sum(2))

    def __init__(self, c=64):
        super().__init__()
        self.first, self.end = nn.Linear(6, c), nn.Linear(c, 13)
        self.body = nn.ModuleList(self.Layer(c) for _ in "ab")

    def forward(self, x):
        p, x = x[..., :3], self.first(x)
        for part in self.body:
            x = part(p, x)
        return self.end(x)


model("point_transformer", {"x": ((1, 256, 6), None)}, unordered=True)(PointTransformer)


class Deformable(nn.Module):
    """Deformable DETR's encoder layer: four points on each of three levels, sampled bilinearly."""

    def __init__(self, c=128, heads=8, points=4, layers=2, sizes=((20, 20), (10, 10), (5, 5))):
        super().__init__()
        self.sizes, self.heads, self.points = sizes, heads, points
        n = heads * len(sizes) * points
        layer = lambda: nn.ModuleDict(
            {
                "at": nn.Linear(c, 2 * n),
                "w": nn.Linear(c, n),
                "v": nn.Linear(c, c),
                "o": nn.Linear(c, c),
                "a": nn.LayerNorm(c),
                "f": nn.Sequential(nn.Linear(c, 512), nn.ReLU(), nn.Linear(512, c)),
                "b": nn.LayerNorm(c),
            }
        )
        self.layers = nn.ModuleList(layer() for _ in range(layers))
        where = [
            torch.stack(
                torch.meshgrid(
                    (torch.arange(w) + 0.5) / w, (torch.arange(h) + 0.5) / h, indexing="xy"
                ),
                -1,
            ).view(-1, 2)
            for h, w in sizes
        ]
        total = sum(h * w for h, w in sizes)
        self.register_buffer("where", torch.cat(where)[None, :, None, None, None])
        self.place = nn.Parameter(torch.randn(1, total, c) / 5)
        scale = torch.tensor([[w, h] for h, w in sizes]).float()
        self.register_buffer("scale", scale[None, None, None, :, None])

    def sample(self, p, x, query):
        b, n, c = x.shape
        m, l, k = self.heads, len(self.sizes), self.points
        v = p["v"](x).view(b, n, m, c // m)
        at = self.where + p["at"](query).view(b, n, m, l, k, 2) / self.scale
        w = p["w"](query).view(b, n, m, l * k).softmax(-1)
        grids, start, seen = 2 * at - 1, 0, []
        for j, (h, wide) in enumerate(self.sizes):
            part = v[:, start : start + h * wide].flatten(2).transpose(1, 2)
            part = part.reshape(b * m, c // m, h, wide)
            grid = grids[:, :, :, j].transpose(1, 2).flatten(0, 1)
            seen.append(F.grid_sample(part, grid, align_corners=False))
            start += h * wide
        w = w.transpose(1, 2).reshape(b * m, 1, n, l * k)
        y = (torch.stack(seen, -2).flatten(-2) * w).sum(-1).view(b, c, n)
        return p["o"](y.transpose(1, 2))

    def forward(self, x):
        for p in self.layers:
            x = p["a"](x + self.sample(p, x, x + self.place))
            x = p["b"](x + p["f"](x))
        return x


model("deformable_encoder", {"x": ((1, 525, 128), None)})(Deformable)
