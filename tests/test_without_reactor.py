"""Searches without a Twisted reactor: the same bounds hold for what aiohttp loads."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support import hostile_http, hostile_pages, hostile_sizes
from tests.support.hostile_server import Exchange, HostileServer
from tests.support.many_programs import run_program
from tests.support.template_site import pages_of, routes_of
from tests.test_warc_records import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer

# Names are made up, and what is said to be public is on loopback.
INTERNET = """
    import socket
    from ipaddress import ip_address
    NAMES = {"www": "93.184.216.34", "lan": "10.0.0.1", "loop": "127.0.0.1"}
    connected = []
    def getaddrinfo(host, port, *args, **named):
        host = NAMES.get(host.partition(".")[0], host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
    socket.getaddrinfo = getaddrinfo
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect
    async def sock_connect(sock, address):
        connected.append(address[0])
        assert ip_address(address[0]).is_loopback or address[0] == NAMES["www"]
        await connect(sock, ("127.0.0.1", address[1]))
        pretended[sock.getsockname()] = address
    loop.sock_connect = sock_connect
    pretended = {}
    get_extra_info = asyncio.BaseTransport.get_extra_info
    def extra_info(self, name, default=None):
        found = get_extra_info(self, name, default)
        if name == "peername":
            return pretended.get(get_extra_info(self, "sockname"), found)
        return found
    asyncio.BaseTransport.get_extra_info = extra_info
"""


@pytest.mark.crawl
def test_private_addresses_are_not_connected_to(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    """Neither by a name, nor spelled out, nor by a redirect of a public page."""
    links = "".join(f"<a href=http://{host}.example.com:PORT/x>x</a>" for host in ("lan", "loop"))
    server = serve("menu", routes_of(pages_of()))
    port = server.url.rpartition(":")[2]
    pages = pages_of(more=links.replace("PORT", port) + "<a href=/away>y</a>")
    server.routes |= routes_of(pages)
    server.routes["/away"] = lambda request: request.answer(
        302, b"", Location=f"http://loop.example.com:{port}/secret"
    )
    body = f"""{INTERNET}
    inputs = [f"http://www.example.com:{{given}}/", f"http://lan.example.com:{{given}}/"]
    inputs.append(f"http://127.0.0.1:{{given}}/")
    settings = {{**SETTINGS, "TPLSPIDER_ALLOW_PRIVATE": False, "ROBOTSTXT_OBEY": False}}
    async for answer in tplspider.search_many(inputs, settings, n=9, scope="domain"):
        end = answer.summary
        ends = {{row["link"]: row["reason"] for row in end.explored if row["outcome"] == "none"}}
        show([end.line, end.key_outcome, ends])
    show(sorted(set(connected)))
    """
    done = run_program(body, tmp_path, reactor=False, given=int(port))
    assert done.code == 0, done.log
    *rows, connected = done.printed
    found = {line: (outcome, ends) for line, outcome, ends in rows}
    assert found[2][0] == found[3][0] == "private-address"
    outcome, ends = found[1]
    assert outcome == "ok"
    assert set(ends.values()) == {"private-address"}
    assert len(ends) == 3
    assert connected == ["93.184.216.34"]
    assert not {"/secret", "/x"} & set(server.log)


NAMES = (
    "/silent.html /dribble.html /empty-reply.html /garbage.html /header-long.html"
    " /header-endless.html /large.html /large-unannounced.html /truncated.html /length-word.html"
    " /bad-gzip.html /bomb-gzip.html /flaky.html"
).split()
TRAPS = [t for t in [*hostile_http.TRAPS, *hostile_sizes.TRAPS] if t.path in NAMES]


@pytest.mark.crawl
def test_hostile_answers(tmp_path: Path) -> None:
    links = "".join(f"<li><a href={path}>{path}</a></li>" for path in NAMES)

    def key_page(exchange: Exchange) -> None:
        exchange.answer(hostile_pages.html(f"<ul>{links}</ul>"))

    body = """
    settings = {**SETTINGS, "DOWNLOAD_TIMEOUT": 2, "RETRY_TIMES": 1, "DOWNLOAD_MAXSIZE": 10485760}
    url, archive = given
    async for answer in tplspider.search_many([url + "/"], settings, warc=archive):
        show({row["link"].removeprefix(url): row["reason"] for row in answer.summary.explored})
    """
    answers = {trap.path: trap.answer for trap in TRAPS}
    with HostileServer({**answers, "/": key_page}) as server:
        archive = tmp_path / "a.warc.gz"
        done = run_program(body, tmp_path, reactor=False, given=[server.url, str(archive)])
    assert done.code == 0, done.log
    assert "Traceback" not in done.log
    ends = {trap.path: trap.end.replace("page", "") for trap in TRAPS}
    assert done.printed == [ends]
    outcomes = {
        urlsplit(record.headers["WARC-Target-URI"]).path: record.reader.read().split()[1].decode()
        for record in records(archive)
        if record.headers["WARC-Type"] == "metadata"
    }
    assert outcomes == {path: end for path, end in ends.items() if end}


@pytest.mark.slow
def test_handlers_that_check_no_names(tmp_path: Path) -> None:
    body = """
    path = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
    settings = {"DOWNLOAD_HANDLERS": {"http": path}, "TPLSPIDER_ALLOW_PRIVATE": False}
    try:
        await anext(tplspider.search_many(["http://127.0.0.1/"], settings))
    except RuntimeError as error:
        show(str(error))
    """
    done = run_program(body, tmp_path, reactor=False)
    assert "look up names unchecked" in done.printed[0], done.log
