"""Small models of the fifteenth set of test/bench/UNSEEN.md, written after their papers: text in
images, optical flow, volumes, poses, point clouds, molecules, heterogeneous graphs, recommenders,
adaptive halting."""

import math
from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class Parseq(nn.Module):
    """PARSeq: text-line recognition; the queries are positions of letters, and each letter sees
    those before it."""

    class Layer(nn.Module):
        def __init__(self, c, heads=8):
            super().__init__()
            self.a, self.b = (nn.MultiheadAttention(c, heads, batch_first=True) for _ in "ab")
            self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(4))
            self.ends = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, asked, said, seen, mask):
            given = self.norms[1](said)
            x = asked + self.a(self.norms[0](asked), given, given, attn_mask=mask)[0]
            x = x + self.b(self.norms[2](x), seen, seen)[0]
            return x + self.ends(self.norms[3](x))

    def __init__(self, c=192, letters=95, longest=25):
        super().__init__()
        self.patches = nn.Conv2d(3, c, (4, 8), (4, 8))
        self.places = nn.Parameter(torch.randn(1, 128, c) * 0.02)
        layer = nn.TransformerEncoderLayer(c, 3, 4 * c, 0.0, "gelu", 1e-6, True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.asked = nn.Parameter(torch.randn(1, longest + 1, c) * 0.02)
        self.rows, self.layer = nn.Embedding(letters + 2, c), self.Layer(c)
        self.norm, self.end = nn.LayerNorm(c), nn.Linear(c, letters)

    def forward(self, x, said):
        n, length = said.shape
        seen = self.body(self.patches(x).flatten(2).transpose(1, 2) + self.places)
        begun = self.rows(said) * math.sqrt(seen.shape[-1])
        begun = torch.cat((begun[:, :1], begun[:, 1:] + self.asked[:, : length - 1]), 1)
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        asked = self.asked[:, :length].expand(n, -1, -1)
        return self.end(self.norm(self.layer(asked, begun, seen, mask)))


class GmFlow(nn.Module):
    """GMFlow: optical flow by attention within windows, then the mean position of all matches;
    upsampled by weights of nine neighbours."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.q, self.k, self.v, self.mix = (nn.Linear(c, c, bias=False) for _ in range(4))
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.ends = nn.Sequential(
                nn.Linear(2 * c, 4 * c, bias=False), nn.GELU(), nn.Linear(4 * c, c, bias=False)
            )

        def forward(self, x, y, move):
            x, y = (t.roll((-move, -move), (1, 2)) if move else t for t in (x, y))
            n, h, w, c = x.shape
            cut = lambda t: (
                t.reshape(n, 2, h // 2, 2, w // 2, c).transpose(2, 3).reshape(4 * n, -1, c)
            )
            q, k, v = cut(self.q(x)), cut(self.k(y)), cut(self.v(y))
            z = (q @ k.transpose(1, 2) / c**0.5).softmax(-1) @ v
            z = z.reshape(n, 2, 2, h // 2, w // 2, c).transpose(2, 3).reshape(n, h, w, c)
            z = self.b(self.ends(torch.cat((x, self.a(self.mix(z))), -1))) + x
            return z.roll((move, move), (1, 2)) if move else z

    def __init__(self, c=128, blocks=3):
        super().__init__()
        layers, last = [], 3
        for width, stride in ((64, 2), (96, 2), (c, 2)):
            layers += [nn.Conv2d(last, width, 3, stride, 1, bias=False), nn.InstanceNorm2d(width)]
            layers += [nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1), nn.ReLU()]
            last = width
        self.body = nn.Sequential(*layers)
        self.own, self.other = (
            nn.ModuleList(self.Block(c) for _ in range(blocks)) for _ in range(2)
        )
        self.finer = nn.Sequential(
            nn.Conv2d(2 + c, 256, 3, 1, 1), nn.ReLU(), nn.Conv2d(256, 9 * 64, 1)
        )

    def forward(self, a, b):
        both = self.body(torch.cat((a, b))).permute(0, 2, 3, 1)
        n, h, w, c = both.shape
        for k, (own, other) in enumerate(zip(self.own, self.other)):
            both = own(both, both, k % 2 * (h // 4))
            both = other(both, torch.cat(both.chunk(2)[::-1]), k % 2 * (h // 4))
        x, y = both.chunk(2)
        look = (x.flatten(1, 2) @ y.flatten(1, 2).transpose(1, 2) / c**0.5).softmax(-1)
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        places = torch.stack((columns, rows), -1).float().reshape(1, h * w, 2)
        flow = (look @ places - places).transpose(1, 2).reshape(1, 2, h, w)
        x = x.permute(0, 3, 1, 2)
        mask = self.finer(torch.cat((flow, x), 1)).reshape(1, 1, 9, 8, 8, h, w).softmax(2)
        near = F.unfold(8 * flow, 3, padding=1).reshape(1, 2, 9, 1, 1, h, w)
        return (mask * near).sum(2).permute(0, 1, 4, 2, 5, 3).reshape(1, 2, 8 * h, 8 * w)


class SegResNet(nn.Module):
    """SegResNet: segmentation of organs in volumes: residual blocks with group norms, linear
    enlargement."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.GroupNorm(8, c), nn.GroupNorm(8, c)
            self.first, self.last = (nn.Conv3d(c, c, 3, 1, 1, bias=False) for _ in "ab")

        def forward(self, x):
            return x + self.last(self.b(self.first(self.a(x).relu())).relu())

    def __init__(self, c=16, parts=4):
        super().__init__()
        self.first = nn.Conv3d(1, c, 3, 1, 1, bias=False)
        widths = [c, 2 * c, 4 * c]
        self.down = nn.ModuleList(
            nn.Conv3d(i, o, 3, 2, 1, bias=False) for i, o in zip(widths, widths[1:])
        )
        self.blocks = nn.ModuleList(self.Block(w) for w in widths)
        self.narrow = nn.ModuleList(
            nn.Conv3d(o, i, 1, bias=False) for i, o in zip(widths[1::-1], widths[:0:-1])
        )
        self.after = nn.ModuleList(self.Block(w) for w in widths[1::-1])
        self.end = nn.Sequential(nn.GroupNorm(8, c), nn.ReLU(), nn.Conv3d(c, parts, 1))

    def forward(self, x):
        x, kept = self.first(x), []
        for k, block in enumerate(self.blocks):
            x = block(self.down[k - 1](x) if k else x)
            kept.append(x)
        kept.pop()
        for narrow, after in zip(self.narrow, self.after):
            x = F.interpolate(narrow(x), scale_factor=2, mode="trilinear", align_corners=False)
            x = after(x + kept.pop())
        return self.end(x)


class LiteHrNet(nn.Module):
    """Lite-HRNet: pose estimation by branches of three resolutions, whose channels are weighed by
    all of them, shuffled, and mixed."""

    class Weighed(nn.Module):
        def __init__(self, widths):
            super().__init__()
            half = [w // 2 for w in widths]
            self.across = nn.Sequential(
                nn.Conv2d(sum(half), sum(half) // 4, 1),
                nn.ReLU(),
                nn.Conv2d(sum(half) // 4, sum(half), 1),
                nn.Sigmoid(),
            )
            self.half = half
            self.deep = nn.ModuleList(
                nn.Sequential(nn.Conv2d(w, w, 3, 1, 1, groups=w, bias=False), nn.BatchNorm2d(w))
                for w in half
            )
            self.own = nn.ModuleList(
                nn.Sequential(
                    nn.AdaptiveAvgPool2d(1),
                    nn.Conv2d(w, max(w // 4, 4), 1),
                    nn.ReLU(),
                    nn.Conv2d(max(w // 4, 4), w, 1),
                    nn.Sigmoid(),
                )
                for w in half
            )

        def forward(self, xs):
            kept, moved = zip(*(x.chunk(2, 1) for x in xs))
            small = [F.avg_pool2d(x, 2 ** (2 - k)) for k, x in enumerate(moved[:-1])] + [moved[-1]]
            weights = self.across(torch.cat(small, 1)).split(self.half, 1)
            moved = [
                x * F.interpolate(w, size=x.shape[-2:], mode="nearest")
                for x, w in zip(moved, weights)
            ]
            moved = [deep(x) for x, deep in zip(moved, self.deep)]
            moved = [own(x) * x for x, own in zip(moved, self.own)]
            both = [torch.cat(pair, 1) for pair in zip(kept, moved)]
            return [
                x.reshape(len(x), 2, -1, *x.shape[2:]).transpose(1, 2).reshape(x.shape)
                for x in both
            ]

    def __init__(self, widths=(40, 80, 160), blocks=4, joints=17):
        super().__init__()
        act = lambda i, o, s: nn.Sequential(
            nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()
        )
        self.stem = nn.Sequential(act(3, 32, 2), act(32, widths[0], 2))
        self.down = nn.ModuleList(act(i, o, 2) for i, o in zip(widths, widths[1:]))
        self.blocks = nn.ModuleList(self.Weighed(widths) for _ in range(blocks))
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(w, widths[0], 1, bias=False), nn.BatchNorm2d(widths[0]))
            for w in widths[1:]
        )
        self.end = nn.Conv2d(widths[0], joints, 1)

    def forward(self, x):
        xs = [self.stem(x)]
        for down in self.down:
            xs.append(down(xs[-1]))
        for block in self.blocks:
            xs = block(xs)
        y = xs[0]
        for x, up in zip(xs[1:], self.up):
            y = y + F.interpolate(up(x), size=y.shape[-2:], mode="nearest")
        return self.end(y.relu())


class PointBert(nn.Module):
    """Point-BERT: the nearest points of given centres as tokens, and a transformer over them."""

    def __init__(self, c=384, near=32):
        super().__init__()
        self.near = near
        one = lambda i, o: nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
        self.a = nn.Sequential(one(3, 128), nn.Conv1d(128, 256, 1))
        self.b = nn.Sequential(one(512, 512), nn.Conv1d(512, c, 1))
        self.place = nn.Sequential(nn.Linear(3, 128), nn.GELU(), nn.Linear(128, c))
        self.first = nn.Parameter(torch.randn(1, 1, c))
        layer = nn.TransformerEncoderLayer(
            c, 6, 4 * c, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.end = nn.Sequential(
            nn.LayerNorm(2 * c),
            nn.Linear(2 * c, 256),
            nn.BatchNorm1d(256),
            nn.ReLU(),
            nn.Linear(256, 40),
        )

    def forward(self, points, centres):
        away = (centres**2).sum(-1)[..., None] + (points**2).sum(-1)[:, None]
        away = away - 2 * centres @ points.transpose(1, 2)
        index = away.topk(self.near, -1, largest=False)[1]
        n, groups, near = index.shape
        index = index.reshape(n, -1, 1).expand(-1, -1, 3)
        x = points.gather(1, index).reshape(n, groups, near, 3) - centres[:, :, None]
        x = self.a(x.reshape(n * groups, near, 3).transpose(1, 2))
        x = torch.cat((x.max(2, keepdim=True)[0].expand(-1, -1, near), x), 1)
        x = self.b(x).max(2)[0].reshape(n, groups, -1) + self.place(centres)
        x = self.body(torch.cat((self.first.expand(n, -1, -1), x), 1))
        return self.end(torch.cat((x[:, 0], x[:, 1:].max(1)[0]), -1))


class DimeNet(nn.Module):
    """DimeNet++: energies of molecules from distances and from angles between edges."""

    def __init__(self, c=128, kinds=20, radial=6, angular=7, inner=64, blocks=3):
        super().__init__()
        self.angular = angular
        self.rates = nn.Parameter(math.pi * torch.arange(1, radial + 1).float())
        self.rows, self.distance = nn.Embedding(kinds, c), nn.Linear(radial, c)
        self.enter = nn.Linear(3 * c, c)
        parts = {"near": (radial, c), "turn": (radial * angular, inner), "source": (c, c)}
        parts |= {"own": (c, c), "down": (c, inner), "up": (inner, c), "a": (c, c), "b": (c, c)}
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {k: nn.Linear(i, o, bias=k in "own source a b") for k, (i, o) in parts.items()}
            )
            for _ in range(blocks)
        )
        self.out = nn.ModuleList(nn.Linear(radial, c, bias=False) for _ in range(blocks + 1))
        self.ends = nn.ModuleList(
            nn.Sequential(nn.Linear(c, c), nn.SiLU(), nn.Linear(c, 1)) for _ in range(blocks + 1)
        )

    def waves(self, length):
        x = length / 5.0
        smooth = 1 / x - 28 * x**5 + 48 * x**6 - 21 * x**7
        return smooth[:, None] * (self.rates * x[:, None]).sin()

    def read(self, k, x, near, target, atoms):
        y = torch.zeros(atoms, x.shape[1]).index_add(0, target, self.out[k](near) * x)
        return self.ends[k](y)

    def forward(self, kinds, where, source, target, into, outof):
        across = where[target] - where[source]
        length = (across.square().sum(-1) + 0.01).sqrt()
        near, atoms = self.waves(length), len(kinds)
        a, b = across[into], across[outof]
        turned = (a * b).sum(-1) / (length[into] * length[outof])
        angle = torch.acos(turned.clamp(-0.999, 0.999))
        waves = (angle[:, None] * torch.arange(self.angular)).cos()
        turns = (near[into][:, None] * waves[:, :, None]).flatten(1)
        h = self.rows(kinds)
        x = self.enter(torch.cat((h[target], h[source], F.silu(self.distance(near))), -1))
        x = F.silu(x)
        energy = self.read(0, x, near, target, atoms)
        for k, part in enumerate(self.blocks):
            y = F.silu(part["source"](x)) * part["near"](near)
            y = F.silu(part["down"](y))[into] * part["turn"](turns)
            y = torch.zeros(len(x), y.shape[1]).index_add(0, outof, y)
            y = F.silu(part["own"](x)) + F.silu(part["up"](y))
            x = x + F.silu(part["b"](F.silu(part["a"](y))))
            energy = energy + self.read(k + 1, x, near, target, atoms)
        return energy.sum(0)


class GraphOfKinds(nn.Module):
    """HGT: a graph with two types of nodes; attention along edges by heads, whose weights depend on
    the type of edge, with a softmax over the edges that end in a node."""

    def __init__(self, c=128, heads=8, layers=2, widths=(64, 96)):
        super().__init__()
        self.heads, self.c = heads, c
        self.enter = nn.ModuleList(nn.Linear(w, c) for w in widths)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "all": nn.ModuleList(nn.Linear(c, 3 * c) for _ in widths),
                    "end": nn.ModuleList(nn.Linear(c, c) for _ in widths),
                }
            )
            for _ in range(layers)
        )
        inner = c // heads
        draw = lambda *s: nn.Parameter(torch.randn(*s) / inner**0.5)
        self.looks, self.gives = draw(layers, 3, heads, inner, inner), draw(
            layers, 3, heads, inner, inner
        )
        self.prior, self.skips = draw(layers, 3, heads), draw(layers, 2)
        self.out = nn.Linear(c, 16)

    def forward(self, a, b, ab, ba, aa):
        xs = [enter(x).relu() for enter, x in zip(self.enter, (a, b))]
        for k, layer in enumerate(self.layers):
            qkv = [
                part(x).reshape(len(x), 3, self.heads, -1).unbind(1)
                for part, x in zip(layer["all"], xs)
            ]
            looks, gives = [[], []], [[], []]
            for kind, (f, t, edge) in enumerate(((0, 1, ab), (1, 0, ba), (0, 0, aa))):
                key = torch.einsum("nhi,hio->nho", qkv[f][1], self.looks[k, kind])
                value = torch.einsum("nhi,hio->nho", qkv[f][2], self.gives[k, kind])
                look = (key[edge[0]] * qkv[t][0][edge[1]]).sum(-1) * self.prior[k, kind]
                looks[t].append((look / (self.c // self.heads) ** 0.5).clamp(-8, 8).exp())
                gives[t].append((edge[1], value[edge[0]]))
            made = []
            for t, x in enumerate(xs):
                top, under = torch.zeros(len(x), self.heads, self.c // self.heads), torch.zeros(
                    len(x), self.heads
                )
                for look, (end, value) in zip(looks[t], gives[t]):
                    top = top.index_add(0, end, look[..., None] * value)
                    under = under.index_add(0, end, look)
                y = layer["end"][t](F.gelu((top / under.clamp(min=1e-3)[..., None]).flatten(1)))
                part = self.skips[k, t].sigmoid()
                made.append(part * y + (1 - part) * x)
            xs = made
        return self.out(xs[0])


class Hstu(nn.Module):
    """HSTU: a recommender: gated attention by SiLU instead of softmax, with a bias by distance in
    time, in buckets of its logarithm."""

    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.norm, self.last = heads, nn.LayerNorm(c), nn.LayerNorm(c)
            self.all, self.end = nn.Linear(c, 4 * c), nn.Linear(c, c)
            self.times = nn.Parameter(torch.randn(64) * 0.02)
            self.places = nn.Parameter(torch.randn(1023) * 0.02)

        def forward(self, x, buckets, mask):
            n, t, c = x.shape
            u, v, q, k = F.silu(self.all(self.norm(x))).chunk(4, -1)
            cut = lambda y: y.reshape(n, t, self.heads, -1).transpose(1, 2)
            place = torch.arange(t)[:, None] - torch.arange(t)[None] + 511
            bias = self.places[place] + self.times[buckets]
            look = F.silu(cut(q) @ cut(k).transpose(2, 3) + bias[:, None]) / t * mask
            return x + self.end(self.last((look @ cut(v)).transpose(1, 2).flatten(2)) * u)

    def __init__(self, things=4000, c=256, heads=4, layers=3):
        super().__init__()
        self.rows = nn.Embedding(things, c)
        self.layers = nn.ModuleList(self.Layer(c, heads) for _ in range(layers))
        self.end = nn.LayerNorm(c)

    def forward(self, ids, when):
        between = (when[:, None] - when[:, :, None]).abs().clamp(min=1.0)
        buckets = (between.log() / 0.301).long().clamp(0, 63)
        mask = torch.ones(ids.shape[1], ids.shape[1]).tril()
        x = self.rows(ids) * self.rows.weight.shape[1] ** 0.5
        for layer in self.layers:
            x = layer(x, buckets, mask)
        return F.normalize(self.end(x[:, -1]), dim=-1) @ self.rows.weight.T


class Halting(nn.Module):
    """A universal transformer: one layer is repeated until every word has halted."""

    def __init__(self, c=256, words=4000):
        super().__init__()
        self.rows, self.norm = nn.Embedding(words, c), nn.LayerNorm(c)
        self.all, self.mix = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.a, self.b, self.last = nn.Linear(c, 4 * c), nn.Linear(4 * c, c), nn.LayerNorm(c)
        self.stop = nn.Linear(c, 1)

    def layer(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.all(self.norm(x)).chunk(3, -1)
        look = (q @ k.transpose(1, 2) * 0.0625).softmax(-1)
        x = x + self.mix(look @ v)
        return x + self.b(F.gelu(self.a(self.last(x))))

    def forward(self, ids):
        x = self.rows(ids)
        enough, out, step = torch.zeros_like(x[..., :1]), torch.zeros_like(x), 0
        going = torch.ones(1, dtype=torch.bool).any()
        while bool(going) and step < 8:
            x = self.layer(x)
            chance = self.stop(x).sigmoid()
            last = (enough + chance > 0.99).float()
            weight = (1 - last) * chance + last * (1 - enough)
            out = out + weight * x
            enough = enough + weight
            step += 1
            going = (enough < 0.99).any()
        return out @ self.rows.weight.t()


model("parseq", {"x": (("batch=1", 3, 32, 128), None), "said": (("batch=1", 12), 97)}, opset=18)(
    Parseq
)
model("gm_flow", {k: ((1, 3, 128, 192), None) for k in ("a", "b")}, script=True, opset=16)(GmFlow)
model("seg_res_net", {"x": ((1, 1, 32, 32, 32), None)}, opset=19)(SegResNet)
model("lite_hr_net", {"x": (("batch=1", 3, 256, 192), None)}, script=True, opset=13)(LiteHrNet)
model("point_bert", {"points": ((1, "points=1024", 3), None), "centres": ((1, 64, 3), None)})(
    PointBert
)
EDGES = {k: (("edges=240",), 24) for k in ("source", "target")}
EDGES |= {k: (("turns=1200",), 240) for k in ("into", "outof")}
model("dime_net", {"kinds": ((24,), 20), "where": ((24, 3), None)} | EDGES)(DimeNet)
model(
    "graph_of_kinds",
    {
        "a": ((300, 64), None),
        "b": ((200, 96), None),
        "ab": ((2, 1200), 200),
        "ba": ((2, 1000), 200),
        "aa": ((2, 1500), 300),
    },
    opset=18,
)(GraphOfKinds)
model(
    "hstu", {"ids": ((1, "seq=128"), 4000), "when": ((1, "seq=128"), None)}, script=True, opset=17
)(Hstu)
model("halting", {"ids": (("batch=1", 32), 4000)}, script=True, opset=16)(
    lambda: torch.jit.script(Halting())
)
