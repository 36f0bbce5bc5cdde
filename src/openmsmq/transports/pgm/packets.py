"""PGM packets (RFC 3208, 8 and 9): what lies in an IP packet of protocol 113, or in a UDP datagram.

All integers are big-endian. Packets that MSMQ has no use for (POLL, POLR, NNAK, ACK) are malformed
here: they are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple, TypeAlias

from openmsmq.errors.peer import Malformed
from openmsmq.transports.pgm.limits import APDU_RECEIVED_MAX, NAK_NUMBERS_MAX, OPTIONS_MAX
from openmsmq.transports.pgm.serials import distance, is_before

HEADER: Final = Struct("!HHBBH6sH")
"Source port, destination port, type, options, checksum, global source id, TSDU length (8)."
DATA: Final = Struct("!II")
"Number, trailing edge (8.2)."
SPM: Final = Struct("!IIIHH4s")
"Number, trailing edge, leading edge, address family, reserved, path (8.1)."
REQUEST: Final = Struct("!IHH4sHH4s")
"Number, then source and group, each with address family and a reserved field (8.3)."
OPTION: Final = Struct("!BBBB")
OPTION_LENGTH: Final = Struct("!BBH")
FRAGMENT: Final = Struct("!III")
NUMBER: Final = Struct("!I")

IPV4: Final = 1
"Address family (8.1)."
HAS_OPTIONS: Final = 0x01
HAS_NETWORK_OPTIONS: Final = 0x02
OPTION_END: Final = 0x80
"Set in the type of the last option (9.1)."
RESET_NO_REPAIRS: Final = 0x40
"In OPT_RST: the source answers no NAKs (9.8)."
NO_ADDRESS: Final = IPv4Address(0)
_CHECKSUM_AT: Final = slice(6, 8)


class PacketType(IntEnum):
    """Types of packets (8)."""

    SPM = 0x00
    ODATA = 0x04
    RDATA = 0x05
    NAK = 0x08
    NCF = 0x0A
    SPMR = 0x0C


class OptionType(IntEnum):
    """Types of options (9)."""

    LENGTH = 0x00
    FRAGMENT = 0x01
    NAK_LIST = 0x02
    JOIN = 0x03
    SYN = 0x0D
    FIN = 0x0E
    RST = 0x0F


class Tsi(NamedTuple):
    """Transport session identifier: a source as all others know it (3.1)."""

    gsi: bytes
    port: int

    def __str__(self) -> str:
        return f"{self.gsi.hex()}.{self.port}"


class PacketOption(NamedTuple):
    """An option: type, the octets that are reserved and specific, and what follows them (9.1)."""

    kind: int
    content: bytes = b""
    specific: int = 0
    reserved: int = 0
    "Sent as 0 and never checked: others leave it uninitialized."


class ApduFragment(NamedTuple):
    """OPT_FRAGMENT: which part of a message a packet has (9.2)."""

    first: int
    "The number of the first part."
    offset: int
    length: int
    "Bytes of the whole message."

    def option(self) -> PacketOption:
        """As an option."""
        return PacketOption(OptionType.FRAGMENT, FRAGMENT.pack(*self))


FIN: Final = PacketOption(OptionType.FIN)


@dataclass(frozen=True, slots=True)
class PgmPacket:
    """What all packets have: the session, the data-destination port, and options."""

    tsi: Tsi
    port: int
    options: tuple[PacketOption, ...] = ()

    def option(self, kind: OptionType) -> PacketOption | None:
        """The first option of a type."""
        return next((option for option in self.options if option.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Spm(PgmPacket):
    """Source path message: the window of a source, and the way back to it (8.1)."""

    number: int = 0
    trail: int = 0
    lead: int = 0
    path: IPv4Address = NO_ADDRESS

    @property
    def has_window(self) -> bool:
        """Whether the edges mean anything (8.1)."""
        return (self.trail, self.lead) != (0, 0x8000_0000)

    def pack(self) -> bytes:
        """The bytes of the packet."""
        body = SPM.pack(self.number, self.trail, self.lead, IPV4, 0, self.path.packed)
        return _pack(PacketType.SPM, self, body)


@dataclass(frozen=True, slots=True)
class PgmData(PgmPacket):
    """ODATA, or RDATA, its repair (8.2)."""

    number: int = 0
    trail: int = 0
    data: bytes = b""
    fragment: ApduFragment | None = None
    is_repair: bool = False

    def pack(self) -> bytes:
        """The bytes of the packet; of a fragment `options` has the option."""
        kind = PacketType.RDATA if self.is_repair else PacketType.ODATA
        return _pack(kind, self, DATA.pack(self.number, self.trail), self.data)


@dataclass(frozen=True, slots=True)
class NumberedPacket(PgmPacket):
    """What a request for repairs and its confirmation have in common (8.3)."""

    numbers: tuple[int, ...] = ()
    "One in the header, others in OPT_NAK_LIST (9.3)."
    source: IPv4Address = NO_ADDRESS
    group: IPv4Address = NO_ADDRESS


@dataclass(frozen=True, slots=True)
class Nak(NumberedPacket):
    """A request for repairs (8.3)."""

    def pack(self) -> bytes:
        """The bytes of the packet; its ports are exchanged (8.3)."""
        return _pack_request(PacketType.NAK, self)


@dataclass(frozen=True, slots=True)
class Ncf(NumberedPacket):
    """Confirms a request to all receivers, so that no other one asks (8.3)."""

    def pack(self) -> bytes:
        """The bytes of the packet."""
        return _pack_request(PacketType.NCF, self)


@dataclass(frozen=True, slots=True)
class SpmRequest(PgmPacket):
    """A receiver asks for an SPM (13); MSMQ sends none."""

    def pack(self) -> bytes:
        """The bytes of the packet."""
        return _pack(PacketType.SPMR, self, b"")


ReceiverPacket: TypeAlias = Nak | SpmRequest
"What receivers send to a source."
AnyPacket: TypeAlias = Spm | PgmData | Nak | Ncf | SpmRequest
"What can come from the network."


def checksum(packet: bytes | bytearray) -> int:
    """The ones' complement of the ones' complement sum, 0 as 0xFFFF (8).

    2 to the 16th is 1 modulo 65,535, so that the sum of all words is a remainder.
    """
    return 0xFFFF - (int.from_bytes(packet) << (len(packet) & 1) * 8) % 0xFFFF


def _pack(kind: PacketType, packet: PgmPacket, body: bytes, data: bytes = b"") -> bytes:
    options = packet.options
    flags, packed = 0, b""
    if options:
        flags, packed = _pack_options(options)
    ports = (packet.tsi.port, packet.port)
    if kind in (PacketType.NAK, PacketType.SPMR):
        ports = ports[::-1]
    header = HEADER.pack(*ports, kind, flags, 0, packet.tsi.gsi, len(data))
    raw = bytearray(b"".join((header, body, packed, data)))
    raw[_CHECKSUM_AT] = checksum(raw).to_bytes(2)
    return bytes(raw)


def _pack_request(kind: PacketType, packet: NumberedPacket) -> bytes:
    source, group = packet.source.packed, packet.group.packed
    return _pack(kind, packet, REQUEST.pack(packet.numbers[0], IPV4, 0, source, IPV4, 0, group))


def nak_list(numbers: tuple[int, ...], *, reserved: int = 0) -> tuple[PacketOption, ...]:
    """The options of a request: its further numbers in OPT_NAK_LIST (9.3)."""
    if len(numbers) == 1:
        return ()
    content = b"".join(map(NUMBER.pack, numbers[1:]))
    return (PacketOption(OptionType.NAK_LIST, content, reserved=reserved),)


def _pack_options(options: tuple[PacketOption, ...]) -> tuple[int, bytes]:
    """The flags of the header, and the options with OPT_LENGTH before them (9.1)."""
    parts = []
    for index, option in enumerate(options):
        end = OPTION_END if index == len(options) - 1 else 0
        head = (option.kind | end, 4 + len(option.content), option.reserved, option.specific)
        parts.append(OPTION.pack(*head) + option.content)
    packed = b"".join(parts)
    is_significant = any(option.kind == OptionType.NAK_LIST for option in options)
    flags = HAS_OPTIONS | (HAS_NETWORK_OPTIONS if is_significant else 0)
    return flags, OPTION_LENGTH.pack(OptionType.LENGTH, 4, 4 + len(packed)) + packed


def decode(raw: bytes) -> AnyPacket:
    """Read a packet; raises Malformed for what is to be dropped (8)."""
    try:
        return _decode(raw)
    except StructError:
        raise Malformed("PGM", len(raw), "the packet ends too early") from None


def _decode(raw: bytes) -> AnyPacket:
    source, destination, kind, flags, check, gsi, size = HEADER.unpack_from(raw)
    is_data = kind in (PacketType.ODATA, PacketType.RDATA)
    if check == 0 and is_data:
        raise Malformed("PGM.Checksum", 6, "a data packet needs one")
    # An odd byte at the end changes nothing, since 256 has an inverse.
    if check and int.from_bytes(raw) % 0xFFFF:
        raise Malformed("PGM.Checksum", 6, "it is wrong")
    if is_data:
        number, trail = DATA.unpack_from(raw, HEADER.size)
        at = HEADER.size + DATA.size
        options: tuple[PacketOption, ...] = ()
        fragment = None
        if flags & HAS_OPTIONS:
            options, at = _decode_options(raw, at)
            fragment = _fragment_of(options, number, size)
        if len(raw) - at != size:
            raise Malformed("PGM.TSDULength", 14, f"{size} is not {len(raw) - at}")
        is_repair = kind == PacketType.RDATA
        tsi = Tsi(gsi, source)
        return PgmData(tsi, destination, options, number, trail, raw[at:], fragment, is_repair)
    return _decode_control(raw, kind, flags, (source, destination), gsi)


def _decode_control(
    raw: bytes, kind: int, flags: int, ports: tuple[int, int], gsi: bytes
) -> Spm | Nak | Ncf | SpmRequest:
    at = HEADER.size
    if kind == PacketType.SPM:
        number, trail, lead, family, _, path = SPM.unpack_from(raw, at)
        _check_family(family, 28)
        options = _decode_options(raw, at + SPM.size)[0] if flags & HAS_OPTIONS else ()
        tsi, port = Tsi(gsi, ports[0]), ports[1]
        return Spm(tsi, port, options, number, trail, lead, IPv4Address(path))
    if kind in (PacketType.NAK, PacketType.NCF):
        number, family, _, source, other, _, group = REQUEST.unpack_from(raw, at)
        _check_family(family, 20)
        _check_family(other, 28)
        options = _decode_options(raw, at + REQUEST.size)[0] if flags & HAS_OPTIONS else ()
        addresses = (_numbers_of(number, options), IPv4Address(source), IPv4Address(group))
        if kind == PacketType.NAK:
            return Nak(Tsi(gsi, ports[1]), ports[0], options, *addresses)
        return Ncf(Tsi(gsi, ports[0]), ports[1], options, *addresses)
    if kind == PacketType.SPMR:
        return SpmRequest(Tsi(gsi, ports[1]), ports[0])
    raise Malformed("PGM.Type", 4, f"{kind:#04x} is none that is used")


def _check_family(family: int, offset: int) -> None:
    if family != IPV4:
        raise Malformed("PGM.AFI", offset, f"{family} is not IPv4")


def _decode_options(raw: bytes, at: int) -> tuple[tuple[PacketOption, ...], int]:
    """The options, and where they end (9.1)."""
    kind, size, total = OPTION_LENGTH.unpack_from(raw, at)
    end = at + total
    if kind & ~OPTION_END or size != 4 or total < 8 or end > len(raw):
        raise Malformed("PGM.OPT_LENGTH", at, f"type {kind}, length {size}, total {total}")
    options: list[PacketOption] = []
    at += 4
    while True:
        if at + 4 > end or len(options) == OPTIONS_MAX:
            raise Malformed("PGM.Options", at, "the last one is missing")
        kind, size, reserved, specific = OPTION.unpack_from(raw, at)
        if size < 4 or at + size > end:
            raise Malformed("PGM.Options", at, f"an option of {size} bytes does not fit")
        content = raw[at + 4 : at + size]
        options.append(PacketOption(kind & ~OPTION_END, content, specific, reserved))
        at += size
        if kind & OPTION_END:
            break
    if at != end:
        raise Malformed("PGM.Options", at, f"there are {end - at} bytes behind the last one")
    return tuple(options), end


def _fragment_of(options: tuple[PacketOption, ...], number: int, size: int) -> ApduFragment | None:
    """OPT_FRAGMENT with values that make sense (9.2).

    It has 16 bytes, although RFC 3208 prints 12: there are three numbers in it.
    """
    found = next((option for option in options if option.kind == OptionType.FRAGMENT), None)
    if found is None:
        return None
    if len(found.content) != FRAGMENT.size:
        raise Malformed("PGM.OPT_FRAGMENT", 24, f"it has {4 + len(found.content)} bytes, not 16")
    fragment = ApduFragment(*FRAGMENT.unpack(found.content))
    first, offset, length = fragment
    is_sound = (
        length <= APDU_RECEIVED_MAX
        and offset + size <= length
        and distance(first, number) < APDU_RECEIVED_MAX
        and (offset == 0) == (first == number)
    )
    if not is_sound:
        raise Malformed("PGM.OPT_FRAGMENT", 24, f"first {first}, offset {offset}, length {length}")
    return fragment


def _numbers_of(number: int, options: tuple[PacketOption, ...]) -> tuple[int, ...]:
    """The numbers that a request names: ascending, each once (9.3)."""
    found = next((option for option in options if option.kind == OptionType.NAK_LIST), None)
    if found is None:
        return (number,)
    if len(found.content) % 4 or not 0 < len(found.content) // 4 < NAK_NUMBERS_MAX:
        raise Malformed("PGM.OPT_NAK_LIST", 36, f"it has {len(found.content)} bytes of numbers")
    numbers = (number, *(one for (one,) in NUMBER.iter_unpack(found.content)))
    if not all(map(is_before, numbers, numbers[1:])):
        raise Malformed("PGM.OPT_NAK_LIST", 36, "numbers do not ascend")
    return numbers
