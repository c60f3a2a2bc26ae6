"""A guided order: what the key page says of its links, and what each loaded page says of the rest.

A link's score is the sum of the signs on the key page (they decide the first load), its kinship
with the key page by address (pages near to it share more of its template), and the evidence of the
pages loaded so far: a link that they all have can be mutually linked with them, one that they do
not have cannot. sortLinks breaks the ties. Scores are as they are when a link is asked for.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import accumulate, compress, islice, repeat
from typing import TYPE_CHECKING

from tplspider.search.sort_links import sorted_groups
from tplspider.web.html import (
    LAYOUT,
    Element,
    Link,
    Targets,
    is_stray,
    kept_nodes,
    main_body,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.web.page import Page


# The blocks of links on a page: round each anchor, the largest element that is mostly links.
#
# A key page may have a hundred thousand links, so there are lists of one thing each here, each made
# in one go. Elements are those of a flat page, with the same numbers and the same text.

DENSE = 0.6  # the share of the text in links that makes a block one of links


@dataclass(slots=True)
class Body:
    """The elements of a page's body in document order; script, style and noscript left out."""

    elements: list[Element]
    tags: list[str]
    parents: list[int]  # that of the first is -1
    anchors: list[int]  # each ``a`` and ``area`` with an ``href``
    lengths: list[int]  # of the text directly in an element

    def close(self) -> None:
        """Release the elements: lxml is much quicker at it from the last to the first."""
        while self.elements:
            self.elements.pop()


def read_body(root: Element) -> Body:
    """The body of the page with this tree."""
    nodes = list(main_body(root).iter())
    tags = [node.tag for node in nodes]
    at: dict[Element | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    parents = [-1, *map(at.__getitem__, [node.getparent() for node in nodes[1:]])]
    anchors = [number for number, tag in enumerate(tags) if tag in ("a", "area")]
    # Without anything between the body and its links there is no block to find.
    between = any(parents[anchor] > 0 for anchor in anchors)
    lengths = _lengths(nodes, parents) if between else [0] * len(nodes)
    kept = kept_nodes(tags, parents)
    if not all(kept):
        nodes, tags = list(compress(nodes, kept)), list(compress(tags, kept))
        lengths = list(compress(lengths, kept))
        after = list(accumulate(kept))  # the number of a kept node, plus one
        parents = [-1, *[after[parent] - 1 for parent in list(compress(parents, kept))[1:]]]
        anchors = [number for number, tag in enumerate(tags) if tag in ("a", "area")]
    anchors = [anchor for anchor in anchors if nodes[anchor].get("href") is not None]
    return Body(nodes, tags, parents, anchors, lengths)


def _lengths(nodes: list[Element], parents: list[int]) -> list[int]:
    """The length of the text directly in each element, white space folded."""
    lengths = [len(" ".join(text.split())) if (text := node.text) else 0 for node in nodes]
    tails = [node.tail for node in nodes]
    for parent, tail in zip(parents[1:], tails[1:], strict=True):
        if tail and not tail.isspace():
            lengths[parent] += len(" ".join(tail.split())) + (lengths[parent] > 0)
    return lengths


def blocks_of_anchors(body: Body, kinds: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Of each anchor, its block, and the kinds of the elements that it is in, itself among them.

    *kinds* are bits, for those elements that are of any kind. An anchor that is in no block is one.
    """
    parents, anchors = body.parents, body.anchors
    inner = sorted({*parents[1:]})  # the elements with others in them
    dense = _dense(body, inner)
    blocks = list(range(len(parents)))
    inside = bytearray(len(parents) + 1)  # the last is that of what the first is in
    for element in inner:
        parent = parents[element]
        if dense[parent]:
            blocks[element] = blocks[parent]
        inside[element] = inside[parent]
        if element in kinds:
            inside[element] |= kinds[element]
    around = [parents[anchor] for anchor in anchors]
    of_anchors = [
        blocks[parent] if dense[parent] else anchor
        for anchor, parent in zip(anchors, around, strict=True)
    ]
    places = [inside[parent] for parent in around]
    if not kinds.keys().isdisjoint(anchors):
        pairs = zip(places, anchors, strict=True)
        places = [place | kinds.get(anchor, 0) for place, anchor in pairs]
    return of_anchors, places


def _dense(body: Body, inner: list[int]) -> bytearray:
    """Of each element with others in it, whether its text is mostly in links; not of the first."""
    parents, tags = body.parents, body.tags
    dense = bytearray(len(parents) + 1)
    if len(inner) < 2:
        return dense
    ends = _ends(parents)
    lengths = body.lengths.copy()
    before = [0, *accumulate(lengths)]
    for element in [0, *[number for number in inner[1:] if tags[number] in LAYOUT]]:
        end = ends[element]
        whole = before[end] - before[element]
        if is_stray(element, tags[element], end - element, lengths[element], whole):
            lengths[element] = 0
    before = [0, *accumulate(lengths)]
    before_in_links = [0, *accumulate(_in_links(body, ends, lengths))]
    for start in inner[1:]:
        end = ends[start]
        in_links = before_in_links[end] - before_in_links[start]
        dense[start] = in_links >= DENSE * (before[end] - before[start])
    return dense


def _in_links(body: Body, ends: list[int], lengths: list[int]) -> list[int]:
    """The lengths of the texts in links, 0 of all others."""
    linked = [0] * len(lengths)
    for anchor in body.anchors:
        if body.tags[anchor] == "a":
            if ends[anchor] == anchor + 1:
                linked[anchor] = lengths[anchor]
            else:
                linked[anchor : ends[anchor]] = lengths[anchor : ends[anchor]]
    return linked


def _ends(parents: list[int]) -> list[int]:
    """Of each element, the number after the last that is in it."""
    ends = list(range(1, len(parents) + 1))
    for element in range(len(parents) - 1, 0, -1):
        parent = parents[element]
        if ends[element] > ends[parent]:  # noqa: PLR1730 - a call would take longer
            ends[parent] = ends[element]
    return ends


# Which link each anchor of the key page stands for: the one whose element has the same target.


@dataclass(slots=True)
class LinkPlaces:
    """The links that anchors stand for, and the anchors that are their elements, by position."""

    elements: list[int]  # of each link, its anchor; -1: not in the body
    links: list[int]  # of each anchor, its link; -1 if it has none
    own: list[int]  # anchors that lead to the key page itself


def find_places(
    links: Sequence[Link], anchors: list[Element], targets: Targets, in_order: Sequence[int]
) -> LinkPlaces:
    """Find the link of each anchor. Of links with the same target, it is the last one *in_order*.

    *in_order* are the positions of the links.
    """
    at = dict(zip(anchors, range(len(anchors)), strict=True))
    elements = [at.get(link.element, -1) for link in links]
    addresses = [(a.get("href") or "").strip().partition("#")[0] for a in anchors]
    led = {address: targets.of(address) for address in {*addresses}}
    by_target = {
        led[addresses[elements[position]]][1]: position
        for position in in_order
        if elements[position] >= 0
    }
    link_of = {address: by_target.get(target, -1) for address, (_, target) in led.items()}
    found = [link_of[address] for address in addresses]
    own = [
        anchor
        for anchor, link in enumerate(found)
        if link < 0 and led[addresses[anchor]][0].startswith("self?")
    ]
    return LinkPlaces(elements, found, own)


# What the key page alone tells about each of its links: how much it looks like a menu's entry.
#
# The paper names the way: a menu is where the density of links is high. Other signs are that the
# menu holds the key page's own entry, that a link stands on the page more than once, and what
# classes and tags say of the place. Links to the page before and the page after are not a menu.

_MENU_TAGS = frozenset({"nav", "header"})
_TEXT_TAGS = frozenset({"article", "footer", "main", "p"})
_MENU_NAMES = re.compile(r"nav|menu|sidebar|toc|toolbar|header|breadcrumb|tab", re.IGNORECASE)
_TEXT_NAMES = re.compile(
    r"content|article|post-body|entry|comment|related|tag|foot|pagination|pager|prev|next",
    re.IGNORECASE,
)
SEQUENCE_NAMES = re.compile(r"prev|next|pager|pagination|older|newer", re.IGNORECASE)

_MENU, _TEXT, _SEQUENCE = 1, 2, 4  # kinds of elements, as bits
_NAMES = {  # attributes, and what they tell of
    "class": _MENU | _TEXT | _SEQUENCE,
    "id": _MENU | _TEXT | _SEQUENCE,
    "role": _MENU | _TEXT,
    "rel": _SEQUENCE,
}
_KINDS_OF_TAGS = {**dict.fromkeys(_MENU_TAGS, _MENU), **dict.fromkeys(_TEXT_TAGS, _TEXT)}


@dataclass(frozen=True, slots=True)
class MenuSigns:
    """The signs of the best place that a link has on the key page."""

    entries: int = 0  # links to pages of the site in its block
    own_entry: bool = False  # whether the key page itself, or a place on it, is linked there
    places: int = 1  # how often it stands on the page
    menu_place: bool = False  # in a nav, in a sidebar ...
    text_place: bool = False  # in an article, in a footer ...
    sequence: bool = False  # the page before or after


def menu_signs(
    links: Sequence[Link], key_url: str, body: Body | None = None, in_order: Sequence[int] = ()
) -> list[MenuSigns]:
    """The signs of each link of the key page. Links with the same signs may share an object.

    *body* is that of the key page, where it was read already; *in_order* are the positions of the
    links by their ranks, where they are given in another order.
    """
    if not links:
        return []
    body = body or read_body(links[0].element)
    named = _named(body)
    blocks, kinds = blocks_of_anchors(body, _kinds(body, named))
    anchors = [body.elements[anchor] for anchor in body.anchors]
    targets = Targets(links[0].element, key_url)
    places = find_places(links, anchors, targets, in_order or range(len(links)))
    signs = _best_places(places, blocks, kinds)
    outside = [links[i] for i, anchor in enumerate(places.elements) if anchor < 0]
    marked = _marked(body, named, outside)
    if marked:
        for i, link in enumerate(links):
            if _in_sequence(link, marked):
                signs[i] = replace(signs[i], sequence=True)
    return signs


class _SharedSigns(dict[tuple[int, bool, int, int], MenuSigns]):
    """One object for each combination of entries, own entry, kinds of the place, and places."""

    def __missing__(self, key: tuple[int, bool, int, int]) -> MenuSigns:
        entries, own_entry, kinds, places = key
        menu, text = bool(kinds & _MENU), bool(kinds & _TEXT)
        signs = self[key] = MenuSigns(entries, own_entry, places, menu, text)
        return signs


def _best_places(places: LinkPlaces, blocks: list[int], kinds: list[int]) -> list[MenuSigns]:
    """Of each link, the signs of the place that looks most like a menu's."""
    entries = Counter(
        block for block, link in {*zip(blocks, places.links, strict=True)} if link >= 0
    )
    own_blocks = {blocks[anchor] for anchor in places.own}
    shared = _SharedSigns()
    keys = zip(
        [entries[block] for block in blocks],
        [block in own_blocks for block in blocks],
        kinds,
        repeat(1),
    )
    found = [shared[key] for key in keys]
    best = [MenuSigns()] * len(places.elements)  # of a link that has no place
    again: dict[int, list[MenuSigns]] = {}  # of links with several places
    placed = bytearray(len(best))
    for link, signs in zip(places.links, found, strict=True):
        if link >= 0:
            if placed[link]:
                again.setdefault(link, [best[link]]).append(signs)
            else:
                placed[link], best[link] = 1, signs
    for link, of_places in again.items():
        best[link] = replace(max(of_places, key=_likely), places=len(of_places))
    return best


def _likely(signs: MenuSigns) -> tuple[bool, bool, int, int]:
    """How likely a place is that of a menu, for comparison."""
    return (
        signs.entries >= 3,
        signs.own_entry,
        signs.menu_place - signs.text_place,
        signs.entries,
    )


def _named(body: Body) -> dict[int, int]:
    """The kinds of the elements of the body whose class, id, role or rel tells what they are."""
    attributes = [len(element.attrib) for element in body.elements]
    for anchor in body.anchors:
        attributes[anchor] -= 1  # the href
    numbers = [number for number, count in enumerate(attributes) if count]
    found: dict[int, int] = {}
    for attribute, told in _NAMES.items():
        values = [body.elements[number].get(attribute) for number in numbers]
        kinds = {value: _kinds_by_name(value) & told for value in {*values} if value}
        if any(kinds.values()):
            for number, value in zip(numbers, values, strict=True):
                if value and kinds[value]:
                    found[number] = found.get(number, 0) | kinds[value]
        if attribute == "class":  # mostly the only one
            pairs = zip(numbers, values, strict=True)
            numbers = [number for number, value in pairs if not value or attributes[number] > 1]
    return found


def _kinds_by_name(name: str) -> int:
    return (
        (_MENU if _MENU_NAMES.search(name) else 0)
        | (_TEXT if _TEXT_NAMES.search(name) else 0)
        | (_SEQUENCE if SEQUENCE_NAMES.search(name) else 0)
    )


def _kinds(body: Body, named: dict[int, int]) -> dict[int, int]:
    """The kinds of the elements of the body that have any, by their tags and by their names."""
    tags = enumerate(body.tags)
    kinds = {number: _KINDS_OF_TAGS[tag] for number, tag in tags if tag in _KINDS_OF_TAGS}
    for number, of_name in named.items():
        kinds[number] = kinds.get(number, 0) | of_name
    return kinds


def _marked(body: Body, named: dict[int, int], outside: list[Link]) -> set[Element | None]:
    """The elements that are marked as those of the page before or after."""
    marked: set[Element | None] = {
        body.elements[number] for number, kinds in named.items() if kinds & _SEQUENCE
    }
    others = {*body.elements[0].iterancestors()}
    for link in outside:
        others |= {link.element, *islice(link.element.iterancestors(), 2)}
    for element in others:
        names = (element.get(attribute) or "" for attribute in ("class", "id", "rel"))
        if any(map(SEQUENCE_NAMES.search, names)):
            marked.add(element)
    return marked


def _in_sequence(link: Link, marked: Container[Element | None]) -> bool:
    """Whether a link, or one of the two elements above it, is marked as that of a neighbour."""
    parent = link.element.getparent()
    return (
        link.element in marked
        or parent in marked
        or (parent is not None and parent.getparent() in marked)
    )


# The pages loaded so far: which of the links they have, and how well linked they are.
#
# Of each link, the evidence is the number of pages that have it, each counting for as much as the
# others and the key page link to it: a page without links to it cannot be in a complete
# subdigraph.

_BYTES = 8  # of the number for a link, in a number for all of them
_FEW = 0.1  # the share of all links up to which they are counted one by one


@dataclass(slots=True)
class Evidence:
    """What is added to the evidence of links, by position: of few of them, and of all."""

    few: dict[int, int] = field(default_factory=dict)
    many: Sequence[int] = ()


class LoadedPages:
    """The pages that the search has loaded, and the links of the key page that they have."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.pages: list[Visit] = []
        self._identities = [link.identity for link in links]
        self._positions: dict[str, int] = {}
        self._read = 0
        # The links that each page has: a list of their positions if they are few. Else one number
        # that has a one for each of them, in its place, so that all are counted in one addition.
        self._found: list[list[int] | int] = []

    def read(self, visits: Sequence[Visit]) -> Evidence:
        """Take in the visits since the last time; what they add to the evidence of links."""
        evidence = Evidence()
        many = 0
        for visit in visits[self._read :]:
            if visit.page is None:
                continue
            linked_by = 1
            counts = []
            for other, found in zip(self.pages, self._found, strict=True):
                assert other.page
                linked_by += not _names(visit).isdisjoint(other.page.links)
                if not _names(other).isdisjoint(visit.page.links):
                    counts.append((found, 1))
            self.pages.append(visit)
            self._found.append(self._find(visit.page.links))
            for found, count in [*counts, (self._found[-1], linked_by)]:
                if isinstance(found, int):
                    many += count * found
                else:
                    for position in found:
                        evidence.few[position] = evidence.few.get(position, 0) + count
        self._read = len(visits)
        if many:
            of_links = array("Q", many.to_bytes(_BYTES * len(self._identities), "little"))
            if sys.byteorder == "big":
                of_links.byteswap()
            evidence.many = of_links
        return evidence

    def _find(self, links: frozenset[str]) -> list[int] | int:
        """Which of the links a page has."""
        if len(links) <= _FEW * len(self._identities):
            if links and not self._positions:
                self._positions = {link: i for i, link in enumerate(self._identities)}
            positions = map(self._positions.get, links)
            return [position for position in positions if position is not None]
        places = bytearray(_BYTES * len(self._identities))
        places[::_BYTES] = bytes(map(links.__contains__, self._identities))
        return int.from_bytes(places, "little")


def _names(visit: Visit) -> frozenset[str]:
    assert visit.page
    return frozenset({visit.link.identity, visit.page.identity})


# The links that are still to be taken up, by their scores, which change with every loaded page.
#
# Links with the same evidence and the same score before anything was loaded are alike: they have
# the same score as long as their evidence stays the same. There are few kinds of links, however
# many links there are.

_TAKEN = -1


class _Kinds(dict[tuple[int, int], int]):
    """The kinds of links, by evidence and prior; as a dict, what more evidence makes of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[int, float]] = []
        self._numbers: dict[tuple[int, float], int] = {}

    def number(self, evidence: int, prior: float) -> int:
        """The number of the kind with this evidence and this prior."""
        key = evidence, prior
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(key)
        return found

    def __missing__(self, key: tuple[int, int]) -> int:
        kind, more = key
        if kind == _TAKEN:
            return _TAKEN
        evidence, prior = self.all[kind]
        found = self[key] = self.number(evidence + more, prior)
        return found


class LinksLeft:
    """Links by their positions in the order that breaks ties; *prior* is what they start with."""

    def __init__(self, prior: Sequence[float]) -> None:
        self._kinds = _Kinds()
        numbers = {value: self._kinds.number(0, value) for value in {*prior}}
        self._kind = [numbers[value] for value in prior]  # of each link
        self._sizes = Counter(self._kind)  # of kinds that have links
        self._starts: dict[int, int] = {}  # no link of a kind comes before
        self._first = 0  # no link that is left comes before

    def add_evidence(self, evidence: Evidence) -> None:
        """Take in what the pages loaded since the last time have added."""
        for position, more in evidence.few.items():
            if self._kind[position] != _TAKEN:
                self._put(position, self._kinds[self._kind[position], more])
        if evidence.many:
            pairs = zip(self._kind, evidence.many, strict=True)
            self._kind = [self._kinds[pair] for pair in pairs]
            self._sizes = Counter(self._kind)
            del self._sizes[_TAKEN]
            self._starts = {}

    def defer(self, positions: Sequence[int]) -> None:
        """Lower the score of these links."""
        for position in positions:
            if self._kind[position] != _TAKEN:
                evidence, prior = self._kinds.all[self._kind[position]]
                self._put(position, self._kinds.number(evidence, prior + DEFERRED))

    def take_first(self) -> int:
        """The first link that is left."""
        while self._kind[self._first] == _TAKEN:
            self._first += 1
        self._move(self._first, _TAKEN)
        return self._first

    def take_best(self, weight: float, whole: int) -> int:
        """The link with the highest score, the first of several.

        A score is the share of *whole* that a link's evidence is, times *weight*, and its prior.
        """
        scores = {}
        for kind in self._sizes:
            evidence, prior = self._kinds.all[kind]
            scores[kind] = weight * evidence / whole + prior
        highest = max(scores.values())
        best = min(self._start(kind) for kind, score in scores.items() if score == highest)
        self._move(best, _TAKEN)
        return best

    def _start(self, kind: int) -> int:
        """The first link of a kind."""
        start = self._starts[kind] = self._kind.index(kind, self._starts.get(kind, 0))
        return start

    def _put(self, position: int, kind: int) -> None:
        """Make a link one of another kind."""
        start = self._starts.get(kind, 0) if kind in self._sizes else position
        self._starts[kind] = min(position, start)
        self._move(position, kind)
        self._sizes[kind] += 1

    def _move(self, position: int, kind: int) -> None:
        before = self._kind[position]
        self._kind[position] = kind
        self._sizes[before] -= 1
        if not self._sizes[before]:
            del self._sizes[before]


EVIDENCE = 8.0  # for a link that every loaded page has; so it outweighs all the rest
ENTRIES = 1.0  # for a link in a block of MANY_ENTRIES or more
MANY_ENTRIES = 8
OWN_ENTRY = 0.5
PLACES = 0.5  # for a link that stands on the page three times or more
MENU_PLACE, TEXT_PLACE = 0.25, -0.25
SEQUENCE = -1.0
RELEVANCE = 1.0  # for the links of the best relevance; half of it for the next, then a third ...
SAME_DEPTH = 0.5  # as many directories as the key page has: the same kind of page, more often
QUERY = -3.0  # mostly the same page once more, unless the key page's own address has a query
DEFERRED = -4.0  # other forms of the key page, feeds, and what is shaped like a link that failed
PATIENCE = 8  # times n: the links after which every other one is that of sortLinks


def guided_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by score, as it is whenever a link is asked for.

    A search that goes on for long is one whose signs mislead: from then on, every other link is the
    next of sortLinks.
    """
    if not links:
        return
    # First of all: what lxml makes for each element of a tree is made once then.
    body = read_body(links[0].element)
    groups = sorted_groups(links, search.key_page.identity)
    left = LinksLeft(_prior(links, groups, search.key_page, body))
    body.close()
    links = [links[i] for group in groups for i in group]
    loaded, shapes = LoadedPages(links), Shapes(links)
    for taken in range(len(links)):
        left.defer(shapes.failed(search.visits))
        left.add_evidence(loaded.read(search.visits))
        if taken >= PATIENCE * search.size and taken % 2:
            best = left.take_first()
        else:
            best = left.take_best(EVIDENCE, max(len(loaded.pages), 1) ** 2)
        yield links[best]


def _prior(
    links: Sequence[Link], groups: Sequence[Sequence[int]], key: Page, body: Body
) -> list[float]:
    """The score of each link before anything is loaded, in the order of *groups*."""
    signs = menu_signs(links, key.url, body, [i for group in groups for i in group])
    score = {number: _menu_score(of_link) for number, of_link in {id(s): s for s in signs}.items()}
    scores = [score[number] for number in map(id, signs)]
    kin = _kinship([link.identity for link in links], key.identity)
    prior = []
    for place, group in enumerate(groups, 1):
        relevance = RELEVANCE / place
        prior += [scores[i] + relevance + kin[i] for i in group]
    return prior


_FORM = r"(?:/(?:index|default|home))?(?:\.\w{1,5})?/?"  # what two forms of a page may differ in
_FEEDS = (
    *".atom .rss .xml /atom /atom/ /feed /feed/ /print /print/ /rss /rss/ /rss2 /rss2/".split(),
)


def other_forms(key: str) -> Callable[[str], bool]:
    """Tells addresses of feeds, of print versions, and of other forms of the page at *key*.

    >>> is_form = other_forms("http://www.a.org/x/")
    >>> is_form("http://a.org/x/index.html"), is_form("http://a.org/x/?page=2")
    (True, True)
    >>> is_form("http://a.org/x/feed/"), is_form("http://a.org/x/y.html")
    (True, False)
    """
    address, mark, query = _without_scheme(key).partition("?")
    host, slash, path = address.partition("/")
    stem = host + re.sub(f"{_FORM}$", "", slash + path, flags=re.IGNORECASE)
    form = re.compile(_FORM + (re.escape(mark + query) or r"(?:\?.*)?"), re.IGNORECASE)

    def is_form(identity: str) -> bool:
        address = _without_scheme(identity)
        if address.startswith(stem) and form.fullmatch(address, len(stem)):
            return True
        return address.partition("?")[0].lower().endswith(_FEEDS)

    return is_form


def _without_scheme(identity: str) -> str:
    return identity.partition("//")[2].removeprefix("www.")


class Shapes:
    """The links by the shapes of their addresses: where the first of a shape fails, others may."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._positions: dict[tuple[str, ...], list[int]] = {}
        self._known: set[tuple[str, ...]] = set()  # shapes of links that were taken up
        self._read = 0

    def failed(self, visits: Sequence[Visit]) -> list[int]:
        """The links that are shaped like one that gave no page since the last time."""
        found: list[int] = []
        for visit in visits[self._read :]:
            shape = _shape(visit.link.identity)
            if visit.no_page and shape not in self._known:
                if not self._positions:
                    for position, link in enumerate(self._links):
                        self._positions.setdefault(_shape(link.identity), []).append(position)
                found += self._positions.get(shape, [])
            self._known.add(shape)
        self._read = len(visits)
        return found


def _shape(identity: str) -> tuple[str, ...]:
    """The directory, ending and parameters of an address, and the namespace of a wiki's page.

    >>> _shape("http://a.org/w/Help:Contents.html?a=1")
    ('http://a.org/w', 'Help', 'html', 'a')
    """
    path, _, query = identity.partition("?")
    directory, _, name = path.removesuffix("/").rpartition("/")
    space, colon, _ = name.partition(":")
    ending = "/" if path.endswith("/") else name.rpartition(".")[2] if "." in name else ""
    return (
        directory,
        space if colon else "",
        ending,
        *[p.partition("=")[0] for p in query.split("&")],
    )


def _kinship(identities: list[str], key: str) -> list[float]:
    """What the depth of each address adds to its score, its query, and whether it is deferred."""
    depth, query, is_form = _depth(key), QUERY * ("?" not in key), other_forms(key)
    return [
        SAME_DEPTH * (_depth(identity) == depth)
        + query * ("?" in identity)
        + DEFERRED * is_form(identity)
        for identity in identities
    ]


def _menu_score(signs: MenuSigns) -> float:
    return (
        ENTRIES * min(signs.entries, MANY_ENTRIES) / MANY_ENTRIES
        + OWN_ENTRY * signs.own_entry
        + PLACES * (min(signs.places, 3) - 1) / 2
        + MENU_PLACE * signs.menu_place
        + TEXT_PLACE * signs.text_place
        + SEQUENCE * signs.sequence
    )


def _depth(identity: str) -> tuple[int, bool]:
    """How many directories an address has, and whether it is one."""
    address = identity.partition("?")[0]
    return address.count("/"), address.endswith("/")
