"""Key pages that come from a program, in place of the lines of a list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Mapping
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.batch.list_line import OPTIONS, ListLine, faulty, line_with
from tplspider.old.crawl.batch.raw_lines import RawLine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from typing import Self

    Source = Iterable[object] | AsyncIterable[object]

_URL = "url"


class Inputs:
    """The lines that a program's inputs stand for: addresses, or mappings with a ``url``.

    They are taken as they are needed, also from what never ends. When taking one fails, there are
    no more, and *fault* says why. *untaken* tells how many answers wait for the program; whoever
    takes one calls *taken*. With *anew*, a search that was made before is made once more, and all
    that comes is taken at once, to wait on disk for its host.
    """

    def __init__(
        self, source: Source, untaken: Callable[[], int] = lambda: 0, *, anew: bool = False
    ) -> None:
        self.untaken = untaken
        self.anew = anew
        self.taken: Callable[[], object] = lambda: None
        # Asked of a line whose turn has come: one that the program wants no more has no answer.
        self.is_unwanted: Callable[[ListLine], bool] = lambda _: False
        self.fault: Exception | None = None
        self.number = 0  # of inputs taken so far
        self._own: dict[int, dict[str, Any]] = {}  # the program's own fields, of those unanswered
        self._source: Iterator[object] | AsyncIterator[object]
        self._source = aiter(source) if isinstance(source, AsyncIterable) else iter(source)
        self._coming: asyncio.Future[object] | None = None
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ListLine:
        if self._is_closed:
            raise StopAsyncIteration
        self._coming = asyncio.ensure_future(self._next())
        try:
            given = await self._coming
        except asyncio.CancelledError:
            if self._is_closed:
                raise StopAsyncIteration from None
            raise
        except StopAsyncIteration:
            self._is_closed = True
            raise
        finally:
            self._coming = None
        self.number += 1
        try:
            line, own = line_of(self.number, given)
        except Exception as error:  # noqa: BLE001 - an object of the program's may do anything
            why = f"it cannot be read: {type(error).__name__}"
            line, own = faulty(RawLine(self.number, b""), why), None
        if own:
            self._own[self.number] = own
        return line

    def own(self, number: int | None) -> dict[str, Any] | None:
        """The program's own fields of an input that is answered, as they were given."""
        return self._own.pop(number or 0, None)

    def close(self) -> None:
        """Take no more, and do not wait for what comes."""
        self._is_closed = True
        if self._coming:
            self._coming.cancel()

    async def _next(self) -> object:
        try:
            if isinstance(self._source, AsyncIterable):
                return await anext(self._source)
            return next(self._source)
        except StopIteration:
            raise StopAsyncIteration from None
        except StopAsyncIteration:
            raise
        except Exception as error:  # noqa: BLE001 - of the program's: it is raised there
            self.fault = error
            raise StopAsyncIteration from None


def line_of(number: int, given: object) -> tuple[ListLine, dict[str, Any] | None]:
    """The line that one input stands for, and the fields in it that are not ours.

    In the line, and so in feeds, these fields are as JSON has them.
    """
    raw = RawLine(number, b"")
    if isinstance(given, str):
        return line_with(raw, given, {_URL: given}, _URL), None
    if not isinstance(given, Mapping):
        return faulty(raw, f"neither an address nor a mapping, but {type(given).__name__}"), None
    url = given.get(_URL)
    own = {name: value for name, value in given.items() if name != _URL and name not in OPTIONS}
    try:
        kept = json.loads(json.dumps(own, default=str))
    except (TypeError, ValueError) as error:
        return faulty(raw, f"its fields cannot be kept: {error}"), None
    ours = {name: str(given[name]) for name in OPTIONS if given.get(name) is not None}
    text = url if isinstance(url, str) else ""
    address = {_URL: url} if _URL in given else {}
    return line_with(raw, text, {**kept, **ours, **address}, _URL), own or None
