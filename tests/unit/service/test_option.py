"""One option of a service."""

from __future__ import annotations

from openmsmq.service.option import Option
from openmsmq.toml import read_flag


def test_a_place_is_a_table_and_a_key() -> None:
    option = Option("rpc.supporting_server", read_flag, "Serves others.", "--supporting-server")
    assert (option.table, option.key, option.live) == ("rpc", "supporting_server", False)
