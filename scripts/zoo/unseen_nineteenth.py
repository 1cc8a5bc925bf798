"""The nineteenth set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and seven small networks written after their papers: a vocoder, action recognition, news
recommendation, a time series, and, for unseen_nineteenth_quantized.py, which writes them in 8 bits,
face detection, portrait matting and image restoration."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision
from unseen_sixteenth_rest import conv, rows

SOURCES.append(__file__)
F = nn.functional


# ---- transformers, diffusers and timm
@model("rf_detr", image(224), opset=18)
def detector():
    import transformers

    seen = transformers.RfDetrDinov2Config(
        hidden_size=384,
        num_attention_heads=6,
        num_hidden_layers=4,
        image_size=224,
        patch_size=14,
        num_windows=2,
        out_features=["stage2", "stage4"],
    )
    settings = transformers.RfDetrConfig(
        backbone_config=seen, num_queries=100, decoder_layers=2, group_detr=1, num_labels=91
    )
    get = lambda out: torch.cat((out.logits, out.pred_boxes), -1)
    return Called(transformers.RfDetrForObjectDetection(settings), ["pixel_values"], get)


class Pointed(nn.Module):
    """SAM 2: masks of the objects at given points of an encoded image."""

    def __init__(self, side=32):
        super().__init__()
        import transformers
        from transformers.models.sam2 import modeling_sam2 as parts

        size = {"image_size": 16 * side}
        settings = transformers.models.sam2.configuration_sam2
        prompt = settings.Sam2PromptEncoderConfig(**size)
        mask = settings.Sam2MaskDecoderConfig()
        self.prompt, self.mask = parts.Sam2PromptEncoder(prompt), parts.Sam2MaskDecoder(mask)
        self.register_buffer("places", torch.randn(1, 256, side, side))

    def forward(self, x, fine, finer, points, labels):
        sparse, dense = self.prompt(points * 512, labels, None, None)
        out = self.mask(
            image_embeddings=x,
            image_positional_embeddings=self.places,
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=dense,
            multimask_output=True,
            high_resolution_features=[finer, fine],
        )
        return out[0], out[1]


model(
    "sam2_decoder",
    {
        "x": ((1, 256, 32, 32), None),
        "fine": ((1, 64, 64, 64), None),
        "finer": ((1, 32, 128, 128), None),
        "points": ((1, 1, 2, 2), None),
        "labels": ((1, 1, 2), 2),
    },
    opset=18,
)(Pointed)
model("lasr_2", {"x": ((1, "frames=240", 128), None)}, opset=18)(
    transformer(
        "LasrEncoder", "LasrEncoderConfig", "input_features", num_hidden_layers=2, layerdrop=0.0
    )
)


class Codes(nn.Module):
    """Bark's last model: one codebook of the speech codes from those before it."""

    def __init__(self, layers=3):
        super().__init__()
        import transformers

        settings = transformers.BarkFineConfig(
            num_layers=layers,
            num_heads=12,
            hidden_size=768,
            input_vocab_size=1056,
            output_vocab_size=1056,
        )
        self.inner = transformers.BarkFineModel(settings)

    def forward(self, codes):
        return self.inner(3, codes).logits


model("bark_fine_3", {"codes": ((1, "seq=128", 8), 1024)}, opset=18)(Codes)

CACHE = ((1, 4, "past=256", 96), None)


@model(
    "exaone4_step",
    {"ids": ((1, 1), 6000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def exaone():
    import transformers

    settings = transformers.Exaone4Config(
        hidden_size=1152,
        intermediate_size=3072,
        num_hidden_layers=2,
        num_attention_heads=12,
        num_key_value_heads=4,
        sliding_window=None,
        layer_types=["full_attention", "full_attention"],
        vocab_size=6000,
    )
    return Step(transformers.Exaone4ForCausalLM(settings), "logits")


@model("nystromformer_3", tokens(4000, length=256, mask=False), script=True, opset=14)
def nystrom():
    import transformers

    settings = transformers.NystromformerConfig(
        num_hidden_layers=3, vocab_size=4000, segment_means_seq_len=256, num_landmarks=32
    )
    inner = transformers.NystromformerModel(settings)
    # no padding: the mask that it makes for rows of all words does not fit its few landmarks
    return Called(inner, ["input_ids"], 0, attention_mask=torch.zeros(1, 1, 1, 1))


class Controlled(nn.Module):
    """ControlNet: what a drawing adds to each level of the denoising U-Net."""

    def __init__(self):
        super().__init__()
        import diffusers

        self.inner = diffusers.ControlNetModel(
            block_out_channels=(64, 128, 256),
            down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            layers_per_block=1,
            cross_attention_dim=256,
            attention_head_dim=8,
            conditioning_embedding_out_channels=(16, 32, 64, 96),
        )

    def forward(self, x, t, words, drawn):
        levels, middle = self.inner(x, t, words, drawn, return_dict=False)
        return (*levels, middle)


@model(
    "controlnet_s",
    {
        "x": ((1, 4, 16, 16), None),
        "t": ((1,), 1000),
        "words": ((1, 24, 256), None),
        "drawn": ((1, 3, 128, 128), None),
    },
    opset=18,
)
def controlnet():
    return Controlled()


class Music(nn.Module):
    """Stable Audio's transformer: one denoising step on encoded music."""

    def __init__(self):
        super().__init__()
        import diffusers
        from diffusers.models.embeddings import get_1d_rotary_pos_embed

        self.inner = diffusers.StableAudioDiTModel(
            sample_size=128,
            num_layers=2,
            num_attention_heads=12,
            num_key_value_attention_heads=6,
            cross_attention_dim=384,
            cross_attention_input_dim=384,
            global_states_input_dim=768,
        )
        turn = get_1d_rotary_pos_embed(32, 129, use_real=True, repeat_interleave_real=False)
        for name, part in zip(("cos", "sin"), turn):
            self.register_buffer(name, part)

    def forward(self, x, t, words, whole):
        return self.inner(x, t, words, whole, (self.cos, self.sin)).sample


model(
    "stable_audio_2",
    {
        "x": ((1, 64, 128), None),
        "t": ((1,), 1000),
        "words": ((1, 32, 384), None),
        "whole": ((1, 1, 768), None),
    },
    opset=18,
)(Music)
model("efficient_vim_m1", image(), opset=18)(vision("timm", "efficientvim_m1"))


# ---- a vocoder
class IstftNet(nn.Module):
    """iSTFTNet, Kokoro's vocoder: mel frames are upsampled by transposed convolutions, with
    residual blocks of three kernel sizes; the last layer gives magnitudes and phases of short
    spectra, which transposed convolutions turn into sound."""

    class Block(nn.Module):
        def __init__(self, c, size, reach=(1, 3, 5)):
            super().__init__()
            layer = lambda d: nn.Conv1d(c, c, size, 1, d * (size // 2), d)
            self.a = nn.ModuleList(layer(d) for d in reach)
            self.b = nn.ModuleList(layer(1) for _ in reach)
            self.s = nn.ParameterList(0.5 + torch.rand(2, 1, c, 1) for _ in reach)

        def snake(self, x, s):
            return x + (x * s).sin().square() / s

        def forward(self, x):
            for a, b, s in zip(self.a, self.b, self.s):
                x = x + b(self.snake(a(self.snake(x, s[0])), s[1]))
            return x

    def __init__(self, mel=80, c=128, n=16, hop=4):
        super().__init__()
        self.first, self.hop, self.n = nn.Conv1d(mel, c, 7, 1, 3), hop, n
        self.up, self.mix = nn.ModuleList(), nn.ModuleList()
        for rate, size in ((8, 16), (4, 8)):
            self.up.append(nn.ConvTranspose1d(c, c // 2, size, rate, (size - rate) // 2))
            c //= 2
            self.mix.append(nn.ModuleList(self.Block(c, k) for k in (3, 7, 11)))
        self.last = nn.Conv1d(c, n + 2, 7, 1, 3)
        window = torch.hann_window(n)
        waves = torch.fft.irfft(torch.eye(n // 2 + 1) + 0j, n) * window
        self.register_buffer("real", waves[:, None])
        waves = torch.fft.irfft(torch.eye(n // 2 + 1) * 1j, n) * window
        self.register_buffer("imaginary", waves[:, None])
        self.register_buffer("square", window.square()[None, None])

    def forward(self, x):
        x = self.first(x)
        for up, mix in zip(self.up, self.mix):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(part(x) for part in mix) / 3
        x = self.last(F.pad(F.leaky_relu(x), (1, 0), mode="reflect"))
        loud, turn = x[:, : self.n // 2 + 1].exp(), x[:, self.n // 2 + 1 :].sin()
        add = lambda y, w: F.conv_transpose1d(y, w, stride=self.hop)
        sound = add(loud * turn.cos(), self.real) + add(loud * turn.sin(), self.imaginary)
        over = add(torch.ones_like(x[:, :1]), self.square)
        half = self.n // 2
        return sound[..., half:-half] / over[..., half:-half].clamp(min=1e-8)


# ---- action recognition
class CtrGcn(nn.Module):
    """CTR-GCN: action recognition by skeletons: each channel has a graph of its own, made of a
    shared one and of differences of joints; convolutions of several lengths along time."""

    class Graph(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            r = 8 if i <= 16 else i // 8
            layer = lambda a, b: nn.Conv2d(a, b, 1)
            self.a, self.b, self.x, self.o = layer(i, r), layer(i, r), layer(i, o), layer(r, o)

        def forward(self, x, shared, share):
            a, b, y = self.a(x).mean(-2), self.b(x).mean(-2), self.x(x)
            graph = self.o((a.unsqueeze(-1) - b.unsqueeze(-2)).tanh()) * share + shared
            return torch.einsum("ncuv,nctv->nctu", graph, y)

    class Times(nn.Module):
        def __init__(self, c, step):
            super().__init__()
            q = c // 4
            enter = lambda s=1: nn.Sequential(nn.Conv2d(c, q, 1, (s, 1)), nn.BatchNorm2d(q))
            reach = lambda d: nn.Sequential(
                enter(),
                nn.ReLU(),
                nn.Conv2d(q, q, (5, 1), (step, 1), (2 * d, 0), (d, 1)),
                nn.BatchNorm2d(q),
            )
            most = nn.MaxPool2d((3, 1), (step, 1), (1, 0))
            most = nn.Sequential(enter(), nn.ReLU(), most, nn.BatchNorm2d(q))
            self.parts = nn.ModuleList([reach(1), reach(2), most, enter(step)])

        def forward(self, x):
            return torch.cat([part(x) for part in self.parts], 1)

    class Block(nn.Module):
        def __init__(self, i, o, step, joints):
            super().__init__()
            self.graphs = nn.ModuleList(CtrGcn.Graph(i, o) for _ in range(3))
            self.shared = nn.Parameter(torch.rand(3, joints, joints) / joints)
            self.share, self.norm = nn.Parameter(0.3 + torch.rand(1)), nn.BatchNorm2d(o)
            side = lambda s: nn.Sequential(nn.Conv2d(i, o, 1, (s, 1)), nn.BatchNorm2d(o))
            self.inner = nn.Identity() if i == o else side(1)
            self.side = nn.Identity() if (i, step) == (o, 1) else side(step)
            self.times = CtrGcn.Times(o, step)

        def forward(self, x):
            y = sum(g(x, a, self.share) for g, a in zip(self.graphs, self.shared))
            y = (self.norm(y) + self.inner(x)).relu()
            return (self.times(y) + self.side(x)).relu()

    def __init__(self, joints=25, c=32, kinds=60):
        super().__init__()
        self.norm = nn.BatchNorm1d(3 * joints)
        plan = ((3, c, 1), (c, c, 1), (c, 2 * c, 2), (2 * c, 2 * c, 1), (2 * c, 4 * c, 2))
        self.blocks = nn.Sequential(*(self.Block(i, o, s, joints) for i, o, s in plan))
        self.end = nn.Linear(4 * c, kinds)

    def forward(self, x):
        n, c, t, v, m = x.shape
        x = x.permute(0, 4, 3, 1, 2).reshape(n * m, v * c, t)
        x = self.norm(x).reshape(n * m, v, c, t).permute(0, 2, 3, 1)
        x = self.blocks(x)
        return self.end(x.reshape(n, m, x.shape[1], -1).mean(3).mean(1))


# ---- news recommendation
class Nrms(nn.Module):
    """NRMS: news recommendation: attention over the words of titles, weighted into a title;
    attention over the titles that were read, weighted into a reader."""

    class Weighed(nn.Module):
        def __init__(self, c, inner=200):
            super().__init__()
            self.a, self.b = nn.Linear(c, inner), nn.Linear(inner, 1, bias=False)

        def forward(self, x):
            w = self.b(self.a(x).tanh()).softmax(1)
            return (w.transpose(1, 2) @ x).squeeze(1)

    class Look(nn.Module):
        def __init__(self, i, heads=20, c=20):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(i, heads * c) for _ in "qkv")
            self.heads = heads

        def forward(self, x):
            n, t, _ = x.shape
            split = lambda y: y.view(n, t, self.heads, -1).transpose(1, 2)
            q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
            w = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
            return (w @ v).transpose(1, 2).reshape(n, t, -1)

    def __init__(self, words=5000, width=300):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.title = nn.Sequential(self.Look(width), self.Weighed(400))
        self.reader = nn.Sequential(self.Look(400), self.Weighed(400))

    def forward(self, read, news):
        titles = lambda x: self.title(self.words(x.flatten(0, 1))).view(*x.shape[:2], -1)
        who = self.reader(titles(read))
        return (titles(news) @ who[:, :, None]).squeeze(-1).softmax(-1)


# ---- a time series
class LightTs(nn.Module):
    """LightTS: a forecast by perceptrons over pieces of a series: pieces of neighbouring steps, and
    of every k-th step; then over all series together."""

    class Exchange(nn.Module):
        """Over time, then over pieces, by a bottleneck, beside one layer over all."""

        def __init__(self, i, inner, o, pieces):
            super().__init__()
            self.a = rows(i, inner // 4, inner, act=nn.LeakyReLU)
            self.b, self.all = nn.Linear(pieces, pieces), nn.Linear(i, o)
            self.end = nn.Linear(inner, o)

        def forward(self, x):
            y = self.a(x.permute(0, 2, 1)).permute(0, 2, 1)
            y = self.b(y)
            y = self.end(y.permute(0, 2, 1)) + self.all(x.permute(0, 2, 1))
            return y.permute(0, 2, 1)

    def __init__(self, seen=336, next=96, series=21, piece=24, c=128):
        super().__init__()
        many = seen // piece
        self.piece, self.series = piece, series
        self.near = self.Exchange(piece, c // 4, c // 4, many)
        self.far = self.Exchange(piece, c // 4, c // 4, many)
        self.near_end, self.far_end = nn.Linear(many, 1), nn.Linear(many, 1)
        self.both = self.Exchange(c // 2, c, next, series)
        self.straight = nn.Linear(seen, next)

    def forward(self, x):
        n, t, s = x.shape
        straight = self.straight(x.permute(0, 2, 1)).permute(0, 2, 1)
        many = t // self.piece
        near = x.reshape(n, many, self.piece, s).permute(0, 3, 2, 1).reshape(-1, self.piece, many)
        far = x.reshape(n, self.piece, many, s).permute(0, 3, 1, 2).reshape(-1, self.piece, many)
        one = lambda y: y.squeeze(-1).reshape(n, s, -1).permute(0, 2, 1)
        near, far = one(self.near_end(self.near(near))), one(self.far_end(self.far(far)))
        return self.both(torch.cat((near, far), 1)) + straight


# ---- face detection, portrait matting, image restoration
class Scrfd(nn.Module):
    """SCRFD: face detection with landmarks: three levels of a residual network, joined downwards
    and upwards, heads with group norms that all levels share, a scale for each level."""

    class Block(nn.Module):
        def __init__(self, i, o, s):
            super().__init__()
            self.body = nn.Sequential(conv(i, o, 3, s), conv(o, o, 3, act=None))
            side = lambda: nn.Sequential(nn.AvgPool2d(s, s), conv(i, o, 1, act=None))
            self.side = nn.Identity() if (i, s) == (o, 1) else side()

        def forward(self, x):
            return (self.body(x) + self.side(x)).relu()

    def __init__(self, c=16, neck=24, head=64):
        super().__init__()
        widths, depths = (c, 2 * c, 3 * c, 6 * c), (1, 3, 2, 3)
        self.first = nn.Sequential(conv(3, c, 3, 2), conv(c, c, 3), conv(c, c, 3))
        stages, i = [], c
        for k, (o, n) in enumerate(zip(widths, depths)):
            steps = [1 if k == 0 else 2] + [1] * (n - 1)
            blocks = [self.Block(i if s == 0 else o, o, t) for s, t in enumerate(steps)]
            stages.append(nn.Sequential(*blocks))
            i = o
        self.stages = nn.ModuleList(stages)
        layer = lambda i, o, s=1, k=3: nn.Conv2d(i, o, k, s, k // 2)
        self.lateral = nn.ModuleList(layer(w, neck, k=1) for w in widths[1:])
        self.smooth = nn.ModuleList(layer(neck, neck) for _ in range(3))
        self.down = nn.ModuleList(layer(neck, neck, 2) for _ in range(2))
        self.again = nn.ModuleList(layer(neck, neck) for _ in range(2))
        norm = lambda i: (nn.Conv2d(i, head, 3, 1, 1, bias=False), nn.GroupNorm(8, head), nn.ReLU())
        self.head = nn.Sequential(*norm(neck), *norm(head))
        self.kind, self.box, self.marks = layer(head, 2), layer(head, 8), layer(head, 20)
        self.scales = nn.Parameter(0.5 + torch.rand(3))

    def forward(self, x):
        levels, x = [], nn.functional.max_pool2d(self.first(x), 2, 2)
        for k, stage in enumerate(self.stages):
            x = stage(x)
            levels += [x] if k else []
        levels = [side(x) for side, x in zip(self.lateral, levels)]
        for k in (1, 0):
            wide = F.interpolate(levels[k + 1], scale_factor=2.0, mode="nearest")
            levels[k] = levels[k] + wide
        levels = [smooth(x) for smooth, x in zip(self.smooth, levels)]
        for k in (0, 1):
            levels[k + 1] = levels[k + 1] + self.down[k](levels[k])
        levels = [levels[0]] + [again(x) for again, x in zip(self.again, levels[1:])]
        out = []
        for k, x in enumerate(levels):
            y = self.head(x)
            row = lambda z, c: z.permute(0, 2, 3, 1).reshape(z.shape[0], -1, c)
            parts = (self.kind(y).sigmoid(), self.box(y) * self.scales[k], self.marks(y))
            out.append(torch.cat([row(z, c) for z, c in zip(parts, (1, 4, 10))], 2))
        return torch.cat(out, 1)


class ModNet(nn.Module):
    """MODNet: portrait matting: MobileNetV2, whose channels are weighed; a rough mask, edges and
    both together, with batch norms for half of the channels and instance norms for the rest."""

    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.c = c // 2
            self.batch, self.own = nn.BatchNorm2d(self.c), nn.InstanceNorm2d(c - self.c)

        def forward(self, x):
            return torch.cat((self.batch(x[:, : self.c]), self.own(x[:, self.c :])), 1)

    class Layer(nn.Sequential):
        def __init__(self, i, o, k=3, s=1, norm=True):
            more = (ModNet.Norm(o), nn.ReLU()) if norm else ()
            super().__init__(nn.Conv2d(i, o, k, s, k // 2), *more)

    class Part(nn.Module):
        def __init__(self, i, o, s, more):
            super().__init__()
            c, self.short = i * more, (i, s) == (o, 1)
            first = [conv(i, c, 1, act=nn.ReLU6)] if more > 1 else []
            self.body = nn.Sequential(
                *first, conv(c, c, 3, s, nn.ReLU6, groups=c), conv(c, o, 1, act=None)
            )

        def forward(self, x):
            return x + self.body(x) if self.short else self.body(x)

    class Weigh(nn.Module):
        def __init__(self, c):
            super().__init__()
            layer = lambda i, o: nn.Linear(i, o, bias=False)
            self.w = nn.Sequential(layer(c, c // 4), nn.ReLU(), layer(c // 4, c))

        def forward(self, x):
            return x * self.w(x.mean((2, 3))).sigmoid()[:, :, None, None]

    def __init__(self, c=32):
        super().__init__()
        self.first = conv(3, 32, 3, 2, nn.ReLU6)
        plan = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 2, 2))
        plan += ((6, 96, 1, 1), (6, 160, 1, 2))
        i, stages = 32, []
        for more, o, n, s in plan:
            parts = [self.Part(i if k == 0 else o, o, s if k == 0 else 1, more) for k in range(n)]
            stages.append(nn.Sequential(*parts))
            i = o
        self.stages, layer = nn.ModuleList(stages), self.Layer
        self.weigh = self.Weigh(160)
        self.low = nn.ModuleList([layer(160, 96, 5), layer(96, 32, 5)])
        self.rough = layer(32, 1, 3, 2, norm=False)
        self.a, self.b = layer(16, c, 1), layer(c + 3, c, 3, 2)
        self.a4, self.b4 = layer(24, c, 1), layer(2 * c, 2 * c)
        self.mix4 = nn.Sequential(layer(32 + 2 * c + 3, 2 * c), layer(2 * c, c))
        self.mix2 = nn.Sequential(layer(2 * c, 2 * c), layer(2 * c, c))
        self.edge = nn.Sequential(layer(c + 3, c), layer(c, 1, 1, norm=False))
        self.joined = layer(32, c, 5)
        self.end = nn.ModuleList([layer(2 * c, c), layer(c + 3, 16), layer(16, 1, 1, norm=False)])

    def forward(self, image):
        size = lambda x, s: F.interpolate(x, scale_factor=s, mode="bilinear", align_corners=False)
        x, kept = self.first(image), []
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        half, quarter = kept[0], kept[1]
        x = self.weigh(x)
        x = self.low[0](size(x, 2.0))
        low = self.low[1](size(x, 2.0))
        small = size(image, 0.5)
        y = self.b(torch.cat((image, size(self.a(half), 2.0)), 1))
        y = self.b4(torch.cat((y, size(self.a4(quarter), 2.0)), 1))
        y = self.mix4(torch.cat((size(low, 4.0), y, small), 1))
        y = self.mix2(torch.cat((y, self.a(half)), 1))
        edge = self.edge(torch.cat((size(y, 2.0), image), 1)).sigmoid()
        z = self.joined(size(low, 2.0))
        z = self.end[0](torch.cat((size(z, 2.0), y), 1))
        z = self.end[1](torch.cat((size(z, 2.0), image), 1))
        return self.end[2](z).sigmoid() * (1 + edge) / 2


class Plksr(nn.Module):
    """PLKSR: super-resolution by a factor of 2: convolutions of 17 x 17 over some of the channels,
    weighed by a map of all."""

    class Block(nn.Module):
        def __init__(self, c, part=16, size=17):
            super().__init__()
            self.mix = nn.Sequential(
                nn.Conv2d(c, 2 * c, 3, 1, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1)
            )
            self.far, self.part = nn.Conv2d(part, part, size, 1, size // 2), part
            self.weigh = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), nn.Sigmoid())
            self.end = nn.Conv2d(c, c, 1)

        def forward(self, x):
            y = self.mix(x)
            a, b = y[:, : self.part], y[:, self.part :]
            y = torch.cat((self.far(a), b), 1)
            return self.end(y * self.weigh(y)) + x

    def __init__(self, c=48, blocks=4, times=2):
        super().__init__()
        self.first, self.times = nn.Conv2d(3, c, 3, 1, 1), times
        self.blocks = nn.Sequential(*(self.Block(c) for _ in range(blocks)))
        self.last = nn.Conv2d(c, 3 * times**2, 3, 1, 1)

    def forward(self, x):
        y = self.last(self.blocks(self.first(x)))
        again = torch.repeat_interleave(x, self.times**2, dim=1)
        return F.pixel_shuffle(y + again, self.times)


model("istft_net", {"x": ((1, 80, "frames=50"), None)}, script=True, opset=17)(IstftNet)
model("ctr_gcn", {"x": (("batch=1", 3, 64, 25, 2), None)}, opset=18)(CtrGcn)
NEWS = {"read": ((1, "read=30", 20), 5000), "news": ((1, "news=10", 20), 5000)}
model("nrms", NEWS, script=True, opset=17)(Nrms)
model("light_ts", {"x": (("batch=32", 336, 21), None)}, opset=20)(LightTs)
model("scrfd", image(320), script=True, opset=13)(Scrfd)
model("modnet", image(256), script=True, opset=13)(ModNet)
model("plksr_x2", {"x": ((1, 3, "high=40", "wide=40"), None)}, script=True, opset=14)(Plksr)
