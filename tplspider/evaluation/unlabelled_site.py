"""Websites as somebody saved them, with key pages that nobody has labelled.

A table, ``sites.tsv``, names them. Its columns are divided by tabs: ``site``, a folder;
``key_pages``, addresses in it, divided by commas. Others may be missing: ``silver``, yes or no for
each key page, whether the whole site tells its text from boilerplate; ``absolute_host``, the hosts
by which the site links to itself, and ``base_path``, where its root stands there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from tplspider.evaluation.labelled_site import CorpusError, LabelError
from tplspider.sources.base import load_page
from tplspider.sources.folder import FolderSite, is_folder
from tplspider.web.answers import NoPage

if TYPE_CHECKING:
    from pathlib import Path

    from tplspider.web.answers import Redirect
    from tplspider.web.web_page import WebPage


class MirroredSite(FolderSite):
    """A site at the host that its pages name, with directories whose index is an ``index.htm``."""

    def __init__(self, folder: Path, host: str = "", base_path: str = "") -> None:
        super().__init__(folder)
        self._base = f"/{base_path.strip('/')}".rstrip("/")
        self.url = f"{f'http://{host}' if host else self.url}{self._base}"

    def _load(self, url: str) -> WebPage | Redirect | NoPage:
        parts = urlsplit(url)
        inside = parts.path.removeprefix(self._base) if self._base else parts.path
        names = [inside, f"{inside}index.htm"] if inside.endswith("/") else [inside]
        answers = [super(MirroredSite, self)._load(urlunsplit(parts._replace(path=name))) for name in names]
        return answers[0]


@dataclass(frozen=True, slots=True)
class KeyAddress:
    """A key page by its path in the folder; *sound*, the whole site tells what is its own."""

    path: str
    sound: bool = True
