"""The sixth set of models of test/bench/UNSEEN.md: architectures of timm, and small networks for
images written after their papers; the other files of this name have text, series and sound, and the
rest. unseen.py writes them. Half of the set leaves its batch open."""

from zoo import SOURCES, image, model, nn, torch, vision

SOURCES.append(__file__)
F = nn.functional


def open_image(size=224, channels=3):
    return image(size, "batch=1", channels)


# ---- timm
model("visformer_tiny", open_image())(vision("timm", "visformer_tiny"))
model("volo_d1", image(128), script=True)(vision("timm", "volo_d1_224", img_size=128))
model("nest_tiny", image(112))(vision("timm", "nest_tiny", img_size=112))
model("sequencer2d_s", open_image(), script=True)(
    vision("timm", "sequencer2d_s", layers=(1, 1, 2, 1))
)
model("eca_nfnet_l0", image(160))(vision("timm", "eca_nfnet_l0"))
model("rexnet_100", open_image())(vision("timm", "rexnet_100"))
model("skresnet18", open_image(), script=True)(vision("timm", "skresnet18"))
model("cspdarknet53", image(160))(vision("timm", "cspdarknet53"))
model("focalnet_tiny", open_image(160), script=True)(vision("timm", "focalnet_tiny_srf"))
model("hardcorenas_a", image(), script=True)(vision("timm", "hardcorenas_a"))
model("lcnet_100", open_image())(vision("timm", "lcnet_100"))
model("repghostnet_100", open_image())(vision("timm", "repghostnet_100"))
model("dpn48b", image(160), script=True)(vision("timm", "dpn48b"))
model("xception41", open_image(128))(vision("timm", "xception41"))
model("convit_tiny", image(), script=True)(vision("timm", "convit_tiny"))
model("tnt_s", image())(vision("timm", "tnt_s_patch16_224", depth=3))
model("gernet_s", open_image(), script=True)(vision("timm", "gernet_s"))
model("halonet26t", image(256))(vision("timm", "halonet26t"))
model("resnetv2_bit", open_image(128))(vision("timm", "resnetv2_50x1_bit"))
model("mobilevitv2_050", open_image(256), script=True)(vision("timm", "mobilevitv2_050"))


# ---- restoration and generation
@model("dncnn", open_image(96, 1))
def dncnn(c=64, layers=12):
    body = [nn.Conv2d(1, c, 3, 1, 1), nn.ReLU()]
    for _ in range(layers):
        body += [nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU()]

    class Noise(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(*body, nn.Conv2d(c, 1, 3, 1, 1))

        def forward(self, x):
            return x - self.body(x)

    return Noise()


class Srgan(nn.Module):
    """PRelu, batch norms, shuffled pixels, a wide kernel at both ends."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            one = lambda: (nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))
            self.body = nn.Sequential(*one(), nn.PReLU(c), *one())

        def forward(self, x):
            return x + self.body(x)

    def __init__(self, c=48, blocks=4):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, c, 9, 1, 4), nn.PReLU(c))
        self.body = nn.Sequential(*(self.Block(c) for _ in range(blocks)))
        self.side = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))
        grow = lambda: (nn.Conv2d(c, 4 * c, 3, 1, 1), nn.PixelShuffle(2), nn.PReLU(c))
        self.end = nn.Sequential(*grow(), *grow(), nn.Conv2d(c, 3, 9, 1, 4))

    def forward(self, x):
        x = self.first(x)
        return self.end(x + self.side(self.body(x))).tanh()


model("srgan", image(40), script=True)(Srgan)


@model("cycle_gan", open_image(96))
def cycle_gan(w=32, blocks=3):
    """Reflected borders and instance norms around each convolution."""
    one = lambda i, o, k, s=1: (nn.Conv2d(i, o, k, s, 0), nn.InstanceNorm2d(o), nn.ReLU())

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            pad = nn.ReflectionPad2d
            self.body = nn.Sequential(pad(1), *one(c, c, 3), pad(1), *one(c, c, 3)[:2])

        def forward(self, x):
            return x + self.body(x)

    grow = lambda i, o: (nn.ConvTranspose2d(i, o, 3, 2, 1, 1), nn.InstanceNorm2d(o), nn.ReLU())
    return nn.Sequential(
        nn.ReflectionPad2d(3),
        *one(3, w, 7),
        nn.ReflectionPad2d(1),
        *one(w, 2 * w, 3, 2),
        nn.ReflectionPad2d(1),
        *one(2 * w, 4 * w, 3, 2),
        *(Block(4 * w) for _ in range(blocks)),
        *grow(4 * w, 2 * w),
        *grow(2 * w, w),
        nn.ReflectionPad2d(3),
        nn.Conv2d(w, 3, 7),
        nn.Tanh(),
    )


class Modulated(nn.Module):
    """StyleGAN 2: weights scaled by a style and normalized, one group for each image; noise, a blur
    after the enlargement."""

    class Layer(nn.Module):
        def __init__(self, i, o, k=3, style=128, up=False, norm=True):
            super().__init__()
            self.weight, self.line = nn.Parameter(torch.randn(o, i, k, k)), nn.Linear(style, i)
            self.up, self.k, self.norm = up, k, norm
            self.bias, self.strength = nn.Parameter(torch.randn(o)), nn.Parameter(torch.ones(1))
            row = torch.tensor([1.0, 3.0, 3.0, 1.0])
            self.register_buffer("blur", (row[:, None] * row / 16).view(1, 1, 4, 4))
            self.register_buffer("noise", torch.randn(1, 1, 64, 64))

        def forward(self, x, style):
            b, i, h, w = x.shape
            o = self.weight.shape[0]
            kernel = self.weight * (self.line(style) + 1).view(b, 1, i, 1, 1)
            if self.norm:
                kernel = kernel * (kernel.square().sum((2, 3, 4), keepdim=True) + 1e-8).rsqrt()
            x = x.reshape(1, b * i, h, w)
            if self.up:
                kernel = kernel.transpose(1, 2).reshape(b * i, o, self.k, self.k)
                x = F.conv_transpose2d(x, kernel, stride=2, groups=b)
                x = F.conv2d(x, self.blur.expand(b * o, 1, 4, 4), padding=1, groups=b * o)
            else:
                kernel = kernel.reshape(b * o, i, self.k, self.k)
                x = F.conv2d(x, kernel, padding=self.k // 2, groups=b)
            x = x.reshape(b, o, *x.shape[2:])
            if not self.norm:
                return x + self.bias.view(1, -1, 1, 1)
            x = x + self.strength * self.noise[:, :, : x.shape[2], : x.shape[3]]
            return F.leaky_relu(x + self.bias.view(1, -1, 1, 1), 0.2) * 2**0.5

    def __init__(self, c=128, style=128):
        super().__init__()
        self.map = nn.ModuleList(nn.Linear(style, style) for _ in range(4))
        self.start = nn.Parameter(torch.randn(1, c, 8, 8))
        steps = [(c, c, 3), (c, c, 3, style, True), (c, c, 3)]
        steps += [(c, c // 2, 3, style, True), (c // 2, c // 2, 3)]
        self.body = nn.ModuleList(self.Layer(*s) for s in steps)
        self.end = self.Layer(c // 2, 3, 1, style, False, False)

    def forward(self, z):
        z = z * (z.square().mean(1, keepdim=True) + 1e-8).rsqrt()
        for part in self.map:
            z = F.leaky_relu(part(z), 0.2) * 2**0.5
        x = self.start.expand(z.shape[0], -1, -1, -1)
        for part in self.body:
            x = part(x, z)
        return self.end(x, z)


model("style_gan2", {"z": ((2, 128), None)}, script=True)(Modulated)


# ---- masks, places and motion
class AttentionUnet(nn.Module):
    """Additive gates from the coarser map onto what is joined."""

    class Gate(nn.Module):
        def __init__(self, g, x, m):
            super().__init__()
            one = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 1), nn.BatchNorm2d(o))
            self.g, self.x, self.end = one(g, m), one(x, m), one(m, 1)

        def forward(self, g, x):
            return x * self.end(F.relu(self.g(g) + self.x(x))).sigmoid()

    def __init__(self, w=24):
        super().__init__()
        one = lambda i, o: (nn.Conv2d(i, o, 3, 1, 1), nn.BatchNorm2d(o), nn.ReLU())
        two = lambda i, o: nn.Sequential(*one(i, o), *one(o, o))
        up = lambda i, o: nn.Sequential(nn.Upsample(scale_factor=2), *one(i, o))
        sizes = [w, 2 * w, 4 * w, 8 * w]
        self.down = nn.ModuleList(two(i, o) for i, o in zip([3] + sizes, sizes))
        pairs = list(zip(sizes[:0:-1], sizes[-2::-1]))
        self.up = nn.ModuleList(up(i, o) for i, o in pairs)
        self.gates = nn.ModuleList(self.Gate(o, o, o // 2) for _, o in pairs)
        self.back = nn.ModuleList(two(i, o) for i, o in pairs)
        self.end = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        kept = []
        for k, part in enumerate(self.down):
            x = part(F.max_pool2d(x, 2) if k else x)
            kept.append(x)
        for k, (up, gate, back) in enumerate(zip(self.up, self.gates, self.back)):
            x = up(x)
            x = back(torch.cat([gate(x, kept[-2 - k]), x], 1))
        return self.end(x).sigmoid()


model("attention_unet", open_image(128))(AttentionUnet)


class BiFpn(nn.Module):
    """EfficientDet: weighted sums of levels, separable convolutions, heads shared by levels."""

    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            deep = lambda: nn.Sequential(
                nn.SiLU(),
                nn.Conv2d(c, c, 3, 1, 1, groups=c, bias=False),
                nn.Conv2d(c, c, 1),
                nn.BatchNorm2d(c),
            )
            self.nodes = nn.ModuleList(deep() for _ in range(4))
            self.w = nn.ParameterList(nn.Parameter(torch.rand(n) + 0.5) for n in (2, 2, 3, 2))

        def mix(self, k, *maps):
            w = F.relu(self.w[k])
            w = w / (w.sum() + 1e-4)
            return self.nodes[k](sum(w[j] * x for j, x in enumerate(maps)))

        def forward(self, a, b, c):
            grow = lambda x: F.interpolate(x, scale_factor=2.0)
            middle = self.mix(0, b, grow(c))
            a = self.mix(1, a, grow(middle))
            b = self.mix(2, b, middle, F.max_pool2d(a, 3, 2, 1))
            return a, b, self.mix(3, c, F.max_pool2d(b, 3, 2, 1))

    def __init__(self, c=64, classes=20, anchors=9):
        super().__init__()
        one = lambda i, o, s: nn.Sequential(
            nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU()
        )
        self.stem = nn.Sequential(one(3, 24, 2), one(24, 40, 2), one(40, c, 2))
        self.down = nn.ModuleList(one(c, c, 2) for _ in "ab")
        self.layers = nn.ModuleList(self.Layer(c) for _ in "ab")
        head = lambda o: nn.Sequential(
            nn.Conv2d(c, c, 3, 1, 1, groups=c),
            nn.Conv2d(c, c, 1),
            nn.SiLU(),
            nn.Conv2d(c, c, 3, 1, 1, groups=c),
            nn.Conv2d(c, o * anchors, 1),
        )
        self.kinds, self.boxes, self.classes = head(classes), head(4), classes

    def forward(self, x):
        a = self.stem(x)
        maps = [a, self.down[0](a), self.down[1](self.down[0](a))]
        for part in self.layers:
            maps = part(*maps)
        flat = lambda x, n: x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, n)
        kinds = torch.cat([flat(self.kinds(x), self.classes) for x in maps], 1)
        boxes = torch.cat([flat(self.boxes(x), 4) for x in maps], 1)
        return torch.cat([kinds.sigmoid(), boxes], 2)


model("bifpn_det", open_image(256), script=True)(BiFpn)


class Pose(nn.Module):
    """A small OpenPose: stages of 7x7 kernels, each given the previous maps of part affinities and
    joints."""

    def __init__(self, w=64, fields=38, places=19, stages=2):
        super().__init__()
        one = lambda i, o, k=3: (nn.Conv2d(i, o, k, 1, k // 2), nn.ReLU())
        pool = nn.MaxPool2d(2)
        stem = *one(3, w // 2), *one(w // 2, w // 2), pool, *one(w // 2, w), *one(w, w), pool
        self.stem = nn.Sequential(*stem, *one(w, w), *one(w, w), pool, *one(w, w))
        first = lambda o: nn.Sequential(
            *one(w, w), *one(w, w), *one(w, 2 * w, 1), nn.Conv2d(2 * w, o, 1)
        )
        more = w + fields + places
        later = lambda o: nn.Sequential(
            *one(more, w, 7), *one(w, w, 7), *one(w, w, 1), nn.Conv2d(w, o, 1)
        )
        self.first = nn.ModuleList((first(fields), first(places)))
        self.later = nn.ModuleList(
            nn.ModuleList((later(fields), later(places))) for _ in range(stages)
        )

    def forward(self, x):
        x = self.stem(x)
        a, b = (part(x) for part in self.first)
        for one, two in self.later:
            y = torch.cat([a, b, x], 1)
            a, b = one(y), two(y)
        return torch.cat([a, b], 1)


model("open_pose", open_image(192))(Pose)


class Raft(nn.Module):
    """Optical flow: correlations of all pairs, looked up around the flow, a convolutional GRU in
    rows and columns, twice; instance norms in the encoder."""

    def __init__(self, c=64, h=48, radius=2):
        super().__init__()
        self.radius, around = radius, (2 * radius + 1) ** 2
        one = lambda i, o, k, s: (nn.Conv2d(i, o, k, s, k // 2), nn.InstanceNorm2d(o), nn.ReLU())
        self.look = nn.Sequential(*one(3, 32, 7, 2), *one(32, 48, 3, 2), *one(48, c, 3, 2))
        self.state = nn.Conv2d(c, 2 * h, 1)
        self.motion = nn.Sequential(nn.Conv2d(around + 2, h, 3, 1, 1), nn.ReLU())
        gate = lambda k: nn.Conv2d(3 * h, h, k, 1, (k[0] // 2, k[1] // 2))
        self.gates = nn.ModuleList(nn.ModuleList(gate(k) for _ in "zrq") for k in ((1, 5), (5, 1)))
        self.end = nn.Sequential(nn.Conv2d(h, 64, 3, 1, 1), nn.ReLU(), nn.Conv2d(64, 2, 3, 1, 1))

    def forward(self, one, two):
        a, b = self.look(one), self.look(two)
        n, c, h, w = a.shape
        pairs = a.flatten(2).transpose(1, 2) @ b.flatten(2) / c**0.5
        pairs = pairs.reshape(n * h * w, 1, h, w)
        state, given = self.state(a).chunk(2, 1)
        state, given = state.tanh(), given.relu()
        ys, xs = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
        start = torch.stack((xs, ys))[None]
        flow, r = torch.zeros_like(start), self.radius
        d = torch.arange(-r, r + 1).float()
        window = torch.stack(torch.meshgrid(d, d, indexing="ij")[::-1], -1)[None]
        for _ in range(2):
            at = (start + flow).permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + window
            at = at * torch.tensor([2.0 / (w - 1), 2.0 / (h - 1)]) - 1.0
            seen = F.grid_sample(pairs, at, align_corners=True)
            seen = seen.view(n, h, w, -1).permute(0, 3, 1, 2)
            x = torch.cat([self.motion(torch.cat([seen, flow], 1)), given], 1)
            for z, reset, q in self.gates:
                both = torch.cat([state, x], 1)
                keep, look = z(both).sigmoid(), reset(both).sigmoid()
                new = q(torch.cat([look * state, x], 1)).tanh()
                state = (1 - keep) * state + keep * new
            flow = flow + self.end(state)
        return flow


PICTURE = ((1, 3, 128, 160), None)
model("raft", {"a": PICTURE, "b": PICTURE})(Raft)
