"""``scrapy ui`` from its options to its end: a server, or the address of one that runs already."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import shlex
import signal
import socket
import webbrowser
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from shutil import copytree
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

from aiohttp import web
from filelock import FileLock, Timeout
from scrapy.settings import default_settings

from tplspider.plugins.ui.access import HOST, Access, Connections
from tplspider.plugins.ui.app import make_app
from tplspider.plugins.ui.searches import Searches
from tplspider.plugins.ui.store import LOST, Store
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

logger = logging.getLogger(__name__)
# What others send that is not HTTP is not logged; faults of handlers are, by app.
http_logger = logging.getLogger(f"{__name__}.http")
http_logger.setLevel(logging.CRITICAL)

PORT = 8765
_GRACE = 10.0  # seconds that the crawl has at the end


class StateFolder:
    """A folder that only its owner may read: the token, the port, and the list of searches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.token_file = path / "token"
        self.lock = FileLock(path / "server.lock", timeout=0)  # who has it is the server

    def token(self) -> str:
        """The token of the last time, or a new one."""
        if not (found := self.read("token")):
            found = token_urlsafe(32)
            self.write("token", found)
        return found

    def port(self) -> int:
        """The port of the last time, or the usual one."""
        return int(self.read("port") or PORT)

    def read(self, name: str) -> str:
        """A line that was written before, or ''."""
        with suppress(FileNotFoundError):
            return (self.path / name).read_text("ascii").strip()
        return ""

    def write(self, name: str, text: str) -> None:
        descriptor = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{text}\n")


def state_folder(opts: argparse.Namespace) -> StateFolder:
    """The folder that the options name, or the usual one of the user."""
    if opts.dir:
        return StateFolder(Path(opts.dir).resolve())
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return StateFolder(Path(base) / "tplspider" / "ui")


def read_port(given: str) -> int:
    """The number of a port; ValueError for what is not one."""
    if not re.fullmatch(r"[0-9]{1,5}", given) or int(given) > 65535:
        raise ValueError(f"--port {given[:40]!r}: expected a number up to 65535")
    return int(given)


def prepare(settings: Settings) -> None:
    """Set what the crawl of the searches needs, in any project. Raises ValueError."""
    # It has no end of its own.
    limits = [name for name in dir(default_settings) if name.startswith("CLOSESPIDER_")]
    for name in (*limits, "LOG_STDOUT", "TWISTED_REACTOR"):
        settings.set(name, getattr(default_settings, name), priority="cmdline")
    # Below what -s says: texts are what most people search for.
    settings.set("TPLSPIDER_TEXTS", value=True, priority=30)
    if find_spec("html_to_markdown"):
        settings.set("TPLSPIDER_MARKDOWN", value=True, priority=30)
    if settings.get("JOBDIR"):
        raise ValueError("JOBDIR: scrapy ui does not use it")


async def serve(
    process: AsyncCrawlerProcess,
    folder: StateFolder,
    access: Access,
    listener: socket.socket,
    ready: Callable[[str], object],
) -> int:
    """Run until Ctrl-C or SIGTERM, or until the crawl ends by itself.

    *ready* is called with an address that signs a browser in. Returns how many searches were ended
    early.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows: there, Ctrl-C ends it at once
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
    with closing(Store(folder.path)) as store, TemporaryDirectory() as reports:
        crawler = process.create_crawler(TemplateCandidatesSpider)
        searches = Searches(store, crawler, Path(reports))
        connections = Connections()
        runner = web.AppRunner(
            make_app(searches, access, connections),
            handler_cancellation=True,  # of streams whose readers are gone
            access_log=None,
            logger=http_logger,
            shutdown_timeout=2.0,
        )
        await runner.setup()
        assert runner.server
        accepting = asyncio.create_task(connections.accept(listener, runner.server))
        crawl = process.crawl(crawler, _keys=searches.keys(), report=reports)
        try:
            ready(access.entrance("/"))
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({stopped, crawl}, return_when=asyncio.FIRST_COMPLETED)
            early = len(searches.open)
            searches.end()
            stopping = asyncio.create_task(process.stop())
            # Scrapy waits for requests in flight: answers are there before that.
            await asyncio.wait({crawl}, timeout=_GRACE)
            stopping.cancel()
        finally:
            searches.stop([*searches.open.values()], LOST)
            accepting.cancel()
            await runner.cleanup()
        if crawl.done():
            await crawl
        else:
            spider: Any = crawler.spider
            await spider.texts.close()  # its processes
        if not stop.is_set():
            logger.error("The crawl has ended: %s", crawler.stats.get_value("finish_reason"))
        return early


def run_ui(
    opts: argparse.Namespace,
    make_process: Callable[[], AsyncCrawlerProcess],
    say: Callable[[str], object],
) -> None:
    """Serve until Ctrl-C. Raises ValueError and OSError."""
    folder = state_folder(opts)
    try:
        with folder.lock:
            _run_server(folder, opts, make_process, say)
    except Timeout:
        # A server has the folder, and with it the same token.
        _show(Access(folder.token(), folder.port()).entrance("/"), say, is_opened=opts.open)


def _run_server(
    folder: StateFolder,
    opts: argparse.Namespace,
    make_process: Callable[[], AsyncCrawlerProcess],
    say: Callable[[str], object],
) -> None:
    with _listen(folder.port() if opts.port is None else read_port(opts.port)) as listener:
        process = make_process()  # which sets up the log
        port = listener.getsockname()[1]
        folder.write("port", str(port))
        access = Access(folder.token(), port)

        def ready(address: str) -> None:
            _show(address, say, is_opened=opts.open)
            say(f"The token for the button in the browser is in {folder.token_file}")
            command = "scrapy ui" + (f" --dir {shlex.quote(str(folder.path))}" if opts.dir else "")
            say(f"Press Ctrl-C to end. For a new address, run in another terminal: {command}")

        serving = asyncio.get_event_loop().create_task(
            serve(process, folder, access, listener, ready)
        )
        serving.add_done_callback(_stop_reactor)
        process.start(stop_after_crawl=False, install_signal_handlers=False)
        early = serving.result()
        more = f"; {early} {'search' if early == 1 else 'searches'} ended early" if early else ""
        say(f"The server has ended{more}.")


def _stop_reactor(_: object) -> None:
    from twisted.internet import reactor as installed  # the import installs one

    reactor: Any = installed
    reactor.stop()


def _show(address: str, say: Callable[[str], object], *, is_opened: bool) -> None:
    say(f"Search from your browser (valid once, within a minute): {address}")
    if is_opened:
        # In a thread: browsers for terminals are waited for, and want to be answered.
        Thread(target=webbrowser.open, args=(address,)).start()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise ValueError(
            f"port {port} is in use: give another with --port; or, if scrapy ui has it,"
            " the --dir of that one"
        ) from error


# The button for browsers (``scrapy ui --extension``).

_ID = b'"tplspider@tplspider.example"'
_WRITTEN = """\
The extension is in {folder}. Load it:
  Chromium and the like: open chrome://extensions, switch on "Developer mode", press
    "Load unpacked", and choose the folder
  Firefox: open about:debugging#/runtime/this-firefox, press "Load Temporary Add-on", and
    choose the folder's manifest.json
Then start scrapy ui, press the button, and paste the token (and the port, if it is not {port}),
which is in
  {token}"""


def give_extension(opts: argparse.Namespace) -> str:
    """Write the extension; returns how to load it. Raises ValueError and OSError."""
    state = state_folder(opts)
    folder = Path(opts.extension).resolve()
    write_extension(folder)
    state.token()  # makes one if there is none
    return _WRITTEN.format(folder=folder, port=PORT, token=state.token_file)


def write_extension(folder: Path) -> None:
    """Write the extension to a new or empty folder, or over an older one.

    Raises ValueError for a folder with other files.
    """
    manifest = folder / "manifest.json"
    is_ours = manifest.is_file() and _ID in manifest.read_bytes()
    if not is_ours and folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder}: it has other files: give a new or empty folder")
    copytree(Path(__file__).parent / "extension", folder, dirs_exist_ok=True)
