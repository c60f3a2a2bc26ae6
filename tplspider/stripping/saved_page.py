"""A file of a folder, as a page: whether it is one, its text, and where it says it is from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from mimetypes import MimeTypes

from tplspider.stripping.addresses import mirrored_address, without_query
from tplspider.stripping.outcomes import EMPTY, UNREADABLE
from tplspider.stripping.plain_file import PlainFileError, read_plain_file
from tplspider.web.page import BAD_RESPONSE, SNIFFED, WebPage, is_text, page_fault

LARGEST = 10 * 1024 * 1024  # bytes, as what is loaded in a crawl by default
_TYPES = MimeTypes()  # Python's own list, the same on every machine
# What nothing but a page starts with; the names of files that were pages tell little. There is one
# way to read it: hostile comments would make others take for ever.
_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP = re.compile(
    rb"<(?:!doctype|html|head|title|meta|body|div|p|a|table|h[1-6])\b", re.IGNORECASE
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page that was saved: its text, its encoding, and the address that it names, if any."""

    html: str
    encoding: str
    mirrored: str


def read_saved_page(path: str, name: bytes, encoding: str = "") -> SavedPage:
    """The page in a file of that *name*; PlainFileError says why there is none.

    There were headers once, and nobody kept them: what it is goes by its name and by its first
    bytes, and its encoding, unless that is given, by what it says of itself.
    """
    body = read_plain_file(path, LARGEST)
    page = WebPage("", body, given_encoding=encoding, given_html=_is_html(name, body[:SNIFFED]))
    fault = page_fault(page)
    if fault:
        if fault == BAD_RESPONSE:
            fault = UNREADABLE if body else EMPTY
        raise PlainFileError(fault)
    return SavedPage(page.text, page.encoding, mirrored_address(body))


def _is_html(name: bytes, start: bytes) -> bool:
    kind = _kind(name) or _kind(without_query(name))
    if "html" in kind:
        # An image that was saved as a page is not one. Some encodings have control characters.
        return is_text(start) or bool(_MARKUP.search(start.replace(b"\0", b"")))
    if not is_text(start):
        return False
    return bool(_START.match(start) or (not kind and _HTML.search(start)))


def _kind(name: bytes) -> str:
    ending = name.rpartition(b".")[2].decode("ascii", "replace")
    return _TYPES.guess_type(f"x.{ending}")[0] or "" if b"." in name else ""
