"""Why there is no page, in plain words; and for a key page, one thing to try."""

from __future__ import annotations

from tplspider.report.shown_text import short
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

# Of key pages, and of links that gave no page.
REASONS = {
    BAD_INPUT: "the line of the list cannot be understood",
    BAD_RESPONSE: "the answer is empty or broken",
    CONNECTION: "the connection failed",
    CRASHED: "the crawl died whenever it was searched",
    DNS: "there is no such host",
    ERROR: "reading it failed",
    NO_LINKS: "it has no links to other pages of its site",
    NOT_ARCHIVED: "it is not archived",
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
_ANOTHER = "choose another page of the site as the key page."
_LOOK = f"Open the address in a browser: if there is nothing to read there either, {_ANOTHER}"
# What may help where the key page is to blame.
_KEY_ADVICE = {
    BAD_INPUT: "Correct this line of the list, and search it again.",
    BAD_RESPONSE: _LOOK,
    CONNECTION: "Check the address: its host, its port, and whether it is http or https. If it is"
    " right, the site may be down: try again later.",
    CRASHED: f"Search it alone with more memory, or {_ANOTHER}",
    DNS: "Check how the name of the host is spelled.",
    ERROR: f"The log of the crawl has the error. Meanwhile, {_ANOTHER}",
    NO_LINKS: "Choose a page that links to other pages as the key page: the front page, say.",
    NOT_ARCHIVED: f"Look for its address in other files of the archive, or {_ANOTHER}",
    NOT_HTML: "Choose a page of HTML as the key page, one with a menu: not a document or an image.",
    NOT_LOADED: "Run the search again, and let it come to its end.",
    OFFSITE_REDIRECT: "Give the address that it redirects to: a browser shows which.",
    PRIVATE_ADDRESS: f"Give the public address of the page, or {_ANOTHER}",
    ROBOTS: "Only those who run the site may change its robots.txt: ask them to let this crawler"
    f" in, or {_ANOTHER}",
    TIMEOUT: "Try again later, or with a larger -s DOWNLOAD_TIMEOUT (seconds).",
    TOO_LARGE: f"For a key page of usual size, {_ANOTHER}",
    TOO_LONG: "Give a shorter address of the same page, if it has one.",
}
_STATUS_ADVICE = {
    "401": "The page is for people who have signed in: choose one that anybody may read.",
    "403": "The server refuses this crawler: ask those who run the site, or choose another page.",
    "404": "Check the address: there is no such page, or not any more.",
    "410": "Check the address: the page is there no more.",
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
