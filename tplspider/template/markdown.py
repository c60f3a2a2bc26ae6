"""Parts of a page as Markdown, by html-to-markdown, which is an extra."""

from __future__ import annotations

import logging
import re
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from tplspider.template.plain_html import PlainHtml
from tplspider.web.html import find_all, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.items import PageTemplate

    Block = tuple[str, list[str]]

logger = logging.getLogger(__name__)

_PACKAGE = "html_to_markdown"
LARGEST = 2_000_000  # characters at a time: it takes a hundred times as much memory
_WORD = re.compile(r"\w+")
_BASE = re.compile(r"<base\b", re.IGNORECASE)


class MarkdownMissingError(ImportError):
    """What makes Markdown is not installed; the message says in a line what to do."""


def check_markdown() -> None:
    """Raise MarkdownMissingError where Markdown cannot be made: before any work is done for it."""
    try:
        found = find_spec(_PACKAGE)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise MarkdownMissingError(
            "Markdown needs html-to-markdown: pip install -e '.[markdown]' in a clone"
        )


def to_markdown(html: str, base_url: str) -> str:
    """The Markdown of HTML, which may be several parts of a page, one after the other.

    Every word that is shown is in it, but for the numbers of lines of code. Addresses are absolute:
    *base_url* is that of the page, or its own ``<base href>``.
    """
    check_markdown()
    plain = PlainHtml()
    for top in top_level(parse_html(html)):
        plain.add(top)
    convert = _converter(base_url)
    found = (_markdown(convert, blocks) for blocks in _batches(plain.blocks))
    return "\n\n".join(filter(None, found))


def _batches(blocks: list[Block]) -> Iterator[list[Block]]:
    """The blocks, as many at a time as are not too much for the package."""
    batch: list[Block] = []
    size = 0
    for block in blocks:
        if batch and size + len(block[0]) > LARGEST:
            yield batch
            batch, size = [], 0
        batch.append(block)
        size += len(block[0])
    yield batch


def _markdown(convert: Callable[[str], str], blocks: list[Block]) -> str:
    html = "\n".join(block for block, _ in blocks)
    whole = _converted(convert, html, [text for _, texts in blocks for text in texts])
    if whole is not None:
        return whole
    # Rather a block without its marks than one without its words.
    found = []
    for block, texts in blocks:
        made = _converted(convert, block, texts)
        found.append("".join(texts).strip() if made is None else made)
    return "\n\n".join(filter(None, found))


def add_markdown(found: PageTemplate, html: str) -> None:
    """Put the Markdown of its two parts into the template of a page, whose *html* may move links.

    The address in it is that of the page.
    """
    base = base_address(html, found.key_url)
    found.content_markdown = to_markdown(found.content_html, base)
    is_all = found.main_html == found.content_html
    found.main_markdown = found.content_markdown if is_all else to_markdown(found.main_html, base)


def base_address(html: str, url: str) -> str:
    """What the addresses on a page at *url* are relative to: its first ``<base href>``, if any."""
    if not _BASE.search(html):
        return url  # most pages: they need not be parsed for that
    hrefs = (element.get("href") for element in find_all(parse_html(html), "base"))
    href = next((href for href in hrefs if href is not None), "").strip()
    try:
        base = urljoin(url, href)
    except ValueError:
        return url
    return base if base.startswith(("http:", "https:")) else url


def _converter(base_url: str) -> Callable[[str], str]:
    package = import_module(_PACKAGE)
    options = package.ConversionOptions(
        base_url=base_url or None,
        compact_tables=True,
        extract_metadata=False,
        # Everything that is left is wanted.
        hidden_content="all",
        preprocessing=package.PreprocessingOptions(enabled=False),
    )

    def convert(html: str) -> str:
        return str(package.convert(html, options).content or "").strip("\n")

    return convert


def _converted(convert: Callable[[str], str], html: str, texts: list[str]) -> str | None:
    """What the package makes of plain HTML; None where it fails, or loses a word."""
    if len(html) > 2 * LARGEST:
        return None
    try:
        made = convert(html)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is not an Exception
        logger.warning("html-to-markdown failed: %s", type(error).__name__)
        return None
    return made if has_words(made, texts) else None


def has_words(markdown: str, texts: Iterable[str]) -> bool:
    """Whether the words of the texts are in the Markdown, in their order."""
    place = 0
    for text in texts:
        for word in _WORD.findall(text):
            place = markdown.find(word, place)
            if place < 0:
                return False
            place += len(word)
    return True
