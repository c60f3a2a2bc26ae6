"""What became of items and their pages: stats, and the lines of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tplspider.old.extraction.extractors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from tplspider.items import PageTemplate

logger = logging.getLogger(__name__)

_PREFIX = "tplspider/fields/"
# Those that are not 0 are told at the end, in these words.
_WORDS = {
    "without_evidence": "pages that have nothing in common with others of their sites",
    "given_out_early": "pages given out before their pools were ready",
    "failed": "pages that could not be compared",
    "undeclared": "items that do not declare the fields",
    "refused": "items that did not take the values",
    "passed_by": "items that are not of HTML pages",
}


class FieldsAccount:
    """Keeps the account of a crawl. What goes wrong with a class of items is told once."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._told: set[type] = set()

    def count(self, name: str, number: int = 1) -> None:
        """Count something that happened."""
        if number:
            self._stats.inc_value(_PREFIX + name, number)

    def held(self, number: int) -> None:
        """So many items are held back at the moment."""
        self._stats.max_value(f"{_PREFIX}held_max", number)

    def stripped(self, page: PageTemplate) -> None:
        """A page was compared."""
        self.count("pages")
        self.count("without_evidence", int(not page.evidence))

    def failed(self, url: str, error: BaseException) -> None:
        """A page could not be compared: its items go without."""
        self.count("failed")
        logger.warning("%s cannot be compared, its items go without the fields: %s", url, error)

    def undeclared(self, kind: type, names: Iterable[str]) -> None:
        """An item goes on unchanged, because its class does not have the fields."""
        self.count("undeclared")
        if self._is_new(kind):
            logger.error(
                "%s does not declare %s, which TPLSPIDER_FIELDS is to fill: such items go on"
                " unchanged",
                kind.__qualname__,
                ", ".join(names),
            )

    def refused(self, item: Any, error: BaseException) -> None:
        """An item goes on unchanged, because it would not have a value."""
        self.count("refused")
        if self._is_new(type(item)):
            logger.error(
                "%s does not take what TPLSPIDER_FIELDS has for it: such items go on unchanged: %s",
                type(item).__qualname__,
                one_line(error),
            )

    def sum_up(self, sites: int) -> None:
        """Say in a line how it went."""
        self._stats.set_value(f"{_PREFIX}sites", sites)
        figures = {name: self._stats.get_value(_PREFIX + name, 0) for name in _WORDS}
        logger.info(
            "Fields of items: %d items of %d pages have them, %d were held back at most%s",
            self._stats.get_value(f"{_PREFIX}items", 0),
            self._stats.get_value(f"{_PREFIX}pages", 0),
            self._stats.get_value(f"{_PREFIX}held_max", 0),
            "".join(f"; {_WORDS[name]}: {value}" for name, value in figures.items() if value),
        )

    def _is_new(self, kind: type) -> bool:
        is_new = kind not in self._told
        self._told.add(kind)
        return is_new
