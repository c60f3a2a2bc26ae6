"""The words of Markdown, to be compared with those of a text.

Words are runs of letters, digits and underscores. Of the Markdown, what is in addresses, images and
the first and last lines of fences is left out, and so are its marks: backslashes, ``*``, ``~~``,
backticks and brackets; these are left out of the text as well, which may have them, too.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

_ADDRESS = r"\((?:<[^>]*>|(?:\\.|[^()\s\\]|\([^()\s]*\))*)\)"
_IMAGE = re.compile(r"!\[(?:\\.|[^\]\\])*\]" + _ADDRESS)
_LINK = re.compile(r"\]" + _ADDRESS)
_FENCE = re.compile(r"^[\s>*+-]*(?:\d+\. *)?`{3,}[^`\n]*$", re.MULTILINE)
_MARKS = re.compile(r"\\|\*|~~|`|\[|\]")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", _MARKS.sub("", unescape(text))))


def words_of_markdown(markdown: str) -> Counter[str]:
    without_fences = _FENCE.sub("", markdown)
    return words(_LINK.sub("]", _IMAGE.sub("", without_fences)))


def missing(text: str, markdown: str) -> Counter[str]:
    """The words of the text that are not in the Markdown as often."""
    return words(text) - words_of_markdown(markdown)
