"""A word with a server of ``scrapy ui`` that runs already."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    import argparse

    from tplspider.plugins.ui.state_folder import StateFolder

HOST = "127.0.0.1"
_ASKED = 10.0  # seconds that a server has to answer
_GUESSED = 2.0  # likewise, where it may be anything
_LARGEST = 10_000


def ask_for_address(folder: StateFolder) -> str:
    """An address to enter by, of the server that has this folder; ValueError, in one line."""
    token = folder.token()
    try:
        request = Request(  # noqa: S310 - written by us
            f"{folder.address()}/api/codes",
            data=json.dumps({"to": "/"}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with build_opener(ProxyHandler({})).open(request, timeout=_ASKED) as answer:
            return str(json.loads(answer.read())["address"])
    except (OSError, HTTPException, ValueError, KeyError) as error:
        raise ValueError(f"a server has {folder.path}, but does not answer: {error}") from error


def is_scrapy_ui(port: int) -> bool:
    """Whether what has this port on loopback answers those without a token as ours does."""
    try:
        address = f"http://{HOST}:{port}/api/searches"
        build_opener(ProxyHandler({})).open(address, timeout=_GUESSED).close()
    except HTTPError as error:
        try:
            told = json.loads(error.read(_LARGEST))
        except (OSError, HTTPException, ValueError):
            return False
        return error.code == 401 and isinstance(told, dict) and "scrapy ui" in str(told)
    except (OSError, HTTPException, ValueError):
        pass
    return False


def options_of_a_start(opts: argparse.Namespace) -> list[str]:
    """The options that only a server that is started can go by, as they were given."""
    given = {
        "--port": opts.port is not None,
        "--host": opts.host != HOST,
        "--new-token": opts.new_token,
        "--profile": opts.search_profile is not None,
        "-s": opts.set,
        "--loglevel": opts.loglevel,
        "--logfile": opts.logfile,
        "--nolog": opts.nolog,
    }
    return [name for name, is_given in given.items() if is_given]
