"""The text of a page for scrapy-poet: a web-poet page object, without rules for single sites."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs
from web_poet import HttpClient, HttpResponse, WebPage, cached_method, field
from web_poet.exceptions import HttpError

from tplspider.failures import reason_of
from tplspider.library import NoTextError
from tplspider.search.kinds import KINDS
from tplspider.search.session import SearchLimits, SearchOptions, SearchSession
from tplspider.search.witness import MOST, evidence
from tplspider.template.extract import PageSource, extract_template
from tplspider.template.markdown import base_address, to_markdown
from tplspider.web import page as pages
from tplspider.web.addresses import identity

if TYPE_CHECKING:
    from tplspider.items import PageTemplate


@attrs.define(slots=False)
class TemplatePage(WebPage):  # type: ignore[type-arg]  # what it returns, a subclass may say
    """The text of a page, by comparing it with a few pages of its site.

    They are loaded as additional requests: by the crawl's own downloader and settings.
    """

    http: HttpClient
    url = field(lambda page: str(page.response.url))

    @field
    async def title(self) -> str:
        return (await self.compared()).title

    @field
    async def text(self) -> str:
        return (await self.compared()).main_text

    @field
    async def markdown(self) -> str:
        html = (await self.compared()).main_html
        return to_markdown(html, base_address(self.response.text, self.url))

    @field
    async def candidates(self) -> list[str]:
        return (await self.compared()).candidates

    @cached_method
    async def compared(self) -> PageTemplate:
        """The template of the page, and what is left without it; raises NoTextError."""
        session = await self.searched()
        if not session.search and session.summary:
            outcome = session.summary.key_outcome
            raise NoTextError(f"{self.url}: {outcome}", outcome)
        wanted = evidence(session.search, session.witness)
        key, *others = (PageSource(each.page.url, self._texts[each.page]) for each in wanted)
        return await asyncio.to_thread(extract_template, key, others, seconds=120, most=MOST)

    @cached_method
    async def searched(self) -> SearchSession:
        """The search from the page, when it is over."""
        self._texts: dict[pages.Page, str] = {}
        limits = SearchLimits(for_template=True)
        session = SearchSession(self.url, SearchOptions(strategy=KINDS), limits)
        self._take_in(session, None, self.response)
        while visits := session.take():
            for visit in visits:
                try:
                    response = await self.http.get(visit.link.url, allow_status="*")
                except HttpError as error:
                    session.tell(visit.rank, pages.NoPage(reason_of(error.__cause__)))
                    continue
                if identity(url := str(response.url)) != identity(visit.link.url):
                    if known := session.judge(visit.rank, url):
                        session.tell(visit.rank, known)
                        continue
                    session.follow(visit.rank, url)
                self._take_in(session, visit.rank, response)
        return session

    def _take_in(self, session: SearchSession, rank: int | None, response: HttpResponse) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        found = pages.WebPage(str(response.url), response.body, response.status or 200, headers)
        if page := session.take_in(rank, found):
            self._texts[page] = found.text
