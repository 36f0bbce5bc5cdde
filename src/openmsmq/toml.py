"""Values of TOML files: each reader knows the JSON schema of what it accepts.

Editors complete and check files with these schemas (`openmsmq assets`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T", covariant=True)
Schema = Mapping[str, Any]
"A JSON schema, draft 7: the one that editors know best."

TEXT_SCHEMA: Final[Schema] = {"type": "string", "minLength": 1}
WHOLE_NUMBERS: Final = range(-(1 << 63), 1 << 63)
"Whole numbers of TOML have 64 bits; of very long ones Python cannot even print what they are."


def read_toml(text: str) -> dict[str, Any]:
    """The document of a text; `ValueError` says what is wrong with it, whatever it is."""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of int()
        raise ValueError("a whole number with thousands of digits") from None
    waiting: list[object] = [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, int) and item not in WHOLE_NUMBERS:
            raise ValueError("a whole number of more than 64 bits")
    return document


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """Reads a value of a file; raises `ValueError` with the reason if it is wrong."""

    read: Callable[[object], T]
    schema: Schema

    def __call__(self, given: object) -> T:
        return self.read(given)


def value(schema: Schema) -> Callable[[Callable[[object], T]], Value[T]]:
    """Make a function that reads a value a `Value`."""

    def decorate(read: Callable[[object], T]) -> Value[T]:
        return Value(read, schema)

    return decorate


@value({"type": "boolean"})
def read_flag(given: object) -> bool:
    """True or false."""
    if isinstance(given, bool):
        return given
    raise ValueError("true or false is needed")


def whole(least: int, most: int) -> Value[int]:
    """A whole number."""

    @value({"type": "integer", "minimum": least, "maximum": most})
    def read(given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most:
            return given
        raise ValueError(f"a whole number from {least} to {most} is needed")

    return read


def one_of(*words: str) -> Value[str]:
    """One of these words."""

    @value({"enum": list(words)})
    def read(given: object) -> str:
        if given in words:
            return str(given)
        raise ValueError(f"one of {', '.join(words)} is needed")

    return read


def some_of(*words: str) -> Value[tuple[str, ...]]:
    """A list of some of these words, perhaps none."""

    @value({"type": "array", "items": {"enum": list(words)}, "uniqueItems": True})
    def read(given: object) -> tuple[str, ...]:
        if isinstance(given, list | tuple) and all(word in words for word in given):
            return tuple(dict.fromkeys(map(str, given)))
        raise ValueError(f"a list of {', '.join(words)} is needed")

    return read


def or_word(other: Value[T], word: str) -> Value[T | None]:
    """What another reader accepts, or a word that means None."""

    @value({"anyOf": [other.schema, {"const": word}]})
    def read(given: object) -> T | None:
        if given == word:
            return None
        try:
            return other(given)
        except ValueError as error:
            needed = str(error).removesuffix(" is needed")
            raise ValueError(f'{needed}, or "{word}" is needed') from None

    return read


def table_schema(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of a table that has these keys and no others."""
    needed = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
        **needed,
    }
