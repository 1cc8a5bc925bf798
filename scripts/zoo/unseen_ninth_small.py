"""Small networks of the ninth set of test/bench/UNSEEN.md, written after their papers or their
published code: images and videos."""

from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    layer = nn.Conv2d(i, o, k, s, k // 2, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


def rows(*widths, act=nn.ReLU):
    parts = [p for i, o in zip(widths, widths[1:]) for p in (nn.Linear(i, o), act())]
    return nn.Sequential(*parts[:-1])


# ---- images and videos
class Moved(nn.Module):
    """A spatial transformer: an affine map found from the image, the image looked up by it."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(conv(1, 16, 5, 2), conv(16, 32, 5, 2), nn.AdaptiveAvgPool2d(4))
        self.move, self.body = rows(512, 64, 6), nn.Sequential(conv(1, 32), conv(32, 64, 3, 2))
        self.end = nn.Linear(64, 10)

    def forward(self, x):
        grid = F.affine_grid(self.move(self.find(x).flatten(1)).view(-1, 2, 3), x.shape, False)
        y = F.grid_sample(x, grid, align_corners=False)
        return self.end(self.body(y).mean((2, 3)))


class Involution(nn.Module):
    """RedNet: kernels of each place computed from that place, over unfolded neighbours."""

    class One(nn.Module):
        def __init__(self, c, k=7, group=16):
            super().__init__()
            self.k, self.groups = k, c // group
            self.kernel = nn.Sequential(
                conv(c, c // 4, 1), nn.Conv2d(c // 4, k * k * self.groups, 1)
            )

        def forward(self, x):
            b, c, h, w = x.shape
            weight = self.kernel(x).view(b, self.groups, 1, self.k**2, h, w)
            near = F.unfold(x, self.k, 1, self.k // 2)
            near = near.view(b, self.groups, c // self.groups, self.k**2, h, w)
            return (weight * near).sum(3).view(b, c, h, w)

    def __init__(self, c=64):
        super().__init__()
        block = lambda: nn.Sequential(conv(c, c // 2, 1), self.One(c // 2), conv(c // 2, c, 1))
        self.first = nn.Sequential(conv(3, 32, 3, 2), conv(32, c, 3, 2))
        self.blocks, self.end = nn.ModuleList(block() for _ in range(3)), nn.Linear(c, 10)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = (x + block(x)).relu()
        return self.end(x.mean((2, 3)))


class Octave(nn.Module):
    """Octave convolutions: half of the channels at half the size, paths between both."""

    class One(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            one = lambda a, b: nn.Conv2d(a, b, 3, 1, 1, bias=False)
            self.hh, self.hl, self.lh, self.ll = one(i, o), one(i, o), one(i, o), one(i, o)
            self.nh, self.nl = nn.BatchNorm2d(o), nn.BatchNorm2d(o)

        def forward(self, h, l):
            up = F.interpolate(self.lh(l), scale_factor=2, mode="nearest")
            down = self.hl(F.avg_pool2d(h, 2))
            return self.nh(self.hh(h) + up).relu(), self.nl(self.ll(l) + down).relu()

    def __init__(self, c=32):
        super().__init__()
        self.first, self.low = conv(3, c, 3, 2), nn.Conv2d(c, c, 1)
        self.parts, self.end = nn.ModuleList(self.One(c, c) for _ in range(4)), nn.Linear(2 * c, 10)

    def forward(self, x):
        h = self.first(x)
        l = self.low(F.avg_pool2d(h, 2))
        for part in self.parts:
            h, l = part(h, l)
        return self.end(torch.cat([h.mean((2, 3)), l.mean((2, 3))], 1))


class Attended(nn.Module):
    """CBAM: channels weighed by means and maxima, then places by those over channels."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.body, self.back = conv(c, c), nn.Sequential(
                nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c)
            )
            self.gate, self.place = rows(c, c // 8, c), nn.Conv2d(2, 1, 7, 1, 3)

        def forward(self, x):
            y = self.back(self.body(x))
            w = self.gate(y.mean((2, 3))) + self.gate(y.amax((2, 3)))
            y = y * w.sigmoid()[:, :, None, None]
            s = torch.cat([y.amax(1, keepdim=True), y.mean(1, keepdim=True)], 1)
            return (x + y * self.place(s).sigmoid()).relu()

    def __init__(self, c=64):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, c, 7, 2), nn.MaxPool2d(2), *(self.Block(c) for _ in "abc")
        )
        self.end = nn.Linear(c, 10)

    def forward(self, x):
        return self.end(self.body(x).mean((2, 3)))


class Curves(nn.Module):
    """Zero-DCE: curves of light found by a small network, applied eight times."""

    def __init__(self, c=32):
        super().__init__()
        one = lambda i, o=c: nn.Conv2d(i, o, 3, 1, 1)
        self.down = nn.ModuleList([one(3), one(c), one(c), one(c)])
        self.up = nn.ModuleList([one(2 * c), one(2 * c), one(2 * c, 24)])

    def forward(self, x):
        x = x.sigmoid()
        kept = [x]
        for part in self.down:
            kept.append(part(kept[-1]).relu())
        y = self.up[0](torch.cat([kept[3], kept[4]], 1)).relu()
        y = self.up[1](torch.cat([kept[2], y], 1)).relu()
        for a in self.up[2](torch.cat([kept[1], y], 1)).tanh().split(3, 1):
            x = x + a * (x**2 - x)
        return x


class Matting(nn.Module):
    """Robust video matting: convolutional GRU cells in the decoder, three frames in a row."""

    class Cell(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.c, self.two, self.one = (
                c,
                nn.Conv2d(2 * c, 2 * c, 3, 1, 1),
                nn.Conv2d(2 * c, c, 3, 1, 1),
            )

        def forward(self, x, h):
            r, z = self.two(torch.cat([x, h], 1)).sigmoid().chunk(2, 1)
            n = self.one(torch.cat([x, r * h], 1)).tanh()
            return (1 - z) * h + z * n

    def __init__(self, c=16):
        super().__init__()
        self.a, self.b, self.d = conv(3, c, 3, 2), conv(c, 2 * c, 3, 2), conv(2 * c, 4 * c, 3, 2)
        self.low, self.high = self.Cell(2 * c), self.Cell(c)
        self.mix, self.then = conv(6 * c, 2 * c), conv(3 * c, c)
        self.end = nn.Conv2d(c, 4, 3, 1, 1)

    def forward(self, x):
        up = lambda y: F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        low = high = None
        out = []
        for frame in x.unbind(1):
            a = self.a(frame)
            b = self.b(a)
            y = self.mix(torch.cat([up(self.d(b)), b], 1))
            low = self.low(y, torch.zeros_like(y) if low is None else low)
            y = self.then(torch.cat([up(low), a], 1))
            high = self.high(y, torch.zeros_like(y) if high is None else high)
            out.append(up(self.end(high)))
        return torch.stack(out, 1)


class Efficient(nn.Module):
    """ENet: bottlenecks, dilated and by rows and columns, PReLU, maxima that remember places."""

    class Block(nn.Module):
        def __init__(self, c, kind):
            super().__init__()
            m = c // 4
            inner = {
                "plain": lambda: [nn.Conv2d(m, m, 3, 1, 1)],
                "wide": lambda: [nn.Conv2d(m, m, 3, 1, 4, dilation=4)],
                "cross": lambda: [
                    nn.Conv2d(m, m, (5, 1), 1, (2, 0), bias=False),
                    nn.Conv2d(m, m, (1, 5), 1, (0, 2)),
                ],
            }[kind]()
            steps = [nn.Conv2d(c, m, 1, bias=False), nn.BatchNorm2d(m), nn.PReLU(), *inner]
            steps += [
                nn.BatchNorm2d(m),
                nn.PReLU(),
                nn.Conv2d(m, c, 1, bias=False),
                nn.BatchNorm2d(c),
            ]
            self.body, self.act = nn.Sequential(*steps), nn.PReLU()

        def forward(self, x):
            return self.act(x + self.body(x))

    def __init__(self, c=64):
        super().__init__()
        self.first, self.wide = nn.Conv2d(3, 13, 3, 2, 1), nn.Conv2d(16, c, 1)
        kinds = ["plain", "wide", "cross", "wide"]
        self.blocks = nn.Sequential(*(self.Block(c, k) for k in kinds))
        self.back, self.end = nn.Conv2d(c, 16, 1), nn.ConvTranspose2d(16, 12, 3, 2, 1, 1)

    def forward(self, x):
        x = torch.cat([self.first(x), F.max_pool2d(x, 2)], 1)
        y, at = F.max_pool2d(x, 2, return_indices=True)
        y = self.back(self.blocks(self.wide(y)))
        return self.end(F.max_unpool2d(y, at, 2))


class Volume(nn.Module):
    """V-Net: volumes down by strided and up by transposed convolutions, PReLU, sums."""

    def __init__(self, c=8):
        super().__init__()
        one = lambda c: nn.Sequential(nn.Conv3d(c, c, 5, 1, 2), nn.BatchNorm3d(c), nn.PReLU(c))
        self.first, self.a, self.b, self.d = (
            nn.Conv3d(1, c, 5, 1, 2),
            one(c),
            one(2 * c),
            one(2 * c),
        )
        self.down, self.up = nn.Conv3d(c, 2 * c, 2, 2), nn.ConvTranspose3d(2 * c, c, 2, 2)
        self.last, self.end = one(2 * c), nn.Conv3d(2 * c, 2, 1)

    def forward(self, x):
        a = self.first(x)
        a = a + self.a(a)
        b = self.down(a).relu()
        b = b + self.d(self.b(b))
        y = torch.cat([self.up(b).relu(), a], 1)
        return self.end(y + self.last(y)).softmax(1)


class Siamese(nn.Module):
    """SiamFC: an example is the kernel of a convolution over a scene."""

    def __init__(self, c=64):
        super().__init__()
        steps = [nn.Conv2d(3, 32, 11, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2)]
        steps += [nn.Conv2d(32, c, 5), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d(3, 2)]
        self.body = nn.Sequential(*steps, nn.Conv2d(c, c, 3), nn.ReLU(), nn.Conv2d(c, c, 3))

    def forward(self, z, x):
        return F.conv2d(self.body(x), self.body(z)) * 0.001


class Masked(nn.Module):
    """Gated PixelCNN: masked kernels, vertical and horizontal stacks."""

    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.v, self.h = nn.Conv2d(c, 2 * c, (2, 3)), nn.Conv2d(c, 2 * c, (1, 2))
            self.link, self.out = nn.Conv2d(2 * c, 2 * c, 1), nn.Conv2d(c, c, 1)

        def forward(self, v, h):
            y = self.v(F.pad(v, (1, 1, 2, 0)))[:, :, :-1]
            z = self.h(F.pad(h, (1, 0, 0, 0))) + self.link(y)
            gate = lambda t: (lambda a, b: a.tanh() * b.sigmoid())(*t.chunk(2, 1))
            return gate(y), h + self.out(gate(z))

    def __init__(self, c=48, layers=5):
        super().__init__()
        self.first, self.layers = nn.Conv2d(1, c, 3, 1, 1), nn.ModuleList(
            self.Layer(c) for _ in range(layers)
        )
        self.end = nn.Sequential(nn.ReLU(), nn.Conv2d(c, 64, 1), nn.ReLU(), nn.Conv2d(64, 32, 1))

    def forward(self, x):
        v = h = self.first(x)
        for layer in self.layers:
            v, h = layer(v, h)
        return self.end(h)


class Waves(nn.Module):
    """WaveMix: Haar's wavelets as four slices, mixed by 1x1 convolutions, grown back."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.small = nn.Conv2d(c, c // 4, 1)
            self.body = nn.Sequential(nn.Conv2d(c, 2 * c, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1))
            self.up, self.n = nn.ConvTranspose2d(c, c, 4, 2, 1), nn.BatchNorm2d(c)

        def forward(self, x):
            y = self.small(x)
            a, b = y[:, :, ::2, ::2], y[:, :, 1::2, ::2]
            c, d = y[:, :, ::2, 1::2], y[:, :, 1::2, 1::2]
            y = torch.cat([a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d], 1) / 2
            return x + self.n(self.up(self.body(y)))

    def __init__(self, c=64):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, c // 2, 3, 2, 1), nn.Conv2d(c // 2, c, 3, 2, 1))
        self.blocks, self.end = nn.Sequential(*(self.Block(c) for _ in "abc")), nn.Linear(c, 10)

    def forward(self, x):
        return self.end(self.blocks(self.first(x)).mean((2, 3)))


model("spatial_transformer", {"x": (("batch=8", 1, 48, 48), None)})(Moved)
model("involution", image(112))(Involution)
model("octave", image(128), script=True)(Octave)
model("cbam", image(128))(Attended)
model("zero_dce", image(128, "batch=1"))(Curves)
model("video_matting", {"x": ((1, 3, 3, 96, 96), None)})(Matting)
model("e_net", image(160))(Efficient)
model("v_net", {"x": ((1, 1, 24, 24, 24), None)})(Volume)
model("siam_fc", {"z": ((1, 3, 95, 95), None), "x": ((1, 3, 191, 191), None)}, script=True)(Siamese)
model("pixel_cnn", {"x": (("batch=4", 1, 28, 28), None)})(Masked)
model("wave_mix", image(160), script=True)(Waves)
