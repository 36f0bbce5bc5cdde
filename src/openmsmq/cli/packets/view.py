"""A packet field by field, for people and for programs."""

from __future__ import annotations

import json
from typing import Any, Final

from rich.text import Text
from rich.tree import Tree

from openmsmq.capture.value_words import ValueWords
from openmsmq.cli.output import console
from openmsmq.packet.describe import Description
from openmsmq.wire.trace import Field

BYTES_SHOWN: Final = 32


def packet_json(description: Description) -> dict[str, Any]:
    """A packet as a document."""
    meanings = ValueWords(description)
    document: dict[str, Any] = {
        "kind": description.kind,
        "offset": description.offset,
        "size": len(description.data),
        "fields": [_field_json(field, meanings) for field in description.fields],
    }
    if description.error is not None:
        document["error"] = {
            "field": description.error.field,
            "offset": description.error.offset,
            "reason": description.error.reason,
        }
    return document


def _field_json(field: Field, meanings: ValueWords) -> dict[str, Any]:
    """The shape of the project's test vectors, and what the value means."""
    document: dict[str, Any] = {
        "path": field.path,
        "offset": field.offset,
        "size": field.size,
        "type": field.kind,
        "value": field.value,
    }
    if isinstance(field.value, int):
        document["value_hex"] = f"0x{field.value & (1 << 8 * field.size) - 1:0{2 * field.size}X}"
        if field.bits is not None:
            document["bits"] = [
                {"name": name, "shift": shift, "width": width, "value": value}
                for (name, shift, width), value in zip(
                    field.bits.GROUPS, field.bits.split(field.value).values(), strict=True
                )
            ]
    if meaning := meanings.of(field):
        document["meaning"] = meaning
    return document


def print_packet(description: Description) -> None:
    """A packet as a tree."""
    meanings = ValueWords(description)
    title = Text.assemble(
        (description.kind, "bold"),
        f", {len(description.data)} bytes at offset {description.offset}",
    )
    root = Tree(title, guide_style="dim")
    branches: dict[str, Tree] = {"": root}
    for field in description.fields:
        parent, _, name = field.path.rpartition(".")
        _branch(branches, parent).add(_line(field, name, meanings))
    if description.error is not None:
        root.add(Text(f"✗ {description.error}", style="bold red"))
    console().print(root)


def _branch(branches: dict[str, Tree], path: str) -> Tree:
    """The node for a structure, made when its first field comes."""
    if path not in branches:
        parent, _, name = path.rpartition(".")
        branches[path] = _branch(branches, parent).add(Text(name, style="bold cyan"))
    return branches[path]


def _line(field: Field, name: str, meanings: ValueWords) -> Text:
    line = Text.assemble((f"{field.offset:5d} ", "dim"), name, " ", (_value(field), "green"))
    if meaning := meanings.of(field):
        line.append(f"  {meaning}", style="yellow")
    return line


def _value(field: Field) -> str:
    match field.kind:
        case "utf16z":
            return json.dumps(field.value)
        case "bytes":
            digits = str(field.value)
            if field.size > BYTES_SHOWN:
                return f"{digits[: 2 * BYTES_SHOWN]}… ({field.size} bytes)"
            return digits
        case "guid":
            return str(field.value)
        case _:
            assert isinstance(field.value, int)
            return f"{field.value} (0x{field.value:X})" if field.value > 9 else str(field.value)
