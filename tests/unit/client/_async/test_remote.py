"""Queues of a service: what survives a lost connection, and what does not."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.certificates import make_certificates
from tests.unit.client.adapter import PATIENCE, start
from tests.unit.client.services import Clients, Loop, Relay, Service, SyncClients

import openmsmq
from openmsmq import Manager, Message, Queue, Share, aio
from openmsmq.access.tokens import Tokens
from openmsmq.app_server import calls as app_calls
from openmsmq.app_server import context as app_context
from openmsmq.client import payloads as remote
from openmsmq.client._async import channel as channel_aio
from openmsmq.client._async import remote as remote_aio
from openmsmq.client._sync import channel as channel_sync
from openmsmq.client._sync import remote as remote_sync
from openmsmq.client.address import Address
from openmsmq.client.backend import Handle
from openmsmq.errors import (
    AccessDenied,
    ConnectionLost,
    InvalidHandle,
    InvalidParameter,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    ServiceNotAvailable,
    TokenRefused,
    TransactionSequence,
    UnsupportedOperation,
)
from openmsmq.types.access import Access, Mode
from openmsmq.types.read import Read

T = TypeVar("T")


@pytest.fixture
def direct(service: Service) -> Iterator[Manager]:
    """A program whose connection is never cut."""
    made = SyncClients()
    yield made.connect(service.address)
    made.close()


@pytest.fixture
def manager(clients: Clients, relay: Relay) -> Manager:
    """A program whose connection may be cut."""
    return clients.connect(relay.address)


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something to become so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def error_of(call: Future[T], kind: type[MQError]) -> MQError:
    with pytest.raises(kind) as error:
        call.result(PATIENCE)
    return error.value


def texts(queue: Queue) -> list[str | None]:
    return [message.text for message in queue.peek_many(1000, timeout=0)]


# A service that comes again


def test_open_queues_are_opened_again_and_no_one_notices(
    clients: Clients, service: Service
) -> None:
    manager = clients.connect(service.address)
    queue = manager.create_queue("orders")
    queue.send("1")
    for number in ("2", "3"):
        service.stop()
        service.start()
        queue.send(number)  # nothing was under way: this is the first that hears of it
        assert queue.info().messages == int(number)
    assert [queue.receive(timeout=0).text for _ in range(3)] == ["1", "2", "3"]
    assert manager.state == "ready"


def test_calls_wait_for_a_service_that_comes_again(clients: Clients, service: Service) -> None:
    manager = clients.connect(service.address, reconnect=PATIENCE)
    queue = manager.create_queue("orders")
    service.stop()
    sending = start(lambda: queue.send("1"))
    asking = start(lambda: manager.queues())
    assert not wait((sending,), 0.1).done
    assert not asking.done()
    service.start()
    sending.result(PATIENCE)
    assert [info.name for info in asking.result(PATIENCE)] == [r".\private$\orders"]
    assert texts(queue) == ["1"]


def test_a_service_that_does_not_come_again_is_given_up(clients: Clients, service: Service) -> None:
    manager = clients.connect(service.address, reconnect=0.01)
    queue = manager.create_queue("orders")
    service.stop()
    for call in (queue.info, lambda: queue.send("1"), manager.queues):
        with pytest.raises(ServiceNotAvailable):
            call()
    assert manager.state == "stopped"
    assert manager.name == "server1"
    queue.close()
    manager.close()


def test_who_waits_for_a_message_gets_it_from_the_next_connection(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders")
    reads: list[Future[object]] = [
        start(lambda: queue.receive(timeout=PATIENCE)),
        start(lambda: queue.receive_many(1)),
        start(lambda: queue.peek()),
    ]
    for _ in range(2):
        assert not wait(reads, 0.05).done
        relay.cut()
    with direct.open_queue("orders") as other:
        other.send_many(["1", "2", "3"])
        for read in reads:
            read.result(PATIENCE)
        assert texts(other) == ["3"]


def test_a_send_whose_answer_was_lost_is_not_done_again(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders")
    other = direct.open_queue("orders")
    relay.mute()
    sending = start(lambda: queue.send("1"))
    assert other.peek(timeout=PATIENCE).text == "1"
    relay.cut()
    error_of(sending, ConnectionLost)
    assert queue.info().messages == 1


def test_a_send_under_an_id_whose_answer_was_lost_is_done_again_and_changes_nothing(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders")
    other = direct.open_queue("orders")
    relay.mute()
    sending = start(lambda: queue.send("1", dedup_id="order-1"))
    first = other.peek(timeout=PATIENCE)
    relay.cut()
    again = sending.result(PATIENCE)
    assert (again, again.duplicate) == (first.id, True)
    assert queue.info().messages == 1


def test_a_service_that_knows_no_ids_is_not_asked(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = manager.create_queue("orders")
    monkeypatch.setattr(remote, "require", _refuse_post)
    with pytest.raises(UnsupportedOperation):
        queue.send("1", dedup_id="order-1")
    assert queue.info().messages == 0


def _refuse_post(welcome: object, capability: str) -> None:
    assert capability == "post"
    raise UnsupportedOperation("an old one")


def test_a_receive_whose_end_was_lost_gives_its_message(
    manager: Manager, relay: Relay, direct: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Better twice than never."""
    queue = manager.create_queue("orders")
    queue.send("1")
    taken = _when_taken(manager, relay.mute, monkeypatch)
    receiving = start(lambda: queue.receive(timeout=0))
    until(lambda: bool(taken))
    until(lambda: direct.open_queue("orders").info().messages == 0)
    relay.cut()
    assert receiving.result(PATIENCE).text == "1"


def _when_taken(
    manager: Manager, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Do something after a message was taken, before it is removed."""
    taken: list[int] = []
    for module in (channel_aio, channel_sync):
        remove = module.Channel.remove

        def removed(channel: Any, *values: Any, remove: Any = remove) -> Any:
            act()
            taken.append(1)
            return remove(channel, *values)

        monkeypatch.setattr(module.Channel, "remove", removed)
    return taken


def test_one_program_with_many_threads_opens_a_queue_again_once(
    relay: Relay, direct: Manager
) -> None:
    clients = SyncClients()
    manager = clients.connect(relay.address)
    manager.create_queue("orders").close()
    queue = manager.open_queue("orders", share=Share.DENY_RECEIVE)
    relay.cut()

    def is_free() -> bool:
        try:
            direct.open_queue("orders", share=Share.DENY_RECEIVE).close()
        except MQError:
            return False
        return True

    until(is_free)
    calls = [start(lambda: queue.peek_many(1, timeout=0)) for _ in range(8)]
    assert [call.result(PATIENCE) for call in calls] == [[]] * 8
    clients.close()


# Transactions and cursors


def test_an_open_transaction_is_lost_with_its_connection(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders", transactional=True)
    transaction = manager.transaction()
    queue.send("1", transaction=transaction)
    relay.cut()
    until(lambda: manager.state == "stopped")
    calls = (
        lambda: queue.send("2", transaction=transaction),
        lambda: queue.receive(timeout=0, transaction=transaction),
        transaction.commit,
        transaction.prepare,
    )
    for call in calls:
        with pytest.raises(TransactionSequence, match="was lost"):
            call()
    transaction.abort()
    assert queue.info().messages == 0
    with manager.transaction() as another:
        queue.send("3", transaction=another)
    assert texts(direct.open_queue("orders")) == ["3"]


def test_a_transaction_that_is_lost_ends_its_block_with_an_error(
    manager: Manager, relay: Relay
) -> None:
    queue = manager.create_queue("orders", transactional=True)

    def work() -> None:
        with manager.transaction() as transaction:
            queue.send("1", transaction=transaction)
            relay.cut()
            until(lambda: manager.state == "stopped")

    with pytest.raises(TransactionSequence):
        work()
    assert queue.info().messages == 0


def test_a_commit_whose_answer_was_lost_may_have_been_done(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders", transactional=True)
    transaction = manager.transaction()
    queue.send("1", transaction=transaction)
    relay.mute()
    committing = start(transaction.commit)
    assert direct.open_queue("orders").peek(timeout=PATIENCE).text == "1"
    relay.cut()
    error_of(committing, ConnectionLost)


def test_prepared_transactions_are_found_again(clients: Clients, service: Service) -> None:
    manager = clients.connect(service.address)
    queue = manager.create_queue("orders", transactional=True)
    for xid in ("a", "b"):
        transaction = manager.transaction(xid)
        queue.send(xid, transaction=transaction)
        transaction.prepare()
    service.stop()
    service.start()
    assert manager.prepared() == ["a", "b"]
    assert {0 <= age < 60 for age in manager.prepared_ages().values()} == {True}
    manager.abort_prepared("a")
    for _ in range(2):
        manager.commit_prepared("b")
    assert texts(queue) == ["b"]


def test_transactions_of_another_manager_are_refused(clients: Clients, service: Service) -> None:
    manager, other = clients.connect(service.address), clients.connect(service.address)
    queue = manager.create_queue("orders", transactional=True)
    with (
        other.transaction() as foreign,
        pytest.raises(TransactionSequence, match="another queue manager"),
    ):
        queue.send("1", transaction=foreign)


def test_a_cursor_is_lost_with_its_connection(manager: Manager, relay: Relay) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(["1", "2"])
    cursor = queue.cursor()
    assert cursor.peek(timeout=0).text == "1"
    relay.cut()
    until(lambda: manager.state == "stopped")
    for read in (cursor.peek, cursor.next, cursor.receive):
        with pytest.raises(InvalidHandle, match="was lost"):
            read(timeout=0)
    with manager.transaction() as transaction, pytest.raises(InvalidHandle, match="was lost"):
        cursor.receive(timeout=0, transaction=transaction)
    cursor.close()
    with queue.cursor() as another:
        assert another.peek(timeout=0).text == "1"
    another.close()


# Streams


def test_a_stream_ends_with_its_connection_and_its_messages_are_back(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(map(str, range(10)))
    stream = queue.stream(4, explicit=True)
    got = [next(stream) for _ in range(3)]
    relay.cut()
    until(lambda: direct.open_queue("orders").info().messages == 10)
    until(lambda: texts(queue) == [str(n) for n in range(10)])  # which opens the queue again
    with pytest.raises(ConnectionLost, match="back in their places"):
        stream.acknowledge(*got)
    next(stream)  # which was here already
    with pytest.raises(ConnectionLost):
        next(stream)
    stream.close()
    with queue.stream(timeout=0) as another:
        assert [message.text for message in another] == [str(n) for n in range(10)]


def test_a_loop_that_waits_is_notified_of_a_lost_connection(manager: Manager, relay: Relay) -> None:
    queue = manager.create_queue("orders")

    def loop() -> None:
        with queue.stream() as stream:
            for _ in stream:
                pass

    waiting = start(loop)
    until(lambda: not wait((waiting,), 0.05).done)
    relay.cut()
    error_of(waiting, ConnectionLost)


def test_streams_of_one_queue_do_not_take_each_others_turns(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(map(str, range(12)))
    with queue.stream(2, timeout=0) as one, queue.stream(2, timeout=0) as two:
        found = [next(stream).text for _ in range(6) for stream in (one, two)]
    assert sorted(map(int, map(str, found))) == list(range(12))
    assert queue.info().messages == 0


def test_a_stream_that_lost_its_messages_leaves_them_to_the_next(
    manager: Manager, relay: Relay, direct: Manager
) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(["1", "2"])
    lost = queue.stream(explicit=True)
    next(lost)
    relay.cut()
    until(lambda: direct.open_queue("orders").info().messages == 2)
    with queue.stream(explicit=True, timeout=PATIENCE) as stream:
        messages = [next(stream), next(stream)]
        lost.close()
        stream.acknowledge(*messages)
    assert queue.info().messages == 0


# Who may come in


def test_a_wrong_token_is_refused_with_the_reason(clients: Clients, service: Service) -> None:
    words = f"{service.address}: the token is missing, wrong or has expired"
    with pytest.raises(TokenRefused, match=words):
        clients.connect(service.address, token="omq_wrong", reconnect=PATIENCE)
    assert service.server.metrics.logins_refused == 1, "it was not tried again"


@pytest.mark.parametrize("what", ["waiting", "stream", "next call"])
def test_a_token_that_is_revoked_is_not_tried_again(
    clients: Clients, service: Service, direct: Manager, what: str
) -> None:
    direct.create_queue("orders")
    tokens = Tokens.load(service.data)
    kept, text = tokens.create("read")
    queue = clients.connect(service.address, token=text, reconnect=PATIENCE).open_queue("orders")
    calls: dict[str, Callable[[], object]] = {
        "waiting": queue.receive,
        "stream": lambda: next(queue.stream()),
        "next call": queue.info,
    }
    if what == "next call":
        tokens.revoke(kept.id)
        until(lambda: service.server.clients == 1)
    call = start(calls[what])
    if what != "next call":
        assert not wait((call,), 0.1).done
        tokens.revoke(kept.id)
    assert "token" in error_of(call, TokenRefused).detail
    queue.close()


def test_a_token_gives_what_its_role_allows(
    clients: Clients, service: Service, direct: Manager
) -> None:
    direct.create_queue("orders").send("1")
    _, text = Tokens.load(service.data).create("read", ("orders",))
    reader = clients.connect(service.address, token=text)
    queue = reader.open_queue("orders")
    assert texts(queue) == ["1"]
    with pytest.raises(AccessDenied):
        queue.send("2")
    with pytest.raises(AccessDenied):
        reader.create_queue("others")


@pytest.fixture
def tls_service(tmp_path: Path) -> Iterator[Service]:
    make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    made = Service(tmp_path / "data", tls=context)
    yield made
    made.close()


def test_a_service_is_reached_through_tls(
    tls_service: Service, clients: Clients, tmp_path: Path
) -> None:
    manager = clients.connect(tls_service.address, tls=str(tmp_path / "ca.pem"))
    queue = manager.create_queue("orders")
    waiting = start(lambda: queue.receive(timeout=PATIENCE))
    body = bytes(range(256)) * 8000
    for _ in range(3):
        queue.send(Message(body))
    assert waiting.result(PATIENCE).body == body
    assert [message.body for message in queue.receive_many(9, timeout=0)] in ([body], [body] * 2)


def test_a_certificate_that_no_one_knows_is_refused(clients: Clients, tls_service: Service) -> None:
    with pytest.raises(ServiceNotAvailable, match="the certificate of the server is not trusted"):
        clients.connect(tls_service.address, tls=True)
    with pytest.raises(ServiceNotAvailable, match="this port speaks TLS"):
        clients.connect(tls_service.address, timeout=PATIENCE)


def test_a_service_that_does_not_even_shake_hands_is_given_up(clients: Clients) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ServiceNotAvailable, match=address):
            clients.connect(address, tls=True, timeout=0.05)


# Many at once


def test_threads_share_a_manager(service: Service) -> None:
    """Also while one of them waits for what does not come."""
    with openmsmq.connect(service.address) as manager:
        queue, other = manager.create_queue("orders"), manager.create_queue("none")
        waiting = start(lambda: other.receive())

        def work(name: int) -> list[str]:
            found = []
            for number in range(10):
                queue.send(Message(f"{name}-{number}", recoverable=False))
                found.append(str(queue.receive(timeout=PATIENCE).text))
            return found

        calls = [start(lambda name=name: work(name)) for name in range(8)]  # type: ignore[misc]
        found = [text for call in calls for text in call.result(PATIENCE)]
        assert sorted(found) == sorted(f"{n}-{m}" for n in range(8) for m in range(10))
        assert not waiting.done()
        other.send("at last")
        assert waiting.result(PATIENCE).text == "at last"


def test_what_is_too_much_at_once_goes_in_a_transaction(manager: Manager) -> None:
    queue = manager.create_queue("orders", transactional=True)
    plain = manager.create_queue("plain")
    many = [Message(bytes([number]) * 2_000_000) for number in range(6)]
    with pytest.raises(InvalidParameter, match="send fewer"):
        plain.send_many(many)
    with manager.transaction() as transaction:
        ids = queue.send_many(many, transaction=transaction)
    assert len(set(ids)) == 6
    found = []
    while batch := queue.receive_many(6, timeout=0):
        found += batch
    assert [message.id for message in found] == list(ids)
    assert [message.body for message in found] == [message.body for message in many]


# Interruption


def test_cancelling_a_receive_loses_no_message(service: Service) -> None:
    """Whenever it comes: before the message, while it is removed, or after."""

    async def consume(queue: aio.Queue, got: list[str], delay: float) -> None:
        receiving = asyncio.create_task(queue.receive())
        await asyncio.sleep(delay)
        receiving.cancel()
        try:
            got.append(str((await receiving).text))
        except asyncio.CancelledError:
            return

    async def main() -> None:
        async with aio.connect(service.address) as manager:
            queue = await manager.create_queue("orders")
            sent = [str(number) for number in range(60)]
            got: list[str] = []
            for number, text in enumerate(sent):
                send = asyncio.create_task(queue.send(text))
                await consume(queue, got, number % 20 * 0.0003)
                await send
            while len(got) < len(sent):
                got += [str(m.text) for m in await queue.receive_many(1000, timeout=PATIENCE)]
            assert sorted(got) == sorted(sent)
            assert (await queue.info()).messages == 0

    asyncio.run(main())


def test_a_cancelled_receive_in_a_transaction_takes_nothing_later(service: Service) -> None:
    async def main() -> None:
        async with aio.connect(service.address) as manager:
            queue = await manager.create_queue("orders", transactional=True)
            transaction = manager.transaction()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(queue.receive(transaction=transaction), 0.02)
            async with manager.transaction() as other:
                await queue.send("1", transaction=other)
            await transaction.commit()
            assert (await queue.receive(timeout=PATIENCE)).text == "1"

    asyncio.run(main())


def test_an_interrupted_receive_loses_no_message(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openmsmq.connect(service.address) as manager:
        queue = manager.create_queue("orders")
        wait_to_receive = channel_sync.Channel._read
        calls: list[int] = []

        def interrupted(channel: Any, *values: Any, **named: Any) -> None:
            if values[0] > 1:  # not just a look
                monkeypatch.setattr(channel_sync.Channel, "_read", wait_to_receive)
                calls.append(1)
                raise KeyboardInterrupt
            wait_to_receive(channel, *values, **named)

        queue.send("1")
        monkeypatch.setattr(channel_sync.Channel, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            queue.receive()
        assert calls
        assert queue.receive(timeout=PATIENCE).text == "1"


# The end


def test_to_close_a_manager_ends_what_is_waiting(manager: Manager, direct: Manager) -> None:
    queue = manager.create_queue("orders")
    waiting = [start(lambda: queue.receive()), start(lambda: queue.peek())]
    assert not wait(waiting, 0.05).done
    manager.close()
    for call in waiting:
        error_of(call, OperationCancelled)
    calls: list[Callable[[], object]] = [queue.info, manager.queues, lambda: queue.send("1")]
    for refused in calls:
        with pytest.raises(InvalidHandle, match="is closed"):
            refused()
    queue.close()
    manager.close()
    direct.delete_queue("orders")


def test_a_queue_that_is_closed_is_not_opened_again(service: Service, relay: Relay) -> None:
    made = remote_sync.Remote(Address(socket=str(relay.path)), patience=PATIENCE, reconnect=0)
    made.create_queue("orders", {})
    handle = made.open_queue("orders", Mode(Access.ALL))
    made.close_queue(handle)
    relay.cut()
    with pytest.raises(InvalidHandle, match="is closed"):
        made.queue_info(handle)
    made.close()


def test_what_is_closed_while_it_connects_does_not_stay_open(service: Service) -> None:
    async def main() -> None:
        address = Address(socket=str(service.path))
        remote = remote_aio.Remote(address, patience=PATIENCE, reconnect=0)
        connecting = asyncio.create_task(remote.connect())
        await asyncio.sleep(0)
        await remote.close()
        with pytest.raises(InvalidHandle):
            await connecting
        assert remote.state == "stopped"
        with pytest.raises(ServiceNotAvailable, match="not connected"):
            remote.name  # noqa: B018

    asyncio.run(main())


# Back-off


class Time:
    """A clock that pauses set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        for module in (remote_aio, remote_sync):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)
        monkeypatch.setattr(remote_sync, "pause", self.pause)
        monkeypatch.setattr(remote_aio, "pause", self.pause_async)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    async def pause_async(self, seconds: float) -> None:
        self.pause(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


class Remotes:
    """Backends of both kinds, to a place where no one is."""

    def __init__(self, path: Path, *, is_async: bool) -> None:
        self.address = Address(socket=str(path / "none"))
        self._loop = Loop() if is_async else None

    def run(self, work: Callable[[Any], Any], reconnect: float) -> Any:
        """What is done by `work`, which gets a backend."""
        if self._loop is None:
            return work(remote_sync.Remote(self.address, patience=1, reconnect=reconnect))

        async def main() -> Any:
            return await work(remote_aio.Remote(self.address, patience=1, reconnect=reconnect))

        return self._loop.run(main())

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()


@pytest.fixture(params=[False, True], ids=["sync", "aio"])
def remotes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Remotes]:
    made = Remotes(tmp_path, is_async=request.param)
    yield made
    made.close()


def test_attempts_come_slower_and_slower_and_to_an_end(remotes: Remotes, clock: Time) -> None:
    with pytest.raises(ServiceNotAvailable):
        remotes.run(lambda remote: remote.queues(everything=False), 10)
    assert clock.pauses[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    assert max(clock.pauses) == 2.0
    assert sum(clock.pauses) == pytest.approx(10)


def test_without_time_to_reconnect_one_attempt_is_made(remotes: Remotes, clock: Time) -> None:
    with pytest.raises(ServiceNotAvailable):
        remotes.run(lambda remote: remote.queues(everything=False), 0)
    assert clock.pauses == []


@pytest.mark.parametrize(("lasted", "attempts"), [(0.0, 8), (6.0, 30)], ids=["short", "long"])
def test_a_connection_that_lasted_is_lost_anew(
    remotes: Remotes,
    clock: Time,
    monkeypatch: pytest.MonkeyPatch,
    lasted: float,
    attempts: int,
) -> None:
    """One that is lost again at once, perhaps because of what is asked for, is given up."""
    tried: list[int] = []

    def lose() -> None:
        tried.append(1)
        if len(tried) == 30:
            raise ReceiveTimeout
        clock.now += lasted
        raise ConnectionLost("again")

    async def lose_async(*_: object) -> None:
        lose()

    async def connect(_: object) -> object:
        return object()

    monkeypatch.setattr(remote_aio.Remote, "connect", connect)
    monkeypatch.setattr(remote_sync.Remote, "connect", lambda _: object())
    monkeypatch.setattr(remote_aio, "ask", lose_async)
    monkeypatch.setattr(remote_sync, "ask", lambda *_, **__: lose())
    with pytest.raises(ReceiveTimeout if lasted else ConnectionLost):
        remotes.run(lambda remote: remote.prepared(), 5)
    assert len(tried) == attempts


def test_time_goes_on_while_a_connection_is_made_again(
    remotes: Remotes, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float | None] = []

    def read(
        _: object, channel: object, handle: object, read: Read, left: float | None
    ) -> list[int]:
        waits.append(left)
        if len(waits) == 3:
            return []
        clock.now += 4
        raise ConnectionLost("again")

    async def read_async(*values: Any) -> list[int]:
        return read(*values[:5])

    async def connect(_: object) -> object:
        return object()

    monkeypatch.setattr(remote_aio.Remote, "connect", connect)
    monkeypatch.setattr(remote_sync.Remote, "connect", lambda _: object())
    monkeypatch.setattr(remote_aio.Remote, "_read", read_async)
    monkeypatch.setattr(remote_sync.Remote, "_read", lambda *values: read(*values[:5]))
    handle = Handle("q", Mode(Access.ALL))
    remotes.run(lambda remote: remote.read(handle, Read(take=True, timeout=6), None, None), 30)
    assert waits == pytest.approx([6, 1.95, 0])


def test_more_queues_than_fit_a_frame_are_listed_all_the_same(
    manager: Manager, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_calls, "PAGE_MAX", 3)
    monkeypatch.setattr(app_context, "ANSWER_SIZE_MAX", 4000)
    names = [f".\\private$\\queue{number}" for number in range(10, 30)]
    for name in reversed(names):
        manager.create_queue(name).close()
    assert [info.name for info in manager.queues()] == names
    everything = [info.name for info in manager.queues(everything=True)]
    assert everything[:20] == names
    assert ".\\DeadLetter$" in everything[20:]
    relay.cut()
    assert [info.name for info in manager.queues()] == names
