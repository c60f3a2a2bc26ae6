"""Why an answer that came with a body is not a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.web.answers import BAD_RESPONSE, NOT_HTML, TOO_LARGE, status_reason
from tplspider.web.tag_cost import is_too_costly
from tplspider.web.web_page import SNIFFED, is_text

if TYPE_CHECKING:
    from tplspider.web.web_page import WebPage

# More elements than a page of a person has: their tree would take hundreds of megabytes.
_MAX_TAGS = 500_000
# Successes that carry no page, or (never asked for) a part of one.
_NO_PAGE = frozenset({204, 205, 206})


def page_fault(page: WebPage) -> str:
    """The reason why this is not a page that can be read; '' for one that can."""
    if page.status in _NO_PAGE or not 200 <= page.status < 300:
        return status_reason(page.status)
    if not page.body:
        return BAD_RESPONSE
    if not page.is_html or _is_other_file(page):
        return NOT_HTML
    if is_too_large(page.body):
        return TOO_LARGE
    try:
        page.text  # noqa: B018 - decodes the body
    except (LookupError, UnicodeError):
        return BAD_RESPONSE
    if page.headers.get("content-encoding") and not is_text(page.body[:SNIFFED]):
        return BAD_RESPONSE  # packed in a way that nobody here can unpack
    return ""


def is_too_large(body: bytes) -> bool:
    """Whether reading the tree of a page would take minutes, or hundreds of megabytes."""
    return body.count(b"<") + body.count(b"=") > _MAX_TAGS or is_too_costly(body)


def _is_other_file(page: WebPage) -> bool:
    """Whether it says that it is not HTML, and looks so: Scrapy also goes by the address."""
    kind = page.headers.get("content-type", "").partition(";")[0].strip().lower()
    return bool(kind) and "html" not in kind and not is_text(page.body[:SNIFFED])
