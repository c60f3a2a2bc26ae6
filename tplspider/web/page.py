"""Pages: as they came over the wire, as the search sees them, and why an answer is not one.

It needs no Scrapy, so that pages of folders and archives are read by the same rules as those of a
crawl. Tests hold it to Scrapy's own classes.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from mimetypes import MimeTypes
from string import digits, punctuation
from typing import TYPE_CHECKING
from zlib import crc32

from w3lib.encoding import (
    html_body_declared_encoding,
    html_to_unicode,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from tplspider.web.addresses import Address, Site, identity
from tplspider.web.html import (
    Element,
    find_all,
    fold,
    is_too_costly,
    link_addresses,
    main_body,
    string_xpath,
    top_level,
    visible_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
    " .markdown .md .rst"
)
SNIFFED = 5000  # bytes that tell what a page without a type is
_WESTERN = ("cp1252", "iso8859-15")  # w3lib takes ASCII and ISO 8859-1 for the former
# What the labels of the Encoding Standard stand for, by w3lib's names, and UTF-32. Others that
# Python knows, browsers do not; some are no character sets, and some take minutes.
_BROWSER_ENCODINGS = {
    *(f"cp125{number}" for number in range(9)),
    *(f"iso8859-{number}" for number in range(2, 17)),
    *"big5hkscs cp866 cp874 cp932 cp949 euc_jp gb18030 iso2022_jp koi8-r koi8-u".split(),
    *"mac-cyrillic mac-roman utf-8 utf-16 utf-16-be utf-16-le utf-32 utf-32-be utf-32-le".split(),
}
_BINARY = frozenset(range(32)) - frozenset(b"\0\t\n\r")


_ENDINGS = MimeTypes()
_ENDINGS.types_map = (
    {},
    dict.fromkeys(_HTML_ENDINGS.split(), "text/html")
    | dict.fromkeys(_TEXT_ENDINGS.split(), "text/plain"),
)


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

        Two departures from Scrapy. A page that declares a Western encoding of single bytes and is
        valid UTF-8, beyond ASCII, is UTF-8: that is no coincidence. And what browsers do not
        know is not a declaration.
        """
        body = self.body
        encoding = (
            self.given_encoding
            or read_bom(body)[0]
            or known_encoding(http_content_type_encoding(self._content_type))
            or known_encoding(html_body_declared_encoding(body))
            or self._guessed[0]
        )
        if resolve_encoding(encoding) in _WESTERN and not body.isascii() and _is_utf8(body):
            return "utf-8"
        return encoding

    @cached_property
    def text(self) -> str:
        """The body, decoded. Raises LookupError or UnicodeError where that cannot be done."""
        encoding = self.encoding
        if "_guessed" in self.__dict__ and encoding == self._guessed[0]:
            return self._guessed[1]
        return html_to_unicode(f"charset={encoding}", self.body)[1]

    @cached_property
    def _guessed(self) -> tuple[str, str]:
        encoding = _guess(self.body) or "ascii"
        return encoding, to_unicode(self.body, encoding)

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


def known_encoding(encoding: str | None) -> str:
    """An encoding that browsers know; else '', as if none was declared."""
    return encoding if encoding and resolve_encoding(encoding) in _BROWSER_ENCODINGS else ""


def _is_utf8(data: bytes) -> bool:
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
    if body.isascii():
        return resolve_encoding("ascii")
    if _is_utf8(body):
        return "utf-8"
    # Imported lazily: few pages leave it to guesses, and it takes its time to import.
    from charset_normalizer import from_bytes

    match = from_bytes(body).best()
    return resolve_encoding(match.encoding) if match else None


_TEXT = string_xpath("string(.)")
# What lays a page out. Other elements are mostly markup of running text, and half of a page.
_FRAME = (
    "a article aside body center div font footer form h1 h2 h3 header img input li main nav ol p"
    " section table td tr ul"
).split()
_SHORT = 40  # characters: words of a menu, of a button, of a heading
_DECORATION = digits + punctuation + " «»·•—→©"
MOST_HASHES = 2048  # hashes of a kind that are kept of a page


@dataclass(frozen=True, slots=True)
class Outline:
    """What is kept of a page to compare it by: sorted hashes, four bytes each.

    *elements* are the pairs of elements of the frame that follow each other in the document, each
    by its tag and its class; *texts* are the short texts. Of very large pages the smallest hashes
    are kept, which are a random sample, and the same one on every page.
    """

    elements: bytes = b""
    texts: bytes = b""


@dataclass(frozen=True, slots=True)
class Page:
    """A loaded page: *links* are the identities of getLinks, *url* is where redirects ended."""

    url: str
    identity: str
    links: frozenset[str] = frozenset()
    fingerprint: bytes | None = None
    title: str = ""
    outline: Outline = field(default_factory=Outline)
    # What a template takes, if one is wanted: tags with their classes, which tell the kind of the
    # page; and the links that are not written as their identities, with how they are written.
    names: frozenset[tuple[str, str]] = frozenset()
    written: tuple[tuple[str, str], ...] = ()


def read_page(
    root: Element,
    url: str,
    site: Site,
    encoding: str = "utf-8",
    *,
    for_template: bool = False,
) -> Page:
    """The page with this tree, loaded from *url*, as the search needs it.

    *for_template*, there is also what the choice of a witness takes.
    """
    addresses = link_addresses(root, url, site, encoding)
    texts = visible_texts(root)
    return Page(
        url=url,
        identity=identity(url),
        links=frozenset(addresses),
        fingerprint=fingerprint(fold(" ".join(texts))),
        title=next((fold(_TEXT(title)) for title in find_all(root, "title")), ""),
        outline=outline(root, texts),
        names=class_names(root) if for_template else frozenset(),
        written=tuple(pair for pair in sorted(addresses.items()) if pair[0] != pair[1])
        if for_template
        else (),
    )


def class_names(root: Element) -> frozenset[tuple[str, str]]:
    """The tags in the body of a page that have classes, with these."""
    named = ((str(element.tag), element.get("class")) for element in main_body(root).iter("*"))
    return frozenset((tag, name) for tag, name in named if name)


def fingerprint(text: str) -> bytes | None:
    """A short stand-in for a page's text; None for no text: such pages are not duplicates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() if text else None


def outline(root: Element, texts: Iterable[str]) -> Outline:
    """The outline of the page with this tree and these visible texts."""
    # Lists of one thing each: this is done for every page, and there may be thousands of elements.
    elements = [element for top in top_level(root) for element in top.iter(*_FRAME)]
    classes = [element.get("class") for element in elements]
    tags = [element.tag for element in elements]
    labels = [f"{t}.{c}" if c else t for t, c in zip(tags, classes, strict=True)]
    pairs = set(pairwise(labels))
    stripped = {text.strip() for text in texts}
    short = {fold(text).strip(_DECORATION) for text in stripped if len(text) <= _SHORT}
    return Outline(_hashes(map("\n".join, pairs)), _hashes(short - {""}))


def _hashes(features: Iterable[str]) -> bytes:
    hashes = {crc32(feature.encode("utf-8", "surrogatepass")) for feature in features}
    return array("I", sorted(hashes)[:MOST_HASHES]).tobytes()


BAD_RESPONSE = "bad-response"  # broken HTTP or encoding, redirect loops, empty bodies
CONNECTION = "connection"
DNS = "dns"
ERROR = "error"  # a fault of ours, or of a third-party middleware
NOT_ARCHIVED = "not-archived"  # a source without a network has nothing of it
NOT_HTML = "not-html"
OFFSITE_REDIRECT = "offsite-redirect"
PRIVATE_ADDRESS = "private-address"
ROBOTS = "robots"
TIMEOUT = "timeout"
TOO_LARGE = "too-large"
TOO_LONG = "too-long"  # the address

# What a site answers that wants to be left alone, or that is out of reach.
REFUSALS = frozenset({"http-401", "http-403", "http-429", "http-503", TIMEOUT, DNS, CONNECTION})

# Of key pages alone.
BAD_INPUT = "bad-input"  # a malformed line of a list
CRASHED = "crashed"  # a line of a list that was searched whenever the process died
NO_LINKS = "no-links"
NOT_LOADED = "not-loaded"


@dataclass(frozen=True, slots=True)
class Redirect(Address):
    """A link leads to this address, whose page is known or being loaded."""


@dataclass(frozen=True, slots=True)
class NoPage:
    """Why there is no page. *detail* is a human-readable explanation."""

    reason: str
    detail: str = ""


Answer = Page | Redirect | NoPage


def redirect_to(url: str) -> Redirect:
    """The redirect to an address; its fragment plays no part."""
    url = url.partition("#")[0]
    return Redirect(url, identity(url))


def status_reason(status: int) -> str:
    """The reason for an HTTP status that does not come with a page."""
    return f"http-{status}" if 100 <= status <= 999 else BAD_RESPONSE


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
    try:
        text = page.text
    except (LookupError, UnicodeError):
        return BAD_RESPONSE
    if is_too_large(text):
        return TOO_LARGE
    if page.headers.get("content-encoding") and not is_text(page.body[:SNIFFED]):
        return BAD_RESPONSE  # compressed in an unknown way
    return ""


def is_too_large(html: str) -> bool:
    """Whether reading the tree of a page would take minutes, or hundreds of megabytes."""
    return html.count("<") + html.count("=") > _MAX_TAGS or is_too_costly(html)


def _is_other_file(page: WebPage) -> bool:
    """Whether it says that it is not HTML, and looks so: Scrapy also goes by the address."""
    kind = page.headers.get("content-type", "").partition(";")[0].strip().lower()
    return bool(kind) and "html" not in kind and not is_text(page.body[:SNIFFED])
