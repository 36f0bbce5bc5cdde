"""Every bound of the remote-call runtime, with its section where it has one."""

from __future__ import annotations

from typing import Final

FRAGMENT_SIZE: Final = 5840
"Bytes of a fragment that is offered in bind and bind_ack; what current peers use."
FRAGMENT_SIZE_LEAST: Final = 1432
"Every peer can receive a fragment of so many bytes (C706 appendix K)."
REQUEST_STUB_MAX: Final = 4 << 20
"Bytes of arguments in all fragments of a request ([MS-RPCE] 3.3.3.5.4)."
RESPONSE_STUB_MAX: Final = 0x0048_0000
"Bytes of results: a whole packet, its extra headers, and what NDR adds ([MS-MQQP] 2.2.2.1)."
CONTEXTS_MAX: Final = 256
"Presentation contexts of a connection; [MS-RPCE] 3.3.3.5.5 allows many more."
CALLS_MAX: Final = 256
"Calls of a connection that are not answered."
HANDLES_MAX: Final = 4096
"Context handles of an association."
CONNECTIONS_MAX: Final = 64
"Connections of an association."
STRAY_CALLS: Final = 150
"A stray fragment of a call that is no older than this is ignored ([MS-RPCE] 3.3.3.5.6)."
TOKEN_SIZE_MAX: Final = 16 << 10
"Bytes of an authentication token."
LEGS_MAX: Final = 8
"Tokens that a client may send until it is authenticated."
AUTHENTICATE_WITHIN: Final = 30.0
"Seconds from the connection to a bind, and from the first token to the last."
IDLE_CALL_WITHIN: Final = 60.0
"Seconds that a request may take from its first fragment to its last."
