"""What the name of an output becomes: its fields are filled in, and it is a local path or not."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import url2pathname

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider

STANDARD_OUTPUT = "stdout:"  # what Scrapy calls it

# Fields as Scrapy has them in the names of feeds; any other percent sign stands for itself.
_FIELD = re.compile(
    r"%\((?P<name>[^)]+)\)[-+ #0]*(?P<width>\d+|\*)?(?:\.(?P<digits>\d+|\*))?[diouxXeEfFgGcrsa]"
)
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_BATCH_FIELDS = ("batch_id", "batch_time")
_WIDEST = 255  # no file has a longer name
_PASSWORD = re.compile(r"(?<=//)[^/@]*@")


class Fields:
    """What the fields of names stand for in a crawl, at one moment for all of them."""

    def __init__(self, spider: Spider, uri_params: Any = None) -> None:
        self._spider = spider
        self._uri_params = uri_params  # Scrapy's FEED_URI_PARAMS
        self._now = datetime.now(UTC)

    def fill(
        self,
        label: str,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        batch: int | None = 1,
    ) -> str:
        """*name* with its fields filled in; those of batches are left where *batch* is None.

        Raises ValueError, in one line that starts with the *label*, for a field that is unknown.
        """
        if not _FIELD.search(name):
            return name
        values = self._values(options or {}, batch or 1)

        def value(field: re.Match[str]) -> str:
            if batch is None and field["name"] in _BATCH_FIELDS:
                return field[0]
            if field["name"] not in values:
                raise ValueError(
                    f"{label}: unknown field %({field['name']})s: there are %(time)s and"
                    " the spider's attributes, such as %(name)s and %(n)s"
                )
            widths = [field[part] for part in ("width", "digits") if field[part]]
            if any(width == "*" or int(width) > _WIDEST for width in widths):
                raise ValueError(f"{label}: {field[0]} is too wide a field for a file name")
            try:
                return field[0] % values
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{label}: {field[0]} cannot be filled in: {error}") from None

        return _FIELD.sub(value, name)

    def _values(self, options: Mapping[str, Any], batch: int) -> Mapping[str, Any]:
        """Scrapy's own, with what the project's function makes of them."""
        values = {name: getattr(self._spider, name) for name in dir(self._spider)}
        values["time"] = self._now.replace(microsecond=0).isoformat().replace(":", "-")
        values["batch_time"] = self._now.isoformat().replace(":", "-")
        values["batch_id"] = batch
        change = options.get("uri_params", self._uri_params)
        changed: Mapping[str, Any] | None = (
            load_object(change)(values, self._spider) if change else None
        )
        return values if changed is None else changed


def has_batch_field(name: str) -> bool:
    """Whether the batches of a feed of this name are files of their own."""
    return any(field["name"] in _BATCH_FIELDS for field in _FIELD.finditer(name))


def local_path(label: str, name: str) -> Path:
    """The path that somebody means who names a local file: as it is, or by a file:// address.

    Names that only look like addresses (localhost:8000.json) are file names; those that can only
    be addresses are refused.
    """
    address = _ADDRESS.match(name)
    if not address:
        return Path(name)
    if address["scheme"].lower() != "file":
        raise ValueError(f"{label}: expected a local file or folder, not an address")
    host, slash, path = name[address.end() :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise ValueError(f"{label}: expected file:///and/a/path, without a host")
    return Path(url2pathname(slash + path))


def final_path(path: Path) -> Path:
    """*path* wherever we are: absolute, without '..' and links, whether or not it is made yet.

    What is not a plain file stays as it is: /dev/stdout leads nowhere by its words.
    """
    where = Path.cwd() / path
    real = Path(os.path.realpath(where))
    exists = os.path.exists(where)  # noqa: PTH110 - any fault
    return real if not exists or (real.is_file() and real.samefile(where)) else where


def scrapy_name(path: Path) -> str:
    """*path*, which is final, as a name that Scrapy takes for this file and for nothing else."""
    # What looks like a field now is part of the name.
    return f"file://{quote(os.fsencode(path))}" if _FIELD.search(str(path)) else str(path)


def without_password(uri: str) -> str:
    """*uri* as it may be shown."""
    return _PASSWORD.sub("", uri)
