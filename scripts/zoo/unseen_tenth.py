"""The tenth set of models of test/bench/UNSEEN.md: architectures of timm and transformers, and
small networks written after their papers, many of them with groups of channels or with numbers of
channels that fill no blocks."""

from zoo import SOURCES, image, model, nn, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional

# ---- timm
for name, size in {
    "regnetx_006": 224,
    "regnety_008": 192,
    "resnext50_32x4d": 160,
    "seresnext26d_32x4d": 160,
    "hrnet_w30": 128,
    "dpn68": 160,
    "res2next50": 128,
    "cspresnext50": 128,
    "rexnetr_200": 160,
    "mvitv2_tiny": 224,
    "efficientvit_m0": 224,
    "vovnet39a": 128,
    "resnet26t": 160,
    "spnasnet_100": 224,
    "efficientnet_es": 192,
    "poolformerv2_s12": 160,
    "convformer_s18": 160,
    "hgnet_tiny": 160,
    "skresnext50_32x4d": 128,
}.items():
    fixed, script = {"mvitv2_tiny", "efficientvit_m0"}, {"poolformerv2_s12", "convformer_s18"}
    sizes = image(size, 1 if name in fixed | script else "batch=1")
    model(name, sizes, script=name in script)(vision("timm", name))


# ---- small networks
def conv(i, o, k=3, s=1, act=lambda: nn.LeakyReLU(0.1), **options):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, **options), act())


class FlowNet(nn.Module):
    """FlowNetS: what is known of the flow, two channels, joins the maps of each level."""

    def __init__(self, c=(32, 64, 128, 256)):
        super().__init__()
        steps = [conv(i, o, k, 2) for i, o, k in zip((6,) + c, c, (7, 5, 5, 3))]
        self.down = nn.ModuleList(steps)
        wide = [c[3], c[2] + 130, c[1] + 66]
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(i, o, 4, 2, 1) for i, o in zip(wide, (128, 64, 32))
        )
        self.flow = nn.ModuleList(nn.Conv2d(i, 2, 3, 1, 1) for i in wide + [c[0] + 34])
        self.larger = nn.ModuleList(nn.ConvTranspose2d(2, 2, 4, 2, 1) for _ in range(3))

    def forward(self, x):
        maps = []
        for step in self.down:
            x = step(x)
            maps.append(x)
        for k in range(3):
            flow = self.larger[k](self.flow[k](x))
            x = torch.cat((maps[2 - k], F.leaky_relu(self.up[k](x), 0.1), flow), 1)
        return self.flow[3](x)


class DenseFlow(nn.Module):
    """PWC-Net's estimator: correlations of two maps over 9x9 shifts, then convolutions that each
    see all before."""

    def __init__(self, c=32):
        super().__init__()
        widths = (128, 128, 96, 64, 32)
        first = 81 + c
        self.layers = nn.ModuleList(conv(first + sum(widths[:k]), w) for k, w in enumerate(widths))
        self.flow = nn.Conv2d(first + sum(widths), 2, 3, 1, 1)

    def forward(self, a, b):
        h, w = a.shape[2:]
        far = F.pad(b, (4, 4, 4, 4))
        shifts = [(a * far[:, :, i : i + h, j : j + w]).mean(1) for i in range(9) for j in range(9)]
        x = torch.cat((F.leaky_relu(torch.stack(shifts, 1), 0.1), a), 1)
        for layer in self.layers:
            x = torch.cat((layer(x), x), 1)
        return self.flow(x)


class Pose(nn.Module):
    """OpenPose: features, 19 maps of joints and 38 of limbs go into each further stage."""

    class Stage(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            act = nn.ReLU
            self.body = nn.Sequential(*(conv(c, 64, 3, 1, act) for c in (i, 64, 64)))
            self.end = nn.Sequential(conv(64, 64, 1, 1, act), nn.Conv2d(64, o, 1))

        def forward(self, x):
            return self.end(self.body(x))

    def __init__(self):
        super().__init__()
        act = nn.ReLU
        self.first = nn.Sequential(
            conv(3, 32, 3, 2, act), conv(32, 64, 3, 2, act), conv(64, 128, 3, 2, act)
        )
        self.limbs = nn.ModuleList(self.Stage(i, 38) for i in (128, 185))
        self.joints = nn.ModuleList(self.Stage(i, 19) for i in (128, 185))

    def forward(self, x):
        seen = x = self.first(x)
        for limbs, joints in zip(self.limbs, self.joints):
            a, b = limbs(seen), joints(seen)
            seen = torch.cat((x, b, a), 1)
        return torch.cat((a, b), 1)


class Enlarged(nn.Module):
    """VDSR: a bicubically enlarged image and what a plain network adds to it."""

    def __init__(self, c=64, depth=8):
        super().__init__()
        act = nn.ReLU
        inner = [conv(c, c, 3, 1, act, bias=False) for _ in range(depth)]
        self.body = nn.Sequential(
            conv(1, c, 3, 1, act, bias=False), *inner, nn.Conv2d(c, 1, 3, 1, 1, bias=False)
        )

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        return x + self.body(x)


class FastEnlarged(nn.Module):
    """FSRCNN: 56 channels, 12 between, enlarged by the last layer."""

    def __init__(self, d=56, s=12, m=4):
        super().__init__()
        inner = [conv(s, s, 3, act=lambda: nn.PReLU(s)) for _ in range(m)]
        self.body = nn.Sequential(
            conv(1, d, 5, act=lambda: nn.PReLU(d)),
            conv(d, s, 1, act=lambda: nn.PReLU(s)),
            *inner,
            conv(s, d, 1, act=lambda: nn.PReLU(d)),
            nn.ConvTranspose2d(d, 1, 9, 2, 4, output_padding=1),
        )

    def forward(self, x):
        return self.body(x)


class Masks(nn.Module):
    """SOLO's head: coordinates join the features, convolutions with group norms."""

    def __init__(self, c=128):
        super().__init__()
        one = lambda i: nn.Sequential(
            nn.Conv2d(i, c, 3, 1, 1, bias=False), nn.GroupNorm(32, c), nn.ReLU()
        )
        self.kinds = nn.Sequential(one(c), one(c), one(c), nn.Conv2d(c, 80, 3, 1, 1))
        self.kernels = nn.Sequential(one(c + 2), one(c), one(c), nn.Conv2d(c, c, 3, 1, 1))

    def forward(self, x):
        n, _, h, w = x.shape
        rows = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(n, 1, h, w)
        columns = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(n, 1, h, w)
        kinds = self.kinds(x).sigmoid()
        return torch.cat((kinds, self.kernels(torch.cat((x, columns, rows), 1))), 1)


class Inpainting(nn.Module):
    """Gated convolutions, some of them dilated, over an image, its mask and ones."""

    class Gated(nn.Module):
        def __init__(self, i, o, k=3, s=1, d=1):
            super().__init__()
            self.both = nn.Conv2d(i, 2 * o, k, s, d * (k // 2), d)

        def forward(self, x):
            a, gate = self.both(x).chunk(2, 1)
            return F.elu(a) * gate.sigmoid()

    def __init__(self, c=24):
        super().__init__()
        one = self.Gated
        self.down = nn.Sequential(one(5, c, 5), one(c, 2 * c, 3, 2), one(2 * c, 4 * c, 3, 2))
        self.inner = nn.Sequential(*(one(4 * c, 4 * c, 3, 1, d) for d in (1, 2, 4, 8, 1)))
        self.up = nn.ModuleList((one(4 * c, 2 * c), one(2 * c, c)))
        self.end = nn.Conv2d(c, 3, 3, 1, 1)

    def forward(self, x, mask):
        x = torch.cat((x, torch.ones_like(mask), mask), 1)
        x = self.inner(self.down(x))
        for step in self.up:
            x = step(F.interpolate(x, scale_factor=2, mode="nearest"))
        return self.end(x).tanh()


class Rain(nn.Module):
    """A recurrent cell of convolutions over six rounds: PReNet."""

    def __init__(self, c=32):
        super().__init__()
        self.first = conv(6, c, act=nn.ReLU)
        self.gates = nn.Conv2d(2 * c, 4 * c, 3, 1, 1)
        self.body = nn.ModuleList(
            nn.Sequential(conv(c, c, act=nn.ReLU), conv(c, c, act=nn.ReLU)) for _ in range(3)
        )
        self.end, self.c = nn.Conv2d(c, 3, 3, 1, 1), c

    def forward(self, x):
        y, h, memory = x, None, None
        for _ in range(4):
            z = self.first(torch.cat((x, y), 1))
            h = torch.zeros_like(z) if h is None else h
            memory = torch.zeros_like(z) if memory is None else memory
            i, f, g, o = self.gates(torch.cat((z, h), 1)).chunk(4, 1)
            memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
            h = z = o.sigmoid() * memory.tanh()
            for block in self.body:
                z = (z + block(z)).relu()
            y = x + self.end(z)
        return y


def maps(channels, size):
    return ((1, channels, size, size), None)


model("flow_net", {"x": maps(6, 192)})(FlowNet)
model("dense_flow", {"a": maps(32, 48), "b": maps(32, 48)})(DenseFlow)
model("open_pose", {"x": maps(3, 256)})(Pose)
model("vdsr", {"x": maps(1, 64)})(Enlarged)
model("fsrcnn", {"x": maps(1, 128)}, script=True)(FastEnlarged)
model("solo_head", {"x": maps(128, 40)})(Masks)
model("inpainting", {"x": maps(3, 128), "mask": maps(1, 128)})(Inpainting)
model("pre_net", {"x": maps(3, 64)})(Rain)

# ---- transformers
TWO = {"num_hidden_layers": 2, "hidden_size": 384, "num_attention_heads": 6}
model("dinov2_registers_2", {"pixel_values": maps(3, 140)})(
    transformer(
        "Dinov2WithRegistersModel",
        "Dinov2WithRegistersConfig",
        "pixel_values",
        image_size=224,
        **TWO,
    )
)
model("pvt_v2_b1", {"pixel_values": maps(3, 160)})(
    transformer("PvtV2Model", "PvtV2Config", "pixel_values", depths=[1, 1, 1, 1])
)
