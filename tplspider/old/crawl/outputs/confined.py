"""Where the jobs of a server may write: in one folder, whatever their arguments say."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.project import get_project_settings
from w3lib.url import file_uri_to_path

from tplspider.old.crawl.outputs.names import local_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

# The settings that scrapyd gives to every job, and what in scrapyd.conf makes it do so.
_OF_SCRAPYD = {"FEEDS": "items_dir", "JOBDIR": "jobs_dir", "LOG_FILE": "logs_dir"}


def argument_path(label: str, name: str, *, confine: bool, folder: str) -> Path:
    """The local file or folder that an argument names: every argument that names one comes here.

    Where jobs are to be confined it is a relative name in *folder* (TPLSPIDER_FEEDS_DIR), and stays
    there when symbolic links are followed. Raises ValueError, in one line, for any other.
    """
    if not confine:
        return local_path(label, name)
    if not folder:
        raise ValueError(f"{label}: refused, as this server has no TPLSPIDER_FEEDS_DIR for it")
    inside = local_path(label, folder)
    parts = PurePath(name).parts
    if name.startswith("-") or "://" in name or PurePath(name).is_absolute() or ".." in parts:
        raise ValueError(f"{label}: expected a relative name inside TPLSPIDER_FEEDS_DIR")
    if not is_inside(inside / name, inside):
        raise ValueError(f"{label}: a symbolic link leads out of TPLSPIDER_FEEDS_DIR")
    return inside / name


def is_inside(path: Path, folder: Path) -> bool:
    """Whether *path* is in *folder*, or is that folder, when symbolic links are followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def is_of_the_server(uri: str, settings: BaseSettings, setting: str = "FEEDS") -> bool:
    """Whether the server's own configuration names this feed, and not whoever scheduled the job.

    What a job says comes by the command line. So does what scrapyd itself adds to each job.
    """
    if (settings.getpriority(setting) or 0) < SETTINGS_PRIORITIES["cmdline"]:
        return True
    if uri in map(str, get_project_settings().getdict("FEEDS")):
        return True
    return is_of_scrapyd(uri, "items_dir")


def is_of_scrapyd(uri: str, option: str) -> bool:
    """Whether it is in the place that an option of the scrapyd that runs this job names."""
    place = _of_scrapyd(option)
    address, asked = urlsplit(place), urlsplit(uri)
    if address.scheme in ("", "file"):
        path = Path(file_uri_to_path(uri) if asked.scheme == "file" else uri)
        local = bool(address.path) and asked.scheme in ("", "file")
        return local and is_inside(path, Path(address.path))
    return uri.startswith(f"{place.rstrip('/')}/") and ".." not in uri


def split_settings(given: Iterable[str], allowed: object) -> tuple[list[str], list[str]]:
    """The settings NAME=VALUE that a job may give, by the names in *allowed*, and other names."""
    names = allowed.split(",") if isinstance(allowed, str) else allowed
    assert isinstance(names, (list, tuple, set))
    allowed_names = {str(name).strip() for name in names}
    allowed_names |= {name for name, option in _OF_SCRAPYD.items() if _of_scrapyd(option)}
    kept, refused = [], []
    for pair in given:
        name = pair.partition("=")[0]
        if name in allowed_names:
            kept.append(pair)
        else:
            refused.append(name)
    return kept, refused


def _of_scrapyd(option: str) -> str:
    """An option of the scrapyd that runs this job, as it was configured; '' where there is none."""
    try:
        from scrapyd import Config  # type: ignore[import-untyped]  # if installed
    except ImportError:
        return ""
    return str(Config().get(option, ""))
