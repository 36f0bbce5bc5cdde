"""Names of every kind keep their meaning through text and bytes; rubbish gives known errors."""

from __future__ import annotations

import contextlib
import pickle
from struct import pack
from uuid import UUID

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import names

from openmsmq.errors import IllegalFormatName, IllegalQueuePathName, Malformed
from openmsmq.names.format import DirectName, FormatName, PrivateName, PublicName, parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName, parse_path_name
from openmsmq.names.queue_format import QueueFormat
from openmsmq.names.reference import QueueReference, reference_for
from openmsmq.names.same import same_queue
from openmsmq.wire.reader import Reader

NAME_LIKE = st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from("DIRECTOSPUBL=:\\/;,.$@[]a01-J"), max_size=40),
    st.builds(
        lambda head, tail: head + tail,
        st.sampled_from(
            [
                "DIRECT=",
                "DIRECT=OS:",
                "DIRECT=TCP:",
                "DIRECT=TCP:10.0.0.1\\",
                "DIRECT=HTTP://",
                "DIRECT=http://h/msmq/",
                "PUBLIC=",
                "PRIVATE=01234567-89AB-4CDE-8F01-23456789ABCD\\",
                "MULTICAST=",
                "DL=01234567-89AB-4CDE-8F01-23456789ABCD",
                "h\\private$\\",
                "h\\",
                ".\\SYSTEM$;",
                "FormatName:",
            ]
        ),
        st.text(st.one_of(st.sampled_from("\\/;:,.$a1J["), st.characters()), max_size=20),
    ),
)
FORMAT_TYPES = st.integers(0, 9)


def swap_ascii_case(text: str) -> str:
    return "".join(char.swapcase() if char.isascii() else char for char in text)


@given(names.path_names())
def test_a_printed_path_name_parses_to_an_equal_one(name: PathName) -> None:
    """MQQB-144."""
    assert parse_path_name(str(name)) == name
    assert repr(parse_path_name(str(name))) == repr(name)


@given(names.path_names())
def test_a_user_can_type_any_path_name_that_does_not_begin_like_a_format_name(
    name: PathName,
) -> None:
    assume(not set("=:") & set(name.computer))
    assert parse_name(str(name)) == name


@given(names.format_names())
def test_a_printed_format_name_parses_to_an_equal_one(name: FormatName) -> None:
    """MQQB-146, MQQB-148 to MQQB-152."""
    parsed = parse_format_name(str(name))
    assert parsed == name
    assert hash(parsed) == hash(name)
    assert str(parsed) == str(name)
    assert type(parsed) is type(name)
    assert parse_name(f"FormatName:{name}") == name


@given(names.format_names())
def test_letter_case_does_not_change_a_format_name(name: FormatName) -> None:
    other = parse_format_name(swap_ascii_case(str(name)))
    assert other == name
    assert hash(other) == hash(name)


@given(names.path_names())
def test_letter_case_does_not_change_a_path_name(name: PathName) -> None:
    other = parse_path_name(swap_ascii_case(str(name)))
    assert other == name
    assert hash(other) == hash(name)


@given(names.format_names(), names.format_names())
def test_names_are_equal_exactly_when_their_keys_are(a: FormatName, b: FormatName) -> None:
    assert (a == b) == (a.key == b.key)


@given(st.one_of(names.path_names(), names.format_names()))
def test_names_survive_pickling(name: PathName | FormatName) -> None:
    assert pickle.loads(pickle.dumps(name)) == name


@given(names.path_names())
def test_a_path_name_and_its_direct_name_are_one_queue(name: PathName) -> None:
    direct = name.to_direct()
    assert PathName.from_direct(direct) == name
    assert direct.is_read_only == name.is_read_only
    assert same_queue(name, direct, own_names=[])


@given(NAME_LIKE)
def test_any_text_is_a_format_name_or_refused_as_one(text: str) -> None:
    with contextlib.suppress(IllegalFormatName):
        assert parse_format_name(text) == parse_format_name(text)


@given(NAME_LIKE)
def test_any_text_is_a_path_name_or_refused_as_one(text: str) -> None:
    with contextlib.suppress(IllegalQueuePathName):
        assert parse_path_name(text) == parse_path_name(str(parse_path_name(text)))


@given(NAME_LIKE)
def test_any_text_a_user_types_is_a_name_or_refused(text: str) -> None:
    with contextlib.suppress(IllegalFormatName, IllegalQueuePathName):
        name = parse_name(text)
        assert parse_name(str(name)) == name


@given(names.direct_names(), NAME_LIKE)
def test_a_direct_name_keeps_the_text_it_was_given(name: DirectName, text: str) -> None:
    for wire in (swap_ascii_case(name.wire_text), text):
        with contextlib.suppress(IllegalFormatName):
            assert DirectName.from_wire(wire).wire_text == wire


@given(names.queue_references(), st.integers(0, 7))
def test_a_queue_name_field_reads_back_to_the_byte(sent: QueueReference, before: int) -> None:
    """MQQB-055 to MQQB-057."""
    data = bytes(before) + sent.encode() + b"next"
    reader = Reader(data, before)
    read = QueueReference.read(reader, sent.code, origin=before, name="ResponseQueue")
    assert read == sent
    assert read.encode() == sent.encode()
    assert reader.take(4, "next") == b"next"


@given(st.binary(max_size=80), st.integers(0, 7))
def test_any_bytes_are_a_queue_name_field_or_malformed(data: bytes, code: int) -> None:
    reader = Reader(data)
    with contextlib.suppress(Malformed):
        read = QueueReference.read(reader, code, origin=0, name="AdminQueue")
        assert read.encode() == data[: reader.offset]
        with contextlib.suppress(IllegalFormatName):
            read.resolve(source=read.guid, destination=read.guid, admin=read)


@given(
    st.one_of(names.public_names(), names.private_names(), names.direct_names(), st.none()),
    st.one_of(names.public_names(), names.private_names(), names.direct_names(), st.none()),
    names.guids(),
    names.guids(),
    st.integers(0, 3),
)
def test_a_name_written_into_a_header_resolves_to_itself(
    response: PublicName | PrivateName | DirectName | None,
    admin: PublicName | PrivateName | DirectName | None,
    source: UUID,
    destination: UUID,
    coincidence: int,
) -> None:
    """MQQB-055 to MQQB-057: whatever code is picked, the name meant is the same."""
    if isinstance(response, PrivateName):
        hosts = [source, destination, admin.guid if isinstance(admin, PrivateName) else source]
        guid = [*hosts, response.guid][coincidence]
        response = PrivateName(guid, response.number, response.suffix)
    with contextlib.suppress(IllegalFormatName):
        admin_ref = reference_for(admin, source=source, destination=destination)
        reference = reference_for(response, source=source, destination=destination, admin=admin)
        assert admin_ref.code in (0, 2, 3, 5, 6, 7)
        resolved = reference.resolve(source=source, destination=destination, admin=admin_ref)
        assert resolved == response
        assert str(resolved) == str(response)


@given(st.lists(names.mqf_elements(), max_size=5), st.sampled_from((4, 2)), st.integers(0, 7))
def test_a_list_of_elements_reads_back_to_the_byte(
    elements: list[MQFFormatNameElement], public_alignment: int, before: int
) -> None:
    """MQQB-102 to MQQB-104."""
    data = bytes(before)
    for element in elements:
        data += element.encode(len(data) - before, public_alignment=public_alignment)
    reader = Reader(data, before)
    for sent in elements:
        offset = reader.offset - before
        read = MQFFormatNameElement.read(reader, origin=before, public_alignment=public_alignment)
        assert (read.format_type, read.guid, read.number, read.raw) == (
            sent.format_type,
            sent.guid,
            sent.number,
            sent.raw,
        )
        again = read.encode(offset, public_alignment=public_alignment)
        assert data[before + offset : reader.offset] == again
    assert reader.remaining == 0


@given(st.sampled_from((0, 1, 2, 3, 4, 6)), st.binary(max_size=60), st.integers(0, 3))
def test_any_bytes_are_an_element_or_malformed(kind: int, rest: bytes, origin: int) -> None:
    data = pack("<H", kind) + rest
    reader = Reader(data)
    with contextlib.suppress(Malformed):
        read = MQFFormatNameElement.read(reader, origin=origin)
        assert read.encode(-origin) == data[: reader.offset]
        with contextlib.suppress(IllegalFormatName):
            assert MQFFormatNameElement.of(read.name()).name() == read.name()


@given(names.single_names())
def test_a_name_survives_queue_format(name: FormatName) -> None:
    """MQQB-153 to MQQB-155."""
    back = QueueFormat.of(name).name()
    assert back == name
    assert str(back) == str(name)


@given(names.single_names(), FORMAT_TYPES, st.integers(0, 255))
def test_any_queue_format_is_a_name_or_refused(
    name: FormatName, format_type: int, suffix_and_flags: int
) -> None:
    """MQQB-153."""
    value = QueueFormat.of(name).value
    with contextlib.suppress(IllegalFormatName):
        back = QueueFormat(format_type, suffix_and_flags, value).name()
        assert QueueFormat.of(back).format_type == format_type
        assert QueueFormat.of(back).suffix_and_flags & 0x0F == suffix_and_flags & 0x0F
