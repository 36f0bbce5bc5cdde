"""Columns from bodies: a value of each message, beside its properties in a list.

`json:$.customer.name` and `xpath:/order/@no` are paths as filters have them, `header.NAME` is a
header of a service bus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from openmsmq.bodies.headers import decode_headers
from openmsmq.bodies.text import encodable
from openmsmq.console.bodies.contents import ContentError, values_at_path
from openmsmq.console.bodies.xpaths import values_at_xpath
from openmsmq.console.limits import COLUMN_TEXT_MAX, COLUMN_VALUES_MAX, COLUMNS_MAX, FILTER_MAX
from openmsmq.types.received import ReceivedMessage

Column = Callable[[ReceivedMessage], str]
"What a message has in a column; empty if there is nothing."
_HEADER: Final = "header."


def parse_columns(texts: Sequence[str]) -> list[Column]:
    """The columns that some lines stand for; `ContentError` says what is wrong with one."""
    if len(texts) > COLUMNS_MAX:
        raise ContentError(f"at most {COLUMNS_MAX} columns, not {len(texts)}")
    return [parse_column(text) for text in texts]


def parse_column(text: str) -> Column:
    """A column."""
    if len(text) > FILTER_MAX:
        raise ContentError(f"a column has at most {FILTER_MAX} characters, not {len(text)}")
    kind, _, path = text.partition(":")
    if kind == "json":
        return _joined(values_at_path(path))
    if kind == "xpath":
        return _joined(values_at_xpath(path))
    if text.casefold().startswith(_HEADER) and len(text) > len(_HEADER):
        return _header(text[len(_HEADER) :].casefold())
    raise ContentError(f"column {text[:40]!r}: json:$.PATH, xpath:/PATH or header.NAME is needed")


def _joined(values: Callable[[ReceivedMessage], Iterator[str]]) -> Column:
    def read(message: ReceivedMessage) -> str:
        text = ", ".join(islice(values(message), COLUMN_VALUES_MAX))
        return encodable(text[:COLUMN_TEXT_MAX])

    return read


def _header(name: str) -> Column:
    def read(message: ReceivedMessage) -> str:
        if not message.extension:
            return ""
        found = decode_headers(message.extension).values
        return next((found[key] for key in found if key.casefold() == name), "")[:COLUMN_TEXT_MAX]

    return read
