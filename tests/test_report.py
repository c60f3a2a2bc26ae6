import json
import re
from base64 import b64encode
from contextlib import closing
from hashlib import sha256
from math import hypot
from pathlib import Path
from typing import Any

import pytest

from tests.support.summaries import random_summary, row, summary, template, unusable
from tplspider.report.clean_page import clean_page
from tplspider.report.drawing import draw, shown_pages
from tplspider.report.model import make_report
from tplspider.report.rendering import render_report
from tplspider.report.words import REASONS, answer_words
from tplspider.report.writer import INDEX, ROWS, ReportFolder, check_place, read_rows, write_report
from tplspider.search.answer import NO_EVIDENCE
from tplspider.web.html import parse_html, visible_text

EVIL = "\u202e</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x07{{7*7}}"
SMALL = summary([row(1, [0, 2]), row(2, [0, 1, 3]), row(3, [1])], [1, 2])
PART = SMALL | {"complete": False, "requested_size": 3}


def page_of(found: dict[str, Any], made: dict[str, Any] | None = None) -> Any:
    return parse_html(render_report(make_report(found, made)))


def cells(root: Any, table: str) -> list[list[str]]:
    rows = root.xpath(f"//table[@id='{table}']/tbody/tr")
    return [[" ".join("".join(cell.itertext()).split()) for cell in found] for found in rows]


def lines(root: Any) -> set[tuple[int, int, str]]:
    found = root.xpath("//svg[@id='topology']//*[@data-from]")
    return {
        (int(line.get("data-from")), int(line.get("data-to")), line.get("class").split()[-1])
        for line in found
    }


def test_the_text_comes_first_then_the_answer_and_the_links() -> None:
    text = visible_text(page_of(SMALL, template()))
    parts = ("The main text", "The answer", "The links between", "that were tried")
    places = [text.index(words) for words in parts]
    assert places == sorted(places)
    assert "4 page loads, where 3 is the least possible" in text
    assert "50% of the key page's structure" in text


@pytest.mark.parametrize(
    ("found", "degree"),
    [
        (SMALL | {"similarity": 0.8}, "quite sure"),
        (SMALL | {"similarity": 0.3}, "fairly sure"),
        (SMALL | {"similarity": 0.1}, "doubtful"),
        (SMALL | {"hint": NO_EVIDENCE}, "not sure"),
        (summary([row(1, [0])], [1]), "not sure"),  # one page alone proves nothing
    ],
)
def test_the_headline_is_as_sure_as_the_answer(found: dict[str, Any], degree: str) -> None:
    words = answer_words(make_report(found).summary)
    assert words.sure.startswith(degree)
    likely = {"quite sure": "very likely", "fairly sure": "probably"}.get(degree, "may ")
    assert likely in words.headline


def test_every_key_page_that_cannot_be_used_has_a_thing_to_try() -> None:
    for outcome in (*(REASONS.keys() - {"key-page"}), "http-404", "http-503"):
        found = unusable(key_outcome=outcome)
        words = answer_words(make_report(found).summary)
        assert words.why, outcome
        assert len(words.attempts) == 1, outcome
        assert words.sure == words.found == "", outcome
        assert not page_of(found).xpath("//svg | //table")


def test_the_drawing_has_every_page_and_link() -> None:
    root = page_of(SMALL)
    assert root.xpath("//svg[@id='topology']//a/@data-rank") == ["0", "1", "2", "3"]
    assert lines(root) == {
        (0, 1, "mutual"), (0, 2, "mutual"), (0, 3, "one-way"), (1, 2, "answer"),
        (2, 3, "one-way"), (3, 1, "one-way"), (1, 3, "missing"), (3, 2, "missing"),
    }  # fmt: skip
    assert "page 1 does not link to page 3, page 3 does not link to page 2" in visible_text(root)
    labels = root.xpath("//a[@data-rank='2']/@aria-label")
    assert labels == ["Page 2, part of the answer: Page number 2 http://example.org/pages/2.html"]


def test_the_tables_are_those_of_the_summary() -> None:
    found = random_summary(12, 4)
    gone = next(each for each in found["explored"] if each["url"] not in found["candidates"])
    gone |= {"outcome": "none", "reason": "http-404", "similarity": None}
    for entry in found["explored"]:
        entry["links_to"] = [rank for rank in entry["links_to"] if rank != gone["rank"]]
    gone["links_to"] = []
    root = page_of(found)
    rows = cells(root, "links")
    assert [int(cell[0]) for cell in rows] == list(range(1, 13))
    assert "status 404" in rows[gone["rank"] - 1][1]
    assert len([cell for cell in rows if cell[1] == "in the answer"]) == 4
    ranks = [0] + [each["rank"] for each in found["explored"] if each["outcome"] == "page"]
    links = {each["rank"]: each["links_to"] for each in found["explored"]} | {0: ranks[1:]}
    matrix = [line[1:] for line in cells(root, "matrix")]
    assert matrix == [
        ["" if b not in links[a] else "⇄" if a in links[b] else "→" for b in ranks] for a in ranks
    ]


def complete(pages: int) -> dict[str, Any]:
    ranks = range(pages + 1)
    rows = [
        row(rank, [other for other in ranks if other != rank], anchor_text=f"Menu item {rank}")
        for rank in ranks[1:]
    ]
    return summary(rows, [*ranks[1:]])


def nearly() -> dict[str, Any]:
    """Two pages of the answer; five more, each of which lacks one link to be part of it."""
    rows = [row(1, [0, *range(2, 8)]), row(2, [0, 1, *range(3, 8)])]
    return summary([*rows, *(row(rank, [0, 1]) for rank in range(3, 8))], [1, 2])


SEARCHES = {
    "complete": complete(3),
    "many": complete(29),
    "nearly": nearly(),
    "one": random_summary(1, 1),
    "40": random_summary(40, 5),
    "200": random_summary(200, 8),
    "no answer": summary([row(1, [0]), row(2, [])], []),
    "none of many": random_summary(60, 0),
    "large": random_summary(90, 60),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_drawings_of_any_size(name: str) -> None:
    """Nothing is on top of another or outside, and the legend has what is drawn."""
    report = make_report(SEARCHES[name])
    drawing = draw(report)
    ranks = [node.rank for node in drawing.nodes]
    assert ranks == [0, *shown_pages(report)]
    assert len(ranks) == min(len(report.pages), 40) + 1
    assert {*report.members[:40]} <= {*ranks}
    for place, node in enumerate(drawing.nodes):
        assert drawing.left < node.x - node.radius < node.x < drawing.left + drawing.width
        assert 0 < node.y - node.radius < node.y + node.radius < drawing.height
        for other in drawing.nodes[:place]:
            assert hypot(node.x - other.x, node.y - other.y) > node.radius + other.radius
    root: Any = parse_html(render_report(report))
    drawn = {kind for _, _, kind in lines(root)}
    assert {*root.xpath("//ul[@class and li]/li/@data-kind")} == drawn
    kinds = {node.get("class").split()[-1] for node in root.xpath("//svg//a[@data-rank]")}
    legend = root.xpath("//ul//svg/g[starts-with(@class, 'node')]/@class")
    assert kinds <= {kind.split()[-1] for kind in legend}


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
    root: Any = parse_html(text)
    assert len(root.xpath("//script")) == 1
    assert not root.xpath("//img | //object | //embed | //form | //@style")
    assert not root.xpath("//@*[starts-with(name(), 'on')]")
    hrefs = [href for href in root.xpath("//a/@href") if not href.startswith("#")]
    assert all(href.startswith("http://example.org/") for href in hrefs)
    rels = {link.get("rel") for link in root.xpath("//a[starts-with(@href, 'http')]")}
    assert rels == {"noopener noreferrer nofollow"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 100_000  # a title of a million letters is cut
    (frame,) = root.xpath("//iframe")
    assert frame.get("sandbox") == ""
    inside = parse_html(frame.get("srcdoc"))
    assert not inside.xpath("//script | //img | //@href | //@onerror")


def test_the_policy_names_what_is_in_the_page() -> None:
    cleaned = clean_page("<p>a<p>b", "http://x/", not_template=["/html/body/p[2]"])
    root = page_of(SMALL, template(key_html=cleaned))
    (policy,) = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    documents: list[Any] = [root, *(parse_html(page) for page in root.xpath("//iframe/@srcdoc"))]
    assert len(documents) == 2
    for document in documents:
        for element in document.xpath("//style | //script"):
            digest = b64encode(sha256((element.text or "").encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not root.xpath("//@src | //link[not(starts-with(@href, 'data:'))]")


@pytest.mark.parametrize(
    "change",
    [
        {"key_title": None},
        {"loads": "7"},
        {"candidates": ["http://else.where/"]},
        {"explored": [row(1, [7])], "candidates": []},
        {"explored": [{"rank": 1}]},
        {"search_id": "0123456789abcdef/../x"},
    ],
)
def test_what_is_not_a_summary(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"summary|explored link|id of a search"):
        make_report(SMALL | change)
    with pytest.raises(ValueError, match="the summary lacks key_url"):
        make_report({name: value for name, value in SMALL.items() if name != "key_url"})
    with pytest.raises(ValueError, match="another search"):
        make_report(SMALL, template(search_id="f" * 16))


def test_summaries_in_every_format(tmp_path: Path) -> None:
    rows = [SMALL | {"line": 7, "input": {"a": "b"}}, unusable(search_id="a" * 16)]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.jl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    for name in ("a.json", "a.jl"):
        assert [*read_rows(tmp_path / name)] == rows


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", b'[{"key_url": "http://x/", '),
        ("a.jl", b'{"key_url": 1}\n{"key_u'),
        ("a.json", b"\xff\xfe["),
        ("a.xml", b"<items/>"),
    ],
    ids=range(4),
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / name))):
        [*read_rows(tmp_path / name)]


def test_a_folder_and_its_index(tmp_path: Path) -> None:
    """Each search is listed once, by line; lines that could not be searched all are."""
    ids = [f"{number:016x}" for number in range(1, 6)]
    for part in (ids[:3], ids[3:]):  # as after a restart
        with closing(ReportFolder(tmp_path)) as folder:
            for search_id in part:
                line = 9 - ids.index(search_id)
                folder.add(SMALL | {"search_id": search_id, "line": line, "key_title": EVIL})
            folder.add(SMALL | {"search_id": ids[0], "line": 4, "key_title": "Again"})
            for line in (2, 2, 3):
                bad = unusable(search_id="", line=line, key_outcome="bad-input", requested_size=0)
                folder.add(bad | {"hint": EVIL})
            folder.add(unusable(search_id="a" * 16, key_outcome="robots"))
            folder.write_index()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {INDEX, ROWS, *(f"{each}.html" for each in (*ids, "a" * 16))}
    assert "Again" in (tmp_path / f"{ids[0]}.html").read_text("utf-8")
    root: Any = parse_html((tmp_path / INDEX).read_text("utf-8"))
    assert [found[0] for found in cells(root, "searches")] == [*"2345678", ""]
    assert [found[1] for found in cells(root, "searches")][2] == "complete"
    pages = [ids[0], *ids[:0:-1], "a" * 16]
    assert root.xpath("//tbody//a/@href") == [f"{each}.html" for each in pages]
    text = visible_text(root).replace("\xa0", " ")
    assert "8 searches 5 complete, 0 partial, 3 without an answer" in text
    assert "understood (2), robots.txt forbids it (1)" in text
    assert len(root.xpath("//script")) == 1
    assert not root.xpath("//img | //iframe")


def test_where_reports_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / INDEX).write_text("<title>My site</title>")
    wrong = ("report.pdf", "-", "file/report.html", "file/folder", "file", "folder.html", "theirs")
    for given in ("report.html", *wrong):
        with pytest.raises(ValueError, match=r"file|folder"):
            check_place(given, tmp_path / given, many=given == "report.html")
    for given in ("new/report.HTM", "reports", "2024.01", "example.org/", "v1.2"):
        check_place(given, tmp_path / given, many=not given.endswith("HTM"))
    assert len([*tmp_path.iterdir()]) == 3
    with pytest.raises(OSError, match=r"folder\.html"):
        write_report(tmp_path / "folder.html", SMALL)
    write_report(tmp_path / "a.html", SMALL)
    before = (tmp_path / "a.html").read_bytes()
    with pytest.raises(ValueError, match="lacks"):
        write_report(tmp_path / "a.html", {"key_url": "http://x/"})
    assert (tmp_path / "a.html").read_bytes() == before
    assert len([*tmp_path.iterdir()]) == 4
