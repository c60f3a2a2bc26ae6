import hmac
import os
import re
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.ui_server import Answer, UiServer, ask, wait_until
from tplspider.plugins.ui.access import MOST_CONNECTIONS, PATIENCE, Access, sign

pytestmark = pytest.mark.crawl

ONE = {"addresses": "http://127.0.0.1:1/"}
NONCE = "5e" * 16
ODD = ("null", "https://chrome-extension://x", "http://[")
FOREIGN = ("https://evil.example", "http://127.0.0.1:1", *ODD)


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UiServer]:
    with UiServer(tmp_path_factory.mktemp("ui") / "state") as server:
        yield server
    assert server.log == ""


def bare(ui: UiServer, method: str, path: str, body: object = None, **headers: str) -> Answer:
    return ask(ui.address, method, path, body, **headers)


def cookie_of(ui: UiServer) -> str:
    made = ui.ask("POST", "/api/codes", {"to": "/"}).json["address"]
    return bare(ui, "GET", made.removeprefix(ui.url)).headers["Set-Cookie"].partition(";")[0]


def count(ui: UiServer) -> int:
    return len(ui.ask("GET", "/api/searches?limit=1000").json["searches"])


@pytest.mark.quick
def test_without_the_token(ui: UiServer) -> None:
    before, name = count(ui), f"tplspider_{ui.address[1]}"
    zeros = "0" * 16
    for path in (
        *("/api/searches", "/api/codes", f"/api/searches/{zeros}/cancel", "/", "/summary.csv"),
        *(f"/searches/{zeros}/report", f"/searches/{zeros}/text.txt", "/searches/texts.jl"),
    ):
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {ui.token}"},
            {"Authorization": f"Bearer {ui.token}x"},
            {"Cookie": f"{name}={ui.token}"},
            {"Cookie": f"{name}="},
        ):
            for method, body in (("GET", None), ("POST", ONE)):
                found = bare(ui, method, path, body, **headers)
                assert found.status == 401, (path, headers)
                # It tells no path, and nothing of the token.
                assert str(ui.folder).encode() not in found.body
                assert ui.token.encode() not in found.body
                assert found.headers["Connection"] == "close"
    assert count(ui) == before


def test_the_server_proves_that_it_knows_the_token(ui: UiServer) -> None:
    """To all who ask; the proof is for its address, and a key made from it opens the server."""
    port = ui.address[1]
    told = bare(ui, "GET", f"/api/hello?nonce={NONCE}").json
    words = f"proof {ui.url} {told['start']} {NONCE}".encode()
    assert told["proof"] == hmac.new(ui.token.encode(), words, "sha256").hexdigest()
    assert ui.token not in str(told)
    key = sign(ui.token, f"key {port} {told['start']}")
    assert bare(ui, "GET", "/api/searches", Authorization=f"Bearer {key}").status == 200
    for wrong in (f"key {port} 00", f"key {port + 1} {told['start']}"):
        other = sign(ui.token, wrong)
        assert bare(ui, "GET", "/api/searches", Authorization=f"Bearer {other}").status == 401
    for nonce in ("", "5e", "z" * 32, "5e" * 100):
        assert bare(ui, "GET", f"/api/hello?nonce={nonce}").status == 400
    assert bare(ui, "GET", f"/api/hello?nonce={NONCE}", Origin="http://evil.example").status == 403
    # A relay on another port has a proof that is worth nothing there.
    relay = f"http://127.0.0.1:{port + 1}"
    assert told["proof"] != sign(ui.token, f"proof {relay} {told['start']} {NONCE}")


@pytest.mark.quick
def test_an_entrance_made_by_another_process(ui: UiServer) -> None:
    """As by a second start: it takes the token, and is for one server, path and minute alone."""
    port, now = ui.address[1], time.time()

    def enter(token: str, port: int, change: str = "", ago: float = 0) -> int:
        entrance = Access(token, port, clock=lambda: now - ago).entrance("/a")
        assert token not in entrance
        path = entrance.removeprefix(f"http://127.0.0.1:{port}")
        return bare(ui, "GET", path.replace("%2Fa", change or "%2Fa")).status

    assert enter(ui.token, port) == 303
    assert enter(ui.token, port + 1) == enter(f"{ui.token}x", port) == 401
    assert enter(ui.token, port, change="%2Fb") == enter(ui.token, port, ago=61) == 401
    for code in ("", ".", "1.2.3", "%F0%28", "\u00e9".encode().hex()):
        assert bare(ui, "GET", f"/enter?code={code}&to=/").status == 401


@pytest.mark.quick
def test_another_host(ui: UiServer) -> None:
    """A site that has its name lead to 127.0.0.1 sends its own name, and has the origin of it."""
    port, bearer = ui.address[1], f"Bearer {ui.token}"
    for host in (
        *(f"evil.example:{port}", "evil.example", "127.0.0.1", f"127.0.0.1:{port + 1}"),
        *(f"127.0.0.1.evil.example:{port}", f"evil@127.0.0.1:{port}", f"127.0.0.1:{port}/x", ""),
    ):
        headers = {"Host": host, "Authorization": bearer, "Origin": f"http://{host}"}
        for method in ("GET", "OPTIONS"):
            assert bare(ui, method, "/api/searches", **headers).status in (400, 403), host
        for path in ("/enter?code=x", f"/api/hello?nonce={NONCE}"):
            assert bare(ui, "GET", path, Host=host).status in (400, 403)
    assert ui.ask("GET", "/api/searches", Host=f"localhost:{port}").status == 200


@pytest.mark.quick
def test_another_origin(ui: UiServer) -> None:
    before, cookie = count(ui), cookie_of(ui)
    for origin in FOREIGN:
        for headers in ({"Authorization": f"Bearer {ui.token}"}, {"Cookie": cookie}):
            for method, path in (("GET", "/api/searches"), ("POST", "/api/searches"), ("GET", "/")):
                body = ONE if method == "POST" else None
                found = bare(ui, method, path, body, Origin=origin, **headers)
                assert found.status == 403
                assert "Access-Control-Allow-Origin" not in found.headers
    assert count(ui) == before


@pytest.mark.quick
def test_an_extension(ui: UiServer) -> None:
    """The token decides. Browsers let it read answers for its permission, not for ours."""
    for origin in ("chrome-extension://abcdefgh", "moz-extension://1b2c-3d4e"):
        for headers, status in (
            ({"Authorization": f"Bearer {ui.token}"}, 200),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Cookie": cookie_of(ui)}, 401),
        ):
            found = bare(ui, "GET", "/api/searches", Origin=origin, **headers)
            assert found.status == status
            assert not [name for name in found.headers if name.startswith("Access-Control")]


@pytest.mark.quick
def test_a_code_works_once(ui: UiServer) -> None:
    made = ui.ask("POST", "/api/codes", {"to": "/?url=x#y"}).json["address"]
    path = made.removeprefix(ui.url)
    found = bare(ui, "GET", path)
    assert (found.status, found.headers["Location"]) == (303, "/?url=x#y")
    name, *attributes = found.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {*attributes}
    assert ui.token not in name
    again = bare(ui, "GET", path, Accept="text/html")
    assert (again.status, again.headers.get("Set-Cookie")) == (401, None)
    assert b"scrapy ui --open" in again.body
    assert str(ui.folder).encode() not in again.body
    # A browser that is signed in goes on, and keeps its cookie: it was a reload.
    again = bare(ui, "GET", path, Cookie=name)
    assert (again.status, again.headers.get("Set-Cookie")) == (303, None)
    assert bare(ui, "GET", "/", Cookie=name).status == 200


def test_a_code_leads_to_ourselves(ui: UiServer) -> None:
    for path in ("//evil.example", "/\\evil.example", "https://evil.example/", "x", "/a\r\nX: y"):
        assert ui.ask("POST", "/api/codes", {"to": path}).status == 400, path


def test_codes_and_sessions_end() -> None:
    now = [1000.0]
    access = Access("t" * 43, 1, clock=lambda: now[0])

    def redeem(entrance: str) -> bool:
        given = parse_qs(urlsplit(entrance).query)
        return access.redeem(given["code"][0], given["to"][0])

    first, second = access.entrance("/a"), access.entrance("/b")
    now[0] += 59
    assert [redeem(first), redeem(first)] == [True, False]
    now[0] += 2
    assert not redeem(second)
    third = access.entrance("/c")
    now[0] += 1
    access = Access("t" * 43, 1, clock=lambda: now[0])  # it may have been used before
    assert not redeem(third)
    cookies = [{access.cookie: access.open_session()} for _ in range(150)]
    requests: list[Any] = [SimpleNamespace(cookies=each) for each in cookies]
    assert [access.has_session(each) for each in requests] == [False] * 50 + [True] * 100
    # They are good for one start of the server: its port may be another program's after that.
    assert not Access("t" * 43, 1).has_session(requests[-1])


@pytest.mark.quick
def test_the_cookie(ui: UiServer) -> None:
    """It reads; it changes something only for a page of ours, and is nothing on another port."""
    cookie, before = cookie_of(ui), count(ui)
    assert bare(ui, "GET", "/api/searches", Cookie=cookie).status == 200
    assert bare(ui, "POST", "/api/searches", ONE, Cookie=cookie).status == 403
    form = {"Cookie": cookie, "Origin": ui.url, "Content_Type": "text/plain"}
    assert bare(ui, "POST", "/api/searches", ONE, **form).status == 415
    value = cookie.partition("=")[2]
    for name in (f"tplspider_{ui.address[1] + 1}", "tplspider"):
        assert bare(ui, "GET", "/api/searches", Cookie=f"{name}={value}").status == 401
    for path in ("/?url=http://127.0.0.1:1/", "/api/searches?addresses=x", "/api/searches/cancel"):
        for method in ("GET", "HEAD"):
            bare(ui, method, path, Cookie=cookie)
    assert count(ui) == before
    assert bare(ui, "POST", "/api/searches", ONE, Cookie=cookie, Origin=ui.url).status == 201


@pytest.mark.quick
def test_pages_on_other_ports_of_this_host(ui: UiServer) -> None:
    """The browser sends our cookie for what they ask for, too, and says whose wish it is."""
    cookie = cookie_of(ui)
    for path in ("/api/searches", "/", "/searches/summary.json"):
        for site in ("same-site", "cross-site"):
            headers = {"Cookie": cookie, "Sec_Fetch_Site": site}
            for mode, where in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe")):
                told = {"Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": where}
                assert bare(ui, "GET", path, **headers, **told).status == 403
            # A link, or the bookmarklet, that leads here.
            visit = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
            assert bare(ui, "GET", path, **headers, **visit).status == 200


@pytest.mark.quick
def test_what_every_answer_carries(ui: UiServer) -> None:
    own = {"Cookie": cookie_of(ui), "Accept": "text/html"}
    for path in ("/", "/static/home.js", "/api/searches", "/nothing", f"/searches/{'0' * 16}"):
        found = bare(ui, "GET", path, **own)
        policy = found.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert not re.search(
            rb"<script(?! type=\"module\" src=)|<style|\s(on\w+|style)=", found.body
        )
    for path in (
        "/static/../home.html",
        "/static/home.html",
        "/static/no.js",
        f"/static/{300 * 'a'}",
    ):
        assert bare(ui, "GET", path, **own).status == 404


def test_a_thousand_addresses(tmp_path: Path) -> None:
    """All are in the list, lines that cannot be searched are named, and no password is kept."""
    lines = [f"http://me:secret@127.0.0.1:1/{number}" for number in range(1000)]
    lines[5:5] = ["ftp://example.org/", "", "# mine", "http://me:secret@[::1/"]
    with UiServer(tmp_path / "state") as ui:
        body = {"addresses": "\n".join(lines), "n": 2, "strategy": "paper"}
        found = ui.ask("POST", "/api/searches", body)
        assert (found.status, len(found.json["searches"])) == (201, 1000)
        assert [row["line"] for row in found.json["refused"]] == [6, 9]
        assert b"secret" not in found.body
        listed = ui.ask("GET", "/api/searches?limit=3").json["searches"]
        urls = [run["url"] for run in listed]
        assert urls == [f"http://127.0.0.1:1/{number}" for number in (999, 998, 997)]
        older = ui.ask("GET", f"/api/searches?limit=1&before={listed[-1]['number']}")
        assert older.json["searches"][0]["url"] == "http://127.0.0.1:1/996"
        ui.ask("POST", "/api/searches/cancel", {})
        wait_until(lambda: not ui.ask("GET", "/api/searches?state=open").json["searches"])
        kept = b"".join(file.read_bytes() for file in ui.folder.iterdir())
        assert b"/999" in kept
        assert b"secret" not in kept


def test_connections_of_others_do_not_shut_the_owner_out(tmp_path: Path) -> None:
    """Many are opened, and send nothing, or half a request: the log has no line of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held: list[socket.socket] = []
    half = b"POST /api/searches HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n"
    try:
        with UiServer(tmp_path / "state", limit=256) as ui:
            for number in range(600):
                held.append(socket.create_connection(ui.address, timeout=20))
                held[-1].sendall((b"", half, half + b"\r\nabc")[number % 3])
                if number % 200 == 199:
                    assert ui.ask("GET", "/api/searches").status == 200
            files = len(os.listdir(f"/proc/{ui.process.pid}/fd"))  # noqa: PTH208
            assert files < MOST_CONNECTIONS + 80
            # Those that are left end by themselves; that of the owner does not.
            stream = socket.create_connection(ui.address, timeout=60)
            head = f"GET /api/searches HTTP/1.1\r\nHost: 127.0.0.1:{ui.address[1]}\r\n"
            request = f"{head}Authorization: Bearer {ui.token}\r\n\r\n".encode()
            stream.sendall(request)
            assert stream.recv(65536).startswith(b"HTTP/1.1 200")
            held[-1].settimeout(3 * PATIENCE)
            begun = time.monotonic()
            while held[-1].recv(65536):
                pass
            assert time.monotonic() - begun < 2 * PATIENCE
            stream.sendall(request)
            assert stream.recv(65536).startswith(b"HTTP/1.1 200")
            stream.close()
            assert len(ui.log.splitlines()) == 0, ui.log[:2000]
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
