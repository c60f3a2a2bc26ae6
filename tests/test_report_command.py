import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import run_scrapy
from tests.support.summaries import row, summary, template, unusable
from tests.test_outputs import snapshot
from tplspider.report.writer import report_feeds
from tplspider.web.html import parse_html, visible_text

SMALL = summary([row(1, [0, 2]), row(2, [0, 1])], [1, 2])
OTHER = unusable(search_id="b" * 16)
PAGE = f"{SMALL['search_id']}.html"


def report(folder: Path, *arguments: object) -> tuple[int, str]:
    done = run_scrapy("report", *map(str, arguments), folder=folder)
    assert "Traceback" not in done.log
    return done.code, done.log or done.stdout


def feed(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def text_of(path: Path) -> str:
    return visible_text(parse_html(path.read_text("utf-8")))


@pytest.mark.crawl
def test_a_folder_and_a_file(tmp_path: Path) -> None:
    """The later summary of a search counts; what is in the folder stays."""
    monday = feed(tmp_path / "mon.jl", SMALL | {"key_title": "Monday", "line": 1}, OTHER)
    tuesday = feed(tmp_path / "tue.jl", SMALL | {"key_title": "Tuesday", "line": 7})
    texts, out = feed(tmp_path / "texts.jl", template()), tmp_path / "reports"
    code, said = report(tmp_path, monday, tuesday, "-O", out, "--template", texts)
    assert (code, said) == (0, f"{out}/index.html (2 searches)\n")
    for name in (PAGE, "index.html"):
        assert "Tuesday" in text_of(out / name)
        assert "Monday" not in text_of(out / name)
    assert "The main text" in text_of(out / PAGE)
    assert "The page itself is not shown" in text_of(out / PAGE)
    one = tmp_path / "new" / "one.html"
    smalls = feed(tmp_path / "smalls.jl", SMALL, SMALL | {"key_title": "Tuesday"})
    assert report(tmp_path, smalls, "-O", one)[0] == 0
    assert "Tuesday" in text_of(one)
    more = feed(tmp_path / "more.jl", SMALL | {"search_id": "c" * 16})
    assert report_feeds([more], str(out)).endswith("(1 search, 3 in the folder)")


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    good, many = feed(tmp_path / "s.jl", SMALL), feed(tmp_path / "m.jl", SMALL, OTHER)
    odd = feed(tmp_path / "candidates.jl", {"key_url": "u", "rank": 1})
    texts = feed(tmp_path / "t.jl", template(), template(evidence="x"))
    (tmp_path / "cut.json").write_text(json.dumps([SMALL])[:-9])
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "index.html").write_text("<title>My site</title>")
    before = snapshot(tmp_path)
    new, one = str(tmp_path / "new"), str(tmp_path / "a.html")
    for summaries, out, more in (
        (good, str(tmp_path / "theirs"), {}),
        (good, str(tmp_path / "x.pdf"), {}),
        (good, new, {"template": texts}),
        (good, new, {"template": good}),
        (odd, new, {}),
        (many, one, {}),
        (tmp_path / "cut.json", one, {}),
    ):
        with pytest.raises(ValueError, match=r"."):
            report_feeds([summaries], out, **more)
    assert snapshot(tmp_path) == before
