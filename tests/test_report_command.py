"""``scrapy report`` on files and folders of every kind: the later search counts, the rest stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.summaries import row, summary, template
from tests.test_outputs import snapshot
from tplspider.web.html import parse_html, visible_text

if TYPE_CHECKING:
    from pathlib import Path

SMALL = summary([row(1, [0, 2]), row(2, [0, 1])], [1, 2])
OTHER = SMALL | {"search_id": "b" * 16}
PAGE = f"{SMALL['search_id']}.html"
pytestmark = pytest.mark.crawl


def report(folder: Path, *arguments: object) -> tuple[int, str]:
    """The exit status, and what was said."""
    done = run_scrapy("report", *map(str, arguments), folder=folder)
    assert "Traceback" not in done.log
    return done.code, done.log or done.stdout


def feed(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def text_of(path: Path) -> str:
    return visible_text(parse_html(path.read_text("utf-8")))


def test_the_later_summary_of_a_search_counts(tmp_path: Path) -> None:
    monday = feed(tmp_path / "mon.jl", SMALL | {"key_title": "Monday", "line": 1}, OTHER)
    tuesday = feed(tmp_path / "tue.jl", SMALL | {"key_title": "Tuesday", "line": 7})
    code, said = report(tmp_path, monday, tuesday, "-O", tmp_path / "reports")
    assert (code, said) == (0, f"{tmp_path}/reports/index.html (2 searches)\n")
    for name in (PAGE, "index.html"):
        text = text_of(tmp_path / "reports" / name)
        assert "Tuesday" in text
        assert "Monday" not in text
    one = tmp_path / "one.html"
    assert report(tmp_path, monday, tuesday, "-O", one, "--search", SMALL["search_id"])[0] == 0
    assert "Tuesday" in text_of(one)
    more = feed(tmp_path / "more.jl", SMALL | {"search_id": "c" * 16})
    said = report(tmp_path, more, "-O", tmp_path / "reports")[1]
    assert said.endswith("(1 search, 3 in the folder)\n")


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    good, many = feed(tmp_path / "s.jl", SMALL), feed(tmp_path / "m.jl", SMALL, OTHER)
    feed(tmp_path / "list.jl", template(search_id=["x"]))
    feed(tmp_path / "second.jl", template(), template(search_id="b" * 16, evidence="x"))
    feed(tmp_path / "share.jl", template(template_share=10**400))
    feed(tmp_path / "candidates.jl", {"key_url": "u", "rank": 1})
    feed(tmp_path / "line.jl", SMALL | {"line": 2**70})
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "index.html").write_text("<title>My site</title>")
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "null.html").symlink_to("/dev/null")
    before = snapshot(tmp_path)
    out = ("-O", tmp_path / "new")
    faults = [
        ((good, "-O", tmp_path / "theirs"), "there are other files in this folder ('index.html')"),
        ((good, *out, "--template", tmp_path / "list.jl"), "list.jl: row 1 is another kind"),
        ((many, *out, "--template", tmp_path / "second.jl"), "second.jl: row 2 is another kind"),
        ((good, *out, "--template", tmp_path / "share.jl"), "share.jl: row 1 is another kind"),
        ((good, *out, "--template", good), "s.jl: row 1 is another kind"),
        ((tmp_path / "candidates.jl", *out), "candidates.jl: row 1 is another kind"),
        ((tmp_path / "second.jl", *out), "second.jl: row 1 is another kind"),
        ((tmp_path / "line.jl", *out), "line of the summary is not the number of a line"),
        ((good, "-O", tmp_path / "pipe.html"), "it is not a plain file"),
        ((good, "-O", tmp_path / "null.html"), "it is not a plain file"),
        ((good, "-O", tmp_path / "x.pdf"), "expected a file that ends in .html, or a folder"),
        ((good, "-o", tmp_path / "x.html"), "did you mean -O?"),
    ]
    for arguments, why in faults:
        code, said = report(tmp_path, *arguments)
        assert (code, said.count("\n")) == (2, 1), said
        assert why in said
    assert snapshot(tmp_path) == before


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("")
    (tmp_path / "link.html").symlink_to("real.html")
    feed(tmp_path / "s.jl", SMALL)
    assert report(tmp_path, tmp_path / "s.jl", "-O", tmp_path / "link.html")[0] == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").stat().st_size


def test_a_template_without_the_page_says_so(tmp_path: Path) -> None:
    feed(tmp_path / "s.jl", SMALL)
    feed(tmp_path / "t.jl", template())
    out = tmp_path / "r.html"
    assert report(tmp_path, tmp_path / "s.jl", "-O", out, "--template", tmp_path / "t.jl")[0] == 0
    assert "The page itself is not shown" in text_of(out)


def test_ended_by_ctrl_c(tmp_path: Path) -> None:
    rows = [SMALL | {"search_id": f"{number:016x}"} for number in range(1, 3000)]
    feed(tmp_path / "s.jl", *rows)
    command = [sys.executable, "-m", "scrapy", "report", str(tmp_path / "s.jl"), "-O"]
    with subprocess.Popen(
        [*command, str(tmp_path / "r")], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    ) as process:
        while len(list(tmp_path.glob("r/*.html"))) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 1
    assert said == "scrapy report: ended before all reports were written\n"
    assert "1".rjust(16, "0") in (tmp_path / "r" / "index.html").read_text("utf-8")
