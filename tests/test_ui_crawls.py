import csv
import io
import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import PROJECT, FixtureServer, run_scrapy
from tests.support.summaries import row, summary, unusable
from tests.support.ui_server import GatedSite, UiServer, ask, wait_until
from tplspider.demo import KEY_PAGE
from tplspider.items import CandidateSearch
from tplspider.plugins.ui.app import SANDBOX
from tplspider.plugins.ui.searches import outcome
from tplspider.plugins.ui.store import Run, Store

pytestmark = pytest.mark.crawl

# What hangs keeps nothing else of its host waiting.
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": "8"}
INDEX = "/collection/"


@pytest.fixture
def site() -> Iterator[GatedSite]:
    with GatedSite() as server:
        yield server
        server.gate.set()


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UiServer]:
    with UiServer(tmp_path_factory.mktemp("ui") / "state", settings=SETTINGS) as server:
        yield server
    assert server.log == ""


def state(ui: UiServer, run: str) -> Any:
    return ui.ask("GET", f"/api/searches/{run}").json


def ended(ui: UiServer, run: str) -> Any:
    return ui.events(run)[-1]["search"]


@pytest.mark.quick
def test_a_search(ui: UiServer, site: GatedSite, tmp_path: Path) -> None:
    """Its events, text, report and feeds, which are those of a crawl; the same again is new."""
    key, bad = site.url + KEY_PAGE, site.url + "/nothing.html"
    begun = ui.ask("POST", "/api/searches", {"addresses": f"{key}\n{key}\nftp://x\n{bad}"}).json
    assert [row["line"] for row in begun["refused"]] == [3]
    first, second, third = (row["id"] for row in begun["searches"])
    events = ui.events(first)
    assert [event["event"] for event in events] == ["opened", "started", *["link"] * 4, "ended"]
    assert [len(event["members"]) for event in events[2:-1]] == [1, 1, 2, 3]
    found = state(ui, first)
    assert (found["state"], found["summary"]["complete"]) == ("complete", True)
    assert found["title"].startswith("Penny-farthings")
    explored = [row["url"] for row in found["summary"]["explored"] if row["outcome"] == "page"]
    assert [row["url"] for row in found["members"]] == explored
    assert found["summary"]["candidates"] == found["candidates"] == []
    assert found["summary"]["input"] is None
    assert found["ended"] > found["started"] >= found["created"]
    # The text is there without any setting, as text and as Markdown.
    text = found["text"]
    assert text["text"].startswith("Penny-farthings\n")
    assert "Opening hours" not in text["text"]
    assert text["markdown"].startswith("# Penny-farthings\n")
    assert (found["length"], text["evidence"] > 0) == (len(text["text"]), True)
    for form, words in (("txt", text["text"]), ("md", text["markdown"])):
        file = ui.ask("GET", f"/searches/{first}/text.{form}")
        assert file.body.decode() == words + "\n"
        assert file.headers["Content-Disposition"] == f'attachment; filename="text.{form}"'
    # The report is the crawl's, with a way back.
    report = ui.ask("GET", found["report"])
    assert report.headers["Content-Security-Policy"] == SANDBOX
    assert f'href="/searches/{first}"'.encode() in report.body
    saved = ui.ask("GET", f"/searches/{first}/report.html")
    assert f'href="/searches/{first}"'.encode() not in saved.body
    assert ended(ui, second)["state"] == "complete"
    assert state(ui, second)["report"] != found["report"]
    failed = ended(ui, third)
    assert (failed["state"], failed["length"]) == ("failed", 0)
    listed = ui.ask("GET", "/api/searches?limit=3").json["searches"]
    assert [run["id"] for run in listed] == [third, second, first]
    outputs = {"candidates.csv": "-O", "candidates.jl": "-O", "summary.csv": "-asummary="}
    outputs["texts.jl"] = "-atexts="
    run_scrapy(
        *("crawl", "template_candidates", f"-aurl={key}", "-astrategy=kinds"),
        *(f"{option}{tmp_path / name}" for name, option in outputs.items()),
        "-sTPLSPIDER_MARKDOWN=1",
        folder=tmp_path,
    )
    for name in outputs:
        assert ui.ask("GET", f"/searches/{first}/{name}").body == (tmp_path / name).read_bytes()
    lines = ui.ask("GET", "/searches/texts.jl").body.splitlines()
    assert [json.loads(line)["key_url"] for line in lines][-2:] == [key, key]
    cells = ui.ask("GET", "/searches/summary.csv").body.decode()
    rows = list(csv.DictReader(io.StringIO(cells)))
    assert [row["key_outcome"] for row in rows][-3:] == ["ok", "ok", "http-404"]


@pytest.mark.quick
def test_a_page_without_links_has_a_text(ui: UiServer) -> None:
    with FixtureServer(PROJECT / "tests" / "sites" / "alone") as site:
        runs = ui.search(f"{site.url}/nolinks.html", f"{site.url}/index.html")
        assert [ended(ui, run)["state"] for run in runs] == ["none", "none"]
        found = state(ui, runs[0])
        assert found["text"]["text"].startswith("No link to another page")
        assert (found["text"]["evidence"], found["summary"]["key_outcome"]) == (0, "no-links")


@pytest.mark.quick
def test_cancelling(ui: UiServer, site: GatedSite) -> None:
    """One search ends with what it has; the others go on, one of the same host among them."""
    site.slow = {INDEX, "/workshops/"}  # so that neither of two is over
    running, other, waiting = ui.search(
        site.url + KEY_PAGE, site.url + "/workshops/", site.url + "/own"
    )
    wait_until(lambda: state(ui, running)["tried"] == 1)
    assert state(ui, waiting)["state"] == "waiting"  # two of one host at a time
    wait_until(lambda: state(ui, other)["state"] == "searching")
    opened = ui.ask("GET", "/api/searches?state=open").json
    assert (opened["running"], opened["waiting"]) == (2, 1)
    assert ui.ask("POST", f"/api/searches/{waiting}/cancel", {}).json["state"] == "stopped"
    ui.ask("POST", f"/api/searches/{running}/cancel", {})
    found = ended(ui, running)
    assert (found["state"], len(found["members"]), found["length"] > 0) == ("partial", 1, True)
    assert state(ui, running)["summary"]["reason"] == "cancelled"
    site.gate.set()
    assert ended(ui, other)["state"] == "complete"
    assert [event["event"] for event in ui.events(waiting)] == ["ended"]
    # The crawl has let go of it, too.
    (last,) = ui.search(site.url + "/collection/")
    assert ended(ui, last)["state"] == "complete"
    assert "/own" not in site.log


def test_the_server_is_killed_and_started_again(tmp_path: Path, site: GatedSite) -> None:
    """It has the same port, token and list; what was in progress is shown as stopped."""
    site.slow = {"/workshops/"}
    folder = tmp_path / "state"
    with UiServer(folder, settings=SETTINGS) as ui:
        (over,) = ui.search(site.url + "/visit/", n=1)
        ui.events(over)
        cookie = ask(ui.address, "GET", ui.enter.removeprefix(ui.url)).headers["Set-Cookie"]
        (running,) = ui.search(site.url + KEY_PAGE)
        wait_until(lambda: state(ui, running)["tried"] == 2)
        ui.end(signal.SIGKILL)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {modes["token"], modes["list.sqlite"]} == {0o600}
    with UiServer(folder, settings=SETTINGS) as after:
        assert (after.token, after.address) == (ui.token, ui.address)
        assert state(after, over)["state"] == "complete"
        assert b"Brindleford" in after.ask("GET", f"/searches/{over}/report").body
        found = ended(after, running)
        assert (found["state"], found["note"] != "") == ("stopped", True)
        # A browser has to sign in again: its cookie may have been sent to another program.
        known = {"Cookie": cookie.partition(";")[0]}
        assert ask(after.address, "GET", "/api/searches", **known).status == 401
        # Another start gives a new address of the one that runs.
        second = [sys.executable, "-m", "scrapy", "ui", f"--dir={folder}"]
        told = subprocess.run(second, cwd=PROJECT, capture_output=True, text=True, check=True)
        assert ask(after.address, "GET", told.stdout.rpartition(after.url)[2].strip()).status == 303
        (running,) = after.search(site.url + KEY_PAGE)
        wait_until(lambda: state(after, running)["tried"] == 2)
        assert after.end() == 0  # Ctrl-C while a page hangs: what there is, is kept
        assert "1 search ended early" in after.output
    (folder / "token").unlink()
    with UiServer(folder, settings=SETTINGS) as last:
        assert last.token != ui.token
        found = state(last, running)
        assert (found["state"], len(found["members"])) == ("partial", 2)
        assert found["summary"]["reason"] == "shutdown"
        assert found["text"]["text"].startswith("Penny-farthings")
        assert last.end(signal.SIGTERM) == 0
    assert "Traceback" not in last.log


FOUND = summary([row(1, [0, 2]), row(2, [0, 1])], [1, 2])
PART = FOUND | {"complete": False}


@pytest.mark.quick
@pytest.mark.parametrize(
    ("found", "has_text", "word"),
    [
        (FOUND, True, "complete"),
        (PART | {"reason": "cancelled"}, False, "partial"),
        (summary([row(1, [])], [], complete=False, reason="links_exhausted"), True, "none"),
        (summary([row(1, [])], [], complete=False, reason="cancelled"), False, "stopped"),
        (unusable(key_outcome="no-links"), True, "none"),
        (unusable(key_outcome="no-links"), False, "failed"),
        (unusable(key_outcome="http-404"), False, "failed"),
        (unusable(key_outcome="not-loaded", reason="cancelled"), False, "stopped"),
    ],
)
def test_one_word_for_each_outcome(found: dict[str, Any], has_text: bool, word: str) -> None:  # noqa: FBT001
    assert outcome(CandidateSearch(**found), has_text=has_text) == word


@pytest.mark.quick
def test_the_list_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tplspider.plugins.ui.store.MOST", 3)
    store = Store(tmp_path)
    runs = [Run(f"{number:016x}", "http://x/", 3, "guided", 0.0) for number in range(5)]
    store.add(runs[:2])
    store.save(runs[:2], {"summary": {}}, b"report")
    store.add(runs[2:4])
    # The oldest that is over is forgotten.
    assert [store.get(run.id) is not None for run in runs[:4]] == [False, True, True, True]
    assert store.report(runs[1].id) == b"report"
    assert [run.number for run in store.closed(0, 9)] == [2]
    store.close()
    again = Store(tmp_path)  # after a kill
    assert [run.state for run in again.closed(0, 9)] == ["stopped", "stopped", "waiting"]
    again.close()
