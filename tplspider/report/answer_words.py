"""The answer of a search in plain words: what was found, how sure it is, what it cost.

Whoever reads it does not know the method, and no two of its sentences contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.report.outcome_words import key_page_advice, reason_words
from tplspider.report.shown_text import harmless, short
from tplspider.search.answer import EMPTY_ANSWER, NO_EVIDENCE, counted
from tplspider.search.cliques import (
    CANCELLED,
    COMPLETE,
    KEY_PAGE_UNUSABLE,
    LINKS_EXHAUSTED,
    MAX_LOADS,
    MAX_SECONDS,
    POOL,
)
from tplspider.web.page import NO_LINKS, NOT_LOADED, PRIVATE_ADDRESS, ROBOTS, TOO_LONG
from tplspider.web.similarity import LOW_SIMILARITY

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch

_HIGH_SIMILARITY = 0.5
_SURE, _FAIRLY, _DOUBTFUL, _NOT_SURE = "quite sure", "fairly sure", "doubtful", "not sure"
_LIKELY = {_SURE: "very likely", _FAIRLY: "probably"}
_SHUTDOWN = "shutdown"  # Scrapy's word for Ctrl-C and signals
_ENDS = {
    LINKS_EXHAUSTED: "all links of the key page were tried",
    MAX_LOADS: "the budget of page loads is spent",
    MAX_SECONDS: "the time is up",
    CANCELLED: "the search was cancelled",
    _SHUTDOWN: "it was stopped from outside before its end",
}
# A smaller n would not help: whatever it could find is the answer already.
_TRY = {
    MAX_LOADS: "Try a larger -a max_loads.",
    MAX_SECONDS: "Try a larger -a max_seconds.",
}
_NEVER_ASKED = (NOT_LOADED, PRIVATE_ADDRESS, TOO_LONG)
_AGAIN = "Run the search again, and let it come to its end."
_BOUNDED = "A step of the search gave up: there may be a larger answer."
_WHY_LINKS = (
    "Pages that all link to each other mostly have the same template: the same menus, headers and"
    " footers around their own text."
)


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """What a person reads first. Texts that are empty have nothing to tell."""

    headline: str
    found: str
    sure: str
    cost: str
    why: str  # it is not complete
    know: tuple[str, ...]
    attempts: tuple[str, ...]  # what to try: nothing that cannot help


def answer_words(summary: CandidateSearch) -> AnswerWords:
    """The answer of a search in words."""
    is_usable = summary.key_outcome == "ok"
    return AnswerWords(
        headline=_headline(summary),
        found=_found(summary) if is_usable else "",
        sure=_sure(summary),
        cost=_cost(summary),
        why=_why(summary),
        know=_know(summary),
        attempts=() if summary.complete or by_pool(summary) else (_attempt(summary),),
    )


def by_pool(summary: CandidateSearch) -> bool:
    """Whether a saved pool has told what a search was to find out."""
    return summary.key_outcome == "ok" and summary.reason == POOL


def _headline(summary: CandidateSearch) -> str:
    size, wanted = summary.cs_size, summary.requested_size
    if summary.key_outcome == NOT_LOADED:
        return "The key page was not loaded"
    if summary.key_outcome != "ok":
        return "The key page cannot be used"
    if by_pool(summary):
        return "The page was compared with pages of its site that were saved before"
    if not size:
        early = {CANCELLED: "Cancelled", _SHUTDOWN: "Stopped"}.get(summary.reason)
        return f"{early} before another page was found" if early else "No other page was found"
    if not summary.complete:
        return f"{counted(size, 'page')} instead of {wanted} {'was' if size == 1 else 'were'} found"
    if size == 1:
        return "1 page was found, which may share the template of the key page"
    if likely := _LIKELY.get(_degree(summary)):
        return f"{size} pages {likely} share the template of the key page"
    return f"{size} pages were found, which may have another template than the key page"


def _found(summary: CandidateSearch) -> str:
    site = short(urlsplit(summary.key_url).netloc if "//" in summary.key_url else "", 60)
    if by_pool(summary):
        of = f" of {site}" if site else ""
        return f"The pages{of} that are most like it are in a saved pool: no search was needed."
    asked = f"Asked for {counted(summary.requested_size, 'page')}"
    asked += f" of {site}" if site else ""
    together = " that all link to each other" if summary.requested_size > 1 else ""
    tried = f"{len(summary.explored)} of {counted(summary.links, 'link')}"
    text = f"{asked}{together}; {tried} on the key page {'was' if summary.links == 1 else 'were'}"
    return f"{text} tried." + (f" {_WHY_LINKS}" if summary.requested_size > 1 else "")


def _degree(summary: CandidateSearch) -> str:
    """How sure it is that the pages found have the template of the key page."""
    value = summary.similarity or 0
    if summary.cs_size == 1 or NO_EVIDENCE in summary.hint:
        return _NOT_SURE
    if value < LOW_SIMILARITY:
        return _DOUBTFUL
    return _SURE if value >= _HIGH_SIMILARITY else _FAIRLY


def _sure(summary: CandidateSearch) -> str:
    if summary.similarity is None:
        return ""
    which = "there is one page only, which" if summary.cs_size == 1 else "the least similar of them"
    share = float(f"{summary.similarity:.2f}")  # as it is told elsewhere
    return f"{_degree(summary)}: {which} has {share:.0%} of the key page's structure"


def _cost(summary: CandidateSearch) -> str:
    if not summary.loads or summary.key_outcome in _NEVER_ASKED:
        return "nothing was loaded"
    if summary.key_outcome == ROBOTS:
        return "no page was loaded: only robots.txt was asked for"
    if summary.key_outcome not in ("ok", NO_LINKS):
        return "one request was made, for the key page: it gave no page that can be used"
    text = counted(summary.loads, "page load")
    if summary.complete:
        least = summary.requested_size + 1
        text += f", where {least} is the least possible (the key page and each page wanted)"
    if summary.witness_loads:
        text += f"; {summary.witness_loads} more for the template"
    if summary.wasted:
        text += f"; {summary.wasted} loaded ahead in vain"
    return text


def _why(summary: CandidateSearch) -> str:
    if summary.hint == EMPTY_ANSWER:
        return EMPTY_ANSWER
    if by_pool(summary):
        return ""
    if summary.reason in (COMPLETE, KEY_PAGE_UNUSABLE) or summary.complete:
        return "" if summary.key_outcome == "ok" else reason_words(summary.key_outcome)
    if summary.key_outcome not in ("ok", NOT_LOADED):
        return reason_words(summary.key_outcome)
    return _ENDS.get(summary.reason, f"the crawl was ended ({short(summary.reason)})")


def _know(summary: CandidateSearch) -> tuple[str, ...]:
    hint = harmless(summary.hint)[:2000] if summary.hint != EMPTY_ANSWER else ""
    hint = hint[:1].upper() + hint[1:]
    return tuple(filter(None, (hint, _BOUNDED if summary.bounded else "")))


def _attempt(summary: CandidateSearch) -> str:
    if summary.key_outcome != "ok":
        return key_page_advice(summary.key_outcome)
    if summary.reason == LINKS_EXHAUSTED:
        use = f"Use the {summary.cs_size} pages found, or try" if summary.cs_size > 1 else "Try"
        return f"{use} another page of the site as the key page, one that links to more pages."
    return _TRY.get(summary.reason, _AGAIN)
