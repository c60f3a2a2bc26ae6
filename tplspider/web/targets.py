"""Where the addresses that a page has lead, as pages that share a template are compared by it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from tplspider.web.addresses import Resolver
from tplspider.web.html import find_all

if TYPE_CHECKING:
    from tplspider.web.html import Element

_ENDING = re.compile(r"(?:/index)?\.\w+$|/$")


class Targets:
    """Where the addresses that a page has lead."""

    def __init__(self, root: Element, url: str) -> None:
        self.resolver = Resolver(url)
        bases = (element.get("href") for element in find_all(root, "base"))
        base = next((href for href in bases if href is not None), "")
        if base:
            self.resolver = self.resolver.moved_to(base)
        self.is_plain = self.resolver.is_plain and not base
        self.own = unquote(url.partition("#")[0].partition("?")[0])
        path = _ENDING.sub("", _path(url)).strip("/")
        last = path.rpartition("/")[2]
        names = sorted({path, quote(path, safe=""), unquote(path), last}, key=len, reverse=True)
        self._names = [name for name in names if len(name) > 3]

    def of(self, address: str) -> tuple[str, str]:
        """Where an address without its fragment leads, this page being "self"; and its target.

        An address that stands for the page itself, or has the page's own path in it (to edit it,
        to share it, to see it in another language), is the same thing on every page.
        """
        if not address:
            return "self?#", self.own
        target = unquote(self.resolver.join(address))
        base_address, _, query = target.partition("?")
        if base_address == self.own:
            return f"self?{query}#", target if query else self.own
        # With this page's address a share link has its title, too.
        shares = any(name in query for name in self._names)
        link = f"{base_address}?*" if shares else target
        for name in self._names:
            if name in link:
                link = link.replace(name, "*")
        return link, target


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
