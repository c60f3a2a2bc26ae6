"""docs/scale.md, followed line by line: a Redis, a first machine, and two nodes with scrapyd."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest
import redis

from tests.support.crawls import PROJECT
from tests.support.guide_readers import a_readers_variables, furnish, press_ctrl_c
from tests.support.redis_server import needs_redis, redis_server
from tests.support.scrapyd_server import (
    FAST,
    Scrapyd,
    clone_of_the_project,
    configuration,
    free_port,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer

GUIDE = (PROJECT / "docs" / "scale.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone_of_the_project(tmp_path_factory.mktemp("clone") / "tplspider")


@dataclass
class Reader:
    """Someone at the first machine, who also has a terminal in the folder of each node."""

    folder: Path
    nodes: list[Scrapyd]
    lists: dict[str, list[str]]
    ours: dict[str, str]  # addresses of the guide, and what they are here
    variables: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    outputs: list[tuple[str, str]] = field(default_factory=list)

    def follow(self, block: str) -> None:
        """Do what a block of the guide says."""
        for address, our in self.ours.items():
            block = block.replace(address, our)
        lines = block.splitlines()
        if lines[-1].endswith("venv/bin/scrapyd"):
            for node in self.nodes:
                self._set_up(node, lines)
            return
        for line in lines:
            if line.startswith("cd "):
                self.folder /= line.removeprefix("cd ")
            elif line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                self.variables[name] = value
            else:
                self._run(line, self.folder)
            if line.startswith("python3 -m venv "):
                furnish(self.folder / "venv")

    def _set_up(self, node: Scrapyd, lines: list[str]) -> None:
        """Two nodes are not cloned to: they have what the first machine has."""
        *_, install, start = lines
        for name in ("tplspider", "venv"):
            (node.folder / name).symlink_to(self.folder.parent / name)
        self._run(install, node.folder)
        log = node.folder / "scrapyd.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                start,
                shell=True,
                cwd=node.folder,
                env={k: v for k, v in self.variables.items() if not k.startswith("TPLSPIDER_")},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.running.append(process)
        node.wait_until_up(process, log)

    def _run(self, line: str, folder: Path) -> None:
        if name := line.partition(" queue put ")[2]:
            rows = "".join(f"{url}\n" for url in ("url", *self.lists[name]))
            (folder / name).write_text(rows, "utf-8")
        done = subprocess.run(
            _with_fast(line).replace("curl ", "curl -sS --fail "),
            shell=True,
            cwd=folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        self.outputs.append((line, done.stdout))
        if ".json " in line:
            assert json.loads(done.stdout)["status"] == "ok", done.stdout
            node = next(node for node in self.nodes if node.url in line)
            job = re.findall(r"job(?:id)?=(\S+)", line)[0]
            if "/schedule.json " in line:
                until(lambda: "of queue 'tplspider'" in log_of(node, job))
            else:
                node.wait(job)

    def stop(self) -> None:
        while self.running:
            press_ctrl_c(self.running.pop(0))


def _with_fast(line: str) -> str:
    """The sites are on loopback, where a deployed project does not go by itself."""
    if "/schedule.json " in line:
        return " ".join([line, *(f"-d setting={setting}" for setting in FAST)])
    if "/scrapy crawl " in line:
        return " ".join([line, *(f"-s {setting}" for setting in FAST)])
    return line


def log_of(node: Scrapyd, job: str) -> str:
    try:
        return node.log(job)
    except FileNotFoundError:  # it has not begun
        return ""


def until(is_so: Callable[[], object]) -> None:
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.1)


def prepared(node: Scrapyd, port: int) -> Scrapyd:
    """A node with the scrapyd.conf of docs/deploy.md, but without items."""
    node.folder.mkdir()
    text = configuration(http_port=str(port))
    assert text.count("items_dir = items\n") == 1
    (node.folder / "scrapyd.conf").write_text(text.replace("items_dir = items\n", ""))
    return node


@needs_redis
@pytest.mark.skipif(not shutil.which("curl"), reason="the guide's commands need curl")
@pytest.mark.skipif(not find_spec("ensurepip"), reason="python3 -m venv needs ensurepip")
def test_the_commands_of_the_guide(
    clone: Path, tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu").url
    # Of two hosts, so that two workers have something to do.
    pages = [
        f"{site.replace('127.0.0.1', host)}/docs/guide/{page}.html"
        for page in ("one", "two", "three", "four")
        for host in ("127.0.0.1", "localhost")
    ]
    ports = [free_port(), free_port()]
    nodes = [
        prepared(Scrapyd(f"http://127.0.0.1:{port}/", tmp_path / f"node-{port}"), port)
        for port in ports
    ]
    (conf,) = blocks("conf")
    lines = [line.split(" ", 1) for line in conf.splitlines() if not line.startswith("bind ")]
    options = [word for name, value in lines for word in (f"--{name}", value)]
    first = tmp_path / "first"
    first.mkdir()
    with redis_server(tmp_path, *options, durable=True) as server:
        ours = {
            "https://git.example.org/tplspider.git": str(clone),
            "redis://redis.example.org:6379/0": server.url,
            "https://node-1.example.org": nodes[0].url.rstrip("/"),
            "https://node-2.example.org": nodes[1].url.rstrip("/"),
        }
        lists = {"shops.csv": pages[:4], "more.csv": pages[4:]}
        reader = Reader(first, nodes, lists, ours, a_readers_variables(tmp_path))
        try:
            for block in blocks("sh"):
                reader.follow(block)
            told = [out for line, out in reader.outputs if line.endswith("queue status")]
            for node in nodes:
                versions = node.call("listversions.json?project=tplspider")["versions"]
                assert versions == ["r1", "r2"]
                assert not (node.folder / "items").exists()
        finally:
            reader.stop()
        password = reader.variables["TPLSPIDER_QUEUE_PASSWORD"]
        with redis.Redis(port=server.port, password=password) as client:
            until(lambda: not client.hlen("tplspider:workers"))
            assert client.xlen("tplspider") == 0
            assert not client.keys("tplspider:lease:*")
    # The first machine alone, then two nodes.
    assert re.search(r"done +4 +nothing left\n", told[0])
    assert told[1].count(" in work, ") == 2, told[1]
    summaries = (reader.folder / "s.jl").read_text("utf-8").splitlines()
    assert [json.loads(row)["key_outcome"] for row in summaries] == ["ok"] * 4
    with (reader.folder / "final-summary.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert sorted(row["requested_url"] for row in rows) == sorted(pages)
    assert {row["key_outcome"] for row in rows} == {"ok"}
    assert (reader.folder / "final.csv").stat().st_size
