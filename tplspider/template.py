"""The template of a key page, extracted by comparing it with pages that share it."""

from __future__ import annotations

import gc
import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.addresses import identity
from tplspider.flat_page import FlatPage, Vocabulary, flatten
from tplspider.items import PageTemplate
from tplspider.template_vote import vote
from tplspider.text_lines import text_lines
from tplspider.tree import find_all, parse_html
from tplspider.tree_mapping import TreeMapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.tree import Element

logger = logging.getLogger(__name__)

_TAKEN_OUT = "TAKEN-OUT"  # no element of a page has such a name: the parser makes it lower case
_LONGEST_PATH = 1000  # characters
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class PageSource:
    """A page in memory: its address, where redirects ended, and its HTML."""

    url: str
    html: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key page and, of each element of its body, whether it is template."""

    key: FlatPage
    template: list[bool]

    @property
    def outermost(self) -> list[int]:
        """The elements that are not template and inside one that is, in document order."""
        return [
            element
            for element, parent in enumerate(self.key.parents)
            if parent >= 0 and not self.template[element] and self.template[parent]
        ]


def extract_template(key: PageSource, pages: Iterable[PageSource]) -> PageTemplate | None:
    """The template of the key page and what is left of it, given pages that share the template.

    None if no page tells anything about the key page: without another page there is no evidence.
    """
    pages = list(pages)
    comparison = compare(key, pages)
    if comparison is None:
        logger.warning("No template for %s: no other page has anything in common with it", key.url)
        return None
    flat = comparison.key
    outermost = comparison.outermost
    content = [flat.elements[element] for element in outermost]
    return PageTemplate(
        key_url=key.url,
        members=[page.url for page in pages],
        not_template=_paths(flat, outermost),
        content_html="\n".join(map(_html, content)),
        content_text="\n".join(line for element in content for line in text_lines(element)),
        template_html=_template_html(flat, content),  # the last thing: it changes the tree
        template_share=round(sum(comparison.template) / len(comparison.template), 4),
    )


def compare(key: PageSource, pages: Iterable[PageSource]) -> Comparison | None:
    """Which elements of the key page are template; None if there is no evidence.

    A page that is the key page once more proves nothing, and neither does one that has nothing in
    common with it but its ``body``: an empty page, or something that is no HTML.
    """
    with _without_collector():
        return _compare(key, pages)


def _compare(key: PageSource, pages: Iterable[PageSource]) -> Comparison | None:
    vocabulary = Vocabulary()
    flat = flatten(parse_html(key.html), key.url, vocabulary)
    mappings = []
    for page in pages:
        other = flatten(parse_html(page.html), page.url, vocabulary)
        mapping = TreeMapping(flat, other).mapped
        is_copy = len(other.tags) == len(flat.tags) and min(mapping) == 0
        if is_copy or identity(page.url) == identity(key.url):
            logger.info("%s is the key page once more: left out of the comparison", page.url)
            continue
        if not any(counterpart > 0 for counterpart in mapping):
            logger.info("%s has nothing in common with the key page: left out", page.url)
            continue
        mappings.append(mapping)
    if not mappings:
        return None
    return Comparison(flat, vote(flat, mappings))


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


def _template_html(page: FlatPage, content: list[Element]) -> str:
    """The key page without these elements, which are taken out of its tree.

    The text after an element is its parent's and stays.
    """
    for element in content:
        element.tag = _TAKEN_OUT
    etree.strip_elements(page.elements[0], _TAKEN_OUT, with_tail=False)
    tree = page.elements[0].getroottree()
    html = str(etree.tostring(tree, encoding="unicode", method="html"))
    # A page that closes </html> too early has several top-level elements.
    return "\n".join([html, *map(_html, tree.getroot().itersiblings("*"))])


def _html(element: Element) -> str:
    return str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))
