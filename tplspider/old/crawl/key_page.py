"""A key page that somebody asks for, with what is to be searched from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.arguments import Arguments, check_options, key_address
from tplspider.old.crawl.credentials import Credentials, read_credentials, without_credentials
from tplspider.search.session import SearchOptions, search_id
from tplspider.web.addresses import host_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tplspider.old.crawl.batch.key_list import ListLine


@dataclass(frozen=True, slots=True)
class KeyPage:
    """The key page of a search: *url* is what will be requested, *requested_url* what was given.

    If it comes from a list, *line* is its number there, and *input* has fields of the user's own.
    """

    url: str
    requested_url: str
    options: SearchOptions
    credentials: Credentials | None = field(default=None, repr=False)
    line: int | None = None
    mark: bytes = b""  # of the line, to know it again
    input: Mapping[str, Any] | None = None

    @property
    def search_id(self) -> str:
        return search_id(self.url, self.options)

    @property
    def host(self) -> str:
        """Whose pace its search has to keep."""
        return host_of(self.url).lower()


def key_page_of(arguments: Arguments, requested_url: str) -> KeyPage:
    """The one key page that the arguments of a crawl name."""
    return KeyPage(arguments.url, requested_url, arguments.options, arguments.credentials)


def key_page_of_line(line: ListLine, options: SearchOptions) -> KeyPage:
    """The key page of a line, with *options* where it has none; ValueError if it will not do."""
    if line.fault:
        raise ValueError(line.fault)
    given = str(line.values.get("url") or "")
    if not given.strip():
        raise ValueError("no address")
    url = key_address(given)
    return KeyPage(
        url,
        without_credentials(given),
        check_options(line.values, options),
        read_credentials(given, url),
        line.number,
        line.mark,
        line.input,
    )
