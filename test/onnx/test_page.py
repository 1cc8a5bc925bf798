"""optimize-model --html: the page says what happened, needs no other files, and is displayed by a
browser."""

import os, re, shutil, struct, subprocess, zlib
import numpy, onnx, pytest
from onnx import helper
from small_models import SHAPE, net, refused, save, target, tensor

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def page(optimize, costly_chain, tmp_path):
    model = onnx.load(net(tmp_path / "m.onnx"))
    model.graph.node[0].name = "<script>alert(1)</script>"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = optimize(
        tmp_path / "m.onnx",
        tmp_path / "o.onnx",
        *SHAPE,
        *costly_chain,
        "--html",
        tmp_path / "p.html",
    )
    assert done.returncode == 0, done.stderr
    return tmp_path / "p.html"


def test_page(page, rules):
    text = page.read_text()
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text
    assert not re.findall(
        r"""(?:src|href)\s*=\s*["'](?!#)[^"']*""", text.replace("xlink:href", "")
    ), "it needs nothing but itself"
    assert text.count("<svg") == text.count("</svg>") >= 4
    for name in ("conv-batchnorm", "hard-swish-div", "hard-swish"):
        (rule,) = re.findall(
            rf"rule {name}\n.*?\nproved [^\n]*digest=(\w+)\n", rules.read_text(), re.S
        )
        assert f"<b>{name}</b>" in text and f"<code>{rule}</code>" in text
    assert re.search(r"<td>batchnorm</td><td class=n>6</td><td class=n>0</td>", text) and re.search(
        r"<td>conv</td><td class=n>6</td><td class=n>6</td>", text
    )
    assert "6 places like this" in text or "5 places like this" in text
    assert re.search(
        r"greatest difference [\d.e-]+, relative to the largest element [\d.e-]+", text
    )


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here to look at the page with")
def test_page_in_a_browser(page, tmp_path):
    """The colours of removed and new nodes are on the screen, on the left and on the right."""
    shot = tmp_path / "shot.png"
    subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=900,900",
            f"--user-data-dir={tmp_path}/profile",
            f"--screenshot={shot}",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=120,
    )
    lines = png_lines(shot)
    half = [
        {
            line[x : x + 3]
            for line in lines
            for x in range(part * len(line) // 2 // 3 * 3, (part + 1) * len(line) // 2 - 2, 3)
        }
        for part in (0, 1)
    ]
    assert bytes((255, 179, 167)) in half[0], "nodes that are gone, on the left"
    assert (
        bytes((181, 231, 176)) in half[1] and bytes((255, 224, 138)) in half[1]
    ), "new and changed nodes, on the right"


def png_lines(path):
    """The lines of a PNG as bytes, three for each pixel. Only the formats that browsers write are
    implemented."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8 : at + 18])
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    step, raw = {2: 3, 6: 4}[colour], zlib.decompress(packed)
    above, lines = bytearray(width * step), []
    for y in range(height):
        line = bytearray(raw[y * (width * step + 1) + 1 : (y + 1) * (width * step + 1)])
        unfilter(raw[y * (width * step + 1)], line, above, step)
        above = line
        lines.append(
            bytes(line)
            if step == 3
            else b"".join(bytes(line[x : x + 3]) for x in range(0, len(line), 4))
        )
    return lines


def unfilter(kind, line, above, step):
    for x in range(len(line)):
        left, corner = (line[x - step], above[x - step]) if x >= step else (0, 0)
        p = left + above[x] - corner
        nearest = (
            min(
                (abs(p - left), 0, left),
                (abs(p - above[x]), 1, above[x]),
                (abs(p - corner), 2, corner),
            )[2]
            if kind == 4
            else 0
        )
        line[x] = line[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[kind] & 255


def test_page_without_graphviz(optimize, costly_chain, tmp_path):
    done = optimize(
        net(tmp_path / "m.onnx"),
        tmp_path / "o.onnx",
        "--cost",
        "flops",
        "--html",
        tmp_path / "p.html",
        env=dict(os.environ, PATH="/nowhere"),
    )
    refused(done, 5, "--html", "Graphviz", out=tmp_path / "o.onnx")
    assert not (tmp_path / "p.html").exists()


def test_page_of_a_large_model(optimize, tmp_path):
    """A change that is repeated is drawn once, with its surroundings, and there is no picture of
    the whole model."""
    nodes = [
        helper.make_node(
            "Pow" if k % 2 else "Relu", [f"y{k - 1}" if k else "x", "two"][: 1 + k % 2], [f"y{k}"]
        )
        for k in range(600)
    ]
    model = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", [2, 8])],
        [tensor("y599", [2, 8])],
        {"two": numpy.float32([2])},
    )
    done = optimize(
        model,
        tmp_path / "o.onnx",
        "--measure-with",
        target(tmp_path, "1 + data.count(b'Pow')"),
        "--enable",
        "pow-square",
        "--html",
        tmp_path / "p.html",
        "--dot",
        tmp_path / "g.dot",
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "p.html").read_text()
    assert (
        "300 places like this" in text
        and text.count("<svg") <= 4
        and "all nodes in their order" in text
        and "both as pictures" not in text
    )
    drawn = re.search("<svg.*?</svg>", text, re.S)[0]
    assert drawn.count("Pow") == 1 and "Relu" in drawn
    assert "of these what changed" in (tmp_path / "g.dot").read_text()
