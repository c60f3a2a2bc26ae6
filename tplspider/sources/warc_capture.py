"""What a record says of an address, in the few numbers that an index has of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tplspider.sources.warc_extra import WarcHeader, WarcRecord, WarcRecordType
from tplspider.web.addresses import identity, is_simple
from tplspider.web.redirects import REDIRECTS

if TYPE_CHECKING:
    from tplspider.sources.warc_lengths import ScannedRecord

# Which of several captures of an address counts: the lowest of these, then the newest.
RENDERED, PAGE, ALIAS, REDIRECT, OUTCOME, OTHER = range(6)

SEARCH, IS_RENDERED = "WARC-Tplspider-Search", "WARC-Tplspider-Rendered"
OUTCOME_FIELD = "tplspider-outcome"
REFERS_TO, CONTENT_TYPE = "WARC-Refers-To-Target-URI", "Content-Type"

_NO_PAGES = frozenset({204, 205, 206})
_HTTP = ("http://", "https://")
_LONGEST = 200  # characters of what is kept: heads of records may be as long as they like
_USUAL = len("2024-05-06T07:08:09Z")
_NEVER = 1 << 63  # SQLite has no numbers beyond: nothing was captured in the year 9223, or later
_DIGITS = str.maketrans("", "", "-:TZtz. +")
_TARGET, _DATE = WarcHeader.WARC_TARGET_URI, WarcHeader.WARC_DATE
_RESPONSE = WarcRecordType.response


@dataclass(slots=True)
class Capture:
    """An address, and what was captured of it. *date* is YYYYMMDDhhmmss, and five digits more."""

    url: str
    identity: str
    kind: int
    date: int
    search: str = ""


def capture_of(found: ScannedRecord, *, is_ours: bool = True) -> Capture | None:
    """What a record is to the index; None for one that tells nothing about a page.

    *is_ours* tells whether a crawl of ours may have written it, and marked it.
    """
    headers = found.record.headers
    # By FastWARC's own names headers cost next to nothing, but letters count.
    url = headers.get(_TARGET) or headers.get("WARC-Target-URI")
    if not url or found.is_cut:
        return None
    if is_simple(url):
        name = url
    else:
        url = clean_target(url)
        if not url.lower().startswith(_HTTP):
            return None  # dns: and the like
        try:
            name = identity(url)
        except ValueError:
            return None
    record = found.record
    kind = _kind_of_http(record) if record.record_type == _RESPONSE else _kind(found)
    if kind is None:
        return None
    search = (headers.get(SEARCH) or "")[:_LONGEST] if is_ours else ""
    # The capture that it refers to is as good, unless it tells which one a search had.
    if kind == ALIAS and not search and is_same(headers.get(REFERS_TO), name):
        return None
    date = capture_date((headers.get(_DATE) or headers.get("WARC-Date") or "")[:_LONGEST])
    return Capture(url, name, kind, date, search)


def clean_target(url: str) -> str:
    """An address as it stands in a record: some put it into angle brackets."""
    url = url.strip()
    if url.startswith("<") and url.endswith(">"):
        url = url[1:-1].strip()
    return url.partition("#")[0]


def is_same(url: str | None, name: str) -> bool:
    """Whether an address has that identity; none has the same."""
    try:
        return not url or identity(clean_target(url)) == name
    except ValueError:
        return True


def _kind(found: ScannedRecord) -> int | None:
    record = found.record
    match record_type(record):
        case "response":
            return _kind_of_http(record)
        case "resource":
            told = (record.headers.get(CONTENT_TYPE) or "").lower()
            if record.headers.get(IS_RENDERED):
                return RENDERED
            return PAGE if "html" in told or not told else OTHER
        case "revisit":
            http = record.http_headers
            if http is None or is_of_another(http.status_code):
                return ALIAS
            return _kind_of_http(record)
        case "conversion":
            return RENDERED if record.headers.get(IS_RENDERED) else None
        case "metadata":
            return OUTCOME if found.body.startswith(OUTCOME_FIELD.encode()) else None
    return None


def _kind_of_http(record: WarcRecord) -> int:
    http = record.http_headers
    status = None if http is None else http.status_code
    if status in REDIRECTS and http is not None and http.get("Location") is None:
        return OTHER
    return kind_of_status(status, (record.http_content_type or "")[:_LONGEST])


@lru_cache(1024)
def kind_of_status(status: int | None, mime: str) -> int:
    """The kind of an answer with that status and type."""
    if status is None:
        return OTHER
    if 200 <= status < 300 and status not in _NO_PAGES:
        # Those who do not know it write something like "unk".
        return PAGE if "/" not in mime or "html" in mime.lower() else OTHER
    return REDIRECT if status in REDIRECTS else OTHER


def is_of_another(status: int | None) -> bool:
    """Whether a revisit with that status has the body of another capture.

    One that redirects, or was not found, says so itself: empty bodies are all alike.
    """
    return status is None or status == 304 or 200 <= status < 300


def record_type(record: WarcRecord) -> str:
    """The type of a record, in whatever letters it is written."""
    headers = record.headers
    return (headers.get(WarcHeader.WARC_TYPE) or headers.get("WARC-Type") or "").strip().lower()


@lru_cache(1024)
def capture_date(text: str) -> int:
    """A date as a number that sorts like it; 0 for none.

    >>> capture_date("2024-05-06T07:08:09Z"), capture_date("2024-05-06T07:08:09.123456Z")
    (2024050607080900000, 2024050607080912345)
    >>> capture_date("20240506070809"), capture_date("?")
    (2024050607080900000, 0)
    >>> capture_date("9999-12-31T23:59:59Z")
    0
    """
    if len(text) == _USUAL:
        digits = f"{text[:4]}{text[5:7]}{text[8:10]}{text[11:13]}{text[14:16]}{text[17:19]}"
    else:
        digits = text.translate(_DIGITS)[:19]
    date = int(digits.ljust(19, "0")) if digits.isascii() and digits.isdecimal() else 0
    return date if date < _NEVER else 0
