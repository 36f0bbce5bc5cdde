"""Places in a queue; `test_aio.py` holds the rest of their contract."""

from __future__ import annotations

import pytest

from openmsmq import Cursor, Manager, aio
from openmsmq.client._async.cursor import Cursor as AsyncCursor
from openmsmq.errors import InvalidHandle, ReceiveTimeout


def test_a_cursor_walks_along_a_queue_and_closes_by_itself(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(["1", "2", "3"])
    with queue.cursor() as cursor:
        assert [cursor.peek(0).text, cursor.next(0).text] == ["1", "2"]
        assert cursor.receive(0).text == "2"
    assert [message.text for message in queue.peek_many(9, 0)] == ["1", "3"]


def test_messages_that_cannot_be_read_yet_are_in_nobodys_way(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send("later", deliver_at=3600)
    queue.send("now")
    with queue.cursor() as cursor:
        assert cursor.peek(0).text == "now"
        with pytest.raises(ReceiveTimeout):
            cursor.next(0)


def test_a_closed_queue_has_no_cursors(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.close()
    with pytest.raises(InvalidHandle):
        queue.cursor()


def test_both_kinds_are_where_people_look_for_them() -> None:
    assert aio.Cursor is AsyncCursor
    assert Cursor.__module__ == "openmsmq.client._sync.cursor"
