"""Which tests ``pytest -m "not slow"`` runs: all of plain Python, and a few of each other kind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.crawls import PROJECT


@pytest.mark.slow
def test_what_is_quick() -> None:
    files = [f"tests/test_{name}.py" for name in ("browser", "crawl", "deploy", "template_limits")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-mnot slow", *files],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    quick = {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}
    assert quick >= {
        "test_large_pages[chain]",
        "test_links_run_out",
        "test_pages_arrive_in_the_order_of_the_paper[5]",
        "test_what_is_a_gain[<p>a</p>-<p>b</p>-True]",
    }
    assert not quick & {
        "test_a_deployed_job_gives_what_a_local_crawl_gives",  # with scrapyd
        "test_a_key_page_that_redirects",  # a crawl, by its fixtures
        "test_a_menu_that_a_script_inserts[setting]",  # likewise
        "test_bad_deployments",
        "test_large_pages[flat]",  # marked as slow itself
        "test_pages_arrive_in_the_order_of_the_paper[1]",  # only the other case is quick
        "test_robots_txt_is_kept_to",  # in Chromium
    }
