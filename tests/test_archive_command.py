from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.crawls import Crawl, run_scrapy
from tests.support.crawls import rows as rows_of
from tests.support.template_site import CONTENT, page, pages_of
from tests.support.warc_files import packed, record, response
from tplspider import open_archive, search_pages
from tplspider.search.session import SearchLimits

HOSTS = [f"http://{name}.example" for name in ("a", "b", "c")]


def warc(path: Path, hosts: Iterable[str] = HOSTS) -> Path:
    """The sites of some hosts: a key page at /, and the pages of its menu."""
    sites = {host: pages_of(menu=host[7:]) for host in hosts}
    records = (response(f"{h}/{name}", body) for h in hosts for name, body in sites[h].items())
    path.write_bytes(packed(records))
    return path


def archive(folder: Path, *arguments: object, **settings: str) -> Crawl:
    return run_scrapy("archive", *map(str, arguments), folder=folder, settings=settings)


def keys(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.quick
def test_rows_are_those_of_the_library(tmp_path: Path) -> None:
    file, urls = warc(tmp_path / "x.warc.gz"), [f"{host}/" for host in HOSTS]
    robots = record("metadata", "http://r.example/", b"tplspider-outcome: robots\r\n")
    file.write_bytes(file.read_bytes() + packed([robots]))
    listed = keys(
        tmp_path / "keys.csv", "url,note,tpl_n", f"{urls[1]},second,2", f"{urls[0]},first,",
        f"{urls[1]},again,2", "ftp://x/,bad,", "http://a.example/gone,missing,",
        "http://r.example/,denied,",
    )  # fmt: skip
    out, summary, texts = (tmp_path / f"{name}.jl" for name in ("out", "summary", "texts"))
    told = ("-O", out, "--summary", summary, "--texts", texts)
    done = archive(tmp_path, file, "-i", listed, *told)
    assert done.code == 1, done.log  # of the bad line
    assert "Traceback" not in done.log
    rows = sorted(rows_of(summary), key=lambda row: row["line"])
    assert [row["line"] for row in rows] == [2, 3, 4, 5, 6, 7]
    outcomes = ["ok", "ok", "ok", "bad-input", "not-archived", "robots"]
    assert [row["key_outcome"] for row in rows] == outcomes
    assert [row["shared"] for row in rows] == [0] * 6
    with open_archive([file]).open() as site:
        session = search_pages(site, urls[0], limits=SearchLimits(for_template=True))
    assert session.summary is not None
    expected = asdict(session.summary) | {"line": 3, "input": {"note": "first"}}
    assert {**rows[1], "input": {"note": "first"}} == expected
    assert [row for row in rows_of(out) if row["key_url"] == urls[0]] == [
        asdict(each) for each in session.candidates()
    ]
    assert {row["key_url"]: row["main_text"] for row in rows_of(texts)} == {
        urls[0]: CONTENT[""], urls[1]: CONTENT[""],
    }  # fmt: skip


def test_where_the_archive_is_too_thin_a_pool_gives_the_text(tmp_path: Path) -> None:
    host, own = HOSTS[0], [f"<p>Text of {n} alone, {n * 7} words</p>" for n in range(5)]
    others = [response(f"{host}/far/{n}", page(own[n], menu="a.example")) for n in range(5)]
    file = tmp_path / "x.warc.gz"
    file.write_bytes(packed([response(f"{host}/", page(CONTENT[""], menu="a.example")), *others]))
    texts, summary = tmp_path / "texts.jl", tmp_path / "summary.jl"
    listed = keys(tmp_path / "keys.txt", f"{host}/")
    done = archive(tmp_path, file, "-i", listed, "--texts", texts, "--summary", summary)
    assert done.code == 0, done.log
    (row,), (end,) = rows_of(texts), rows_of(summary)
    assert (row["method"], row["evidence"], row["main_text"]) == ("pool", 3, CONTENT[""])
    assert (end["method"], end["cs_size"], end["not_archived"], end["loads"]) == ("pool", 0, 3, 1)


def test_files_that_hold_nothing_are_named(tmp_path: Path) -> None:
    good, listed = warc(tmp_path / "x.warc.gz"), keys(tmp_path / "keys.txt", "http://a.example/")
    (tmp_path / "text.warc").write_text("not a WARC file\n" * 100)
    cut, log = tmp_path / "cut.warc.gz", tmp_path / "log.warc.gz"
    cut.write_bytes(good.read_bytes()[:-20])
    log.write_bytes(packed([record("warcinfo", content=b"software: x\r\n")]))
    out = ("-O", tmp_path / "out.jl")
    assert archive(tmp_path, good, log, "--every", 1, *out).code == 0
    key_urls = {row["key_url"] for row in rows_of(tmp_path / "out.jl")}
    assert {urlsplit(url).hostname for url in key_urls} == {f"{name}.example" for name in "abc"}
    done = archive(tmp_path, tmp_path / "text.warc", cut, good, "-i", listed, *out)
    assert done.code == 1
    assert f"{cut}: cut off: 1" in done.log
    assert str(tmp_path / "text.warc") in done.log
    assert len(rows_of(tmp_path / "out.jl")) == 3
    assert archive(tmp_path, tmp_path / "text.warc", "-i", listed, *out).code == 2
