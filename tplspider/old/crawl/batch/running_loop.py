"""What runs the event loop of a program: Scrapy's asyncio reactor, or asyncio alone."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable


def uses_reactor() -> bool:
    """Whether it is the reactor; RuntimeError, in one line, where nothing could be loaded."""
    if not is_reactor_installed():
        return False
    from twisted.internet import reactor  # it is there: importing installs nothing

    if not is_asyncio_reactor_installed():
        raise RuntimeError(
            f"the reactor {type(reactor).__name__} is installed: searches need Twisted's asyncio"
            " reactor, or none at all"
        )
    loop = reactor._asyncioEventloop  # noqa: SLF001 - no other way
    if not reactor.running or loop is not asyncio.get_running_loop():
        raise RuntimeError(
            "a Twisted reactor is installed that does not run this event loop: start the reactor,"
            " or do not import twisted.internet.reactor before asyncio.run()"
        )
    return True


def before_shutdown(
    end: Callable[[], object], task: asyncio.Task[Any] | None
) -> Callable[[], None]:
    """Have a reactor that is stopped call *end*, and wait for *task*.

    It cancels nothing, and what it leaves behind never ends. What this returns undoes it.
    """
    from twisted.internet import reactor as installed

    reactor: Any = installed

    def wait() -> Deferred[None]:
        out: Deferred[None] = Deferred()
        if task is None or task.done():
            out.callback(None)
        else:
            task.add_done_callback(lambda _: out.callback(None))
            end()
        return out

    trigger = reactor.addSystemEventTrigger("before", "shutdown", wait)

    def forget() -> None:
        with suppress(ValueError, KeyError, TypeError):  # it has been called
            reactor.removeSystemEventTrigger(trigger)

    return forget
