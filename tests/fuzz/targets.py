"""What is fuzzed: each target takes any bytes and raises only if a promise is broken.

The promise of every decoder: a value or the documented error, nothing else; and what decodes
encodes to the same bytes, so that nothing beyond them was read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from itertools import cycle
from uuid import UUID

from openmsmq.app_protocol.calls import Call, Closing, Hello, Welcome, decode_error, encode_error
from openmsmq.app_protocol.frames import FROM_CLIENT, Frame, Framer, encode_frame
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.payloads import (
    Cancel,
    Credit,
    End,
    Fetch,
    Messages,
    Post,
    Posted,
    ReadRequest,
    Send,
    Sent,
    Subscribe,
)
from openmsmq.bodies.decode import decode_body
from openmsmq.bodies.headers import decode_headers
from openmsmq.capture.capture import read_frames
from openmsmq.capture.packets import captured_packets
from openmsmq.engine.messages.stamp import Destination, check_for_sending
from openmsmq.engine.messages.stamper import Stamper
from openmsmq.engine.queues.ownership import with_owner
from openmsmq.errors import (
    FailVerifySignatureEx,
    IllegalFormatName,
    IllegalQueuePathName,
    IllegalSecurityDescriptor,
    InvalidParameter,
    Malformed,
)
from openmsmq.names.format import PublicName, parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection, SessionAck
from openmsmq.packet.describe import describe
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.message import StoredMessage, UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.structures import decode_addresses
from openmsmq.security.access import QueueRights
from openmsmq.security.access_check import check_access
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.keys import (
    DirectoryPublicKeys,
    PublicKeyBlob,
    SimpleBlob,
    UserCertificates,
)
from openmsmq.security.permissions import normal_permissions
from openmsmq.security.principals import (
    ADMIN_TOKEN,
    ANONYMOUS_TOKEN,
    EVERYONE_TOKEN,
    format_principal,
    parse_principal,
)
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import Sid
from openmsmq.soap.compound import compound_packet
from openmsmq.soap.elements import plain_element
from openmsmq.soap.envelope import Envelope
from openmsmq.soap.kept import keep, kept_envelope
from openmsmq.soap.mime import join_content, split_content
from openmsmq.soap.packets import (
    content_as_it_came,
    from_packet,
    read_message,
    to_packet,
    write_message,
)
from openmsmq.soap.reader import read_entries
from openmsmq.soap.similar import read_similar
from openmsmq.soap.tree import envelope_text, parsed_element
from openmsmq.transports.mqqb.events import Arrived, Closed, Event, Outgoing
from openmsmq.transports.mqqb.session import Session
from openmsmq.types.pack import IN_TRANSACTION
from openmsmq.wire.reader import decode_whole
from tests.fuzz.console_targets import CONSOLE_TARGETS
from tests.fuzz.directory_targets import DIRECTORY_TARGETS
from tests.fuzz.pgm_targets import PGM_TARGETS
from tests.samples import one_by_one

MANAGER = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
PEER = UUID("11111111-2222-4333-8444-555566667777")
REQUEST, ANSWER = (
    EstablishConnection(EstablishConnectionHeader(*managers, 0)).encode()
    for managers in ((PEER, MANAGER), (MANAGER, PEER))
)
CONTENT_TYPES = ("text/xml", 'multipart/related; boundary="MSMQ - SOAP boundary, 7"; type=text/xml')
PARAMETERS = ConnectionParameters(ConnectionParametersHeader(500, 20_000)).encode()
ACK = SessionAck(SessionHeader()).encode()


def packet(data: bytes) -> None:
    """One packet: decoded, encoded again, and seen through the view."""
    decoded = view = None
    with suppress(Malformed):
        decoded = decode_packet(data)
        assert decoded.encode() == data
    with suppress(Malformed):
        view = PacketView.parse(data)
    assert (view is not None) == isinstance(decoded, UserMessage)
    if view is not None and isinstance(decoded, UserMessage):
        assert view.body == decoded.properties.body
        assert view.label == decoded.properties.label
        with suppress(IllegalFormatName):
            assert view.destination == decoded.user.destination_name()
        with suppress(IllegalFormatName):
            assert view.response_queue == decoded.user.response_name()


def stored(data: bytes) -> None:
    """A stored message with its trailer."""
    with suppress(Malformed):
        assert decode_whole(data, StoredMessage.read).encode() == data


def stream(data: bytes) -> None:
    """A stream, in one piece and in two: the same packets, the same end."""
    cut = data[0] if data else 0
    assert _framed([data]) == _framed([data[:cut], data[cut:]])
    for description in describe(data):
        assert description.fields or description.error is not None


def pieces(data: bytes) -> None:
    """A stream cut where its first eight bytes say, again and again; its packets decode or not."""
    sizes, rest = [size + 1 for size in data[:8]], data[8:]
    chunks: list[bytes] = []
    for size in cycle(sizes):
        if not rest:
            break
        chunks.append(rest[:size])
        rest = rest[size:]
    found = _framed(chunks)
    assert found == _framed([data[8:]])
    assert data[8:].startswith(b"".join(found[0]))
    for whole in found[0]:
        packet(whole)


def _framed(chunks: list[bytes]) -> tuple[list[bytes], bool]:
    framer = PacketFramer()
    found: list[bytes] = []
    try:
        for chunk in chunks:
            framer.receive_data(chunk)
            found.extend(framer.packets())
    except Malformed:
        return found, True
    return found, False


def capture(data: bytes) -> None:
    """A capture file, in one piece and in two: the same packets, the same end."""
    cut = data[-1] if data else 0
    assert _captured([data]) == _captured([data[:cut], data[cut:]])


def _captured(chunks: list[bytes]) -> list[str]:
    """What is found, in words: errors are never equal."""
    found: list[str] = []
    try:
        for packet in captured_packets(read_frames(chunks)):
            found.append(repr(packet))
            assert packet.description.fields or packet.description.error is not None
    except Malformed as error:
        found.append(str(error))
    return found


def name(data: bytes) -> None:
    """Names as text: a name that prints as itself, or the documented error."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(IllegalFormatName):
        parsed = parse_format_name(text)
        assert parse_format_name(str(parsed)) == parsed
    with suppress(IllegalFormatName, IllegalQueuePathName):
        typed = parse_name(text)
        assert parse_name(str(typed)) == typed


def body(data: bytes) -> None:
    """Any body with any type: decoded, or bytes with a reason."""
    body_type = int.from_bytes(data[:2], "little")
    for declared in (0, 0x300, body_type):
        found = decode_body(data[2:], declared)
        if found.text is not None:
            found.text.encode()
    decode_headers(data)


def security(data: bytes) -> None:
    """Key blobs, certificates, SIDs and addresses."""
    for kind in (PublicKeyBlob, SimpleBlob, DirectoryPublicKeys, UserCertificates, Sid):
        with suppress(Malformed):
            assert kind.decode(data).encode() == data
    with suppress(Malformed):
        decode_addresses(data)


def permissions(data: bytes) -> None:
    """Descriptors in bytes and in words: both forms mean the same, and an access check ends."""
    with suppress(Malformed):
        found = SecurityDescriptor.decode(data)
        _check_access(found)
        with suppress(IllegalSecurityDescriptor):  # entries that have no words
            assert check_same(found, parse_sddl(format_sddl(found)))
    text = data.decode(errors="surrogateescape")
    with suppress(IllegalSecurityDescriptor):
        parsed = parse_sddl(text)
        words = format_sddl(parsed)
        assert format_sddl(parse_sddl(words)) == words
        _check_access(parsed)
        with suppress(IllegalSecurityDescriptor):  # more than the bytes can hold
            _check_access(SecurityDescriptor.decode(parsed.encode()))
        kept = normal_permissions(text, QueueRights)
        assert normal_permissions(kept, QueueRights) == kept
        with_owner(kept, "O:BA")
    with suppress(InvalidParameter):
        format_principal(parse_principal(text))


def check_same(first: SecurityDescriptor, second: SecurityDescriptor) -> bool:
    """Whether both grant the same."""
    return all(
        check_access(first, token, 1 << bit).is_granted
        == check_access(second, token, 1 << bit).is_granted
        for token in (ANONYMOUS_TOKEN, ADMIN_TOKEN)
        for bit in range(20)
    )


def _check_access(descriptor: SecurityDescriptor) -> None:
    for token in (ANONYMOUS_TOKEN, EVERYONE_TOKEN, ADMIN_TOKEN):
        granted = check_access(descriptor, token, 0xF003F)
        assert granted.is_granted is not bool(granted.missing)


def frames(data: bytes) -> None:
    """A connection of a program, in one piece and in two: the same frames, the same end."""
    cut = data[0] if data else 0
    whole = _taken([data])
    assert whole == _taken([data[:cut], data[cut:]])
    written = b"".join(encode_frame(*frame) for frame in whole[0])
    assert data.startswith(written)


def _taken(chunks: list[bytes]) -> tuple[list[Frame], str]:
    framer = Framer(FROM_CLIENT, limit=1024)
    found: list[Frame] = []
    try:
        for chunk in chunks:
            framer.receive_data(chunk)
            found.extend(iter(framer.next_frame, None))
    except Malformed as error:
        return found, str(error)
    return found, ""


def payloads(data: bytes) -> None:
    """Payloads of every kind; those in JSON may be written otherwise, and mean the same."""
    kinds = (Send, Sent, Post, Posted, ReadRequest, Messages, End, Subscribe, Credit, Cancel, Fetch)
    for kind in kinds:
        with suppress(Malformed):
            assert kind.decode(data).encode() == data
    for written in (Hello, Welcome, Call, Closing, Members):
        with suppress(Malformed):
            found = written.decode(data)
            assert written.decode(found.encode()) == found
    with suppress(Malformed):
        error = decode_error(data)
        assert str(decode_error(encode_error(error))) == str(error)


def sending(data: bytes) -> None:
    """Packets of programs: refused, or made into packets that others can read."""
    cut = 2 * data[0] if data else 0
    destination = Destination.of(PublicName(MANAGER), manager=MANAGER)
    stamper = Stamper(MANAGER, destination, headers=IN_TRANSACTION)
    for packet in (data[1:], data[1:cut], data[cut:]):
        before = None
        with suppress(Malformed):
            before = check_for_sending(packet)
        try:
            (found,) = stamper.stamp([packet], first_id=1, sent_time=1)
        except FailVerifySignatureEx:
            assert before is not None
            continue
        except Malformed:
            assert before is None
            continue
        assert before is not None
        after = decode_packet(found.packets[0])
        assert isinstance(after, UserMessage)
        assert not after.surplus
        assert (after.properties.body, after.properties.label) == (before.body, before.label)


def session(data: bytes) -> None:
    """A session that another speaks to, from the first byte on or later: it goes on or ends.

    In one piece and in two it does the same; it keeps no more than what came, and says no more
    than the answers to it.
    """
    start, cut = (data[0], 16 * data[1]) if len(data) > 1 else (0, 0)
    rest = data[2:]
    whole = _spoken_to(start, [rest])
    assert whole == _spoken_to(start, [rest[:cut], rest[cut:]])


def _spoken_to(start: int, chunks: list[bytes]) -> tuple[list[Event], bytes]:
    is_initiator = bool(start & 4)
    made = Session(MANAGER, now=0, is_initiator=is_initiator)
    for greeting in (ANSWER if is_initiator else REQUEST, PARAMETERS)[: start & 3]:
        made.receive_data(greeting, 0)
    if made.is_open:
        made.send([Outgoing(b"\x10\0\x03\0", n, bool(n % 2)) for n in range(40)], 0)
    made.data_to_send()
    for chunk in chunks:
        made.receive_data(chunk, 0)
    assert made.pending <= sum(map(len, chunks))
    events = one_by_one(made.take_events())
    arrived = [event.number for event in events if isinstance(event, Arrived)]
    made.stored(max(arrived, default=0), 1)
    said = made.data_to_send()
    assert len(said) <= len(ANSWER + PARAMETERS) + len(arrived) * len(ACK)
    for _ in range(5):
        if (at := made.next_deadline) is not None:
            made.tick(at)
    ends = [isinstance(event, Closed) for event in events + made.take_events()]
    assert sum(ends) == made.is_over
    assert not any(ends[:-1]), "nothing happens after the end"
    return events, said


def soap(data: bytes) -> None:
    """The content of a request, alone or with attachments: malformed, or a message.

    What was read is kept whole, its packet can be read by others, and what is sent for the packet
    can be read again. What is read without a parser is read alike by one, and what is similar to an
    envelope that was read before as if it were the first.
    """
    kind = CONTENT_TYPES[data[0] & 1] if data else CONTENT_TYPES[0]
    with suppress(Malformed):
        content = split_content(kind, data[1:])
        text = envelope_text(content.envelope)
        quick = plain_element(text)
        assert quick is None or quick == parsed_element(text)
        whole = _outcome(lambda: _read_whole(text))
        assert _outcome(lambda: read_similar(text)) == whole
        assert _outcome(lambda: read_similar(text)) == whole, "it is like itself"
        came = read_message(content)
        assert came.kept is not None
        assert kept_envelope(came.kept) == came.envelope
        view = PacketView.parse(to_packet(came, arrived=1))
        assert (view.body, view.extension) == (came.body, came.extension)
        if (compound := compound_packet(view.data)) is not None:
            header = PacketView.parse(compound).message().compound
            assert header is not None
            assert header.body == came.body
        passed = content_as_it_came(view)
        assert passed is not None
        assert read_message(passed).envelope == came.envelope
        sent = from_packet(view, receipts_to="http://me/msmq/private$/order_queue$")
        again = read_message(split_content(*join_content(write_message(sent), MANAGER, 7)))
        assert again.envelope == sent.envelope


def _read_whole(text: str) -> tuple[Envelope, SoapHeader]:
    root = plain_element(text) or parsed_element(text)
    return read_entries(root, text), keep(root, text)


def _outcome(read: Callable[[], tuple[Envelope, SoapHeader]]) -> tuple[Envelope, SoapHeader] | None:
    with suppress(Malformed):
        return read()
    return None


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        packet,
        stored,
        stream,
        pieces,
        capture,
        name,
        body,
        security,
        permissions,
        frames,
        payloads,
        sending,
        session,
        soap,
    )
}
TARGETS |= PGM_TARGETS | CONSOLE_TARGETS | DIRECTORY_TARGETS
if find_spec("cryptography") is not None:  # the extras `rpc` and `security`
    from tests.fuzz.interface_targets import INTERFACE_TARGETS
    from tests.fuzz.rpc_targets import RPC_TARGETS
    from tests.fuzz.security_targets import SECURITY_TARGETS

    TARGETS |= RPC_TARGETS | INTERFACE_TARGETS | SECURITY_TARGETS
