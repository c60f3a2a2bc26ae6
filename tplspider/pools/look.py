"""How a page looks to a reader: what near copies of a page have in common.

A login wall, or an error page, answers to a thousand addresses with the same words and another
token each time. Many of them in a pool tell no more than one does.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_TOKEN = 8  # characters: a word of that many with a digit in it says nothing to a reader
_COMMENT = "<!--"
_TAG = re.compile(rf"{_COMMENT}|<(/?)([a-zA-Z]+)[^>]*+>?|<[!?][^>]*+>?")
_HIDDEN = frozenset({"script", "style", "noscript", "template"})


def look_of(html: str) -> bytes:
    """A short stand-in for the words of a page, as far as they are words.

    Its tree is not needed for that, and would take too long where a crawl waits.

    >>> look_of("<p>Log in (no. 81c9-02f4)<i id=1>") == look_of("<p>Log in (no. 7d00-9a1b)<i id=2>")
    True
    >>> look_of("<p>2 apples") == look_of("<p>3 apples<script>4</script>")
    False
    >>> look_of("<p>2 apples") == look_of("<p>2 apples<script>4</script>")
    True
    """
    words = [word for text in _texts(html) for word in text.split() if not _is_token(word)]
    return blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).digest()


def _texts(html: str) -> list[str]:
    """The texts between tags, but for those of scripts and the like."""
    texts: list[str] = []
    hidden, start = "", 0
    while tag := _TAG.search(html, start):
        name = (tag[2] or "").lower()
        if not hidden:
            texts.append(html[start : tag.start()])
            if name in _HIDDEN and not tag[1]:
                hidden = name
        elif tag[1] and name == hidden:
            hidden = ""
        start = tag.end()
        if tag[0] == _COMMENT:
            end = html.find("-->", start)
            start = end + 3 if end >= 0 else len(html)
    if not hidden:
        texts.append(html[start:])
    return texts


def _is_token(word: str) -> bool:
    return len(word) >= _TOKEN and any(map(str.isdigit, word))
