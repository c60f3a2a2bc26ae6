"""Reports: what is in them, whatever the web has put into a search; and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import subprocess
import sys
import zipfile
from base64 import b64encode
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, SITES, run_scrapy
from tests.support.summaries import random_summary, row, summary, template, unusable
from tplspider import FolderSite, search_pages
from tplspider.report.clean_page import clean_page
from tplspider.report.drawing import draw
from tplspider.report.files import ReportFolder, read_summaries, read_templates, write_report
from tplspider.report.model import make_report
from tplspider.report.place import INDEX, ROWS
from tplspider.report.rendering import render_report
from tplspider.web.html import parse_html, visible_text

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "\u202e</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x07{{7*7}}"
SMALL = summary([row(1, [0, 2]), row(2, [0, 1, 3]), row(3, [1])], [1, 2])


def tree(html: str) -> Any:
    return parse_html(html)


def page_of(found: dict[str, Any], made: dict[str, Any] | None = None) -> Any:
    return tree(render_report(make_report(found, made)))


def cells(root: Any, table: str) -> list[list[str]]:
    rows = root.xpath(f"//table[@id='{table}']/tbody/tr")
    return [[" ".join("".join(cell.itertext()).split()) for cell in found] for found in rows]


def lines(root: Any) -> set[tuple[int, int, str]]:
    """The links that are drawn."""
    found = root.xpath("//svg[@id='topology']//*[@data-from]")
    return {
        (int(line.get("data-from")), int(line.get("data-to")), line.get("class").split()[-1])
        for line in found
    }


def test_the_answer_comes_first() -> None:
    text = visible_text(page_of(SMALL))
    assert "2 pages very likely share the template of the key page" in text
    assert "3 of 3 links on the key page were tried" in text
    assert "4 page loads, where 3 is the least possible" in text
    assert "the least similar of them has 50% of the key page's structure" in text
    assert (
        text.index("The answer") < text.index("The links between") < text.index("that were tried")
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reason": "links_exhausted"}, "all links of the key page were tried"),
        ({"reason": "max_loads"}, "Try a larger -a max_loads"),
        ({"reason": "memusage_exceeded"}, "the crawl was ended (memusage_exceeded)"),
        ({"reason": "shutdown"}, "it was stopped from outside before its end"),
        ({"reason": "max_loads", "hint": "its menu is built by JavaScript"}, "Its menu is built"),
    ],
)
def test_an_incomplete_answer_says_why_and_what_to_try(more: dict[str, str], words: str) -> None:
    found = SMALL | {"complete": False, "requested_size": 3} | more
    text = visible_text(page_of(found))
    assert "2 pages instead of 3 were found" in text
    assert words in text


def test_a_key_page_that_cannot_be_used() -> None:
    root = page_of(unusable(hint="the key page has no link at all"))
    text = visible_text(root)
    assert "The key page cannot be used" in text
    assert "the server answered with status 404" in text
    assert "The key page has no link at all" in text
    assert "links that were tried" not in text  # there are none
    assert not root.xpath("//svg")


def test_the_drawing_has_every_page_and_link() -> None:
    root = page_of(SMALL)
    ranks = root.xpath("//svg[@id='topology']//a[@data-rank]/@data-rank")
    assert ranks == ["0", "1", "2", "3"]
    assert lines(root) == {
        (0, 1, "mutual"), (0, 2, "mutual"), (0, 3, "one-way"), (1, 2, "answer"),
        (2, 3, "one-way"), (3, 1, "one-way"), (1, 3, "missing"), (3, 2, "missing"),
    }  # fmt: skip
    assert "page 1 does not link to page 3, page 3 does not link to page 2" in visible_text(root)
    labels = root.xpath("//a[@data-rank='2']/@aria-label")
    assert labels == ["Page 2, part of the answer: Page number 2 http://example.org/pages/2.html"]


def test_the_tables_are_those_of_the_summary() -> None:
    found = random_summary(12, 4)
    found["explored"][2] |= {"outcome": "none", "reason": "http-404", "similarity": None}
    gone = found["explored"][2]["rank"]
    for entry in found["explored"]:
        entry["links_to"] = [rank for rank in entry["links_to"] if rank != gone]
    found["explored"][2]["links_to"] = []
    found["candidates"] = [url for url in found["candidates"] if url != found["explored"][2]["url"]]
    root = page_of(found)
    rows = cells(root, "links")
    assert [int(cell[0]) for cell in rows] == list(range(1, 13))
    assert "the server answered with status 404" in rows[2][1]
    assert rows[2][4] == ""
    assert len([cell for cell in rows if cell[1] == "in the answer"]) == len(found["candidates"])
    ranks = [0] + [r["rank"] for r in found["explored"] if r["outcome"] == "page"]
    links = {r["rank"]: r["links_to"] for r in found["explored"]} | {0: ranks[1:]}
    matrix = [line[1:] for line in cells(root, "matrix")]
    assert matrix == [
        ["" if b not in links[a] else "⇄" if a in links[b] else "→" for b in ranks] for a in ranks
    ]


@pytest.mark.parametrize(("pages", "size"), [(1, 1), (40, 5), (41, 5), (200, 8), (90, 60)])
def test_drawings_of_any_size(pages: int, size: int) -> None:
    report = make_report(random_summary(pages, size))
    drawing = draw(report)
    assert [node.rank for node in drawing.nodes] == list(range(pages + 1))
    assert drawing.whole == (pages <= 40)
    for node in drawing.nodes:
        assert drawing.left < node.x - node.radius < node.x < drawing.left + drawing.width
        assert 0 < node.y - node.radius < node.y + node.radius < drawing.height
    places = [(node.x, node.y, node.radius) for node in drawing.nodes]
    for one, (x, y, radius) in enumerate(places):  # nothing is on top of another
        for x2, y2, radius2 in places[:one]:
            assert (x - x2) ** 2 + (y - y2) ** 2 > (radius + radius2) ** 2
    if not drawing.whole:
        root = page_of(random_summary(pages, size))
        (ranges,) = root.xpath("//a[@data-rank='1']/@data-links")
        told = [[*map(int, part.split("-"))] for part in ranges.split()]
        links = {rank for part in told for rank in range(part[0], part[-1] + 1)}
        assert links == report.links[1]
        assert len(root.xpath("//table[@id='matrix']/tbody/tr")) <= 41
        assert "only those of the answer" in visible_text(root)


def test_nothing_of_the_web_is_markup() -> None:
    url = "javascript:alert(1)//" + EVIL
    rows = [
        row(1, [0, 2], title=EVIL, anchor_text=EVIL, dom_path=EVIL),
        row(2, [1], url=url, link=f"http://example.org/{EVIL}", title="x" * 1_000_000),
        row(3, [], outcome="none", reason=EVIL, similarity=None),
    ]
    found = summary(
        rows, [1, 2], key_title=EVIL, key_url=url, hint=EVIL, requested_url=url, reason=EVIL,
        complete=False, input={EVIL: EVIL},
        witnesses=[{"link": url, "url": url, "outcome": "none", "reason": EVIL}],
    )  # fmt: skip
    made = template(main_text=EVIL * 9, title=EVIL, key_html=f"<p>{EVIL}<a href='{url}'>")
    text = render_report(make_report(found, made))
    root = tree(text)
    assert len(root.xpath("//script")) == 1
    assert not root.xpath("//img | //object | //embed | //form | //@style")
    assert not root.xpath("//@*[starts-with(name(), 'on')]")
    hrefs = [href for href in root.xpath("//a/@href") if not href.startswith("#")]
    assert all(href.startswith("http://example.org/") for href in hrefs)
    rels = {link.get("rel") for link in root.xpath("//a[starts-with(@href, 'http')]")}
    assert rels == {"noopener noreferrer nofollow"}
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text
    )
    assert len(text) < 100_000  # a title of a million letters is cut
    for frame in root.xpath("//iframe"):
        assert frame.get("sandbox") == ""
        inside = tree(frame.get("srcdoc"))
        assert not inside.xpath("//script | //img | //@href | //@onerror")


def test_the_policy_names_what_is_in_the_page() -> None:
    cleaned = clean_page("<p>a<p>b", "http://x/", not_template=["/html/body/p[2]"])
    root = page_of(SMALL, template(key_html=cleaned))
    (policy,) = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    documents = [root, *(tree(page) for page in root.xpath("//iframe/@srcdoc"))]
    assert len(documents) == 2
    for document in documents:
        for element in document.xpath("//style | //script"):
            digest = b64encode(sha256((element.text or "").encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not root.xpath("//@src | //link[not(starts-with(@href, 'data:'))]")


def test_a_template() -> None:
    root = page_of(SMALL, template())
    assert "Compared with 1 page, 50% of its elements are template" in visible_text(root)
    assert "The main text" in visible_text(root)
    assert not root.xpath("//iframe")
    cleaned = clean_page("<p>menu<p>own", "http://x/", not_template=["/html/body/p[2]"])
    root = page_of(SMALL, template(key_html=cleaned))
    (shown,) = root.xpath("//iframe/@srcdoc")
    assert "own" in visible_text(tree(shown))
    nothing = template(key_html=cleaned, evidence=0, template_share=0.0)
    root = page_of(SMALL, nothing)
    assert len(root.xpath("//iframe")) == 1
    assert "nothing is known to be template" in visible_text(root)
    long = visible_text(page_of(SMALL, template(main_text="word " * 200_000)))
    assert "The text is cut here: it has 1000000 characters" in long


@pytest.mark.slow
def test_a_report_of_300_pages_is_small() -> None:
    assert len(render_report(make_report(random_summary(300, 5, 0.5))).encode()) < 2_000_000
    assert len(render_report(make_report(random_summary(1000, 5, 0.05))).encode()) < 3_000_000


def test_a_real_search(tmp_path: Path) -> None:
    site = FolderSite(SITES / "menu")
    session = search_pages(site, f"{site.url}/docs/guide/four.html")
    assert session.summary
    write_report(tmp_path / "report.html", session.summary)
    root = tree((tmp_path / "report.html").read_text("utf-8"))
    assert len(cells(root, "links")) == len(session.summary.explored)
    drawn = root.xpath("//a[@data-rank!='0']/@data-rank")
    pages = [str(r["rank"]) for r in session.summary.explored if r["outcome"] == "page"]
    assert drawn == pages
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"key_title": None}, "key_title of the summary is not a str"),
        ({"loads": "7"}, "loads of the summary is not an int"),
        ({"complete": 1}, "complete of the summary is not a bool"),
        ({"candidates": ["http://else.where/"]}, "are not among its explored pages"),
        ({"explored": [row(1, [7])], "candidates": []}, "links to pages that are not there"),
        ({"explored": [row(1, []), row(1, [])], "candidates": []}, "ranks of the summary are not"),
        ({"explored": [{"rank": 1}]}, "lacks link, url, outcome"),
        ({"line": 10**30}, "line of the summary is not the number of a line"),
        ({"similarity": 10**400}, "is not between 0 and 1"),
        ({"similarity": float("nan")}, "is not between 0 and 1"),
        ({"loads": -1}, "loads of the summary is not a count"),
        ({"cs_size": 99}, "cs_size of the summary is not the number of its members"),
        ({"candidates": [SMALL["candidates"][0]] * 2}, "is not the number of its members"),
        ({"search_id": "../../etc/passwd"}, "is not the id of a search"),
    ],
)
def test_what_is_not_a_summary(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        make_report(SMALL | change)
    assert "\n" not in str(caught.value)
    old = {name: value for name, value in SMALL.items() if name != "key_title"}
    with pytest.raises(ValueError, match="the summary lacks key_title"):
        make_report(old)


def test_the_template_of_another_search() -> None:
    with pytest.raises(ValueError, match="is not that of this one"):
        make_report(SMALL, template(search_id="f" * 16))


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    for found in rows:
        writer.writerow(
            {k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in found.items()}
        )
    return file.getvalue().encode()


def test_summaries_in_every_format(tmp_path: Path) -> None:
    rows = [SMALL | {"line": 7, "hint": "'=1+1", "input": {"a": "b"}}, unusable(search_id="a" * 16)]
    wanted = [rows[0] | {"hint": "=1+1"}, rows[1]]
    text = json.dumps(wanted).encode()
    files = {
        "a.json": text,
        "a.jl": b"\n".join(json.dumps(found).encode() for found in wanted) + b"\n",
        "a.csv": as_csv(rows),
        "b.json.gz": gzip.compress(text),
        "b.csv.gz": gzip.compress(as_csv(rows)),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        assert [*read_summaries([tmp_path / name])] == wanted, name
    one = [*read_summaries([tmp_path / "a.json", tmp_path / "a.csv"], "a" * 16)]
    assert one == [wanted[1], wanted[1]]
    (tmp_path / "t.csv").write_bytes(as_csv([template(key_html="")]))
    assert [*read_templates(tmp_path / "t.csv")] == [template(key_html="")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", b'[{"key_url": "http://x/", '),
        ("a.jl", b'{"key_url": 1}\n{"key_u'),
        ("a.json.gz", gzip.compress(b"[" + b" " * 9999 + b"]")[:20]),
        ("a.jl.gz", b"not gzip"),
        ("a.csv", b'key_url,loads\n"http://x'),
        ("a.csv", b"key_url,loads\nhttp://x/\n"),
        ("a.csv", b"key_url,loads\nhttp://x/,many\n"),
        ("a.csv", b"key_url,loads\nhttp://x/,1"),
        ("a.csv", "key_url,loads\nhttp://x/,\u0661\n".encode()),
        ("a.json", b'[{"similarity": NaN}]'),
        ("a.json", b'[{"line": ' + b"9" * 5000 + b"}]"),
        ("a.json", b"[1, 2]"),
        ("a.json", b"\xff\xfe["),
        ("a.xml", b"<items/>"),
        ("a.json", b"[" * 200_000),
    ],
    ids=range(15),
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / name))) as caught:
        [*read_summaries([tmp_path / name])]
    assert "\n" not in str(caught.value)


def test_a_folder_and_its_index(tmp_path: Path) -> None:
    folder = ReportFolder(tmp_path / "reports")
    folder.add(SMALL | {"line": 2, "key_title": EVIL}, template())
    # The same search for another line: its page stays, and it is listed once.
    folder.add(SMALL | {"line": 3, "key_title": EVIL}, replace=False)
    folder.add(unusable(search_id="", line=1, key_outcome="bad-input", key_url="", hint=EVIL))
    folder.write_index()
    folder.close()
    again = ReportFolder(tmp_path / "reports")  # as after a restart
    again.add(unusable(search_id="a" * 16, line=4))
    again.write_index()
    again.close()
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    assert names == {INDEX, ROWS, "0123456789abcdef.html", f"{'a' * 16}.html"}
    assert "The main text" in (tmp_path / "reports" / "0123456789abcdef.html").read_text("utf-8")
    root = tree((tmp_path / "reports" / INDEX).read_text("utf-8"))
    rows = cells(root, "searches")
    assert [found[0] for found in rows] == ["1", "3", "4"]
    assert [found[1] for found in rows][1] == "complete"
    assert root.xpath("//tbody//a/@href") == ["0123456789abcdef.html", f"{'a' * 16}.html"]
    assert len(root.xpath("//script")) == 1
    assert not root.xpath("//img | //iframe")


def test_rows_of_an_index_that_were_cut_or_forged(tmp_path: Path) -> None:
    folder = ReportFolder(tmp_path)
    folder.add(SMALL)
    folder.close()
    with closing(sqlite3.connect(tmp_path / ROWS)) as file, file:
        (known,) = (json.loads(text) for (text,) in file.execute("SELECT entry FROM rows"))
        forged = [known | {"page": "javascript:alert(1)", "line": 5}, known | {"loads": "x"}, 7]
        for number, text in enumerate([*map(json.dumps, forged), '{"search_id": "01']):
            file.execute("INSERT INTO rows VALUES (?, 1, '', ?)", (f"x{number}", text))
    again = ReportFolder(tmp_path)
    again.write_index()
    assert len(cells(tree((tmp_path / INDEX).read_text("utf-8")), "searches")) == 1


@pytest.mark.crawl
def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "one.jl").write_text(json.dumps(SMALL) + "\n")
    (tmp_path / "two.json").write_text(json.dumps([SMALL, unusable(search_id="a" * 16)]))
    (tmp_path / "template.json").write_text(json.dumps([template()]))
    (tmp_path / "cut.json").write_text(json.dumps([SMALL])[:-9])
    (tmp_path / "old.json").write_text('[{"key_url": "http://x/"}]')

    def report(*arguments: str) -> tuple[int, str]:
        done = run_scrapy("report", *arguments, folder=tmp_path)
        return done.code, done.log

    out = str(tmp_path / "new" / "a.html")
    assert report(str(tmp_path / "one.jl"), "-O", out)[0] == 0
    assert "2 pages very likely share" in (tmp_path / "new" / "a.html").read_text("utf-8")
    more = ("--template", str(tmp_path / "template.json"))
    assert report(str(tmp_path / "two.json"), "-O", str(tmp_path / "reports"), *more)[0] == 0
    assert "The main text" in (tmp_path / "reports" / "0123456789abcdef.html").read_text("utf-8")
    assert (tmp_path / "reports" / INDEX).exists()
    assert report(str(tmp_path / "two.json"), "-O", out, "--search", "a" * 16)[0] == 0
    assert "status 404" in (tmp_path / "new" / "a.html").read_text("utf-8")
    faults = {
        ("two.json", "-O", out): "there are 2 searches: choose one by --search ID",
        ("cut.json", "-O", out): "cut or malformed",
        ("old.json", "-O", out): "the summary lacks requested_size",
        ("none.json", "-O", out): "none.json: No such file",
        ("one.jl",): "give a summary file and -O FILE.html",
        ("one.jl", "-O", out, "--search", "b" * 16): "there is no search",
        (
            "one.jl",
            "-O",
            str(tmp_path / "cut.json"),
        ): "a file that ends in .html, or a folder",
    }
    before = (tmp_path / "new" / "a.html").read_bytes()
    for (name, *arguments), fault in faults.items():
        code, log = report(str(tmp_path / name), *arguments)
        assert code == 2
        assert log.startswith("scrapy report: error: ")
        assert fault in log
        assert len(log.splitlines()) == 1
    assert (tmp_path / "new" / "a.html").read_bytes() == before


def test_a_report_from_a_zipped_package(tmp_path: Path) -> None:
    """As an egg has it, which scrapyd does not unpack."""
    with zipfile.ZipFile(tmp_path / "egg.zip", "w") as egg:
        for file in (PROJECT / "tplspider").rglob("*"):
            if file.suffix in (".py", ".html", ".css", ".js"):
                egg.write(file, file.relative_to(PROJECT))
    (tmp_path / "summary.json").write_text(json.dumps(SMALL))
    code = (
        "import json, sys; sys.path.insert(0, 'egg.zip');"
        "from tplspider.report import files; from pathlib import Path;"
        "files.write_report(Path('a.html'), json.loads(Path('summary.json').read_text()));"
        "print('egg.zip' in files.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert "2 pages very likely share" in (tmp_path / "a.html").read_text("utf-8")


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OSError, match=r"folder\.html"):
        write_report(tmp_path / "folder.html", SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path / "none" / "a.html", SMALL)
    write_report(tmp_path / "a.html", SMALL)
    before = (tmp_path / "a.html").read_bytes()
    with pytest.raises(ValueError, match="lacks"):
        write_report(tmp_path / "a.html", {"key_url": "http://x/"})
    assert (tmp_path / "a.html").read_bytes() == before
