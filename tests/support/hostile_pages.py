"""Misbehaviour of pages: types, character sets, contents, addresses, and redirects."""

from collections.abc import Callable
from itertools import pairwise

from tests.support.hostile_server import Exchange, Trap

Answer = Callable[[Exchange], None]

RUSSIAN = "Велосипеды и самокаты на каждый день"
CHINESE = "自行车博物馆的历史与收藏"
JAPANESE = "自転車の博物館とその歴史"
LONG = "/long?" + "x" * 8192
HOST = "".join(chr(0x4E00 + i) for i in range(1300))  # Punycode would sort these

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Length 9>>stream\n\x00\x01\x02\x03\nendstream"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
XHTML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
    '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{}</p></body></html>'
)
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghij"))
    + "]><html><body><p>Laughs &j;</p></body></html>"
)


def html(text: str, more: str = "") -> bytes:
    """A page with one paragraph, in UTF-8 and without any mention of it."""
    return f"<!DOCTYPE html><html><head>{more}</head><body><p>{text}</p></body></html>".encode()


def page(more: str = "", kind: str | None = "text/html") -> Answer:
    return lambda exchange: exchange.answer(html(exchange.path, more), kind=kind)


def body(content: bytes, kind: str | None = "text/html") -> Answer:
    return lambda exchange: exchange.answer(content, kind=kind)


def text(words: str, encoding: str, declared: str = "") -> Answer:
    kind = "text/html" + (f"; charset={declared}" if declared else "")
    return body(html(words).decode().encode(encoding), kind)


TYPES = [
    Trap("/pdf.html", "not-html", body(PDF, "application/pdf")),
    Trap("/image.html", "not-html", body(PNG, "image/png")),
    Trap("/plain.html", "not-html", page(kind="text/plain")),
    Trap("/no-type.html", "page", page(kind=None)),
    Trap("/no-type-pdf", "not-html", body(PDF, None)),
    Trap("/odd-type", "page", page(kind=";;; text/html;charset")),
    Trap("/xml.html", "not-html", body(XHTML.format("As XML").encode(), "application/xml")),
    Trap("/laughs.html", "page", body(LAUGHS.encode(), "application/xhtml+xml")),
]
# Pages that are read rightly are duplicates of one another.
CHARSETS = [
    Trap("/russian.html", "page", text(RUSSIAN, "utf-8", "utf-8")),
    Trap("/utf-8.html", "duplicate-of /russian.html", text(RUSSIAN, "utf-8")),
    Trap("/utf-8-bom.html", "duplicate-of /russian.html", text(RUSSIAN, "utf-8-sig")),
    Trap("/utf-16.html", "duplicate-of /russian.html", text(RUSSIAN, "utf-16")),
    Trap("/windows-1251.html", "duplicate-of /russian.html", text(RUSSIAN, "cp1251", "cp1251")),
    Trap("/chinese.html", "page", text(CHINESE, "utf-8", "utf-8")),
    Trap("/gbk.html", "duplicate-of /chinese.html", text(CHINESE, "gbk", "gbk")),
    Trap("/japanese.html", "page", text(JAPANESE, "utf-8", "utf-8")),
    Trap(
        "/shift-jis.html", "duplicate-of /japanese.html", text(JAPANESE, "shift_jis", "Shift_JIS")
    ),
    Trap("/charset-lies.html", "duplicate-of /japanese.html", text(JAPANESE, "utf-8", "us-ascii")),
    Trap("/charset-unknown.html", "page", text("Unknown", "utf-8", "x-unknown")),
    # Python knows these names, but browsers do not: it is as if there were none.
    Trap("/charset-zlib.html", "page", text("zlib", "utf-8", "zlib")),
    Trap("/charset-punycode.html", "page", text("punycode-" * 50_000, "utf-8", "punycode")),
    Trap("/bytes.html", "page", body(bytes(range(256)) * 99)),
    Trap("/only-nul.html", "page", body(bytes(99))),
    Trap("/surrogates.html", "page", body(html("&#xD800;&#0;&#x110000;&#xFFFF; odd characters"))),
]
CONTENTS = [
    Trap("/base.html", "page", page("<base href='//other.example.net/'>")),
    Trap("/base-host.html", "page", page(f"<base href='http://{HOST}/'>")),
    Trap("/host.html", "page", page(f"<a href='http://{HOST * 700}/'>A host of a million</a>")),
    Trap("/odd-links.html", "page", page("<a href='http://['>1</a><a href='//a:99999/'>2</a>")),
    Trap("/calendar.html?month=1", "page", page("<a href=/calendar.html?month=2>Next</a>")),
]
ADDRESSES = [
    Trap(LONG, "too-long", page()),
    Trap("/case.html", "page", page()),
    Trap("/CASE.html", "page", page()),
    Trap("/percent%zz.html", "page", page()),
    Trap("/slash%2Fa.html", "page", page()),
    Trap("/latin%E9.html", "page", page()),
    Trap("/utf%C3%A9.html", "page", page(), "/utf\xe9.html"),
    Trap("/double%22quote.html", "page", page(), "/double&quot;quote.html"),
    Trap("/new-line.html", "page", page(), "/new-\n\tline.html"),
    Trap("/dot.html", "page", page(), "/../.././dot.html"),
    Trap("/query.html?a=%26&b=%zz&&=", "page", page(), "/query.html?a=%26&amp;b=%zz&amp;&amp;="),
    Trap("/session.html?sid=1", "page", body(html("Session"))),
    Trap("/session.html?sid=2", "duplicate-of /session.html?sid=1", body(html("Session"))),
    Trap("/session.html;jsessionid=3", "duplicate-of /session.html?sid=1", body(html("Session"))),
]


CHAIN = 25
CROWD = 200


def fill(address: str, exchange: Exchange) -> str:
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
    Trap("/refreshed.html", "page", refresh("/end.html")),
    Trap("/refreshed-5.html", "duplicate-of /end.html", refresh("/end.html", "5")),
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

TRAPS = [*TYPES, *CHARSETS, *CONTENTS, *ADDRESSES, *FOLLOWED, *NOT_FOLLOWED, *LOOPS, *OFF_SITE]
