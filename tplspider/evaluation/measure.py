"""Measures what is found on the sites of a corpus, against their labels."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from tplspider.evaluation.labelled_site import LabelError, labelled_sites
from tplspider.evaluation.labels import number_elements
from tplspider.evaluation.page_choice import CHOICES, Choice, Request
from tplspider.evaluation.scores import Score, score_elements, score_texts
from tplspider.search.reading import read_web_page
from tplspider.sources.base import load_page
from tplspider.template.extract import PageSource, compare, extract_template
from tplspider.template.text_lines import text_lines
from tplspider.web.html import parse_html
from tplspider.web.web_page import WebPage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tplspider.evaluation.labelled_site import LabelledSite
    from tplspider.evaluation.labels import Labels
    from tplspider.evaluation.plan import Plan
    from tplspider.evaluation.text_extractors import Extractor
    from tplspider.search.options import SearchLimits
    from tplspider.web.answers import NoPage
    from tplspider.web.page import Page
    from tplspider.web.site import Site

OURS = "tplspider"


@dataclass(frozen=True, slots=True)
class SiteResult:
    """What one strategy found on one site, for one size."""

    strategy: str
    size: int
    site: str
    score: Score
    choice: Choice
    elements: int = 0  # that count
    template: int = 0  # of them, by the labels
    found: int = 0  # of them, by the extractor

    @property
    def complete(self) -> bool:
        """Whether there were as many pages as asked for, which makes a CS an n-CS."""
        return len(self.choice.pages) >= self.size


@dataclass(slots=True)
class Measurements:
    """All that was measured on a corpus; texts by the name of their extractor and by site."""

    results: list[SiteResult] = field(default_factory=list)
    texts: dict[str, dict[str, Score]] = field(default_factory=dict)


def measure(plan: Plan, extractors: Mapping[str, Extractor]) -> Measurements:
    """Measure every site; one that cannot be measured gets a line on standard error, and zeros."""
    measured = Measurements()
    if plan.extractors:
        measured.texts = {name: {} for name in (OURS, *extractors)}
    cases = list(product(plan.strategies, plan.sizes))
    for site in labelled_sites(plan.corpus):
        name = site.folder.name[:255]  # no folder has a longer one
        try:
            on_site = _SiteMeasure(site, site.labels())
            results = [on_site.result(*case, plan.max_loads) for case in cases]
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sites go on
            _say(name, _why(error), "It counts as 0.")
            measured.results += [
                SiteResult(*case, name, Score(), Choice((), 0, "broken")) for case in cases
            ]
            continue
        measured.results += results
        if plan.extractors:
            for extractor, score in _score_texts(on_site, plan, extractors).items():
                measured.texts[extractor][name] = score
    return measured


def _score_texts(
    site: _SiteMeasure, plan: Plan, extractors: Mapping[str, Extractor]
) -> dict[str, Score]:
    """The scores of our text and of those of the others; none where no main text is labelled."""
    name, wanted = site.name, site.main_text()
    if not wanted.strip():
        _say(name, "no main text is labelled", "It is left out of the table of texts.")
        return {}
    scores = {}
    for extractor in (OURS, *extractors):
        try:
            if extractor == OURS:
                found = site.our_text(plan)
            else:
                found = extractors[extractor](site.key.text)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            _say(name, f"{extractor} failed ({_why(error)})", "It counts as 0.")
            found = ""
        scores[extractor] = score_texts(found, wanted)
    return scores


class _SiteMeasure:
    """The measurements of one site. What was once compared is not compared again."""

    def __init__(self, site: LabelledSite, labels: Labels) -> None:
        self.site = site
        self.name = site.folder.name
        self.labels = labels
        self.key = site.key_page()
        self._found: dict[tuple[str, ...], frozenset[int]] = {}
        self._pages: dict[tuple[str, Site], Page | NoPage] = {}

    def result(self, strategy: str, size: int, max_loads: int) -> SiteResult:
        """What a strategy finds; zeros where it finds nothing."""
        choice = CHOICES[strategy](self._request(size, max_loads))
        if choice.pages not in self._found:
            self._found[choice.pages] = self._template(choice)
        found, labels = self._found[choice.pages], self.labels
        return SiteResult(
            strategy,
            size,
            self.name,
            score_elements(found, labels.template),
            choice,
            elements=len(labels.counted),
            template=len(labels.template),
            found=len(found),
        )

    def main_text(self) -> str:
        """The visible text in the elements that are labelled as the main content, all of it.

        Leaving out what is template inside them would be right for us, whose content is what is
        not template, and wrong for extractors that were made to find the main content.
        """
        numbers = number_elements(parse_html(self.key.text))
        main = [element for element, n in numbers.items() if n in self.labels.main_content]
        return "\n".join(line for element in main for line in text_lines(element))

    def our_text(self, plan: Plan) -> str:
        """What our template leaves of the key page: all that it is not, main text or not."""
        choice = CHOICES["paper"](self._request(plan.text_size, plan.max_loads))
        template = extract_template(self._source(self.key), self._sources(choice))
        return template.content_text if template else ""

    def _template(self, choice: Choice) -> frozenset[int]:
        """The numbers of the elements that count and that the extractor takes for template."""
        comparison = compare(self._source(self.key), self._sources(choice))
        if comparison is None:
            return frozenset()
        elements = comparison.key.elements
        numbers = number_elements(elements[0])
        pairs = zip(elements, comparison.template, strict=True)
        return self.labels.counted & {numbers[element] for element, template in pairs if template}

    def _sources(self, choice: Choice) -> list[PageSource]:
        pages = (load_page(self.site.pages, url) for url in choice.pages)
        return [self._source(page) for page in pages if isinstance(page, WebPage)]

    def _request(self, size: int, max_loads: int) -> Request:
        return Request(self.site.pages, self.key, size, max_loads, self._read)

    def _read(self, page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
        # Many searches of one site meet the same pages, and reading one is what takes time.
        if (page.url, site) not in self._pages:
            self._pages[page.url, site] = read_web_page(page, site, limits)
        return self._pages[page.url, site]

    def _source(self, page: WebPage) -> PageSource:
        return PageSource(page.url, page.text)


def _why(error: Exception) -> str:
    """What went wrong, in words where it is the fault of the corpus."""
    if isinstance(error, LabelError):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} cannot be read ({error.strerror})"
    return repr(error)


def _say(site: str, what: str, consequence: str) -> None:
    """Tell it in one line; names in tables may be anything."""
    print(f"{_short(site, 80)}: {_short(what, 300)}. {consequence}", file=sys.stderr)


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}..."
