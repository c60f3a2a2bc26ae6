"""A spider that loads what searches loaded and does nothing with it, for ``scrapy runspider``.

``-a searches=FILE`` has a JSON array of addresses a line: those of one search, each of which is
asked for when the one before it has come. As many searches as there are places go on at a time.
It runs outside the project, so it imports nothing of ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class PlainSpider(Spider):
    """Loads addresses, and parses each page once."""

    name = "plain"

    def __init__(self, searches: str, places: str = "16", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._places = int(places)
        self._searches = self._read(Path(searches))

    def _read(self, file: Path) -> Iterator[list[str]]:
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    async def start(self) -> AsyncIterator[Any]:
        """Fill the places."""
        for _ in range(self._places):
            for request in self._go_on([]):
                yield request

    def parse(self, response: Response, left: list[str]) -> Iterator[Request]:
        """Parse the page, and ask for the next one."""
        if isinstance(response, HtmlResponse):
            _ = response.selector
        yield from self._go_on(left)

    def no_page(self, failure: Failure) -> Iterator[Request]:
        """Ask for the next one all the same."""
        yield from self._go_on(failure.request.cb_kwargs["left"])  # type: ignore[attr-defined]

    def _go_on(self, left: list[str]) -> Iterator[Request]:
        left = left or next(self._searches, [])
        if left:
            yield Request(
                left[0],
                self.parse,
                errback=self.no_page,
                cb_kwargs={"left": left[1:]},
                dont_filter=True,
            )
