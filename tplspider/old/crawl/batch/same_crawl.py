"""Whether a crawl that goes on is the one that began: the same list, options and feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_NAMED = 3  # differences that one line tells


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """In what two descriptions of a crawl differ, in words; '' if they do not."""
    faults = [
        _in_words(name, before.get(name), now.get(name))
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    more = ", and more" if len(faults) > _MOST_NAMED else ""
    return ", ".join(faults[:_MOST_NAMED]) + more


def _in_words(name: str, before: str | None, now: str | None) -> str:
    if name.startswith("feed "):  # what a journal knows of a feed is long
        if before is None or now is None:
            return f"{name} is {'new' if before is None else 'missing'}"
        return f"{name} had other columns, or another format"
    was, is_now = ("not given" if each is None else each for each in (before, now))
    return f"{name} was {was} and is {is_now}"
