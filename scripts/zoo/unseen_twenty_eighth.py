"""The twenty-eighth set of models of test/bench/UNSEEN.md: five architectures of transformers, one
of diffusers, one of timm, and seven written after their papers: interests of a buyer, prompts for a
table, and five in unseen_twenty_eighth_rest.py (unseen_twenty_eighth_quantized.py has two of the 14
in 8 bits)."""

from zoo import (
    MODELS, SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision,
)  # fmt: skip

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional

# ---- transformers: groups of a picture's pieces, sound, a long text, series, a word of a text
model("group_vit", image(), opset=18)(
    transformer(
        "GroupViTVisionModel",
        "GroupViTVisionConfig",
        "pixel_values",
        "last_hidden_state",
        depths=[3, 2, 2],
    )
)


@model("univ_net", {"x": ((1, 32, 100), None), "noise": ((1, 32, 64), None)}, opset=20)
def sound():
    import transformers

    inner = transformers.UnivNetModel(transformers.UnivNetConfig())
    return Called(inner, ["input_features", "noise_sequence"], 0, return_dict=False)


LONG = ((1, 256), 8000), ((1, 256), 2)


@model("longformer_2", {"ids": LONG[0], "mask": LONG[1]}, script=True, opset=14)
def long_text():
    import transformers

    settings = transformers.LongformerConfig(
        vocab_size=8000,
        num_hidden_layers=2,
        attention_window=[128, 128],
        max_position_embeddings=1026,
        onnx_export=True,
    )
    inner = transformers.LongformerModel(settings, add_pooling_layer=False)
    return Called(inner, ["input_ids", "attention_mask"], 0, return_dict=False)


class Forecast(nn.Module):
    """TimesFM: numbers of a series, and which of them are missing, to the next 128 numbers and
    their quantiles."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.TimesFmConfig(num_hidden_layers=2)
        settings._attn_implementation = "eager"
        whole = transformers.TimesFmModelForPrediction(settings)
        self.inner, self.leave, self.settings = whole.decoder, whole.horizon_ff_layer, settings
        self.whole = [whole]

    def forward(self, x, missing, kind):
        out = self.inner(past_values=x, past_values_padding=missing.float(), freq=kind)
        y = self.whole[0]._postprocess_output(out.last_hidden_state, (out.loc, out.scale))
        return y[:, -1]


model(
    "times_fm_2",
    {
        "x": (("batch=4", 512), None),
        "missing": (("batch=4", 512), 2),
        "kind": (("batch=4", 1), 3),
    },
    opset=19,
)(Forecast)

CACHE = ((1, 16, "past=256", 64), None)


@model(
    "persimmon_step",
    {"ids": ((1, 1), 4000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=21,
)
def persimmon():
    import transformers

    settings = transformers.PersimmonConfig(
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=2,
        num_attention_heads=16,
        vocab_size=4000,
        bos_token_id=1,
        eos_token_id=2,
    )
    return Step(transformers.PersimmonForCausalLM(settings), "logits")


# ---- diffusers: music
class Music(nn.Module):
    """ACE-Step: what music is to become at a time, with rows of a text and of words that are sung,
    and what is known of it."""

    def __init__(self):
        super().__init__()
        import diffusers

        self.inner = diffusers.AceStepTransformer1DModel(
            hidden_size=768,
            intermediate_size=2304,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=3,
            sliding_window=48,
        )

    def forward(self, x, t, text, known):
        return self.inner(x, t, t, text, known, return_dict=False)[0]


model(
    "ace_step_2",
    {
        "x": ((1, 256, 64), None),
        "t": ((1,), None),
        "text": ((1, 64, 768), None),
        "known": ((1, 256, 128), None),
    },
    opset=22,
)(Music)

# ---- timm
model("bat_resnext26ts", image(256), script=True, opset=15)(vision("timm", "bat_resnext26ts"))


# ---- written after their papers
class Interests(nn.Module):
    """MIND: what somebody bought is routed to a few interests, and each thing offered is compared
    with the interest that is nearest to it."""

    def __init__(self, things=20000, width=64, interests=4, rounds=3, long=50, fields=8):
        super().__init__()
        self.things = nn.Embedding(things, width)
        self.kinds = nn.Embedding(500, width)
        self.fields = nn.Embedding(fields * 100, 16)
        self.register_buffer("first", torch.arange(fields) * 100)
        self.enter = nn.Linear(2 * width, width, bias=False)
        self.bilinear = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.register_buffer("start", torch.randn(1, interests, long))
        self.up = nn.Linear(width + fields * 16, 256)
        self.down = nn.Linear(256, width)
        self.rounds, self.interests = rounds, interests

    @staticmethod
    def squash(x):
        size = torch.sum(torch.square(x), -1, keepdim=True)
        return size / (1 + size) / torch.sqrt(size + 1e-9) * x

    def forward(self, bought, kinds, mask, fields, offered):
        x = self.enter(torch.cat((self.things(bought), self.kinds(kinds)), -1))
        x = x * mask.unsqueeze(-1)
        y = torch.matmul(x, self.bilinear)
        many = mask.sum(1, keepdim=True).clamp(min=1).float()
        allowed = torch.clamp(torch.log2(many), 1, self.interests)
        free = torch.arange(self.interests) < torch.ceil(allowed)  # batch, interests
        seen = mask.unsqueeze(1).bool() & free.unsqueeze(2)
        logits = self.start.expand(x.shape[0], -1, -1)
        capsules = None
        for k in range(self.rounds):
            low = torch.full_like(logits, -(2.0**32) + 1)
            weight = F.softmax(torch.where(seen, logits, low), dim=-1)
            weight = torch.where(seen, weight, torch.zeros_like(weight))
            capsules = self.squash(torch.matmul(weight, y))
            if k + 1 < self.rounds:
                logits = logits + torch.matmul(capsules, y.transpose(1, 2))
        about = self.fields(fields + self.first).flatten(1)
        about = about.unsqueeze(1).expand(-1, self.interests, -1)
        users = self.down(F.relu(self.up(torch.cat((capsules, about), -1))))
        users = F.normalize(users, dim=-1) * free.unsqueeze(-1)
        items = F.normalize(self.things(offered), dim=-1)
        score = torch.einsum("bkd,bnd->bkn", users, items)
        weight = F.softmax(torch.pow(score.clamp(min=0), 2) * 10, dim=1)
        return (score * weight).sum(1), users


model(
    "mind",
    {
        "bought": (("batch=64", 50), 20000),
        "kinds": (("batch=64", 50), 500),
        "mask": (("batch=64", 50), 2),
        "fields": (("batch=64", 8), 100),
        "offered": (("batch=64", 100), 20000),
    },
    opset=19,
)(Interests)


class Prompts(nn.Module):
    """Trompt: prompts tell for each line of a table how much each of its columns matters, cycle by
    cycle; each cycle's rows give an answer, and the answers' mean counts."""

    class Cycle(nn.Module):
        def __init__(self, numbers, words, width, prompts):
            super().__init__()
            columns = numbers + words
            self.prompts = nn.Parameter(torch.randn(prompts, width) * 0.1)
            self.columns = nn.Parameter(torch.randn(columns, width) * 0.1)
            self.dense = nn.Linear(2 * width, width)
            self.prompt_norm, self.column_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.weight = nn.Parameter(torch.randn(numbers, width) * 0.3)
            self.bias = nn.Parameter(torch.randn(numbers, width) * 0.3)
            self.norm, self.words_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.words = nn.Embedding(words * 100, width)
            self.register_buffer("first", torch.arange(words) * 100)
            self.wide = nn.Parameter(torch.randn(prompts) * 0.3)
            self.group = nn.GroupNorm(8, prompts)

        def forward(self, x, ids, last):
            many = x.shape[0]
            number = self.norm(F.relu(x.unsqueeze(-1) * self.weight + self.bias))
            word = self.words_norm(self.words(ids + self.first))
            row = torch.cat((number, word), 1)  # batch, column, width
            prompts = self.prompt_norm(self.prompts).unsqueeze(0).repeat(many, 1, 1)
            columns = self.column_norm(self.columns).unsqueeze(0).repeat(many, 1, 1)
            prompts = self.dense(torch.cat((prompts, last), -1)) + prompts + last
            share = torch.softmax(torch.einsum("bpd,bcd->bpc", prompts, columns), -1)
            each = F.relu(torch.einsum("bcd,p->bpcd", row, self.wide))
            each = self.group(each) + row.unsqueeze(1)
            return (share.unsqueeze(-1) * each).sum(2)

    def __init__(self, numbers=16, words=8, width=128, prompts=128, cycles=3, kinds=10):
        super().__init__()
        self.cycles = nn.ModuleList(
            self.Cycle(numbers, words, width, prompts) for _ in range(cycles)
        )
        self.start = nn.Parameter(torch.randn(prompts, width) * 0.1)
        self.weigh = nn.Linear(width, 1)
        self.up, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.leave = nn.Linear(width, kinds)

    def forward(self, x, ids):
        row, found = self.start.unsqueeze(0).repeat(x.shape[0], 1, 1), []
        for cycle in self.cycles:
            row = cycle(x, ids, row)
            share = torch.softmax(self.weigh(row), 1)
            one = (share * row).sum(1)
            found.append(self.leave(self.norm(F.relu(self.up(one)))))
        return torch.stack(found, 1).mean(1)


model(
    "trompt",
    {"x": (("batch=12", 16), None), "ids": (("batch=12", 8), 100)},
    opset=18,
)(Prompts)

if __name__ == "__main__":
    import sys, zoo, unseen_twenty_eighth_rest

    sys.exit(zoo.main(*sys.argv[1:]))
