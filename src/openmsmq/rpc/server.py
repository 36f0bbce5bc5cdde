"""The server's side of a connection: a machine that takes bytes and gives bytes ([MS-RPCE] 3.3.3).

It knows no socket and no clock (`openmsmq.net.wire`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from openmsmq.errors import Malformed
from openmsmq.net.wire import Wire
from openmsmq.rpc.assembly import Assembly, TooLarge
from openmsmq.rpc.association import Association, Associations, RandomBytes
from openmsmq.rpc.auth.authentication import Authentication, MakeContext, UnknownType
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.interface import RpcCall, RpcClient, RpcInterface
from openmsmq.rpc.limits import (
    AUTHENTICATE_WITHIN,
    CALLS_MAX,
    CONTEXTS_MAX,
    FRAGMENT_SIZE,
    FRAGMENT_SIZE_LEAST,
    IDLE_CALL_WITHIN,
    STRAY_CALLS,
    UNREAD_MAX,
)
from openmsmq.rpc.ndr.stream import NdrReader, Order
from openmsmq.rpc.pdu import (
    VERSION,
    WHOLE,
    Bind,
    BindAck,
    ContextAnswer,
    ContextElement,
    ContextResult,
    NakReason,
    Pdu,
    PduFlags,
    PduFramer,
    PduType,
    RejectReason,
    RequestHeader,
    Verifier,
    encode_bind_nak,
    encode_fault,
    encode_pdu,
)
from openmsmq.rpc.status import UNSENDABLE, RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, NO_SYNTAX, SyntaxId, is_feature_element
from openmsmq.rpc.verification import ExpectedTrailer, check_trailer


class RpcServer:
    """What all connections of a server share."""

    def __init__(
        self,
        interfaces: Iterable[RpcInterface],
        random_bytes: RandomBytes,
        make_context: MakeContext,
        least_level: Callable[[str], int],
    ) -> None:
        """`least_level` is what callers at an address have to use."""
        self.interfaces = {one.syntax.uuid: one for one in interfaces}
        self.associations = Associations(random_bytes)
        self.make_context = make_context
        self.least_level = least_level
        self.refusals: Counter[str] = Counter()
        "What was refused, by reason."
        self.on_refused: Callable[[str, str, str], None] | None = None
        "Called with the reason, the address and what else is known."

    def refuse(self, reason: str, address: str, detail: str = "") -> None:
        """Count what was refused to an address."""
        self.refusals[reason] += 1
        if self.on_refused is not None:
            self.on_refused(reason, address, detail)


@dataclass(frozen=True, slots=True)
class Bound:
    """A presentation context that was accepted."""

    interface: RpcInterface
    offered: SyntaxId


class ServerConnection:
    """One connection of a client."""

    def __init__(self, server: RpcServer, wire: Wire, port: int, now: float) -> None:
        """`port` is the one the client has connected to."""
        self._server = server
        self._wire = wire
        self._port = port
        self._framer = PduFramer()
        self._association: Association | None = None
        self._contexts: dict[int, Bound] = {}
        self._authentication = Authentication(server.make_context)
        self._header_sign = False
        self._fragment_size = FRAGMENT_SIZE_LEAST
        self._assembly: Assembly | None = None
        self._skipped = -1
        "A call whose further fragments are not looked at: it was refused."
        self._last_call = -1
        self._calls: dict[int, RpcCall] = {}
        self._is_closed = False
        self._unread = 0
        "Bytes of answers that were written although the client does not read."
        self._deadline: float | None = now + AUTHENTICATE_WITHIN

    # Time and memory

    @property
    def is_full(self) -> bool:
        """It takes no more bytes for now: the client does not read its answers."""
        return self._wire.write_buffer_full

    def resume(self, now: float) -> None:
        """The wire's write buffer has room again: requests that waited for that are taken."""
        self._unread = 0
        if not self._is_closed:
            self.receive_data(b"", now)

    @property
    def next_deadline(self) -> float | None:
        """When `tick` wants to be called."""
        return self._deadline

    def tick(self, now: float) -> None:
        """End a connection whose client keeps a bind, a token or a fragment back."""
        if self._deadline is not None and now >= self._deadline:
            self._refuse("too slow")

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their PDU or call."""
        return self._framer.pending + (self._assembly.size if self._assembly else 0)

    @property
    def open_calls(self) -> int:
        """Calls that are not answered."""
        return len(self._calls)

    @property
    def is_bound(self) -> bool:
        """The client has bound an interface."""
        return self._association is not None

    @property
    def association(self) -> Association | None:
        """Whose connection it is; None before it has bound an interface."""
        return self._association

    @property
    def principal(self) -> str:
        """Who has logged on; empty as long as that is not known."""
        context = self._authentication.channel.context
        return context.principal if context is not None else ""

    @property
    def is_closed(self) -> bool:
        """Nothing more is read or sent."""
        return self._is_closed

    def lost(self) -> None:
        """The connection is over; with the last one of its association the handles run down."""
        self._is_closed = True
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.abandon()
        if self._association is not None:
            association, self._association = self._association, None
            self._server.associations.leave(association)

    # PDUs

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the client sent, as long as it reads what it is answered.

        A request of a hundred bytes can have an answer of four million.
        """
        try:
            for pdu in self._framer.feed(data):
                if self._is_closed:
                    return
                self._take(pdu, now)
                if self._wire.write_buffer_full:
                    break
        except Malformed:
            self._refuse("malformed PDU")
        self._adjust_deadline(now)

    def _adjust_deadline(self, now: float) -> None:
        if self._is_closed:
            self._deadline = None
        elif self._association is None or self._authentication.is_unfinished:
            return  # as it began
        elif self.is_full or (self._assembly is None and not self._framer.pending):
            self._deadline = None
        elif self._deadline is None:
            self._deadline = now + IDLE_CALL_WITHIN

    def _take(self, pdu: Pdu, now: float) -> None:
        if pdu.version != (VERSION, 0):
            self._refuse_version(pdu)
        elif pdu.kind == PduType.BIND and self._association is None:
            self._bind(pdu)
        elif self._association is None:
            self._protocol_error(pdu)
        elif pdu.kind == PduType.REQUEST:
            self._request(pdu)
        elif pdu.kind == PduType.ALTER_CONTEXT:
            self._alter(pdu, now)
        elif pdu.kind == PduType.AUTH3:
            self._authenticate(pdu)
        elif pdu.kind == PduType.CO_CANCEL:
            self._cancel(pdu, abandon=False)
        elif pdu.kind == PduType.ORPHANED:
            self._cancel(pdu, abandon=True)
        else:
            self._protocol_error(pdu)

    def _refuse_version(self, pdu: Pdu) -> None:
        """Only version 5.0 is spoken ([MS-RPCE] 3.3.1.5.1)."""
        if pdu.kind == PduType.BIND:
            self._nak(pdu, NakReason.PROTOCOL_VERSION_NOT_SUPPORTED)
        else:
            self._protocol_error(pdu)

    def _protocol_error(self, pdu: Pdu) -> None:
        """Answer what does not fit the protocol, and close ([MS-RPCE] 3.3.3.5.7)."""
        self._send_fault(pdu.call_id, 0, RpcStatus.PROTO_ERROR)
        self._refuse("protocol error")

    def _nak(self, pdu: Pdu, reason: NakReason) -> None:
        """Refuse a bind ([MS-RPCE] 2.2.2.9)."""
        body = encode_bind_nak(reason)
        self._wire.write(encode_pdu(PduType.BIND_NAK, WHOLE, pdu.call_id, body))
        self._refuse(f"bind: {reason.name.lower().replace('_', ' ')}")

    def _refuse(self, reason: str) -> None:
        """Count why, and close."""
        self._server.refuse(reason, self._wire.address)
        self._is_closed = True
        self._deadline = None
        self._wire.close()

    # Binding

    def _bind(self, pdu: Pdu) -> None:
        """Join or make an association, agree on contexts ([MS-RPCE] 3.3.1.5.6, 3.3.1.5.7)."""
        bind = Bind.read(pdu)
        if bind.max_recv_frag < FRAGMENT_SIZE_LEAST or bind.max_xmit_frag < FRAGMENT_SIZE_LEAST:
            self._nak(pdu, NakReason.NOT_SPECIFIED)
            return
        try:
            verifier = self._authentication.take(pdu)
        except AuthenticationFailed:
            self._nak(pdu, NakReason.INVALID_CHECKSUM)
            return
        except UnknownType:
            self._nak(pdu, NakReason.AUTHENTICATION_TYPE_NOT_RECOGNIZED)
            return
        association = self._server.associations.join(bind.group, self._wire.address)
        if association is None:
            self._nak(pdu, NakReason.LOCAL_LIMIT_EXCEEDED)
            return
        self._association = association
        self._fragment_size = min(bind.max_recv_frag, FRAGMENT_SIZE)
        self._header_sign = bool(pdu.flags & PduFlags.SUPPORT_HEADER_SIGN)
        results = self._agree(bind.contexts)
        self._acknowledge(PduType.BIND_ACK, pdu, results, verifier, str(self._port))

    def _alter(self, pdu: Pdu, now: float) -> None:
        """More contexts, or the next token ([MS-RPCE] 3.3.1.5.2.1); errors are faults."""
        bind = Bind.read(pdu)
        was_unfinished = self._authentication.is_unfinished
        try:
            verifier = self._authentication.take(pdu)
        except (AuthenticationFailed, UnknownType) as error:
            self._server.refuse("authentication", self._wire.address, str(error))
            self._send_fault(pdu.call_id, 0, RpcStatus.ACCESS_DENIED)
            return
        if self._authentication.is_unfinished and not was_unfinished:
            self._deadline = now + AUTHENTICATE_WITHIN
        results = self._agree(bind.contexts)
        self._acknowledge(PduType.ALTER_CONTEXT_RESP, pdu, results, verifier, "")

    def _authenticate(self, pdu: Pdu) -> None:
        """Take the last token; a failure shows with the first call ([MS-RPCE] 3.3.1.5.2.1)."""
        try:
            self._authentication.take(pdu)
        except (AuthenticationFailed, UnknownType) as error:
            self._server.refuse("authentication", self._wire.address, str(error))

    def _acknowledge(
        self,
        kind: PduType,
        pdu: Pdu,
        results: list[ContextResult],
        verifier: Verifier | None,
        address: str,
    ) -> None:
        assert self._association is not None
        group = self._association.group
        body = BindAck(FRAGMENT_SIZE, FRAGMENT_SIZE, group, address, tuple(results)).encode()
        flags = WHOLE | pdu.flags & (PduFlags.CONC_MPX | PduFlags.SUPPORT_HEADER_SIGN)
        self._wire.write(encode_pdu(kind, flags, pdu.call_id, body, verifier))

    def _agree(self, proposals: tuple[ContextElement, ...]) -> list[ContextResult]:
        """A result for each proposal, in their order ([MS-RPCE] 3.3.1.5.6)."""
        return [self._answer(proposal) for proposal in proposals]

    def _answer(self, proposal: ContextElement) -> ContextResult:
        """Accept NDR for a known interface; no feature is offered ([MS-RPCE] 3.3.1.5.3)."""
        if any(is_feature_element(syntax) for syntax in proposal.transfers):
            return ContextResult(ContextAnswer.NEGOTIATE_ACK, 0, NO_SYNTAX)
        asked = proposal.interface
        known = self._server.interfaces.get(asked.uuid)
        if known is None or known.syntax.major != asked.major or known.syntax.minor < asked.minor:
            return _rejection(RejectReason.ABSTRACT_SYNTAX_NOT_SUPPORTED)
        if NDR not in proposal.transfers:
            return _rejection(RejectReason.TRANSFER_SYNTAXES_NOT_SUPPORTED)
        if len(self._contexts) >= CONTEXTS_MAX and proposal.context_id not in self._contexts:
            return _rejection(RejectReason.LOCAL_LIMIT_EXCEEDED)
        self._contexts[proposal.context_id] = Bound(known, asked)
        return ContextResult(ContextAnswer.ACCEPTANCE, 0, NDR)

    # Calls

    def _request(self, pdu: Pdu) -> None:
        """Take a fragment of a request ([MS-RPCE] 3.3.3.5.2)."""
        request = RequestHeader.read(pdu)
        if self._authentication.has_failed or self._authentication.is_unfinished:
            self._refuse_call(pdu, request, RpcStatus.ACCESS_DENIED)
            return
        try:
            stub = self._authentication.channel.open(pdu, request.stub_offset)
        except AuthenticationFailed:
            self._send_fault(pdu.call_id, request.context_id, RpcStatus.ACCESS_DENIED)
            self._refuse("signature")
            return
        if pdu.is_first:
            if not self._start(pdu, request):
                return
        elif not self._continues(pdu, request):
            return
        assembly = self._assembly
        assert assembly is not None
        try:
            assembly.add(stub)
        except TooLarge:
            self._assembly = None
            self._server.refuse("request too large", self._wire.address)
            self._refuse_call(pdu, request, RpcStatus.ACCESS_DENIED)
            return
        if pdu.is_last:
            self._assembly = None
            self._dispatch(assembly, pdu, request)

    def _start(self, pdu: Pdu, request: RequestHeader) -> bool:
        """Whether the first fragment of a call is in order ([MS-RPCE] 3.3.3.5.2)."""
        if self._assembly is not None or pdu.call_id <= self._last_call:
            self._protocol_error(pdu)
            return False
        self._last_call = pdu.call_id
        if len(self._calls) >= CALLS_MAX:
            self._refuse_call(pdu, request, RpcStatus.SERVER_TOO_BUSY)
            return False
        if request.context_id not in self._contexts:
            self._refuse_call(pdu, request, RpcStatus.INVALID_PRES_CONTEXT_ID)
            return False
        ids = pdu.call_id, request.context_id, request.opnum
        most = self._contexts[request.context_id].interface.request_max
        self._assembly = Assembly(*ids, most)
        return True

    def _continues(self, pdu: Pdu, request: RequestHeader) -> bool:
        """Whether a further fragment is in order ([MS-RPCE] 3.3.3.5.2, 3.3.3.5.6)."""
        found = self._assembly
        ids = pdu.call_id, request.context_id, request.opnum
        if found is not None and ids == (found.call_id, found.context_id, found.opnum):
            return True
        if pdu.call_id == self._skipped:
            return False
        if found is not None or not 0 <= self._last_call - pdu.call_id < STRAY_CALLS:
            self._protocol_error(pdu)
        return False

    def _refuse_call(self, pdu: Pdu, request: RequestHeader, status: RpcStatus) -> None:
        """Answer a call before all of it has come; the rest is not looked at."""
        if pdu.call_id != self._skipped:
            self._skipped = pdu.call_id
            self._last_call = max(self._last_call, pdu.call_id)
            self._send_fault(pdu.call_id, request.context_id, status)

    def _dispatch(self, assembly: Assembly, pdu: Pdu, request: RequestHeader) -> None:
        """Have a complete request handled."""
        call_id, context_id = assembly.call_id, assembly.context_id
        bound = self._contexts[context_id]
        try:
            call = self._call(bound, assembly, pdu.order, request)
        except RpcFault as fault:
            self._send_fault(call_id, context_id, fault.status)
            return
        self._calls[call_id] = call
        try:
            bound.interface.methods[assembly.opnum].handle(call)
        except RpcFault as fault:
            call.fault(fault.status)

    def _call(
        self, bound: Bound, assembly: Assembly, order: Order, request: RequestHeader
    ) -> RpcCall:
        """The call that a request makes, if it may be made; else a `RpcFault`.

        ([MS-MQRR] 3.1.4, [MS-MQMP] 3.1.4)
        """
        assert self._association is not None
        method = bound.interface.methods.get(assembly.opnum)
        if method is None:
            raise RpcFault(RpcStatus.OP_RNG_ERROR)
        channel, least = self._authentication.channel, self._server.least_level(self._wire.address)
        if method.needs_authentication and channel.level < least:
            self._server.refuse("authentication level", self._wire.address, f"{channel.level:d}")
            raise RpcFault(RpcStatus.ACCESS_DENIED)
        stub = assembly.stub()
        reader = NdrReader(stub, order)
        try:
            arguments = method.arguments.decode_from(reader)
        except Malformed:
            raise RpcFault(RpcStatus.BAD_STUB_DATA) from None
        ids = assembly.call_id, assembly.context_id, assembly.opnum
        expected = ExpectedTrailer(bound.offered, NDR, *ids, self._header_sign)
        check_trailer(stub, reader.offset, order, expected)
        principal = channel.context.principal if channel.context else ""
        return RpcCall(
            arguments,
            self._association,
            RpcClient(principal, channel.level, self._wire.address),
            lambda results: self._respond(ids[0], ids[1], results),
            lambda status: self._end_with_fault(ids[0], ids[1], status),
            request.object_uuid,
        )

    def _cancel(self, pdu: Pdu, *, abandon: bool) -> None:
        """End a call early, if it has not ended ([MS-RPCE] 3.3.1.5.10)."""
        if abandon and self._assembly is not None and self._assembly.call_id == pdu.call_id:
            self._assembly = None
            self._skipped = pdu.call_id
        if abandon:
            call = self._calls.pop(pdu.call_id, None)
            if call is not None:
                call.abandon()
        elif pdu.call_id in self._calls:
            self._calls[pdu.call_id].cancel()

    # Answers

    def _respond(self, call_id: int, context_id: int, stub: bytes) -> None:
        self._calls.pop(call_id, None)
        if not self._is_closed:
            channel, size = self._authentication.channel, self._fragment_size
            kind = PduType.RESPONSE
            if self._wire.write_buffer_full:
                self._unread += len(stub)
                if self._unread > UNREAD_MAX:
                    self._refuse("does not read")
                    return
            for fragment in channel.fragments(kind, call_id, context_id, 0, stub, size):
                self._wire.write(fragment)

    def _end_with_fault(self, call_id: int, context_id: int, status: int) -> None:
        self._calls.pop(call_id, None)
        if not self._is_closed:
            self._send_fault(call_id, context_id, status)

    def _send_fault(self, call_id: int, context_id: int, status: int) -> None:
        """A fault without stub data and without a verifier ([MS-RPCE] 2.2.2.8, 3.3.3.5.1)."""
        if status in UNSENDABLE:
            status = RpcStatus.ACCESS_DENIED
        body = encode_fault(context_id, status)
        self._wire.write(encode_pdu(PduType.FAULT, WHOLE, call_id, body))


def _rejection(reason: RejectReason) -> ContextResult:
    return ContextResult(ContextAnswer.PROVIDER_REJECTION, reason, NO_SYNTAX)
