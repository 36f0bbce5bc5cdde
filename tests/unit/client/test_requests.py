"""Requests and their answers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.fakes import WELCOME, lookups, messages

from openmsmq.app_protocol.calls import Closing, Hello, encode_error
from openmsmq.app_protocol.frames import Frame, Kind, encode_frame
from openmsmq.client.requests import Deliveries, PendingRequests, hello
from openmsmq.errors import (
    ConnectionLost,
    InsufficientResources,
    MQError,
    OperationCancelled,
    QueueDeleted,
    QueueNotFound,
    TokenRefused,
)

Answer = list[Frame | MQError]


def ask(link: PendingRequests, *, waits: bool = False) -> tuple[int, Answer]:
    answer: Answer = []
    return link.ask(answer.append, waits=waits), answer


def is_lost(answer: Answer, reason: str) -> bool:
    [error] = answer
    return isinstance(error, ConnectionLost) and reason in error.detail


def test_answers_come_in_any_order_and_find_who_asked() -> None:
    link = PendingRequests()
    asked = [ask(link) for _ in range(3)]
    assert [number for number, _ in asked] == [1, 2, 3]
    for number, _ in reversed(asked):
        link.receive_data(encode_frame(Kind.DONE, number))
    assert [answer for _, answer in asked] == [[Frame(Kind.DONE, n, b"")] for n in (1, 2, 3)]


def test_an_error_is_one_that_can_be_raised() -> None:
    link = PendingRequests()
    number, answer = ask(link)
    link.receive_data(encode_frame(Kind.ERROR, number, encode_error(QueueNotFound("orders"))))
    [error] = answer
    assert isinstance(error, QueueNotFound)
    assert error.detail == "orders"


def test_numbers_begin_again_and_leave_out_those_in_use() -> None:
    link = PendingRequests()
    first, _ = ask(link)
    second, _ = ask(link)
    link.subscribe(second)
    link.receive_data(encode_frame(Kind.DONE, second))
    link._next = 0xFFFFFFFE
    assert [ask(link)[0] for _ in range(2)] == [0xFFFFFFFF, 3]
    assert (first, second) == (1, 2)


@given(st.lists(st.integers(0, 200)))
def test_any_split_gives_the_same_answers(cuts: list[int]) -> None:
    link = PendingRequests()
    asked = [ask(link) for _ in range(4)]
    data = b"".join(encode_frame(Kind.PONG, number, b"x" * number) for number, _ in asked)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        link.receive_data(data[start:end])
    assert [answer for _, answer in asked] == [[Frame(Kind.PONG, n, b"x" * n)] for n, _ in asked]


def test_pings_are_given_to_be_answered() -> None:
    assert PendingRequests().receive_data(encode_frame(Kind.PING, 9, b"x")) == [
        Frame(Kind.PING, 9, b"x")
    ]


def test_an_answer_to_a_cancelled_call_is_ignored() -> None:
    link = PendingRequests()
    for kind in (Kind.DONE, Kind.DELIVERY, Kind.ERROR):
        payload = encode_error(QueueNotFound()) if kind is Kind.ERROR else b""
        assert link.receive_data(encode_frame(kind, 7, payload)) == []
    assert not link.is_over


@pytest.mark.parametrize("kind", [Kind.ERROR, Kind.CLOSING])
def test_what_cannot_be_read_ends_it_for_everybody(kind: Kind) -> None:
    link = PendingRequests()
    asked = [ask(link) for _ in range(2)]
    link.receive_data(encode_frame(kind, asked[0][0], b"no JSON"))
    assert link.is_over
    assert all(is_lost(answer, "invalid frame") for _, answer in asked)


def test_a_farewell_ends_it_with_its_reason() -> None:
    link = PendingRequests()
    number, answer = ask(link)
    link.receive_data(
        encode_frame(Kind.CLOSING, 0, Closing("the service stops").encode())
        + encode_frame(Kind.DONE, number)
    )
    assert is_lost(answer, "the service stops")
    link.receive_data(encode_frame(Kind.DONE, number))
    link.lost("something else")
    assert is_lost(answer, "the service stops")


def test_a_token_that_is_refused_is_no_lost_connection() -> None:
    link = PendingRequests()
    _, answer = ask(link)
    closing = Closing("the token was revoked", TokenRefused.__name__)
    link.receive_data(encode_frame(Kind.CLOSING, 0, closing.encode()))
    [error] = answer
    assert isinstance(error, TokenRefused)
    assert error.detail == "the token was revoked"
    with pytest.raises(TokenRefused):
        ask(link)


def test_after_the_end_nothing_can_be_asked() -> None:
    link = PendingRequests()
    link.lost()
    with pytest.raises(ConnectionLost, match="the other side closed the connection") as first:
        ask(link)
    with pytest.raises(ConnectionLost) as second:
        ask(link)
    assert first.value is not second.value  # each has a traceback of its own


def test_closing_a_channel_fails_the_calls_that_wait() -> None:
    link = PendingRequests()
    _, answer = ask(link)
    link.closed()
    assert isinstance(answer[0], OperationCancelled)
    assert isinstance(link.error, OperationCancelled)


def test_reads_that_wait_leave_room_for_others() -> None:
    link = PendingRequests()
    link.allow(WELCOME)
    number, _ = ask(link, waits=True)
    for _ in range(3):
        ask(link, waits=True)
    with pytest.raises(InsufficientResources, match="4 reads wait"):
        ask(link, waits=True)
    ask(link)
    link.receive_data(encode_frame(Kind.MESSAGES, number))
    ask(link, waits=True)


def subscribed(link: PendingRequests) -> tuple[int, Deliveries]:
    number, _ = ask(link)
    deliveries = link.subscribe(number)
    link.receive_data(encode_frame(Kind.DONE, number))
    return number, deliveries


def test_deliveries_wait_to_be_taken() -> None:
    link = PendingRequests()
    number, deliveries = subscribed(link)
    changes: list[int] = []
    assert deliveries.take() is None
    assert not deliveries.is_ready
    deliveries.on_change = lambda: changes.append(1)
    for payload in (messages(1, 2), messages(3)):
        link.receive_data(encode_frame(Kind.DELIVERY, number, payload))
    assert deliveries.is_ready
    assert len(changes) == 2
    assert lookups(deliveries.take() or ()) == [1, 2]
    assert deliveries.drain() == [3]
    assert deliveries.take() is None


@pytest.mark.parametrize(
    ("most", "found"),
    [(0, [1]), (2, [1]), (3, [1, 2, 3]), (5, [1, 2, 3]), (6, [1, 2, 3, 4, 5, 6])],
)
def test_several_deliveries_are_taken_together_unless_they_are_many(
    most: int, found: list[int]
) -> None:
    link = PendingRequests()
    number, deliveries = subscribed(link)
    for payload in (messages(1), messages(2, 3), messages(4, 5, 6)):
        link.receive_data(encode_frame(Kind.DELIVERY, number, payload))
    assert lookups(deliveries.take(most) or ()) == found


def test_the_end_of_a_queue_comes_after_its_messages() -> None:
    link = PendingRequests()
    number, deliveries = subscribed(link)
    link.receive_data(encode_frame(Kind.DELIVERY, number, messages(1)))
    link.receive_data(encode_frame(Kind.ERROR, number, encode_error(QueueDeleted())))
    assert lookups(deliveries.take() or ()) == [1]
    with pytest.raises(QueueDeleted):
        deliveries.take()


def test_the_end_of_the_connection_takes_the_messages_with_it() -> None:
    link = PendingRequests()
    number, deliveries = subscribed(link)
    link.receive_data(encode_frame(Kind.DELIVERY, number, messages(1)))
    link.lost("cut")
    assert deliveries.is_ready
    with pytest.raises(ConnectionLost):
        deliveries.take()


def test_nothing_is_kept_of_what_was_unsubscribed() -> None:
    link = PendingRequests()
    number, deliveries = subscribed(link)
    link.unsubscribe(number)
    link.unsubscribe(number)
    link.receive_data(encode_frame(Kind.DELIVERY, number, messages(1)))
    assert not deliveries.is_ready


def test_clients_with_and_without_threads_take_the_same() -> None:
    """Those that were alike by chance were not: the one for threads took single messages."""
    said = Hello.decode(hello("secret"))
    assert said.token == "secret"
    assert set(said.capabilities) == {"runs", "peeked-runs", "reserved-runs"}
