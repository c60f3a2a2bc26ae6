"""What a reader came for, the title, and parts that cannot stand alone."""

from __future__ import annotations

import re

import pytest

from tests.support.template_pages import extract, framed
from tplspider import PageSource, extract_template
from tplspider.template.markdown import to_markdown

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


BIRDS = ("cranes", "herons", "storks")


def main_lines(page: str) -> list[str]:
    """The main text of a page, given with ``{0}`` for what it is about."""
    found = extract(*(framed(page.format(bird)) for bird in BIRDS))
    return found.main_text.splitlines()


def about(bird: str) -> list[str]:
    return [f"{TEXT.format(bird)} ({i})" for i in range(3)]


ARTICLE = f"<div class='text'>{''.join(f'<p>{line}</p>' for line in about('{0}'))}</div>"


def test_the_heading_of_leftovers_is_a_leftover() -> None:
    page = (
        f"<div class='top'><h1>On {{0}}</h1></div>{ARTICLE}"
        "<div class='more'><h3>More about {0}</h3><a href='/{0}/1'>Of {0} and men</a></div>"
    )
    assert main_lines(page) == ["On cranes", *about("cranes")]


LONG = "<div class='text'><p>" + " ".join(about("{0}") * 4) + "</p></div>"


@pytest.mark.parametrize(
    "short",
    [
        "<dl><dt>Young {0}</dt><dd>They are small, and grow.</dd></dl>",
        "<details><summary>Where are {0}?</summary><p>By the water, mostly.</p></details>",
        "<table><caption>Sizes of {0}</caption><tr><th>Wing of {0}</th><td>1 m</td></tr></table>",
        "<fieldset><legend>Kinds of {0}</legend><p>There are a few of these.</p></fieldset>",
        "<p class='price'>{0}: 12.50</p>",
        "<ul><li>Grey {0}</li><li>White {0}</li></ul>",
    ],
)
def test_short_parts_beside_a_long_block_stay(short: str) -> None:
    words = [line for line in re.split("<[^>]*>", short.format("cranes")) if "cranes" in line]
    text = main_lines(f"<h1>On {{0}}</h1>{short}{LONG}")
    assert {*words} <= {*text}


def test_titles_that_are_links_stay_with_their_entries() -> None:
    title = "The long story number {n} of the {0} of the northern lake"
    entries = "".join(
        f"<div class='more'><h3><a href='/{{0}}/{n}'>{title.replace('{n}', str(n))}</a></h3>"
        f"<p>{n}. {' '.join(about('{0}') * 3)}</p></div>"
        for n in range(3)
    )
    found = main_lines(f"<div>{entries}</div><h1>All about {{0}}</h1>")
    assert found[:6:2] == [title.format("cranes", n=n) for n in range(3)]


def test_a_title_that_links_to_its_page_is_no_table_of_contents() -> None:
    top = "<h1><a href='#'>On {0}</a></h1><p class='date'><a href='#'>12 {0} 2020</a></p>"
    assert main_lines(f"<article>{top}{ARTICLE}</article>")[0] == "On cranes"


def test_a_table_with_headings_of_columns_is_whole() -> None:
    rows = "<tr><th>A<th>Of {0}<tr><td>1 m<td>20 kg of {0}<tr><td>2<td>Grey {0}"
    text = main_lines(f"<h1>On {{0}}</h1><table>{rows}</table>{LONG}")
    assert text[1:4] == ["A Of cranes", "1 m 20 kg of cranes", "2 Grey cranes"]


def test_the_lead_of_an_article_is_kept_and_those_of_others_are_not() -> None:
    def lead(n: int) -> str:
        return f"What became of the {n} cranes that left the lake in the autumn of that year."

    def news(n: int) -> str:
        teasers = "".join(
            f"<div class='teaser'><h3><a href='/news/{m}.html'>Story {m}</a></h3>"
            f"<p>{lead(m)}</p></div>"
            for m in range(34)
            if m != n
        )
        paragraphs = "".join(f"<p>{line}</p>" for line in about(f"story {n}"))
        return framed(
            f"<article><h1>Story {n}</h1><p class='lead'>{lead(n)}</p>{paragraphs}</article>"
            f"<section class='more-news'><h2>More news</h2>{teasers}</section>"
        )

    pages = [PageSource(f"http://example.org/news/{n}.html", news(n)) for n in range(24)]
    for n in range(24):
        others = [pages[(n + step) % 24] for step in (1, 2, 3)]
        text = extract_template(pages[n], others).main_text.splitlines()
        assert [line for line in text if line.startswith("What became")] == [lead(n)]
        assert text[-3:] == about(f"story {n}")


def test_comments_beside_a_text_are_not_main_text() -> None:
    comments = "".join(
        f"<li class='comment'><cite>Reader {n}</cite><p>I saw {{0}} {n} times.</p></li>"
        for n in range(5)
    )
    comments = f"<section id='comments'><h2>Comments on {{0}}</h2><ol>{comments}</ol></section>"
    assert main_lines(ARTICLE + ARTICLE + comments) == about("cranes") * 2


def main_text(hidden: str, control: str = "") -> str:
    """The main text of an article with something hidden in it, and its line of text after that."""

    def page(words: str) -> str:
        paragraphs = "".join(f"<p>{TEXT.format(words)} ({i})</p>" for i in range(3))
        return framed(f'<div class="text">{paragraphs}{control}{hidden.format(words)}</div>')

    found = extract(page("cranes"), page("herons"), page("storks"))
    assert "hidden cranes" in found.content_text
    assert "hidden cranes" in found.content_html
    assert found.main_text.count("great deal to say about cranes") == 3
    assert ("hidden cranes" in found.main_text) == ("hidden cranes" in found.main_html)
    return found.main_text


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>All hidden {}</p>",
        "<p style='color: red; DISPLAY:none'>All hidden {}</p>",
        "<p style='visibility: hidden'>All hidden {}</p>",
        "<dialog><p>All hidden {}</p></dialog>",
        "<div style='display: none'><ul><li><a href='/x/{0}'>All hidden {0}</a></li></ul></div>",
    ],
)
def test_what_is_hidden_is_not_main_text(hidden: str) -> None:
    assert "hidden cranes" not in main_text(hidden)


def test_words_beside_hidden_ones_stay() -> None:
    text = main_text("<p>Seen {0}<span style='display:none'> or hidden {0}</span> at last.</p>")
    assert text.splitlines()[-1] == "Seen cranes at last."


@pytest.mark.parametrize(
    ("hidden", "control"),
    [
        ("<p hidden role='tabpanel'>All hidden {}</p>", ""),
        ("<p hidden='until-found'>All hidden {}</p>", ""),
        ("<dialog open>All hidden {}</dialog>", ""),
        ("<p style='list-style: none'>All hidden {}</p>", ""),
        ("<p hidden id='more'>All hidden {}</p>", "<p><button aria-controls='more'>+</button></p>"),
        ("<p hidden id='more'>All hidden {}</p>", "<p><a href='#more'>Read on</a></p>"),
        ("<p hidden id='more'>All hidden {}</p>", "<p onclick=\"show('more')\">Read on</p>"),
    ],
)
def test_what_can_be_opened_is_not_hidden(hidden: str, control: str) -> None:
    assert "hidden cranes" in main_text(hidden, control)


MENU = "<nav><a href=/>Home</a> <a href=/bees/>Bees</a></nav>"
FOOT = "<footer>All rights reserved by us.</footer>"


def own_html(*bodies: str) -> str:
    pages = [
        PageSource(f"http://a.org/{n}.html", f"<body>{MENU}<div class=body>{body}</div>{FOOT}")
        for n, body in enumerate(bodies)
    ]
    return extract_template(pages[0], pages[1:]).main_html


def table(n: int) -> str:
    rows = "".join(
        f"<tr><td>name{n}{row}</td><td>Meaning of {n} and {row}.</td></tr>" for row in range(3)
    )
    return (
        f"<h1>Page {n}</h1><table class=names><thead><tr><th>Name</th><th>Meaning</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def code(n: int) -> str:
    lines = "\n".join(f"x{n}{line} = f({7 * n + line})" for line in range(3))
    return (
        f"<h1>Page {n}</h1><div class='highlight-python notranslate'><div class=highlight>"
        "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2\n3</pre>"
        f"</div></td><td class=code><div><pre>{lines}\n</pre></div></td></tr></table></div></div>"
    )


def test_rows_are_in_their_table() -> None:
    html = own_html(*map(table, range(4)))
    assert '<table class="names"><tbody><tr><td>name00</td>' in html
    assert html.endswith("</tr></tbody></table>")
    assert "| name01 | Meaning of 0 and 1. |" in to_markdown(html, "http://a.org/")


def test_code_keeps_what_names_its_language() -> None:
    html = own_html(*map(code, range(4)))
    wanted = "```python\nx00 = f(0)\nx01 = f(1)\nx02 = f(2)\n```"
    assert wanted in to_markdown(html, "http://a.org/")
    assert "1\n2\n3" not in to_markdown(html, "http://a.org/")


ENTRIES = "<ul>" + "".join(f"<li><a href=/{i}>Entry {i}</a></li>" for i in range(15)) + "</ul>"


def test_loose_text_of_the_page_is_content_in_its_place() -> None:
    key = f"<div class=main>Monday{ENTRIES}<p>First</p>adrift<p>Last</p></div>"
    other = f"<div class=main>Friday{ENTRIES}<p>Other</p>here<p>More</p></div>"
    found = extract(key, other)
    assert found.content_text.split("\n") == ["Monday", "First", "adrift", "Last"]
    assert found.content_html.split("\n") == ["Monday", "<p>First</p>", "adrift", "<p>Last</p>"]
    for word in ("Monday", "First", "adrift", "Last"):
        assert word not in found.template_html
    assert "Entry 3" in found.template_html
