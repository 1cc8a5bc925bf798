"""Further image models: see unseen_fifth.py."""

from zoo import SOURCES, Called, image, model, nn, torch
from unseen_fifth import RtmDet, conv, like, up

SOURCES.append(__file__)
F = nn.functional


@model("sam_encoder", image(256))
def sam_encoder():
    import transformers

    settings = transformers.SamVisionConfig(
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=3,
        image_size=256,
        window_size=7,
        global_attn_indexes=[1, 3],
        mlp_dim=768,
        output_channels=128,
    )
    settings._attn_implementation = "eager"
    return Called(transformers.SamVisionModel(settings), ["pixel_values"], "last_hidden_state")


@model("sam_decoder", {"x": ((1, 256, 16, 16), None), "words": ((1, 1, 5, 256), None)}, script=True)
def sam_decoder():
    import transformers

    settings = transformers.SamMaskDecoderConfig()
    settings._attn_implementation = "eager"
    inner = transformers.models.sam.modeling_sam.SamMaskDecoder(settings)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner
            self.place, self.dense = (nn.Parameter(torch.randn(1, 256, 16, 16)) for _ in "ab")

        def forward(self, x, words):
            return self.inner(x, self.place, words, self.dense, multimask_output=False)[0]

    return Decoder()


class Svtr(nn.Module):
    """A line of text by local and global mixing, heights merged by strided convolutions."""

    class Mix(nn.Module):
        def __init__(self, c, heads, local=None):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.a, self.b = nn.LayerNorm(c, eps=1e-6), nn.LayerNorm(c, eps=1e-6)
            self.ff = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))
            mask = None
            if local:
                h, w = local
                ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
                ys, xs = ys.flatten(), xs.flatten()
                near = ((ys[:, None] - ys).abs() <= 3) & ((xs[:, None] - xs).abs() <= 5)
                mask = torch.where(near, 0.0, float("-inf"))[None, None]
            self.register_buffer("mask", mask)

        def forward(self, x):
            b, n, c = x.shape
            qkv = self.qkv(self.a(x)).reshape(b, n, 3, self.heads, c // self.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            a = q * (c // self.heads) ** -0.5 @ k.transpose(-2, -1)
            a = (a if self.mask is None else a + self.mask).softmax(-1)
            x = x + self.out((a @ v).transpose(1, 2).reshape(b, n, c))
            return x + self.ff(self.b(x))

    def __init__(self, widths=(64, 128, 192), signs=97):
        super().__init__()
        a, b, c = widths
        self.patch = nn.Sequential(conv(3, a // 2, 3, 2, nn.GELU), conv(a // 2, a, 3, 2, nn.GELU))
        self.place = nn.Parameter(torch.randn(1, 8 * 32, a) / 50)
        self.one = nn.Sequential(self.Mix(a, 2, (8, 32)), self.Mix(a, 2, (8, 32)))
        self.two = nn.Sequential(self.Mix(b, 4, (4, 32)), self.Mix(b, 4))
        self.three = nn.Sequential(self.Mix(c, 6), self.Mix(c, 6))
        merge = lambda i, o: nn.Conv2d(i, o, 3, (2, 1), 1)
        self.merge1, self.merge2 = merge(a, b), merge(b, c)
        self.norm1, self.norm2 = nn.LayerNorm(b, eps=1e-6), nn.LayerNorm(c, eps=1e-6)
        self.last, self.signs = nn.Conv2d(c, c, 1, bias=False), nn.Linear(c, signs)

    def forward(self, x):
        x = self.one(self.patch(x).flatten(2).transpose(1, 2) + self.place)
        x = x.transpose(1, 2).reshape(-1, x.shape[2], 8, 32)
        x = self.two(self.norm1(self.merge1(x).flatten(2).transpose(1, 2)))
        x = x.transpose(1, 2).reshape(-1, x.shape[2], 4, 32)
        x = self.three(self.norm2(self.merge2(x).flatten(2).transpose(1, 2)))
        x = x.transpose(1, 2).reshape(-1, x.shape[2], 2, 32)
        x = F.hardswish(self.last(F.adaptive_avg_pool2d(x, (1, 32)))).squeeze(2)
        return self.signs(x.transpose(1, 2)).softmax(2)


model("svtr_tiny", {"x": ((1, 3, 32, 128), None)}, script=True)(Svtr)


class DbNet(nn.Module):
    """Text as maps: a pyramid joined at its finest level, two transposed convolutions each for the
    map and its threshold, and the soft step between them."""

    def __init__(self, w=64):
        super().__init__()
        import torchvision

        net = torchvision.models.resnet18(weights=None)
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
        self.body = nn.ModuleList((net.layer1, net.layer2, net.layer3, net.layer4))
        self.side = nn.ModuleList(nn.Conv2d(c, w, 1, bias=False) for c in (64, 128, 256, 512))
        self.out = nn.ModuleList(nn.Conv2d(w, w // 4, 3, padding=1, bias=False) for _ in range(4))
        grow = lambda i, o: nn.ConvTranspose2d(i, o, 2, 2)
        head = lambda: nn.Sequential(
            conv(w, w // 4, 3, 1, nn.ReLU),
            grow(w // 4, w // 4),
            nn.BatchNorm2d(w // 4),
            nn.ReLU(),
            grow(w // 4, 1),
            nn.Sigmoid(),
        )
        self.map, self.edge = head(), head()

    def forward(self, x):
        x, kept = self.stem(x), []
        for part, side in zip(self.body, self.side):
            x = part(x)
            kept.append(side(x))
        for k in (2, 1, 0):
            kept[k] = kept[k] + up(kept[k + 1])
        parts = [
            up(out(y), 2.0**k) if k else out(y) for k, (out, y) in enumerate(zip(self.out, kept))
        ]
        x = torch.cat(parts[::-1], 1)
        y, z = self.map(x), self.edge(x)
        return torch.cat([y, z, 1 / (1 + torch.exp(-50 * (y - z)))], 1)


model("dbnet_r18", image(192), script=True)(DbNet)


class BlazeFace(nn.Module):
    """Faces: depthwise 5x5 blocks, padded after the edge where they stride, channels of zeros added
    to the shortcut."""

    class Block(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            self.s, self.more, pad = s, o - i, 0 if s > 1 else 2
            self.a, self.b = nn.Conv2d(i, i, 5, s, pad, groups=i), nn.Conv2d(i, o, 1)

        def forward(self, x):
            y = x
            if self.s > 1:
                y, x = F.pad(x, (1, 2, 1, 2)), F.max_pool2d(x, 2)
            x = F.pad(x, (0, 0, 0, 0, 0, self.more)) if self.more else x
            return F.relu(self.b(self.a(y)) + x)

    def __init__(self):
        super().__init__()
        b = self.Block
        layers = b(24, 24), b(24, 28), b(28, 32, 2), b(32, 36), b(36, 42), b(42, 48, 2), b(48, 56)
        self.first, self.body = nn.Conv2d(3, 24, 5, 2), nn.Sequential(*layers, b(56, 64), b(64, 88))
        self.rest = nn.Sequential(b(88, 96, 2), *(b(96, 96) for _ in range(4)))
        self.kind = nn.ModuleList((nn.Conv2d(88, 2, 1), nn.Conv2d(96, 6, 1)))
        self.box = nn.ModuleList((nn.Conv2d(88, 32, 1), nn.Conv2d(96, 96, 1)))

    def forward(self, x):
        x = self.body(F.relu(self.first(F.pad(x, (1, 2, 1, 2)))))
        out = []
        for y, kind, box in zip((x, self.rest(x)), self.kind, self.box):
            kinds = kind(y).permute(0, 2, 3, 1).reshape(1, -1, 1).clamp(-100, 100).sigmoid()
            out.append(torch.cat([box(y).permute(0, 2, 3, 1).reshape(1, -1, 16), kinds], 2))
        return torch.cat(out, 1)


model("blazeface", image(256), script=True)(BlazeFace)


class MobileFace(nn.Module):
    """Faces as vectors of unit length: inverted bottlenecks with PReLU, a depthwise convolution
    over all positions."""

    class Block(nn.Module):
        def __init__(self, i, o, m, s=1):
            super().__init__()
            self.same = s == 1 and i == o
            act = lambda: nn.PReLU(m)
            self.body = nn.Sequential(
                conv(i, m, 1, 1, act), conv(m, m, 3, s, act, m), conv(m, o, 1, 1, None)
            )

        def forward(self, x):
            return x + self.body(x) if self.same else self.body(x)

    def __init__(self):
        super().__init__()
        act, b = lambda: nn.PReLU(64), self.Block
        rest = [b(64, 64, 128, 2)] + [b(64, 64, 128) for _ in range(4)]
        rest += [b(64, 128, 256, 2)] + [b(128, 128, 256) for _ in range(6)]
        rest += [b(128, 128, 512, 2), b(128, 128, 256), b(128, 128, 256)]
        self.body = nn.Sequential(
            conv(3, 64, 3, 2, act),
            conv(64, 64, 3, 1, act, 64),
            *rest,
            conv(128, 512, 1, 1, lambda: nn.PReLU(512)),
        )
        self.all = nn.Sequential(
            nn.Conv2d(512, 512, 7, groups=512, bias=False), nn.BatchNorm2d(512)
        )
        self.end, self.norm = nn.Linear(512, 128, bias=False), nn.BatchNorm1d(128)

    def forward(self, x):
        x = self.norm(self.end(self.all(self.body(x)).flatten(1)))
        return F.normalize(x)


model("mobilefacenet", image(112), script=True)(MobileFace)


class RtmPose(nn.Module):
    """Keypoints: a small network, one row of features for each, gated attention with squared
    rectifier, a classification of columns and rows."""

    def __init__(self, points=17, h=256, w=192, c=256, s=128):
        super().__init__()
        csp = RtmDet.Csp
        self.body = nn.Sequential(
            conv(3, 24, 3, 2),
            conv(24, 48, 3, 2),
            csp(48, 48),
            conv(48, 96, 3, 2),
            csp(96, 96),
            conv(96, 192, 3, 2),
            csp(192, 192),
            conv(192, 384, 3, 2),
            csp(384, 384),
        )
        self.last = nn.Conv2d(384, points, 7, padding=3)
        self.flat, self.first = h // 32 * (w // 32), nn.Linear(h // 32 * (w // 32), c, bias=False)
        self.scale0, self.scale1 = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        self.uv, self.out = nn.Linear(c, 4 * c + s, bias=False), nn.Linear(2 * c, c, bias=False)
        self.gamma, self.beta = (nn.Parameter(torch.randn(2, s) / 8) for _ in "ab")
        self.rest = nn.Parameter(torch.randn(c))
        self.x, self.y = nn.Linear(c, 2 * w, bias=False), nn.Linear(c, 2 * h, bias=False)
        self.e, self.s = 2 * c, s

    def norm(self, x, scale):
        return x / (x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5).clamp(min=1e-5) * scale

    def forward(self, x):
        x = self.first(self.norm(self.last(self.body(x)).flatten(2), self.scale0))
        y = F.silu(self.uv(self.norm(x, self.scale1)))
        u, v, base = y.split([self.e, self.e, self.s], 2)
        base = base.unsqueeze(2) * self.gamma[None, None] + self.beta
        q, k = base.unbind(2)
        a = F.relu(q @ k.transpose(1, 2) / self.s**0.5).square()
        x = x * self.rest + self.out(u * (a @ v))
        return torch.cat([self.x(x), self.y(x)], 2)


model("rtmpose_t", {"x": ((1, 3, 256, 192), None)})(RtmPose)


class Rlfn(nn.Module):
    """Super-resolution: three convolutions per block, attention from a map that is strided, pooled
    and enlarged again, pixel shuffle."""

    class Block(nn.Module):
        def __init__(self, c, e=16):
            super().__init__()
            three = [
                l for _ in range(3) for l in (nn.Conv2d(c, c, 3, padding=1), nn.LeakyReLU(0.05))
            ]
            self.body, self.end = nn.Sequential(*three), nn.Conv2d(c, c, 1)
            self.a, self.b, self.c = (
                nn.Conv2d(c, e, 1),
                nn.Conv2d(e, e, 3, 2),
                nn.Conv2d(e, e, 3, padding=1),
            )
            self.f, self.d = nn.Conv2d(e, e, 1), nn.Conv2d(e, c, 1)

        def forward(self, x):
            x = self.end(x + self.body(x))
            a = self.a(x)
            y = self.c(F.max_pool2d(self.b(a), 7, 3))
            y = like(y, x, align_corners=False) + self.f(a)
            return x * self.d(y).sigmoid()

    def __init__(self, c=46, n=3, scale=4):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.body = nn.Sequential(*(self.Block(c) for _ in range(n)))
        self.up = nn.Sequential(nn.Conv2d(c, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        x = self.first(x)
        return self.up(self.last(self.body(x)) + x)


model("rlfn_x4", image(64))(Rlfn)


class KerasNet(nn.Module):
    """As converters from Keras write it: images with channels last, padding on one side, depthwise
    convolutions, means over all positions."""

    class Block(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            self.s = s
            self.a = nn.Conv2d(i, i, 3, s, 0 if s > 1 else 1, groups=i, bias=False)
            self.b, self.na, self.nb = (
                nn.Conv2d(i, o, 1, bias=False),
                nn.BatchNorm2d(i, 1e-3),
                nn.BatchNorm2d(o, 1e-3),
            )

        def forward(self, x):  # with channels last
            x = F.pad(x, (0, 0, 0, 1, 0, 1)) if self.s > 1 else x
            x = F.relu6(self.na(self.a(x.permute(0, 3, 1, 2)))).permute(0, 2, 3, 1)
            return F.relu6(self.nb(self.b(x.permute(0, 3, 1, 2)))).permute(0, 2, 3, 1)

    def __init__(self):
        super().__init__()
        sizes = (
            (32, 64, 1),
            (64, 128, 2),
            (128, 128, 1),
            (128, 256, 2),
            (256, 256, 1),
            (256, 512, 2),
        )
        self.first, self.norm = nn.Conv2d(3, 32, 3, 2, bias=False), nn.BatchNorm2d(32, 1e-3)
        self.body = nn.Sequential(*(self.Block(*size) for size in sizes + ((512, 512, 1),) * 2))
        self.end = nn.Linear(512, 100)

    def forward(self, x):
        x = F.pad(x / 127.5 - 1.0, (0, 0, 0, 1, 0, 1)).permute(0, 3, 1, 2)
        x = F.relu6(self.norm(self.first(x))).permute(0, 2, 3, 1)
        return self.end(self.body(x).mean((1, 2))).softmax(1)


model("keras_mobilenet", {"x": ((1, 192, 192, 3), None)}, script=True)(KerasNet)
