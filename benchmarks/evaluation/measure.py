"""Measures templates against labels, and texts of key pages without labels by the whole site."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.evaluation.choices import (
    COUNTED_LINES,
    POOLS,
    Choice,
    KeyPage,
    PagesRead,
    text_of_few_pages,
)
from benchmarks.evaluation.labels import number_elements
from benchmarks.evaluation.scores import Score, score_elements, score_texts
from benchmarks.evaluation.silver import (
    SilverScore,
    SitePage,
    label_lines,
    lines_of,
    pages_beside,
    score_text,
)
from benchmarks.evaluation.sites import (
    CorpusError,
    LabelError,
    UnlabelledSite,
    labelled_sites,
    unlabelled_sites,
)
from tplspider.search.session import STRATEGIES
from tplspider.sources.base import load_once
from tplspider.template.lines import text_lines
from tplspider.web.html import parse_html
from tplspider.web.page import WebPage, page_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from benchmarks.evaluation.extractors import Extractor
    from benchmarks.evaluation.labels import Labels
    from benchmarks.evaluation.sites import LabelledSite


@dataclass(frozen=True)
class Plan:
    """A corpus, and what to measure on it."""

    corpus: Path
    sizes: tuple[int, ...]
    strategies: tuple[str, ...]
    extractors: tuple[str, ...]  # of texts; none means that texts are not measured
    max_loads: int
    witness: int = 1  # pages that may be loaded on top
    sites: tuple[str, ...] = ()  # to take; all, if none is named

    @property
    def searches(self) -> tuple[str, ...]:
        """Of those asked for, the ones whose texts are measured; the paper's if none is."""
        with_texts = {*STRATEGIES, *POOLS}
        return tuple(name for name in self.strategies if name in with_texts) or ("paper",)

    @property
    def page_extractors(self) -> tuple[str, ...]:
        """The extractors that look at one page alone."""
        return tuple(name for name in self.extractors if name != COUNTED_LINES)

    def check_sites(self, names: Iterable[str]) -> None:
        """Whether these are all of the sites to take; CorpusError if not."""
        known = {*names}
        for name in self.sites:
            if name not in known:
                raise CorpusError(f"--sites: there is no site {name!r} in {self.corpus}")

    @property
    def text_size(self) -> int:
        """The size of the CS whose template leaves the text that is measured: 3 if it may be."""
        return 3 if 3 in self.sizes else self.sizes[0]


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


TEXTS = ("content_text", "main_text")  # of a template, as users get them


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
        return self.choice.found >= self.size


def measure(
    plan: Plan, extractors: Mapping[str, Extractor]
) -> tuple[list[SiteResult], dict[str, dict[str, Score]]]:
    """Measure every site; gives the results, and scores of texts by whose they are and by site.

    A site that cannot be measured gets a line on standard error, and zeros.
    """
    measured: list[SiteResult] = []
    texts: dict[str, dict[str, Score]] = {}
    sites = list(labelled_sites(plan.corpus))
    plan.check_sites(site.folder.name for site in sites)
    for site in sites:
        if plan.sites and site.folder.name not in plan.sites:
            continue
        name = site.folder.name[:255]  # no folder has a longer one
        try:
            on_site = _SiteMeasure(site, site.labels())
            results = [
                on_site.result(strategy, size, plan)
                for strategy in plan.strategies
                for size in plan.sizes
            ]
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sites go on
            _say(name, _why(error), "It counts as 0.")
            measured += [
                SiteResult(strategy, size, name, Score(), Choice((), 0, "broken"))
                for strategy in plan.strategies
                for size in plan.sizes
            ]
            continue
        measured += results
        if plan.extractors:
            for whose, score in _score_texts(on_site, plan, extractors).items():
                texts.setdefault(whose, {})[name] = score
    if not measured:
        raise CorpusError(f"{plan.corpus}: there is no site in it")
    return measured, texts


def _score_texts(
    site: _SiteMeasure, plan: Plan, extractors: Mapping[str, Extractor]
) -> dict[str, Score]:
    """The scores of our texts and of those of the others; none where no main text is labelled."""
    name, wanted = site.name, site.main_text()
    if not wanted.strip():
        _say(name, "no main text is labelled", "It is left out of the table of texts.")
        return {}
    scores: dict[str, Score] = {}
    for strategy in plan.searches:
        ours = [f"{strategy}: {text}" for text in TEXTS]
        try:
            found = dict(zip(ours, site.our_texts(strategy, plan), strict=True))
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            _say(name, f"{strategy} failed ({_why(error)})", "It counts as 0.")
            found = dict.fromkeys(ours, "")
        scores.update((whose, score_texts(text, wanted)) for whose, text in found.items())
    for extractor, text in page_level_texts(name, site.key.page.text, extractors):
        scores[extractor] = score_texts(text, wanted)
    if COUNTED_LINES in plan.extractors:
        counted = {COUNTED_LINES: lambda _: text_of_few_pages(site.key)}
        for extractor, text in page_level_texts(name, "", counted):
            scores[extractor] = score_texts(text, wanted)
    return scores


def page_level_texts(
    name: str, html: str, extractors: Mapping[str, Extractor]
) -> Iterator[tuple[str, str]]:
    """The texts that extractors find on a page by itself, '' where one fails."""
    for extractor, extract in extractors.items():
        try:
            text = extract(html)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            _say(name, f"{extractor} failed ({_why(error)})", "It counts as 0.")
            text = ""
        yield extractor, text


class _SiteMeasure:
    """The measurements of one site. What was once compared is not compared again."""

    def __init__(self, site: LabelledSite, labels: Labels) -> None:
        self.name = site.folder.name
        self.labels = labels
        self.key = KeyPage(site.pages, site.key_page())
        self._found: dict[tuple[int | None, tuple[str, ...]], frozenset[int]] = {}

    def result(self, strategy: str, size: int, plan: Plan) -> SiteResult:
        """What a strategy finds; zeros where it finds nothing."""
        choice = self.key.choose(strategy, size, plan)
        compared = choice.most, choice.pages
        if compared not in self._found:
            self._found[compared] = self._template(choice)
        found, labels = self._found[compared], self.labels
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
        numbers = number_elements(parse_html(self.key.page.text))
        main = [element for element, n in numbers.items() if n in self.labels.main_content]
        return "\n".join(line for element in main for line in text_lines(element))

    def our_texts(self, strategy: str, plan: Plan) -> list[str]:
        """What our template leaves of the key page: all that it is not, and the main part of it."""
        template = self.key.extract(self.key.choose(strategy, plan.text_size, plan))
        return [getattr(template, text) for text in TEXTS]

    def _template(self, choice: Choice) -> frozenset[int]:
        """The numbers of the elements that count and that the extractor takes for template."""
        comparison = self.key.compare(choice)
        if comparison is None:
            return frozenset()
        elements = comparison.key.elements
        numbers = number_elements(elements[0])
        pairs = zip(elements, comparison.template, strict=True)
        return self.labels.counted & {numbers[element] for element, template in pairs if template}


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
        raise CorpusError(f"{plan.corpus}: there is no key page that can be measured")
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
            texts = _our_texts(key, plan)
            others = page_level_texts(site.name, key.page.text, extractors)
            texts += [Text(name, text) for name, text in others]
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            _say(f"{site.name}: {path}", _why(error), "It is left out.")
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


def _our_texts(key: KeyPage, plan: Plan) -> list[Text]:
    texts = []
    for strategy in plan.strategies:
        for size in plan.sizes:
            choice = key.choose(strategy, size, plan)
            found = key.extract(choice)
            price = choice.loads, choice.all_loads, found.evidence
            texts += [
                Text(f"{strategy}: {name}", getattr(found, name), size, *price) for name in TEXTS
            ]
    return texts
