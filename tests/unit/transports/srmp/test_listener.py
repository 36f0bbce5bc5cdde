"""The HTTP listener: what is answered to whom, and what strangers cannot do."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.soap import FOLDER, envelope, examples, msmq
from tests.unit.transports.srmp.http_peer import Site, at_site

from openmsmq.soap.kinds import SoapKind
from openmsmq.transports.srmp import listener as module
from openmsmq.transports.srmp.limits import REQUEST_SIZE_MAX
from openmsmq.transports.srmp.listener import (
    TOO_BUSY,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
)
from openmsmq.transports.srmp.outcomes import SrmpOutcome

PLAIN = envelope(msmq())
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
BOMB = f'<!DOCTYPE l [<!ENTITY l0 "lol">{LAUGHS}]><l>&l19;</l>'.encode()


def request(content: bytes = PLAIN, *, head: str = "", target: str = "/msmq/private$/q") -> bytes:
    """A POST with its length, unless `head` says otherwise."""
    head = head or f"Content-Length: {len(content)}\r\nContent-Type: text/xml\r\n"
    return f"POST {target} HTTP/1.1\r\nHost: m\r\n{head}\r\n".encode() + content


def status(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_the_printed_requests_get_the_printed_answers(example) -> None:  # type: ignore[no-untyped-def]
    """SRMP-003, SRMP-014, SRMP-047: byte for byte, as they are printed."""
    if "4.5" in example.name:
        return  # it goes by multicast, and is no HTTP

    async def test(site: Site) -> None:
        answer = await site.say((FOLDER / example.name).read_bytes())
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nContent-Length: 0\r\n" in answer
        assert b"Content-Type" not in answer
        assert len(site.posts) == 1
        assert site.sources[0].address == "127.0.0.1"

    at_site(test)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_posts_a_message(tmp_path: Path) -> None:
    """SRMP-003: also by a client of another make, with a body that makes it ask first (Expect)."""
    path = tmp_path / "message.xml"
    path.write_bytes(PLAIN)

    async def test(site: Site) -> None:
        url = f"http://127.0.0.1:{site.port}/msmq/private$/orders"
        command = ["curl", "-s", "-o", "-", "-w", "%{http_code}", "--data-binary", f"@{path}", url]
        expect = ["-H", "Content-Type: text/xml", "-H", "Expect: 100-continue"]
        run = asyncio.to_thread(subprocess.run, [*command, *expect], capture_output=True)
        done = await run
        assert done.stdout == b"200"
        assert site.posts[0].kind is SoapKind.USER

    at_site(test)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (SrmpOutcome.DUPLICATE, 200),
        (SrmpOutcome.UNKNOWN_QUEUE, 400),
        (SrmpOutcome.MACHINE_FULL, 500),
        (SrmpOutcome.BUSY, 503),
        (RuntimeError("ours"), 500),
    ],
)
def test_the_answer_says_what_became_of_the_message(
    outcome: SrmpOutcome | Exception, expected: int
) -> None:
    """SRMP-052, SRMP-170, SRMP-195: our own mistake keeps the message with its sender."""

    async def test(site: Site) -> None:
        site.outcome = outcome
        assert status(await site.say(request())) == expected

    at_site(test)


def test_many_messages_come_by_one_connection() -> None:
    """SRMP-001: HTTP/1.1 with connections that stay."""

    async def test(site: Site) -> None:
        stranger = await site.connect()
        for _ in range(20):
            assert status(await stranger.say(request())) == 200
        stranger.close()
        assert len(site.posts) == 20

    at_site(test)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (request(b"<a/>"), 400),
        (request(BOMB), 400),
        (request(PLAIN, head=f"Content-Length: {len(PLAIN)}\r\n"), 400),
        (request(target="/"), 404),
        (request(target="/other/q"), 404),
        (b"GET /msmq/private$/q HTTP/1.1\r\nHost: m\r\n\r\n", 405),
        (request(b"", head="Content-Length: 99999999999\r\nContent-Type: text/xml\r\n"), 400),
        (request(b"", head="Content-Length: -1\r\n"), 400),
        (request(b"", head="Content-Length: 5\r\nContent-Length: 6\r\n"), 400),
        (request(b"0\r\n\r\n", head="Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400),
        (request(b"0\r\n\r\n", head="Transfer-Encoding: chunked, identity\r\n"), 400),
        (request(b"zz\r\n\r\n", head="Transfer-Encoding: chunked\r\n"), 400),
        (request(b"", head=f"X: {'y' * 20_000}\r\n"), 400),
        (request(b"", head="".join(f"X{n}: y\r\n" for n in range(500))), 400),
        (b"POST /msmq/" + b"x" * 20_000, 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"SSH-2.0-OpenSSH\r\n\r\n", 400),
    ],
)
def test_requests_of_hostile_shape_are_refused(data: bytes, expected: int) -> None:
    """SRMP-052: entity bombs, smuggled lengths, endless headers, and other protocols."""

    async def test(site: Site) -> None:
        assert status(await site.say(data)) == expected
        assert site.posts == []
        assert status(await site.say(request())) == 200

    at_site(test)


def test_compressed_content_is_refused_and_never_unpacked() -> None:
    async def test(site: Site) -> None:
        bomb = gzip.compress(bytes(10 << 20))
        head = f"Content-Length: {len(bomb)}\r\nContent-Encoding: gzip\r\n"
        assert status(await site.say(request(bomb, head=head))) == 415

    at_site(test)


def test_a_chunked_message_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REQUEST_SIZE_MAX", 10_000)

    async def test(site: Site) -> None:
        head = "Transfer-Encoding: chunked\r\nContent-Type: text/xml\r\n"
        whole = f"{len(PLAIN):x}\r\n".encode() + PLAIN + b"\r\n0\r\n\r\n"
        assert status(await site.say(request(whole, head=head))) == 200
        chunk = b"400\r\n" + bytes(1024) + b"\r\n"
        assert status(await site.say(request(chunk * 100, head=head))) == 400
        assert site.listener.counts[TOO_LARGE] == 1
        assert len(site.posts) == 1

    at_site(test)


def test_a_message_of_the_largest_size_is_taken() -> None:
    """SRMP-022."""

    async def test(site: Site) -> None:
        boundary = "multipart/related; boundary=b"
        body = bytes(4_000_000)
        parts = (
            b"--b\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n" % len(PLAIN)
            + PLAIN
            + b"--b\r\nContent-Length: %d\r\nContent-Id: body@x\r\n\r\n" % len(body)
            + body
            + b"--b--\r\n"
        )
        head = f"Content-Length: {len(parts)}\r\nContent-Type: {boundary}\r\n"
        assert status(await site.say(request(parts, head=head))) == 200
        assert len(parts) < REQUEST_SIZE_MAX

    at_site(test)


def test_a_request_that_never_ends_is_given_up() -> None:
    async def test(site: Site) -> None:
        head = "Content-Length: 100\r\nContent-Type: text/xml\r\n"
        assert status(await site.say(request(b"<", head=head))) == 408
        chunked = "Transfer-Encoding: chunked\r\n"
        assert status(await site.say(request(b"1\r\n<\r\n", head=chunked))) == 408
        assert site.listener.counts[TOO_SLOW] == 2

    at_site(test, read_s=0.2)


def test_requests_in_memory_are_bounded_by_what_they_announce() -> None:
    """Others are asked to come again, and are served when there is room."""

    async def test(site: Site) -> None:
        site.gate = asyncio.Event()
        first = asyncio.create_task(site.say(request()))
        await asyncio.sleep(0.1)
        answer = await site.say(request())
        assert status(answer) == 503
        assert b"Retry-After: 5" in answer
        assert site.listener.counts[TOO_BUSY] == 1
        site.gate.set()
        assert status(await first) == 200
        assert status(await site.say(request())) == 200

    at_site(test, buffer_size_max=len(PLAIN) * 3 // 2)


def test_slow_and_silent_connections_keep_no_one_out() -> None:
    """Many more than may connect: those that finish a request are served."""

    async def test(site: Site) -> None:
        head = "Content-Length: 100\r\nContent-Type: text/xml\r\n"
        strangers = [await site.connect() for _ in range(30)]
        for stranger in strangers[::2]:
            stranger.writer.write(request(b"<", head=head))
        for stranger in strangers[1::2]:
            stranger.writer.write(b"POST /msmq/q HT")
        await asyncio.sleep(0.1)
        for _ in range(5):
            assert status(await site.say(request())) == 200
        assert site.listener.counts[TOO_MANY] >= 20
        for stranger in strangers:
            stranger.close()

    at_site(test, connections_max=10)


def test_a_message_that_is_being_stored_is_not_cut_off() -> None:
    async def test(site: Site) -> None:
        site.gate = asyncio.Event()
        first = asyncio.create_task(site.say(request()))
        await asyncio.sleep(0.1)
        with suppress(ConnectionError):
            assert await asyncio.wait_for(site.say(request()), 5) == b""
        site.gate.set()
        assert status(await first) == 200

    at_site(test, connections_max=1)


def test_a_malformed_message_is_counted() -> None:
    async def test(site: Site) -> None:
        await site.say(request(b"<a/>"))
        assert site.listener.counts["malformed"] == 1
        await site.say(request())
        assert site.listener.counts["stored"] == 1

    at_site(test)


def test_an_address_that_is_taken_is_reported() -> None:
    async def test(site: Site) -> None:
        other = Site(port=site.port)
        with pytest.raises(OSError, match="cannot listen"):
            await other.listener.start()

    at_site(test)


@pytest.mark.parametrize(
    "hidden",
    [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\n Content-Length: 0\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 4, 0\r\n",
    ],
)
def test_no_request_is_smuggled_behind_another(hidden: str) -> None:
    """Two readers of these heads could disagree where the request ends: it is refused.

    What follows on the connection is not read as a second request.
    """

    async def test(site: Site) -> None:
        stranger = await site.connect()
        first = request(b"0\r\n\r\n" + request(), head=f"Content-Type: text/xml\r\n{hidden}")
        assert status(await stranger.say(first)) == 400
        assert b"HTTP/1.1" not in await stranger.reader.read()
        stranger.close()
        assert site.posts == []

    at_site(test)


def test_100_mb_of_headers_are_refused_at_once() -> None:
    """A stranger that writes on and on is answered and cut off after a few kilobytes."""

    async def test(site: Site) -> None:
        stranger = await site.connect()
        written = 0
        with suppress(ConnectionError):
            stranger.writer.write(b"POST /msmq/private$/q HTTP/1.1\r\nHost: m\r\n")
            line = b"X-Filler: " + b"y" * 4000 + b"\r\n"
            while written < 100 << 20:
                stranger.writer.write(line * 16)
                written += 16 * len(line)
                async with asyncio.timeout(20):
                    await stranger.writer.drain()
                await asyncio.sleep(0)
        assert written < 20 << 20
        stranger.close()
        assert status(await site.say(request())) == 200

    at_site(test)


def test_a_head_that_drips_in_gives_way_to_others() -> None:
    """Slow loris: connections whose head never ends are the first to be closed for new ones."""

    async def test(site: Site) -> None:
        strangers = [await site.connect() for _ in range(10)]
        for stranger in strangers:
            stranger.writer.write(b"POST /msmq/private$/q HTTP/1.1\r\n")
        for number in range(20):
            for stranger in strangers:
                with suppress(ConnectionError):
                    stranger.writer.write(b"X-%d: y\r\n" % number)
            assert status(await site.say(request())) == 200
        for stranger in strangers:
            stranger.close()

    at_site(test, connections_max=10)


def test_a_chunked_body_that_drips_in_for_ever_is_given_up() -> None:
    """The time for a request counts from its head, not from its last byte."""

    async def test(site: Site) -> None:
        stranger = await site.connect()
        head = "Transfer-Encoding: chunked\r\nContent-Type: text/xml\r\n"
        stranger.writer.write(request(b"", head=head))
        answered = asyncio.create_task(stranger.reader.readuntil(b"\r\n\r\n"))
        while not answered.done():
            with suppress(ConnectionError):
                stranger.writer.write(b"1\r\n<\r\n")
            await asyncio.sleep(0.05)
        assert status(answered.result()) == 408
        stranger.close()

    at_site(test, read_s=0.5)
