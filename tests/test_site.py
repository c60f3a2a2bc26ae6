from __future__ import annotations

import pytest

from tplspider.addresses import identity
from tplspider.site import Site

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
