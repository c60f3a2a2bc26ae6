"""The draw of pages: which of very many are taken, the same ones on every machine."""

from __future__ import annotations

from hashlib import blake2b

_DRAW = blake2b(digest_size=8)


def place_of(identity: str) -> int:
    """The place of the page with this identity in every draw of pages, the same on every machine.

    It is a number of 64 bits that tells an address from others, too.
    """
    drawn = _DRAW.copy()  # half the time of a new one
    drawn.update(identity.encode("utf-8", "replace"))
    return int.from_bytes(drawn.digest())
