"""Links and redirects with ``user:password@``, which is taken off and shown nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

HTML = {"Content_Type": "text/html"}


@pytest.mark.parametrize("in_flight", [1, 4])
def test_no_password_of_a_link_is_sent_or_shown(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], in_flight: int
) -> None:
    sent: list[str] = []

    def note(answer: Callable[[Handler], None]) -> Callable[[Handler], None]:
        def respond(request: Handler) -> None:
            sent.append(f"{request.path} {request.headers}")
            answer(request)

        return respond

    server = serve("hooks")
    address = server.url.removeprefix("http://")

    def with_user(path: str) -> str:
        return f"http://me:secret@{address}{path}"

    def page(*links: str, head: str = "") -> Callable[[Handler], None]:
        items = "".join(f"<li><a href='{link}'>x</a></li>" for link in links)
        return note(
            lambda request: request.answer(
                200, f"{head}<p>{request.path}</p>{items}".encode(), **HTML
            )
        )

    def redirect(target: str) -> Callable[[Handler], None]:
        return note(lambda request: request.answer(302, Location=target))

    refresh = f"<meta http-equiv=refresh content='0; url={with_user('/refreshed')}'>"
    menu = [with_user("/a"), "/b", f"//me:secret@{address}/c"]
    server.routes = {
        "/": page("/moved", "/refresh", "/relative", "/elsewhere", with_user("/b"), *menu),
        "/moved": redirect(with_user("/target")),
        "/target": page(),
        "/refresh": page(head=refresh),
        "/refreshed": page(head=f"<base href='{with_user('/')}'>"),
        "/relative": redirect(f"\\\\me:secret@{address}/b"),
        "/elsewhere": redirect("ftp://me:secret@example.net/"),
        "/a": page("/b", "/c"),
        "/b": page("a", "/c", head=f"<base href='{with_user('/')}'>"),
        "/c": page(*menu[:2]),
    }
    done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": str(in_flight)}, max_loads=0)
    ends = {
        row["link"].removeprefix(server.url): (
            row["url"].removeprefix(server.url),
            row["reason"].replace(server.url, ""),
        )
        for row in done.summary["explored"]
    }
    assert ends == {
        "/moved": ("/target", ""),
        "/refresh": ("/refreshed", ""),
        "/relative": ("/b", ""),
        "/elsewhere": ("/elsewhere", "offsite-redirect"),
        "/a": ("/a", ""),
        "/b": ("/b", "duplicate-of /b"),
        "/c": ("/c", ""),
    }
    assert done.summary["complete"]
    assert sorted(url.removeprefix(server.url) for url in done.summary["candidates"]) == [
        *("/a", "/b", "/c")
    ]
    assert server.pages_asked.count("/b") == 1
    shown = [done.log, done.stdout, *sent]
    shown += [(done.folder / name).read_text("utf-8") for name in ("out.json", "summary.json")]
    for text in shown:
        assert "secret" not in text
        assert "me:" not in text.replace("time:", "")
    assert not [line for line in sent if "Authorization" in line]
