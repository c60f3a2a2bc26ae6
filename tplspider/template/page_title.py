"""The title of a page, without the name of the site, which all pages have in theirs."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from tplspider.template.text_lines import text_lines
from tplspider.web.html import find_all, fold, string_xpath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.template.flat_page import FlatPage

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
