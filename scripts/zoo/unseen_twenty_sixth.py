"""The twenty-sixth set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm, and ten networks written after their papers: a step of a model of states, groups of
features for advertisements, a plan of what to do next, numbers of a table beside others, who met
whom when, and five in unseen_twenty_sixth_rest.py (unseen_twenty_sixth_quantized.py has two of the
14 in 8 bits)."""

from zoo import MODELS, SOURCES, Called, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)
if __name__ == "__main__":
    MODELS.clear()
F = nn.functional


# ---- transformers: a text by Fourier transforms, a page that is read
model("f_net_3", tokens(8000, "seq=128", mask=False), opset=20)(
    transformer("FNetModel", "FNetConfig", "input_ids", vocab_size=8000, num_hidden_layers=3)
)
model("donut_encoder", {"x": ((1, 3, 320, 256), None)}, script=True, opset=14)(
    transformer(
        "DonutSwinModel",
        "DonutSwinConfig",
        "pixel_values",
        image_size=[320, 256],
        embed_dim=96,
        depths=[2, 2, 2],
        num_heads=[3, 6, 12],
        window_size=8,
    )
)


# ---- diffusers: a film in a space of latents
@model(
    "latte_2",
    {"x": ((1, 4, 8, 16, 16), None), "t": ((1,), 1000), "text": ((1, 32, 512), None)},
    opset=18,
)
def film():
    import diffusers

    inner = diffusers.LatteTransformer3DModel(
        num_attention_heads=8,
        attention_head_dim=64,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        cross_attention_dim=512,
        attention_bias=True,
        sample_size=16,
        patch_size=2,
        activation_fn="gelu-approximate",
        num_embeds_ada_norm=1000,
        norm_type="ada_norm_single",
        norm_elementwise_affine=False,
        caption_channels=512,
        video_length=8,
    )
    return Called(
        inner, ["hidden_states", "timestep", "encoder_hidden_states"], 0, return_dict=False
    )


# ---- timm
model("sehalonet33ts", image(256, batch="batch=1"), opset=18)(vision("timm", "sehalonet33ts"))


# ---- written after their papers
class StateStep(nn.Module):
    """Mamba 2: a word of each of several texts, whose states and last three rows are given for each
    of two layers."""

    class Norm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

    class Layer(nn.Module):
        def __init__(self, width, heads=24, head=64, state=128, taps=4):
            super().__init__()
            inner = heads * head
            self.sizes, self.heads = (inner, inner + 2 * state, heads), heads
            self.parts = inner, state, state
            self.norm = StateStep.Norm(width)
            self.enter = nn.Linear(width, sum(self.sizes), bias=False)
            self.taps = nn.Parameter(torch.randn(inner + 2 * state, taps) * 0.3)
            self.bias = nn.Parameter(torch.randn(inner + 2 * state) * 0.1)
            self.decay = nn.Parameter(torch.rand(heads) * 2)
            self.wait = nn.Parameter(torch.randn(heads))
            self.skip = nn.Parameter(torch.randn(heads))
            self.last = StateStep.Norm(inner)
            self.leave = nn.Linear(inner, width, bias=False)

        def forward(self, x, rows, state):
            gate, row, step = self.enter(self.norm(x)).split(self.sizes, -1)
            rows = torch.cat((rows, row.unsqueeze(2)), 2)
            row = F.silu((rows * self.taps).sum(-1) + self.bias)
            y, b, c = row.split(self.parts, -1)
            y = y.unflatten(1, (self.heads, -1))
            step = F.softplus(step + self.wait)
            kept = torch.exp(-step * torch.exp(self.decay))
            state = state * kept[..., None, None] + torch.einsum("bh,bn,bhp->bhpn", step, b, y)
            y = torch.einsum("bhpn,bn->bhp", state, c) + self.skip[:, None] * y
            y = self.last(y.flatten(1) * F.silu(gate))
            return x + self.leave(y), rows[..., 1:], state

    def __init__(self, words=8000, width=768, layers=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(self.Layer(width) for _ in range(layers))
        self.norm = self.Norm(width)

    def forward(self, ids, r0, s0, r1, s1):
        x = self.words(ids)
        x, r0, s0 = self.layers[0](x, r0, s0)
        x, r1, s1 = self.layers[1](x, r1, s1)
        return self.norm(x) @ self.words.weight.T, r0, s0, r1, s1


ROWS, STATE = (("batch=8", 1792, 3), None), (("batch=8", 24, 64, 128), None)
model(
    "mamba2_step",
    {"ids": (("batch=8",), 8000), "r0": ROWS, "s0": STATE, "r1": ROWS, "s1": STATE},
    opset=22,
)(StateStep)


class RankMixer(nn.Module):
    """RankMixer: groups of features are rows, which exchange parts and have a network each."""

    class Layer(nn.Module):
        def __init__(self, rows, width, times=4):
            super().__init__()
            self.rows = rows
            self.up = nn.Parameter(torch.randn(rows, width, times * width) / width**0.5)
            self.up_bias = nn.Parameter(torch.randn(rows, times * width) * 0.1)
            self.down = nn.Parameter(torch.randn(rows, times * width, width) / (2 * width**0.5))
            self.down_bias = nn.Parameter(torch.randn(rows, width) * 0.1)
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x):
            mixed = x.unflatten(2, (self.rows, -1)).transpose(1, 2).flatten(2)
            x = self.first(x + mixed)
            y = F.gelu(torch.einsum("brw,rwh->brh", x, self.up) + self.up_bias)
            return self.second(x + torch.einsum("brh,rhw->brw", y, self.down) + self.down_bias)

    def __init__(self, fields=48, words=1000, small=16, numbers=32, rows=16, width=256):
        super().__init__()
        self.table = nn.Embedding(fields * words, small)
        self.register_buffer("first", torch.arange(fields) * words)
        self.numbers = nn.BatchNorm1d(numbers)
        self.enter = nn.Parameter(
            torch.randn(rows, (fields * small + numbers) // rows, width) * 0.1
        )
        self.layers = nn.ModuleList(self.Layer(rows, width) for _ in range(2))
        tower = lambda: nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 1))
        self.towers, self.rows = nn.ModuleList((tower(), tower())), rows

    def forward(self, ids, x):
        y = self.table(ids + self.first).flatten(1)
        y = torch.cat((y, self.numbers(x)), 1).unflatten(1, (self.rows, -1))
        y = torch.einsum("brs,rsw->brw", y, self.enter)
        for layer in self.layers:
            y = layer(y)
        y = y.mean(1)
        return torch.sigmoid(torch.cat([tower(y) for tower in self.towers], 1))


model(
    "rank_mixer",
    {"ids": (("batch=64", 48), 1000), "x": (("batch=64", 32), None)},
    opset=19,
)(RankMixer)


class Planner(nn.Module):
    """TD-MPC2: some hundred sequences of actions are tried in a model of the world, and the best
    ones are averaged."""

    class Normed(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.layer, self.norm = nn.Linear(i, o), nn.LayerNorm(o)

        def forward(self, x):
            return F.mish(self.norm(self.layer(x)))

    class Simplex(nn.Module):
        """Softmaxes of eight numbers each."""

        def forward(self, x):
            return F.softmax(x.unflatten(-1, (-1, 8)), -1).flatten(-2)

    class Judges(nn.Module):
        """Several networks beside each other."""

        def __init__(self, i, width, o, many=5):
            super().__init__()
            drawn = lambda *size: nn.Parameter(torch.randn(many, *size) / size[0] ** 0.5)
            self.a, self.b, self.c = drawn(i, width), drawn(width, width), drawn(width, o)
            self.biases = nn.ParameterList(drawn(1, n) for n in (width, width, o))
            self.scales = nn.ParameterList(drawn(1, width) for _ in range(2))
            self.shifts = nn.ParameterList(drawn(1, width) for _ in range(2))

        def forward(self, x):
            y = x
            for k, w in enumerate((self.a, self.b)):
                y = torch.matmul(y, w) + self.biases[k]
                y = F.layer_norm(y, y.shape[-1:]) * self.scales[k] + self.shifts[k]
                y = F.mish(y)
            return torch.matmul(y, self.c) + self.biases[2]

    def __init__(self, seen=39, act=6, width=512, latent=256, bins=101, elites=64):
        super().__init__()
        n = self.Normed
        self.enter = nn.Sequential(n(seen, width), nn.Linear(width, latent), self.Simplex())
        both = latent + act
        self.next = nn.Sequential(
            n(both, width), n(width, width), nn.Linear(width, latent), self.Simplex()
        )
        self.reward = nn.Sequential(n(both, width), n(width, width), nn.Linear(width, bins))
        self.policy = nn.Sequential(n(latent, width), n(width, width), nn.Linear(width, act))
        self.judges, self.elites = self.Judges(both, width, bins), elites
        self.register_buffer("values", torch.linspace(-10, 10, bins))

    def number(self, x):
        """The number that scores of bins stand for."""
        y = (F.softmax(x, -1) * self.values).sum(-1, keepdim=True)
        return y.sign() * (y.abs().exp() - 1)

    def forward(self, seen, mean, deviation, noise):
        actions = (mean + deviation * noise).clamp(-1, 1)  # step, try, number
        z = self.enter(seen).expand(actions.shape[1], -1)
        total = 0
        for k in range(actions.shape[0]):
            both = torch.cat((z, actions[k]), 1)
            total = total + 0.99**k * self.number(self.reward(both))
            z = self.next(both)
        both = torch.cat((z, torch.tanh(self.policy(z))), 1)
        total = total + 0.99 ** actions.shape[0] * self.number(self.judges(both))[:2].mean(0)
        best, at = torch.topk(total.squeeze(1), self.elites)
        weight = torch.exp(0.5 * (best - best[:1]))
        weight = (weight / (weight.sum() + 1e-9))[None, :, None]
        chosen = actions[:, at]
        mean = (weight * chosen).sum(1, keepdim=True)
        return mean, (weight * (chosen - mean).pow(2)).sum(1, keepdim=True).sqrt().clamp(0.05, 2.0)


PLAN = ((3, 1, 6), None)
model(
    "td_mpc2",
    {"seen": ((1, 39), None), "mean": PLAN, "deviation": PLAN, "noise": ((3, 256, 6), None)},
    opset=21,
)(Planner)


class ModernNca(nn.Module):
    """ModernNCA: a row has the kinds of the rows that are near to it in a learned space."""

    def __init__(self, columns=32, waves=16, small=16, width=256, kinds=10):
        super().__init__()
        self.waves = nn.Parameter(torch.randn(columns, waves))
        self.small = nn.Parameter(torch.randn(columns, 2 * waves, small) / waves**0.5)
        self.bias = nn.Parameter(torch.randn(columns, small) * 0.1)
        self.enter = nn.Linear(columns * small, width)
        part = lambda: nn.Sequential(
            nn.BatchNorm1d(width),
            nn.Linear(width, 2 * width),
            nn.ReLU(),
            nn.Linear(2 * width, width),
        )
        self.parts, self.last = nn.ModuleList((part(), part())), nn.BatchNorm1d(width)
        self.kinds = kinds

    def places(self, x):
        angles = 2 * torch.pi * self.waves * x.unsqueeze(2)
        y = torch.cat((angles.cos(), angles.sin()), 2)
        y = F.relu((y.unsqueeze(2) @ self.small).squeeze(2) + self.bias)
        x = self.enter(y.flatten(1))
        for part in self.parts:
            x = x + part(x)
        return self.last(x)

    def forward(self, x, known, kinds):
        far = torch.cdist(self.places(x), self.places(known))
        return torch.log(F.softmax(-far, 1) @ F.one_hot(kinds, self.kinds).float() + 1e-7)


model(
    "modern_nca",
    {
        "x": (("batch=32", 32), None),
        "known": (("rows=1024", 32), None),
        "kinds": (("rows=1024",), 10),
    },
    opset=22,
)(ModernNca)


class Meetings(nn.Module):
    """TGAT: who met whom when. What a node is follows from those that it met last, and what these
    are from those that they met before."""

    class Layer(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.q, self.o = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, 2 * width)
            self.k, self.v = nn.Linear(3 * width, 2 * width), nn.Linear(3 * width, 2 * width)
            self.norm, self.heads = nn.LayerNorm(2 * width), heads
            self.up, self.down = nn.Linear(3 * width, width), nn.Linear(width, width)

        def forward(self, x, now, met, edges, times):
            """Rows of nodes, and for each some of those that it met."""
            asked = torch.cat((x, now.expand_as(x)), -1)
            seen = torch.cat((met, edges, times), -1)
            cut = lambda v: v.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
            q, k, v = cut(self.q(asked).unsqueeze(-2)), cut(self.k(seen)), cut(self.v(seen))
            w = F.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1)
            y = (w @ v).transpose(-3, -2).flatten(-3)
            y = self.norm(self.o(y) + asked)
            return self.down(F.relu(self.up(torch.cat((y, x), -1))))

    def __init__(self, nodes=5000, width=128):
        super().__init__()
        self.nodes = nn.Embedding(nodes, width)
        self.register_buffer("speed", 1 / 10 ** torch.linspace(0, 9, width))
        self.phase = nn.Parameter(torch.randn(width) * 0.1)
        self.layers = nn.ModuleList((self.Layer(width), self.Layer(width)))

    def time(self, t):
        return torch.cos(t.unsqueeze(-1) * self.speed + self.phase)

    def forward(self, at, first, second, edges1, edges2, times1, times2):
        now = self.time(torch.zeros(1))
        x, y, z = self.nodes(at), self.nodes(first), self.nodes(second)
        near, far = self.layers
        mine = near(x, now, y, edges1, self.time(times1))
        theirs = near(y, now, z, edges2, self.time(times2))
        return far(mine, now, theirs, edges1, self.time(times1))


model(
    "tgat",
    {
        "at": (("batch=64",), 5000),
        "first": (("batch=64", 10), 5000),
        "second": (("batch=64", 10, 10), 5000),
        "edges1": (("batch=64", 10, 128), None),
        "edges2": (("batch=64", 10, 10, 128), None),
        "times1": (("batch=64", 10), None),
        "times2": (("batch=64", 10, 10), None),
    },
    opset=18,
)(Meetings)

if __name__ == "__main__":
    import sys, zoo, unseen_twenty_sixth_rest

    sys.exit(zoo.main(*sys.argv[1:]))
