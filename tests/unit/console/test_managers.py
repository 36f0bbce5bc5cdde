"""The managers that a file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.console.managers import ManagerPlace, ManagersFileError, read_managers


def test_a_file_has_managers_with_their_tokens_and_cas(tmp_path: Path) -> None:
    (tmp_path / "shop.token").write_text("omq_aa_secret\n")
    (tmp_path / "ca.pem").write_text("ca")
    path = tmp_path / "console.toml"
    path.write_text(
        "read_only = true\nport = 0\n"
        '[manager.shop01]\naddress = "10.0.0.1:1811"\nca = "ca.pem"\ntoken_file = "shop.token"\n'
        '[manager.office]\naddress = "127.0.0.1:1811"\n'
    )
    found = read_managers(path)
    assert (found.port, found.read_only) == (0, True)
    assert dict(found.managers) == {
        "shop01": ManagerPlace("10.0.0.1:1811", "omq_aa_secret", str(tmp_path / "ca.pem")),
        "office": ManagerPlace("127.0.0.1:1811"),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "manager.NAME"),
        ("port = 70000\n[manager.a]\naddress='h:1'", "65535"),
        ("read_only = 1", "read_only"),
        ("managers = 1", "managers"),
        ("[manager.a]", "address"),
        ("[manager.a]\naddress = 5", "a text is needed"),
        ("[manager.a]\naddress = 'h:1'\ntoken = 'x'", "token"),
        ("[manager.a]\naddress = 'h:1'\ntoken_file = 'nowhere'", "nowhere"),
        ("[manager.a]\naddress = 'h:1'\nca = 'nowhere'", "nowhere"),
        ("[manager.a]\naddress = 'h:port'", "manager.a"),
        ("[manager", "console.toml"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "console.toml"
    path.write_text(text)
    with pytest.raises(ManagersFileError, match=reason):
        read_managers(path)
