"""The mark on the requests of a search, by which our components know them among all others."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request

    from tplspider.old.crawl.credentials import Credentials
    from tplspider.search.session import SearchSession

META_KEY = "tplspider"  # Scrapy keeps what is in meta through redirects and retries
PART_KEY = "tplspider_part"  # in the meta of what a page consists of, as a browser loads it


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Ticket:
    """What a request is for: the link of that rank, or the key page (None), of a session.

    Nobody but the request holds on to its ticket: when it is gone, so is the request.
    """

    session: SearchSession
    rank: int | None = None
    credentials: Credentials | None = field(default=None, repr=False)

    def __reduce__(self) -> str:
        """Keep its request in memory: from a disk queue, a copy of the session would come back."""
        raise pickle.PicklingError("a ticket is good in one process only")


def ticket_of(request: Request) -> Ticket | None:
    """The ticket of a request of ours; None for a request of anybody else's."""
    ticket = request.meta.get(META_KEY)
    return ticket if isinstance(ticket, Ticket) else None


def ticket_for(request: Request) -> Ticket | None:
    """The ticket of a request of ours, also of one that loads nothing and tells of another."""
    ticket = request.cb_kwargs.get("ticket")
    return ticket if isinstance(ticket, Ticket) else ticket_of(request)


def expected_ticket(
    request: Request | None, open_sessions: Mapping[str, SearchSession]
) -> Ticket | None:
    """The ticket of a request of ours, if somebody still waits for what it gives."""
    ticket = ticket_of(request) if request else None
    return ticket if ticket and is_expected(ticket, open_sessions) else None


def is_expected(ticket: Ticket, open_sessions: Mapping[str, SearchSession]) -> bool:
    """Whether the session of a ticket is open, and waits for what the ticket is for.

    Another one may make the same search, where this one was dropped.
    """
    session = ticket.session
    return open_sessions.get(session.search_id) is session and ticket.rank in session.awaited


def asked_address(ticket: Ticket) -> str:
    """The address that was asked for first, with a ticket that is expected."""
    session = ticket.session
    visits = [*(session.search.pending if session.search else ()), session.witness]
    links = [visit.link.url for visit in visits if visit and visit.rank == ticket.rank]
    return links[0] if links else session.url
