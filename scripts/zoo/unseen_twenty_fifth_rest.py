"""Networks of the twenty-fifth set of test/bench/UNSEEN.md, written after their papers: a series by
its frequencies, a table beside its neighbours, a larger picture, a voice, how a body moves in
space, a cloud of points. unseen_twenty_fifth.py writes them."""

import math

from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class FedFormer(nn.Module):
    """FEDformer: some frequencies of each head have a matrix each; what is asked looks at what is
    known in the frequencies; trends by means over windows of several lengths."""

    class Chosen(nn.Module):
        """The spectrum at `modes` places drawn once, as two real numbers each."""

        def __init__(self, length, modes=32):
            super().__init__()
            drawn = torch.randperm(length // 2, generator=torch.Generator().manual_seed(length))
            self.register_buffer("at", drawn[: min(modes, length // 2)].sort()[0])
            self.length = length

        def into(self, x):
            """Rows of time to chosen frequencies: [batch, heads, channels, modes]."""
            x = torch.view_as_real(torch.fft.rfft(x, dim=-1))
            x = x.index_select(3, self.at)
            return x[..., 0], x[..., 1]

        def back(self, re, im):
            """The chosen frequencies, in turn, are the first of a spectrum."""
            spare = self.length // 2 + 1 - re.shape[3]
            whole = torch.stack((F.pad(re, (0, spare)), F.pad(im, (0, spare))), -1)
            return torch.fft.irfft(torch.view_as_complex(whole), n=self.length, dim=-1)

    @staticmethod
    def times(equation, a, b):
        product = lambda x, y: torch.einsum(equation, x, y)
        return (
            product(a[0], b[0]) - product(a[1], b[1]),
            product(a[0], b[1]) + product(a[1], b[0]),
        )

    class Trend(nn.Module):
        """The mean over windows, in a mixture that each place chooses."""

        def __init__(self, sizes=(7, 13, 25)):
            super().__init__()
            self.sizes, self.choose = sizes, nn.Linear(1, len(sizes))

        def forward(self, x):
            means = []
            for size in self.sizes:
                y = torch.cat(
                    (x[:, :1].repeat(1, size // 2, 1), x, x[:, -1:].repeat(1, size // 2, 1)), 1
                )
                means.append(F.avg_pool1d(y.transpose(1, 2), size, 1).transpose(1, 2).unsqueeze(-1))
            share = F.softmax(self.choose(x.unsqueeze(-1)), -1)
            mean = (torch.cat(means, -1) * share).sum(-1)
            return x - mean, mean

    class Own(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.at, self.heads = FedFormer.Chosen(length), heads
            size = heads, width // heads, width // heads, len(self.at.at)
            self.re = nn.Parameter(torch.rand(size) / width)
            self.im = nn.Parameter(torch.rand(size) / width)
            self.q, self.o = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x):
            y = self.q(x).unflatten(2, (self.heads, -1)).permute(0, 2, 3, 1)
            y = FedFormer.times("bhim,hiom->bhom", self.at.into(y), (self.re, self.im))
            return self.o(self.at.back(*y).permute(0, 3, 1, 2).flatten(2))

    class Cross(nn.Module):
        def __init__(self, width, heads, length, seen):
            super().__init__()
            self.at, self.of, self.heads = FedFormer.Chosen(length), FedFormer.Chosen(seen), heads
            size = heads, width // heads, width // heads, len(self.at.at)
            self.re = nn.Parameter(torch.rand(size) / width)
            self.im = nn.Parameter(torch.rand(size) / width)
            self.q, self.k, self.o = (nn.Linear(width, width) for _ in range(3))
            self.share = width * width

        def forward(self, x, seen):
            cut = lambda v: v.unflatten(2, (self.heads, -1)).permute(0, 2, 3, 1)
            q, k = self.at.into(cut(self.q(x))), self.of.into(cut(self.k(seen)))
            look = FedFormer.times("bhex,bhey->bhxy", q, k)
            look = torch.tanh(look[0]), torch.tanh(look[1])
            y = FedFormer.times("bhxy,bhey->bhex", look, k)
            re, im = FedFormer.times("bhex,heox->bhox", y, (self.re, self.im))
            y = self.at.back(re / self.share, im / self.share)
            return self.o(y.permute(0, 3, 1, 2).flatten(2))

    class Layer(nn.Module):
        def __init__(self, width, heads, length, seen=0, out=0):
            super().__init__()
            self.own = FedFormer.Own(width, heads, length)
            self.cross = FedFormer.Cross(width, heads, length, seen) if seen else None
            self.up = nn.Conv1d(width, 4 * width, 1, bias=False)
            self.down = nn.Conv1d(4 * width, width, 1, bias=False)
            self.trends = nn.ModuleList(FedFormer.Trend() for _ in range(3 if seen else 2))
            if out:
                self.leave = nn.Conv1d(
                    width, out, 3, padding=1, padding_mode="circular", bias=False
                )

        def forward(self, x, seen=None):
            x, trend = self.trends[0](x + self.own(x))
            if seen is not None:
                x, more = self.trends[2](x + self.cross(x, seen))
                trend = trend + more
            y = self.down(F.gelu(self.up(x.transpose(1, 2)))).transpose(1, 2)
            x, more = self.trends[1](x + y)
            if seen is None:
                return x
            return x, self.leave((trend + more).transpose(1, 2)).transpose(1, 2)

    def __init__(self, length=96, ahead=96, series=7, marks=4, width=256, heads=8):
        super().__init__()
        self.ahead, self.half, both = ahead, length // 2, length // 2 + ahead
        enter = lambda: nn.Conv1d(series, width, 3, padding=1, padding_mode="circular", bias=False)
        self.values, self.others = enter(), enter()
        self.marks, self.more = nn.Linear(marks, width), nn.Linear(marks, width)
        self.trend = self.Trend()
        self.layers = nn.ModuleList(self.Layer(width, heads, length) for _ in range(2))
        self.last = self.Layer(width, heads, both, length, series)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.leave = nn.Linear(width, series)

    def forward(self, x, marks, later):
        season, trend = self.trend(x)
        mean = x.mean(1, keepdim=True).repeat(1, self.ahead, 1)
        trend = torch.cat((trend[:, -self.half :], mean), 1)
        season = F.pad(season[:, -self.half :], (0, 0, 0, self.ahead))
        y = self.values(x.transpose(1, 2)).transpose(1, 2) + self.marks(marks)
        for layer in self.layers:
            y = layer(y)
        normed = lambda norm, v: norm(v) - norm(v).mean(1, keepdim=True)
        y = normed(self.norms[0], y)
        z = self.others(season.transpose(1, 2)).transpose(1, 2) + self.more(later)
        z, more = self.last(z, y)
        z = self.leave(normed(self.norms[1], z)) + trend + more
        return z[:, -self.ahead :]


model(
    "fed_former",
    {"x": ((4, 96, 7), None), "marks": ((4, 96, 4), None), "later": ((4, 144, 4), None)},
    opset=20,
)(FedFormer)


class TabR(nn.Module):
    """TabR: a row of a table is told by the 96 rows nearest to it, of which the answers are known,
    and by how each of them differs from it."""

    def __init__(self, numbers=20, known=2000, width=192, near=96, classes=5, waves=24):
        super().__init__()
        self.rate = nn.Parameter(torch.randn(numbers, waves) * 0.1)
        self.wave = nn.Linear(2 * waves, 16)
        self.enter = nn.Linear(numbers * 16, width)
        two = lambda i, o: nn.Sequential(
            nn.LayerNorm(i), nn.Linear(i, 2 * o), nn.ReLU(), nn.Linear(2 * o, o)
        )
        self.first = two(width, width)
        self.norm, self.key = nn.LayerNorm(width), nn.Linear(width, width)
        self.answers = nn.Embedding(classes, width)
        self.apart = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width, bias=False)
        )
        self.then = two(width, width)
        self.end = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, classes))
        self.near = near
        self.register_buffer("rows", torch.randn(known, width))
        self.register_buffer("told", torch.randint(0, classes, (known,)))

    def forward(self, x):
        turned = 2 * math.pi * x.unsqueeze(2) * self.rate
        x = F.relu(self.wave(torch.cat((turned.cos(), turned.sin()), 2)))
        x = self.enter(x.flatten(1))
        x = x + self.first(x)
        key = self.key(self.norm(x))
        away = (self.rows * self.rows).sum(1) - 2 * key @ self.rows.T
        away = away + (key * key).sum(1, keepdim=True)
        at = torch.topk(away, self.near, 1, largest=False)[1]
        seen = self.rows[at]
        like = (
            -(key * key).sum(1)[:, None]
            + 2 * (key[:, None] @ seen.transpose(1, 2)).squeeze(1)
            - (seen * seen).sum(2)
        )
        value = self.answers(self.told[at]) + self.apart(key[:, None] - seen)
        x = x + (F.softmax(like, 1)[:, None] @ value).squeeze(1)
        return self.end(x + self.then(x))


model("tab_r", {"x": (("batch=32", 20), None)}, script=True, opset=16)(TabR)


class SrFormer(nn.Module):
    """SRFormer: a larger picture. In windows of 16 by 16 each place looks at 64 rows, of a quarter
    of the channels of four places each; then a convolution for each channel in the perceptron."""

    class Look(nn.Module):
        def __init__(self, width, heads, window):
            super().__init__()
            self.heads, self.window, self.width = heads, window, width
            self.kv, self.q = nn.Linear(width, width // 2), nn.Linear(width, width)
            self.o, half = nn.Linear(width, width), window // 2
            self.bias = nn.Parameter(torch.randn((2 * half - 1) ** 2, heads) * 0.02)
            line = torch.arange(half)
            grid = torch.stack(torch.meshgrid(line, line, indexing="ij")).flatten(1)
            away = grid[:, :, None] - grid[:, None] + half - 1
            away = away[0] * (2 * half - 1) + away[1]
            away = away.reshape(half, half, 1, half * half).repeat(1, 1, 4, 1)
            away = away.reshape(half, half, 2, 2, half * half).permute(0, 2, 1, 3, 4)
            self.register_buffer("index", away.reshape(window * window, half * half))

        def forward(self, x):
            n, places, half = x.shape[0], self.window**2, self.window // 2
            narrow = self.width // self.heads
            kv = self.kv(x).reshape(n, half, 2, half, 2, 2, self.width // 4)
            kv = kv.permute(5, 0, 1, 3, 2, 4, 6).reshape(2, n, places // 4, self.heads, narrow)
            k, v = kv.permute(0, 1, 3, 2, 4).unbind(0)
            q = self.q(x).reshape(n, places, self.heads, narrow).permute(0, 2, 1, 3)
            bias = self.bias[self.index].permute(2, 0, 1)
            look = F.softmax(q * narrow**-0.5 @ k.transpose(2, 3) + bias, -1)
            return self.o((look @ v).transpose(1, 2).reshape(n, places, self.width))

    class Layer(nn.Module):
        def __init__(self, width, heads, window, shift):
            super().__init__()
            self.window, self.shift = window, shift
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.look = SrFormer.Look(width, heads, window)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            self.near = nn.Conv2d(2 * width, 2 * width, 5, padding=2, groups=2 * width)

        def forward(self, x):
            n, h, w, c = x.shape
            y, s = self.norms[0](x), self.window
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            y = y.reshape(n, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5)
            y = self.look(y.reshape(-1, s * s, c)).reshape(n, h // s, w // s, s, s, c)
            y = y.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
            if self.shift:
                y = torch.roll(y, (self.shift, self.shift), (1, 2))
            x = x + y
            y = F.gelu(self.up(self.norms[1](x)))
            near = F.gelu(self.near(y.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
            return x + self.down(y + near)

    def __init__(self, width=60, heads=6, window=16, layers=4, scale=2):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, 1, 1)
        self.layers = nn.ModuleList(
            self.Layer(width, heads, window, 0 if k % 2 == 0 else window // 2)
            for k in range(layers)
        )
        self.norm, self.end = nn.LayerNorm(width), nn.Conv2d(width, width, 3, 1, 1)
        self.leave = nn.Sequential(nn.Conv2d(width, 3 * scale**2, 3, 1, 1), nn.PixelShuffle(scale))

    def forward(self, x):
        x = self.enter(x)
        y = x.permute(0, 2, 3, 1)
        for layer in self.layers:
            y = layer(y)
        return self.leave(x + self.end(self.norm(y).permute(0, 3, 1, 2)))


model("sr_former", image(64), script=True, opset=17)(SrFormer)


class Kokoro(nn.Module):
    """Kokoro, after StyleTTS 2: letters' states, pitch and loudness to frames, and these to a short
    spectrum for each moment. A voice's style scales and shifts each normed channel."""

    class Styled(nn.Module):
        def __init__(self, style, width):
            super().__init__()
            self.norm = nn.InstanceNorm1d(width, affine=True)
            self.turn = nn.Linear(style, 2 * width)

        def forward(self, x, style):
            gamma, beta = self.turn(style).unsqueeze(2).chunk(2, 1)
            return (1 + gamma) * self.norm(x) + beta

    class Frame(nn.Module):
        """Two convolutions, beside a shortcut; twice as long if `longer`."""

        def __init__(self, i, o, style, longer=False):
            super().__init__()
            self.one, self.two = nn.Conv1d(i, o, 3, 1, 1), nn.Conv1d(o, o, 3, 1, 1)
            self.norms = nn.ModuleList((Kokoro.Styled(style, i), Kokoro.Styled(style, o)))
            self.side = nn.Conv1d(i, o, 1, bias=False) if i != o else nn.Identity()
            self.pool = nn.ConvTranspose1d(i, i, 3, 2, 1, 1, groups=i) if longer else nn.Identity()
            self.longer = longer

        def forward(self, x, style):
            y = self.pool(F.leaky_relu(self.norms[0](x, style), 0.2))
            y = F.leaky_relu(self.norms[1](self.one(y), style), 0.2)
            if self.longer:
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            return (self.two(y) + self.side(x)) / math.sqrt(2)

    class Voice(nn.Module):
        """Three pairs of convolutions, each after a norm and x + sin(a x)^2 / a."""

        def __init__(self, width, kernel, style, steps=(1, 3, 5)):
            super().__init__()
            conv = lambda d: nn.Conv1d(width, width, kernel, 1, d * (kernel // 2), d)
            self.wide = nn.ModuleList(conv(d) for d in steps)
            self.near = nn.ModuleList(conv(1) for _ in steps)
            norms = lambda: nn.ModuleList(Kokoro.Styled(style, width) for _ in steps)
            self.first, self.then = norms(), norms()
            rates = lambda: nn.ParameterList(torch.rand(1, width, 1) + 0.5 for _ in steps)
            self.alpha, self.beta = rates(), rates()

        def forward(self, x, style):
            snake = lambda v, a: v + (1 / a) * torch.sin(a * v) ** 2
            parts = self.wide, self.near, self.first, self.then, self.alpha, self.beta
            for wide, near, first, then, alpha, beta in zip(*parts):
                y = wide(snake(first(x, style), alpha))
                x = x + near(snake(then(y, style), beta))
            return x

    def __init__(self, width=256, style=128, rates=(10, 6), kernels=(3, 7)):
        super().__init__()
        self.pitch, self.loud = (nn.Conv1d(1, 1, 3, 2, 1) for _ in range(2))
        self.enter = self.Frame(width + 2, 2 * width, style)
        self.side = nn.Conv1d(width, 32, 1)
        inner = 2 * width + 34
        self.frames = nn.ModuleList(
            self.Frame(inner, o, style, o == width) for o in (2 * width, width)
        )
        self.ups, self.voices, self.widths = (
            nn.ModuleList(),
            nn.ModuleList(),
            (width // 2, width // 4),
        )
        self.heard, self.mixed = nn.ModuleList(), nn.ModuleList()
        last, left = width, (rates[1], 1)
        for o, rate, step in zip(self.widths, rates, left):
            self.ups.append(nn.ConvTranspose1d(last, o, 2 * rate, rate, rate // 2))
            self.voices.append(nn.ModuleList(self.Voice(o, k, style) for k in kernels))
            k = 2 * step if step > 1 else 1
            self.heard.append(nn.Conv1d(22, o, k, step, (step + 1) // 2 if step > 1 else 0))
            self.mixed.append(self.Voice(o, 7 if step > 1 else 11, style))
            last = o
        self.leave = nn.Conv1d(last, 22, 7, 1, 3)

    def forward(self, x, pitch, loud, source, style):
        f, n = self.pitch(pitch.unsqueeze(1)), self.loud(loud.unsqueeze(1))
        side = self.side(x)
        x = self.enter(torch.cat((x, f, n), 1), style)
        for frame in self.frames:
            x = frame(torch.cat((x, side, f, n), 1), style)
        parts = self.ups, self.voices, self.heard, self.mixed
        for up, voices, heard, mixed in zip(*parts):
            x = up(F.leaky_relu(x, 0.1))
            y = mixed(heard(source), style)
            x = x + y[:, :, : x.shape[2]]
            x = sum(voice(x, style) for voice in voices) / len(voices)
        x = self.leave(F.leaky_relu(x))
        return torch.exp(x[:, :11]), torch.sin(x[:, 11:])


model(
    "kokoro",
    {
        "x": ((1, 256, 20), None),
        "pitch": ((1, 40), None),
        "loud": ((1, 40), None),
        "source": ((1, 22, 2400), None),
        "style": ((1, 128), None),
    },
    opset=18,
)(Kokoro)


class MotionBert(nn.Module):
    """MotionBERT: the joints of a body in pictures of a film to their places in space. One branch
    looks over joints and then over time, the other in turn; each place chooses between them."""

    class Look(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.norm = heads, nn.LayerNorm(width)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def over_joints(self, q, k, v):
            look = F.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1)
            return (look @ v).transpose(1, 2)

        def over_time(self, q, k, v, frames):
            cut = lambda y: y.unflatten(0, (-1, frames)).permute(0, 2, 3, 1, 4)
            q, k, v = cut(q), cut(k), cut(v)
            look = F.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1)
            return (look @ v).permute(0, 3, 2, 1, 4).flatten(0, 1)

        def forward(self, x, frames=None):
            qkv = self.qkv(self.norm(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            if frames is None:
                y = self.over_joints(*qkv.unbind(0))
            else:
                y = self.over_time(*qkv.unbind(0), frames)
            return x + self.o(y.flatten(2))

    class Wide(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            return x + self.down(F.gelu(self.up(self.norm(x))))

    def __init__(self, width=128, heads=8, layers=3, joints=17, most=243, out=128):
        super().__init__()
        self.enter = nn.Linear(3, width)
        self.joint = nn.Parameter(torch.randn(1, joints, width) * 0.02)
        self.time = nn.Parameter(torch.randn(1, most, 1, width) * 0.02)
        self.looks = nn.ModuleList(
            nn.ModuleList(self.Look(width, heads) for _ in range(4)) for _ in range(layers)
        )
        self.wides = nn.ModuleList(
            nn.ModuleList(self.Wide(width) for _ in range(4)) for _ in range(layers)
        )
        self.choose = nn.ModuleList(nn.Linear(2 * width, 2) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.last, self.head = nn.Linear(width, out), nn.Linear(out, 3)

    def forward(self, x):
        b, frames, joints, _ = x.shape
        x = self.enter(x.flatten(0, 1)) + self.joint
        x = x.unflatten(0, (b, frames)) + self.time[:, :frames]
        x = x.flatten(0, 1)
        for look, wide, choose in zip(self.looks, self.wides, self.choose):
            a = wide[1](look[1](wide[0](look[0](x)), frames))
            c = wide[3](look[3](wide[2](look[2](x, frames))))
            share = F.softmax(choose(torch.cat((a, c), -1)), -1)
            x = a * share[..., :1] + c * share[..., 1:]
        x = torch.tanh(self.last(self.norm(x).unflatten(0, (b, frames))))
        return self.head(x)


model("motion_bert", {"x": ((1, "frames=81", 17, 3), None)}, opset=21)(MotionBert)


class PointConv(nn.Module):
    """PointConv: the kernel of a convolution is a function of where a neighbour lies, by the
    density of points there."""

    class Stage(nn.Module):
        def __init__(self, points, near, i, widths, weights=16):
            super().__init__()
            conv = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 1), nn.BatchNorm2d(b), nn.ReLU())
            chain = lambda *w: nn.Sequential(*(conv(a, b) for a, b in zip(w, w[1:])))
            self.points, self.near = points, near
            self.body, self.weigh = chain(i + 3, *widths), chain(3, 8, 8, weights)
            self.dense = chain(1, 16, 8, 1)
            self.end = nn.Linear(weights * widths[-1], widths[-1])
            self.norm = nn.BatchNorm1d(widths[-1])

        @staticmethod
        def away(a, b):
            d = -2 * a @ b.transpose(1, 2)
            return d + (a * a).sum(2, keepdim=True) + (b * b).sum(2).unsqueeze(1)

        @staticmethod
        def take(x, at):
            rows = at.flatten(1).unsqueeze(2).expand(-1, -1, x.shape[2])
            return torch.gather(x, 1, rows).reshape(
                x.shape[0], at.shape[1], at.shape[2], x.shape[2]
            )

        def forward(self, places, x):
            dense = torch.exp(-self.away(places, places) / 0.02).mean(2, keepdim=True)
            inverse = 1 / dense
            middle = places[:, : self.points]
            at = torch.topk(self.away(middle, places), self.near, 2, largest=False)[1]
            by = self.take(places, at) - middle.unsqueeze(2)
            y = torch.cat((by, self.take(x, at)), 3).permute(0, 3, 2, 1)
            share = self.take(inverse, at)
            share = share / share.max(2, keepdim=True)[0]
            y = self.body(y) * self.dense(share.permute(0, 3, 2, 1))
            weights = self.weigh(by.permute(0, 3, 2, 1))
            y = y.permute(0, 3, 1, 2) @ weights.permute(0, 3, 2, 1)
            y = self.end(y.flatten(2))
            return middle, F.relu(self.norm(y.permute(0, 2, 1))).permute(0, 2, 1)

    def __init__(self, classes=40):
        super().__init__()
        self.stages = nn.ModuleList(
            (
                self.Stage(256, 32, 3, (64, 64, 128)),
                self.Stage(64, 32, 128, (128, 128, 256)),
                self.Stage(1, 64, 256, (256, 512, 512)),
            )
        )
        self.end = nn.Sequential(
            *(nn.Linear(512, 256), nn.BatchNorm1d(256), nn.ReLU()),
            nn.Linear(256, classes),
        )

    def forward(self, x):
        places = y = x
        for stage in self.stages:
            places, y = stage(places, y)
        return F.log_softmax(self.end(y[:, 0]), 1)


model("point_conv", {"x": ((1, 512, 3), None)}, script=True, opset=14)(PointConv)
