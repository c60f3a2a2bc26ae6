"""The profile of a deployed project (the egg's entry point): jobs on a scrapyd server."""

import os

from tplspider.profiles.default import *  # noqa: F403 - what it builds on

# Those who may schedule jobs must not get into the server's own network by them.
TPLSPIDER_ALLOW_PRIVATE = False

# Nor may they write anywhere but in TPLSPIDER_FEEDS_DIR.
TPLSPIDER_CONFINE = True

# The folder that gets two files for each job, JOB.json with the candidates and JOB.summary.json;
# and with TPLSPIDER_TEXTS a third, JOB.texts.json. With JOBDIR they are .jl. Scrapyd's own
# items_dir, if it is set, gets the candidates as well, as JSON lines.
TPLSPIDER_FEEDS_DIR = os.environ.get("TPLSPIDER_FEEDS_DIR", "")
