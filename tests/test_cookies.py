import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.crawls import CRAWL, DNS_RESOLVER, FixtureServer, Serve, run_command, run_scrapy
from tests.support.site_server import Handler

KEY = "/docs/guide/four.html"
# Python imports it before anything else: a witness of every look-up and connection.
WITNESS = """
import sys

def witness(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        print("LOOKED UP", arguments[0], file=sys.stderr)
    elif event == "socket.connect":
        print("CONNECTED TO", arguments[1], file=sys.stderr)

sys.addaudithook(witness)
"""


def test_nothing_is_looked_up(serve: Serve, tmp_path: Path) -> None:
    cookies: list[str | None] = []
    server = serve("menu")

    def respond(request: Handler) -> None:
        cookies.append(request.headers.get("Cookie"))
        found = server.find(request.path)
        assert found
        cookie = "a=1; Domain=example.com; Path=/"
        request.answer(200, found.read_bytes(), Content_Type="text/html", Set_Cookie=cookie)

    server.routes = dict.fromkeys((KEY, "/docs/guide/one.html"), respond)
    url = server.url.replace("127.0.0.1", "www.example.com") + KEY
    (tmp_path / "sitecustomize.py").write_text(WITNESS, "utf-8")
    (tmp_path / "keys.txt").write_text(url, "utf-8")
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env |= {"PYTHONPATH": str(tmp_path), "TLDEXTRACT_CACHE": str(tmp_path / "suffixes")}
    done = run_command(
        *(sys.executable, "-m", "scrapy", *CRAWL, f"-aurls={tmp_path / 'keys.txt'}"),
        *(f"-asummary={tmp_path / 'summary.json'}", "-sDOWNLOAD_DELAY=0"),
        f"-s{DNS_RESOLVER}=tests.support.stub_crawls.CheckedInternet",
        env=env,
    )
    (summary,) = json.loads((tmp_path / "summary.json").read_bytes())
    assert summary["complete"], done.log
    assert cookies == [None, "a=1"]
    seen = [line for line in done.log.splitlines() if line.startswith(("LOOKED", "CONNECTED"))]
    assert seen
    # The site itself: its name is answered by the made-up internet.
    assert {line for line in seen if "127.0.0.1" not in line} == {"LOOKED UP www.example.com"}


class Seen:
    """Answers as a site does that sets a cookie with each page, named after where it was set."""

    def __init__(self, server: FixtureServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cookies: dict[str, str | None] = {}
        self._server = server
        monkeypatch.setattr(server, "respond", self.respond)

    def respond(self, request: Handler) -> None:
        path, _, query = request.path.partition("?")
        self.cookies[request.path] = request.headers["Cookie"]
        name = {"/robots.txt": "robots=1", KEY: f"key=k{query}"}
        found = self._server.find(path)
        request.answer(
            200 if found else 404,
            found.read_bytes() if found else b"",
            Content_Type="text/html",
            **({"Set_Cookie": f"{name[path]}; Path=/"} if path in name else {}),
        )


def test_searches_of_one_host_have_their_own(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("menu")
    seen = Seen(server, monkeypatch)
    keys = tmp_path / "keys.txt"
    keys.write_text("".join(f"{server.url}{KEY}?{number}\n" for number in range(4)))
    assert run_scrapy(*CRAWL, f"-aurls={keys}", folder=tmp_path).code == 0
    assert [seen.cookies[f"{KEY}?{number}"] for number in range(4)] == [None] * 4
    assert seen.cookies["/robots.txt"] is None
    # Links are loaded for the search that asks first, with its cookie.
    of_links = {cookie for path, cookie in seen.cookies.items() if KEY not in path and cookie}
    assert of_links <= {f"key=k{number}" for number in range(4)}
    assert of_links
