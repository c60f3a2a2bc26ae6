"""The part of an address that names a host, looked at before anything else is.

Whatever parses an address normalises a host beyond ASCII first, and for a host of a million
characters, or a password of that length, this takes minutes. So what is said of them here is found
by plain searches of the string.
"""

from __future__ import annotations

from string import ascii_letters, digits

LONGEST_HOST = 253  # of a name in the DNS

_SCHEME = frozenset(ascii_letters + digits + "+-.")


def is_elsewhere(href: str) -> bool:
    """Whether an address names a scheme, and one that is neither http nor https.

    >>> is_elsewhere("mailto:me@example.org"), is_elsewhere("a/b:c")
    (True, False)
    """
    scheme, colon, _ = href.partition(":")
    return (
        bool(colon)
        and scheme[:1].isalpha()
        and _SCHEME.issuperset(scheme)
        and scheme.lower() not in ("http", "https")
    )


def without_user(href: str) -> str:
    """An address, absolute or not, without ``user:password@``.

    Raises ValueError when its host is longer than a host can be, or its port is not a number.

    >>> without_user("//me:secret@example.org/a@b")
    '//example.org/a@b'
    >>> without_user("///me:secret@example.org/")
    Traceback (most recent call last):
    ValueError: a user where browsers find one, and others a path
    """
    before, authority, rest = _split(href)
    if not authority:
        if _hides_user(href):
            raise ValueError("a user where browsers find one, and others a path")
        return href
    _, user, host_and_port = authority.rpartition("@")
    host, port = _host_and_port(host_and_port)
    check_host(host)
    if port and not (port.isascii() and port.isdigit()):
        raise ValueError("a port that is not a number")
    return f"{before}{host_and_port}{rest}" if user else href


def _hides_user(href: str) -> bool:
    """Whether a browser, which takes any number of slashes for two, would find a user in it."""
    scheme, colon, rest = href.partition(":")
    if colon and scheme.lower() in ("http", "https"):
        href = rest
    elif not href.startswith("///"):
        return False
    start = href.lstrip("/")
    end = min((i for i in map(start.find, "/?#") if i >= 0), default=len(start))
    return "@" in start[:end]


def check_host(host: str) -> None:
    """Raise ValueError for a host that is empty, or longer than a host can be."""
    if not host:
        raise ValueError("no host")
    if len(host) > LONGEST_HOST:
        raise ValueError(f"a host of {len(host)} characters")


def host_of(url: str) -> str:
    """The host of an address, as it is written; '' if it has none.

    >>> host_of("http://me:secret@example.org:8000/")
    'example.org'
    """
    return _host_and_port(_split(url)[1].rpartition("@")[2])[0]


def _split(href: str) -> tuple[str, str, str]:
    """What stands before the authority, the authority itself, and what follows."""
    scheme, slashes, rest = href.partition("//")
    if not slashes or scheme.lower() not in ("", "http:", "https:"):
        return "", "", href
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    return scheme + slashes, rest[:end], rest[end:]


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, port = authority.partition("]")
        return host + bracket, port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port
