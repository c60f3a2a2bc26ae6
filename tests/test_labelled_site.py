"""Labelled sites: what the labels say, and that nobody else sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from benchmarks.evaluation.labels import number_elements, read_labels, without_labels
from benchmarks.evaluation.sites import (
    CorpusError,
    LabelError,
    LabelledSite,
    labelled_sites,
)
from tplspider.search.session import SearchOptions
from tplspider.sources.base import load_page, search_pages
from tplspider.web.html import parse_html
from tplspider.web.page import WebPage

if TYPE_CHECKING:
    from pathlib import Path

LABELLED = """<!DOCTYPE html>
<html><head><title>Cranes</title><meta class="TECO_notTemplate" name=description></head>
<body class=page>
<nav class="menu TECO_mainMenu"><a href=/>Home</a> <a href="/b.html"class='TECO_notTemplate'>B</a>
</nav><script>cranes("<p class='x'>")</script>
<main CLASS = " TECO_mainContent&#32;wide "><h1 class=TECO_notTemplate>Cranes</h1>
<div class="TECO_notTemplate"><p class='TECO_notTemplate'>Tall. <b>Grey.</b></p></div>
<noscript class=TECO_notTemplate><p>No script</p></noscript></main>
</body></html>
"""
BARE = """<!DOCTYPE html>
<html><head><title>Cranes</title><meta name=description></head>
<body class=page>
<nav class="menu"><a href=/>Home</a> <a href="/b.html">B</a>
</nav><script>cranes("<p class='x'>")</script>
<main CLASS = "wide"><h1>Cranes</h1>
<div><p>Tall. <b>Grey.</b></p></div>
<noscript><p>No script</p></noscript></main>
</body></html>
"""


def write(folder: Path, **files: str) -> None:
    """Write pages: ``a_b`` is a/b.html."""
    for name, html in files.items():
        file = folder / (name.replace("_", "/") + ".html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(html, encoding="utf-8")


def tags(html: str, numbers: frozenset[int]) -> list[object]:
    return [element.tag for element, n in number_elements(parse_html(html)).items() if n in numbers]


@pytest.mark.parametrize(
    ("labelled", "bare"),
    [
        (LABELLED, BARE),
        ('<p class="TECO_notTemplate">', "<p>"),
        ('<p class="TECO_notTemplate"id=a>', "<p id=a>"),
        ('<p id=a class="TECO_notTemplate" title=b>', "<p id=a title=b>"),
        ('<img src="a.png"class=TECO_notTemplate>', '<img src="a.png">'),
        ("<p\nCLASS\t=\n'a\tTECO_notTemplate\r\nb'>", "<p\nCLASS\t=\n'a b'>"),
        ("<p class=teco_NOTTEMPLATE>", "<p>"),
        ("<br class=TECO_notTemplate/>", "<br>"),
        ("<p class=a&#32;TECO_mainMenu&#x20;b>", "<p class=a&#32;b>"),
        ('<p class="a&Tab;TECO_mainMenu&#10;b&amp;c">', '<p class="a b&amp;c">'),
        ('<p class="&#84;ECO_notTemplate &#x54;ECO_mainMenu">', "<p>"),
        ('<p class="TECO_notTemplate TECO_mainContent TECO_notTemplate2">', "<p>"),
        ('<p class="a" class="TECO_notTemplate">', '<p class="a">'),
        ("<p =x class=TECO_mainMenu>", "<p =x>"),
        ("<title class=TECO_notTemplate>a<b</title><p class=TECO_x>", "<title>a<b</title><p>"),
        ("<script>a<b;c='\"'</script><p class=TECO_x>", "<script>a<b;c='\"'</script><p>"),
        ("<!-- <p title=\" --><p class='TECO_x'>", '<!-- <p title=" --><p>'),
        ("<!--><p class='TECO_x'>", "<!--><p>"),
        ("<p class='TECO_x'", "<p"),
    ],
)
def test_labels_are_taken_off(labelled: str, bare: str) -> None:
    assert without_labels(labelled.encode()).decode() == bare


@pytest.mark.parametrize(
    "html",
    [
        "<p>class='TECO_notTemplate'</p>",
        "<p id=TECO_notTemplate data-class='TECO_notTemplate'>",
        "<p title=\" class='TECO_notTemplate' \">",
        "<!-- <p class='TECO_notTemplate'> -->",
        "<script>a = '<p class=\"TECO_notTemplate\">'</script>",
        "<p class>TECO_</p><p class=''>TECO_</p><p class=a&amp;b>",
        "<p class='myTECO_notTemplate TECO TECO-x'>",
        "<p class='a  b '>TECO_notTemplate",
    ],
)
def test_nothing_else_is_touched(html: str) -> None:
    assert without_labels(html.encode()) == html.encode()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-16", "utf-32"])
def test_labels_are_taken_off_in_any_encoding(encoding: str) -> None:
    page = LABELLED.replace("Grey", "Grís à côté")
    bare = without_labels(page.encode(encoding))
    assert bare == BARE.replace("Grey", "Grís à côté").encode(encoding)


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "euc-kr", "windows-1251"])
def test_a_key_page_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    letters = {"windows-1251": "Журавли", "euc-kr": "두루미"}.get(encoding, "表示能力")
    text = LABELLED.replace("<head>", f"<head><meta charset={encoding}>").replace("Tall", letters)
    (tmp_path / "a.html").write_bytes(text.encode(encoding))
    site = LabelledSite(tmp_path, "/a.html")
    assert letters in site.key_page().text
    assert "TECO_" not in site.key_page().text
    assert len(site.labels().template) == 4


@given(st.text("<>/='\" \n-!ap&#;é\x85", max_size=40), st.sampled_from(["", "a ", "b\t"]))
def test_whatever_stands_around_labels(around: str, other: str) -> None:
    page = f"<i>{around}<p class='{other}TECO_notTemplate'>{around}</p>"
    bare = without_labels(page.encode())
    assert without_labels(bare) == bare
    was = (
        f"<i>{around}<p>{around}</p>"
        if not other
        else f"<i>{around}<p class='{other[0]}'>{around}</p>"
    )
    # After an angle bracket it may not be a tag at all, but part of a value or a comment.
    assert bare.decode() in ((was, page) if "<" in around else (was,))


def test_what_the_labels_say() -> None:
    labels = read_labels(parse_html(LABELLED))
    assert tags(LABELLED, labels.counted) == "body nav a a main h1 div p b".split()
    assert tags(LABELLED, labels.template) == ["body", "nav", "a", "main"]
    assert tags(LABELLED, labels.main_content) == ["main"]


def test_numbers_are_the_same_without_labels() -> None:
    bare = parse_html(without_labels(LABELLED.encode()).decode())
    assert etree.tostring(bare) == etree.tostring(parse_html(BARE))
    both = (number_elements(parse_html(LABELLED)), number_elements(bare))
    assert [element.tag for element in both[0]] == [element.tag for element in both[1]]


@pytest.mark.parametrize(
    "html",
    [
        "<html class=TECO_notTemplate><body><p>a</p></body></html>",
        "<html><body class=TECO_notTemplate><p>a</p></body></html>",
    ],
)
def test_a_page_that_is_not_template_at_all(html: str) -> None:
    labels = read_labels(parse_html(html))
    assert tags(html, labels.counted) == ["body", "p"]
    assert labels.template == frozenset()


def test_main_content_in_main_content_is_not_told_twice() -> None:
    html = "<div class={0}><p class={0}>a</p></div><b class={0}>b".format("TECO_mainContent")
    labels = read_labels(parse_html(html))
    assert tags(html, labels.main_content) == ["div", "b"]


def test_no_search_sees_labels(tmp_path: Path) -> None:
    folder = tmp_path / "My Site"
    write(folder, a=LABELLED, b="<p class=TECO_notTemplate><a href=a.html>A</a> B")
    site = LabelledSite(folder, "a.html")
    search = search_pages(site.pages, site.key_url, SearchOptions(n=1)).search
    assert search is not None
    assert [visit.url for visit in search.members] == ["http://my%20site/b.html"]
    for url in (site.key_url, "http://my%20site/b.html"):
        page = load_page(site.pages, url)
        assert isinstance(page, WebPage)
        assert b"TECO_" not in page.body


def test_the_sites_of_a_table_in_its_order(tmp_path: Path) -> None:
    write(tmp_path, one_a=LABELLED, two_b_index=LABELLED)
    (tmp_path / "sites.tsv").write_text(
        'site\tkey_path\ttitle\ntwo\t/b/\t"x\none\ta.html\t\n\ngone\t/a.html\t\n',
        encoding="utf-8-sig",
    )
    sites = list(labelled_sites(tmp_path))
    assert [site.key_url for site in sites] == [
        "http://two/b/",
        "http://one/a.html",
        "http://gone/a.html",
    ]
    assert sites[0].labels() == sites[1].labels()


def test_without_a_table_the_key_page_is_the_labelled_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "b_a": "<p>TECO_notTemplate</p>",
            "b_b c": LABELLED,
            "a_x_index": LABELLED,
            "c_index": LABELLED.replace("href=/", "href=../index.html#x").replace("/b.html", "#"),
            "c_unlabelled": BARE,
            "d_index": BARE,
            ".git_a": LABELLED,
        },
    )
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "page.php").write_bytes(LABELLED.encode())
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.htm").write_bytes(LABELLED.encode("utf-16"))
    sites = list(labelled_sites(tmp_path))
    assert [site.key_url for site in sites] == [
        "http://a/x/",
        "http://b/b%20c.html",
        "http://c/index.html",
        "",
        "http://e/page.php",
        "http://f/a.htm",
    ]
    assert [len(site.labels().template) for site in sites if site.key_url] == [4] * 5


@pytest.mark.parametrize(
    ("site", "key_path", "line"),
    [
        ("gone", "/a.html", "there is no such folder"),
        ("site", "/gone.html", "its key page http://site/gone.html is not a page (http-404)"),
        ("site", "/bare.html", "its key page http://site/bare.html carries no labels"),
        ("site", "/odd.html", "the labels cannot be taken off its key page http://site/odd.html"),
        ("none", "", "none of its pages carries labels"),
    ],
)
def test_a_site_that_cannot_be_used(tmp_path: Path, site: str, key_path: str, line: str) -> None:
    odd = LABELLED.replace("menu TECO_mainMenu", "menu\xa0TECO_mainMenu")
    write(tmp_path, site_bare=BARE, site_odd=odd, none_a=BARE)
    with pytest.raises(LabelError) as raised:
        LabelledSite(tmp_path / site, key_path).labels()
    assert str(raised.value) == line


def test_a_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "sites.tsv").write_text("site,key_path\n")
    with pytest.raises(CorpusError, match="expected columns site and key_path, separated by tabs"):
        list(labelled_sites(tmp_path))


def test_names_that_no_file_can_have_are_no_pages(tmp_path: Path) -> None:
    links = f"<a href='/{'x' * 300}'>a</a><a href='/?q={'y' * 300}'>b</a><a href='/%00'>c</a>"
    write(tmp_path / "site", index=f"<p class=TECO_notTemplate>x</p>{links}")
    site = LabelledSite(tmp_path / "site", "/")
    search = search_pages(site.pages, site.key_url, SearchOptions(n=1)).search
    assert search
    assert [visit.reason for visit in search.visits] == ["http-404", "key-page", "http-404"]


def test_the_body_that_counts_is_the_largest() -> None:
    page = "<html><body><i>ad</i></body></html><html><body><p class=TECO_notTemplate>x</p><b>y</b>"
    labels = read_labels(parse_html(page))
    assert len(labels.counted) == 3
    assert len(labels.template) == 2
