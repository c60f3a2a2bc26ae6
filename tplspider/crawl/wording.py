"""Words for the person who runs a crawl."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """So many of something.

    >>> counted(1, "page"), counted(3, "page")
    ('1 page', '3 pages')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def mutually_linked(size: int) -> str:
    """A CS of that size, in plain words.

    >>> mutually_linked(3), mutually_linked(1)
    ('3 pages that all link to each other', '1 page')
    """
    return counted(size, "page") + (" that all link to each other" if size > 1 else "")
