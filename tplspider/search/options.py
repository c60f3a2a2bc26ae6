"""What a search is asked for, and what it may use."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.search.complete_subdigraph import MAX_SEARCH_NODES
from tplspider.search.redirect_ways import MAX_REDIRECTS
from tplspider.web.addresses import SCOPES

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What the user asks for: the answer depends on it."""

    n: int = 3
    strategy: str = "paper"
    scope: str = "host"
    max_loads: int = 100
    max_seconds: float = 0
    witness: int = 1  # pages that may be loaded on top, for the template

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or self.n < 1:
            raise ValueError(f"n={self.n!r}: expected a whole number, 1 or more")
        if self.scope not in SCOPES:
            raise ValueError(f"scope={self.scope!r}: expected one of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What the search may use, and what its driver can do.

    An address of more than *longest_url* characters is not requested (0 for no limit).
    *runs_scripts* tells whether pages come as a browser shows them, *for_template* whether the
    template of the key page is going to be extracted. *is_absent* tells of addresses that nothing
    is to be had of, where that is known without loading them.
    """

    in_flight: int = 1
    max_redirects: int = MAX_REDIRECTS
    max_nodes: int = MAX_SEARCH_NODES
    longest_url: int = 0
    runs_scripts: bool = False
    for_template: bool = False
    is_absent: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            raise ValueError(f"in_flight={self.in_flight!r}: expected a whole number, 1 or more")


def search_id(url: str, options: SearchOptions) -> str:
    """A name for the search from the (cleaned) address of a key page, the same everywhere.

    Options that have their defaults play no part, so one that is added later changes no name.

    >>> search_id("https://example.org/", SearchOptions())
    '4adea0b0ce52ff65'
    """
    defaults = asdict(SearchOptions())
    chosen = {
        name: float(value) if name == "max_seconds" else value
        for name, value in sorted(asdict(options).items())
        if value != defaults[name]
    }
    text = json.dumps([url, chosen], separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).hexdigest()
