"""Values of TOML files: what is read, and the schema that says the same."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft7Validator

from openmsmq.toml import Value, one_of, or_word, read_flag, read_toml, table_schema, whole

READERS: dict[str, Value[Any]] = {
    "flag": read_flag,
    "whole": whole(1, 5),
    "word": one_of("a", "b"),
    "number or word": or_word(whole(1, 5), "off"),
}
GIVEN = [True, False, 0, 1, 5, 6, 1.5, "", "a", "b", "c", "off", [], {}, None]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = ", "Invalid value"),
        ("a = " + "1" * 5000, "thousands of digits"),
        ("a = " + "[" * 5000, "too deep"),
        ("a = 9223372036854775808", "64 bits"),
        ("a = -9223372036854775809", "64 bits"),
        ("[[a.b]]\nc = [{d = 0x" + "f" * 5000 + "}]", "64 bits"),
    ],
)
def test_whatever_is_wrong_with_a_text_is_said(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as wrong:
        read_toml(text)
    assert "sys." not in str(wrong.value), "a reason for people"


def test_numbers_of_64_bits_are_read() -> None:
    found = read_toml("a = 9223372036854775807\nb = [{c = -9223372036854775808}]")
    assert found == {"a": (1 << 63) - 1, "b": [{"c": -(1 << 63)}]}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("given", GIVEN, ids=repr)
def test_a_value_is_read_exactly_if_its_schema_accepts_it(read: Value[Any], given: object) -> None:
    if Draft7Validator(read.schema).is_valid(given):
        read(given)
    else:
        with pytest.raises(ValueError, match="needed"):
            read(given)


def test_a_word_means_none() -> None:
    assert or_word(whole(1, 5), "off")("off") is None


def test_an_error_names_everything_that_is_possible() -> None:
    with pytest.raises(ValueError, match='a whole number from 1 to 5, or "off" is needed'):
        or_word(whole(1, 5), "off")(6)


def test_a_table_has_its_keys_and_no_others() -> None:
    schema = Draft7Validator(table_schema({"a": {}, "b": {}}, ["a"]))
    assert [schema.is_valid(each) for each in ({"a": 1}, {"b": 1}, {"a": 1, "c": 1})] == [
        True,
        False,
        False,
    ]
