"""Small models of the sixteenth set of test/bench/UNSEEN.md, written after their papers: separation
of speech and of music, speech synthesis, image enlargement and frame interpolation."""

import math
from zoo import SOURCES, model, nn, torch
from unseen_sixteenth_rest import conv, rows

SOURCES.append(__file__)
F = nn.functional


class TfGrid(nn.Module):
    """TF-GridNet: speech separation: recurrences along the frequencies and along time over unfolded
    neighbours, then attention between frames."""

    class Along(nn.Module):
        def __init__(self, c, hidden, near):
            super().__init__()
            self.norm, self.near = nn.LayerNorm(c), near
            self.cells = nn.LSTM(c * near, hidden, batch_first=True, bidirectional=True)
            self.back = nn.ConvTranspose1d(2 * hidden, c, near)

        def forward(self, x):
            n, a, b, c = x.shape
            y = self.norm(x).reshape(n * a, b, c).transpose(1, 2)
            y = F.unfold(y[..., None], (self.near, 1)).transpose(1, 2)
            y = self.back(self.cells(y)[0].transpose(1, 2))
            return x + y.transpose(1, 2).reshape(n, a, b, c)

    class Look(nn.Module):
        def __init__(self, c, heads=4, inner=4):
            super().__init__()
            one = lambda o: nn.Sequential(nn.Linear(c, o), nn.PReLU(), nn.LayerNorm(o))
            self.q = nn.ModuleList(one(inner) for _ in range(heads))
            self.k = nn.ModuleList(one(inner) for _ in range(heads))
            self.v = nn.ModuleList(one(c // heads) for _ in range(heads))
            self.end = one(c)

        def forward(self, x):
            n, t, f, _ = x.shape
            out = []
            for q, k, v in zip(self.q, self.k, self.v):
                a, b, d = (part(x).flatten(2) for part in (q, k, v))
                look = (a @ b.transpose(1, 2) / a.shape[-1] ** 0.5).softmax(-1)
                out.append((look @ d).reshape(n, t, f, -1))
            return x + self.end(torch.cat(out, -1))

    def __init__(self, c=32, hidden=64, blocks=2):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(2, c, 3, 1, 1), nn.GroupNorm(1, c))
        self.across = nn.ModuleList(self.Along(c, hidden, 4) for _ in range(blocks))
        self.along = nn.ModuleList(self.Along(c, hidden, 4) for _ in range(blocks))
        self.look = nn.ModuleList(self.Look(c) for _ in range(blocks))
        self.end = nn.ConvTranspose2d(c, 2, 3, 1, 1)

    def forward(self, x):
        y = self.first(x).permute(0, 2, 3, 1)
        for across, along, look in zip(self.across, self.along, self.look):
            y = along(across(y).transpose(1, 2)).transpose(1, 2)
            y = look(y)
        return self.end(y.permute(0, 3, 1, 2)) * x


class BandSplit(nn.Module):
    """BSRNN: separation of instruments: each band of a spectrum by a layer of its own, recurrences
    along time and along the bands, a mask for each band."""

    class Along(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = nn.GroupNorm(1, c)
            self.cells = nn.LSTM(c, c, batch_first=True, bidirectional=True)
            self.end = nn.Linear(2 * c, c)

        def forward(self, x):
            n, a, b, c = x.shape
            y = self.norm(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).reshape(n * a, b, c)
            return x + self.end(self.cells(y)[0]).reshape(x.shape)

    def __init__(self, c=64, bands=(4,) * 10 + (12,) * 8 + (24,) * 4, blocks=2):
        super().__init__()
        self.bands = bands
        self.enter = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(2 * b), nn.Linear(2 * b, c)) for b in bands
        )
        self.blocks = nn.ModuleList(self.Along(c) for _ in range(2 * blocks))
        self.leave = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Tanh(), nn.Linear(4 * c, 4 * b), nn.GLU()
            )
            for b in bands
        )

    def forward(self, x):
        n, _, f, t = x.shape
        parts = [y.permute(0, 3, 1, 2).flatten(2) for y in x.split(self.bands, 2)]
        y = torch.stack([enter(part) for enter, part in zip(self.enter, parts)], 1)
        for k, block in enumerate(self.blocks):
            y = block(y.transpose(1, 2)).transpose(1, 2) if k % 2 else block(y)
        masks = [leave(y[:, k]) for k, leave in enumerate(self.leave)]
        masks = [m.reshape(n, t, 2, -1).permute(0, 2, 3, 1) for m in masks]
        mask = torch.cat(masks, 2)
        re = x[:, 0] * mask[:, 0] - x[:, 1] * mask[:, 1]
        return torch.stack((re, x[:, 0] * mask[:, 1] + x[:, 1] * mask[:, 0]), 1)


class GradTts(nn.Module):
    """Grad-TTS: a denoising step of a speech spectrum: a U-Net whose frames beyond the end are
    masked, linear attention."""

    class Block(nn.Module):
        def __init__(self, i, o, t):
            super().__init__()
            one = lambda i: nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(8, o), nn.Mish())
            self.a, self.b, self.t = one(i), one(o), nn.Sequential(nn.Mish(), nn.Linear(t, o))
            self.side = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x, mask, t):
            y = self.a(x * mask) * mask + self.t(t)[:, :, None, None]
            return self.b(y * mask) * mask + self.side(x * mask)

    class Linear(nn.Module):
        def __init__(self, c, heads=4, inner=32):
            super().__init__()
            self.heads, self.enter = heads, nn.Conv2d(c, 3 * heads * inner, 1, bias=False)
            self.end, self.g = nn.Conv2d(heads * inner, c, 1), nn.Parameter(0.1 * torch.ones(1))

        def forward(self, x):
            n, _, h, w = x.shape
            q, k, v = self.enter(x).reshape(n, 3, self.heads, -1, h * w).unbind(1)
            seen = torch.einsum("bhdn,bhen->bhde", k.softmax(-1), v)
            y = torch.einsum("bhde,bhdn->bhen", seen, q).reshape(n, -1, h, w)
            return x + self.g * self.end(y)

    def __init__(self, c=48):
        super().__init__()
        self.c, t = c, c
        self.time = nn.Sequential(nn.Linear(c, 4 * c), nn.Mish(), nn.Linear(4 * c, t))
        widths = (2, c, 2 * c, 4 * c)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for k, (i, o) in enumerate(zip(widths, widths[1:])):
            last = nn.Conv2d(o, o, 3, 2, 1) if k < 2 else nn.Identity()
            self.down.append(nn.ModuleList([self.Block(i, o, t), self.Linear(o), last]))
        self.middle = nn.ModuleList([self.Block(4 * c, 4 * c, t), self.Linear(4 * c)])
        for i, o in ((4 * c, 2 * c), (2 * c, c)):
            last = nn.ConvTranspose2d(o, o, 4, 2, 1)
            self.up.append(nn.ModuleList([self.Block(2 * i, o, t), self.Linear(o), last]))
        self.end = nn.Sequential(conv(c, c, act=nn.Mish), nn.Conv2d(c, 1, 1))

    def forward(self, x, mean, mask, t):
        rate = torch.exp(torch.arange(self.c // 2) * -(math.log(10000) / (self.c // 2 - 1)))
        angle = 1000 * t[:, None] * rate
        t = self.time(torch.cat((angle.sin(), angle.cos()), -1))
        mask = mask.float()[:, None, None]
        x, kept = torch.stack((mean, x), 1), []
        masks = [mask]
        for block, look, last in self.down:
            x = look(block(x, masks[-1], t))
            kept.append(x)
            x = last(x * masks[-1])
            masks.append(masks[-1][..., ::2] if isinstance(last, nn.Conv2d) else masks[-1])
        block, look = self.middle
        x = look(block(x, masks[-1], t))
        masks.pop()
        for block, look, last in self.up:
            x = look(block(torch.cat((x, kept.pop()), 1), masks[-1], t))
            x = last(x * masks[-1])
            masks.pop()
        return (self.end(x * mask) * mask)[:, 0]


class Liif(nn.Module):
    """LIIF: an image at any position: features of the nearest cells, and four predictions weighed
    by area."""

    def __init__(self, c=48, width=256):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        one = lambda: nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), nn.ReLU(), nn.Conv2d(c, c, 3, 1, 1))
        self.blocks = nn.ModuleList(one() for _ in range(4))
        self.read = rows(9 * c + 4, width, width, width, 3)

    def forward(self, x, place, cell):
        y = first = self.first(x)
        for block in self.blocks:
            y = y + block(y)
        y = y + first
        n, c, h, w = y.shape
        y = F.unfold(y, 3, padding=1).reshape(n, 9 * c, h, w)
        down = (torch.arange(h).float() * 2 + 1) / h - 1
        right = (torch.arange(w).float() * 2 + 1) / w - 1
        at = torch.stack(torch.meshgrid(down, right, indexing="ij"))[None].expand(n, -1, -1, -1)
        guesses, areas = [], []
        place = place.tanh()
        for dy in (-1, 1):
            for dx in (-1, 1):
                moved = place + torch.tensor([dy / h, dx / w]) + 1e-6
                moved = moved.clamp(-1 + 1e-6, 1 - 1e-6).flip(-1)[:, None]
                look = lambda t: F.grid_sample(t, moved, "nearest", align_corners=False)[:, :, 0]
                away = place - look(at).transpose(1, 2)
                away = away * torch.tensor([float(h), float(w)])
                size = cell * torch.tensor([float(h), float(w)])
                guesses.append(self.read(torch.cat((look(y).transpose(1, 2), away, size), -1)))
                areas.append((away[..., 0] * away[..., 1]).abs() + 1e-9)
        total = sum(areas)
        parts = [g * (a / total)[..., None] for g, a in zip(guesses, areas[::-1])]
        return sum(parts) + F.grid_sample(
            x, place.flip(-1)[:, None], "bilinear", "border", align_corners=False
        )[:, :, 0].transpose(1, 2)


class Rife(nn.Module):
    """RIFE: frame interpolation: motion found at three resolutions, both frames warped and
    mixed."""

    class One(nn.Module):
        def __init__(self, i, c):
            super().__init__()
            one = lambda i, o, s=1: nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.PReLU(o))
            self.first = nn.Sequential(one(i, c // 2, 2), one(c // 2, c, 2))
            self.body = nn.Sequential(*(one(c, c) for _ in range(4)))
            self.end = nn.ConvTranspose2d(c, 5, 4, 2, 1)

        def forward(self, x, flow, scale):
            sized = lambda t, s: F.interpolate(
                t, scale_factor=s, mode="bilinear", align_corners=False
            )
            if scale > 1:
                x = sized(x, 1.0 / scale)
            if flow is not None:
                x = torch.cat((x, sized(flow, 1.0 / scale) / scale if scale > 1 else flow), 1)
            x = self.first(x)
            x = sized(self.end(self.body(x) + x), float(2 * scale))
            return x[:, :4] * (2 * scale), x[:, 4:]

    def __init__(self, widths=(96, 64, 48)):
        super().__init__()
        self.steps = nn.ModuleList(self.One(i, c) for i, c in zip((6, 17, 17), widths))

    def moved(self, x, flow):
        n, _, h, w = x.shape
        right = torch.linspace(-1, 1, w).reshape(1, 1, w).expand(n, h, w)
        down = torch.linspace(-1, 1, h).reshape(1, h, 1).expand(n, h, w)
        way = torch.stack((flow[:, 0] * (2 / (w - 1)), flow[:, 1] * (2 / (h - 1))), -1)
        grid = torch.stack((right, down), -1) + way
        return F.grid_sample(x, grid, "bilinear", "border", align_corners=True)

    def forward(self, a, b):
        flow = mask = None
        c, d = a, b
        for step, scale in zip(self.steps, (4, 2, 1)):
            if flow is None:
                flow, mask = step(torch.cat((a, b), 1), None, scale)
            else:
                more, change = step(torch.cat((a, b, c, d, mask), 1), flow, scale)
                flow, mask = flow + more, mask + change
            c, d = self.moved(a, flow[:, :2]), self.moved(b, flow[:, 2:])
        mask = mask.sigmoid()
        return c * mask + d * (1 - mask)


model("tf_grid_net", {"x": ((1, 2, 40, 65), None)}, script=True, opset=17)(TfGrid)
model("band_split", {"x": ((1, 2, 232, "frames=60"), None)}, opset=18)(BandSplit)
SPECTRUM = ((1, 80, 96), None)
model(
    "grad_tts",
    {"x": SPECTRUM, "mean": SPECTRUM, "mask": ((1, 96), 2), "t": ((1,), None)},
    script=True,
    opset=17,
)(GradTts)
PLACES = ((1, "places=2048", 2), None)
model("liif", {"x": ((1, 3, 40, 40), None), "place": PLACES, "cell": PLACES}, opset=20)(Liif)
PICTURE = ((1, 3, 128, 192), None)
model("rife", {"a": PICTURE, "b": PICTURE}, script=True, opset=16)(Rife)
