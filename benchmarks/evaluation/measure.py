"""Measures what is found on the sites of a corpus, against their labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.evaluation.counted_lines import COUNTED_LINES, text_of_few_pages
from benchmarks.evaluation.fault_lines import say, why
from benchmarks.evaluation.key_page import KeyPage
from benchmarks.evaluation.labelled_site import labelled_sites
from benchmarks.evaluation.labels import number_elements
from benchmarks.evaluation.page_choice import Choice
from benchmarks.evaluation.scores import Score, score_elements, score_texts
from tplspider.template.lines import text_lines
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.evaluation.labelled_site import LabelledSite
    from benchmarks.evaluation.labels import Labels
    from benchmarks.evaluation.plan import Plan
    from benchmarks.evaluation.text_extractors import Extractor

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


@dataclass(slots=True)
class Measurements:
    """All that was measured on a corpus; texts by whose they are and by site."""

    results: list[SiteResult] = field(default_factory=list)
    texts: dict[str, dict[str, Score]] = field(default_factory=dict)


def measure(plan: Plan, extractors: Mapping[str, Extractor]) -> Measurements:
    """Measure every site; one that cannot be measured gets a line on standard error, and zeros."""
    measured = Measurements()
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
            say(name, why(error), "It counts as 0.")
            measured.results += [
                SiteResult(strategy, size, name, Score(), Choice((), 0, "broken"))
                for strategy in plan.strategies
                for size in plan.sizes
            ]
            continue
        measured.results += results
        if plan.extractors:
            for whose, score in _score_texts(on_site, plan, extractors).items():
                measured.texts.setdefault(whose, {})[name] = score
    return measured


def _score_texts(
    site: _SiteMeasure, plan: Plan, extractors: Mapping[str, Extractor]
) -> dict[str, Score]:
    """The scores of our texts and of those of the others; none where no main text is labelled."""
    name, wanted = site.name, site.main_text()
    if not wanted.strip():
        say(name, "no main text is labelled", "It is left out of the table of texts.")
        return {}
    scores: dict[str, Score] = {}
    for strategy in plan.searches:
        ours = [f"{strategy}: {text}" for text in TEXTS]
        try:
            found = dict(zip(ours, site.our_texts(strategy, plan), strict=True))
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            say(name, f"{strategy} failed ({why(error)})", "It counts as 0.")
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
            say(name, f"{extractor} failed ({why(error)})", "It counts as 0.")
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
