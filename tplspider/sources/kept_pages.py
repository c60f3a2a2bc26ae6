"""The pages of a search as they came, kept until it is over: in a file, not in memory."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from io import SEEK_END
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from tplspider.web.page import Page, WebPage

if TYPE_CHECKING:
    from typing import IO


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page as it came. *link* is the address that was requested, '' for the key page.

    Its *role* in the search is that of the key page, a member, an explored page, or a witness.
    """

    url: str
    link: str
    encoding: str
    body: bytes
    role: str = ""

    @property
    def html(self) -> str:
        """The page as the search read it."""
        return WebPage(self.url, self.body, given_encoding=self.encoding).text


class KeptPages:
    """The bodies of pages, in one temporary file without a name.

    The system takes it away when it is closed, whatever way the process ends.
    """

    def __init__(self) -> None:
        self.fault: OSError | None = None  # why a page could not be kept
        self._file: IO[bytes] | None = None  # made for the first page
        self._places: dict[Page, tuple[int, int, str]] = {}

    def keep(self, page: Page, source: WebPage) -> None:
        """Keep what *page* was read from, if it can be; a full disk costs the page alone."""
        body = source.body
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, SEEK_END)
            if self._file.write(body) < len(body):
                raise OSError("no space left for it")  # noqa: TRY301 - as the system's own
        except OSError as error:
            self.fault = error
            logger.warning("%s cannot be kept: %s", page.url, error)
            return
        self._places[page] = start, len(body), source.encoding

    def get(self, page: Page, link: str = "", role: str = "") -> KeptPage | None:
        """The page as it came, if it was kept."""
        if self._file is None or page not in self._places:
            return None
        start, size, encoding = self._places[page]
        self._file.seek(start)
        return KeptPage(page.url, link, encoding, self._file.read(size), role)

    def close(self) -> None:
        """Let go of all pages."""
        self._places.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
