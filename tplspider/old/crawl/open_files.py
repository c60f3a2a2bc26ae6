"""Whether a process may open as many files as a crawl needs: connections are files, too."""

from __future__ import annotations

from contextlib import suppress

_OTHERS = 64  # feeds, pipes, the journal, what the interpreter and the reactor have open


def too_few_files(connections: int) -> str:
    """A warning, when the limit of open files is too low for that many connections, else ''."""
    with suppress(ImportError):  # not on Windows, where it is of no concern
        from resource import RLIMIT_NOFILE, getrlimit

        limit, _ = getrlimit(RLIMIT_NOFILE)
        needed = connections + _OTHERS
        if 0 <= limit < needed:  # less than 0: there is none
            return (
                f"No more than {limit} files may be open, and {needed} may be needed: raise the "
                f"limit (ulimit -n {needed}), or lower CONCURRENT_REQUESTS ({connections})"
            )
    return ""
