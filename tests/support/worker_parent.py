"""A process with a worker, for tests that do something to the process.

``python -m tests.support.worker_parent ORDER [SECONDS [EXTRACTOR]]`` prints what came of it,
and of Ctrl-C.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from tplspider.old.extraction.workers import ExtractionWorkers
from tplspider.template.extract import PageSource

OBEY = "tests.support.odd_extractors.obey"


async def main(order: str, seconds: str = "600", extractor: str = OBEY) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, print, "interrupted")
    workers = ExtractionWorkers(extractor, seconds=float(seconds), megabytes=200)
    workers.start()
    print("started", flush=True)
    if order == "idle":
        await asyncio.sleep(600)
    found = await workers.extract(PageSource("http://x/", order), [])
    print(found.content_text if found else "none")
    await workers.close()


if __name__ == "__main__":
    if sys.argv[1] == "fat":
        del [bytearray(b"x" * 400_000_000)][0]
        sys.argv[1] = "sleep 0.5"
    asyncio.run(main(*sys.argv[1:]))
