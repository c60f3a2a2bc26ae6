"""What is template and what is not, on small sites of many kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.pages import select
from tests.support.template_pages import (
    ARTICLES,
    FOOTER,
    KEY_URL,
    MENU,
    SITE,
    article,
    extract,
    framed,
)
from tplspider.template.extract import PageSource, extract_template

if TYPE_CHECKING:
    from collections.abc import Sequence

CRANES = ["About cranes", "There is much to say about cranes."]


def lines(key: str, *others: str, url: str = KEY_URL, urls: Sequence[str] = ()) -> list[str]:
    """The content of a key page, as lines."""
    return extract(key, *others, url=url, urls=urls).content_text.splitlines()


def test_the_frame_is_template_and_the_text_is_not() -> None:
    template = extract(*ARTICLES)
    assert template.key_url == KEY_URL
    assert template.candidates == [f"{SITE}other1.html", f"{SITE}other2.html"]
    assert template.not_template == [
        "/html/body/div[2]/h1[1]",
        "/html/body/div[2]/p[1]",
    ]
    assert template.content_html == (
        "<h1>About cranes</h1>\n<p>There is much to say about cranes.</p>"
    )
    assert template.content_text.splitlines() == CRANES
    assert template.template_html.endswith(
        framed("").removeprefix("<html><head><title>Site</title></head>")
    )
    assert template.template_share == round(19 / 21, 4)


MENUS = {
    "relative": MENU.replace("/docs/", "").replace('"/', '"../'),
    "absolute": MENU.replace('href="/', 'href="http://example.org/'),
    "without scheme": MENU.replace('href="/', 'href="//example.org/'),
    "base": f'<base href="http://example.org/x/y/">{MENU.replace("/docs/", "../../docs/")}',
}


@pytest.mark.parametrize("kind", MENUS)
def test_menus_are_the_same_however_their_addresses_are_written(kind: str) -> None:
    other = framed("<h1>About herons</h1>", menu=MENUS[kind])
    assert lines(ARTICLES[0], other) == CRANES
    assert lines(framed("<p>Cranes</p>", menu=MENUS[kind]), *ARTICLES[1:]) == ["Cranes"]


def test_menus_written_relative_from_different_directories() -> None:
    deep = framed("<p>Herons</p>", menu=MENU.replace('"/', '"../../'))
    assert lines(
        framed("<p>Cranes</p>", menu=MENU.replace('"/', '"../')), deep, urls=[f"{SITE}a/b.html"]
    ) == ["Cranes"]


CURRENT = {
    "class": '<li class="active"><a class="on" href="/docs/key.html">Guide</a></li>',
    "aria": '<li><a aria-current="page" href="/docs/key.html">Guide</a></li>',
    "anchor": '<li class="current"><a href="#">Guide</a></li>',
    "empty": '<li><a href="">Guide</a></li>',
    "self": '<li><a href="key.html#top">Guide</a></li>',
}


@pytest.mark.parametrize("kind", CURRENT)
def test_the_current_entry_of_a_menu_is_the_same_entry(kind: str) -> None:
    menu = MENU.replace('<li><a href="/docs/key.html">Guide</a></li>', CURRENT[kind])
    assert menu != MENU
    key = framed("<h1>About cranes</h1><p>There is much to say about cranes.</p>", menu=menu)
    assert lines(key, *ARTICLES[1:]) == CRANES


def test_addresses_with_that_of_the_page_in_them() -> None:
    def page(name: str) -> str:
        return framed(
            f"<p>{name.title()}</p>",
            footer=f'<div id="footer"><a href="/es/docs/{name}.html">Español</a> '
            f'<a href="https://forge.example/edit/docs/{name}.rst">Edit this page</a> '
            f'<a href="https://s.example/?u=http%3A%2F%2Fexample.org%2Fdocs%2F{name}.html">Share'
            f'</a> <a href="/docs/{name}.html">Link here</a></div>',
        )

    names = ["cranes", "herons", "storks"]
    addresses = [f"{SITE}{name}.html" for name in names]
    assert lines(*map(page, names), url=addresses[0], urls=addresses[1:]) == ["Cranes"]


def test_lists_of_different_length() -> None:
    def page(*entries: str) -> str:
        return framed(f"<ul>{''.join(f'<li>{entry}</li>' for entry in entries)}</ul>")

    key = page("cranes", "geese", "ducks", "swans")
    assert lines(key, page("herons"), page("storks", "ibises")) == [
        "cranes",
        "geese",
        "ducks",
        "swans",
    ]
    assert lines(page("herons"), key, page("storks", "ibises")) == ["herons"]


def test_a_page_of_another_kind_does_not_spoil_the_frame() -> None:
    side = '<div class="side"><h3>Sections</h3><a href="/one">One</a> <a href="/two">Two</a></div>'

    def page(words: str) -> str:
        return framed(f'<div class="text"><h1>{words}</h1><p>Some {words}.</p></div>{side}')

    landing = framed('<div class="hero"><h2>Welcome!</h2><img src="big.png"></div>')
    template = extract(page("cranes"), page("herons"), page("storks"), landing)
    assert template.content_text.splitlines() == ["cranes", "Some cranes."]


def test_headings_of_what_a_page_has_are_not_template() -> None:
    def page(words: str, before: str, after: str) -> str:
        return framed(
            f'<div class="toc"><h3>On this page</h3><ul><li><a href="#{words}1">{words} one</a>'
            f'</li><li><a href="#{words}2">{words} two</a></li></ul></div><p>There are {words}.</p>'
            f'<div class="pager">Previous: <a href="{before}.html">{before}</a></div>'
            f'<div class="pager">Next: <a href="{after}.html">{after}</a></div>'
        )

    key = page("cranes", "bees", "doves")
    assert lines(key, page("herons", "gulls", "ibises"), page("storks", "rooks", "terns")) == [
        "On this page",
        "cranes one",
        "cranes two",
        "There are cranes.",
        "Previous: bees",
        "Next: doves",
    ]


NOTHING = {
    "empty": "",
    "blank": " \n ",
    "plain text": "Nothing but words.\nAnd a line.",
    "json": '{"title": "x", "html": 1}',
    "binary": "\x00\x01\x02PNG\r\n\x1a\n" + "".join(map(chr, range(256))),
    "an empty body": "<html><body></body></html>",
    "of another site": "<main><article><h1>Something else</h1></article></main>",
}


@pytest.mark.parametrize("kind", NOTHING)
def test_pages_that_tell_nothing(kind: str) -> None:
    key = PageSource(KEY_URL, ARTICLES[0])
    nothing = [PageSource(f"{SITE}{i}.html", NOTHING[kind]) for i in range(3)]
    assert extract_template(key, nothing).evidence == 0
    # One good page among them decides.
    assert lines(ARTICLES[0], *[NOTHING[kind]] * 3, ARTICLES[1]) == lines(*ARTICLES[:2])
    # And as the key page.
    odd = PageSource(KEY_URL, NOTHING[kind])
    others = [PageSource(f"{SITE}{i}.html", a) for i, a in enumerate(ARTICLES)]
    assert extract_template(odd, others).evidence == 0


def test_a_long_text_is_not_the_label_of_a_link() -> None:
    def page(words: str) -> str:
        mail = f'<a href="/mail/{words}">{words}@</a>'
        address = f'<div class="address"><p>Friends of the birds, 7 Marsh Lane</p>{mail}</div>'
        return framed(f"<p>There are {words}.</p>{address}")

    found = lines(page("cranes"), page("herons"), page("storks"))
    assert found == ["There are cranes.", "cranes@"]


def test_no_evidence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    key = PageSource(KEY_URL, ARTICLES[0])
    for pages in (
        [],
        [PageSource(KEY_URL + "#top", ARTICLES[1])],
        [PageSource(f"{SITE}copy.html", ARTICLES[0])],
    ):
        found = extract_template(key, pages)
        assert (found.evidence, found.candidates, found.not_template) == (0, [], [])
        assert (found.template_html, found.template_share) == ("", 0)
        assert found.content_text.splitlines()[0] == "The site"
        assert {*CRANES} <= {*found.content_text.splitlines()}
        assert CRANES[1] in found.main_text
        assert found.title == "Site"
    assert caplog.text.count(f"No page gives evidence of the template of {KEY_URL}") == 3


def test_the_key_page_once_more_changes_nothing() -> None:
    assert (
        lines(ARTICLES[0], ARTICLES[0], ARTICLES[1], urls=[f"{SITE}copy.html", f"{SITE}b.html"])
        == CRANES
    )


def test_old_table_layouts() -> None:
    def page(words: str) -> str:
        return (
            "<html><body bgcolor=white><center><font size=5>Birds</font></center><table><tr><td>"
            "<font size=2><a href=/a.html>Ducks</a><br><a href=/b.html>Geese</a><br>"
            "<a href=/c.html>Swans</a></font></td><td><font size=3><h1>The "
            f"{words}</h1>All about {words}.</font></td></tr></table><center>Made by hand</center>"
            "</body></html>"
        )

    template = extract(page("crane"), page("heron"), page("stork"))
    assert template.content_text.splitlines()[0] == "The crane"
    for words in ("Birds", "Ducks", "Geese", "Swans", "Made by hand"):
        assert words in template.template_html
        assert words not in template.content_html


def test_pages_without_a_body() -> None:
    assert lines(f"{MENU}<p>Cranes</p>", f"{MENU}<p>Herons</p>") == ["Cranes"]


def test_framesets() -> None:
    def page(name: str) -> str:
        return (
            f"<frameset cols=9,*><frame src=menu.html><frame src={name}.html><noframes>{MENU}"
            f"<p>All {name}</p></noframes></frameset>"
        )

    assert "All cranes" not in extract(page("cranes"), page("herons")).template_html


def test_xhtml_with_names_that_are_none() -> None:
    def page(words: str) -> str:
        return (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
            f'xmlns:o="urn:x"><body>{MENU}<o:p>{words}</o:p><p>Some <o:p>{words}</o:p></p>'
            f"<x²>{words}</x²><a$b>{words}</a$b></body></html>"
        )

    template = extract(page("cranes"), page("herons"))
    found = [select(page("cranes"), path) for path in template.not_template]
    assert [element.tag for (element,) in found] == ["o:p", "o:p", "x²", "a$b"]
    assert all(element.text == "cranes" for (element,) in found)


@pytest.mark.parametrize(
    "shape",
    [
        "<html><head></head></html><body>{}</body></html>",
        "<html><body><div></div></body></html><body>{}</body>",
        "<html><body>{}</body></html><html><body class=x>more</body></html>",
        "<!-- one --><html><!-- two --><body><!-- three -->{}</body></html><!-- four -->",
    ],
)
def test_odd_documents(shape: str) -> None:
    key, other = (shape.format(f"{MENU}<!-- x --><p>{words}</p>{FOOTER}") for words in ("A", "B"))
    template = extract(key, other)
    assert template.content_html == "<p>A</p>"
    ((element,),) = (select(key, path) for path in template.not_template)
    assert element.text == "A"
    for words in ("Guide", "some people"):
        assert words in template.template_html
    assert "<p>A</p>" not in template.template_html


def test_words_of_any_language() -> None:
    def page(words: str) -> str:
        menu = (
            '<nav dir="rtl"><a href="/1">בית</a> <a href="/2">חדשות</a> <a href="/3">関連</a></nav>'
        )
        return framed(f"<p>{words}</p>", menu=menu)

    assert lines(page("鶴は鳥である。"), page("عن مالك الحزين"), page("חסידה")) == [
        "鶴は鳥である。"
    ]


def test_text_between_elements_stays_where_it_was() -> None:
    def page(words: str) -> str:
        return framed(
            "<div>Before" + "".join(f" <b>{words}{i}</b> then" for i in range(3)) + " after</div>"
        )

    template = extract(page("cranes"), page("herons"))
    assert "<div>Before then then then after</div>" in " ".join(template.template_html.split())
    assert template.content_text.splitlines() == ["cranes0", "cranes1", "cranes2"]


def test_scripts_stay_with_what_they_are_in() -> None:
    key = article("<b>cranes</b><script>cranes()</script>")
    template = extract(key, *ARTICLES[1:])
    assert "cranes()" in template.content_html
    assert "cranes()" not in template.content_text + template.template_html


def test_most_pages_that_tell_something_are_compared() -> None:
    key = PageSource(KEY_URL, ARTICLES[0])
    pages = [
        PageSource(f"{SITE}copy.html", ARTICLES[0]),
        PageSource(f"{SITE}empty.html", ""),
        *(PageSource(f"{SITE}{i}.html", article(f"birds {i}")) for i in range(3)),
    ]
    found = extract_template(key, iter(pages), most=2)
    assert found.candidates == [f"{SITE}0.html", f"{SITE}1.html"]
    assert found.evidence == 2
    assert found.content_text.splitlines() == CRANES


def test_code_is_judged_whole() -> None:
    def page(name: str) -> str:
        tokens = "".join(f"<span>{t}</span>" for t in ("def ", name, "():\n    ", "return ", "1"))
        return framed(f"<p>All about {name}.</p><div><pre>{tokens}</pre></div>")

    found = extract(page("cranes"), page("herons"), page("storks"))
    assert found.content_text.split("\n") == ["All about cranes.", "def cranes():", "    return 1"]


def test_columns_are_no_records() -> None:
    def page(words: str) -> str:
        side = "".join(f'<li><a href="/s{i}">Section {i}</a></li>' for i in range(4))
        text = "".join(f"<p>{words} {i}, and more of it.</p>" for i in range(9))
        return (
            f"<table><tr><td><b>Sections</b><ul>{side}</ul><p>{words} of the day, to be seen today"
            f"</p></td><td><h2>Welcome here</h2>{text}</td><td><b>Shop</b><p>Buy {words} now, they "
            "are cheap</p></td></tr></table>"
        )

    found = extract(page("cranes"), page("herons"), page("storks"))
    assert "Section 2" in found.template_html
    assert "Welcome here" in found.template_html
    assert "cranes 3, and more of it." in found.content_text
    assert "Section" not in found.content_text


def test_rows_that_pages_happen_to_share_are_data() -> None:
    def page(*rows: str) -> str:
        return framed(f"<table>{''.join(f'<tr><td>{row}</td></tr>' for row in rows)}</table>")

    rows = ["Adam Apple", "Berta Birch", "Carl Cole", "Dora Dill", "Emil Elm"]
    others = ["Uwe Ulm", rows[1], "Vera Vine", rows[3], "Willi Wood"]
    assert lines(page(*rows), page(*others), page(*reversed(others))) == rows
