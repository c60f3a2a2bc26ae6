import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tplspider
from tests.support.crawls import PROJECT, FixtureServer, Serve, run_command
from tests.support.many_programs import Program, run_program
from tests.support.site_server import Handler
from tests.support.template_site import CONTENT, pages_of, routes_of

Run = Callable[..., Program]

on_linux = pytest.mark.skipif(not Path("/proc/self/net").exists(), reason="it reads /proc")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(body: str, given: object = None, *, reactor: bool = False) -> Program:
        done = run_program(body, tmp_path, reactor=reactor, given=given)
        for word in ("Traceback", "Warning", "never retrieved", "destroyed"):
            assert word not in done.log, done.log
        assert done.code == 0, done.log
        return done

    return run


def hang(request: Handler) -> None:
    request.connection.recv(1)


def site(serve: Serve, *hanging: str) -> FixtureServer:
    routes: dict[str, Any] = routes_of(pages_of())
    return serve("menu", {**routes, **{f"/{name}": hang for name in hanging}})


@pytest.mark.parametrize("reactor", [False, pytest.param(True, marks=pytest.mark.quick)])
def test_answers(run: Run, serve: Serve, *, reactor: bool) -> None:
    """Each input has one, with all that its search gave, and what the program knew of it."""
    body = """
    class Mine:
        pass
    mine = Mine()
    inputs = [
        given + "/",
        {"url": given + "/a", "n": 2, "strategy": "guided", "id": mine},
        "ftp://example.org/",
        {"address": given},
        42,
        {"url": given + "/b", "n": 0},
        {"url": given + "/missing", "id": 7},
        given + "/",
    ]
    settings = {**SETTINGS, "TPLSPIDER_TEXTS": True}
    async for answer in tplspider.search_many(inputs, settings, max_loads=50):
        end = answer.summary
        if end.input and "id" in end.input:
            assert end.input["id"] is (mine if end.line == 2 else 7)
        show([
            end.line, end.key_outcome, end.requested_size, len(answer.candidates),
            answer.template and answer.template.main_text, answer.repeated, end.hint,
        ])
    """
    server = site(serve)
    rows = {row[0]: row[1:] for row in run(body, server.url, reactor=reactor).printed}
    hints = {line: row.pop() for line, row in rows.items()}
    assert rows == {
        1: ["ok", 3, 3, CONTENT[""], False],
        2: ["ok", 2, 2, CONTENT["a"], False],
        **{line: ["bad-input", 0, 0, None, False] for line in (3, 4, 5, 6)},
        7: ["http-404", 3, 0, None, False],
        8: ["ok", 3, 0, None, True],
    }
    assert "http or https" in hints[3]
    assert "no 'url'" in hints[4]
    assert "int" in hints[5]
    assert "n: expected a whole number" in hints[6]


@pytest.mark.parametrize(
    ("inputs", "settings", "arguments", "words"),
    [
        ([], {"TPLSPIDER_SEARCHES": 0}, {}, "TPLSPIDER_SEARCHES"),
        ([], {"JOBDIR": "job"}, {}, "JOBDIR"),
        ([], {}, {"n": 0}, "n: "),
        ([], {}, {"urls": "list.txt"}, "urls: the key pages are given as inputs"),
        ("https://example.org", {}, {}, "inputs: expected an iterable"),
    ],
)
def test_wrong_use(inputs: Any, settings: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as told:
        tplspider.search_many(inputs, settings, **arguments)
    assert words in str(told.value)


@pytest.mark.quick
def test_the_text_of_one_page(run: Run, serve: Serve) -> None:
    """In a running event loop, as in Jupyter; from threads; again and again."""
    body = """
    from concurrent.futures import ThreadPoolExecutor
    options = {"allow_private": True, "settings": {**SETTINGS, "LOG_LEVEL": "ERROR"}}
    found = tplspider.get_text(given + "/a", **options)
    show([found.url, found.main_text, found.markdown, found.evidence, found.hint])
    show([len(found.evidence_pages), found.loads])
    assert found == await tplspider.fetch_text(given + "/a", **options)
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda name: tplspider.get_text(given + name, **options), ["/a", "/b"])
    show([text.main_text for text in texts])
    for url, allow in ((given + "/missing", True), (given + "/b", False), ("ftp://x/", True)):
        try:
            tplspider.get_text(url, **{**options, "allow_private": allow})
        except tplspider.NoTextError as error:
            show([error.outcome, url in str(error)])
    try:
        tplspider.get_text(given + "/a", n=0)
    except ValueError as error:
        show(str(error))
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            try:
                tplspider.get_text(given + "/a")
            except RuntimeError as error:
                os._exit(42)
        show(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    url = site(serve).url
    first, counts, texts, *errors, number, code = run(body, url).printed
    assert first == [f"{url}/a", CONTENT["a"], CONTENT["a"], counts[0], ""]
    assert 0 < counts[0] < counts[1]
    assert texts == [CONTENT["a"], CONTENT["b"]]
    assert errors == [["http-404", True], ["private-address", True], ["bad-input", True]]
    assert number.startswith("n: ")
    assert code == 42


def test_the_reactor_is_not_blocked(run: Run) -> None:
    body = """
    try:
        tplspider.get_text("https://example.org")
    except RuntimeError as error:
        show("fetch_text" in str(error))
    """
    assert run(body, reactor=True).printed == [True]


LEAVE = {
    "break": """
    async for answer in tplspider.search_many(inputs, settings):
        show(answer.summary.line)
        break
    """,
    "cancelled": """
    came = asyncio.Event()
    async def take():
        async for answer in tplspider.search_many(inputs, settings):
            show(answer.summary.line)
            came.set()
    task = asyncio.create_task(take())
    await came.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    """,
    "aclose": """
    found = tplspider.search_many(inputs, settings)
    show((await anext(found)).summary.line)
    await found.aclose()
    assert await anext(found, None) is None
    """,
}


@on_linux
@pytest.mark.parametrize("way", LEAVE)
def test_who_leaves_leaves_nothing_behind(run: Run, serve: Serve, way: str) -> None:
    """Neither tasks nor processes, connections and files; searches hang, and so do inputs."""
    body = f"""
    async def inputs():
        yield given + "/"
        yield given + "/hanging"
        await asyncio.Event().wait()
    inputs = inputs()
    settings = {{**SETTINGS, "DOWNLOAD_TIMEOUT": 2, "TPLSPIDER_TEXTS": True}}
    {LEAVE[way]}
    show(await left_over())
    """
    line, left = run(body, site(serve, "hanging").url).printed
    assert line in (1, 2)  # on a busy machine, the one that hangs may be the first to end
    assert left == {"tasks": [], "workers": [], "connections": 0, "files": []}


def test_the_pace_is_that_of_the_consumer(run: Run, serve: Serve) -> None:
    """Of inputs without an end, no more is taken than there is use for."""
    body = """
    taken = 0
    def inputs():
        global taken
        while True:
            taken += 1
            yield given + f"/?{taken}"
    found = tplspider.search_many(inputs(), {**SETTINGS, "TPLSPIDER_SEARCHES": 2})
    async for answer in found:
        if answer.summary.line == 4:
            break
    before = -1
    while taken != before:  # until nothing happens any more
        before = taken
        await asyncio.sleep(1)
    show(taken)
    await found.aclose()
    """
    body = body.replace("global taken", "nonlocal taken")
    server = site(serve)
    server.routes |= {f"/?{number}": server.routes["/"] for number in range(1, 30)}
    (taken,) = run(body, server.url).printed
    # Two places, as many lines that wait for their host, and the answers that were taken.
    assert 4 < taken <= 12


@pytest.mark.quick
def test_inputs_that_fail(run: Run, serve: Serve) -> None:
    """The answers so far come first."""
    body = """
    def inputs():
        yield given + "/"
        raise LookupError("no more")
    try:
        async for answer in tplspider.search_many(inputs(), SETTINGS):
            show(answer.summary.line)
    except LookupError as error:
        show(str(error))
    async for answer in tplspider.search_many([], SETTINGS):
        show("never")
    """
    assert run(body, site(serve).url).printed == [1, "no more"]


@on_linux
def test_several_at_once_and_one_after_the_other(run: Run, serve: Serve) -> None:
    body = """
    async def lines(paths):
        inputs = [given + path for path in paths]
        found = tplspider.search_many(inputs, {**SETTINGS, "TPLSPIDER_TEXTS": True})
        return sorted([answer.summary.line async for answer in found if answer.template])
    show(await asyncio.gather(lines(["/", "/a"]), lines(["/", "/b", "/c"])))
    show(await lines(["/", "/a"]))
    show(await left_over())
    """
    at_once, after, left = run(body, site(serve).url).printed
    assert (at_once, after) == ([[1, 2], [1, 2, 3]], [1, 2])
    assert not any(left.values())


@pytest.mark.quick
def test_private_addresses(run: Run, serve: Serve) -> None:
    """They are refused before anything is requested, by a look-up if it is a name."""
    body = """
    settings = {**SETTINGS, "TPLSPIDER_ALLOW_PRIVATE": False}
    inputs = [given, given.replace("127.0.0.1", "localhost")]
    async for answer in tplspider.search_many(inputs, settings):
        show(answer.summary.key_outcome)
    """
    server = site(serve)
    assert run(body, server.url).printed == ["private-address"] * 2
    assert server.log == []


@pytest.mark.crawl
def test_the_example_of_the_docs(serve: Serve, tmp_path: Path) -> None:
    text = (PROJECT / "docs/library.md").read_text("utf-8")
    example = text.partition("```python\n")[2].partition("```")[0]
    server = site(serve)
    for name in "ab":
        example = example.replace(f"https://example.org/{name}", f"{server.url}/{name}")
    example = example.replace('{"TPLSPIDER', '{"DOWNLOAD_DELAY": 0, "TPLSPIDER')
    done = run_command(sys.executable, "-c", example)
    assert (done.code, done.log) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"{server.url}/{name} ok 2" for name in "ab"]
