"""How a page looks to a reader: what near copies of a page have in common.

A login wall, or an error page, answers to a thousand addresses with the same words and another
token each time. Many of them in a pool tell no more than one does.
"""

from __future__ import annotations

from hashlib import blake2b

from tplspider.web.html import parse_html, visible_texts

_TOKEN = 8  # characters: a word of that many with a digit in it says nothing to a reader


def look_of(html: str) -> bytes:
    """A short stand-in for the words of a page, as far as they are words.

    >>> look_of("<p>Log in (no. 81c9-02f4)<i id=1>") == look_of("<p>Log in (no. 7d00-9a1b)<i id=2>")
    True
    >>> look_of("<p>2 apples") == look_of("<p>3 apples")
    False
    """
    texts = visible_texts(parse_html(html))
    words = [word for text in texts for word in text.split() if not _is_token(word)]
    return blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).digest()


def _is_token(word: str) -> bool:
    return len(word) >= _TOKEN and any(map(str.isdigit, word))
