"""The key that signs messages over HTTP, and the certificates that check signatures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from openmsmq.security.limits import PEM_SIZE_MAX
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.transports.srmp.service import Signatures

_T = TypeVar("_T")


def load_signatures(config: Config) -> Signatures:
    """The key and the certificates that the settings name; `ConfigError` if one cannot be used.

    Certificates that clients show in TLS count without a setting, where signatures can be checked.
    """
    try:
        from openmsmq.security import certificates
        from openmsmq.soap.signature_keys import KnownSenders, XmlSigner
    except ImportError as error:
        if config.srmp_signing_key is None and not config.srmp_senders:
            return Signatures()
        raise ConfigError(
            "srmp.signing_key and srmp.senders need the package cryptography:"
            " pip install 'openmsmq[security]'"
        ) from error
    signer = None
    if (key := config.srmp_signing_key) is not None:
        signer = XmlSigner(_load("srmp.signing_key", key, certificates.read_signing_key))
    senders = {
        UUID(manager): _load(f"srmp.senders: {manager}", path, certificates.read_certificates)
        for manager, path in config.srmp_senders.items()
    }
    return Signatures(signer, KnownSenders(senders))


def _load(setting: str, path: Path, read: Callable[[bytes], _T]) -> _T:
    try:
        with path.open("rb") as file:
            return read(file.read(PEM_SIZE_MAX + 1))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{setting}: {path}: {error}") from error
