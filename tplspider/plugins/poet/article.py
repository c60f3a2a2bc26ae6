"""The text of a page as an Article of zyte-common-items, if that package is installed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from web_poet import Returns, field
from zyte_common_items import Article, Author

from tplspider.plugins.poet import TemplatePage

if TYPE_CHECKING:
    from collections.abc import Iterator


class TemplateArticlePage(TemplatePage, Returns[Article], skip_nonitem_fields=True):
    """Headline and body are what is not template; dates and authors are what the page states."""

    @field
    async def headline(self) -> str | None:
        return await self.title or None

    @field
    async def articleBody(self) -> str | None:
        return await self.text or None

    @field
    def datePublished(self) -> str | None:
        return _iso(self.datePublishedRaw)

    @field
    def datePublishedRaw(self) -> str | None:
        return self._stated("datePublished", "article:published_time")

    @field
    def dateModified(self) -> str | None:
        return _iso(self.dateModifiedRaw)

    @field
    def dateModifiedRaw(self) -> str | None:
        return self._stated("dateModified", "article:modified_time")

    @field
    def authors(self) -> list[Author] | None:
        given = self._data().get("author") or []
        given = given if isinstance(given, list) else [given]
        names = [each.get("name") if isinstance(each, dict) else each for each in given]
        found = [name.strip() for name in names if isinstance(name, str) and name.strip()]
        found = found or self.css("meta[name=author]::attr(content)").getall()[:1]
        return [Author(name=name, nameRaw=name) for name in found] or None

    def _stated(self, name: str, meta: str) -> str | None:
        found = self._data().get(name) or self.css(f"meta[property='{meta}']::attr(content)").get()
        return found.strip() or None if isinstance(found, str) else None

    def _data(self) -> dict[str, Any]:
        """The first article that the page describes in JSON-LD."""
        for text in self.css("script[type='application/ld+json']::text").getall():
            try:
                found = next(_articles(json.loads(text)), None)
            except (ValueError, RecursionError):
                continue
            if found:
                return found
        return {}


def _articles(data: Any) -> Iterator[dict[str, Any]]:
    for each in data if isinstance(data, list) else [data]:
        if isinstance(each, dict):
            if str(each.get("@type")).strip("[]'").endswith(("Article", "Posting")):
                yield each
            yield from _articles(each.get("@graph", []))


def _iso(raw: str | None) -> str | None:
    """A date in the form that the item asks for; None if it is not an ISO 8601 date."""
    try:
        found = datetime.fromisoformat(raw or "").isoformat(timespec="seconds")
    except ValueError:
        return None
    return found.replace("+00:00", "Z")
