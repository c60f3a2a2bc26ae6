"""Text that stands loose between the elements of a template, and addresses that are odd."""

from __future__ import annotations

import pytest

from tplspider import PageSource, PageTemplate, extract_template
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.template.main_part import own_parts
from tplspider.web.html import parse_html

MENU = "<ul>" + "".join(f"<li><a href=/{i}>Entry {i}</a></li>" for i in range(15)) + "</ul>"


def extract(key: str, *others: str) -> PageTemplate:
    pages = [PageSource(f"http://example.org/{i}", html) for i, html in enumerate((key, *others))]
    return extract_template(pages[0], pages[1:])


def test_loose_text_of_the_page_is_content_in_its_place() -> None:
    key = f"<div class=main>Monday{MENU}<p>First</p>adrift<p>Last</p></div>"
    other = f"<div class=main>Friday{MENU}<p>Other</p>here<p>More</p></div>"
    found = extract(key, other)
    assert found.content_text.split("\n") == ["Monday", "First", "adrift", "Last"]
    assert found.content_html.split("\n") == ["Monday", "<p>First</p>", "adrift", "<p>Last</p>"]
    for word in ("Monday", "First", "adrift", "Last"):
        assert word not in found.template_html
    assert "Entry 3" in found.template_html


def test_loose_text_after_an_element_comes_after_that_inside() -> None:
    html = "<p>One <span>and</span> <b>two</b> three</p>"
    page = flatten(parse_html(html), "http://example.org/", Vocabulary())
    loose = [page.tags.index("p"), page.tags.index("b")]
    parts = [str(part).strip() for part in own_parts(page, [], loose)]
    assert parts == ["One", "two", "three"]


def test_words_that_touch_stay_together() -> None:
    key, other = (
        f"<div class=main>{MENU}<i>{a}</i><i>{b}</i> <i>{c}</i><p>{a}</p></div>"
        for a, b, c in (("One", "two", "three"), ("Four", "five", "six"))
    )
    found = extract(key, other)
    assert found.content_text.split("\n") == ["Onetwo three", "One"]
    assert found.content_html.split("\n") == ["<i>One</i><i>two</i>", "<i>three</i>", "<p>One</p>"]


def test_loose_text_that_pages_share_is_template() -> None:
    found = extract(
        *(f"<div>About &amp; so on{MENU}<p>{word}</p></div>" for word in ("One", "Two"))
    )
    assert found.content_text == "One"
    assert "About &amp; so on" in found.template_html


def test_text_in_the_body_itself_makes_no_copies() -> None:
    found = extract(
        f"<body>{MENU}Only <b>this</b> 1 < 2</body>", f"<body>{MENU}And <b>this</b></body>"
    )
    assert found.content_text == "Only\n1 < 2"
    assert found.content_html == "Only\n1 &lt; 2"
    assert "this" in found.template_html
    assert "Only" not in found.template_html
    assert extract(f"<body>{MENU}text</body>", f"<body>{MENU}text</body>").evidence == 0


@pytest.mark.parametrize(
    "url", ["http://[bad/", "http://h:99999/a", "http://h:x/", "", "::", "a b"]
)
def test_odd_addresses_are_no_harm(url: str) -> None:
    links = f"{MENU}<a href='http://[x/'>a</a><a href='//h:y/'>b</a>"
    other = PageSource("http://example.org/x", f"{links}<p>other</p>")
    found = extract_template(PageSource(url, f"{links}<p>key</p>"), [other])
    assert found.content_text.endswith("key")
