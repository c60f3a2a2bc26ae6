"""Lists that have entries in common."""

from __future__ import annotations

import pytest

from tests.support.template_pages import extract, framed

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
