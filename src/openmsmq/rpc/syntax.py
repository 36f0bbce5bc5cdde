"""Names of interfaces and of transfer syntaxes: a UUID and a version."""

from __future__ import annotations

from typing import Final, Self
from uuid import UUID

from openmsmq.rpc.ndr.structure import Structure, structure
from openmsmq.wire.fixed import U32, Guid


@structure
class SyntaxId(Structure):
    """p_syntax_id_t: the major version is in the low half of `version` (C706 12.6.3.1)."""

    uuid: Guid
    version: U32 = 0

    @classmethod
    def of(cls, uuid: str, major: int, minor: int = 0) -> Self:
        """The syntax of a UUID and a version."""
        return cls(UUID(uuid), minor << 16 | major)

    @property
    def major(self) -> int:
        """The version that has to be equal."""
        return self.version & 0xFFFF

    @property
    def minor(self) -> int:
        """The version that may be newer."""
        return self.version >> 16

    def __str__(self) -> str:
        return f"{self.uuid} v{self.major}.{self.minor}"


NO_SYNTAX: Final = SyntaxId(UUID(int=0))
NDR: Final = SyntaxId.of("8a885d04-1ceb-11c9-9fe8-08002b104860", 2)
"NDR 2.0 ([MS-RPCE] 2.2.4.12)."
NDR64: Final = SyntaxId.of("71710533-beba-4937-8319-b5dbef9ccc36", 1)
"Not accepted: its codec is not built ([MS-RPCE] 2.2.5.1)."
FEATURES_PREFIX: Final = UUID("6cb71c2c-9812-4540-0000-000000000000").bytes_le[:8]
"What the UUID of a feature element begins with ([MS-RPCE] 3.3.1.5.3)."


def is_feature_element(syntax: SyntaxId) -> bool:
    """Whether a transfer syntax is a list of features ([MS-RPCE] 3.3.1.5.3)."""
    return syntax.uuid.bytes_le[:8] == FEATURES_PREFIX and syntax.version == 1
