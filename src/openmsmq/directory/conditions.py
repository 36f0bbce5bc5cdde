"""Conditions that objects are searched by, as filters of LDAP ([MS-MQDMPR] 3.1.7.1.20)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from openmsmq.directory.ldap.filters import And, Comparison, Filter, Not, Or, Present, all_of, equal
from openmsmq.directory.objects import CLASSES, Stored, places
from openmsmq.directory.outcome import failed
from openmsmq.directory.values import SEVERAL, ValueKind, encode_value

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A field compared with a value: `Condition("quota", ">", 100)`."""

    field: str
    operator: str
    value: Any

    def __post_init__(self) -> None:
        assert self.operator in _OPERATORS, f"{self.operator} is no operator"


@dataclass(frozen=True, slots=True)
class SortKey:
    """A field that results are sorted by."""

    field: str
    descending: bool = False


def class_filter(kind: type[Any]) -> Filter:
    """Only objects of a kind, which the text forgets ([MS-MQDSSM] 3.1.6.15; DS-03)."""
    if CLASSES[kind] == "user":
        return And((equal("objectCategory", "person"), equal("objectClass", "user")))
    return equal("objectClass", CLASSES[kind])


def filter_for(kind: type[Any], conditions: Iterable[Condition] = ()) -> Filter:
    """The filter for objects that all conditions hold for ([MS-MQDMPR] 3.1.7.1.20).

    A field that cannot be searched by is refused: to ignore it would find any object
    ([MS-MQDSSM] 3.1.6.4; DS-04).
    """
    parts = []
    for condition in conditions:
        place = places(kind).get(condition.field)
        if place is None or not place.searched or place.of_computer:
            raise failed(f"objects are not searched by {condition.field}")
        parts.append(_part(place, condition))
    return all_of(class_filter(kind), *parts)


def _part(place: Stored, condition: Condition) -> Filter:
    """What a condition says of objects with a value, and of those with the default (DS-15)."""
    is_set = _of_set(place, condition)
    is_default = not place.is_required and place.kind not in SEVERAL and _holds(place, condition)
    if not is_default:
        return is_set
    if condition.operator == "!=":
        return Not(_equal(place, condition.value))
    return Or((is_set, Not(Present(place.attribute))))


def _holds(place: Stored, condition: Condition) -> bool:
    """Whether a condition holds for the default of its field."""
    default, value = place.default, condition.value
    if isinstance(default, str):
        default, value = default.casefold(), str(value).casefold()
    return _OPERATORS[condition.operator](default, value)


def _of_set(place: Stored, condition: Condition) -> Filter:
    name, value = place.attribute, encode_value(place.kind, condition.value)
    same = _equal(place, condition.value)
    match condition.operator:
        case "=":
            return same
        case "!=":
            return And((Present(name), Not(same)))
        case ">=" | ">":
            found: Filter = Comparison(name, ">=", value)
            if place.kind is ValueKind.UNSIGNED:  # the largest ones are negative in the directory
                found = Or((found, Comparison(name, "<=", b"-1")))
        case _:
            found = Comparison(name, "<=", value)
            if place.kind is ValueKind.UNSIGNED:
                found = And((found, Comparison(name, ">=", b"0")))
    if condition.operator in (">", "<"):  # LDAP has no strict comparison
        return And((found, Not(same)))
    return found


def _equal(place: Stored, value: Any) -> Filter:
    return equal(place.attribute, encode_value(place.kind, value))


def sort_objects(found: list[Any], keys: Iterable[SortKey]) -> list[Any]:
    """Objects in the order asked for, the first key counting most ([MS-MQDSSM] 3.1.6.4)."""
    for key in reversed(list(keys)):
        found.sort(key=partial(_rank, key.field), reverse=key.descending)
    return found


def _rank(field: str, item: Any) -> Any:
    value = getattr(item, field)
    return value.casefold() if isinstance(value, str) else value
