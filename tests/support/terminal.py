"""A terminal for programs under test: what they write to it, and what is left on its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.crawls import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Shown:
    """What a program has written to its terminal."""

    code: int
    text: str
    seconds: float

    def since(self, written: int) -> Shown:
        """The same, without the first characters."""
        return Shown(self.code, self.text[written:], self.seconds)

    @property
    def screen(self) -> list[str]:
        """The lines that are left, if none is wider than the terminal."""
        lines: list[list[str]] = [[]]
        row = column = 0
        for part in re.findall(r"\x1b\[A|\n|\r|[^\x1b\n\r]+|\x1b", self.text):
            if part == "\x1b[A":  # one up
                row -= 1
            elif part in "\r\n":
                row, column = row + (part == "\n"), 0
                lines += [[]] * (row == len(lines))
            else:
                line = lines[row] + [" "] * (column - len(lines[row]))
                lines[row] = [*line[:column], *part, *line[column + len(part) :]]
                column += len(part)
        return ["".join(line).rstrip() for line in lines]

    @property
    def bars(self) -> list[str]:
        """Whatever was drawn of a bar."""
        return re.findall(r"\r([^\r\n]* in work[^\r\n]*)", self.text)


def on_terminal(
    *arguments: str,
    columns: int = 120,
    variables: dict[str, str] | None = None,
    follow: Callable[[str, subprocess.Popen[bytes], int], object] | None = None,
) -> Shown:
    """Run Python with standard output and standard error on a terminal.

    *follow* is told what was written so far, of which process, and the terminal, again and again.
    """
    ours, theirs = pty.openpty()
    resize(ours, columns)
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    with suppress(OSError):  # when nobody has the other end any more
        while data := os.read(ours, 65536):
            written += data
            if follow:
                follow(written.decode("utf-8", "replace").replace("\r\n", "\n"), process, ours)
    os.close(ours)
    code = process.wait()
    text = written.decode("utf-8").replace("\r\n", "\n")
    return Shown(code, text, time.monotonic() - started)


def resize(terminal: int, columns: int) -> None:
    """Give a terminal so many columns."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
