"""What requests may hold."""

from __future__ import annotations

import msgspec
import pytest

from openmsmq.console.models import Login, MessageToSend, NewPlan, NewQueue, PlanRun, encode


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Login, '{"password": "x"}'),
        (NewQueue, '{"name": ""}'),
        (NewQueue, '{"name": "a", "privacy": 3}'),
        (MessageToSend, '{"text": "a", "priority": 8}'),
        (MessageToSend, '{"text": "a", "correlation_id": "zz"}'),
        (NewPlan, '{"manager": "a", "queue": "b", "act": "return", "lifetime": "long"}'),
        (NewPlan, '{"manager": "a", "queue": "b", "act": "return", "ids": ["-1"]}'),
        (PlanRun, '{"first": 0}'),
    ],
)
def test_what_makes_no_sense_is_refused(kind: type[object], text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=kind)


def test_a_plan_says_how_long_new_messages_live() -> None:
    for life in ("null", '"keep"', "60"):
        text = f'{{"manager": "a", "queue": "b", "act": "return", "lifetime": {life}}}'
        plan = msgspec.json.decode(text, type=NewPlan)
        assert encode(plan.lifetime).decode() == life
