"""Misbehaviour of redirects: loops, chains, and ways off the site."""

from collections.abc import Callable

from tests.support.hostile_pages import HOST, html, page
from tests.support.hostile_server import Exchange, Trap

Answer = Callable[[Exchange], None]

CHAIN = 25
CROWD = 200


def fill(address: str, exchange: Exchange) -> str:
    """Put the ports of the server into an address."""
    ports = {"PORT": exchange.server.port, "OTHER": exchange.server.other_port}
    for name, port in ports.items():
        address = address.replace(name, str(port))
    return address


def redirect(target: str, status: str = "302 Found") -> Answer:
    return lambda exchange: exchange.answer(b"", status, f"Location: {fill(target, exchange)}")


def refresh(target: str, delay: str = "0") -> Answer:
    """A page with a meta refresh; no page is the same as another."""

    def answer(exchange: Exchange) -> None:
        url = fill(target, exchange)
        meta = f'<meta http-equiv="refresh" content="{delay}; url={url}">'
        exchange.answer(html(exchange.path, meta))

    return answer


def cookie(exchange: Exchange) -> None:
    if "seen=1" in exchange.headers.get("cookie", ""):
        exchange.answer(html("Cookies are kept"))
    else:
        target = f"Location: {exchange.path}"
        exchange.answer(b"", "302 Found", target, "Set-Cookie: seen=1; Path=/")


def grow(exchange: Exchange) -> None:
    exchange.answer(b"", "302 Found", f"Location: {exchange.path}x")


STEPS: dict[str, Answer] = {
    "/target.html": page(),
    "/end.html": page(),
    **{f"/chain-{i}.html": redirect(f"/chain-{i + 1}.html") for i in range(1, CHAIN)},
    f"/chain-{CHAIN}.html": page(),
    **{f"/grow.html?{'x' * i}": grow for i in range(2, 99)},
}
"""What is answered to those who follow redirects, and linked from nowhere."""

FOLLOWED = [
    Trap("/moved.html", "page", redirect("/target.html")),
    Trap("/moved-307.html", "duplicate-of /target.html", redirect("./x/../target.html", "307 Go")),
    Trap("/moved-to-key.html", "key-page", redirect("/")),
    Trap("/moved-to-copy.html", "key-page", redirect("/copy.html")),
    *(
        Trap(f"/crowd-{i}.html", "duplicate-of /target.html", redirect("/target.html"))
        for i in range(CROWD)
    ),
    Trap("/refreshed.html", "page", refresh("/end.html", "5")),
    Trap("/cookie.html", "page", cookie),
]
NOT_FOLLOWED = [
    Trap("/refresh-itself.html", "page", refresh("/refresh-itself.html", "1")),
    Trap("/refresh-late.html", "page", refresh("/end.html", "6")),
    Trap("/refresh-script.html", "page", refresh("javascript:alert(1)")),
    Trap("/refresh-host.html", "page", refresh(f"http://{HOST}/")),
    Trap("/no-location.html", "http-302", lambda exchange: exchange.answer(b"", "302 Found")),
    Trap("/not-modified.html", "http-304", redirect("/target.html", "304 Not Modified")),
]
LOOPS = [
    Trap("/loop.html", "bad-response", redirect("/loop.html")),
    Trap("/refresh-a.html", "bad-response", refresh("/refresh-b.html")),
    Trap("/refresh-b.html", "bad-response", refresh("/refresh-a.html", "2")),
    Trap("/chain-0.html", "bad-response", redirect("/chain-1.html")),
    Trap("/grow.html?x", "bad-response", grow),
    Trap("/location-empty.html", "bad-response", redirect("")),
]
OFF_SITE = [
    Trap(f"/off-{name}.html", "offsite-redirect", answer)
    for name, answer in {
        "file": redirect("file:///etc/passwd"),
        "javascript": redirect("javascript:alert(1)"),
        "port": redirect("http://127.0.0.1:OTHER/"),
        "https": redirect("https://127.0.0.1:OTHER/"),
        "host": redirect("http://other.example.net:PORT/"),
        "localhost": redirect("http://localhost:PORT/"),
        "ipv6": redirect("http://[::1]:OTHER/"),
        "unparsable": redirect("http://[::1/"),
        "user": redirect("http://127.0.0.1:PORT@other.example.net:OTHER/"),
        "long-host": redirect(f"http://{HOST * 4}/".encode().decode("latin-1")),
        "refresh": refresh("http://other.example.net:PORT/"),
    }.items()
]

TRAPS = [*FOLLOWED, *NOT_FOLLOWED, *LOOPS, *OFF_SITE]
