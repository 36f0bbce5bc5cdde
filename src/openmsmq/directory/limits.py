"""Every bound of the directory, and what happens when it is reached.

Sections are named where a specification sets the bound; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

ANSWER_SIZE_MAX: Final = 16 << 20
"Bytes of one LDAP message. At the limit: the connection is closed."
ROWS_MAX: Final = 200_000
"Objects that a search may find. At the limit: the search fails; no part of it counts."
SEARCH_SIZE_MAX: Final = 256 << 20
"Bytes that all answers to a search may have. At the limit: the search fails."
PAGE_SIZE: Final = 500
"Objects that are asked for at once. At the limit: the next page is asked for."
DEPTH_MAX: Final = 32
"Parts within parts of a filter or an answer. At the limit: it is refused as malformed."
SEARCH_WITHIN: Final = 120.0
"Seconds that a search may take ([MS-MQDSSM] 3.1.6.15). At the limit: it fails."
CONNECT_WITHIN: Final = 10.0
"Seconds to connect and log on to a domain controller. At the limit: the next one is tried."
CONTROLLERS_MAX: Final = 100
"Controllers of a domain that are known. At the limit: others are not tried."
DNS_WITHIN: Final = 10.0
"Seconds for name servers to answer. At the limit: no controller is found."
CALLS_MAX: Final = 256
"Operations of a connection that are not answered. At the limit: the next one fails."
MEMBERS_MAX: Final = 10_000
"Members of a distribution list and of lists in it. At the limit: it cannot be sent to."
LISTS_DEPTH_MAX: Final = 16
"Lists within lists of recipients. At the limit: the list cannot be sent to."
QUEUE_NAME_MAX: Final = 124
"Characters of the name of a public queue ([MS-MQMQ] 2.1.1). At the limit: it is refused."
LABEL_MAX: Final = 124
"Characters of the label of a public queue ([MS-MQMQ] 2.3.1.8). At the limit: it is refused."
NOTIFICATION_SIZE_MAX: Final = 4096
"Bytes of a change notification. At the limit: it is ignored."
NOTIFICATIONS_MAX: Final = 100
"""Notifications that wait to be processed ([MS-MQCN] <3>). At the limit: they are dropped,
and all public queues of this manager are read again instead.
"""
CACHE_MAX: Final = 10_000
"Objects that are remembered. At the limit: the oldest is forgotten, and asked for again."
LDIF_SIZE_MAX: Final = 16 << 20
"Bytes of an LDIF file. At the limit: it is refused."
AWAITED_TIME_MAX: Final = 60
"""Seconds that a message waits for an answer of the directory about its queue. At the limit: it is
refused if the queue is still not here, and the next one for it has the directory asked again.
"""
SENDER_QUESTIONS_MAX: Final = 10
"""Queues that the directory is asked for in a minute for messages of one sender. At the limit: its
messages to further queues that are not here are refused at once.
"""
QUESTIONS_MAX: Final = 100
"""Queues that it is asked for in a minute for messages of all senders. At the limit: messages to
further ones that are not here are refused at once.
"""
PROBLEMS_MAX: Final = 100
"""Objects that cannot be used and queues without one that are shown. At the limit: others are left
out.
"""
