"""``python -m tplspider.plugins.spark.child PARENT ARGUMENTS``: a scrapy that dies with its parent.

A crawl must not outlive the task that started it: Spark starts the task again elsewhere, and two
crawls would ask the same hosts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run scrapy; Linux kills it when the process PARENT is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):  # it was gone before that
        sys.exit(1)
    from scrapy.cmdline import execute  # imported lazily: it takes long

    execute(["scrapy", *sys.argv[2:]])


if __name__ == "__main__":
    main()
