"""Bounds of descriptors, certificates and keys.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

SDDL_SIZE_MAX: Final = 65_536
"Characters of a security descriptor in words. At the limit: `IllegalSecurityDescriptor`."

ENTRIES_MAX: Final = 256
"Entries of a list of permissions. At the limit: `IllegalSecurityDescriptor`."

DECISIONS_MAX: Final = 4096
"Access decisions that are remembered. At the limit: the one used longest ago is forgotten."

CERTIFICATE_SIZE_MAX: Final = 65_535
"Bytes of a certificate in DER. At the limit: `InvalidCertificate`."

KEY_BITS_MAX: Final = 8192
"Bits of an RSA key, since the cost of using one grows with them. At the limit: it is refused."

EXPONENT_BITS_MAX: Final = 32
"Bits of the public exponent of an RSA key, for the same reason. At the limit: it is refused."

KEYS_MAX: Final = 256
"Keys that are ready to check signatures. At the limit: the one used longest ago is dropped."

PEM_SIZE_MAX: Final = 1 << 20
"Bytes of a file with certificates or a key. At the limit: the file is refused."
