"""Records that are there, as far as is known, and cannot be had: a disk or a server fails."""

from __future__ import annotations

from typing import NamedTuple

from tplspider.search.answer import counted


class Unread(NamedTuple):
    """How many records could not be fetched, and why the first could not."""

    records: int = 0
    why: str | None = None

    @property
    def told(self) -> str:
        """For people; '' if there is nothing to be told."""
        if not self.records:
            return ""
        return f"{counted(self.records, 'record')} cannot be fetched: {self.why}"

    def and_more(self, other: Unread) -> Unread:
        """The two as one."""
        return Unread(self.records + other.records, self.why or other.why)
