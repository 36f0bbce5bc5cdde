"""Messages that are sent again: nothing is lost or doubled, whatever becomes of the manager."""

from __future__ import annotations

from pathlib import Path

import openmsmq
from openmsmq import Message

COUNT = 30


def test_what_was_sent_again_is_there_after_a_restart(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(str(n), recoverable=n % 4 > 0) for n in range(COUNT)])
        lookups = [one.lookup_id for one in queue.peek_many(COUNT, timeout=0)]
        manager.create_queue("target")
        ids = queue.redirect(lookups, manager.open_queue("target"))
    with openmsmq.open(tmp_path) as manager:
        found = [one.id for one in manager.open_queue("target").peek_many(COUNT, timeout=0)]
        assert set(found) == set(ids.values())
        assert manager.open_queue("orders").info().messages == 0
