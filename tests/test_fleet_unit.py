"""docs/systemd/worker@.service: run as systemd would, and stopped by the unit's signal."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
import redis

from tests.support.crawls import PROJECT, SETTINGS
from tests.support.many_sites import ManySites
from tests.support.redis_server import needs_redis, redis_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANALYZE = shutil.which("systemd-analyze")
PASSWORD = "only root reads it"
UNIT = PROJECT / "docs" / "systemd" / "worker@.service"


class Unit:
    """The unit of a machine whose folders are elsewhere, and systemd's rules as far as it needs."""

    def __init__(self, folder: Path) -> None:
        (folder / "srv").mkdir()
        (folder / "srv" / "tplspider").symlink_to(PROJECT)
        (folder / "srv" / "venv").symlink_to(sys.prefix)
        text = UNIT.read_text("utf-8").replace("/srv/tplspider", str(folder / "srv"))
        self.variables = folder / "worker.env"
        text = text.replace("/etc/tplspider/worker.env", str(self.variables))
        self.file = folder / UNIT.name
        self.file.write_text(text, "utf-8")
        self._lines = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._lines if key == name]

    def the(self, name: str) -> str:
        (value,) = self.all(name)
        return value

    def environment(self) -> dict[str, str]:
        """The variables of the unit, then those of its file; of ours, what every process has."""
        given = dict(
            word.split("=", 1) for line in self.all("Environment") for word in line.split()
        )
        assert self.the("EnvironmentFile") == f"-{self.variables}"
        lines = self.variables.read_text("utf-8").splitlines()
        more = (shlex.split(line)[0].split("=", 1) for line in lines)
        return {"PATH": os.environ["PATH"], **given, **dict(more)}

    def command(self) -> list[str]:
        """``${NAME}`` is part of a word, ``$NAME`` by itself becomes words."""
        variables, words = self.environment(), list[str]()
        for word in self.the("ExecStart").split():
            if word.startswith("$") and not word.startswith("${"):
                words += shlex.split(variables[word[1:]])
            else:
                words.append(re.sub(r"\$\{(\w+)\}", lambda name: variables[name[1]], word))
        return words

    def start(self, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            return subprocess.Popen(
                self.command(),
                cwd=self.the("WorkingDirectory"),
                env=self.environment(),
                stdout=output,
                stderr=output,
            )

    def stop(self, worker: subprocess.Popen[bytes]) -> int:
        worker.send_signal(signal.Signals[self.the("KillSignal")])
        return worker.wait(float(self.the("TimeoutStopSec")))


@pytest.mark.crawl
@needs_redis
def test_workers_of_the_unit_give_back_what_they_have(tmp_path: Path) -> None:
    unit = Unit(tmp_path)
    logs = [tmp_path / f"worker-{number}.log" for number in (1, 2)]
    options = {**SETTINGS, "TPLSPIDER_SEARCHES": "2"}
    with (
        redis_server(tmp_path, "--requirepass", PASSWORD) as server,
        ManySites() as sites,
        redis.Redis(port=server.port, password=PASSWORD) as client,
    ):
        given = shlex.join(f"-s{name}={value}" for name, value in options.items())
        variables = {"TPLSPIDER_QUEUE": server.url, "QUEUE": "fleet", "OPTIONS": given}
        variables |= {"TPLSPIDER_QUEUE_PASSWORD": PASSWORD}
        unit.variables.write_text("".join(f'{k}="{v}"\n' for k, v in variables.items()), "utf-8")
        for number in range(4):
            client.xadd("fleet", {"url": sites.url(f"hang-{number}")})
        workers = [unit.start(log) for log in logs]
        try:
            until(lambda: [have(client, worker.pid) for worker in workers] == [2, 2], logs)
            codes = [unit.stop(worker) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        ok = {"0", *unit.the("SuccessExitStatus").split()}
        assert {*map(str, codes)} <= ok, [log.read_text() for log in logs]
        left = client.xpending_range("fleet", "tplspider", "-", "+", 10)
        returned = [row for row in left if row["consumer"] == b"returned"]
        assert [row["times_delivered"] for row in returned] == [0] * 4
        assert len(left) == 4
        assert not client.keys("tplspider:lease:*")
        assert not client.hlen("fleet:workers")
    assert all(PASSWORD not in log.read_text() for log in logs)


def have(client: Any, pid: int) -> int:
    """How many entries the worker with a process has in work."""
    try:
        consumers = client.xinfo_consumers("fleet", "tplspider")
    except redis.ResponseError:  # nobody has begun
        return 0
    names = {each["name"].rpartition(b"-")[0]: each["pending"] for each in consumers}
    return sum(count for name, count in names.items() if name.endswith(b"-%d" % pid))


def until(is_so: Callable[[], bool], logs: list[Path]) -> None:
    deadline = monotonic() + 90
    while not is_so():
        assert monotonic() < deadline, [log.read_text()[-3000:] for log in logs]
        sleep(0.1)


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    assert ANALYZE
    unit = Unit(tmp_path)
    assert verified(unit.file) == ""
    # It would find something.
    unit.file.write_text(unit.file.read_text("utf-8").replace("Restart=", "Restrat="), "utf-8")
    assert "Restrat" in verified(unit.file)


def verified(file: Path) -> str:
    done = subprocess.run(
        [str(ANALYZE), "verify", "--man=no", file], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr
