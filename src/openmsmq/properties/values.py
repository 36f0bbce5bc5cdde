"""The values properties may have, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from enum import IntEnum, StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, TypeAlias

from openmsmq.errors import IllegalPropertyValue, IllegalPropertyVt
from openmsmq.limits import QUEUE_LABEL_MAX
from openmsmq.properties.directory import CN, SET, D, E, L, S
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, QM, Property, Q
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.properties.vartype import VECTOR, VarType, vartype_name

LINK_COST_MAX: Final = 999_999
"The dearest routing link; the cheapest costs 1 ([MS-MQMQ] 2.3.7.3)."


class QueuePrivacy(IntEnum):
    """Which messages a queue takes ([MS-MQMQ] 2.3.1.12, PROPID_Q_PRIV_LEVEL)."""

    CLEAR_ONLY = 0
    OPTIONAL = 1
    ENCRYPTED_ONLY = 2


class Scope(IntEnum):
    """How far a directory object is known ([MS-MQMQ] 2.3.1.14, 2.3.13.3)."""

    SITE = 0
    ENTERPRISE = 1


class MachineService(IntEnum):
    """What a machine is to others ([MS-MQMQ] 2.3.2.9, 2.3.8.2, 2.3.8.11)."""

    NONE = 0
    ROUTING_SERVER = 1
    BACKUP_SITE_CONTROLLER = 2
    PRIMARY_SITE_CONTROLLER = 4
    PRIMARY_ENTERPRISE_CONTROLLER = 8
    REMOTE_ACCESS_SERVER = 0x10


class OperatingSystemType(IntEnum):
    """What a queue manager runs on ([MS-MQMQ] 2.3.2.19)."""

    NONE = 0
    FOREIGN = 0x100
    WINDOWS_95 = 0x200
    WINDOWS_CLIENT = 0x300
    WINDOWS_SERVER = 0x400
    WINDOWS_ENTERPRISE_SERVER = 0x500


class NetworkProtocol(IntEnum):
    """What a connected network speaks ([MS-MQMQ] 2.3.4.1)."""

    IP = 1
    IPX = 3
    FOREIGN = 5


class NameStyle(IntEnum):
    """Whether an enterprise weakened its security; the default is OFF ([MS-MQMQ] 2.3.5.2)."""

    OFF = 0
    ON = 1
    DEFAULT = 2


class DirectoryObject(IntEnum):
    """The kinds of object a directory holds ([MS-MQMQ] 2.3.13.4)."""

    QUEUE = 1
    MACHINE = 2
    SITE = 3
    DELETED_OBJECT = 4
    CONNECTED_NETWORK = 5
    ENTERPRISE = 6
    USER = 7
    ROUTING_LINK = 8


class ManagerConnection(StrEnum):
    """Whether a queue manager is on the network ([MS-MQMQ] 2.3.11.4)."""

    CONNECTED = "CONNECTED"
    DISCONNECTED = "DISCONNECTED"


class QueueType(StrEnum):
    """The kind of a queue ([MS-MQMQ] 2.3.12.3)."""

    PUBLIC = "PUBLIC"
    PRIVATE = "PRIVATE"
    MACHINE = "MACHINE"
    CONNECTOR = "CONNECTOR"
    MULTICAST = "MULTICAST"


class QueueLocation(StrEnum):
    """Where a queue lies ([MS-MQMQ] 2.3.12.4)."""

    LOCAL = "LOCAL"
    REMOTE = "REMOTE"


class Answer(StrEnum):
    """Whether a queue is transactional, or foreign ([MS-MQMQ] 2.3.12.5, 2.3.12.6)."""

    UNKNOWN = "UNKNOWN"
    YES = "YES"
    NO = "NO"


class QueueState(StrEnum):
    """The connection of an outgoing queue ([MS-MQMQ] 2.3.12.11)."""

    LOCAL = "LOCAL CONNECTION"
    INACTIVE = "INACTIVE"
    WAITING = "WAITING"
    NEED_VALIDATION = "NEED VALIDATION"
    ON_HOLD = "ONHOLD"
    CONNECTED = "CONNECTED"
    DISCONNECTING = "DISCONNECTING"
    DISCONNECTED = "DISCONNECTED"
    LOCKED = "LOCKED"
    "Only [MS-MQMR] 3.1.4.1 has it."


class ConnectionStatusCode(IntEnum):
    """What became of an attempt to connect ([MS-MQMQ] 2.3.12.25, [MS-MQDMPR] 3.1.1.3)."""

    IN_PROCESS = 0
    ESTABLISH_PACKET_RECEIVED = 1
    ESTABLISHED = 2
    UNKNOWN_FAILURE = 0x80000000
    PING_FAILURE = 0x80000001
    SOCKET_CREATE_FAILURE = 0x80000002
    SOCKET_BIND_FAILURE = 0x80000003
    SOCKET_CONNECT_FAILURE = 0x80000004
    TCP_NOT_ENABLED = 0x80000005
    SOCKET_SEND_FAILURE = 0x80000006
    CONNECTION_NOT_READY = 0x80000007
    DNS_FAILURE = 0x80000008
    CERTIFICATE_VALIDATION_FAILURE = 0x80000009
    CONNECTION_LIMIT_REACHED = 0x8000000A
    CONNECTION_REFUSED = 0x8000000B
    ROUTING_DATA_NOT_AVAILABLE = 0x8000000C
    LOW_RESOURCE = 0x8000000D


_UI4S: Final = VECTOR | VarType.VT_UI4
_I4S: Final = VECTOR | VarType.VT_I4
_TEXTS: Final = VECTOR | VarType.VT_LPWSTR
_SOURCE_INFO: Final = (
    _TEXTS,  # format names
    VECTOR | VarType.VT_CLSID,  # senders
    VECTOR | VarType.VT_UI8,  # sequence identifiers
    _UI4S,  # sequence numbers
    _I4S,  # times of last access
    _UI4S,  # counts of rejects
)
_HISTORY: Final = (
    _UI4S,  # statuses
    _I4S,  # times
    _I4S,  # error codes
    VECTOR | VarType.VT_VARIANT,  # a list of addresses for each attempt
)
_GUID: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _is_multicast_address(value: Value) -> bool:
    """`224.0.0.0:0` to `239.255.255.255:65535` ([MS-MQMQ] 2.3.1.23)."""
    address, _, port = str(value).partition(":")
    if not re.fullmatch("0|[1-9][0-9]{0,4}", port) or int(port) > 0xFFFF:
        return False
    try:
        return IPv4Address(address).is_multicast
    except AddressValueError:
        return False


def _are_next_hops(value: Value) -> bool:
    """`IP=` an address, `IPv6=` an address or `FOREIGN=` a GUID, each ([MS-MQMQ] 2.3.12.12)."""
    return isinstance(value, tuple) and all(_is_next_hop(str(item)) for item in value)


def _is_next_hop(text: str) -> bool:
    kind, _, address = text.partition("=")
    try:
        match kind:
            case "IP":
                IPv4Address(address)
            case "IPv6":
                IPv6Address(address)
            case "FOREIGN":
                return _GUID.fullmatch(address) is not None
            case _:
                return False
    except AddressValueError:
        return False
    return True


def _columns(value: Value, types: tuple[int, ...]) -> tuple[tuple[object, ...], ...] | None:
    """The parallel arrays of a table, None if their types are others or their lengths differ."""
    items = value if isinstance(value, tuple) else ()
    arrays = [item for item in items if isinstance(item, PropVariant)]
    if tuple(array.vartype for array in arrays) != types:
        return None
    columns = tuple(array.value for array in arrays if isinstance(array.value, tuple))
    return columns if len({len(column) for column in columns}) == 1 else None


def _is_source_info(value: Value) -> bool:
    """Six parallel arrays on the streams that end in a queue ([MS-MQMQ] 2.3.12.24)."""
    return _columns(value, _SOURCE_INFO) is not None


def _is_connection_history(value: Value) -> bool:
    """Four parallel arrays with known status codes ([MS-MQMQ] 2.3.12.25).

    The specification calls the last a vector of vectors of text, which no variant can be; a vector
    of variants, each a vector of text, says the same.
    """
    columns = _columns(value, _HISTORY)
    if columns is None:
        return False
    statuses, *_, addresses = columns
    return all(status in _STATUSES for status in statuses) and all(
        isinstance(item, PropVariant) and item.vartype == _TEXTS for item in addresses
    )


def _is_sequence(value: Value) -> bool:
    """SEQUENCE_INFO as a blob ([MS-MQMQ] 2.3.12.13)."""
    return isinstance(value, bytes) and len(value) == SequenceInfo.SIZE


_STATUSES: Final = frozenset(ConnectionStatusCode)
_YES_NO: Final = range(2)
_COSTS: Final = range(1, LINK_COST_MAX + 1)
_SERVICES: Final = frozenset(MachineService) - {MachineService.REMOTE_ACCESS_SERVER}

_Rule: TypeAlias = Container[object] | Callable[[Value], bool]

_RULES: Final[Mapping[Property, _Rule]] = {
    Q.JOURNAL: _YES_NO,
    Q.LABEL: lambda value: len(str(value)) <= QUEUE_LABEL_MAX,
    Q.AUTHENTICATE: _YES_NO,
    Q.PRIV_LEVEL: frozenset(QueuePrivacy),
    Q.TRANSACTION: _YES_NO,
    Q.SCOPE: frozenset(Scope),
    Q.MULTICAST_ADDRESS: _is_multicast_address,
    QM.SERVICE: frozenset(MachineService),
    QM.FOREIGN: _YES_NO,
    QM.OS: frozenset(OperatingSystemType),
    QM.SERVICE_ROUTING: _YES_NO,
    QM.GROUP_IN_CLUSTER: _YES_NO,
    S.NT4_STUB: _YES_NO,
    S.FOREIGN: _YES_NO,
    CN.PROTOCOLID: frozenset(NetworkProtocol),
    E.NAMESTYLE: frozenset(NameStyle),
    L.COST: _COSTS,
    L.ACTUAL_COST: _COSTS,
    SET.SERVICE: _SERVICES,
    SET.OLDSERVICE: _SERVICES,
    SET.NT4: _YES_NO,
    SET.SERVICE_ROUTING: _YES_NO,
    SET.SERVICE_DSSERVER: _YES_NO,
    D.SCOPE: frozenset(Scope),
    D.OBJTYPE: frozenset(DirectoryObject),
    MGMT_MSMQ.CONNECTED: frozenset(ManagerConnection),
    MGMT_MSMQ.DSSERVER: lambda value: str(value).startswith("\\\\") and len(str(value)) > 2,
    MGMT_QUEUE.TYPE: frozenset(QueueType),
    MGMT_QUEUE.LOCATION: frozenset(QueueLocation),
    MGMT_QUEUE.XACT: frozenset(Answer),
    MGMT_QUEUE.FOREIGN: frozenset(Answer),
    MGMT_QUEUE.STATE: frozenset(QueueState),
    MGMT_QUEUE.NEXTHOPS: _are_next_hops,
    MGMT_QUEUE.EOD_LAST_ACK: _is_sequence,
    MGMT_QUEUE.EOD_FIRST_NON_ACK: _is_sequence,
    MGMT_QUEUE.EOD_LAST_NON_ACK: _is_sequence,
    MGMT_QUEUE.EOD_NEXT_SEQ: _is_sequence,
    MGMT_QUEUE.EOD_SOURCE_INFO: _is_source_info,
    MGMT_QUEUE.CONNECTION_HISTORY: _is_connection_history,
}
"What a value must be, where its type alone does not say it all ([MS-MQMQ] 2.3)."


def check_property_value(item: Property, value: PropVariant) -> None:
    """Refuse a value of the wrong type or outside its value set ([MS-MQMQ] 2.3).

    The values of reserved properties have no meaning, so they are not looked at.
    """
    if item.reserved:
        return
    if value.vartype != item.vartype:
        raise IllegalPropertyVt(f"{item.propid} is {vartype_name(item.vartype)}")
    rule = _RULES.get(item)
    if rule is not None and not _permits(rule, value.value):
        raise IllegalPropertyValue(item.propid)


def _permits(rule: _Rule, value: Value) -> bool:
    return rule(value) if callable(rule) else value in rule
