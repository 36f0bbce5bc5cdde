"""The description of the API."""

from __future__ import annotations

import json

from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.application import ROUTES
from openmsmq.console.rest.openapi import describe


def test_every_route_is_described() -> None:
    found = describe(ROUTES)
    assert found["openapi"] == "3.1.0"
    for route in ROUTES:
        operation = found["paths"][route.path][route.method.lower()]
        assert operation["x-role"] == route.role
        assert str(route.status) in operation["responses"]
    ids = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids))


def test_every_reference_leads_somewhere() -> None:
    found = describe(ROUTES)
    names = set(found["components"]["schemas"])
    text = json.dumps(found)
    used = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert used <= names


@at_desk
async def test_it_is_there_without_a_login(desk: Desk) -> None:
    answer = await desk.client.get("/api/v1/openapi.json")
    assert (await answer.json())["info"]["title"] == "OpenMSMQ"
