"""Keys and certificates in the directory: of this manager, and of those who send to it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from openmsmq.access.exchange_keys import OwnKeys
from openmsmq.access.senders import MACHINE_FILE, make_certificate
from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.objects import ManagerObject
from openmsmq.directory.writer import DirectoryWriter, user_certificates
from openmsmq.engine.arrivals.limits import SENDERS_ASKED_MAX
from openmsmq.engine.arrivals.sender_cache import SenderCache
from openmsmq.errors import MQError, NoDs
from openmsmq.packet.signer import MessageSigner
from openmsmq.security.sid import Sid
from openmsmq.store.directories import make_directory

NO_KEYS: Final = (
    "no keys were made, so that bodies are not encrypted for this manager: install"
    " openmsmq[security], then join again"
)


async def publish_keys(directory: DirectoryWriter, manager: ManagerObject, data: Path) -> None:
    """Publish what others encrypt with, and what this manager signs with ([MS-MQDMPR] 3.1.3).

    (PublicEncryptionKeyList and PublicSigningKeyList, [MS-MQSO] 6.6.2.1, 7.4.1.3.) Keys are made if
    there are none; those of the computer are written with their digests
    ([MS-MQDSSM] 3.1.6.1.1.9).
    """
    keys = OwnKeys(data)
    if all(key.retired is not None for key in keys):
        keys.create("aes")
    published = keys.published().encode()
    if published != manager.encryption_keys:
        await directory.write(ManagerObject, manager.path, {"encryption_keys": published})
    der = _certificate(data, manager.computer)
    await directory.register_certificate(names.parent(manager.path), der, uuid4())


def _certificate(data: Path, computer: str) -> bytes:
    """The certificate of this manager, made if there is none."""
    path = data / MACHINE_FILE
    if not path.exists():
        make_directory(data)
        pem = make_certificate(computer)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    return MessageSigner.from_pem(path.read_bytes()).certificate


def machine_signer(data: Path) -> MessageSigner | None:
    """What signs messages of this manager itself, without naming a sender ([MS-MQCN] 3.3.5.3)."""
    try:
        return replace(MessageSigner.from_pem((data / MACHINE_FILE).read_bytes()), sender=None)
    except (OSError, MQError):
        return None


def own_keys(data: Path) -> bytes:
    """MQDSPUBLICKEYS of this manager as its file has them ([MS-MQMQ] 2.2.2); empty for none."""
    try:
        found = OwnKeys(data).published()
    except (ImportError, MQError, ValueError):
        return b""
    return found.encode() if found.keys else b""


class SenderReader:
    """Reads the certificates of senders that messages name ([MS-MQQB] 3.1.5.8.3)."""

    def __init__(
        self,
        directory: DirectoryWriter,
        ask: Callable[[Awaitable[Any]], Awaitable[Any]],
        begin: Callable[[Any], None],
        now: Callable[[], float],
    ) -> None:
        """`begin` begins a task; `ask` notices that no controller answers."""
        self.cache = SenderCache(self._look_up)
        self._directory = directory
        self._ask = ask
        self._begin = begin
        self._now = now
        self._asked: set[Sid] = set()

    def _look_up(self, sid: Sid) -> None:
        if sid not in self._asked and len(self._asked) < SENDERS_ASKED_MAX:
            self._asked.add(sid)
            self._begin(self._read(sid))

    async def _read(self, sid: Sid) -> None:
        """Ask for a user; without an answer it is not known who it is, and its message waits.

        ([MS-MQQB] 3.1.5.8.3; MSEC-A18)
        """
        try:
            user = await self._ask(self._directory.user_by_sid(sid))
            found = await self._ask(_decoded(user.certificates))
        except NoDs:
            return
        except MQError:
            found = ()
        finally:
            self._asked.discard(sid)
        self.cache.found(sid, found, self._now())


async def _decoded(raw: bytes) -> tuple[bytes, ...]:
    return tuple(one.certificate for one in user_certificates(raw))
