"""A page from the web as a report shows it: its words and their order, and nothing that acts.

nh3 keeps the elements and attributes that are named here. Before that, what would be lost is put
into words: images, and what stands in for scripts and frames.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import nh3
from lxml import etree

from tplspider.report.words import harmless, short
from tplspider.web.html import Element, main_body, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 1_000_000  # bytes
OWN = "data-own"  # on the elements that are not template

_KEPT = set(
    "a abbr address article aside b bdi bdo big blockquote br caption center cite code dd del"
    " details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup"
    " hr i ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub"
    " summary sup table tbody td tfoot th thead time tr tt u ul var".split()
)
# They go with all that is in them: browsers hide it.
_DROPPED = set(
    "annotation annotation-xml audio canvas defs desc embed head iframe map metadata noembed"
    " noframes noscript script style template title video".split()
)
_RENAMED = {
    **dict.fromkeys(("applet", "dialog", "dir", "fieldset", "form", "noscript", "object"), "div"),
    **dict.fromkeys(("legend", "option", "optgroup", "frameset", "html", "body"), "div"),
    **dict.fromkeys(("listing", "plaintext", "textarea", "xmp"), "pre"),
}
# HTML opens them again in each block in which they are open, once for each set of attributes: with
# attributes, a few kilobytes would become gigabytes.
_FORMATTING = set("a b big code em font i nobr s small strike strong tt u".split())
_ATTRIBUTES = {
    "*": {"dir", "lang", OWN},
    "details": {"open"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan"},
}
_MARKED = re.compile(rf"<[^<>]* {OWN}\b")


def clean_page(html: str, url: str, most: int = MOST, not_template: Iterable[str] = ()) -> str:
    """The body of a page as harmless HTML, of about *most* bytes, cut with a note.

    *not_template* are the XPaths of the elements that are the page's own: they are marked.
    """
    root = parse_html(html)
    own = _own_elements(root, not_template)
    for element in root.iter("*"):
        if OWN in element.attrib:
            del element.attrib[OWN]
        if element.tag in _FORMATTING:
            element.attrib.clear()
        if element in own:
            element.set(OWN, "")
    return _cut("\n".join(_body(top) for top in top_level(root)), most, url)


def clean_again(key_html: str) -> str:
    """Clean a page that should be clean already: it may come from a file of unknown origin."""
    return _cut(key_html, MOST + 1_000, "")


def _own_elements(root: Element, paths: Iterable[str]) -> set[Element]:
    tree = root.getroottree()
    found: set[Element] = set()
    for path in paths:
        try:
            nodes = tree.xpath(path)
        except etree.XPathError:  # of an extractor of the user's own
            continue
        if isinstance(nodes, list):
            found |= {node for node in nodes if isinstance(node, Element)}
    return found


def _body(top: Element) -> str:
    """The HTML of a body, or of what stands in for one."""
    body = next(top.iterchildren("body", "frameset"), top)
    note = ""
    if body.tag == "frameset":
        note = _note("This page is made of frames, which are left out.")
        instead = "".join(str(each.text or "") for each in top.iter("noframes"))
        body = main_body(parse_html(instead))
    for name in ("dir", "lang"):
        if value := body.get(name) or top.get(name):
            body.set(name, value)
    for image in list(body.iter("img", "image")):
        words = short(image.get("alt") or "", 200)
        image.tag, image.text = "span", f"[{words}] {image.text or ''}" if words else image.text
    for element in body.iter("*"):
        tag = str(element.tag)
        # nh3 drops elements of drawings with their words, wherever they stand.
        element.tag = _RENAMED.get(tag) or (tag if tag in _KEPT | _DROPPED else "span")
    return note + str(etree.tostring(body, encoding="unicode", method="html", with_tail=False))


def _clean(html: str) -> str:
    return nh3.clean(
        harmless(html),
        tags=_KEPT,
        clean_content_tags=_DROPPED,
        attributes=_ATTRIBUTES,
        link_rel=None,
        url_schemes=set(),
    )


def _cut(html: str, most: int, url: str) -> str:
    cleaned = _clean(html)
    size = len(cleaned.encode())
    if size <= most:
        return cleaned
    start = cleaned.encode()[:most].decode("utf-8", "ignore")
    start = re.sub(r"(?:<[^<>]*|&\w*)\Z", "", start)
    of = f" of {short(url, 200)}" if url else ""
    return _clean(start) + _note(f"The page is cut here: it has {size:,} bytes{of}.")


def _note(text: str) -> str:
    return f"<p><em>{escape(text)}</em></p>"


FRAME_STYLE = """
html { color-scheme: light }
body { background: #fff; color: #1b1f24; font: 16px/1.45 sans-serif; margin: 0 }
main { padding: 1em; overflow-wrap: anywhere }
table { border-collapse: collapse }
td, th { padding: 0 .3em; vertical-align: top }
pre { white-space: pre-wrap }
a { text-decoration: underline }
#grey { position: fixed; z-index: 1; top: .6em; left: 1em }
#grey:focus-visible { outline: 3px solid #0b5cad }
label { display: block; position: sticky; top: 0; padding: .4em 1em .4em 2.8em; background: #fff }
label { border-bottom: 1px solid #8a95a1 }
#grey:checked ~ main { color: #6b6b6b; background: #f2f2f2 }
#grey:checked ~ main [data-own] { color: #1b1f24; background: #fff6cf; outline: 1px solid #d9b400 }
#grey:checked ~ main [data-own] [data-own] { outline: 0 }
"""


def page_document(key_html: str) -> str:
    """The document of a frame that shows a cleaned page, with a switch for its template.

    The switch needs no script: a frame without any rights can have it.
    """
    switch = '<input type="checkbox" id="grey" checked><label for="grey">Template in grey</label>'
    return (
        '<!DOCTYPE html><html lang="und"><head><meta charset="utf-8"><title>The page</title>'
        f"<style>{FRAME_STYLE}</style></head><body>{switch if _MARKED.search(key_html) else ''}"
        f"<main>{key_html}</main></body></html>"
    )
