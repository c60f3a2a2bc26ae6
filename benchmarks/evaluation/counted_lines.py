"""What people do with a finished crawl: count lines over all of it, and drop what is on many pages.

On sites without labels it cannot be judged: there such a count is what texts are judged by.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from benchmarks.evaluation.crawl_order import breadth_first
from tplspider.template.lines import text_lines
from tplspider.web.html import main_body, parse_html

if TYPE_CHECKING:
    from benchmarks.evaluation.key_page import KeyPage
    from tplspider.sources.folder import FolderSite

COUNTED_LINES = "counted-lines"
# The share of the pages that makes a line boilerplate: of 2, 5, 10, 20, 30 and 50 % the one that
# does best on our development sites.
MANY = 0.2
_FEW = 2  # pages: on a small site, two of them are many soon


def text_of_few_pages(key: KeyPage) -> str:
    """The lines of a key page that are on few pages of its site."""
    counts, pages = _counts(key.site)
    most = max(_FEW, MANY * pages)
    return "\n".join(line for line in _lines(key.page.text) if counts[line] <= most)


@lru_cache(maxsize=1)  # of the site whose key page is being measured
def _counts(site: FolderSite) -> tuple[Counter[str], int]:
    pages = [_lines(page.pooled.html) for page in breadth_first(site)]
    return Counter(line for lines in pages for line in {*lines}), len(pages)


def _lines(html: str) -> list[str]:
    return text_lines(main_body(parse_html(html)))
