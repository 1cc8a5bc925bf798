"""Writes models that no rule was written for when they were chosen: architectures that are neither
in zoo.py nor in the first two tables of test/bench/UNSEEN.md, as zoo.py writes its own. Those of
the fourth table are in unseen_fourth.py, those of the fifth to twelfth in unseen_fifth*.py
to unseen_twelfth*.py, those of the fourteenth to twenty-third in unseen_fourteenth*.py
to unseen_twenty_third*.py.
scripts/bench-unseen times them.

Usage: unseen.py FOLDER [NAME..]

Needs the Python packages of requirements.txt.
"""

import importlib, sys
import zoo
from zoo import Called, Step, image, model, nn, tokens, torch, transformer, vision

PARTS = (
    "fourth fifth fifth_images fifth_sound fifth_rest sixth sixth_sequences sixth_rest "
    "seventh seventh_small eighth eighth_small "
    "eighth_sound eighth_rest ninth ninth_small ninth_rest tenth eleventh eleventh_rest twelfth "
    "twelfth_rest fourteenth fourteenth_rest fifteenth fifteenth_rest sixteenth sixteenth_rest "
    "sixteenth_sound seventeenth eighteenth nineteenth twentieth twentieth_rest"
).split()
zoo.MODELS.clear()
for part in PARTS:
    importlib.import_module("unseen_" + part)  # adds its own
zoo.SOURCES.append(__file__)


# ---- images
model("convnextv2_atto", image())(vision("timm", "convnextv2_atto"))
model("hgnetv2_b0", image())(vision("timm", "hgnetv2_b0"))
model("starnet_s1", image(), script=True)(vision("timm", "starnet_s1"))
model("hiera_tiny", image(), script=True)(vision("timm", "hiera_tiny_224"))
model("shvit_s1", image(), script=True)(vision("timm", "shvit_s1"))


@model("depth_anything_s", image(196))
def depth():
    import transformers

    settings = transformers.DepthAnythingConfig(
        backbone_config=transformers.Dinov2Config(
            hidden_size=384,
            num_attention_heads=6,
            num_hidden_layers=4,
            image_size=196,
            patch_size=14,
            out_features=["stage1", "stage2", "stage3", "stage4"],
            reshape_hidden_states=False,
        ),
        reassemble_hidden_size=384,
        neck_hidden_sizes=[48, 96, 192, 384],
        fusion_hidden_size=64,
    )
    inner = transformers.DepthAnythingForDepthEstimation(settings)
    return Called(inner, ["pixel_values"], "predicted_depth")


@model("vitpose_s", {"x": ((1, 3, 256, 192), None)})
def vitpose():
    import transformers

    settings = transformers.VitPoseConfig(
        backbone_config=transformers.VitPoseBackboneConfig(
            hidden_size=384, num_hidden_layers=4, num_attention_heads=12, out_features=["stage4"]
        ),
        use_simple_decoder=False,
    )
    return Called(transformers.VitPoseForPoseEstimation(settings), ["pixel_values"], "heatmaps")


model("swin2sr_light", image(64))(
    transformer(
        "Swin2SRForImageSuperResolution",
        "Swin2SRConfig",
        "pixel_values",
        "reconstruction",
        image_size=64,
        embed_dim=60,
        depths=[6, 6],
        num_heads=[6, 6],
        upscale=2,
        upsampler="pixelshuffledirect",
    )
)
model("mgp_str", {"x": ((1, 3, 32, 128), None)}, script=True)(
    transformer(
        "MgpstrForSceneTextRecognition",
        "MgpstrConfig",
        "pixel_values",
        lambda out: out.logits[0],
        num_hidden_layers=3,
        num_bpe_labels=8000,
        num_wordpiece_labels=8000,
    )
)


def conv(i, o, k=3, s=1, act=nn.SiLU, groups=1, dilation=1):
    pad = dilation * (k // 2)
    layer = nn.Conv2d(i, o, k, s, pad, dilation, groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


class YoloX(nn.Module):
    """Every second pixel as channels, stages of split bottlenecks, heads for boxes and kinds apart,
    boxes decoded by grid and stride."""

    def __init__(self, width=32, classes=80):
        super().__init__()
        w = width
        self.stem = conv(12, w // 2)
        sizes = [(w // 2, w, 1), (w, 2 * w, 3), (2 * w, 4 * w, 3), (4 * w, 8 * w, 1)]
        self.down = nn.ModuleList(conv(a, b, 3, 2) for a, b, _ in sizes)
        self.stages = nn.ModuleList(self.Csp(b, b, n, k < 3) for k, (_, b, n) in enumerate(sizes))
        self.pyramid = conv(32 * w, 8 * w, 1)
        self.lateral = nn.ModuleList([conv(8 * w, 4 * w, 1), conv(4 * w, 2 * w, 1)])
        self.merge = nn.ModuleList([self.Csp(8 * w, 4 * w, 1), self.Csp(4 * w, 2 * w, 1)])
        levels = (2 * w, 4 * w, 8 * w)
        self.enter = nn.ModuleList(conv(c, 2 * w, 1) for c in levels)
        two = lambda: nn.Sequential(conv(2 * w, 2 * w), conv(2 * w, 2 * w))
        self.kinds, self.boxes = (nn.ModuleList(two() for _ in levels) for _ in range(2))
        self.kind, self.box, self.there = (
            nn.ModuleList(nn.Conv2d(2 * w, n, 1) for _ in levels) for n in (classes, 4, 1)
        )

    class Csp(nn.Module):
        def __init__(self, i, o, n, short=False):
            super().__init__()
            self.short = short
            self.a, self.b, self.end = conv(i, o // 2, 1), conv(i, o // 2, 1), conv(o, o, 1)
            self.inner = nn.ModuleList(
                nn.Sequential(conv(o // 2, o // 2, 1), conv(o // 2, o // 2)) for _ in range(n)
            )

        def forward(self, x):
            y = self.a(x)
            for part in self.inner:
                y = y + part(y) if self.short else part(y)
            return self.end(torch.cat([y, self.b(x)], 1))

    def forward(self, x):
        parts = [x[..., a::2, b::2] for b in (0, 1) for a in (0, 1)]
        x, kept = self.stem(torch.cat(parts, 1)), []
        for k, (down, stage) in enumerate(zip(self.down, self.stages)):
            x = down(x)
            if k == 3:
                pools = [nn.functional.max_pool2d(x, n, 1, n // 2) for n in (5, 9, 13)]
                x = self.pyramid(torch.cat([x] + pools, 1))
            x = stage(x)
            kept.append(x)
        levels = [x]
        for lateral, merge, side in zip(self.lateral, self.merge, kept[-2:0:-1]):
            levels[0] = lateral(levels[0])
            wide = nn.functional.interpolate(levels[0], scale_factor=2.0, mode="nearest")
            levels.insert(0, merge(torch.cat([wide, side], 1)))
        levels[1:] = [
            level if level.shape[1] == enter[0].in_channels else torch.cat([level, level], 1)
            for level, enter in zip(levels[1:], list(self.enter)[1:])
        ]
        out = []
        for k, level in enumerate(levels):
            y = self.enter[k](level)
            kinds, boxes = self.kinds[k](y), self.boxes[k](y)
            kind, box = self.kind[k](kinds).sigmoid(), self.box[k](boxes)
            there = self.there[k](boxes).sigmoid()
            out.append(torch.cat([box, there, kind], 1).flatten(2))
        y = torch.cat(out, 2).permute(0, 2, 1)
        grids, strides = [], []
        for level, stride in zip(levels, (8, 16, 32)):
            h, w = level.shape[2:]
            a, b = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grids.append(torch.stack([b, a], 2).view(1, -1, 2))
            strides.append(torch.full((1, h * w, 1), stride))
        grid, stride = torch.cat(grids, 1).float(), torch.cat(strides, 1).float()
        xy = (y[..., :2] + grid) * stride
        return torch.cat([xy, torch.exp(y[..., 2:4]) * stride, y[..., 4:]], 2)


model("yolox_like", image(256), script=True)(YoloX)


class U2NetSmall(nn.Module):
    """A U of Us, as background removers have it: side outputs resized, joined and weighed."""

    class Unit(nn.Module):
        def __init__(self, i, m, o, depth):
            super().__init__()
            relu = nn.ReLU
            self.first = conv(i, o, act=relu)
            self.down = nn.ModuleList(
                [conv(o, m, act=relu)] + [conv(m, m, act=relu) for _ in range(depth - 2)]
            )
            self.bottom = conv(m, m, act=relu, dilation=2)
            self.up = nn.ModuleList(
                [conv(2 * m, m, act=relu) for _ in range(depth - 2)] + [conv(2 * m, o, act=relu)]
            )

        def forward(self, x):
            x = y = self.first(x)
            kept = []
            for k, part in enumerate(self.down):
                y = part(y if k == 0 else nn.functional.max_pool2d(y, 2, 2, ceil_mode=True))
                kept.append(y)
            y = self.bottom(y)
            for part, side in zip(self.up, kept[::-1]):
                if y.shape[2:] != side.shape[2:]:
                    y = resized(y, side)
                y = part(torch.cat([y, side], 1))
            return x + y

    def __init__(self):
        super().__init__()
        unit = self.Unit
        self.down = nn.ModuleList(unit(3 if d == 6 else 64, 16, 64, d) for d in (6, 5, 4, 3))
        self.bottom = unit(64, 16, 64, 3)
        self.up = nn.ModuleList(unit(128, 16, 64, d) for d in (3, 4, 5, 6))
        self.sides = nn.ModuleList(nn.Conv2d(64, 1, 3, padding=1) for _ in range(5))
        self.end = nn.Conv2d(5, 1, 1)

    def forward(self, x):
        kept = []
        for part in self.down:
            kept.append(part(x))
            x = nn.functional.max_pool2d(kept[-1], 2, 2, ceil_mode=True)
        levels = [self.bottom(x)]
        for part, side in zip(self.up, kept[::-1]):
            levels.append(part(torch.cat([resized(levels[-1], side), side], 1)))
        maps = [side(level) for side, level in zip(self.sides, levels[::-1])]
        maps = [maps[0]] + [resized(m, maps[0]) for m in maps[1:]]
        return torch.sigmoid(self.end(torch.cat(maps, 1)))


def resized(x, like):
    return nn.functional.interpolate(x, like.shape[2:], mode="bilinear", align_corners=False)


model("u2net_small", image(192), script=True)(U2NetSmall)


class DenseSuperResolution(nn.Module):
    """Real-ESRGAN's residual dense blocks."""

    class Block(nn.Module):
        def __init__(self, c, g):
            super().__init__()
            self.parts = nn.ModuleList(
                nn.Conv2d(c + k * g, g if k < 4 else c, 3, padding=1) for k in range(5)
            )

        def forward(self, x):
            kept = [x]
            for part in self.parts[:4]:
                kept.append(nn.functional.leaky_relu(part(torch.cat(kept, 1)), 0.2))
            return x + 0.2 * self.parts[4](torch.cat(kept, 1))

    def __init__(self, c=64, g=32, blocks=2):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(*(self.Block(c, g) for _ in range(3))) for _ in range(blocks)
        )
        self.body, self.up1, self.up2, self.high = (nn.Conv2d(c, c, 3, padding=1) for _ in range(4))
        self.last = nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x):
        act = lambda y: nn.functional.leaky_relu(y, 0.2)
        x = y = self.first(x)
        for block in self.blocks:
            y = y + 0.2 * block(y)
        x = x + self.body(y)
        for up in (self.up1, self.up2):
            x = act(up(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")))
        return self.last(act(self.high(x)))


model("real_esrgan_like", image(32))(DenseSuperResolution)


class FaceEmbedder(nn.Module):
    """ArcFace's residual network: a batch norm before each convolution, PReLU, and a norm of the
    embedding."""

    class Block(nn.Module):
        def __init__(self, i, o, s):
            super().__init__()
            self.body = nn.Sequential(
                nn.BatchNorm2d(i),
                nn.Conv2d(i, o, 3, 1, 1, bias=False),
                nn.BatchNorm2d(o),
                nn.PReLU(o),
                nn.Conv2d(o, o, 3, s, 1, bias=False),
                nn.BatchNorm2d(o),
            )
            one = nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))
            self.side = nn.Identity() if (i, s) == (o, 1) else one

        def forward(self, x):
            return self.body(x) + self.side(x)

    def __init__(self):
        super().__init__()
        layers, last = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.PReLU(64)], 64
        for width in (64, 128, 256, 512):
            layers += [self.Block(last, width, 2), self.Block(width, width, 1)]
            last = width
        self.body = nn.Sequential(*layers, nn.BatchNorm2d(512))
        self.rows = nn.Linear(512 * 49, 512)
        self.norm = nn.BatchNorm1d(512)

    def forward(self, x):
        return nn.functional.normalize(self.norm(self.rows(self.body(x).flatten(1))))


model("arcface_r18", image(112), script=True)(FaceEmbedder)


# ---- text
SMALL = {
    "hidden_size": 896,
    "intermediate_size": 2432,
    "num_hidden_layers": 2,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 8000,
}
model("qwen3_2", tokens(length="seq=64", mask=False))(
    transformer("Qwen3Model", "Qwen3Config", "input_ids", call=("uncached",), head_dim=64, **SMALL)
)
model("gemma3_2", tokens(length=48, mask=False))(
    transformer(
        "Gemma3TextModel",
        "Gemma3TextConfig",
        "input_ids",
        call=("uncached",),
        hidden_size=640,
        intermediate_size=2048,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=256,
        vocab_size=8000,
        pad_token_id=0,
    )
)


PAST = ((1, 2, 128, 64), None)


@model("qwen2_step", {"ids": ((1, 1), 8000), "k0": PAST, "v0": PAST, "k1": PAST, "v1": PAST})
def qwen2_step():
    import transformers

    return Step(transformers.Qwen2Model(transformers.Qwen2Config(**SMALL)), "last_hidden_state")


model("nomic_bert_3", tokens(length=64))(
    transformer("NomicBertModel", "NomicBertConfig", num_hidden_layers=3, vocab_size=8000)
)
model("roformer_3", tokens(length=64), script=True)(
    transformer("RoFormerModel", "RoFormerConfig", num_hidden_layers=3, vocab_size=8000)
)
model("convbert_2", tokens(length=64), script=True)(
    transformer("ConvBertModel", "ConvBertConfig", num_hidden_layers=2, vocab_size=8000)
)

# ---- sound
model("parakeet_2", {"x": ((1, 200, 80), None)}, script=True)(
    transformer(
        "ParakeetEncoder",
        "ParakeetEncoderConfig",
        "input_features",
        num_hidden_layers=2,
        hidden_size=512,
        intermediate_size=2048,
        num_attention_heads=8,
    )
)
model("hifigan", {"x": ((40, 80), None)})(
    transformer("SpeechT5HifiGan", "SpeechT5HifiGanConfig", "spectrogram", lambda out: out)
)


@model("dac_decoder", {"x": ((1, 256, 20), None)})
def dac():
    import transformers

    settings = transformers.DacConfig(hidden_size=256, decoder_hidden_size=384)
    return transformers.models.dac.modeling_dac.DacDecoder(settings)


@model("encodec_encoder", {"x": ((1, 1, 8000), None)}, script=True)
def encodec():
    import transformers

    settings = transformers.EncodecConfig()
    return transformers.models.encodec.modeling_encodec.EncodecEncoder(settings)


# ---- series, graphs, points, image diffusion
model("patchtst", {"x": ((4, 512, 7), None)})(
    transformer(
        "PatchTSTForPrediction",
        "PatchTSTConfig",
        "past_values",
        "prediction_outputs",
        num_input_channels=7,
        context_length=512,
        patch_length=16,
        patch_stride=8,
        prediction_length=96,
        num_hidden_layers=3,
        d_model=128,
        num_attention_heads=16,
        ffn_dim=256,
    )
)


@model("dit_4", {"x": ((1, 4, 16, 16), None), "t": ((1,), 1000), "kind": ((1,), 1000)})
def dit():
    import diffusers

    inner = diffusers.DiTTransformer2DModel(
        num_attention_heads=6, attention_head_dim=64, num_layers=4, sample_size=16
    )
    return Called(inner, ["hidden_states", "timestep", "class_labels"], "sample")


class Sage(nn.Module):
    """GraphSAGE: the mean of the neighbours, by sums over edges."""

    def __init__(self, widths=(64, 128, 128, 40)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.near = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)

    def forward(self, x, a, b):
        many = torch.zeros(x.shape[0], 1).index_add(0, b, torch.ones(b.shape[0], 1))
        for k, (own, near) in enumerate(zip(self.own, self.near)):
            mean = torch.zeros_like(x).index_add(0, b, x[a]) / many.clamp(min=1)
            x = own(x) + near(mean)
            x = x.relu() if k < 2 else x
        return x


EDGES = ((4000,), 500)
model("graph_sage", {"x": ((500, 64), None), "a": EDGES, "b": EDGES})(Sage)


class PointNet(nn.Module):
    """Points moved by a learned matrix, embedded one by one, the greatest of each feature."""

    def __init__(self, kinds=40):
        super().__init__()
        one = lambda i, o: nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
        row = lambda i, o: nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU())
        self.move = nn.Sequential(one(3, 64), one(64, 128), one(128, 1024))
        self.matrix = nn.Sequential(row(1024, 512), row(512, 256), nn.Linear(256, 9))
        self.body = nn.Sequential(one(3, 64), one(64, 128), one(128, 1024))
        self.end = nn.Sequential(row(1024, 512), row(512, 256), nn.Linear(256, kinds))

    def forward(self, x):
        m = self.matrix(self.move(x).amax(2)).view(-1, 3, 3) + torch.eye(3)
        x = torch.bmm(x.transpose(1, 2), m).transpose(1, 2)
        return self.end(self.body(x).amax(2)).log_softmax(1)


model("pointnet", {"x": ((2, 3, 1024), None)}, script=True)(PointNet)

if __name__ == "__main__":
    sys.exit(zoo.main(*sys.argv[1:]))
