"""The items of a search.

Their repr is one short line, because Scrapy logs every item at DEBUG.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, TypedDict

_SHORT = Repr()
_SHORT.maxstring = 72


class ExploredLink(TypedDict):
    """A link that was taken up, and its outcome."""

    rank: int
    link: str
    url: str
    outcome: str
    reason: str
    missing: list[list[int]]
    title: str
    anchor_text: str
    dom_path: str
    h_distance: int
    similarity: float | None  # None if it gave no page of its own
    links_to: list[int]  # ranks of explored pages; 0 for the key page


class WitnessLink(TypedDict):
    """A page that was loaded for the text only, and its outcome."""

    link: str
    url: str
    outcome: str
    reason: str


@dataclass
class TemplateCandidate:
    """A page of the complete subdigraph: it very likely shares the key page's template."""

    key_url: str
    url: str
    link: str
    rank: int
    h_distance: int
    anchor_text: str
    dom_path: str
    title: str
    requested_size: int
    cs_size: int
    complete: bool
    loads: int
    similarity: float
    search_id: str = ""
    requested_url: str = ""

    def __repr__(self) -> str:
        return _show(self, "rank", "url", "title", "key_url", "cs_size")


@dataclass
class CandidateSearch:
    """The summary of the search from one key page. There is always one."""

    key_url: str
    requested_size: int
    cs_size: int
    complete: bool
    reason: str
    key_outcome: str
    loads: int
    links: int
    candidates: list[str] = field(default_factory=list)
    explored: list[ExploredLink] = field(default_factory=list)
    bounded: bool = False
    wasted: int = 0
    hint: str = ""
    similarity: float | None = None  # the lowest of the candidates; None without any
    search_id: str = ""
    requested_url: str = ""
    witnesses: list[WitnessLink] = field(default_factory=list)
    witness_loads: int = 0
    line: int | None = None  # of a list of key pages
    input: dict[str, Any] | None = None  # the user's columns of that line
    shared: int = 0
    key_title: str = ""
    not_archived: int = 0  # links that the archive has no record of
    method: str = "search"  # or "pool": where the template comes from

    def __repr__(self) -> str:
        names = ("key_url", "reason", "key_outcome", "cs_size", "requested_size", "loads", "links")
        return _show(self, *names)


@dataclass
class PageTemplate:
    """The template of a key page, and what is left of the page without it."""

    key_url: str
    candidates: list[str]
    template_html: str
    content_html: str
    content_text: str
    not_template: list[str]
    template_share: float
    search_id: str = ""
    requested_url: str = ""
    evidence: int = 0
    main_text: str = ""
    main_html: str = ""
    title: str = ""
    key_html: str = ""  # for a report: the key page without scripts, images and the like
    main_markdown: str = ""  # of main_html and content_html, if requested
    content_markdown: str = ""
    method: str = "search"  # or "pool"

    def __repr__(self) -> str:
        return _show(self, "key_url", "template_share", "content_text")


class TextRow(dict[str, Any]):
    """A row of the table of texts for a list: the user's columns, then ours."""

    search_id: str = ""


class StrippedRow(dict[str, Any]):
    """A row for a file of a folder, or for a page of an archive."""

    search_id: str = ""


OURS = (TemplateCandidate, CandidateSearch, PageTemplate, TextRow, StrippedRow)


def _show(item: object, *names: str) -> str:
    """The fields *names* of an item; texts from the web are cut and escaped."""
    shown = ", ".join(f"{name}={_SHORT.repr(getattr(item, name))}" for name in names)
    return f"{type(item).__name__}({shown})"
