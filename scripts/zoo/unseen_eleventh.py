"""The eleventh set of models of test/bench/UNSEEN.md: architectures of timm, transformers and
diffusers, and small networks written after their papers (unseen_eleventh_rest.py has those of
sound, graphs, tables and time)."""

from zoo import SOURCES, Called, Step, image, model, nn, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional

# ---- timm
for name, size in {
    "ghostnetv3_100": 192,
    "twins_pcpvt_small": 160,
    "ecaresnet26t": 128,
    "legacy_seresnet18": 160,
}.items():
    fixed = name == "twins_pcpvt_small"
    options = {"img_size": size} if fixed else {}
    model(name, image(size, 1 if fixed else "batch=1"))(vision("timm", name, **options))

# ---- transformers and diffusers
CACHE = ((1, 12, "past=96", 64), None)


@model(
    "big_code_step",
    {"ids": ((1, 1), 8000), **{k: ((1, 1, "past=96", 64), None) for k in ("k0", "v0", "k1", "v1")}},
)
def big_code():
    import transformers

    settings = transformers.GPTBigCodeConfig(
        n_embd=768, n_head=12, n_layer=2, vocab_size=8000, multi_query=True
    )
    return Step(transformers.GPTBigCodeForCausalLM(settings), "logits")


@model(
    "bio_gpt_step",
    {"ids": ((1, 1), 8000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
)
def bio_gpt():
    import transformers

    settings = transformers.BioGptConfig(
        hidden_size=768,
        num_attention_heads=12,
        num_hidden_layers=2,
        intermediate_size=3072,
        vocab_size=8000,
    )
    return Step(transformers.BioGptForCausalLM(settings), "logits")


model("sew_d_2", {"x": ((1, 16000), None)})(
    transformer(
        "SEWDModel",
        "SEWDConfig",
        "input_values",
        hidden_size=384,
        intermediate_size=1536,
        num_attention_heads=6,
        num_hidden_layers=2,
    )
)


@model(
    "sd3_2",
    {"x": ((1, 16, 32, 32), None), "text": ((1, 77, 1024), None), "all": ((1, 768), None)},
)
def sd3():
    import diffusers

    inner = diffusers.SD3Transformer2DModel(
        sample_size=32,
        num_layers=2,
        attention_head_dim=64,
        num_attention_heads=8,
        joint_attention_dim=1024,
        caption_projection_dim=512,
        pooled_projection_dim=768,
        pos_embed_max_size=32,
    )
    names = ["hidden_states", "encoder_hidden_states", "pooled_projections"]
    return Called(inner, names, "sample", timestep=torch.tensor([500.0]))


# ---- small networks for images
def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    pad = options.pop("padding", options.get("dilation", 1) * (k // 2))
    layer = nn.Conv2d(i, o, k, s, pad, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


class TinyYolo3(nn.Module):
    """YOLOv3-tiny: poolings between convolutions, anchors at two scales, boxes decoded."""

    def __init__(self, classes=80):
        super().__init__()
        leaky = lambda: nn.LeakyReLU(0.1)
        one = lambda i, o, k=3: conv(i, o, k, act=leaky)
        c = (3, 16, 32, 64, 128, 256)
        self.first = nn.ModuleList(one(i, o) for i, o in zip(c, c[1:]))
        self.low = nn.Sequential(one(256, 512), nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(2, 1))
        self.inner = nn.Sequential(one(512, 512), one(512, 256, 1))
        self.end = nn.ModuleList(
            nn.Sequential(one(i, o), nn.Conv2d(o, 3 * (5 + classes), 1))
            for i, o in ((256, 512), (384, 256))
        )
        self.side, self.classes = one(256, 128, 1), classes

    def boxes(self, y, stride):
        n, _, h, w = y.shape
        y = y.view(n, 3, 5 + self.classes, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        a, b = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((b, a), 2).float()
        sizes = torch.tensor([[10.0, 14], [23, 27], [37, 58]]).view(1, 3, 1, 1, 2)
        xy = (y[..., :2] * 2 - 0.5 + grid) * stride
        wh = (y[..., 2:4] * 2) ** 2 * sizes
        return torch.cat((xy, wh, y[..., 4:]), -1).view(n, -1, 5 + self.classes)

    def forward(self, x):
        for layer in self.first:
            kept = layer(x)
            x = F.max_pool2d(kept, 2)
        x = self.inner(self.low(x))
        wide = F.interpolate(self.side(x), scale_factor=2, mode="nearest")
        outs = self.end[0](x), self.end[1](torch.cat((wide, kept), 1))
        return torch.cat([self.boxes(y, s) for y, s in zip(outs, (32, 16))], 1)


class LinkNet(nn.Module):
    """Residual stages; each decoder narrows, enlarges by a transposed convolution, and is added."""

    class Pair(nn.Module):
        def __init__(self, i, o, s):
            super().__init__()
            self.a, self.b = conv(i, o, 3, s), conv(o, o, act=nn.Identity)
            self.side = nn.Identity() if s == 1 else conv(i, o, 1, s, nn.Identity)

        def forward(self, x):
            return (self.b(self.a(x)) + self.side(x)).relu()

    def __init__(self, c=(48, 48, 96, 192), classes=19):
        super().__init__()
        self.stem = nn.Sequential(conv(3, c[0], 7, 2), nn.MaxPool2d(3, 2, 1))
        self.down = nn.ModuleList(
            nn.Sequential(self.Pair(i, o, s), self.Pair(o, o, 1))
            for i, o, s in zip(c[:1] + c, c, (1, 2, 2, 2))
        )
        up = lambda i, o: nn.Sequential(
            conv(i, i // 4, 1),
            nn.ConvTranspose2d(i // 4, i // 4, 3, 2, 1, 1),
            nn.BatchNorm2d(i // 4),
            nn.ReLU(),
            conv(i // 4, o, 1),
        )
        self.up = nn.ModuleList(up(i, o) for i, o in zip(c[:0:-1], c[-2::-1]))
        self.end = nn.Sequential(up(c[0], 32), conv(32, 32), nn.ConvTranspose2d(32, classes, 2, 2))

    def forward(self, x):
        x, kept = self.stem(x), []
        for stage in self.down:
            x = stage(x)
            kept.append(x)
        for up, side in zip(self.up, kept[-2::-1]):
            x = up(x) + side
        return self.end(x)


class EspNet(nn.Module):
    """Spatial pyramids of dilated convolutions, summed step by step, joined and added."""

    class Pyramid(nn.Module):
        def __init__(self, i, o, s=1):
            super().__init__()
            n = o // 5
            first = o - 4 * n
            self.enter = nn.Conv2d(i, n, 3 if s > 1 else 1, s, 1 if s > 1 else 0, bias=False)
            self.parts = nn.ModuleList(
                nn.Conv2d(n, first if d == 1 else n, 3, 1, d, d, bias=False)
                for d in (1, 2, 4, 8, 16)
            )
            self.norm, self.act, self.same = nn.BatchNorm2d(o), nn.PReLU(o), i == o and s == 1

        def forward(self, x):
            y = self.enter(x)
            first, *rest = (part(y) for part in self.parts)
            total, outs = rest[0], [first, rest[0]]
            for part in rest[1:]:
                total = total + part
                outs.append(total)
            y = torch.cat(outs, 1)
            return self.act(self.norm(x + y if self.same else y))

    def __init__(self, classes=20):
        super().__init__()
        p = self.Pyramid
        self.first = conv(3, 16, 3, 2, act=lambda: nn.PReLU(16))
        self.two = p(19, 64, 2)
        self.stage = nn.Sequential(p(64, 64), p(64, 64))
        self.three = p(131, 128, 2)
        self.deep = nn.Sequential(p(128, 128), p(128, 128), p(128, 128))
        self.end = nn.Conv2d(256, classes, 1)

    def forward(self, x):
        half, quarter = F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(F.avg_pool2d(x, 3, 2, 1), 3, 2, 1)
        y = self.two(torch.cat((self.first(x), half), 1))
        y = self.three(torch.cat((y, self.stage(y), quarter), 1))
        return self.end(torch.cat((y, self.deep(y)), 1))


class East(nn.Module):
    """EAST: maps of four stages merged upwards; a score, four distances and an angle."""

    def __init__(self, c=(32, 64, 128, 256)):
        super().__init__()
        self.first = conv(3, c[0], 3, 2)
        self.down = nn.ModuleList(
            nn.Sequential(conv(i, o, 3, 2), conv(o, o)) for i, o in zip((c[0],) + c, c)
        )
        merged = ((c[3] + c[2], 128), (128 + c[1], 64), (64 + c[0], 32))
        self.merge = nn.ModuleList(nn.Sequential(conv(i, o, 1), conv(o, o)) for i, o in merged)
        self.last = conv(32, 32)
        self.score, self.box, self.angle = (nn.Conv2d(32, n, 1) for n in (1, 4, 1))

    def forward(self, x):
        x, kept = self.first(x), []
        for step in self.down:
            x = step(x)
            kept.append(x)
        for merge, side in zip(self.merge, kept[-2::-1]):
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
            x = merge(torch.cat((x, side), 1))
        x = self.last(x)
        angle = (self.angle(x).sigmoid() - 0.5) * 3.14159265
        return torch.cat((self.score(x).sigmoid(), self.box(x).sigmoid() * 512, angle), 1)


class Imdn(nn.Module):
    """IMDN: channels split off step by step, joined, weighed by contrast; four pixels from one."""

    class Block(nn.Module):
        def __init__(self, c=64, kept=16):
            super().__init__()
            self.kept = kept
            self.steps = nn.ModuleList(
                nn.Conv2d(i, o, 3, 1, 1) for i, o in ((c, c), (48, c), (48, c), (48, 16))
            )
            self.weigh = nn.Sequential(
                nn.Conv2d(c, c // 16, 1), nn.ReLU(), nn.Conv2d(c // 16, c, 1), nn.Sigmoid()
            )
            self.end = nn.Conv2d(c, c, 1)

        def forward(self, x):
            rest, outs = x, []
            for step in self.steps[:3]:
                y = F.leaky_relu(step(rest), 0.05)
                one, rest = y.split((self.kept, y.shape[1] - self.kept), 1)
                outs.append(one)
            y = torch.cat(outs + [self.steps[3](rest)], 1)
            mean = y.mean((2, 3), keepdim=True)
            contrast = ((y - mean) ** 2).mean((2, 3), keepdim=True).sqrt() + mean
            return x + self.end(y * self.weigh(contrast))

    def __init__(self, c=64, blocks=3):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.blocks = nn.ModuleList(self.Block(c) for _ in range(blocks))
        self.merge = nn.Sequential(nn.Conv2d(c * blocks, c, 1), nn.LeakyReLU(0.05))
        self.low = nn.Conv2d(c, c, 3, 1, 1)
        self.end = nn.Sequential(nn.Conv2d(c, 12, 3, 1, 1), nn.PixelShuffle(2))

    def forward(self, x):
        x = y = self.first(x)
        outs = []
        for block in self.blocks:
            y = block(y)
            outs.append(y)
        return self.end(x + self.low(self.merge(torch.cat(outs, 1))))


class LapSrn(nn.Module):
    """A pyramid of images: transposed convolutions enlarge features and image, and are added."""

    def __init__(self, c=64, depth=5):
        super().__init__()
        act = lambda: nn.LeakyReLU(0.2)
        body = lambda: nn.Sequential(
            *(nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), act()) for _ in range(depth)),
            nn.ConvTranspose2d(c, c, 4, 2, 1),
            act(),
        )
        self.first = nn.Sequential(nn.Conv2d(1, c, 3, 1, 1), act())
        self.bodies = nn.ModuleList((body(), body()))
        self.larger = nn.ModuleList(nn.ConvTranspose2d(1, 1, 4, 2, 1) for _ in "ab")
        self.rest = nn.ModuleList(nn.Conv2d(c, 1, 3, 1, 1) for _ in "ab")

    def forward(self, x):
        y = self.first(x)
        for body, larger, rest in zip(self.bodies, self.larger, self.rest):
            y = body(y)
            x = larger(x) + rest(y)
        return x


class MonoDepth(nn.Module):
    """Depth of one image: padded by reflection, ELU, nearest enlargement, disparities at scales."""

    def __init__(self, c=(32, 64, 96, 160)):
        super().__init__()
        self.down = nn.ModuleList(
            nn.Sequential(conv(i, o, 3, 2), conv(o, o)) for i, o in zip((3,) + c, c)
        )
        pad = lambda i, o: nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(i, o, 3))
        one = lambda i, o: nn.Sequential(pad(i, o), nn.ELU())
        ups, sides = (128, 64, 32, 16), (c[2], c[1], c[0], 0)
        self.a = nn.ModuleList(one(i, o) for i, o in zip((c[3],) + ups, ups))
        self.b = nn.ModuleList(one(o + s, o) for o, s in zip(ups, sides))
        self.end = nn.ModuleList(pad(o, 1) for o in ups[1:])

    def forward(self, x):
        kept, outs = [], []
        for step in self.down:
            x = step(x)
            kept.append(x)
        for k, (a, b) in enumerate(zip(self.a, self.b)):
            x = F.interpolate(a(x), scale_factor=2, mode="nearest")
            x = b(torch.cat((x, kept[2 - k]), 1) if k < 3 else x)
            if k:
                outs.append(1 / (0.01 + 9.99 * self.end[k - 1](x).sigmoid()))
        return torch.cat([y.flatten(1) for y in outs], 1)


class MoviNet(nn.Module):
    """Video with causal convolutions over time, gates by means over clip and image."""

    class Block(nn.Module):
        def __init__(self, i, m, o, k=3, s=1):
            super().__init__()
            norm = lambda c: nn.BatchNorm3d(c)
            self.wide = nn.Sequential(nn.Conv3d(i, m, 1, bias=False), norm(m), nn.Hardswish())
            steps, pad = (1, s, s), (0, 1, 1)
            self.deep = nn.Conv3d(m, m, (k, 3, 3), steps, pad, groups=m, bias=False)
            self.norm, self.k = norm(m), k
            self.gate = nn.Sequential(
                nn.Conv3d(m, m // 4, 1), nn.Hardswish(), nn.Conv3d(m // 4, m, 1), nn.Sigmoid()
            )
            self.end = nn.Sequential(nn.Conv3d(m, o, 1, bias=False), norm(o))
            self.same = i == o and s == 1

        def forward(self, x):
            y = F.pad(self.wide(x), (0, 0, 0, 0, self.k - 1, 0))
            y = F.hardswish(self.norm(self.deep(y)))
            y = self.end(y * self.gate(y.mean((2, 3, 4), keepdim=True)))
            return x + y if self.same else y

    def __init__(self, classes=100):
        super().__init__()
        b = self.Block
        self.first = nn.Conv3d(3, 16, (1, 3, 3), (1, 2, 2), (0, 1, 1))
        self.body = nn.Sequential(
            b(16, 40, 16, 3, 2), b(16, 40, 16), b(16, 96, 40, 3, 2), b(40, 120, 40), b(40, 120, 40)
        )
        self.end = nn.Sequential(nn.Linear(40, 256), nn.Hardswish(), nn.Linear(256, classes))

    def forward(self, x):
        return self.end(self.body(F.hardswish(self.first(x))).mean((2, 3, 4)))


class DualAttention(nn.Module):
    """DANet: places attend to places, channels to channels, both are added."""

    def __init__(self, c=96, classes=19):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 32, 3, 2), conv(32, 64, 3, 2), conv(64, 128, 3, 2), conv(128, 128, dilation=2)
        )
        self.a, self.b = conv(128, c), conv(128, c)
        self.query, self.key = nn.Conv2d(c, c // 8, 1), nn.Conv2d(c, c // 8, 1)
        self.value = nn.Conv2d(c, c, 1)
        self.alpha, self.beta = (nn.Parameter(torch.full((1,), 0.3)) for _ in "ab")
        self.c, self.d = conv(c, c), conv(c, c)
        self.end = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        size = x.shape[2:]
        x = self.body(x)
        p, q = self.a(x), self.b(x)
        n, c, h, w = p.shape
        look = torch.bmm(self.query(p).flatten(2).permute(0, 2, 1), self.key(p).flatten(2))
        y = torch.bmm(self.value(p).flatten(2), look.softmax(-1).permute(0, 2, 1))
        p = self.alpha * y.view(n, c, h, w) + p
        flat = q.flatten(2)
        energy = torch.bmm(flat, flat.permute(0, 2, 1))
        energy = energy.max(-1, keepdim=True)[0].expand_as(energy) - energy
        q = self.beta * torch.bmm(energy.softmax(-1), flat).view(n, c, h, w) + q
        y = self.end(self.c(p) + self.d(q))
        return F.interpolate(y, size, mode="bilinear", align_corners=False)


def maps(channels, size):
    return {"x": ((1, channels, size, size), None)}


model("yolo_v3_tiny", image(256))(TinyYolo3)
model("link_net", image(192))(LinkNet)
model("esp_net", image(256), script=True)(EspNet)
model("east", image(256))(East)
model("imdn", image(64))(Imdn)
model("lap_srn", maps(1, 40), script=True)(LapSrn)
model("mono_depth", image(192))(MonoDepth)
model("movi_net", {"x": ((1, 3, 8, 112, 112), None)})(MoviNet)
model("da_net", image(256), script=True)(DualAttention)
