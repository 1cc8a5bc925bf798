"""Markdown as the measuring scripts write it: tables, and paragraphs wrapped at 100 columns."""

import textwrap


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + [
        "| " + " | ".join(map(str, row)) + " |" for row in rows
    ]


def page(lines):
    """One text; every line is a paragraph, a heading, an item or the row of a table."""
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
