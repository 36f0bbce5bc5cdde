"""The API does what its description says, with every role: schemathesis asks all it allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import openmsmq
from openmsmq import Message
from openmsmq.access.tokens import Tokens
from openmsmq.types.caller import RIGHTS
from tests.e2e.managers import PATIENCE, ManagerProcess
from tests.e2e.rest import RestProgram

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
ENDLESS = "/events"
"A stream that goes on until the page is closed."


class House:
    """A service with a queue, and a token for each role."""

    def __init__(self, process: ManagerProcess) -> None:
        self.process = process
        tokens = Tokens.load(process.folder / "data")
        self.programs: dict[str, RestProgram] = {
            role: RestProgram(process, tokens.create(role)[1]) for role in RIGHTS
        }
        with openmsmq.connect(process.app) as manager:
            manager.create_queue("orders").send_many([Message(f"{n}") for n in range(5)])
        place = self.programs["admin"].place
        self.schema = schemathesis.openapi.from_url(f"{place}/openapi.json")
        self.place = place.removesuffix("/api/v1")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    process = ManagerProcess(
        tmp_path_factory.mktemp("rest"), "shop01", options=("--console-port", "0")
    )
    process.start()
    yield House(process)
    process.stop()


def ask_all(house: House, role: str, examples: int) -> int:
    """Ask each operation with some inputs, good and bad; how many requests that were."""
    asked = 0
    headers = {"Authorization": f"Bearer {house.programs[role].token}"}

    def check(case: Case[Any]) -> None:
        nonlocal asked
        asked += 1
        case.path_parameters = {
            **(case.path_parameters or {}),
            **{
                name: value
                for name, value in (("manager", "shop01"), ("queue", "orders"))
                if name in (case.path_parameters or {}) and asked % 2
            },
        }
        response = case.call(base_url=f"{house.place}/api/v1", headers=headers, timeout=PATIENCE)
        assert response.status_code != 500, response.text
        case.validate_response(response, checks=CHECKS)

    for result in house.schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation: Any = result.ok()
        if operation.path == ENDLESS:
            continue
        strategy = operation.as_strategy()
        test = property_of(strategy, check, examples)
        test()
    return asked


def property_of(strategy: Any, check: Any, examples: int) -> Any:
    """A property of one operation."""
    bounded: Any = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    given_some: Any = given(strategy)
    return bounded(given_some(check))


@pytest.mark.slow
@pytest.mark.parametrize("role", ["admin", "watch"])
def test_the_api_does_what_its_description_says(house: House, role: str) -> None:
    assert ask_all(house, role, 2) > 60


@pytest.mark.acceptance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("role", RIGHTS)
def test_with_every_role(house: House, role: str) -> None:
    assert ask_all(house, role, 60) > 1500
