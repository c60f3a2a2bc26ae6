"""The tree of a page: its texts, its links (the paper's getLinks), and where these lead."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote, urlsplit

from lxml import etree
from parsel.selector import create_root_node

from tplspider.web.addresses import (
    Address,
    Resolver,
    Site,
    clean_href,
    identity,
    is_elsewhere,
    registered_domain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element

    Element = _Element
else:
    Element = type(etree.Element("a"))  # lxml has no public name for it


class _Parser(etree.HTMLParser):
    # Not that of lxml.html, which is parsel's choice: it calls Python code for every element that
    # is looked at, and makes reading a page a fifth slower.
    def __init__(self, **options: Any) -> None:
        super().__init__(collect_ids=False, **options)


def parse_html(html: str) -> Element:
    """The tree of an HTML page, made by parsel, also of one that starts with ``<?xml``."""
    try:
        return create_root_node(html, _Parser)
    except UnicodeEncodeError:  # no encoding has lone surrogates: they become question marks
        return create_root_node(html.encode("utf-8", "replace").decode(), _Parser)


def fold(text: str) -> str:
    """*text* with every run of white space folded into one space."""
    # What can be printed has no white space but spaces: most texts are folded but for their ends.
    bare = text.strip()
    return bare if bare.isprintable() and "  " not in bare else " ".join(bare.split())


def top_level(root: Element) -> list[Element]:
    """The top-level elements of a document: several if ``</html>`` stands before the ``<body>``."""
    top = root.getroottree().getroot()
    return [*reversed(list(top.itersiblings("*", preceding=True))), top, *top.itersiblings("*")]


def find_all(root: Element, *tags: str) -> Iterator[Element]:
    """The elements with one of *tags*, in document order, from the whole document."""
    for top in top_level(root):
        yield from top.iter(*tags)


def main_body(root: Element) -> Element:
    """The ``body`` of a page, the root if there is none.

    Of several, after a misplaced ``</html>``, the largest.
    """
    bodies = [child for top in top_level(root) for child in top.iterchildren("body")]
    if len(bodies) < 2:
        return bodies[0] if bodies else root
    return max(bodies, key=lambda body: sum(1 for _ in body.iter()))


def string_xpath(expression: str) -> Callable[[Element], str]:
    """An XPath expression whose value is a string."""
    return cast("Callable[[Element], str]", etree.XPath(expression, smart_strings=False))


def strings_xpath(expression: str) -> Callable[[Element], list[str]]:
    """An XPath expression whose value is a list of texts or attributes."""
    return cast("Callable[[Element], list[str]]", etree.XPath(expression, smart_strings=False))


_HIDDEN = ("script", "style", "noscript", "template")
_TEXT = strings_xpath("//text()")
_TEXT_WITH_PARENTS = etree.XPath("//text()")


def visible_text(root: Element) -> str:
    """Every text node outside script, style, noscript and template; white space folded."""
    return fold(" ".join(visible_texts(root)))


def visible_texts(root: Element) -> list[str]:
    """Every text node outside script, style, noscript and template, as it stands there."""
    nodes = _TEXT(root)
    hidden = [
        element
        for element in find_all(root, *_HIDDEN)
        if next(element.iterancestors(*_HIDDEN), None) is None
    ]
    if hidden:
        # Asking every node for its parents is slow. Taking out what reads like a hidden text is as
        # good, as long as no visible text reads the same.
        texts = [text for element in hidden for text in element.itertext() if not text.isspace()]
        taken_out = frozenset(texts)
        visible = [text for text in nodes if text not in taken_out]
        exact = len(nodes) - len(visible) == len(texts)
        nodes = visible if exact else _text_outside(root, hidden)
    return nodes


def _text_outside(root: Element, hidden: list[Element]) -> list[str]:
    """The text nodes that are in none of the *hidden* elements."""
    inside = {inner for element in hidden for inner in element.iter()}
    nodes: Any = _TEXT_WITH_PARENTS(root)
    return [
        node
        for node in nodes
        if (node.getparent().getparent() if node.is_tail else node.getparent()) not in inside
    ]


UNCOUNTED = frozenset({"script", "style", "noscript"})
LAYOUT = frozenset(
    "article aside blockquote center div fieldset font footer form header main nav section table"
    " td".split()
)
LARGE, _FEW = 20, 0.2  # elements, and the share of the text in them


@dataclass(slots=True)
class NodeTexts:
    """The nodes of a body in document order, comments among them, as parallel lists.

    *texts* are what stands before the first child of a node and *tails* what stands after the
    node, folded; *written_texts* and *written_tails* are the same as written.
    """

    tags: list[Any] = field(default_factory=list)  # of a comment it is not a string
    parents: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    written_texts: list[str] = field(default_factory=list)
    written_tails: list[str] = field(default_factory=list)

    def words(self) -> list[str]:
        """The text directly inside each node: before its first child, and after each."""
        words = self.texts[:]
        after: dict[int, list[str]] = {}
        for place, tail in enumerate(self.tails):
            if tail and place:
                parent = self.parents[place]
                after.setdefault(parent, [words[parent]] if words[parent] else []).append(tail)
        for parent, texts in after.items():
            words[parent] = " ".join(texts)
        return words


def read_nodes(nodes: list[Element]) -> NodeTexts:
    """The texts of these nodes: one and all that is in it."""
    # Lists of one thing each, each made in one go: there may be tens of thousands of nodes.
    at: dict[Element | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    parents = [-1, *[at[node.getparent()] for node in nodes[1:]]]
    # One string for each tag: they are looked up again and again, and kept.
    tags = [intern(tag) if isinstance(tag := node.tag, str) else tag for node in nodes]
    texts = [node.text or "" for node in nodes]
    tails = [node.tail or "" for node in nodes]
    folded, folded_tails = ([text and fold(text) for text in some] for some in (texts, tails))
    return NodeTexts(tags, parents, folded, folded_tails, texts, tails)


def kept_nodes(tags: list[Any], above: list[int]) -> list[bool]:
    """Which nodes are elements, and not in one that does not count."""
    kept: list[bool] = []
    for tag, parent in zip(tags, above, strict=True):
        counts = isinstance(tag, str) and tag not in UNCOUNTED
        kept.append(counts and (parent < 0 or kept[parent]))
    return kept


def is_stray(element: int, tag: str, size: int, length: int, whole: int) -> bool:
    """Whether the text directly in an element is stray, given its length and that of all in it.

    *element* is its number, *size* the number of elements it is made of.
    """
    return not element or (tag in LAYOUT and size >= LARGE and length <= _FEW * whole)


# The same strings as scrapy.linkextractors.IGNORED_EXTENSIONS (a test holds them equal), kept here
# so that the algorithms can be used without Scrapy.
IGNORED_EXTENSIONS = frozenset(
    """
    7z 7zip bz2 rar tar tar.gz xz zip mng pct bmp gif jpg jpeg png pst psp tif tiff ai drw dxf
    eps ps svg cdr ico webp mp3 wma ogg wav ra aac mid au aiff 3gp asf asx avi mov mp4 mpg qt
    rm swf wmv m4a m4v flv webm xls xlsm xlsx xltm xltx potm potx ppt pptm pptx pps doc docb
    docm docx dotm dotx odt ods odg odp css pdf exe bin rss dmg iso apk jar sh rb js hta bat
    cpl msi msp py
    """.split()
)


_A_HREFS = strings_xpath("//a[not(@download)]/@href")
_AREA_HREFS = strings_xpath("//area[not(@download)]/@href")
_ANCHOR_TEXT = strings_xpath(".//text()[not(parent::script or parent::style)]")
_ALT = string_xpath("string((self::area | .//img)[normalize-space(@alt)][1]/@alt)")


@dataclass(frozen=True, slots=True)
class Link(Address):
    """A link of the key page, with the first element that carries it."""

    element: Element

    @property
    def anchor_text(self) -> str:
        """The words of the link, folded; those of its image where it has none of its own."""
        return fold("".join(_ANCHOR_TEXT(self.element))) or fold(_ALT(self.element))

    @property
    def dom_path(self) -> str:
        """Where the link stands on the key page, as an XPath."""
        return self.element.getroottree().getpath(self.element)


def get_links(
    root: Element,
    url: str,
    site: Site,
    encoding: str = "utf-8",
    unparsable: list[str] | None = None,
) -> list[Link]:
    """The paper's getLinks: one entry for each identity, in document order, self-links left out.

    Addresses that cannot be parsed are added to *unparsable*.
    """
    resolver = page_resolver(root, url, site, encoding)
    seen = {identity(url)}
    read = set()
    links = []
    for element in find_all(root, "a", "area"):
        href = element.get("href")
        if href is None or href in read or element.get("download") is not None:
            continue
        read.add(href)
        try:
            address = _page_address(resolver, href, site)
        except ValueError:
            if unparsable is not None:
                unparsable.append(href)
            continue
        if address and address[1] not in seen:
            seen.add(address[1])
            links.append(Link(*address, element))
    return links


def link_addresses(root: Element, url: str, site: Site, encoding: str = "utf-8") -> dict[str, str]:
    """GetLinks without its elements, which is all that is asked of a page but the key page.

    The addresses by their identities; of several for one, one that is always the same.
    """
    resolver = page_resolver(root, url, site, encoding)
    addresses: dict[str, str] = {}
    # Strings alone: an object for each element would cost more than all the rest.
    for href in {*_A_HREFS(root), *_AREA_HREFS(root)}:
        try:
            address = _page_address(resolver, href, site)
        except ValueError:
            continue
        if address and (known := addresses.setdefault(address[1], address[0])) != address[0]:
            addresses[address[1]] = min(known, address[0])
    addresses.pop(identity(url), None)
    return addresses


def _page_address(resolver: Resolver, href: str, site: Site) -> tuple[str, str] | None:
    """The address and identity that *href* stands for, if it may be a page of the site."""
    address = resolver.resolve(href)
    if address is None or address[1] not in site or _is_ignored(address[0]):
        return None
    return address


def page_resolver(root: Element, url: str, site: Site, encoding: str) -> Resolver:
    """Addresses are relative to the first ``<base href>`` in the tree, wherever it stands."""
    page, base = Resolver(url, encoding, site.may_hold), _base(root)
    return page.moved_to(base) if base else page


def _base(root: Element) -> str:
    bases = (element.get("href") for element in find_all(root, "base"))
    return next((href for href in bases if href is not None), "")


def _is_ignored(url: str) -> bool:
    """Whether the path ends like a file that is not a page: ``.pdf``, ``.zip``, ``.tar.gz`` ..."""
    path = url.partition("?")[0]
    if path.endswith((".html", "/")):  # most of them, and the rest is costly
        return False
    name = path.rpartition("/")[2].partition(";")[0].lower()
    endings = name.rsplit(".", 2)[1:]
    return bool(endings) and not IGNORED_EXTENSIONS.isdisjoint({endings[-1], ".".join(endings)})


_ENDING = re.compile(r"(?:/index)?\.\w+$|/$")


class Targets:
    """Where the addresses that a page has lead."""

    def __init__(self, root: Element, url: str) -> None:
        page, base = Resolver(url), _base(root)
        self.resolver = page.moved_to(base) if base else page
        self.own = unquote(url.partition("#")[0].partition("?")[0])
        path = _ENDING.sub("", _path(url)).strip("/")
        names = {path, quote(path, safe=""), unquote(path), path.rpartition("/")[2]}
        self._names = sorted((name for name in names if len(name) > 3), key=len, reverse=True)

    def read(self, raw: str) -> tuple[str, str]:
        """Where an address as it is written leads, with its fragment if that is in the page."""
        address, _, fragment = raw.strip().partition("#")
        link, target = self.of(address)
        return link + fragment if link.endswith("#") else link, target

    def of(self, address: str) -> tuple[str, str]:
        """Where an address without its fragment leads, this page being "self"; and its target.

        An address that stands for the page itself, or has the page's own path in it (to edit it,
        to share it, to see it in another language), is the same thing on every page.
        """
        if not address:
            return "self?#", self.own
        target = unquote(self.resolver.join(address))
        base_address, _, query = target.partition("?")
        if base_address == self.own:
            return f"self?{query}#", target if query else self.own
        link = target
        if query and any(name in query for name in self._names):
            link = f"{base_address}?*"  # with this page's address a share link has its title, too
        for name in self._names:
            link = link.replace(name, "*")
        return link, target


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


_ELSEWHERE, _ITSELF, _FILE, _OTHER = (
    "to other sites",
    "to the key page itself",
    "to files that are not pages",
    "not to a web address",
)


def no_links_hint(root: Element, url: str, site: Site, encoding: str = "utf-8") -> str:
    """What to tell the user of a key page for which getLinks gives nothing."""
    resolver = page_resolver(root, url, site, encoding)
    domain = registered_domain(urlsplit(identity(url)).hostname or "")
    kinds = Counter[str]()
    same_domain = 0
    for element in find_all(root, "a", "area"):
        href = element.get("href")
        if href is None:
            continue
        kind, host = _destination(resolver, href, site, identity(url))
        kinds[kind] += 1
        if domain and kind == _ELSEWHERE:
            same_domain += f".{host}".endswith(f".{domain}")
    if not kinds:
        return "the key page has no link at all"
    ways = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    text = f"no link of the key page leads to another page of its site: {ways}"
    if same_domain:
        text += f" ({same_domain} of its own domain: -a scope=domain takes them in)"
    return text


def _destination(resolver: Resolver, href: str, site: Site, own: str) -> tuple[str, str]:
    """Where an address leads that is not one of another page of the site, and its host."""
    try:
        address = resolver.resolve(href)
    except ValueError:
        return _OTHER, ""
    if address is None:
        return (_OTHER if is_elsewhere(clean_href(href)) else _ELSEWHERE), ""
    if address[1] not in site:
        return _ELSEWHERE, urlsplit(address[1]).hostname or ""
    return (_ITSELF if address[1] == own else _FILE), ""


HINT = (
    "the key page has almost no links but much script: its menu may be built by JavaScript;"
    " try the browser profile (-s TPLSPIDER_PROFILE=browser)"
)
SMALLEST_MENU = 3  # links
_LINKED_SCRIPT = 2_000  # what a script in a file of its own weighs, in characters


def script_menu_hint(root: Element, links: int) -> str:
    """What to tell the user of a key page with that many links; '' for most pages."""
    if links > SMALLEST_MENU:
        return ""
    script = sum(
        _LINKED_SCRIPT if element.get("src") else len(element.text or "")
        for element in find_all(root, "script")
    )
    return HINT if script > len(visible_text(root)) else ""


MAX_COST = 100_000_000  # attributes, squared, of all large tags: some tenths of a second
_SHORT_TAG = 400  # characters: what has fewer has fewer than 200 attributes

# Markup as HTML's own tokenizer reads it, the parser's, too: each character is looked at once or
# twice. Most tags are of the first kind, which takes less time; group 4 has the attributes.
_S = r" \t\n\f\r"
_ENDS = rf"(?=[/>{_S}])"
_ATTRIBUTE = re.compile(
    rf"""[^/>{_S}][^/>={_S}]*+"""
    rf"""(?:[{_S}]*+=[{_S}]*+(?:"[^"]*+"?|'[^']*+'?|[^>"'{_S}][^>{_S}]*+)?)?+"""
)
_ESCAPED = (  # in a script, what looks like a comment; it may have scripts in it
    rf"<!(?:(?!-->|</script{_ENDS})"
    rf"(?:<script{_ENDS}(?:(?!-->|</script{_ENDS}).)*+(?:</script)?+|.))*+"
)
_MARKUP = re.compile(
    r"(?-i:[^<]++|</[a-z0-9]++>|<(?!sc|sty|te|ti|if|xm|no|pl)[a-z0-9]++"
    r'(?: [a-z0-9:_-]++="[^"]*+"){0,99}+ ?/?>)*+'
    r"(?:<!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)|<(?:[!?]|/(?![a-z]))[^>]*+|<(?![/a-z])"
    r"|<(?:(script)|(style|textarea|title|iframe|xmp|noembed|noframes)|(plaintext)"
    rf"|/?[a-z][^/>{_S}]*+)(?![^/>{_S}])((?:[{_S}]++|/(?!>)|{_ATTRIBUTE.pattern})*+)"
    rf"(?:/>|>?(?(1)(?:[^<]++|<(?!/script{_ENDS}|!--)|{_ESCAPED})*+"
    rf"|(?(2)(?:[^<]++|<(?!/\2{_ENDS}))*+|(?(3).*)))))?+",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)


def is_too_costly(html: str) -> bool:
    """Whether parsing the tags of a page would take too long.

    >>> is_too_costly("<p>" * 20_000), is_too_costly("<p " + "a " * 20_000 + ">")
    (False, True)
    """
    return len(html) > 2 * MAX_COST**0.5 and tag_cost(html) > MAX_COST


def tag_cost(html: str, short: int = _SHORT_TAG) -> int:
    """The attributes, squared, of all tags but *short* ones: the parser's time grows so."""
    tags = (found[4] for found in _MARKUP.finditer(html.replace("\0", "")))
    return sum(len(_ATTRIBUTE.findall(tag)) ** 2 for tag in tags if tag and len(tag) > short)
