"""What a body turned out to be, in values every Python program understands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Tree: TypeAlias = "bool | int | float | str | bytes | list[Tree] | dict[str, Tree] | None"
"Plain values only; nothing a sender names is ever made into an object."


@dataclass(frozen=True, slots=True)
class Body:
    """What a body turned out to be."""

    format: str
    "`empty`, `text`, `xml`, `json`, `activex:VT_I4` and the like, `nrbf`, `nmf` or `binary`."
    value: Tree
    "The decoded value; the bytes themselves when nothing better is known."
    text: str | None
    "How a person would read it; None for plain bytes."
    reason: str | None = None
    "Why it is only bytes although a format was announced or had begun."
