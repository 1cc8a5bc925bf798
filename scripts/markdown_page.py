"""Markdown as the measuring scripts write it: tables, pages wrapped at 100 columns, and single
sections of a page that several scripts write."""

import os, re, textwrap


def table(header, rows):
    """The lines of a table."""
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + [
        "| " + " | ".join(map(str, row)) + " |" for row in rows
    ]


def page(lines):
    """The text of a page. Each of the lines is a paragraph, a heading, an item of a list, or a row
    of a table; paragraphs and items are wrapped."""
    wrapped = []
    for line in lines:
        hanging = "  " if line.startswith("- ") else ""
        plain = line.startswith(("|", "#", "    ")) or not line
        wrapped += (
            [line]
            if plain
            else textwrap.wrap(
                line, 100, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
            )
        )
    return "\n".join(wrapped) + "\n"


def put_section(path, title, text):
    """Replaces the section of a page that begins with this title ("## .."), or adds it at the end.
    The text before and after it stays."""
    old = "# Benchmark\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    start = re.search(rf"^{re.escape(title)}$", old, re.M)
    if start:
        end = re.compile(r"^## ", re.M).search(old, start.end())
        new = old[: start.start()] + text + ("\n" + old[end.start() :] if end else "")
    else:
        new = old.rstrip("\n") + "\n\n" + text
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
