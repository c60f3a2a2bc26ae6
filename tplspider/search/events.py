"""What happens in a search, as it happens: the stream that log, stats and reports are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch
    from tplspider.search.algorithm import Visit
    from tplspider.search.session import SearchSession


@dataclass(frozen=True, slots=True)
class SearchStarted:
    """The key page was read and has that many links, and addresses that cannot be parsed."""

    session: SearchSession
    links: int
    unparsable: int


@dataclass(frozen=True, slots=True)
class LinkSettled:
    """A link was taken into account."""

    session: SearchSession
    visit: Visit


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """The search is over, and this is how it went."""

    session: SearchSession
    summary: CandidateSearch


Event = SearchStarted | LinkSettled | SearchEnded
Listener = Callable[[Event], object]
