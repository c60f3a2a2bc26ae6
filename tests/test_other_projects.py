"""The installed package, in projects of others and where there is none: a guest."""

import json
import re
import time
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.support.browsers import CHROMIUM, needs_chromium
from tests.support.crawls import DNS_RESOLVER, SITES, Crawl, FixtureServer, Serve, run_command
from tests.support.internet import at, html, redirect
from tests.support.other_project import Project, make_project, readme_lines
from tests.support.site_server import Handler
from tests.support.template_site import CONTENT, own_text, pages_of, routes_of, save_site
from tplspider.politeness import user_agent

pytestmark = pytest.mark.crawl  # processes of their own

INTERNET = {DNS_RESOLVER: "tests.support.internet.MadeUpInternet", "HTTPPROXY_ENABLED": "False"}
LOOPBACK = {"HTTPPROXY_ENABLED": "False"}
QUICK = {**LOOPBACK, "DOWNLOAD_DELAY": "0"}
KEY = "/docs/guide/four.html"
NAMES = ("archive", "candidates", "demo", "report", "shard", "strip", "text", "ui")
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
OTHER_AGENT = 'USER_AGENT = "otherbot/1.0 (+https://other.example)"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("made"))


@pytest.fixture
def plain(tmp_path: Path, made: Path) -> Project:
    return Project(copytree(made / "project", tmp_path / "plain"), site=None)


@pytest.fixture
def project(tmp_path: Path, made: Path) -> Project:
    """A project with the lines of the README."""
    project = Project(copytree(made / "project", tmp_path / "project"), made / "site")
    project.set(readme_lines())
    return project


@pytest.fixture(scope="module")
def others(made: Path) -> Path:
    """A project without the add-on, with spiders of another kind."""
    folder = copytree(made / "project", made / "plain")
    Project(folder, None).set('SPIDER_MODULES = [*SPIDER_MODULES, "tests.support.other_spiders"]')
    return folder


@pytest.fixture
def nowhere(tmp_path: Path, made: Path) -> Project:
    (tmp_path / "nowhere").mkdir()
    return Project(tmp_path / "nowhere", made / "site")


class Agents:
    """Notes who asks for what, in the place of a server's respond method."""

    def __init__(self, server: FixtureServer) -> None:
        self.seen: list[tuple[str, str]] = []
        self._respond = server.respond
        server.respond = self.respond  # type: ignore[method-assign]  # the server under watch

    def take(self) -> list[tuple[str, str]]:
        seen, self.seen = self.seen, []
        return seen

    def respond(self, request: Handler) -> None:
        self.seen.append((request.path, request.headers["User-Agent"]))
        self._respond(request)


def test_other_spiders_are_left_alone(project: Project, plain: Project, serve: Serve) -> None:
    """It meets just what it meets in a project that knows nothing of us, and so do the sites."""
    server, elsewhere = serve("menu"), serve("menu")
    site, private = at(server, "www.example.com"), at(elsewhere, "loopback.example.com")
    refresh = f"<meta http-equiv=refresh content='0; url={private}/about.html'>"
    server.routes = {
        "/robots.txt": lambda request: request.answer(200, FOR_OTHERS),
        **dict.fromkeys(("/wanted", "/stay"), redirect("/about.html")),
        "/kept": lambda request: request.answer(307, Location="/about.html"),
        "/moved": redirect(private + "/about.html"),
        "/script": redirect("javascript:alert(1)"),
        "/broken": redirect("http://[/"),
        "/loop": redirect("/loop"),
        "/refresh": html(head=refresh),
        "/busy": lambda request: request.answer(503, Retry_After="25"),
    }
    names = "index.html wanted stay kept moved script broken loop refresh busy shop".split()
    urls = [f"{site}/{name}" for name in names] + [private + "/", elsewhere.url + "/"]
    arguments = ("crawl", "other", f"-aurls={' '.join(urls)}", "-Oout.csv:csv")
    watched = [Agents(server), Agents(elsewhere)]
    outcomes = []
    for one in (plain, project):
        one.set('SPIDER_MODULES = [*SPIDER_MODULES, "tests.support.other_spiders"]')
        one.set(OTHER_AGENT + "CONCURRENT_REQUESTS = 1\nRETRY_TIMES = 1\nROBOTSTXT_OBEY = True")
        start = time.monotonic()
        done = one.run(*arguments, settings=INTERNET)
        assert done.code == 0, done.log
        ends = re.findall(r"END (.*)", done.log)
        assert len(ends) == len(urls)
        asked = [agents.take() for agents in watched]
        file = (one.folder / "out.csv").read_text()
        outcomes.append((ends, asked, file, middlewares(done)))
        assert time.monotonic() - start < 25, "nobody waits for Retry-After"
    assert outcomes[0] == outcomes[1]
    assert f"{site}/wanted 302 {site}/wanted" in ends
    assert f"{private}/ 200 {private}/" in ends
    assert {agent for seen in asked for _, agent in seen} == {
        "otherbot/1.0 (+https://other.example)"
    }


def middlewares(done: Crawl) -> list[str]:
    return re.findall(r"INFO: Enabled [\w ]+:\n(\[.*?\])\n", done.log, re.DOTALL)


FOR_OTHERS = b"User-agent: tplspider\nDisallow: /\n\nUser-agent: otherbot\nDisallow: /shop\n"
ROBOTS = b"""User-agent: tplspider
Disallow: /docs/guide/one.html
Crawl-delay: 1

User-agent: otherbot
Disallow: /
Crawl-delay: 30

User-agent: *
Allow: /
"""


def test_our_spider_goes_by_its_own_name(project: Project, serve: Serve) -> None:
    """Whatever the project calls itself, robots.txt is asked for and read under that name."""
    project.set(OTHER_AGENT + 'ROBOTSTXT_USER_AGENT = "otherbot"\nROBOTSTXT_OBEY = True')
    server = serve("menu")
    server.routes["/robots.txt"] = lambda request: request.answer(200, ROBOTS)
    agents = Agents(server)
    start = time.monotonic()
    arguments = ("crawl", "template_candidates", f"-aurl={server.url}{KEY}", "-asummary=s.json")
    done = project.run(*arguments, "-an=2", settings={**LOOPBACK, "TPLSPIDER_CONTACT": "me"})
    assert done.code == 0, done.log
    summary = (project.folder / "s.json").read_text()
    assert '"reason": "robots"' in summary
    assert '"complete": true' in summary
    assert "/docs/guide/one.html" not in server.log
    assert {agent for _, agent in agents.seen} == {user_agent("me")}
    assert agents.seen[0][0] == "/robots.txt"
    assert time.monotonic() - start > len(agents.seen) - 2


def test_the_guard_holds_in_other_projects(project: Project, serve: Serve) -> None:
    """Also for the robots.txt, by whatever name it is private."""
    server, inside = serve("menu"), serve("menu")
    server.routes["/robots.txt"] = redirect(at(inside, "loopback.example.com") + "/robots.txt")
    server.routes["/"] = redirect(at(inside, "lan.example.com") + "/")
    project.set("ROBOTSTXT_OBEY = True")
    url = at(server, "www.example.com") + "/"
    done = project.run("crawl", "template_candidates", f"-aurl={url}", settings=INTERNET)
    assert "cannot be used (private-address)" in done.log
    assert server.log == ["/robots.txt", "/"]
    assert inside.log == []


# Our commands.


def seen(done: Crawl) -> tuple[int, str, str]:
    """What a person sees of a command, but for numbers and secrets that differ from run to run."""
    output, log = (
        re.sub(r"[0-9a-f]{8,}|[0-9]+(\\.[0-9]+)*", "#", text) for text in (done.stdout, done.log)
    )
    return done.code, output, log


@pytest.mark.parametrize(
    "arguments", ["crawl other -a urls=data:, -O out.json", "crawl nobody", "crawl failing"]
)
def test_crawl_is_scrapys_own_for_other_spiders(made: Path, others: Path, arguments: str) -> None:
    """Same output, down to the tracebacks, same options, same exit status; nothing is imported."""
    without, with_us = (
        Project(others, site).run(*arguments.split(), settings={}) for site in (None, made / "site")
    )
    imported = re.search(r"^imported: (.*)$", with_us.stdout, re.MULTILINE)
    if "-O" in arguments:
        assert imported
        ours = ["command", "commands", *(f"commands.{name}" for name in NAMES)]
        assert imported[1].split() == ["tplspider", *(f"tplspider.{name}" for name in ours)]
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
def test_our_commands(project: Project, nowhere: Project, serve: Serve, place: str) -> None:
    """What they give is not for the pipelines and feeds of a project."""
    server = serve("menu", routes_of(pages_of()))
    where = nowhere if place == "nowhere" else project
    if place == "plain":  # the project does not name us
        path = project.folder / "other" / "settings.py"
        path.write_text(path.read_text().replace(readme_lines(), ""))
    if place != "nowhere":
        project.set(SPOILERS)
        project.write("other/pipelines.py", PICKY)
    done = where.run("text", f"{server.url}/", "-n2", "-asummary=s.json", settings=QUICK)
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    (summary,) = json.loads((where.folder / "s.json").read_bytes())
    assert summary["requested_size"] == 2
    assert server.log[0] == "/robots.txt"
    save_site(where.folder / "mirror", 4)
    done = where.run("strip", "mirror", "-O", "rows.jl", settings={})
    assert (done.code, done.stdout, done.log) == (0, "", "4 files: 4 stripped\n")
    rows = [json.loads(line) for line in (where.folder / "rows.jl").read_text().splitlines()]
    assert [row["main_text"] for row in rows] == [own_text(number) for number in range(4)]
    done = where.run("demo", settings={})
    assert (done.code, done.log) == (0, "")
    assert "3 pages that all link to each other, after 7 loads" in done.stdout
    assert "  scrapy candidates https://" in done.stdout
    assert not (where.folder / "precious.json").exists()


# Beside other plugins of Scrapy.

PLUGINS = """
ADDONS["scrapy_poet.Addon"] = 300
EXTENSIONS = {"spidermon.contrib.scrapy.extensions.Spidermon": 500}
SPIDERMON_ENABLED = True
SPIDERMON_SPIDER_CLOSE_MONITORS = ("other.monitors.Suite",)
DOWNLOAD_HANDLERS = dict.fromkeys(
    ("http", "https"), "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
)
PLAYWRIGHT_LAUNCH_OPTIONS = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
"""
MONITORS = """
from spidermon import Monitor, MonitorSuite, monitors

class Items(Monitor):
    def test_items(self):
        assert self.data.stats.item_scraped_count

class Suite(MonitorSuite):
    monitors = [Items]
"""
SPIDERS = """
from scrapy import Request, Spider
from tplspider.plugins.poet import TemplatePage
from tplspider.plugins.poet.article import TemplateArticlePage

class Rendered(Spider):
    name = "rendered"
    async def start(self):
        yield Request(self.url, meta={"playwright": True})
    def parse(self, response):
        yield {"made": response.css("#made::text").get()}

class Texts(Spider):
    name = "texts"
    async def start(self):
        yield Request(self.url, self.page)
        yield Request(self.url + "?", self.article, dont_filter=True)
    async def page(self, response, page: TemplatePage):
        yield await page.to_item()
    async def article(self, response, page: TemplateArticlePage):
        yield await page.to_item()
"""
STATED = """<script>document.body.append(Object.assign(document.createElement("p"),
{id: "made", innerText: "by a script"}))</script><script type="application/ld+json">
{"@graph": [{"@type": "WebSite"}, {"@type": ["NewsArticle"], "author": [{"name": "Ann"}, "Bo"],
"datePublished": "2024-05-01T10:00:00+00:00", "dateModified": "yesterday"}]}</script>"""


@needs_chromium
@pytest.mark.quick
def test_beside_poet_playwright_and_spidermon(project: Project, serve: Serve) -> None:
    """All of them work, and so do our spider and the page objects."""
    project.set(PLUGINS.replace("CHROMIUM", repr(CHROMIUM)))
    project.write("other/monitors.py", MONITORS)
    project.write("other/spiders/plugins.py", SPIDERS)
    server = serve("menu", routes_of(pages_of({"a": CONTENT["a"] + STATED})))
    url = f"{server.url}/a"

    def items(*arguments: str) -> list[dict[str, Any]]:
        done = project.run("crawl", *arguments, "-Oout.jl", settings=QUICK)
        assert (done.code, "ERROR" in done.log) == (0, False), done.log
        assert "test_items... OK" in done.log
        return [json.loads(line) for line in (project.folder / "out.jl").read_text().splitlines()]

    assert items("rendered", f"-aurl={url}") == [{"made": "by a script"}]
    found = items("template_candidates", f"-aurl={url}", "-an=2")
    assert len(found) == 2
    page, article = sorted(items("texts", f"-aurl={url}"), key=lambda item: "headline" in item)
    text = CONTENT["a"]
    assert len(page.pop("candidates")) == 2
    assert page == {"url": url, "title": "Menu", "text": text, "markdown": text}
    assert [author["name"] for author in article.pop("authors")] == ["Ann", "Bo"]
    assert {name: value for name, value in article.items() if value} == {
        "headline": "Menu",
        "articleBody": text,
        "datePublished": "2024-05-01T10:00:00Z",
        "datePublishedRaw": "2024-05-01T10:00:00+00:00",
        "dateModifiedRaw": "yesterday",
        "url": url,
    }


# The wheel.


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


def test_the_algorithms_work_without_scrapy(made: Path, tmp_path: Path) -> None:
    """In an environment of lxml, parsel, w3lib, tldextract and our wheel, a folder is searched."""
    (wheel,) = (made / "dist").iterdir()
    venv.create(tmp_path / "venv", with_pip=False)
    (site_packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    known: dict[str, Distribution] = {}
    for name in ("lxml", "parsel", "w3lib", "tldextract"):
        needed(name, known)
    for part in {part for found in known.values() for part in parts(found)}:
        (site_packages / part.name).symlink_to(part)
    zipfile.ZipFile(wheel).extractall(site_packages)
    python = tmp_path / "venv" / "bin" / "python"
    done = run_command(python, "-I", "-c", SEARCH, SITES / "menu", folder=tmp_path)
    assert done.log == ""
    assert done.stdout.splitlines() == ["True True", "[]"]
