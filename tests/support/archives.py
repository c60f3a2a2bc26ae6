"""Archives that crawls have written, searched again."""

import json
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecord
from warcio.archiveiterator import (  # type: ignore[import-untyped]
    ArchiveIterator as WarcioIterator,
)

from tests.support.crawls import Crawl, run_scrapy

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
