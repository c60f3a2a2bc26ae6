"""Crawls of another checkout: by the Python that runs us, with nothing of ours but a resolver."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import loopback_names

if TYPE_CHECKING:
    from collections.abc import Iterator

# No waiting, no name leaves the machine, and names that are made up may be on loopback.
SETTINGS = {
    "DOWNLOAD_DELAY": "0",
    "HTTPPROXY_ENABLED": "False",
    "LOG_LEVEL": "INFO",
    "TPLSPIDER_ALLOW_PRIVATE": "True",
    "TWISTED_DNS_RESOLVER": "loopback_names.LoopbackNames",
}


@dataclass(frozen=True)
class Checkout:
    """A folder with the project in it; *scratch* is where its crawls may leave things."""

    folder: Path
    scratch: Path

    def prepare(self) -> None:
        """Look whether it is one, and put the resolver where its crawls find it."""
        if not (self.folder / "scrapy.cfg").is_file():
            raise SystemExit(f"{self.folder} is not a checkout: it has no scrapy.cfg")
        self.scratch.mkdir(parents=True)
        shutil.copy(str(loopback_names.__file__), self.scratch)

    def environment(self) -> dict[str, str]:
        """Variables for its processes: compiled modules are kept, but not in the checkout."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            "PYTHONPATH": str(self.scratch),
            "PYTHONPYCACHEPREFIX": str(self.scratch / "compiled"),
            "COLUMNS": "100",
            # Scrapy's cookies ask for a list on the internet; a port where nobody is refuses.
            "https_proxy": "http://127.0.0.1:9",
        }

    def crawl_command(
        self, arguments: dict[str, object], settings: dict[str, str] | None = None
    ) -> list[str]:
        """A crawl by the spider, to be run in the folder."""
        return [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
            *(f"-a{name}={value}" for name, value in arguments.items()),
            *(f"-s{name}={value}" for name, value in {**SETTINGS, **(settings or {})}.items()),
        ]


@contextmanager
def two_checkouts(old: Path, new: Path) -> Iterator[tuple[Checkout, Checkout]]:
    """Both, with places of their own for what their crawls leave behind."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        both = Checkout(old.resolve(), place / "old"), Checkout(new.resolve(), place / "new")
        for checkout in both:
            checkout.prepare()
        yield both
