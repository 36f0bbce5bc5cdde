"""What message security needs to know of an X.509 certificate (RFC 5280): its key and its dates.

The trust anchor is the table of registered certificates, never an issuer ([MS-MQSO] 7.4.1.3), so
that no chain is built here. A certificate is read strictly, and compared by its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from openmsmq.errors import InvalidCertificate
from openmsmq.security.limits import CERTIFICATE_SIZE_MAX
from openmsmq.security.rsa import RsaPublicKey

_INTEGER: Final = 0x02
_BIT_STRING: Final = 0x03
_OID: Final = 0x06
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_VERSION: Final = 0xA0
_TIMES: Final = {
    0x17: (re.compile(rb"[0-9]{12}Z"), "%y%m%d%H%M%SZ"),
    0x18: (re.compile(rb"[0-9]{14}Z"), "%Y%m%d%H%M%SZ"),
}
"UTCTime and GeneralizedTime, in the one form that RFC 5280 4.1.2.5 allows."
_RSA_OID: Final = bytes.fromhex("2a864886f70d010101")
_COMMON_NAME: Final = bytes.fromhex("550403")
_TOLERANCE: Final = 24 * 60 * 60
"Seconds by which a certificate may be used before or after its dates (MSEC-A23)."


class DerElement(NamedTuple):
    """A value in DER: its tag and its contents."""

    tag: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate: its bytes, and what they say."""

    der: bytes
    key: RsaPublicKey | None
    "None if it is not an RSA key."
    subject: str
    "The common name of its subject; empty if it has none."
    not_before: int
    not_after: int
    "Seconds since 1970 UTC, both."

    def is_valid_at(self, now: float) -> bool:
        """Whether its dates allow to use it (MSEC-A23)."""
        return self.not_before - _TOLERANCE <= now <= self.not_after + _TOLERANCE


def decode_certificate(der: bytes) -> Certificate:
    """The certificate that `der` is, to its last byte; `InvalidCertificate` if it is none."""
    if len(der) > CERTIFICATE_SIZE_MAX:
        raise InvalidCertificate(f"{len(der)} bytes; {CERTIFICATE_SIZE_MAX} are possible")
    try:
        return _decode(der)
    except (ValueError, OverflowError) as error:
        raise InvalidCertificate(f"not an X.509 certificate in DER: {error}") from None


def _decode(der: bytes) -> Certificate:
    (whole,) = elements(der)
    tbs, _, _ = elements(_expect(whole, _SEQUENCE))
    fields = list(elements(_expect(tbs, _SEQUENCE)))
    if fields and fields[0].tag == _VERSION:
        del fields[0]
    if len(fields) < 6:
        raise ValueError("it ends before its key")
    _, _, _, validity, subject, key = fields[:6]
    start, end = elements(_expect(validity, _SEQUENCE))
    return Certificate(
        der, _key(_expect(key, _SEQUENCE)), _common_name(subject), _time(start), _time(end)
    )


def elements(data: bytes) -> Iterator[DerElement]:
    """The values in DER that `data` consists of; lengths in their shortest form only."""
    at = 0
    while at < len(data):
        tag = data[at]
        if tag & 0x1F == 0x1F or at + 2 > len(data):
            raise ValueError(f"no element at byte {at}")
        length, start = data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7F
            raw = data[start : start + count]
            length, start = int.from_bytes(raw, "big"), start + count
            if not 1 <= count <= 3 or len(raw) != count or length < 0x80 or not raw[0]:
                raise ValueError(f"the length at byte {at + 1} is not in its shortest form")
        if start + length > len(data):
            raise ValueError(f"the element at byte {at} ends behind the data")
        yield DerElement(tag, data[start : start + length])
        at = start + length


def _expect(found: DerElement, tag: int) -> bytes:
    if found.tag != tag:
        raise ValueError(f"a tag {found.tag:#04x} where {tag:#04x} is needed")
    return found.value


def _key(info: bytes) -> RsaPublicKey | None:
    """SubjectPublicKeyInfo (RFC 3279 2.3.1)."""
    algorithm, bits = elements(info)
    oid = next(elements(_expect(algorithm, _SEQUENCE)), DerElement(0, b""))
    if _expect(oid, _OID) != _RSA_OID:
        return None
    raw = _expect(bits, _BIT_STRING)
    if raw[:1] != b"\0":
        raise ValueError("the key is not a whole number of bytes")
    (pair,) = elements(raw[1:])
    modulus, exponent = elements(_expect(pair, _SEQUENCE))
    found = RsaPublicKey(_positive(modulus), _positive(exponent))
    if not found.is_usable:
        raise ValueError(f"an RSA key of {found.bits} bits cannot be used")
    return found


def _positive(found: DerElement) -> int:
    value = int.from_bytes(_expect(found, _INTEGER), "big", signed=True)
    if value <= 0:
        raise ValueError("a number of the key is not positive")
    return value


def _common_name(subject: DerElement) -> str:
    for part in elements(_expect(subject, _SEQUENCE)):
        for pair in elements(_expect(part, _SET)):
            kind, value = elements(_expect(pair, _SEQUENCE))
            if kind.value == _COMMON_NAME:
                encoding = "utf-16-be" if value.tag == 0x1E else "utf-8"
                return value.value.decode(encoding, errors="replace")
    return ""


def _time(found: DerElement) -> int:
    pattern, layout = _TIMES.get(found.tag, (None, ""))
    if pattern is None or not pattern.fullmatch(found.value):
        raise ValueError(f"{found.value[:20]!r} is no time")
    parsed = datetime.strptime(found.value.decode(), layout).replace(tzinfo=UTC)
    if found.tag == 0x17 and parsed.year >= 2050:
        parsed = parsed.replace(year=parsed.year - 100)
    return int(parsed.timestamp())
