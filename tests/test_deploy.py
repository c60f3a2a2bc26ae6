"""Deployment to a real scrapyd on loopback: eggs, passwords, the proxy, and what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.error
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, Crawl, FixtureServer
from tests.support.scrapyd_server import (
    GUIDE,
    KEY,
    SCRIPTS,
    Scrapyd,
    block,
    clone_of_the_project,
    deployed,
    environment,
    free_port,
    git,
    run_client,
    schedule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone_of_the_project(tmp_path_factory.mktemp("clone") / "tplspider")


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory, clone: Path) -> Iterator[Scrapyd]:
    with deployed(clone, tmp_path_factory.mktemp("server") / "scrapyd") as server:
        yield server


def test_a_deployed_job_gives_what_a_local_crawl_gives(
    scrapyd: Scrapyd,
    clone: Path,
    serve: Callable[..., FixtureServer],
    crawl: Callable[..., Crawl],
) -> None:
    site = serve("menu")
    schedule(scrapyd, "same", url=site.url + KEY, n=4)
    scrapyd.wait("same")
    local = crawl(site.url + KEY, n=4)
    assert len(local.candidates) == 4
    assert scrapyd.feed("same.json") == local.candidates
    assert scrapyd.feed("same.summary.json") == [local.summary]
    lines = scrapyd.call("items/tplspider/template_candidates/same.jl").splitlines()
    assert [json.loads(line) for line in lines] == local.candidates
    assert "Spider closed (complete_subdigraph)" in scrapyd.log("same")
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("password", [None, "wrong"])
def test_every_endpoint_asks_for_the_password(scrapyd: Scrapyd, password: str | None) -> None:
    names = "daemonstatus addversion schedule cancel status listprojects listversions listspiders"
    endpoints = [f"{name}.json" for name in f"{names} listjobs delversion delproject".split()]
    for path in ["", "logs/", "items/", "jobs", *endpoints]:
        with pytest.raises(urllib.error.HTTPError) as caught:
            scrapyd.call(path, password=password)
        caught.value.close()
        assert caught.value.code == 401, path


def test_the_egg_holds_the_project_and_nothing_else(clone: Path, tmp_path: Path) -> None:
    egg = tmp_path / "tplspider.egg"
    subprocess.run(
        [SCRIPTS / "scrapyd-deploy", "--build-egg", egg],
        cwd=clone,
        env=environment(tmp_path),
        check=True,
        capture_output=True,
    )
    names = {name for name in zipfile.ZipFile(egg).namelist() if not name.endswith(".pyc")}
    tracked = git(clone, "ls-files", "tplspider").splitlines()
    metadata = "PKG-INFO SOURCES.txt dependency_links.txt entry_points.txt requires.txt"
    expected = {*tracked, *(f"EGG-INFO/{name}" for name in metadata.split())}
    assert names == expected | {"EGG-INFO/top_level.txt", "EGG-INFO/zip-safe"}
    entry = zipfile.ZipFile(egg).read("EGG-INFO/entry_points.txt").decode()
    assert "settings = tplspider.profiles.scrapyd" in entry
    assert git(clone, "status", "--porcelain") == ""
    # The demo's website is read from the zipped egg.
    code = "from tplspider.demo.server import SiteServer; print(SiteServer().find('/visit/'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path, PYTHONPATH=str(egg)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tplspider.egg" in done.stdout


SCHEDULE = "scrapyd-client schedule -t production -p tplspider template_candidates"
# An egg that will not do, so that none is built: all of these fail before anyone looks at it.
DEPLOY = "scrapyd-deploy production --egg scrapy.cfg"
FAULTS: list[tuple[str, str, dict[str, str | None]]] = [
    ("Deploy failed (401)", DEPLOY, {"SCRAPYD_PASSWORD": "wrong"}),
    ("Deploy failed (401)", DEPLOY, {"SCRAPYD_USERNAME": None}),
    (
        "Deploy failed: Invalid URL 'addversion.json': No scheme supplied",
        DEPLOY,
        {"SCRAPYD_URL": None},
    ),
    (
        "Deploy failed: Invalid URL 'addversion.json': No scheme supplied",
        DEPLOY,
        {"SCRAPYD_URL": "scrapyd.example.org"},
    ),
    ("Deploy failed: ... Connection refused", DEPLOY, {"SCRAPYD_URL": "http://127.0.0.1:{port}"}),
    ("Unknown target: ...", "scrapyd-deploy nowhere", {}),
    ("Error: no Scrapy project found in this location", "scrapyd-deploy production", {"in": ".."}),
    (
        "Received a malformed response: ... 404 - No Such Resource",
        SCHEDULE,
        {"SCRAPYD_URL": "{server}"},
    ),
    ("MissingSchema: Invalid URL '${SCRAPYD_URL}/...", SCHEDULE, {"SCRAPYD_URL": None}),
]


@pytest.mark.parametrize(("words", "command", "variables"), FAULTS)
def test_the_table_of_faults(
    scrapyd: Scrapyd, clone: Path, words: str, command: str, variables: dict[str, str | None]
) -> None:
    given = dict(variables)
    folder = clone / (given.pop("in", None) or "")
    if url := given.get("SCRAPYD_URL"):
        given["SCRAPYD_URL"] = url.format(port=free_port(), server=scrapyd.url)
    done = run_client(folder, scrapyd, *command.split(), **given)
    assert done.returncode != 0
    output = " ".join((done.stdout + done.stderr).split())
    for part in words.split("..."):
        assert part.strip() in output
    assert f"| `{words}`" in GUIDE


def test_every_fault_is_tested() -> None:
    table = GUIDE.partition("| what you see | what is wrong |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [line.split("`")[1] for line in table.splitlines()]
    assert rows == list(dict.fromkeys(words for words, _, _ in FAULTS))


def test_an_empty_user_name_is_looked_up(scrapyd: Scrapyd, clone: Path) -> None:
    netrc = scrapyd.folder / ".netrc"  # in the home folder of these commands
    netrc.write_text("machine 127.0.0.1 login alice password change-me\n")
    netrc.chmod(0o600)
    try:
        done = run_client(clone, scrapyd, *DEPLOY.split(), SCRAPYD_USERNAME="")
    finally:
        netrc.unlink()
    assert "egg is not a ZIP file" in done.stdout


def test_no_secret_is_in_the_project() -> None:
    cfg = (PROJECT / "scrapy.cfg").read_text("utf-8")
    assert re.findall(r"^(?:username|password) = (.*)$", cfg, re.MULTILINE) == [
        "${SCRAPYD_USERNAME}",
        "${SCRAPYD_PASSWORD}",
    ]


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_the_proxy(scrapyd: Scrapyd, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *"openssl req -x509 -newkey rsa:2048 -nodes -days 1".split(),
            *("-subj", "/CN=scrapyd.example.org", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    port = free_port()
    server = block("nginx").replace("/etc/ssl/scrapyd.example.org.pem", str(certificate))
    server = server.replace("/etc/ssl/scrapyd.example.org.key", str(key))
    server = server.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    server = server.replace("http://127.0.0.1:6800", scrapyd.url.rstrip("/"))
    temporary = "".join(
        f"{name}_temp_path {tmp_path / name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"daemon off;\npid {tmp_path / 'pid'};\nerror_log {tmp_path / 'error.log'};\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{server}}}\n"
    )
    subprocess.run(["nginx", "-t", "-c", config], check=True, capture_output=True)
    process = subprocess.Popen(["nginx", "-c", config])
    try:
        address = f"https://scrapyd.example.org:{port}/daemonstatus.json"
        curl = ["curl", "-sS", "--cacert", str(certificate), "--retry", "20", "--retry-connrefused"]
        curl += ["--retry-delay", "1", "--resolve", f"scrapyd.example.org:{port}:127.0.0.1"]
        done = subprocess.run(
            [*curl, "-u", "alice:change-me", address], check=True, capture_output=True, text=True
        )
        assert json.loads(done.stdout)["status"] == "ok"
        status = ["-o", "/dev/null", "-w", "%{http_code}"]
        refused = subprocess.run(
            [*curl, *status, address], check=True, capture_output=True, text=True
        )
        assert refused.stdout == "401"
    finally:
        process.terminate()
        process.wait(30)
