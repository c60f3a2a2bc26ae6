"""Whether items can be given their fields: found out before a crawl starts, changing nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.fields.field_settings import FieldSettings
from tplspider.old.crawl.outputs.check import try_output
from tplspider.old.crawl.outputs.trial import try_folder

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def check_fields(settings: BaseSettings) -> None:
    """Raise ValueError, in one line, for settings with which no item can have its fields."""
    found = FieldSettings.of(settings)
    if found.fields and found.pool_dir:
        fault = f"TPLSPIDER_POOL_DIR={found.pool_dir!r}: cannot write to this folder"
        try_output(fault, lambda: try_folder(Path(found.pool_dir)))
