"""What comes with the extra for archives, imported in one place: it may not be there."""

from __future__ import annotations

import sys
import warnings

try:
    from brotli import Decompressor as BrotliDecompressor  # type: ignore[import-untyped]  # none
    from brotli import error as BrotliError  # noqa: N812 - a class, whatever it is called

    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError
    else:
        from backports.zstd import ZstdDecompressor, ZstdError
    with warnings.catch_warnings():
        # FastWARC warns of classes of its own that it keeps for others.
        warnings.simplefilter("ignore", DeprecationWarning)
        from fastwarc.stream_io import FastWARCError
        from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecord, WarcRecordType
except ImportError as error:
    raise ImportError(
        f"WARC files need more than is installed ({error}): pip install -e '.[archive]' in a clone"
    ) from error

__all__ = [
    "ArchiveIterator",
    "BrotliDecompressor",
    "BrotliError",
    "FastWARCError",
    "WarcHeader",
    "WarcRecord",
    "WarcRecordType",
    "ZstdDecompressor",
    "ZstdError",
]
