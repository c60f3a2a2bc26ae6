"""The pool of a site: a sample of its pages that does not depend on the order of their arrival.

The sample key of a page is a hash of its address, and the pages with the lowest keys stay: a sample
of the site that is the same in any order of the crawl. Near copies of pages that are there,
such as a login wall at many addresses, stay only where nothing else needs the room.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, insort
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import blake2b
from itertools import chain, islice
from operator import attrgetter
from time import time
from typing import TYPE_CHECKING
from zlib import crc32

from lxml import etree

from tplspider.search.witness import path_segments, share_of_directories
from tplspider.template.extract import PageSource
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.template.lines import Line, page_lines
from tplspider.web.addresses import identity, place_of, site_name, without_user
from tplspider.web.html import parse_html, top_level
from tplspider.web.page import is_too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tplspider.template.extract import ComparedPage

READ = 1000  # stored pages of a site: more are not read, however alike they are
POOL = 50  # pages: with 25, a page of a large site has fewer of its own kind to be compared with
# Bytes of HTML. A page of 10 MB takes a minute and gigabytes to compare with four of its size.
LARGEST = 2_000_000
_FAST = 1  # zlib's level: a page is packed once, and may be dropped soon

_TOKEN = 8  # characters: a word of that many with a digit in it says nothing to a reader

_HIDDEN = ("script", "style", "noscript", "template")
_LINKS = frozenset({"a", "area"})
SENTENCE = 20  # letters: a shorter line is the same on two pages by coincidence
FEW, FEW_OF = 2, 0.1  # pages, or the share of the pool: what more of them have may be template


def page_identity(url: str) -> str:
    """The identity of an address; one that cannot be parsed stands for itself."""
    try:
        return identity(url)
    except ValueError:
        return url


def page_site(url: str) -> str:
    """The name of the site of an address: its host and port, ``www.`` left out.

    >>> page_site("https://www.example.org:8080/a")
    'example.org:8080'
    """
    try:
        return site_name(identity(url))
    except ValueError:
        return ""


@dataclass(slots=True, unsafe_hash=True)
class PooledPage:
    """A page that may be kept: its address where redirects ended, and its HTML.

    What is found out about it stays with it, and goes with it into a file or to another process.
    """

    url: str
    identity: str
    place: int  # its sample key
    digest: bytes  # of the HTML
    _packed: bytes | None = field(default=None, compare=False, repr=False)
    taken: float = field(default=0, compare=False)  # when, by the clock
    size: int = field(default=0, compare=False)  # bytes of the HTML
    is_too_large: bool = field(default=False, compare=False)  # to be read
    _text: bytes = field(default=b"", compare=False, repr=False)  # until it is packed
    words: bytes | None = field(default=None, compare=False, repr=False)  # their hash, once known
    packed_signs: bytes | None = field(default=None, compare=False, repr=False)  # once known

    @classmethod
    def of(cls, url: str, html: str, *, taken: float | None = None) -> PooledPage:
        """A page that came now, or when it was *taken*."""
        with suppress(ValueError):  # an address that cannot be parsed stands for itself
            url = without_user(url)
        page = page_identity(url)
        text = html.encode("utf-8", "replace")
        return cls(
            url,
            page,
            place_of(page),
            blake2b(text, digest_size=16).digest(),
            taken=time() if taken is None else taken,
            size=len(text),
            is_too_large=is_too_large(html),
            _text=text,
        )

    @property
    def packed(self) -> bytes:
        """The HTML, packed from now on."""
        if self._packed is None:
            self._packed, self._text = zlib.compress(self._text, _FAST), b""
        return self._packed

    @property
    def html(self) -> str:
        text = self._text if self._packed is None else zlib.decompress(self._packed)
        return text.decode("utf-8")

    @property
    def source(self) -> PageSource:
        """The page, as it is compared."""
        return PageSource(self.url, self.html)

    def signs(self) -> Signs:
        """Its signs, which are known from now on."""
        if self.packed_signs is None:
            self.packed_signs = read_signs(self).packed()
        return Signs.unpacked(self.packed_signs, self.identity)


def words_hash(html: str) -> bytes:
    """A hash of the words that a reader sees, without tokens such as numbers of requests.

    A login wall, or an error page, answers to a thousand addresses with the same words and another
    token each time.

    >>> words_hash("<p>Log in (81c9-02f4)<i id=1>") == words_hash("<p>Log in (7d00-9a1b)<i id=2>")
    True
    >>> words_hash("<p>2 apples") == words_hash("<p>3 apples<script>4</script>")
    False
    """
    words: list[str] = []
    for top in top_level(parse_html(html)):
        etree.strip_elements(top, *_HIDDEN, etree.Comment, with_tail=False)
        words += [word for text in top.itertext() for word in str(text).split()]
    words = [word for word in words if len(word) < _TOKEN or not any(map(str.isdigit, word))]
    return blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).digest()


class Pool:
    """At most *most* pages of one site, those with the lowest sample keys; of copies the lowest.

    A page that has the words of another one with a lower key comes after all that do not: of each
    text the lowest, then the second of each, and so on. Pages of more than LARGEST bytes are in no
    pool.

    As long as each address has one content, the pool depends on the set of pages that were added
    and not on their order; and the pool of all pages of two pools is the pool of all that were
    added to either. Of an address with several contents the last one counts.
    """

    def __init__(self, pages: Iterable[PooledPage] = (), most: int = POOL) -> None:
        self.most = most
        self._pages: list[PooledPage] = []  # by their sample keys
        # Hashing words costs as much as parsing: only once something has to be left out.
        self._ranks: dict[bytes, int] = {}  # by digest
        for page in pages:
            self.add(page)

    @property
    def size(self) -> int:
        """The bytes of all pages, packed."""
        return sum(len(page.packed) + len(page.packed_signs or b"") for page in self._pages)

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[PooledPage]:
        return iter(self.pages)

    @property
    def pages(self) -> tuple[PooledPage, ...]:
        """The pages, by their sample keys."""
        return tuple(self._pages)

    def takes(self, place: int) -> bool:
        """Whether a page with that sample key may stay: no is certain, yes is not."""
        if len(self._pages) < self.most or place <= self._pages[-1].place:
            return True
        return any(self._ranked().values())

    def add(self, page: PooledPage) -> bool:
        """Add a page; whether that changes the pool."""
        if page.size > LARGEST or page.is_too_large or not self.takes(page.place):
            return False
        known = self._at(page)
        if known is not None and known.digest == page.digest:
            return False
        copy = next((other for other in self._pages if other.digest == page.digest), None)
        if copy is not None and copy.place < page.place:
            if known is not None:
                self._settle([other for other in self._pages if other is not known])
            return known is not None
        pages = [other for other in self._pages if other is not known and other is not copy]
        insort(pages, page, key=attrgetter("place"))
        self._settle(pages)
        return any(other is page for other in self._pages)

    def _settle(self, pages: list[PooledPage]) -> None:
        """Have these pages, by their keys; one too many is left out."""
        self._pages, self._ranks = pages, {}
        if len(pages) > self.most:
            ranks = self._ranked()
            pages.remove(max(pages, key=lambda page: (ranks[page.digest], page.place)))
            # A page has a higher rank than those whose words it has: no rank changes without it.
            self._ranks = {page.digest: ranks[page.digest] for page in pages}

    def _ranked(self) -> dict[bytes, int]:
        """Of each page, how many with lower keys have its words."""
        if not self._ranks:
            seen: Counter[bytes] = Counter()
            for page in self._pages:
                if page.words is None:
                    page.words = words_hash(page.html)
                self._ranks[page.digest] = seen[page.words]
                seen[page.words] += 1
        return self._ranks

    def _at(self, page: PooledPage) -> PooledPage | None:
        """What the pool has at the address of a page."""
        first = bisect_left(self._pages, page.place, key=attrgetter("place"))
        same = self._pages[first : first + 1]
        return same[0] if same and same[0].identity == page.identity else None


@dataclass(frozen=True, slots=True)
class Signs:
    """What shows how near a page is to others: its place, where its links lead, its sentences.

    Of links and sentences there are checksums, the same in every process. Sentences are long lines
    that are not links, with the number of their letters.
    """

    identity: str
    segments: list[str]  # of its path
    links: frozenset[int]
    sentences: Mapping[int, int]

    def packed(self) -> bytes:
        """The signs in few bytes, but for the identity."""
        words = self.sentences
        return array("q", [len(self.links), *self.links, *words, *words.values()]).tobytes()

    @classmethod
    def unpacked(cls, packed: bytes, identity: str) -> Signs:
        """The signs of a page, from what :meth:`packed` gave."""
        numbers = array("q", packed)
        end = numbers[0] + 1
        middle = (end + len(numbers)) // 2
        sentences = dict(zip(numbers[end:middle], numbers[middle:], strict=True))
        return cls(identity, path_segments(identity), frozenset(numbers[1:end]), sentences)


def signs_of(page: FlatPage, lines: Iterable[Line], identity: str) -> Signs:
    """The signs of a page, given its lines.

    Links are taken as they are flattened, those to other sites among them: measured, they are
    as good as the identities of getLinks, and need no further work. A page does not link to itself,
    but what leads to the one may well stand on the other.
    """
    targets = {
        target
        for tag, target in zip(page.tags, page.targets, strict=True)
        if target and tag in _LINKS
    }
    targets.add(page.url)
    links = frozenset([crc32(target.encode("utf-8", "surrogatepass")) for target in targets])
    sentences = {
        crc32(line.text.encode("utf-8", "surrogatepass")): line.letters
        for line in lines
        if line.letters >= SENTENCE and not line.link
    }
    return Signs(identity, path_segments(identity), links, sentences)


def read_signs(page: ComparedPage) -> Signs:
    """The signs of a page that is not read yet."""
    flat = flatten(parse_html(page.html), page.url, Vocabulary())
    return signs_of(flat, page_lines(flat), page_identity(page.url))


def nearest(key: Signs, pool: Mapping[PooledPage, Signs]) -> list[PooledPage]:
    """The pages of a pool but the key page, the nearest first; of equals, by their places.

    Near are pages with the same links, and in the same directories. Those that have sentences of
    the key page which few others have are not: they may have its own text, too.
    """
    others = [(page, signs) for page, signs in pool.items() if signs.identity != key.identity]
    sizes = key.sentences
    having = Counter(chain(*[sizes.keys() & signs.sentences.keys() for _, signs in others]))
    few, whole = max(FEW, FEW_OF * len(others)), sum(sizes.values())
    rare = {sentence for sentence, count in having.items() if count <= few}
    share = cache(partial(share_of_directories, key.segments))  # many pages are in one directory

    def likeness(signs: Signs) -> float:
        """The shares of links on both and of directories to both, less that of rare sentences."""
        both = len(key.links & signs.links)
        links = both / (len(key.links) + len(signs.links) - both)
        letters = sum([sizes[sentence] for sentence in rare if sentence in signs.sentences])
        return links + share((*signs.segments[:-1], "")) - (letters / whole if letters else 0)

    ranked = sorted([(-likeness(signs), page.place, n) for n, (page, signs) in enumerate(others)])
    return [others[n][0] for *_, n in ranked]


def draw(pages: Iterable[PooledPage | None], known: Iterable[PooledPage] = ()) -> Pool:
    """The pool of what is *known* and the first pages of a site, which come by their keys.

    None stands for what is stored and no page.
    """
    pool = Pool(known)
    for page in filter(None, islice(pages, READ)):
        if not pool.takes(page.place):
            break
        pool.add(page)
    return pool


def companions(key: ComparedPage, pool: Iterable[PooledPage]) -> list[PooledPage]:
    """The pages of a pool, the nearest to a page first; for a few pages."""
    known = {page: read_signs(page) for page in pool}
    return nearest(read_signs(key), known) if known else []
