"""The fast profile, as scrapy.cfg names it; the library has it."""

from tplspider.profiles.fast import *  # noqa: F403 - all of it
