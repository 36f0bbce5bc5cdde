"""What a request says: bounded, and refused if it makes no sense."""

from __future__ import annotations

import pytest
from tests.unit.console.harness import Desk, at_desk

QUEUES = "/managers/here/queues"


@at_desk
async def test_wrong_parameters_are_refused(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    for query in ("limit=x", "limit=-1", "limit=1001", "everything=perhaps", "limit=²"):
        await desk.ask("GET", f"{QUEUES}?{query}", status=400)
    for path in ("a" * 501, "%00", "%0a"):
        await desk.ask("GET", f"{QUEUES}/{path}", status=400)
    await desk.ask("GET", f"{QUEUES}?name={'x' * 501}", status=400)
    await desk.ask("GET", f"{QUEUES}/orders/messages/{1 << 64}", status=400)


@at_desk
async def test_a_body_is_json(desk: Desk) -> None:
    from tests.unit.console.harness import AS_PROGRAM

    async with desk.client.post(f"/api/v1{QUEUES}", data="name=x", headers=AS_PROGRAM) as answer:
        assert answer.status == 415
    headers = {**AS_PROGRAM, "Content-Type": "application/json"}
    for wrong in (b"", b"{", b"[]", b"\xff", b'{"name": ""}'):
        async with desk.client.post(f"/api/v1{QUEUES}", data=wrong, headers=headers) as answer:
            assert answer.status == 400, wrong


@pytest.mark.parametrize("name", ["orders", r".\private$\orders", "PRIVATE$\\ORDERS"])
def test_a_queue_has_all_its_names(name: str) -> None:
    @at_desk
    async def test(desk: Desk) -> None:
        await desk.manager.create_queue("orders")
        from urllib.parse import quote

        given = name if name.startswith(".") or "\\" not in name else f".\\{name}"
        shown = await desk.ask("GET", f"{QUEUES}/{quote(given, safe='')}")
        assert shown["name"].lower() == r".\private$\orders"

    test()
