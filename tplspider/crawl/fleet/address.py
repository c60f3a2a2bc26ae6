"""Where the queue is: TPLSPIDER_QUEUE and its password, which nobody gets to read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from scrapy.settings import SETTINGS_PRIORITIES

from tplspider.crawl.credentials import masked

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

ADDRESS, PASSWORD = "TPLSPIDER_QUEUE", "TPLSPIDER_QUEUE_PASSWORD"

_NAME = re.compile(r"[^\s:{}*?\[\]\\/]{1,100}")
_WHY = "process lists, and scrapyd, show arguments"


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """A Redis: *url* is without user and password."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.url


def queue_address(settings: BaseSettings) -> QueueAddress:
    """The address that the settings or the environment name.

    Raises ValueError, in one line and without the password, when there is none or it is wrong.
    """
    given = str(_given(settings, ADDRESS) or "").strip()
    if not given:
        raise ValueError(
            f"no queue: set {ADDRESS}, as a setting or in the environment, to redis://HOST:PORT/0"
        )
    fault = f"{ADDRESS}={masked(given.partition('?')[0])!r}"
    try:
        parts = urlsplit(given)
        port = parts.port or 6379
    except ValueError:
        raise ValueError(f"{fault}: expected redis://HOST:PORT/0") from None
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise ValueError(f"{fault}: expected redis://HOST:PORT/0, or rediss:// for TLS")
    if not re.fullmatch(r"/?[0-9]*", parts.path) or parts.fragment:
        raise ValueError(f"{fault}: after the host, expected the number of a database, as in /0")
    options = parse_qs(parts.query, keep_blank_values=True)
    if not all(option.startswith("ssl_") for option in options):
        raise ValueError(
            f"{fault}: after the ?, expected options of TLS (ssl_...) alone; a password belongs"
            f" into {PASSWORD}"
        )
    if parts.password and _is_argument(settings, ADDRESS):
        raise ValueError(
            f"{fault}: not with its password, as {_WHY}: set {PASSWORD} in the environment"
        )
    if settings.get(PASSWORD) and _is_argument(settings, PASSWORD):
        raise ValueError(f"{PASSWORD} as an argument: {_WHY}: set it in the environment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = urlunsplit((parts.scheme, f"{host}:{port}", parts.path or "/0", parts.query, ""))
    password = str(_given(settings, PASSWORD) or "") or unquote(parts.password or "")
    return QueueAddress(url, unquote(parts.username or ""), password)


def check_queue_name(name: str) -> str:
    """The name of a queue, if it can be one; ValueError, in one line, if it cannot."""
    if re.match(r"rediss?://", name.strip(), re.IGNORECASE):
        raise ValueError(
            f"queue: expected the name of a queue; the address of Redis belongs into {ADDRESS},"
            f" its password into {PASSWORD} ({_WHY})"
        )
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"queue={name[:100]!r}: expected a name that has no space and none of :{{}}*? in it"
        )
    return name


def _given(settings: BaseSettings, name: str) -> object:
    """A setting; else what the environment has. A server that is not to be led elsewhere has both.

    In a job of scrapyd's, what the job itself says does not count (TPLSPIDER_CONFINE).
    """
    value = settings.get(name)
    if value and not (settings.getbool("TPLSPIDER_CONFINE") and _is_argument(settings, name)):
        return value
    if value:
        raise ValueError(f"{name}: a job cannot say where the queue is, the server's settings do")
    return os.environ.get(name)


def _is_argument(settings: BaseSettings, name: str) -> bool:
    return (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]
