"""Pages of one site in an archive, drawn as pools are: what a pool is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.web.page import WebPage, page_fault
from tplspider.web.redirects import redirect_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.sources.warc import CapturedSite


def pages_by_place(archive: CapturedSite, site: str, most: int) -> Iterator[WebPage]:
    """The pages of a site, in the order of the draw; of the first so many captures alone."""
    for count, place in enumerate(archive.pages_of(site)):
        if count >= most:
            return
        found = archive.page_at(place)
        if found and isinstance(found[1], WebPage) and is_page(found[1]):
            yield found[1]


def is_page(page: WebPage) -> bool:
    """Whether an answer can be read as a page, and does not lead elsewhere."""
    try:
        return not page_fault(page) and redirect_target(page) is None
    except ValueError:  # it leads to nowhere
        return False
