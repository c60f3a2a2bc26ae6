"""The main text of a page by itself, for want of other pages: by a library, where it is installed.

resiliparse is the best of those measured (docs/evaluation.md); ``pip install tplspider[main]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def main_text_of_page(html: str) -> str:
    """The main text as resiliparse sees it; '' where it is not installed, or finds nothing."""
    try:
        module: Any = import_module("resiliparse.extract.html2text")
    except ImportError:
        return ""
    text = module.extract_plain_text(html, main_content=True, links=False, list_bullets=False)
    lines = (line.rstrip() for line in str(text).split("\n"))
    return "\n".join(line for line in lines if line)
