"""Pages of a site made ready once, to compare many pages of the site with them.

A page of a site is compared with three or four others. Where every page of it is, the same ones
come up again and again: reading them takes longer than comparing.
"""

from __future__ import annotations

import gc
import logging
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.template.comparison import Comparison, compare_pages
from tplspider.template.outcome import FIELDS, with_evidence, without_evidence
from tplspider.template.page_lines import line_names
from tplspider.template.page_title import title_of
from tplspider.template.subtree_bags import SubtreeBags
from tplspider.web.flat_page import FlatPage, Vocabulary, flatten, number
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.items import PageTemplate
    from tplspider.template.extract import PageSource
    from tplspider.template.page_lines import FoundLines
    from tplspider.web.html import Element

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Companion:
    """A page made ready for being compared with."""

    page: FlatPage  # without its tree
    inside: SubtreeBags  # of the page
    lines: FoundLines
    title: str


class Companions:
    """Pages of one site made ready once; at most *most* are kept, those last used."""

    def __init__(self, most: int = 25) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, int, int], Companion] = OrderedDict()
        self._vocabulary = Vocabulary()
        self._made = 0  # in this vocabulary

    def extract(
        self,
        key: PageSource,
        pages: Iterable[PageSource],
        *,
        wanted: frozenset[str] | None = None,
        seconds: float | None = None,
        most: int | None = None,
        root: Element | None = None,
    ) -> PageTemplate:
        """What :func:`~tplspider.template.extract.extract_template` gives for the key page.

        Of the fields that take time only those *wanted* are filled, all by default. *root* is the
        tree of the key page if there is one already; it may be changed.
        """
        fields = FIELDS if wanted is None else wanted
        with _without_collector(), self._key_page(key, root) as flat:
            found = self._compare(key, flat, pages, seconds, most)
            if found is not None:
                return with_evidence(key.url, found, fields)
            logger.info("No page gives evidence of the template of %s", key.url)
            return without_evidence(key.url, flat, fields)

    def compare(
        self,
        key: PageSource,
        pages: Iterable[PageSource],
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Comparison | None:
        """What :func:`~tplspider.template.extract.compare` gives for the key page."""
        with _without_collector(), self._key_page(key, None) as flat:
            return self._compare(key, flat, pages, seconds, most)

    def _compare(
        self,
        key: PageSource,
        flat: FlatPage,
        pages: Iterable[PageSource],
        seconds: float | None,
        most: int | None,
    ) -> Comparison | None:
        limit = _time_limit(seconds)
        return compare_pages(key, flat, pages, ready=self._ready, check_time=limit, most=most)

    @contextmanager
    def _key_page(self, key: PageSource, root: Element | None) -> Iterator[FlatPage]:
        """The key page in the vocabulary of its companions, which forgets it afterwards."""
        size, made = self._vocabulary.size, self._made
        try:
            tree = parse_html(key.html) if root is None else root
            yield flatten(tree, key.url, self._vocabulary)
        finally:
            if self._made == made:
                self._vocabulary.shrink(size)
            elif self._made > 2 * self._most:
                # Companions that are new have numbers after those of key pages, which stay. Before
                # these and those of companions that are gone outnumber the others, all are new.
                self._renumber()

    def _ready(self, page: PageSource) -> Companion:
        """A page made ready, now or before."""
        name = page.url, len(page.html), hash(page.html)  # not the page: it would stay in memory
        found = self._kept.get(name)
        if found is None:
            flat = flatten(parse_html(page.html), page.url, self._vocabulary)
            bare = flat.without_tree()
            found = Companion(bare, SubtreeBags(bare), line_names(flat), title_of(flat))
            self._made += 1
            self._kept[name] = found
        self._kept.move_to_end(name)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found

    def _renumber(self) -> None:
        self._vocabulary = Vocabulary()
        for companion in self._kept.values():
            number(companion.page, self._vocabulary)
            companion.inside.clear()
        self._made = len(self._kept)


def _time_limit(seconds: float | None) -> Callable[[], None]:
    """What raises TimeoutError once the time is up, for places that come by often."""
    end = inf if seconds is None else monotonic() + seconds

    def check() -> None:
        if monotonic() > end:
            raise TimeoutError(f"comparing the pages takes more than {seconds:g} s")

    return check


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector: it would go through a million objects that are all in use."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
