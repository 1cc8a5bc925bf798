"""The twenty-seventh set of models of test/bench/UNSEEN.md: four architectures of transformers, one
of diffusers, and nine written after their papers: molecules whose atoms have small matrices, tables
that are read without training, flow around a shape, advertisements in several places, and five in
unseen_twenty_seventh_rest.py (unseen_twenty_seventh_quantized.py has two of the 14 in 8 bits)."""

import math

from zoo import MODELS, SOURCES, Called, Step, model, nn, torch, transformer

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional


# ---- transformers: objects named by words, sounds, a word of a text, the order of answers
class NamedObjects(nn.Module):
    """OmDet-Turbo: a picture, and rows that its text encoder has made of the names of kinds and of
    the task, to boxes and what is in them."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.OmDetTurboConfig(
            backbone_config=transformers.SwinConfig(
                image_size=224, depths=[1, 1, 2, 1], out_indices=[2, 3, 4]
            ),
            text_config=transformers.CLIPTextConfig(num_hidden_layers=1, vocab_size=1000),
            apply_layernorm_after_vision_backbone=False,
            image_size=224,
            num_queries=200,
            decoder_num_layers=2,
        )
        settings._attn_implementation = "eager"
        settings.backbone_config._attn_implementation = "eager"
        whole = transformers.OmDetTurboForObjectDetection(settings)
        self.eye, self.encoder, self.decoder = whole.vision_backbone, whole.encoder, whole.decoder
        # not kept from call to call, since what the exporter sees are no numbers
        places = type(self.decoder).generate_anchors.__wrapped__
        self.decoder.generate_anchors = lambda *given, **more: places(self.decoder, *given, **more)

    def forward(self, x, kinds, task, mask):
        levels = self.encoder(self.eye(x)).extracted_states
        out = self.decoder(levels, kinds, task, mask)
        return out.decoder_coords[-1], out.decoder_classes[-1]


model(
    "omdet_turbo",
    {
        "x": ((1, 3, 224, 224), None),
        "kinds": ((20, 1, 512), None),
        "task": ((16, 1, 512), None),
        "mask": ((1, 16), 2),
    },
    unordered=True,
    opset=18,
)(NamedObjects)
model("ast_2", {"x": ((1, 200, 128), None)}, script=True, opset=14)(
    transformer(
        "ASTForAudioClassification",
        "ASTConfig",
        "input_values",
        "logits",
        num_hidden_layers=2,
        max_length=200,
        num_labels=527,
    )
)

CACHE = ((1, 4, "past=256", 64), None)


@model(
    "bitnet_step",
    {"ids": ((1, 1), 8000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=21,
)
def bitnet():
    import transformers

    settings = transformers.BitNetConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=8000,
        bos_token_id=1,
        eos_token_id=2,
    )
    return Step(transformers.BitNetForCausalLM(settings), "logits")


PAIRS = ("batch=3", "seq=48")
model("gte_3", {"ids": (PAIRS, 8000), "mask": (PAIRS, 2)}, opset=20)(
    transformer(
        "GteForSequenceClassification",
        "GteConfig",
        output="logits",
        vocab_size=8000,
        num_hidden_layers=3,
        num_labels=1,
        problem_type="regression",
    )
)


# ---- diffusers: a picture in a space of latents
@model(
    "prx_2",
    {"x": ((1, 16, 32, 32), None), "t": ((1,), None), "text": ((1, 64, 2304), None)},
    opset=22,
)
def picture():
    import diffusers

    inner = diffusers.PRXTransformer2DModel(hidden_size=768, num_heads=12, depth=2)
    names = ["hidden_states", "timestep", "encoder_hidden_states"]
    return Called(inner, names, 0, return_dict=False)


# ---- written after their papers
class Potential(nn.Module):
    """TensorNet: each atom has matrices of 3 by 3, made of a multiple of the identity, an
    antisymmetric and a symmetric part, which it gets from its neighbours and multiplies."""

    @staticmethod
    def parts(x):
        """The three parts of matrices [.., 3, 3]."""
        eye = torch.eye(3)
        a = x.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] * eye
        b = 0.5 * (x - x.transpose(-2, -1))
        return a, b, 0.5 * (x + x.transpose(-2, -1)) - a

    @staticmethod
    def size(x):
        return (x * x).sum((-2, -1))

    class Channels(nn.Module):
        """A linear layer along the channels of matrices [atom, channel, 3, 3]."""

        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, width, bias=False)

        def forward(self, x):
            return self.layer(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Start(nn.Module):
        def __init__(self, width, waves, kinds):
            super().__init__()
            self.kinds, self.both = nn.Embedding(kinds, width), nn.Linear(2 * width, width)
            self.near = nn.ModuleList(nn.Linear(waves, width) for _ in range(3))
            self.mix = nn.ModuleList(Potential.Channels(width) for _ in range(3))
            self.norm = nn.LayerNorm(width)
            self.a, self.b = nn.Linear(width, 2 * width), nn.Linear(2 * width, 3 * width)

        def forward(self, z, i, j, way, waves, weight):
            row = self.kinds(z)
            both = self.both(torch.cat((row[i], row[j]), 1)) * weight[:, None]
            x, y, w = way.unbind(1)
            zero = torch.zeros_like(x)
            odd = torch.stack((zero, -w, y, w, zero, -x, -y, x, zero), 1).view(-1, 1, 3, 3)
            even = way[:, :, None] * way[:, None, :]
            even = (even - even.diagonal(dim1=1, dim2=2).mean(1)[:, None, None] * torch.eye(3))[
                :, None
            ]
            found = []
            for near, part in zip(self.near, (torch.eye(3)[None, None], odd, even)):
                by = (near(waves) * both)[..., None, None] * part
                found.append(torch.zeros(z.shape[0], *by.shape[1:]).index_add(0, i, by))
            norm = self.norm(Potential.size(found[0] + found[1] + found[2]))
            norm = F.silu(self.b(F.silu(self.a(norm)))).unflatten(1, (-1, 3))
            found = [
                mix(x) * norm[:, :, k, None, None]
                for k, (mix, x) in enumerate(zip(self.mix, found))
            ]
            return found[0] + found[1] + found[2]

    class Layer(nn.Module):
        def __init__(self, width, waves):
            super().__init__()
            self.near = nn.Sequential(
                nn.Linear(waves, width),
                nn.SiLU(),
                nn.Linear(width, 2 * width),
                nn.SiLU(),
                nn.Linear(2 * width, 3 * width),
                nn.SiLU(),
            )
            self.mix = nn.ModuleList(Potential.Channels(width) for _ in range(6))

        def forward(self, x, i, j, waves, weight):
            near = (self.near(waves) * weight[:, None]).unflatten(1, (-1, 3))
            x = x / (Potential.size(x) + 1)[..., None, None]
            mine = [mix(part) for mix, part in zip(self.mix[:3], Potential.parts(x))]
            whole = mine[0] + mine[1] + mine[2]
            got = 0
            for k, part in enumerate(mine):
                by = near[:, :, k, None, None] * part[j]
                got = got + torch.zeros_like(part).index_add(0, i, by)
            both = got @ whole + whole @ got
            parts = Potential.parts(both)
            norm = (Potential.size(both) + 1)[..., None, None]
            parts = [mix(part / norm) for mix, part in zip(self.mix[3:], parts)]
            new = parts[0] + parts[1] + parts[2]
            return x + new + new @ new

    def __init__(self, kinds=90, width=128, waves=32, layers=2, far=4.5, molecules=4):
        super().__init__()
        self.start = self.Start(width, waves, kinds)
        self.layers = nn.ModuleList(self.Layer(width, waves) for _ in range(layers))
        self.norm, self.a = nn.LayerNorm(3 * width), nn.Linear(3 * width, width)
        self.b, self.c = nn.Linear(width, width // 2), nn.Linear(width // 2, 1)
        self.register_buffer("means", torch.linspace(math.exp(-far), 1, waves))
        self.beta, self.far = (2 / waves * (1 - math.exp(-far))) ** -2, far
        self.molecules = molecules

    def forward(self, z, at, i, j, molecule):
        way = at[i] - at[j]
        far = (way * way).sum(1).clamp(min=1e-8).sqrt()
        weight = 0.5 * (torch.cos(far * math.pi / self.far) + 1) * (far < self.far)
        steps = torch.exp(-5 / self.far * far)[:, None] - self.means
        waves = weight[:, None] * torch.exp(-self.beta * steps * steps)
        x = self.start(z, i, j, way / far[:, None], waves, weight)
        for layer in self.layers:
            x = layer(x, i, j, waves, weight)
        seen = torch.cat([self.size(part) for part in self.parts(x)], 1)
        energy = self.c(F.silu(self.b(F.silu(self.a(self.norm(seen))))))
        return torch.zeros(self.molecules, 1).index_add(0, molecule, energy)


model(
    "tensor_net",
    {
        "z": ((48,), 90),
        "at": ((48, 3), None),
        "i": (("edges=512",), 48),
        "j": (("edges=512",), 48),
        "molecule": ((48,), 4),
    },
    opset=18,
)(Potential)


class Platforms(nn.Module):
    """PEPNet: where an advertisement is shown gates what is known of it, and who sees it gates each
    layer of the networks of several aims."""

    class Gate(nn.Module):
        def __init__(self, i, width, o):
            super().__init__()
            self.up, self.down = nn.Linear(i, width), nn.Linear(width, o)

        def forward(self, x):
            return 2 * torch.sigmoid(self.down(F.relu(self.up(x))))

    def __init__(self, fields=48, words=1000, small=16, aims=6, widths=(256, 128, 64)):
        super().__init__()
        self.table = nn.Embedding(fields * words, small)
        self.register_buffer("first", torch.arange(fields) * words)
        self.places, self.who = nn.Embedding(16, small), nn.Embedding(5000, 3 * small)
        row = fields * small
        self.place_gate = self.Gate(row + small, 256, row)
        ins = (row,) + widths[:-1]
        towers = lambda: nn.ModuleList(nn.Linear(i, o) for i, o in zip(ins, widths))
        self.towers = nn.ModuleList(towers() for _ in range(aims))
        self.gates = nn.ModuleList(self.Gate(row + 3 * small, 128, aims * i) for i in ins)
        self.heads, self.aims = nn.ModuleList(nn.Linear(widths[-1], 1) for _ in range(aims)), aims

    def forward(self, ids, place, who):
        row = self.table(ids + self.first).flatten(1)
        row = row * self.place_gate(torch.cat((row, self.places(place)), 1))
        mine = torch.cat((row, self.who(who)), 1)
        x = [row] * self.aims
        for k, gate in enumerate(self.gates):
            for n, part in enumerate(gate(mine).chunk(self.aims, 1)):
                x[n] = F.relu(self.towers[n][k](x[n] * part))
        return torch.sigmoid(torch.cat([head(y) for head, y in zip(self.heads, x)], 1))


model(
    "pep_net",
    {
        "ids": (("batch=128", 48), 1000),
        "place": (("batch=128",), 16),
        "who": (("batch=128",), 5000),
    },
    opset=19,
)(Platforms)


class TableReader(nn.Module):
    """TabICL: numbers of a column become rows by what the column has, the rows of a line become one
    by attention, and lines whose kind is known tell the kinds of others."""

    class Layer(nn.Module):
        def __init__(self, width, heads, turned=False):
            super().__init__()
            self.q, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
            self.o, self.heads = nn.Linear(width, width), heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            size = width // heads
            speed = 100000 ** (-torch.arange(0, size, 2) / size) if turned else None
            self.register_buffer("speed", speed)

        def turn(self, x):
            if self.speed is None:
                return x
            angle = torch.arange(x.shape[2])[:, None] * self.speed
            a, b = x[..., ::2], x[..., 1::2]
            turned = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
            return torch.stack(turned, -1).flatten(3)

        def forward(self, x, seen=None, many=None):
            """Attention of x to itself, to other rows `seen`, or to the first ones of itself."""
            y = self.first(x)
            given = y if seen is None else self.first(seen)
            k, v = self.kv(given if many is None else given[:, :many]).chunk(2, 2)
            cut = lambda v: v.unflatten(2, (self.heads, -1)).transpose(1, 2)
            y = F.scaled_dot_product_attention(self.turn(cut(self.q(y))), self.turn(cut(k)), cut(v))
            x = x + self.o(y.transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.second(x))))

    def __init__(self, width=128, points=128, marks=4, kinds=10):
        super().__init__()
        self.enter = nn.Linear(1, width)
        self.points = nn.ParameterList(torch.randn(1, points, width) * 0.1 for _ in range(2))
        layers = lambda many, *options: nn.ModuleList(self.Layer(*options) for _ in range(many))
        self.inner, self.outer = layers(2, width, 4), layers(2, width, 4)
        self.weight, self.bias = nn.Linear(width, width), nn.Linear(width, width)
        self.marks = nn.Parameter(torch.randn(1, marks, width) * 0.1)
        self.lines, self.line_norm = layers(2, width, 8, True), nn.LayerNorm(width)
        wide = marks * width
        self.kinds, self.known = nn.Linear(kinds, wide), layers(2, wide, 4)
        self.norm, self.count = nn.LayerNorm(wide), kinds
        self.leave = nn.Sequential(nn.Linear(wide, 2 * wide), nn.GELU(), nn.Linear(2 * wide, kinds))

    def forward(self, known, kinds, x):
        many = known.shape[0]
        mean, scale = known.mean(0), known.std(0) + 1e-6
        x = ((torch.cat((known, x)) - mean) / scale).clamp(-100, 100).T.unsqueeze(2)
        y = self.enter(x)  # column, line, number
        for points, inner, outer in zip(self.points, self.inner, self.outer):
            told = inner(points.expand(y.shape[0], -1, -1), y[:, :many])
            y = outer(y, told)
        y = (x * self.weight(y) + self.bias(y)).transpose(0, 1)
        y = torch.cat((self.marks.expand(y.shape[0], -1, -1), y), 1)
        for line in self.lines:
            y = line(y)
        y = self.line_norm(y[:, : self.marks.shape[1]]).flatten(1)
        told = y[:many] + self.kinds(F.one_hot(kinds, self.count).float())
        y = torch.cat((told, y[many:])).unsqueeze(0)
        for layer in self.known:
            y = layer(y, many=many)
        return self.leave(self.norm(y[0, many:]))


model(
    "tab_icl",
    {
        "known": (("rows=128", 10), None),
        "kinds": (("rows=128",), 10),
        "x": (("asked=64", 10), None),
    },
    opset=22,
)(TableReader)


class Flow(nn.Module):
    """Transolver: points of a mesh are shared out softly among some slices, and attention is among
    these."""

    class Slices(nn.Module):
        def __init__(self, width, heads, slices):
            super().__init__()
            size = width // heads
            self.x, self.f = nn.Linear(width, width), nn.Linear(width, width)
            self.share = nn.Linear(size, slices)
            self.temperature = nn.Parameter(0.5 + 0.1 * torch.rand(1, heads, 1, 1))
            self.q, self.k, self.v = (nn.Linear(size, size, bias=False) for _ in range(3))
            self.o, self.heads = nn.Linear(width, width), heads

        def forward(self, x):
            cut = lambda v: v.unflatten(2, (self.heads, -1)).transpose(1, 2).contiguous()
            f, x = cut(self.f(x)), cut(self.x(x))
            share = F.softmax(self.share(x) / self.temperature, -1)
            token = torch.einsum("bhnc,bhng->bhgc", f, share)
            token = token / (share.sum(2) + 1e-5)[..., None]
            q, k, v = self.q(token), self.k(token), self.v(token)
            w = F.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
            y = torch.einsum("bhgc,bhng->bhnc", w @ v, share)
            return self.o(y.transpose(1, 2).flatten(2))

    class Layer(nn.Module):
        def __init__(self, width, heads, slices):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.slices = Flow.Slices(width, heads, slices)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            x = x + self.slices(self.first(x))
            return x + self.down(F.gelu(self.up(self.second(x))))

    def __init__(self, width=256, heads=8, slices=32, layers=3, side=8, given=3, out=4):
        super().__init__()
        line = torch.linspace(-1, 1, side)
        self.register_buffer("grid", torch.cartesian_prod(line, line))
        self.enter = nn.Sequential(
            nn.Linear(given + side * side, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.shift = nn.Parameter(torch.rand(width) / width)
        self.layers = nn.ModuleList(self.Layer(width, heads, slices) for _ in range(layers))
        self.norm, self.leave = nn.LayerNorm(width), nn.Linear(width, out)

    def forward(self, at, given):
        far = torch.sqrt(((at[:, :, None] - self.grid) ** 2).sum(-1))
        x = self.enter(torch.cat((given, far), -1)) + self.shift
        for layer in self.layers:
            x = layer(x)
        return self.leave(self.norm(x))


model(
    "transolver",
    {"at": ((1, "points=1024", 2), None), "given": ((1, "points=1024", 3), None)},
    opset=20,
)(Flow)

if __name__ == "__main__":
    import sys, zoo, unseen_twenty_seventh_rest

    sys.exit(zoo.main(*sys.argv[1:]))
