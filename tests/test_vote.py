"""What is template by the votes of other pages, and by their lines."""

from __future__ import annotations

import pytest

from tests.support.template_pages import extract, framed

MENU = "".join(f'<a href="/{name}.html">{name}</a> | ' for name in ("news", "photos", "history"))
FOOTER = "Copyright 2000 by the friends of the birds. All rights reserved."


def page(words: str, before: str = "", after: str = "") -> str:
    """A page made by hand: no two have the same tree."""
    return (
        f"<body>{before}<center>{MENU}</center>{after}<p>All there is about {words}.</p>"
        f"{before}<p><font size=1>{FOOTER}</font></p>{after}</body>"
    )


def test_menus_and_footers_in_any_tree() -> None:
    key = page("cranes", "<table><tr><td>", "</td></tr></table>")
    others = [
        page("herons", "<div><font>", "</font></div>"),
        page("storks", "<center>", "</center>"),
        page("ibises"),
    ]
    found = extract(key, *others)
    assert found.content_text == "All there is about cranes."
    assert found.evidence == 3
    for words in ("photos", FOOTER):
        assert words in found.template_html


def test_a_page_has_no_say_on_links_to_itself() -> None:
    def other(name: str, opening: str, closing: str) -> str:
        menu = MENU.replace(f'<a href="/{name}.html">{name}</a>', "")
        return page(f"the {name}", opening, closing).replace(MENU, menu)

    key = page("cranes", "<table><tr><td>", "</td></tr></table>")
    names = ("news", "photos", "history")
    wrappers = [("<div>", "</div>"), ("<center>", "</center>"), ("<b>", "</b>")]
    pages = [other(name, *pair) for name, pair in zip(names, wrappers, strict=True)]
    urls = [f"http://example.org/{name}.html" for name in names]
    found = extract(key, *pages, url="http://example.org/cranes.html", urls=urls)
    assert found.content_text == "All there is about cranes."


def test_a_query_does_not_make_another_menu() -> None:
    def visited(html: str, query: str) -> str:
        return html.replace('.html"', f'.html?{query}"')

    key = visited(page("cranes", "<table><tr><td>", "</td></tr></table>"), "s=1")
    others = [
        visited(page("herons", "<div><font>", "</font></div>"), "s=2"),
        page("storks", "<center>", "</center>"),
        visited(page("ibises"), "s=3&lang=en"),
    ]
    assert extract(key, *others).content_text == "All there is about cranes."


LIST_NAMES = ("news", "photos", "history", "members", "contact")
LIST_MENU = "".join(f'<li><a href="/{name}.html">{name}</a></li>' for name in LIST_NAMES)
RULES = "Comments are moderated by the friends of the birds"
LISTS = [f"<body>{LIST_MENU}<div><p>{words}</p></div></body>" for words in ("ducks", "geese")]


def article(words: str, *end: str, menu: str = LIST_MENU) -> str:
    """A page with some text of its own, and other lines after it."""
    lines = (f"Much to say about {words}", f"More about {words} and where they live", *end)
    return f"<body>{menu}<div>{''.join(f'<p>{line}</p>' for line in lines)}</div></body>"


def test_after_the_text_the_nearest_page_is_enough() -> None:
    found = extract(article("cranes", RULES), article("herons", RULES), *LISTS)
    assert found.content_text.splitlines() == [
        "Much to say about cranes",
        "More about cranes and where they live",
    ]


def test_a_link_after_the_text_may_be_on_two_pages() -> None:
    def related(start: str) -> str:
        return f'<a href="{start}long-way-north.html">The long and winding way north</a>'

    for start, kept in (("/", True), ("http://elsewhere.example/", False)):
        pages = [article(words, related(start)) for words in ("cranes", "herons")]
        assert ("The long" in extract(*pages, *LISTS).content_text) is kept


@pytest.mark.parametrize("entry", ['<a href="/photos.1.html">photos</a>', "photos"])
def test_an_entry_that_leads_elsewhere_is_the_same_entry(entry: str) -> None:
    menu = LIST_MENU.replace('<a href="/photos.html">photos</a>', entry)
    key = article("cranes", menu=f"<center>{menu}</center>")
    others = [
        article(words, menu=f"<b>{LIST_MENU}</b>") for words in ("herons", "storks", "ibises")
    ]
    assert extract(key, *others).content_text.splitlines()[0] == "Much to say about cranes"


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


POST = "A post about {} that is long enough to be more than a coincidence, and not a menu."


def listing(*topics: str, opening: str = "article", box: str = "") -> str:
    """A page that lists posts whole, perhaps with a box of the same kind after all of them."""
    closing = opening.split(maxsplit=1)[0]
    entries = [f"<h2>On {topic}</h2><p>{POST.format(topic)}</p>" for topic in topics]
    parts = [*entries, box] if box else entries
    return framed("".join(f"<{opening}>{part}</{closing}>" for part in parts))


@pytest.mark.parametrize("opening", ["article", "article class='post-{} x'", "div class=entry"])
def test_an_entry_of_all_lists_is_not_template(opening: str) -> None:
    def lists(*topics: str) -> str:
        return listing(*topics, opening=opening)

    key = lists("herons", "cranes", "storks").format(1, 2, 3)
    others = [
        lists("geese", "cranes", "ducks").format(4, 2, 5),
        lists("owls", "cranes", "larks").format(6, 2, 7),
        lists("gulls", "cranes", "terns").format(8, 2, 9),
    ]
    assert POST.format("cranes") in extract(key, *others).content_text.splitlines()


def test_a_box_after_all_entries_is_template() -> None:
    box = "<h2>About</h2><p>This site is kept by people who have an eye on birds of all kinds.</p>"
    key = listing("herons", "storks", box=box)
    others = [listing("geese", "ducks", box=box), listing("owls", "larks", box=box)]
    found = extract(key, *others)
    assert "an eye on birds" not in found.content_text
    assert POST.format("storks") in found.content_text
