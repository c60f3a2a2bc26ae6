"""``scrapy ui --extension``: the button for browsers is written, and a person told what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.printing import print_text
from tplspider.old.crawl.ui.serve import read_port, state_folder
from tplspider.plugins.ui.extension_folder import bookmarklet, write_extension
from tplspider.plugins.ui.state_folder import InUseError

if TYPE_CHECKING:
    import argparse

    from tplspider.plugins.ui.state_folder import StateFolder

_TOLD = """\
The extension is in {folder}, for scrapy ui on port {port}. Load it:
  Chromium and the like: open chrome://extensions, switch on "Developer mode", press
    "Load unpacked", and choose the folder
  Firefox: open about:debugging#/runtime/this-firefox, press "Load Temporary Add-on", and
    choose the folder's manifest.json
Then start scrapy ui, press the button, and paste the token, which is in
  {token}
If you want no extension, this address as a bookmark opens the form, filled in with the page's:
  {bookmarklet}"""


def give_extension(opts: argparse.Namespace) -> None:
    """Write it for the port of our server. Raises ValueError and OSError, in one line."""
    if not opts.extension:
        raise ValueError("--extension: expected a folder")
    state = state_folder(opts)
    folder = Path(opts.extension).resolve()
    port = state.port() if opts.port is None else read_port(opts.port)
    if not port:
        raise ValueError("--port 0: the extension has to know the port")
    if port == state.port():
        write_extension(folder, port)
    else:
        _write_and_keep_port(state, folder, port)
    state.token()  # there is one from now on
    told = {"folder": folder, "port": port, "token": state.token_file}
    told["bookmarklet"] = bookmarklet(port)
    print_text(_TOLD.format(**told), "ui")


def _write_and_keep_port(state: StateFolder, folder: Path, port: int) -> None:
    """Have the server listen where the extension looks for it, once that is written."""
    try:
        with state.held():
            write_extension(folder, port)
            state.keep_port(port)
    except InUseError:
        raise ValueError(
            f"--port {port}: a server has {state.path} already, on port {state.port()}:"
            " end it first, or leave --port out"
        ) from None
