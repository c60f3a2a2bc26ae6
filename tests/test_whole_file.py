"""A disk that is full in the middle of a row."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.full_disk import short_files
from tplspider.old.crawl.outputs.whole_file import WholeFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_no_part_of_a_row_is_left(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "rows"
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with WholeFile(path, mode) as file:
            file.write(b"first\n")
            with short_files(10), pytest.raises(OSError, match="too large"):
                file.write(b"second, and longer\n")
            assert path.read_bytes() == b"first\n"
            file.write(b"third\n")
    finally:
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"first\nthird\n"


def test_of_a_pipe_what_is_gone_is_gone() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with WholeFile(write_end, "wb") as file, pytest.raises(BrokenPipeError):
        file.write(b"row\n")
