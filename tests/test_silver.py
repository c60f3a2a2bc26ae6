"""Texts judged by the whole site: on sites of a few lines, whose labels can be told by hand."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from benchmarks.evaluation.measure import TEXTS
from benchmarks.evaluation.silver import (
    BOILERPLATE,
    MOST_PAGES,
    OWN,
    UNCLEAR,
    Line,
    SitePage,
    label_lines,
    lines_of,
    pages_beside,
    score_text,
    shares_kept,
)
from benchmarks.evaluation.sites import CorpusError, MirroredSite, unlabelled_sites
from tests.support.evaluation import run_table1
from tplspider.sources.base import load_page
from tplspider.web.page import NoPage, Redirect, WebPage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawls import Crawl

PAGE = """<html><head><title>Not a line</title></head><body>
<ul><li><a href=/6.html>Home of the choir</a></li><li><a href=/7.html>News of the week</a></li></ul>
<p>{content}</p><div>Singing together since 1952, every Tuesday night</div></body></html>"""
OWN_TEXT = "What is on the page about {} and on no other, in many words."
VOICES = "alto bass tenor treble soprano baritone contralto descant".split()


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>One <b>line</b>\n here", ["One line here"]),
        ("<p>One<br>two<ul><li>three<li>four</ul>", ["One", "two", "three", "four"]),
        ("<table><tr><td>a<td>b</table>", ["a", "b"]),
        ("<p>Seen<script>not</script> <!-- nor this -->still", ["Seen still"]),
        ("<noscript>not <p>at all</p></noscript><p>Yes", ["Yes"]),
        ("<head><title>No</title></head><body>Yes</body>", ["Yes"]),
        ("<html><body>One</body></html><html><body>Two</body></html>", ["One", "Two"]),
        ("", []),
    ],
)
def test_lines(html: str, lines: list[str]) -> None:
    assert [line.text for line in lines_of(html, "http://a.org/")] == lines


def test_a_line_of_links_is_a_line_for_each() -> None:
    menu = "<p><a href=x.html>One <b>of</b> them</a> | <a href='/y'>Two</a></p>"
    assert lines_of(menu, "http://a.org/b/") == (
        Line("One of them", "http://a.org/b/x.html"),
        Line("Two", "http://a.org/y"),
    )
    within = "<p>See <a href=x.html>this</a></p>"
    assert lines_of(within, "http://a.org/") == (Line("See this"),)
    assert lines_of("<a href='http://[a'>x</a>", "http://a.org/") == (Line("x", "http://[a"),)


def page(path: str, *lines: str | tuple[str, str]) -> SitePage:
    """A page with these lines; a link is a line with its target."""
    found = (Line(line) if isinstance(line, str) else Line(*line) for line in lines)
    return SitePage(path, tuple(found))


def labels(key: SitePage, *others: SitePage) -> dict[str, str]:
    found = label_lines(key, pages_beside(key, others))
    return dict(zip(key.texts, found, strict=True))


def test_what_many_pages_have_is_boilerplate() -> None:
    key = page("/key", "footer", "own text", "on some", "!", "12 May", "of 3")
    others = [page(f"/{n}", "footer", f"text {n}", "1{n} May", "of 4") for n in range(5)]
    others += [page(f"/{n}", "footer", f"text {n}", "on some", "of 5") for n in range(5, 9)]
    others.append(page("/last", "text last"))
    assert labels(key, *others) == {
        "footer": BOILERPLATE,  # on 9 of 10
        "own text": OWN,
        "on some": UNCLEAR,  # on 4 of 10, which is neither many nor few
        "!": UNCLEAR,  # there are no letters
        "12 May": OWN,  # no other has a date like that
        "of 3": UNCLEAR,  # with other digits, it is on 9 of 10
    }


def test_links_are_boilerplate_sooner() -> None:
    near, far = ("Chapter two", "/two"), ("Chapter nine", "/nine")
    rare = ("Chapter ten", "/ten")
    key = page("/a/key", near, far, rare, "text of the key")
    others = [page(f"/a/{n}", near, f"a text {n}") for n in range(5)]
    others += [page(f"/b/{n}", far, f"b text {n}") for n in range(10)]
    others += [page(f"/c/{n}", ("Chapter nine", "/elsewhere"), f"c {n}") for n in range(25)]
    others += [page(f"/d/{n}", rare, f"d text {n}") for n in range(3)]
    found = labels(key, *others)
    assert found["Chapter two"] == BOILERPLATE  # of its own folder, where all pages have it
    assert found["Chapter nine"] == BOILERPLATE  # its words are on most pages
    assert found["Chapter ten"] == UNCLEAR  # three pages, but with the same target
    quarter = [page(f"/b/{n}", *([far] if n < 3 else []), f"b text {n}") for n in range(12)]
    assert labels(key, *quarter)["Chapter nine"] == BOILERPLATE  # a quarter of the pages
    assert labels(key, *quarter[1:])["Chapter nine"] == OWN  # two


def test_a_heading_with_the_words_of_a_menu_is_not_counted() -> None:
    others = [page(f"/{n}", "News", f"text {n}") for n in range(6)]
    assert labels(page("/key", "News", "the text"), *others)["News"] == BOILERPLATE
    assert labels(page("/key", "News", "News", "the text"), *others)["News"] == UNCLEAR


def test_pages_beside() -> None:
    key = page("/key", "text")
    copies = [page("/copy", "text"), page("/empty"), page("/a", "a"), page("/b", "a")]
    assert [other.path for other in pages_beside(key, copies)] == ["/a"]
    many = [page(f"/{n}", f"text {n}") for n in range(2 * MOST_PAGES)]
    assert [other.path for other in pages_beside(key, many)] == [
        f"/{n}" for n in range(0, 2 * MOST_PAGES, 2)
    ]


@pytest.mark.parametrize(
    ("lines", "text", "shares"),
    [
        (["Home", "A text", "Home"], "Home\nA text", [1, 1, 0]),
        (["Home", "A text", "Home"], "A text\nHome", [0, 1, 1]),
        (["News", "All the news of home"], "All the news of home", [0, 1]),  # each word once
        (["x", "home now"], "go home now x\nhome now", [1, 1]),  # better at the start of a line
        (["eins, zwei", "DREI"], "Eins zwei drei", [1, 1]),
        (["日本語", "本"], "日本語", [1, 0]),
        (["one two three four five six"], "one two three\nand five six", [0.5]),
        (["one two three four"], "one two three", [0]),  # too short for a part of it
        (["", "-"], "-", [0, 0]),
        (["one"], "", [0]),
    ],
)
def test_shares_kept(lines: list[str], text: str, shares: list[float]) -> None:
    assert shares_kept(lines, text) == shares


def test_long_pages_are_judged_in_time() -> None:
    lines = [f"{n} words in a line that nobody has extracted" for n in range(2_000)]
    lines += ["Reply"] * 2_000
    text = " ".join(f"other words in a line {n} Reply" for n in range(10_000))
    shares = shares_kept(lines, text)
    assert sum(shares[2_000:]) == 2_000
    assert set(shares[:2_000]) == {4 / 9}  # words in a line


def test_scores() -> None:
    lines, names = ["m" * 40, "o" * 60, "x" * 10, "short"], [BOILERPLATE, OWN, UNCLEAR, OWN]
    kept = score_text(lines, names, f"{'o' * 60}\n{'x' * 10}")
    assert (kept.own, kept.boilerplate) == (65, 40)
    assert kept.lost == pytest.approx(5 / 65)
    assert kept.left == 0
    assert score_text(lines, names, "m" * 40).left == 1
    few = score_text(["few words"], [OWN], "")
    assert (few.lost, few.left) == (None, None)


def test_a_mirror(tmp_path: Path) -> None:
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "index.htm").write_text("<p>News")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.html").write_text("<p>Old")
    site = MirroredSite(tmp_path, "www.example.org", "/club/")
    assert site.url == "http://www.example.org/club"
    page = load_page(site, "http://www.example.org/club/news/")
    assert isinstance(page, WebPage)
    assert (page.url, page.text) == ("http://www.example.org/club/news/", "<p>News")
    for name in ("news", "old"):
        found = site.load(f"http://www.example.org/club/{name}")
        assert isinstance(found, Redirect)
        assert found.url == f"http://www.example.org/club/{name}/"
        assert isinstance(load_page(site, found.url), WebPage)
    for path in ("/old/", "/clubs/old/", "/club/none/", "/club/none"):
        assert isinstance(load_page(site, f"http://www.example.org{path}"), NoPage)


def write_corpus(folder: Path, table: str = "site\tkey_pages\nchoir\t0.html,1.html\n") -> Path:
    """A choir of 8 pages, all with the same menu and footer."""
    (folder / "choir").mkdir(parents=True)
    for number, voice in enumerate(VOICES):
        others = "".join(f"<a href=/{other}.html>{other}</a> " for other in range(8))
        content = f"{OWN_TEXT.format(voice)}</p><p>{others}"
        (folder / "choir" / f"{number}.html").write_text(PAGE.format(content=content))
    (folder / "sites.tsv").write_text(table)
    return folder


def judge(corpus: Path, *options: str) -> Crawl:
    files = [f"--csv={corpus.parent / 'means.csv'}", f"--per-site={corpus.parent / 'pages.csv'}"]
    return run_table1(f"--silver={corpus}", *files, *options, folder=corpus.parent)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.crawl
def test_a_site_judged_by_itself(tmp_path: Path) -> None:
    table = "site\tkey_pages\tsilver\nchoir\t0.html,1.html,2.html\tyes,no,yes\n"
    done = judge(write_corpus(tmp_path / "corpus", table), "--extractors=none", "--sizes=2,3")
    assert (done.code, done.log) == (0, "")
    means = rows(tmp_path / "means.csv")
    assert [(row["text"], row["size"]) for row in means] == [
        (f"{strategy}: {text}", size)
        for strategy in ("guided", "paper")
        for size in ("2", "3")
        for text in ("content_text", "main_text")
    ]
    for row in means:
        assert (row["key_pages"], row["loads"]) == ("2", f"{int(row['size']) + 1}.0000")
        assert (row["lost"], row["lost_pages"]) == ("0.000000", "2")
        assert (row["left"], row["left_pages"], row["alone"]) == ("0.000000", "2", "0")
    pages = rows(tmp_path / "pages.csv")
    assert [(page["key_page"], page["sound"]) for page in pages if page["size"] == "2"][::4] == [
        ("0.html", "1"),
        ("1.html", "0"),
        ("2.html", "1"),
    ]
    # The menu and the footer, but not the single digits of the links.
    boilerplate = "HomeofthechoirNewsoftheweek" + "Singingtogethersince1952everyTuesdaynight"
    assert {page["boilerplate"] for page in pages} == {str(len(boilerplate))}
    own = [OWN_TEXT.format(voice) for voice in VOICES[:3]]
    assert {page["own"] for page in pages} == {str(sum(map(str.isalnum, text))) for text in own}
    line = next(line for line in done.stdout.splitlines() if line.startswith("paper: main_text"))
    assert line.split()[2:] == "2 2 3.00 3.00 0.00 2 0.00 2 0".split()


@pytest.mark.crawl
def test_a_page_without_evidence_is_all_text(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    for number in (0, 1):
        file = corpus / "choir" / f"{number}.html"
        file.write_text(file.read_text().replace("<a href=", "<a name="))
    done = judge(corpus, "--extractors=none", "--strategies=paper")
    assert done.code == 0
    content, _ = rows(tmp_path / "means.csv")
    assert (content["alone"], content["lost"], content["loads"]) == ("2", "0.000000", "1.0000")
    assert float(content["left"]) == 1
    assert "No template" not in done.log


@pytest.mark.crawl
def test_page_level_extractors_are_judged_too(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    options = ("--extractors=resiliparse", "--strategies=guided,all-pages")
    done = judge(write_corpus(tmp_path / "corpus"), *options)
    assert (done.code, done.log) == (0, "")
    found = {row["text"]: row for row in rows(tmp_path / "means.csv")}
    assert [*found] == [
        *(f"{name}: {text}" for name in ("guided", "all-pages") for text in TEXTS),
        "resiliparse",
    ]
    assert (found["all-pages: main_text"]["loads"], found["resiliparse"]["loads"]) == (
        "8.0000",
        "1.0000",
    )
    assert (found["resiliparse"]["size"], found["resiliparse"]["lost_pages"]) == ("", "2")


@pytest.mark.crawl
def test_what_cannot_be_measured_is_a_line(tmp_path: Path) -> None:
    table = "site\tkey_pages\nchoir\t0.html,gone.html\ngone\t0.html\n"
    done = judge(write_corpus(tmp_path / "corpus", table), "--extractors=none")
    assert done.code == 0
    assert done.log.splitlines() == [
        "choir: gone.html: there is no page at http://choir/gone.html (http-404). It is left out.",
        "gone: 0.html: there is no such folder. It is left out.",
    ]
    assert {row["key_pages"] for row in rows(tmp_path / "means.csv")} == {"1"}
    some = judge(tmp_path / "corpus", "--extractors=none", "--sites=choir", "--strategies=guided")
    assert len(some.log.splitlines()) == 1


@pytest.mark.crawl
@pytest.mark.parametrize(
    ("table", "line"),
    [
        (
            "site\tkey_path\nchoir\t0.html\n",
            "expected columns site and key_pages, separated by tabs",
        ),
        ("site\tkey_pages\n", "there is no key page that can be measured"),
        (None, "sites.tsv cannot be read (No such file or directory)"),
    ],
)
def test_a_corpus_that_will_not_do(tmp_path: Path, table: str | None, line: str) -> None:
    corpus = write_corpus(tmp_path / "corpus", table or "")
    if table is None:
        (corpus / "sites.tsv").unlink()
    done = judge(corpus, "--extractors=none")
    assert (done.code, done.stdout) == (2, "")
    assert line in done.log
    assert "Traceback" not in done.log


def test_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "sites.tsv").write_bytes(b"site\tkey_pages\n\xff\tx\n")
    with pytest.raises(CorpusError, match="is not in UTF-8"):
        unlabelled_sites(tmp_path)
    (tmp_path / "sites.tsv").write_bytes(b"")
    with pytest.raises(CorpusError, match="expected columns site and key_pages"):
        unlabelled_sites(tmp_path)
    table = (
        "site\tkey_pages\tsilver\tabsolute_host\n\na\tx/,y\tyes,no\t-\nb\tz\t\tb.org,c.org\n\tq\n"
    )
    (tmp_path / "sites.tsv").write_text(table)
    one, two = unlabelled_sites(tmp_path)[:2]
    assert (one.pages.url, one.keys) == ("http://a", (("x/", True), ("y", False)))
    assert (two.pages.url, two.keys) == ("http://b.org", (("z", True),))
