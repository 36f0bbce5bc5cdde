"""What can be wrong with signed and encrypted messages: settings that weaken them, and files."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from openmsmq.access.exchange_keys import KEYS_FILE
from openmsmq.access.senders import SenderCertificates
from openmsmq.errors import MQError
from openmsmq.service.backup import SERVING_FILE
from openmsmq.service.configuration import Config, load_config

_SOON: Final = 30 * 24 * 60 * 60
"Seconds before its end that a certificate is worth a word."
_SOUND: Final = {"hashes": ("sha512", "sha256"), "signatures": ("2.0", "3.0"), "ciphers": ("aes",)}
"What counts by default, of each setting that names algorithms."


class WeakProtection(NamedTuple):
    """Something that makes signatures or encryption worth less, and what to do about it."""

    text: str
    advice: str


def weak_protection(directory: Path) -> Iterator[WeakProtection]:
    """Every setting that weakens message security, and certificates that end (MSEC-A35)."""
    file = directory / SERVING_FILE
    try:
        config = load_config(file, {"data": directory}) if file.exists() else Config(data=directory)
        certificates = list(SenderCertificates(directory))
    except (MQError, OSError):
        return
    for key, sound in _SOUND.items():
        weak = [word for word in getattr(config, f"security_{key}") if word not in sound]
        if weak:
            yield WeakProtection(
                f"security.{key} has {', '.join(weak)}: worth little or nothing today",
                f"Take {' and '.join(weak)} out of security.{key}, unless old peers need it.",
            )
    if config.security_key_bits_min < 2048:
        yield WeakProtection(
            f"signatures with keys of {config.security_key_bits_min} bits count",
            "Set security.key_bits_min to 2048, unless old peers need less.",
        )
    if config.security_accept_unidentified:
        yield WeakProtection(
            "queues that demand authentication take certificates that anyone can make",
            "Turn security.accept_unidentified off, and register the certificates of senders.",
        )
    now, least = time.time(), config.security_key_bits_min
    for one in certificates:
        bits = 0 if one.decoded.key is None else one.decoded.key.bits
        if bits < least:
            kind = f"of {bits} bits" if bits else "that is not RSA"
            yield WeakProtection(
                f"the certificate {one.id[:8]} of {one.sender} has a key {kind}: what it signs is"
                " refused",
                f"Register one whose key has {least} bits (security.key_bits_min) or more.",
            )
        if one.decoded.not_after < now + _SOON:
            yield WeakProtection(
                f"the certificate {one.id[:8]} of {one.sender} ends or has ended",
                "openmsmq certificate create makes another one; register it before.",
            )
    path = directory / KEYS_FILE
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield WeakProtection(
            f"other users of this computer can read {path}, the private keys",
            f"chmod 600 {path}, and openmsmq key create",
        )
