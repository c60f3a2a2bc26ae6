"""The polite profile: the pace of the requests follows that of the site."""

from tplspider.profiles.default import *  # noqa: F403 - what it builds on

AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 2
AUTOTHROTTLE_TARGET_CONCURRENCY = 0.5
