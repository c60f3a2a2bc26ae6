"""Template that stands in another place of the tree on each page."""

from __future__ import annotations

from tests.support.template_pages import extract

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


def test_a_short_line_by_itself_is_a_coincidence() -> None:
    def part(tag: str, words: str) -> str:
        return page(words).replace("<p>All", f"<{tag}><p>Note</p></{tag}><p>All")

    found = extract(part("blockquote", "cranes"), part("div", "herons"), part("section", "storks"))
    assert found.content_text.splitlines() == ["Note", "All there is about cranes."]


def test_one_page_tells_little_of_what_is_between_own_lines() -> None:
    def text(*lines: str) -> str:
        return f"<body><h3>The birds</h3>{''.join(f'<div>{x}</div>' for x in lines)}<i>The end</i>"

    key = text("Cranes are tall", "They can fly", "Cranes dance")
    assert extract(key, text("Herons are grey", "They can fly", "Herons fish")).content_text == (
        "Cranes are tall\nThey can fly\nCranes dance"
    )


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


def test_a_page_weighs_by_its_lines() -> None:
    key = page("cranes", "<table><tr><td>", "</td></tr></table>")
    others = [page("herons", "<div><font>", "</font></div>"), page("storks", "<b>", "</b>")]
    # A tree like the key page's, without menu and footer.
    bare = (
        "<body><table><tr><td><center>1</center></td></tr></table><p>All about ibises.</p></body>"
    )
    found = extract(key, *others, page("ibises"), bare)
    assert "photos" not in found.content_text
