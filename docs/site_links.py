"""A hook of MkDocs: links to files outside of docs/ become plain text."""

from __future__ import annotations

import re


def on_page_markdown(markdown: str, **_: object) -> str:
    """Keep the words of links that lead out of docs/."""
    return re.sub(r"\[([^\]\n]+)\]\(\.\./[^)\n]*\)", r"\1", markdown)
