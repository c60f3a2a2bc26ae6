"""What content_text keeps and leaves out: lists, teasers, labels, short parts beside long ones."""

from __future__ import annotations

import pytest

from tplspider import PageSource, extract_template

SITE = "http://example.org/"
TOPICS = "cranes herons storks ibises geese ducks owls larks gulls terns rooks doves".split()


def content(pages: dict[str, str]) -> str:
    """What is left of the first of the pages, by their addresses."""
    key, *others = [PageSource(f"{SITE}{path}", page) for path, page in pages.items()]
    return extract_template(key, others).content_text


def framed(inner: str) -> str:
    menu = "".join(f'<li><a href="/{n}/">Menu entry {n}</a></li>' for n in range(5))
    return (
        f'<header><ul class="menu">{menu}</ul></header><main>{inner}</main>'
        "<footer><p>All rights reserved by the people of the site</p></footer>"
    )


def lead(n: int) -> str:
    return f"What was seen of {TOPICS[n % 12]} in the spring of {1990 + n}, by one who was there."


def news(n: int) -> str:
    """An article with its lead, and the teasers of others, which have theirs."""
    teasers = "".join(
        f'<div class="teaser"><h3><a href="/news/{m}">News {m} of {TOPICS[m % 12]}</a></h3>'
        f"<p>{lead(m)}</p></div>"
        for m in range(34)
        if m != n
    )
    text = "".join(f"<p>Paragraph {m} of article {n} says more on {n * m}.</p>" for m in range(4))
    article = f'<h1>News {n} of {TOPICS[n % 12]}</h1><p class="lead">{lead(n)}</p>{text}'
    return framed(f'<article>{article}</article><aside class="more">{teasers}</aside>')


@pytest.mark.parametrize("number", [1, 3])
def test_leads_of_an_article_and_of_others(number: int) -> None:
    for n in range(0, 24, 5):
        which = [(n + step) % 24 for step in (0, 7, 11, 13)[: number + 1]]
        found = content({f"news/{m}": news(m) for m in which}).splitlines()
        assert lead(n) in found
        assert not {lead(m) for m in range(34) if m != n} & {*found}


def listing(title: str, entries: range) -> str:
    items = "".join(
        f'<li class="post"><h2><a href="/posts/{n}">Post {n} on {TOPICS[n % 12]}</a></h2>'
        f"<p>{lead(n)}</p></li>"
        for n in entries
    )
    return framed(f"<h1>{title}</h1><ul class='posts'>{items}</ul>")


@pytest.mark.parametrize("number", [1, 3])
def test_a_list_keeps_entries_that_other_lists_have(number: int) -> None:
    lists = {
        "birds": listing("Posts on birds", range(3, 12)),
        "may": listing("Posts of May", range(14)),
        "ada": listing("Posts of Ada", range(2, 17)),
        "all": listing("All posts", range(20)),
    }
    found = content(dict([*lists.items()][: number + 1])).splitlines()
    assert [n for n in range(3, 12) if lead(n) not in found] == []


def post(n: int) -> str:
    bird = TOPICS[n]
    text = "".join(f"<p>{bird} {m} and <i>{m} {bird}</i> again.</p>" for m in ("fly", "nest"))
    title = f'<h1><a href="/posts/{n}">Post {n} on {bird}</a></h1>'
    return f'<article class="post">{title}<div class="text">{text}</div></article>'


def test_a_post_that_lists_have_whole_is_not_template() -> None:
    lists = {
        topic: framed(f"<h2>{topic}</h2>{''.join(map(post, posts))}")
        for topic, posts in (("rails", range(5)), ("ruby", range(1, 8)), ("all", range(12)))
    }
    found = content({"posts/3": framed(post(3)), **lists})
    assert [m for m in ("fly", "nest") if f"{TOPICS[3]} {m} and" not in found] == []


def test_a_link_is_kept_whole_and_left_out_whole() -> None:
    def dated(*entries: tuple[str, str]) -> str:
        inner = "<a href='/{0}'><b>{0}</b> <i>{1}</i></a> <a href='/{0}#all'>More</a>"
        links = [f"<li>{inner.format(*entry)}</li>" for entry in entries]
        return framed(f"<ul class='dated'>{''.join(links)}</ul>")

    days = ["Jun 21", "Jul 12", "May 3", "Apr 4"]
    pages = [dated(*((f"{topic}-{day[-1]}", day) for day in days)) for topic in TOPICS[:4]]
    assert content({str(n): page for n, page in enumerate(pages)}).splitlines() == [
        *("cranes-1 Jun 21", "cranes-2 Jul 12", "cranes-3 May 3", "cranes-4 Apr 4"),
    ]


def test_a_part_with_several_entries_is_none() -> None:
    def page(n: int) -> str:
        links = "".join(f'<a class="e" href="/{m}">On {TOPICS[m]}</a> ' for m in range(n, n + 6))
        parts = [f"<p>{TOPICS[n]}</p>", f"<p>See also</p><div>{links}</div>", "<p>Words</p>"]
        return framed("".join(f"<div class='part'>{part}</div>" for part in parts))

    found = content({str(n): page(n) for n in range(4)}).splitlines()
    assert "See also" not in found
    assert found[0] == TOPICS[0]


def test_labels_of_pages_with_a_class_of_their_own_and_of_forms() -> None:
    def page(topic: str) -> str:
        form = "<h4>From the book</h4><textarea>Write what you saw</textarea>"
        return f'<body class="page-{topic}"><p>On {topic}</p>{form}<p>All on {topic}.</p></body>'

    found = content({topic: page(topic) for topic in TOPICS[:2]}).splitlines()
    assert found == ["On cranes", "All on cranes."]


PARTS = {
    "glossary": ("<dl><dt>{} proper</dt><dd>Words on {}.</dd></dl>", "{} proper", "Words on {}."),
    "questions": ("<details><summary>Where do {} live?</summary>There.</details>", "do {} live?"),
    "th": ("<table><tr><th>Year of {}</th><td>{} in it</td></tr></table>", "Year of {}", "in it"),
    "caption": ("<table><caption>Table of {}</caption><tr><td>1</td></tr></table>", "Table of {}"),
    "legend": ("<fieldset><legend>Choice of {}</legend></fieldset>", "Choice of {}"),
    "title": ("<p class='title'>Title of {}</p>", "Title of {}"),
    "price": ("<span class='price'>{} for 12.50</span>", "{} for 12.50"),
}


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("number", [1, 3])
def test_short_parts_beside_a_long_one_are_kept(kind: str, number: int) -> None:
    html, *parts = PARTS[kind]
    long = "<p>" + "A long description of {} that goes on about them for many words. " * 12 + "</p>"
    pages = {topic: framed((html + long).replace("{}", topic)) for topic in TOPICS[: number + 1]}
    found = content(pages)
    assert [part for part in parts if part.replace("{}", TOPICS[0]) not in found] == []


def film(title: str, director: str, genre: str, *more: str) -> str:
    """A detail page: labels beside values, and values that films share."""
    rows = (("Director:", director), ("Genre:", genre), *pairs(more))
    table = "".join(f"<tr><td>{label}</td><td>{value}</td></tr>" for label, value in rows)
    lead = f"<p>The plot of {title}. <a href='/{title}/more'>Read more</a></p>"
    return framed(f"<h1>{title}</h1><table>{table}</table>{lead}<p><b>Rated:</b> {title} times</p>")


def pairs(more: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(more[::2], more[1::2], strict=True))


@pytest.mark.parametrize("number", [1, 3])
def test_labels_are_template_and_values_that_pages_share_are_not(number: int) -> None:
    key = film("Heron", "A. Archer", "Drama", "Colour", "Grey", "Writer", "B. Baker")
    others = [
        film("Crane", "C. Carter", "Drama", "Colour", "Red", "Writer", "D. Dyer"),
        film("Stork", "E. Eyre", "Comedy", "Colour", "Blue", "Writer", "F. Fisher"),
        film("Ibis", "G. Glover", "Crime", "Colour", "White", "Writer", "H. Hunter"),
    ][:number]
    assert content({str(n): each for n, each in enumerate([key, *others])}).splitlines() == [
        *("Heron", "A. Archer", "Drama", "Grey", "B. Baker"),
        *("The plot of Heron.", "Heron times"),
    ]


MARKS = ["p data-nosnippet", "p aria-hidden=true", "div id=onetrust-banner-sdk"]


@pytest.mark.parametrize("opening", MARKS)
def test_what_authors_mark_is_left_out(opening: str) -> None:
    def page(words: str, inner: str = "p") -> str:
        closing = inner.split(maxsplit=1)[0]
        return f"<h1>On {words}</h1><p>All about {words}</p><{inner}>For {words}</{closing}>"

    key = page("cranes", opening)
    assert "For cranes" not in content({"1": framed(key), "2": framed(page("herons"))})
    assert "For cranes" in content({"1": framed(page("cranes")), "2": framed(page("herons"))})
    assert content({"1": key}).splitlines() == ["On cranes", "All about cranes"]
    # A dialog may hide the rest, not for long.
    assert "For cranes" in content({"1": key.replace("For cranes", "For cranes " * 9)})
