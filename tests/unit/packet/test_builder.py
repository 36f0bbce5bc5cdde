"""Messages written as packets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.samples import (
    DEBUG,
    DIRECT,
    MULTI_QUEUE,
    ON_TARGET,
    OTHER,
    PUBLIC,
    SECURITY,
    SENT,
    SOAP,
    SOURCE,
    STORED,
    TARGET,
    TRANSACTION,
)
from tests.unit.packet.headers import mapped

from openmsmq.errors import (
    IllegalFormatName,
    IllegalPropertyValue,
    InsufficientResources,
    LabelTooLong,
    MessageTooLarge,
    MQError,
)
from openmsmq.names.base import FormatName
from openmsmq.names.format import parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement
from openmsmq.names.reference import ReferenceCode
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, encode_provider
from openmsmq.packet.headers.transaction import TransactionHeader, TxSequenceID
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView

BUILDER = PacketBuilder(SOURCE, DIRECT)
ON_SOURCE = parse_format_name(f"PRIVATE={SOURCE}\\0000000d")
ELSEWHERE = parse_format_name(f"PRIVATE={OTHER}\\0000000e")
ALSO_ELSEWHERE = parse_format_name(f"PRIVATE={OTHER}\\0000000f")


def build(**arguments: Any) -> PacketView:
    """A message that passed the check for bytes from outside."""
    return PacketView.parse(BUILDER.build(**arguments))


def message(**arguments: Any) -> UserMessage:
    return build(**arguments).message()


def test_the_worked_message_is_built() -> None:
    """MQQB-005, MQQB-012, MQQB-014, MQQB-043, MQQB-044, MQQB-055: byte for byte."""
    source = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    built = PacketBuilder(source, DIRECT).build(
        b"hello",
        label="L",
        recoverable=False,
        message_id=0x1001,
        sent_time=SENT,
        time_to_reach_queue=0x65054600,
        headers=OptionalHeaders(hash_algorithm=0x800E, encryption_algorithm=0x6610),
    )
    # A message that is not stored has no address laid over QueueManagerAddress.
    assert built == STORED[:0x20] + bytes(16) + STORED[0x30:0xBC]


def test_what_is_not_said_is_left_at_its_default() -> None:
    """MQQB-017, MQQB-021, MQQB-048, MQQB-060, MQQB-061, MQQB-062, MQQB-076."""
    built = message()
    assert built.base.flags == 3
    assert built.user.flags == UserFlags.MP | 1 << 5 | 7 << 10
    assert built.base.time_to_reach_queue == built.user.time_to_be_received == 0xFFFFFFFF
    assert built.properties.pack() == bytes(56)
    assert built.user.source_queue_manager == SOURCE
    assert (built.user.sent_time, built.user.message_id) == (0, 0)


@pytest.mark.parametrize(
    ("argument", "attribute", "value"),
    [
        ("body", "body", b"some bytes"),
        ("label", "label", "Grüße"),
        ("priority", "priority", 0),
        ("priority", "priority", 7),
        ("recoverable", "recoverable", False),
        ("recoverable", "recoverable", True),
        ("journal", "journal", True),
        ("dead_letter", "dead_letter", True),
        ("trace", "trace", True),
        ("message_id", "message_id", 0xFFFFFFFF),
        ("sent_time", "sent_time", 0x65000000),
        ("time_to_reach_queue", "time_to_reach_queue", 7),
        ("time_to_be_received", "time_to_be_received", 8),
        ("acknowledge", "acknowledge", 0x0F),
        ("message_class", "message_class", 0xC004),
        ("correlation_id", "correlation_id", bytes(range(20))),
        ("body_type", "body_type", 0x300),
        ("app_specific", "app_specific", 9),
        ("extension", "extension", b"<headers/>"),
    ],
)
def test_every_argument_has_its_place(argument: str, attribute: str, value: object) -> None:
    """MQQB-019, MQQB-063 to MQQB-068: and changes nothing else."""
    built = build(**{argument: value})
    assert getattr(built, attribute) == value
    assert built.body == (value if argument == "body" else b"")
    assert built.extension == (value if argument == "extension" else b"")
    assert built.label == (value if argument == "label" else "")
    assert built.journal == (argument == "journal")
    assert built.dead_letter == (argument == "dead_letter")


@pytest.mark.parametrize("size", range(9))
def test_a_packet_is_padded_and_says_its_size(size: int) -> None:
    """MQQB-005, MQQB-009, MQQB-068 to MQQB-070, DMPR-370."""
    built = message(body=b"b" * size, label="L", extension=b"e")
    assert built.base.packet_size == len(built.encode())
    assert built.base.packet_size % 4 == 0
    assert built.properties.message_size == built.properties.allocation_body_size == size
    assert built.properties.padding == bytes(-(size + 1) % 4)
    assert built.surplus == b""


def test_a_direct_destination_has_no_queue_manager() -> None:
    """MQQB-043."""
    assert build().queue_manager_address == NO_GUID
    assert build().destination == DIRECT


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        (None, ReferenceCode.NONE),
        (PUBLIC, ReferenceCode.PUBLIC),
        (ON_TARGET, ReferenceCode.PRIVATE_ON_DESTINATION),
    ],
)
def test_other_destinations_name_their_queue_manager(
    destination: FormatName | None, code: ReferenceCode
) -> None:
    """MQQB-043, MQQB-049."""
    builder = PacketBuilder(SOURCE, destination, destination_manager=TARGET)
    built = PacketView.parse(builder.build())
    assert built.queue_manager_address == TARGET
    assert built.user.destination.code == code
    assert built.destination == destination


@pytest.mark.parametrize(
    ("admin", "response", "codes"),
    [
        (None, None, (0, 0)),
        (DIRECT, DIRECT, (7, 1)),
        (ON_SOURCE, ON_TARGET, (2, 3)),
        (ON_TARGET, ON_SOURCE, (3, 2)),
        (PUBLIC, DIRECT, (5, 7)),
        (ELSEWHERE, ALSO_ELSEWHERE, (6, 4)),
        (None, ELSEWHERE, (0, 6)),
        (None, PUBLIC, (0, 5)),
    ],
)
def test_queues_for_replies_take_the_shortest_form(
    admin: FormatName | None, response: FormatName | None, codes: tuple[int, int]
) -> None:
    """MQQB-050 to MQQB-053."""
    builder = PacketBuilder(
        SOURCE, ON_TARGET, destination_manager=TARGET, admin=admin, response=response
    )
    built = PacketView.parse(builder.build(b"x"))
    assert (built.user.admin.code, built.user.response.code) == codes
    assert (built.admin_queue, built.response_queue) == (admin, response)


def test_a_name_no_message_can_carry_is_refused() -> None:
    with pytest.raises(IllegalFormatName):
        PacketBuilder(SOURCE, ON_TARGET, admin=parse_format_name("MULTICAST=224.0.0.1:80"))


@pytest.mark.parametrize(
    ("headers", "flag"),
    [
        (OptionalHeaders(connector_type=OTHER), UserFlags.CQ),
        (OptionalHeaders(transaction=TRANSACTION), UserFlags.TH),
        (OptionalHeaders(security=SECURITY), UserFlags.SH),
        (OptionalHeaders(soap=SOAP), UserFlags.HH),
        (OptionalHeaders(multi_queue=MULTI_QUEUE), UserFlags.MQ),
        (OptionalHeaders(debug=DEBUG), 0),
        (OptionalHeaders(privacy_level=5), 0),
    ],
)
def test_a_header_is_announced_exactly_when_it_is_there(
    headers: OptionalHeaders, flag: int
) -> None:
    """MQQB-023, MQQB-058 to MQQB-060, DMPR-354, DMPR-358."""
    built = message(body=b"body", label="label", headers=headers)
    announced = UserFlags.CQ | UserFlags.TH | UserFlags.SH | UserFlags.HH | UserFlags.MQ
    assert built.user.flags & (announced | UserFlags.AH) == flag
    assert bool(built.base.flags & BaseFlags.DH) == (headers.debug is not None)
    assert built.user.connector_type == headers.connector_type
    assert built.transaction == headers.transaction
    assert built.debug == headers.debug
    assert (built.security is None) == (headers.security is None)
    assert (built.soap is None) == (headers.soap is None)
    assert (built.multi_queue is None) == (headers.multi_queue is None)
    assert built.properties.body == b"body"


def test_all_headers_fit_into_one_message() -> None:
    """MQQB-005, MQQB-009: the packet is padded to 4 after the signature (AMB-9)."""
    headers = OptionalHeaders(OTHER, TRANSACTION, SECURITY, DEBUG, SOAP, MULTI_QUEUE, 3, 4, 5)
    built = message(body=b"odd", headers=headers)
    assert built.security is not None
    assert built.security.encode() == SECURITY.as_sent(encrypted=True).encode()
    assert built.soap is not None
    assert (built.soap.header, built.soap.body) == (SOAP.header, SOAP.body)
    assert built.multi_queue is not None
    assert built.multi_queue.encode() == MULTI_QUEUE.encode()
    found = built.properties
    assert (found.privacy_level, found.hash_algorithm, found.encryption_algorithm) == (3, 4, 5)
    assert built.surplus == bytes(-len(MULTI_QUEUE.encode()) % 4) != b""
    assert built.base.packet_size == len(built.encode())
    assert built.base.packet_size % 4 == 0


def test_a_transactional_message_is_recoverable_with_priority_0() -> None:
    """MQQB-019, MQQB-047."""
    headers = OptionalHeaders(transaction=TRANSACTION)
    built = build(priority=7, recoverable=False, headers=headers)
    assert built.transactional
    assert built.recoverable
    assert built.priority == 0


@pytest.mark.parametrize("recoverable", [False, True])
def test_the_delivery_mode_is_0_or_1(recoverable: bool) -> None:
    """MQQB-047."""
    for headers in (OptionalHeaders(), OptionalHeaders(transaction=TRANSACTION)):
        built = build(recoverable=recoverable, headers=headers)
        assert UserFlags.split(built.flags)["DM"] in (0, 1)


def test_a_traced_message_has_a_debug_header() -> None:
    """MQQB-023, MQQB-024."""
    built = message(trace=True, priority=5)
    assert built.base.flags == BaseFlags.TR | BaseFlags.DH | 5
    assert built.debug == DebugHeader()


def test_tracing_keeps_the_report_queue_that_is_given() -> None:
    """MQQB-024, MQQB-085."""
    assert message(trace=True, headers=OptionalHeaders(debug=DEBUG)).debug == DEBUG


def test_tracing_keeps_the_other_headers() -> None:
    """MQQB-024."""
    built = message(trace=True, headers=OptionalHeaders(connector_type=OTHER))
    assert built.user.connector_type == OTHER
    assert built.debug == DebugHeader()


@pytest.mark.parametrize("priority", [-1, 8, 256])
def test_a_priority_outside_0_to_7_is_refused(priority: int) -> None:
    """MQQB-019."""
    with pytest.raises(IllegalPropertyValue, match=f"priority {priority}"):
        build(priority=priority)


@pytest.mark.parametrize("size", [0, 19, 21])
def test_a_correlation_id_has_20_bytes(size: int) -> None:
    """MQQB-066."""
    with pytest.raises(IllegalPropertyValue, match="20 bytes"):
        build(correlation_id=bytes(size))


@pytest.mark.parametrize(
    "arguments",
    [
        {"message_id": 1 << 32},
        {"message_id": -1},
        {"sent_time": 1 << 32},
        {"time_to_reach_queue": -1},
        {"time_to_be_received": 1 << 32},
        {"acknowledge": 256},
        {"message_class": 0x10000},
        {"body_type": 1 << 32},
        {"app_specific": -1},
        {"headers": OptionalHeaders(hash_algorithm=-1)},
    ],
)
def test_a_number_that_does_not_fit_its_field_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(IllegalPropertyValue, match="does not fit"):
        build(**arguments)


@pytest.mark.parametrize("label", ["x" * 249, "\N{GRINNING FACE}" * 124])
def test_the_longest_labels_fit(label: str) -> None:
    """MQQB-063, MQQB-064."""
    assert build(label=label).label == label


@pytest.mark.parametrize("label", ["x" * 250, "\N{GRINNING FACE}" * 125])
def test_a_longer_label_is_refused(label: str) -> None:
    """MQQB-064: counted in UTF-16 units."""
    with pytest.raises(LabelTooLong, match="250 characters"):
        build(label=label)


def test_the_largest_packet_is_built_and_no_larger_one() -> None:
    """MQQB-008."""
    room = 0x400000 - len(BUILDER.build())
    assert build(body=bytes(room)).packet_size == 0x400000
    for arguments in (
        {"body": bytes(room + 1)},
        {"body": bytes(room), "extension": b"e"},
        {"body": bytes(room), "trace": True},
    ):
        with pytest.raises(MessageTooLarge, match="a packet holds 4194304"):
            build(**arguments)


def test_mistakes_of_a_caller_are_errors_of_message_queuing() -> None:
    assert issubclass(IllegalPropertyValue, MQError)
    assert issubclass(MessageTooLarge, InsufficientResources)
    assert issubclass(LabelTooLong, MQError)


def test_a_builder_serves_many_messages() -> None:
    first = BUILDER.build(b"1", headers=OptionalHeaders(security=SECURITY))
    second = BUILDER.build(b"2")
    assert PacketView.parse(second).body == b"2"
    assert PacketView.parse(second).security is None
    assert PacketView.parse(first).security is not None
    assert decode_packet(first) != decode_packet(second)


def test_headers_that_say_nothing_change_nothing() -> None:
    built = BUILDER.build(b"x", headers=replace(OptionalHeaders(), privacy_level=0))
    assert built == BUILDER.build(b"x")


def everything(**headers: Any) -> bytes:
    """The message of `mapped`, built; `headers` are other optional headers than its own."""
    multi_queue = MultiQueueFormatHeader.make(
        tuple(map(MQFFormatNameElement.of, mapped.MANY)),
        (MQFFormatNameElement.of(mapped.ADMIN_NAME),),
        (MQFFormatNameElement.of(mapped.DESTINATION_NAME),),
        mapped.MULTI_SIGNATURE,
    )
    own: dict[str, Any] = {
        "connector_type": mapped.CONNECTOR,
        "transaction": TransactionHeader(
            0x0F | 0x54321 << 4, TxSequenceID(7, 0x64000000), 5, 4, mapped.CONNECTOR_MANAGER
        ),
        "security": SecurityHeader.make(
            1,
            security_id=mapped.SID,
            encryption_key=mapped.KEY,
            signature=mapped.SIGNATURE,
            sender_cert=mapped.CERTIFICATE,
            provider_info=encode_provider(mapped.PROVIDER_TYPE, mapped.PROVIDER_NAME),
        ),
        "debug": DebugHeader(1, 0, mapped.REPORTS),
        "multi_queue": multi_queue,
        "privacy_level": 5,
        "hash_algorithm": 0x800C,
        "encryption_algorithm": 0x6610,
    }
    builder = PacketBuilder(
        mapped.SOURCE,
        mapped.DESTINATION_NAME,
        destination_manager=mapped.TARGET,
        admin=mapped.ADMIN_NAME,
        response=mapped.RESPONSE_NAME,
    )
    return builder.build(
        mapped.BODY,
        mapped.LABEL,
        priority=6,
        journal=True,
        dead_letter=True,
        trace=True,
        message_id=0x1001,
        sent_time=0x65000000,
        time_to_reach_queue=3600,
        time_to_be_received=600,
        acknowledge=0x0E,
        message_class=0x8002,
        correlation_id=mapped.CORRELATION,
        body_type=0x1008,
        app_specific=0x12345678,
        extension=mapped.EXTENSION,
        headers=OptionalHeaders(**own | headers),
    )


def test_every_field_is_written_from_its_attribute() -> None:
    """DMPR-353, DMPR-363, DMPR-364, DMPR-370: byte for byte what was laid out by hand.

    With a transaction, priority 6 is written as 0.
    """
    assert everything() == mapped.everything()
    assert everything(transaction=None) == mapped.everything(in_transaction=False, priority=6)


def test_what_is_written_is_read_again() -> None:
    """DMPR-371."""
    found = PacketView.parse(everything())
    built = found.message()
    assert built.transaction is not None
    assert built.security is not None
    assert built.multi_queue is not None
    assert found.destination == mapped.DESTINATION_NAME
    assert found.admin_queue == mapped.ADMIN_NAME
    assert found.response_queue == mapped.RESPONSE_NAME
    headers = OptionalHeaders(
        connector_type=built.user.connector_type,
        transaction=built.transaction,
        security=built.security,
        debug=built.debug,
        multi_queue=built.multi_queue,
        privacy_level=built.properties.privacy_level,
        hash_algorithm=built.properties.hash_algorithm,
        encryption_algorithm=built.properties.encryption_algorithm,
    )
    again = PacketBuilder(
        found.source_queue_manager,
        found.destination,
        destination_manager=found.queue_manager_address,
        admin=found.admin_queue,
        response=found.response_queue,
    ).build(
        found.body,
        found.label,
        found.priority,
        found.recoverable,
        found.journal,
        found.dead_letter,
        found.trace,
        found.message_id,
        found.sent_time,
        found.time_to_reach_queue,
        found.time_to_be_received,
        found.acknowledge,
        found.message_class,
        found.correlation_id,
        found.body_type,
        found.app_specific,
        found.extension,
        headers,
    )
    assert again == found.data


@pytest.mark.parametrize(
    ("security", "privacy"),
    [
        pytest.param(SecurityHeader.make(0, signature=b"signature"), 0, id="signed"),
        pytest.param(SecurityHeader.make(0, encryption_key=b"key"), 3, id="encrypted"),
        pytest.param(SecurityHeader.make(1, security_id=mapped.SID), 0, id="sender"),
    ],
)
def test_security_has_its_header(security: SecurityHeader, privacy: int) -> None:
    """DMPR-355, DMPR-366: whichever part of it is asked for (A-45)."""
    built = message(headers=OptionalHeaders(security=security, privacy_level=privacy))
    assert built.user.flags & UserFlags.SH
    assert built.security is not None
    assert bool(built.security.flags & SecurityFlags.EB) == bool(privacy)
    assert not message().user.flags & UserFlags.SH
    assert message().security is None


@pytest.mark.parametrize(
    "arguments",
    [{}, {"label": "x"}, {"body": b"x"}, {"extension": b"x"}, {"app_specific": 1}],
    ids=lambda arguments: "".join(arguments),
)
def test_every_message_has_its_properties(arguments: dict[str, Any]) -> None:
    """DMPR-356: also one without any."""
    assert message(**arguments).user.flags & UserFlags.MP


def test_a_report_queue_has_its_header() -> None:
    """DMPR-357, DMPR-369: and tracing without one, since TR demands DH (A-60)."""
    for trace, headers, queue in (
        (False, OptionalHeaders(debug=DEBUG), OTHER),
        (True, OptionalHeaders(debug=DEBUG), OTHER),
        (True, OptionalHeaders(), None),
    ):
        built = message(trace=trace, headers=headers)
        assert built.base.flags & BaseFlags.DH
        assert built.debug is not None
        assert built.debug.queue_identifier == queue
        assert built.debug.flags == (1 if queue else 0)
    assert message().debug is None
    assert not message().base.flags & BaseFlags.DH


@pytest.mark.parametrize("privacy", [0, 1, 3, 5])
@pytest.mark.parametrize("flags", [0x0001, 0x0011, 0x0501, 0x0F71])
def test_a_sender_claims_no_authentication(flags: int, privacy: int) -> None:
    """DMPR-365, DMPR-366: whatever the header it is given says."""
    security = SecurityHeader.make(flags, security_id=mapped.SID)
    built = message(headers=OptionalHeaders(security=security, privacy_level=privacy)).security
    assert built is not None
    found = SecurityFlags.split(built.flags)
    assert (found["AU"], found["AS"]) == (0, 0)
    assert found["EB"] == (1 if privacy else 0)
    assert found["ST"] == 1


@pytest.mark.parametrize("flags", [0x0001, 0x0041])
def test_the_default_provider_signs_unless_another_is_named(flags: int) -> None:
    """DMPR-368, A-62: the system signs with the first, applications name theirs."""

    def default_provider(**items: bytes) -> bool:
        security = SecurityHeader.make(flags, **items)
        built = message(headers=OptionalHeaders(security=security)).security
        assert built is not None
        return bool(built.flags & SecurityFlags.DE)

    assert default_provider(signature=b"s")
    assert not default_provider(signature=b"s", provider_info=encode_provider(1, "Mine"))
    assert not default_provider(security_id=mapped.SID)


@pytest.mark.parametrize(
    ("label", "body", "extension", "certificate", "provider"),
    [("", b"", b"", b"", "x"), ("Gr\u00fc\u00dfe", b"12345", b"123", b"1234567", "Provider")],
    ids=["empty", "some"],
)
def test_sizes_fit_what_they_measure(
    label: str, body: bytes, extension: bytes, certificate: bytes, provider: str
) -> None:
    """DMPR-367: a label and the name of a provider count their null."""
    security = SecurityHeader.make(
        0, sender_cert=certificate, provider_info=encode_provider(1, provider)
    )
    headers = OptionalHeaders(security=security)
    built = message(body=body, label=label, extension=extension, headers=headers)
    assert built.properties.label_length == (len(label) + 1 if label else 0)
    assert built.properties.message_size == len(body)
    assert built.properties.extension_size == len(extension)
    assert built.security is not None
    assert built.security.sender_cert_size == len(certificate)
    assert built.security.provider_info_size == 2 * (len(provider) + 1) + 4
    assert built.security.provider_name == provider


def test_a_signature_that_was_verified_is_marked() -> None:
    plain = build(headers=OptionalHeaders(security=SECURITY)).message().security
    found = build(headers=OptionalHeaders(security=SECURITY, verified=2)).message().security
    assert plain is not None
    assert found is not None
    assert not plain.flags & (SecurityFlags.AU | SecurityFlags.AS)
    assert found.flags == plain.flags | SecurityFlags.AU | 2 << 8
