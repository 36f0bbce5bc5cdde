"""Names as people type them."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalFormatName, IllegalQueuePathName
from openmsmq.names.format import FormatName
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("orders", r".\private$\orders"),
        ("orders;retry", r".\private$\orders;retry"),
        ("orders;JOURNAL", r".\private$\orders\Journal$"),
        (r".\private$\orders", r".\private$\orders"),
        (r"HOST\orders\Journal$", r"HOST\orders\Journal$"),
    ],
)
def test_people_type_path_names_and_bare_names(text: str, path: str) -> None:
    name = parse_name(text)
    assert isinstance(name, PathName)
    assert str(name) == path


@pytest.mark.parametrize("prefix", ["", "FormatName:", "FORMATNAME:", "formatname:"])
def test_people_type_format_names_with_and_without_prefix(prefix: str) -> None:
    name = parse_name(prefix + r"direct=OS:h\private$\q")
    assert isinstance(name, FormatName)
    assert str(name) == r"DIRECT=OS:h\private$\q"


@pytest.mark.parametrize("text", ["", "a b ", "a+b", "Journal$", "h\\"])
def test_what_is_no_path_name_is_refused_as_one(text: str) -> None:
    with pytest.raises(IllegalQueuePathName):
        parse_name(text)


@pytest.mark.parametrize("text", ["FormatName:", r"FormatName:h\q", "DIRECT=", "PUBLIC=orders"])
def test_what_is_no_format_name_is_refused_as_one(text: str) -> None:
    with pytest.raises(IllegalFormatName):
        parse_name(text)
