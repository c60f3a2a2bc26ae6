"""What a record gives to a search: a page, the reason why there is none, or another address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tplspider.sources.warc_bodies import DamagedBodyError, TooLargeBodyError, unpacked
from tplspider.sources.warc_capture import (
    CONTENT_TYPE,
    OUTCOME_FIELD,
    REFERS_TO,
    capture_date,
    clean_target,
    is_of_another,
    record_type,
)
from tplspider.web.page import BAD_RESPONSE, TOO_LARGE, NoPage, WebPage

if TYPE_CHECKING:
    from tplspider.sources.warc_lengths import ScannedRecord

_DETAIL_FIELD = "tplspider-detail"
_LONGEST_FIELDS = 1 << 16  # bytes of a metadata record
_REASON = re.compile(r"[a-z0-9-]{1,40}")  # as those of a crawl: anybody may have written it


def answer_of(found: ScannedRecord, url: str, most: int) -> WebPage | NoPage | str:
    """What a record gives to a search that asks for *url*.

    A text is an address: what was captured there is what was captured here.
    """
    record = found.record
    kind = record_type(record)
    if kind == "metadata":
        return _outcome(found.body)
    http = record.http_headers
    if kind == "revisit" and (http is None or is_of_another(http.status_code)):
        return clean_target(record.headers.get(REFERS_TO) or "")
    if http is None:
        given = record.headers.get(CONTENT_TYPE) or ""
        return _page(url, 200, {"content-type": given} if given else {}, found, most)
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in http.items_bytes()  # of several the last, as in a crawl
    }
    if http.status_code is None:
        return NoPage(BAD_RESPONSE)
    return _page(url, http.status_code, headers, found, most)


def date_of_other(found: ScannedRecord) -> int:
    """The date of the capture that a record refers to; 0 where it does not say."""
    return capture_date(found.record.headers.get("WARC-Refers-To-Date") or "")


def _outcome(body: bytes) -> NoPage:
    fields: dict[str, str] = {}
    for line in body[:_LONGEST_FIELDS].decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    reason = fields.get(OUTCOME_FIELD, "")
    detail = "".join(each for each in fields.get(_DETAIL_FIELD, "") if each.isprintable())
    return NoPage(reason if _REASON.fullmatch(reason) else BAD_RESPONSE, detail)


def _page(
    url: str, status: int, headers: dict[str, str], found: ScannedRecord, most: int
) -> WebPage | NoPage:
    transfer = headers.pop("transfer-encoding", "")
    packed = headers.pop("content-encoding", "")
    if len(found.body) > most:
        return NoPage(TOO_LARGE)
    try:
        body, is_unpacked = unpacked(found.body, transfer, packed, most)
    except TooLargeBodyError:
        return NoPage(TOO_LARGE)
    except DamagedBodyError:
        return NoPage(BAD_RESPONSE)
    if not is_unpacked:
        headers["content-encoding"] = packed
    return WebPage(url, body, status, headers)
