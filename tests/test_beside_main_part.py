"""What stands beside the main part of a page, and is not what a reader came for."""

from __future__ import annotations

from tests.support.template_pages import extract, framed

TEXT = "There is a great deal to say about {}, more than fits on a page of this size."
BIRDS = ("cranes", "herons", "storks")


def main_lines(page: str) -> list[str]:
    """The main text of a page, given with ``{0}`` for what it is about."""
    found = extract(*(framed(page.format(bird)) for bird in BIRDS))
    return found.main_text.splitlines()


def text(bird: str) -> list[str]:
    return [f"{TEXT.format(bird)} ({i})" for i in range(3)]


ARTICLE = f"<div class='text'>{''.join(f'<p>{line}</p>' for line in text('{0}'))}</div>"


def test_the_heading_of_leftovers_is_a_leftover() -> None:
    page = (
        f"<div class='top'><h1>On {{0}}</h1></div>{ARTICLE}"
        "<div class='more'><h3>More about {0}</h3><a href='/{0}/1'>Of {0} and men</a></div>"
    )
    assert main_lines(page) == ["On cranes", *text("cranes")]


def test_contents_do_not_keep_what_is_beside_them() -> None:
    names = "abcdefgh"
    contents = "".join(f"<li><a href='#{n}'>What there is of {{0}}, {n}</a></li>" for n in names)
    page = (
        f"{ARTICLE}<div class='side'><ul class='toc'>{contents * 6}</ul>"
        "<p class='near'><a href='/{0}/1'>A bit on {0}</a></p></div>"
    )
    assert main_lines(page) == text("cranes")


def test_a_few_links_beside_a_list_are_left_out_and_its_introduction_is_not() -> None:
    entries = "".join(f"<li><a href='/{{0}}/{i}'>{{0}} number {i}</a></li>" for i in range(20))
    page = (
        "<div class='pages'><a href='/{0}/p2'>more {0}</a></div><p class='intro'>These are {0}:</p>"
        f"<ul class='list'>{entries}</ul>"
    )
    assert main_lines(page) == ["These are cranes:", *(f"cranes number {i}" for i in range(20))]


def test_a_pilcrow_is_left_out_where_its_heading_is_template() -> None:
    heading = "<b>All the birds there are</b><a class='anchor' href='#of-{0}'>\xb6</a>"
    page = f"<h1 class='name'>{heading}</h1>{ARTICLE}"
    assert main_lines(page) == text("cranes")
