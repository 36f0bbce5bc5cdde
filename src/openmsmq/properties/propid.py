"""Property identifiers of messages, queues and queue managers ([MS-MQMQ] 2.3).

One enumeration per kind of object: `Q.PATHNAME` is PROPID_Q_PATHNAME. Numbers repeat between the
two management families, so members compare by identity and `value` is the number.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Self

from openmsmq.errors import IllegalPropid
from openmsmq.properties.vartype import VECTOR, VarType

RESERVED: Final = True
I2 = VarType.VT_I2
I4 = VarType.VT_I4
UI1 = VarType.VT_UI1
UI2 = VarType.VT_UI2
UI4 = VarType.VT_UI4
I8 = VarType.VT_I8
UI8 = VarType.VT_UI8
LPWSTR = VarType.VT_LPWSTR
BLOB = VarType.VT_BLOB
CLSID = VarType.VT_CLSID
VARIANT = VarType.VT_VARIANT


class Property(Enum):
    """One property of one kind of object; its value is the PROPID ([MS-MQMQ] 2.3)."""

    _value_: int
    vartype: int
    "The type of its values, `VECTOR` included."
    section: str
    "Where [MS-MQMQ] defines it; message properties have none."
    since: str
    "The first MSMQ version that has it, 1.0 where nothing is said."
    reserved: bool
    "Its values are undefined and must not be interpreted."

    def __new__(
        cls,
        number: int,
        vartype: int,
        section: str = "",
        since: str = "1.0",
        reserved: bool = False,
    ) -> Self:
        member = object.__new__(cls)
        member._value_ = number
        member.vartype = int(vartype)
        member.section = section
        member.since = since
        member.reserved = reserved
        return member

    @property
    def propid(self) -> str:
        """The name specifications use: `PROPID_Q_PATHNAME`."""
        return f"PROPID_{type(self).__name__}_{self.name}"

    @classmethod
    def from_number(cls, number: int) -> Self:
        """The property of this family that has this number."""
        found = next((member for member in cls if member.value == number), None)
        if found is None:
            raise IllegalPropid(f"PROPID_{cls.__name__}_ {number}")
        return found


class M(Property):
    """Messages.

    Only the application interface numbers these; on the wire the packet headers hold the values.
    """

    CLASS = 1, UI2
    MSGID = 2, UI1 | VECTOR
    CORRELATIONID = 3, UI1 | VECTOR
    PRIORITY = 4, UI1
    DELIVERY = 5, UI1
    ACKNOWLEDGE = 6, UI1
    JOURNAL = 7, UI1
    APPSPECIFIC = 8, UI4
    BODY = 9, UI1 | VECTOR
    BODY_SIZE = 10, UI4
    LABEL = 11, LPWSTR
    LABEL_LEN = 12, UI4
    TIME_TO_REACH_QUEUE = 13, UI4
    TIME_TO_BE_RECEIVED = 14, UI4
    RESP_QUEUE = 15, LPWSTR
    RESP_QUEUE_LEN = 16, UI4
    ADMIN_QUEUE = 17, LPWSTR
    ADMIN_QUEUE_LEN = 18, UI4
    VERSION = 19, UI4
    SENDERID = 20, UI1 | VECTOR
    SENDERID_LEN = 21, UI4
    SENDERID_TYPE = 22, UI4
    PRIV_LEVEL = 23, UI4
    AUTH_LEVEL = 24, UI4
    AUTHENTICATED = 25, UI1
    HASH_ALG = 26, UI4
    ENCRYPTION_ALG = 27, UI4
    SENDER_CERT = 28, UI1 | VECTOR
    SENDER_CERT_LEN = 29, UI4
    SRC_MACHINE_ID = 30, CLSID
    SENTTIME = 31, UI4
    ARRIVEDTIME = 32, UI4
    DEST_QUEUE = 33, LPWSTR
    DEST_QUEUE_LEN = 34, UI4
    EXTENSION = 35, UI1 | VECTOR
    EXTENSION_LEN = 36, UI4
    SECURITY_CONTEXT = 37, UI4
    CONNECTOR_TYPE = 38, CLSID
    XACT_STATUS_QUEUE = 39, LPWSTR
    XACT_STATUS_QUEUE_LEN = 40, UI4
    TRACE = 41, UI1
    BODY_TYPE = 42, UI4
    DEST_SYMM_KEY = 43, UI1 | VECTOR
    DEST_SYMM_KEY_LEN = 44, UI4
    SIGNATURE = 45, UI1 | VECTOR
    SIGNATURE_LEN = 46, UI4
    PROV_TYPE = 47, UI4
    PROV_NAME = 48, LPWSTR
    PROV_NAME_LEN = 49, UI4
    FIRST_IN_XACT = 50, UI1
    LAST_IN_XACT = 51, UI1
    XACTID = 52, UI1 | VECTOR
    AUTHENTICATED_EX = 53, UI1
    RESP_FORMAT_NAME = 54, LPWSTR
    RESP_FORMAT_NAME_LEN = 55, UI4
    DEST_FORMAT_NAME = 58, LPWSTR
    DEST_FORMAT_NAME_LEN = 59, UI4
    LOOKUPID = 60, UI8
    SOAP_ENVELOPE = 61, LPWSTR
    SOAP_ENVELOPE_LEN = 62, UI4
    COMPOUND_MESSAGE = 63, UI1 | VECTOR
    COMPOUND_MESSAGE_SIZE = 64, UI4
    SOAP_HEADER = 65, LPWSTR
    SOAP_BODY = 66, LPWSTR
    DEADLETTER_QUEUE = 67, LPWSTR
    DEADLETTER_QUEUE_LEN = 68, UI4
    ABORT_COUNT = 69, UI4
    MOVE_COUNT = 70, UI4
    LAST_MOVE_TIME = 75, UI4


class Q(Property):
    """Queues ([MS-MQMQ] 2.3.1)."""

    INSTANCE = 101, CLSID, "2.3.1.1"
    TYPE = 102, CLSID, "2.3.1.2"
    PATHNAME = 103, LPWSTR, "2.3.1.3"
    JOURNAL = 104, UI1, "2.3.1.4"
    QUOTA = 105, UI4, "2.3.1.5"
    BASEPRIORITY = 106, I2, "2.3.1.6"
    JOURNAL_QUOTA = 107, UI4, "2.3.1.7"
    LABEL = 108, LPWSTR, "2.3.1.8"
    CREATE_TIME = 109, I4, "2.3.1.9"
    MODIFY_TIME = 110, I4, "2.3.1.10"
    AUTHENTICATE = 111, UI1, "2.3.1.11"
    PRIV_LEVEL = 112, UI4, "2.3.1.12"
    TRANSACTION = 113, UI1, "2.3.1.13"
    SCOPE = 114, UI1, "2.3.1.14"
    QMID = 115, CLSID, "2.3.1.15"
    PARTITIONID = 116, CLSID, "2.3.1.16"
    SEQNUM = 117, BLOB, "2.3.1.17"
    HASHKEY = 118, UI4, "2.3.1.18", "1.0", RESERVED
    LABEL_HASHKEY = 119, UI4, "2.3.1.19", "1.0", RESERVED
    FULL_PATH = 121, LPWSTR, "2.3.1.20", "2.0"
    NAME_SUFFIX = 123, LPWSTR, "2.3.1.21", "2.0"
    PATHNAME_DNS = 124, LPWSTR, "2.3.1.22", "2.0"
    MULTICAST_ADDRESS = 125, LPWSTR, "2.3.1.23", "3.0"
    ADS_PATH = 126, LPWSTR, "2.3.1.24", "3.0"
    SECURITY = 1101, BLOB, "2.3.1.25"
    OBJ_SECURITY = 1102, BLOB, "2.3.1.26", "2.0"
    SECURITY_INFORMATION = 1103, UI4, "2.3.1.27"


class QM(Property):
    """Queue managers ([MS-MQMQ] 2.3.2)."""

    SITE_ID = 201, CLSID, "2.3.2.1"
    MACHINE_ID = 202, CLSID, "2.3.2.2"
    PATHNAME = 203, LPWSTR, "2.3.2.3"
    ENCRYPTION_PK = 205, UI1 | VECTOR, "2.3.2.4"
    ADDRESS = 206, BLOB, "2.3.2.5"
    CNS = 207, CLSID | VECTOR, "2.3.2.6"
    OUTFRS = 208, CLSID | VECTOR, "2.3.2.7"
    INFRS = 209, CLSID | VECTOR, "2.3.2.8"
    SERVICE = 210, UI4, "2.3.2.9"
    PARTITIONID = 211, CLSID, "2.3.2.11"
    HASHKEY = 212, UI4, "2.3.2.12", "1.0", RESERVED
    SEQNUM = 213, BLOB, "2.3.2.13"
    QUOTA = 214, UI4, "2.3.2.10"
    JOURNAL_QUOTA = 215, UI4, "2.3.2.14"
    MACHINE_TYPE = 216, LPWSTR, "2.3.2.15"
    CREATE_TIME = 217, I4, "2.3.2.16"
    MODIFY_TIME = 218, I4, "2.3.2.17"
    FOREIGN = 219, UI1, "2.3.2.18"
    OS = 220, UI4, "2.3.2.19"
    FULL_PATH = 221, LPWSTR, "2.3.2.20", "2.0"
    SITE_IDS = 222, CLSID | VECTOR, "2.3.2.21", "2.0"
    OUTFRS_DN = 223, LPWSTR | VECTOR, "2.3.2.22", "2.0"
    INFRS_DN = 224, LPWSTR | VECTOR, "2.3.2.23", "2.0"
    SERVICE_ROUTING = 227, UI1, "2.3.2.24", "2.0"
    SERVICE_DSSERVER = 228, UI1, "2.3.2.25"
    SERVICE_DEPCLIENTS = 229, UI1, "2.3.2.26"
    ENCRYPTION_PK_BASE = 231, UI1 | VECTOR, "2.3.2.27", "2.0"
    ENCRYPTION_PK_ENHANCED = 232, UI1 | VECTOR, "2.3.2.28", "2.0"
    PATHNAME_DNS = 233, LPWSTR, "2.3.2.29", "2.0"
    OBJ_SECURITY = 234, BLOB, "2.3.2.30", "2.0"
    SECURITY_INFORMATION = 237, UI4, "2.3.2.31"
    ENCRYPT_PKS = 238, BLOB, "2.3.2.32"
    SIGN_PKS = 239, BLOB, "2.3.2.33"
    OWNER_SID = 241, BLOB, "2.3.2.34", "2.0"
    GROUP_IN_CLUSTER = 242, UI1, "2.3.2.35", "2.0"
    SECURITY = 1201, BLOB, "2.3.2.36"
    SIGN_PK = 1202, BLOB, "2.3.2.37"
    ENCRYPT_PK = 1203, BLOB, "2.3.2.38"
    UPGRADE_DACL = 1205, BLOB, "2.3.2.39"


class MGMT_MSMQ(Property):
    """What management can ask of a queue manager ([MS-MQMQ] 2.3.11)."""

    ACTIVEQUEUES = 1, LPWSTR | VECTOR, "2.3.11.1"
    PRIVATEQ = 2, LPWSTR | VECTOR, "2.3.11.2"
    DSSERVER = 3, LPWSTR, "2.3.11.3"
    CONNECTED = 4, LPWSTR, "2.3.11.4"
    TYPE = 5, LPWSTR, "2.3.11.5"
    BYTES_IN_ALL_QUEUES = 6, I8, "2.3.11.6", "3.0"


class MGMT_QUEUE(Property):
    """What management can ask of a queue ([MS-MQMQ] 2.3.12)."""

    PATHNAME = 1, LPWSTR, "2.3.12.1"
    FORMATNAME = 2, LPWSTR, "2.3.12.2"
    TYPE = 3, LPWSTR, "2.3.12.3"
    LOCATION = 4, LPWSTR, "2.3.12.4"
    XACT = 5, LPWSTR, "2.3.12.5"
    FOREIGN = 6, LPWSTR, "2.3.12.6"
    MESSAGE_COUNT = 7, UI4, "2.3.12.7"
    BYTES_IN_QUEUE = 8, UI4, "2.3.12.8", "3.0"
    JOURNAL_MESSAGE_COUNT = 9, UI4, "2.3.12.9"
    BYTES_IN_JOURNAL = 10, UI4, "2.3.12.10", "3.0"
    STATE = 11, LPWSTR, "2.3.12.11"
    NEXTHOPS = 12, LPWSTR | VECTOR, "2.3.12.12"
    EOD_LAST_ACK = 13, BLOB, "2.3.12.13"
    EOD_LAST_ACK_TIME = 14, I4, "2.3.12.14"
    EOD_LAST_ACK_COUNT = 15, UI4, "2.3.12.15"
    EOD_FIRST_NON_ACK = 16, BLOB, "2.3.12.16"
    EOD_LAST_NON_ACK = 17, BLOB, "2.3.12.17"
    EOD_NEXT_SEQ = 18, BLOB, "2.3.12.18"
    EOD_NO_READ_COUNT = 19, UI4, "2.3.12.19"
    EOD_NO_ACK_COUNT = 20, UI4, "2.3.12.20"
    EOD_RESEND_TIME = 21, I4, "2.3.12.21"
    EOD_RESEND_INTERVAL = 22, UI4, "2.3.12.22"
    EOD_RESEND_COUNT = 23, UI4, "2.3.12.23"
    EOD_SOURCE_INFO = 24, VARIANT | VECTOR, "2.3.12.24"
    CONNECTION_HISTORY = 25, VARIANT | VECTOR, "2.3.12.25"
    SUBQUEUE_COUNT = 26, UI4, "2.3.12.26"
    SUBQUEUE_NAMES = 27, LPWSTR | VECTOR, "2.3.12.27"
