"""TLS between queue managers of OpenMSMQ: certificates that are pinned, on both sides.

No authority is asked: a peer is known by the certificate that the configuration has for it.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Mapping
from pathlib import Path

from openmsmq.errors import InvalidParameter
from openmsmq.security.limits import PEM_SIZE_MAX


class PeerCertificates:
    """The certificates of the peers that have one, and how to speak TLS with these."""

    def __init__(self, files: Mapping[str, Path], own: tuple[Path, Path] | None) -> None:
        """`files` are those of peers, by the name of the computer; `own` are certificate and key.

        `InvalidParameter` if one of the files cannot be used.
        """
        self._files = files
        self._own = own
        self.fingerprints = {name: fingerprint_of(file) for name, file in files.items()}
        "By the name of the computer, as the peer table has them."

    def server(self) -> ssl.SSLContext:
        """How others are let in: with a certificate that is pinned."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        return self._prepared(context, *self._files.values())

    def client(self, name: str) -> ssl.SSLContext | None:
        """How a computer is dialled; None if no certificate is pinned for it."""
        file = self._files.get(name)
        if file is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the certificate itself is what is compared
        return self._prepared(context, file)

    def _prepared(self, context: ssl.SSLContext, *trusted: Path) -> ssl.SSLContext:
        assert self._own is not None, "the configuration asks for it"
        certificate, key = self._own
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_cert_chain(certificate, key, password=str)
            for file in trusted:
                context.load_verify_locations(file)
        except OSError as error:  # errors of TLS are among them
            raise InvalidParameter(f"TLS with other managers: {error}") from error
        return context


def fingerprint_of(file: Path) -> str:
    """What identifies the first certificate of a PEM file: the SHA-256 of its DER form."""
    try:
        with file.open("rb") as opened:
            text = opened.read(PEM_SIZE_MAX).decode("ascii")
        start = text.index(ssl.PEM_HEADER)
        end = text.index(ssl.PEM_FOOTER, start) + len(ssl.PEM_FOOTER)
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[start:end])).hexdigest()
    except OSError as error:
        raise InvalidParameter(f"manager.peers: {file}: {error.strerror}") from error
    except ValueError:
        raise InvalidParameter(f"manager.peers: {file}: a certificate in PEM is needed") from None
