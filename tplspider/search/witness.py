"""The witness: one more page, of the key page's own kind, for what only such pages have in common.

A menu leads to pages of all kinds, so the pages of a complete subdigraph may all be of other kinds
than the key page: what every article has, and no list of articles, would be taken for its own.
Of a loaded page the kind shows in the classes of its elements; before a page is loaded, and where
a site has no classes, there is the pattern of its address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tplspider.web.html import Element, Link
    from tplspider.web.page import Page

NAMES = 8  # so many names in the tree of a page tell its kind ...
SAME_NAMES = 0.8  # ... by the share of them that another page has as well
SEQUENCE = 0.5  # for what is marked as the page before or after
SIBLING = 2.5  # what an address in the same directory and of the same ending scores
LEAST = 1.0  # a link must score as much as an address of the same depth and ending

_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_ENDING = re.compile(r"\.\w{1,5}$")
_SEQUENCE = re.compile(r"\b(?:prev|next|previous|older|newer)", re.IGNORECASE)
_FEED = re.compile(r"atom|feed|print|rss\d?", re.IGNORECASE)
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
    """Whether the page at an address is of the key page's kind, by all that the address tells.

    >>> is_kin(Pattern("http://a.org/2019/05/on-cranes/"), Pattern("http://a.org/2021/11/a-heron/"))
    True
    >>> is_kin(Pattern("http://a.org/2019/05/on-cranes/"), Pattern("http://a.org/tag/birds/"))
    False
    """
    if key.parameters != other.parameters or key.ending != other.ending:
        return False
    if not _same_directories(key.directories, other.directories) or key.is_index != other.is_index:
        return False
    if "0" in key.tokens and "0" not in key.tokens[:1]:  # part-12: a series, and so is its kin
        return key.tokens == other.tokens
    return _alike_names(key, other) >= 0.5


def is_version(key: Pattern, other: Pattern) -> bool:
    """Whether an address is that of the key page in another form: to print, as a feed.

    >>> is_version(Pattern("http://a.org/on-cranes/"), Pattern("http://a.org/on-cranes/?print=1"))
    True
    >>> is_version(Pattern("http://a.org/on-cranes/"), Pattern("http://a.org/on-cranes/feed/"))
    True
    """
    ours, theirs = urlsplit(key.identity), urlsplit(other.identity)
    if _ENDING.sub("", ours.path).rstrip("/") == _ENDING.sub("", theirs.path).rstrip("/"):
        return key.parameters != other.parameters or ours.query == theirs.query
    return _FEED.fullmatch(other.name) is not None


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


def choose_witness(
    key: str, links: Sequence[Link], spent: Iterable[str] = (), further: Iterable[str] = ()
) -> str | None:
    """The address most likely to be that of a page of the key page's kind; None if none is likely.

    *key* is the identity of the key page, *links* are on it, *spent* are the identities of those
    that were taken up already. *further* are those of links that explored pages have: an article
    may lead to nothing but the index, and the index to all articles.
    """
    taken = frozenset(spent)
    pattern = Pattern(key)
    best, most = None, LEAST
    for link in links:
        other = Pattern(link.identity)
        if link.identity not in taken and not is_version(pattern, other):
            score = sibling_score(pattern, other) + SEQUENCE * _in_sequence(link)
            if score > most:
                best, most = link.url, score
    if most >= SIBLING:
        return best
    most = max(most, SIBLING)
    for identity in sorted(frozenset(further) - taken):
        other = Pattern(identity)
        score = sibling_score(pattern, other)
        if score > most and not is_version(pattern, other):
            best, most = identity, score
    return best


def needs_witness(key: Page, explored: Iterable[Page]) -> bool:
    """Whether no explored page is of the key page's kind.

    A page of its kind has an address like its own, and nearly all of its names. An index of whole
    articles has their names as well; an article on the first level has an address like a menu's.
    """
    pattern = Pattern(key.identity)
    enough = SAME_NAMES * len(key.names) if len(key.names) >= NAMES else 0
    return not any(
        len(key.names & page.names) >= enough and is_kin(pattern, Pattern(page.identity))
        for page in explored
    )


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


def _in_sequence(link: Link) -> bool:
    around: list[Element] = [link.element, *list(link.element.iterancestors())[:2]]
    named = (element.get(name) or "" for element in around for name in ("rel", "class", "id"))
    return any(_SEQUENCE.search(name) for name in named)
