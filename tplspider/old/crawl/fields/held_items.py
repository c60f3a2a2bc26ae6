"""The items that are held back: their pages wait until the pools of their sites are ready."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.fields.delivery import ItemPage
from tplspider.old.crawl.responses import web_page
from tplspider.pools.pool import PooledPage, page_site
from tplspider.pools.site_templates import Released, SitePools

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.http import Response

    from tplspider.old.crawl.fields.account import FieldsAccount
    from tplspider.old.crawl.fields.delivery import Delivery
    from tplspider.old.crawl.fields.field_settings import FieldSettings
    from tplspider.old.crawl.fields.page_shelf import PageShelf
    from tplspider.pools.store import PoolStore

_STEP = 1.0  # seconds: how often it is looked for items that have waited long enough, at least


class HeldItems:
    """Takes in items with their pages, and hands them on when they need not wait any more.

    A site is given out when its pool is ready; the one with the oldest page when more than
    TPLSPIDER_HELD_ITEMS are held, or when that page has waited for TPLSPIDER_HELD_SECONDS.
    """

    def __init__(
        self,
        settings: FieldSettings,
        delivery: Delivery,
        shelf: PageShelf,
        account: FieldsAccount,
        store: PoolStore | None,
    ) -> None:
        self.count = 0  # items that are held back
        self.over = False  # items pass at once
        self._settings = settings
        self._delivery = delivery
        self._shelf = shelf
        self._account = account
        # How many pages wait is bounded by their items, here; a page without any is None.
        self._pools: SitePools[ItemPage | None] = SitePools(
            megabytes=settings.pool_mb, held=sys.maxsize, store=store
        )
        self._waiting: dict[str, list[tuple[Any, ItemPage]]] = {}  # by site, in order of arrival
        self._met: set[int] = set()  # sites, by their hashes: there may be very many
        self._watch: asyncio.Task[None] | None = None

    @property
    def sites(self) -> int:
        """How many sites were met."""
        return len(self._met)

    def take(self, item: Any, response: Response) -> ItemPage:
        """Take in the first item of a page, and the page; raises whatever is wrong with it."""
        packed = _packed(response)
        page = ItemPage(packed.url, page_site(packed.url), _without_body(response))
        released = self._add(packed, page)
        page.shelved = self._shelf.put(packed)
        self._hold(item, page)
        self._release(released, page.site)
        self._keep_bounds()
        return page

    def take_more(self, item: Any, page: ItemPage) -> None:
        """Take in one more item of a page."""
        if page.found is not None:
            page.pending.add()
            self._delivery.give(item, page)
        else:
            self._hold(item, page)
            self._keep_bounds()

    def learn(self, response: Response) -> None:
        """Take in a page without items: it tells about others."""
        packed = _packed(response)
        self._release(self._add(packed, None), page_site(packed.url))

    def flush(self) -> None:
        """Give out all that is held back."""
        self._release(self._pools.flush())

    def close(self) -> None:
        """Nothing is held any more."""
        if self._watch:
            self._watch.cancel()

    def save(self) -> None:
        """Save the pools: where others share them, that may have to wait."""
        self._pools.save()

    def _add(self, packed: PooledPage, page: ItemPage | None) -> list[Released[ItemPage | None]]:
        self._met.add(hash(page_site(packed.url)))
        return self._pools.add(packed, page)

    def _hold(self, item: Any, page: ItemPage) -> None:
        page.pending.add()
        self._waiting.setdefault(page.site, []).append((item, page))
        self.count += 1

    def _keep_bounds(self) -> None:
        if self.over or not self._settings.held_seconds:
            self.flush()
        while self.count > self._settings.held_items:
            self._release(self._pools.give_out_oldest(), early=True)
        self._account.held(self.count)
        if self.count and self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._give_out_in_time())

    async def _give_out_in_time(self) -> None:
        longest = self._settings.held_seconds
        step = min(_STEP, longest / 4)
        while self.count:
            await asyncio.sleep(step)
            # One that is older before this looks again would wait too long.
            self._release(self._pools.give_out_older(longest - step), early=True)
        self._watch = None

    def _release(
        self, released: Iterable[Released[ItemPage | None]], site: str = "", *, early: bool = False
    ) -> None:
        """Hand on what waits no more. All that waits of a site is released together.

        Other sites than that of a page that has come are given out for want of room.
        """
        sites: dict[str, None] = {}
        for each in released:
            sites[each.site] = None
            if each.entry is not None:
                self._delivery.compare(each.entry, each.pool)
                for_room = bool(site) and each.site != site
                self._account.count("given_out_early", int(early or for_room))
        for name in sites:
            for item, page in self._waiting.pop(name, ()):
                self.count -= 1
                self._delivery.give(item, page)


def _packed(response: Response) -> PooledPage:
    packed = PooledPage.of(response.url, web_page(response).text)
    if packed.is_too_large:
        raise ValueError("it has more elements or attributes than can be read")
    return packed


def _without_body(response: Response) -> Response | None:
    """The response as those see it who are told of its items: a body is too much to be held."""
    try:
        return response.replace(body=b"")
    except Exception:  # noqa: BLE001 - of a class with a constructor of its own
        return None
