"""The history of messages names the program that did something, and nobody else."""

from __future__ import annotations

import pytest
from tests.unit.app_server.programs import House, served

from openmsmq.engine.commit.pending import Pending
from openmsmq.runtime.actor import ActingDriver


@served()
async def test_only_during_its_calls_a_program_is_the_one_that_acts(house: House) -> None:
    core = house.local.core
    core.by = ""
    driver = ActingDriver(house.driver, core, "me")
    assert driver.call(lambda: core.by) == "me"
    seen: list[str] = []

    def make() -> Pending[None]:
        seen.append(core.by)
        pending: Pending[None] = Pending()
        pending.succeed(None)
        return pending

    driver.begin(make, lambda pending: seen.append(core.by))
    assert seen == ["me", ""]
    with pytest.raises(ZeroDivisionError):
        driver.call(lambda: 1 // 0)
    assert core.by == ""
    assert not driver.is_closed


@served()
async def test_a_reader_that_waited_is_the_one_who_receives(house: House) -> None:
    """Not the sender whose message it waited for."""
    house.local.core.by = ""
    reader, sender = await house.program(client="reader"), await house.program(client="sender")
    handle = await reader.create()
    waiting = reader.begin_read(handle, timeout=60_000)
    await sender.call("open_queue", name="orders")
    sent = await sender.send(1, "a")
    (found,) = (await reader.answer(waiting)).messages
    await reader.end(handle, found.lookup_id)
    message_id = f"{house.local.core.identity}\\{sent.first_id}"
    events = (await sender.call("explain", message_id=message_id))["events"]
    assert [event["by"].partition(" ")[0] for event in events] == ["sender", "reader"]
    assert house.local.core.by == ""


@served()
async def test_what_the_manager_does_itself_is_nobody_s(house: House) -> None:
    house.local.core.by = ""
    program = await house.program(client="me")
    handle = await program.create()
    sent = await program.send(handle, "a")
    queue = house.local.core.queues.find("private$\\orders")
    await house.driver.wait(lambda: house.local.core.queues.purge(queue))
    message_id = f"{house.local.core.identity}\\{sent.first_id}"
    events = (await program.call("explain", message_id=message_id))["events"]
    assert [event["event"] for event in events] == ["arrived", "purged"]
    assert [event["by"].partition(" ")[0] for event in events] == ["me", ""]
