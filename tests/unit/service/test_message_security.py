"""The manager of a service knows its keys and certificates, and what changes of them."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from tests.signers import ALICE, der_of, exchange_key, published

from openmsmq.access.exchange_keys import OwnKeys, PeerKeyFile
from openmsmq.access.senders import SENDERS_FILE, SenderCertificates
from openmsmq.engine.arrivals.examination import SecurityPolicy
from openmsmq.properties.message import (
    EncryptionAlgorithm,
    HashAlgorithm,
    PrivacyLevel,
    SignatureType,
)
from openmsmq.runtime.startup import open_directory
from openmsmq.service.configuration import Config
from openmsmq.service.message_security import MessageSecurity, policy_of
from openmsmq.transports.receipts import RECEIPTS

pytest.importorskip("cryptography")
THERE = UUID(int=42)


def test_by_default_only_what_is_sound_counts(tmp_path: Path) -> None:
    "MSEC-054, MSEC-055, MSEC-062, MSEC-119"
    assert policy_of(Config(data=tmp_path)) == SecurityPolicy()


def test_legacy_counts_if_it_is_named(tmp_path: Path) -> None:
    "MSEC-023, MSEC-202"
    found = policy_of(
        Config(
            data=tmp_path,
            security_hashes=("sha1", "sha512"),
            security_signatures=("1.0",),
            security_ciphers=("rc2-40", "rc4-128"),
            security_key_bits_min=1024,
            security_replay_window=60,
        )
    )
    assert found.hashes == {HashAlgorithm.SHA1, HashAlgorithm.SHA512}
    assert found.signatures == {SignatureType.MSMQ_1_0}
    assert found.ciphers == {
        (PrivacyLevel.BASE, EncryptionAlgorithm.RC2),
        (PrivacyLevel.ENHANCED, EncryptionAlgorithm.RC4),
    }
    assert (found.rejects_short_rc2, found.replay_window) == (False, 60)


def test_changes_of_the_files_are_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    "MSEC-074, MSEC-094, MSEC-181"
    local = open_directory(tmp_path, "here", restored=False, receipts=RECEIPTS)
    security = MessageSecurity(Config(data=tmp_path, security_ciphers=("aes", "rc4-128")), local)
    assert local.examiner.keyring.senders == {}
    assert local.encryptor.levels == {PrivacyLevel.AES, PrivacyLevel.ENHANCED}
    SenderCertificates(tmp_path).register(der_of(), "user:alice")
    OwnKeys(tmp_path).create("aes", 1024)
    PeerKeyFile(tmp_path).add(THERE, "there", published(exchange_key()).encode().hex())
    security.refresh()
    assert local.examiner.keyring.senders == {ALICE: (der_of(),)}
    [key] = local.examiner.keyring.keys
    assert key.public.bits == 1024
    assert local.encryptor.peers.by_manager == {THERE: published(exchange_key())}
    assert local.encryptor.random is not None
    assert len(local.encryptor.random(5)) == 5
    (tmp_path / SENDERS_FILE).write_text("nonsense")
    for _ in range(2):
        security.refresh()
    assert local.examiner.keyring.senders == {}
    assert caplog.text.count("keys cannot be read") == 1
    local.store.close()
