"""Parts that a page hides from its readers: copies for small screens, dialogs, traps for robots.

Much that is hidden is there to be shown: the panels of tabs, answers below questions. What is
opened from somewhere on the page, by its id, is not taken for hidden; nor is most of a page's text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lxml import etree

from tplspider.web.html import strings_xpath

if TYPE_CHECKING:
    from tplspider.template.page_lines import Line
    from tplspider.web.flat_page import FlatPage
    from tplspider.web.html import Element

# By their attributes: asking each of many elements for them takes ten times as long.
_CANDIDATES = etree.XPath("descendant::*/@hidden/.. | descendant::*/@style/.. | descendant::dialog")
_UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_OPENERS = strings_xpath(
    "//@aria-controls | //@data-target | //@data-bs-target | //@onclick"
    " | //a/@href[starts-with(., '#') or starts-with(., 'javascript:')]"
)
_ID = re.compile(r"[\w-]+")


def hidden_elements(page: FlatPage, lines: list[Line]) -> set[int]:
    """The elements that the page hides and has nothing to open them by, and all that is in them.

    *lines* are those of the page's own: where most of them are hidden, a script shows them.
    """
    body = page.elements[0]
    candidates: Any = _CANDIDATES(body)
    tops = {element for element in candidates if _is_hidden(element)}
    if not tops:
        return set()
    if any(element.get("id") for element in tops):
        opened = {name for value in _OPENERS(body) for name in _ID.findall(value)}
        tops = {element for element in tops if element.get("id") not in opened}
    hidden: set[int] = set()
    for number, element in enumerate(page.elements):
        if element in tops:
            hidden.update(range(number, page.ends[number]))
    unseen = sum(line.letters for line in lines if hidden.issuperset(line.elements))
    return hidden if 2 * unseen < sum(line.letters for line in lines) else set()


def _is_hidden(element: Element) -> bool:
    if element.get("role") == "tabpanel":
        return False
    if element.tag == "dialog":
        return element.get("open") is None
    # What is hidden until it is found is there to be found.
    if element.get("hidden", "until-found").strip().lower() != "until-found":
        return True
    return _UNSEEN.search(element.get("style") or "") is not None
