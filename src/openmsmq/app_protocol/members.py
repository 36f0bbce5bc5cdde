"""JSON objects whose members are read by name and type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import isinf
from typing import Final, NoReturn, Self, TypeAlias

from openmsmq.app_protocol.limits import DEPTH_MAX
from openmsmq.errors import InvalidParameter, Malformed
from openmsmq.limits import U32_MAX

JsonValue: TypeAlias = (
    "bool | int | float | str | list[JsonValue] | tuple[JsonValue, ...] | JsonObject | None"
)
JsonObject: TypeAlias = "Mapping[str, JsonValue]"

_NAME_SHOWN: Final = 100
_TEXTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a JSON object, as a program on the other side sent them.

    One that is missing or has another type is `Malformed`; a default says that it may be missing.
    Null is as good as missing.
    """

    values: JsonObject

    def encode(self) -> bytes:
        """The object as a payload, in ASCII so that halves of surrogate pairs survive."""
        return json.dumps(self.values, allow_nan=False, separators=(",", ":")).encode("ascii")

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The object that a payload is."""
        if _depth(payload) > DEPTH_MAX:
            raise Malformed("JSON", 0, f"goes deeper than {DEPTH_MAX} levels")
        try:
            found = json.loads(
                payload.decode(), parse_constant=_refuse_constant, parse_float=_finite
            )
        except json.JSONDecodeError as error:
            raise Malformed("JSON", error.pos, error.msg) from None
        except UnicodeDecodeError as error:
            raise Malformed("JSON", error.start, "is not UTF-8") from None
        except ValueError:  # Python refuses to read so long a number
            raise Malformed("JSON", 0, "has a number of too many digits") from None
        if not isinstance(found, dict):
            raise Malformed("JSON", 0, "is not an object")
        return cls(found)

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self._get(name, default)
        return value if isinstance(value, str) else self._fail(name, "is not a text")

    def integer(
        self, name: str, default: int | None = None, *, minimum: int = 0, maximum: int = U32_MAX
    ) -> int:
        """A whole number from `minimum` to `maximum`."""
        value = self._get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self._fail(name, "is not a whole number")
        if not minimum <= value <= maximum:
            self._fail(name, f"is not from {minimum} to {maximum}")
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._get(name, default)
        return value if isinstance(value, bool) else self._fail(name, "is not true or false")

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts."""
        found = self._list(name, default)
        texts = tuple(value for value in found if isinstance(value, str))
        return texts if len(texts) == len(found) else self._fail(name, "is not a list of texts")

    def object(self, name: str) -> Self:
        """An object."""
        return self._object(name, self._get(name, None))

    def objects(self, name: str) -> tuple[Self, ...]:
        """A list of objects."""
        return tuple(self._object(name, value) for value in self._list(name, None))

    def only(self, *names: str) -> None:
        """Refuse any other member: a misspelt one would be passed over in silence."""
        for name in self.values:
            if name not in names:
                self._fail(name, "is not known here")

    def _get(self, name: str, default: JsonValue) -> JsonValue:
        value = self.values.get(name)
        if value is None:
            value = default
        return self._fail(name, "is missing") if value is None else value

    def _list(self, name: str, default: JsonValue) -> list[JsonValue] | tuple[JsonValue, ...]:
        value = self._get(name, default)
        return value if isinstance(value, list | tuple) else self._fail(name, "is not a list")

    def _object(self, name: str, value: JsonValue) -> Self:
        if not isinstance(value, Mapping):
            self._fail(name, "is not an object")
        return type(self)(value)

    def _fail(self, name: str, reason: str) -> NoReturn:
        raise Malformed(name[:_NAME_SHOWN], 0, reason)


class Arguments(Members):
    """The arguments of a call: a wrong one is the caller's mistake, `InvalidParameter`."""

    __slots__ = ()

    def _fail(self, name: str, reason: str) -> NoReturn:
        raise InvalidParameter(f"{name[:_NAME_SHOWN]} {reason}")


def _depth(payload: bytes) -> int:
    """How deep the brackets go: Python's own reader has no bound but its stack."""
    brackets = _TEXTS.sub(b"", payload).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed("JSON", 0, f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise Malformed("JSON", 0, "has a number that is too large")
    return number
