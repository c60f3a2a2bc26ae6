"""The fast profile: several requests in flight, for sites that are yours or can bear it."""

from tplspider.profiles.default import *  # noqa: F403 - what it builds on

TPLSPIDER_IN_FLIGHT = 4
DOWNLOAD_DELAY = 0
