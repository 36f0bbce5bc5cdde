"""How far a replay has come: steps that are written down before they are done, and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from openmsmq.pipelines.lines import JsonLinesFile
from openmsmq.pipelines.tables import PipelineFileError

FILE: Final = "steps.jsonl"


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """Batches of an archive that are sent together."""

    number: int
    first: int
    last: int
    "Batches, both of them included."


class Steps:
    """The steps of one replay, in a file of its own."""

    def __init__(self, folder: Path, what: Mapping[str, Any], *, name: str, archive: str) -> None:
        self._lines = JsonLinesFile(folder / FILE)
        self._what = dict(what)
        self._name = name
        self._archive = archive
        self.id = ""
        "Tells this replay from one with the same name whose file was lost."
        self._writes = ""

    def check(self) -> None:
        """`PipelineFileError` if the replay was begun as another one."""
        head = next(iter(self._lines), None)
        if head is None:
            return
        for key, value in self._what.items():
            if head["what"].get(key) != value:
                raise PipelineFileError(
                    f"{self._lines.path} is of a replay with {key} {head['what'].get(key)!r}, not"
                    f" {value!r}: give this one another name"
                )

    def begin(self) -> None:
        """Go on, or begin."""
        self._lines.mend()
        head = next(iter(self._lines), None)
        if head is None:
            place = sha256(self._archive.encode()).hexdigest()[:12]
            head = {"id": uuid4().hex, "what": self._what, "writes": f"{self._name}-{place}"}
            self._lines.append(head)
        self.id = head["id"]
        self._writes = head.get("writes", self._name)

    def name_of(self, step: ReplayStep) -> str:
        """What the queue manager knows a step by: another archive has other names for its own.

        It stays as it was when the replay was begun, wherever the archive is moved to.
        """
        return f"replay/{self._writes}/{step.number}"

    def todo(self, batches: Mapping[int, int], size: int) -> Iterator[ReplayStep]:
        """What is left to do: first what was begun, then whole batches of about `size` rows.

        `batches` has the rows of each batch that has any, in the order of the batches.
        """
        number, last, is_open = self._state()
        if is_open is not None:
            first, last = is_open
            yield ReplayStep(number, first, last)
            number += 1
        gathered: list[int] = []
        for batch, rows in batches.items():
            if batch <= last or not rows:
                continue
            gathered.append(batch)
            if sum(batches[one] for one in gathered) >= size:
                yield self._opened(number, gathered)
                gathered, number = [], number + 1
        if gathered:
            yield self._opened(number, gathered)

    def _state(self) -> tuple[int, int, tuple[int, int] | None]:
        """The number of the next step, the last batch that is done, and a step that was begun."""
        number, last, is_open = 0, -1, None
        for line in self._lines:
            if "first" in line:
                number, is_open = line["step"], (line["first"], line["last"])
            elif "done" in line and is_open is not None:
                number, last, is_open = line["done"] + 1, is_open[1], None
        return number, last, is_open

    def _opened(self, number: int, batches: list[int]) -> ReplayStep:
        first, last = batches[0], batches[-1]
        self._lines.append({"step": number, "first": first, "last": last})
        return ReplayStep(number, first, last)

    def done(self, step: ReplayStep, sent: int) -> None:
        """A step is done."""
        self._lines.append({"done": step.number, "sent": sent})
