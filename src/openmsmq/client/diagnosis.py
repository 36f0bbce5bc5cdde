"""Why a connection attempt failed, in words: the wrong port, or TLS on one side only."""

from __future__ import annotations

import socket
import ssl
from typing import Final

from openmsmq.client.address import PORT, Address

PROBE_TIMEOUT_S: Final = 1.0
"Seconds that a port has to answer a TLS handshake."
CLOSED: Final = "the connection was closed before it was answered"
CONSOLE_PORT: Final = (
    f"this looks like the console port, which speaks HTTP; programs connect to the app port, {PORT}"
    " by default"
)
OTHER_PORT: Final = (
    f"{CLOSED}; is this the app port, {PORT} by default, and not that of another protocol?"
)
SPEAKS_TLS: Final = "this port speaks TLS; connect with tls=CA_FILE, or --tls-ca FILE"
NO_TLS: Final = "this port does not speak TLS; connect without tls=, or without --tls-ca"
_ALERT: Final = b"\x15\x03"
_HTTP: Final = b"HTTP/"
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


def explain_answer(data: bytes) -> str:
    """What the first bytes of a server show that does not speak the application protocol."""
    if data.startswith(_HTTP):
        return CONSOLE_PORT
    return SPEAKS_TLS if data.startswith(_ALERT) else ""


def explain_failure(error: OSError, address: Address) -> str:
    """Why no connection came about."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.removesuffix(".")
        return f"{address}: the certificate of the server is not trusted: {reason}"
    if isinstance(error, ssl.SSLError) and error.reason in _NOT_TLS:
        return f"{address}: {NO_TLS}"
    if isinstance(error, TimeoutError):
        return f"{address}: no answer; a firewall may be in the way"
    return f"{address}: {error.strerror or error}"


def explain_silence(address: Address) -> str:
    """Why a server closed a connection without a word: found out by a TLS handshake."""
    if address.socket or address.tls is not None:
        return CLOSED
    return SPEAKS_TLS if _speaks_tls(address) else OTHER_PORT


def _speaks_tls(address: Address) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: only whether there is TLS is asked
    try:
        with (
            socket.create_connection((address.host, address.port), PROBE_TIMEOUT_S) as plain,
            context.wrap_socket(plain),
        ):
            return True
    except ssl.SSLError as error:
        return error.reason not in _NOT_TLS and not isinstance(error, ssl.SSLEOFError)
    except OSError:
        return False
