"""A disk that is nearly full, for a process that is started, or for a while in this one."""

import os
import resource
from collections.abc import Callable


def files_of_at_most(size: int) -> Callable[[], None]:
    """For ``preexec_fn``: in that process no file gets larger than so many bytes.

    It writes no bytecode: Python would leave files that are cut off, which other tests then load.
    """

    def limit() -> None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit
