"""The template of a key page, extracted by comparing it with pages that share it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.template.companions import Companions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.items import PageTemplate
    from tplspider.template.comparison import Comparison


@dataclass(frozen=True, slots=True)
class PageSource:
    """A page in memory: its address, where redirects ended, and its HTML."""

    url: str
    html: str

    @property
    def digest(self) -> bytes:
        """What it has in common with copies of it."""
        return digest_of(self.html)


def digest_of(html: str) -> bytes:
    """What two pages with the same HTML have in common."""
    return blake2b(html.encode("utf-8", "replace"), digest_size=16).digest()


def extract_template(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> PageTemplate:
    """The template of the key page and what is left of it, given pages that share the template.

    The pages are taken in the order they are given, up to *most* that tell something about the key
    page. Where none does there is no evidence: all of the page is content.
    Raises TimeoutError when comparing the pages takes longer than *seconds*.
    """
    return Companions(most=0).extract(key, pages, seconds=seconds, most=most)


def compare(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> Comparison | None:
    """Which elements of the key page are template; None if there is no evidence.

    A page that is the key page once more proves nothing, and neither does one that has nothing in
    common with it but its ``body``: an empty page, or something that is not HTML. After *most*
    pages that tell something, or a few that do not, the others are not looked at.
    """
    return Companions(most=0).compare(key, pages, seconds=seconds, most=most)
