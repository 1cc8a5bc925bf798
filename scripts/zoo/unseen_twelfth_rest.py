"""Small models of the twelfth set of test/bench/UNSEEN.md, written after their papers: sound, point
clouds, graphs, recommenders, time series, protein folding."""

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class CamPlus(nn.Module):
    """CAM++: speakers by dense layers over time, each masked by what its context is like."""

    class Layer(nn.Module):
        def __init__(self, i, c, o, dilation):
            super().__init__()
            norm = lambda n: nn.Sequential(nn.BatchNorm1d(n), nn.ReLU())
            self.enter = nn.Sequential(norm(i), nn.Conv1d(i, c, 1, bias=False), norm(c))
            self.local = nn.Conv1d(c, o, 3, 1, dilation, dilation, bias=False)
            self.a, self.b = nn.Conv1d(c, c // 2, 1), nn.Conv1d(c // 2, o, 1)

        def forward(self, x):
            x = self.enter(x)
            parts = F.avg_pool1d(x, 50, 50, ceil_mode=True)
            parts = parts.unsqueeze(-1).expand(*parts.shape, 50).reshape(*parts.shape[:-1], -1)
            seen = x.mean(-1, keepdim=True) + parts[..., : x.shape[-1]]
            return self.local(x) * self.b(self.a(seen).relu()).sigmoid()

    def __init__(self, features=80, c=128, grow=32):
        super().__init__()
        head = []
        for i, s in ((1, 1), (32, 2), (32, 2), (32, 2)):
            head += [nn.Conv2d(i, 32, 3, (s, 1), 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
        self.head = nn.Sequential(*head)
        wide = 32 * features // 8
        self.first = nn.Sequential(
            nn.Conv1d(wide, 128, 5, 2, 2, bias=False), nn.BatchNorm1d(128), nn.ReLU()
        )
        self.blocks, self.between, n = nn.ModuleList(), nn.ModuleList(), 128
        for layers, dilation in ((6, 1), (8, 2), (6, 2)):
            self.blocks.append(
                nn.ModuleList(self.Layer(n + k * grow, c, grow, dilation) for k in range(layers))
            )
            n += layers * grow
            self.between.append(
                nn.Sequential(nn.BatchNorm1d(n), nn.ReLU(), nn.Conv1d(n, n // 2, 1, bias=False))
            )
            n //= 2
        self.norm = nn.Sequential(nn.BatchNorm1d(n), nn.ReLU())
        self.end = nn.Sequential(nn.Linear(2 * n, 192, bias=False), nn.BatchNorm1d(192))

    def forward(self, x):
        x = self.first(self.head(x.transpose(1, 2).unsqueeze(1)).flatten(1, 2))
        for block, between in zip(self.blocks, self.between):
            for layer in block:
                x = torch.cat((x, layer(x)), 1)
            x = between(x)
        x = self.norm(x)
        return self.end(torch.cat((x.mean(-1), x.std(-1)), -1))


class SanM(nn.Module):
    """SAN-M, the encoder of Paraformer and SenseVoice: attention beside a memory of neighbours, a
    depthwise convolution of the values."""

    class Layer(nn.Module):
        def __init__(self, i, c, heads=4, k=11):
            super().__init__()
            self.heads, self.same = heads, i == c
            self.a, self.b = nn.LayerNorm(i), nn.LayerNorm(c)
            self.all, self.out = nn.Linear(i, 3 * c), nn.Linear(c, c)
            self.memory = nn.Conv1d(c, c, k, groups=c, bias=False)
            self.pad = ((k - 1) // 2, k - 1 - (k - 1) // 2)
            self.mlp = nn.Sequential(nn.Linear(c, 4 * c), nn.ReLU(), nn.Linear(4 * c, c))

        def forward(self, x, mask):
            q, k, v = self.all(self.a(x)).chunk(3, -1)
            kept = v * mask.unsqueeze(2)
            kept = self.memory(F.pad(kept.transpose(1, 2), self.pad)).transpose(1, 2) + kept
            split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            q, k, v = split(q) * (q.shape[-1] // self.heads) ** -0.5, split(k), split(v)
            look = q @ k.transpose(-2, -1)
            away = mask[:, None, None, :] == 0
            look = look.masked_fill(away, -1e4).softmax(-1).masked_fill(away, 0.0)
            y = self.out((look @ v).transpose(1, 2).flatten(2)) + kept * mask.unsqueeze(2)
            x = x + y if self.same else y
            return x + self.mlp(self.b(x))

    def __init__(self, features=560, c=320, layers=3, words=2000):
        super().__init__()
        self.layers = nn.ModuleList(self.Layer(features if not k else c, c) for k in range(layers))
        self.features = features
        self.norm, self.end = nn.LayerNorm(c), nn.Linear(c, words)

    def forward(self, x, length):
        n = x.shape[1]
        mask = (torch.arange(n)[None] <= length[:, None]).float()
        steps = torch.arange(1, n + 1).float()[:, None]
        rates = torch.exp(torch.arange(self.features // 2).float() * -0.0331)
        angles = steps * rates[None]
        x = x * 320**0.5 + torch.cat((angles.sin(), angles.cos()), -1)[None]
        for layer in self.layers:
            x = layer(x, mask)
        return self.end(self.norm(x)).log_softmax(-1)


class MdxNet(nn.Module):
    """Separation of voices from music: dense stages of convolutions and linear maps of frequencies
    (TFC-TDF) in a U."""

    class Block(nn.Module):
        def __init__(self, c, f, layers=3, grow=24):
            super().__init__()
            one = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.BatchNorm2d(o), nn.ReLU())
            self.dense = nn.ModuleList(one(c, c) for _ in range(layers))
            self.linear = nn.Sequential(
                nn.Linear(f, f // 8),
                nn.BatchNorm2d(c),
                nn.ReLU(),
                nn.Linear(f // 8, f),
                nn.BatchNorm2d(c),
                nn.ReLU(),
            )

        def forward(self, x):
            for layer in self.dense:
                x = layer(x)
            return x + self.linear(x)

    def __init__(self, c=24, f=256, deep=3):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(4, c, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.end = nn.Conv2d(c, 4, 1)
        self.enc, self.down, self.dec, self.up = (nn.ModuleList() for _ in range(4))
        for k in range(deep):
            n = c * (k + 1)
            self.enc.append(self.Block(n, f >> k))
            self.down.append(
                nn.Sequential(nn.Conv2d(n, n + c, 2, 2), nn.BatchNorm2d(n + c), nn.ReLU())
            )
            self.up.insert(
                0, nn.Sequential(nn.ConvTranspose2d(n + c, n, 2, 2), nn.BatchNorm2d(n), nn.ReLU())
            )
            self.dec.insert(0, self.Block(n, f >> k))
        self.middle = self.Block(c * (deep + 1), f >> deep)

    def forward(self, x):
        y, kept = self.first(x.transpose(2, 3)), []
        for block, down in zip(self.enc, self.down):
            kept.append(block(y))
            y = down(kept[-1])
        y = self.middle(y)
        for up, block in zip(self.up, self.dec):
            y = block(up(y) * kept.pop())
        return self.end(y).transpose(2, 3)


class ModernTcn(nn.Module):
    """Series by large depthwise kernels over time, then maps of each series' features and of each
    feature's series, by groups."""

    class Block(nn.Module):
        def __init__(self, m, d, k=51, small=5, wide=2):
            super().__init__()
            n = m * d
            self.large = nn.Sequential(
                nn.Conv1d(n, n, k, 1, k // 2, groups=n, bias=False), nn.BatchNorm1d(n)
            )
            self.small = nn.Sequential(
                nn.Conv1d(n, n, small, 1, small // 2, groups=n, bias=False), nn.BatchNorm1d(n)
            )
            self.norm = nn.BatchNorm1d(d)
            self.a, self.b = nn.Conv1d(n, n * wide, 1, groups=m), nn.Conv1d(
                n * wide, n, 1, groups=m
            )
            self.c, self.d = nn.Conv1d(n, n * wide, 1, groups=d), nn.Conv1d(
                n * wide, n, 1, groups=d
            )

        def forward(self, x):
            b, m, d, n = x.shape
            y = x.reshape(b, m * d, n)
            y = self.large(y) + self.small(y)
            y = self.norm(y.reshape(b * m, d, n)).reshape(b, m * d, n)
            y = self.b(F.gelu(self.a(y))).reshape(b, m, d, n)
            y = y.permute(0, 2, 1, 3).reshape(b, m * d, n)
            y = self.d(F.gelu(self.c(y))).reshape(b, d, m, n).permute(0, 2, 1, 3)
            return x + y

    def __init__(self, m=7, d=32, steps=192, ahead=96, blocks=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, d, 8, 4), nn.BatchNorm1d(d))
        self.blocks = nn.ModuleList(self.Block(m, d) for _ in range(blocks))
        self.end = nn.Linear(d * steps // 4, ahead)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        std = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = ((x - mean) / std).permute(0, 2, 1)
        b, m, n = x.shape
        x = torch.cat((x, x[:, :, -1:].repeat(1, 1, 4)), 2).reshape(b * m, 1, n + 4)
        x = self.stem(x).reshape(b, m, -1, n // 4)
        for block in self.blocks:
            x = block(x)
        return self.end(x.flatten(2)).permute(0, 2, 1) * std + mean


class Caser(nn.Module):
    """Caser: the next purchase: the last purchases as an image, filters of all heights and
    widths."""

    def __init__(self, items=4000, users=1000, c=64, steps=16, wide=16, tall=8):
        super().__init__()
        self.items, self.users = nn.Embedding(items, c), nn.Embedding(users, c)
        self.tall = nn.Conv2d(1, tall, (steps, 1))
        self.wide = nn.ModuleList(nn.Conv2d(1, wide, (k + 1, c)) for k in range(steps))
        self.inner = nn.Linear(tall * c + wide * steps, c)
        self.out, self.bias = nn.Embedding(items, 2 * c), nn.Embedding(items, 1)

    def forward(self, past, user, wanted):
        x = self.items(past).unsqueeze(1)
        parts = [self.tall(x).flatten(1)]
        for layer in self.wide:
            y = layer(x).squeeze(3).relu()
            parts.append(F.max_pool1d(y, y.shape[2]).squeeze(2))
        y = torch.cat((self.inner(torch.cat(parts, 1)).relu(), self.users(user)), 1)
        return torch.baddbmm(self.bias(wanted), self.out(wanted), y.unsqueeze(2)).squeeze(2)


class MaskNet(nn.Module):
    """Ranking: embeddings multiplied by masks that are computed from them."""

    class Block(nn.Module):
        def __init__(self, i, fields, o):
            super().__init__()
            self.mask = nn.Sequential(
                nn.Linear(fields, 2 * fields), nn.ReLU(), nn.Linear(2 * fields, i)
            )
            self.inner = nn.Sequential(nn.Linear(i, o, bias=False), nn.LayerNorm(o), nn.ReLU())

        def forward(self, x, all):
            return self.inner(x * self.mask(all))

    def __init__(self, fields=26, c=16, wide=256):
        super().__init__()
        self.table = nn.ModuleList(nn.Embedding(1000, c) for _ in range(fields))
        self.norm = nn.ModuleList(nn.LayerNorm(c) for _ in range(fields))
        n = fields * c
        self.side = nn.ModuleList(self.Block(n, n, wide) for _ in range(3))
        self.deep = nn.ModuleList(self.Block(i, n, wide) for i in (n, wide))
        self.end = nn.Sequential(nn.Linear(4 * wide, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, ids):
        parts = [table(ids[:, k]) for k, table in enumerate(self.table)]
        all = torch.cat(parts, 1)
        x = torch.cat([norm(p) for norm, p in zip(self.norm, parts)], 1)
        outs = [block(x, all) for block in self.side]
        for block in self.deep:
            x = block(x, all)
        return self.end(torch.cat(outs + [x], 1)).sigmoid()


class PointMlp(nn.Module):
    """Points by residual layers alone: neighbours moved and scaled to their group, then maxima."""

    class Res(nn.Module):
        def __init__(self, c, half=1):
            super().__init__()
            n = int(c * half)
            self.a = nn.Sequential(nn.Conv1d(c, n, 1), nn.BatchNorm1d(n), nn.ReLU())
            self.b = nn.Sequential(nn.Conv1d(n, c, 1), nn.BatchNorm1d(c))

        def forward(self, x):
            return (self.b(self.a(x)) + x).relu()

    class Stage(nn.Module):
        def __init__(self, i, o, points, near=16):
            super().__init__()
            self.points, self.near = points, near
            self.alpha = nn.Parameter(1 + 0.1 * torch.randn(1, 1, 1, i))
            self.beta = nn.Parameter(0.1 * torch.randn(1, 1, 1, i))
            self.enter = nn.Sequential(nn.Conv1d(2 * i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
            self.before, self.after = PointMlp.Res(o), PointMlp.Res(o)

        def forward(self, at, x):
            centre = at[:, : self.points]
            away = (centre.square().sum(-1, keepdim=True) - 2 * centre @ at.transpose(1, 2)) + (
                at.square().sum(-1).unsqueeze(1)
            )
            near = away.topk(self.near, -1, largest=False)[1]
            rows = x[0][near[0]].unsqueeze(0)
            own = x[:, : self.points].unsqueeze(2)
            y = rows - own
            std = y.flatten(1).std(-1).view(-1, 1, 1, 1)
            y = self.alpha * (y / (std + 1e-5)) + self.beta
            y = torch.cat((y, own.expand_as(y)), -1)
            b, p, k, c = y.shape
            y = self.before(self.enter(y.permute(0, 1, 3, 2).reshape(b * p, c, k)))
            y = y.max(-1)[0].view(b, p, -1).transpose(1, 2)
            return centre, self.after(y).transpose(1, 2)

    def __init__(self, c=32, kinds=40):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(3, c, 1), nn.BatchNorm1d(c), nn.ReLU())
        self.stages = nn.ModuleList(self.Stage(c << k, c << (k + 1), 256 >> k) for k in range(3))
        self.end = nn.Sequential(
            nn.Linear(8 * c, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, kinds)
        )

    def forward(self, at):
        x = self.first(at.transpose(1, 2)).transpose(1, 2)
        for stage in self.stages:
            at, x = stage(at, x)
        return self.end(x.max(1)[0])


class PaiNn(nn.Module):
    """Molecules by scalars and vectors of each atom, messages along edges, both turned alike."""

    def __init__(self, c=96, layers=2, basis=20):
        super().__init__()
        self.atoms = nn.Embedding(20, c)
        self.c = c
        self.register_buffer("steps", torch.arange(1, basis + 1) * torch.pi / 5)
        two = lambda i, o: nn.Sequential(nn.Linear(i, c), nn.SiLU(), nn.Linear(c, o))
        many = lambda make: nn.ModuleList(make() for _ in range(layers))
        self.phi, self.wide = many(lambda: two(c, 3 * c)), many(lambda: nn.Linear(basis, 3 * c))
        self.u, self.v = (many(lambda: nn.Linear(c, c, bias=False)) for _ in "ab")
        self.mix = many(lambda: two(2 * c, 3 * c))
        self.end = two(c, 1)

    def forward(self, kinds, at, source, target):
        s = self.atoms(kinds)
        v = torch.zeros(s.shape[0], 3, self.c)
        way = at[source] - at[target]
        far = (way.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        cut = 0.5 * ((far * torch.pi / 5).cos() + 1) * (far < 5).float()
        waves = (far * self.steps).sin() / far
        for phi, wide, u, w, mix in zip(self.phi, self.wide, self.u, self.v, self.mix):
            a, b, c = (phi(s)[source] * (wide(waves) * cut)).chunk(3, -1)
            add = v[source] * b.unsqueeze(1) + c.unsqueeze(1) * (way / far).unsqueeze(2)
            s = s.index_add(0, target, a)
            v = v.index_add(0, target, add)
            p, q = u(v), w(v)
            length = (q.square().sum(1) + 1e-6).sqrt()
            a, b, c = mix(torch.cat((s, length), -1)).chunk(3, -1)
            s = s + a + b * (p * q).sum(1)
            v = v + p * c.unsqueeze(1)
        return self.end(s).sum(0)


class Rgcn(nn.Module):
    """A graph of many relations, whose maps are sums over few bases."""

    class Layer(nn.Module):
        def __init__(self, i, o, relations=12, bases=6):
            super().__init__()
            self.bases = nn.Parameter(0.1 * torch.randn(bases, i, o))
            self.parts = nn.Parameter(0.4 * torch.randn(relations, bases))
            self.own = nn.Linear(i, o)

        def forward(self, x, source, target, kind):
            maps = torch.einsum("rb,bio->rio", self.parts, self.bases)
            every = torch.einsum("ni,rio->nro", x, maps)
            sent = every[source, kind]
            zero = torch.zeros(x.shape[0], sent.shape[1])
            total = zero.index_add(0, target, sent)
            count = zero[:, :1].index_add(0, target, torch.ones(sent.shape[0], 1))
            return total / count.clamp(min=1) + self.own(x)

    def __init__(self, c=64):
        super().__init__()
        self.rows = nn.Embedding(600, c)
        self.a, self.b = self.Layer(c, c), self.Layer(c, 32)
        self.pairs = nn.Parameter(torch.randn(12, 32))

    def forward(self, ids, source, target, kind):
        x = self.rows(ids)
        x = self.a(x, source, target, kind).relu()
        x = self.b(x, source, target, kind)
        return (x[source] * self.pairs[kind] * x[target]).sum(-1)


class PairStack(nn.Module):
    """Pairs of residues as AlphaFold updates them: triangles multiplied and looked at, a step
    between."""

    class Multiplied(nn.Module):
        def __init__(self, c, h, outgoing):
            super().__init__()
            self.letters = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(h)
            self.left, self.right, self.gates = (
                nn.Linear(c, h),
                nn.Linear(c, h),
                nn.Linear(c, 2 * h),
            )
            self.out, self.gate = nn.Linear(h, c), nn.Linear(c, c)

        def forward(self, z, mask):
            x = self.a(z)
            p, q = self.gates(x).sigmoid().chunk(2, -1)
            left, right = self.left(x) * p * mask, self.right(x) * q * mask
            y = self.b(torch.einsum(self.letters, left, right))
            return z + self.out(y) * self.gate(x).sigmoid()

    class Looked(nn.Module):
        def __init__(self, c, heads, across):
            super().__init__()
            self.norm, self.heads, self.across = nn.LayerNorm(c), heads, across
            self.all, self.bias = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, heads, bias=False)
            self.gate, self.out = nn.Linear(c, c), nn.Linear(c, c)

        def forward(self, z, mask):
            x = self.norm(z)
            x = x.transpose(1, 2) if self.across else x
            split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(2, 3)
            q, k, v = map(split, self.all(x).chunk(3, -1))
            look = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            bias = self.bias(x).permute(0, 3, 1, 2).unsqueeze(1)
            look = (look + bias + (mask.squeeze(-1)[:, :, None, None] - 1) * 1e9).softmax(-1)
            y = (look @ v).transpose(2, 3).flatten(3) * self.gate(x).sigmoid()
            y = self.out(y)
            return z + (y.transpose(1, 2) if self.across else y)

    def __init__(self, c=64, h=64, heads=4):
        super().__init__()
        self.parts = nn.ModuleList(
            [self.Multiplied(c, h, way) for way in (True, False)]
            + [self.Looked(c, heads, way) for way in (False, True)]
        )
        self.step = nn.Sequential(
            nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.ReLU(), nn.Linear(4 * c, c)
        )
        self.end = nn.Linear(c, 37)

    def forward(self, z, seen):
        mask = (seen[:, :, None] * seen[:, None, :]).unsqueeze(-1).float()
        for part in self.parts:
            z = part(z, mask)
        z = z + self.step(z)
        return self.end(z + z.transpose(1, 2))


def series(*shape):
    return (shape, None)


EDGES = {"source": ((800,), 120), "target": ((800,), 120)}
model("cam_plus", {"x": series(1, "frames=200", 80)}, script=True)(CamPlus)
model("san_m", {"x": series(1, "frames=96", 560), "length": ((1,), 96)})(SanM)
model("mdx_net", {"x": series(1, 4, 256, 32)}, script=True)(MdxNet)
model("modern_tcn", {"x": series("batch=2", 192, 7)})(ModernTcn)
model(
    "caser",
    {"past": ((32, 16), 4000), "user": ((32,), 1000), "wanted": ((32, 20), 4000)},
    script=True,
)(Caser)
model("mask_net", {"ids": (("batch=64", 26), 1000)})(MaskNet)
model("point_mlp", {"at": series(1, 512, 3)})(PointMlp)
model("pai_nn", {"kinds": ((120,), 20), "at": series(120, 3), **EDGES}, unordered=True)(PaiNn)
RELATED = {"source": ((3000,), 600), "target": ((3000,), 600), "kind": ((3000,), 12)}
model("r_gcn", {"ids": ((600,), 600), **RELATED}, unordered=True)(Rgcn)
model("pair_stack", {"z": series(1, 40, 40, 64), "seen": ((1, 40), 2)})(PairStack)
