"""The start of a session: HELLO within its time, and WELCOME or a refusal."""

from __future__ import annotations

from typing import Final

from openmsmq.app_protocol.calls import (
    PEEKED_RUNS,
    PROTOCOL,
    RESERVED_RUNS,
    RUNS,
    SEND_RUNS,
    Hello,
    Welcome,
)
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_server.context import SessionContext

CAPABILITIES: Final = (
    *("subscribe", "two-phase", "epochs", "pages", "reserve", "units", "post"),
    *("owners", RUNS, "reader-runs", "redirect", "peek-back", "reject", SEND_RUNS),
    "operate",
)
_CLIENT_SHOWN: Final = 60


class Handshake:
    """Decides whether a program may come in."""

    def __init__(self, session: SessionContext, now: float, *, is_trusted: bool) -> None:
        self._session = session
        self._is_trusted = is_trusted
        self.deadline: float | None = now + session.server.hello_timeout_s
        "When HELLO must have come, or the refusal is sent; None once it is welcome."
        self._refusal = ""

    def receive(self, frame: Frame) -> None:
        """Take the first frame of a session."""
        session = self._session
        if frame.kind is not Kind.HELLO:
            session.refuse("no hello", "a connection begins with HELLO")
            return
        server, wire = session.server, session.wire
        hello = Hello.decode(frame.payload)
        certificate = wire.certificate
        grant = server.admit(
            hello.token, wire.peer, certificate, is_trusted=self._is_trusted, unix=wire.unix
        )
        if grant is None:
            self._refusal = "the token is missing, wrong or has expired"
            if certificate and not hello.token:
                self._refusal = (
                    "no token was shown, and tls.clients has no entry for the certificate"
                )
            session.is_refused = True
            self.deadline = session.now + server.refusal_delay_s
            session.wake_at(self.deadline)
            return
        self.deadline = None
        session.takes_slices = RUNS in hello.capabilities
        session.takes_peeked_slices = PEEKED_RUNS in hello.capabilities
        session.takes_reserved_slices = RESERVED_RUNS in hello.capabilities
        session.admit(grant, f"{_shown(hello.client)} at {wire.peer}")
        welcome = Welcome(
            server=server.name,
            manager=server.local.identity,
            name=server.local.name,
            max_frame=FRAME_SIZE_MAX,
            requests=server.config.requests_max,
            request_bytes=server.config.request_bytes_max,
            role=grant.role,
            capabilities=CAPABILITIES,
            protocol=min(hello.protocol, PROTOCOL),
        )
        session.write(Kind.WELCOME, frame.id, welcome.encode())

    def tick(self, now: float) -> None:
        """Refuse who has not said hello in time, or has shown a wrong token a moment ago."""
        if self.deadline is None or now < self.deadline:
            return
        self.deadline = None
        if self._refusal:
            self._session.close_unauthorized(self._refusal)
        else:
            self._session.refuse("no hello", "no HELLO came in time")


def _shown(client: str) -> str:
    """What a program calls itself, fit for histories and logs."""
    return "".join(char if char.isprintable() else "?" for char in client[:_CLIENT_SHOWN])
