"""The addresses that a person pastes, checked before anything is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.arguments import (
    check_options,
    key_address,
    masked,
    read_credentials,
    without_credentials,
)
from tplspider.plugins.ui.wanted import Checked, Refused, TooManyLinesError, Wanted
from tplspider.search.session import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULTS = SearchOptions(strategy="guided")  # it needs fewer loads
_LONGEST = 8000  # characters of an address: no server takes more
_SHOWN = 300
_MOST_LINES = 20_000  # at once


def check_wanted(addresses: str, options: Mapping[str, object]) -> Checked:
    """What is to be searched of the lines of a text, and which of them will not do.

    Empty lines and those that start with ``#`` do not count. ValueError, in one line, is for
    options that are wrong.
    """
    chosen = check_options(options, _DEFAULTS)
    found = Checked()
    for number, line in enumerate(addresses.splitlines(), 1):
        given = line.strip()
        if not given or given.startswith("#"):
            continue
        if len(found.wanted) + len(found.refused) == _MOST_LINES:
            raise TooManyLinesError(f"more than {_MOST_LINES} addresses at once")
        try:
            if len(given) > _LONGEST:
                raise ValueError(f"an address of {len(given)} characters")  # noqa: TRY301 - as others
            read_credentials(given, key_address(given))
        except ValueError as error:
            shown = masked(given)[:_SHOWN]
            why = str(error).removeprefix("url: ")[: 2 * _SHOWN]
            found.refused.append(Refused(number, shown, why))
        else:
            url = without_credentials(given)
            found.wanted.append(Wanted(given, url, chosen.n, chosen.strategy))
    return found
