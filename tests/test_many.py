import json
import time
from pathlib import Path

import pytest

from tests.support.crawls import FixtureServer, RunCrawl, Serve, crawl_list, rows
from tests.support.site_server import Handler

KEYS = ("one", "two", "three", "four")
NOT_OF_LISTS = ("line", "input", "shared", "wasted")


def key_pages(server: FixtureServer) -> list[str]:
    return [f"{server.url}/docs/guide/{name}.html" for name in KEYS]


@pytest.mark.quick
def test_a_list(tmp_path: Path, serve: Serve, crawl: RunCrawl) -> None:
    """Options by line, fields of the user's, the same search twice, lines that are wrong."""
    server = serve("menu")
    one, two = key_pages(server)[:2]
    lines: list[dict[str, object]] = [
        {"page": one, "id": "first", "tags": ["a"], "n": 7},
        {"page": one + "#top", "id": "again"},
        {"page": one, "tpl_n": 2, "tpl_strategy": "guided"},
        {"page": two},
        {"page": one, "tpl_n": 0, "id": "wrong"},
        {"page": "ftp://example.org/"},
        {"tpl_n": 3},
    ]
    urls, pages = tmp_path / "keys.jl", tmp_path / "pages"
    urls.write_text("\n".join(map(json.dumps, lines)) + "\nnot JSON\n")
    done = crawl_list(tmp_path, urls, "-acolumn=page", f"-asave_html={pages}")
    assert done.code == 1, done.log  # lines are wrong
    assert done.finish_reason == "finished"
    assert "Traceback" not in done.log
    found = {row["line"]: row for row in rows(tmp_path / "summary.jl")}
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found[1]["input"] == {"id": "first", "tags": ["a"], "n": 7}  # theirs, whatever it is
    assert (found[3]["requested_size"], found[3]["input"]) == (2, None)
    assert [found[line]["key_outcome"] for line in (5, 6, 7, 8)] == ["bad-input"] * 4
    assert found[5]["input"] == {"id": "wrong"}
    assert found[5]["requested_url"] == one
    assert all(found[line]["hint"] for line in (5, 6, 7, 8))
    # The same search is made once.
    assert found[2]["requested_url"] == one + "#top"
    assert found[1]["search_id"] == found[2]["search_id"]
    assert found[1]["explored"] == found[2]["explored"] != []
    candidates = rows(tmp_path / "out.jl")
    assert len(candidates) == 3 + 2 + 3
    # Rows of one search stand together, and pages of one search in one folder.
    ids = [row["search_id"] for row in candidates]
    assert len([i for i, name in enumerate(ids) if i == 0 or ids[i - 1] != name]) == len(set(ids))
    assert {path.name for path in pages.iterdir()} == set(ids)
    # Each answer is the one that it would be alone.
    for line, url in ((1, one), (4, two)):
        alone, there = crawl(url), found[line]
        here = alone.summary
        for name in NOT_OF_LISTS:
            here.pop(name), there.pop(name)
        assert here == there
        own = [row for row in candidates if row["search_id"] == here["search_id"]]
        assert own == alone.candidates


def test_a_host_that_hangs_delays_only_itself(tmp_path: Path, serve: Serve) -> None:
    def hang(request: Handler) -> None:
        time.sleep(4)

    slow = serve("menu", {f"/docs/guide/{name}.html": hang for name in KEYS})
    quick = serve("menu")
    # The same machine, by other names.
    slow_pages = [page.replace("127.0.0.1", "slow.test") for page in key_pages(slow)]
    quick_pages = [page.replace("127.0.0.1", "quick.test") for page in key_pages(quick)]
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join([*slow_pages, *quick_pages]))
    settings = {"TPLSPIDER_SEARCHES": "3", "DOWNLOAD_TIMEOUT": "2", "RETRY_TIMES": "0"}
    done = crawl_list(tmp_path, urls, settings=settings)
    order = [row["requested_url"] for row in rows(tmp_path / "summary.jl")]
    # Two of the slow host have places, the others wait.
    assert set(order[:3]) <= set(quick_pages), done.log
    assert sorted(order) == sorted([*slow_pages, *quick_pages])
