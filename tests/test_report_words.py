"""The words of a report: true whatever the search gave, and no two of them at odds."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.summaries import SITE, row, summary, template, unusable
from tplspider import FolderSite, search_pages
from tplspider.report.model import make_report
from tplspider.report.rendering import IndexRows, index_entry, render_index, render_report
from tplspider.report.words import REASONS, AnswerWords, answer_words, key_page_advice
from tplspider.search.answer import EMPTY_ANSWER, NO_EVIDENCE, answer_hint
from tplspider.web.page import NO_LINKS

if TYPE_CHECKING:
    from pathlib import Path


def words_of(found: dict[str, Any]) -> AnswerWords:
    return answer_words(make_report(found).summary)


def told(words: AnswerWords) -> str:
    texts = (getattr(words, field.name) for field in fields(words))
    return "\n".join(text if isinstance(text, str) else "\n".join(text) for text in texts)


def found_pages(size: int, wanted: int, **more: Any) -> dict[str, Any]:
    """A search that found some pages of those wanted, as a crawl tells of it."""
    rows = [row(rank, [*range(4)]) for rank in range(1, 4)]
    similarity = more.pop("similarity", 0.8) if size else None
    hint = answer_hint([similarity] * size, wanted, 3) if similarity is not None else ""
    values = {"requested_size": wanted, "complete": size == wanted, "similarity": similarity}
    end = "complete_subdigraph" if size == wanted else "links_exhausted"
    found = summary(rows, [*range(1, size + 1)], **values, reason=end, hint=hint)
    return found | more


@pytest.mark.parametrize("wanted", [1, 3])
def test_one_page_alone_is_never_sure(wanted: int) -> None:
    text = told(words_of(found_pages(1, wanted)))
    assert "not sure: there is one page only" in text
    assert "One page alone proves nothing" in text
    for word in ("quite sure", "fairly sure", "very likely", "probably"):
        assert word not in text


@pytest.mark.parametrize(
    ("more", "headline", "degree"),
    [
        ({"similarity": 0.8}, "very likely share", "quite sure"),
        ({"similarity": 0.3}, "probably share", "fairly sure"),
        ({"similarity": 0.1}, "may have another template", "doubtful"),
        ({"hint": NO_EVIDENCE}, "may have another template", "not sure"),
    ],
)
def test_the_headline_is_as_sure_as_the_answer(
    more: dict[str, Any], headline: str, degree: str
) -> None:
    words = words_of(found_pages(3, 3, **more))
    assert headline in words.headline
    assert words.sure.startswith(degree)


@pytest.mark.parametrize("reason", ["links_exhausted", "max_loads", "max_seconds", "shutdown"])
def test_advice_that_can_help(reason: str) -> None:
    for wanted, size in product((1, 2, 3), (0, 1, 2)):
        if size < wanted:
            words = words_of(found_pages(size, wanted, reason=reason))
            (advice,) = words.attempts
            assert "-a n=" not in told(words)  # whatever fewer pages would find was found
            assert ("page of the site as the key page" in advice) == (reason == "links_exhausted")
            assert ("Use the 2 pages found" in advice) == (
                reason == "links_exhausted" and size == 2
            )
    assert words_of(found_pages(3, 3)).attempts == ()


def test_more_pages_are_advised_where_there_may_be_some() -> None:
    assert answer_hint([0.8], 1, 1).endswith("template")  # the only link
    assert answer_hint([0.8], 1, 2).endswith("; ask for more (-a n=2)")
    assert answer_hint([0.8], 1, 9).endswith("; ask for more (-a n=3)")
    assert "-a n=" not in answer_hint([0.8], 3, 9)


def test_the_least_possible_is_told_of_complete_answers_alone() -> None:
    assert words_of(found_pages(3, 3)).cost.startswith("4 page loads, where 4 is the least")
    assert words_of(found_pages(2, 3)).cost == "4 page loads"


@pytest.mark.parametrize(
    "outcome", [reason for reason in REASONS if reason != "key-page"] + ["http-404", "http-503"]
)
def test_every_key_page_that_cannot_be_used_has_a_thing_to_try(outcome: str) -> None:
    words = words_of(unusable(key_outcome=outcome))
    assert words.why
    assert words.attempts == (key_page_advice(outcome),)
    assert "least possible" not in words.cost
    assert ("page load" in words.cost) == (outcome == NO_LINKS)  # which alone was loaded
    assert words.sure == words.found == ""


def test_advice_is_that_of_the_reason() -> None:
    advice = {reason: key_page_advice(reason) for reason in (*REASONS, "http-404", "http-503")}
    assert "those who run the site" in advice["robots"]
    assert "http or https" in advice["connection"]
    assert "spelled" in advice["dns"]
    assert "no such page" in advice["http-404"]
    assert "page of HTML" in advice["not-html"]
    assert "again later" in advice["http-503"]


def test_an_empty_page_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(b"")
    site = FolderSite(tmp_path)
    found = search_pages(site, f"{site.url}/index.html").summary
    assert found
    assert (found.key_outcome, found.hint) == ("bad-response", EMPTY_ANSWER)
    words = answer_words(found)
    assert words.why == "the answer is empty"
    assert words.know == ()  # not twice


@pytest.mark.parametrize(
    ("size", "wanted", "headline"),
    [
        (0, 1, "No other page was found"),
        (0, 3, "No other page was found"),
        (1, 3, "1 page instead of 3 was found"),
        (2, 3, "2 pages instead of 3 were found"),
        (1, 1, "1 page was found, which may share the template of the key page"),
    ],
)
def test_headlines(size: int, wanted: int, headline: str) -> None:
    assert words_of(found_pages(size, wanted)).headline == headline


@pytest.mark.parametrize(("reason", "word"), [("cancelled", "Cancelled"), ("shutdown", "Stopped")])
def test_what_ended_early_has_not_looked_everywhere(reason: str, word: str) -> None:
    words = words_of(found_pages(0, 3, reason=reason))
    assert words.headline == f"{word} before another page was found"


def test_a_saved_pool_is_not_a_failure(tmp_path: Path) -> None:
    found = summary([], [], requested_size=3, complete=False, reason="pool", loads=1, links=16)
    words = words_of(found)
    assert words.headline == "The page was compared with pages of its site that were saved before"
    assert words.found.endswith("most like it are in a saved pool: no search was needed.")
    assert (words.why, words.attempts, words.sure) == ("", (), "")
    assert words.cost == "1 page load"
    text = render_report(make_report(found, template(candidates=[f"{SITE}/gone", f"{SITE}/old"])))
    listed = re.findall(r"<li>.*?<bdi>(.*?)</bdi>", text.replace("<wbr>", ""))
    assert listed == [f"{SITE}/gone", f"{SITE}/old"]
    for word in ("Asked for", "Why not all", "What to try"):
        assert word not in text
    entry = index_entry(make_report(found).summary)
    assert (entry.answer, entry.size) == ("by a saved pool", "")
    rows = IndexRows(tmp_path / "rows")
    rows.put(entry)
    assert "0 complete, 0 partial, 1 by a saved pool." in "".join(render_index(rows, rows.counts()))
    rows.close()
