"""Which lines of a page are its own, and how much of them a text holds: the whole site decides.

There are no manual labels, so these are silver at best. Lines are found by rules of their own, not
by those of the extractor, which is measured. Each line of a key page is looked up on up to 60 other
pages of its site:

- It is boilerplate if half of them have it. For a link with the same target, a quarter is enough,
  or half of those in the page's folder.
- It is the page's own if at most two, or a tenth, have it. A link must not be on three pages, nor
  on half of them with other digits.
- Other lines do not count. Nor do those that the key page has more often than the others.

``--silver DIR`` has a folder for each site, and a table ``sites.tsv`` with tabs. Its columns are
``site`` and ``key_pages``, paths separated by commas (``news/`` is its ``index.html``). Optional:
``silver``, yes or no for each key page (no leaves it out of the means); ``absolute_host``, how the
site links to itself, or ``-``; ``base_path``, where its root is on that host.

The baseline ``counted-lines`` is left out, because the labels count lines as well. jusText gets
English stop words for pages that declare no language.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from statistics import median_high
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from lxml import etree

from benchmarks.evaluation.scores import words
from tplspider.web.html import fold, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from tplspider.web.html import Element


# What shows no text of the page.
_NOT_SHOWN = frozenset("head iframe noscript object script style svg template".split())
# What a line does not go beyond: blocks, cells, entries, parts of forms, and line breaks.
_ENDS_LINE = frozenset(
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hr html legend li"
    " main marquee menu nav noframes ol optgroup option p pre section select summary table tbody td"
    " textarea tfoot th thead title tr ul".split()
)
_WORD = re.compile(r"\w")


class Line(NamedTuple):
    """A line of a page, and where it leads, if it is a link and nothing else."""

    text: str
    target: str = ""


class _Piece(NamedTuple):
    """A text node; between lines, one that ends a line."""

    text: str
    target: str = ""
    is_end: bool = False


_END = _Piece("", is_end=True)


def lines_of(html: str, url: str) -> tuple[Line, ...]:
    """The visible lines of a page, in document order.

    A line of links and punctuation, such as ``Home | News``, is one line for each link.
    """
    found: list[Line] = []
    for top in top_level(parse_html(html)):
        for is_end, pieces in groupby(_pieces(top, url), key=lambda piece: piece.is_end):
            if not is_end:
                found += _lines(list(pieces))
    return tuple(line for line in found if line.text)


def _lines(pieces: list[_Piece]) -> list[Line]:
    linked = [piece for piece in pieces if piece.target]
    if not linked or any(_WORD.search(piece.text) for piece in pieces if not piece.target):
        return [Line(fold("".join(piece.text for piece in pieces)))]
    return [
        Line(fold("".join(piece.text for piece in same)), target)
        for target, same in groupby(linked, key=lambda piece: piece.target)
    ]


def _pieces(top: Element, url: str) -> Iterator[_Piece]:
    target = ""
    walk = etree.iterwalk(top, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        tag = node.tag if event in ("start", "end") else ""
        if tag in _ENDS_LINE:
            yield _END
        if event == "start":
            if tag in _NOT_SHOWN:
                walk.skip_subtree()
                continue
            if tag == "a" and (href := node.get("href")) is not None:
                target = _absolute(url, href)
            yield _Piece(node.text or "", target)
        else:
            if tag == "a":
                target = ""
            if node is not top:
                yield _Piece(node.tail or "", target)


def _absolute(url: str, href: str) -> str:
    try:
        return urljoin(url, href.strip())
    except ValueError:  # it leads nowhere, but may do so on every page
        return href


OWN, BOILERPLATE, UNCLEAR = "own", "boilerplate", ""

MOST_PAGES = 60  # of a site, to look lines up on
SHARED = 1 / 2  # of the pages: so many have what is boilerplate ...
SHARED_LINK = 1 / 4  # ... and the same words with the same target are no coincidence
FEW = 1 / 10  # of the pages: so many may have what is a page's own by chance ...
FEW_PAGES = 2  # ... and so many in any case
IN_FOLDER = 5  # pages in a folder that show what its own menu is

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, eq=False)
class SitePage:
    """A page of a site: its path there, and its lines."""

    path: str
    lines: tuple[Line, ...]

    @property
    def folder(self) -> str:
        """The folder that the page is in."""
        return self.path.rpartition("/")[0]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The lines without their targets."""
        return tuple(line.text for line in self.lines)


def pages_beside(key: SitePage, pages: Iterable[SitePage]) -> list[SitePage]:
    """The pages that the lines of *key* are looked up on, no text twice.

    Of a large site some are enough: they are spread over it evenly, by the order they are given in.
    """
    different = {page.texts: page for page in reversed(list(pages)) if page.texts}
    different.pop(key.texts, None)
    beside = list(reversed(different.values()))
    if len(beside) <= MOST_PAGES:
        return beside
    return [beside[place * len(beside) // MOST_PAGES] for place in range(MOST_PAGES)]


def label_lines(key: SitePage, beside: Sequence[SitePage]) -> list[str]:
    """The label of each line of the key page."""
    site = _Spread()
    folder = _Spread()
    for page in beside:
        site.add(page)
        if page.folder == key.folder:
            folder.add(page)
    on_key = Counter(key.texts)

    def is_shared(line: Line) -> bool:
        if len(site.texts.get(line.text, ())) >= site.many:
            return True
        if not line.target:
            return False
        beneath = folder.pages >= IN_FOLDER and folder.links[line] >= SHARED * folder.pages
        return beneath or site.links[line] >= site.many * SHARED_LINK / SHARED

    def label(line: Line) -> str:
        if characters(line.text) < 2:
            return UNCLEAR
        times = site.texts.get(line.text, [])
        if is_shared(line):
            # A heading may have the words of a menu's entry: which of the two is left, who knows?
            return BOILERPLATE if on_key[line.text] <= median_high(times) else UNCLEAR
        if len(times) > max(FEW * site.pages, FEW_PAGES):
            return UNCLEAR
        if line.target and site.links[line] > FEW_PAGES:
            return UNCLEAR
        return UNCLEAR if site.shapes[_shape(line.text)] >= site.many else OWN

    return [label(line) for line in key.lines]


def characters(text: str) -> int:
    """The size of a text: its letters and digits."""
    return sum(map(str.isalnum, text))


@dataclass(slots=True)
class _Spread:
    """On how many pages of a site, or of a folder, there is what."""

    pages: int = 0
    texts: dict[str, list[int]] = field(default_factory=dict)  # times on each page that has it
    links: Counter[Line] = field(default_factory=Counter)  # lines that are links
    shapes: Counter[str] = field(default_factory=Counter)  # lines, any digit like any other

    def add(self, page: SitePage) -> None:
        self.pages += 1
        for text, times in Counter(page.texts).items():
            self.texts.setdefault(text, []).append(times)
        self.links.update({line for line in page.lines if line.target})
        self.shapes.update({_shape(text) for text in page.texts})

    @property
    def many(self) -> float:
        """How many pages have what is boilerplate: on a tiny site, two may by chance."""
        return max(SHARED * self.pages, FEW_PAGES + 1)


def _shape(text: str) -> str:
    return _DIGIT.sub("0", text)


LEAST = 30  # characters that a share must be a share of to mean anything
RUN = 3  # words in a row that are no coincidence
LONG = 5  # words of a line of which a part may have been extracted
MOST_PLACES = 100  # of a word, to look for one at the start of a line


@dataclass(frozen=True, slots=True)
class SilverScore:
    """The characters of a page's own text and boilerplate, and how many of them were extracted."""

    own: int = 0
    own_kept: float = 0.0
    boilerplate: int = 0
    boilerplate_kept: float = 0.0

    @property
    def lost(self) -> float | None:
        """The share of the page's own text that was not extracted."""
        return 1 - self.own_kept / self.own if self.own >= LEAST else None

    @property
    def left(self) -> float | None:
        """The share of the boilerplate that was extracted."""
        return self.boilerplate_kept / self.boilerplate if self.boilerplate >= LEAST else None


def score_text(lines: Sequence[str], labels: Sequence[str], text: str) -> SilverScore:
    """The score of a text extracted from the page with these lines."""
    size = dict.fromkeys((OWN, BOILERPLATE), 0)
    kept = dict.fromkeys((OWN, BOILERPLATE), 0.0)
    for line, label, share in zip(lines, labels, shares_kept(lines, text), strict=True):
        if label in size:
            size[label] += characters(line)
            kept[label] += share * characters(line)
    return SilverScore(size[OWN], kept[OWN], size[BOILERPLATE], kept[BOILERPLATE])


def shares_kept(lines: Sequence[str], text: str) -> list[float]:
    """Of each line, the share of its words that are in the text.

    Lines are found in the order of the page and each word belongs to one of them. The longest
    choose first: where they are is certain, and a word of a menu can only be between two of them.

    >>> shares_kept(["Home", "We are home at last", "Home"], "We are home at last")
    [0.0, 1.0, 0.0]
    """
    page = [words(line) for line in lines]
    extracted = _Words(text)
    shares = [0.0] * len(page)
    taken: list[tuple[int, int, int]] = []  # line, its first word and the one after its last

    def room(line: int) -> tuple[int, int, int]:
        """The place among those taken, and the words between its neighbours."""
        at = bisect(taken, (line, 0, 0))
        start = taken[at - 1][2] if at else 0
        return at, start, taken[at][1] if at < len(taken) else len(extracted.words)

    for line in sorted(range(len(page)), key=lambda line: -len(page[line])):
        at, start, end = room(line)
        place = extracted.find(page[line], start, end)
        if place is not None:
            taken.insert(at, (line, place, place + len(page[line])))
            shares[line] = 1.0
    rows: dict[tuple[int, int], set[tuple[str, ...]]] = {}  # many lines may share a room
    for line, wanted in enumerate(page):
        if not shares[line] and len(wanted) >= LONG:
            _, start, end = room(line)
            if (start, end) not in rows:
                rows = {(start, end): {*_rows(extracted.words[start:end])}}
            shares[line] = _in_rows(wanted, rows[start, end]) / len(wanted)
    return shares


class _Words:
    """The words of a text as one string, in which rows of words are found quickly."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self._line_starts: set[int] = set()
        for line in text.splitlines():
            self._line_starts.add(len(self.words))
            self.words += words(line)
        self._places = [0]  # of each word, and of the end
        for word in self.words:
            self._places.append(self._places[-1] + len(word) + 1)
        self._string = f" {' '.join(self.words)} "
        self._numbers = {place: number for number, place in enumerate(self._places)}

    def find(self, wanted: list[str], start: int, end: int) -> int | None:
        """The first place of a row of words, at the start of a line if there is such a place."""
        if not wanted or end - start < len(wanted):
            return None
        row = f" {' '.join(wanted)} "
        place, last = self._places[start] - 1, self._places[end] + 1
        found: list[int] = []
        while len(found) < MOST_PLACES:
            place = self._string.find(row, place + 1, last)
            if place < 0:
                break
            found.append(self._numbers[place])
            if found[-1] in self._line_starts:
                return found[-1]
        return found[0] if found else None


def _rows(text: list[str]) -> list[tuple[str, ...]]:
    return [tuple(text[at : at + RUN]) for at in range(len(text) - RUN + 1)]


def _in_rows(wanted: list[str], rows: AbstractSet[tuple[str, ...]]) -> int:
    """How many of the words stand in a row of some that is in the extracted text as well."""
    found = [row in rows for row in _rows(wanted)]
    return sum(any(found[max(0, at - RUN + 1) : at + 1]) for at in range(len(wanted)))
