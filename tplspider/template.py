"""The template of a key page, extracted by comparing it with pages that share it."""

from __future__ import annotations

import gc
import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.flat_page import FlatPage, Vocabulary, flatten
from tplspider.items import PageTemplate
from tplspider.own_parts import own_parts, part_html, part_lines, without_parts
from tplspider.template_vote import vote
from tplspider.tree import find_all, parse_html
from tplspider.tree_mapping import TreeMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


logger = logging.getLogger(__name__)

_LONGEST_PATH = 1000  # characters
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class PageSource:
    """A page in memory: its address, where redirects ended, and its HTML."""

    url: str
    html: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key page and, of each element of its body, whether it is template.

    *loose* are elements that are template and have text directly inside that is not.
    """

    key: FlatPage
    template: list[bool]
    loose: list[int]

    @property
    def outermost(self) -> list[int]:
        """The elements that are not template and inside one that is, in document order."""
        return [
            element
            for element, parent in enumerate(self.key.parents)
            if parent >= 0 and not self.template[element] and self.template[parent]
        ]


def extract_template(
    key: PageSource, pages: Iterable[PageSource], *, seconds: float | None = None
) -> PageTemplate | None:
    """The template of the key page and what is left of it, given pages that share the template.

    None if no page tells anything about the key page: without another page there is no evidence.
    Raises TimeoutError when comparing the pages takes longer than *seconds*.
    """
    pages = list(pages)
    comparison = compare(key, pages, seconds=seconds)
    if comparison is None:
        why = (
            "the others are copies of it, or have nothing in common with it" if pages else "no page"
        )
        logger.warning("No template for %s, compared with %d pages: %s", key.url, len(pages), why)
        return None
    flat = comparison.key
    outermost = comparison.outermost
    content = own_parts(flat, outermost, comparison.loose)
    return PageTemplate(
        key_url=key.url,
        members=[page.url for page in pages],
        not_template=_paths(flat, outermost),
        content_html="\n".join(map(part_html, content)),
        content_text="\n".join(line for part in content for line in part_lines(part)),
        # The last thing: it changes the tree.
        template_html=without_parts(flat, outermost, comparison.loose),
        template_share=round(sum(comparison.template) / len(comparison.template), 4),
    )


def compare(
    key: PageSource, pages: Iterable[PageSource], *, seconds: float | None = None
) -> Comparison | None:
    """Which elements of the key page are template; None if there is no evidence.

    A page that is the key page once more proves nothing, and neither does one that has nothing in
    common with it but its ``body``: an empty page, or something that is no HTML.
    """
    with _without_collector():
        return _compare(key, pages, _time_limit(seconds))


def _time_limit(seconds: float | None) -> Callable[[], None]:
    """What raises TimeoutError once the time is up, for places that come by often."""
    end = inf if seconds is None else monotonic() + seconds

    def check() -> None:
        if monotonic() > end:
            raise TimeoutError(f"comparing the pages takes more than {seconds:g} s")

    return check


def _compare(
    key: PageSource, pages: Iterable[PageSource], check_time: Callable[[], None]
) -> Comparison | None:
    vocabulary = Vocabulary()
    flat = flatten(parse_html(key.html), key.url, vocabulary)
    mappings = []
    others = []
    for page in pages:
        check_time()
        other = flatten(parse_html(page.html), page.url, vocabulary)
        mapping = TreeMapping(flat, other, check_time).mapped
        is_copy = (
            len(other.tags) == len(flat.tags) and min(mapping) == 0 and other.loose == flat.loose
        )
        if is_copy or page.url.partition("#")[0] == key.url.partition("#")[0]:
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            continue
        if not any(counterpart > 0 for counterpart in mapping):
            logger.info("%s has nothing in common with the key page: left out", page.url)
            continue
        mappings.append(mapping)
        others.append(other)
    if not mappings:
        return None
    check_time()
    template, around = vote(flat, others, mappings)

    def is_own(element: int) -> bool:
        """Whether most of the pages that have the element have another text in it."""
        texts = [
            other.loose.get(mapping[element], other.texts[mapping[element]])
            for mapping, other in zip(mappings, others, strict=True)
            if mapping[element] >= 0
        ]
        return 2 * texts.count(flat.loose[element]) <= len(texts)

    loose = [element for element in flat.loose if template[element] and is_own(element)]
    return Comparison(flat, template, sorted({*loose, *around}))


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


def _paths(page: FlatPage, wanted: list[int]) -> list[str]:
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
                found = f"{found}/{steps[inner]}" if len(found) < _LONGEST_PATH else ""
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
