"""What runs the event loop of a program: Scrapy's asyncio reactor, or asyncio alone."""

from __future__ import annotations

import asyncio

from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed


def uses_reactor() -> bool:
    """Whether it is the reactor; RuntimeError, in one line, where nothing could be loaded."""
    if not is_reactor_installed():
        return False
    from twisted.internet import reactor  # noqa: PLC0415 - it is there: importing installs nothing

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
