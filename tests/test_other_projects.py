"""In other people's projects: their spiders are left alone, and ours is itself among them."""

from __future__ import annotations

import re
import time
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from tests.support.internet_crawls import at, html, redirect
from tests.support.other_project import Project, make_project, readme_lines
from tests.support.resolvers import DNS_RESOLVER
from tplspider.politeness import user_agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]

INTERNET = {
    DNS_RESOLVER: "tests.support.resolvers.MadeUpInternet",
    "HTTPPROXY_ENABLED": "False",
}
LOOPBACK = {"HTTPPROXY_ENABLED": "False"}
KEY = "/docs/guide/four.html"
OTHER_AGENT = 'USER_AGENT = "otherbot/1.0 (+https://other.example)"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("made"))


@pytest.fixture
def plain(tmp_path: Path, made: Path) -> Project:
    """A project that knows nothing of us."""
    return Project(copytree(made / "project", tmp_path / "plain"), site=None)


@pytest.fixture
def project(tmp_path: Path, made: Path) -> Project:
    """A project with the lines of the README."""
    project = Project(copytree(made / "project", tmp_path / "project"), made / "site")
    project.set(readme_lines())
    return project


class Agents:
    """Notes who asks for what, in the place of a server's respond method."""

    def __init__(self, server: FixtureServer) -> None:
        self.seen: list[tuple[str, str]] = []
        self._respond = server.respond
        server.respond = self.respond  # type: ignore[method-assign]  # the server under watch

    def take(self) -> list[tuple[str, str]]:
        """Who has asked for what since it was last taken."""
        seen, self.seen = self.seen, []
        return seen

    def respond(self, request: Handler) -> None:
        self.seen.append((request.path, request.headers["User-Agent"]))
        self._respond(request)


def test_a_spider_of_another_kind_is_left_alone(
    project: Project, plain: Project, serve: Serve
) -> None:
    """It meets just what it meets in a project that knows nothing of us, and so do the sites."""
    server, elsewhere = serve("menu"), serve("menu")
    site, private = at(server, "www.example.com"), at(elsewhere, "loopback.example.com")
    refresh = f"<meta http-equiv=refresh content='0; url={private}/about.html'>"
    server.routes = {
        "/robots.txt": lambda request: request.answer(
            200, b"User-agent: tplspider\nDisallow: /\n\nUser-agent: otherbot\nDisallow: /shop\n"
        ),
        "/wanted": redirect("/about.html"),
        "/stay": redirect("/about.html"),
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
    """What Scrapy says that it has turned on."""
    return re.findall(r"INFO: Enabled [\w ]+:\n(\[.*?\])\n", done.log, re.DOTALL)


ROBOTS = b"""User-agent: tplspider
Disallow: /docs/guide/one.html
Crawl-delay: 1

User-agent: otherbot
Disallow: /
Crawl-delay: 30

User-agent: *
Allow: /
"""
ROTATING = """
class Rotating:
    def process_request(self, request):
        request.headers["User-Agent"] = "Mozilla/5.0"
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


@pytest.mark.parametrize("way", ["command line", "custom settings"])
def test_a_name_that_is_meant_for_us_is_ours(project: Project, serve: Serve, way: str) -> None:
    """And a robots.txt is read for that one."""
    project.set(OTHER_AGENT + "ROBOTSTXT_OBEY = True")
    project.write(
        "other/spiders/mine.py",
        "from tplspider.spiders.template_candidates import TemplateCandidatesSpider\n"
        "class Mine(TemplateCandidatesSpider):\n"
        '    name = "mine"\n'
        '    custom_settings = {"USER_AGENT": "mine/2.0"}\n',
    )
    server = serve("menu")
    server.routes["/robots.txt"] = lambda request: request.answer(
        200, b"User-agent: mine\nDisallow: /docs/guide/four.html\n"
    )
    agents = Agents(server)
    name = "mine" if way == "custom settings" else "template_candidates"
    settings = {} if way == "custom settings" else {"USER_AGENT": "mine/2.0"}
    done = project.run("crawl", name, f"-aurl={server.url}{KEY}", settings={**LOOPBACK, **settings})
    assert done.code == 0, done.log
    assert agents.seen == [("/robots.txt", "mine/2.0")]
    assert "cannot be used (robots)" in done.log


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


BOTH = """
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

process = AsyncCrawlerProcess(get_project_settings())
process.crawl("template_candidates", url="{public}/", scope="domain", n=9)
process.crawl("other", urls="{public}/slow {private}/a {private}/b")
process.start()
"""


def test_two_spiders_in_one_process(project: Project, serve: Serve) -> None:
    """The search is guarded; the look-ups of the other, at the same time, are not judged."""

    def slow(request: Handler) -> None:
        time.sleep(0.3)
        request.answer(200, b"<p>slow</p>", Content_Type="text/html", Connection="close")

    server, inside = serve("menu"), serve("menu", {"/a": slow, "/b": slow})
    public, private = at(server, "www.example.com"), at(inside, "loopback.example.com")
    links = [f"/page{number}" for number in range(8)]
    server.routes = {
        "/": html(*links, f"{private}/link"),
        "/slow": slow,
        **dict.fromkeys(links, slow),
    }
    project.set(
        'SPIDER_MODULES = [*SPIDER_MODULES, "tests.support.other_spiders"]\nCONCURRENT_REQUESTS = 1'
    )
    project.set("".join(f"{name} = {value!r}\n" for name, value in INTERNET.items()))
    project.write("both.py", BOTH.format(public=public, private=private))
    done = project.python("both.py")
    assert re.findall(r"END \S+/(\w+) (\w+)", done.log) == [
        ("slow", "200"),
        ("a", "200"),
        ("b", "200"),
    ]
    assert f"{private}/link: no page (private-address: " in done.log
    assert "/link" not in inside.log


def test_components_of_a_project_keep_their_places(project: Project, serve: Serve) -> None:
    project.set(
        "DOWNLOADER_MIDDLEWARES = {\n"
        '    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,\n'
        '    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": 20,\n'
        '    "tplspider.politeness.Politeness": None,\n'
        "}"
    )
    server = serve("menu")
    done = project.run(
        "crawl", "template_candidates", f"-aurl={server.url}{KEY}", settings=LOOPBACK
    )
    assert "Spider closed (complete_subdigraph)" in done.log
    (enabled,) = (found for found in middlewares(done) if "Redirect" in found)
    assert "RetryMiddleware" not in enabled
    assert "Politeness" not in enabled
    assert "PrivateAddressMiddleware" in enabled
    assert enabled.index(".RedirectMiddleware") < enabled.index(".DefaultHeadersMiddleware")


def test_the_fast_profile_in_a_project_with_settings(project: Project, serve: Serve) -> None:
    project.set('DOWNLOAD_DELAY = 5\nDOWNLOADER_MIDDLEWARES = {"other.middlewares.Rotating": 543}')
    project.write("other/middlewares.py", ROTATING)
    server = serve("menu")
    start = time.monotonic()
    done = project.run(
        *("crawl", "template_candidates", f"-aurl={server.url}{KEY}"),
        settings={**LOOPBACK, "TPLSPIDER_PROFILE": "fast", "LOG_LEVEL": "DEBUG"},
    )
    assert "Spider closed (complete_subdigraph)" in done.log
    assert time.monotonic() - start < 15
    assert "'DOWNLOAD_MAXSIZE': 10485760" in done.log  # the whole profile
    assert "'BOT_NAME': 'other'" in done.log
    assert "other.middlewares.Rotating" in done.log
