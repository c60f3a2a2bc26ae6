"""Records of a WARC file (version 1.1), each packed as a gzip member of its own.

A few lines of our own, and not FastWARC: a record has to be whole before a byte of it is in the
file, so that a file can be cut back between two records; it is packed in a thread; and whoever
writes an archive needs nothing installed.
"""

from __future__ import annotations

import zlib
from base64 import b32encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Headers of ours. Other tools pass over them.
SEARCH = "WARC-Tplspider-Search"  # the id of the search that a record was loaded for
RENDERED = "WARC-Tplspider-Rendered"  # "yes": a page as its scripts have made it
# Fields of a metadata record: what became of a load that gave no answer, or none that counts.
OUTCOME = "tplspider-outcome"
DETAIL = "tplspider-detail"

_LEVEL = 6  # of gzip: 9 takes twice the time for a percent or two
_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_FIELDS = "application/warc-fields"


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer of a server: when and for what it came, and its bytes.

    *head* is its status line and headers, *request* what was asked, if anything was sent.
    """

    url: str
    date: str
    head: bytes
    body: bytes
    request: bytes = b""
    address: str = ""  # of the server: an IP address
    marks: Mapping[str, str] = field(default_factory=dict)  # headers of ours


@dataclass(frozen=True, slots=True)
class Reference:
    """A response record, as records that repeat it name it."""

    record_id: str
    date: str


class Clock:
    """The dates of records: no two of a file are the same, and later ones are later."""

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> str:
        self._last = max(datetime.now(UTC), self._last + timedelta(microseconds=1))
        return self._last.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_id() -> str:
    """The id of a new record."""
    return f"<urn:uuid:{uuid4()}>"


def info_record(name: str, date: str, record_id: str, about: Mapping[str, str]) -> bytes:
    """The record that tells who wrote the records after it, and how."""
    fields = {
        "WARC-Type": "warcinfo",
        "WARC-Record-ID": record_id,
        "WARC-Date": date,
        "WARC-Filename": name,
        "Content-Type": _FIELDS,
    }
    return _member(fields, [_lines(about.items())])


def outcome_record(
    url: str, date: str, info_id: str, outcome: Mapping[str, str], marks: Mapping[str, str]
) -> bytes:
    """The record of a load that gave no answer, or none that counts."""
    fields = {
        "WARC-Type": "metadata",
        "WARC-Record-ID": new_id(),
        "WARC-Date": date,
        "WARC-Target-URI": url,
        "WARC-Warcinfo-ID": info_id,
        **marks,
        "Content-Type": _FIELDS,
    }
    return _member(fields, [_lines(outcome.items())])


def rendered_record(
    url: str, date: str, info_id: str, page: tuple[str, bytes], marks: Mapping[str, str]
) -> bytes:
    """The record of a page, its type and its body, as scripts have made it of the one that came."""
    kind, body = page
    fields = {
        "WARC-Type": "conversion",
        "WARC-Record-ID": new_id(),
        "WARC-Date": date,
        "WARC-Target-URI": url,
        "WARC-Warcinfo-ID": info_id,
        "WARC-Block-Digest": _digest([body]),
        **marks,
        RENDERED: "yes",
        "Content-Type": kind,
    }
    return _member(fields, [body])


def exchange_records(
    exchange: Exchange, info_id: str, record_id: str, same: Reference | None = None
) -> bytes:
    """The records of an answer and of its request.

    With *same*, a record with the same payload, this one has the head alone and names that.
    """
    block = [exchange.head] if same else [exchange.head, exchange.body]
    fields = {
        "WARC-Type": "revisit" if same else "response",
        "WARC-Record-ID": record_id,
        "WARC-Date": exchange.date,
        "WARC-Target-URI": exchange.url,
        "WARC-Warcinfo-ID": info_id,
    }
    if exchange.address:
        fields["WARC-IP-Address"] = exchange.address
    if same:
        fields |= {
            "WARC-Profile": _SAME_PAYLOAD,
            "WARC-Refers-To": same.record_id,
            "WARC-Refers-To-Target-URI": exchange.url,
            "WARC-Refers-To-Date": same.date,
        }
    fields |= {
        "WARC-Payload-Digest": _digest([exchange.body]),
        "WARC-Block-Digest": _digest(block),
        **exchange.marks,
        "Content-Type": "application/http; msgtype=response",
    }
    packed = _member(fields, block)
    if exchange.request:
        packed += _member(
            {
                "WARC-Type": "request",
                "WARC-Record-ID": new_id(),
                "WARC-Date": exchange.date,
                "WARC-Target-URI": exchange.url,
                "WARC-Warcinfo-ID": info_id,
                "WARC-Concurrent-To": record_id,
                **exchange.marks,
                "Content-Type": "application/http; msgtype=request",
            },
            [exchange.request],
        )
    return packed


def _member(fields: Mapping[str, str], block: Iterable[bytes]) -> bytes:
    block = list(block)
    length = str(sum(map(len, block)))
    head = b"WARC/1.1\r\n" + _lines([*fields.items(), ("Content-Length", length)]) + b"\r\n"
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    packed = [packer.compress(part) for part in (head, *block, b"\r\n\r\n")]
    return b"".join([*packed, packer.flush()])


def _lines(fields: Iterable[tuple[str, str]]) -> bytes:
    """Header lines; whatever a value is made of, it stays on its line."""
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in fields)
    return "".join(lines).encode("utf-8", "replace")


def _digest(parts: Iterable[bytes]) -> str:
    found = sha1(usedforsecurity=False)
    for part in parts:
        found.update(part)
    return f"sha1:{b32encode(found.digest()).decode()}"
