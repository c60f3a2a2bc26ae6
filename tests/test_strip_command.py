import csv
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import (
    SETTINGS,
    Crawl,
    RunCrawl,
    Serve,
    files_of_at_most,
    run_scrapy,
    start_scrapy,
)
from tests.support.crawls import rows as rows_of
from tests.support.template_site import (
    CONTENT,
    own_text,
    page,
    pages_of,
    routes_of,
    save,
    save_site,
)
from tests.support.warc_files import DATE, packed, record, response

pytestmark = pytest.mark.crawl  # processes of their own


@pytest.fixture(autouse=True)
def log_level_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SETTINGS, "LOG_LEVEL")


def strip(*arguments: object, settings: dict[str, str] | None = None) -> Crawl:
    done = run_scrapy("strip", *map(str, arguments), folder=Path(), settings=settings)
    assert "Traceback" not in done.log
    return done


def by_path(path: Path) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in rows_of(path)}


def mixed_folder(folder: Path) -> Path:
    for number in range(30):
        save(folder / "www.example.org" / f"{number % 4}" / f"{number}.html", number, menu="Blue")
        save(folder / "example.net" / f"{number}.html", number, menu="=Red")
    (folder / "notes.txt").write_text("nothing")
    (folder / "example.net" / "empty.html").touch()
    (folder / "example.net" / "café\n.html").write_bytes(b"\xff\xfe\0")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.quick
def test_a_row_for_each_file(tmp_path: Path) -> None:
    """In the order of their paths, and the same with any number of processes."""
    folder = mixed_folder(tmp_path / "mirror")
    one, three = tmp_path / "one.jl", tmp_path / "three.jl"
    for out, workers in ((one, 1), (three, 3)):
        done = strip(folder, "-O", out, "--workers", workers)
        assert (done.code, done.stdout) == (0, ""), done.log
        assert done.log.count("\n") == 1  # the outcomes
    assert one.read_bytes() == three.read_bytes()
    rows = by_path(one)
    assert len(rows) == 64
    assert [*rows] == sorted(rows, key=lambda path: path.split("/"))
    first = rows["www.example.org/3/7.html"]
    columns = ["url", "path", "outcome", "title", "main_text", "content_text", "evidence"]
    assert [*first] == columns
    assert first["url"] == "https://www.example.org/3/7.html"
    assert (first["main_text"], first["evidence"]) == (own_text(7), 3)
    others = {path: row["outcome"] for path, row in rows.items() if row["outcome"] != "page"}
    assert "example.net/café\\x0a.html" in rows
    assert others == {"example.net/empty.html": "empty", "notes.txt": "not-html", "pipe": "special"}
    assert rows["pipe"]["main_text"] == ""
    assert rows["pipe"]["evidence"] is None


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither out of the folder nor inside it; each has its row."""
    folder = save_site(tmp_path / "site", 3)
    save(tmp_path / "secret" / "secret.html", 9)
    (folder / "out.html").symlink_to(tmp_path / "secret" / "secret.html")
    (folder / "folder").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder)
    assert strip(folder, "-O", tmp_path / "rows.jl").code == 0
    rows = by_path(tmp_path / "rows.jl")
    links = {path for path, row in rows.items() if row["outcome"] == "link"}
    assert links == {"out.html", "folder", "loop"}
    assert len(rows) == 6
    assert own_text(9) not in (tmp_path / "rows.jl").read_text("utf-8")


@pytest.mark.quick
def test_markdown(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "example.org", 4)
    marked = own_text(1).replace("friends", "<a href=/friends>friends</a>")
    (folder / "b.html").write_bytes(page(marked))
    assert strip(tmp_path, "--markdown", "--html", "-O", tmp_path / "rows.jl").code == 0
    row = by_path(tmp_path / "rows.jl")["example.org/b.html"]
    assert "[friends](https://example.org/friends)" in row["main_markdown"]
    assert "<a " in row["main_html"]


def test_what_is_written_is_no_input(tmp_path: Path) -> None:
    """Wherever it is, also by a link."""
    folder = save_site(tmp_path / "site", 3)
    (tmp_path / "link.jl").symlink_to("site/rows.jl")
    for name in ("site/rows.jl", "link.jl"):
        more = ("--pool", folder / "pools")
        assert strip(folder, "-O", tmp_path / name, *more).code == 0
        assert [*by_path(folder / "rows.jl")] == [f"page-{number}.html" for number in range(3)]


def test_pools_are_kept_from_one_folder_to_the_next(tmp_path: Path) -> None:
    save_site(tmp_path / "monday", 6)
    save(tmp_path / "tuesday" / "new.html", 77)
    pools, out = tmp_path / "pools", tmp_path / "rows.jl"
    more = ("-O", out, "--pool", pools, "--base-url", "example.org")
    for folder, evidence in (("tuesday", 0), ("monday", 3), ("tuesday", 3)):
        done = strip(tmp_path / folder, *more)
        assert done.code == 0, done.log
        assert {row["evidence"] for row in rows_of(out)} == {evidence}
    (row,) = rows_of(out)
    assert (row["url"], row["main_text"]) == ("https://example.org/new.html", own_text(77))
    for file in pools.iterdir():
        file.write_bytes(b"damaged" * 1000)
    assert strip(tmp_path / "monday", *more).code == 0
    assert len(rows_of(out)) == 6


@pytest.mark.quick
def test_pages_that_were_saved_by_a_crawl(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    assert crawl(f"{server.url}/", save_html=tmp_path / "pages").code == 0
    assert strip(tmp_path / "pages", "-O", tmp_path / "rows.jl").code == 0
    rows = by_path(tmp_path / "rows.jl")
    manifest = rows.pop("manifest.json")
    assert (manifest["outcome"], manifest["url"]) == ("not-html", "")
    assert rows["key.html"]["url"] == f"{server.url}/"
    assert {row["url"].rpartition("/")[2]: row["main_text"] for row in rows.values()} == CONTENT


@pytest.mark.quick
def test_a_row_for_each_page_of_archives(tmp_path: Path) -> None:
    """Once for each address; what exists as a revisit alone has its row."""
    url = "http://a.example/{}"
    records = [response(url.format(n), page(own_text(n))) for n in range(6)]
    told = {"WARC_Refers_To_Target_URI": url.format(1), "WARC_Refers_To_Date": DATE}
    content, gone = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", url.format("nowhere")
    records.append(record("revisit", url.format("again"), content, **told))
    told["WARC_Refers_To_Target_URI"] = gone
    records.append(record("revisit", url.format("lost"), content, **told))
    records += [records[2], response(url.format("x.png"), b"\x89PNG", Content_Type="image/png")]
    first, second = tmp_path / "1.warc.gz", tmp_path / "2.warc"
    first.write_bytes(packed(records[:4]))
    second.write_bytes(b"".join(records[4:]))
    out = tmp_path / "rows.jl"
    done = strip(first, second, "-O", out)
    rows = {row["url"].rpartition("/")[2]: row for row in rows_of(out)}
    assert len(rows_of(out)) == 8, done.log
    assert {*rows} == {"0", "1", "2", "3", "4", "5", "again", "lost"}
    assert {name for name, row in rows.items() if row["outcome"] != "page"} == {"lost"}
    assert rows["again"]["main_text"] == own_text(1)
    assert rows["0"] | {"path": "1.warc.gz", "offset": 0, "main_text": own_text(0)} == rows["0"]
    assert {row["path"] for row in rows.values()} == {"1.warc.gz", "2.warc"}


def test_pages_that_take_too_much(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3)
    large = "".join(f"<div class=c{number}><p>{number}</p></div>" for number in range(60_000))
    (folder / "page-1.html").write_text(f"<html><body>{large}")
    done = strip(folder, "-O", tmp_path / "a.jl", "-s", "TPLSPIDER_EXTRACT_MB=120")
    assert done.code == 1
    outcomes = [row["outcome"] for row in rows_of(tmp_path / "a.jl")]
    assert outcomes == ["page", "out-of-memory", "page"]
    assert done.log.count("page-1.html") == 1


@pytest.mark.parametrize(("number", "ending"), [(signal.SIGINT, "json"), (signal.SIGTERM, "csv")])
def test_ended_by_a_signal(tmp_path: Path, number: signal.Signals, ending: str) -> None:
    """The rows so far are kept, the file is valid, and the exit status is 1."""
    folder = save_site(tmp_path / "site", 3000)
    out = tmp_path / f"rows.{ending}"
    with start_scrapy("strip", str(folder), "-O", str(out)) as process:
        while not out.exists() or out.stat().st_size < 5000:
            assert process.poll() is None
            time.sleep(0.02)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 1
    if ending == "json":
        rows = json.loads(out.read_bytes())
    else:
        with out.open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
    assert 0 < len(rows) < 3000
    names = sorted(f"page-{n}.html" for n in range(3000))
    assert [row["path"] for row in rows] == names[: len(rows)]
    assert not any(is_alive(int(child)) for child in children)


def is_alive(pid: int) -> bool:
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    folder, out = save_site(tmp_path / "site", 200), tmp_path / "rows.jl"
    limit = files_of_at_most(20_000)
    given = ("strip", str(folder), "-O", str(out), "--workers", "1")
    with start_scrapy(*given, preexec_fn=limit) as process:
        log = process.communicate(timeout=120)[1]
    assert process.returncode == 1, log
    assert "File too large" in log
    assert "Traceback" not in log
    assert 10 < out.read_text("utf-8").count("\n") < 200


@pytest.mark.quick
def test_the_spider_itself(tmp_path: Path) -> None:
    folder, out = save_site(tmp_path / "site", 5), tmp_path / "rows.jl"
    command = ("crawl", "template_strip", "-a", f"source={folder}", "-O", str(out))
    done = run_scrapy(*command, folder=tmp_path)
    assert done.code == 0, done.log
    assert [row["main_text"] for row in rows_of(out)] == [own_text(number) for number in range(5)]
