"""Where the queue is: whatever is wrong is one line, and no line has a password in it."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from tplspider.crawl.fleet.address import ADDRESS, PASSWORD, check_queue_name, queue_address

SECRET = "sEcReT"


def settings(priority: str = "project", **values: str) -> Settings:
    made = Settings()
    made.setdict(values, priority)
    return made


@pytest.mark.parametrize(
    ("priority", "address", "why"),
    [
        ("cmdline", f"redis://:{SECRET}@localhost/0", "not with its password"),
        ("cmdline", f"redis://localhost/0?password={SECRET}", "options of TLS"),
        ("project", f"redis://localhost/0?password={SECRET}", "options of TLS"),
        ("project", f"rediss://localhost?ssl_ca_certs=ca.pem&username={SECRET}", "options of TLS"),
        ("project", f"redis://localhost/0?{SECRET}", "options of TLS"),
        ("project", f"redis://:{SECRET}@localhost:port/0", "expected redis://HOST:PORT/0"),
        ("project", f"http://:{SECRET}@localhost/", "expected redis://HOST:PORT/0"),
        ("project", f"redis://:{SECRET}@localhost/zero", "number of a database"),
        ("project", "", "no queue: set TPLSPIDER_QUEUE"),
    ],
)
def test_addresses_that_will_not_do(
    priority: str, address: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(ValueError, match=why) as found:
        queue_address(settings(priority, **{ADDRESS: address}))
    assert SECRET not in str(found.value)
    assert "\n" not in str(found.value)


def test_a_password_is_not_an_argument() -> None:
    given = {ADDRESS: "redis://localhost", PASSWORD: SECRET}
    with pytest.raises(ValueError, match="process lists") as found:
        queue_address(settings("cmdline", **given))
    assert SECRET not in str(found.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "of the environment")
    given = "REDISS://me:p%40ss@[::1]:7000/2?ssl_ca_certs=ca.pem"
    found = queue_address(settings(**{ADDRESS: given}))
    assert (found.url, found.user) == ("rediss://[::1]:7000/2?ssl_ca_certs=ca.pem", "me")
    assert found.password == "of the environment"
    assert "environment" not in repr(found)
    monkeypatch.delenv(PASSWORD)
    assert queue_address(settings(**{ADDRESS: given})).password == "p@ss"


@pytest.mark.parametrize("name", ["Redis://:pw@h", "redis://h", "a b", "", "a:b", "*", "x" * 101])
def test_names_that_will_not_do(name: str) -> None:
    with pytest.raises(ValueError, match="queue") as found:
        check_queue_name(name)
    assert "pw" not in str(found.value)
