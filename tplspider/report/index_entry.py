"""A row of the index of many reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.report.outcome_words import reason_words
from tplspider.report.shown_text import short, short_address

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch

_MOST = 300  # characters of a hint


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index tells of a search. *page* is its file beside the index, '' for none."""

    search_id: str
    line: int | None
    url: str
    title: str
    answer: str  # complete, partial, or why there is none
    size: str
    similarity: float | None
    loads: int
    hint: str
    page: str


def index_entry(summary: CandidateSearch) -> IndexEntry:
    """The row of a search."""
    if summary.complete:
        answer = "complete"
    else:
        ok = summary.key_outcome == "ok"
        answer = "partial" if ok else reason_words(summary.key_outcome)
    return IndexEntry(
        search_id=summary.search_id,
        line=summary.line,
        url=short_address(summary.requested_url or summary.key_url, 300),
        title=short(summary.key_title),
        answer=answer,
        size=f"{summary.cs_size} of {summary.requested_size}",
        similarity=summary.similarity,
        loads=summary.loads,
        hint=short(summary.hint, _MOST),
        page=page_of(summary.search_id),
    )


def page_of(search_id: str) -> str:
    """The file of a search beside the index; a line that could not be searched has none."""
    return f"{search_id}.html" if search_id else ""
