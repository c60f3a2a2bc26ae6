from __future__ import annotations

import stringprep
import sys
import unicodedata

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tplspider.web.addresses import Site, fold_host, identity

KEY = "http://www.example.co.uk/x"


@pytest.mark.parametrize(
    ("url", "host", "domain"),
    [
        ("http://www.example.co.uk/", True, True),
        ("http://example.co.uk/y", True, True),
        ("https://example.co.uk/y", True, True),
        ("https://example.co.uk:443/y", True, True),
        ("http://example.co.uk:80/y", True, True),
        ("http://example.co.uk:443/y", False, True),
        ("http://example.co.uk:8080/y", False, True),
        ("http://blog.example.co.uk/", False, True),
        ("http://other.co.uk/", False, False),
        ("http://EXAMPLE.CO.UK/", True, True),
        ("http://example.com/", False, False),
        ("http://127.0.0.1/", False, False),
    ],
)
def test_scopes(url: str, *, host: bool, domain: bool) -> None:
    assert (identity(url) in Site(identity(KEY), "host")) == host
    assert (identity(url) in Site(identity(KEY), "domain")) == domain


@pytest.mark.parametrize("key", ["http://127.0.0.1:8000/", "http://localhost:8000/"])
def test_a_host_without_a_registered_domain_is_its_own_site(key: str) -> None:
    site = Site(identity(key), "domain")
    assert identity(key + "x") in site
    assert identity(key.replace("8000", "8001")) not in site


def test_names_in_unicode_and_in_ascii_are_one_host() -> None:
    assert identity("http://bücher.example/x") in Site(identity("http://xn--bcher-kva.example/"))


def test_an_unknown_scope_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown scope 'page'"):
        Site(KEY, "page")


SPELLINGS = st.text(
    alphabet="abßẞ\u017fŠşüÜİ\u0131ǅΣςΐ\u0390ﬁ①\uff45\uff38。\uff0e｡\u00ad\u200d\u0301\u0323\u0308㍐가각\u1100\u1161\u13a0ꭰא",
    min_size=1,
    max_size=8,
)


@given(SPELLINGS, SPELLINGS, st.sampled_from(["host", "domain"]))
def test_no_spelling_of_the_host_is_taken_for_another(one: str, two: str, scope: str) -> None:
    host, other = f"{one}.example", f"{two}.example"
    try:
        site = Site(identity(f"http://{host}/"), scope)
        inside = identity(f"http://{other}/") in site
    except ValueError:
        reject()
    same = identity(f"http://{host}/")
    for spelling in (host.upper(), host.title(), unicodedata.normalize("NFD", host)):
        if identity(f"http://{spelling}/") == same:
            assert site.may_hold(spelling)
    assert site.may_hold(host)
    assert site.may_hold(other) or not inside


def test_folding_knows_all_that_idna_does_to_a_character() -> None:
    for code in range(0x80, sys.maxunicode + 1):
        char = chr(code)
        if (
            code not in stringprep.b3_exceptions
            and char == char.lower() == char.casefold() == unicodedata.normalize("NFKC", char)
            and not stringprep.in_table_b1(char)
        ):
            continue  # nothing at all
        prepared = "".join(
            stringprep.map_table_b2(part)
            for part in unicodedata.normalize("NFKC", char.lower())
            if not stringprep.in_table_b1(part)
        )
        assert fold_host(f"a{prepared}a") == fold_host(f"a{char}a"), f"{code:x}"


def test_many_hosts_that_are_not_of_the_site_are_told_at_once() -> None:
    site = Site(identity("http://bücher.example/"))
    assert site.may_hold("www.BÜCHER.example")
    assert not site.may_hold("büchse.example")
    assert not site.may_hold("a.bücher.example")
    assert Site(identity("http://bücher.example/"), "domain").may_hold("ä.bücher.example")
    assert Site("http://xn--a/").may_hold("ü")  # not a name that can be spelt otherwise
