"""The transport for HTTP addresses: messages of outgoing queues, posted one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.engine.world import ME, HandClock, World, commit_all, letter

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER, owed
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.soap.mime import split_content
from openmsmq.soap.packets import SoapMessage, read_message
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import PostResult
from openmsmq.transports.srmp.limits import POSTS_MAX
from openmsmq.transports.srmp.redirection import Redirections
from openmsmq.transports.srmp.transport import SrmpTransport
from openmsmq.types.outgoing import ConnectionStatus, TransferState

URL = "HTTP://there:8080/msmq/private$/orders"


class FakeTimer:
    """A call that is due later, unless it was cancelled."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakePoster:
    """Keeps requests until they are answered."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.requests: list[tuple[Request, Callable[[PostResult], None], bool]] = []
        self.timers: list[FakeTimer] = []

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> FakeTimer:
        self.requests.append((request, done, is_secure))
        return FakeTimer(0, lambda: None)

    def call_later(self, seconds: float, call: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self._clock.elapsed() + seconds, call)
        self.timers.append(timer)
        return timer

    @property
    def due(self) -> list[FakeTimer]:
        return [timer for timer in self.timers if not timer.is_cancelled]


class Site:
    """A manager that sends over HTTP."""

    def __init__(self, redirections: Redirections | None = None) -> None:
        self.world = World()
        self.clock = HandClock()
        self.dispatcher = Dispatcher(self.world.core)
        self.poster = FakePoster(self.clock)
        core = self.world.core
        self.transport = SrmpTransport(
            core,
            self.dispatcher,
            Confirmations(core),
            self.clock,
            self.poster,
            receipts_to="http://here/msmq/private$/order_queue$",
            redirections=redirections,
        )

    def queue(self, url: str = URL) -> ManagedQueue:
        return self.world.core.queues.outgoing(parse_format_name(f"DIRECT={url}"))

    def send(self, *bodies: str, url: str = URL, **given: bool) -> ManagedQueue:
        queue = self.queue(url)
        self.world.send(queue, *(message(body, url, **given) for body in bodies))
        return queue

    def answer(self, status: int | None, error: str = "") -> SoapMessage:
        """Answer the oldest request; the message that was in it."""
        request, done, _ = self.poster.requests.pop(0)
        done(PostResult(status, error))
        commit_all(self.world.core)
        return read_message(split_content(request.content_type, request.content))

    def pass_time(self, seconds: float) -> None:
        """Let timers go off that are due by then."""
        self.world.pass_time(seconds)
        self.clock.wait(seconds)
        now = self.clock.elapsed()
        for timer in [timer for timer in self.poster.due if timer.at <= now]:
            timer.cancel()
            timer.call()
        commit_all(self.world.core)


def message(
    body: str, url: str = URL, *, is_transactional: bool = False, **given: bool
) -> NewMessage:
    """A message for an HTTP address, and what its sender asks for."""
    transaction = TransactionHeader() if is_transactional else None
    packet = PacketBuilder(ME, parse_format_name(f"DIRECT={url}")).build(
        body.encode(),
        label=body,
        message_id=7,
        headers=OptionalHeaders(transaction=transaction),
        **given,  # type: ignore[arg-type]
    )
    express = given.get("recoverable") is False
    priority = 0 if is_transactional else 3
    return NewMessage(packet, priority, NEVER, express, owed(packet))


@pytest.mark.parametrize("recoverable", [True, False])
def test_messages_are_posted_and_leave_when_they_are_answered(recoverable: bool) -> None:
    """SRMP-009, SRMP-221, SRMP-225 to SRMP-227, SRMP-232."""
    site = Site()
    queue = site.send("1", "2", "3", recoverable=recoverable)
    for body in ("1", "2", "3"):
        request, _, is_secure = site.poster.requests[0]
        assert (request.host, is_secure) == ("there:8080", False)
        found = site.answer(200)
        assert (found.body, found.envelope.durable) == (body.encode(), recoverable)
    assert site.poster.requests == []
    assert queue.total_size == 0
    assert site.world.count("delivered") == 3


def test_one_request_finds_out_whether_the_host_answers_then_there_are_several() -> None:
    site = Site()
    site.send(*map(str, range(POSTS_MAX + 10)))
    assert len(site.poster.requests) == 1
    site.answer(200)
    assert len(site.poster.requests) == POSTS_MAX
    site.answer(None)
    site.pass_time(0)
    assert len(site.poster.requests) == POSTS_MAX - 1


def test_answers_that_come_together_are_followed_by_requests_together() -> None:
    site = Site()
    site.send(*map(str, range(POSTS_MAX + 5)))
    site.answer(200)
    for _ in range(3):
        site.answer(200)
    assert len(site.poster.requests) == POSTS_MAX - 3
    site.pass_time(0)
    assert len(site.poster.requests) == POSTS_MAX


def test_of_several_requests_only_what_failed_is_posted_again() -> None:
    site = Site()
    site.send("0", "1", "2", "3")
    site.answer(200)
    bodies = [site.answer(None).body, site.answer(200).body, site.answer(200).body]
    assert bodies == [b"1", b"2", b"3"]
    site.pass_time(1)
    assert site.answer(200).body == b"1"
    assert site.poster.requests == []
    assert site.transport.posts == {"taken": 4, "retry": 1}


def test_https_addresses_are_posted_to_over_tls() -> None:
    """SRMP-008."""
    site = Site()
    site.send("1", url="HTTPS://there/msmq/q")
    assert site.poster.requests[0][2]


def test_a_message_goes_to_the_host_that_it_is_redirected_to() -> None:
    """SRMP-012, SRMP-294, SRMP-295: what it says of its destination stays."""
    site = Site(Redirections((("http://there/*", "https://gate"),), ("http://there/msmq/x",)))
    site.send("1", url="HTTP://there/msmq/q")
    request, _, is_secure = site.poster.requests[0]
    assert (request.host, request.target, is_secure) == ("gate", "/msmq/q", True)
    assert site.transport.route(site.queue("HTTP://there/msmq/q")).next_hop == "gate"
    assert site.answer(200).envelope.path.to == "HTTP://there/msmq/q"
    site.send("2", url="HTTP://there/msmq/x")
    request, _, is_secure = site.poster.requests[0]
    assert (request.host, is_secure) == ("there", False)


def test_receipts_come_back_by_the_address_for_a_destination() -> None:
    """SRMP-107."""
    gate = "https://gate/msmq/private$/order_queue$"
    site = Site(Redirections(receipts=(("http://there/*", gate),)))
    for url, expected in (
        ("HTTP://there/msmq/q", gate),
        ("HTTP://else/msmq/q", "http://here/msmq/private$/order_queue$"),
    ):
        site.send("1", url=url, is_transactional=True)
        stream = site.answer(200).envelope.stream
        assert stream is not None
        assert stream.send_receipts_to == expected


def test_a_message_that_is_refused_leaves_as_a_dead_letter() -> None:
    """SRMP-235, SRMP-236, SRMP-276: if it asks for that, and the next one is posted."""
    site = Site()
    queue = site.send("1", "2", dead_letter=True)
    site.answer(400)
    dead = site.world.core.queues.dead_letter
    assert [view.body for view in site.world.views(dead)] == [b"1"]
    assert site.transport.route(queue).last_error == "there:8080 answered 400"
    assert site.answer(200).body == b"2"
    assert queue.total_size == 0
    plain = Site()
    queue = plain.send("1")
    plain.answer(400)
    assert queue.total_size == 0
    assert plain.world.views(plain.world.core.queues.dead_letter) == []
    assert plain.world.count("rejected") == 1


def test_a_copy_of_a_message_that_was_taken_over_is_journaled() -> None:
    """SRMP-234, SRMP-279."""
    site = Site()
    site.send("1", journal=True)
    site.answer(200)
    journal = site.world.core.queues.system_journal
    assert [view.body for view in site.world.views(journal)] == [b"1"]


def test_a_failed_request_is_posted_again_with_the_same_identifier() -> None:
    """SRMP-078, SRMP-238, SRMP-266, SRMP-268: Inactive until the timer goes off (HTTP-06)."""
    site = Site()
    queue = site.send("1", "2")
    first = site.answer(None, "no answer from there:8080 in time")
    assert site.poster.requests == []
    status = site.transport.route(queue)
    assert (status.state, status.failures, status.next_retry) == ("inactive", 1, 1)
    assert status.last_error == "no answer from there:8080 in time"
    assert queue.transfer is not None
    assert queue.transfer.attempts[-1].status is ConnectionStatus.UNKNOWN_FAILURE
    site.pass_time(0.25)
    again = site.answer(200)
    assert again.envelope == first.envelope
    assert site.answer(200).body == b"2"
    status = site.transport.route(queue)
    assert (status.state, status.failures, status.last_error) == ("connected", 0, "")
    assert status.connected_since is not None


def test_an_operator_can_have_the_next_attempt_made_now() -> None:
    site = Site()
    queue = site.send("1")
    site.answer(500)
    site.transport.retry(queue)
    assert site.answer(200).body == b"1"


def test_messages_that_come_while_the_host_is_away_wait_with_the_others() -> None:
    """SRMP-222."""
    site = Site()
    site.send("1")
    site.answer(None)
    site.send("2")
    assert site.poster.requests == []
    site.pass_time(1)
    assert [site.answer(200).body, site.answer(200).body] == [b"1", b"2"]


def test_a_paused_queue_posts_nothing_until_it_is_resumed() -> None:
    """SRMP-239, SRMP-240: what the answer to a request from before says is not sent again."""
    site = Site()
    queue = site.send("1", "2")
    site.dispatcher.pause(queue)
    site.answer(200)
    assert site.poster.requests == []
    assert site.poster.due == []
    assert site.transport.route(queue).state == "on hold"
    site.dispatcher.resume(queue)
    assert site.answer(200).body == b"2"
    assert queue.total_size == 0


def test_a_manager_that_was_offline_sends_again() -> None:
    """A queue whose messages were withdrawn for that is not on hold afterwards."""
    site = Site()
    queue = site.send("1", "2")
    site.dispatcher.take_offline()
    site.answer(None)
    assert site.poster.requests == []
    site.dispatcher.bring_online()
    assert [site.answer(200).body, site.answer(200).body] == [b"1", b"2"]
    assert queue.total_size == 0


def test_an_unused_way_is_forgotten_and_found_again() -> None:
    """SRMP-275, SRMP-224."""
    site = Site()
    queue = site.send("1")
    site.answer(200)
    assert site.transport.route(queue).next_hop == "there:8080"
    site.pass_time(300)
    status = site.transport.route(queue)
    assert (status.state, status.next_hop) == ("disconnected", "")
    assert site.poster.due == []
    site.send("2")
    assert site.answer(200).body == b"2"


def test_a_message_without_envelope_is_given_up() -> None:
    site = Site()
    queue = site.queue()
    packet = PacketBuilder(
        ME,
        parse_format_name(f"DIRECT={URL}"),
        response=parse_format_name("DIRECT=OS:me\\private$\\answers"),
    ).build(b"1")
    broken = packet.replace("OS:me".encode("utf-16-le"), "XX:me".encode("utf-16-le"))
    site.world.send(queue, NewMessage(broken, 3, NEVER, False, 0))
    commit_all(site.world.core)
    assert site.poster.requests == []
    assert queue.total_size == 0
    assert site.world.count("rejected") == 1


def test_several_destinations_do_not_wait_for_each_other() -> None:
    site = Site()
    site.send("1")
    site.send("2", url="HTTP://elsewhere/msmq/q")
    assert [request.host for request, _, _ in site.poster.requests] == ["there:8080", "elsewhere"]
    assert site.transport.sessions() == {}


def test_after_the_stop_nothing_is_posted_or_removed() -> None:
    site = Site()
    queue = site.send("1")
    site.transport.stop()
    site.answer(200)
    assert queue.total_size > 0
    site.send("2", url="HTTP://elsewhere/msmq/q")
    assert site.poster.requests == []
    assert site.poster.due == []
    assert queue.transfer is not None
    assert queue.transfer.state is TransferState.WAITING


def test_other_transports_keep_their_messages() -> None:
    """SRMP-221."""
    site = Site()
    queue = site.world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\q"))
    site.world.send(queue, letter("binary"))
    assert site.poster.requests == []
