"""Sources of pages that are not crawled, and the loop that searches them."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tplspider.search.session import SearchLimits, SearchOptions, SearchSession
from tplspider.web.page import (
    BAD_RESPONSE,
    OFFSITE_REDIRECT,
    NoPage,
    Page,
    Redirect,
    WebPage,
    redirect_to,
    status_reason,
)
from tplspider.web.redirects import is_loop, redirect_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class SiteSource(Protocol):
    """The pages of a website, by their addresses: a folder, memory, an archive."""

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """What is at an address. A WebPage may redirect, by its status, its headers or its text."""


class MemorySite:
    """Pages in memory, by their addresses without fragments."""

    def __init__(self, answers: Iterable[WebPage] = ()) -> None:
        self.answers: dict[str, WebPage | Redirect | NoPage] = {page.url: page for page in answers}

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """What is at an address."""
        return self.answers.get(url.partition("#")[0]) or NoPage(status_reason(404))


def search_pages(
    source: SiteSource,
    key_url: str,
    options: SearchOptions | None = None,
    limits: SearchLimits | None = None,
) -> SearchSession:
    """The search from a key page among the pages of *source*, driven to its end."""
    session = SearchSession(key_url, options, limits_of(source, limits))
    drive(session, source)
    return session


def limits_of(source: SiteSource, limits: SearchLimits | None = None) -> SearchLimits:
    """The limits of a search among the pages of *source*, which may have a method ``is_absent``.

    A link to what is absent is free, but not one whose address is too long.
    """
    found = limits or SearchLimits()
    is_absent = getattr(source, "is_absent", None)
    if is_absent is None:
        return found
    longest = found.longest_url or sys.maxsize
    return replace(found, is_absent=lambda url: len(url) <= longest and is_absent(url))


def drive(
    session: SearchSession,
    source: SiteSource,
    keep: Callable[[Page, WebPage], object] = lambda _page, _source: None,
) -> None:
    """Load the links of a session until it ends; *keep* is called with its pages."""
    most = session.limits.max_redirects
    _give(session, keep, None, *_load(source, session.url, most))
    while visits := session.take():
        for visit in visits:
            judge = partial(_judge, session, visit.rank)
            _give(session, keep, visit.rank, *_load(source, visit.link.url, most, judge))


def load_once(source: SiteSource, url: str) -> WebPage | Redirect | NoPage:
    """What is at an address; where it leads, if it redirects by status, header or markup."""
    answer = source.load(url)
    if not isinstance(answer, WebPage | Redirect | NoPage):
        kind = type(answer).__name__
        raise TypeError(f"load({url!r}) gave a {kind}: expected a WebPage, a Redirect or a NoPage")
    try:
        if isinstance(answer, Redirect):
            return redirect_to(answer.url)
        target = redirect_target(answer) if isinstance(answer, WebPage) else None
        return answer if target is None else redirect_to(target)
    except ValueError:  # to nowhere
        return NoPage(OFFSITE_REDIRECT)


def _give(
    session: SearchSession,
    keep: Callable[[Page, WebPage], object],
    rank: int | None,
    url: str,
    answer: WebPage | Redirect | NoPage,
) -> None:
    if isinstance(answer, WebPage):
        if page := session.take_in(rank, answer):
            keep(page, answer)
    else:
        session.tell(rank, answer, url)


def _judge(session: SearchSession, rank: int, target: str) -> NoPage | Redirect | None:
    known = session.judge(rank, target)
    if known is None:
        session.follow(rank, target)
    return known


def _load(
    source: SiteSource,
    url: str,
    max_redirects: int,
    judge: Callable[[str], NoPage | Redirect | None] = lambda _: None,
) -> tuple[str, WebPage | Redirect | NoPage]:
    """What an address gives in the end, and where that was; *judge* may end the way there."""
    passed = []
    while True:
        passed.append(url)
        answer = load_once(source, url)
        if not isinstance(answer, Redirect):
            return url, answer
        if len(passed) > max_redirects or is_loop(answer.url, passed):
            return url, NoPage(BAD_RESPONSE)
        if known := judge(answer.url):
            return url, known
        url = answer.url
