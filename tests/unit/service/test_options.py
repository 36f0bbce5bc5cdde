"""The options of a service."""

from __future__ import annotations

import pytest

from openmsmq.service.option import Option
from openmsmq.service.options import OPTIONS, PORT, TABLES


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_has_a_place_in_a_file_and_says_what_it_means(name: str) -> None:
    option = OPTIONS[name]
    assert (option.table in TABLES, bool(option.key)) == (True, True)
    assert option.help.endswith(".")


def test_no_two_options_share_a_place_or_a_flag() -> None:
    places = [option.place for option in OPTIONS.values()]
    flags = [option.flag.partition(" ")[0] for option in OPTIONS.values() if option.flag]
    assert len(set(places)) == len(places)
    assert len(set(flags)) == len(flags)


def test_a_place_is_a_table_and_a_key() -> None:
    option = Option("srmp.port", PORT, "A port.")
    assert (option.table, option.key) == ("srmp", "port")
