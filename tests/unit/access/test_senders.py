"""Certificates whose signatures count."""

from __future__ import annotations

import json
import os
from errno import ENOSPC
from pathlib import Path

import pytest
from tests.signers import ALICE, der_of

from openmsmq.access.senders import (
    SENDERS_FILE,
    NoSuchCertificate,
    SenderCertificates,
    SendersDamaged,
    make_certificate,
)
from openmsmq.errors import InvalidCertificate, InvalidParameter, StorageError
from openmsmq.packet.signer import MessageSigner
from openmsmq.security.principals import principal_sid
from openmsmq.security.x509 import decode_certificate


def test_a_certificate_counts_for_its_sender(tmp_path: Path) -> None:
    "MSEC-074, MSEC-177"
    senders = SenderCertificates(tmp_path)
    made = senders.register(der_of(), "user:alice")
    other = senders.register(der_of("user-1024"), "user:alice")
    assert senders.by_sender() == {ALICE: (der_of(), der_of("user-1024"))}
    assert [one.id for one in SenderCertificates(tmp_path)] == [made.id, other.id]
    assert (made.sid, made.der, made.decoded.subject) == (ALICE, der_of(), "alice")
    assert (tmp_path / SENDERS_FILE).stat().st_mode & 0o777 == 0o600
    assert senders.remove(made.id[:8]) == made
    assert senders.by_sender() == {ALICE: (der_of("user-1024"),)}


def test_a_sender_has_one_internal_certificate(tmp_path: Path) -> None:
    "DMPR-031, MSEC-169, MSEC-175, MSEC-176"
    senders = SenderCertificates(tmp_path)
    external = senders.register(der_of("other-user-2048"), "user:alice")
    senders.register(der_of(), "user:alice", "internal")
    new = senders.register(der_of("user-1024"), "user:alice", "internal")
    assert [one.id for one in senders] == [external.id, new.id]
    again = senders.register(der_of("other-user-2048"), "user:alice")
    assert [one.id for one in senders] == [new.id, again.id], "the same is there once"


def test_an_internal_certificate_is_replaced_unless_it_is_to_stay(tmp_path: Path) -> None:
    """MSEC-171, MSEC-173: to replace is the default; else the one that is there stays."""
    senders = SenderCertificates(tmp_path)
    first = senders.register(der_of(), "user:alice", "internal", replaces=False)
    before = (tmp_path / SENDERS_FILE).read_bytes()
    assert senders.register(der_of("user-1024"), "user:alice", "internal", replaces=False) == first
    assert json.loads((tmp_path / SENDERS_FILE).read_bytes()) == json.loads(before)
    other = senders.register(der_of("user-1024"), "user:bob", "internal", replaces=False)
    with pytest.raises(InvalidParameter) as refused:
        senders.register(der_of("other-user-2048"), "user:alice", replaces=False)
    assert refused.value.hresult == 0xC00E0006
    new = senders.register(der_of("other-user-2048"), "user:alice", "internal")
    assert [one.id for one in senders] == [other.id, new.id]


def test_a_certificate_stays_in_force_if_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "MSEC-174"
    senders = SenderCertificates(tmp_path)
    first = senders.register(der_of(), "user:alice", "internal")

    def fail(*given: object) -> None:
        raise OSError(ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError):
        senders.register(der_of("user-1024"), "user:alice", "internal")
    assert [one.id for one in SenderCertificates(tmp_path)] == [first.id]
    assert [one.id for one in senders] == [first.id]


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    senders = SenderCertificates(tmp_path)
    with pytest.raises(InvalidCertificate):
        senders.register(b"nonsense", "user:alice")
    with pytest.raises(InvalidParameter, match="is needed"):
        senders.register(der_of(), "alice")
    assert not (tmp_path / SENDERS_FILE).exists()


@pytest.mark.parametrize("identifier", ["", "none"])
def test_only_what_is_there_is_removed(tmp_path: Path, identifier: str) -> None:
    senders = SenderCertificates(tmp_path)
    senders.register(der_of(), "user:alice")
    with pytest.raises(NoSuchCertificate):
        senders.remove(identifier)
    with pytest.raises(NoSuchCertificate):
        SenderCertificates(tmp_path / "nowhere").remove("x")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "senders": [{"id": 1}]}'])
def test_a_damaged_file_entitles_no_one(tmp_path: Path, text: str) -> None:
    senders = SenderCertificates(tmp_path)
    senders.register(der_of(), "user:alice")
    (tmp_path / SENDERS_FILE).write_text(text)
    with pytest.raises(SendersDamaged):
        senders.refresh()
    assert senders.by_sender() == {}


def test_a_certificate_that_is_made_signs() -> None:
    "MSEC-006, MSEC-169"
    pem = make_certificate("anna")
    found = MessageSigner.from_pem(pem)
    assert found.sender == principal_sid("user", "anna")
    certificate = decode_certificate(found.certificate)
    assert certificate.key is not None
    assert (certificate.subject, certificate.key.bits) == ("anna", 2048)
    years = (certificate.not_after - certificate.not_before) / 365 / 86400
    assert 7.9 < years < 8.1
    with pytest.raises(InvalidParameter, match="name in a certificate"):
        make_certificate("x" * 100, bits=1024)
