"""The strategy ``guided`` as it was defined at first, slow on purpose: the oracle of its tests.

Every score is taken anew for every link, and the signs are read off a page made for comparing.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from tplspider.search.cliques import SubdigraphSearch, Visit
from tplspider.search.guided import MenuSigns
from tplspider.search.sort_links import HyperlinkDistances, link_relevance, sort_links
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.template.vote import ElementTexts
from tplspider.web.html import Element, Link

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
EARLY = -0.3  # of the first load, with each doubling of the links before it
PATIENCE = 8  # times n: the links after which sortLinks has a say
FEEDS = {"atom", "feed", "print", "rss", "rss2"}
DENSE = 0.6  # the share of the text in links that makes a block one of links
_MENU_TAGS = frozenset({"nav", "header"})
_TEXT_TAGS = frozenset({"article", "footer", "main", "p"})
_MENU_NAMES = re.compile(r"nav|menu|sidebar|toc|toolbar|header|breadcrumb|tab", re.IGNORECASE)
_TEXT_NAMES = re.compile(
    r"content|article|post-body|entry|comment|related|tag|foot|pagination|pager|prev|next",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(r"prev|next|pager|pagination|older|newer", re.IGNORECASE)


def order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by score, which is taken anew whenever a link is asked for.

    A search that goes on for long is one whose signs mislead: from then on, every other link is the
    next of sortLinks.
    """
    position = {link.identity: i for i, link in enumerate(links)}
    links = sort_links(links, search.key_page.identity)
    prior = _prior(links, search)
    left = dict.fromkeys(range(len(links)))
    loaded = _Loaded(links)
    taken = 0
    while left:
        loaded.read(search.visits)
        shapes = [_shape(visit.link.identity) for visit in search.visits]
        failed = {
            shape
            for i, (shape, visit) in enumerate(zip(shapes, search.visits, strict=True))
            if visit.no_page and shape not in shapes[:i]
        }
        if taken == 0:
            best = max(
                left,
                key=lambda i: prior[i] + EARLY * position[links[i].identity].bit_length(),
            )
        elif taken >= PATIENCE * search.size and taken % 2:
            best = next(iter(left))
        else:
            evidence, whole = loaded.evidence, max(len(loaded.pages), 1) ** 2
            best = max(
                left,
                key=lambda i: (
                    EVIDENCE * evidence[i] / whole
                    + (prior[i] + DEFERRED * (_shape(links[i].identity) in failed))
                ),
            )
        del left[best]
        taken += 1
        yield links[best]


class _Loaded:
    """The pages loaded so far: which of the links they have, and how well linked they are."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._number = {link.identity: i for i, link in enumerate(links)}
        self._read = 0
        self._found: list[list[int]] = []  # the links that each page has
        self.pages: list[Visit] = []
        # Of each link, the pages that have it. A page counts for one, and one for each page that
        # links to it and that it links to.
        self.evidence = [0] * len(links)

    def read(self, visits: Sequence[Visit]) -> None:
        """Take in the visits since the last time."""
        for visit in visits[self._read :]:
            if visit.page is None:
                continue
            weight = 1
            for i, other in enumerate(self.pages):
                assert other.page
                is_linked = not _names(visit).isdisjoint(other.page.links)
                if is_linked and not _names(other).isdisjoint(visit.page.links):
                    weight += 1
                    for link in self._found[i]:
                        self.evidence[link] += 1
            numbers = (self._number.get(identity) for identity in visit.page.links)
            found = [i for i in numbers if i is not None]
            for link in found:
                self.evidence[link] += weight
            self.pages.append(visit)
            self._found.append(found)
        self._read = len(visits)


def _names(visit: Visit) -> frozenset[str]:
    assert visit.page
    return frozenset({visit.link.identity, visit.page.identity})


def _prior(links: Sequence[Link], search: SubdigraphSearch) -> list[float]:
    """The score of each link before anything is loaded."""
    key = search.key_page
    distances = HyperlinkDistances(key.identity)
    of_link = [distances.to(link.identity) for link in links]
    groups = {d: i for i, d in enumerate(sorted(set(of_link), key=link_relevance), 1)}
    depth = _depth(key.identity)
    return [
        _menu_score(signs)
        + RELEVANCE / groups[distance]
        + (
            SAME_DEPTH * (_depth(link.identity) == depth)
            + QUERY * ("?" in link.identity and "?" not in key.identity)
            + DEFERRED * (_is_feed(link.identity) or _is_form(link.identity, key.identity))
        )
        for link, signs, distance in zip(links, menu_signs(links, key.url), of_link, strict=True)
    ]


def _is_feed(identity: str) -> bool:
    *_, name = urlsplit(identity).path.lower().removesuffix("/").split("/")
    return name.endswith((".atom", ".rss", ".xml")) or name in FEEDS


def _is_form(identity: str, key: str) -> bool:
    """Whether an address is the key page's own but for an index, ending, slash, www or query."""
    (own, own_query), (other, other_query) = map(_bare, (key, identity))
    return own == other and (not own_query or own_query == other_query)


def _bare(identity: str) -> tuple[str, str]:
    parts = urlsplit(identity)
    path = re.sub(r"(/(index|default|home))?(\.\w{1,5})?/?$", "", parts.path, flags=re.IGNORECASE)
    return parts.netloc.removeprefix("www.") + path, parts.query.lower()


def _shape(identity: str) -> tuple[object, ...]:
    """The directory of an address, its ending, its parameters, and the namespace of a wiki."""
    parts = urlsplit(identity)
    *directory, name = (parts.netloc + parts.path).removesuffix("/").split("/")
    is_directory = parts.path.endswith("/")
    ending = "/" if is_directory else name.split(".")[-1] if "." in name else ""
    space = name.split(":")[0] if ":" in name else ""
    parameters = [pair.split("=")[0] for pair in parts.query.split("&")]
    return parts.scheme, *directory, space, ending, *parameters


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
    path = urlsplit(identity).path
    return path.count("/"), path.endswith("/")


def menu_signs(links: Sequence[Link], key_url: str) -> list[MenuSigns]:
    """The signs of each link of the key page."""
    if not links:
        return []
    root = links[0].element.getroottree().getroot()
    page = flatten(root, key_url, Vocabulary())
    blocks = _blocks(page)
    menu_places = _inside(page, _MENU_TAGS, _MENU_NAMES)
    text_places = _inside(page, _TEXT_TAGS, _TEXT_NAMES)
    number = {element: n for n, element in enumerate(page.elements)}
    identities = {
        page.targets[number[link.element]]: link.identity
        for link in links
        if link.element in number
    }
    anchors = [n for n, tag in enumerate(page.tags) if page.links[n] and tag in ("a", "area")]
    places: dict[str, list[int]] = {}
    entries: dict[int, set[str]] = {}
    own_entry: set[int] = set()
    for anchor in anchors:
        identity = identities.get(page.targets[anchor])
        if identity is not None:
            places.setdefault(identity, []).append(anchor)
            entries.setdefault(blocks[anchor], set()).add(identity)
        elif page.links[anchor].startswith("self?"):
            own_entry.add(blocks[anchor])

    def signs(link: Link) -> MenuSigns:
        found = places.get(link.identity, [])
        candidates = [
            MenuSigns(
                len(entries[blocks[anchor]]),
                blocks[anchor] in own_entry,
                len(found),
                menu_places[anchor],
                text_places[anchor],
            )
            for anchor in found
        ]
        best = max(candidates, key=_likely, default=MenuSigns())
        return MenuSigns(
            best.entries,
            best.own_entry,
            best.places,
            best.menu_place,
            best.text_place,
            _is_sequence(link),
        )

    return [signs(link) for link in links]


def _likely(signs: MenuSigns) -> tuple[bool, bool, int, int]:
    """How likely a place is that of a menu, for comparison."""
    return (
        signs.entries >= 3,
        signs.own_entry,
        signs.menu_place - signs.text_place,
        signs.entries,
    )


def _blocks(page: FlatPage) -> list[int]:
    """Of each element, the largest one round it whose text is mostly in links, itself if none."""
    texts = ElementTexts(page)
    whole = texts.sum([len(text) for text in page.texts])
    in_link = [False] * len(whole)
    linked = [0] * len(whole)
    for element, parent in enumerate(page.parents):
        is_link = page.tags[element] == "a" and page.links[element] != ""
        in_link[element] = is_link or (parent >= 0 and in_link[parent])
        if in_link[element]:
            linked[element] = len(page.texts[element])
    linked = texts.sum(linked)
    blocks = list(range(len(whole)))
    for element in range(1, len(blocks)):
        parent = page.parents[element]
        if parent and linked[parent] >= DENSE * whole[parent]:
            blocks[element] = blocks[parent]
    return blocks


def _inside(page: FlatPage, tags: frozenset[str], names: re.Pattern[str]) -> list[bool]:
    """Of each element, whether it is in an element with such a tag, class, id or role."""
    inside = [False] * len(page.tags)
    for element, parent in enumerate(page.parents):
        inside[element] = (
            (parent >= 0 and inside[parent])
            or page.tags[element] in tags
            or _named(page.elements[element], names, ("class", "id", "role"))
        )
    return inside


def _is_sequence(link: Link) -> bool:
    around = [link.element, *list(link.element.iterancestors())[:2]]
    return any(_named(element, _SEQUENCE, ("class", "rel", "id")) for element in around)


def _named(element: Element, names: re.Pattern[str], attributes: tuple[str, ...]) -> bool:
    return any(names.search(element.get(attribute) or "") for attribute in attributes)
