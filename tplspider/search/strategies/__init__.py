"""Strategies: the orders in which the links of the key page can be taken up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tplspider.search.strategies.guided import guided_order
from tplspider.search.strategies.paper import paper_order
from tplspider.search.window import SubdigraphSearch
from tplspider.web.html import Link

# A strategy is given the links of the key page in document order and the search, and yields every
# link once. It is asked for a link when the search can take one up, so it can go by what the search
# knows by then: its visits, its members, its key page.
Strategy = Callable[[Sequence[Link], SubdigraphSearch], Iterator[Link]]

STRATEGIES: dict[str, Strategy] = {"guided": guided_order, "paper": paper_order}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name; ValueError if there is none."""
    if name not in STRATEGIES:
        raise ValueError(f"strategy={name!r}: expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
