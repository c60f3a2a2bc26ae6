"""Which pages of a pool tell most about a page: the nearest, by links and by directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.pool import page_identity
from tplspider.search.companions import by_likeness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tplspider.pools.pool import PooledPage
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
