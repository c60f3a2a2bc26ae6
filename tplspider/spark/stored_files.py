"""WARC files wherever they are stored: whole ones, and parts of them.

Local files, ``s3://`` by boto3, ``http(s)://``, and what else Arrow has a file system for:
``hdfs://`` (by Hadoop's own library), ``gs://``. What may be a matter of moments is tried again.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from http.client import HTTPException, InvalidURL
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from tplspider.sources.open_files import OpenFiles
from tplspider.spark.patience import PassingError, Patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_SECONDS = 60  # that a server may be silent
_BLOCK = 1 << 20
_HTTP, _S3 = ("http", "https"), ("s3", "s3a", "s3n")
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses of servers that may recover
_LOST = "the connection was lost before the end"


def address_of(name: str, base: str) -> str:
    """Where the file is that a manifest names.

    >>> address_of("crawl-data/a.warc.gz", "s3://commoncrawl"), address_of("file:/a", "s3://b/")
    ('s3://commoncrawl/crawl-data/a.warc.gz', 'file:/a')
    """
    if not base or "://" in name or name.startswith("file:"):
        return name
    return f"{base.removesuffix('/')}/{name.removeprefix('/')}"


class StoredFiles:
    """Reads files; what it needs for that stays open. OSError says why one cannot be read."""

    def __init__(self, folder: str | None = None, patience: Patience | None = None) -> None:
        self._folder = folder  # for copies
        self._patience = patience or Patience()
        self._open: OpenFiles[str] = OpenFiles()
        self._s3: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        self._open.close()

    @contextmanager
    def whole(self, address: str) -> Iterator[BinaryIO]:
        """A file that can be read from front to back, and at any place: a copy, if need be."""
        path = local_path(address)
        if path is not None:
            with open(path, "rb") as file:  # noqa: PTH123 - a name as it is given
                yield file
            return
        try:
            made = TemporaryFile(dir=self._folder)  # noqa: SIM115 - it is closed below
        except OSError as error:
            raise OSError(f"no copy can be made in {self._folder}: {error.strerror}") from None
        with made as copy:
            self._patience.have(_place(address), lambda: self._fetch(address, copy))
            copy.seek(0)
            yield copy

    def part(self, address: str, offset: int, length: int) -> bytes:
        """So many bytes of a file from there on; fewer where it ends."""
        try:
            path = local_path(address)
            if path is not None:
                return os.pread(self._opened(address, path).fileno(), length, offset)
            return self._patience.have(_place(address), lambda: self._part(address, offset, length))
        except ValueError as error:  # a name may be anything
            raise OSError(str(error)) from None

    def _part(self, address: str, offset: int, length: int) -> bytes:
        scheme = urlsplit(address).scheme
        told = f"bytes={offset}-{offset + length - 1}"
        if scheme in _HTTP:
            with _asked(address, told) as answer:
                found = bytes(answer.read(length))
                if len(found) < length and answer.length:
                    raise PassingError(_LOST)
                return found
        if scheme in _S3:
            with _told():
                body = self._client().get_object(**_bucket(address), Range=told)["Body"]
            with _told(PassingError):  # the client tries again by itself until it has an answer
                return bytes(body.read())
        with self._by_arrow(address) as file:
            file.seek(offset)
            return file.read(length)

    def _fetch(self, address: str, copy: BinaryIO) -> None:
        scheme = urlsplit(address).scheme
        copy.seek(0)  # it may be another try
        copy.truncate()
        if scheme in _HTTP:
            with _asked(address) as answer:
                shutil.copyfileobj(answer, copy, _BLOCK)
                if answer.length:  # of what was announced, so much has not come
                    raise PassingError(_LOST)
        elif scheme in _S3:
            with _told():
                self._client().download_fileobj(*_bucket(address).values(), copy)
        else:
            with self._by_arrow(address) as file:
                file.seek(0)
                shutil.copyfileobj(file, copy, _BLOCK)

    @contextmanager
    def _by_arrow(self, address: str) -> Iterator[BinaryIO]:
        """A file that Arrow opens; it is opened anew after a fault."""
        file = self._opened(address, None)
        try:
            with _told(PassingError):
                yield file
        except OSError:
            self._open.drop(address)
            raise

    def _client(self) -> Any:
        if self._s3 is None:
            try:
                import boto3  # for those who need it
            except ImportError:
                raise OSError("s3:// needs boto3, which is not installed here") from None
            self._s3 = boto3.client("s3")
        return self._s3

    def _opened(self, address: str, path: str | None) -> BinaryIO:
        return self._open.get(
            address,
            lambda: open(path, "rb") if path is not None else _of_arrow(address),  # noqa: PTH123
        )


def local_path(address: str) -> str | None:
    """The path of a file of this machine; None for one that is elsewhere."""
    if address.startswith("file:"):
        return unquote(urlsplit(address).path)
    return None if "://" in address else address


def _of_arrow(address: str) -> BinaryIO:
    from pyarrow.fs import FileSystem

    if address.startswith(("gs://", "gcs://")) and "?" not in address:
        address += f"?retry_limit_seconds={_SECONDS}"  # in place of a quarter of an hour
    with _told():
        files, path = FileSystem.from_uri(address)
        found: BinaryIO = files.open_input_file(path)
        return found


def _bucket(address: str) -> dict[str, str]:
    parts = urlsplit(address)
    return {"Bucket": parts.netloc, "Key": parts.path.removeprefix("/")}


def _place(address: str) -> str:
    """What fails as a whole where it fails: a server, a bucket, a file system."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


@contextmanager
def _asked(address: str, part: str = "") -> Iterator[Any]:
    asked = Request(address, headers={"Range": part} if part else {})  # noqa: S310 - http alone
    try:
        with urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            if part and answer.status != 206:
                raise OSError("the server does not give parts of files")
            yield answer
    except HTTPError as error:
        kind = PassingError if error.code in _BUSY else OSError
        raise kind(f"HTTP status {error.code}") from None
    except URLError as error:
        raise PassingError(str(error.reason)) from None
    except InvalidURL as error:
        raise OSError(str(error)) from None
    except (HTTPException, ConnectionError, TimeoutError) as error:
        raise PassingError(f"{type(error).__name__}: {error}") from None


@contextmanager
def _told(kind: type[OSError] = OSError) -> Iterator[None]:
    """Whatever a library raises says why a file cannot be read."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        if kind is OSError:
            raise
        raise kind(str(error)) from error
    except Exception as error:
        raise kind(f"{type(error).__name__}: {error}") from error
