import re
from base64 import b64encode
from dataclasses import Field, asdict, fields, replace
from typing import Any

import pytest
from scrapy.settings import Settings

from tplspider.arguments import Arguments, Config, key_address
from tplspider.keylist import key_page
from tplspider.search.session import SearchOptions

URL = "http://example.org/"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://example.org", "http://example.org"),
        ("HTTPS://Example.org/A?b#c", "https://example.org/A?b"),
        ("example.org/x", "https://example.org/x"),
        ("localhost:8000", "https://localhost:8000"),
        ("//example.org/x", "https://example.org/x"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://[::1]:8000/", "http://[::1]:8000/"),
        ("user:secret@example.org:8080/@x", "https://example.org:8080/@x"),
        ("a.example:80/?to=http://b.example/", "https://a.example:80/?to=http://b.example/"),
    ],
)
def test_valid_addresses(given: str, url: str) -> None:
    assert key_address(given) == url


INVALID = (
    *("ftp://example.org/x", "javascript:alert(1)", "file:///etc/passwd", "http://"),
    *("http:example.org", "http://example.org/a b", "http://example.org/\nhttp://example.org/b"),
    *("http://[nonsense]/", "http://example.org:port/", "http://example.org:99999/"),
    *("http://999.1.1.1/", f"http://{'a' * 64}.example/", f"http://{'ü.' * 120}example/"),
    *("http://exa$mple.org/", "https://me:secret@" + "\u0301\u0323" * 500_000),  # at once
)


@pytest.mark.parametrize("given", INVALID, ids=lambda given: given[:30])
def test_invalid_addresses(given: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as caught:
        key_address(given)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


WITH_A_PASSWORD = (
    *("http://anna:geheim@example.org:99999/", "http://anna:geheim@ex\u2100mple.org/"),
    *("http://anna:geheim@", "http://anna:geh/eim@example.org/", "ftp://anna:geheim@example.org/"),
    *("http://anna geheim/x@example.org/", "mailto:anna:geheim@example.org"),
    "http://anna\ud800:geheim@example.org/",
)


@pytest.mark.parametrize("given", WITH_A_PASSWORD)
def test_errors_tell_no_password(given: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as caught:
        key_page(given, SearchOptions())
    assert not re.search("anna|geh", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "plain"),
    [
        ("anna:geheim", b"anna:geheim"),
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
        ({"url": "ftp://example.org/"}, "url"),
        ({"urls": "keys.txt"}, "url"),  # and a key page
        ({"n": "0"}, "n:"),
        ({"max_loads": "-3"}, "max_loads:"),
        ({"max_refusals": "x"}, "max_refusals:"),
        ({"max_seconds": "-1"}, "max_seconds:"),
        ({"max_seconds": "nan"}, "max_seconds:"),
        ({"witness": "2"}, "witness:"),
        ({"strategy": "best"}, "strategy:"),
        ({"strategy": "no.such:order"}, "strategy:"),
        ({"strategy": "tests.support.components:missing"}, "strategy:"),
        ({"scope": "page"}, "scope:"),
        ({"summary": "out.txt"}, "summary:"),
        ({"template": "out.json"}, "'template'"),
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
    given = {"url": URL, "n": "5", "strategy": "tests.support.components:last_link_first"}
    given |= {"scope": "domain", "max_loads": "0", "max_seconds": "1.5", "max_refusals": "4"}
    given |= {"witness": "0", "summary": "%(name)s.CSV", "texts": "texts.jl", "save_html": "pages"}
    numbers = {"n": 5, "max_loads": 0, "max_seconds": 1.5, "max_refusals": 4, "witness": 0}
    found = Arguments.of({**given, "_job": "1234"})
    assert asdict(found) == {**asdict(Arguments()), **given, **numbers}
    assert Arguments.of({**given, **numbers}) == found  # from Python
    assert asdict(found.options).items() <= asdict(found).items()


NOT_TEXTS = [field for field in fields(Config) if not isinstance(field.default, str)]


def read(field: str, value: object) -> Config:
    return Config.of(Settings({f"TPLSPIDER_{field.upper()}": value}))


@pytest.mark.parametrize("field", NOT_TEXTS, ids=lambda field: field.name)
@pytest.mark.parametrize("value", ["abc", "a\nb", "9" * 5000 + "x", "-1", "nan", [1]])
def test_a_wrong_value_is_told_with_its_setting(field: Field[Any], value: object) -> None:
    with pytest.raises(ValueError, match=rf"^TPLSPIDER_{field.name.upper()}: expected ") as caught:
        read(field.name, value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_an_unknown_setting_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match=r"TPLSPIDER_SEARCHS\b.*TPLSPIDER_SEARCHES"):
        read("searchs", 3)


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("in_flight", "4", 4),
        ("in_flight", " 4 ", 4),
        ("in_flight", 4, 4),
        ("browser_wait", "2.5", 2.5),
        ("browser_wait", 7, 7),
        ("texts", "1", True),
        ("texts", "True", True),
        ("texts", True, True),
        ("allow_private", "0", False),
        ("allow_private", "false", False),
        *((field.name, None, field.default) for field in NOT_TEXTS),
    ],
)
def test_valid_values(field: str, value: object, read_as: object) -> None:
    changes: dict[str, Any] = {field: read_as}
    assert read(field, value) == replace(Config(), **changes)


@pytest.mark.parametrize(("field", "value"), [("in_flight", "0"), ("browser_wait", "-1")])
def test_what_has_to_be_more_than_nothing(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^TPLSPIDER_{field.upper()}: expected "):
        read(field, value)
