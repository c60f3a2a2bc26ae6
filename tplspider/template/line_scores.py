"""The score of each line of a page, as main text: a sum of learnt weights.

A line has features, each with a name and a weight. In the first stage they are what the page itself
says of it. In the second, scores of the first are features as well: those of its neighbours, and
those of its slot (tag and class on three levels) on the page and on the pages it is compared with.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, compress, repeat
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tplspider.template.flat_page import FlatPage
    from tplspider.template.lines import FoundLines, Line

Feature = tuple[str | int, ...]  # its name, and which of its values
Features = tuple[Feature, ...]
Slot = tuple[str, str, str, bool]
_Place = TypeVar("_Place")
Slots = dict[Slot, tuple[int, int]]  # of a page: the sum of the scores there, and of how many lines

WEIGHTS = "line_weights.tsv"
UNIT = 100  # weights are whole numbers, so that sums are the same on every machine


@cache
def weights() -> dict[Feature, int]:
    """The weight of each feature, as benchmarks/learn_main_text.py has learnt them."""
    table = files("tplspider.template").joinpath(WEIGHTS).read_text("utf-8")
    rows = (row.split("\t") for row in table.splitlines() if not row.startswith("#"))
    return {
        tuple(int(part) if part.isdecimal() else part for part in feature): int(weight)
        for weight, *feature in rows
    }


def score(features: Iterable[Feature]) -> int:
    """The sum of the weights of some features."""
    return sum(map(weights().get, features, repeat(0)))


def _known(*features: Feature) -> tuple[Features, int]:
    """Features that several lines have together, and their score."""
    return features, score(features)


def strongest(features: Iterable[Feature], count: int = 2) -> list[tuple[Feature, int]]:
    """The features of a line that weigh most, either way."""
    known = [(feature, weights().get(feature, 0)) for feature in features]
    return sorted(known, key=lambda pair: -abs(pair[1]))[:count]


# What the elements around a line are called.

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code del dfn em font i img ins kbd label mark nobr q s samp"
    " small span strike strong sub sup time tt u var".split()
)
_AROUND = (
    "article aside blockquote button dd dl dt figcaption figure footer form h1 h2 header li main"
    " nav p pre section table td ul"
).split()
_LIKE = {"caption": "figcaption", "ol": "ul", "option": "button", "select": "button"}
_LIKE |= {
    "label": "form",
    "th": "td",
    "textarea": "form",
    **dict.fromkeys(("h3", "h4", "h5", "h6"), "h2"),
}
# Beginnings of words in classes and ids.
_WORDS = {
    "comment": "comments?(?![a-z])|disqus|respond(?![a-z])|repl(?:y|ies)(?![a-z])|discussion"
    "|kommentar|comentario|talkback",
    "side": "side|rail|aside|widget|secondary|gutter",
    "menu": "nav|menu|breadcrumb|crumb|pager|pagin|toc(?![a-z])|tabs",
    "foot": "foot|copyright|legal|colophon|disclaim",
    "head": "header|masthead|banner|logo|topbar|skip",
    "related": "relat|recommend|similar|popular|trend|most|latest|recent|promo|teaser|also"
    "|readmore|more|outbrain|taboola|next|prev|upsell|carousel|slider",
    "ad": "ad[sv]?(?![a-z])|advert|sponsor|commercial|adslot|dfp",
    "share": "shar(?:e|ing)|social|facebook|twitter|tweet|follow|bookmark|addthis|tool",
    "meta": "meta|byline|author|date|time|posted|publish|credit|tags?(?![a-z])|tagged|categor"
    "|topic|kicker|label",
    "form": "subscri|newsletter|signup|login|regist|search|form(?![a-z])|poll|donat|paywall"
    "|cookie|consent|modal|popup|overlay|prompt|alert|notice",
    "media": "caption|photo|image|img|galler|figure|media|video|player|embed|thumb|audio",
    "text": "content|article|entry|post(?![a-z])|story|text|body|main|prose|copy(?![a-z])"
    "|paragraph|wysiwyg",
    "title": "title|headline|heading",
    "unseen": "hid(?:e|den)|sr(?![a-z])|screenreader|invisible|noprint|collapse",
    "lead": "lead|intro|summary|abstract|excerpt|standfirst|descr|dek|subtitle|deck|chapo",
    "data": "price|product|detail|spec|attrib|info|review|rating|profile|stat|field|value|bio",
    "list": "list|item|row|grid|result|feed|archive",
}
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAMES = [*_AROUND, *(f".{group}" for group in _WORDS)]
_BITS = {name: 1 << place for place, name in enumerate(_NAMES)}
_PATTERNS = [
    (re.compile(f"(?<![a-z])(?:{words})"), _BITS[f".{group}"]) for group, words in _WORDS.items()
]
_H1, _COMMENT, _TEXT = _BITS["h1"], _BITS[".comment"], _BITS[".text"]
_BESIDE = sum(
    _BITS[name]
    for name in "aside footer form nav .comment .side .menu .foot .related .ad .share .form".split()
)
_LAYOUT = frozenset("article body div main section td".split())
_DIGITS = re.compile(r"\d+")


@lru_cache(maxsize=1 << 14)
def _signs(tag: str, id_: str | None, class_: str | None) -> int:
    """What an element is called, as bits."""
    signs = _BITS.get(_LIKE.get(tag, tag), 0)
    if id_ or class_:
        text = _CAPITAL.sub("-", f"{id_ or ''} {class_ or ''}").lower()
        for pattern, bit in _PATTERNS:
            if pattern.search(text):
                signs |= bit
    return signs


@lru_cache(maxsize=1 << 12)
def _named(where: str, signs: int) -> tuple[Feature, ...]:
    return tuple((where, name) for name, bit in _BITS.items() if signs & bit)


@lru_cache(maxsize=1 << 14)
def _kind(tag: str, class_: str | None) -> str:
    """The tag of an element and the first two words of its class, digits left out."""
    return f"{tag}.{' '.join(_DIGITS.sub('', class_).split()[:2])}" if class_ else tag


# What is in a line.

_SIZES = (3, 8, 16, 30, 50, 80, 130, 200, 350)  # letters
_SHAPES = ("tiny", "tiny", "short", "short", "mid", "mid", *["long"] * 4)
_LEVELS = 3  # around the box, where there may be others like it
_LONG = 80  # letters of running text
_TEXTY, _FEW_LINKS = 40, 0.4
# In lower case, by their first letters, and a digit first: looking for either is slow otherwise.
_PHRASES = re.compile(
    r"\xa9|a(?:ll rights|dvert)|c(?:opyright|ookie|omments?\b|lick here)|e-?mail"
    r"|f(?:acebook|ollow us|iled under)|image:|log ?in|m(?:ore (?:from|on|in)|ost (?:read|popular))"
    r"|newsletter|p(?:rint\b|ermalink|osted (?:by|in|on)|ublished|hoto(?:graph)?(?: by|:))"
    r"|re(?:ply|lated|commended|ad (?:more|next|also))|s(?:ubscrib|ign (?:up|in)|hare|ponsored)"
    r"|t(?:weet|witter|rackback|ags?:)|updated|whatsapp"
)
_DATE = re.compile(r"\d(?:(?<=1)9\d\d\b|(?<=2)0\d\d\b|:\d\d|[./-]\d{1,2}[./-]\d\d)")
_STOPS = frozenset(".!?\u2026\u3002\uff01\uff1f")
_CLOSING = "\"'\u201d\u2019\xbb)]"


def _words(text: str, shape: str, size: int) -> list[Feature]:
    """What the words of a line say by themselves."""
    last = text.rstrip(_CLOSING)[-1:]
    end = "stop" if last in _STOPS else "colon" if last == ":" else "no"
    found: list[Feature] = [("ends", end, shape)]
    if size < 6:
        if _PHRASES.search(text.lower()):
            found.append(("phrase", shape))
        if _DATE.search(text):
            found.append(("date", shape))
        if text.isupper():
            found.append(("capitals",))
    return found


@dataclass(slots=True)
class ScoredLines:
    """Some lines of a page, and what the first stage makes of them."""

    lines: Sequence[Line]
    features: list[Features] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  # of the blocks that they are in
    shapes: list[str] = field(default_factory=list)
    mass: int = 0  # how much running text there is in the box
    scores: list[int] = field(default_factory=list)

    def by_slot(self) -> Slots:
        """The scores by slot."""
        return {
            slot: (sum([_clip(self.scores[n]) for n in inside]), len(inside))
            for slot, inside in _by_place(self.slots).items()
        }


def _by_place(places: Iterable[_Place]) -> dict[_Place, list[int]]:
    """The numbers of the lines in each place."""
    found: dict[_Place, list[int]] = {}
    for n, place in enumerate(places):
        found.setdefault(place, []).append(n)
    return found


class _Around:
    """The elements around some lines: what they are called, and which holds the running text."""

    def __init__(self, page: FlatPage, lines: Sequence[Line]) -> None:
        self.page = page
        self.own = {0: 0, -1: 0}  # the signs of an element, but for the body
        self.all = {0: 0, -1: 0}  # and of all around it
        self.holders = [min(line.elements) for line in lines]
        self.blocks = list(map(self._block, self.holders))
        self.texty = [line.letters >= _TEXTY and line.linked < _FEW_LINKS for line in lines]
        self.box = self._box(lines)
        self._apart = {-1: 0, 0: 0}
        outer = self.box
        while outer > 0:  # what is around the box tells nothing
            self._apart[outer] = 0
            outer = page.parents[outer]

    def _block(self, element: int) -> int:
        """The block that an element is in; notes the signs of all around."""
        tags, parents, names = self.page.tags, self.page.parents, self.page.names
        chain = []
        outer = element
        while outer not in self.all:
            chain.append(outer)
            outer = parents[outer]
        signs = self.all[outer]
        for inner in reversed(chain):
            self.own[inner] = own = _signs(tags[inner], *names[inner])
            self.all[inner] = signs = signs | own
        while element > 0 and tags[element] in _INLINE:
            element = parents[element]
        return element

    def apart(self, element: int) -> int:
        """The signs of the elements around one, as far as they do not hold the box."""
        chain = []
        while element not in self._apart:
            chain.append(element)
            element = self.page.parents[element]
        signs = self._apart[element]
        for inner in reversed(chain):
            self._apart[inner] = signs = signs | self.own[inner]
        return signs

    def _box(self, lines: Sequence[Line]) -> int:
        """The element with most running text directly or nearly so in it."""
        parents, tags = self.page.parents, self.page.tags
        votes: dict[int, int] = {}
        for line, block, texty in zip(lines, self.blocks, self.texty, strict=True):
            if not texty:
                continue
            worth = 10 + 10 * line.text.count(",") + min(line.letters // 10, 30)
            outer = block if tags[block] in _LAYOUT else parents[block]
            for share in (1, 2, 4, 6):
                if outer <= 0:
                    break
                votes[outer] = votes.get(outer, 0) + worth // share
                outer = parents[outer]
        for element, worth in votes.items():
            signs = self.own[element]
            less = worth // 4 if signs & _BESIDE else worth
            votes[element] = less * 5 // 4 if signs & _TEXT else less
        return max(votes, key=lambda element: (votes[element], -element), default=0)


def _twins(page: FlatPage, box: int) -> list[int]:
    """What the box is in and others of that kind beside it, if there are: entries of a list."""
    inner = box
    for _ in range(_LEVELS):
        if inner <= 0:
            break
        kind = _kind(page.tags[inner], page.names[inner][1])
        beside = page.children[page.parents[inner]]
        twins = [each for each in beside if _kind(page.tags[each], page.names[each][1]) == kind]
        if len(twins) > 1:
            return twins
        inner = page.parents[inner]
    return [box]


def first_stage(  # noqa: PLR0915 - one walk over all that is known of lines
    page: FlatPage, lines: Sequence[Line]
) -> ScoredLines:
    """What a page itself says of some of its lines, which are all that is looked at."""
    around = _Around(page, lines)
    found = ScoredLines(lines)
    parents, tags, ends, names = page.parents, page.tags, page.ends, page.names
    box, blocks, texty = around.box, around.blocks, around.texty
    outer = max(parents[box], 0)
    higher = max(parents[outer], 0)
    end, top = ends[outer], ends[higher]
    count = len(lines)
    sizes = [bisect_right(_SIZES, line.letters) for line in lines]
    linked = [int(line.letters * line.linked) for line in lines]
    links = [bisect_left((0, 0.3, 0.6, 0.999), line.linked) for line in lines]
    shapes = [
        _SHAPES[size] + ("-link" if link >= 3 else "")
        for size, link in zip(sizes, links, strict=True)
    ]
    within = {element for twin in _twins(page, box) for element in range(twin, ends[twin])}
    wheres = [
        0 if block in within else 1 if outer <= block < end else 2 if higher <= block < top else 3
        for block in blocks
    ]
    running = [n for n in range(count) if texty[n] and wheres[n] == 0]
    first, last = (running[0], running[-1]) if running else (count, -1)
    mass = bisect_right((200, 600, 1500, 4000), sum(lines[n].letters for n in running))
    is_h1 = [around.all[holder] & _H1 != 0 for holder in around.holders]
    h1 = is_h1.index(True) if True in is_h1 else -1
    beside = sum(
        line.letters
        for line, is_text, holder in zip(lines, texty, around.holders, strict=True)
        if is_text and not around.all[holder] & _COMMENT
    )
    groups: dict[int, list[int]] = {}  # by parent: letters, those of long lines, in links
    found.parents = [max(parents[block], 0) for block in blocks]
    for n, parent in enumerate(found.parents):
        group = groups.setdefault(parent, [0, 0, 0])
        letters = lines[n].letters
        group[0] += letters
        group[1] += letters if letters >= _LONG and texty[n] else 0
        group[2] += linked[n]
    groups_of: dict[int, Features] = {
        parent: (
            ("parent", min(5 * of_long // (of_all or 1), 4), min(5 * in_links // (of_all or 1), 4)),
            ("parent size", bisect_right((20, 60, 150, 400, 1000, 3000), of_all)),
        )
        for parent, (of_all, of_long, in_links) in groups.items()
    }
    padded = ["none", *shapes, "none"]
    kinds: dict[int, str] = {-1: ""}
    comments: Features = (("comment beside", bisect_right((100, 300), beside)),)
    places: dict[object, tuple[Features, int, tuple[str, str, str]]] = {}
    forms = {
        (where, size, link): _known(
            ("size", size, link),
            ("box", where, shape),
            ("mass", mass, int(where == 0), shape),
        )
        for where, size, link, shape in {*zip(wheres, sizes, links, shapes, strict=True)}
    }
    whole = (box, outer, higher)
    for n, line in enumerate(lines):
        holder, block, parent = around.holders[n], blocks[n], found.parents[n]
        size, shape = sizes[n], shapes[n]
        signs = around.own[holder]
        # Most lines stand where others of their kind do.
        key = parent, tags[block], names[block], signs, block if block in whole else -1
        place = places.get(key)
        if place is None:
            where = wheres[n]
            apart = around.apart(holder)
            depth, element = 0, block
            while where == 0 and parents[element] in within and depth < 5:
                depth, element = depth + 1, parents[element]
            for element in (block, parent, parents[parent]):
                if element not in kinds:
                    kinds[element] = _kind(tags[element], names[element][1])
            features, value = _known(
                ("any line",),
                ("tag", "td" if tags[block] == "th" else tags[block], int(where == 0)),
                ("where", where, depth),
                *groups_of[parent],
                *_named("near", signs | around.own[block] | around.own[parent]),
                *_named("in", apart),
                *(comments if apart & _COMMENT else ()),
            )
            slot = kinds[block], kinds[parent], kinds[parents[parent]]
            place = places[key] = features, value, slot
        form = forms[wheres[n], size, links[n]]
        own: list[Feature] = [
            ("before", padded[n]),
            ("after", padded[n + 2]),
            *_words(line.text, shape, size),
        ]
        if n < first:
            own.append(("ahead", bisect_right((1, 2, 4, 8, 16), first - n)))
        elif n > last:
            own.append(("behind", bisect_right((1, 2, 4, 8, 16), n - last)))
        if h1 >= 0:
            own.append(("h1", "is" if is_h1[n] else "later" if n < h1 else "earlier"))
        if line.link.startswith("self?#"):
            own.append(("to the page",))
        found.features.append((*place[0], *form[0], *own))
        found.scores.append(place[1] + form[1] + score(own))
        found.slots.append((*place[2], links[n] >= 3))
    found.shapes, found.mass = shapes, mass
    return found


# The second stage: what the scores of other lines say, and the pages compared with.

_EDGES = (-400, -250, -150, -75, 0, 75, 150, 250, 400)
_MOST = 500
_COMMENTS_BESIDE: Feature = ("comment beside", 2)
_IN_MENU: Feature = ("in", ".menu")
_IS_TITLE: Feature = ("h1", "is")


def left_out(first: ScoredLines) -> list[bool]:
    """For each line, whether it is left out regardless of its score.

    These are comments beside a text, short lines beside it in what is named as a menu (such as a
    breadcrumb), and links to places on the page that stand in a row.
    """
    contents = [
        line.link.startswith("self?#") and _IS_TITLE not in features
        for line, features in zip(first.lines, first.features, strict=True)
    ]
    near = [False, *contents, False]
    return [
        (is_link and (near[n] or near[n + 2]))
        or _COMMENTS_BESIDE in features
        or (first.mass > 0 and _IN_MENU in features and not shape.startswith("long"))
        for n, (is_link, features, shape) in enumerate(
            zip(contents, first.features, first.shapes, strict=True)
        )
    ]


def _clip(value: int) -> int:
    return max(min(value, _MOST), -_MOST)


def _level(value: int) -> int:
    return bisect_right(_EDGES, value)


def second_stage(
    first: ScoredLines,
    others: Sequence[tuple[Slots, FoundLines]],
    marks: Sequence[Features],
) -> tuple[list[Features], list[int]]:
    """The features of the same lines and their scores, given the slots and lines of other pages.

    *marks* are features that are known of lines already.
    """
    lines, slots, pages = first.lines, first.slots, len(others)
    clipped = list(map(_clip, first.scores))
    count, sums = len(lines), [0, *accumulate(clipped)]
    levels = list(map(_level, clipped))
    names = [line.names for line in lines] if others else [()] * count
    there = [found.keys() for _, found in others]
    on = [sum([not found.isdisjoint(each) for found in there]) for each in names]
    sizes = [line.letters for line in lines]
    whole = sum(sizes) or 1
    wanted = sum(compress(sizes, [value > 0 for value in clipped]))
    share = min(5 * wanted // whole, 4)
    of_level = {
        level: _known(
            ("any line, at last",),
            ("compared" if pages else "alone", level),
            ("text and score", first.mass, level // 2),
            ("share and score", share, level // 2),
        )
        for level in {*levels}
    }
    of_slot = {}
    for slot, inside in _by_place(slots).items():
        number = len(inside)
        features: list[Feature] = [
            ("slot", _level(sum([clipped[n] for n in inside]) // number), min(number, 3)),
            ("slot share", min(6 * sum([sizes[n] for n in inside]) // whole, 3)),
        ]
        if pages:
            known = [found[slot] for found, _ in others if slot in found]
            has = "none" if not known else "all" if len(known) == pages else "some"
            features.append(("slot on", has))
            if known:
                mean = sum([each[0] for each in known]) // sum([each[1] for each in known])
                features.append(("slot there", _level(mean)))
            repeated = sum([2 * on[n] > pages for n in inside])
            features.append(("slot repeats", min(4 * repeated // number, 3), min(number, 2)))
        of_slot[slot] = _known(*features)
    of_parent = {}
    for parent, inside in _by_place(first.parents).items():
        mean = sum([clipped[n] for n in inside]) // len(inside)
        of_parent[parent] = _known(("scores in parent", _level(mean)))
    padded: list[str | int] = ["none", *levels, "none"]
    found, scores = [], []
    for n, level in enumerate(levels):
        low, high = max(n - 4, 0), min(n + 5, count)
        window = (sums[high] - sums[low] - clipped[n]) // max(high - low - 1, 1)
        own: list[Feature] = [
            ("score before", padded[n]),
            ("score after", padded[n + 2]),
            ("scores around", _level(window)),
            ("score of", int(clipped[n] > 0), first.shapes[n]),
            *marks[n],
        ]
        if pages:
            times = on[n]
            stands = "all" if times == pages else "most" if 2 * times > pages else "some"
            own.append(("on", stands if times else "none", level // 2))
        shared = of_level[level], of_slot[slots[n]], of_parent[first.parents[n]]
        found.append((*shared[0][0], *shared[1][0], *shared[2][0], *own))
        scores.append(shared[0][1] + shared[1][1] + shared[2][1] + score(own))
    return found, scores
