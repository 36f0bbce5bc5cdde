from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.directories import CERTIFICATE
from tests.unit.directory.office import Office, in_office, until
from tests.unit.directory.test_join import enterprise

from openmsmq.access.exchange_keys import OwnKeys
from openmsmq.directory import join
from openmsmq.directory.credentials import NO_KEYS, machine_signer, own_keys
from openmsmq.directory.join import join_manager
from openmsmq.directory.ldap.filters import ANYTHING
from openmsmq.directory.ldap.tree import LdapError, ResultCode, SearchScope
from openmsmq.directory.objects import ManagerObject, UserObject
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.arrivals.sender_cache import SenderPending
from openmsmq.security.keys import DirectoryPublicKeys, UserCertificates
from openmsmq.security.session_keys import public_key_of
from openmsmq.security.sid import Sid


def test_keys_are_made_and_published(tmp_path: Path) -> None:
    """MQDS-071, MQDS-168, MQDS-169, MQDS-185, SYS-123, SYS-139: as MQDSPUBLICKEYS below the
    computer, and a certificate with its digest.
    """

    async def run() -> None:
        writer = DirectoryWriter(await enterprise())
        guid, warnings = await join_manager(writer, "NEW", ["HQ"], tmp_path)
        assert warnings == []
        found = await writer.by_id(ManagerObject, guid)
        (key,) = DirectoryPublicKeys.decode(found.encryption_keys).keys
        assert found.encryption_keys == own_keys(tmp_path)
        assert public_key_of(key.public_key()).bits == 2048
        signer = machine_signer(tmp_path)
        assert signer is not None
        assert signer.sender is None
        certificates = UserCertificates.decode(found.certificates).certificates
        assert [one.certificate for one in certificates] == [signer.certificate]
        assert found.digests == (certificates[0].digest,)
        assert stat.S_IMODE(os.stat(tmp_path / "machine.pem").st_mode) == 0o600
        await join_manager(writer, "NEW", ["HQ"], tmp_path)
        again = await writer.by_id(ManagerObject, guid)
        assert (again.encryption_keys, again.certificates) == (
            found.encryption_keys,
            found.certificates,
        )

    asyncio.run(run())


def test_who_has_no_library_joins_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*given: Any) -> None:
        raise ImportError

    monkeypatch.setattr(join, "publish_keys", fail)

    async def run() -> None:
        writer = DirectoryWriter(await enterprise())
        guid, warnings = await join_manager(writer, "NEW", ["HQ"], tmp_path)
        assert warnings == [NO_KEYS]
        assert (await writer.by_id(ManagerObject, guid)).encryption_keys == b""

    asyncio.run(run())
    assert own_keys(tmp_path) == b""
    assert machine_signer(tmp_path) is None


def test_certificates_of_senders_come_from_the_directory() -> None:
    """MQDS-175, MQDS-177, MSEC-066, MSEC-067: of the user with the SID that a message names."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        cache, wall = office.local.examiner.directory, office.local.timeline.wall
        assert cache is not None
        found = [user.sid for user in await office.writer.find(UserObject) if user.certificates]
        (anna,), stranger = found, Sid(5, (21, 9, 9, 9, 9))
        assert anna is not None

        def is_known(sid: Sid) -> bool:
            try:
                cache.certificates(sid, wall)
            except SenderPending:
                return False
            return True

        asked = office.tree.operations
        assert not any([is_known(anna), is_known(stranger), is_known(anna)])
        await until(lambda: is_known(stranger) and is_known(anna))
        assert cache.certificates(anna, wall) == (CERTIFICATE,)
        assert cache.certificates(stranger, wall) == ()
        assert office.tree.operations - asked <= 4

        office.tree.is_down = True
        cache.forget(anna)
        assert not is_known(anna)
        await until(lambda: office.service.is_offline)
        office.tree.is_down = False
        await office.service.refresh()
        assert not is_known(anna)
        await until(lambda: is_known(anna))

    in_office(test)


def test_a_new_key_is_published_by_the_service(tmp_path: Path) -> None:
    """MQDS-168, MQDS-169: with the next reading, and a refusal is none of the service.

    MSEC-092: keys are read with all managers, not by each session.
    """

    async def test(office: Office) -> None:
        OwnKeys(tmp_path).create("aes")
        office.service.keys = lambda: own_keys(tmp_path)
        await office.service.refresh()
        found = await office.writer.by_id(ManagerObject, office.local.identity)
        assert found.encryption_keys == own_keys(tmp_path) != b""
        assert office.local.encryptor.published[office.local.identity] == own_keys(tmp_path)

        OwnKeys(tmp_path).create("aes")

        async def refuse(*given: Any, **named: Any) -> None:
            raise LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, "no")

        office.tree.modify = refuse  # type: ignore[method-assign]
        await office.service.refresh()
        assert not office.service.is_offline
        rows = await office.tree.search(found.path, SearchScope.BASE, ANYTHING)
        assert rows[0].first("mSMQEncryptKey") == found.encryption_keys

    in_office(test)
