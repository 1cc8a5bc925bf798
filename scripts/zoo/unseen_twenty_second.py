"""The twenty-second set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and five networks written after their papers or their public code: a detector, pitch
estimation, tabular data, a recommender, a time series (unseen_twenty_second_quantized.py has two of
the 14 in 8 bits)."""

from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)
F = nn.functional


# ---- transformers: tables in documents, masks and masks by words, speech, language, captions
def found(out):
    return torch.cat((out.logits, out.pred_boxes), -1)


@model("table_transformer_r18", image(320), script=True, unordered=True, opset=17)
def table():
    import transformers

    seen = transformers.ResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        out_features=["stage4"],
    )
    settings = transformers.TableTransformerConfig(
        backbone_config=seen, encoder_layers=2, decoder_layers=2, num_queries=15, num_labels=2
    )
    inner = transformers.TableTransformerForObjectDetection(settings)
    return Called(inner, ["pixel_values"], found)


@model("maskformer_r18", image(256), opset=18)
def masks():
    import transformers

    seen = transformers.ResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    settings = transformers.MaskFormerConfig(
        backbone_config=seen,
        decoder_config=transformers.DetrConfig(decoder_layers=2, num_queries=100),
        num_labels=150,
    )
    inner = transformers.MaskFormerModel(settings)
    masks = lambda out: torch.einsum(
        "bqc,bchw->bqhw",
        out.transformer_decoder_last_hidden_state,
        out.pixel_decoder_last_hidden_state,
    )
    return Called(inner, ["pixel_values"], masks)


@model("clipseg_4", {"ids": (("batch=1", 16), 1000), "x": (("batch=1", 3, 224, 224), None)})
def named():
    import transformers

    words = {"num_hidden_layers": 3, "vocab_size": 4000, "eos_token_id": 2}
    settings = transformers.CLIPSegConfig(
        text_config=words,
        vision_config={"num_hidden_layers": 4, "patch_size": 16, "image_size": 224},
        extract_layers=[0, 1, 2],
    )
    inner = transformers.CLIPSegForImageSegmentation(settings)
    return Called(inner, ["input_ids", "pixel_values"], "logits")


model("hubert_2", {"x": (("batch=1", "samples=16000"), None)}, script=True, opset=14)(
    transformer("HubertModel", "HubertConfig", "input_values", call=("eager",), num_hidden_layers=2)
)
CACHE = ((1, 16, "past=256", 64), None)


@model(
    "phi_step",
    {"ids": ((1, 1), 4000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def phi():
    import transformers

    settings = transformers.PhiConfig(
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=2,
        num_attention_heads=16,
        vocab_size=4000,
    )
    return Step(transformers.PhiForCausalLM(settings), "logits")


model("jina_v3_2", tokens(4000, length="seq=64"), opset=18)(
    transformer(
        "JinaEmbeddingsV3Model", "JinaEmbeddingsV3Config", num_hidden_layers=2, vocab_size=4000
    )
)


@model(
    "blip_decoder_2",
    {"ids": (("batch=1", "seq=20"), 4000), "seen": (("batch=1", 197, 768), None)},
    script=True,
    opset=14,
)
def caption():
    import transformers

    settings = transformers.BlipTextConfig(
        num_hidden_layers=2, vocab_size=4000, num_attention_heads=12
    )
    inner = transformers.BlipTextLMHeadModel(settings)
    return Called(inner, ["input_ids", "encoder_hidden_states"], "logits", use_cache=False)


class Forecast(nn.Module):
    """Chronos-Bolt: from scaled patches of a series by T5 to the quantiles of a forecast."""

    def __init__(self, width=512, hidden=2048, patch=16, ahead=64, quantiles=9):
        super().__init__()
        import transformers

        settings = transformers.T5Config(
            d_model=width,
            d_ff=hidden,
            d_kv=64,
            num_heads=8,
            num_layers=2,
            vocab_size=2,
            feed_forward_proj="relu",
        )
        self.inner, self.patch = transformers.T5Model(settings), patch
        self.quantiles, self.ahead = quantiles, ahead
        three = lambda a, b, c: nn.ModuleList((nn.Linear(a, b), nn.Linear(b, c), nn.Linear(a, c)))
        self.enter = three(2 * patch, hidden, width)
        self.leave = three(width, hidden, quantiles * ahead)
        self.last = nn.Parameter(torch.randn(1, 1, width) * 0.02)

    def residual(self, parts, x):
        return parts[1](torch.relu(parts[0](x))) + parts[2](x)

    def forward(self, x):
        mask = torch.isnan(x).logical_not().to(x.dtype)
        x = torch.nan_to_num(x)
        count = mask.sum(-1, keepdim=True)
        mean = (x * mask).sum(-1, keepdim=True) / count
        scale = ((x - mean).square() * mask).sum(-1, keepdim=True).div(count).sqrt()
        scale = torch.where(scale == 0, mean.abs() + 1e-5, scale)
        cut = lambda v: v.unflatten(-1, (-1, self.patch))
        patches, seen = cut((x - mean) / scale), cut(mask)
        patches = torch.where(seen > 0, patches, 0.0)
        rows = self.residual(self.enter, torch.cat((patches, seen), -1))
        rows = torch.cat((rows, self.last.expand(x.shape[0], -1, -1)), 1)
        known = torch.cat((seen.sum(-1) > 0, torch.ones_like(count, dtype=torch.bool)), 1)
        begin = torch.zeros_like(count, dtype=torch.long)
        out = self.inner(
            inputs_embeds=rows, attention_mask=known.to(x.dtype), decoder_input_ids=begin
        )
        out = self.residual(self.leave, out.last_hidden_state)
        out = out.reshape(-1, self.quantiles, self.ahead)
        return out * scale.unsqueeze(-1) + mean.unsqueeze(-1)


model("chronos_bolt", {"x": (("batch=4", 512), None)}, script=True, opset=17)(Forecast)


# ---- diffusers: a video from an image
@model(
    "film_unet",
    {
        "x": ((1, 4, 8, 16, 16), None),
        "t": ((1,), 1000),
        "seen": ((1, 1, 256), None),
        "ids": ((1, 3), 100),
    },
    opset=18,
)
def film():
    import diffusers

    class Film(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = diffusers.UNetSpatioTemporalConditionModel(
                down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
                up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
                block_out_channels=(160, 320),
                layers_per_block=1,
                cross_attention_dim=256,
                num_attention_heads=(5, 10),
                num_frames=4,
            )

        def forward(self, x, t, seen, ids):
            return self.inner(x, t, seen, ids.to(x.dtype), return_dict=False)[0]

    return Film()


# ---- timm
model("inception_v4", image(299), opset=20)(vision("timm", "inception_v4"))


# ---- written after their papers or public code
def conv(i, o, k=1, s=1):
    made = nn.Conv2d(i, o, k, s, k // 2, bias=False)
    return nn.Sequential(made, nn.BatchNorm2d(o), nn.LeakyReLU(0.1))


class Aggregate(nn.Module):
    """Two branches and two further layers, all of which are joined."""

    def __init__(self, i, c, o):
        super().__init__()
        self.a, self.b, self.join = conv(i, c), conv(i, c), conv(4 * c, o)
        self.c, self.d = conv(c, c, 3), conv(c, c, 3)

    def forward(self, x):
        b = self.b(x)
        c = self.c(b)
        return self.join(torch.cat((self.d(c), c, b, self.a(x)), 1))


class YoloV7Tiny(nn.Module):
    ANCHORS = (
        ((10, 13), (16, 30), (33, 23)),
        ((30, 61), (62, 45), (59, 119)),
        ((116, 90), (156, 198), (373, 326)),
    )

    def __init__(self, classes=80):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 32, 3, 2), conv(32, 64, 3, 2), Aggregate(64, 32, 64))
        self.down = nn.ModuleList(
            nn.Sequential(nn.MaxPool2d(2), Aggregate(i, i, 2 * i)) for i in (64, 128, 256)
        )
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (5, 9, 13))
        self.enter, self.side = conv(512, 256), conv(512, 256)
        self.pooled, self.centre = conv(1024, 256), conv(512, 256)
        self.up = nn.ModuleList((conv(256, 128), conv(128, 64)))
        self.lateral = nn.ModuleList((conv(256, 128), conv(128, 64)))
        self.upper = nn.ModuleList((Aggregate(256, 64, 128), Aggregate(128, 32, 64)))
        self.step = nn.ModuleList((conv(64, 128, 3, 2), conv(128, 256, 3, 2)))
        self.lower = nn.ModuleList((Aggregate(256, 64, 128), Aggregate(512, 128, 256)))
        self.heads = nn.ModuleList(
            nn.Sequential(conv(c, 2 * c, 3), nn.Conv2d(2 * c, 3 * (classes + 5), 1))
            for c in (64, 128, 256)
        )
        self.register_buffer("anchors", torch.tensor(self.ANCHORS).view(3, 1, 3, 1, 1, 2).float())

    def forward(self, x):
        x, kept = self.stem(x), []
        for down in self.down:
            x = down(x)
            kept.append(x)
        a = self.enter(x)
        a = self.pooled(torch.cat([pool(a) for pool in reversed(self.pools)] + [a], 1))
        top = self.centre(torch.cat((self.side(x), a), 1))
        wide = lambda v: F.interpolate(v, scale_factor=2.0, mode="nearest")
        two = self.upper[0](torch.cat((self.lateral[0](kept[1]), wide(self.up[0](top))), 1))
        one = self.upper[1](torch.cat((self.lateral[1](kept[0]), wide(self.up[1](two))), 1))
        two = self.lower[0](torch.cat((self.step[0](one), two), 1))
        top = self.lower[1](torch.cat((self.step[1](two), top), 1))
        out = []
        for k, (head, level) in enumerate(zip(self.heads, (one, two, top))):
            y = head(level)
            _, _, height, width = y.shape
            y = y.view(1, 3, -1, height, width).permute(0, 1, 3, 4, 2).sigmoid()
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            grid = torch.stack((columns, rows), -1).view(1, 1, height, width, 2).float()
            at = (y[..., :2] * 2 - 0.5 + grid) * 8 * 2**k
            size = (y[..., 2:4] * 2) ** 2 * self.anchors[k]
            out.append(torch.cat((at, size, y[..., 4:]), -1).view(1, -1, y.shape[-1]))
        return torch.cat(out, 1)


model("yolov7_tiny", image(320), script=True, opset=13)(YoloV7Tiny)


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        two = lambda a: (nn.Conv2d(a, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.body = nn.Sequential(*two(i), *two(o))
        self.side = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        return self.body(x) + self.side(x)


class Pitch(nn.Module):
    """RMVPE: pitch of a voice among other sound, by a deep U over a spectrogram and a GRU."""

    def __init__(self, levels=5, first=16):
        super().__init__()
        twice = lambda i, o: nn.Sequential(Residual(i, o), Residual(o, o))
        widths = [first * 2**k for k in range(levels)]
        self.norm = nn.BatchNorm2d(1)
        self.down = nn.ModuleList(twice(i, o) for i, o in zip([1] + widths, widths))
        self.centre = twice(widths[-1], 2 * widths[-1])
        self.wide = nn.ModuleList(
            nn.Sequential(
                nn.ConvTranspose2d(2 * c, c, 3, 2, 1, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU()
            )
            for c in reversed(widths)
        )
        self.up = nn.ModuleList(twice(2 * c, c) for c in reversed(widths))
        self.last = nn.Conv2d(first, 3, 3, padding=1)
        self.cells = nn.GRU(3 * 128, 256, batch_first=True, bidirectional=True)
        self.cents = nn.Linear(512, 360)

    def forward(self, x):
        x, kept = self.norm(x.transpose(1, 2).unsqueeze(1)), []
        for down in self.down:
            x = down(x)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.centre(x)
        for wide, up, side in zip(self.wide, self.up, reversed(kept)):
            x = up(torch.cat((wide(x), side), 1))
        x = self.last(x).transpose(1, 2).flatten(-2)
        return self.cents(self.cells(x)[0]).sigmoid()


model("rmvpe", {"x": ((1, 128, "frames=64"), None)}, script=True, opset=13)(Pitch)


class Cells(nn.Module):
    """A layer over the cells of a table: attention among the columns of a row, then among the rows
    of a column, of which those to be predicted see only those that are known."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, three = heads, lambda: nn.Linear(width, 3 * width, bias=False)
        self.columns, self.rows = three(), three()
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(3))
        self.wide, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mix(self, made, x, known=None):
        q, k, v = made(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        if known is not None:
            k, v = k[:, :, :known], v[:, :, :known]
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def forward(self, x, known):
        x = self.norms[0](x + self.out[0](self.mix(self.columns, x)))
        y = x.transpose(0, 1)
        y = self.out[1](self.mix(self.rows, y, known)).transpose(0, 1)
        x = self.norms[1](x + y)
        return self.norms[2](x + self.back(F.gelu(self.wide(x))))


class TabPfn(nn.Module):
    """TabPFN 2: from a table in which the answers of some rows are known to those of the others."""

    def __init__(self, width=192, layers=3, group=2, classes=10):
        super().__init__()
        self.group = group
        self.enter, self.answer = nn.Linear(2 * group, width), nn.Linear(2, width)
        self.places = nn.Parameter(torch.randn(1, 8, width) * 0.1)
        self.layers = nn.ModuleList(Cells(width, 6) for _ in range(layers))
        self.end = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, classes)
        )

    def forward(self, x, y):
        known = y.shape[0]
        lost = torch.isnan(x)
        x = torch.where(lost, 0.0, x)
        mean = x[:known].mean(0, keepdim=True)
        spread = x[:known].std(0, keepdim=True) + 1e-6
        x = ((x - mean) / spread).clip(-100, 100)
        cells = torch.cat(
            (x.unflatten(1, (-1, self.group)), lost.unflatten(1, (-1, self.group))), -1
        )
        cells = self.enter(cells) + self.places
        asked = x.shape[0] - known
        target = torch.cat((y, y.mean().expand(asked)))
        open_ = torch.cat((torch.zeros(known), torch.ones(asked)))
        cells = torch.cat((cells, self.answer(torch.stack((target, open_), -1)).unsqueeze(1)), 1)
        for layer in self.layers:
            cells = layer(cells, known)
        return self.end(cells[known:, -1])


model("tab_pfn", {"x": ((192, 16), None), "answers": ((128,), None)}, opset=18)(TabPfn)


class LightGcn(nn.Module):
    """LightGCN: vectors of users and items, averaged three times over the graph of who liked what;
    the scores of all items for some users."""

    def __init__(self, people=2000, things=3000, width=64, layers=3):
        super().__init__()
        self.people, self.layers = people, layers
        self.rows = nn.Parameter(torch.randn(people + things, width) * 0.1)

    def forward(self, who, what, asked):
        what = what + self.people
        source, target = torch.cat((who, what)), torch.cat((what, who))
        count = torch.zeros(self.rows.shape[0])
        count = count.scatter_add(0, target, torch.ones_like(target, dtype=torch.float))
        root = torch.where(count > 0, count.clamp(min=1).rsqrt(), 0.0)
        weight = (root[source] * root[target]).unsqueeze(1)
        x = total = self.rows
        for _ in range(self.layers):
            index = target.unsqueeze(1).expand(-1, x.shape[1])
            x = torch.zeros_like(x).scatter_add(0, index, x[source] * weight)
            total = total + x
        total = total / (self.layers + 1)
        return total[asked] @ total[self.people :].T


model(
    "light_gcn",
    {"who": (("edges=4000",), 2000), "what": (("edges=4000",), 3000), "asked": ((32,), 2000)},
    opset=18,
)(LightGcn)

if __name__ == "__main__":
    import sys, zoo

    sys.exit(zoo.main(*sys.argv[1:]))
