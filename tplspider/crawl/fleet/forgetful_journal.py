"""The journal of a worker: what is done, the queue knows, and nobody else has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.crawl.batch.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ForgetfulJournal(Journal):
    """A temporary journal that remembers no answers: a worker may run for months.

    The same key page may be in the queue again, for another attempt say, and is searched again.
    So it is for the page of ``scrapy ui``, where the same search again is a new run.
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
