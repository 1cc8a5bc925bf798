"""Small networks of the eighth set of test/bench/UNSEEN.md, written after their papers or their
published code: sound."""

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class DualPath(nn.Module):
    """DPRNN: chunks with half an overlap, LSTMs along and across."""

    class Half(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.cells = nn.LSTM(c, c, batch_first=True, bidirectional=True)
            self.p, self.n = nn.Linear(2 * c, c), nn.GroupNorm(1, c)

        def forward(self, x):
            b, c, s, k = x.shape
            y = self.p(self.cells(x.permute(0, 2, 3, 1).reshape(b * s, k, c))[0])
            return x + self.n(y.view(b, s, k, c).permute(0, 3, 1, 2))

    def __init__(self, c=32, k=40):
        super().__init__()
        self.k, self.enc = k, nn.Conv1d(1, c, 16, 8, bias=False)
        self.parts = nn.ModuleList(self.Half(c) for _ in range(4))
        self.mask, self.dec = nn.Conv1d(c, 2 * c, 1), nn.ConvTranspose1d(c, 1, 16, 8, bias=False)

    def forward(self, x):
        e = self.enc(x).relu()
        b, c, n = e.shape
        y = F.unfold(e[..., None], (self.k, 1), stride=(self.k // 2, 1)).view(b, c, self.k, -1)
        y = y.transpose(2, 3)
        for part in self.parts:
            y = part(y).transpose(2, 3)
        y = y.transpose(2, 3).reshape(b, c * self.k, -1)
        y = F.fold(y, (n, 1), (self.k, 1), stride=(self.k // 2, 1)).squeeze(-1)
        m = self.mask(y).relu().view(b, 2, c, n)
        return self.dec((m * e[:, None]).flatten(0, 1))


class SubBand(nn.Module):
    """FullSubNet: an LSTM over all bands, one over each band with its neighbours."""

    def __init__(self, f=65, around=7):
        super().__init__()
        self.around, wide = around, 2 * around + 2
        self.full, self.p = nn.LSTM(f, 128, 2, batch_first=True), nn.Linear(128, f)
        self.sub, self.q = nn.LSTM(wide, 64, 1, batch_first=True), nn.Linear(64, 2)

    def forward(self, x):
        b, f, t = x.shape
        x = x / (x.mean((1, 2), keepdim=True) + 1e-5)
        y = self.p(self.full(x.transpose(1, 2))[0]).relu().transpose(1, 2)
        near = F.pad(x[:, None], (0, 0, self.around, self.around), mode="reflect")
        near = F.unfold(near, (2 * self.around + 1, t)).view(b, 2 * self.around + 1, t, f)
        z = torch.cat([near.permute(0, 3, 1, 2), y[:, :, None]], 2)
        z = z / (z.mean((1, 2, 3), keepdim=True) + 1e-5)
        z = self.q(self.sub(z.reshape(b * f, -1, t).transpose(1, 2))[0])
        return z.view(b, f, t, 2).permute(0, 3, 1, 2)


class BandNet(nn.Module):
    """BC-ResNet: a part of the frequencies' mean is added to each frequency."""

    class Block(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.f = nn.Sequential(
                nn.Conv2d(c, c, (3, 1), 1, (1, 0), groups=c, bias=False), nn.BatchNorm2d(c)
            )
            self.t = nn.Sequential(
                nn.Conv2d(c, c, (1, 3), 1, (0, d), (1, d), groups=c, bias=False),
                nn.BatchNorm2d(c),
                nn.SiLU(),
                nn.Conv2d(c, c, 1),
            )

        def forward(self, x):
            y = self.f(x)
            return (x + y + self.t(y.mean(2, keepdim=True))).relu()

    def __init__(self, c=48):
        super().__init__()
        self.first = nn.Conv2d(1, c, 5, (2, 1), 2)
        self.parts = nn.Sequential(*(self.Block(c, d) for d in (1, 1, 2, 2, 4, 4)))
        self.end = nn.Sequential(nn.Conv2d(c, c, 5, padding=(0, 2), groups=c), nn.Conv2d(c, 12, 1))

    def forward(self, x):
        return self.end(self.parts(self.first(x)).mean(2, keepdim=True).repeat(1, 1, 5, 1)).mean(
            (2, 3)
        )


class MelGan(nn.Module):
    """MelGAN: reflected edges, dilated residual blocks with a convolution beside them."""

    class Block(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.body = nn.Sequential(
                nn.LeakyReLU(0.2),
                nn.ReflectionPad1d(d),
                nn.Conv1d(c, c, 3, dilation=d),
                nn.LeakyReLU(0.2),
                nn.Conv1d(c, c, 1),
            )
            self.side = nn.Conv1d(c, c, 1)

        def forward(self, x):
            return self.side(x) + self.body(x)

    def __init__(self, c=128):
        super().__init__()
        parts = [nn.ReflectionPad1d(3), nn.Conv1d(80, c, 7)]
        for r in (8, 4, 2):
            up = nn.ConvTranspose1d(c, c // 2, 2 * r, r, r // 2)
            c //= 2
            parts += [nn.LeakyReLU(0.2), up, *(self.Block(c, 3**k) for k in range(3))]
        end = [nn.LeakyReLU(0.2), nn.ReflectionPad1d(3), nn.Conv1d(c, 1, 7), nn.Tanh()]
        self.body = nn.Sequential(*parts, *end)

    def forward(self, x):
        return self.body(x)


class Branch(nn.Module):
    """E-Branchformer: attention beside a gated convolution, merged by a depthwise one."""

    def __init__(self, c=144, blocks=2, bands=80):
        super().__init__()
        self.first = nn.Linear(bands, c)
        self.blocks = nn.ModuleList(self.Block(c) for _ in range(blocks))

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            half = lambda: nn.Sequential(
                nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c)
            )
            self.a, self.b, self.n, self.m = half(), half(), nn.LayerNorm(c), nn.LayerNorm(c)
            self.look = nn.MultiheadAttention(c, 4, batch_first=True)
            self.wide, self.back = nn.Linear(c, 6 * c), nn.Linear(3 * c, c)
            self.norm = nn.LayerNorm(3 * c)
            self.gate = nn.Conv1d(3 * c, 3 * c, 31, padding=15, groups=3 * c)
            self.deep = nn.Conv1d(2 * c, 2 * c, 31, padding=15, groups=2 * c)
            self.merge, self.end = nn.Linear(2 * c, c), nn.LayerNorm(c)

        def forward(self, x):
            x = x + 0.5 * self.a(x)
            n = self.n(x)
            p, q = F.gelu(self.wide(self.m(x))).chunk(2, -1)
            q = self.gate(self.norm(q).transpose(1, 2)).transpose(1, 2)
            y = torch.cat([self.look(n, n, n)[0], self.back(p * q)], -1)
            y = y + self.deep(y.transpose(1, 2)).transpose(1, 2)
            x = x + self.merge(y)
            return self.end(x + 0.5 * self.b(x))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


class Sinc(nn.Module):
    """SincNet: band filters made of two frequencies each, then norms and maxima."""

    def __init__(self, bands=40, taps=101):
        super().__init__()
        self.low, self.wide = nn.Parameter(torch.rand(bands) / 4), nn.Parameter(
            torch.rand(bands) / 8
        )
        self.register_buffer("t", torch.arange(1, taps // 2 + 1).float() * 3.14159)
        self.register_buffer("window", torch.hamming_window(taps))
        one = lambda i, o: nn.Sequential(
            nn.Conv1d(i, o, 5), nn.MaxPool1d(3), nn.BatchNorm1d(o), nn.LeakyReLU(0.2)
        )
        self.body, self.end = nn.Sequential(one(bands, 60), one(60, 60)), nn.Linear(60, 100)

    def forward(self, x):
        low = self.low.abs()[:, None]
        high = low + self.wide.abs()[:, None] + 0.02
        side = ((high * self.t).sin() - (low * self.t).sin()) / (self.t / 2)
        k = torch.cat([side.flip(1), 2 * (high - low), side], 1)
        k = k / k.amax(1, keepdim=True) * self.window
        y = F.leaky_relu(F.max_pool1d(F.conv1d(x, k[:, None]).abs(), 3), 0.2)
        return self.end(self.body(y).mean(2)).log_softmax(1)


model("dp_rnn", {"x": ((1, 1, 4000), None)})(DualPath)
model("full_sub_net", {"x": ((1, 65, 40), None)}, script=True)(SubBand)
model("bc_res_net", {"x": (("batch=1", 1, 40, 101), None)})(BandNet)
model("mel_gan", {"x": ((1, 80, 40), None)})(MelGan)
model("e_branchformer", {"x": (("batch=1", 100, 80), None)}, script=True)(Branch)
model("sinc_net", {"x": (("batch=1", 1, 3200), None)})(Sinc)
