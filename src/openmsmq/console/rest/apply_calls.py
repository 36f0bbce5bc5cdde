"""Queues and settings as code over REST: a plan first, and exactly that plan is carried out."""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal, cast
from uuid import UUID

from openmsmq.client._async.manager import Manager
from openmsmq.client.plan import FileError, Impossible, Step, make_plan, read_plan
from openmsmq.console.models import ApplyStep, ApplyText, ApplyView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute


async def apply(call: ApiCall) -> ApiReply:
    """Show the steps from what is there to what a text in TOML says, or carry them out.

    With `dry_run` nothing is done, for which `watch` is enough; the answer has an ETag. It takes
    that in `If-Match` to carry the steps out: if they would be others now, nothing is done.
    """
    asked = await call.body(ApplyText)
    manager = await call.manager()
    steps = await _steps(manager, asked)
    tag = _tag(steps)
    todo = [step for step in steps if step.action != "keep"]
    if not asked.dry_run:
        _check(call.request.headers.get("If-Match"), tag)
        for number, step in enumerate(todo):
            await _carry_out(manager, step)
            call.log("apply", step.name, f"{step.action}, {number + 1} of {len(todo)}")
    shown = ApplyView([_view(step) for step in steps], 0 if asked.dry_run else len(todo))
    return ApiReply(shown, {"ETag": tag})


async def _steps(manager: Manager, asked: ApplyText) -> list[Step]:
    try:
        wanted = read_plan(asked.plan)
    except FileError as error:
        raise RequestRefused(400, f"plan: {error}") from None
    queues, settings = await manager.queues(), await manager.settings()
    try:
        return make_plan(wanted, queues, settings, prune=asked.prune, force=asked.force)
    except Impossible as error:
        raise RequestRefused(422, str(error)) from None


def _check(given: str | None, tag: str) -> None:
    if given is None:
        raise RequestRefused(428, "If-Match is needed", "send the ETag of the dry run")
    if given != tag:
        raise RequestRefused(412, "the steps are other ones now", "look at the dry run again")


def _tag(steps: list[Step]) -> str:
    """What changes with the steps."""
    text = repr(
        [(one.action, one.name, sorted(one.changes.items()), one.messages) for one in steps]
    )
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


async def _carry_out(manager: Manager, step: Step) -> None:
    match step.action:
        case "create":
            await (await manager.create_queue(step.name, **step.queue_values)).close()
        case "delete":
            await manager.delete_queue(step.name)
        case "change" if step.name:
            async with await manager.open_queue(step.name) as queue:
                await queue.set(**step.queue_values)
        case _:
            await manager.configure(**step.values)


def _view(step: Step) -> ApplyStep:
    changes = {name: [_shown(old), _shown(new)] for name, (old, new) in step.changes.items()}
    action = cast(Literal["create", "change", "delete", "keep"], step.action)
    return ApplyStep(action, step.name, changes, step.messages)


def _shown(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


APPLY_ROUTES: Final = (
    ApiRoute(
        "POST",
        "/managers/{manager}/apply",
        "admin",
        "Queues and settings as a TOML text says: the steps (`dry_run`, `watch` is enough), or do"
        " them (`If-Match`)",
        apply,
        ApplyView,
        ApplyText,
    ),
)
