"""Bounds of messages over HTTP: connections, bytes in memory, waits, receipts.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.soap.limits import ENVELOPE_SIZE_MAX

REQUEST_SIZE_MAX: Final = PACKET_SIZE_MAX + ENVELOPE_SIZE_MAX
"""Bytes of the content of a request; a message that is larger has no packet. At the limit: the
request is answered 400.
"""

BUFFER_SIZE_MAX: Final = 64 << 20
"""Bytes of all requests that are being read or stored. At the limit: further requests are answered
503.
"""

CONNECTIONS_MAX: Final = 2000
"""Connections to the listener. At the limit: the oldest without a whole request is closed for a
new one; without such a one, the new one is refused.
"""

READ_S: Final = 60.0
"Seconds that the content of a request may take. At the limit: it is answered 408."

KEEP_ALIVE_S: Final = 300.0
"""Seconds that an unused connection stays open, at both ends (Session Cleanup Timer,
[MC-MQSRM] 3.1.2.4, note 19). At the limit: it is closed.
"""

ANSWER_S: Final = 120.0
"Seconds until a request without answer has failed. At the limit: it is sent again later."

CONNECT_S: Final = 20.0
"Seconds that a connection may take to be made. At the limit: it is tried again later."

HOST_ADDRESSES_MAX: Final = 8
"Addresses of a host that are tried in turn. At the limit: the others are not."

CLIENT_CONNECTIONS_MAX: Final = 1000
"Connections to other managers. At the limit: requests wait for one."

CLIENT_CONNECTIONS_PER_HOST_MAX: Final = 64
"Connections to one host and port. At the limit: requests wait for one."

ANSWER_HEAD_MAX: Final = 16 * 1024
"Bytes of an answer before its content. At the limit: the connection is closed, without an answer."

ANSWER_CONTENT_MAX: Final = 64 * 1024
"Bytes of the content of an answer, which is not read. At the limit: the connection is closed."

WAYS_MAX: Final = 1000
"""Hosts whose proxy is remembered. At the limit: all are forgotten, and the environment is asked
again.
"""

STREAMS_DUE_MAX: Final = 10_000
"""Streams of other managers that are owed a receipt. At the limit: those owed longest are dropped,
since their senders send again.
"""

COALESCE_MAX_S: Final = 10.0
"""Seconds between stream receipts while messages keep coming ([MC-MQSRM] 3.1.5.1.6.3). At the
limit: a receipt is sent.
"""

RECEIPT_MESSAGES_MAX: Final = 256
"Messages of a stream until its sender hears of them. At the limit: a receipt is sent at once."

RECEIPT_ATTEMPTS_MAX: Final = 6
"""Attempts to deliver a stream receipt. At the limit: it is dropped; the sender sends again, and is
owed another.
"""

RECEIPTS_POSTED_MAX: Final = 256
"""Requests with stream receipts at a time. At the limit: the one that has been under way longest is
cancelled, and sent again later.
"""

POSTS_MAX: Final = 64
"""Requests at a time with messages of one outgoing queue; those of a stream are sent one by one. At
the limit: messages wait.
"""

TAKEN_SIZE_MAX: Final = PACKET_SIZE_MAX
"Bytes of messages that are taken from a queue together. At the limit: the next are taken after."

REMOVED_TOGETHER_MAX: Final = 64
"Messages that were taken over and wait to be removed together. At the limit: they are removed."

REMOVAL_S: Final = 0.01
"Seconds that a message which was taken over waits for others. At the limit: they are removed."
