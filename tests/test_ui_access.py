"""Who may use the server of ``scrapy ui``, and who may not: a real server, and raw requests."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.ui_server import ask
from tplspider.old.crawl.ui.checks import check_wanted
from tplspider.plugins.ui.access import Access, OwnHosts, is_loopback
from tplspider.plugins.ui.server import Plan, serve
from tplspider.plugins.ui.state_folder import StateFolder
from tplspider.plugins.ui.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.ui_server import Answer

# It takes what it is told, and never searches: these tests are about what comes before.
IDLE = [sys.executable, "-c", "import sys; sys.stdin.read()"]
COMMAND = "scrapy ui --dir 'a b'"
ONE = {"addresses": "http://127.0.0.1:1/"}
EXTENSIONS = ["chrome-extension://abcdefghijklmnop", "moz-extension://1b2c-3d4e"]
FOREIGN = [
    "https://evil.example",
    "http://127.0.0.1:1",
    "http://localhost",
    "null",
    "file://",
    "chrome-extension.evil.example",
    "https://chrome-extension://x",
    "http://[",
    "chrome-extension",
]


@dataclass
class Server:
    address: tuple[str, int]
    token: str
    folder: Path

    @property
    def bearer(self) -> str:
        return f"Bearer {self.token}"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.address[1]}"

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return ask(self.address, method, path, body, **headers)

    def cookie(self) -> str:
        """The cookie of a browser that has come in."""
        made = self.ask("POST", "/api/codes", {"to": "/"}, Authorization=self.bearer)
        path = made.json["address"].removeprefix(self.origin)
        return self.ask("GET", path).headers["Set-Cookie"].partition(";")[0]

    def count(self) -> int:
        total: int = self.ask("GET", "/api/searches", Authorization=self.bearer).json["total"]
        return total


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = StateFolder(tmp_path_factory.mktemp("ui") / "state")
    loop = asyncio.new_event_loop()
    stop, is_ready = asyncio.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        plan = Plan(folder, folder.token(), "127.0.0.1", listener, check_wanted, IDLE, {}, COMMAND)
        work = serve(plan, lambda _: is_ready.set(), stop)
        thread = threading.Thread(target=lambda: loop.run_until_complete(work))
        thread.start()
        assert is_ready.wait(60)
        yield Server(("127.0.0.1", plan.port), folder.token(), folder.path)
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
    assert not thread.is_alive()
    loop.close()


def error_of(answer: Answer) -> str:
    """What was told, in one line."""
    told: str = answer.json["error"]
    assert "\n" not in told
    return told


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token(server: Server, method: str) -> None:
    count = server.count()
    for path in ("/api/searches", "/api/codes", f"/api/searches/{'0' * 16}/cancel", "/"):
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {server.token}"},
            {"Authorization": f"Bearer {server.token}x"},
            {"Cookie": f"tplspider_{server.address[1]}={server.token}"},
            {"Cookie": f"tplspider_{server.address[1]}="},
        ):
            found = server.ask(method, path, ONE if method == "POST" else None, **headers)
            assert found.status == 401, (path, headers)
            assert error_of(found)
            assert server.token.encode() not in found.body
    assert server.count() == count


def test_another_host(server: Server) -> None:
    """A site that has its name lead to 127.0.0.1 sends its own name, and has the origin of it."""
    port = server.address[1]
    for host in (
        f"evil.example:{port}",
        "evil.example",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.evil.example:{port}",
        f"evil@127.0.0.1:{port}",
        f"127.0.0.1:{port}/x",
        "",
    ):
        headers = {"Host": host, "Authorization": server.bearer, "Origin": f"http://{host}"}
        for method in ("GET", "OPTIONS"):
            found = server.ask(method, "/api/searches", **headers)
            assert found.status in (400, 403), host
        assert server.ask("GET", "/enter?code=x", Host=host).status in (400, 403)
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        found = server.ask("GET", "/api/searches", Host=host, Authorization=server.bearer)
        assert found.status == 200


@pytest.mark.parametrize("origin", FOREIGN)
def test_another_origin(server: Server, origin: str) -> None:
    count = server.count()
    for headers in ({"Authorization": server.bearer}, {"Cookie": server.cookie()}):
        for method, path in (("GET", "/api/searches"), ("POST", "/api/searches"), ("GET", "/")):
            body = ONE if method == "POST" else None
            found = server.ask(method, path, body, Origin=origin, **headers)
            assert found.status == 403
            assert "Access-Control-Allow-Origin" not in found.headers
    asked = {"Access_Control_Request_Method": "POST", "Origin": origin}
    found = server.ask("OPTIONS", "/api/searches", **asked)
    assert found.status == 403
    assert not [name for name in found.headers if name.startswith("Access-Control")]
    assert server.count() == count


@pytest.mark.parametrize("origin", EXTENSIONS)
def test_an_extension(server: Server, origin: str) -> None:
    """The token decides; the answers to its requests, a refusal too, are for it to read."""
    asked = {
        "Access_Control_Request_Method": "POST",
        "Access_Control_Request_Headers": "authorization,content-type",
    }
    found = server.ask("OPTIONS", "/api/searches", Origin=origin, **asked)
    assert found.status == 204
    assert found.headers["Access-Control-Allow-Origin"] == origin
    assert "Authorization" in found.headers["Access-Control-Allow-Headers"]
    for headers, status in (
        ({"Authorization": server.bearer}, 200),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Cookie": server.cookie()}, 401),
    ):
        found = server.ask("GET", "/api/searches", Origin=origin, **headers)
        assert found.status == status
        assert found.headers["Access-Control-Allow-Origin"] == origin
        assert "Access-Control-Allow-Credentials" not in found.headers
    found = server.ask("POST", "/api/searches", ONE, Origin=origin, Authorization=server.bearer)
    assert found.status == 201


def test_a_code_works_once(server: Server) -> None:
    made = server.ask("POST", "/api/codes", {"to": "/?url=x#y"}, Authorization=server.bearer)
    path = made.json["address"].removeprefix(server.origin)
    assert re.fullmatch(r"/enter\?code=[\w-]{20,}", path)
    found = server.ask("GET", path)
    assert (found.status, found.headers["Location"]) == (303, "/?url=x#y")
    name, *attributes = found.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {*attributes}
    assert name.startswith(f"tplspider_{server.address[1]}=")
    assert server.token not in name
    again = server.ask("GET", path, Accept="text/html")
    assert again.status == 401
    assert "Set-Cookie" not in again.headers
    assert b'<pre class="text">scrapy ui --dir &#x27;a b&#x27; --open</pre>' in again.body
    # A browser that is known already goes on: it was a reload.
    again = server.ask("GET", path, Cookie=name)
    assert (again.status, again.headers["Location"]) == (303, "/")
    assert "Set-Cookie" not in again.headers
    # Only a hash of the cookie is kept.
    value = name.partition("=")[2].encode()
    kept = b"".join(file.read_bytes() for file in server.folder.iterdir())
    assert value not in kept
    assert server.ask("GET", "/", Cookie=name).status == 200


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "/\\evil.example", "https://evil.example/", "x", "", "/a\r\nX: y", "/a b"],
)
def test_a_code_leads_to_ourselves(server: Server, path: str) -> None:
    found = server.ask("POST", "/api/codes", {"to": path}, Authorization=server.bearer)
    assert found.status == 400
    assert "path of this server" in error_of(found)


def test_a_code_is_valid_for_a_minute(tmp_path: Path) -> None:
    now = [1000.0]
    store = RunStore(tmp_path)
    access = Access("t" * 43, 1, store, clock=lambda: now[0])
    first, second = access.make_code("/a"), access.make_code("/b")
    now[0] += 59
    assert access.redeem(first) == "/a"
    now[0] += 2
    assert access.redeem(second) is None
    codes = [access.make_code("/") for _ in range(200)]
    assert [bool(access.redeem(code)) for code in codes] == [False] * 100 + [True] * 100
    # Those who were let in are known after a restart, for a month, unless there is a new token.
    value = access.open_session()
    assert Access("t" * 43, 1, store, clock=lambda: now[0]).has_session(value)
    now[0] += 31 * 24 * 3600
    assert not access.has_session(value)
    last = [access.open_session() for _ in range(150)]
    assert sum(map(access.has_session, last)) == 100
    assert access.has_session(last[-1])
    store.forget_sessions()
    assert not Access("t" * 43, 1, store, clock=lambda: now[0]).has_session(last[-1])
    store.close()


def test_the_cookie(server: Server) -> None:
    """It reads; it changes something only for a page of ours, and is nothing on another port."""
    cookie, count = server.cookie(), server.count()
    assert server.ask("GET", "/api/searches", Cookie=cookie).status == 200
    assert server.ask("POST", "/api/searches", ONE, Cookie=cookie).status == 403
    form = {"Cookie": cookie, "Origin": server.origin, "Content_Type": "text/plain"}
    assert server.ask("POST", "/api/searches", ONE, **form).status == 415
    assert server.count() == count
    own = {"Cookie": cookie, "Origin": server.origin}
    assert server.ask("POST", "/api/searches", ONE, **own).status == 201
    value = cookie.partition("=")[2]
    for name in (f"tplspider_{server.address[1] + 1}", "tplspider_", "tplspider"):
        assert server.ask("GET", "/api/searches", Cookie=f"{name}={value}").status == 401


def test_a_browser_that_is_known_keeps_its_cookie(server: Server) -> None:
    """Or a hundred reports, opened by the button of one browser, would shut out all others."""
    cookie = server.cookie()
    made = server.ask("POST", "/api/codes", {"to": "/x"}, Authorization=server.bearer).json
    path = made["address"].removeprefix(server.origin)
    found = server.ask("GET", path, Cookie=cookie)
    assert (found.status, found.headers["Location"]) == (303, "/x")
    assert "Set-Cookie" not in found.headers


def test_a_full_disk_shuts_nobody_out(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    access = Access("t" * 43, 1, store)
    store.close()  # nothing can be written any more
    assert access.has_session(access.open_session())


def test_pages_on_other_ports_of_this_host(server: Server) -> None:
    """The browser sends our cookie for what they ask for, too, and says whose wish it is."""
    cookie = server.cookie()
    for path in ("/api/searches", "/", "/searches/summary.json"):
        for site in ("same-site", "cross-site"):
            headers = {"Cookie": cookie, "Sec_Fetch_Site": site}
            for mode, where in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe")):
                told = {"Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": where}
                assert server.ask("GET", path, **headers, **told).status == 403
            # A link, or the bookmarklet, that leads here.
            visit = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
            assert server.ask("GET", path, **headers, **visit).status == 200


def test_reading_changes_nothing(server: Server) -> None:
    count = server.count()
    own = {"Cookie": server.cookie()}
    for path in (
        "/?url=http://127.0.0.1:1/",
        "/api/searches?addresses=http://127.0.0.1:1/",
        "/api/codes",
        "/api/searches/cancel",
        f"/api/searches/{'0' * 16}/cancel",
    ):
        for method in ("GET", "HEAD"):
            server.ask(method, path, **own)
    assert server.count() == count


def test_what_every_answer_carries(server: Server) -> None:
    own = {"Cookie": server.cookie()}
    for path in ("/", "/static/home.js", "/api/searches", "/nothing", f"/searches/{'0' * 16}"):
        found = server.ask("GET", path, Accept="text/html", **own)
        policy = found.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert b" style=" not in found.body
        assert not re.search(rb"<script(?! type=\"module\" src=)|<style|\son\w+=", found.body)
    assert server.ask("GET", "/static/../home.html", **own).status == 404
    assert server.ask("GET", "/static/enter.html", **own).status == 404


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"addresses": ""}, 400, "no address"),
        ({"addresses": "# a comment\n\n"}, 400, "no address"),
        ({"addresses": 3}, 400, "expected"),
        ({"urls": "http://127.0.0.1/"}, 400, "expected"),
        ([], 400, "expected"),
        ({"addresses": "http://127.0.0.1/", "n": 0}, 400, "n: expected"),
        ({"addresses": "http://127.0.0.1/", "n": "<b>"}, 400, "n: expected"),
        ({"addresses": "http://127.0.0.1/", "strategy": "x"}, 400, "strategy: "),
        ({"addresses": "http://127.0.0.1/", "max_loads": 0}, 400, "expected"),
        ({"addresses": "javascript:ran=1"}, 400, "neither http nor https"),
        ({"addresses": "x" * 9_000_000}, 413, "more than"),
        ({"addresses": "http://127.0.0.1/\n" * 20_001}, 413, "more than 20000"),
        ({"addresses": "ftp:\n" * 1_000_000}, 413, "more than 20000"),
    ],
)
def test_what_cannot_be_searched(server: Server, body: Any, status: int, words: str) -> None:
    count = server.count()
    found = server.ask("POST", "/api/searches", body, Authorization=server.bearer)
    assert found.status == status
    assert words in error_of(found)
    assert server.count() == count


@pytest.mark.slow
def test_ten_thousand_addresses(server: Server) -> None:
    """All are in the list, the lines that will not do are told, and no password is kept."""
    lines = [f"http://me:secret@127.0.0.1:1/{number}" for number in range(10_000)]
    lines[5:5] = ["ftp://example.org/", "", "# mine", "http://me:secret@[::1/"]
    lines += ["ftp://example.org/"] * 2000
    body = {"addresses": "\n".join(lines), "n": 2, "strategy": "paper"}
    found = server.ask("POST", "/api/searches", body, Authorization=server.bearer)
    assert found.status == 201
    assert len(found.json["searches"]) == 10_000
    refused = [(row["line"], row["reason"]) for row in found.json["refused"]]
    assert len(refused) == found.json["refused_count"] == 2002
    assert refused[:2] == [(6, "neither http nor https"), (9, "not a valid address")]
    assert b"secret" not in found.body
    own = {"Authorization": server.bearer}
    listed = server.ask("GET", "/api/searches?limit=3", **own).json
    assert [run["url"] for run in listed["searches"]] == [
        f"http://127.0.0.1:1/{number}" for number in (9_999, 9_998, 9_997)
    ]
    last = listed["searches"][-1]["number"]
    older = server.ask("GET", f"/api/searches?limit=1&before={last}", **own).json["searches"]
    assert older[0]["url"] == "http://127.0.0.1:1/9996"
    assert listed["waiting"] >= 10_000
    # Twenty thousand at a time are open at most.
    for _ in range(2):
        found = server.ask("POST", "/api/searches", body, Authorization=server.bearer)
    assert found.status == 400
    assert "20000 is the most" in error_of(found)
    assert server.ask("POST", "/api/searches/cancel", {}, **own).json["cancelled"] >= 10_000
    listed = server.ask("GET", "/api/searches", **own).json
    assert (listed["waiting"], listed["running"]) == (0, 0)
    assert {run["state"] for run in listed["searches"]} == {"cancelled"}
    kept = b"".join(file.read_bytes() for file in server.folder.iterdir())
    assert b"/9999" in kept
    assert b"secret" not in kept


POST = """POST /api/searches HTTP/1.1
Host: {host}
Authorization: {bearer}
Content-Type: application/json
Content-Encoding: gzip
Content-Length: 3
Connection: close

abc"""


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "Duplicate 'Host' header found."),
        ("GET * HTTP/1.1\r\nHost: x\r\n\r\n", "*"),
        ("GET / HTTP/1.1\r\nHost: x\r\nA: " + "a" * 10_000 + "\r\n\r\n", "Got more than"),
        (
            POST.replace("\n", "\r\n"),
            "400, message: Can not decode content-encoding: gzip",
        ),
    ],
)
def test_what_is_not_http_is_one_line(
    server: Server, caplog: pytest.LogCaptureFixture, sent: str, words: str
) -> None:
    host = f"127.0.0.1:{server.address[1]}"
    caplog.set_level("INFO")
    with socket.create_connection(server.address, timeout=60) as connection:
        connection.sendall(sent.format(host=host, bearer=server.bearer).encode())
        with connection.makefile("rb") as answer:
            assert b" 400 " in answer.readline()
            answer.read()  # until the server has closed it, and told what there is to tell
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("INFO", None)
    assert record.getMessage().startswith(f"A request that cannot be read: {words}")
    assert "\n" not in record.getMessage()


def test_own_hosts() -> None:
    assert "[::1]:80" in OwnHosts("::1", 80)
    assert "[::1]" in OwnHosts("::1", 80)
    assert "mine.example:8765" in OwnHosts("mine.example", 8765)
    everywhere = OwnHosts("0.0.0.0", 8765)
    assert "192.0.2.7:8765" in everywhere
    assert "[2001:db8::1]:8765" in everywhere
    assert "evil.example:8765" not in everywhere
    assert "192.0.2.7:8765" not in OwnHosts("127.0.0.1", 8765)
    loopback = ("127.0.0.1", "127.1.2.3", "::1", "localhost", "0.0.0.0", "192.0.2.7", "x.example")
    assert [*map(is_loopback, loopback)] == [True] * 4 + [False] * 3
