"""What a backup holds beside the store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import openmsmq
from openmsmq.access.exchange_keys import KEYS_FILE, PEER_KEYS_FILE
from openmsmq.access.senders import SENDERS_FILE
from openmsmq.access.tokens import Tokens
from openmsmq.access.users import USERS_FILE, Users
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.errors import BackupDamaged, StoreExists
from openmsmq.service.backup import (
    FILES,
    KEY_FILE,
    SECRET_FILES,
    SERVING_FILE,
    config_text,
    write_down,
)
from openmsmq.service.configuration import Config, load_config
from openmsmq.service.maintenance import backup, read_backup, restore
from openmsmq.service.values import (
    ConsoleManagerEntry,
    HttpDestination,
    PeerEntry,
    ProxyEntry,
    RemoteManagerEntry,
)
from openmsmq.types.caller import Grant

CERT, KEY, CA = b"certificate", b"private key", b"authorities"


def started(directory: Path, **given: Any) -> Config:
    """How a service might have been started: nothing is as it would be anyway."""
    return Config(
        data=directory,
        aliases=("orders", "\N{SNOWMAN}"),
        bind="0.0.0.0",  # to see that it stays
        peers={
            "north west": PeerEntry("192.0.2.7:1801"),
            "bank": PeerEntry("192.0.2.8", UUID(int=7)),
            "hub": PeerEntry("192.0.2.9", relay=True),
        },
        rpc_managers={
            "SHOP02": RemoteManagerEntry("backend", Path("shop02.password"), "shop02:2105"),
            "SHOP03": RemoteManagerEntry(level="none"),
        },
        console_proxy=ProxyEntry(
            ("10.0.0.9",), "X-Forwarded-Email", {"*@shop": Path("staff.token")}, None
        ),
        console_managers={
            "shop02": ConsoleManagerEntry("shop02:1811", Path("ca.pem"), Path("shop02.token")),
            "shop03": ConsoleManagerEntry("shop03"),
        },
        srmp_destinations={
            "bank.example:443": HttpDestination("none", Path("bank.pem"), 1),
            "shop": HttpDestination(posts_max=2),
        },
        srmp_redirect_outgoing={"http://*": "https://gate"},
        srmp_redirect_except=("http://bank*",),
        srmp_redirect_incoming={"http://a/msmq/*": "http://a/msmq/private$/b"},
        srmp_forward=("http://c/*",),
        srmp_receipt_urls={"*": "https://gate/msmq/private$/order_queue$"},
        srmp_resend_after=(10, 100),
        srmp_senders={str(UUID(int=7)): Path("supplier.pem")},
        identity=Identity.PINNED,
        app_port=None,
        binary_port=2801,
        retry=False,
        log_format="json",
        **given,
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a manager that has served with TLS and tokens."""
    directory = tmp_path / "data"
    openmsmq.open(directory).close()
    Tokens(directory).create("admin")
    for name, text in (("cert.pem", CERT), ("key.pem", KEY), ("ca.pem", CA)):
        (tmp_path / name).write_bytes(text)
    config = started(
        directory,
        tls_cert=tmp_path / "cert.pem",
        tls_key=tmp_path / "key.pem",
        tls_client_ca=tmp_path / "ca.pem",
    )
    write_down(config, "shop01")
    return directory


def test_rights_of_certificates_are_written_as_they_are_read(tmp_path: Path) -> None:
    shop, lake = "CN=web shop", "DNS=lake"
    config = Config(
        data=tmp_path,
        tls_cert=tmp_path / "cert",
        tls_key=tmp_path / "key",
        tls_client_ca=tmp_path / "ca",
        tls_clients={
            shop: Grant("send", certificate=shop),
            lake: Grant("read+send", ("private$\\x*",), certificate=lake),
        },
    )
    file = tmp_path / "file.toml"
    file.write_text(config_text(config))
    assert load_config(file, {"data": tmp_path}).tls_clients == config.tls_clients


def test_a_configuration_is_written_as_it_is_read(tmp_path: Path) -> None:
    """SRMP-286, SRMP-288: redirections and what is passed on, too."""
    config = started(tmp_path, name="shop01", idle_transaction_limit=60)
    (tmp_path / "file.toml").write_text(config_text(config), encoding="utf-8")
    assert load_config(tmp_path / "file.toml", {"data": tmp_path}) == config
    (tmp_path / "plain.toml").write_text(config_text(Config(data=tmp_path)), encoding="utf-8")
    assert load_config(tmp_path / "plain.toml", {"data": tmp_path}) == Config(data=tmp_path)


def test_users_are_in_a_backup_only_with_the_keys(data: Path, tmp_path: Path) -> None:
    Users(data).add("backend", "secret", "read")
    assert USERS_FILE not in backup(data, tmp_path / "plain").files
    assert USERS_FILE in backup(data, tmp_path / "whole", with_keys=True).files
    restore(tmp_path / "whole", tmp_path / "elsewhere")
    assert [user.name for user in Users.load(tmp_path / "elsewhere")] == ["backend"]


def test_certificates_of_senders_and_keys_go_with_it(data: Path, tmp_path: Path) -> None:
    """The private keys of the manager only if asked for."""
    public, private = (SENDERS_FILE, PEER_KEYS_FILE), KEYS_FILE
    for name in (*public, private):
        (data / name).write_text(f"what is in {name}")
    plain = backup(data, tmp_path / "plain").files
    assert private not in plain
    assert plain.keys() >= set(public)
    backup(data, tmp_path / "whole", with_keys=True)
    restore(tmp_path / "whole", tmp_path / "elsewhere")
    for name in (*public, private):
        assert (tmp_path / "elsewhere" / name).read_text() == f"what is in {name}"


def test_a_pinned_certificate_of_a_peer_is_written_down(tmp_path: Path) -> None:
    """Else the peer of a restored manager would be anyone who answers at its address."""
    (tmp_path / "shop02.pem").touch()
    entry = PeerEntry("10.0.0.2:1802", UUID(int=5), certificate=tmp_path / "shop02.pem")
    cert, key = tmp_path / "cert", tmp_path / "key"
    config = Config(data=tmp_path, peers={"shop02": entry}, tls_cert=cert, tls_key=key)
    (tmp_path / "file.toml").write_text(config_text(config), encoding="utf-8")
    assert load_config(tmp_path / "file.toml", {"data": tmp_path}).peers == config.peers


def test_a_restored_manager_is_started_as_the_original_was(data: Path, tmp_path: Path) -> None:
    """Under the same name, at the same ports, with the same certificate and tokens."""
    (data / "openmsmq.toml").write_text("[binary]\nport = 1234\n")
    made = backup(data, tmp_path / "copy")
    other = {SENDERS_FILE, PEER_KEYS_FILE}  # this manager has none
    assert made.files.keys() == set(FILES) - {KEY_FILE, *SECRET_FILES} - other
    restored = tmp_path / "elsewhere"
    restore(tmp_path / "copy", restored)
    found = load_config(None, {"data": restored})
    assert found == replace(
        started(restored),
        name="shop01",
        tls_cert=restored / "tls/cert.pem",
        tls_key=tmp_path / "key.pem",
        tls_client_ca=restored / "tls/client-ca.pem",
    )
    assert (restored / "tls/cert.pem").read_bytes() == CERT
    assert (restored / "tls/client-ca.pem").read_bytes() == CA
    assert (restored / "tokens.json").read_bytes() == (data / "tokens.json").read_bytes()
    files = [path for path in restored.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o077 for path in files} == {0}


def test_private_keys_are_in_it_only_if_asked_for(data: Path, tmp_path: Path) -> None:
    backup(data, tmp_path / "without")
    assert KEY not in b"".join(p.read_bytes() for p in (tmp_path / "without/tls").iterdir())
    backup(data, tmp_path / "copy", with_keys=True)
    restore(tmp_path / "copy", tmp_path / "back")
    found = load_config(None, {"data": tmp_path / "back"})
    assert found.tls_key == tmp_path / "back/tls/key.pem"
    assert found.tls_key.read_bytes() == KEY


def test_what_a_file_in_the_directory_says_goes_with_it_too(tmp_path: Path) -> None:
    """Though the manager has never served."""
    openmsmq.open(tmp_path / "data").close()
    (tmp_path / "data/openmsmq.toml").write_text('[manager]\nname = "shop01"\n')
    backup(tmp_path / "data", tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "back")
    assert load_config(None, {"data": tmp_path / "back"}).name == "shop01"


def test_a_manager_of_which_nothing_is_written_has_only_its_store(tmp_path: Path) -> None:
    openmsmq.open(tmp_path / "data").close()
    (tmp_path / "data" / SERVING_FILE).write_text("no TOML")
    assert backup(tmp_path / "data", tmp_path / "copy").files == {}


def test_a_copy_with_an_identity_of_its_own_gets_none_of_it(data: Path, tmp_path: Path) -> None:
    """It would take the ports of the original."""
    backup(data, tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "beside", new_identity=True)
    assert [path.name for path in (tmp_path / "beside").glob("*.toml")] == []
    assert not (tmp_path / "beside/tokens.json").exists()


@pytest.mark.parametrize("name", ["openmsmq.toml", "tokens.json", "tls/cert.pem"])
def test_what_is_there_is_replaced_only_on_purpose(data: Path, tmp_path: Path, name: str) -> None:
    backup(data, tmp_path / "copy")
    (tmp_path / "back/tls").mkdir(parents=True)
    (tmp_path / "back" / name).write_bytes(b"mine")
    with pytest.raises(StoreExists):
        restore(tmp_path / "copy", tmp_path / "back")
    assert not (tmp_path / "back/data.mdb").exists()
    done = restore(tmp_path / "copy", tmp_path / "back", force=True)
    (kept,) = done.kept
    assert kept.read_bytes() == b"mine"
    assert kept.name.startswith(f"{Path(name).name}.replaced-")


@pytest.mark.parametrize("damage", ["changed", "missing", "strange"])
def test_a_backup_whose_files_are_not_what_it_says_is_refused(
    data: Path, tmp_path: Path, damage: str
) -> None:
    backup(data, tmp_path / "copy")
    file, info = tmp_path / "copy/tokens.json", tmp_path / "copy/backup.json"
    if damage == "changed":
        file.write_bytes(file.read_bytes() + b" ")
    elif damage == "missing":
        file.unlink()
    else:
        said = json.loads(info.read_text())
        said["files"]["../../escape"] = ""
        info.write_text(json.dumps(said))
    with pytest.raises(BackupDamaged):
        restore(tmp_path / "copy", tmp_path / "back")
    assert not (tmp_path / "back/data.mdb").exists()


def test_a_backup_of_before_holds_only_the_store(data: Path, tmp_path: Path) -> None:
    backup(data, tmp_path / "copy")
    info = tmp_path / "copy/backup.json"
    said = json.loads(info.read_text())
    del said["files"]
    info.write_text(json.dumps(said))
    assert read_backup(tmp_path / "copy").files == {}
    restore(tmp_path / "copy", tmp_path / "back")
    assert not (tmp_path / "back/openmsmq.toml").exists()
