"""Profiles: modules of the ``settings`` package, each a set of settings that has a name.

On a command line ``SCRAPY_PROJECT=NAME`` chooses one. Scrapyd has that variable for itself: there,
and wherever a setting is easier to give than a variable, TPLSPIDER_PROFILE does the same.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

# Above the project's settings (20), below those of a spider (30) and of the command line (40).
PROFILE_PRIORITY = 25


def profile_names() -> list[str]:
    """The names of all profiles."""
    return sorted(module.name for module in iter_modules(import_module("settings").__path__))


def profile_settings(name: str) -> dict[str, Any]:
    """What a profile changes in the default one. Raises ValueError when there is none."""
    names = profile_names()
    if name not in names:
        raise ValueError(f"TPLSPIDER_PROFILE={name!r}: expected one of {', '.join(names)}")
    default = vars(import_module("settings.default"))
    profile = vars(import_module(f"settings.{name}"))
    return {
        key: value
        for key, value in profile.items()
        if key.isupper() and (key not in default or value != default[key])
    }
