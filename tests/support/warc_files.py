"""WARC files: made by hand or from a source of pages, read strictly, and searched again."""

import gzip
import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecord
from warcio.archiveiterator import (  # type: ignore[import-untyped]
    ArchiveIterator as WarcioIterator,
)

from tests.support.crawls import Crawl, run_scrapy
from tplspider.sources.base import SiteSource, load_once
from tplspider.web.addresses import Site, identity
from tplspider.web.html import get_links, parse_html
from tplspider.web.page import NoPage, Redirect, page_fault

DATE = "2024-05-06T07:08:09Z"
HTML = "text/html; charset=utf-8"


def record(kind: str, url: str = "", content: bytes = b"", **headers: str) -> bytes:
    """A record of a type; headers by their names, with _ for -."""
    told = {
        "WARC-Type": kind,
        "WARC-Date": DATE,
        "WARC-Record-ID": f"<urn:uuid:{sha1(f'{kind} {url}'.encode()).hexdigest()}>",
        **({"WARC-Target-URI": url} if url else {}),
        "Content-Length": str(len(content)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return b"WARC/1.0\r\n" + lines.encode() + b"\r\n" + content + b"\r\n\r\n"


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """An answer of a server."""
    told = {"Content-Type": HTML, **{n.replace("_", "-"): v for n, v in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def response(url: str, body: bytes | str, status: str = "200 OK", **headers: str) -> bytes:
    """A record with an answer."""
    content = http(body.encode() if isinstance(body, str) else body, status, **headers)
    return record("response", url, content, Content_Type="application/http; msgtype=response")


def packed(records: Iterable[bytes]) -> bytes:
    """Records as they stand in a .warc.gz: one member each."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


@dataclass
class SiteRecords:
    """The records of a site, as a crawler would have written them: each content once.

    What has the content of another address is a revisit of it.
    """

    source: SiteSource
    start: list[str]
    _seen: dict[bytes, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[bytes]:
        yield record(
            "warcinfo", content=b"software: tests\r\n", Content_Type="application/warc-fields"
        )
        known = {identity(url) for url in self.start}
        queue = deque(self.start)
        while queue:
            url = queue.popleft()
            found = load_once(self.source, url)
            links: list[str] = []
            yield record("request", url, b"GET / HTTP/1.1\r\n\r\n", Content_Type="application/http")
            if isinstance(found, Redirect):
                links = [found.url]
                yield response(url, "", "301 Moved", Location=found.url)
            elif isinstance(found, NoPage) and not found.reason.startswith("http-"):
                yield record("metadata", url, f"tplspider-outcome: {found.reason}\r\n".encode())
            elif isinstance(found, NoPage) or found.status != 200:
                status = found.reason[5:] if isinstance(found, NoPage) else found.status
                yield response(url, "Nothing here.", f"{status} Nothing")
            else:
                yield self._page(url, found.body, found.headers.get("content-type", ""))
                if not page_fault(found):
                    site = Site(identity(url))
                    links = [
                        each.url
                        for each in get_links(parse_html(found.text), url, site, found.encoding)
                    ]
            for link in links:
                if (name := identity(link)) not in known:
                    known.add(name)
                    queue.append(link)

    def _page(self, url: str, body: bytes, kind: str) -> bytes:
        digest = sha1(body).digest()
        if (first := self._seen.setdefault(digest, url)) != url:
            profile = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
            head = http(b"", Content_Type=kind)
            told = {"WARC_Refers_To_Target_URI": first, "WARC_Profile": profile}
            return record("revisit", url, head, Content_Type="application/http", **told)
        stored = zlib.compress(body) if digest[0] % 2 else body
        return response(
            url, stored, Content_Type=kind, Content_Encoding="deflate" if digest[0] % 2 else ""
        )


# What depends on time, and on other searches.
_NOT_COMPARED = ("wasted", "shared")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a feed, by key page and rank, as far as they can be compared."""
    text = path.read_text("utf-8")
    found = json.loads(text) if path.suffix == ".json" else map(json.loads, text.splitlines())
    shown = [{k: v for k, v in row.items() if k not in _NOT_COMPARED} for row in found]
    return sorted(shown, key=lambda row: (row["requested_url"], row["search_id"], str(row)))


def search_again(folder: Path, archive: Path, keys: Path, *options: str) -> Crawl:
    """Search in an archive, without a network; feeds go to *folder*."""
    folder.mkdir()
    done = run_scrapy(
        *("archive", str(archive), f"-i{keys}", f"-O{folder / 'out.jl'}", *options),
        f"--summary={folder / 'summary.jl'}",
        folder=folder,
    )
    assert "Traceback" not in done.log, done.log
    return done


def members(data: bytes) -> list[bytes]:
    """The gzip members of a file, each unpacked: all of it must be members."""
    found = []
    while data:
        unpacker = zlib.decompressobj(31)
        found.append(unpacker.decompress(data))
        assert unpacker.eof
        data = unpacker.unused_data
    return found


def records(path: Path) -> list[WarcRecord]:
    """All records, as FastWARC reads them; it and warcio check their digests."""
    data = path.read_bytes()
    for record in WarcioIterator(BytesIO(data), check_digests="raise"):
        packing = record.http_headers and record.http_headers.get_header("Content-Encoding")
        # warcio 1.8 cannot unpack with brotli 1.2; digests are those of the packed bytes anyway.
        (record.raw_stream if "br" in (packing or "") else record.content_stream()).read()
    found = []
    for record in ArchiveIterator(BytesIO(data), parse_http=False):
        record.freeze()
        is_answer = record.headers["WARC-Type"] in ("response", "revisit")
        if is_answer:
            assert record.verify_block_digest(consume=False)
        if is_answer or record.headers["WARC-Type"] == "request":
            record.parse_http()
        if record.headers["WARC-Type"] == "response":
            assert record.verify_payload_digest(consume=False)
        found.append(record)
    # One record in each member, and nothing else.
    assert len(found) == len(members(data))
    return found
