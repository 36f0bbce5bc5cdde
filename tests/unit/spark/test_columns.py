"""The columns of a read and of a write."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.spark.columns import (
    ON_DEMAND,
    PACKET,
    READ,
    WRITE,
    check_read,
    check_write,
    default_schema,
    nearest,
)


def test_what_costs_much_is_read_only_when_it_is_asked_for() -> None:
    names = [column.split()[0] for column in default_schema().split(", ")]
    assert names == [name for name in READ if name not in ON_DEMAND]
    assert "lookup_id bigint, arrival bigint" in default_schema()


def test_a_packet_knows_nothing_of_its_queue() -> None:
    assert set(READ) - set(PACKET) == {
        *("lookup_id", "arrival", "arrived_time", "abort_count", "move_count"),
        *("from_queue", "from_manager", "packet", "body_text", "body_format"),
        "dead_letter_queue",
    }


def test_a_schema_limits_what_is_read() -> None:
    assert check_read([("label", "string"), ("body", "binary")]) == ("label", "body")


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (("lable", "string"), "no column 'lable'; did you mean 'label'?"),
        (("body", "string"), "column 'body' is binary, not string"),
        (("qqqqqqqq", "string"), "there are lookup_id, arrival"),
    ],
)
def test_a_schema_that_cannot_be_read(column: tuple[str, str], reason: str) -> None:
    with pytest.raises(InvalidParameter, match=r"schema: .*") as caught:
        check_read([column])
    assert reason in caught.value.detail


def test_a_write_takes_numbers_of_any_size_and_text_as_body() -> None:
    columns = [("value", "string"), ("priority", "bigint"), ("app_specific", "int")]
    assert check_write(columns) == ("value", "priority", "app_specific")
    assert check_write([(name, kind) for name, kind in WRITE.items() if name != "value"])


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([("label", "string")], "needs one column `body`"),
        ([("body", "binary"), ("value", "binary")], "needs one column `body`"),
        ([("body", "double")], "column 'body' must be binary, not double"),
        ([("body", "binary"), ("priority", "string")], "must be bigint, not string"),
        ([("body", "binary"), ("Labl", "string")], "did you mean 'label'?"),
    ],
)
def test_a_write_without_a_message_in_it(columns: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        check_write(columns)
    assert reason in caught.value.detail


def test_the_nearest_name_is_found_whatever_the_case() -> None:
    assert nearest("TOKENFILE", ["tokenFile"]) == "; did you mean 'tokenFile'?"


def test_names_of_columns_may_be_in_any_case() -> None:
    assert check_read([("Label", "string"), ("BODY", "binary")]) == ("Label", "BODY")
    assert check_write([("Value", "string"), ("LABEL", "string")]) == ("value", "label")


def test_what_was_read_can_be_written_as_it_is() -> None:
    assert set(check_write(READ.items())) == READ.keys() & WRITE.keys()


def test_all_columns_that_a_message_has_not_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter, match=r"has no 'one', 'two'; .* drop\('one', 'two'\)"):
        check_write([("body", "binary"), ("one", "string"), ("two", "int")])


def test_headers_can_be_left_out() -> None:
    assert "headers" in default_schema()
    assert "headers" not in default_schema(headers=False)
