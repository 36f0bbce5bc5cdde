"""Filters: which messages a person looks for, in one line.

    label:order* -body:"ACME" size:>10k sent:>-2h (class:0xC002 OR to:*payments)

Conditions stand beside each other if all have to hold, with `OR` between them if one is enough,
with `-` in front if they must not. A word without a field is looked for in label and body. Values
with blanks are quoted. `*` and `?` are wild in texts; numbers, sizes and times can be compared.
`re:/order [0-9]+/` is a regular expression (RE2), `json:$.customer.name==ACME` a value in a body,
`xpath://order[@no>100]` an element or attribute, `header.NServiceBus.FailedQ:orders@*` a header
of a service bus.
The cost is known beforehand: properties are at hand, bodies have to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from openmsmq.bodies.decode import body_format
from openmsmq.bodies.headers import decode_headers
from openmsmq.console.bodies.contents import matches_expression, matches_path
from openmsmq.console.bodies.xpaths import matches_xpath
from openmsmq.console.limits import FILTER_MAX, SHAPE_MAX, TERMS_MAX
from openmsmq.errors import InvalidParameter
from openmsmq.types.received import ReceivedMessage

Test = Callable[[ReceivedMessage], bool]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<open>\()|(?P<close>\))|(?P<minus>-(?=\S))|(?P<quoted>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<regex>re:/(?:[^/\\]|\\.)*/)"
    r"|(?P<word>(?:[^\s()\"]|\"(?:[^\"\\]|\\.)*\")+))"
)
_COMPARED: Final = re.compile(r"(>=|<=|>|<|=)?(.*)", re.DOTALL)
_SIZE: Final = re.compile(r"(\d{1,15})([kmg]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_AGO: Final = re.compile(r"-(\d{1,9})(s|m|h|d|w)", re.ASCII)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SPANS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_HEADER: Final = "header."
_NUMBER: Final = re.compile(r"\d+")
_DIGITS: Final = 20
"Characters of a number."


class FilterError(InvalidParameter):
    """A filter that makes no sense."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that was understood."""

    text: str
    matches: Test
    reads_bodies: bool
    "It has to look into bodies, which takes longer."


EVERYTHING: Final = Filter("", lambda message: True, reads_bodies=False)


def parse_filter(text: str, now: datetime | None = None) -> Filter:
    """The filter that a line stands for; `FilterError` says what is wrong with it."""
    if len(text) > FILTER_MAX:
        raise FilterError(f"a filter has at most {FILTER_MAX} characters, not {len(text)}")
    if not text.strip():
        return EVERYTHING
    parser = _Parser(text, now or datetime.now(UTC))
    test = parser.parse()
    return Filter(text, test, reads_bodies=parser.reads_bodies)


class _Parser:
    """Reads a filter: alternatives of conditions, which may be groups in parentheses."""

    def __init__(self, text: str, now: datetime) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._now = now
        self._terms = 0
        self.reads_bodies = False

    def parse(self) -> Test:
        """The whole line."""
        test = self._alternatives(0)
        if self._at < len(self._tokens):
            raise FilterError("a `)` without its `(`")
        return test

    def _alternatives(self, depth: int) -> Test:
        if depth > TERMS_MAX:
            raise FilterError(f"more than {TERMS_MAX} groups in each other")
        choices = [self._conditions(depth)]
        while self._peek() == ("word", "OR"):
            self._at += 1
            choices.append(self._conditions(depth))
        return choices[0] if len(choices) == 1 else _any(choices)

    def _conditions(self, depth: int) -> Test:
        found: list[Test] = []
        while (token := self._peek()) is not None and token != ("word", "OR"):
            if token[0] == "close":
                break
            found.append(self._condition(depth))
        if not found:
            raise FilterError("a condition is missing")
        return found[0] if len(found) == 1 else _all(found)

    def _condition(self, depth: int) -> Test:
        self._terms += 1
        if self._terms > TERMS_MAX:
            raise FilterError(f"more than {TERMS_MAX} conditions")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "minus":
            if self._peek() in (None, ("word", "OR")) or self._tokens[self._at][0] == "close":
                raise FilterError("`-` stands before a condition")
            return _not(self._condition(depth + 1))
        if kind == "open":
            inner = self._alternatives(depth + 1)
            if self._peek() != ("close", ")"):
                raise FilterError("a `(` without its `)`")
            self._at += 1
            return inner
        return self._term(kind, text)

    def _term(self, kind: str, text: str) -> Test:
        field, colon, value = text.partition(":")
        is_header = field.casefold().startswith(_HEADER)
        if kind == "quoted" or not colon or not (field.isidentifier() or is_header):
            self.reads_bodies = True
            return _anywhere(_unquoted(text))
        is_given = bool(value)
        value = value[1:-1].replace("\\/", "/") if kind == "regex" else _unquoted(value)
        if is_given and field in _TEXTS:  # `label:""` finds messages without a label
            return _text(_TEXTS[field], value)
        if is_given and field == "shape":
            return _shape(value)
        if not value:
            raise FilterError(f"{field}: a value is missing")
        if is_header:
            self.reads_bodies = True
            return _header(field[len(_HEADER) :], value)
        if field in _CONTENTS:
            self.reads_bodies = True
            return _CONTENTS[field](value)
        if field in _NUMBERS:
            return _number(_NUMBERS[field], field, value)
        if field in _TIMES:
            return _time(_TIMES[field], field, value, self._now)
        if field == "is":
            return _flag(value)
        raise FilterError(f"there is no field {field[:20]!r}; there are {', '.join(FIELDS)}")

    def _peek(self) -> tuple[str, str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise FilterError(f"a quotation mark is missing: {text[at : at + 20]!r}")
        kind = str(found.lastgroup)
        yield kind, found[kind]
        at = found.end()


def _unquoted(text: str) -> str:
    r"""A value without its quotation marks; `\"` stands for one."""
    if '"' not in text:
        return text
    found, inside, escaped = [], False, False
    for sign in text:
        if escaped:
            found.append(sign)
            escaped = False
        elif sign == "\\" and inside:
            escaped = True
        elif sign == '"':
            inside = not inside
        else:
            found.append(sign)
    return "".join(found)


# Conditions


def _any(choices: list[Test]) -> Test:
    return lambda message: any(test(message) for test in choices)


def _all(tests: list[Test]) -> Test:
    return lambda message: all(test(message) for test in tests)


def _not(test: Test) -> Test:
    return lambda message: not test(message)


def is_like(text: str, pattern: str) -> bool:
    """Whether a text is what a pattern with `*` and `?` says, in upper or lower case.

    It takes at most as many steps as the product of both lengths.
    """
    text, pattern = text.casefold(), pattern.casefold()
    at = place = 0
    star, resume = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, resume = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", text[at]):
            at += 1
            place += 1
        elif star >= 0:
            place = star + 1
            resume += 1
            at = resume
        else:
            return False
    return not pattern[place:].strip("*")


def _text(read: Callable[[ReceivedMessage], str], value: str) -> Test:
    return lambda message: is_like(read(message), value)


def _shape(value: str) -> Test:
    """A label with `#` for its digits, exactly: what the dead-letter desk groups by."""
    return lambda message: label_shape(message.label) == value


def label_shape(label: str) -> str:
    """A label with `#` for its digits, so that `order 1` and `order 2` are one kind."""
    return _NUMBER.sub("#", label[:SHAPE_MAX])


def _body(value: str) -> Test:
    """A text in a body, in UTF-8 or UTF-16: its bytes, before anything is decoded."""
    needles = (value.encode(errors="replace"), value.encode("utf-16-le", errors="replace"))
    return lambda message: any(needle in message.body for needle in needles)


def _anywhere(value: str) -> Test:
    if not value:
        raise FilterError("an empty text is everywhere")
    in_body, folded = _body(value.strip("*") or value), value.casefold()

    def test(message: ReceivedMessage) -> bool:
        label = message.label
        return folded in label.casefold() or is_like(label, value) or in_body(message)

    return test


def _compared(value: str) -> tuple[Callable[[float, float], bool], str]:
    found = _COMPARED.fullmatch(value)
    assert found is not None, "it takes anything"
    return _COMPARISONS[found[1] or "="], found[2]


_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "=": lambda a, b: a == b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}


def _number(read: Callable[[ReceivedMessage], int], field: str, value: str) -> Test:
    compare, text = _compared(value)
    wanted = _integer(field, text)
    return lambda message: compare(read(message), wanted)


def _integer(field: str, text: str) -> int:
    size = _SIZE.fullmatch(text)
    if size is not None:
        return int(size[1]) * _UNITS[size[2].lower()]
    try:
        if len(text) <= _DIGITS and text.isascii():
            return int(text, 0)
    except ValueError:
        pass
    raise FilterError(f"{field}: {text[:20]!r} is not a number")


def _time(
    read: Callable[[ReceivedMessage], datetime], field: str, value: str, now: datetime
) -> Test:
    compare, text = _compared(value)
    wanted = instant_of(field, text, now).timestamp()
    return lambda message: compare(read(message).timestamp(), wanted)


def instant_of(field: str, text: str, now: datetime) -> datetime:
    """A time: `-2h` ago, or a date, perhaps with a time, in UTC unless it says otherwise."""
    try:
        if ago := _AGO.fullmatch(text):
            return now - timedelta(seconds=int(ago[1]) * _SPANS[ago[2]])
        found = datetime.fromisoformat(text)
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        found.timestamp()
    except (ValueError, OverflowError):
        raise FilterError(
            f"{field}: {text[:30]!r} is not a time: -2h, or 2026-07-01T10:00"
        ) from None
    return found


def _flag(value: str) -> Test:
    test = _FLAGS.get(value.lower())
    if test is None:
        raise FilterError(f"is: {value[:20]!r} is not one of {', '.join(_FLAGS)}")
    return test


def _header(name: str, value: str) -> Test:
    """A header of NServiceBus or Rebus; case does not matter in its name."""
    wanted = name.casefold()

    def test(message: ReceivedMessage) -> bool:
        if not message.extension:
            return False
        found = decode_headers(message.extension).values
        return any(key.casefold() == wanted and is_like(found[key], value) for key in found)

    return test


_TEXTS: Final[Mapping[str, Callable[[ReceivedMessage], str]]] = {
    "label": lambda message: message.label,
    "id": lambda message: message.id,
    "corr": lambda message: message.correlation_id.hex(),
    "from": lambda message: str(message.source_manager),
    "sender": lambda message: message.sender_id or "",
    "to": lambda message: str(message.destination_queue or ""),
    "response": lambda message: str(message.response_queue or ""),
}
_NUMBERS: Final[Mapping[str, Callable[[ReceivedMessage], int]]] = {
    "app": lambda message: message.app_specific,
    "class": lambda message: message.message_class,
    "type": lambda message: message.body_type,
    "priority": lambda message: message.priority,
    "size": lambda message: len(message.body),
    "aborts": lambda message: message.abort_count,
}
_TIMES: Final[Mapping[str, Callable[[ReceivedMessage], datetime]]] = {
    "sent": lambda message: message.sent_time,
    "arrived": lambda message: message.arrived_time,
}
_FLAGS: Final[Mapping[str, Test]] = {
    "transactional": lambda message: message.transactional,
    "express": lambda message: not message.recoverable,
    "signed": lambda message: bool(message.signature_type),
    "traced": lambda message: message.trace,
}
_CONTENTS: Final[Mapping[str, Callable[[str], Test]]] = {
    "body": _body,
    "text": _anywhere,
    "format": lambda value: _text(lambda one: body_format(one.body, one.body_type), value),
    "re": matches_expression,
    "json": matches_path,
    "xpath": matches_xpath,
}
"Conditions for which bodies have to be read."
FIELDS: Final = (*_TEXTS, "shape", *_NUMBERS, *_TIMES, *_CONTENTS, "is", "header.NAME")
"What a condition can be about."
