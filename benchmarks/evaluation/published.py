"""Table 1 of the paper: averages over 40 websites of its own, by the size of the CS."""

from __future__ import annotations

from typing import NamedTuple


class PublishedRow(NamedTuple):
    """A row as printed: shares in percent."""

    recall: float
    precision: float
    f1: float
    loads: float


TABLE_1 = {
    1: PublishedRow(88.56, 94.89, 88.69, 2),
    2: PublishedRow(96.34, 90.32, 91.93, 5.6),
    3: PublishedRow(95.44, 96.35, 95.61, 10.13),
    4: PublishedRow(94.61, 96.88, 95.27, 16.52),
    5: PublishedRow(94.69, 96.96, 95.40, 18.68),
    6: PublishedRow(95.21, 96.82, 95.69, 23.68),
    7: PublishedRow(95.46, 96.31, 95.57, 30),
    8: PublishedRow(95.14, 96.57, 95.54, 32.08),
}
