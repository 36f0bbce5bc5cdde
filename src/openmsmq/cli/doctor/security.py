"""What lets more callers in than is meant: listeners that others reach, and weak settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from openmsmq.errors import MQError
from openmsmq.net.addresses import is_loopback
from openmsmq.service.backup import SERVING_FILE
from openmsmq.service.configuration import Config, load_config
from openmsmq.types.settings import Settings


class Exposure(NamedTuple):
    """Something that others reach, and how to close it."""

    text: str
    advice: str


def exposures(directory: Path) -> Iterator[Exposure]:
    """Listeners that other computers and users reach, as the service was started last."""
    file = directory / SERVING_FILE
    try:
        config = load_config(file, {"data": directory}) if file.exists() else Config(data=directory)
    except (MQError, OSError):
        return
    if config.binary_port is not None and not is_loopback(config.peer_bind):
        yield Exposure(
            f"every computer that reaches port {config.binary_port} of {config.peer_bind} can send"
            " messages, and the protocol proves and encrypts nothing",
            "Let a firewall admit the computers that may send, take anonymous out of permissions"
            " (openmsmq queue permissions set), or close it: --binary-port off.",
        )
    if config.allow_insecure and not config.is_local:
        yield Exposure(
            f"every computer that reaches {config.bind} administers this manager"
            " (tls.allow_insecure)",
            "Use --tls-cert, --tls-key and tokens instead, or --bind 127.0.0.1.",
        )
    if config.app_socket is not None and config.app_socket_for == "everyone":
        yield Exposure(
            f"every user of this computer reads and sends through {config.app_socket}",
            'Give queues permissions, or set app.socket_for = "group".',
        )


def weak_settings(settings: Settings) -> Iterator[Exposure]:
    """Settings that make the manager say or accept more than by default."""
    if settings.insecure_nacks:
        yield Exposure(
            "senders learn which queues exist and which refuse them (insecure_nacks)",
            "Set insecure_nacks = false in [settings] of a file for openmsmq apply.",
        )
    if not settings.audit:
        yield Exposure(
            "the audit log is off: what is denied is recorded nowhere",
            "Set audit = 16 in [settings] of a file for openmsmq apply.",
        )
