"""The twenty-fifth set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and nine networks written after their papers: things named in a picture, the flow around a
wing, what somebody will click, and six in unseen_twenty_fifth_rest.py
(unseen_twenty_fifth_quantized.py has two of the 14 in 8 bits)."""

import statistics

from zoo import MODELS, SOURCES, Called, image, model, nn, tokens, torch, vision

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional


def greatest(share):
    """What exceeds the mean by the deviations that `share` of normal numbers stay below; neither
    exporter writes the function that tells how many these are."""
    many = statistics.NormalDist().inv_cdf(share)

    def apply(x):
        cut = x.mean(-1, keepdim=True) + x.std(-1, keepdim=True, unbiased=False) * many
        return F.relu(x - cut)

    return apply


# ---- transformers: a language model with four streams of states, a step with a cache of latents,
# speech
@model("gemma3n_2", tokens(4000, 64, mask=False), opset=22)
def streams():
    import transformers

    settings = transformers.Gemma3nTextConfig(
        vocab_size=4000,
        vocab_size_per_layer_input=4000,
        hidden_size=768,
        hidden_size_per_layer_input=128,
        intermediate_size=3072,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=128,
        num_kv_shared_layers=0,
        layer_types=["sliding_attention", "full_attention"],
        activation_sparsity_pattern=[0.95, 0.0],
    )
    inner = transformers.Gemma3nTextModel(settings)
    inner.layers[0].mlp._gaussian_topk = greatest(0.95)
    return Called(inner, ["input_ids"], 0, use_cache=False)


class LatentStep(nn.Module):
    """MiniCPM 3: one word after others, of which a layer keeps a row of 256 and a turned one of
    32."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.MiniCPM3Config(
            vocab_size=4000,
            hidden_size=1024,
            intermediate_size=2560,
            num_hidden_layers=2,
            num_attention_heads=16,
            num_key_value_heads=16,
        )
        self.inner = transformers.MiniCPM3ForCausalLM(settings)

    def forward(self, ids, k0, v0, k1, v1):
        import transformers

        past = transformers.DynamicCache()
        past.update(k0, v0, 0)
        past.update(k1, v1, 1)
        return self.inner(input_ids=ids, past_key_values=past, use_cache=True).logits


LATENT, TURNED = ((1, 1, "past=256", 256), None), ((1, 1, "past=256", 32), None)
model(
    "minicpm3_step",
    {"ids": ((1, 1), 4000), "k0": LATENT, "v0": TURNED, "k1": LATENT, "v1": TURNED},
    opset=20,
)(LatentStep)


@model("wav2vec2_conformer_2", {"x": ((1, "samples=16000"), None)}, script=True, opset=17)
def speech():
    import transformers

    settings = transformers.Wav2Vec2ConformerConfig(
        hidden_size=512,
        intermediate_size=2048,
        num_hidden_layers=2,
        num_attention_heads=8,
        position_embeddings_type="rotary",
    )
    settings._attn_implementation = "eager"
    return Called(transformers.Wav2Vec2ConformerModel(settings), ["input_values"], 0)


# ---- diffusers: the first stage of a picture from words
class Cascade(nn.Module):
    """Stable Cascade: a step on a picture of few places."""

    def __init__(self):
        super().__init__()
        import diffusers

        self.inner = diffusers.StableCascadeUNet(
            in_channels=16,
            out_channels=16,
            conditioning_dim=512,
            block_out_channels=(384, 384),
            num_attention_heads=(6, 6),
            down_num_layers_per_block=(1, 2),
            up_num_layers_per_block=(2, 1),
            down_blocks_repeat_mappers=(1, 1),
            up_blocks_repeat_mappers=(1, 1),
            clip_text_in_channels=512,
            clip_text_pooled_in_channels=512,
            clip_image_in_channels=512,
            switch_level=(False,),
        )

    def forward(self, x, t, pooled, words, picture):
        return self.inner(x, t, pooled, words, picture, return_dict=False)[0]


model(
    "stable_cascade",
    {
        "x": ((1, 16, 24, 24), None),
        "t": ((1,), None),
        "pooled": ((1, 1, 512), None),
        "words": ((1, 77, 512), None),
        "picture": ((1, 1, 512), None),
    },
    opset=18,
)(Cascade)

# ---- timm
model("regnetv_040", image(224, batch="batch=1"), script=True, opset=13)(
    vision("timm", "regnetv_040")
)


# ---- written after their papers
def cbs(i, o, k=1, s=1):
    return nn.Sequential(
        nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o, 1e-3), nn.SiLU()
    )


class YoloWorld(nn.Module):
    """YOLO-World: a picture and rows of texts to boxes that they name. In the pyramid each place is
    weighed by the text that fits it best, and the texts look at the pooled pyramid."""

    class Split(nn.Module):
        """Stages of two convolutions beside what goes around them, and the texts if `guide`."""

        def __init__(self, i, o, depth=1, guide=0, heads=4):
            super().__init__()
            half = o // 2
            self.first = cbs(i, o)
            two = lambda: nn.Sequential(cbs(half, half, 3), cbs(half, half, 3))
            self.blocks = nn.ModuleList(two() for _ in range(depth))
            self.last = cbs((2 + depth + (guide > 0)) * half, o)
            self.heads = heads
            if guide:
                self.key, self.value = nn.Linear(guide, half), cbs(half, half, 3)
                self.bias = nn.Parameter(torch.randn(heads) * 0.1)

        def weighed(self, x, texts):
            """By the greatest product of a place and a text, for each head."""
            key = self.key(texts).unflatten(2, (self.heads, -1))
            place = x.unflatten(1, (self.heads, -1))
            fit = torch.einsum("bmchw,bnmc->bmhwn", place, key).max(-1)[0]
            fit = fit / place.shape[2] ** 0.5 + self.bias[None, :, None, None]
            value = self.value(x).unflatten(1, (self.heads, -1))
            return (value * fit.sigmoid().unsqueeze(2)).flatten(1, 2)

        def forward(self, x, texts=None):
            parts = list(self.first(x).chunk(2, 1))
            for block in self.blocks:
                y = block(parts[-1])
                parts.append(y if texts is not None else parts[-1] + y)
            if texts is not None:
                parts.append(self.weighed(parts[-1], texts))
            return self.last(torch.cat(parts, 1))

    class Pooled(nn.Module):
        """Texts look at three by three maxima of each level."""

        def __init__(self, widths, text, width=256, heads=8):
            super().__init__()
            self.enter = nn.ModuleList(nn.Conv2d(w, width, 1) for w in widths)
            norm = lambda i: nn.Sequential(nn.LayerNorm(i), nn.Linear(i, width))
            self.q, self.k, self.v = norm(text), norm(width), norm(width)
            self.o, self.heads = nn.Linear(width, text), heads

        def forward(self, levels, texts):
            seen = [F.adaptive_max_pool2d(e(x), 3).flatten(2) for e, x in zip(self.enter, levels)]
            seen = torch.cat(seen, 2).transpose(1, 2)
            cut = lambda v: v.unflatten(2, (self.heads, -1))
            q, k, v = cut(self.q(texts)), cut(self.k(seen)), cut(self.v(seen))
            look = torch.einsum("bnmc,bkmc->bmnk", q, k) / q.shape[3] ** 0.5
            y = torch.einsum("bmnk,bkmc->bnmc", F.softmax(look, -1), v).flatten(2)
            return texts + self.o(y)

    class Head(nn.Module):
        """Distances as distributions, and what fits each text."""

        def __init__(self, c, text, bins=16):
            super().__init__()
            self.box = nn.Sequential(cbs(c, 64, 3), cbs(64, 64, 3), nn.Conv2d(64, 4 * bins, 1))
            self.mark = nn.Sequential(cbs(c, 64, 3), cbs(64, 64, 3), nn.Conv2d(64, text, 1))
            self.norm = nn.BatchNorm2d(text)
            self.scale = nn.Parameter(torch.randn(1) * 0.1)
            self.bias = nn.Parameter(torch.randn(1) * 0.1)
            self.register_buffer("places", torch.arange(bins, dtype=torch.float))

        def forward(self, x, texts):
            boxes = self.box(x).flatten(2).unflatten(1, (4, -1)).transpose(2, 3)
            boxes = F.softmax(boxes, 3) @ self.places
            marks, texts = self.norm(self.mark(x)), F.normalize(texts, dim=-1)
            fit = torch.einsum("bchw,bkc->bkhw", marks, texts) * self.scale.exp() + self.bias
            return torch.cat((boxes, fit.flatten(2).sigmoid()), 1)

    def __init__(self, widths=(16, 32, 64, 128, 256), text=512):
        super().__init__()
        a, b, c, d, e = widths
        self.stem = nn.Sequential(cbs(3, a, 3, 2), cbs(a, b, 3, 2), self.Split(b, b))
        self.down = nn.ModuleList(
            nn.Sequential(cbs(i, o, 3, 2), self.Split(i * 2, o))
            for i, o in ((b, c), (c, d), (d, e))
        )
        self.pool, self.join = cbs(e, e // 2), cbs(2 * e, e)
        self.up = nn.ModuleList((self.Split(d + e, d, 1, text), self.Split(c + d, c, 1, text)))
        self.texts = self.Pooled((c, d, e), text)
        self.strides = nn.ModuleList((cbs(c, c, 3, 2), cbs(d, d, 3, 2)))
        self.back = nn.ModuleList((self.Split(c + d, d, 1, text), self.Split(d + e, e, 1, text)))
        self.heads = nn.ModuleList(self.Head(w, text) for w in (c, d, e))

    def forward(self, x, texts):
        kept = [self.stem(x)]
        for down in self.down:
            kept.append(down(kept[-1]))
        parts = [self.pool(kept[-1])]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        top = self.join(torch.cat(parts, 1))
        wide = lambda v: F.interpolate(v, scale_factor=2.0, mode="nearest")
        mid = self.up[0](torch.cat((wide(top), kept[2]), 1), texts)
        low = self.up[1](torch.cat((wide(mid), kept[1]), 1), texts)
        texts = self.texts((low, mid, top), texts)
        mid = self.back[0](torch.cat((self.strides[0](low), mid), 1), texts)
        top = self.back[1](torch.cat((self.strides[1](mid), top), 1), texts)
        levels = zip(self.heads, (low, mid, top))
        return torch.cat([head(level, texts) for head, level in levels], 2)


model(
    "yolo_world",
    {"x": ((1, 3, 384, 384), None), "texts": ((1, 40, 512), None)},
    script=True,
    opset=19,
)(YoloWorld)


def perceptron(i, width, o, norm=True):
    parts = [nn.Linear(i, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    parts += [nn.Linear(width, o)] + [nn.LayerNorm(o)] * norm
    return nn.Sequential(*parts)


class MeshGraphNet(nn.Module):
    """MeshGraphNets: the next state of each node of a mesh, by messages along its edges, which are
    renewed as well."""

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.edge = perceptron(3 * width, width, width)
            self.node = perceptron(2 * width, width, width)

        def forward(self, x, edges, ends):
            start, stop = ends[0], ends[1]
            news = self.edge(torch.cat((x[start], x[stop], edges), 1))
            at = stop.unsqueeze(1).expand_as(news)
            come = torch.zeros_like(x).scatter_add(0, at, news)
            return x + self.node(torch.cat((x, come), 1)), edges + news

    def __init__(self, node=11, edge=3, width=128, layers=4, out=2):
        super().__init__()
        self.nodes, self.edges = perceptron(node, width, width), perceptron(edge, width, width)
        self.layers = nn.ModuleList(self.Layer(width) for _ in range(layers))
        self.leave = perceptron(width, width, out, norm=False)

    def forward(self, x, edges, ends):
        x, edges = self.nodes(x), self.edges(edges)
        for layer in self.layers:
            x, edges = layer(x, edges, ends)
        return self.leave(x)


model(
    "mesh_graph_net",
    {
        "x": (("nodes=600", 11), None),
        "edges": (("edges=3400", 3), None),
        "ends": ((2, "edges=3400"), 600),
    },
    opset=18,
)(MeshGraphNet)


class Wukong(nn.Module):
    """Wukong: layers of factorization machines, whose products of pairs meet a narrow projection,
    beside linear mixtures of the rows."""

    class Layer(nn.Module):
        def __init__(self, rows, width, made=16, mixed=16, narrow=24, hidden=512):
            super().__init__()
            self.narrow = nn.Parameter(torch.randn(rows, narrow) * 0.1)
            self.norm = nn.LayerNorm(rows * narrow)
            self.deep = nn.Sequential(
                nn.Linear(rows * narrow, hidden), nn.ReLU(), nn.Linear(hidden, made * width)
            )
            self.mix = nn.Parameter(torch.randn(mixed, rows) * 0.1)
            self.side = nn.Parameter(torch.randn(made + mixed, rows) * 0.1)
            self.last, self.width = nn.LayerNorm(width), width

        def forward(self, x):
            pairs = torch.bmm(x, x.transpose(1, 2)) @ self.narrow
            deep = self.deep(self.norm(pairs.flatten(1))).unflatten(1, (-1, self.width))
            mixed = self.mix @ x
            return self.last(torch.cat((deep, mixed), 1) + self.side @ x)

    def __init__(self, fields=40, words=1000, numbers=13, width=64, layers=3):
        super().__init__()
        self.rows = nn.Embedding(fields * words, width)
        self.register_buffer("first", torch.arange(fields) * words)
        self.numbers = nn.Linear(numbers, 4 * width)
        sizes = [fields + 4] + [32] * (layers - 1)
        self.layers = nn.ModuleList(self.Layer(rows, width) for rows in sizes)
        self.end = nn.Sequential(nn.Linear(32 * width, 256), nn.ReLU(), nn.Linear(256, 1))
        self.width = width

    def forward(self, ids, x):
        x = self.numbers(x).reshape(-1, 4, self.width)
        y = torch.cat((self.rows(ids + self.first), x), 1)
        for layer in self.layers:
            y = layer(y)
        return torch.sigmoid(self.end(y.flatten(1)))


model(
    "wukong",
    {"ids": (("batch=128", 40), 1000), "x": (("batch=128", 13), None)},
    script=True,
    opset=15,
)(Wukong)

if __name__ == "__main__":
    import sys, zoo, unseen_twenty_fifth_rest

    sys.exit(zoo.main(*sys.argv[1:]))
