"""A line of progress on a terminal, for commands that print nothing else for a while."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tplspider import signals
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tplspider.search.cliques import SubdigraphSearch


class ProgressLine:
    """Says on standard error how far the search is; nothing where that is not a terminal."""

    def __init__(self, crawler: Crawler) -> None:
        self._is_shown = sys.stderr.isatty()
        self._width = 0
        if self._is_shown:
            self._show("Loading the page")
            crawler.signals.connect(self.search_started, signal=signals.search_started)
            crawler.signals.connect(self.link_settled, signal=signals.link_settled)
            crawler.signals.connect(self.search_ended, signal=signals.search_ended)

    def search_started(self, links: int) -> None:
        self._show(f"Looking for pages with the same template among {counted(links, 'link')}")

    def link_settled(self, search: SubdigraphSearch) -> None:
        found = f"{len(search.members)} of {search.size} found"
        self._show(
            f"Looking for pages with the same template: {found}, {counted(search.loads, 'load')}"
        )

    def search_ended(self) -> None:
        self._show("Comparing the pages")

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self._is_shown:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)

    def _show(self, text: str) -> None:
        text = f"{text} ..."
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)
