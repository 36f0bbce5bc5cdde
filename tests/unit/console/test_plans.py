"""Plans: what they say on the command line, and what they do when a manager is away."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.limits import PLANS_MAX
from openmsmq.console.links import ManagerLink
from openmsmq.console.models import NewPlan
from openmsmq.console.plans import Plan, Plans, PlanStep, command_of
from openmsmq.console.problems import RequestRefused
from openmsmq.errors import ServiceNotAvailable


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        (
            NewPlan("m", "orders", "delete", ids=["1", "2"]),
            "openmsmq message delete orders --lookup-id 1 --lookup-id 2",
        ),
        (
            NewPlan("m", "orders", "copy", target="b"),
            "openmsmq message redirect orders --all --to b --copy",
        ),
        (
            NewPlan("m", "orders", "return", filter="a b"),
            "openmsmq message return orders --filter 'a b'",
        ),
        (NewPlan("m", "orders", "purge"), "openmsmq queue purge orders"),
    ],
)
def test_a_plan_names_its_command(asked: NewPlan, command: str) -> None:
    assert command_of(asked) == command


@at_desk
async def test_a_plan_goes_on_when_the_manager_is_back(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await desk.manager.create_queue("target")
    await queue.send_many(["a", "b", "c"])
    ids = [one.lookup_id for one in await queue.peek_many(3, timeout=0)]
    away = 2

    class Flaky:
        async def manager(self) -> Any:
            nonlocal away
            if away:
                away -= 1
                raise ServiceNotAvailable("away")
            return desk.manager

    noted: list[str] = []
    plans = Plans(lambda plan, how: noted.append(how))
    asked = NewPlan("here", "orders", "move", target="target")
    plan = Plan("p", asked, "me", "", [PlanStep("target", ids)], datetime.now(UTC))
    plans.run(plan, cast(ManagerLink, Flaky()), None)
    with pytest.raises(RequestRefused, match="is running"):
        plans.run(plan, cast(ManagerLink, Flaky()), None)
    assert plan.task is not None
    await plan.task
    assert (plan.state, plan.done, plan.error) == ("done", 3, "")
    assert noted == ["begun", "done"]


@at_desk
async def test_a_plan_that_waits_too_long_can_be_run_again(desk: Desk) -> None:
    class Away:
        async def manager(self) -> Any:
            raise ServiceNotAvailable("away")

    plans = Plans(lambda plan, how: None, patience=-1.0)
    asked = NewPlan("here", "orders", "move", target="target")
    plan = Plan("p", asked, "me", "", [PlanStep("target", [1])], datetime.now(UTC))
    plans.run(plan, cast(ManagerLink, Away()), None)
    assert plan.task is not None
    await plan.task
    assert plan.state == "interrupted"
    assert plan.left == 1


@at_desk
async def test_plans_are_forgotten_one_day_and_stopped(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await desk.manager.create_queue("target")
    await queue.send_many([str(n) for n in range(300)])
    asked = {"manager": "here", "queue": "orders", "act": "move", "target": "target", "rate": 50}
    plan = await desk.ask("POST", "/plans", asked, status=201)
    await desk.ask("POST", f"/plans/{plan['id']}/run", {}, status=202)
    await desk.ask("DELETE", f"/plans/{plan['id']}", status=409)
    stopped = await desk.ask("POST", f"/plans/{plan['id']}/stop")
    assert stopped["state"] == "stopped"
    assert stopped["done"] < 300
    for _ in range(PLANS_MAX):
        await desk.ask("POST", "/plans", {**asked, "ids": ["1"]}, status=201)
    await desk.ask("GET", f"/plans/{plan['id']}", status=404)
    await asyncio.sleep(0)
