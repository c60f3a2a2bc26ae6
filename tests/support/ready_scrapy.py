"""``python -m scrapy`` without the second that Python takes to import Scrapy and what it needs.

Hundreds of crawls of the tests differ in nothing until then. A process that has imported all of it
waits for orders, and runs each in a fork, with its own arguments, variables and files. Nothing of
the project is imported before: that is done anew by each, as Scrapy does it.
"""

import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent.parent

# What is read when a process starts, so that a fork would not see it.
AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC", "OPENSSL", "SSL")


def run_ready(arguments: list[str], env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run ``python -m scrapy`` to its end: its exit status, output and errors."""
    starting = {name: value for name, value in env.items() if name.startswith(AT_START)}
    ready = _waiting(tuple(sorted(starting.items())))
    with tempfile.TemporaryDirectory() as folder:
        try:
            ready.stdin.write(json.dumps([arguments, dict(env), folder]) + "\n")
            ready.stdin.flush()
            code = int(ready.stdout.readline())
        except BaseException:  # it took too long
            ready.kill()
            _waiting.cache_clear()
            raise
        out, errors = (Path(folder, name).read_text("utf-8") for name in ("1", "2"))
    return code, out, errors


@functools.cache
def _waiting(starting: tuple[tuple[str, str], ...]) -> Any:
    """A process that waits for orders, until this one ends."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(AT_START)}
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=PROJECT,
        env={**others, **dict(starting)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _libraries() -> Iterator[str]:
    """The modules that a crawl imports, without those of this project and without a reactor."""
    import scrapy.commands  # in the process that waits
    from scrapy.settings import default_settings

    yield from (
        f"scrapy.commands.{found.name}" for found in pkgutil.iter_modules(scrapy.commands.__path__)
    )
    for values in vars(default_settings).values():
        for value in [values, *values, *values.values()] if isinstance(values, dict) else [values]:
            if isinstance(value, str) and value.startswith("scrapy.") and "reactor" not in value:
                yield value.rpartition(".")[0]
    yield from ("jinja2", "protego", "resource", "sqlite3", "tldextract", "twisted.conch.telnet")


def main() -> None:
    """Wait for orders. A fork leaves the loop, and becomes the process that was ordered."""
    for name in _libraries():
        importlib.import_module(name)
    assert not {"twisted.internet.reactor", "tplspider"} & set(sys.modules)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # those who gave the orders see to it
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become_scrapy(*json.loads(line))
            break
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become_scrapy(arguments: list[str], env: dict[str, str], folder: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    new = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, path in enumerate((os.devnull, f"{folder}/1", f"{folder}/2")):
        file = os.open(path, new if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = arguments
    runpy.run_module("scrapy", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
