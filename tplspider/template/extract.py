"""The template of a key page, extracted by comparing it with pages that share it."""

from __future__ import annotations

import gc
import logging
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.items import PageTemplate
from tplspider.template.content import own_parts, part_html, parts_html, without_parts
from tplspider.template.element_paths import element_paths
from tplspider.template.line_evidence import has_lines
from tplspider.template.main_part import find_main_part
from tplspider.template.page_level import main_text_of_page
from tplspider.template.page_lines import line_names, page_lines
from tplspider.template.page_title import page_title, title_of
from tplspider.template.subtree_bags import SubtreeBags
from tplspider.template.text_lines import lines_of_parts
from tplspider.template.tree_mapping import TreeMapping
from tplspider.template.vote import vote
from tplspider.web.flat_page import FlatPage, Vocabulary, flatten
from tplspider.web.html import find_all, parse_html, top_level

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.template.page_lines import Line


logger = logging.getLogger(__name__)

SPARE = 3  # where few pages are enough, so many that tell nothing are replaced by the next


@dataclass(frozen=True, slots=True)
class PageSource:
    """A page in memory: its address, where redirects ended, and its HTML."""

    url: str
    html: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key page and, of each element of its body, whether it is template.

    *loose* are elements that are template and have text directly inside that is not; *data* are
    parts that the page has because of what it is about, such as links to neighbouring pages.
    """

    key: FlatPage
    template: list[bool]
    loose: list[int]
    data: list[int] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # of the key page
    pages: list[str] = field(default_factory=list)  # addresses of those that told something
    titles: list[str] = field(default_factory=list)  # of the same

    @property
    def outermost(self) -> list[int]:
        """The elements that are not template and inside one that is, in document order."""
        return [
            element
            for element, parent in enumerate(self.key.parents)
            if parent >= 0 and not self.template[element] and self.template[parent]
        ]


def extract_template(
    key: PageSource,
    pages: Iterable[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
) -> PageTemplate:
    """The template of the key page and what is left of it, given pages that share the template.

    The pages are taken in the order they are given, up to *most* that tell something about the key
    page. Where none does there is no evidence: all of the page is content.
    Raises TimeoutError when comparing the pages takes longer than *seconds*.
    """
    with _without_collector():
        comparison = _compare(key, pages, _time_limit(seconds), most)
        if comparison is not None:
            return _with_evidence(key, comparison)
    logger.info("No page gives evidence of the template of %s", key.url)
    return _without_evidence(key)


def _with_evidence(key: PageSource, comparison: Comparison) -> PageTemplate:
    """What the comparison makes of the page."""
    flat = comparison.key
    outermost, loose = comparison.outermost, comparison.loose
    content = own_parts(flat, outermost, loose)
    body = flat.elements[0]
    own = {flat.elements[number] for number in outermost}
    own_words = {flat.elements[number] for number in loose}
    main = find_main_part(flat, comparison.lines, comparison.template, loose, comparison.data)
    found = PageTemplate(
        key_url=key.url,
        members=comparison.pages,
        not_template=element_paths(flat, outermost),
        content_html=parts_html(content),
        content_text="\n".join(lines_of_parts(body, own, own_words, ())),
        template_html="",
        template_share=round(sum(comparison.template) / len(comparison.template), 4),
        evidence=len(comparison.pages),
        title=page_title(flat, comparison.titles),
    )
    is_all = not main.without and (main.elements, main.loose) == (outermost, loose)
    found.main_text = found.content_text if is_all else "\n".join(main.lines())
    # The last things: they change the tree.
    found.main_html = found.content_html if is_all else main.take_html()
    found.template_html = without_parts(flat, outermost, loose)
    return found


def _without_evidence(key: PageSource) -> PageTemplate:
    """What can be said of a page by itself."""
    root = parse_html(key.html)
    flat = flatten(root, key.url, Vocabulary())
    # After a misplaced </html> there are several: all that is shown, not the largest body alone.
    heads = {*find_all(root, "head")}
    tops = top_level(root)
    content_text = "\n".join(line for top in tops for line in lines_of_parts(top, {top}, (), heads))
    bodies = [child for top in tops for child in top.iterchildren("body", "frameset")]
    content_html = "\n".join(map(part_html, bodies or tops))
    return PageTemplate(
        key_url=key.url,
        members=[],
        not_template=[],
        content_html=content_html,
        content_text=content_text,
        template_html="",
        template_share=0.0,
        evidence=0,
        main_text=main_text_of_page(flat) or content_text,
        main_html=content_html,
        title=page_title(flat, []),
    )


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
    with _without_collector():
        return _compare(key, pages, _time_limit(seconds), most)


def _time_limit(seconds: float | None) -> Callable[[], None]:
    """What raises TimeoutError once the time is up, for places that come by often."""
    end = inf if seconds is None else monotonic() + seconds

    def check() -> None:
        if monotonic() > end:
            raise TimeoutError(f"comparing the pages takes more than {seconds:g} s")

    return check


def _compare(
    key: PageSource,
    pages: Iterable[PageSource],
    check_time: Callable[[], None],
    most: int | None,
) -> Comparison | None:
    vocabulary = Vocabulary()
    flat = flatten(parse_html(key.html), key.url, vocabulary)
    lines = page_lines(flat)
    wanted = {line.text for line in lines}
    inside = SubtreeBags(flat)
    mappings: list[list[int]] = []
    found_lines: list[Counter[tuple[str, str]]] = []
    others: list[FlatPage] = []
    urls: list[str] = []
    spare = SPARE
    for page in pages:
        if len(others) == most or (most is not None and not spare):
            break
        check_time()
        if page.html == key.html:
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            continue
        other = flatten(parse_html(page.html), page.url, vocabulary)
        mapping = TreeMapping(flat, other, check_time, inside).mapped
        is_copy = (
            len(other.tags) == len(flat.tags) and min(mapping) == 0 and other.loose == flat.loose
        )
        if is_copy or page.url.partition("#")[0] == key.url.partition("#")[0]:
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            spare -= 1
            continue
        names = line_names(other, wanted)
        if not any(counterpart > 0 for counterpart in mapping) and not has_lines(lines, names):
            logger.info("%s has nothing in common with the key page: left out", page.url)
            spare -= 1
            continue
        mappings.append(mapping)
        found_lines.append(names)
        others.append(other)
        urls.append(page.url)
    if not mappings:
        return None
    check_time()
    votes = vote(flat, lines, others, mappings, found_lines)

    def is_own(element: int) -> bool:
        """Whether most of the pages that have the element have another text in it."""
        texts = [
            other.loose.get(mapping[element], other.texts[mapping[element]])
            for mapping, other in zip(mappings, others, strict=True)
            if mapping[element] >= 0
        ]
        return 2 * texts.count(flat.loose[element]) <= len(texts)

    template = votes.template
    loose = {element for element in flat.loose if template[element] and is_own(element)}
    loose.update(element for element in votes.around if template[element])
    titles = [title_of(other) for other in others]
    return Comparison(flat, template, sorted(loose), votes.data, lines, urls, titles)


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
