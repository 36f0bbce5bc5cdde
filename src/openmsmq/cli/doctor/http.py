"""What can be wrong with messages over HTTP, and who can reach the port for them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from openmsmq.errors import MQError
from openmsmq.net.addresses import is_loopback
from openmsmq.service.backup import SERVING_FILE
from openmsmq.service.configuration import Config, load_config
from openmsmq.types.outgoing import OutgoingInfo

_PREFIXES: Final = ("DIRECT=HTTP:", "DIRECT=HTTPS:")
_ADVICE: Final = (
    (
        "certificate",
        "Was the certificate there issued by an authority trusted here (--srmp-ca FILE), and for"
        " the name in the address? If it asks for ours, --tls-cert is shown.",
    ),
    ("ssl", "Is the port one for HTTPS? One without TLS is addressed by DIRECT=HTTP://."),
    ("answered 400", "The queue is missing there, or is not of the same kind (transactional)."),
    ("answered 403", "A proxy on the way refuses the request: does it let POST to /msmq/ through?"),
    ("answered 404", "Does the port belong to a queue manager, and does a proxy pass /msmq/ on?"),
    ("answered 407", "The proxy wants a login: --srmp-proxy http://USER:PASSWORD@HOST:PORT."),
    ("answered 413", "A proxy before the manager takes smaller bodies only: let it take 5 MiB."),
    ("answered 5", "The manager there, or a proxy before it, is busy or out of room: see its log."),
)
"What to do, by what the last error says."


def is_http(info: OutgoingInfo) -> bool:
    """Whether messages of an outgoing queue go over HTTP."""
    return info.name.upper().startswith(_PREFIXES)


def http_advice(info: OutgoingInfo) -> str:
    """What people can do for messages over HTTP that do not leave."""
    error = info.last_error.lower()
    for words, advice in _ADVICE:
        if words in error:
            return advice
    if info.resends:
        return (
            "Receipts of the stream do not come back: can the computer there reach the address in"
            " --srmp-url, or else this computer by its name, at --srmp-port?"
        )
    return (
        "Does a queue manager with --srmp-port run there, and does a firewall let its port through?"
        " Messages over HTTP leave only where --srmp-port is given here, too; --srmp-proxy says"
        " through which proxy."
    )


def exposure(directory: Path) -> str:
    """Why the port for HTTP is a risk as the service was started last; empty if it is none."""
    file = directory / SERVING_FILE
    try:
        config = load_config(file, {"data": directory}) if file.exists() else Config(data=directory)
    except (MQError, OSError):
        return ""
    host = config.srmp_bind or config.peer_bind
    if config.srmp_port is None or is_loopback(host):
        return ""
    if config.tls_cert is None:
        return f"everyone who reaches port {config.srmp_port} of {host} can post, and it has no TLS"
    if config.tls_client_ca is None:
        return f"everyone who reaches port {config.srmp_port} of {host} can post messages"
    return ""
