"""Labels for a key page, from where its elements come from.

A page is given as three builds: clean, with its own data marked, and with its own data empty. An
element of the clean build is not template if

- it has no partner in the empty build: it is there because of the page's data;
- its own text is marked, or its partner in the empty build has other words (signs between links
  come and go with the links);
- its id is marked: generators make ids for titles, and nothing else;
- it shows nothing but an attribute that is marked, as an image does.

Everything else in the body is template, so a wrapper that the theme makes for an empty page is, and
so is a menu: its texts are not data of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from benchmarks.labelled_sites.align import Node, align
from benchmarks.labelled_sites.marks import ANY, BODY, MARK, MENU_MARK, TITLE
from tplspider.web.html import find_all, parse_html

NOT_TEMPLATE, MAIN_CONTENT, MAIN_MENU = "TECO_notTemplate", "TECO_mainContent", "TECO_mainMenu"
NUMBER = "data-number"  # of a start tag in the source, while the page is labelled
LEAST_SHARE = 0.02  # of a page's text: less than this is too little, for template and for content


class LabelError(ValueError):
    """The labels of a page make no sense."""


class _Tags(HTMLParser):
    """The start tags of a page, with their places in the source."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines = [0, *(at.end() for at in re.finditer("\n", html))]
        self.found: list[tuple[int, str]] = []  # offset and text
        self.feed(html)
        self.close()

    def handle_starttag(self, _tag: str, _attrs: object) -> None:
        line, column = self.getpos()
        self.found.append((self.lines[line - 1] + column, self.get_starttag_text() or ""))


def _edited(html: str, edits: list[tuple[int, str, str]]) -> str:
    """The page with texts at some offsets replaced by others; everything else as it is."""
    for offset, old, new in sorted(edits, reverse=True):
        assert html[offset : offset + len(old)] == old
        html = html[:offset] + new + html[offset + len(old) :]
    return html


def _with_attribute(tag: str, text: str) -> str:
    """A start tag with one more attribute, after its name."""
    return re.sub(r"^<[^\s/>]+", lambda name: f"{name[0]} {text}", tag, count=1)


def _with_class(tag: str, name: str) -> str:
    """A start tag with one more class."""
    found = re.search(r"""\sclass\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", tag)
    if not found:
        return _with_attribute(tag, f'class="{name}"')
    classes = found[1].strip("\"'").split()
    return f'{tag[: found.start(1)]}"{" ".join([*classes, name])}"{tag[found.end(1) :]}'


def _body(html: str) -> Node:
    """The body of a page."""
    body = next(find_all(parse_html(html), "body"), None)
    if body is None:
        raise LabelError("a build has no body")
    return Node(body)


def _all_text(node: Node) -> str:
    """The text of a node and all below it."""
    return " ".join(inner.raw_text for inner in node.walk())


def _shows_marked_attribute(node: Node) -> bool:
    """Whether there is nothing to see of an element but its attributes, and one is marked."""
    marked = any(MARK.search(str(value)) for value in node.element.attrib.values())
    return marked and not node.children and not node.text


@dataclass
class Labels:
    """The labelled nodes of a page."""

    not_template: list[Node]
    main_content: Node
    main_menu: Node


class _Labeller:
    """The three builds of a page, aligned."""

    def __init__(self, clean: str, marked: str, empty: str) -> None:
        self.root = _body(clean)
        self.in_marked = align(self.root, _body(marked))
        self.in_empty = align(self.root, _body(empty))
        self.parents = {child: node for node in self.root.walk() for child in node.children}

    def is_own(self, node: Node) -> bool:
        """Whether an element is the page's own, and not template."""
        partner = self.in_empty.get(node)
        marked = self.in_marked.get(node)
        if partner is None or partner.words != node.words:
            return True
        return marked is not None and bool(
            MARK.search(marked.raw_text)
            or MARK.search(marked.element.get("id", ""))
            or _shows_marked_attribute(marked)
        )

    def topmost_own(self, node: Node) -> list[Node]:
        """The topmost elements that are the page's own."""
        if self.is_own(node):
            return [node]
        return [found for child in node.children for found in self.topmost_own(child)]

    def up(self, node: Node) -> list[Node]:
        """The node and those above it, the body first."""
        path = [node]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
        return path[::-1]

    def main_content(self, own: set[Node]) -> Node:
        """The theme's element that directly encloses the body of the page."""
        texts = {node: partner.raw_text for node, partner in self.in_marked.items()}
        body = [node for node, text in texts.items() if BODY in text]
        if not body:  # a list of posts may show their titles alone
            body = [node for node, text in texts.items() if TITLE in text]
        if not body:
            raise LabelError("the body of the page is nowhere to be found")
        levels = zip(*(self.up(node) for node in body), strict=False)
        shared: list[Node] = [level[0] for level in levels if len(set(level)) == 1]
        return next(node for node in reversed(shared) if not own.intersection(self.up(node)))

    def main_menu(self, own: set[Node]) -> Node:
        """The smallest element with all entries of the main menu."""
        entries = set(MENU_MARK.findall(_all_text(self.in_marked[self.root])))
        if not entries:
            raise LabelError("the page has no main menu")
        holders = [
            node
            for node, marked in self.in_marked.items()
            if entries <= set(MENU_MARK.findall(_all_text(marked)))
        ]
        menu = min(holders, key=lambda node: sum(1 for _ in node.walk()))
        if own.intersection(self.up(menu)):
            raise LabelError("the main menu lies in what is not template")
        return menu

    def labels(self) -> Labels:
        """The labels, checked."""
        not_template = self.topmost_own(self.root)
        own = set(not_template)
        if self.root in own:
            raise LabelError("nothing is template")
        found = Labels(not_template, self.main_content(own), self.main_menu(own))
        covered = {inner for node in not_template for inner in node.walk()}
        for node, marked in self.in_marked.items():
            if MARK.search(marked.raw_text) and node not in covered:
                raise LabelError(f"left out: {marked.raw_text[:60]!r}")
        total = len(_all_text(self.root))
        share = sum(len(_all_text(node)) for node in not_template) / max(total, 1)
        if not LEAST_SHARE < share < 1 - LEAST_SHARE:
            raise LabelError(f"{share:.0%} of the text is not template")
        return found


def label(clean: str, marked: str, empty: str) -> str:
    """The clean build of a key page with its labels as classes; nothing else in it changes."""
    tags = _Tags(clean).found
    numbered = _edited(
        clean,
        [
            (offset, tag, _with_attribute(tag, f'{NUMBER}="{i}"'))
            for i, (offset, tag) in enumerate(tags)
        ],
    )
    found = _Labeller(numbered, marked, empty).labels()
    classes = [(node, NOT_TEMPLATE) for node in found.not_template]
    classes += [(found.main_content, MAIN_CONTENT), (found.main_menu, MAIN_MENU)]
    texts = {i: tag for i, (_, tag) in enumerate(tags)}
    for node, name in classes:
        number = int(node.element.get(NUMBER, "-1"))
        if number < 0:
            raise LabelError(f"the source has no tag for a <{node.element.tag}>")
        texts[number] = _with_class(texts[number], name)
    labelled = _edited(
        clean, [(offset, tag, texts[i]) for i, (offset, tag) in enumerate(tags) if texts[i] != tag]
    )
    if ANY.search(labelled):
        raise LabelError("a mark is left in the page")
    return labelled
