import csv
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.evaluation.labels import number_elements, read_labels, without_labels
from benchmarks.evaluation.sites import LabelledSite, load_page
from tests.support.crawls import Crawl, run_command
from tplspider.search.session import SearchOptions
from tplspider.sources.base import search_pages
from tplspider.web.html import parse_html
from tplspider.web.page import WebPage


def table1(*options: str, folder: Path) -> Crawl:
    """Measure, into means.csv and sites.csv."""
    files = [f"--csv={folder / 'means.csv'}", f"--per-site={folder / 'sites.csv'}"]
    command = (sys.executable, "-m", "benchmarks.table1", "--extractors=none", *files, *options)
    return replace(run_command(*command, timeout=240), folder=folder)


# body, ul, four times li and a, main: 11 elements of template, and one that is not.
MENU_PAGE = """<!DOCTYPE html><html><head><title>{name}</title></head><body>
<ul><li><a href=/key.html>Key</a></li><li><a href=/a.html>Ants</a></li>
<li><a href=/b.html{label}>Bees</a></li><li><a href=/c.html>Cats</a></li></ul>
<main{main}>{content}</main><script>x</script></body></html>"""

KEY = "<p class=TECO_notTemplate>The words of the key page</p>"
OTHERS = {"a": "<h1>Ants</h1>", "b": "<pre>Bees</pre>", "c": "<table><tr><td>Cats</table>"}


def write_site(folder: Path, *, key: str = KEY, label: str = "", main: str = "") -> None:
    """A menu of four pages, and a key page with these labels."""
    folder.mkdir(parents=True)
    pages = {
        name: MENU_PAGE.format(name=name, label="", main="", content=c)
        for name, c in OTHERS.items()
    }
    pages["key"] = MENU_PAGE.format(name="key", label=label, main=main, content=key)
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.crawl
def test_figures_worked_out_by_hand(tmp_path: Path) -> None:
    """Two sites: on the second, a link that all pages have is labelled as not template."""
    corpus = tmp_path / "corpus"
    write_site(corpus / "one")
    write_site(corpus / "two", label=' class="x TECO_notTemplate"')
    done = table1(f"--corpus={corpus}", "--strategies=paper", "--sizes=1-4", folder=tmp_path)
    assert (done.code, done.log) == (0, "")
    # 11 of 11, and 11 of 11 right; 10 of 10, and 10 of 11 right, which is an F1 of 20/21.
    shares = ["1.000000", f"{(1 + 10 / 11) / 2:.6f}", f"{(1 + 20 / 21) / 2:.6f}"]
    means = rows(tmp_path / "means.csv")
    assert {(row["strategy"], row["size"]): list(row.values())[2:] for row in means} == {
        ("paper", size): ["2", *shares, f"{loads}.0000", complete, f"{loads}.0000"]
        for size, loads, complete in (("1", 2, "2"), ("2", 3, "2"), ("3", 4, "2"), ("4", 4, "0"))
    }
    sites = {(row["site"], row["size"]): row for row in rows(tmp_path / "sites.csv")}
    row, names = sites["two", "4"], ("precision", "loads", "cs_size", "complete", "reason")
    assert [row[name] for name in names] == ["0.909091", "4", "3", "0", "links_exhausted"]
    assert (row["elements"], row["template"], row["found"]) == ("12", "10", "11")


LABELLED = """<!DOCTYPE html>
<html><head><title>Cranes</title><meta class="TECO_notTemplate" name=description></head>
<body class=page>
<nav class="menu TECO_mainMenu"><a href=/>Home</a> <a href="/b.html"class='TECO_notTemplate'>B</a>
</nav><script>cranes("<p class='x'>")</script>
<main CLASS = " TECO_mainContent&#32;wide "><h1 class=TECO_notTemplate>Cranes</h1>
<div class="TECO_notTemplate"><p class='TECO_notTemplate'>Tall. <b>Grey.</b></p></div>
<noscript class=TECO_notTemplate><p>No script</p></noscript></main>
</body></html>
"""

BARE = """<!DOCTYPE html>
<html><head><title>Cranes</title><meta name=description></head>
<body class=page>
<nav class="menu"><a href=/>Home</a> <a href="/b.html">B</a>
</nav><script>cranes("<p class='x'>")</script>
<main CLASS = "wide"><h1>Cranes</h1>
<div><p>Tall. <b>Grey.</b></p></div>
<noscript><p>No script</p></noscript></main>
</body></html>
"""


def tags(html: str, numbers: frozenset[int]) -> list[object]:
    return [element.tag for element, n in number_elements(parse_html(html)).items() if n in numbers]


def test_no_search_sees_labels(tmp_path: Path) -> None:
    assert without_labels(LABELLED.encode()).decode() == BARE
    labels = read_labels(parse_html(LABELLED))
    assert tags(LABELLED, labels.counted) == "body nav a a main h1 div p b".split()
    assert tags(LABELLED, labels.template) == ["body", "nav", "a", "main"]
    assert tags(LABELLED, labels.main_content) == ["main"]
    folder = tmp_path / "My Site"
    folder.mkdir()
    (folder / "a.html").write_text(LABELLED, "utf-8")
    (folder / "b.html").write_text("<p class=TECO_notTemplate><a href=a.html>A</a> B", "utf-8")
    site = LabelledSite(folder, "a.html")
    search = search_pages(site.pages, site.key_url, SearchOptions(n=1)).search
    assert search is not None
    assert [visit.url for visit in search.members] == ["http://my%20site/b.html"]
    for url in (site.key_url, "http://my%20site/b.html"):
        page = load_page(site.pages, url)
        assert isinstance(page, WebPage)
        assert b"TECO_" not in page.body
