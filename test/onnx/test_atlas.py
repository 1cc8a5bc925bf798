"""The page of scripts/atlas.py: what an update replaces, and what it keeps."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))


def row(operator, case, ratio, rules="-"):
    """A row of the table."""
    return [operator, case, "1,64", "0.5000", "7 %", ratio, rules]


def test_an_update_replaces_the_rows_of_its_cases_alone(tmp_path, monkeypatch):
    """Rows of other cases stay, and so do rows of cases that could not be run this time. Lines
    about cases that were not run stay until there is a row. The summary counts all rows."""
    import atlas

    monkeypatch.setattr(atlas, "KEPT", str(tmp_path))
    path = tmp_path / "ATLAS.md"
    late = [
        f"- Not run: {op}, {case}: the time was over" for op, case in (("Cos", "a"), ("Sin", "b"))
    ]
    first = [row("Elu", "x", "2.60", "`a` (library), `b` (asked here)"), row("Abs", "x", "1.00")]
    atlas.write_page(first, late, False)
    text = path.read_text()
    assert "1 of 2 operators have an alternative of 1.2 or more somewhere: Elu." in text
    assert "several runs" not in text and text.endswith("\n".join(late) + "\n")
    atlas.write_page([row("Abs", "x", "1.20", "`c` (library)"), row("Cos", "a", "1.19")], [], True)
    text = path.read_text()
    assert "2 of 3 operators have an alternative of 1.2 or more somewhere: Abs, Elu." in text
    assert "several runs" in text and late[1] in text and late[0] not in text
    ratios = re.findall(r"^\| (\w+) \| \w+ \| 1,64 .* \| (\d\.\d\d) \| (.*) \|$", text, re.M)
    assert ratios == [
        ("Elu", "2.60", "`a` (library), `b` (asked here)"),
        ("Abs", "1.20", "`c` (library)"),
        ("Cos", "1.19", "-"),
    ]
    atlas.write_page([row("Abs", "x", "1.00")], ["- Not run: Elu, x: refused: now"], True)
    text = path.read_text()
    assert "| Elu | x |" in text and "- Not run: Elu" not in text
    assert text.count("- Not run: Sin") == 1
