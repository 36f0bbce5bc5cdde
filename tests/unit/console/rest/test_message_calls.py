"""Messages over REST."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

from tests.unit.console.harness import AS_PROGRAM, Desk, at_desk

from openmsmq import Message
from openmsmq.console.limits import EXPORT_IDS_MAX

QUEUE = "/managers/here/queues/orders"


@at_desk
async def test_to_look_changes_nothing(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([Message(str(n), label=f"order {n}") for n in range(10)])
    before = [one.lookup_id for one in await queue.peek_many(20, timeout=0)]
    page = await desk.ask("GET", f"{QUEUE}/messages?limit=4&preview=true")
    assert [one["preview"] for one in page["messages"]] == ["0", "1", "2", "3"]
    page = await desk.ask("GET", f"{QUEUE}/messages?after={page['next']}")
    assert [one["label"] for one in page["messages"]] == [f"order {n}" for n in range(4, 10)]
    assert page["next"] is None
    page = await desk.ask("GET", f"{QUEUE}/messages?newest=true&limit=3")
    assert [one["label"] for one in page["messages"]] == ["order 9", "order 8", "order 7"]
    page = await desk.ask("GET", f"{QUEUE}/messages?before={page['next']}&limit=2")
    assert [one["label"] for one in page["messages"]] == ["order 6", "order 5"]
    page = await desk.ask("GET", f"{QUEUE}/messages?filter=label:*7")
    assert (len(page["messages"]), page["looked_at"]) == (1, 10)
    await desk.ask("GET", f"{QUEUE}/messages?filter=nofield:x", status=400)
    await desk.ask("GET", f"{QUEUE}/messages?after=1&before=2", status=400)
    assert [one.lookup_id for one in await queue.peek_many(20, timeout=0)] == before
    assert (await queue.peek(0)).abort_count == 0


@at_desk
async def test_a_message_is_sent_once_for_a_key_and_shown_whole(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    body = {"text": "<b>ü</b>", "label": "<i>", "app_specific": 7}
    sent = await desk.ask("POST", f"{QUEUE}/messages", body, 201, Idempotency_Key="k1")
    again = await desk.ask("POST", f"{QUEUE}/messages", body, 201, Idempotency_Key="k1")
    assert sent == again
    (row,) = (await desk.ask("GET", f"{QUEUE}/messages"))["messages"]
    shown = await desk.ask("GET", f"{QUEUE}/messages/{row['lookup_id']}")
    assert shown["body"]["text"] == "<b>ü</b>"
    assert shown["properties"]["app_specific"] == 7
    raw = await desk.client.get(
        f"/api/v1{QUEUE}/messages/{row['lookup_id']}/body", headers=AS_PROGRAM
    )
    assert await raw.read() == "<b>ü</b>".encode("utf-16-le")
    assert raw.headers["Content-Disposition"].startswith("attachment")
    assert raw.content_type == "application/octet-stream"
    await desk.ask("GET", f"{QUEUE}/messages/{row['lookup_id']}/packet")
    await desk.ask("DELETE", f"{QUEUE}/messages/{row['lookup_id']}", status=204)
    await desk.ask("GET", f"{QUEUE}/messages/{row['lookup_id']}", status=404)
    await desk.ask("GET", f"{QUEUE}/messages/x", status=400)


@at_desk
async def test_wrong_messages_are_refused(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    for wrong in ({}, {"text": "a", "body": ""}, {"body": "%"}, {"text": 5}, {"text": "a", "x": 1}):
        await desk.ask("POST", f"{QUEUE}/messages", wrong, status=400)
    await desk.ask("POST", "/managers/here/queues/nothing/messages", {"text": "a"}, status=404)


@at_desk
async def test_a_transactional_queue_takes_messages_too(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders", transactional=True)
    text = base64.b64encode(b"\0\xff").decode()
    await desk.ask("POST", f"{QUEUE}/messages", {"body": text}, 201)
    assert (await queue.peek(0)).body == b"\0\xff"


@at_desk
async def test_what_is_exported_can_be_imported(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await desk.manager.create_queue("copy")
    await queue.send_many([Message(str(n), label=f"order {n}") for n in range(5)])
    lines = await desk.ask("GET", f"{QUEUE}/export?filter=-label:*3")
    assert len(lines.splitlines()) == 4
    assert json.loads(lines.splitlines()[0])["label"] == "order 0"
    answer = await desk.client.post(
        "/api/v1/managers/here/queues/copy/import", data=lines, headers=AS_PROGRAM
    )
    assert (answer.status, await answer.json()) == (200, {"sent": 4})
    bad = await desk.client.post(
        "/api/v1/managers/here/queues/copy/import", data="{", headers=AS_PROGRAM
    )
    assert bad.status == 400
    copies = await (await desk.manager.open_queue("copy")).peek_many(9, timeout=0)
    assert [one.label for one in copies] == ["order 0", "order 1", "order 2", "order 4"]


@at_desk
async def test_lists_have_columns_from_bodies_and_begin_at_a_time(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([Message(f'{{"no": {n}}}'.encode(), priority=n % 8) for n in range(16)])
    page = await desk.ask("GET", f"{QUEUE}/messages?column=json:$.no&column=header.X&limit=3")
    assert [one["columns"] for one in page["messages"]] == [["7", ""], ["15", ""], ["6", ""]]
    await desk.ask("GET", f"{QUEUE}/messages?column=no", status=400)
    for time, count in (("-1h", 16), ("2099-01-01", 0)):
        page = await desk.ask("GET", f"{QUEUE}/messages?time={time}&limit=5")
        found = len(page["messages"])
        while page["next"]:
            page = await desk.ask("GET", f"{QUEUE}/messages?time={time}&after={page['next']}")
            found += len(page["messages"])
        assert found == count
        back = await desk.ask("GET", f"{QUEUE}/messages?time={time}&newest=true")
        assert len(back["messages"]) == 16 - count
    await desk.ask("GET", f"{QUEUE}/messages?time=soon", status=400)


@at_desk
async def test_a_message_is_taken_apart(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(
        [Message(b'<order no="7"/>', label="a"), Message(zlib.compress(b'{"a": 1}')), b"\xff" * 9]
    )
    (xml, packed, other) = (await desk.ask("GET", f"{QUEUE}/messages"))["messages"]
    shown = await desk.ask("GET", f"{QUEUE}/messages/{xml['lookup_id']}/decoded")
    assert shown["tree"]["children"] == [
        {"name": "no", "kind": "attribute", "text": "7", "path": "xpath:/order/@no"}
    ]
    labels = [one for one in shown["fields"] if one["path"].endswith(".Label")]
    assert [one["value"] for one in labels] == ["a"]
    assert shown["why"] == "no body type is declared; the body looks like xml"
    shown = await desk.ask("GET", f"{QUEUE}/messages/{packed['lookup_id']}/decoded")
    assert (shown["format"], shown["tree"]["children"][0]["path"]) == ("deflate, json", "json:$.a")
    shown = await desk.ask("GET", f"{QUEUE}/messages/{other['lookup_id']}/decoded")
    assert shown["tree"] is None
    desk.state.settings = replace(desk.state.settings, masks={"admin": ("no",)})
    shown = await desk.ask("GET", f"{QUEUE}/messages/{xml['lookup_id']}/decoded")
    assert (shown["tree"]["children"][0]["children"][0]["text"], shown["fields"]) == ("****", [])
    await desk.ask("GET", f"{QUEUE}/messages?column=xpath:/order/@no", status=403)


@at_desk
async def test_chosen_messages_are_exported(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([Message(str(n), label=f"order {n}") for n in range(5)])
    ids = [one.lookup_id for one in await queue.peek_many(9, timeout=0)]
    lines = await desk.ask("GET", f"{QUEUE}/export?lookup_id={ids[3]}&lookup_id={ids[1]}")
    assert [json.loads(line)["label"] for line in lines.splitlines()] == ["order 3", "order 1"]
    many = "&".join(["lookup_id=1"] * (EXPORT_IDS_MAX + 1))
    await desk.ask("GET", f"{QUEUE}/export?{many}", status=413)
    await desk.ask("GET", f"{QUEUE}/export?lookup_id=x", status=400)


@at_desk
async def test_a_message_like_another_has_all_that_is_not_said(desk: Desk) -> None:
    """Headers of a service bus, the encoding and the type of the body are those of the old one."""
    await desk.manager.create_queue("orders")
    letters = await desk.manager.create_queue("acme.error")
    await letters.send_many(
        [
            Message(b'{"no": "\xc3\xa4"}', label="one", extension=b"headers", app_specific=7),
            Message("text", label="two", correlation_id=bytes(range(20)), time_to_be_received=600),
            Message(bytes(range(200, 256)), label="three"),
        ]
    )
    old = await letters.peek_many(5, timeout=0)

    async def send(n: int, status: int = 201, **said: Any) -> Any:
        like = {"queue": "acme.error", "lookup_id": str(old[n].lookup_id)}
        path = "/managers/here/queues/orders/messages"
        return await desk.ask("POST", path, {"like": like, **said}, status=status)

    await send(0, text='{"no": "ö"}', label="mended")
    await send(1, text="other")
    await send(2)
    assert "written anew" in (await send(2, 422, text="x"))["detail"]
    await send(2, body="AAA=", time_to_be_received=60)
    queue = await desk.manager.open_queue("orders")
    one, two, three, four = await queue.peek_many(9, timeout=0)
    assert (one.body, one.label) == (b'{"no": "\xc3\xb6"}', "mended")
    assert (one.extension, one.app_specific) == (b"headers", 7)
    assert (two.text, two.body_type, two.label) == ("other", 31, "two")
    assert (two.correlation_id, two.time_to_be_received) == (bytes(range(20)), None)
    assert (three.body, four.body) == (old[2].body, b"\0\0")
    assert four.time_to_be_received is not None
    assert len(await letters.peek_many(5, timeout=0)) == 3, "the old ones stay"


@at_desk
async def test_a_part_of_a_body_is_fetched(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send(Message(b"0123456789"))
    (row,) = (await desk.ask("GET", f"{QUEUE}/messages"))["messages"]
    place = f"{QUEUE}/messages/{row['lookup_id']}/body"
    for asked, part, where in (
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=0-99", "0123456789", "bytes 0-9/10"),
    ):
        assert await desk.ask("GET", place, status=206, Range=asked) == part
        assert desk.headers["Content-Range"] == where
        assert desk.headers["Content-Disposition"] == "attachment"
    await desk.ask("GET", place, status=416, Range="bytes=10-")
    assert desk.headers["Content-Range"] == "bytes */10"
    for passed_over in ("bytes=4-2", "lines=1", "bytes=1-2,4-5"):
        assert await desk.ask("GET", place, Range=passed_over) == "0123456789"
