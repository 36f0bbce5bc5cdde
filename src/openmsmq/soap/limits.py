"""Bounds of SOAP envelopes and their attachments.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

ENVELOPE_SIZE_MAX: Final = 128 * 1024
"Bytes of an envelope; the largest of the examples has 1,520. At the limit: `Malformed`."

ENVELOPE_DEPTH_MAX: Final = 32
"Levels of elements inside each other. At the limit: `Malformed`."

ENVELOPE_NODES_MAX: Final = 4096
"Elements and attributes of an envelope. At the limit: `Malformed`."

URI_MAX: Final = 1024
"Characters of an address; a host has at most 256, a queue 124. At the limit: `Malformed`."

PART_HEADERS_MAX: Final = 4096
"Bytes of the headers of an attachment. At the limit: `Malformed`."

PART_HEADER_LINES_MAX: Final = 16
"Lines of these. At the limit: `Malformed`."

CONTENT_TYPE_MAX: Final = 512
"Characters of a Content-Type header. At the limit: `Malformed`."

BOUNDARY_MAX: Final = 70
"Characters of a boundary (RFC 2046 5.1.1). At the limit: `Malformed`."

VALUE_SIZE_MAX: Final = 1024
"Bytes of a signature value: keys of 8192 bits. At the limit: the signature is bad."

REFERENCES_MAX: Final = 2
"Attachments that a signature covers ([MC-MQSRM] 2.2.7.1). At the limit: the signature is bad."

SHAPES_MAX: Final = 64
"Kinds of envelopes whose tags are remembered. At the limit: the oldest is forgotten."

SHAPE_TAGS_MAX: Final = 200
"Tags of an envelope that is remembered. At the limit: it is read anew each time."

SHAPE_SIZE_MAX: Final = 8192
"Characters of these tags. At the limit: it is read anew each time."

SIMILAR_MAX: Final = 64
"Envelopes that are remembered to read similar ones faster. At the limit: the oldest is forgotten."

SIMILAR_SIZE_MAX: Final = 8192
"Characters of such an envelope. At the limit: it is read anew each time."
