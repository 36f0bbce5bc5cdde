"""Format names of every kind, and the text they are written as ([MS-MQMQ] 2.1.2 - 2.1.7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from uuid import UUID

from openmsmq.errors import IllegalFormatName
from openmsmq.limits import DOMAIN_NAME_MAX, MULTIPLE_ELEMENTS_MAX, U16_MAX, U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parts import (
    NOT_IN_COMPUTER,
    Fault,
    Suffix,
    check_part,
    fold,
    refused_as,
    show,
)

__all__ = [
    "MULTIPLE_ELEMENTS_MAX",
    "ConnectorName",
    "DirectName",
    "DistributionListName",
    "FormatName",
    "MachineName",
    "MulticastName",
    "MultipleName",
    "PrivateName",
    "Protocol",
    "PublicName",
    "Suffix",
    "parse_format_name",
]


_GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[0-9A-F]{1,8}", re.IGNORECASE | re.ASCII)
_PORT = re.compile(r"0|[1-9][0-9]{0,4}", re.ASCII)

_SUFFIXES = tuple(suffix for suffix in Suffix if suffix)
_QUEUE_SUFFIXES = (Suffix.NONE, Suffix.JOURNAL)
_MACHINE_SUFFIXES = (Suffix.JOURNAL, Suffix.DEADLETTER, Suffix.DEADXACT)
_CONNECTOR_SUFFIXES = (Suffix.NONE, Suffix.XACTONLY)


@dataclass(frozen=True, slots=True, eq=False)
class PublicName(FormatName):
    """A queue registered in the directory, `PUBLIC=guid` ([MS-MQMQ] 2.1.3).

    The grammar has no suffix, but QUEUE_FORMAT gives it a journal ([MS-MQMQ] 2.2.7).
    """

    guid: UUID
    suffix: Suffix = Suffix.NONE

    def __post_init__(self) -> None:
        _check_suffix(self, self.suffix, _QUEUE_SUFFIXES)

    @property
    def is_read_only(self) -> bool:
        return self.suffix.is_read_only

    def __str__(self) -> str:
        return f"PUBLIC={self.guid}{_tail(self.suffix)}"


@dataclass(frozen=True, slots=True, eq=False)
class PrivateName(FormatName):
    r"""A private queue by its queue manager and number, `PRIVATE=guid\1A` ([MS-MQMQ] 2.1.4)."""

    guid: UUID
    "The queue manager."
    number: int
    suffix: Suffix = Suffix.NONE

    def __post_init__(self) -> None:
        _check_suffix(self, self.suffix, _QUEUE_SUFFIXES)
        if not 0 <= self.number <= U32_MAX:
            raise IllegalFormatName(f"{self}: the queue's number does not fit in 32 bits")

    @property
    def is_read_only(self) -> bool:
        return self.suffix.is_read_only

    def __str__(self) -> str:
        return f"PRIVATE={self.guid}\\{self.number:08x}{_tail(self.suffix)}"


@dataclass(frozen=True, slots=True, eq=False)
class DistributionListName(FormatName):
    """A list of queues in the directory, `DL=guid@domain` ([MS-MQMQ] 2.1.5)."""

    guid: UUID
    domain: str | None = None

    def __post_init__(self) -> None:
        if self.domain is not None:
            with refused_as(IllegalFormatName, str(self)):
                check_part("domain name", self.domain, DOMAIN_NAME_MAX, NOT_IN_COMPUTER)

    def __str__(self) -> str:
        return f"DL={self.guid}" + ("" if self.domain is None else f"@{self.domain}")


@dataclass(frozen=True, slots=True, eq=False)
class MachineName(FormatName):
    """A computer's journal or dead-letter queue, `MACHINE=guid;DEADXACT` ([MS-MQMQ] 2.1.6).

    The suffix, missing in the grammar, is required by QUEUE_FORMAT ([MS-MQMQ] 2.2.7).
    """

    guid: UUID
    suffix: Suffix

    def __post_init__(self) -> None:
        _check_suffix(self, self.suffix, _MACHINE_SUFFIXES)

    @property
    def is_read_only(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"MACHINE={self.guid}{_tail(self.suffix)}"


@dataclass(frozen=True, slots=True, eq=False)
class ConnectorName(FormatName):
    """A connector queue, `CONNECTOR=guid` or `CONNECTOR=guid;XACTONLY` ([MS-MQMQ] 2.1.6)."""

    guid: UUID
    suffix: Suffix = Suffix.NONE

    def __post_init__(self) -> None:
        _check_suffix(self, self.suffix, _CONNECTOR_SUFFIXES)

    def __str__(self) -> str:
        return f"CONNECTOR={self.guid}{_tail(self.suffix)}"


@dataclass(frozen=True, slots=True, eq=False)
class MulticastName(FormatName):
    """All queues that listen to an address, `MULTICAST=234.1.1.1:8001` ([MS-MQMQ] 2.1.6).

    The grammar's rule for ports is broken; any port from 0 to 65535 is taken.
    """

    address: IPv4Address
    port: int

    def __post_init__(self) -> None:
        if not self.address.is_multicast:
            raise IllegalFormatName(f"{self}: the address does not begin with 224 to 239")
        if not 0 <= self.port <= U16_MAX:
            raise IllegalFormatName(f"{self}: the port is not between 0 and {U16_MAX}")

    def __str__(self) -> str:
        return f"MULTICAST={self.address}:{self.port}"


@dataclass(frozen=True, slots=True, eq=False)
class MultipleName(FormatName):
    """Several destinations at once, joined by commas ([MS-MQMQ] 2.1.7).

    Equal names list the same destinations in the same order.
    """

    elements: tuple[FormatName, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.elements) <= MULTIPLE_ELEMENTS_MAX:
            raise IllegalFormatName(
                f"a multiple-element name has 2 to {MULTIPLE_ELEMENTS_MAX} elements, "
                f"not {len(self.elements)}"
            )
        for position, element in enumerate(self.elements, 1):
            if element.is_read_only:
                reason = "is a read-only queue, which cannot be sent to"
                raise IllegalFormatName(f"element {position}, {element}, {reason}")
            if isinstance(element, MultipleName):
                raise IllegalFormatName(f"element {position} has several elements itself")

    @property
    def key(self) -> str:
        return ",".join(element.key for element in self.elements)

    def __str__(self) -> str:
        return ",".join(map(str, self.elements))


def parse_format_name(text: str) -> FormatName:
    """The format name written as `text` ([MS-MQMQ] 2.1.2 - 2.1.7)."""
    commas = text.count(",")
    if commas >= MULTIPLE_ELEMENTS_MAX:
        reason = f"has {commas + 1} elements, at most {MULTIPLE_ELEMENTS_MAX} are allowed"
        raise IllegalFormatName(f"{show(text)} {reason}")
    if commas:
        return MultipleName(tuple(map(_parse_one, text.split(","))))
    return _parse_one(text)


def has_format_prefix(text: str) -> bool:
    """True if `text` begins as format names do, so that it cannot be meant as a path name."""
    kind, equals, _ = text.partition("=")
    return bool(equals) and fold(kind) in _PARSERS


def _parse_one(text: str) -> FormatName:
    with refused_as(IllegalFormatName, text):
        if not has_format_prefix(text):
            known = ", ".join(f"{kind}=" for kind in _PARSERS)
            raise Fault(f"a format name begins with one of {known}")
        kind, _, rest = text.partition("=")
        return _PARSERS[fold(kind)](rest)


def _parse_public(rest: str) -> FormatName:
    guid, suffix = _split_suffix(rest)
    return PublicName(_guid(guid), suffix)


def _parse_private(rest: str) -> FormatName:
    name, suffix = _split_suffix(rest)
    guid, _, number = name.partition("\\")
    if not _NUMBER.fullmatch(number):
        raise Fault("after the GUID comes a backslash and 1 to 8 hexadecimal digits")
    return PrivateName(_guid(guid), int(number, 16), suffix)


def _parse_list(rest: str) -> FormatName:
    guid, at, domain = rest.partition("@")
    return DistributionListName(_guid(guid), domain if at else None)


def _parse_machine(rest: str) -> FormatName:
    guid, suffix = _split_suffix(rest)
    return MachineName(_guid(guid), suffix)


def _parse_connector(rest: str) -> FormatName:
    guid, suffix = _split_suffix(rest)
    return ConnectorName(_guid(guid), suffix)


def _parse_multicast(rest: str) -> FormatName:
    address, _, port = rest.partition(":")
    if not _PORT.fullmatch(port):
        raise Fault("after the address comes a colon and a port number")
    try:
        return MulticastName(IPv4Address(address), int(port))
    except AddressValueError:
        raise Fault(f"{show(address)} is no IPv4 address") from None


_PARSERS: dict[str, Callable[[str], FormatName]] = {
    "DIRECT": DirectName.from_wire,
    "PUBLIC": _parse_public,
    "PRIVATE": _parse_private,
    "DL": _parse_list,
    "MACHINE": _parse_machine,
    "CONNECTOR": _parse_connector,
    "MULTICAST": _parse_multicast,
}


def _guid(text: str) -> UUID:
    if not _GUID.fullmatch(text):
        raise Fault(f"{show(text)} is no GUID of the form 8-4-4-4-12 hexadecimal digits")
    return UUID(text)


def _split_suffix(text: str) -> tuple[str, Suffix]:
    name, semicolon, spelled = text.partition(";")
    if not semicolon:
        return name, Suffix.NONE
    if fold(spelled) not in _SUFFIXES:
        raise Fault(f"{show(spelled)} is none of the suffixes {', '.join(_SUFFIXES)}")
    return name, Suffix(fold(spelled))


def _check_suffix(name: FormatName, suffix: Suffix, allowed: Container[Suffix]) -> None:
    if suffix not in allowed:
        found = f"cannot have the suffix {suffix}" if suffix else "needs a suffix"
        raise IllegalFormatName(f"{name}: a name of this kind {found}")


def _tail(suffix: Suffix) -> str:
    return f";{suffix}" if suffix else ""
