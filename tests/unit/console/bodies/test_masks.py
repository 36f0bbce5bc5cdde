"""Fields that a role is not to see, and all ways to see them nevertheless."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.console.harness import desk

from openmsmq import Message
from openmsmq.bodies.decode import decode_body
from openmsmq.console.bodies.masks import MASKED, WITHHELD, masked, masked_view, masks_of

SECRET = "4111111111111111"
RULES = {"peek": ("card", "Iban"), "send": ("name",)}
NAMES = masks_of(RULES, "peek")


def test_rules_are_those_of_each_right_of_a_role() -> None:
    assert masks_of(RULES, "peek") == {"card", "iban"}
    assert masks_of(RULES, "peek+send") == {"card", "iban", "name"}
    assert masks_of(RULES, "admin") == frozenset()
    assert masks_of({}, "peek") == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        f"<order><card>{SECRET}</card><no>7</no></order>",
        f"<card>{SECRET}</card>",
        f"<card><no>{SECRET}</no></card>",
        f'<order card="{SECRET}" no="7"/>',
        f'<x:order xmlns:x="urn:x"><x:CARD>{SECRET}</x:CARD></x:order>',
        f"<order><card><![CDATA[{SECRET}]]></card></order>",
        json.dumps({"card": SECRET, "no": 7}),
        json.dumps({"a": [{"Card": {"no": SECRET}}]}),
        json.dumps({"card": SECRET}).replace("card", "c\\u0061rd"),
        SECRET,
        f"card={SECRET}",
        f"<order><card>{SECRET}</card>",
        f'{{"card": "{SECRET}"',
        json.dumps(SECRET),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("body_type", [0, 8, 30, 31])
def test_what_is_masked_is_not_shown(body: str, encoding: str, body_type: int) -> None:
    view = masked_view(body.encode(encoding), body_type, NAMES)
    assert SECRET not in str(view.text)
    assert view.hex == ""
    assert view.text is None or MASKED in view.text
    assert view.text is not None or view.reason == WITHHELD


def test_all_else_is_shown() -> None:
    view = masked_view(b"<order><card>1</card><no>7</no></order>", 0, NAMES)
    assert json.loads(str(view.text)) == {"order": {"card": MASKED, "no": "7"}}
    fields: dict[str, Any] = {"<Card>k__BackingField": 1, "m_card": 2, "cards": 3, "b": b"x"}
    shown = masked(fields, NAMES)
    assert shown == {"<Card>k__BackingField": MASKED, "m_card": MASKED, "cards": 3, "b": "78"}


def test_an_object_of_dotnet_is_masked_by_its_fields() -> None:
    assert decode_body(b"", 0).format == "empty"
    assert masked_view(b"", 0, NAMES).text is None


def test_there_is_no_way_around() -> None:
    """Neither lists nor downloads, exports or filters tell a login with masks what is masked."""

    async def test() -> None:
        async with desk(masks={"admin": ("card",)}) as found:
            queue = await found.manager.create_queue("orders")
            body = f"<order><card>{SECRET}</card></order>"
            await queue.send(Message(body.encode(), label="order", extension=SECRET.encode()))
            path = "/managers/here/queues/orders"
            page = await found.ask("GET", f"{path}/messages?preview=true")
            lookup = page["messages"][0]["lookup_id"]
            details = await found.ask("GET", f"{path}/messages/{lookup}")
            assert MASKED in details["body"]["text"]
            for answer in (page, details):
                assert SECRET not in json.dumps(answer)
            for more in (f"messages/{lookup}/body", f"messages/{lookup}/packet", "export"):
                await found.ask("GET", f"{path}/{more}", status=403)
            for wanted in (
                "body:4111",
                "4111",
                "re:/4/",
                "xpath://card=4",
                "-text:4",
                "format:xml",
            ):
                await found.ask("GET", f"{path}/messages?filter={wanted}", status=403)
                plan = {"manager": "here", "queue": "orders", "act": "delete", "filter": wanted}
                await found.ask("POST", "/plans", plan, status=403)
            assert (await found.ask("GET", f"{path}/messages?filter=label:order"))["messages"]

    asyncio.run(test())
