"""For scrapyd-deploy, which knows of no other file, and for source distributions.

All else is in pyproject.toml.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.sdist import sdist


class ReproducibleSdist(sdist):
    """With SOURCE_DATE_EPOCH, the same files make the same archive, as they do for wheels."""

    def make_archive(self, base_name: str, format: str, *args: Any, **options: Any) -> str:  # noqa: A002 - setuptools' name
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        if not epoch or format != "gztar":
            return str(super().make_archive(base_name, format, *args, **options))

        def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.uid, member.gid = int(epoch), 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            return member

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(options["base_dir"], filter=plain)
        return str(path)


setup(cmdclass={"sdist": ReproducibleSdist})
