"""Property identifiers of the other objects a directory holds ([MS-MQMQ] 2.3)."""

from __future__ import annotations

from openmsmq.properties.propid import RESERVED, Property
from openmsmq.properties.vartype import VECTOR, VarType

UI1 = VarType.VT_UI1
UI2 = VarType.VT_UI2
UI4 = VarType.VT_UI4
LPWSTR = VarType.VT_LPWSTR
BLOB = VarType.VT_BLOB
CLSID = VarType.VT_CLSID


class S(Property):
    """Sites ([MS-MQMQ] 2.3.3)."""

    PATHNAME = 301, LPWSTR, "2.3.3.1"
    SITEID = 302, CLSID, "2.3.3.2"
    GATES = 303, CLSID | VECTOR, "2.3.3.3"
    PSC = 304, LPWSTR, "2.3.3.4"
    INTERVAL1 = 305, UI2, "2.3.3.5"
    INTERVAL2 = 306, UI2, "2.3.3.6"
    PARTITIONID = 307, CLSID, "2.3.3.7"
    SEQNUM = 308, BLOB, "2.3.3.8"
    FULL_NAME = 309, LPWSTR, "2.3.3.9", "2.0"
    NT4_STUB = 310, UI2, "2.3.3.10", "2.0"
    FOREIGN = 311, UI1, "2.3.3.11", "2.0"
    DONOTHING = 312, UI1, "2.3.3.12", "2.0"
    SECURITY = 1301, BLOB, "2.3.3.13"
    PSC_SIGNPK = 1302, BLOB, "2.3.3.14"
    SECURITY_INFORMATION = 1303, UI4, "2.3.3.15", "3.0"


class CN(Property):
    """Connected networks ([MS-MQMQ] 2.3.4)."""

    PROTOCOLID = 501, UI1, "2.3.4.1"
    NAME = 502, LPWSTR, "2.3.4.2"
    GUID = 503, CLSID, "2.3.4.3"
    PARTITIONID = 504, CLSID, "2.3.4.4"
    SEQNUM = 505, BLOB, "2.3.4.5"
    SECURITY = 1501, BLOB, "2.3.4.6"


class E(Property):
    """The enterprise ([MS-MQMQ] 2.3.5)."""

    NAME = 601, LPWSTR, "2.3.5.1"
    NAMESTYLE = 602, UI1, "2.3.5.2"
    CSP_NAME = 603, LPWSTR, "2.3.5.3"
    PECNAME = 604, LPWSTR, "2.3.5.4"
    S_INTERVAL1 = 605, UI2, "2.3.5.5", "1.0", RESERVED
    S_INTERVAL2 = 606, UI2, "2.3.5.6", "1.0", RESERVED
    PARTITIONID = 607, CLSID, "2.3.5.7"
    SEQNUM = 608, BLOB, "2.3.5.8"
    ID = 609, CLSID, "2.3.5.9"
    CRL = 610, BLOB, "2.3.5.10", "1.0", RESERVED
    CSP_TYPE = 611, UI4, "2.3.5.11", "1.0", RESERVED
    ENCRYPT_ALG = 612, UI4, "2.3.5.12", "1.0", RESERVED
    SIGN_ALG = 613, UI4, "2.3.5.13", "1.0", RESERVED
    HASH_ALG = 614, UI4, "2.3.5.14", "1.0", RESERVED
    CIPHER_MODE = 615, UI4, "2.3.5.18", "1.0", RESERVED
    LONG_LIVE = 616, UI4, "2.3.5.15"
    VERSION = 617, UI2, "2.3.5.16"
    SECURITY = 1601, BLOB, "2.3.5.17"


class U(Property):
    """Users ([MS-MQMQ] 2.3.6)."""

    SID = 701, BLOB, "2.3.6.1"
    SIGN_CERT = 702, BLOB, "2.3.6.4"
    PARTITIONID = 703, CLSID, "2.3.6.2"
    SEQNUM = 704, BLOB, "2.3.6.3"
    DIGEST = 705, CLSID | VECTOR, "2.3.6.5"
    ID = 706, CLSID, "2.3.6.6"


class L(Property):
    """Routing links ([MS-MQMQ] 2.3.7)."""

    NEIGHBOR1 = 801, CLSID, "2.3.7.1"
    NEIGHBOR2 = 802, CLSID, "2.3.7.2"
    COST = 803, UI4, "2.3.7.3"
    PARTITIONID = 804, CLSID, "2.3.7.4"
    SEQNUM = 805, BLOB, "2.3.7.5"
    ID = 806, CLSID, "2.3.7.6"
    GATES_DN = 807, LPWSTR | VECTOR, "2.3.7.7", "3.0"
    NEIGHBOR1_DN = 808, LPWSTR, "2.3.7.8", "2.0"
    NEIGHBOR2_DN = 809, LPWSTR, "2.3.7.9", "2.0"
    DESCRIPTION = 810, LPWSTR, "2.3.7.10", "2.0"
    FULL_PATH = 811, LPWSTR, "2.3.7.11", "2.0"
    ACTUAL_COST = 812, UI4, "2.3.7.12", "2.0"
    GATES = 813, CLSID | VECTOR, "2.3.7.13", "2.0"


class SET(Property):
    """Settings of a server, since MSMQ 2.0 ([MS-MQMQ] 2.3.8)."""

    NAME = 5101, LPWSTR, "2.3.8.1", "2.0"
    SERVICE = 5102, UI4, "2.3.8.2", "2.0"
    QM_ID = 5103, CLSID, "2.3.8.3", "2.0"
    FULL_PATH = 5105, LPWSTR, "2.3.8.4", "2.0"
    NT4 = 5106, UI1, "2.3.8.5", "2.0"
    PARTITIONID = 5107, CLSID, "2.3.8.6", "2.0"
    SITENAME = 5108, LPWSTR, "2.3.8.7", "2.0"
    SERVICE_ROUTING = 5109, UI1, "2.3.8.8", "2.0"
    SERVICE_DSSERVER = 5110, UI1, "2.3.8.9", "2.0"
    SERVICE_DEPCLIENTS = 5111, UI1, "2.3.8.10", "2.0"
    OLDSERVICE = 5112, UI4, "2.3.8.11", "2.0"


class MQU(Property):
    """Migrated users, since MSMQ 2.0 ([MS-MQMQ] 2.3.9)."""

    SID = 5401, BLOB, "2.3.9.1", "2.0"
    SIGN_CERT = 5402, BLOB, "2.3.9.2", "2.0"
    DIGEST = 5405, CLSID | VECTOR, "2.3.9.3", "2.0"
    ID = 5406, CLSID, "2.3.9.4", "2.0"
    SECURITY = 5407, BLOB, "2.3.9.5", "2.0"


class COM(Property):
    """Computers, since MSMQ 2.0 ([MS-MQMQ] 2.3.10)."""

    FULL_PATH = 5201, LPWSTR, "2.3.10.1", "2.0"
    SAM_ACCOUNT = 5202, LPWSTR, "2.3.10.2", "2.0"
    ACCOUNT_CONTROL = 5204, UI4, "2.3.10.3", "2.0"
    DNS_HOSTNAME = 5205, LPWSTR, "2.3.10.4", "2.0"
    SID = 5206, BLOB, "2.3.10.5", "2.0"
    SIGN_CERT = 5207, BLOB, "2.3.10.6", "2.0"
    DIGEST = 5208, CLSID | VECTOR, "2.3.10.7", "2.0"
    ID = 5209, CLSID, "2.3.10.8", "2.0"


class D(Property):
    """Notices that a directory object was deleted ([MS-MQMQ] 2.3.13)."""

    SEQNUM = 1401, BLOB, "2.3.13.1"
    PARTITIONID = 1402, CLSID, "2.3.13.2"
    SCOPE = 1403, UI1, "2.3.13.3"
    OBJTYPE = 1404, UI1, "2.3.13.4"
    IDENTIFIER = 1405, CLSID, "2.3.13.5"
