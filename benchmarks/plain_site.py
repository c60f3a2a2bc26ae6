"""A made-up site with the proportions of real ones, for measuring what stripping costs.

Over 75 real and labelled sites, the median page has 13.0 kB of HTML with 167 elements in its body
(80 bytes each), 29 of them links, and 2.7 kB of text; the site of
:mod:`benchmarks.site_templates` has three times as many links, and twice as many elements in as
much HTML.
"""

from __future__ import annotations

from random import Random

from benchmarks.extraction import words

SITE = "http://example.org/"
SECTIONS = 20
PAGES = 50  # of a section, one of them its index


def address(section: int, page: int) -> str:
    """Where a page is."""
    return f"/section-{section}/page-{page}.html" if page else f"/section-{section}/"


def title_of(section: int, page: int) -> str:
    """What a page is called."""
    return words(Random(PAGES * section + page), 4).capitalize()


def _link(section: int, page: int, kind: str) -> str:
    return f'<a class="{kind}" href="{address(section, page)}">{title_of(section, page)}</a>'


def _paragraph(random: Random) -> str:
    """Some sentences: a third of them with a link, some with emphasis or a break."""
    text = f"{words(random, random.randrange(7, 17)).capitalize()}"
    if random.random() < 0.35:
        to = _link(random.randrange(SECTIONS), random.randrange(PAGES), "text-link internal")
        text += f" {to} {words(random, 5)}"
    if random.random() < 0.5:
        text += f' <span class="emphasis" style="font-weight: bold">{words(random, 2)}</span>'
    if random.random() < 0.3:
        text += f"<br />\n{words(random, 6)}"
    return f'<p class="paragraph" style="text-align: left; margin: 0 0 1em">{text}.</p>\n'


def _figure(random: Random) -> str:
    number = random.randrange(9999)
    return (
        f'<div class="figure alignright" id="figure-{number}"><img src="/images/uploads/2014/'
        f'picture-{number}-300x200.jpg" alt="{words(random, 3)}" width="300" height="200" />'
        f'<p class="caption">{words(random, 6)}</p></div>\n'
    )


def _content(random: Random, section: int, page: int) -> str:
    """A page's own part: a text with a picture, a list and a table; or a list of pages."""
    if not page:
        return "".join(
            f'<div class="post type-post published" id="post-{number}"><h2 class="entry-title">'
            f"{_link(section, number, 'entry-link')}</h2><div class='entry'>{_paragraph(random)}"
            "</div></div>\n"
            for number in random.sample(range(1, PAGES), 10)
        )
    parts = [_paragraph(random) for _ in range(3)]
    for _ in range(4):
        parts.append(f'<h3 class="heading">{words(random, 3).capitalize()}</h3>\n')
        parts += [_paragraph(random) for _ in range(3)]
    parts.insert(4, _figure(random))
    items = "".join(f'<li class="item">{words(random, 6)}</li>\n' for _ in range(8))
    parts.append(f'<ul class="list">{items}</ul>\n')
    rows = "".join(
        f'<tr><td width="30%" valign="top">{words(random, 1)}</td><td valign="top">'
        f"{words(random, 4)}</td></tr>\n"
        for _ in range(10)
    )
    parts.append(f'<table class="data" border="0" cellpadding="2" cellspacing="0">{rows}</table>\n')
    return "".join(parts)


def _frame(section: int) -> tuple[str, str]:
    """What stands before the page's own part, and what after it."""
    menu = "".join(
        f'<li class="menu-item menu-item-type-page{" current-menu-item" if top == section else ""}"'
        f' id="menu-item-{top}">{_link(top, 0, "menu-link")}</li>\n'
        for top in range(9)
    )
    beside = "".join(
        f'<li class="cat-item cat-item-{n}">{_link(section, n, "widget-link")}</li>\n'
        for n in range(1, 7)
    )
    footer = "".join(
        f'<div class="footer-column" id="footer-column-{name.lower()}"><h4 class="widget-title">'
        f'{name}</h4><div class="textwidget"><a href="/{name.lower()}/">{words(Random(name), 2)}'
        f"</a><br />{words(Random(name), 7)}</div></div>\n"
        for name in ("About", "Help", "Follow")
    )
    script = "".join(f"var option{n} = '{words(Random(n), 6)}';\n" for n in range(50))
    before = (
        '<div id="page" class="hfeed site"><div id="header" class="site-header"><a href="/" '
        'rel="home"><img src="/images/logo.png" width="180" height="60" alt="The site" /></a>'
        '<div id="search"><form method="get" action="/search"><input type="text" name="q" '
        'class="field" /><input type="submit" value="Search" /></form></div></div>\n'
        f'<div id="nav" class="main-navigation"><ul class="menu">{menu}</ul></div>\n'
    )
    after = (
        '<div id="sidebar" class="widget-area"><div class="widget widget_categories"><h3 '
        f'class="widget-title">In this part</h3><ul>{beside}</ul></div></div>\n<div id="footer" '
        f'class="site-footer">{footer}<p class="copyright">Copyright 2014 The makers of the site. '
        f'All rights reserved.</p></div></div>\n<script type="text/javascript">{script}</script>'
    )
    return before, after


def page_html(random: Random, section: int, page: int) -> str:
    """A page: what it is about, in the frame that all pages have."""
    title = title_of(section, page)
    before, after = _frame(section)
    head = "".join(
        f'<link rel="stylesheet" type="text/css" href="/content/themes/plain/css/{name}.css" />\n'
        for name in ("reset", "layout", "style", "print")
    )
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title} - The site</title>\n{head}</head>\n"
        f'<body class="page page-id-{PAGES * section + page}">\n{before}<div id="main"><div '
        f'id="content" class="site-content"><div class="breadcrumb"><a href="/">Home</a> &raquo; '
        f'{_link(section, 0, "crumb")} &raquo; {title}</div>\n<h1 class="entry-title">{title}</h1>'
        f'\n<div class="entry-content">{_content(random, section, page)}</div><div class="meta">'
        f'Posted on <span class="date">{random.randrange(1, 29)} May 2014</span></div></div></div>'
        f"\n{after}</body></html>"
    )


def pages() -> list[tuple[str, str]]:
    """The addresses and the HTML of all 1,000 pages, section by section."""
    random = Random(3)
    return [
        (SITE + address(section, page)[1:], page_html(random, section, page))
        for section in range(SECTIONS)
        for page in range(PAGES)
    ]
