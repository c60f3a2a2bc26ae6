"""Real crawls: a server on loopback, ``scrapy`` in a process of its own, feeds on disk."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scrapy.settings import default_settings

from tests.support.ready_scrapy import run_ready
from tests.support.site_server import Handler, SiteServer

PROJECT = Path(__file__).parent.parent.parent
SITES = PROJECT / "tests" / "sites"

Routes = dict[str, Callable[[Handler], object]]
# The setting for a resolver. Scrapy 2.19 renamed it.
DNS_RESOLVER = next(
    name for name in ("TWISTED_DNS_RESOLVER", "DNS_RESOLVER") if hasattr(default_settings, name)
)
# In every crawl of the tests: no waiting, and no name leaves the machine.
SETTINGS = {
    "DOWNLOAD_DELAY": "0",
    DNS_RESOLVER: "tests.support.components.LoopbackResolver",
    "HTTPPROXY_ENABLED": "False",
    "LOG_LEVEL": "DEBUG",
}


class FixtureServer(SiteServer):
    """A fixture site, with routes that misbehave: functions that are given the request."""

    def __init__(self, site: Path, routes: Routes | None = None):
        super().__init__(site)
        self.routes = routes or {}

    def respond(self, request: Handler) -> None:
        # Clients of these routes may have hung up already.
        with suppress(ConnectionError):
            self.routes.get(request.path, super().respond)(request)

    @property
    def pages_asked(self) -> list[str]:
        """What was asked for, in order of arrival, robots.txt left out."""
        return [path for path in self.log if path != "/robots.txt"]


@dataclass
class Crawl:
    code: int
    stdout: str
    log: str
    folder: Path

    @property
    def candidates(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "out.json").read_bytes())
        return found

    @property
    def summary(self) -> dict[str, Any]:
        (found,) = json.loads((self.folder / "summary.json").read_bytes())
        assert isinstance(found, dict)
        return found

    @property
    def stats(self) -> dict[str, Any]:
        """The stats that are ours, and the finish reason, as the log tells them."""
        dump = self.log.partition("Dumping Scrapy stats:")[2]
        return dict(re.findall(r"'(tplspider/[^']+)': '?([^',}]+)", dump))

    @property
    def seconds(self) -> float:
        found = re.search(r"'elapsed_time_seconds': ([0-9.]+)", self.log)
        assert found
        return float(found[1])

    @property
    def finish_reason(self) -> str:
        return self.log.rpartition("Spider closed (")[2].partition(")")[0]


CRAWL = ("crawl", "template_candidates")


def options(settings: dict[str, str] | None) -> list[str]:
    return [f"-s{name}={value}" for name, value in {**SETTINGS, **(settings or {})}.items()]


def start_scrapy(
    *arguments: str, settings: dict[str, str] | None = None, **more: Any
) -> subprocess.Popen[str]:
    """Start ``scrapy`` in a process that signals can be sent to; its log is a pipe."""
    command = [sys.executable, "-m", "scrapy", *arguments, *options(settings)]
    return subprocess.Popen(command, cwd=PROJECT, text=True, **{"stderr": subprocess.PIPE, **more})


def wait_for_log(process: subprocess.Popen[str], words: str) -> None:
    """Read the log until there is a line with these words, or to its end."""
    assert process.stderr
    for line in process.stderr:
        if words in line:
            break


def run_scrapy(*arguments: str, folder: Path, settings: dict[str, str] | None = None) -> Crawl:
    """Run ``scrapy`` in the project, with the settings of the tests, as a person would."""
    env = {**os.environ, "PYTHONWARNINGS": "default"}
    given = [*arguments, *options(settings)]
    if sys.platform == "linux" and not any(name.startswith("COVERAGE") for name in env):
        return Crawl(*run_ready(given, env), folder)
    # Coverage measures processes that start.
    done = run_command(sys.executable, "-m", "scrapy", *given, env=env)
    return replace(done, folder=folder)


def run_command(
    *command: object, folder: Path = PROJECT, check: bool = False, **more: Any
) -> Crawl:
    """Run any command in a folder; *more* is for ``subprocess.run``."""
    named = {"capture_output": True, "encoding": "utf-8", "timeout": 120, **more}
    done = subprocess.run([*map(str, command)], cwd=folder, check=check, **named)
    return Crawl(done.returncode, done.stdout, done.stderr, folder)


def crawl_list(
    folder: Path, urls: Path | str, *more: str, settings: dict[str, str] | None = None
) -> Crawl:
    """Crawl a list; the feeds are out.jl and summary.jl."""
    outputs = (f"-asummary={folder / 'summary.jl'}", f"-O{folder / 'out.jl'}")
    given = (*CRAWL, f"-aurls={urls}", *outputs, *more)
    return run_scrapy(*given, folder=folder, settings=settings)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def files_of_at_most(size: int) -> Callable[[], None]:
    """For ``preexec_fn``: in that process no file gets larger than so many bytes.

    It writes no bytecode: Python would leave files that are cut off, which other tests then load.
    """

    def limit() -> None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


# The fixtures "crawl" and "serve" of conftest.py.
RunCrawl = Callable[..., Crawl]
Serve = Callable[..., FixtureServer]
