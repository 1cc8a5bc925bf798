"""Small models of the sixteenth set of test/bench/UNSEEN.md, written after their papers: weather,
traffic, molecules, a recommender, pose estimation, reinforcement learning, street scenes,
state-space models, an audio codec (unseen_sixteenth_sound.py has speech, music and images)."""

import math
from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    layer = nn.Conv2d(i, o, k, s, k // 2, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), *([act()] if act else []))


def rows(*widths, act=nn.ReLU):
    parts = [p for i, o in zip(widths, widths[1:]) for p in (nn.Linear(i, o), act())]
    return nn.Sequential(*parts[:-1])


class FourCast(nn.Module):
    """FourCastNet: weather fields as patches, mixed in the frequency domain by block-diagonal
    matrices, with soft thresholds."""

    class Block(nn.Module):
        def __init__(self, c, blocks=8, least=0.01):
            super().__init__()
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.least, self.blocks = least, blocks
            size = c // blocks
            draw = lambda *s: nn.Parameter(0.1 * torch.randn(*s))
            self.w = nn.ParameterList(draw(2, blocks, size, size) for _ in "ab")
            self.bias = nn.ParameterList(draw(2, blocks, size) for _ in "ab")
            self.ends = rows(c, 4 * c, c, act=nn.GELU)

        def product(self, re, im, k):
            w, bias = self.w[k], self.bias[k]
            mix = lambda x, m: torch.einsum("nhwbi,bio->nhwbo", x, m)
            return (
                mix(re, w[0]) - mix(im, w[1]) + bias[0],
                mix(im, w[0]) + mix(re, w[1]) + bias[1],
            )

        def forward(self, x):
            n, h, w, c = x.shape
            y = torch.view_as_real(torch.fft.rfft2(self.a(x), dim=(1, 2), norm="ortho"))
            y = y.reshape(n, h, w // 2 + 1, self.blocks, -1, 2)
            re, im = (t.relu() for t in self.product(y[..., 0], y[..., 1], 0))
            y = F.softshrink(torch.stack(self.product(re, im, 1), -1), self.least)
            y = torch.view_as_complex(y.reshape(n, h, w // 2 + 1, c, 2))
            y = torch.fft.irfft2(y, s=(h, w), dim=(1, 2), norm="ortho") + x
            return y + self.ends(self.b(y))

    def __init__(self, c=192, fields=8, patch=8):
        super().__init__()
        self.first, self.patch = nn.Conv2d(fields, c, patch, patch), patch
        self.place = nn.Parameter(0.02 * torch.randn(1, 16, 32, c))
        self.blocks = nn.Sequential(*(self.Block(c) for _ in range(3)))
        self.end = nn.Linear(c, fields * patch * patch, bias=False)

    def forward(self, x):
        y = self.blocks(self.first(x).permute(0, 2, 3, 1) + self.place)
        n, h, w, _ = y.shape
        y = self.end(y).reshape(n, h, w, self.patch, self.patch, -1)
        return y.permute(0, 5, 1, 3, 2, 4).reshape(n, -1, h * self.patch, w * self.patch)


class Dcrnn(nn.Module):
    """DCRNN: traffic on a network of roads: recurrent cells with products along the roads in both
    directions, one that reads an hour, one that predicts the next."""

    class Cell(nn.Module):
        def __init__(self, i, c):
            super().__init__()
            self.gates, self.new = nn.Linear(5 * (i + c), 2 * c), nn.Linear(5 * (i + c), c)

        def spread(self, x, ways):
            out = [x]
            for way in ways:
                y = way @ x
                out += [y, 2 * way @ y - x]
            return torch.cat(out, -1)

        def forward(self, x, h, ways):
            r, u = self.gates(self.spread(torch.cat((x, h), -1), ways)).sigmoid().chunk(2, -1)
            new = self.new(self.spread(torch.cat((x, r * h), -1), ways)).tanh()
            return u * h + (1 - u) * new

    def __init__(self, nodes=100, c=48, steps=6):
        super().__init__()
        self.c, self.steps = c, steps
        way = torch.rand(nodes, nodes) * (torch.rand(nodes, nodes) < 0.1)
        one = lambda w: w / w.sum(1, keepdim=True).clamp(min=1e-6)
        self.register_buffer("forth", one(way))
        self.register_buffer("back", one(way.t()))
        self.read, self.tell, self.end = self.Cell(2, c), self.Cell(1, c), nn.Linear(c, 1)

    def forward(self, x):
        ways = (self.forth, self.back)
        h = torch.zeros(x.shape[0], x.shape[2], self.c)
        for step in x.unbind(1):
            h = self.read(step, h, ways)
        y, out = torch.zeros_like(x[:, 0, :, :1]), []
        for _ in range(self.steps):
            h = self.tell(y, h, ways)
            y = self.end(h)
            out.append(y)
        return torch.stack(out, 1)


class DeeperGcn(nn.Module):
    """DeeperGCN: messages along edges weighed by a softmax for each feature, over many layers."""

    def __init__(self, c=96, layers=4):
        super().__init__()
        self.enter, self.edge = nn.Linear(32, c), nn.Linear(8, c)
        self.heat = nn.Parameter(torch.rand(layers) + 0.5)
        self.norms = nn.ModuleList(nn.BatchNorm1d(c) for _ in range(layers))
        self.rows = nn.ModuleList(
            nn.Sequential(
                nn.Linear(c, 2 * c), nn.BatchNorm1d(2 * c), nn.ReLU(), nn.Linear(2 * c, c)
            )
            for _ in range(layers)
        )
        self.end = nn.Linear(c, 16)

    def forward(self, x, e, source, target):
        x, e = self.enter(x), self.edge(e)
        at = target[:, None].expand(-1, x.shape[1])
        for k, (norm, line) in enumerate(zip(self.norms, self.rows)):
            y = norm(x).relu()
            given = (y[source] + e).relu() + 1e-7
            score = given * self.heat[k]
            most = torch.full_like(x, -1e30).scatter_reduce(0, at, score, "amax")
            weight = (score - most[target]).exp()
            total = torch.zeros_like(x).index_add(0, target, weight)
            y = y + torch.zeros_like(x).index_add(0, target, weight / total[target] * given)
            x = x + line(y)
        return self.end(x)


class Nequip(nn.Module):
    """NequIP: forces on atoms by products of scalars, vectors and matrices that are equivariant to
    rotations."""

    class Layer(nn.Module):
        def __init__(self, c, radial=8):
            super().__init__()
            self.weights = rows(radial, 32, 7 * c, act=nn.SiLU)
            self.s, self.v, self.t = (nn.Linear(k * c, c, bias=False) for k in (2, 3, 2))
            self.own, self.gate = nn.Linear(c, c), nn.Linear(c, 2 * c)
            turn = torch.zeros(3, 3, 3)
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                turn[i, j, k], turn[i, k, j] = 1.0, -1.0
            self.register_buffer("turn", turn)

        def forward(self, s, v, t, near, way, source, target):
            w = self.weights(near).reshape(len(near), 7, -1).unbind(1)
            a, b, d = s[source], v[source], t[source]
            square = way[:, :, None] * way[:, None] - torch.eye(3) / 3
            one = (w[0] * a, w[1] * torch.einsum("eci,ei->ec", b, way))
            two = (
                (w[2] * a)[..., None] * way[:, None],
                w[3][..., None] * torch.einsum("ijk,ecj,ek->eci", self.turn, b, way),
                w[4][..., None] * torch.einsum("ecij,ej->eci", d, way),
            )
            three = (
                (w[5] * a)[..., None, None] * square[:, None],
                w[6][..., None, None] * b[..., None] * way[:, None, None],
            )
            gather = lambda parts, like: torch.zeros(
                like.shape[0], sum(p.shape[1] for p in parts), *like.shape[2:]
            ).index_add(0, target, torch.cat(parts, 1))
            s = self.own(s) + self.s(gather(one, s))
            v = v + self.v(gather(two, v).transpose(1, -1)).transpose(1, -1)
            t = t + self.t(gather(three, t).transpose(1, -1)).transpose(1, -1)
            g, u = self.gate(s).sigmoid().chunk(2, -1)
            return F.silu(s), v * g[..., None], t * u[..., None, None]

    def __init__(self, c=32, kinds=20, layers=2):
        super().__init__()
        self.c, self.rows = c, nn.Embedding(kinds, c)
        self.register_buffer("rates", math.pi / 5 * torch.arange(1, 9).float())
        self.layers, self.end = nn.ModuleList(self.Layer(c) for _ in range(layers)), rows(c, 16, 1)

    def forward(self, kinds, where, source, target):
        way = where[target] - where[source]
        far = (way.square().sum(-1, keepdim=True) + 0.01).sqrt()
        near, way = (self.rates * far).sin() / far, way / far
        s = self.rows(kinds)
        v, t = torch.zeros(len(s), self.c, 3), torch.zeros(len(s), self.c, 3, 3)
        for layer in self.layers:
            s, v, t = layer(s, v, t, near, way, source, target)
        return self.end(s).sum(0)


class TwoTowers(nn.Module):
    """A two-tower recommender: items and users as vectors, a user by the mean of the items seen;
    the best 50."""

    def __init__(self, c=64, people=4000, things=8000):
        super().__init__()
        self.people, self.seen = nn.Embedding(people, c), nn.EmbeddingBag(things, c, mode="mean")
        self.kinds = nn.ModuleList(nn.Embedding(100, 16) for _ in range(6))
        self.user = rows(2 * c + 96, 256, 128, c)
        self.register_buffer("all", F.normalize(torch.randn(things, c), dim=-1))

    def forward(self, who, seen, kinds):
        kinds = torch.cat([rows(kinds[:, k]) for k, rows in enumerate(self.kinds)], -1)
        y = self.user(torch.cat((self.people(who), self.seen(seen), kinds), -1))
        return (F.normalize(y, dim=-1) @ self.all.t() / 0.07).topk(50, -1)[0]


class MoveNet(nn.Module):
    """MoveNet: pose estimation: the most central person, the offset from its centre to each joint,
    the nearest peak of the heat map, and the joint's offset from that cell."""

    def __init__(self, c=64, joints=17):
        super().__init__()
        act, deep = nn.ReLU6, lambda i, o, s=1: nn.Sequential(
            conv(i, 4 * i, 1, act=nn.ReLU6),
            conv(4 * i, 4 * i, 3, s, nn.ReLU6, groups=4 * i),
            conv(4 * i, o, 1, act=None),
        )
        self.a = nn.Sequential(conv(3, 16, 3, 2, act), deep(16, 24, 2))
        self.b, self.d = nn.Sequential(deep(24, 32, 2), deep(32, 32)), deep(32, 64, 2)
        self.side = nn.ModuleList(nn.Conv2d(i, c, 1) for i in (24, 32, 64))
        head = lambda o: nn.Sequential(
            nn.Conv2d(c, c, 3, 1, 1, groups=c), nn.Conv2d(c, c, 1), nn.ReLU(), nn.Conv2d(c, o, 1)
        )
        self.joints = joints
        self.centre, self.way, self.heat, self.rest = map(head, (1, 2 * joints, joints, 2 * joints))

    def forward(self, x):
        x = x.permute(0, 3, 1, 2).float() / 127.5 - 1
        a = self.a(x)
        b = self.b(a)
        y = self.side[2](self.d(b))
        for side, part in ((self.side[1], b), (self.side[0], a)):
            y = side(part) + F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        h, w = y.shape[2:]
        centre, way = self.centre(y).sigmoid()[:, 0], self.way(y).permute(0, 2, 3, 1)
        heat, rest = self.heat(y).sigmoid(), self.rest(y).reshape(1, self.joints, 2, h * w)
        down, right = torch.arange(h).float()[:, None], torch.arange(w).float()
        middle = ((down - (h - 1) / 2) ** 2 + (right - (w - 1) / 2) ** 2).sqrt() + 1.8
        best = (centre / middle).flatten(1).argmax(1)
        row, column = torch.div(best, w, rounding_mode="floor"), best % w
        at = way.reshape(1, h * w, -1)[:, best[0]].reshape(1, self.joints, 2)
        rows_, columns = at[..., 0] + row.float(), at[..., 1] + column.float()
        away = (down[None, None] - rows_[..., None, None]) ** 2
        away = (away + (right - columns[..., None, None]) ** 2).sqrt() + 1.8
        peak = (heat / away).flatten(2).argmax(2)
        more = rest.gather(3, peak[:, :, None, None].expand(-1, -1, 2, 1))[..., 0]
        score = heat.flatten(2).gather(2, peak[:, :, None])[..., 0]
        y = (torch.div(peak, w, rounding_mode="floor").float() + more[..., 0]) / h
        return torch.stack((y, ((peak % w).float() + more[..., 1]) / w, score), -1)


class Rainbow(nn.Module):
    """Rainbow: the value of each action as a distribution, split into the value of the state and
    the advantage."""

    def __init__(self, moves=18, atoms=51):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3),
            nn.ReLU(),
        )
        self.value, self.rest = rows(3136, 512, atoms), rows(3136, 512, moves * atoms)
        self.moves, self.atoms = moves, atoms
        self.register_buffer("support", torch.linspace(-10, 10, atoms))

    def forward(self, x):
        y = self.body(x.float() / 255).flatten(1)
        value = self.value(y).reshape(-1, 1, self.atoms)
        rest = self.rest(y).reshape(-1, self.moves, self.atoms)
        chance = (value + rest - rest.mean(1, keepdim=True)).softmax(-1)
        return (chance * self.support).sum(-1)


class Ddr(nn.Module):
    """DDRNet: segmentation of street scenes by a coarse and a fine branch that are added to each
    other, and means over many sizes."""

    class Block(nn.Module):
        def __init__(self, i, o, s=1, last=True):
            super().__init__()
            self.body = nn.Sequential(conv(i, o, 3, s), conv(o, o, act=None))
            self.side = conv(i, o, 1, s, None) if s > 1 or i != o else nn.Identity()
            self.last = last

        def forward(self, x):
            y = self.body(x) + self.side(x)
            return y.relu() if self.last else y

    class Means(nn.Module):
        def __init__(self, i, m, o):
            super().__init__()
            before = lambda i, o, k=1: nn.Sequential(
                nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, o, k, 1, k // 2, bias=False)
            )
            self.scales = nn.ModuleList(before(i, m) for _ in range(4))
            self.mix = nn.ModuleList(before(m, m, 3) for _ in range(3))
            self.join, self.side = before(4 * m, o), before(i, o)

        def forward(self, x):
            size, parts = x.shape[2:], [self.scales[0](x)]
            pooled = (F.avg_pool2d(x, 5, 2, 2), F.avg_pool2d(x, 9, 4, 4), x.mean((2, 3), True))
            for scale, mix, y in zip(self.scales[1:], self.mix, pooled):
                y = F.interpolate(scale(y), size=size, mode="bilinear", align_corners=False)
                parts.append(mix(y + parts[-1]))
            return self.join(torch.cat(parts, 1)) + self.side(x)

    def __init__(self, c=32, kinds=19):
        super().__init__()
        block = self.Block
        self.stem = nn.Sequential(conv(3, c, 3, 2), conv(c, c, 3, 2), block(c, c), block(c, c))
        self.two = nn.Sequential(block(c, 2 * c, 2), block(2 * c, 2 * c, last=False))
        self.low = nn.ModuleList(
            nn.Sequential(block(i, o, 2), block(o, o, last=False))
            for i, o in ((2 * c, 4 * c), (4 * c, 8 * c))
        )
        self.fine = nn.ModuleList(block(2 * c, 2 * c, last=False) for _ in "ab")
        self.narrow = nn.ModuleList(conv(i, 2 * c, 1, act=None) for i in (4 * c, 8 * c))
        self.coarse = nn.ModuleList(
            [
                conv(2 * c, 4 * c, 3, 2, None),
                nn.Sequential(conv(2 * c, 4 * c, 3, 2), conv(4 * c, 8 * c, 3, 2, None)),
            ]
        )
        self.means = self.Means(8 * c, 2 * c, 2 * c)
        self.end = nn.Sequential(
            nn.BatchNorm2d(2 * c), nn.ReLU(), conv(2 * c, 2 * c), nn.Conv2d(2 * c, kinds, 1)
        )

    def forward(self, x):
        fine = low = self.two(self.stem(x))
        for down, same, narrow, coarse in zip(self.low, self.fine, self.narrow, self.coarse):
            low, fine = down(low.relu()), same(fine.relu())
            kept = fine
            up = narrow(low.relu())
            fine = fine + F.interpolate(
                up, size=fine.shape[2:], mode="bilinear", align_corners=False
            )
            low = low + coarse(kept.relu())
        y = F.interpolate(
            self.means(low), size=fine.shape[2:], mode="bilinear", align_corners=False
        )
        return self.end(y + fine)


class S5(nn.Module):
    """S5: a diagonal state-space model, all steps at once by a scan in log2(length) rounds; real
    and imaginary parts separate."""

    class Layer(nn.Module):
        def __init__(self, c, states):
            super().__init__()
            draw = lambda *s: nn.Parameter(torch.randn(*s) / s[-1] ** 0.5)
            self.norm, self.gate = nn.LayerNorm(c), nn.Linear(c, 2 * c)
            self.far, self.turn = nn.Parameter(torch.rand(states) + 0.1), draw(states)
            self.br, self.bi, self.cr, self.ci = (
                *(draw(c, states) for _ in "ab"),
                *(draw(states, c) for _ in "ab"),
            )
            self.step, self.skip = nn.Parameter(torch.rand(states) - 3), draw(c)

        def forward(self, x):
            y = self.norm(x)
            step = self.step.exp()
            size, angle = (-self.far * step).exp(), self.turn * step
            ar, ai = size * angle.cos(), size * angle.sin()
            re, im = y @ self.br * step, y @ self.bi * step
            ar, ai, k = ar.expand_as(re), ai.expand_as(re), 1
            while k < x.shape[1]:
                back = lambda t, fill=0.0: F.pad(t, (0, 0, k, 0), value=fill)[:, :-k]
                pr, pi, qr, qi = back(re), back(im), back(ar, 1.0), back(ai)
                re, im = re + ar * pr - ai * pi, im + ar * pi + ai * pr
                ar, ai, k = ar * qr - ai * qi, ar * qi + ai * qr, 2 * k
            z = F.gelu(re @ self.cr - im @ self.ci + y * self.skip)
            a, b = self.gate(z).chunk(2, -1)
            return x + a * b.sigmoid()

    def __init__(self, c=128, states=64, layers=3):
        super().__init__()
        self.enter, self.end = nn.Linear(12, c), nn.Linear(c, 10)
        self.layers = nn.Sequential(*(self.Layer(c, states) for _ in range(layers)))

    def forward(self, x):
        return self.end(self.layers(self.enter(x)).mean(1)).log_softmax(-1)


class SoundStream(nn.Module):
    """SoundStream: an audio codec: residual vector quantization, and back to sound."""

    class Block(nn.Module):
        def __init__(self, c, far):
            super().__init__()
            self.a, self.b, self.far = nn.Conv1d(c, c, 7, dilation=far), nn.Conv1d(c, c, 1), far

        def forward(self, x):
            return x + self.b(F.elu(self.a(F.pad(F.elu(x), (6 * self.far, 0)))))

    def __init__(self, c=24, strides=(2, 4, 5), tables=6, words=512):
        super().__init__()
        self.first, down, up, m = nn.Conv1d(1, c, 7, padding=3), [], [], c
        for s in strides:
            down += [self.Block(m, 1), self.Block(m, 3), nn.ELU()]
            down.append(nn.Conv1d(m, 2 * m, 2 * s, s, s // 2 + s % 2))
            m *= 2
        self.down, self.tables = nn.Sequential(*down), nn.Parameter(torch.randn(tables, words, m))
        for s in strides[::-1]:
            up += [nn.ELU(), nn.ConvTranspose1d(m, m // 2, 2 * s, s, s // 2 + s % 2, s % 2)]
            m //= 2
            up += [self.Block(m, 1), self.Block(m, 3)]
        self.up, self.last = nn.Sequential(*up), nn.Conv1d(c, 1, 7, padding=3)

    def forward(self, x):
        left = self.down(self.first(x)).transpose(1, 2)
        said = torch.zeros_like(left)
        for table in self.tables:
            away = left.square().sum(-1, keepdim=True) - 2 * left @ table.t()
            near = F.embedding((away + table.square().sum(-1)).argmin(-1), table)
            left, said = left - near, said + near
        return self.last(F.elu(self.up(said.transpose(1, 2)))).tanh()


model("four_cast", {"x": ((1, 8, 128, 256), None)}, opset=20)(FourCast)
model("dcrnn", {"x": (("batch=2", 6, 100, 2), None)}, script=True, opset=13)(Dcrnn)
GRAPH = {"source": (("edges=900",), 200), "target": (("edges=900",), 200)}
model("deeper_gcn", {"x": ((200, 32), None), "e": (("edges=900", 8), None), **GRAPH}, opset=18)(
    DeeperGcn
)
ATOMS = {"source": ((700,), 60), "target": ((700,), 60)}
model("nequip", {"kinds": ((60,), 20), "where": ((60, 3), None), **ATOMS}, opset=18)(Nequip)
model(
    "two_towers",
    {
        "who": (("batch=16",), 4000),
        "seen": (("batch=16", 20), 8000),
        "kinds": (("batch=16", 6), 100),
    },
    script=True,
    opset=17,
)(TwoTowers)
model("move_net", {"x": ((1, 192, 192, 3), 256)}, script=True, opset=15)(MoveNet)
model("rainbow", {"x": (("batch=4", 4, 84, 84), 256)}, opset=19)(Rainbow)
model("ddr_net", image(192), script=True, opset=13)(Ddr)
model("s5", {"x": (("batch=2", 128, 12), None)}, opset=18)(S5)
model("sound_stream", {"x": ((1, 1, 6400), None)}, script=True, opset=17)(SoundStream)
