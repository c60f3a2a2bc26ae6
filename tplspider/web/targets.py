"""Where the addresses that a page has lead, as pages that share a template are compared by it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from tplspider.web.addresses import Resolver
from tplspider.web.html import find_all

if TYPE_CHECKING:
    from tplspider.web.html import Element

# Addresses for which the directory of the base is all that counts: a query alone is put behind all
# of the base, http:x is relative to some, and // is none at all.
_PUT_BEHIND = re.compile(r"(?:https?://|/)?[\w.~%-][\w.~%/?&=+,-]*|/")
_ENDING = re.compile(r"(?:/index)?\.\w+$|/$")


Addresses = dict[tuple[str, str], str]  # by a directory and an address, where it leads


class Targets:
    """Where the addresses that a page has lead; *known* is what was found out for other pages."""

    def __init__(self, root: Element, url: str, known: Addresses | None = None) -> None:
        self.resolver = Resolver(url)
        bases = (element.get("href") for element in find_all(root, "base"))
        base = next((href for href in bases if href is not None), "")
        if base:
            self.resolver = self.resolver.moved_to(base)
        self.is_plain = self.resolver.is_plain and not base
        self._known = {} if known is None else known
        self._directory = _directory(self.resolver.base)
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
        place = self._directory if _PUT_BEHIND.fullmatch(address) else self.resolver.base, address
        target = self._known.get(place)
        if target is None:
            target = self._known[place] = unquote(self.resolver.join(address))
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


def _directory(base: str) -> str:
    """What of a base addresses are put behind, most of them; all of it, where that is not sure."""
    scheme, _, rest = base.partition("://")
    host, slash, path = rest.partition("/")
    if not slash or any(sign in base for sign in "?#;\\"):
        return base
    return f"{scheme}://{host}/{path.rpartition('/')[0]}"


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
