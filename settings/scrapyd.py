"""The scrapyd profile, as scrapy.cfg names it; the library has it."""

from tplspider.profiles.scrapyd import *  # noqa: F403 - all of it
