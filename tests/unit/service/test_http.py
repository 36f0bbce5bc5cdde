"""The HTTP listener: what it shows, to whom, and how it opens and closes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.engine.office import Manager

from openmsmq.engine.manager import QueueManager
from openmsmq.errors import InvalidParameter
from openmsmq.service import http as console_http
from openmsmq.service.http import ConsoleListener, is_loopback
from openmsmq.service.metrics.exposition import CONTENT_TYPE
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.types.manager_state import ManagerState


class Visit:
    """A listener that is open, and someone in front of it."""

    def __init__(self, listener: ConsoleListener, service: ServiceMetrics) -> None:
        self.listener = listener
        self.service = service
        self.address = "", 0
        self.session: aiohttp.ClientSession

    async def get(self, path: str, *, token: str = "", **given: Any) -> aiohttp.ClientResponse:
        headers = {"Authorization": token} if token else {}
        url = "http://{}:{}".format(*self.address)
        async with self.session.get(url + path, headers=headers, **given) as response:
            await response.read()
            return response


def visit(test: Callable[[Visit], Awaitable[None]], **given: Any) -> None:
    """Open a listener, do something there, close it."""

    async def run() -> None:
        service = ServiceMetrics()
        visited = Visit(ConsoleListener(service, port=0, **given), service)
        visited.address = await visited.listener.start()
        try:
            async with aiohttp.ClientSession() as visited.session:
                await test(visited)
        finally:
            await visited.listener.stop("the test is over")

    asyncio.run(run())


@pytest.fixture
def manager() -> Manager:
    manager = Manager()
    manager.create("orders")
    return manager


def test_metrics_are_shown_as_prometheus_wants_them(manager: Manager) -> None:
    async def test(visited: Visit) -> None:
        visited.listener.manager = manager.local
        response = await visited.get("/metrics")
        assert (response.status, response.headers["Content-Type"]) == (200, CONTENT_TYPE)
        families = {
            found.name: found for found in text_string_to_metric_families(await text(response))
        }
        names = {
            sample.labels["name"] for sample in families["windows_msmq_messages_in_queue"].samples
        }
        assert names == {"Computer Queues", r"server1\private$\orders"}

    visit(test)


async def text(response: aiohttp.ClientResponse) -> str:
    return await response.text()


def test_large_pages_are_compressed_for_who_can_read_that(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_http, "COMPRESS_BESIDE", 1)

    async def test(visited: Visit) -> None:
        visited.listener.manager = manager.local
        compressed = await visited.get("/metrics", skip_auto_headers=[])
        assert compressed.headers["Content-Encoding"] in ("gzip", "deflate")
        async with visited.session.get(
            "http://{}:{}/metrics".format(*visited.address), headers={"Accept-Encoding": "identity"}
        ) as plain:
            assert "Content-Encoding" not in plain.headers
            assert b"# TYPE openmsmq_ready gauge" in await plain.read()

    visit(test)


def test_health_tells_the_state_and_whether_it_is_well(manager: Manager) -> None:
    async def test(visited: Visit) -> None:
        async def health() -> tuple[int, Any]:
            response = await visited.get("/healthz")
            return response.status, await response.json()

        assert await health() == (503, {"state": "initializing"})
        visited.listener.manager = manager.local
        assert await health() == (200, {"state": "ready"})
        manager.local.state = ManagerState.STOPPING
        assert await health() == (503, {"state": "stopping"})

    visit(test)


def test_metrics_are_there_before_the_manager_is() -> None:
    async def test(visited: Visit) -> None:
        response = await visited.get("/metrics")
        assert response.status == 200
        assert "openmsmq_ready 0\n" in await response.text()

    visit(test)


@pytest.mark.parametrize("path", ["/", "/metrics/", "/metricsx", "/healthz/x", "/%00", "/..%2fetc"])
def test_nothing_else_is_there(path: str) -> None:
    async def test(visited: Visit) -> None:
        assert (await visited.get(path)).status == 404

    visit(test)


def test_nothing_can_be_sent_there() -> None:
    async def test(visited: Visit) -> None:
        url = "http://{}:{}/metrics".format(*visited.address)
        async with visited.session.post(url, data=b"x") as response:
            assert response.status == 405

    visit(test)


def test_answers_say_little_about_the_program_and_are_not_kept() -> None:
    async def test(visited: Visit) -> None:
        for path in ("/healthz", "/nowhere"):
            headers = (await visited.get(path)).headers
            assert headers["Server"] == "OpenMSMQ"
            assert headers["Cache-Control"] == "no-store"
            assert headers["X-Content-Type-Options"] == "nosniff"

    visit(test)


def test_more_pages_can_be_added() -> None:
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def run() -> None:
        listener = ConsoleListener(ServiceMetrics(), port=0)
        listener.app.router.add_get("/hello", hello)
        host, port = await listener.start()
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{host}:{port}/hello") as response,
        ):
            assert await response.text() == "hello"
        await listener.stop("")

    asyncio.run(run())


def test_garbage_is_answered_and_affects_no_other_request() -> None:
    async def test(visited: Visit) -> None:
        too_long = b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n"
        for garbage in (b"\0\xff\r\n\r\n", b"GET /metrics HTTP/9\r\n\r\n", too_long):
            reader, writer = await asyncio.open_connection(*visited.address)
            writer.write(garbage)
            answer = await reader.read(100)
            writer.close()
            assert answer.startswith(b"HTTP/1.0 400 ")
        assert (await visited.get("/metrics")).status == 200

    visit(test)


# Who is let in


def test_with_tokens_only_who_has_one_sees_the_metrics() -> None:
    async def test(visited: Visit) -> None:
        for token in ("", "Bearer", "Bearer bad", "Basic good", "good"):
            refused = await visited.get("/metrics", token=token)
            assert refused.status == 401
            assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert visited.service.logins_refused == 5
        assert (await visited.get("/nowhere")).status == 404
        for token in ("Bearer good", "bearer  good "):
            assert (await visited.get("/metrics", token=token)).status == 200
        assert (await visited.get("/healthz")).status == 503, "health needs none"

    visit(test, admits=lambda token: token == "good")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "shop01", ""])
@pytest.mark.parametrize("with_tls", [False, True])
@pytest.mark.parametrize("with_tokens", [False, True])
def test_other_computers_need_tls_and_a_token(host: str, with_tls: bool, with_tokens: bool) -> None:
    def open_console(*, allow_insecure: bool) -> ConsoleListener:
        return ConsoleListener(
            ServiceMetrics(),
            host=host,
            tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if with_tls else None,
            admits=bool if with_tokens else None,
            allow_insecure=allow_insecure,
        )

    if with_tls and with_tokens:
        open_console(allow_insecure=False)
    else:
        with pytest.raises(InvalidParameter, match="TLS and a token"):
            open_console(allow_insecure=False)
    open_console(allow_insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost", "LocalHost"])
def test_what_only_this_computer_reaches_is_known(host: str) -> None:
    assert is_loopback(host)


# Many at once


def test_silent_connections_do_not_keep_a_health_check_out() -> None:
    async def test(visited: Visit) -> None:
        silent = [await asyncio.open_connection(*visited.address) for _ in range(5)]
        assert (await visited.get("/healthz")).status == 503
        assert (await visited.get("/healthz")).status == 503, "it asks again on its connection"
        assert visited.service.rejected == {"too many console connections": 4}
        for reader, _ in silent[:4]:  # the oldest had to go
            with suppress(ConnectionError):
                assert await reader.read() == b""
        for _, writer in silent:
            writer.close()

    visit(test, connections_max=2)


class Slow:
    """Metrics that take as long as they are asked to."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = 0
        self.ended = 0

    async def render(
        self, local: QueueManager | None, service: ServiceMetrics, now: float
    ) -> bytes:
        self.begun += 1
        try:
            await self.gate.wait()
        finally:
            self.ended += 1
        return b"page %d" % self.begun


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    monkeypatch.setattr(console_http, "render", slow.render)
    monkeypatch.setattr(console_http, "HTTP_DRAIN_S", 0.05)
    return slow


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  # every turn of the loop counts
            await asyncio.sleep(0.001)


def test_who_is_just_being_answered_does_not_give_way(slow: Slow) -> None:
    async def test(visited: Visit) -> None:
        first = asyncio.create_task(visited.get("/metrics"))
        second = asyncio.create_task(visited.get("/metrics"))
        await until(lambda: len(visited.listener._busy) == 2)
        with pytest.raises(aiohttp.ClientConnectionError):
            await visited.get("/healthz")
        slow.gate.set()
        for waiting in (first, second):
            assert (await waiting).status == 200
        assert not visited.listener._busy
        assert (await visited.get("/healthz")).status == 503

    visit(test, connections_max=2)


def test_who_asks_at_the_same_time_gets_the_same_page(slow: Slow) -> None:
    async def test(visited: Visit) -> None:
        asking = [asyncio.create_task(visited.get("/metrics")) for _ in range(5)]
        await until(lambda: slow.begun)
        await asyncio.sleep(0.02)
        slow.gate.set()
        pages = [await (await response).text() for response in asking]
        assert pages == ["page 1"] * 5
        assert await (await visited.get("/metrics")).text() == "page 2"

    visit(test)


def test_one_who_goes_away_takes_nothing_from_the_others(slow: Slow) -> None:
    async def test(visited: Visit) -> None:
        asking = [asyncio.create_task(visited.get("/metrics")) for _ in range(2)]
        await until(lambda: slow.begun)
        asking[0].cancel()
        await asyncio.sleep(0.01)
        slow.gate.set()
        assert await (await asking[1]).text() == "page 1"

    visit(test)


def test_the_listener_closes_though_a_page_is_under_way(slow: Slow) -> None:
    async def test(visited: Visit) -> None:
        asking = asyncio.create_task(visited.get("/metrics"))
        await until(lambda: slow.begun)
        await visited.listener.stop("enough")
        assert slow.ended == 1
        with pytest.raises(aiohttp.ClientConnectionError):
            await asking

    visit(test)


# Opening and closing


def test_a_closed_listener_does_not_answer() -> None:
    async def test(visited: Visit) -> None:
        await visited.get("/healthz")
        await visited.listener.stop("enough")
        with pytest.raises(aiohttp.ClientConnectorError):
            await visited.get("/healthz")

    visit(test)


def test_a_listener_that_never_opened_can_be_closed() -> None:
    asyncio.run(ConsoleListener(ServiceMetrics()).stop(""))


def test_a_port_that_is_taken_is_reported_and_nothing_stays_open() -> None:
    cleaned: list[web.Application] = []

    async def clean(app: web.Application) -> None:
        cleaned.append(app)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = ConsoleListener(ServiceMetrics(), port=taken.getsockname()[1])
        listener.app.on_cleanup.append(clean)
        with pytest.raises(OSError, match="in use"):
            asyncio.run(listener.start())
    assert cleaned == [listener.app]


def test_the_listener_is_on_this_computer_by_default() -> None:
    async def test(visited: Visit) -> None:
        assert visited.address[0] == "127.0.0.1"
        assert visited.address[1] > 0

    visit(test)
