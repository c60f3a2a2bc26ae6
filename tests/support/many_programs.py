"""Programs that use ``tplspider.search_many``, each in a process of its own.

With a reactor, or without one; what a program prints is JSON. It may use all that is here.
"""

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from tests.support.crawls import PROJECT, run_command

# What hangs keeps nothing else of its host waiting, and ends by itself.
SETTINGS = {
    "DOWNLOAD_TIMEOUT": 4,
    "RETRY_TIMES": 0,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "HTTPPROXY_ENABLED": False,
}


@dataclass
class Program:
    code: int
    printed: list[Any]
    log: str


def run_program(body: str, folder: Path, *, reactor: bool, given: object = None) -> Program:
    """Run the body of a coroutine, which has what is *given*; *folder* is for its files."""
    head = "import asyncio, json, os\nimport tplspider\nfrom tests.support.many_programs import *\n"
    text = f"{head}\nasync def main(given):\n{indent(dedent(body), '    ')}\nrun(main, {reactor})\n"
    command = (sys.executable, "-W", "always::ResourceWarning", "-c", text, json.dumps(given))
    env = {**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(folder)}
    done = run_command(*command, env=env, timeout=60)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    return Program(done.code, printed, done.log)


def run(main: Any, reactor: bool) -> None:  # noqa: FBT001 - of programs
    given = json.loads(sys.argv[1])
    if not reactor:
        asyncio.run(main(given))
        return
    from scrapy.utils.reactor import install_reactor  # only here

    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    def start(_: object) -> Deferred[Any]:
        coroutine: Coroutine[Any, Any, Any] = main(given)
        return Deferred.fromFuture(asyncio.ensure_future(coroutine))

    react(start)


def show(value: object) -> None:
    print(json.dumps(value), flush=True)


def workers() -> list[int]:
    """The processes that this one has started, and that are there; but not Python's own."""
    found = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    numbers = [int(number) for each in found for number in each]
    return [number for number in numbers if b"resource_tracker" not in _command(number)]


def _command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def connections() -> int:
    inodes = {
        row.split()[9]
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
    }
    links = [
        str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()
    ]
    return sum(link.removeprefix("socket:[").rstrip("]") in inodes for link in links)


def files() -> list[str]:
    """Those in the folder for temporary files."""
    return [path.name for path in Path(os.environ["TMPDIR"]).iterdir()]


async def left_over() -> dict[str, object]:
    """What is left of searches, when that does not get less any more."""
    for _ in range(300):
        tasks = [
            task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()
        ]
        found: dict[str, object] = {
            "tasks": tasks,
            "workers": workers(),
            "connections": connections(),
            "files": files(),
        }
        if not any(found.values()):
            break
        await asyncio.sleep(0.05)
    return found
