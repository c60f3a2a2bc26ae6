"""The records of WARC files: gzip, zstd and plain, also mixed, damaged and cut.

FastWARC reads a file as long as it is in order. From the first fault on, records are read one by
one, with a search for the next record behind what cannot be read.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tplspider.web.addresses import identity, is_simple, place_of, site_name, without_user
from tplspider.web.page import BAD_RESPONSE, SNIFFED, TOO_LARGE, NoPage, WebPage, is_text
from tplspider.web.redirects import REDIRECTS

try:
    import brotli  # type: ignore[import-untyped]  # none

    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError
    else:
        from backports.zstd import ZstdDecompressor, ZstdError
    with warnings.catch_warnings():
        # FastWARC warns of classes of its own that it keeps for others.
        warnings.simplefilter("ignore", DeprecationWarning)
        from fastwarc.stream_io import FastWARCError
        from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecordType
except ImportError as error:
    raise ImportError(
        f"WARC files need an extra ({error}): in a clone, pip install -e '.[archive]'"
    ) from error

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from fastwarc.warc import WarcRecord

LARGEST = 10 * 1024 * 1024  # bytes of a page, as in a crawl by default
# Which of several captures of an address counts: the lowest of these, then the newest.
RENDERED, PAGE, ALIAS, REDIRECT, OUTCOME, OTHER = range(6)
# What is wrong with a file.
CUT, BROKEN, WRONG_LENGTH = "cut off", "unreadable parts", "wrong lengths"

_LONGEST_HEAD = 1 << 20  # bytes: of a record's own header, and of the HTTP head in it
_BLOCK = 1 << 14  # bytes that are read at a time
_SEARCHED = 1 << 20  # bytes in which the next record is searched at a time
_OVERLAP = 64  # more than what a record starts with
_FIELDS = 1 << 16  # bytes of metadata that are read
_DIGITS = 19  # more than any length has
_LOOK = 1 << 12  # bytes in which most heads end
_TARGET, _DATE = WarcHeader.WARC_TARGET_URI, WarcHeader.WARC_DATE
SEARCH = "WARC-Tplspider-Search"  # the search that a record was loaded for
_RENDERED = "warc-tplspider-rendered"
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_PLAIN = rb"WARC/[01]\.[0-9]+\r?\n(?:WARC|Content)-"
_START = re.compile(rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd|" + _PLAIN, re.IGNORECASE)
_NEXT = re.compile(rb"\n" + _PLAIN, re.IGNORECASE)
_BLANK = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\S*[ \t]+([0-9]{3})(?!\S)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_REASON = re.compile(r"[a-z0-9-]{1,40}")  # as those of a crawl; the record may be forged
_NO_DIGIT = re.compile("[^0-9]+")
_UNPACKING = (zlib.error, ZstdError, EOFError)


@dataclass(slots=True)
class Record:
    """A record; *inner* is where it starts in what is packed together at *offset*.

    *status* is 0 for a malformed status line, and None without an HTTP head.
    """

    offset: int
    inner: int
    kind: str
    headers: dict[str, str]  # names in lower case, as those of *http*
    body: bytes = b""
    status: int | None = None
    http: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Capture:
    """An address, and where in a file it was captured. *date* is YYYYMMDDhhmmss and five digits."""

    url: str
    identity: str
    kind: int
    date: int
    search: str = ""
    offset: int = 0
    inner: int = 0

    @property
    def key(self) -> int:
        return key_of(self.identity)


def key_of(name: str) -> int:
    """The sample key of an identity, in the numbers of SQLite."""
    return place_of(name) - (1 << 63)


# Records, one by one.


@dataclass(slots=True)
class _Member:
    """What is packed together at a place: a gzip member, a zstd frame, or the rest of the file."""

    place: int
    content: BinaryIO  # of plain text, the file itself
    end: int = 0  # the place behind it
    fault: str = ""  # why it ended early
    is_part: bool = False  # there is more of it

    @property
    def is_plain(self) -> bool:
        return not self.end


def _member_at(file: BinaryIO, place: int, most: int = sys.maxsize) -> _Member:
    """What is packed together at a place, about *most* bytes of it; all is in a temporary file."""
    file.seek(place)
    packed = file.read(_BLOCK)
    if not packed.startswith((_GZIP, _ZSTD)):
        file.seek(place)
        return _Member(place, file)
    unpacker: Any = zlib.decompressobj(31) if packed.startswith(_GZIP) else ZstdDecompressor()
    content = BytesIO() if most < sys.maxsize else SpooledTemporaryFile(_SEARCHED)  # noqa: SIM115
    found = _Member(place, cast("BinaryIO", content))
    try:
        while not unpacker.eof and not found.fault and content.tell() < most:
            content.write(unpacker.decompress(packed, _SEARCHED))
            packed = getattr(unpacker, "unconsumed_tail", b"")
            if not packed and not unpacker.eof and getattr(unpacker, "needs_input", True):
                packed = file.read(_BLOCK)
                found.fault = "" if packed else CUT
    except _UNPACKING:
        found.fault = BROKEN
    found.is_part = not unpacker.eof and not found.fault
    found.end = file.tell() - len(unpacker.unused_data)
    content.seek(0)
    return found


def unpacked_at(file: BinaryIO, offset: int) -> BinaryIO:
    """A temporary file with what is packed together at an offset, as far as it can be unpacked."""
    return _member_at(file, offset).content


def read_at(file: BinaryIO, offset: int, most: int = LARGEST) -> Record | None:
    """The record at a place, with *most* bytes of its body and one; None if there is none."""
    return _next_record(_member_at(file, offset, most + 2 * _LONGEST_HEAD), most)[0]


def _next_record(member: _Member, most: int) -> tuple[Record | None, str]:
    """The next record, if it is all there, and what is wrong with it."""
    content = member.content
    while (start := _peek(content, _OVERLAP)) and start[0] in b"\r\n":
        content.seek(len(start) - len(start.lstrip(b"\r\n")), os.SEEK_CUR)
    if not start:
        return None, member.fault
    begin = content.tell()
    head = _head(content, _LONGEST_HEAD) if start.startswith(b"WARC/") else None
    if head is None:
        return None, member.fault or BROKEN
    headers = _headers(head)
    given = headers.get("content-length", "")
    if not given.isdecimal() or len(given) >= _DIGITS:
        return None, CUT
    if "warc-type" not in headers:
        return None, BROKEN
    size, fault = _checked_size(member, int(given), most)
    if size < 0:
        return None, fault
    end = content.tell() + size
    place = (begin, 0) if member.is_plain else (member.place, begin)
    found = Record(*place, headers["warc-type"].lower(), headers)
    if found.kind in ("response", "revisit") and _peek(content, min(size, 5)) == b"HTTP/":
        http = _head(content, min(size, _LONGEST_HEAD))
        if http is None and size > _LONGEST_HEAD:
            return None, BROKEN
        http = content.read(size) if http is None else http  # there may be no body
        status = _STATUS.match(http)
        found.status, found.http = int(status[1]) if status else 0, _headers(http)
    found.body = content.read(min(end - content.tell(), most + 1))
    content.seek(end)
    return found, fault


def _peek(content: BinaryIO, size: int) -> bytes:
    here = content.tell()
    found = content.read(size)
    content.seek(here)
    return found


def _head(content: BinaryIO, most: int) -> bytes | None:
    """The lines before a blank one, which are taken; None if they do not end before a record."""
    for size in (min(_LOOK, most), most):
        found = _peek(content, size)
        blank, following = _BLANK.search(found), _NEXT.search(found)
        if following and (not blank or following.start() < blank.start()):
            return None
        if blank:
            content.seek(blank.end(), os.SEEK_CUR)
            return found[: blank.start()]
    return None


def _headers(head: bytes) -> dict[str, str]:
    """The headers behind the first line, names in lower case: of several the last counts."""
    pairs = (line.partition(b":") for line in head.split(b"\n")[1:])
    return {
        name.strip().lower().decode("latin-1"): value.strip().decode("latin-1")
        for name, _, value in pairs
    }


def _checked_size(member: _Member, length: int, most: int) -> tuple[int, str]:
    """The true length of a content whose header says *length*, and what is wrong with it.

    It is -1 if the content is incomplete.
    """
    content, begin = member.content, member.content.tell()
    is_short = content.seek(0, os.SEEK_END) < begin + length
    content.seek(begin + length)
    behind = content.read(_OVERLAP).lstrip(b"\r\n")
    content.seek(begin)
    is_next = not behind or behind.startswith((b"WARC/", _GZIP, _ZSTD))
    if member.is_part if is_short else is_next:
        return length, ""
    # A page may show what a record is: only if the length is wrong, the next record tells.
    text = _peek(content, min(length, most))
    if following := _NEXT.search(text):
        text = text[: following.start() + 1]
    elif not is_short:
        return length, BROKEN
    elif member.is_plain or member.fault:
        return -1, member.fault or CUT
    return len(text.removesuffix(b"\r\n\r\n").removesuffix(b"\n\n")), WRONG_LENGTH


def _places(content: BinaryIO, pattern: re.Pattern[bytes], place: int) -> Iterator[int]:
    """Where there is what a pattern matches, from a place on."""
    size = _LOOK
    while True:
        content.seek(place)
        block = content.read(size)
        for found in pattern.finditer(block):
            yield place + found.start()
        if len(block) < size:
            return
        place += len(block) - _OVERLAP
        size = _SEARCHED


def _next_start(file: BinaryIO, place: int) -> int | None:
    """Where the next record starts, or what it is packed in; None if there is none."""
    for found in _places(file, _START, place):
        content = _member_at(file, found, _LONGEST_HEAD).content
        is_record = _peek(content, _OVERLAP).lstrip(b"\r\n").startswith(b"WARC/")
        if is_record and _head(content, _LONGEST_HEAD) is not None:
            return found
    return None


# All records of a file.


def captures_in(file: BinaryIO, faults: Counter[str]) -> Iterator[Capture]:
    """What was captured in a file, and where; what is wrong with it is counted in *faults*."""
    place, given = _next_start(file, 0), -1
    is_damaged = place != 0 and file.seek(0, os.SEEK_END) > 0
    if is_damaged:
        faults[BROKEN] += 1
    if place is not None:
        for given, capture in _in_order(file, place):  # noqa: B007 - the last one is needed
            if capture:
                yield capture
    start = given if given >= 0 else place
    for record in _records(file, start, faults, is_known=is_damaged):
        is_given = (record.offset, record.inner) == (given, 0)
        if not is_given and (capture := capture_of(record)):
            yield capture


def _in_order(file: BinaryIO, start: int) -> Iterator[tuple[int, Capture | None]]:
    """The records of a file by FastWARC, each with its place, as long as the file is in order.

    FastWARC does not detect a damaged record: a record counts when another follows.
    """
    file.seek(start)
    magic = _peek(file, 3)
    last: tuple[int, Capture | None] | None = None
    try:
        for record in ArchiveIterator(
            file, record_types=WarcRecordType.any_type, max_header_len=_LONGEST_HEAD
        ):
            here, place = file.tell(), record.stream_pos
            file.seek(place)
            if (last and place <= last[0]) or _peek(file, 3) != magic:
                return  # packed together, so that these places are not those of the records
            capture = _capture(file, record)
            file.seek(here)
            if last:
                yield last
            last = place, capture
    except (OSError, FastWARCError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # it is not about what the file holds


def _capture(file: BinaryIO, record: WarcRecord) -> Capture | None:
    """What a record is to the index; most need no more than what FastWARC has read."""
    if record.record_type in (WarcRecordType.request, WarcRecordType.warcinfo):
        return None
    http, headers = record.http_headers, record.headers
    url = headers.get(_TARGET)
    if record.record_type == WarcRecordType.response and http and url and is_simple(url):
        status = http.status_code or 0
        mime, location = record.http_content_type or "", http.get("Location")
        kind = kind_of_status(status, mime, has_target=location is not None)
        date, search = capture_date(headers.get(_DATE) or ""), headers.get(SEARCH) or ""
        return Capture(url, url, kind, date, search, record.stream_pos)
    found = read_at(file, record.stream_pos, most=_FIELDS)
    if found is None:
        raise ValueError  # it is read, and the fault named, one by one
    return capture_of(found)


def _records(
    file: BinaryIO, place: int | None, faults: Counter[str], *, is_known: bool
) -> Iterator[Record]:
    """The records from a place on, one by one, with a search for the next behind each fault.

    What follows from a fault is not counted again: *is_known* says that it is counted.
    """
    while place is not None:
        member = _member_at(file, place)
        content = member.content
        while True:
            found, fault = _next_record(member, LARGEST)
            if found:
                is_known = False
                yield found
            if fault and not is_known:
                faults[fault] += 1
            is_known = bool(fault) or (is_known and not found)
            if member.is_plain:
                break
            if not found:
                following = next(_places(content, _NEXT, content.tell()), None)
                if following is None:
                    break
                content.seek(following + 1)
        # Behind a wrong length there may be records that are sound.
        is_lost = member.fault or (member.is_plain and fault == BROKEN)
        end = place + 1 if is_lost else max(member.end or content.tell(), place + 1)
        if not member.is_plain:
            content.close()
        place = _next_start(file, end)
        file.seek(end)
        size = _OVERLAP if place is None else min(place - end, _OVERLAP)
        if (rest := file.read(size).strip(b"\r\n")) and not is_known:
            is_cut = rest.startswith((_GZIP, _ZSTD, b"WARC/")) or b"WARC/".startswith(rest)
            faults[CUT if is_cut and place is None else BROKEN] += 1
            is_known = True


# What a record is to the index.


def capture_of(record: Record) -> Capture | None:
    """What a record is to the index; None for one without a page."""
    url = clean_target(record.headers.get("warc-target-uri", ""))
    kind = _kind_of(record)
    if kind is None or not url.lower().startswith(("http://", "https://")):
        return None  # dns: and the like
    try:
        name = identity(url)
        site_name(name)
    except ValueError:
        return None
    date = capture_date(record.headers.get("warc-date", ""))
    search = record.headers.get(SEARCH.lower(), "")
    return Capture(url, name, kind, date, search, record.offset, record.inner)


def clean_target(url: str) -> str:
    """An address as it stands in a record, without a password: wget puts it into angle brackets."""
    url = url.strip()
    if url.startswith("<") and url.endswith(">"):
        url = url[1:-1].strip()
    url = url.partition("#")[0]
    try:
        return without_user(url)
    except ValueError:  # not an address
        return url


def _kind_of(record: Record) -> int | None:
    mime = record.http.get("content-type", "")
    match record.kind:
        case "response" | "revisit":
            if record.kind == "revisit" and _is_of_another(record.status):
                return ALIAS
            return kind_of_status(record.status or 0, mime, has_target="location" in record.http)
        case "resource":
            told = record.headers.get("content-type", "").lower()
            return PAGE if "html" in told or not told else OTHER
        case "conversion":
            return RENDERED if record.headers.get(_RENDERED) else None
        case "metadata":
            return OUTCOME if record.body.startswith(b"tplspider-outcome") else None
    return None


def kind_of_status(status: int, mime: str, *, has_target: bool) -> int:
    """The kind of an answer with that status and type; *has_target*: it has a Location."""
    if 200 <= status < 300 and status not in (204, 205, 206):
        # Some writers put "unk" for a type that they do not know.
        return PAGE if "/" not in mime or "html" in mime.lower() else OTHER
    return REDIRECT if status in REDIRECTS and has_target else OTHER


def _is_of_another(status: int | None) -> bool:
    """Whether a revisit with that status has the body of another capture, and is not a redirect."""
    return not status or status == 304 or 200 <= status < 300


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
    headers = record.headers
    if record.kind == "metadata":
        return _outcome(record.body)
    if record.kind == "revisit" and _is_of_another(record.status):
        date = capture_date(headers.get("warc-refers-to-date", ""))
        return Reference(clean_target(headers.get("warc-refers-to-target-uri", "")), date)
    if record.kind not in ("response", "revisit"):
        given = headers.get("content-type", "")
        return _page(url, 200, {"content-type": given} if given else {}, record.body, most)
    if not record.status:
        return NoPage(BAD_RESPONSE)
    return _page(url, record.status, dict(record.http), record.body, most)


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
    while chunk := _CHUNK.match(body, place):
        size = int(chunk[1], 16)
        place = chunk.end() + size
        pieces.append(body[chunk.end() : place])
        if not size or place >= len(body):  # the end, or cut off
            return b"".join(pieces)
        if not (end := _LINE_END.match(body, place)):
            return body
        place = end.end()
    is_cut = len(body) - place < _OVERLAP and b"\n" not in body[place:]
    return b"".join(pieces) if pieces and is_cut else body


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


def _unbrotli(body: bytes, most: int) -> bytes:
    unpacker = brotli.Decompressor()
    try:
        found = bytes(unpacker.process(body, output_buffer_limit=most + 1))
    except brotli.error:
        return b""
    return found if unpacker.is_finished() or len(found) > most else b""


def _unzstd(body: bytes, most: int) -> bytes:
    try:
        return bytes(ZstdDecompressor().decompress(body, most + 1)) if body[:4] == _ZSTD else b""
    except ZstdError:
        return b""


# Each gives what can be unpacked, b"" for what is not packed that way. More than *most* bytes are
# too many.
_CODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
