"""JSON within bounds."""

from __future__ import annotations

from time import perf_counter

import pytest

from openmsmq.bodies.json import read_json
from openmsmq.errors import Malformed
from openmsmq.limits import JSON_DEPTH_MAX


def test_a_document_becomes_plain_values() -> None:
    assert read_json('{"a": [1, 2.5, "x", true, null]}') == {"a": [1, 2.5, "x", True, None]}


def test_nesting_up_to_the_limit_is_read() -> None:
    assert read_json("[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deeper_nesting_is_refused(opening: str) -> None:
    with pytest.raises(Malformed, match="nested deeper"):
        read_json(opening * 200_000)


def test_many_short_arrays_are_not_deep() -> None:
    assert read_json("[" + ",".join(["[]"] * 200) + "]") == [[]] * 200


def test_brackets_inside_strings_do_not_count() -> None:
    text = "[" * 2 * JSON_DEPTH_MAX + '\\"'
    assert read_json(f'["{text}"]') == [text.replace("\\", "")]


def test_a_string_that_never_ends_costs_no_time() -> None:
    begin = perf_counter()
    with pytest.raises(Malformed, match="Unterminated string"):
        read_json('["' + '\\"' * 200_000)
    assert perf_counter() - begin < 1


def test_what_is_wrong_is_said_with_its_place() -> None:
    with pytest.raises(Malformed, match=r"JSON at offset 4: Expecting value"):
        read_json("[1, ]")


def test_a_number_beyond_what_python_reads_is_refused() -> None:
    with pytest.raises(Malformed, match="too many digits"):
        read_json("[" + "9" * 5000 + "]")
