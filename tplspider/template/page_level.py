"""The main text of a page by itself, for want of other pages: by a library, where it is installed.

resiliparse is the best of those measured (docs/evaluation.md); it comes with the extra ``main``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage

# Its time grows with the depth of each element: a page of nothing but open tags would take hours.
DEEPEST = 200


def main_text_of_page(page: FlatPage) -> str:
    """The main text as resiliparse sees it; '' where it is not installed, or finds nothing.

    It is given the tree as we read it: from tags that are not closed it would make elements by the
    million.
    """
    depths = [0] * len(page.parents)
    for element, parent in enumerate(page.parents[1:], 1):
        depths[element] = depths[parent] + 1
    if max(depths) > DEEPEST:
        return ""
    try:
        module: Any = import_module("resiliparse.extract.html2text")
    except ImportError:
        return ""
    root = page.elements[0].getroottree().getroot()
    html = etree.tostring(root, encoding="unicode", method="html")
    text = module.extract_plain_text(html, main_content=True, links=False, list_bullets=False)
    lines = (line.rstrip() for line in str(text).split("\n"))
    return "\n".join(line for line in lines if line)
