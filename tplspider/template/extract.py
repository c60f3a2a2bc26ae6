"""The template of a key page, extracted by comparing it with pages that share it."""

from __future__ import annotations

import gc
import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from tplspider.items import PageTemplate
from tplspider.template.flat_page import FlatPage, Name, Vocabulary, flatten, number
from tplspider.template.labels import PlacedTexts, find_labels, marked_elements, placed_texts
from tplspider.template.line_scores import first_stage
from tplspider.template.lines import (
    FoundLines,
    Line,
    line_names,
    line_parts,
    lines_of_elements,
    lines_of_parts,
    page_lines,
    text_lines,
)
from tplspider.template.main_part import (
    find_main_part,
    own_parts,
    part_html,
    parts_html,
    without_parts,
)
from tplspider.template.mapping import SubtreeBags, TreeMapping
from tplspider.template.vote import REPEATED, has_lines, vote, without_teasers
from tplspider.web.html import (
    Element,
    find_all,
    fold,
    parse_html,
    read_nodes,
    string_xpath,
    top_level,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tplspider.template.line_scores import Slots

_LONGEST = 1000  # characters
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def element_paths(page: FlatPage, wanted: list[int]) -> list[str]:
    """The XPaths of some elements (lxml's ``getpath`` counts siblings again for each)."""
    top = page.elements[0]
    paths = {0: top.getroottree().getpath(top)}
    steps: dict[int, str] = {}

    def path(element: int) -> str:
        above = []
        while element not in paths:
            above.append(element)
            element = page.parents[element]
        found = paths[element]
        for inner in reversed(above):
            if inner not in steps:
                _name_steps(page, page.parents[inner], steps)
            if found:
                found = f"{found}/{steps[inner]}" if len(found) < _LONGEST else ""
            paths[inner] = found
        return found

    found = [path(element) for element in wanted]
    if "" not in found:
        return found
    # Thousands of elements deep, paths would fill the memory: a place in the document does it, too.
    places = {element: place for place, element in enumerate(find_all(top, "*"), 1)}
    return [
        short or f"(//*)[{places[page.elements[element]]}]"
        for short, element in zip(found, wanted, strict=True)
    ]


def _name_steps(page: FlatPage, parent: int, steps: dict[int, str]) -> None:
    """The last step of the XPath of each child of an element."""
    children = page.children[parent]
    tags = [page.tags[child] for child in children]
    counts: dict[str, int] = {}
    places = None
    for child, tag in zip(children, tags, strict=True):
        counts[tag] = counts.get(tag, 0) + 1
        if _PLAIN_NAME.fullmatch(tag):
            steps[child] = f"{tag}[{counts[tag]}]"
            continue
        if places is None:  # a name like o:p is none in XPath: count all siblings
            siblings = page.elements[parent].iterchildren("*")
            places = {sibling: place for place, sibling in enumerate(siblings, 1)}
        steps[child] = f"*[{places[page.elements[child]]}]"


# The title of a page, without the name of the site, which all pages have in theirs.

_TEXT = string_xpath("string(.)")
# What stands between the parts of a title: a sign with spaces round it, or a colon or bar.
_BETWEEN = re.compile(
    "\\s+[-\u2010-\u2015\u2022\xb7\u2219|/\\\\\xbb\xab\u2039\u203a~\u2190\u2192:*+]+\\s+"
    "|\\s*[|\xbb\xab\u2039\u203a]+\\s*|\\s*::\\s*|:\\s+"
)


def title_of(page: FlatPage) -> str:
    """The title of a page as it is written."""
    body = page.elements[0]
    # In the head first: to come by a title, lxml looks through all of the page for the next.
    heads = body.getroottree().getroot().iterchildren("head")
    in_head = (title for head in heads for title in head.iter("title"))
    titles = chain(in_head, find_all(body, "title"))
    return next((text for title in titles if (text := fold(_TEXT(title)))), "")


def page_title(page: FlatPage, others: Sequence[str]) -> str:
    """The title of a page without what all the *others* have as well; its heading without one."""
    title = title_of(page)
    others = [other for other in others if other]
    own = _without_shared(title, others) if others else title
    return own or _heading(page) or title


def _without_shared(title: str, others: Sequence[str]) -> str:
    """What is left of a title without the parts that all others have, at its ends.

    >>> _without_shared("Cranes - Birds | The site", ["Herons - Birds | The site"])
    'Cranes'
    >>> _without_shared("The site: Cranes", ["The site: Herons", "The site"])
    'Cranes'
    >>> _without_shared("The site", ["The site", "The site"])
    ''
    """
    parts = [(found.start(), found.end()) for found in _BETWEEN.finditer(title)]
    starts = [0, *(end for _, end in parts)]
    ends = [*(start for start, _ in parts), len(title)]
    words = [title[start:end] for start, end in zip(starts, ends, strict=True)]
    shared = [all(word in _BETWEEN.split(other) for other in others) for word in words]
    kept = [place for place, yes in enumerate(shared) if not yes]
    if not kept:
        return ""
    return title[starts[kept[0]] : ends[kept[-1]]].strip()


def _heading(page: FlatPage) -> str:
    """The first heading of the highest level that the page has."""
    for level in ("h1", "h2", "h3"):
        for element, tag in zip(page.elements, page.tags, strict=True):
            if tag == level and (lines := text_lines(element)):
                return " ".join(lines)
    return ""


# A key page compared with others, each made ready: which of its elements are template.

logger = logging.getLogger(__name__)

SPARE = 3  # where few pages are enough, so many that tell nothing are replaced by the next


class ComparedPage(Protocol):
    """A page: its address, its HTML, which may be unpacked when it is asked for, and its digest."""

    @property
    def url(self) -> str: ...

    @property
    def html(self) -> str: ...

    @property
    def digest(self) -> bytes: ...


# Chooses the pages to compare with, given the key page and its lines: those that tell most first.
Chooser = Callable[["FlatPage", "Sequence[Line]"], "Iterable[ComparedPage]"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key page and, of each element of its body, whether it is template.

    *loose* are elements that are template and have text directly inside that is not; *data* are
    parts that the page has because of what it is about, such as links to neighbouring pages.
    *labels* are texts within the page's own that are template, by their nodes (`find_labels`), if
    asked for.
    """

    key: FlatPage
    template: list[bool]
    loose: list[int]
    data: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # of the key page
    pages: list[str] = field(default_factory=list)  # addresses of those with evidence
    titles: list[str] = field(default_factory=list)  # of the same
    others: list[tuple[Slots, FoundLines]] = field(default_factory=list)  # scores and lines there

    @property
    def outermost(self) -> list[int]:
        """The elements that are not template and inside one that is, in document order."""
        return [
            element
            for element, parent in enumerate(self.key.parents)
            if parent >= 0 and not self.template[element] and self.template[parent]
        ]


def compare_pages(
    key: ComparedPage,
    flat: FlatPage,
    choose: Chooser,
    *,
    ready: Callable[[ComparedPage], Companion],
    check_time: Callable[[], None],
    most: int | None,
    labelled: bool,
) -> Comparison | None:
    """Which elements of the key page, *flat*, are template; None if there is no evidence.

    The others are made *ready* in its vocabulary, and *check_time* raises TimeoutError. Labels are
    found if the page is to be *labelled*: they take time, and one text alone goes by them.
    """
    runs = line_parts(flat)
    lines = page_lines(flat, runs)
    inside = SubtreeBags(flat)
    mappings: list[list[int]] = []
    others: list[Companion] = []
    urls: list[str] = []
    spare = SPARE
    digest = key.digest
    waiting = iter(choose(flat, lines))  # maybe loaded one by one: none is asked for without need
    while len(others) != most and (most is None or spare):
        page = next(waiting, None)
        if page is None:
            break
        check_time()
        if page.digest == digest:
            logger.info("%s is a copy of the key page: not compared", page.url)
            continue
        other = ready(page)
        mapping = TreeMapping(flat, other.page, check_time, inside, other.inside).mapped
        is_copy = (
            len(other.page.tags) == len(flat.tags)
            and min(mapping) == 0
            and other.page.loose == flat.loose
        )
        if is_copy or page.url.partition("#")[0] == key.url.partition("#")[0]:
            logger.info("%s is a copy of the key page: not compared", page.url)
            spare -= 1
            continue
        if not any(counterpart > 0 for counterpart in mapping) and not has_lines(
            lines, other.lines
        ):
            logger.info("%s has nothing in common with the key page: not compared", page.url)
            spare -= 1
            continue
        mappings.append(mapping)
        others.append(other)
        urls.append(page.url)
    if not mappings:
        return None
    check_time()
    flats = [other.page for other in others]
    found_lines = [
        without_teasers(other.lines, other.page, mapping, flat.url, lines)
        for other, mapping in zip(others, mappings, strict=True)
    ]
    votes = vote(flat, lines, flats, mappings, found_lines)

    def is_own(element: int) -> bool:
        """Whether most of the pages that have the element have another text in it."""
        texts = [
            other.loose.get(mapping[element], other.texts[mapping[element]])
            for mapping, other in zip(mappings, flats, strict=True)
            if mapping[element] >= 0
        ]
        return 2 * texts.count(flat.loose[element]) <= len(texts)

    template = votes.template
    loose = {element for element in flat.loose if template[element] and is_own(element)}
    loose.update(element for element in votes.around if template[element])
    labels: list[int] = []
    if labelled:
        placed = [other.placed for other in others if other.placed]
        never = [REPEATED in each or each[0] for each in zip(template, *mappings, strict=True)]
        labels = find_labels(flat, runs, never, sorted(loose), placed)
    titles = [other.title for other in others]
    scored = [(other.slots, found) for other, found in zip(others, found_lines, strict=True)]
    return Comparison(
        flat, template, sorted(loose), votes.data, labels, lines, urls, titles, scored
    )


# What comes of comparing a key page: its texts and its HTML, without the template.

# The fields that take time; the others of an outcome are always there.
FIELDS = frozenset(
    "content_html content_text main_html main_text not_template template_html title".split()
)


def with_evidence(url: str, comparison: Comparison, wanted: frozenset[str]) -> PageTemplate:
    """What the comparison makes of the page; its tree is changed if HTML is wanted."""
    flat = comparison.key
    loose = comparison.loose
    outermost = comparison.outermost
    found = _outcome(url, comparison.pages)
    found.template_share = round(sum(comparison.template) / len(comparison.template), 4)
    if "title" in wanted:
        found.title = page_title(flat, comparison.titles)
    if "not_template" in wanted:
        found.not_template = element_paths(flat, outermost)
    if "content_text" in wanted:
        unlabelled = without_labels(flat, comparison.labels)
        marked = marked_elements(flat)
        found.content_text = "\n".join(lines_of_elements(unlabelled, outermost, loose, marked))
    if "content_html" in wanted:
        found.content_html = parts_html(own_parts(flat, outermost, loose))
    _add_main_part(found, comparison, wanted)
    if "template_html" in wanted:
        found.template_html = without_parts(flat, outermost, loose)
    return found


def _add_main_part(found: PageTemplate, comparison: Comparison, wanted: frozenset[str]) -> None:
    """The main part of a page, of which the HTML comes last: it changes the tree."""
    if wanted.isdisjoint({"main_text", "main_html"}):
        return
    main = find_main_part(comparison)
    if "main_text" in wanted:
        found.main_text = "\n".join(main.lines())
    if "main_html" in wanted:
        found.main_html = main.take_html()


def without_labels(page: FlatPage, labels: list[int]) -> FlatPage:
    """The page with these texts left out."""
    texts, tails = page.written.written_texts[:], page.written.written_tails[:]
    for node in labels:
        (texts if node >= 0 else tails)[max(node, ~node)] = ""
    written = replace(page.written, written_texts=texts, written_tails=tails)
    return replace(page, written=written)


def without_evidence(url: str, flat: FlatPage, wanted: frozenset[str]) -> PageTemplate:
    """The result for a page without any other page."""
    root = flat.elements[0]
    found = _outcome(url, [])
    tops = top_level(root)
    if "title" in wanted:
        found.title = page_title(flat, [])
    # After a misplaced </html> there are several: all that is shown, not the largest body alone.
    if "content_text" in wanted:
        marked = {flat.elements[element] for element in marked_elements(flat)}
        lines = [line for top in tops for line in _lines_without(top, marked)]
        found.content_text = "\n".join(lines)
    if "content_html" in wanted:
        bodies = [child for top in tops for child in top.iterchildren("body", "frameset")]
        found.content_html = "\n".join(map(part_html, bodies or tops))
    _add_main_part(found, not_compared(flat), wanted)
    return found


def not_compared(flat: FlatPage) -> Comparison:
    """A page without evidence: nothing but the body itself is template."""
    template = [place == 0 for place in range(len(flat.tags))]
    return Comparison(flat, template, [0], lines=page_lines(flat))


def _lines_without(top: Element, marked: set[Element]) -> list[str]:
    """The lines of a page without its heads and what is *marked*."""
    elements = list(top.iter())
    left_out = [n for n, each in enumerate(elements) if each.tag == "head" or each in marked]
    return lines_of_parts(read_nodes(elements), [0], without=left_out)


def _outcome(url: str, members: list[str]) -> PageTemplate:
    """An outcome that has nothing yet of what takes time."""
    return PageTemplate(
        key_url=url,
        candidates=members,
        not_template=[],
        content_html="",
        content_text="",
        template_html="",
        template_share=0.0,
        evidence=len(members),
    )


# Pages of a site made ready once, to compare many pages of the site with them.
#
# A page of a site is compared with three or four others. Where every page of it is, the same ones
# come up again and again: reading them takes longer than comparing.


@dataclass(frozen=True, slots=True)
class Companion:
    """A page made ready for being compared with."""

    page: FlatPage  # without its tree
    inside: SubtreeBags  # of the page
    lines: FoundLines
    slots: Slots
    placed: PlacedTexts | None  # where labels are wanted
    title: str


class Companions:
    """Pages of one site made ready once; at most *most* are kept, those last used."""

    def __init__(self, most: int = 25) -> None:
        self.most = most
        self._kept: OrderedDict[tuple[str, bytes, bool], Companion] = OrderedDict()
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
            labelled = "content_text" in fields
            found = self._compare(key, flat, pages, seconds, most, labelled=labelled)
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
            return self._compare(key, flat, pages, seconds, most, labelled=False)

    def _compare(
        self,
        key: ComparedPage,
        flat: FlatPage,
        pages: Iterable[ComparedPage] | Chooser,
        seconds: float | None,
        most: int | None,
        *,
        labelled: bool,
    ) -> Comparison | None:
        limit = _time_limit(seconds)
        choose = pages if callable(pages) else lambda *_: pages
        ready = partial(self._ready, labelled=labelled)
        return compare_pages(
            key, flat, choose, ready=ready, check_time=limit, most=most, labelled=labelled
        )

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

    def _ready(self, page: ComparedPage, *, labelled: bool) -> Companion:
        """A page made ready, now or before."""
        name = page.url, page.digest, labelled  # not the page: it would stay in memory
        found = self._kept.get(name)
        if found is None:
            flat = flatten(parse_html(page.html), page.url, self._vocabulary)
            bare = flat.without_tree()
            # Pages of a site have the same few names, a fifth of all that is kept of them.
            bare.names = [self._names.setdefault(name, name) for name in flat.names]
            found = Companion(
                bare,
                SubtreeBags(bare),
                line_names(flat),
                first_stage(flat, page_lines(flat)).by_slot(),
                placed_texts(flat) if labelled else None,
                title_of(flat),
            )
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


@dataclass(frozen=True, slots=True)
class PageSource:
    """A page in memory: its address, where redirects ended, and its HTML."""

    url: str
    html: str

    @property
    def digest(self) -> bytes:
        """What it has in common with copies of it."""
        return blake2b(self.html.encode("utf-8", "replace"), digest_size=16).digest()


def extract_template(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> PageTemplate:
    """The template of the key page and what is left of it, given pages that share the template.

    The pages are taken in the given order, up to *most* that are informative about the key
    page. If none is, there is no evidence: all of the page is content.
    Raises TimeoutError when comparing the pages takes longer than *seconds*.
    """
    return Companions(most=0).extract(key, pages, seconds=seconds, most=most)


def compare(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> Comparison | None:
    """Which elements of the key page are template; None if there is no evidence.

    A page that is the key page once more proves nothing, and neither does one that has nothing in
    common with it but its ``body``: an empty page, or something that is not HTML. After *most*
    pages that tell something, or a few that do not, the others are not looked at.
    """
    return Companions(most=0).compare(key, pages, seconds=seconds, most=most)


def explain_template(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> PageTemplate:
    """As `extract_template`, but ``main_text`` says of each line why it is kept or left out.

    Lines that are template are not in it.
    """
    compared = compare(key, pages, seconds=seconds, most=most)
    if compared is None:
        compared = not_compared(flatten(parse_html(key.html), key.url, Vocabulary()))
    found = _outcome(key.url, compared.pages)
    found.main_text = "\n".join(map(str, find_main_part(compared, explain=True).judged))
    return found
