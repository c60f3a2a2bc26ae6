"""Menus built by JavaScript: pages that have hardly any links before their scripts have run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.web.html import find_all, visible_text

if TYPE_CHECKING:
    from tplspider.web.html import Element

HINT = (
    "the key page has almost no links but much script: its menu may be built by JavaScript;"
    " try the browser profile (-s TPLSPIDER_PROFILE=browser)"
)
SMALLEST_MENU = 3  # links
_LINKED_SCRIPT = 2_000  # what a script in a file of its own weighs, in characters


def script_menu_hint(root: Element, links: int) -> str:
    """What to tell the user of a key page with that many links; '' for most pages."""
    if links > SMALLEST_MENU:
        return ""
    script = sum(
        _LINKED_SCRIPT if element.get("src") else len(element.text or "")
        for element in find_all(root, "script")
    )
    return HINT if script > len(visible_text(root)) else ""
