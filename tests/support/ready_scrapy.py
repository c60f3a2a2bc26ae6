"""``python -m scrapy`` without the second that Python takes to import Scrapy and what it needs.

Hundreds of crawls of the tests differ in nothing until then. A process that has imported all of it
waits for orders, and each order is a fork with its own arguments, variables, folder and files.
Nothing of the project is imported before: that is done anew by each, as Scrapy does it.
"""

import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
CLIENT = Path(__file__).with_name("ready_client.py")

# What is read when a process starts, so that a fork would not see it.
AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC", "OPENSSL", "SSL")


def scrapy_command(env: Mapping[str, str]) -> list[str]:
    """What to write for ``python -m scrapy``, in processes with these variables.

    It is for those that are run to their end: signals are sent to what stands for the process.
    """
    if sys.platform != "linux" or any(name.startswith("COVERAGE") for name in env):
        return [sys.executable, "-m", "scrapy"]  # coverage measures processes that start
    starting = {name: value for name, value in env.items() if name.startswith(AT_START)}
    return [sys.executable, "-I", "-S", str(CLIENT), _waiting(tuple(sorted(starting.items())))]


@functools.cache
def _waiting(starting: tuple[tuple[str, str], ...]) -> str:
    """The socket of a process that waits for orders, until this one ends."""
    path = f"{tempfile.mkdtemp()}/orders"
    others = {name: value for name, value in os.environ.items() if not name.startswith(AT_START)}
    theirs, _ = os.pipe()  # the other end is closed when this process ends, whatever ends it
    # Output is a pipe, as it is for nearly all crawls: of a file, Python remembers where it was.
    output, written = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", __name__, path],
        cwd=PROJECT,
        env={**others, **dict(starting)},
        stdin=theirs,
        stdout=written,
        stderr=written,
        check=False,
        timeout=120,
    )
    os.close(written)
    os.close(theirs)
    assert done.returncode == 0, os.read(output, 100_000).decode()
    os.close(output)
    return path


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


def serve(path: str) -> tuple[list[str], str, dict[str, str]] | None:
    """Wait for orders; a fork comes back with its own, once it has the files that are its own."""
    for name in _libraries():
        importlib.import_module(name)
    assert not {"twisted.internet.reactor", "tplspider"} & set(sys.modules)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # those who gave the orders see to it
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as orders:
        orders.bind(path)
        orders.listen(100)
        if os.fork():  # tests look at their children: this is not to be one of them
            os._exit(0)
        while orders.fileno() in select.select([orders.fileno(), 0], [], [])[0]:
            order, _ = orders.accept()
            if os.fork() == 0:
                orders.close()
                return _start(order)
            order.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    shutil.rmtree(Path(path).parent)
    return None


def _start(order: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """Fork once more: one process is the crawl, the other tells how it ends."""
    data, files, _, _ = socket.recv_fds(order, 10_000_000, 3)
    child = os.fork()
    if child:
        for number in (0, 1, 2, *files):
            os.close(number)
        watched = os.pidfd_open(child)
        if order.fileno() in select.select([order.fileno(), watched], [], [])[0]:
            os.kill(child, signal.SIGKILL)  # what stands for it was killed
        order.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
        os._exit(0)
    order.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments, folder, env = json.loads(data)
    return arguments, folder, env


def become_scrapy(arguments: list[str], folder: str, env: dict[str, str]) -> None:
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = arguments
    runpy.run_module("scrapy", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if found := serve(sys.argv[1]):
        become_scrapy(*found)
