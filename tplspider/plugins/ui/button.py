"""``scrapy ui --extension``: the button for browsers, written to a folder."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import Timeout

from tplspider.plugins.ui.server import read_port, state_folder

if TYPE_CHECKING:
    import argparse

_MANIFEST, _DEFAULTS = "manifest.json", "defaults.js"  # where the port is
_ID = b'"tplspider@tplspider.example"'
_WRITTEN = """\
The extension is in {folder}, for scrapy ui on port {port}. Load it:
  Chromium and the like: open chrome://extensions, switch on "Developer mode", press
    "Load unpacked", and choose the folder
  Firefox: open about:debugging#/runtime/this-firefox, press "Load Temporary Add-on", and
    choose the folder's manifest.json
Then start scrapy ui, press the button, and paste the token, which is in
  {token}
If you want no extension, this address as a bookmark opens the form, filled in with the page's:
  {bookmarklet}"""


def give_extension(opts: argparse.Namespace) -> str:
    """Write the extension; returns how to load it. Raises ValueError and OSError."""
    state = state_folder(opts)
    folder = Path(opts.extension).resolve()
    port = state.port() if opts.port is None else read_port(opts.port)
    if not port:
        raise ValueError("--port 0: the extension has to know the port")
    if port != state.port():
        try:
            with state.lock:  # from now on the server listens where the extension looks for it
                state.write("port", str(port))
        except Timeout:
            raise ValueError(f"--port {port}: a server has {state.path}: end it first") from None
    write_extension(folder, port)
    state.token()  # makes one if there is none
    names = {"folder": folder, "port": port, "token": state.token_file}
    return _WRITTEN.format(**names, bookmarklet=bookmarklet(port))


def write_extension(folder: Path, port: int) -> None:
    """Write the extension for a server on *port* to a new or empty folder, or over an older one.

    Raises ValueError for a folder with other files.
    """
    source = files("tplspider.plugins.ui") / "extension"
    ours = {file.name: file.read_bytes() for file in source.iterdir()}
    text = ours[_DEFAULTS].decode()
    ours[_DEFAULTS] = re.sub(r"(?<=PORT = )\d+", str(port), text).encode()
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / _MANIFEST
    is_ours = manifest.is_file() and _ID in manifest.read_bytes()
    if not is_ours and any(folder.iterdir()):
        raise ValueError(f"{folder}: there are other files in it: give a new or an empty folder")
    for name, data in ours.items():
        (folder / name).write_bytes(data)


def bookmarklet(port: int) -> str:
    """The address of a bookmark that opens our form with the page's address; it has no token."""
    address = f'"http://127.0.0.1:{port}/?url="+encodeURIComponent(location.href)'
    return f'javascript:void open({address},"_blank","noopener")'
