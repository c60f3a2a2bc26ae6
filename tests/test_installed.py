"""Commands of the installed package: in projects of others, and where there is no project."""

from __future__ import annotations

import json
import os
import re
import tarfile
import zipfile
from importlib.metadata import distributions
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

import tplspider
from tests.support.crawls import PROJECT
from tests.support.other_project import Project, build, make_project, readme_lines
from tests.support.requirement_lists import extras, listed
from tests.support.saved_folders import own_text, save_site
from tests.support.scrapyd_server import git
from tests.support.template_site import CONTENT, pages_of, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import Crawl, FixtureServer

    Serve = Callable[..., FixtureServer]

pytestmark = pytest.mark.crawl  # processes of their own

LOOPBACK = {"HTTPPROXY_ENABLED": "False", "DOWNLOAD_DELAY": "0"}
NAMES = ("archive", "demo", "report", "shard", "strip", "text", "ui")  # by entry points
# What a project of others may have, and would spoil what our commands print.
SPOILERS = """
ITEM_PIPELINES = {"other.pipelines.Picky": 1}
FEEDS = {"precious.json": {"format": "json", "overwrite": True}}
"""
PICKY = """
class Picky:
    def process_item(self, item):
        raise TypeError("what is this?")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def plain(made: Path) -> Path:
    """A project without the add-on, with spiders of another kind."""
    folder = copytree(made / "project", made / "plain")
    Project(folder, None).set('SPIDER_MODULES = [*SPIDER_MODULES, "tests.support.other_spiders"]')
    return folder


@pytest.fixture
def project(tmp_path: Path, made: Path) -> Project:
    """A project with the lines of the README."""
    project = Project(copytree(made / "project", tmp_path / "project"), made / "site")
    project.set(readme_lines())
    return project


@pytest.fixture
def nowhere(tmp_path: Path, made: Path) -> Project:
    """Where there is no project at all."""
    (tmp_path / "nowhere").mkdir()
    return Project(tmp_path / "nowhere", made / "site")


def seen(done: Crawl) -> tuple[int, str, str]:
    """What a person sees of a command, but for numbers and secrets that differ from run to run."""
    output, log = (
        re.sub(r"[0-9a-f]{8,}|[0-9]+(\\.[0-9]+)*", "#", text) for text in (done.stdout, done.log)
    )
    return done.code, output, log


@pytest.mark.parametrize(
    "arguments",
    [
        "crawl other -a urls=data:, -O out.json",
        "crawl nobody",
        "crawl failing",
        "crawl",
        "crawl other failing",
        "crawl other -a nothing",
        "crawl -h",
    ],
)
def test_crawl_is_scrapys_own_for_other_spiders(made: Path, plain: Path, arguments: str) -> None:
    """Same output, down to the tracebacks, same options, same exit status; nothing is imported."""
    without, with_us = (
        Project(plain, site).run(*arguments.split(), settings={}) for site in (None, made / "site")
    )
    imported = re.search(r"^imported: (.*)$", with_us.stdout, re.MULTILINE)
    if "-O" in arguments:
        assert imported
        commands = [f"tplspider.commands.{name}" for name in NAMES]
        assert imported[1].split() == ["tplspider", "tplspider.commands", *commands]
        with_us.stdout = with_us.stdout.replace(f" {imported[1]}", "")
    assert seen(with_us) == seen(without)


def test_what_scrapy_lists(nowhere: Project, project: Project) -> None:
    """Our commands are added; Scrapy's own are as they were."""
    for one in (project, nowhere):
        listed, theirs = (
            re.findall(r"^  ([a-z]\w+) +(.*)$", where.run(settings={}).stdout, re.MULTILINE)
            for where in (one, Project(one.folder, None))
        )
        assert [row for row in listed if row[0] not in NAMES] == theirs
        assert {row[0] for row in listed} >= {*NAMES}


@pytest.mark.parametrize("place", ["project", "plain", "nowhere"])
def test_the_text_of_a_page_anywhere(
    project: Project, nowhere: Project, serve: Serve, place: str
) -> None:
    """Also where a project does not name us; what is printed is not for its pipelines and feeds."""
    server = serve("menu", routes_of(pages_of()))
    where = nowhere if place == "nowhere" else project
    if place == "plain":
        path = project.folder / "other" / "settings.py"
        path.write_text(path.read_text().replace(readme_lines(), ""))
    if place != "nowhere":
        project.set(SPOILERS)
        project.write("other/pipelines.py", PICKY)
    done = where.run("text", f"{server.url}/", "-n2", "-asummary=s.json", settings=LOOPBACK)
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    (summary,) = json.loads((where.folder / "s.json").read_bytes())
    assert summary["requested_size"] == 2
    assert server.log[0] == "/robots.txt"
    assert not (where.folder / "precious.json").exists()


@pytest.mark.parametrize("place", ["project", "nowhere"])
def test_the_demo_anywhere(project: Project, nowhere: Project, place: str) -> None:
    where = project if place == "project" else nowhere
    if place == "project":
        project.set(SPOILERS + 'USER_AGENT = "x"\nDOWNLOAD_DELAY = 9\nCOOKIES_ENABLED = False')
        project.write("other/pipelines.py", PICKY)
    done = where.run("demo", settings={})
    assert (done.code, done.log) == (0, "")
    assert "3 pages that all link to each other, after 7 loads" in done.stdout
    assert ("scrapy crawl" in done.stdout) == (place == "project")
    assert not (where.folder / "precious.json").exists()


@pytest.mark.parametrize("place", ["project", "nowhere"])
def test_a_folder_is_stripped_anywhere(project: Project, nowhere: Project, place: str) -> None:
    """By settings of ours alone: a project's pipelines and feeds are for its crawls."""
    where = project if place == "project" else nowhere
    save_site(where.folder / "mirror", 4)
    if place == "project":
        project.set(SPOILERS)
        project.write("other/pipelines.py", PICKY)
    done = where.run("strip", "mirror", "-O", "rows.jl", settings={})
    assert (done.code, done.stdout, done.log) == (0, "", "4 files: 4 stripped\n")
    rows = [json.loads(line) for line in (where.folder / "rows.jl").read_text().splitlines()]
    assert [row["main_text"] for row in rows] == [own_text(number) for number in range(4)]
    assert not (where.folder / "precious.json").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("-n x", "n: "),
        ("-s TPLSPIDER_PROFILE=hasty", "TPLSPIDER_PROFILE"),
        ("-s TPLSPIDER_PROFILE=browser", "pip install playwright"),
    ],
)
def test_wrong_arguments_are_one_line(
    project: Project, serve: Serve, arguments: str, word: str
) -> None:
    project.write("sitecustomize.py", 'import sys; sys.modules["playwright"] = None\n')
    variables = {"PYTHONPATH": f"{project.folder}:{project.path}"}
    server = serve("menu")
    done = project.run("text", server.url, *arguments.split(), settings=LOOPBACK, **variables)
    assert (done.code, done.stdout) == (2, "")
    (line,) = done.log.splitlines()
    assert word in line
    assert server.log == []


def test_nothing_else_is_installed(made: Path) -> None:
    names = {path.name.partition("-")[0] for path in (made / "site").iterdir()}
    assert names == {"tplspider"}
    tracked, installed = (
        {
            Path(folder, name).relative_to(place)
            for folder, _, names in os.walk(place / "tplspider")
            for name in names
            if not name.endswith(".pyc")
        }
        for place in (PROJECT, made / "site")
    )
    assert tracked == installed


def test_what_the_wheel_asks_for(made: Path) -> None:
    """Each list is in one place, and what a clone installs is made of the same lists."""
    (found,) = distributions(path=[str(made / "site")])
    assert found.version == tplspider.__version__
    asked: dict[str, set[Requirement]] = {}
    for line in found.requires or []:
        plain, _, extra = line.partition("; extra == ")
        asked.setdefault(extra.strip('"'), set()).add(Requirement(plain))
    basic = asked.pop("")
    assert basic == listed("requirements.txt")
    assert asked.keys() == {
        "archive",
        "browser",
        "deploy",
        "dev",
        "main",
        "markdown",
        "spark",
        "ui",
    }
    for extra, requirements in extras().items():
        assert asked[extra] == requirements, extra
    # A clone has all of them for its tests, but for Spark, and is installed itself.
    assert {path.name for path in PROJECT.glob("*requirements*")} == {
        "requirements.txt",
        "requirements-dev.txt",
    }
    assert (PROJECT / "requirements-dev.txt").read_text() == "-r requirements.txt\n-e .[dev]\n"
    inside = {extra for one in asked["dev"] if one.name == "tplspider" for extra in one.extras}
    inside |= {extra for name in inside for one in asked[name] for extra in one.extras}
    assert inside == asked.keys() - {"dev", "spark"}
    # Two of the themes' generators are for tests as well.
    themes = listed("benchmarks/labelled_sites/themes.txt")
    assert {one.name for one in themes & asked["dev"]} == {"mkdocs", "sphinx"}


@pytest.mark.deploy
def test_the_source_distribution_holds_the_project(made: Path, tmp_path: Path) -> None:
    """Its wheel is the one that was made of the clone: nothing that it needs is missing."""
    again = build(made / "clone", tmp_path / "dist")  # by way of the source distribution
    (wheel,) = (made / "dist").iterdir()
    one, other = (zipfile.ZipFile(path) for path in (wheel, again))
    assert {*one.namelist()} == {*other.namelist()}
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {*git(made / "clone", "ls-files").splitlines()} - {".gitignore", ".ci/run"}
    assert tracked <= names
