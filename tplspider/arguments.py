"""The arguments of a search, checked before anything is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from tplspider.site import SCOPES
from tplspider.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FEED_FORMATS = ("csv", "jl", "json", "jsonl", "jsonlines", "xml")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST_AND_PORT = re.compile(r"[^/?#:@]+:[0-9]+(?:[/?#]|\Z)")
_NO_HOSTS = frozenset({"data", "javascript", "mailto", "tel"})  # before a number, too
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")


@dataclass(frozen=True)
class Arguments:
    """What ``-a`` says, each name being an argument and each default its default."""

    url: str
    n: int = 3
    strategy: str = "paper"
    scope: str = "host"
    max_loads: int = 100
    max_seconds: float = 0
    summary: str = ""
    template: str = ""
    save_html: str = ""


def check_arguments(given: Mapping[str, object]) -> Arguments:
    """The arguments that *given* (names and values, strings or not) stands for.

    Raises ValueError, with one line that names the argument and what it should be, when any is
    wrong. Names that start with an underscore are not ours: scrapyd passes ``_job``.
    """
    values = {name: value for name, value in given.items() if not name.startswith("_")}
    names = [field.name for field in fields(Arguments)]
    for name in values:
        if name not in names:
            near = get_close_matches(name.lower(), names, n=1)
            guess = f": did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown argument {name!r}{guess} (arguments: {', '.join(names)})")
    if not str(values.get("url") or "").strip():
        raise ValueError("no key page: give its address with -a url=https://example.org/page")
    return Arguments(
        url=check_url(str(values["url"])).partition("#")[0],
        n=_whole_number("n", values.get("n", Arguments.n), at_least=1),
        strategy=_one_of("strategy", values.get("strategy", Arguments.strategy), STRATEGIES),
        scope=_one_of("scope", values.get("scope", Arguments.scope), SCOPES),
        max_loads=_whole_number(
            "max_loads", values.get("max_loads", Arguments.max_loads), at_least=0
        ),
        max_seconds=_seconds("max_seconds", values.get("max_seconds", Arguments.max_seconds)),
        summary=_feed_file("summary", str(values.get("summary", Arguments.summary))),
        template=_feed_file("template", str(values.get("template", Arguments.template))),
        save_html=str(values.get("save_html", Arguments.save_html)),
    )


def check_url(given: str) -> str:
    """The http or https address that was meant, https where no scheme is given.

    >>> check_url("example.org/x")
    'https://example.org/x'
    """
    url = given.strip()
    scheme = _SCHEME.match(url)
    if url.startswith("//"):
        url = f"https:{url}"
    elif scheme is None or (
        _HOST_AND_PORT.match(url) and "://" not in url and scheme[1].lower() not in _NO_HOSTS
    ):
        url = f"https://{url}"
    elif scheme[1].lower() not in ("http", "https"):
        raise ValueError(f"url {given!r}: {scheme[1]}: is neither http nor https")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises ValueError for a port that is none
        safe = safe_url_string(url)
        valid = bool(host) and is_valid_host(urlsplit(safe).hostname or "")
    except ValueError as error:
        raise ValueError(f"url {given!r} cannot be parsed: {error}") from None
    if not host:
        raise ValueError(f"url {given!r} has no host")
    if not valid:
        raise ValueError(f"url {given!r}: {host!r} is no valid host name or address")
    return safe


def is_valid_host(host: str) -> bool:
    """Whether *host*, in ASCII, can be a name in the DNS or an IP address."""
    try:
        ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").lower().split(".")
        # A name whose last label is a number would be an IPv4 address, and it is no good one.
        return (
            len(host) <= 253
            and all(_LABEL.fullmatch(label) for label in labels)
            and not labels[-1].isdecimal()
        )
    return True


def _whole_number(name: str, value: object, *, at_least: int) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or int(text) < at_least:
        raise ValueError(f"{name}={text[:40]!r}: expected a whole number, {at_least} or more")
    return int(text)


def _seconds(name: str, value: object) -> float:
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        raise ValueError(f"{name}={text!r}: expected a number of seconds, 0 for no limit")
    return float(text)


def _one_of(name: str, value: object, choices: Iterable[str]) -> str:
    text = str(value)
    if text not in choices:
        raise ValueError(f"{name}={text!r}: expected one of {', '.join(choices)}")
    return text


def _feed_file(name: str, value: str) -> str:
    """A file for a feed of its own, whose format is that of its extension."""
    ending = "" if value.endswith("/") else PurePosixPath(value).suffix.lower()
    if value and ending.removeprefix(".") not in FEED_FORMATS:
        raise ValueError(f"{name}={value!r}: expected a file that ends in one of {FEED_FORMATS}")
    return value
