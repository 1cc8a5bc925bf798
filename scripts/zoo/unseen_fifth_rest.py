"""Tables, series, graphs, point clouds, videos and diffusion: see unseen_fifth.py."""

from zoo import SOURCES, Called, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


# ---- recommendations, tables
class DeepFm(nn.Module):
    """Products of all pairs of fields as the square of a sum, beside a deep network."""

    def __init__(self, fields=39, words=200, width=16):
        super().__init__()
        self.rows, self.first = nn.Embedding(fields * words, width), nn.Embedding(fields * words, 1)
        self.register_buffer("start", torch.arange(fields) * words)
        row = lambda i, o: [nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()]
        self.deep = nn.Sequential(
            *row(fields * width, 400), *row(400, 400), *row(400, 400), nn.Linear(400, 1)
        )

    def forward(self, ids):
        ids = ids + self.start
        x = self.rows(ids)
        pairs = (x.sum(1).square() - x.square().sum(1)).sum(1, True) * 0.5
        return (self.first(ids).sum(1) + pairs + self.deep(x.flatten(1))).sigmoid()


model("deepfm", {"ids": ((128, 39), 200)})(DeepFm)


class Din(nn.Module):
    """DIN: earlier purchases, weighed by the item that is shown now, with Dice activations."""

    class Dice(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.alpha = nn.BatchNorm1d(c, affine=False), nn.Parameter(
                torch.randn(c) / 8
            )

        def forward(self, x):
            p = self.norm(x.reshape(-1, x.shape[-1])).reshape(x.shape).sigmoid()
            return p * x + (1 - p) * self.alpha * x

    def __init__(self, words=2000, c=64):
        super().__init__()
        self.rows = nn.Embedding(words, c)
        d = self.Dice
        self.look = nn.Sequential(
            nn.Linear(4 * c, 80), d(80), nn.Linear(80, 40), d(40), nn.Linear(40, 1)
        )
        self.end = nn.Sequential(
            nn.Linear(3 * c, 200), d(200), nn.Linear(200, 80), d(80), nn.Linear(80, 1)
        )

    def forward(self, past, now, mask):
        x, y = self.rows(past), self.rows(now)[:, None]
        z = y.expand(-1, x.shape[1], -1)
        a = self.look(torch.cat([z, x, z - x, z * x], -1)).squeeze(-1)
        a = torch.where(mask == 0, torch.full_like(a, -4294967295.0), a).softmax(1)
        seen = (a[:, None] @ x)[:, 0]
        return self.end(torch.cat([seen, y[:, 0], seen * y[:, 0]], -1)).sigmoid()


model("din", {"past": ((32, 50), 2000), "now": ((32,), 2000), "mask": ((32, 50), 2)}, script=True)(
    Din
)


class SasRec(nn.Module):
    """SASRec: the next item: attention over a sequence, with padding masked in inputs and
    results."""

    def __init__(self, words=3000, c=64, n=100):
        super().__init__()
        self.rows, self.place = nn.Embedding(words, c), nn.Embedding(n, c)
        self.a = nn.ModuleList(nn.MultiheadAttention(c, 2) for _ in "ab")
        self.na, self.nb = (nn.ModuleList(nn.LayerNorm(c, 1e-8) for _ in "ab") for _ in "ab")
        two = lambda: nn.Sequential(nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, c, 1))
        self.ff, self.end = nn.ModuleList(two() for _ in "ab"), nn.LayerNorm(c, 1e-8)
        self.register_buffer("later", torch.triu(torch.ones(n, n, dtype=torch.bool), 1))

    def forward(self, ids):
        x = self.rows(ids) * 8.0 + self.place(torch.arange(ids.shape[1]))
        there = (ids != 0)[..., None].to(x.dtype)
        x = x * there
        for a, na, nb, ff in zip(self.a, self.na, self.nb, self.ff):
            y = x.transpose(0, 1)
            q = na(y)
            y = q + a(q, y, y, attn_mask=self.later, need_weights=False)[0]
            y = nb(y.transpose(0, 1))
            x = (y + ff(y.transpose(1, 2)).transpose(1, 2)) * there
        return self.end(x)[:, -1] @ self.rows.weight.t()


model("sasrec", {"ids": ((8, 100), 3000)}, script=True)(SasRec)


class TabNet(nn.Module):
    """Steps that choose columns by sparsemax, gated layers shared between them."""

    class Unit(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.a, self.n = nn.Linear(i, 2 * o, bias=False), nn.BatchNorm1d(2 * o)

        def forward(self, x):
            return F.glu(self.n(self.a(x)), -1)

    def __init__(self, columns=54, c=64, steps=3):
        super().__init__()
        u = self.Unit
        self.norm, self.c, self.one, self.two = (
            nn.BatchNorm1d(columns),
            c,
            u(columns, 2 * c),
            u(2 * c, 2 * c),
        )
        self.own = nn.ModuleList(
            nn.ModuleList((u(2 * c, 2 * c), u(2 * c, 2 * c))) for _ in range(steps + 1)
        )
        self.look = nn.ModuleList(
            nn.Sequential(nn.Linear(c, columns, bias=False), nn.BatchNorm1d(columns))
            for _ in range(steps)
        )
        self.end = nn.Linear(c, 7)

    def unit(self, x, own):
        x = self.one(x)
        x = (x + self.two(x)) * 0.5**0.5
        for part in own:
            x = (x + part(x)) * 0.5**0.5
        return x

    def sparse(self, x):
        y = x.sort(-1, descending=True).values
        k = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        sums = y.cumsum(-1)
        many = (1 + k * y > sums).to(x.dtype).sum(-1, keepdim=True)
        tau = (sums.gather(-1, many.long() - 1) - 1) / many
        return (x - tau).clamp(min=0)

    def forward(self, x):
        x, prior, out = self.norm(x), torch.ones_like(x), 0
        a = self.unit(x, self.own[0])[:, self.c :]
        for look, own in zip(self.look, self.own[1:]):
            m = self.sparse(look(a) * prior)
            prior = prior * (1.3 - m)
            d, a = self.unit(m * x, own).split(self.c, 1)
            out = out + d.relu()
        return self.end(out)


model("tabnet", {"x": ((256, 54), None)}, script=True)(TabNet)


# ---- series
class Tcn(nn.Module):
    """Causal dilated convolutions, padded on both sides and cut."""

    class Block(nn.Module):
        def __init__(self, i, o, d, k=3):
            super().__init__()
            one = lambda i: nn.Conv1d(i, o, k, padding=d * (k - 1), dilation=d)
            self.a, self.b, self.cut = one(i), one(o), d * (k - 1)
            self.side = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            y = self.a(x)[:, :, : -self.cut].relu()
            y = self.b(y)[:, :, : -self.cut].relu()
            return F.relu(y + self.side(x))

    def __init__(self, i=8, c=64, n=6):
        super().__init__()
        self.body = nn.Sequential(*(self.Block(i if j == 0 else c, c, 2**j) for j in range(n)))
        self.end = nn.Linear(c, 4)

    def forward(self, x):
        return self.end(self.body(x)[:, :, -1])


model("tcn", {"x": ((4, 8, 256), None)}, script=True)(Tcn)


class TimesNet(nn.Module):
    """A series folded by fixed periods into images, five kernels side by side, weighted means."""

    def __init__(self, features=7, c=32, n=96, periods=(24, 12, 8)):
        super().__init__()
        self.first, self.place = nn.Conv1d(
            features, c, 3, padding=1, padding_mode="circular", bias=False
        ), nn.Parameter(torch.randn(1, n, c))
        many = lambda i, o: nn.ModuleList(nn.Conv2d(i, o, 2 * j + 1, padding=j) for j in range(5))
        self.a, self.b, self.periods = many(c, 2 * c), many(2 * c, c), periods
        self.norm, self.end = nn.LayerNorm(c), nn.Linear(c, features)
        self.weights = nn.Parameter(torch.randn(len(periods)))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        x = x - mean
        spread = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = x / spread
        x = self.first(x.permute(0, 2, 1)).transpose(1, 2) + self.place
        b, n, c = x.shape
        for _ in range(2):
            out = []
            for p in self.periods:
                y = x.reshape(b, n // p, p, c).permute(0, 3, 1, 2)
                y = F.gelu(torch.stack([part(y) for part in self.a], -1).mean(-1))
                y = torch.stack([part(y) for part in self.b], -1).mean(-1)
                out.append(y.permute(0, 2, 3, 1).reshape(b, n, c))
            x = self.norm((torch.stack(out, -1) * self.weights.softmax(0)).sum(-1) + x)
        return self.end(x) * spread + mean


model("timesnet", {"x": ((2, 96, 7), None)})(TimesNet)


class NHits(nn.Module):
    """Blocks that read the pooled past and give few numbers, which are interpolated linearly."""

    def __init__(self, past=336, next_=96, c=512):
        super().__init__()
        self.pools, self.next, self.past = (8, 4, 1), next_, past
        self.body = nn.ModuleList()
        for p, f in zip(self.pools, (24, 12, 1)):
            layers = [nn.Linear(past // p, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU()]
            self.body.append(nn.Sequential(*layers, nn.Linear(c, past + next_ // f)))

    def forward(self, x):
        level, last = x[:, -1:], 0
        for pool, part in zip(self.pools, self.body):
            y = part(F.max_pool1d(x[:, None], pool, pool)[:, 0])
            back, ahead = y[:, : self.past], y[:, self.past :]
            ahead = F.interpolate(ahead[:, None], size=self.next, mode="linear")[:, 0]
            x, last = x - back, last + ahead
        return last + level


model("nhits", {"x": ((32, 336), None)})(NHits)


class TsMixer(nn.Module):
    """Mixing along time and along features in turn, batch norms over both."""

    def __init__(self, n=512, ahead=96, c=32, ff=64, layers=3):
        super().__init__()
        self.nt, self.nf = (
            nn.ModuleList(nn.BatchNorm1d(n * c) for _ in range(layers)) for _ in "ab"
        )
        self.t = nn.ModuleList(nn.Linear(n, n) for _ in range(layers))
        self.f = nn.ModuleList(
            nn.Sequential(nn.Linear(c, ff), nn.ReLU(), nn.Linear(ff, c)) for _ in range(layers)
        )
        self.end = nn.Linear(n, ahead)

    def forward(self, x):
        b, n, c = x.shape
        for nt, nf, t, f in zip(self.nt, self.nf, self.t, self.f):
            y = nt(x.reshape(b, -1)).reshape(b, n, c).transpose(1, 2)
            x = x + F.relu(t(y)).transpose(1, 2)
            x = x + f(nf(x.reshape(b, -1)).reshape(b, n, c))
        return self.end(x.transpose(1, 2)).transpose(1, 2)


model("tsmixer", {"x": ((4, 512, 32), None)})(TsMixer)


# ---- graphs, points, video, noise
class GatV2(nn.Module):
    """Attention over edges: the greatest of each node by scatter, exponentials, their sums."""

    def __init__(self, i=64, c=32, heads=4, out=8):
        super().__init__()
        self.heads, self.c = heads, c
        pairs = ((i, c), (heads * c, c))
        self.l, self.r = (nn.ModuleList(nn.Linear(a, heads * b) for a, b in pairs) for _ in "lr")
        self.a = nn.ParameterList(nn.Parameter(torch.randn(heads, c) / 8) for _ in pairs)
        self.end = nn.Linear(heads * c, out)

    def forward(self, x, a, b):
        n = x.shape[0]
        for left, right, w in zip(self.l, self.r, self.a):
            y, z = left(x).view(-1, self.heads, self.c), right(x).view(-1, self.heads, self.c)
            s = (F.leaky_relu(y[a] + z[b], 0.2) * w).sum(-1)
            top = torch.full((n, self.heads), -1e9)
            top = top.scatter_reduce(0, b[:, None].expand(-1, self.heads), s, "amax")
            s = (s - top[b]).exp()
            all_ = torch.zeros(n, self.heads).index_add(0, b, s)
            s = s / (all_[b] + 1e-16)
            x = torch.zeros(n, self.heads, self.c).index_add(0, b, y[a] * s[..., None])
            x = F.elu(x.flatten(1))
        return self.end(x)


EDGES = ((2000,), 300)
model("gat_v2", {"x": ((300, 64), None), "a": EDGES, "b": EDGES})(GatV2)


class PointNet2(nn.Module):
    """Groups around chosen points: the nearest by distances, gathered, embedded, the greatest."""

    def __init__(self, kinds=40):
        super().__init__()
        one = lambda *w: nn.Sequential(
            *(
                l
                for i, o in zip(w, w[1:])
                for l in (nn.Conv2d(i, o, 1), nn.BatchNorm2d(o), nn.ReLU())
            )
        )
        self.a, self.b, self.c = one(3, 64, 64, 128), one(131, 128, 128, 256), one(259, 256, 512)
        self.end = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, kinds))

    def group(self, xyz, x, step, k):
        mid = xyz[:, ::step]
        away = (
            (mid * mid).sum(-1, True) - 2 * mid @ xyz.transpose(1, 2) + (xyz * xyz).sum(-1)[:, None]
        )
        near = away.topk(k, -1, largest=False).indices
        y = xyz[0][near[0]][None] - mid[:, :, None]
        return mid, y if x is None else torch.cat([y, x[0][near[0]][None]], -1)

    def forward(self, xyz):
        mid, y = self.group(xyz, None, 2, 16)
        x = self.a(y.permute(0, 3, 2, 1)).max(2)[0].transpose(1, 2)
        mid, y = self.group(mid, x, 4, 16)
        x = self.b(y.permute(0, 3, 2, 1)).max(2)[0].transpose(1, 2)
        x = self.c(torch.cat([mid, x], -1).transpose(1, 2)[..., None]).max(2)[0][..., 0]
        return self.end(x)


model("pointnet2", {"x": ((1, 512, 3), None)}, script=True)(PointNet2)


class X3d(nn.Module):
    """Short videos: a strided convolution in space and a depthwise one in time, bottlenecks with
    depthwise 3x3x3, weighed channels, swish."""

    class Block(nn.Module):
        def __init__(self, i, o, s, weigh):
            super().__init__()
            m, norm = int(2.25 * o), nn.BatchNorm3d
            self.a, self.na = nn.Conv3d(i, m, 1, bias=False), norm(m)
            self.b, self.nb = nn.Conv3d(m, m, 3, (1, s, s), 1, groups=m, bias=False), norm(m)
            self.c, self.nc = nn.Conv3d(m, o, 1, bias=False), norm(o)
            few = max(8, m // 16)
            self.weigh = (
                nn.Sequential(
                    nn.AdaptiveAvgPool3d(1),
                    nn.Conv3d(m, few, 1),
                    nn.ReLU(),
                    nn.Conv3d(few, m, 1),
                    nn.Sigmoid(),
                )
                if weigh
                else None
            )
            self.side = (
                None
                if s == 1 and i == o
                else nn.Sequential(nn.Conv3d(i, o, 1, (1, s, s), bias=False), norm(o))
            )

        def forward(self, x):
            y = self.nb(self.b(self.na(self.a(x)).relu()))
            y = F.silu(y * self.weigh(y) if self.weigh is not None else y)
            return F.relu(self.nc(self.c(y)) + (x if self.side is None else self.side(x)))

    def __init__(self, kinds=100):
        super().__init__()
        self.s = nn.Conv3d(3, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False)
        self.t = nn.Conv3d(24, 24, (5, 1, 1), 1, (2, 0, 0), groups=24, bias=False)
        b = self.Block
        self.norm = nn.BatchNorm3d(24)
        self.body = nn.Sequential(
            b(24, 24, 2, True), b(24, 48, 2, True), b(48, 48, 1, False), b(48, 96, 2, True)
        )
        self.last, self.end = nn.Conv3d(96, 216, 1), nn.Linear(216, kinds)

    def forward(self, x):
        x = self.last(self.body(self.norm(self.t(self.s(x))).relu())).relu()
        return self.end(x.mean((2, 3, 4)))


model("x3d_xs", {"x": ((1, 3, 4, 160, 160), None)}, script=True)(X3d)


class SlowFast(nn.Module):
    """Two paths over few and many frames, joined by convolutions that stride in time."""

    class Block(nn.Module):
        def __init__(self, i, o, t, s):
            super().__init__()
            c3 = nn.Conv3d
            self.a = nn.Sequential(
                c3(i, o // 4, (t, 1, 1), 1, (t // 2, 0, 0), bias=False),
                nn.BatchNorm3d(o // 4),
                nn.ReLU(),
            )
            self.b = nn.Sequential(
                c3(o // 4, o // 4, (1, 3, 3), (1, s, s), (0, 1, 1), bias=False),
                nn.BatchNorm3d(o // 4),
                nn.ReLU(),
            )
            self.c = nn.Sequential(c3(o // 4, o, 1, bias=False), nn.BatchNorm3d(o))
            self.side = nn.Sequential(c3(i, o, 1, (1, s, s), bias=False), nn.BatchNorm3d(o))

        def forward(self, x):
            return F.relu(self.c(self.b(self.a(x))) + self.side(x))

    def __init__(self, kinds=100):
        super().__init__()
        stem = lambda o, t: nn.Sequential(
            nn.Conv3d(3, o, (t, 7, 7), (1, 2, 2), (t // 2, 3, 3), bias=False),
            nn.BatchNorm3d(o),
            nn.ReLU(),
            nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
        )
        self.slow0, self.fast0 = stem(32, 1), stem(8, 5)
        b = self.Block
        self.slow = nn.ModuleList((b(48, 128, 1, 1), b(192, 256, 3, 2)))
        self.fast = nn.ModuleList((b(8, 32, 3, 1), b(32, 64, 3, 2)))
        side = lambda c: nn.Sequential(
            nn.Conv3d(c, 2 * c, (5, 1, 1), (4, 1, 1), (2, 0, 0), bias=False),
            nn.BatchNorm3d(2 * c),
            nn.ReLU(),
        )
        self.side = nn.ModuleList((side(8), side(32)))
        self.end = nn.Linear(256 + 64, kinds)

    def forward(self, x):
        s, f = self.slow0(x[:, :, ::4]), self.fast0(x)
        for slow, fast, side in zip(self.slow, self.fast, self.side):
            s, f = slow(torch.cat([s, side(f)], 1)), fast(f)
        return self.end(torch.cat([s.mean((2, 3, 4)), f.mean((2, 3, 4))], 1))


model("slowfast", {"x": ((1, 3, 8, 96, 96), None)})(SlowFast)


@model("sd_cross_block", {"x": ((1, 320, 16, 16), None), "text": ((1, 77, 512), None)})
def cross_block():
    import diffusers

    inner = diffusers.Transformer2DModel(
        num_attention_heads=8,
        attention_head_dim=40,
        in_channels=320,
        num_layers=2,
        norm_num_groups=32,
        cross_attention_dim=512,
    )
    return Called(inner, ["hidden_states", "encoder_hidden_states"], "sample")


@model("ddim_unet", {"x": ((1, 3, 32, 32), None), "t": ((1,), 1000)}, script=True)
def ddim():
    import diffusers

    inner = diffusers.UNet2DModel(
        sample_size=32,
        block_out_channels=(32, 64, 64),
        layers_per_block=1,
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
    )
    return Called(inner, ["sample", "timestep"], "sample")
