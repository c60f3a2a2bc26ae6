"""The records of WARC files, by FastWARC: gzip, zstd and plain, also damaged and cut."""

from __future__ import annotations

import gzip
import os
import re
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from tplspider.web.addresses import identity, is_simple, place_of, site_name, without_user
from tplspider.web.page import BAD_RESPONSE, SNIFFED, TOO_LARGE, NoPage, WebPage, is_text
from tplspider.web.redirects import REDIRECTS

try:
    with warnings.catch_warnings():
        # FastWARC warns of classes of its own that it keeps for others.
        warnings.simplefilter("ignore", DeprecationWarning)
        from fastwarc.stream_io import BrotliReader, ZstdReader
        from fastwarc.warc import ArchiveIterator, WarcRecordType
except ImportError as error:
    raise ImportError(
        f"WARC files need an extra ({error}): in a clone, pip install -e '.[archive]'"
    ) from error

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Generator, Iterator

    from fastwarc.warc import HeaderMap, WarcRecord

LARGEST = 10 * 1024 * 1024  # bytes of a page, as in a crawl by default
# Which of several captures of an address counts: the lowest of these, then the newest.
RENDERED, PAGE, ALIAS, REDIRECT, OUTCOME, OTHER = range(6)
# What is wrong with a file.
CUT, BROKEN = "cut off", "unreadable or mixed parts"
PACKED = "records packed together, which must be unpacked first"

_LONGEST_HEAD = 1 << 20  # bytes: of a record's own header, and of the HTTP head in it
_BLOCK = 1 << 14  # bytes that are unpacked at a time
_SEARCHED = 1 << 20  # bytes in which the next record is searched at a time
_OVERLAP = 64  # more than what a record starts with
_WINDOW = 1 << 14  # bytes in which the head of a searched record must be
_FIELDS = 1 << 16  # bytes of metadata that are read
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_START = re.compile(
    rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd|WARC/[01]\.[0-9]+\r\n(?:WARC|Content)-", re.IGNORECASE
)
_CHUNK = re.compile(rb"(?:\r?\n)?([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_REASON = re.compile(r"[a-z0-9-]{1,40}")  # as those of a crawl; the record may be forged
_NO_DIGIT = re.compile("[^0-9]+")


@dataclass(slots=True)
class Record:
    """A record, with what is read of its body; *http* is its HTTP head."""

    kind: WarcRecordType
    headers: HeaderMap
    http: HeaderMap | None
    body: bytes = b""

    @property
    def status(self) -> int:
        """The HTTP status; 0 if there is none."""
        return 0 if self.http is None else self.http.status_code or 0

    @property
    def is_alias(self) -> bool:
        """Whether it is a revisit with the body of another capture, and no redirect."""
        is_page = self.status in (0, 304) or 200 <= self.status < 300
        return self.kind == WarcRecordType.revisit and is_page


@dataclass(slots=True)
class Capture:
    """An address, and where in a file it was captured. *date* is YYYYMMDDhhmmss and five digits."""

    url: str
    key: int
    site: str
    kind: int
    date: int
    search: str
    offset: int


def key_of(name: str) -> int:
    """The sample key of an identity, in the numbers of SQLite."""
    return place_of(name) - (1 << 63)


def read_at(file: BinaryIO, offset: int, most: int = LARGEST) -> Record | None:
    """The record at a place, with *most* bytes of its body and one; None if there is none.

    Raises OSError if the system cannot read the file.
    """
    try:
        found = next(_records(file, offset), None)
        record = _record(found) if found else None
        if record and found and found.reader:
            record.body = found.reader.read(most + 1)
    except OSError as error:
        if error.errno is not None:  # otherwise it is about what the file holds
            raise
        return None
    return record


def captures_in(file: BinaryIO, faults: Counter[str]) -> Iterator[Capture]:
    """What was captured in a file, and where; what is wrong with it is counted in *faults*.

    Behind what cannot be read, the next record is searched.
    """
    place = _next_start(file, 0)
    if place != 0 and os.fstat(file.fileno()).st_size:
        faults[BROKEN] += 1
    while place is not None:
        last, fault = yield from _in_order(file, place)
        if not fault:
            return
        faults[fault] += 1
        place = _next_start(file, last + 1)


def _in_order(file: BinaryIO, place: int) -> Generator[Capture, None, tuple[int, str]]:
    """The captures from a place to the first fault; gives where the last record is, and the fault.

    What can be unpacked has the same first bytes everywhere.
    """
    start = os.pread(file.fileno(), 3, place)
    try:
        for n, found in enumerate(_records(file, place)):
            again = n and found.stream_pos == place
            if again or os.pread(file.fileno(), 3, found.stream_pos) != start:
                return place, PACKED
            place = found.stream_pos
            record = _record(found)
            size = found.content_length
            if record and record.kind == WarcRecordType.metadata and found.reader:
                record.body = found.reader.read(_FIELDS)
            if not record or len(record.body) + found.consume() < size:
                return place, CUT
            if capture := capture_of(record, place):
                yield capture
    except OSError as error:
        if error.errno is not None:
            raise
        return place, BROKEN
    return place, _fault_at_end(file, place) if start == _GZIP else ""


def _fault_at_end(file: BinaryIO, place: int) -> str:
    """What is wrong behind the last record that FastWARC gave, in the gzip member at a place.

    It says nothing of a member without an end, and ends at an empty one.
    """
    file.seek(place)
    unpacker, is_empty, data = zlib.decompressobj(31), True, b""
    try:
        while data := data or file.read(_BLOCK):
            if unpacker.eof:
                if is_empty:
                    return BROKEN
                unpacker, is_empty = zlib.decompressobj(31), True
            is_empty = not unpacker.decompress(data, _SEARCHED) and is_empty
            data = unpacker.unconsumed_tail or unpacker.unused_data
    except zlib.error:
        return CUT
    return "" if unpacker.eof else CUT


def _records(file: BinaryIO, place: int) -> Iterator[WarcRecord]:
    file.seek(place)
    every = WarcRecordType.any_type
    return iter(
        ArchiveIterator(file, record_types=every, parse_http=False, max_header_len=_LONGEST_HEAD)
    )


def _record(found: WarcRecord) -> Record | None:
    """A record without its body, if its header is all there."""
    if "Content-Length" not in found.headers:
        return None
    if found.record_type in (WarcRecordType.response, WarcRecordType.revisit):
        with suppress(OSError):  # a head that is too long
            # Lines may end in LF alone.
            found.parse_http(quirks_mode=True, max_header_len=_LONGEST_HEAD)
    return Record(found.record_type, found.headers, found.http_headers)


def _next_start(file: BinaryIO, place: int) -> int | None:
    """Where the next record starts, or what it is packed in; None if there is none."""
    while block := os.pread(file.fileno(), _SEARCHED, place):
        for found in _START.finditer(block):
            most = _WINDOW << 4 if found[0] == _ZSTD else _WINDOW  # it unpacks by whole blocks
            window = BytesIO(os.pread(file.fileno(), most, place + found.start()))
            if read_at(window, 0, 0):
                return place + found.start()
        if len(block) <= _OVERLAP:
            break
        place += len(block) - _OVERLAP
    return None


# What a record is to the index.


def capture_of(record: Record, offset: int = 0) -> Capture | None:
    """What a record is to the index; None for one without a page."""
    kind, url = _kind_of(record), record.headers.get("WARC-Target-URI") or ""
    if kind is None:
        return None
    if not is_simple(url):
        url = clean_target(url)
        if not url.lower().startswith(("http://", "https://")):
            return None  # dns: and the like
    try:
        name = identity(url)
        site = _site_of(name[: name.find("/", 8)])
    except ValueError:
        return None
    date = capture_date(record.headers.get("WARC-Date") or "")
    search = record.headers.get("WARC-Tplspider-Search") or ""
    return Capture(url, key_of(name), site, kind, date, search, offset)


_site_of = lru_cache(maxsize=10_000)(site_name)  # thousands of pages share an origin


def clean_target(url: str) -> str:
    """An address as it stands in a record, without a password: wget puts it into angle brackets."""
    url = url.strip().removeprefix("<").removesuffix(">").partition("#")[0]
    try:
        return without_user(url)
    except ValueError:  # not an address
        return url


def _kind_of(record: Record) -> int | None:
    match record.kind:
        case WarcRecordType.response | WarcRecordType.revisit:
            return ALIAS if record.is_alias else _kind_of_answer(record)
        case WarcRecordType.resource:
            told = (record.headers.get("Content-Type") or "").lower()
            return PAGE if "html" in told or not told else OTHER
        case WarcRecordType.conversion:
            return RENDERED if record.headers.get("WARC-Tplspider-Rendered") else None
        case WarcRecordType.metadata:
            return OUTCOME if record.body.startswith(b"tplspider-outcome") else None
    return None


def _kind_of_answer(record: Record) -> int:
    status, http = record.status, record.http
    if http is None:
        return OTHER
    if 200 <= status < 300 and status not in (204, 205, 206):
        # Some writers put "unk" for a type that they do not know.
        mime = http.get("Content-Type") or ""
        return PAGE if "/" not in mime or "html" in mime.lower() else OTHER
    return REDIRECT if status in REDIRECTS and http.get("Location") is not None else OTHER


def capture_date(text: str) -> int:
    """A date as a number that sorts like it; 0 for none.

    >>> capture_date("2024-05-06T07:08:09Z"), capture_date("2024-05-06T07:08:09.123456Z")
    (2024050607080900000, 2024050607080912345)
    >>> capture_date("20240506070809"), capture_date("?"), capture_date("9999-12-31T23:59:59Z")
    (2024050607080900000, 0, 0)
    """
    date = int(_NO_DIGIT.sub("", text)[:19].ljust(19, "0"))
    return date if date < 1 << 63 else 0  # SQLite has no numbers beyond


# What a record gives for a page that is asked for.


@dataclass(frozen=True, slots=True)
class Reference:
    """A revisit of an address ("" for its own), captured at a date (0 if that is not known)."""

    url: str
    date: int


def answer_of(record: Record, url: str, most: int = LARGEST) -> WebPage | NoPage | Reference:
    """What a record gives to a search that asks for *url*."""
    headers, kind = record.headers, record.kind
    if kind == WarcRecordType.metadata:
        return _outcome(record.body)
    if record.is_alias:
        date = capture_date(headers.get("WARC-Refers-To-Date") or "")
        return Reference(clean_target(headers.get("WARC-Refers-To-Target-URI") or ""), date)
    if kind not in (WarcRecordType.response, WarcRecordType.revisit):
        given = headers.get("Content-Type")
        return _page(url, 200, {"content-type": given} if given else {}, record.body, most)
    if record.http is None or not record.status:
        return NoPage(BAD_RESPONSE)
    every = record.http.items_bytes()  # FastWARC reads them as Windows-1252, the others as Latin-1
    http = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in every}
    return _page(url, record.status, http, record.body, most)


def _outcome(body: bytes) -> NoPage:
    fields: dict[str, str] = {}
    for line in body[:_FIELDS].decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    reason = fields.get("tplspider-outcome", "")
    detail = "".join(each for each in fields.get("tplspider-detail", "") if each.isprintable())
    return NoPage(reason if _REASON.fullmatch(reason) else BAD_RESPONSE, detail)


def _page(
    url: str, status: int, headers: dict[str, str], body: bytes, most: int
) -> WebPage | NoPage:
    transfer = headers.pop("transfer-encoding", "")
    coding = headers.pop("content-encoding", "")
    if len(body) > most:
        return NoPage(TOO_LARGE)
    if "chunked" in transfer.lower():
        body = joined_chunks(body)
    names = [name for part in coding.split(",") if (name := part.strip().lower())]
    for name in reversed(names):
        if name not in _CODINGS:  # unknown, as in a crawl
            headers["content-encoding"] = coding
            break
        if found := _CODINGS[name](body, most):
            body = found
        elif not is_text(body[:SNIFFED]):  # otherwise it was unpacked before
            return NoPage(BAD_RESPONSE)
        if len(body) > most:
            return NoPage(TOO_LARGE)
    return WebPage(url, body, status, headers)


def joined_chunks(body: bytes) -> bytes:
    """A chunked body in one piece; as it is if it is not chunked."""
    place, pieces = 0, []
    while place < len(body) and (chunk := _CHUNK.match(body, place)):
        place = chunk.end() + int(chunk[1], 16)
        pieces.append(body[chunk.end() : place])
    return b"".join(pieces) if pieces else body


def _gunzipped(body: bytes, most: int) -> bytes:
    pieces, size = list[bytes](), 0
    with suppress(OSError, EOFError, zlib.error), gzip.GzipFile(fileobj=BytesIO(body)) as file:
        while size <= most and (piece := file.read1(_BLOCK)):
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def _deflate(body: bytes, most: int) -> bytes:
    # As it should be, and as some servers do it. Almost anything can be the start of the latter.
    for window in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        unpacker = zlib.decompressobj(window)
        with suppress(zlib.error):
            found = unpacker.decompress(body, most + 1)
            if window > 0 or unpacker.eof or len(found) > most:
                return found
    return b""


def _unpacked(reader: type[BrotliReader | ZstdReader], body: bytes, most: int) -> bytes:
    with suppress(OSError):
        return reader(BytesIO(body)).read(most + 1)
    return b""


# Each gives what can be unpacked, b"" for what is not packed that way. More than *most* bytes are
# too many.
_CODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _deflate,
    "br": partial(_unpacked, BrotliReader),
    "zstd": partial(_unpacked, ZstdReader),
}
