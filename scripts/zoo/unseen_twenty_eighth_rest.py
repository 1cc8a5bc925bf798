"""Networks of the twenty-eighth set of test/bench/UNSEEN.md, written after their papers: molecules,
rays through a scene, cars on a map, notes of a piano, and boxes that have kernels of their own.
unseen_twenty_eighth.py writes them."""

import math

from zoo import SOURCES, model, nn, torch

SOURCES.append(__file__)
F = nn.functional


# ---- molecules
def softmax_by(x, index, many):
    """Softmax of x [edge] among the edges of the same index."""
    most = torch.full((many,), -math.inf).scatter_reduce(0, index, x, "amax", include_self=False)
    y = torch.exp(x - most[index])
    total = torch.zeros(many).scatter_add(0, index, y) + 1e-16
    return y / total[index]


class Molecules(nn.Module):
    """Attentive FP: an atom's row becomes that of its neighbours by attention and a recurrent cell,
    and so does a molecule's row that of its atoms."""

    class Bond(nn.Module):
        """The first attention, which sees the kinds of bonds."""

        def __init__(self, width, bond):
            super().__init__()
            self.left = nn.Parameter(torch.randn(1, width) * 0.1)
            self.right = nn.Parameter(torch.randn(1, width) * 0.1)
            self.a = nn.Linear(width + bond, width, bias=False)
            self.b = nn.Linear(width, width, bias=False)
            self.bias = nn.Parameter(torch.randn(width) * 0.1)

        def forward(self, x, i, j, bond):
            y = F.leaky_relu(self.a(torch.cat((x[j], bond), -1)))
            share = (y * self.left).sum(-1) + (x[i] * self.right).sum(-1)
            share = softmax_by(F.leaky_relu(share), i, x.shape[0])
            y = self.b(x[j]) * share.unsqueeze(-1)
            return torch.zeros_like(x).index_add(0, i, y) + self.bias

    class Look(nn.Module):
        """Attention of the rows y to the rows x that belong to them."""

        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, width, bias=False)
            self.given, self.asks = (nn.Parameter(torch.randn(1, width) * 0.1) for _ in range(2))
            self.bias = nn.Parameter(torch.randn(width) * 0.1)

        def forward(self, x, y, i, j):
            x, y = self.layer(x), self.layer(y)
            share = (x * self.given).sum(-1)[j] + (y * self.asks).sum(-1)[i]
            share = softmax_by(F.leaky_relu(share, 0.01), i, y.shape[0])
            got = share.unsqueeze(-1) * x[j]
            return torch.zeros_like(y).index_add(0, i, got) + self.bias

    def __init__(self, atom=39, bond=10, width=200, layers=3, rounds=2, molecules=16):
        super().__init__()
        self.enter, self.bond = nn.Linear(atom, width), self.Bond(width, bond)
        self.looks = nn.ModuleList(self.Look(width) for _ in range(layers - 1))
        self.cells = nn.ModuleList(nn.GRUCell(width, width) for _ in range(layers))
        self.whole, self.cell = self.Look(width), nn.GRUCell(width, width)
        self.leave, self.rounds, self.molecules = nn.Linear(width, 1), rounds, molecules

    def forward(self, x, bond, i, j, molecule):
        x = F.leaky_relu(self.enter(x))
        x = F.relu(self.cells[0](F.elu(self.bond(x, i, j, bond)), x))
        for look, cell in zip(self.looks, self.cells[1:]):
            x = F.relu(cell(F.elu(look(x, x, i, j)), x))
        atoms = torch.arange(x.shape[0])
        y = F.relu(torch.zeros(self.molecules, x.shape[1]).index_add(0, molecule, x))
        for _ in range(self.rounds):
            y = F.relu(self.cell(F.elu(self.whole(x, y, molecule, atoms)), y))
        return self.leave(y)


model(
    "attentive_fp",
    {
        "x": ((384, 39), None),
        "bond": (("edges=832", 10), None),
        "i": (("edges=832",), 384),
        "j": (("edges=832",), 384),
        "molecule": ((384,), 16),
    },
    opset=20,
)(Molecules)


# ---- a scene
class Scene(nn.Module):
    """Instant NGP: rows of tables at the corners of grids of 16 sizes, found by a hash of a place,
    tell how dense it is there and which colour it has; rays gather these."""

    def __init__(self, levels=16, bits=17, row=2, steps=48, small=16, big=1024):
        super().__init__()
        growth = math.exp((math.log(big) - math.log(small)) / (levels - 1))
        sizes = torch.tensor([math.floor(small * growth**k) for k in range(levels)])
        self.register_buffer("sizes", sizes.float())
        self.tables = nn.Parameter(torch.randn(levels << bits, row) * 0.5)
        self.register_buffer("first", (torch.arange(levels) << bits).view(1, 1, levels))
        corners = torch.cartesian_prod(*[torch.tensor([0, 1])] * 3)
        self.register_buffer("corners", corners)  # 8, 3
        self.mask, self.steps = (1 << bits) - 1, steps
        self.dense = nn.Sequential(
            nn.Linear(levels * row, 64, bias=False), nn.ReLU(), nn.Linear(64, 16, bias=False)
        )
        self.colour = nn.Sequential(
            nn.Linear(32, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False), nn.ReLU(),
            nn.Linear(64, 3, bias=False),
        )  # fmt: skip

    def rows(self, at):
        """at [places, 3] within 0..1."""
        x = at.unsqueeze(1) * self.sizes.view(1, -1, 1)  # place, level, 3
        low = torch.floor(x)
        part = x - low
        corner = low.long().unsqueeze(1) + self.corners.view(1, 8, 1, 3)  # place, 8, level, 3
        code = corner[..., 0] ^ (corner[..., 1] * 2654435761) ^ (corner[..., 2] * 805459861)
        index = (code & self.mask) + self.first
        found = self.tables[index]  # place, 8, level, row
        near = self.corners.view(1, 8, 1, 3)
        weight = torch.where(near == 1, part.unsqueeze(1), 1 - part.unsqueeze(1)).prod(-1)
        return (weight.unsqueeze(-1) * found).sum(1).flatten(1)

    @staticmethod
    def waves(way):
        """Spherical harmonics of the degrees 0 to 3."""
        x, y, z = way.unbind(-1)
        xx, yy, zz, xy, yz, xz = x * x, y * y, z * z, x * y, y * z, x * z
        return torch.stack(
            (
                0.28209479 * torch.ones_like(x),
                -0.48860251 * y, 0.48860251 * z, -0.48860251 * x,
                1.09254843 * xy, -1.09254843 * yz, 0.94617469 * zz - 0.31539157,
                -1.09254843 * xz, 0.54627421 * (xx - yy),
                0.59004358 * y * (-3 * xx + yy), 2.89061144 * xy * z,
                0.45704579 * y * (1 - 5 * zz), 0.37317633 * z * (5 * zz - 3),
                0.45704579 * x * (1 - 5 * zz), 1.44530572 * z * (xx - yy),
                0.59004358 * x * (-xx + 3 * yy),
            ),
            -1,
        )  # fmt: skip

    def forward(self, start, way):
        way = F.normalize(way, dim=-1)
        # from where a ray enters the box of -1..1 to where it leaves
        start = torch.tanh(start) * 0.3 - 1.5 * way
        inverse = 1 / torch.where(way.abs() < 1e-6, torch.full_like(way, 1e-6), way)
        a, b = (-1 - start) * inverse, (1 - start) * inverse
        near = torch.minimum(a, b).amax(-1, keepdim=True).clamp(min=0.05)
        far = torch.maximum(a, b).amin(-1, keepdim=True)
        hit = far > near
        far = torch.where(hit, far, near + 0.01)
        share = torch.linspace(0, 1, self.steps)
        far_at = near + (far - near) * share  # ray, step
        at = start.unsqueeze(1) + way.unsqueeze(1) * far_at.unsqueeze(-1)
        place = ((at + 1) / 2).clamp(0, 1).flatten(0, 1)
        y = self.dense(self.rows(place))
        density = torch.exp(y[:, 0].clamp(max=10)).unflatten(0, (-1, self.steps))
        seen = self.waves(way).unsqueeze(1).expand(-1, self.steps, -1).flatten(0, 1)
        colour = torch.sigmoid(self.colour(torch.cat((seen, y), -1)))
        step = torch.cat((far_at[:, 1:] - far_at[:, :-1], ((far - near) / self.steps)), 1)
        alpha = 1 - torch.exp(-density * step)
        clear = torch.cat((torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-15), 1)
        weight = alpha * torch.cumsum(torch.log(clear), 1)[:, :-1].exp() * hit
        all_of = weight.sum(1, keepdim=True)
        picture = (weight.unsqueeze(-1) * colour.unflatten(0, (-1, self.steps))).sum(1)
        return picture + (1 - all_of), (weight * far_at).sum(1)


model(
    "instant_ngp",
    {"start": (("rays=128", 3), None), "way": (("rays=128", 3), None)},
    opset=18,
)(Scene)


# ---- driving
class Roads(nn.Module):
    """VectorNet: short lines make the row of each lane and of each path of a car, these rows see
    each other, and the row of a car tells where it goes."""

    class Lines(nn.Module):
        def __init__(self, i, width):
            super().__init__()
            self.up, self.norm = nn.Linear(i, width), nn.LayerNorm(width)
            self.down = nn.Linear(width, width)
            self.side = nn.Linear(i, width) if i != width else nn.Identity()
            self.side_norm = nn.LayerNorm(width)

        def forward(self, x, seen):
            y = F.relu(self.norm(self.up(x)))
            y = F.relu(self.side_norm(self.down(y)) + self.side(x))
            y = y.masked_fill(~seen.unsqueeze(-1), -1e9)
            most = y.max(2, keepdim=True).values
            y = torch.cat((y, most.expand(-1, -1, y.shape[2], -1)), -1)
            return y.masked_fill(~seen.unsqueeze(-1), 0)

    def __init__(self, given=8, width=64, layers=3, paths=6, ahead=30):
        super().__init__()
        sizes = [given] + [2 * width] * (layers - 1)
        self.lines = nn.ModuleList(self.Lines(i, width) for i in sizes)
        self.row = nn.Linear(2 * width, 2 * width)
        wide = 2 * width
        self.q, self.k, self.v = (nn.Linear(wide + 2, wide, bias=False) for _ in range(3))
        self.go = nn.Sequential(
            nn.Linear(wide, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, paths * ahead * 2)
        )
        self.sure = nn.Sequential(
            nn.Linear(wide, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, paths)
        )
        self.paths, self.ahead = paths, ahead

    def forward(self, x, seen, at):
        """x [scene, line, vector, 8], seen [scene, line, vector] of 0 and 1, at [scene, line, 2]
        the places; the first line of a scene is the car that is asked for."""
        seen = seen.bool()
        y = x
        for lines in self.lines:
            y = lines(y, seen)
        y = y.masked_fill(~seen.unsqueeze(-1), -1e9).max(2).values
        there = seen.any(2)  # scene, line
        y = F.normalize(self.row(y.masked_fill(~there.unsqueeze(-1), 0)), p=2.0, dim=-1)
        y = torch.cat((y, at), -1)
        q, k, v = self.q(y), self.k(y), self.v(y)
        score = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        score = score.masked_fill(~there.unsqueeze(1), -1e9)
        car = torch.bmm(torch.softmax(score, -1), v)[:, 0]
        path = torch.cumsum(self.go(car).unflatten(1, (self.paths, self.ahead, 2)), 2)
        return path, torch.softmax(self.sure(car), -1)


model(
    "vector_net",
    {
        "x": (("scenes=4", 96, 19, 8), None),
        "seen": (("scenes=4", 96, 19), 2),
        "at": (("scenes=4", 96, 2), None),
    },
    opset=17,
)(Roads)


# ---- music
class Piano(nn.Module):
    """Onsets and Frames: which keys of a piano begin, end and sound, and how hard they are hit, by
    convolutions over a spectrogram and recurrent cells."""

    class Stack(nn.Module):
        def __init__(self, mels, o):
            super().__init__()
            c = o // 16
            conv = lambda i, o: (nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
            self.body = nn.Sequential(
                *conv(1, c), *conv(c, c), nn.MaxPool2d((1, 2)), nn.Dropout(0.25),
                *conv(c, 2 * c), nn.MaxPool2d((1, 2)), nn.Dropout(0.25),
            )  # fmt: skip
            self.row = nn.Sequential(nn.Linear(2 * c * (mels // 4), o), nn.Dropout(0.5))

        def forward(self, x):
            y = self.body(x.view(x.size(0), 1, x.size(1), x.size(2)))
            return self.row(y.transpose(1, 2).flatten(-2))

    class Cells(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.cells = nn.LSTM(i, o // 2, batch_first=True, bidirectional=True)

        def forward(self, x):
            return self.cells(x)[0]

    def __init__(self, mels=229, keys=88, width=512):
        super().__init__()
        end = lambda i: (nn.Linear(i, keys), nn.Sigmoid())
        cells = lambda: nn.Sequential(
            self.Stack(mels, width), self.Cells(width, width), *end(width)
        )
        self.begin, self.stop = cells(), cells()
        self.sound = nn.Sequential(self.Stack(mels, width), *end(width))
        self.both = nn.Sequential(self.Cells(keys * 3, width), *end(width))
        self.hard = nn.Sequential(self.Stack(mels, width), nn.Linear(width, keys))

    def forward(self, x):
        begin, stop, sound = self.begin(x), self.stop(x), self.sound(x)
        frames = self.both(torch.cat((begin, stop, sound), -1))
        return begin, stop, frames, self.hard(x)


model("onsets_frames", {"x": ((1, 64, 229), None)}, script=True, opset=16)(Piano)


# ---- detection
class Boxes(nn.Module):
    """Sparse R-CNN: learned boxes and a learned row for each; the row makes kernels for what is in
    the box, and the box and the row change head by head."""

    class Head(nn.Module):
        def __init__(self, width=256, small=64, side=7, kinds=80):
            super().__init__()
            self.look = nn.MultiheadAttention(width, 8)
            self.kernels = nn.Linear(width, 2 * width * small)
            self.width, self.small = width, small
            self.inner, self.outer = nn.LayerNorm(small), nn.LayerNorm(width)
            self.flat, self.flat_norm = nn.Linear(width * side * side, width), nn.LayerNorm(width)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
            self.up, self.down = nn.Linear(width, 1024), nn.Linear(1024, width)
            layer = lambda: (nn.Linear(width, width, False), nn.LayerNorm(width), nn.ReLU())
            self.kind = nn.Sequential(*layer(), nn.Linear(width, kinds))
            self.box = nn.Sequential(*layer(), *layer(), nn.Linear(width, 4))

        def interact(self, row, seen):
            """row [1, box, width], seen [49, box, width]."""
            many = self.width * self.small
            y, kernels = seen.permute(1, 0, 2), self.kernels(row).permute(1, 0, 2)
            first = kernels[:, :, :many].view(-1, self.width, self.small)
            second = kernels[:, :, many:].view(-1, self.small, self.width)
            y = F.relu(self.inner(torch.bmm(y, first)))
            y = F.relu(self.outer(torch.bmm(y, second)))
            return F.relu(self.flat_norm(self.flat(y.flatten(1))))

        def forward(self, row, seen):
            """row [box, width], seen [box, width, 7, 7]; (kinds, changes of the box, row)"""
            row = row.unsqueeze(1)  # box, picture, width
            row = self.norms[0](row + self.look(row, row, value=row)[0])
            seen = seen.flatten(2).permute(2, 0, 1)
            row = row.permute(1, 0, 2)
            row = self.norms[1](row.squeeze(0) + self.interact(row, seen))
            row = self.norms[2](row + self.down(F.relu(self.up(row))))
            return self.kind(row), self.box(row), row

    def __init__(self, side=256, boxes=100, heads=2, width=256):
        super().__init__()
        import torchvision

        eye = torchvision.models.mobilenet_v2(weights=None).features
        self.eye = nn.ModuleList((eye[:7], eye[7:14], eye[14:18]))
        self.side = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (32, 96, 320))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.rows = nn.Parameter(torch.randn(boxes, width))
        self.boxes = nn.Parameter(torch.rand(boxes, 4) * 0.5 + 0.25)  # middle and size
        self.heads = nn.ModuleList(self.Head(width) for _ in range(heads))
        self.register_buffer("scale", torch.tensor([2.0, 2.0, 1.0, 1.0]))
        self.size = side

    def seen(self, levels, box):
        from torchvision.ops import roi_align

        size = torch.sqrt((box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]))
        level = torch.floor(torch.log2(size / 56 + 1e-6)).clamp(0, 2)
        box = torch.cat((torch.zeros_like(box[:, :1]), box), 1)
        out = 0
        for k, rows in enumerate(levels):
            y = roi_align(rows, box, 7, 1 / (8 << k), sampling_ratio=2, aligned=True)
            out = out + torch.where((level == k)[:, None, None, None], y, torch.zeros_like(y))
        return out

    def change(self, by, box):
        size = box[:, 2:] - box[:, :2]
        middle = box[:, :2] + 0.5 * size
        move, grow = (by / self.scale).split(2, 1)
        middle = move * size + middle
        size = torch.exp(grow.clamp(max=math.log(100000.0 / 16))) * size
        return torch.cat((middle - 0.5 * size, middle + 0.5 * size), 1)

    def forward(self, x):
        found = []
        for part in self.eye:
            x = part(x)
            found.append(x)
        levels = [side(y) for side, y in zip(self.side, found)]
        for k in (1, 0):
            levels[k] = levels[k] + F.interpolate(levels[k + 1], scale_factor=2.0, mode="nearest")
        levels = [smooth(y) for smooth, y in zip(self.smooth, levels)]
        middle, size = self.boxes.split(2, 1)
        box = torch.cat((middle - 0.5 * size, middle + 0.5 * size), 1) * self.size
        row = self.rows
        for head in self.heads:
            kinds, by, row = head(row, self.seen(levels, box))
            box = self.change(by, box)
        return torch.sigmoid(kinds), box


model("sparse_rcnn", {"x": ((1, 3, 256, 256), None)}, opset=18)(Boxes)
