"""Channels that threads share: who reads, who writes, and what an interruption leaves.

What they have in common with those for asyncio is in `test_channel_aio.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from tests.unit.client.adapter import PATIENCE, start
from tests.unit.client.fakes import Line, Peer, messages

from openmsmq.app_protocol.calls import encode_error
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.payloads import Action, Cancel, End
from openmsmq.client._sync.channel import Channel
from openmsmq.client.requests import Deliveries
from openmsmq.errors import ConnectionLost, OperationCancelled, ReceiveTimeout

LARGE = 5 << 20


@pytest.fixture
def sync_line() -> Iterator[Line]:
    made = Line(is_async=False)
    yield made
    made.close()


@pytest.fixture
def open_channel(sync_line: Line) -> tuple[Channel, Peer]:
    return sync_line.welcomed()


def test_one_waits_for_ever_while_others_work(open_channel: tuple[Channel, Peer]) -> None:
    """The one that waits reads for the others; none of its messages is lost."""
    channel, peer = open_channel
    waiting = start(lambda: channel.read(b"", wait=None))
    read = peer.request()
    for number in range(50):
        asked = start(lambda: channel.request(Kind.CALL))
        peer.answer(Kind.ANSWER, peer.request().id, bytes([number]))
        assert asked.result(PATIENCE).payload == bytes([number])
    peer.answer(Kind.MESSAGES, read.id, b"found")
    assert waiting.result(PATIENCE).payload == b"found"


def test_when_the_reader_has_its_answer_another_reads(open_channel: tuple[Channel, Peer]) -> None:
    channel, peer = open_channel
    waiting = []
    reads = []
    for _ in range(4):
        waiting.append(start(lambda: channel.read(b"", wait=None)))
        reads.append(peer.request())
    for found, read in zip(waiting, reads, strict=True):
        peer.answer(Kind.MESSAGES, read.id)
        found.result(PATIENCE)


def test_many_threads_share_it(open_channel: tuple[Channel, Peer]) -> None:
    channel, peer = open_channel
    wrong: list[bytes] = []

    def work(name: int) -> None:
        for number in range(100):
            payload = bytes([name, number]) * 100
            if channel.request(Kind.CALL, payload).payload != payload:
                wrong.append(payload)

    def serve() -> None:
        for _ in range(800):
            request = peer.request()
            peer.answer(Kind.ANSWER, request.id, request.payload)

    serving = start(serve)
    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    serving.result(PATIENCE)
    assert not wrong


def test_a_time_limit_of_one_does_not_hurry_others(open_channel: tuple[Channel, Peer]) -> None:
    """A thread that hardly waits reads while another sends what is not taken for long."""
    channel, peer = open_channel
    sending = start(lambda: channel.request(Kind.CALL, b"x" * LARGE))
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        with pytest.raises(ReceiveTimeout):
            channel.next(Deliveries(), 0.001)
    request = peer.request()
    assert len(request.payload) == LARGE
    peer.answer(Kind.ANSWER, request.id)
    sending.result(PATIENCE)


def test_what_the_other_side_does_not_take_ends_the_connection(
    sync_line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openmsmq.client._sync.channel.SLOW", 0.1)
    channel, _ = sync_line.welcomed(patience=0.1)
    with pytest.raises(ConnectionLost, match="the other side takes nothing"):
        channel.request(Kind.CALL, b"x" * LARGE, wait=PATIENCE)
    assert not channel.is_open


def test_an_end_that_came_while_no_one_read_is_seen(open_channel: tuple[Channel, Peer]) -> None:
    """So that what must not be done twice is not tried on a dead connection."""
    channel, peer = open_channel
    assert channel.is_open
    peer.socket.close()
    assert not channel.is_open


def test_to_close_it_wakes_the_reader_and_the_others(open_channel: tuple[Channel, Peer]) -> None:
    channel, peer = open_channel
    waiting = [start(lambda: channel.read(b"", wait=None)) for _ in range(3)]
    for _ in waiting:
        peer.request()
    channel.aclose()
    for found in waiting:
        with pytest.raises(OperationCancelled):
            found.result(PATIENCE)


def interrupt(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes while the socket is waited for, once."""
    wait = channel._wire.wait_to_receive

    def interrupted(seconds: float, *, or_to_send: bool = False) -> bool:
        monkeypatch.setattr(channel._wire, "wait_to_receive", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(channel._wire, "wait_to_receive", interrupted)


@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "too late"])
def test_an_interrupted_receive_takes_nothing(
    open_channel: tuple[Channel, Peer], monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    channel, peer = open_channel
    interrupt(channel, monkeypatch)
    reading = start(lambda: channel.read(b"", wait=None, held=3))
    read = peer.request()
    cancel = peer.request()
    assert Cancel.decode(cancel.payload).request == read.id
    if is_late:
        peer.answer(Kind.MESSAGES, read.id, messages(10))
    else:
        peer.answer(Kind.ERROR, read.id, encode_error(OperationCancelled()))
    peer.answer(Kind.DONE, cancel.id)
    if is_late:
        end = peer.request()
        assert End.decode(end.payload) == End(3, 0, Action.RETURN, (10,))
        peer.answer(Kind.DONE, end.id)
    with pytest.raises(KeyboardInterrupt):
        reading.result(PATIENCE)
    assert channel.is_open


def test_an_interrupted_receive_on_a_dead_connection_is_just_interrupted(
    open_channel: tuple[Channel, Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, peer = open_channel
    interrupt(channel, monkeypatch)
    reading = start(lambda: channel.read(b"", wait=None, held=3))
    peer.request()
    peer.request()
    peer.socket.close()
    with pytest.raises(KeyboardInterrupt):
        reading.result(PATIENCE)


def test_an_interruption_within_a_frame_ends_the_connection(
    open_channel: tuple[Channel, Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No one knows how much of it was sent, or what came: the next frame would not be one."""
    channel, peer = open_channel

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(channel._wire, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        channel.request(Kind.CALL)
    assert not channel.is_open
    assert peer.is_left()


def test_an_interruption_while_something_comes_ends_the_connection(
    open_channel: tuple[Channel, Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, peer = open_channel

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(channel._link, "receive_data", interrupted)
    asked = start(lambda: channel.request(Kind.CALL))
    peer.answer(Kind.ANSWER, peer.request().id)
    with pytest.raises(KeyboardInterrupt):
        asked.result(PATIENCE)
    assert not channel.is_open
    assert peer.is_left()


@pytest.mark.parametrize("call", ["send", "receive"])
def test_a_socket_that_fails_is_a_lost_connection(
    open_channel: tuple[Channel, Peer], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    channel, peer = open_channel

    def fail(*_: object) -> None:
        raise ConnectionResetError("reset by peer")

    monkeypatch.setattr(channel._wire, call, fail)
    asked = start(lambda: channel.request(Kind.CALL))
    if call == "receive":
        peer.answer(Kind.ANSWER, peer.request().id)
    with pytest.raises(ConnectionLost, match="reset by peer"):
        asked.result(PATIENCE)
