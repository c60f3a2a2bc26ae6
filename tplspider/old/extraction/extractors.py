"""Extractors: functions that are given a key page and pages like it, and give its template."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from tplspider.items import PageTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.template.extract import PageSource

    Extractor = Callable[[PageSource, Sequence[PageSource]], PageTemplate | None]


def extractor_name(given: str | Extractor) -> str:
    """The import path of an extractor, which may be given as it is; it is what a worker is told.

    Raises ValueError, in one line, if no other process would find it there.
    """
    if isinstance(given, str):
        load_extractor(given)
        return given
    name = f"{getattr(given, '__module__', '?')}.{getattr(given, '__qualname__', repr(given))}"
    if load_extractor(name) is not given:
        raise ValueError(f"extractor {name!r}: there is another object of that name")
    return name


def load_extractor(name: str) -> Extractor:
    """The function that an import path, ``package.module.function``, stands for.

    >>> load_extractor("tplspider.template.extract.extract_template").__name__
    'extract_template'
    """
    module, dot, attribute = name.rpartition(".")
    if not dot or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"extractor {name!r}: expected an import path, package.module.function")
    if module == "__main__":
        raise ValueError(f"extractor {name!r}: a worker cannot import it, put it into a module")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # importing runs whatever the module has in it
        raise ValueError(f"extractor {name!r}: {one_line(error)}") from error
    if not callable(found):
        raise ValueError(f"extractor {name!r}: {type(found).__name__} is not a function")  # noqa: TRY004 - of a setting
    return cast("Extractor", found)


def run_extractor(
    extractor: Extractor,
    key: PageSource,
    pages: Sequence[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
    for_report: bool = False,
    markdown: bool = False,
) -> PageTemplate | None:
    """What an extractor gives, which must be a template.

    Where nothing else can stop it, *seconds* go to an extractor that takes them, as ours does.
    One that takes *most* may put the next of the pages in the place of one that tells nothing; any
    other is given the first so many. *for_report*, the template has the key page for it, cleaned.
    *markdown*, it has its two parts as Markdown.
    """
    options: dict[str, float] = {}
    if seconds is not None and _takes(extractor, "seconds"):
        options["seconds"] = seconds
    if most is not None and _takes(extractor, "most"):
        options["most"] = most
    else:
        pages = pages[:most]
    found: object = extractor(key, pages, **options)
    if found is None:
        return None
    if not isinstance(found, PageTemplate):
        raise TypeError(f"the extractor gave a {type(found).__name__}, not a PageTemplate")
    for each in fields(PageTemplate):
        if not _fits(getattr(found, each.name), str(each.type)):
            raise TypeError(f"the extractor gave a PageTemplate whose {each.name} will not do")
    found.key_url = key.url
    if for_report:
        # Here and not above: most crawls do without.
        from tplspider.report.clean_page import clean_page

        found.key_html = clean_page(key.html, key.url, not_template=found.not_template)
    if markdown:
        from tplspider.template.markdown import add_markdown

        add_markdown(found, key.html)
    return found


def with_evidence(found: PageTemplate) -> PageTemplate:
    """A template with all that ours has, also of an extractor that gives nothing but that."""
    if not found.candidates or found.evidence:
        return found
    return replace(
        found,
        evidence=len(found.candidates),
        main_text=found.content_text,
        main_html=found.content_html,
        main_markdown=found.content_markdown,
    )


def _fits(value: object, kind: str) -> bool:
    """Whether a value is of the type that a field of a template is declared to have."""
    if kind == "list[str]":
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind == "float":
        return isinstance(value, int | float)
    return isinstance(value, int if kind == "int" else str)


def one_line(error: BaseException) -> str:
    """An exception as the last line of its traceback, more or less.

    >>> one_line(ValueError("one   two"))
    'ValueError: one two'
    """
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def _takes(extractor: Extractor, name: str) -> bool:
    try:
        return name in inspect.signature(extractor).parameters
    except ValueError:  # written in C, say
        return False
