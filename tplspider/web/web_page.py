"""A page as it came over the wire: whether it is HTML, and its text, as HtmlResponse has it.

It needs no Scrapy, so that pages of folders and archives are read by the same rules as those of a
crawl. Tests hold it to Scrapy's own classes.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from functools import cached_property
from mimetypes import MimeTypes
from typing import TYPE_CHECKING

from w3lib.encoding import (
    html_body_declared_encoding,
    html_to_unicode,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_TEXT_TYPES = frozenset(
    "application/atom+xml application/rdf+xml application/rss+xml application/xml application/json"
    " application/x-json application/json-amazonui-streaming application/javascript"
    " application/x-javascript".split()
)
# The endings of file names that tell what a page is. All others tell nothing: its first bytes do.
_HTML_ENDINGS = ".htm .html .shtml .xht .xhtml"
_TEXT_ENDINGS = (
    ".323 .asc .atom .bib .boo .brf .c .c++ .cc .cls .cpp .csh .css .csv .cxx .d .diff .etx .gcd .h"
    " .h++ .hh .hpp .hs .htc .hxx .ics .icz .jad .java .js .json .ksh .lhs .ltx .mjs .mml .moc .n3"
    " .p .pas .patch .pl .pm .pot .py .rdf .rss .rtx .scala .sct .sgm .sgml .sh .srt .sty .tcl .tex"
    " .text .tk .tm .ts .tsv .txt .uls .vcf .vcs .vtt .wml .wmls .wsc .wsdl .xml .xpdl .xsd .xsl"
)
SNIFFED = 5000  # bytes that tell what a page without a type is
_WESTERN = frozenset({"iso8859-1", "iso8859-15", "cp1252", "ascii"})
_BINARY = frozenset(range(32)) - frozenset(b"\0\t\n\r")


def _endings() -> MimeTypes:
    types = MimeTypes()
    types.types_map = (
        {},
        {
            **dict.fromkeys(_HTML_ENDINGS.split(), "text/html"),
            **dict.fromkeys(_TEXT_ENDINGS.split(), "text/plain"),
        },
    )
    return types


_ENDINGS = _endings()


@dataclass(frozen=True)
class WebPage:
    """An answer with a body. The names of *headers* are in lower case.

    *given_encoding* is for bodies whose encoding is known, whatever they say of themselves, and
    *given_html* for those of which it is known whether they are HTML.
    """

    url: str
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    given_encoding: str = ""
    given_html: bool | None = None

    @cached_property
    def is_html(self) -> bool:
        """Whether it is a page of HTML: by its headers, by its address, by its first bytes."""
        if self.given_html is not None:
            return self.given_html
        kind = self._kind_by_headers() or _kind_of_file(self.url) or _kind_by_content(self.body)
        return kind == "html"

    @cached_property
    def encoding(self) -> str:
        """The encoding that it declares, or that it seems to have.

        One departure from Scrapy: a page that declares a Western encoding of single bytes and is
        valid UTF-8, beyond ASCII, is UTF-8. Nobody writes that by chance.
        """
        encoding = self._declared_encoding
        if _codec_name(encoding) in _WESTERN and _is_utf8_beyond_ascii(self.body):
            return "utf-8"
        return encoding

    @cached_property
    def _declared_encoding(self) -> str:
        return (
            self.given_encoding
            or read_bom(self.body)[0]
            or http_content_type_encoding(self._content_type)
            or html_body_declared_encoding(self.body)
            or self._guessed[0]
        )

    @cached_property
    def text(self) -> str:
        """The body, decoded. Raises LookupError or UnicodeError where that cannot be done."""
        encoding = self.encoding
        if "_guessed" in self.__dict__ and encoding == self._guessed[0]:
            return self._guessed[1]
        return html_to_unicode(f"charset={encoding}", self.body)[1]

    @cached_property
    def _guessed(self) -> tuple[str, str]:
        return html_to_unicode(
            self._content_type, self.body, auto_detect_fun=_guess, default_encoding="ascii"
        )

    @property
    def _content_type(self) -> str:
        return self.headers.get("content-type", "")

    def _kind_by_headers(self) -> str:
        kind = ""
        if "content-type" in self.headers and not self.headers.get("content-encoding"):
            kind = _kind_of_type(self._content_type.split(";")[0].strip().lower())
        if not kind and "content-disposition" in self.headers:
            parts = self.headers["content-disposition"].split(";")[1:2]
            names = [part.split("=")[1].strip("\"'") for part in parts if "=" in part]
            kind = _kind_of_file(names[0]) if names else ""
        return kind


def _codec_name(encoding: str) -> str:
    """One name for all names of an encoding."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return encoding


def _is_utf8_beyond_ascii(data: bytes) -> bool:
    """Whether this is UTF-8, and more than ASCII."""
    if data.isascii():
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_text(data: bytes) -> bool:
    """Whether there are no control characters in *data* that texts do not have."""
    return _BINARY.isdisjoint(data)


def _kind_of_type(name: str) -> str:
    if name in _HTML_TYPES:
        return "html"
    return "text" if name in _TEXT_TYPES or name.partition("/")[0] == "text" else ""


def _kind_of_file(name: str) -> str:
    kind, packed = _ENDINGS.guess_type(name)
    return "" if packed or not kind else _kind_of_type(kind)


def _kind_by_content(body: bytes) -> str:
    start = body[:SNIFFED]
    if not is_text(start):
        return ""
    start = start.lower()
    if b"<html>" in start:
        return "html"
    if b"<?xml" in start:
        return "text"
    return "html" if b"<!doctype html>" in start else "text"


def _guess(body: bytes) -> str | None:
    for encoding in ("ascii", "utf-8"):
        try:
            body.decode(encoding)
        except UnicodeError:
            continue
        return resolve_encoding(encoding)
    # Here and not above: few pages leave it to guesses, and it takes its time to import.
    from charset_normalizer import from_bytes

    match = from_bytes(body).best()
    return resolve_encoding(match.encoding) if match else None
