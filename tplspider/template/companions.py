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

from tplspider.template.comparison import Chooser, ComparedPage, Comparison, compare_pages
from tplspider.template.flat_page import FlatPage, Name, Vocabulary, flatten, number
from tplspider.template.outcome import FIELDS, with_evidence, without_evidence
from tplspider.template.page_lines import FoundLines, line_names
from tplspider.template.page_title import title_of
from tplspider.template.subtree_bags import SubtreeBags
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.items import PageTemplate

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
        self.most = most
        self._kept: OrderedDict[tuple[str, bytes], Companion] = OrderedDict()
        self._vocabulary = Vocabulary()
        self._names: dict[Name, Name] = {}  # of the elements
        self._made = 0  # in this vocabulary

    def extract(
        self,
        key: ComparedPage,
        pages: Iterable[ComparedPage] | Chooser,
        *,
        wanted: frozenset[str] | None = None,
        seconds: float | None = None,
        most: int | None = None,
    ) -> PageTemplate:
        """What :func:`~tplspider.template.extract.extract_template` gives for the key page.

        The pages to compare with may be chosen when the key page is read. Of the fields that take
        time only those *wanted* are filled, all by default.
        """
        fields = FIELDS if wanted is None else wanted
        with _without_collector(), self._key_page(key) as flat:
            found = self._compare(key, flat, pages, seconds, most)
            if found is not None:
                return with_evidence(key.url, found, fields)
            logger.info("No page gives evidence of the template of %s", key.url)
            return without_evidence(key.url, flat, fields)

    def compare(
        self,
        key: ComparedPage,
        pages: Iterable[ComparedPage] | Chooser,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Comparison | None:
        """What :func:`~tplspider.template.extract.compare` gives for the key page."""
        with _without_collector(), self._key_page(key) as flat:
            return self._compare(key, flat, pages, seconds, most)

    def _compare(
        self,
        key: ComparedPage,
        flat: FlatPage,
        pages: Iterable[ComparedPage] | Chooser,
        seconds: float | None,
        most: int | None,
    ) -> Comparison | None:
        limit = _time_limit(seconds)
        choose = pages if callable(pages) else lambda *_: pages
        return compare_pages(key, flat, choose, ready=self._ready, check_time=limit, most=most)

    @contextmanager
    def _key_page(self, key: ComparedPage) -> Iterator[FlatPage]:
        """The key page in the vocabulary of its companions, which forgets it afterwards."""
        size, made = self._vocabulary.size, self._made
        try:
            yield flatten(parse_html(key.html), key.url, self._vocabulary)
        finally:
            if self._made == made:
                self._vocabulary.shrink(size)
            elif self._made > 2 * self.most:
                # Companions that are new have numbers after those of key pages, which stay. Before
                # these and those of companions that are gone outnumber the others, all are new.
                self._renumber()

    def _ready(self, page: ComparedPage) -> Companion:
        """A page made ready, now or before."""
        name = page.url, page.digest  # not the page: it would stay in memory
        found = self._kept.get(name)
        if found is None:
            flat = flatten(parse_html(page.html), page.url, self._vocabulary)
            bare = flat.without_tree()
            # Pages of a site have the same few names, a fifth of all that is kept of them.
            bare.names = [self._names.setdefault(name, name) for name in flat.names]
            found = Companion(bare, SubtreeBags(bare), line_names(flat), title_of(flat))
            self._made += 1
            self._kept[name] = found
        self._kept.move_to_end(name)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return found

    def _renumber(self) -> None:
        self._vocabulary = Vocabulary()
        self._names = {}
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
