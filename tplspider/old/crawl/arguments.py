"""The arguments of a search, checked before anything is loaded."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from tplspider.old.crawl.credentials import (
    NO_HOSTS,
    Credentials,
    masked,
    read_credentials,
    take_credentials,
)
from tplspider.search.session import STRATEGIES, SearchOptions
from tplspider.web.addresses import LONGEST_HOST, SCOPES, host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The arguments that say what a search is to find: a list may have them for each of its lines.
OPTIONS = tuple(each.name for each in fields(SearchOptions))

_LIST_ENDINGS = (".csv", ".gz", ".jl", ".jsonl", ".jsonlines", ".txt")
FEED_FORMATS = ("csv", "jl", "json", "jsonl", "jsonlines", "xml")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST_AND_PORT = re.compile(r"[^/?#:@]+:[0-9]+(?:[/?#]|\Z)")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")


@dataclass(frozen=True)
class Arguments:
    """What ``-a`` says, each name being an argument and each default its default."""

    url: str = ""
    n: int = 3
    strategy: str = "paper"
    scope: str = "host"
    max_loads: int = 100
    max_seconds: float = 0
    summary: str = ""
    template: str = ""
    save_html: str = ""
    report: str = ""
    warc: str = ""
    witness: int = 1
    max_refusals: int = 10
    urls: str = ""
    column: str = ""
    # Not an argument, but what was taken off the url.
    credentials: Credentials | None = field(default=None, repr=False)

    @property
    def options(self) -> SearchOptions:
        """Those that say what a search is to find."""
        return SearchOptions(**{name: getattr(self, name) for name in OPTIONS})


def check_arguments(given: Mapping[str, object]) -> Arguments:
    """The arguments that *given* (names and values, strings or not) stands for.

    Raises ValueError, with one line that names the argument and what it should be, when any is
    wrong. Names that start with an underscore are not ours: scrapyd passes ``_job``. But with
    ``_inputs``, key pages come from a program (batch/inputs.py).
    """
    values = {name: value for name, value in given.items() if not name.startswith("_")}
    names = [each.name for each in fields(Arguments) if each.name != "credentials"]
    for name in values:
        if name not in names:
            near = get_close_matches(name.lower(), names, n=1)
            guess = f": did you mean {near[0]!r}?" if near else ""
            if name.isupper() and not near:
                guess = f": it is a setting, -s {name}=..."
            raise ValueError(f"unknown argument {name!r}{guess} (arguments: {', '.join(names)})")
    given_url, urls = str(values.get("url") or "").strip(), str(values.get("urls") or "")
    if given_url and urls:
        raise ValueError("url and urls: give one key page, or a list of them, and not both")
    if not (given_url or urls or isinstance(given.get("_inputs"), AsyncIterable)):
        raise ValueError(
            "no key page: give its address with -a url=https://example.org/page,"
            " or a file with many by -a urls=FILE"
        )
    column = str(values.get("column") or "")
    if column and not urls:
        raise ValueError(f"column={column!r} is for a list of key pages, which -a urls=FILE names")
    if PurePosixPath(given_url).suffix.lower() in _LIST_ENDINGS and Path(given_url).is_file():
        raise ValueError(f"url={given_url!r} is a file: give a list of key pages with -a urls=FILE")
    url = key_address(given_url) if given_url else ""
    options = check_options(values, SearchOptions())
    if values.get("report") == "":
        raise ValueError("report='': expected a file that ends in .html, or a folder")
    if values.get("warc") == "":
        raise ValueError("warc='': expected a file that ends in .warc.gz")
    return Arguments(
        url=url,
        urls=urls,
        column=column,
        **asdict(options),
        summary=_feed_file("summary", str(values.get("summary", Arguments.summary))),
        template=_feed_file("template", str(values.get("template", Arguments.template))),
        save_html=str(values.get("save_html", Arguments.save_html)),
        report=str(values.get("report", Arguments.report)),
        warc=str(values.get("warc", Arguments.warc)),
        credentials=read_credentials(given_url, url) if url else None,
    )


def check_options(values: Mapping[str, object], others: SearchOptions) -> SearchOptions:
    """The options among *values*, checked; *others* has those that are not given.

    Raises ValueError, in one line, like :func:`check_arguments`.
    """
    found = {**asdict(others), **{name: values[name] for name in OPTIONS if name in values}}
    return SearchOptions(
        n=_whole_number("n", found["n"], at_least=1),
        strategy=_one_of("strategy", found["strategy"], STRATEGIES),
        scope=_one_of("scope", found["scope"], SCOPES),
        max_loads=_whole_number("max_loads", found["max_loads"], at_least=0),
        max_seconds=_seconds("max_seconds", found["max_seconds"]),
        witness=int(_one_of("witness", found["witness"], ("0", "1"))),
        max_refusals=_whole_number("max_refusals", found["max_refusals"], at_least=0),
    )


def key_address(given: str) -> str:
    """The address of the key page that was meant; ValueError if it cannot be one."""
    return check_url(given).partition("#")[0]


def check_url(given: str) -> str:
    """The http or https address that was meant, without user and password; https is the default.

    >>> check_url("me:secret@example.org/x")
    'https://example.org/x'
    """
    url, _ = take_credentials(given)

    def fault(why: str) -> ValueError:
        if "@" in url:  # the rest of a password with a slash in it, perhaps: none of it is shown
            why = " is not an http or https address (in a password, / ? # are %2F %3F %23)"
        return ValueError(f"url {masked(given)!r}{why}")

    scheme = _SCHEME.match(url)
    if url.startswith("//"):
        url = f"https:{url}"
    elif scheme is None or (_HOST_AND_PORT.match(url) and scheme[1].lower() not in NO_HOSTS):
        url = f"https://{url}"
    elif scheme[1].lower() not in ("http", "https"):
        raise fault(f": {scheme[1]}: is neither http nor https")
    host = host_of(url)
    if len(host) > LONGEST_HOST:  # normalising it could take minutes
        raise ValueError(f"url: {host[:40]!r}... is a host of {len(host)} characters: not valid")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises ValueError for an invalid port
        safe = safe_url_string(url)
        valid = bool(host) and is_valid_host(urlsplit(safe).hostname or "")
    except ValueError as error:
        raise fault(f" cannot be parsed: {error}") from None
    if not host:
        raise fault(" has no host")
    if not valid:
        raise fault(f": {host!r} is not a valid host name or address")
    return safe


def is_valid_host(host: str) -> bool:
    """Whether *host*, in ASCII, can be a name in the DNS or an IP address."""
    try:
        ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").lower().split(".")
        # A name whose last label is a number would be an IPv4 address, but it is not a valid one.
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


def feed_format(name: str) -> str:
    """The format of a feed by its name: a file's extension, or what follows ``-:``.

    >>> feed_format("out.JL"), feed_format("-:csv")
    ('jl', 'csv')
    """
    if name.startswith("-:"):
        return name.removeprefix("-:").lower()
    ending = "" if name.endswith("/") else PurePosixPath(name).suffix
    return ending.removeprefix(".").lower()


def _feed_file(name: str, value: str) -> str:
    """A file for a feed of its own, or ``-:json`` and the like for standard output."""
    if value and feed_format(value) not in FEED_FORMATS:
        raise ValueError(
            f"{name}={value!r}: expected a file that ends in one of {FEED_FORMATS},"
            " or -:json and the like for standard output"
        )
    return value
