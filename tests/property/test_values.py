"""Whatever bytes come, the decoders of values give a value or say that they are malformed."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.errors import Malformed, MQError
from openmsmq.properties.structures import (
    SequenceInfo,
    TransportAddress,
    XactUow,
    decode_addresses,
    encode_addresses,
)
from openmsmq.properties.variant import PropVariant, from_variant_bool, to_variant_bool
from openmsmq.properties.vartype import VECTOR, vartype_name
from openmsmq.security.keys import (
    DirectoryPublicKey,
    DirectoryPublicKeys,
    PublicKeyBlob,
    SimpleBlob,
    UserCertificate,
    UserCertificates,
)
from openmsmq.security.sid import Sid
from openmsmq.wire.reader import decode_whole

RoundTrip = Callable[[bytes], bytes]
"Decodes and encodes again."

ROUND_TRIPS: dict[str, RoundTrip] = {
    "addresses": lambda data: encode_addresses(decode_addresses(data)),
    "sequence": lambda data: decode_whole(data, lambda reader: reader.fixed(SequenceInfo)).pack(),
    "transaction": lambda data: decode_whole(data, lambda reader: reader.fixed(XactUow)).pack(),
    "sid": lambda data: Sid.decode(data).encode(),
    "public key": lambda data: PublicKeyBlob.decode(data).encode(),
    "session key": lambda data: SimpleBlob.decode(data).encode(),
    "directory key": lambda data: decode_whole(data, DirectoryPublicKey.read).encode(),
    "directory keys": lambda data: DirectoryPublicKeys.decode(data).encode(),
    "certificate": lambda data: decode_whole(data, UserCertificate.read).encode(),
    "certificates": lambda data: UserCertificates.decode(data).encode(),
}

u32 = st.integers(0, 0xFFFFFFFF)
guids = st.builds(lambda data: UUID(bytes=data), st.binary(min_size=16, max_size=16))
sids = st.builds(Sid, st.integers(0, 2**48 - 1), st.lists(u32, max_size=15).map(tuple))
addresses = st.one_of(
    st.builds(TransportAddress, st.sampled_from([1, 2]), st.binary(min_size=4, max_size=4)),
    st.builds(TransportAddress, st.just(3), st.binary(min_size=10, max_size=10)),
    st.builds(TransportAddress, st.just(5), st.binary(min_size=16, max_size=16)),
    st.builds(TransportAddress, st.integers(6, 0xFFFF), st.binary(max_size=40)),
)
public_keys = st.builds(
    PublicKeyBlob, u32, st.binary(min_size=1, max_size=64), st.sampled_from([0xA400, 0x2400])
)
session_keys = st.builds(SimpleBlob, u32, st.binary(max_size=64))
provider_names = st.text(st.characters(exclude_characters="\0", exclude_categories=()), max_size=20)
directory_keys = st.builds(
    DirectoryPublicKey, st.sampled_from([1, 0x18]), provider_names, st.binary(max_size=40)
)
certificates = st.builds(UserCertificate.register, st.binary(max_size=40), guids)
encoded = {
    "addresses": st.lists(addresses, max_size=4).map(encode_addresses),
    "sid": sids.map(Sid.encode),
    "public key": public_keys.map(PublicKeyBlob.encode),
    "session key": session_keys.map(SimpleBlob.encode),
    "directory key": directory_keys.map(DirectoryPublicKey.encode),
    "directory keys": st.lists(directory_keys, max_size=3).map(
        lambda keys: DirectoryPublicKeys(tuple(keys)).encode()
    ),
    "certificate": certificates.map(UserCertificate.encode),
    "certificates": st.lists(certificates, max_size=3).map(
        lambda entries: UserCertificates(tuple(entries)).encode()
    ),
}


def survives(round_trip: RoundTrip, data: bytes) -> None:
    try:
        again = round_trip(data)
    except Malformed:
        return
    assert again == data


@pytest.mark.parametrize("name", ROUND_TRIPS)
@given(data=st.binary(max_size=200))
def test_random_bytes_decode_losslessly_or_are_malformed(name: str, data: bytes) -> None:
    survives(ROUND_TRIPS[name], data)


@pytest.mark.parametrize("name", encoded)
@given(data=st.data())
def test_whole_structures_decode_to_what_they_were(name: str, data: st.DataObject) -> None:
    original = data.draw(encoded[name])
    assert ROUND_TRIPS[name](original) == original


@pytest.mark.parametrize("name", encoded)
@given(data=st.data())
def test_damaged_structures_decode_losslessly_or_are_malformed(
    name: str, data: st.DataObject
) -> None:
    original = bytearray(data.draw(encoded[name]))
    if original:
        place = data.draw(st.integers(0, len(original) - 1))
        original[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(original)))
    survives(ROUND_TRIPS[name], bytes(original[:end]))
    survives(ROUND_TRIPS[name], bytes(original))


@given(sids)
def test_a_security_identifier_reads_back_from_its_text(sid: Sid) -> None:
    assert Sid.from_text(str(sid)) == sid


@given(st.text(max_size=40))
def test_any_text_is_an_identifier_or_refused(text: str) -> None:
    try:
        sid = Sid.from_text(text)
    except MQError:
        return
    assert Sid.from_text(str(sid)) == sid


@given(st.integers(-(2**31), 0xFFFFFFFF), st.text())
def test_every_code_but_success_is_an_error_that_keeps_it(code: int, detail: str) -> None:
    if code:
        error = MQError.from_hresult(code, detail)
        assert error.hresult == code & 0xFFFFFFFF
        assert detail in str(error)


@given(u32)
def test_every_type_code_has_a_name(code: int) -> None:
    assert vartype_name(code).startswith("VT_")
    assert vartype_name(code).endswith("|VT_VECTOR") == bool(code & VECTOR)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=5) | guids,
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(st.integers(0, 80) | st.integers(0x1000, 0x1050), values)
def test_any_pair_of_type_and_value_is_a_variant_or_refused(vartype: int, value: object) -> None:
    try:
        variant = PropVariant(vartype, value)  # type: ignore[arg-type]  # anything may be tried
    except MQError:
        return
    assert variant.value == value
    assert PropVariant(VECTOR | 12, (variant,)).depth == 2


@given(st.booleans())
def test_truth_survives_the_wire(value: bool) -> None:
    assert from_variant_bool(to_variant_bool(value)) is value
