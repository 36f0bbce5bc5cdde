"""Requests and answers of LDAP (RFC 4511 4), and the controls that are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from openmsmq.directory.ldap.ber import (
    ENUMERATED,
    INTEGER,
    OCTETS,
    SEQUENCE,
    SET,
    boolean,
    element,
    integer,
    members,
    octets,
    read,
    read_any,
    read_integer,
    read_octets,
    read_text,
    rest,
)
from openmsmq.directory.ldap.filters import Filter
from openmsmq.directory.ldap.tree import Change, LdapEntry, SearchScope, Values
from openmsmq.wire.reader import Reader

PAGED: Final = "1.2.840.113556.1.4.319"
"Results come in pages (RFC 2696)."
SECURITY_FLAGS: Final = "1.2.840.113556.1.4.801"
"The parts of a security descriptor ([MS-ADTS] 3.1.1.3.4.1.11)."
START_TLS: Final = "1.3.6.1.4.1.1466.20037"
_VERSION: Final = 3
_KINDS: Final = {"add": 0, "delete": 1, "replace": 2}


class LdapOperation(IntEnum):
    """What a message is (protocolOp, RFC 4511 4.2)."""

    BIND_REQUEST = 0x60
    BIND_ANSWER = 0x61
    UNBIND_REQUEST = 0x42
    SEARCH_REQUEST = 0x63
    ROW = 0x64
    SEARCH_ANSWER = 0x65
    REFERENCE = 0x73
    MODIFY_REQUEST = 0x66
    MODIFY_ANSWER = 0x67
    ADD_REQUEST = 0x68
    ADD_ANSWER = 0x69
    DELETE_REQUEST = 0x4A
    DELETE_ANSWER = 0x6B
    ABANDON_REQUEST = 0x50
    EXTENDED_REQUEST = 0x77
    EXTENDED_ANSWER = 0x78
    INTERMEDIATE = 0x79


_ANSWERS: Final = frozenset(
    {
        LdapOperation.BIND_ANSWER,
        LdapOperation.SEARCH_ANSWER,
        LdapOperation.MODIFY_ANSWER,
        LdapOperation.ADD_ANSWER,
        LdapOperation.DELETE_ANSWER,
        LdapOperation.EXTENDED_ANSWER,
    }
)


@dataclass(frozen=True, slots=True)
class LdapAnswer:
    """The last word about an operation."""

    id: int
    operation: LdapOperation
    code: int
    text: str = ""
    credentials: bytes = b""
    "Of a bind: what the server says to authenticate."
    cookie: bytes = b""
    "Of a search: where the next page begins; empty at the end."


@dataclass(frozen=True, slots=True)
class Row:
    """An object that a search found."""

    id: int
    entry: LdapEntry


@dataclass(frozen=True, slots=True)
class Other:
    """What is not used: references to other servers, and notices."""

    id: int


Received: TypeAlias = LdapAnswer | Row | Other


def control(kind: str, value: bytes, *, critical: bool = True) -> bytes:
    """A control of a request (RFC 4511 4.1.11)."""
    return element(SEQUENCE, octets(kind), boolean(critical), octets(value))


def security_flags(flags: int) -> bytes:
    """The control that says which parts of a descriptor are meant ([MS-ADTS] 3.1.1.3.4.1.11)."""
    return control(SECURITY_FLAGS, element(SEQUENCE, integer(flags)))


def paged(size: int, cookie: bytes) -> bytes:
    """The control that asks for the next page (RFC 2696 2)."""
    return control(PAGED, element(SEQUENCE, integer(size), octets(cookie)))


def message(number: int, operation: bytes, controls: Sequence[bytes] = ()) -> bytes:
    """A whole message (RFC 4511 4.1.1)."""
    added = element(0xA0, *controls) if controls else b""
    return element(SEQUENCE, integer(number), operation, added)


def simple_bind(name: str, password: str) -> bytes:
    """Log on with a password, version 3 of the protocol ([MS-MQDSSM] 3.1.6.18)."""
    return element(
        LdapOperation.BIND_REQUEST, integer(_VERSION), octets(name), octets(password, 0x80)
    )


def sasl_bind(mechanism: str, token: bytes) -> bytes:
    """Log on with a protocol of its own ([MS-MQDSSM] 5.1)."""
    credentials = element(0xA3, octets(mechanism), octets(token))
    return element(LdapOperation.BIND_REQUEST, integer(_VERSION), octets(""), credentials)


def search(
    base: str, scope: SearchScope, condition: Filter, attributes: Sequence[str], seconds: int
) -> bytes:
    """Look for objects ([MS-MQDSSM] 3.1.6.15): no limit of size, and one of time."""
    return element(
        LdapOperation.SEARCH_REQUEST,
        octets(base),
        integer(scope, ENUMERATED),
        integer(0, ENUMERATED),
        integer(0),
        integer(seconds),
        boolean(False),
        condition.encode(),
        element(SEQUENCE, *map(octets, attributes)),
    )


def add(name: str, attributes: Mapping[str, Values]) -> bytes:
    """Make an object."""
    given = (_attribute(kind, values) for kind, values in attributes.items())
    return element(LdapOperation.ADD_REQUEST, octets(name), element(SEQUENCE, *given))


def modify(name: str, changes: Sequence[Change]) -> bytes:
    """Change attributes of an object, all or none."""
    given = (
        element(
            SEQUENCE,
            integer(_KINDS[change.kind], ENUMERATED),
            _attribute(change.attribute, change.values),
        )
        for change in changes
    )
    return element(LdapOperation.MODIFY_REQUEST, octets(name), element(SEQUENCE, *given))


def delete(name: str) -> bytes:
    """Remove an object."""
    return octets(name, LdapOperation.DELETE_REQUEST)


def unbind() -> bytes:
    """Say goodbye."""
    return element(LdapOperation.UNBIND_REQUEST)


def start_tls() -> bytes:
    """Ask for TLS on this connection (RFC 4511 4.14)."""
    return element(LdapOperation.EXTENDED_REQUEST, octets(START_TLS, 0x80))


def _attribute(kind: str, values: Values) -> bytes:
    return element(SEQUENCE, octets(kind), element(SET, *map(octets, values)))


def decode(data: bytes) -> Received:
    """A message of a server; `Malformed`."""
    whole = read(Reader(data), SEQUENCE)
    number = read_integer(whole, INTEGER)
    tag, content = read_any(whole)
    if tag == LdapOperation.ROW:
        return Row(number, _entry(content))
    if tag not in _ANSWERS:
        return Other(number)
    code = read_integer(content, ENUMERATED)
    read_octets(content)  # the name of the nearest object there is
    text = read_text(content)
    credentials = b""
    for kind, inner in members(content):
        if kind == 0x87:
            credentials = rest(inner)
    cookie = _cookie(read(whole, 0xA0)) if whole.remaining else b""
    return LdapAnswer(number, LdapOperation(tag), code, text, credentials, cookie)


def _entry(reader: Reader) -> LdapEntry:
    name = read_text(reader)
    found: dict[str, tuple[bytes, ...]] = {}
    listed = read(reader, SEQUENCE)
    while listed.remaining:
        attribute = read(listed, SEQUENCE)
        kind = read_text(attribute).lower()
        values = read(attribute, SET)
        given = []
        while values.remaining:
            given.append(read_octets(values, OCTETS))
        found[kind] = (*found.get(kind, ()), *given)
    return LdapEntry(name, found)


def _cookie(controls: Reader) -> bytes:
    """Where the next page begins (RFC 2696 2)."""
    for _, item in members(controls):
        kind = read_text(item)
        value = b""
        for tag, inner in members(item):
            if tag == OCTETS:
                value = rest(inner)
        if kind == PAGED:
            found = read(Reader(value), SEQUENCE)
            read_integer(found)
            return read_octets(found)
    return b""
