"""The fourteenth set of models of test/bench/UNSEEN.md: architectures of timm, torchvision,
transformers and diffusers, and small networks of images written after their papers
(unseen_fourteenth_rest.py has those of sound, text, points, graphs and tables)."""

import math
import torchvision
from zoo import SOURCES, Called, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional

# ---- timm and torchvision
model("mobilenetv4_hybrid_medium", image(192, "batch=1"), opset=20)(
    vision("timm", "mobilenetv4_hybrid_medium")
)
model("gc_efficientnetv2_rw_t", image(160), script=True, opset=13)(
    vision("timm", "gc_efficientnetv2_rw_t")
)
model("coatnet_pico_rw_224", image(224), script=True, opset=16)(
    vision("timm", "coatnet_pico_rw_224")
)
model("mobilenetv3_small_100", image(224, "batch=1"), script=True, opset=13)(
    vision("timm", "mobilenetv3_small_100")
)


@model("r2plus1d_18", {"x": (("batch=1", 3, 8, 56, 56), None)}, opset=19)
def factored_video():
    return torchvision.models.video.r2plus1d_18(weights=None)


# ---- transformers and diffusers
model("mixtral_2", tokens(length=24, mask=False))(
    transformer(
        "MixtralModel",
        "MixtralConfig",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        num_local_experts=4,
        vocab_size=4000,
        experts_implementation="batched_mm",
    )
)
model("deepseek_v3_2", tokens(mask=False), opset=21)(
    transformer(
        "DeepseekV3Model",
        "DeepseekV3Config",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=2,
        first_k_dense_replace=2,
        num_attention_heads=8,
        num_key_value_heads=8,
        kv_lora_rank=128,
        q_lora_rank=192,
        qk_rope_head_dim=32,
        qk_nope_head_dim=64,
        v_head_dim=64,
        vocab_size=4000,
    )
)
model("long_t5_2", tokens(length=300))(
    transformer(
        "LongT5EncoderModel",
        "LongT5Config",
        num_layers=2,
        d_model=384,
        d_ff=1024,
        num_heads=6,
        vocab_size=4000,
        local_radius=63,
    )
)


@model("trocr_decoder_2", {"ids": ((1, "seq=16"), 4000), "seen": ((1, "patches=196", 256), None)})
def trocr():
    import transformers

    settings = transformers.TrOCRConfig(
        vocab_size=4000,
        d_model=256,
        decoder_layers=2,
        decoder_ffn_dim=1024,
        cross_attention_hidden_size=256,
        use_cache=False,
    )
    settings._attn_implementation = "eager"
    return Called(
        transformers.TrOCRForCausalLM(settings), ["input_ids", "encoder_hidden_states"], "logits"
    )


@model("u_vit", {"ids": ((1, 16, 16), 1000), "text": ((1, 32, 256), None), "all": ((1, 256), None)})
def masked_tokens():
    import diffusers

    inner = diffusers.UVit2DModel(
        hidden_size=256,
        cond_embed_dim=256,
        micro_cond_encode_dim=64,
        micro_cond_embed_dim=320,
        encoder_hidden_size=256,
        vocab_size=1001,
        codebook_size=1000,
        in_channels=192,
        block_out_channels=192,
        num_res_blocks=2,
        block_num_heads=6,
        num_hidden_layers=3,
        num_attention_heads=8,
        intermediate_size=768,
    )

    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, ids, text, pooled):
            return self.inner(
                ids, text, pooled[:, :256], torch.tensor([[256.0, 256.0, 0.0, 0.0, 6.0]])
            )

    return Fixed()


# ---- small networks for images
def conv(i, o, k=3, s=1, act=nn.ReLU, **options):
    layer = nn.Conv2d(i, o, k, s, k // 2, bias=False, **options)
    return nn.Sequential(layer, nn.BatchNorm2d(o), act())


class GuidedUnet(nn.Module):
    """A step of guided diffusion: norms scaled and shifted by the time embedding, attention whose
    heads are side by side in the channels, skip connections."""

    class Res(nn.Module):
        def __init__(self, i, o, time, way=0):
            super().__init__()
            self.a, self.b = nn.GroupNorm(16, i), nn.GroupNorm(16, o)
            self.first, self.last = nn.Conv2d(i, o, 3, 1, 1), nn.Conv2d(o, o, 3, 1, 1)
            self.time, self.way = nn.Linear(time, 2 * o), way
            self.side = nn.Identity() if i == o else nn.Conv2d(i, o, 1)

        def resized(self, x):
            if self.way > 0:
                return F.interpolate(x, scale_factor=2, mode="nearest")
            return F.avg_pool2d(x, 2) if self.way else x

        def forward(self, x, time):
            y = self.first(self.resized(F.silu(self.a(x))))
            scale, shift = self.time(F.silu(time))[:, :, None, None].chunk(2, 1)
            y = self.b(y) * (1 + scale) + shift
            return self.side(self.resized(x)) + self.last(F.silu(y))

    class Look(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.norm, self.heads = nn.GroupNorm(16, c), heads
            self.all, self.end = nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1)

        def forward(self, x):
            n, c, h, w = x.shape
            y = x.reshape(n, c, -1)
            q, k, v = self.all(self.norm(y)).reshape(n * self.heads, -1, h * w).chunk(3, 1)
            scale = 1 / math.sqrt(math.sqrt(c // self.heads))
            look = torch.einsum("bct,bcs->bts", q * scale, k * scale).softmax(-1)
            return (y + self.end(torch.einsum("bts,bcs->bct", look, v).reshape(n, c, -1))).reshape(
                n, c, h, w
            )

    def __init__(self, widths=(64, 128, 192)):
        super().__init__()
        c, time = widths[0], 4 * widths[0]
        res, look = self.Res, self.Look
        self.c, self.time = c, nn.Sequential(nn.Linear(c, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.down = nn.ModuleList(
            [
                res(c, c, time),
                res(c, c, time, -1),
                res(c, widths[1], time),
                res(widths[1], widths[1], time, -1),
                res(widths[1], widths[2], time),
            ]
        )
        self.a, self.middle, self.b = (
            look(widths[2], 3),
            res(widths[2], widths[2], time),
            look(widths[2], 3),
        )
        self.up = nn.ModuleList(
            [
                res(2 * widths[2], widths[1], time),
                res(2 * widths[1], widths[1], time, 1),
                res(2 * widths[1], widths[1], time),
                res(widths[1] + c, c, time, 1),
                res(2 * c, c, time),
            ]
        )
        self.end = nn.Sequential(nn.GroupNorm(16, c), nn.SiLU(), nn.Conv2d(c, 6, 3, 1, 1))

    def forward(self, x, t):
        rates = torch.exp(torch.arange(self.c // 2).float() * (-math.log(10000) / (self.c // 2)))
        angles = t[:, None].float() * rates[None]
        time = self.time(torch.cat((angles.cos(), angles.sin()), -1))
        x, kept = self.first(x), []
        for layer in self.down:
            x = layer(x, time)
            kept.append(x)
        x = self.b(self.middle(self.a(x), time))
        for layer in self.up:
            x = layer(torch.cat((x, kept.pop()), 1), time)
        return self.end(x)


class Carn(nn.Module):
    """CARN: super-resolution by cascades: the results of all blocks are joined and mixed, grouped
    convolutions."""

    class Group(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = (nn.Conv2d(c, c, 3, 1, 1, groups=4) for _ in "ab")
            self.end = nn.Conv2d(c, c, 1)

        def forward(self, x):
            return (self.end(self.b(self.a(x).relu()).relu()) + x).relu()

    class Cascade(nn.Module):
        def __init__(self, c, make):
            super().__init__()
            self.blocks = nn.ModuleList(make(c) for _ in range(3))
            self.mixes = nn.ModuleList(nn.Conv2d((k + 2) * c, c, 1) for k in range(3))

        def forward(self, x):
            kept = x
            for block, mix in zip(self.blocks, self.mixes):
                kept = torch.cat((kept, block(x)), 1)
                x = mix(kept).relu()
            return x

    def __init__(self, c=48, times=2):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.body = self.Cascade(c, lambda c: self.Cascade(c, self.Group))
        self.up = nn.Sequential(nn.Conv2d(c, c * times**2, 3, 1, 1), nn.ReLU())
        self.shuffle, self.end = nn.PixelShuffle(times), nn.Conv2d(c, 3, 3, 1, 1)
        self.register_buffer("mean", torch.tensor([0.45, 0.44, 0.41])[None, :, None, None])

    def forward(self, x):
        y = self.shuffle(self.up(self.body(self.first(x - self.mean))))
        return self.end(y) + self.mean


class SwinIr(nn.Module):
    """SwinIR: super-resolution by attention within windows that are shifted by half of their
    width."""

    class Layer(nn.Module):
        def __init__(self, c, heads, size, shift, side):
            super().__init__()
            self.heads, self.size, self.shift = heads, size, shift
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.all, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))
            self.table = nn.Parameter(0.02 * torch.randn((2 * size - 1) ** 2, heads))
            at = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"))
            apart = (at.flatten(1)[:, :, None] - at.flatten(1)[:, None]) + size - 1
            self.register_buffer("index", apart[0] * (2 * size - 1) + apart[1])
            parts = torch.zeros(side)
            parts[side - size : side - shift], parts[side - shift :] = 1, 2
            ids = self.windows((3 * parts[:, None] + parts[None])[None, :, :, None]).squeeze(-1)
            mask = (ids[:, None] != ids[:, :, None]).float() * -100
            self.register_buffer("mask", mask if shift else None)

        def windows(self, x):
            n, h, w, c = x.shape
            s = self.size
            x = x.view(n, h // s, s, w // s, s, c)
            return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, s * s, c)

        def looked(self, x):
            m, t, c = x.shape
            q, k, v = self.all(x).reshape(m, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            look = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
            look = look + self.table[self.index.view(-1)].view(t, t, -1).permute(2, 0, 1)[None]
            if self.mask is not None:
                many = self.mask.shape[0]
                look = look.view(m // many, many, self.heads, t, t) + self.mask[None, :, None]
                look = look.view(-1, self.heads, t, t)
            return self.out((look.softmax(-1) @ v).transpose(1, 2).reshape(m, t, c))

        def forward(self, x):
            n, h, w, c = x.shape
            s, y = self.size, self.a(x)
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            y = self.looked(self.windows(y)).view(n, h // s, w // s, s, s, c)
            y = y.permute(0, 1, 3, 2, 4, 5).contiguous().view(n, h, w, c)
            if self.shift:
                y = torch.roll(y, (self.shift, self.shift), (1, 2))
            x = x + y
            return x + self.mlp(self.b(x))

    def __init__(self, c=60, groups=2, layers=4, side=48, times=2):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)
        self.groups = nn.ModuleList(
            nn.ModuleList(self.Layer(c, 6, 8, 4 * (k % 2), side) for k in range(layers))
            for _ in range(groups)
        )
        self.ends = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1) for _ in range(groups))
        self.norm = nn.LayerNorm(c)
        self.up = nn.Sequential(nn.Conv2d(c, 3 * times**2, 3, 1, 1), nn.PixelShuffle(times))

    def forward(self, x):
        first = self.first(x)
        y = first.permute(0, 2, 3, 1)
        for layers, end in zip(self.groups, self.ends):
            z = y
            for layer in layers:
                z = layer(z)
            y = y + end(z.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        y = self.last(self.norm(y).permute(0, 3, 1, 2)) + first
        return self.up(y)


class Yolo5(nn.Module):
    """YOLOv5 to the end: anchors, boxes decoded, the greatest by score kept apart by class
    (NonMaxSuppression)."""

    class Csp(nn.Module):
        def __init__(self, i, o, n=1, add=True):
            super().__init__()
            c, silu = o // 2, {"act": nn.SiLU}
            self.a, self.b, self.end = conv(i, c, 1, **silu), conv(i, c, 1, **silu), conv(o, o, 1)
            self.body = nn.ModuleList(
                nn.Sequential(conv(c, c, 1, **silu), conv(c, c, **silu)) for _ in range(n)
            )
            self.add = add

        def forward(self, x):
            y = self.a(x)
            for part in self.body:
                y = y + part(y) if self.add else part(y)
            return self.end(torch.cat((y, self.b(x)), 1))

    def __init__(self, c=16, kinds=20, side=256):
        super().__init__()
        csp, silu = self.Csp, {"act": nn.SiLU}
        down = lambda i: conv(i, 2 * i, 3, 2, **silu)
        self.stem = nn.Sequential(nn.Conv2d(3, c, 6, 2, 2), nn.SiLU(), down(c), csp(2 * c, 2 * c))
        self.a = nn.Sequential(down(2 * c), csp(4 * c, 4 * c, 2))
        self.b = nn.Sequential(down(4 * c), csp(8 * c, 8 * c, 3))
        self.c = nn.Sequential(down(8 * c), csp(16 * c, 16 * c))
        self.pool = nn.ModuleList((conv(16 * c, 8 * c, 1, **silu), conv(32 * c, 16 * c, 1, **silu)))
        self.up = nn.ModuleList((conv(16 * c, 8 * c, 1, **silu), conv(8 * c, 4 * c, 1, **silu)))
        self.mix = nn.ModuleList((csp(16 * c, 8 * c, 1, False), csp(8 * c, 4 * c, 1, False)))
        self.down = nn.ModuleList(
            (conv(4 * c, 4 * c, 3, 2, **silu), conv(8 * c, 8 * c, 3, 2, **silu))
        )
        self.last = nn.ModuleList((csp(8 * c, 8 * c, 1, False), csp(16 * c, 16 * c, 1, False)))
        self.kinds, self.steps, self.side = kinds, (8, 16, 32), side
        self.heads = nn.ModuleList(nn.Conv2d(k * c, 3 * (kinds + 5), 1) for k in (4, 8, 16))
        for head in self.heads:  # scores that differ
            nn.init.normal_(head.weight, std=1.0)
        self.register_buffer("anchors", 8 * torch.rand(3, 1, 3, 1, 1, 2) + 1)

    def boxes(self, k, x):
        step, n = self.steps[k], self.side // self.steps[k]
        y = self.heads[k](x).view(-1, 3, self.kinds + 5, n, n).permute(0, 1, 3, 4, 2).sigmoid()
        grid = torch.stack(
            torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")[::-1], -1
        )
        at, size, rest = y.split((2, 2, self.kinds + 1), -1)
        at = (at * 2 + grid.float() - 0.5) * step
        size = (size * 2) ** 2 * self.anchors[k] * step
        return torch.cat((at, size, rest), -1).view(1, -1, self.kinds + 5)

    def forward(self, x):
        a = self.a(self.stem(x))
        b = self.b(a)
        y = self.pool[0](self.c(b))
        parts = [y]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        c = self.up[0](self.pool[1](torch.cat(parts, 1)))
        wide = lambda y: F.interpolate(y, scale_factor=2.0, mode="nearest")
        b = self.up[1](self.mix[0](torch.cat((wide(c), b), 1)))
        a = self.mix[1](torch.cat((wide(b), a), 1))
        b = self.last[0](torch.cat((self.down[0](a), b), 1))
        c = self.last[1](torch.cat((self.down[1](b), c), 1))
        y = torch.cat([self.boxes(k, x) for k, x in enumerate((a, b, c))], 1)[0]
        scores = y[:, 5:] * y[:, 4:5]
        score, kind = scores.max(1)
        score, best = score.topk(300)
        kind, y = kind[best], y[best]
        half = y[:, 2:4] / 2
        box = torch.cat((y[:, :2] - half, y[:, :2] + half), 1)
        kept = torchvision.ops.nms(box + kind[:, None].float() * 1024.0, score, 0.45)
        return torch.cat((box, score[:, None], kind[:, None].float()), 1)[kept]


class AxialNet(nn.Module):
    """Attention along columns, then along rows, with positions in queries, keys and values (Axial
    DeepLab)."""

    class Axis(nn.Module):
        def __init__(self, c, heads, n, axis):
            super().__init__()
            self.heads, self.d, self.n, self.axis = heads, c // heads, n, axis
            self.all = nn.Sequential(nn.Conv1d(c, 2 * c, 1, bias=False), nn.BatchNorm1d(2 * c))
            self.sums, self.out = nn.BatchNorm2d(3 * heads), nn.BatchNorm1d(2 * c)
            self.places = nn.Parameter(torch.randn(2 * self.d, 2 * n - 1) / self.d**0.5)
            at = torch.arange(n)
            self.register_buffer("at", (at[:, None] - at[None] + n - 1).view(-1))

        def forward(self, x):
            x = x.permute(0, 3, 1, 2) if self.axis == 2 else x.permute(0, 2, 1, 3)
            m, w, c, n = x.shape
            y = self.all(x.reshape(m * w, c, n)).reshape(m * w, self.heads, 2 * self.d, n)
            half = self.d // 2
            q, k, v = torch.split(y, (half, half, self.d), 2)
            places = self.places[:, self.at].view(-1, n, n)
            pq, pk, pv = torch.split(places, (half, half, self.d), 0)
            a = torch.einsum("bgci,cij->bgij", q, pq)
            b = torch.einsum("bgci,cij->bgij", k, pk).transpose(2, 3)
            look = torch.cat((torch.einsum("bgci,bgcj->bgij", q, k), a, b), 1)
            look = self.sums(look).view(m * w, 3, self.heads, n, n).sum(1).softmax(3)
            y = torch.einsum("bgij,bgcj->bgci", look, v)
            y = torch.cat((y, torch.einsum("bgij,cij->bgci", look, pv)), -1)
            y = self.out(y.reshape(m * w, 2 * c, n)).view(m, w, c, 2, n).sum(3)
            return y.permute(0, 2, 3, 1) if self.axis == 2 else y.permute(0, 2, 1, 3)

    class Block(nn.Module):
        def __init__(self, i, c, n):
            super().__init__()
            self.enter, self.end = conv(i, c, 1), conv(c, i, 1, act=nn.Identity)
            self.a, self.b = AxialNet.Axis(c, 8, n, 2), AxialNet.Axis(c, 8, n, 3)

        def forward(self, x):
            return (x + self.end(self.b(self.a(self.enter(x))).relu())).relu()

    def __init__(self, kinds=100):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 32, 7, 2), conv(32, 64, 3, 2))
        self.a = nn.Sequential(self.Block(64, 64, 32), conv(64, 128, 3, 2))
        self.b = nn.Sequential(self.Block(128, 128, 16), self.Block(128, 128, 16))
        self.end = nn.Linear(128, kinds)

    def forward(self, x):
        return self.end(self.b(self.a(self.stem(x))).mean((2, 3)))


class SemanticFpn(nn.Module):
    """Panoptic FPN's branch of areas and Mask R-CNN's head on whole maps: a pyramid, each level
    enlarged by halves, masks by transposed convolutions."""

    def __init__(self, c=96, kinds=19):
        super().__init__()
        body = torchvision.models.resnet18(weights=None)
        self.stem = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool)
        self.stages = nn.ModuleList((body.layer1, body.layer2, body.layer3, body.layer4))
        self.sides = nn.ModuleList(nn.Conv2d(i, c, 1) for i in (64, 128, 256, 512))
        self.smooth = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1) for _ in range(4))
        one = lambda i: nn.Sequential(nn.Conv2d(i, 64, 3, 1, 1), nn.GroupNorm(16, 64), nn.ReLU())
        self.parts = nn.ModuleList(
            nn.ModuleList(one(c if not j else 64) for j in range(max(1, k))) for k in range(4)
        )
        self.masks = nn.Sequential(
            nn.ConvTranspose2d(64, 64, 2, 2), nn.ReLU(), nn.Conv2d(64, kinds, 1)
        )

    def forward(self, x):
        y, levels = self.stem(x), []
        for stage, side in zip(self.stages, self.sides):
            y = stage(y)
            levels.append(side(y))
        for k in (2, 1, 0):
            size = levels[k].shape[-2:]
            levels[k] = levels[k] + F.interpolate(levels[k + 1], size=size, mode="nearest")
        total = 0
        for k, (level, parts) in enumerate(zip(levels, self.parts)):
            y = self.smooth[k](level)
            for part in parts:
                y = part(y)
                if k:
                    y = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
            total = total + y
        y = self.masks(total)
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


LATENT = {"x": (("batch=1", 3, 32, 32), None), "t": (("batch=1",), 1000)}
model("guided_unet", LATENT, script=True, opset=14)(GuidedUnet)
model("carn_x2", {"x": ((1, 3, "height=64", "width=80"), None)}, opset=19)(Carn)
model("swin_ir_x2", image(48), script=True, opset=14)(SwinIr)
model("yolo_v5_nms", image(256), script=True, unordered=True, opset=13)(Yolo5)
model("axial_net", image(128), script=True, opset=16)(AxialNet)
model("semantic_fpn", {"x": ((1, 3, "height=128", "width=160"), None)}, script=True, opset=15)(
    SemanticFpn
)
