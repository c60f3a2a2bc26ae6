"""The pools of the sites in a folder, all of whose pages are known: read when they are needed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from tplspider.pools.pool import POOL, Pool, PooledPage
from tplspider.stripping.plain_file import PlainFileError, file_of
from tplspider.stripping.saved_page import read_saved_page

if TYPE_CHECKING:
    from pathlib import Path

    from tplspider.pools.store import PoolStore
    from tplspider.stripping.addresses import FileAddresses
    from tplspider.stripping.listing import Listed, Listing

_MOST_BYTES = 64_000_000  # of packed pages, in all pools together
_MOST_SITES = 50  # paths are in order, so that the pages of a site mostly come together


def read_listed(folder: Path, listed: Listed, addresses: FileAddresses) -> tuple[PooledPage, int]:
    """A page that was looked at before, as it is now, and its length.

    PlainFileError if it is not a page any more.
    """
    page = read_saved_page(
        file_of(folder, listed.path), listed.path.rpartition(b"/")[2], listed.encoding
    )
    return PooledPage.of(listed.url or addresses.of(listed.path), page.html), len(page.html)


class FolderPools:
    """Gives the pool of a site: what a :class:`Pool` holds once it was given all pages.

    With a *store*, its pages come before those of the folder, and it keeps the pool.
    """

    def __init__(
        self,
        folder: Path,
        listing: Listing,
        addresses: FileAddresses,
        *,
        store: PoolStore | None = None,
        most: int = POOL,
    ) -> None:
        self._folder = folder
        self._listing = listing
        self._addresses = addresses
        self._store = store
        self._most = most
        self._pools: OrderedDict[str, Pool] = OrderedDict()  # the last used comes last
        self._bytes = 0

    async def of(self, site: str) -> tuple[PooledPage, ...]:
        """The pages of the pool of a site; one at a time may ask for them."""
        pool = self._pools.get(site)
        if pool is None:
            pool = self._pools[site] = await self._read(site)
            self._bytes += pool.size
        self._pools.move_to_end(site)
        while len(self._pools) > 1 and (
            self._bytes > _MOST_BYTES or len(self._pools) > _MOST_SITES
        ):
            self._bytes -= self._pools.popitem(last=False)[1].size
        return pool.pages

    async def _read(self, site: str) -> Pool:
        store = self._store if site else None  # not of addresses that nobody can parse
        pool = Pool(store.load(site) if store else (), most=self._most)
        changed = False
        for listed in self._listing.pages_of(site):
            if not pool.takes(listed.place):
                break
            if _is_known_copy(pool, listed):
                continue  # ten thousand copies need not be read
            try:
                page, _ = read_listed(self._folder, listed, self._addresses)
                await asyncio.sleep(0)  # there may be many: others have their turn
            except PlainFileError:
                continue  # gone meanwhile: the next takes its place
            changed |= pool.add(page)
        if store and changed:
            store.save(site, pool.pages)
        return pool


def _is_known_copy(pool: Pool, listed: Listed) -> bool:
    """Whether a pool with a copy of the page, at a lower place, has nothing at its address."""
    return any(page.digest == listed.digest and page.place < listed.place for page in pool) and all(
        page.place != listed.place for page in pool
    )
