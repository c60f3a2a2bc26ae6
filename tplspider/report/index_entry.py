"""A row of the index of many reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.report.answer_words import by_pool
from tplspider.report.outcome_words import reason_words
from tplspider.report.shown_text import short, short_address
from tplspider.search.answer import EMPTY_ANSWER

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch

BY_POOL = "by a saved pool"
_MOST = 300  # characters of a hint


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index tells of a search. *page* is its file beside the index, '' for none."""

    search_id: str
    line: int | None
    url: str
    title: str
    answer: str  # complete, partial, by a saved pool, or why there is none
    size: str
    similarity: float | None
    loads: int
    hint: str
    page: str


def index_entry(summary: CandidateSearch) -> IndexEntry:
    """The row of a search."""
    return IndexEntry(
        search_id=summary.search_id,
        line=summary.line,
        url=short_address(summary.requested_url or summary.key_url, 300),
        title=short(summary.key_title),
        answer=_answer(summary),
        # A line that could not be searched asked for nothing.
        size=f"{summary.cs_size} of {summary.requested_size}"
        if summary.requested_size and not by_pool(summary)
        else "",
        similarity=summary.similarity,
        loads=summary.loads,
        hint=short(summary.hint, _MOST) if summary.hint != EMPTY_ANSWER else "",
        page=page_of(summary.search_id),
    )


def _answer(summary: CandidateSearch) -> str:
    if summary.key_outcome != "ok":
        return EMPTY_ANSWER if summary.hint == EMPTY_ANSWER else reason_words(summary.key_outcome)
    if by_pool(summary):
        return BY_POOL
    if not summary.cs_size:
        return "no other page was found"
    return "complete" if summary.complete else "partial"


def page_of(search_id: str) -> str:
    """The file of a search beside the index; a line that could not be searched has none."""
    return f"{search_id}.html" if search_id else ""
