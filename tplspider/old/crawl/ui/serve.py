"""``scrapy ui`` from its options to the end: a server, or a word with the one that runs already."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from tplspider.old.crawl.printing import print_error, print_text
from tplspider.old.crawl.ui.checks import check_wanted
from tplspider.old.crawl.ui.running_server import (
    HOST,
    ask_for_address,
    is_scrapy_ui,
    options_of_a_start,
)
from tplspider.plugins.ui.access import is_loopback
from tplspider.plugins.ui.server import Plan, serve
from tplspider.plugins.ui.state_folder import InUseError, StateFolder, default_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy.settings import Settings

    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)


def turn_settings(settings: Settings) -> None:
    """Have the worker's crawl stay open, and what is printed be printed, in whatever project."""
    limits = [name for name in dir(default_settings) if name.startswith("CLOSESPIDER_")]
    for name in (*limits, "LOG_STDOUT", "TWISTED_REACTOR"):
        settings.set(name, getattr(default_settings, name), priority="cmdline")


def check_settings(spider: type[TemplateCandidatesSpider], settings: Settings) -> None:
    """Raise ValueError, in one line, where the crawl of the worker could not begin."""
    if settings.get("JOBDIR"):
        raise ValueError("JOBDIR: searches of the page cannot be gone on with")
    spider.check({"_keys": None}, settings)


def run_ui(opts: argparse.Namespace, worker: Sequence[str]) -> None:
    """Serve until Ctrl-C. Raises ValueError, StoreError and OSError, in one line.

    *worker* is the command that starts the process that searches.
    """
    folder = state_folder(opts)
    try:
        with folder.held():
            _serve(folder, opts, worker)
    except InUseError:
        if names := options_of_a_start(opts):
            raise ValueError(
                f"{', '.join(names)}: a server has {folder.path} already: end it first"
            ) from None
        address = ask_for_address(folder)
        _show(address)
        if opts.open:
            _open(address)


def state_folder(opts: argparse.Namespace) -> StateFolder:
    """The folder that the options name."""
    return StateFolder(Path(opts.dir).resolve() if opts.dir else default_folder())


def _serve(folder: StateFolder, opts: argparse.Namespace, worker: Sequence[str]) -> None:
    before = folder.port()
    host = plain_host(opts.host)
    port = before if opts.port is None else read_port(opts.port)
    listener = _listen(host, port)
    with listener:
        token = folder.token(new=opts.new_token)
        # The bar of a crawl, and what Scrapy says of itself, are for those who crawl.
        env = {**os.environ, "TQDM_DISABLE": "1"}
        command = "scrapy ui" + (f" --dir {shlex.quote(str(folder.path))}" if opts.dir else "")
        plan = Plan(
            *(folder, token, host, listener, check_wanted, worker, env),
            command=command,
            forget=opts.new_token,
        )
        try:
            folder.keep_port(plan.port)
            folder.keep_address(plan.address)
        except OSError as error:
            logger.warning("The port cannot be kept: %s", error.strerror or error)
        if not is_loopback(host):
            logger.warning(
                "--host %s: others in your network can reach this server, and what they send and"
                " get is not encrypted: whoever sees the token or a cookie can search from here",
                host,
            )

        def ready(address: str) -> None:
            _show(address)
            if opts.open:
                # In a thread: a browser for terminals is waited for, and wants to be answered.
                Thread(target=_open, args=(address,), daemon=True).start()
            lines = [f"The token for the button in the browser is in {folder.token_file}"]
            if host in ("0.0.0.0", "::", ""):  # noqa: S104 - not bound by this
                lines.append("From other machines, the address of this one takes its place")
            if plan.port != before:
                lines.append(
                    f"The port is {plan.port} from now on: buttons and bookmarklets that were made"
                    " for another one have to be made anew"
                )
            lines.append(
                f"Ctrl-C ends it; in another terminal, this gives a new address: {command}"
            )
            print_text("\n".join(lines), "ui")

        early = asyncio.run(_until_signal(plan, ready))
        told = f"; {early} {'search' if early == 1 else 'searches'} ended early" if early else ""
        print_text(f"The server has ended{told}.", "ui")


async def _until_signal(plan: Plan, ready: object) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows: then Ctrl-C ends it at once
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
    return await serve(plan, ready, stop)  # type: ignore[arg-type]  # as above


def _show(address: str) -> None:
    print_text(f"Search from your browser (valid once, within a minute): {address}", "ui")


def _open(address: str) -> None:
    if not webbrowser.open(address):
        print_error("scrapy ui: there is no browser to open it with")


def read_port(given: str) -> int:
    """The number of a port; ValueError for what is not one."""
    is_number = given.isascii() and given.isdigit() and len(given) < 10
    if not is_number or int(given) > 65535:
        raise ValueError(f"--port {given[:40]!r}: expected a number up to 65535")
    return int(given)


def plain_host(given: str) -> str:
    """An address of IPv6 without the brackets that it has in the address of a page.

    ``localhost`` is 127.0.0.1, where the button in the browser looks for us: by its name it might
    be that of IPv6.
    """
    if given.lower() == "localhost":
        return HOST
    is_in_brackets = given.startswith("[") and given.endswith("]") and ":" in given
    return given[1:-1] if is_in_brackets else given


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except UnicodeError:
        raise ValueError(f"--host {host!r}: expected an address of this machine") from None
    except OSError as error:
        if error.errno in (98, 48, 10048):  # in use: Linux, BSD, Windows
            holder = "another program: give"
            if is_scrapy_ui(port):
                holder = "another scrapy ui: give the --dir that it has, or"
            raise ValueError(
                f"port {port} is taken by {holder} another port with --port"
            ) from error
        raise ValueError(f"--host {host!r} --port {port}: {error.strerror or error}") from error


def worker_command(arguments: Sequence[str]) -> list[str]:
    """The command that starts the worker: scrapy as it was started, with the same settings."""
    # -P: nothing in the current folder takes the place of a module; Scrapy itself adds a project's.
    return [sys.executable, "-P", "-m", "scrapy", "ui", "--worker", *arguments]
