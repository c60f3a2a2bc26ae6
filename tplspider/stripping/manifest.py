"""What a ``manifest.json`` of saved pages says about them; anybody may have written it."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING

from w3lib.url import safe_url_string

from tplspider.stripping.plain_file import PlainFileError, read_plain_file
from tplspider.web.addresses import check_host, host_of, identity, site_name, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = b"manifest.json"
_LARGEST = 8_000_000  # bytes; one of ours has 300 for each page
_LONGEST_NAME = 255
LONGEST_URL = 8000  # characters


def read_manifest(path: str) -> Iterator[tuple[bytes, str, str]]:
    """The names of files, with their addresses and encodings; rows that are out of form are not.

    A name is that of a file beside the manifest. Addresses are without user and password.
    """
    try:
        rows = json.loads(read_plain_file(path, _LARGEST))
    except (PlainFileError, ValueError, RecursionError):
        return
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name, url, encoding = (row.get(field) for field in ("file", "url", "encoding"))
            address = web_address(url) if isinstance(url, str) else ""
            if address and isinstance(name, str) and _is_name(name):
                yield name.encode(), address, _codec(encoding)


def web_address(url: str) -> str:
    """An http or https address, safe for the wire, without user and password; '' for any other.

    >>> web_address("https://me:secret@example.org/a b")
    'https://example.org/a%20b'
    """
    if len(url) > LONGEST_URL or not url[:8].lower().startswith(("http://", "https://")):
        return ""
    try:
        found = safe_url_string(without_user(url.partition("#")[0]))
        check_host(host_of(found))
        site_name(identity(found))  # the port, too, is one that can be
    except ValueError:  # UnicodeError, too
        return ""
    return found if found.isascii() else ""


def _is_name(name: str) -> bool:
    return name.isprintable() and "/" not in name and 0 < len(name) <= _LONGEST_NAME


def _codec(encoding: object) -> str:
    try:
        found = codecs.lookup(encoding) if isinstance(encoding, str) else None
    except (LookupError, ValueError):
        return ""
    # Python's table has more than encodings of texts.
    return found.name if found and found._is_text_encoding else ""  # noqa: SLF001 - as bytes.decode
