"""One destination: posts, answers, retries, receipts."""

from __future__ import annotations

import pytest

from openmsmq.transports.srmp.delivery import (
    RESEND_S,
    Delivery,
    Fate,
    SrmpTiming,
    Todo,
)
from openmsmq.types.outgoing import TransferState


def post(delivery: Delivery, status: int | None, now: float, *, is_stream: bool = False) -> Fate:
    delivery.posted(now, is_stream=is_stream)
    return delivery.answered(status, now, is_stream=is_stream)


def test_a_new_destination_posts_at_once() -> None:
    """SRMP-010, SRMP-011: Waiting, then Connected; the cleanup timer runs (HTTP-15)."""
    delivery = Delivery()
    assert delivery.may_post
    assert delivery.next_deadline is None
    delivery.posted(0, is_stream=False)
    states = [delivery.state]
    delivery.answered(200, 1, is_stream=False)
    assert [*states, delivery.state] == [TransferState.WAITING, TransferState.CONNECTED]
    assert delivery.next_deadline == 301


def test_a_message_that_was_taken_over_is_removed() -> None:
    """SRMP-232, SRMP-233: a stream message waits for its receipt."""
    assert post(Delivery(), 200, 0) is Fate.REMOVE
    assert post(Delivery(), 200, 0, is_stream=True) is Fate.AWAIT


def test_a_message_that_was_refused_is_given_up() -> None:
    """SRMP-235, SRMP-236, SRMP-237: and the connection stays in use."""
    delivery = Delivery()
    assert post(delivery, 400, 5) is Fate.DEAD_LETTER
    assert post(Delivery(), 400, 5, is_stream=True) is Fate.DEAD_LETTER
    assert delivery.state is TransferState.CONNECTED
    assert delivery.next_deadline == 305
    assert delivery.may_post


@pytest.mark.parametrize("status", [500, 503, None, 404])
def test_a_failure_keeps_the_message_and_waits(status: int | None) -> None:
    """SRMP-238: Inactive, timers of the session stopped, a later attempt."""
    delivery = Delivery()
    post(delivery, 200, 0, is_stream=True)
    assert post(delivery, status, 10, is_stream=True) is Fate.KEEP
    assert delivery.state is TransferState.INACTIVE
    assert not delivery.may_post
    assert delivery.next_deadline == delivery.retry_at == 10.25
    assert delivery.tick(10.2) == []
    assert delivery.tick(10.25) == [Todo.POST]
    assert delivery.may_post


def test_attempts_become_rarer_up_to_the_retransmission_time() -> None:
    """SRMP-266, SRMP-267, SRMP-269: 20 seconds, unless set otherwise."""
    delivery = Delivery()
    now, waits = 0.0, []
    for _ in range(10):
        post(delivery, None, now)
        assert delivery.retry_at is not None
        waits.append(delivery.retry_at - now)
        now = delivery.retry_at
        assert delivery.tick(now) == [Todo.POST]
    assert waits == [0.25, 0.5, 1, 2, 4, 8, 16, 20, 20, 20]
    post(delivery, 200, now)
    post(delivery, None, now)
    assert delivery.retry_at == now + 0.25
    patient = Delivery(SrmpTiming(retransmission=0.1))
    post(patient, None, 0)
    assert patient.retry_at == 0.1


def test_requests_that_fail_together_count_once() -> None:
    delivery = Delivery()
    for _ in range(3):
        delivery.posted(0, is_stream=False)
    for now in (1, 2, 3):
        assert delivery.answered(None, now, is_stream=False) is Fate.KEEP
    assert (delivery.failures, delivery.retry_at, delivery.under_way) == (1, 1.25, 0)


def test_an_operator_can_ask_for_the_next_attempt() -> None:
    delivery = Delivery()
    post(delivery, None, 0)
    delivery.retry()
    assert delivery.may_post


def test_an_unused_connection_is_closed() -> None:
    """SRMP-237, SRMP-274, SRMP-275: after 300 seconds without an answer, unless set otherwise."""
    delivery = Delivery()
    post(delivery, 200, 0)
    post(delivery, 400, 100)
    assert delivery.tick(300) == []
    assert not delivery.is_over
    assert delivery.tick(400) == [Todo.CLOSE]
    assert delivery.is_over
    assert delivery.state is TransferState.DISCONNECTED
    assert delivery.may_post
    short = Delivery(SrmpTiming(clean_up=1))
    post(short, 200, 0)
    assert short.next_deadline == 1


def test_a_connection_with_a_request_under_way_is_in_use() -> None:
    delivery = Delivery()
    post(delivery, 200, 0)
    delivery.posted(299, is_stream=False)
    assert delivery.tick(300) == []
    assert delivery.state is TransferState.CONNECTED


def test_stream_messages_without_receipt_are_sent_again_on_a_schedule() -> None:
    """SRMP-248, SRMP-251, SRMP-271 to SRMP-273: 30 s, 5 min, 30 min, three times each, then 6 h."""
    delivery = Delivery(SrmpTiming(clean_up=1e9))
    post(delivery, 200, 0, is_stream=True)
    now, waits = 0.0, []
    for _ in range(12):
        at = delivery.next_deadline
        assert at is not None
        waits.append(at - now)
        now = at
        assert delivery.tick(now) == [Todo.RESEND]
    assert waits == [30] * 3 + [300] * 3 + [1800] * 3 + [21600] * 3
    assert RESEND_S[-1] == 21600


def test_the_timer_of_a_stream_starts_with_its_first_message() -> None:
    """SRMP-248: later ones do not put it off."""
    delivery = Delivery()
    post(delivery, 200, 0, is_stream=True)
    post(delivery, 200, 20, is_stream=True)
    assert delivery.next_deadline == 30


def test_a_receipt_starts_the_schedule_anew_or_ends_it() -> None:
    """SRMP-251: progress goes back to the first wait (HTTP-13)."""
    delivery = Delivery(SrmpTiming(clean_up=1e9))
    post(delivery, 200, 0, is_stream=True)
    for _ in range(5):
        assert delivery.next_deadline is not None
        delivery.tick(delivery.next_deadline)
    assert delivery.resends == 5
    delivery.receipted(1000, is_waiting=True)
    assert (delivery.resends, delivery.next_deadline) == (0, 1030)
    delivery.receipted(1010, is_waiting=False)
    assert delivery.next_deadline == 1e9


def test_the_durations_of_the_schedule_can_be_set() -> None:
    """SRMP-270."""
    delivery = Delivery(SrmpTiming(resend=(1.0, 2.0)))
    post(delivery, 200, 0, is_stream=True)
    assert delivery.tick(1) == [Todo.RESEND]
    assert delivery.next_deadline == 3


def test_a_paused_destination_does_nothing() -> None:
    """SRMP-222, SRMP-239, SRMP-240: no timer runs until it is resumed."""
    delivery = Delivery()
    post(delivery, 200, 0, is_stream=True)
    delivery.posted(1, is_stream=False)
    delivery.pause()
    assert delivery.next_deadline is None
    assert not delivery.may_post
    assert delivery.answered(None, 2, is_stream=False) is Fate.KEEP
    assert (delivery.state, delivery.next_deadline) == (TransferState.ON_HOLD, None)
    delivery.resume()
    assert delivery.state is TransferState.INACTIVE
    assert delivery.may_post


def test_an_answer_to_a_paused_destination_still_counts_for_its_message() -> None:
    delivery = Delivery()
    delivery.posted(0, is_stream=False)
    delivery.pause()
    assert delivery.answered(200, 1, is_stream=False) is Fate.REMOVE
    assert (delivery.state, delivery.next_deadline) == (TransferState.ON_HOLD, None)


def test_to_resume_what_is_not_paused_changes_nothing() -> None:
    delivery = Delivery()
    post(delivery, 200, 0)
    delivery.resume()
    assert delivery.state is TransferState.CONNECTED
