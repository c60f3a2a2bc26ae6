"""Lines that most of the compared pages have, wherever they stand: template that no mapping finds.

The mapping goes from the top down. A wrapper that only some pages have, another chain of ``font``
and ``center``, an unclosed tag, and nothing below maps. But a menu is a menu and a footer a footer
in whatever tree: their lines stand on page after page.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tplspider.page_lines import page_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.element_text import ElementTexts
    from tplspider.flat_page import FlatPage
    from tplspider.page_lines import Line

SHARE = 2 / 3  # of the pages, by weight, that must have a line
LEAST = 20  # letters and digits that are more than a coincidence of wording
LINK = 10  # so many more for a line that is a link to the same place


def accept_common_lines(
    key: FlatPage,
    texts: ElementTexts,
    others: Sequence[FlatPage],
    weights: Sequence[float],
    template: list[bool],
) -> list[int]:
    """Accept what holds lines that most pages have, from the top down, as template.

    Returned are the elements that have become template for what is in them, and whose own words
    are not.
    """
    lines = page_lines(key)
    common = _common(lines, others, weights, template)
    shared, own = [0] * len(template), [0] * len(template)
    for line, yes in zip(lines, common, strict=True):
        if not all(template[element] for element in line.elements):
            size = sum(map(str.isalnum, line.text)) + (LINK if line.link else 0)
            into = shared if yes else own
            into[line.elements[0]] += size
            for element in line.elements[1:]:
                into[element] += 1
    holds = {
        element: yes for line, yes in zip(lines, common, strict=True) for element in line.elements
    }
    shared, own = texts.sum(shared), texts.sum(own)
    around = []
    for element in range(1, len(template)):
        if template[element] or not template[key.parents[element]]:
            continue
        if shared[element] >= (LEAST if own[element] else 1):
            template[element] = True
            if key.texts[element] and not holds.get(element, True):
                around.append(element)
    return around


def _common(
    lines: list[Line],
    others: Sequence[FlatPage],
    weights: Sequence[float],
    template: list[bool],
) -> list[bool]:
    """Of each line, whether most pages have it, as often as the key page has up to there."""
    known = [all(template[element] for element in line.elements) for line in lines]
    before = Counter(line.what for line, yes in zip(lines, known, strict=True) if yes)
    votes = [0.0] * len(lines)
    voters = [0] * len(lines)
    for other, weight in zip(others, weights, strict=True):
        left = Counter(line.what for line in page_lines(other))
        left.subtract(before)
        for place, line in enumerate(lines):
            if not known[place] and left[line.what] > 0:
                left[line.what] -= 1
                votes[place] += weight
                voters[place] += 1
    enough = SHARE * sum(weights) - 1e-9
    least = min(2, len(others))
    return [
        yes or (vote >= enough and count >= least)
        for yes, vote, count in zip(known, votes, voters, strict=True)
    ]
