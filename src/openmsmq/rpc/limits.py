"""Every bound of the remote-call runtime, and what happens when it is reached.

Sections are named where a specification sets the bound; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

FRAGMENT_SIZE: Final = 5840
"""Bytes of a fragment that is offered in bind and bind_ack; what current peers use. At the limit:
the message goes on in another fragment.
"""
FRAGMENT_SIZE_LEAST: Final = 1432
"""Bytes of a fragment that every peer can receive (C706 appendix K). At the limit: a bind that
offers less is refused.
"""
REQUEST_STUB_MAX: Final = 4 << 20
"""Bytes of arguments in all fragments of a request ([MS-RPCE] 3.3.3.5.4). At the limit: the call
is answered with a fault.
"""
RESPONSE_STUB_MAX: Final = 0x0048_0000
"""Bytes of results: a whole packet, its extra headers, and what NDR adds ([MS-MQQP] 2.2.2.1). At
the limit: a client closes the connection.
"""
CONTEXTS_MAX: Final = 256
"""Contexts of a connection, for presentation ([MS-RPCE] 3.3.3.5.5). At the limit: the
context is rejected.
"""
CALLS_MAX: Final = 256
"Calls of a connection that are not answered. At the limit: a call is answered with a fault."
UNREAD_MAX: Final = 32 << 20
"""Bytes of results that become ready while the client does not read those before them; requests
that it has sent meanwhile are not taken. At the limit: the connection is closed.
"""
HANDLES_MAX: Final = 4096
"Handles of an association. At the limit: the call that opens one more gets a fault."
CONNECTIONS_MAX: Final = 64
"Connections of an association. At the limit: the bind is refused."
STRAY_CALLS: Final = 150
"""Calls by which a stray fragment may be old ([MS-RPCE] 3.3.3.5.6). At the limit: the connection is
closed.
"""
TOKEN_SIZE_MAX: Final = 16 << 10
"Bytes of an authentication token. At the limit: the authentication fails."
LEGS_MAX: Final = 8
"Tokens that a client may send until it is authenticated. At the limit: the authentication fails."
DEPTH_MAX: Final = 16
"Structures within structures that are read. At the limit: the call gets a fault for bad data."
AUTHENTICATE_WITHIN: Final = 30.0
"""Seconds from the connection to a bind, and from the first token to the last. At the limit: the
connection is closed.
"""
IDLE_CALL_WITHIN: Final = 60.0
"""Seconds that a request may take from its first fragment to its last. At the limit: the connection
is closed.
"""
INTERFACES_MAX: Final = 256
"Interfaces that an answer may list. At the limit: the answer is refused as malformed."
PRINCIPAL_NAME_MAX: Final = 4096
"""Bytes that a caller may have for the name of the server. At the limit: the call gets a fault for
bad data.
"""
