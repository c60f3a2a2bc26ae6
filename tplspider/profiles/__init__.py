"""Profiles: modules of this package, each a set of settings that has a name.

In our own project, and where there is none, ``SCRAPY_PROJECT=NAME`` chooses one. In other projects,
on scrapyd (which uses that variable itself) and wherever a setting is easier to give,
TPLSPIDER_PROFILE does the same.
"""

from __future__ import annotations

import os
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings, Settings

# Above the project's settings (20), below those of a spider (30) and of the command line (40).
PROFILE_PRIORITY = 25

_BOT_NAME = "tplspider"
# What describes a project: never copied to another one.
_OF_THE_PROJECT = frozenset(
    {"ADDONS", "BOT_NAME", "COMMANDS_MODULE", "NEWSPIDER_MODULE", "SPIDER_MODULES"}
)
# Tables of components: a profile adds to those of a project.
_TABLES = frozenset({"DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES"})


def profile_names() -> list[str]:
    """The names of all profiles."""
    return sorted(module.name for module in iter_modules(__path__))


def profile_settings(name: str, *, whole: bool = False) -> dict[str, Any]:
    """What a profile changes in the default one; or the *whole* of it, for other projects.

    Raises ValueError when there is no such profile.
    """
    names = profile_names()
    if name not in names:
        raise ValueError(f"TPLSPIDER_PROFILE={name!r}: expected one of {', '.join(names)}")
    profile = vars(import_module(f"{__name__}.{name}"))
    default = {} if whole else vars(import_module(f"{__name__}.default"))
    return {
        key: value
        for key, value in profile.items()
        if key.isupper()
        and key not in _OF_THE_PROJECT
        and (key not in default or value != default[key])
    }


def is_own_project(settings: BaseSettings) -> bool:
    """Whether these are the settings of our own project: a profile, or what is built on one."""
    return bool(settings.get("BOT_NAME") == _BOT_NAME)


def apply_profile(settings: BaseSettings) -> None:
    """Put the profile that TPLSPIDER_PROFILE names in force.

    Our own project has the default one already, perhaps with changes of the user's.
    """
    if name := settings.get("TPLSPIDER_PROFILE"):
        for key, value in profile_settings(name, whole=not is_own_project(settings)).items():
            known = settings.getdict(key) if key in _TABLES else {}
            settings.set(key, {**known, **value} if known else value, PROFILE_PRIORITY)


def keep_apart(settings: Settings) -> None:
    """Keep the rows of a command from the pipelines and feeds of a project that is not ours.

    Where there is no project, or none of the name in SCRAPY_PROJECT, a profile makes one. It is
    called before Scrapy adds the feeds of the command line to those of the project.
    """
    if not is_own_project(settings) and "SCRAPY_SETTINGS_MODULE" not in os.environ:
        settings.setmodule(f"{__name__}.default", priority="project")
        settings.set("TPLSPIDER_PROFILE", os.environ.get("SCRAPY_PROJECT"), "project")
    # Above the project's settings, below what -s says on the command line.
    if not is_own_project(settings):
        settings.setdict({"FEEDS": {}, "ITEM_PIPELINES": {}}, priority=30)
