"""The text of a page as an Article of zyte-common-items, if that package is installed."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import Any

from web_poet import Returns, field
from zyte_common_items import Article, Author

from tplspider.plugins.poet import TemplatePage


class TemplateArticlePage(TemplatePage, Returns[Article], skip_nonitem_fields=True):
    """Headline and body are what is not template; dates and authors are what the page states."""

    headline = field(lambda page: page.title)
    articleBody = field(lambda page: page.text)
    datePublishedRaw = field(lambda page: page.stated("datePublished", "published_time"))
    datePublished = field(lambda page: _iso(page.datePublishedRaw))
    dateModifiedRaw = field(lambda page: page.stated("dateModified", "modified_time"))
    dateModified = field(lambda page: _iso(page.dateModifiedRaw))

    @field
    def authors(self) -> list[Author] | None:
        given = self._data().get("author")
        names = [each.get("name") if isinstance(each, dict) else each for each in _listed(given)]
        names += self.css("meta[name=author]::attr(content)").getall() if given is None else []
        found = [name.strip() for name in names if isinstance(name, str) and name.strip()]
        return [Author(name=name, nameRaw=name) for name in found] or None

    def stated(self, name: str, meta: str) -> str | None:
        """What the page says of itself in JSON-LD or, of an article, in a meta tag."""
        tag = f"meta[property='article:{meta}']::attr(content)"
        found = self._data().get(name) or self.css(tag).get()
        return found.strip() or None if isinstance(found, str) else None

    def _data(self) -> Any:
        """The first article that the page describes in JSON-LD."""
        for text in self.css("script[type='application/ld+json']::text").getall():
            with suppress(ValueError, RecursionError):
                found = [each for each in _listed(json.loads(text)) if isinstance(each, dict)]
                for each in [*found, *(one for top in found for one in _listed(top.get("@graph")))]:
                    kind = str(each.get("@type")) if isinstance(each, dict) else ""
                    if "Article" in kind or "Posting" in kind:
                        return each
        return {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _iso(raw: str | None) -> str | None:
    """A date in the form that the item asks for; None if it is not an ISO 8601 date."""
    with suppress(ValueError):
        found = datetime.fromisoformat(raw or "").isoformat(timespec="seconds")
        return found.replace("+00:00", "Z")
    return None
