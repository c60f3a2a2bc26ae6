"""Projects of other people: made by ``scrapy startproject``, with this package installed or not."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.crawls import PROJECT, SETTINGS, Crawl, run_command
from tests.support.scrapyd_server import clone_of_the_project

NAME = "other"


def make_project(folder: Path) -> Path:
    """In a folder, make a project that knows nothing of us, and install this package beside it.

    The package is installed by pip, from its wheel, with nothing that is not here already.
    """
    (folder / "project").mkdir()
    project = Project(folder / "project", site=None)
    project.run("startproject", NAME, ".", settings={})
    project.set("DOWNLOAD_DELAY = 0")
    wheel = build(clone_of_the_project(folder / "clone"), folder / "dist", "--wheel")
    install = ("install", "-q", "--no-deps", "--no-index", "--no-compile", "--target")
    run_command(sys.executable, "-m", "pip", *install, folder / "site", wheel, check=True)
    return folder


def build(project: Path, folder: Path, *arguments: str) -> Path:
    """The wheel that ``python -m build`` makes, by the build requirements that are here."""
    command = (sys.executable, "-m", "build", "-q", "--no-isolation", *arguments, "-o", folder)
    run_command(*command, folder=project, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def readme_lines() -> str:
    readme = (PROJECT / "README.md").read_text("utf-8")
    blocks: list[str] = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    (lines,) = (block for block in blocks if "SPIDER_MODULES" in block)
    return lines.replace("myproject", NAME)


@dataclass
class Project:
    """A folder in which ``scrapy`` is run; *site* is where this package is installed, if it is."""

    folder: Path
    site: Path | None

    @property
    def path(self) -> str:
        """Where Python looks: what others have of ours is installed, and the tests are added."""
        tests = self.folder.parent / "tests-alone" / "tests"
        if not tests.exists():
            tests.parent.mkdir()
            tests.symlink_to(PROJECT / "tests")
            # A clone that is installed for its tests is not known there.
            nobody = tests.parent / "tplspider-0.dist-info"
            nobody.mkdir()
            (nobody / "METADATA").write_text("Name: tplspider\nVersion: 0\n")
        return os.pathsep.join(str(path) for path in (self.site, tests.parent) if path)

    def run(
        self, *arguments: str, settings: Mapping[str, str] = SETTINGS, **variables: str
    ) -> Crawl:
        options = (f"-s{name}={value}" for name, value in settings.items())
        return self.python("-m", "scrapy", *arguments, *options, **variables)

    def python(self, *arguments: str, **variables: str) -> Crawl:
        env = {**os.environ, "PYTHONPATH": self.path, "COLUMNS": "100", **variables}
        return run_command(sys.executable, *arguments, folder=self.folder, env=env)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, "utf-8")

    def set(self, lines: str) -> None:
        with (self.folder / NAME / "settings.py").open("a", encoding="utf-8") as file:
            file.write(f"\n{lines}\n")
