"""Streams: messages one after the other, taken ahead of the one who reads them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.client.adapter import Api
from tests.unit.client.services import Service

import openmsmq
from openmsmq import Manager, Queue, Stream, aio
from openmsmq.client._async import stream as stream_module
from openmsmq.client._async.backend import Completion, StreamBackend
from openmsmq.client._async.remote_parts import RemoteStream
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    StorageFull,
    TransactionSequence,
)


@pytest.fixture
def kept(api: Api, tmp_path: Path) -> Manager:
    return api.open(tmp_path)


@pytest.fixture
def queue(kept: Manager) -> Queue:
    return kept.create_queue("orders")


def texts(queue: Queue) -> list[str | None]:
    return [message.text for message in queue.peek_many(1000, timeout=0)]


def test_all_messages_come_in_order_and_are_gone(queue: Queue) -> None:
    sent = [str(number) for number in range(25)]
    queue.send_many(sent)
    with queue.stream(10, timeout=0) as stream:
        assert [message.text for message in stream] == sent
    assert queue.info().messages == 0


def test_no_more_are_held_than_was_allowed(queue: Queue) -> None:
    queue.send_many(map(str, range(25)))
    stream = queue.stream(10, timeout=0)
    next(stream)
    assert len(texts(queue)) == 15
    stream.close()


def test_a_pipelined_stream_removes_what_its_loop_has_seen(queue: Queue) -> None:
    sent = [str(number) for number in range(25)]
    queue.send_many(sent)
    with queue.stream(4, timeout=0, pipelined=True) as stream:
        assert [message.text for message in stream] == sent
    assert queue.info().messages == 0


def test_a_pipelined_loop_that_fails_returns_what_it_works_on(queue: Queue) -> None:
    queue.send_many(["a", "b", "c", "d"])

    def fail() -> None:
        with queue.stream(2, timeout=0, pipelined=True) as stream:
            for message in stream:
                if message.text == "d":
                    raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert texts(queue)[-1] == "d"
    assert "a" not in texts(queue)


def test_a_loop_that_breaks_off_keeps_what_it_has_seen(queue: Queue) -> None:
    queue.send_many(["a", "b", "c", "d"])
    with queue.stream(10, timeout=0) as stream:
        for message in stream:
            if message.text == "b":
                break
    assert texts(queue) == ["c", "d"]


def test_a_loop_that_fails_returns_what_is_not_removed_yet(queue: Queue) -> None:
    queue.send_many(["a", "b", "c", "d"])

    def fail() -> None:
        with queue.stream(2, timeout=0) as stream:
            for message in stream:
                if message.text == "d":
                    raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert texts(queue) == ["c", "d"]


def test_explicit_acknowledgement_removes_what_is_named(queue: Queue) -> None:
    queue.send_many(["a", "b", "c"])
    with queue.stream(10, timeout=0, explicit=True) as stream:
        messages = list(stream)
        stream.acknowledge(messages[1])
    assert texts(queue) == ["a", "c"]


def test_without_names_all_that_was_given_is_acknowledged(queue: Queue) -> None:
    queue.send_many(["a", "b", "c"])
    with queue.stream(10, timeout=0, explicit=True) as stream:
        next(stream), next(stream)
        stream.acknowledge()
        stream.acknowledge()  # there is nothing left to acknowledge
    assert texts(queue) == ["c"]


@pytest.mark.parametrize(("fails", "left"), [(False, []), (True, [("a", 1)])], ids=str)
def test_acknowledged_in_a_transaction_they_go_with_it(
    kept: Manager, fails: bool, left: list[tuple[str, int]]
) -> None:
    queue = kept.create_queue("ledger", transactional=True)
    with kept.transaction() as transaction:
        queue.send("a", transaction=transaction)
    stream: Stream = queue.stream(timeout=0, explicit=True)
    message = next(stream)
    transaction = kept.transaction()
    stream.acknowledge(message, transaction=transaction)
    if fails:
        transaction.abort()
    else:
        transaction.commit()
    stream.close()
    assert [(m.text, m.abort_count) for m in queue.peek_many(9, timeout=0)] == left


def test_what_was_returned_cannot_be_acknowledged(queue: Queue) -> None:
    queue.send("a")
    stream = queue.stream(timeout=0, explicit=True)
    message = next(stream)
    stream.close()
    with pytest.raises(InvalidHandle):
        stream.acknowledge(message)
    stream.acknowledge()
    assert texts(queue) == ["a"]


def test_a_stream_waits_for_messages(tmp_path: Path) -> None:
    async def main() -> list[str | None]:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")

            async def send() -> None:
                for text in ("a", "b"):
                    await asyncio.sleep(0.01)
                    await queue.send(text)

            sending = asyncio.create_task(send())
            found = []
            async with queue.stream(timeout=0.3) as stream:
                async for message in stream:
                    found.append(message.text)
            await sending
            return found

    assert asyncio.run(main()) == ["a", "b"]


def test_a_cancelled_wait_takes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            stream = queue.stream()
            reading = asyncio.ensure_future(stream.__anext__())
            await asyncio.sleep(0.01)
            await queue.send(openmsmq.Message("x", recoverable=False))
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert (await queue.receive(timeout=0)).text == "x"

    asyncio.run(main())


def test_a_cancelled_acknowledgement_is_carried_out_and_the_stream_closes(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            await queue.send_many(["a", "b"])
            stream = queue.stream(timeout=0, explicit=True)
            await anext(stream)
            acknowledging = asyncio.ensure_future(stream.acknowledge())
            await asyncio.sleep(0)
            acknowledging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await acknowledging
            await stream.close()
            assert [message.text for message in await queue.receive_many(9, timeout=0)] == ["b"]

    asyncio.run(main())


def test_a_cancelled_acknowledgement_makes_room_for_more(service: Service) -> None:
    async def main() -> None:
        async with aio.connect(service.address) as manager:
            queue = await manager.create_queue("orders")
            await queue.send_many(["a", "b", "c"])
            stream = queue.stream(1, timeout=5, explicit=True)
            for text in "ab":
                assert (await anext(stream)).text == text
                acknowledging = asyncio.ensure_future(stream.acknowledge())
                await asyncio.sleep(0)
                acknowledging.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await acknowledging
            assert (await anext(stream)).text == "c"
            await stream.close()

    asyncio.run(main())


def test_what_could_not_be_acknowledged_is_returned(queue: Queue, kept: Manager) -> None:
    queue.send_many(["a", "b"])
    over = kept.transaction()
    over.commit()
    stream = queue.stream(timeout=0, explicit=True)
    next(stream)
    with pytest.raises(TransactionSequence):
        stream.acknowledge(transaction=over)
    stream.close()
    assert texts(queue) == ["a", "b"]


def test_a_stream_that_was_not_begun_has_nothing_to_return(queue: Queue) -> None:
    queue.send("a")
    queue.stream().close()
    with queue.stream(timeout=0, explicit=True):
        pass
    assert texts(queue) == ["a"]


def test_a_removal_that_fails_is_heard_of_by_the_next_step(tmp_path: Path) -> None:
    """Its messages are returned when the stream is closed."""

    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            await queue.send_many(["a", "b", "c"])
            stream = queue.stream(1, timeout=0, pipelined=True)
            backend = await queue._backend.open_stream(queue._handle, 1)
            stream._stream = Failing(backend)
            assert (await anext(stream)).text == "a"
            assert (await anext(stream)).text == "b"
            with pytest.raises(StorageFull):
                await anext(stream)
            await stream.close()
            found = [message.text for message in await queue.receive_many(9, timeout=0)]
            assert found == ["a", "b", "c"]

    asyncio.run(main())


class Failing:
    """A stream whose removals fail."""

    def __init__(self, stream: StreamBackend) -> None:
        self.next, self.end, self.close = stream.next, stream.end, stream.close
        self.come_within = stream.come_within

    async def begin_removal(self, lookups: list[int]) -> Completion:
        async def fail() -> None:
            raise StorageFull("no room")

        return fail


def test_what_a_pipelined_loop_gets_within_a_moment_is_removed_together(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And at the latest when half of what may be held is seen."""
    monkeypatch.setattr(stream_module, "MOMENT_S", 1e9)  # longer than any machine is up
    removed: list[int] = []
    begin_removal = RemoteStream.begin_removal

    async def noted(stream: RemoteStream, lookups: list[int]) -> Completion:
        removed.append(len(lookups))
        return await begin_removal(stream, lookups)

    monkeypatch.setattr(RemoteStream, "begin_removal", noted)

    async def main() -> None:
        async with aio.connect(service.address) as manager:
            queue = await manager.create_queue("orders")
            async with queue.stream(8, pipelined=True) as stream:
                for number in range(12):
                    await queue.send(str(number))
                    assert (await anext(stream)).text == str(number)
                    assert len(removed) == (number + 3) // 4
            assert sum(removed) < 12
            assert (await queue.info()).messages == 0

    asyncio.run(main())
    assert removed == [1, 4, 4]


def test_what_cannot_be_is_refused(kept: Manager, queue: Queue) -> None:
    with pytest.raises(InvalidParameter, match="pipelined"):
        queue.stream(explicit=True, pipelined=True)
    with pytest.raises(InvalidParameter, match="prefetch 0"):
        queue.stream(0)
    with pytest.raises(AccessDenied):
        kept.open_queue("orders", access=openmsmq.Access.PEEK).stream()
