"""Extractors of a page's main text that people know, which look at one page alone.

They are not needed for anything else: each is imported when it is asked for.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Extractor = Callable[[str], str]

INSTALL = "pip install justext lxml-html-clean resiliparse trafilatura"

_LANG = re.compile(r"<html\b[^>]*?\blang\s*=\s*[\"']?([a-z]+)", re.IGNORECASE)
# The languages of jusText's stop words that a site is likely to be in. It has none for others.
_STOP_WORDS = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ko": "Korean", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ms": "Malay", "nb": "Norwegian_Bokmal", "nl": "Dutch",
    "nn": "Norwegian_Nynorsk", "no": "Norwegian_Bokmal", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "te": "Telugu", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
}  # fmt: skip


def _trafilatura() -> Extractor:
    package: Any = import_module("trafilatura")

    def extract(html: str) -> str:
        return package.extract(html) or ""

    return extract


def _resiliparse() -> Extractor:
    module: Any = import_module("resiliparse.extract.html2text")

    def extract(html: str) -> str:
        # Text alone: the addresses of links and the numbers of lists are not part of it.
        return str(
            module.extract_plain_text(html, main_content=True, links=False, list_bullets=False)
        )

    return extract


def _justext() -> Extractor:
    package: Any = import_module("justext")

    def extract(html: str) -> str:
        lang = _LANG.search(html)
        language = _STOP_WORDS.get(lang[1].lower()) if lang else "English"
        if language:
            paragraphs = package.justext(html, package.get_stoplist(language))
        else:  # as its documentation says for languages without stop words
            paragraphs = package.justext(html, frozenset(), stopwords_low=0, stopwords_high=0)
        return "\n".join(part.text for part in paragraphs if not part.is_boilerplate)

    return extract


EXTRACTORS: dict[str, Callable[[], Extractor]] = {
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
    "justext": _justext,
}


def load_extractors(names: Iterable[str]) -> tuple[dict[str, Extractor], list[str]]:
    """The extractors of these names, and the names of those that are not installed."""
    loaded: dict[str, Extractor] = {}
    absent = []
    for name in names:
        try:
            loaded[name] = EXTRACTORS[name]()
        except ImportError:
            absent.append(name)
    return loaded, absent
