"""Strategies: the orders in which the links of the key page can be taken up.

A strategy is given the links of the key page in document order and the identity of the key page,
and returns every link once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tplspider.links import Link
from tplspider.sort_links import sort_links

Strategy = Callable[[Sequence[Link], str], Iterable[Link]]

STRATEGIES: dict[str, Strategy] = {"paper": sort_links}
