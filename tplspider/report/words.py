"""What reports say: texts from the web as they are shown, and the answer in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

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
from tplspider.search.kinds import KINDS
from tplspider.web.page import (
    BAD_INPUT,
    BAD_RESPONSE,
    CONNECTION,
    CRASHED,
    DNS,
    ERROR,
    NO_LINKS,
    NOT_ARCHIVED,
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


# Texts from the web as they are shown: no character that does harm, and no more than fits.

# Control characters but for tab and line feed, lone surrogates and what is not a character; and
# what turns the direction of a text, which would reach beyond an attribute or a line of a drawing.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
LONGEST_ADDRESS = 2083  # characters of an address that is a link: more than browsers take is a trap


def harmless(text: str) -> str:
    r"""A text without characters that do harm; white space among them is a space.

    >>> harmless("a\x00b\u202ec\nd\re")
    'abc\nd e'
    """
    return _HARMFUL.sub(lambda found: " " if found[0].isspace() else "", text)


def short(text: str, most: int = 120) -> str:
    r"""A text on one line, cut in its end.

    >>> short("one  two\n three four", 13)
    'one two thre…'
    """
    text = " ".join(harmless(text[: 20 * most]).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def short_address(url: str, most: int = 100) -> str:
    """An address cut between two of its words, in its middle: both ends are informative.

    >>> short_address("http://example.org/a/long/way/page.html", 38)
    'http://example.org/…/way/page.html'
    >>> short_address("http://example.org/" + 30 * "x", 24)
    'http://examp…xxxxxxxxxxx'
    """
    url = "".join(harmless(url).split())
    if len(url) <= most:
        return url
    half = most - most // 2 - 1
    start, end = url[: most // 2], url[len(url) - half :]
    whole = re.sub(r"[^/?&=_.+-]+\Z", "", start), re.sub(r"\A[^/?&=_.+-]+", "", end)
    if len(whole[0]) > half // 2 and len(whole[1]) > half // 2:
        start, end = whole
    return f"{start}…{end}"


def breakable(address: str) -> Markup:
    """An address as HTML that is broken between its words, where a line has no room for it.

    >>> str(breakable("a.org/x?y"))
    'a.<wbr>org/<wbr>x?<wbr>y'
    """
    return Markup("<wbr>").join(re.split(r"(?<=[/?&=_.+-])(?=[^/])", address))


def web_link(url: str) -> str:
    """The address if a link may lead there: over http(s), and not too long; '' otherwise.

    >>> web_link("http://example.org/"), web_link("javascript:alert(1)")
    ('http://example.org/', '')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    return url if is_web and len(url) <= LONGEST_ADDRESS and harmless(url) == url else ""


# Why there is no page, in plain words; and for a key page, one thing to try.

# Of key pages, and of links that gave no page.
REASONS = {
    BAD_INPUT: "the line of the list cannot be understood",
    BAD_RESPONSE: "the answer is empty or broken",
    CONNECTION: "the connection failed",
    CRASHED: "the crawl crashed at every attempt",
    DNS: "there is no such host",
    ERROR: "reading it failed",
    NO_LINKS: "it has no links to other pages of its site",
    NOT_ARCHIVED: "it is not archived",
    NOT_HTML: "it is not HTML",
    NOT_LOADED: "the search ended before it was loaded",
    OFFSITE_REDIRECT: "it redirects to another site",
    PRIVATE_ADDRESS: "its address is private",
    ROBOTS: "robots.txt forbids it",
    TIMEOUT: "it took too long",
    TOO_LARGE: "it is too large",
    TOO_LONG: "its address is too long",
    "key-page": "it is the key page",
}
_ANOTHER = "choose another page of the site as the key page."
_LOOK = f"Open the address in a browser: if it shows nothing either, {_ANOTHER}"
# What may help where the key page is to blame.
_KEY_ADVICE = {
    BAD_INPUT: "Correct this line, and search it again.",
    BAD_RESPONSE: _LOOK,
    CONNECTION: "Check the address (scheme, host, port), or try again later.",
    CRASHED: f"Search it alone with more memory, or {_ANOTHER}",
    DNS: "Check how the name of the host is spelled.",
    ERROR: f"See the error in the log, or {_ANOTHER}",
    NO_LINKS: "Choose a key page that links to other pages, such as the front page.",
    NOT_ARCHIVED: f"Look for its address in other files of the archive, or {_ANOTHER}",
    NOT_HTML: "Choose an HTML page with a menu as the key page.",
    NOT_LOADED: "Run the search again, and let it finish.",
    OFFSITE_REDIRECT: "Give the address that it redirects to.",
    PRIVATE_ADDRESS: f"Give the public address of the page, or {_ANOTHER}",
    ROBOTS: f"Ask the owners of the site to allow this crawler, or {_ANOTHER}",
    TIMEOUT: "Try again later, or with a larger -s DOWNLOAD_TIMEOUT (seconds).",
    TOO_LARGE: "Choose a smaller page as the key page.",
    TOO_LONG: "Give a shorter address of the same page, if it has one.",
}
_STATUS_ADVICE = {
    "401": "The page needs a login: choose a public one.",
    "403": "The server refuses this crawler: ask the owners of the site, or choose another page.",
    "404": "Check the address: the server has no such page.",
    "410": "Check the address: the page was removed.",
    "429": "The server asks to slow down: try again later, with a larger -s DOWNLOAD_DELAY.",
}
_LATER = "The server has trouble: try again later."


def reason_words(reason: str) -> str:
    """Why a link or a key page gave no page of its own."""
    if reason in REASONS:
        return REASONS[reason]
    if reason.startswith("http-"):
        return f"the server answered with status {short(reason[5:], 10)}"
    if reason.startswith("duplicate-of "):
        return "it is the same page as another one"
    return short(reason)


def key_page_advice(outcome: str) -> str:
    """What to try where a key page cannot be used for this reason."""
    if outcome.startswith("http-"):
        status = outcome[5:]
        return _STATUS_ADVICE.get(status, _LATER if status.startswith("5") else _LOOK)
    return _KEY_ADVICE.get(outcome, _LOOK)


# The answer of a search in plain words: what was found, how sure it is, what it cost.
#
# Readers do not know the method, and no two of its sentences contradict each other.

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
_TRY_GUIDED = "Try -a strategy=guided, which takes more loads."
_NEVER_ASKED = (NOT_LOADED, PRIVATE_ADDRESS, TOO_LONG)
_AGAIN = "Run the search again, and let it finish."
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
    """Whether the template comes from a saved pool, without a search."""
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
    by_links = summary.requested_size > 1 and summary.method != KINDS
    together = " that all link to each other" if by_links else ""
    tried = f"{len(summary.explored)} of {counted(summary.links, 'link')}"
    text = f"{asked}{together}; {tried} on the key page {'was' if summary.links == 1 else 'were'}"
    return f"{text} tried." + (f" {_WHY_LINKS}" if by_links else "")


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
    share = float(f"{summary.similarity:.2f}")  # as it is shown elsewhere
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
        text += f"; {summary.wasted} loaded ahead but not needed"
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
    if summary.method == KINDS and summary.reason == MAX_LOADS:
        return _TRY_GUIDED
    return _TRY.get(summary.reason, _AGAIN)
