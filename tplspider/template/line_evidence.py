"""Lines that most of the compared pages have, wherever they stand: template that no mapping finds.

The mapping goes from the top down. A wrapper that only some pages have, another chain of ``font``
and ``center``, an unclosed tag, and nothing below maps. But a menu is a menu and a footer a footer
in whatever tree: their lines stand on page after page.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, compress, count
from operator import not_
from typing import TYPE_CHECKING

from tplspider.template.doubtful_lines import accept_end, find_entries
from tplspider.template.page_lines import FoundLines, Line, Names, lines_in
from tplspider.template.rules import drop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.template.element_text import ElementTexts
    from tplspider.template.flat_page import FlatPage

SHARE = 0.75  # of the pages, by weight, that must have a line
OUTWEIGH = 2  # how much more of an element's words must be common than not, to be template
LEAST = 20  # letters and digits in a row of lines that are more than a coincidence of wording


def accept_common_lines(  # noqa: PLR0917 - what the rules of the vote have in common, and pages
    key: FlatPage,
    lines: list[Line],
    texts: ElementTexts,
    others: Sequence[FlatPage],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
    template: list[bool],
    mapped: float,
) -> list[int]:
    """Accept what holds lines that most pages have, from the top down, as template.

    Lines in a row, long enough, open all that is round them. By itself, a link is accepted, if
    what it is in is template anyway.
    Returned are the elements that have become template for what is in them, and whose own words
    are not, most of them. Lines in one element cannot be told apart: "Home page" under the name
    of the site is lost in it.
    """
    known = lines_in(lines, template)
    if all(known):
        return []
    names = [line.names for line in lines]
    sizes = [line.size for line in lines]
    weights = _line_weights(sizes, names, found_lines, weights, mapped)
    common = _common(lines, names, known, others, found_lines, weights)
    entries = find_entries(lines, common, found_lines, weights, SHARE)
    for place in entries:
        common[place] = True
    accept_end(key, lines, sizes, names, common, found_lines, weights)
    if common == known:
        return []
    in_row = _in_rows(sizes, known, common)
    rows, links, own = ([0] * len(template) for _ in range(3))
    balance: dict[int, int] = {}  # of an element's words, those of the page's own count up
    for place, line in enumerate(lines):
        if known[place]:
            continue
        accepted = common[place] and (in_row[place] or line.link != "" or place in entries)
        into = own if not accepted else rows if in_row[place] else links
        size = line.letters * (-1 if accepted else OUTWEIGH)
        for element in line.elements:
            into[element] = 1
            balance[element] = balance.get(element, 0) + size
    has_rows, has_links, has_own = map(texts.within, (rows, links, own))
    around = []
    for element in list(compress(count(), map(not_, template))):
        if template[key.parents[element]] and (
            has_rows(element) or (has_links(element) and not has_own(element))
        ):
            template[element] = True
            if balance.get(element, 0) > 0:
                around.append(element)
    return around


def has_lines(lines: list[Line], found: Counter[tuple[str, str]]) -> bool:
    """Whether a page has enough of the key page's lines to tell something about it."""
    shared = 0
    for line in lines:
        if any(name in found for name in line.names):
            shared += line.size
            if shared >= LEAST:
                return True
    return False


def _shared(sizes: list[int], names: list[Names], found_lines: Sequence[FoundLines]) -> list[int]:
    """How much of the key page's lines each page has."""
    # Nearly all lines have one name: those are looked up all at once.
    firsts = [which[0] for which in names]
    more = [place for place, which in enumerate(names) if len(which) > 1]
    shared = []
    for found in found_lines:
        has = list(map(found.__contains__, firsts))
        for place in more:
            has[place] = not found.keys().isdisjoint(names[place])
        shared.append(sum(compress(sizes, has)))
    return shared


def _line_weights(
    sizes: list[int],
    names: list[Names],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
    mapped: float,
) -> list[float]:
    """How much each page weighs here: as much by its lines as by its tree.

    Where next to nothing maps, by chance a page weighs most whose tree is a little less unlike:
    the tree counts for no more than the share of the key page that is *mapped*.
    """
    shared = _shared(sizes, names, found_lines)
    most = max(shared) or 1
    by_tree = min(mapped, 0.5)
    return [
        by_tree * weight + (1 - by_tree) * (size / most) ** 2
        for size, weight in zip(shared, weights, strict=True)
    ]


def _common(  # noqa: PLR0917 - as above
    lines: list[Line],
    names: list[Names],
    known: list[bool],
    others: Sequence[FlatPage],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
) -> list[bool]:
    """Of each line, whether most pages have it, as often as the key page has up to there.

    A page has no say on links to itself: it shows them in another way, if at all.
    """
    before = Counter(chain.from_iterable(compress(names, known)))
    unknown = [place for place, yes in enumerate(known) if not yes]
    wanted = {name for place in unknown for name in names[place]}
    votes, missing = [0.0] * len(lines), [0.0] * len(lines)
    voters = [0] * len(lines)
    for other, found, weight in zip(others, found_lines, weights, strict=True):
        left = {name: found[name] - before.get(name, 0) for name in wanted & found.keys()}
        for place in unknown:
            which = names[place]
            if left.get(which[0], 0) > 0 or (
                len(which) > 1 and any(left.get(n, 0) > 0 for n in which)
            ):
                for name in which:
                    left[name] = left.get(name, 0) - 1
                votes[place] += weight
                voters[place] += 1
            elif lines[place].target != other.url:
                missing[place] += weight
    least = min(2, len(others))
    return [
        yes or (count >= least and vote >= SHARE * (vote + against) - 1e-9)
        for yes, vote, against, count in zip(known, votes, missing, voters, strict=True)
    ]


def _in_rows(sizes: list[int], known: list[bool], common: list[bool]) -> list[bool]:
    """Of each line, whether it is in a row of common lines that is long enough.

    A short one by itself ("Note", "See also") is a coincidence of wording.
    """
    in_row = [False] * len(sizes)
    start = 0
    while start < len(sizes):
        end, size = start, 0
        while end < len(sizes) and common[end]:
            if not known[end]:
                size += sizes[end]
            end += 1
        if size >= LEAST:
            in_row[start:end] = [True] * (end - start)
        start = end + 1
    return in_row


def drop_sandwiched(
    key: FlatPage, lines: list[Line], texts: ElementTexts, template: list[bool]
) -> list[int]:
    """Drop rows of template that are words, not links, between lines of the page's own.

    With one page to compare with, nobody can tell what both happen to have from what all pages
    have; but template stands before the page's own and after it.
    Returned are elements that stay template for what is in them, and whose words are dropped.
    """
    known = lines_in(lines, template)
    dropped, kept = [0] * len(template), [0] * len(template)
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and known[end] == known[start]:
            end += 1
        row = lines[start:end]
        linked = sum(line.linked * len(line.text) for line in row)
        between = known[start] and start > 0 and end < len(lines)
        into = dropped if between and 2 * linked < sum(len(x.text) for x in row) else kept
        if known[start]:
            for line in row:
                for element in line.elements:
                    into[element] = 1
        start = end
    holders = [element for element, yes in enumerate(dropped) if yes]
    has_kept = texts.within(kept)
    drop(key, template, [element for element in holders if not has_kept(element)])
    return [element for element in holders if has_kept(element)]
