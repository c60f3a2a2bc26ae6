from __future__ import annotations

import re
from base64 import b64encode

import pytest

from tplspider.old.crawl.arguments import Arguments, check_arguments, check_url


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://example.org", "http://example.org"),
        ("HTTPS://Example.org/A?b#c", "https://example.org/A?b#c"),
        ("example.org/x", "https://example.org/x"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("localhost:8000", "https://localhost:8000"),
        ("//example.org/x", "https://example.org/x"),
        (" http://example.org/a b ", "http://example.org/a%20b"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1/"),
        ("http://[::1]:8000/", "http://[::1]:8000/"),
        ("http://my_host/", "http://my_host/"),
        ("http://example.org./", "http://example.org./"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("user:secret@example.org:8080/@x", "https://example.org:8080/@x"),
        (
            "example.org:8080/?to=http://example.net/",
            "https://example.org:8080/?to=http://example.net/",
        ),
    ],
)
def test_addresses_that_will_do(given: str, url: str) -> None:
    assert check_url(given) == url


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ftp://example.org/x", "ftp: is neither http nor https"),
        ("mailto:someone", "mailto: is neither http nor https"),
        ("javascript:alert(1)", "javascript: is neither http nor https"),
        ("file:///etc/passwd", "file: is neither http nor https"),
        ("http://", "has no host"),
        ("http:///x", "has no host"),
        ("http:example.org", "has no host"),
        ("http://a b/", "is not a valid host name or address"),
        ("http://[::1/", "cannot be parsed"),
        ("http://[nonsense]/", "cannot be parsed"),
        ("http://example.org:port/", "cannot be parsed"),
        ("http://example.org:99999/", "cannot be parsed"),
        ("http://999.1.1.1/", "is not a valid host name or address"),
        ("http://-a.example/", "is not a valid host name or address"),
        ("http://a..b/", "is not a valid host name or address"),
        (f"http://{'a' * 64}.example/", "is not a valid host name or address"),
        (f"http://{'ü.' * 120}example/", "is not a valid host name or address"),
        ("http://exa$mple.org/", "is not a valid host name or address"),
    ],
)
def test_addresses_that_will_not_do(given: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        check_url(given)
    assert words in str(caught.value)
    assert given in str(caught.value)


def test_a_host_that_is_too_long_is_refused_at_once_and_in_one_line() -> None:
    for given in ("http://", "", "https://me:secret@"):
        with pytest.raises(ValueError, match="a host of 1000000 characters") as caught:
            check_url(given + "\u0301\u0323" * 500_000)
        assert len(str(caught.value)) < 1000
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        "http://anna:geheim@example.org:99999/",
        "http://anna:geheim@[::1/",
        "http://anna:geheim@ex\u2100mple.org/",
        "http://anna:geheim@",
        "http://anna:geheim@a..b/",
        "http://anna:geh/eim@example.org/",
        "http://anna:geh#eim@example.org/",
        "http://anna geheim/x@example.org/",
        "http:anna:geheim@example.org/",
        "anna:geh/eim@example.org/",
        "ftp://anna:geheim@example.org/",
        "mailto:anna:geheim@example.org",
        "http://anna\ud800:geheim@example.org/",
    ],
)
def test_errors_tell_no_password(given: str) -> None:
    with pytest.raises(ValueError, match=r"^url '.*\*\*\*@") as caught:
        check_arguments({"url": given})
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
        ("an\nna:%0D%0AX-Evil: 1", b"anna:\r\nX-Evil: 1"),
        ("anna:%ff\udcfe", b"anna:\xff\xfe"),
    ],
)
@pytest.mark.parametrize(
    ("before", "origin"), [("http://", "http://example.org:80"), ("", "https://example.org:443")]
)
def test_user_and_password(user: str, plain: bytes, before: str, origin: str) -> None:
    arguments = check_arguments({"url": f"{before}{user}@Example.org/a@b?c@d#e"})
    assert arguments.url == f"{before or 'https://'}example.org/a@b?c@d"
    assert arguments.credentials
    assert arguments.credentials.origin == origin
    assert arguments.credentials.header == b"Basic " + b64encode(plain)
    assert "Basic" not in repr(arguments) + repr(arguments.credentials)


@pytest.mark.parametrize("url", ["http://@example.org/", "http://:@example.org/"])
def test_neither_user_nor_password(url: str) -> None:
    assert check_arguments({"url": url}) == Arguments("http://example.org/")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "-a url="),
        ({"url": ""}, "-a url="),
        ({"url": "  "}, "-a url="),
        ({"n": "0"}, "n='0': expected a whole number, 1 or more"),
        ({"n": "-1"}, "n='-1'"),
        ({"n": "abc"}, "n='abc'"),
        ({"n": "2.5"}, "n='2.5'"),
        ({"n": ""}, "n=''"),
        ({"max_loads": "-3"}, "max_loads='-3': expected a whole number, 0 or more"),
        ({"max_seconds": "-1"}, "max_seconds='-1': expected a number of seconds"),
        ({"max_seconds": "soon"}, "max_seconds='soon'"),
        ({"strategy": "best"}, "strategy='best': expected one of guided, paper"),
        ({"scope": "page"}, "scope='page': expected one of host, domain"),
        ({"credentials": "a:b"}, "unknown argument 'credentials'"),
        ({"nn": "3"}, "unknown argument 'nn': did you mean 'n'?"),
        ({"maxloads": "3"}, "unknown argument 'maxloads': did you mean 'max_loads'?"),
        ({"N": "3"}, "unknown argument 'N': did you mean 'n'?"),
        ({"depth": "3"}, "unknown argument 'depth' (arguments: url, n, "),
        ({"zzz": "3"}, "unknown argument 'zzz' (arguments: url, n, "),
        ({"summary": "out.txt"}, "summary='out.txt'"),
        ({"summary": "out"}, "summary='out'"),
        ({"template": "out.html"}, "template='out.html': expected a file that ends in one of"),
    ],
)
def test_arguments_that_will_not_do(given: dict[str, str], words: str) -> None:
    if given.keys().isdisjoint({"url"}) and given:
        given = {"url": "http://example.org/", **given}
    with pytest.raises(ValueError, match=r".") as caught:
        check_arguments(given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_key_page() -> None:
    with pytest.raises(ValueError, match="-a urls=FILE") as caught:
        check_arguments({})
    assert "\n" not in str(caught.value)


def test_defaults() -> None:
    assert check_arguments({"url": "http://example.org/"}) == Arguments("http://example.org/")


def test_all_arguments() -> None:
    given = {
        "url": "http://example.org/",
        "n": "5",
        "strategy": "paper",
        "scope": "domain",
        "max_loads": "0",
        "max_seconds": "1.5",
        "summary": "%(name)s.CSV",
        "template": "template.jl",
        "save_html": "pages",
        "_job": "1234",
    }
    assert check_arguments(given) == Arguments(
        "http://example.org/", 5, "paper", "domain", 0, 1.5, "%(name)s.CSV", "template.jl", "pages"
    )


def test_arguments_from_python_need_not_be_strings() -> None:
    assert check_arguments({"url": "http://example.org/", "n": 4, "max_loads": 0}).n == 4
