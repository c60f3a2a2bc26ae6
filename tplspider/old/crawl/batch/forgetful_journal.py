"""The journal of searches that are made again whenever somebody asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.batch.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ForgetfulJournal(Journal):
    """A temporary journal that remembers no answers, for the page of ``scrapy ui``.

    There, the same search again is a new run.
    """

    def is_done(self, line: int, mark: bytes) -> bool:  # noqa: ARG002 - as in a journal
        return False

    def summary(self, search_id: str) -> dict[str, Any] | None:  # noqa: ARG002 - likewise
        return None

    def commit(
        self,
        *,
        lines: Iterable[tuple[int, bytes]],
        search_id: str = "",
        summary: Mapping[str, Any] | None = None,
        outcome: str = "",
    ) -> None:
        """Nothing is to be kept."""
