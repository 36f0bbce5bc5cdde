"""What the requests of one connection share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.app_server.machines import Desk
from tests.unit.app_server.programs import packet

from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.payloads import Send
from openmsmq.app_server import context
from openmsmq.app_server.context import NEXT_TURN
from openmsmq.app_server.sweeper import SessionSweeper
from openmsmq.errors import InvalidHandle, InvalidParameter, TransactionSequence


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_is_not_open_is_named_in_the_error(desk: Desk) -> None:
    session = desk.welcome().session
    with pytest.raises(InvalidHandle, match="unknown queue handle 7"):
        session.handle(7)
    with pytest.raises(TransactionSequence, match="unknown transaction 9"):
        session.transaction(9)


def test_a_cursor_belongs_to_one_handle(desk: Desk) -> None:
    client = desk.welcome()
    first = client.create()
    second = int(client.call("open_queue", name="orders")["handle"])
    cursor = int(client.call("open_cursor", handle=first)["cursor"])
    session = client.session
    session.cursor(cursor, session.handle(first))
    with pytest.raises(InvalidHandle, match=f"unknown cursor {cursor}"):
        session.cursor(cursor, session.handle(second))


def test_a_connection_has_so_much_open_and_no_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "HANDLES_MAX", 1)
    session = desk.welcome().session
    assert session.number({}) == 1
    with pytest.raises(InvalidParameter, match="at most 1 of these"):
        session.number({1: None})


def test_a_request_is_answered_once(desk: Desk) -> None:
    client = desk.welcome()
    waiting = client.read(client.create(), 1000)
    client.session.answer(waiting, Kind.DONE)
    with pytest.raises(AssertionError, match="once"):
        client.session.answer(waiting, Kind.DONE)


def test_an_answer_that_gives_credit_back_lets_requests_go_on_in_the_next_turn(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, requests_max=1)
    client = desk.welcome()
    waiting = client.read(client.create(), 0xFFFFFFFF)
    client.tell(Kind.PING, b"later")
    client.session.answer(waiting, Kind.DONE)
    assert [found.kind for found in client.wire.frames()] == [Kind.DONE]
    assert client.session.next_deadline == NEXT_TURN
    client.session.tick(desk.now)
    assert [found.kind for found in client.wire.frames()] == [Kind.PONG]


def test_a_session_that_is_over_writes_nothing_and_has_no_deadline(desk: Desk) -> None:
    client = desk.welcome()
    client.read(client.create(), 1000)
    client.session.close("enough")
    assert client.wire.frames()[-1].kind is Kind.CLOSING
    client.session.write(Kind.PONG, 1)
    assert client.wire.frames() == []
    assert client.session.next_deadline is None


def test_a_program_found_to_be_gone_gets_nothing_that_others_give_back(desk: Desk) -> None:
    """Its connection is over for the session before the event loop says so."""
    waiting, holder = desk.welcome(), desk.welcome()
    handle = holder.create()
    holder.tell(Kind.SEND, Send(handle, 0, (packet("a"),)).encode())
    holder.read(handle, 0)
    waiting.read(int(waiting.call("open_queue", name="orders")["handle"]), 1000)
    holder.wire.peer_gone = waiting.wire.peer_gone = True
    SessionSweeper(desk.server).tick(desk.now)
    holder.session.lost()
    waiting.session.lost()
    assert waiting.wire.is_aborted
    assert waiting.wire.frames() == []
    queue = desk.local.queues.find(r"private$\orders")
    assert not queue.holds
