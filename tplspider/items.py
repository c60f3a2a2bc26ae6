"""The items that a search gives.

Scrapy logs every item at DEBUG: what is long is left out of their ``repr``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict


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
    link: str = field(repr=False)
    rank: int
    h_distance: int
    anchor_text: str = field(repr=False)
    dom_path: str = field(repr=False)
    title: str
    requested_size: int
    cs_size: int
    complete: bool
    loads: int
    similarity: float
    search_id: str = field(default="", repr=False)
    requested_url: str = field(default="", repr=False)


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
    candidates: list[str] = field(default_factory=list, repr=False)
    explored: list[ExploredLink] = field(default_factory=list, repr=False)
    bounded: bool = False
    wasted: int = 0
    hint: str = field(default="", repr=False)
    similarity: float | None = None  # the lowest of the candidates; None without any
    search_id: str = ""
    requested_url: str = ""
    witnesses: list[WitnessLink] = field(default_factory=list, repr=False)
    witness_loads: int = 0
    line: int | None = None  # of a list of key pages
    input: dict[str, Any] | None = field(default=None, repr=False)  # the user's columns
    shared: int = 0
    key_title: str = ""
    not_archived: int = 0  # links that the archive has no record of
    method: str = "search"  # or "pool": where the template comes from


@dataclass
class PageTemplate:
    """The template of a key page, and what is left of the page without it."""

    key_url: str
    candidates: list[str] = field(repr=False)
    template_html: str = field(repr=False)
    content_html: str = field(repr=False)
    content_text: str = field(repr=False)
    not_template: list[str] = field(repr=False)
    template_share: float
    search_id: str = ""
    requested_url: str = ""
    evidence: int = 0
    main_text: str = field(default="", repr=False)
    main_html: str = field(default="", repr=False)
    title: str = ""
    # For a report: the key page without scripts, images and the like.
    key_html: str = field(default="", repr=False)
    # Of main_html and content_html, if requested.
    main_markdown: str = field(default="", repr=False)
    content_markdown: str = field(default="", repr=False)
    method: str = "search"  # or "pool"


class TextRow(dict[str, Any]):
    """A row of the table of texts for a list: the user's columns, then ours."""

    search_id: str = ""


class StrippedRow(dict[str, Any]):
    """A row for a file of a folder, or for a page of an archive."""

    search_id: str = ""


OURS = (TemplateCandidate, CandidateSearch, PageTemplate, TextRow, StrippedRow)
