"""One site with all that can go wrong on it, each on a link that is tried before the menu."""

import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from itertools import islice
from pathlib import Path

import pytest

from tests.support import hostile_http, hostile_pages
from tests.support.crawls import CRAWL, Crawl, start_scrapy
from tests.support.hostile_server import Exchange, HostileServer, Trap
from tests.support.warc_files import records, rows, search_again


def run_measured(url: str, folder: Path, settings: dict[str, str]) -> tuple[Crawl, float]:
    """Crawl, and tell how many megabytes the process had at most.

    That is VmHWM, read while it runs: the figure of wait4 includes the process that started it.
    """
    given = [f"-aurl={url}", "-amax_loads=0", f"-asummary={folder / 'summary.json'}"]
    given += [f"-awarc={folder / 'a.warc.gz'}", f"-O{folder / 'out.json'}"]
    log, peak = folder / "log", 0
    with log.open("wb") as stderr:
        child = start_scrapy(*CRAWL, *given, settings=settings, stderr=stderr)
        while child.poll() is None:
            status = Path(f"/proc/{child.pid}/status").read_text("utf-8")
            if "VmHWM:" in status:  # not at its very end
                peak = int(status.partition("VmHWM:")[2].split()[0])
            time.sleep(0.05)
    return Crawl(child.returncode, "", log.read_text("utf-8", "replace"), folder), peak / 1024


MENU = ("/menu/a.html", "/menu/b.html", "/menu/c.html")
ALIASES = ("/copy.html", "/index.html", "/?session=1")
NO_LINKS = (
    *("", "#top", "?#", "/leaflet.pdf", "mailto:someone@example.net", "javascript:void(0)"),
    *("data:text/html,<p>x", "file:///etc/passwd", "http://", "http://[", "http://xn--/"),
    *("http://127.0.0.1:99999/", "http://b\xfccher.example.net/", "http://пример.рф/"),
    *(f"http://{hostile_pages.HOST}/", "http://me:secret@/", "http://127.1/"),
    *("//other.example.net/", "https://127.0.0.1/"),
)
ROBOTS = (
    b"\xff\xfe\x00 garbage\nUser-agent: *\nCrawl-delay: nan\nDisallow: /denied.html\nDisallow: %[\n"
)


def spread(few: list[Trap], many: list[Trap], space: int) -> Iterator[Trap]:
    """Put *few* among *many*: pages that take long to read must not meet, or time-outs strike."""
    rest = iter(many)
    for trap in few:
        yield trap
        yield from islice(rest, space)
    yield from rest


TRAPS = [
    *spread(hostile_http.SIZES, [*hostile_pages.TRAPS, *hostile_http.TRAPS], space=12),
    Trap("/denied.html", "robots", hostile_pages.page()),
    Trap("/moved-to-denied.html", "robots", hostile_pages.redirect("/denied.html")),
]


def menu() -> str:
    return "".join(f'<li><a href="{path}">{path}</a></li>' for path in MENU)


def key_page(exchange: Exchange) -> None:
    hrefs = [*NO_LINKS, *ALIASES, *(trap.href or escape(trap.path) for trap in TRAPS)]
    items = "".join(f'<li><a href="{href}">x</a></li>' for href in hrefs)
    exchange.answer(
        hostile_pages.html(f"<ul>{items}{menu()}</ul>"), kind="text/html; charset=utf-8"
    )


def good_page(exchange: Exchange) -> None:
    exchange.answer(hostile_pages.html(f"{exchange.path}<ul>{menu()}</ul>"))


ANSWERS: dict[str, Callable[[Exchange], None]] = {
    **hostile_pages.STEPS,
    **{trap.path: trap.answer for trap in TRAPS},
    **dict.fromkeys(("/", *ALIASES), key_page),
    **dict.fromkeys(MENU, good_page),
    "/robots.txt": lambda exchange: exchange.answer(ROBOTS, kind="text/plain"),
}
ENDS = {
    **dict.fromkeys(ALIASES, "key-page"),
    **{trap.path: trap.end for trap in TRAPS},
    **dict.fromkeys(MENU, "page"),
}


def outcome(end: str) -> tuple[str, str]:
    if end == "page":
        return "page", ""
    return "duplicate" if end.startswith(("duplicate-of", "key-page")) else "none", end


@pytest.mark.crawl
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read off /proc")
def test_a_hostile_site(tmp_path: Path) -> None:
    assert len(ENDS) == len(ALIASES) + len(TRAPS) + len(MENU)
    threads = threading.active_count()
    with HostileServer(ANSWERS) as server:
        settings = {"DOWNLOAD_TIMEOUT": "3", "RETRY_TIMES": "1", "TPLSPIDER_IN_FLIGHT": "8"}
        done, megabytes = run_measured(server.url + "/", tmp_path, settings)
        assert not server.other_port_was_asked()
    assert threading.active_count() == threads
    assert done.code == 0, done.log[-5000:]
    site = server.url
    summary = done.summary
    ended = {
        row["link"].removeprefix(site): (row["outcome"], row["reason"].replace(site, ""))
        for row in summary["explored"]
    }
    assert ended == {path: outcome(end) for path, end in ENDS.items()}
    assert [url.removeprefix(site) for url in summary["candidates"]] == list(MENU)
    assert summary["links"] == len(summary["explored"]) == len(ENDS)
    assert done.finish_reason == "complete_subdigraph"
    for word in ("Traceback", "Unhandled", "never retrieved"):
        assert word not in done.log
    assert megabytes < 500
    # Nothing was asked of another host, and no page but those that the key page leads to.
    assert server.hosts == {site.removeprefix("http://")}
    assert not {"/inside.html", "/calendar.html?month=2", "/leaflet.pdf"} & set(server.log)
    # All of it is archived: without the server, the answer is the same.
    (tmp_path / "key.txt").write_text(f"{site}/")
    again = tmp_path / "again"
    search_again(again, tmp_path / "a.warc.gz", tmp_path / "key.txt", "-amax_loads=0")
    (row,) = rows(tmp_path / "summary.json")
    assert rows(again / "summary.jl") == [{**row, "line": 1}]
    assert rows(again / "out.jl") == rows(tmp_path / "out.json")
    records(tmp_path / "a.warc.gz")
