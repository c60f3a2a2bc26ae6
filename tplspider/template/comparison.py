"""A key page compared with others, each made ready: which of its elements are template."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tplspider.template.line_evidence import has_lines
from tplspider.template.page_lines import Line, page_lines
from tplspider.template.subtree_bags import SubtreeBags
from tplspider.template.tree_mapping import TreeMapping
from tplspider.template.vote import vote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tplspider.template.companions import Companion
    from tplspider.template.flat_page import FlatPage

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


def compare_pages(
    key: ComparedPage,
    flat: FlatPage,
    choose: Chooser,
    *,
    ready: Callable[[ComparedPage], Companion],
    check_time: Callable[[], None],
    most: int | None,
) -> Comparison | None:
    """Which elements of the key page, *flat*, are template; None if there is no evidence.

    The others are made *ready* in its vocabulary, and *check_time* raises TimeoutError.
    """
    lines = page_lines(flat)
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
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            continue
        other = ready(page)
        mapping = TreeMapping(flat, other.page, check_time, inside, other.inside).mapped
        is_copy = (
            len(other.page.tags) == len(flat.tags)
            and min(mapping) == 0
            and other.page.loose == flat.loose
        )
        if is_copy or page.url.partition("#")[0] == key.url.partition("#")[0]:
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            spare -= 1
            continue
        if not any(counterpart > 0 for counterpart in mapping) and not has_lines(
            lines, other.lines
        ):
            logger.info("%s has nothing in common with the key page: left out", page.url)
            spare -= 1
            continue
        mappings.append(mapping)
        others.append(other)
        urls.append(page.url)
    if not mappings:
        return None
    check_time()
    flats = [other.page for other in others]
    votes = vote(flat, lines, flats, mappings, [other.lines for other in others])

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
    titles = [other.title for other in others]
    return Comparison(flat, template, sorted(loose), votes.data, lines, urls, titles)
