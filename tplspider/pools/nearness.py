"""Which pages of a pool tell most about a page: the nearest, by links and by directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.pool import page_identity
from tplspider.search.companions import by_likeness
from tplspider.web.flat_page import Vocabulary, flatten
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tplspider.pools.pool import PooledPage
    from tplspider.template.extract import PageSource
    from tplspider.web.flat_page import FlatPage

_LINKS = frozenset({"a", "area"})


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells how near a page is to others: where it is, and where its links lead."""

    identity: str
    links: frozenset[str]


def signs_of(page: FlatPage, url: str) -> Signs:
    """The signs of a page.

    Links are taken as they are flattened, those to other sites among them: measured, they tell as
    much as the identities of getLinks, and they are there already.
    """
    targets = {
        target
        for tag, target in zip(page.tags, page.targets, strict=True)
        if target and tag in _LINKS
    }
    return Signs(page_identity(url), frozenset({*targets, page.url}))


def nearest(key: Signs, pool: Mapping[PooledPage, Signs]) -> list[PooledPage]:
    """The pages of a pool but the key page, the nearest first; of equals, by their places."""
    others = {signs: page for page, signs in pool.items() if signs.identity != key.identity}
    return [others[signs] for signs in by_likeness(key, others)]


def companions(key: PageSource, pool: Iterable[PooledPage]) -> list[PageSource]:
    """The pages of a pool, the nearest to a page first, for one who compares but a few pages."""
    known = {page: _signs(page.source) for page in pool}
    return [page.source for page in nearest(_signs(key), known)] if known else []


def _signs(page: PageSource) -> Signs:
    return signs_of(flatten(parse_html(page.html), page.url, Vocabulary()), page.url)
