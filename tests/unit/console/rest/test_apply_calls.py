"""Queues and settings as code over REST."""

from __future__ import annotations

from tests.unit.console.harness import Desk, at_desk

APPLY = "/managers/here/apply"
TEXT = """
[settings]
history = 7
[queue.orders]
label = "x"
type = "6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b"
"""


@at_desk
async def test_exactly_the_steps_that_were_shown_are_carried_out(desk: Desk) -> None:
    await desk.manager.create_queue("old")
    asked = {"plan": TEXT, "prune": True}
    shown = await desk.ask("POST", APPLY, asked)
    assert [step["action"] for step in shown["steps"]] == ["change", "create", "delete"]
    assert shown["done"] == 0
    tag = desk.headers["ETag"]
    await desk.ask("POST", APPLY, {**asked, "dry_run": False}, status=428)
    extra = await desk.manager.create_queue("extra")
    await desk.ask("POST", APPLY, {**asked, "dry_run": False}, status=412, If_Match=tag)
    assert len(await desk.manager.queues()) == 2
    await desk.manager.delete_queue("extra")
    await extra.close()
    done = await desk.ask("POST", APPLY, {**asked, "dry_run": False}, If_Match=tag)
    assert done["done"] == 3
    (queue,) = await desk.manager.queues()
    assert queue.label == "x"
    assert (await desk.manager.settings()).history == 7
    changed = TEXT.replace('"x"', '"y"')
    (_, step) = (await desk.ask("POST", APPLY, {"plan": changed}))["steps"]
    assert (step["action"], step["changes"]) == ("change", {"label": ["x", "y"]})
    tag = desk.headers["ETag"]
    await desk.ask("POST", APPLY, {"plan": changed, "dry_run": False}, If_Match=tag)
    assert (await desk.manager.queues())[0].label == "y"


@at_desk
async def test_what_makes_no_sense_is_refused(desk: Desk) -> None:
    await (await desk.manager.create_queue("full")).send("x")
    for plan, status in (
        ("[", 400),
        ("[nothing]", 400),
        ("[queue.orders]\nquota = -1", 400),
        ("[queue.full]\ntransactional = true", 422),
    ):
        await desk.ask("POST", APPLY, {"plan": plan}, status=status)
    await desk.ask("POST", APPLY, {"plan": "", "prune": True}, status=422)
    await desk.ask("POST", APPLY, {"plan": "", "prune": True, "force": True})
