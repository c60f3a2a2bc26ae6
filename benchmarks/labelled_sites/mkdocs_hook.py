"""A hook that MkDocs loads: the key page's own data, where the sources cannot give it.

A page's title in ``nav`` is also the page's title in templates. Here they are taken apart: menus
show the one, which is the same in all variants, and ``page.title`` is the other. The neighbours of
the key page are its own data, too.
"""

from __future__ import annotations

from typing import Any


class Own:
    """An object of MkDocs with some of its attributes replaced."""

    def __init__(self, original: Any, **replaced: Any) -> None:
        self._original = original
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._original == other)

    def __hash__(self) -> int:
        return hash(self._original)


def _neighbour(page: Any, variant: str) -> Any:
    """The page before or after, as the variant has it."""
    if page is None or variant == "empty":
        return None
    return Own(page, title=f"Zqmeta {page.title}") if variant == "marked" else page


def on_page_content(html: str, page: Any, config: Any, **_: Any) -> str:
    """Add the list of related pages."""
    related: dict[str, str] = config["extra"]["labelled"]["related"]
    return html + related.get(page.file.src_uri, "")


def on_page_context(context: dict[str, Any], page: Any, config: Any, **_: Any) -> dict[str, Any]:
    """Replace the key page by one with its own title and neighbours."""
    own = config["extra"]["labelled"]
    if page.file.src_uri == own["key"]:
        context["page"] = Own(
            page,
            title=own["title"],
            previous_page=_neighbour(page.previous_page, own["variant"]),
            next_page=_neighbour(page.next_page, own["variant"]),
        )
    return context
