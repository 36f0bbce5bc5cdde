"""All kinds of pipelines, by the table of a file that asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from openmsmq.pipelines import custom as plain
from openmsmq.pipelines import route
from openmsmq.pipelines.archive import archive
from openmsmq.pipelines.replay import replay
from openmsmq.pipelines.reports import audit
from openmsmq.pipelines.reports import dead_letters as deadletters
from openmsmq.pipelines.work import Ready

KINDS: Final[Mapping[str, Ready]] = MappingProxyType(
    {
        "sink": plain.READY,
        "archive": archive.READY,
        "replay": replay.READY,
        "route": route.READY,
        "deadletters": deadletters.READY,
        "audit": audit.READY,
    }
)
