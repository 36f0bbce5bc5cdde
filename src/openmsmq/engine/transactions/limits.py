"""Bounds of transactions over several managers.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

UNITS_MAX: Final = 10_000
"""Units that wait to be confirmed; none of them is ever forgotten. At the limit: a further unit is
refused, `InsufficientResources`.
"""
PARTICIPANTS_MAX: Final = 64
"Participants of a unit. At the limit: the commit is refused, `InvalidParameter`."
PARTICIPANT_SIZE_MAX: Final = 250
"Characters of the name of a participant. At the limit: the commit is refused, `InvalidParameter`."
EPOCH_NAME_MAX: Final = 400
"""Bytes of the name of a writer or an owner of epochs. At the limit: the call is refused,
`InvalidParameter`.
"""
DECISIONS_MAX: Final = 10_000
"Outcomes of transactions that are remembered. At the limit: the oldest is forgotten."
