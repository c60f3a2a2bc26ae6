"""A website as files in a folder, and the search over it without a network."""

from __future__ import annotations

import os
from mimetypes import MimeTypes
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from tplspider.crawl.failures import response_reason
from tplspider.crawl.redirect_targets import meta_refresh
from tplspider.search.window import SubdigraphSearch
from tplspider.web.addresses import Address, identity
from tplspider.web.html import parse_html
from tplspider.web.links import get_links
from tplspider.web.page import Page, read_page
from tplspider.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from tplspider.search.strategies import Strategy

_TYPES = MimeTypes()  # Python's own list: that of the machine would make its pages those of others
_LONGEST_DELAY, _MOST_REDIRECTS = 5, 20  # of what counts as a redirect, see docs/method.md


def find_file(folder: Traversable, path: str) -> Traversable | None:
    """The file that the path of an address stands for, if there is one inside the folder."""
    names = [name for name in os.fsdecode(unquote_to_bytes(path)).split("/") if name]
    if any(name in (".", "..") for name in names):
        return None
    found = folder
    for name in names:
        found = found / name
    if path.endswith("/"):
        found = found / "index.html"
    try:
        return found if found.is_file() else None
    except (OSError, ValueError):  # no file can have such a name
        return None


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; there is none with a name that is too long to be one."""
    try:
        return path.is_dir()
    except OSError:
        return False


class SavedSite:
    """The website whose document root is a folder; its host is the folder's name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"http://{quote(os.fsencode(folder.name.lower()))}"
        self._loaded: dict[str, HtmlResponse | Address | str] = {}
        self._sites: dict[str, Site] = {}
        self._read: dict[tuple[str, Site], Page] = {}
        self._files: list[Path] | None = None

    def read(self, file: Traversable) -> bytes:
        """What a file holds; an OSError names it, also where the system would not."""
        try:
            return file.read_bytes()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(file)) from None

    def files(self) -> list[Path]:
        """The files that may be pages, by their names, in an order that is the same everywhere."""
        if self._files is None:
            files = [file for file in self.folder.rglob("*") if file.is_file()]
            pages = [
                file for file in files if "html" in (_TYPES.guess_type(file.name)[0] or "html")
            ]
            self._files = sorted(pages, key=lambda file: file.relative_to(self.folder).parts)
        return self._files

    def address(self, file: Path) -> str:
        """The address of a file; that of its directory for an ``index.html``."""
        path = file.relative_to(self.folder).as_posix()
        if file.name == "index.html":
            path = path.removesuffix("index.html")
        return f"{self.url}/{quote(os.fsencode(path))}"

    def load(self, url: str) -> HtmlResponse | Address | str:
        """A page, the address that it redirects to, or the reason why there is none."""
        if url not in self._loaded:
            self._loaded[url] = self._load(url)
        return self._loaded[url]

    def page(self, url: str) -> HtmlResponse | str:
        """The page at the end of the redirects, or the reason why there is none."""
        for _ in range(_MOST_REDIRECTS):
            answer = self.load(url)
            if not isinstance(answer, Address):
                return answer
            url = answer.url
        return "bad-response"

    def search(
        self,
        key_url: str,
        strategy: Strategy | None,
        *,
        size: int = 3,
        max_loads: int = 100,
        enough: Callable[[SubdigraphSearch], bool] | None = None,
    ) -> SubdigraphSearch | None:
        """The search from a key page, driven to its end; None if the key page is no page.

        Without a strategy, links are taken up in document order. Whoever calls may want to end it
        sooner, once they have *enough*.
        """
        response = self.page(key_url)
        if isinstance(response, str):
            return None
        root, url = parse_html(response.text), response.url
        site = self._sites.setdefault(urlsplit(url).netloc, Site(identity(url)))
        search = SubdigraphSearch(
            self._page(response, site),
            get_links(root, url, site, response.encoding),
            strategy=strategy,
            size=size,
            max_loads=max_loads,
        )
        while visits := search.take():
            for visit in visits:
                search.tell(visit.rank, self._answer(search, visit.rank, visit.link.url, site))
            if enough and enough(search):
                search.stop("enough")
        return search

    def _answer(
        self, search: SubdigraphSearch, rank: int, url: str, site: Site
    ) -> Page | Address | str:
        for _ in range(_MOST_REDIRECTS):
            answer = self.load(url)
            if isinstance(answer, str):
                return answer
            if isinstance(answer, HtmlResponse):
                return self._page(answer, site)
            if answer.identity not in site:
                return "offsite-redirect"
            if search.knows(answer.identity, rank):
                return answer
            search.follow(rank, answer.identity)
            url = answer.url
        return "bad-response"

    def _page(self, response: HtmlResponse, site: Site) -> Page:
        # Many searches of one site meet the same pages, and reading one is what takes time.
        key = (response.url, site)
        if key not in self._read:
            root = parse_html(response.text)
            self._read[key] = read_page(root, response.url, site, response.encoding)
        return self._read[key]

    def _load(self, url: str) -> HtmlResponse | Address | str:
        path, query = urlsplit(url)[2:4]
        # Some mirrors keep the query in the file's name; of other files it chooses nothing.
        with_query = find_file(self.folder, f"{path}?{query}") if query else None
        file = with_query or find_file(self.folder, path)
        if file is None:
            if not path.endswith("/") and find_file(self.folder, f"{path}/"):
                return _address(urljoin(url, f"{path}/"))
            return "http-404"
        body = self.read(file)
        kind = _TYPES.guess_type(file.name)[0]
        headers = Headers({"Content-Type": kind} if kind else {})
        response_class = responsetypes.from_args(headers=headers, url=url, body=body)
        response = response_class(url, headers=headers, body=body)
        reason = response_reason(response)
        if reason:
            return reason
        assert isinstance(response, HtmlResponse)
        delay, target = meta_refresh(response, ["noscript"]) or (0.0, url)
        address = _address(target)
        return (
            address if delay <= _LONGEST_DELAY and address.identity != identity(url) else response
        )


def _address(url: str) -> Address:
    url = url.partition("#")[0]
    return Address(url, identity(url))
