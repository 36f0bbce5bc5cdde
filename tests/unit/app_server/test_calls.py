"""What programs can have done by name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.app_server.programs import House, Program, lookups, refused, served
from tests.unit.engine.carriers import FakeTransport

from openmsmq.app_protocol import payloads as app
from openmsmq.app_server import calls as app_calls
from openmsmq.app_server.calls import PROPERTIES
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.errors import (
    AccessDenied,
    EpochDecided,
    IllegalFormatName,
    IllegalPropertyValue,
    IllegalQueuePathName,
    InvalidHandle,
    InvalidParameter,
    MessageNotFound,
    MQError,
    OperationCancelled,
    PropertyNotAllowed,
    QueueExists,
    QueueNotAvailable,
    QueueNotFound,
    ReceiveTimeout,
    SharingViolation,
    StorageFull,
    TransactionSequence,
    TransactionUsage,
    UnsupportedAccessMode,
    UnsupportedFormatNameOperation,
    UnsupportedOperation,
)
from openmsmq.types.outgoing import OutgoingInfo

A_GUID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000"
ELSEWHERE = "DIRECT=OS:elsewhere\\private$\\q"


# Arguments


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("no_such_call", {}),
    ("__init__", {}),
    ("call", {}),
    ("create_queue", {}),
    ("create_queue", {"name": None}),
    ("create_queue", {"name": 5}),
    ("create_queue", {"name": "q", "colour": "red"}),
    ("create_queue", {"name": "q", "kind": "system"}),
    ("create_queue", {"name": "q", "transactional": 1}),
    ("create_queue", {"name": "q", "journal": "yes"}),
    ("create_queue", {"name": "q", "authenticate": []}),
    ("create_queue", {"name": "q", "quota": "5"}),
    ("create_queue", {"name": "q", "quota": 5.5}),
    ("create_queue", {"name": "q", "quota": True}),
    ("create_queue", {"name": "q", "quota": 1 << 70}),
    ("create_queue", {"name": "q", "journal_quota": {}}),
    ("create_queue", {"name": "q", "privacy": "high"}),
    ("create_queue", {"name": "q", "base_priority": 1.5}),
    ("create_queue", {"name": "q", "label": 5}),
    ("create_queue", {"name": "q", "type": 5}),
    ("delete_queue", {}),
    ("delete_queue", {"name": "orders", "force": True}),
    ("open_queue", {}),
    ("open_queue", {"name": "orders", "mode": "r"}),
    ("open_queue", {"name": "orders", "access": "receive"}),
    ("open_queue", {"name": "orders", "access": ["write"]}),
    ("open_queue", {"name": "orders", "access": [1]}),
    ("open_queue", {"name": "orders", "access": []}),
    ("open_queue", {"name": "orders", "share": "all"}),
    ("open_queue", {"name": "orders", "share": 1}),
    ("close_queue", {}),
    ("close_queue", {"handle": "1"}),
    ("close_queue", {"handle": -1}),
    ("close_queue", {"handle": 1 << 32}),
    ("close_queue", {"handle": 1, "now": True}),
    ("set_queue", {"label": "x"}),
    ("set_queue", {"handle": 1, "name": "another"}),
    ("set_queue", {"handle": 1, "quota": "none"}),
    ("queue_info", {}),
    ("queue_info", {"handle": 1, "what": "all"}),
    ("queues", {"everything": 1}),
    ("queues", {"limit": 0}),
    ("queues", {"limit": "1"}),
    ("queues", {"limit": 1, "after": "x"}),
    ("queues", {"all": True}),
    ("purge", {}),
    ("purge", {"handle": 1, "count": 5}),
    ("move", {}),
    ("move", {"handle": 1}),
    ("move", {"handle": 1, "lookup_id": -1}),
    ("move", {"handle": 1, "lookup_id": 1 << 64}),
    ("move", {"handle": 1, "lookup_id": 1, "target": 5}),
    ("move", {"handle": 1, "lookup_id": 1, "to": "x"}),
    ("move", {"handle": 1, "lookup_id": 1, "transaction": "x"}),
    ("pause", {}),
    ("pause", {"handle": 1, "for": 5}),
    ("resume", {}),
    ("retry", {}),
    ("retry", {"handle": 1, "after": 5}),
    ("outgoing", {"everything": True}),
    ("open_cursor", {}),
    ("open_cursor", {"handle": 1, "at": 5}),
    ("close_cursor", {}),
    ("close_cursor", {"cursor": 1, "handle": 1}),
    ("unsubscribe", {}),
    ("unsubscribe", {"subscription": "x"}),
    ("unsubscribe", {"subscription": 1, "handle": 1}),
    ("begin", {"xid": 5}),
    ("begin", {"name": "x"}),
    ("prepare", {}),
    ("prepare", {"transaction": 0}),
    ("commit", {"transaction": 0}),
    ("commit", {"transaction": 1, "now": True}),
    ("commit", {"transaction": 1, "participants": "x"}),
    ("prepare", {"transaction": 1, "participants": []}),
    ("unit_states", {}),
    ("unit_states", {"xids": [5]}),
    ("finish_unit", {"xid": "x"}),
    ("units", {"everything": True}),
    ("abort", {"transaction": 1 << 64}),
    ("prepared", {"xid": "x"}),
    ("commit_prepared", {}),
    ("commit_prepared", {"xid": 5}),
    ("abort_prepared", {"xid": "x", "transaction": 1}),
    ("commit_epoch", {}),
    ("commit_epoch", {"query": "w", "epoch": -1, "winners": []}),
    ("commit_epoch", {"query": "w", "epoch": 1, "winners": "x"}),
    ("commit_epoch", {"query": "w", "epoch": 1, "winners": [], "losers": []}),
    ("commit_epoch", {"query": "w", "epoch": 1, "winners": [], "final": 1}),
    ("explain", {}),
    ("explain", {"message_id": "x"}),
    ("explain", {"message_id": "x", "deep": True}),
    ("statistics", {"since": 5}),
    ("settings", {"name": "quota"}),
]


@served()
async def test_wrong_arguments_are_the_programs_mistake(house: House) -> None:
    """Unknown ones, missing ones, those of another type; the connection goes on."""
    program = await house.program()
    await program.create()
    for call, arguments in WRONG:
        with pytest.raises(MQError) as found:
            await program.call(call, **arguments)
        assert type(found.value) is InvalidParameter, (call, arguments, found.value)
    assert (await program.call("queues"))["queues"][0]["label"] == ""
    assert len((await program.call("queues"))["queues"]) == 1


@served()
async def test_a_null_is_as_good_as_nothing(house: House) -> None:
    program = await house.program()
    handle = await program.create(label=None, quota=None, type=None, journal=None)
    await program.call("set_queue", handle=handle, label=None)
    await program.call("open_queue", name="orders", access=None, share=None)
    await program.call("begin", xid=None)
    await program.call("queues", everything=None)


def test_every_property_of_a_queue_can_be_reported() -> None:
    fixed = {"name", "id", "created", "modified", "kind", "purpose", "permissions"}
    assert set(PROPERTIES) == set(QueueProperties.__dataclass_fields__) - fixed


# Queues


@served()
async def test_a_queue_is_created_shown_changed_and_deleted(house: House) -> None:
    program = await house.program()
    given = {
        "transactional": True,
        "journal": True,
        "quota": 100,
        "journal_quota": 50,
        "label": "Große Aufträge",
        "authenticate": False,
        "privacy": 1,
        "base_priority": -5,
        "type": A_GUID,
    }
    await program.call("create_queue", name="orders", **given)
    handle = await program.open("orders")
    found = (await program.call("queue_info", handle=handle))["queue"]
    assert {name: found[name] for name in given} == given
    assert found["name"] == ".\\private$\\orders"
    assert UUID(found["id"]).int
    assert found["state"] == "active"
    changes = {"label": "", "quota": 7, "base_priority": 3, "type": str(UUID(int=0))}
    await program.call("set_queue", handle=handle, **changes)
    found = (await program.call("queues"))["queues"]
    assert [{name: queue[name] for name in changes} for queue in found] == [changes]
    await program.call("delete_queue", name=".\\PRIVATE$\\Orders")
    assert (await program.call("queues"))["queues"] == []
    await refused(program.call("set_queue", handle=handle, label="x"), QueueNotAvailable)


@served()
async def test_what_the_rules_refuse_is_refused(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    refusals: list[tuple[type[MQError], str, dict[str, Any]]] = [
        (QueueExists, "create_queue", {"name": "orders"}),
        (IllegalQueuePathName, "create_queue", {"name": "a,b"}),
        (IllegalQueuePathName, "create_queue", {"name": "half \ud800 pair"}),
        (IllegalPropertyValue, "create_queue", {"name": "q", "label": "half \ud800 pair"}),
        (InvalidParameter, "commit_epoch", {"query": "\ud800", "epoch": 1, "winners": []}),
        (IllegalQueuePathName, "create_queue", {"name": ELSEWHERE}),
        (IllegalPropertyValue, "create_queue", {"name": "q", "label": "x" * 125}),
        (IllegalPropertyValue, "create_queue", {"name": "q", "quota": -1}),
        (IllegalPropertyValue, "create_queue", {"name": "q", "privacy": 3}),
        (IllegalPropertyValue, "create_queue", {"name": "q", "type": "x"}),
        (QueueNotFound, "delete_queue", {"name": "nowhere"}),
        (UnsupportedFormatNameOperation, "delete_queue", {"name": ELSEWHERE}),
        (IllegalFormatName, "open_queue", {"name": "DIRECT=XY:a\\b"}),
        (QueueNotFound, "open_queue", {"name": "nowhere"}),
        (QueueNotFound, "open_queue", {"name": ELSEWHERE, "access": ["receive"]}),
        (PropertyNotAllowed, "set_queue", {"handle": handle, "transactional": True}),
        (UnsupportedOperation, "pause", {"handle": handle}),
        (UnsupportedOperation, "resume", {"handle": handle}),
        (UnsupportedOperation, "retry", {"handle": handle}),
        (MessageNotFound, "move", {"handle": handle, "lookup_id": 1, "target": "sub"}),
        (InvalidHandle, "queue_info", {"handle": 77}),
        (InvalidHandle, "close_queue", {"handle": 77}),
        (InvalidHandle, "close_cursor", {"cursor": 77}),
        (IllegalPropertyValue, "configure", {"quota": "x"}),
        (PropertyNotAllowed, "configure", {"no_such_setting": 1}),
        (PropertyNotAllowed, "configure", {"self": 1}),
        (IllegalPropertyValue, "configure", {"history": None}),
    ]
    for error, call, arguments in refusals:
        await refused(program.call(call, **arguments), error)


@served()
async def test_what_is_not_on_disk_is_not_done(house: House) -> None:
    program = await house.program()
    house.store.refuse = {"commit": StorageFull("broken")}
    await refused(program.call("create_queue", name="orders"), StorageFull)
    assert (await program.call("queues"))["queues"] == []


@served()
async def test_a_queue_is_opened_for_what_is_asked(house: House) -> None:
    program = await house.program()
    await program.create()
    for asked, given in (
        (None, ["receive", "send", "peek"]),
        (["send"], ["send"]),
        (["peek", "receive"], ["receive", "peek"]),
        (["peek", "peek"], ["peek"]),
    ):
        found = await program.call("open_queue", name="orders", access=asked)
        assert found["access"] == given
        assert found["name"] == ".\\private$\\orders"
    away = await program.call("open_queue", name=ELSEWHERE)
    assert (away["access"], away["name"]) == (["send"], ELSEWHERE)
    dead = await program.call("open_queue", name=".\\DeadLetter$")
    assert dead["access"] == ["receive", "peek"]


@served()
async def test_others_can_be_kept_out(house: House) -> None:
    program, other = await house.program(), await house.program()
    await program.create()
    await program.call("close_queue", handle=1)
    alone = {"name": "orders", "access": ["receive"], "share": "receive"}
    handle = (await program.call("open_queue", **alone))["handle"]
    await refused(other.open("orders", "receive"), SharingViolation)
    await other.open("orders", "send")
    await program.call("close_queue", handle=handle)
    await other.open("orders", "receive")
    asked = {"name": "orders", "access": ["send"], "share": "receive"}
    await refused(program.call("open_queue", **asked), UnsupportedAccessMode)


@served()
async def test_a_queue_that_is_closed_gives_back_what_was_read(house: House) -> None:
    """Others who wait get it at once; cursors and reads that wait are over."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    await program.read(handle)
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    kept = await program.open("orders")
    another = (await program.call("open_cursor", handle=kept))["cursor"]
    waiting = program.begin_read(handle)
    theirs = other.begin_read(await other.open("orders"))
    await other.ping()
    await program.call("close_queue", handle=handle)
    await refused(program.answer(waiting), OperationCancelled)
    assert len((await other.answer(theirs)).messages) == 1
    await refused(program.call("close_cursor", cursor=cursor), InvalidHandle)
    await program.call("close_cursor", cursor=another)
    await refused(program.call("close_queue", handle=handle), InvalidHandle)
    await refused(program.read(handle), InvalidHandle)


@served()
async def test_all_queues_there_are(house: House) -> None:
    program = await house.program()
    await program.create("b")
    await program.create("a")
    await program.send(await program.open(ELSEWHERE), "x")
    names = [queue["name"] for queue in (await program.call("queues"))["queues"]]
    assert names == [".\\private$\\a", ".\\private$\\b"]
    found = (await program.call("queues", everything=True))["queues"]
    kinds = [queue["kind"] for queue in found]
    assert kinds[:2] == ["private", "private"]
    assert {"outgoing", "system"} == set(kinds[2:])


@served()
async def test_they_can_be_had_in_pages(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    program = await house.program()
    for number in range(5):
        await program.create(f"a{number}")
        await program.create(f"b{number}")
    monkeypatch.setattr(app_calls, "PAGE_MAX", 3)
    some = await house.program(house.token("read", "a*"))
    cases = ((program, 2, 2, 10), (program, 100, 3, 10), (some, 9, 3, 5))
    for reader, limit, most, expected in cases:
        names: list[str] = []
        answer: dict[str, Any] = {"next": None}
        while "next" in answer:
            answer = await reader.call("queues", limit=limit, after=answer["next"])
            assert len(answer["queues"]) <= most
            names += [queue["name"] for queue in answer["queues"]]
        assert len(set(names)) == len(names) == expected
    assert len((await program.call("queues"))["queues"]) == 10, "all at once"


@served()
async def test_a_purge_says_how_many_there_were(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    assert (await program.call("purge", handle=handle))["count"] == 2
    assert (await program.call("purge", handle=handle))["count"] == 0
    peeker = await program.open("orders", "peek")
    await refused(program.call("purge", handle=peeker), AccessDenied)
    away = await program.open(ELSEWHERE)
    await program.send(away, "x")
    assert (await program.call("purge", handle=away))["count"] == 1


@served()
async def test_messages_move_to_subqueues_and_back(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    [a, _] = lookups(await program.read(handle, count=2, mode=app.PEEK))
    await program.call("move", handle=handle, lookup_id=a, target="later")
    assert await program.peek(handle) == ["b"]
    later = await program.open("orders;later", "receive", "peek")
    assert await program.peek(later) == ["a"]
    await program.call("move", handle=later, lookup_id=a)
    assert await program.peek(handle) == ["a", "b"]
    peeker = await program.open("orders", "peek")
    await refused(program.call("move", handle=peeker, lookup_id=a, target="x"), AccessDenied)
    await program.create("other")
    asked = program.call(
        "move", handle=handle, lookup_id=a, target=".\\private$\\other;later", transaction=None
    )
    await refused(asked, InvalidParameter)


@served()
async def test_messages_move_in_a_transaction(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "a", transaction=work)
    await program.call("commit", transaction=work)
    [a] = lookups(await program.read(handle, mode=app.PEEK))
    work = await program.transaction()
    await program.call("move", handle=handle, lookup_id=a, target="later", transaction=work)
    await refused(program.read(handle), ReceiveTimeout)
    await program.call("abort", transaction=work)
    assert await program.peek(handle) == ["a"]
    asked = program.call("move", handle=handle, lookup_id=a, target="later", transaction=99)
    await refused(asked, TransactionSequence)
    plain = await program.create("plain")
    await program.send(plain, "x")
    [x] = lookups(await program.read(plain, mode=app.PEEK))
    work = await program.transaction()
    asked = program.call("move", handle=plain, lookup_id=x, target="later", transaction=work)
    await refused(asked, TransactionUsage)


@served()
async def test_sending_elsewhere_can_be_held_back(house: House) -> None:
    program = await house.program()
    away = await program.open(ELSEWHERE)
    await program.call("pause", handle=away)
    found = (await program.call("queue_info", handle=away))["queue"]
    assert found["state"] == "on hold"
    await program.call("resume", handle=away)
    found = (await program.call("queue_info", handle=away))["queue"]
    assert found["state"] != "on hold"


@served()
async def test_what_is_on_its_way_is_reported(house: House) -> None:
    program = await house.program()
    await program.create()
    assert await program.call("outgoing") == {"queues": []}
    away = await program.open(ELSEWHERE)
    await program.send(away, "a", "b")
    [found] = (await program.call("outgoing"))["queues"]
    assert found.keys() == OutgoingInfo.__dataclass_fields__.keys()
    assert (found["name"], found["messages"], found["state"]) == (ELSEWHERE, 2, "offline")
    assert found["attempts"] == []


@served()
async def test_the_next_attempt_can_be_asked_for(house: House) -> None:
    program = await house.program()
    away = await program.open(ELSEWHERE)
    transport = FakeTransport()
    house.local.transports.add([AddressKind.BINARY], transport)
    await program.call("retry", handle=away)
    assert [(call, queue.name) for call, queue in transport.reported] == [("retry", ELSEWHERE)]


@served()
async def test_queues_elsewhere_are_reported_to_those_who_may_use_them(house: House) -> None:
    admin = await house.program()
    await admin.open(ELSEWHERE)
    for pattern, count in (("DIRECT=*", 1), ("orders", 0)):
        program = await house.program(house.token("watch", pattern))
        assert len((await program.call("outgoing"))["queues"]) == count
    await refused((await house.program(house.token("send"))).call("outgoing"), AccessDenied)


@pytest.mark.parametrize("role", ["watch", "operate"])
@served()
async def test_who_may_watch_opens_a_queue_to_see_its_properties(house: House, role: str) -> None:
    """And nothing else: no message, and no queue that its patterns leave out."""
    admin = await house.program()
    await admin.send(await admin.create(), "a")
    program = await house.program(house.token(role, "orders", ".\\DeadLetter$"))
    for name, messages in (("orders", 1), (".\\DeadLetter$", 0)):
        opened = await program.call("open_queue", name=name)
        assert opened["access"] == []
        handle = opened["handle"]
        found = await program.call("queue_info", handle=handle)
        assert found["queue"]["messages"] == messages
        await refused(program.read(handle), AccessDenied)
        await refused(program.call("open_cursor", handle=handle), AccessDenied)
        await refused(program.call("purge", handle=handle), AccessDenied)
    orders = await program.open("orders")
    await refused(program.send(orders, "b"), AccessDenied)
    await refused(program.call("set_queue", handle=orders, label="x"), AccessDenied)
    await refused(program.open("orders", "peek"), AccessDenied)
    await admin.create("other")
    await refused(program.open("other"), AccessDenied)
    await refused(program.open(ELSEWHERE), AccessDenied)
    await admin.call("set_permissions", handle=await admin.open("orders"), permissions="D:")
    await refused(program.open("orders"), AccessDenied)


@served()
async def test_a_cursor_is_not_opened_on_what_is_gone(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    await program.call("close_cursor", cursor=cursor)
    await refused(program.call("close_cursor", cursor=cursor), InvalidHandle)
    sender = await program.open("orders", "send")
    await refused(program.call("open_cursor", handle=sender), AccessDenied)
    await program.call("delete_queue", name="orders")
    await refused(program.call("open_cursor", handle=handle), QueueNotAvailable)


# The manager


@served()
async def test_a_message_is_explained(house: House) -> None:
    program = await house.program(client="worker")
    handle = await program.create()
    sent = await program.send(handle, "a")
    await program.end(handle, *lookups(await program.read(handle)))
    message_id = f"{house.local.identity}\\{sent.first_id}"
    events = (await program.call("explain", message_id=message_id))["events"]
    assert [event["event"] for event in events] == ["arrived", "received"]
    assert {event["by"] for event in events} == {"worker at a local socket"}
    assert events[0]["time"] == "2023-11-14T22:13:20+00:00"
    assert (await program.call("explain", message_id=f"{A_GUID}\\1"))["events"] == []


@served()
async def test_the_history_of_a_queue_has_the_newest_first(house: House) -> None:
    program = await house.program(client="worker")
    handle = await program.create()
    for label in ("a", "b"):
        await program.send(handle, label)
    found = await program.call("queue_history", name="orders", limit=1)
    (event,) = found["events"]
    assert (event["event"], event["count"], event["by"]) == (
        "arrived",
        1,
        "worker at a local socket",
    )
    rest = await program.call("queue_history", name="orders", before=found["next"])
    assert (len(rest["events"]), rest["next"]) == (1, 0)
    await refused(program.call("queue_history", name="nothing"), QueueNotFound)


@served()
async def test_counters_and_settings_are_reported(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    assert (await program.call("statistics"))["counts"]["arrived"] == 2
    await program.call("configure", quota=1000, history=5, time_to_reach_queue=None)
    settings = (await program.call("settings"))["settings"]
    assert (settings["quota"], settings["history"]) == (1000, 5)
    assert settings["time_to_reach_queue"] is None
    await program.call("configure", quota=None)
    assert (await program.call("settings"))["settings"]["quota"] is None


# Rights


async def with_queues(house: House) -> Program:
    """An administrator who has made two queues, with a message in each."""
    program = await house.program()
    for name in ("orders", "secret"):
        await program.send(await program.create(name), "a")
    return program


EVERY: list[tuple[str, dict[str, Any], str]] = [
    ("create_queue", {"name": "orders-new"}, "admin"),
    ("delete_queue", {"name": "orders-old"}, "admin"),
    ("set_queue", {"label": "x"}, "admin"),
    ("queue_info", {}, "any"),
    ("queues", {}, "read"),
    ("prepared", {}, "send"),
    ("commit_prepared", {"xid": "tx"}, "admin"),
    ("abort_prepared", {"xid": "tx"}, "admin"),
    ("commit_epoch", {"query": "w", "epoch": 1, "winners": []}, "send"),
    ("units", {}, "admin"),
    ("unit_states", {"xids": []}, "any"),
    ("finish_unit", {"xid": "tx", "confirmed": []}, "any"),
    ("explain", {"message_id": f"{A_GUID}\\1"}, "read"),
    ("queue_history", {"name": "orders"}, "read"),
    ("statistics", {}, "read"),
    ("settings", {}, "read"),
    ("configure", {"quota": 5}, "admin"),
    ("purge", {}, "read"),
    ("pause", {}, "admin"),
    ("retry", {}, "admin"),
    ("outgoing", {}, "read"),
    ("open_cursor", {}, "read"),
    ("move", {"lookup_id": 1}, "read"),
    ("begin", {}, "any"),
    ("unsubscribe", {"subscription": 1}, "any"),
]
WITH_HANDLE = ("set_queue", "queue_info", "purge", "pause", "retry", "open_cursor", "move")


@pytest.mark.parametrize("role", ["read", "send", "read+send", "admin"])
@served()
async def test_each_call_needs_its_role(house: House, role: Any) -> None:
    await (await with_queues(house)).create("orders-old")
    program = await house.program(house.token(role))
    handle = await program.open("orders")
    denied = 0
    for call, arguments, needed in EVERY:
        given = {**arguments, "handle": handle} if call in WITH_HANDLE else arguments
        is_allowed = role == "admin" or needed in (*role.split("+"), "any")
        try:
            await program.call(call, **given)
        except AccessDenied:
            denied += 1
            assert not is_allowed, call
        except MQError:
            assert is_allowed, call
        else:
            assert is_allowed, call
    handles = sum(call in ("purge", "open_cursor", "move") for call, _, _ in EVERY)
    by_role = denied - (handles if role == "send" else 0)
    assert house.metrics.rejected["not allowed"] == by_role


@pytest.mark.parametrize(
    ("role", "all_of_it", "denied"),
    [
        ("read", ["receive", "peek"], [["send"], ["send", "receive"], ["send", "peek"]]),
        ("send", ["send"], [["receive"], ["peek"], ["receive", "send"]]),
        ("read+send", ["receive", "send", "peek"], []),
        ("admin", ["receive", "send", "peek"], []),
    ],
    ids=["read", "send", "both", "admin"],
)
@served()
async def test_to_ask_for_all_is_to_ask_for_what_is_allowed(
    house: House, role: Any, all_of_it: list[str], denied: list[list[str]]
) -> None:
    await with_queues(house)
    program = await house.program(house.token(role))
    everything: list[dict[str, Any]] = [{}, {"access": ["send", "peek", "receive"]}]
    for asked in everything:
        found = await program.call("open_queue", name="orders", **asked)
        assert found["access"] == all_of_it
    for access in denied:
        await refused(program.call("open_queue", name="orders", access=access), AccessDenied)
    assert house.metrics.rejected["not allowed"] == len(denied)


@served()
async def test_readers_read_and_senders_send(house: House) -> None:
    await with_queues(house)
    reader = await house.program(house.token("read"))
    handle = await reader.open("orders")
    await refused(reader.send(handle, "x"), AccessDenied)
    assert await reader.peek(handle) == ["a"]
    await reader.subscribe(handle, 1)
    sender = await house.program(house.token("send"))
    handle = await sender.open("orders")
    await sender.send(handle, "b")
    await refused(sender.read(handle, mode=app.PEEK), AccessDenied)
    await refused(sender.read(handle), AccessDenied)
    await refused(sender.subscribe(handle, 1), AccessDenied)


@pytest.mark.parametrize("role", ["read", "send", "read+send", "admin"])
@served()
async def test_a_token_may_be_for_some_queues_only(house: House, role: Any) -> None:
    admin = await with_queues(house)
    program = await house.program(house.token(role, "ORD*"))
    handle = await program.open("orders")
    await refused(program.open("secret"), AccessDenied)
    await refused(program.open("nowhere"), AccessDenied)
    for access in ("receive", "send", "peek"):
        await refused(program.open("secret", access), AccessDenied)
    if role == "send":
        await refused(program.call("queues"), AccessDenied)
    else:
        found = (await program.call("queues", everything=True))["queues"]
        assert [queue["name"] for queue in found] == [".\\private$\\orders"]
    for call in ("statistics", "settings", "configure"):
        await refused(program.call(call), AccessDenied)
    for call in ("create_queue", "delete_queue"):
        await refused(program.call(call, name="secret"), AccessDenied)
        await refused(program.call(call, name="unknown"), AccessDenied)
    if role == "admin":
        await program.call("set_queue", handle=handle, label="mine")
        await program.call("create_queue", name="orders2")
        await program.call("delete_queue", name="orders2")
    assert len((await admin.call("queues"))["queues"]) == 2


@pytest.mark.parametrize("role", ["read", "send", "read+send"])
@served()
async def test_what_was_refused_is_seen_by_administrators_only(house: House, role: Any) -> None:
    program = await house.program(house.token(role))
    admin = await house.program(house.token("admin"))
    for name in (r".\Refused$", r"DIRECT=OS:.\refused$", r"localhost\REFUSED$"):
        await refused(program.open(name), AccessDenied)
        await refused(program.open(name, "peek"), AccessDenied)
        handle = await admin.open(name, "receive")
        assert (await admin.call("purge", handle=handle))["count"] == 0
    watcher = await house.program(house.token(f"watch+{role}"))
    for asker, is_seen in ((watcher, False), (admin, True)):
        queues = (await asker.call("queues", everything=True))["queues"]
        assert (r".\Refused$" in [queue["name"] for queue in queues]) is is_seen


@served()
async def test_every_name_of_a_queue_is_held_to_the_same_right(house: House) -> None:
    await with_queues(house)
    program = await house.program(house.token("admin", "orders"))
    number = house.queue("secret").number
    for name in (
        ".\\private$\\secret",
        "HOST\\private$\\secret",
        "localhost\\PRIVATE$\\SECRET",
        "DIRECT=OS:.\\private$\\secret",
        "FormatName:DIRECT=TCP:127.0.0.1\\private$\\secret",
        f"PRIVATE={house.local.identity}\\{number:x}",
        "secret;sub",
        ".\\private$\\secret\\Journal$",
        ".\\DeadLetter$",
        ELSEWHERE,
    ):
        await refused(program.open(name), AccessDenied)
    await program.open(f"PRIVATE={house.local.identity}\\{house.queue().number:x}")
    await program.open("orders;sub", "receive")


@served()
async def test_of_several_queues_each_must_be_allowed(house: House) -> None:
    """However the pattern is written: it is not held against all the names in one."""
    admin = await with_queues(house)
    one, other = ("DIRECT=OS:.\\private$\\" + name for name in ("orders", "secret"))
    for pattern in ("orders", "DIRECT=*", "*\\orders", "*orders"):
        program = await house.program(house.token("send", pattern))
        for names in (f"{one},{other}", f"{other},{one}"):
            await refused(program.open(names), AccessDenied)
            await refused(program.open(names, "send"), AccessDenied)
    program = await house.program(house.token("send", "orders", "secret"))
    await program.send(await program.open(f"{other},{one}"), "b")
    assert await admin.peek(await admin.open("secret")) == ["a", "b"]


@served()
async def test_who_has_prepared_a_transaction_may_end_it(house: House) -> None:
    """By name as well, and on another connection; those of others are for administrators."""
    admin = await house.program()
    await admin.create(transactional=True)
    token = house.token("send", "ord*")
    program, again = await house.program(token), await house.program(token)
    handle = await program.open("orders")
    for how in ("commit", "abort"):
        work = await program.transaction(f"ours-{how}")
        await program.send(handle, how, transaction=work)
        await program.call("prepare", transaction=work)
        assert (await again.call("prepared"))["xids"] == [f"ours-{how}"]
        await again.call(f"{how}_prepared", xid=f"ours-{how}")
    assert house.queue().messages == 1
    for how in ("commit", "abort"):
        work = await program.transaction(f"mine-{how}")
        await program.send(handle, how, transaction=work)
        await program.call("prepare", transaction=work)
        await program.call(f"{how}_prepared", xid=f"mine-{how}")
    assert house.queue().messages == 2
    work = await admin.transaction("theirs")
    await admin.call("prepare", transaction=work)
    for other in (program, await house.program(house.token("send"))):
        assert (await other.call("prepared"))["xids"] == []
        await refused(other.call("commit_prepared", xid="theirs"), AccessDenied)
        epoch = {"query": "w", "epoch": 1, "winners": ["theirs"]}
        await refused(other.call("commit_epoch", **epoch), AccessDenied)
    await admin.call("abort_prepared", xid="theirs")


@served()
async def test_who_has_prepared_an_epoch_may_decide_it(house: House) -> None:
    await (await house.program()).create()
    token = house.token("send", "ord*")
    task, driver = await house.program(token), await house.program(token)
    handle = await task.open("orders")
    work = (await task.call("begin", xid="w/0/0/a", stage=True))["transaction"]
    await task.send(handle, "a", transaction=work)
    await task.call("prepare", transaction=work)
    epoch = {"query": "w", "epoch": 0, "winners": ["w/0/0/a"], "final": True}
    assert (await driver.call("commit_epoch", **epoch))["applied"] is True
    assert house.queue().messages == 1
    late = (await task.call("begin", xid="w/0/0/b", stage=True))["transaction"]
    await refused(task.call("prepare", transaction=late), EpochDecided)
    await refused((await house.program(house.token("read"))).call("prepared"), AccessDenied)


@served()
async def test_messages_elsewhere_are_purged_by_administrators(house: House) -> None:
    program = await house.program(house.token("send"))
    away = await program.open(ELSEWHERE)
    await refused(program.call("purge", handle=away), AccessDenied)
    for call in ("pause", "resume", "retry"):
        await refused(program.call(call, handle=away), AccessDenied)
