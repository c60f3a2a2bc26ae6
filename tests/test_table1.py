"""``python -m benchmarks.table1`` on corpora whose figures can be worked out by hand."""

from __future__ import annotations

import csv
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.evaluation.choices import CHOICES, POOLS
from benchmarks.evaluation.extractors import EXTRACTORS
from benchmarks.evaluation.measure import Plan, measure, measure_texts
from benchmarks.evaluation.sites import CorpusError, labelled_sites
from benchmarks.table1 import main
from tests.support.crawls import PROJECT, Crawl
from tests.support.evaluation import run_table1
from tplspider.search.session import STRATEGIES

# Table 1 of the paper, copied from it: recall, precision, F1 and loads for n from 1 to 8.
PUBLISHED = [
    "88.56 94.89 88.69 2.00",
    "96.34 90.32 91.93 5.60",
    "95.44 96.35 95.61 10.13",
    "94.61 96.88 95.27 16.52",
    "94.69 96.96 95.40 18.68",
    "95.21 96.82 95.69 23.68",
    "95.46 96.31 95.57 30.00",
    "95.14 96.57 95.54 32.08",
]
HEADER = "strategy size sites recall precision f1 loads complete all_loads".split()
SITE_HEADER = [*HEADER[:2], "site", *HEADER[3:7], "cs_size", "complete"]
MEMBERS = [f"{name}-members" for name in STRATEGIES]

# body, ul, four times li and a, main: 11 elements of template, and one that is not.
PAGE = """<!DOCTYPE html><html><head><title>{name}</title></head><body>
<ul><li><a href=/key.html>Key</a></li><li><a href=/a.html>Ants</a></li>
<li><a href=/b.html{label}>Bees</a></li><li><a href=/c.html>Cats</a></li></ul>
<main{main}>{content}</main><script>x</script></body></html>"""
KEY = "<p class=TECO_notTemplate>The words of the key page</p>"
OTHERS = {"a": "<h1>Ants</h1>", "b": "<pre>Bees</pre>", "c": "<table><tr><td>Cats</table>"}


def write_site(folder: Path, *, key: str = KEY, label: str = "", main: str = "") -> None:
    """A menu of four pages, and a key page with these labels."""
    folder.mkdir(parents=True)
    pages = {
        name: PAGE.format(name=name, label="", main="", content=c) for name, c in OTHERS.items()
    }
    pages["key"] = PAGE.format(name="key", label=label, main=main, content=key)
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")


def table1(corpus: Path, *options: str) -> Crawl:
    files = [f"--csv={corpus.parent / 'means.csv'}", f"--per-site={corpus.parent / 'sites.csv'}"]
    return run_table1(f"--corpus={corpus}", *files, *options, folder=corpus.parent)


def rows(file: Path, header: list[str]) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        found = list(csv.DictReader(lines))
    assert list(found[0])[: len(header)] == header
    return found


def means(done: Crawl) -> dict[tuple[str, str], list[str]]:
    found = rows(done.folder / "means.csv", HEADER)
    return {(row["strategy"], row["size"]): list(row.values())[2:] for row in found}


def texts(done: Crawl) -> dict[str, list[str]]:
    """The table of texts: whose they are, and the figures."""
    table = done.stdout.partition("The main text of the key page")[2]
    rows = (line.split("  ") for line in table.splitlines() if line[:1].isalpha())
    return {row[0]: " ".join(row[1:]).split() for row in rows}


def test_an_index_that_is_linked_as_its_folder(tmp_path: Path) -> None:
    """A key page ``x/index.html`` is the page ``x/`` of its site, for searches and pools."""
    write_site(tmp_path / "one")
    (tmp_path / "one" / "x").mkdir()
    html = (tmp_path / "one" / "key.html").read_text().replace("/key.html", "/x/")
    (tmp_path / "one" / "x" / "index.html").write_text(html)
    for name in "abc":
        file = tmp_path / "one" / f"{name}.html"
        file.write_text(file.read_text().replace("/key.html", "/x/"))
    (tmp_path / "one" / "key.html").unlink()
    (tmp_path / "sites.tsv").write_text(
        "site\tkey_path\tkey_pages\none\tx/index.html\tx/index.html\n"
    )
    plan = Plan(tmp_path, (3,), (*STRATEGIES, *POOLS), (), 100)
    for result in measure(plan, {})[0]:
        assert (result.score.recall, result.choice.found) == (1, 3), result.strategy
        assert result.choice.loads == (1 if result.strategy in POOLS else 4)  # /x/ is not loaded
    results = measure_texts(plan, {})
    assert {result.text.whose.partition(":")[0] for result in results} == {*plan.strategies}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sites: on the second, a link that all pages have is labelled as not template."""
    write_site(tmp_path / "corpus" / "one")
    write_site(tmp_path / "corpus" / "two", label=' class="x TECO_notTemplate"')
    return tmp_path / "corpus"


def test_figures_worked_out_by_hand(corpus: Path) -> None:
    done = table1(corpus, "--strategies=paper", "--extractors=none", "--sizes=1-4")
    assert done.code == 0
    assert done.log == ""
    # 11 of 11, and 11 of 11 right; 10 of 10, and 10 of 11 right, which is an F1 of 20/21.
    shares = ["1.000000", f"{(1 + 10 / 11) / 2:.6f}", f"{(1 + 20 / 21) / 2:.6f}"]
    assert means(done) == {
        ("paper", "1"): ["2", *shares, "2.0000", "2", "2.0000"],
        ("paper", "2"): ["2", *shares, "3.0000", "2", "3.0000"],
        ("paper", "3"): ["2", *shares, "4.0000", "2", "4.0000"],
        ("paper", "4"): ["2", *shares, "4.0000", "0", "4.0000"],
    }
    header = (corpus.parent / "means.csv").read_bytes().partition(b"\n")[0]
    assert header == b"strategy,size,sites,recall,precision,f1,loads,complete,all_loads"
    (row,) = (
        row
        for row in rows(corpus.parent / "sites.csv", SITE_HEADER)
        if row["site"] == "two" and row["size"] == "4"
    )
    assert [row[name] for name in ("precision", "loads", "cs_size", "complete", "reason")] == [
        "0.909091", "4", "3", "0", "links_exhausted"
    ]  # fmt: skip
    assert (row["elements"], row["template"], row["found"]) == ("12", "10", "11")


@pytest.mark.crawl
def test_the_printed_table_has_the_published_figures(corpus: Path) -> None:
    done = table1(corpus, "--extractors=none", "--sizes=1-9", "--strategies=paper")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[-7] == "paper 3 100.00 95.45 97.62 4.00 4.00 2/2 | 95.44 96.35 95.61 10.13".split()
    assert lines[-1] == "paper 9 100.00 95.45 97.62 4.00 4.00 0/2 |".split()
    assert [" ".join(line[line.index("|") + 1 :]) for line in lines[-9:-1]] == PUBLISHED
    assert "95.61" not in (corpus.parent / "means.csv").read_text()


@pytest.mark.slow
def test_baselines(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    # Links in document order: the page itself under another name, nothing, Ants, Bees, Cats.
    detour = "<p><a href=/copy.html>Copy</a> <a href=/gone.html>Gone</a></p>"
    write_site(corpus / "one", key=f"{KEY}<p class=TECO_notTemplate>Words</p>")
    key_file = corpus / "one" / "key.html"
    html = key_file.read_text().replace("<body>", f"<body>{detour}")
    key_file.write_text(html)
    (corpus / "one" / "copy.html").write_text(html.replace(" class=TECO_notTemplate", ""))
    (corpus / "one" / "moved.html").write_text("<meta http-equiv=refresh content='0; url=a.html'>")
    (corpus / "one" / "data.json").write_text("{}")
    below = corpus / "one" / "below"
    below.mkdir()
    for number in range(30):
        page = PAGE.format(name=number, label="", main="", content=f"<i>{number}</i>")
        (below / f"{number}.html").write_text(page)

    done = table1(corpus, "--extractors=none", "--sizes=2,5")
    assert (done.code, done.log) == (0, "")
    found = means(done)
    assert list(dict.fromkeys(name for name, _ in found)) == [
        *STRATEGIES, *MEMBERS, *POOLS, "document-order", "random-25", "same-directory", "all-pages"
    ]  # fmt: skip
    searches = {*STRATEGIES, *MEMBERS}
    loads = {key: (row[4], row[5]) for key, row in found.items() if key[0] not in searches}
    assert loads == {
        ("pool", "2"): ("1.0000", "1"),
        ("pool", "5"): ("1.0000", "0"),
        ("pool-after", "2"): ("1.0000", "1"),
        ("pool-after", "5"): ("1.0000", "0"),
        ("document-order", "2"): ("5.0000", "1"),
        ("document-order", "5"): ("6.0000", "0"),
        ("random-25", "2"): ("26.0000", "1"),
        ("random-25", "5"): ("26.0000", "1"),
        ("same-directory", "2"): ("5.0000", "1"),
        ("same-directory", "5"): ("5.0000", "0"),
        ("all-pages", "2"): ("35.0000", "1"),
        ("all-pages", "5"): ("35.0000", "1"),
    }
    pages = {row["strategy"]: row["pages"].split() for row in rows(tmp_path / "sites.csv", [])}
    assert pages["document-order"] == [f"http://one/{name}.html" for name in "abc"]
    assert pages["same-directory"] == [
        f"http://one/{name}.html" for name in ("a", "b", "c", "copy")
    ]
    # The links before the menu are on no other page but the copy, which proves nothing.
    assert found["all-pages", "2"][1] == f"{11 / 14:.6f}"
    first = (done.stdout, pages)
    again = table1(corpus, "--extractors=none", "--sizes=2,5")
    assert (
        again.stdout,
        {r["strategy"]: r["pages"].split() for r in rows(tmp_path / "sites.csv", [])},
    ) == first


@pytest.fixture
def blog(tmp_path: Path) -> Path:
    """A post whose menu leads to lists, and lists that lead to posts: only these have all of it."""
    corpus = tmp_path / "corpus"
    folder = corpus / "blog"
    (folder / "posts").mkdir(parents=True)
    menu = "".join(f"<li><a href=/{name}.html>{name}</a></li>" for name in ("all", "top", "new"))
    page = "<html><body><ul>{menu}</ul><main>{content}</main></body></html>"
    post = (
        "<article{main}><p{label}>All of {words}, and no other words</p></article>"
        "<div class=share><b>Share this post</b><i>with everybody</i></div>"
    )
    main, label = " class=TECO_mainContent", " class=TECO_notTemplate"
    posts = {
        "cats": post.format(main=main, label=label, words="cats"),
        "dogs": post.format(main="", label="", words="dogs"),
    }
    for name, content in posts.items():
        (folder / "posts" / f"{name}.html").write_text(page.format(menu=menu, content=content))
    for name in ("all", "top", "new"):
        content = f"<h1>What is {name}</h1><a href=posts/dogs.html>Dogs</a>"
        (folder / f"{name}.html").write_text(page.format(menu=menu, content=content))
    (corpus / "sites.tsv").write_text("site\tkey_path\nblog\tposts/cats.html\n")
    return corpus


@pytest.mark.crawl
def test_the_witness_is_loaded_on_top(blog: Path) -> None:
    options = ("--strategies=guided,guided-members", "--extractors=none", "--sizes=2")
    done = table1(blog, *options)
    assert (done.code, done.log) == (0, "")
    with_witness, members = means(done)["guided", "2"], means(done)["guided-members", "2"]
    assert (with_witness[4], with_witness[6]) == ("3.0000", "4.0000")
    assert (members[4], members[6]) == ("3.0000", "3.0000")
    # Lists do not have what is below a post: div, b and i, of 13 elements.
    assert (with_witness[1], members[1]) == ("1.000000", f"{10 / 13:.6f}")
    pages = {row["strategy"]: row["pages"].split() for row in rows(blog.parent / "sites.csv", [])}
    assert pages["guided"][0] == "http://blog/posts/dogs.html"
    assert "http://blog/posts/dogs.html" not in pages["guided-members"]
    assert [line.split()[5:7] for line in done.stdout.splitlines()[3:]] == [
        ["3.00", "4.00"],
        ["3.00", "3.00"],
    ]

    without = table1(blog, *options, "--witness=0")
    assert means(without)["guided", "2"] == members


@pytest.mark.crawl
def test_only_some_sites(corpus: Path) -> None:
    done = table1(corpus, "--strategies=paper", "--extractors=none", "--sites=two")
    assert means(done)["paper", "3"][:2] == ["1", "1.000000"]
    assert {row["site"] for row in rows(corpus.parent / "sites.csv", [])} == {"two"}


@pytest.mark.crawl
def test_a_directory_of_its_own_gives_nothing_to_compare_with(tmp_path: Path) -> None:
    site = tmp_path / "corpus" / "one"
    write_site(site)
    (site / "key").mkdir()
    (site / "key.html").rename(site / "key" / "index.html")
    done = table1(tmp_path / "corpus", "--strategies=same-directory", "--extractors=none")
    zero = "0.000000"
    assert means(done) == {
        ("same-directory", "3"): ["1", zero, zero, zero, "1.0000", "0", "1.0000"]
    }


@pytest.mark.crawl
def test_a_broken_site_is_a_line_and_counts_as_0(corpus: Path) -> None:
    write_site(corpus / "unlabelled", key="<p>Words</p>")
    table = "site\tkey_path\ntwo\t/key.html\nunlabelled\t/key.html\ngone\t/\none\t/key.html\n"
    (corpus / "sites.tsv").write_text(table)
    done = table1(corpus, "--strategies=paper", "--extractors=none")
    assert done.code == 0
    assert done.log.splitlines() == [
        "unlabelled: its key page http://unlabelled/key.html carries no labels. It counts as 0.",
        "gone: there is no such folder. It counts as 0.",
    ]
    assert means(done)["paper", "3"][:2] == ["4", "0.500000"]
    assert means(done)["paper", "3"][4:] == ["2.0000", "2", "2.0000"]
    sites = rows(corpus.parent / "sites.csv", SITE_HEADER)
    assert [row["site"] for row in sites] == ["two", "unlabelled", "gone", "one"]


def unreadable(file: Path) -> None:
    """Put in its place what is a file, and cannot be read by anybody, root included."""
    file.unlink(missing_ok=True)
    file.symlink_to("/proc/self/mem")


@pytest.mark.crawl
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no /proc")
@pytest.mark.parametrize("table", ["", "site\tkey_path\none\t/key.html\ntwo\t/key.html\n"])
def test_a_file_that_cannot_be_read_is_a_line_too(corpus: Path, table: str) -> None:
    unreadable(corpus / "one" / "a.html")
    if table:
        (corpus / "sites.tsv").write_text(table)
    done = table1(corpus, "--strategies=paper", "--extractors=none")
    file = corpus / "one" / "a.html"
    line = f"one: {file} cannot be read (Input/output error). It counts as 0."
    assert (done.code, done.log.splitlines()) == (0, [line])
    sites = rows(corpus.parent / "sites.csv", SITE_HEADER)
    assert [(row["site"], row["recall"]) for row in sites] == [
        ("one", "0.000000"),
        ("two", "1.000000"),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"site\tkey_path\n\xff\t/\n", "sites.tsv is not in UTF-8 (invalid start byte)"),
        (b"", "sites.tsv: expected columns site and key_path, separated by tabs"),
        (None, "sites.tsv cannot be read (Input/output error)"),
    ],
)
def test_a_table_of_sites_that_will_not_do(corpus: Path, content: bytes | None, words: str) -> None:
    if content is None:
        unreadable(corpus / "sites.tsv")
    else:
        (corpus / "sites.tsv").write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        list(labelled_sites(corpus))
    assert str(caught.value) == f"{corpus / words}"


@pytest.mark.crawl
def test_texts(corpus: Path) -> None:
    write_site(
        corpus / "words",
        key="<p>Zwölf graue <b class=TECO_notTemplate>Kraniche</b></p>",
        main=" class=TECO_mainContent",
    )
    done = table1(corpus, "--strategies=paper")
    assert "one: no main text is labelled. It is left out of the table of texts." in done.log
    table = done.stdout.partition("The main text of the key page, ours with n=3:")[2]
    assert texts(done)["paper: content_text"] == ["1", "100.00", "100.00", "100.00"]
    assert texts(done)["paper: main_text"] == ["1", "100.00", "100.00", "100.00"]
    assert "guided: main_text" not in table
    absent = [name for name in EXTRACTORS if find_spec(name) is None]
    assert [name for name in EXTRACTORS if name not in table] == absent
    if absent:
        line = f"left out: {', '.join(absent)} (pip install justext "
        assert line in done.log
    assert "main text" not in table1(corpus, "--extractors=none").stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--sizes=0"],
        ["--sizes=8-1"],
        ["--sizes=three"],
        ["--strategies=paper,papr"],
        ["--extractors=x"],
        ["--max-loads=-1"],
        ["--plot=plot.pdf"],
        ["--csv=/nowhere/at/all.csv"],
        ["--corpus=/nowhere"],
        ["--silver=."],
        ["--witness=2"],
        ["--sites=one"],
        ["more"],
        [],  # there is no site
    ],
)
def test_wrong_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([f"--corpus={tmp_path}", *options])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("python -m benchmarks.table1: error")


@pytest.mark.crawl
@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_plot(corpus: Path, ending: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    file = corpus.parent / f"plot.{ending}"
    done = table1(corpus, "--sizes=1-3", f"--plot={file}")
    assert done.code == 0
    assert file.read_bytes().startswith(start)
    if ending == "svg":
        assert all(f">{name}</text>" in file.read_text() for name in CHOICES)


@pytest.mark.crawl
def test_every_option_is_documented(tmp_path: Path) -> None:
    text = run_table1("--help", folder=tmp_path).stdout
    options = {*re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)}
    docs = (PROJECT / "docs" / "evaluation.md").read_text("utf-8")
    table = docs.partition("## Measuring it yourself")[2]
    assert len(options) > 10
    assert {*re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE)} == options
