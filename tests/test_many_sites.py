import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.made_up_sites import MadeUpSource, made_up_site
from tests.support.many_sites import ManySites
from tplspider import search_pages


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


@pytest.mark.nightly
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
