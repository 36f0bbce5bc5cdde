"""The HTTP client: what is sent, and what is made of answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.certificates import make_certificates
from tests.soap import MANAGER, Example, examples
from tests.unit.transports.srmp.http_peer import Site, at_site

from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.soap.mime import split_content
from openmsmq.soap.packets import read_message
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.client import ClientSettings, DestinationSettings, SrmpClient
from openmsmq.transports.srmp.exchange import receipt_request, request_for
from openmsmq.transports.srmp.outcomes import SrmpOutcome


def message(port: int, body: bytes = b"<order/>", number: int = 7) -> Request:
    queue = parse_format_name(f"DIRECT=HTTP://127.0.0.1:{port}/msmq/private$/orders")
    packet = PacketBuilder(MANAGER, queue).build(body, label="order 1", message_id=number)
    return request_for(PacketView(packet), manager=MANAGER, receipts_to="")


def with_client(
    test: Callable[[Site, SrmpClient], Awaitable[None]], *, answer_s: float = 20
) -> None:
    async def run(site: Site) -> None:
        client = SrmpClient(answer_s=answer_s)
        try:
            await test(site, client)
        finally:
            await client.close()

    at_site(run)


def test_a_message_arrives_as_it_was_posted() -> None:
    """SRMP-001 to SRMP-003, SRMP-007, SRMP-012: at the host and port of its address."""

    async def test(site: Site, client: SrmpClient) -> None:
        for number in range(1, 6):
            assert await client.post(message(site.port, b"x" * number, number)) == (200, "")
        views = [PacketView(post.packet) for post in site.posts]
        assert [(view.message_id, view.body) for view in views] == [
            (number, b"x" * number) for number in range(1, 6)
        ]
        assert views[0].label == "order 1"

    with_client(test)


@pytest.mark.parametrize("example", [e for e in examples() if "4.3-c" in e.name])
def test_the_request_has_the_bytes_of_windows(example: Example) -> None:
    """SRMP-013: nothing is added to the headers of the printed request."""

    async def test() -> None:
        heads: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            await reader.readexactly(len(example.content))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        receipt = read_message(split_content(example.content_type, example.content)).envelope
        request = receipt_request(receipt)
        here = Request(request.target, f"127.0.0.1:{port}", request.content_type, request.content)
        client = SrmpClient()
        assert (await client.post(here)).status == 200
        await client.close()
        server.close()
        printed = [f"{name}: {value}" for name, value in example.expected["headers"]]
        printed[0] = f"Host: 127.0.0.1:{port}"
        target = example.expected["request"]["target"]
        assert heads[0].decode().split("\r\n")[:-2] == [f"POST {target} HTTP/1.1", *printed]

    asyncio.run(test())


def test_the_status_is_that_of_the_answer() -> None:
    """SRMP-009: whatever it is; redirects are not followed."""

    async def test(site: Site, client: SrmpClient) -> None:
        for outcome, status in (
            (SrmpOutcome.UNKNOWN_QUEUE, 400),
            (SrmpOutcome.FAILED, 500),
            (SrmpOutcome.STORED, 200),
        ):
            site.outcome = outcome
            assert (await client.post(message(site.port))).status == status

    with_client(test)


def test_no_answer_is_reported_with_its_reason() -> None:
    """SRMP-009, SRMP-238: refused connections, time-outs and broken answers."""

    async def test(site: Site, client: SrmpClient) -> None:
        site.gate = asyncio.Event()
        found = await client.post(message(site.port))
        assert found.status is None
        assert "no answer" in found.error
        site.gate.set()
        unanswered = await client.post(message(1))
        assert unanswered.status is None
        assert "127.0.0.1" in unanswered.error

    with_client(test, answer_s=0.3)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
    ],
)
def test_a_broken_answer_is_none(answer: bytes) -> None:
    async def test() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = SrmpClient(answer_s=5)
        found = await client.post(message(server.sockets[0].getsockname()[1]))
        await client.close()
        server.close()
        assert found.status is None
        assert found.error

    asyncio.run(test())


def test_an_endless_answer_is_not_read() -> None:
    """The status is all that counts; the connection is closed."""

    async def test() -> None:
        closed = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + bytes(100_000))
            with suppress(ConnectionError):
                while True:
                    writer.write(bytes(100_000))
                    await writer.drain()
            closed.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = SrmpClient(answer_s=5)
        found = await client.post(message(server.sockets[0].getsockname()[1]))
        assert found.status == 200
        await asyncio.wait_for(closed.wait(), 20)
        await client.close()
        server.close()

    asyncio.run(test())


def test_https_proves_both_sides_with_certificates(tmp_path: Path) -> None:
    """SRMP-004, SRMP-008, SRMP-318: a private authority, and the certificate of the sender."""
    make_certificates(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.load_verify_locations(tmp_path / "ca.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    trusting = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    trusting.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    anonymous = ssl.create_default_context(cafile=tmp_path / "ca.pem")

    async def test(site: Site) -> None:
        request = message(site.port)
        clients = [
            SrmpClient(ClientSettings(DestinationSettings(tls=tls)), answer_s=10)
            for tls in (trusting, anonymous, None)
        ]
        found = [await client.post(request, is_secure=True) for client in clients]
        plain = await clients[0].post(request)
        for client in clients:
            await client.close()
        assert found[0].status == 200
        assert [result.status for result in found[1:]] == [None, None]
        assert "certificate" in found[2].error.lower()
        assert plain.status is None
        pem = (tmp_path / "client.pem").read_text()
        certificate = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN") :])
        assert [source.certificate for source in site.sources] == [certificate]

    at_site(test, tls=server)


@pytest.mark.parametrize(
    ("usual", "own", "is_asked"),
    [(None, None, True), ("none", None, False), ("given", None, True), ("given", "none", False)],
)
def test_a_proxy_is_that_of_the_destination_or_the_configuration_or_the_environment(
    usual: str | None, own: str | None, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the whole URL of the destination."""

    async def test() -> None:
        lines: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lines.append(await reader.readline())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()

        proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
        host = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("http_proxy", url if usual is None else "http://127.0.0.1:9")
        port = host.sockets[0].getsockname()[1]
        settings = ClientSettings(DestinationSettings(url if usual == "given" else usual))
        if own is not None:
            settings = settings._replace(by_host={f"127.0.0.1:{port}": DestinationSettings(own)})
        client = SrmpClient(settings, answer_s=5)
        found = await client.post(message(port))
        await client.close()
        proxy.close()
        host.close()
        assert found.status == 200
        assert [b"http://" in line for line in lines] == [is_asked]

    asyncio.run(test())


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_proxy_gets_the_user_and_the_password_of_its_url(is_secure: bool) -> None:
    """With the request, or before it connects for TLS."""

    async def test() -> None:
        heads: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()

        proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://me:secret@127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        client = SrmpClient(ClientSettings(DestinationSettings(url)), answer_s=5)
        found = await client.post(message(9), is_secure=is_secure)
        await client.close()
        proxy.close()
        assert is_secure or found.status == 200
        assert heads[0].startswith(b"CONNECT" if is_secure else b"POST")
        assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in heads[0]

    asyncio.run(test())


@pytest.mark.parametrize("excluded", ["127.0.0.1", "*"])
def test_the_environment_can_exclude_hosts_from_the_proxy(
    excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", excluded)

    async def test(site: Site) -> None:
        client = SrmpClient(answer_s=5)
        assert (await client.post(message(site.port))).status == 200
        await client.close()

    at_site(test)


def test_settings_of_a_destination_are_found_by_host_or_host_and_port() -> None:
    one, two, usual = (DestinationSettings(posts_max=count) for count in (1, 2, 3))
    settings = ClientSettings(usual, {"there": one, "there:81": two, "[::1]": two})
    hosts = ("There:80", "there:81", "there", "elsewhere", "[::1]:80")
    assert [settings.of(host).posts_max for host in hosts] == [1, 2, 1, 3, 2]
