"""docs/deploy.md, followed line by line by a reader who starts in an empty folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.guide_readers import a_readers_variables, furnish, press_ctrl_c
from tests.support.scrapyd_server import (
    FAST,
    GUIDE,
    KEY,
    Scrapyd,
    clone_of_the_project,
    configuration,
    free_port,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer

# The jobs that look at the site; the others may not, as it is on loopback.
ALLOWED = ("first", "fourth", "fifth", "sixth")
# The second is cancelled, perhaps before it has begun.
OTHERS = ("third", "seventh", "eighth")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone_of_the_project(tmp_path_factory.mktemp("clone") / "tplspider")


@dataclass
class Reader:
    """Someone with two terminals: one in the server's folder, and one that goes elsewhere."""

    home: Path
    variables: dict[str, str]
    server: Scrapyd
    folder: Path = field(init=False)
    process: subprocess.Popen[bytes] | None = None
    outputs: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.server.folder

    def follow(self, line: str) -> None:
        """Do what one line of the guide says."""
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
            assert self.folder.is_dir()
        elif line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.variables[name] = value
        elif line.endswith("venv/bin/scrapyd"):
            self.start(line)
        else:
            self.run(line)

    def run(self, line: str) -> None:
        done = subprocess.run(
            line.replace("curl ", "curl -sS --fail "),
            shell=True,
            # The guide says so: what starts with venv/bin/ is for the server's folder.
            cwd=self.server.folder if line.startswith("venv/bin/") else self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        self.outputs.append((line, done.stdout))
        if line.startswith("python3 -m venv "):
            furnish(self.server.folder / line.rpartition(" ")[2])
        elif "jobid=first" in line:
            self.server.wait("first")  # the guide fetches what it found

    def start(self, line: str) -> None:
        log = self.home / "scrapyd.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                line,
                shell=True,
                cwd=self.server.folder,
                env={k: v for k, v in self.variables.items() if not k.startswith("SCRAPYD_")},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.server.wait_until_up(self.process, log)

    def stop(self) -> None:
        if self.process:
            stopped, self.process = self.process, None
            press_ctrl_c(stopped)


def with_our_addresses(line: str, clone: Path, server: Scrapyd, site: FixtureServer) -> str:
    line = line.replace("https://git.example.org/tplspider.git", str(clone))
    line = line.replace("https://scrapyd.example.org", server.url.rstrip("/"))
    line = line.replace("https://example.org/docs/page.html", site.url + KEY)
    if any(f"jobid={job} " in line for job in ALLOWED):
        option = "-d" if line.startswith("curl") else "--arg"
        settings = " ".join(f"{option} setting={setting}" for setting in FAST)
        if line.startswith("curl"):
            line = f"{line} {settings}"
        else:  # the spider is its last word
            line = line.replace(" template_candidates", f" {settings} template_candidates")
    return line


@pytest.mark.skipif(not shutil.which("curl"), reason="the guide's commands need curl")
@pytest.mark.skipif(not find_spec("ensurepip"), reason="python3 -m venv needs ensurepip")
def test_the_commands_of_the_guide(
    clone: Path, tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    port = free_port()
    server = Scrapyd(f"http://127.0.0.1:{port}/", tmp_path / "server")
    server.folder.mkdir()
    reader = Reader(tmp_path, a_readers_variables(tmp_path), server)
    try:
        for language, block in re.findall(
            r"^```(sh|ini)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL
        ):
            if language == "ini":
                (server.folder / "scrapyd.conf").write_text(configuration(http_port=str(port)))
            else:
                for line in block.splitlines():
                    reader.follow(with_our_addresses(line, clone, server, site))
        for job in (*ALLOWED, *OTHERS):
            server.wait(job)
        assert server.call("listversions.json?project=tplspider")["versions"] == ["r1"]
    finally:
        reader.stop()

    outputs = reader.outputs
    answers = [json.loads(output) for line, output in outputs if re.search(r'\.json[?"]', line)]
    assert {answer["status"] for answer in answers if "status" in answer} == {"ok"}
    fetched = {line.rpartition("/")[2].strip('"'): output for line, output in outputs}
    assert len(json.loads(fetched["first.json"])) == 3
    assert json.loads(fetched["first.summary.json"])[0]["complete"]
    assert len(fetched["first.jl"].splitlines()) == 3
    assert "Spider closed (complete_subdigraph)" in fetched["first.log"]
    # By scrapyd-client, the same.
    assert "tplspider / template_candidates => fourth" in [out.strip() for _, out in outputs]
    assert server.feed("fourth.json") == json.loads(fetched["first.json"])
    # The text of the page, under the job's name or the one that was asked for.
    files = (path.name for path in (server.folder / "items" / "feeds").iterdir())
    feeds = {name for name in files if not name.startswith("second.")}
    names = {f"{job}{end}" for job in (*ALLOWED, *OTHERS) for end in (".json", ".summary.json")}
    assert feeds == {*names, "fifth.texts.json", "page.json"}
    (text,) = server.feed("fifth.texts.json")
    assert text["candidates"] == server.feed("fifth.summary.json")[0]["candidates"]
    assert server.feed("page.json") == [text]
    # A profile does not let a job into the server's network.
    assert server.feed("seventh.summary.json")[0]["key_outcome"] == "private-address"
