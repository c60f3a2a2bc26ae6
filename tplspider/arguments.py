"""The arguments and the settings of a crawl: each a field with its parser, default and help.

They are checked once, before anything is requested. Messages name what is wrong and never show the
value, which may hold a password.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

from w3lib.url import safe_url_string

from tplspider.extraction import EXTRACTOR, load_extractor
from tplspider.items import PageTemplate
from tplspider.search.session import STRATEGIES, SearchOptions, strategy_named
from tplspider.web.addresses import LONGEST_HOST, SCOPES, clean_href, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from scrapy.settings import BaseSettings

FEED_FORMATS = ("csv", "jl", "json", "jsonl", "jsonlines", "xml")
# Settings that the storage reads.
OTHER_SETTINGS = ("ARCHIVES", "ARCHIVE_INDEX")
# What the fields of items may be filled with: the rest belongs to a search, or to its report.
_OF_SEARCHES = ("key_url", "key_html", "method", "search_id", "requested_url")
FIELD_CONTENTS = [each.name for each in fields(PageTemplate) if each.name not in _OF_SEARCHES]

# Schemes without a host: a word before a colon may be one, or a user name, or a host.
_NO_HOSTS = ("acct", "data", "javascript", "mailto", "sip", "sips", "tel", "xmpp")
_NO_USER = rf"(?:https?|{'|'.join(_NO_HOSTS)}):"
_USER = re.compile(rf"((?:[a-z][a-z0-9+.-]*:)?//|(?!{_NO_USER}))([^/?#]*)@", re.IGNORECASE)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST_AND_PORT = re.compile(r"[^/?#:@]+:[0-9]+(?:[/?#]|\Z)")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")


def whole_number(at_least: int) -> Callable[[object], int]:
    """A parser of whole numbers."""

    def parse(value: object) -> int:
        text = str(value).strip()
        if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or int(text) < at_least:
            raise ValueError(f"expected a whole number, {at_least} or more")
        return int(text)

    return parse


def seconds(value: object) -> float:
    """A parser of numbers of seconds."""
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        raise ValueError("expected a number of seconds")
    return float(text)


def one_of(*choices: str) -> Callable[[object], str]:
    """A parser of words."""

    def parse(value: object) -> str:
        if str(value) not in choices:
            raise ValueError(f"expected one of {', '.join(filter(None, choices))}")
        return str(value)

    return parse


def boolean(value: object) -> bool:
    """A parser of booleans, as Scrapy spells them."""
    text = str(value).strip().lower()
    if text not in ("1", "true", "0", "false", ""):
        raise ValueError("expected 0 or 1")
    return text in ("1", "true")


def strategy(value: object) -> str:
    """A parser of strategies: a name, or the path of a function."""
    strategy_named(str(value))
    return str(value)


def feed_file(value: object) -> str:
    """A parser of the names of feeds: a file, or ``-:json`` and the like for standard output."""
    if str(value) and feed_format(str(value)) not in FEED_FORMATS:
        endings = ", ".join(f".{each}" for each in FEED_FORMATS)
        raise ValueError(f"expected a file that ends in one of {endings}; or -:json and the like")
    return str(value)


def feed_format(name: str) -> str:
    """The format of a feed by its name: a file's extension, or what follows ``-:``.

    >>> feed_format("out.JL"), feed_format("-:csv")
    ('jl', 'csv')
    """
    if name.startswith("-:"):
        return name.removeprefix("-:").lower()
    ending = "" if name.endswith("/") else PurePosixPath(name).suffix
    return ending.removeprefix(".").lower()


def extractor(value: object) -> str:
    """A parser of the import paths of extractors."""
    if value != EXTRACTOR:  # to look at ours would load it
        load_extractor(str(value))
    return str(value)


def item_fields(value: object) -> tuple[tuple[str, str], ...]:
    """A parser of the fields of items and what goes in: a mapping, or one in JSON."""
    given = value
    with suppress(ValueError):
        given = json.loads(value or "{}") if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ValueError('expected item fields and their contents: {"text": "main_text"}')  # noqa: TRY004 - as all parsers
    for name, content in given.items():
        if not name or not isinstance(name, str):
            raise ValueError("expected the name of an item field before each colon")
        if content not in FIELD_CONTENTS:
            raise ValueError(f"expected for {name:.60}: one of {', '.join(FIELD_CONTENTS)}")
    if any(content.endswith("_markdown") for content in given.values()):
        from tplspider.template.markdown import check_markdown  # imported lazily: an extra

        check_markdown()
    return tuple(given.items())


def option(default: Any, parse: Callable[[object], Any], help_text: str) -> Any:
    """A field of a model of arguments or settings."""
    return field(default=default, metadata={"parse": parse, "help": help_text})


@dataclass(frozen=True)
class Arguments:
    """The spider arguments (``-a NAME=VALUE``)."""

    url: str = option(
        "",
        lambda value: without_credentials(str(value or "").strip()),
        "the key page; without a scheme, https is assumed",
    )
    urls: str = option("", str, "a list of key pages: a file")
    column: str = option("", str, "the column of the list with the addresses (default: url)")
    n: int = option(3, whole_number(1), "how many pages to find")
    strategy: str = option(
        "paper",
        strategy,
        f"the order in which links are tried: {', '.join(STRATEGIES)}, or package.module:function",
    )
    scope: str = option("host", one_of(*SCOPES), "what belongs to the site: host or domain")
    max_loads: int = option(100, whole_number(0), "stop after so many page loads; 0 for no limit")
    max_seconds: float = option(0, seconds, "stop after so many seconds; 0 for no limit")
    max_refusals: int = option(
        10, whole_number(0), "stop when so many links in a row are refused; 0 for no limit"
    )
    witness: int = option(
        1, lambda value: int(one_of("0", "1")(value)), "load one more page for the text if needed"
    )
    summary: str = option("", feed_file, "a file for the summary of each search")
    texts: str = option("", feed_file, "a file for the text of each key page")
    save_html: str = option("", str, "a folder for the pages as they were loaded")
    report: str = option("", str, "a report: file.html, or a folder")
    warc: str = option("", str, "a WARC file (.warc.gz) for all that is loaded")

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Check arguments as they come from a command line or a program; ValueError if wrong.

        Names that start with an underscore are not arguments: scrapyd passes ``_job``, and our own
        commands pass ``_keys``, a source of key pages.
        """
        values = {name: value for name, value in given.items() if not name.startswith("_")}
        names = [each.name for each in fields(cls)]
        for name in values:
            if name not in names:
                raise ValueError(f"unknown argument {name!r}{_guess(name, names)}")
        url, urls = str(values.get("url") or "").strip(), values.get("urls")
        if bool(url) + bool(urls) + ("_keys" in given) != 1:
            raise ValueError(
                "url or urls: give one key page (-a url=https://example.org/page),"
                " or a list of them (-a urls=FILE)"
            )
        found = cls(**parsed(cls, values))
        if url:
            key_address(url)
        return found

    @property
    def options(self) -> SearchOptions:
        """The arguments that apply to a single search."""
        return SearchOptions(**{name: getattr(self, name) for name in OPTIONS})


# A list may have these for each of its lines.
OPTIONS = tuple(each.name for each in fields(SearchOptions))


@dataclass(frozen=True)
class Config:
    """Our settings: each is the field's name in capitals, after ``TPLSPIDER_``."""

    allow_private: bool = option(
        True,
        boolean,
        "allow key pages at private addresses, and links from these (tplspider, get_text: false)",
    )
    browser_wait: float = option(
        5, seconds, "how many seconds the browser profile waits for the scripts of a page"
    )
    confine: bool = option(
        False, boolean, "allow arguments to name files only in TPLSPIDER_FEEDS_DIR"
    )
    contact: str = option("", str, "how site owners can reach you; part of the user agent")
    extract_mb: int = option(2000, whole_number(1), "memory for the text of one page, in MB")
    extract_workers: int = option(1, whole_number(1), "processes that make texts")
    extractor: str = option(EXTRACTOR, extractor, "the function that makes the text of a page")
    fail: str = option(
        "", one_of("", "unusable", "incomplete"), "which answers cause exit status 3"
    )
    fields: tuple[tuple[str, str], ...] = option(
        (),
        item_fields,
        "for [items of other spiders](fields.md): item fields and their contents, as JSON",
    )
    feeds_dir: str = option("", str, "a folder that gets the feeds of each scrapyd job")
    held_items: int = option(
        1000, whole_number(0), "with TPLSPIDER_FIELDS: how many items may wait for their site"
    )
    in_flight: int = option(1, whole_number(1), "requests of one search at the same time")
    markdown: bool = option(False, boolean, "make texts as Markdown, too")
    pool_dir: str = option(
        "", str, "with TPLSPIDER_FIELDS: a folder that keeps pools for the next crawl"
    )
    profile: str = option("", str, "the profile: browser, fast, polite ...")
    searches: int = option(16, whole_number(1), "searches of a list at the same time")
    texts: bool = option(False, boolean, "make texts even if no feed asks for them")

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        """Read and check the settings; ValueError if one is wrong or unknown."""
        known = {f"TPLSPIDER_{each.name.upper()}": each.name for each in fields(cls)}
        others = [f"TPLSPIDER_{name}" for name in OTHER_SETTINGS]
        values = {}
        for name in map(str, settings):
            if name in known and settings.get(name) is not None:
                values[known[name]] = settings.get(name)
            elif name.startswith("TPLSPIDER_") and name not in {*known, *others}:
                raise ValueError(f"unknown setting {name}{_guess(name, known)}")
        if not settings.get("TWISTED_REACTOR", "").endswith("AsyncioSelectorReactor"):
            raise ValueError("TWISTED_REACTOR: expected the asyncio reactor, Scrapy's default")
        return cls(**parsed(cls, values, "TPLSPIDER_{}"))


def check_options(values: Mapping[str, object], others: SearchOptions) -> SearchOptions:
    """The search options among *values*, checked; *others* has those that are not given."""
    given = {name: value for name, value in values.items() if name in OPTIONS}
    if str(given.get("strategy", "paper")) not in STRATEGIES:
        # A list may come from anywhere: it names no code to import.
        raise ValueError(f"strategy: expected one of {', '.join(STRATEGIES)}")
    found = parsed(Arguments, given)
    return SearchOptions(**{name: found.get(name, getattr(others, name)) for name in OPTIONS})


def parsed(model: type[Any], values: Mapping[str, object], label: str = "{}") -> dict[str, Any]:
    """The values of a model's fields, each by its parser; ValueError names one that is wrong."""
    found = {}
    for each in fields(model):
        if each.name in values:
            try:
                found[each.name] = each.metadata["parse"](values[each.name])
            except ValueError as error:
                name = label.format(each.name.upper() if label != "{}" else each.name)
                why = str(error).removeprefix(f"{each.name}: ")
                raise ValueError(f"{name}: {why}") from None
    return found


def _guess(name: str, names: Iterable[str]) -> str:
    if near := get_close_matches(name if name.isupper() else name.lower(), list(names), n=1):
        return f": did you mean {near[0]!r}?"
    return f": is it a setting (-s {name}=...)?" if name.isupper() else ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What HTTP authentication takes on one origin (scheme, host and port)."""

    origin: str
    header: bytes = field(repr=False)  # the value of Authorization


def take_credentials(given: str) -> tuple[str, str | None]:
    """An address as browsers read it, without ``user:password``; and those two, None without them.

    >>> take_credentials(" https://me:a@b@example.org/x@y ")
    ('https://example.org/x@y', 'me:a@b')
    """
    address = clean_href(given.strip())
    found = _USER.match(address)
    return (found[1] + address[found.end() :], found[2]) if found else (address, None)


def without_credentials(given: str) -> str:
    """An address as it was given, but without ``user:password``."""
    address, user = take_credentials(given)
    return given if user is None else address


def masked(given: str) -> str:
    """What may be shown of an address that is wrong: nothing before an ``@``.

    >>> masked("https://me:a/b@example.org/")
    '***@example.org/'
    """
    _, at, rest = given.rpartition("@")
    return f"***@{rest}" if at else given


def read_credentials(given: str, url: str) -> Credentials | None:
    """The credentials in the address of a key page, for the origin of *url*."""
    user = take_credentials(given)[1] or ""
    if user in ("", ":"):  # as browsers do
        return None
    name, _, password = user.partition(":")
    try:
        # Bytes that are not UTF-8 come from a command line as lone surrogates.
        pair = [part.encode("utf-8", "surrogateescape") for part in (name, password)]
    except UnicodeEncodeError:
        raise ValueError("url: a user name or password is not text") from None
    return Credentials(origin(url), b"Basic " + b64encode(b":".join(map(unquote_to_bytes, pair))))


def origin(url: str) -> str:
    """The scheme, host and port of an address; '' for one that cannot be connected to.

    >>> origin("https://Example.org/x") == origin("https://example.org:443/")
    True
    """
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (KeyError, ValueError):
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}"


def key_address(given: str) -> str:
    """The address of a key page, without credentials and fragment; https is the default.

    Raises ValueError if it cannot be one.

    >>> key_address("me:secret@example.org/x#top")
    'https://example.org/x'
    """
    url, _ = take_credentials(given)
    scheme = _SCHEME.match(url)
    if re.search(r"\s", given.strip()):
        raise ValueError("url: white space inside the address")
    if url.startswith("//"):
        url = f"https:{url}"
    elif scheme is None or (_HOST_AND_PORT.match(url) and scheme[1].lower() not in _NO_HOSTS):
        url = f"https://{url}"
    elif scheme[1].lower() not in ("http", "https"):
        raise ValueError("url: expected an http or https address")
    if len(host_of(url)) > LONGEST_HOST:  # normalising it could take minutes
        raise ValueError("url: the host name is too long")
    try:
        urlsplit(url).port  # noqa: B018 - raises ValueError for an invalid port
        safe = safe_url_string(url)
        host = urlsplit(safe).hostname or ""
    except ValueError:
        raise ValueError("url: not a valid address") from None
    if not _is_valid_host(host):
        advice = " (in a password, / ? # are written %2F %3F %23)" if "@" in given else ""
        raise ValueError(f"url: not a valid host name or address{advice}")
    return safe.partition("#")[0]


def _is_valid_host(host: str) -> bool:
    """Whether *host*, in ASCII, can be a name in the DNS or an IP address."""
    try:
        ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").lower().split(".")
        # A name whose last label is a number would be an IPv4 address, but it is not a valid one.
        return (
            len(host) <= LONGEST_HOST
            and all(_LABEL.fullmatch(label) for label in labels)
            and not labels[-1].isdecimal()
        )
    return True
