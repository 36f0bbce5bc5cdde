"""What the engine signs, checks and encrypts with: from the configuration, and from files.

The files are looked at every other second, so that commands act on a service that runs.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Final

from openmsmq.access.exchange_keys import OwnKeys, PeerKeyFile
from openmsmq.access.senders import SenderCertificates
from openmsmq.engine.arrivals.examination import MODERN_CIPHERS, Keyring, SecurityPolicy
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.encryption import PeerKeys
from openmsmq.errors import MQError
from openmsmq.properties.message import (
    EncryptionAlgorithm,
    HashAlgorithm,
    PrivacyLevel,
    SignatureType,
)
from openmsmq.runtime.helpers import Helpers, spare_processors
from openmsmq.runtime.logs import log_event
from openmsmq.service.configuration import Config

LOOK_EVERY: Final = 2.0
"Seconds between two looks at the files."
HASHES: Final = {
    "sha512": HashAlgorithm.SHA512,
    "sha256": HashAlgorithm.SHA256,
    "sha1": HashAlgorithm.SHA1,
    "md5": HashAlgorithm.MD5,
    "md4": HashAlgorithm.MD4,
    "md2": HashAlgorithm.MD2,
}
SIGNATURES: Final = {
    "1.0": SignatureType.MSMQ_1_0,
    "2.0": SignatureType.MSMQ_2_0,
    "3.0": SignatureType.MSMQ_3_0,
}
CIPHERS: Final = {
    "aes": MODERN_CIPHERS,
    "rc4-128": frozenset({(PrivacyLevel.ENHANCED, EncryptionAlgorithm.RC4)}),
    "rc2-128": frozenset({(PrivacyLevel.ENHANCED, EncryptionAlgorithm.RC2)}),
    "rc4-40": frozenset({(PrivacyLevel.BASE, EncryptionAlgorithm.RC4)}),
    "rc2-40": frozenset({(PrivacyLevel.BASE, EncryptionAlgorithm.RC2)}),
}
_log: Final = logging.getLogger(__name__)


class MessageSecurity:
    """Keeps a manager up to date with its configuration and its files."""

    def __init__(self, config: Config, local: QueueManager) -> None:
        self._local = local
        self._senders = SenderCertificates(config.data)
        self._keys = OwnKeys(config.data)
        self._peers = PeerKeyFile(config.data)
        self._is_broken = False
        self._helpers = Helpers(spare_processors())
        local.examiner.ask = self._helpers.ask
        local.examiner.policy = policy_of(config)
        encryptor = local.encryptor
        encryptor.random = secrets.token_bytes
        encryptor.levels = frozenset(
            level
            for word in config.security_ciphers
            for level, algorithm in CIPHERS[word]
            if algorithm is not EncryptionAlgorithm.RC2
        )
        encryptor.encrypts_direct = config.security_encrypt_direct
        encryptor.key_lifetime = config.security_session_key_lifetime
        self.refresh(force=True)

    def refresh(self, *, force: bool = False) -> None:
        """Take over what has changed; a file that cannot be read entitles to nothing."""
        try:
            changed = [part.refresh() for part in (self._senders, self._keys, self._peers)]
            self._is_broken = False
        except MQError as error:
            if not self._is_broken:
                log_event(_log, "keys cannot be read", level=logging.ERROR, error=error)
            self._is_broken, changed = True, [True]
        if any(changed) or force:
            try:
                keys = self._keys.loaded()
            except (ImportError, ValueError) as error:
                log_event(_log, "keys cannot be used", level=logging.ERROR, error=error)
                keys = ()
            self._local.examiner.keyring = Keyring(self._senders.by_sender(), keys)
            self._local.examiner.forget_session_keys()
            peers = PeerKeys(self._peers.by_manager(), self._peers.by_computer())
            self._local.encryptor.peers = peers
            self._local.encryptor.forget_session_keys()

    def close(self) -> None:
        """Nothing is examined any longer."""
        self._helpers.close()

    async def watch(self) -> None:
        """Look at the files again and again, until this is cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.refresh()


def policy_of(config: Config) -> SecurityPolicy:
    """What counts, as the configuration says."""
    return SecurityPolicy(
        hashes=frozenset(HASHES[word] for word in config.security_hashes),
        signatures=frozenset(SIGNATURES[word] for word in config.security_signatures),
        key_bits_min=config.security_key_bits_min,
        ciphers=frozenset(one for word in config.security_ciphers for one in CIPHERS[word]),
        rejects_short_rc2="rc2-40" not in config.security_ciphers,
        takes_unidentified=config.security_accept_unidentified,
        replay_window=config.security_replay_window or 0,
    )
