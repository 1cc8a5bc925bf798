"""The twenty-third set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and five networks written after their papers: points of two pictures, a graph in time, a
coded picture, what comes next in a shop, a voice without what is played beside it
(unseen_twenty_third_quantized.py has two of the 14 in 8 bits)."""

from zoo import MODELS, SOURCES, Called, Step, image, model, nn, tokens, torch, vision

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional


# ---- transformers: speech, a step, a decoder, words beside a picture, experts
@model("seamless_encoder_2", {"x": ((1, "frames=150", 160), None)}, script=True, opset=17)
def speech():
    import transformers
    from transformers.models.seamless_m4t_v2 import modeling_seamless_m4t_v2 as seamless

    settings = transformers.SeamlessM4Tv2Config(
        hidden_size=512,
        speech_encoder_layers=2,
        speech_encoder_attention_heads=8,
        speech_encoder_intermediate_size=2048,
        speech_encoder_chunk_size=64,
        num_adapter_layers=1,
    )
    return Called(seamless.SeamlessM4Tv2SpeechEncoder(settings), ["input_features"], 0)


CACHE = ((1, 4, "past=256", 64), None)


@model(
    "cohere2_step",
    {"ids": ((1, 1), 4000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def cohere():
    import transformers

    settings = transformers.Cohere2Config(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=4000,
        eos_token_id=2,
        layer_types=["sliding_attention", "full_attention"],
    )
    return Step(transformers.Cohere2ForCausalLM(settings), "logits")


class Translated(nn.Module):
    """uMT5's decoder: its words and what the encoder made of others to the scores of words."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.UMT5Config(
            num_layers=1, num_decoder_layers=3, vocab_size=8000, use_cache=False
        )
        self.inner = transformers.UMT5ForConditionalGeneration(settings)

    def forward(self, ids, seen):
        return self.inner(decoder_input_ids=ids, encoder_outputs=(seen,), use_cache=False).logits


model(
    "umt5_decoder_3",
    {"ids": (("batch=2", "seq=32"), 8000), "seen": (("batch=2", 48, 512), None)},
    script=True,
    opset=14,
)(Translated)


@model(
    "bridge_tower_2",
    {"ids": ((1, 32), 4000), "x": ((1, 3, 192, 192), None)},
    opset=18,
)
def bridge():
    import transformers

    settings = transformers.BridgeTowerConfig(
        num_hidden_layers=2,
        text_config={"num_hidden_layers": 3, "vocab_size": 4000},
        vision_config={"num_hidden_layers": 3, "image_size": 192, "patch_size": 16},
    )
    inner = transformers.BridgeTowerModel(settings)
    return Called(inner, ["input_ids", "pixel_values"], "pooler_output")


@model("minimax_2", tokens(4000, 64, mask=False), opset=18)
def experts():
    import transformers

    settings = transformers.MiniMaxConfig(
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        num_local_experts=8,
        block_size=32,
        vocab_size=4000,
        layer_types=["linear_attention", "full_attention"],
    )
    settings._experts_implementation = "batched_mm"
    return Called(transformers.MiniMaxModel(settings), ["input_ids"], 0, use_cache=False)


# ---- diffusers: a picture from words; a picture from codes
@model(
    "aura_flow_2",
    {"x": ((1, 4, 32, 32), None), "words": ((1, 64, 512), None), "t": ((1,), 1000)},
    opset=18,
)
def picture():
    import diffusers

    inner = diffusers.AuraFlowTransformer2DModel(
        sample_size=32,
        num_mmdit_layers=1,
        num_single_dit_layers=2,
        attention_head_dim=64,
        num_attention_heads=12,
        joint_attention_dim=512,
        caption_projection_dim=768,
        pos_embed_max_size=256,
    )
    names = ["hidden_states", "encoder_hidden_states", "timestep"]
    return Called(inner, names, 0, return_dict=False)


@model("movq_decoder", {"x": ((1, 4, 24, 24), None)}, script=True, opset=16)
def codes():
    import diffusers

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = diffusers.VQModel(
                down_block_types=("DownEncoderBlock2D", "AttnDownEncoderBlock2D"),
                up_block_types=("AttnUpDecoderBlock2D", "UpDecoderBlock2D"),
                block_out_channels=(128, 256),
                latent_channels=4,
                num_vq_embeddings=1024,
                vq_embed_dim=4,
                norm_type="spatial",
            )

        def forward(self, x):
            return self.inner.decode(x, return_dict=False)[0]

    return Decoder()


# ---- timm
model("resnetrs50", image(160, batch="batch=1"), script=True, opset=13)(
    vision("timm", "resnetrs50")
)
model("mobilenetv5_base", image(256), opset=19)(vision("timm", "mobilenetv5_base"))


# ---- written after their papers
def mixed(*widths):
    """Layers of one tap over points, with norms between."""
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers[:-2])


class Attended(nn.Module):
    """What the points of one picture take from those of a picture."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.last = heads, nn.Conv1d(width, width, 1)
        self.three = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))
        self.both = mixed(2 * width, 2 * width, width)

    def forward(self, x, source):
        cut = lambda v: v.unflatten(1, (-1, self.heads))
        q, k, v = (cut(part(at)) for part, at in zip(self.three, (x, source, source)))
        scores = torch.einsum("bdhn,bdhm->bhnm", q, k) / q.shape[1] ** 0.5
        taken = torch.einsum("bhnm,bdhm->bdhn", scores.softmax(-1), v).flatten(1, 2)
        return x + self.both(torch.cat((x, self.last(taken)), 1))


class SuperGlue(nn.Module):
    """SuperGlue: which points of two pictures are the same, by attention within and between the
    two, and by a plan of transport that is found in rounds."""

    def __init__(self, width=256, layers=4, rounds=20):
        super().__init__()
        self.place = mixed(3, 32, 64, 128, 256, width)
        self.layers = nn.ModuleList(Attended(width) for _ in range(2 * layers))
        self.last, self.rounds = nn.Conv1d(width, width, 1), rounds
        self.none = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, places_a, b, places_b):
        a, b = a + self.place(places_a), b + self.place(places_b)
        for k, layer in enumerate(self.layers):
            a, b = (layer(a, b), layer(b, a)) if k % 2 else (layer(a, a), layer(b, b))
        a, b = self.last(a), self.last(b)
        scores = torch.einsum("bdn,bdm->bnm", a, b) / a.shape[1] ** 0.5
        m, n = scores.shape[1:]
        column, row = self.none.expand(1, m, 1), self.none.expand(1, 1, n + 1)
        z = torch.cat((torch.cat((scores, column), 2), row), 1)
        whole = -torch.log(torch.full((1,), 1.0) * (m + n))
        ends = lambda here, there: torch.cat((whole.expand(here), torch.log(there * whole.exp())))
        rows = ends(m, torch.full((1,), 1.0) * n).unsqueeze(0)
        columns = ends(n, torch.full((1,), 1.0) * m).unsqueeze(0)
        u, v = torch.zeros_like(rows), torch.zeros_like(columns)
        for _ in range(self.rounds):
            u = rows - torch.logsumexp(z + v.unsqueeze(1), 2)
            v = columns - torch.logsumexp(z + u.unsqueeze(2), 1)
        return z + u.unsqueeze(2) + v.unsqueeze(1) - whole


model(
    "super_glue",
    {
        "a": ((1, 256, "first=200"), None),
        "places_a": ((1, 3, "first=200"), None),
        "b": ((1, 256, "second=180"), None),
        "places_b": ((1, 3, "second=180"), None),
    },
    opset=18,
)(SuperGlue)


class Agcrn(nn.Module):
    """AGCRN: a series for each of many places, by recurrences of which each place has weights of
    its own, made of a row that also tells how near places are to each other."""

    def __init__(self, places=170, hidden=64, row=10, hops=2, ahead=12, layers=2):
        super().__init__()
        self.hops, self.hidden, self.ahead = hops, hidden, ahead
        self.rows = nn.Parameter(torch.randn(places, row) * 0.3)
        drawn = lambda *sizes: nn.Parameter(torch.randn(*sizes) * 0.05)
        widths = [1 + hidden] + [2 * hidden] * (layers - 1)
        self.gates = nn.ParameterList(drawn(row, hops, w, 2 * hidden) for w in widths)
        self.news = nn.ParameterList(drawn(row, hops, w, hidden) for w in widths)
        self.gate_bias = nn.ParameterList(drawn(row, 2 * hidden) for _ in widths)
        self.new_bias = nn.ParameterList(drawn(row, hidden) for _ in widths)
        self.last = nn.Conv2d(1, ahead, (1, hidden))

    def walk(self, near, x, weights, bias):
        hops = torch.stack((x, torch.einsum("nm,bmc->bnc", near, x)), 2)
        weights = torch.einsum("nd,dkio->nkio", self.rows, weights)
        return torch.einsum("bnki,nkio->bno", hops, weights) + self.rows @ bias

    def forward(self, x):
        near = F.softmax(F.relu(self.rows @ self.rows.T), 1)
        for layer in range(len(self.gates)):
            state, out = x.new_zeros(x.shape[0], x.shape[2], self.hidden), []
            for t in range(x.shape[1]):
                now = x[:, t]
                both = torch.cat((now, state), -1)
                gates = self.walk(near, both, self.gates[layer], self.gate_bias[layer])
                z, r = torch.sigmoid(gates).chunk(2, -1)
                both = torch.cat((now, z * state), -1)
                new = self.walk(near, both, self.news[layer], self.new_bias[layer])
                state = r * state + (1 - r) * torch.tanh(new)
                out.append(state)
            x = torch.stack(out, 1)
        return self.last(x[:, -1:])


model("agcrn", {"x": (("batch=1", 12, 170, 1), None)}, script=True, opset=15)(Agcrn)


class Divided(nn.Module):
    """GDN: each channel by the root of a weighted sum of the squares of all, or times it."""

    def __init__(self, width, inverse=False):
        super().__init__()
        self.inverse = inverse
        self.beta = nn.Parameter(torch.rand(width) + 0.5)
        self.gamma = nn.Parameter(torch.rand(width, width) * 0.02)

    def forward(self, x):
        beta = self.beta.clamp(min=1e-3).square() - 1e-6
        gamma = self.gamma.clamp(min=1e-6).square()
        norm = F.conv2d(x * x, gamma[:, :, None, None], beta)
        return x * torch.sqrt(norm) if self.inverse else x * torch.rsqrt(norm)


class Coded(nn.Module):
    """A picture by the codes of a network and a second, smaller one that tells how the first are
    spread (mean and scale); the picture that comes back, and the bits that the codes take."""

    def __init__(self, width=128, last=192):
        super().__init__()
        down = lambda i, o: nn.Conv2d(i, o, 5, 2, 2)
        up = lambda i, o: nn.ConvTranspose2d(i, o, 5, 2, 2, 1)
        w = width
        self.code = nn.Sequential(
            *(down(3, w), Divided(w), down(w, w), Divided(w), down(w, w), Divided(w), down(w, last))
        )
        self.back = nn.Sequential(
            *(up(last, w), Divided(w, True), up(w, w), Divided(w, True)),
            *(up(w, w), Divided(w, True), up(w, 3)),
        )
        self.side = nn.Sequential(
            *(nn.Conv2d(last, w, 3, 1, 1), nn.LeakyReLU()),
            *(down(w, w), nn.LeakyReLU(), down(w, w)),
        )
        self.spread = nn.Sequential(
            *(up(w, last), nn.LeakyReLU(), up(last, last * 3 // 2), nn.LeakyReLU()),
            nn.Conv2d(last * 3 // 2, 2 * last, 3, 1, 1),
        )

    def forward(self, x):
        y = self.code(x)
        scale, mean = self.spread(torch.round(self.side(y))).chunk(2, 1)
        scale, codes = scale.clamp(min=0.11), torch.round(y - mean)
        below = lambda v: 0.5 + 0.5 * torch.erf(2**-0.5 * v)
        size = codes.abs()
        likely = below((0.5 - size) / scale) - below((-0.5 - size) / scale)
        bits = -torch.log2(likely.clamp(min=1e-9)).sum((1, 2, 3))
        return self.back(codes + mean).clamp(0, 1), bits


model("hyperprior", image(256), script=True, opset=16)(Coded)


class SrGnn(nn.Module):
    """SR-GNN: what somebody looked at in a shop, as a graph with gates, to what comes next; scores
    of all things."""

    def __init__(self, things=20000, width=100, steps=2):
        super().__init__()
        self.things, self.steps = nn.Embedding(things, width), steps
        self.ins, self.outs = nn.Linear(width, width), nn.Linear(width, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.one, self.two = nn.Linear(width, width), nn.Linear(width, width)
        self.weigh = nn.Linear(width, 1, bias=False)
        self.both = nn.Linear(2 * width, width)

    def forward(self, things, ins, outs, alias, mask):
        x = self.things(things)
        for _ in range(self.steps):
            near = torch.cat((ins @ self.ins(x), outs @ self.outs(x)), 2)
            x = self.cell(near.flatten(0, 1), x.flatten(0, 1)).view_as(x)
        seen = torch.gather(x, 1, alias.unsqueeze(2).expand(-1, -1, x.shape[2]))
        mask = mask.to(x.dtype)
        count = mask.sum(1, keepdim=True).long()
        at = (count - 1).clamp(min=0).unsqueeze(2).expand(-1, -1, x.shape[2])
        last = torch.gather(seen, 1, at)
        share = self.weigh(torch.sigmoid(self.one(last) + self.two(seen)))
        whole = (share * seen * mask.unsqueeze(2)).sum(1)
        whole = self.both(torch.cat((whole, last.squeeze(1)), 1))
        return whole @ self.things.weight[1:].T


model(
    "sr_gnn",
    {
        "things": (("batch=32", 16), 20000),
        "ins": (("batch=32", 16, 16), None),
        "outs": (("batch=32", 16, 16), None),
        "alias": (("batch=32", 20), 16),
        "mask": (("batch=32", 20), 2),
    },
    opset=18,
)(SrGnn)


class OpenUnmix(nn.Module):
    """Open-Unmix: the voice in the magnitudes of a mixture, by three recurrences."""

    def __init__(self, bins=2049, used=1487, hidden=512, channels=2):
        super().__init__()
        self.used = used
        self.start, self.factor = (nn.Parameter(torch.randn(used) * 0.1 + k) for k in (0, 1))
        self.enter = nn.Linear(used * channels, hidden, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm1d(n) for n in (hidden, hidden, bins * channels))
        self.cells = nn.LSTM(hidden, hidden // 2, 3, bidirectional=True)
        self.middle = nn.Linear(2 * hidden, hidden, bias=False)
        self.leave = nn.Linear(hidden, bins * channels, bias=False)
        self.scale, self.mean = (nn.Parameter(torch.randn(bins) * 0.1 + 1) for _ in range(2))

    def forward(self, x):
        x = x.permute(3, 0, 1, 2)
        frames, batch, channels, bins = x.shape
        mix, x = x, (x[..., : self.used] + self.start) * self.factor
        x = self.norms[0](self.enter(x.reshape(-1, channels * self.used)))
        x = torch.tanh(x.reshape(frames, batch, -1))
        x = torch.cat((x, self.cells(x)[0]), -1)
        x = F.relu(self.norms[1](self.middle(x.reshape(-1, x.shape[-1]))))
        x = self.norms[2](self.leave(x)).reshape(frames, batch, channels, bins)
        return (F.relu(x * self.scale + self.mean) * mix).permute(1, 2, 3, 0)


model("open_unmix", {"x": ((1, 2, 2049, "frames=64"), None)}, script=True, opset=17)(OpenUnmix)

if __name__ == "__main__":
    import sys, zoo

    sys.exit(zoo.main(*sys.argv[1:]))
