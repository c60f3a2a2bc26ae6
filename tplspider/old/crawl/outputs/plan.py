"""Where the feeds of a crawl go: what Scrapy, or we, make of the names that were given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage
from scrapy.utils.misc import build_from_crawler, load_object
from w3lib.url import file_uri_to_path

from tplspider.old.crawl.outputs.confined import argument_path, is_inside, is_of_the_server
from tplspider.old.crawl.outputs.names import (
    STANDARD_OUTPUT,
    Fields,
    final_path,
    has_batch_field,
    local_path,
    scrapy_name,
    without_password,
)

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.config import Config

_MOST_BATCHES = 1000


@dataclass(frozen=True)
class Feed:
    """A feed that is asked for.

    *label* is what a person calls it, and *name* what was given: by an argument, as a file of
    TPLSPIDER_FEEDS_DIR, or in Scrapy's own way.
    """

    label: str
    name: str
    options: dict[str, Any]
    by: Literal["argument", "feeds_dir", "scrapy"] = "scrapy"


@dataclass(frozen=True)
class Output:
    """Where a feed goes: *uri* for Scrapy, and its local files, one for each batch.

    There are no files where it goes elsewhere, to standard output for instance.
    """

    label: str
    uri: str
    paths: tuple[Path, ...] = ()
    overwrite: bool = False

    @property
    def is_standard_output(self) -> bool:
        return urlsplit(self.uri).scheme == "stdout"


class OutputNames:
    """Finds out where the outputs of a crawl go, by its settings. ValueError is for the user."""

    def __init__(self, settings: BaseSettings, config: Config, fields: Fields) -> None:
        self.settings = settings
        self.confine = config.confine
        self._fields = fields
        label = f"TPLSPIDER_FEEDS_DIR={config.feeds_dir!r}"
        self._feeds_dir = fields.fill(label, config.feeds_dir)

    def argument(self, label: str, name: str) -> Path:
        """The local file or folder that an argument names."""
        name = self._fields.fill(label, name)
        return argument_path(label, name, confine=self.confine, folder=self._feeds_dir)

    def _in_feeds_dir(self, label: str, name: str) -> Path:
        folder = local_path(label, self._feeds_dir)
        path = folder / self._fields.fill(label, name)
        if self.confine and not is_inside(path, folder):
            raise ValueError(f"{label}: a symbolic link leads out of it")
        return path

    def of(self, feed: Feed, most_items: int) -> Output:
        """Where *feed* goes."""
        overwrite = bool(feed.options.get("overwrite"))
        if feed.by == "argument" and feed.name.startswith("-:") and not self.confine:
            return Output(feed.label, STANDARD_OUTPUT)
        if feed.by != "scrapy":
            place = self.argument if feed.by == "argument" else self._in_feeds_dir
            path = final_path(place(feed.label, feed.name))
            return Output(feed.label, scrapy_name(path), (path,), overwrite)
        count = feed.options.get(
            "batch_item_count", self.settings.getint("FEED_EXPORT_BATCH_ITEM_COUNT")
        )
        if count and not has_batch_field(feed.name):
            raise ValueError(f"{feed.label}: batches need %(batch_id)d or %(batch_time)s in it")
        self._check_format(feed)
        storage = self._storage(feed)
        ids = range(1, min(most_items // count + 1, _MOST_BATCHES) + 1) if count else (1,)
        names = [self._fields.fill(feed.label, feed.name, feed.options, batch=i) for i in ids]
        paths: tuple[Path, ...] = ()
        uri = feed.name
        if issubclass(storage, FileFeedStorage):
            paths = tuple(final_path(_scrapys_path(name)) for name in names)
            uri = scrapy_name(paths[0])
            if count:  # Scrapy counts the batches, and fills in the rest of the name
                left = self._fields.fill(feed.label, feed.name, feed.options, batch=None)
                uri = str(Path.cwd() / _scrapys_path(left))
        elif not issubclass(storage, StdoutFeedStorage):
            self._try_storage(feed, storage, names[0])
        if self.confine and not self._is_allowed(feed, paths):
            raise ValueError(
                f"{feed.label}: refused, as the server's own configuration does not name it, and it"
                " is not inside TPLSPIDER_FEEDS_DIR"
            )
        return Output(feed.label, uri, paths, overwrite)

    def _is_allowed(self, feed: Feed, paths: tuple[Path, ...]) -> bool:
        setting = "FEED_URI" if feed.name == self.settings.get("FEED_URI") else "FEEDS"
        if paths and self._feeds_dir:
            folder = local_path(feed.label, self._feeds_dir)
            if all(is_inside(path, folder) for path in paths):
                return True
        return is_of_the_server(feed.name, self.settings, setting)

    def _check_format(self, feed: Feed) -> None:
        known = [name for name, path in self.settings.getwithbase("FEED_EXPORTERS").items() if path]
        name = feed.options.setdefault("format", Path(feed.name).suffix.removeprefix("."))
        if name not in known:
            raise ValueError(f"{feed.label}: unknown format {name!r}: expected one of {known}")

    def _storage(self, feed: Feed) -> type:
        """Scrapy's class for the feed; without one, Scrapy would write no feed at all."""
        try:
            scheme = urlsplit(feed.name).scheme
        except ValueError as error:
            raise ValueError(f"{feed.label}: {error}") from None
        storages = self.settings.getwithbase("FEED_STORAGES")
        if PureWindowsPath(feed.name).drive and scheme not in storages:
            scheme = "file"
        if not storages.get(scheme):
            raise ValueError(
                f"{feed.label}: Scrapy cannot store anything at {scheme}:"
                f" (for a local file of this name, give ./{feed.name})"
            )
        storage = load_object(storages[scheme])
        assert isinstance(storage, type)
        return storage

    def _try_storage(self, feed: Feed, storage: type, uri: str) -> None:
        """See whether Scrapy can build it: a library may be missing. It connects to nothing."""
        stand_in: Any = SimpleNamespace(settings=self.settings)
        try:
            build_from_crawler(storage, stand_in, uri, feed_options={})
        except (NotConfigured, ValueError, AssertionError) as error:
            why = without_password(str(error)) or "its address will not do"
            raise ValueError(f"{feed.label}: {why}") from None
        except Exception:  # noqa: BLE001 - one that needs more of a crawler than there is yet
            return


def _scrapys_path(uri: str) -> Path:
    return Path(file_uri_to_path(uri) if uri.startswith("file:") else uri)
