"""What a link can give: a page, a redirect that need not be followed, or no page for a reason.

The reasons are what users read in summaries and stats, and they are named here alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tplspider.web.addresses import Address, identity
from tplspider.web.page import Page

BAD_RESPONSE = "bad-response"  # broken HTTP or encoding, redirect loops, empty bodies
CONNECTION = "connection"
DNS = "dns"
ERROR = "error"  # a fault of ours, or of somebody's middleware
NOT_ARCHIVED = "not-archived"  # a source without a network has nothing of it
NOT_HTML = "not-html"
OFFSITE_REDIRECT = "offsite-redirect"
PRIVATE_ADDRESS = "private-address"
ROBOTS = "robots"
TIMEOUT = "timeout"
TOO_LARGE = "too-large"
TOO_LONG = "too-long"  # the address

# Of key pages alone.
BAD_INPUT = "bad-input"  # a line of a list that is out of form
CRASHED = "crashed"  # a line of a list that was searched whenever the process died
NO_LINKS = "no-links"
NOT_LOADED = "not-loaded"


@dataclass(frozen=True, slots=True)
class Redirect(Address):
    """A link leads to this address, whose page is known or under way."""


@dataclass(frozen=True, slots=True)
class NoPage:
    """Why there is no page. *detail* is for the person who asked for it."""

    reason: str
    detail: str = ""


Answer = Page | Redirect | NoPage


def redirect_to(url: str) -> Redirect:
    """The redirect to an address; its fragment plays no part."""
    url = url.partition("#")[0]
    return Redirect(url, identity(url))


def status_reason(status: int) -> str:
    """The reason for an HTTP status that does not come with a page."""
    return f"http-{status}" if 100 <= status <= 999 else BAD_RESPONSE
