"""Writes a zoo of widely deployed architectures, as PyTorch's exporters write them, into a folder,
and beside them the table zoo.tsv: name, file, and the options that describe the feed, for
optimize-model, run-model and the benchmarks (ISOMER_ZOO). Run by scripts/fetch-zoo.

Usage: zoo.py FOLDER [NAME..]

Weights are random and seeded; nothing is downloaded. Widths are the real ones; the number of layers
and of words is cut so that a file stays below about 150 MB. Statistics of batch norms are drawn,
and no parameter keeps a constant that only a fresh model has, so that nothing profits from that.
ONNX Runtime must compute what PyTorch does. A file is kept while this script and the versions of
the libraries stay as they were. Models whose name ends in _script come from the older exporter.
"""

import contextlib, hashlib, importlib.metadata, io, json, logging, os, sys, warnings

os.environ["CUDA_VISIBLE_DEVICES"], os.environ["HF_HUB_OFFLINE"] = "", "1"
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import numpy, onnx, onnxruntime, torch
from torch import nn

MODELS = {}
SOURCES = [__file__]  # the scripts whose models these are
OPSET = 18


class Model:
    """inputs: name -> (sizes, None for floats or the number of integers 0, 1, ..). A size that is
    a text "name=8" is left open under that name. unordered: rows come in an order that rounding
    may change."""

    def __init__(self, make, inputs, script=False, unordered=False, opset=OPSET):
        self.make, self.script, self.unordered, self.opset = make, script, unordered, opset
        self.inputs = {n: tuple(map(open_size, s)) for n, (s, _) in inputs.items()}
        self.below = {n: below for n, (_, below) in inputs.items()}

    def sizes(self):
        return {name: size for s in self.inputs.values() for size, name in s if name}

    def draw(self, generator):
        def one(name):
            shape = [size for size, _ in self.inputs[name]]
            if self.below[name]:
                return torch.randint(0, self.below[name], shape, generator=generator)
            return torch.randn(shape, generator=generator)

        return tuple(one(name) for name in self.inputs)

    def words(self, path):
        """The feed, for optimize-model and run-model; sizes that the exporter left open."""
        inputs = onnx.load(path, load_external_data=False).graph.input
        left = {d.dim_param for i in inputs for d in i.type.tensor_type.shape.dim}
        open_sizes = [(name, size) for name, size in self.sizes().items() if name in left]
        words = [w for name, size in open_sizes for w in ("--dim", f"{name}={size}")]
        for name, below in self.below.items():
            words += ["--input", f"{name}=0..{below - 1}"] if below else []
        return words


def open_size(size):
    name, _, number = str(size).rpartition("=")
    return int(number), name


def model(name, inputs, script=False, **options):
    def add(make):
        MODELS[name + "_script" * script] = Model(make, inputs, script, **options)
        return make

    return add


def image(size=224, batch=1, channels=3):
    return {"x": ((batch, channels, size, size), None)}


def tokens(words=1000, length="seq=64", mask=True):
    ids = {"ids": (("batch=1", length), words)}
    return ids | {"mask": (("batch=1", length), 2)} if mask else ids


class Step(nn.Module):
    """One token after others, whose keys and values are given for two layers; `result` of the
    model's results."""

    def __init__(self, inner, result):
        super().__init__()
        self.inner, self.result = inner, result

    def forward(self, ids, k0, v0, k1, v1):
        import transformers

        past = transformers.DynamicCache()
        past.update(k0, v0, 0)
        past.update(k1, v1, 1)
        out = self.inner(input_ids=ids, past_key_values=past, use_cache=True)
        return getattr(out, self.result)


class Called(nn.Module):
    """A model of transformers or diffusers: named inputs in, one tensor out."""

    def __init__(self, inner, names, output, **fixed):
        super().__init__()
        self.inner, self.names, self.output, self.fixed = inner, names, output, fixed

    def forward(self, a, b=None, c=None):
        given = {n: v for n, v in zip(self.names, (a, b, c)) if v is not None}
        out = self.inner(**given, **self.fixed)
        if callable(self.output):
            return self.output(out)
        return getattr(out, self.output) if isinstance(self.output, str) else out[self.output]


def transformer(kind, config, names="input_ids attention_mask", output=0, call=(), **options):
    def make():
        import transformers

        if isinstance(config, str):
            settings = getattr(transformers, config)(**options)
        else:
            settings = config(transformers)
        if "eager" in call:
            settings._attn_implementation = "eager"
        inner = getattr(transformers, kind)(settings)
        fixed = {"use_cache": False} if "uncached" in call else {}
        return Called(inner, names.split(), output, **fixed)

    return make


def vision(library, name, **options):
    def make():
        if library == "timm":
            import timm

            return timm.create_model(name, pretrained=False, **options)
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **options)

    return make


# ---- images
for library, name, size, options in (
    ("torchvision", "resnet18", 224, {}),
    ("torchvision", "mobilenet_v3_large", 224, {}),
    ("torchvision", "regnet_y_400mf", 224, {}),
    ("torchvision", "shufflenet_v2_x1_0", 224, {}),
    ("timm", "efficientnet_b0", 224, {}),
    ("timm", "convnext_tiny", 224, {}),
    ("timm", "mobilenetv4_conv_small", 224, {}),
    ("timm", "ghostnet_100", 224, {}),
    ("timm", "repvgg_a0", 224, {}),
    ("timm", "swin_tiny_patch4_window7_224", 224, {}),
    ("timm", "vit_small_patch16_224", 224, {"depth": 6}),
    ("timm", "mobilevit_s", 256, {}),
    ("timm", "efficientformer_l1", 224, {}),
    ("timm", "mixer_s16_224", 224, {}),
):
    model(name, image(size))(vision(library, name, **options))
model("resnet50", image(batch="batch=1"), script=True)(vision("torchvision", "resnet50"))
model("mobilenet_v2", image(batch="batch=1"), script=True)(vision("torchvision", "mobilenet_v2"))


@model("deeplabv3_mobilenet_v3", image(256))
def deeplab():
    import torchvision

    make = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large
    inner = make(weights=None, weights_backbone=None, num_classes=21)

    class Only(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)["out"]

    return Only()


model("segformer_b0", image(256))(
    transformer("SegformerForSemanticSegmentation", "SegformerConfig", "pixel_values", "logits")
)
model("detr_r18", image(320), unordered=True)(
    transformer(
        "RTDetrForObjectDetection",
        lambda t: t.RTDetrConfig(
            backbone_config=t.RTDetrResNetConfig(
                depths=[2, 2, 2, 2],
                layer_type="basic",
                hidden_sizes=[64, 128, 256, 512],
                out_features=["stage2", "stage3", "stage4"],
            ),
            encoder_in_channels=[128, 256, 512],
            decoder_layers=3,
            anchor_image_size=[320, 320],
        ),
        "pixel_values",
        "logits",
    )
)


@model("unet2d", {"x": ((1, 4, 32, 32), None), "t": ((1,), 1000), "text": ((1, 16, 256), None)})
def unet():
    import diffusers

    inner = diffusers.UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(128, 256, 256),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=256,
        attention_head_dim=8,
    )
    return Called(inner, ["sample", "timestep", "encoder_hidden_states"], "sample")


@model("vae_decoder", {"x": ((1, 4, 24, 24), None)})
def vae():
    import diffusers

    inner = diffusers.AutoencoderKL(
        block_out_channels=(64, 128, 256),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        latent_channels=4,
    )

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner.decode(x).sample

    return Decoder()


class SmallYolo(nn.Module):
    """A detector without anchors: stages of split bottlenecks, pooled pyramid, heads of distances
    as distributions."""

    def __init__(self, widths=(16, 32, 64, 128, 256), classes=80, bins=16):
        super().__init__()
        conv = lambda i, o, k=3, s=1: nn.Sequential(
            nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU()
        )
        self.stem = conv(3, widths[0], 3, 2)
        self.down = nn.ModuleList(conv(a, b, 3, 2) for a, b in zip(widths, widths[1:]))
        self.one = nn.ModuleList(conv(b, b, 1) for b in widths[1:])
        self.two = nn.ModuleList(
            nn.Sequential(conv(b // 2, b // 2), conv(b // 2, b // 2)) for b in widths[1:]
        )
        self.join = nn.ModuleList(conv(b // 2 * 3, b, 1) for b in widths[1:])
        self.pyramid = conv(widths[4] * 4, widths[4], 1)
        self.up = nn.ModuleList(conv(a + b, a, 1) for a, b in ((128, 256), (64, 128)))
        self.boxes = nn.ModuleList(
            nn.Sequential(conv(c, 64), nn.Conv2d(64, 4 * bins, 1)) for c in (64, 128, 256)
        )
        self.kinds = nn.ModuleList(
            nn.Sequential(conv(c, 64), nn.Conv2d(64, classes, 1)) for c in (64, 128, 256)
        )
        self.bins = bins
        self.register_buffer("places", torch.arange(bins, dtype=torch.float))

    def forward(self, x):
        x, kept = self.stem(x), []
        for down, one, two, join in zip(self.down, self.one, self.two, self.join):
            a, b = one(down(x)).chunk(2, 1)
            x = join(torch.cat([a, b, b + two(b)], 1))
            kept.append(x)
        parts = [x]
        for _ in range(3):
            parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        levels = [self.pyramid(torch.cat(parts, 1))]
        for up, side in zip(self.up, kept[-2:0:-1]):
            wide = nn.functional.interpolate(levels[0], scale_factor=2.0, mode="nearest")
            levels.insert(0, up(torch.cat([side, wide], 1)))
        out = []
        for level, boxes, kinds in zip(levels, self.boxes, self.kinds):
            b = boxes(level).flatten(2).unflatten(1, (4, self.bins)).softmax(2)
            b = (b * self.places[None, None, :, None]).sum(2)
            out.append(torch.cat([b, kinds(level).flatten(2).sigmoid()], 1))
        return torch.cat(out, 2)


model("yolo_n", image(320))(SmallYolo)

# ---- text
BERT = {"num_hidden_layers": 3, "vocab_size": 8000, "max_position_embeddings": 512}
model("bert_3", tokens())(transformer("BertModel", "BertConfig", **BERT))
model("bert_3", tokens(length="seq=64"), script=True)(
    transformer("BertModel", "BertConfig", call=("eager",), **BERT)
)
model("distilbert_3", tokens(length=128))(
    transformer("DistilBertModel", "DistilBertConfig", n_layers=3, vocab_size=8000)
)
model("deberta_v2_2", tokens(length=48))(
    transformer(
        "DebertaV2Model",
        "DebertaV2Config",
        num_hidden_layers=2,
        hidden_size=768,
        num_attention_heads=12,
        intermediate_size=3072,
        vocab_size=8000,
        relative_attention=True,
        position_buckets=256,
        pos_att_type=["c2p", "p2c"],
        norm_rel_ebd="layer_norm",
        share_att_key=True,
    )
)
model("t5_encoder_3", tokens(length=64), script=True)(
    transformer("T5EncoderModel", "T5Config", num_layers=3, vocab_size=8000)
)
model("gpt2_3", tokens(length=64, mask=False))(
    transformer(
        "GPT2Model", "GPT2Config", "input_ids", call=("uncached",), n_layer=3, vocab_size=8000
    )
)
LLAMA = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 8000,
}
model("llama_2", tokens(length=32, mask=False))(
    transformer("LlamaModel", "LlamaConfig", "input_ids", call=("uncached",), **LLAMA)
)
model("mamba_2", tokens(length=32, mask=False))(
    transformer(
        "MambaModel",
        "MambaConfig",
        "input_ids",
        call=("uncached",),
        num_hidden_layers=2,
        vocab_size=8000,
    )
)
model("clip_text_4", tokens(length=77, mask=False))(
    transformer(
        "CLIPTextModel", "CLIPTextConfig", "input_ids", num_hidden_layers=4, vocab_size=8000
    )
)

# ---- sound
model("wav2vec2_3", {"x": ((1, 16000), None)})(
    transformer("Wav2Vec2Model", "Wav2Vec2Config", "input_values", num_hidden_layers=3)
)


@model("whisper_encoder", {"x": ((1, 80, 3000), None)})
def whisper():
    import transformers

    settings = transformers.WhisperConfig(encoder_layers=2, d_model=384, encoder_ffn_dim=1536)
    inner = transformers.models.whisper.modeling_whisper.WhisperEncoder(settings)
    return Called(inner, ["input_features"], "last_hidden_state")


class Separator(nn.Module):
    """Dilated one-dimensional convolutions over a learned basis."""

    def __init__(self, width=256, hidden=512, blocks=8):
        super().__init__()
        self.encode = nn.Conv1d(1, width, 16, 8, bias=False)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, hidden, 1),
                nn.PReLU(),
                nn.GroupNorm(1, hidden),
                nn.Conv1d(hidden, hidden, 3, padding=2**k, dilation=2**k, groups=hidden),
                nn.PReLU(),
                nn.GroupNorm(1, hidden),
                nn.Conv1d(hidden, width, 1),
            )
            for k in range(blocks)
        )
        self.mask = nn.Conv1d(width, 2 * width, 1)
        self.decode = nn.ConvTranspose1d(width, 1, 16, 8, bias=False)

    def forward(self, x):
        y = basis = self.encode(x)
        for block in self.blocks:
            y = y + block(y)
        masks = torch.sigmoid(self.mask(y)).unflatten(1, (2, -1))
        return self.decode((masks * basis.unsqueeze(1)).flatten(0, 1))


model("conv_separator", {"x": ((1, 1, 8000), None)})(Separator)


# ---- sequences and tables
class Tagger(nn.Module):
    def __init__(self, kind, words=4000, width=128, hidden=256, tags=20):
        super().__init__()
        self.rows = nn.Embedding(words, width)
        self.cells = kind(width, hidden, 2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * hidden, tags)

    def forward(self, ids):
        return self.tags(self.cells(self.rows(ids))[0])


model("lstm_tagger", {"ids": ((1, 40), 4000)}, script=True)(lambda: Tagger(nn.LSTM))
model("gru_tagger", {"ids": ((1, 40), 4000)}, script=True)(lambda: Tagger(nn.GRU))


class LineReader(nn.Module):
    """A line of text: convolutions, then a recurrence over the columns."""

    def __init__(self, signs=80):
        super().__init__()
        layers, last = [], 1
        for width, pool in (
            (64, (2, 2)),
            (128, (2, 2)),
            (256, (2, 1)),
            (256, (2, 1)),
            (512, (2, 1)),
        ):
            layers += [nn.Conv2d(last, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            layers.append(nn.MaxPool2d(pool))
            last = width
        self.body = nn.Sequential(*layers)
        self.cells = nn.LSTM(last, 256, 2, bidirectional=True, batch_first=True)
        self.signs = nn.Linear(512, signs)

    def forward(self, x):
        columns = self.body(x).mean(2).transpose(1, 2)
        return self.signs(self.cells(columns)[0]).log_softmax(2)


model("line_reader", {"x": ((1, 1, 32, 160), None)}, script=True)(LineReader)


class TableReader(nn.Module):
    """A word of each column of a table, mixed by attention, beside numbers."""

    def __init__(self, columns=16, words=100, width=32, numbers=10):
        super().__init__()
        self.rows = nn.ModuleList(nn.Embedding(words, width) for _ in range(columns))
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, activation="gelu", batch_first=True)
        self.mix = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(numbers)
        inner = columns * width + numbers
        self.end = nn.Sequential(nn.Linear(inner, 256), nn.ReLU(), nn.Linear(256, 2))

    def forward(self, ids, x):
        y = torch.stack([rows(ids[:, k]) for k, rows in enumerate(self.rows)], 1)
        return self.end(torch.cat([self.mix(y).flatten(1), self.norm(x)], 1))


model("tab_transformer", {"ids": ((1, 16), 100), "x": ((1, 10), None)})(TableReader)


# ---- how each is written
def disturbed(net, generator):
    with torch.no_grad():
        for part in net.modules():
            if getattr(part, "running_var", None) is not None:
                part.running_mean.normal_(0, 0.1, generator=generator)
                part.running_var.uniform_(0.5, 1.5, generator=generator)
        for p in net.parameters():
            if p.is_floating_point() and p.numel() > 1 and p.min() == p.max():
                p += 0.05 * torch.randn(p.shape, generator=generator)
    return net.eval()


def export(path, wanted, net, given):
    names = list(wanted.inputs)
    axes = [{k: n for k, (_, n) in enumerate(s) if n} for s in wanted.inputs.values()]
    options = {"input_names": names, "output_names": ["y"], "opset_version": wanted.opset}
    if wanted.script:
        options |= {"dynamo": False, "dynamic_axes": dict(zip(names, axes))}
    else:
        options |= {"dynamo": True, "external_data": False, "optimize": True}
        if any(axes):
            dims = {n: torch.export.Dim(n, min=1, max=4096) for n in wanted.sizes()}
            shapes = [{k: dims[n] for k, n in axis.items()} for axis in axes]
            options["dynamic_shapes"] = tuple(shapes)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(net, given, path, **options)


def difference(path, wanted, net, given):
    """Between ONNX Runtime and PyTorch, of the greatest number of an output."""
    with torch.no_grad():
        meant = net(*given)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {i.name: v.numpy() for i, v in zip(session.get_inputs(), given)}
    meant = meant if isinstance(meant, tuple) else (meant,)
    pairs = zip(session.run(None, feed), meant, strict=True)
    return max(difference_of(a, b.numpy(), wanted.unordered) for a, b in pairs)


def difference_of(have, meant, unordered):
    if unordered:
        away = numpy.median(numpy.abs(numpy.sort(have, axis=None) - numpy.sort(meant, axis=None)))
    else:
        away = numpy.abs(have - meant).max()
    return float(away / max(numpy.abs(meant).max(), 1e-6))


def write(folder, name):
    wanted, generator = MODELS[name], torch.Generator().manual_seed(1)
    torch.manual_seed(1)
    net, path = disturbed(wanted.make(), generator), os.path.join(folder, name + ".onnx")
    given = wanted.draw(generator)
    export(path + ".part", wanted, net, given)
    away = difference(path + ".part", wanted, net, given)
    if not away < (1e-2 if wanted.unordered else 1e-3):
        raise ValueError(f"ONNX Runtime computes something else: {away:.1e}")
    onnx.checker.check_model(path + ".part")
    os.replace(path + ".part", path)
    return os.path.getsize(path)


def version():
    """Of the scripts and of the libraries."""
    libraries = ("torch", "torchvision", "transformers", "timm", "diffusers", "onnxscript")
    text = repr([importlib.metadata.version(n) for n in libraries]).encode()
    for path in reversed(SOURCES):
        with open(path, "rb") as file:
            text = file.read() + text
    return hashlib.sha256(text).hexdigest()[:16]


def write_table(folder):
    paths = {name: os.path.join(folder, name + ".onnx") for name in MODELS}
    lines = [
        "\t".join([name, name + ".onnx", " ".join(wanted.words(paths[name]))])
        for name, wanted in MODELS.items()
        if os.path.exists(paths[name])
    ]
    with open(os.path.join(folder, "zoo.tsv"), "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def main(folder="", *names):
    if not folder or folder.startswith("-"):
        print(f"usage: {os.path.basename(sys.argv[0])} FOLDER [NAME..]", file=sys.stderr)
        return 2
    unknown = [name for name in names if not any(m.startswith(name) for m in MODELS)]
    if unknown:
        print(f"zoo: no model's name starts with {unknown[0]}", file=sys.stderr)
        return 2
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    state, wrong, done = os.path.join(folder, "versions.json"), 0, {}
    with contextlib.suppress(FileNotFoundError, ValueError):
        with open(state, encoding="utf-8") as file:
            done = json.load(file)
    for name in MODELS:
        path = os.path.join(folder, name + ".onnx")
        if names and not name.startswith(names):
            continue
        if done.get(name) == version() and os.path.exists(path):
            continue
        try:
            print(f"{name}: {write(folder, name) / 1e6:.1f} MB", flush=True)
            done[name] = version()
        except Exception as error:  # of any library: the others are written all the same
            print(f"{name}: not written: {str(error).strip()[:300]}", file=sys.stderr, flush=True)
            wrong = 1
        with open(state, "w", encoding="utf-8") as file:
            json.dump(done, file, indent=1)
        write_table(folder)
    write_table(folder)
    print(os.path.join(folder, "zoo.tsv"))
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
