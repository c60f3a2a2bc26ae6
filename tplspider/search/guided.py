"""A guided order: what the key page says of its links, and what each loaded page says of the rest.

A link's score is the sum of the signs on the key page (they decide the first load), its kinship
with the key page by address (pages near to it share more of its template), and the evidence of the
pages loaded so far: a link that they all have can be mutually linked with them, one that they do
not have cannot. sortLinks breaks the ties. Scores are as they are when a link is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from tplspider.search.sort_links import sorted_groups
from tplspider.web.html import UNCOUNTED, Element, Link, Targets, is_stray, main_body

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.web.page import Page


# What the key page alone tells about each of its links: how much it looks like a menu's entry.
#
# The paper names the way: a menu is where the density of links is high. Other signs are that the
# menu holds the key page's own entry, that a link stands on the page more than once, and what
# classes and tags say of the place. Links to the page before and the page after are not a menu.

DENSE = 0.6  # the share of the text in links that makes a block one of links
_MENU_TAGS = frozenset({"nav", "header"})
_TEXT_TAGS = frozenset({"article", "footer", "main", "p"})
_MENU_NAMES = re.compile(r"nav|menu|sidebar|toc|toolbar|header|breadcrumb|tab", re.IGNORECASE)
_TEXT_NAMES = re.compile(
    r"content|article|post-body|entry|comment|related|tag|foot|pagination|pager|prev|next",
    re.IGNORECASE,
)
_SEQUENCE_NAMES = re.compile(r"prev|next|pager|pagination|older|newer", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MenuSigns:
    """The signs of the best place that a link has on the key page."""

    entries: int = 0  # links to pages of the site in its block
    own_entry: bool = False  # whether the key page itself, or a place on it, is linked there
    places: int = 1  # how often it stands on the page
    menu_place: bool = False  # in a nav, in a sidebar ...
    text_place: bool = False  # in an article, in a footer ...
    sequence: bool = False  # the page before or after


def menu_signs(links: Sequence[Link], key_url: str) -> list[MenuSigns]:
    """The signs of each link of the key page."""
    if not links:
        return []
    body = Body(links[0].element)
    blocks = body.blocks()
    targets = Targets(links[0].element, key_url)
    addresses = [_address(body.elements[anchor]) for anchor in body.anchors]
    leads = {address: targets.of(address) for address in {*addresses}}
    # Of links with the same target, the last one counts.
    by_target = {
        leads[_address(link.element)][1]: position
        for position, link in enumerate(links)
        if link.element in body.numbers
    }
    places: dict[int, list[int]] = {}  # the anchors of each link
    entries: dict[int, set[int]] = {}  # the links of each block
    own_entry: set[int] = set()
    for anchor, address in zip(body.anchors, addresses, strict=True):
        link, target = leads[address]
        if (position := by_target.get(target)) is not None:
            places.setdefault(position, []).append(anchor)
            entries.setdefault(blocks[anchor], set()).add(position)
        elif link.startswith("self?"):
            own_entry.add(blocks[anchor])

    def signs(position: int, link: Link) -> MenuSigns:
        anchors = places.get(position, [])
        found = [
            MenuSigns(
                len(entries[blocks[anchor]]),
                blocks[anchor] in own_entry,
                len(anchors),
                body.in_menu[anchor],
                body.in_text[anchor],
            )
            for anchor in anchors
        ]
        best = max(found, key=_likely) if found else MenuSigns()
        return replace(best, sequence=True) if in_sequence(link) else best

    return [signs(position, link) for position, link in enumerate(links)]


def _address(anchor: Element) -> str:
    return (anchor.get("href") or "").strip().partition("#")[0]


def _likely(signs: MenuSigns) -> tuple[bool, bool, int, int]:
    """How likely a place is that of a menu, for comparison."""
    return (
        signs.entries >= 3,
        signs.own_entry,
        signs.menu_place - signs.text_place,
        signs.entries,
    )


def in_sequence(link: Link) -> bool:
    """Whether a link, or one of the two elements round it, is marked as that of a neighbour."""
    around: list[Element] = [link.element, *islice(link.element.iterancestors(), 2)]
    named = (element.get(name) or "" for element in around for name in ("class", "id", "rel"))
    return any(map(_SEQUENCE_NAMES.search, named))


class Body:
    """The elements of a page's body, with the same numbers and texts as those of a flat page."""

    def __init__(self, root: Element) -> None:
        self.elements: list[Element] = []
        self.numbers: dict[Element | None, int] = {}
        self.parents: list[int] = []  # that of the first is -1
        self.lengths: list[int] = []  # of the text directly in each
        self.in_menu: list[bool] = []  # whether it is in a nav, in a sidebar ...
        self.in_text: list[bool] = []  # whether it is in an article, in a footer ...
        for element in main_body(root).iter():
            parent = self.numbers.get(element.getparent(), -1)
            if parent >= 0:
                self._add_text(parent, element.tail)
            # What is in an element that does not count has no parent here.
            is_inside = parent >= 0 or not self.elements
            if is_inside and isinstance(element.tag, str) and element.tag not in UNCOUNTED:
                self._add(element, parent)
        self.anchors = [
            number
            for number, element in enumerate(self.elements)
            if element.tag in ("a", "area") and element.get("href") is not None
        ]

    def _add(self, element: Element, parent: int) -> None:
        in_menu = element.tag in _MENU_TAGS or (parent >= 0 and self.in_menu[parent])
        in_text = element.tag in _TEXT_TAGS or (parent >= 0 and self.in_text[parent])
        for name in ("class", "id", "role"):  # not all that it has: there may be thousands
            if value := element.get(name):
                in_menu = in_menu or bool(_MENU_NAMES.search(value))
                in_text = in_text or bool(_TEXT_NAMES.search(value))
        self.numbers[element] = len(self.elements)
        self.elements.append(element)
        self.parents.append(parent)
        self.lengths.append(0)
        self.in_menu.append(in_menu)
        self.in_text.append(in_text)
        self._add_text(self.numbers[element], element.text)

    def _add_text(self, number: int, text: str | None) -> None:
        if text and (folded := " ".join(text.split())):
            self.lengths[number] += len(folded) + (self.lengths[number] > 0)

    def blocks(self) -> list[int]:
        """Of each element, the largest one round it that is mostly links, itself if none is."""
        sizes, lengths = self._sums([1] * len(self.parents)), self.lengths.copy()
        for number, whole in enumerate(self._sums(lengths)):
            tag = self.elements[number].tag
            if is_stray(number, tag, sizes[number], self.lengths[number], whole):
                lengths[number] = 0
        in_link = [False] * len(lengths)
        for number in self.anchors:
            if self.elements[number].tag == "a":
                in_link[number : number + sizes[number]] = [True] * sizes[number]
        whole_lengths = self._sums(lengths)
        linked = self._sums([n if yes else 0 for n, yes in zip(lengths, in_link, strict=True)])
        blocks = list(range(len(lengths)))
        for number, parent in enumerate(self.parents):
            if parent > 0 and linked[parent] >= DENSE * whole_lengths[parent]:
                blocks[number] = blocks[parent]
        return blocks

    def _sums(self, values: list[int]) -> list[int]:
        """Of each element, the sum of its value and those of all in it."""
        sums = values.copy()
        for number in range(len(sums) - 1, 0, -1):
            sums[self.parents[number]] += sums[number]
        return sums


class LoadedPages:
    """The pages loaded so far: which of the links they have, and how well linked they are.

    Of each link, the evidence is the number of pages that have it, each counting for one, and one
    for each page that it is mutually linked with: with those it can be in a complete subdigraph.
    """

    def __init__(self, links: Sequence[Link]) -> None:
        self.evidence = [0] * len(links)
        self.pages: list[Visit] = []
        self._positions = {link.identity: position for position, link in enumerate(links)}
        self._links = frozenset(self._positions)
        self._found: list[list[int]] = []  # the links that each page has
        self._read = 0

    def read(self, visits: Sequence[Visit]) -> set[int]:
        """Take in the visits since the last time; the links with more evidence than before."""
        changed: set[int] = set()
        for visit in visits[self._read :]:
            if visit.page is None:
                continue
            mutual = [
                (links, 1)
                for other, links in zip(self.pages, self._found, strict=True)
                if _links_to(visit, other) and _links_to(other, visit)
            ]
            found = sorted(map(self._positions.__getitem__, visit.page.links & self._links))
            for links, count in [*mutual, (found, 1 + len(mutual))]:
                changed.update(links)
                for position in links:
                    self.evidence[position] += count
            self.pages.append(visit)
            self._found.append(found)
        self._read = len(visits)
        return changed


def _links_to(visit: Visit, other: Visit) -> bool:
    assert visit.page
    assert other.page
    return not visit.page.links.isdisjoint((other.link.identity, other.page.identity))


class LinksLeft:
    """The links that are still to be taken up, by their positions in the order that breaks ties.

    Links with the same *evidence* and the same *prior* have the same score, whatever is loaded.
    """

    def __init__(self, prior: list[float], evidence: list[int]) -> None:
        self._prior, self._evidence = prior, evidence
        self._taken = bytearray(len(prior))
        self._in_order = iter(range(len(prior)))
        # As heaps. A link that has changed, or was taken first, stays in the old one for a while.
        self._alike: dict[tuple[int, float], list[int]] = {}
        self.update(range(len(prior)))

    def update(self, positions: Collection[int]) -> None:
        """Take in that the evidence or the prior of these links has changed."""
        if len(positions) > len(self._prior) / 10:  # all anew takes less time
            self._alike.clear()
            positions = [each for each, taken in enumerate(self._taken) if not taken]
        for position in positions:
            kind = self._evidence[position], self._prior[position]
            heappush(self._alike.setdefault(kind, []), position)

    def defer(self, positions: Sequence[int]) -> None:
        """Lower the score of these links."""
        for position in positions:
            self._prior[position] += DEFERRED
        self.update(positions)

    def take(self, position: int) -> int:
        """This link."""
        self._taken[position] = True
        return position

    def take_first(self) -> int:
        """The first link that is left."""
        return self.take(next(each for each in self._in_order if not self._taken[each]))

    def take_best(self, whole: int) -> int:
        """The link with the highest score, the first of several.

        A score is the share of *whole* that a link's evidence is, and its prior.
        """
        scores = []
        for kind, positions in [*self._alike.items()]:
            while positions and self._is_gone(positions[0], kind):
                heappop(positions)
            if positions:
                evidence, prior = kind
                scores.append((-(EVIDENCE * evidence / whole + prior), positions[0]))
            else:
                del self._alike[kind]
        return self.take(min(scores)[1])

    def _is_gone(self, position: int, kind: tuple[int, float]) -> bool:
        now = self._evidence[position], self._prior[position]
        return bool(self._taken[position]) or now != kind


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
EARLY = -0.3  # with each doubling of the links before it: the first load should be of a menu
PATIENCE = 8  # times n: the links after which every other one is that of sortLinks


def guided_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by score, as it is whenever a link is asked for.

    A search that goes on for long is one whose signs mislead: from then on, every other link is the
    next of sortLinks.
    """
    key = search.key_page
    positions = sorted_groups(links, key.identity)
    groups = [[links[i] for i in group] for group in positions]
    links = [link for group in groups for link in group]
    loaded, shapes = LoadedPages(links), Shapes(links)
    prior = _prior(groups, key)
    early = [EARLY * i.bit_length() for group in positions for i in group]
    left = LinksLeft(prior, loaded.evidence)
    for taken in range(len(links)):
        left.defer(shapes.failed(search.visits))
        left.update(loaded.read(search.visits))
        if not taken:
            best = left.take(max(range(len(links)), key=lambda i: prior[i] + early[i]))
        elif taken >= PATIENCE * search.size and taken % 2:
            best = left.take_first()
        else:
            best = left.take_best(max(len(loaded.pages), 1) ** 2)
        yield links[best]


def _prior(groups: Sequence[Sequence[Link]], key: Page) -> list[float]:
    """The score of each link before anything is loaded."""
    links = [link for group in groups for link in group]
    relevance = [RELEVANCE / place for place, group in enumerate(groups, 1) for _ in group]
    kin = _kinship([link.identity for link in links], key.identity)
    signs = menu_signs(links, key.url)
    return [_menu_score(s) + r + k for s, r, k in zip(signs, relevance, kin, strict=True)]


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
