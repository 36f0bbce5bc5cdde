"""`openmsmq certificate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.signers import der_of
from tests.unit.cli.commands import Cli

from openmsmq.access.senders import SenderCertificates
from openmsmq.packet.signer import MessageSigner

pytest.importorskip("cryptography")


def test_a_certificate_is_made_registered_listed_and_removed(cli: Cli, tmp_path: Path) -> None:
    pem = tmp_path / "anna.pem"
    assert cli("certificate", "create", "anna", "--out", str(pem)).stdout == (
        f"created {pem} for user:anna\n"
    )
    assert pem.stat().st_mode & 0o777 == 0o600
    signer = MessageSigner.from_pem(pem.read_bytes())
    [made] = cli.objects("certificate", "register", str(pem))
    assert (made["sender"], made["sid"], made["bits"]) == ("user:anna", str(signer.sender), 2048)
    assert b"PRIVATE" not in (cli.directory / "senders.json").read_bytes()
    head, row = cli.lines("certificate", "list")
    assert head.split() == ["ID", "SENDER", "KIND", "SUBJECT", "VALID", "UNTIL"]
    assert row.split()[:4] == [made["id"][:8], "user:anna", "external", "anna"]
    assert cli.objects("certificate", "remove", made["id"]) == [made]
    assert cli.lines("certificate", "list") == []


def test_a_file_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    pem = tmp_path / "anna.pem"
    pem.write_text("mine")
    assert "File exists" in cli("certificate", "create", "anna", "--out", str(pem), code=1).stderr
    assert pem.read_text() == "mine"


def test_one_that_is_made_here_takes_the_place_of_the_last(cli: Cli, tmp_path: Path) -> None:
    for number in (1, 2):
        cli("certificate", "create", "anna", "--out", str(tmp_path / f"{number}"), "--register")
    [only] = SenderCertificates(cli.directory)
    assert only.kind == "internal"
    assert only.der == MessageSigner.from_pem((tmp_path / "2").read_bytes()).certificate


def test_one_that_was_made_here_can_stay(cli: Cli, tmp_path: Path) -> None:
    given = ("--register", "--if-none")
    for number, word in ((1, "registered"), (2, "kept")):
        found = cli("certificate", "create", "anna", "--out", str(tmp_path / f"{number}"), *given)
        assert found.stdout.startswith(word)
    [only] = SenderCertificates(cli.directory)
    assert only.der == MessageSigner.from_pem((tmp_path / "1").read_bytes()).certificate
    assert not (tmp_path / "2").exists()
    wrong = ("certificate", "create", "anna", "--out", str(tmp_path / "3"), "--if-none")
    assert "--register" in cli(*wrong, code=2).stderr


def test_a_certificate_in_der_of_an_account_of_windows(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "alice.cer"
    file.write_bytes(der_of())
    sid = "S-1-5-21-1111111111-2222222222-3333333333-1104"
    [made] = cli.objects("certificate", "register", str(file), "--sender", sid)
    assert (made["sid"], made["subject"]) == (sid, "alice")
    file.write_bytes(b"nonsense")
    assert "not an X.509" in cli("certificate", "register", str(file), code=1).stderr
    file.write_bytes(b"-----BEGIN nonsense")
    assert cli("certificate", "register", str(file), code=1).stderr
