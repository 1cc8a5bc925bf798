"""Small networks of the eighth set of test/bench/UNSEEN.md, written after their papers or their
published code: points, graphs, series, tables, text, games."""

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def rows(*widths):
    parts = [p for i, o in zip(widths, widths[1:]) for p in (nn.Linear(i, o), nn.ReLU())]
    return nn.Sequential(*parts[:-1])


# ---- points and graphs
class EdgeConv(nn.Module):
    """DGCNN: neighbours by distance between features, the greatest over their differences."""

    def __init__(self, k=12, widths=(3, 32, 64)):
        super().__init__()
        one = lambda i, o: nn.Sequential(
            nn.Conv2d(2 * i, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2)
        )
        self.k, self.parts = k, nn.ModuleList(map(one, widths, widths[1:]))
        self.end = nn.Sequential(nn.Conv1d(sum(widths[1:]), 256, 1), nn.LeakyReLU(0.2))

    def forward(self, x):
        kept = []
        for part in self.parts:
            square = (x**2).sum(1, keepdim=True)
            far = 2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)
            at = far.topk(self.k, -1)[1]
            b, c, n = x.shape
            near = x.transpose(1, 2)[torch.arange(b)[:, None, None], at]
            own = x.transpose(1, 2)[:, :, None].expand_as(near)
            x = part(torch.cat([near - own, own], 3).permute(0, 3, 1, 2)).amax(3)
            kept.append(x)
        return self.end(torch.cat(kept, 1)).amax(2)


class Messages(nn.Module):
    """MPNN: a matrix for each edge, sums at nodes, a GRU cell, the whole by gated sums."""

    def __init__(self, c=24, edge=5, steps=3):
        super().__init__()
        self.c, self.steps = c, steps
        self.first, self.matrix = nn.Linear(11, c), rows(edge, 64, c * c)
        self.cell, self.a, self.b = nn.GRUCell(c, c), nn.Linear(2 * c, 64), nn.Linear(c, 64)

    def forward(self, x, e, a, b):
        start = h = self.first(x).relu()
        m = self.matrix(e).view(-1, self.c, self.c)
        for _ in range(self.steps):
            sent = (m @ h[a][:, :, None]).squeeze(2)
            h = self.cell(torch.zeros_like(h).index_add(0, b, sent), h)
        return (self.a(torch.cat([h, start], 1)).sigmoid() * self.b(h)).sum(0)


class Aggregate(nn.Module):
    """PNA: means, deviations and sums of neighbours, each scaled by the degree in two ways."""

    def __init__(self, c=64, layers=2):
        super().__init__()
        self.pre = nn.ModuleList(nn.Linear(2 * c, c) for _ in range(layers))
        self.post = nn.ModuleList(rows(10 * c, c, c) for _ in range(layers))

    def forward(self, x, a, b):
        ones = torch.zeros(x.shape[0], 1).index_add(0, b, torch.ones(b.shape[0], 1))
        many, scale = ones.clamp(min=1), (ones + 1).log() / 1.5
        for pre, post in zip(self.pre, self.post):
            m = pre(torch.cat([x[b], x[a]], 1))
            total = torch.zeros_like(x).index_add(0, b, m)
            mean = total / many
            square = torch.zeros_like(x).index_add(0, b, m * m) / many
            own = torch.cat([total, mean, (square - mean**2).relu().add(1e-5).sqrt()], 1)
            x = x + post(torch.cat([x, own, own * scale, own / scale.clamp(min=0.4)], 1)).relu()
        return x


class GraphLook(nn.Module):
    """Graphormer: attention with a bias by the distance of two nodes, degrees added first."""

    def __init__(self, c=128, heads=8, layers=2):
        super().__init__()
        self.heads, self.kinds, self.degree = heads, nn.Embedding(64, c), nn.Embedding(16, c)
        self.bias = nn.Embedding(20, heads)
        self.qkv = nn.ModuleList(nn.Linear(c, 3 * c) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(c, c) for _ in range(layers))
        self.body = nn.ModuleList(rows(c, c, c) for _ in range(layers))
        self.n = nn.ModuleList(nn.LayerNorm(c) for _ in range(2 * layers))

    def forward(self, kinds, degree, far):
        x = self.kinds(kinds) + self.degree(degree)
        bias = self.bias(far).permute(0, 3, 1, 2)
        for k, (qkv, out, body) in enumerate(zip(self.qkv, self.out, self.body)):
            b, n, c = x.shape
            y = qkv(self.n[2 * k](x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            a = (y[0] * (c // self.heads) ** -0.5 @ y[1].transpose(-2, -1) + bias).softmax(-1)
            x = x + out((a @ y[2]).transpose(1, 2).reshape(b, n, c))
            x = x + body(self.n[2 * k + 1](x))
        return x


ENDS = ((1500,), 200)
model("dg_cnn", {"x": ((1, 3, 256), None)}, unordered=True)(EdgeConv)
model("mpnn", {"x": ((200, 11), None), "e": ((1500, 5), None), "a": ENDS, "b": ENDS})(Messages)
model("pna", {"x": ((200, 64), None), "a": ENDS, "b": ENDS})(Aggregate)
GRAPH = {"kinds": ((1, 64), 64), "degree": ((1, 64), 16), "far": ((1, 64, 64), 20)}
model("graphormer", GRAPH)(GraphLook)


# ---- series and tables
class Halves(nn.Module):
    """SCINet: even and odd places move each other."""

    def __init__(self, c=7, depth=3, past=96, future=24):
        super().__init__()
        one = lambda: nn.Sequential(
            nn.ReplicationPad1d((3, 3)),
            nn.Conv1d(c, 4 * c, 5),
            nn.LeakyReLU(0.01),
            nn.Conv1d(4 * c, c, 3),
            nn.Tanh(),
        )
        self.parts = nn.ModuleList(
            nn.ModuleList(one() for _ in range(4)) for _ in range(2**depth - 1)
        )
        self.depth, self.end = depth, nn.Conv1d(past, future, 1, bias=False)

    def inner(self, x, at):
        f, g, h, i = self.parts[at]
        even, odd = x[..., ::2], x[..., 1::2]
        d, c = odd * f(even).exp(), even * g(odd).exp()
        even, odd = c + h(d), d - i(c)
        if 2 * at + 2 < len(self.parts):
            even, odd = self.inner(even, 2 * at + 1), self.inner(odd, 2 * at + 2)
        return torch.stack([even, odd], 3).flatten(2)

    def forward(self, x):
        y = x.transpose(1, 2)
        return self.end((y + self.inner(y, 0)).transpose(1, 2))


class StateSpace(nn.Module):
    """S4D as a recurrence unrolled into a product: kernels of decays times the past."""

    def __init__(self, c=64, states=16, length=128):
        super().__init__()
        self.length = length
        self.a, self.b = nn.Parameter(torch.rand(c, states)), nn.Parameter(torch.randn(c, states))
        self.step, self.d = nn.Parameter(torch.rand(c) / 10 + 0.01), nn.Parameter(torch.ones(c) / 2)
        self.first, self.gate, self.end = nn.Linear(8, c), nn.Linear(c, 2 * c), nn.Linear(c, 4)

    def forward(self, x):
        x = self.first(x)
        t = torch.arange(self.length).float()
        decay = -self.a.exp() * self.step[:, None]
        k = (self.b[:, :, None] * (decay[:, :, None] * t).exp()).sum(1)
        far = t[:, None] - t[None]
        m = torch.where(far >= 0, k[:, far.clamp(min=0).long()], torch.zeros(()))
        y = torch.einsum("cij,bjc->bic", m, x) + x * self.d
        return self.end(F.glu(self.gate(F.gelu(y)), -1).mean(1))


class CrossDimension(nn.Module):
    """Crossformer: attention over segments, then over series through few routers."""

    def __init__(self, c=64, series=7, parts=8, wide=12):
        super().__init__()
        self.wide, self.first = wide, nn.Linear(wide, c)
        self.place = nn.Parameter(torch.randn(1, series, parts, c))
        look = lambda: nn.MultiheadAttention(c, 4, batch_first=True)
        self.along, self.send, self.take = look(), look(), look()
        self.router = nn.Parameter(torch.randn(parts, 4, c))
        self.n, self.m, self.body = nn.LayerNorm(c), nn.LayerNorm(c), rows(c, 2 * c, c)
        self.end = nn.Linear(parts * c, 24)

    def forward(self, x):
        b, n, d = x.shape
        y = self.first(x.transpose(1, 2).reshape(b, d, -1, self.wide)) + self.place
        s = y.shape[2]
        z = y.flatten(0, 1)
        y = self.n(z + self.along(z, z, z)[0]).view(b, d, s, -1)
        z = y.transpose(1, 2).flatten(0, 1)
        kept = self.send(self.router.repeat(b, 1, 1), z, z)[0]
        z = self.m(z + self.take(z, kept, kept)[0])
        z = (z + self.body(z)).view(b, s, d, -1).transpose(1, 2)
        return self.end(z.flatten(2)).transpose(1, 2)


class Trees(nn.Module):
    """NODE: soft oblivious trees, products of six choices at each leaf."""

    def __init__(self, columns=20, trees=64, depth=6):
        super().__init__()
        self.pick = nn.Parameter(torch.randn(columns, trees, depth))
        self.cut, self.scale = nn.Parameter(torch.randn(trees, depth)), nn.Parameter(
            torch.rand(trees, depth) + 0.5
        )
        self.leaf = nn.Parameter(torch.randn(trees, 3, 2**depth))
        bits = torch.arange(2**depth)[None] // 2 ** torch.arange(depth)[:, None] % 2
        self.register_buffer("codes", torch.stack([bits, 1 - bits]).permute(1, 2, 0).float())

    def forward(self, x):
        picked = torch.einsum("bf,fnd->bnd", x, self.pick.softmax(0))
        side = (picked - self.cut) * self.scale
        bins = (0.5 * torch.stack([-side, side], -1) + 0.5).clamp(0, 1)
        shares = torch.einsum("btds,dcs->btdc", bins, self.codes).prod(2)
        return torch.einsum("bnd,ncd->bnc", shares, self.leaf).mean(1)


class FieldGates(nn.Module):
    """FiBiNET: fields gated by their means, products of all pairs through a matrix."""

    def __init__(self, fields=12, words=100, c=16):
        super().__init__()
        self.words = nn.ModuleList(nn.Embedding(words, c) for _ in range(fields))
        self.gate = nn.Sequential(rows(fields, 4, fields), nn.ReLU())
        self.w, self.v = nn.Linear(c, c, bias=False), nn.Linear(c, c, bias=False)
        self.end = rows(fields * (fields - 1) * c, 128, 1)

    def pairs(self, x, w):
        y, n = w(x), x.shape[1]
        return torch.cat([y[:, i] * x[:, j] for i in range(n) for j in range(i + 1, n)], 1)

    def forward(self, ids):
        x = torch.stack([words(ids[:, k]) for k, words in enumerate(self.words)], 1)
        y = x * self.gate(x.mean(2))[:, :, None]
        return self.end(torch.cat([self.pairs(x, self.w), self.pairs(y, self.v)], 1)).sigmoid()


class RowLook(nn.Module):
    """SAINT: attention between the columns of a row, then between rows."""

    def __init__(self, columns=16, c=16, heads=4):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(columns, c)), nn.Parameter(
            torch.randn(columns, c)
        )
        layer = lambda d: nn.TransformerEncoderLayer(
            d, heads, 2 * d, activation="gelu", batch_first=True, norm_first=True
        )
        self.along, self.over, self.end = layer(c), layer(c * columns), rows(c * columns, 64, 2)

    def forward(self, x):
        y = self.along((x[:, :, None] * self.w + self.b).relu())
        return self.end(self.over(y.flatten(1)[None])[0])


model("sci_net", {"x": ((8, 96, 7), None)})(Halves)
model("s4d", {"x": ((4, 128, 8), None)}, script=True)(StateSpace)
model("cross_former", {"x": ((4, 96, 7), None)})(CrossDimension)
model("node_trees", {"x": (("batch=64", 20), None)})(Trees)
model("fi_bi_net", {"ids": (("batch=32", 12), 100)}, script=True)(FieldGates)
model("saint", {"x": ((32, 16), None)})(RowLook)


# ---- text, games, objects
class QaNet(nn.Module):
    """QANet: separable convolutions and attention, a passage and a question look at each other."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            one = lambda: nn.Sequential(
                nn.Conv1d(c, c, 7, padding=3, groups=c, bias=False), nn.Conv1d(c, c, 1), nn.ReLU()
            )
            self.convs = nn.ModuleList(one() for _ in range(2))
            self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(4))
            self.look = nn.MultiheadAttention(c, 4, batch_first=True)
            self.body = rows(c, c, c)

        def forward(self, x):
            for part, norm in zip(self.convs, self.norms):
                x = x + part(norm(x).transpose(1, 2)).transpose(1, 2)
            y = self.norms[2](x)
            x = x + self.look(y, y, y, need_weights=False)[0]
            return x + self.body(self.norms[3](x))

    def __init__(self, c=96):
        super().__init__()
        self.words, self.block, self.then = nn.Embedding(1000, c), self.Block(c), self.Block(c)
        self.w, self.mix, self.end = nn.Linear(3 * c, 1), nn.Linear(4 * c, c), nn.Linear(c, 2)

    def forward(self, passage, question):
        p, q = self.block(self.words(passage)), self.block(self.words(question))
        a, b = p[:, :, None].expand(-1, -1, q.shape[1], -1), q[:, None].expand(
            -1, p.shape[1], -1, -1
        )
        s = self.w(torch.cat([a, b, a * b], 3)).squeeze(3)
        r, t = s.softmax(2), s.softmax(1)
        x, y = r @ q, r @ t.transpose(1, 2) @ p
        return self.end(self.then(self.mix(torch.cat([p, x, p * x, p * y], 2))))


class TextCnn(nn.Module):
    """TextCNN: filters of three widths over words, the greatest of each."""

    def __init__(self, c=128):
        super().__init__()
        self.words = nn.Embedding(2000, c)
        self.convs = nn.ModuleList(nn.Conv2d(1, 100, (k, c)) for k in (3, 4, 5))
        self.end = nn.Linear(300, 6)

    def forward(self, ids):
        x = self.words(ids)[:, None]
        parts = [conv(x).relu().squeeze(3) for conv in self.convs]
        return self.end(torch.cat([F.max_pool1d(p, p.shape[2]).squeeze(2) for p in parts], 1))


class Slots(nn.Module):
    """Slot attention: slots compete for places of a map, three steps of a GRU cell."""

    def __init__(self, c=64, slots=6):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, c, 5, 2, 2), nn.ReLU(), nn.Conv2d(c, c, 5, 2, 2))
        self.place, self.start = nn.Linear(4, c), nn.Parameter(torch.randn(1, slots, c))
        self.n, self.m, self.o = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
        self.q, self.k, self.v = (nn.Linear(c, c, bias=False) for _ in range(3))
        self.cell, self.inner = nn.GRUCell(c, c), rows(c, 128, c)

    def forward(self, x):
        x = self.body(x).permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        y, z = torch.meshgrid(torch.linspace(0, 1, h), torch.linspace(0, 1, w), indexing="ij")
        x = self.n((x + self.place(torch.stack([y, z, 1 - y, 1 - z], 2))).flatten(1, 2))
        k, v, s = self.k(x), self.v(x), self.start.expand(b, -1, -1)
        for _ in range(3):
            a = (k @ self.q(self.m(s)).transpose(1, 2) * c**-0.5).softmax(2) + 1e-8
            u = (a / a.sum(1, keepdim=True)).transpose(1, 2) @ v
            s = self.cell(u.reshape(-1, c), s.reshape(-1, c)).view(b, -1, c)
            s = s + self.inner(self.o(s))
        return s


class Relations(nn.Module):
    """A relation network: every pair of places with a question, summed."""

    def __init__(self, c=24):
        super().__init__()
        one = lambda i: nn.Sequential(nn.Conv2d(i, c, 3, 2, 1), nn.ReLU(), nn.BatchNorm2d(c))
        self.body, self.g = nn.Sequential(one(3), one(c), one(c), one(c)), rows(
            2 * c + 32, 128, 128
        )
        self.f = rows(128, 128, 28)

    def forward(self, x, q):
        x = self.body(x).flatten(2).transpose(1, 2)
        b, n, c = x.shape
        i, j = x[:, None].expand(b, n, n, c), x[:, :, None].expand(b, n, n, c)
        pairs = torch.cat([i, j, q[:, None, None].expand(b, n, n, q.shape[1])], 3)
        return self.f(self.g(pairs).relu().sum((1, 2)))


class Decisions(nn.Module):
    """A decision transformer: returns, states and actions in turn, under a causal mask."""

    def __init__(self, c=128, state=17, action=6, steps=20):
        super().__init__()
        self.r, self.s, self.a = nn.Linear(1, c), nn.Linear(state, c), nn.Linear(action, c)
        self.time, self.n, self.end = nn.Embedding(steps, c), nn.LayerNorm(c), nn.Linear(c, action)
        layer = nn.TransformerEncoderLayer(c, 4, 4 * c, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, r, s, a):
        t = self.time(torch.arange(r.shape[1]))
        x = torch.stack([self.r(r) + t, self.s(s) + t, self.a(a) + t], 2).flatten(1, 2)
        n = x.shape[1]
        mask = torch.full((n, n), float("-inf")).triu(1)
        return self.end(self.body(self.n(x), mask)[:, 1::3]).tanh()


model("qa_net", {"p": ((1, 100), 1000), "q": ((1, 16), 1000)})(QaNet)
model("text_cnn", {"ids": (("batch=4", 64), 2000)}, script=True)(TextCnn)
model("slot_attention", {"x": ((1, 3, 64, 64), None)}, script=True)(Slots)
model("relation_net", {"x": ((2, 3, 80, 80), None), "q": ((2, 32), None)})(Relations)
DECIDE = {"r": ((1, 20, 1), None), "s": ((1, 20, 17), None), "a": ((1, 20, 6), None)}
model("decision_transformer", DECIDE, script=True)(Decisions)
