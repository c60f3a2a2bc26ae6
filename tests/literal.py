"""A literal reading of the definitions, slow on purpose: the oracle of the tests.

Every function says again, as plainly as it can, what the paper or docs/method.md defines, and
shares no code with the package under test. Where the two disagree, one of them misreads the
definition.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any
from urllib.parse import urljoin, urlparse, urlsplit

from parsel import Selector
from scrapy.linkextractors import IGNORED_EXTENSIONS
from tldextract import TLDExtract
from w3lib.url import canonicalize_url, safe_url_string

C0_CONTROLS_AND_SPACE = "".join(chr(code) for code in range(0x21))
DEFAULT_PORTS = {"http": 80, "https": 443}
DOCUMENT = object()  # the root of every tree, above its top-level elements
LONGEST_HOST = 253
UNSEEN = ("script", "style", "noscript", "template")
REFUSALS = ("http-401", "http-403", "http-429", "http-503", "timeout", "dns", "connection")
FRAME = [
    *("a", "article", "aside", "body", "center", "div", "font", "footer", "form", "h1", "h2"),
    *("h3", "header", "img", "input", "li", "main", "nav", "ol", "p", "section", "table", "td"),
    *("tr", "ul"),
]
DECORATION = "0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ «»·•—→©"

bundled_suffix_list = TLDExtract(suffix_list_urls=(), cache_dir=None)


@dataclass(frozen=True)
class LiteralLink:
    """One page address of a page, with the first element that carries it."""

    identity: str  # two addresses with the same identity are one link
    url: str  # as requested
    element: Any


@dataclass(frozen=True)
class LiteralPage:
    """What a load gave: the address after redirects, and the HTML."""

    url: str
    html: str
    encoding: str = "utf-8"


@dataclass
class LiteralAnswer:
    """The outcome of a search."""

    # complete_subdigraph | links_exhausted | max_loads | refused | key_page_unusable
    reason: str
    loads: int
    links: int
    asked: list[str]  # the addresses asked for, in order, the key page first
    members: list[str]  # final addresses, by rank
    member_ranks: list[int]
    # Of each link taken up: rank, link, url, outcome, reason, missing, links_to.
    explored: list[dict[str, Any]]


@dataclass
class Explored:
    """An explored page: what it links to, and the identities by which it is linked."""

    url: str
    links: set[str]
    names: set[str] = field(default_factory=set)


# getLinks


def without_user(address: str) -> str:
    """An address without its ``user:password@``.

    One that only browsers find, which take any number of slashes for two, cannot be parsed.
    """
    if not re.match(r"(?:https?:)?//[^/?#]", address, re.IGNORECASE) and re.match(
        r"(?:https?:/*|///+)[^/?#]*@", address, re.IGNORECASE
    ):
        raise ValueError("a user in the wrong place")
    return re.sub(r"^((?:https?:)?//)[^/?#]*@", r"\1", address, flags=re.IGNORECASE)


def identity(address: str) -> str:
    """What two addresses of one link have in common: the canonical form, without fragment."""
    return canonicalize_url(without_user(address), keep_fragments=False)


def parse(html: str) -> Any:
    """The DOM tree of a page: its first top-level element, as lxml gives it."""
    return Selector(text=html, type="html").root


def clean(address: str) -> str:
    """An address as browsers read it: nothing blank around it, no tab or newline inside, and
    slashes for the backslashes before the query."""
    address = re.sub(r"[\t\n\r]", "", address.strip(C0_CONTROLS_AND_SPACE))
    query = re.search(r"[?#]", address)
    end = query.start() if query else len(address)
    return address[:end].replace("\\", "/") + address[end:]


def resolve(base: str, address: str) -> str:
    """The absolute form of an address found on a page; ValueError when it cannot be parsed."""
    cleaned = clean(address)
    written = without_user(cleaned)
    if written != cleaned and re.match(r"(https?:)?//([/?#]|$)", written, re.IGNORECASE):
        raise ValueError("a user without a host")
    absolute = urljoin(without_user(base), written)
    parts = urlsplit(absolute)
    _ = parts.port  # read for the ValueError of a bad port
    if len(parts.hostname or "") > LONGEST_HOST:
        raise ValueError("a host that is too long")
    return absolute


def base_address(root: Any, url: str) -> str:
    """What the addresses of a page are relative to: its first ``<base href>``, else itself."""
    hrefs = root.xpath("//base[@href]/@href")
    if not hrefs:
        return url
    try:
        return resolve(url, hrefs[0])
    except ValueError:
        return url


def host(address: str) -> str:
    """The host of an address, a leading ``www.`` ignored."""
    return (urlsplit(identity(address)).hostname or "").lower().removeprefix("www.")


def port(address: str) -> int | None:
    """The port of an address; None for the default one of its scheme, so that http's 80 and
    https's 443 are one."""
    parts = urlsplit(identity(address))
    return None if parts.port == DEFAULT_PORTS.get(parts.scheme) else parts.port


def registered_domain(address: str) -> str:
    """The registered domain of an address by the Public Suffix List, "" if it has none."""
    return bundled_suffix_list(host(address)).top_domain_under_public_suffix


def same_site(address: str, key_url: str, scope: str) -> bool:
    """Whether an address is on the site of the key page."""
    if scope == "domain" and registered_domain(address) and registered_domain(key_url):
        return registered_domain(address) == registered_domain(key_url)
    return host(address) == host(key_url) and port(address) == port(key_url)


def is_ignored_file(address: str) -> bool:
    """Whether the path of an address ends in one of the extensions Scrapy ignores."""
    path = urlparse(address).path.lower()
    return any(path.endswith("." + extension) for extension in IGNORED_EXTENSIONS)


def get_links(
    html: str,
    url: str,
    key_url: str,
    scope: str = "host",
    encoding: str = "utf-8",
    root: Any = None,
) -> list[LiteralLink]:
    """The paper's getLinks: the links of a page in document order, none repeated, without
    self-links and links to other sites."""
    if root is None:
        root = parse(html)
    base = base_address(root, url)
    links: list[LiteralLink] = []
    for element in root.xpath("//a[@href] | //area[@href]"):
        if element.get("download") is not None:
            continue
        try:
            written = resolve(base, element.get("href")).partition("#")[0]
            if urlsplit(written).scheme not in DEFAULT_PORTS:
                continue
            requested = safe_url_string(written, encoding)
            if len(urlsplit(requested).hostname or "") > LONGEST_HOST:  # in ASCII
                continue
            link = LiteralLink(identity(requested), requested, element)
            if not same_site(link.url, key_url, scope):
                continue
            if link.identity == identity(url):
                continue
            if is_ignored_file(link.url):
                continue
        except ValueError:  # it cannot be parsed
            continue
        if link.identity not in [earlier.identity for earlier in links]:
            links.append(link)
    return links


# Hyperlink distance


def words(address: str) -> list[str]:
    """The paper's hyperlink: the host and the directories of an address, each word with its
    slash at the end. The resource name is ignored."""
    directories = urlsplit(identity(address)).path.split("/")[:-1]
    return [word + "/" for word in [host(address), *directories] if word]


def h_distance(h: list[str], g: list[str]) -> int:
    """The paper's hyperlink distance from h to g, case by case."""
    if h == g:
        return 0
    if g[: len(h)] == h:  # g = h h1
        return len(g) - len(h)
    if h[: len(g)] == g:  # h = g h1
        return -(len(h) - len(g))
    shared = 0  # h = h0 h1 and g = h0 h2; when even the heads differ, h0 is empty and h1 = h
    while h[shared] == g[shared]:
        shared += 1
    return -(len(h) - shared)


def link_relevance_key(distance: int) -> tuple[bool, int]:
    """The paper's link relevance as a sort key: 0, 1, 2, ..., then -1, -2, ..."""
    return distance < 0, abs(distance)


# DOM distance


def root_path(element: Any) -> list[Any]:
    """The paper's path(n): the nodes from the root of the tree to an element."""
    path = [element]
    while (parent := path[0].getparent()) is not None:
        path.insert(0, parent)
    return [DOCUMENT, *path]


def path_distance(path: list[Any], other: list[Any]) -> int:
    """The DOM distance of the ends of two root paths: the nodes that the paths do not share."""
    shared = 0
    for node, other_node in zip(path, other, strict=False):
        if node is not other_node:
            break
        shared += 1
    return (len(path) - shared) + (len(other) - shared)


def dom_distance(a: Any, b: Any) -> int:
    """The paper's DOM distance of two elements of one tree."""
    return path_distance(root_path(a), root_path(b))


# sortLinks


def sort_links(links: list[LiteralLink], key_url: str) -> list[LiteralLink]:
    """The paper's Algorithm 1, for links given in document order: by link relevance, then by DOM
    relevance to the links of the same group already chosen, then in document order."""
    reference = words(key_url)
    relevance = [link_relevance_key(h_distance(reference, words(link.url))) for link in links]
    paths = [root_path(link.element) for link in links]
    in_order: list[int] = []
    left = list(range(len(links)))
    while left:
        best = min(relevance[i] for i in left)
        group = [i for i in left if relevance[i] == best]
        left = [i for i in left if relevance[i] != best]
        # How far the nearest chosen link is; while none is chosen, all are equal.
        nearest: dict[int, float] = dict.fromkeys(group, math.inf)
        while group:
            chosen = max(group, key=lambda i: nearest[i])  # the first of those that are farthest
            group.remove(chosen)
            in_order.append(chosen)
            for i in group:
                nearest[i] = min(nearest[i], path_distance(paths[chosen], paths[i]))
    return [links[i] for i in in_order]


# Similarity


def frame_pairs(html: str) -> set[tuple[str, str, str, str]]:
    """The pairs of elements of the frame that follow each other, by tag and class."""
    frame = " or ".join(f"self::{tag}" for tag in FRAME)
    elements = parse(html).xpath(f"//*[{frame}]")
    names = [(element.tag, element.get("class") or "") for element in elements]
    return {(*one, *two) for one, two in pairwise(names)}


def short_texts(html: str) -> set[str]:
    """The visible texts of at most 40 characters, without what is round their words."""
    short = [text.strip() for text in text_nodes(html) if len(text.strip()) <= 40]
    return {" ".join(text.split()).strip(DECORATION) for text in short} - {""}


def similarity(key_page: LiteralPage, page: LiteralPage) -> float:
    """The mean of three shares: how much of what the key page has the other page has, too."""
    features = [(make(key_page.html), make(page.html)) for make in (frame_pairs, short_texts)]
    links, others = (
        {link.identity for link in get_links(one.html, one.url, key_page.url, "host")}
        for one in (key_page, page)
    )
    features.append((links - {identity(page.url)}, others))
    shares = [len(of & by) / len(of) for of, by in features if of]
    return sum(shares) / len(shares) if shares else 0


# The search


def text_nodes(html: str) -> list[str]:
    """The text nodes of a page outside script, style, noscript and template."""
    unseen = " or ".join(f"ancestor::{name}" for name in UNSEEN)
    nodes: list[str] = parse(html).xpath(f"//text()[not({unseen})]")
    return nodes


def visible_text(html: str) -> str:
    """Those nodes, joined by a space, white space folded."""
    return " ".join(" ".join(text_nodes(html)).split())


def is_complete(mutual: dict[int, set[int]], pages: tuple[int, ...]) -> bool:
    """The paper's complete subdigraph: all pages link to each other, both ways."""
    return all(b in mutual[a] and a in mutual[b] for a, b in combinations(pages, 2))


def power_set_step(
    mutual: dict[int, set[int]], p: int, n: int, best: list[int]
) -> tuple[list[int] | None, list[int]]:
    """One step of the paper's Algorithm 2, by enumeration of the sets of explored pages: the n-CS
    that contains p and comes first by rank, if there is one, and the best CS so far."""
    for size in range(n, 0, -1):
        for pages in combinations(sorted(mutual), size):
            if p in pages and is_complete(mutual, pages):
                if size == n:
                    return list(pages), best
                return None, list(pages) if size > len(best) else best
    raise AssertionError("p alone is a CS")


def complete_with(mutual: dict[int, set[int]], p: int, n: int) -> Iterator[list[int]]:
    """Every CS of at most n pages that contains p; those of one size come in order of rank."""

    def extend(chosen: list[int], candidates: list[int]) -> Iterator[list[int]]:
        # Each candidate is mutually linked with p and with every chosen page, and comes after
        # the chosen pages by rank.
        yield sorted([p, *chosen])
        if 1 + len(chosen) < n:
            for i, page in enumerate(candidates):
                later = [other for other in candidates[i + 1 :] if other in mutual[page]]
                yield from extend([*chosen, page], later)

    yield from extend([], sorted(mutual[p] - {p}))


def cliques_step(
    mutual: dict[int, set[int]], p: int, n: int, best: list[int]
) -> tuple[list[int] | None, list[int]]:
    """The same step as power_set_step, by backtracking over the pages mutually linked with p."""
    largest: list[int] = []
    for pages in complete_with(mutual, p, n):
        if len(pages) == n:
            return pages, best
        if len(pages) > len(largest):
            largest = pages
    return None, largest if len(largest) > len(best) else best


def leads(pages: dict[int, Explored], p: int, q: int) -> bool:
    """Whether the page of rank p links to that of rank q."""
    return any(name in pages[p].links for name in pages[q].names)


def mutual_links(pages: dict[int, Explored]) -> dict[int, set[int]]:
    """For each explored page, by rank, the others that it links to and that link to it."""
    return {
        p: {q for q in pages if q != p and leads(pages, p, q) and leads(pages, q, p)} for p in pages
    }


def missing_links(pages: dict[int, Explored], p: int, cs: list[int]) -> list[list[int]]:
    """The links that keep the page of rank p out of a CS, the first ten."""
    both_ways = [pair for q in cs for pair in ([p, q], [q, p])]
    return [pair for pair in both_ways if not leads(pages, *pair)][:10]


def is_refused(explored: list[dict[str, Any]], max_refusals: int) -> bool:
    """Whether the last links, duplicates left out, all ended with the same refusal."""
    reasons = [row["reason"] for row in explored if row["outcome"] != "duplicate"]
    if max_refusals == 0 or len(reasons) < max_refusals:
        return False
    return any(set(reasons[-max_refusals:]) == {refusal} for refusal in REFUSALS)


def search(
    load: Callable[[str], LiteralPage | str],
    key_url: str,
    n: int = 3,
    max_loads: int = 100,
    scope: str = "host",
    max_refusals: int = 10,
) -> LiteralAnswer:
    """The paper's Algorithm 2, one page at a time; ``load`` gives a page or the reason why there
    is none."""
    answer = LiteralAnswer("key_page_unusable", 1, 0, [key_url], [], [], [])
    key_page = load(key_url)
    if isinstance(key_page, str):
        return answer
    root = parse(key_page.html)
    links = get_links(
        key_page.html, key_page.url, key_page.url, scope, key_page.encoding, root=root
    )
    if not links:
        return answer
    answer.links = len(links)

    key_rank = 0
    key = Explored(key_page.url, set(), {identity(key_page.url)})
    pages: dict[int, Explored] = {}  # by rank; the key page is not among them
    # What is known: final addresses and visible texts, and the rank of the page they belong to.
    final_addresses = {identity(key_page.url): key_rank}
    texts = {visible_text(key_page.html): key_rank}
    best: list[int] = []

    def finish(reason: str, members: list[int]) -> LiteralAnswer:
        answer.reason = reason
        answer.member_ranks = sorted(members)
        answer.members = [pages[member].url for member in answer.member_ranks]
        for row in answer.explored:
            if row["outcome"] == "page" and row["rank"] not in members:
                row["missing"] = missing_links(pages, row["rank"], answer.member_ranks)
        known = {key_rank: key, **pages}
        for row in answer.explored:
            if row["outcome"] == "page":
                p = row["rank"]
                row["links_to"] = [q for q in sorted(known) if q != p and leads(known, p, q)]
        return answer

    for rank, link in enumerate(sort_links(links, key_page.url), start=1):
        record: dict[str, Any] = {"rank": rank, "link": link.url, "url": link.url}
        record |= {"outcome": "none", "reason": "", "missing": [], "links_to": []}
        original: int | None = None  # the rank of the page that this link duplicates
        final = link.identity
        if final in final_addresses:  # known without a load
            original = final_addresses[final]
        else:
            if max_loads and answer.loads >= max_loads:
                return finish("max_loads", best)
            answer.loads += 1
            answer.asked.append(link.url)
            page = load(link.url)
            if not isinstance(page, str) and not same_site(page.url, key_page.url, scope):
                page = "offsite-redirect"
            if isinstance(page, str):
                record["reason"] = page
                answer.explored.append(record)
                if is_refused(answer.explored, max_refusals):
                    return finish("refused", best)
                continue
            record["url"] = page.url
            final = identity(page.url)
            text = visible_text(page.html)
            if final in final_addresses:
                original = final_addresses[final]
            elif text and text in texts:
                original = texts[text]
            else:
                found = get_links(page.html, page.url, key_page.url, scope, page.encoding)
                pages[rank] = Explored(page.url, {other.identity for other in found})
                texts[text] = rank

        p = rank if original is None else original
        final_addresses[final] = p
        if original is None:
            record["outcome"] = "page"
        elif original == key_rank:
            record["outcome"], record["reason"] = "duplicate", "key-page"
        else:
            record["outcome"] = "duplicate"
            record["reason"] = f"duplicate-of {pages[original].url}"
        answer.explored.append(record)
        if p == key_rank:  # never a member
            key.names |= {link.identity, final}
            continue
        pages[p].names |= {link.identity, final}
        complete, best = cliques_step(mutual_links(pages), p, n, best)
        if complete is not None:
            return finish("complete_subdigraph", complete)
    return finish("links_exhausted", best)


def literal_pool(pages: list[tuple[str, str]], places: dict[str, int], most: int) -> list[str]:
    """The addresses in a pool, by their places, given addresses with HTML and their places."""
    html = dict(pages)
    first = [
        url
        for url in html
        if not any(html[other] == html[url] and places[other] < places[url] for other in html)
    ]

    def look(url: str) -> list[str]:
        texts = Selector(text=html[url]).xpath("//text()[not(ancestor::script|ancestor::style)]")
        words = " ".join(texts.getall()).split()
        return [word for word in words if len(word) < 8 or not re.search("[0-9]", word)]

    def alike(url: str) -> int:
        return sum(look(other) == look(url) and places[other] < places[url] for other in first)

    chosen = sorted(first, key=lambda url: (alike(url), places[url]))[:most]
    return sorted(chosen, key=lambda url: places[url])
