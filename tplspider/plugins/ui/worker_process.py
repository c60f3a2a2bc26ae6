"""The process that makes the searches: started, talked to by lines of JSON, and started again."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from asyncio.subprocess import PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

    from tplspider.plugins.ui.runs import Runs

logger = logging.getLogger(__name__)

_LONGEST_LINE = 256 << 20  # bytes: an answer may have a whole page in it
_GRACE = 10.0  # seconds that it has to hand in what it has
_SHORT_LIFE, _LONGEST_PAUSE = 10.0, 60.0


class WorkerProcess:
    """One process at a time; when it dies, its searches have ended, and another is started.

    If it never lives long, the pauses become longer.
    """

    def __init__(self, command: Sequence[str], env: dict[str, str], runs: Runs) -> None:
        self._command = command
        self._env = env
        self._runs = runs
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_ending = False

    @property
    def pid(self) -> int | None:
        """The id of the process, while there is one."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it, and go on as often as it dies."""
        self._runs.send = self.send
        self._task = asyncio.create_task(self._stay())

    def send(self, message: dict[str, Any]) -> None:
        """Give it a line. Where there is none, the next one is told all that it needs."""
        if self._process and self._process.stdin and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def close(self) -> None:
        """Have it hand in what it has, and end."""
        self._is_ending = True
        process, task = self._process, self._task
        if process and process.stdin:
            process.stdin.close()
        if task is None:
            return
        _, late = await asyncio.wait({task}, timeout=_GRACE if process else 0)
        if late:
            if process and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await asyncio.wait({task}, timeout=_GRACE)
            task.cancel()
            await asyncio.wait({task})

    async def _stay(self) -> None:
        pause = 0.0
        while not self._is_ending:
            begun = time.monotonic()
            status = await self._live()
            if self._is_ending:
                return
            self._runs.worker_ended()
            lived = time.monotonic() - begun
            pause = 0.0 if lived > _SHORT_LIFE else min(max(1.0, 2 * pause), _LONGEST_PAUSE)
            logger.warning(
                "The process that searches has ended (%s); another is started%s",
                f"signal {-status}" if status < 0 else f"status {status}",
                f" in {pause:g} s" if pause else "",
            )
            await asyncio.sleep(pause)

    async def _live(self) -> int:
        """From the start of a process to its end; its exit status."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                limit=_LONGEST_LINE,
                env=self._env,
                start_new_session=True,  # Ctrl-C is for the server, which ends it in order
            )
        except OSError as error:
            logger.error("The process that searches cannot be started: %s", error)  # noqa: TRY400 - it says it all
            return 1
        self._process = process
        try:
            self._runs.worker_started()
            assert process.stdout
            while line := await process.stdout.readline():
                self._take(line)
        except (ValueError, OSError) as error:  # a line without end
            logger.error("The process that searches is out of order: %s", error)  # noqa: TRY400 - likewise
            with suppress(ProcessLookupError):
                process.kill()
        finally:
            self._process = None
        return await process.wait()

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            if not isinstance(event, dict) or "event" not in event:
                raise ValueError  # noqa: TRY301 - as what is not JSON
        except (ValueError, RecursionError):  # the settings of a project may print something
            logger.warning("The process that searches has printed: %s", ascii(line[:200])[2:-1])
            return
        try:
            self._runs.take(event)
        except Exception:  # whatever it is, the next lines are read
            logger.exception("A line of the process that searches cannot be understood")
