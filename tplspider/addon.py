"""The add-on that makes a Scrapy project ready for the spider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.extension import CliqueTracker
from tplspider.feeds import CandidateCsvItemExporter
from tplspider.pipelines import CleanTextPipeline, ValidationPipeline
from tplspider.profiles import profile_settings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Above the project's settings (20), below those of a spider (30) and of the command line (40).
PROFILE_PRIORITY = 25


class Addon:
    """Turns on the extension, the pipelines and the CSV exporter, unless a project has its own.

    Also puts the profile in force that TPLSPIDER_PROFILE names, if there is one.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        if name := settings.get("TPLSPIDER_PROFILE"):
            settings.setdict(profile_settings(name), PROFILE_PRIORITY)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", CliqueTracker, 500)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", CleanTextPipeline, 800)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", ValidationPipeline, 900)
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("csv", CandidateCsvItemExporter)
        settings.set("FEED_EXPORTERS", exporters, "addon")
