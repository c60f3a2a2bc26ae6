"""Recall, precision and F1 of what was found, for sets of elements and for texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

# Scripts that put no space between words: Han, kana, and Hangul with them, by character.
_CJK = (
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


@dataclass(frozen=True, slots=True)
class Score:
    """How much of what is wanted was found, and how much of what was found is wanted."""

    recall: float = 0.0
    precision: float = 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def score_elements(found: AbstractSet[int], wanted: AbstractSet[int]) -> Score:
    """The score of a set of elements.

    >>> score_elements({1, 2}, {2, 3, 4, 5})
    Score(recall=0.25, precision=0.5)
    """
    return _score(len(found & wanted), len(found), len(wanted))


def score_texts(found: str, wanted: str) -> Score:
    """The score of a text by its words, each as often as it stands there.

    >>> score_texts("No, no!", "no menu")
    Score(recall=0.5, precision=0.5)
    """
    have, want = Counter(words(found)), Counter(words(wanted))
    return _score((have & want).total(), have.total(), want.total())


def words(text: str) -> list[str]:
    """The words of a text in lower case; of Chinese, Japanese and Korean its characters.

    >>> words("Die Köche, 日本 2x")
    ['die', 'köche', '日', '本', '2x']
    """
    return _WORD.findall(text.lower())


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def _score(both: int, found: int, wanted: int) -> Score:
    return Score(both / wanted if wanted else 0.0, both / found if found else 0.0)
