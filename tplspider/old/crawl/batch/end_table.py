"""What became of a list, in a small table at the end of its crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.misc import load_object

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.batch.standing import duration
from tplspider.old.crawl.outputs.names import without_password
from tplspider.search.answer import counted
from tplspider.web.page import BAD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.old.crawl.tally import Tally

_KINDS = {
    TemplateCandidate: "candidates",
    CandidateSearch: "summaries",
    PageTemplate: "templates",
}


class WrittenFeeds:
    """Where the feeds of a crawl were written; of one in batches, the first file and how many."""

    def __init__(self) -> None:
        self._feeds: dict[str, tuple[str, str, int]] = {}

    def add(self, slot: Any) -> None:
        """Take note of a feed, or a batch of one, that Scrapy has closed."""
        file = slot.file.file if isinstance(slot.file, PostProcessingManager) else slot.file
        if getattr(file, "fault", None) is not None:
            return  # it could not be written, which the log says
        kind, place, count = self._feeds.get(
            slot.uri_template, (_kind_of(slot.feed_options), _place_of(slot), 0)
        )
        self._feeds[slot.uri_template] = kind, place, count + 1

    def rows(self) -> Iterator[tuple[str, str]]:
        for kind, place, count in self._feeds.values():
            more = f" and {counted(count - 1, 'more file')}" if count > 1 else ""
            yield kind, place + more


def _kind_of(options: dict[str, Any]) -> str:
    classes = [load_object(path) for path in options.get("item_classes") or ()]
    return _KINDS.get(classes[0], "items") if len(classes) == 1 else "items"


def _place_of(slot: Any) -> str:
    if isinstance(slot.storage, FileFeedStorage):
        return str(slot.storage.path)
    if isinstance(slot.storage, StdoutFeedStorage):
        return "standard output"
    return without_password(slot.uri)


@dataclass(frozen=True, slots=True)
class End:
    """How the crawl of a list ended."""

    tally: Tally
    seconds: float
    before: int  # lines that were answered by an earlier crawl
    total: int | None
    way_on: str  # how the rest can be done
    places: Iterable[tuple[str, str]]  # what was written, and where

    def table(self) -> str:
        """In words, on several lines."""
        tally = self.tally
        head = f"{counted(tally.answered, 'line')} answered in {duration(self.seconds)}"
        lines = [f"{head}, with {counted(tally.loads, 'load')}" if tally.answered else head]
        rows = [(number, what) for number, what in self._rows() if number]
        width = max((len(str(number)) for number, _ in rows), default=0)
        lines += [f"  {number:>{width}}  {what}" for number, what in rows]
        lines += [f"  {what}: {where}" for what, where in self.places]
        if not tally.is_finished:
            lines.append(self._rest())
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[int, str]]:
        tally = self.tally
        yield tally.complete, "complete"
        yield tally.partial, "partial"
        for outcome, number in tally.unusable.most_common():
            if outcome != BAD_INPUT:
                yield number, f"unusable: {outcome}"
        if bad := tally.unusable[BAD_INPUT]:
            yield bad, "bad line" if bad == 1 else "bad lines"
        if self.before:
            yield self.before, "answered before"
        if tally.lost:
            what = "output or item" if tally.lost == 1 else "outputs or items"
            yield tally.lost, f"{what} lost: the log says which"

    def _rest(self) -> str:
        left = None if self.total is None else self.total - self.before - self.tally.answered
        if left is None or left <= 0:
            text = "It was ended before the end of the list"
        else:
            text = f"{counted(left, 'line')} {'is' if left == 1 else 'are'} not answered"
        return f"{text}: {self.way_on}" if self.way_on else text
