"""``scrapy ui`` as a whole: real searches by its worker, and what ends before its time."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.ui_server import GatedSite, UiServer, ask, wait_until
from tplspider.demo.server import KEY_PAGE
from tplspider.old.crawl.ui.extension import give_extension
from tplspider.old.crawl.ui.serve import run_ui
from tplspider.plugins.ui.downloads import SANDBOX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.crawl

# What hangs keeps nothing else of its host waiting.
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": "8"}


@pytest.fixture
def site() -> Iterator[GatedSite]:
    with GatedSite() as server:
        yield server
        server.gate.set()


@pytest.fixture
def ui(tmp_path: Path) -> Iterator[UiServer]:
    with UiServer(tmp_path / "state", settings=SETTINGS) as server:
        yield server


def state(ui: UiServer, run: str) -> Any:
    return ui.ask("GET", f"/api/searches/{run}").json


def test_a_search(ui: UiServer, site: GatedSite) -> None:
    """Its events, its answer, its report and its feeds; the same again is a new one."""
    key = site.url + KEY_PAGE
    bad = site.url + "/nothing.html"
    body = {"addresses": f"{key}\n{key}\nftp://x\n{bad}", "n": "3"}
    begun = ui.ask("POST", "/api/searches", body).json
    assert [row["line"] for row in begun["refused"]] == [3]
    first, second, third = (row["id"] for row in begun["searches"])
    events = ui.events(first)
    kinds = [event["event"] for event in events]
    assert kinds[:2] == ["opened", "started"]
    assert {*kinds[2:-1]} == {"link"}
    assert kinds[-1] == "ended"
    sizes = [len(event["members"]) for event in events[2:-1]]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 3
    found = state(ui, first)
    assert (found["state"], found["summary"]["complete"]) == ("over", True)
    assert found["title"].startswith("Penny-farthings")
    assert [row["url"] for row in found["members"]] == found["summary"]["candidates"]
    assert [row["url"] for row in found["candidates"]] == found["summary"]["candidates"]
    assert found["summary"]["input"] is None
    assert [row["rank"] for row in found["summary"]["explored"]] == [
        event["rank"] for event in events[2:-1]
    ]
    report = ui.ask("GET", found["report"])
    assert report.headers["Content-Security-Policy"] == SANDBOX
    assert SANDBOX.startswith("sandbox allow-scripts;")
    assert b"Penny-farthings" in report.body
    assert ui.events(second)[-1]["search"]["state"] == "over"
    assert ui.events(third)[-1]["search"]["state"] == "failed"
    assert "404" in state(ui, third)["note"]
    listed = ui.ask("GET", "/api/searches").json["searches"]
    assert [run["id"] for run in listed] == [third, second, first]
    # The feeds are those of a crawl.
    rows = ui.ask("GET", f"/searches/{first}/candidates.json").json
    assert rows == found["candidates"]
    lines = ui.ask("GET", "/searches/candidates.jl").body.splitlines()
    assert [json.loads(line)["url"] for line in lines] == 2 * found["summary"]["candidates"]
    cells = ui.ask("GET", "/searches/summary.csv").body.decode()
    summaries = list(csv.DictReader(io.StringIO(cells)))
    assert [row["key_outcome"] for row in summaries] == ["ok", "ok", "http-404"]
    assert json.loads(summaries[0]["candidates"]) == found["summary"]["candidates"]
    assert ui.log == ""


def test_feeds_are_those_of_a_crawl(ui: UiServer, site: GatedSite, tmp_path: Path) -> None:
    (run,) = ui.search(site.url + KEY_PAGE, n=2, strategy="paper")
    ui.events(run)
    names = ("candidates.csv", "candidates.jl", "summary.csv")
    first, second, third = (tmp_path / name for name in names)
    run_scrapy(
        *("crawl", "template_candidates", f"-aurl={site.url}{KEY_PAGE}", "-an=2"),
        *(f"-O{first}", f"-O{second}", f"-asummary={third}"),
        folder=tmp_path,
    )
    for name in names:
        assert ui.ask("GET", f"/searches/{run}/{name}").body == (tmp_path / name).read_bytes()


def test_cancelling(ui: UiServer, site: GatedSite) -> None:
    """One search ends with what it has; the others go on, one of the same host among them."""
    site.slow = {"/collection/tandems.html", "/"}  # so that neither of two is over
    running, other, waiting = ui.search(site.url + KEY_PAGE, site.url + "/", site.url + "/own")
    site.wait_for("/collection/tandems.html")
    wait_until(lambda: state(ui, running)["tried"] == 1)
    assert state(ui, waiting)["state"] == "waiting"  # two of one host at a time
    found = ui.ask("POST", f"/api/searches/{waiting}/cancel", {}).json
    assert found["state"] == "cancelled"
    ui.ask("POST", f"/api/searches/{running}/cancel", {})
    ended = ui.events(running)[-1]["search"]
    assert (ended["state"], len(ended["members"])) == ("cancelled", 1)
    assert state(ui, running)["summary"]["reason"] == "cancelled"
    site.gate.set()
    assert ui.events(other)[-1]["search"]["state"] == "over"
    assert ui.events(waiting) == [{"event": "ended", "search": _record(found)}]
    # The worker has let go of it, too.
    (last,) = ui.search(site.url + "/collection/")
    assert ui.events(last)[-1]["search"]["state"] == "over"
    assert "/own" not in site.log
    assert ui.log == ""


def _record(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in ("number", "report")}


def test_two_searches_of_one_host_share_its_pace(tmp_path: Path, site: GatedSite) -> None:
    pace = {"DOWNLOAD_DELAY": "0.4", "RANDOMIZE_DOWNLOAD_DELAY": "False"}
    with UiServer(tmp_path / "state", settings=pace) as ui:
        for run in ui.search(site.url + KEY_PAGE, site.url + "/"):
            ui.events(run)
    gaps = [after - before for before, after in zip(site.times, site.times[1:], strict=False)]
    assert len(gaps) > 4
    assert min(gaps) > 0.2, gaps


def test_the_worker_dies(ui: UiServer, site: GatedSite) -> None:
    site.slow = {"/collection/tandems.html", "/blog/"}
    running, *others = ui.search(site.url + KEY_PAGE, *[site.url + "/blog/"] * 2)
    site.wait_for("/collection/tandems.html")
    site.wait_for("/blog/")
    wait_until(lambda: state(ui, running)["tried"] == 1)
    (worker,) = ui.workers
    os.kill(worker, signal.SIGKILL)
    ended = ui.events(running)[-1]["search"]
    assert (ended["state"], ended["has_answer"]) == ("ended", False)
    assert len(ended["members"]) == 1
    site.gate.set()
    # Of those behind it, the one that had begun is ended as well, and the other is made.
    assert [ui.events(run)[-1]["search"]["state"] for run in others] == ["ended", "over"]
    assert "signal 9" in ui.log
    assert "Traceback" not in ui.log
    assert worker not in ui.workers


def test_the_server_is_killed_and_started_again(tmp_path: Path, site: GatedSite) -> None:
    """It has the same port and token, knows who was in, and shows what was under way as ended."""
    site.slow = {"/collection/tandems.html"}
    folder = tmp_path / "state"
    with UiServer(folder, settings=SETTINGS) as ui:
        (over,) = ui.search(site.url + "/")
        ui.events(over)
        cookie = ask(ui.address, "GET", ui.enter.removeprefix(ui.url)).headers["Set-Cookie"]
        (running,) = ui.search(site.url + KEY_PAGE)
        site.wait_for("/collection/tandems.html")
        (worker,) = ui.workers
        ui.end(signal.SIGKILL)
    wait_until(lambda: not _is_alive(worker))  # it does not go on by itself
    with UiServer(folder, settings=SETTINGS) as after:
        assert (after.token, after.address) == (ui.token, ui.address)
        assert state(after, over)["state"] == "over"
        assert b"Brindleford" in after.ask("GET", f"/searches/{over}/report").body
        assert state(after, running)["state"] == "ended"
        known = {"Cookie": cookie.partition(";")[0]}
        assert ask(after.address, "GET", "/api/searches", **known).status == 200
        # Another start is a word with the one that runs.
        second = [sys.executable, "-m", "scrapy", "ui", f"--dir={folder}"]
        told = subprocess.run(second, cwd=PROJECT, capture_output=True, text=True, check=True)
        path = told.stdout.rpartition(after.url)[2].strip()
        assert ask(after.address, "GET", path).status == 303
        (running,) = after.search(site.url + KEY_PAGE)
        wait_until(lambda: state(after, running)["tried"] == 1)
        assert after.end() == 0  # Ctrl-C: what there is, is kept
        assert after.output.endswith("The server has ended; 1 search ended early.\n")
        assert f"gives a new address: scrapy ui --dir {folder}\n" in after.output
    with UiServer(folder, "--new-token", settings=SETTINGS) as last:
        assert last.token != ui.token
        found = state(last, running)
        assert (found["state"], len(found["members"])) == ("ended", 1)
        assert found["summary"]["reason"] == "shutdown"
        assert ask(last.address, "GET", "/api/searches", **known).status == 401
        assert last.end(signal.SIGTERM) == 0
    assert "Traceback" not in ui.log + after.log + last.log


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--profile", "none"), "--profile 'none': expected one of browser, default, fast"),
        (("http://127.0.0.1/",), "'http://127.0.0.1/': addresses go into the page"),
        (("--dir", "/dev/null/x"), "/dev/null/x: Not a directory"),
        (("--prot", "1"), "unknown option '--prot'"),
        (("--port", "0000070000"), "--port '0000070000': expected a number"),
        (("--host", "a..b"), "--host 'a..b': expected an address of this machine"),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = run_scrapy("ui", f"--dir={tmp_path}", *options, folder=tmp_path)
    assert done.code == 2
    (line,) = done.log.splitlines()
    assert line.startswith("scrapy ui: error: ")
    assert words in line


def test_a_port_that_is_taken(tmp_path: Path, site: GatedSite) -> None:
    port = site.url.rpartition(":")[2]
    done = run_scrapy("ui", f"--dir={tmp_path / 'x'}", "--port", port, folder=tmp_path)
    assert done.code == 2
    assert f"port {port} is taken by another program" in done.log


def test_a_server_that_runs_already(tmp_path: Path, ui: UiServer) -> None:
    """What only a start can go by is refused, and nothing is dropped without a word."""
    given: dict[str, Any] = {
        "dir": str(ui.folder),
        "port": None,
        "host": "127.0.0.1",
        "new_token": False,
    }
    given |= {"search_profile": None, "set": [], "loglevel": None, "logfile": None, "nolog": False}
    given |= {"extension": str(tmp_path / "button")}
    for more, name in (
        ({"port": "0"}, "--port"),
        ({"host": "0.0.0.0"}, "--host"),
        ({"new_token": True}, "--new-token"),
        ({"search_profile": "polite"}, "--profile"),
        ({"set": ["A=1"]}, "-s"),
    ):
        with pytest.raises(ValueError, match=rf"\A{name}: a server has .+: end it first\Z"):
            run_ui(Namespace(**given | more), [])
    with pytest.raises(ValueError, match="end it first, or leave --port out"):
        give_extension(Namespace(**given | {"port": "1"}))
    other = given | {"dir": str(tmp_path / "other"), "port": str(ui.address[1])}
    with pytest.raises(ValueError, match="taken by another scrapy ui: give the --dir"):
        run_ui(Namespace(**other), [])


def test_other_hosts_are_warned_of(tmp_path: Path) -> None:
    with UiServer(tmp_path / "state", "--host", "0.0.0.0", "--profile", "fast") as ui:
        assert ui.url.startswith("http://127.0.0.1:")
        assert ui.ask("GET", "/api/searches").status == 200
        host = {"Host": f"evil.example:{ui.address[1]}"}
        assert ui.ask("GET", "/api/searches", **host).status == 403
    assert "others in your network can reach this server" in ui.log
