"""The server: its parts put together, and run until somebody ends it."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from tplspider.plugins.ui import pages
from tplspider.plugins.ui.access import Access, OwnHosts, is_loopback
from tplspider.plugins.ui.api import ID, Api
from tplspider.plugins.ui.bad_requests import request_logger
from tplspider.plugins.ui.downloads import Downloads
from tplspider.plugins.ui.guard import Guard, add_headers
from tplspider.plugins.ui.runs import Runs
from tplspider.plugins.ui.store import RunStore
from tplspider.plugins.ui.worker_process import WorkerProcess

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Sequence

    from tplspider.plugins.ui.state_folder import StateFolder
    from tplspider.plugins.ui.wanted import Check

logger = logging.getLogger(__name__)

_LARGEST = 8 << 20  # bytes of a request: ten thousand addresses are less
_PATIENCE = 2.0  # seconds that open answers have at the end


@dataclass(frozen=True)
class Plan:
    """What a server is made of. Its *listener* is bound already."""

    folder: StateFolder
    token: str
    host: str
    listener: socket.socket
    check: Check
    worker: Sequence[str]  # the command that starts it
    worker_env: dict[str, str]
    command: str = "scrapy ui"  # what gives a new address while it runs
    forget: bool = False  # whoever was let in before

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it."""
        name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104 - not bound by this
        return f"http://{f'[{name}]' if ':' in name and name[0] != '[' else name}:{self.port}"


async def serve(plan: Plan, ready: Callable[[str], object], stop: asyncio.Event) -> int:
    """Run until *stop* is set; *ready* is called with an address to enter by.

    Tells how many searches were ended by that. Raises StoreError where nothing can be kept.
    """
    with ExitStack() as stack:
        store = RunStore(plan.folder.path)
        stack.callback(store.close)
        if store.fault:
            logger.warning("%s", store.fault)
        if plan.forget:
            store.forget_sessions()
        runs = Runs(store)
        access = Access(plan.token, plan.port, store)
        runner = web.AppRunner(
            make_app(plan, runs, access),
            handler_cancellation=True,  # of streams that nobody reads any more
            access_log=None,
            logger=request_logger(),
            shutdown_timeout=_PATIENCE,
        )
        await runner.setup()
        worker = WorkerProcess(plan.worker, plan.worker_env, runs)
        try:
            await web.SockSite(runner, plan.listener).start()
            worker.start()
            ready(f"{plan.address}/enter?code={access.make_code('/')}")
            await stop.wait()
        finally:
            unfinished = runs.unfinished()
            await worker.close()
            runs.close()
            await runner.cleanup()
        return sum(run.state == "ended" for run in unfinished)


def make_app(plan: Plan, runs: Runs, access: Access) -> web.Application:
    """All that the server answers."""
    # Others in the network need not know where its folder is.
    command = plan.command if is_loopback(plan.host) else "scrapy ui"
    guard = Guard(access, OwnHosts(plan.host, plan.port), command)
    app = web.Application(middlewares=[guard.middleware()], client_max_size=_LARGEST)
    app.on_response_prepare.append(add_headers)
    app.add_routes(
        [
            web.get("/", pages.home),
            web.get(f"/searches/{ID}", pages.search),
            web.get("/static/{name}", pages.static),
            pages.enter_with(access, command),
            *Api(runs, access, plan.check, plan.address).routes(),
            *Downloads(runs).routes(),
        ]
    )
    return app
