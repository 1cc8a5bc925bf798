"""The twelfth set of models of test/bench/UNSEEN.md: architectures of timm, transformers, diffusers
and torchvision, and small networks of images written after their papers (unseen_twelfth_rest.py has
those of sound, points, graphs, tables and time)."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional

# ---- timm and torchvision
SCRIPTED = "efficientnet_cc_b0_4e", "mobilenetv1_100"
for name, size, options in (
    ("efficientnet_cc_b0_4e", 192, {}),
    ("swinv2_cr_tiny_ns_224", 224, {"depths": (1, 1, 2, 1)}),
    ("sebotnet33ts_256", 256, {}),
    ("vit_small_patch16_rope_224", 224, {"depth": 4}),
    ("nf_seresnet26", 160, {}),
    ("mobilenetv1_100", 224, {}),
):
    fixed = "_2" in name
    model(name, image(size, 1 if fixed else "batch=1"), script=name in SCRIPTED)(
        vision("timm", name, **options)
    )


@model("fcn_resnet50", image(96), script=True)
def fcn():
    import torchvision

    make = torchvision.models.segmentation.fcn_resnet50
    inner = make(weights=None, weights_backbone=None, num_classes=21)
    return Called(inner, ["x"], lambda made: made["out"])


# ---- transformers and diffusers
CACHE = ((1, 2, "past=128", 64), None)


@model("glm_step", {"ids": ((1, 1), 8000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}})
def glm():
    import transformers

    settings = transformers.GlmConfig(
        hidden_size=768,
        intermediate_size=2048,
        num_attention_heads=12,
        num_key_value_heads=2,
        head_dim=64,
        num_hidden_layers=2,
        vocab_size=8000,
        pad_token_id=0,
    )
    return Step(transformers.GlmForCausalLM(settings), "logits")


model("gemma2_2", tokens(length=48, mask=False))(
    transformer(
        "Gemma2Model",
        "Gemma2Config",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=640,
        intermediate_size=2048,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=128,
        num_hidden_layers=2,
        vocab_size=8000,
    )
)
model("ernie_3", tokens(), script=True)(
    transformer(
        "ErnieModel",
        "ErnieConfig",
        call=("eager",),
        hidden_size=384,
        intermediate_size=1536,
        num_attention_heads=12,
        num_hidden_layers=3,
        vocab_size=8000,
        use_task_id=True,
    )
)
model("vjepa2_2", {"x": ((1, 8, 3, 96, 96), None)})(
    transformer(
        "VJEPA2Model",
        "VJEPA2Config",
        "pixel_values_videos",
        crop_size=96,
        frames_per_clip=8,
        hidden_size=384,
        num_attention_heads=6,
        num_hidden_layers=2,
        pred_num_hidden_layers=1,
        pred_hidden_size=192,
    )
)


@model("flux_2", {"x": ((1, 144, 64), None), "text": ((1, 64, 512), None), "all": ((1, 256), None)})
def flux():
    import diffusers

    inner = diffusers.FluxTransformer2DModel(
        num_layers=1,
        num_single_layers=2,
        attention_head_dim=64,
        num_attention_heads=8,
        joint_attention_dim=512,
        pooled_projection_dim=256,
        axes_dims_rope=(8, 28, 28),
    )
    rows = torch.zeros(144, 3)
    rows[:, 1], rows[:, 2] = torch.arange(144) // 12, torch.arange(144) % 12
    fixed = {"img_ids": rows, "txt_ids": torch.zeros(64, 3), "timestep": torch.tensor([0.5])}
    names = ["hidden_states", "encoder_hidden_states", "pooled_projections"]
    return Called(inner, names, "sample", **fixed)


@model("dc_decoder", {"x": ((1, 8, 8, 8), None)})
def deep_compression():
    import diffusers

    inner = diffusers.AutoencoderDC(
        latent_channels=8,
        attention_head_dim=32,
        encoder_block_out_channels=(32, 64, 128),
        decoder_block_out_channels=(32, 64, 128),
        encoder_block_types=("ResBlock", "ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "ResBlock", "EfficientViTBlock"),
        encoder_layers_per_block=(1, 1, 1),
        decoder_layers_per_block=(1, 2, 2),
        encoder_qkv_multiscales=((), (), (5,)),
        decoder_qkv_multiscales=((), (), (5,)),
    )

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner.decode(x).sample

    return Decoder()


# ---- small networks for images
def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    pad = options.pop("padding", options.get("dilation", 1) * (k // 2))
    layer = nn.Conv2d(i, o, k, s, pad, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


class Yolo12(nn.Module):
    """YOLOv12: attention within areas of the map, positions of the values by a depthwise
    convolution; stages that join all their results (R-ELAN)."""

    class Area(nn.Module):
        def __init__(self, c, areas, heads):
            super().__init__()
            self.areas, self.heads = areas, heads
            self.all = conv(c, 3 * c, 1, act=nn.Identity)
            self.place = conv(c, c, 7, act=nn.Identity, groups=c)
            self.end = conv(c, c, 1, act=nn.Identity)
            self.mlp = nn.Sequential(
                conv(c, c * 2, 1, act=nn.SiLU), conv(c * 2, c, 1, act=nn.Identity)
            )

        def forward(self, x):
            n, c, h, w = x.shape
            y = self.all(x).flatten(2).transpose(1, 2).reshape(n * self.areas, -1, 3 * c)
            m, t, _ = y.shape
            parts = y.view(m, t, self.heads, 3 * c // self.heads).permute(0, 2, 3, 1)
            q, k, v = parts.split([c // self.heads] * 3, 2)
            look = (q.transpose(-2, -1) @ k * (c // self.heads) ** -0.5).softmax(-1)
            back = lambda z: z.permute(0, 3, 1, 2).reshape(n, h, w, c).permute(0, 3, 1, 2)
            y = back(v @ look.transpose(-2, -1)) + self.place(back(v).contiguous())
            x = x + self.end(y)
            return x + self.mlp(x)

    class Stage(nn.Module):
        def __init__(self, i, o, make, n=2):
            super().__init__()
            c = o // 2
            self.enter = conv(i, c, 1, act=nn.SiLU)
            self.parts = nn.ModuleList(make(c) for _ in range(n))
            self.join = conv((n + 1) * c, o, 1, act=nn.SiLU)

        def forward(self, x):
            outs = [self.enter(x)]
            for part in self.parts:
                outs.append(part(outs[-1]))
            return self.join(torch.cat(outs, 1))

    def __init__(self, classes=80):
        super().__init__()
        act = {"act": nn.SiLU}
        two = lambda c: nn.Sequential(conv(c, c, **act), conv(c, c, **act))
        area = lambda n: lambda c: nn.Sequential(self.Area(c, n, c // 32), self.Area(c, n, c // 32))
        self.stem = nn.Sequential(conv(3, 16, 3, 2, **act), conv(16, 32, 3, 2, **act))
        self.a = nn.Sequential(self.Stage(32, 64, two, 1), conv(64, 64, 3, 2, **act))
        self.b = self.Stage(64, 128, two, 1)
        self.c = nn.Sequential(conv(128, 128, 3, 2, **act), self.Stage(128, 128, area(4)))
        self.d = nn.Sequential(conv(128, 256, 3, 2, **act), self.Stage(256, 256, area(1)))
        self.up = nn.ModuleList((self.Stage(384, 128, two, 1), self.Stage(256, 64, two, 1)))
        self.ends = nn.ModuleList(
            nn.Sequential(
                conv(c, c, groups=c, **act), conv(c, 64, 1, **act), nn.Conv2d(64, 64 + classes, 1)
            )
            for c in (64, 128, 256)
        )

    def forward(self, x):
        b = self.b(self.a(self.stem(x)))
        c = self.c(b)
        d = self.d(c)
        wide = lambda y: F.interpolate(y, scale_factor=2.0, mode="nearest")
        c = self.up[0](torch.cat((wide(d), c), 1))
        b = self.up[1](torch.cat((wide(c), b), 1))
        outs = [end(y).flatten(2) for end, y in zip(self.ends, (b, c, d))]
        y = torch.cat(outs, 2)
        boxes = y[:, :64].view(1, 4, 16, -1).transpose(1, 2).softmax(1)
        places = torch.arange(16.0).view(1, 16, 1, 1)
        return torch.cat(((boxes * places).sum(1), y[:, 64:].sigmoid()), 1)


class RetinaFace(nn.Module):
    """Faces by a quarter of MobileNet, a pyramid, contexts of three widths (SSH), three heads."""

    class Context(nn.Module):
        def __init__(self, c):
            super().__init__()
            leaky, none = lambda: nn.LeakyReLU(0.1), nn.Identity
            self.a, self.b = conv(c, c // 2, act=none), conv(c, c // 4, act=leaky)
            self.c, self.d = conv(c // 4, c // 4, act=none), conv(c // 4, c // 4, act=leaky)
            self.e = conv(c // 4, c // 4, act=none)

        def forward(self, x):
            y = self.b(x)
            return torch.cat((self.a(x), self.c(y), self.e(self.d(y))), 1).relu()

    def __init__(self, c=64):
        super().__init__()
        leaky = {"act": lambda: nn.LeakyReLU(0.1)}
        one = lambda i, o, s: nn.Sequential(
            conv(i, i, 3, s, groups=i, **leaky), conv(i, o, 1, **leaky)
        )
        self.a = nn.Sequential(
            conv(3, 8, 3, 2, **leaky),
            one(8, 16, 1),
            one(16, 32, 2),
            one(32, 32, 1),
            one(32, 64, 2),
            one(64, 64, 1),
        )
        self.b = nn.Sequential(one(64, 128, 2), *(one(128, 128, 1) for _ in range(5)))
        self.c = nn.Sequential(one(128, 256, 2), one(256, 256, 1))
        self.side = nn.ModuleList(conv(i, c, 1, **leaky) for i in (64, 128, 256))
        self.merge = nn.ModuleList(conv(c, c, **leaky) for _ in "ab")
        self.context = nn.ModuleList(self.Context(c) for _ in range(3))
        self.heads = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(c, 2 * n, 1) for n in (2, 4, 10)) for _ in range(3)
        )

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        levels = [side(y) for side, y in zip(self.side, (a, b, self.c(b)))]
        for k in (1, 0):
            wide = F.interpolate(levels[k + 1], size=levels[k].shape[2:], mode="nearest")
            levels[k] = self.merge[k](levels[k] + wide)
        outs = []
        for context, heads, y in zip(self.context, self.heads, levels):
            y = context(y)
            parts = [
                head(y).permute(0, 2, 3, 1).reshape(y.shape[0], -1, n)
                for head, n in zip(heads, (2, 4, 10))
            ]
            outs.append(torch.cat([parts[0].softmax(-1), *parts[1:]], -1))
        return torch.cat(outs, 1)


class PpLiteSeg(nn.Module):
    """PP-LiteSeg: short dense stages (STDC), pooled context, fusion by attention of means and
    maxima over channels."""

    class Dense(nn.Module):
        def __init__(self, i, o, s):
            super().__init__()
            self.a, self.b = conv(i, o // 2, 1), conv(o // 2, o // 4, 3, s)
            self.down = nn.AvgPool2d(3, 2, 1) if s == 2 else nn.Identity()
            self.c, self.d = conv(o // 4, o // 8), conv(o // 8, o // 8)

        def forward(self, x):
            a = self.a(x)
            b = self.b(a)
            c = self.c(b)
            return torch.cat((self.down(a), b, c, self.d(c)), 1)

    class Fused(nn.Module):
        def __init__(self, i, c, o):
            super().__init__()
            self.side, self.end = conv(i, c), conv(c, o)
            self.look = nn.Sequential(conv(4, 2), conv(2, 1, act=nn.Identity))

        def forward(self, low, high):
            low = self.side(low)
            high = F.interpolate(high, low.shape[2:], mode="bilinear", align_corners=False)
            parts = [f for y in (low, high) for f in (y.mean(1, True), y.amax(1, True))]
            a = self.look(torch.cat(parts, 1)).sigmoid()
            return self.end(low * a + high * (1 - a))

    def __init__(self, classes=19):
        super().__init__()
        d = self.Dense
        self.stem = nn.Sequential(conv(3, 32, 3, 2), conv(32, 64, 3, 2))
        self.a = nn.Sequential(d(64, 128, 2), d(128, 128, 1))
        self.b = nn.Sequential(d(128, 256, 2), d(256, 256, 1))
        self.c = nn.Sequential(d(256, 512, 2), d(512, 512, 1))
        self.pool = nn.ModuleList(conv(512, 128, 1) for _ in range(3))
        self.join = conv(128, 128)
        self.up = nn.ModuleList((self.Fused(256, 128, 96), self.Fused(128, 96, 64)))
        self.end = nn.Sequential(conv(64, 64), nn.Conv2d(64, classes, 1, bias=False))

    def forward(self, x):
        a = self.a(self.stem(x))
        b = self.b(a)
        c = self.c(b)
        y = 0
        for n, pool in zip((1, 2, 4), self.pool):
            y = y + F.interpolate(pool(F.adaptive_avg_pool2d(c, n)), c.shape[2:], mode="bilinear")
        y = self.up[1](a, self.up[0](b, self.join(y)))
        return F.interpolate(self.end(y), x.shape[2:], mode="bilinear", align_corners=False)


class Span(nn.Module):
    """SPAN: attention without parameters: what convolutions make, weighed by its own sigmoid."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(c, c, 3, 1, 1) for _ in range(3))

        def forward(self, x):
            y = self.c(F.silu(self.b(F.silu(self.a(x)))))
            return (y + x) * (y.sigmoid() - 0.5), y

    def __init__(self, c=48, blocks=6, times=4):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)
        self.blocks = nn.ModuleList(self.Block(c) for _ in range(blocks))
        self.join = nn.Conv2d(4 * c, c, 1)
        self.end = nn.Sequential(nn.Conv2d(c, 3 * times**2, 3, 1, 1), nn.PixelShuffle(times))

    def forward(self, x):
        first = y = self.first(x - 0.4)
        for k, block in enumerate(self.blocks):
            y, inner = block(y)
            early = y if k == 0 else early
        return self.end(self.join(torch.cat((first, self.last(y), early, inner), 1)))


class HourGlass(nn.Module):
    """Poses by two stacked hourglasses of bottlenecks whose norms come first."""

    class Res(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            c = o // 2
            self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (i, c, c))
            self.convs = nn.ModuleList(
                (nn.Conv2d(i, c, 1), nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(c, o, 1))
            )
            self.side = nn.Identity() if i == o else nn.Conv2d(i, o, 1)

        def forward(self, x):
            y = x
            for norm, layer in zip(self.norms, self.convs):
                y = layer(norm(y).relu())
            return y + self.side(x)

    class Glass(nn.Module):
        def __init__(self, c, deep):
            super().__init__()
            res = HourGlass.Res
            self.up, self.low, self.back = res(c, c), res(c, c), res(c, c)
            self.inner = HourGlass.Glass(c, deep - 1) if deep else res(c, c)

        def forward(self, x):
            y = self.back(self.inner(self.low(F.max_pool2d(x, 2))))
            return self.up(x) + F.interpolate(y, scale_factor=2.0, mode="nearest")

    def __init__(self, c=96, joints=16, stacks=2):
        super().__init__()
        res = self.Res
        self.stem = nn.Sequential(
            conv(3, 32, 7, 2), res(32, 64), nn.MaxPool2d(2), res(64, 64), res(64, c)
        )
        many = lambda make: nn.ModuleList(make() for _ in range(stacks))
        self.glass = many(lambda: self.Glass(c, 3))
        self.after = many(lambda: nn.Sequential(res(c, c), conv(c, c, 1)))
        self.heat, self.back = many(lambda: nn.Conv2d(c, joints, 1)), many(
            lambda: nn.Conv2d(joints, c, 1)
        )
        self.mix = many(lambda: nn.Conv2d(c, c, 1))

    def forward(self, x):
        x, outs = self.stem(x), []
        for glass, after, heat, back, mix in zip(
            self.glass, self.after, self.heat, self.back, self.mix
        ):
            y = after(glass(x))
            outs.append(heat(y))
            x = x + mix(y) + back(outs[-1])
        return torch.stack(outs, 1)


class OsNet(nn.Module):
    """Person re-identification: light convolutions of four depths, each weighed by one shared
    gate."""

    class Light(nn.Sequential):
        def __init__(self, c):
            super().__init__(
                nn.Conv2d(c, c, 1, bias=False),
                nn.Conv2d(c, c, 3, 1, 1, groups=c, bias=False),
                nn.BatchNorm2d(c),
                nn.ReLU(),
            )

    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            c = o // 4
            self.enter = conv(i, c, 1)
            self.ways = nn.ModuleList(
                nn.Sequential(*(OsNet.Light(c) for _ in range(k + 1))) for k in range(4)
            )
            self.gate = nn.Sequential(
                nn.AdaptiveAvgPool2d(1),
                nn.Conv2d(c, c // 16 or 1, 1),
                nn.ReLU(),
                nn.Conv2d(c // 16 or 1, c, 1),
                nn.Sigmoid(),
            )
            self.end = conv(c, o, 1, act=nn.Identity)
            self.side = nn.Identity() if i == o else conv(i, o, 1, act=nn.Identity)

        def forward(self, x):
            y = self.enter(x)
            total = 0
            for way in self.ways:
                z = way(y)
                total = total + z * self.gate(z)
            return (self.end(total) + self.side(x)).relu()

    def __init__(self, c=(64, 128, 192, 256)):
        super().__init__()
        block = self.Block
        layers = [conv(3, c[0], 7, 2), nn.MaxPool2d(3, 2, 1)]
        for i, o in zip(c, c[1:]):
            layers += [block(i, o), block(o, o)]
            if o != c[-1]:
                layers += [conv(o, o, 1), nn.AvgPool2d(2)]
        self.body = nn.Sequential(*layers, conv(c[-1], c[-1], 1))
        self.end = nn.Sequential(nn.Linear(c[-1], 256), nn.BatchNorm1d(256), nn.ReLU())

    def forward(self, x):
        return F.normalize(self.end(self.body(x).mean((2, 3))))


class EfficientAd(nn.Module):
    """Defects: a teacher and a student of 4 by 4 convolutions without padding, an autoencoder, and
    how they differ."""

    class Patch(nn.Sequential):
        def __init__(self, o, c=64):
            pool = lambda: nn.AvgPool2d(2, 2, 1)
            super().__init__(
                nn.Conv2d(3, c, 4, 1, 3),
                nn.ReLU(),
                pool(),
                nn.Conv2d(c, 2 * c, 4, 1, 3),
                nn.ReLU(),
                pool(),
                nn.Conv2d(2 * c, 2 * c, 3, 1, 1),
                nn.ReLU(),
                nn.Conv2d(2 * c, o, 4),
            )

    def __init__(self, o=96, c=32):
        super().__init__()
        self.teacher, self.student = self.Patch(o), self.Patch(2 * o)
        down = [nn.Conv2d(3, c, 4, 2, 1), nn.ReLU()]
        for i, k in ((c, c), (c, 2 * c), (2 * c, 2 * c)):
            down += [nn.Conv2d(i, k, 4, 2, 1), nn.ReLU()]
        self.down = nn.Sequential(*down, nn.Conv2d(2 * c, 2 * c, 8))
        self.ups = nn.ModuleList(nn.Conv2d(2 * c, 2 * c, 4, 1, 2) for _ in range(4))
        self.last = nn.Sequential(
            nn.Conv2d(2 * c, 2 * c, 3, 1, 1), nn.ReLU(), nn.Conv2d(2 * c, o, 3, 1, 1)
        )
        self.register_buffer("mean", 0.1 * torch.randn(1, o, 1, 1))
        self.register_buffer("std", 0.5 + torch.rand(1, o, 1, 1))
        self.o = o

    def forward(self, x):
        t = (self.teacher(x) - self.mean) / self.std
        s = self.student(x)
        y = self.down(x)
        for size, up in zip((3, 8, 15, 32), self.ups):
            y = up(F.interpolate(y, size, mode="bilinear", align_corners=False)).relu()
        y = F.interpolate(y, t.shape[2:], mode="bilinear", align_corners=False)
        y = self.last(y)
        a = (t - s[:, : self.o]).square().mean(1, keepdim=True)
        b = (y - s[:, self.o :]).square().mean(1, keepdim=True)
        both = 0.5 * (a - 0.1) / 0.9 + 0.5 * (b - 0.2) / 0.8
        both = F.pad(both, (4, 4, 4, 4))
        return F.interpolate(both, x.shape[2:], mode="bilinear", align_corners=False)


model("yolo12_n", image(256))(Yolo12)
model("retina_face", image(320, "batch=1"), script=True)(RetinaFace)
model("pp_lite_seg", image(256), script=True)(PpLiteSeg)
model("span_x4", image(64))(Span)
model("hour_glass", image(192))(HourGlass)
model("os_net", {"x": (("batch=1", 3, 256, 128), None)}, script=True)(OsNet)
model("efficient_ad", image(128))(EfficientAd)
