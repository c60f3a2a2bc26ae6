"""Deployment to a real scrapyd on loopback, by the commands of docs/deploy.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import PROJECT, Crawl, FixtureServer, run_scrapy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tplspider.demo.server import Handler

KEY = "/docs/guide/four.html"
GUIDE = (PROJECT / "docs" / "deploy.md").read_text("utf-8")
SCRIPTS = Path(sys.executable).parent
SPIDER = {"project": "tplspider", "spider": "template_candidates"}
# The fixture sites are on loopback, where a deployed project does not go by itself.
FAST = ["DOWNLOAD_DELAY=0", "TPLSPIDER_ALLOW_PRIVATE=True"]


@dataclass
class Scrapyd:
    """A running server."""

    url: str
    folder: Path

    def call(self, path: str, *, password: str | None = "change-me", **fields: object) -> Any:
        """The answer of an endpoint, parsed when it is JSON."""
        pairs = [(name, str(v)) for name, value in fields.items() for v in _values(value)]
        data = urllib.parse.urlencode(pairs).encode() if fields else None
        request = urllib.request.Request(self.url + path, data)
        if password is not None:
            token = b64encode(f"alice:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
        return json.loads(body) if ".json?" in path or path.endswith(".json") else body.decode()

    def wait(self, job: str, state: str = "finished") -> None:
        """Wait until a job is in a state."""
        for _ in range(600):
            if self.call(f"status.json?job={job}")["currstate"] == state:
                return
            time.sleep(0.1)
        raise AssertionError(
            f"{job} is not {state}: {self.call('listjobs.json?project=tplspider')}"
        )

    def log(self, job: str) -> str:
        logs = self.folder / "logs" / "tplspider" / "template_candidates"
        return (logs / f"{job}.log").read_text("utf-8")

    def feed(self, name: str) -> Any:
        return json.loads((self.folder / "items" / "feeds" / name).read_bytes())


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def block(language: str, containing: str = "") -> str:
    """The first block of the guide in a language that contains some words."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    return next(found for found in blocks if containing in found)


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def environment(home: Path, **variables: str) -> dict[str, str]:
    """The variables of a person with an empty home folder and our programs on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
    path = f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**kept, "HOME": str(home), "PATH": path, **variables}


@contextmanager
def running_scrapyd(folder: Path, **options: str) -> Iterator[Scrapyd]:
    """Scrapyd with the configuration of the guide, in an empty folder and on a free port."""
    folder.mkdir()
    port = free_port()
    lines = {**dict.fromkeys(["http_port"], str(port)), "poll_interval": "0.2", **options}
    config = block("ini", "[scrapyd]")
    for name, value in lines.items():
        config = re.sub(rf"^{name} =.*\n", "", config, flags=re.MULTILINE) + f"{name} = {value}\n"
    (folder / "scrapyd.conf").write_text(config)
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [SCRIPTS / "scrapyd"],
            cwd=folder,
            env=environment(folder, TPLSPIDER_FEEDS_DIR=str(folder / "items" / "feeds")),
            stdout=log,
            stderr=log,
        )
    server = Scrapyd(f"http://127.0.0.1:{port}/", folder)
    try:
        for _ in range(300):
            try:
                server.call("daemonstatus.json")
                break
            except urllib.error.URLError:
                assert process.poll() is None, (folder / "scrapyd.log").read_text()
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is, in a repository of its own."""
    folder = tmp_path_factory.mktemp("clone") / "tplspider"
    ignored = shutil.ignore_patterns(
        ".git", "__pycache__", ".*_cache", ".hypothesis", "build", "*.egg-info", ".venv", "venv"
    )
    shutil.copytree(PROJECT, folder, ignore=ignored)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory, clone: Path) -> Iterator[Scrapyd]:
    """A server to which the project was deployed."""
    folder = tmp_path_factory.mktemp("server") / "scrapyd"
    with running_scrapyd(folder) as server:
        done = deploy(clone, server, "production", "-v", "0.9")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["spiders"] == 1
        yield server


def deploy(
    clone: Path, server: Scrapyd, *arguments: str, password: str = "change-me"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / "scrapyd-deploy", *arguments],
        cwd=clone,
        env=environment(
            server.folder,
            SCRAPYD_URL=server.url,
            SCRAPYD_USERNAME="alice",
            SCRAPYD_PASSWORD=password,
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def schedule(server: Scrapyd, job: str, **fields: object) -> None:
    given: dict[str, Any] = {**SPIDER, "setting": FAST, **fields}
    answer = server.call("schedule.json", jobid=job, **given)
    assert answer["status"] == "ok", answer


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
    tracked = git(clone, "ls-files", "tplspider", "settings").splitlines()
    metadata = "PKG-INFO SOURCES.txt dependency_links.txt entry_points.txt requires.txt"
    expected = {*tracked, *(f"EGG-INFO/{name}" for name in metadata.split())}
    assert names == expected | {"EGG-INFO/top_level.txt", "EGG-INFO/zip-safe"}
    entry = zipfile.ZipFile(egg).read("EGG-INFO/entry_points.txt").decode()
    assert "settings = settings.scrapyd" in entry
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


def test_a_job_chooses_settings_and_a_profile(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    chosen = [*FAST, "TPLSPIDER_PROFILE=polite", "AUTOTHROTTLE_START_DELAY=0.1"]
    schedule(scrapyd, "chosen", url=site.url + KEY, setting=[*chosen, "DOWNLOAD_TIMEOUT=7"])
    scrapyd.wait("chosen")
    log = scrapyd.log("chosen")
    assert "'DOWNLOAD_TIMEOUT': '7'" in log
    assert "scrapy.extensions.throttle.AutoThrottle" in log
    assert len(scrapyd.feed("chosen.json")) == 3


@pytest.mark.parametrize(
    ("job", "fields", "line"),
    [
        ("no-url", {}, "no key page"),
        ("bad-n", {"url": "http://127.0.0.1/", "n": "none"}, "n='none': expected a whole number"),
        ("unknown", {"url": "http://127.0.0.1/", "nn": "3"}, "did you mean 'n'?"),
        (
            "bad-profile",
            {"url": "http://127.0.0.1/", "setting": ["TPLSPIDER_PROFILE=hasty"]},
            "TPLSPIDER_PROFILE='hasty': expected one of ",
        ),
    ],
)
def test_a_job_with_a_wrong_argument_ends_at_once(
    scrapyd: Scrapyd, job: str, fields: dict[str, Any], line: str
) -> None:
    schedule(scrapyd, job, **fields)
    scrapyd.wait(job)
    log = scrapyd.log(job)
    assert line in log
    assert "Traceback" not in log
    assert not (scrapyd.folder / "items" / "feeds" / f"{job}.json").exists()
    items = scrapyd.folder / "items" / "tplspider" / "template_candidates"
    assert not (items / f"{job}.jl").exists()


def test_a_job_may_not_look_into_the_servers_network(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    schedule(scrapyd, "inside", url=site.url + KEY, setting=["DOWNLOAD_DELAY=0"])
    scrapyd.wait("inside")
    (summary,) = scrapyd.feed("inside.summary.json")
    assert summary["key_outcome"] == "private-address"
    assert scrapyd.feed("inside.json") == []
    assert site.log == []


def test_cancelling_leaves_valid_feeds(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    def slow(request: Handler) -> None:
        time.sleep(0.5)
        site.routes.pop(request.path)
        site.respond(request)

    site = serve("menu", {f"/docs/guide/{name}.html": slow for name in ("one", "two", "three")})
    schedule(scrapyd, "cancelled", url=site.url + KEY)
    scrapyd.wait("cancelled", "running")
    for _ in range(300):
        if len(site.pages_asked) >= 3:
            break
        time.sleep(0.1)
    assert (
        scrapyd.call("cancel.json", project="tplspider", job="cancelled")["prevstate"] == "running"
    )
    scrapyd.wait("cancelled")
    assert "Spider closed (shutdown)" in scrapyd.log("cancelled")
    (summary,) = scrapyd.feed("cancelled.summary.json")
    assert summary["reason"] == "shutdown"
    assert [row["url"] for row in scrapyd.feed("cancelled.json")] == summary["members"]


def test_without_items_dir_and_with_jobs_dir(
    tmp_path: Path, clone: Path, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    with running_scrapyd(tmp_path / "scrapyd", items_dir="", jobs_dir="jobs") as server:
        assert deploy(clone, server, "production").returncode == 0
        for job in ("one", "two"):
            schedule(server, job, url=site.url + KEY)
            server.wait(job)
            assert len(server.feed(f"{job}.json")) == 3
            assert server.feed(f"{job}.summary.json")[0]["loads"] == 5
            assert server.log(job).count("JOBDIR is ignored") == 1
        assert not any(path.is_file() for path in (server.folder / "jobs").rglob("*"))


def test_a_job_directory_on_the_command_line(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    settings = {"JOBDIR": str(tmp_path / "job")}
    for _ in range(2):
        done = run_scrapy(
            "crawl",
            "template_candidates",
            f"-aurl={site.url}{KEY}",
            "-O-:json",
            folder=tmp_path,
            settings=settings,
        )
        assert len(json.loads(done.stdout)) == 3
        assert done.log.count("JOBDIR is ignored") == 1
    assert not (tmp_path / "job").exists()


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
