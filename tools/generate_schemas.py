"""JSON schemas of the TOML files, from the code that reads them.

`tools.generate_docs` writes them to `src/openmsmq/assets`, from where `openmsmq assets` copies
them. Those of the configuration and of `openmsmq apply` come from the readers of their keys. What a
pipeline reads depends on what its file says; so the schema is found by having it read a table that
takes note of each question and tries every answer that matters.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from unittest.mock import patch

from openmsmq.client.plan import QUEUE_KEYS, SETTINGS_KEYS
from openmsmq.pipelines import file as pipeline_file
from openmsmq.pipelines.kinds import KINDS
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.routing.file import topology_schema
from openmsmq.service.configuration import default_text
from openmsmq.service.options import OPTIONS, TABLES
from openmsmq.toml import Schema, Value, table_schema

ASSETS: Final = Path(__file__).parents[1] / "src" / "openmsmq" / "assets"
TYPES: Final = Path(__file__).parents[1] / "src" / "openmsmq" / "types"
DRAFT: Final = "http://json-schema.org/draft-07/schema#"
TRIGGER: Final = {
    "anyOf": [{"enum": ["available-now", "once"]}, {"type": "integer", "minimum": 1}],
    "description": "available-now, once, or the seconds between batches",
}
"The only value of a pipeline that its table hands out unread."
T = TypeVar("T")


def schemas() -> dict[Path, str]:
    """The files and their text."""
    made = {
        "configuration.schema.json": configuration_schema(),
        "apply.schema.json": apply_schema(),
        "pipeline.schema.json": pipeline_schema(),
        "topology.schema.json": _document(
            "Sites, links and managers for openmsmq topology apply", topology_schema()
        ),
    }
    return {ASSETS / name: json.dumps(made[name], indent=1) + "\n" for name in made}


def configuration_schema() -> dict[str, Any]:
    """The file of `openmsmq serve`."""
    tables: dict[str, dict[str, Schema]] = {name: {} for name in TABLES}
    for name, option in OPTIONS.items():
        default = default_text(name)
        given = {"default": _json(default)} if default else {}
        tables[option.table][option.key] = {
            **option.read.schema,
            "description": option.help,
            **given,
        }
    properties = {name: table_schema(keys) for name, keys in tables.items()}
    return _document("Configuration of openmsmq serve", table_schema(properties))


def apply_schema() -> dict[str, Any]:
    """The file of `openmsmq apply`."""
    queue = _described(QUEUE_KEYS, _field_texts(TYPES / "queues.py", "QueueInfo"))
    settings = _described(SETTINGS_KEYS, _field_texts(TYPES / "settings.py", "Settings"))
    queues = {"type": "object", "additionalProperties": table_schema(queue)}
    properties = {"settings": table_schema(settings), "queue": queues}
    return _document("Queues and settings for openmsmq apply", table_schema(properties))


def pipeline_schema() -> dict[str, Any]:
    """The file of `openmsmq pipeline run`."""
    roots = {kind: list(_readings(kind)) for kind in KINDS}
    all_readings = [reading for readings in roots.values() for reading in readings]
    schema = _merged(all_readings)
    schema.pop("required", None)
    schema["oneOf"] = [{"required": _needed(readings)} for readings in roots.values()]
    return _document("A data pipeline for openmsmq pipeline run", schema)


class Choices:
    """Answers to questions, from all combinations of which each is tried once."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []
        self._place = 0

    def choose(self, options: list[T]) -> T:
        """One of the options."""
        if self._place == len(self._taken):
            self._taken.append((0, len(options)))
        chosen, _ = self._taken[self._place]
        self._place += 1
        return options[chosen]

    def advance(self) -> bool:
        """Begin the next combination; false if there is none."""
        self._place = 0
        while self._taken:
            chosen, count = self._taken.pop()
            if chosen + 1 < count:
                self._taken.append((chosen + 1, count))
                return True
        return False


class ObservedTable(TomlTable):
    """A table that answers all questions, and remembers them."""

    def __init__(self, choices: Choices, *, is_list: bool = False) -> None:
        super().__init__("", {}, Path("/"))
        self.is_list = is_list
        self.keys: dict[str, tuple[Schema | ObservedTable, bool]] = {}
        "What was asked for, and whether the file must have it."
        self._choices = choices
        self._present: dict[str, bool] = {}

    def __contains__(self, key: str) -> bool:
        if key not in self._present:
            self._present[key] = self._choices.choose([False, True])
        return self._present[key]

    def _note(self, key: str, schema: Schema, *, required: bool) -> None:
        self.keys[key] = schema, required or self._present.get(key, False)

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        least = {} if default == "" else {"minLength": 1}
        self._note(key, {"type": "string", **least}, required=default is None)
        return "x" if default is None else default

    def choice(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        """Each word in its turn."""
        self._note(key, {"enum": list(known)}, required=default is None)
        return self._choices.choose(list(known))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A text or a list of them."""
        one = {"type": "string", "minLength": 1}
        least = {"minItems": 1} if default is None else {}
        schema = {"anyOf": [one, {"type": "array", "items": one, **least}]}
        self._note(key, schema, required=default is None)
        answers: list[tuple[str, ...]] = [("x",)] if default is None else [(), ("x",)]
        return default or self._choices.choose(answers)

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        given = {} if default is None else {"default": default}
        self._note(key, {"type": "integer", "minimum": least, **given}, required=default is None)
        return least

    def number(self, key: str) -> int | None:
        """A whole number that may be missing."""
        self._note(key, {"type": "integer", "minimum": 1}, required=False)
        return None

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        self._note(key, {"type": "boolean"}, required=default is None)
        return bool(default)

    def value(self, key: str, default: object = None) -> Any:
        """The trigger."""
        assert key == "trigger", f"say in {__name__} what {key} may be"
        self._note(key, TRIGGER, required=False)
        return default

    def path(self, key: str, default: Path | None = None) -> Path:
        """A path."""
        self._note(key, {"type": "string", "minLength": 1}, required=default is None)
        return default or Path("/x")

    def table(self, key: str) -> TomlTable:
        """A table in it."""
        made = ObservedTable(self._choices)
        self.keys[key] = made, False
        return made

    def tables(self, key: str) -> list[TomlTable]:
        """A list with one table."""
        made = ObservedTable(self._choices, is_list=True)
        self.keys[key] = made, True
        return [made]

    def mapping(self, key: str) -> dict[str, str]:
        """A table with any keys."""
        values = {"type": ["string", "integer"]}
        self._note(key, {"type": "object", "additionalProperties": values}, required=False)
        return {}

    def done(self) -> None:
        """There are no keys but those asked for."""


def _readings(kind: str) -> Iterator[ObservedTable]:
    """What is asked for while the file of a pipeline of this kind is read, for all answers."""
    choices = Choices()
    while True:
        root = ObservedTable(choices)
        with patch.object(pipeline_file, "TomlTable", lambda *_, root=root: root):
            try:
                pipeline_file._pipeline({kind: {}}, Path("/"), "name")
            except PipelineFileError:
                pass  # these answers do not go together
            else:
                yield root
        if not choices.advance():
            return


def _merged(readings: list[ObservedTable]) -> dict[str, Any]:
    """The schema of a table that was read in several ways."""
    properties: dict[str, Schema] = {}
    for key in dict.fromkeys(key for reading in readings for key in reading.keys):
        found = [reading.keys[key][0] for reading in readings if key in reading.keys]
        tables = [table for table in found if isinstance(table, ObservedTable)]
        properties[key] = _merged(tables) if tables else cast(Schema, found[0])
        if key in KINDS:
            properties[key] = {**properties[key], "description": _about(key)}
    schema = table_schema(properties, _needed(readings))
    return {"type": "array", "minItems": 1, "items": schema} if readings[0].is_list else schema


def _needed(readings: list[ObservedTable]) -> list[str]:
    """The keys without which no reading succeeds."""
    return [key for key in readings[0].keys if all(_is_needed(key, r) for r in readings)]


def _is_needed(key: str, reading: ObservedTable) -> bool:
    schema, required = reading.keys.get(key, ({}, False))
    if isinstance(schema, ObservedTable):
        return required or bool(_needed([schema]))
    return required


def _about(kind: str) -> str:
    text = sys.modules[KINDS[kind].read.__module__].__doc__ or ""
    return " ".join(text.partition("\n\n")[0].split()).removeprefix(f"`[{kind}]`: ")


def _document(title: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"$schema": DRAFT, "title": title, **schema}


def _json(text: str) -> Any:
    """A default as JSON has it."""
    is_json = text.isdigit() or text in ("true", "false") or text.startswith("[")
    return json.loads(text) if is_json else text


def _described(keys: Mapping[str, Value[Any]], texts: Mapping[str, str]) -> dict[str, Schema]:
    return {
        key: {**read.schema, **({"description": texts[key]} if key in texts else {})}
        for key, read in keys.items()
    }


def _field_texts(module: Path, name: str) -> dict[str, str]:
    """The fields of a class, and the strings below them that say what they are."""
    tree = ast.parse(module.read_text())
    found = {}
    [body] = [n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            words = str(text.value.value).replace("None", '"none"')
            found[ast.unparse(field.target)] = words
    return found
