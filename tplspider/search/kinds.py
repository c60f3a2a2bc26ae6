"""Pages of the key page's own kind, by the patterns of their addresses; the strategy ``kinds``.

For a text, pages of the key page's own kind tell most: they have what every article has, and no
list of articles. Before a page is loaded, its kind shows in the pattern of its address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tplspider.search.cliques import PAGES_FOUND, SubdigraphSearch, Visit
from tplspider.search.guided import guided_order, in_sequence, other_forms
from tplspider.web.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tplspider.web.html import Link
    from tplspider.web.page import Page


SEQUENCE = 0.5  # for what is marked as the page before or after
SIBLING = 2.5  # what an address in the same directory and of the same ending scores

_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_ENDING = re.compile(r"\.\w{1,5}$")
_INDEX = re.compile(r"(?:index|default|home)(?:\.\w+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Pattern:
    """An address as far as it tells the kind of its page."""

    identity: str

    @cached_property
    def _parts(self) -> tuple[list[str], str, str]:
        parts = urlsplit(self.identity)
        *directories, name = unquote(parts.path).removeprefix("/").split("/")
        ending = _ENDING.search(name)
        return directories, name, ending[0].lower() if ending else ""

    @property
    def directories(self) -> list[str]:
        """The directories of an address; of one that ends in a slash, all but the last."""
        directories, name, _ = self._parts
        return directories if name else directories[:-1]

    @property
    def ending(self) -> str:
        """``.html``, ``/`` or nothing."""
        directories, name, ending = self._parts
        return ending if name or not directories else "/"

    @cached_property
    def name(self) -> str:
        """The last part of the path, without its ending."""
        directories, name, ending = self._parts
        return name.removesuffix(ending) if name else directories[-1] if directories else ""

    @cached_property
    def tokens(self) -> list[str]:
        """The words and numbers of the name, any number as ``0``."""
        return ["0" if token.isdigit() else token for token in _TOKEN.findall(self.name.lower())]

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the query's parameters."""
        query = urlsplit(self.identity).query
        return [name for name, _ in parse_qsl(query, keep_blank_values=True)]

    @cached_property
    def is_index(self) -> bool:
        """Whether it is the first page of a directory, or of the site."""
        return not self.name or _INDEX.fullmatch(self.name) is not None


def is_kin(key: Pattern, other: Pattern) -> bool:
    """Whether the page at an address is of the key page's kind, by all that the address tells."""
    if key.parameters != other.parameters or key.ending != other.ending:
        return False
    if not _same_directories(key.directories, other.directories) or key.is_index != other.is_index:
        return False
    if "0" in key.tokens and "0" not in key.tokens[:1]:  # part-12: a series, and so is its kin
        return key.tokens == other.tokens
    return _alike_names(key, other) >= 0.5


def sibling_score(key: Pattern, other: Pattern) -> float:
    """How likely two addresses are those of pages of one kind: the higher the likelier."""
    score = 0.0
    if _same_directories(key.directories, other.directories):
        score += 2 if key.directories == other.directories else 1.75
    elif len(key.directories) == len(other.directories):
        same = sum(map(_alike, key.directories, other.directories))
        score += 0.5 + same / len(key.directories)
    score += 0.5 * (key.ending == other.ending) - 1.5 * (key.parameters != other.parameters)
    score -= key.is_index != other.is_index
    return score + _alike_names(key, other)


def _same_directories(ours: list[str], theirs: list[str]) -> bool:
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(one: str, other: str) -> bool:
    return one == other or (one.isdigit() and other.isdigit() and len(one) == len(other))


def _alike_names(key: Pattern, other: Pattern) -> float:
    """From 0 to 1: a series (part-1, part-2), or names of about as many words."""
    ours, theirs = key.tokens, other.tokens
    if not ours or not theirs:
        return float(ours == theirs)
    if ours == theirs:
        return 1.0
    same = len(set(ours) & set(theirs)) / len(set(ours) | set(theirs))
    length = min(len(ours), len(theirs)) / max(len(ours), len(theirs))
    return max(same, 0.75 * length)


class Siblings:
    """The links of all pages read so far, by how likely their pages are of the key page's kind.

    An article may lead to nothing but the index, and the index to all articles: of the links of
    loaded pages, those count that are likely siblings.
    """

    def __init__(self, key: str, links: Sequence[Link]) -> None:
        self._key = Pattern(key)
        self._is_form = other_forms(key)
        self._known = {key}
        self._scores: dict[Address, float] = {}
        for link in links:
            self._add(link, SEQUENCE * in_sequence(link))

    def read(self, page: Page) -> None:
        """Take in the links of a loaded page: they are requested as they are written there."""
        written = dict(page.written)
        for link in sorted(page.links - self._known):
            self._add(Address(written.get(link, link), link), least=SIBLING)

    def best(self, least: float, is_wanted: Callable[[Address], bool]) -> Address | None:
        """The likeliest wanted link, the first of several; None if all score less than *least*."""
        found = (link for link, score in self._scores.items() if score >= least and is_wanted(link))
        return max(found, key=self._scores.__getitem__, default=None)

    def is_one(self, identity: str) -> bool:
        """Whether the page at an address is likely to be of the key page's kind."""
        return sibling_score(self._key, Pattern(identity)) >= SIBLING

    def _add(self, link: Address, more: float = 0.0, *, least: float = 0.0) -> None:
        self._known.add(link.identity)
        score = sibling_score(self._key, Pattern(link.identity)) + more
        if score >= least and not self._is_form(link.identity):
            self._scores[link] = score


KINDS = "kinds"
OF_ITS_KIND = 2  # pages of the key page's kind to compare it with; the others may be of any
SPARE_LOADS = 2  # beyond the key page and those pages: links may fail


def kinds_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Address]:
    """First as ``guided`` has it; then likely siblings, until there are two; then as ``guided``.

    Where no address is like that of the key page, all are as ``guided`` takes them.
    """
    others = guided_order(links, search)
    link: Address | None = next(others, None)
    siblings = Siblings(search.key_page.identity, links)
    taken: dict[str, bool] = {}  # the links so far, and whether they are likely siblings
    read = 0
    while link:
        taken[link.identity] = siblings.is_one(link.identity)
        yield link
        for visit in search.visits[read:]:
            taken[visit.link.identity] = bool(visit.page and siblings.is_one(visit.page.identity))
            if visit.page:
                siblings.read(visit.page)
        read = len(search.visits)
        link = None
        if sum(taken.values()) < OF_ITS_KIND:
            link = siblings.best(
                SIBLING, lambda each: each.identity not in taken and each.identity not in search
            )
        link = link or next((other for other in others if other.identity not in taken), None)


class KindSearch(SubdigraphSearch):
    """A search for pages to compare the key page with, whether or not they link to each other.

    It has no members, and a budget of its own. No more links are in flight than pages are missing.
    """

    complete_reason = PAGES_FOUND

    def __init__(
        self,
        key_page: Page,
        links: Sequence[Link],
        *,
        size: int = 3,
        max_loads: int = 100,
        **options: Any,
    ) -> None:
        most = 1 + size + SPARE_LOADS
        max_loads = min(max_loads or most, most)
        super().__init__(key_page, links, size=size, max_loads=max_loads, **options)

    @property
    def found(self) -> list[Visit]:
        """The explored pages."""
        return self._pages

    @property
    def complete(self) -> bool:
        """Whether there are as many pages as were asked for."""
        return len(self._pages) == self.size

    @property
    def room(self) -> int:
        """How many links may be in flight."""
        return min(self.in_flight, self.size - len(self._pages))

    def _step(self, page: int) -> None:
        """Nothing is asked of the links between pages."""
