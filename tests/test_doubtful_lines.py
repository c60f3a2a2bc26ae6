"""Lines that too few pages have as they stand, and that are template by where they stand."""

from __future__ import annotations

import pytest

from tests.support.template_pages import extract
from tplspider.template.lines import letters

NAMES = ("news", "photos", "history", "members", "contact")
MENU = "".join(f'<li><a href="/{name}.html">{name}</a></li>' for name in NAMES)
RULES = "Comments are moderated by the friends of the birds"
LISTS = [f"<body>{MENU}<div><p>{words}</p></div></body>" for words in ("ducks", "geese")]


def article(words: str, *end: str, menu: str = MENU) -> str:
    """A page with some text of its own, and other lines after it."""
    lines = (f"Much to say about {words}", f"More about {words} and where they live", *end)
    return f"<body>{menu}<div>{''.join(f'<p>{line}</p>' for line in lines)}</div></body>"


def test_after_the_text_the_nearest_page_is_enough() -> None:
    found = extract(article("cranes", RULES), article("herons", RULES), *LISTS)
    assert found.content_text.splitlines() == [
        "Much to say about cranes",
        "More about cranes and where they live",
    ]


def test_amid_the_text_one_page_is_not_enough() -> None:
    def page(words: str) -> str:
        whole = article(words, RULES, f"The last about {words}")
        return whole.replace(f"<p>{RULES}</p>", f"<h4>{RULES}</h4>")

    assert RULES in extract(page("cranes"), page("herons"), *LISTS).content_text


def test_a_link_after_the_text_may_be_on_two_pages() -> None:
    def related(start: str) -> str:
        return f'<a href="{start}long-way-north.html">The long and winding way north</a>'

    for start, kept in (("/", True), ("http://elsewhere.example/", False)):
        pages = [article(words, related(start)) for words in ("cranes", "herons")]
        assert ("The long" in extract(*pages, *LISTS).content_text) is kept


def test_a_page_with_most_of_the_text_does_not_vouch_for_its_end() -> None:
    text = ("Cranes are tall and grey birds", "They dance in spring", "They fly south in autumn")
    whole = article("storks", *text)
    assert extract(article("cranes", *text), whole, *LISTS).content_text.splitlines()[2:] == [*text]


@pytest.mark.parametrize("entry", ['<a href="/photos.1.html">photos</a>', "photos"])
def test_an_entry_that_leads_elsewhere_is_the_same_entry(entry: str) -> None:
    menu = MENU.replace('<a href="/photos.html">photos</a>', entry)
    key = article("cranes", menu=f"<center>{menu}</center>")
    others = [article(words, menu=f"<b>{MENU}</b>") for words in ("herons", "storks", "ibises")]
    assert extract(key, *others).content_text.splitlines()[0] == "Much to say about cranes"


def test_what_leads_elsewhere_on_each_page_is_not_an_entry() -> None:
    def page(words: str, tag: str) -> str:
        link = f'<a href="/after-{words}.html">photos</a>'
        menu = MENU.replace('<a href="/photos.html">photos</a>', link)
        return article(words, menu=f"<{tag}>{menu}</{tag}>")

    found = extract(page("cranes", "center"), page("herons", "b"), page("storks", "i"))
    assert found.content_text.splitlines()[0] == "photos"


def test_few_words_are_lost_among_common_ones() -> None:
    def page(words: str, mark: str, tag: str) -> str:
        return article(
            words, f'<{tag}><a href="/">The friends of all the birds<br>{mark}</a></{tag}>'
        )

    others = [
        page("herons", "Start", "b"),
        page("storks", "Begin", "i"),
        page("ibises", "Top", "u"),
    ]
    found = extract(page("cranes", "Home", "center"), *others)
    assert "Home" not in found.content_text
    long = "Home of all who like to look at cranes"
    assert long in extract(page("cranes", long, "center"), *others).content_text


def test_where_little_maps_the_tree_has_little_weight() -> None:
    footer = "<font>Copyright 2000 by the friends of the birds</font>"

    def page(words: str, opening: str) -> str:
        return f"<body>{opening}<p>All there is about {words}.</p><h6>{footer}</h6></body>"

    key = page("cranes", "<hr><hr>" + "".join(f"<div><b>{n} cranes</b></div>" for n in range(20)))
    alike = "<body><hr><hr><p>Welcome to all.</p></body>"
    others = [
        page(words, opening).replace("h6>", f"{tag}>")
        for words, opening, tag in (("herons", "<ul></ul>", "div"), ("storks", "<ol></ol>", "pre"))
    ]
    assert "Copyright" not in extract(key, *others, alike).content_text


def test_a_chinese_letter_says_more_than_a_latin_one() -> None:
    assert letters("crane 1!") == 6
    assert letters("写作与出版") == 15
    assert letters("été") == 3
