"""Deployment to a real scrapyd on loopback, by the commands of docs/deploy.md."""

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
from conftest import PROJECT, Crawl, FixtureServer
from scrapyd_server import (
    FAST,
    GUIDE,
    KEY,
    SCRIPTS,
    Scrapyd,
    block,
    clone_of_the_project,
    deploy,
    deployed,
    environment,
    free_port,
    git,
    running_scrapyd,
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


@pytest.mark.quick
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
    names = set(zipfile.ZipFile(egg).namelist())
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


def test_bad_deployments(scrapyd: Scrapyd, clone: Path) -> None:
    refused = deploy(clone, scrapyd, "production", password="wrong")
    assert refused.returncode == 1
    assert "Deploy failed (401)" in refused.stderr
    nowhere = Scrapyd(f"http://127.0.0.1:{free_port()}/", scrapyd.folder)
    unreachable = deploy(clone, nowhere, "production")
    assert unreachable.returncode == 1
    assert "Deploy failed: " in unreachable.stderr
    assert "refused" in unreachable.stderr
    unknown = deploy(clone, scrapyd, "nowhere")
    assert unknown.returncode == 1
    assert "Unknown target: nowhere" in unknown.stderr


def test_no_secret_is_in_the_project() -> None:
    cfg = (PROJECT / "scrapy.cfg").read_text("utf-8")
    assert re.findall(r"^(?:username|password) = (.*)$", cfg, re.MULTILINE) == [
        "${SCRAPYD_USERNAME}",
        "${SCRAPYD_PASSWORD}",
    ]


@pytest.mark.skipif(not shutil.which("curl"), reason="the guide's commands need curl")
def test_the_commands_of_the_guide(
    clone: Path, tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    """Run them one after the other, as a reader would, against a server of our own."""
    site = serve("menu")
    with running_scrapyd(tmp_path / "scrapyd") as server:
        commands = "".join(
            found
            for found in re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
            if "curl" in found or "scrapyd-deploy" in found
        )
        commands = commands.replace("https://scrapyd.example.org/", server.url)
        commands = commands.replace("https://example.org/docs/page.html", site.url + KEY)
        # Nobody waits for a job in the guide; and the site is ours, it needs no delay.
        settings = "".join(f" -d setting={setting}" for setting in FAST)
        commands = commands.replace(" -d n=3", f" -d n=3{settings}")
        outputs = []
        variables = environment(server.folder)
        for command in commands.splitlines():
            if command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                variables[name] = value
                continue
            done = subprocess.run(
                command.replace("curl ", "curl -sS --fail "),
                shell=True,
                cwd=clone,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, (command, done.stderr)
            outputs.append((command, done.stdout))
            if "jobid=first" in command:
                server.wait("first")
        answers = [json.loads(output) for command, output in outputs if '.json"' in command]
        assert {answer["status"] for answer in answers if "status" in answer} == {"ok"}
        feeds = {command.rpartition("/")[2].strip('"'): out for command, out in outputs}
        assert len(json.loads(feeds["first.json"])) == 3
        assert json.loads(feeds["first.summary.json"])[0]["complete"]
        assert len(feeds["first.jl"].splitlines()) == 3
        assert "Spider closed (complete_subdigraph)" in feeds["first.log"]
        assert server.call("listversions.json?project=tplspider")["versions"] == ["r1"]


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
