"""Which elements of the key page are template, by what the other pages have to say about each.

An element is judged from the top down, by the pages in which its parent has a counterpart. A page
of another kind (a landing page, a list of posts) has no counterpart for whole regions of the key
page: it says nothing about what is inside them. The more alike a page, the more it weighs. Then
rules for what the votes cannot see change *template* in place, which stays closed under parents;
they stand below in the order in which they run.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress, count
from operator import and_, itemgetter, lt, mul, not_, sub
from typing import TYPE_CHECKING

from tplspider.template.lines import FoundLines, Line, Names, lines_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tplspider.template.flat_page import FlatPage


# Elements that there are for the sake of the words in them.
WORDY = frozenset(
    "b blockquote caption code dd dl dt em figure h1 h2 h3 h4 h5 h6 li ol p pre small strong table"
    " tbody td tfoot th thead tr u ul".split()
)
TEXT_BLOCKS = WORDY - {"b", "em", "ol", "small", "strong", "u", "ul"} | {"br", "hr", "img"}

_LONGEST = 100  # characters: a paragraph is not worth ten menu entries
_WORDLESS_LINK = 5
_WORD = re.compile(r"[^\W\d_]{2}")


Kind = tuple[int, str, str | None]


MOST = 0.85  # the share of the pages, by weight, that must have an element ...
HALF = 0.5  # ... or, if it is part of the page's frame, so many of them
SEVERAL = 0.6  # or so many, two at the least, if they have half of its text as well
NEAREST = (
    0.8  # how much a page must weigh to vouch for a menu or lines alone, the nearest weighing 1
)
MENU_ENTRIES = 4
RUNNING_TEXT = 2  # so many blocks of text that few pages have, side by side, are running text

_FRAME = frozenset(
    "a article aside button div footer form header main nav ol section span ul".split()
)


RECORDS = 3  # so many alike, side by side and with texts of their own, are records in a list
PATCHWORK = 0.5  # the share of the page's own in what may be a patchwork of both
LABEL = 2  # times the data: what is longer is not there for the sake of the data ...
SHORT_LABEL = 12  # ... but for a few letters
MAIN_SHARE = 0.5  # of the text that is not template: what has so much of it is the main text

_CONTROLS = frozenset("button img input label select svg textarea".split())
# There for the sake of their entries, whatever their names.
_LISTS = frozenset({"dl", "ol", "ul"})
_WRAPPERS = frozenset("article div main section".split())


# Lines that most of the compared pages have, wherever they stand: template that no mapping finds.
#
# The mapping goes from the top down. A wrapper that only some pages have, another chain of ``font``
# and ``center``, an unclosed tag, and nothing below maps. But a menu is a menu and a footer a
# footer in whatever tree: their lines stand on page after page.

SHARE = 0.75  # of the pages, by weight, that must have a line
OUTWEIGH = 2  # how much more of an element's words must be common than not, to be template
LEAST = 20  # letters and digits in a row of lines that are more than a coincidence of wording


# Lines that too few pages have as they stand, and that are template by where they stand.
#
# A menu has the same entries on all pages, but one of them may lead elsewhere, or be mere text on
# the page it leads to. And what only pages of one kind have, one page alone may show.

END = 0.5  # of what is not common: a page that has more of it has what the key page is about


# Entries that several lists have: a post that stands in two categories is not template.
#
# Where all compared pages happen to list an entry, all of them vote for it. But its company gives
# it away: on one page or another, entries of its kind that not all pages have stand before it, and
# some after it. Template stands before all that pages have of their own, or after it.

SHORTEST = 40  # characters of text in an entry

REPEATED = -2  # in a mapping: an element is again in an entry about its own page

_ENTRIES = frozenset("article div li section".split())
_MARKED = frozenset({"article", "section"})  # what else is mostly the page's own may be a wrapper
_NUMBER = re.compile(r"\d+")


class ElementTexts:
    """Lists by the number of an element, in document order."""

    def __init__(self, key: FlatPage) -> None:
        self._key = key
        # How much text is directly in an element, and how much in its subtree.
        self.own = [
            min(len(text), _LONGEST) if text else _WORDLESS_LINK if link else 0
            for text, link in zip(key.texts, key.links, strict=True)
        ]
        # The values at the ends of all elements, of one list after the other.
        self._at_ends = itemgetter(*key.ends) if len(key.ends) > 1 else lambda values: values[1:]
        self._kept: tuple[bytes, list[int]] = (b"", [])  # for what was template
        self.inside = self.sum(self.own)
        # Whether there is a word in that, not numbers or signs alone.
        self.words = [
            text != ""
            and ((len(text) > 1 and text[:2].isalpha()) or _WORD.search(text) is not None)
            for text in key.texts
        ]
        self._siblings: dict[int, Counter[Kind]] = {}

    def is_named(self, element: int) -> bool:
        """Whether an element has an id or a class."""
        return self._key.names[element] != (None, None)

    def kind(self, element: int) -> Kind:
        """What siblings of one kind have in common: parent, tag and class."""
        key = self._key
        return key.parents[element], key.tags[element], key.names[element][1]

    def is_alone(self, element: int) -> bool:
        """Whether no sibling is of the same kind."""
        parent = self._key.parents[element]
        if parent not in self._siblings:
            self._siblings[parent] = Counter(map(self.kind, self._key.children[parent]))
        return self._siblings[parent][self.kind(element)] == 1

    def within(self, values: Iterable[int]) -> Callable[[int], int]:
        """What gives the sum of the values in the subtree of one element or another."""
        before, ends = list(accumulate(values, initial=0)), self._key.ends
        return lambda element: before[ends[element]] - before[element]

    def own_within(self, some: Iterable[bool]) -> Callable[[int], int]:
        """The same for the text directly in *some* of the elements."""
        return self.within(map(mul, self.own, some))

    def sum(self, values: Iterable[int]) -> list[int]:
        """Of each element, the sum of the values in its subtree."""
        before = list(accumulate(values, initial=0))
        return list(map(sub, self._at_ends(before), before))

    def kept(self, template: Sequence[bool]) -> list[int]:
        """How much of the text in each element is template."""
        now = bytes(template)  # rules that change nothing come after each other
        if now != self._kept[0]:
            self._kept = now, self.sum(map(mul, self.own, now))
        return self._kept[1]

    def mixed(self, template: Sequence[bool]) -> list[int]:
        """The elements that are template, and of which not all the text is."""
        some_own = map(lt, self.kept(template), self.inside)
        return list(compress(count(), map(and_, template, some_own)))

    def is_menu(self, element: int, entries: int) -> bool:
        """Whether there are so many words in an element, and nearly all text of it in links."""
        key = self._key
        if sum(self.words[element : key.ends[element]]) < entries:
            return False
        linked = 0
        inside = element
        while inside < key.ends[element]:
            if key.links[inside]:
                linked += self.inside[inside]
                inside = key.ends[inside]
            else:
                inside += 1
        return linked >= 0.8 * self.inside[element]


@dataclass(frozen=True, slots=True)
class Votes:
    """What came of the vote and of the rules.

    *around* are elements that are template for what is in them, and have words of the page's own;
    *data* are parts that pages have because of what they are about, labelled alike on all.
    """

    template: list[bool]
    around: list[int]
    data: list[int]


def vote(
    key: FlatPage,
    lines: list[Line],
    others: Sequence[FlatPage],
    mappings: Sequence[Sequence[int]],
    found_lines: Sequence[FoundLines],
) -> Votes:
    """Of each element of the key page, whether it is template, given its mappings to pages."""
    texts = ElementTexts(key)
    votes = _Vote(key, mappings, texts)
    template = votes.template
    drop_records(key, texts, template)
    drop_hollow(key, texts, template)
    around = accept_common_lines(
        key, lines, texts, others, found_lines, votes.weights, template, votes.mapped
    )
    drop_patchwork(key, texts, template)
    drop_shared_entries(key, texts, others, mappings, template)
    if len(others) == 1:
        around += drop_sandwiched(key, lines, texts, template)
    data = drop_labelled_data(key, texts, template)
    accept_main_wrappers(key, texts, template)
    return Votes(template, around, data)


class _Vote:
    """The pages' votes, and the elements that have enough of them."""

    def __init__(
        self, key: FlatPage, mappings: Sequence[Sequence[int]], texts: ElementTexts
    ) -> None:
        self.key = key
        self.mappings = mappings
        self.texts = texts
        self.weights = self._weights()
        # Of each element, which pages have it.
        self.having = [[counterpart >= 0 for counterpart in mapping] for mapping in mappings]
        self.voters = list(map(sum, zip(*self.having, strict=True)))  # how many they are
        self.running: dict[int, bool] = {}
        # What all pages have is template: what is round it, they have as well.
        self.template = [having == len(mappings) for having in self.voters]
        self.template[0] = True
        for element, having in enumerate(self.voters):
            if 0 < having < len(mappings) and self.template[key.parents[element]]:
                self.template[element] = self._is_accepted(element)

    @cached_property
    def found(self) -> list[Callable[[int], int]]:
        """How much of an element's text each page has."""
        return [self.texts.own_within(having) for having in self.having]

    def _weights(self) -> list[float]:
        """How much each page weighs: by what it has in common with the key page."""
        common = [len(each) - each.count(-1) - each.count(REPEATED) for each in self.mappings]
        most = max(common)
        self.mapped = most / len(self.key.tags)  # by the page that has most
        return [(shared / most) ** 2 for shared in common]

    def _votes(self, element: int) -> float:
        """The sum of the weights of the pages that have an element."""
        return sum(compress(self.weights, [has[element] for has in self.having]), 0.0)

    def _has_running_text(self, element: int) -> bool:
        """Whether there is running text directly in an element."""
        if element not in self.running:
            enough = MOST * self._votes(element)
            blocks = [
                child
                for child in self.key.children[element]
                if self.key.tags[child] in TEXT_BLOCKS and self._votes(child) < enough
            ]
            self.running[element] = len(blocks) >= RUNNING_TEXT
        return self.running[element]

    def _is_accepted(self, element: int) -> bool:
        key, texts = self.key, self.texts
        parent = key.parents[element]
        votes, whole = self._votes(element), self._votes(parent)
        if (
            votes < MOST * whole - 1e-9
            and (votes < HALF * whole - 1e-9 or not self._is_frame(element))
            and not (texts.inside[element] and self._has_text(element, whole))
        ):
            return False
        # A block that one page alone has, among the text of both, is a coincidence.
        return not (
            self.voters[element] == 1 < len(self.mappings)
            and key.tags[element] in TEXT_BLOCKS
            and texts.is_alone(element)
            and not texts.is_named(element)
        )

    def _is_frame(self, element: int) -> bool:
        """Whether an element is part of the page's frame."""
        key, texts = self.key, self.texts
        return (
            key.tags[element] in _FRAME
            and texts.is_named(element)
            and texts.is_alone(element)
            and not key.texts[element]
            and not self._has_running_text(key.parents[element])
        )

    def _has_text(self, element: int, whole: float) -> bool:
        """Whether some pages have half of its text; one is enough for a menu, the nearest."""
        half = 0.5 * self.texts.inside[element]
        having = [
            weight
            for weight, found, has in zip(self.weights, self.found, self.having, strict=True)
            if has[element] and found(element) >= half
        ]
        if not having:
            return False
        if len(having) >= min(2, len(self.weights)) and sum(having) >= SEVERAL * whole:
            return True
        return max(having) >= NEAREST and self.texts.is_menu(element, MENU_ENTRIES)


def drop_records(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop the entries of a list of posts and the like, of which other pages have the frame."""
    kept = texts.kept(template)
    alike: dict[Kind, list[int]] = {}
    for element in texts.mixed(template):
        if element and kept[element] < 0.5 * texts.inside[element]:
            alike.setdefault(texts.kind(element), []).append(element)
    drop(key, template, [n for group in alike.values() if len(group) >= RECORDS for n in group])


def drop_hollow(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop paragraphs, lists, cells ... of which nothing but the element itself is template."""
    doubtful = [
        element
        for element in texts.mixed(template)
        if key.tags[element] in _LISTS
        or (key.tags[element] in WORDY and (key.texts[element] or not texts.is_named(element)))
    ]
    if not doubtful:
        return
    solid = [0] * len(template)
    for element in accepted(template):
        if texts.words[element] or key.links[element] or key.tags[element] in _CONTROLS:
            solid[element] = 1
    has_solid = texts.within(solid)
    drop(key, template, [element for element in doubtful if not has_solid(element)])


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
    are not, most of them. Lines in one element cannot be separated: "Home page" under the name
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


def without_teasers(
    found: FoundLines, page: FlatPage, mapping: list[int], url: str, lines: list[Line]
) -> FoundLines:
    """The lines of a page without those beside links to *url*, which are the other page's own.

    The *mapping* of that page, with these *lines*, loses them too: a list may have all of a post.
    """
    if url == page.url or url not in page.targets:
        return found
    links = [element for element, target in enumerate(page.targets) if target == url]
    tops = sorted(entries_around(page, links), reverse=True)  # the outermost last
    entries = {element: top for top in tops for element in range(top, page.ends[top])}
    words = {element: name for element in entries if (name := (page.texts[element], "")) in found}
    held = {n: entries[place] for n, place in enumerate(mapping) if place in entries}
    own = [line for line in lines if not line.link and all(n in held for n in line.elements)]
    told = {entries[element] for element in words}
    told.update(held[n] for line in own for n in line.elements)
    if not told:  # but menus: copying takes time
        return found
    beside = Counter(words.values()) | Counter(chain.from_iterable(line.names for line in own))
    mapping[:] = [REPEATED if held.get(n) in told else place for n, place in enumerate(mapping)]
    return FoundLines(found - beside)


def entries_around(page: FlatPage, links: Iterable[int]) -> set[int]:
    """The entries that these links are in, each among others of its kind."""
    found: set[int] = set()
    seen = {0}
    counts: dict[int, Counter[tuple[str, str]]] = {}
    for link in links:
        element = link
        while element not in seen:
            seen.add(element)
            parent = page.parents[element]
            if parent not in counts:
                counts[parent] = Counter(_kind(page, child) for child in page.children[parent])
            if counts[parent][_kind(page, element)] >= RECORDS:
                found.add(element)
                break
            element = parent
    return found


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


def _common(  # noqa: PLR0917 - as above
    lines: list[Line],
    names: list[Names],
    known: list[bool],
    others: Sequence[FlatPage],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
) -> list[bool]:
    """Of each line, whether most pages have it, as often as the key page has up to there.

    A page does not vote on links to itself: it shows them in another way, if at all.
    """
    before = Counter(chain.from_iterable(compress(names, known)))
    unknown = [(n, names[n], lines[n].target) for n, is_known in enumerate(known) if not is_known]
    wanted = {name for _, which, _ in unknown for name in which}
    votes, missing = [0.0] * len(lines), [0.0] * len(lines)
    voters = [0] * len(lines)
    for other, found, weight in zip(others, found_lines, weights, strict=True):
        left = {name: found[name] - before.get(name, 0) for name in wanted & found.keys()}
        for place, which, target in unknown:
            if left.get(which[0], 0) > 0 or (
                len(which) > 1 and any(left.get(n, 0) > 0 for n in which)
            ):
                for name in which:
                    left[name] = left.get(name, 0) - 1
                votes[place] += weight
                voters[place] += 1
            elif target != other.url:
                missing[place] += weight
    least = min(2, len(others))
    return [
        yes or (count >= least and vote >= SHARE * (vote + against) - 1e-9)
        for yes, vote, against, count in zip(known, votes, missing, voters, strict=True)
    ]


def find_entries(
    lines: list[Line],
    common: list[bool],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
    share: float,
) -> set[int]:
    """Entries of menus that lead elsewhere on other pages, or nowhere on the key page.

    A site may have two addresses for a page, and the entry of the page itself may be mere text.
    Between links that are the same on most pages the words are enough, if two pages agree where
    they lead: "Next" leads elsewhere on each.
    """
    targets = [found.targets for found in found_lines]
    entries: set[int] = set()
    end = 0
    while end < len(lines):
        start = end
        while end < len(lines) and common[end] == common[start]:
            end += 1
        if common[start] or not start or end == len(lines):
            continue
        if lines[start - 1].link and lines[end].link:
            row = range(start, end)
            if all(_is_entry(lines[place], targets, weights, share) for place in row):
                entries.update(row)
    return entries


def _is_entry(
    line: Line, targets: Sequence[dict[str, set[str]]], weights: Sequence[float], share: float
) -> bool:
    """Whether a *share* of the pages, by weight, have such a link, and some of them agree."""
    having = [found.get(line.text, set()) for found in targets]
    agreed = Counter([line.link] if line.link else ())
    for found in having:
        agreed.update(found)
    votes = sum(weight for found, weight in zip(having, weights, strict=True) if found)
    return votes >= share * sum(weights) and max(agreed.values(), default=0) > 1


def accept_end(  # noqa: PLR0917 - what the rules on lines have in common
    key: FlatPage,
    lines: list[Line],
    sizes: list[int],
    names: list[Names],
    common: list[bool],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
) -> None:
    """Accept lines after the last of the page's own that a page near enough has alone.

    It may be the only one of the key page's kind. Amid the page's own lines what two pages share
    may be a coincidence; after them stands template, but for a link by itself: two pages may be
    followed by the same one.
    """
    # Without urljoin: the address of a page in memory may be anything.
    scheme, slashes, rest = key.url.partition("//")
    site = f"{scheme}{slashes}{rest.partition('/')[0]}/"
    most = END * sum(size for size, yes in zip(sizes, common, strict=True) if not yes)
    for found, weight in zip(found_lines, weights, strict=True):
        if weight < NEAREST:
            continue
        used: dict[tuple[str, str], int] = {}
        end = []
        for place in range(len(lines) - 1, -1, -1):
            which = names[place]
            if not common[place]:
                if not any(found.get(name, 0) > used.get(name, 0) for name in which):
                    break
                end.append(place)
            for name in which:
                used[name] = used.get(name, 0) + 1
        row = {*end}
        end = [
            place
            for place in end
            if not lines[place].target.startswith(site) or {place - 1, place + 1} & row
        ]
        if sum(sizes[place] for place in end) <= most:
            for place in end:
                common[place] = True


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


def has_lines(lines: list[Line], found: Counter[tuple[str, str]]) -> bool:
    """Whether a page shares enough of the key page's lines to be informative."""
    shared = 0
    for line in lines:
        if any(name in found for name in line.names):
            shared += line.size
            if shared >= LEAST:
                return True
    return False


def drop_patchwork(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop what is template amid siblings of its kind that are not: rows, entries, paragraphs.

    Template comes in blocks, before and after the page's own. Where it is a row here and a row
    there, between rows of the page's own, pages happen to have the same data.
    """
    kept = texts.kept(template)
    groups: dict[Kind, list[int]] = {}
    mixed = [key.children[parent] for parent in texts.mixed(template)]
    for element in [child for inside in mixed if len(inside) >= RECORDS for child in inside]:
        if texts.inside[element]:
            groups.setdefault(texts.kind(element), []).append(element)
    dropped: list[int] = []
    for group in groups.values():
        own = [n for n, element in enumerate(group) if 2 * kept[element] < texts.inside[element]]
        if len(own) < RECORDS:
            continue
        span = group[own[0] : own[-1] + 1]
        whole = sum(texts.inside[element] for element in span)
        if sum(texts.inside[group[n]] - kept[group[n]] for n in own) >= PATCHWORK * whole:
            dropped += [
                element
                for element in span
                if 2 * kept[element] >= texts.inside[element] and not texts.is_menu(element, 4)
            ]
    drop(key, template, dropped)


def drop_shared_entries(
    key: FlatPage,
    texts: ElementTexts,
    others: Sequence[FlatPage],
    mappings: Sequence[Sequence[int]],
    template: list[bool],
) -> None:
    """Drop entries of lists that are template amid entries of the same kind that are not."""
    kept = texts.kept(template)

    def is_kept(element: int) -> bool:
        return 2 * kept[element] >= texts.inside[element]

    candidates: dict[int, list[int]] = {}
    inside, tags = texts.inside, key.tags
    for element in accepted(map(and_, template, map(_ENTRIES.__contains__, tags))):
        if inside[element] >= SHORTEST and (
            tags[element] in _MARKED or (is_kept(element) and _kind(key, element)[1])
        ):
            candidates.setdefault(key.parents[element], []).append(element)
    dropped: list[int] = []
    for parent, entries in candidates.items():
        shared: list[int] = []
        own: list[int] = []
        for child in key.children[parent]:
            (shared if template[child] and is_kept(child) else own).append(child)
        spans = [(_ends(key, own), entries)] if own else []
        for other, mapping in zip(others, mappings, strict=True):
            if mapping[parent] >= 0:
                known = {mapping[child] for child in shared}
                theirs = [child for child in other.children[mapping[parent]] if child not in known]
                if theirs:
                    spans.append((_ends(other, theirs), [mapping[entry] for entry in entries]))
        for n, entry in enumerate(entries if spans else ()):
            kind = _kind(key, entry)
            places = [(ends[kind], where[n]) for ends, where in spans if kind in ends]
            if (
                any(first < place for (first, _), place in places)
                and any(0 <= place < last for (_, last), place in places)
                and not texts.is_menu(entry, 1)
            ):
                dropped.append(entry)
    drop(key, template, dropped)


def _ends(page: FlatPage, children: list[int]) -> dict[tuple[str, str], tuple[int, int]]:
    """The first and the last of the children of each kind."""
    ends: dict[tuple[str, str], tuple[int, int]] = {}
    for child in children:
        kind = _kind(page, child)
        ends[kind] = (ends.get(kind, (child, 0))[0], child)
    return ends


def _kind(page: FlatPage, element: int) -> tuple[str, str]:
    """The tag and the first class, or the id, numbers left out: ``post-17 sticky`` is ``post-``."""
    named, classes = page.names[element]
    return page.tags[element], _class_of(classes or named)


@lru_cache(maxsize=1 << 10)  # pages of a site have the same classes
def _class_of(written: str | None) -> str:
    classes = (written or "").split(maxsplit=1)
    return _NUMBER.sub("", classes[0]) if classes else ""


def drop_sandwiched(
    key: FlatPage, lines: list[Line], texts: ElementTexts, template: list[bool]
) -> list[int]:
    """Drop rows of template that are words, not links, between lines of the page's own.

    With one page to compare with, one cannot tell what both happen to have from what all pages
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


def drop_labelled_data(key: FlatPage, texts: ElementTexts, template: list[bool]) -> list[int]:
    """Drop the smallest blocks of some words and links that no other page has.

    "On this page" above a table of contents, "Related" above a list, "Next" beside a link are the
    same words everywhere, but they are there because of what the page has. They are returned.
    """
    anchors = [
        element
        for element, link in enumerate(key.links)
        if link and key.tags[element] in ("a", "area")
    ]
    around: set[int] = set()  # links of the page's own
    for element in anchors:
        if not template[element]:
            parent = key.parents[element]
            while parent > 0 and parent not in around:
                around.add(parent)
                parent = key.parents[parent]
    common = [0] * len(template)
    for element in anchors:
        common[element] = int(template[element])
    has_common = texts.within(common)
    blocks = [element for element in around if template[element] and not has_common(element)]
    if not blocks:
        return []
    in_link = [False] * len(template)
    for element in anchors:
        in_link[element : key.ends[element]] = [True] * (key.ends[element] - element)
    label, others, linked = ([0] * len(template) for _ in range(3))
    for element, text in enumerate(texts.own):
        if not template[element]:
            (linked if in_link[element] else others)[element] = text
        elif texts.words[element] and not in_link[element]:
            label[element] = text
    labels, rest, links = map(texts.within, (label, others, linked))
    dropped: list[int] = []
    holds_one: set[int] = set()
    for element in sorted(blocks, reverse=True):
        data = links(element)
        is_label = 0 < labels(element) <= max(SHORT_LABEL, LABEL * data)
        labelled = is_label and rest(element) <= 0.3 * data
        if labelled and element not in holds_one:
            dropped.append(element)
        if labelled or element in holds_one:
            holds_one.add(key.parents[element])
    drop(key, template, dropped)
    return dropped


def accept_main_wrappers(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Accept the elements round the main text, also where no other page has the like."""
    left = list(map(sub, texts.inside, texts.kept(template)))
    main = 0
    while inside := [child for child in key.children[main] if left[child] >= MAIN_SHARE * left[0]]:
        main = inside[0]
        if template[main]:
            continue
        has_class = key.names[main][1] is not None
        if (
            key.tags[main] not in _WRAPPERS
            or key.texts[main]
            or not (has_class or key.tags[main] in ("article", "main"))
        ):
            break
        template[main] = True


def accepted(template: Iterable[bool]) -> list[int]:
    """The elements that are template, without the body."""
    return [element for element in compress(count(), template) if element]


def drop(key: FlatPage, template: list[bool], elements: list[int]) -> None:
    """Drop these elements, and with them all that is in them."""
    for element in elements:
        end = key.ends[element]
        template[element:end] = [False] * (end - element)
