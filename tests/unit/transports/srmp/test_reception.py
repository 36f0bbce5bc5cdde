"""Messages that were posted, put into queues."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from tests.soap import envelope, msmq
from tests.unit.engine.world import OWNER, HandClock

from openmsmq.engine.arrivals.arrival import ArrivalOutcome, Origin, Refused
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.storage.layout import Owed, Record
from openmsmq.errors import StorageFull
from openmsmq.packet.view import PacketView
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.srmp.exchange import PostSource, SrmpPost, read_post
from openmsmq.transports.srmp.outcomes import SrmpOutcome
from openmsmq.transports.srmp.reception import WaitingPost
from openmsmq.transports.srmp.service import SrmpService

HOST = b"http://here/msmq/private$/"
HERE = envelope(msmq()).replace(b"http://machine2/msmq/private$/orders", HOST + b"plain")
DURABLE = b'<services se:mustUnderstand="1"><durable/></services>'
ANYONE = PostSource("192.0.2.7")
GUID = "caf195ea-615c-4264-ae08-11a4e60194c0"


class Place:
    """A manager with a plain and a transactional queue, and its reception."""

    def __init__(self) -> None:
        self.clock = HandClock(1184814700)
        self.local = QueueManager(MemoryStore(), self.clock, name="here")
        self.driver = LoopDriver(self.local, self.local.clock)
        self.service = SrmpService(self.local, self.driver, self.clock, host="127.0.0.1", port=0)
        self.driver.call(lambda: self.service.begin("127.0.0.1", 80))
        assert self.service.reception is not None
        self.reception = self.service.reception

    async def take(self, data: bytes, source: PostSource = ANYONE) -> SrmpOutcome:
        return await self.service.take(post(data), source)


def post(data: bytes) -> SrmpPost:
    return read_post("text/xml", data, arrived=1184814700)


def at_place(test: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        place = Place()
        for name in ("plain", "ordered"):
            transactional = name == "ordered"
            await place.driver.wait(
                lambda name=name, transactional=transactional: place.local.create_queue(  # type: ignore[misc]
                    f".\\private$\\{name}", transactional=transactional
                )
            )
        try:
            await test(place)
        finally:
            await place.driver.close()

    asyncio.run(run())


def durable(data: bytes = HERE) -> bytes:
    return data.replace(b"<Msmq", DURABLE + b"<Msmq", 1)


def records(place: Place, name: str = "plain") -> list[Record]:
    queue = place.local.find_queue(name)
    found = place.local.receiver.peek(queue, 100, OWNER, wait=False).result()
    return [Record.unpack(entry.record) for entry in found]


def messages(place: Place, name: str = "plain") -> int:
    queue = place.local.find_queue(name)
    return queue.messages + len(queue.express)


@pytest.mark.parametrize("data", [HERE, durable()])
def test_the_record_says_that_a_message_came_over_http(data: bytes) -> None:
    """Remote readers get the SRMP headers of these messages only."""

    async def test(place: Place) -> None:
        await place.take(data)
        assert [record.flags & Owed.SRMP for record in records(place)] == [Owed.SRMP]

    at_place(test)


@pytest.mark.parametrize("data", [HERE, durable()])
def test_a_message_is_in_its_queue_when_it_is_answered(data: bytes) -> None:
    """SRMP-084, SRMP-184, SRMP-193."""

    async def test(place: Place) -> None:
        assert await place.take(data) is SrmpOutcome.STORED
        assert messages(place) == 1

    at_place(test)


@pytest.mark.parametrize("data", [HERE, durable()])
def test_a_manager_that_is_offline_takes_nothing_over_http(data: bytes) -> None:
    """SYS-043: the sender is to try again."""

    async def test(place: Place) -> None:
        place.driver.call(place.local.dispatcher.take_offline)
        assert await place.take(data) is SrmpOutcome.BUSY
        assert messages(place) == 0
        place.driver.call(place.local.dispatcher.bring_online)
        assert await place.take(data) is SrmpOutcome.STORED

    at_place(test)


@pytest.mark.parametrize("data", [HERE, durable()])
def test_a_message_that_comes_again_is_not_put_there_twice(data: bytes) -> None:
    """SRMP-187, SRMP-188: for the one who posted it first; others cannot suppress it."""

    async def test(place: Place) -> None:
        for _ in range(3):
            assert await place.take(data) is SrmpOutcome.STORED
        assert messages(place) == 1
        await place.take(data, PostSource("198.51.100.9"))
        await place.take(data, PostSource("192.0.2.7", b"certificate"))
        assert messages(place) == 3

    at_place(test)


def test_messages_without_identifier_are_never_duplicates() -> None:
    """SRMP-186."""

    async def test(place: Place) -> None:
        bare = HERE.replace(msmq().encode(), b"").replace(b"20380119", b"20300119")
        for _ in range(3):
            assert await place.take(bare) is SrmpOutcome.STORED
        assert messages(place) == 3

    at_place(test)


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (HERE.replace(b"private$/plain", b"private$/nowhere"), SrmpOutcome.UNKNOWN_QUEUE),
        (HERE.replace(b"private$/plain", b"private$/order_queue$"), SrmpOutcome.UNKNOWN_QUEUE),
        (HERE.replace(b"private$/plain", b"SYSTEM$;DEADLETTER"), SrmpOutcome.UNKNOWN_QUEUE),
        (HERE.replace(b"//here/", b"//elsewhere/"), SrmpOutcome.NOT_LOCAL),
        (HERE.replace(b"private$/plain", b"private$/ordered"), SrmpOutcome.WRONG_KIND),
        (HERE.replace(b"<Class>0", b"<Class>1"), SrmpOutcome.IGNORED),
        (HERE.replace(b"<Class>0", b"<Class>255"), SrmpOutcome.IGNORED),
    ],
)
def test_what_is_for_no_queue_here_is_refused(data: bytes, outcome: SrmpOutcome) -> None:
    """SRMP-166, SRMP-170, SRMP-172, SRMP-180."""

    async def test(place: Place) -> None:
        assert await place.take(data) is outcome
        assert messages(place) == messages(place, "ordered") == 0

    at_place(test)


@pytest.mark.parametrize("name", [b"plain", b"ordered"])
def test_a_stream_is_for_transactional_queues_only(name: bytes) -> None:
    """SRMP-171."""
    stream = (
        f'<stream se:mustUnderstand="1"><streamId>uid:{GUID}\\5</streamId><current>1</current>'
        "<start><sendReceiptsTo>http://there/msmq/private$/order_queue$</sendReceiptsTo></start>"
        "</stream>"
    ).encode()

    async def test(place: Place) -> None:
        data = durable(HERE.replace(b"private$/plain", b"private$/" + name))
        outcome = await place.take(data.replace(b"<Msmq", stream + b"<Msmq", 1))
        is_stored = name == b"ordered"
        assert outcome is (SrmpOutcome.STORED if is_stored else SrmpOutcome.WRONG_KIND)
        assert messages(place, name.decode()) == is_stored

    at_place(test)


def test_a_message_with_a_bad_signature_is_dropped() -> None:
    """SRMP-309, MSEC-188."""
    signature = b'<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"/></se:Header>'

    async def test(place: Place) -> None:
        data = HERE.replace(b"</se:Header>", signature)
        assert await place.take(data) is SrmpOutcome.BAD_SIGNATURE
        assert messages(place) == 0

    at_place(test)


def test_receipts_of_unknown_streams_are_ignored() -> None:
    receipt = (
        f"<streamReceipt><streamId>uid:{GUID}\\5</streamId>"
        "<lastOrdinal>3</lastOrdinal></streamReceipt><Msmq"
    ).encode()

    async def test(place: Place) -> None:
        data = HERE.replace(b"<Msmq", receipt, 1).replace(b"<Class>0", b"<Class>255")
        data = data.replace(b"MSMQ:order 1", b"MSMQ:QM Ordering Ack")
        assert await place.take(data) is SrmpOutcome.IGNORED

    at_place(test)


def test_a_message_that_cannot_be_stored_stays_with_its_sender(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SRMP-195."""

    async def test(place: Place) -> None:
        def outcome(error: Exception) -> ArrivalOutcome:
            found = ArrivalOutcome()
            found.error = error
            return found

        def fail(origin: object, packets: object, done: Callable[[ArrivalOutcome], None]) -> None:
            done(outcome(StorageFull("no room")))

        arrivals = place.local.arrivals
        monkeypatch.setattr(arrivals, "take", fail)
        assert await place.take(durable()) is SrmpOutcome.FAILED
        monkeypatch.setattr(arrivals, "take_express", lambda *given: outcome(Refused("full")))
        assert await place.take(HERE) is SrmpOutcome.MACHINE_FULL

    at_place(test)


def test_the_source_of_a_message_is_not_believed() -> None:
    """A post in the name of a manager does not touch what that manager itself brings."""

    async def test(place: Place) -> None:
        origin = place.reception._origin(PacketView(post(HERE).packet), ANYONE, None)
        assert not origin.is_known
        assert not origin.is_proven
        assert UUID(GUID).bytes_le not in origin.scopes(UUID(GUID).bytes_le)

    at_place(test)


@pytest.mark.parametrize("policy", [{"authenticate": True}, {"privacy": 2}], ids=str)
@pytest.mark.parametrize("data", [HERE, durable()])
def test_the_demands_of_a_queue_hold_over_http(data: bytes, policy: dict[str, Any]) -> None:
    """MSEC-083: neither an unsigned message nor one in clear text is put there."""

    async def test(place: Place) -> None:
        queue = place.local.find_queue("plain")
        queue.properties = replace(queue.properties, **policy)
        await place.take(data)
        assert messages(place) == 0
        queue.properties = replace(queue.properties, authenticate=False, privacy=1)
        await place.take(data, PostSource("198.51.100.9"))
        assert messages(place) == 1

    at_place(test)


def take_together(place: Place, *posts: SrmpPost) -> dict[int, SrmpOutcome | Exception]:
    """What becomes of posts that come together, by their places."""
    found: dict[int, SrmpOutcome | Exception] = {}

    def posted(place: int, post: SrmpPost) -> WaitingPost:
        keep = partial(found.__setitem__, place)
        return WaitingPost(post, ANYONE, keep, keep)

    place.driver.call(lambda: place.reception.take_all([posted(*one) for one in enumerate(posts)]))
    return found


def numbered(number: int, name: bytes = b"plain") -> SrmpPost:
    """A durable message with an identifier of its own."""
    data = durable().replace(HOST + b"plain", HOST + name)
    changed, count = re.subn(rb"uuid:\d+@", b"uuid:%d@" % number, data)
    assert count == 1
    return post(changed)


async def until_all(found: dict[int, SrmpOutcome | Exception], count: int) -> None:
    async with asyncio.timeout(30):
        while len(found) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_messages_that_come_together_are_one_operation_with_an_outcome_each() -> None:
    """SRMP-187: one for no queue, and one that comes twice among them."""

    async def test(place: Place) -> None:
        operations: list[int] = []
        take = place.local.arrivals.take

        def counted(origin: Origin, arrivals: Any, done: Any) -> None:
            operations.append(len(arrivals))
            take(origin, arrivals, done)

        place.local.arrivals.take = counted  # type: ignore[method-assign]
        full = place.local.find_queue("plain")
        posts = [numbered(1), numbered(2), numbered(9, b"nowhere"), numbered(1), numbered(3)]
        found = take_together(place, *posts)
        await until_all(found, 5)
        stored, unknown = SrmpOutcome.STORED, SrmpOutcome.UNKNOWN_QUEUE
        assert found == {0: stored, 1: stored, 2: unknown, 3: stored, 4: stored}
        assert operations == [4]
        assert full.messages == 3

    at_place(test)


def test_of_messages_that_come_together_each_is_refused_for_itself() -> None:
    async def test(place: Place) -> None:
        queue = place.local.find_queue("plain")
        small = numbered(1)
        limit = 3 * (len(small.packet) // 1024 + 1)
        await place.driver.wait(lambda: place.local.change_queue(queue, quota=limit))
        found = take_together(place, *(numbered(number) for number in range(1, 13)))
        await until_all(found, 12)
        outcomes = [found[number] for number in range(12)]
        count = queue.messages
        assert 0 < count < 12
        assert outcomes == [SrmpOutcome.STORED] * count + [SrmpOutcome.QUEUE_FULL] * (12 - count)

    at_place(test)


def test_a_message_that_cannot_be_taken_does_not_keep_others_out() -> None:
    async def test(place: Place) -> None:
        bad = numbered(2)
        examine = place.local.arrivals._take

        def take(work: Any, packet: bytes, position: Any) -> None:
            if packet is bad.packet:
                raise RuntimeError("a mistake")
            examine(work, packet, position)

        place.local.arrivals._take = take  # type: ignore[method-assign]
        found = take_together(place, numbered(1), bad, numbered(3))
        await until_all(found, 3)
        assert found == {0: SrmpOutcome.STORED, 1: SrmpOutcome.FAILED, 2: SrmpOutcome.STORED}
        assert place.local.find_queue("plain").messages == 2

    at_place(test)
