"""What comes of comparing a key page: its texts and its HTML, without the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.items import PageTemplate
from tplspider.template.content import own_parts, part_html, parts_html, without_parts
from tplspider.template.element_paths import element_paths
from tplspider.template.main_part import find_main_part
from tplspider.template.page_level import main_text_of_page
from tplspider.template.page_title import page_title
from tplspider.template.text_lines import lines_of_elements, lines_of_parts
from tplspider.web.html import Element, read_nodes, top_level

if TYPE_CHECKING:
    from tplspider.template.comparison import Comparison
    from tplspider.template.flat_page import FlatPage

# The fields that take time; the others of an outcome are always there.
FIELDS = frozenset(
    "content_html content_text main_html main_text not_template template_html title".split()
)


_MAIN_TEXT = frozenset({"main_text"})


def with_evidence(url: str, comparison: Comparison, wanted: frozenset[str]) -> PageTemplate:
    """What the comparison makes of the page; its tree is changed if HTML is wanted."""
    flat = comparison.key
    loose = comparison.loose
    # Where the main text is all that is wanted, they are not asked for.
    outermost = [] if wanted == _MAIN_TEXT else comparison.outermost
    found = _outcome(url, comparison.pages)
    found.template_share = round(sum(comparison.template) / len(comparison.template), 4)
    if "title" in wanted:
        found.title = page_title(flat, comparison.titles)
    if "not_template" in wanted:
        found.not_template = element_paths(flat, outermost)
    if "content_text" in wanted:
        found.content_text = "\n".join(lines_of_elements(flat, outermost, loose))
    if "content_html" in wanted:
        found.content_html = parts_html(own_parts(flat, outermost, loose))
    if not wanted.isdisjoint({"main_text", "main_html"}):
        main = find_main_part(flat, comparison.lines, comparison.template, loose, comparison.data)
        is_all = not main.without and (main.elements, main.loose) == (outermost, loose)
        if "main_text" in wanted:
            found.main_text = (
                found.content_text
                if is_all and "content_text" in wanted
                else "\n".join(main.lines())
            )
        # The last things: they change the tree.
        if "main_html" in wanted:
            found.main_html = (
                found.content_html if is_all and "content_html" in wanted else main.take_html()
            )
    if "template_html" in wanted:
        found.template_html = without_parts(flat, outermost, loose)
    return found


def without_evidence(url: str, flat: FlatPage, wanted: frozenset[str]) -> PageTemplate:
    """What can be said of a page by itself."""
    root = flat.elements[0]
    found = _outcome(url, [])
    tops = top_level(root)
    if "title" in wanted:
        found.title = page_title(flat, [])
    if not wanted.isdisjoint({"main_text", "content_text"}):
        # After a misplaced </html> there are several: all that is shown, not the largest body
        # alone.
        text = "\n".join(line for top in tops for line in _lines_without_heads(top))
        found.content_text = text if "content_text" in wanted else ""
        found.main_text = main_text_of_page(flat) or text if "main_text" in wanted else ""
    if not wanted.isdisjoint({"main_html", "content_html"}):
        bodies = [child for top in tops for child in top.iterchildren("body", "frameset")]
        html = "\n".join(map(part_html, bodies or tops))
        found.content_html = html if "content_html" in wanted else ""
        found.main_html = html if "main_html" in wanted else ""
    return found


def _lines_without_heads(top: Element) -> list[str]:
    nodes = read_nodes(list(top.iter()))
    heads = [place for place, tag in enumerate(nodes.tags) if tag == "head"]
    return lines_of_parts(nodes, [0], without=heads)


def _outcome(url: str, members: list[str]) -> PageTemplate:
    """An outcome that has nothing yet of what takes time."""
    return PageTemplate(
        key_url=url,
        members=members,
        not_template=[],
        content_html="",
        content_text="",
        template_html="",
        template_share=0.0,
        evidence=len(members),
    )
