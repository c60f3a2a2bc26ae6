"""A website in memory: answers by address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.web.page import NoPage, Redirect, WebPage, status_reason

if TYPE_CHECKING:
    from collections.abc import Iterable


class MemorySite:
    """Pages that are there already, known by their addresses, without fragments."""

    def __init__(self, answers: Iterable[WebPage] = ()) -> None:
        self.answers: dict[str, WebPage | Redirect | NoPage] = {page.url: page for page in answers}

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """What is at an address."""
        return self.answers.get(url.partition("#")[0]) or NoPage(status_reason(404))
