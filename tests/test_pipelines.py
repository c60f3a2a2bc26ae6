from dataclasses import replace
from typing import Any

import pytest
from scrapy.exceptions import DropItem
from scrapy.settings import default_settings
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.reactor import install_reactor
from scrapy.utils.test import get_crawler

from tplspider.items import CandidateSearch, ExploredLink, PageTemplate, TemplateCandidate
from tplspider.pipelines import ValidationPipeline
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

KEY = "http://example.org/"
FIRST = TemplateCandidate(
    KEY, KEY + "a", KEY + "a", rank=1, h_distance=0, anchor_text="A", dom_path="/html/body/a",
    title="A", requested_size=2, cs_size=2, complete=True, loads=4, similarity=0.5,
)  # fmt: skip
SECOND = replace(FIRST, url="http://example.org/b", link="http://example.org/b", rank=3)
SUMMARY = CandidateSearch(
    KEY, requested_size=2, cs_size=2, complete=True, reason="complete_subdigraph",
    key_outcome="ok", loads=4, links=5, candidates=[FIRST.url, SECOND.url], similarity=0.5,
)  # fmt: skip
PARTS = ("<html></html>", "<p>x</p>", "x", ["/html/body/p[1]"], 0.5)
TEMPLATE = PageTemplate(KEY, [FIRST.url, SECOND.url], *PARTS, evidence=2)


def row_of(item: TemplateCandidate) -> ExploredLink:
    return {
        **ROW, "rank": item.rank, "link": item.link, "url": item.url, "outcome": "page",
    }  # fmt: skip


@pytest.fixture
def pipeline() -> ValidationPipeline:
    install_reactor(default_settings.TWISTED_REACTOR)
    crawler = get_crawler()
    crawler.spider = TemplateCandidatesSpider(url=KEY)
    pipeline: ValidationPipeline = build_from_crawler(ValidationPipeline, crawler)
    pipeline.search_ended(replace(SUMMARY, explored=[row_of(FIRST), row_of(SECOND)]))
    return pipeline


def test_a_sound_answer_passes(pipeline: ValidationPipeline) -> None:
    for item in (FIRST, SECOND, TEMPLATE, SUMMARY):
        assert pipeline.process_item(item) is item


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ([replace(FIRST, url=KEY)], "the key page is not a candidate"),
        ([FIRST, replace(SECOND, url=FIRST.url + "#x")], "would fill two seats"),
        ([SECOND, FIRST], "rank 1 is out of order"),
        ([replace(FIRST, complete=False)], "complete=False with 2 of 2 pages"),
        ([replace(FIRST, cs_size=3, complete=False)], "3 pages where 2 were asked for"),
        ([replace(TEMPLATE, evidence=0)], "2 pages and evidence 0"),
        ([replace(TEMPLATE, candidates=[FIRST.url, KEY + "z"])], "neither explored pages nor witn"),
    ],
)
def test_unsound_answers_are_dropped(
    pipeline: ValidationPipeline, items: list[Any], fault: str
) -> None:
    for item in items[:-1]:
        pipeline.process_item(item)
    with pytest.raises(DropItem, match=fault):
        pipeline.process_item(items[-1])
    assert pipeline.crawler.stats.get_value("tplspider/invalid_items") == 1


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ([FIRST, SUMMARY], "its candidates are not those that were given"),
        ([FIRST, SECOND, replace(SUMMARY, similarity=None)], "similarity=None with 2 pages"),
    ],
)
def test_an_unsound_summary_is_reported_and_kept(
    pipeline: ValidationPipeline, caplog: pytest.LogCaptureFixture, items: list[Any], fault: str
) -> None:
    for item in items:
        assert pipeline.process_item(item) is item
    assert fault in caplog.text
    assert pipeline.crawler.stats.get_value("tplspider/invalid_items") == 1


ROW: ExploredLink = {
    "rank": 1, "link": "x", "url": "x", "outcome": "none", "reason": "", "missing": [],
    "title": "", "anchor_text": "", "dom_path": "", "h_distance": 0, "similarity": None,
    "links_to": [],
}  # fmt: skip


def test_items_of_others_pass(pipeline: ValidationPipeline) -> None:
    item = {"title": "\x00"}
    assert pipeline.process_item(item) is item
    assert pipeline.process_item(item) is item
