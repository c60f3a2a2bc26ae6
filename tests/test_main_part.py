"""What a reader came for, and the title."""

from __future__ import annotations

import pytest

from tests.support.template_pages import SITE, extract, framed
from tplspider import PageSource, extract_template
from tplspider.template.extract import main_text_of_page
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.web.html import parse_html

TEXT = "There is a great deal to say about {}, more than fits on a page of this size."


def page(words: str, before: str, after: str) -> str:
    """An article with all that is beside it."""
    paragraphs = "".join(f"<p>{TEXT.format(words)} ({i})</p>" for i in range(4))
    name = words[0].upper()
    return framed(
        f'<div class="crumbs"><a href="/{name}/">Birds with {name}</a></div><div class="toc"><b>'
        f'On this page</b><ul><li><a href="#a{name}">{words} at home</a></li><li>'
        f'<a href="#b{name}">'
        f'{words} away</a></li></ul></div><div class="text"><h1>The {words}<a href="#top{name}">'
        f'\xb6</a></h1>{paragraphs}</div><div class="pager"><a href="{before}.html">{before}</a> '
        f'<a href="{after}.html">{after}</a></div>'
    ).replace("<title>Site", f"<title>The {words} | Site")


def test_the_main_text_is_without_leftovers() -> None:
    found = extract(
        page("cranes", "bees", "doves"),
        page("herons", "gulls", "ibises"),
        page("storks", "rooks", "terns"),
    )
    wanted = ["The cranes", *(f"{TEXT.format('cranes')} ({i})" for i in range(4))]
    assert found.main_text.splitlines() == wanted
    assert "cranes at home" in found.content_text
    assert found.main_html.count("<p>") == 4
    for words in ("bees", "at home", "\xb6", "Birds with", "some people"):
        assert words not in found.main_html
    assert found.title == "The cranes"


def test_a_list_of_links_is_what_the_page_is_about() -> None:
    def links(words: str) -> str:
        entries = (f'<li><a href="/{words}/{i}">{words} number {i}</a></li>' for i in range(9))
        return framed(f"<h1>{words}</h1><ul>{''.join(entries)}</ul>")

    found = extract(links("cranes"), links("herons"), links("storks"))
    assert found.main_text == found.content_text
    assert found.main_text.count("cranes number") == 9


def test_entries_are_not_the_main_part_by_themselves() -> None:
    def teasers(words: str) -> str:
        return framed(
            f'<div class="e"><p>{TEXT.format(words) * 5}</p></div>'
            f'<div class="e"><p>No {words}.</p></div>'
        )

    assert "No cranes." in extract(teasers("cranes"), teasers("herons")).main_text


@pytest.mark.parametrize(
    ("title", "others", "wanted"),
    [
        ("Cranes - Site", ["Herons - Site", "Storks - Site"], "Cranes"),
        ("Site :: Cranes", ["Site :: Herons"], "Cranes"),
        ("Cranes", ["Herons"], "Cranes"),
        ("Site", ["Site"], "A heading"),
        ("", ["Herons - Site"], "A heading"),
        ("Part 1 - Part 2 - Site", ["Part 1 - Part 3 - Site"], "Part 2"),
    ],
)
def test_titles(title: str, others: list[str], wanted: str) -> None:
    def titled(words: str, text: str) -> str:
        return framed(f"<h1>A heading</h1><p>{text}</p>").replace(
            "Site</title>", f"{words}</title>"
        )

    pages = [titled(other, f"Text {i}") for i, other in enumerate(others)]
    assert extract(titled(title, "Text"), *pages).title == wanted


def test_the_main_text_of_a_page_by_itself() -> None:
    pytest.importorskip("resiliparse")
    flat = flatten(parse_html(page("cranes", "bees", "doves")), "http://x/", Vocabulary())
    text = main_text_of_page(flat)
    assert TEXT.format("cranes") in text
    assert SITE not in text


def test_a_note_is_not_a_pilcrow() -> None:
    def article(words: str) -> str:
        note = '<a href="#n1"><sup>1</sup></a>'
        heading = f'<h2>On {words} <a href="#on"><b>\xb6</b></a></h2>'
        return framed(f"{heading}<p>{TEXT.format(words)}{note} More of it.</p>")

    found = extract(article("cranes"), article("storks"), article("herons"))
    assert found.main_text == f"On cranes\n{TEXT.format('cranes')}1 More of it."


def test_the_first_entry_of_a_list_is_not_a_leftover() -> None:
    menu = "<div id=m><a href=/>Home</a> <a href=/x/>List</a> <a href=/about>About</a></div>"
    foot = "<div id=f>Footer of the site, 2020</div>"
    drinks = ("Tea", "Milk", "Coffee")
    entries = "".join(
        f"<li><a href=/x/{name}.html>{name} story</a><p>We like {name} a lot, as you do.</p></li>"
        for name in drinks
    )
    others = [
        PageSource(f"http://a.org/{name}", f"{menu}<h1>{name}</h1><p>All about {name}.</p>{foot}")
        for name in drinks
    ]
    key = PageSource("http://a.org/x/", f"{menu}<ul>{entries}</ul>{foot}")
    found = extract_template(key, others)
    assert [f"{name} story" for name in drinks] == found.main_text.splitlines()[::2]
