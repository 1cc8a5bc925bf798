"""Networks of the twenty-sixth set of test/bench/UNSEEN.md, written after their papers: streets
seen from above, speech without noise, people by the directions of edges, points followed through a
film, series of many kinds. unseen_twenty_sixth.py writes them."""

import math

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def layer(i, o, s=1):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)
    )


class LiftSplat(nn.Module):
    """Lift, splat, shoot with CenterPoint's head: each place of some pictures has a distribution of
    depths and a row, whose products are added up where they lie in the plane; boxes are found
    there."""

    class Residual(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            self.a = layer(i, o, s)
            self.b = nn.Sequential(nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
            self.side = nn.Conv2d(i, o, 1, s, bias=False) if (i, s) != (o, 1) else nn.Identity()

        def forward(self, x):
            return F.relu(self.b(self.a(x)) + self.side(x))

    def __init__(self, eyes=3, depths=41, width=64, height=8, across=22, plane=64):
        super().__init__()
        r = self.Residual
        self.eye = nn.Sequential(layer(3, 32, 2), r(32, 64, 2), r(64, 128, 2), r(128, 256, 2))
        self.lift = nn.Conv2d(256, depths + width, 1)
        at = torch.randint(
            0,
            plane * plane,
            (eyes * depths * height * across,),
            generator=torch.Generator().manual_seed(3),
        )
        self.register_buffer("at", at)
        self.depths, self.width, self.plane = depths, width, plane
        self.body = nn.Sequential(r(width, 64), r(64, 128, 2), r(128, 128))
        self.wide = layer(128 + 64, 64)
        heads = {"heat": 10, "offset": 2, "height": 1, "size": 3, "turn": 2, "speed": 2}
        self.heads = nn.ModuleDict(
            {k: nn.Sequential(layer(64, 64), nn.Conv2d(64, o, 3, 1, 1)) for k, o in heads.items()}
        )

    def forward(self, x):
        y = self.lift(self.eye(x))
        depth, row = y[:, : self.depths].softmax(1), y[:, self.depths :]
        points = depth.unsqueeze(1) * row.unsqueeze(2)  # eye, number, depth, height, across
        points = points.permute(0, 2, 3, 4, 1).reshape(-1, self.width)
        plane = torch.zeros(self.plane * self.plane, self.width)
        plane = plane.scatter_add(0, self.at.unsqueeze(1).expand(-1, self.width), points)
        plane = plane.view(1, self.plane, self.plane, self.width).permute(0, 3, 1, 2)
        y = F.interpolate(self.body(plane), scale_factor=2.0, mode="bilinear", align_corners=True)
        y = self.wide(torch.cat((y, plane), 1))
        out = {k: head(y) for k, head in self.heads.items()}
        rest = [out[k] for k in ("offset", "height", "size", "turn", "speed")]
        return torch.cat([out["heat"].sigmoid()] + rest, 1)


model("lift_splat", {"x": ((3, 3, 128, 352), None)}, script=True, opset=16)(LiftSplat)


class Denoiser(nn.Module):
    """MP-SENet: magnitudes and phases of speech, by attention along time and along frequency; a
    mask for the magnitudes, and the angle of two numbers for the phases."""

    class Dense(nn.Module):
        def __init__(self, c, depth=4):
            super().__init__()
            one = lambda k: nn.Sequential(
                nn.Conv2d(c * (k + 1), c, (3, 3), padding=(2**k, 1), dilation=(2**k, 1)),
                nn.InstanceNorm2d(c, affine=True),
                nn.PReLU(c),
            )
            self.parts = nn.ModuleList(one(k) for k in range(depth))

        def forward(self, x):
            kept = x
            for part in self.parts:
                x = part(kept)
                kept = torch.cat((x, kept), 1)
            return x

    class Conformer(nn.Module):
        def __init__(self, c, heads=4, kernel=31):
            super().__init__()
            up = lambda: nn.Sequential(
                nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c)
            )
            self.first, self.second = up(), up()
            self.norm, self.enter, self.heads = nn.LayerNorm(c), nn.Linear(c, 3 * c), heads
            self.leave, self.before, self.after = nn.Linear(c, c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.gate = nn.Conv1d(c, 4 * c, 1)
            self.taps = nn.Conv1d(2 * c, 2 * c, kernel, padding=kernel // 2, groups=2 * c)
            self.mean, self.narrow = nn.BatchNorm1d(2 * c), nn.Conv1d(2 * c, c, 1)

        def look(self, x):
            q, k, v = self.enter(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            w = F.softmax(q @ k.transpose(2, 3) / q.shape[3] ** 0.5, -1)
            return self.leave((w @ v).transpose(1, 2).flatten(2))

        def local(self, x):
            y = F.glu(self.gate(self.before(x).transpose(1, 2)), 1)
            return self.narrow(F.silu(self.mean(self.taps(y)))).transpose(1, 2)

        def forward(self, x):
            x = x + 0.5 * self.first(x)
            x = x + self.look(self.norm(x))
            x = x + self.local(x)
            return self.after(x + 0.5 * self.second(x))

    class Both(nn.Module):
        """Along time for each frequency, then along frequency for each time."""

        def __init__(self, c):
            super().__init__()
            self.time, self.frequency = Denoiser.Conformer(c), Denoiser.Conformer(c)

        def forward(self, x):
            b, c, t, f = x.shape
            y = x.permute(0, 3, 2, 1).reshape(b * f, t, c)
            y = self.time(y) + y
            y = y.view(b, f, t, c).permute(0, 2, 1, 3).reshape(b * t, f, c)
            y = self.frequency(y) + y
            return y.view(b, t, f, c).permute(0, 3, 1, 2)

    class Wide(nn.Module):
        """Twice as many frequencies."""

        def __init__(self, c):
            super().__init__()
            self.layer = nn.Conv2d(c, 2 * c, (1, 3))
            self.norm, self.act = nn.InstanceNorm2d(c, affine=True), nn.PReLU(c)

        def forward(self, x):
            y = self.layer(F.pad(x, (1, 1)))
            b, c, t, f = y.shape
            y = y.view(b, 2, c // 2, t, f).permute(0, 2, 3, 4, 1).reshape(b, c // 2, t, -1)
            return self.act(self.norm(F.pad(y, (0, 1))))

    def __init__(self, c=32, frequencies=129):
        super().__init__()
        block = lambda i, o, k, s=(1, 1): nn.Sequential(
            nn.Conv2d(i, o, k, s), nn.InstanceNorm2d(o, affine=True), nn.PReLU(o)
        )
        self.enter, self.narrow = block(2, c, 1), block(c, c, (1, 3), (1, 2))
        self.dense = nn.ModuleList(self.Dense(c) for _ in range(3))
        self.both = nn.Sequential(self.Both(c), self.Both(c))
        self.wide = nn.ModuleList((self.Wide(c), self.Wide(c)))
        self.mask = nn.Sequential(nn.Conv2d(c, 1, 1), nn.InstanceNorm2d(1), nn.PReLU(1))
        self.last = nn.Conv2d(1, 1, 1)
        self.slope = nn.Parameter(1 + 0.1 * torch.randn(frequencies))
        self.real, self.imaginary = nn.Conv2d(c, 1, 1), nn.Conv2d(c, 1, 1)

    def forward(self, magnitude, phase):
        x = torch.stack((magnitude, phase), 1).transpose(2, 3)  # batch, number, time, frequency
        x = self.both(self.narrow(self.dense[0](self.enter(x))))
        y = self.wide[0](self.dense[1](x))
        mask = 2 * torch.sigmoid(self.slope * self.last(self.mask(y)).squeeze(1))
        y = self.wide[1](self.dense[2](x))
        angle = torch.atan2(self.imaginary(y), self.real(y)).squeeze(1).transpose(1, 2)
        clean = magnitude * mask.transpose(1, 2)
        return torch.stack((clean * torch.cos(angle), clean * torch.sin(angle)), 3)


SPECTRUM = ((1, 129, 80), None)
model("mp_senet", {"magnitude": SPECTRUM, "phase": SPECTRUM}, script=True, opset=17)(Denoiser)


class Gradients(nn.Module):
    """Histograms of oriented gradients, and a linear machine at each place: people in a picture, as
    before there were networks."""

    def __init__(self, cell=8, bins=9, window=(16, 8)):
        super().__init__()
        self.register_buffer("across", torch.tensor([[[[-1.0, 0.0, 1.0]]]]))
        self.register_buffer("down", torch.tensor([[[[-1.0], [0.0], [1.0]]]]))
        self.register_buffer("places", torch.arange(bins).view(1, -1, 1, 1).float())
        self.cell, self.bins = cell, bins
        self.machine = nn.Conv2d(4 * bins, 1, (window[0] - 1, window[1] - 1))

    def forward(self, x):
        x = (0.299 * x[:, 0:1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:3]).sqrt()
        x = F.pad(x, (1, 1, 1, 1), mode="replicate")
        a = F.conv2d(x[:, :, 1:-1], self.across)
        b = F.conv2d(x[:, :, :, 1:-1], self.down)
        size = torch.sqrt(a * a + b * b + 1e-12)
        angle = torch.atan2(b, a)
        angle = torch.where(angle < 0, angle + math.pi, angle) * (self.bins / math.pi)
        far = torch.abs(angle - self.places)
        far = torch.minimum(far, self.bins - far)
        cells = F.avg_pool2d(F.relu(1 - far) * size, self.cell)
        blocks = torch.cat(
            [cells[:, :, i : i - 1 or None, j : j - 1 or None] for i in (0, 1) for j in (0, 1)], 1
        )
        blocks = blocks / torch.sqrt((blocks * blocks).sum(1, keepdim=True) + 1e-4)
        blocks = blocks.clamp(max=0.2)
        blocks = blocks / torch.sqrt((blocks * blocks).sum(1, keepdim=True) + 1e-4)
        return self.machine(blocks)


class Lit(Gradients):
    """Of a picture whose numbers may be of either sign."""

    def forward(self, x):
        return super().forward(x.sigmoid())


model("hog", {"x": ((1, 3, 480, 640), None)}, script=True, opset=15)(Lit)


class Tracker(nn.Module):
    """CoTracker: points of a first picture are followed through a film, by what is like them around
    where they are thought to be, and attention along time and among the points."""

    class Layer(nn.Module):
        def __init__(self, width, heads=6):
            super().__init__()
            self.norm, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.enter, self.leave = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.heads = heads

        def forward(self, x):
            cut = lambda v: v.unflatten(2, (self.heads, -1)).transpose(1, 2)
            q, k, v = map(cut, self.enter(self.norm(x)).chunk(3, 2))
            x = x + self.leave(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.after(x)), approximate="tanh"))

    def __init__(self, width=192, rows=64, levels=3, radius=3, steps=2):
        super().__init__()
        self.eye = nn.Sequential(
            nn.Conv2d(3, 32, 7, 2, 3),
            nn.InstanceNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1),
            nn.InstanceNorm2d(64),
            nn.ReLU(),
            nn.Conv2d(64, rows, 3, 1, 1),
        )
        side = torch.arange(-radius, radius + 1).float()
        around = torch.stack(torch.meshgrid(side, side, indexing="xy"), 2)
        self.register_buffer("around", around)
        self.levels, self.steps = levels, steps
        many = levels * (2 * radius + 1) ** 2 + rows + 2 + 2 * 16
        self.register_buffer("waves", 2.0 ** torch.arange(8) / 16)
        self.enter = nn.Linear(many, width)
        self.time = nn.ModuleList(self.Layer(width) for _ in range(2))
        self.among = nn.ModuleList(self.Layer(width) for _ in range(2))
        self.leave = nn.Linear(width, rows + 2)
        self.norm, self.renew = nn.GroupNorm(1, rows), nn.Linear(rows, rows)
        self.seen = nn.Linear(rows, 1)

    def taken(self, maps, at):
        """What lies at places [n, h, w, 2], counted in elements, of maps [n, c, height, width]."""
        size = torch.tensor([maps.shape[3] - 1, maps.shape[2] - 1])
        return F.grid_sample(maps, at * (2 / size) - 1, align_corners=True, padding_mode="border")

    def forward(self, film, points):
        maps = self.eye(film)
        levels = [maps]
        for _ in range(self.levels - 1):
            levels.append(F.avg_pool2d(levels[-1], 2))
        start = points / 4
        row = self.taken(maps[:1], start[None, None])[0, :, 0].T  # points, numbers
        times = film.shape[0]
        at, row = start.expand(times, -1, -1), row.expand(times, -1, -1)
        for _ in range(self.steps):
            near = []
            for k, level in enumerate(levels):
                like = torch.einsum("tnc,tchw->tnhw", row, level) / row.shape[2] ** 0.5
                around = at[:, :, None, None] / 2**k + self.around
                like = self.taken(like.flatten(0, 1).unsqueeze(1), around.flatten(0, 1))
                near.append(like.unflatten(0, (times, -1)).flatten(2))
            move = at - at[:1]
            waves = (move.unsqueeze(3) * self.waves).flatten(2)
            x = torch.cat(near + [row, move, waves.sin(), waves.cos()], 2)
            x = self.enter(x).transpose(0, 1)  # points, times, numbers
            for time, among in zip(self.time, self.among):
                x = among(time(x).transpose(0, 1)).transpose(0, 1)
            x = self.leave(x).transpose(0, 1)
            at = at + x[..., :2]
            news = self.norm(x[..., 2:].flatten(0, 1)).unflatten(0, (times, -1))
            row = row + F.gelu(self.renew(news))
        return torch.cat((at * 4, self.seen(row).sigmoid()), 2)


model(
    "co_tracker",
    {"film": ((8, 3, 128, 160), None), "points": ((64, 2), None)},
    opset=20,
)(Tracker)


class Moirai(nn.Module):
    """Moirai: pieces of all variables of a series are the rows of one sequence, in which those of
    one variable are marked; what follows is a mixture of distributions."""

    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.qn, self.kn = nn.RMSNorm(width // heads), nn.RMSNorm(width // heads)
            self.same, self.other = nn.Parameter(torch.randn(heads)), nn.Parameter(
                torch.randn(heads)
            )
            self.gate, self.up = (nn.Linear(width, 1024, bias=False) for _ in range(2))
            self.down, self.heads = nn.Linear(1024, width, bias=False), heads

        @staticmethod
        def turned(x, cos, sin):
            a, b = x[..., ::2], x[..., 1::2]
            return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

        def forward(self, x, same, cos, sin):
            cut = lambda v: v.unflatten(2, (self.heads, -1)).transpose(1, 2)
            y = self.first(x)
            q = self.turned(self.qn(cut(self.q(y))), cos, sin)
            k = self.turned(self.kn(cut(self.k(y))), cos, sin)
            marks = same * self.same[:, None, None] + (1 - same) * self.other[:, None, None]
            y = F.scaled_dot_product_attention(q, k, cut(self.v(y)), attn_mask=marks)
            x = x + self.o(y.transpose(1, 2).flatten(2))
            y = self.second(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def __init__(self, variables=7, pieces=24, piece=32, ahead=4, width=384, heads=6, layers=3):
        super().__init__()
        self.piece, self.ahead = piece, ahead
        self.enter = nn.Linear(piece, width)
        self.hidden = nn.Parameter(torch.randn(width) * 0.1)
        self.layers = nn.ModuleList(self.Layer(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        kind = torch.arange(variables).repeat_interleave(pieces + ahead)
        self.register_buffer("same", (kind[:, None] == kind).float())
        time = torch.arange(pieces + ahead).repeat(variables).float()
        speeds = 10000 ** (-torch.arange(0, width // heads, 2) / (width // heads))
        self.register_buffer("cos", torch.cos(time[:, None] * speeds))
        self.register_buffer("sin", torch.sin(time[:, None] * speeds))
        heads = {"weight": 4, "free": 1, "place": 3, "scale": 3, "count": 1}
        self.leave = nn.ModuleDict({k: nn.Linear(width, o * piece) for k, o in heads.items()})

    def forward(self, x):
        mean, scale = x.mean(2, keepdim=True), x.std(2, keepdim=True) + 1e-5
        y = self.enter(((x - mean) / scale).unflatten(2, (-1, self.piece)))
        come = self.hidden.expand(y.shape[0], y.shape[1], self.ahead, -1)
        y = torch.cat((y, come), 2)
        kinds = y.shape[1]
        y = y.flatten(1, 2)
        for one in self.layers:
            y = one(y, self.same, self.cos, self.sin)
        y = self.norm(y).unflatten(1, (kinds, -1))[:, :, -self.ahead :]
        out = {k: leave(y).unflatten(3, (self.piece, -1)) for k, leave in self.leave.items()}
        weight = F.softmax(out["weight"], -1)
        free = 2 + F.softplus(out["free"])
        place = out["place"] * scale[..., None, None] + mean[..., None, None]
        wide = F.softplus(out["scale"]) * scale[..., None, None]
        many = F.softplus(out["count"])
        means = torch.cat((place[..., :2], torch.exp(place[..., 2:] * 0.01), many), -1)
        return (weight * means).sum(-1), torch.cat((wide, free), -1)


model("moirai", {"x": (("batch=2", 7, 768), None)}, opset=18)(Moirai)
