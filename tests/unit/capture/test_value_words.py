"""What the values of a packet mean."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from tests.samples import (
    MESSAGES,
    MULTI_QUEUE,
    OTHER,
    SENT,
    SOURCE,
    STORED,
    TARGET,
    patch,
    properties,
    user_message,
)

from openmsmq.capture.value_words import ValueWords
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.acks import FinalAckBody, build_final_ack, order_queue
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection, SessionAck
from openmsmq.packet.describe import describe
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import PADDING, EstablishConnectionHeader
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.message import UserMessage
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from openmsmq.security.keys import SimpleBlob

PROPERTIES = "MessagePropertiesHeader"


def meaning(data: bytes | UserMessage, path: str) -> str:
    """What the field `path` of the first packet means."""
    data = data.encode() if isinstance(data, UserMessage) else data
    description = next(describe(data))
    assert description.error is None
    field = next(field for field in description.fields if field.path == path)
    return ValueWords(description).of(field)


def with_properties(**values: int | bytes) -> UserMessage:
    return user_message(header=replace(properties(), **values))  # type: ignore[arg-type] # by name


def secured(flags: int = 0, **items: bytes) -> UserMessage:
    return user_message(security=SecurityHeader.make(flags, **items))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("message_class", 0, "NORMAL: a message of an application"),
        (
            "message_class",
            0x8001,
            "NACK_DELETED: the message was deleted by hand before it arrived",
        ),
        ("message_class", 0x0123, "0x0123: a class of an application's own, 0x0123"),
        ("body_type", 0x300, "BinaryMessageFormatter"),
        ("body_type", 8, "VT_BSTR"),
        ("privacy_level", 5, "AES"),
        ("privacy_level", 2, "unknown (0x2)"),
        ("hash_algorithm", 0x800E, "SHA512"),
        ("encryption_algorithm", 0x6610, "AES_256"),
        ("encryption_algorithm", 0x1234, "unknown (0x1234)"),
        ("application_tag", 5, ""),
    ],
)
def test_codes_of_the_properties(field: str, value: int, words: str) -> None:
    """MQQB-065."""
    path = "".join(part.capitalize() for part in field.split("_"))
    assert meaning(with_properties(**{field: value}), f"{PROPERTIES}.{path}") == words


@pytest.mark.parametrize(
    ("correlation", "words"),
    [(bytes(20), "none"), (OTHER.bytes_le + pack("<I", 7), f"{OTHER}\\7")],
)
def test_a_correlation_is_often_the_identifier_of_a_message(correlation: bytes, words: str) -> None:
    """MQQB-066."""
    message = with_properties(correlation_id=correlation)
    assert meaning(message, f"{PROPERTIES}.CorrelationID") == words


def test_lifetimes() -> None:
    plain = MESSAGES["plain"]
    assert meaning(plain, "UserHeader.TimeToBeReceived") == "0:10:00"
    assert meaning(plain, "BaseHeader.TimeToReachQueue") == "for ever"
    day = replace(plain, base=replace(plain.base, time_to_reach_queue=86_401))
    assert meaning(day, "BaseHeader.TimeToReachQueue") == "1 day, 0:00:01"


def test_a_stored_message_expires_at_a_time() -> None:
    """MQQB-162."""
    path = "BaseHeader.TimeToReachQueue"
    assert meaning(STORED, path) == "until 2023-09-16T06:06:56Z"
    assert meaning(patch(STORED, 12, b"\xff" * 4), path) == "for ever"


def test_times_are_shown_in_utc() -> None:
    """MQQB-044."""
    assert meaning(MESSAGES["plain"], "UserHeader.SentTime") == "2023-09-12T06:06:56Z"


@pytest.mark.parametrize(("moved", "words"), [(0, "never moved"), (SENT, "2023-09-12T06:06:56Z")])
def test_the_last_move_is_in_seconds(moved: int, words: str) -> None:
    """AMB-15."""
    data = patch(STORED, 0xC8 + 16, pack("<I", moved))
    assert meaning(data, "SubqueueHeader.LastMoveTime") == words


def test_a_message_is_identified_by_source_and_number() -> None:
    assert meaning(MESSAGES["plain"], "UserHeader.MessageID") == f"{SOURCE}\\4097"


def test_a_final_ack_says_which_message_it_is_about() -> None:
    """MQQB-126."""
    body = FinalAckBody(TxSequenceID(1, SENT), 2, 1, OTHER, 42)
    data = build_final_ack(
        order_queue(TARGET), body, 0x4000, source=SOURCE, message_id=9, sent_time=SENT
    )
    assert meaning(data, f"{PROPERTIES}.MessageBody.MessageID") == f"{OTHER}\\42"
    assert meaning(data, "UserHeader.MessageID") == f"{SOURCE}\\9"


@pytest.mark.parametrize(
    ("base", "flags", "words"),
    [
        (5, 0b1, "on disk: 5"),
        (5, 0b1000_0000_0000_0000_0000_0000_0000_0101, "on disk: 5, 7, 36"),
        (0xFFFF, 0b11, "on disk: 65535, 0"),
        (0, 0, "none on disk since the last"),
    ],
)
def test_acknowledged_messages_are_listed(base: int, flags: int, words: str) -> None:
    """MQQB-108, MQQB-109: bit k stands for the number k later; numbers wrap."""
    data = SessionAck(SessionHeader(1, base, flags)).encode()
    assert meaning(data, "SessionHeader.RecoverableMsgAckFlags") == words


def test_time_outs_are_shown_in_seconds() -> None:
    """MQQB-039, MQQB-040."""
    data = ConnectionParameters(ConnectionParametersHeader(500, 120_000)).encode()
    header = "ConnectionParametersHeader"
    assert meaning(data, f"{header}.RecoverableAckTimeout") == "0.5 s"
    assert meaning(data, f"{header}.AckTimeout") == "120 s"
    assert meaning(data, f"{header}.WindowSize") == ""


@pytest.mark.parametrize(
    ("padding", "words"), [(PADDING, "512 times 0x5A"), (bytes(511) + b"\x01", "")]
)
def test_long_runs_of_one_byte_are_counted(padding: bytes, words: str) -> None:
    """MQQB-037."""
    header = EstablishConnectionHeader(SOURCE, TARGET, 1, padding=padding)
    data = EstablishConnection(header).encode()
    assert meaning(data, "EstablishConnectionHeader.Padding") == words


def test_flags_are_said_in_words() -> None:
    data = PingPacket(3, PING_SIGNATURE, 7, SOURCE).pack()
    assert meaning(data, "Flags") == "from a client system, a session would be refused"


def test_values_that_speak_for_themselves_have_no_words() -> None:
    data = PingPacket(3, PING_SIGNATURE, 7, SOURCE).pack()
    assert meaning(data, "Cookie") == meaning(data, "QMGuid") == meaning(data, "Signature") == ""


def test_the_order_queue_is_known_by_its_number() -> None:
    """MQQB-120."""
    for number, words in ((4, "order_queue$"), (5, "")):
        queue = QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=number)
        found = meaning(
            user_message(destination=queue), "UserHeader.DestinationQueue.PrivateQueueIdentifier"
        )
        assert found == words


def test_kinds_of_listed_names() -> None:
    """MQQB-102."""
    message = user_message(multi_queue=MULTI_QUEUE)
    path = "MultiQueueFormatHeader.Destination.FormatNameList[{}].FormatType"
    found = [meaning(message, path.format(index)) for index in range(3)]
    assert found == ["DIRECT", "PUBLIC", "PRIVATE"]


@pytest.mark.parametrize(
    ("flags", "raw", "words"),
    [
        (1, "010100000000000507000000", "S-1-5-7 (Anonymous)"),
        (1, "0101000000000005e9030000", "S-1-5-1001"),
        (2, OTHER.bytes_le.hex(), f"queue manager {OTHER}"),
        (2, "010100000000000507000000", "S-1-5-7 (Anonymous)"),
        (1, "ffff", "not a SID"),
    ],
)
def test_senders(flags: int, raw: str, words: str) -> None:
    """MQQB-088, MQQB-089."""
    message = secured(flags, security_id=bytes.fromhex(raw))
    assert meaning(message, "SecurityHeader.SecurityData.SecurityID") == words


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (SimpleBlob(0x6610, bytes(128)).encode(), "a key for AES_256"),
        (SimpleBlob(0x9999, b"").encode(), "a key for unknown (0x9999)"),
        (b"nonsense", "not a SIMPLEBLOB"),
    ],
)
def test_keys(key: bytes, words: str) -> None:
    message = secured(encryption_key=key)
    assert meaning(message, "SecurityHeader.SecurityData.EncryptionKey") == words


@pytest.mark.parametrize(
    ("body", "body_type", "words"),
    [
        (b"hello", 0, "text: hello"),
        (b'{"a": 1}', 0, 'json: {"a": 1}'),
        ("Grüße".encode("utf-16-le"), 8, "activex:VT_BSTR: Grüße"),
        (b"\x80\x81\xfe\xff", 0, "binary"),
        (b"\x80\x81\xfe\xff", 0x300, None),
        (b"two\n\t lines", 0, "text: two lines"),
        (b"x" * 121, 0, "text: " + "x" * 120 + "…"),
        (b"x" * 120, 0, "text: " + "x" * 120),
    ],
)
def test_bodies(body: bytes, body_type: int, words: str | None) -> None:
    """MQQB-067: shown as one line; what cannot be read has its reason."""
    header = replace(properties(body), body_type=body_type)
    found = meaning(user_message(header=header), f"{PROPERTIES}.MessageBody")
    if words is None:
        assert found.startswith("binary (")
    else:
        assert found == words


def test_only_the_used_part_of_a_body_is_shown() -> None:
    """AMB-7."""
    header = replace(properties(b"hello, world"), message_size=5)
    assert meaning(user_message(header=header), f"{PROPERTIES}.MessageBody") == "text: hello"


def test_characters_that_cannot_be_shown_are_replaced() -> None:
    header = replace(properties("a\ud83d\x9bb".encode("utf-16-le", "surrogatepass")), body_type=8)
    found = meaning(user_message(header=header), f"{PROPERTIES}.MessageBody")
    assert found.isprintable()
    assert "\N{REPLACEMENT CHARACTER}" in found


def test_an_encrypted_body_is_not_guessed_at() -> None:
    """Whatever its bytes look like (MQQB-095)."""
    assert meaning(secured(0x20, signature=b"s"), f"{PROPERTIES}.MessageBody") == "encrypted"


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        (b'{"rbs2-msg-id":"1","b":"2"}', "rebus headers: rbs2-msg-id=1, b=2"),
        (
            b"<ArrayOfHeaderInfo><HeaderInfo><Key>k</Key><Value>v</Value></HeaderInfo>"
            b"</ArrayOfHeaderInfo>",
            "nservicebus headers: k=v",
        ),
        (b"plain text", "plain text"),
        (b"\x80\x81\xfe\xff", ""),
    ],
)
def test_extensions(extension: bytes, words: str) -> None:
    """MQQB-067."""
    message = user_message(header=properties(extension=extension))
    assert meaning(message, f"{PROPERTIES}.ExtensionData") == words


@pytest.mark.parametrize(("kind", "words"), [(0, "none"), (1, "IPv4"), (6, "IPv6"), (2, "unknown")])
def test_kinds_of_addresses(kind: int, words: str) -> None:
    """MQQB-163, MQQB-171."""
    data = patch(patch(STORED, 0x22, pack("<H", kind)), 0x162, pack("<H", kind))
    assert meaning(data, "UserHeader.AddressType") == words
    assert meaning(data, "ExtendedAddressHeader.AddressType") == words


@pytest.mark.parametrize(
    ("kind", "overlay", "extended"),
    [(1, "10.0.0.7", "10.0.0.7"), (6, "a00:7::…", "a00:7::"), (0, "", "")],
)
def test_addresses(kind: int, overlay: str, extended: str) -> None:
    """MQQB-163, MQQB-171: only half of an IPv6 address fits over QueueManagerAddress."""
    data = patch(patch(STORED, 0x22, pack("<H", kind)), 0x162, pack("<H", kind))
    assert meaning(data, "UserHeader.Address") == overlay
    assert meaning(data, "ExtendedAddressHeader.Address") == extended


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_every_field_of_every_message_can_be_explained(message: UserMessage) -> None:
    description = next(describe(message.encode()))
    meanings = ValueWords(description)
    assert all("{" not in meanings.of(field) for field in description.fields)


def test_what_is_left_of_a_broken_message_can_be_explained() -> None:
    data = MESSAGES["all"].encode()
    for size in range(1, len(data), 5):
        description = next(describe(data[:size]))
        meanings = ValueWords(description)
        for field in description.fields:
            assert isinstance(meanings.of(field), str)
