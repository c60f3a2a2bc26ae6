"""The rooms of the package: who may know whom, and what works without Scrapy."""

from __future__ import annotations

import subprocess
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from tests.support.crawls import SITES
from tests.support.other_project import build
from tests.support.scrapyd_server import clone_of_the_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

SEARCH = """
import sys
from pathlib import Path
from tplspider import FolderSite, PageSource, SearchOptions, extract_template, search_pages
import tplspider.search.session, tplspider.saved_pages, tplspider.web.redirects

site = FolderSite(Path(sys.argv[1]))
session = search_pages(site, site.url + "/docs/guide/four.html", SearchOptions(strategy="guided"))
pages = [site.load(url) for url in (session.key_url, *session.summary.candidates)]
key, *others = [PageSource(page.url, page.text) for page in pages]
print(session.summary.complete, bool(extract_template(key, others)))
print([name for name in ("scrapy", "twisted", "itemadapter") if name in sys.modules])
"""


def needed(name: str, known: dict[str, Distribution]) -> dict[str, Distribution]:
    """What a distribution is made of: itself, and all that it requires."""
    if name not in known:
        known[name] = found = distribution(name)
        for line in found.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed(requirement.name, known)
    return known


def parts(found: Distribution) -> Iterator[Path]:
    """The files and folders in site-packages that a distribution has put there."""
    tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "bin")}
    yield from (Path(str(found.locate_file(top))) for top in tops if top != "__pycache__")


@pytest.mark.crawl
def test_the_algorithms_work_without_scrapy(tmp_path: Path) -> None:
    """In an environment of lxml, parsel, w3lib, tldextract and our wheel, a folder is searched."""
    wheel = build(clone_of_the_project(tmp_path / "clone"), tmp_path / "dist", "--wheel")
    venv.create(tmp_path / "venv", with_pip=False)
    (site_packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    known: dict[str, Distribution] = {}
    for name in ("lxml", "parsel", "w3lib", "tldextract"):
        needed(name, known)
    for part in {part for found in known.values() for part in parts(found)}:
        (site_packages / part.name).symlink_to(part)
    zipfile.ZipFile(wheel).extractall(site_packages)
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-I", "-c", SEARCH, str(SITES / "menu")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True True", "[]"]
