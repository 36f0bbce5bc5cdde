"""Bounds of the protocol, of values and of bodies; other folders have their own `limits.py`.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

U16_MAX: Final = 0xFFFF
U32_MAX: Final = 0xFFFF_FFFF
U64_MAX: Final = 0xFFFF_FFFF_FFFF_FFFF
"The largest numbers of the wire's unsigned types."

KIB: Final = 1024
"Bytes of the unit that quotas are given in."
NO_QUOTA: Final = U32_MAX
"The quota of a queue that has none ([MS-MQDMPR] 3.1.1.2: Quota and JournalQuota, in KiB)."

PACKET_SIZE_MAX: Final = 0x0040_0000
"""Bytes of a packet with all its headers and padding ([MS-MQMQ] 2.2.19.1). At the limit: a send is
refused, `MessageTooLarge`; a session that announces a larger packet is closed.
"""

LABEL_UNITS_MAX: Final = 0xFA
"""Units of UTF-16 in a label, its null included ([MS-MQMQ] 2.2.19.3). At the limit: the send is
refused, `LabelTooLong`; a packet with a longer one is malformed.
"""

SENDER_CERTIFICATE_SIZE_MAX: Final = 0xFFFF
"Bytes of the certificate in a SecurityHeader ([MS-MQMQ] 2.2.20.6). At the limit: `Malformed`."

HOP_COUNT_MAX: Final = 0x1D
"""Hops over routing servers that a message may pass ([MS-MQMQ] 2.2.19.2). At the limit: the message
is not accepted, with a negative acknowledgement.
"""

WINDOW_SIZE: Final = 0x0040
"""Messages of a session that may be unacknowledged, unless the peer offers another window
([MS-MQMQ] 2.2.20.4). At the limit: nothing is sent until some are acknowledged.
"""

RECOVERABLE_ACK_TIMEOUT_MS: Final = (500, 120_000)
"""Milliseconds until recoverable messages are acknowledged, at least and at most
([MS-MQQB] 2.2.2.1). At the limit: the acknowledgement is sent.
"""

ACK_TIMEOUT_MS: Final = (20_000, 120_000)
"""Milliseconds that an acknowledgement may take, at least and at most ([MS-MQQB] 2.2.2.1). At the
limit: the session is closed.
"""

MULTI_QUEUE_ELEMENTS_MAX: Final = 4096
"""Names in one part of a MultiQueueFormatHeader; the specification sets no bound. At the limit:
`Malformed`.
"""

REFUSED_SIZE_MAX: Final = 64 << 20
"""Bytes of refused messages of other managers that are kept, unless set. At the limit: further ones
are only counted.
"""
REFUSED_COUNT_MAX: Final = 10_000
"Messages among these. At the limit: further ones are only counted."

COMPUTER_NAME_MAX: Final = 256
"""Characters of a computer name ([MS-MQMQ] 2.1.1). At the limit: the name is refused,
`IllegalQueuePathName` or `IllegalFormatName`.
"""

QUEUE_NAME_MAX: Final = 124
"""Characters of a queue name ([MS-MQMQ] 2.1.1). At the limit: the name is refused,
`IllegalQueuePathName` or `IllegalFormatName`.
"""

SUBQUEUE_NAME_MAX: Final = 31
"""Characters of a subqueue name ([MS-MQMQ] 2.1.1). At the limit: the name is refused,
`IllegalQueuePathName` or `IllegalFormatName`.
"""

DOMAIN_NAME_MAX: Final = 255
"""Characters of the domain of a distribution list ([MS-MQMQ] 2.1.6). At the limit: the name is
refused, `IllegalFormatName`.
"""

MULTIPLE_ELEMENTS_MAX: Final = 1024
"""Queues in a multiple-element format name; the specification has no limit. At the limit: the name
is refused, `IllegalFormatName`.
"""

QUEUE_LABEL_MAX: Final = 124
"""Characters of the label of a queue ([MS-MQMQ] 2.3.1.8). At the limit: the label is refused,
`IllegalPropertyValue`.
"""

VARIANT_DEPTH_MAX: Final = 4
"""Levels of vectors of variants inside each other; connection histories need three. At the limit:
`Malformed`.
"""

SUBAUTHORITIES_MAX: Final = 15
"Parts of a security identifier ([MS-DTYP] 2.4.2). At the limit: `Malformed`."

TEXT_MAX: Final = 250_000
"Characters of the text that is made of a decoded body. At the limit: the text is cut, and says so."

JSON_DEPTH_MAX: Final = 100
"""Levels of JSON objects and arrays inside each other. At the limit: the body is shown as bytes,
with the reason.
"""

NBF_DEPTH_MAX: Final = 100
"""Levels of objects or elements of .NET's binary formats inside each other. At the limit: the body
is shown as bytes, with the reason.
"""

NBF_NODES_MAX: Final = 250_000
"""Objects, arrays and elements of one body in .NET's binary formats. At the limit: the body is
shown as bytes, with the reason.
"""

EXPANSION_MAX: Final = 32
"""Characters of output for each byte of a body, through references and repetition. At the limit:
the body is shown as bytes, with the reason.
"""

EXPANSION_FREE: Final = 1 << 20
"""Characters of output for a body of any size, before `EXPANSION_MAX` counts. At the limit:
`EXPANSION_MAX` decides.
"""

RANK_MAX: Final = 32
"""Dimensions of an array; .NET has no more. At the limit: the body is shown as bytes, with the
reason.
"""

XML_DEPTH_MAX: Final = 100
"""Levels of XML elements inside each other. At the limit: the body is shown as bytes, with the
reason.
"""

XML_NODES_MAX: Final = 250_000
"""Elements and attributes of an XML document. At the limit: the body is shown as bytes, with the
reason.
"""

DEDUP_ID_MAX: Final = 400
"Bytes of a deduplication id. At the limit: the send is refused, `InvalidParameter`."

BUILDERS_MAX: Final = 256
"""Combinations of queue names whose encoding is kept. At the limit: the one unused for longest is
encoded again.
"""
