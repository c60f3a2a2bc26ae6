"""``SiteTemplates``: the template off every page of a crawl, without one extra load."""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from itertools import takewhile
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tplspider.items import PageTemplate
from tplspider.pools.pool import POOL, PooledPage, Signs, nearest, page_site, signs_of
from tplspider.pools.store import MEGABYTES, PoolCache, PoolStore
from tplspider.template.extract import Companions
from tplspider.template.markdown import check_markdown
from tplspider.web.html import fold, parse_html, visible_texts
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tplspider.template.flat_page import FlatPage
    from tplspider.template.lines import Line

logger = logging.getLogger(__name__)

READY = 15  # pages in a pool: with fewer, those seen first are index pages of another kind
# Copies do not fill a pool. After so many pages for each that is wanted there, there is no use in
# waiting for more.
ENOUGH = 4
HELD = 1000  # pages that wait, of all sites
HELD_MEGABYTES = 256  # of packed pages that wait

COMPANIONS = 3  # pages to compare with: one more brings nothing that can be measured, and costs
SITES = 32  # of which pages are kept ready ...
READY_PAGES = 200  # ... so many in all, some 200 kB each
_MADE_OF = {"main_markdown": "main_html", "content_markdown": "content_html"}
MARKDOWN = frozenset(_MADE_OF)

Entry = TypeVar("Entry")
Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class Released(Generic[Entry]):
    """A page that waits no more: what stands for it, its site, and what to compare it with."""

    entry: Entry
    site: str
    pool: tuple[PooledPage, ...]


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Entry]):
    since: float
    size: int  # bytes of the packed page
    entry: Entry


class SitePools(Generic[Entry]):
    """The pools of all sites, and the pages that wait for them, in order of arrival.

    A page is released when the pool of its site has *ready* pages, with all that wait before it. A
    page that is released early is compared with what is there.

    The pools take *megabytes* of memory; what does not fit is in a temporary file. At most *held*
    pages wait, and packed they take *held_megabytes* at most; one more, and the site with the
    oldest is released.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int = READY,
        megabytes: float = MEGABYTES,
        held: int = HELD,
        held_megabytes: float = inf,
        store: PoolStore | None = None,
    ) -> None:
        self.held = 0  # pages that wait
        self._held_at_most = held
        self._held_bytes_at_most = held_megabytes * 1_000_000
        self._held_bytes = 0
        self._ready = ready
        self._pools = PoolCache(most=pool, megabytes=megabytes, store=store)
        # By site, in order of arrival; the site with the oldest page comes first.
        self._waiting: dict[str, list[_Waiting[Entry]]] = {}

    def __len__(self) -> int:
        """How many pools are in memory."""
        return len(self._pools)

    def add(self, page: PooledPage, entry: Entry) -> list[Released[Entry]]:
        """Take in a page, *entry* standing for it; gives the pages that are released, in order."""
        site = page_site(page.url)
        known = self._pools.add(site, page)
        found: list[Released[Entry]] = []
        ready = min(self._ready, self._pools.most)
        if len(known.pool) >= ready or known.seen >= ENOUGH * ready:
            found = [*self.give_out(site), Released(entry, site, known.pool.pages)]
        else:
            waiting = _Waiting(monotonic(), len(page.packed), entry)
            self._waiting.setdefault(site, []).append(waiting)
            self.held += 1
            self._held_bytes += waiting.size
        while self.held > self._held_at_most or self._held_bytes > self._held_bytes_at_most:
            found += self.give_out_oldest()
        return found

    def give_out(self, site: str) -> list[Released[Entry]]:
        """Release all waiting pages of a site."""
        if site not in self._waiting:
            return []
        pool = self._pools.pages(site)
        waiting = self._waiting.pop(site)
        self.held -= len(waiting)
        self._held_bytes -= sum(each.size for each in waiting)
        return [Released(each.entry, site, pool) for each in waiting]

    def give_out_older(self, seconds: float) -> list[Released[Entry]]:
        """Release the sites with a page that has waited for longer than so many seconds."""
        end, waiting = monotonic() - seconds, self._waiting
        sites = [*takewhile(lambda site: waiting[site][0].since <= end, waiting)]
        return [released for site in sites for released in self.give_out(site)]

    def give_out_oldest(self) -> list[Released[Entry]]:
        """Release the site with the page that has waited longest."""
        return self.give_out(next(iter(self._waiting))) if self._waiting else []

    def flush(self) -> list[Released[Entry]]:
        """Release all waiting pages, site by site. Pages that are added may wait again."""
        return [released for site in [*self._waiting] for released in self.give_out(site)]

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        self._pools.save()


class TooLargeError(ValueError):
    """A page has so many elements or attributes that it is not read."""


class Stripper:
    """Gives pages without their templates; it may be used by one thread at a time."""

    def __init__(self, *, companions: int = COMPANIONS) -> None:
        self.companions = companions
        self._sites: OrderedDict[str, _Site] = OrderedDict()  # the last met comes last

    def strip(
        self,
        site: str,
        page: PooledPage,
        pool: Sequence[PooledPage],
        *,
        wanted: frozenset[str] | None = None,
        seconds: float | None = None,
    ) -> PageTemplate:
        """The page without its template, by the pages of the pool that are nearest to it.

        *wanted* are the fields that are to be filled; without it, all but Markdown. Where the pool
        tells nothing, ``evidence`` is 0 and all of the page is its own. Raises TimeoutError when it
        takes longer than *seconds*, and TooLargeError for a page that is not read at all.
        """
        if page.is_too_large:
            raise TooLargeError("it has too many elements or attributes")
        known = self._site(site)

        def choose(flat: FlatPage, lines: Sequence[Line]) -> list[PooledPage]:
            return known.nearest(page, signs_of(flat, lines, page.identity), pool)

        markdown = MARKDOWN & (wanted or frozenset())
        if wanted is not None:
            wanted |= {_MADE_OF[name] for name in markdown}
        found = known.companions.extract(
            page, choose, wanted=wanted, seconds=seconds, most=self.companions
        )
        if markdown:
            from tplspider.template.markdown import base_address, to_markdown

            base = base_address(page.html, page.url)
            for name in markdown:
                setattr(found, name, to_markdown(getattr(found, _MADE_OF[name]), base))
        return found

    def _site(self, name: str) -> _Site:
        known = self._sites.get(name)
        if known is None:
            known = self._sites[name] = _Site()
            if len(self._sites) > SITES:
                self._sites.popitem(last=False)
            for each in self._sites.values():
                each.companions.most = READY_PAGES // len(self._sites)
        self._sites.move_to_end(name)
        return known


class _Site:
    """What is kept ready of a site: pages, and the signs of those in its pool."""

    def __init__(self) -> None:
        self.companions = Companions(READY_PAGES)
        self._signs: dict[PooledPage, Signs] = {}

    def nearest(
        self, page: PooledPage, signs: Signs, pool: Sequence[PooledPage]
    ) -> list[PooledPage]:
        """The pages of the pool, the nearest to a page first."""
        same = next((one for one in pool if one.place == page.place and one == page), None)
        if same is not None and same.packed_signs is None:
            same.packed_signs = signs.packed()
        if [*self._signs] != [*pool]:
            before = self._signs
            self._signs = {each: before.get(each) or each.signs() for each in pool}
        return nearest(signs, self._signs)


@dataclass(frozen=True, slots=True)
class StrippedPage(Generic[Token]):
    """A page without its template, and what it was added with."""

    template: PageTemplate
    token: Token


class SiteTemplates(Generic[Token]):
    """Takes the pages of a crawl, of one site or of many, and gives them without their templates.

    Each page is compared with the few nearest of the pool of its site. The first pages of a site
    are buffered until its pool is ready; pages of one site are released in the order in which
    they were added, each exactly once. ``flush`` releases the rest, and saves the pools.

    The pool is the same in any order of pages (see
    :class:`~tplspider.pools.pool.Pool`). What a page is compared with depends on which pages of its
    site were added before it was released, and on nothing else: not on time, nor on other sites,
    as long as there is room for the buffered pages.

    One thread at a time may use it. Processes, and threads, that share the work on one site do not
    share its pool: give all pages of a site to one of them. A *store*, a
    :class:`~tplspider.pools.store.PoolFolder` or what loads and saves pools like it, may be shared.

    | argument | meaning |
    |---|---|
    | pool, ready | how many pages a pool has at most, and with how many it is ready |
    | companions | how many pages a page is compared with |
    | megabytes | the bound of pools in memory; the others are in a temporary file |
    | held, held_megabytes | the limits of buffered pages, in number and packed |
    | seconds | a page that takes longer is released as if there were no evidence |
    | wanted | the fields of PageTemplate that are needed (default: all but Markdown) |
    | store | where pools are kept from one crawl to the next |

    Raises MarkdownMissingError if Markdown is wanted and cannot be made, and ValueError if another
    argument is invalid.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int | None = None,
        companions: int = COMPANIONS,
        megabytes: float = MEGABYTES,
        held: int = HELD,
        held_megabytes: float = HELD_MEGABYTES,
        seconds: float | None = None,
        wanted: Iterable[str] | None = None,
        store: PoolStore | None = None,
    ) -> None:
        self._wanted = None if wanted is None else frozenset(wanted)
        unknown = (self._wanted or frozenset()) - {each.name for each in fields(PageTemplate)}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"wanted: a list of fields is expected; PageTemplate has no {names}")
        if MARKDOWN & (self._wanted or frozenset()):
            check_markdown()
        if store is not None and not isinstance(store, PoolStore):
            raise ValueError(f"store={store!r:.80}: expected a PoolFolder, or what loads and saves")
        ready = min(READY, pool) if ready is None else ready
        given = {
            "pool": pool,
            "ready": ready,
            "companions": companions,
            "seconds": seconds,
            "megabytes": megabytes,
            "held_megabytes": held_megabytes,
        }
        for name, value in given.items():
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value!r}: expected a number above 0")
        if held < 0:
            raise ValueError(f"held={held!r}: expected 0 or more")
        if ready > pool:
            raise ValueError(f"ready={ready!r}: more than the {pool!r} pages of a pool")
        self._pools: SitePools[tuple[PooledPage, Token]] = SitePools(
            pool=pool,
            ready=ready,
            megabytes=megabytes,
            held=held,
            held_megabytes=held_megabytes,
            store=store,
        )
        self._seconds = seconds
        self._stripper = Stripper(companions=companions)

    @property
    def held(self) -> int:
        """How many pages are buffered."""
        return self._pools.held

    @overload
    def add(self: SiteTemplates[None], url: str, html: str) -> list[StrippedPage[None]]: ...

    @overload
    def add(self, url: str, html: str, token: Token) -> list[StrippedPage[Token]]: ...

    def add(self, url: str, html: str, token: Any = None) -> list[StrippedPage[Any]]:
        """Add a page; returns the pages that it releases, the oldest of each site first.

        *url* is where redirects ended. The *token*, any object, comes back with the page.
        """
        page = PooledPage.of(url, html)
        return [self._stripped(each) for each in self._pools.add(page, (page, token))]

    def flush(self) -> Iterator[StrippedPage[Token]]:
        """Release all buffered pages, with what evidence there is; save the pools.

        Pages are stripped as they are asked for: iterate over all of it.
        """
        self._pools.save()
        # A site at a time: the pools of all may be too much for memory.
        sites = iter(self._pools.give_out_oldest, [])
        return (self._stripped(each) for pages in sites for each in pages)

    def _stripped(self, released: Released[tuple[PooledPage, Token]]) -> StrippedPage[Token]:
        page, token = released.entry
        return StrippedPage(self._template(released.site, page, released.pool), token)

    def _template(self, site: str, page: PooledPage, pool: tuple[PooledPage, ...]) -> PageTemplate:
        try:
            return self._stripper.strip(
                site, page, pool, wanted=self._wanted, seconds=self._seconds
            )
        except TooLargeError as error:
            logger.warning("%s cannot be read, its texts are empty: %s", page.url, error)
        except TimeoutError as error:
            logger.warning("No template for %s: %s", storable(page.url), error)
            # All visible text, which takes little time.
            text = "\n".join(filter(None, map(fold, visible_texts(parse_html(page.html)))))
            return PageTemplate(page.url, [], "", "", text, [], 0.0, main_text=text)
        except ValueError as error:  # of an address that cannot be parsed
            logger.warning("No template for %s: %s", storable(page.url), error)
            with suppress(ValueError):
                return self._stripper.strip(site, page, (), wanted=self._wanted)
        return PageTemplate(page.url, [], "", "", "", [], 0.0)


# In a worker process, ``strip`` stands in the place of an extractor (see tplspider.extraction): the
# job is the key page, and the pages are those of its pool.

STRIP = f"{__name__}.strip"


@dataclass(frozen=True, slots=True)
class StripJob:
    """Strip a page of a site, and fill the fields that are wanted."""

    page: PooledPage
    site: str
    wanted: frozenset[str]

    @property
    def url(self) -> str:
        return self.page.url


def strip(key: StripJob, pages: Sequence[PooledPage]) -> PageTemplate:
    """The page without its template."""
    return _stripper().strip(key.site, key.page, pages, wanted=key.wanted)


@cache
def _stripper() -> Stripper:
    return Stripper()
