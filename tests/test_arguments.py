from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import asdict

import pytest

from tplspider.arguments import Arguments, key_address
from tplspider.keylist import key_page
from tplspider.search.session import SearchOptions

URL = "http://example.org/"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://example.org", "http://example.org"),
        ("HTTPS://Example.org/A?b#c", "https://example.org/A?b"),
        ("example.org/x", "https://example.org/x"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("localhost:8000", "https://localhost:8000"),
        ("//example.org/x", "https://example.org/x"),
        (" http://example.org/a%20b ", "http://example.org/a%20b"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://[::1]:8000/", "http://[::1]:8000/"),
        ("http://my_host/", "http://my_host/"),
        ("http://example.org./", "http://example.org./"),
        ("user:secret@example.org:8080/@x", "https://example.org:8080/@x"),
        (
            "example.org:80/?to=http://example.net/",
            "https://example.org:80/?to=http://example.net/",
        ),
    ],
)
def test_valid_addresses(given: str, url: str) -> None:
    assert key_address(given) == url


@pytest.mark.parametrize(
    "given",
    [
        "ftp://example.org/x",
        "mailto:someone",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http:example.org",
        "http://example.org/a b",
        "http://example.org/a\tb",
        "http://example.org/\nhttp://example.org/b",
        "http://a b/",
        "http://[::1/",
        "http://[nonsense]/",
        "http://example.org:port/",
        "http://example.org:99999/",
        "http://999.1.1.1/",
        "http://-a.example/",
        "http://a..b/",
        f"http://{'a' * 64}.example/",
        f"http://{'ü.' * 120}example/",
        "http://exa$mple.org/",
        "https://me:secret@" + "\u0301\u0323" * 500_000,  # at once
    ],
    ids=lambda given: given[:30],
)
def test_invalid_addresses(given: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as caught:
        key_address(given)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "given",
    [
        "http://anna:geheim@example.org:99999/",
        "http://anna:geheim@[::1/",
        "http://anna:geheim@ex\u2100mple.org/",
        "http://anna:geheim@",
        "http://anna:geh/eim@example.org/",
        "http://anna geheim/x@example.org/",
        "http:anna:geheim@example.org/",
        "anna:geh/eim@example.org/",
        "ftp://anna:geheim@example.org/",
        "mailto:anna:geheim@example.org",
        "http://anna\ud800:geheim@example.org/",
    ],
)
def test_errors_tell_no_password(given: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as caught:
        key_page(given, SearchOptions())
    assert not re.search("anna|geh", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "plain"),
    [
        ("anna:geheim", b"anna:geheim"),
        ("anna", b"anna:"),
        (":geheim", b":geheim"),
        ("anna:a@b:c", b"anna:a@b:c"),
        ("%61nna:a%40b%2Fc%3F", b"anna:a@b/c?"),
        ("\xe4nne:%C3%A4", b"\xc3\xa4nne:\xc3\xa4"),
        ("anna:%0D%0AX-Evil:1", b"anna:\r\nX-Evil:1"),
        ("anna:%ff\udcfe", b"anna:\xff\xfe"),
    ],
)
@pytest.mark.parametrize(
    ("before", "origin"), [("http://", "http://example.org:80"), ("", "https://example.org:443")]
)
def test_user_and_password(user: str, plain: bytes, before: str, origin: str) -> None:
    given = f"{before}{user}@Example.org/a@b?c@d#e"
    key = key_page(given, SearchOptions())
    assert key.url == f"{before or 'https://'}example.org/a@b?c@d"
    assert key.requested_url == f"{before}Example.org/a@b?c@d#e"
    assert key.credentials
    assert key.credentials.origin == origin
    assert key.credentials.header == b"Basic " + b64encode(plain)
    assert user not in repr(Arguments.of({"url": given}))
    assert "Basic" not in repr(key)


@pytest.mark.parametrize("url", ["http://@example.org/", "http://:@example.org/"])
def test_neither_user_nor_password(url: str) -> None:
    key = key_page(url, SearchOptions())
    assert (key.url, key.credentials) == (URL, None)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"url": ""}, "url"),
        ({"url": "  "}, "url"),
        ({"url": "ftp://example.org/"}, "url"),
        ({"urls": "keys.txt"}, "url"),  # and a key page
        ({"column": "page"}, "column"),  # without a list
        ({"n": "0"}, "n:"),
        ({"n": "2.5"}, "n:"),
        ({"n": ""}, "n:"),
        ({"max_loads": "-3"}, "max_loads:"),
        ({"max_refusals": "x"}, "max_refusals:"),
        ({"max_seconds": "-1"}, "max_seconds:"),
        ({"max_seconds": "nan"}, "max_seconds:"),
        ({"witness": "2"}, "witness:"),
        ({"strategy": "best"}, "strategy:"),
        ({"strategy": "no.such:order"}, "strategy:"),
        ({"strategy": "tests.support.components:missing"}, "strategy:"),
        ({"strategy": "tests.literal:REFUSALS"}, "strategy:"),  # not a function
        ({"scope": "page"}, "scope:"),
        ({"summary": "out.txt"}, "summary:"),
        ({"texts": "out"}, "texts:"),
        ({"report": ""}, "report:"),
        ({"template": "out.json"}, "'template'"),
        ({"credentials": "a:b"}, "'credentials'"),
        ({"maxloads": "3"}, "'max_loads'"),  # was meant
    ],
)
def test_wrong_arguments(given: dict[str, str], name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(name)) as caught:
        Arguments.of({"url": URL, **given})
    assert "\n" not in str(caught.value)


def test_no_key_page() -> None:
    with pytest.raises(ValueError, match="-a urls=FILE"):
        Arguments.of({})


def test_all_arguments() -> None:
    given = {
        "url": URL,
        "n": "5",
        "strategy": "tests.support.components:last_link_first",
        "scope": "domain",
        "max_loads": "0",
        "max_seconds": "1.5",
        "max_refusals": "4",
        "witness": "0",
        "summary": "%(name)s.CSV",
        "texts": "texts.jl",
        "save_html": "pages",
    }
    numbers = {"n": 5, "max_loads": 0, "max_seconds": 1.5, "max_refusals": 4, "witness": 0}
    found = Arguments.of({**given, "_job": "1234"})
    assert asdict(found) == {**asdict(Arguments()), **given, **numbers}
    assert Arguments.of({**given, **numbers}) == found  # from Python
    assert asdict(found.options).items() <= asdict(found).items()
