"""Small networks of the eighth set of test/bench/UNSEEN.md, written after their papers or their
published code: images and videos."""

from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    layer = nn.Conv2d(i, o, k, s, k // 2, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


# ---- images
class Restormer(nn.Module):
    """Restormer: attention between channels, gated depthwise convolutions."""

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.t = heads, nn.Parameter(torch.rand(heads, 1, 1) + 0.5)
            self.n, self.m = nn.LayerNorm(c), nn.LayerNorm(c)
            two = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 1), nn.Conv2d(o, o, 3, 1, 1, groups=o))
            self.qkv, self.out = two(c, 3 * c), nn.Conv2d(c, c, 1)
            self.wide, self.back = two(c, 4 * c), nn.Conv2d(2 * c, c, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            along = lambda n, x: n(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            parts = self.qkv(along(self.n, x)).chunk(3, 1)
            q, k, v = (p.reshape(b, self.heads, -1, h * w) for p in parts)
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            a = (q @ k.transpose(-2, -1) * self.t).softmax(-1) @ v
            x = x + self.out(a.reshape(b, c, h, w))
            p, q = self.wide(along(self.m, x)).chunk(2, 1)
            return x + self.back(F.gelu(p) * q)

    def __init__(self, c=32):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, 3, 3, 1, 1)
        down = lambda c: nn.Sequential(nn.Conv2d(c, c // 2, 3, 1, 1), nn.PixelUnshuffle(2))
        up = lambda c: nn.Sequential(nn.Conv2d(c, 2 * c, 3, 1, 1), nn.PixelShuffle(2))
        self.a, self.b, self.d = self.Block(c, 1), self.Block(2 * c, 2), self.Block(c, 1)
        self.down, self.up, self.mix = down(c), up(2 * c), nn.Conv2d(2 * c, c, 1)

    def forward(self, x):
        a = self.a(self.first(x))
        b = self.up(self.b(self.down(a)))
        return x + self.last(self.d(self.mix(torch.cat([a, b], 1))))


class Edsr(nn.Module):
    """EDSR: plain residual blocks scaled by a tenth, two steps of pixel shuffle."""

    def __init__(self, c=64, blocks=6):
        super().__init__()
        one = lambda: nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), nn.ReLU(), nn.Conv2d(c, c, 3, 1, 1))
        up = lambda: nn.Sequential(nn.Conv2d(c, 4 * c, 3, 1, 1), nn.PixelShuffle(2))
        self.first, self.blocks = nn.Conv2d(3, c, 3, 1, 1), nn.ModuleList(
            one() for _ in range(blocks)
        )
        self.end = nn.Sequential(up(), up(), nn.Conv2d(c, 3, 3, 1, 1))

    def forward(self, x):
        x = y = self.first(x - 0.4)
        for block in self.blocks:
            y = y + 0.1 * block(y)
        return self.end(x + y) + 0.4


class Segment(nn.Module):
    """SegNet: maxima remember their places, by which maps grow again."""

    def __init__(self, widths=(32, 64, 128)):
        super().__init__()
        pairs = list(zip((3, *widths), widths))
        self.down = nn.ModuleList(nn.Sequential(conv(i, o), conv(o, o)) for i, o in pairs)
        self.up = nn.ModuleList(conv(o, i if i > 3 else o) for i, o in pairs[::-1])
        self.end = nn.Conv2d(widths[0], 12, 1)

    def forward(self, x):
        places = []
        for part in self.down:
            x, at = F.max_pool2d(part(x), 2, return_indices=True)
            places.append(at)
        for part in self.up:
            x = part(F.max_unpool2d(x, places.pop(), 2))
        return self.end(x)


class Pyramid(nn.Module):
    """PSPNet: means over grids of four sizes beside the map."""

    def __init__(self, c=256):
        super().__init__()
        self.body = nn.Sequential(conv(3, 64, 3, 2), conv(64, 128, 3, 2), conv(128, c, 3, 2))
        self.grids = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(n), conv(c, c // 4, 1)) for n in (1, 2, 3, 6)
        )
        self.end = nn.Sequential(conv(2 * c, 128), nn.Conv2d(128, 21, 1))

    def forward(self, x):
        y = self.body(x)
        size = y.shape[2:]
        grow = lambda z: F.interpolate(z, size, mode="bilinear", align_corners=False)
        y = self.end(torch.cat([y, *(grow(grid(y)) for grid in self.grids)], 1))
        return F.interpolate(y, x.shape[2:], mode="bilinear", align_corners=True)


class Hard(nn.Module):
    """HarDNet: a layer sees those at distances of powers of two."""

    def __init__(self, c=48, growth=24, layers=8):
        super().__init__()
        self.first = nn.Sequential(conv(3, 24, 3, 2), conv(24, c), nn.MaxPool2d(2))
        widths, self.links, parts = [c], [], []
        for k in range(1, layers + 1):
            links = [k - 2**p for p in range(4) if k % 2**p == 0]
            width = int(growth * 1.7 ** (len(links) - 1)) // 2 * 2
            parts.append(conv(sum(widths[i] for i in links), width))
            self.links.append(links)
            widths.append(width)
        kept = sum(w for k, w in enumerate(widths) if k == layers or k % 2)
        self.parts, self.end = nn.ModuleList(parts), nn.Linear(kept, 100)

    def forward(self, x):
        maps = [self.first(x)]
        for links, part in zip(self.links, self.parts):
            maps.append(part(torch.cat([maps[i] for i in links], 1)))
        kept = [m for k, m in enumerate(maps) if k == len(maps) - 1 or k % 2]
        return self.end(torch.cat(kept, 1).mean((2, 3)))


class Spade(nn.Module):
    """SPADE: norms whose factors and shifts are convolutions of a map of kinds."""

    class Norm(nn.Module):
        def __init__(self, c, kinds):
            super().__init__()
            self.shared = nn.Sequential(nn.Conv2d(kinds, 64, 3, 1, 1), nn.ReLU())
            self.g, self.b = nn.Conv2d(64, c, 3, 1, 1), nn.Conv2d(64, c, 3, 1, 1)
            self.n, self.conv = nn.InstanceNorm2d(c), nn.Conv2d(c, c // 2, 3, 1, 1)

        def forward(self, x, kinds):
            s = self.shared(F.interpolate(kinds, x.shape[2:], mode="nearest"))
            return self.conv(F.leaky_relu(self.n(x) * (1 + self.g(s)) + self.b(s), 0.2))

    def __init__(self, kinds=16):
        super().__init__()
        self.first = nn.Conv2d(kinds, 256, 3, 1, 1)
        self.parts = nn.ModuleList(self.Norm(c, kinds) for c in (256, 128, 64))
        self.end = nn.Conv2d(32, 3, 3, 1, 1)

    def forward(self, kinds):
        x = self.first(F.interpolate(kinds, (8, 8), mode="nearest"))
        for part in self.parts:
            x = F.interpolate(part(x, kinds), scale_factor=2, mode="nearest")
        return self.end(F.leaky_relu(x, 0.2)).tanh()


class Fcos(nn.Module):
    """FCOS: two towers with group norms, shared by three maps."""

    def __init__(self, c=64, kinds=20):
        super().__init__()
        one = lambda: [nn.Conv2d(c, c, 3, 1, 1), nn.GroupNorm(16, c), nn.ReLU()]
        self.body = nn.ModuleList([conv(3, c, 7, 4), conv(c, c, 3, 2), conv(c, c, 3, 2)])
        self.a, self.b = nn.Sequential(*one(), *one()), nn.Sequential(*one(), *one())
        self.kinds, self.box = nn.Conv2d(c, kinds, 3, 1, 1), nn.Conv2d(c, 4, 3, 1, 1)
        self.centre, self.scales = nn.Conv2d(c, 1, 3, 1, 1), nn.Parameter(torch.rand(3) + 0.5)

    def forward(self, x):
        rows = []
        for k, part in enumerate(self.body):
            x = part(x)
            a, b = self.a(x), self.b(x)
            box = (self.scales[k] * self.box(b)).relu() * 2 ** (k + 2)
            score = (self.kinds(a).sigmoid() * self.centre(b).sigmoid()).sqrt()
            rows.append(torch.cat([score, box], 1).flatten(2))
        return torch.cat(rows, 2).transpose(1, 2)


class Pwc(nn.Module):
    """PWC-Net: maps moved by a flow, products with neighbours at distances up to three."""

    def __init__(self, c=32, d=3):
        super().__init__()
        self.d, n = d, (2 * d + 1) ** 2
        lrelu = lambda: nn.LeakyReLU(0.1)
        self.body = nn.Sequential(conv(3, 16, 3, 2, lrelu), conv(16, c, 3, 2, lrelu))
        self.first = nn.Sequential(conv(n + c, 64, act=lrelu), nn.Conv2d(64, 2, 3, 1, 1))
        self.then = nn.Sequential(conv(n + c + 2, 64, act=lrelu), nn.Conv2d(64, 2, 3, 1, 1))

    def costs(self, a, b):
        h, w = a.shape[2:]
        b, n = F.pad(b, (self.d,) * 4), 2 * self.d + 1
        moved = [b[:, :, i : i + h, j : j + w] for i in range(n) for j in range(n)]
        return F.leaky_relu(torch.cat([(a * m).mean(1, keepdim=True) for m in moved], 1), 0.1)

    def forward(self, a, b):
        a, b = self.body(a), self.body(b)
        flow = self.first(torch.cat([self.costs(a, b), a], 1))
        h, w = a.shape[2:]
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        at = torch.stack([x, y]).float()[None] + flow
        scale = torch.tensor([2 / (w - 1), 2 / (h - 1)]).view(1, 2, 1, 1)
        moved = F.grid_sample(b, (at * scale - 1).permute(0, 2, 3, 1), align_corners=True)
        return flow + self.then(torch.cat([self.costs(a, moved), a, flow], 1))


class Stereo(nn.Module):
    """A small PSMNet: a volume of pairs at each disparity, 3-D convolutions, a soft argmin."""

    def __init__(self, c=16, d=12):
        super().__init__()
        self.d, self.body = d, nn.Sequential(conv(3, c, 3, 2), conv(c, c, 3, 2), conv(c, c))
        one = lambda i, o: nn.Sequential(
            nn.Conv3d(i, o, 3, 1, 1, bias=False), nn.BatchNorm3d(o), nn.ReLU()
        )
        self.volume = nn.Sequential(one(2 * c, c), one(c, c), nn.Conv3d(c, 1, 3, 1, 1))

    def forward(self, a, b):
        a, b = self.body(a), self.body(b)
        w = a.shape[3]
        rows = [torch.cat([a, F.pad(b, (k, 0, 0, 0))[..., :w]], 1) for k in range(self.d)]
        p = (-self.volume(torch.stack(rows, 2)).squeeze(1)).softmax(1)
        far = (p * torch.arange(self.d).float().view(1, -1, 1, 1)).sum(1, keepdim=True)
        return F.interpolate(far, scale_factor=4, mode="bilinear", align_corners=False)


class Shifted(nn.Module):
    """TSM: an eighth of the channels comes from the frame before, an eighth from the next."""

    def __init__(self, c=64, frames=8):
        super().__init__()
        self.frames, self.first = frames, nn.Sequential(conv(3, c, 7, 4), nn.MaxPool2d(2))
        self.parts = nn.ModuleList(nn.Sequential(conv(c, c), conv(c, c)) for _ in range(3))
        self.end = nn.Linear(c, 50)

    def shift(self, x):
        x = x.view(-1, self.frames, *x.shape[1:])
        n = x.shape[2] // 8
        a = F.pad(x[:, 1:, :n], (0, 0, 0, 0, 0, 0, 0, 1))
        b = F.pad(x[:, :-1, n : 2 * n], (0, 0, 0, 0, 0, 0, 1, 0))
        return torch.cat([a, b, x[:, :, 2 * n :]], 2).flatten(0, 1)

    def forward(self, x):
        x = self.first(x)
        for part in self.parts:
            x = (x + part(self.shift(x))).relu()
        return self.end(x.mean((2, 3))).view(-1, self.frames, 50).mean(1)


PAIR = ((1, 3, 128, 192), None)
model("restormer", image(64))(Restormer)
model("edsr_x4", image(48, "batch=1"))(Edsr)
model("seg_net", image(96))(Segment)
model("psp_net", image(192), script=True)(Pyramid)
model("hard_net", image(128))(Hard)
model("spade", image(64, channels=16))(Spade)
model("fcos_head", image(192), script=True)(Fcos)
model("pwc_net", {"a": PAIR, "b": PAIR})(Pwc)
model("stereo_volume", {"a": PAIR, "b": PAIR})(Stereo)
model("tsm", image(112, 8), script=True)(Shifted)
