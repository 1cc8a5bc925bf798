"""Small networks of the twentieth set of test/bench/UNSEEN.md, written after their papers: image
segmentation and object detection, which unseen_twentieth_quantized.py writes in 8 bits."""

from zoo import SOURCES, image, model, nn, torch
from unseen_sixteenth_rest import conv

SOURCES.append(__file__)
F = nn.functional


class TopFormer(nn.Module):
    """TopFormer: image segmentation: a light pyramid, attention over all its levels at the smallest
    size, whose result is put back into each by a gate."""

    class Inverted(nn.Module):
        def __init__(self, i, o, s, size, times):
            super().__init__()
            c = i * times
            parts = [conv(i, c, 1, act=nn.ReLU6)] if times > 1 else []
            parts += [conv(c, c, size, s, nn.ReLU6, groups=c), conv(c, o, 1, act=None)]
            self.inner, self.kept = nn.Sequential(*parts), s == 1 and i == o

        def forward(self, x):
            return x + self.inner(x) if self.kept else self.inner(x)

    class Block(nn.Module):
        def __init__(self, c, heads=8, key=16, times=2):
            super().__init__()
            self.heads, self.key, d = heads, key, 2 * key
            self.q, self.k = conv(c, heads * key, 1, act=None), conv(c, heads * key, 1, act=None)
            self.v, self.o = conv(c, heads * d, 1, act=None), conv(heads * d, c, 1, act=None)
            self.ends = nn.Sequential(
                conv(c, times * c, 1, act=None),
                nn.Conv2d(times * c, times * c, 3, 1, 1, groups=times * c),
                nn.ReLU6(),
                conv(times * c, c, 1, act=None),
            )

        def forward(self, x):
            n, _, high, wide = x.shape
            part = lambda y: y.reshape(n, self.heads, -1, high * wide)
            q, k, v = part(self.q(x)).transpose(2, 3), part(self.k(x)), part(self.v(x))
            a = (q @ k).softmax(-1) @ v.transpose(2, 3)
            x = x + self.o(F.relu6(a.transpose(2, 3).reshape(n, -1, high, wide)))
            return x + self.ends(x)

    def __init__(self, kinds=150, blocks=4, c=256):
        super().__init__()
        m = self.Inverted
        self.first = conv(3, 16, 3, 2, nn.ReLU6)
        self.stages = nn.ModuleList(
            [
                nn.Sequential(m(16, 16, 1, 3, 1), m(16, 32, 2, 3, 4), m(32, 32, 1, 3, 3)),
                nn.Sequential(m(32, 64, 2, 5, 3), m(64, 64, 1, 5, 3)),
                nn.Sequential(m(64, 128, 2, 3, 3), m(128, 128, 1, 3, 3)),
                nn.Sequential(m(128, 160, 2, 5, 6), m(160, 160, 1, 5, 6), m(160, 160, 1, 3, 6)),
            ]
        )
        widths = (32, 64, 128, 160)
        self.blocks, self.widths = (
            nn.Sequential(*(self.Block(sum(widths)) for _ in range(blocks))),
            widths,
        )
        layer = lambda w: conv(w, c, 1, act=None)
        self.local = nn.ModuleList(map(layer, widths[1:]))
        self.whole = nn.ModuleList(map(layer, widths[1:]))
        self.gate = nn.ModuleList(map(layer, widths[1:]))
        self.last = nn.Sequential(conv(c, c, 1), nn.Conv2d(c, kinds, 1))

    def forward(self, x):
        x, levels = self.first(x), []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        small = [F.adaptive_avg_pool2d(y, 4) for y in levels]
        whole = self.blocks(torch.cat(small, 1)).split(self.widths, 1)[1:]
        size = lambda y, like: F.interpolate(
            y, like.shape[2:], mode="bilinear", align_corners=False
        )
        out = []
        for k, (level, seen) in enumerate(zip(levels[1:], whole)):
            gate = size(F.relu6(self.gate[k](seen) + 3) / 6, level)
            out.append(self.local[k](level) * gate + size(self.whole[k](seen), level))
        out = out[0] + size(out[1], out[0]) + size(out[2], out[0])
        return self.last(out)


class Pelee(nn.Module):
    """PeleeNet with SSD's heads: dense layers of two kernel sizes, boxes and classes at several
    resolutions."""

    class Dense(nn.Module):
        def __init__(self, i, grow=32, wide=2):
            super().__init__()
            c, g = grow * wide // 2, grow // 2
            self.a = nn.Sequential(conv(i, c, 1), conv(c, g))
            self.b = nn.Sequential(conv(i, c, 1), conv(c, g), conv(g, g))

        def forward(self, x):
            return torch.cat((x, self.a(x), self.b(x)), 1)

    class Residual(nn.Module):
        def __init__(self, i):
            super().__init__()
            self.side = conv(i, 256, 1, act=None)
            self.inner = nn.Sequential(conv(i, 128, 1), conv(128, 128), conv(128, 256, 1, act=None))

        def forward(self, x):
            return F.relu(self.side(x) + self.inner(x))

    def __init__(self, kinds=21, layers=(3, 4, 8, 6), boxes=6):
        super().__init__()
        self.first = conv(3, 32, 3, 2)
        self.left = nn.Sequential(conv(32, 16, 1), conv(16, 32, 3, 2))
        self.enter, c, self.stages = conv(64, 32, 1), 32, nn.ModuleList()
        for k, (count, wide) in enumerate(zip(layers, (1, 2, 4, 4))):
            parts = []
            for _ in range(count):
                parts.append(self.Dense(c, 32, wide))
                c += 32
            self.stages.append(nn.Sequential(*parts, conv(c, c, 1)))
        self.more = nn.ModuleList(
            nn.Sequential(conv(i, 128, 1), conv(128, 256, 3, 2)) for i in (704, 256)
        )
        self.heads = nn.ModuleList(self.Residual(i) for i in (512, 704, 256, 256))
        self.where = nn.ModuleList(nn.Conv2d(256, 4 * boxes, 1) for _ in range(4))
        self.what = nn.ModuleList(nn.Conv2d(256, kinds * boxes, 1) for _ in range(4))
        self.kinds = kinds

    def forward(self, x):
        x = self.first(x)
        x = self.enter(torch.cat((self.left(x), F.max_pool2d(x, 2)), 1))
        kept = []
        for k, stage in enumerate(self.stages):
            x = stage(x)
            kept.append(x)
            if k < 3:
                x = F.avg_pool2d(x, 2)
        levels = kept[2:]
        for layer in self.more:
            levels.append(layer(levels[-1]))
        where, what = [], []
        flat = lambda y, c: y.permute(0, 2, 3, 1).reshape(y.shape[0], -1, c)
        for x, head, a, b in zip(levels, self.heads, self.where, self.what):
            x = head(x)
            where.append(flat(a(x), 4))
            what.append(flat(b(x), self.kinds))
        return torch.cat(where, 1), torch.cat(what, 1).softmax(-1)


model("top_former", image(384), script=True, opset=14)(TopFormer)
model("pelee", image(256), script=True, opset=13)(Pelee)
