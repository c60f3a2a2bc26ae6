"""Projects of other people: made by ``scrapy startproject``, with this package installed or not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conftest import PROJECT, SETTINGS, Crawl
from scrapyd_server import clone_of_the_project

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTS = Path(__file__).parent
NAME = "other"


def make_project(folder: Path) -> Path:
    """In a folder, make a project that knows nothing of us, and install this package beside it.

    The package is installed as pip does it, but with nothing that is not here already.
    """
    (folder / "project").mkdir()
    project = Project(folder / "project", site=None)
    project.run("startproject", NAME, ".", settings={})
    project.set("DOWNLOAD_DELAY = 0")
    clone, site = clone_of_the_project(folder / "clone"), folder / "site"
    subprocess.run(
        [
            *(sys.executable, "-Wignore", "setup.py", "-q"),
            *("install_lib", "-d", site, "install_egg_info", "-d", site),
        ],
        cwd=clone,
        check=True,
        capture_output=True,
    )
    return folder


def readme_lines() -> str:
    """What the README tells to put into the settings of another project."""
    readme = (PROJECT / "README.md").read_text("utf-8")
    blocks: list[str] = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    (lines,) = (block for block in blocks if "SPIDER_MODULES" in block)
    return lines.replace("myproject", NAME)


@dataclass
class Project:
    """A folder in which ``scrapy`` is run; *site* is where this package is installed, if it is."""

    folder: Path
    site: Path | None

    def run(
        self, *arguments: str, settings: Mapping[str, str] = SETTINGS, **variables: str
    ) -> Crawl:
        """Run ``scrapy`` there, as a person would."""
        options = (f"-s{name}={value}" for name, value in settings.items())
        return self.python("-m", "scrapy", *arguments, *options, **variables)

    def python(self, *arguments: str, **variables: str) -> Crawl:
        """Run Python there."""
        paths = [str(self.site)] if self.site else []
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([*paths, str(TESTS)]),
                "COLUMNS": "100",
                **variables,
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Crawl(done.returncode, done.stdout, done.stderr, self.folder)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, "utf-8")

    def set(self, lines: str) -> None:
        """Add lines to its settings."""
        with (self.folder / NAME / "settings.py").open("a", encoding="utf-8") as file:
            file.write(f"\n{lines}\n")
