"""Hypothesis strategies for queue names of every kind, as values and as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address
from uuid import UUID

from hypothesis import strategies as st

from openmsmq.names.format import (
    ConnectorName,
    DirectName,
    DistributionListName,
    FormatName,
    MachineName,
    MulticastName,
    MultipleName,
    PrivateName,
    Protocol,
    PublicName,
    Suffix,
)
from openmsmq.names.mqf import MQFFormatNameElement, MQFFormatType
from openmsmq.names.parts import QueueParts, check_computer, check_queue, fold
from openmsmq.names.path import PathName
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.wire.text import encode_utf16z

QUEUE_SUFFIXES = (Suffix.NONE, Suffix.JOURNAL)
MACHINE_SUFFIXES = (Suffix.JOURNAL, Suffix.DEADLETTER, Suffix.DEADXACT)
CONNECTOR_SUFFIXES = (Suffix.NONE, Suffix.XACTONLY)

u16 = st.integers(0, 0xFFFF)
u32 = st.integers(0, 0xFFFFFFFF)


def guids() -> st.SearchStrategy[UUID]:
    """Any GUID, the null one included."""
    return st.uuids(allow_nil=True)


def _letters(extra: str, excluded: str, limit: int) -> st.SearchStrategy[str]:
    """Text of likely and unlikely characters that is clean at its ends."""
    likely = st.sampled_from("abcXYZ019$_-." + extra)
    unlikely = st.characters(
        exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters=excluded
    )
    text = st.text(st.one_of(likely, likely, unlikely), min_size=1, max_size=limit)
    return text.filter(lambda t: t == t.strip())


def computers() -> st.SearchStrategy[str]:
    """Names of computers."""
    return st.one_of(st.just("."), _letters(":", "\\,", 40).filter(_is_computer))


def _is_computer(text: str) -> bool:
    try:
        check_computer(text)
    except ValueError:
        return False
    return True


def queue_names(limit: int = 60, excluded: str = "") -> st.SearchStrategy[str]:
    """Names of queues and subqueues."""
    text = _letters("@#", '\\;+,"' + excluded, limit)
    return text.filter(lambda t: fold(t) != "JOURNAL" and _is_queue(t))


def _is_queue(text: str) -> bool:
    try:
        check_queue(QueueParts(text, False, "", Suffix.NONE))
    except ValueError:
        return False
    return True


def queue_parts(excluded: str = "") -> st.SearchStrategy[QueueParts]:
    """Queues, subqueues, journals, and the queues of a computer."""
    names = queue_names(excluded=excluded)
    none, journal = st.just(Suffix.NONE), st.just(Suffix.JOURNAL)
    return st.one_of(
        st.builds(QueueParts, names, st.booleans(), st.just(""), none),
        st.builds(QueueParts, names, st.booleans(), queue_names(15, excluded), none),
        st.builds(QueueParts, names, st.booleans(), st.just(""), journal),
        st.sampled_from([QueueParts("", False, "", suffix) for suffix in MACHINE_SUFFIXES]),
    )


def path_names() -> st.SearchStrategy[PathName]:
    """Path names of every form."""
    return st.builds(lambda c, p: PathName(c, *p), computers(), queue_parts())


def ip_addresses() -> st.SearchStrategy[str]:
    """IP addresses of both versions."""
    return st.ip_addresses().map(str)


def ipx_addresses() -> st.SearchStrategy[str]:
    """IPX addresses with either separator."""
    network, host = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 48) - 1)
    return st.builds(lambda n, s, h: f"{n:x}{s}{h:X}", network, st.sampled_from(":."), host)


def _web_name(protocol: Protocol, address: str, parts: QueueParts, port: int | None) -> DirectName:
    return DirectName(protocol, address, *parts, port=port)


def direct_names() -> st.SearchStrategy[DirectName]:
    """Direct format names of every protocol, spelled the usual way."""
    web = st.sampled_from((Protocol.HTTP, Protocol.HTTPS))
    hosts = st.one_of(
        ip_addresses(),
        _letters("", "\\,/[]:", 30).filter(lambda t: ":" not in t and _is_computer(t)),
    )
    ports = st.one_of(st.none(), st.sampled_from((80, 443)), st.integers(1, 0xFFFF))
    return st.one_of(
        st.builds(lambda a, p: DirectName(Protocol.OS, a, *p), computers(), queue_parts()),
        st.builds(lambda a, p: DirectName(Protocol.TCP, a, *p), ip_addresses(), queue_parts()),
        st.builds(lambda a, p: DirectName(Protocol.IPX, a, *p), ipx_addresses(), queue_parts()),
        st.builds(_web_name, web, hosts, queue_parts("/"), ports),
    )


def public_names() -> st.SearchStrategy[PublicName]:
    """Public format names."""
    return st.builds(PublicName, guids(), st.sampled_from(QUEUE_SUFFIXES))


def private_names() -> st.SearchStrategy[PrivateName]:
    """Private format names."""
    return st.builds(PrivateName, guids(), u32, st.sampled_from(QUEUE_SUFFIXES))


def list_names() -> st.SearchStrategy[DistributionListName]:
    """Distribution list names, with and without domain."""
    domains = st.one_of(st.none(), _letters("", "\\,", 40))
    return st.builds(DistributionListName, guids(), domains)


def machine_names() -> st.SearchStrategy[MachineName]:
    """Machine format names."""
    return st.builds(MachineName, guids(), st.sampled_from(MACHINE_SUFFIXES))


def connector_names() -> st.SearchStrategy[ConnectorName]:
    """Connector format names."""
    return st.builds(ConnectorName, guids(), st.sampled_from(CONNECTOR_SUFFIXES))


def multicast_names() -> st.SearchStrategy[MulticastName]:
    """Multicast format names."""
    addresses = st.integers(0xE0000000, 0xEFFFFFFF).map(IPv4Address)
    return st.builds(MulticastName, addresses, u16)


def single_names() -> st.SearchStrategy[FormatName]:
    """Format names of one element."""
    return st.one_of(
        direct_names(),
        public_names(),
        private_names(),
        list_names(),
        machine_names(),
        connector_names(),
        multicast_names(),
    )


def multiple_names() -> st.SearchStrategy[MultipleName]:
    """Multiple-element format names."""
    elements = single_names().filter(lambda name: not name.is_read_only)
    return st.lists(elements, min_size=2, max_size=4).map(lambda e: MultipleName(tuple(e)))


def format_names() -> st.SearchStrategy[FormatName]:
    """Format names of every kind."""
    return st.one_of(single_names(), multiple_names())


def raw_texts() -> st.SearchStrategy[bytes]:
    """Null-terminated UTF-16 without other nulls; a direct name or any other text."""
    any_text = st.text(st.characters(exclude_characters="\0"), max_size=20)
    return st.one_of(direct_names().map(lambda name: name.wire_text), any_text).map(encode_utf16z)


def _padded(raw: bytes, padding: bytes) -> QueueReference:
    return QueueReference(ReferenceCode.DIRECT, raw=raw, padding=padding[: -(2 + len(raw)) % 4])


def queue_references(
    codes: Iterable[int] = tuple(ReferenceCode),
) -> st.SearchStrategy[QueueReference]:
    """Queue name fields of a UserHeader of the kinds in `codes`, padding bytes of any value."""
    number_only = (
        ReferenceCode.PRIVATE_ON_SOURCE,
        ReferenceCode.PRIVATE_ON_DESTINATION,
        ReferenceCode.PRIVATE_ON_ADMIN_HOST,
    )
    by_code: dict[ReferenceCode, st.SearchStrategy[QueueReference]] = {
        code: st.builds(QueueReference, st.just(code), number=u32) for code in number_only
    }
    for code in (ReferenceCode.NONE, ReferenceCode.SAME_AS_ADMIN):
        by_code[code] = st.just(QueueReference(code))
    public, elsewhere = ReferenceCode.PUBLIC, ReferenceCode.PRIVATE_ELSEWHERE
    by_code[public] = st.builds(QueueReference, st.just(public), guids())
    by_code[elsewhere] = st.builds(QueueReference, st.just(elsewhere), guids(), u32)
    by_code[ReferenceCode.DIRECT] = st.builds(
        _padded, raw_texts(), st.binary(min_size=3, max_size=3)
    )
    return st.one_of([by_code[ReferenceCode(code)] for code in sorted(codes)])


def mqf_elements() -> st.SearchStrategy[MQFFormatNameElement]:
    """Elements of a MultiQueueFormatHeader list, without alignment bytes: place decides those."""
    kinds = MQFFormatType
    return st.one_of(
        st.builds(MQFFormatNameElement, st.just(kinds.PUBLIC), guids()),
        st.builds(MQFFormatNameElement, st.just(kinds.PRIVATE), guids(), u32),
        st.builds(MQFFormatNameElement, st.just(kinds.DIRECT), raw=raw_texts()),
        st.builds(MQFFormatNameElement, st.just(kinds.DISTRIBUTION_LIST), guids()),
    )
