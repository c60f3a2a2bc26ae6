"""A terminal for programs under test: what they write to it, and what is left on its screen."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from dataclasses import dataclass

from tests.support.crawls import PROJECT


@dataclass
class Shown:
    """What a program has written to its terminal."""

    code: int
    text: str

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


def on_terminal(*arguments: str, variables: dict[str, str] | None = None) -> Shown:
    """Run Python with standard output and standard error on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
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
    os.close(ours)
    return Shown(process.wait(), written.decode("utf-8").replace("\r\n", "\n"))
