"""Values of settings, read as Scrapy reads them; a wrong one is reported by its setting's name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# What Scrapy's getbool takes, and how people write it.
_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


def boolean(settings: BaseSettings, name: str, *, default: bool) -> bool:
    """A setting that is on or off."""
    value = settings.get(name)
    if value is None:
        return default
    if isinstance(value, int):
        return bool(value)
    found = _BOOLEANS.get(str(value).strip().lower())
    if found is None:
        raise ValueError(fault(name, value, "True or False"))
    return found


def whole_number(settings: BaseSettings, name: str, default: int, *, at_least: int) -> int:
    """A setting that counts something."""
    value = settings.get(name)
    if value is None:
        return default
    number = _number(value)
    if not number >= at_least or not number.is_integer():
        raise ValueError(fault(name, value, f"a whole number, {at_least} or more"))
    return int(number)


def one_of(settings: BaseSettings, name: str, choices: tuple[str, ...]) -> str:
    """A setting that names one of several things; '' where it names none."""
    value = settings.get(name) or ""
    if value and value not in choices:
        raise ValueError(fault(name, value, f"one of {', '.join(choices)}"))
    return str(value)


def seconds(
    settings: BaseSettings, name: str, default: float, *, above_zero: bool = False
) -> float:
    """A setting that is a time in seconds; it may be 0 unless *above_zero*."""
    value = settings.get(name)
    if value is None:
        return default
    number = _number(value)
    if not (number > 0 or (number == 0 and not above_zero)):
        least = " above 0" if above_zero else ", 0 or more"
        raise ValueError(fault(name, value, f"a number of seconds{least}"))
    return number


def _number(value: object) -> float:
    """The number that a value stands for; nan where it does not stand for one."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def fault(name: str, value: object, expected: str) -> str:
    """A value that will not do, in a line."""
    return f"{name}={value!r:.60}: expected {expected}"
