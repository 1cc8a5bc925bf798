"""The fourth set of models of test/bench/UNSEEN.md, of many kinds; unseen.py writes them. Each
class here is a small form of what its paper describes."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional

# ---- images
model("ese_vovnet19b_dw", image())(vision("timm", "ese_vovnet19b_dw"))
model("nf_regnet_b0", image(), script=True)(vision("timm", "nf_regnet_b0"))
model("botnet26t", image(192))(vision("timm", "botnet26t_256", img_size=192))
model("mixnet_s", image(), script=True)(vision("timm", "mixnet_s"))
model("resnest14d", image(192))(vision("timm", "resnest14d"))
model("coat_lite_tiny", image(192), script=True)(vision("timm", "coat_lite_tiny", img_size=192))
model("gmlp_ti16", image())(vision("timm", "gmlp_ti16_224"))
model("pit_xs", image(), script=True)(vision("timm", "pit_xs_224"))
model("lambda_resnet26t", image(192))(vision("timm", "lambda_resnet26t", img_size=192))
model("swiftformer_xs", image(), script=True)(vision("timm", "swiftformer_xs"))


def conv(i, o, k=3, s=1, act=nn.ReLU):
    layers = nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), act()
    return nn.Sequential(*layers)


class CenterNet(nn.Module):
    """A residual network, three transposed convolutions, heads for middles, sizes, offsets."""

    def __init__(self, classes=20):
        super().__init__()
        import torchvision

        inner = torchvision.models.resnet18(weights=None)
        self.body = nn.Sequential(*list(inner.children())[:-2])
        widths = (512, 128, 64, 64)
        up = lambda i, o: nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False)
        layers = [(up(i, o), nn.BatchNorm2d(o), nn.ReLU()) for i, o in zip(widths, widths[1:])]
        self.up = nn.Sequential(*(layer for unit in layers for layer in unit))
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, n, 1))
            for n in (classes, 2, 2)
        )

    def forward(self, x):
        x = self.up(self.body(x))
        kinds, sizes, offsets = (head(x) for head in self.heads)
        kinds = kinds.sigmoid()
        peaks = (F.max_pool2d(kinds, 3, 1, 1) == kinds).float()
        return torch.cat([kinds * peaks, sizes, offsets], 1)


model("centernet_r18", image(224), script=True)(CenterNet)


class RetinaHead(nn.Module):
    """A pyramid over a small network; towers shared by its five levels, with group norms."""

    def __init__(self, width=64, classes=20, anchors=9):
        super().__init__()
        sizes = (3, 32, 64, 128, 256, 256)
        self.body = nn.ModuleList(conv(i, o, 3, 2) for i, o in zip(sizes, sizes[1:]))
        self.side = nn.ModuleList(nn.Conv2d(n, width, 1) for n in sizes[3:])
        self.out = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.six, self.seven = (nn.Conv2d(width, width, 3, 2, 1) for _ in range(2))
        self.classes = classes

        def tower(n):
            layers = [
                l
                for _ in range(3)
                for l in (nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width), nn.ReLU())
            ]
            return nn.Sequential(*layers, nn.Conv2d(width, n, 3, padding=1))

        self.kinds, self.boxes = tower(anchors * classes), tower(anchors * 4)

    def forward(self, x):
        levels, y = [], None
        for k, part in enumerate(self.body):
            x = part(x)
            if k >= 2:
                levels.append(x)
        pyramid = []
        for level, side, out in list(zip(levels, self.side, self.out))[::-1]:
            wide = F.interpolate(y, size=level.shape[2:], mode="nearest") if y is not None else 0
            y = side(level) + wide
            pyramid.insert(0, out(y))
        pyramid.append(self.six(pyramid[-1]))
        pyramid.append(self.seven(F.relu(pyramid[-1])))

        def flat(y, n):
            a, b, h, w = y.shape
            return y.view(a, b // n, n, h, w).permute(0, 3, 4, 1, 2).reshape(a, -1, n)

        kinds = torch.cat([flat(self.kinds(p), self.classes) for p in pyramid], 1).sigmoid()
        return torch.cat([torch.cat([flat(self.boxes(p), 4) for p in pyramid], 1), kinds], 2)


model("retina_head", image(256))(RetinaHead)


@model("upernet_convnext", image(128))
def upernet():
    import transformers

    settings = transformers.UperNetConfig(
        backbone_config=transformers.ConvNextConfig(
            depths=[2, 2, 2, 2],
            hidden_sizes=[40, 80, 160, 320],
            out_features=["stage1", "stage2", "stage3", "stage4"],
        ),
        hidden_size=64,
        auxiliary_in_channels=160,
        auxiliary_channels=32,
        num_labels=20,
    )
    inner = transformers.UperNetForSemanticSegmentation(settings)
    return Called(inner, ["pixel_values"], "logits")


class UNet3d(nn.Module):
    """Volumes: instance norms, leaky activations, transposed convolutions upwards."""

    def __init__(self, widths=(16, 32, 64, 96)):
        super().__init__()
        norm, act = lambda o: nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01)
        unit = lambda i, o, s=1: [nn.Conv3d(i, o, 3, s, 1), norm(o), act]
        two = lambda i, o, s=1: nn.Sequential(*unit(i, o, s), *unit(o, o))
        pairs = list(zip((1,) + widths, widths))
        self.down = nn.ModuleList(two(i, o, 2 if k else 1) for k, (i, o) in enumerate(pairs))
        back = pairs[:0:-1]
        self.up = nn.ModuleList(nn.ConvTranspose3d(o, i, 2, 2) for i, o in back)
        self.join = nn.ModuleList(two(2 * i, i) for i, o in back)
        self.end = nn.Conv3d(widths[0], 3, 1)

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
        for up, join, side in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), side], 1))
        return self.end(x)


model("unet3d", {"x": ((1, 1, 32, 32, 32), None)})(UNet3d)


class Pix2Pix(nn.Module):
    """A U whose steps are strided and transposed convolutions of kernel 4."""

    def __init__(self, widths=(32, 64, 128, 256, 256, 256)):
        super().__init__()
        pairs = list(zip((3,) + widths, widths))
        self.down = nn.ModuleList()
        for k, (i, o) in enumerate(pairs):
            norm = [nn.BatchNorm2d(o)] if 0 < k < len(pairs) - 1 else []
            act = [nn.LeakyReLU(0.2)] if k else []
            self.down.append(nn.Sequential(*act, nn.Conv2d(i, o, 4, 2, 1), *norm))
        self.up = nn.ModuleList()
        for k, (i, o) in enumerate(pairs[::-1]):
            last = k == len(pairs) - 1
            come = o if k == 0 else 2 * o
            norm = [nn.Tanh()] if last else [nn.BatchNorm2d(i)]
            self.up.append(nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(come, i, 4, 2, 1), *norm))

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
        for k, part in enumerate(self.up):
            x = part(x if k == 0 else torch.cat([x, kept[-1 - k]], 1))
        return x


model("pix2pix", image(256))(Pix2Pix)


class StyleNet(nn.Module):
    """Style transfer: mirrored borders, instance norms, residual blocks."""

    class Layer(nn.Module):
        def __init__(self, i, o, k, s=1, up=0):
            super().__init__()
            self.pad, self.conv, self.up = nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), up

        def forward(self, x):
            x = F.interpolate(x, scale_factor=2.0, mode="nearest") if self.up else x
            return self.conv(self.pad(x))

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            layer, norm = StyleNet.Layer, lambda: nn.InstanceNorm2d(c, affine=True)
            self.body = nn.Sequential(layer(c, c, 3), norm(), nn.ReLU(), layer(c, c, 3), norm())

        def forward(self, x):
            return x + self.body(x)

    def __init__(self, c=16):
        super().__init__()
        norm = lambda c: nn.InstanceNorm2d(c, affine=True)
        unit = lambda *a, **k: [self.Layer(*a, **k), norm(a[1]), nn.ReLU()]
        self.body = nn.Sequential(
            *unit(3, c, 9),
            *unit(c, 2 * c, 3, 2),
            *unit(2 * c, 4 * c, 3, 2),
            *(self.Block(4 * c) for _ in range(3)),
            *unit(4 * c, 2 * c, 3, up=1),
            *unit(2 * c, c, 3, up=1),
            self.Layer(c, 3, 9),
        )

    def forward(self, x):
        return self.body(x)


model("style_net", image(160), script=True)(StyleNet)


class NafNet(nn.Module):
    """Restoration without activations: halves multiplied, channels weighed, pixels shuffled."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(1, c), nn.GroupNorm(1, c)
            self.a, self.c = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.b = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
            self.weigh = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1))
            self.d, self.e = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.beta, self.gamma = (nn.Parameter(torch.zeros(1, c, 1, 1)) for _ in range(2))

        def forward(self, x):
            a, b = self.b(self.a(self.norm1(x))).chunk(2, 1)
            y = a * b
            x = x + self.c(y * self.weigh(y)) * self.beta
            a, b = self.d(self.norm2(x)).chunk(2, 1)
            return x + self.e(a * b) * self.gamma

    def __init__(self, c=16, depth=3):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, 3, 3, padding=1)
        widths = [c << k for k in range(depth)]
        self.enc = nn.ModuleList(self.Block(w) for w in widths)
        self.down = nn.ModuleList(nn.Conv2d(w, 2 * w, 2, 2) for w in widths)
        self.middle = nn.Sequential(*(self.Block(c << depth) for _ in range(2)))
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(2 * w, 4 * w, 1, bias=False), nn.PixelShuffle(2))
            for w in widths[::-1]
        )
        self.dec = nn.ModuleList(self.Block(w) for w in widths[::-1])

    def forward(self, x):
        y, kept = self.first(x), []
        for enc, down in zip(self.enc, self.down):
            y = enc(y)
            kept.append(y)
            y = down(y)
        y = self.middle(y)
        for up, dec, side in zip(self.up, self.dec, kept[::-1]):
            y = dec(up(y) + side)
        return x + self.last(y)


model("nafnet", image(128))(NafNet)


class PointFinder(nn.Module):
    """SuperPoint: cells of 8 x 8 pixels and a bin for none; descriptors of unit length."""

    def __init__(self, widths=(32, 32, 64, 64)):
        super().__init__()
        layers, last = [], 1
        for k, w in enumerate(widths):
            for i in (last, w):
                layers += [nn.Conv2d(i, w, 3, padding=1), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if k < 3 else []
            last = w
        self.body = nn.Sequential(*layers)
        head = lambda n: nn.Sequential(
            nn.Conv2d(last, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, n, 1)
        )
        self.cells, self.words = head(65), head(128)

    def forward(self, x):
        x = self.body(x)
        cells = self.cells(x).softmax(1)[:, :-1]
        b, _, h, w = cells.shape
        map_ = cells.permute(0, 2, 3, 1).reshape(b, h, w, 8, 8)
        map_ = map_.permute(0, 1, 3, 2, 4).reshape(b, 1, h * 8, w * 8)
        words = self.words(x)
        words = words / words.norm(p=2, dim=1, keepdim=True)
        return map_ * F.interpolate(words, scale_factor=8.0, mode="bilinear").mean(1, True)


model("point_finder", {"x": ((1, 1, 160, 160), None)}, script=True)(PointFinder)


# ---- sound
class Ecapa(nn.Module):
    """Speakers: dilated convolutions over groups of channels one after another, weighed channels,
    mean and deviation by attention."""

    class Block(nn.Module):
        def __init__(self, c, d, parts=8):
            super().__init__()
            one = lambda i, k, d: nn.Sequential(
                nn.Conv1d(i, i, k, dilation=d, padding=d * (k // 2)), nn.ReLU(), nn.BatchNorm1d(i)
            )
            self.first, self.last = one(c, 1, 1), one(c, 1, 1)
            self.inner = nn.ModuleList(one(c // parts, 3, d) for _ in range(parts - 1))
            self.weigh = nn.Sequential(nn.Conv1d(c, 64, 1), nn.ReLU(), nn.Conv1d(64, c, 1))

        def forward(self, x):
            parts, y = self.first(x).chunk(len(self.inner) + 1, 1), None
            out = [parts[0]]
            for part, inner in zip(parts[1:], self.inner):
                y = inner(part if y is None else part + y)
                out.append(y)
            y = self.last(torch.cat(out, 1))
            return x + y * self.weigh(y.mean(2, keepdim=True)).sigmoid()

    def __init__(self, c=256, features=80):
        super().__init__()
        layer = nn.Conv1d(features, c, 5, padding=2)
        self.first = nn.Sequential(layer, nn.ReLU(), nn.BatchNorm1d(c))
        self.body = nn.ModuleList(self.Block(c, d) for d in (2, 3, 4))
        self.join = nn.Sequential(nn.Conv1d(3 * c, 768, 1), nn.ReLU())
        self.look = nn.Sequential(
            nn.Conv1d(3 * 768, 128, 1),
            nn.ReLU(),
            nn.BatchNorm1d(128),
            nn.Tanh(),
            nn.Conv1d(128, 768, 1),
        )
        self.norm, self.end = nn.BatchNorm1d(2 * 768), nn.Linear(2 * 768, 192)

    def forward(self, x):
        x, kept = self.first(x), []
        for part in self.body:
            x = part(x)
            kept.append(x)
        x = self.join(torch.cat(kept, 1))
        mean, spread = x.mean(2, True).expand_as(x), x.std(2, keepdim=True).expand_as(x)
        w = self.look(torch.cat([x, mean, spread], 1)).softmax(2)
        mean = (x * w).sum(2)
        spread = ((x * x * w).sum(2) - mean * mean).clamp(min=1e-6).sqrt()
        return self.end(self.norm(torch.cat([mean, spread], 1)))


model("ecapa", {"x": ((1, 80, 200), None)}, script=True)(Ecapa)


class Vocos(nn.Module):
    """ConvNeXt in one dimension; magnitude and phase of a spectrum, and its way back by products
    with cosines and sines, overlapping frames added."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.deep, self.norm = nn.Conv1d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c)
            self.a, self.b = nn.Linear(c, 3 * c), nn.Linear(3 * c, c)
            self.scale = nn.Parameter(torch.full((c,), 0.125))

        def forward(self, x):
            y = self.norm(self.deep(x).transpose(1, 2))
            return x + (self.scale * self.b(F.gelu(self.a(y)))).transpose(1, 2)

    def __init__(self, c=256, n=512, hop=128):
        super().__init__()
        self.first, self.norm = nn.Conv1d(80, c, 7, padding=3), nn.LayerNorm(c)
        self.body = nn.Sequential(*(self.Block(c) for _ in range(4)))
        self.out, self.head = nn.LayerNorm(c), nn.Linear(c, n + 2)
        k, t = torch.arange(n // 2 + 1)[:, None], torch.arange(n)[None]
        angle, window = 2 * torch.pi * k * t / n, torch.hann_window(n)
        self.register_buffer("back", torch.cat([angle.cos(), -angle.sin()])[:, None] * window / n)
        self.hop = hop

    def forward(self, x):
        x = self.norm(self.first(x).transpose(1, 2)).transpose(1, 2)
        x = self.head(self.out(self.body(x).transpose(1, 2))).transpose(1, 2)
        size, phase = x.chunk(2, 1)
        size = size.exp().clamp(max=100)
        parts = torch.cat([size * phase.cos(), size * phase.sin()], 1)
        return F.conv_transpose1d(parts, self.back, stride=self.hop)


model("vocos", {"x": ((1, 80, 100), None)})(Vocos)


class Demucs(nn.Module):
    """Waves apart: strided and transposed convolutions, gates, an LSTM between them."""

    def __init__(self, c=48, depth=4):
        super().__init__()
        self.down, self.up, last = nn.ModuleList(), nn.ModuleList(), 1
        for k in range(depth):
            w = c << k if k < 3 else c << 2
            self.down.append(
                nn.Sequential(
                    nn.Conv1d(last, w, 8, 4), nn.ReLU(), nn.Conv1d(w, 2 * w, 1), nn.GLU(1)
                )
            )
            end = [nn.ReLU()] if k else []
            self.up.insert(
                0,
                nn.Sequential(
                    nn.Conv1d(w, 2 * w, 1), nn.GLU(1), nn.ConvTranspose1d(w, last, 8, 4), *end
                ),
            )
            last = w
        self.lstm = nn.LSTM(last, last, 2, batch_first=True)

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
        x = self.lstm(x.transpose(1, 2))[0].transpose(1, 2)
        for part in self.up:
            x = part(x + kept.pop()[..., : x.shape[-1]])
        return x


model("demucs", {"x": ((1, 1, 10580), None)}, script=True)(Demucs)


# ---- series, graphs, tables
model("patch_mixer", {"x": ((8, 512, 7), None)})(
    transformer(
        "PatchTSMixerForPrediction",
        "PatchTSMixerConfig",
        "past_values",
        "prediction_outputs",
        context_length=512,
        prediction_length=96,
        patch_length=16,
        patch_stride=16,
        num_input_channels=7,
        d_model=64,
        num_layers=4,
        gated_attn=True,
    )
)


class WaveNet(nn.Module):
    """Gated causal dilated convolutions with summed skips."""

    def __init__(self, c=64, layers=8):
        super().__init__()
        self.first = nn.Conv1d(8, c, 1)
        self.both = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=1 << k) for k in range(layers))
        self.skip, self.stay = (
            nn.ModuleList(nn.Conv1d(c, c, 1) for _ in range(layers)) for _ in range(2)
        )
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, 8, 1))

    def forward(self, x):
        x, skips = self.first(x), 0
        for k, (both, skip, stay) in enumerate(zip(self.both, self.skip, self.stay)):
            a, b = both(F.pad(x, (1 << k, 0))).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            skips, x = skips + skip(y), x + stay(y)
        return self.end(skips)


model("wave_net", {"x": ((4, 8, 512), None)}, script=True)(WaveNet)


class SchNet(nn.Module):
    """Atoms: filters from distances, spread over Gaussians, multiply the neighbours' features."""

    class Block(nn.Module):
        def __init__(self, c, g):
            super().__init__()
            self.a, self.b = nn.Linear(c, c, bias=False), nn.Linear(c, c)
            self.filter1, self.filter2, self.end = nn.Linear(g, c), nn.Linear(c, c), nn.Linear(c, c)

        def act(self, x):
            return F.softplus(x) - 0.6931472

        def forward(self, x, spread, cut, a, b):
            w = self.filter2(self.act(self.filter1(spread))) * cut
            y = torch.zeros_like(x).index_add(0, b, self.a(x)[a] * w)
            return x + self.end(self.act(self.b(y)))

    def __init__(self, c=128, g=50, layers=3):
        super().__init__()
        self.kinds, self.register = nn.Embedding(100, c), None
        self.register_buffer("centre", torch.linspace(0, 10, g))
        self.body = nn.ModuleList(self.Block(c, g) for _ in range(layers))
        self.end = nn.Sequential(nn.Linear(c, 64), nn.Softplus(), nn.Linear(64, 1))

    def forward(self, kinds, place, a, b):
        x, far = self.kinds(kinds), (place[a] - place[b]).pow(2).sum(1, keepdim=True).sqrt()
        spread = torch.exp(-10 * (far - self.centre).pow(2))
        cut = 0.5 * (torch.cos(far * torch.pi / 10) + 1) * (far < 10).float()
        for part in self.body:
            x = part(x, spread, cut, a, b)
        return self.end(x).sum(0)


EDGES = ((1500,), 60)
ATOMS = {"kinds": ((60,), 100), "place": ((60, 3), None), "a": EDGES, "b": EDGES}
model("schnet", ATOMS)(SchNet)


class CrossNet(nn.Module):
    """DCN v2 with experts: low-rank crosses beside a deep network over embedded fields."""

    def __init__(self, fields=26, words=500, width=16, numbers=13, experts=4, rank=64):
        super().__init__()
        self.rows, n = nn.Embedding(fields * words, width), fields * width + numbers
        self.register_buffer("start", torch.arange(fields) * words)
        self.v = nn.ParameterList(nn.Parameter(torch.randn(experts, n, rank) / 20) for _ in "123")
        self.c = nn.ParameterList(nn.Parameter(torch.randn(experts, rank, rank) / 8) for _ in "123")
        self.u = nn.ParameterList(nn.Parameter(torch.randn(experts, rank, n) / 8) for _ in "123")
        self.b = nn.ParameterList(nn.Parameter(torch.randn(n) / 8) for _ in "123")
        self.gate = nn.ModuleList(nn.Linear(n, experts) for _ in "123")
        row = lambda i, o: [nn.Linear(i, o), nn.ReLU(), nn.BatchNorm1d(o)]
        self.deep = nn.Sequential(*row(n, 512), *row(512, 256))
        self.end = nn.Linear(n + 256, 1)

    def forward(self, ids, x):
        x = x0 = torch.cat([self.rows(ids + self.start).flatten(1), x], 1)
        for v, c, u, b, gate in zip(self.v, self.c, self.u, self.b, self.gate):
            y = torch.tanh(torch.einsum("bn,enr->ber", x, v))
            y = torch.tanh(torch.einsum("ber,ers->bes", y, c))
            y = x0[:, None] * (torch.einsum("ber,ern->ben", y, u) + b)
            x = torch.einsum("ben,be->bn", y, gate(x).softmax(1)) + x
        return self.end(torch.cat([x, self.deep(x0)], 1)).sigmoid()


model("cross_net", {"ids": ((64, 26), 500), "x": ((64, 13), None)})(CrossNet)

# ---- text, image diffusion
model("rwkv_2", tokens(length=32, mask=False))(
    transformer(
        "RwkvModel",
        "RwkvConfig",
        "input_ids",
        call=("uncached",),
        hidden_size=256,
        num_hidden_layers=2,
        vocab_size=4000,
    )
)


PAST = ((1, 4, 96, 64), None)


@model("smollm3_step", {"ids": ((1, 1), 4000), "k0": PAST, "v0": PAST, "k1": PAST, "v1": PAST})
def smollm3_step():
    import transformers

    settings = transformers.SmolLM3Config(
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=2,
        num_attention_heads=12,
        num_key_value_heads=4,
        vocab_size=4000,
        pad_token_id=0,
    )
    return Step(transformers.SmolLM3ForCausalLM(settings), "logits")


@model("tiny_vae", {"x": ((1, 4, 16, 16), None)}, script=True)
def tiny_vae():
    import diffusers

    return diffusers.AutoencoderTiny(
        encoder_block_out_channels=(32,) * 4, decoder_block_out_channels=(32,) * 4
    ).decoder
