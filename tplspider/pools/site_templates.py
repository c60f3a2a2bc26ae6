"""``SiteTemplates``: the template off every page of a crawl, without one extra load."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tplspider.items import PageTemplate
from tplspider.pools.kept_pools import MEGABYTES, PoolStore
from tplspider.pools.pool import POOL, PooledPage
from tplspider.pools.pools_aside import FILE_MEGABYTES
from tplspider.pools.site_pools import HELD, READY, Released, SitePools
from tplspider.pools.stripper import COMPANIONS, MARKDOWN, Stripper, TooLargeError
from tplspider.template.markdown import check_markdown
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


logger = logging.getLogger(__name__)

HELD_MEGABYTES = 256  # of packed pages that are held back

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class StrippedPage(Generic[Token]):
    """A page without its template, and what it was added with."""

    template: PageTemplate
    token: Token


class SiteTemplates(Generic[Token]):
    """Takes the pages of a crawl, of one site or of many, and gives them without their templates.

    Each page is compared with the few nearest of the pool of its site. The first pages of a site
    are held back until its pool is ready; pages of one site are given out in the order in which
    they were added, each exactly once. ``flush`` gives out the rest.

    The pool is the same in whatever order pages come (see
    :class:`~tplspider.pools.pool.Pool`). What a page is compared with depends on which pages of its
    site were added before it was given out, and on nothing else: not on time, nor on other sites,
    as long as there is room for all pages that are held back, and on the disk for all pools.

    It may be used by one thread at a time. Processes, and threads, that share the work on one site
    do not share its pool: give all pages of a site to one of them. A process that is forked off
    does not have the pools that are in the file. A *store* may be shared (see
    :class:`~tplspider.pools.pool_folder.PoolFolder`).

    *pool* is how many pages a pool has at most, *ready* with how many it is ready, *companions*
    how many a page is compared with. The pools of all sites take *megabytes* of memory; those of
    sites that were not met lately are in a temporary file, of *file_megabytes* at most. The pages
    that are held back are *held* at most and take *held_megabytes*, packed. A page that takes
    longer than *seconds* is given out as if there were no evidence. *wanted* are the fields of the
    :class:`~tplspider.items.PageTemplate` that are needed: the others may stay empty. Without it,
    all but Markdown are filled. MarkdownMissingError is raised where Markdown is wanted and cannot
    be made, ValueError for all other arguments that will not do.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int | None = None,
        companions: int = COMPANIONS,
        megabytes: float = MEGABYTES,
        file_megabytes: float = FILE_MEGABYTES,
        held: int = HELD,
        held_megabytes: float = HELD_MEGABYTES,
        seconds: float | None = None,
        wanted: Iterable[str] | None = None,
        store: PoolStore | None = None,
    ) -> None:
        if isinstance(wanted, str):
            raise ValueError(f"wanted={wanted!r:.80}: expected some names, [{wanted!r:.80}]")  # noqa: TRY004 - as documented
        self._wanted = None if wanted is None else frozenset(wanted)
        unknown = (self._wanted or frozenset()) - {each.name for each in fields(PageTemplate)}
        if unknown:
            raise ValueError(f"a PageTemplate has no {', '.join(sorted(unknown))}")
        if MARKDOWN & (self._wanted or frozenset()):
            check_markdown()
        if store is not None and not isinstance(store, PoolStore):
            raise ValueError(f"store={store!r:.80}: expected a PoolFolder, or what loads and saves")
        if ready is not None and ready > pool:
            raise ValueError(f"ready={ready!r}: a pool of {pool!r} pages never has so many")
        if not isinstance(companions, int) or companions < 1:
            raise ValueError(f"companions={companions!r}: expected a whole number, 1 or more")
        if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
            raise ValueError(f"seconds={seconds!r}: expected a number of seconds above 0")
        self._pools: SitePools[tuple[PooledPage, Token]] = SitePools(
            pool=pool,
            ready=READY if ready is None else ready,
            megabytes=megabytes,
            file_megabytes=file_megabytes,
            held=held,
            held_megabytes=held_megabytes,
            store=store,
        )
        self._seconds = seconds
        self._stripper = Stripper(companions=companions)
        # Pages on their way out: whatever is raised in between, the next call goes on with them.
        self._leaving: deque[str] = deque()  # sites whose pages wait no more
        self._due: deque[Released[tuple[PooledPage, Token]]] = deque()
        self._done: deque[StrippedPage[Token]] = deque()

    @property
    def held(self) -> int:
        """How many pages are held back."""
        return 0 if self._leaving else self._pools.held

    @overload
    def add(self: SiteTemplates[None], url: str, html: str) -> list[StrippedPage[None]]: ...

    @overload
    def add(self, url: str, html: str, token: Token) -> list[StrippedPage[Token]]: ...

    def add(self, url: str, html: str, token: Any = None) -> list[StrippedPage[Any]]:
        """Add a page; the pages that are given out by that, the oldest of each site first.

        *url* is where redirects ended. The *token*, whatever it is, comes back with the page.
        """
        while self._leaving:
            self._leave()
        page = PooledPage.of(url, html)
        self._due += self._pools.add(page, (page, token))
        while self._due:
            self._strip_next()
        done, self._done = self._done, deque()
        return [*done]

    def flush(self) -> Iterator[StrippedPage[Token]]:
        """Give out all pages that are held back, with what evidence there is; save the pools.

        Pages are stripped as they are asked for; those that are not come with the next call.
        """
        self._leaving += self._pools.waiting
        self._pools.save()
        return self._give_out()

    def _give_out(self) -> Iterator[StrippedPage[Token]]:
        while self._leaving or self._due or self._done:
            if self._done:
                yield self._done.popleft()
            elif self._due:
                self._strip_next()
            else:  # a site at a time: the pools of all may be too much to be in memory
                self._leave()

    def _leave(self) -> None:
        self._due += self._pools.give_out(self._leaving[0])
        self._leaving.popleft()

    def _strip_next(self) -> None:
        each = self._due[0]
        page, token = each.entry
        found = StrippedPage(self._template(each.site, page, each.pool), token)
        self._due.popleft()
        self._done.append(found)

    def _template(self, site: str, page: PooledPage, pool: tuple[PooledPage, ...]) -> PageTemplate:
        try:
            return self._stripper.strip(
                site, page, pool, wanted=self._wanted, seconds=self._seconds
            )
        except TooLargeError as error:
            logger.warning("%s is not read, its texts are empty: %s", page.url, error)
        except (TimeoutError, ValueError) as error:  # of an address that cannot be parsed
            logger.warning("No template for %s: %s", storable(page.url), error)
            with suppress(ValueError):
                return self._stripper.strip(site, page, (), wanted=self._wanted)
        return PageTemplate(page.url, [], "", "", "", [], 0.0)
