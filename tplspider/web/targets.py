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
_SAFE = re.compile(r"[\w.~/-]*", re.ASCII)  # neither quoted nor anything to quote, but slashes
_ENDING = re.compile(r"(?:/index)?\.\w+$|/$")


# By a directory and an address, or by a base, an address and "": where it leads, and that without
# its query, and the query.
Addresses = dict[tuple[str, ...], tuple[str, str, str]]


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
        if _SAFE.fullmatch(path):  # as nearly all are
            names = sorted({path, path.replace("/", "%2F"), last}, key=len, reverse=True)
        else:
            names = sorted({path, quote(path, safe=""), unquote(path), last}, key=len, reverse=True)
        self._names = [name for name in names if len(name) > 3]
        # What has none of these in it has none of the names: most names end with the last.
        self._signs = self._names[-1:]
        if not all(self._signs[0] in name for name in self._names):
            self._signs = self._names

    def read(self, raw: str) -> tuple[str, str]:
        """Where an address as it is written leads, with its fragment if that is in the page."""
        found = self._known.get((self._directory, raw))  # most are known, and have no fragment
        if found is not None:
            return self._seen_from_here(found)
        address, _, fragment = raw.strip().partition("#")
        link, target = self.of(address)
        return link + fragment if link.endswith("#") else link, target

    def of(self, address: str) -> tuple[str, str]:
        """Where an address without its fragment leads, this page being "self"; and its target.

        An address that stands for the page itself, or has the page's own path in it (to edit it,
        to share it, to see it in another language), is the same thing on every page.
        """
        if not address:
            return "self?#", self.own
        found = self._known.get((self._directory, address)) or self._look_up(address)
        return self._seen_from_here(found)

    def _seen_from_here(self, found: tuple[str, str, str]) -> tuple[str, str]:
        target, base_address, query = found
        if base_address == self.own:
            return f"self?{query}#", target if query else self.own
        for name in self._signs:
            if name in target:
                return self._starred(*found), target
        return target, target

    def _starred(self, link: str, base_address: str, query: str) -> str:
        """An address with a star for the page's own path."""
        if query and any(name in query for name in self._names):
            link = f"{base_address}?*"  # with this page's address a share link has its title, too
        for name in self._names:
            if name in link:
                link = link.replace(name, "*")
        return link

    def _look_up(self, address: str) -> tuple[str, str, str]:
        """Where an address leads that is not known in this directory."""
        place: tuple[str, ...] = (self._directory, address)
        if not _PUT_BEHIND.fullmatch(address):
            place = (self.resolver.base, address, "")
        found = self._known.get(place)
        if found is None:
            target = unquote(self.resolver.join(address))
            base_address, _, query = target.partition("?")
            found = self._known[place] = target, base_address, query
        return found


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
