"""What a person asks for: searches, and the lines that cannot be searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search that is asked for. The *address* may have a password in it, the *url* has none."""

    address: str = field(repr=False)
    url: str
    n: int
    strategy: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that will not do, and why."""

    line: int
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What was made of the lines that were pasted."""

    wanted: list[Wanted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class TooManyLinesError(Exception):
    """More was pasted than is looked at: one line for the user."""


# The addresses, a line each, and the options; ValueError, in one line, for wrong options, and
# TooManyLinesError.
Check = Callable[[str, Mapping[str, object]], Checked]
