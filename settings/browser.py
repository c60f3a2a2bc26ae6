"""The browser profile, as scrapy.cfg names it; the library has it."""

from tplspider.profiles.browser import *  # noqa: F403 - all of it
