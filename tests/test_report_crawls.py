import json
import re
from pathlib import Path
from typing import Any

from lxml import html

from tests.support import crawls
from tests.support.crawls import Crawl, RunCrawl, Serve, rows, run_scrapy
from tests.support.site_server import Handler
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.test_many import key_pages

PAGE = re.compile(r"[0-9a-f]{16}\.html")


def crawl_list(folder: Path, urls: Path, *more: str, **options: Any) -> Crawl:
    return crawls.crawl_list(folder, urls, f"-areport={folder / 'reports'}", *more, **options)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def tree_of(file: Path) -> Any:
    return html.fromstring(file.read_bytes())


def listed(folder: Path) -> list[str]:
    """The reports that the index leads to, as often as it does."""
    tree = tree_of(folder / "index.html")
    return sorted(name for name in tree.xpath("//a/@href") if PAGE.fullmatch(name))


def test_one_key_page(tmp_path: Path, serve: Serve, crawl: RunCrawl) -> None:
    """With its text, which comes later than the summary; from the feeds, the report is the same."""
    pages = pages_of(more="<script>alert(1)</script><img src=/x.png alt=x>")
    server, texts = serve("menu", routes_of(pages)), tmp_path / "t.json"
    pipelines = {"tests.support.components.SlowTemplates": 100}
    settings = {"ITEM_PIPELINES": json.dumps(pipelines)}
    report = tmp_path / "new" / "r.html"
    done = crawl(f"{server.url}/", settings, report=report, texts=texts)
    assert done.code == 0, done.log
    assert f"Report: {report}" in done.log
    assert "'tplspider/reports': 1" in done.log
    assert names_in(report.parent) == {"r.html"}
    (text,) = json.loads(texts.read_bytes())
    assert CONTENT[""] in text["key_html"]
    assert "alert" not in text["key_html"]
    tree = tree_of(report)
    assert CONTENT[""] in tree.text_content()
    assert all(url in tree.text_content() for url in done.summary["candidates"])
    assert len(tree.xpath("//iframe")) == 1
    again = tmp_path / "again.html"
    feeds = (str(tmp_path / "summary.json"), f"--template={texts}")
    assert run_scrapy("report", *feeds, f"-O{again}", folder=tmp_path).code == 0
    assert again.read_bytes() == report.read_bytes()


def test_a_list(tmp_path: Path, serve: Serve) -> None:
    server, urls = serve("menu"), tmp_path / "keys.txt"
    pages = key_pages(server)
    again, missing, bad = f"{pages[0]}#again", f"{server.url}/missing.html", "ftp://x/"
    for lines in (pages[:2], [*pages[1:], again, missing, bad]):  # what is in the folder stays
        urls.write_text("\n".join(lines))
        done = crawl_list(tmp_path, urls, "-atexts=" + str(tmp_path / "t.jl"))
        assert done.code == (1 if bad in lines else 0)
        assert f"{tmp_path}/reports/index.html" in done.log
        for found in rows(tmp_path / "summary.jl"):
            if found["key_outcome"] == "ok":
                report = tree_of(tmp_path / "reports" / f"{found['search_id']}.html")
                assert found["key_url"] in report.text_content()
                assert len(report.xpath("//iframe")) == 1  # also where a line asked once more
    assert len(listed(tmp_path / "reports")) == 5
    assert {*listed(tmp_path / "reports"), "index.html"} <= names_in(tmp_path / "reports")
    index = tree_of(tmp_path / "reports" / "index.html")
    assert len(index.xpath("//tbody/tr")) == 6  # the bad line has a row, and no page


def test_the_text_command(tmp_path: Path, serve: Serve) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = run_scrapy("text", f"{server.url}/", f"--report={tmp_path / 'r.html'}", folder=tmp_path)
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n"), done.log
    assert len(tree_of(tmp_path / "r.html").xpath("//iframe")) == 1
    urls = (f"{server.url}/", f"{server.url}/a")
    done = run_scrapy("text", *urls, f"--report={tmp_path / 'reports'}", folder=tmp_path)
    assert done.code == 0, done.log
    assert len(listed(tmp_path / "reports")) == 2


def test_a_report_that_is_lost_is_made_at_another_start(tmp_path: Path, serve: Serve) -> None:
    pages, reports, urls = pages_of(), tmp_path / "reports", tmp_path / "keys.txt"

    def meddle(request: Handler) -> None:
        if not (tmp_path / "meddled").exists():
            (tmp_path / "meddled").touch()
            reports.write_text("")
        request.answer(200, pages["a"], Content_Type="text/html")

    server = serve("menu", {**routes_of(pages), "/a": meddle})
    urls.write_text(f"{server.url}/")
    settings = {"JOBDIR": str(tmp_path / "job")}
    done = crawl_list(tmp_path, urls, settings=settings)
    assert done.code == 1
    assert "Traceback" not in done.log
    assert re.search(r"ERROR: .*report", done.log)
    assert rows(tmp_path / "summary.jl") == []
    reports.unlink()
    done = crawl_list(tmp_path, urls, settings=settings)
    assert done.code == 0, done.log
    assert len(rows(tmp_path / "summary.jl")) == 1
    assert len(listed(reports)) == 1
    # The journal is that of a crawl with this report.
    other = [f"-areport={tmp_path / 'other'}"]
    assert crawl_list(tmp_path, urls, *other, settings=settings).code == 2
    assert not (tmp_path / "other").exists()
