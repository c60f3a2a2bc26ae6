"""The answer of a search in plain words: what was found, how sure it is, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.report.shown_text import harmless, short
from tplspider.search.ends import (
    CANCELLED,
    COMPLETE,
    KEY_PAGE_UNUSABLE,
    LINKS_EXHAUSTED,
    MAX_LOADS,
    MAX_SECONDS,
)
from tplspider.search.wording import counted
from tplspider.web.answers import (
    BAD_INPUT,
    BAD_RESPONSE,
    CONNECTION,
    CRASHED,
    DNS,
    ERROR,
    NO_LINKS,
    NOT_HTML,
    NOT_LOADED,
    OFFSITE_REDIRECT,
    PRIVATE_ADDRESS,
    ROBOTS,
    TIMEOUT,
    TOO_LARGE,
    TOO_LONG,
)
from tplspider.web.similarity import LOW_SIMILARITY

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch

_HIGH_SIMILARITY = 0.5
_ENDS = {
    LINKS_EXHAUSTED: "all links of the key page were tried",
    MAX_LOADS: "the budget of page loads is spent",
    MAX_SECONDS: "the time is up",
    CANCELLED: "a program has ended the search",
}
_TRY = {
    LINKS_EXHAUSTED: "Try fewer pages (-a n=2), or another page of the site as the key page.",
    MAX_LOADS: "Try a larger -a max_loads, or the order -a strategy=guided.",
    MAX_SECONDS: "Try a larger -a max_seconds.",
}
# Of key pages, and of links that gave no page.
REASONS = {
    BAD_INPUT: "the line of the list is out of form",
    BAD_RESPONSE: "the answer cannot be read",
    CONNECTION: "the connection failed",
    CRASHED: "the crawl died whenever it was searched",
    DNS: "there is no such host",
    ERROR: "reading it failed",
    NO_LINKS: "it has no links to other pages of its site",
    NOT_HTML: "it is not HTML",
    NOT_LOADED: "it was not loaded before the end",
    OFFSITE_REDIRECT: "it redirects to another site",
    PRIVATE_ADDRESS: "its address is private",
    ROBOTS: "robots.txt forbids it",
    TIMEOUT: "it took too long",
    TOO_LARGE: "it is too large",
    TOO_LONG: "its address is too long",
    "key-page": "it is the key page",
}


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """What a person reads first. Texts that are empty have nothing to tell."""

    headline: str
    found: str
    sure: str
    cost: str
    why: str  # it is not complete
    attempts: tuple[str, ...]  # what to try, or to know


def answer_words(summary: CandidateSearch) -> AnswerWords:
    """The answer of a search in words."""
    wanted, found = counted(summary.requested_size, "page"), counted(summary.cs_size, "page")
    site = short(urlsplit(summary.key_url).netloc if "//" in summary.key_url else "", 60)
    if summary.key_outcome != "ok":
        headline, told = "The key page cannot be used", ""
    elif summary.complete:
        share = "shares" if summary.cs_size == 1 else "share"
        headline = f"{found} very likely {share} the template of the key page"
        told = _found(summary, site)
    elif summary.cs_size > 1:
        headline = f"{found} instead of {summary.requested_size} were found"
        told = _found(summary, site)
    else:
        headline = f"No {wanted} that link to each other were found"
        told = _found(summary, site)
    return AnswerWords(
        headline=headline,
        found=told,
        sure=_sure(summary),
        cost=_cost(summary),
        why=_why(summary),
        attempts=_attempts(summary),
    )


def reason_words(reason: str) -> str:
    """Why a link or a key page gave no page of its own, in plain words."""
    if reason in REASONS:
        return REASONS[reason]
    if reason.startswith("http-"):
        return f"the server answered with status {short(reason[5:], 10)}"
    if reason.startswith("duplicate-of "):
        return "it is the same page as another one"
    return short(reason)


def _found(summary: CandidateSearch, site: str) -> str:
    asked = f"Asked for {counted(summary.requested_size, 'page')}"
    asked += f" of {site}" if site else ""
    tried = counted(len(summary.explored), "link")
    together = " that all link to each other" if summary.requested_size > 1 else ""
    return f"{asked}{together}; {tried} of {summary.links} on the key page tried."


def _sure(summary: CandidateSearch) -> str:
    value = summary.similarity
    if value is None:
        return ""
    if value < LOW_SIMILARITY:
        degree = "doubtful"
    else:
        degree = "quite sure" if value >= _HIGH_SIMILARITY else "fairly sure"
    which = "the page found" if summary.cs_size == 1 else "the least similar of them"
    share = float(f"{value:.2f}")  # as it is told elsewhere
    return f"{degree}: {which} has {share:.0%} of the key page's structure"


def _cost(summary: CandidateSearch) -> str:
    if not summary.loads:
        return "nothing was loaded"
    least = summary.requested_size + 1
    text = f"{counted(summary.loads, 'page')} loaded"
    if summary.key_outcome == "ok":
        text += f", where {least} is the least possible (the key page and the pages wanted)"
    if summary.witness_loads:
        text += f"; {summary.witness_loads} more for the template"
    if summary.wasted:
        text += f"; {summary.wasted} loaded ahead in vain"
    return text


def _why(summary: CandidateSearch) -> str:
    if summary.reason in (COMPLETE, KEY_PAGE_UNUSABLE) or summary.complete:
        return "" if summary.key_outcome == "ok" else reason_words(summary.key_outcome)
    if summary.key_outcome not in ("ok", NOT_LOADED):
        return reason_words(summary.key_outcome)
    return _ENDS.get(summary.reason, f"the crawl was ended ({short(summary.reason)})")


def _attempts(summary: CandidateSearch) -> tuple[str, ...]:
    hint = harmless(summary.hint)[:2000]
    hint = hint[:1].upper() + hint[1:]
    more = "" if summary.complete else _TRY.get(summary.reason, "")
    bounded = "A step of the search gave up: there may be a larger answer."
    return tuple(filter(None, (hint, more, bounded if summary.bounded else "")))
