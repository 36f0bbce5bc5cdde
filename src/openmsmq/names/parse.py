"""Names as people type them: path names, format names, or just the name of a queue."""

from __future__ import annotations

from openmsmq.names.base import FormatName
from openmsmq.names.format import has_format_prefix, parse_format_name
from openmsmq.names.parts import fold
from openmsmq.names.path import THIS_COMPUTER, PathName, parse_path_name

_FORMAT_NAME = "FORMATNAME:"


def parse_name(text: str) -> PathName | FormatName:
    r"""The name meant by `text`, for use where people name queues.

    A format name, with or without the `FormatName:` System.Messaging puts before it; a path name;
    or a bare `orders`, which means `.\private$\orders`.
    """
    if fold(text[: len(_FORMAT_NAME)]) == _FORMAT_NAME:
        return parse_format_name(text[len(_FORMAT_NAME) :])
    if has_format_prefix(text):
        return parse_format_name(text)
    if "\\" in text:
        return parse_path_name(text)
    return parse_path_name(f"{THIS_COMPUTER}\\private$\\{text}")
