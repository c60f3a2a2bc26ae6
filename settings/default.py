"""The default profile, as scrapy.cfg names it; the library has it."""

from tplspider.profiles.default import *  # noqa: F403 - all of it
