"""The client's side of a connection: a machine that takes bytes and gives bytes ([MS-RPCE] 3.3.2).

Calls are queued until the server has accepted the interface, and afterwards too if it serves one
call at a time only ([MS-RPCE] 3.3.1.5.8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.net.wire import Wire
from openmsmq.rpc.assembly import Assembly, TooLarge
from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel
from openmsmq.rpc.limits import (
    AUTHENTICATE_WITHIN,
    FRAGMENT_SIZE,
    FRAGMENT_SIZE_LEAST,
    RESPONSE_STUB_MAX,
)
from openmsmq.rpc.pdu import (
    WHOLE,
    Bind,
    BindAck,
    ContextAnswer,
    ContextElement,
    Pdu,
    PduFlags,
    PduFramer,
    PduType,
    ResponseHeader,
    Verifier,
    encode_pdu,
    read_bind_nak,
    read_fault,
)
from openmsmq.rpc.status import RpcFault
from openmsmq.rpc.syntax import NDR, SyntaxId

CONTEXT_ID: Final = 0
"Of the one presentation context that a client has."


class Disconnected(Exception):
    """The connection ended, or was never usable; whether calls were executed is not known."""


Done = Callable[[bytes | Exception], None]
"Gets the stub of the results; or a `RpcFault`, `TimeoutError` or `Disconnected`."


@dataclass(slots=True)
class _Call:
    opnum: int
    stub: bytes
    done: Done
    deadline: float | None
    assembly: Assembly = field(init=False)


class ClientConnection:
    """One connection to a server, bound to one interface."""

    def __init__(
        self,
        wire: Wire,
        interface: SyntaxId,
        now: float,
        *,
        channel: SecureChannel | None = None,
        group: int = 0,
    ) -> None:
        """`channel` says how to authenticate; `group` is that of an association to join."""
        self._wire = wire
        self._interface = interface
        self._framer = PduFramer()
        self._asked = channel or SecureChannel()
        self._channel = SecureChannel()
        self._group = group
        self._is_ready = False
        self._is_closed = False
        self.failure = ""
        self.is_refused = False
        "The server does not have the interface."
        "Why it is closed."
        self._multiplexes = False
        self._fragment_size = FRAGMENT_SIZE_LEAST
        self._next_call = 1
        self._queued: deque[tuple[int, _Call]] = deque()
        self._calls: dict[int, _Call] = {}
        self._bind_deadline: float | None = now + AUTHENTICATE_WITHIN
        self._send_bind()

    @property
    def group(self) -> int:
        """The association's number, for further connections; 0 until it is known."""
        return self._group

    @property
    def is_ready(self) -> bool:
        """The server has accepted the interface, and who calls."""
        return self._is_ready

    @property
    def is_closed(self) -> bool:
        """No call can be made any more."""
        return self._is_closed

    # Calls

    def call(self, opnum: int, stub: bytes, done: Done, deadline: float | None = None) -> int:
        """Make a call; its number, for `cancel`. `done` is called exactly once, perhaps now."""
        call_id = self._next_call = self._next_call + 1
        if self._is_closed:
            done(Disconnected("the connection is closed"))
            return call_id
        self._queued.append((call_id, _Call(opnum, stub, done, deadline)))
        self._send_queued()
        self._wire.update()
        return call_id

    def cancel(self, call_id: int) -> None:
        """Ask the server to end a call early; the answer still comes ([MS-RPCE] 3.3.2.4)."""
        if call_id in self._calls:
            self._wire.write(encode_pdu(PduType.CO_CANCEL, WHOLE, call_id, b""))

    def _send_queued(self) -> None:
        while self._is_ready and self._queued and (self._multiplexes or not self._calls):
            call_id, call = self._queued.popleft()
            call.assembly = Assembly(call_id, CONTEXT_ID, call.opnum, RESPONSE_STUB_MAX)
            self._calls[call_id] = call
            kind, size = PduType.REQUEST, self._fragment_size
            for fragment in self._channel.fragments(
                kind, call_id, CONTEXT_ID, call.opnum, call.stub, size
            ):
                self._wire.write(fragment)

    # Time

    @property
    def is_full(self) -> bool:
        """It takes no more bytes for now: never, since responses are bounded."""
        return False

    def resume(self, now: float) -> None:
        """The wire's write buffer has room again."""

    @property
    def next_deadline(self) -> float | None:
        """When `tick` wants to be called."""
        calls = [*self._calls.values(), *(call for _, call in self._queued)]
        deadlines = [call.deadline for call in calls if call.deadline is not None]
        if self._bind_deadline is not None:
            deadlines.append(self._bind_deadline)
        return min(deadlines, default=None)

    def tick(self, now: float) -> None:
        """Give up a bind that is not answered, and abandon calls whose time is over."""
        if self._bind_deadline is not None and now >= self._bind_deadline:
            self._fail("the server did not answer the bind in time")
            return
        for call_id, call in list(self._calls.items()):
            if call.deadline is not None and now >= call.deadline:
                del self._calls[call_id]
                self._wire.write(encode_pdu(PduType.ORPHANED, WHOLE, call_id, b""))
                call.done(TimeoutError())
        late = [(n, c) for n, c in self._queued if c.deadline is not None and now >= c.deadline]
        for entry in late:
            self._queued.remove(entry)
            entry[1].done(TimeoutError())
        self._send_queued()

    # The end

    def close(self) -> None:
        """End the connection; calls that are under way fail."""
        self._fail("the connection was closed")

    def lost(self) -> None:
        """The connection is over."""
        self._fail("the server closed the connection")

    def _fail(self, reason: str) -> None:
        if self._is_closed:
            return
        self._is_closed, self._is_ready = True, False
        self.failure = reason
        self._bind_deadline = None
        self._wire.close()
        calls = [*self._calls.values(), *(call for _, call in self._queued)]
        self._calls, self._queued = {}, deque()
        for call in calls:
            call.done(Disconnected(reason))

    # PDUs

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the server sent."""
        try:
            for pdu in self._framer.feed(data):
                if self._is_closed:
                    return
                self._take(pdu)
        except Malformed as error:
            self._fail(f"malformed PDU: {error}")
        except AuthenticationFailed as error:
            self._fail(f"authentication: {error}")
        except TooLarge:
            self._fail(f"a response of more than {RESPONSE_STUB_MAX} bytes")

    def _take(self, pdu: Pdu) -> None:
        if pdu.kind in (PduType.BIND_ACK, PduType.ALTER_CONTEXT_RESP) and not self._is_ready:
            self._bound(pdu)
        elif pdu.kind == PduType.BIND_NAK and not self._is_ready:
            self._fail(f"the server refused the bind for reason {read_bind_nak(pdu)}")
        elif pdu.kind == PduType.RESPONSE:
            self._respond(pdu)
        elif pdu.kind == PduType.FAULT:
            self._fault(pdu)
        elif pdu.kind == PduType.SHUTDOWN:
            self._fail("the server shuts down")
        else:
            self._fail(f"a PDU of type {pdu.kind} that does not belong here")

    def _send_bind(self) -> None:
        """Propose the interface, and begin to authenticate ([MS-RPCE] 3.3.1.5.6, 3.3.1.5.2)."""
        element = ContextElement(CONTEXT_ID, self._interface, (NDR,))
        bind = Bind(FRAGMENT_SIZE, FRAGMENT_SIZE, self._group, (element,))
        flags = WHOLE | PduFlags.CONC_MPX
        if self._asked.level >= AuthLevel.INTEGRITY:
            flags |= PduFlags.SUPPORT_HEADER_SIGN
        verifier = None
        if self._asked.context is not None:
            verifier = self._verifier(self._asked.context.step(b""))
        self._wire.write(encode_pdu(PduType.BIND, flags, 1, bind.encode(), verifier))

    def _verifier(self, token: bytes) -> Verifier:
        asked = self._asked
        return Verifier(asked.auth_type, asked.level, asked.context_id, token)

    def _bound(self, pdu: Pdu) -> None:
        """The answer to the bind, or to a further token ([MS-RPCE] 3.3.1.5.6, 3.3.1.5.2.1)."""
        answer = BindAck.read(pdu)
        if not answer.results or answer.results[0].result != ContextAnswer.ACCEPTANCE:
            reason = answer.results[0].reason if answer.results else "none"
            self.is_refused = True
            self._fail(f"the server does not accept interface {self._interface}: reason {reason}")
            return
        if pdu.kind == PduType.BIND_ACK:
            self._group = answer.group
            self._multiplexes = bool(pdu.flags & PduFlags.CONC_MPX)
            self._fragment_size = max(FRAGMENT_SIZE_LEAST, min(answer.max_recv_frag, FRAGMENT_SIZE))
        if self._authenticate(pdu):
            self._is_ready = True
            self._bind_deadline = None
            self._channel = self._asked
            self._send_queued()

    def _authenticate(self, pdu: Pdu) -> bool:
        """Take the server's token and send the next one; whether that was the last."""
        context = self._asked.context
        if context is None or context.is_complete:
            return True
        if pdu.verifier is None:
            self._fail("the server does not authenticate")
            return False
        token = context.step(pdu.verifier.token)
        if not token:
            return context.is_complete
        verifier = self._verifier(token)
        if context.is_complete:  # an odd number of tokens: the last one is not answered
            self._wire.write(encode_pdu(PduType.AUTH3, WHOLE, 1, bytes(4), verifier))
            return True
        element = ContextElement(CONTEXT_ID, self._interface, (NDR,))
        bind = Bind(FRAGMENT_SIZE, FRAGMENT_SIZE, self._group, (element,))
        self._wire.write(encode_pdu(PduType.ALTER_CONTEXT, WHOLE, 1, bind.encode(), verifier))
        return False

    def _respond(self, pdu: Pdu) -> None:
        """A fragment of results ([MS-RPCE] 3.3.2.5.2); those of other calls may lie between."""
        response = ResponseHeader.read(pdu)
        stub = self._channel.open(pdu, response.stub_offset)
        call = self._calls.get(pdu.call_id)
        if call is None:
            return  # it was abandoned
        call.assembly.add(stub)
        if pdu.is_last:
            del self._calls[pdu.call_id]
            call.done(call.assembly.stub())
            self._send_queued()

    def _fault(self, pdu: Pdu) -> None:
        """A call that has no results; its stub data, if any, are ignored ([MS-RPCE] 2.2.2.8)."""
        status = read_fault(pdu)
        call = self._calls.pop(pdu.call_id, None)
        if call is not None:
            call.done(RpcFault(status))
            self._send_queued()
        elif not self._is_ready:
            self._fail(f"the server refused the authentication: {RpcFault(status)}")
