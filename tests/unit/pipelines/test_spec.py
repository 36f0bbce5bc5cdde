"""Pipelines as values."""

from __future__ import annotations

from openmsmq.pipelines.spec import ManagerOptions, columns_of


def test_the_columns_that_sql_needs() -> None:
    assert columns_of("Label = 'x' and body_text like '%'") == ("label", "body_text")
    assert "priority" in columns_of("select * from source")
    assert "packet" not in columns_of("select * from source")
    assert columns_of("select count(*) from source") == ()


def test_a_place_becomes_options_of_the_source() -> None:
    assert ManagerOptions(("a:1",)).options() == {"manager": "a:1", "timeout": "30"}
    several = ManagerOptions(("a:1", "b:2"), token_file="t", tls_ca="ca", timeout=5)
    assert several.options() == {
        "managers": "a:1,b:2",
        "tokenFile": "t",
        "tlsCa": "ca",
        "timeout": "5",
    }
