"""Cookies with a domain: nothing is asked of the network to tell whose they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT
from tests.support.resolvers import DNS_RESOLVER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

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


@pytest.mark.parametrize("many", [False, True], ids=["a page", "a list"])
def test_the_first_cookie(
    serve: Callable[..., FixtureServer], tmp_path: Path, *, many: bool
) -> None:
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
    done = subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
            f"-aurls={tmp_path / 'keys.txt'}" if many else f"-aurl={url}",
            *(f"-asummary={tmp_path / 'summary.json'}", "-sDOWNLOAD_DELAY=0"),
            f"-s{DNS_RESOLVER}=tests.support.stub_crawls.CheckedInternet",
        ],
        cwd=PROJECT,
        env={
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "PYTHONPATH": str(tmp_path),
            "TLDEXTRACT_CACHE": str(tmp_path / "suffixes"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (summary,) = json.loads((tmp_path / "summary.json").read_bytes())
    assert summary["complete"], done.stderr
    assert cookies == [None, "a=1"]
    seen = [line for line in done.stderr.splitlines() if line.startswith(("LOOKED", "CONNECTED"))]
    assert seen
    # The site itself: its name is answered by the made-up internet.
    assert {line for line in seen if "127.0.0.1" not in line} == {"LOOKED UP www.example.com"}
