"""Networks of the twenty-seventh set of test/bench/UNSEEN.md, written after their papers: points by
learned orders of them, sound as words, what a robot does next, volumes of a body, and how things
move from one picture to the next. unseen_twenty_seventh.py writes them."""

import math

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


class Points(nn.Module):
    """PointCNN: the neighbours of a point are weighed and ordered by a matrix that is learned from
    where they lie, and then seen by a convolution."""

    class Act(nn.Module):
        """Rows [.., numbers] after a layer: ELU, then a norm of the batch."""

        def __init__(self, layer, o):
            super().__init__()
            self.layer, self.norm = layer, nn.BatchNorm2d(o)

        def forward(self, x):
            x = F.elu(self.layer(x))
            return self.norm(x)

    class Layer(nn.Module):
        def __init__(self, i, o, near, step, many):
            super().__init__()
            act, conv = Points.Act, nn.Conv2d
            lift = o // 4
            self.near, self.step, self.many = near, step, many
            self.lift = nn.Sequential(act(conv(3, lift, 1), lift), act(conv(lift, lift, 1), lift))
            square = near * near
            self.first = act(conv(3, square, (1, near)), square)
            self.second = act(conv(near, square, (1, near), groups=near), square)
            self.third = conv(near, square, (1, near), groups=near)
            self.third_norm = nn.BatchNorm2d(square)
            times = max(1, -(-o // (lift + i)))
            self.each = conv(lift + i, (lift + i) * times, (1, near), groups=lift + i)
            self.last = act(conv((lift + i) * times, o, 1), o)

        def square(self, x):
            """[b, near * near, points, 1] as matrices whose columns are channels."""
            return x.squeeze(3).unflatten(1, (self.near, self.near)).transpose(2, 3)

        def forward(self, at, x):
            """at [b, points, 3], x [b, numbers, points] or None."""
            mine = at[:, : self.many]
            way = at[:, None] - mine[:, :, None]
            far = (way * way).sum(3)
            near = torch.topk(far, self.near * self.step + 1, largest=False).indices
            near = near[:, :, 1 :: self.step]  # b, points, neighbours
            line = near.flatten(1)
            where = torch.gather(at, 1, line[..., None].expand(-1, -1, 3))
            where = where.unflatten(1, (-1, self.near)) - mine[:, :, None]
            where = where.permute(0, 3, 1, 2)  # b, 3, points, neighbours
            seen = self.lift(where)
            if x is not None:
                other = torch.gather(x, 2, line[:, None].expand(-1, x.shape[1], -1))
                seen = torch.cat((seen, other.unflatten(2, (-1, self.near))), 1)
            y = self.square(self.first(where))
            y = self.square(self.second(y))
            y = self.square(self.third_norm(self.third(y)))  # b, near, points, near
            y = torch.matmul(y.transpose(1, 2), seen.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            return mine, self.last(self.each(y)).squeeze(3)

    def __init__(self, kinds=40):
        super().__init__()
        sizes = ((0, 48, 8, 1, 1024), (48, 96, 12, 2, 384), (96, 192, 16, 2, 128))
        sizes += ((192, 384, 16, 3, 128),)
        self.layers = nn.ModuleList(self.Layer(*size) for size in sizes)
        act = lambda i, o: self.Act(nn.Conv2d(i, o, 1), o)
        self.end = nn.Sequential(act(384, 256), act(256, 128), nn.Conv2d(128, kinds, 1))

    def forward(self, at):
        x = None
        for layer in self.layers:
            at, x = layer(at, x)
        return self.end(x.unsqueeze(3)).flatten(2).mean(2)


model("point_cnn", {"at": (("batch=2", 1024, 3), None)}, opset=21)(Points)


class Words(nn.Module):
    """WavTokenizer: sound to a word of one list for each of its pieces, and words to sound by
    convolutions, attention and Fourier's transform."""

    class Unit(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv1d(c, c // 2, 3), nn.Conv1d(c // 2, c, 1)
            self.side = nn.Conv1d(c, c, 1)

        def forward(self, x):
            y = self.a(F.pad(F.elu(x), (1, 1), mode="reflect"))
            return self.side(x) + self.b(F.elu(y))

    class Down(nn.Module):
        def __init__(self, c, step):
            super().__init__()
            self.layer, self.step = nn.Conv1d(c, 2 * c, 2 * step, step), step

        def forward(self, x):
            left = self.step // 2
            return self.layer(F.pad(F.elu(x), (self.step - left, left), mode="reflect"))

    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.first, self.second = nn.GroupNorm(32, c), nn.GroupNorm(32, c)
            self.a, self.b = nn.Conv1d(c, c, 3, 1, 1), nn.Conv1d(c, c, 3, 1, 1)

        def forward(self, x):
            y = self.first(x)
            y = self.second(self.a(y * torch.sigmoid(y)))
            return x + self.b(y * torch.sigmoid(y))

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = nn.GroupNorm(32, c)
            self.q, self.k, self.v, self.o = (nn.Conv1d(c, c, 1) for _ in range(4))

        def forward(self, x):
            y = self.norm(x)
            w = torch.bmm(self.q(y).transpose(1, 2), self.k(y)) * x.shape[1] ** -0.5
            w = F.softmax(w, 2)
            return x + self.o(torch.bmm(self.v(y), w.transpose(1, 2)))

    class Next(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.taps, self.norm = nn.Conv1d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c)
            self.up, self.down = nn.Linear(c, 3 * c), nn.Linear(3 * c, c)
            self.scale = nn.Parameter(0.1 + 0.02 * torch.randn(c))

        def forward(self, x):
            y = self.norm(self.taps(x).transpose(1, 2))
            y = self.scale * self.down(F.gelu(self.up(y)))
            return x + y.transpose(1, 2)

    def __init__(self, c=32, steps=(2, 4, 5, 8), words=4096, row=512, width=768, hop=320):
        super().__init__()
        self.enter, parts = nn.Conv1d(1, c, 7), []
        for step in steps:
            parts += [self.Unit(c), self.Down(c, step)]
            c *= 2
        self.parts, self.cells = nn.Sequential(*parts), nn.LSTM(c, c, 2, batch_first=True)
        self.narrow = nn.Conv1d(c, row, 7)
        self.words = nn.Embedding(words, row)
        for part in (*self.parts.modules(), self.narrow):
            if isinstance(part, nn.Conv1d):  # so that pieces differ as much as those of speech do
                nn.init.normal_(part.weight, std=(2 / part.weight[0].numel()) ** 0.5)
                nn.init.zeros_(part.bias)
        self.wide = nn.Conv1d(row, width, 7, padding=3)
        self.place = nn.Sequential(
            self.Residual(width), self.Look(width), self.Residual(width), nn.GroupNorm(32, width)
        )
        self.first, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.next = nn.Sequential(self.Next(width), self.Next(width))
        size = 4 * hop
        self.leave, self.hop = nn.Linear(width, size + 2), hop
        angle = 2 * math.pi * torch.outer(torch.arange(size // 2 + 1), torch.arange(size)) / size
        twice = torch.full((size // 2 + 1, 1), 2.0)
        twice[0], twice[-1] = 1, 1
        window = torch.hann_window(size)
        basis = torch.cat((angle.cos() * twice, -angle.sin() * twice)) / size * window
        self.register_buffer("basis", basis.unsqueeze(1))
        self.register_buffer("window", (window * window).view(1, 1, -1))

    def back(self, x):
        """Sound of a spectrum [b, 2 * frequencies, frames]."""
        cut = (self.basis.shape[2] - self.hop) // 2
        y = F.conv_transpose1d(x, self.basis, stride=self.hop)
        much = F.conv_transpose1d(torch.ones_like(x[:, :1]), self.window, stride=self.hop)
        return (y / much.clamp(min=1e-6))[:, 0, cut:-cut]

    def forward(self, x):
        x = self.parts(self.enter(F.pad(x, (3, 3), mode="reflect"))).transpose(1, 2)
        x = (x + self.cells(x)[0]).transpose(1, 2)
        x = self.narrow(F.pad(F.elu(x), (3, 3), mode="reflect")).transpose(1, 2)
        rows = self.words.weight
        far = x.pow(2).sum(2, keepdim=True) - 2 * x @ rows.T + rows.pow(2).sum(1)
        word = (-far).argmax(2)
        y = self.place(self.wide(self.words(word).transpose(1, 2)))
        y = self.next(self.first(y.transpose(1, 2)).transpose(1, 2))
        size, angle = self.leave(self.last(y.transpose(1, 2))).transpose(1, 2).chunk(2, 1)
        size = torch.exp(size).clamp(max=100)
        return self.back(torch.cat((size * torch.cos(angle), size * torch.sin(angle)), 1)), word


model("wav_tokenizer", {"x": ((1, 1, 15360), None)}, script=True, opset=15)(Words)


class Chunk(nn.Module):
    """ACT: pictures of two eyes and where the arms are to the next hundred places of the arms."""

    class Encoder(nn.Module):
        def __init__(self, c=512, heads=8, wide=3200):
            super().__init__()
            self.look = nn.MultiheadAttention(c, heads)
            self.up, self.down = nn.Linear(c, wide), nn.Linear(wide, c)
            self.first, self.second = nn.LayerNorm(c), nn.LayerNorm(c)

        def forward(self, x, at):
            q = k = x + at
            x = self.first(x + self.look(q, k, value=x)[0])
            return self.second(x + self.down(F.relu(self.up(x))))

    class Decoder(Encoder):
        def __init__(self, c=512, heads=8, wide=3200):
            super().__init__(c, heads, wide)
            self.other, self.third = nn.MultiheadAttention(c, heads), nn.LayerNorm(c)

        def forward(self, x, seen, at, mine):
            q = k = x + mine
            x = self.first(x + self.look(q, k, value=x)[0])
            x = self.second(x + self.other(x + mine, seen + at, value=seen)[0])
            return self.third(x + self.down(F.relu(self.up(x))))

    def __init__(self, arms=14, hidden=32, c=512, ahead=100, layers=2, height=4, across=5):
        super().__init__()
        import torchvision

        frozen = torchvision.ops.FrozenBatchNorm2d
        eye = torchvision.models.resnet18(weights=None, norm_layer=frozen)
        self.eye = nn.Sequential(*list(eye.children())[:-2])
        for part in self.eye.modules():
            if isinstance(part, frozen):
                part.weight.uniform_(0.5, 1.0)
                part.bias.normal_(0, 0.1)
        self.narrow, self.state = nn.Conv2d(512, c, 1), nn.Linear(arms, c)
        self.hidden, self.start = nn.Linear(hidden, c), nn.Embedding(2, c)
        self.encoder = nn.ModuleList(self.Encoder(c) for _ in range(layers))
        self.decoder, self.norm = self.Decoder(c), nn.LayerNorm(c)
        self.asked, self.leave = nn.Embedding(ahead, c), nn.Linear(c, arms)
        speed = 10000 ** (-2 * (torch.arange(c // 2) // 2) / (c // 2))
        waves = []
        for count, view in ((height, (-1, 1, 1)), (across, (1, -1, 1))):
            angle = (torch.arange(1, count + 1) / count * 2 * math.pi)[:, None] / speed**-1
            both = torch.stack((angle[:, ::2].sin(), angle[:, 1::2].cos()), 2).flatten(1)
            waves.append(both.view(*[n if n == 1 else count for n in view[:2]], -1))
        waves = torch.cat([w.expand(height, across, -1) for w in waves], 2)
        self.register_buffer("place", waves.flatten(0, 1).unsqueeze(1))
        self.count = hidden

    def forward(self, eyes, state):
        hidden = torch.zeros(state.shape[0], self.count)
        rows = [self.hidden(hidden).unsqueeze(0), self.state(state).unsqueeze(0)]
        places = [self.start.weight.unsqueeze(1)]
        for k in range(eyes.shape[1]):
            picture = self.narrow(self.eye(eyes[:, k]))
            rows.append(picture.flatten(2).permute(2, 0, 1))
            places.append(self.place)
        x, at = torch.cat(rows), torch.cat(places)
        for layer in self.encoder:
            x = layer(x, at)
        mine = self.asked.weight.unsqueeze(1)
        y = self.decoder(torch.zeros_like(mine), x, at, mine)
        return self.leave(self.norm(y).transpose(0, 1))


model(
    "act",
    {"eyes": ((1, 2, 3, 128, 160), None), "state": ((1, 14), None)},
    script=True,
    opset=17,
)(Chunk)


class Volume(nn.Module):
    """MedNeXt: a U-Net of volumes whose blocks are those of ConvNeXt, also where sizes change."""

    class Block(nn.Module):
        def __init__(self, i, o, times, taps):
            super().__init__()
            self.taps, self.norm = taps, nn.GroupNorm(i, i)
            self.up, self.down = nn.Conv3d(i, times * i, 1), nn.Conv3d(times * i, o, 1)

        def inner(self, x):
            return self.down(F.gelu(self.up(self.norm(self.taps(x)))))

    class Same(Block):
        def __init__(self, c, times):
            super().__init__(c, c, times, nn.Conv3d(c, c, 3, 1, 1, groups=c))

        def forward(self, x):
            return x + self.inner(x)

    class Half(Block):
        def __init__(self, c, times):
            super().__init__(c, 2 * c, times, nn.Conv3d(c, c, 3, 2, 1, groups=c))
            self.side = nn.Conv3d(c, 2 * c, 1, 2)

        def forward(self, x):
            return self.inner(x) + self.side(x)

    class Twice(Block):
        def __init__(self, c, times):
            super().__init__(c, c // 2, times, nn.ConvTranspose3d(c, c, 3, 2, 1, groups=c))
            self.side = nn.ConvTranspose3d(c, c // 2, 1, 2)

        def forward(self, x):
            edge = (1, 0, 1, 0, 1, 0)
            return F.pad(self.inner(x), edge) + F.pad(self.side(x), edge)

    def __init__(self, inputs=4, kinds=4, c=32, levels=3, times=2):
        super().__init__()
        widths = [c * 2**k for k in range(levels)]
        self.enter, self.leave = nn.Conv3d(inputs, c, 1), nn.ConvTranspose3d(c, kinds, 1)
        same = lambda w: self.Same(w, times)
        self.left = nn.ModuleList(same(w) for w in widths)
        self.less = nn.ModuleList(self.Half(w, times) for w in widths)
        self.deep = same(2 * widths[-1])
        self.twice = nn.ModuleList(self.Twice(2 * w, times) for w in widths[::-1])
        self.right = nn.ModuleList(same(w) for w in widths[::-1])

    def forward(self, x):
        x, kept = self.enter(x), []
        for left, less in zip(self.left, self.less):
            kept.append(left(x))
            x = less(kept[-1])
        x = self.deep(x)
        for twice, right in zip(self.twice, self.right):
            x = right(kept.pop() + twice(x))
        return self.leave(x)


model("med_next", {"x": ((1, 4, 32, 32, 32), None)}, opset=18)(Volume)


class Motion(nn.Module):
    """Lucas and Kanade: how far each place of a picture moves to the next picture, by gradients in
    a window around it, from small pictures to large ones."""

    def __init__(self, levels=3, steps=3, window=11):
        super().__init__()
        one = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        self.register_buffer("blur", torch.outer(one, one)[None, None])
        across = torch.outer(torch.tensor([3.0, 10.0, 3.0]), torch.tensor([-1.0, 0.0, 1.0])) / 32
        self.register_buffer("slopes", torch.stack((across, across.T)).unsqueeze(1))
        self.levels, self.steps, self.window = levels, steps, window

    def near(self, x):
        """Means over windows."""
        return F.avg_pool2d(x, self.window, 1, self.window // 2, count_include_pad=False)

    def half(self, x):
        return F.conv2d(F.pad(x, (2, 2, 2, 2), mode="reflect"), self.blur, stride=2)

    def moved(self, x, flow):
        """A picture, read where the flow leads to."""
        height, across = x.shape[2:]
        at = torch.meshgrid(torch.arange(height), torch.arange(across), indexing="ij")
        at = torch.stack((at[1], at[0])).float() + flow
        size = torch.tensor([across - 1, height - 1]).view(1, 2, 1, 1)
        at = (at * 2 / size - 1).permute(0, 2, 3, 1)
        return F.grid_sample(x, at, padding_mode="border", align_corners=True)

    def forward(self, before, after):
        pairs = [(before, after)]
        for _ in range(self.levels - 1):
            pairs.append(tuple(map(self.half, pairs[-1])))
        flow = torch.zeros_like(torch.cat(pairs[-1], 1))
        for level, (a, b) in enumerate(reversed(pairs)):
            if level:
                flow = 2 * F.interpolate(flow, a.shape[2:], mode="bilinear", align_corners=False)
            slope = F.conv2d(F.pad(a, (1, 1, 1, 1), mode="replicate"), self.slopes)
            x, y = slope[:, :1], slope[:, 1:]
            xx, xy, yy = self.near(torch.cat((x * x, x * y, y * y), 1)).split(1, 1)
            xx, yy = xx + 1e-3, yy + 1e-3
            whole = xx * yy - xy * xy
            for _ in range(self.steps):
                t = self.moved(b, flow) - a
                xt, yt = self.near(torch.cat((x * t, y * t), 1)).split(1, 1)
                step = torch.cat((xy * yt - yy * xt, xy * xt - xx * yt), 1) / whole
                flow = flow + step.clamp(-1, 1)
        return flow


PICTURE = ((1, 1, 192, 256), None)
model("lucas_kanade", {"before": PICTURE, "after": PICTURE}, script=True, opset=16)(Motion)
