"""Extractors that do as the key page says: everything that can go wrong in a worker, at will."""

import logging
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tplspider
from tplspider.items import PageTemplate
from tplspider.template.extract import PageSource

logger = logging.getLogger(__name__)

NOT_A_FUNCTION = 3


def workers_of(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(pid) for file in tasks for pid in file.read_text("ascii").split()]
    return [pid for pid in found if is_worker(pid)]


def is_worker(process: int) -> bool:
    try:
        return b"tplspider.extraction" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def obey(key: PageSource, pages: Sequence[PageSource]) -> Any:
    """Do what the key page says, then give its text as content, and the process as template."""
    urls, process = [page.url for page in pages], str(os.getpid())
    found = PageTemplate(key.url, urls, process, "", key.html, [], 0.5)
    order, _, word = key.html.partition(" ")
    if order == "sleep":
        time.sleep(float(word))
    elif order == "file":
        Path(word).touch()
        time.sleep(600)
    elif order == "print":
        print(word)
        sys.stdout.buffer.write(b"\x80\x04")  # how a pickle starts
        sys.stdout.flush()
        found.content_text = sys.stdin.read()
    elif order == "log":
        logger.warning("From the worker: %s", word)
        logger.debug("Nobody wants this")
    elif order == "none":
        return None
    else:
        return _fail(order, found)
    return found


def _fail(order: str, found: PageTemplate) -> Any:
    if order == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif order == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif order == "exit":
        sys.exit("enough")
    elif order == "raise":
        raise RuntimeError("stumbled\nover a line")
    elif order == "spin":  # one call that lets no other thread run
        re.match("(a+)+b", "a" * 100)
    elif order == "leap":
        return len(b"x" * 3_000_000_000)
    elif order == "text":
        return "a text"
    return found


def _whatever_the_page_says(order: str, key: PageSource, pages: Sequence[PageSource]) -> Any:
    return obey(replace(key, html=order), pages)


# For crawls, which have real pages.
dies = partial(_whatever_the_page_says, "kill")
grows = partial(_whatever_the_page_says, "leap")
sleeps = partial(_whatever_the_page_says, "sleep 600")


def announces(key: PageSource, pages: Sequence[PageSource]) -> Any:
    logger.warning("At work")
    return sleeps(key, pages)


def counts_pages(key: PageSource, pages: Sequence[PageSource]) -> PageTemplate:
    return PageTemplate(key.url, [], "", "", str(len(pages)), [], 0)


def deadly_once(key: PageSource, pages: Sequence[PageSource]) -> PageTemplate | None:
    """Kill the process over the first template of all."""
    try:
        Path(os.environ["TPLSPIDER_TEST_KILLED"]).touch(exist_ok=False)
    except FileExistsError:
        return tplspider.extract_template(key, pages)
    os.kill(os.getpid(), signal.SIGKILL)
    return None
