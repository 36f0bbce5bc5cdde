"""Conditions on what is in a message: regular expressions, and values of JSON.

Regular expressions are those of RE2, whose time grows with the length of a text and never with the
number of ways to read it. A JSON path names members and elements, `$.lines[0].price` or
`$.lines[*].price`, and may compare what is there; it finds members of .NET objects (NRBF), too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from openmsmq.bodies.decode import decode_body, is_nrbf
from openmsmq.console.limits import CONTENT_MAX, PATH_STEPS_MAX
from openmsmq.errors import InvalidParameter
from openmsmq.types.received import ReceivedMessage

Test = Callable[[ReceivedMessage], bool]
_STEP: Final = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d{1,9}|\*)\]|\['([^']+)'\]", re.ASCII)
_COMPARED: Final = re.compile(r"\s*(==|!=|>=|<=|>|<)\s*(.*)", re.DOTALL)
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}
_UTF16: Final = "utf-16-le"


class ContentError(InvalidParameter):
    """A condition that makes no sense."""


def matches_expression(text: str) -> Test:
    """Whether a regular expression is found in label or body, in upper or lower case."""
    try:
        import re2  # an extra
    except ImportError:
        raise ContentError(
            "regular expressions need the package google-re2: pip install 'openmsmq[search]'"
        ) from None
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    options.max_mem = 1 << 20
    try:
        search = re2.compile(text, options).search
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if error.args else ""
        raise ContentError(f"re: {why[:100]}") from None

    def test(message: ReceivedMessage) -> bool:
        if search(_speakable(message.label)) is not None:
            return True
        return any(search(found) is not None for found in texts_of(message.body))

    return test


def texts_of(body: bytes) -> Iterator[str]:
    """What a body is as text: in UTF-8, and in UTF-16 if it looks like that."""
    part = body[:CONTENT_MAX]
    yield part.decode(errors="replace")
    if b"\0" in part[:200]:
        yield _speakable(part[: len(part) & ~1].decode(_UTF16, errors="replace"))


def _speakable(text: str) -> str:
    """A text without halves of surrogate pairs, which UTF-8 has no place for."""
    return text.encode(errors="replace").decode()


def matches_path(text: str) -> Test:
    """Whether a body is JSON with a value at a path, and that value compares as it is said."""
    steps, at = _path(text)
    if at == len(text):
        return lambda message: any(True for _ in _values(message, steps))
    compared = _COMPARED.fullmatch(text, at)
    if compared is None:
        raise ContentError(f"json: {text[at : at + 20]!r} is neither a step nor a comparison")
    holds = _comparison(compared[1], compared[2].strip())
    return lambda message: any(map(holds, _values(message, steps)))


def values_at_path(text: str) -> Callable[[ReceivedMessage], Iterator[str]]:
    """What finds the values at a path, as text."""
    steps, at = _path(text)
    if at < len(text):
        raise ContentError(f"json: {text[at : at + 20]!r} is not a step")
    return lambda message: map(_written, _values(message, steps))


def _path(text: str) -> tuple[list[str | int | None], int]:
    """The steps of a path, and where they end."""
    if not text.startswith("$"):
        raise ContentError("json: a path begins with $, such as $.customer.name")
    steps, at = list[str | int | None](), 1
    while (step := _STEP.match(text, at)) is not None:
        name, place, quoted = step.groups()
        if place is not None:
            steps.append(None if place == "*" else int(place))
        else:
            steps.append(name or quoted)
        at = step.end()
    if len(steps) > PATH_STEPS_MAX:
        raise ContentError(f"json: at most {PATH_STEPS_MAX} steps")
    return steps, at


def _comparison(sign: str, wanted: str) -> Callable[[Any], bool]:
    if sign in ("==", "!="):
        return lambda value: (_written(value) == wanted) is (sign == "==")
    try:
        number = float(wanted)
    except ValueError:
        raise ContentError(f"json: {wanted[:20]!r} is not a number") from None
    compare = _COMPARISONS[sign]
    return lambda value: (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and compare(_bounded(value), number)
    )


def _bounded(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, enc_hook=str).decode()


def _values(message: ReceivedMessage, steps: list[str | int | None]) -> Iterator[Any]:
    """The values at a path of a body; none if it is neither JSON nor an object of .NET."""
    body = message.body
    if is_nrbf(body, message.body_type):
        yield from _walk(decode_body(body, message.body_type).value, steps)
        return
    for text in texts_of(body):
        try:
            found = msgspec.json.decode(text.strip("\ufeff\0 \r\n\t"))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
        yield from _walk(found, steps)
        return


def _walk(value: Any, steps: list[str | int | None]) -> Iterator[Any]:
    values = [value]
    for step in steps:
        values = [inner for one in values for inner in _inside(one, step)]
    return iter(values)


def _inside(value: Any, step: str | int | None) -> list[Any]:
    if step is None:
        return value if isinstance(value, list) else []
    if isinstance(step, int):
        return [value[step]] if isinstance(value, list) and step < len(value) else []
    return [value[step]] if isinstance(value, dict) and step in value else []
