"""The fifth set of models of test/bench/UNSEEN.md: detection and segmentation; the other files of
this name have faces, text in images and super-resolution, sound and language, tables, series and
the rest. unseen.py writes them. Each class here is a small form of what its paper or its published
code describes."""

from zoo import SOURCES, image, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


def conv(i, o, k=3, s=1, act=nn.SiLU, groups=1, norm=True):
    layers = [nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=not norm)]
    layers += [nn.BatchNorm2d(o)] if norm else []
    return nn.Sequential(*layers, *([act()] if act else []))


def deep(i, o, k=3, s=1, act=nn.SiLU):
    return nn.Sequential(conv(i, i, k, s, act, groups=i), conv(i, o, 1, 1, act))


def up(x, scale=2.0, mode="nearest"):
    corners = {} if mode == "nearest" else {"align_corners": False}
    return F.interpolate(x, scale_factor=scale, mode=mode, **corners)


def like(x, y, **more):
    return F.interpolate(x, size=y.shape[2:], mode="bilinear", **more)


class Boxes(nn.Module):
    """Distances to four sides, each the mean of a distribution over `bins`."""

    def __init__(self, bins=16):
        super().__init__()
        self.bins = bins
        self.register_buffer("places", torch.arange(bins).float().view(1, bins, 1, 1))

    def forward(self, x, stride):
        b, _, h, w = x.shape
        x = x.view(b, 4, self.bins, h * w).transpose(2, 1).softmax(1)
        sides = F.conv2d(x, self.places.view(1, self.bins, 1, 1))[:, 0]
        ys, xs = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        grid = torch.stack((xs, ys)).view(1, 2, h * w)
        near, far = sides.chunk(2, 1)
        near, far = grid - near, grid + far
        return torch.cat([(near + far) / 2, far - near], 1) * stride


class Yolo11(nn.Module):
    """C3k2 stages, spatial pooling, attention with a depthwise positional term, a pyramid, heads
    whose classes go through depthwise convolutions."""

    class Bottle(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = conv(c, c // 2), conv(c // 2, c)

        def forward(self, x):
            return x + self.b(self.a(x))

    class C3k2(nn.Module):
        def __init__(self, i, o, n=1):
            super().__init__()
            self.first, self.last = conv(i, o, 1), conv((2 + n) * (o // 2), o, 1)
            self.inner = nn.ModuleList(Yolo11.Bottle(o // 2) for _ in range(n))

        def forward(self, x):
            y = list(self.first(x).chunk(2, 1))
            for part in self.inner:
                y.append(part(y[-1]))
            return self.last(torch.cat(y, 1))

    class Sppf(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = conv(c, c // 2, 1), conv(2 * c, c, 1)

        def forward(self, x):
            y = [self.a(x)]
            for _ in range(3):
                y.append(F.max_pool2d(y[-1], 5, 1, 2))
            return self.b(torch.cat(y, 1))

    class Look(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.d, self.k = heads, c // heads, c // heads // 2
            self.qkv = conv(c, c + 2 * self.k * heads, 1, act=None)
            self.out, self.place = conv(c, c, 1, act=None), conv(c, c, 3, act=None, groups=c)
            self.ff = nn.Sequential(conv(c, 2 * c, 1), conv(2 * c, c, 1, act=None))

        def forward(self, x):
            b, c, h, w = x.shape
            parts = self.qkv(x).view(b, self.heads, 2 * self.k + self.d, h * w)
            q, k, v = parts.split([self.k, self.k, self.d], 2)
            a = (q.transpose(-2, -1) @ k * self.k**-0.5).softmax(-1)
            y = (v @ a.transpose(-2, -1)).view(b, c, h, w)
            x = x + self.out(y + self.place(v.reshape(b, c, h, w)))
            return x + self.ff(x)

    def __init__(self, w=16, classes=80):
        super().__init__()
        c = self.C3k2
        self.body = nn.ModuleList(
            nn.Sequential(*layers)
            for layers in (
                (conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), c(2 * w, 4 * w), conv(4 * w, 4 * w, 3, 2)),
                (c(4 * w, 8 * w),),
                (conv(8 * w, 8 * w, 3, 2), c(8 * w, 8 * w)),
                (conv(8 * w, 16 * w, 3, 2), c(16 * w, 16 * w), self.Sppf(16 * w)),
            )
        )
        self.a, self.b = conv(16 * w, 16 * w, 1), conv(16 * w, 16 * w, 1)
        self.look = self.Look(8 * w, 2)
        self.n4, self.n3 = c(24 * w, 8 * w), c(16 * w, 4 * w)
        self.d4, self.d5 = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        self.p4, self.p5 = c(12 * w, 8 * w), c(24 * w, 16 * w)
        levels = (4 * w, 8 * w, 16 * w)
        box = lambda i: nn.Sequential(conv(i, 64), conv(64, 64), nn.Conv2d(64, 64, 1))
        kind = lambda i: nn.Sequential(deep(i, 64), deep(64, 64), nn.Conv2d(64, classes, 1))
        self.boxes, self.kinds = nn.ModuleList(map(box, levels)), nn.ModuleList(map(kind, levels))
        self.decode = Boxes()

    def forward(self, x):
        kept = []
        for part in self.body:
            x = part(x)
            kept.append(x)
        a, b = self.a(x).chunk(2, 1)
        x5 = self.b(torch.cat([a, self.look(b)], 1))
        x4 = self.n4(torch.cat([up(x5), kept[2]], 1))
        x3 = self.n3(torch.cat([up(x4), kept[1]], 1))
        x4 = self.p4(torch.cat([self.d4(x3), x4], 1))
        x5 = self.p5(torch.cat([self.d5(x4), x5], 1))
        out = []
        for x, box, kind, s in zip((x3, x4, x5), self.boxes, self.kinds, (8.0, 16.0, 32.0)):
            out.append(torch.cat([self.decode(box(x), s), kind(x).flatten(2).sigmoid()], 1))
        return torch.cat(out, 2)


model("yolo11_n", image(256), script=True)(Yolo11)


class Gelan(nn.Module):
    """YOLOv9: branches of re-parameterized convolutions kept and joined; downsampling by the halves
    of the channels, one by average and convolution, one by maximum and convolution."""

    class Rep(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = conv(c, c, 3, act=None), conv(c, c, 1, act=None)
            self.last = conv(c, c)

        def forward(self, x):
            return x + self.last(F.silu(self.a(x) + self.b(x)))

    class Csp(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.a, self.b, self.end = conv(i, o // 2, 1), conv(i, o // 2, 1), conv(o, o, 1)
            self.inner = Gelan.Rep(o // 2)

        def forward(self, x):
            return self.end(torch.cat([self.inner(self.a(x)), self.b(x)], 1))

    class Elan(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            c = o // 2
            self.first, self.last = conv(i, c, 1), conv(c + 2 * (c // 2), o, 1)
            self.a = nn.Sequential(Gelan.Csp(c // 2, c // 2), conv(c // 2, c // 2))
            self.b = nn.Sequential(Gelan.Csp(c // 2, c // 2), conv(c // 2, c // 2))

        def forward(self, x):
            y = list(self.first(x).chunk(2, 1))
            y.append(self.a(y[-1]))
            y.append(self.b(y[-1]))
            return self.last(torch.cat(y, 1))

    class Down(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.a, self.b = conv(i // 2, o // 2, 3, 2), conv(i // 2, o // 2, 1)

        def forward(self, x):
            a, b = F.avg_pool2d(x, 2, 1, 0, False, True).chunk(2, 1)
            return torch.cat([self.a(a), self.b(F.max_pool2d(b, 3, 2, 1))], 1)

    def __init__(self, w=32, classes=80):
        super().__init__()
        e, d = self.Elan, self.Down
        self.first = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), e(2 * w, 4 * w))
        self.second = nn.Sequential(d(4 * w, 4 * w), e(4 * w, 4 * w))
        self.third = nn.Sequential(d(4 * w, 4 * w), e(4 * w, 4 * w))
        self.fourth, self.join = conv(4 * w, 4 * w, 1), e(8 * w, 4 * w)
        self.box = nn.ModuleList(nn.Sequential(conv(4 * w, 64), nn.Conv2d(64, 64, 1)) for _ in "ab")
        self.kind = nn.ModuleList(nn.Conv2d(4 * w, classes, 1) for _ in "ab")
        self.decode = Boxes()

    def forward(self, x):
        a = self.second(self.first(x))
        b = self.fourth(self.third(a))
        a, out = self.join(torch.cat([up(b), a], 1)), []
        for x, box, kind, s in zip((a, b), self.box, self.kind, (8.0, 16.0)):
            out.append(torch.cat([self.decode(box(x), s), kind(x).flatten(2).sigmoid()], 1))
        return torch.cat(out, 2)


model("yolov9_t", image(192))(Gelan)


class RtmDet(nn.Module):
    """CSPNeXt: bottlenecks of 3x3 and depthwise 5x5, channels weighed by a hard sigmoid."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = conv(c, c), deep(c, c, 5)

        def forward(self, x):
            return x + self.b(self.a(x))

    class Csp(nn.Module):
        def __init__(self, i, o, n=1):
            super().__init__()
            self.a, self.b, self.end = conv(i, o // 2, 1), conv(i, o // 2, 1), conv(o, o, 1)
            self.inner = nn.Sequential(*(RtmDet.Block(o // 2) for _ in range(n)))
            self.weigh = nn.Conv2d(o, o, 1)

        def forward(self, x):
            y = torch.cat([self.inner(self.a(x)), self.b(x)], 1)
            return self.end(y * F.hardsigmoid(self.weigh(F.adaptive_avg_pool2d(y, 1))))

    def __init__(self, w=24, classes=80):
        super().__init__()
        stem = conv(3, w // 2, 3, 2), conv(w // 2, w // 2), conv(w // 2, w)
        sizes = [w, 2 * w, 4 * w, 8 * w]
        self.stem = nn.Sequential(*stem)
        pairs = zip(sizes, sizes[1:])
        self.body = nn.ModuleList(
            nn.Sequential(conv(i, o, 3, 2), self.Csp(i=o, o=o)) for i, o in pairs
        )
        self.last = nn.Sequential(conv(8 * w, 16 * w, 3, 2), self.Csp(16 * w, 16 * w))
        self.low, self.mid = conv(16 * w, 8 * w, 1), self.Csp(16 * w, 8 * w)
        self.side = nn.ModuleList(conv(c, 4 * w, 1) for c in (8 * w, 16 * w))
        two = lambda: nn.Sequential(conv(4 * w, 4 * w), conv(4 * w, 4 * w))
        self.kinds, self.boxes = two(), two()  # shared by the levels
        self.kind = nn.ModuleList(nn.Conv2d(4 * w, classes, 1) for _ in "ab")
        self.box = nn.ModuleList(nn.Conv2d(4 * w, 4, 1) for _ in "ab")

    def forward(self, x):
        x = self.stem(x)
        for part in self.body:
            x = part(x)
        y = self.last(x)
        x = self.mid(torch.cat([up(self.low(y)), x], 1))
        out = []
        for k, (x, stride) in enumerate(((x, 16.0), (y, 32.0))):
            x = self.side[k](x)
            kinds, boxes = self.kind[k](self.kinds(x)).sigmoid(), self.box[k](self.boxes(x)).exp()
            out.append(torch.cat([boxes * stride, kinds], 1).flatten(2).permute(0, 2, 1))
        return torch.cat(out, 1)


model("rtmdet_tiny", image(224))(RtmDet)


class NanoDet(nn.Module):
    """ShuffleNet units, a pyramid of depthwise 5x5 with bilinear maps, boxes by distributions."""

    class Unit(nn.Module):
        def __init__(self, c, s=1):
            super().__init__()
            act, h = lambda: nn.LeakyReLU(0.1), c // 2
            self.s, i = s, c if s > 1 else h
            self.side = (
                nn.Sequential(conv(i, i, 3, s, None, i), conv(i, h, 1, 1, act)) if s > 1 else None
            )
            self.body = nn.Sequential(
                conv(i, h, 1, 1, act), conv(h, h, 3, s, None, h), conv(h, h, 1, 1, act)
            )

        def forward(self, x):
            a, b = (self.side(x), x) if self.side is not None else x.chunk(2, 1)
            y = torch.cat([a, self.body(b)], 1)
            n, c, h, w = y.shape
            return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)

    def __init__(self, w=96, classes=20, bins=8):
        super().__init__()
        act = lambda: nn.LeakyReLU(0.1)
        self.stem = nn.Sequential(
            conv(3, 24, 3, 2, act), nn.MaxPool2d(3, 2, 1), conv(24, 116, 1, 1, act)
        )
        stage = lambda n: nn.Sequential(self.Unit(116, 2), *(self.Unit(116) for _ in range(n)))
        self.body = nn.ModuleList(stage(n) for n in (3, 5, 3))
        self.side = nn.ModuleList(conv(116, w, 1, 1, act) for _ in "abc")
        self.down_path = nn.ModuleList(deep(2 * w, w, 5, 1, act) for _ in "ab")
        self.heads = nn.ModuleList(
            nn.Sequential(
                deep(w, w, 5, 1, act), deep(w, w, 5, 1, act), nn.Conv2d(w, classes + 4 * bins, 1)
            )
            for _ in "abc"
        )
        self.bins = bins
        self.register_buffer("steps", torch.arange(bins).float())

    def forward(self, x):
        x, kept = self.stem(x), []
        for part, side in zip(self.body, self.side):
            x = part(x)
            kept.append(side(x))
        a, b, c = kept
        b = self.down_path[0](torch.cat([up(c, mode="bilinear"), b], 1))
        a = self.down_path[1](torch.cat([up(b, mode="bilinear"), a], 1))
        out = torch.cat([head(x).flatten(2) for head, x in zip(self.heads, (a, b, c))], 2)
        out = out.permute(0, 2, 1)
        kinds, sides = out[..., : -4 * self.bins].sigmoid(), out[..., -4 * self.bins :]
        sides = sides.reshape(1, -1, 4, self.bins).softmax(-1) @ self.steps
        return torch.cat([kinds, sides], 2)


model("nanodet_plus", image(320), script=True)(NanoDet)


@model("ssdlite_mobilenet_v3", image(320))
def ssdlite():
    import torchvision

    inner = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=21
    )

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = inner.backbone, inner.head

        def forward(self, x):
            out = self.head(list(self.body(x).values()))
            return torch.cat([out["bbox_regression"], out["cls_logits"].softmax(-1)], 2)

    return Heads()


class BiSeNet(nn.Module):
    """BiSeNetV2: a wide path, a deep one of gather-and-expansion, each weighed by the other."""

    class Expand(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            act, m = nn.ReLU, 6 * i
            layers = [conv(i, i, 3, 1, act)]
            layers += [conv(i, m, 3, s, None, i)] + ([conv(m, m, 3, 1, None, m)] if s > 1 else [])
            self.body = nn.Sequential(*layers, conv(m, o, 1, 1, None))
            self.side = (
                nn.Sequential(conv(i, i, 3, s, None, i), conv(i, o, 1, 1, None)) if s > 1 else None
            )

        def forward(self, x):
            return F.relu(self.body(x) + (self.side(x) if self.side is not None else x))

    def __init__(self, classes=19):
        super().__init__()
        act = nn.ReLU
        wide = (3, 32, 2), (32, 32, 1), (32, 32, 2), (32, 64, 1), (64, 64, 2), (64, 64, 1)
        self.wide = nn.Sequential(*(conv(i, o, 3, s, act) for i, o, s in wide))
        self.s1 = conv(3, 16, 3, 2, act)
        self.s2 = nn.Sequential(conv(16, 8, 1, 1, act), conv(8, 16, 3, 2, act))
        self.s3 = conv(32, 16, 3, 1, act)
        e = self.Expand
        self.rest = nn.Sequential(
            e(16, 32, 2), e(32, 32), e(32, 64, 2), e(64, 64), e(64, 64, 2), e(64, 64)
        )
        self.all, self.end = conv(64, 64, 1, 1, act), conv(64, 64, 3, 1, act)
        self.norm = nn.BatchNorm2d(64)
        self.keep = nn.Sequential(conv(64, 64, 3, 1, None, 64), nn.Conv2d(64, 64, 1, bias=False))
        self.shrink = nn.Sequential(conv(64, 64, 3, 2, None), nn.AvgPool2d(3, 2, 1))
        self.grow = conv(64, 64, 3, 1, None)
        self.same = nn.Sequential(conv(64, 64, 3, 1, None, 64), nn.Conv2d(64, 64, 1, bias=False))
        self.join = conv(64, 64, 3, 1, None)
        self.head = nn.Sequential(conv(64, 256, 3, 1, act), nn.Conv2d(256, classes, 1))

    def forward(self, x):
        w, s = self.wide(x), self.s1(x)
        s = self.s3(torch.cat([self.s2(s), F.max_pool2d(s, 3, 2, 1)], 1))
        s = self.rest(s)
        s = self.end(s + self.all(self.norm(s.mean((2, 3), keepdim=True))))
        left = self.keep(w) * up(self.grow(s), 4.0, "bilinear").sigmoid()
        right = up(self.shrink(w) * self.same(s).sigmoid(), 4.0, "bilinear")
        return up(self.head(self.join(left + right)), 8.0, "bilinear").argmax(1)


model("bisenet_v2", image(192), script=True, unordered=True)(BiSeNet)


class PidNet(nn.Module):
    """Two paths that exchange maps, context from averages of 5, 9, 17 and all, a path of edges that
    decides between both."""

    class Block(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            self.a, self.b = conv(i, o, 3, s, nn.ReLU), conv(o, o, 3, 1, None)
            self.side = conv(i, o, 1, s, None) if s > 1 or i != o else nn.Identity()

        def forward(self, x):
            return F.relu(self.b(self.a(x)) + self.side(x))

    class Context(nn.Module):
        def __init__(self, i, m, o):
            super().__init__()
            unit = lambda i, o, k=1: nn.Sequential(
                nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, o, k, padding=k // 2, bias=False)
            )
            self.one = nn.ModuleList(unit(i, m) for _ in range(5))
            self.all = nn.Sequential(
                nn.BatchNorm2d(4 * m),
                nn.ReLU(),
                nn.Conv2d(4 * m, 4 * m, 3, 1, 1, groups=4, bias=False),
            )
            self.end, self.side = unit(5 * m, o), unit(i, o)

        def forward(self, x):
            first, maps = self.one[0](x), []
            for k, s, part in ((5, 2, self.one[1]), (9, 4, self.one[2]), (17, 8, self.one[3])):
                y = part(F.avg_pool2d(x, k, s, k // 2))
                maps.append(like(y, x, align_corners=False) + first)
            y = self.one[4](F.adaptive_avg_pool2d(x, 1))
            maps.append(like(y, x, align_corners=False) + first)
            y = self.all(torch.cat(maps, 1))
            return self.end(torch.cat([first, y], 1)) + self.side(x)

    def __init__(self, w=32, classes=19):
        super().__init__()
        b, act = self.Block, nn.ReLU
        self.stem = nn.Sequential(conv(3, w, 3, 2, act), conv(w, w, 3, 2, act), b(w, w), b(w, w))
        self.i3, self.i4, self.i5 = b(w, 2 * w, 2), b(2 * w, 4 * w, 2), b(4 * w, 8 * w, 2)
        self.second = b(w, 2 * w, 2)
        self.p3, self.p4, self.p5 = (b(2 * w, 2 * w) for _ in "abc")
        self.d3, self.d4, self.d5 = b(2 * w, w), b(w, 2 * w), b(2 * w, 4 * w)
        self.c3, self.c4 = conv(4 * w, 2 * w, 1, 1, None), conv(8 * w, 2 * w, 1, 1, None)
        self.e3 = conv(4 * w, w, 3, 1, None)
        self.e4 = conv(8 * w, 2 * w, 3, 1, None)
        self.look = nn.ModuleList(conv(2 * w, w, 1, 1, None) for _ in "pi")
        self.context = self.Context(8 * w, 48, 4 * w)
        self.wide = conv(2 * w, 4 * w, 1, 1, act)
        self.end = nn.Sequential(conv(4 * w, 4 * w, 3, 1, act), nn.Conv2d(4 * w, classes, 1))

    def forward(self, x):
        x = self.second(self.stem(x))
        i = self.i4(x)
        c = self.c3(i)
        p = self.p3(x)
        weight = (self.look[0](p) * self.look[1](like(c, p, align_corners=False))).sum(1, True)
        weight = weight.sigmoid()
        p = weight * like(c, p, align_corners=False) + (1 - weight) * p
        d = self.d3(x) + like(self.e3(i), p, align_corners=False)
        i = self.i5(F.relu(i))
        p = self.p4(F.relu(p)) + like(self.c4(i), p, align_corners=False)
        d = self.d4(F.relu(d)) + like(self.e4(i), p, align_corners=False)
        p, d = self.wide(self.p5(F.relu(p))), self.d5(F.relu(d)).sigmoid()
        i = like(self.context(i), p, align_corners=False)
        return up(self.end(d * p + (1 - d) * i), 8.0, "bilinear")


model("pidnet_s", image(224))(PidNet)


class UNetPlus(nn.Module):
    """U-Net++: every level sees all maps of its own size and a larger one from below."""

    def __init__(self, widths=(16, 32, 64, 128), out=1):
        super().__init__()
        two = lambda i, o: nn.Sequential(conv(i, o, 3, 1, nn.ReLU), conv(o, o, 3, 1, nn.ReLU))
        n = len(widths)
        self.down = nn.ModuleList(two(i, o) for i, o in zip((3,) + widths, widths))
        self.cells = nn.ModuleDict()
        for j in range(1, n):
            for i in range(n - j):
                self.cells[f"{i}_{j}"] = two(j * widths[i] + widths[i + 1], widths[i])
        self.ends = nn.ModuleList(nn.Conv2d(widths[0], out, 1) for _ in range(n - 1))
        self.n = n

    def forward(self, x):
        rows = []
        for k, part in enumerate(self.down):
            x = part(x if k == 0 else F.max_pool2d(x, 2))
            rows.append([x])
        for j in range(1, self.n):
            for i in range(self.n - j):
                above = F.interpolate(
                    rows[i + 1][j - 1], scale_factor=2, mode="bilinear", align_corners=True
                )
                rows[i].append(self.cells[f"{i}_{j}"](torch.cat(rows[i] + [above], 1)))
        return sum(end(y) for end, y in zip(self.ends, rows[0][1:])) / len(self.ends)


model("unet_plus_plus", image(96))(UNetPlus)
