"""Commands of another checkout, by a Python of its own, with nothing of ours but a resolver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import loopback_names
from benchmarks.checkout_environments import ENVIRONMENTS, python_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

SPIDER = "template_candidates"
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
    """A folder with the project in it; *scratch* is where its commands may leave things.

    *renames* are names of the oldest checkout and what this one has in their place: arguments,
    options, settings, words of the command line (the spider), and import paths in settings.
    """

    folder: Path
    scratch: Path
    python: Path = Path(sys.executable)
    renames: Mapping[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Look whether it is one that is imported, and put the resolver where it is found."""
        if not (self.folder / "scrapy.cfg").is_file():
            raise SystemExit(f"{self.folder} is not a checkout: it has no scrapy.cfg")
        self.scratch.mkdir(parents=True)
        shutil.copy(str(loopback_names.__file__), self.scratch)
        done = self.run([str(self.python), "-c", "import tplspider; print(tplspider.__file__)"])
        if not Path(done.stdout.strip()).is_relative_to(self.folder):
            found = done.stdout.strip() or done.stderr
            raise SystemExit(f"{self.python} imports tplspider not of {self.folder}: {found}")

    def environment(self, *path: Path) -> dict[str, str]:
        """Variables for its processes: compiled modules are kept, but not in the checkout."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            "PYTHONPATH": os.pathsep.join(map(str, (*path, self.scratch))),
            "PYTHONPYCACHEPREFIX": str(self.scratch / "compiled"),
            "COLUMNS": "100",
            # Scrapy's cookies ask for a list on the internet; a closed port refuses.
            "https_proxy": "http://127.0.0.1:9",
        }

    def renamed(self, name: str) -> str:
        """What this checkout has in the place of a name."""
        return self.renames.get(name, name)

    def value(self, text: str) -> str:
        """The value of a setting, with the import paths that this checkout has."""
        for old, new in self.renames.items():
            if "." in old:
                text = re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w.])", new, text)
        return text

    def scrapy(self, *words: str) -> list[str]:
        """A command of Scrapy, to be run in the folder; an option may be ``--name=value``."""
        parts = (word.partition("=") for word in words)
        given = (f"{self.renamed(name)}{sign}{value}" for name, sign, value in parts)
        return [str(self.python), "-m", "scrapy", *given]

    def command(
        self,
        *words: str,
        arguments: Mapping[str, object] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> list[str]:
        """A command of Scrapy with arguments, and with settings for comparisons."""
        return [
            *self.scrapy(*words),
            *(f"-a{self.renamed(name)}={value}" for name, value in (arguments or {}).items()),
            *(
                f"-s{self.renamed(name)}={self.value(value)}"
                for name, value in {**SETTINGS, **(settings or {})}.items()
            ),
        ]

    def crawl_command(
        self, arguments: Mapping[str, object], settings: Mapping[str, str] | None = None
    ) -> list[str]:
        """A crawl by the spider, to be run in the folder."""
        return self.command("crawl", SPIDER, arguments=arguments, settings=settings)

    def run(
        self, command: list[str], *, project: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, or in a third-party *project* that uses the checkout."""
        return subprocess.run(  # noqa: S603 - our own command
            command,
            cwd=project or self.folder,
            env=self.environment(self.folder) if project else self.environment(),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=600,
            check=False,
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that say which two checkouts are compared, and by which Python each runs."""
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    own = "an interpreter with the requirements of %s, in place of an environment made for it"
    parser.add_argument("--old-python", type=Path, metavar="PATH", help=own % "OLD")
    parser.add_argument("--new-python", type=Path, metavar="PATH", help=own % "NEW")
    parser.add_argument(
        "--environments",
        type=Path,
        default=ENVIRONMENTS,
        metavar="FOLDER",
        help="where environments are made and kept (default: %(default)s)",
    )
    parser.add_argument(
        "--rename",
        type=_renames,
        default={},
        metavar="OLD=NEW,...",
        help="arguments, options, settings and import paths that NEW has by another name",
    )


def _renames(text: str) -> dict[str, str]:
    """A map of names; whatever has no sign of equality is an error.

    >>> _renames("n=size,--summary=--searches")
    {'n': 'size', '--summary': '--searches'}
    """
    return dict(pair.split("=", 1) for pair in text.split(","))


@contextmanager
def two_checkouts(
    old: Path,
    new: Path,
    pythons: tuple[Path, Path] = (Path(sys.executable), Path(sys.executable)),
    renames: Mapping[str, str] | None = None,
) -> Iterator[tuple[Checkout, Checkout]]:
    """Both, with places of their own for what their commands leave behind."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        both = (
            Checkout(old.resolve(), place / "old", pythons[0]),
            Checkout(new.resolve(), place / "new", pythons[1], renames or {}),
        )
        for checkout in both:
            checkout.prepare()
        yield both


@contextmanager
def chosen_checkouts(options: argparse.Namespace) -> Iterator[tuple[Checkout, Checkout]]:
    """Those that the command line names, each with its environment."""
    pythons = (
        options.old_python or python_of(options.old.resolve(), options.environments),
        options.new_python or python_of(options.new.resolve(), options.environments),
    )
    # Absolute, but not resolved: the Python of an environment is a link to another one.
    old, new = (Path(os.path.abspath(python)) for python in pythons)  # noqa: PTH100
    with two_checkouts(options.old, options.new, (old, new), options.rename) as both:
        yield both
