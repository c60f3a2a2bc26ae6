"""The add-on that makes a Scrapy project ready for the spider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.extension import CliqueTracker
from tplspider.feeds import CandidateCsvItemExporter
from tplspider.pipelines import CleanTextPipeline, ValidationPipeline

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Turns on the extension, the pipelines and the CSV exporter, unless a project has its own."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("EXTENSIONS", CliqueTracker, 500)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", CleanTextPipeline, 800)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", ValidationPipeline, 900)
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("csv", CandidateCsvItemExporter)
        settings.set("FEED_EXPORTERS", exporters, "addon")
