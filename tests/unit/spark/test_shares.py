"""How the limit of a batch is shared by queues."""

from __future__ import annotations

from tests.unit.spark.test_stream_reader import at, reader

from openmsmq import Manager, Message


def test_bytes_that_some_queues_leave_go_to_the_others(manager: Manager) -> None:
    for name in "abcdefghij":
        manager.create_queue(name)
    manager.open_queue("a").send_many([Message(bytes(1000))] * 100)
    found = reader(queue="a,b,c,d,e,f,g,h,i,j", maxBytesPerTrigger="60000")
    end = found.latestOffset(found.initialOffset(), found.getDefaultReadLimit())
    assert 40 <= at(found, end)["a"] <= 60
