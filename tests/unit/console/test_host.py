"""The console of a service: under which names, and for which programs."""

from __future__ import annotations

from pathlib import Path

from openmsmq.console.host import ServicePages, own_names, place_of
from openmsmq.service.configuration import Config


def test_a_console_knows_its_names(tmp_path: Path) -> None:
    config = Config(data=tmp_path, name="Shop01", aliases=("mq",), console_hosts=("proxy.example",))
    names = own_names(config)
    assert {"localhost", "shop01", "mq", "proxy.example", "127.0.0.1"} <= names
    assert "0.0.0.0" not in own_names(Config(data=tmp_path, bind="0.0.0.0"))


def test_links_log_in_only_where_programs_need_no_token(tmp_path: Path) -> None:
    assert ServicePages(Config(data=tmp_path)).state.settings.is_open
    others = Config(data=tmp_path, bind="10.0.0.1")
    assert not ServicePages(others).state.settings.is_open
    asks = Config(
        data=tmp_path,
        tls_cert=tmp_path / "c.pem",
        tls_key=tmp_path / "k.pem",
        tls_client_ca=tmp_path / "ca.pem",
    )
    assert not ServicePages(asks).state.settings.is_open
    careful = ServicePages(Config(data=tmp_path, loopback="anonymous"))
    assert careful.state.settings.link_role == "read+send"


def test_an_address_is_written_for_browsers(tmp_path: Path) -> None:
    assert place_of(Config(data=tmp_path), ("127.0.0.1", 5)) == "http://127.0.0.1:5"
    assert place_of(Config(data=tmp_path), ("::1", 5)) == "http://[::1]:5"
