"""What a page hides is not what a reader came for."""

from __future__ import annotations

import pytest

from tests.support.template_pages import extract, framed

TEXT = "There is a great deal to say about {}, more than fits on a page of this size."


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
        ("<p aria-hidden='true'>All hidden {}</p>", ""),
        ("<dialog open>All hidden {}</dialog>", ""),
        ("<p style='list-style: none'>All hidden {}</p>", ""),
        ("<p hidden id='more'>All hidden {}</p>", "<p><button aria-controls='more'>+</button></p>"),
        ("<p hidden id='more'>All hidden {}</p>", "<p><a href='#more'>Read on</a></p>"),
        ("<p hidden id='more'>All hidden {}</p>", "<p onclick=\"show('more')\">Read on</p>"),
    ],
)
def test_what_can_be_opened_is_not_hidden(hidden: str, control: str) -> None:
    assert "hidden cranes" in main_text(hidden, control)


def test_a_page_that_is_hidden_till_its_script_runs_is_not_hidden() -> None:
    def page(words: str) -> str:
        return framed(f'<div class="t" style="display:none"><p>{TEXT.format(words)}</p></div>')

    found = extract(page("cranes"), page("herons"), page("storks"))
    assert found.main_text == TEXT.format("cranes")
