from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browsers import PROFILE, needs_chromium
from tests.support.crawls import CRAWL, Crawl, RunCrawl, run_scrapy
from tests.support.hostile_pages import html
from tests.support.hostile_server import Exchange, HostileServer

Answer = Callable[[Exchange], None]

HEADER = "Basic " + b64encode(b"anna:ge:h@eim").decode()
USER = "anna:ge:h%40eim@"
SECRETS = [word.encode() for word in ("anna", "ge:h", "h%40eim", HEADER.split()[1])]
MENU = "<ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/moved>C</a></ul>"


class ClosedSite:
    """A site with a password. *headers* has those of each request, by path."""

    def __init__(self, more: dict[str, Answer] | None = None) -> None:
        self.headers: dict[str, dict[str, str]] = {}
        pages = dict.fromkeys(("/", "/a", "/b", "/c", "/x.js"), self.page)
        answers = {"/robots.txt": robots, "/moved": moved_to("/c"), **pages, **(more or {})}
        self.server = HostileServer({path: self.closed(each) for path, each in answers.items()})

    def closed(self, answer: Answer) -> Answer:
        def ask(exchange: Exchange) -> None:
            self.headers[exchange.path] = exchange.headers
            if exchange.headers.get("authorization") == HEADER:
                answer(exchange)
            else:
                challenge = "WWW-Authenticate: Basic realm=x"
                exchange.answer(html("Who are you?"), "401 Unauthorized", challenge)

        return ask

    def page(self, exchange: Exchange) -> None:
        exchange.answer(html(f"<p>{exchange.path} is a page of its own, with words.</p>{MENU}"))

    def key_page(self, path: str = "/") -> str:
        return self.server.url.replace("//", f"//{USER}") + path


def robots(exchange: Exchange) -> None:
    exchange.answer(b"User-agent: *", kind="text/plain")


def moved_to(url: str) -> Answer:
    return lambda exchange: exchange.answer(b"", "302 Found", f"Location: {url}")


def assert_secret(done: Crawl, folder: Path) -> None:
    """Nothing that a crawl wrote, to the log, feeds, pages or the cache, has the password in it."""
    written = {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    written |= {"log": done.log.encode(), "stdout": done.stdout.encode()}
    for name, content in written.items():
        found = [word for word in SECRETS if word in content or word in name.encode()]
        assert not found, name


def test_a_site_with_a_password(crawl: RunCrawl, tmp_path: Path) -> None:
    site = ClosedSite()
    with site.server:
        settings = {"COOKIES_DEBUG": "True", "HTTPCACHE_ENABLED": "True"}
        settings["HTTPCACHE_DIR"] = str(tmp_path / "cache")
        written = {"texts": tmp_path / "texts.json", "save_html": tmp_path / "pages"}
        done = crawl(site.key_page("/#top"), settings, **written)
    assert done.code == 0, done.log
    assert done.summary["complete"]
    assert done.summary["candidates"] == [f"{site.server.url}/{name}" for name in "abc"]
    assert site.headers.keys() == {"/robots.txt", "/", "/a", "/b", "/moved", "/c"}
    site.headers.pop("/robots.txt")
    assert {headers["authorization"] for headers in site.headers.values()} == {HEADER}
    assert site.headers["/a"]["referer"] == f"{site.server.url}/"
    assert list((tmp_path / "cache").rglob("request_headers"))  # of robots.txt
    assert_secret(done, tmp_path)


@pytest.mark.parametrize("how", ["redirect", "refresh"])
def test_another_origin_gets_nothing(crawl: RunCrawl, tmp_path: Path, how: str) -> None:
    other = ClosedSite()
    target = f"{other.server.url}/a"
    refresh = f"<meta http-equiv=refresh content='0; url={target}'>"
    answers: dict[str, Answer] = {
        "redirect": moved_to(target),
        "refresh": lambda exchange: exchange.answer(html("Elsewhere", refresh)),
    }
    site = ClosedSite({"/": answers[how]})
    with site.server, other.server:
        done = crawl(site.key_page())
    assert site.headers["/"]["authorization"] == HEADER
    assert other.headers.keys() == {"/robots.txt", "/a"}
    assert not any("authorization" in headers for headers in other.headers.values())
    assert done.summary["key_outcome"] == "http-401"
    assert_secret(done, tmp_path)


@needs_chromium
def test_scripts_of_a_page(crawl: RunCrawl, tmp_path: Path) -> None:
    other = ClosedSite()
    script = f"document.body.insertAdjacentHTML('beforeend', '{MENU}')".encode()
    sources = (f"{other.server.url}/x.js", "/menu.js")
    scripts = "".join(f"<script defer src={source}></script>" for source in sources)
    site = ClosedSite(
        {
            "/": lambda exchange: exchange.answer(html("Key page", scripts)),
            "/menu.js": lambda exchange: exchange.answer(script, kind="text/javascript"),
        }
    )
    with site.server, other.server:
        done = crawl(site.key_page(), PROFILE)
    assert done.summary["candidates"] == [f"{site.server.url}/{name}" for name in "abc"], done.log
    assert site.headers["/menu.js"]["authorization"] == HEADER
    assert "authorization" not in other.headers["/x.js"]
    assert_secret(done, tmp_path)


def test_a_job_that_can_go_on(tmp_path: Path) -> None:
    site = ClosedSite()
    with site.server:
        given = (f"-aurl={site.key_page()}", f"-O{tmp_path / 'out.jl'}")
        settings = {"JOBDIR": str(tmp_path / "job")}
        done = run_scrapy(*CRAWL, *given, folder=tmp_path, settings=settings)
    assert done.code == 0, done.log
    assert (tmp_path / "out.jl").read_text("utf-8").count("\n") == 3
    assert_secret(done, tmp_path)
