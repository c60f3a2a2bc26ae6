"""The mark on the requests of a search, by which our components know them among all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

META_KEY = "tplspider"  # Scrapy keeps what is in meta through redirects and retries


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a request is for: the link of that rank, or the key page (None)."""

    rank: int | None = None


def ticket_of(request: Request) -> Ticket | None:
    """The ticket of a request of ours; None for a request of anybody else's."""
    ticket = request.meta.get(META_KEY)
    return ticket if isinstance(ticket, Ticket) else None
