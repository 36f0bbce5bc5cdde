"""Keys of this manager and of others, in files."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from tests.signers import exchange_key, published

from openmsmq.access.exchange_keys import (
    KEYS_FILE,
    PEER_KEYS_FILE,
    RETIRED_FOR,
    KeysDamaged,
    NoSuchKey,
    OwnKeys,
    PeerKeyFile,
)
from openmsmq.clock import SystemClock
from openmsmq.errors import InvalidParameter
from openmsmq.properties.message import PROVIDERS, PrivacyLevel
from openmsmq.security.session_keys import public_key_of

pytest.importorskip("cryptography")
THERE = UUID(int=42)


class Watch(SystemClock):
    """A clock that stands still."""

    def __init__(self) -> None:
        self.time = 1_790_000_000.0

    def now(self) -> float:
        return self.time


def test_a_key_is_made_once_and_kept_for_its_owner(tmp_path: Path) -> None:
    "DMPR-377, DMPR-378, MSEC-178, MSEC-179, MSEC-180, MSEC-181"
    made = OwnKeys(tmp_path).create("aes", 1024)
    file = tmp_path / KEYS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    again = OwnKeys(tmp_path)
    assert [one.id for one in again] == [made.id]
    [key] = again.loaded()
    assert (key.level, key.public.bits) == (PrivacyLevel.AES, 1024)
    [public] = again.published().keys
    assert (public.provider_type, public.provider_name) == (0x18, PROVIDERS[PrivacyLevel.AES])
    assert public_key_of(public.public_key()) == key.public
    assert made.private not in repr(made)


def test_a_key_that_is_replaced_decrypts_for_some_days(tmp_path: Path) -> None:
    "MSEC-136"
    watch = Watch()
    keys = OwnKeys(tmp_path, watch)
    first = keys.create("aes", 1024)
    second = keys.create("aes", 1024)
    assert [one.id for one in keys] == [first.id, second.id]
    assert keys.loaded()[0].exponent == second.loaded().exponent, "the newest first"
    assert len(keys.published().keys) == 1
    watch.time += RETIRED_FOR - 1
    assert len(keys.loaded()) == 2
    watch.time += 1
    assert [one.id for one in keys] == [second.id]
    keys.create("enhanced", 1024)
    kept = json.loads((tmp_path / KEYS_FILE).read_text())
    del kept["changes"]  # for the audit log, with names of keys and nothing of what is in them
    assert first.id not in json.dumps(kept)
    assert len(keys.published().keys) == 2


def test_the_keys_of_another_manager(tmp_path: Path) -> None:
    "MSEC-094"
    text = published(exchange_key()).encode().hex()
    peers = PeerKeyFile(tmp_path)
    peers.add(THERE, "There", text.upper())
    assert peers.by_manager() == {THERE: published(exchange_key())}
    assert peers.by_computer() == {"THERE": THERE}
    peers.add(THERE, "", text)
    assert [one.name for one in PeerKeyFile(tmp_path)] == [""]
    with pytest.raises(NoSuchKey):
        peers.remove("There")
    peers.remove(str(THERE).upper())
    assert list(peers) == []
    with pytest.raises(NoSuchKey):
        PeerKeyFile(tmp_path / "nowhere").remove("x")


@pytest.mark.parametrize("keys", ["", "xyz", "00" * 8, "0800000000000000ff"])
def test_what_are_no_keys_is_refused(tmp_path: Path, keys: str) -> None:
    with pytest.raises(InvalidParameter, match="no keys"):
        PeerKeyFile(tmp_path).add(THERE, "", keys)
    assert not (tmp_path / PEER_KEYS_FILE).exists()


@pytest.mark.parametrize("text", ["", '{"format": 2, "keys": [{"id": 1}]}', '{"format": 9}'])
def test_a_damaged_file_of_keys_is_noticed(tmp_path: Path, text: str) -> None:
    keys = OwnKeys(tmp_path)
    keys.create("aes", 1024)
    (tmp_path / KEYS_FILE).write_text(text)
    with pytest.raises(KeysDamaged):
        keys.refresh()
    assert keys.loaded() == ()
