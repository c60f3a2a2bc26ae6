"""Strategies: the orders in which the links of the key page can be taken up.

Each module of this package is one, of the module's name: ``strategy=paper`` is paper.py. Its
function ``order`` is given the links of the key page in document order and the search, and yields
every link once. It is asked for a link when the search can take one up, so it can go by what the
search knows by then: the visits of :class:`~tplspider.search.window.SubdigraphSearch`, its members,
its key page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules

from tplspider.search.window import SubdigraphSearch
from tplspider.web.html import Link

Strategy = Callable[[Sequence[Link], SubdigraphSearch], Iterator[Link]]

STRATEGIES: dict[str, Strategy] = {
    module.name: import_module(f"{__name__}.{module.name}").order
    for module in iter_modules(__path__)
    if not module.name.startswith("_")  # a part of others
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name; ValueError if there is none."""
    if name not in STRATEGIES:
        raise ValueError(f"strategy={name!r}: expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
