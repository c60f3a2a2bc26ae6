"""The items that a search gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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


@dataclass
class CandidateSearch:
    """How the search from one key page went. There is always one, also when nothing was found."""

    key_url: str
    requested_size: int
    cs_size: int
    complete: bool
    reason: str
    key_outcome: str
    loads: int
    links: int
    members: list[str] = field(default_factory=list)
    explored: list[dict[str, Any]] = field(default_factory=list)
    bounded: bool = False
    wasted: int = 0
    hint: str = ""


@dataclass
class PageTemplate:
    """The template of a key page, and what is left of the page without it."""

    key_url: str
    members: list[str]
    template_html: str
    content_html: str
    content_text: str
    not_template: list[str]
    template_share: float
    evidence: int = 0
    main_text: str = ""
    main_html: str = ""
    title: str = ""
