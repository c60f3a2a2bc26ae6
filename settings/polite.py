"""The polite profile, as scrapy.cfg names it; the library has it."""

from tplspider.profiles.polite import *  # noqa: F403 - all of it
