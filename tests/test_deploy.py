"""docs/deploy.md, followed line by line by a reader who starts in an empty folder; then more jobs.

One scrapyd, as the guide starts it, for all tests of this file.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import SITES, FixtureServer, RunCrawl, Serve, run_command
from tests.support.scrapyd_server import (
    FAST,
    GUIDE,
    KEY,
    SCRIPTS,
    Scrapyd,
    clone_of_the_project,
    configuration,
    environment,
    free_port,
    git,
    schedule,
)
from tests.support.site_server import Handler
from tests.support.template_site import CONTENT, pages_of, routes_of

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not shutil.which("curl"), reason="the guide's commands need curl"),
    pytest.mark.skipif(not find_spec("ensurepip"), reason="python3 -m venv needs ensurepip"),
]
PROGRAMS = {"scrapy", "scrapyd", "scrapyd-client", "scrapyd-deploy"}
JOBS = re.findall(r"jobid=(\w+)", GUIDE)


@dataclass
class Reader:
    """Someone with two terminals: one in the server's folder, and one that goes elsewhere."""

    home: Path
    variables: dict[str, str]
    server: Scrapyd
    folder: Path = field(init=False)
    process: subprocess.Popen[bytes] | None = None
    outputs: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.server.folder

    def follow(self, line: str) -> None:
        """Do what one line of the guide says."""
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
        elif line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.variables[name] = value
        elif line.endswith("venv/bin/scrapyd"):
            self.start(line)
        else:
            self.run(line)

    def run(self, line: str) -> None:
        # The guide says so: what starts with venv/bin/ is for the server's folder.
        folder = self.server.folder if line.startswith("venv/bin/") else self.folder
        command = ("sh", "-c", line.replace("curl ", "curl -sS --fail "))
        done = run_command(*command, folder=folder, env=self.variables, timeout=600)
        assert done.code == 0, (line, done.stdout, done.log)
        self.outputs.append((line, done.stdout))
        if line.startswith("python3 -m venv "):
            furnish(self.server.folder / line.rpartition(" ")[2])
        elif f"jobid={JOBS[0]} " in line:
            self.server.wait(JOBS[0])  # the guide fetches what it found

    def start(self, line: str) -> None:
        log = self.home / "scrapyd.log"
        with log.open("ab") as output:
            env = {k: v for k, v in self.variables.items() if not k.startswith("SCRAPYD_")}
            named: Any = {"stdout": output, "stderr": output, "start_new_session": True}
            folder = self.server.folder
            self.process = subprocess.Popen(line, shell=True, cwd=folder, env=env, **named)
        self.server.wait_until_up(self.process, log)


def furnish(venv: Path) -> None:
    """Put the packages of the tests into a virtual environment, so that pip finds them there."""
    (packages,) = venv.glob("lib/python*/site-packages")
    paths = [path for path in sys.path if path.endswith("-packages")]
    (packages / "of_the_tests.pth").write_text("\n".join(paths) + "\n")
    # Python 3.11 brings a setuptools of its own, which would come first and is too old.
    (packages / "distutils-precedence.pth").unlink(missing_ok=True)
    for name in ("setuptools*", "pkg_resources", "_distutils_hack"):
        for folder in packages.glob(name):
            shutil.rmtree(folder)
    for program in entry_points(group="console_scripts"):
        if program.name in PROGRAMS:
            script = venv / "bin" / program.name
            script.write_text(
                f"#!{venv / 'bin' / 'python'}\nimport sys\n"
                f"from {program.module} import {program.attr}\nsys.exit({program.attr}())\n"
            )
            script.chmod(0o755)


def a_readers_variables(home: Path) -> dict[str, str]:
    """Those of a person who has python3, but none of our programs, and no network for pip."""
    programs = home / "bin"
    programs.mkdir()
    python = programs / "python3"
    base = sys._base_executable  # type: ignore[attr-defined]  # behind a virtual environment
    python.write_text(f'#!/bin/sh\nexec "{base}" "$@"\n')
    python.chmod(0o755)
    others = [path for path in os.environ["PATH"].split(os.pathsep) if Path(path) != SCRIPTS]
    variables = environment(home, PATH=os.pathsep.join([str(programs), *others]))
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        variables.pop(name, None)
    return {**variables, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def is_allowed(line: str) -> bool:
    """Whether a job may look at our site. A profile's delays would take long."""
    return "jobid=" in line and "TPLSPIDER_PROFILE" not in line


def with_our_addresses(line: str, clone: Path, server: Scrapyd, site: str) -> str:
    line = line.replace("https://git.example.org/tplspider.git", str(clone))
    line = line.replace("https://scrapyd.example.org", server.url.rstrip("/"))
    line = line.replace("https://example.org/docs/page.html", site + KEY)
    if is_allowed(line):
        option = "-d" if line.startswith("curl") else "--arg"
        settings = " ".join(f"{option} setting={setting}" for setting in FAST)
        if line.startswith("curl"):
            line = f"{line} {settings}"
        else:  # the spider is its last word
            line = line.replace(" template_candidates", f" {settings} template_candidates")
    return line


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Someone who has followed all of the guide, with the server still running."""
    home = tmp_path_factory.mktemp("reader")
    clone, port = clone_of_the_project(home / "tplspider"), free_port()
    server = Scrapyd(f"http://127.0.0.1:{port}/", home / "server")
    server.folder.mkdir()
    found = Reader(home, a_readers_variables(home), server)
    try:
        with FixtureServer(SITES / "menu") as site:
            blocks = re.findall(r"^```(sh|ini)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
            for language, block in blocks:
                if language == "ini":
                    config = configuration(http_port=str(port))
                    (server.folder / "scrapyd.conf").write_text(config)
                    continue
                for line in block.splitlines():
                    found.follow(with_our_addresses(line, clone, server, site.url))
            for job in JOBS:
                if f"-d job={job}" not in GUIDE:  # it is cancelled, perhaps before it has begun
                    server.wait(job)
        yield found
    finally:
        if found.process:
            os.killpg(found.process.pid, signal.SIGINT)  # Ctrl-C, for all in the terminal
            found.process.wait(60)


@pytest.fixture
def scrapyd(reader: Reader) -> Scrapyd:
    return reader.server


def test_the_commands_of_the_guide(reader: Reader) -> None:
    server, outputs = reader.server, reader.outputs
    answers = [json.loads(output) for line, output in outputs if re.search(r'\.json[?"]', line)]
    assert {answer["status"] for answer in answers if "status" in answer} == {"ok"}
    fetched = [output for line, output in outputs if "/items/" in line]
    assert fetched
    assert all(fetched)
    feeds = server.folder / "items" / "feeds"
    for line in (line for line, _ in outputs if "jobid=" in line):
        (job,) = re.findall(r"jobid=(\w+)", line)
        if f"-d job={job}" not in GUIDE:
            (summary,) = server.feed(f"{job}.summary.json")
            # A profile does not let a job into the server's network.
            assert summary["key_outcome"] == ("ok" if is_allowed(line) else "private-address")
            assert len(server.feed(f"{job}.json")) == (3 if is_allowed(line) else 0)
        if "TPLSPIDER_TEXTS" in line:
            (text,) = server.feed(f"{job}.texts.json")
            assert text["candidates"] == summary["candidates"]
    assert {path.name.partition(".")[0] for path in feeds.iterdir()} >= {*JOBS} - {"second"}


def test_the_egg_holds_the_project_and_nothing_else(reader: Reader) -> None:
    clone = reader.home / "tplspider"
    egg = next((reader.server.folder / "eggs").rglob("*.egg"))
    names = {name for name in zipfile.ZipFile(egg).namelist() if not name.endswith(".pyc")}
    tracked = git(clone, "ls-files", "tplspider").splitlines()
    assert {name for name in names if not name.startswith("EGG-INFO/")} == {*tracked}
    assert git(reader.folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("password", [None, "wrong"])
def test_every_endpoint_asks_for_the_password(scrapyd: Scrapyd, password: str | None) -> None:
    for path in ["", "logs/", "items/", "jobs", "schedule.json", "addversion.json", "cancel.json"]:
        with pytest.raises(urllib.error.HTTPError) as caught:
            scrapyd.call(path, password=password)
        caught.value.close()
        assert caught.value.code == 401, path


def test_a_job_gives_what_a_crawl_gives(scrapyd: Scrapyd, serve: Serve, crawl: RunCrawl) -> None:
    site = serve("menu")
    chosen = [*FAST, "DOWNLOAD_TIMEOUT=7"]
    schedule(scrapyd, "same", url=site.url + KEY, n=4, setting=chosen)
    scrapyd.wait("same")
    local = crawl(site.url + KEY, n=4)
    assert len(local.candidates) == 4
    assert scrapyd.feed("same.json") == local.candidates
    assert scrapyd.feed("same.summary.json") == [local.summary]
    lines = scrapyd.call("items/tplspider/template_candidates/same.jl").splitlines()
    assert [json.loads(line) for line in lines] == local.candidates
    assert "'DOWNLOAD_TIMEOUT': '7'" in scrapyd.log("same")


def test_a_job_has_a_worker_that_finds_the_egg(scrapyd: Scrapyd, serve: Serve) -> None:
    site = serve("menu", routes_of(pages_of()))
    schedule(scrapyd, "worker", url=site.url, texts="t.json", report="r.html")
    scrapyd.wait("worker")
    (item,) = scrapyd.feed("t.json")
    assert item["content_text"] == CONTENT[""]
    # The pages that reports are made from are in the egg.
    assert CONTENT[""] in (scrapyd.folder / "items" / "feeds" / "r.html").read_text()


def test_jobs_with_wrong_arguments_end_at_once(scrapyd: Scrapyd) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "n": {"n": "none"},
        "summary": {"summary": "../../outside.json"},
        "save_html": {"save_html": "/tmp"},
        "TPLSPIDER_PROFILE": {"setting": ["TPLSPIDER_PROFILE=hasty"]},
    }
    for name, fields in wrong.items():
        schedule(scrapyd, f"wrong-{name}", url="http://127.0.0.1/", **fields)
    for name in wrong:
        job = f"wrong-{name}"
        scrapyd.wait(job)
        (told,) = [each for each in scrapyd.log(job).splitlines() if "] ERROR: " in each]
        assert name in told
        assert "Traceback" not in scrapyd.log(job)
        assert not (scrapyd.folder / "items" / "feeds" / f"{job}.json").exists()


def test_cancelling_leaves_valid_feeds(scrapyd: Scrapyd, serve: Serve) -> None:
    over = threading.Event()

    def slow(request: Handler) -> None:
        over.wait(60)
        site.routes.pop(request.path)
        site.respond(request)

    site = serve("menu", {f"/docs/guide/{name}.html": slow for name in ("two", "three")})
    schedule(scrapyd, "cancelled", url=site.url + KEY)
    deadline = time.monotonic() + 60
    while len(site.pages_asked) < 2 or not site.routes.keys() & {*site.pages_asked}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    answer = scrapyd.call("cancel.json", project="tplspider", job="cancelled")
    assert answer["prevstate"] == "running"
    over.set()
    scrapyd.wait("cancelled")
    assert "Spider closed (shutdown)" in scrapyd.log("cancelled")
    (summary,) = scrapyd.feed("cancelled.summary.json")
    assert summary["reason"] == "shutdown"
    assert [row["url"] for row in scrapyd.feed("cancelled.json")] == summary["candidates"]
