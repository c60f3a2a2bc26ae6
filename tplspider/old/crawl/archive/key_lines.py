"""The key pages of ``scrapy archive``: lines of a list, or some pages of each host."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.list_line import ListLine
from tplspider.old.crawl.batch.raw_lines import RawLine
from tplspider.pools.pool import page_site

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tplspider.sources.warc import WarcSite


def host_name(given: str) -> str:
    """What the archive calls a host, which may be given with ``www.``, or as an address."""
    site = page_site(given if "//" in given else f"http://{given}/")
    if not site:
        raise ValueError(f"--host {given!r}: expected the name of a host")
    return site


def of_hosts(lines: Iterable[ListLine], hosts: Collection[str]) -> Iterator[ListLine]:
    """The lines whose addresses are of these hosts; those that are out of form stay."""
    for line in lines:
        url = str(line.values.get("url") or "")
        if line.fault or page_site(url if "//" in url else f"https://{url}") in hosts:
            yield line


def of_each_host(archive: WarcSite, most: int, hosts: Collection[str] = ()) -> Iterator[ListLine]:
    """Some pages of each host, or of these: those whose addresses have the smallest hashes.

    Hosts come by their names.
    """
    index = archive.index
    numbers = (
        ((number, host) for host in sorted(hosts) if (number := index.site_number(host)))
        if hosts
        else index.sites()
    )
    line = 0
    for number, _ in numbers:
        urls = (archive.url_at(place) for place in index.pages_of(number))
        for url in islice(filter(None, urls), most):
            line += 1
            mark = RawLine(line, url.encode()).mark
            yield ListLine(line, {"url": url}, None, text=url, mark=mark)


def count_of_each_host(archive: WarcSite, most: int, hosts: Collection[str] = ()) -> int:
    """How many these are."""
    index = archive.index
    found = map(index.site_number, hosts) if hosts else (number for number, _ in index.sites())
    return sum(sum(1 for _ in islice(index.pages_of(each), most)) for each in found if each)
