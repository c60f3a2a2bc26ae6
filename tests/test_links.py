from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.linkextractors import IGNORED_EXTENSIONS

from benchmarks.long_hosts import BOUND, ratios
from tests import literal
from tests.support.pages import DOCUMENTS
from tplspider.web.addresses import Site, identity
from tplspider.web.html import IGNORED_EXTENSIONS as OURS
from tplspider.web.html import LinkCount, get_links, link_addresses, parse_html

URL = "http://example.org/docs/index.html"


def links_of(html: str, scope: str = "host", url: str = URL) -> list[str]:
    return [link.url for link in get_links(parse_html(html), url, Site(identity(URL), scope))]


@given(DOCUMENTS, st.sampled_from(["host", "domain"]), st.sampled_from([0, 0, 20, 100, 2083]))
def test_links_are_those_of_the_definition(html: str, scope: str, longest: int) -> None:
    root = parse_html(html)
    links = get_links(root, URL, Site(identity(URL), scope), longest=longest)
    expected = literal.get_links(html, URL, URL, scope, root=root, longest=longest or inf)
    assert [(link.identity, link.url, link.element) for link in links] == [
        (link.identity, link.url, link.element) for link in expected
    ]
    assert link_addresses(root, URL, Site(identity(URL), scope), longest=longest).keys() == {
        link.identity for link in expected
    }


def test_ignored_extensions_are_those_of_scrapy() -> None:
    assert frozenset(IGNORED_EXTENSIONS) == OURS


@pytest.mark.parametrize(
    "name",
    [
        "x.pdf",
        "x.PDF",
        "x.tar.gz",
        "x.pdf?page=1",
        "x.pdf?next=/",
        "x.pdf?a=b.html",
        "x.pdf;v=1",
        "x.min.js",
    ],
)
def test_files_that_are_no_pages_are_left_out(name: str) -> None:
    assert links_of(f"<a href='{name}'>x</a>") == []


@pytest.mark.parametrize("name", ["x.gz", "pdf", "x.pdf.html", "x.pdf/", "?file=x.pdf", "x.aspx"])
def test_names_that_only_look_like_files_are_kept(name: str) -> None:
    assert len(links_of(f"<a href='{name}'>x</a>")) == 1


def test_a_late_base_is_honoured() -> None:
    assert links_of("<a href='x'>x</a><p><base href='/other/'></p>") == [
        "http://example.org/other/x"
    ]


def test_only_the_first_base_counts() -> None:
    html = "<base target=_top><base href='/one/'><base href='/two/'><a href='x'>x</a>"
    assert links_of(html) == ["http://example.org/one/x"]


@pytest.mark.parametrize("base", ["http://[::1", "javascript:x", "data:,x"])
def test_a_base_that_is_no_address_is_none(base: str) -> None:
    assert links_of(f"<base href='{base}'><a href='x'>x</a>") == ["http://example.org/docs/x"]


def test_links_before_the_body_and_after_the_html_are_found() -> None:
    html = "<html><head></head></html><body><a href='x'>x</a></body></html><a href='y'>y</a>"
    assert links_of(html) == ["http://example.org/docs/x", "http://example.org/docs/y"]


def test_addresses_that_cannot_be_parsed_are_counted() -> None:
    count = LinkCount()
    root = parse_html("<a href='http://[::1'>x</a><a href='http://x:y/'>x</a><a href='z'>z</a>")
    assert len(get_links(root, URL, Site(identity(URL)), count=count)) == 1
    assert count.unparsable == 2


def test_hosts_that_are_too_long_cannot_be_parsed() -> None:
    count = LinkCount()
    hosts = ["a" * 254, "ü" * 254, "ü." * 500_000 + "x", "\u0301\u0323" * 500_000]
    links = "".join(f"<a href='http://{host}/'>x</a>" for host in hosts)
    root = parse_html(f"{links}<a href='http://{'a' * 253}/'>x</a><a href='z'>z</a>")
    assert len(get_links(root, URL, Site(identity(URL)), count=count)) == 1
    assert count.unparsable == len(hosts)


def test_links_that_differ_by_user_and_password_are_one() -> None:
    names = ("", "me@", "me:secret@", "you:secret@", "@")
    html = "".join(f"<a href='http://{name}example.org/x'>x</a>" for name in names)
    assert links_of(html) == ["http://example.org/x"]


def test_a_link_to_the_page_itself_is_one_whatever_user_it_names() -> None:
    assert links_of("<a href='http://me:secret@example.org/docs/index.html'>x</a>") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["host beyond ASCII", "host beyond ASCII, with dots", "address over the limit"]
)
def test_addresses_that_are_too_long_cost_little_more_than_plain_ones(name: str) -> None:
    found = ratios(name, ("key page", "other page"), rounds=3)
    assert max(found.values()) < BOUND


def test_the_first_element_stands_for_the_link() -> None:
    html = "<p><a download href='x'>d</a> <a href='x#1'>one</a> <a href='./x'>two</a></p>"
    (link,) = get_links(parse_html(html), URL, Site(identity(URL)))
    assert (link.anchor_text, link.dom_path) == ("one", "/html/body/p/a[2]")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<a href='x'> About <b>us</b>,\n<i>all</i> </a>", "About us, all"),
        ("<a href='x'><img alt=' Home  page '></a>", "Home page"),
        ("<a href='x'><img src=1><img alt='second'></a>", "second"),
        ("<a href='x'><img alt='i'>word</a>", "word"),
        ("<a href='x'><!-- c --><script>s</script><style>t</style></a>", ""),
        ("<map><area href='x' alt='a region'></map>", "a region"),
    ],
)
def test_anchor_text(html: str, text: str) -> None:
    (link,) = get_links(parse_html(html), URL, Site(identity(URL)))
    assert link.anchor_text == text


def test_links_of_another_page_stay_on_the_key_pages_site() -> None:
    html = "<a href='/x'>x</a><a href='http://example.org/y'>y</a>"
    assert links_of(html, url="http://sub.example.org/page") == ["http://example.org/y"]
