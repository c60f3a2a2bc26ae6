"""The order of the paper: sortLinks (Algorithm 1), fixed before anything is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.search.sort_links import sort_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.search.window import SubdigraphSearch
    from tplspider.web.html import Link


def paper_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by link relevance, and by DOM relevance among equals."""
    yield from sort_links(links, search.key_page.identity)
