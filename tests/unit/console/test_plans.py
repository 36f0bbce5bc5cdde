"""Plans: what they say on the command line, and what they do when a manager is away."""

from __future__ import annotations

import asyncio
import tracemalloc
from datetime import UTC, datetime
from typing import Any, Literal, cast

import pytest
from tests.unit.console.harness import TOKEN, Desk, at_desk

from openmsmq.client._async.manager import Manager
from openmsmq.console.limits import LOGIN_PLANS_MAX, PLANS_MAX
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
    for _ in range(LOGIN_PLANS_MAX):
        await desk.ask("POST", "/plans", {**asked, "ids": ["1"]}, status=201)
    await desk.ask("GET", f"/plans/{plan['id']}", status=404)
    await asyncio.sleep(0)


class Losing:
    """A manager whose answers to some calls are lost, although it does what it is asked."""

    def __init__(self, manager: Manager, lost: str) -> None:
        self._manager = manager
        self._lost = lost

    async def manager(self) -> Any:
        return self

    async def open_queue(self, name: str, **given: Any) -> Any:
        queue = await self._manager.open_queue(name, **given)
        if not self._lost:
            return queue
        call = getattr(queue, self._lost)

        async def lose(*values: Any, **more: Any) -> Any:
            answer = await call(*values, **more)
            if self._lost:
                self._lost = ""
                raise ServiceNotAvailable("the connection was lost")
            return answer

        object.__setattr__(queue, self._lost, lose)
        return queue


@pytest.mark.parametrize(
    ("act", "state", "copies", "left"),
    [("move", "done", 3, 0), ("copy", "interrupted", 3, 3)],
)
def test_no_message_is_sent_twice_when_an_answer_is_lost(
    act: Literal["move", "copy"], state: str, copies: int, left: int
) -> None:
    @at_desk
    async def test(desk: Desk) -> None:
        queue = await desk.manager.create_queue("orders")
        target = await desk.manager.create_queue("target")
        await queue.send_many(["a", "b", "c"])
        ids = [one.lookup_id for one in await queue.peek_many(3, timeout=0)]
        plans = Plans(lambda plan, how: None)
        asked = NewPlan("here", "orders", act, target="target")
        plan = Plan("p", asked, "me", "", [PlanStep("target", ids)], datetime.now(UTC))
        link = cast(ManagerLink, Losing(desk.manager, "redirect"))
        plans.run(plan, link, None)
        assert plan.task is not None
        await plan.task
        assert plan.state == state
        assert (await target.info()).messages == copies
        assert (await queue.info()).messages == left
        view = plan.view()
        assert view.count == 3
        if act == "copy":
            assert (view.failed, view.done) == (3, 0)
            assert "not known" in view.error

    test()


@at_desk
async def test_plans_of_one_login_do_not_push_out_those_of_others(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    plans = Plans(lambda plan, how: None)
    link = desk.state.links.find("here", TOKEN)
    asked = NewPlan("here", "orders", "delete", ids=["1"])
    mine = await plans.make(asked, link, "mine", "me")
    for _ in range(PLANS_MAX + 1):
        await plans.make(asked, link, "another", "someone")
    assert plans.find(mine.id, "mine") is mine
    assert len(plans.all("another")) == LOGIN_PLANS_MAX


@at_desk
async def test_a_plan_to_return_keeps_no_bodies(desk: Desk) -> None:
    """What is kept of a message to return is a few numbers, however large its body is."""
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([bytes(50_000)] * 1000)
    asked = NewPlan("here", "orders", "return", target="orders")
    tracemalloc.start()
    try:
        plan = await Plans(lambda plan, how: None).make(
            asked, desk.state.links.find("here", TOKEN), "", "me"
        )
        assert plan.left == 1000
        assert tracemalloc.get_traced_memory()[1] < 25_000_000
    finally:
        tracemalloc.stop()
