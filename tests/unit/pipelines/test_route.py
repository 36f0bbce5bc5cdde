"""`[route]` without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.errors import QueueNotFound
from openmsmq.pipelines.route import Rule, check
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError


@pytest.fixture
def route(service: Service, pipeline: Callable[..., Pipeline]) -> Callable[..., Pipeline]:
    def made(rules: list[dict[str, str]], **settings: Any) -> Pipeline:
        return pipeline(
            checkpoint="c",
            source={"queue": "orders", "manager": service.address},
            route={"manager": service.address, "rules": rules, **settings},
        )

    return made


def test_rules_in_their_order(route: Callable[..., Pipeline]) -> None:
    rules = [{"when": "priority > 5", "queue": "urgent"}, {"when": "true", "queue": "rest"}]
    found = route(rules, default="x").settings
    assert found.rules == (Rule("priority > 5", "urgent"), Rule("true", "rest"))
    assert found.default == "x"


def test_rules_and_a_default_are_needed(route: Callable[..., Pipeline]) -> None:
    with pytest.raises(
        PipelineFileError, match=r"route.rules is missing: \[\[route.rules\]\] with `when`"
    ):
        route([], default="x")
    with pytest.raises(PipelineFileError, match=r"route.default is missing"):
        route([{"when": "true", "queue": "x"}])
    with pytest.raises(PipelineFileError, match=r"route.rules\[1\].queue is missing"):
        route([{"when": "true"}], default="x")


def test_all_queues_must_be_there(route: Callable[..., Pipeline], manager: Manager) -> None:
    rules = [{"when": "true", "queue": "urgent"}]
    with pytest.raises(QueueNotFound, match=r"route.queue: there is no queue 'urgent'"):
        check(route(rules, default="orders"))
    manager.create_queue("urgent").close()
    check(route(rules, default="orders"))
