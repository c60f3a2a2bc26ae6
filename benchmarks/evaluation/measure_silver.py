"""Measures the texts of key pages that nobody has labelled, by what is on the whole site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.evaluation.fault_lines import say, why
from benchmarks.evaluation.key_page import KeyPage, PagesRead
from benchmarks.evaluation.labelled_site import CorpusError
from benchmarks.evaluation.measure import TEXTS, page_level_texts
from benchmarks.evaluation.silver import SitePage, label_lines, pages_beside
from benchmarks.evaluation.silver_lines import lines_of
from benchmarks.evaluation.silver_score import SilverScore, score_text
from benchmarks.evaluation.unlabelled_site import UnlabelledSite, unlabelled_sites
from tplspider.sources.base import load_once
from tplspider.web.page import WebPage, page_fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.evaluation.plan import Plan
    from benchmarks.evaluation.text_extractors import Extractor


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a key page: whose it is, what the search for it took, and how many pages told."""

    whose: str
    text: str
    size: int = 0
    loads: int = 1
    all_loads: int = 1
    evidence: int | None = None


@dataclass(frozen=True, slots=True)
class TextResult:
    """A text and its score; *sound*, the site tells the page's own text from boilerplate."""

    site: str
    key_page: str
    sound: bool
    text: Text
    score: SilverScore


def measure_texts(plan: Plan, extractors: Mapping[str, Extractor]) -> list[TextResult]:
    """Measure every key page; one that cannot be measured gets a line on standard error."""
    sites = unlabelled_sites(plan.corpus)
    plan.check_sites(site.name for site in sites)
    found: list[TextResult] = []
    for site in sites:
        if not plan.sites or site.name in plan.sites:
            found += _on_site(site, plan, extractors)
    if not found:
        raise CorpusError(f"--silver {plan.corpus}: there is no key page that can be measured")
    return found


def _on_site(
    site: UnlabelledSite, plan: Plan, extractors: Mapping[str, Extractor]
) -> Iterator[TextResult]:
    reader = PagesRead()
    pages: list[SitePage] = []
    for path, sound in site.keys:
        try:
            key = KeyPage(site.pages, site.key_page(path), reader)
            pages = pages or site_pages(site)
            lines = SitePage(_path(site, key.page.url), lines_of(key.page.text, key.page.url))
            labels = label_lines(lines, pages_beside(lines, pages))
            texts = [*_our_texts(key, plan), *_other_texts(site.name, key, extractors)]
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            say(f"{site.name}: {path}", why(error), "It is left out.")
            continue
        for text in texts:
            score = score_text(lines.texts, labels, text.text)
            yield TextResult(site.name, path, sound, text, score)


def site_pages(site: UnlabelledSite) -> list[SitePage]:
    """The pages of a site, by the names of their files; a file that redirects is not one."""
    found = []
    for file in site.pages.files():
        url = site.pages.address(file)
        page = load_once(site.pages, url)
        if isinstance(page, WebPage) and not page_fault(page):
            found.append(SitePage(_path(site, url), lines_of(page.text, url)))
    return found


def _path(site: UnlabelledSite, url: str) -> str:
    return url.removeprefix(site.pages.url).partition("?")[0]


def _our_texts(key: KeyPage, plan: Plan) -> Iterator[Text]:
    for strategy in plan.strategies:
        for size in plan.sizes:
            choice = key.choose(strategy, size, plan)
            template = key.extract(choice)
            for name in TEXTS:
                text: str = getattr(template, name)
                yield Text(
                    f"{strategy}: {name}",
                    text,
                    size,
                    loads=choice.loads,
                    all_loads=choice.all_loads,
                    evidence=template.evidence,
                )


def _other_texts(site: str, key: KeyPage, extractors: Mapping[str, Extractor]) -> Iterator[Text]:
    for name, text in page_level_texts(site, key.page.text, extractors):
        yield Text(name, text)
