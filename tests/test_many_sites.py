from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from statistics import mean
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from benchmarks.batch_answers import in_memory
from benchmarks.batch_crawls import plain_command, run_to_the_end
from tests.support.crawls import PROJECT, run_scrapy
from tests.support.made_up_sites import MadeUpSource, answer, key_pages, made_up_site
from tests.support.many_sites import ManySites
from tplspider import SearchOptions, search_pages

if TYPE_CHECKING:
    from pathlib import Path


def test_sites_are_made_from_their_numbers() -> None:
    bodies = []
    for number in range(50):
        site = made_up_site(number)
        assert 5 <= len(site.menu) <= 8
        for path in site.pages[:4]:
            found = answer(f"site-{number}.test:1", path)
            assert found == answer(f"late-{number}.test", path)
            assert found.status == 200
            bodies.append(found.body)
    assert len(set(bodies)) == len(bodies)
    assert min(map(len, bodies)) > 5_000
    assert max(map(len, bodies)) < 23_000


@pytest.mark.slow
def test_there_is_something_to_find() -> None:
    rows = key_pages(100, 40, port=1)
    assert len({row["id"] for row in rows}) == 100
    assert len({urlsplit(row["url"]).netloc for row in rows}) == 40
    found = []
    for row in rows:
        options = {name[4:]: value for name, value in row.items() if name.startswith("tpl_")}
        session = search_pages(MadeUpSource(), row["url"], SearchOptions(**options))
        assert session.summary
        found.append(session.summary)
    assert {summary.key_outcome for summary in found} == {"ok", "http-404"}
    assert 70 < sum(summary.complete for summary in found) < 98
    assert 4 < mean(summary.loads for summary in found) < 15
    reasons = {link["reason"] for summary in found for link in summary.explored}
    assert {"http-404", "robots", ""} <= reasons


@pytest.mark.slow
def test_a_crawl_finds_what_a_search_in_memory_finds(tmp_path: Path) -> None:
    with ManySites(tmp_path / "asked") as server:
        url = server.url("site-3", made_up_site(3).articles[0])
        done = run_scrapy(
            *("crawl", "template_candidates", f"-aurl={url}"),
            f"-asummary={tmp_path / 'summary.json'}",
            folder=tmp_path,
        )
        asked = server.asked()
    session = search_pages(MadeUpSource(), url)
    assert session.summary
    assert done.summary == json.loads(json.dumps(vars(session.summary)))
    assert done.summary["complete"]
    assert [each.path for each in asked][:2] == ["/robots.txt", made_up_site(3).articles[0]]
    assert {each.host for each in asked} == {"site-3.test"}
    assert [each.at for each in asked] == sorted(each.at for each in asked)


@pytest.mark.slow
def test_a_plain_spider_loads_what_searches_loaded(tmp_path: Path) -> None:
    with ManySites(tmp_path / "asked") as server:
        searches = []
        for row in server.key_pages(6, 3):
            summary = in_memory(row)
            links = [link["link"] for link in summary["explored"] if link["reason"] != "robots"]
            searches.append([row["url"], *links])
        (tmp_path / "searches.jl").write_text("\n".join(map(json.dumps, searches)))
        run_to_the_end(plain_command(tmp_path / "searches.jl", places=2), tmp_path, cwd=tmp_path)
        asked = [each for each in server.asked() if each.path != "/robots.txt"]
    assert len(searches) == 6
    expected = Counter(url for urls in searches for url in urls)
    assert Counter(f"http://{each.host}:{server.port}{each.path}" for each in asked) == expected


@pytest.mark.slow
def test_the_benchmark_small() -> None:
    """Every promise of the benchmark that does not go by the clock, with few key pages."""
    sizes = ("--keys=40", "--sites=8", "--singles=2", "--kill=2", "--memory=5,10")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_sites", *sizes, "--turns=1"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right:") >= 6
    assert "wrong" not in done.stdout
