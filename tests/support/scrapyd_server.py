"""A real scrapyd on loopback, configured as docs/deploy.md says, and the project deployed to it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.crawls import PROJECT, run_command

KEY = "/docs/guide/four.html"
GUIDE = (PROJECT / "docs" / "deploy.md").read_text("utf-8")
SCRIPTS = Path(sys.executable).parent
SPIDER = {"project": "tplspider", "spider": "template_candidates"}
# The fixture sites are on loopback, where a deployed project does not go by itself.
FAST = ["DOWNLOAD_DELAY=0", "TPLSPIDER_ALLOW_PRIVATE=True"]


@dataclass
class Scrapyd:
    url: str
    folder: Path

    def call(self, path: str, *, password: str | None = "change-me", **fields: object) -> Any:
        """The answer of an endpoint, parsed when it is JSON."""
        pairs = [(name, str(v)) for name, value in fields.items() for v in _values(value)]
        data = urllib.parse.urlencode(pairs).encode() if fields else None
        request = urllib.request.Request(self.url + path, data)
        if password is not None:
            token = b64encode(f"alice:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
        return json.loads(body) if ".json?" in path or path.endswith(".json") else body.decode()

    def wait(self, job: str, state: str = "finished") -> None:
        for _ in range(600):
            if self.call(f"status.json?job={job}")["currstate"] == state:
                return
            time.sleep(0.1)
        raise AssertionError(self.call("listjobs.json?project=tplspider"))

    def wait_until_up(self, process: subprocess.Popen[bytes], log: Path) -> None:
        for _ in range(300):
            try:
                self.call("daemonstatus.json")
                break
            except urllib.error.URLError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)

    def log(self, job: str) -> str:
        logs = self.folder / "logs" / "tplspider" / "template_candidates"
        return (logs / f"{job}.log").read_text("utf-8")

    def feed(self, name: str) -> Any:
        return json.loads((self.folder / "items" / "feeds" / name).read_bytes())


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def environment(home: Path, **variables: str) -> dict[str, str]:
    """The variables of a person with an empty home folder and our programs on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
    path = f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**kept, "HOME": str(home), "PATH": path, **variables}


def configuration(**options: str) -> str:
    """The guide's scrapyd.conf, with options of a test's own."""
    config: str
    (config,) = re.findall(r"^```ini\n(\[scrapyd\].*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for name, value in {"poll_interval": "0.2", **options}.items():
        config = re.sub(rf"^{name} =.*\n", "", config, flags=re.MULTILINE) + f"{name} = {value}\n"
    return config


@contextmanager
def running_scrapyd(
    folder: Path, variables: dict[str, str] | None = None, **options: str
) -> Iterator[Scrapyd]:
    """Scrapyd with the configuration of the guide, in an empty folder and on a free port."""
    folder.mkdir()
    port = free_port()
    (folder / "scrapyd.conf").write_text(configuration(http_port=str(port), **options))
    with (folder / "scrapyd.log").open("wb") as log:
        told = {"TPLSPIDER_FEEDS_DIR": str(folder / "items" / "feeds"), **(variables or {})}
        named: dict[str, Any] = {"env": environment(folder, **told), "stdout": log, "stderr": log}
        process = subprocess.Popen([SCRIPTS / "scrapyd"], cwd=folder, **named)
    server = Scrapyd(f"http://127.0.0.1:{port}/", folder)
    try:
        server.wait_until_up(process, folder / "scrapyd.log")
        yield server
    finally:
        process.terminate()
        process.wait(30)


def clone_of_the_project(folder: Path) -> Path:
    """The project as it is, in a repository of its own."""
    ignored = shutil.ignore_patterns(
        ".git", "__pycache__", ".*_cache", ".hypothesis", "build", "*.egg-info", ".venv", "venv"
    )
    shutil.copytree(PROJECT, folder, ignore=ignored)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return run_command("git", *arguments, folder=folder, check=True).stdout


def deploy(clone: Path, server: Scrapyd) -> None:
    account = {"SCRAPYD_USERNAME": "alice", "SCRAPYD_PASSWORD": "change-me"}
    env = environment(server.folder, SCRAPYD_URL=server.url.rstrip("/"), **account)
    command = (SCRIPTS / "scrapyd-deploy", "production", "-v", "r1")
    run_command(*command, folder=clone, env=env, check=True)


def schedule(server: Scrapyd, job: str, **fields: object) -> None:
    given: dict[str, Any] = {**SPIDER, "setting": FAST, **fields}
    answer = server.call("schedule.json", jobid=job, **given)
    assert answer["status"] == "ok", answer
